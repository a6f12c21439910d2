/* Hands tasks out: claim (the best ready ones of some queues), start (one by id), renew (a lease kept). */
#include "core/task/rule.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/task/calendar.h"
#include "core/task/gate.h"
#include "core/task/metadata.h"
#include "core/task/queue.h"
#include "core/workflow/registry.h"

#include <string.h>

static const struct pawl_str none = {0};

/* Looks at everything the answer needs, so that it is loaded before the grant is made. */
static void look_at_body(struct pawl_step *step, const struct pawl_task_row *task)
{
    (void)pawl_payload_look(step, task, PAWL_PAYLOAD_INPUT);
    (void)pawl_payload_look(step, task, PAWL_PAYLOAD_GOAL);
    (void)pawl_payload_look(step, task, PAWL_PAYLOAD_METADATA);
    (void)pawl_queue_by_key(step, task->queue);
    if (task->checkpoint_count > 0) {
        (void)pawl_set_look(&step->set, PAWL_LOOK_CHECKPOINT, task->key, none, 0, 0);
    }
}

static const struct pawl_checkpoint_row *latest_checkpoint(struct pawl_step *step,
                                                           const struct pawl_task_row *task)
{
    if (task->checkpoint_count == 0) return NULL;
    struct pawl_entry *entry =
        pawl_set_look(&step->set, PAWL_LOOK_CHECKPOINT, task->key, none, 0, 0);
    return entry == NULL || !entry->is_loaded ? NULL : entry->row;
}

/* The metadata as it is shown: with its correlation id. It was checked when it came; should the stored text be
 * damaged all the same, it is given out as it is. */
static struct pawl_str shown_metadata(struct pawl_step *step, struct pawl_command *command,
                                      const struct pawl_task_row *task)
{
    struct pawl_str stored = pawl_payload_look(step, task, PAWL_PAYLOAD_METADATA);
    struct pawl_str id = pawl_correlation_id(task->id, task->correlation_id, step->set.arena);
    struct pawl_str shown;
    if (pawl_metadata_show(stored, id, step->set.arena, command->keep, &shown, NULL) != PAWL_OK) {
        return pawl_reply_copy(command, stored);
    }
    return shown.ptr == stored.ptr ? pawl_reply_copy(command, stored) : shown;
}

/* The answer about a task that is RUNNING for this worker now. */
static void tell_grant(struct pawl_step *step, struct pawl_command *command,
                       const struct pawl_task_row *task, struct pawl_str owner, struct pawl_grant *out)
{
    const struct pawl_queue_row *queue = pawl_queue_by_key(step, task->queue);
    const struct pawl_checkpoint_row *checkpoint = latest_checkpoint(step, task);
    *out = (struct pawl_grant){
        .fence = {pawl_reply_copy(command, task->id), pawl_reply_copy(command, owner), task->epoch},
        .queue = pawl_reply_copy(command, queue == NULL ? none : queue->name),
        .title = pawl_reply_copy(command, task->title),
        .goal = pawl_reply_copy(command, pawl_payload_look(step, task, PAWL_PAYLOAD_GOAL)),
        .input = pawl_reply_copy(command, pawl_payload_look(step, task, PAWL_PAYLOAD_INPUT)),
        .metadata = shown_metadata(step, command, task),
        .checkpoint = pawl_reply_copy(command, checkpoint == NULL ? none : checkpoint->state),
        .checkpoint_step = checkpoint == NULL ? 0 : checkpoint->step,
        .priority = task->priority,
        .attempt = task->retries + 1,
        .max_retries = task->retry.max_retries,
        .lease_ms = task->lease_end_at_ms - step->now_ms,
        .lease_end_at_ms = task->lease_end_at_ms,
        .timeout_ms = task->timeout_ms,
        .created_at_ms = task->created_at_ms,
        .started_at_ms = task->started_at_ms,
        .correlation_id = pawl_reply_copy(command, task->correlation_id),
        .is_of_workflow = task->workflow != 0,
    };
}

