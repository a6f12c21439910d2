/* Searches over workflows. */
#include "base/arena.h"
#include "base/array.h"
#include "base/json.h"
#include "base/str.h"
#include "net/conductor/search.h"
#include "net/conductor/workflow_json.h"

enum field {
    FIELD_ID,
    FIELD_CORRELATION,
    FIELD_TYPE,
    FIELD_STATUS,
    FIELD_START,
    FIELD_END,
    FIELD_UPDATE,
    FIELD_PARENT,
    FIELD_CLASSIFIER,
    FIELD_VERSION,
    FIELD_PRIORITY,
    FIELD_REASON,
    FIELD_FAILED,
    FIELD_EVENT,
    FIELD_CREATED_BY,
    FIELD_IDEMPOTENCY,
};

static const struct pawl_query_field fields[] = {
    [FIELD_ID] = {"workflowId", false},
    [FIELD_CORRELATION] = {"correlationId", false},
    [FIELD_TYPE] = {"workflowType", false},
    [FIELD_STATUS] = {"status", false},
    [FIELD_START] = {"startTime", true},
    [FIELD_END] = {"endTime", true},
    [FIELD_UPDATE] = {"updateTime", true},
    [FIELD_PARENT] = {"parentWorkflowId", false},
    [FIELD_CLASSIFIER] = {"classifier", false},
    [FIELD_VERSION] = {"version", true},
    [FIELD_PRIORITY] = {"priority", true},
    [FIELD_REASON] = {"reasonForIncompletion", false},
    [FIELD_FAILED] = {"failedReferenceTaskNames", false},
    [FIELD_EVENT] = {"event", false},
    [FIELD_CREATED_BY] = {"createdBy", false},
    [FIELD_IDEMPOTENCY] = {"idempotencyKey", false},
};

static const size_t free_fields[] = {FIELD_ID,     FIELD_TYPE,        FIELD_CORRELATION,
                                     FIELD_STATUS, FIELD_IDEMPOTENCY, FIELD_REASON,
                                     FIELD_FAILED};

struct searching {
    struct pawl_search search;           /* first */
    const struct pawl_workflow_row *row; /* that is looked at, */
    struct pawl_workflow_view view;      /* and what lies beside it, once that has been read */
    bool has_view;
};

/* ---- What a row holds ---- */

static const struct pawl_workflow_view *beside(struct searching *searching)
{
    const struct pawl_workflow_ask ask = {0};
    if (searching->has_view) return &searching->view;
    searching->has_view = true;
    if (pawl_read_workflow(searching->search.reader, searching->row->id, &ask,
                           searching->search.scratch, &searching->view, NULL) != PAWL_OK) {
        searching->view = (struct pawl_workflow_view){0}; /* removed since */
    }
    return &searching->view;
}

/* "a,b": the references that have failed. */
static struct pawl_str failed_of(struct pawl_str json, struct pawl_arena *keep)
{
    struct pawl_json *failed = NULL;
    struct pawl_str list = {0};
    if (json.len == 0 || pawl_json_parse_top(json, 2, keep, &failed, NULL) != PAWL_OK) return list;
    for (const struct pawl_json *at =
             pawl_json_first(pawl_json_member(failed, PAWL_STR("references")));
         at != NULL; at = pawl_json_next(at)) {
        struct pawl_str name = {0};
        if (!pawl_json_text(at, keep, &name)) continue;
        list = pawl_arena_format(keep, "%.*s%s%.*s", PAWL_STR_ARG(list), list.len > 0 ? "," : "",
                                 PAWL_STR_ARG(name));
    }
    return list;
}

static struct pawl_query_value value_of(void *self, size_t field)
{
    struct searching *searching = self;
    const struct pawl_workflow_row *row = searching->row;
    struct pawl_query_value value = {0};
    switch ((enum field)field) {
    case FIELD_ID:
        value.text = row->id;
        break;
    case FIELD_CORRELATION:
        value.text = row->correlation_id;
        break;
    case FIELD_TYPE:
        value.text = row->name;
        break;
    case FIELD_STATUS:
        value.text = pawl_str_of(pawl_workflow_state_name(row->state));
        break;
    case FIELD_START:
        value.number = row->created_at_ms;
        break;
    case FIELD_END:
        value.number = row->finished_at_ms;
        break;
    case FIELD_UPDATE:
        value.number = row->updated_at_ms;
        break;
    case FIELD_VERSION:
        value.number = row->definition_version;
        break;
    case FIELD_PRIORITY:
        value.number = row->priority;
        break;
    case FIELD_REASON:
        value.text = beside(searching)->payloads[PAWL_WORKFLOW_PAYLOAD_REASON];
        break;
    case FIELD_FAILED:
        value.text = failed_of(beside(searching)->payloads[PAWL_WORKFLOW_PAYLOAD_FAILED],
                               searching->search.scratch);
        break;
    case FIELD_IDEMPOTENCY:
        value.text = row->idempotency_key;
        break;
    case FIELD_CLASSIFIER:
        value.text = PAWL_STR("workflow");
        break;
    case FIELD_PARENT: /* there are no sub-workflows yet, nor events that start one */
    case FIELD_EVENT:
    case FIELD_CREATED_BY:
        break;
    }
    return value;
}

