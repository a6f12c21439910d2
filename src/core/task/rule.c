#include "core/task/rule.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/limits.h"
#include "core/task/calendar.h"
#include "core/task/gate.h"

#include <inttypes.h>

static const struct pawl_str none = {0};

static enum pawl_code unreadable(struct pawl_command *command, struct pawl_str id, int64_t key)
{
    if (id.len == 0) {
        return pawl_error_set(&command->err, PAWL_CORRUPT,
                              "the task with key %" PRId64 " cannot be read; its row has been set aside", key);
    }
    return pawl_error_set(&command->err, PAWL_CORRUPT,
                          "task %.*s cannot be read; its row has been set aside", PAWL_STR_ARG(id));
}

enum pawl_code pawl_task_find_key(struct pawl_step *step, struct pawl_command *command, int64_t key,
                                  struct pawl_entry **out)
{
    struct pawl_entry *entry = pawl_set_task(&step->set, key);
    if (entry == NULL || !entry->is_loaded) return PAWL_BUSY; /* full or short */
    const struct pawl_task_row *task = entry->row;
    if (task == NULL && entry->is_bad) return unreadable(command, none, key);
    if (task == NULL) return pawl_error_set(&command->err, PAWL_NOT_FOUND, "no such task");
    if (task->due_at_ms != 0 && task->due_at_ms <= step->now_ms &&
        command->kind != PAWL_COMMAND_DUE) {
        step->set.is_short = true; /* the engine runs what is due of it first */
        return PAWL_BUSY;
    }
    *out = entry;
    return PAWL_OK;
}

enum pawl_code pawl_task_find(struct pawl_step *step, struct pawl_command *command, struct pawl_str id,
                              struct pawl_entry **out)
{
    struct pawl_entry *named = pawl_set_look(&step->set, PAWL_LOOK_TASK_ID, 0, id, 0, 0);
    if (named == NULL || !named->is_loaded) return PAWL_BUSY;
    const int64_t *key = named->row;
    if (key == NULL && named->is_bad) return unreadable(command, id, 0);
    enum pawl_code code =
        key == NULL ? PAWL_NOT_FOUND : pawl_task_find_key(step, command, *key, out);
    if (code != PAWL_NOT_FOUND) return code;
    const struct pawl_tombstone_row *gone = pawl_tombstone_find(step, id);
    if (gone == NULL) return pawl_error_set(&command->err, code, "no such task: %.*s", PAWL_STR_ARG(id));
    return pawl_error_set(&command->err, code, "no such task: %.*s ended as %s and was removed since",
                          PAWL_STR_ARG(id), pawl_task_state_name(gone->state));
}

enum pawl_code pawl_task_find_own(struct pawl_step *step, struct pawl_command *command,
                                  struct pawl_entry **out)
{
    enum pawl_code code = pawl_task_find(step, command, command->task_id, out);
    if (code != PAWL_OK) return code;
    const struct pawl_task_row *task = (*out)->row;
    /* who has lost the task is told so first: that is what makes his outcome a late one */
    if (command->has_fence && !pawl_fence_holds(step, &command->fence, task)) return PAWL_OK;
    if (command->expected_version == 0 || command->expected_version == task->version) return PAWL_OK;
    /* what was accepted may be said again, though its first saying has moved the version on */
    if (pawl_outcome_is_repeat(command, task)) return PAWL_OK;
    return pawl_error_set(&command->err, PAWL_CONFLICT,
                          "task %.*s is at version %" PRId64 ", not %" PRId64,
                          PAWL_STR_ARG(task->id), task->version, command->expected_version);
}

int64_t pawl_worker_key(struct pawl_step *step, struct pawl_str id)
{
    return pawl_set_key(&step->set, PAWL_LOOK_WORKER_ID, id);
}

struct pawl_str pawl_worker_id(struct pawl_step *step, int64_t key)
{
    if (key == 0) return none;
    struct pawl_entry *entry = pawl_set_look(&step->set, PAWL_LOOK_WORKER, key, none, 0, 0);
    if (entry == NULL || !entry->is_loaded || entry->row == NULL) return none;
    return ((const struct pawl_worker_row *)entry->row)->id;
}

