/* The table of what may be done from which state (T-013), cell by cell, and the tables of states
 * and moves. Rows in all nine states are put down by hand: some are reached by no call alone. */
#include "cells.h"
#include "core/task/rule.h"
#include "desk.h"

#include <stdio.h>
#include <string.h>

static const struct cell all_lost[COLUMNS] = ALL_LOST;

/* ---- One cell ---- */

struct trial {
    struct desk desk;
    struct pawl_command command;
    struct pawl_renewal renewal;
    struct pawl_grant grant;
    struct pawl_claim claim;
};

static void fill_command(struct trial *trial, enum operation operation)
{
    struct pawl_command *command = &trial->command;
    command->task_id = DESK_TASK_ID;
    switch (operation) {
    case QUEUE:
        command->kind = PAWL_COMMAND_QUEUE;
        break;
    case START:
        command->kind = PAWL_COMMAND_START;
        trial->claim = (struct pawl_claim){.worker_id = PAWL_STR("worker-2")};
        command->ask.claim.ask = &trial->claim;
        command->out.grant = &trial->grant;
        break;
    case PROGRESS:
        command->kind = PAWL_COMMAND_PROGRESS;
        command->ask.percent = 55.0;
        break;
    case CHECKPOINT:
        command->kind = PAWL_COMMAND_CHECKPOINT;
        command->ask.checkpoint.state = PAWL_STR("{}");
        break;
    case RENEW:
        command->kind = PAWL_COMMAND_RENEW;
        command->task_id = (struct pawl_str){0};
        command->ask.renew.fences = &command->fence;
        command->ask.renew.count = 1;
        command->out.renewals = &trial->renewal;
        break;
    case RELEASE:
    case YIELD:
        command->kind = PAWL_COMMAND_RELEASE;
        command->ask.delay_ms = operation == YIELD ? 5000 : 0;
        break;
    case PAUSE:
        command->kind = PAWL_COMMAND_PAUSE;
        break;
    case RESUME:
        command->kind = PAWL_COMMAND_RESUME;
        break;
    case CANCEL:
    case CANCEL_BY_FORCE:
        command->kind = PAWL_COMMAND_CANCEL;
        command->ask.is_forced = operation == CANCEL_BY_FORCE;
        break;
    case COMPLETE:
        command->kind = PAWL_COMMAND_COMPLETE;
        command->ask.result = PAWL_STR("1");
        break;
    case FAIL:
        command->kind = PAWL_COMMAND_FAIL;
        command->ask.failure.error = PAWL_STR("no");
        break;
    case RESOLVE_COMPLETED:
    case RESOLVE_FAILED:
    case RESOLVE_QUEUED:
    case RESOLVE_CANCELLED: {
        static const enum pawl_task_state outcomes[] = {PAWL_TASK_COMPLETED, PAWL_TASK_FAILED,
                                                        PAWL_TASK_QUEUED, PAWL_TASK_CANCELLED};
        command->kind = PAWL_COMMAND_RESOLVE;
        command->ask.resolve.outcome = outcomes[operation - RESOLVE_COMPLETED];
        command->ask.resolve.seen_epoch = 3;
        break;
    }
    case OPERATION_COUNT:
        break;
    }
}

static void fill_fence(struct pawl_command *command, enum caller caller)
{
    if (caller == OPERATOR) return;
    command->has_fence = true;
    command->fence = (struct pawl_fence){
        .task_id = DESK_TASK_ID,
        .owner = caller == STRANGER ? PAWL_STR("worker-2") : PAWL_STR("worker-1"),
        .epoch = caller == EARLIER_HOLDER ? 2 : 3,
    };
}

static bool is_outcome(enum operation operation)
{
    return operation == COMPLETE || operation == FAIL || operation == RELEASE || operation == YIELD;
}

