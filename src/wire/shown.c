#include "wire/shown.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "wire/words.h"

#include <stddef.h>

enum kind {
    KIND_TEXT,
    KIND_RAW,
    KIND_INT32,
    KIND_INT64,
    KIND_DOUBLE,
    KIND_BOOL,
    KIND_STATE,
    KIND_CONTROL,
    KIND_BACKOFF,
    KIND_RETRIES, /* 0 is none, null the default */
    KIND_DELAY,
};

struct field {
    const char *key;
    enum kind kind;
    size_t offset;
};

static bool read_control(const struct pawl_json *value, struct pawl_arena *keep, void *to)
{
    struct pawl_str name;
    if (!pawl_json_text(value, keep, &name)) return false;
    for (int32_t i = PAWL_CONTROL_PAUSE; i <= PAWL_CONTROL_CANCEL; i++) {
        enum pawl_control control = (enum pawl_control)i;
        if (!pawl_str_equal(name, pawl_str_of(pawl_control_name(control)))) continue;
        *(enum pawl_control *)to = control;
        return true;
    }
    return false;
}

static bool read_value(const struct pawl_json *value, enum kind kind, struct pawl_arena *keep,
                       void *to)
{
    int64_t number = 0;
    struct pawl_str name;
    switch (kind) {
    case KIND_TEXT:
        return pawl_json_text(value, keep, to);
    case KIND_RAW:
        *(struct pawl_str *)to = value->raw;
        return true;
    case KIND_INT32:
    case KIND_RETRIES:
        if (!pawl_json_int64(value, &number) || number < INT32_MIN || number > INT32_MAX) {
            return false;
        }
        *(int32_t *)to = kind == KIND_RETRIES ? pawl_retries_as_given(number) : (int32_t)number;
        return true;
    case KIND_INT64:
        return pawl_json_int64(value, to);
    case KIND_DELAY:
        if (!pawl_json_int64(value, &number)) return false;
        *(int64_t *)to = pawl_delay_as_given(number);
        return true;
    case KIND_DOUBLE:
        return pawl_json_double(value, to);
    case KIND_BOOL:
        return pawl_json_bool(value, to);
    case KIND_STATE:
        return pawl_json_text(value, keep, &name) && pawl_state_parse(name, to);
    case KIND_BACKOFF:
        return pawl_json_text(value, keep, &name) && pawl_backoff_parse(name, to);
    case KIND_CONTROL:
        break;
    }
    return read_control(value, keep, to);
}

/* null, and a key that is not there, leave what is in out. */
static enum pawl_code read_fields(const struct pawl_json *object, const struct field *fields,
                                  size_t count, struct pawl_arena *keep, void *out,
                                  struct pawl_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct pawl_json *value = pawl_json_member(object, pawl_str_of(fields[i].key));
        if (value == NULL || value->kind == PAWL_JSON_NULL) continue;
        if (read_value(value, fields[i].kind, keep, (char *)out + fields[i].offset)) continue;
        return pawl_error_set(err, PAWL_IO, "%s: the server's answer has `%.*s` there",
                              fields[i].key, PAWL_STR_ARG(value->raw));
    }
    return PAWL_OK;
}

static enum pawl_code read_ids(const struct pawl_json *ids, struct pawl_arena *keep,
                               struct pawl_task *out, struct pawl_error *err)
{
    if (ids == NULL || ids->child_count == 0) return PAWL_OK;
    struct pawl_str *texts = pawl_arena_take_array(keep, ids->child_count, sizeof *texts);
    if (texts == NULL) {
        return pawl_error_set(err, pawl_arena_code(keep), "depends_on: is too long");
    }
    for (const struct pawl_json *at = pawl_json_first(ids); at != NULL; at = pawl_json_next(at)) {
        if (pawl_json_text(at, keep, &texts[out->depends_on_count++])) continue;
        return pawl_error_set(err, PAWL_IO, "depends_on: the server's answer has `%.*s` there",
                              PAWL_STR_ARG(at->raw));
    }
    out->depends_on = texts;
    return PAWL_OK;
}