/* Who comes anew clears away some who are gone for good. They hold nothing: no lease is that long. */
static void remove_gone(struct pawl_step *step)
{
    int64_t before_ms = step->now_ms - PAWL_WORKER_KEPT_MS;
    struct pawl_entry *list = pawl_set_look(&step->set, PAWL_LOOK_WORKERS_GONE, 0, none, before_ms,
                                            PAWL_WORKERS_GONE_AT_ONCE);
    if (list == NULL || !list->is_loaded) return;
    const struct pawl_rows *rows = list->row;
    for (size_t i = 0; i < rows->count; i++) {
        int64_t key = ((const int64_t *)rows->rows)[i];
        struct pawl_entry *entry = pawl_set_look(&step->set, PAWL_LOOK_WORKER, key, none, 0, 0);
        const struct pawl_worker_row *worker = entry == NULL || !entry->is_loaded ? NULL : entry->row;
        if (worker == NULL || worker->seen_at_ms >= before_ms) continue; /* it is back, in this very step */
        pawl_set_know(&step->set, PAWL_LOOK_WORKER_ID, 0, worker->id, NULL);
        pawl_set_put(&step->set, PAWL_LOOK_WORKER, key, none, 0, NULL);
    }
}

/* The entry of the worker, made if it is its first claim; NULL while short or full. */
static struct pawl_entry *need_worker(struct pawl_step *step, const struct pawl_command *command)
{
    struct pawl_str id = command->ask.claim.ask->worker_id;
    int64_t key = pawl_worker_key(step, id);
    if (step->set.is_short || step->set.is_full) return NULL;
    if (key != 0) {
        struct pawl_entry *entry = pawl_set_look(&step->set, PAWL_LOOK_WORKER, key, none, 0, 0);
        return entry == NULL || !entry->is_loaded || entry->row == NULL ? NULL : entry;
    }
    remove_gone(step);
    if (step->set.is_short) return NULL;
    struct pawl_worker_row *worker = pawl_step_take(step, sizeof *worker);
    if (worker == NULL) return NULL;
    const struct pawl_worker_about *about = &command->ask.claim.about;
    *worker = (struct pawl_worker_row){.key = pawl_step_key(step),
                                       .id = id,
                                       .host = about->host,
                                       .boot = about->boot,
                                       .pid = about->pid,
                                       .started_at_ms = step->now_ms,
                                       .seen_at_ms = step->now_ms};
    pawl_set_put(&step->set, PAWL_LOOK_WORKER, worker->key, none, 0, worker);
    pawl_set_know_key(&step->set, PAWL_LOOK_WORKER_ID, id, worker->key);
    return pawl_set_look(&step->set, PAWL_LOOK_WORKER, worker->key, none, 0, 0);
}

/* The name of the definition of a task that waits in a queue. */
static struct pawl_str type_of(const struct pawl_queue_row *queue)
{
    return queue == NULL ? none : pawl_gate_name(queue->name);
}

/* What the registered definition of a task says of its lease. May be short. */
static int64_t response_timeout_s(struct pawl_step *step, struct pawl_str task_type)
{
    const struct pawl_task_definition *registered = pawl_registered_task(step, task_type);
    if (registered != NULL) return registered->response_timeout_s;
    struct pawl_task_definition defaults;
    pawl_task_definition_init(&defaults, task_type);
    return defaults.response_timeout_s;
}

/* How long the lease of a task is to be; 0 = as the queue says. May be short. */
static int64_t lease_ms_of(struct pawl_step *step, const struct pawl_command *command,
                           const struct pawl_task_row *task)
{
    const struct pawl_poll *poll = command->ask.claim.poll;
    if (poll == NULL) return command->ask.claim.ask->lease_ms;
    int64_t timeout_s = response_timeout_s(step, type_of(pawl_queue_by_key(step, task->queue)));
    int64_t lease_ms = pawl_defined_ms(timeout_s) + poll->grace_ms;
    return lease_ms < PAWL_LEASE_MS_MAX ? lease_ms : PAWL_LEASE_MS_MAX;
}

/* What a workflow says of the lease comes first: a worker may hold the task for a shorter time only, and an attempt
 * counts from its first claim. What was armed before stays so, since only the record knows why. */
static void grant_of_workflow(struct pawl_step *step, struct pawl_task_row *task, int64_t armed_at_ms,
                              const struct pawl_command *command)
{
    int64_t asked_ms = command->ask.claim.ask->lease_ms;
    int64_t grace_ms = command->ask.claim.poll == NULL ? 0 : command->ask.claim.poll->grace_ms;
    int64_t allowed_ms = task->response_ms == 0 ? PAWL_LEASE_MS_MAX : task->response_ms;
    task->lease_kind = PAWL_LEASE_CLIENT;
    task->lease_place = none;
    task->lease_ms = asked_ms != 0 && asked_ms < allowed_ms ? asked_ms : allowed_ms + grace_ms;
    task->attempt_end_at_ms = task->timeout_ms == 0 ? 0 : task->started_at_ms + task->timeout_ms;
    task->lease_end_at_ms = pawl_lease_end(step, task, task->lease_ms);
    task->due_at_ms = pawl_lease_due(task);
    if (armed_at_ms != 0 && armed_at_ms < task->due_at_ms) task->due_at_ms = armed_at_ms;
    task->claims = pawl_count_next(task->claims);
}

