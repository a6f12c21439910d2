/* Creates tasks: one, or a batch whose members may depend on each other. All or none. */
#include "core/task/rule.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "base/uuid.h"
#include "core/limits.h"
#include "core/task/calendar.h"
#include "core/task/queue.h"
#include "core/task/retry.h"

static const struct pawl_str none = {0};

/* A member on its way: what was found for it, and the row that becomes of it. */
struct making {
    const struct pawl_member *member;
    struct pawl_entry *entry;   /* of the new task, or of the one that existed; NULL if that was removed */
    const struct pawl_tombstone_row *gone; /* what is left of the one that existed; else NULL */
    struct pawl_str id;
    int64_t key;
    struct pawl_entry **on;     /* entries of its dependencies; NULL where it is missing or a member */
    const struct pawl_tombstone_row **on_gone; /* of those that were removed; else NULL */
};

/* A dependency that can no longer complete by itself. */
struct ended {
    int64_t key; /* 0 = there is none */
    struct pawl_str id;
};

/* The task that an idempotency key names already, with the same body: then making->id is its id. */
static enum pawl_code look_for_key(struct pawl_step *step, struct pawl_command *command,
                                   struct making *making)
{
    struct pawl_str text = making->member->ask->key;
    int64_t body_digest = 0;
    if (text.len == 0) return PAWL_OK;
    struct pawl_entry *named =
        pawl_set_look(&step->set, PAWL_LOOK_IDEMPOTENCY, 0, text, 0, 0);
    if (named == NULL || !named->is_loaded) return PAWL_OK;
    if (named->row != NULL) {
        struct pawl_entry *entry = pawl_set_task(&step->set, *(const int64_t *)named->row);
        if (entry == NULL || !entry->is_loaded || entry->row == NULL) return PAWL_OK;
        making->entry = entry;
        making->id = ((const struct pawl_task_row *)entry->row)->id;
        body_digest = ((const struct pawl_task_row *)entry->row)->body_digest;
    } else {
        making->gone = pawl_tombstone_find_key(step, text);
        if (making->gone == NULL) return PAWL_OK;
        making->id = making->gone->id;
        body_digest = making->gone->body_digest;
    }
    if (body_digest == making->member->body_digest) return PAWL_OK;
    return pawl_error_set(&command->err, PAWL_CONFLICT,
                          "key %.*s: task %.*s was created under it with another body",
                          PAWL_STR_ARG(text), PAWL_STR_ARG(making->id));
}

void pawl_create_want(struct pawl_step *step, const struct pawl_task_new *ask)
{
    (void)pawl_queue_key(step, pawl_queue_name(ask->queue));
    if (ask->id.len > 0) {
        (void)pawl_set_look(&step->set, PAWL_LOOK_TASK_ID, 0, ask->id, 0, 0);
        (void)pawl_tombstone_find(step, ask->id);
        (void)pawl_set_look(&step->set, PAWL_LOOK_AWAITED, 0, ask->id, 0, PAWL_SLICE_ROWS_MAX);
    }
    if (ask->key.len > 0) {
        (void)pawl_set_look(&step->set, PAWL_LOOK_IDEMPOTENCY, 0, ask->key, 0, 0);
        (void)pawl_tombstone_find_key(step, ask->key);
    }
}

/* Finds all that a member needs, without changing anything. */
static enum pawl_code look_around(struct pawl_step *step, struct pawl_command *command,
                                  struct making *making)
{
    const struct pawl_task_new *ask = making->member->ask;
    pawl_create_want(step, ask);
    size_t room = ask->depends_on_count + 1;
    making->on = pawl_step_take(step, room * sizeof *making->on);
    making->on_gone = pawl_step_take(step, room * sizeof *making->on_gone);
    if (making->on == NULL || making->on_gone == NULL) return PAWL_NO_MEMORY;
    for (size_t i = 0; i < ask->depends_on_count; i++) {
        if (making->member->member_of[i] >= 0) continue;
        enum pawl_code code =
            pawl_task_find(step, command, ask->depends_on[i], &making->on[i]);
        if (step->set.is_short || step->set.is_full || code == PAWL_OK) continue;
        if (code == PAWL_NOT_FOUND) making->on_gone[i] = pawl_tombstone_find(step, ask->depends_on[i]);
        if (making->on_gone[i] != NULL) continue;
        if (code == PAWL_NOT_FOUND && ask->allow_missing_dependencies) continue;
        return pawl_error_set(&command->err, PAWL_INVALID, "depends_on: no such task: %.*s",
                              PAWL_STR_ARG(ask->depends_on[i]));
    }
    return PAWL_OK;
}

