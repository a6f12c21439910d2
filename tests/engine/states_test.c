/* The states of a task through the public calls: the life cycle, the whole table of operations,
 * what never changes, and what may be said twice. */
#include "base/arena.h"
#include "core/cells.h"
#include "stores.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OPERATOR_ID PAWL_STR("ops")

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

/* ---- A life ---- */

TEST_EACH_STORE("T-004 low, critical and medium tasks list as critical, medium, low")
{
    lab_open(lab);
    (void)lab_add(lab, NEW(.id = PAWL_STR("low"), .priority = 10));
    (void)lab_add(lab, NEW(.id = PAWL_STR("critical"), .priority = 40));
    (void)lab_add(lab, NEW(.id = PAWL_STR("medium"), .priority = 20));
    struct pawl_page ready = lab_list(lab, LIST(.is_ready = true));
    CHECK_TEXT("critical medium low", lab_ids(lab, &ready));
    struct pawl_page queued = lab_list(lab, LIST(.states = 1u << PAWL_TASK_QUEUED));
    CHECK_TEXT("critical medium low", lab_ids(lab, &queued));
}

TEST_EACH_STORE(
    "T-005 pending, queued, running, progress 50, paused with a reason, resumed to queued")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.hold = true));
    CHECK_EQ(PAWL_TASK_PENDING, lab_get(lab, id).state);
    check_ok(lab, pawl_task_queue(lab->pawl, id, NULL, &lab->err));
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
    struct pawl_fence fence = lab_start(lab, id, "w");
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, id).state);
    check_ok(lab, pawl_task_progress(lab->pawl, id, 50, CHANGE(.fence = &fence), &lab->err));
    CHECK_NEAR(50, lab_get(lab, id).progress, 0);
    CHECK_EQ(1, lab_get(lab, id).progress_epoch);
    check_ok(lab, pawl_task_pause(lab->pawl, id,
                                  CHANGE(.fence = &fence, .reason = PAWL_STR("lunch")), &lab->err));
    CHECK_EQ(PAWL_TASK_PAUSED, lab_get(lab, id).state);
    CHECK_STR("paused", lab_last(lab, id).action);
    CHECK_STR("lunch", lab_last(lab, id).detail);
    CHECK_STR("w", lab_last(lab, id).actor);
    check_ok(lab, pawl_task_resume(lab->pawl, id, NULL, NULL, &lab->err));
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
    CHECK_NEAR(50, lab_get(lab, id).progress, 0);
    CHECK_TEXT("created queued started progress paused queued", lab_told(lab, id));
    CHECK_STR("resumed", lab_last(lab, id).cause);
    CHECK_EQ(1, lab_get(lab, id).epoch); /* a new epoch is for what had ended */

    check_ok(lab, pawl_task_complete(lab->pawl, id, PAWL_STR("\"done\""), NULL, &lab->err));
    CHECK_EQ(PAWL_TASK_COMPLETED, lab_get(lab, id).state);
}

TEST_EACH_STORE("T-006 completing a queued task gives COMPLETED, progress 100 and the result")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    check_ok(lab, pawl_task_complete(lab->pawl, id, PAWL_STR("{\"n\": 1.50}"), NULL, &lab->err));
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_COMPLETED, task.state);
    CHECK_NEAR(100, task.progress, 0);
    CHECK_STR("{\"n\": 1.50}", task.result);
    CHECK(task.finished_at_ms > 0);
    CHECK_TEXT("created queued completed", lab_told(lab, id));
    CHECK_STR("completed", lab_last(lab, id).action);
    CHECK(pawl_str_has(lab_last(lab, id).detail, PAWL_STR("{\"n\": 1.50}")));
    CHECK(lab_last(lab, id).success);
}

TEST_EACH_STORE("T-007 cancelling a queued task keeps the reason in its history")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    check_ok(lab, pawl_task_cancel(lab->pawl, id, false,
                                   CHANGE(.reason = PAWL_STR("not needed"), .actor = OPERATOR_ID),
                                   &lab->err));
    struct pawl_event event = lab_last(lab, id);
    CHECK_STR("task_cancelled", event.type);
    CHECK_STR("cancelled", event.action);
    CHECK_STR("not needed", event.detail);
    CHECK_STR("ops", event.actor);
    CHECK_EQ(PAWL_TASK_CANCELLED, event.state);
    CHECK_EQ(PAWL_TASK_CANCELLED, lab_get(lab, id).state);
}

/* ---- The table ---- */

/* Two states are passed through within a step, or come with other parts: their rows are edited. */
static void edit(struct lab *lab, struct pawl_str id, const char *what)
{
    (void)lab_sql(lab, pawl_arena_format(lab->keep, "UPDATE task SET %s WHERE id = '%.*s'", what,
                                         PAWL_STR_ARG(id))
                           .ptr);
}