/* The one hand-out: owner, epoch + 1, lease end. The body must be loaded. */
static void grant(struct pawl_step *step, struct pawl_entry *entry, const struct pawl_worker_row *worker,
                  const struct pawl_command *command, int64_t lease_ms)
{
    const struct pawl_claim *ask = command->ask.claim.ask;
    const struct pawl_task_row *before = entry->row;
    const struct pawl_queue_row *queue = pawl_queue_by_key(step, before->queue);
    int64_t armed_at_ms = before->due_at_ms;
    int64_t ready_at_ms = before->rank == PAWL_RANK_NONE ? INT64_MAX : pawl_rank_ready_at_ms(before->rank);
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    pawl_assert(task->open_dependencies == 0);
    pawl_task_move(task, PAWL_TASK_RUNNING, PAWL_BY_WORKER);
    pawl_task_withdraw(task);
    pawl_task_raise_epoch(task);
    task->lease_kind = ask->is_supervised ? PAWL_LEASE_SUPERVISED : PAWL_LEASE_CLIENT;
    task->lease_place = command->ask.claim.about.place;
    task->owner = worker->key;
    task->lease_ms = lease_ms != 0                           ? lease_ms
                     : queue != NULL && queue->lease_ms != 0 ? queue->lease_ms
                                                             : step->lease_ms;
    task->attempt_end_at_ms = task->timeout_ms == 0 ? 0 : step->now_ms + task->timeout_ms;
    task->lease_end_at_ms = pawl_lease_end(step, task, task->lease_ms);
    /* a task that was given back goes on with the same attempt */
    bool goes_on = task->workflow != 0 ||
                   (before->outcome_kind == PAWL_OUTCOME_RELEASE && before->outcome_epoch == task->epoch - 1);
    if (!goes_on || task->started_at_ms == 0) task->started_at_ms = step->now_ms;
    task->due_at_ms = pawl_lease_due(task);
    if (task->workflow != 0) grant_of_workflow(step, task, armed_at_ms, command);
    pawl_gate_pass(step, type_of(queue), task);
    pawl_task_touch(step, task);
    struct pawl_event_new *event =
        pawl_event_add(step, task, PAWL_EVENT_STARTED, PAWL_CAUSE_NONE, worker->id, none);
    if (event != NULL && ready_at_ms <= step->now_ms) event->waited_ms = step->now_ms - ready_at_ms;
}

/* ---- The process behind a worker's id ----
 *
 * A worker that is restarted has another process, for good. Where one comes back that another had taken the place
 * of, two live and share the id: what one says without an epoch is taken for a word of the other. */

static bool is_same(const struct pawl_worker_about *about, struct pawl_str host, struct pawl_str boot,
                    int64_t pid)
{
    return about->pid == pid && pawl_str_equal(about->host, host) && pawl_str_equal(about->boot, boot);
}

static bool is_another(const struct pawl_worker_about *about, const struct pawl_worker_row *worker)
{
    return !is_same(about, worker->host, worker->boot, worker->pid);
}

static void note_shared(struct pawl_step *step, struct pawl_worker_row *worker,
                        const struct pawl_worker_about *about)
{
    bool is_told = worker->shared_at_ms != 0 && step->now_ms - worker->shared_at_ms < PAWL_WORKER_SHARED_MS;
    worker->shared_at_ms = step->now_ms;
    struct pawl_notice *notice = is_told ? NULL : pawl_step_take(step, sizeof *notice);
    if (notice == NULL) return;
    *notice = (struct pawl_notice){PAWL_NOTICE_WORKER_SHARED, .text = worker->id, .name = about->host,
                                   .first = about->pid, .second = worker->pid};
    pawl_set_append(&step->set, PAWL_APPEND_NOTICE, notice);
}

static void note_process(struct pawl_step *step, struct pawl_worker_row *worker,
                         const struct pawl_worker_about *about)
{
    if (!is_another(about, worker)) return;
    bool has_other = worker->other_host.len > 0 || worker->other_pid != 0;
    if (has_other && is_same(about, worker->other_host, worker->other_boot, worker->other_pid)) {
        note_shared(step, worker, about);
    }
    worker->other_host = worker->host;
    worker->other_boot = worker->boot;
    worker->other_pid = worker->pid;
    worker->host = about->host;
    worker->boot = about->boot;
    worker->pid = about->pid;
}

