/* What operators do: queue, pause, resume, cancel, resolve. Of a RUNNING task they can only ask its holder,
 * but for a forced cancel. */
#include "core/task/rule.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "core/check.h"
#include "core/limits.h"
#include "core/workflow/decision.h"

/* Where the tasks of a workflow go is decided there. */
static enum pawl_code of_workflow(struct pawl_command *command, const struct pawl_task_row *task)
{
    return pawl_error_set(&command->err, PAWL_STATE,
                          "task %.*s is a step of a workflow: operate the workflow, or say how the task ended",
                          PAWL_STR_ARG(task->id));
}

static bool is_of_workflow(const struct pawl_entry *entry)
{
    return ((const struct pawl_task_row *)entry->row)->workflow != 0;
}

enum pawl_code pawl_rule_queue(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    bool is_done;
    enum pawl_code code = pawl_task_find_fenced(step, command, &entry, &is_done);
    if (code != PAWL_OK || is_done) return code;
    if (is_of_workflow(entry)) return of_workflow(command, entry->row);
    const struct pawl_task_row *before = entry->row;
    switch (before->state) {
    case PAWL_TASK_QUEUED:
    case PAWL_TASK_RUNNING:
    case PAWL_TASK_COMPLETED:
        return PAWL_OK;
    case PAWL_TASK_PENDING:
        break;
    case PAWL_TASK_PAUSED:
    case PAWL_TASK_RECOVERY_PENDING:
    case PAWL_TASK_FAILED:
    case PAWL_TASK_CANCELLED:
    case PAWL_TASK_DEAD_LETTER:
        return pawl_state_error(command, before, "queue");
    }
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    pawl_task_move(task, PAWL_TASK_QUEUED, PAWL_BY_OPERATOR);
    pawl_task_offer(step, task);
    pawl_task_touch(step, task);
    pawl_event_add(step, task, PAWL_EVENT_QUEUED, PAWL_CAUSE_QUEUED, pawl_command_actor(command),
                   command->reason);
    return PAWL_OK;
}

/* Leaves a request for the holder, who is knocked at, and learns it with its next renewal at the latest. */
static enum pawl_code request(struct pawl_step *step, struct pawl_command *command,
                              struct pawl_entry *entry, enum pawl_control control)
{
    const struct pawl_task_row *before = entry->row;
    if (before->control == control) return PAWL_OK;
    if (before->control == PAWL_CONTROL_CANCEL) {
        return pawl_error_set(&command->err, PAWL_STATE,
                              "task %.*s is asked to cancel already", PAWL_STR_ARG(before->id));
    }
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    step->knocks = true;
    task->control = control;
    task->control_deadline_at_ms = step->now_ms + task->lease_ms;
    task->due_at_ms = pawl_lease_due(task) < task->due_at_ms ? pawl_lease_due(task) : task->due_at_ms;
    pawl_payload_drop(step, task, PAWL_PAYLOAD_CONTROL_REASON);
    if (command->reason.len > 0) {
        pawl_payload_put(step, task, PAWL_PAYLOAD_CONTROL_REASON, command->reason);
    }
    pawl_task_touch(step, task);
    pawl_event_add(step, task, PAWL_EVENT_CONTROL_REQUESTED,
                   control == PAWL_CONTROL_PAUSE ? PAWL_CAUSE_PAUSE : PAWL_CAUSE_CANCEL,
                   pawl_command_actor(command), command->reason);
    return PAWL_OK;
}

enum pawl_code pawl_rule_pause(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    bool is_done;
    enum pawl_code code = pawl_task_find_fenced(step, command, &entry, &is_done);
    if (code != PAWL_OK || is_done) return code;
    if (is_of_workflow(entry)) return of_workflow(command, entry->row);
    const struct pawl_task_row *before = entry->row;
    enum pawl_mover by = PAWL_BY_OPERATOR;
    switch (before->state) {
    case PAWL_TASK_PENDING:
    case PAWL_TASK_QUEUED:
        break;
    case PAWL_TASK_RUNNING:
        if (!command->has_fence) return request(step, command, entry, PAWL_CONTROL_PAUSE);
        by = PAWL_BY_WORKER;
        break;
    case PAWL_TASK_PAUSED:
        return PAWL_OK;
    case PAWL_TASK_RECOVERY_PENDING:
    case PAWL_TASK_COMPLETED:
    case PAWL_TASK_FAILED:
    case PAWL_TASK_CANCELLED:
    case PAWL_TASK_DEAD_LETTER:
        return pawl_state_error(command, before, "pause");
    }
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    pawl_outcome_accept(task, command);
    pawl_task_move(task, PAWL_TASK_PAUSED, by);
    pawl_lease_clear(step, task);
    pawl_task_withdraw(task);
    pawl_task_touch(step, task);
    pawl_event_add(step, task, PAWL_EVENT_PAUSED, PAWL_CAUSE_NONE, pawl_command_actor(command),
                   command->reason);
    return PAWL_OK;
}

