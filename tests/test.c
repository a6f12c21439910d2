/* The page over cmocka: registers tests, runs each as a cmocka test, and writes one line of result
 * for each, whatever becomes of it.
 *
 * cmocka runs the test, catches its end (it jumps out of a failed one) and prints. We add what it
 * lacks: names that are sentences, a time limit, and results that survive a crash. A program that
 * dies in a test (a failed pawl_assert, a sanitizer's report, the time limit) writes the line
 * `fail` in its last moment; the tests after it are then missing, and the program's exit says so.
 */
#include "test.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* base has it; a program without base prints numbers instead. */
#pragma weak pawl_code_name

enum {
    SECONDS_DEFAULT = 120,
    LINE_BYTES_MAX = 2048,
    TEXT_BYTES_MAX = 4096,
    WHY_BYTES_MAX = 800, /* of a failure's text in the results: they are read at the end of a log */
};

/* The one place of tests with state at file scope: constructors and signal handlers have no
 * argument to hang it on. */
static struct {
    struct test_case *first;
    struct test_case *running; /* NULL between tests */
    const char *program;
    int results_fd; /* -1 = nobody asked */
    unsigned seconds;
    pid_t pid;    /* a forked child writes no results */
    bool is_over; /* the running test came to its end */
    bool is_skip;
    bool has_leaked; /* some test has: further checks would tell the same leak again */
    char why[WHY_BYTES_MAX + 1]; /* the running test has failed; empty = it has not said */
} page = {.results_fd = -1};

/* What the sanitizers' runtimes offer, where one is linked. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__ubsan_default_options(void);

__attribute__((used, visibility("default"))) const char *__asan_default_options(void)
{
    /* Crashes are shown by the sanitizer, not caught by cmocka. */
    return "handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2:"
           "detect_stack_use_after_return=1:strict_string_checks=1";
}

__attribute__((used, visibility("default"))) const char *__tsan_default_options(void)
{
    return "halt_on_error=1:second_deadlock_stack=1";
}

__attribute__((used, visibility("default"))) const char *__ubsan_default_options(void)
{
    /* Its runtime is apart from the others and knows no death callback: abort reaches on_abort. */
    return "print_stacktrace=1:abort_on_error=1";
}

void test_add(struct test_case *test)
{
    test->next = page.first;
    page.first = test;
}

const char *test_name(void)
{
    return page.running == NULL ? "" : page.running->name;
}

/* The text as one field of a line. */
static size_t add_field(char *line, size_t len, const char *text)
{
    for (const char *c = text; *c != '\0' && len < LINE_BYTES_MAX - 3; c++) {
        if (*c == '\n') line[len++] = '\\';
        line[len++] = *c == '\n' ? 'n' : *c == '\t' || *c == '\r' ? ' ' : *c;
    }
    return len;
}

/* Called in signal handlers too: write only. One write, so that programs side by side do not mix.
 */
static void write_result(const char *result, const char *why)
{
    if (page.results_fd == -1 || page.running == NULL || getpid() != page.pid) return;
    char line[LINE_BYTES_MAX];
    const char *const fields[] = {result, page.program, page.running->name, why};
    size_t len = 0;
    for (size_t i = 0; i < COUNT_OF(fields) && fields[i] != NULL; i++) {
        if (i > 0) line[len++] = '\t';
        len = add_field(line, len, fields[i]);
    }
    line[len++] = '\n';
    if (write(page.results_fd, line, len) != (ssize_t)len) abort();
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) return; /* nothing is left to say it with */
}

static void die_in_test(const char *why)
{
    if (page.running == NULL || getpid() != page.pid) return;
    say(page.running->name);
    say(": ");
    say(why);
    say("\n");
    write_result("fail", why);
    page.running = NULL; /* one line only */
}

static void on_death(void)
{
    die_in_test("ended by a sanitizer");
}

static void on_abort(int number)
{
    die_in_test("aborted");
    signal(number, SIG_DFL);
    raise(number);
}

static void on_alarm(int number)
{
    (void)number; /* only ever SIGALRM */
    die_in_test("took too long (PAWL_TEST_SECONDS)");
    _exit(1);
}

static int before(void **state)
{
    page.running = *state;
    page.is_over = false;
    page.is_skip = false;
    page.why[0] = '\0';
    alarm(page.seconds);
    return 0;
}

static void run(void **state)
{
    const struct test_case *test = *state;
    if (test->body != NULL)
        test->body();
    else
        test->body_with(test->given);
    if (__lsan_do_recoverable_leak_check != NULL && !page.has_leaked &&
        __lsan_do_recoverable_leak_check() != 0) {
        page.has_leaked = true;
        test_fail(test->file, test->line, "leaks memory");
    }
    page.is_over = true;
}

static int after(void **state)
{
    (void)state; /* page.running is the same */
    alarm(0);
    if (page.is_over || page.is_skip) {
        write_result(page.is_over ? "pass" : "skip", NULL);
    } else {
        write_result("fail", page.why);
    }
    page.running = NULL;
    return 0;
}

static unsigned seconds_allowed(void)
{
    const char *text = getenv("PAWL_TEST_SECONDS");
    unsigned seconds = 0;
    if (text == NULL || sscanf(text, "%u", &seconds) != 1 || seconds == 0) return SECONDS_DEFAULT;
    return seconds;
}

