/* Leases as the rules see them: the fence's predicate, renewals, timers, hand-outs, repeats. */
#include "core/check.h"
#include "core/limits.h"
#include "core/task/rule.h"
#include "desk.h"

static struct pawl_fence fence_of(const struct pawl_task_row *row)
{
    return (struct pawl_fence){DESK_TASK_ID, PAWL_STR("worker-1"), row->epoch};
}

static struct pawl_renewal renew(struct desk *desk, const struct pawl_fence *fence,
                                 int64_t lease_ms)
{
    struct pawl_renewal renewal = {0};
    struct pawl_command command = {
        .kind = PAWL_COMMAND_RENEW,
        .ask.renew = {.fences = fence, .count = 1, .lease_ms = lease_ms},
        .out.renewals = &renewal,
    };
    CHECK_CODE(PAWL_OK, desk_run(desk, &command));
    return renewal;
}

TEST("D-48 a lease is the holder's until one millisecond before its end, and not at its end")
{
    for (int64_t late_ms = -1; late_ms <= 0; late_ms++) {
        struct desk desk;
        desk_open(&desk);
        struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
        const struct pawl_task_row *row = desk_put(&desk, &before);
        desk.step.now_ms = before.lease_end_at_ms + late_ms;
        struct pawl_fence fence = fence_of(row);
        struct pawl_renewal renewal = renew(&desk, &fence, 0);
        CHECK_EQ(late_ms < 0 ? PAWL_OK : PAWL_LEASE_LOST, renewal.code);
        CHECK_EQ(late_ms < 0 ? PAWL_TASK_RUNNING : PAWL_TASK_QUEUED, row->state);
        desk_close(&desk);
    }
}

TEST("a renewal moves the end alone: no version, no event, and a timer that is early stays")
{
    struct desk desk;
    desk_open(&desk);
    struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
    const struct pawl_task_row *row = desk_put(&desk, &before);
    struct pawl_fence fence = fence_of(row);

    struct pawl_renewal renewal = renew(&desk, &fence, 0);
    CHECK_CODE(PAWL_OK, renewal.code);
    CHECK_EQ(60000, renewal.lease_ms);
    CHECK_EQ(DESK_NOW_MS + 60000, renewal.lease_end_at_ms);
    CHECK_EQ(DESK_NOW_MS + 60000, row->lease_end_at_ms);
    CHECK_EQ(before.due_at_ms, row->due_at_ms);
    CHECK_EQ(before.version, row->version);
    CHECK_EQ(before.updated_at_ms, row->updated_at_ms);
    CHECK_EQ(0, desk_event_count(&desk));

    /* the timer fires, finds that it was early, and is armed anew */
    desk.step.now_ms = before.due_at_ms;
    desk_run_due(&desk, DESK_TASK);
    CHECK_EQ(PAWL_TASK_RUNNING, row->state);
    CHECK_EQ(DESK_NOW_MS + 60000, row->due_at_ms);
    desk_close(&desk);
}

TEST("a renewal to a shorter lease moves the timer, so that it is never late")
{
    struct desk desk;
    desk_open(&desk);
    struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
    const struct pawl_task_row *row = desk_put(&desk, &before);
    struct pawl_fence fence = fence_of(row);
    CHECK_EQ(100, renew(&desk, &fence, 100).lease_ms);
    CHECK_EQ(DESK_NOW_MS + 100, row->lease_end_at_ms);
    CHECK_EQ(DESK_NOW_MS + 100, row->due_at_ms);
    /* the length it was granted with is what 0 means */
    CHECK_EQ(60000, renew(&desk, &fence, 0).lease_ms);
    desk_close(&desk);
}

TEST("a renewal tells what an operator has asked for")
{
    struct desk desk;
    desk_open(&desk);
    struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
    before.control = PAWL_CONTROL_CANCEL;
    before.control_deadline_at_ms = DESK_NOW_MS + 20000;
    before.due_at_ms = before.control_deadline_at_ms;
    struct pawl_fence fence = fence_of(desk_put(&desk, &before));
    struct pawl_renewal renewal = renew(&desk, &fence, 0);
    CHECK_CODE(PAWL_OK, renewal.code);
    CHECK_EQ(PAWL_CONTROL_CANCEL, renewal.control);
    CHECK_EQ(before.control_deadline_at_ms, renewal.control_deadline_at_ms);
    desk_close(&desk);
}

