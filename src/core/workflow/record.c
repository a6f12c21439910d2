/* Records: made, ended, given back. The state of a task of a workflow follows from its record's
 * status; a claim alone moves it by itself (SCHEDULED stays what the record says while a worker
 * holds the task). */
#include "core/workflow/decision.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "core/limits.h"
#include "core/task/queue.h"
#include "core/workflow/registry.h"

static const struct pawl_str none = {0};

static const enum pawl_task_state states[PAWL_RECORD_STATUS_COUNT] = {
    [PAWL_RECORD_SCHEDULED] = PAWL_TASK_QUEUED,
    [PAWL_RECORD_IN_PROGRESS] = PAWL_TASK_PENDING, /* it waits, and nobody can claim it */
    [PAWL_RECORD_COMPLETED] = PAWL_TASK_COMPLETED,
    [PAWL_RECORD_COMPLETED_WITH_ERRORS] = PAWL_TASK_COMPLETED,
    [PAWL_RECORD_FAILED] = PAWL_TASK_FAILED,
    [PAWL_RECORD_FAILED_WITH_TERMINAL_ERROR] = PAWL_TASK_FAILED,
    [PAWL_RECORD_TIMED_OUT] = PAWL_TASK_FAILED,
    [PAWL_RECORD_CANCELED] = PAWL_TASK_CANCELLED,
    [PAWL_RECORD_SKIPPED] = PAWL_TASK_COMPLETED,
};

struct pawl_str pawl_record_mint(struct pawl_step *step)
{
    char *text = pawl_step_take(step, PAWL_UUID_BYTES_MAX + 1);
    if (text == NULL) return none;
    uint64_t high = pawl_step_random(step);
    pawl_uuid_make(step->now_ms, high, pawl_step_random(step), text);
    return (struct pawl_str){text, PAWL_UUID_BYTES_MAX};
}

/* ---- Finding ---- */

static struct pawl_entry *loaded(struct pawl_entry *entry)
{
    return entry == NULL || !entry->is_loaded || entry->row == NULL ? NULL : entry;
}

struct pawl_entry *pawl_record_find(struct pawl_step *step, int64_t task)
{
    return loaded(pawl_set_look(&step->set, PAWL_LOOK_RECORD, task, none, 0, 0));
}

struct pawl_entry *pawl_record_latest(struct pawl_decision *d, struct pawl_str reference)
{
    const struct pawl_entry *named =
        pawl_set_look(&d->step->set, PAWL_LOOK_RECORD_LATEST, d->workflow->run, reference, 0, 0);
    if (named == NULL || !named->is_loaded || named->row == NULL) return NULL;
    return pawl_record_find(d->step, *(const int64_t *)named->row);
}

struct pawl_entry *pawl_record_task(struct pawl_step *step, const struct pawl_record_row *record)
{
    return loaded(pawl_set_task(&step->set, record->task));
}

enum pawl_record_status pawl_record_status_now(const struct pawl_record_row *record,
                                               const struct pawl_task_row *task)
{
    bool is_held = record->status == PAWL_RECORD_SCHEDULED && task->state == PAWL_TASK_RUNNING;
    return is_held ? PAWL_RECORD_IN_PROGRESS : record->status;
}

struct pawl_str pawl_record_type(const struct pawl_node *node, struct pawl_str queue,
                                 struct pawl_str domain)
{
    if (node->type == PAWL_NODE_FORK_JOIN || node->type == PAWL_NODE_FORK_JOIN_DYNAMIC)
        return PAWL_STR("FORK");
    if (!pawl_node_type_is_polled(node->type)) return node->type_name;
    if (domain.len == 0 || queue.len <= domain.len) return queue;
    return (struct pawl_str){queue.ptr + domain.len + 1, queue.len - domain.len - 1};
}

static bool is_one_of(enum pawl_records which, const struct pawl_record_row *record)
{
    bool is_terminal = pawl_record_status_is_terminal(record->status);
    switch (which) {
    case PAWL_RECORDS_OPEN:
        return !is_terminal;
    case PAWL_RECORDS_UNDECIDED:
        return is_terminal && !record->is_decided;
    case PAWL_RECORDS_BAD:
        return pawl_record_status_is_bad(record->status) && !record->is_superseded;
    case PAWL_RECORDS_ALL:
        return true;
    }
    return false;
}

static bool has_key(const struct pawl_rows *rows, int64_t key)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (((const int64_t *)rows->rows)[i] == key) return true;
    }
    return false;
}

