/* Starts in a window are counted exactly while the limit is at most PAWL_GATE_STARTS_MAX; beyond that those of one part
 * of the window are kept as one, which counts until its newest is out: never too many are let through, and a place may
 * come back late by that part. */
#include "core/task/gate.h"

#include "base/assert.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/task/rule.h"
#include "core/workflow/registry.h"

#include <string.h>

static const struct pawl_str none = {0};

struct pawl_str pawl_gate_name(struct pawl_str queue)
{
    size_t at = queue.len; /* the name of a definition has no colon */
    while (at > 0 && queue.ptr[at - 1] != ':') at--;
    return (struct pawl_str){queue.ptr + at, queue.len - at};
}

struct limits {
    int64_t concurrent_max; /* 0 = none */
    int64_t rate_max;       /* 0 = none */
    int64_t window_ms;
};

static struct limits limits_of(struct pawl_step *step, struct pawl_str name)
{
    const struct pawl_task_definition *definition = pawl_registered_task(step, name);
    struct limits limits = {0};
    if (definition == NULL) return limits;
    if (definition->concurrent_max > 0) limits.concurrent_max = definition->concurrent_max;
    limits.window_ms = pawl_defined_ms(definition->rate_window_s);
    if (definition->rate_max > 0 && limits.window_ms > 0) limits.rate_max = definition->rate_max;
    return limits;
}

/* The gate of a definition; NULL if it has none yet, or the set is short. */
static struct pawl_entry *find(struct pawl_step *step, struct pawl_str name)
{
    int64_t key = pawl_set_key(&step->set, PAWL_LOOK_GATE_NAME, name);
    if (key == 0) return NULL;
    struct pawl_entry *entry = pawl_set_look(&step->set, PAWL_LOOK_GATE, key, none, 0, 0);
    return entry == NULL || !entry->is_loaded || entry->row == NULL ? NULL : entry;
}

static struct pawl_entry *need(struct pawl_step *step, struct pawl_str name)
{
    struct pawl_entry *entry = find(step, name);
    if (entry != NULL || step->set.is_short) return entry;
    struct pawl_gate_row *gate = pawl_step_take(step, sizeof *gate);
    if (gate == NULL) return NULL;
    *gate = (struct pawl_gate_row){.key = pawl_step_key(step), .name = name};
    pawl_set_put(&step->set, PAWL_LOOK_GATE, gate->key, none, 0, gate);
    pawl_set_know_key(&step->set, PAWL_LOOK_GATE_NAME, name, gate->key);
    return find(step, name);
}

/* ---- The window ---- */

static size_t start_count(const struct pawl_gate_row *gate)
{
    return gate->starts.len / sizeof(struct pawl_gate_start);
}

static struct pawl_gate_start start_at(const struct pawl_gate_row *gate, size_t i)
{
    struct pawl_gate_start start;
    memcpy(&start, gate->starts.ptr + i * sizeof start, sizeof start);
    return start;
}

/* How many are left of the window, and when it is one more. */
static int64_t window_room(const struct pawl_step *step, const struct limits *limits,
                           const struct pawl_gate_row *gate, int64_t *opens_at_ms)
{
    int64_t began_ms = step->now_ms - limits->window_ms;
    int64_t inside = 0;
    size_t count = gate == NULL ? 0 : start_count(gate);
    for (size_t i = 0; i < count; i++) {
        struct pawl_gate_start start = start_at(gate, i);
        if (start.at_ms > began_ms) inside += start.count;
    }
    int64_t left = limits->rate_max - inside;
    for (size_t i = 0; i < count && left <= 0; i++) {
        struct pawl_gate_start start = start_at(gate, i);
        if (start.at_ms <= began_ms) continue;
        *opens_at_ms = start.at_ms + limits->window_ms;
        inside -= start.count;
        if (inside < limits->rate_max) break;
    }
    return left > 0 ? left : 0;
}

/* What is out of the window is forgotten, and one that begins now is added. */
static void add_start(struct pawl_step *step, const struct limits *limits, struct pawl_gate_row *gate)
{
    int64_t began_ms = step->now_ms - limits->window_ms;
    int64_t part_ms = limits->rate_max <= PAWL_GATE_STARTS_MAX ? 1 : limits->window_ms / PAWL_GATE_STARTS_MAX + 1;
    size_t before = start_count(gate);
    struct pawl_gate_start *starts = pawl_step_take(step, (before + 1) * sizeof *starts);
    size_t count = 0;
    if (starts == NULL) return;
    for (size_t i = 0; i < before; i++) {
        struct pawl_gate_start start = start_at(gate, i);
        if (start.at_ms > began_ms) starts[count++] = start;
    }
    struct pawl_gate_start *last = count == 0 ? NULL : &starts[count - 1];
    bool is_full = count >= 2 * PAWL_GATE_STARTS_MAX; /* under limits that were others */
    if (last == NULL || (!is_full && last->at_ms / part_ms != step->now_ms / part_ms)) {
        last = &starts[count++];
    }
    last->at_ms = step->now_ms;
    last->count++;
    gate->starts = (struct pawl_str){(const char *)starts, count * sizeof *starts};
}

/* ---- In and out ---- */

void pawl_gate_look(struct pawl_step *step, struct pawl_str name, struct pawl_gate_room *out)
{
    *out = (struct pawl_gate_room){.name = name, .count = INT64_MAX};
    struct limits limits = limits_of(step, name);
    if (limits.concurrent_max == 0 && limits.rate_max == 0) return;
    const struct pawl_entry *entry = find(step, name);
    const struct pawl_gate_row *gate = entry == NULL ? NULL : entry->row;
    if (limits.rate_max > 0) out->count = window_room(step, &limits, gate, &out->opens_at_ms);
    if (limits.concurrent_max == 0) return;
    int64_t free = limits.concurrent_max - (gate == NULL ? 0 : gate->held);
    if (free <= 0) out->opens_at_ms = 0; /* who leaves wakes those who wait, and they look at the window then */
    if (free < out->count) out->count = free > 0 ? free : 0;
}

void pawl_gate_pass(struct pawl_step *step, struct pawl_str name, struct pawl_task_row *task)
{
    struct limits limits = limits_of(step, name);
    pawl_assert(task->gate == 0);
    if (limits.concurrent_max == 0 && limits.rate_max == 0) return;
    struct pawl_entry *entry = need(step, name);
    if (entry == NULL) return;
    struct pawl_gate_row *gate = pawl_set_change(&step->set, entry);
    if (limits.rate_max > 0) add_start(step, &limits, gate);
    if (limits.concurrent_max == 0) return;
    gate->held++;
    task->gate = gate->key;
}

void pawl_gate_leave(struct pawl_step *step, struct pawl_task_row *task)
{
    if (task->gate == 0) return;
    struct pawl_entry *entry = pawl_set_look(&step->set, PAWL_LOOK_GATE, task->gate, none, 0, 0);
    if (entry == NULL || !entry->is_loaded) return;
    task->gate = 0;
    if (entry->row == NULL) return; /* fsck tells of it */
    struct pawl_gate_row *gate = pawl_set_change(&step->set, entry);
    if (gate->held > 0) gate->held--;
    pawl_step_offer_gate(step, gate->name, false);
}