bool pawl_fence_holds(struct pawl_step *step, const struct pawl_fence *fence,
                      const struct pawl_task_row *task)
{
    if (task->state != PAWL_TASK_RUNNING || task->epoch != fence->epoch) return false;
    if (step->now_ms >= task->lease_end_at_ms) return false;
    return pawl_worker_key(step, fence->owner) == task->owner;
}

static enum pawl_code lease_lost(struct pawl_command *command, const struct pawl_task_row *task)
{
    return pawl_error_set(&command->err, PAWL_LEASE_LOST,
                          "task %.*s: epoch %" PRId64
                          " holds no lease any more (it is %s at epoch %" PRId64 ")",
                          PAWL_STR_ARG(task->id), command->fence.epoch,
                          pawl_task_state_name(task->state), task->epoch);
}

enum pawl_code pawl_task_guard(struct pawl_step *step, struct pawl_command *command,
                               const struct pawl_task_row *task)
{
    if (command->has_fence) {
        if (pawl_fence_holds(step, &command->fence, task)) return PAWL_OK;
        return lease_lost(command, task);
    }
    if (task->state != PAWL_TASK_RUNNING) return PAWL_OK;
    return pawl_error_set(&command->err, PAWL_LEASE_LOST,
                          "task %.*s is running under a lease; only its holder may do this",
                          PAWL_STR_ARG(task->id));
}

enum pawl_code pawl_task_find_fenced(struct pawl_step *step, struct pawl_command *command,
                                     struct pawl_entry **out, bool *is_done)
{
    *is_done = false;
    enum pawl_code code = pawl_task_find_own(step, command, out);
    if (code != PAWL_OK || !command->has_fence) return code;
    *is_done = pawl_outcome_is_repeat(command, (*out)->row);
    if (*is_done) return PAWL_OK;
    code = pawl_task_guard(step, command, (*out)->row);
    return step->set.is_short ? PAWL_BUSY : code;
}

enum pawl_code pawl_state_error(struct pawl_command *command, const struct pawl_task_row *task,
                                const char *verb)
{
    return pawl_error_set(&command->err, PAWL_STATE, "cannot %s task %.*s: it is %s", verb,
                          PAWL_STR_ARG(task->id), pawl_task_state_name(task->state));
}

void pawl_task_touch(struct pawl_step *step, struct pawl_task_row *task)
{
    task->version++;
    task->updated_at_ms = step->now_ms;
}

struct pawl_str pawl_command_actor(const struct pawl_command *command)
{
    return command->has_fence ? command->fence.owner : command->actor;
}

/* Where an attempt ends, the event tells how long it took. */
static int64_t attempt_ms(const struct pawl_step *step, const struct pawl_task_row *task,
                          enum pawl_event_type type)
{
    switch (type) {
    case PAWL_EVENT_COMPLETED:
    case PAWL_EVENT_RETRY_SCHEDULED:
    case PAWL_EVENT_DEAD_LETTERED:
    case PAWL_EVENT_FENCED:
        return task->started_at_ms == 0 ? 0 : step->now_ms - task->started_at_ms;
    default:
        return 0;
    }
}

struct pawl_event_new *pawl_event_add(struct pawl_step *step, struct pawl_task_row *task,
                                      enum pawl_event_type type, enum pawl_event_cause cause,
                                      struct pawl_str actor, struct pawl_str note)
{
    struct pawl_event_new *event = pawl_step_take(step, sizeof *event);
    if (event == NULL) return NULL;
    task->sequence++;
    *event = (struct pawl_event_new){.task = task, .waited_ms = -1};
    event->row = (struct pawl_event_row){
        .task = task->key,
        .sequence = task->sequence,
        .type = type,
        .at_ms = step->now_ms,
        .state = task->state,
        .epoch = task->epoch,
        .version = task->version,
        .progress = task->progress,
        .retries = task->retries,
        .next_retry_at_ms = task->ready_at_ms,
        .duration_ms = attempt_ms(step, task, type),
        .cause = cause,
        .actor = actor,
        .note = pawl_utf8_cut_points(note, PAWL_EVENT_NOTE_POINTS),
    };
    pawl_set_append(&step->set, PAWL_APPEND_EVENT, event);

    /* every so often a long history is cut: what all consumers have passed, but for the newest */
    if (task->sequence > PAWL_EVENTS_KEPT && task->sequence % (PAWL_EVENTS_KEPT / 4) == 0) {
        (void)pawl_continuation_add(
            step, &(struct pawl_continuation_row){.kind = PAWL_CONTINUE_PRUNE, .task = task->key});
    }
    return event;
}

