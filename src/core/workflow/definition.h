/* The definition of a workflow, read from and written as Conductor's WorkflowDef, in the form a
 * decision reads.
 *
 * The tasks of the tree are numbered as they stand in the text, whatever branch they are in: node 0
 * is the first. The lists that hold them have numbers too; list 0 is `tasks` itself. All links are
 * numbers, and each is there without a search:
 *
 *   node a (SWITCH)   first_list ─► case "x" ─► node b ─► node c      c.successor = node d
 *   node d                          default  ─► node e                e.successor = node d
 *
 * A definition is immutable once read, and may be read by several threads. */
#ifndef PAWL_CORE_WORKFLOW_DEFINITION_H
#define PAWL_CORE_WORKFLOW_DEFINITION_H

#include "base/map.h"
#include "core/workflow/task_definition.h"
#include "core/workflow/workflow.h"

/* clang-format off */
#define PAWL_NODE_TYPES(X) /* as written in "type", in the order of Conductor's list */                  \
    X(SIMPLE) X(DYNAMIC) X(FORK_JOIN) X(FORK_JOIN_DYNAMIC) X(DECISION) X(SWITCH) X(JOIN) X(DO_WHILE)     \
    X(SUB_WORKFLOW) X(START_WORKFLOW) X(EVENT) X(WAIT) X(HUMAN) X(USER_DEFINED) X(HTTP) X(LAMBDA)        \
    X(INLINE) X(EXCLUSIVE_JOIN) X(TERMINATE) X(KAFKA_PUBLISH) X(JSON_JQ_TRANSFORM) X(SET_VARIABLE)       \
    X(NOOP) X(PULL_WORKFLOW_MESSAGES) X(AGENT) X(GET_AGENT_CARD) X(CANCEL_AGENT) X(LIST_MCP_TOOLS)       \
    X(CALL_MCP_TOOL)
/* clang-format on */

enum pawl_node_type {
#define X(name) PAWL_NODE_##name,
    PAWL_NODE_TYPES(X)
#undef X
        PAWL_NODE_LLM, /* all that begin with LLM_ */
    PAWL_NODE_TYPE_COUNT,
};

/* What is no name of the list is USER_DEFINED: a queue of that name. */
enum pawl_node_type pawl_node_type_of(struct pawl_str name);

/* Whether tasks of the type are run by workers that poll for them. */
bool pawl_node_type_is_polled(enum pawl_node_type type);

enum pawl_join_mode { PAWL_JOIN_NONE, PAWL_JOIN_SYNC, PAWL_JOIN_ASYNC };

struct pawl_sub_workflow {
    struct pawl_str name;
    struct pawl_str version;    /* JSON: a number, a text of digits or an expression; or empty */
    struct pawl_str domains;    /* JSON */
    struct pawl_str definition; /* JSON: an object as it came, or a text ${…}; or empty */
    struct pawl_str idempotency_key;
    int64_t idempotency;      /* enum pawl_idempotency */
    struct pawl_str priority; /* JSON */
};

/* Instead of a node or a list that is not there. */
enum { PAWL_NOWHERE = -1 };

/* A task inside a workflow. What is called JSON is text as it came, or empty; numbers that may be
 * absent are PAWL_NOT_GIVEN then. */
struct pawl_node {
    struct pawl_str name;
    struct pawl_str reference;
    struct pawl_str type_name; /* as written */
    struct pawl_str description;
    struct pawl_str input; /* JSON */
    int64_t start_delay_s;
    int64_t is_optional;
    int64_t is_permissive;
    int64_t is_async_complete;
    int64_t retry_count; /* may be absent */
    struct pawl_str evaluator;
    struct pawl_str expression;
    struct pawl_str case_param;
    struct pawl_str case_expression;
    struct pawl_str script;
    struct pawl_texts join_on;
    struct pawl_texts default_join_on; /* of EXCLUSIVE_JOIN */
    int64_t join_mode;                 /* enum pawl_join_mode */
    struct pawl_str join_status;
    struct pawl_str dynamic_name_param;
    struct pawl_str fork_tasks_param;
    struct pawl_str fork_inputs_param;
    struct pawl_str fork_legacy_param;
    struct pawl_str loop_condition;
    struct pawl_str loop_items; /* JSON: a text or a list */
    struct pawl_str sink;
    int64_t is_rate_limited;         /* may be absent */
    struct pawl_str on_state_change; /* JSON */
    struct pawl_str cache;           /* JSON */
    struct pawl_str metadata;        /* JSON */

    struct pawl_sub_workflow *sub_workflow;       /* NULL if there is none */
    struct pawl_task_definition *task_definition; /* NULL if there is none */

    enum pawl_node_type type;
    int32_t list;       /* the list it stands in */
    int32_t at;         /* its place there, from 0 */
    int32_t next;       /* the next in its list, or PAWL_NOWHERE */
    int32_t successor;  /* the node to go on with when this one is done, or PAWL_NOWHERE; a loop,
                           when its round is */
    int32_t first_list; /* its own lists have numbers in a row: cases, default, branches, loop */
    int32_t list_count;
    int32_t first_join; /* of pawl_definition.joins: the JOINs that name it; or PAWL_NOWHERE */
};