static bool is_cleared(const struct pawl_task_row *row)
{
    bool has_lease = row->state == PAWL_TASK_RUNNING || row->state == PAWL_TASK_RECOVERY_PENDING;
    bool may_wait = row->state == PAWL_TASK_QUEUED || row->state == PAWL_TASK_PENDING;
    if (!has_lease && (row->owner != 0 || row->lease_kind != PAWL_LEASE_NONE)) return false;
    if (!has_lease && (row->lease_ms != 0 || row->attempt_end_at_ms != 0)) return false;
    if (!has_lease && (row->control != PAWL_CONTROL_NONE || row->control_deadline_at_ms != 0)) {
        return false;
    }
    if (row->state != PAWL_TASK_RUNNING && row->lease_end_at_ms != 0) return false;
    if (!may_wait && (row->ready_at_ms != 0 || row->rank != PAWL_RANK_NONE)) return false;
    return has_lease || may_wait || row->due_at_ms == 0;
}

/* NULL, or what is not as the cell has it. */
static const char *fault_of(struct trial *trial, const struct cell *want, enum operation operation,
                            const struct pawl_task_row *before, const struct pawl_task_row *row)
{
    const struct desk *desk = &trial->desk;
    enum pawl_code code = trial->command.code;
    if (operation == RENEW && code == PAWL_OK) code = trial->renewal.code;
    if (code != want->code) return pawl_code_name(code);
    if (row->state != (want->to == SAME ? before->state : (enum pawl_task_state)want->to)) {
        return pawl_task_state_name(row->state);
    }
    if (desk_event_count(desk) != (want->told != PAWL_EVENT_NONE ? 1 : 0))
        return "number of events";
    if (desk_event(desk, 0) != want->told) return "type of the event";
    if (row->version != before->version + want->is_written) return "version";
    if (row->epoch != before->epoch + want->is_new_epoch) return "epoch";
    if (row->sequence != before->sequence + (want->told != PAWL_EVENT_NONE)) return "sequence";
    if (!is_cleared(row)) return "a field that should be cleared";
    if (pawl_task_row_fault(row) != NULL) return pawl_task_row_fault(row);
    bool is_renewed = operation == RENEW && want->code == PAWL_OK;
    bool is_untouched = memcmp(row, before, sizeof *row) == 0;
    if (!want->is_written && !is_renewed && !is_untouched) return "a write";
    if (want->is_written && row->updated_at_ms != DESK_NOW_MS) return "updated_at";
    bool is_kept =
        want->code == PAWL_LEASE_LOST && trial->command.has_fence && is_outcome(operation);
    if (desk->step.set.appends[PAWL_APPEND_LATE].count != (is_kept ? 1 : 0)) return "late results";
    if (want->told != PAWL_EVENT_NONE) {
        const struct pawl_event_row *event = desk_newest(desk);
        if (event->state != row->state || event->version != row->version) return "event's state";
        if (event->epoch != row->epoch || event->sequence != row->sequence) return "event's epoch";
    }
    return NULL;
}

static void try_cell(enum operation operation, enum caller caller, enum pawl_task_state state,
                     const struct cell *want)
{
    static const char *const callers[] = {"an operator", "the holder", "an earlier holder",
                                          "a stranger"};
    struct trial trial = {0};
    desk_open(&trial.desk);
    const struct pawl_task_row before = desk_row(state);
    const struct pawl_task_row *row = desk_put(&trial.desk, &before);
    fill_command(&trial, operation);
    fill_fence(&trial.command, caller);
    (void)desk_run(&trial.desk, &trial.command);
    const char *fault = fault_of(&trial, want, operation, &before, row);
    if (fault != NULL) {
        FAIL("%s of a %s task by %s: %s; wanted %s%s%s\n  (%s)", operation_names[operation],
             pawl_task_state_name(state), callers[caller], fault, pawl_code_name(want->code),
             want->to == SAME ? "" : " to ",
             want->to == SAME ? "" : pawl_task_state_name((enum pawl_task_state)want->to),
             trial.command.err.text);
    }
    desk_close(&trial.desk);
}

TEST("T-013 every cell of the table of operations and states: code, state, fields, events")
{
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        for (size_t c = 0; c < COLUMNS; c++) {
            try_cell(table[i].operation, table[i].caller, columns[c], &table[i].cells[c]);
        }
    }
}

