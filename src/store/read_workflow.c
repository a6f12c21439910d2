#include "store/read_workflow.h"

#include "base/error.h"
#include "base/str.h"
#include "store/reader.h"
#include "store/rows.h"

/* ---- Payloads ---- */

struct payload {
    struct pawl_arena *keep;
    struct pawl_str *out;
};

static enum pawl_code on_payload(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct payload *payload = self;
    (void)err;
    *payload->out = pawl_row_text(row, 0, payload->keep);
    return PAWL_OK;
}

/* Sends for a payload if its owner has it. */
static enum pawl_code send_payload(struct pawl_reader *reader, uint32_t payloads, int64_t owner,
                                   int32_t kind, struct pawl_arena *keep, struct pawl_str *out,
                                   struct pawl_error *err)
{
    if ((payloads & (1u << kind)) == 0) return PAWL_OK;
    struct payload *payload = pawl_arena_take(reader->scratch, sizeof *payload);
    if (payload == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to read a workflow");
    *payload = (struct payload){keep, out};
    struct pawl_value key = pawl_int(owner * PAWL_PAYLOAD_KINDS_MAX + kind);
    return pawl_db_send(reader->db, PAWL_SQL_PAYLOAD_GET, &key, 1, on_payload, payload, err);
}

/* ---- Records ---- */

/* READ_RECORDS and READ_RECORD: the columns of pawl_row_record, then these. */
enum {
    COLUMN_TASK_ID = PAWL_ROW_RECORD_COLUMNS,
    COLUMN_STATE,
    COLUMN_EPOCH,
    COLUMN_CLAIMS,
    COLUMN_PRIORITY,
    COLUMN_STARTED,
    COLUMN_UPDATED,
    COLUMN_FINISHED,
    COLUMN_LEASE_END,
    COLUMN_RESPONSE,
    COLUMN_PAYLOADS,
    COLUMN_CORRELATION,
    COLUMN_QUEUE,
    COLUMN_OWNER,
    COLUMN_PREDECESSOR,
    COLUMN_WORKFLOW,
    COLUMN_WORKFLOW_NAME,
};

struct records {
    struct pawl_arena *keep;
    struct pawl_record_view *items;
    uint32_t *payloads;
    size_t count;
    size_t room;
    const char *fault;
};

static enum pawl_code on_record(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct records *records = self;
    (void)err;
    if (records->count == records->room) return PAWL_OK;
    struct pawl_record_view *view = &records->items[records->count];
    struct pawl_arena *keep = records->keep;
    *view = (struct pawl_record_view){0};
    const char *fault = pawl_row_record(row, keep, &view->row);
    if (fault != NULL) records->fault = fault;
    bool is_held = view->row.status == PAWL_RECORD_SCHEDULED &&
                   pawl_db_int64(row, COLUMN_STATE) == PAWL_TASK_RUNNING;
    if (is_held) view->row.status = PAWL_RECORD_IN_PROGRESS;
    view->task_id = pawl_row_text(row, COLUMN_TASK_ID, keep);
    view->epoch = pawl_db_int64(row, COLUMN_EPOCH);
    view->claims = (int32_t)pawl_db_int64(row, COLUMN_CLAIMS);
    view->priority = (int32_t)pawl_db_int64(row, COLUMN_PRIORITY);
    view->started_at_ms = pawl_db_int64(row, COLUMN_STARTED);
    view->updated_at_ms = pawl_db_int64(row, COLUMN_UPDATED);
    view->finished_at_ms = pawl_db_int64(row, COLUMN_FINISHED);
    view->lease_end_at_ms = pawl_db_int64(row, COLUMN_LEASE_END);
    view->response_ms = pawl_db_int64(row, COLUMN_RESPONSE);
    records->payloads[records->count++] = (uint32_t)pawl_db_int64(row, COLUMN_PAYLOADS);
    view->correlation_id = pawl_row_text(row, COLUMN_CORRELATION, keep);
    view->queue = pawl_row_text(row, COLUMN_QUEUE, keep);
    view->owner = pawl_row_text(row, COLUMN_OWNER, keep);
    view->predecessor_id = pawl_row_text(row, COLUMN_PREDECESSOR, keep);
    view->workflow_id = pawl_row_text(row, COLUMN_WORKFLOW, keep);
    view->workflow_name = pawl_row_text(row, COLUMN_WORKFLOW_NAME, keep);
    if (is_held) view->row.worker = view->owner;
    return PAWL_OK;
}

static enum pawl_code make_room(struct records *records, struct pawl_reader *reader,
                                struct pawl_arena *keep, int32_t room, struct pawl_error *err)
{
    *records = (struct records){.keep = keep, .room = (size_t)room};
    records->items = pawl_arena_take_array(keep, (size_t)room, sizeof *records->items);
    records->payloads =
        pawl_arena_take_array(reader->scratch, (size_t)room, sizeof *records->payloads);
    if (records->items != NULL && records->payloads != NULL) return PAWL_OK;
    return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to read a workflow");
}

static enum pawl_code read_payloads(struct pawl_reader *reader, struct records *records,
                                    struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < records->count && code == PAWL_OK; i++) {
        struct pawl_record_view *view = &records->items[i];
        uint32_t has = records->payloads[i];
        int64_t task = view->row.task;
        code =
            send_payload(reader, has, task, PAWL_PAYLOAD_INPUT, records->keep, &view->input, err);
        if (code == PAWL_OK) {
            code = send_payload(reader, has, task, PAWL_PAYLOAD_RESULT, records->keep,
                                &view->output, err);
        }
        if (code == PAWL_OK) {
            code = send_payload(reader, has, task, PAWL_PAYLOAD_ERROR, records->keep, &view->reason,
                                err);
        }
    }
    return code == PAWL_OK ? pawl_db_flush(reader->db, err) : code;
}