void pawl_payload_put(struct pawl_step *step, struct pawl_task_row *task, enum pawl_payload_kind kind,
                      struct pawl_str body)
{
    struct pawl_str *row = pawl_step_take(step, sizeof *row);
    if (row == NULL) return;
    *row = body;
    task->payloads |= 1u << kind;
    pawl_set_put(&step->set, PAWL_LOOK_PAYLOAD, task->key * PAWL_PAYLOAD_KINDS_MAX + kind, none, 0, row);
}

void pawl_payload_drop(struct pawl_step *step, struct pawl_task_row *task, enum pawl_payload_kind kind)
{
    if ((task->payloads & (1u << kind)) == 0) return;
    task->payloads &= ~(1u << kind);
    pawl_set_put(&step->set, PAWL_LOOK_PAYLOAD, task->key * PAWL_PAYLOAD_KINDS_MAX + kind, none, 0,
                 NULL);
}

struct pawl_str pawl_payload_look(struct pawl_step *step, const struct pawl_task_row *task,
                                  enum pawl_payload_kind kind)
{
    if ((task->payloads & (1u << kind)) == 0) return none;
    struct pawl_entry *entry = pawl_set_look(&step->set, PAWL_LOOK_PAYLOAD,
                                             task->key * PAWL_PAYLOAD_KINDS_MAX + kind, none, 0, 0);
    if (entry == NULL || !entry->is_loaded || entry->row == NULL) return none;
    return *(const struct pawl_str *)entry->row;
}

void pawl_lease_clear(struct pawl_step *step, struct pawl_task_row *task)
{
    pawl_gate_leave(step, task);
    task->lease_kind = PAWL_LEASE_NONE;
    task->lease_place = none;
    task->owner = 0;
    task->lease_ms = 0;
    task->lease_end_at_ms = 0;
    task->attempt_end_at_ms = 0;
    task->control = PAWL_CONTROL_NONE;
    task->control_deadline_at_ms = 0;
    pawl_payload_drop(step, task, PAWL_PAYLOAD_CONTROL_REASON);
    pawl_payload_drop(step, task, PAWL_PAYLOAD_RECOVERY_NOTE);
}

int64_t pawl_lease_end(const struct pawl_step *step, const struct pawl_task_row *task, int64_t lease_ms)
{
    int64_t end = step->now_ms + lease_ms;
    bool is_cut = task->attempt_end_at_ms != 0 && task->attempt_end_at_ms < end;
    return is_cut ? task->attempt_end_at_ms : end;
}

int64_t pawl_request_due(const struct pawl_task_row *task)
{
    /* whatever touches a row has run first what was due of it: a deadline that is not later was told of */
    return task->updated_at_ms < task->control_deadline_at_ms ? task->control_deadline_at_ms : 0;
}

int64_t pawl_lease_due(const struct pawl_task_row *task)
{
    int64_t due = task->lease_end_at_ms;
    if (task->attempt_end_at_ms != 0 && task->attempt_end_at_ms < due) due = task->attempt_end_at_ms;
    int64_t deadline = pawl_request_due(task);
    return deadline != 0 && deadline < due ? deadline : due;
}

void pawl_task_complete_progress(struct pawl_task_row *task)
{
    task->progress = 100.0;
    task->progress_epoch = task->epoch;
}

void pawl_task_withdraw(struct pawl_task_row *task)
{
    task->rank = PAWL_RANK_NONE;
    task->due_at_ms = 0;
    task->ready_at_ms = 0;
    task->run_at_ms = 0;
}

void pawl_task_offer(struct pawl_step *step, struct pawl_task_row *task)
{
    pawl_assert(task->state == PAWL_TASK_QUEUED);
    task->due_at_ms = 0;
    if (task->rank != PAWL_RANK_NONE) return; /* it keeps its place */
    (void)pawl_calendar_refresh(step, task);
    if (task->open_dependencies > 0) return;
    if (task->ready_at_ms > step->now_ms) {
        task->due_at_ms = task->ready_at_ms;
        return;
    }
    int64_t since = task->ready_at_ms != 0 ? task->ready_at_ms : step->now_ms;
    task->rank = pawl_rank_make(task->priority, since);
    task->run_at_ms = 0;
    pawl_step_offer(step, task->queue, false);
}

