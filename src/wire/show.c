#include "wire/show.h"

#include "base/str.h"
#include "wire/words.h"

void pawl_show_text(struct pawl_json_writer *w, const char *key, struct pawl_str text)
{
    if (text.len == 0) {
        pawl_json_put_member_null(w, key);
    } else {
        pawl_json_put_member_text(w, key, text);
    }
}

void pawl_show_instant(struct pawl_json_writer *w, const char *key, int64_t at_ms)
{
    if (at_ms == 0) {
        pawl_json_put_member_null(w, key);
    } else {
        pawl_json_put_member_int64(w, key, at_ms);
    }
}

static void put_state(struct pawl_json_writer *w, enum pawl_task_state state)
{
    pawl_json_put_member_text(w, "state", pawl_str_of(pawl_task_state_name(state)));
}

static void put_payload(struct pawl_json_writer *w, const struct pawl_task *task)
{
    pawl_show_text(w, "goal", task->goal);
    pawl_json_put_member_raw(w, "input", task->input);
    pawl_json_put_member_raw(w, "metadata", task->metadata);
    pawl_json_put_member_raw(w, "result", task->result);
    pawl_json_put_key(w, "depends_on");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < task->depends_on_count; i++) pawl_json_put_text(w, task->depends_on[i]);
    pawl_json_end_array(w);
}

void pawl_show_task_json(struct pawl_json_writer *w, const struct pawl_task *task,
                         bool with_payload)
{
    pawl_json_put_member_text(w, "id", task->id);
    pawl_json_put_member_text(w, "queue", task->queue);
    put_state(w, task->state);
    pawl_show_text(w, "title", task->title);
    pawl_json_put_member_int64(w, "priority", task->priority);
    pawl_json_put_member_double(w, "progress", task->progress);
    pawl_json_put_member_int64(w, "progress_epoch", task->progress_epoch);
    pawl_json_put_member_int64(w, "retries", task->retries);
    pawl_json_put_member_int64(w, "recoveries", task->recoveries);
    pawl_json_put_member_int64(w, "max_retries", task->max_retries);
    pawl_json_put_member_int64(w, "version", task->version);
    pawl_json_put_member_int64(w, "epoch", task->epoch);
    pawl_show_text(w, "owner", task->owner);
    pawl_show_instant(w, "lease_end_at_ms", task->lease_end_at_ms);
    pawl_json_put_member_int64(w, "lease_ms", task->lease_ms);
    pawl_show_instant(w, "next_retry_at_ms", task->next_retry_at_ms);
    pawl_json_put_member_int64(w, "timeout_ms", task->timeout_ms);
    pawl_show_instant(w, "created_at_ms", task->created_at_ms);
    pawl_show_instant(w, "updated_at_ms", task->updated_at_ms);
    pawl_show_instant(w, "started_at_ms", task->started_at_ms);
    pawl_show_instant(w, "finished_at_ms", task->finished_at_ms);
    pawl_show_text(w, "control", pawl_str_of(pawl_control_name(task->control)));
    pawl_show_text(w, "control_reason", task->control_reason);
    pawl_show_instant(w, "control_deadline_at_ms", task->control_deadline_at_ms);
    pawl_show_text(w, "recovery_note", task->recovery_note);
    pawl_show_instant(w, "recovery_look_at_ms", task->recovery_look_at_ms);
    pawl_json_put_member_int64(w, "open_dependencies", task->open_dependencies);
    pawl_show_text(w, "blocked_by", task->blocked_by);
    pawl_show_text(w, "correlation_id", task->correlation_id);
    pawl_show_text(w, "key", task->key);
    pawl_show_text(w, "error", task->error);
    if (with_payload) put_payload(w, task);
}

void pawl_show_event_json(struct pawl_json_writer *w, const struct pawl_event *event)
{
    pawl_json_put_member_int64(w, "position", event->position);
    pawl_json_put_member_text(w, "id", event->id);
    pawl_json_put_member_text(w, "task_id", event->task_id);
    pawl_json_put_member_text(w, "queue", event->queue);
    pawl_json_put_member_int64(w, "sequence", event->sequence);
    pawl_json_put_member_int64(w, "at_ms", event->at_ms);
    pawl_json_put_member_text(w, "type", event->type);
    pawl_show_text(w, "action", event->action);
    put_state(w, event->state);
    pawl_json_put_member_int64(w, "epoch", event->epoch);
    pawl_json_put_member_int64(w, "version", event->version);
    pawl_json_put_member_double(w, "progress", event->progress);
    pawl_json_put_member_int64(w, "retries", event->retries);
    pawl_show_instant(w, "next_retry_at_ms", event->next_retry_at_ms);
    pawl_json_put_member_bool(w, "success", event->success);
    pawl_json_put_member_int64(w, "duration_ms", event->duration_ms);
    pawl_show_text(w, "actor", event->actor);
    pawl_show_text(w, "cause", event->cause);
    if (event->is_imported) pawl_json_put_member_bool(w, "imported", true);
    pawl_show_text(w, "detail", event->detail);
    pawl_show_text(w, "title", event->title);
    pawl_show_text(w, "correlation_id", event->correlation_id);
}

void pawl_show_events_json(struct pawl_json_writer *w, const struct pawl_events *events)
{
    pawl_json_put_key(w, "events");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < events->count; i++) {
        pawl_json_begin_object(w);
        pawl_show_event_json(w, &events->events[i]);
        pawl_json_end_object(w);
    }
    pawl_json_end_array(w);
}

/* A setting of a queue as it may be given back: null where the default holds, and a plain 0 for none. */
static void put_setting(struct pawl_json_writer *w, const char *key, int64_t value, int64_t none)
{
    if (value == 0) {
        pawl_json_put_member_null(w, key);
    } else {
        pawl_json_put_member_int64(w, key, value == none ? 0 : value);
    }
}

void pawl_show_queue_json(struct pawl_json_writer *w, const struct pawl_queue *queue)
{
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "name", queue->name);
    pawl_json_put_member_bool(w, "is_paused", queue->is_paused);
    put_setting(w, "lease_ms", queue->lease_ms, 0);
    pawl_json_put_key(w, "retry");
    pawl_json_begin_object(w);
    put_setting(w, "max_retries", queue->retry.max_retries, PAWL_RETRIES_NONE);
    pawl_json_put_member_text(w, "backoff", pawl_str_of(pawl_backoff_name(queue->retry.backoff)));
    put_setting(w, "delay_ms", queue->retry.delay_ms, PAWL_DELAY_NONE);
    put_setting(w, "delay_ms_max", queue->retry.delay_ms_max, 0);
    pawl_json_put_member_int64(w, "jitter_ms", queue->retry.jitter_ms);
    pawl_json_end_object(w);
    pawl_json_put_member_int64(w, "ready", queue->ready);
    pawl_json_put_member_int64(w, "deferred", queue->deferred);
    pawl_json_put_member_int64(w, "running", queue->running);
    pawl_show_instant(w, "oldest_ready_at_ms", queue->oldest_ready_at_ms);
    pawl_json_end_object(w);
}