TEST("T-013 a fence that is not the current one gets LEASE_LOST, whatever the state")
{
    for (int operation = 0; operation < OPERATION_COUNT; operation++) {
        if (operation == START) continue; /* takes no fence */
        for (size_t c = 0; c < COLUMNS; c++) {
            try_cell((enum operation)operation, EARLIER_HOLDER, columns[c], &all_lost[c]);
            try_cell((enum operation)operation, STRANGER, columns[c], &all_lost[c]);
        }
    }
}

TEST("T-013 a claim sees QUEUED tasks only, and none that is deferred or blocked")
{
    for (size_t c = 0; c < COLUMNS; c++) {
        struct desk desk;
        desk_open(&desk);
        struct pawl_task_row before = desk_row(columns[c]);
        const struct pawl_task_row *row = desk_put(&desk, &before);
        static const int64_t ready[] = {DESK_TASK}; /* as if an index were wrong */
        desk.ready = ready;
        desk.ready_count = 1;
        struct pawl_str queues[] = {PAWL_STR("mail")};
        struct pawl_claim ask = {
            .queues = queues, .queue_count = 1, .worker_id = PAWL_STR("worker-2")};
        struct pawl_claimed claimed = {0};
        struct pawl_command claim = {
            .kind = PAWL_COMMAND_CLAIM, .ask.claim.ask = &ask, .out.claimed = &claimed};
        CHECK_CODE(PAWL_OK, desk_run(&desk, &claim));
        bool is_given = columns[c] == PAWL_TASK_QUEUED;
        CHECK_EQ(is_given ? 1 : 0, claimed.count);
        if (is_given) {
            CHECK_EQ(PAWL_TASK_RUNNING, row->state);
            CHECK_EQ(DESK_OTHER, row->owner);
            CHECK_EQ(4, row->epoch);
            CHECK_EQ(4, claimed.grants[0].fence.epoch);
            CHECK_EQ(8, row->version);
            CHECK_EQ(DESK_NOW_MS + 60000, row->lease_end_at_ms);
            CHECK_EQ(PAWL_EVENT_STARTED, desk_event(&desk, 0));
        } else {
            CHECK_BYTES(&before, sizeof before, row, sizeof *row);
        }
        desk_close(&desk);
    }
}

/* A deferred task: QUEUED, without a rank, armed for the end of its deferral. */
static struct pawl_task_row deferred_row(void)
{
    struct pawl_task_row row = desk_row(PAWL_TASK_QUEUED);
    row.rank = PAWL_RANK_NONE;
    row.ready_at_ms = DESK_NOW_MS + 4000;
    row.due_at_ms = row.ready_at_ms;
    row.retries = 2;
    return row;
}

TEST("T-013 D-27 leaving QUEUED clears the deferral, and being asked again keeps it")
{
    static const struct {
        enum operation operation;
        enum pawl_task_state to;
        bool is_cleared;
    } rows[] = {{PAUSE, PAWL_TASK_PAUSED, true},       {CANCEL, PAWL_TASK_CANCELLED, true},
                {COMPLETE, PAWL_TASK_COMPLETED, true}, {QUEUE, PAWL_TASK_QUEUED, false},
                {PROGRESS, PAWL_TASK_QUEUED, false},   {CHECKPOINT, PAWL_TASK_QUEUED, false}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct trial trial = {0};
        desk_open(&trial.desk);
        struct pawl_task_row before = deferred_row();
        const struct pawl_task_row *row = desk_put(&trial.desk, &before);
        fill_command(&trial, rows[i].operation);
        CHECK_CODE(PAWL_OK, desk_run(&trial.desk, &trial.command));
        CHECK_EQ(rows[i].to, row->state);
        CHECK_EQ(rows[i].is_cleared ? 0 : before.ready_at_ms, row->ready_at_ms);
        CHECK_EQ(rows[i].is_cleared ? 0 : before.ready_at_ms, row->due_at_ms);
        CHECK_EQ(2, row->retries);
        CHECK_EQ(PAWL_RANK_NONE, row->rank);
        desk_close(&trial.desk);
    }
}

