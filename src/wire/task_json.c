/* A task from one line of JSON.
 *
 * The keys are those that `pawl task get -o json` prints, so that what one store says can be given
 * to another; what only a store can know (state, epoch, version …) is read over. A key nobody knows
 * is refused: it would be a value that silently does nothing. */
#include "wire/task_json.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/str.h"
#include "wire/nearest.h"
#include "wire/words.h"

#include <assert.h>

struct reading {
    struct pawl_task_new *task;
    struct pawl_arena *keep;
    const char *key; /* being read */
    struct pawl_error *err;
};

static enum pawl_code refuse(struct reading *r, const char *wanted)
{
    return pawl_error_set(r->err, PAWL_INVALID, "%s: %s is wanted", r->key, wanted);
}

/* ---- Kinds of values; null is as if the key were not there ----------------------------------- */

static enum pawl_code read_text(struct reading *r, const struct pawl_json *value,
                                struct pawl_str *out)
{
    if (pawl_json_text(value, r->keep, out)) return PAWL_OK;
    return refuse(r, "a text");
}

/* Empty it would be taken for none. */
static enum pawl_code read_name(struct reading *r, const struct pawl_json *value,
                                struct pawl_str *out)
{
    enum pawl_code code = read_text(r, value, out);
    return code == PAWL_OK && out->len == 0 ? refuse(r, "a text that is not empty") : code;
}

static enum pawl_code read_bool(struct reading *r, const struct pawl_json *value, bool *out)
{
    if (pawl_json_bool(value, out)) return PAWL_OK;
    return refuse(r, "true or false");
}

static enum pawl_code read_ms(struct reading *r, const struct pawl_json *value, int64_t *out)
{
    int64_t ms = 0;
    struct pawl_str text;
    bool is_read = pawl_json_int64(value, &ms) ||
                   (pawl_json_text(value, r->keep, &text) && pawl_duration_parse(text, &ms));
    if (!is_read || ms < 0) return refuse(r, "a number of milliseconds, or a text such as \"5m\",");
    *out = ms;
    return PAWL_OK;
}

static enum pawl_code read_id(struct reading *r, const struct pawl_json *value)
{
    return read_name(r, value, &r->task->id);
}
static enum pawl_code read_queue(struct reading *r, const struct pawl_json *value)
{
    return read_name(r, value, &r->task->queue);
}
static enum pawl_code read_input(struct reading *r, const struct pawl_json *value)
{
    r->task->input = value->raw;
    return PAWL_OK;
}
static enum pawl_code read_goal(struct reading *r, const struct pawl_json *value)
{
    return read_text(r, value, &r->task->goal);
}
static enum pawl_code read_title(struct reading *r, const struct pawl_json *value)
{
    return read_text(r, value, &r->task->title);
}
static enum pawl_code read_metadata(struct reading *r, const struct pawl_json *value)
{
    if (value->kind != PAWL_JSON_OBJECT) return refuse(r, "an object");
    r->task->metadata = value->raw;
    return PAWL_OK;
}
static enum pawl_code read_correlation_id(struct reading *r, const struct pawl_json *value)
{
    return read_name(r, value, &r->task->correlation_id);
}
static enum pawl_code read_key(struct reading *r, const struct pawl_json *value)
{
    return read_name(r, value, &r->task->key);
}
static enum pawl_code read_actor(struct reading *r, const struct pawl_json *value)
{
    return read_text(r, value, &r->task->actor);
}
static enum pawl_code read_hold(struct reading *r, const struct pawl_json *value)
{
    return read_bool(r, value, &r->task->hold);
}
static enum pawl_code read_allow_missing(struct reading *r, const struct pawl_json *value)
{
    return read_bool(r, value, &r->task->allow_missing_dependencies);
}
static enum pawl_code read_delay(struct reading *r, const struct pawl_json *value)
{
    return read_ms(r, value, &r->task->delay_ms);
}
static enum pawl_code read_timeout(struct reading *r, const struct pawl_json *value)
{
    return read_ms(r, value, &r->task->timeout_ms);
}
static enum pawl_code read_retry_delay_max(struct reading *r, const struct pawl_json *value)
{
    return read_ms(r, value, &r->task->retry.delay_ms_max);
}
static enum pawl_code read_retry_jitter(struct reading *r, const struct pawl_json *value)
{
    return read_ms(r, value, &r->task->retry.jitter_ms);
}

static enum pawl_code read_retry_delay(struct reading *r, const struct pawl_json *value)
{
    int64_t ms = 0;
    enum pawl_code code = read_ms(r, value, &ms);
    if (code == PAWL_OK) r->task->retry.delay_ms = pawl_delay_as_given(ms);
    return code;
}

static enum pawl_code read_max_retries(struct reading *r, const struct pawl_json *value)
{
    int64_t number = 0;
    if (!pawl_json_int64(value, &number) || number < 0 || number > PAWL_RETRIES_MAX) {
        return refuse(r, "a number from 0 to 1000");
    }
    static_assert(PAWL_RETRIES_MAX == 1000, "the sentence above names it");
    r->task->retry.max_retries = pawl_retries_as_given(number);
    return PAWL_OK;
}

static enum pawl_code read_priority(struct reading *r, const struct pawl_json *value)
{
    struct pawl_str text = value->raw;
    bool is_text = value->kind == PAWL_JSON_STRING && pawl_json_text(value, r->keep, &text);
    if ((is_text || value->kind == PAWL_JSON_NUMBER) &&
        pawl_priority_parse(text, &r->task->priority)) {
        return PAWL_OK;
    }
    return refuse(r, "0 to 99, LOW, MEDIUM, HIGH or CRITICAL");
}