TEST("D-46 a renewal writes no lease where there is none, and one lost lease costs no other")
{
    struct desk desk;
    desk_open(&desk);
    struct pawl_task_row running = desk_row(PAWL_TASK_RUNNING);
    struct pawl_task_row queued = desk_row(PAWL_TASK_QUEUED);
    queued.key = 11;
    queued.id = PAWL_STR("task-11");
    struct pawl_task_row *rows[] = {desk_put(&desk, &running), desk_put(&desk, &queued)};
    struct pawl_fence fences[] = {
        {PAWL_STR("task-11"), PAWL_STR("worker-1"), 3},
        {PAWL_STR("no such task"), PAWL_STR("worker-1"), 3},
        {DESK_TASK_ID, PAWL_STR("worker-1"), 3},
    };
    struct pawl_renewal got[3] = {0};
    struct pawl_command command = {
        .kind = PAWL_COMMAND_RENEW,
        .ask.renew = {.fences = fences, .count = 3},
        .out.renewals = got,
    };
    CHECK_CODE(PAWL_OK, desk_run(&desk, &command));
    CHECK_CODE(PAWL_LEASE_LOST, got[0].code);
    CHECK_CODE(PAWL_LEASE_LOST, got[1].code);
    CHECK_CODE(PAWL_OK, got[2].code);
    CHECK_BYTES(&queued, sizeof queued, rows[1], sizeof queued);
    CHECK_EQ(DESK_NOW_MS + 60000, rows[0]->lease_end_at_ms);
    desk_close(&desk);
}

TEST("the earliest of lease end, attempt time-out and request's deadline is what a task is due at")
{
    struct pawl_task_row row = desk_row(PAWL_TASK_RUNNING);
    CHECK_EQ(row.lease_end_at_ms, pawl_lease_due(&row));
    row.attempt_end_at_ms = row.lease_end_at_ms - 1;
    CHECK_EQ(row.lease_end_at_ms - 1, pawl_lease_due(&row));
    row.control_deadline_at_ms = row.lease_end_at_ms - 2;
    CHECK_EQ(row.lease_end_at_ms - 2, pawl_lease_due(&row));
    row.attempt_end_at_ms = row.lease_end_at_ms + 5;
    row.control_deadline_at_ms = 0;
    CHECK_EQ(row.lease_end_at_ms, pawl_lease_due(&row));
}

TEST("D-06 a task whose worker always vanishes waits longer each time and then is dead")
{
    struct desk desk;
    desk_open(&desk);
    struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
    before.retry.max_retries = 3;
    struct pawl_task_row *row = desk_put(&desk, &before);
    static const int64_t want_delay_ms[] = {0, 1000, 2000};
    struct pawl_claim ask = {.worker_id = PAWL_STR("worker-1")};
    for (size_t i = 0; i < COUNT_OF(want_delay_ms); i++) {
        desk.step.now_ms = row->lease_end_at_ms;
        desk_run_due(&desk, DESK_TASK);
        CHECK_EQ(PAWL_TASK_QUEUED, row->state);
        int64_t ready_at_ms = want_delay_ms[i] == 0 ? 0 : desk.step.now_ms + want_delay_ms[i];
        CHECK_EQ(ready_at_ms, row->ready_at_ms);
        desk.step.now_ms += want_delay_ms[i];
        struct pawl_grant grant = {0};
        struct pawl_command start = {.kind = PAWL_COMMAND_START,
                                     .task_id = DESK_TASK_ID,
                                     .ask.claim.ask = &ask,
                                     .out.grant = &grant};
        CHECK_CODE(PAWL_OK, desk_run(&desk, &start));
        CHECK_EQ((int32_t)i + 2, grant.attempt);
        CHECK_EQ(5 + 2 * (int64_t)i, grant.fence.epoch); /* a crash costs two */
    }
    desk.step.now_ms = row->lease_end_at_ms;
    desk_run_due(&desk, DESK_TASK);
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, row->state);
    CHECK_EQ(4, row->retries);
    CHECK_EQ(4, row->recoveries);
    desk_close(&desk);
}

