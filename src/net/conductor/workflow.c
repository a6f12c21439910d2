/* Workflows, looked at. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "net/conductor/start.h"
#include "net/conductor/workflow_json.h"
#include "net/reading.h"

/* ---- Looking ---- */

struct looking {
    struct pawl_reading reading; /* first */
    const struct pawl_conductor *conductor;
    struct pawl_str id; /* of a workflow, or a name */
    bool with_tasks;
    bool with_output;
    bool with_variables;
    int64_t start;
    int64_t count;
    const struct pawl_str *statuses;
    size_t status_count;
    int64_t version;
    int64_t from_at_ms;
    int64_t to_at_ms;
    struct pawl_str name;
    const struct pawl_str *ids; /* or correlation ids */
    size_t id_count;
    bool with_closed;
    bool is_one; /* correlation: an array; else an object by correlation id */
};

static struct looking *begin(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                             pawl_reading_put *put)
{
    struct looking *looking = pawl_reading_begin(exchange, sizeof *looking, put);
    if (looking != NULL) looking->conductor = conductor;
    return looking;
}

static void add(struct looking *looking)
{
    if (pawl_exchange_has_failed(looking->reading.exchange)) return;
    pawl_reading_add(&looking->reading, looking->conductor->readers);
}

static enum pawl_code put_workflow(struct pawl_reading *reading, struct pawl_reader *reader,
                                   struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_arena *keep = reading->exchange->arena;
    struct pawl_workflow_view view;
    enum pawl_code code =
        pawl_shown_workflow_read(reader, looking->id, looking->with_tasks, keep, &view, err);
    if (code == PAWL_OK) pawl_shown_workflow_write(&view, keep, w);
    return code;
}

static void get_workflow(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, self, put_workflow);
    if (looking == NULL) return;
    looking->id = pawl_exchange_variable(exchange, "workflowId");
    looking->with_tasks = pawl_exchange_bool(exchange, "includeTasks", true);
    add(looking);
}

static enum pawl_code put_status(struct pawl_reading *reading, struct pawl_reader *reader,
                                 struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_workflow_view view;
    enum pawl_code code =
        pawl_shown_workflow_read(reader, looking->id, false, reading->exchange->arena, &view, err);
    if (code != PAWL_OK) return code;
    const struct pawl_str empty = PAWL_STR("{}");
    struct pawl_str output = view.payloads[PAWL_WORKFLOW_PAYLOAD_OUTPUT];
    struct pawl_str variables = view.payloads[PAWL_WORKFLOW_PAYLOAD_VARIABLES];
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "workflowId", view.row.id);
    if (view.row.correlation_id.len > 0) {
        pawl_json_put_member_text(w, "correlationId", view.row.correlation_id);
    }
    pawl_json_put_member_text(w, "status", pawl_str_of(pawl_workflow_state_name(view.row.state)));
    if (looking->with_output) {
        pawl_json_put_member_raw(w, "output", output.len > 0 ? output : empty);
    }
    if (looking->with_variables) {
        pawl_json_put_member_raw(w, "variables", variables.len > 0 ? variables : empty);
    }
    pawl_json_end_object(w);
    return PAWL_OK;
}

static void get_status(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, self, put_status);
    if (looking == NULL) return;
    looking->id = pawl_exchange_variable(exchange, "workflowId");
    looking->with_output = pawl_exchange_bool(exchange, "includeOutput", false);
    looking->with_variables = pawl_exchange_bool(exchange, "includeVariables", false);
    add(looking);
}

/* ---- Tasks of a workflow, by pages ---- */

static bool is_same_word(struct pawl_str a, struct pawl_str b)
{
    if (a.len != b.len) return false;
    for (size_t i = 0; i < a.len; i++) {
        char c = a.ptr[i];
        char d = b.ptr[i];
        if (c >= 'a' && c <= 'z') c = (char)(c - 'a' + 'A');
        if (c != d) return false;
    }
    return true;
}

static bool has_status(const struct looking *looking, enum pawl_record_status status)
{
    if (looking->status_count == 0) return true;
    for (size_t i = 0; i < looking->status_count; i++) {
        if (is_same_word(looking->statuses[i], pawl_str_of(pawl_record_status_name(status))))
            return true;
    }
    return false;
}