/* Keeps what was granted under the request, for its repeat. Without a request id the row is left alone, but
 * for a sign of life now and then, or of another process. */
static void note_grants(struct pawl_step *step, const struct pawl_command *command,
                        struct pawl_entry *entry, const struct pawl_granted *granted, size_t count)
{
    const struct pawl_worker_row *before = entry->row;
    struct pawl_str request_id = command->ask.claim.ask->request_id;
    bool is_seen = step->now_ms - before->seen_at_ms < PAWL_WORKER_SEEN_EVERY_MS;
    if (request_id.len == 0 && is_seen && !is_another(&command->ask.claim.about, before)) return;
    struct pawl_worker_row *worker = pawl_set_change(&step->set, entry);
    worker->seen_at_ms = step->now_ms;
    note_process(step, worker, &command->ask.claim.about);
    worker->request_id = request_id;
    worker->granted = none;
    if (request_id.len == 0) return;
    char *bytes = pawl_step_take(step, count * sizeof *granted);
    if (bytes == NULL) return;
    memcpy(bytes, granted, count * sizeof *granted);
    worker->granted = (struct pawl_str){bytes, count * sizeof *granted};
}

static bool is_repeat(const struct pawl_claim *ask, const struct pawl_worker_row *worker)
{
    return ask->request_id.len > 0 && pawl_str_equal(ask->request_id, worker->request_id);
}

/* The grants of the same request, as far as they still hold: their entries, in the arena. */
static size_t granted_before(struct pawl_step *step, const struct pawl_worker_row *worker,
                             struct pawl_entry ***out)
{
    size_t count = 0;
    struct pawl_entry **held =
        pawl_step_take(step, (worker->granted.len / sizeof(struct pawl_granted) + 1) * sizeof *held);
    if (held == NULL) return 0;
    *out = held;
    for (size_t i = 0; i < worker->granted.len / sizeof(struct pawl_granted); i++) {
        struct pawl_granted granted;
        memcpy(&granted, worker->granted.ptr + i * sizeof granted, sizeof granted);
        struct pawl_entry *entry = pawl_set_task(&step->set, granted.task_key);
        if (entry == NULL || !entry->is_loaded || entry->row == NULL) continue;
        const struct pawl_task_row *task = entry->row;
        if (task->state != PAWL_TASK_RUNNING || task->epoch != granted.epoch) continue;
        if (task->owner != worker->key || step->now_ms >= task->lease_end_at_ms) continue;
        look_at_body(step, task);
        held[count++] = entry;
    }
    return count;
}

/* Names the first few that a task waits for: each is one row. */
static enum pawl_code waits_error(struct pawl_step *step, struct pawl_command *command,
                                  const struct pawl_task_row *task)
{
    struct pawl_entry *list = pawl_set_look(&step->set, PAWL_LOOK_DEPENDENCIES, task->key, none, 0,
                                            PAWL_DEPENDENCIES_MAX);
    if (list == NULL || !list->is_loaded) return PAWL_BUSY;
    const struct pawl_rows *rows = list->row;
    struct pawl_str names = {0};
    for (size_t i = 0; i < rows->count && names.len <= PAWL_ERROR_TEXT_BYTES_MAX; i++) {
        const struct pawl_dependency_row *row = &((const struct pawl_dependency_row *)rows->rows)[i];
        if (!row->is_open) continue;
        struct pawl_str id = row->on_id;
        if (row->on != 0) {
            struct pawl_entry *on = pawl_set_task(&step->set, row->on);
            if (on == NULL || !on->is_loaded || on->row == NULL) continue;
            id = ((const struct pawl_task_row *)on->row)->id;
        }
        names = pawl_arena_format(step->set.arena, "%.*s%s%.*s", PAWL_STR_ARG(names),
                                  names.len == 0 ? "" : ", ", PAWL_STR_ARG(id));
    }
    return pawl_error_set(&command->err, PAWL_NOT_READY, "task %.*s waits for %.*s",
                          PAWL_STR_ARG(task->id), PAWL_STR_ARG(names));
}

