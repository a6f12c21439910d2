/* A decision: what follows from something that has happened in a workflow, in the step in which it
 * has.
 *
 * It is a loop over a stack of things to do, never recursion, and it reads only what it touches:
 * the record that has changed, the newest record of each reference that is reached or named, the
 * workflow's row. What would need the list of records is a counter.
 *
 *   decide.c   the loop                     record.c  makes, ends and gives back records
 *   retry.c    whether a failure is tried again       timer.c   when a record is due, and what is
 * due of it scope.c    what expressions see         end.c     the end of a workflow types/     one
 * file a type of node */
#ifndef PAWL_CORE_WORKFLOW_DECISION_H
#define PAWL_CORE_WORKFLOW_DECISION_H

#include "core/task/rule.h"
#include "core/workflow/definition.h"
#include "core/workflow/expression.h"

enum pawl_todo_kind {
    PAWL_TODO_REACH = 1, /* the flow has come to node; task is the record that it came from, or 0 */
    PAWL_TODO_ENDED,     /* the record of task has ended; node is where the flow goes on */
    PAWL_TODO_RUN,       /* the record of task may go on by itself */
    PAWL_TODO_PLACE,     /* the record of task gets its place among the others */
    PAWL_TODO_AGAIN,     /* the record of task is run again, as it is */
};

/* Where the flow goes on, besides nodes. */
enum {
    PAWL_FLOW_ENDS = -2,      /* nowhere: others go on */
    PAWL_FLOW_SUCCESSOR = -3, /* with the successor of its node */
};

struct pawl_todo {
    enum pawl_todo_kind kind;
    int32_t node;
    int64_t task;
};

struct pawl_decision {
    struct pawl_step *step;
    struct pawl_command *command;
    struct pawl_entry *entry;           /* of the workflow */
    struct pawl_workflow_row *workflow; /* its row, to be changed */
    const struct pawl_definition *definition;
    struct pawl_todo *todo; /* a stack, in the step's arena */
    size_t todo_count;
    size_t todo_room;
    int32_t made;           /* records, so far */
    struct pawl_entry *again;     /* the record that is run again: its node makes no other; NULL = none */
    struct pawl_str again_input;  /* what it is run with */
    int64_t retry_after_ms; /* of the failure that this decision is about: 0 = by its definition, -1
                               = at once */
};

/* Loads the workflow with its snapshot.
 *
 *   returns  PAWL_BUSY while the set is short; PAWL_NOT_FOUND, PAWL_CORRUPT */
enum pawl_code pawl_decision_open(struct pawl_step *step, struct pawl_command *command,
                                  int64_t workflow, struct pawl_decision *out);
/* From here on the workflow is changed. */
void pawl_decision_begin(struct pawl_decision *d);

void pawl_todo_push(struct pawl_decision *d, enum pawl_todo_kind kind, int64_t task, int32_t node);

/* Does all there is to do, then looks whether the workflow has come to its end. PAWL_BUSY while the
 * set is short. */
enum pawl_code pawl_decide(struct pawl_decision *d);

/* Goes on with what a decision has left; what is left then has a continuation of its own. */
void pawl_decide_slice(struct pawl_step *step, struct pawl_command *command,
                       const struct pawl_continuation_row *row);

/* ---- Records (record.c) ---- */

struct pawl_record_new {
    int32_t node;
    const struct pawl_task_definition *definition; /* NULL = none */
    struct pawl_str id;                            /* of its task */
    struct pawl_str type;                          /* the queue without its domain */
    struct pawl_str domain;                        /* of the queue; empty = none */
    struct pawl_str input;                         /* JSON object */
    enum pawl_record_status status;                /* SCHEDULED, or IN_PROGRESS: it waits */
    const struct pawl_record_row *before; /* the attempt that it follows; NULL = it is the first */
    int64_t delay_s;                      /* before it is offered */
    int64_t jitter_ms;                    /* beyond that */
    bool is_placed_later;                 /* PAWL_TODO_PLACE gives it its seq */
};

