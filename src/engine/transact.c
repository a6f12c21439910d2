/* One step: what has come due and what has arrived, in one transaction and in two halves. First due rows and
 * commands in order of arrival; then, on the ready index as just saved, claims only. The commit is the group
 * commit: while it waits for the disk the next step's commands gather.
 *
 * Loading runs in rounds. A command that meets a row not loaded leaves nothing behind and runs again after
 * the next round, which loads all that was missing at once. Commands on the same task never overtake.
 *
 * If the transaction fails it is rolled back and its commands run again one by one, so that only the guilty
 * one gets the error. Runs on the engine's thread, or on the caller's of a driven handle. */
#include "engine/transaction.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/limits.h"
#include "core/task/calendar.h"
#include "core/task/queue.h"
#include "engine/listen.h"
#include "store/id.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const struct pawl_str none = {0};

/* ---- Running ---- */

/* The ids of tasks whose earlier command has to run again: later ones wait. */
static bool waits_behind(struct pawl_map *held, const struct pawl_request *request)
{
    struct pawl_str id = request->command.task_id;
    return id.len > 0 && pawl_map_at(held, 0, 0, id) != NULL;
}

static void hold_back(struct pawl_transaction *t, struct pawl_map *held, const struct pawl_request *request)
{
    struct pawl_str id = request->command.task_id;
    if (id.len == 0) return;
    void **slot = pawl_map_put(held, 0, 0, id);
    if (slot == NULL) {
        t->step.set.is_full = true;
    } else {
        *slot = held;
    }
}

/* A claim that nobody waits for: what it was granted would only be lost for a while. */
static bool is_abandoned(const struct pawl_request *request)
{
    return request->command.kind == PAWL_COMMAND_CLAIM && atomic_load(&request->is_cancelled);
}

static void tell_checkpoint(struct pawl_transaction *t, struct pawl_command *command)
{
    if (command->out.checkpoint_id == NULL) return;
    struct pawl_str id =
        pawl_checkpoint_id(t->head.store_id, command->made, t->step.now_ms, t->step.set.arena);
    if (id.len == 0) return; /* the arena is full, so the step will fail */
    pawl_assert(id.len == PAWL_CHECKPOINT_ID_BYTES);
    memcpy(command->out.checkpoint_id, id.ptr, id.len);
    command->out.checkpoint_id[id.len] = '\0';
}

static bool run_one(struct pawl_transaction *t, struct pawl_request *request)
{
    size_t caused = t->step.caused.count;
    if (request->command.keep != NULL) {
        pawl_arena_rewind(request->command.keep, request->keep_mark);
    }
    if (request->command.kind == PAWL_COMMAND_ACKNOWLEDGE) {
        request->command.ask.acknowledge.position = pawl_event_id_position(
            t->head.store_id, request->command.ask.acknowledge.event_id);
    }
    if (is_abandoned(request)) {
        request->command.code = PAWL_OK; /* with no grant */
    } else if (pawl_step_run(&t->step, &request->command) == PAWL_NEED) {
        return false;
    }
    if (request->command.kind == PAWL_COMMAND_CHECKPOINT && request->command.code == PAWL_OK) {
        tell_checkpoint(t, &request->command);
    }
    pawl_own_note_caused(t, request, caused);
    request->is_done = true;
    return true;
}

/* Runs each request of a list once; those that are through go to `done`. Returns how many. */
static size_t pass(struct pawl_transaction *t, struct pawl_requests *list, struct pawl_requests *done)
{
    struct pawl_requests again = {0};
    struct pawl_map held;
    pawl_map_init(&held, t->step.set.arena);
    size_t count = 0;
    for (struct pawl_request *request; (request = pawl_requests_take(list)) != NULL;) {
        bool is_through = !t->step.set.is_full && !waits_behind(&held, request) && run_one(t, request);
        if (is_through) {
            pawl_requests_add(done, request);
            count++;
        } else {
            hold_back(t, &held, request);
            pawl_requests_add(&again, request);
        }
    }
    *list = again;
    return count;
}

/* Runs a half to its end, or to its last round. */
static enum pawl_code run_half(struct pawl_transaction *t, struct pawl_requests *list, bool is_last_chance,
                               struct pawl_error *err)
{
    int rounds_max = is_last_chance ? PAWL_STEP_ROUNDS_MAX * 8 : PAWL_STEP_ROUNDS_MAX;
    for (int round = 0; round < rounds_max; round++) {
        size_t moved = 0;
        if (t->urgent.count > 0) moved += pass(t, &t->urgent, &t->continued);
        moved += pass(t, list, &t->done);
        if (t->step.set.is_full) {
            enum pawl_code code = pawl_arena_code(t->step.set.arena);
            return pawl_error_set(err, code == PAWL_OK ? PAWL_NO_MEMORY : code,
                                  "the step has no more memory");
        }
        if (t->step.set.wanted.count > 0) {
            enum pawl_code code = pawl_store_load(t->pawl->store, &t->step.set, err);
            if (code != PAWL_OK) return code;
            pawl_own_schedule_due(t);
            continue;
        }
        if ((list->count == 0 && t->urgent.count == 0) || moved == 0) break;
    }
    return PAWL_OK;
}

