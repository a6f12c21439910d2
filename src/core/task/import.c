/* Brings in tasks of another store: a piece of an import, which is one transaction of many pieces.
 * Rows are built as if they had come about here, so that every invariant holds: the rank, the count
 * of open dependencies, who blocks whom. Only what is past is taken over as it was: instants,
 * epochs, history.
 *
 * Nobody works on an imported task any more. A RUNNING one is fenced here: what is known to be
 * local is charged, and handed back or a dead letter, and what ran elsewhere waits for a person who
 * knows what became of it. */
#include "core/task/rule.h"

#include "base/error.h"
#include "base/instant.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/task/calendar.h"
#include "core/task/queue.h"
#include "core/task/retry.h"

#include <inttypes.h>

static const struct pawl_str none = {0};

static bool is_over_for_good(enum pawl_task_state state)
{
    return state == PAWL_TASK_COMPLETED || state == PAWL_TASK_CANCELLED;
}

/* ---- Looking ---- */

static enum pawl_code look_for_marker(struct pawl_step *step, struct pawl_command *command,
                                      const struct pawl_import_row *file)
{
    struct pawl_entry *entry = pawl_set_look(&step->set, PAWL_LOOK_IMPORT, 0, file->digest, 0, 0);
    if (entry == NULL || !entry->is_loaded || entry->row == NULL) return PAWL_OK;
    const struct pawl_import_row *row = entry->row;
    char at[PAWL_INSTANT_TEXT_BYTES_MAX + 1];
    pawl_instant_format(row->at_ms, at);
    return pawl_error_set(&command->err, PAWL_CONFLICT,
                          "%.*s has been imported already: %" PRId64 " tasks of %.*s, at %s",
                          PAWL_STR_ARG(file->name), row->task_count, PAWL_STR_ARG(row->name), at);
}

static void look_around(struct pawl_step *step, const struct pawl_import_task *from)
{
    (void)pawl_set_look(&step->set, PAWL_LOOK_TASK_ID, 0, from->id, 0, 0);
    (void)pawl_tombstone_find(step, from->id);
    (void)pawl_set_look(&step->set, PAWL_LOOK_AWAITED, 0, from->id, 0, PAWL_SLICE_ROWS_MAX);
    for (size_t i = 0; i < from->depends_on_count; i++) {
        struct pawl_entry *named =
            pawl_set_look(&step->set, PAWL_LOOK_TASK_ID, 0, from->depends_on[i], 0, 0);
        (void)pawl_tombstone_find(step, from->depends_on[i]);
        if (named == NULL || !named->is_loaded || named->row == NULL) continue;
        (void)pawl_set_task(&step->set, *(const int64_t *)named->row);
    }
}

/* The task with this id, stored or of this import; NULL if there is none. All has been looked at.
 */
static struct pawl_entry *find(struct pawl_step *step, struct pawl_str id)
{
    struct pawl_entry *named = pawl_set_look(&step->set, PAWL_LOOK_TASK_ID, 0, id, 0, 0);
    if (named == NULL || !named->is_loaded || named->row == NULL) return NULL;
    struct pawl_entry *entry = pawl_set_task(&step->set, *(const int64_t *)named->row);
    return entry == NULL || !entry->is_loaded || entry->row == NULL ? NULL : entry;
}

/* ---- Making ---- */

static void put(struct pawl_step *step, struct pawl_task_row *task, enum pawl_payload_kind kind,
                struct pawl_str body)
{
    if (body.len > 0) pawl_payload_put(step, task, kind, body);
}

static void add_payloads(struct pawl_step *step, struct pawl_task_row *task,
                         const struct pawl_import_task *from)
{
    put(step, task, PAWL_PAYLOAD_GOAL, from->goal);
    put(step, task, PAWL_PAYLOAD_METADATA, from->metadata);
    put(step, task, PAWL_PAYLOAD_RESULT, from->result);
    if (task->state != PAWL_TASK_COMPLETED) put(step, task, PAWL_PAYLOAD_ERROR, from->error);
    task->payload_bytes = (int64_t)(from->goal.len + from->metadata.len);
}

static void add_checkpoints(struct pawl_step *step, struct pawl_task_row *task,
                            const struct pawl_import_task *from)
{
    for (size_t i = 0; i < from->checkpoint_count; i++) {
        struct pawl_checkpoint_row *row = pawl_step_take(step, sizeof *row);
        if (row == NULL) return;
        const struct pawl_import_checkpoint *was = &from->checkpoints[i];
        *row = (struct pawl_checkpoint_row){.key = pawl_step_key(step),
                                            .task = task->key,
                                            .step = was->step,
                                            .epoch = task->epoch,
                                            .at_ms = was->at_ms == 0 ? step->now_ms : was->at_ms,
                                            .state = was->state};
        pawl_set_append(&step->set, PAWL_APPEND_CHECKPOINT, row);
        task->checkpoint_count++;
        task->checkpoint_bytes = (int64_t)row->state.len;
    }
}

