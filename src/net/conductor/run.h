/* What a synchronous start or signal waits for, and its answer: WorkflowRun or TaskRun. */
#ifndef PAWL_NET_CONDUCTOR_RUN_H
#define PAWL_NET_CONDUCTOR_RUN_H

#include "net/conductor/conductor.h"
#include "net/conductor/waits.h"

enum pawl_run_strategy {
    PAWL_RUN_TARGET_WORKFLOW,
    PAWL_RUN_BLOCKING_WORKFLOW,
    PAWL_RUN_BLOCKING_TASK,
    PAWL_RUN_BLOCKING_TASK_INPUT,
};

struct pawl_run {
    struct pawl_wait wait; /* first */
    struct pawl_str workflow_id;
    struct pawl_str request_id; /* empty = none */
    enum pawl_run_strategy strategy;
    const struct pawl_str *references; /* waited for; NULL = none */
    size_t reference_count;
    int64_t version; /* of the workflow, as it was looked at last */
};

/* Fills strategy from the query: false, and answered, if it is none. */
bool pawl_run_fill(struct pawl_run *run, struct pawl_exchange *exchange);

/* Waits for the workflow, at most wait_ms, and answers. */
void pawl_run_wait(struct pawl_run *run, const struct pawl_conductor *conductor,
                   struct pawl_exchange *exchange, struct pawl_str workflow_id, int64_t wait_ms);

#endif
