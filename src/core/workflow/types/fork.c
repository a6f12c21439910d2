/* FORK_JOIN: over at once; its branches begin, each by itself, and the JOIN behind it is there from
 * the first, with its full count. The JOIN's place among the records comes after what the branches
 * begin with. */
#include "core/workflow/decision.h"

#include "base/str.h"

/* A stack: what is to be done first is pushed last. */
static void branch(struct pawl_decision *d, const struct pawl_node *n)
{
    for (int32_t i = n->list_count; i > 0; i--) {
        const struct pawl_node_list *list = &d->definition->lists[n->first_list + i - 1];
        pawl_todo_push(d, PAWL_TODO_REACH, 0, list->first != PAWL_NOWHERE ? list->first : n->next);
    }
}

static void make_join(struct pawl_decision *d, const struct pawl_node *n)
{
    struct pawl_entry *join = pawl_join_make(d, n->next, n->list_count);
    if (join == NULL) return;
    int64_t key = ((const struct pawl_record_row *)join->row)->task;
    pawl_todo_push(d, PAWL_TODO_RUN, key, 0); /* a joinOn that is over already */
    pawl_todo_push(d, PAWL_TODO_PLACE, key, 0);
}

void pawl_fork_branch(struct pawl_decision *d, int32_t node)
{
    const struct pawl_node *n = &d->definition->nodes[node];
    const struct pawl_entry *join =
        pawl_record_latest(d, d->definition->nodes[n->next].reference);
    if (d->step->set.is_short) return;
    if (join == NULL) make_join(d, n);
    branch(d, n);
}

static void map(struct pawl_decision *d, int32_t node)
{
    const struct pawl_node *n = &d->definition->nodes[node];
    struct pawl_str input;
    bool has_join = n->next != PAWL_NOWHERE && d->definition->nodes[n->next].type == PAWL_NODE_JOIN;
    if (!has_join) {
        pawl_workflow_fail(d, pawl_arena_format(d->step->set.arena,
                                                "task %.*s: a fork must be followed by a JOIN",
                                                PAWL_STR_ARG(n->reference)));
        return;
    }
    if (!pawl_record_input(d, node, n->task_definition, (struct pawl_str){0}, &input)) return;
    struct pawl_entry *fork = pawl_record_pass(
        d, node, input, &(struct pawl_record_end){.status = PAWL_RECORD_COMPLETED});
    if (fork == NULL) return;
    make_join(d, n);
    branch(d, n);
    pawl_todo_push(d, PAWL_TODO_ENDED, ((const struct pawl_record_row *)fork->row)->task,
                   PAWL_FLOW_ENDS);
}

const struct pawl_node_rules pawl_node_fork = {.map = map};