TEST("T-013 start of a deferred task is NOT_READY with the instant, and writes nothing")
{
    struct trial trial = {0};
    desk_open(&trial.desk);
    struct pawl_task_row before = deferred_row();
    const struct pawl_task_row *row = desk_put(&trial.desk, &before);
    fill_command(&trial, START);
    CHECK_CODE(PAWL_NOT_READY, desk_run(&trial.desk, &trial.command));
    CHECK_EQ(before.ready_at_ms, trial.command.err.until_at_ms);
    CHECK_BYTES(&before, sizeof before, row, sizeof *row);
    desk_close(&trial.desk);
}

TEST("a lost task runs again by resolve only if its work was looked at under this very epoch, or "
     "by force")
{
    static const struct {
        enum operation operation;
        int64_t seen_epoch;
        bool is_forced;
        enum pawl_code code;
    } rows[] = {
        {RESOLVE_QUEUED, 3, false, PAWL_OK},    {RESOLVE_QUEUED, 0, false, PAWL_BUSY},
        {RESOLVE_QUEUED, 2, false, PAWL_BUSY},  {RESOLVE_QUEUED, 0, true, PAWL_OK},
        {RESOLVE_FAILED, 0, false, PAWL_BUSY},  {RESOLVE_FAILED, 3, false, PAWL_OK},
        {RESOLVE_CANCELLED, 0, false, PAWL_OK}, {RESOLVE_COMPLETED, 0, false, PAWL_OK},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct trial trial = {0};
        desk_open(&trial.desk);
        struct pawl_task_row before = desk_row(PAWL_TASK_RECOVERY_PENDING);
        const struct pawl_task_row *row = desk_put(&trial.desk, &before);
        fill_command(&trial, rows[i].operation);
        trial.command.ask.resolve.seen_epoch = rows[i].seen_epoch;
        trial.command.is_forced = rows[i].is_forced;
        CHECK_CODE(rows[i].code, desk_run(&trial.desk, &trial.command));
        if (rows[i].code != PAWL_OK) CHECK_BYTES(&before, sizeof before, row, sizeof *row);
        desk_close(&trial.desk);
    }
}

/* ---- What comes due ---- */

TEST("T-013 a lease that is over goes through RECOVERY_PENDING to QUEUED, in one step")
{
    struct desk desk;
    desk_open(&desk);
    struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
    const struct pawl_task_row *row = desk_put(&desk, &before);
    desk.step.now_ms = before.lease_end_at_ms;
    desk_run_due(&desk, DESK_TASK);
    CHECK_EQ(PAWL_TASK_QUEUED, row->state);
    CHECK_EQ(2, desk_event_count(&desk));
    CHECK_EQ(PAWL_EVENT_FENCED, desk_event(&desk, 1));
    CHECK_EQ(PAWL_EVENT_RECOVERED, desk_event(&desk, 0));
    CHECK_EQ(4, row->epoch);
    CHECK_EQ(1, row->retries);
    CHECK_EQ(1, row->recoveries);
    CHECK(is_cleared(row));
    CHECK_TEXT(NULL, pawl_task_row_fault(row));
    desk_close(&desk);
}

TEST("T-013 a lease that is over with the retries spent goes to DEAD_LETTER, in one step")
{
    struct desk desk;
    desk_open(&desk);
    struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
    before.retries = before.retry.max_retries;
    const struct pawl_task_row *row = desk_put(&desk, &before);
    desk.step.now_ms = before.lease_end_at_ms;
    desk_run_due(&desk, DESK_TASK);
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, row->state);
    CHECK_EQ(PAWL_EVENT_FENCED, desk_event(&desk, 1));
    CHECK_EQ(PAWL_EVENT_DEAD_LETTERED, desk_event(&desk, 0));
    CHECK_EQ(4, row->epoch);
    CHECK_EQ(before.retry.max_retries + 1, row->retries);
    CHECK(is_cleared(row));
    CHECK_TEXT(NULL, pawl_task_row_fault(row));
    desk_close(&desk);
}

