/* What holds of the stored rows at any time, whatever has happened: the invariants I1, I4, I6 to I8
 * of the contract and what the indexes, counts and timers are said to be. Told anew here, not taken
 * from the code under test. */
#include "sim.h"

#include "core/limits.h"

#include <inttypes.h>

struct rows { /* a task, and what stands around it */
    struct sim *sim;
    const struct look *look;
    const struct look_task *task;
    struct model *model;
};

static int64_t of(const struct rows *r, enum look_column column)
{
    return r->task->at[column];
}

static bool is(const struct rows *r, enum pawl_task_state state)
{
    return of(r, LOOK_state) == (int64_t)state;
}

static bool is_terminal(int64_t state)
{
    return state == PAWL_TASK_COMPLETED || state == PAWL_TASK_FAILED ||
           state == PAWL_TASK_CANCELLED || state == PAWL_TASK_DEAD_LETTER;
}

static bool is_bad_end(int64_t state)
{
    return is_terminal(state) && state != PAWL_TASK_COMPLETED;
}

/* Phase 1 of a supervised lease's end: fenced, and waiting for the proof. */
static const char *recovery_fault(const struct rows *r)
{
    if (of(r, LOOK_lease_kind) != PAWL_LEASE_SUPERVISED)
        return "a client's lease is left half recovered";
    if (of(r, LOOK_owner) == 0 || of(r, LOOK_epoch) < 1)
        return "RECOVERY_PENDING without owner or epoch";
    if (of(r, LOOK_lease_end_at_ms) != 0 || of(r, LOOK_control_deadline_at_ms) != 0) {
        return "RECOVERY_PENDING, and something of its lease still runs";
    }
    int64_t due = of(r, LOOK_due_at_ms);
    if (due == 0) return "RECOVERY_PENDING, and nobody is going to look again";
    return due > r->look->now_ms + PAWL_RECOVERY_LOOK_MS_MAX
               ? "RECOVERY_PENDING, and nobody looks again for more than 5 min"
               : NULL;
}

static const char *note_fault(const struct rows *r)
{
    struct pawl_str note = r->model->note;
    uint64_t want = note.len == 0 ? 0 : look_hash(note);
    return r->task->payload_hashes[PAWL_PAYLOAD_RECOVERY_NOTE] == want
               ? NULL
               : "the note of its recovery is not the one that was told";
}

static const char *lease_fault(const struct rows *r)
{
    if (is(r, PAWL_TASK_RECOVERY_PENDING)) return recovery_fault(r);
    if (is(r, PAWL_TASK_RUNNING)) {
        if (of(r, LOOK_owner) == 0 || of(r, LOOK_epoch) < 1 || of(r, LOOK_lease_end_at_ms) == 0) {
            return "I1: RUNNING without owner, epoch or lease end";
        }
        int64_t attempt_end = of(r, LOOK_attempt_end_at_ms);
        if (attempt_end != 0 && of(r, LOOK_lease_end_at_ms) > attempt_end) {
            return "its lease goes beyond the end of its attempt";
        }
        if (of(r, LOOK_control) == PAWL_CONTROL_CANCEL && of(r, LOOK_control_deadline_at_ms) == 0) {
            return "it is asked to cancel, and nothing will enforce that";
        }
        return NULL;
    }
    static const enum look_column of_lease[] = {LOOK_owner,
                                                LOOK_lease_end_at_ms,
                                                LOOK_lease_ms,
                                                LOOK_lease_kind,
                                                LOOK_attempt_end_at_ms,
                                                LOOK_control,
                                                LOOK_control_deadline_at_ms};
    for (size_t i = 0; i < sizeof of_lease / sizeof *of_lease; i++) {
        if (of(r, of_lease[i]) != 0) {
            return "I1: something of a lease is left though it does not run";
        }
    }
    return NULL;
}

static const char *rank_fault(const struct rows *r)
{
    int64_t rank = of(r, LOOK_rank);
    int64_t ready_at_ms = of(r, LOOK_ready_at_ms);
    bool is_offered = is(r, PAWL_TASK_QUEUED) && of(r, LOOK_open_dependencies) == 0;
    if (is_offered && ready_at_ms == 0 && rank < 0) return "it may be claimed and has no rank";
    if ((!is_offered || ready_at_ms > r->look->now_ms) && rank >= 0) {
        return "it has a rank and may not be claimed";
    }
    if (rank < 0) return NULL;
    if (ready_at_ms != 0 && (rank & PAWL_RANK_TIME_MASK) != ready_at_ms) {
        return "its rank tells another time than its deferral";
    }
    if (rank >> PAWL_RANK_TIME_BITS != PAWL_PRIORITY_MAX - of(r, LOOK_priority)) {
        return "its rank tells another priority";
    }
    if ((rank & PAWL_RANK_TIME_MASK) > r->look->now_ms) return "its rank tells a time to come";
    return NULL;
}

