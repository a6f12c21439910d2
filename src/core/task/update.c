/* Who speaks, and what becomes of what he says.
 *
 *   the holder   he gives the epoch and it holds; or he gives none, and is by name who has the lease
 *   stale        he gives no epoch, has been given the task, and its epoch has grown since
 *   an outsider  anybody else: an operator's page, a script. He is obeyed as the holder would be, under a
 *                new epoch, so that the holder finds out
 *
 * A heartbeat without a name is the holder's. What is stale, or comes when the task has ended, is
 * answered as if it were done and changes nothing, since clients repeat what they are not sure of.
 *
 * What is said then becomes one of the commands of old (complete, fail, release, cancel, renew, with
 * a checkpoint for an output that is no result), run under the fence of whoever holds the task. */
#include "core/task/update.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/task/queue.h"
#include "core/task/rule.h"
#include "core/workflow/decision.h"

static const struct pawl_str none = {0};

enum sender { SENDER_HOLDER, SENDER_OUTSIDER, SENDER_STALE };

/* The epoch under which the worker was given the task last; 0 = never, or the set is short. */
static int64_t last_epoch_of(struct pawl_step *step, const struct pawl_task_row *task,
                             struct pawl_str worker)
{
    const struct pawl_entry *entry =
        pawl_set_look(&step->set, PAWL_LOOK_STARTED_BY, task->key, worker, 0, 0);
    return entry == NULL || !entry->is_loaded || entry->row == NULL ? 0
                                                                    : *(const int64_t *)entry->row;
}

/* Of one who gives no epoch. *epoch is that of his last claim, if he is stale. */
static enum sender find_sender(struct pawl_step *step, const struct pawl_update *update,
                               const struct pawl_task_row *task, struct pawl_str owner,
                               int64_t *epoch)
{
    bool is_running = task->state == PAWL_TASK_RUNNING;
    if (update->worker_id.len == 0) {
        return update->extends_lease && is_running ? SENDER_HOLDER : SENDER_OUTSIDER;
    }
    if (is_running && pawl_str_equal(owner, update->worker_id)) return SENDER_HOLDER;
    *epoch = last_epoch_of(step, task, update->worker_id);
    return *epoch != 0 && *epoch < task->epoch ? SENDER_STALE : SENDER_OUTSIDER;
}

/* ---- The commands it becomes ---- */

static struct pawl_command derive(const struct pawl_command *command, enum pawl_command_kind kind,
                                  const struct pawl_fence *fence)
{
    struct pawl_command derived = {.kind = kind,
                                   .task_id = command->task_id,
                                   .actor = command->actor,
                                   .keep = command->keep};
    if (fence != NULL) {
        derived.has_fence = true;
        derived.fence = *fence;
    }
    return derived;
}

static enum pawl_code run(pawl_rule *rule, struct pawl_step *step, struct pawl_command *command,
                          struct pawl_command *derived)
{
    enum pawl_code code = rule(step, derived);
    if (code != PAWL_OK) command->err = derived->err;
    return code;
}

static enum pawl_code add_logs(struct pawl_step *step, struct pawl_command *command)
{
    const struct pawl_update *update = command->ask.update;
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < update->log_count && code == PAWL_OK; i++) {
        struct pawl_command line = derive(command, PAWL_COMMAND_LOG, NULL);
        line.ask.line = update->logs[i];
        code = run(pawl_rule_log, step, command, &line);
    }
    return code;
}

/* An output that is no result: what the next claim finds to go on from. */
static enum pawl_code keep_output(struct pawl_step *step, struct pawl_command *command,
                                  const struct pawl_task_row *task, const struct pawl_fence *fence)
{
    struct pawl_str output = command->ask.update->output;
    const struct pawl_checkpoint_row *before = NULL;
    if (task->workflow != 0) {
        pawl_record_keep_output(step, pawl_set_task(&step->set, task->key), output);
        return PAWL_OK;
    }
    if (output.len == 0 || pawl_str_equal(output, PAWL_STR("{}"))) return PAWL_OK;
    if (task->checkpoint_count > 0) {
        const struct pawl_entry *entry =
            pawl_set_look(&step->set, PAWL_LOOK_CHECKPOINT, task->key, none, 0, 0);
        if (entry == NULL || !entry->is_loaded) return PAWL_BUSY;
        before = entry->row;
    }
    if (before != NULL && pawl_str_equal(before->state, output)) return PAWL_OK;
    struct pawl_command checkpoint = derive(command, PAWL_COMMAND_CHECKPOINT, fence);
    bool has_next = before != NULL && before->step < INT32_MAX;
    checkpoint.ask.checkpoint.step = has_next ? before->step + 1 : before != NULL ? INT32_MAX : 1;
    checkpoint.ask.checkpoint.state = output;
    return run(pawl_rule_checkpoint, step, command, &checkpoint);
}