TEST("a reported failure between two crashes begins their back-off anew")
{
    struct desk desk;
    desk_open(&desk);
    struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
    before.crashes_in_row = 2;
    before.retry.max_retries = 10;
    struct pawl_task_row *row = desk_put(&desk, &before);
    struct pawl_command fail = {.kind = PAWL_COMMAND_FAIL,
                                .task_id = DESK_TASK_ID,
                                .has_fence = true,
                                .fence = fence_of(row),
                                .ask.failure = {.retry_after_ms = PAWL_DELAY_NONE}};
    CHECK_CODE(PAWL_OK, desk_run(&desk, &fail));
    CHECK_EQ(0, row->crashes_in_row);
    CHECK_EQ(0, row->ready_at_ms);
    CHECK(row->rank != PAWL_RANK_NONE);
    desk_close(&desk);
}

TEST("the accepted outcome is known again by epoch, kind and body, and only with a fence")
{
    struct pawl_task_row row = desk_row(PAWL_TASK_RUNNING);
    struct pawl_command said = {.kind = PAWL_COMMAND_COMPLETE,
                                .has_fence = true,
                                .fence = {DESK_TASK_ID, PAWL_STR("worker-1"), 3},
                                .ask.result = PAWL_STR("1")};
    CHECK(!pawl_outcome_is_repeat(&said, &row));
    pawl_outcome_accept(&row, &said);
    CHECK(pawl_outcome_is_repeat(&said, &row));

    struct pawl_command other = said;
    other.ask.result = PAWL_STR("2");
    CHECK(!pawl_outcome_is_repeat(&other, &row));
    other = said;
    other.fence.epoch = 2;
    CHECK(!pawl_outcome_is_repeat(&other, &row));
    other = said;
    other.has_fence = false;
    CHECK(!pawl_outcome_is_repeat(&other, &row));
    other = said;
    other.kind = PAWL_COMMAND_FAIL;
    other.ask.failure = (struct pawl_failure){.error = PAWL_STR("1")};
    CHECK(!pawl_outcome_is_repeat(&other, &row));
}

TEST("the digest of an outcome tells kind, body and number apart")
{
    struct pawl_str a = PAWL_STR("a");
    int64_t digest = pawl_outcome_digest(PAWL_STR("w"), PAWL_OUTCOME_FAIL, a, 5);
    CHECK_EQ(digest, pawl_outcome_digest(PAWL_STR("w"), PAWL_OUTCOME_FAIL, a, 5));
    CHECK(digest != pawl_outcome_digest(PAWL_STR("w"), PAWL_OUTCOME_FAIL, a, 6));
    CHECK(digest != pawl_outcome_digest(PAWL_STR("w"), PAWL_OUTCOME_FAIL, PAWL_STR("b"), 5));
    CHECK(digest != pawl_outcome_digest(PAWL_STR("w"), PAWL_OUTCOME_COMPLETE, a, 5));
}

TEST("a command that fails leaves no change, whatever it had done before it found out")
{
    struct desk desk;
    desk_open(&desk);
    struct pawl_task_row before = desk_row(PAWL_TASK_QUEUED);
    const struct pawl_task_row *row = desk_put(&desk, &before);
    /* the second member names a task that is not there; the first is good */
    struct pawl_str missing[] = {PAWL_STR("nobody")};
    struct pawl_str known[] = {DESK_TASK_ID};
    struct pawl_task_new asks[] = {
        {.size = sizeof *asks, .depends_on = known, .depends_on_count = 1},
        {.size = sizeof *asks, .depends_on = missing, .depends_on_count = 1},
    };
    const struct pawl_member *members;
    struct pawl_added added[2] = {0};
    CHECK_OK(pawl_check_create(asks, 2, (struct pawl_str){0}, desk.keep, &members, NULL), NULL);
    struct pawl_command create = {.kind = PAWL_COMMAND_CREATE,
                                  .ask.create = {.members = members, .count = 2},
                                  .out.added = added};
    CHECK_CODE(PAWL_INVALID, desk_run(&desk, &create));
    CHECK_BYTES(&before, sizeof before, row, sizeof *row);
    CHECK_EQ(0, desk_event_count(&desk));
    CHECK_EQ(0, desk.step.set.appends[PAWL_APPEND_DEPENDENCY].count);
    desk_close(&desk);
}

