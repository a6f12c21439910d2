/* Speaks with the store about one task in hand: begins its execution, then tells its log while it
 * runs, and its ending. A thread a slot, so that a slow commit holds up nothing but its own task.
 */
#ifndef PAWL_WORKER_REPORTER_H
#define PAWL_WORKER_REPORTER_H

#include "base/log.h"
#include "pawl.h"
#include "worker/ending.h"

struct pawl_board;
struct pawl_keeper;
struct pawl_reporter;

struct pawl_reporter_options {
    struct pawl *pawl;
    struct pawl_keeper *keeper;
    int32_t slot;
    int heard_fd; /* rung when there is room for more, and when a task is settled */
    const struct pawl_log *log;
    struct pawl_board *board; /* or NULL: standard error is no terminal, or shows no lines */
    bool is_terminal;         /* lines passed on to standard error get their task in front */
};

/* Starts the thread; all in options is borrowed until close. PAWL_NO_MEMORY. */
enum pawl_code pawl_reporter_open(struct pawl_reporter **out,
                                  const struct pawl_reporter_options *options,
                                  struct pawl_error *err) PAWL_MUST_USE;
void pawl_reporter_close(struct pawl_reporter *reporter); /* only between tasks; takes NULL */

struct pawl_begun {
    enum pawl_code code;              /* of pawl_execution_begin */
    struct pawl_execution *execution; /* on PAWL_OK: the worker's to close */
    struct pawl_error err;
};

/* A task begins; the fence's texts are borrowed until it is settled. */
void pawl_reporter_begin(struct pawl_reporter *reporter, const struct pawl_fence *fence);

/* True, once, when it is known whether its execution could begin. Before that nothing may run, and
 * nothing else may be called of the task. */
bool pawl_reporter_has_begun(struct pawl_reporter *reporter, struct pawl_begun *out);

/* How many bytes of log it can take now. */
size_t pawl_reporter_room(struct pawl_reporter *reporter);

/* Bytes of standard error, as they come; no more than there is room for. Whole lines are passed on
 * to our own standard error and into the log of the task, what has gathered at once in one entry.
 */
void pawl_reporter_log(struct pawl_reporter *reporter, struct pawl_str bytes);

/* The task has ended: the rest of the log, then the outcome (its text borrowed until it is
 * settled). It is repeated until the store has answered or the lease is over. */
void pawl_reporter_end(struct pawl_reporter *reporter, const struct pawl_ending *ending);

/* From now on an outcome is tried once only. */
void pawl_reporter_hurry(struct pawl_reporter *reporter);

/* True, once, when the outcome of the task that ended has been dealt with. */
bool pawl_reporter_is_settled(struct pawl_reporter *reporter);

#endif