static int32_t wanted_by(const struct pawl_requests *claims)
{
    int64_t wanted = 0;
    for (const struct pawl_request *claim = claims->first; claim != NULL; claim = claim->next) {
        int32_t max = claim->command.ask.claim.ask->max;
        wanted += max == 0 ? 1 : max;
    }
    return wanted < PAWL_BATCH_MAX ? (int32_t)wanted : PAWL_BATCH_MAX;
}

/* Queue names are for people: looked up only when somebody listens. */
static enum pawl_code name_queues(struct pawl_transaction *t, struct pawl_error *err)
{
    struct pawl_append *events = &t->step.set.appends[PAWL_APPEND_EVENT];
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < events->count; i++) {
            struct pawl_event_new *event = ((struct pawl_event_new *const *)events->items)[i];
            struct pawl_entry *queue =
                pawl_set_look(&t->step.set, PAWL_LOOK_QUEUE, event->task->queue, none, 0, 0);
            if (queue == NULL || !queue->is_loaded || queue->row == NULL) continue;
            event->queue_name = ((const struct pawl_queue_row *)queue->row)->name;
        }
        if (t->step.set.wanted.count == 0) break;
        enum pawl_code code = pawl_store_load(t->pawl->store, &t->step.set, err);
        if (code != PAWL_OK) return code;
    }
    return PAWL_OK;
}

static void call_on_completed(struct pawl_transaction *t)
{
    struct pawl *pawl = t->pawl;
    const struct pawl_append *events = &t->step.set.appends[PAWL_APPEND_EVENT];
    for (size_t i = 0; i < events->count; i++) {
        const struct pawl_event_new *event = ((struct pawl_event_new *const *)events->items)[i];
        bool is_completion = event->row.type == PAWL_EVENT_COMPLETED ||
                             event->row.type == PAWL_EVENT_RESOLVED_COMPLETED;
        if (!is_completion) continue;
        int64_t key = event->task->key * PAWL_PAYLOAD_KINDS_MAX + PAWL_PAYLOAD_RESULT;
        struct pawl_str result = none;
        void **slot = pawl_map_at(&t->step.set.entries, PAWL_LOOK_PAYLOAD, key, none);
        const struct pawl_entry *entry = slot == NULL ? NULL : *slot;
        if (entry != NULL && entry->row != NULL) result = *(const struct pawl_str *)entry->row;
        pawl->on_completed(pawl->on_completed_self, event->task->title,
                           pawl_utf8_cut_points(result, PAWL_REASON_POINTS));
    }
}

static bool only_looks(const struct pawl_request *request)
{
    return request->command.kind == PAWL_COMMAND_RENEW && request->command.ask.renew.only_looks;
}

static bool found_nothing(const struct pawl_request *request)
{
    return request->command.kind == PAWL_COMMAND_CLAIM && request->command.code == PAWL_OK &&
           request->command.out.claimed->count == 0;
}

/* Whether somebody is told of something, be it only that it has been done before, or cannot be done any more. */
static bool acknowledges(const struct pawl_transaction *t)
{
    for (const struct pawl_request *r = t->done.first; r != NULL; r = r->next) {
        if (!found_nothing(r) && !only_looks(r)) return true;
    }
    return false;
}

/* ---- Round 0, on PostgreSQL: what can be read with the begin saves a round trip ---- */

static int64_t *known_queue(struct pawl *pawl, struct pawl_str name)
{
    for (size_t i = 0; i < PAWL_ENGINE_QUEUES_KNOWN; i++) {
        struct pawl_known_queue *known = &pawl->queues[i];
        if (known->key != 0 && pawl_str_equal(pawl_str_of(known->name), name)) return &known->key;
    }
    return NULL;
}

/* Asks for the ready index of what a claim asks for: only where nothing comes before the claims that could change it. */
static void want_ready(struct pawl_transaction *t, const struct pawl_request *claim)
{
    size_t count;
    const struct pawl_str *names = pawl_claim_queues(claim->command.ask.claim.ask, &count);
    for (size_t i = 0; i < count; i++) {
        const int64_t *key = known_queue(t->pawl, names[i]);
        if (key == NULL) continue;
        (void)pawl_set_look(&t->step.set, PAWL_LOOK_READY, *key, none, 0, t->step.ready_limit);
        t->has_ready = true;
    }
}

