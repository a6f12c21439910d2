/* The tree is read and written without recursion: its depth comes from outside. What reading has
 * still to do is in the lists themselves (their source), and where it is in a stack of one cursor a
 * level. */
#include "core/workflow/definition.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "core/limits.h"

#include <assert.h>
#include <inttypes.h>

/* ---- Types
 * -----------------------------------------------------------------------------------------------------
 */

static const struct pawl_str type_names[] = {
#define X(name) PAWL_STR_INIT(#name),
    PAWL_NODE_TYPES(X)
#undef X
};

enum pawl_node_type pawl_node_type_of(struct pawl_str name)
{
    for (size_t i = 0; i < PAWL_COUNT_OF(type_names); i++) {
        if (pawl_str_equal(type_names[i], name)) return (enum pawl_node_type)i;
    }
    return pawl_str_starts(name, PAWL_STR("LLM_")) ? PAWL_NODE_LLM : PAWL_NODE_USER_DEFINED;
}

bool pawl_node_type_is_polled(enum pawl_node_type type)
{
    return type == PAWL_NODE_SIMPLE || type == PAWL_NODE_DYNAMIC || type == PAWL_NODE_USER_DEFINED;
}

/* ---- The tables of properties
 * ---------------------------------------------------------------------------------- */

static const struct pawl_str timeout_policies[] = {
    [PAWL_TIMEOUT_RETRY] = PAWL_STR_INIT(""), /* not of workflows */
    [PAWL_TIMEOUT_TIME_OUT_WF] = PAWL_STR_INIT("TIME_OUT_WF"),
    [PAWL_TIMEOUT_ALERT_ONLY] = PAWL_STR_INIT("ALERT_ONLY"),
    {0},
};

static const struct pawl_str join_modes[] = {
    [PAWL_JOIN_NONE] = PAWL_STR_INIT(""),
    [PAWL_JOIN_SYNC] = PAWL_STR_INIT("SYNC"),
    [PAWL_JOIN_ASYNC] = PAWL_STR_INIT("ASYNC"),
    {0},
};

static const struct pawl_str idempotencies[] = {
    [PAWL_IDEMPOTENCY_NONE] = PAWL_STR_INIT(""),
    [PAWL_IDEMPOTENCY_FAIL] = PAWL_STR_INIT("FAIL"),
    [PAWL_IDEMPOTENCY_RETURN_EXISTING] = PAWL_STR_INIT("RETURN_EXISTING"),
    [PAWL_IDEMPOTENCY_FAIL_ON_RUNNING] = PAWL_STR_INIT("FAIL_ON_RUNNING"),
    {0},
};

#define FIELD(of, json_key, member, field_kind, default_value)                 \
    {                                                                          \
        .key = PAWL_STR_INIT(json_key), .initial = (default_value),            \
        .offset = offsetof(struct of, member), .kind = PAWL_FIELD_##field_kind \
    }
#define WORD(of, json_key, member, all_words, default_value)                              \
    {                                                                                     \
        .key = PAWL_STR_INIT(json_key), .words = (all_words), .initial = (default_value), \
        .offset = offsetof(struct of, member), .kind = PAWL_FIELD_WORD                    \
    }

/* clang-format off */
#define F(...) FIELD(pawl_definition, __VA_ARGS__)
static const struct pawl_field definition_items[] = {
    F("name",                          name,                     TEXT,        0),
    F("description",                   description,              TEXT,        0),
    F("version",                       version,                  INT,         1),
    F("inputParameters",               input_parameters,         TEXTS,       0),
    F("outputParameters",              output,                   MAP,         0),
    F("inputTemplate",                 input_template,           MAP,         0),
    F("variables",                     variables,                MAP,         0),
    F("failureWorkflow",               failure_workflow,         TEXT,        0),
    F("failureWorkflowVersion",        failure_workflow_version, INT_OR_NONE, 0),
    F("schemaVersion",                 schema_version,           INT,         2),
    F("restartable",                   is_restartable,           BOOL,        1),
    F("workflowStatusListenerEnabled", has_status_listener,      BOOL,        0),
    F("workflowStatusListenerSink",    status_listener_sink,     TEXT,        0),
    WORD(pawl_definition, "timeoutPolicy", timeout_policy, timeout_policies, PAWL_TIMEOUT_ALERT_ONLY),
    F("timeoutSeconds",                timeout_s,                LONG,        0),
    F("ownerEmail",                    owner_email,              TEXT,        0),
    F("rateLimitConfig",               rate_limit,               MAP_OR_NONE, 0),
    F("inputSchema",                   input_schema,             MAP_OR_NONE, 0),
    F("outputSchema",                  output_schema,            MAP_OR_NONE, 0),
    F("enforceSchema",                 enforces_schema,          BOOL,        1),
    F("metadata",                      metadata,                 MAP,         0),
    F("cacheConfig",                   cache,                    MAP_OR_NONE, 0),
    F("maskedFields",                  masked_fields,            TEXTS,       0),
    F("ownerApp",                      owner_app,                TEXT,        0),
    F("createdBy",                     created_by,               TEXT,        0),
    F("updatedBy",                     updated_by,               TEXT,        0),
    F("createTime",                    created_at_ms,            LONG,        0),
    F("updateTime",                    updated_at_ms,            LONG,        0),
};
#undef F