static enum pawl_code fail(struct pawl_step *step, struct pawl_command *command,
                           const struct pawl_fence *fence)
{
    const struct pawl_update *update = command->ask.update;
    struct pawl_command derived = derive(command, PAWL_COMMAND_FAIL, fence);
    derived.ask.failure = (struct pawl_failure){
        .size = sizeof(struct pawl_failure),
        .error = update->reason.len > 0 ? update->reason : PAWL_STR("its worker gave no reason"),
        .is_final = update->status == PAWL_UPDATE_FAILED_WITH_TERMINAL_ERROR,
    };
    return run(pawl_rule_fail, step, command, &derived);
}

/* Tells how the attempt ends, or that it goes on later; fence NULL: nobody holds the task. */
static enum pawl_code apply(struct pawl_step *step, struct pawl_command *command,
                            struct pawl_entry *entry, const struct pawl_fence *fence)
{
    const struct pawl_update *update = command->ask.update;
    const struct pawl_task_row *task = entry->row;
    struct pawl_command derived;
    if (task->workflow != 0) return pawl_record_update(step, command, entry, fence != NULL);
    switch (update->status) {
    case PAWL_UPDATE_COMPLETED:
        derived = derive(command, PAWL_COMMAND_COMPLETE, fence);
        derived.ask.result = update->output.len > 0 ? update->output : PAWL_STR("{}");
        return run(pawl_rule_complete, step, command, &derived);
    case PAWL_UPDATE_FAILED:
    case PAWL_UPDATE_FAILED_WITH_TERMINAL_ERROR:
        return fail(step, command, fence);
    case PAWL_UPDATE_CANCELED:
        derived = derive(command, PAWL_COMMAND_CANCEL, fence);
        derived.reason = update->reason;
        return run(pawl_rule_cancel, step, command, &derived);
    case PAWL_UPDATE_IN_PROGRESS: {
        enum pawl_code code = keep_output(step, command, task, fence);
        if (code != PAWL_OK || fence == NULL) return code; /* it waits already */
        derived = derive(command, PAWL_COMMAND_RELEASE, fence);
        derived.ask.delay_ms = update->callback_after_ms;
        return run(pawl_rule_release, step, command, &derived);
    }
    }
    return PAWL_OK;
}

/* What he would have said in time. */
static enum pawl_code keep_late(struct pawl_step *step, struct pawl_command *command, int64_t epoch)
{
    const struct pawl_update *update = command->ask.update;
    struct pawl_fence fence = {command->task_id, update->worker_id, epoch};
    bool is_completion = update->status == PAWL_UPDATE_COMPLETED;
    struct pawl_command late =
        derive(command, is_completion ? PAWL_COMMAND_COMPLETE : PAWL_COMMAND_FAIL, &fence);
    if (update->status == PAWL_UPDATE_IN_PROGRESS || update->extends_lease) return PAWL_OK;
    if (is_completion) {
        late.ask.result = update->output;
    } else {
        late.ask.failure = (struct pawl_failure){.size = sizeof(struct pawl_failure),
                                                 .error = update->reason};
    }
    return run(pawl_rule_late, step, command, &late);
}

/* ---- Leases ---- */

static enum pawl_lease_word word_of(enum pawl_control control)
{
    return control == PAWL_CONTROL_PAUSE    ? PAWL_LEASE_WORD_PAUSE
           : control == PAWL_CONTROL_CANCEL ? PAWL_LEASE_WORD_CANCEL
                                            : PAWL_LEASE_WORD_HELD;
}

static enum pawl_code extend(struct pawl_step *step, struct pawl_command *command,
                             const struct pawl_task_row *task, const struct pawl_fence *fence)
{
    struct pawl_updated *updated = command->out.updated;
    struct pawl_renewal renewal = {0};
    struct pawl_command renew = derive(command, PAWL_COMMAND_RENEW, NULL);
    enum pawl_code code = keep_output(step, command, task, fence);
    if (code != PAWL_OK) return code;
    renew.ask.renew.fences = fence;
    renew.ask.renew.count = 1;
    renew.out.renewals = &renewal;
    code = run(pawl_rule_renew, step, command, &renew);
    if (code != PAWL_OK || step->set.is_short) return code;
    updated->lease = renewal.code == PAWL_OK ? word_of(renewal.control) : PAWL_LEASE_WORD_LOST;
    updated->remaining_ms = renewal.code == PAWL_OK ? renewal.lease_ms : 0;
    return PAWL_OK;
}

/* ---- The rule ---- */

static void tell(struct pawl_step *step, struct pawl_command *command,
                 const struct pawl_task_row *task)
{
    const struct pawl_queue_row *queue = pawl_queue_by_key(step, task->queue);
    command->out.updated->epoch = task->epoch;
    command->out.updated->is_terminal = pawl_task_state_is_terminal(task->state);
    command->out.updated->task_id = pawl_reply_copy(command, task->id);
    command->out.updated->queue = pawl_reply_copy(command, queue == NULL ? none : queue->name);
}

