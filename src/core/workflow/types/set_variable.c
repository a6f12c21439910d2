/* SET_VARIABLE: each member of its input becomes a variable of the workflow. */
#include "core/workflow/decision.h"

#include "base/str.h"
#include "core/limits.h"
#include "core/workflow/overlay.h"

static void map(struct pawl_decision *d, int32_t node)
{
    struct pawl_str input;
    if (!pawl_record_input(d, node, NULL, (struct pawl_str){0}, &input)) return;
    struct pawl_str before =
        pawl_workflow_payload_look(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_VARIABLES);
    if (d->step->set.is_short) return;
    struct pawl_str after = pawl_overlay(before, input, d->step->set.arena);
    struct pawl_record_end how = {.status = PAWL_RECORD_COMPLETED};
    if (after.len > PAWL_VARIABLES_BYTES_MAX) {
        how.status = PAWL_RECORD_FAILED_WITH_TERMINAL_ERROR;
        how.reason =
            pawl_arena_format(d->step->set.arena, "the variables would have %zu bytes; at most %d",
                              after.len, PAWL_VARIABLES_BYTES_MAX);
    } else {
        pawl_workflow_payload_put(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_VARIABLES, after);
    }
    struct pawl_entry *record = pawl_record_pass(d, node, input, &how);
    if (record == NULL) return;
    pawl_todo_push(d, PAWL_TODO_ENDED, ((const struct pawl_record_row *)record->row)->task,
                   PAWL_FLOW_SUCCESSOR);
}

const struct pawl_node_rules pawl_node_set_variable = {.map = map};
