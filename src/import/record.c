#include "import/record.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/json.h"
#include "base/number.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/check.h"
#include "core/limits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    SENTENCE_BYTES_MAX = 511,
    QUOTED_POINTS = 40,
};

static const struct pawl_str none = {0};

static const char *const field_names[] = {
#define X(name, text) [PAWL_OLD_##name] = text,
    PAWL_OLD_FIELDS(X)
#undef X
};

enum pawl_old_field pawl_old_field_find(struct pawl_str name)
{
    for (size_t i = 0; i < PAWL_COUNT_OF(field_names); i++) {
        if (pawl_str_equal(name, pawl_str_of(field_names[i]))) return (enum pawl_old_field)i;
    }
    return PAWL_OLD_FIELD_COUNT;
}

const char *pawl_old_field_name(enum pawl_old_field field)
{
    return field_names[field];
}

bool pawl_old_state_find(struct pawl_str name, enum pawl_task_state *out)
{
    for (int i = 0; i < PAWL_TASK_STATE_COUNT; i++) {
        if (!pawl_str_equal(name, pawl_str_of(pawl_task_state_name((enum pawl_task_state)i))))
            continue;
        *out = (enum pawl_task_state)i;
        return true;
    }
    return false;
}

/* ---- Complaints ------------------------------------------------------------------------------ */

void pawl_decoding_refuse(struct pawl_decoding *decoding, const char *format, ...)
{
    char text[SENTENCE_BYTES_MAX + 1];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    decoding->is_refused = true;
    pawl_import_refuse(decoding->report, decoding->task, "%s", text);
}

void pawl_decoding_remark(struct pawl_decoding *decoding, const char *format, ...)
{
    char text[SENTENCE_BYTES_MAX + 1];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pawl_import_remark(decoding->report, decoding->task, "%s", text);
}

static struct pawl_str quoted(struct pawl_str text)
{
    return pawl_utf8_cut_points(text, QUOTED_POINTS);
}

int64_t pawl_decoding_instant(struct pawl_decoding *decoding, const char *field,
                              struct pawl_str text, const char *otherwise)
{
    int64_t at_ms = 0;
    int64_t number;
    /* digits alone were no instant there, whatever they are here */
    bool is_number = pawl_int64_parse(text, INT64_MIN, INT64_MAX, &number);
    if (!is_number && pawl_instant_parse(text, &at_ms)) return at_ms;
    pawl_decoding_remark(decoding, "%s: \"%.*s\" is no instant: %s", field,
                         PAWL_STR_ARG(quoted(text)), otherwise);
    return 0;
}

/* ---- Values by their kinds ------------------------------------------------------------------- */

static const struct pawl_old_value *value_at(const struct pawl_old_record *record,
                                             enum pawl_old_field field)
{
    return &record->fields[field];
}

static struct pawl_str take_text(struct pawl_decoding *decoding,
                                 const struct pawl_old_record *record, enum pawl_old_field field)
{
    const struct pawl_old_value *value = value_at(record, field);
    if (value->kind == PAWL_OLD_NONE) return none;
    if (value->kind == PAWL_OLD_TEXT) return value->text;
    pawl_decoding_refuse(decoding, "%s: is no text", field_names[field]);
    return none;
}

static struct pawl_str take_short_text(struct pawl_decoding *decoding,
                                       const struct pawl_old_record *record,
                                       enum pawl_old_field field, size_t bytes_max)
{
    struct pawl_str text = take_text(decoding, record, field);
    if (text.len > bytes_max) {
        pawl_decoding_refuse(decoding, "%s: %zu bytes; at most %zu", field_names[field], text.len,
                             bytes_max);
    }
    return text;
}

static int64_t take_int64(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                          enum pawl_old_field field, int64_t min, int64_t max, int64_t otherwise)
{
    const struct pawl_old_value *value = value_at(record, field);
    if (value->kind == PAWL_OLD_NONE) return otherwise;
    if (value->kind != PAWL_OLD_INT64) {
        pawl_decoding_refuse(decoding, "%s: is no whole number", field_names[field]);
    } else if (value->number < min || value->number > max) {
        pawl_decoding_refuse(decoding, "%s: %" PRId64 " is not from %" PRId64 " to %" PRId64,
                             field_names[field], value->number, min, max);
    } else {
        return value->number;
    }
    return otherwise;
}

static int64_t take_instant(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                            enum pawl_old_field field, const char *otherwise)
{
    const struct pawl_old_value *value = value_at(record, field);
    if (value->kind == PAWL_OLD_NONE) return 0;
    if (value->kind == PAWL_OLD_TEXT) {
        return pawl_decoding_instant(decoding, field_names[field], value->text, otherwise);
    }
    pawl_decoding_remark(decoding, "%s: is no instant: %s", field_names[field], otherwise);
    return 0;
}

