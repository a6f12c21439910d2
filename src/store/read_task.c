/* A task as people see it: its row, the names that its keys stand for, and what lies beside it. */
#include "store/reader.h"

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "core/task/metadata.h"
#include "store/rows.h"

/* READ_TASK: the columns of pawl_row_task, then these. */
enum {
    COLUMN_QUEUE = PAWL_ROW_TASK_COLUMNS,
    COLUMN_IS_PAUSED,
    COLUMN_OWNER,
    COLUMN_BLOCKER,
    COLUMN_BLOCKER_STATE,
    COLUMN_QUARANTINE,
};

static enum pawl_code on_task(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct pawl_task_about *about = self;
    const char *fault = pawl_row_task(row, about->keep, &about->row);
    about->is_found = true;
    about->queue = pawl_row_text(row, COLUMN_QUEUE, about->keep);
    about->is_queue_paused = pawl_db_int64(row, COLUMN_IS_PAUSED) != 0;
    about->owner = pawl_row_text(row, COLUMN_OWNER, about->keep);
    about->blocked_by = pawl_row_text(row, COLUMN_BLOCKER, about->keep);
    int64_t state = pawl_db_int64(row, COLUMN_BLOCKER_STATE);
    if (pawl_task_state_is(state)) about->blocker_state = (enum pawl_task_state)state;
    if (fault == NULL && about->queue.len == 0) fault = "its queue is missing";
    about->fault = pawl_str_of(fault);
    if (!pawl_db_is_null(row, COLUMN_QUARANTINE)) {
        about->fault = pawl_row_text(row, COLUMN_QUARANTINE, about->keep);
    }
    return PAWL_OK;
}

enum pawl_code pawl_reader_send_task(struct pawl_reader *reader, int64_t key,
                                     struct pawl_arena *keep, struct pawl_task_about *about,
                                     struct pawl_error *err)
{
    struct pawl_value value = pawl_int(key);
    *about = (struct pawl_task_about){.keep = keep};
    return pawl_db_send(reader->db, PAWL_SQL_READ_TASK, &value, 1, on_task, about, err);
}

enum pawl_code pawl_reader_get_task(struct pawl_reader *reader, struct pawl_str id,
                                    struct pawl_arena *keep, struct pawl_task_about *about,
                                    struct pawl_error *err)
{
    int64_t key;
    enum pawl_code code = pawl_reader_find(reader, id, &key, err);
    if (code == PAWL_OK) code = pawl_reader_send_task(reader, key, keep, about, err);
    if (code == PAWL_OK) code = pawl_db_flush(reader->db, err);
    if (code != PAWL_OK) return code;
    if (!about->is_found) about->fault = PAWL_STR("its row is gone"); /* the index says otherwise */
    return about->fault.len == 0 ? PAWL_OK : pawl_reader_fault(id, about->fault, err);
}

/* ---- What lies beside the row ---------------------------------------------------------------- */

struct payload {
    struct pawl_arena *keep;
    struct pawl_str body;
    bool is_found;
};

struct dependencies {
    struct pawl_arena *keep;
    struct pawl_str *ids;
    size_t count;
};

struct beside {
    struct payload payloads[PAWL_PAYLOAD_KIND_COUNT];
    struct dependencies depends_on;
};

static enum pawl_code on_payload(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct payload *payload = self;
    payload->body = pawl_row_text(row, 0, payload->keep);
    payload->is_found = true;
    return PAWL_OK;
}

static enum pawl_code on_dependency(void *self, const struct pawl_db_row *row,
                                    struct pawl_error *err)
{
    (void)err;
    struct dependencies *list = self;
    if (list->ids == NULL) {
        list->ids = pawl_arena_take_array(list->keep, PAWL_DEPENDENCIES_MAX, sizeof *list->ids);
    }
    if (list->ids == NULL || list->count == PAWL_DEPENDENCIES_MAX) return PAWL_OK;
    if (pawl_db_is_null(row, 0)) return PAWL_OK; /* removed, and its tombstone too */
    list->ids[list->count++] = pawl_row_text(row, 0, list->keep);
    return PAWL_OK;
}

static bool has_payload(const struct pawl_task_row *task, int32_t kind)
{
    return (task->payloads & (1u << kind)) != 0;
}

/* Error and reason belong to a task as it is shown anywhere; the rest may be large. */
static bool is_wanted(int32_t kind, bool with_payload)
{
    return with_payload || kind == PAWL_PAYLOAD_ERROR || kind == PAWL_PAYLOAD_CONTROL_REASON ||
           kind == PAWL_PAYLOAD_RECOVERY_NOTE;
}