#define F(...) FIELD(pawl_node, __VA_ARGS__)
static const struct pawl_field node_items[] = {
    F("name",                           name,               TEXT,         0),
    F("taskReferenceName",              reference,          TEXT,         0),
    F("type",                           type_name,          TEXT,         0),
    F("description",                    description,        TEXT,         0),
    F("inputParameters",                input,              MAP,          0),
    F("startDelay",                     start_delay_s,      INT,          0),
    F("optional",                       is_optional,        BOOL,         0),
    F("permissive",                     is_permissive,      BOOL,         0),
    F("asyncComplete",                  is_async_complete,  BOOL,         0),
    F("retryCount",                     retry_count,        INT_OR_NONE,  0),
    F("evaluatorType",                  evaluator,          TEXT,         0),
    F("expression",                     expression,         TEXT,         0),
    F("caseValueParam",                 case_param,         TEXT,         0),
    F("caseExpression",                 case_expression,    TEXT,         0),
    F("scriptExpression",               script,             TEXT,         0),
    F("joinOn",                         join_on,            TEXTS,        0),
    F("defaultExclusiveJoinTask",       default_join_on,    TEXTS,        0),
    WORD(pawl_node, "joinMode",         join_mode,          join_modes,   PAWL_JOIN_NONE),
    F("joinStatus",                     join_status,        TEXT,         0),
    F("dynamicTaskNameParam",           dynamic_name_param, TEXT,         0),
    F("dynamicForkTasksParam",          fork_tasks_param,   TEXT,         0),
    F("dynamicForkTasksInputParamName", fork_inputs_param,  TEXT,         0),
    F("dynamicForkJoinTasksParam",      fork_legacy_param,  TEXT,         0),
    F("loopCondition",                  loop_condition,     TEXT,         0),
    F("items",                          loop_items,         ANY,          0),
    F("sink",                           sink,               TEXT,         0),
    F("rateLimited",                    is_rate_limited,    BOOL_OR_NONE, 0),
    F("onStateChange",                  on_state_change,    MAP,          0),
    F("cacheConfig",                    cache,              MAP_OR_NONE,  0),
    F("metadata",                       metadata,           MAP,          0),
};
#undef F

#define F(...) FIELD(pawl_sub_workflow, __VA_ARGS__)
static const struct pawl_field sub_workflow_items[] = {
    F("name",               name,            TEXT,        0),
    F("version",            version,         ANY,         0),
    F("taskToDomain",       domains,         MAP_OR_NONE, 0),
    F("workflowDefinition", definition,      ANY,         0),
    F("idempotencyKey",     idempotency_key, TEXT,        0),
    WORD(pawl_sub_workflow, "idempotencyStrategy", idempotency, idempotencies, PAWL_IDEMPOTENCY_NONE),
    F("priority",           priority,        ANY,         0),
};
#undef F
/* clang-format on */

static const struct pawl_fields definition_fields = {definition_items,
                                                     PAWL_COUNT_OF(definition_items)};
static const struct pawl_fields node_fields = {node_items, PAWL_COUNT_OF(node_items)};
static const struct pawl_fields sub_workflow_fields = {sub_workflow_items,
                                                       PAWL_COUNT_OF(sub_workflow_items)};

/* A list of tasks is two containers deeper than the task it belongs to, or three; the inline
 * definition of a task has lists of its own. */
