#include "net/conductor/workflow_json.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/workflow/decision.h"
#include "net/limits.h"

/* ---- The definition ---- */

void pawl_shown_definition_read(const struct pawl_workflow_view *view, struct pawl_arena *keep,
                                struct pawl_shown_definition *out)
{
    struct pawl_json *json = NULL;
    struct pawl_definition *definition = NULL;
    struct pawl_faults ignored;
    *out = (struct pawl_shown_definition){.workflow_name = view->row.name};
    if (view->definition.len == 0) return;
    pawl_faults_init(&ignored, keep);
    if (pawl_json_parse(view->definition, keep, &json, NULL) != PAWL_OK) return;
    if (pawl_definition_read(json, keep, &ignored, &definition, NULL) != PAWL_OK) return;
    out->definition = definition;
    out->json = json;
}

static const struct pawl_json *item_at(const struct pawl_json *array, int32_t at)
{
    const struct pawl_json *item = pawl_json_first(array);
    for (int32_t i = 0; i < at && item != NULL; i++) item = pawl_json_next(item);
    return item;
}

/* The array of a list, in the JSON of the node that owns it. */
static const struct pawl_json *list_json(const struct pawl_node_list *list,
                                         const struct pawl_json *owner)
{
    switch (list->kind) {
    case PAWL_NODE_LIST_ROOT:
        return pawl_json_member(owner, PAWL_STR("tasks"));
    case PAWL_NODE_LIST_CASE:
        return pawl_json_member(pawl_json_member(owner, PAWL_STR("decisionCases")),
                                list->case_name);
    case PAWL_NODE_LIST_DEFAULT:
        return pawl_json_member(owner, PAWL_STR("defaultCase"));
    case PAWL_NODE_LIST_BRANCH:
        return item_at(pawl_json_member(owner, PAWL_STR("forkTasks")), list->at);
    case PAWL_NODE_LIST_LOOP:
        return pawl_json_member(owner, PAWL_STR("loopOver"));
    }
    return NULL;
}

/* The JSON of a node: from the root down the lists that it stands in. */
static const struct pawl_json *node_json(const struct pawl_shown_definition *of, int32_t node)
{
    const struct pawl_definition *definition = of->definition;
    int32_t path[PAWL_DEFINITION_DEPTH_MAX + 1];
    size_t depth = 0;
    for (int32_t at = node; at != PAWL_NOWHERE && depth <= PAWL_DEFINITION_DEPTH_MAX;
         at = definition->lists[definition->nodes[at].list].owner) {
        path[depth++] = at;
    }
    const struct pawl_json *json = of->json;
    while (depth > 0 && json != NULL) {
        const struct pawl_node *n = &definition->nodes[path[--depth]];
        json = item_at(list_json(&definition->lists[n->list], json), n->at);
    }
    return json;
}

/* ---- Tasks ---- */

struct pawl_shown_task pawl_shown_task_recorded(const struct pawl_record_view *record,
                                                const struct pawl_shown_definition *of)
{
    const struct pawl_record_row *row = &record->row;
    struct pawl_shown_task shown = {
        .id = record->task_id,
        .domain = row->domain,
        .reference = row->reference,
        .workflow_id = record->workflow_id,
        .workflow_name = of->workflow_name,
        .retried_id = record->predecessor_id,
        .seq = row->seq,
        .is_retried = row->is_superseded,
        .first_started_at_ms =
            row->attempt == 0 ? record->started_at_ms : row->first_scheduled_at_ms,
        .start_delay_s = row->start_delay_s,
        .status = pawl_record_status_name(row->status),
        .input = record->input,
        .output = record->output,
        .correlation_id = record->correlation_id,
        .worker_id = row->worker,
        .reason = record->reason,
        .attempt = row->attempt,
        .poll_count = record->claims,
        .priority = record->priority,
        .response_timeout_s = record->response_ms / 1000,
        .callback_after_s = row->status == PAWL_RECORD_IN_PROGRESS ? 0 : row->callback_after_s,
        .scheduled_at_ms = row->scheduled_at_ms,
        .started_at_ms = record->started_at_ms,
        .ended_at_ms = record->finished_at_ms,
        .updated_at_ms = record->updated_at_ms,
        .has_ended = pawl_record_status_is_terminal(row->status) && row->is_decided,
    };
    struct pawl_str domain;
    pawl_queue_split(record->queue, &domain, &shown.type);
    shown.name = shown.type;
    bool has_node =
        of->definition != NULL && row->node >= 0 && row->node < of->definition->node_count;
    if (!has_node) return shown;
    const struct pawl_node *n = &of->definition->nodes[row->node];
    const struct pawl_json *json = node_json(of, row->node);
    shown.type = pawl_record_type(n, record->queue, row->domain);
    shown.name = n->type == PAWL_NODE_DYNAMIC ? shown.type : n->name;
    if (json == NULL) return shown;
    shown.node = json->raw;
    const struct pawl_json *own = pawl_json_member(json, PAWL_STR("taskDefinition"));
    if (own != NULL) shown.definition = own->raw;
    return shown;
}

/* ---- Workflows ---- */

static void put_map(struct pawl_json_writer *w, const char *key, struct pawl_str json)
{
    pawl_json_put_member_raw(w, key, json.len > 0 ? json : PAWL_STR("{}"));
}