static enum pawl_code read_run(struct pawl_reader *reader, int64_t run, int64_t after_seq,
                               int32_t limit, bool with_payloads, struct pawl_arena *keep,
                               struct pawl_record_page *out, struct pawl_error *err)
{
    struct records records;
    struct pawl_value values[] = {pawl_int(run), pawl_int(after_seq), pawl_int(limit)};
    enum pawl_code code = make_room(&records, reader, keep, limit, err);
    if (code == PAWL_OK)
        code = pawl_reader_ask(reader, PAWL_SQL_READ_RECORDS, values, 3, on_record, &records, err);
    if (code == PAWL_OK && records.fault != NULL) {
        code = pawl_error_set(err, PAWL_CORRUPT, "a record cannot be read: %s", records.fault);
    }
    if (code == PAWL_OK && with_payloads) code = read_payloads(reader, &records, err);
    *out = (struct pawl_record_page){
        .items = records.items, .count = records.count, .is_cut = records.count == (size_t)limit};
    return code;
}

/* ---- Workflows ---- */

/* READ_WORKFLOW: the columns of pawl_row_workflow, then these. */
enum { COLUMN_DEFINITION = PAWL_ROW_WORKFLOW_COLUMNS, COLUMN_FAILED };

struct one {
    struct pawl_arena *keep;
    struct pawl_workflow_view *view;
    const char *fault;
    bool is_found;
    bool with_payloads;
};

static enum pawl_code on_workflow(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct one *one = self;
    (void)err;
    one->is_found = true;
    one->fault = pawl_row_workflow(row, one->keep, &one->view->row);
    if (one->with_payloads)
        one->view->definition = pawl_row_text(row, COLUMN_DEFINITION, one->keep);
    one->view->failed_task_id = pawl_row_text(row, COLUMN_FAILED, one->keep);
    return PAWL_OK;
}

static enum pawl_code find(struct pawl_reader *reader, struct pawl_str id, bool with_payloads,
                           struct pawl_arena *keep, struct pawl_workflow_view *out,
                           struct pawl_error *err)
{
    struct pawl_value value = pawl_text(id);
    struct one one = {.keep = keep, .view = out, .with_payloads = with_payloads};
    *out = (struct pawl_workflow_view){0};
    enum pawl_code code =
        pawl_reader_ask(reader, PAWL_SQL_READ_WORKFLOW, &value, 1, on_workflow, &one, err);
    if (code != PAWL_OK) return code;
    if (!one.is_found)
        return pawl_error_set(err, PAWL_NOT_FOUND, "No such workflow: %.*s", PAWL_STR_ARG(id));
    if (one.fault == NULL) return PAWL_OK;
    return pawl_error_set(err, PAWL_CORRUPT, "workflow %.*s cannot be read: %s", PAWL_STR_ARG(id),
                          one.fault);
}

static enum pawl_code read_beside(struct pawl_reader *reader, const struct pawl_workflow_ask *ask,
                                  struct pawl_arena *keep, struct pawl_workflow_view *out,
                                  struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    for (int32_t kind = 0; kind < PAWL_WORKFLOW_PAYLOAD_COUNT && code == PAWL_OK; kind++) {
        bool is_small =
            kind == PAWL_WORKFLOW_PAYLOAD_REASON || kind == PAWL_WORKFLOW_PAYLOAD_FAILED;
        if (!ask->with_payloads && !is_small) continue;
        code = send_payload(reader, out->row.payloads, out->row.key, kind, keep,
                            &out->payloads[kind], err);
    }
    if (code == PAWL_OK) code = pawl_db_flush(reader->db, err);
    if (code != PAWL_OK || ask->tasks_max == 0) return code;
    return read_run(reader, out->row.run, 0, ask->tasks_max, ask->with_payloads, keep, &out->tasks,
                    err);
}

enum pawl_code pawl_read_workflow(struct pawl_reader *reader, struct pawl_str id,
                                  const struct pawl_workflow_ask *ask, struct pawl_arena *keep,
                                  struct pawl_workflow_view *out, struct pawl_error *err)
{
    enum pawl_code code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = find(reader, id, ask->with_payloads, keep, out, err);
    if (code == PAWL_OK) code = read_beside(reader, ask, keep, out, err);
    return pawl_reader_end(reader, keep, code, err);
}

