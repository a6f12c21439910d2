/* Searches over workflows. There is no index: all are looked at, newest first, a page a read, so
 * that what has just been committed is found. What needs more than the row is read for a row only
 * if it is asked for. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/json.h"
#include "base/str.h"
#include "net/conductor/conductor.h"
#include "net/conductor/query.h"
#include "net/conductor/workflow_json.h"
#include "net/limits.h"
#include "net/reading.h"

#include <stdlib.h>

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

struct searching {
    struct pawl_reading reading; /* first */
    const struct pawl_conductor *conductor;
    struct pawl_str query_text;
    struct pawl_str free_text; /* empty = all */
    struct pawl_query *query;
    struct pawl_query_sort sorts[PAWL_QUERY_SORTS_MAX];
    size_t sort_count;
    int64_t start;
    int64_t size;
    bool is_whole; /* results are Workflows, not summaries */

    /* while it runs */
    struct pawl_reader *reader;
    const struct pawl_workflow_row *row; /* that is looked at, */
    struct pawl_workflow_view view;      /* and what lies beside it, once that has been read */
    bool has_view;
    struct pawl_arena *scratch;
    struct pawl_arena *pages; /* the page that is looked at */
};

/* ---- What a row holds ---- */

static const struct pawl_workflow_view *beside(struct searching *searching)
{
    const struct pawl_workflow_ask ask = {0};
    if (searching->has_view) return &searching->view;
    searching->has_view = true;
    if (pawl_read_workflow(searching->reader, searching->row->id, &ask, searching->scratch,
                           &searching->view, NULL) != PAWL_OK) {
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
                               searching->scratch);
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

static bool has_free_text(struct searching *searching)
{
    static const enum field looked_at[] = {FIELD_ID,     FIELD_TYPE,        FIELD_CORRELATION,
                                           FIELD_STATUS, FIELD_IDEMPOTENCY, FIELD_REASON,
                                           FIELD_FAILED};
    if (searching->free_text.len == 0) return true;
    for (size_t i = 0; i < PAWL_COUNT_OF(looked_at); i++) {
        if (pawl_query_has(value_of(searching, looked_at[i]).text, searching->free_text))
            return true;
    }
    return false;
}

/* ---- Finding ---- */

struct hits {
    struct pawl_workflow_row *rows;
    size_t count;
    size_t room;
};

static bool add_hit(struct hits *hits, const struct pawl_workflow_row *row, struct pawl_arena *keep)
{
    if (hits->count == hits->room) {
        size_t room = hits->room == 0 ? 64 : hits->room * 2;
        struct pawl_workflow_row *rows =
            pawl_arena_resize(keep, hits->rows, hits->room * sizeof *rows, room * sizeof *rows);
        if (rows == NULL) return false;
        hits->rows = rows;
        hits->room = room;
    }
    struct pawl_workflow_row *hit = &hits->rows[hits->count++];
    *hit = *row;
    hit->id = pawl_arena_copy(keep, row->id);
    hit->name = pawl_arena_copy(keep, row->name);
    hit->correlation_id = pawl_arena_copy(keep, row->correlation_id);
    hit->idempotency_key = pawl_arena_copy(keep, row->idempotency_key);
    return pawl_arena_code(keep) == PAWL_OK;
}

static enum pawl_code find_all(struct searching *searching, struct hits *hits,
                               struct pawl_error *err)
{
    struct pawl_arena *keep = searching->reading.exchange->arena;
    struct pawl_workflow_list ask = {.limit = PAWL_BATCH_MAX};
    struct pawl_workflow_page page = {0};
    do {
        pawl_arena_reset(searching->pages);
        enum pawl_code code = pawl_read_workflows(searching->reader, &ask, searching->pages, &page, err);
        if (code != PAWL_OK) return code;
        for (size_t i = 0; i < page.count; i++) {
            searching->row = &page.items[i];
            searching->has_view = false;
            ask.after = searching->row->key;
            bool is_hit =
                pawl_query_holds(searching->query, searching, value_of) && has_free_text(searching);
            pawl_arena_reset(searching->scratch);
            if (is_hit && !add_hit(hits, searching->row, keep)) {
                return pawl_error_set(err, pawl_arena_code(keep), "no room for what is found");
            }
            if (hits->count == PAWL_CONDUCTOR_HITS_MAX) return PAWL_OK;
        }
    } while (page.is_cut && page.count > 0);
    return PAWL_OK;
}

/* ---- Order ---- */

struct ordered {
    const struct searching *searching;
    const struct pawl_workflow_row *row;
    struct pawl_query_value *values; /* of the fields that are sorted by */
};

static int by_sorts(const void *one, const void *other)
{
    const struct ordered *a = one;
    const struct ordered *b = other;
    for (size_t i = 0; i < a->searching->sort_count; i++) {
        const struct pawl_query_sort *sort = &a->searching->sorts[i];
        const struct pawl_query_value *left = &a->values[i];
        const struct pawl_query_value *right = &b->values[i];
        int order = fields[sort->field].is_number
                        ? (left->number > right->number) - (left->number < right->number)
                        : pawl_str_compare(left->text, right->text);
        if (order != 0) return sort->is_descending ? -order : order;
    }
    return pawl_str_compare(a->row->id, b->row->id);
}

/* False without memory. What lies beside a row is read once, and not again for each comparison. */
static bool take_values(struct searching *searching, struct ordered *one, struct pawl_arena *keep)
{
    one->values = pawl_arena_take_array(keep, searching->sort_count, sizeof *one->values);
    if (one->values == NULL) return false;
    searching->row = one->row;
    searching->has_view = false;
    for (size_t i = 0; i < searching->sort_count; i++) {
        one->values[i] = value_of(searching, searching->sorts[i].field);
        one->values[i].text = pawl_arena_copy(keep, one->values[i].text);
    }
    pawl_arena_reset(searching->scratch);
    return true;
}

/* Those that were found, in the order that is wanted; NULL without memory. */
static struct ordered *order_all(struct searching *searching, const struct hits *hits)
{
    struct pawl_arena *keep = searching->reading.exchange->arena;
    struct ordered *all = pawl_arena_take_array(keep, hits->count + 1, sizeof *all);
    for (size_t i = 0; i < hits->count && all != NULL; i++) {
        all[i] = (struct ordered){.searching = searching, .row = &hits->rows[i]};
        if (!take_values(searching, &all[i], keep)) return NULL;
    }
    if (all != NULL && hits->count > 1) qsort(all, hits->count, sizeof *all, by_sorts);
    return all;
}

/* ---- Answers ---- */

static void put_time(struct pawl_json_writer *w, const char *key, int64_t at_ms)
{
    char text[PAWL_INSTANT_TEXT_BYTES_MAX + 1];
    if (at_ms == 0) return;
    pawl_instant_format(at_ms, text);
    pawl_json_put_member_text(w, key, pawl_str_of(text));
}

static void put_text(struct pawl_json_writer *w, const char *key, struct pawl_str text)
{
    if (text.len > 0) pawl_json_put_member_text(w, key, text);
}

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
    put_text(w, "correlationId", row->correlation_id);
    put_time(w, "startTime", row->created_at_ms);
    put_time(w, "updateTime", row->updated_at_ms);
    put_time(w, "endTime", row->finished_at_ms);
    pawl_json_put_member_text(w, "status", pawl_str_of(pawl_workflow_state_name(row->state)));
    pawl_json_put_member_text(w, "input", input.len > 0 ? input : PAWL_STR("{}"));
    pawl_json_put_member_text(w, "output", output.len > 0 ? output : PAWL_STR("{}"));
    pawl_json_put_member_int64(w, "inputSize", (int64_t)input.len);
    pawl_json_put_member_int64(w, "outputSize", (int64_t)output.len);
    pawl_json_put_member_int64(w, "executionTime", took_ms);
    put_text(w, "reasonForIncompletion", view->payloads[PAWL_WORKFLOW_PAYLOAD_REASON]);
    put_text(w, "idempotencyKey", row->idempotency_key);
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

static enum pawl_code put_page(struct searching *searching, const struct ordered *all, size_t count,
                               struct pawl_json_writer *w, struct pawl_error *err)
{
    struct pawl_arena *keep = searching->reading.exchange->arena;
    enum pawl_code code = PAWL_OK;
    pawl_json_put_key(w, "results");
    pawl_json_begin_array(w);
    for (size_t i = (size_t)searching->start;
         i < count && (int64_t)i < searching->start + searching->size && code == PAWL_OK; i++) {
        struct pawl_workflow_view view;
        code = pawl_shown_workflow_read(searching->reader, all[i].row->id, false, keep, &view, err);
        if (code == PAWL_NOT_FOUND) { /* removed since */
            code = PAWL_OK;
        } else if (code == PAWL_OK && searching->is_whole) {
            pawl_shown_workflow_write(&view, keep, w);
        } else if (code == PAWL_OK) {
            put_summary(&view, keep, w);
        }
    }
    pawl_json_end_array(w);
    return code;
}

static enum pawl_code search(struct searching *searching, struct pawl_json_writer *w,
                             struct pawl_error *err)
{
    struct pawl_arena *keep = searching->reading.exchange->arena;
    struct hits hits = {0};
    enum pawl_code code = pawl_query_of(searching->query_text, fields, PAWL_COUNT_OF(fields), keep,
                                        &searching->query, err);
    if (code == PAWL_OK) code = find_all(searching, &hits, err);
    if (code != PAWL_OK) return code;
    const struct ordered *all = order_all(searching, &hits);
    if (all == NULL) return pawl_error_set(err, pawl_arena_code(keep), "no room for what is found");
    pawl_json_begin_object(w);
    pawl_json_put_member_int64(w, "totalHits", (int64_t)hits.count);
    code = put_page(searching, all, hits.count, w, err);
    pawl_json_end_object(w);
    return code;
}

static enum pawl_code put(struct pawl_reading *reading, struct pawl_reader *reader,
                          struct pawl_json_writer *w, struct pawl_error *err)
{
    struct searching *searching = (struct searching *)reading;
    searching->reader = reader;
    enum pawl_code code = pawl_arena_open(&searching->scratch, 0);
    if (code == PAWL_OK) code = pawl_arena_open(&searching->pages, 0);
    if (code == PAWL_OK) {
        code = search(searching, w, err);
    } else {
        (void)pawl_error_set(err, code, "no room to search");
    }
    pawl_arena_close(searching->pages);
    pawl_arena_close(searching->scratch);
    return code;
}

/* Parts between bars, in one parameter or in several. */
static bool take_sorts(struct searching *searching, struct pawl_exchange *exchange)
{
    struct pawl_error err = {0};
    size_t count = 0;
    const struct pawl_str *texts = pawl_exchange_list(exchange, "sort", &count);
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < count && texts != NULL && code == PAWL_OK; i++) {
        code = pawl_query_sort_of(texts[i], fields, PAWL_COUNT_OF(fields), searching->sorts,
                                  &searching->sort_count, &err);
    }
    if (code != PAWL_OK) {
        pawl_exchange_answer_error(exchange, &err, "sort");
        return false;
    }
    if (searching->sort_count == 0) {
        searching->sorts[searching->sort_count++] = (struct pawl_query_sort){FIELD_START, true};
    }
    return true;
}