static void add_history(struct pawl_step *step, struct pawl_task_row *task,
                        const struct pawl_import_task *from)
{
    for (size_t i = 0; i < from->event_count; i++) {
        const struct pawl_import_event *was = &from->events[i];
        struct pawl_event_new *event = pawl_step_take(step, sizeof *event);
        if (event == NULL) return;
        event->task = task;
        event->row = (struct pawl_event_row){.task = task->key,
                                             .sequence = was->sequence,
                                             .type = was->type,
                                             .at_ms = was->at_ms == 0 ? step->now_ms : was->at_ms,
                                             .state = was->state,
                                             .epoch = was->epoch,
                                             .progress = was->progress,
                                             .retries = was->retries,
                                             .next_retry_at_ms = was->next_retry_at_ms,
                                             .duration_ms = was->duration_ms,
                                             .cause = PAWL_CAUSE_IMPORTED,
                                             .note = was->note};
        pawl_set_append(&step->set, PAWL_APPEND_EVENT, event);
    }
    task->sequence = from->sequence;
    pawl_event_add(step, task, PAWL_EVENT_IMPORTED, PAWL_CAUSE_IMPORTED, none, from->note);
}

/* *ended is a dependency that can no longer complete by itself, or NULL. */
static void add_dependencies(struct pawl_step *step, struct pawl_task_row *task,
                             const struct pawl_import_task *from,
                             const struct pawl_task_row **ended)
{
    bool is_waiting = !is_over_for_good(from->state);
    for (size_t i = 0; i < from->depends_on_count; i++) {
        struct pawl_entry *on = find(step, from->depends_on[i]);
        const struct pawl_tombstone_row *gone =
            on == NULL ? pawl_tombstone_find(step, from->depends_on[i]) : NULL;
        if (gone != NULL && gone->state == PAWL_TASK_COMPLETED) {
            pawl_dependency_add(step, task, i, gone->key, none, false);
            continue;
        }
        if (on == NULL) {
            pawl_dependency_add(step, task, i, 0, from->depends_on[i], is_waiting);
            continue;
        }
        const struct pawl_task_row *found = on->row;
        bool is_open = is_waiting && found->state != PAWL_TASK_COMPLETED;
        if (is_open) {
            struct pawl_task_row *waited_for = pawl_set_change(&step->set, on);
            waited_for->has_dependents = true;
            waited_for->has_new_dependents = true;
        }
        if (is_open && pawl_task_has_ended_badly(found) && *ended == NULL) *ended = found;
        pawl_dependency_add(step, task, i, found->key, none, is_open);
    }
}

/* Whoever had it, in whatever process, is not heard any more. */
static void fence(struct pawl_step *step, struct pawl_entry *entry,
                  const struct pawl_import_task *from)
{
    struct pawl_task_row *task = entry->row;
    pawl_task_move(task, PAWL_TASK_RECOVERY_PENDING, PAWL_BY_ENGINE);
    pawl_task_touch(step, task);
    pawl_event_add(step, task, PAWL_EVENT_FENCED, PAWL_CAUSE_LEASE_ENDED, from->owner, none);
    if (from->is_remote) return;
    pawl_task_raise_epoch(task);
    pawl_task_touch(step, task);
    if (!pawl_task_charge_crash(step, entry, from->owner)) return;
    pawl_task_move(task, PAWL_TASK_QUEUED, PAWL_BY_ENGINE);
    pawl_event_add(step, task, PAWL_EVENT_RECOVERED, PAWL_CAUSE_RECOVERED, none, from->owner);
}

/* Its place in the queue, or beside it. What has waited there since it was created has waited since
 * then. */