static enum pawl_code put_tasks(struct pawl_reading *reading, struct pawl_reader *reader,
                                struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_arena *keep = reading->exchange->arena;
    struct pawl_workflow_view view;
    struct pawl_shown_definition of;
    int64_t hits = 0;
    enum pawl_code code = pawl_shown_workflow_read(reader, looking->id, true, keep, &view, err);
    if (code != PAWL_OK) return code;
    pawl_shown_definition_read(&view, keep, &of);
    pawl_json_begin_object(w);
    pawl_json_put_key(w, "results");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < view.tasks.count; i++) {
        const struct pawl_record_view *record = &view.tasks.items[i];
        if (!has_status(looking, record->row.status)) continue;
        bool is_shown = hits >= looking->start && hits - looking->start < looking->count;
        hits++;
        if (!is_shown) continue;
        const struct pawl_shown_task shown = pawl_shown_task_recorded(record, &of);
        pawl_shown_task_write(&shown, w);
    }
    pawl_json_end_array(w);
    pawl_json_put_member_int64(w, "totalHits", hits);
    pawl_json_end_object(w);
    return PAWL_OK;
}

static void list_tasks(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, self, put_tasks);
    if (looking == NULL) return;
    looking->id = pawl_exchange_variable(exchange, "workflowId");
    looking->start = pawl_exchange_int64(exchange, "start", 0, INT32_MAX, 0);
    looking->count = pawl_exchange_int64(exchange, "count", 0, INT32_MAX, 15);
    looking->statuses = pawl_exchange_list(exchange, "status", &looking->status_count);
    add(looking);
}

/* ---- Lists of workflows ---- */

static bool is_looked_for(const struct looking *looking, const struct pawl_workflow_row *row,
                          bool has_window)
{
    bool is_its = row->definition_version == looking->version && pawl_str_equal(row->name, looking->name);
    bool is_in = has_window ? row->created_at_ms >= looking->from_at_ms && row->created_at_ms <= looking->to_at_ms
                            : row->state == PAWL_WORKFLOW_RUNNING;
    return is_its && is_in;
}

/* Ids of those of this name and version that run; with a window of time, of all that began in it. */
static enum pawl_code put_running(struct pawl_reading *reading, struct pawl_reader *reader,
                                  struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    bool has_window = looking->from_at_ms != 0 && looking->to_at_ms != 0;
    struct pawl_workflow_list ask = {.limit = PAWL_BATCH_MAX};
    struct pawl_workflow_page page = {0};
    struct pawl_arena *pages = NULL; /* the page that is looked at */
    enum pawl_code code = pawl_arena_open(&pages, 0);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no room for a page");
    if (!has_window) ask.name = looking->name;
    pawl_json_begin_array(w);
    do {
        pawl_arena_reset(pages);
        code = pawl_read_workflows(reader, &ask, pages, &page, err);
        for (size_t i = 0; i < page.count && code == PAWL_OK; i++) {
            const struct pawl_workflow_row *row = &page.items[i];
            ask.after = row->key;
            if (is_looked_for(looking, row, has_window)) pawl_json_put_text(w, row->id);
        }
    } while (code == PAWL_OK && page.is_cut && page.count > 0);
    pawl_json_end_array(w);
    pawl_arena_close(pages);
    return code;
}

static void list_running(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, self, put_running);
    if (looking == NULL) return;
    looking->name = pawl_exchange_variable(exchange, "name");
    looking->version = pawl_exchange_int64(exchange, "version", INT32_MIN, INT32_MAX, 1);
    looking->from_at_ms = pawl_exchange_int64(exchange, "startTime", 0, INT64_MAX, 0);
    looking->to_at_ms = pawl_exchange_int64(exchange, "endTime", 0, INT64_MAX, 0);
    add(looking);
}

static enum pawl_code put_correlated_one(const struct looking *looking, struct pawl_reader *reader,
                                         struct pawl_str correlation_id, struct pawl_json_writer *w,
                                         struct pawl_error *err)
{
    struct pawl_arena *keep = looking->reading.exchange->arena;
    struct pawl_workflow_list ask = {.correlation_id = correlation_id, .limit = PAWL_BATCH_MAX};
    struct pawl_workflow_page page = {0};
    enum pawl_code code = PAWL_OK;
    pawl_json_begin_array(w);
    do {
        code = pawl_read_workflows(reader, &ask, keep, &page, err);
        for (size_t i = 0; i < page.count && code == PAWL_OK; i++) {
            const struct pawl_workflow_row *row = &page.items[i];
            struct pawl_workflow_view view;
            ask.after = row->key;
            bool is_open = row->state == PAWL_WORKFLOW_RUNNING;
            bool is_its = looking->name.len == 0 || pawl_str_equal(row->name, looking->name);
            if (!is_its || !(is_open || looking->with_closed)) continue;
            code = pawl_shown_workflow_read(reader, row->id, looking->with_tasks, keep, &view, err);
            if (code == PAWL_OK) pawl_shown_workflow_write(&view, keep, w);
            if (code == PAWL_NOT_FOUND) code = PAWL_OK; /* removed since */
        }
    } while (code == PAWL_OK && page.is_cut && page.count > 0);
    pawl_json_end_array(w);
    return code;
}

