/* Delays, policies, ranks and titles: rules that are functions of their arguments. */
#include "base/arena.h"
#include "base/str.h"
#include "core/check.h"
#include "core/limits.h"
#include "core/task/retry.h"
#include "core/task/task.h"
#include "test.h"

#include <string.h>

TEST("T-061 the delays of retries 1 to 9 are 1, 2, 4, 8, 16, 32, 60, 60, 60 s")
{
    static const int64_t want_s[] = {1, 2, 4, 8, 16, 32, 60, 60, 60};
    struct pawl_retry policy = {0};
    struct pawl_retry queue = {0};
    struct pawl_retry_policy settled = pawl_retry_settle(&policy, &queue);
    for (size_t i = 0; i < COUNT_OF(want_s); i++) {
        CHECK_EQ(want_s[i] * 1000, pawl_retry_delay_ms(&settled, (int32_t)i + 1));
    }
    CHECK_EQ(60000, pawl_retry_delay_ms(&settled, INT32_MAX));
}

TEST("a delay grows as its policy says, stops at the cap, and never overflows")
{
    static const struct {
        enum pawl_backoff backoff;
        int64_t delay_ms;
        int64_t delay_ms_max;
        int32_t retry;
        int64_t want_ms;
    } rows[] = {
        {PAWL_BACKOFF_EXPONENTIAL, 100, 1000, 1, 100},
        {PAWL_BACKOFF_EXPONENTIAL, 100, 1000, 4, 800},
        {PAWL_BACKOFF_EXPONENTIAL, 100, 1000, 5, 1000},
        {PAWL_BACKOFF_EXPONENTIAL, 0, 1000, 5, 0},
        {PAWL_BACKOFF_EXPONENTIAL, INT64_MAX / 2, INT64_MAX, 2, INT64_MAX - 1},
        {PAWL_BACKOFF_EXPONENTIAL, INT64_MAX / 2, INT64_MAX, 3, INT64_MAX},
        {PAWL_BACKOFF_LINEAR, 100, 1000, 1, 100},
        {PAWL_BACKOFF_LINEAR, 100, 1000, 10, 1000},
        {PAWL_BACKOFF_LINEAR, 100, 1000, 11, 1000},
        {PAWL_BACKOFF_LINEAR, INT64_MAX / 2, INT64_MAX, 1000, INT64_MAX},
        {PAWL_BACKOFF_LINEAR, 0, 1000, 7, 0},
        {PAWL_BACKOFF_FIXED, 100, 1000, 1, 100},
        {PAWL_BACKOFF_FIXED, 100, 1000, 1000, 100},
        {PAWL_BACKOFF_FIXED, 2000, 1000, 1, 1000},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_retry_policy policy = {.backoff = rows[i].backoff,
                                           .delay_ms = rows[i].delay_ms,
                                           .delay_ms_max = rows[i].delay_ms_max};
        CHECK_EQ(rows[i].want_ms, pawl_retry_delay_ms(&policy, rows[i].retry));
    }
}

TEST("a policy is the task's own, else the queue's, else the built-in one; -1 says none")
{
    static const struct {
        struct pawl_retry own;
        struct pawl_retry queue;
        struct pawl_retry_policy want;
    } rows[] = {
        {{0}, {0}, {3, PAWL_BACKOFF_EXPONENTIAL, 1000, 60000, 0}},
        {{0}, {.max_retries = 7, .delay_ms = 5}, {7, PAWL_BACKOFF_EXPONENTIAL, 5, 60000, 0}},
        {{.max_retries = 1}, {.max_retries = 7}, {1, PAWL_BACKOFF_EXPONENTIAL, 1000, 60000, 0}},
        {{.max_retries = -1}, {.max_retries = 7}, {0, PAWL_BACKOFF_EXPONENTIAL, 1000, 60000, 0}},
        {{0}, {.max_retries = -1}, {0, PAWL_BACKOFF_EXPONENTIAL, 1000, 60000, 0}},
        {{.delay_ms = -1}, {.delay_ms = 9}, {3, PAWL_BACKOFF_EXPONENTIAL, 0, 60000, 0}},
        {{.backoff = PAWL_BACKOFF_FIXED},
         {.backoff = PAWL_BACKOFF_LINEAR},
         {3, PAWL_BACKOFF_FIXED, 1000, 60000, 0}},
        {{.jitter_ms = 5}, {.jitter_ms = 9}, {3, PAWL_BACKOFF_EXPONENTIAL, 1000, 60000, 5}},
        {{.delay_ms = 90000}, {0}, {3, PAWL_BACKOFF_EXPONENTIAL, 90000, 90000, 0}},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_retry_policy got = pawl_retry_settle(&rows[i].own, &rows[i].queue);
        CHECK_EQ(rows[i].want.max_retries, got.max_retries);
        CHECK_EQ(rows[i].want.backoff, got.backoff);
        CHECK_EQ(rows[i].want.delay_ms, got.delay_ms);
        CHECK_EQ(rows[i].want.delay_ms_max, got.delay_ms_max);
        CHECK_EQ(rows[i].want.jitter_ms, got.jitter_ms);
    }
}