static_assert(3 + 3 * PAWL_DEFINITION_DEPTH_MAX + 2 <= PAWL_JSON_WRITER_DEPTH_MAX,
              "what was read can be written");

/* ---- Paths
 * -----------------------------------------------------------------------------------------------------
 */

struct pawl_str pawl_node_path(const struct pawl_definition *definition, int32_t node,
                               struct pawl_arena *arena)
{
    struct pawl_str path = PAWL_STR("");
    while (node != PAWL_NOWHERE) {
        const struct pawl_node *n = &definition->nodes[node];
        const struct pawl_node_list *list = &definition->lists[n->list];
        struct pawl_str inner =
            pawl_arena_format(arena, "[%" PRId32 "]%.*s", n->at, PAWL_STR_ARG(path));
        switch (list->kind) {
        case PAWL_NODE_LIST_ROOT:
            path = pawl_arena_format(arena, "tasks%.*s", PAWL_STR_ARG(inner));
            break;
        case PAWL_NODE_LIST_CASE:
            path = pawl_arena_format(arena, ".decisionCases[%.*s]%.*s",
                                     PAWL_STR_ARG(list->case_name), PAWL_STR_ARG(inner));
            break;
        case PAWL_NODE_LIST_DEFAULT:
            path = pawl_arena_format(arena, ".defaultCase%.*s", PAWL_STR_ARG(inner));
            break;
        case PAWL_NODE_LIST_BRANCH:
            path = pawl_arena_format(arena, ".forkTasks[%" PRId32 "]%.*s", list->at,
                                     PAWL_STR_ARG(inner));
            break;
        case PAWL_NODE_LIST_LOOP:
            path = pawl_arena_format(arena, ".loopOver%.*s", PAWL_STR_ARG(inner));
            break;
        }
        node = list->owner;
    }
    return path;
}

static struct pawl_str place_path(void *self, struct pawl_arena *arena)
{
    const struct pawl_node_place *place = self;
    struct pawl_str path = pawl_node_path(place->definition, place->node, arena);
    return pawl_arena_format(arena, "%.*s%s%s", PAWL_STR_ARG(path), path.len > 0 ? "." : "",
                             place->inside != NULL ? place->inside : "");
}

struct pawl_fault_place pawl_node_place(struct pawl_node_place *self, struct pawl_faults *faults)
{
    return (struct pawl_fault_place){.self = self, .path = place_path, .faults = faults};
}

/* ---- Reading
 * ---------------------------------------------------------------------------------------------------
 */

struct reader {
    struct pawl_definition *definition;
    struct pawl_arena *arena;
    struct pawl_faults *faults;
    struct pawl_error *err;
    enum pawl_code code;
    int32_t node_room;
    int32_t list_room;
};

/* What of a node the table does not have: its lists, and the objects in it. */
struct rest {
    const struct pawl_json *cases;
    const struct pawl_json *default_case;
    const struct pawl_json *branches;
    const struct pawl_json *loop;
    const struct pawl_json *sub_workflow;
    const struct pawl_json *task_definition;
};

static void keep_rest(void *self, struct pawl_str key, const struct pawl_json *value)
{
    struct rest *rest = self;
    if (value->kind == PAWL_JSON_NULL) return;
    if (pawl_str_equal(key, PAWL_STR("decisionCases"))) rest->cases = value;
    if (pawl_str_equal(key, PAWL_STR("defaultCase"))) rest->default_case = value;
    if (pawl_str_equal(key, PAWL_STR("forkTasks"))) rest->branches = value;
    if (pawl_str_equal(key, PAWL_STR("loopOver"))) rest->loop = value;
    if (pawl_str_equal(key, PAWL_STR("subWorkflowParam"))) rest->sub_workflow = value;
    if (pawl_str_equal(key, PAWL_STR("taskDefinition"))) rest->task_definition = value;
}

/* Room for one more of count; the members may move. */
static void *grow(struct reader *r, void *items, size_t size, int32_t count, int32_t *room)
{
    if (count < *room) return items;
    int32_t more = *room == 0 ? 16 : *room * 2;
    void *grown = pawl_arena_resize(r->arena, items, size * (size_t)*room, size * (size_t)more);
    if (grown == NULL) {
        r->code = pawl_error_set(r->err, pawl_arena_code(r->arena), "no room for the definition");
        return NULL;
    }
    *room = more;
    return grown;
}