/* Whether a task may be given out by its id now. */
static enum pawl_code may_start(struct pawl_step *step, struct pawl_command *command,
                                const struct pawl_task_row *task)
{
    if (task->state == PAWL_TASK_RUNNING) {
        return pawl_error_set(&command->err, PAWL_LEASE_ACTIVE, "task %.*s is leased to %.*s",
                              PAWL_STR_ARG(task->id),
                              PAWL_STR_ARG(pawl_worker_id(step, task->owner)));
    }
    bool waits = task->workflow != 0 && task->state == PAWL_TASK_PENDING;
    if (waits || (task->state != PAWL_TASK_PENDING && task->state != PAWL_TASK_QUEUED)) {
        return pawl_state_error(command, task, "start");
    }
    if (task->open_dependencies > 0) return waits_error(step, command, task);
    int64_t ready_at_ms =
        task->run_at_ms != 0 ? pawl_calendar_at_ms(step, task->run_at_ms) : task->ready_at_ms;
    if (ready_at_ms <= step->now_ms) return PAWL_OK;
    enum pawl_code code = pawl_error_set(&command->err, PAWL_NOT_READY,
                                         "task %.*s is deferred for another %lld ms",
                                         PAWL_STR_ARG(task->id),
                                         (long long)(ready_at_ms - step->now_ms));
    command->err.until_at_ms = ready_at_ms;
    return code;
}

/* Whether the limits of its definition let one more task begin. May be short. */
static enum pawl_code may_pass(struct pawl_step *step, struct pawl_command *command,
                               const struct pawl_task_row *task)
{
    struct pawl_gate_room room;
    pawl_gate_look(step, type_of(pawl_queue_by_key(step, task->queue)), &room);
    if (room.count > 0) return PAWL_OK;
    command->err.until_at_ms = room.opens_at_ms;
    enum pawl_code code = pawl_error_set(
        &command->err, PAWL_LIMIT, "task %.*s: the definition of %.*s lets no more begin now: its %s is reached",
        PAWL_STR_ARG(task->id), PAWL_STR_ARG(room.name),
        room.opens_at_ms != 0 ? "rateLimitPerFrequency" : "concurrentExecLimit");
    command->err.until_at_ms = room.opens_at_ms;
    return code;
}

enum pawl_code pawl_rule_start(struct pawl_step *step, struct pawl_command *command)
{
    const struct pawl_claim *ask = command->ask.claim.ask;
    struct pawl_entry *entry;
    enum pawl_code code = pawl_task_find_own(step, command, &entry);
    if (code != PAWL_OK) return code;
    struct pawl_entry *worker = need_worker(step, command);
    if (worker == NULL) return PAWL_BUSY;
    look_at_body(step, entry->row);
    struct pawl_entry **held = NULL;
    size_t held_count = is_repeat(ask, worker->row) ? granted_before(step, worker->row, &held) : 0;
    bool is_again = held_count == 1 && held[0] == entry;
    if (!is_again) code = may_start(step, command, entry->row);
    if (!is_again && code == PAWL_OK) code = may_pass(step, command, entry->row);
    if (code != PAWL_OK || step->set.is_short) return code;
    if (!is_again) {
        grant(step, entry, worker->row, command, ask->lease_ms);
        const struct pawl_task_row *task = entry->row;
        struct pawl_granted granted = {task->key, task->epoch};
        note_grants(step, command, worker, &granted, 1);
    }
    tell_grant(step, command, entry->row, ask->worker_id, command->out.grant);
    return pawl_reply_code(command);
}

/* One queue of a claim: its ready rows, read when the step's first half was saved. */
struct source {
    struct pawl_rows *ready;
    struct pawl_gate_room *room; /* shared by the queues of one definition */
    size_t began_at; /* ready->next when this claim began */
    bool is_cut; /* the list ended at its limit: the queue may hold more */
};

/* What a claim gives: what it picked, or what it was given before. */
struct giving {
    struct pawl_entry **tasks;
    size_t count;
    bool is_again; /* the same request: its grants stand */
    struct source *sources;
    size_t source_count;
    struct pawl_gate_room *rooms; /* of their definitions */
    size_t room_count;
};

/* The claim is undone: what it picked is there for the next one. */
static void put_back(struct source *sources, size_t count)
{
    for (size_t i = 0; i < count; i++) sources[i].ready->next = sources[i].began_at;
}

