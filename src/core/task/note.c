/* What a worker says on the way: progress, checkpoints, log lines. None of it makes history. */
#include "core/task/rule.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"

static const struct pawl_str none = {0};

/* Finds the task and looks whether the command may write to it on its way. */
static enum pawl_code find_open(struct pawl_step *step, struct pawl_command *command, const char *verb,
                                struct pawl_entry **out)
{
    enum pawl_code code = pawl_task_find_own(step, command, out);
    if (code != PAWL_OK) return code;
    const struct pawl_task_row *task = (*out)->row;
    code = pawl_task_guard(step, command, task);
    if (code != PAWL_OK) return code;
    switch (task->state) {
    case PAWL_TASK_PENDING:
    case PAWL_TASK_QUEUED:
    case PAWL_TASK_RUNNING:
    case PAWL_TASK_PAUSED:
        return PAWL_OK;
    case PAWL_TASK_RECOVERY_PENDING:
    case PAWL_TASK_COMPLETED:
    case PAWL_TASK_FAILED:
    case PAWL_TASK_CANCELLED:
    case PAWL_TASK_DEAD_LETTER:
        break;
    }
    return pawl_state_error(command, task, verb);
}

enum pawl_code pawl_rule_progress(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    enum pawl_code code = find_open(step, command, "report progress of", &entry);
    if (code != PAWL_OK || step->set.is_short) return code;
    double percent = command->ask.percent;
    if (percent < 0.0) percent = 0.0;
    if (percent > 100.0) percent = 100.0;
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    /* a second report within the same second is kept, but not told of */
    bool is_news = percent < task->progress || percent > task->progress;
    bool is_told = is_news && (task->progress_event_at_ms == 0 ||
                               step->now_ms - task->progress_event_at_ms >= PAWL_PROGRESS_EVENT_MS);
    task->progress = percent;
    task->progress_epoch = task->epoch;
    pawl_task_touch(step, task);
    if (!is_told) return PAWL_OK;
    task->progress_event_at_ms = step->now_ms;
    pawl_event_add(step, task, PAWL_EVENT_PROGRESS, PAWL_CAUSE_NONE, pawl_command_actor(command),
                   command->reason);
    return PAWL_OK;
}

enum pawl_code pawl_rule_checkpoint(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    enum pawl_code code = find_open(step, command, "checkpoint", &entry);
    if (code != PAWL_OK || step->set.is_short) return code;
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    struct pawl_checkpoint_row *row = pawl_step_take(step, sizeof *row);
    if (row == NULL) return PAWL_NO_MEMORY;
    *row = (struct pawl_checkpoint_row){.key = pawl_step_key(step),
                                        .task = task->key,
                                        .step = command->ask.checkpoint.step,
                                        .epoch = task->epoch,
                                        .at_ms = step->now_ms,
                                        .state = command->ask.checkpoint.state};
    command->made = row->key;
    pawl_set_append(&step->set, PAWL_APPEND_CHECKPOINT, row);
    pawl_set_know(&step->set, PAWL_LOOK_CHECKPOINT, task->key, none, row);
    task->checkpoint_bytes = (int64_t)row->state.len;
    task->checkpoint_count++;
    if (task->checkpoint_count > PAWL_CHECKPOINTS_KEPT) {
        int64_t *prune = pawl_step_take(step, sizeof *prune);
        if (prune == NULL) return PAWL_NO_MEMORY;
        *prune = task->key;
        pawl_set_append(&step->set, PAWL_APPEND_CHECKPOINT_PRUNE, prune);
        task->checkpoint_count--;
    }
    pawl_task_touch(step, task);
    return PAWL_OK;
}

/* Deletes the oldest lines until `bytes` more fit. Lines of this very step are not in the list; they are
 * young, and the next line makes up for it. */
static void make_room(struct pawl_step *step, struct pawl_task_row *task, struct pawl_rows *oldest,
                      int64_t bytes)
{
    while (oldest->next < oldest->count && task->log_bytes + bytes > PAWL_LOG_BYTES_KEPT) {
        const struct pawl_log_row *row =
            &((const struct pawl_log_row *)oldest->rows)[oldest->next++];
        int64_t *prune = pawl_step_take(step, sizeof *prune);
        if (prune == NULL) return;
        *prune = row->key;
        pawl_set_append(&step->set, PAWL_APPEND_LOG_PRUNE, prune);
        task->log_bytes -= (int64_t)row->text.len + PAWL_LOG_ROW_BYTES;
    }
}

enum pawl_code pawl_rule_log(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    enum pawl_code code = pawl_task_find_own(step, command, &entry);
    if (code != PAWL_OK) return code;
    const struct pawl_task_row *before = entry->row;
    bool is_late = command->takes_ended && pawl_task_state_is_terminal(before->state);
    if (command->has_fence || (before->state != PAWL_TASK_RUNNING && !is_late)) {
        code = find_open(step, command, "log to", &entry);
        if (code != PAWL_OK) return code;
    }
    int64_t bytes = (int64_t)command->ask.line.len + PAWL_LOG_ROW_BYTES;
    struct pawl_rows *oldest = NULL;
    if (before->log_bytes + bytes > PAWL_LOG_BYTES_KEPT) {
        struct pawl_entry *list = pawl_set_look(&step->set, PAWL_LOOK_LOG_OLDEST, before->key, none, 0,
                                                PAWL_LOG_ROWS_DROPPED_MAX);
        if (list == NULL || !list->is_loaded) return PAWL_BUSY;
        oldest = list->row;
    }
    if (step->set.is_short) return PAWL_BUSY;
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    if (oldest != NULL) make_room(step, task, oldest, bytes);
    struct pawl_log_row *row = pawl_step_take(step, sizeof *row);
    if (row == NULL) return PAWL_NO_MEMORY;
    *row = (struct pawl_log_row){.key = pawl_step_key(step),
                                 .task = task->key,
                                 .epoch = task->epoch,
                                 .at_ms = step->now_ms,
                                 .text = command->ask.line};
    task->log_bytes += bytes;
    pawl_set_append(&step->set, PAWL_APPEND_LOG, row);
    return PAWL_OK;
}