static struct pawl_node_list *add_list(struct reader *r, enum pawl_node_list_kind kind,
                                       int32_t owner, const struct pawl_json *source)
{
    struct pawl_definition *d = r->definition;
    struct pawl_node_list *lists = grow(r, d->lists, sizeof *lists, d->list_count, &r->list_room);
    if (lists == NULL) return NULL;
    d->lists = lists;
    int32_t depth = owner == PAWL_NOWHERE ? 0 : d->lists[d->nodes[owner].list].depth + 1;
    if (depth > PAWL_DEFINITION_DEPTH_MAX) {
        struct pawl_str path = pawl_node_path(d, owner, r->arena);
        r->code =
            pawl_error_set(r->err, PAWL_TOO_LARGE, "tasks may be nested in at most %d lists: %.*s",
                           PAWL_DEFINITION_DEPTH_MAX, PAWL_STR_ARG(path));
        return NULL;
    }
    struct pawl_node_list *list = &d->lists[d->list_count++];
    *list = (struct pawl_node_list){.kind = kind,
                                    .owner = owner,
                                    .first = PAWL_NOWHERE,
                                    .last = PAWL_NOWHERE,
                                    .depth = depth,
                                    .source = source};
    if (owner != PAWL_NOWHERE) d->nodes[owner].list_count++;
    return list;
}

/* Whether value is a list of tasks; absent or null is none, and no fault. */
static bool is_list(const struct pawl_json *value, struct pawl_str key,
                    const struct pawl_fault_place *place)
{
    if (value == NULL || value->kind == PAWL_JSON_NULL) return false;
    if (value->kind == PAWL_JSON_ARRAY) return true;
    pawl_place_fault(place, key, value->raw, PAWL_STR("must be a list of tasks"));
    return false;
}

static void read_cases(struct reader *r, int32_t node, const struct pawl_json *cases,
                       const struct pawl_fault_place *place)
{
    if (cases == NULL) return;
    struct pawl_str key = PAWL_STR("decisionCases");
    if (cases->kind != PAWL_JSON_OBJECT) {
        pawl_place_fault(place, key, cases->raw, PAWL_STR("must be an object of lists of tasks"));
        return;
    }
    for (const struct pawl_json *item = cases->first; item != NULL && r->code == PAWL_OK;
         item = item->next) {
        struct pawl_str name;
        if (!pawl_json_key(item, r->arena, &name)) {
            pawl_place_fault(place, key, (struct pawl_str){0},
                             PAWL_STR("must have names without zero bytes"));
            continue;
        }
        const struct pawl_json *source = is_list(item, key, place) ? item : NULL;
        struct pawl_node_list *list = add_list(r, PAWL_NODE_LIST_CASE, node, source);
        if (list != NULL) list->case_name = name;
    }
}

static void read_branches(struct reader *r, int32_t node, const struct pawl_json *branches,
                          const struct pawl_fault_place *place)
{
    struct pawl_str key = PAWL_STR("forkTasks");
    if (!is_list(branches, key, place)) return;
    int32_t at = 0;
    for (const struct pawl_json *item = branches->first; item != NULL && r->code == PAWL_OK;
         item = item->next) {
        const struct pawl_json *source = is_list(item, key, place) ? item : NULL;
        struct pawl_node_list *list = add_list(r, PAWL_NODE_LIST_BRANCH, node, source);
        if (list != NULL) list->at = at++;
    }
}

/* A default or a loop without tasks is as one that is not there. */
static void read_list(struct reader *r, int32_t node, enum pawl_node_list_kind kind,
                      const struct pawl_json *value, struct pawl_str key,
                      const struct pawl_fault_place *place)
{
    if (!is_list(value, key, place) || value->child_count == 0) return;
    (void)add_list(r, kind, node, value); /* its failure is in r */
}

/* With a definition, name and version are taken from it. */
static void take_identity(struct pawl_sub_workflow *sub, const struct pawl_json *definition,
                          struct pawl_arena *arena)
{
    const struct pawl_json *name = pawl_json_member(definition, PAWL_STR("name"));
    const struct pawl_json *version = pawl_json_member(definition, PAWL_STR("version"));
    bool has_name = name != NULL && name->kind != PAWL_JSON_NULL;
    if (has_name) (void)pawl_field_text(name, arena, &sub->name); /* else as it was */
    if (version != NULL && version->kind != PAWL_JSON_NULL) sub->version = version->raw;
}

