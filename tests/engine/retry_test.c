/* Failures: the budget, deferrals, dead letters. */
#include "base/arena.h"
#include "core/limits.h"
#include "stores.h"

#include <string.h>

#define W PAWL_STR("w")

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

static void fail(struct lab *lab, struct pawl_str id, const char *error)
{
    struct pawl_fence fence = lab_start(lab, id, "w");
    check_ok(lab, pawl_task_fail(lab->pawl, id, FAILURE(.error = pawl_str_of(error)),
                                 CHANGE(.fence = &fence), &lab->err));
}

TEST_EACH_STORE(
    "T-059 a failure with budget left defers: start is NOT_READY until then, a claim sees nothing")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    fail(lab, id, "no luck");
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_EQ(1, task.retries);
    CHECK_EQ(1000, task.next_retry_at_ms - task.updated_at_ms);
    CHECK_STR("no luck", task.error);
    struct pawl_event event = lab_last(lab, id);
    CHECK_STR("retry_scheduled", event.action);
    CHECK(!event.success);
    CHECK_EQ(task.next_retry_at_ms, event.next_retry_at_ms);
    CHECK(pawl_str_has(event.detail, PAWL_STR("no luck")));
    struct pawl_grant grant;
    CHECK_REFUSED(PAWL_NOT_READY, pawl_task_start(lab->pawl, id, CLAIM(.worker_id = W), lab->keep,
                                                  &grant, &lab->err));
    CHECK_EQ(task.next_retry_at_ms, lab->err.until_at_ms);
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W)).count);
    CHECK_EQ(task.version, lab_get(lab, id).version);
    CHECK_TEXT("created queued started retry_scheduled", lab_told(lab, id));
}

TEST_EACH_STORE("T-060 with a budget of one the second failure is a dead letter; resume queues it")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.retry = {.max_retries = 1}));
    fail(lab, id, "one");
    lab_pass(lab, 1000);
    fail(lab, id, "two");
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, task.state);
    CHECK_EQ(0, task.next_retry_at_ms);
    CHECK_EQ(2, task.retries);
    CHECK_STR("two", task.error);
    struct pawl_event event = lab_last(lab, id);
    CHECK_STR("dead_lettered", event.action);
    CHECK_STR("task_dead_lettered", event.type);
    CHECK(!event.success);
    CHECK(pawl_str_has(event.detail, PAWL_STR("two")));
    check_ok(lab, pawl_task_resume(lab->pawl, id, NULL, NULL, &lab->err));
    task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_EQ(0, task.next_retry_at_ms);
    CHECK_STR("resumed", lab_last(lab, id).action);
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = W)).count);
}

TEST_EACH_STORE("T-061 nine failures in a row are 1, 2, 4, 8, 16, 32, 60, 60 and 60 s apart")
{
    static const int64_t want_s[] = {1, 2, 4, 8, 16, 32, 60, 60, 60};
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.retry = {.max_retries = 9}));
    for (size_t i = 0; i < COUNT_OF(want_s); i++) {
        fail(lab, id, "no");
        struct pawl_task task = lab_get(lab, id);
        CHECK_EQ(want_s[i] * SECOND_MS, task.next_retry_at_ms - task.updated_at_ms);
        lab_pass(lab, want_s[i] * SECOND_MS);
    }
    fail(lab, id, "no");
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, lab_get(lab, id).state);
    CHECK_EQ(10, lab_get(lab, id).retries);
}

TEST_EACH_STORE("T-062 with no budget the first failure is a dead letter, with retries 1")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.retry = {.max_retries = PAWL_RETRIES_NONE}));
    fail(lab, id, "no");
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, lab_get(lab, id).state);
    CHECK_EQ(1, lab_get(lab, id).retries);
    CHECK_EQ(0, lab_get(lab, id).max_retries);
}

TEST_EACH_STORE(
    "T-063 D-52 a deferred task becomes claimable at its deadline with nobody queueing it")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    fail(lab, id, "no");
    lab_pass(lab, 900);
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W)).count);
    lab_pass(lab, 100);
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = W)).count);
    CHECK_TEXT("created queued started retry_scheduled started", lab_told(lab, id));
}

TEST_EACH_STORE("T-063 also when nothing ran at the deadline, and after a restart")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    fail(lab, id, "no");
    struct pawl_options options = lab_options(lab);
    pawl_close(lab->pawl);
    options.no_timers = true; /* so that only time passes */
    lab->pawl = lab_handle(lab, &options);
    lab_pass(lab, 1000);
    lab_reopen(lab);
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = W)).count);
    CHECK_EQ(2, lab_get(lab, id).epoch);
}