/* The entry of the record; NULL while short or full. The workflow counts it as open. */
struct pawl_entry *pawl_record_make(struct pawl_decision *d, const struct pawl_record_new *ask);

/* What a record ended with. */
struct pawl_record_end {
    enum pawl_record_status status;
    struct pawl_str reason; /* empty = none */
    struct pawl_str output; /* JSON object; empty = as it is */
    enum pawl_event_cause cause;
    struct pawl_str actor;
};
/* Ends it: what follows is for PAWL_TODO_ENDED. Its task must be loaded. */
void pawl_record_end(struct pawl_decision *d, struct pawl_entry *record,
                     const struct pawl_record_end *how);

/* A record of a type that the engine runs, ended as soon as it is made. Returns its entry. */
struct pawl_entry *pawl_record_pass(struct pawl_decision *d, int32_t node, struct pawl_str input,
                                    const struct pawl_record_end *how);

/* It waits for a worker again, after a delay. */
void pawl_record_offer(struct pawl_decision *d, struct pawl_entry *record, int64_t delay_s);

/* The task of a record that waits again, in place. */
void pawl_record_reopen(struct pawl_decision *d, const struct pawl_record_row *record,
                        struct pawl_task_row *task);

/* It goes over to the workflow's present run: the newest attempt of its reference, or an older one. */
void pawl_record_move(struct pawl_decision *d, struct pawl_entry *record, bool is_newest);

/* By task key, and the newest of a reference in this run; NULL if there is none or the set is
 * short. */
struct pawl_entry *pawl_record_find(struct pawl_step *step, int64_t task);
struct pawl_entry *pawl_record_latest(struct pawl_decision *d, struct pawl_str reference);

/* Its task's row, or NULL while the set is short. */
struct pawl_entry *pawl_record_task(struct pawl_step *step, const struct pawl_record_row *record);

/* What has become of it: SCHEDULED is IN_PROGRESS while a worker holds it, which a claim does not
 * write here. */
enum pawl_record_status pawl_record_status_now(const struct pawl_record_row *record,
                                               const struct pawl_task_row *task);

enum pawl_records {
    PAWL_RECORDS_OPEN,
    PAWL_RECORDS_UNDECIDED, /* ended, while the workflow was paused */
    PAWL_RECORDS_BAD,       /* ended badly, and the newest of their references */
    PAWL_RECORDS_ALL,       /* from the first; at most PAWL_RERUN_RECORDS_MAX */
};
/* The records of the run that are so now, beyond a task key: int64_t task keys of at most a slice
 * of those stored, and of those that this step has made. If it is cut there are more beyond
 * rows->last. NULL while short. */
const struct pawl_rows *pawl_records_list(struct pawl_decision *d, enum pawl_records which,
                                          int64_t after);

/* The type that the wire names: that of its node, or the name of the task that workers poll. */
struct pawl_str pawl_record_type(const struct pawl_node *node, struct pawl_str queue,
                                 struct pawl_str domain);

/* The input of a node's task: its parameters and the template of a definition (NULL = none),
 * resolved. False while short, or when the workflow has ended over it. */
bool pawl_record_input(struct pawl_decision *d, int32_t node,
                       const struct pawl_task_definition *definition, struct pawl_str id,
                       struct pawl_str *out);

/* The definition of a node's task: that of the snapshot; of a DYNAMIC one, which has none there,
 * the one that is registered under the name of its type. NULL if there is none, or the set is
 * short. The second form is for a record that there is. */
const struct pawl_task_definition *pawl_node_definition(struct pawl_decision *d, int32_t node,
                                                        struct pawl_str type);
const struct pawl_task_definition *pawl_record_definition(struct pawl_decision *d,
                                                          const struct pawl_record_row *record,
                                                          const struct pawl_task_row *task);

struct pawl_str pawl_record_mint(struct pawl_step *step); /* an id */

/* ---- Retries (retry.c) ---- */

