/* Searches over the tasks of workflows, and over workflows by their tasks. Those of runs before the
 * present one, and tasks without a workflow, are not among them. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/str.h"
#include "net/conductor/search.h"
#include "net/conductor/workflow_json.h"
#include "net/limits.h"

enum field {
    FIELD_ID,
    FIELD_TYPE,
    FIELD_NAME,
    FIELD_STATUS,
    FIELD_START,
    FIELD_END,
    FIELD_UPDATE,
    FIELD_SCHEDULED,
    FIELD_WORKFLOW_TYPE,
    FIELD_WORKFLOW_ID,
    FIELD_CORRELATION,
    FIELD_DOMAIN,
    FIELD_REFERENCE,
    FIELD_REASON,
};

static const struct pawl_query_field fields[] = {
    [FIELD_ID] = {"taskId", false},
    [FIELD_TYPE] = {"taskType", false},
    [FIELD_NAME] = {"taskDefName", false},
    [FIELD_STATUS] = {"status", false},
    [FIELD_START] = {"startTime", true},
    [FIELD_END] = {"endTime", true},
    [FIELD_UPDATE] = {"updateTime", true},
    [FIELD_SCHEDULED] = {"scheduledTime", true},
    [FIELD_WORKFLOW_TYPE] = {"workflowType", false},
    [FIELD_WORKFLOW_ID] = {"workflowId", false},
    [FIELD_CORRELATION] = {"correlationId", false},
    [FIELD_DOMAIN] = {"domain", false},
    [FIELD_REFERENCE] = {"referenceTaskName", false},
    [FIELD_REASON] = {"reasonForIncompletion", false},
};

static const size_t free_fields[] = {
    FIELD_ID,        FIELD_WORKFLOW_ID, FIELD_TYPE,        FIELD_NAME,   FIELD_WORKFLOW_TYPE,
    FIELD_REFERENCE, FIELD_STATUS,      FIELD_CORRELATION, FIELD_DOMAIN, FIELD_REASON};

struct searching {
    struct pawl_search search;             /* first */
    const struct pawl_record_view *record; /* that is looked at */
    struct pawl_record_view beside;        /* the same with its payloads, once it has been read */
    bool has_beside;
    struct pawl_arena
        *definitions;            /* the one that was read last: tasks of one workflow are found */
    struct pawl_str workflow_id; /* one after the other */
    struct pawl_shown_definition of;
};

/* ---- What a row holds ---- */

/* The definition of a workflow. One that is gone, or cannot be read, has none. */
static const struct pawl_shown_definition *definition_of(struct searching *searching,
                                                         struct pawl_str workflow_id)
{
    const struct pawl_workflow_ask ask = {.with_payloads = true};
    struct pawl_workflow_view view = {0};
    if (pawl_str_equal(searching->workflow_id, workflow_id)) return &searching->of;
    pawl_arena_reset(searching->definitions);
    searching->of = (struct pawl_shown_definition){0};
    searching->workflow_id = pawl_arena_copy(searching->definitions, workflow_id);
    if (pawl_read_workflow(searching->search.reader, workflow_id, &ask, searching->definitions,
                           &view, NULL) == PAWL_OK) {
        pawl_shown_definition_read(&view, searching->definitions, &searching->of);
    }
    return &searching->of;
}

static struct pawl_shown_task shown(struct searching *searching)
{
    const struct pawl_shown_definition *of =
        definition_of(searching, searching->record->workflow_id);
    return pawl_shown_task_recorded(searching->record, of);
}

static struct pawl_str reason_of(struct searching *searching)
{
    if (!searching->has_beside) {
        searching->has_beside = true;
        if (pawl_read_record(searching->search.reader, searching->record->task_id,
                             searching->search.scratch, &searching->beside, NULL) != PAWL_OK) {
            searching->beside = (struct pawl_record_view){0}; /* removed since */
        }
    }
    return searching->beside.reason;
}