TEST("T-013 an attempt that has run out of time fails, counted, and its fence is dead")
{
    for (int32_t retries = 0; retries <= 3; retries += 3) {
        struct desk desk;
        desk_open(&desk);
        struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
        before.timeout_ms = 31000;
        before.attempt_end_at_ms = DESK_NOW_MS + 1000;
        before.due_at_ms = before.attempt_end_at_ms;
        before.retries = retries;
        const struct pawl_task_row *row = desk_put(&desk, &before);
        desk.step.now_ms = before.attempt_end_at_ms;
        desk_run_due(&desk, DESK_TASK);
        bool is_spent = retries == 3;
        CHECK_EQ(is_spent ? PAWL_TASK_DEAD_LETTER : PAWL_TASK_QUEUED, row->state);
        CHECK_EQ(is_spent ? PAWL_EVENT_DEAD_LETTERED : PAWL_EVENT_RETRY_SCHEDULED,
                 desk_event(&desk, 0));
        CHECK_EQ(PAWL_CAUSE_TIMED_OUT, desk_newest(&desk)->cause);
        CHECK_EQ(is_spent ? 0 : desk.step.now_ms + 1000, row->ready_at_ms);
        CHECK_EQ(4, row->epoch);
        CHECK_EQ(retries + 1, row->retries);
        CHECK_TEXT(NULL, pawl_task_row_fault(row));
        desk_close(&desk);
    }
}

TEST("T-013 of states without a timer nothing comes due")
{
    static const enum pawl_task_state states[] = {PAWL_TASK_PENDING,   PAWL_TASK_PAUSED,
                                                  PAWL_TASK_COMPLETED, PAWL_TASK_FAILED,
                                                  PAWL_TASK_CANCELLED, PAWL_TASK_DEAD_LETTER};
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        struct desk desk;
        desk_open(&desk);
        struct pawl_task_row before = desk_row(states[i]);
        before.due_at_ms = DESK_NOW_MS - 1; /* a timer that should not be there */
        const struct pawl_task_row *row = desk_put(&desk, &before);
        desk_run_due(&desk, DESK_TASK);
        before.due_at_ms = 0;
        CHECK_BYTES(&before, sizeof before, row, sizeof *row);
        CHECK_EQ(0, desk_event_count(&desk));
        desk_close(&desk);
    }
}

/* ---- A pending request (E5) ---- */

TEST("what would queue a RUNNING task pauses or cancels it if that was asked for")
{
    static const struct {
        enum operation operation;
        enum pawl_control control;
        enum pawl_task_state to;
        enum pawl_event_type told;
    } rows[] = {
        {RELEASE, PAWL_CONTROL_PAUSE, PAWL_TASK_PAUSED, PAWL_EVENT_PAUSED},
        {YIELD, PAWL_CONTROL_PAUSE, PAWL_TASK_PAUSED, PAWL_EVENT_PAUSED},
        {FAIL, PAWL_CONTROL_PAUSE, PAWL_TASK_PAUSED, PAWL_EVENT_PAUSED},
        {RELEASE, PAWL_CONTROL_CANCEL, PAWL_TASK_CANCELLED, PAWL_EVENT_CANCELLED},
        {FAIL, PAWL_CONTROL_CANCEL, PAWL_TASK_CANCELLED, PAWL_EVENT_CANCELLED},
        {COMPLETE, PAWL_CONTROL_CANCEL, PAWL_TASK_COMPLETED, PAWL_EVENT_COMPLETED},
        {COMPLETE, PAWL_CONTROL_PAUSE, PAWL_TASK_COMPLETED, PAWL_EVENT_COMPLETED},
        {PAUSE, PAWL_CONTROL_CANCEL, PAWL_TASK_PAUSED, PAWL_EVENT_PAUSED},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct trial trial = {0};
        desk_open(&trial.desk);
        struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
        before.control = rows[i].control;
        before.control_deadline_at_ms = DESK_NOW_MS + 1000;
        before.due_at_ms = before.control_deadline_at_ms;
        const struct pawl_task_row *row = desk_put(&trial.desk, &before);
        fill_command(&trial, rows[i].operation);
        fill_fence(&trial.command, HOLDER);
        CHECK_CODE(PAWL_OK, desk_run(&trial.desk, &trial.command));
        CHECK_EQ(rows[i].to, row->state);
        CHECK_EQ(rows[i].told, desk_event(&trial.desk, 0));
        CHECK(is_cleared(row));
        CHECK_TEXT(NULL, pawl_task_row_fault(row));
        desk_close(&trial.desk);
    }
}

