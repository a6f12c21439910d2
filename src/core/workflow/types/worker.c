/* What workers do: SIMPLE, DYNAMIC, and types that are no operator's. A task in the queue of its
 * type. */
#include "core/workflow/decision.h"

#include "base/str.h"

static const struct pawl_str none = {0};

/* The name of a DYNAMIC task stands in its input. */
static struct pawl_str dynamic_name(struct pawl_decision *d, const struct pawl_node *n,
                                    struct pawl_str input)
{
    struct pawl_json *object;
    if (pawl_json_parse(input, d->step->set.arena, &object, NULL) != PAWL_OK) return none;
    const struct pawl_json *value = pawl_json_member(object, n->dynamic_name_param);
    if (value == NULL || value->kind == PAWL_JSON_NULL) return none;
    return pawl_value_text(value, d->step->set.arena);
}

/* Of "d1, d2, NO_DOMAIN" the last: which of them has workers is not known here. */
static struct pawl_str last_domain(struct pawl_str list)
{
    size_t at = list.len;
    while (at > 0 && list.ptr[at - 1] != ',') at--;
    struct pawl_str last = pawl_str_trim((struct pawl_str){list.ptr + at, list.len - at});
    bool is_none = last.len == sizeof "NO_DOMAIN" - 1;
    for (size_t i = 0; is_none && i < last.len; i++) {
        char c = last.ptr[i];
        if (c >= 'a' && c <= 'z') c = (char)(c - 'a' + 'A');
        is_none = c == "NO_DOMAIN"[i];
    }
    return is_none ? none : last;
}

static struct pawl_str domain_of(struct pawl_decision *d, struct pawl_str type)
{
    struct pawl_json *object;
    struct pawl_str list = none;
    struct pawl_str domains =
        pawl_workflow_payload_look(d->step, d->workflow, PAWL_WORKFLOW_PAYLOAD_DOMAINS);
    if (domains.len == 0 || pawl_json_parse(domains, d->step->set.arena, &object, NULL) != PAWL_OK)
        return none;
    const struct pawl_json *value = pawl_json_member(object, type);
    if (value == NULL) value = pawl_json_member(object, PAWL_STR("*"));
    return pawl_json_text(value, d->step->set.arena, &list) ? last_domain(list) : none;
}

static void map(struct pawl_decision *d, int32_t node)
{
    const struct pawl_node *n = &d->definition->nodes[node];
    struct pawl_str id = pawl_record_mint(d->step);
    struct pawl_str type = n->type == PAWL_NODE_SIMPLE ? n->name : n->type_name;
    struct pawl_str input;
    if (n->type == PAWL_NODE_DYNAMIC) {
        if (!pawl_record_input(d, node, NULL, id, &input)) return;
        type = dynamic_name(d, n, input);
        if (type.len == 0) {
            pawl_workflow_fail(d, pawl_arena_format(d->step->set.arena,
                                                    "task %.*s: its input %.*s names no task",
                                                    PAWL_STR_ARG(n->reference),
                                                    PAWL_STR_ARG(n->dynamic_name_param)));
            return;
        }
    }
    const struct pawl_task_definition *definition = pawl_node_definition(d, node, type);
    if (d->step->set.is_short) return;
    if (definition == NULL) {
        pawl_workflow_fail(d, pawl_arena_format(d->step->set.arena,
                                                "task %.*s: no definition of the task %.*s",
                                                PAWL_STR_ARG(n->reference), PAWL_STR_ARG(type)));
        return;
    }
    if (!pawl_record_input(d, node, definition, id, &input)) return;
    struct pawl_str domain = domain_of(d, type);
    if (d->step->set.is_short) return;
    (void)pawl_record_make(d, &(struct pawl_record_new){.node = node,
                                                        .definition = definition,
                                                        .id = id,
                                                        .type = type,
                                                        .domain = domain,
                                                        .input = input,
                                                        .status = PAWL_RECORD_SCHEDULED,
                                                        .delay_s = n->start_delay_s});
}

const struct pawl_node_rules pawl_node_worker = {.map = map};
