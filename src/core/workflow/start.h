/* How workflows begin. */
#ifndef PAWL_CORE_WORKFLOW_START_H
#define PAWL_CORE_WORKFLOW_START_H

#include "core/workflow/decision.h"

/* Makes the row of a workflow and decides what comes first. out->id is borrowed from the step. */
enum pawl_code pawl_workflow_begin(struct pawl_step *step, struct pawl_command *command,
                                   const struct pawl_workflow_start *ask,
                                   struct pawl_workflow_started *out);

/* The key of the snapshot of a definition with what is registered now; made if it is new. 0 while
 * short or full. */
int64_t pawl_snapshot_need(struct pawl_step *step, const struct pawl_definition *definition);

#endif