static enum pawl_code send_beside(struct pawl_reader *reader, const struct pawl_task_row *task,
                                  bool with_payload, struct pawl_arena *keep, struct beside *beside,
                                  struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    for (int32_t kind = 0; kind < PAWL_PAYLOAD_KIND_COUNT && code == PAWL_OK; kind++) {
        if (!has_payload(task, kind) || !is_wanted(kind, with_payload)) continue;
        struct pawl_value value = pawl_int(task->key * PAWL_PAYLOAD_KINDS_MAX + kind);
        beside->payloads[kind].keep = keep;
        code = pawl_db_send(reader->db, PAWL_SQL_PAYLOAD_GET, &value, 1, on_payload,
                            &beside->payloads[kind], err);
    }
    if (code != PAWL_OK || !with_payload) return code;
    struct pawl_value values[] = {pawl_int(task->key), pawl_int(0 /* open or not */),
                                  pawl_int(PAWL_DEPENDENCIES_MAX)};
    beside->depends_on.keep = keep;
    return pawl_db_send(reader->db, PAWL_SQL_READ_DEPENDENCIES, values, 3, on_dependency,
                        &beside->depends_on, err);
}

/* Whether a failed check means the payload, or that there is no room to check it. */
static bool is_of_arena(enum pawl_code code)
{
    return code == PAWL_TOO_LARGE || code == PAWL_NO_MEMORY;
}

/* What is shown as JSON must be JSON, however it came into the file. Sets the fault if it is not.
 */
static enum pawl_code check_payloads(struct pawl_reader *reader, struct pawl_task_about *about,
                                     struct beside *beside, struct pawl_str correlation_id,
                                     struct pawl_arena *keep, struct pawl_error *err)
{
    static const struct {
        enum pawl_payload_kind kind;
        const char *name;
    } checked[] = {{PAWL_PAYLOAD_INPUT, "input"}, {PAWL_PAYLOAD_RESULT, "result"}};
    struct pawl_error why = {0};

    for (size_t i = 0; i < sizeof checked / sizeof checked[0]; i++) {
        struct pawl_str body = beside->payloads[checked[i].kind].body;
        if (body.len == 0) continue;
        enum pawl_code code = pawl_json_check(body, reader->scratch, &why);
        if (is_of_arena(code)) return pawl_error_set(err, code, "%s", why.text);
        if (code == PAWL_OK) continue;
        about->fault = pawl_arena_format(keep, "its %s: %s", checked[i].name, why.text);
        return PAWL_OK;
    }
    struct pawl_str *metadata = &beside->payloads[PAWL_PAYLOAD_METADATA].body;
    struct pawl_arena_mark mark = pawl_arena_mark(reader->scratch);
    enum pawl_code code =
        pawl_metadata_show(*metadata, correlation_id, reader->scratch, keep, metadata, &why);
    if (is_of_arena(code)) return pawl_error_set(err, code, "%s", why.text);
    pawl_arena_rewind(reader->scratch, mark);
    if (code != PAWL_OK) about->fault = pawl_arena_format(keep, "its metadata: %s", why.text);
    return PAWL_OK;
}

static size_t count_bytes(const struct beside *beside)
{
    size_t bytes = 0;
    for (size_t i = 0; i < PAWL_PAYLOAD_KIND_COUNT; i++) bytes += beside->payloads[i].body.len;
    return bytes;
}

static struct pawl_task show(const struct pawl_task_about *about, const struct beside *beside,
                             struct pawl_str correlation_id)
{
    const struct pawl_task_row *row = &about->row;
    bool is_owned = row->state == PAWL_TASK_RUNNING || row->state == PAWL_TASK_RECOVERY_PENDING;
    return (struct pawl_task){
        .id = row->id,
        .queue = about->queue,
        .title = row->title,
        .goal = beside->payloads[PAWL_PAYLOAD_GOAL].body,
        .input = beside->payloads[PAWL_PAYLOAD_INPUT].body,
        .metadata = beside->payloads[PAWL_PAYLOAD_METADATA].body,
        .result = beside->payloads[PAWL_PAYLOAD_RESULT].body,
        .error = beside->payloads[PAWL_PAYLOAD_ERROR].body,
        .correlation_id = correlation_id,
        .key = row->idempotency_key,
        .state = row->state,
        .priority = row->priority,
        .progress = row->progress,
        .progress_epoch = row->progress_epoch,
        .retries = row->retries,
        .recoveries = row->recoveries,
        .max_retries = row->retry.max_retries,
        .version = row->version,
        .epoch = row->epoch,
        .owner = is_owned ? about->owner : (struct pawl_str){0},
        .lease_end_at_ms = row->lease_end_at_ms,
        .lease_ms = row->lease_ms,
        .next_retry_at_ms = row->ready_at_ms,
        .timeout_ms = row->timeout_ms,
        .created_at_ms = row->created_at_ms,
        .updated_at_ms = row->updated_at_ms,
        .started_at_ms = row->started_at_ms,
        .finished_at_ms = row->finished_at_ms,
        .control = row->control,
        .control_reason = beside->payloads[PAWL_PAYLOAD_CONTROL_REASON].body,
        .control_deadline_at_ms = row->control_deadline_at_ms,
        .open_dependencies = row->open_dependencies,
        .blocked_by = about->blocked_by,
        .depends_on = beside->depends_on.ids,
        .depends_on_count = beside->depends_on.count,
        .is_supervised = row->lease_kind == PAWL_LEASE_SUPERVISED,
        .lease_place = row->lease_place,
        .recovery_note = beside->payloads[PAWL_PAYLOAD_RECOVERY_NOTE].body,
        .recovery_look_at_ms = row->state == PAWL_TASK_RECOVERY_PENDING ? row->due_at_ms : 0,
    };
}

