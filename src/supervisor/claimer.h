/* Asks for tasks, in a thread of its own: a claim may wait for one, and nothing else may wait for
 * it.
 *
 * One claim at a time, for as many tasks as there are free slots, so that none lies about while its
 * lease runs. A claim whose answer did not come is asked again under the same request id and so
 * gives the same grants. */
#ifndef PAWL_SUPERVISOR_CLAIMER_H
#define PAWL_SUPERVISOR_CLAIMER_H

#include "pawl.h"

struct pawl_claimer;

enum {
    /* Slots of a worker, all queues together: each has two threads' worth of life and some ten
     * descriptors, and beyond this a second worker does as well. */
    PAWL_WORKER_SLOTS_MAX = PAWL_SUPERVISOR_SLOTS_MAX,
};

struct pawl_claim_answer {
    enum pawl_code code;
    struct pawl_error err;           /* of a failure */
    const struct pawl_grant *grants; /* good until the next ask */
    size_t count;
    int64_t asked_boot_ms; /* from when the leases count */
};

/* Starts the thread.
 *
 *   ask       queues, worker and lease of every claim; borrowed until close
 *   heard_fd  an event descriptor, rung when an answer is there
 *   fails     PAWL_NO_MEMORY */
enum pawl_code pawl_claimer_open(struct pawl_claimer **out, struct pawl *pawl,
                                 const struct pawl_claim *ask, int heard_fd,
                                 struct pawl_error *err) PAWL_MUST_USE;
/* Waits for a claim under way. Its grants are then nobody's, so take the answer first. Takes NULL.
 */
void pawl_claimer_close(struct pawl_claimer *claimer);

/* Begins a claim of up to max tasks, and of no more than a call may take; none may be under way. */
void pawl_claimer_ask(struct pawl_claimer *claimer, int32_t max, int64_t wait_ms);

/* The claim under way, and all that come, wait for nothing any more. */
void pawl_claimer_give_up(struct pawl_claimer *claimer);

/* True from ask until take has given its answer. */
bool pawl_claimer_is_asking(struct pawl_claimer *claimer);

/* Gives the answer, once, when it is there. */
bool pawl_claimer_take(struct pawl_claimer *claimer, struct pawl_claim_answer *out);

#endif
