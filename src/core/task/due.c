/* What comes due: lease ends, attempt time-outs, deadlines of requests, deferrals; and continuations. */
#include "core/task/rule.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/task/calendar.h"
#include "core/task/queue.h"
#include "core/workflow/again.h"

static const struct pawl_str none = {0};

static void end_attempt(struct pawl_step *step, struct pawl_entry *entry)
{
    const struct pawl_task_row *before = entry->row;
    if (before->lease_kind == PAWL_LEASE_SUPERVISED) {
        pawl_lease_fence(step, entry, PAWL_CAUSE_TIMED_OUT); /* its work has to stop before it is charged */
        return;
    }
    struct pawl_str owner = pawl_worker_id(step, before->owner);
    (void)pawl_payload_look(step, before, PAWL_PAYLOAD_CONTROL_REASON);
    if (step->set.is_short) return;
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    pawl_task_raise_epoch(task);
    pawl_task_touch(step, task);
    pawl_task_charge_timeout(step, entry, owner);
}

/* Pausing is never forced: that it was not answered in time is told, once, and the request stays. */
static void end_request(struct pawl_step *step, struct pawl_entry *entry)
{
    const struct pawl_task_row *before = entry->row;
    struct pawl_str reason = pawl_payload_look(step, before, PAWL_PAYLOAD_CONTROL_REASON);
    if (step->set.is_short) return;
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    pawl_task_touch(step, task);
    if (task->control != PAWL_CONTROL_CANCEL) {
        pawl_event_add(step, task, PAWL_EVENT_UNANSWERED, PAWL_CAUSE_PAUSE, none, reason);
        return;
    }
    pawl_task_move(task, PAWL_TASK_CANCELLED, PAWL_BY_ENGINE);
    pawl_task_raise_epoch(task);
    pawl_lease_clear(step, task);
    pawl_task_finish(step, entry, PAWL_EVENT_CANCELLED, PAWL_CAUSE_FORCED, none, reason);
}

static void end_deferral(struct pawl_step *step, struct pawl_task_row *task)
{
    if (pawl_calendar_refresh(step, task)) pawl_task_touch(step, task);
    pawl_task_offer(step, task);
}

static bool is_over(int64_t at_ms, int64_t now_ms)
{
    return at_ms != 0 && at_ms <= now_ms;
}

/* Of several instants that have passed the earliest counts, as if it had been met in time. */
static void look_at_lease(struct pawl_step *step, struct pawl_entry *entry)
{
    const struct pawl_task_row *task = entry->row;
    int64_t due = pawl_lease_due(task);
    if (due > step->now_ms) return;
    if (pawl_request_due(task) == due) {
        end_request(step, entry);
    } else if (task->attempt_end_at_ms == due) {
        end_attempt(step, entry);
    } else {
        pawl_lease_fence(step, entry, PAWL_CAUSE_LEASE_ENDED);
    }
}

enum pawl_code pawl_rule_due(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    enum pawl_code code = pawl_task_find_key(step, command, command->number, &entry);
    if (code != PAWL_OK) return code;
    const struct pawl_task_row *task = entry->row;
    command->late_ms = is_over(task->due_at_ms, step->now_ms) ? step->now_ms - task->due_at_ms : -1;
    if (task->workflow != 0) return is_over(task->due_at_ms, step->now_ms) ? pawl_record_due(step, command, entry) : PAWL_OK;
    while (is_over(task->due_at_ms, step->now_ms) && !step->set.is_short && !step->set.is_full) {
        switch (task->state) {
        case PAWL_TASK_RUNNING:
            look_at_lease(step, entry);
            break;
        case PAWL_TASK_QUEUED:
            end_deferral(step, pawl_set_change(&step->set, entry));
            break;
        case PAWL_TASK_RECOVERY_PENDING:
            pawl_recovery_look(step, entry);
            break;
        case PAWL_TASK_PENDING:
        case PAWL_TASK_PAUSED:
        case PAWL_TASK_COMPLETED:
        case PAWL_TASK_FAILED:
        case PAWL_TASK_CANCELLED:
        case PAWL_TASK_DEAD_LETTER:
            ((struct pawl_task_row *)pawl_set_change(&step->set, entry))->due_at_ms = 0;
            break;
        }
        if (task->state == PAWL_TASK_RUNNING && !step->set.is_short) {
            /* early, or the deadline of a pause: armed anew */
            ((struct pawl_task_row *)pawl_set_change(&step->set, entry))->due_at_ms =
                pawl_lease_due(task);
        }
    }
    return PAWL_OK;
}

/* A redrive's filter, as it is kept between its slices. */
struct filter {
    struct pawl_str queue;
    struct pawl_str error_has;
    int64_t dead_before_at_ms;
    struct pawl_resume resume;
    struct pawl_str actor;
    struct pawl_str reason;
};

