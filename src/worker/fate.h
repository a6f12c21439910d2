/* What became of a task while its command ran, as far as the worker has not done it: the command
 * may have ended its task itself (`pawl task complete`, fail, release inside it), the engine may
 * have ended the attempt, or somebody else may have the task. */
#ifndef PAWL_WORKER_FATE_H
#define PAWL_WORKER_FATE_H

#include "pawl.h"

enum pawl_fate {
    PAWL_FATE_OURS,      /* RUNNING under the fence, or it could not be asked */
    PAWL_FATE_BY_ITSELF, /* ended under this very fence */
    PAWL_FATE_TIMED_OUT, /* the engine ended the attempt: its time was up */
    PAWL_FATE_LOST,      /* the lease ended, or the task was cancelled by force */
};

struct pawl_fate_look {
    enum pawl_fate fate;
    bool is_known; /* the task could be read */
    struct pawl_task task;
};

/* Looks at the task, and, if it is not ours any more, at how that came. Its texts live in arena. */
struct pawl_fate_look pawl_fate_of(struct pawl *pawl, const struct pawl_fence *fence,
                                   struct pawl_arena *arena);

#endif