/* The best row left of a source: still QUEUED and wanted; NULL if there is none. */
static struct pawl_entry *source_head(struct pawl_step *step, struct source *source,
                                      int32_t priority_min)
{
    while (source->ready->next < source->ready->count) {
        int64_t key = ((const int64_t *)source->ready->rows)[source->ready->next];
        struct pawl_entry *entry = pawl_set_task(&step->set, key);
        const struct pawl_task_row *task =
            entry == NULL || !entry->is_loaded ? NULL : entry->row;
        if (task != NULL && task->rank != PAWL_RANK_NONE) {
            return task->priority >= priority_min ? entry : NULL;
        }
        source->ready->next++; /* given out in this step already */
    }
    return NULL;
}

/* Asks for the bodies of all that may be given out at once: one by one, each claim of a step would cost a
 * round of its own. What is beyond the budget is asked for when its turn comes. */
static void look_ahead(struct pawl_step *step, struct pawl_rows *ready)
{
    int64_t bytes = 0;
    ready->is_looked_at = true;
    for (size_t i = 0; i < ready->count; i++) {
        struct pawl_entry *entry = pawl_set_task(&step->set, ((const int64_t *)ready->rows)[i]);
        if (entry == NULL || !entry->is_loaded || entry->row == NULL) continue;
        const struct pawl_task_row *task = entry->row;
        bytes += task->payload_bytes + task->checkpoint_bytes;
        if (bytes > PAWL_CLAIM_BYTES_MAX || bytes > step->claim_bytes_left) return;
        look_at_body(step, task);
    }
}

/* The key of the queue of a task that has ended; 0 for any other task. */
static int64_t queue_after(struct pawl_step *step, struct pawl_str task_id)
{
    int64_t key = pawl_set_key(&step->set, PAWL_LOOK_TASK_ID, task_id);
    const struct pawl_entry *entry = key == 0 ? NULL : pawl_set_task(&step->set, key);
    const struct pawl_task_row *task = entry == NULL || !entry->is_loaded ? NULL : entry->row;
    return task != NULL && pawl_task_state_is_terminal(task->state) ? task->queue : 0;
}

/* What the gate of a queue lets through; NULL if it is shut. */
static struct pawl_gate_room *room_of(struct pawl_step *step, const struct pawl_queue_row *queue,
                                      struct giving *giving)
{
    struct pawl_str type = type_of(queue);
    for (size_t i = 0; i < giving->room_count; i++) {
        struct pawl_gate_room *known = &giving->rooms[i];
        if (pawl_str_equal(known->name, type)) return known->count > 0 ? known : NULL;
    }
    struct pawl_gate_room *room = &giving->rooms[giving->room_count++];
    pawl_gate_look(step, type, room);
    return room->count > 0 ? room : NULL;
}

/* The asked queues that exist, are not paused, and whose gates are open. */
static size_t open_sources(struct pawl_step *step, const struct pawl_command *command,
                           struct giving *giving)
{
    struct source *sources = giving->sources;
    size_t name_count;
    const struct pawl_str *names = pawl_claim_queues(command->ask.claim.ask, &name_count);
    const struct pawl_poll *poll = command->ask.claim.poll;
    bool is_after = poll != NULL && poll->after.len > 0;
    size_t count = 0;
    for (size_t i = 0; i < name_count; i++) {
        int64_t key = is_after ? queue_after(step, poll->after) : pawl_queue_key(step, names[i]);
        if (key == 0) continue;
        const struct pawl_queue_row *queue = pawl_queue_by_key(step, key);
        if (queue == NULL || queue->is_paused) continue;
        struct pawl_gate_room *room = room_of(step, queue, giving);
        if (room == NULL) continue;
        struct pawl_entry *list =
            pawl_set_look(&step->set, PAWL_LOOK_READY, key, none, 0, step->ready_limit);
        if (list == NULL || !list->is_loaded) continue;
        struct pawl_rows *rows = list->row;
        if (!rows->is_looked_at) look_ahead(step, rows);
        sources[count++] = (struct source){
            .ready = rows, .room = room, .began_at = rows->next, .is_cut = rows->is_cut};
    }
    return count;
}

static size_t max_of(const struct pawl_claim *ask)
{
    return ask->max == 0 ? 1 : (size_t)ask->max;
}

/* Picks the best ready tasks of all sources into `picked`, bounded in number and bytes. The heads' ranks
 * say the order; between equal ranks the queue named first wins. */
