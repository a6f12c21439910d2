/* What is said of a workflow's task: by its holder, by whoever else may, and in the words of other
 * tasks. What follows is decided in the same step. */
#include "core/workflow/decision.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/workflow/overlay.h"

static bool is_over(const struct pawl_decision *d, const struct pawl_record_row *record)
{
    return pawl_record_status_is_terminal(record->status) || record->run != d->workflow->run ||
           pawl_workflow_state_is_terminal(d->workflow->state);
}

/* The output as it is to be; an empty one is none. */
static struct pawl_str output_of(struct pawl_decision *d, const struct pawl_task_row *task,
                                 const struct pawl_record_word *word)
{
    if (!word->merges_output) return word->output;
    struct pawl_str before = pawl_payload_look(d->step, task, PAWL_PAYLOAD_RESULT);
    return pawl_overlay(before, word->output, d->step->set.arena);
}

static void put_text(struct pawl_step *step, struct pawl_task_row *task,
                     enum pawl_payload_kind kind, struct pawl_str text)
{
    if (text.len > 0) {
        pawl_payload_put(step, task, kind, text);
    } else {
        pawl_payload_drop(step, task, kind);
    }
}

/* It goes on: offered again if workers do it, else as it was. */
static void go_on(struct pawl_decision *d, struct pawl_entry *entry, struct pawl_entry *task_entry,
                  const struct pawl_record_word *word, struct pawl_str output,
                  struct pawl_str actor)
{
    const struct pawl_record_row *record = entry->row;
    struct pawl_task_row *task = pawl_set_change(&d->step->set, task_entry);
    if (!word->keeps_output || output.len > 0) put_text(d->step, task, PAWL_PAYLOAD_RESULT, output);
    put_text(d->step, task, PAWL_PAYLOAD_ERROR, word->reason);
    if (!pawl_node_type_is_polled(d->definition->nodes[record->node].type)) {
        ((struct pawl_record_row *)pawl_set_change(&d->step->set, entry))->callback_after_s =
            word->callback_after_s;
        pawl_task_touch(d->step, task);
        return;
    }
    pawl_record_offer(d, entry, word->callback_after_s);
    bool is_later = word->callback_after_s > 0;
    pawl_event_add(d->step, task, is_later ? PAWL_EVENT_YIELDED : PAWL_EVENT_RELEASED,
                   is_later ? PAWL_CAUSE_YIELDED : PAWL_CAUSE_RELEASED, actor, word->reason);
}

enum pawl_code pawl_record_hear(struct pawl_step *step, struct pawl_command *command,
                                struct pawl_entry *task_entry, const struct pawl_record_word *word,
                                bool *is_ignored)
{
    struct pawl_decision d;
    const struct pawl_task_row *task = task_entry->row;
    enum pawl_code code = pawl_decision_open(step, command, task->workflow, &d);
    struct pawl_entry *entry = pawl_record_find(step, task->key);
    struct pawl_str owner = pawl_worker_id(step, task->owner);
    if (code != PAWL_OK || step->set.is_short) return code == PAWL_OK ? PAWL_BUSY : code;
    if (entry == NULL) {
        return pawl_error_set(&command->err, PAWL_CORRUPT, "task %.*s: its record is missing",
                              PAWL_STR_ARG(task->id));
    }
    *is_ignored = is_over(&d, entry->row);
    if (*is_ignored) return PAWL_OK;
    d.retry_after_ms = word->retry_after_ms;
    struct pawl_str output = output_of(&d, task, word);
    if (step->set.is_short) return PAWL_BUSY;
    struct pawl_record_end how = {
        .status = word->status, .reason = word->reason, .output = output, .cause = word->cause};
    if (output.len > PAWL_PAYLOAD_BYTES_MAX) {
        how = (struct pawl_record_end){
            .status = PAWL_RECORD_FAILED_WITH_TERMINAL_ERROR,
            .reason = pawl_arena_format(step->set.arena, "the output has %zu bytes; at most %d",
                                        output.len, PAWL_PAYLOAD_BYTES_MAX),
            .output = PAWL_STR("{}")};
    }
    pawl_decision_begin(&d);
    struct pawl_record_row *record = pawl_set_change(&step->set, entry);
    record->worker = word->is_holders && owner.len > 0 ? owner : word->worker;
    how.actor = record->worker;
    if (!word->is_holders && task->state == PAWL_TASK_RUNNING) {
        pawl_task_raise_epoch(
            pawl_set_change(&step->set, task_entry)); /* so its holder learns of it */
    }
    if (how.status == PAWL_RECORD_IN_PROGRESS) {
        go_on(&d, entry, task_entry, word, output, record->worker);
    } else {
        pawl_record_end(&d, entry, &how);
        pawl_todo_push(&d, PAWL_TODO_ENDED, record->task, PAWL_FLOW_SUCCESSOR);
    }
    return pawl_decide(&d);
}

/* ---- Native commands ---- */