enum pawl_verdict_of_failure {
    PAWL_FAILURE_RETRIED,
    PAWL_FAILURE_OPTIONAL,   /* COMPLETED_WITH_ERRORS, and on */
    PAWL_FAILURE_PERMISSIVE, /* on, and the workflow fails at its end */
    PAWL_FAILURE_ENDS,       /* the workflow */
};
/* delay_s and jitter_ms are of RETRIED, state is of ENDS. */
struct pawl_failure_verdict {
    enum pawl_verdict_of_failure kind;
    int64_t delay_s;
    int64_t jitter_ms;
    enum pawl_workflow_state state;
};
struct pawl_failure_verdict pawl_failure_judge(struct pawl_decision *d,
                                               const struct pawl_record_row *record,
                                               const struct pawl_task_row *task);

/* The delay before the attempt that follows attempt number `attempt` (from 0), in seconds. */
int64_t pawl_attempt_delay_s(const struct pawl_task_definition *definition, int32_t attempt);

/* Makes the attempt that follows. Its predecessor becomes superseded. */
void pawl_record_retry(struct pawl_decision *d, struct pawl_entry *record, int64_t delay_s,
                       int64_t jitter_ms);

/* ---- Timers (timer.c) ---- */

/* When the workflow is over time; 0 = never. */
int64_t pawl_workflow_deadline(const struct pawl_workflow_row *workflow,
                               const struct pawl_definition *definition);
/* Arms the task for whatever comes first. */
void pawl_record_arm(struct pawl_decision *d, const struct pawl_record_row *record,
                     struct pawl_task_row *task);
/* A workflow's task is due. */
enum pawl_code pawl_record_due(struct pawl_step *step, struct pawl_command *command,
                               struct pawl_entry *task);

/* ---- What expressions see (scope.c) ---- */

struct pawl_workflow_scope {
    struct pawl_decision *d;
    struct pawl_scope scope;
};
void pawl_workflow_scope_init(struct pawl_workflow_scope *scope, struct pawl_decision *d,
                              struct pawl_str task_id);
/* Resolves a template; false while short. An error ends in *code. */
bool pawl_workflow_resolve(struct pawl_decision *d, struct pawl_str template, struct pawl_str *out,
                           enum pawl_code *code);

/* The payload of a workflow, and of a task, as a tree; NULL if there is none or the set is short.
 */
struct pawl_str pawl_workflow_payload_look(struct pawl_step *step,
                                           const struct pawl_workflow_row *workflow,
                                           enum pawl_workflow_payload kind);
void pawl_workflow_payload_put(struct pawl_step *step, struct pawl_workflow_row *workflow,
                               enum pawl_workflow_payload kind, struct pawl_str body);
void pawl_workflow_payload_drop(struct pawl_step *step, struct pawl_workflow_row *workflow,
                                enum pawl_workflow_payload kind);

/* ---- The end (end.c) ---- */

struct pawl_workflow_end {
    enum pawl_workflow_state state;
    struct pawl_str reason; /* empty = none */
    int64_t failed;         /* the task that ended it; 0 = none */
    struct pawl_str
        output; /* JSON object, instead of what the definition says; empty = not given */
    bool runs_failure_workflow;
};
/* Ends the workflow: output, names of what failed, open records cancelled. What else was to do is
 * not done any more. */
void pawl_workflow_end(struct pawl_decision *d, const struct pawl_workflow_end *how);
/* The definition cannot be gone on with: FAILED with the sentence. */
void pawl_workflow_fail(struct pawl_decision *d, struct pawl_str sentence);
/* Keeps the name of what has failed for good. */
void pawl_workflow_note_failed(struct pawl_decision *d, const struct pawl_record_row *record,
                               const struct pawl_task_row *task);
/* More of its open records. Returns whether there are more. */
bool pawl_workflow_cancel_slice(struct pawl_step *step, struct pawl_command *command,
                                int64_t workflow);
/* Starts the failure workflow of an ended one. */
void pawl_workflow_failure_slice(struct pawl_step *step, struct pawl_command *command,
                                 int64_t workflow);

/* More of what has ended while it was paused, and of what waits for a callback (operate.c); each
 * leaves the rest to a continuation of its own. */
void pawl_workflow_undecided_slice(struct pawl_step *step, struct pawl_command *command,
                                   const struct pawl_continuation_row *row);