static void read_sub_workflow(struct reader *r, int32_t node, const struct pawl_json *value)
{
    struct pawl_node_place self = {.definition = r->definition, .node = node};
    struct pawl_fault_place place = pawl_node_place(&self, r->faults);
    if (value->kind != PAWL_JSON_OBJECT) {
        pawl_place_fault(&place, PAWL_STR("subWorkflowParam"), value->raw,
                         PAWL_STR("must be an object"));
        return;
    }
    struct pawl_sub_workflow *sub = pawl_arena_take(r->arena, sizeof *sub);
    if (sub == NULL) return; /* the arena says it at the end */
    self.inside = "subWorkflowParam.";
    pawl_fields_read(sub_workflow_fields, value, sub, &place, NULL, NULL);
    const struct pawl_json *definition = pawl_json_member(value, PAWL_STR("workflowDefinition"));
    if (definition != NULL && definition->kind == PAWL_JSON_OBJECT) {
        take_identity(sub, definition, r->arena);
    }
    r->definition->nodes[node].sub_workflow = sub;
}

static void read_task_definition(struct reader *r, int32_t node, const struct pawl_json *value)
{
    struct pawl_node_place self = {.definition = r->definition, .node = node};
    struct pawl_fault_place place = pawl_node_place(&self, r->faults);
    if (value->kind != PAWL_JSON_OBJECT) {
        pawl_place_fault(&place, PAWL_STR("taskDefinition"), value->raw,
                         PAWL_STR("must be an object"));
        return;
    }
    struct pawl_task_definition *definition = pawl_arena_take(r->arena, sizeof *definition);
    if (definition == NULL) return; /* the arena says it at the end */
    self.inside = "taskDefinition.";
    pawl_task_definition_read(value, &place, definition);
    r->definition->nodes[node].task_definition = definition;
}

/* The node, with its lists announced; its number, or PAWL_NOWHERE. */
static int32_t read_node(struct reader *r, int32_t list, int32_t at, const struct pawl_json *value)
{
    struct pawl_definition *d = r->definition;
    if (d->node_count == PAWL_DEFINITION_NODES_MAX) {
        r->code = pawl_error_set(r->err, PAWL_TOO_LARGE, "a workflow may have at most %d tasks",
                                 PAWL_DEFINITION_NODES_MAX);
        return PAWL_NOWHERE;
    }
    struct pawl_node *nodes = grow(r, d->nodes, sizeof *nodes, d->node_count, &r->node_room);
    if (nodes == NULL) return PAWL_NOWHERE;
    d->nodes = nodes;
    int32_t node = d->node_count++;
    struct pawl_node *n = &d->nodes[node];
    *n = (struct pawl_node){
        .list = list, .at = at, .next = PAWL_NOWHERE, .first_list = d->list_count};
    if (d->lists[list].last == PAWL_NOWHERE) {
        d->lists[list].first = node;
    } else {
        d->nodes[d->lists[list].last].next = node;
    }
    d->lists[list].last = node;

    struct pawl_node_place self = {.definition = d, .node = node};
    struct pawl_fault_place place = pawl_node_place(&self, r->faults);
    if (value->kind != PAWL_JSON_OBJECT) {
        pawl_fields_init(node_fields, n);
        pawl_place_fault(&place, PAWL_STR(""), value->raw, PAWL_STR("must be an object"));
        return node;
    }
    struct rest rest = {0};
    pawl_fields_read(node_fields, value, n, &place, keep_rest, &rest);
    if (pawl_json_member(value, PAWL_STR("type")) == NULL) n->type_name = PAWL_STR("SIMPLE");
    n->type = pawl_node_type_of(n->type_name);
    read_cases(r, node, rest.cases, &place);
    read_list(r, node, PAWL_NODE_LIST_DEFAULT, rest.default_case, PAWL_STR("defaultCase"), &place);
    read_branches(r, node, rest.branches, &place);
    read_list(r, node, PAWL_NODE_LIST_LOOP, rest.loop, PAWL_STR("loopOver"), &place);
    if (rest.sub_workflow != NULL) read_sub_workflow(r, node, rest.sub_workflow);
    if (rest.task_definition != NULL) read_task_definition(r, node, rest.task_definition);
    return node;
}