/* A new task in this state. Where it was ever leased, worker-1 had it. */
static struct pawl_str task_in(struct lab *lab, enum pawl_task_state state)
{
    struct pawl_str id = lab_add(lab, NEW(.hold = true, .queue = PAWL_STR("mail")));
    struct pawl_fence fence;
    switch (state) {
    case PAWL_TASK_PENDING:
        break;
    case PAWL_TASK_QUEUED:
        check_ok(lab, pawl_task_queue(lab->pawl, id, NULL, &lab->err));
        break;
    case PAWL_TASK_RUNNING:
        (void)lab_start(lab, id, "worker-1");
        break;
    case PAWL_TASK_PAUSED:
        check_ok(lab, pawl_task_pause(lab->pawl, id, NULL, &lab->err));
        break;
    case PAWL_TASK_COMPLETED:
        check_ok(lab, pawl_task_complete(lab->pawl, id, PAWL_STR("7"), NULL, &lab->err));
        break;
    case PAWL_TASK_CANCELLED:
        check_ok(lab, pawl_task_cancel(lab->pawl, id, false, NULL, &lab->err));
        break;
    case PAWL_TASK_FAILED:
    case PAWL_TASK_DEAD_LETTER:
        fence = lab_start(lab, id, "worker-1");
        check_ok(lab, pawl_task_fail(lab->pawl, id,
                                     FAILURE(.error = PAWL_STR("before"), .is_final = true),
                                     CHANGE(.fence = &fence), &lab->err));
        if (state == PAWL_TASK_FAILED) edit(lab, id, "state = 6");
        break;
    case PAWL_TASK_RECOVERY_PENDING:
        (void)lab_start(lab, id, "worker-1");
        edit(lab, id, "state = 4, lease_end_at_ms = NULL, due_at_ms = NULL");
        break;
    }
    CHECK_EQ(state, lab_get(lab, id).state);
    return id;
}

static enum pawl_code run(struct lab *lab, enum operation operation, struct pawl_str id,
                          const struct pawl_fence *fence)
{
    struct pawl *pawl = lab->pawl;
    struct pawl_error *err = &lab->err;
    const struct pawl_change *change = CHANGE(.fence = fence, .actor = OPERATOR_ID);
    struct pawl_grant grant;
    struct pawl_renewal renewal = {0};
    enum pawl_code code;
    switch (operation) {
    case QUEUE:
        return pawl_task_queue(pawl, id, change, err);
    case START:
        return pawl_task_start(pawl, id, CLAIM(.worker_id = PAWL_STR("worker-2")), lab->keep,
                               &grant, err);
    case PROGRESS:
        return pawl_task_progress(pawl, id, 55, change, err);
    case CHECKPOINT:
        return pawl_task_checkpoint(pawl, id, 1, PAWL_STR("{}"), change, err);
    case RENEW:
        code = pawl_lease_renew(pawl, fence, 1, 0, &renewal, err);
        return code == PAWL_OK ? renewal.code : code;
    case RELEASE:
        return pawl_task_release(pawl, id, 0, change, err);
    case YIELD:
        return pawl_task_release(pawl, id, 60000, change, err);
    case PAUSE:
        return pawl_task_pause(pawl, id, change, err);
    case RESUME:
        return pawl_task_resume(pawl, id, NULL, change, err);
    case CANCEL:
        return pawl_task_cancel(pawl, id, false, change, err);
    case CANCEL_BY_FORCE:
        return pawl_task_cancel(pawl, id, true, change, err);
    case COMPLETE:
        return pawl_task_complete(pawl, id, PAWL_STR("1"), change, err);
    case FAIL:
        return pawl_task_fail(pawl, id, FAILURE(.error = PAWL_STR("no")), change, err);
    case RESOLVE_COMPLETED:
        return pawl_task_resolve(pawl, id, PAWL_TASK_COMPLETED, PAWL_STR("1"), change, err);
    case RESOLVE_FAILED:
        return pawl_task_resolve(pawl, id, PAWL_TASK_FAILED, PAWL_STR("no"), change, err);
    case RESOLVE_QUEUED:
        return pawl_task_resolve(pawl, id, PAWL_TASK_QUEUED, NO_TEXT, change, err);
    case RESOLVE_CANCELLED:
        return pawl_task_resolve(pawl, id, PAWL_TASK_CANCELLED, NO_TEXT, change, err);
    case OPERATION_COUNT:
        break;
    }
    return PAWL_MISUSE;
}

/* NULL, or what is not as the cell has it. */
static const char *fault_of(const struct cell *want, const struct pawl_task *before,
                            const struct pawl_task *task, enum pawl_code code)
{
    enum pawl_task_state to = want->to == SAME ? before->state : (enum pawl_task_state)want->to;
    if (code != want->code) return pawl_code_name(code);
    if (task->state != to) return pawl_task_state_name(task->state);
    if (task->version != before->version + want->is_written) return "version";
    if (task->epoch != before->epoch + want->is_new_epoch) return "epoch";
    bool has_owner = to == PAWL_TASK_RUNNING || to == PAWL_TASK_RECOVERY_PENDING;
    if (has_owner != (task->owner.len > 0)) return "owner";
    if ((to == PAWL_TASK_RUNNING) != (task->lease_end_at_ms != 0)) return "lease end";
    if (has_owner != (task->lease_ms != 0)) return "length of the lease";
    if (pawl_task_state_is_terminal(to) != (task->finished_at_ms != 0)) return "finish time";
    if (!has_owner && task->control != PAWL_CONTROL_NONE) return "control request";
    if (to != PAWL_TASK_QUEUED && to != PAWL_TASK_PENDING && task->next_retry_at_ms != 0) {
        return "deferral";
    }
    if (!want->is_written && task->updated_at_ms != before->updated_at_ms) return "updated_at";
    return NULL;
}

