/* How long a failed or crashed attempt waits before the next one. */
#ifndef PAWL_CORE_TASK_RETRY_H
#define PAWL_CORE_TASK_RETRY_H

#include "core/task/task.h"

/* The delay before retry number `retry` (from 1), without jitter. Never overflows; at most delay_ms_max. */
int64_t pawl_retry_delay_ms(const struct pawl_retry_policy *policy, int32_t retry);

/* The delay after the n-th crash in a row (from 1): none, then 1, 2, 4 ... 60 s. */
int64_t pawl_crash_delay_ms(int32_t crashes_in_row);

/* What a task retries by: its own fields, else its queue's, else the built-in ones. */
struct pawl_retry_policy pawl_retry_settle(const struct pawl_retry *own, const struct pawl_retry *queue);

#endif