static struct pawl_str make_id(struct pawl_step *step)
{
    char *text = pawl_step_take(step, PAWL_UUID_BYTES_MAX + 1);
    if (text == NULL) return none;
    uint64_t high = pawl_step_random(step);
    pawl_uuid_make(step->now_ms, high, pawl_step_random(step), text);
    return (struct pawl_str){text, PAWL_UUID_BYTES_MAX};
}

/* When a new task may be given out: after its delay, and not before its calendar time, which is kept if it is the
 * later one. */
static void defer(const struct pawl_step *step, const struct pawl_task_new *ask, struct pawl_task_row *task)
{
    int64_t delayed_ms = ask->delay_ms > 0 ? step->now_ms + ask->delay_ms : 0;
    int64_t calendar_ms = ask->run_at_ms > 0 ? pawl_calendar_at_ms(step, ask->run_at_ms) : 0;
    bool is_calendar = calendar_ms > step->now_ms && calendar_ms > delayed_ms;
    task->ready_at_ms = is_calendar ? calendar_ms : delayed_ms;
    task->run_at_ms = is_calendar ? ask->run_at_ms : 0;
}

static void put_payload(struct pawl_step *step, struct pawl_task_row *task, enum pawl_payload_kind kind,
                        struct pawl_str body)
{
    if (body.len == 0) return;
    pawl_payload_put(step, task, kind, body);
    task->payload_bytes += (int64_t)body.len;
}

static void make_row(struct pawl_step *step, struct making *making)
{
    const struct pawl_task_new *ask = making->member->ask;
    struct pawl_entry *named = pawl_queue_need(step, pawl_queue_name(ask->queue));
    struct pawl_task_row *task = pawl_step_take(step, sizeof *task);
    if (named == NULL || task == NULL) return;
    const struct pawl_queue_row *queue = named->row;
    *task = (struct pawl_task_row){
        .key = making->key,
        .id = making->id,
        .queue = queue->key,
        .state = PAWL_TASK_PENDING,
        .priority = ask->priority == 0  ? PAWL_PRIORITY_DEFAULT
                    : ask->priority < 0 ? 0
                                        : ask->priority,
        .rank = PAWL_RANK_NONE,
        .version = 1,
        .timeout_ms = ask->timeout_ms,
        .retry = pawl_retry_settle(&ask->retry, &queue->retry),
        .created_at_ms = step->now_ms,
        .updated_at_ms = step->now_ms,
        .dependency_policy = ask->dependency_policy,
        .title = making->member->title,
        .correlation_id = making->member->correlation_id,
        .idempotency_key = ask->key,
        .body_digest = making->member->body_digest,
    };
    defer(step, ask, task);
    pawl_set_put(&step->set, PAWL_LOOK_TASK, task->key, none, 0, task);
    pawl_set_know_key(&step->set, PAWL_LOOK_TASK_ID, task->id, task->key);
    if (ask->key.len > 0) pawl_set_know_key(&step->set, PAWL_LOOK_IDEMPOTENCY, ask->key, task->key);
    making->entry = pawl_set_task(&step->set, task->key);
    put_payload(step, task, PAWL_PAYLOAD_INPUT, ask->input);
    put_payload(step, task, PAWL_PAYLOAD_GOAL, ask->goal);
    put_payload(step, task, PAWL_PAYLOAD_METADATA, ask->metadata);
    pawl_event_add(step, task, PAWL_EVENT_CREATED, PAWL_CAUSE_NONE, ask->actor, none);
}

void pawl_dependency_add(struct pawl_step *step, struct pawl_task_row *task, size_t number, int64_t on,
                         struct pawl_str on_id, bool is_open)
{
    struct pawl_dependency_row *row = pawl_step_take(step, sizeof *row);
    if (row == NULL) return;
    *row = (struct pawl_dependency_row){.task = task->key,
                                        .on = on,
                                        .number = (int32_t)number,
                                        .on_id = on_id,
                                        .is_open = is_open};
    pawl_set_append(&step->set, PAWL_APPEND_DEPENDENCY, row);
    if (is_open) task->open_dependencies++;
}

