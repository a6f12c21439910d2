/* TERMINATE: ends the workflow as its input says. */
#include "core/workflow/decision.h"

#include "base/str.h"
#include "core/workflow/overlay.h"

static const struct pawl_str none = {0};

struct asked {
    enum pawl_workflow_state state;
    bool is_known;
    struct pawl_str said;
    struct pawl_str reason;
    struct pawl_str output; /* JSON object */
};

static struct asked read(struct pawl_decision *d, struct pawl_str input)
{
    struct pawl_arena *arena = d->step->set.arena;
    struct asked asked = {.output = PAWL_STR("{}")};
    struct pawl_json *object;
    if (pawl_json_parse(input, arena, &object, NULL) != PAWL_OK) return asked;
    const struct pawl_json *output = pawl_json_member(object, PAWL_STR("workflowOutput"));
    const struct pawl_json *said = pawl_json_member(object, PAWL_STR("terminationStatus"));
    const struct pawl_json *reason = pawl_json_member(object, PAWL_STR("terminationReason"));
    if (!pawl_json_text(said, arena, &asked.said)) asked.said = none;
    if (!pawl_json_text(reason, arena, &asked.reason)) asked.reason = none;
    asked.is_known =
        pawl_workflow_state_parse(asked.said, &asked.state) &&
        (asked.state == PAWL_WORKFLOW_COMPLETED || asked.state == PAWL_WORKFLOW_FAILED ||
         asked.state == PAWL_WORKFLOW_TERMINATED);
    if (output != NULL && output->kind == PAWL_JSON_OBJECT) asked.output = output->raw;
    if (output != NULL && output->kind != PAWL_JSON_OBJECT && output->kind != PAWL_JSON_NULL) {
        asked.output = pawl_arena_format(arena, "{\"output\":%.*s}", PAWL_STR_ARG(output->raw));
    }
    return asked;
}

static void map(struct pawl_decision *d, int32_t node)
{
    struct pawl_arena *arena = d->step->set.arena;
    struct pawl_str input;
    if (!pawl_record_input(d, node, NULL, none, &input)) return;
    struct asked asked = read(d, input);
    struct pawl_record_end how = {.status = PAWL_RECORD_COMPLETED, .output = asked.output};
    if (!asked.is_known) {
        how = (struct pawl_record_end){
            .status = PAWL_RECORD_FAILED,
            .reason = pawl_arena_format(
                arena, "terminationStatus: COMPLETED, FAILED or TERMINATED, not \"%.*s\"",
                PAWL_STR_ARG(asked.said))};
    }
    struct pawl_entry *entry = pawl_record_pass(d, node, input, &how);
    if (entry == NULL) return;
    int64_t key = ((const struct pawl_record_row *)entry->row)->task;
    if (!asked.is_known) {
        pawl_todo_push(d, PAWL_TODO_ENDED, key, PAWL_FLOW_ENDS);
        return;
    }
    struct pawl_entry *task = pawl_record_task(d->step, entry->row);
    if (task == NULL) return;
    if (asked.reason.len == 0) {
        asked.reason =
            pawl_arena_format(arena, "ended %.*s by task %.*s", PAWL_STR_ARG(asked.said),
                              PAWL_STR_ARG(((const struct pawl_task_row *)task->row)->id));
    }
    struct pawl_record_row *record = pawl_set_change(&d->step->set, entry);
    record->is_decided = true;
    d->workflow->open--;
    pawl_workflow_end(d, &(struct pawl_workflow_end){.state = asked.state,
                                                     .reason = asked.reason,
                                                     .output = asked.output,
                                                     .runs_failure_workflow =
                                                         asked.state != PAWL_WORKFLOW_COMPLETED});
}

const struct pawl_node_rules pawl_node_terminate = {.map = map};