static struct pawl_query_value value_of(void *self, size_t field)
{
    struct searching *searching = self;
    const struct pawl_record_view *record = searching->record;
    struct pawl_query_value value = {0};
    switch ((enum field)field) {
    case FIELD_ID:
        value.text = record->task_id;
        break;
    case FIELD_TYPE:
        value.text = shown(searching).type;
        break;
    case FIELD_NAME:
        value.text = shown(searching).name;
        break;
    case FIELD_STATUS:
        value.text = pawl_str_of(pawl_record_status_name(record->row.status));
        break;
    case FIELD_START:
        value.number = record->started_at_ms;
        break;
    case FIELD_END:
        value.number = record->finished_at_ms;
        break;
    case FIELD_UPDATE:
        value.number = record->updated_at_ms;
        break;
    case FIELD_SCHEDULED:
        value.number = record->row.scheduled_at_ms;
        break;
    case FIELD_WORKFLOW_TYPE:
        value.text = record->workflow_name;
        break;
    case FIELD_WORKFLOW_ID:
        value.text = record->workflow_id;
        break;
    case FIELD_CORRELATION:
        value.text = record->correlation_id;
        break;
    case FIELD_DOMAIN:
        value.text = record->row.domain;
        break;
    case FIELD_REFERENCE:
        value.text = record->row.reference;
        break;
    case FIELD_REASON:
        value.text = reason_of(searching);
        break;
    }
    return value;
}

/* ---- Finding ---- */

static enum pawl_code look(struct searching *searching, const struct pawl_record_view *record,
                           struct pawl_error *err)
{
    bool is_workflow = searching->search.kind->is_distinct;
    searching->record = record;
    searching->has_beside = false;
    return pawl_search_look(&searching->search, is_workflow ? record->workflow_id : record->task_id,
                            err);
}

/* Of one task, or of one workflow: no others need be looked at. */
static enum pawl_code walk_one(struct searching *searching, struct pawl_str task_id,
                               struct pawl_error *err)
{
    struct pawl_record_view record;
    enum pawl_code code =
        pawl_read_record(searching->search.reader, task_id, searching->search.pages, &record, err);
    if (code == PAWL_NOT_FOUND) return PAWL_OK;
    return code == PAWL_OK ? look(searching, &record, err) : code;
}

static enum pawl_code walk_workflow(struct searching *searching, struct pawl_str workflow_id,
                                    struct pawl_error *err)
{
    struct pawl_search *search = &searching->search;
    struct pawl_record_page page = {0};
    enum pawl_code code;
    int64_t after = 0;
    do {
        pawl_arena_reset(search->pages);
        code = pawl_read_records(search->reader, workflow_id, after, PAWL_BATCH_MAX, false,
                                 search->pages, &page, err);
        if (code == PAWL_NOT_FOUND) return PAWL_OK;
        for (size_t i = 0; i < page.count && code == PAWL_OK && !search->is_full; i++) {
            after = page.items[i].row.seq;
            code = look(searching, &page.items[i], err);
        }
    } while (code == PAWL_OK && page.is_cut && !search->is_full);
    return code;
}

static enum pawl_code walk_all(struct searching *searching, struct pawl_error *err)
{
    struct pawl_search *search = &searching->search;
    struct pawl_record_page page = {0};
    enum pawl_code code;
    int64_t before = 0;
    size_t count = 0;
    do {
        pawl_arena_reset(search->pages);
        code = pawl_read_records_newest(search->reader, before, PAWL_BATCH_MAX, search->pages,
                                        &page, err);
        for (size_t i = 0; i < page.count && code == PAWL_OK && !search->is_full; i++) {
            before = page.items[i].row.task;
            code = look(searching, &page.items[i], err);
        }
        count += page.count;
    } while (code == PAWL_OK && page.is_cut && !search->is_full &&
             count < PAWL_CONDUCTOR_TASKS_LOOKED_MAX);
    return code;
}

static enum pawl_code walk(struct pawl_search *search, struct pawl_error *err)
{
    struct searching *searching = (struct searching *)search;
    struct pawl_str id = {0};
    enum pawl_code code = pawl_arena_open(&searching->definitions, 0);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no room to search");
    if (pawl_query_names(search->query, FIELD_ID, &id)) {
        code = walk_one(searching, id, err);
    } else if (pawl_query_names(search->query, FIELD_WORKFLOW_ID, &id)) {
        code = walk_workflow(searching, id, err);
    } else {
        code = walk_all(searching, err);
    }
    return code;
}