/* clang-format off */
#define TASK(member, kind) {#member, KIND_##kind, offsetof(struct pawl_task, member)}
static const struct field task_fields[] = {
    TASK(id, TEXT), TASK(queue, TEXT), TASK(state, STATE), TASK(title, TEXT), TASK(priority, INT32),
    TASK(progress, DOUBLE), TASK(progress_epoch, INT64), TASK(retries, INT32), TASK(recoveries, INT32),
    TASK(max_retries, INT32), TASK(version, INT64), TASK(epoch, INT64), TASK(owner, TEXT),
    TASK(lease_end_at_ms, INT64), TASK(lease_ms, INT64), TASK(next_retry_at_ms, INT64), TASK(timeout_ms, INT64),
    TASK(created_at_ms, INT64), TASK(updated_at_ms, INT64), TASK(started_at_ms, INT64), TASK(finished_at_ms, INT64),
    TASK(control, CONTROL), TASK(control_reason, TEXT), TASK(control_deadline_at_ms, INT64),
    TASK(recovery_note, TEXT), TASK(recovery_look_at_ms, INT64), TASK(open_dependencies, INT32),
    TASK(blocked_by, TEXT), TASK(correlation_id, TEXT), TASK(key, TEXT), TASK(error, TEXT),
    TASK(goal, TEXT), TASK(input, RAW), TASK(metadata, RAW), TASK(result, RAW),
};
#define QUEUE(member, kind) {#member, KIND_##kind, offsetof(struct pawl_queue, member)}
static const struct field queue_fields[] = {
    QUEUE(name, TEXT), QUEUE(is_paused, BOOL), QUEUE(lease_ms, INT64), QUEUE(ready, INT64), QUEUE(deferred, INT64),
    QUEUE(running, INT64), QUEUE(oldest_ready_at_ms, INT64),
};
#define RETRY(member, kind) {#member, KIND_##kind, offsetof(struct pawl_retry, member)}
static const struct field retry_fields[] = {
    RETRY(max_retries, RETRIES), RETRY(backoff, BACKOFF), RETRY(delay_ms, DELAY), RETRY(delay_ms_max, INT64),
    RETRY(jitter_ms, INT64),
};
#define EVENT(member, kind) {#member, KIND_##kind, offsetof(struct pawl_event, member)}
static const struct field event_fields[] = {
    EVENT(position, INT64), EVENT(id, TEXT), EVENT(task_id, TEXT), EVENT(queue, TEXT), EVENT(sequence, INT64),
    EVENT(at_ms, INT64), EVENT(type, TEXT), EVENT(action, TEXT), EVENT(state, STATE), EVENT(epoch, INT64),
    EVENT(version, INT64), EVENT(progress, DOUBLE), EVENT(retries, INT32), EVENT(next_retry_at_ms, INT64),
    EVENT(success, BOOL), EVENT(duration_ms, INT64), EVENT(actor, TEXT), EVENT(cause, TEXT), EVENT(detail, TEXT),
    EVENT(title, TEXT), EVENT(correlation_id, TEXT),
    {"imported", KIND_BOOL, offsetof(struct pawl_event, is_imported)},
};
#define LINE(member, kind) {#member, KIND_##kind, offsetof(struct pawl_log_line, member)}
static const struct field line_fields[] = {
    LINE(number, INT64), LINE(at_ms, INT64), LINE(epoch, INT64),
    {"line", KIND_TEXT, offsetof(struct pawl_log_line, text)},
};
#define CHECKPOINT(member, kind) {#member, KIND_##kind, offsetof(struct pawl_checkpoint, member)}
static const struct field checkpoint_fields[] = {
    CHECKPOINT(id, TEXT), CHECKPOINT(step, INT32), CHECKPOINT(at_ms, INT64), CHECKPOINT(epoch, INT64),
    CHECKPOINT(state, RAW),
};
#define LATE(member, kind) {#member, KIND_##kind, offsetof(struct pawl_late_result, member)}
static const struct field late_fields[] = {
    LATE(at_ms, INT64), LATE(epoch, INT64), LATE(owner, TEXT), LATE(kind, TEXT), LATE(body, TEXT),
};
/* clang-format on */

enum pawl_code pawl_shown_task(const struct pawl_json *object, struct pawl_arena *keep,
                               struct pawl_task *out, struct pawl_error *err)
{
    *out = (struct pawl_task){.state = PAWL_TASK_PENDING};
    enum pawl_code code =
        read_fields(object, task_fields, PAWL_COUNT_OF(task_fields), keep, out, err);
    if (code != PAWL_OK) return code;
    if (out->id.len == 0) return pawl_error_set(err, PAWL_IO, "id: is not in the server's answer");
    return read_ids(pawl_json_member(object, PAWL_STR("depends_on")), keep, out, err);
}

enum pawl_code pawl_shown_queue(const struct pawl_json *object, struct pawl_arena *keep,
                                struct pawl_queue *out, struct pawl_error *err)
{
    *out = (struct pawl_queue){0};
    enum pawl_code code =
        read_fields(object, queue_fields, PAWL_COUNT_OF(queue_fields), keep, out, err);
    if (code != PAWL_OK) return code;
    return read_fields(pawl_json_member(object, PAWL_STR("retry")), retry_fields,
                       PAWL_COUNT_OF(retry_fields), keep, &out->retry, err);
}

enum pawl_code pawl_shown_event(const struct pawl_json *object, struct pawl_arena *keep,
                                struct pawl_event *out, struct pawl_error *err)
{
    *out = (struct pawl_event){0};
    return read_fields(object, event_fields, PAWL_COUNT_OF(event_fields), keep, out, err);
}

enum pawl_code pawl_shown_log_line(const struct pawl_json *object, struct pawl_arena *keep,
                                   struct pawl_log_line *out, struct pawl_error *err)
{
    *out = (struct pawl_log_line){0};
    return read_fields(object, line_fields, PAWL_COUNT_OF(line_fields), keep, out, err);
}

enum pawl_code pawl_shown_checkpoint(const struct pawl_json *object, struct pawl_arena *keep,
                                     struct pawl_checkpoint *out, struct pawl_error *err)
{
    *out = (struct pawl_checkpoint){0};
    return read_fields(object, checkpoint_fields, PAWL_COUNT_OF(checkpoint_fields), keep, out, err);
}

enum pawl_code pawl_shown_late_result(const struct pawl_json *object, struct pawl_arena *keep,
                                      struct pawl_late_result *out, struct pawl_error *err)
{
    *out = (struct pawl_late_result){0};
    return read_fields(object, late_fields, PAWL_COUNT_OF(late_fields), keep, out, err);
}