static void want(struct pawl_transaction *t)
{
    struct pawl *pawl = t->pawl;
    if (!pawl_store_is_postgres(pawl->store) || pawl->is_careful || pawl->is_dying) return;
    bool is_alone = t->work.count == 0 && !pawl_parked_is_roused(pawl->parked);
    t->step.ready_limit = wanted_by(&t->claims);
    for (const struct pawl_request *r = t->work.first; r != NULL; r = r->next) {
        pawl_step_want(&t->step, &r->command);
    }
    for (const struct pawl_request *r = t->claims.first; r != NULL; r = r->next) {
        pawl_step_want(&t->step, &r->command);
        if (is_alone) want_ready(t, r);
    }
    t->step.set.is_short = false;
}

/* The engine's own work comes before the claims after all: they are to read the ready index as it leaves it. */
static void forget_ready(struct pawl_transaction *t)
{
    struct pawl_map *entries = &t->step.set.entries;
    for (size_t i = 0; i < pawl_map_count(entries); i++) {
        const struct pawl_map_entry *slot = pawl_map_entry(entries, i);
        struct pawl_entry *entry = slot->value;
        if (slot->kind == PAWL_LOOK_READY && entry != NULL) entry->is_loaded = false;
    }
}

static void learn_queues(struct pawl_transaction *t, const struct pawl_request *claim)
{
    struct pawl *pawl = t->pawl;
    size_t count;
    const struct pawl_str *names = pawl_claim_queues(claim->command.ask.claim.ask, &count);
    for (size_t i = 0; i < count; i++) {
        const int64_t *key = pawl_set_known(&t->step.set, PAWL_LOOK_QUEUE_NAME, 0, names[i]);
        bool fits = names[i].len <= PAWL_QUEUE_NAME_BYTES_MAX;
        if (key == NULL || !fits || known_queue(pawl, names[i]) != NULL) continue;
        struct pawl_known_queue *known = &pawl->queues[pawl->queue_next++ % PAWL_ENGINE_QUEUES_KNOWN];
        *known = (struct pawl_known_queue){.key = *key};
        memcpy(known->name, names[i].ptr, names[i].len);
    }
}

/* The engine's own work of the step, then what round 0 has met that is due: it comes first, whoever loaded it. */
static enum pawl_code schedule(struct pawl_transaction *t, struct pawl_error *err)
{
    struct pawl_append met = t->step.set.loaded_tasks;
    t->step.set.loaded_tasks = (struct pawl_append){0};
    enum pawl_code code = pawl_own_schedule(t, err);
    t->step.set.loaded_tasks = met;
    if (code == PAWL_OK) pawl_own_schedule_due(t);
    if (code == PAWL_OK && t->has_ready && t->urgent.count > 0) forget_ready(t);
    return code;
}

static enum pawl_code begin(struct pawl_transaction *t, struct pawl_error *err)
{
    struct pawl *pawl = t->pawl;
    t->began_boot_ms = pawl->env->boot_ms(pawl->env->self);
    pawl_set_init(&t->step.set, pawl->arena);
    want(t);
    enum pawl_code code = pawl_store_begin_with(pawl->store, &t->step.set, &t->head, err);
    if (code != PAWL_OK) return code;
    pawl_assert(t->head.store_id.len < sizeof pawl->store_id);
    memcpy(pawl->store_id, t->head.store_id.ptr, t->head.store_id.len);
    t->step.now_ms = t->head.now_ms;
    t->step.scratch = pawl->scratch;
    t->step.random[0] = pawl->env->random(pawl->env->self);
    t->step.random[1] = pawl->env->random(pawl->env->self);
    t->step.next_key = t->head.next_key;
    t->step.head_position = t->head.position;
    t->step.generation = t->step.generation_begun = t->head.generation;
    t->step.lease_ms = pawl->lease_ms;
    t->step.can_prove = pawl->has_timers;
    t->step.consumer_keep_ms = pawl->consumer_keep_ms;
    t->step.claim_bytes_left = PAWL_STEP_CLAIM_BYTES_MAX;
    if (t->head.wall_offset_ms != t->head.wall_ahead_ms) pawl_calendar_rearm(&t->step);
    t->head.wall_offset_ms = t->head.wall_ahead_ms;
    t->step.wall_offset_ms = t->head.wall_offset_ms;
    return PAWL_OK;
}

/* Waiting claims come before the step's own: they have waited longest. */
static void take_parked(struct pawl_transaction *t)
{
    struct pawl_parked *parked = t->pawl->parked;
    struct pawl_requests claims = {0};
    pawl_parked_rouse(parked, &t->step);
    pawl_parked_take(parked, &claims, PAWL_STEP_COMMANDS_MAX);
    if (claims.count == 0) return;
    t->had_company = true;
    for (struct pawl_request *claim; (claim = pawl_requests_take(&t->claims)) != NULL;) {
        pawl_requests_add(&claims, claim);
    }
    t->claims = claims;
}