/* When something has to happen by itself; 0 = never. */
static int64_t awaited_at(const struct rows *r)
{
    if (is(r, PAWL_TASK_RUNNING)) {
        int64_t at = of(r, LOOK_lease_end_at_ms);
        int64_t deadline = of(r, LOOK_control_deadline_at_ms);
        bool is_told_of = of(r, LOOK_updated_at_ms) >= deadline;
        int64_t others[] = {of(r, LOOK_attempt_end_at_ms), is_told_of ? 0 : deadline};
        for (int i = 0; i < 2; i++) {
            if (others[i] != 0 && others[i] < at) at = others[i];
        }
        return at;
    }
    bool is_ready = of(r, LOOK_rank) >= 0;
    if (is(r, PAWL_TASK_QUEUED) && of(r, LOOK_open_dependencies) == 0 && !is_ready) {
        return of(r, LOOK_ready_at_ms);
    }
    return 0;
}

static const char *due_fault(const struct rows *r)
{
    int64_t due = of(r, LOOK_due_at_ms);
    int64_t awaited = awaited_at(r);
    bool can_wait =
        is(r, PAWL_TASK_RUNNING) || is(r, PAWL_TASK_QUEUED) || is(r, PAWL_TASK_RECOVERY_PENDING);
    if (awaited != 0 && due == 0) return "it waits for an instant and has no timer";
    if (awaited != 0 && due > awaited) return "its timer is late";
    if (!can_wait && due != 0) return "it has a timer and waits for nothing";
    if (of(r, LOOK_ready_at_ms) != 0 && !is(r, PAWL_TASK_QUEUED) && !is(r, PAWL_TASK_PENDING)) {
        return "it is deferred though nobody could be given it";
    }
    return NULL;
}

/* A calendar time is armed by the wall clock, as it was last seen to have stepped. */
static const char *calendar_fault(const struct rows *r)
{
    int64_t run_at_ms = of(r, LOOK_run_at_ms);
    if (run_at_ms == 0) return NULL;
    bool waits = is(r, PAWL_TASK_QUEUED) || is(r, PAWL_TASK_PENDING);
    if (!waits || of(r, LOOK_rank) >= 0) return "it keeps a calendar time and does not wait for it";
    int64_t at_ms = run_at_ms - r->look->wall_offset_ms;
    bool is_armed = of(r, LOOK_ready_at_ms) == (at_ms < 1 ? 1 : at_ms);
    return is_armed || look_is_rearming(r->look) ? NULL
                                                 : "its calendar time is not what its timer says";
}

static const char *end_fault(const struct rows *r)
{
    bool ends = is_terminal(of(r, LOOK_state));
    if (ends != (of(r, LOOK_finished_at_ms) != 0)) {
        return "a finish time is for terminal states alone";
    }
    if (is(r, PAWL_TASK_COMPLETED) && of(r, LOOK_progress) != 100000) {
        return "I7: COMPLETED below 100 percent";
    }
    if (is(r, PAWL_TASK_COMPLETED) && r->task->payload_lens[PAWL_PAYLOAD_ERROR] > 0) {
        return "COMPLETED, and an error is left";
    }
    if (of(r, LOOK_retries) > of(r, LOOK_max_retries) && !ends && !r->model->keeps_budget) {
        return "I6: more retries than its budget has";
    }
    return NULL;
}

static const char *count_fault(const struct rows *r)
{
    const struct look_task *task = r->task;
    enum { INPUT = PAWL_PAYLOAD_INPUT, GOAL = PAWL_PAYLOAD_GOAL, METADATA = PAWL_PAYLOAD_METADATA };
    if (of(r, LOOK_open_dependencies) != task->open_dependencies) {
        return "open dependencies are not as counted";
    }
    if (of(r, LOOK_payloads) != task->payload_bits) {
        return "payload bits do not tell the payloads there are";
    }
    /* an edited input leaves what lies beside it counted as large as it may be */
    int64_t bytes =
        task->payload_lens[INPUT] + task->payload_lens[GOAL] + task->payload_lens[METADATA];
    int64_t spare = PAWL_GOAL_BYTES_MAX + PAWL_METADATA_BYTES_MAX;
    if (of(r, LOOK_payload_bytes) < bytes || of(r, LOOK_payload_bytes) > bytes + spare) {
        return "payload bytes are not as counted";
    }
    if (of(r, LOOK_checkpoint_count) != task->checkpoints) return "checkpoints are not as counted";
    if (of(r, LOOK_checkpoint_bytes) != task->checkpoint_len) {
        return "checkpoint bytes are not the latest's";
    }
    if (of(r, LOOK_log_bytes) != task->log_bytes) return "log bytes are not as counted";
    if (task->lates > 8) return "more than 8 late results are kept";
    return NULL;
}