/* What the store has is as of the step's begin, or of its first half: so each is looked at as it is
 * now, and beside it what this step has made, ended or opened again. */
const struct pawl_rows *pawl_records_list(struct pawl_decision *d, enum pawl_records which,
                                          int64_t after)
{
    static const enum pawl_look looks[] = {
        [PAWL_RECORDS_OPEN] = PAWL_LOOK_RECORDS_OPEN,
        [PAWL_RECORDS_UNDECIDED] = PAWL_LOOK_RECORDS_UNDECIDED,
        [PAWL_RECORDS_BAD] = PAWL_LOOK_RECORDS_BAD,
        [PAWL_RECORDS_ALL] = PAWL_LOOK_RECORDS,
    };
    int32_t limit = which == PAWL_RECORDS_ALL ? PAWL_RERUN_RECORDS_MAX : PAWL_SLICE_ROWS_MAX;
    struct pawl_step *step = d->step;
    struct pawl_entry *list =
        pawl_set_look(&step->set, looks[which], d->workflow->run, none, after, limit);
    if (list == NULL || !list->is_loaded) return NULL;
    const struct pawl_rows *stored = list->row;
    const struct pawl_append *touched =
        pawl_set_known(&step->set, PAWL_LOOK_RECORDS_TOUCHED, d->workflow->run, none);
    size_t touched_count = touched == NULL ? 0 : touched->count;
    struct pawl_rows *all = pawl_step_take(step, sizeof *all);
    int64_t *keys = pawl_step_take(step, (stored->count + touched_count + 1) * sizeof *keys);
    if (all == NULL || keys == NULL) return NULL;
    *all = (struct pawl_rows){.rows = keys, .is_cut = stored->is_cut, .last = stored->last};
    for (size_t i = 0; i < stored->count + touched_count; i++) {
        bool is_stored = i < stored->count;
        int64_t key = is_stored ? ((const int64_t *)stored->rows)[i]
                                : *((int64_t *const *)touched->items)[i - stored->count];
        const struct pawl_entry *entry = pawl_record_find(step, key);
        bool is_wanted = entry != NULL && is_one_of(which, entry->row);
        if (is_wanted && (is_stored || (key > after && !has_key(all, key))))
            keys[all->count++] = key;
    }
    return step->set.is_short ? NULL : all;
}

/* ---- Making ---- */

const struct pawl_task_definition *pawl_node_definition(struct pawl_decision *d, int32_t node,
                                                        struct pawl_str type)
{
    const struct pawl_node *n = &d->definition->nodes[node];
    bool is_registered = n->task_definition == NULL && n->type == PAWL_NODE_DYNAMIC;
    return is_registered ? pawl_registered_task(d->step, type) : n->task_definition;
}

const struct pawl_task_definition *pawl_record_definition(struct pawl_decision *d,
                                                          const struct pawl_record_row *record,
                                                          const struct pawl_task_row *task)
{
    const struct pawl_node *n = &d->definition->nodes[record->node];
    if (n->task_definition != NULL || n->type != PAWL_NODE_DYNAMIC) return n->task_definition;
    const struct pawl_queue_row *queue = pawl_queue_by_key(d->step, task->queue);
    if (queue == NULL) return NULL;
    return pawl_node_definition(d, record->node, pawl_record_type(n, queue->name, record->domain));
}

static bool is_again(const struct pawl_decision *d, int32_t node)
{
    return d->again != NULL && ((const struct pawl_record_row *)d->again->row)->node == node;
}

bool pawl_record_input(struct pawl_decision *d, int32_t node,
                       const struct pawl_task_definition *definition, struct pawl_str id,
                       struct pawl_str *out)
{
    const struct pawl_node *n = &d->definition->nodes[node];
    struct pawl_workflow_scope scope;
    if (is_again(d, node)) {
        *out = d->again_input;
        return true;
    }
    struct pawl_json_writer w;
    bool is_needed = false;
    pawl_workflow_scope_init(&scope, d, id);
    pawl_json_writer_init(&w, d->step->set.arena);
    pawl_arena_reset(d->step->scratch);
    enum pawl_code code = pawl_template_resolve_input(
        n->input, definition != NULL ? definition->input_template : none, &scope.scope,
        d->step->scratch, &w, &is_needed, &d->command->err);
    if (d->step->set.is_short || d->step->set.is_full) return false;
    if (code != PAWL_OK) {
        struct pawl_str why = pawl_str_of(d->command->err.text);
        pawl_workflow_fail(d, pawl_arena_format(d->step->set.arena, "task %.*s: %.*s",
                                                PAWL_STR_ARG(n->reference), PAWL_STR_ARG(why)));
        d->command->err = (struct pawl_error){0};
        return false;
    }
    *out = pawl_json_writer_done(&w);
    if (out->len == 0) *out = PAWL_STR("{}");
    return true;
}

