/* Short words for tests of workflows. A definition is written as its list of tasks, in which '
 * stands for ". */
#ifndef PAWL_TESTS_ENGINE_WORKFLOWS_H
#define PAWL_TESTS_ENGINE_WORKFLOWS_H

#include "engine/workflow.h"
#include "stores.h"

/* {"name": "w", "tasks": [tasks] , more} as a definition; in keep. */
const struct pawl_definition *wf_definition(struct lab *lab, const char *tasks, const char *more);
/* Starts one with an input (NULL = {}); its id. */
struct pawl_str wf_start(struct lab *lab, const char *tasks, const char *more, const char *input);

/* "RUNNING t1:COMPLETED t2:SCHEDULED", the records in the order of their seq; checks that they are
 * numbered 1, 2, 3 … as far as none is waiting for its place. */
const char *wf_state(struct lab *lab, struct pawl_str id);
struct pawl_workflow_view wf_get(struct lab *lab, struct pawl_str id);
/* The record with this seq. */
struct pawl_record_view wf_record(struct lab *lab, struct pawl_str id, int64_t seq);
/* The newest of a reference. */
struct pawl_record_view wf_latest(struct lab *lab, struct pawl_str id, const char *reference);
/* Texts, NUL-terminated. */
const char *wf_output(struct lab *lab, struct pawl_str id);
const char *wf_reason(struct lab *lab, struct pawl_str id);
const char *wf_text(struct lab *lab, struct pawl_str text);

/* Polls a type as worker w; the task's id, empty when there is none. */
struct pawl_str wf_poll(struct lab *lab, const char *type);
/* Says of a task how it ended, as worker w. */
struct pawl_updated wf_update(struct lab *lab, struct pawl_str task, enum pawl_update_status status,
                              const char *output, const char *reason);
/* Polls and ends. */
void wf_complete(struct lab *lab, const char *type, const char *output);
void wf_fail(struct lab *lab, const char *type, const char *reason);

enum pawl_code wf_operate(struct lab *lab, struct pawl_str id,
                          const struct pawl_workflow_operate *ask);
#define OPERATE(...) (&(struct pawl_workflow_operate){__VA_ARGS__})

/* fsck finds nothing: the counters of all workflows are what they count. */
void wf_check(struct lab *lab);

#endif