TEST("D-06 the first crash has no delay, the later ones in a row 1, 2, 4 to 60 s")
{
    static const int64_t want_s[] = {0, 1, 2, 4, 8, 16, 32, 60, 60};
    for (size_t i = 0; i < COUNT_OF(want_s); i++) {
        CHECK_EQ(want_s[i] * 1000, pawl_crash_delay_ms((int32_t)i + 1));
    }
    CHECK_EQ(60000, pawl_crash_delay_ms(INT32_MAX));
}

TEST("a rank orders by priority, higher first, then by ready time")
{
    static const struct {
        int32_t priority;
        int64_t ready_at_ms;
    } in_order[] = {
        {99, 0}, {99, 5}, {99, PAWL_INSTANT_MS_MAX}, {98, 0}, {20, 1}, {20, 2}, {20, 1000}, {19, 0},
        {0, 0},  {0, 1},  {0, PAWL_INSTANT_MS_MAX}};
    for (size_t i = 1; i < COUNT_OF(in_order); i++) {
        CHECK(pawl_rank_make(in_order[i - 1].priority, in_order[i - 1].ready_at_ms) <
              pawl_rank_make(in_order[i].priority, in_order[i].ready_at_ms));
    }
    CHECK_EQ(pawl_rank_make(5, PAWL_INSTANT_MS_MAX), pawl_rank_make(5, INT64_MAX));
    CHECK_EQ(pawl_rank_make(5, 0), pawl_rank_make(5, -9));
    CHECK(pawl_rank_make(99, 0) > PAWL_RANK_NONE);
}

static void check_title(const char *want, const char *title, const char *goal)
{
    struct pawl_arena *arena;
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    CHECK_STR(want, pawl_title_derive(pawl_str_of(title), pawl_str_of(goal), arena));
    pawl_arena_close(arena);
}

#define TEN   "abcdefghij"
#define FORTY TEN TEN TEN TEN

TEST("T-003 a title is the given one trimmed, else 45 code points of the goal and three dots")
{
    check_title("Mail", "Mail", "the goal");
    check_title("Mail", "  Mail\t\n", "the goal");
    check_title("the goal", "   \t ", "the goal");
    check_title("the goal", "", "the goal");
    check_title("", "", "");
    check_title("", " ", "");
    check_title(FORTY "12345", "", FORTY "12345");
    check_title(FORTY "12345...", "", FORTY "123456");
    check_title("one two", "", "one\ntwo");
    check_title(" one ", "", "\rone\t"); /* breaks become blanks: a title is one line */
}

TEST("T-003 a title is cut between code points, never inside one")
{
    /* three bytes each; 45 of them and 46 */
    char goal[46 * 3 + 1] = "";
    char want[45 * 3 + 4] = "";
    for (size_t i = 0; i < 46; i++) memcpy(goal + i * 3, "\xe2\x82\xac", 3);
    memcpy(want, goal, (size_t)45 * 3);
    memcpy(want + (size_t)45 * 3, "...", 4);
    check_title(want, "", goal);
    goal[45 * 3] = '\0';
    check_title(goal, "", goal);
}

TEST_MAIN()