/* A dependency that was removed after it had ended. What nobody can ever complete is nothing to wait for. */
static enum pawl_code depend_on_gone(struct pawl_step *step, struct pawl_command *command,
                                     struct pawl_task_row *task, size_t number,
                                     const struct pawl_tombstone_row *gone, struct ended *ended)
{
    if (gone->state != PAWL_TASK_COMPLETED) {
        switch (task->dependency_policy) {
        case PAWL_DEPENDENCY_BLOCK:
            return pawl_error_set(&command->err, PAWL_INVALID,
                                  "depends_on: task %.*s ended as %s and was removed since: it can never "
                                  "complete",
                                  PAWL_STR_ARG(gone->id), pawl_task_state_name(gone->state));
        case PAWL_DEPENDENCY_CANCEL:
            if (ended->key == 0) *ended = (struct ended){gone->key, gone->id};
            break;
        case PAWL_DEPENDENCY_IGNORE:
            break;
        }
    }
    pawl_dependency_add(step, task, number, gone->key, none, false);
    return PAWL_OK;
}

/* Writes the dependencies of a new task. *ended is one that can no longer complete by itself. */
static enum pawl_code make_dependencies(struct pawl_step *step, struct pawl_command *command,
                                        struct making *all, struct making *making, struct ended *ended)
{
    const struct pawl_task_new *ask = making->member->ask;
    struct pawl_task_row *task = making->entry->row;
    for (size_t i = 0; i < ask->depends_on_count; i++) {
        int32_t member = making->member->member_of[i];
        struct pawl_entry *on = member >= 0 ? all[member].entry : making->on[i];
        const struct pawl_tombstone_row *gone = member >= 0 ? all[member].gone : making->on_gone[i];
        if (gone != NULL) {
            enum pawl_code code = depend_on_gone(step, command, task, i, gone, ended);
            if (code != PAWL_OK) return code;
            continue;
        }
        if (on == NULL) {
            pawl_dependency_add(step, task, i, 0, ask->depends_on[i], true);
            continue;
        }
        const struct pawl_task_row *found = on->row;
        bool is_ignored = pawl_task_has_ended_badly(found) && task->dependency_policy == PAWL_DEPENDENCY_IGNORE;
        bool is_open = found->state != PAWL_TASK_COMPLETED && !is_ignored;
        if (is_open) {
            struct pawl_task_row *waited_for = pawl_set_change(&step->set, on);
            waited_for->has_dependents = true;
            waited_for->has_new_dependents = true;
        }
        if (is_open && pawl_task_has_ended_badly(found) && ended->key == 0) {
            *ended = (struct ended){found->key, found->id};
        }
        pawl_dependency_add(step, task, i, found->key, none, is_open);
    }
    return PAWL_OK;
}

static void meet_one(struct pawl_step *step, struct pawl_task_row *task,
                     const struct pawl_dependency_row *found)
{
    struct pawl_dependency_row *row = pawl_step_take(step, sizeof *row);
    if (row == NULL) return;
    *row = *found;
    row->on = task->key;
    pawl_set_append(&step->set, PAWL_APPEND_DEPENDENCY_FOUND, row);
    task->has_dependents = true;
    task->has_new_dependents = true;
}

void pawl_awaited_found(struct pawl_step *step, struct pawl_task_row *task, const struct pawl_rows *awaited)
{
    for (size_t i = 0; i < awaited->count; i++) {
        meet_one(step, task, &((const struct pawl_dependency_row *)awaited->rows)[i]);
    }
}

void pawl_awaited_meet(struct pawl_step *step, struct pawl_task_row *task)
{
    struct pawl_str id = task->id;
    struct pawl_entry *list = pawl_set_look(&step->set, PAWL_LOOK_AWAITED, 0, id, 0, 0);
    if (list == NULL || !list->is_loaded) return;
    const struct pawl_rows *rows = list->row;
    pawl_awaited_found(step, task, rows);
    if (rows->is_cut) {
        (void)pawl_continuation_add(step, &(struct pawl_continuation_row){.kind = PAWL_CONTINUE_AWAITED,
                                                                          .task = task->key,
                                                                          .args = id});
    }
    const struct pawl_append *added = &step->set.appends[PAWL_APPEND_DEPENDENCY];
    for (size_t i = 0; i < added->count; i++) {
        const struct pawl_dependency_row *row = ((struct pawl_dependency_row *const *)added->items)[i];
        if (row->on == 0 && pawl_str_equal(row->on_id, id)) meet_one(step, task, row);
    }
}

