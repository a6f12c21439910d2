/* What a lost lease leads to: phase 1 makes the loss durable and fences the old owner; phase 2
 * gives the task back once it is known that its work has stopped. Of a client-held lease the end is
 * all that can be known, so both phases are one step; of a supervised one the proof is looked for
 * outside the step, and comes back as a command. */
#include "core/task/rule.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/task/retry.h"

#include <inttypes.h>

static const struct pawl_str none = {0};

bool pawl_task_charge_crash(struct pawl_step *step, struct pawl_entry *entry, struct pawl_str owner)
{
    struct pawl_task_row *task = entry->row;
    task->retries = pawl_count_next(task->retries);
    task->recoveries = pawl_count_next(task->recoveries);
    task->crashes_in_row = pawl_count_next(task->crashes_in_row);
    if (task->retries <= task->retry.max_retries) return true;
    struct pawl_str error = pawl_arena_format(
        step->set.arena,
        "worker%s%.*s vanished: its lease ended without an outcome (%d of %" PRId64
        " tries)",
        owner.len > 0 ? " " : "", PAWL_STR_ARG(owner), task->retries,
        (int64_t)task->retry.max_retries + 1);
    pawl_payload_put(step, task, PAWL_PAYLOAD_ERROR, error);
    pawl_task_move(task, PAWL_TASK_DEAD_LETTER, PAWL_BY_ENGINE);
    pawl_lease_clear(step, task);
    pawl_task_finish(step, entry, PAWL_EVENT_DEAD_LETTERED, PAWL_CAUSE_LEASE_ENDED, none, error);
    return false;
}

/* The work of a RECOVERY_PENDING task has stopped: charged, and given back or to the dead letters.
 * What is needed must be loaded. */
static void give_back(struct pawl_step *step, struct pawl_entry *entry, struct pawl_str owner)
{
    struct pawl_task_row *task = entry->row;
    pawl_task_raise_epoch(task);
    pawl_task_touch(step, task);
    if (task->attempt_end_at_ms != 0) { /* its time was up: that is what ended the lease */
        pawl_task_charge_timeout(step, entry, owner);
        return;
    }
    if (!pawl_task_charge_crash(step, entry, owner)) return;
    int64_t delay_ms = pawl_crash_delay_ms(task->crashes_in_row);
    if (pawl_task_return(step, entry, delay_ms, PAWL_BY_ENGINE) != PAWL_TASK_QUEUED) return;
    pawl_event_add(step, task, PAWL_EVENT_RECOVERED, PAWL_CAUSE_RECOVERED, none, owner);
}

/* All that giving back looks at; the owner's id. May be short. */
static struct pawl_str look_at_all(struct pawl_step *step, const struct pawl_task_row *task)
{
    (void)pawl_payload_look(step, task, PAWL_PAYLOAD_CONTROL_REASON);
    return pawl_worker_id(step, task->owner);
}

void pawl_lease_fence(struct pawl_step *step, struct pawl_entry *entry, enum pawl_event_cause cause)
{
    struct pawl_task_row *task = entry->row;
    struct pawl_str owner =
        look_at_all(step, task); /* now, so that nothing is changed before all is loaded */
    if (step->set.is_short) return;
    task = pawl_set_change(&step->set, entry);
    pawl_task_move(task, PAWL_TASK_RECOVERY_PENDING, PAWL_BY_ENGINE);
    task->lease_end_at_ms = 0;
    task->control_deadline_at_ms = 0; /* the request itself waits on */
    if (cause != PAWL_CAUSE_TIMED_OUT) task->attempt_end_at_ms = 0;
    pawl_task_touch(step, task);
    pawl_event_add(step, task, PAWL_EVENT_FENCED, cause, owner, none);
    if (task->lease_kind == PAWL_LEASE_SUPERVISED) {
        task->due_at_ms = step->now_ms; /* for its proof */
        return;
    }
    task->due_at_ms = 0;
    give_back(step, entry, owner);
}

/* 5 s, 10 s, 20 s, ... since the row was last changed, by its fencing or by news in its note. */
static int64_t look_again_ms(const struct pawl_step *step, const struct pawl_task_row *task)
{
    int64_t ms = step->now_ms - task->updated_at_ms + PAWL_RECOVERY_LOOK_MS_MIN;
    return ms < PAWL_RECOVERY_LOOK_MS_MAX ? ms : PAWL_RECOVERY_LOOK_MS_MAX;
}

void pawl_recovery_look(struct pawl_step *step, struct pawl_entry *entry)
{
    const struct pawl_task_row *before = entry->row;
    (void)pawl_worker_id(step, before->owner); /* the engine asks in the owner's place */
    if (step->set.is_short) return;
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    if (!step->can_prove) {
        task->due_at_ms = step->now_ms + PAWL_RECOVERY_LEAVE_MS;
        return;
    }
    task->due_at_ms = step->now_ms + look_again_ms(step, task);
    task->wants_proof = true;
}

/* The note of a task that has to wait. The same one again is no change. */
static void put_note(struct pawl_step *step, struct pawl_entry *entry, struct pawl_str note)
{
    struct pawl_str before = pawl_payload_look(step, entry->row, PAWL_PAYLOAD_RECOVERY_NOTE);
    if (step->set.is_short || pawl_str_equal(before, note)) return;
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    pawl_payload_put(step, task, PAWL_PAYLOAD_RECOVERY_NOTE, note);
    pawl_task_touch(step, task);
    pawl_event_add(step, task, PAWL_EVENT_RECOVERY_NOTED, PAWL_CAUSE_NONE, none, note);
}

enum pawl_code pawl_rule_recover(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    enum pawl_code code = pawl_task_find_key(step, command, command->number, &entry);
    if (code != PAWL_OK) return code;
    const struct pawl_task_row *task = entry->row;
    bool is_handled =
        task->state != PAWL_TASK_RECOVERY_PENDING || task->epoch != command->ask.recover.epoch;
    if (is_handled) return PAWL_OK; /* somebody else was faster */
    if (command->ask.recover.finding != PAWL_FINDING_STOPPED) {
        put_note(step, entry, command->ask.recover.note);
        return PAWL_OK;
    }
    struct pawl_str owner = look_at_all(step, task);
    if (step->set.is_short) return PAWL_BUSY;
    (void)pawl_set_change(&step->set, entry);
    give_back(step, entry, owner);
    return PAWL_OK;
}

enum pawl_code pawl_rule_stopped(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    enum pawl_code code = pawl_task_find(step, command, command->task_id, &entry);
    if (code != PAWL_OK) return code;
    const struct pawl_task_row *task = entry->row;
    int64_t caller = pawl_worker_key(step, command->fence.owner);
    struct pawl_str owner = look_at_all(step, task);
    if (step->set.is_short) return PAWL_BUSY;
    bool is_own = task->epoch == command->fence.epoch && caller != 0 && caller == task->owner;
    if (is_own && task->state == PAWL_TASK_RUNNING) {
        return pawl_error_set(&command->err, PAWL_STATE,
                              "the lease of task %.*s still holds: release it instead",
                              PAWL_STR_ARG(task->id));
    }
    if (!is_own || task->state != PAWL_TASK_RECOVERY_PENDING) {
        return pawl_error_set(&command->err, PAWL_LEASE_LOST,
                              "task %.*s: epoch %lld has been dealt with", PAWL_STR_ARG(task->id),
                              (long long)command->fence.epoch);
    }
    (void)pawl_set_change(&step->set, entry);
    give_back(step, entry, owner);
    return PAWL_OK;
}