/* ---- Dependencies -------------------------------------------------------------------------- */

static bool is_going_on(const struct look *look, int64_t kind, int64_t task, int64_t before_cursor)
{
    for (int i = 0; i < look->continuation_count; i++) {
        const struct look_continuation *one = &look->continuations[i];
        if (one->kind == kind && one->task == task && one->cursor < before_cursor) return true;
    }
    return false;
}

/* Whether the dependents of a task are still going to be told, this one among them. */
static bool is_told_later(const struct look *look, int64_t on, int64_t dependent)
{
    return is_going_on(look, PAWL_CONTINUE_DEPENDENTS, on, dependent) ||
           is_going_on(look, PAWL_CONTINUE_AWAITED, on, INT64_MAX);
}

/* A dependency whose task has settled has been told of it, or will be by a continuation. */
static const char *dependency_fault(struct sim *sim, const struct look *look,
                                    const struct look_dependency *dependency)
{
    int at = look_find(look, dependency->task);
    int on_at = look_find(look, dependency->on);
    if (at < 0) return "a dependency is of no task";
    if (dependency->on == 0) {
        int found = model_find(sim, dependency->on_id);
        bool is_met = found < 0 ||
                      is_going_on(look, PAWL_CONTINUE_AWAITED, sim->models[found].key, INT64_MAX);
        return is_met ? NULL : "it waits for an id that exists by now";
    }
    if (on_at < 0) return "it waits for a task that does not exist";
    const struct look_task *task = &look->tasks[at];
    int64_t state = look->tasks[on_at].at[LOOK_state];
    if (!look->tasks[on_at].at[LOOK_has_dependents] && dependency->is_open) {
        return "the task that it waits for does not know";
    }
    if (!dependency->is_open || is_terminal(task->at[LOOK_state])) return NULL;
    if (is_told_later(look, dependency->on, dependency->task)) return NULL;
    if (state == PAWL_TASK_COMPLETED) return "its dependency has completed and it was not told";
    if (is_bad_end(state) && task->at[LOOK_dependency_policy] != PAWL_DEPENDENCY_BLOCK) {
        return "its dependency has ended badly and its policy was not applied";
    }
    if (is_bad_end(state) && task->at[LOOK_blocked_by] == 0) {
        return "its dependency has ended badly and it is not blocked";
    }
    return NULL;
}

static const char *block_fault(const struct rows *r)
{
    int64_t by = of(r, LOOK_blocked_by);
    if (by == 0) return NULL;
    if (is_terminal(of(r, LOOK_state))) return "it has ended and is blocked";
    if (of(r, LOOK_dependency_policy) != PAWL_DEPENDENCY_BLOCK) {
        return "its policy is not to be blocked";
    }
    int on = look_find(r->look, by);
    if (on < 0) return "it is blocked by a task that does not exist";
    if (is_bad_end(r->look->tasks[on].at[LOOK_state])) return NULL;
    return is_told_later(r->look, by, of(r, LOOK_key))
               ? NULL
               : "it is blocked by a task that can complete";
}

/* ---- All ----------------------------------------------------------------------------------- */

static const char *task_fault(const struct rows *r)
{
    static const char *(*const rules[])(const struct rows *) = {
        lease_fault,    note_fault, rank_fault,  due_fault,
        calendar_fault, end_fault,  count_fault, block_fault,
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const char *fault = rules[i](r);
        if (fault != NULL) return fault;
    }
    return NULL;
}

void rules_check(struct sim *sim, const struct look *look)
{
    if (look->quarantine_count > 0) sim_fault(sim, "a row was set aside as unreadable");
    for (int i = 0; i < look->task_count && sim_holds(sim); i++) {
        struct rows rows = {sim, look, &look->tasks[i], &sim->models[i]};
        const char *fault = task_fault(&rows);
        if (fault != NULL) sim_fault(sim, "%s: %s", model_name(sim, rows.model), fault);
    }
    for (int i = 0; i < look->dependency_count && sim_holds(sim); i++) {
        const struct look_dependency *dependency = &look->dependencies[i];
        const char *fault = dependency_fault(sim, look, dependency);
        int at = model_find_key(sim, dependency->task);
        if (fault != NULL) {
            sim_fault(sim, "%s: %s", at < 0 ? "?" : model_name(sim, &sim->models[at]), fault);
        }
    }
}
