/* A worker that runs a command for each task.
 *
 *   claimer thread    asks for as many tasks as there are free slots
 *   keeper thread     renews the leases of all of them
 *   reporter threads  one a slot: its log, its outcome
 *   the caller's      starts commands, reads what they print, stops them in time
 *
 * The caller's thread never waits for the store. A command is stopped, SIGTERM and after the grace
 * SIGKILL, when its lease is lost or comes too near to its end, when the task is to be paused or
 * cancelled, when its time is up, and when the worker ends. */
#ifndef PAWL_WORKER_WORKER_H
#define PAWL_WORKER_WORKER_H

#include "base/log.h"
#include "pawl.h"
#include "supervisor/claimer.h"

enum { PAWL_WORKER_GRACE_MS_DEFAULT = 5000 };

struct pawl_worker_options { /* all borrowed until the worker has ended */
    struct pawl *pawl;
    const struct pawl_str *queues;
    size_t queue_count; /* 0 = "default" */
    struct pawl_str worker_id;
    char *const *argv;        /* the command, NULL-terminated */
    char *const *environment; /* of the command, NAME=VALUE, NULL-terminated */
    const char *cwd;          /* of the command; NULL = ours */
    struct pawl_str store;    /* what the command finds in PAWL_DB */
    int32_t slots;            /* 1..PAWL_WORKER_SLOTS_MAX; 0 = 1 */
    int64_t lease_ms;         /* 0 = the queue's */
    int64_t grace_ms;         /* 0 = PAWL_WORKER_GRACE_MS_DEFAULT */
    int64_t timeout_ms;       /* of one attempt; 0 = the task's alone */
    bool is_once;             /* end after one task */
    bool is_until_empty;      /* end when nothing is ready and nothing runs */
    bool is_terminal;         /* standard error is one */
    int signal_fd;            /* tells of SIGINT and SIGTERM, which are blocked in all threads */
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