static void note_touched(struct pawl_step *step, const struct pawl_record_row *record)
{
    struct pawl_set *set = &step->set;
    const struct pawl_append *before =
        pawl_set_known(set, PAWL_LOOK_RECORDS_TOUCHED, record->run, none);
    struct pawl_append *touched = pawl_step_take(step, sizeof *touched);
    int64_t *item = pawl_step_take(step, sizeof *item);
    if (touched == NULL || item == NULL) return;
    *item = record->task;
    if (before != NULL)
        *touched = *before; /* shared: what is beyond an older count is not seen by it */
    if (!pawl_append_add(touched, set->arena, item)) set->is_full = true;
    pawl_set_know(set, PAWL_LOOK_RECORDS_TOUCHED, record->run, none, touched);
}

static struct pawl_str queue_name(struct pawl_decision *d, const struct pawl_record_new *ask)
{
    if (ask->domain.len == 0) return ask->type;
    return pawl_arena_format(d->step->set.arena, "%.*s:%.*s", PAWL_STR_ARG(ask->domain),
                             PAWL_STR_ARG(ask->type));
}

static void put_payload(struct pawl_step *step, struct pawl_task_row *task,
                        enum pawl_payload_kind kind, struct pawl_str body)
{
    if (body.len == 0) {
        pawl_payload_drop(step, task, kind);
    } else {
        pawl_payload_put(step, task, kind, body);
    }
}

static struct pawl_task_row *make_task(struct pawl_decision *d, const struct pawl_record_new *ask,
                                       const struct pawl_queue_row *queue)
{
    struct pawl_step *step = d->step;
    const struct pawl_node *n = &d->definition->nodes[ask->node];
    const struct pawl_task_definition *definition = ask->definition;
    struct pawl_task_row *task = pawl_step_take(step, sizeof *task);
    if (task == NULL) return NULL;
    bool alerts = definition != NULL && definition->timeout_policy == PAWL_TIMEOUT_ALERT_ONLY;
    bool waits = ask->status == PAWL_RECORD_IN_PROGRESS;
    int64_t delay_ms = ask->delay_s * 1000 + ask->jitter_ms;
    *task = (struct pawl_task_row){
        .key = pawl_step_key(step),
        .id = ask->id,
        .queue = queue->key,
        .state = states[ask->status],
        .priority = d->workflow->priority,
        .rank = PAWL_RANK_NONE,
        .version = 1,
        .timeout_ms = definition == NULL || alerts ? 0 : pawl_defined_ms(definition->timeout_s),
        .retries = ask->before == NULL ? 0 : pawl_count_next(ask->before->attempt),
        .ready_at_ms = delay_ms > 0 ? step->now_ms + delay_ms : 0,
        .created_at_ms = step->now_ms,
        .updated_at_ms = step->now_ms,
        .started_at_ms = waits ? step->now_ms : 0,
        .title = n->reference,
        .correlation_id = d->workflow->correlation_id,
        .workflow = d->workflow->key,
        .response_ms = definition == NULL ? 0 : pawl_defined_ms(definition->response_timeout_s),
    };
    task->retry.max_retries = n->retry_count != PAWL_NOT_GIVEN ? (int32_t)n->retry_count
                              : definition == NULL             ? 0
                                                               : (int32_t)definition->retry_count;
    pawl_set_put(&step->set, PAWL_LOOK_TASK, task->key, none, 0, task);
    pawl_set_know_key(&step->set, PAWL_LOOK_TASK_ID, task->id, task->key);
    put_payload(step, task, PAWL_PAYLOAD_INPUT, ask->input);
    task->payload_bytes = (int64_t)ask->input.len;
    pawl_event_add(step, task, PAWL_EVENT_CREATED, PAWL_CAUSE_NONE, none, none);
    return task;
}

