/* Tests as sentences: a thin page over cmocka.
 *
 *   #include "test.h"
 *
 *   TEST("T-013 the delay doubles and stops at the cap")
 *   {
 *       CHECK_EQ(60000, pawl_retry_delay_ms(&policy, 7));
 *   }
 *
 *   TEST_MAIN()
 *
 * A program may have several files of tests and one TEST_MAIN. The first check that does not hold
 * ends the test. Checks are for the test's main thread; other threads hand their findings over.
 * What a check leaves behind by ending a test early belongs to the operating system.
 *
 *   program --list         the names
 *   program --only TEXT    only tests whose name contains TEXT
 *
 * A test may take 120 seconds, or PAWL_TEST_SECONDS. For each test a line
 * `pass|fail|skip <tab> program <tab> name` is appended to the file named by PAWL_TEST_RESULTS,
 * also when it crashes or a sanitizer ends it. What failed says why in a fourth field: the file, the
 * line, what was wanted and what it was, with `\n` where a line ends. cmocka's own macros stay inside test.c. */
#ifndef PAWL_TESTS_TEST_H
#define PAWL_TESTS_TEST_H

#include "pawl.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef COUNT_OF
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#endif

struct test_case {
    const char *name;
    const char *file;
    int line;
    void (*body)(void);
    void (*body_with)(const void *given); /* instead of body: the same test with other things */
    const void *given;                    /* borrowed for the life of the program */
    struct test_case *next;               /* owned by test.c */
};

/* Adds a test to those of this program; before main. The case stays where it is. */
void test_add(struct test_case *test);
int test_main(int argc, char **argv);

#define TEST_MAIN()                   \
    int main(int argc, char **argv)   \
    {                                 \
        return test_main(argc, argv); \
    }

#define TEST_JOIN_(a, b) a##b
#define TEST_JOIN(a, b)  TEST_JOIN_(a, b)

#define TEST(sentence) TEST_DEFINE(sentence, __COUNTER__)
#define TEST_DEFINE(sentence, number)                                           \
    static void TEST_JOIN(test_body_, number)(void);                            \
    __attribute__((constructor)) static void TEST_JOIN(test_add_, number)(void) \
    {                                                                           \
        static struct test_case test = {                                        \
            .name = sentence,                                                   \
            .file = __FILE__,                                                   \
            .line = __LINE__,                                                   \
            .body = TEST_JOIN(test_body_, number),                              \
        };                                                                      \
        test_add(&test);                                                        \
    }                                                                           \
    static void TEST_JOIN(test_body_, number)(void)

/* Integers, enums and booleans of any width. */
#define CHECK_EQ(want, got) \
    test_check_int((intmax_t)(want), (intmax_t)(got), #got, __FILE__, __LINE__)
#define CHECK(condition) test_check((condition) ? true : false, #condition, __FILE__, __LINE__)
/* A C string wanted, a struct pawl_str got. */
#define CHECK_STR(want, got) test_check_str((want), (got), #got, __FILE__, __LINE__)
/* C strings; NULL equals NULL only. */
#define CHECK_TEXT(want, got) test_check_text((want), (got), #got, __FILE__, __LINE__)
#define CHECK_CODE(want, got) test_check_code((want), (got), NULL, #got, __FILE__, __LINE__)
/* PAWL_OK is wanted; otherwise the sentence in err (may be NULL) is printed. */
#define CHECK_OK(got, err) test_check_code(PAWL_OK, (got), (err), #got, __FILE__, __LINE__)
#define CHECK_BYTES(want, want_len, got, got_len) \
    test_check_bytes((want), (want_len), (got), (got_len), #got, __FILE__, __LINE__)
/* Numbers, at most within apart. */
#define CHECK_NEAR(want, got, within) \
    test_check_near((double)(want), (double)(got), (double)(within), #got, __FILE__, __LINE__)
/* Ends the test as failed, or as skipped; both with a printf format. */
#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define SKIP(...) test_skip(__FILE__, __LINE__, __VA_ARGS__)

/* The name of the test that is running. */
const char *test_name(void);

void test_check(bool holds, const char *what, const char *file, int line);
void test_check_int(intmax_t want, intmax_t got, const char *what, const char *file, int line);
void test_check_str(const char *want, struct pawl_str got, const char *what, const char *file,
                    int line);
void test_check_text(const char *want, const char *got, const char *what, const char *file,
                     int line);
void test_check_code(enum pawl_code want, enum pawl_code got, const struct pawl_error *err,
                     const char *what, const char *file, int line);
void test_check_bytes(const void *want, size_t want_len, const void *got, size_t got_len,
                      const char *what, const char *file, int line);
void test_check_near(double want, double got, double within, const char *what, const char *file,
                     int line);
_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void test_skip(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
