/* What is in hand, and whether it is to stop. Threads: whoever holds the supervisor's mutex. */
#include "base/assert.h"
#include "supervisor/clock.h"
#include "supervisor/supervisor.h"

#include <string.h>

const char *pawl_stop_reason_name(enum pawl_stop_reason reason)
{
    switch (reason) {
    case PAWL_STOP_NONE:
        return "none";
    case PAWL_STOP_DRAINING:
        return "draining";
    case PAWL_STOP_PAUSED:
        return "paused";
    case PAWL_STOP_CANCELLED:
        return "cancelled";
    case PAWL_STOP_NO_PROGRESS:
        return "no_progress";
    case PAWL_STOP_TIMED_OUT:
        return "timed_out";
    case PAWL_STOP_LOST:
        return "lost";
    }
    return "unknown";
}

struct pawl_fence pawl_item_fence(const struct pawl_supervisor *supervisor,
                                  const struct pawl_item *item)
{
    return (struct pawl_fence){.task_id = {item->task_id, item->task_id_len},
                               .owner = supervisor->worker_id,
                               .epoch = item->epoch};
}

struct pawl_item *pawl_item_find(struct pawl_supervisor *supervisor, int64_t token)
{
    int64_t number = token & ((1 << PAWL_TOKEN_NUMBER_BITS) - 1);
    if (token < 0 || number >= supervisor->item_top) return NULL;
    struct pawl_item *item = &supervisor->items[number];
    return item->is_used && item->token == token ? item : NULL;
}

static int32_t take_number(struct pawl_supervisor *supervisor)
{
    if (supervisor->free_count > 0) return supervisor->free_numbers[--supervisor->free_count];
    pawl_assert(supervisor->item_top < supervisor->item_room);
    return supervisor->item_top++;
}

bool pawl_item_reserve(struct pawl_supervisor *supervisor)
{
    int32_t taken = supervisor->in_hand_count + supervisor->asked_count;
    bool is_full = supervisor->alone_count >= PAWL_RUN_ONE_MAX || taken >= supervisor->item_room;
    if (is_full) return false;
    supervisor->in_hand_count++;
    supervisor->alone_count++;
    return true;
}

void pawl_item_unreserve(struct pawl_supervisor *supervisor)
{
    supervisor->in_hand_count--;
    supervisor->alone_count--;
    (void)pthread_cond_broadcast(&supervisor->changed);
}

void pawl_item_take(struct pawl_supervisor *supervisor, struct pawl_work *work,
                    const struct pawl_grant *grant, int64_t asked_boot_ms, bool has_slot)
{
    pawl_assert(grant->fence.task_id.len <= PAWL_TASK_ID_STORED_BYTES_MAX);
    int32_t number = take_number(supervisor);
    struct pawl_item *item = &supervisor->items[number];
    bool has_timeout = grant->timeout_ms > 0;
    *item = (struct pawl_item){
        .is_used = true,
        .has_slot = has_slot,
        .work = work,
        .token = ++supervisor->serial << PAWL_TOKEN_NUMBER_BITS | number,
        .reason = supervisor->is_stopping ? PAWL_STOP_DRAINING : PAWL_STOP_NONE,
        .task_id_len = grant->fence.task_id.len,
        .epoch = grant->fence.epoch,
        .asked_boot_ms = asked_boot_ms,
        .timeout_at_boot_ms = has_timeout ? asked_boot_ms + grant->timeout_ms : INT64_MAX,
        .grace_at_boot_ms = INT64_MAX,
    };
    memcpy(item->task_id, grant->fence.task_id.ptr, grant->fence.task_id.len);
    if (has_slot) { /* the others have been counted since their call began */
        supervisor->in_hand_count++;
        supervisor->slot_count++;
    }
    work->number = number;
    work->token = item->token;
    work->grant.fence = pawl_item_fence(supervisor, item);
    atomic_store(&work->reason, (int)item->reason);
    atomic_store(&work->progress_boot_ms, pawl_clock_boot_ms());
    pawl_keeper_hold(supervisor->keeper, number, &work->grant.fence, grant->lease_ms, asked_boot_ms,
                     item->timeout_at_boot_ms);
    pawl_heap_set(&supervisor->looks, number, asked_boot_ms); /* it tells when to look next */
}

void pawl_item_drop(struct pawl_supervisor *supervisor, int32_t number)
{
    struct pawl_item *item = &supervisor->items[number];
    pawl_assert(item->is_used);
    supervisor->in_hand_count--;
    supervisor->uncontained_count -= item->is_uncontained ? 1 : 0;
    if (item->work == NULL) {
        supervisor->detached_count--;
    } else {
        supervisor->slot_count -= item->has_slot ? 1 : 0;
        supervisor->alone_count -= item->has_slot ? 0 : 1;
    }
    item->is_used = false;
    supervisor->free_numbers[supervisor->free_count++] = number;
    pawl_keeper_drop(supervisor->keeper, number);
    pawl_heap_set(&supervisor->looks, number, INT64_MAX);
    (void)pthread_cond_broadcast(&supervisor->changed);
}

void pawl_item_detach(struct pawl_supervisor *supervisor, int32_t number)
{
    struct pawl_item *item = &supervisor->items[number];
    pawl_assert(item->work != NULL);
    supervisor->uncontained_count -= item->is_uncontained ? 1 : 0;
    supervisor->slot_count -= item->has_slot ? 1 : 0;
    supervisor->alone_count -= item->has_slot ? 0 : 1;
    supervisor->detached_count++;
    item->is_uncontained = false;
    item->is_telling = false;
    item->work = NULL;
    item->grace_at_boot_ms = INT64_MAX;
    pawl_heap_set(&supervisor->looks, number, 0);
    (void)pthread_cond_broadcast(&supervisor->changed);
}

