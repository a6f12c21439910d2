/* The failure workflow: what a definition wants done when a workflow of it has not ended well. It
 * begins by a row of its own after the end is committed, so that nothing about it can change how
 * the workflow ended. */
#include "core/workflow/start.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/workflow/overlay.h"

static const struct pawl_str none = {0};

/* `name`, or an input's by `${workflow.input.NAME}` or, as people write it too,
 * `$workflow.input.NAME`. */
static bool name_of(struct pawl_decision *d, struct pawl_str *out)
{
    struct pawl_str said = d->definition->failure_workflow;
    struct pawl_json *tree;
    enum pawl_code code = PAWL_OK;
    struct pawl_str resolved;
    *out = said;
    if (said.len == 0 || said.ptr[0] != '$') return true;
    bool is_bare = said.len > 1 && said.ptr[1] != '{';
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, d->step->set.arena);
    pawl_json_put_text(&w, is_bare ? pawl_arena_format(d->step->set.arena, "${%.*s}",
                                                       (int)(said.len - 1), said.ptr + 1)
                                   : said);
    if (!pawl_workflow_resolve(d, pawl_json_writer_done(&w), &resolved, &code)) return false;
    bool is_text = code == PAWL_OK &&
                   pawl_json_parse(resolved, d->step->set.arena, &tree, NULL) == PAWL_OK &&
                   pawl_json_text(tree, d->step->set.arena, out);
    if (!is_text) *out = none;
    return true;
}

static void put_execution(struct pawl_decision *d, struct pawl_json_writer *w)
{
    const struct pawl_workflow_row *row = d->workflow;
    pawl_json_put_key(w, "failedWorkflow");
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "workflowId", row->id);
    pawl_json_put_member_text(w, "workflowName", row->name);
    pawl_json_put_member_int64(w, "workflowVersion", row->definition_version);
    pawl_json_put_member_text(w, "status", pawl_str_of(pawl_workflow_state_name(row->state)));
    pawl_json_put_member_int64(w, "startTime", row->created_at_ms);
    pawl_json_put_member_int64(w, "endTime", row->finished_at_ms);
    pawl_json_put_member_int64(w, "priority", row->priority);
    if (row->correlation_id.len > 0)
        pawl_json_put_member_text(w, "correlationId", row->correlation_id);
    pawl_json_put_member_raw(w, "input",
                             pawl_workflow_payload_look(d->step, row, PAWL_WORKFLOW_PAYLOAD_INPUT));
    pawl_json_put_member_raw(
        w, "output", pawl_workflow_payload_look(d->step, row, PAWL_WORKFLOW_PAYLOAD_OUTPUT));
    pawl_json_put_member_text(
        w, "reasonForIncompletion",
        pawl_workflow_payload_look(d->step, row, PAWL_WORKFLOW_PAYLOAD_REASON));
    pawl_json_end_object(w);
}

/* What it is told: the input of the failed one, and what became of that. */
static struct pawl_str input_of(struct pawl_decision *d, struct pawl_str failed_task)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, d->step->set.arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "workflowId", d->workflow->id);
    pawl_json_put_member_text(
        &w, "reason",
        pawl_workflow_payload_look(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_REASON));
    pawl_json_put_member_text(&w, "failureStatus",
                              pawl_str_of(pawl_workflow_state_name(d->workflow->state)));
    if (failed_task.len > 0) pawl_json_put_member_text(&w, "failureTaskId", failed_task);
    put_execution(d, &w);
    pawl_json_end_object(&w);
    struct pawl_str input =
        pawl_workflow_payload_look(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_INPUT);
    return pawl_overlay(input, pawl_json_writer_done(&w), d->step->set.arena);
}

static void tell(struct pawl_decision *d, struct pawl_str what)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, d->step->set.arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "conductor.failure_workflow", what);
    pawl_json_end_object(&w);
    struct pawl_str before =
        pawl_workflow_payload_look(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_OUTPUT);
    if (d->step->set.is_short) return;
    pawl_workflow_payload_put(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_OUTPUT,
                              pawl_overlay(before, pawl_json_writer_done(&w), d->step->set.arena));
}

void pawl_workflow_failure_slice(struct pawl_step *step, struct pawl_command *command,
                                 int64_t workflow)
{
    struct pawl_decision d;
    struct pawl_str name;
    if (pawl_decision_open(step, command, workflow, &d) != PAWL_OK) return;
    if (!pawl_workflow_state_is_terminal(d.workflow->state) || !name_of(&d, &name)) return;
    const struct pawl_entry *task =
        d.workflow->failed == 0 ? NULL : pawl_set_task(&step->set, d.workflow->failed);
    struct pawl_str failed = task == NULL || !task->is_loaded || task->row == NULL
                                 ? none
                                 : ((const struct pawl_task_row *)task->row)->id;
    struct pawl_workflow_start ask = {
        .name = name,
        .version = d.definition->failure_workflow_version == PAWL_NOT_GIVEN
                       ? 0
                       : (int32_t)d.definition->failure_workflow_version,
        .input = input_of(&d, failed),
        .correlation_id = d.workflow->correlation_id,
        .domains = pawl_workflow_payload_look(step, d.workflow, PAWL_WORKFLOW_PAYLOAD_DOMAINS),
        .depth = d.workflow->depth + 1};
    if (step->set.is_short) return;
    struct pawl_workflow_started started = {0};
    enum pawl_code code =
        ask.depth > PAWL_FAILURE_DEPTH_MAX
            ? pawl_error_set(&command->err, PAWL_LIMIT, "%d have failed one for the other",
                             PAWL_FAILURE_DEPTH_MAX)
            : pawl_workflow_begin(step, command, &ask, &started);
    if (step->set.is_short || step->set.is_full) return;
    pawl_decision_begin(&d);
    tell(&d, code == PAWL_OK ? started.id
                             : pawl_arena_format(step->set.arena, "it could not be started: %s",
                                                 command->err.text));
    command->err = (struct pawl_error){0};
}
