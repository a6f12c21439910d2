/* What this handle has done since it was opened: counted by whoever runs the step, read from any thread. */
#ifndef PAWL_ENGINE_COUNTERS_H
#define PAWL_ENGINE_COUNTERS_H

#include "core/task/event.h"
#include "core/workflow/workflow.h"
#include "pawl.h"

#include <stdatomic.h>

struct pawl_counting_spread {
    _Atomic int64_t sum;
    _Atomic int64_t buckets[PAWL_SPREAD_BUCKETS]; /* not summed; the last is what is beyond all bounds */
};

enum {
    PAWL_EVENT_TYPE_SLOTS = 1
#define X(name, number, type, action, success) +1
        PAWL_EVENT_TYPES(X)
#undef X
};

struct pawl_counting {
    _Atomic int64_t failed_steps;
    _Atomic int64_t races;
    _Atomic int64_t renewals;
    _Atomic int64_t late_results;
    _Atomic int64_t workflows_started;
    _Atomic int64_t workflows_ended[PAWL_WORKFLOW_STATE_COUNT]; /* by state */
    _Atomic int64_t events[PAWL_EVENT_TYPE_SLOTS];              /* by type */
    struct pawl_counting_spread commands;
    struct pawl_counting_spread step_ms;
    struct pawl_counting_spread commit_ms;
    struct pawl_counting_spread late_ms;
    struct pawl_counting_spread wait_ms;
    struct pawl_counting_spread run_ms;
};

struct pawl_transaction;

void pawl_counting_spread_add(struct pawl_counting_spread *spread, int64_t value);

/* A committed step, with its commands and events still in it. */
void pawl_counting_step(struct pawl_counting *counting, const struct pawl_transaction *t);

#endif