static const char *event_fault(const struct pawl_events *events, size_t old_count,
                               const struct cell *want, const struct pawl_task *task)
{
    if (events->count != old_count + (want->told != PAWL_EVENT_NONE)) return "number of events";
    if (want->told == PAWL_EVENT_NONE) return NULL;
    const struct pawl_event *event = &events->events[old_count];
    if (!pawl_str_equal(pawl_event_type_text(want->told), event->type)) return "type of the event";
    if (!pawl_str_equal(pawl_event_action_text(want->told), event->action)) return "action";
    if (event->state != task->state || event->epoch != task->epoch) return "event's state";
    if (event->version != task->version || event->sequence != (int64_t)old_count + 1) {
        return "event's sequence";
    }
    if (event->at_ms != task->updated_at_ms) return "event's instant";
    if (event->actor.len == 0) return "actor";
    return NULL;
}

static void try_cell(struct lab *lab, enum operation operation, enum caller caller,
                     enum pawl_task_state state, const struct cell *want)
{
    static const char *const callers[] = {"an operator", "the holder", "an earlier holder",
                                          "a stranger"};
    struct pawl_str id = task_in(lab, state);
    struct pawl_task before = lab_get(lab, id);
    size_t old_count = lab_history(lab, id).count;
    struct pawl_fence fence = {id, PAWL_STR("worker-1"), before.epoch > 0 ? before.epoch : 1};
    if (caller == EARLIER_HOLDER) fence.epoch = 1000; /* any but the current one */
    if (caller == STRANGER) fence.owner = PAWL_STR("worker-2");

    enum pawl_code code = run(lab, operation, id, caller == OPERATOR ? NULL : &fence);
    struct pawl_task task = lab_get(lab, id);
    struct pawl_events events = lab_history(lab, id);
    const char *fault = fault_of(want, &before, &task, code);
    if (fault == NULL) fault = event_fault(&events, old_count, want, &task);
    struct pawl_late_results late;
    check_ok(lab, pawl_task_late_results(lab->pawl, id, lab->keep, &late, &lab->err));
    bool is_outcome =
        operation == COMPLETE || operation == FAIL || operation == RELEASE || operation == YIELD;
    bool is_kept = want->code == PAWL_LEASE_LOST && caller != OPERATOR && is_outcome;
    if (fault == NULL && late.count != (is_kept ? 1 : 0)) fault = "late results";
    if (fault != NULL) {
        FAIL("%s of a %s task by %s: %s; wanted %s", operation_names[operation],
             pawl_task_state_name(state), callers[caller], fault, pawl_code_name(want->code));
    }
}

static void begin_table(struct lab *lab)
{
    lab_open(lab);
    struct pawl_str known = lab_add(lab, NEW()); /* so that worker-2 is known */
    (void)lab_start(lab, known, "worker-2");
}

TEST_EACH_STORE("T-013 each operation from each state by an operator, through the calls")
{
    begin_table(lab);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (table[i].caller != OPERATOR) continue;
        for (size_t c = 0; c < COLUMNS; c++) {
            try_cell(lab, table[i].operation, OPERATOR, columns[c], &table[i].cells[c]);
        }
    }
}

TEST_EACH_STORE("T-013 each operation from each state by the holder of a fence, through the calls")
{
    begin_table(lab);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (table[i].caller != HOLDER) continue;
        for (size_t c = 0; c < COLUMNS; c++) {
            try_cell(lab, table[i].operation, HOLDER, columns[c], &table[i].cells[c]);
        }
    }
}

TEST_EACH_STORE("T-013 each operation with another epoch or another owner is LEASE_LOST")
{
    static const struct cell lost = LOST;
    begin_table(lab);
    for (int operation = 0; operation < OPERATION_COUNT; operation++) {
        if (operation == START) continue;
        for (size_t c = 0; c < COLUMNS; c++) {
            try_cell(lab, (enum operation)operation, EARLIER_HOLDER, columns[c], &lost);
            try_cell(lab, (enum operation)operation, STRANGER, columns[c], &lost);
        }
    }
}

TEST_EACH_STORE("T-013 release without a fence is MISUSE, and changes nothing")
{
    lab_open(lab);
    for (size_t c = 0; c < COLUMNS; c++) {
        struct pawl_str id = task_in(lab, columns[c]);
        int64_t version = lab_get(lab, id).version;
        CHECK_REFUSED(PAWL_MISUSE, pawl_task_release(lab->pawl, id, 0, NULL, &lab->err));
        CHECK_EQ(version, lab_get(lab, id).version);
    }
}