/* It is counted as open already. Nothing of what became of it is left but its number of attempts; who held it before holds it no more. */
static struct pawl_entry *make_again(struct pawl_decision *d, const struct pawl_record_new *ask)
{
    struct pawl_step *step = d->step;
    struct pawl_entry *entry = d->again;
    struct pawl_entry *task_entry = pawl_record_task(step, entry->row);
    if (task_entry == NULL) return NULL;
    struct pawl_record_row *record = pawl_set_change(&step->set, entry);
    struct pawl_task_row *task = pawl_set_change(&step->set, task_entry);
    record->status = ask->status;
    record->first_scheduled_at_ms = step->now_ms;
    record->scheduled_at_ms = step->now_ms;
    record->start_delay_s = 0;
    record->callback_after_s = 0;
    record->worker = none;
    note_touched(step, record);
    if (!pawl_str_equal(ask->input, d->again_input)) {
        put_payload(step, task, PAWL_PAYLOAD_INPUT, ask->input);
    }
    task->payload_bytes = (int64_t)ask->input.len;
    pawl_lease_clear(step, task);
    task->claims = 0;
    task->rank = PAWL_RANK_NONE;
    task->ready_at_ms = 0;
    task->run_at_ms = 0;
    pawl_record_reopen(d, record, task);
    if (task->state == PAWL_TASK_QUEUED) {
        task->started_at_ms = 0;
        pawl_task_offer(step, task);
        pawl_event_add(step, task, PAWL_EVENT_QUEUED, PAWL_CAUSE_QUEUED, none, none);
        pawl_record_arm(d, record, task);
    }
    return entry;
}

void pawl_record_move(struct pawl_decision *d, struct pawl_entry *entry, bool is_newest)
{
    struct pawl_step *step = d->step;
    struct pawl_record_row *record = pawl_set_change(&step->set, entry);
    record->run = d->workflow->run;
    record->is_superseded = !is_newest;
    note_touched(step, record);
    int64_t *key = is_newest ? pawl_step_take(step, sizeof *key) : NULL;
    if (key == NULL) return;
    *key = record->task;
    pawl_set_know(&step->set, PAWL_LOOK_RECORD_LATEST, record->run, record->reference, key);
}

struct pawl_entry *pawl_record_make(struct pawl_decision *d, const struct pawl_record_new *ask)
{
    if (is_again(d, ask->node)) return make_again(d, ask);
    struct pawl_step *step = d->step;
    const struct pawl_node *n = &d->definition->nodes[ask->node];
    struct pawl_str name = queue_name(d, ask);
    if (name.len > PAWL_QUEUE_NAME_BYTES_MAX || name.len == 0) {
        pawl_workflow_fail(
            d,
            pawl_arena_format(step->set.arena, "task %.*s: its queue's name has %zu bytes; 1 to %d",
                              PAWL_STR_ARG(n->reference), name.len, PAWL_QUEUE_NAME_BYTES_MAX));
        return NULL;
    }
    struct pawl_entry *queue = pawl_queue_need(step, name);
    struct pawl_record_row *record = pawl_step_take(step, sizeof *record);
    if (queue == NULL || record == NULL) return NULL;
    struct pawl_task_row *task = make_task(d, ask, queue->row);
    if (task == NULL) return NULL;
    *record = (struct pawl_record_row){
        .task = task->key,
        .workflow = d->workflow->key,
        .run = d->workflow->run,
        .seq = ask->is_placed_later ? -task->key : d->workflow->next_seq++,
        .node = ask->node,
        .reference = n->reference,
        .status = ask->status,
        .attempt = ask->before == NULL ? 0 : pawl_count_next(ask->before->attempt),
        .predecessor = ask->before == NULL ? 0 : ask->before->task,
        .first_scheduled_at_ms =
            ask->before == NULL ? step->now_ms : ask->before->first_scheduled_at_ms,
        .scheduled_at_ms = step->now_ms,
        .start_delay_s = ask->delay_s,
        .callback_after_s = ask->delay_s,
        .domain = ask->domain,
    };
    pawl_set_put(&step->set, PAWL_LOOK_RECORD, record->task, none, 0, record);
    int64_t *key = pawl_step_take(step, sizeof *key);
    if (key == NULL) return NULL;
    *key = record->task;
    pawl_set_know(&step->set, PAWL_LOOK_RECORD_LATEST, record->run, record->reference, key);
    note_touched(step, record);
    d->made++;
    d->workflow->open++;
    if (!ask->is_placed_later) d->workflow->last = record->task;
    if (task->state == PAWL_TASK_QUEUED) {
        pawl_task_offer(step, task);
        pawl_event_add(step, task, PAWL_EVENT_QUEUED, PAWL_CAUSE_QUEUED, none, none);
    }
    pawl_record_arm(d, record, task);
    return pawl_record_find(step, record->task);
}

