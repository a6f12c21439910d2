/* A worker that runs a command for each task.
 *
 *   claimer threads   one a pool: asks for as many tasks as there are free slots
 *   keeper threads    one a pool: renews the leases of all of them
 *   reporter threads  one a slot: begins its execution, tells its log and its outcome
 *   talk threads      one a slot: hears what its command says of the task
 *   the caller's      starts commands, reads what they print, stops them in time
 *
 * The caller's thread, which must be the first of the process, never waits for the store. Leases
 * are supervised (docs/leases.md): a command begins when its execution has its lock, and its
 * outcome is told when nobody holds the lock any more. A command is stopped, SIGTERM and after the
 * grace SIGKILL, when its lease is lost or comes too near to its end, when the task is to be paused
 * or cancelled, when its time is up, and when the worker ends. So is what it leaves running. */
#ifndef PAWL_WORKER_WORKER_H
#define PAWL_WORKER_WORKER_H

#include "base/log.h"
#include "pawl.h"
#include "supervisor/claimer.h"

struct pawl_board;

enum {
    PAWL_WORKER_GRACE_MS_DEFAULT = 5000,
    /* Pools of one worker: each has threads of its own to claim and to keep leases. */
    PAWL_WORKER_POOLS_MAX = 64,
};

struct pawl_worker_pool { /* slots, what they take, and what they run; all borrowed */
    const struct pawl_str *queues;
    size_t queue_count;        /* 0 = "default" */
    char *const *argv;         /* the command, NULL-terminated */
    int32_t slots;             /* at least 1; all pools together at most PAWL_WORKER_SLOTS_MAX */
    struct pawl_str worker_id; /* each its own */
};

struct pawl_worker_options { /* all borrowed until the worker has ended */
    struct pawl *pawl;
    const struct pawl_worker_pool *pools;
    size_t pool_count;
    struct pawl_str worker_id; /* of the whole, for the log */
    char *const *environment;  /* of the commands, NAME=VALUE, NULL-terminated */
    const char *cwd;           /* of the commands; NULL = ours */
    struct pawl_str store;     /* what a command finds in PAWL_DB */
    int64_t lease_ms;          /* 0 = the queue's */
    int64_t grace_ms;          /* from SIGTERM to SIGKILL; 0 = both at once */
    int64_t timeout_ms;        /* of one attempt; 0 = the task's alone */
    bool is_once;              /* end after one task; with one pool only */
    bool is_until_empty;       /* end when nothing is ready and nothing runs */
    bool is_terminal;          /* standard error is one */
    struct pawl_board *board;  /* on it, with a line for each slot; NULL = none */
    int signal_fd;             /* tells of SIGINT and SIGTERM, which are blocked in all threads */
    const struct pawl_log *log;
};

/* Works until it is told to end: SIGINT or SIGTERM, or as the options say. Then running commands
 * may end by themselves within the grace; after it they are stopped and their tasks given back,
 * uncounted. A second signal does that at once. SIGCHLD must be blocked in all threads. After a
 * signal the handle does not wait any more (pawl_stop_waiting). A command that ends with exit
 * status 0 completes its task, whyever it was told to stop, but for a time-out.
 *
 *   fails  PAWL_NOT_FOUND  there is no such program or folder; nothing was claimed
 *          what a claim fails with, if asking again cannot help; tasks in hand were finished first
 */
enum pawl_code pawl_worker_run(const struct pawl_worker_options *options,
                               struct pawl_error *err) PAWL_MUST_USE;

#endif