static struct pawl_str filter_write(struct pawl_step *step, const struct filter *filter)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, step->set.arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "queue", filter->queue);
    pawl_json_put_member_text(&w, "error_has", filter->error_has);
    pawl_json_put_member_int64(&w, "dead_before_at_ms", filter->dead_before_at_ms);
    pawl_json_put_member_bool(&w, "keep_retries", filter->resume.keep_retries);
    if (filter->resume.input.len > 0) pawl_json_put_member_raw(&w, "input", filter->resume.input);
    pawl_json_put_member_text(&w, "actor", filter->actor);
    pawl_json_put_member_text(&w, "reason", filter->reason);
    pawl_json_end_object(&w);
    return pawl_json_writer_done(&w);
}

static bool filter_read(struct pawl_step *step, struct pawl_str text, struct filter *out)
{
    struct pawl_json *root;
    struct pawl_arena *arena = step->set.arena;
    if (pawl_json_parse_top(text, 1, arena, &root, NULL) != PAWL_OK) return false;
    const struct pawl_json *input = pawl_json_member(root, PAWL_STR("input"));
    if (input != NULL) out->resume.input = input->raw;
    return pawl_json_text(pawl_json_member(root, PAWL_STR("queue")), arena, &out->queue) &&
           pawl_json_text(pawl_json_member(root, PAWL_STR("error_has")), arena, &out->error_has) &&
           pawl_json_int64(pawl_json_member(root, PAWL_STR("dead_before_at_ms")),
                           &out->dead_before_at_ms) &&
           pawl_json_bool(pawl_json_member(root, PAWL_STR("keep_retries")),
                          &out->resume.keep_retries) &&
           pawl_json_text(pawl_json_member(root, PAWL_STR("actor")), arena, &out->actor) &&
           pawl_json_text(pawl_json_member(root, PAWL_STR("reason")), arena, &out->reason);
}

/* Counts that nobody came for: whoever waited for them is gone. */
static void clear_ended(struct pawl_step *step)
{
    struct pawl_entry *list =
        pawl_set_look(&step->set, PAWL_LOOK_CONTINUATIONS, 1, none, 0, PAWL_SLICES_AT_ONCE);
    if (list == NULL || !list->is_loaded) return;
    const struct pawl_rows *rows = list->row;
    for (size_t i = 0; i < rows->count; i++) {
        const struct pawl_continuation_row *row = &((const struct pawl_continuation_row *)rows->rows)[i];
        if (step->now_ms - row->cursor < PAWL_ENDED_KEPT_MS) continue;
        pawl_set_put(&step->set, PAWL_LOOK_CONTINUATION, row->key, none, 0, NULL);
    }
}

enum pawl_code pawl_rule_redrive(struct pawl_step *step, struct pawl_command *command)
{
    const struct pawl_redrive *ask = command->ask.redrive;
    struct filter filter = {.queue = ask->queue,
                            .error_has = ask->error_has,
                            .dead_before_at_ms = ask->dead_before_at_ms,
                            .resume = ask->resume,
                            .actor = ask->actor,
                            .reason = ask->reason};
    /* those that die again while it runs are not met twice */
    if (filter.dead_before_at_ms == 0 || filter.dead_before_at_ms > step->now_ms) {
        filter.dead_before_at_ms = step->now_ms + 1;
    }
    if (ask->queue.len > 0 && pawl_queue_key(step, ask->queue) == 0) {
        return step->set.is_short ? PAWL_BUSY : PAWL_OK; /* nothing has ever been in it */
    }
    clear_ended(step);
    if (step->set.is_short) return PAWL_BUSY;
    struct pawl_str args = filter_write(step, &filter);
    (void)pawl_continuation_add(
        step, &(struct pawl_continuation_row){.kind = PAWL_CONTINUE_REDRIVE,
                                              .left = ask->max == 0 ? INT64_MAX : ask->max,
                                              .args = args});
    return PAWL_OK;
}

static bool filter_takes(struct pawl_step *step, const struct filter *filter, int64_t queue,
                         const struct pawl_task_row *task)
{
    if (task->state != PAWL_TASK_DEAD_LETTER) return false;
    if (queue != 0 && task->queue != queue) return false;
    if (task->finished_at_ms >= filter->dead_before_at_ms) return false;
    if (filter->error_has.len == 0) return true;
    return pawl_str_has(pawl_payload_look(step, task, PAWL_PAYLOAD_ERROR), filter->error_has);
}

