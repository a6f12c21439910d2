#include "core/workflow/definition_check.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/assert.h"
#include "base/instant.h"
#include "core/limits.h"
#include "core/workflow/expression.h"
#include "core/workflow/wait.h"

#include <assert.h>
#include <inttypes.h>

static_assert(PAWL_NODE_TYPE_COUNT <= 64, "a set of types is one word");

/* A check under way, and the node it is at. */
struct check {
    const struct pawl_definition *definition;
    const struct pawl_definition_rules *rules;
    struct pawl_arena *scratch;
    struct pawl_faults *faults;
    struct pawl_node_place at;
    struct pawl_fault_place place;
    const struct pawl_node *node;
    const struct pawl_json *input; /* of the node, one level; NULL until asked for */
    bool needs;
};

#define FAULT(c, field, message) \
    pawl_place_fault(&(c)->place, PAWL_STR(field), (struct pawl_str){0}, PAWL_STR(message))
#define WARN(c, field, message) \
    pawl_place_warning(&(c)->place, PAWL_STR(field), (struct pawl_str){0}, PAWL_STR(message))

static bool is_blank(struct pawl_str text)
{
    return pawl_str_trim(text).len == 0;
}

/* The JSON of a number, as the wrong value of a fault. */
static struct pawl_str number_text(const struct pawl_fault_place *place, int64_t number)
{
    return pawl_arena_format(place->faults->arena, "%" PRId64, number);
}

/* ---- Names
 * -----------------------------------------------------------------------------------------------------
 */

static bool is_plain(struct pawl_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        struct pawl_str one = {&name.ptr[i], 1};
        if (!is_letter && !pawl_str_has(PAWL_STR("_<>{}#- \t\r\n\f\v"), one)) return false;
    }
    return true;
}

/* The queue of a task is "domain:type", so no name has the colon; nor a semicolon, which Conductor
 * means by it. */
static void check_name(struct pawl_str name, const struct pawl_definition_rules *rules,
                       const struct pawl_fault_place *place)
{
    struct pawl_str field = PAWL_STR("name");
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, place->faults->arena);
    pawl_json_put_text(&w, name);
    struct pawl_str quoted = pawl_json_writer_done(&w);
    if (is_blank(name)) {
        pawl_place_fault(place, field, quoted, PAWL_STR("must not be empty"));
    } else if (pawl_str_has(name, PAWL_STR(":")) || pawl_str_has(name, PAWL_STR(";"))) {
        pawl_place_fault(place, field, quoted, PAWL_STR("must not have a ':' or ';'"));
    } else if (rules->needs_plain_names && !is_plain(name)) {
        pawl_place_fault(place, field, quoted,
                         PAWL_STR("must have letters, digits, blanks and _<>{}#- only"));
    }
}

static void check_owner(struct pawl_str owner_email, const struct pawl_definition_rules *rules,
                        const struct pawl_fault_place *place)
{
    if (!rules->needs_owner_email || !is_blank(owner_email)) return;
    pawl_place_fault(place, PAWL_STR("ownerEmail"), (struct pawl_str){0},
                     PAWL_STR("must not be empty"));
}

/* ---- Definitions of tasks
 * -------------------------------------------------------------------------------------- */

static void check_min(const struct pawl_fault_place *place, struct pawl_str field, int64_t number,
                      int64_t min)
{
    if (number == PAWL_NOT_GIVEN || number >= min) return;
    pawl_place_fault(place, field, number_text(place, number),
                     min == 1 ? PAWL_STR("must be at least 1") : PAWL_STR("must not be negative"));
}