/* A list or an object: nested in the JSON form, text in the SQLite form. NULL if there is none. */
static struct pawl_json *take_json(struct pawl_decoding *decoding,
                                   const struct pawl_old_record *record, enum pawl_old_field field,
                                   enum pawl_json_kind kind, int32_t levels)
{
    struct pawl_error err;
    struct pawl_json *root;
    const struct pawl_old_value *value = value_at(record, field);
    if (value->kind == PAWL_OLD_NONE) return NULL;
    if (value->kind != PAWL_OLD_TEXT && value->kind != PAWL_OLD_JSON) {
        pawl_decoding_refuse(decoding, "%s: is no JSON", field_names[field]);
        return NULL;
    }
    if (pawl_json_parse_top(value->text, levels, decoding->keep, &root, &err) != PAWL_OK) {
        pawl_decoding_refuse(decoding, "%s: %s", field_names[field], err.text);
        return NULL;
    }
    if (root->kind == kind) return root;
    pawl_decoding_refuse(decoding, "%s: is no JSON %s", field_names[field],
                         kind == PAWL_JSON_ARRAY ? "array" : "object");
    return NULL;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static void take_id(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                    struct pawl_import_task *out)
{
    const struct pawl_old_value *value = value_at(record, PAWL_OLD_ID);
    bool is_good = value->kind == PAWL_OLD_TEXT && value->text.len > 0 &&
                   value->text.len <= PAWL_TASK_ID_STORED_BYTES_MAX;
    for (size_t i = 0; is_good && i < value->text.len; i++) {
        char c = value->text.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        is_good = is_letter || (i > 0 && (c == '.' || c == '_' || c == '-'));
    }
    decoding->task = record->name;
    if (value->kind == PAWL_OLD_NONE) {
        pawl_decoding_refuse(decoding, "id: is missing");
    } else if (!is_good) {
        pawl_decoding_refuse(decoding,
                             "id: is not 1 to %d letters, digits and . _ - after a letter or digit",
                             PAWL_TASK_ID_STORED_BYTES_MAX);
    } else {
        decoding->task = value->text;
        out->id = value->text;
    }
}

static void take_state(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                       struct pawl_import_task *out)
{
    struct pawl_str name = take_text(decoding, record, PAWL_OLD_STATUS);
    out->state = PAWL_TASK_PENDING;
    if (value_at(record, PAWL_OLD_STATUS)->kind != PAWL_OLD_TEXT) return;
    if (pawl_old_state_find(name, &out->state)) return;
    pawl_decoding_refuse(decoding, "status: \"%.*s\" is none", PAWL_STR_ARG(quoted(name)));
}

static bool equals_upper(struct pawl_str text, const char *upper)
{
    struct pawl_str other = pawl_str_of(upper);
    bool is_equal = text.len == other.len;
    for (size_t i = 0; is_equal && i < text.len; i++) {
        char c = text.ptr[i];
        is_equal = (c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c) == other.ptr[i];
    }
    return is_equal;
}

static void take_priority(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                          struct pawl_import_task *out)
{
    static const struct {
        const char *name;
        int32_t number;
    } names[] = {{"LOW", 10}, {"MEDIUM", 20}, {"HIGH", 30}, {"CRITICAL", 40}};
    const struct pawl_old_value *value = value_at(record, PAWL_OLD_PRIORITY);
    out->priority = PAWL_PRIORITY_DEFAULT;
    if (value->kind == PAWL_OLD_NONE) return;
    struct pawl_str name = value->kind == PAWL_OLD_TEXT ? pawl_str_trim(value->text) : none;
    for (size_t i = 0; i < PAWL_COUNT_OF(names); i++) {
        if (!equals_upper(name, names[i].name)) continue;
        out->priority = names[i].number;
        return;
    }
    pawl_decoding_remark(decoding, "priority: \"%.*s\" is none: MEDIUM",
                         PAWL_STR_ARG(quoted(name)));
}

static void take_progress(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                          struct pawl_import_task *out)
{
    const struct pawl_old_value *value = value_at(record, PAWL_OLD_PROGRESS);
    double percent = 0.0;
    if (value->kind == PAWL_OLD_INT64) percent = (double)value->number;
    if (value->kind == PAWL_OLD_DOUBLE) percent = value->real;
    bool is_number = value->kind == PAWL_OLD_NONE || value->kind == PAWL_OLD_INT64 ||
                     (value->kind == PAWL_OLD_DOUBLE && percent == percent);
    if (!is_number) {
        pawl_decoding_refuse(decoding, "progress: is no number");
        return;
    }
    if (percent < 0.0 || percent > 100.0)
        pawl_decoding_remark(decoding, "progress: kept within 0 to 100");
    out->progress = percent < 0.0 ? 0.0 : percent > 100.0 ? 100.0 : percent;
}

static void take_max_retries(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                             struct pawl_import_task *out)
{
    int64_t count = take_int64(decoding, record, PAWL_OLD_MAX_RETRIES, INT64_MIN, INT64_MAX,
                               PAWL_RETRY_COUNT_DEFAULT);
    int64_t kept = count < 0 ? 0 : count > PAWL_RETRIES_MAX ? PAWL_RETRIES_MAX : count;
    if (kept != count) {
        pawl_decoding_remark(decoding, "max_retries: %" PRId64 " is not from 0 to %d: %" PRId64,
                             count, PAWL_RETRIES_MAX, kept);
    }
    out->max_retries = (int32_t)kept;
}

static void take_texts(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                       struct pawl_import_task *out)
{
    out->goal = take_short_text(decoding, record, PAWL_OLD_GOAL, PAWL_GOAL_BYTES_MAX);
    struct pawl_str title =
        pawl_title_derive(take_text(decoding, record, PAWL_OLD_TITLE), out->goal, decoding->keep);
    out->title = pawl_utf8_cut_points(title, PAWL_TITLE_POINTS_MAX);
    if (out->title.len < title.len) {
        pawl_decoding_remark(decoding, "title: cut to %d characters", PAWL_TITLE_POINTS_MAX);
    }
    struct pawl_str error = take_text(decoding, record, PAWL_OLD_ERROR);
    out->error = pawl_utf8_cut_bytes(error, PAWL_ERROR_BYTES_MAX);
    if (out->error.len < error.len)
        pawl_decoding_remark(decoding, "error: cut to %d bytes", PAWL_ERROR_BYTES_MAX);
    out->owner = take_short_text(decoding, record, PAWL_OLD_OWNER_ID, PAWL_REASON_BYTES_MAX);
}

/* A result was text there. What is JSON stays as it is, as with the output of a command; other text
 * becomes a JSON string. */
static void take_result(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                        struct pawl_import_task *out)
{
    const struct pawl_old_value *value = value_at(record, PAWL_OLD_RESULT);
    if (value->kind == PAWL_OLD_JSON) {
        out->result = value->text;
    } else {
        struct pawl_str text = take_text(decoding, record, PAWL_OLD_RESULT);
        if (value->kind != PAWL_OLD_TEXT) return;
        out->result = text;
        if (text.len == 0 || pawl_json_check(text, decoding->keep, NULL) != PAWL_OK) {
            struct pawl_json_writer w;
            pawl_json_writer_init(&w, decoding->keep);
            pawl_json_put_text(&w, text);
            out->result = pawl_json_writer_done(&w);
        }
    }
    if (out->result.len > PAWL_PAYLOAD_BYTES_MAX) {
        pawl_decoding_refuse(decoding, "result: %zu bytes; at most %d", out->result.len,
                             PAWL_PAYLOAD_BYTES_MAX);
    }
}

/* The bound id outlives the lease: whoever looks into what became of the work needs it. */
static void keep_remote_id(struct pawl_decoding *decoding, const struct pawl_json *metadata,
                           struct pawl_str remote_id, struct pawl_import_task *out)
{
    struct pawl_str was = none;
    struct pawl_json_writer w;
    const struct pawl_json *named = pawl_json_member(metadata, PAWL_STR("remote_execution_id"));
    if (pawl_json_text(named, decoding->keep, &was) && pawl_str_equal(was, remote_id)) return;
    pawl_json_writer_init(&w, decoding->keep);
    pawl_json_begin_object(&w);
    for (const struct pawl_json *at = pawl_json_first(metadata); at != NULL;
         at = pawl_json_next(at)) {
        struct pawl_str key;
        if (at == named || !pawl_json_key(at, decoding->keep, &key)) continue;
        pawl_json_put_key_str(&w, key);
        pawl_json_put_raw(&w, at->raw);
    }
    pawl_json_put_member_text(&w, "remote_execution_id", remote_id);
    pawl_json_end_object(&w);
    out->metadata = pawl_json_writer_done(&w);
    pawl_decoding_remark(decoding, "remote_execution_id: kept in the metadata");
}

static void take_metadata(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                          struct pawl_import_task *out)
{
    struct pawl_str remote_id =
        take_short_text(decoding, record, PAWL_OLD_REMOTE_EXECUTION_ID, PAWL_REASON_BYTES_MAX);
    const struct pawl_json *root =
        take_json(decoding, record, PAWL_OLD_METADATA, PAWL_JSON_OBJECT, 1);
    struct pawl_str text = none;
    if (root != NULL && root->child_count > 0) out->metadata = root->raw;
    if (pawl_json_text(pawl_json_member(root, PAWL_STR("execution_mode")), decoding->keep, &text)) {
        out->is_remote = pawl_str_equal(text, PAWL_STR("remote"));
    }
    const struct pawl_json *named = pawl_json_member(root, PAWL_STR("correlation_id"));
    if (pawl_json_text(named, decoding->keep, &text) && pawl_correlation_id_is(text)) {
        out->correlation_id = text;
    } else if (named != NULL && named->kind != PAWL_JSON_NULL) {
        pawl_decoding_remark(decoding, "metadata: correlation_id is not one: made from the id");
    }
    if (remote_id.len > 0) keep_remote_id(decoding, root, remote_id, out);
    if (out->metadata.len > PAWL_METADATA_BYTES_MAX) {
        pawl_decoding_refuse(decoding, "metadata: %zu bytes; at most %d", out->metadata.len,
                             PAWL_METADATA_BYTES_MAX);
    }
}

static void take_dependencies(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                              struct pawl_import_task *out)
{
    const struct pawl_json *root =
        take_json(decoding, record, PAWL_OLD_DEPENDS_ON, PAWL_JSON_ARRAY, 1);
    if (root == NULL || root->child_count == 0) return;
    if (root->child_count > PAWL_DEPENDENCIES_MAX) {
        pawl_decoding_refuse(decoding, "depends_on: %" PRIu32 "; at most %d", root->child_count,
                             PAWL_DEPENDENCIES_MAX);
        return;
    }
    struct pawl_str *ids = pawl_arena_take_array(decoding->keep, root->child_count, sizeof *ids);
    size_t count = 0;
    for (const struct pawl_json *at = pawl_json_first(root); ids != NULL && at != NULL;
         at = pawl_json_next(at)) {
        struct pawl_str id;
        bool is_id = pawl_json_text(at, decoding->keep, &id) && id.len > 0 &&
                     id.len <= PAWL_TASK_ID_STORED_BYTES_MAX;
        if (!is_id) {
            pawl_decoding_refuse(decoding, "depends_on: %.*s is no id",
                                 PAWL_STR_ARG(quoted(at->raw)));
            return;
        }
        bool is_twice = false;
        for (size_t i = 0; i < count && !is_twice; i++) is_twice = pawl_str_equal(ids[i], id);
        if (is_twice) {
            pawl_decoding_remark(decoding, "depends_on: %.*s is named twice: once is enough",
                                 PAWL_STR_ARG(id));
        } else {
            ids[count++] = id;
        }
    }
    out->depends_on = ids;
    out->depends_on_count = count;
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

static bool is_checkpoint_key(struct pawl_str key)
{
    static const char *const keys[] = {"checkpoint_id", "task_id",  "step_index", "state_data",
                                       "timestamp",     "metadata", "version"};
    for (size_t i = 0; i < PAWL_COUNT_OF(keys); i++) {
        if (pawl_str_equal(key, pawl_str_of(keys[i]))) return true;
    }
    return false;
}

static void take_checkpoint(struct pawl_decoding *decoding, const struct pawl_json *node,
                            size_t number, struct pawl_import_checkpoint *out)
{
    int64_t step = 0;
    struct pawl_str at_text;
    const struct pawl_json *state = pawl_json_member(node, PAWL_STR("state_data"));
    const struct pawl_json *at = pawl_json_member(node, PAWL_STR("timestamp"));
    for (const struct pawl_json *member = pawl_json_first(node); member != NULL;
         member = pawl_json_next(member)) {
        if (!is_checkpoint_key(member->key))
            pawl_import_ignore_key(decoding->report, "checkpoint", member->key);
    }
    if (!pawl_json_int64(pawl_json_member(node, PAWL_STR("step_index")), &step) || step < 0 ||
        step > INT32_MAX) {
        pawl_decoding_refuse(decoding, "checkpoints: number %zu has no step_index from 0 to %d",
                             number, INT32_MAX);
    }
    if (state == NULL) {
        pawl_decoding_refuse(decoding, "checkpoints: number %zu has no state_data", number);
    } else if (state->raw.len > PAWL_PAYLOAD_BYTES_MAX) {
        pawl_decoding_refuse(decoding, "checkpoints: number %zu has %zu bytes; at most %d", number,
                             state->raw.len, PAWL_PAYLOAD_BYTES_MAX);
    } else {
        out->state = state->raw;
    }
    out->step = (int32_t)step;
    if (at == NULL) return;
    if (!pawl_json_text(at, decoding->keep, &at_text)) at_text = at->raw;
    out->at_ms =
        pawl_decoding_instant(decoding, "checkpoints: timestamp", at_text, "the time of import");
}

static void take_checkpoints(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                             struct pawl_import_task *out)
{
    const struct pawl_json *root =
        take_json(decoding, record, PAWL_OLD_CHECKPOINTS, PAWL_JSON_ARRAY, 2);
    if (root == NULL || root->child_count == 0) return;
    struct pawl_import_checkpoint *kept =
        pawl_arena_take_array(decoding->keep, root->child_count, sizeof *kept);
    size_t count = 0;
    size_t number = 0;
    for (const struct pawl_json *at = pawl_json_first(root); kept != NULL && at != NULL;
         at = pawl_json_next(at)) {
        number++;
        if (at->kind == PAWL_JSON_OBJECT) {
            take_checkpoint(decoding, at, number, &kept[count++]);
        } else {
            pawl_decoding_remark(decoding, "checkpoints: number %zu is no object: left out",
                                 number);
        }
    }
    size_t left = count > PAWL_CHECKPOINTS_KEPT ? count - PAWL_CHECKPOINTS_KEPT : 0;
    if (left > 0) {
        pawl_decoding_remark(decoding, "checkpoints: the oldest %zu left out; %d are kept", left,
                             PAWL_CHECKPOINTS_KEPT);
    }
    out->checkpoints = kept == NULL ? NULL : kept + left;
    out->checkpoint_count = count - left;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void take_instants(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                          struct pawl_import_task *out)
{
    bool is_waiting = out->state == PAWL_TASK_QUEUED || out->state == PAWL_TASK_PENDING;
    out->created_at_ms = take_instant(decoding, record, PAWL_OLD_CREATED_AT, "the time of import");
    out->updated_at_ms = take_instant(decoding, record, PAWL_OLD_UPDATED_AT, "the time of import");
    int64_t run_at_ms = take_instant(decoding, record, PAWL_OLD_NEXT_RETRY_AT, "none");
    bool is_never = run_at_ms >= PAWL_INSTANT_MS_MAX - PAWL_DELAY_MS_MAX;
    if (is_waiting && !is_never) out->run_at_ms = run_at_ms;
    if (is_waiting && is_never) pawl_decoding_remark(decoding, "next_retry_at: is beyond the year 9998: none");
    /* nobody goes by it any more; a RUNNING task is over in any case */
    if (out->state == PAWL_TASK_RUNNING) {
        (void)take_instant(decoding, record, PAWL_OLD_LEASE_EXPIRES_AT, "its lease is over");
    }
}

bool pawl_old_record_decode(const struct pawl_old_record *record, struct pawl_str file_name,
                            struct pawl_import_report *report, struct pawl_arena *keep,
                            struct pawl_import_task *out)
{
    struct pawl_decoding decoding = {.report = report, .keep = keep};
    *out = (struct pawl_import_task){0};
    take_id(&decoding, record, out);
    take_state(&decoding, record, out);
    take_priority(&decoding, record, out);
    take_progress(&decoding, record, out);
    out->retries = (int32_t)take_int64(&decoding, record, PAWL_OLD_RETRIES, 0, PAWL_COUNT_MAX, 0);
    take_max_retries(&decoding, record, out);
    out->version = take_int64(&decoding, record, PAWL_OLD_VERSION, 1, PAWL_NUMBER_IMPORTED_MAX, 1);
    out->epoch = take_int64(&decoding, record, PAWL_OLD_LEASE_EPOCH, 0, PAWL_NUMBER_IMPORTED_MAX, 0);
    take_texts(&decoding, record, out);
    take_result(&decoding, record, out);
    take_metadata(&decoding, record, out);
    take_dependencies(&decoding, record, out);
    take_instants(&decoding, record, out);
    take_checkpoints(&decoding, record, out);
    const struct pawl_json *history =
        take_json(&decoding, record, PAWL_OLD_HISTORY, PAWL_JSON_ARRAY, 0);
    pawl_old_history_decode(&decoding, record, history == NULL ? none : history->raw, out);
    out->note =
        pawl_arena_format(keep, "imported from %.*s%s%.*s", PAWL_STR_ARG(file_name),
                          out->owner.len > 0 ? ", last held by " : "", PAWL_STR_ARG(out->owner));
    return !decoding.is_refused;
}