/* ---- Looking --------------------------------------------------------------------------------- */

static int64_t progress_end(const struct pawl_supervisor *supervisor, const struct pawl_item *item)
{
    int64_t progress_ms = supervisor->options.progress_ms;
    if (progress_ms == 0 || item->work == NULL) return INT64_MAX;
    return atomic_load(&item->work->progress_boot_ms) + progress_ms;
}

static enum pawl_stop_reason reason_of(const struct pawl_supervisor *supervisor,
                                       const struct pawl_item *item, const struct pawl_kept *kept,
                                       int64_t now_boot_ms)
{
    /* First: from then on a renewal finds the lease lost for that very reason. */
    if (now_boot_ms >= item->timeout_at_boot_ms) return PAWL_STOP_TIMED_OUT;
    if (kept->is_lost) return PAWL_STOP_LOST;
    if (now_boot_ms >= kept->stop_at_boot_ms) {
        return kept->is_cut ? PAWL_STOP_TIMED_OUT : PAWL_STOP_LOST;
    }
    if (now_boot_ms >= progress_end(supervisor, item)) return PAWL_STOP_NO_PROGRESS;
    if (kept->control == PAWL_CONTROL_CANCEL) return PAWL_STOP_CANCELLED;
    if (kept->control == PAWL_CONTROL_PAUSE) return PAWL_STOP_PAUSED;
    return supervisor->is_draining ? PAWL_STOP_DRAINING : PAWL_STOP_NONE;
}

/* An operator's wish may take its time; nothing else may. */
static bool has_grace(const struct pawl_supervisor *supervisor, enum pawl_stop_reason reason)
{
    bool is_wish = reason == PAWL_STOP_PAUSED || reason == PAWL_STOP_CANCELLED;
    return reason != PAWL_STOP_NONE && (!is_wish || supervisor->is_draining);
}

static void tell_reason(struct pawl_supervisor *supervisor, struct pawl_item *item,
                        enum pawl_stop_reason reason)
{
    struct pawl_work *work = item->work;
    item->reason = reason;
    if (reason == PAWL_STOP_LOST) {
        pawl_keeper_lose(supervisor->keeper, (int32_t)(item - supervisor->items));
    }
    if (work == NULL) return;
    atomic_store(&work->reason, (int)reason);
    if (work->stop_fd >= 0) pawl_fd_ring(work->stop_fd);
}

static void fill_told(struct pawl_told *told, const struct pawl_item *item, bool is_uncontained)
{
    *told = (struct pawl_told){.token = item->token,
                               .reason = item->reason,
                               .is_uncontained = is_uncontained,
                               .task_id_len = item->task_id_len,
                               .epoch = item->epoch};
    memcpy(told->task_id, item->task_id, item->task_id_len);
}

size_t pawl_item_look(struct pawl_supervisor *supervisor, int32_t number, int64_t now_boot_ms,
                      struct pawl_told told[2])
{
    struct pawl_item *item = &supervisor->items[number];
    size_t count = 0;
    pawl_heap_set(&supervisor->looks, number, INT64_MAX);
    if (!item->is_used || item->is_telling) return 0; /* whoever tells looks for himself */
    struct pawl_kept kept = pawl_keeper_look(supervisor->keeper, number);
    enum pawl_stop_reason reason = reason_of(supervisor, item, &kept, now_boot_ms);
    /* After a time-out the lease goes too, which is no news. */
    if (reason > item->reason && item->reason != PAWL_STOP_TIMED_OUT) {
        tell_reason(supervisor, item, reason);
        fill_told(&told[count++], item, false);
    }
    bool is_over = item->reason == PAWL_STOP_LOST || item->reason == PAWL_STOP_TIMED_OUT;
    if (item->work == NULL && is_over) { /* nothing of it runs here */
        pawl_item_drop(supervisor, number);
        return count;
    }
    if (item->grace_at_boot_ms == INT64_MAX && has_grace(supervisor, item->reason)) {
        item->grace_at_boot_ms = now_boot_ms + supervisor->options.grace_ms;
    }
    bool is_late = item->work != NULL && now_boot_ms >= item->grace_at_boot_ms;
    if (is_late && !item->is_uncontained) {
        item->is_uncontained = true;
        supervisor->uncontained_count++;
        (void)pthread_cond_broadcast(&supervisor->changed);
        /* What hangs is not kept for ever: its lease ends, and people see it. */
        if (item->reason == PAWL_STOP_NO_PROGRESS) pawl_keeper_lose(supervisor->keeper, number);
        fill_told(&told[count++], item, true);
    }
    int64_t next = item->is_uncontained ? INT64_MAX : item->grace_at_boot_ms;
    if (item->reason != PAWL_STOP_LOST) {
        next = pawl_earlier(next, kept.stop_at_boot_ms);
        if (item->reason < PAWL_STOP_TIMED_OUT) next = pawl_earlier(next, item->timeout_at_boot_ms);
        if (item->reason < PAWL_STOP_NO_PROGRESS) {
            next = pawl_earlier(next, progress_end(supervisor, item));
        }
    }
    if (next <= now_boot_ms && next != INT64_MAX) next = now_boot_ms + 1;
    pawl_heap_set(&supervisor->looks, number, next);
    return count;
}
