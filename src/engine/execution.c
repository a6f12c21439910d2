/* The public side of an execution's lock. */
#include "engine/engine.h"

#include "base/error.h"
#include "base/str.h"
#include "engine/place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pawl_execution {
    struct pawl_locks locks; /* a copy: it may outlive the handle */
    struct pawl_place place;
    char task_id[PAWL_TASK_ID_STORED_BYTES_MAX];
    size_t task_id_len;
    int64_t epoch;
    int fd; /* -1: we have let go */
};

/* Whether the task runs under the fence, as the store has it now. */
static enum pawl_code check_fence(struct pawl *pawl, const struct pawl_fence *fence,
                                  struct pawl_error *err)
{
    struct pawl_arena *scratch;
    struct pawl_task task;
    enum pawl_code code = pawl_arena_open(&scratch, 0);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no memory to look at the task");
    code = pawl_task_get(pawl, fence->task_id, false, scratch, &task, err);
    bool is_ours = code == PAWL_OK && task.state == PAWL_TASK_RUNNING &&
                   task.epoch == fence->epoch && pawl_str_equal(task.owner, fence->owner);
    if (code == PAWL_OK && !is_ours) {
        code = pawl_error_set(err, PAWL_LEASE_LOST, "task %.*s: epoch %lld holds no lease any more",
                              PAWL_STR_ARG(fence->task_id), (long long)fence->epoch);
    }
    pawl_arena_close(scratch);
    return code;
}

enum pawl_code pawl_execution_begin(struct pawl *pawl, const struct pawl_fence *fence,
                                    struct pawl_execution **out, struct pawl_error *err)
{
    if (pawl == NULL || fence == NULL || out == NULL) {
        return pawl_error_set(err, PAWL_MISUSE, "pawl, fence and out are needed");
    }
    if (fence->task_id.len == 0 || fence->task_id.len > PAWL_TASK_ID_STORED_BYTES_MAX) {
        return pawl_error_set(err, PAWL_INVALID, "task_id: has %zu bytes, not 1 to %d",
                              fence->task_id.len, PAWL_TASK_ID_STORED_BYTES_MAX);
    }
    struct pawl_execution *execution = calloc(1, sizeof *execution);
    if (execution == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for an execution");
    execution->fd = -1;
    execution->epoch = fence->epoch;
    execution->task_id_len = fence->task_id.len;
    memcpy(execution->task_id, fence->task_id.ptr, fence->task_id.len);
    enum pawl_code code = pawl_engine_enter(pawl, err);
    if (code == PAWL_OK) {
        execution->locks = pawl->locks;
        code = pawl_place_open(&execution->place, &execution->locks, true, err);
        pawl_engine_leave(pawl);
    }
    if (code == PAWL_OK) {
        code =
            pawl_place_take(&execution->place, fence->task_id, fence->epoch, &execution->fd, err);
    }
    /* only now: whoever has fenced us before this look, and looks for the lock after it, finds it
     */
    if (code == PAWL_OK) code = check_fence(pawl, fence, err);
    if (code != PAWL_OK) {
        (void)(execution->fd >= 0 && pawl_execution_has_stopped(execution));
        pawl_execution_close(execution);
        return code;
    }
    *out = execution;
    return PAWL_OK;
}

int pawl_execution_fd(const struct pawl_execution *execution)
{
    return execution == NULL ? -1 : execution->fd;
}

bool pawl_execution_has_stopped(struct pawl_execution *execution)
{
    struct pawl_str task_id = {execution->task_id, execution->task_id_len};
    if (execution->fd >= 0) (void)close(execution->fd); /* nothing was written */
    execution->fd = -1;
    return pawl_place_find(&execution->place, task_id, execution->epoch, NULL) ==
           PAWL_FINDING_STOPPED;
}

void pawl_execution_close(struct pawl_execution *execution)
{
    if (execution == NULL) return;
    if (execution->fd >= 0) (void)close(execution->fd); /* nothing was written */
    free(execution);
}