static size_t pick(struct pawl_step *step, const struct pawl_claim *ask, struct source *sources,
                   size_t source_count, struct pawl_entry **picked)
{
    size_t max = max_of(ask);
    size_t count = 0;
    int64_t bytes = 0;
    while (count < max) {
        struct pawl_entry *best = NULL;
        struct source *from = NULL;
        for (size_t i = 0; i < source_count; i++) {
            if (sources[i].room->count == 0) continue;
            struct pawl_entry *head = source_head(step, &sources[i], ask->priority_min);
            if (head == NULL) continue;
            const struct pawl_task_row *task = head->row;
            if (best != NULL && task->rank >= ((const struct pawl_task_row *)best->row)->rank) continue;
            best = head;
            from = &sources[i];
        }
        if (best == NULL) break;
        const struct pawl_task_row *task = best->row;
        int64_t more = task->payload_bytes + task->checkpoint_bytes;
        bytes += more;
        if (count > 0 && bytes > PAWL_CLAIM_BYTES_MAX) break;
        if (more > step->claim_bytes_left) {
            step->was_cut = true; /* others have spent it */
            break;
        }
        step->claim_bytes_left -= more;
        look_at_body(step, task);
        picked[count++] = best;
        from->ready->next++;
        from->room->count--;
    }
    return count;
}

/* Finds what to give. NO_MEMORY, or what was found does not count yet (the set is short). */
static enum pawl_code find_tasks(struct pawl_step *step, const struct pawl_command *command,
                                 struct giving *giving)
{
    const struct pawl_claim *ask = command->ask.claim.ask;
    int64_t worker_key = pawl_worker_key(step, ask->worker_id);
    struct pawl_entry *known =
        worker_key == 0 ? NULL
                        : pawl_set_look(&step->set, PAWL_LOOK_WORKER, worker_key, none, 0, 0);
    giving->is_again = known != NULL && known->is_loaded && known->row != NULL &&
                       is_repeat(ask, known->row);
    giving->tasks = pawl_step_take(step, max_of(ask) * sizeof(struct pawl_entry *));
    giving->sources = pawl_step_take(step, (ask->queue_count + 1) * sizeof *giving->sources);
    giving->rooms = pawl_step_take(step, (ask->queue_count + 1) * sizeof *giving->rooms);
    if (giving->tasks == NULL || giving->sources == NULL || giving->rooms == NULL) return PAWL_NO_MEMORY;
    if (giving->is_again) {
        giving->count = granted_before(step, known->row, &giving->tasks);
        return PAWL_OK;
    }
    giving->source_count = open_sources(step, command, giving);
    if (step->set.is_short) return PAWL_OK;
    giving->count = pick(step, ask, giving->sources, giving->source_count, giving->tasks);
    return PAWL_OK;
}

/* Grants what was picked. */
static enum pawl_code grant_all(struct pawl_step *step, struct pawl_command *command,
                                const struct giving *giving)
{
    if (giving->count == 0 || giving->is_again) return PAWL_OK;
    struct pawl_granted *granted = pawl_step_take(step, giving->count * sizeof *granted);
    struct pawl_entry *worker = need_worker(step, command);
    /* a poll is of one queue, so all of its tasks are of one type */
    int64_t lease_ms = lease_ms_of(step, command, giving->tasks[0]->row);
    if (granted == NULL || worker == NULL || step->set.is_short) return PAWL_BUSY;
    for (size_t i = 0; i < giving->count; i++) {
        grant(step, giving->tasks[i], worker->row, command, lease_ms);
        const struct pawl_task_row *task = giving->tasks[i]->row;
        granted[i] = (struct pawl_granted){task->key, task->epoch};
    }
    note_grants(step, command, worker, granted, giving->count);
    command->taken = (int64_t)giving->count;
    return PAWL_OK;
}

/* Whether one of the queues may hold more than was read of it. */
static bool has_cut_source(const struct giving *giving)
{
    for (size_t i = 0; i < giving->source_count; i++) {
        const struct pawl_rows *ready = giving->sources[i].ready;
        if (giving->sources[i].is_cut && ready->next == ready->count) return true;
    }
    return false;
}

/* When the first of the gates that are shut lets one through again, as far as that is known. */
static int64_t opens_at_ms(const struct giving *giving)
{
    int64_t at_ms = 0;
    for (size_t i = 0; i < giving->room_count; i++) {
        const struct pawl_gate_room *room = &giving->rooms[i];
        if (room->count > 0 || room->opens_at_ms == 0) continue;
        if (at_ms == 0 || room->opens_at_ms < at_ms) at_ms = room->opens_at_ms;
    }
    return at_ms;
}