static void search_workflows(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                             bool is_whole)
{
    struct searching *searching = pawl_reading_begin(exchange, sizeof *searching, put);
    if (searching == NULL) return;
    struct pawl_str free_text = pawl_exchange_text(exchange, "freeText");
    searching->conductor = conductor;
    searching->is_whole = is_whole;
    searching->start = pawl_exchange_int64(exchange, "start", 0, INT32_MAX, 0);
    searching->size = pawl_exchange_int64(exchange, "size", 0, PAWL_CONDUCTOR_SIZE_MAX, 100);
    searching->query_text = pawl_exchange_text(exchange, "query");
    if (!pawl_str_equal(free_text, PAWL_STR("*"))) searching->free_text = free_text;
    if (pawl_exchange_has_failed(exchange) || !take_sorts(searching, exchange)) return;
    pawl_reading_add(&searching->reading, conductor->readers);
}

static void search_summaries(struct pawl_exchange *exchange, void *self)
{
    search_workflows(exchange, self, false);
}

static void search_whole(struct pawl_exchange *exchange, void *self)
{
    search_workflows(exchange, self, true);
}

/* clang-format off */
static const struct pawl_route routes[] = {
    {PAWL_VERB_GET, "/api/workflow/search", PAWL_ROLE_VIEWER, "Searches workflows: summaries", search_summaries, 0},
    {PAWL_VERB_GET, "/api/workflow/search-v2", PAWL_ROLE_VIEWER, "Searches workflows", search_whole, 0},
};
/* clang-format on */

struct pawl_route_table pawl_conductor_searches(struct pawl_conductor *conductor)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), conductor};
}
