/* A store to try things on: a folder of its own, an outside world that obeys, and short words for
 * steps.
 *
 * The same suite runs on each kind of store that this build and machine have (lab_kinds). */
#ifndef PAWL_TESTS_STORE_LAB_H
#define PAWL_TESTS_STORE_LAB_H

#include "store/handle.h"
#include "test.h"

enum {
    LAB_PATH_BYTES_MAX = 512,
    LAB_LOG_BYTES_MAX = 64 * 1024,
    LAB_KINDS_MAX = 2,
};

#define LAB_SECOND_MS INT64_C(1000)
#define LAB_START_MS  INT64_C(1800000000000)

struct lab;

struct lab_kind {
    const char *label;               /* behind the test's name; "" for the first */
    void (*need)(void);              /* skips the test if this kind cannot be had; NULL = it can */
    void (*target)(struct lab *lab); /* writes lab->target of a store that does not exist yet */
    void (*remove)(struct lab *lab); /* what is not in the folder; NULL = nothing */
};
extern const struct lab_kind lab_kinds[];
extern const size_t lab_kind_count;

/* An outside world: time passes when it is told to. */
struct lab_world {
    int64_t wall_ms;
    int64_t boot_ms;
    uint64_t random;
    struct pawl_env env;
};

struct lab {
    const struct lab_kind *kind;
    char folder[LAB_PATH_BYTES_MAX];
    char target[LAB_PATH_BYTES_MAX];
    struct lab_world world;
    const char *vfs;
    struct pawl_log log;
    char log_text[LAB_LOG_BYTES_MAX]; /* NUL-terminated lines */
    size_t log_len;
    struct pawl_store *store;
    struct pawl_arena *arena;
    struct pawl_set set;
    struct pawl_head head;
    struct pawl_error err;
};

/* The first opens the store, the second leaves that to the test; close removes the folder. */
void lab_open(struct lab *lab, const struct lab_kind *kind);
void lab_prepare(struct lab *lab, const struct lab_kind *kind);
void lab_close(struct lab *lab);

/* Opens another handle on the store of the lab, with the lab's world. */
enum pawl_code lab_store(struct lab *lab, bool must_exist, struct pawl_store **out);
void lab_reopen(struct lab *lab);
/* Runs SQL that is none of ours on the SQLite file of the lab. */
void lab_sql(struct lab *lab, const char *sql);
/* The first column of the first row; "" if there is none. Good until the next call with the lab. */
const char *lab_sql_text(struct lab *lab, const char *sql);

/* Steps: begin empties the set; commit saves first. */
void lab_begin(struct lab *lab);
enum pawl_code lab_try_begin(struct lab *lab);
void lab_commit(struct lab *lab);
enum pawl_code lab_try_commit(struct lab *lab);
void lab_load(struct lab *lab);
void *lab_take(struct lab *lab, const void *row, size_t bytes); /* a copy in the arena */
#define LAB_TAKE(lab, row) lab_take((lab), &(row), sizeof(row))

/* Looks and loads one entry. */
struct pawl_entry *lab_look(struct lab *lab, enum pawl_look look, int64_t number, const char *text,
                            int64_t after, int32_t limit);
struct pawl_task_row *lab_task(struct lab *lab, int64_t key);
struct pawl_rows *lab_rows(struct lab *lab, enum pawl_look look, int64_t number, int64_t after,
                           int32_t limit);

/* A task that may be claimed at once; the id is "t-KEY". Puts it into the set. */
struct pawl_task_row *lab_put_task(struct lab *lab, int64_t key, int64_t queue);
/* A row that the rules allow, by value. */
struct pawl_task_row lab_task_row(int64_t key, int64_t queue);
void lab_put_queue(struct lab *lab, int64_t key, const char *name);
void lab_put_event(struct lab *lab, int64_t task, int64_t sequence);

#define STORE_TEST(sentence) STORE_TEST_DEFINE(sentence, __COUNTER__)
#define STORE_TEST_DEFINE(sentence, number)                                                 \
    static void TEST_JOIN(store_body_, number)(struct lab * lab);                           \
    static void TEST_JOIN(store_run_, number)(const void *kind)                             \
    {                                                                                       \
        static struct lab lab;                                                              \
        lab_open(&lab, kind);                                                               \
        TEST_JOIN(store_body_, number)(&lab);                                               \
        lab_close(&lab);                                                                    \
    }                                                                                       \
    __attribute__((constructor)) static void TEST_JOIN(store_add_, number)(void)            \
    {                                                                                       \
        static struct test_case tests[LAB_KINDS_MAX];                                       \
        static char names[LAB_KINDS_MAX][256];                                              \
        lab_add(tests, names, sentence, __FILE__, __LINE__, TEST_JOIN(store_run_, number)); \
    }                                                                                       \
    static void TEST_JOIN(store_body_, number)(struct lab * lab)

void lab_add(struct test_case tests[LAB_KINDS_MAX], char names[LAB_KINDS_MAX][256],
             const char *sentence, const char *file, int line, void (*body)(const void *kind));

#endif