static void settle(struct pawl_step *step, struct pawl_task_row *task,
                   const struct pawl_import_task *from, const struct pawl_task_row *ended)
{
    int64_t run_at_ms = from->run_at_ms == 0 ? 0 : pawl_calendar_at_ms(step, from->run_at_ms);
    bool is_deferred = run_at_ms > step->now_ms;
    bool is_waiting = task->state == PAWL_TASK_QUEUED || task->state == PAWL_TASK_PENDING;
    if (is_waiting && is_deferred) {
        task->ready_at_ms = run_at_ms;
        task->run_at_ms = from->run_at_ms;
    }
    if (task->state == PAWL_TASK_QUEUED) {
        bool has_waited = !is_deferred && task->open_dependencies == 0;
        if (has_waited && task->created_at_ms < step->now_ms)
            task->ready_at_ms = task->created_at_ms;
        pawl_task_offer(step, task);
    }
    if (ended != NULL && (is_waiting || task->state == PAWL_TASK_PAUSED)) {
        task->blocked_by = ended->key;
        pawl_task_touch(step, task);
        pawl_event_add(step, task, PAWL_EVENT_BLOCKED, PAWL_CAUSE_DEPENDENCY, none, ended->id);
    }
}

static void make_task(struct pawl_step *step, const struct pawl_import_task *from)
{
    struct pawl_entry *named = pawl_queue_need(step, pawl_queue_name(none));
    struct pawl_task_row *task = pawl_step_take(step, sizeof *task);
    if (named == NULL || task == NULL) return;
    const struct pawl_queue_row *queue = named->row;
    struct pawl_retry retry = {.max_retries = from->max_retries == 0 ? -1 : from->max_retries};
    int64_t updated_at_ms = from->updated_at_ms == 0 ? step->now_ms : from->updated_at_ms;
    *task = (struct pawl_task_row){
        .key = pawl_step_key(step),
        .id = from->id,
        .queue = queue->key,
        .state = from->state,
        .priority = from->priority,
        .rank = PAWL_RANK_NONE,
        .version = from->version,
        .epoch = from->epoch,
        .retry = pawl_retry_settle(&retry, &queue->retry),
        .retries = from->retries,
        .created_at_ms = from->created_at_ms == 0 ? step->now_ms : from->created_at_ms,
        .updated_at_ms = updated_at_ms,
        .finished_at_ms = pawl_task_state_is_terminal(from->state) ? updated_at_ms : 0,
        .progress = from->state == PAWL_TASK_COMPLETED ? 100.0 : from->progress,
        .progress_epoch = from->epoch,
        .title = from->title,
        .correlation_id = from->correlation_id,
    };
    pawl_set_put(&step->set, PAWL_LOOK_TASK, task->key, none, 0, task);
    pawl_set_know_key(&step->set, PAWL_LOOK_TASK_ID, task->id, task->key);
    add_payloads(step, task, from);
    add_checkpoints(step, task, from);
    add_history(step, task, from);
    const struct pawl_task_row *ended = NULL;
    add_dependencies(step, task, from, &ended);
    struct pawl_entry *entry = pawl_set_task(&step->set, task->key);
    if (entry == NULL) return;
    if (task->state == PAWL_TASK_RUNNING) fence(step, entry, from);
    settle(step, task, from, ended);
    pawl_awaited_meet(step, task);
    /* they are in the table, or will be: told after the commit */
    bool is_told = task->has_dependents && pawl_task_state_is_terminal(task->state);
    if (is_told) pawl_dependents_tell_later(step, task->key, 0);
}

enum pawl_code pawl_rule_import(struct pawl_step *step, struct pawl_command *command)
{
    const struct pawl_import_row *file = command->ask.import.file;
    struct pawl_import_task *tasks = command->ask.import.tasks;
    size_t count = command->ask.import.count;
    if (file != NULL) {
        enum pawl_code code = look_for_marker(step, command, file);
        if (code != PAWL_OK) return code;
    }
    (void)pawl_queue_key(step, pawl_queue_name(none));
    for (size_t i = 0; i < count; i++) look_around(step, &tasks[i]);
    if (step->set.is_short || step->set.is_full) return PAWL_BUSY;

    if (file != NULL) {
        struct pawl_import_row *row = pawl_step_take(step, sizeof *row);
        if (row == NULL) return PAWL_NO_MEMORY;
        *row = *file;
        row->at_ms = step->now_ms;
        pawl_set_put(&step->set, PAWL_LOOK_IMPORT, 0, file->digest, 0, row);
    }
    for (size_t i = 0; i < count; i++) {
        const struct pawl_entry *named =
            pawl_set_look(&step->set, PAWL_LOOK_TASK_ID, 0, tasks[i].id, 0, 0);
        if (named == NULL) return PAWL_NO_MEMORY;
        tasks[i].is_taken =
            named->row != NULL || named->is_bad || pawl_tombstone_find(step, tasks[i].id) != NULL;
        if (!tasks[i].is_taken) make_task(step, &tasks[i]);
        if (step->set.is_short || step->set.is_full) return PAWL_BUSY;
    }
    return PAWL_OK;
}
