/* Bringing a workflow back, and taking it away: retry, restart, rerun, remove. */
#ifndef PAWL_CORE_WORKFLOW_AGAIN_H
#define PAWL_CORE_WORKFLOW_AGAIN_H

#include "core/workflow/decision.h"

/* What has failed is tried anew, in the same run. */
enum pawl_code pawl_workflow_retry(struct pawl_decision *d);
/* From the start, as a new run. */
enum pawl_code pawl_workflow_restart(struct pawl_decision *d,
                                     const struct pawl_workflow_operate *ask);
/* From the start, or from a task. */
enum pawl_code pawl_workflow_rerun(struct pawl_decision *d,
                                   const struct pawl_workflow_operate *ask);
enum pawl_code pawl_workflow_remove(struct pawl_decision *d,
                                    const struct pawl_workflow_operate *ask);

/* The rest of a rerun from a task (rerun.c): the workflow has ended, and is begun to be changed. */
enum pawl_code pawl_workflow_rerun_from(struct pawl_decision *d,
                                        const struct pawl_workflow_operate *ask);

/* It runs again, and nothing is known of its end. */
void pawl_workflow_reopen(struct pawl_decision *d);
/* The same, in a run of its own, which has no record yet; those of the run before are removed. */
void pawl_workflow_run_begin(struct pawl_decision *d);

/* One slice of the removal of a run's records; returns whether there is more. */
bool pawl_run_remove_slice(struct pawl_step *step, struct pawl_continuation_row *row);

#endif
