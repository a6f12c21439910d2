/* Ends of work whose handler has returned. Threads: any. */
#include "base/error.h"
#include "base/str.h"
#include "engine/options.h"
#include "supervisor/clock.h"
#include "supervisor/supervisor.h"

#include <unistd.h>

static enum pawl_code gone(struct pawl_error *err)
{
    return pawl_error_set(err, PAWL_LEASE_LOST, "token: its work has ended, or its lease was lost");
}

/* Takes detached work to end it; waits for its handler to return. */
static enum pawl_code begin(struct pawl_supervisor *supervisor, int64_t token,
                            struct pawl_telling *telling, enum pawl_stop_reason *reason,
                            struct pawl_error *err)
{
    struct pawl_item *item;
    if (supervisor == NULL || supervisor->pid != getpid()) {
        return pawl_error_set(err, PAWL_MISUSE, "supervisor: is NULL, or of another process");
    }
    (void)pthread_mutex_lock(&supervisor->mutex);
    while ((item = pawl_item_find(supervisor, token)) != NULL && item->work != NULL &&
           !item->is_telling && !pthread_equal(item->work->thread, pthread_self())) {
        (void)pthread_cond_wait(&supervisor->changed, &supervisor->mutex);
    }
    enum pawl_code code = PAWL_OK;
    if (item == NULL) {
        code = gone(err);
    } else if (item->work != NULL && item->is_telling) {
        code = pawl_error_set(err, PAWL_STATE, "token: its handler has not detached the work");
    } else if (item->work != NULL) {
        code = pawl_error_set(err, PAWL_MISUSE, "token: a handler ends its own work by returning");
    } else if (item->is_telling) {
        code = pawl_error_set(err, PAWL_CONFLICT, "token: somebody else is ending this work");
    } else {
        item->is_telling = true;
        *telling = (struct pawl_telling){.number = (int32_t)(item - supervisor->items),
                                         .fence = pawl_item_fence(supervisor, item),
                                         .failure = PAWL_FAILURE_INIT,
                                         .is_detached = true};
        *reason = item->reason;
    }
    (void)pthread_mutex_unlock(&supervisor->mutex);
    return code;
}

static enum pawl_code end(struct pawl_supervisor *supervisor, struct pawl_telling *telling,
                          struct pawl_error *err)
{
    enum pawl_code code = pawl_work_tell(supervisor, telling, err);
    (void)pthread_mutex_lock(&supervisor->mutex);
    if (code == PAWL_OK || code == PAWL_LEASE_LOST) {
        pawl_item_drop(supervisor, telling->number);
    } else {
        supervisor->items[telling->number].is_telling = false;
        pawl_heap_set(&supervisor->looks, telling->number, 0);
    }
    pawl_fd_ring(supervisor->heard_fd); /* before whoever closes can go on */
    (void)pthread_mutex_unlock(&supervisor->mutex);
    return code;
}

enum pawl_code pawl_detached_complete(struct pawl_supervisor *supervisor, int64_t token,
                                      struct pawl_str result, struct pawl_error *err)
{
    struct pawl_telling telling;
    enum pawl_stop_reason reason;
    enum pawl_code code = begin(supervisor, token, &telling, &reason, err);
    if (code != PAWL_OK) return code;
    telling.end = PAWL_WORK_COMPLETED;
    telling.result = result;
    return end(supervisor, &telling, err);
}

enum pawl_code pawl_detached_fail(struct pawl_supervisor *supervisor, int64_t token,
                                  const struct pawl_failure *failure, struct pawl_error *err)
{
    struct pawl_telling telling;
    enum pawl_stop_reason reason;
    struct pawl_failure own = PAWL_FAILURE_INIT;
    enum pawl_code code = PAWL_OK;
    if (failure != NULL) {
        code = PAWL_OPTIONS_READ(own, failure, "failure", "PAWL_FAILURE_INIT", err);
    }
    if (code == PAWL_OK) code = begin(supervisor, token, &telling, &reason, err);
    if (code != PAWL_OK) return code;
    telling.end = PAWL_WORK_FAILED;
    telling.failure = own;
    return end(supervisor, &telling, err);
}

enum pawl_code pawl_detached_stop(struct pawl_supervisor *supervisor, int64_t token,
                                  struct pawl_error *err)
{
    struct pawl_telling telling;
    enum pawl_stop_reason reason;
    enum pawl_code code = begin(supervisor, token, &telling, &reason, err);
    if (code != PAWL_OK) return code;
    telling.end = reason == PAWL_STOP_PAUSED      ? PAWL_WORK_PAUSED
                  : reason == PAWL_STOP_CANCELLED ? PAWL_WORK_CANCELLED
                                                  : PAWL_WORK_RELEASED;
    return end(supervisor, &telling, err);
}