/* ---- Ending ---- */

static enum pawl_event_type event_of(enum pawl_record_status status)
{
    if (status == PAWL_RECORD_CANCELED) return PAWL_EVENT_CANCELLED;
    return pawl_record_status_is_bad(status) ? PAWL_EVENT_ATTEMPT_FAILED : PAWL_EVENT_COMPLETED;
}

void pawl_record_end(struct pawl_decision *d, struct pawl_entry *entry,
                     const struct pawl_record_end *how)
{
    struct pawl_step *step = d->step;
    struct pawl_entry *task_entry = pawl_record_task(step, entry->row);
    if (task_entry == NULL) return;
    struct pawl_record_row *record = pawl_set_change(&step->set, entry);
    struct pawl_task_row *task = pawl_set_change(&step->set, task_entry);
    pawl_assert(!pawl_record_status_is_terminal(record->status));
    record->status = how->status;
    note_touched(step, record);
    pawl_lease_clear(step, task);
    task->state = states[how->status];
    if (task->state == PAWL_TASK_COMPLETED) {
        task->progress = 100.0;
        task->progress_epoch = task->epoch;
    }
    put_payload(step, task, PAWL_PAYLOAD_ERROR,
                pawl_utf8_cut_bytes(how->reason, PAWL_ERROR_BYTES_MAX));
    if (how->output.len > 0) pawl_payload_put(step, task, PAWL_PAYLOAD_RESULT, how->output);
    pawl_task_touch(step, task);
    pawl_task_finish(
        step, task_entry, event_of(how->status), how->cause, how->actor,
        pawl_utf8_cut_points(how->reason.len > 0 ? how->reason : how->output, PAWL_EXCERPT_POINTS));
    pawl_record_arm(d, record, task);
}

struct pawl_entry *pawl_record_pass(struct pawl_decision *d, int32_t node, struct pawl_str input,
                                    const struct pawl_record_end *how)
{
    const struct pawl_node *n = &d->definition->nodes[node];
    struct pawl_record_new ask = {.node = node,
                                  .id = pawl_record_mint(d->step),
                                  .type = pawl_record_type(n, none, none),
                                  .input = input,
                                  .status = PAWL_RECORD_IN_PROGRESS};
    struct pawl_entry *record = pawl_record_make(d, &ask);
    if (record != NULL) pawl_record_end(d, record, how);
    return d->step->set.is_short || d->step->set.is_full ? NULL : record;
}

void pawl_record_offer(struct pawl_decision *d, struct pawl_entry *entry, int64_t delay_s)
{
    struct pawl_step *step = d->step;
    struct pawl_entry *task_entry = pawl_record_task(step, entry->row);
    if (task_entry == NULL) return;
    struct pawl_record_row *record = pawl_set_change(&step->set, entry);
    struct pawl_task_row *task = pawl_set_change(&step->set, task_entry);
    record->status = PAWL_RECORD_SCHEDULED;
    record->callback_after_s = delay_s;
    pawl_lease_clear(step, task);
    task->state = PAWL_TASK_QUEUED;
    task->rank = PAWL_RANK_NONE;
    task->ready_at_ms = delay_s > 0 ? step->now_ms + delay_s * 1000 : 0;
    pawl_task_offer(step, task);
    pawl_record_arm(d, record, task);
    pawl_task_touch(step, task);
}

void pawl_record_reopen(struct pawl_decision *d, const struct pawl_record_row *record,
                        struct pawl_task_row *task)
{
    note_touched(d->step, record);
    task->state = states[record->status];
    task->finished_at_ms = 0;
    task->started_at_ms = d->step->now_ms;
    task->progress = 0;
    pawl_payload_drop(d->step, task, PAWL_PAYLOAD_ERROR);
    pawl_payload_drop(d->step, task, PAWL_PAYLOAD_RESULT);
    pawl_task_raise_epoch(task);
    pawl_record_arm(d, record, task);
    pawl_task_touch(d->step, task);
    pawl_event_add(d->step, task, PAWL_EVENT_RESUMED, PAWL_CAUSE_RESUMED, none, none);
}
