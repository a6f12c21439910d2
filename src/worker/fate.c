#include "worker/fate.h"

#include "base/str.h"

/* A claim raises the epoch, and so does every end of a lease that its holder has not asked for. So
 * what tells of another state under the fence's own epoch was done by whoever has the fence. */
static bool is_own_end(const struct pawl_event *event, int64_t epoch)
{
    return event->epoch == epoch && event->state != PAWL_TASK_RUNNING &&
           event->state !=
               PAWL_TASK_RECOVERY_PENDING; /* the lease's end, before the epoch is raised */
}

static bool is_time_out(const struct pawl_event *event, int64_t epoch)
{
    return event->epoch == epoch + 1 && pawl_str_equal(event->cause, PAWL_STR("timed_out"));
}

/* From the history: that of the task goes on meanwhile, under later epochs. */
static enum pawl_fate how_it_came(struct pawl *pawl, const struct pawl_fence *fence,
                                  struct pawl_arena *arena)
{
    for (int64_t after = 0;;) {
        struct pawl_events page;
        enum pawl_code code =
            pawl_task_history(pawl, fence->task_id, after, PAWL_BATCH_MAX, arena, &page, NULL);
        if (code != PAWL_OK || page.count == 0) return PAWL_FATE_LOST;
        for (size_t i = 0; i < page.count; i++) {
            if (is_own_end(&page.events[i], fence->epoch)) return PAWL_FATE_BY_ITSELF;
            if (is_time_out(&page.events[i], fence->epoch)) return PAWL_FATE_TIMED_OUT;
        }
        after = page.events[page.count - 1].sequence;
    }
}

struct pawl_fate_look pawl_fate_of(struct pawl *pawl, const struct pawl_fence *fence,
                                   struct pawl_arena *arena)
{
    struct pawl_fate_look look = {.fate = PAWL_FATE_OURS};
    enum pawl_code code = pawl_task_get(pawl, fence->task_id, false, arena, &look.task, NULL);
    look.is_known = code == PAWL_OK;
    if (!look.is_known) return look;
    bool is_epoch = look.task.epoch == fence->epoch;
    if (is_epoch && look.task.state == PAWL_TASK_RUNNING) return look;
    look.fate = how_it_came(pawl, fence, arena);
    return look;
}
