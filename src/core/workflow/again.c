#include "core/workflow/again.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/task/gate.h"
#include "core/workflow/overlay.h"
#include "core/workflow/registry.h"
#include "core/workflow/start.h"

static enum pawl_code refuse(struct pawl_decision *d, enum pawl_code code, const char *why)
{
    return pawl_error_set(&d->command->err, code, "workflow %.*s is %s: %s",
                          PAWL_STR_ARG(d->workflow->id),
                          pawl_workflow_state_name(d->workflow->state), why);
}

void pawl_workflow_reopen(struct pawl_decision *d)
{
    struct pawl_workflow_row *w = d->workflow;
    w->state = PAWL_WORKFLOW_RUNNING;
    w->finished_at_ms = 0;
    w->failed = 0;
    w->permissive = 0;
    pawl_workflow_payload_drop(d->step, w, PAWL_WORKFLOW_PAYLOAD_OUTPUT);
    pawl_workflow_payload_drop(d->step, w, PAWL_WORKFLOW_PAYLOAD_REASON);
    pawl_workflow_payload_drop(d->step, w, PAWL_WORKFLOW_PAYLOAD_FAILED);
}

/* ---- Retry ---- */

static bool is_join(const struct pawl_decision *d, const struct pawl_record_row *record)
{
    return d->definition->nodes[record->node].type == PAWL_NODE_JOIN;
}

/* A failure that the flow went on from: its branch may have come to its JOIN. */
static bool was_passed(const struct pawl_decision *d, const struct pawl_record_row *record,
                       int64_t failed)
{
    const struct pawl_node *n = &d->definition->nodes[record->node];
    return n->is_permissive && !n->is_optional && record->status != PAWL_RECORD_CANCELED &&
           record->task != failed;
}

/* Its branch has not come to the JOIN after all. */
static void take_back_reach(struct pawl_decision *d, const struct pawl_record_row *record)
{
    int32_t next = d->definition->nodes[record->node].successor;
    if (next < 0 || d->definition->nodes[next].type != PAWL_NODE_JOIN) return;
    struct pawl_entry *join = pawl_record_latest(d, d->definition->nodes[next].reference);
    if (join == NULL) return;
    ((struct pawl_record_row *)pawl_set_change(&d->step->set, join))->join_branches++;
}

enum pawl_code pawl_workflow_retry(struct pawl_decision *d)
{
    bool is_open = !pawl_workflow_state_is_terminal(d->workflow->state);
    if (is_open) return refuse(d, PAWL_NOT_FOUND, "there is nothing to retry");
    if (d->workflow->state == PAWL_WORKFLOW_COMPLETED)
        return refuse(d, PAWL_STATE, "there is nothing to retry");
    const struct pawl_rows *bad = pawl_records_list(d, PAWL_RECORDS_BAD, 0);
    if (bad == NULL) return PAWL_BUSY;
    if (bad->count == 0 && d->workflow->state != PAWL_WORKFLOW_TIMED_OUT) {
        return refuse(d, PAWL_STATE, "there is nothing to retry");
    }
    if (bad->is_cut) {
        return pawl_error_set(&d->command->err, PAWL_TOO_LARGE,
                              "workflow %.*s: more than %d tasks to retry at once",
                              PAWL_STR_ARG(d->workflow->id), PAWL_SLICE_ROWS_MAX);
    }
    const struct pawl_rows *ended = pawl_records_list(d, PAWL_RECORDS_UNDECIDED, 0);
    if (ended == NULL) return PAWL_BUSY;
    int64_t failed = d->workflow->failed;
    pawl_decision_begin(d);
    pawl_workflow_reopen(d);
    for (size_t i = ended->count; i > 0;
         i--) { /* it ended over time while it was paused: its flow goes on */
        pawl_todo_push(d, PAWL_TODO_ENDED, ((const int64_t *)ended->rows)[i - 1],
                       PAWL_FLOW_SUCCESSOR);
    }
    d->workflow->retried_at_ms = d->step->now_ms;
    for (size_t i = 0; i < bad->count; i++) {
        struct pawl_entry *entry = pawl_record_find(d->step, ((const int64_t *)bad->rows)[i]);
        const struct pawl_record_row *record = entry->row;
        if (is_join(d, record)) continue;
        if (was_passed(d, record, failed)) {
            take_back_reach(d, record);
            d->workflow->ahead++; /* the flow comes to what is there already */
        }
        pawl_record_retry(d, entry, 0,
                          0); /* short or not: what the others need is asked for at once */
    }
    for (size_t i = 0; i < bad->count && !d->step->set.is_short; i++) {
        struct pawl_entry *entry = pawl_record_find(d->step, ((const int64_t *)bad->rows)[i]);
        if (entry != NULL && is_join(d, entry->row)) pawl_join_reopen(d, entry);
    }
    return d->step->set.is_short || d->step->set.is_full ? PAWL_BUSY : pawl_decide(d);
}