/* A JOIN that waits for a node by its reference. */
struct pawl_join_link {
    int32_t join; /* node */
    int32_t next; /* the next one of the same node, or PAWL_NOWHERE */
};

enum pawl_node_list_kind {
    PAWL_NODE_LIST_ROOT,
    PAWL_NODE_LIST_CASE,
    PAWL_NODE_LIST_DEFAULT,
    PAWL_NODE_LIST_BRANCH,
    PAWL_NODE_LIST_LOOP,
};

struct pawl_node_list {
    enum pawl_node_list_kind kind;
    struct pawl_str case_name; /* of a case */
    int32_t owner;             /* the node whose list it is; PAWL_NOWHERE for the root */
    int32_t at;                /* which branch, from 0 */
    int32_t first;             /* nodes, or PAWL_NOWHERE when it is empty */
    int32_t last;
    int32_t depth;                  /* lists around it */
    const struct pawl_json *source; /* while it is read */
};

struct pawl_definition {
    struct pawl_str name;
    struct pawl_str description;
    int64_t version;
    struct pawl_texts input_parameters;
    struct pawl_str output; /* JSON, as the next two */
    struct pawl_str input_template;
    struct pawl_str variables;
    struct pawl_str failure_workflow; /* never an empty text */
    int64_t failure_workflow_version; /* may be absent */
    int64_t schema_version;
    int64_t is_restartable;
    int64_t has_status_listener;
    struct pawl_str status_listener_sink;
    int64_t timeout_policy; /* enum pawl_timeout_policy, but for RETRY */
    int64_t timeout_s;      /* 0 = none */
    struct pawl_str owner_email;
    struct pawl_str rate_limit; /* JSON, as the schemas */
    struct pawl_str input_schema;
    struct pawl_str output_schema;
    int64_t enforces_schema;
    struct pawl_str metadata; /* JSON */
    struct pawl_str cache;    /* JSON */
    struct pawl_texts masked_fields;
    struct pawl_str owner_app;
    struct pawl_str created_by; /* the server's to set, as the next three */
    struct pawl_str updated_by;
    int64_t created_at_ms;
    int64_t updated_at_ms;

    struct pawl_node *nodes;
    int32_t node_count;
    struct pawl_node_list *lists;
    int32_t list_count;
    struct pawl_join_link *joins;
    int32_t join_count;
    struct pawl_map by_reference; /* the first node of each reference */
    size_t bytes;                 /* of the text it was read from */
};

/* Reads a definition from an object. Texts and slices are borrowed from the parsed text.
 *
 *   faults  all that could not be read, each with its path; the rest is there. Whether there are
 * any is the caller's to ask, before he trusts the definition arena   the definition lives here,
 * and the texts of faults in faults->arena, which may be the same fails   PAWL_INVALID    no object
 *           PAWL_TOO_LARGE  more than PAWL_DEFINITION_NODES_MAX tasks, or nested deeper than
 *                           PAWL_DEFINITION_DEPTH_MAX; or the arena
 *           PAWL_NO_MEMORY */
enum pawl_code pawl_definition_read(const struct pawl_json *object, struct pawl_arena *arena,
                                    struct pawl_faults *faults, struct pawl_definition **out,
                                    struct pawl_error *err) PAWL_MUST_USE;

/* Parses text first, whose faults (a key that is there twice, say) are PAWL_INVALID. */
enum pawl_code pawl_definition_parse(struct pawl_str text, struct pawl_arena *arena,
                                     struct pawl_faults *faults, struct pawl_definition **out,
                                     struct pawl_error *err) PAWL_MUST_USE;

/* As an object, with all that Conductor's clients expect: defaults, empty lists and maps, no nulls.
 */
void pawl_definition_write(const struct pawl_definition *definition, struct pawl_json_writer *w);

/* The node of a reference, or PAWL_NOWHERE. */
int32_t pawl_definition_find(const struct pawl_definition *definition, struct pawl_str reference);

/* The list of a case of this SWITCH or DECISION, or its default, or the only one of a loop; or
 * PAWL_NOWHERE. */
int32_t pawl_definition_case(const struct pawl_definition *definition, int32_t node,
                             struct pawl_str case_name);
int32_t pawl_definition_list(const struct pawl_definition *definition, int32_t node,
                             enum pawl_node_list_kind kind);

/* "tasks[2].decisionCases[a][0]", in the arena. */
struct pawl_str pawl_node_path(const struct pawl_definition *definition, int32_t node,
                               struct pawl_arena *arena);

/* The place of a node, for faults, or of something inside it ("taskDefinition."). */
struct pawl_node_place {
    const struct pawl_definition *definition;
    const char *inside;
    int32_t node; /* PAWL_NOWHERE: the definition itself */
};
struct pawl_fault_place pawl_node_place(struct pawl_node_place *self, struct pawl_faults *faults);

#endif