TEST_EACH_STORE("each operation on a task that is not there is NOT_FOUND and names it")
{
    lab_open(lab);
    struct pawl_fence fence = {PAWL_STR("nobody"), PAWL_STR("worker-1"), 1};
    for (int operation = 0; operation < OPERATION_COUNT; operation++) {
        enum pawl_code code =
            run(lab, (enum operation)operation, PAWL_STR("nobody"),
                operation == RENEW || operation == RELEASE || operation == YIELD ? &fence : NULL);
        /* of many renewals each has its own answer, and one that is gone is lost */
        CHECK_CODE(operation == RENEW ? PAWL_LEASE_LOST : PAWL_NOT_FOUND, code);
        if (operation != RENEW) CHECK(strstr(lab->err.text, "nobody") != NULL);
    }
}

/* ---- What stands still ---- */

/* All that is stored of a task, but for what lies beside it. */
static const char *row_of(struct lab *lab, struct pawl_str id)
{
    return lab_sql(lab, pawl_arena_format(
                            lab->keep,
                            "SELECT version || '/' || state || '/' || epoch || '/' || sequence || "
                            "'/' || updated_at_ms || '/' || progress || '/' || payloads || '/' || "
                            "checkpoint_count || '/' || log_bytes || '/' || retries || '/' || "
                            "coalesce(finished_at_ms, 0) || '/' || coalesce(outcome_epoch, 0) || "
                            "'/' || coalesce(due_at_ms, 0) FROM task WHERE id = '%.*s'",
                            PAWL_STR_ARG(id))
                            .ptr);
}

TEST_EACH_STORE("T-014 queueing a RUNNING, COMPLETED or QUEUED task writes nothing")
{
    static const enum pawl_task_state states[] = {PAWL_TASK_RUNNING, PAWL_TASK_COMPLETED,
                                                  PAWL_TASK_QUEUED};
    lab_open(lab);
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        struct pawl_str id = task_in(lab, states[i]);
        const char *row = row_of(lab, id);
        size_t told = lab_history(lab, id).count;
        check_ok(lab, pawl_task_queue(lab->pawl, id, NULL, &lab->err));
        CHECK_TEXT(row, row_of(lab, id));
        CHECK_EQ(told, lab_history(lab, id).count);
    }
}

TEST_EACH_STORE("T-015 D-45 no operation changes a COMPLETED or CANCELLED row")
{
    static const enum pawl_task_state states[] = {PAWL_TASK_COMPLETED, PAWL_TASK_CANCELLED};
    lab_open(lab);
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        struct pawl_str id = task_in(lab, states[i]);
        struct pawl_fence fence = {id, PAWL_STR("worker-1"), 1};
        const char *row = row_of(lab, id);
        struct pawl_str result = lab_get(lab, id).result;
        for (int operation = 0; operation < OPERATION_COUNT; operation++) {
            if (operation != RENEW) (void)run(lab, (enum operation)operation, id, NULL);
            if (operation != START) (void)run(lab, (enum operation)operation, id, &fence);
        }
        CHECK_REFUSED(PAWL_STATE, pawl_task_log(lab->pawl, id, PAWL_STR("x"), NULL, &lab->err));
        CHECK_TEXT(row, row_of(lab, id));
        CHECK(pawl_str_equal(result, lab_get(lab, id).result));
    }
}

TEST_EACH_STORE(
    "D-38 queue revives nothing: CANCELLED, DEAD_LETTER, FAILED and PAUSED stay as they are")
{
    static const enum pawl_task_state states[] = {PAWL_TASK_CANCELLED, PAWL_TASK_DEAD_LETTER,
                                                  PAWL_TASK_FAILED, PAWL_TASK_PAUSED};
    lab_open(lab);
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        struct pawl_str id = task_in(lab, states[i]);
        const char *row = row_of(lab, id);
        CHECK_REFUSED(PAWL_STATE, pawl_task_queue(lab->pawl, id, NULL, &lab->err));
        CHECK(strstr(lab->err.text, pawl_task_state_name(states[i])) != NULL);
        CHECK_TEXT(row, row_of(lab, id));
        CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .max = 10)).count);
    }
}

/* ---- What may be said twice ---- */

static size_t late_count(struct lab *lab, struct pawl_str id)
{
    struct pawl_late_results late;
    check_ok(lab, pawl_task_late_results(lab->pawl, id, lab->keep, &late, &lab->err));
    return late.count;
}

TEST_EACH_STORE("T-016 repeating the accepted outcome under its epoch succeeds without a write")
{
    static const enum operation outcomes[] = {COMPLETE, FAIL, RELEASE, YIELD, PAUSE, CANCEL};
    lab_open(lab);
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        struct pawl_str id = task_in(lab, PAWL_TASK_RUNNING);
        struct pawl_fence fence = {id, PAWL_STR("worker-1"), 1};
        check_ok(lab, run(lab, outcomes[i], id, &fence));
        const char *row = row_of(lab, id);
        size_t told = lab_history(lab, id).count;
        check_ok(lab, run(lab, outcomes[i], id, &fence));
        CHECK_TEXT(row, row_of(lab, id));
        CHECK_EQ(told, lab_history(lab, id).count);
        CHECK_EQ(0, late_count(lab, id));
    }
}