TEST("a lease that ends while a request is open ends in what was asked for")
{
    static const struct {
        enum pawl_control control;
        enum pawl_task_state to;
    } rows[] = {{PAWL_CONTROL_PAUSE, PAWL_TASK_PAUSED}, {PAWL_CONTROL_CANCEL, PAWL_TASK_CANCELLED}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct desk desk;
        desk_open(&desk);
        struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
        before.control = rows[i].control;
        before.control_deadline_at_ms = before.lease_end_at_ms + 10;
        const struct pawl_task_row *row = desk_put(&desk, &before);
        desk.step.now_ms = before.lease_end_at_ms;
        desk_run_due(&desk, DESK_TASK);
        CHECK_EQ(rows[i].to, row->state);
        CHECK_EQ(1, row->retries);
        CHECK_EQ(4, row->epoch);
        CHECK(is_cleared(row));
        CHECK_TEXT(NULL, pawl_task_row_fault(row));
        desk_close(&desk);
    }
}

TEST("at its deadline a cancel is forced, a pause is not")
{
    struct desk desk;
    desk_open(&desk);
    struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
    before.control = PAWL_CONTROL_CANCEL;
    before.control_deadline_at_ms = DESK_NOW_MS + 1000;
    before.due_at_ms = before.control_deadline_at_ms;
    const struct pawl_task_row *row = desk_put(&desk, &before);
    desk.step.now_ms = before.due_at_ms;
    desk_run_due(&desk, DESK_TASK);
    CHECK_EQ(PAWL_TASK_CANCELLED, row->state);
    CHECK_EQ(4, row->epoch);
    CHECK_EQ(PAWL_CAUSE_FORCED, desk_newest(&desk)->cause);
    desk_close(&desk);

    desk_open(&desk);
    before.control = PAWL_CONTROL_PAUSE;
    row = desk_put(&desk, &before);
    desk.step.now_ms = before.due_at_ms;
    desk_run_due(&desk, DESK_TASK);
    CHECK_EQ(PAWL_TASK_RUNNING, row->state);
    CHECK_EQ(3, row->epoch);
    CHECK_EQ(PAWL_CONTROL_PAUSE, row->control);
    CHECK_EQ(before.control_deadline_at_ms, row->control_deadline_at_ms); /* to be seen as overdue */
    CHECK_EQ(row->lease_end_at_ms, row->due_at_ms);
    CHECK_EQ(1, desk_event_count(&desk));
    CHECK_EQ(PAWL_EVENT_UNANSWERED, desk_event(&desk, 0));
    CHECK_EQ(before.version + 1, row->version);

    desk_close(&desk);

    /* told once: a later look at the lease says nothing more of it */
    desk_open(&desk);
    before.updated_at_ms = before.control_deadline_at_ms;
    row = desk_put(&desk, &before);
    desk.step.now_ms = before.due_at_ms;
    desk_run_due(&desk, DESK_TASK);
    CHECK_EQ(0, desk_event_count(&desk));
    CHECK_EQ(before.version, row->version);
    CHECK_EQ(row->lease_end_at_ms, row->due_at_ms);
    desk_close(&desk);
}