enum pawl_code pawl_rule_claim(struct pawl_step *step, struct pawl_command *command)
{
    const struct pawl_claim *ask = command->ask.claim.ask;
    struct giving giving = {0};
    enum pawl_code code = find_tasks(step, command, &giving);
    struct pawl_grant *grants = NULL;
    if (code == PAWL_OK && !step->set.is_short) {
        size_t room = giving.count == 0 ? 1 : giving.count;
        grants = pawl_arena_take_array(command->keep, room, sizeof *grants);
        code = grants == NULL ? pawl_reply_code(command) : grant_all(step, command, &giving);
    }
    if (code == PAWL_OK && grants != NULL) {
        for (size_t i = 0; i < giving.count; i++) {
            tell_grant(step, command, giving.tasks[i]->row, ask->worker_id, &grants[i]);
        }
        code = pawl_reply_code(command);
    }
    if (code != PAWL_OK || step->set.is_short) {
        put_back(giving.sources, giving.source_count); /* it is picked again, by this one or the next */
        return code == PAWL_OK ? PAWL_BUSY : code;
    }
    if (giving.count == 0 && has_cut_source(&giving)) step->was_cut = true;
    command->opens_at_ms = giving.count == 0 ? opens_at_ms(&giving) : 0;
    *command->out.claimed = (struct pawl_claimed){.grants = grants, .count = giving.count};
    return PAWL_OK;
}

/* A worker that only renews is there all the same. Its row has come with the fence, by its id. */
static void sign_of_life(struct pawl_step *step, int64_t worker)
{
    struct pawl_entry *entry = pawl_set_look(&step->set, PAWL_LOOK_WORKER, worker, none, 0, 0);
    if (entry == NULL || !entry->is_loaded || entry->row == NULL) return;
    const struct pawl_worker_row *before = entry->row;
    if (step->now_ms - before->seen_at_ms < PAWL_WORKER_RENEWED_EVERY_MS) return;
    ((struct pawl_worker_row *)pawl_set_change(&step->set, entry))->seen_at_ms = step->now_ms;
}

static struct pawl_renewal renewal_of(const struct pawl_step *step, const struct pawl_task_row *task)
{
    return (struct pawl_renewal){.code = PAWL_OK,
                                 .lease_end_at_ms = task->lease_end_at_ms,
                                 .lease_ms = task->lease_end_at_ms - step->now_ms,
                                 .control = task->control,
                                 .control_deadline_at_ms = task->control_deadline_at_ms};
}

/* *out has the code with which the task was found. */
static void renew_one(struct pawl_step *step, const struct pawl_command *command,
                      const struct pawl_fence *fence, struct pawl_entry *entry, struct pawl_renewal *out)
{
    int64_t lease_ms = command->ask.renew.lease_ms;
    const struct pawl_task_row *before = entry == NULL ? NULL : entry->row;
    if (out->code == PAWL_CORRUPT) return; /* nobody can tell whether the lease is lost */
    if (before == NULL || !pawl_fence_holds(step, fence, before)) {
        *out = (struct pawl_renewal){.code = PAWL_LEASE_LOST};
        return;
    }
    if (command->ask.renew.only_looks) {
        *out = renewal_of(step, before);
        return;
    }
    sign_of_life(step, before->owner);
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    int64_t length_ms = lease_ms != 0 ? lease_ms : task->lease_ms;
    task->lease_end_at_ms = pawl_lease_end(step, task, length_ms);
    /* The timer may be early: it is left where it is and re-armed when it fires, so that a renewal moves no
     * index entry. It must never be late. */
    if (task->lease_end_at_ms < task->due_at_ms) task->due_at_ms = task->lease_end_at_ms;
    *out = renewal_of(step, task);
}

enum pawl_code pawl_rule_renew(struct pawl_step *step, struct pawl_command *command)
{
    size_t count = command->ask.renew.count;
    struct pawl_entry **entries = pawl_step_take(step, (count + 1) * sizeof(struct pawl_entry *));
    if (entries == NULL) return PAWL_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const struct pawl_fence *fence = &command->ask.renew.fences[i];
        (void)pawl_worker_key(step, fence->owner);
        enum pawl_code code = pawl_task_find(step, command, fence->task_id, &entries[i]);
        if (code != PAWL_OK) entries[i] = NULL;
        command->out.renewals[i] = (struct pawl_renewal){.code = code};
    }
    if (step->set.is_short) return PAWL_BUSY;
    command->err = (struct pawl_error){0};
    for (size_t i = 0; i < count; i++) {
        renew_one(step, command, &command->ask.renew.fences[i], entries[i], &command->out.renewals[i]);
    }
    return PAWL_OK;
}