TEST("equal input gives equal output: ids, keys, events")
{
    char ids[2][64];
    for (size_t run = 0; run < 2; run++) {
        struct desk desk;
        desk_open(&desk);
        struct pawl_task_new ask = {.size = sizeof ask, .goal = PAWL_STR("x")};
        const struct pawl_member *members;
        struct pawl_added added = {0};
        CHECK_OK(pawl_check_create(&ask, 1, (struct pawl_str){0}, desk.keep, &members, NULL), NULL);
        struct pawl_command create = {.kind = PAWL_COMMAND_CREATE,
                                      .ask.create = {.members = members, .count = 1},
                                      .out.added = &added};
        CHECK_CODE(PAWL_OK, desk_run(&desk, &create));
        CHECK_EQ(36, added.id.len);
        for (size_t i = 0; i < added.id.len; i++) ids[run][i] = added.id.ptr[i];
        desk_close(&desk);
    }
    CHECK_BYTES(ids[0], 36, ids[1], 36);
}

TEST("T-107 a finding is of one epoch: what was found of an earlier claim gives nothing back")
{
    for (int64_t behind = 0; behind <= 1; behind++) {
        struct desk desk;
        desk_open(&desk);
        struct pawl_task_row before = desk_row(PAWL_TASK_RECOVERY_PENDING);
        before.lease_kind = PAWL_LEASE_SUPERVISED;
        before.due_at_ms = DESK_NOW_MS + 1;
        const struct pawl_task_row *row = desk_put(&desk, &before);
        struct pawl_command command = {
            .kind = PAWL_COMMAND_RECOVER,
            .number = DESK_TASK,
            .ask.recover = {.epoch = before.epoch - behind, .finding = PAWL_FINDING_STOPPED},
        };
        CHECK_CODE(PAWL_OK, desk_run(&desk, &command));
        CHECK_EQ(behind == 0 ? PAWL_TASK_QUEUED : PAWL_TASK_RECOVERY_PENDING, row->state);
        CHECK_EQ(before.retries + (behind == 0 ? 1 : 0), row->retries);
        desk_close(&desk);
    }
}

TEST("D-29 a task that waits for its proof is looked at after 5, 10, 20 s and so on, at most every 5 minutes")
{
    static const int64_t want_s[] = {5, 10, 20, 40, 80, 160, 300, 300};
    struct desk desk;
    desk_open(&desk);
    struct pawl_task_row before = desk_row(PAWL_TASK_RECOVERY_PENDING);
    before.lease_kind = PAWL_LEASE_SUPERVISED;
    before.due_at_ms = DESK_NOW_MS;
    before.updated_at_ms = DESK_NOW_MS;
    const struct pawl_task_row *row = desk_put(&desk, &before);
    desk.step.can_prove = true;
    for (size_t i = 0; i < COUNT_OF(want_s); i++) {
        desk.step.now_ms = row->due_at_ms;
        desk_run_due(&desk, DESK_TASK);
        CHECK(row->wants_proof);
        CHECK_EQ(want_s[i] * 1000, row->due_at_ms - desk.step.now_ms);
    }
    CHECK_EQ(before.version, row->version);
    CHECK_EQ(0, desk_event_count(&desk));

    /* an engine that proves nothing leaves it to another */
    desk.step.can_prove = false;
    desk.step.now_ms = row->due_at_ms;
    desk_run_due(&desk, DESK_TASK);
    CHECK_EQ(desk.step.now_ms + PAWL_RECOVERY_LEAVE_MS, row->due_at_ms);
    desk_close(&desk);
}

TEST_MAIN()