/* ---- Results ---- */

static void put_instant(struct pawl_json_writer *w, const char *key, int64_t at_ms)
{
    char text[PAWL_INSTANT_TEXT_BYTES_MAX + 1];
    pawl_instant_format(at_ms, text);
    pawl_json_put_member_text(w, key, pawl_str_of(text));
}

static int64_t between(int64_t from_ms, int64_t to_ms)
{
    return from_ms > 0 && to_ms > from_ms ? to_ms - from_ms : 0;
}

static void put_summary(const struct pawl_shown_task *task, struct pawl_json_writer *w)
{
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "workflowId", task->workflow_id);
    pawl_json_put_member_text(w, "workflowType", task->workflow_name);
    pawl_search_put_text(w, "correlationId", task->correlation_id);
    put_instant(w, "scheduledTime", task->scheduled_at_ms);
    put_instant(w, "startTime", task->started_at_ms);
    put_instant(w, "updateTime", task->updated_at_ms);
    put_instant(w, "endTime", task->ended_at_ms);
    pawl_json_put_member_text(w, "status", pawl_str_of(task->status));
    pawl_search_put_text(w, "reasonForIncompletion", task->reason);
    pawl_json_put_member_int64(w, "executionTime", between(task->started_at_ms, task->ended_at_ms));
    pawl_json_put_member_int64(w, "queueWaitTime",
                               between(task->scheduled_at_ms, task->started_at_ms));
    pawl_json_put_member_text(w, "taskDefName", task->name);
    pawl_json_put_member_text(w, "taskType", task->type);
    pawl_json_put_member_text(w, "input", task->input.len > 0 ? task->input : PAWL_STR("{}"));
    pawl_json_put_member_text(w, "output", task->output.len > 0 ? task->output : PAWL_STR("{}"));
    pawl_json_put_member_text(w, "taskId", task->id);
    pawl_search_put_text(w, "domain", task->domain);
    pawl_json_put_member_int64(w, "workflowPriority", task->priority);
    pawl_json_end_object(w);
}

static enum pawl_code put(struct pawl_search *search, struct pawl_str id, bool is_whole,
                          struct pawl_json_writer *w, struct pawl_error *err)
{
    struct searching *searching = (struct searching *)search;
    struct pawl_record_view record;
    enum pawl_code code = pawl_read_record(search->reader, id, search->scratch, &record, err);
    if (code == PAWL_NOT_FOUND) return PAWL_OK; /* removed since */
    if (code != PAWL_OK) return code;
    searching->record = &record;
    const struct pawl_shown_task task = shown(searching);
    if (is_whole) pawl_shown_task_write(&task, w);
    if (!is_whole) put_summary(&task, w);
    return PAWL_OK;
}

static enum pawl_code put_one_summary(struct pawl_search *search, struct pawl_str id,
                                      struct pawl_json_writer *w, struct pawl_error *err)
{
    return put(search, id, false, w, err);
}

static enum pawl_code put_one(struct pawl_search *search, struct pawl_str id,
                              struct pawl_json_writer *w, struct pawl_error *err)
{
    return put(search, id, true, w, err);
}

static void close(struct pawl_search *search)
{
    pawl_arena_close(((struct searching *)search)->definitions);
}

/* clang-format off */
#define KIND(name, put_by, distinct)                                                  \
    const struct pawl_search_kind name = {                                            \
        .bytes = sizeof(struct searching), .fields = fields,                          \
        .field_count = PAWL_COUNT_OF(fields), .free_fields = free_fields,             \
        .free_count = PAWL_COUNT_OF(free_fields), .time_field = FIELD_START,          \
        .is_distinct = (distinct), .value = value_of, .walk = walk, .put = (put_by),  \
        .close = close}
KIND(pawl_search_task_summaries, put_one_summary, false);
KIND(pawl_search_tasks, put_one, false);
KIND(pawl_search_summaries_by_tasks, pawl_search_put_summary, true);
KIND(pawl_search_workflows_by_tasks, pawl_search_put_whole, true);
/* clang-format on */
