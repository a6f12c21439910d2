/* Queues, as the rules meet them: the one that is meant when none is named, and the row of a new one. */
#ifndef PAWL_CORE_TASK_QUEUE_H
#define PAWL_CORE_TASK_QUEUE_H

#include "core/step.h"

/* The name, or that of the default queue for an empty one. */
struct pawl_str pawl_queue_name(struct pawl_str given);

/* The queues that a claim asks for: the default one if it names none. */
const struct pawl_str *pawl_claim_queues(const struct pawl_claim *ask, size_t *count);

/* The key of a queue by name; 0 if there is none (or the set is short). */
int64_t pawl_queue_key(struct pawl_step *step, struct pawl_str name);
struct pawl_queue_row *pawl_queue_by_key(struct pawl_step *step, int64_t key);

/* The entry of a queue, made if this is the first to name it; NULL while short or full. */
struct pawl_entry *pawl_queue_need(struct pawl_step *step, struct pawl_str name);

#endif
