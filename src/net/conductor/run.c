#include "net/conductor/run.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "core/workflow/definition.h"
#include "net/ask.h"
#include "net/conductor/workflow_json.h"

static const struct pawl_str strategies[] = {
    [PAWL_RUN_TARGET_WORKFLOW] = PAWL_STR_INIT("TARGET_WORKFLOW"),
    [PAWL_RUN_BLOCKING_WORKFLOW] = PAWL_STR_INIT("BLOCKING_WORKFLOW"),
    [PAWL_RUN_BLOCKING_TASK] = PAWL_STR_INIT("BLOCKING_TASK"),
    [PAWL_RUN_BLOCKING_TASK_INPUT] = PAWL_STR_INIT("BLOCKING_TASK_INPUT"),
};

bool pawl_run_fill(struct pawl_run *run, struct pawl_exchange *exchange)
{
    struct pawl_str text = pawl_exchange_text(exchange, "returnStrategy");
    run->strategy = PAWL_RUN_TARGET_WORKFLOW;
    if (pawl_exchange_has_failed(exchange)) return false;
    if (text.len == 0) return true;
    for (size_t i = 0; i < PAWL_COUNT_OF(strategies); i++) {
        if (!pawl_str_equal(strategies[i], text)) continue;
        run->strategy = (enum pawl_run_strategy)i;
        return true;
    }
    struct pawl_error err = {0};
    (void)pawl_error_set(&err, PAWL_INVALID, "returnStrategy: `%.*s` is none", PAWL_STR_ARG(text));
    pawl_exchange_answer_error(exchange, &err, "returnStrategy");
    return false;
}

/* ---- Whether it is there ---- */

static bool is_given(const struct pawl_json *value)
{
    return value != NULL && value->kind != PAWL_JSON_NULL &&
           !pawl_str_equal(value->raw, PAWL_STR("\"\""));
}

/* A WAIT that somebody has to end. */
static bool is_blocking(const struct pawl_record_view *record,
                        const struct pawl_shown_definition *of, struct pawl_arena *keep)
{
    struct pawl_json *input = NULL;
    bool has_node = of->definition != NULL && record->row.node >= 0 &&
                    record->row.node < of->definition->node_count;
    if (!has_node || pawl_record_status_is_terminal(record->row.status)) return false;
    if (of->definition->nodes[record->row.node].type != PAWL_NODE_WAIT) return false;
    if (record->input.len == 0 ||
        pawl_json_parse_top(record->input, 1, keep, &input, NULL) != PAWL_OK) {
        return true;
    }
    return !is_given(pawl_json_member(input, PAWL_STR("duration"))) &&
           !is_given(pawl_json_member(input, PAWL_STR("until")));
}

static const struct pawl_record_view *find_blocking(const struct pawl_workflow_view *view,
                                                    const struct pawl_shown_definition *of,
                                                    struct pawl_arena *keep)
{
    for (size_t i = 0; i < view->tasks.count; i++) {
        if (is_blocking(&view->tasks.items[i], of, keep)) return &view->tasks.items[i];
    }
    return NULL;
}

static bool has_reached(const struct pawl_run *run, const struct pawl_workflow_view *view)
{
    for (size_t i = 0; i < view->tasks.count; i++) {
        const struct pawl_record_row *row = &view->tasks.items[i].row;
        if (!pawl_record_status_is_terminal(row->status) || row->is_superseded) continue;
        for (size_t k = 0; k < run->reference_count; k++) {
            if (pawl_str_equal(row->reference, pawl_str_trim(run->references[k]))) return true;
        }
    }
    return false;
}

/* ---- The answer ---- */

static void put_text(struct pawl_json_writer *w, const char *key, struct pawl_str text)
{
    if (text.len > 0) pawl_json_put_member_text(w, key, text);
}

/* What both kinds have in common. */
static void put_head(const struct pawl_run *run, const struct pawl_workflow_view *view,
                     enum pawl_run_strategy strategy, bool is_timeout, struct pawl_json_writer *w)
{
    const char *state = pawl_workflow_state_name(view->row.state);
    pawl_json_put_member_text(w, "responseType", strategies[strategy]);
    pawl_json_put_member_text(w, "targetWorkflowId", view->row.id);
    pawl_json_put_member_text(w, "targetWorkflowStatus", pawl_str_of(state));
    pawl_json_put_member_text(w, "workflowId", view->row.id);
    put_text(w, "requestId", run->request_id);
    put_text(w, "correlationId", view->row.correlation_id);
    pawl_json_put_member_bool(w, "signalTimeout", is_timeout);
    pawl_json_put_member_int64(w, "priority", view->row.priority);
}

static void put_workflow_run(const struct pawl_run *run, const struct pawl_workflow_view *view,
                             bool is_timeout, struct pawl_arena *keep, struct pawl_json_writer *w)
{
    enum pawl_run_strategy strategy = run->strategy == PAWL_RUN_BLOCKING_WORKFLOW
                                          ? PAWL_RUN_BLOCKING_WORKFLOW
                                          : PAWL_RUN_TARGET_WORKFLOW;
    pawl_json_begin_object(w);
    put_head(run, view, strategy, is_timeout, w);
    pawl_json_put_member_int64(w, "createTime", view->row.created_at_ms);
    pawl_json_put_member_int64(w, "updateTime", view->row.updated_at_ms);
    pawl_json_put_member_text(w, "status", pawl_str_of(pawl_workflow_state_name(view->row.state)));
    put_text(w, "reasonForIncompletion", view->payloads[PAWL_WORKFLOW_PAYLOAD_REASON]);
    pawl_shown_workflow_put_tasks(view, keep, w);
    pawl_json_end_object(w);
}