static int by_place(const void *left, const void *right)
{
    const struct test_case *a = *(struct test_case *const *)left;
    const struct test_case *b = *(struct test_case *const *)right;
    int order = strcmp(a->file, b->file);
    if (order != 0) return order;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int run_all(struct test_case **tests, size_t count)
{
    struct CMUnitTest *units = calloc(count, sizeof *units);
    if (units == NULL) return 1;
    for (size_t i = 0; i < count; i++) {
        units[i] = (struct CMUnitTest){
            .name = tests[i]->name,
            .test_func = run,
            .setup_func = before,
            .teardown_func = after,
            .initial_state = tests[i],
        };
    }
    int failed = _cmocka_run_group_tests(page.program, units, count, NULL, NULL);
    free(units);
    return failed == 0 ? 0 : 1;
}

static bool open_results(void)
{
    const char *path = getenv("PAWL_TEST_RESULTS");
    if (path == NULL || path[0] == '\0') return true;
    page.results_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (page.results_fd == -1) fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return page.results_fd != -1;
}

int test_main(int argc, char **argv)
{
    bool is_list = argc == 2 && strcmp(argv[1], "--list") == 0;
    const char *only = argc == 3 && strcmp(argv[1], "--only") == 0 ? argv[2] : "";
    if (argc > 1 && !is_list && only[0] == '\0') {
        fprintf(stderr, "usage: %s [--list | --only TEXT]\n", argv[0]);
        return 2;
    }

    size_t count = 0;
    for (struct test_case *test = page.first; test != NULL; test = test->next) count++;
    struct test_case **tests = calloc(count + 1, sizeof *tests);
    if (tests == NULL) return 1;
    count = 0;
    for (struct test_case *test = page.first; test != NULL; test = test->next) {
        if (strstr(test->name, only) != NULL) tests[count++] = test;
    }
    qsort(tests, count, sizeof *tests, by_place);

    int status = 0;
    if (is_list) {
        for (size_t i = 0; i < count; i++) puts(tests[i]->name);
    } else if (count == 0) {
        fprintf(stderr, "%s: no test has \"%s\" in its name\n", argv[0], only);
        status = 1;
    } else {
        const char *slash = strrchr(argv[0], '/');
        page.program = slash == NULL ? argv[0] : slash + 1;
        page.seconds = seconds_allowed();
        page.pid = getpid();
        signal(SIGALRM, on_alarm);
        signal(SIGABRT, on_abort);
        if (__sanitizer_set_death_callback != NULL) __sanitizer_set_death_callback(on_death);
        status = open_results() ? run_all(tests, count) : 1;
    }
    free(tests);
    return status;
}

void test_fail(const char *file, int line, const char *format, ...)
{
    char text[TEXT_BYTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)snprintf(page.why, sizeof page.why, "%.160s:%d: %.600s", file, line, text);
    print_error("%s\n", text);
    _fail(file, line);
    abort(); /* _fail has jumped */
}

void test_skip(const char *file, int line, const char *format, ...)
{
    char text[TEXT_BYTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printf("skipped: %s: %s\n", test_name(), text);
    fflush(stdout);
    page.is_skip = true;
    _skip(file, line);
    abort(); /* _skip has jumped */
}

void test_check(bool holds, const char *what, const char *file, int line)
{
    if (!holds) test_fail(file, line, "does not hold: %s", what);
}

void test_check_int(intmax_t want, intmax_t got, const char *what, const char *file, int line)
{
    if (want == got) return;
    test_fail(file, line, "%s\n  want %" PRIdMAX "\n  got  %" PRIdMAX, what, want, got);
}

void test_check_str(const char *want, struct pawl_str got, const char *what, const char *file,
                    int line)
{
    size_t want_len = strlen(want);
    if (want_len == got.len && (want_len == 0 || memcmp(want, got.ptr, want_len) == 0)) return;
    test_fail(file, line, "%s\n  want \"%s\"\n  got  \"%.*s\" (%zu bytes)", what, want,
              got.len > TEXT_BYTES_MAX ? TEXT_BYTES_MAX : (int)got.len,
              got.ptr == NULL ? "" : got.ptr, got.len);
}

void test_check_text(const char *want, const char *got, const char *what, const char *file,
                     int line)
{
    if (want == got) return;
    if (want != NULL && got != NULL && strcmp(want, got) == 0) return;
    test_fail(file, line, "%s\n  want %s\n  got  %s", what, want == NULL ? "NULL" : want,
              got == NULL ? "NULL" : got);
}

static const char *code_name(enum pawl_code code)
{
    return pawl_code_name == NULL ? "code" : pawl_code_name(code);
}

void test_check_code(enum pawl_code want, enum pawl_code got, const struct pawl_error *err,
                     const char *what, const char *file, int line)
{
    if (want == got) return;
    test_fail(file, line, "%s\n  want %s (%d)\n  got  %s (%d)%s%s", what, code_name(want),
              (int)want, code_name(got), (int)got, err == NULL ? "" : ": ",
              err == NULL ? "" : err->text);
}

void test_check_bytes(const void *want, size_t want_len, const void *got, size_t got_len,
                      const char *what, const char *file, int line)
{
    if (want_len != got_len) {
        test_fail(file, line, "%s\n  want %zu bytes\n  got  %zu", what, want_len, got_len);
    }
    const unsigned char *a = want;
    const unsigned char *b = got;
    for (size_t i = 0; i < want_len; i++) {
        if (a[i] == b[i]) continue;
        test_fail(file, line, "%s\n  byte %zu: want 0x%02x, got 0x%02x", what, i, a[i], b[i]);
    }
}

void test_check_near(double want, double got, double within, const char *what, const char *file,
                     int line)
{
    if (fabs(want - got) <= within) return;
    test_fail(file, line, "%s\n  want %.17g, within %g\n  got  %.17g", what, want, within, got);
}
