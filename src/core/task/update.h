/* What somebody says of a task on Conductor's wire, in one message for all: how it ended, that it goes on
 * later, that it is still being worked on. Who says it may give no epoch, or not even a name, so the rule
 * first finds out who speaks (decided in update.c). */
#ifndef PAWL_CORE_TASK_UPDATE_H
#define PAWL_CORE_TASK_UPDATE_H

#include "core/task/task.h"

enum pawl_update_status { /* Conductor's words for what is said */
    PAWL_UPDATE_IN_PROGRESS = 1,
    PAWL_UPDATE_COMPLETED,
    PAWL_UPDATE_FAILED,
    PAWL_UPDATE_FAILED_WITH_TERMINAL_ERROR,
    PAWL_UPDATE_CANCELED,
};

/* PAWL_COMMAND_UPDATE, of the command's task_id. Answer: updated.
 *
 *   PAWL_NOT_FOUND   no such task, or not of this workflow
 *   PAWL_LEASE_LOST  epoch was given, and holds no lease any more; kept as a late result
 *   PAWL_STATE       what is said cannot become of the task as it is */
struct pawl_update {
    struct pawl_str workflow_id; /* a task without a workflow is its own */
    struct pawl_str reference;   /* without a task id: the open task of this reference in the workflow */
    enum pawl_update_status status;
    struct pawl_str output;      /* JSON object; empty = {} */
    bool merges_output;          /* of a workflow's task: its members are put over those that are there */
    struct pawl_str reason;
    int64_t callback_after_ms;   /* of IN_PROGRESS: it is offered again after so long */
    struct pawl_str worker_id;   /* empty = not said */
    int64_t epoch;               /* 0 = not said */
    bool extends_lease;          /* all else but a new output is passed over */
    const struct pawl_str *logs; /* lines */
    size_t log_count;
};

enum pawl_lease_word { /* what has become of the sender's lease */
    PAWL_LEASE_WORD_NONE,   /* he had none */
    PAWL_LEASE_WORD_HELD,
    PAWL_LEASE_WORD_DONE,   /* his word was taken, and his lease is over */
    PAWL_LEASE_WORD_LOST,   /* nothing was changed */
    PAWL_LEASE_WORD_PAUSE,  /* he holds it still, and is asked to give it back */
    PAWL_LEASE_WORD_CANCEL, /* or to stop; or the task was cancelled under him */
};

struct pawl_updated {
    struct pawl_str task_id;
    struct pawl_str queue;     /* its name */
    enum pawl_lease_word lease;
    int64_t remaining_ms;      /* while he holds it */
    int64_t epoch;             /* of the task, after this */
    bool is_terminal;          /* the task has ended */
    bool is_ignored;           /* it had ended before: nothing was changed */
};

#endif