TEST_EACH_STORE("T-016 a repeat is known even when the task has gone to somebody else meanwhile")
{
    lab_open(lab);
    struct pawl_str id = task_in(lab, PAWL_TASK_RUNNING);
    struct pawl_fence fence = {id, PAWL_STR("worker-1"), 1};
    check_ok(lab, pawl_task_release(lab->pawl, id, 0, CHANGE(.fence = &fence), &lab->err));
    struct pawl_fence next = lab_start(lab, id, "worker-2");
    CHECK_EQ(2, next.epoch);
    check_ok(lab, pawl_task_release(lab->pawl, id, 0, CHANGE(.fence = &fence), &lab->err));
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, id).state);
    CHECK_STR("worker-2", lab_get(lab, id).owner);
}

TEST_EACH_STORE(
    "T-016 another outcome under that epoch is LEASE_LOST and kept once; without a fence STATE")
{
    lab_open(lab);
    struct pawl_str id = task_in(lab, PAWL_TASK_RUNNING);
    struct pawl_fence fence = {id, PAWL_STR("worker-1"), 1};
    check_ok(lab,
             pawl_task_complete(lab->pawl, id, PAWL_STR("1"), CHANGE(.fence = &fence), &lab->err));
    const char *row = row_of(lab, id);
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, id, PAWL_STR("2"),
                                                      CHANGE(.fence = &fence), &lab->err));
    CHECK_EQ(1, late_count(lab, id));
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, id, PAWL_STR("2"),
                                                      CHANGE(.fence = &fence), &lab->err));
    CHECK_EQ(1, late_count(lab, id));
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_fail(lab->pawl, id, FAILURE(.error = PAWL_STR("no")),
                                                  CHANGE(.fence = &fence), &lab->err));
    CHECK_EQ(2, late_count(lab, id));
    CHECK_REFUSED(PAWL_STATE, pawl_task_complete(lab->pawl, id, PAWL_STR("1"), NULL, &lab->err));
    CHECK_REFUSED(PAWL_STATE, pawl_task_complete(lab->pawl, id, PAWL_STR("2"), NULL, &lab->err));
    CHECK_EQ(2, late_count(lab, id));
    CHECK_TEXT(row, row_of(lab, id));
    CHECK_STR("1", lab_get(lab, id).result);

    struct pawl_late_results late;
    check_ok(lab, pawl_task_late_results(lab->pawl, id, lab->keep, &late, &lab->err));
    CHECK_STR("complete", late.results[0].kind);
    CHECK_STR("2", late.results[0].body);
    CHECK_STR("worker-1", late.results[0].owner);
    CHECK_EQ(1, late.results[0].epoch);
    CHECK(late.results[0].at_ms > 0);
    CHECK_STR("fail", late.results[1].kind);
    CHECK_STR("no", late.results[1].body);
}

TEST_EACH_STORE("T-016 of late results the last 8 are kept, each up to 64 KiB")
{
    lab_open(lab);
    struct pawl_str id = task_in(lab, PAWL_TASK_COMPLETED);
    struct pawl_fence fence = {id, PAWL_STR("worker-1"), 1};
    for (int i = 1; i <= 10; i++) {
        struct pawl_str result = pawl_arena_format(lab->keep, "%d", i);
        CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, id, result,
                                                          CHANGE(.fence = &fence), &lab->err));
    }
    struct pawl_late_results late;
    check_ok(lab, pawl_task_late_results(lab->pawl, id, lab->keep, &late, &lab->err));
    CHECK_EQ(8, late.count);
    CHECK_STR("3", late.results[0].body);
    CHECK_STR("10", late.results[7].body);
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, id, lab_json(lab, 100000),
                                                      CHANGE(.fence = &fence), &lab->err));
    check_ok(lab, pawl_task_late_results(lab->pawl, id, lab->keep, &late, &lab->err));
    CHECK_EQ(8, late.count);
    CHECK_EQ(64 * 1024, late.results[7].body.len);
    CHECK_STR("4", late.results[0].body);
}

/* ---- Operators and holders ---- */