TEST("E5 what is resolved as QUEUED goes where its holder was asked to")
{
    static const struct {
        enum pawl_control control;
        enum pawl_task_state to;
        enum pawl_event_type told;
    } rows[] = {{PAWL_CONTROL_NONE, PAWL_TASK_QUEUED, PAWL_EVENT_RESOLVED_QUEUED},
                {PAWL_CONTROL_PAUSE, PAWL_TASK_PAUSED, PAWL_EVENT_RESOLVED_PAUSED},
                {PAWL_CONTROL_CANCEL, PAWL_TASK_CANCELLED, PAWL_EVENT_RESOLVED_CANCELLED}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct trial trial = {0};
        desk_open(&trial.desk);
        struct pawl_task_row before = desk_row(PAWL_TASK_RECOVERY_PENDING);
        before.control = rows[i].control;
        const struct pawl_task_row *row = desk_put(&trial.desk, &before);
        fill_command(&trial, RESOLVE_QUEUED);
        CHECK_CODE(PAWL_OK, desk_run(&trial.desk, &trial.command));
        CHECK_EQ(rows[i].to, row->state);
        CHECK_EQ(before.epoch + 1, row->epoch);
        CHECK_EQ(1, desk_event_count(&trial.desk));
        CHECK_EQ(rows[i].told, desk_event(&trial.desk, 0));
        CHECK(is_cleared(row));
        CHECK_TEXT(NULL, pawl_task_row_fault(row));
        desk_close(&trial.desk);
    }
}

TEST("a pause whose deadline is the end of the lease is told of once, and then the lease ends")
{
    struct desk desk;
    desk_open(&desk);
    struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
    before.control = PAWL_CONTROL_PAUSE;
    before.control_deadline_at_ms = before.lease_end_at_ms;
    const struct pawl_task_row *row = desk_put(&desk, &before);
    desk.step.now_ms = before.lease_end_at_ms;
    desk_run_due(&desk, DESK_TASK);
    CHECK_EQ(PAWL_TASK_PAUSED, row->state);
    CHECK_EQ(3, desk_event_count(&desk));
    CHECK_EQ(PAWL_EVENT_UNANSWERED, desk_event(&desk, 2));
    CHECK_EQ(PAWL_EVENT_FENCED, desk_event(&desk, 1));
    CHECK_EQ(PAWL_EVENT_PAUSED, desk_event(&desk, 0));
    CHECK_EQ(before.version + 3, row->version);
    desk_close(&desk);
}

TEST("a request for what is asked for already is a success that writes nothing")
{
    for (int operation = PAUSE; operation <= CANCEL; operation++) {
        if (operation == RESUME) continue;
        struct trial trial = {0};
        desk_open(&trial.desk);
        struct pawl_task_row before = desk_row(PAWL_TASK_RUNNING);
        before.control = operation == PAUSE ? PAWL_CONTROL_PAUSE : PAWL_CONTROL_CANCEL;
        before.control_deadline_at_ms = DESK_NOW_MS + 1000;
        before.due_at_ms = before.control_deadline_at_ms;
        const struct pawl_task_row *row = desk_put(&trial.desk, &before);
        fill_command(&trial, (enum operation)operation);
        CHECK_CODE(PAWL_OK, desk_run(&trial.desk, &trial.command));
        CHECK_BYTES(&before, sizeof before, row, sizeof *row);
        desk_close(&trial.desk);
    }
}

/* ---- The tables themselves ---- */

TEST("no worker leaves a terminal state, and nobody leaves COMPLETED or CANCELLED")
{
    for (int from = 0; from < PAWL_TASK_STATE_COUNT; from++) {
        enum pawl_task_state state = (enum pawl_task_state)from;
        bool is_final = state == PAWL_TASK_COMPLETED || state == PAWL_TASK_CANCELLED;
        for (int to = 0; to < PAWL_TASK_STATE_COUNT; to++) {
            enum pawl_task_state next = (enum pawl_task_state)to;
            unsigned all = PAWL_BY_WORKER | PAWL_BY_OPERATOR | PAWL_BY_ENGINE;
            if (is_final) CHECK(!pawl_task_move_is_listed(state, next, all));
            if (!pawl_task_state_is_terminal(state)) continue;
            CHECK(!pawl_task_move_is_listed(state, next, PAWL_BY_WORKER | PAWL_BY_ENGINE));
        }
    }
}