void pawl_task_definition_check(const struct pawl_task_definition *d,
                                const struct pawl_definition_rules *rules,
                                const struct pawl_fault_place *place)
{
    check_name(d->name, rules, place);
    check_owner(d->owner_email, rules, place);
    check_min(place, PAWL_STR("retryCount"), d->retry_count, 0);
    check_min(place, PAWL_STR("retryDelaySeconds"), d->retry_delay_s, 0);
    check_min(place, PAWL_STR("backoffScaleFactor"), d->backoff_scale_factor, 1);
    check_min(place, PAWL_STR("maxRetryDelaySeconds"), d->retry_delay_s_max, 0);
    check_min(place, PAWL_STR("backoffJitterMs"), d->backoff_jitter_ms, 0);
    check_min(place, PAWL_STR("timeoutSeconds"), d->timeout_s, 0);
    check_min(place, PAWL_STR("responseTimeoutSeconds"), d->response_timeout_s, 1);
    check_min(place, PAWL_STR("pollTimeoutSeconds"), d->poll_timeout_s, 0);
    check_min(place, PAWL_STR("totalTimeoutSeconds"), d->total_timeout_s, 0);
    check_min(place, PAWL_STR("concurrentExecLimit"), d->concurrent_max, 0);
    if (d->timeout_s <= 0) return;
    if (d->response_timeout_s > d->timeout_s) {
        pawl_place_fault(place, PAWL_STR("responseTimeoutSeconds"),
                         number_text(place, d->response_timeout_s),
                         PAWL_STR("must not be longer than timeoutSeconds"));
    }
    if (d->total_timeout_s > 0 && d->timeout_s > d->total_timeout_s) {
        pawl_place_fault(place, PAWL_STR("timeoutSeconds"), number_text(place, d->timeout_s),
                         PAWL_STR("must not be longer than totalTimeoutSeconds"));
    }
}

/* ---- Inputs
 * ----------------------------------------------------------------------------------------------------
 */

static const struct pawl_json *input_of(struct check *c, struct pawl_str key)
{
    if (c->node->input.len == 0) return NULL;
    if (c->input == NULL) {
        struct pawl_json *input;
        /* It was parsed before as a part of the whole: only the arena can fail, which says it at
         * the end. */
        if (pawl_json_parse_top(c->node->input, 1, c->scratch, &input, NULL) != PAWL_OK)
            return NULL;
        c->input = input;
    }
    return pawl_json_member(c->input, key);
}

/* Whether the template of the node's task definition has the key. */
static bool template_has(struct check *c, struct pawl_str key)
{
    const struct pawl_task_definition *definition = c->node->task_definition;
    const struct pawl_definition_source *source = c->rules->source;
    if (definition == NULL && source != NULL) {
        enum pawl_lookup found = source->task(source->self, c->node->name, &definition);
        if (found == PAWL_LOOKUP_NEED) c->needs = true;
        if (found != PAWL_LOOKUP_FOUND) definition = NULL;
    }
    if (definition == NULL || definition->input_template.len == 0) return false;
    struct pawl_json *map;
    if (pawl_json_parse_top(definition->input_template, 1, c->scratch, &map, NULL) != PAWL_OK) {
        return false; /* as above */
    }
    return pawl_json_member(map, key) != NULL;
}

static bool has_input(struct check *c, struct pawl_str key)
{
    return input_of(c, key) != NULL || template_has(c, key);
}

static bool is_expression(struct pawl_str text)
{
    return pawl_str_has(text, PAWL_STR("${"));
}

/* ---- WAIT
 * ------------------------------------------------------------------------------------------------------
 */

