/* NOOP: over as soon as it is reached. */
#include "core/workflow/decision.h"

static void map(struct pawl_decision *d, int32_t node)
{
    struct pawl_str input;
    if (!pawl_record_input(d, node, NULL, (struct pawl_str){0}, &input)) return;
    struct pawl_entry *record = pawl_record_pass(
        d, node, input, &(struct pawl_record_end){.status = PAWL_RECORD_COMPLETED});
    if (record == NULL) return;
    pawl_todo_push(d, PAWL_TODO_ENDED, ((const struct pawl_record_row *)record->row)->task,
                   PAWL_FLOW_SUCCESSOR);
}

const struct pawl_node_rules pawl_node_noop = {.map = map};