TEST("each state has a name that is read back, and nothing else is one")
{
    for (int number = 0; number < PAWL_TASK_STATE_COUNT; number++) {
        enum pawl_task_state state = PAWL_TASK_PENDING;
        const char *name = pawl_task_state_name((enum pawl_task_state)number);
        CHECK(pawl_task_state_parse(pawl_str_of(name), &state));
        CHECK_EQ(number, state);
        CHECK(pawl_task_state_is(number));
    }
    static const char *const others[] = {"", "queued", "QUEUE", "QUEUED ", "UNKNOWN"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        enum pawl_task_state state = PAWL_TASK_PAUSED;
        CHECK(!pawl_task_state_parse(pawl_str_of(others[i]), &state));
        CHECK_EQ(PAWL_TASK_PAUSED, state);
    }
    CHECK(!pawl_task_state_is(-1));
    CHECK(!pawl_task_state_is(PAWL_TASK_STATE_COUNT));
    CHECK_TEXT("UNKNOWN", pawl_task_state_name((enum pawl_task_state)PAWL_TASK_STATE_COUNT));
}

TEST("each type of event has a name, and those of the contract's list are there")
{
    static const char *const listed[] = {
        "task_created",       "task_queued",           "task_started",
        "task_progress",      "task_paused",           "task_completed",
        "task_failed",        "task_cancelled",        "task_retry_scheduled",
        "task_dead_lettered", "task_recovery_pending", "task_control_requested",
        "task_blocked"};
    for (size_t i = 0; i < COUNT_OF(listed); i++) {
        bool is_there = false;
        for (int type = 1; pawl_event_type_is(type); type++) {
            struct pawl_str text = pawl_event_type_text((enum pawl_event_type)type);
            if (pawl_str_equal(text, pawl_str_of(listed[i]))) is_there = true;
            CHECK(pawl_str_starts(text, PAWL_STR("task_")));
        }
        if (!is_there) FAIL("no event is a %s", listed[i]);
    }
    CHECK(!pawl_event_type_is(0));
    CHECK_EQ(0, pawl_event_type_text(PAWL_EVENT_NONE).len);
}

TEST("a row that breaks a rule is told so")
{
    const struct pawl_task_row good = desk_row(PAWL_TASK_QUEUED);
    const struct pawl_task_row running = desk_row(PAWL_TASK_RUNNING);
    CHECK_TEXT(NULL, pawl_task_row_fault(&good));
    CHECK_TEXT(NULL, pawl_task_row_fault(&running));
#define BREAKS(of, field, value)                                                       \
    do {                                                                               \
        struct pawl_task_row row = (of);                                               \
        row.field = (value);                                                           \
        if (pawl_task_row_fault(&row) == NULL) FAIL("%s = %s passes", #field, #value); \
    } while (0)
    BREAKS(good, key, 0);
    BREAKS(good, id, (struct pawl_str){0});
    BREAKS(good, priority, 100);
    BREAKS(good, priority, -1);
    BREAKS(good, version, 0);
    BREAKS(good, epoch, -1);
    BREAKS(good, lease_end_at_ms, 5);
    BREAKS(good, owner, 2);
    BREAKS(good, open_dependencies, 1);
    BREAKS(good, open_dependencies, -1);
    BREAKS(good, finished_at_ms, 5);
    BREAKS(good, progress, 100.5);
    BREAKS(good, progress, -0.5);
    BREAKS(good, progress, 0.0 / 0.0);
    BREAKS(good, control, PAWL_CONTROL_PAUSE);
    BREAKS(good, sequence, 0);
    BREAKS(good, state, PAWL_TASK_PAUSED);
    BREAKS(running, lease_end_at_ms, 0);
    BREAKS(running, owner, 0);
    BREAKS(running, epoch, 0);
    BREAKS(running, lease_kind, PAWL_LEASE_NONE);
    BREAKS(running, due_at_ms, 0);
    BREAKS(running, ready_at_ms, 5);
    BREAKS(desk_row(PAWL_TASK_COMPLETED), progress, 99.0);
    BREAKS(desk_row(PAWL_TASK_COMPLETED), finished_at_ms, 0);
}

TEST_MAIN()
