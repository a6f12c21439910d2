/* The registered definitions as workflows use them: parsed, and as the source of a snapshot. */
#ifndef PAWL_CORE_WORKFLOW_REGISTRY_H
#define PAWL_CORE_WORKFLOW_REGISTRY_H

#include "core/step.h"
#include "core/workflow/definition_check.h"

/* The definition of a task; NULL if there is none, it cannot be read, or the set is short. */
const struct pawl_task_definition *pawl_registered_task(struct pawl_step *step,
                                                        struct pawl_str name);

/* That of a workflow; version 0 is the latest. */
const struct pawl_definition *pawl_registered_workflow(struct pawl_step *step, struct pawl_str name,
                                                       int64_t version);

/* For pawl_snapshot_make. */
struct pawl_definition_source pawl_registered_source(struct pawl_step *step);

#endif