static enum pawl_code save(struct pawl_transaction *t, struct pawl_error *err)
{
    t->late_results += t->step.set.appends[PAWL_APPEND_LATE].count;
    return pawl_store_save(t->pawl->store, &t->step.set, err);
}

static enum pawl_code commit(struct pawl_transaction *t, struct pawl_error *err)
{
    const struct pawl_env *env = t->pawl->env;
    int64_t began_boot_ms = env->boot_ms(env->self);
    enum pawl_code code = pawl_store_commit(t->pawl->store, &t->step.set, &t->head, err);
    t->commit_ms = env->boot_ms(env->self) - began_boot_ms;
    return code;
}

static enum pawl_code run_transaction(struct pawl_transaction *t, bool is_last_chance,
                                      struct pawl_error *err)
{
    struct pawl *pawl = t->pawl;
    enum pawl_code code = begin(t, err);
    if (code != PAWL_OK) return code;
    code = schedule(t, err);
    if (code == PAWL_OK) code = run_half(t, &t->work, is_last_chance, err);
    if (code == PAWL_OK) code = save(t, err);
    if (code == PAWL_OK && t->with_parked) take_parked(t);
    if (code == PAWL_OK && t->claims.count > 0) {
        t->step.ready_limit = wanted_by(&t->claims);
        t->step.claim_bytes_left = PAWL_STEP_CLAIM_BYTES_MAX;
        code = run_half(t, &t->claims, is_last_chance, err);
        if (code == PAWL_OK) code = save(t, err);
    }
    bool has_ears = pawl->listening != NULL || pawl->log.write != NULL;
    if (code == PAWL_OK && has_ears) code = name_queues(t, err);
    t->head.knocks = t->step.knocks;
    t->head.next_key = t->step.next_key;
    t->head.generation = t->step.generation;
    t->head.acknowledges = acknowledges(t);
    if (code == PAWL_OK) code = commit(t, err);
    if (code != PAWL_OK && code != PAWL_UNKNOWN_OUTCOME) pawl_store_rollback(pawl->store);
    return code;
}

/* ---- After the commit ---- */

/* An answer that may go out now, or has to wait for something. */
static void answer_or_keep(struct pawl_transaction *t, struct pawl_request *request)
{
    struct pawl *pawl = t->pawl;
    if (found_nothing(request)) {
        int64_t opens_at_ms = request->command.opens_at_ms;
        int64_t next_at_ms = pawl->next_due_at_ms == INT64_MAX ? 0 : pawl->next_due_at_ms;
        if (opens_at_ms != 0 && (next_at_ms == 0 || opens_at_ms < next_at_ms)) next_at_ms = opens_at_ms;
        request->command.out.claimed->next_at_ms = next_at_ms;
        request->opens_boot_ms =
            opens_at_ms == 0 ? 0 : pawl->env->boot_ms(pawl->env->self) + opens_at_ms - t->head.now_ms;
        if (request->wait_ms > 0 && pawl_engine_may_wait(pawl)) {
            if (request->until_boot_ms == 0) {
                request->until_boot_ms = pawl->env->boot_ms(pawl->env->self) + request->wait_ms;
            }
            request->is_parked = true;
            bool is_awaited = !atomic_load(&request->is_cancelled);
            if (is_awaited && pawl_parked_put(pawl->parked, request, &t->step.set)) return;
        }
    }
    if (request->is_parked && request->command.taken == 0) pawl_parked_rouse_for(pawl->parked, request);
    if (request->continuations > 0) {
        request->until_boot_ms = pawl_continuing_until(pawl);
        pawl_requests_add(&pawl->going_on, request);
        return;
    }
    pawl_request_answer(pawl, request, request->command.code, &request->command.err);
}

static void answer_gone_on(struct pawl *pawl)
{
    struct pawl_requests still = {0};
    for (struct pawl_request *request; (request = pawl_requests_take(&pawl->going_on)) != NULL;) {
        if (request->continuations > 0) {
            pawl_requests_add(&still, request);
        } else {
            pawl_request_answer(pawl, request, request->command.code, &request->command.err);
        }
    }
    pawl->going_on = still;
}

static void tell_the_world(struct pawl_transaction *t)
{
    struct pawl *pawl = t->pawl;
    pawl_engine_changed(pawl);
    pawl_engine_log(&pawl->log, &t->step.set.appends[PAWL_APPEND_EVENT], pawl->arena);
    pawl_engine_log_notices(&pawl->log, &t->step.set.appends[PAWL_APPEND_NOTICE]);
    if (pawl->on_completed != NULL) call_on_completed(t);
    pawl_listening_tell(pawl->listening, &t->step.set.appends[PAWL_APPEND_EVENT],
                        pawl_str_of(pawl->store_id));
}