/* It waits for nobody any more, and is not told: those it waited for need not stay for it. */
static void close_dependencies(struct pawl_step *step, struct pawl_task_row *task)
{
    bool is_over = task->state == PAWL_TASK_COMPLETED || task->state == PAWL_TASK_CANCELLED;
    if (!is_over || task->open_dependencies == 0) return;
    int64_t *key = pawl_step_take(step, sizeof *key);
    if (key == NULL) return;
    *key = task->key;
    task->open_dependencies = 0;
    pawl_set_append(&step->set, PAWL_APPEND_DEPENDENCIES_DONE, key);
}

void pawl_task_finish(struct pawl_step *step, struct pawl_entry *entry, enum pawl_event_type type,
                      enum pawl_event_cause cause, struct pawl_str actor, struct pawl_str note)
{
    struct pawl_task_row *task = entry->row;
    pawl_assert(pawl_task_state_is_terminal(task->state));
    pawl_task_withdraw(task);
    task->finished_at_ms = step->now_ms;
    task->blocked_by = 0;
    close_dependencies(step, task);
    pawl_event_add(step, task, type, cause, actor, note);
    pawl_dependents_tell(step, entry);
}

void pawl_task_raise_epoch(struct pawl_task_row *task)
{
    pawl_assert(task->epoch < INT64_MAX);
    task->epoch++;
}

static int64_t later(int64_t now_ms, int64_t delay_ms)
{
    pawl_assert(delay_ms >= 0 && delay_ms <= PAWL_DELAY_MS_MAX);
    return delay_ms == 0 ? 0 : now_ms + delay_ms;
}

enum pawl_task_state pawl_task_return(struct pawl_step *step, struct pawl_entry *entry, int64_t delay_ms,
                                      enum pawl_mover by)
{
    struct pawl_task_row *task = entry->row;
    enum pawl_control control = task->control;
    struct pawl_str reason = pawl_payload_look(step, task, PAWL_PAYLOAD_CONTROL_REASON);
    pawl_lease_clear(step, task);
    switch (control) {
    case PAWL_CONTROL_NONE:
        pawl_task_move(task, PAWL_TASK_QUEUED, by);
        task->ready_at_ms = later(step->now_ms, delay_ms);
        pawl_task_offer(step, task);
        return PAWL_TASK_QUEUED;
    case PAWL_CONTROL_PAUSE:
        pawl_task_move(task, PAWL_TASK_PAUSED, by);
        pawl_task_withdraw(task);
        pawl_event_add(step, task, PAWL_EVENT_PAUSED, PAWL_CAUSE_CONTROL, none, reason);
        return PAWL_TASK_PAUSED;
    case PAWL_CONTROL_CANCEL:
        pawl_task_move(task, PAWL_TASK_CANCELLED, by);
        pawl_task_finish(step, entry, PAWL_EVENT_CANCELLED, PAWL_CAUSE_CONTROL, none, reason);
        return PAWL_TASK_CANCELLED;
    }
    pawl_assert(false);
    return task->state;
}

int64_t pawl_continuation_add(struct pawl_step *step, const struct pawl_continuation_row *row)
{
    struct pawl_continuation_row *made = pawl_step_take(step, sizeof *made);
    if (made == NULL) return 0;
    *made = *row;
    made->key = pawl_step_key(step);
    pawl_set_put(&step->set, PAWL_LOOK_CONTINUATION, made->key, none, 0, made);
    /* housekeeping is nobody's to wait for */
    bool is_awaited = made->kind != PAWL_CONTINUE_PRUNE && made->kind != PAWL_CONTINUE_CALENDAR;
    if (is_awaited && !pawl_append_add(&step->caused, step->set.arena, &made->key)) {
        step->set.is_full = true;
    }
    return made->key;
}

struct pawl_str pawl_reply_copy(struct pawl_command *command, struct pawl_str text)
{
    return text.len == 0 ? none : pawl_arena_copy(command->keep, text);
}

enum pawl_code pawl_reply_code(struct pawl_command *command)
{
    enum pawl_code code = pawl_arena_code(command->keep);
    if (code == PAWL_OK) return PAWL_OK;
    return pawl_error_set(&command->err, code, "the answer does not fit in the caller's arena");
}