static enum pawl_code read_run_at(struct reading *r, const struct pawl_json *value)
{
    struct pawl_str text = value->raw;
    bool is_text = value->kind == PAWL_JSON_STRING && pawl_json_text(value, r->keep, &text);
    if ((is_text || value->kind == PAWL_JSON_NUMBER) &&
        pawl_instant_parse(text, &r->task->run_at_ms)) {
        return PAWL_OK;
    }
    return refuse(r, "milliseconds since 1970, or a text such as \"2026-11-30T17:45:00Z\",");
}

static enum pawl_code read_backoff(struct reading *r, const struct pawl_json *value)
{
    struct pawl_str text;
    if (pawl_json_text(value, r->keep, &text) &&
        pawl_backoff_parse(text, &r->task->retry.backoff)) {
        return PAWL_OK;
    }
    return refuse(r, "exponential, linear or fixed");
}

static enum pawl_code read_policy(struct reading *r, const struct pawl_json *value)
{
    struct pawl_str text;
    if (pawl_json_text(value, r->keep, &text) &&
        pawl_dependency_policy_parse(text, &r->task->dependency_policy)) {
        return PAWL_OK;
    }
    return refuse(r, "block, cancel or ignore");
}

static enum pawl_code read_depends_on(struct reading *r, const struct pawl_json *value)
{
    if (value->kind != PAWL_JSON_ARRAY) return refuse(r, "an array of ids");
    struct pawl_str *ids = pawl_arena_take_array(r->keep, value->child_count, sizeof *ids);
    if (ids == NULL) {
        return pawl_error_set(r->err, pawl_arena_code(r->keep), "%s is too long", r->key);
    }
    size_t count = 0;
    for (const struct pawl_json *at = pawl_json_first(value); at != NULL; at = pawl_json_next(at)) {
        if (!pawl_json_text(at, r->keep, &ids[count++])) return refuse(r, "an array of ids");
    }
    r->task->depends_on = ids;
    r->task->depends_on_count = count;
    return PAWL_OK;
}

/* What only a store can know. */
static enum pawl_code read_over(struct reading *r, const struct pawl_json *value)
{
    (void)r;
    (void)value;
    return PAWL_OK;
}

static const struct {
    const char *key;
    enum pawl_code (*read)(struct reading *r, const struct pawl_json *value);
} keys[] = {
    {"id", read_id},
    {"queue", read_queue},
    {"input", read_input},
    {"goal", read_goal},
    {"title", read_title},
    {"metadata", read_metadata},
    {"correlation_id", read_correlation_id},
    {"key", read_key},
    {"priority", read_priority},
    {"actor", read_actor},
    {"hold", read_hold},
    {"run_at_ms", read_run_at},
    {"delay_ms", read_delay},
    {"timeout_ms", read_timeout},
    {"max_retries", read_max_retries},
    {"backoff", read_backoff},
    {"retry_delay_ms", read_retry_delay},
    {"retry_delay_ms_max", read_retry_delay_max},
    {"retry_jitter_ms", read_retry_jitter},
    {"depends_on", read_depends_on},
    {"dependency_policy", read_policy},
    {"allow_missing_dependencies", read_allow_missing},
    {"state", read_over},
    {"progress", read_over},
    {"progress_epoch", read_over},
    {"retries", read_over},
    {"recoveries", read_over},
    {"version", read_over},
    {"epoch", read_over},
    {"owner", read_over},
    {"lease_end_at_ms", read_over},
    {"lease_ms", read_over},
    {"next_retry_at_ms", read_over},
    {"created_at_ms", read_over},
    {"updated_at_ms", read_over},
    {"started_at_ms", read_over},
    {"finished_at_ms", read_over},
    {"control", read_over},
    {"control_reason", read_over},
    {"control_deadline_at_ms", read_over},
    {"recovery_note", read_over},
    {"recovery_look_at_ms", read_over},
    {"open_dependencies", read_over},
    {"blocked_by", read_over},
    {"error", read_over},
    {"result", read_over},
    {"why", read_over},
};

static enum pawl_code read_member(struct reading *r, const struct pawl_json *member)
{
    struct pawl_str key = member->key;
    if (!pawl_json_key(member, r->keep, &key)) key = member->key;
    struct pawl_nearest nearest = pawl_nearest_to(key);
    for (size_t i = 0; i < PAWL_COUNT_OF(keys); i++) {
        pawl_nearest_offer(&nearest, keys[i].key);
        if (!pawl_str_equal(key, pawl_str_of(keys[i].key))) continue;
        r->key = keys[i].key;
        if (member->kind == PAWL_JSON_NULL) return PAWL_OK;
        return keys[i].read(r, member);
    }
    if (nearest.word == NULL) {
        return pawl_error_set(r->err, PAWL_INVALID, "a task has no `%.*s`", PAWL_STR_ARG(key));
    }
    return pawl_error_set(r->err, PAWL_INVALID, "a task has no `%.*s`; did you mean `%s`?",
                          PAWL_STR_ARG(key), nearest.word);
}

enum pawl_code pawl_task_from_json(const struct pawl_json *object, struct pawl_arena *keep,
                                   struct pawl_task_new *out, struct pawl_error *err)
{
    struct pawl_task_new task = PAWL_TASK_NEW_INIT;
    struct reading r = {.task = &task, .keep = keep, .err = err};
    if (object->kind != PAWL_JSON_OBJECT) {
        return pawl_error_set(err, PAWL_INVALID, "a task is a JSON object");
    }
    for (const struct pawl_json *at = pawl_json_first(object); at != NULL;
         at = pawl_json_next(at)) {
        enum pawl_code code = read_member(&r, at);
        if (code != PAWL_OK) return code;
    }
    *out = task;
    return PAWL_OK;
}