/* What is due next, by one plain read, or two. */
static void look_ahead(struct pawl *pawl)
{
    int64_t due_at_ms;
    int64_t now_ms;
    int64_t boot_ms = pawl->env->boot_ms(pawl->env->self);
    pawl->next_due_at_ms = 0;
    pawl->next_due_boot_ms = boot_ms + PAWL_ENGINE_PATIENCE_MS;
    if (pawl_store_next_due(pawl->store, &due_at_ms, &now_ms, NULL) != PAWL_OK) return;
    pawl->looked_boot_ms = boot_ms;
    pawl_own_look_at_retention(pawl);
    if (pawl->retain_ms != 0 && pawl->next_retain_at_ms < due_at_ms) due_at_ms = pawl->next_retain_at_ms;
    pawl->next_due_at_ms = due_at_ms == 0 ? now_ms : due_at_ms;
    pawl->next_due_boot_ms =
        due_at_ms == INT64_MAX ? INT64_MAX : boot_ms + (due_at_ms > now_ms ? due_at_ms - now_ms : 0);
}

void pawl_engine_look(struct pawl *pawl, bool *is_worth_a_step)
{
    struct pawl_str queues[PAWL_CLAIM_QUEUES_MAX];
    look_ahead(pawl);
    size_t count = pawl_parked_queues(pawl->parked, queues, PAWL_CLAIM_QUEUES_MAX);
    bool is_ready = count > PAWL_CLAIM_QUEUES_MAX; /* too many to ask about: the step finds out */
    if (!is_ready && count > 0 &&
        pawl_store_has_ready(pawl->store, queues, count, &is_ready, NULL) != PAWL_OK) {
        is_ready = true;
    }
    bool is_due = pawl->has_timers &&
                  pawl->next_due_boot_ms <= pawl->env->boot_ms(pawl->env->self);
    *is_worth_a_step = is_ready || is_due;
}

/* What this step has armed may come before what was known to come next. Known too early is no harm: the
 * look when it fires finds the right time. */
static void arm_earlier(struct pawl_transaction *t)
{
    struct pawl *pawl = t->pawl;
    struct pawl_map *entries = &t->step.set.entries;
    int64_t due_at_ms = INT64_MAX;
    bool is_first_finished = false;
    for (size_t i = 0; i < pawl_map_count(entries); i++) {
        const struct pawl_map_entry *slot = pawl_map_entry(entries, i);
        const void *row = slot->value == NULL ? NULL : ((const struct pawl_entry *)slot->value)->row;
        if (row == NULL) continue;
        if (slot->kind == PAWL_LOOK_CONTINUATION) due_at_ms = t->head.now_ms; /* pruning, for one */
        if (slot->kind != PAWL_LOOK_TASK) continue;
        const struct pawl_task_row *task = row;
        if (task->due_at_ms != 0 && task->due_at_ms < due_at_ms) due_at_ms = task->due_at_ms;
        if (task->finished_at_ms == 0 || pawl->retain_ms == 0) continue;
        int64_t retain_at_ms = task->finished_at_ms + pawl->retain_ms;
        is_first_finished = pawl->has_none_finished;
        if (is_first_finished && retain_at_ms < pawl->next_retain_at_ms) pawl->next_retain_at_ms = retain_at_ms;
        if (pawl->next_retain_at_ms < due_at_ms) due_at_ms = pawl->next_retain_at_ms;
    }
    if (is_first_finished) pawl->has_none_finished = false;
    if (due_at_ms >= pawl->next_due_at_ms) return;
    pawl->next_due_at_ms = due_at_ms;
    pawl->next_due_boot_ms =
        pawl->env->boot_ms(pawl->env->self) + (due_at_ms - t->head.now_ms);
}

/* Whether what is due next has to be read: it is not known, or has just been dealt with, or somebody who
 * goes away empty is told. */
static bool needs_look(const struct pawl_transaction *t)
{
    const struct pawl *pawl = t->pawl;
    for (const struct pawl_request *r = t->done.first; r != NULL; r = r->next) {
        if (found_nothing(r)) return true;
    }
    return pawl->has_timers && (pawl->next_due_at_ms == 0 || t->is_due_read);
}