static enum pawl_code walk(struct pawl_search *search, struct pawl_error *err)
{
    struct searching *searching = (struct searching *)search;
    struct pawl_workflow_list ask = {.limit = PAWL_BATCH_MAX};
    struct pawl_workflow_page page = {0};
    enum pawl_code code;
    do {
        pawl_arena_reset(search->pages);
        code = pawl_read_workflows(search->reader, &ask, search->pages, &page, err);
        for (size_t i = 0; i < page.count && code == PAWL_OK && !search->is_full; i++) {
            searching->row = &page.items[i];
            searching->has_view = false;
            ask.after = searching->row->key;
            code = pawl_search_look(search, searching->row->id, err);
        }
    } while (code == PAWL_OK && page.is_cut && page.count > 0 && !search->is_full);
    return code;
}

/* ---- Results ---- */

static void put_summary(const struct pawl_workflow_view *view, struct pawl_arena *keep,
                        struct pawl_json_writer *w)
{
    const struct pawl_workflow_row *row = &view->row;
    struct pawl_str input = view->payloads[PAWL_WORKFLOW_PAYLOAD_INPUT];
    struct pawl_str output = view->payloads[PAWL_WORKFLOW_PAYLOAD_OUTPUT];
    struct pawl_str domains = view->payloads[PAWL_WORKFLOW_PAYLOAD_DOMAINS];
    struct pawl_json *failed = NULL;
    struct pawl_str names = view->payloads[PAWL_WORKFLOW_PAYLOAD_FAILED];
    int64_t took_ms =
        row->finished_at_ms > row->created_at_ms ? row->finished_at_ms - row->created_at_ms : 0;
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "workflowType", row->name);
    pawl_json_put_member_int64(w, "version", row->definition_version);
    pawl_json_put_member_text(w, "workflowId", row->id);
    pawl_search_put_text(w, "correlationId", row->correlation_id);
    pawl_search_put_time(w, "startTime", row->created_at_ms);
    pawl_search_put_time(w, "updateTime", row->updated_at_ms);
    pawl_search_put_time(w, "endTime", row->finished_at_ms);
    pawl_json_put_member_text(w, "status", pawl_str_of(pawl_workflow_state_name(row->state)));
    pawl_json_put_member_text(w, "input", input.len > 0 ? input : PAWL_STR("{}"));
    pawl_json_put_member_text(w, "output", output.len > 0 ? output : PAWL_STR("{}"));
    pawl_json_put_member_int64(w, "inputSize", (int64_t)input.len);
    pawl_json_put_member_int64(w, "outputSize", (int64_t)output.len);
    pawl_json_put_member_int64(w, "executionTime", took_ms);
    pawl_search_put_text(w, "reasonForIncompletion", view->payloads[PAWL_WORKFLOW_PAYLOAD_REASON]);
    pawl_search_put_text(w, "idempotencyKey", row->idempotency_key);
    pawl_json_put_member_text(w, "failedReferenceTaskNames", failed_of(names, keep));
    if (names.len > 0 && pawl_json_parse_top(names, 2, keep, &failed, NULL) != PAWL_OK)
        failed = NULL;
    const struct pawl_json *list = pawl_json_member(failed, PAWL_STR("names"));
    pawl_json_put_member_raw(w, "failedTaskNames", list != NULL ? list->raw : PAWL_STR("[]"));
    pawl_json_put_member_raw(w, "taskToDomain", domains.len > 0 ? domains : PAWL_STR("{}"));
    pawl_json_put_member_int64(w, "priority", row->priority);
    pawl_json_put_member_text(w, "parentWorkflowId", (struct pawl_str){0});
    pawl_json_put_member_text(w, "classifier", PAWL_STR("workflow"));
    pawl_json_end_object(w);
}

static enum pawl_code put(struct pawl_search *search, struct pawl_str id, bool is_whole,
                          struct pawl_json_writer *w, struct pawl_error *err)
{
    struct pawl_workflow_view view;
    enum pawl_code code =
        pawl_shown_workflow_read(search->reader, id, false, search->scratch, &view, err);
    if (code == PAWL_NOT_FOUND) return PAWL_OK; /* removed since */
    if (code == PAWL_OK && is_whole) pawl_shown_workflow_write(&view, search->scratch, w);
    if (code == PAWL_OK && !is_whole) put_summary(&view, search->scratch, w);
    return code;
}

enum pawl_code pawl_search_put_summary(struct pawl_search *search, struct pawl_str id,
                                       struct pawl_json_writer *w, struct pawl_error *err)
{
    return put(search, id, false, w, err);
}

enum pawl_code pawl_search_put_whole(struct pawl_search *search, struct pawl_str id,
                                     struct pawl_json_writer *w, struct pawl_error *err)
{
    return put(search, id, true, w, err);
}

/* clang-format off */
#define KIND(name, put_one)                                                           \
    const struct pawl_search_kind name = {                                            \
        .bytes = sizeof(struct searching), .fields = fields,                          \
        .field_count = PAWL_COUNT_OF(fields), .free_fields = free_fields,             \
        .free_count = PAWL_COUNT_OF(free_fields), .time_field = FIELD_START,          \
        .value = value_of, .walk = walk, .put = (put_one)}
KIND(pawl_search_summaries, pawl_search_put_summary);
KIND(pawl_search_workflows, pawl_search_put_whole);
/* clang-format on */