TEST_EACH_STORE("D-25 an operator's pause and cancel reach the holder with its next renewal")
{
    lab_open(lab);
    for (int operation = PAUSE; operation <= CANCEL; operation += CANCEL - PAUSE) {
        struct pawl_str id = task_in(lab, PAWL_TASK_RUNNING);
        struct pawl_fence fence = {id, PAWL_STR("worker-1"), 1};
        check_ok(lab, run(lab, (enum operation)operation, id, NULL));
        struct pawl_task task = lab_get(lab, id);
        CHECK_EQ(PAWL_TASK_RUNNING, task.state);
        CHECK_EQ(60000, task.control_deadline_at_ms - task.updated_at_ms);
        CHECK_STR("control_requested", lab_last(lab, id).action);
        CHECK_STR(operation == PAUSE ? "pause" : "cancel", lab_last(lab, id).cause);
        struct pawl_renewal renewal;
        check_ok(lab, pawl_lease_renew(lab->pawl, &fence, 1, 0, &renewal, &lab->err));
        CHECK_CODE(PAWL_OK, renewal.code);
        CHECK_EQ(operation == PAUSE ? PAWL_CONTROL_PAUSE : PAWL_CONTROL_CANCEL, renewal.control);
        check_ok(lab, run(lab, (enum operation)operation, id, &fence));
        CHECK_EQ(PAWL_CONTROL_NONE, lab_get(lab, id).control);
        CHECK_EQ(operation == PAUSE ? PAWL_TASK_PAUSED : PAWL_TASK_CANCELLED,
                 lab_get(lab, id).state);
    }
}

TEST_EACH_STORE("D-25 an unanswered cancel is forced at its deadline, an unanswered pause is told and waits on")
{
    lab_open(lab);
    struct pawl_str paused = task_in(lab, PAWL_TASK_RUNNING);
    struct pawl_str cancelled = task_in(lab, PAWL_TASK_RUNNING);
    struct pawl_fence fences[] = {{paused, PAWL_STR("worker-1"), 1},
                                  {cancelled, PAWL_STR("worker-1"), 1}};
    struct pawl_renewal renewals[2];
    check_ok(lab, pawl_task_pause(lab->pawl, paused, NULL, &lab->err));
    check_ok(lab, pawl_task_cancel(lab->pawl, cancelled, false, CHANGE(.reason = PAWL_STR("late")),
                                   &lab->err));
    for (int i = 0; i < 2; i++) {
        lab_pass(lab, 29000);
        check_ok(lab, pawl_lease_renew(lab->pawl, fences, 2, 60000, renewals, &lab->err));
        CHECK_CODE(PAWL_OK, renewals[0].code);
        CHECK_CODE(PAWL_OK, renewals[1].code);
    }
    lab_pass(lab, 3000);
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, paused).state);
    struct pawl_task waits = lab_get(lab, paused);
    CHECK_EQ(PAWL_CONTROL_PAUSE, waits.control);
    CHECK(waits.control_deadline_at_ms != 0); /* it is seen to be overdue */
    CHECK(waits.control_deadline_at_ms <= waits.updated_at_ms);
    struct pawl_event told = lab_last(lab, paused);
    CHECK_STR("task_control_unanswered", told.type);
    CHECK_STR("control_unanswered", told.action);
    CHECK_STR("pause", told.cause);
    CHECK(!told.success);
    CHECK_EQ(waits.version, told.version);
    struct pawl_str why;
    check_ok(lab, pawl_task_why(lab->pawl, paused, lab->keep, &why, &lab->err));
    CHECK(pawl_str_has(why, PAWL_STR("was asked to pause until ")));
    CHECK(pawl_str_has(why, PAWL_STR("has not answered")));
    CHECK_EQ(PAWL_TASK_CANCELLED, lab_get(lab, cancelled).state);
    CHECK_EQ(2, lab_get(lab, cancelled).epoch);
    CHECK_STR("late", lab_last(lab, cancelled).detail);
    check_ok(lab, pawl_lease_renew(lab->pawl, fences, 2, 0, renewals, &lab->err));
    CHECK_CODE(PAWL_OK, renewals[0].code);
    CHECK_CODE(PAWL_LEASE_LOST, renewals[1].code);
}

TEST_EACH_STORE("D-26 pause, cancel, complete and fail clear every field of the lease")
{
    static const enum operation ends[] = {PAUSE, CANCEL, COMPLETE, FAIL, RELEASE};
    lab_open(lab);
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct pawl_str id = task_in(lab, PAWL_TASK_RUNNING);
        struct pawl_fence fence = {id, PAWL_STR("worker-1"), 1};
        check_ok(lab, run(lab, ends[i], id, &fence));
        const char *left = lab_sql(
            lab, pawl_arena_format(lab->keep,
                                   "SELECT count(*) FROM task WHERE id = '%.*s' AND owner IS NULL "
                                   "AND lease_kind IS NULL AND lease_ms IS NULL AND "
                                   "lease_end_at_ms IS NULL AND attempt_end_at_ms IS NULL AND "
                                   "control = 0 AND control_deadline_at_ms IS NULL",
                                   PAWL_STR_ARG(id))
                     .ptr);
        CHECK_TEXT("1", left);
    }
}

