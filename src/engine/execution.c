/* The public side of an execution's lock. */
#include "engine/engine.h"

#include "base/error.h"
#include "base/str.h"
#include "engine/place.h"

#include <stdlib.h>

struct pawl_execution {
    struct pawl_held held;
};

/* Whether the task runs under the fence, as the store has it now, and whoever recovers it will look
 * where our lock is. */
static enum pawl_code check_fence(struct pawl *pawl, const struct pawl_fence *fence,
                                  const struct pawl_place *place, struct pawl_error *err)
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
    /* the lock of a client-held lease is nobody's to look for */
    bool is_there = code != PAWL_OK || !task.is_supervised || pawl->env->find_execution != NULL ||
                    pawl_str_equal(task.lease_place, pawl_str_of(place->id));
    if (code == PAWL_OK && !is_there) {
        code = pawl_error_set(err, PAWL_IO,
                              "task %.*s was claimed with its lock in another file than that of %s",
                              PAWL_STR_ARG(fence->task_id), place->folder);
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
    execution->held = (struct pawl_held){.fd = -1, .look_fd = -1};
    struct pawl_place place;
    enum pawl_code code = pawl_engine_enter(pawl, err);
    if (code == PAWL_OK) {
        code = pawl_place_open(&place, &pawl->locks, true, err);
        if (code == PAWL_OK)
            code = pawl_place_take(&place, fence->task_id, fence->epoch, &execution->held, err);
        pawl_engine_leave(pawl);
    }
    /* only now: whoever has fenced us before this look, and looks for the lock after it, finds it
     */
    if (code == PAWL_OK) code = check_fence(pawl, fence, &place, err);
    if (code != PAWL_OK) {
        pawl_execution_close(execution);
        return code;
    }
    *out = execution;
    return PAWL_OK;
}

enum pawl_code pawl_engine_check_locks(struct pawl *pawl, struct pawl_place *place, struct pawl_error *err)
{
    if (pawl->env->find_execution != NULL) {
        place->id[0] = '\0';
        return PAWL_OK;
    }
    enum pawl_code code = pawl_engine_enter(pawl, err);
    if (code != PAWL_OK) return code;
    code = pawl_place_check(place, &pawl->locks, err);
    pawl_engine_leave(pawl);
    return code;
}

int pawl_execution_fd(const struct pawl_execution *execution)
{
    return execution == NULL ? -1 : execution->held.fd;
}

bool pawl_execution_has_stopped(struct pawl_execution *execution)
{
    if (execution == NULL) return true; /* nobody has anything of it */
    pawl_held_let_go(&execution->held);
    return pawl_held_find(&execution->held) == PAWL_FINDING_STOPPED;
}

void pawl_execution_close(struct pawl_execution *execution)
{
    if (execution == NULL) return;
    pawl_held_close(&execution->held);
    free(execution);
}
