#include "core/task/task.h"

#include "base/assert.h"
#include "core/limits.h"

int64_t pawl_rank_make(int32_t priority, int64_t ready_at_ms)
{
    pawl_assert(priority >= 0 && priority <= PAWL_PRIORITY_MAX);
    if (ready_at_ms < 0) ready_at_ms = 0;
    if (ready_at_ms > PAWL_INSTANT_MS_MAX) ready_at_ms = PAWL_INSTANT_MS_MAX;
    return (((int64_t)(PAWL_PRIORITY_MAX - priority)) << PAWL_RANK_TIME_BITS) | ready_at_ms;
}

int64_t pawl_rank_ready_at_ms(int64_t rank)
{
    return rank & PAWL_RANK_TIME_MASK;
}

void pawl_task_move(struct pawl_task_row *task, enum pawl_task_state to, enum pawl_mover by)
{
    pawl_assert(pawl_task_move_is_listed(task->state, to, by));
    task->state = to;
}

int32_t pawl_count_next(int32_t count)
{
    return count < PAWL_COUNT_MAX ? count + 1 : count;
}

const char *pawl_task_row_fault(const struct pawl_task_row *task)
{
    bool runs = task->state == PAWL_TASK_RUNNING;
    if (task->key <= 0) return "key is not positive";
    if (task->id.len == 0) return "id is empty";
    if (task->priority < 0 || task->priority > PAWL_PRIORITY_MAX) return "priority is out of range";
    if (task->version < 1 || task->version > PAWL_NUMBER_MAX) return "version is out of range";
    if (task->epoch < 0 || task->epoch > PAWL_NUMBER_MAX) return "epoch is out of range";
    if (runs != (task->lease_end_at_ms != 0)) return "a lease end is for RUNNING alone";
    if (runs && (task->owner == 0 || task->epoch == 0 || task->lease_kind == PAWL_LEASE_NONE)) {
        return "RUNNING without an owner, an epoch or a kind of lease";
    }
    if (runs && task->due_at_ms == 0) return "RUNNING but never due";
    if (task->owner != 0 && !runs && task->state != PAWL_TASK_RECOVERY_PENDING) {
        return "an owner outside RUNNING and RECOVERY_PENDING";
    }
    if (task->rank != PAWL_RANK_NONE && task->state != PAWL_TASK_QUEUED) return "a rank outside QUEUED";
    if (task->rank != PAWL_RANK_NONE && task->open_dependencies > 0) {
        return "a rank with open dependencies";
    }
    if (task->gate != 0 && !runs && task->state != PAWL_TASK_RECOVERY_PENDING) {
        return "a gate outside RUNNING and RECOVERY_PENDING";
    }
    if (task->open_dependencies < 0) return "open dependencies are negative";
    if (task->ready_at_ms != 0 && task->state != PAWL_TASK_QUEUED && task->state != PAWL_TASK_PENDING) {
        return "a deferral outside QUEUED and PENDING";
    }
    if (task->run_at_ms != 0 && (task->ready_at_ms == 0 || task->rank != PAWL_RANK_NONE)) {
        return "a calendar time that is not waited for";
    }
    if ((task->finished_at_ms != 0) != pawl_task_state_is_terminal(task->state)) {
        return "a finish time is for terminal states alone";
    }
    if (task->state == PAWL_TASK_COMPLETED && !(task->progress >= 100.0)) {
        return "COMPLETED below 100 percent";
    }
    if (!(task->progress >= 0.0 && task->progress <= 100.0)) return "progress is out of range";
    if (task->control != PAWL_CONTROL_NONE && !runs && task->state != PAWL_TASK_RECOVERY_PENDING) {
        return "a control request outside RUNNING and RECOVERY_PENDING";
    }
    if (task->sequence < 1 || task->sequence > PAWL_NUMBER_MAX) return "sequence is out of range";
    if (task->retry.delay_ms < 0 || task->retry.delay_ms > PAWL_DELAY_MS_MAX || task->retry.delay_ms_max < 0 ||
        task->retry.delay_ms_max > PAWL_DELAY_MS_MAX || task->retry.jitter_ms < 0 ||
        task->retry.jitter_ms > PAWL_DELAY_MS_MAX) {
        return "a delay of its retries is out of range";
    }
    return NULL;
}
