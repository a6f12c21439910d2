/* The limits of a task's definition: how many of its tasks may be in progress at once (concurrentExecLimit), and how
 * many may begin within a window (rateLimitPerFrequency). They hold for all queues of its name, with a domain before
 * it or not, and count from the claim on.
 *
 * A gate is one row for a definition that has had a limit; it counts, and no list is read. Which limits there are is
 * looked up at each claim, so that a change holds for what waits already. A claim passes over a queue whose gate is
 * shut as if it were paused, and touches none of its tasks. Whoever leaves wakes who waits; a window that is spent
 * tells when it lets the next one through, and who waits is woken then (engine/parked.h). */
#ifndef PAWL_CORE_TASK_GATE_H
#define PAWL_CORE_TASK_GATE_H

#include "core/step.h"

struct pawl_gate_start {
    int64_t at_ms; /* of the newest one */
    int64_t count; /* that began then, or a little before */
};

struct pawl_gate_row {
    int64_t key;
    struct pawl_str name;   /* of the definition */
    int64_t held;           /* tasks with this gate: claimed under a limit, and not given back */
    struct pawl_str starts; /* struct pawl_gate_start, oldest first: those in the window as of the newest one */
};

/* What a gate lets through now. */
struct pawl_gate_room {
    struct pawl_str name;
    int64_t count;       /* tasks; INT64_MAX = any number */
    int64_t opens_at_ms; /* count 0: when the window moves on; 0 = once a task is given back */
};

/* The definition that a queue is of: its name, without a domain before it. */
struct pawl_str pawl_gate_name(struct pawl_str queue);

/* Before anything passes. May be short. */
void pawl_gate_look(struct pawl_step *step, struct pawl_str name, struct pawl_gate_room *out);

/* A task of this definition is claimed: its gate has been looked at. */
void pawl_gate_pass(struct pawl_step *step, struct pawl_str name, struct pawl_task_row *task);

/* A task is not in progress any more. May be short. */
void pawl_gate_leave(struct pawl_step *step, struct pawl_task_row *task);

#endif