/* One who gives his epoch, and is judged by it. */
static enum pawl_code update_strictly(struct pawl_step *step, struct pawl_command *command,
                                      struct pawl_entry *entry)
{
    const struct pawl_update *update = command->ask.update;
    const struct pawl_task_row *task = entry->row;
    const struct pawl_fence fence = {command->task_id, update->worker_id, update->epoch};
    if (update->extends_lease) {
        enum pawl_code code = extend(step, command, task, &fence);
        bool is_lost = code == PAWL_OK && command->out.updated->lease == PAWL_LEASE_WORD_LOST;
        if (!is_lost || step->set.is_short) return code;
        return pawl_error_set(&command->err, PAWL_LEASE_LOST, "task %.*s: its lease is lost",
                              PAWL_STR_ARG(task->id));
    }
    if (task->workflow != 0 && (task->state != PAWL_TASK_RUNNING || !pawl_fence_holds(step, &fence, task))) {
        return pawl_error_set(&command->err, PAWL_LEASE_LOST, "task %.*s: its lease is lost",
                              PAWL_STR_ARG(task->id));
    }
    enum pawl_code code = apply(step, command, entry, &fence);
    if (code == PAWL_OK) command->out.updated->lease = PAWL_LEASE_WORD_DONE;
    return code;
}

/* One who has ended before, or has been heard too late. */
static enum pawl_code ignore(struct pawl_step *step, struct pawl_command *command,
                             const struct pawl_task_row *task, enum sender sender, int64_t epoch)
{
    const struct pawl_update *update = command->ask.update;
    struct pawl_updated *updated = command->out.updated;
    bool is_over = pawl_task_state_is_terminal(task->state);
    updated->is_ignored = true;
    updated->lease = task->state == PAWL_TASK_CANCELLED             ? PAWL_LEASE_WORD_CANCEL
                     : sender == SENDER_STALE || update->extends_lease ? PAWL_LEASE_WORD_LOST
                                                                       : PAWL_LEASE_WORD_DONE;
    if (sender == SENDER_STALE && !is_over) return keep_late(step, command, epoch);
    return PAWL_OK;
}

static enum pawl_code update_loosely(struct pawl_step *step, struct pawl_command *command,
                                     struct pawl_entry *entry)
{
    const struct pawl_update *update = command->ask.update;
    const struct pawl_task_row *task = entry->row;
    struct pawl_str owner = pawl_worker_id(step, task->owner);
    int64_t epoch = 0;
    enum sender sender = find_sender(step, update, task, owner, &epoch);
    if (step->set.is_short) return PAWL_BUSY;
    bool is_over = pawl_task_state_is_terminal(task->state);
    bool extends_nothing = update->extends_lease && sender != SENDER_HOLDER;
    if (is_over || sender == SENDER_STALE || extends_nothing) {
        return ignore(step, command, task, sender, epoch);
    }
    bool is_held = task->state == PAWL_TASK_RUNNING;
    if (is_held && sender == SENDER_OUTSIDER) {
        pawl_task_raise_epoch(pawl_set_change(&step->set, entry)); /* its holder is to find out */
        task = entry->row;
    }
    const struct pawl_fence fence = {command->task_id, owner, task->epoch};
    if (update->extends_lease) return extend(step, command, task, &fence);
    enum pawl_code code = add_logs(step, command);
    if (code == PAWL_OK) code = apply(step, command, entry, is_held ? &fence : NULL);
    if (code == PAWL_OK && sender == SENDER_HOLDER) {
        command->out.updated->lease = PAWL_LEASE_WORD_DONE;
    }
    return code;
}

/* A task without a workflow is its own. */
static struct pawl_str workflow_id_of(struct pawl_step *step, const struct pawl_task_row *task)
{
    if (task->workflow == 0) return task->id;
    const struct pawl_entry *entry =
        pawl_set_look(&step->set, PAWL_LOOK_WORKFLOW, task->workflow, none, 0, 0);
    bool is_there = entry != NULL && entry->is_loaded && entry->row != NULL;
    return is_there ? ((const struct pawl_workflow_row *)entry->row)->id : none;
}

enum pawl_code pawl_rule_update(struct pawl_step *step, struct pawl_command *command)
{
    const struct pawl_update *update = command->ask.update;
    struct pawl_entry *entry;
    *command->out.updated = (struct pawl_updated){0};
    enum pawl_code code =
        command->task_id.len > 0
            ? pawl_task_find(step, command, command->task_id, &entry)
            : pawl_record_find_open(step, command, update->workflow_id, update->reference, &entry);
    if (code != PAWL_OK) return code;
    const struct pawl_task_row *task = entry->row;
    (void)pawl_queue_by_key(step, task->queue);
    if (update->workflow_id.len > 0 && !pawl_str_equal(update->workflow_id, workflow_id_of(step, task))) {
        if (step->set.is_short) return PAWL_BUSY;
        return pawl_error_set(&command->err, PAWL_NOT_FOUND, "no such workflow: %.*s",
                              PAWL_STR_ARG(update->workflow_id));
    }
    bool is_strict = update->epoch != 0;
    code = is_strict ? update_strictly(step, command, entry) : update_loosely(step, command, entry);
    if (step->set.is_short) return PAWL_BUSY;
    if (code != PAWL_OK) return code;
    tell(step, command, entry->row);
    return pawl_reply_code(command);
}

enum pawl_code pawl_rule_update_late(struct pawl_step *step, struct pawl_command *command)
{
    return keep_late(step, command, command->ask.update->epoch);
}