/* The list to be read after this one: the next of the same node. */
static int32_t next_list(const struct pawl_definition *d, int32_t list)
{
    int32_t owner = d->lists[list].owner;
    if (owner == PAWL_NOWHERE) return PAWL_NOWHERE;
    const struct pawl_node *n = &d->nodes[owner];
    return list + 1 < n->first_list + n->list_count ? list + 1 : PAWL_NOWHERE;
}

static void read_tree(struct reader *r, const struct pawl_json *tasks)
{
    struct pawl_definition *d = r->definition;
    struct {
        const struct pawl_json *value; /* to be read next */
        int32_t list;
        int32_t at;
    } stack[PAWL_DEFINITION_DEPTH_MAX + 1];
    int32_t top = 0;
    if (add_list(r, PAWL_NODE_LIST_ROOT, PAWL_NOWHERE, tasks) == NULL) return;
    stack[0].value = pawl_json_first(tasks);
    stack[0].list = stack[0].at = 0;
    while (top >= 0 && r->code == PAWL_OK) {
        const struct pawl_json *value = stack[top].value;
        if (value == NULL) {
            int32_t list = next_list(d, stack[top].list);
            if (list == PAWL_NOWHERE) {
                top--;
            } else {
                stack[top].value = pawl_json_first(d->lists[list].source);
                stack[top].list = list;
                stack[top].at = 0;
            }
            continue;
        }
        stack[top].value = value->next;
        int32_t node = read_node(r, stack[top].list, stack[top].at++, value);
        if (r->code != PAWL_OK) return;
        if (d->nodes[node].list_count == 0) continue;
        top++; /* add_list has looked at the depth */
        stack[top].list = d->nodes[node].first_list;
        stack[top].value = pawl_json_first(d->lists[stack[top].list].source);
        stack[top].at = 0;
    }
}

/* Where a list goes on after its last node. The owner stands before its members, so its own
 * successor is known. */
static int32_t after_list(const struct pawl_definition *d, const struct pawl_node_list *list)
{
    switch (list->kind) {
    case PAWL_NODE_LIST_ROOT:
        return PAWL_NOWHERE;
    case PAWL_NODE_LIST_CASE:
    case PAWL_NODE_LIST_DEFAULT:
        return d->nodes[list->owner].successor;
    case PAWL_NODE_LIST_BRANCH:
        return d->nodes[list->owner].next; /* the JOIN, or an error of the definition */
    case PAWL_NODE_LIST_LOOP:
        return list->owner;
    }
    return PAWL_NOWHERE;
}

static void link_nodes(struct pawl_definition *d)
{
    for (int32_t i = 0; i < d->node_count; i++) {
        struct pawl_node *n = &d->nodes[i];
        n->successor = n->next != PAWL_NOWHERE ? n->next : after_list(d, &d->lists[n->list]);
        if (n->type == PAWL_NODE_TERMINATE) n->successor = PAWL_NOWHERE;
        void **slot =
            n->reference.len != 0 ? pawl_map_put(&d->by_reference, 0, 0, n->reference) : NULL;
        if (slot != NULL && *slot == NULL) *slot = n;
    }
    for (int32_t i = 0; i < d->list_count; i++) d->lists[i].source = NULL;
}

/* Each name in a joinOn becomes a link of the node that it names; what names nothing has none. */
static void link_joins(struct pawl_definition *d, struct pawl_arena *arena)
{
    int64_t count = 0;
    for (int32_t i = 0; i < d->node_count; i++) {
        d->nodes[i].first_join = PAWL_NOWHERE;
        if (d->nodes[i].type == PAWL_NODE_JOIN) count += d->nodes[i].join_on.count;
    }
    d->joins = pawl_arena_take_array(arena, (size_t)count, sizeof *d->joins);
    if (d->joins == NULL) return;
    for (int32_t i = 0; i < d->node_count; i++) {
        if (d->nodes[i].type != PAWL_NODE_JOIN) continue;
        for (int64_t k = 0; k < d->nodes[i].join_on.count; k++) {
            int32_t named = pawl_definition_find(d, d->nodes[i].join_on.items[k]);
            if (named == PAWL_NOWHERE) continue;
            d->joins[d->join_count] =
                (struct pawl_join_link){.join = i, .next = d->nodes[named].first_join};
            d->nodes[named].first_join = d->join_count++;
        }
    }
}

