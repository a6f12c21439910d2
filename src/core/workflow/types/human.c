/* HUMAN: waits until somebody says how it ended. */
#include "core/workflow/decision.h"

#include "base/str.h"

static void map(struct pawl_decision *d, int32_t node)
{
    struct pawl_str id = pawl_record_mint(d->step);
    struct pawl_str input;
    if (!pawl_record_input(d, node, NULL, id, &input)) return;
    (void)pawl_record_make(
        d, &(struct pawl_record_new){.node = node,
                                     .definition = d->definition->nodes[node].task_definition,
                                     .id = id,
                                     .type = PAWL_STR("HUMAN"),
                                     .input = input,
                                     .status = PAWL_RECORD_IN_PROGRESS});
}

const struct pawl_node_rules pawl_node_human = {.map = map};