/* One slice of a redrive. Returns whether there is more. */
static bool redrive_slice(struct pawl_step *step, struct pawl_continuation_row *row)
{
    struct filter filter = {.resume = PAWL_RESUME_INIT};
    if (!filter_read(step, row->args, &filter)) return false;
    int64_t queue = filter.queue.len == 0 ? 0 : pawl_queue_key(step, filter.queue);
    if (step->set.is_short) return false;
    struct pawl_entry *list =
        pawl_set_look(&step->set, PAWL_LOOK_DEAD, 0, none, row->cursor, PAWL_SLICE_ROWS_MAX);
    if (list == NULL || !list->is_loaded) return false;
    const struct pawl_rows *rows = list->row;
    const int64_t *keys = rows->rows;
    for (size_t i = 0; i < rows->count; i++) {
        struct pawl_entry *entry = pawl_set_task(&step->set, keys[i]);
        if (entry == NULL || !entry->is_loaded || entry->row == NULL) continue;
        (void)filter_takes(step, &filter, queue, entry->row);
    }
    if (step->set.is_short) return false;
    size_t written_bytes = 0;
    for (size_t i = 0; i < rows->count && row->left > 0; i++) {
        struct pawl_entry *entry = pawl_set_task(&step->set, keys[i]);
        bool is_taken = entry->row != NULL && filter_takes(step, &filter, queue, entry->row);
        if (is_taken && written_bytes > 0 && written_bytes + filter.resume.input.len > PAWL_SLICE_BYTES_MAX) {
            return true; /* the next slice begins with this one */
        }
        row->cursor = keys[i];
        if (!is_taken) continue;
        written_bytes += filter.resume.input.len;
        pawl_task_resume_row(step, entry, &filter.resume, PAWL_CAUSE_REDRIVEN, filter.actor,
                             filter.reason);
        row->done++;
        row->left--;
    }
    if (rows->is_cut) row->cursor = rows->last;
    return rows->is_cut && row->left > 0;
}

bool pawl_consumer_drop(struct pawl_step *step, const struct pawl_consumer_row *slowest)
{
    int64_t away_ms = step->now_ms - slowest->seen_at_ms;
    if (away_ms < step->consumer_keep_ms) return false;
    if (slowest->cursor >= step->head_position) return false; /* it has read everything */
    struct pawl_entry *entry =
        pawl_set_look(&step->set, PAWL_LOOK_CONSUMER, 0, slowest->name, 0, 0);
    if (entry == NULL || !entry->is_loaded || entry->row == NULL) return false;
    struct pawl_notice *notice = pawl_step_take(step, sizeof *notice);
    if (notice == NULL) return false;
    *notice = (struct pawl_notice){PAWL_NOTICE_CONSUMER_DROPPED, .text = slowest->name,
                                   .first = step->head_position - slowest->cursor, .second = away_ms};
    pawl_set_put(&step->set, PAWL_LOOK_CONSUMER, 0, slowest->name, 0, NULL);
    pawl_set_append(&step->set, PAWL_APPEND_NOTICE, notice);
    return true;
}

/* Returns whether it has to go on: a consumer was dropped, and the next slowest one counts now. */
static bool prune_slice(struct pawl_step *step, const struct pawl_continuation_row *row)
{
    struct pawl_entry *entry = pawl_set_task(&step->set, row->task);
    struct pawl_entry *cursor = pawl_set_look(&step->set, PAWL_LOOK_CURSOR_MIN, 0, none, 0, 0);
    if (step->set.is_short || entry == NULL || cursor == NULL || entry->row == NULL) return false;
    const struct pawl_consumer_row *slowest = cursor->row;
    if (slowest != NULL && pawl_consumer_drop(step, slowest)) return true;
    const struct pawl_task_row *task = entry->row;
    struct pawl_event_prune *prune = pawl_step_take(step, sizeof *prune);
    if (prune == NULL) return false;
    *prune = (struct pawl_event_prune){.task = task->key,
                                       .kept = PAWL_EVENTS_KEPT,
                                       .position_max = slowest == NULL ? INT64_MAX : slowest->cursor,
                                       .limit = PAWL_PRUNED_AT_ONCE};
    pawl_set_append(&step->set, PAWL_APPEND_EVENT_PRUNE, prune);
    return false;
}

/* More of those that waited for the id of a task: each slice leaves fewer. At the end they are told what has
 * become of the task meanwhile. */
static bool awaited_slice(struct pawl_step *step, const struct pawl_continuation_row *row)
{
    struct pawl_entry *entry = pawl_set_task(&step->set, row->task);
    struct pawl_entry *list =
        pawl_set_look(&step->set, PAWL_LOOK_AWAITED, 0, row->args, 0, PAWL_SLICE_ROWS_MAX);
    if (step->set.is_short || entry == NULL || list == NULL || entry->row == NULL) return false;
    const struct pawl_rows *rows = list->row;
    pawl_awaited_found(step, pawl_set_change(&step->set, entry), rows);
    if (!rows->is_cut) pawl_dependents_tell_later(step, row->task, 0);
    return rows->is_cut;
}

