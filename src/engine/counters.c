#include "engine/counters.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "engine/transaction.h"

static const int64_t bounds[] = PAWL_SPREAD_BOUNDS;
_Static_assert(PAWL_COUNT_OF(bounds) == PAWL_SPREAD_BUCKETS - 1, "and one bucket for what is beyond");

/* Counters only: nothing else is read by what they say. */
static void add(_Atomic int64_t *counter, int64_t more)
{
    if (more != 0) atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

static int64_t look(const _Atomic int64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* ---- Counting ---- */

void pawl_counting_spread_add(struct pawl_counting_spread *spread, int64_t value)
{
    size_t bucket = 0;
    while (bucket < PAWL_COUNT_OF(bounds) && value > bounds[bucket]) bucket++;
    add(&spread->buckets[bucket], 1);
    add(&spread->sum, value);
}

static int64_t renewed_by(const struct pawl_command *command)
{
    int64_t renewed = 0;
    bool renews = command->kind == PAWL_COMMAND_RENEW && command->code == PAWL_OK &&
                  !command->ask.renew.only_looks;
    for (size_t i = 0; renews && i < command->ask.renew.count; i++) {
        renewed += command->out.renewals[i].code == PAWL_OK;
    }
    return renewed;
}

static void count_event(struct pawl_counting *counting, const struct pawl_event_new *event)
{
    enum pawl_event_type type = event->row.type;
    bool is_end = type == PAWL_EVENT_COMPLETED || type == PAWL_EVENT_RETRY_SCHEDULED ||
                  type == PAWL_EVENT_DEAD_LETTERED;
    add(&counting->events[type], 1);
    if (event->waited_ms >= 0) pawl_counting_spread_add(&counting->wait_ms, event->waited_ms);
    if (is_end) pawl_counting_spread_add(&counting->run_ms, event->row.duration_ms);
}

static void count_notices(struct pawl_counting *counting, const struct pawl_append *notices)
{
    for (size_t i = 0; i < notices->count; i++) {
        const struct pawl_notice *notice = ((struct pawl_notice *const *)notices->items)[i];
        if (notice->kind == PAWL_NOTICE_WORKFLOW_STARTED) add(&counting->workflows_started, 1);
        if (notice->kind == PAWL_NOTICE_WORKFLOW_ENDED) add(&counting->workflows_ended[notice->first], 1);
    }
}

void pawl_counting_step(struct pawl_counting *counting, const struct pawl_transaction *t)
{
    const struct pawl_append *events = &t->step.set.appends[PAWL_APPEND_EVENT];
    for (size_t i = 0; i < events->count; i++) count_event(counting, ((struct pawl_event_new *const *)events->items)[i]);
    for (const struct pawl_request *r = t->done.first; r != NULL; r = r->next) {
        add(&counting->renewals, renewed_by(&r->command));
    }
    for (const struct pawl_request *r = t->continued.first; r != NULL; r = r->next) {
        bool was_due = r->command.kind == PAWL_COMMAND_DUE && r->command.code == PAWL_OK && r->command.late_ms >= 0;
        if (was_due) pawl_counting_spread_add(&counting->late_ms, r->command.late_ms);
    }
    count_notices(counting, &t->step.set.appends[PAWL_APPEND_NOTICE]);
    add(&counting->late_results, (int64_t)t->late_results);
    pawl_counting_spread_add(&counting->commands, (int64_t)t->done.count);
    pawl_counting_spread_add(&counting->step_ms, t->took_ms);
    pawl_counting_spread_add(&counting->commit_ms, t->commit_ms);
}

/* ---- The public call ---- */

static struct pawl_spread spread_of(const struct pawl_counting_spread *spread)
{
    struct pawl_spread out = {.sum = look(&spread->sum)};
    for (size_t i = 0; i < PAWL_SPREAD_BUCKETS; i++) {
        out.count += look(&spread->buckets[i]);
        out.buckets[i] = out.count;
    }
    return out;
}

static const struct pawl_counted *events_of(const struct pawl_counting *counting, struct pawl_arena *keep,
                                            size_t *count)
{
    struct pawl_counted *out = pawl_arena_take(keep, PAWL_EVENT_TYPE_SLOTS * sizeof *out);
    if (out == NULL) return NULL;
    *count = 0;
    for (int type = PAWL_EVENT_NONE + 1; type < PAWL_EVENT_TYPE_SLOTS; type++) {
        struct pawl_str name = pawl_event_type_text((enum pawl_event_type)type);
        struct pawl_str action = pawl_event_action_text((enum pawl_event_type)type);
        size_t at = 0;
        while (at < *count && !(pawl_str_equal(out[at].name, name) && pawl_str_equal(out[at].action, action))) at++;
        if (at == *count) out[(*count)++] = (struct pawl_counted){.name = name, .action = action};
        out[at].count += look(&counting->events[type]);
    }
    return out;
}

static const struct pawl_counted *ended_of(const struct pawl_counting *counting, struct pawl_arena *keep,
                                           size_t *count)
{
    struct pawl_counted *out = pawl_arena_take(keep, PAWL_WORKFLOW_STATE_COUNT * sizeof *out);
    if (out == NULL) return NULL;
    *count = 0;
    for (int state = 0; state < PAWL_WORKFLOW_STATE_COUNT; state++) {
        if (!pawl_workflow_state_is_terminal((enum pawl_workflow_state)state)) continue;
        out[(*count)++] = (struct pawl_counted){
            .name = pawl_str_of(pawl_workflow_state_name((enum pawl_workflow_state)state)),
            .count = look(&counting->workflows_ended[state])};
    }
    return out;
}

enum pawl_code pawl_counters(struct pawl *pawl, struct pawl_arena *keep, struct pawl_counters *out,
                             struct pawl_error *err)
{
    if (pawl == NULL || keep == NULL || out == NULL)
        return pawl_error_set(err, PAWL_MISUSE, "a handle, an arena and a place for the answer are needed");
    const struct pawl_counting *counting = &pawl->counting;
    *out = (struct pawl_counters){
        .failed_steps = look(&counting->failed_steps),
        .races = look(&counting->races),
        .renewals = look(&counting->renewals),
        .late_results = look(&counting->late_results),
        .workflows_started = look(&counting->workflows_started),
        .step_commands = spread_of(&counting->commands),
        .step_ms = spread_of(&counting->step_ms),
        .commit_ms = spread_of(&counting->commit_ms),
        .late_ms = spread_of(&counting->late_ms),
        .wait_ms = spread_of(&counting->wait_ms),
        .run_ms = spread_of(&counting->run_ms),
    };
    out->events = events_of(counting, keep, &out->event_count);
    out->workflows_ended = ended_of(counting, keep, &out->workflows_ended_count);
    if (out->events == NULL || out->workflows_ended == NULL)
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the answer");
    return PAWL_OK;
}