/* How many bytes at the start of text lie in the range; letters of both cases. */
static size_t span(struct pawl_str text, char first, char last)
{
    size_t len = 0;
    while (len < text.len) {
        char c = text.ptr[len];
        if (first == 'a' && c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
        if (c < first || c > last) break;
        len++;
    }
    return len;
}

static bool is_duration(struct pawl_str text)
{
    int64_t ms;
    return pawl_wait_duration_parse(text, &ms);
}

/* An instant of ours, or "yyyy-MM-dd HH:mm ZONE" with a zone that the time of the wait will know.
 */
static bool is_instant(struct pawl_str text)
{
    enum { MINUTE_LEN = 16, ZONE_LEN_MAX = 40 };
    int64_t at_ms;
    if (pawl_instant_parse(text, &at_ms)) return true;
    if (text.len <= MINUTE_LEN + 1 || text.len > MINUTE_LEN + 1 + ZONE_LEN_MAX) return false;
    if (text.ptr[MINUTE_LEN] != ' ' || span(text, 'a', 'z') > 0) return false;
    if (!pawl_instant_parse((struct pawl_str){text.ptr, MINUTE_LEN}, &at_ms)) return false;
    struct pawl_str zone = {text.ptr + MINUTE_LEN + 1, text.len - MINUTE_LEN - 1};
    for (size_t i = 0; i < zone.len; i++) {
        struct pawl_str one = {&zone.ptr[i], 1};
        bool is_part = span(one, 'a', 'z') + span(one, '0', '9') > 0;
        if (!is_part && !pawl_str_has(PAWL_STR("+-:/_"), one)) return false;
    }
    return span(zone, 'a', 'z') > 0;
}

static void check_wait(struct check *c)
{
    const struct pawl_json *duration = input_of(c, PAWL_STR("duration"));
    const struct pawl_json *until = input_of(c, PAWL_STR("until"));
    if (duration != NULL && duration->kind == PAWL_JSON_NULL) duration = NULL;
    if (until != NULL && until->kind == PAWL_JSON_NULL) until = NULL;
    if (duration != NULL && until != NULL) {
        FAULT(c, "inputParameters", "of a WAIT must not have both duration and until");
    }
    struct pawl_str text;
    if (duration != NULL && (!pawl_field_text(duration, c->scratch, &text) ||
                             !(is_expression(text) || is_duration(text)))) {
        pawl_place_fault(&c->place, PAWL_STR("inputParameters.duration"), duration->raw,
                         PAWL_STR("must be a duration as \"1d 2h30m\""));
    }
    if (until != NULL && (!pawl_field_text(until, c->scratch, &text) ||
                          !(is_expression(text) || is_blank(text) || is_instant(text)))) {
        pawl_place_fault(&c->place, PAWL_STR("inputParameters.until"), until->raw,
                         PAWL_STR("must be a time as \"2026-11-30 17:45 UTC\""));
    }
}

/* ---- The types
 * -------------------------------------------------------------------------------------------------
 */

static bool has_list(const struct check *c, enum pawl_node_list_kind kind)
{
    return pawl_definition_list(c->definition, c->at.node, kind) != PAWL_NOWHERE;
}

static void check_script(struct check *c, struct pawl_str field, struct pawl_str script)
{
    struct pawl_error why;
    if (c->rules->script_parses == NULL) return;
    if (c->rules->script_parses(c->rules->self, script, &why)) return;
    struct pawl_str message = pawl_arena_format(c->faults->arena, "cannot be parsed: %s", why.text);
    pawl_place_fault(&c->place, field, (struct pawl_str){0}, message);
}

/* Whether the evaluator is JavaScript; of one that will not run one is warned. */
static bool check_evaluator(struct check *c, struct pawl_str field, struct pawl_str evaluator)
{
    bool is_script = pawl_str_equal(evaluator, PAWL_STR("javascript")) ||
                     pawl_str_equal(evaluator, PAWL_STR("graaljs"));
    bool runs = pawl_str_equal(evaluator, PAWL_STR("value-param")) ||
                (is_script && !c->rules->lacks_javascript);
    if (!runs) {
        struct pawl_str message =
            pawl_arena_format(c->faults->arena, "'%.*s' is an evaluator this server does not run",
                              PAWL_STR_ARG(evaluator));
        pawl_place_warning(&c->place, field, (struct pawl_str){0}, message);
    }
    return is_script && runs;
}

static void check_switch(struct check *c)
{
    if (is_blank(c->node->evaluator)) FAULT(c, "evaluatorType", "is required for a SWITCH");
    if (is_blank(c->node->expression)) FAULT(c, "expression", "is required for a SWITCH");
    if (!has_list(c, PAWL_NODE_LIST_CASE))
        FAULT(c, "decisionCases", "of a SWITCH must not be empty");
    if (is_blank(c->node->evaluator)) return;
    bool is_script = check_evaluator(c, PAWL_STR("evaluatorType"), c->node->evaluator);
    if (is_script && !is_blank(c->node->expression)) {
        check_script(c, PAWL_STR("expression"), c->node->expression);
    }
}

static void check_decision(struct check *c)
{
    bool has_script = !is_blank(c->node->case_expression);
    if (!has_script && is_blank(c->node->case_param)) {
        FAULT(c, "caseValueParam", "or caseExpression is required for a DECISION");
    }
    if (!has_list(c, PAWL_NODE_LIST_CASE))
        FAULT(c, "decisionCases", "of a DECISION must not be empty");
    if (!has_script) return;
    if (check_evaluator(c, PAWL_STR("caseExpression"), PAWL_STR("javascript"))) {
        check_script(c, PAWL_STR("caseExpression"), c->node->case_expression);
    }
}

/* The JOIN is what follows in the same list. */
static void check_fork_end(struct check *c)
{
    int32_t next = c->node->next;
    if (next != PAWL_NOWHERE && c->definition->nodes[next].type == PAWL_NODE_JOIN) return;
    if (c->rules->is_strict) {
        FAULT(c, "type", "of a fork must be followed by a JOIN");
    } else {
        WARN(c, "type", "of a fork is not followed by a JOIN: the workflow will fail there");
    }
}

static void check_fork(struct check *c)
{
    if (!has_list(c, PAWL_NODE_LIST_BRANCH))
        FAULT(c, "forkTasks", "of a FORK_JOIN must not be empty");
    const struct pawl_node *n = c->node;
    for (int32_t i = n->first_list; i < n->first_list + n->list_count; i++) {
        const struct pawl_node_list *list = &c->definition->lists[i];
        if (list->kind != PAWL_NODE_LIST_BRANCH || list->first != PAWL_NOWHERE) continue;
        struct pawl_str field =
            pawl_arena_format(c->faults->arena, "forkTasks[%" PRId32 "]", list->at);
        pawl_place_fault(&c->place, field, (struct pawl_str){0}, PAWL_STR("must not be empty"));
    }
    check_fork_end(c);
}

static void check_dynamic_fork(struct check *c)
{
    check_fork_end(c);
    if (input_of(c, PAWL_STR("forkTaskInputs")) != NULL) return;
    bool has_legacy = !is_blank(c->node->fork_legacy_param);
    bool has_tasks = !is_blank(c->node->fork_tasks_param);
    bool has_inputs = !is_blank(c->node->fork_inputs_param);
    if (has_legacy && (has_tasks || has_inputs)) {
        FAULT(c, "dynamicForkJoinTasksParam",
              "must not stand beside dynamicForkTasksParam or dynamicForkTasksInputParamName");
        return;
    }
    if (has_legacy) return;
    if (!has_tasks) FAULT(c, "dynamicForkTasksParam", "is required for a FORK_JOIN_DYNAMIC");
    if (!has_inputs) {
        FAULT(c, "dynamicForkTasksInputParamName", "is required for a FORK_JOIN_DYNAMIC");
    }
}

static void check_join(struct check *c)
{
    for (int64_t i = 0; i < c->node->join_on.count; i++) {
        struct pawl_str reference = c->node->join_on.items[i];
        if (pawl_definition_find(c->definition, reference) != PAWL_NOWHERE) continue;
        struct pawl_str message =
            pawl_arena_format(c->faults->arena, "names '%.*s', which is no task of this workflow",
                              PAWL_STR_ARG(reference));
        if (c->rules->is_strict) {
            pawl_place_fault(&c->place, PAWL_STR("joinOn"), (struct pawl_str){0}, message);
        } else {
            pawl_place_warning(&c->place, PAWL_STR("joinOn"), (struct pawl_str){0}, message);
        }
    }
}

static void check_loop(struct check *c)
{
    if (!has_list(c, PAWL_NODE_LIST_LOOP)) FAULT(c, "loopOver", "of a DO_WHILE must not be empty");
    bool has_items = c->node->loop_items.len != 0 || input_of(c, PAWL_STR("_items")) != NULL;
    if (is_blank(c->node->loop_condition)) {
        if (!has_items) FAULT(c, "loopCondition", "is required for a DO_WHILE without items");
        return;
    }
    if (check_evaluator(c, PAWL_STR("loopCondition"), PAWL_STR("javascript"))) {
        check_script(c, PAWL_STR("loopCondition"), c->node->loop_condition);
    }
}

static bool is_one_expression(struct pawl_str text)
{
    return text.len > 3 && pawl_str_starts(text, PAWL_STR("${")) &&
           pawl_str_ends(text, PAWL_STR("}"));
}

static void check_sub_workflow(struct check *c)
{
    const struct pawl_sub_workflow *sub = c->node->sub_workflow;
    if (sub == NULL || (is_blank(sub->name) && sub->definition.len == 0)) {
        FAULT(c, "subWorkflowParam",
              "with a name or workflowDefinition is required for a SUB_WORKFLOW");
        return;
    }
    if (sub->definition.len == 0 || sub->definition.ptr[0] == '{') return;
    struct pawl_json *value;
    struct pawl_str text;
    bool is_good = pawl_json_parse_top(sub->definition, 0, c->scratch, &value, NULL) == PAWL_OK &&
                   value->kind == PAWL_JSON_STRING && pawl_json_text(value, c->scratch, &text) &&
                   is_one_expression(text);
    if (is_good) return;
    pawl_place_fault(&c->place, PAWL_STR("subWorkflowParam.workflowDefinition"), sub->definition,
                     PAWL_STR("must be an object or one ${…}"));
}

static void check_http(struct check *c)
{
    bool is_good = input_of(c, PAWL_STR("uri")) != NULL ||
                   input_of(c, PAWL_STR("method")) != NULL ||
                   has_input(c, PAWL_STR("http_request"));
    if (!is_good) FAULT(c, "inputParameters.http_request", "or uri is required for an HTTP task");
}

static void check_terminate(struct check *c)
{
    static const struct pawl_str statuses[] = {PAWL_STR_INIT("COMPLETED"), PAWL_STR_INIT("FAILED"),
                                               PAWL_STR_INIT("TERMINATED")};
    if (c->node->is_optional) FAULT(c, "optional", "is not possible for a TERMINATE");
    const struct pawl_json *status = input_of(c, PAWL_STR("terminationStatus"));
    struct pawl_str text = {0};
    bool is_good =
        status != NULL && pawl_json_text(status, c->scratch, &text) && is_expression(text);
    for (size_t i = 0; i < PAWL_COUNT_OF(statuses); i++) {
        if (pawl_str_equal(statuses[i], text)) is_good = true;
    }
    if (is_good) return;
    pawl_place_fault(&c->place, PAWL_STR("inputParameters.terminationStatus"),
                     status != NULL ? status->raw : (struct pawl_str){0},
                     PAWL_STR("must be COMPLETED, FAILED or TERMINATED, or an expression"));
}

static void check_inline(struct check *c)
{
    struct pawl_str evaluator;
    const struct pawl_json *value = input_of(c, PAWL_STR("evaluatorType"));
    if (value == NULL || !pawl_json_text(value, c->scratch, &evaluator)) return;
    if (is_expression(evaluator) || is_blank(evaluator)) return;
    (void)check_evaluator(c, PAWL_STR("inputParameters.evaluatorType"),
                          evaluator); /* its warning */
}

static void check_type(struct check *c)
{
    switch (c->node->type) {
    case PAWL_NODE_EVENT:
        if (is_blank(c->node->sink)) FAULT(c, "sink", "is required for an EVENT");
        break;
    case PAWL_NODE_DYNAMIC:
        if (is_blank(c->node->dynamic_name_param)) {
            FAULT(c, "dynamicTaskNameParam", "is required for a DYNAMIC task");
        }
        break;
    case PAWL_NODE_KAFKA_PUBLISH:
        if (!has_input(c, PAWL_STR("kafka_request"))) {
            FAULT(c, "inputParameters.kafka_request", "is required for a KAFKA_PUBLISH");
        }
        break;
    case PAWL_NODE_JSON_JQ_TRANSFORM:
        if (!has_input(c, PAWL_STR("queryExpression"))) {
            FAULT(c, "inputParameters.queryExpression", "is required for a JSON_JQ_TRANSFORM");
        }
        break;
    case PAWL_NODE_DECISION:
        check_decision(c);
        break;
    case PAWL_NODE_SWITCH:
        check_switch(c);
        break;
    case PAWL_NODE_FORK_JOIN:
        check_fork(c);
        break;
    case PAWL_NODE_FORK_JOIN_DYNAMIC:
        check_dynamic_fork(c);
        break;
    case PAWL_NODE_JOIN:
        check_join(c);
        break;
    case PAWL_NODE_DO_WHILE:
        check_loop(c);
        break;
    case PAWL_NODE_SUB_WORKFLOW:
        check_sub_workflow(c);
        break;
    case PAWL_NODE_WAIT:
        check_wait(c);
        break;
    case PAWL_NODE_HTTP:
        check_http(c);
        break;
    case PAWL_NODE_TERMINATE:
        check_terminate(c);
        break;
    case PAWL_NODE_INLINE:
        check_inline(c);
        break;
    case PAWL_NODE_SIMPLE:
    case PAWL_NODE_START_WORKFLOW:
    case PAWL_NODE_HUMAN:
    case PAWL_NODE_USER_DEFINED:
    case PAWL_NODE_LAMBDA:
    case PAWL_NODE_EXCLUSIVE_JOIN:
    case PAWL_NODE_SET_VARIABLE:
    case PAWL_NODE_NOOP:
    case PAWL_NODE_PULL_WORKFLOW_MESSAGES:
    case PAWL_NODE_AGENT:
    case PAWL_NODE_GET_AGENT_CARD:
    case PAWL_NODE_CANCEL_AGENT:
    case PAWL_NODE_LIST_MCP_TOOLS:
    case PAWL_NODE_CALL_MCP_TOOL:
    case PAWL_NODE_LLM:
    case PAWL_NODE_TYPE_COUNT:
        break;
    }
}

/* ---- Nodes
 * -----------------------------------------------------------------------------------------------------
 */

static bool is_in_loop(const struct check *c)
{
    const struct pawl_node_list *list = &c->definition->lists[c->node->list];
    while (list->kind != PAWL_NODE_LIST_LOOP && list->owner != PAWL_NOWHERE) {
        list = &c->definition->lists[c->definition->nodes[list->owner].list];
    }
    return list->kind == PAWL_NODE_LIST_LOOP;
}

static void check_reference(struct check *c)
{
    struct pawl_str reference = c->node->reference;
    if (is_blank(reference)) {
        FAULT(c, "taskReferenceName", "must not be empty");
        return;
    }
    if (pawl_definition_find(c->definition, reference) != c->at.node) {
        struct pawl_str message = pawl_arena_format(
            c->faults->arena, "'%.*s' must be unique in a definition", PAWL_STR_ARG(reference));
        pawl_place_fault(&c->place, PAWL_STR("taskReferenceName"), (struct pawl_str){0}, message);
    }
    bool hurts = pawl_str_has(reference, PAWL_STR("__")) && is_in_loop(c);
    if (hurts && c->rules->is_strict) {
        FAULT(c, "taskReferenceName", "must not have \"__\" inside a loop");
    } else if (hurts) {
        WARN(c, "taskReferenceName", "has \"__\" inside a loop, which clients take for its round");
    }
}

static void check_node(struct check *c, int32_t node)
{
    c->at.node = node;
    c->node = &c->definition->nodes[node];
    c->input = NULL;
    struct pawl_arena_mark mark = pawl_arena_mark(c->scratch);

    check_name(c->node->name, c->rules, &c->place);
    check_reference(c);
    if (is_blank(c->node->type_name)) FAULT(c, "type", "must not be empty");
    check_min(&c->place, PAWL_STR("startDelay"), c->node->start_delay_s, 0);
    if (c->rules->types_missing >> c->node->type & 1) {
        struct pawl_str message =
            pawl_arena_format(c->faults->arena, "%.*s is an operator this server does not run",
                              PAWL_STR_ARG(c->node->type_name));
        pawl_place_warning(&c->place, PAWL_STR("type"), (struct pawl_str){0}, message);
    }
    check_type(c);
    if (c->node->list == 0 && c->rules->inputs != NULL) {
        c->rules->inputs(c->rules->self, c->definition, node, &c->place);
    }
    if (c->node->task_definition != NULL) {
        c->at.inside = "taskDefinition.";
        pawl_task_definition_check(c->node->task_definition, c->rules, &c->place);
        c->at.inside = NULL;
    }
    /* A failure is kept: the mark would forget it. */
    if (pawl_arena_code(c->scratch) == PAWL_OK) pawl_arena_rewind(c->scratch, mark);
}

enum pawl_lookup pawl_definition_check(const struct pawl_definition *definition,
                                       const struct pawl_definition_rules *rules,
                                       struct pawl_arena *scratch, struct pawl_faults *faults)
{
    pawl_assert(scratch != faults->arena);
    struct check c = {.definition = definition,
                      .rules = rules,
                      .scratch = scratch,
                      .faults = faults,
                      .at = {.definition = definition, .node = PAWL_NOWHERE}};
    c.place = pawl_node_place(&c.at, faults);

    check_name(definition->name, rules, &c.place);
    check_owner(definition->owner_email, rules, &c.place);
    check_min(&c.place, PAWL_STR("timeoutSeconds"), definition->timeout_s, 0);
    if (definition->schema_version != 2) {
        pawl_place_fault(&c.place, PAWL_STR("schemaVersion"),
                         number_text(&c.place, definition->schema_version), PAWL_STR("must be 2"));
    }
    if (definition->bytes > PAWL_DEFINITION_BYTES_MAX) {
        struct pawl_str message = pawl_arena_format(
            faults->arena, "the definition must have at most %d bytes", PAWL_DEFINITION_BYTES_MAX);
        pawl_place_fault(&c.place, PAWL_STR(""), (struct pawl_str){0}, message);
    }
    if (definition->node_count == 0) FAULT(&c, "tasks", "must not be empty");
    for (int32_t i = 0; i < definition->node_count; i++) check_node(&c, i);
    return c.needs ? PAWL_LOOKUP_NEED : PAWL_LOOKUP_FOUND;
}

static bool has_task(void *self, struct pawl_str reference)
{
    return pawl_definition_find(self, reference) != PAWL_NOWHERE;
}

void pawl_definition_check_inputs(void *self, const struct pawl_definition *definition, int32_t node,
                                  const struct pawl_fault_place *place)
{
    const struct pawl_names names = {.self = (void *)(uintptr_t)definition, .has_task = has_task};
    struct pawl_error err = {0};
    struct pawl_str input = definition->nodes[node].input;
    if (input.len == 0) return;
    if (pawl_template_check(input, &names, self, &err) != PAWL_INVALID) return; /* the arena tells */
    pawl_place_fault(place, PAWL_STR("inputParameters"), (struct pawl_str){0},
                     pawl_arena_format(place->faults->arena, "cannot be: %s", err.text));
}
