/* The states of a task, and the only moves between them. One table each; names, checks and the picture in
 * the docs come from these lines alone. */
#ifndef PAWL_CORE_TASK_STATE_H
#define PAWL_CORE_TASK_STATE_H

#include "pawl.h"

/* The numbers are stored: add at the end, never renumber. */
#define PAWL_TASK_STATES(X) /* name, number, terminal */ \
    X(PENDING, 0, false)                                 \
    X(QUEUED, 1, false)                                  \
    X(RUNNING, 2, false)                                 \
    X(PAUSED, 3, false)                                  \
    X(RECOVERY_PENDING, 4, false)                        \
    X(COMPLETED, 5, true)                                \
    X(FAILED, 6, true)                                   \
    X(CANCELLED, 7, true)                                \
    X(DEAD_LETTER, 8, true)

/* Who causes a move. */
enum pawl_mover { PAWL_BY_WORKER = 1, PAWL_BY_OPERATOR = 2, PAWL_BY_ENGINE = 4 };

/* Whether a move is due depends on more than the state (fence, budget, lease kind): the rules decide that.
 * This lists every outcome they may reach, and who may cause it. W worker, O operator, E engine. */
#define PAWL_TASK_MOVES(X)                         \
    /* from            to                by     */ \
    X(PENDING,         QUEUED,           O)        \
    X(PENDING,         RUNNING,          W)        \
    X(PENDING,         PAUSED,           O)        \
    X(PENDING,         CANCELLED,        O | E)    \
    X(PENDING,         COMPLETED,        O)        \
    X(QUEUED,          RUNNING,          W)        \
    X(QUEUED,          PAUSED,           O)        \
    X(QUEUED,          CANCELLED,        O | E)    \
    X(QUEUED,          COMPLETED,        O)        \
    X(RUNNING,         QUEUED,           W | E)    \
    X(RUNNING,         PAUSED,           W | E)    \
    X(RUNNING,         RECOVERY_PENDING, E)        \
    X(RUNNING,         COMPLETED,        W)        \
    X(RUNNING,         CANCELLED,        W | O | E) \
    X(RUNNING,         DEAD_LETTER,      W | E)    \
    X(PAUSED,          QUEUED,           O)        \
    X(PAUSED,          CANCELLED,        O | E)    \
    X(PAUSED,          COMPLETED,        O)        \
    X(RECOVERY_PENDING, QUEUED,          O | E)    \
    X(RECOVERY_PENDING, PAUSED,          O | E)    \
    X(RECOVERY_PENDING, COMPLETED,       O | E)    \
    X(RECOVERY_PENDING, FAILED,          O | E)    \
    X(RECOVERY_PENDING, CANCELLED,       O | E)    \
    X(RECOVERY_PENDING, DEAD_LETTER,     E)        \
    X(FAILED,          QUEUED,           O)        \
    X(FAILED,          COMPLETED,        O)        \
    X(FAILED,          CANCELLED,        O)        \
    X(DEAD_LETTER,     QUEUED,           O)        \
    X(DEAD_LETTER,     COMPLETED,        O)        \
    X(DEAD_LETTER,     CANCELLED,        O)

enum {
    PAWL_TASK_STATE_COUNT = 0
#define X(name, number, terminal) +1
        PAWL_TASK_STATES(X)
#undef X
};

/* Whether the table lists the move for any of these movers. */
bool pawl_task_move_is_listed(enum pawl_task_state from, enum pawl_task_state to, unsigned by);

/* Whether a stored number is a state. */
bool pawl_task_state_is(int64_t number);

#endif