/* ---- A new run ---- */

void pawl_workflow_run_begin(struct pawl_decision *d)
{
    struct pawl_workflow_row *w = d->workflow;
    (void)pawl_continuation_add(
        d->step, &(struct pawl_continuation_row){
                     .kind = PAWL_CONTINUE_RUN_REMOVE, .task = w->key, .cursor = w->run});
    pawl_workflow_reopen(d);
    w->run = pawl_step_key(d->step);
    w->next_seq = 1;
    w->open = 0;
    w->ahead = 0;
    w->last = 0;
}

static enum pawl_code begin_run(struct pawl_decision *d, const struct pawl_definition *definition,
                                int64_t snapshot)
{
    struct pawl_step *step = d->step;
    struct pawl_workflow_row *w = d->workflow;
    pawl_workflow_run_begin(d);
    w->snapshot = snapshot;
    w->definition_version = (int32_t)definition->version;
    pawl_workflow_payload_drop(step, w, PAWL_WORKFLOW_PAYLOAD_VARIABLES);
    if (pawl_overlay_is_object(definition->variables)) {
        pawl_workflow_payload_put(step, w, PAWL_WORKFLOW_PAYLOAD_VARIABLES, definition->variables);
    }
    struct pawl_decision fresh; /* with the new snapshot */
    enum pawl_code code = pawl_decision_open(step, d->command, w->key, &fresh);
    if (code != PAWL_OK) return code;
    pawl_todo_push(&fresh, PAWL_TODO_REACH, 0, fresh.definition->lists[0].first);
    return pawl_decide(&fresh);
}

enum pawl_code pawl_workflow_restart(struct pawl_decision *d,
                                     const struct pawl_workflow_operate *ask)
{
    const struct pawl_definition *definition = d->definition;
    int64_t snapshot = d->workflow->snapshot;
    if (!pawl_workflow_state_is_terminal(d->workflow->state))
        return refuse(d, PAWL_STATE, "it has to end first");
    if (ask->latest_definitions) {
        definition = pawl_registered_workflow(d->step, d->workflow->name, 0);
        if (d->step->set.is_short) return PAWL_BUSY;
        if (definition == NULL) {
            return pawl_error_set(&d->command->err, PAWL_NOT_FOUND,
                                  "No such workflow definition: %.*s",
                                  PAWL_STR_ARG(d->workflow->name));
        }
        snapshot = pawl_snapshot_need(d->step, definition);
        if (d->step->set.is_short || d->step->set.is_full) return PAWL_BUSY;
    }
    if (d->workflow->state == PAWL_WORKFLOW_COMPLETED && !definition->is_restartable) {
        return refuse(d, PAWL_NOT_FOUND, "its definition does not let it be restarted");
    }
    pawl_decision_begin(d);
    d->workflow->created_at_ms = d->step->now_ms;
    d->workflow->retried_at_ms = 0;
    return begin_run(d, definition, snapshot);
}