TEST_EACH_STORE("D-27 completion clears the error of an earlier attempt; progress keeps its epoch")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.retry = {.delay_ms = PAWL_DELAY_NONE}));
    struct pawl_fence fence = lab_start(lab, id, "w");
    check_ok(lab, pawl_task_progress(lab->pawl, id, 30, CHANGE(.fence = &fence), &lab->err));
    check_ok(lab, pawl_task_fail(lab->pawl, id, FAILURE(.error = PAWL_STR("no luck")),
                                 CHANGE(.fence = &fence), &lab->err));
    CHECK_STR("no luck", lab_get(lab, id).error);
    fence = lab_start(lab, id, "w");
    CHECK_NEAR(30, lab_get(lab, id).progress, 0);
    CHECK_EQ(1, lab_get(lab, id).progress_epoch);
    CHECK_STR("no luck", lab_get(lab, id).error);
    check_ok(lab, pawl_task_complete(lab->pawl, id, NO_TEXT, CHANGE(.fence = &fence), &lab->err));
    CHECK_STR("", lab_get(lab, id).error);
    CHECK_EQ(2, lab_get(lab, id).progress_epoch);
}

TEST_EACH_STORE("D-28 resuming a dead letter refills its retries, unless they are to be kept")
{
    lab_open(lab);
    for (int keep = 0; keep <= 1; keep++) {
        struct pawl_str id =
            lab_add(lab, NEW(.retry = {.max_retries = 1, .delay_ms = PAWL_DELAY_NONE}));
        for (int i = 0; i < 2; i++) {
            struct pawl_fence fence = lab_start(lab, id, "w");
            check_ok(lab, pawl_task_fail(lab->pawl, id, NULL, CHANGE(.fence = &fence), &lab->err));
        }
        CHECK_EQ(PAWL_TASK_DEAD_LETTER, lab_get(lab, id).state);
        CHECK_EQ(2, lab_get(lab, id).retries);
        check_ok(lab, pawl_task_resume(lab->pawl, id, RESUME(.keep_retries = keep == 1), NULL,
                                       &lab->err));
        CHECK_EQ(keep == 1 ? 2 : 0, lab_get(lab, id).retries);
        CHECK_EQ(3, lab_get(lab, id).epoch);
        struct pawl_fence fence = lab_start(lab, id, "w");
        CHECK_EQ(4, fence.epoch);
        check_ok(lab, pawl_task_fail(lab->pawl, id, NULL, CHANGE(.fence = &fence), &lab->err));
        CHECK_EQ(keep == 1 ? PAWL_TASK_DEAD_LETTER : PAWL_TASK_QUEUED, lab_get(lab, id).state);
    }
}

TEST_EACH_STORE("resume with another input hands that one out")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.input = PAWL_STR("\"old\"")));
    check_ok(lab, pawl_task_pause(lab->pawl, id, NULL, &lab->err));
    check_ok(lab, pawl_task_resume(lab->pawl, id, RESUME(.input = PAWL_STR("\"new one\"")), NULL,
                                   &lab->err));
    CHECK_STR("\"new one\"", lab_get(lab, id).input);
    CHECK_STR("\"new one\"", lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"))).grants[0].input);
}

TEST_EACH_STORE(
    "D-10 a worker that has lost its lease may still act as an operator, without a fence")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    lab_pass(lab, 61000);
    CHECK_REFUSED(PAWL_LEASE_LOST,
                  pawl_task_complete(lab->pawl, id, NO_TEXT, CHANGE(.fence = &fence), &lab->err));
    check_ok(lab, pawl_task_cancel(lab->pawl, id, false, NULL, &lab->err));
    CHECK_EQ(PAWL_TASK_CANCELLED, lab_get(lab, id).state);
}

TEST_EACH_STORE(
    "D-39 D-53 RECOVERY_PENDING is left by resolve and forced cancel alone, with a new epoch")
{
    lab_open(lab);
    struct pawl_str id = task_in(lab, PAWL_TASK_RECOVERY_PENDING);
    static const enum operation refused[] = {QUEUE, START, PAUSE, RESUME, CANCEL, COMPLETE, FAIL};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        CHECK_REFUSED(PAWL_STATE, run(lab, refused[i], id, NULL));
    }
    check_ok(lab, pawl_task_resolve(lab->pawl, id, PAWL_TASK_QUEUED, NO_TEXT,
                                    CHANGE(.actor = OPERATOR_ID, .reason = PAWL_STR("seen it")),
                                    &lab->err));
    struct pawl_event event = lab_last(lab, id);
    CHECK_STR("recovery_resolved", event.action);
    CHECK_STR("resolved", event.cause);
    CHECK_STR("ops", event.actor);
    CHECK(pawl_str_has(event.detail, PAWL_STR("seen it")));
    CHECK_EQ(2, lab_get(lab, id).epoch);
    struct pawl_fence old = {id, PAWL_STR("worker-1"), 1};
    CHECK_REFUSED(PAWL_LEASE_LOST,
                  pawl_task_complete(lab->pawl, id, NO_TEXT, CHANGE(.fence = &old), &lab->err));
}