enum pawl_code pawl_read_records(struct pawl_reader *reader, struct pawl_str workflow_id,
                                 int64_t after_seq, int32_t limit, bool with_payloads,
                                 struct pawl_arena *keep, struct pawl_record_page *out,
                                 struct pawl_error *err)
{
    struct pawl_workflow_view view;
    enum pawl_code code = pawl_reader_limit(limit, &limit, err);
    if (code == PAWL_OK) code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = find(reader, workflow_id, false, keep, &view, err);
    if (code == PAWL_OK)
        code = read_run(reader, view.row.run, after_seq, limit, with_payloads, keep, out, err);
    return pawl_reader_end(reader, keep, code, err);
}

enum pawl_code pawl_read_record(struct pawl_reader *reader, struct pawl_str task_id,
                                struct pawl_arena *keep, struct pawl_record_view *out,
                                struct pawl_error *err)
{
    struct pawl_value value = pawl_text(task_id);
    struct records records;
    enum pawl_code code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = make_room(&records, reader, keep, 1, err);
    if (code == PAWL_OK)
        code = pawl_reader_ask(reader, PAWL_SQL_READ_RECORD, &value, 1, on_record, &records, err);
    if (code == PAWL_OK && records.count == 0) {
        code = pawl_error_set(err, PAWL_NOT_FOUND, "No such task: %.*s", PAWL_STR_ARG(task_id));
    }
    if (code == PAWL_OK && records.fault != NULL) {
        code = pawl_error_set(err, PAWL_CORRUPT, "task %.*s: its record cannot be read: %s",
                              PAWL_STR_ARG(task_id), records.fault);
    }
    if (code == PAWL_OK) code = read_payloads(reader, &records, err);
    if (code == PAWL_OK) *out = records.items[0];
    return pawl_reader_end(reader, keep, code, err);
}

enum pawl_code pawl_read_records_newest(struct pawl_reader *reader, int64_t before, int32_t limit,
                                        struct pawl_arena *keep, struct pawl_record_page *out,
                                        struct pawl_error *err)
{
    struct records records = {0};
    enum pawl_code code = pawl_reader_limit(limit, &limit, err);
    if (code == PAWL_OK) code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    struct pawl_value values[] = {pawl_int(before == 0 ? INT64_MAX : before), pawl_int(limit)};
    code = make_room(&records, reader, keep, limit, err);
    if (code == PAWL_OK)
        code = pawl_reader_ask(reader, PAWL_SQL_READ_RECORDS_NEWEST, values, 2, on_record, &records,
                               err);
    if (code == PAWL_OK && records.fault != NULL) {
        code = pawl_error_set(err, PAWL_CORRUPT, "a record cannot be read: %s", records.fault);
    }
    *out = (struct pawl_record_page){
        .items = records.items, .count = records.count, .is_cut = records.count == (size_t)limit};
    return pawl_reader_end(reader, keep, code, err);
}

/* ---- Lists ---- */

struct rows {
    struct pawl_arena *keep;
    struct pawl_workflow_row *items;
    size_t count;
    size_t room;
    size_t read_count;
};

static enum pawl_code on_listed(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct rows *rows = self;
    (void)err;
    rows->read_count++;
    if (rows->count == rows->room) return PAWL_OK;
    bool is_readable = pawl_row_workflow(row, rows->keep, &rows->items[rows->count]) == NULL;
    if (is_readable) rows->count++;
    return PAWL_OK;
}

enum pawl_code pawl_read_workflows(struct pawl_reader *reader, const struct pawl_workflow_list *ask,
                                   struct pawl_arena *keep, struct pawl_workflow_page *out,
                                   struct pawl_error *err)
{
    int32_t limit;
    enum pawl_code code = pawl_reader_limit(ask->limit, &limit, err);
    if (code == PAWL_OK) code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    bool is_correlated = ask->correlation_id.len > 0;
    struct rows rows = {.keep = keep, .room = (size_t)limit};
    rows.items = pawl_arena_take_array(keep, rows.room, sizeof *rows.items);
    bool is_all = !is_correlated && ask->name.len == 0;
    int64_t before = ask->after == 0 ? INT64_MAX : ask->after;
    struct pawl_value values[] = {pawl_text(is_correlated ? ask->correlation_id : ask->name),
                                  pawl_int(ask->after), pawl_int(limit)};
    struct pawl_value newest[] = {pawl_int(before), pawl_int(limit)};
    enum pawl_statement statement = is_all          ? PAWL_SQL_READ_WORKFLOWS_NEWEST
                                    : is_correlated ? PAWL_SQL_READ_WORKFLOWS_CORRELATED
                                                    : PAWL_SQL_READ_WORKFLOWS_RUNNING;
    code = rows.items == NULL ? pawl_arena_code(keep)
                              : pawl_reader_ask(reader, statement, is_all ? newest : values,
                                                is_all ? 2 : 3, on_listed, &rows, err);
    *out = (struct pawl_workflow_page){
        .items = rows.items, .count = rows.count, .is_cut = rows.read_count == rows.room};
    return pawl_reader_end(reader, keep, code, err);
}