enum pawl_code pawl_definition_read(const struct pawl_json *object, struct pawl_arena *arena,
                                    struct pawl_faults *faults, struct pawl_definition **out,
                                    struct pawl_error *err)
{
    if (object->kind != PAWL_JSON_OBJECT) {
        return pawl_error_set(err, PAWL_INVALID, "a workflow definition must be a JSON object");
    }
    struct pawl_definition *d = pawl_arena_take(arena, sizeof *d);
    if (d == NULL) return pawl_error_set(err, pawl_arena_code(arena), "no room for the definition");
    struct reader r = {.definition = d, .arena = arena, .faults = faults, .err = err};
    struct pawl_node_place self = {.definition = d, .node = PAWL_NOWHERE};
    struct pawl_fault_place place = pawl_node_place(&self, faults);
    pawl_fields_read(definition_fields, object, d, &place, NULL, NULL);
    if (d->failure_workflow.len == 0) d->failure_workflow = (struct pawl_str){0};
    d->bytes = object->raw.len;
    pawl_map_init(&d->by_reference, arena);

    const struct pawl_json *tasks = pawl_json_member(object, PAWL_STR("tasks"));
    read_tree(&r, is_list(tasks, PAWL_STR("tasks"), &place) ? tasks : NULL);
    if (r.code != PAWL_OK) return r.code;
    link_nodes(d);
    link_joins(d, arena);
    enum pawl_code code = pawl_arena_code(arena);
    if (code == PAWL_OK) code = pawl_arena_code(faults->arena);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no room for the definition");
    *out = d;
    return PAWL_OK;
}

enum pawl_code pawl_definition_parse(struct pawl_str text, struct pawl_arena *arena,
                                     struct pawl_faults *faults, struct pawl_definition **out,
                                     struct pawl_error *err)
{
    struct pawl_json *object;
    enum pawl_code code = pawl_json_parse(text, arena, &object, err);
    if (code != PAWL_OK) return code;
    return pawl_definition_read(object, arena, faults, out, err);
}

/* ---- Writing
 * ---------------------------------------------------------------------------------------------------
 */

static int32_t count_lists(const struct pawl_definition *d, const struct pawl_node *n,
                           enum pawl_node_list_kind kind)
{
    int32_t count = 0;
    for (int32_t i = 0; i < n->list_count; i++) count += d->lists[n->first_list + i].kind == kind;
    return count;
}

/* All of a node but its lists, of which those that are empty are written here. */
static void put_node(const struct pawl_definition *d, const struct pawl_node *n,
                     struct pawl_json_writer *w)
{
    pawl_fields_write(node_fields, n, w);
    if (n->sub_workflow != NULL) {
        pawl_json_put_key(w, "subWorkflowParam");
        pawl_json_begin_object(w);
        pawl_fields_write(sub_workflow_fields, n->sub_workflow, w);
        pawl_json_end_object(w);
    }
    if (n->task_definition != NULL) {
        pawl_json_put_key(w, "taskDefinition");
        pawl_task_definition_write(n->task_definition, w);
    }
    if (count_lists(d, n, PAWL_NODE_LIST_CASE) == 0) {
        pawl_json_put_member_raw(w, "decisionCases", PAWL_STR("{}"));
    }
    if (count_lists(d, n, PAWL_NODE_LIST_DEFAULT) == 0) {
        pawl_json_put_member_raw(w, "defaultCase", PAWL_STR("[]"));
    }
    if (count_lists(d, n, PAWL_NODE_LIST_BRANCH) == 0) {
        pawl_json_put_member_raw(w, "forkTasks", PAWL_STR("[]"));
    }
    if (count_lists(d, n, PAWL_NODE_LIST_LOOP) == 0) {
        pawl_json_put_member_raw(w, "loopOver", PAWL_STR("[]"));
    }
}

/* Whether the list beside this one (before it or after it) is another case, or branch, of the same
 * node. */
static bool is_beside(const struct pawl_definition *d, int32_t list, int32_t beside)
{
    const struct pawl_node *n = &d->nodes[d->lists[list].owner];
    if (beside < n->first_list || beside >= n->first_list + n->list_count) return false;
    return d->lists[beside].kind == d->lists[list].kind;
}