/* A new input takes the place of the old one, which is not loaded to learn its size: what lies beside it is
 * counted as large as it may be. */
static void replace_input(struct pawl_step *step, struct pawl_task_row *task, struct pawl_str input)
{
    enum { BESIDE_BYTES_MAX = PAWL_GOAL_BYTES_MAX + PAWL_METADATA_BYTES_MAX };
    int64_t beside = task->payload_bytes < BESIDE_BYTES_MAX ? task->payload_bytes : BESIDE_BYTES_MAX;
    pawl_payload_put(step, task, PAWL_PAYLOAD_INPUT, input);
    task->payload_bytes = beside + (int64_t)input.len;
}

void pawl_task_resume_row(struct pawl_step *step, struct pawl_entry *entry,
                          const struct pawl_resume *how, enum pawl_event_cause cause,
                          struct pawl_str actor, struct pawl_str reason)
{
    const struct pawl_task_row *before = entry->row;
    bool was_finished = pawl_task_state_is_terminal(before->state);
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    pawl_task_move(task, PAWL_TASK_QUEUED, PAWL_BY_OPERATOR);
    if (was_finished) {
        pawl_task_raise_epoch(task);
        task->finished_at_ms = 0;
        if (!how->keep_retries) {
            task->retries = 0;
            task->recoveries = 0;
        }
    }
    task->crashes_in_row = 0;
    task->ready_at_ms = 0;
    if (how->input.len > 0) replace_input(step, task, how->input);
    pawl_task_offer(step, task);
    pawl_task_touch(step, task);
    pawl_event_add(step, task, PAWL_EVENT_RESUMED, cause, actor, reason);
    if (was_finished) pawl_dependents_tell(step, entry); /* it can complete again: they are not blocked */
}

enum pawl_code pawl_rule_resume(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    bool is_done;
    enum pawl_code code = pawl_task_find_fenced(step, command, &entry, &is_done);
    if (code != PAWL_OK || is_done) return code;
    if (is_of_workflow(entry)) return of_workflow(command, entry->row);
    const struct pawl_task_row *before = entry->row;
    switch (before->state) {
    case PAWL_TASK_PAUSED:
    case PAWL_TASK_FAILED:
    case PAWL_TASK_DEAD_LETTER:
        break;
    case PAWL_TASK_PENDING:
    case PAWL_TASK_QUEUED:
    case PAWL_TASK_RUNNING:
    case PAWL_TASK_RECOVERY_PENDING:
    case PAWL_TASK_COMPLETED:
    case PAWL_TASK_CANCELLED:
        return pawl_state_error(command, before, "resume");
    }
    pawl_task_resume_row(step, entry, &command->ask.resume, PAWL_CAUSE_RESUMED,
                         pawl_command_actor(command), command->reason);
    return PAWL_OK;
}

enum pawl_code pawl_rule_cancel(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    bool is_done;
    enum pawl_code code = pawl_task_find_fenced(step, command, &entry, &is_done);
    if (code != PAWL_OK || is_done) return code;
    if (is_of_workflow(entry)) return pawl_record_outcome(step, command, entry);
    const struct pawl_task_row *before = entry->row;
    bool is_forced = command->ask.is_forced && !command->has_fence;
    bool raises_epoch = false;
    enum pawl_mover by = PAWL_BY_OPERATOR;
    switch (before->state) {
    case PAWL_TASK_PENDING:
    case PAWL_TASK_QUEUED:
    case PAWL_TASK_PAUSED:
        break;
    case PAWL_TASK_RUNNING:
        if (command->has_fence) {
            by = PAWL_BY_WORKER;
        } else if (is_forced) {
            raises_epoch = true;
            step->knocks = true;
        } else {
            return request(step, command, entry, PAWL_CONTROL_CANCEL);
        }
        break;
    case PAWL_TASK_RECOVERY_PENDING:
        if (!is_forced) return pawl_state_error(command, before, "cancel without force");
        raises_epoch = true;
        break;
    case PAWL_TASK_FAILED:
    case PAWL_TASK_DEAD_LETTER:
        raises_epoch = true; /* the listed moves out of a terminal state take a new epoch */
        break;
    case PAWL_TASK_CANCELLED:
        return PAWL_OK;
    case PAWL_TASK_COMPLETED:
        return pawl_state_error(command, before, "cancel");
    }
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    pawl_outcome_accept(task, command);
    pawl_task_move(task, PAWL_TASK_CANCELLED, by);
    if (raises_epoch) pawl_task_raise_epoch(task);
    pawl_lease_clear(step, task);
    pawl_task_touch(step, task);
    pawl_task_finish(step, entry, PAWL_EVENT_CANCELLED, is_forced ? PAWL_CAUSE_FORCED : PAWL_CAUSE_NONE,
                     pawl_command_actor(command), command->reason);
    return PAWL_OK;
}