static void finish(struct pawl_transaction *t)
{
    struct pawl *pawl = t->pawl;
    pawl_counting_step(&pawl->counting, t);
    pawl_own_settle(t);
    if (needs_look(t)) {
        look_ahead(pawl);
    } else if (pawl->has_timers) {
        arm_earlier(t);
    }
    tell_the_world(t);
    bool learns = pawl_store_is_postgres(pawl->store);
    for (struct pawl_request *request; (request = pawl_requests_take(&t->done)) != NULL;) {
        if (learns && request->command.kind == PAWL_COMMAND_CLAIM) learn_queues(t, request);
        if (request->command.kind == PAWL_COMMAND_CLAIM && request->command.code == PAWL_OK) {
            int64_t waited_ms = t->began_boot_ms - request->asked_boot_ms;
            request->command.out.claimed->waited_ms = waited_ms > 0 ? waited_ms : 0;
        }
        if (t->step.was_cut && found_nothing(request)) {
            pawl_requests_add(&pawl->backlog, request); /* others were served first: once more */
        } else {
            answer_or_keep(t, request);
        }
    }
    answer_gone_on(pawl);
    pawl_engine_wake_answered(pawl);
    for (struct pawl_request *request; (request = pawl_requests_take(&t->work)) != NULL;) {
        pawl_requests_add(&pawl->backlog, request);
    }
    for (struct pawl_request *request; (request = pawl_requests_take(&t->claims)) != NULL;) {
        pawl_requests_add(&pawl->backlog, request);
    }
    pawl_parked_rouse(pawl->parked, &t->step); /* too late for the claims of this step */
}

/* Somebody has waited for it, and the next step with him. The turn is not counted: that was another's step. */
static void log_if_slow(const struct pawl_transaction *t)
{
    const struct pawl *pawl = t->pawl;
    if (t->took_ms < PAWL_STEP_SLOW_MS) return;
    pawl_log_write(&pawl->log, PAWL_LOG_WARN, "step.slow", PAWL_INT("took_ms", t->took_ms),
                   PAWL_INT("commands", (int64_t)t->done.count),
                   PAWL_INT("own", (int64_t)t->continued.count),
                   PAWL_INT("events", (int64_t)t->step.set.appends[PAWL_APPEND_EVENT].count));
}

/* ---- The step ---- */

static void answer_all(struct pawl *pawl, struct pawl_requests *list, enum pawl_code code,
                       const struct pawl_error *err)
{
    for (struct pawl_request *request; (request = pawl_requests_take(list)) != NULL;) {
        pawl_request_answer(pawl, request, code, err);
    }
}

/* Gathers what a failed transaction had in hand, as if it had not been tried. Claims that were parked are so
 * again; but after an unknown outcome they may have been granted, and who cannot repeat by a request id is
 * told. */
static struct pawl_requests take_back(struct pawl_transaction *t, enum pawl_code code)
{
    struct pawl_requests all = {0};
    struct pawl_requests *lists[] = {&t->done, &t->work, &t->claims};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (struct pawl_request *request; (request = pawl_requests_take(lists[i])) != NULL;) {
            request->is_done = false;
            bool may_repeat =
                request->is_parked && (code != PAWL_UNKNOWN_OUTCOME ||
                                       request->command.ask.claim.ask->request_id.len > 0);
            if (may_repeat && pawl_parked_put_back(t->pawl->parked, request)) continue;
            pawl_requests_add(&all, request);
        }
    }
    return all;
}

static void sort_halves(struct pawl_transaction *t, struct pawl_requests *list)
{
    for (struct pawl_request *request; (request = pawl_requests_take(list)) != NULL;) {
        bool is_claim = request->command.kind == PAWL_COMMAND_CLAIM;
        pawl_requests_add(is_claim ? &t->claims : &t->work, request);
    }
}

/* Somebody else has changed something: what was known may be out of date, and who waits has to look. */
static void hear_bell(struct pawl *pawl)
{
    pawl->next_due_at_ms = 0;
    pawl_parked_rouse_all(pawl->parked);
    pawl_engine_changed(pawl);
}

/* What others have committed meanwhile, and may have armed. On a file the turn's bell has told of all of it. On
 * PostgreSQL the bell may come late, or never from one who died before he rang: so once a second what is due
 * next is read all the same. Without a bell, or a thread that listens to it, it is read in every step. */
static void hear_others(struct pawl *pawl)
{
    bool has_bell = pawl->turn != NULL || (!pawl->is_driven && pawl_store_bell_fd(pawl->store) >= 0);
    bool rang = pawl->turn != NULL ? pawl_turn_drain(pawl->turn) : pawl_store_bell_drain(pawl->store);
    if (rang) hear_bell(pawl);
    if (rang) pawl_engine_hear_knocks(pawl);
    int64_t known_ms = pawl->env->boot_ms(pawl->env->self) - pawl->looked_boot_ms;
    bool is_known = has_bell && (pawl->turn != NULL || known_ms < PAWL_ENGINE_PATIENCE_MS);
    if (!is_known) pawl->next_due_at_ms = 0;
}

