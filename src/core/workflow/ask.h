/* What commands ask about workflows, and their answers. Callers fill these, checked (core/check.h),
 * and wait; texts stay borrowed until the answer. JSON is checked text. Empty = not given, unless
 * told otherwise. */
#ifndef PAWL_CORE_WORKFLOW_ASK_H
#define PAWL_CORE_WORKFLOW_ASK_H

#include "core/workflow/workflow.h"

/* PAWL_COMMAND_WORKFLOW_START. Answer: started.
 *
 *   PAWL_NOT_FOUND  no such definition
 *   PAWL_CONFLICT   the id, or the idempotency key (the sentence names the workflow that has it)
 *   PAWL_INVALID, PAWL_TOO_LARGE */
struct pawl_workflow_start {
    struct pawl_str name; /* of a registered definition */
    int32_t version;      /* 0 = the latest */
    const struct pawl_definition
        *definition;       /* instead of name: read and checked; NULL = none. It stays,
                              with the text it was read from, until the answer */
    struct pawl_str id;    /* the caller's own; empty = made */
    struct pawl_str input; /* JSON object */
    struct pawl_str correlation_id;
    int32_t priority;        /* 0 to 99 */
    struct pawl_str domains; /* JSON object: task type to domains */
    struct pawl_str idempotency_key;
    enum pawl_idempotency idempotency;
    int32_t depth; /* of a failure workflow: the engine's own */
};

struct pawl_workflow_started {
    struct pawl_str id;
    bool existed; /* RETURN_EXISTING, or the same id again */
};

/* PAWL_COMMAND_WORKFLOW_OPERATE: the command's task_id is the workflow's id.
 *
 *   PAWL_NOT_FOUND  no such workflow
 *   PAWL_STATE      its state does not allow it; docs/workflows.md has the table
 *   PAWL_INVALID    names the field */
enum pawl_workflow_verb {
    PAWL_WORKFLOW_PAUSE = 1,
    PAWL_WORKFLOW_RESUME,
    PAWL_WORKFLOW_TERMINATE, /* reason; triggers_failure_workflow */
    PAWL_WORKFLOW_RETRY,
    PAWL_WORKFLOW_RESTART, /* latest_definitions */
    PAWL_WORKFLOW_RERUN,   /* task_id, task_input, workflow_input, correlation_id */
    PAWL_WORKFLOW_SKIP,    /* reference, task_input, task_output */
    PAWL_WORKFLOW_RESET_CALLBACKS,
    PAWL_WORKFLOW_DECIDE,
    PAWL_WORKFLOW_REMOVE, /* archives */
    PAWL_WORKFLOW_SIGNAL, /* status, task_output: the first WAIT that is open, else the first HUMAN
                           */
    PAWL_WORKFLOW_SET_VARIABLES, /* variables */
};

struct pawl_workflow_operate {
    enum pawl_workflow_verb verb;
    struct pawl_str reason;
    bool triggers_failure_workflow;
    bool latest_definitions;
    bool archives;
    struct pawl_str task_id;
    struct pawl_str reference;
    struct pawl_str task_input; /* JSON objects, as the rest */
    struct pawl_str task_output;
    struct pawl_str workflow_input;
    struct pawl_str correlation_id;
    struct pawl_str variables;
    enum pawl_record_status status;
};

struct pawl_workflow_operated {
    enum pawl_workflow_state state; /* after it */
    struct pawl_str task_id;        /* SIGNAL: whom it has reached; empty = nobody waits */
};

#endif