static void put_text(struct pawl_json_writer *w, const char *key, struct pawl_str text)
{
    if (text.len > 0) pawl_json_put_member_text(w, key, text);
}

/* The lists of what has failed for good, each name once. */
static void put_failed(struct pawl_json_writer *w, const char *key, const struct pawl_json *list)
{
    pawl_json_put_key(w, key);
    pawl_json_begin_array(w);
    for (const struct pawl_json *at = pawl_json_first(list); at != NULL; at = pawl_json_next(at)) {
        const struct pawl_json *before = pawl_json_first(list);
        while (before != at && !pawl_str_equal(before->raw, at->raw))
            before = pawl_json_next(before);
        if (before == at) pawl_json_put_raw(w, at->raw);
    }
    pawl_json_end_array(w);
}

void pawl_shown_workflow_put_tasks(const struct pawl_workflow_view *view, struct pawl_arena *keep,
                                   struct pawl_json_writer *w)
{
    struct pawl_shown_definition of;
    pawl_shown_definition_read(view, keep, &of);
    put_map(w, "input", view->payloads[PAWL_WORKFLOW_PAYLOAD_INPUT]);
    put_map(w, "output", view->payloads[PAWL_WORKFLOW_PAYLOAD_OUTPUT]);
    put_map(w, "variables", view->payloads[PAWL_WORKFLOW_PAYLOAD_VARIABLES]);
    pawl_json_put_key(w, "tasks");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < view->tasks.count; i++) {
        const struct pawl_shown_task shown = pawl_shown_task_recorded(&view->tasks.items[i], &of);
        pawl_shown_task_write(&shown, w);
    }
    pawl_json_end_array(w);
}

void pawl_shown_workflow_write(const struct pawl_workflow_view *view, struct pawl_arena *keep,
                               struct pawl_json_writer *w)
{
    const struct pawl_workflow_row *row = &view->row;
    struct pawl_json *failed = NULL;
    struct pawl_str names = view->payloads[PAWL_WORKFLOW_PAYLOAD_FAILED];
    if (names.len > 0 && pawl_json_parse_top(names, 2, keep, &failed, NULL) != PAWL_OK)
        failed = NULL;
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "workflowId", row->id);
    pawl_json_put_member_text(w, "workflowName", row->name);
    pawl_json_put_member_int64(w, "workflowVersion", row->definition_version);
    pawl_json_put_member_text(w, "status", pawl_str_of(pawl_workflow_state_name(row->state)));
    pawl_json_put_member_int64(w, "createTime", row->created_at_ms);
    pawl_json_put_member_int64(w, "startTime", row->created_at_ms);
    pawl_json_put_member_int64(w, "updateTime", row->updated_at_ms);
    pawl_json_put_member_int64(w, "endTime", row->finished_at_ms);
    pawl_shown_workflow_put_tasks(view, keep, w);
    if (view->definition.len > 0) {
        pawl_json_put_member_raw(w, "workflowDefinition", view->definition);
    }
    put_text(w, "correlationId", row->correlation_id);
    put_text(w, "reasonForIncompletion", view->payloads[PAWL_WORKFLOW_PAYLOAD_REASON]);
    put_map(w, "taskToDomain", view->payloads[PAWL_WORKFLOW_PAYLOAD_DOMAINS]);
    put_failed(w, "failedReferenceTaskNames", pawl_json_member(failed, PAWL_STR("references")));
    put_failed(w, "failedTaskNames", pawl_json_member(failed, PAWL_STR("names")));
    pawl_json_put_member_int64(w, "priority", row->priority);
    pawl_json_put_member_int64(w, "lastRetriedTime", row->retried_at_ms);
    pawl_json_put_member_raw(w, "history", PAWL_STR("[]"));
    put_text(w, "idempotencyKey", row->idempotency_key);
    pawl_json_put_member_bool(w, "rateLimited", false);
    pawl_json_end_object(w);
}

enum pawl_code pawl_shown_workflow_read(struct pawl_reader *reader, struct pawl_str id,
                                        bool with_tasks, struct pawl_arena *keep,
                                        struct pawl_workflow_view *out, struct pawl_error *err)
{
    enum { MADE_BESIDE = 64 }; /* since we have looked how many there are */
    struct pawl_workflow_ask ask = {0};
    if (with_tasks) {
        enum pawl_code code = pawl_read_workflow(reader, id, &ask, keep, out, err);
        if (code != PAWL_OK) return code;
        int64_t count = out->row.next_seq + MADE_BESIDE;
        ask.tasks_max =
            (int32_t)(count < PAWL_CONDUCTOR_TASKS_MAX ? count : PAWL_CONDUCTOR_TASKS_MAX);
    }
    ask.with_payloads = true;
    enum pawl_code code = pawl_read_workflow(reader, id, &ask, keep, out, err);
    if (code != PAWL_OK || !out->tasks.is_cut) return code;
    return pawl_error_set(
        err, PAWL_TOO_LARGE,
        "workflow %.*s has more tasks than one answer holds (%d): ask for pages of "
        "them (/tasks), or without (includeTasks=false)",
        PAWL_STR_ARG(id), PAWL_CONDUCTOR_TASKS_MAX);
}