/* A result that is no object is put into one. */
static struct pawl_str object_of(struct pawl_step *step, struct pawl_str result)
{
    if (result.len == 0 || pawl_overlay_is_object(result)) return result;
    return pawl_arena_format(step->set.arena, "{\"result\":%.*s}", PAWL_STR_ARG(result));
}

enum pawl_code pawl_record_outcome(struct pawl_step *step, struct pawl_command *command,
                                   struct pawl_entry *task)
{
    struct pawl_record_word word = {.worker = pawl_command_actor(command),
                                    .is_holders = command->has_fence,
                                    .keeps_output = true};
    bool is_ignored = false;
    switch ((int)command->kind) {
    case PAWL_COMMAND_COMPLETE:
        word.status = PAWL_RECORD_COMPLETED;
        word.output = object_of(step, command->ask.result);
        break;
    case PAWL_COMMAND_FAIL:
        word.status = command->ask.failure.is_final ? PAWL_RECORD_FAILED_WITH_TERMINAL_ERROR
                                                    : PAWL_RECORD_FAILED;
        word.reason = command->ask.failure.error;
        word.retry_after_ms = command->ask.failure.retry_after_ms;
        break;
    case PAWL_COMMAND_RELEASE:
        word.status = PAWL_RECORD_IN_PROGRESS;
        word.callback_after_s = (command->ask.delay_ms + 999) / 1000;
        break;
    case PAWL_COMMAND_CANCEL:
        word.status = PAWL_RECORD_CANCELED;
        word.reason = command->reason;
        break;
    default:
        return pawl_state_error(command, task->row, "do this to");
    }
    enum pawl_code code = pawl_record_hear(step, command, task, &word, &is_ignored);
    if (code != PAWL_OK || step->set.is_short) return code;
    if (is_ignored) return pawl_state_error(command, task->row, "end");
    if (command->has_fence) pawl_outcome_accept(pawl_set_change(&step->set, task), command);
    return PAWL_OK;
}

/* ---- Updates ---- */

static const enum pawl_record_status statuses[] = {
    [PAWL_UPDATE_IN_PROGRESS] = PAWL_RECORD_IN_PROGRESS,
    [PAWL_UPDATE_COMPLETED] = PAWL_RECORD_COMPLETED,
    [PAWL_UPDATE_FAILED] = PAWL_RECORD_FAILED,
    [PAWL_UPDATE_FAILED_WITH_TERMINAL_ERROR] = PAWL_RECORD_FAILED_WITH_TERMINAL_ERROR,
    [PAWL_UPDATE_CANCELED] = PAWL_RECORD_CANCELED,
};

enum pawl_code pawl_record_update(struct pawl_step *step, struct pawl_command *command,
                                  struct pawl_entry *task, bool is_holders)
{
    const struct pawl_update *update = command->ask.update;
    struct pawl_record_word word = {.status = statuses[update->status],
                                    .output = update->output,
                                    .merges_output = update->merges_output,
                                    .reason = update->reason,
                                    .callback_after_s = (update->callback_after_ms + 999) / 1000,
                                    .worker = update->worker_id,
                                    .is_holders = is_holders};
    return pawl_record_hear(step, command, task, &word, &command->out.updated->is_ignored);
}

void pawl_record_keep_output(struct pawl_step *step, struct pawl_entry *task,
                             struct pawl_str output)
{
    bool is_new = output.len > 0 && !pawl_str_equal(pawl_str_trim(output), PAWL_STR("{}"));
    if (is_new)
        pawl_payload_put(step, pawl_set_change(&step->set, task), PAWL_PAYLOAD_RESULT, output);
}

/* The newest attempt of a reference, as long as it is open. */
enum pawl_code pawl_record_find_open(struct pawl_step *step, struct pawl_command *command,
                                     struct pawl_str workflow_id, struct pawl_str reference,
                                     struct pawl_entry **out)
{
    struct pawl_decision d;
    int64_t key = pawl_set_key(&step->set, PAWL_LOOK_WORKFLOW_ID, workflow_id);
    if (step->set.is_short) return PAWL_BUSY;
    if (key == 0) {
        return pawl_error_set(&command->err, PAWL_NOT_FOUND, "No such workflow: %.*s",
                              PAWL_STR_ARG(workflow_id));
    }
    enum pawl_code code = pawl_decision_open(step, command, key, &d);
    if (code != PAWL_OK) return code;
    const struct pawl_entry *record = pawl_record_latest(&d, reference);
    if (step->set.is_short) return PAWL_BUSY;
    if (record == NULL || is_over(&d, record->row)) {
        return pawl_error_set(&command->err, PAWL_NOT_FOUND,
                              "No such task: %.*s of workflow %.*s is not open",
                              PAWL_STR_ARG(reference), PAWL_STR_ARG(workflow_id));
    }
    return pawl_task_find_key(step, command, ((const struct pawl_record_row *)record->row)->task,
                              out);
}