static enum pawl_code put_correlated(struct pawl_reading *reading, struct pawl_reader *reader,
                                     struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    enum pawl_code code = PAWL_OK;
    if (looking->is_one) return put_correlated_one(looking, reader, looking->id, w, err);
    pawl_json_begin_object(w);
    for (size_t i = 0; i < looking->id_count && code == PAWL_OK; i++) {
        pawl_json_put_key_str(w, looking->ids[i]);
        code = put_correlated_one(looking, reader, looking->ids[i], w, err);
    }
    pawl_json_end_object(w);
    return code;
}

static void take_correlated(struct looking *looking, bool tasks)
{
    struct pawl_exchange *exchange = looking->reading.exchange;
    looking->with_closed = pawl_exchange_bool(exchange, "includeClosed", false);
    looking->with_tasks = pawl_exchange_bool(exchange, "includeTasks", tasks);
    add(looking);
}

static void list_correlated(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, self, put_correlated);
    if (looking == NULL) return;
    looking->name = pawl_exchange_variable(exchange, "name");
    looking->id = pawl_exchange_variable(exchange, "correlationId");
    looking->is_one = true;
    take_correlated(looking, false);
}

static void list_correlated_many(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, self, put_correlated);
    if (looking == NULL) return;
    looking->name = pawl_exchange_variable(exchange, "name");
    if (!pawl_conductor_ids(exchange, &looking->ids, &looking->id_count)) return;
    take_correlated(looking, false);
}

/* ---- By their ids ---- */

static bool is_repeated(const struct looking *looking, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (pawl_str_equal(looking->ids[i], looking->ids[at])) return true;
    }
    return false;
}

/* As the other bulk calls: what is not there is told beside those that are. */
static enum pawl_code put_many(struct pawl_reading *reading, struct pawl_reader *reader,
                               struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_arena *keep = reading->exchange->arena;
    struct pawl_json_writer errors;
    enum pawl_code code = PAWL_OK;
    pawl_json_writer_init(&errors, keep);
    pawl_json_begin_object(&errors);
    pawl_json_begin_object(w);
    pawl_json_put_key(w, "bulkSuccessfulResults");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < looking->id_count && code == PAWL_OK; i++) {
        struct pawl_workflow_view view;
        if (is_repeated(looking, i)) continue;
        code = pawl_shown_workflow_read(reader, looking->ids[i], looking->with_tasks, keep, &view, err);
        if (code == PAWL_OK) pawl_shown_workflow_write(&view, keep, w);
        if (code != PAWL_NOT_FOUND) continue;
        pawl_json_put_key_str(&errors, looking->ids[i]);
        pawl_json_put_text(&errors, pawl_str_of(err->text));
        *err = (struct pawl_error){0};
        code = PAWL_OK;
    }
    pawl_json_end_array(w);
    pawl_json_end_object(&errors);
    pawl_json_put_member_raw(w, "bulkErrorResults", pawl_json_writer_done(&errors));
    pawl_json_end_object(w);
    return code;
}

static void get_many(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, self, put_many);
    if (looking == NULL) return;
    if (!pawl_conductor_ids(exchange, &looking->ids, &looking->id_count)) return;
    looking->with_tasks = pawl_exchange_bool(exchange, "includeTasks", true);
    add(looking);
}

/* clang-format off */
static const struct pawl_route routes[] = {
    {PAWL_VERB_GET, "/api/workflow/{workflowId}", PAWL_ROLE_VIEWER, "A workflow, with its tasks", get_workflow, 0},
    {PAWL_VERB_GET, "/api/workflow/{workflowId}/status", PAWL_ROLE_VIEWER, "A workflow's status", get_status, 0},
    {PAWL_VERB_GET, "/api/workflow/{workflowId}/tasks", PAWL_ROLE_VIEWER, "A workflow's tasks, by pages", list_tasks, 0},
    {PAWL_VERB_GET, "/api/workflow/running/{name}", PAWL_ROLE_VIEWER, "Ids of workflows that run", list_running, 0},
    {PAWL_VERB_GET, "/api/workflow/{name}/correlated/{correlationId}", PAWL_ROLE_VIEWER, "Workflows of a correlation id", list_correlated, 0},
    {PAWL_VERB_POST, "/api/workflow/{name}/correlated", PAWL_ROLE_WORKER, "Workflows of several correlation ids", list_correlated_many, 0},
    {PAWL_VERB_POST, "/api/workflow/bulk/search", PAWL_ROLE_WORKER, "Workflows by their ids, with their tasks", get_many, 0},
};
/* clang-format on */

struct pawl_route_table pawl_conductor_workflows(struct pawl_conductor *conductor)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), conductor};
}