/* Whether an operator may settle a task from this state in that way. */
static bool may_resolve(enum pawl_task_state from, enum pawl_task_state to)
{
    bool is_finished = from == PAWL_TASK_FAILED || from == PAWL_TASK_DEAD_LETTER;
    if (!is_finished && from != PAWL_TASK_RECOVERY_PENDING) return false;
    return to == PAWL_TASK_COMPLETED || to == PAWL_TASK_QUEUED || to == PAWL_TASK_CANCELLED ||
           (to == PAWL_TASK_FAILED && !is_finished);
}

enum pawl_code pawl_rule_resolve(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    bool is_done;
    enum pawl_code code = pawl_task_find_fenced(step, command, &entry, &is_done);
    if (code != PAWL_OK || is_done) return code;
    if (is_of_workflow(entry)) return of_workflow(command, entry->row);
    const struct pawl_task_row *before = entry->row;
    enum pawl_task_state to = command->ask.resolve.outcome;
    struct pawl_str text = command->ask.resolve.text;
    struct pawl_str actor = command->actor;
    struct pawl_str why = command->reason.len > 0 ? command->reason : text;
    if (!may_resolve(before->state, to)) return pawl_state_error(command, before, "resolve");
    bool is_unseen = before->state == PAWL_TASK_RECOVERY_PENDING && pawl_resolve_needs_look(command) &&
                     before->epoch != command->ask.resolve.seen_epoch;
    if (is_unseen) {
        return pawl_error_set(&command->err, PAWL_BUSY,
                              "task %.*s has lost its lease only now, and whether its work goes on was not looked at",
                              PAWL_STR_ARG(before->id));
    }
    bool was_finished = pawl_task_state_is_terminal(before->state);
    struct pawl_str asked_because = pawl_payload_look(step, before, PAWL_PAYLOAD_CONTROL_REASON);
    if (step->set.is_short) return PAWL_BUSY;
    /* no way leads back to the queue past what was asked of the holder */
    if (to == PAWL_TASK_QUEUED && before->control != PAWL_CONTROL_NONE) {
        to = before->control == PAWL_CONTROL_PAUSE ? PAWL_TASK_PAUSED : PAWL_TASK_CANCELLED;
        if (why.len == 0) why = asked_because;
    }

    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    pawl_task_move(task, to, PAWL_BY_OPERATOR);
    pawl_task_raise_epoch(task);
    pawl_lease_clear(step, task);
    task->finished_at_ms = 0;
    pawl_task_touch(step, task);
    switch (to) {
    case PAWL_TASK_COMPLETED:
        pawl_task_complete_progress(task);
        if (text.len > 0) pawl_payload_put(step, task, PAWL_PAYLOAD_RESULT, text);
        pawl_payload_drop(step, task, PAWL_PAYLOAD_ERROR);
        pawl_task_finish(step, entry, PAWL_EVENT_RESOLVED_COMPLETED, PAWL_CAUSE_RESOLVED, actor,
                         command->reason);
        break;
    case PAWL_TASK_FAILED:
        if (text.len > 0) pawl_payload_put(step, task, PAWL_PAYLOAD_ERROR, text);
        pawl_task_finish(step, entry, PAWL_EVENT_FAILED, PAWL_CAUSE_RESOLVED, actor, command->reason);
        break;
    case PAWL_TASK_CANCELLED:
        pawl_task_finish(step, entry, PAWL_EVENT_RESOLVED_CANCELLED, PAWL_CAUSE_RESOLVED, actor, why);
        break;
    case PAWL_TASK_QUEUED:
        if (was_finished) {
            task->retries = 0;
            task->recoveries = 0;
        }
        task->crashes_in_row = 0;
        pawl_task_offer(step, task);
        pawl_event_add(step, task, PAWL_EVENT_RESOLVED_QUEUED, PAWL_CAUSE_RESOLVED, actor, why);
        if (was_finished) pawl_dependents_tell(step, entry);
        break;
    case PAWL_TASK_PAUSED:
        pawl_task_withdraw(task);
        pawl_event_add(step, task, PAWL_EVENT_RESOLVED_PAUSED, PAWL_CAUSE_RESOLVED, actor, why);
        break;
    case PAWL_TASK_PENDING:
    case PAWL_TASK_RUNNING:
    case PAWL_TASK_RECOVERY_PENDING:
    case PAWL_TASK_DEAD_LETTER:
        pawl_assert(false);
    }
    return PAWL_OK;
}