TEST_EACH_STORE("a failure may name its own delay, or none, or that it is final")
{
    lab_open(lab);
    static const struct {
        int64_t retry_after_ms;
        bool is_final;
        enum pawl_task_state state;
        int64_t delay_ms;
    } rows[] = {{7000, false, PAWL_TASK_QUEUED, 7000},
                {PAWL_DELAY_NONE, false, PAWL_TASK_QUEUED, 0},
                {0, false, PAWL_TASK_QUEUED, 1000},
                {7000, true, PAWL_TASK_DEAD_LETTER, 0}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_str id = lab_add(lab, NEW());
        struct pawl_fence fence = lab_start(lab, id, "w");
        check_ok(lab, pawl_task_fail(lab->pawl, id,
                                     FAILURE(.retry_after_ms = rows[i].retry_after_ms,
                                             .is_final = rows[i].is_final),
                                     CHANGE(.fence = &fence), &lab->err));
        struct pawl_task task = lab_get(lab, id);
        CHECK_EQ(rows[i].state, task.state);
        CHECK_EQ(1, task.retries);
        CHECK_EQ(rows[i].delay_ms,
                 task.next_retry_at_ms == 0 ? 0 : task.next_retry_at_ms - task.updated_at_ms);
    }
}

TEST_EACH_STORE("jitter is added to the delay, from 0 to what was asked, and not always the same")
{
    lab_open(lab);
    int64_t least = INT64_MAX;
    int64_t most = 0;
    for (int i = 0; i < 20; i++) {
        struct pawl_str id = lab_add(lab, NEW(.retry = {.jitter_ms = 500}));
        fail(lab, id, "no");
        struct pawl_task task = lab_get(lab, id);
        int64_t delay_ms = task.next_retry_at_ms - task.updated_at_ms;
        if (delay_ms < least) least = delay_ms;
        if (delay_ms > most) most = delay_ms;
    }
    CHECK(least >= 1000);
    CHECK(most <= 1500);
    CHECK(least < most);
}

TEST_EACH_STORE("an attempt's event tells how long it took")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    lab_pass(lab, 3000);
    check_ok(lab, pawl_task_fail(lab->pawl, id, NULL, CHANGE(.fence = &fence), &lab->err));
    CHECK_NEAR(3000, lab_last(lab, id).duration_ms, lab->store == LAB_SQLITE ? 0 : 2000);
}

TEST_EACH_STORE("D-06 a task that kills its worker is dead after max_retries + 1 attempts")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.retry = {.max_retries = 2}));
    int attempts = 0;
    while (lab_get(lab, id).state == PAWL_TASK_QUEUED) {
        (void)lab_start(lab, id, "w");
        attempts++;
        CHECK(attempts <= 3);
        lab_pass(lab, 60000);
        lab_pass(lab, 1000); /* the back-off of the second crash */
    }
    CHECK_EQ(3, attempts);
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, lab_get(lab, id).state);
    CHECK_EQ(3, lab_get(lab, id).retries);
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W)).count);
}

TEST_EACH_STORE("why says why a task is not being worked on")
{
    lab_open(lab);
    struct pawl_str parent[] = {lab_add(lab, NEW(.id = PAWL_STR("parent"), .hold = true))};
    struct pawl_str child = lab_add(lab, NEW(.depends_on = parent, .depends_on_count = 1));
    struct pawl_str deferred = lab_add(lab, NEW(.delay_ms = 60000));
    struct pawl_str ready = lab_add(lab, NEW());
    struct pawl_str why;
    const struct {
        struct pawl_str id;
        const char *has;
    } rows[] = {{parent[0], "held"},
                {child, "waits for 1 task to complete: parent"},
                {deferred, "deferred until"},
                {ready, "ready since"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        check_ok(lab, pawl_task_why(lab->pawl, rows[i].id, lab->keep, &why, &lab->err));
        if (!pawl_str_has(why, pawl_str_of(rows[i].has))) {
            FAIL("%.*s: not \"%s\"", PAWL_STR_ARG(why), rows[i].has);
        }
    }
}

TEST_EACH_STORE("the longest delay with the longest jitter is cut at the longest delay")
{
    lab_open(lab);
    for (int i = 0; i < 8; i++) {
        struct pawl_str id =
            lab_add(lab, NEW(.retry = {.delay_ms = PAWL_DELAY_MS_MAX, .jitter_ms = PAWL_DELAY_MS_MAX / 2}));
        struct pawl_fence fence = lab_start(lab, id, "w");
        CHECK_OK(pawl_task_fail(lab->pawl, id, NULL, CHANGE(.fence = &fence), &lab->err), &lab->err);
        struct pawl_task task = lab_get(lab, id);
        CHECK_EQ(PAWL_DELAY_MS_MAX, task.next_retry_at_ms - task.updated_at_ms);
    }
}

TEST_MAIN()