TEST_EACH_STORE("resolve as COMPLETED keeps the result and clears the error, as FAILED the error")
{
    lab_open(lab);
    struct pawl_str id = task_in(lab, PAWL_TASK_DEAD_LETTER);
    check_ok(lab, pawl_task_resolve(lab->pawl, id, PAWL_TASK_COMPLETED, PAWL_STR("42"), NULL,
                                    &lab->err));
    struct pawl_task task = lab_get(lab, id);
    CHECK_STR("42", task.result);
    CHECK_STR("", task.error);
    CHECK_NEAR(100, task.progress, 0);
    id = task_in(lab, PAWL_TASK_RECOVERY_PENDING);
    check_ok(lab,
             pawl_task_resolve(lab->pawl, id, PAWL_TASK_FAILED, PAWL_STR("lost"), NULL, &lab->err));
    CHECK_STR("lost", lab_get(lab, id).error);
    CHECK_STR("task_failed", lab_last(lab, id).type);
    CHECK(!lab_last(lab, id).success);
}

TEST_EACH_STORE("D-60 the dead end of reported failures and of crashes is the same DEAD_LETTER")
{
    lab_open(lab);
    struct pawl_str failed = lab_add(lab, NEW(.retry = {.max_retries = PAWL_RETRIES_NONE}));
    struct pawl_str crashed = lab_add(lab, NEW(.retry = {.max_retries = PAWL_RETRIES_NONE}));
    struct pawl_fence fence = lab_start(lab, failed, "w");
    check_ok(lab, pawl_task_fail(lab->pawl, failed, FAILURE(.error = PAWL_STR("no")),
                                 CHANGE(.fence = &fence), &lab->err));
    (void)lab_start(lab, crashed, "w");
    lab_pass(lab, 61000);
    struct pawl_str both[] = {failed, crashed};
    for (size_t i = 0; i < 2; i++) {
        CHECK_EQ(PAWL_TASK_DEAD_LETTER, lab_get(lab, both[i]).state);
        CHECK_EQ(1, lab_get(lab, both[i]).retries);
        CHECK_STR("task_dead_lettered", lab_last(lab, both[i]).type);
        CHECK(lab_get(lab, both[i]).error.len > 0);
    }
    CHECK_EQ(0, lab_get(lab, failed).recoveries);
    CHECK_EQ(1, lab_get(lab, crashed).recoveries);
    CHECK(pawl_str_has(lab_get(lab, crashed).error, PAWL_STR("vanished")));
}

TEST_EACH_STORE("a repeated outcome is OK even where an expected version came with it")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    const struct pawl_change *change =
        CHANGE(.fence = &fence, .expected_version = lab_get(lab, id).version);
    check_ok(lab, pawl_task_complete(lab->pawl, id, PAWL_STR("1"), change, &lab->err));
    check_ok(lab, pawl_task_complete(lab->pawl, id, PAWL_STR("1"), change, &lab->err));
}

TEST_EACH_STORE(
    "strangers cannot push out the late results of those who held the task, by whatever number")
{
    enum { HOLDERS = 3, STRANGERS = 40, KEPT = 8 };
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.retry = {.max_retries = 100}));
    struct pawl_fence fences[HOLDERS];
    for (int i = 0; i < HOLDERS; i++) {
        fences[i] = lab_start(lab, id, i == 0 ? "first" : "other");
        check_ok(lab, pawl_task_release(lab->pawl, id, 0, CHANGE(.fence = &fences[i]), &lab->err));
    }
    struct pawl_late_results late;
    for (int i = 0; i < STRANGERS; i++) {
        struct pawl_fence made_up = {id, PAWL_STR("stranger"), 1 + i % HOLDERS};
        char result[32];
        (void)snprintf(result, sizeof result, "%d", i);
        CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, id, pawl_str_of(result),
                                                          CHANGE(.fence = &made_up), &lab->err));
        if (i != STRANGERS / 2) continue;
        for (int n = 0; n < HOLDERS; n++) {
            CHECK_REFUSED(PAWL_LEASE_LOST,
                          pawl_task_complete(lab->pawl, id, PAWL_STR("\"mine\""),
                                             CHANGE(.fence = &fences[n]), &lab->err));
        }
    }
    check_ok(lab, pawl_task_late_results(lab->pawl, id, lab->keep, &late, &lab->err));
    CHECK_EQ(KEPT, late.count);
    int mine = 0;
    for (size_t i = 0; i < late.count; i++)
        mine += pawl_str_equal(PAWL_STR("\"mine\""), late.results[i].body);
    CHECK_EQ(HOLDERS, mine);
    /* holders push out strangers, then each other */
    for (int i = 0; i < KEPT; i++) {
        struct pawl_fence fence = fences[i % HOLDERS];
        char result[32];
        (void)snprintf(result, sizeof result, "\"%d\"", i);
        CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, id, pawl_str_of(result),
                                                          CHANGE(.fence = &fence), &lab->err));
    }
    struct pawl_fence stranger = {id, PAWL_STR("stranger"), 1};
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, id, PAWL_STR("999"),
                                                      CHANGE(.fence = &stranger), &lab->err));
    check_ok(lab, pawl_task_late_results(lab->pawl, id, lab->keep, &late, &lab->err));
    CHECK_EQ(KEPT, late.count);
    for (size_t i = 0; i < late.count; i++)
        CHECK(!pawl_str_equal(PAWL_STR("stranger"), late.results[i].owner));
    CHECK_STR("\"7\"", late.results[KEPT - 1].body);
}

TEST_MAIN()