/* A payload that the row names must be there. */
static bool has_all(const struct pawl_task_row *task, const struct beside *beside,
                    bool with_payload)
{
    for (int32_t kind = 0; kind < PAWL_PAYLOAD_KIND_COUNT; kind++) {
        bool is_due = has_payload(task, kind) && is_wanted(kind, with_payload);
        if (is_due && !beside->payloads[kind].is_found) return false;
    }
    return true;
}

static bool can_tell_time(const struct pawl_reader *reader)
{
    return reader->db->driver->clock != NULL || reader->env != NULL;
}

enum pawl_code pawl_reader_show_tasks(struct pawl_reader *reader, struct pawl_task_about *abouts,
                                      size_t count, bool with_payload, struct pawl_arena *keep,
                                      struct pawl_task *out, size_t *bytes, struct pawl_error *err)
{
    struct beside *besides = pawl_arena_take_array(reader->scratch, count, sizeof *besides);
    if (besides == NULL) {
        return pawl_error_set(err, pawl_arena_code(reader->scratch), "no memory to read");
    }
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < count && code == PAWL_OK; i++) {
        code = send_beside(reader, &abouts[i].row, with_payload, keep, &besides[i], err);
    }
    if (code == PAWL_OK) code = pawl_db_flush(reader->db, err);
    bool has_leases = false;
    for (size_t i = 0; i < count; i++) {
        has_leases = has_leases || abouts[i].row.state == PAWL_TASK_RUNNING;
    }
    int64_t now_ms = INT64_MAX; /* who cannot tell the time knows of none that is left */
    if (code == PAWL_OK && has_leases && can_tell_time(reader)) {
        code = pawl_reader_now(reader, &now_ms, err);
    }
    for (size_t i = 0; i < count && code == PAWL_OK; i++) {
        const struct pawl_task_row *row = &abouts[i].row;
        struct pawl_str correlation_id = pawl_correlation_id(row->id, row->correlation_id, keep);
        if (!has_all(row, &besides[i], with_payload)) {
            abouts[i].fault = PAWL_STR("a payload is missing");
        } else if (with_payload) {
            code = check_payloads(reader, &abouts[i], &besides[i], correlation_id, keep, err);
        }
        *bytes += count_bytes(&besides[i]);
        out[i] = show(&abouts[i], &besides[i], correlation_id);
        bool is_held = row->state == PAWL_TASK_RUNNING && row->lease_end_at_ms > now_ms;
        if (is_held) out[i].lease_left_ms = row->lease_end_at_ms - now_ms;
    }
    return code;
}

/* ---- One task -------------------------------------------------------------------------------- */

static enum pawl_code read_task(struct pawl_reader *reader, struct pawl_str id, bool with_payload,
                                struct pawl_arena *keep, struct pawl_task *out,
                                struct pawl_error *err)
{
    struct pawl_task_about about;
    size_t bytes = 0;
    enum pawl_code code = pawl_reader_get_task(reader, id, keep, &about, err);
    if (code == PAWL_OK) {
        code = pawl_reader_show_tasks(reader, &about, 1, with_payload, keep, out, &bytes, err);
    }
    if (code != PAWL_OK || about.fault.len == 0) return code;
    return pawl_reader_fault(id, about.fault, err);
}

enum pawl_code pawl_read_task(struct pawl_reader *reader, struct pawl_str id, bool with_payload,
                              struct pawl_arena *keep, struct pawl_task *out,
                              struct pawl_error *err)
{
    struct pawl_task found = {0};
    enum pawl_code code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code =
        pawl_reader_end(reader, keep, read_task(reader, id, with_payload, keep, &found, err), err);
    if (code == PAWL_OK) *out = found;
    return code;
}