void pawl_workflow_callbacks_slice(struct pawl_step *step, struct pawl_command *command,
                                   const struct pawl_continuation_row *row);

/* ---- Outcomes (update.c) ---- */

struct pawl_record_word {           /* what somebody says of a record */
    enum pawl_record_status status; /* IN_PROGRESS, or an end */
    struct pawl_str output;         /* JSON object; empty = none */
    bool merges_output;
    bool keeps_output; /* an empty output is no output */
    struct pawl_str reason;
    int64_t callback_after_s;
    struct pawl_str worker;
    bool is_holders;
    int64_t retry_after_ms;
    enum pawl_event_cause cause;
};
/* Takes it. *is_ignored: the record or its workflow has ended already, and nothing was changed. */
enum pawl_code pawl_record_hear(struct pawl_step *step, struct pawl_command *command,
                                struct pawl_entry *task, const struct pawl_record_word *word,
                                bool *is_ignored);

/* An update of Conductor's (task/update.h) about a workflow's task, whose sender has been judged.
 */
enum pawl_code pawl_record_update(struct pawl_step *step, struct pawl_command *command,
                                  struct pawl_entry *task, bool is_holders);
/* What comes with a heartbeat, if it is new. */
void pawl_record_keep_output(struct pawl_step *step, struct pawl_entry *task,
                             struct pawl_str output);
/* The task of the newest attempt of a reference that is open. PAWL_NOT_FOUND. */
enum pawl_code pawl_record_find_open(struct pawl_step *step, struct pawl_command *command,
                                     struct pawl_str workflow_id, struct pawl_str reference,
                                     struct pawl_entry **out);

/* A native command (complete, fail, release, cancel) about a workflow's task; it has been fenced.
 */
enum pawl_code pawl_record_outcome(struct pawl_step *step, struct pawl_command *command,
                                   struct pawl_entry *task);

/* ---- Types (types/) ---- */

struct pawl_node_rules {
    /* The flow has come to the node, which has no record yet: makes its records, and says what is
     * to do. */
    void (*map)(struct pawl_decision *d, int32_t node);
    /* Something has happened that it may have waited for; NULL = nothing is. */
    void (*run)(struct pawl_decision *d, struct pawl_entry *record);
};
/* NULL: this build does not run the type. */
const struct pawl_node_rules *pawl_node_rules(enum pawl_node_type type);

extern const struct pawl_node_rules pawl_node_worker; /* SIMPLE, DYNAMIC, user types */
extern const struct pawl_node_rules pawl_node_switch;
extern const struct pawl_node_rules pawl_node_fork;
extern const struct pawl_node_rules pawl_node_join;
extern const struct pawl_node_rules pawl_node_set_variable;
extern const struct pawl_node_rules pawl_node_terminate;
extern const struct pawl_node_rules pawl_node_wait;
extern const struct pawl_node_rules pawl_node_human;
extern const struct pawl_node_rules pawl_node_noop;

/* The branches of a fork begin, or go on where they are; its JOIN is made if there is none. */
void pawl_fork_branch(struct pawl_decision *d, int32_t node);
/* Where the flow goes on from a SWITCH that has chosen this case. */
int32_t pawl_switch_next(const struct pawl_decision *d, int32_t node, struct pawl_str chosen);
/* The record of the JOIN of a fork with so many branches; 0 = it stands by itself. */
struct pawl_entry *pawl_join_make(struct pawl_decision *d, int32_t node, int32_t branches);
/* What JOINs count (types/join.c): a record that is named in a joinOn is over, or (by = -1) is not
 * after all. */
void pawl_join_count(struct pawl_decision *d, const struct pawl_record_row *record, int32_t by);
/* A JOIN that has ended waits again, for what it joins and is not over. */
void pawl_join_reopen(struct pawl_decision *d, struct pawl_entry *join);
/* The same, for the flow of all of its branches too. */
void pawl_join_again(struct pawl_decision *d, struct pawl_entry *join);
/* The flow of a branch has come to its JOIN. */
void pawl_join_reach(struct pawl_decision *d, struct pawl_entry *join, int64_t from);

#endif
