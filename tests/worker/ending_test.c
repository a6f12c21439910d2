/* What the end of a command means for its task. */
#include "worker/ending.h"

#include "base/arena.h"
#include "base/str.h"
#include "supervisor/keeper.h"
#include "test.h"

#include <signal.h>

static struct pawl_arena *arena_open(void)
{
    struct pawl_arena *arena = NULL;
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    return arena;
}

/* As waitpid has them on Linux. */
static int exited(int status)
{
    return status << 8;
}

static int killed(int signal_number)
{
    return signal_number;
}

TEST("what a command prints becomes JSON: itself, its text, or its bytes")
{
    static const struct {
        struct pawl_str printed;
        bool is_cut;
        const char *want;
    } rows[] = {
        {PAWL_STR_INIT(""), false, ""},
        {PAWL_STR_INIT("\n\r\n"), false, ""},
        {PAWL_STR_INIT("{\"a\": 1.50}\n"), false, "{\"a\": 1.50}"},
        {PAWL_STR_INIT(" [1,\n2] "), false, "[1,\n2]"},
        {PAWL_STR_INIT("null"), false, "null"},
        {PAWL_STR_INIT("hello\n\n"), false, "\"hello\""},
        {PAWL_STR_INIT("  two\nlines"), false, "\"  two\\nlines\""},
        {PAWL_STR_INIT("{\"a\":1,\"a\":2}"), false, "\"{\\\"a\\\":1,\\\"a\\\":2}\""},
        {PAWL_STR_INIT("\xff\xfe"), false, "{\"base64\":\"//4=\"}"},
        {PAWL_STR_INIT("a\0b"), false, "{\"base64\":\"YQBi\"}"},
        {PAWL_STR_INIT("a\0b\n"), true, "{\"base64\":\"YQBiCg==\",\"cut\":true}"},
        {PAWL_STR_INIT("12345"), true, "{\"text\":\"12345\",\"cut\":true}"},
        {PAWL_STR_INIT("ab\xc3"), true, "{\"text\":\"ab\",\"cut\":true}"},
        {PAWL_STR_INIT("\xff\xff\xff\xff\xff"), true, "{\"base64\":\"//////8=\",\"cut\":true}"},
    };
    struct pawl_arena *arena = arena_open();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_STR(rows[i].want, pawl_result_make(rows[i].printed, rows[i].is_cut, arena));
    }
    pawl_arena_close(arena);
}

TEST("65, 78, 126 and 127 fail for good, 0 completes, all else is tried again")
{
    static const struct {
        int exit_status;
        enum pawl_ending_kind kind;
        bool is_final;
    } rows[] = {
        {0, PAWL_ENDING_COMPLETE, false}, {1, PAWL_ENDING_FAIL, false},
        {2, PAWL_ENDING_FAIL, false},     {64, PAWL_ENDING_FAIL, false},
        {65, PAWL_ENDING_FAIL, true},     {66, PAWL_ENDING_FAIL, false},
        {75, PAWL_ENDING_FAIL, false},    {77, PAWL_ENDING_FAIL, false},
        {78, PAWL_ENDING_FAIL, true},     {79, PAWL_ENDING_FAIL, false},
        {125, PAWL_ENDING_FAIL, false},   {126, PAWL_ENDING_FAIL, true},
        {127, PAWL_ENDING_FAIL, true},    {128, PAWL_ENDING_FAIL, false},
        {255, PAWL_ENDING_FAIL, false},
    };
    struct pawl_arena *arena = arena_open();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_ending ending = pawl_ending_of_exit(exited(rows[i].exit_status), PAWL_STR(""),
                                                        false, PAWL_STR(""), -1, arena);
        CHECK_EQ(rows[i].kind, ending.kind);
        CHECK_EQ(rows[i].is_final, ending.is_final);
        CHECK_EQ(0, ending.retry_after_ms);
    }
    struct pawl_ending ending =
        pawl_ending_of_exit(killed(SIGKILL), PAWL_STR("out"), false, PAWL_STR("e"), -1, arena);
    CHECK_EQ(PAWL_ENDING_FAIL, ending.kind);
    CHECK(!ending.is_final);
    pawl_arena_close(arena);
}

TEST("the error tells exit status or signal, then the end of standard error, mended")
{
    struct pawl_arena *arena = arena_open();
    CHECK_STR("exit status 3", pawl_failure_text(exited(3), PAWL_STR(""), arena));
    CHECK_STR("exit status 3: a\nb", pawl_failure_text(exited(3), PAWL_STR("a\nb\n"), arena));
    CHECK_STR("signal 9 (Killed): x", pawl_failure_text(killed(SIGKILL), PAWL_STR("x"), arena));
    CHECK_STR("exit status 1: a\xef\xbf\xbd"
              "b\xef\xbf\xbd",
              pawl_failure_text(exited(1),
                                PAWL_STR("a\xff"
                                         "b\0"),
                                arena));
    pawl_arena_close(arena);
}

TEST("the excerpt of an error is its last line, and not too long")
{
    char lines[1000];
    for (size_t i = 0; i < sizeof lines; i++) lines[i] = 'y';
    CHECK_STR("", pawl_error_excerpt((struct pawl_str){0}));
    CHECK_STR("", pawl_error_excerpt(PAWL_STR(" \n")));
    CHECK_STR("exit status 3", pawl_error_excerpt(PAWL_STR("exit status 3")));
    CHECK_STR("c d", pawl_error_excerpt(PAWL_STR("exit status 3: a\nb\nc d\n\n")));
    CHECK_EQ(200, pawl_error_excerpt((struct pawl_str){lines, sizeof lines}).len);
}

TEST("a failure has the exit status or the signal of the command")
{
    struct pawl_arena *arena = arena_open();
    struct pawl_ending ending =
        pawl_ending_of_exit(exited(65), PAWL_STR(""), false, PAWL_STR(""), -1, arena);
    CHECK_EQ(65, ending.exit_status);
    CHECK_EQ(0, ending.signal_number);
    ending = pawl_ending_of_exit(killed(SIGKILL), PAWL_STR(""), false, PAWL_STR(""), -1, arena);
    CHECK_EQ(0, ending.exit_status);
    CHECK_EQ(SIGKILL, ending.signal_number);
    pawl_arena_close(arena);
}

TEST("a delay that the command asked for is the retry's, and 0 is none")
{
    struct pawl_arena *arena = arena_open();
    struct pawl_ending ending =
        pawl_ending_of_exit(exited(75), PAWL_STR(""), false, PAWL_STR(""), 2500, arena);
    CHECK_EQ(2500, ending.retry_after_ms);
    ending = pawl_ending_of_exit(exited(75), PAWL_STR(""), false, PAWL_STR(""), 0, arena);
    CHECK_EQ(PAWL_DELAY_NONE, ending.retry_after_ms);
    pawl_arena_close(arena);
}

TEST("the margin before a lease's end is min(lease / 4, max(1 s, lease / 10))")
{
    CHECK_EQ(25, pawl_lease_margin_ms(100));
    CHECK_EQ(500, pawl_lease_margin_ms(2000));
    CHECK_EQ(1000, pawl_lease_margin_ms(4000));
    CHECK_EQ(1000, pawl_lease_margin_ms(10000));
    CHECK_EQ(6000, pawl_lease_margin_ms(60000));
}

TEST_MAIN()