static void open_list(const struct pawl_definition *d, int32_t list, struct pawl_json_writer *w)
{
    switch (d->lists[list].kind) {
    case PAWL_NODE_LIST_ROOT:
        pawl_json_put_key(w, "tasks");
        break;
    case PAWL_NODE_LIST_DEFAULT:
        pawl_json_put_key(w, "defaultCase");
        break;
    case PAWL_NODE_LIST_LOOP:
        pawl_json_put_key(w, "loopOver");
        break;
    case PAWL_NODE_LIST_CASE:
        if (!is_beside(d, list, list - 1)) {
            pawl_json_put_key(w, "decisionCases");
            pawl_json_begin_object(w);
        }
        pawl_json_put_key_str(w, d->lists[list].case_name);
        break;
    case PAWL_NODE_LIST_BRANCH:
        if (!is_beside(d, list, list - 1)) {
            pawl_json_put_key(w, "forkTasks");
            pawl_json_begin_array(w);
        }
        break;
    }
    pawl_json_begin_array(w);
}

static void close_list(const struct pawl_definition *d, int32_t list, struct pawl_json_writer *w)
{
    pawl_json_end_array(w);
    enum pawl_node_list_kind kind = d->lists[list].kind;
    if (kind == PAWL_NODE_LIST_CASE && !is_beside(d, list, list + 1)) pawl_json_end_object(w);
    if (kind == PAWL_NODE_LIST_BRANCH && !is_beside(d, list, list + 1)) pawl_json_end_array(w);
}

static void put_tree(const struct pawl_definition *d, struct pawl_json_writer *w)
{
    int32_t list = 0;
    open_list(d, list, w);
    int32_t node = d->lists[list].first;
    for (;;) {
        int32_t inner = PAWL_NOWHERE; /* the list to go into */
        if (node != PAWL_NOWHERE) {
            const struct pawl_node *n = &d->nodes[node];
            pawl_json_begin_object(w);
            put_node(d, n, w);
            if (n->list_count > 0) {
                inner = n->first_list;
            } else {
                pawl_json_end_object(w);
                node = n->next;
                continue;
            }
        } else {
            close_list(d, list, w);
            if (d->lists[list].owner == PAWL_NOWHERE) return;
            inner = next_list(d, list);
        }
        if (inner != PAWL_NOWHERE) {
            list = inner;
            open_list(d, list, w);
            node = d->lists[list].first;
            continue;
        }
        const struct pawl_node *owner = &d->nodes[d->lists[list].owner];
        pawl_json_end_object(w);
        list = owner->list;
        node = owner->next;
    }
}

void pawl_definition_write(const struct pawl_definition *definition, struct pawl_json_writer *w)
{
    pawl_json_begin_object(w);
    pawl_fields_write(definition_fields, definition, w);
    put_tree(definition, w);
    pawl_json_end_object(w);
}

/* ---- Looking
 * ----------------------------------------------------------------------------------------------------
 */

int32_t pawl_definition_find(const struct pawl_definition *definition, struct pawl_str reference)
{
    void **slot = pawl_map_at(&definition->by_reference, 0, 0, reference);
    if (slot == NULL || *slot == NULL) return PAWL_NOWHERE;
    const struct pawl_node *n = *slot;
    return (int32_t)(n - definition->nodes);
}

int32_t pawl_definition_case(const struct pawl_definition *definition, int32_t node,
                             struct pawl_str case_name)
{
    const struct pawl_node *n = &definition->nodes[node];
    for (int32_t i = n->first_list; i < n->first_list + n->list_count; i++) {
        const struct pawl_node_list *list = &definition->lists[i];
        if (list->kind == PAWL_NODE_LIST_CASE && pawl_str_equal(list->case_name, case_name))
            return i;
    }
    return pawl_definition_list(definition, node, PAWL_NODE_LIST_DEFAULT);
}

int32_t pawl_definition_list(const struct pawl_definition *definition, int32_t node,
                             enum pawl_node_list_kind kind)
{
    const struct pawl_node *n = &definition->nodes[node];
    for (int32_t i = n->first_list; i < n->first_list + n->list_count; i++) {
        if (definition->lists[i].kind == kind) return i;
    }
    return PAWL_NOWHERE;
}
