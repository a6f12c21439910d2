/* Tests of the public API, run once on each store.
 *
 *   TEST_EACH_STORE("T-004 a list is in the order of claims")
 *   {
 *       lab_open(lab);
 *       struct pawl_str id = lab_add(lab, NEW(.priority = 40));
 *       CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
 *   }
 *
 * registers "… [sqlite]" and "… [postgres]". SQLite lies in a folder of its own, PostgreSQL in a
 * schema of its own on the server of PAWL_TEST_POSTGRES (tools/with_postgres COMMAND sets it);
 * without that the second is skipped. Both are gone when the test has ended.
 *
 * Most tests drive one handle in a world of their own, where time passes when lab_pass() says so.
 * PostgreSQL has its own clock: there lab_pass() moves every instant of the tasks back instead,
 * which comes to the same. Tests with threads live in the real world: lab_open_real(). */
#ifndef PAWL_TESTS_ENGINE_STORES_H
#define PAWL_TESTS_ENGINE_STORES_H

#include "base/str.h"
#include "test.h"

#include <stdatomic.h>
#include <sys/types.h>

enum {
    LAB_PATH_BYTES_MAX = 512,
    LAB_NAME_BYTES_MAX = 320,
    LAB_STORE_COUNT = 2,
};

#define SECOND_MS INT64_C(1000)

enum lab_store { LAB_SQLITE, LAB_POSTGRES };

/* An outside world: clocks that stand still, numbers that come again. */
struct lab_world {
    _Atomic int64_t wall_ms;
    _Atomic int64_t boot_ms;
    uint64_t random;
    struct pawl_env env;
};

struct lab {
    enum lab_store store;
    char folder[LAB_PATH_BYTES_MAX]; /* of this test; for SQLite the store lies in it */
    char target[LAB_PATH_BYTES_MAX]; /* path or URI */
    struct lab_world world;
    struct lab_hold *hold;   /* of lab_hold */
    struct pawl *pawl;       /* of lab_open or lab_open_real; closed at the end */
    struct pawl_arena *keep; /* for what calls return; lives as long as the test */
    struct pawl_error err;
};

/* Opens lab->pawl: driven and in the lab's world, or with threads and in the real one. */
void lab_open(struct lab *lab);
void lab_open_real(struct lab *lab);
void lab_reopen(struct lab *lab); /* closes the one that lab_open gave and opens it again */
/* What lab_open opens with, to be changed and given to lab_handle. */
struct pawl_options lab_options(struct lab *lab);
/* Another handle on the same store; the test closes it. */
struct pawl *lab_handle(struct lab *lab, const struct pawl_options *options);

/* Lets time pass; nobody looks at what has come due. */
void lab_elapse(struct lab *lab, int64_t ms);
/* The same, then the driven handle does what has come due. */
void lab_pass(struct lab *lab, int64_t ms);
/* Steps until nothing is left to be done now. */
void lab_settle(struct lab *lab, struct pawl *pawl);

/* Keeps the store busy, as another process may: until lab_let_go reads go on and nobody commits a
 * change. Checks nothing, so threads may call it. */
enum pawl_code lab_hold(struct lab *lab);
void lab_let_go(struct lab *lab);

/* Runs SQL behind the library's back. The first column of the first row, or ""; in keep. */
const char *lab_sql(struct lab *lab, const char *sql);

/* ---- Short words. All are about lab->pawl, and what they do must succeed. ---- */

#define NEW(...)     (&(struct pawl_task_new){.size = sizeof(struct pawl_task_new), __VA_ARGS__})
#define CHANGE(...)  (&(struct pawl_change){.size = sizeof(struct pawl_change), __VA_ARGS__})
#define CLAIM(...)   (&(struct pawl_claim){.size = sizeof(struct pawl_claim), __VA_ARGS__})
#define FAILURE(...) (&(struct pawl_failure){.size = sizeof(struct pawl_failure), __VA_ARGS__})
#define RESUME(...)  (&(struct pawl_resume){.size = sizeof(struct pawl_resume), __VA_ARGS__})
#define REDRIVE(...) (&(struct pawl_redrive){.size = sizeof(struct pawl_redrive), __VA_ARGS__})
#define LIST(...)    (&(struct pawl_list){.size = sizeof(struct pawl_list), __VA_ARGS__})
#define QUEUE_SET(...) \
    (&(struct pawl_queue_set){.size = sizeof(struct pawl_queue_set), __VA_ARGS__})