/* What may come along with the callers' commands in one transaction. */
struct company {
    size_t own_max;
    size_t own_skip;
    bool with_parked;
    bool came; /* filled: some of it did */
};

/* How long this step may wait for others: as long as the most urgent of its callers. */
static int64_t patience_ms(const struct pawl *pawl, const struct pawl_requests *list)
{
    int64_t by_boot_ms = INT64_MAX;
    for (const struct pawl_request *r = list->first; r != NULL; r = r->next) {
        if (r->answer_by_boot_ms != 0) by_boot_ms = pawl_earlier(by_boot_ms, r->answer_by_boot_ms);
    }
    if (by_boot_ms == INT64_MAX) return INT64_MAX;
    int64_t left_ms = by_boot_ms - pawl->env->boot_ms(pawl->env->self);
    return left_ms > 1 ? left_ms : 1;
}

/* One try at one transaction. On failure *list holds again what had been taken from it. */
static enum pawl_code try_once(struct pawl *pawl, struct pawl_requests *list, struct company *company,
                               bool is_last_chance, struct pawl_error *err)
{
    struct pawl_transaction t = {.pawl = pawl,
                            .own_max = company->own_max,
                            .own_skip = company->own_skip,
                            .with_parked = company->with_parked};
    int64_t left_ms = patience_ms(pawl, list);
    int64_t turn_ms = left_ms < PAWL_TURN_WAIT_MS_MIN ? PAWL_TURN_WAIT_MS_MIN : left_ms;
    pawl_arena_reset(pawl->arena);
    sort_halves(&t, list);
    enum pawl_code code = pawl->turn == NULL
                              ? PAWL_OK
                              : pawl_turn_take(pawl->turn, pawl_earlier(turn_ms, PAWL_TURN_WAIT_MS_MAX), err);
    pawl_store_patience(pawl->store, left_ms);
    if (code == PAWL_OK) {
        hear_others(pawl);
        code = run_transaction(&t, is_last_chance, err);
        if (code == PAWL_OK) pawl_store_checkpoint(pawl->store);
        t.took_ms = pawl->env->boot_ms(pawl->env->self) - t.began_boot_ms;
        log_if_slow(&t);
        if (pawl->turn != NULL) {
            if (t.head.has_changed || code == PAWL_UNKNOWN_OUTCOME) {
                pawl_turn_ring(pawl->turn, t.step.knocks);
                (void)pawl_turn_drain(pawl->turn); /* our own: nobody else can ring now */
            }
            pawl_turn_give(pawl->turn);
        }
        if (t.step.knocks) pawl_engine_hear_knocks(pawl); /* our own */
    }
    pawl_store_patience(pawl->store, INT64_MAX);
    if (pawl->careful != NULL) pawl_careful_clear(pawl->careful);
    company->came = t.had_company;
    if (code == PAWL_OK) {
        finish(&t);
    } else {
        atomic_fetch_add_explicit(&pawl->counting.failed_steps, 1, memory_order_relaxed);
        *list = take_back(&t, code);
        pawl_parked_rouse_all(pawl->parked); /* what was ready for whoever is not among them any more */
        /* what it has armed may be committed all the same; what others had armed was not read */
        if (code == PAWL_UNKNOWN_OUTCOME) pawl->next_due_at_ms = 0;
        if (pawl->next_due_at_ms == 0) pawl->next_due_boot_ms = pawl->env->boot_ms(pawl->env->self);
    }
    return code;
}

static enum pawl_code try_races(struct pawl *pawl, struct pawl_requests *list, struct company *company,
                                struct pawl_error *err)
{
    enum pawl_code code = PAWL_BUSY;
    for (int race = 0; race < PAWL_RACES_MAX && code == PAWL_BUSY; race++) {
        code = try_once(pawl, list, company, list->count <= 1, err);
        if (!pawl_store_was_race(pawl->store) || patience_ms(pawl, list) <= 1) break;
        atomic_fetch_add_explicit(&pawl->counting.races, 1, memory_order_relaxed);
    }
    return code;
}

/* Each by itself and without company: only the guilty one gets the error. */
static void run_one_by_one(struct pawl *pawl, struct pawl_requests *list)
{
    struct pawl_requests rest = *list;
    *list = (struct pawl_requests){0};
    for (struct pawl_request *request; (request = pawl_requests_take(&rest)) != NULL;) {
        struct pawl_requests alone = {0};
        struct company none_else = {0};
        struct pawl_error err = {0};
        request->is_parked = false;
        pawl_requests_add(&alone, request);
        enum pawl_code code = try_races(pawl, &alone, &none_else, &err);
        if (code != PAWL_OK) answer_all(pawl, &alone, code, &err);
    }
}