static void put_task_run(const struct pawl_run *run, const struct pawl_workflow_view *view,
                         const struct pawl_shown_task *task, struct pawl_json_writer *w)
{
    pawl_json_begin_object(w);
    put_head(run, view, run->strategy, false, w);
    pawl_json_put_member_int64(w, "createTime", task->started_at_ms);
    pawl_json_put_member_int64(w, "updateTime", task->updated_at_ms);
    pawl_json_put_member_text(w, "status", pawl_str_of(task->status));
    pawl_json_put_member_raw(w, "input", task->input.len > 0 ? task->input : PAWL_STR("{}"));
    pawl_json_put_member_raw(w, "output", task->output.len > 0 ? task->output : PAWL_STR("{}"));
    pawl_json_put_member_text(w, "taskType", task->type);
    pawl_json_put_member_text(w, "taskId", task->id);
    pawl_json_put_member_text(w, "referenceTaskName", task->reference);
    pawl_json_put_member_int64(w, "retryCount", task->attempt);
    pawl_json_put_member_text(w, "taskDefName", task->name);
    put_text(w, "retriedTaskId", task->retried_id);
    pawl_json_put_member_text(w, "workflowType", task->workflow_name);
    put_text(w, "reasonForIncompletion", task->reason);
    put_text(w, "createdBy", task->worker_id);
    pawl_json_end_object(w);
}

static void answer(const struct pawl_run *run, const struct pawl_workflow_view *view,
                   const struct pawl_shown_definition *of, const struct pawl_record_view *blocking,
                   bool is_timeout)
{
    struct pawl_exchange *exchange = run->wait.exchange;
    struct pawl_json_writer w;
    bool wants_task =
        run->strategy == PAWL_RUN_BLOCKING_TASK || run->strategy == PAWL_RUN_BLOCKING_TASK_INPUT;
    pawl_json_writer_init(&w, exchange->arena);
    if (wants_task && blocking != NULL) {
        const struct pawl_shown_task shown = pawl_shown_task_recorded(blocking, of);
        put_task_run(run, view, &shown, &w);
    } else {
        put_workflow_run(run, view, is_timeout, exchange->arena, &w);
    }
    pawl_exchange_answer_json(exchange, 200, &w);
}

/* Reads it only if it has changed since it was looked at last. */
static bool has_changed(struct pawl_run *run, struct pawl_reader *reader, struct pawl_error *err)
{
    const struct pawl_workflow_ask ask = {0};
    struct pawl_workflow_view view;
    struct pawl_arena *keep = run->wait.exchange->arena;
    struct pawl_arena_mark mark = pawl_arena_mark(keep);
    enum pawl_code code = pawl_read_workflow(reader, run->workflow_id, &ask, keep, &view, err);
    bool has = code != PAWL_OK || view.row.version != run->version;
    if (code == PAWL_OK) run->version = view.row.version;
    pawl_arena_rewind(keep, mark);
    return has;
}

static bool look(struct pawl_wait *wait, struct pawl_reader *reader, bool is_over,
                 const struct pawl_error *failed)
{
    struct pawl_run *run = (struct pawl_run *)wait;
    struct pawl_exchange *exchange = wait->exchange;
    struct pawl_arena *keep = exchange->arena;
    struct pawl_arena_mark mark = pawl_arena_mark(keep);
    struct pawl_workflow_view view;
    struct pawl_shown_definition of;
    struct pawl_error err = *failed;
    if (reader != NULL && !is_over && !has_changed(run, reader, &err)) return false;
    enum pawl_code code = reader == NULL ? failed->code
                                         : pawl_shown_workflow_read(reader, run->workflow_id, true,
                                                                    keep, &view, &err);
    if (code != PAWL_OK) {
        pawl_ask_refuse(exchange, &err);
        return true;
    }
    pawl_shown_definition_read(&view, keep, &of);
    const struct pawl_record_view *blocking = find_blocking(&view, &of, keep);
    bool is_there = pawl_workflow_state_is_terminal(view.row.state) || blocking != NULL ||
                    has_reached(run, &view);
    if (!is_there && !is_over) {
        pawl_arena_rewind(keep, mark);
        return false;
    }
    answer(run, &view, &of, blocking, !is_there);
    return true;
}

void pawl_run_wait(struct pawl_run *run, const struct pawl_conductor *conductor,
                   struct pawl_exchange *exchange, struct pawl_str workflow_id, int64_t wait_ms)
{
    run->wait.exchange = exchange;
    run->wait.look = look;
    run->wait.wait_ms = wait_ms;
    run->workflow_id = workflow_id;
    run->version = -1;
    pawl_waits_add(conductor->waits, &run->wait);
}