#define NO_TEXT ((struct pawl_str){0})

struct pawl_str lab_add(struct lab *lab, const struct pawl_task_new *ask);
/* The ids of a batch. */
struct pawl_added *lab_add_batch(struct lab *lab, const struct pawl_task_new *asks, size_t count);
struct pawl_task lab_get(struct lab *lab, struct pawl_str id);
struct pawl_fence lab_start(struct lab *lab, struct pawl_str id, const char *worker);
struct pawl_claimed lab_claim(struct lab *lab, const struct pawl_claim *ask);
struct pawl_page lab_list(struct lab *lab, const struct pawl_list *ask);
struct pawl_events lab_history(struct lab *lab, struct pawl_str id);
/* The types of its events without their "task_", as "created queued started". */
const char *lab_told(struct lab *lab, struct pawl_str id);
/* Its newest event. */
struct pawl_event lab_last(struct lab *lab, struct pawl_str id);
/* "id id id" of a page. */
const char *lab_ids(struct lab *lab, const struct pawl_page *page);

/* A text of so many bytes, all of them `of`; in keep. json: the first and the last are quotes. */
struct pawl_str lab_text(struct lab *lab, size_t bytes, char of);
struct pawl_str lab_json(struct lab *lab, size_t bytes);

/* The code and the sentence that goes with it, as "STATE: cannot queue …"; "OK". Good until the
 * next call that fills lab->err. */
#define CHECK_REFUSED(want, call) \
    test_check_code((want), (call), &lab->err, #call, __FILE__, __LINE__)

/* ---- Other processes. No check may fail in a child: it says with what it exits. ---- */

pid_t lab_fork(struct lab *lab, int (*work)(struct lab *lab, int number), int number);
/* Its exit status; -1 for a signal. */
int lab_wait(pid_t child);

/* ---- */

#define TEST_EACH_STORE(sentence) TEST_EACH_STORE_DEFINE(sentence, __COUNTER__)
#define TEST_EACH_STORE_DEFINE(sentence, number)                                                \
    static void TEST_JOIN(lab_body_, number)(struct lab * lab);                                 \
    static void TEST_JOIN(lab_run_, number)(const void *store)                                  \
    {                                                                                           \
        lab_run(store, TEST_JOIN(lab_body_, number));                                           \
    }                                                                                           \
    __attribute__((constructor)) static void TEST_JOIN(lab_add_, number)(void)                  \
    {                                                                                           \
        static struct test_case tests[LAB_STORE_COUNT];                                         \
        static char names[LAB_STORE_COUNT][LAB_NAME_BYTES_MAX];                                 \
        lab_add_tests(tests, names, sentence, __FILE__, __LINE__, TEST_JOIN(lab_run_, number)); \
    }                                                                                           \
    static void TEST_JOIN(lab_body_, number)(struct lab * lab)

/* What only SQLite can show: exact instants, files, turns. */
#define TEST_SQLITE(sentence) TEST_STORE_DEFINE(sentence, LAB_SQLITE, __COUNTER__)
/* What only PostgreSQL can show: a server. */
#define TEST_POSTGRES(sentence) TEST_STORE_DEFINE(sentence, LAB_POSTGRES, __COUNTER__)
#define TEST_STORE_DEFINE(sentence, which, number)                             \
    static void TEST_JOIN(lab_body_, number)(struct lab * lab);                \
    static void TEST_JOIN(lab_run_, number)(void)                              \
    {                                                                          \
        static const enum lab_store store = which;                             \
        lab_run(&store, TEST_JOIN(lab_body_, number));                         \
    }                                                                          \
    __attribute__((constructor)) static void TEST_JOIN(lab_add_, number)(void) \
    {                                                                          \
        static struct test_case test = {                                       \
            .name = sentence,                                                  \
            .file = __FILE__,                                                  \
            .line = __LINE__,                                                  \
            .body = TEST_JOIN(lab_run_, number),                               \
        };                                                                     \
        test_add(&test);                                                       \
    }                                                                          \
    static void TEST_JOIN(lab_body_, number)(struct lab * lab)

void lab_run(const void *store, void (*body)(struct lab *lab));
void lab_add_tests(struct test_case tests[LAB_STORE_COUNT],
                   char names[LAB_STORE_COUNT][LAB_NAME_BYTES_MAX], const char *sentence,
                   const char *file, int line, void (*body)(const void *store));

#endif
