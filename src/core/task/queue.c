#include "core/task/queue.h"

#include "base/str.h"
#include "core/task/rule.h"

static const struct pawl_str none = {0};
static const struct pawl_str fallback = PAWL_STR_INIT("default");

struct pawl_str pawl_queue_name(struct pawl_str given)
{
    return given.len == 0 ? fallback : given;
}

const struct pawl_str *pawl_claim_queues(const struct pawl_claim *ask, size_t *count)
{
    *count = ask->queue_count == 0 ? 1 : ask->queue_count;
    return ask->queue_count == 0 ? &fallback : ask->queues;
}

int64_t pawl_queue_key(struct pawl_step *step, struct pawl_str name)
{
    return pawl_set_key(&step->set, PAWL_LOOK_QUEUE_NAME, name);
}

struct pawl_queue_row *pawl_queue_by_key(struct pawl_step *step, int64_t key)
{
    struct pawl_entry *entry = pawl_set_look(&step->set, PAWL_LOOK_QUEUE, key, none, 0, 0);
    return entry == NULL || !entry->is_loaded ? NULL : entry->row;
}

struct pawl_entry *pawl_queue_need(struct pawl_step *step, struct pawl_str name)
{
    int64_t key = pawl_queue_key(step, name);
    if (step->set.is_short || step->set.is_full) return NULL;
    if (key == 0) {
        struct pawl_queue_row *queue = pawl_step_take(step, sizeof *queue);
        if (queue == NULL) return NULL;
        key = pawl_step_key(step);
        *queue = (struct pawl_queue_row){.key = key, .name = name};
        pawl_set_put(&step->set, PAWL_LOOK_QUEUE, key, none, 0, queue);
        pawl_set_know_key(&step->set, PAWL_LOOK_QUEUE_NAME, name, key);
    }
    struct pawl_entry *entry = pawl_set_look(&step->set, PAWL_LOOK_QUEUE, key, none, 0, 0);
    return entry == NULL || !entry->is_loaded || entry->row == NULL ? NULL : entry;
}

enum pawl_code pawl_rule_queue_set(struct pawl_step *step, struct pawl_command *command)
{
    const struct pawl_queue_set *ask = command->ask.queue_set;
    struct pawl_entry *entry = pawl_queue_need(step, ask->name);
    if (entry == NULL) return PAWL_BUSY;
    struct pawl_queue_row *queue = pawl_set_change(&step->set, entry);
    if (ask->pause != 0) queue->is_paused = ask->pause == 1;
    if (ask->set_lease) queue->lease_ms = ask->lease_ms;
    if (ask->set_retry) queue->retry = ask->retry;
    if (!queue->is_paused) pawl_step_offer(step, queue->key, true);
    return PAWL_OK;
}