/* One slice. Returns whether there is more. */
static bool run_slice(struct pawl_step *step, struct pawl_command *command, struct pawl_continuation_row *row)
{
    switch (row->kind) {
    case PAWL_CONTINUE_DEPENDENTS: {
        struct pawl_entry *task;
        enum pawl_code code = pawl_task_find_key(step, command, row->task, &task);
        if (step->set.is_short || code != PAWL_OK) return false;
        row->cursor = pawl_dependents_slice(step, task, row->cursor);
        return row->cursor != 0;
    }
    case PAWL_CONTINUE_REDRIVE:
        return redrive_slice(step, row);
    case PAWL_CONTINUE_PRUNE:
        return prune_slice(step, row);
    case PAWL_CONTINUE_AWAITED:
        return awaited_slice(step, row);
    case PAWL_CONTINUE_REMAINS:
        return pawl_remains_slice(step, row->task);
    case PAWL_CONTINUE_CALENDAR:
        return pawl_calendar_slice(step, row);
    case PAWL_CONTINUE_DECISION:
        pawl_decide_slice(step, command, row);
        return false;
    case PAWL_CONTINUE_CANCEL:
        return pawl_workflow_cancel_slice(step, command, row->task);
    case PAWL_CONTINUE_FAILURE:
        pawl_workflow_failure_slice(step, command, row->task);
        return false;
    case PAWL_CONTINUE_UNDECIDED:
        pawl_workflow_undecided_slice(step, command, row);
        return false;
    case PAWL_CONTINUE_CALLBACKS:
        pawl_workflow_callbacks_slice(step, command, row);
        return false;
    case PAWL_CONTINUE_RUN_REMOVE:
        return pawl_run_remove_slice(step, row);
    }
    pawl_assert(false);
    return false;
}

/* What cannot be done is not tried again in each step: a timer after a while, a continuation once fsck has mended
 * what it is about. */
void pawl_own_put_off(struct pawl_step *step, const struct pawl_command *command)
{
    bool is_due = command->kind == PAWL_COMMAND_DUE;
    if (!is_due && command->kind != PAWL_COMMAND_CONTINUE) return;
    struct pawl_entry *entry = pawl_set_look(&step->set, is_due ? PAWL_LOOK_TASK : PAWL_LOOK_CONTINUATION,
                                             command->number, none, 0, 0);
    struct pawl_notice *notice = pawl_step_take(step, sizeof *notice);
    if (entry == NULL || !entry->is_loaded || entry->row == NULL || notice == NULL) return;
    if (is_due) {
        struct pawl_task_row *task = pawl_set_change(&step->set, entry);
        task->due_at_ms = step->now_ms + PAWL_UNREADABLE_AGAIN_MS;
    } else {
        struct pawl_continuation_row *row = pawl_set_change(&step->set, entry);
        row->left = PAWL_CONTINUATION_PUT_OFF;
    }
    *notice = (struct pawl_notice){
        PAWL_NOTICE_PUT_OFF,
        .text = pawl_arena_copy(step->set.arena, pawl_str_of(command->err.text)),
        .first = command->number};
    pawl_set_append(&step->set, PAWL_APPEND_NOTICE, notice);
}

static bool is_of_workflow(enum pawl_continuation_kind kind)
{
    return kind >= PAWL_CONTINUE_DECISION && kind != PAWL_CONTINUE_RUN_REMOVE;
}

enum pawl_code pawl_rule_continue(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry =
        pawl_set_look(&step->set, PAWL_LOOK_CONTINUATION, command->number, none, 0, 0);
    if (entry == NULL || !entry->is_loaded) return PAWL_BUSY;
    if (entry->row == NULL) return PAWL_OK; /* done by somebody else */
    struct pawl_continuation_row *row = pawl_set_change(&step->set, entry);
    bool is_ended = row->left == PAWL_CONTINUATION_ENDED;
    if (is_of_workflow(row->kind)) {
        struct pawl_decision d;
        enum pawl_code code = pawl_decision_open(step, command, row->task, &d);
        if (code == PAWL_BUSY || code == PAWL_CORRUPT) return code;
    }
    command->goes_on = !is_ended && run_slice(step, command, row);
    if (step->set.is_short) return PAWL_BUSY;
    command->done = row->done;
    if (command->goes_on || (is_ended && command->is_anothers)) return PAWL_OK;
    if (row->kind == PAWL_CONTINUE_REDRIVE && command->is_anothers) {
        row->left = PAWL_CONTINUATION_ENDED; /* its row stays for whoever waits for the count */
        row->cursor = step->now_ms;
    } else {
        pawl_set_put(&step->set, PAWL_LOOK_CONTINUATION, row->key, none, 0, NULL);
    }
    return PAWL_OK;
}
