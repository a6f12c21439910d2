/* What a command asks of a store, whether it has opened it or asks the server that has: one table
 * of functions with the shapes of pawl.h. What is printed does not know which it was. */
#ifndef PAWL_CLIENT_CALLS_H
#define PAWL_CLIENT_CALLS_H

#include "pawl.h"

struct pawl_client;

/* clang-format off */
#define PAWL_CALLS(X)                 \
    X(task_add)                       \
    X(task_get)                       \
    X(task_why)                       \
    X(task_list)                      \
    X(task_queue)                     \
    X(task_pause)                     \
    X(task_resume)                    \
    X(task_cancel)                    \
    X(task_complete)                  \
    X(task_fail)                      \
    X(task_resolve)                   \
    X(task_history)                   \
    X(task_logs)                      \
    X(task_checkpoints)               \
    X(task_late_results)              \
    X(events_read)                    \
    X(consumer_read)                  \
    X(consumer_acknowledge)           \
    X(consumer_acknowledge_through)   \
    X(task_add_batch)                 \
    X(dead_redrive)                   \
    X(queue_list)                     \
    X(queue_set)
/* clang-format on */

struct pawl_calls {
#define X(name) __typeof__(pawl_##name) *name;
    PAWL_CALLS(X)
#undef X
};

/* The functions of pawl.h themselves. */
extern const struct pawl_calls pawl_calls_local;

/* The same of a server. Their handle is what pawl_client_handle gives, and nothing but these may
 * have it.
 *
 *   fails  as the function of pawl.h, in the server's words; besides
 *          PAWL_IO               the server was not reached, or what answered is none; nothing was
 * done PAWL_UNKNOWN_OUTCOME  a change was sent, and no answer of the server came
 *          PAWL_UNAUTHENTICATED, PAWL_FORBIDDEN  the token */
extern const struct pawl_calls pawl_calls_remote;

struct pawl *pawl_client_handle(struct pawl_client *client);

#endif