enum pawl_code pawl_workflow_rerun(struct pawl_decision *d, const struct pawl_workflow_operate *ask)
{
    if (!pawl_workflow_state_is_terminal(d->workflow->state))
        return refuse(d, PAWL_STATE, "it has to end first");
    pawl_decision_begin(d);
    if (ask->workflow_input.len > 0) {
        struct pawl_str input =
            pawl_overlay(d->definition->input_template, ask->workflow_input, d->step->set.arena);
        pawl_workflow_payload_put(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_INPUT, input);
    }
    if (ask->correlation_id.len > 0) d->workflow->correlation_id = ask->correlation_id;
    d->workflow->retried_at_ms = d->step->now_ms; /* its time-out counts anew */
    return ask->task_id.len > 0 ? pawl_workflow_rerun_from(d, ask)
                                : begin_run(d, d->definition, d->workflow->snapshot);
}

/* ---- Removal ---- */

/* A task of a workflow goes without a tombstone: its workflow's id tells what it was of. */
static void remove_record(struct pawl_step *step, const struct pawl_task_row *task)
{
    struct pawl_removal *removal = pawl_step_take(step, sizeof *removal);
    if (removal == NULL) return;
    struct pawl_task_row left = *task;
    pawl_gate_leave(step, &left); /* somebody may hold it still */
    *removal = (struct pawl_removal){task, step->now_ms};
    pawl_set_append(&step->set, PAWL_APPEND_RECORD_REMOVAL, removal);
    pawl_set_know(&step->set, PAWL_LOOK_TASK, task->key, (struct pawl_str){0}, NULL);
    pawl_set_know(&step->set, PAWL_LOOK_RECORD, task->key, (struct pawl_str){0}, NULL);
    pawl_set_know(&step->set, PAWL_LOOK_TASK_ID, 0, task->id, NULL);
    (void)pawl_continuation_add(
        step, &(struct pawl_continuation_row){.kind = PAWL_CONTINUE_REMAINS, .task = task->key});
}

bool pawl_run_remove_slice(struct pawl_step *step, struct pawl_continuation_row *row)
{
    struct pawl_entry *list = pawl_set_look(&step->set, PAWL_LOOK_RECORDS, row->cursor,
                                            (struct pawl_str){0}, 0, PAWL_RECORDS_REMOVED_AT_ONCE);
    if (list == NULL || !list->is_loaded) return false;
    const struct pawl_rows *rows = list->row;
    for (size_t i = 0; i < rows->count; i++)
        (void)pawl_set_task(&step->set, ((const int64_t *)rows->rows)[i]);
    if (step->set.is_short) return false;
    for (size_t i = 0; i < rows->count; i++) {
        struct pawl_entry *task = pawl_set_task(&step->set, ((const int64_t *)rows->rows)[i]);
        if (task != NULL && task->row != NULL) remove_record(step, task->row);
    }
    return rows->is_cut;
}

enum pawl_code pawl_workflow_remove(struct pawl_decision *d,
                                    const struct pawl_workflow_operate *ask)
{
    struct pawl_step *step = d->step;
    bool is_open = !pawl_workflow_state_is_terminal(d->workflow->state);
    if (is_open && ask->archives)
        return refuse(d, PAWL_INVALID, "only what has ended can be archived");
    pawl_decision_begin(d);
    if (is_open) {
        pawl_workflow_end(d, &(struct pawl_workflow_end){.state = PAWL_WORKFLOW_TERMINATED,
                                                         .reason = ask->reason});
        if (step->set.is_short) return PAWL_BUSY;
    }
    struct pawl_workflow_row *removed = pawl_step_take(step, sizeof *removed);
    if (removed == NULL) return PAWL_NO_MEMORY;
    *removed = *d->workflow;
    (void)pawl_continuation_add(
        step, &(struct pawl_continuation_row){
                  .kind = PAWL_CONTINUE_RUN_REMOVE, .task = removed->key, .cursor = removed->run});
    pawl_set_append(&step->set, PAWL_APPEND_WORKFLOW_REMOVAL, removed);
    pawl_set_know(&step->set, PAWL_LOOK_WORKFLOW, removed->key, (struct pawl_str){0}, NULL);
    pawl_set_know(&step->set, PAWL_LOOK_WORKFLOW_ID, 0, removed->id, NULL);
    return PAWL_OK;
}