/* Those that were in it are roused again. */
static void run_roused_one_by_one(struct pawl *pawl)
{
    struct pawl_requests claims = {0};
    pawl_parked_take(pawl->parked, &claims, PAWL_STEP_COMMANDS_MAX);
    run_one_by_one(pawl, &claims);
}

/* The engine's own work has failed: nobody to tell but the log. When the world is at fault it has
 * patience. Else, from now on, own work goes alone, one piece a step; a piece that fails is passed
 * over, so that the others are on time. */
static void own_work_failed(struct pawl *pawl, const struct company *company, enum pawl_code code,
                            const struct pawl_error *err)
{
    pawl_log_write(&pawl->log, PAWL_LOG_WARN, "step.failed",
                   PAWL_TEXT("code", pawl_str_of(pawl_code_name(code))),
                   PAWL_TEXT("error", pawl_str_of(err->text)));
    bool is_world = code == PAWL_BUSY || code == PAWL_UNKNOWN_OUTCOME || code == PAWL_IO;
    if (is_world || !company->came) {
        pawl->own_skip = 0;
        pawl->no_step_until_boot_ms = pawl->env->boot_ms(pawl->env->self) + PAWL_ENGINE_PATIENCE_MS;
    } else if (pawl->is_careful) {
        pawl->own_skip++;
    } else {
        pawl->is_careful = true;
    }
}

static void own_work_done(struct pawl *pawl, const struct company *company)
{
    if (!pawl->is_careful) {
        pawl->no_step_until_boot_ms = 0; /* what was wrong is over: timers are on time again */
    } else if (pawl->own_skip == 0) {
        pawl->is_careful = false;
    } else if (!company->came) {
        /* only those that fail are left: they are tried again, after a while */
        pawl->own_skip = 0;
        pawl->no_step_until_boot_ms = pawl->env->boot_ms(pawl->env->self) + PAWL_ENGINE_PATIENCE_MS;
    }
}

/* Waiting claims by themselves, while own work is run with care. */
static void serve_parked(struct pawl *pawl)
{
    struct pawl_requests nobody = {0};
    struct company company = {.with_parked = true};
    struct pawl_error err = {0};
    if (!pawl_parked_is_roused(pawl->parked)) return;
    enum pawl_code code = try_races(pawl, &nobody, &company, &err);
    answer_all(pawl, &nobody, code, &err); /* after an unknown outcome */
    if (code != PAWL_OK && code != PAWL_BUSY && code != PAWL_UNKNOWN_OUTCOME) {
        run_roused_one_by_one(pawl);
    }
}

/* A piece of own work by itself: callers are not to suffer from what fails, or kills. */
static void run_own_alone(struct pawl *pawl)
{
    struct pawl_requests nobody = {0};
    struct company company = {.own_max = 1, .own_skip = pawl->own_skip};
    struct pawl_error err = {0};
    enum pawl_code code = try_races(pawl, &nobody, &company, &err);
    if (code == PAWL_OK) {
        own_work_done(pawl, &company);
    } else {
        own_work_failed(pawl, &company, code, &err);
    }
}

/* A transaction with callers in it has failed. */
static void callers_failed(struct pawl *pawl, struct pawl_requests *list, const struct company *company,
                           enum pawl_code code, const struct pawl_error *err)
{
    bool is_answer = code == PAWL_BUSY || code == PAWL_UNKNOWN_OUTCOME || (list->count == 1 && !company->came);
    if (is_answer) {
        answer_all(pawl, list, code, err);
    } else {
        run_one_by_one(pawl, list);
        run_roused_one_by_one(pawl);
    }
}

/* Callers by themselves. */
static void serve_alone(struct pawl *pawl, struct pawl_requests *list)
{
    struct company company = {.with_parked = true};
    struct pawl_error err = {0};
    enum pawl_code code = try_races(pawl, list, &company, &err);
    if (code != PAWL_OK) callers_failed(pawl, list, &company, code, &err);
}

void pawl_engine_step(struct pawl *pawl, struct pawl_requests *list)
{
    if (pawl->is_careful || pawl->is_dying) {
        bool has_callers = list->count > 0;
        if (has_callers) {
            serve_alone(pawl, list);
        } else {
            serve_parked(pawl);
        }
        if (!has_callers || pawl_own_is_due(pawl)) run_own_alone(pawl);
        return;
    }
    struct company company = {.own_max = SIZE_MAX, .with_parked = true};
    struct pawl_error err = {0};
    enum pawl_code code = try_races(pawl, list, &company, &err);
    if (code == PAWL_OK) {
        own_work_done(pawl, &company);
        return;
    }
    callers_failed(pawl, list, &company, code, &err);
    own_work_failed(pawl, &company, code, &err);
}
