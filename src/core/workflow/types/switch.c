/* SWITCH by value-param: one of its cases, by the text of an input. A case that is there and empty
 * runs nothing; a case that is not there is the default. Scripts are told apart by their evaluator,
 * which this build does not have. */
#include "core/workflow/decision.h"

#include "base/str.h"

/* The input with what was chosen, as clients see it. */
static struct pawl_str chosen_input(struct pawl_decision *d, const struct pawl_json *input,
                                    struct pawl_str chosen, bool has_tasks)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, d->step->set.arena);
    pawl_json_begin_object(&w);
    for (const struct pawl_json *m = pawl_json_first(input); m != NULL; m = m->next) {
        struct pawl_str key;
        if (!pawl_json_key(m, d->step->set.arena, &key)) continue;
        if (pawl_str_equal(key, PAWL_STR("case")) || pawl_str_equal(key, PAWL_STR("hasChildren")))
            continue;
        pawl_json_put_key_str(&w, key);
        pawl_json_put_raw(&w, m->raw);
    }
    pawl_json_put_member_text(&w, "case", chosen);
    if (has_tasks) pawl_json_put_member_text(&w, "hasChildren", PAWL_STR("true"));
    pawl_json_end_object(&w);
    return pawl_json_writer_done(&w);
}

static struct pawl_str chosen_output(struct pawl_decision *d, struct pawl_str chosen)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, d->step->set.arena);
    pawl_json_begin_object(&w);
    pawl_json_put_key(&w, "evaluationResult");
    pawl_json_begin_array(&w);
    pawl_json_put_text(&w, chosen);
    pawl_json_end_array(&w);
    pawl_json_put_member_text(&w, "selectedCase", chosen);
    pawl_json_end_object(&w);
    return pawl_json_writer_done(&w);
}

int32_t pawl_switch_next(const struct pawl_decision *d, int32_t node, struct pawl_str chosen)
{
    int32_t list = pawl_definition_case(d->definition, node, chosen);
    int32_t first = list == PAWL_NOWHERE ? PAWL_NOWHERE : d->definition->lists[list].first;
    return first == PAWL_NOWHERE ? PAWL_FLOW_SUCCESSOR : first;
}

static void map(struct pawl_decision *d, int32_t node)
{
    const struct pawl_node *n = &d->definition->nodes[node];
    struct pawl_str input;
    struct pawl_json *object;
    if (!pawl_str_equal(n->evaluator, PAWL_STR("value-param"))) {
        pawl_workflow_fail(
            d, pawl_arena_format(d->step->set.arena,
                                 "task %.*s: this server does not have the evaluator %.*s",
                                 PAWL_STR_ARG(n->reference), PAWL_STR_ARG(n->evaluator)));
        return;
    }
    if (!pawl_record_input(d, node, n->task_definition, (struct pawl_str){0}, &input)) return;
    if (pawl_json_parse(input, d->step->set.arena, &object, NULL) != PAWL_OK) return;
    struct pawl_str chosen =
        pawl_value_text(pawl_json_member(object, n->expression), d->step->set.arena);
    int32_t next = pawl_switch_next(d, node, chosen);
    struct pawl_entry *record =
        pawl_record_pass(d, node, chosen_input(d, object, chosen, next != PAWL_FLOW_SUCCESSOR),
                         &(struct pawl_record_end){.status = PAWL_RECORD_COMPLETED,
                                                   .output = chosen_output(d, chosen)});
    if (record == NULL) return;
    pawl_todo_push(d, PAWL_TODO_ENDED, ((const struct pawl_record_row *)record->row)->task, next);
}

const struct pawl_node_rules pawl_node_switch = {.map = map};