static void settle(struct pawl_step *step, struct making *making, const struct ended *ended)
{
    bool has_ended = ended->key != 0;
    const struct pawl_task_new *ask = making->member->ask;
    struct pawl_task_row *task = making->entry->row;
    if (has_ended && task->dependency_policy == PAWL_DEPENDENCY_CANCEL) {
        pawl_task_move(task, PAWL_TASK_CANCELLED, PAWL_BY_ENGINE);
        pawl_task_touch(step, task);
        pawl_task_finish(step, making->entry, PAWL_EVENT_CANCELLED, PAWL_CAUSE_DEPENDENCY, none,
                         ended->id);
        return;
    }
    if (!ask->hold) {
        pawl_task_move(task, PAWL_TASK_QUEUED, PAWL_BY_OPERATOR);
        pawl_task_offer(step, task);
        pawl_task_touch(step, task);
        pawl_event_add(step, task, PAWL_EVENT_QUEUED, PAWL_CAUSE_QUEUED, ask->actor, none);
    }
    if (has_ended) {
        task->blocked_by = ended->key;
        pawl_task_touch(step, task);
        pawl_event_add(step, task, PAWL_EVENT_BLOCKED, PAWL_CAUSE_DEPENDENCY, none, ended->id);
    }
}

/* Gives every member its key and id, and finds out which of them exist already. */
static enum pawl_code name_members(struct pawl_step *step, struct pawl_command *command,
                                   struct making *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct making *making = &all[i];
        const struct pawl_task_new *ask = making->member->ask;
        enum pawl_code code = look_for_key(step, command, making);
        if (code != PAWL_OK) return code;
        if (making->id.len > 0) continue;
        if (ask->id.len > 0) {
            struct pawl_entry *taken = pawl_set_look(&step->set, PAWL_LOOK_TASK_ID, 0, ask->id, 0, 0);
            if (taken != NULL && taken->is_loaded && (taken->row != NULL || taken->is_bad)) {
                return pawl_error_set(&command->err, PAWL_CONFLICT, "id: %.*s is in use",
                                      PAWL_STR_ARG(ask->id));
            }
            if (pawl_tombstone_find(step, ask->id) != NULL) {
                return pawl_error_set(&command->err, PAWL_CONFLICT,
                                      "id: %.*s is in use by a task that was removed after its end",
                                      PAWL_STR_ARG(ask->id));
            }
        }
        making->key = pawl_step_key(step);
        making->id = ask->id.len > 0 ? ask->id : make_id(step);
        make_row(step, making);
        if (step->set.is_short || step->set.is_full) return PAWL_BUSY;
    }
    return PAWL_OK;
}

enum pawl_code pawl_rule_create(struct pawl_step *step, struct pawl_command *command)
{
    size_t count = command->ask.create.count;
    struct making *all = pawl_step_take(step, count * sizeof *all);
    if (all == NULL) return PAWL_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        all[i].member = &command->ask.create.members[i];
        enum pawl_code code = look_around(step, command, &all[i]);
        if (code != PAWL_OK) return code;
    }
    if (step->set.is_short) return PAWL_BUSY;
    enum pawl_code code = name_members(step, command, all, count);
    if (code != PAWL_OK) return code;

    for (size_t i = 0; i < count; i++) {
        bool existed = all[i].key == 0;
        if (!existed) {
            struct ended ended = {0};
            code = make_dependencies(step, command, all, &all[i], &ended);
            if (code != PAWL_OK) return code;
            if (step->set.is_full) return PAWL_NO_MEMORY;
            if (all[i].member->ask->id.len > 0) pawl_awaited_meet(step, all[i].entry->row);
            settle(step, &all[i], &ended);
        }
        command->out.added[i] = (struct pawl_added){.id = pawl_reply_copy(command, all[i].id), .existed = existed};
    }
    return pawl_reply_code(command);
}
