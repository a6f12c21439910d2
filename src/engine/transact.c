/* One step: what has come due and what has arrived, in one transaction and in two halves. First due rows and
 * commands in order of arrival; then, on the ready index as just saved, claims only. The commit is the group
 * commit: while it waits for the disk the next step's commands gather.
 *
 * Loading runs in rounds. A command that meets a row not loaded leaves nothing behind and runs again after
 * the next round, which loads all that was missing at once. Commands on the same task never overtake.
 *
 * If the transaction fails it is rolled back and its commands run again one by one, so that only the guilty
 * one gets the error. Runs on the engine's thread, or on the caller's of a driven handle. */
#include "engine/engine.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/limits.h"
#include "core/task/calendar.h"
#include "core/task/queue.h"
#include "engine/listen.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const struct pawl_str none = {0};

/* Pieces of the engine's own work, as their marks name them (careful.h). */
enum own {
    OWN_DUE = 't',
    OWN_FINDING = 'r', /* apart: a look succeeds before its finding is applied */
    OWN_CONTINUATION = 'c',
    OWN_RETENTION = 'g',
};

/* What a command of this step has caused, until the commit makes it so. */
struct caused_here {
    struct caused_here *next;
    int64_t key;
    struct pawl_request *origin;
};

struct transaction {
    struct pawl *pawl;
    struct pawl_head head;
    struct pawl_step step;
    struct pawl_requests urgent; /* the engine's own: due rows and continuations; in the step's arena */
    struct pawl_requests work;   /* the first half; on success only what has to run again is left */
    struct pawl_requests claims; /* the second half */
    struct pawl_requests done;
    struct caused_here *caused;
    struct pawl_requests continued; /* CONTINUE requests that have run */
    bool is_due_read;
    size_t own_max;    /* how much of the engine's own work may come along */
    size_t own_skip;
    enum pawl_code aside_code; /* of setting a deadly row aside */
    struct pawl_error aside_err;
    bool with_parked;
    bool had_company;      /* own work or parked claims did come along */
    int64_t began_boot_ms; /* before the step's now was read */
};

/* ---- The engine's own commands ---- */

static struct pawl_request *own_request(struct transaction *t, enum pawl_command_kind kind,
                                        int64_t number)
{
    struct pawl_request *request = pawl_arena_take(t->step.set.arena, sizeof *request);
    if (request == NULL) {
        t->step.set.is_full = true;
        return NULL;
    }
    request->command.kind = kind;
    request->command.number = number;
    pawl_requests_add(&t->urgent, request);
    return request;
}


static bool is_own_continuation(const struct pawl *pawl, int64_t key)
{
    for (size_t i = 0; i < pawl->caused_count; i++) {
        if (pawl->caused[i].key == key) return true;
    }
    return false;
}

static void schedule_continuation(struct transaction *t, int64_t key, bool is_own)
{
    struct pawl_request *request = own_request(t, PAWL_COMMAND_CONTINUE, key);
    if (request == NULL) return;
    request->own_continuation = key;
    request->command.is_anothers = !is_own;
}

/* It has killed its process too often: it is not met again. */
static void set_aside(struct transaction *t, enum own kind, int64_t key)
{
    const char *table = kind == OWN_CONTINUATION ? "continuation" : "task";
    struct pawl_error err = {0};
    if (kind == OWN_RETENTION) { /* no row of its own: this handle does without */
        t->pawl->retain_ms = 0;
        pawl_log_write(&t->pawl->log, PAWL_LOG_ERROR, "retention.off",
                       PAWL_TEXT("reason", PAWL_STR("it has killed its process, time and again")));
        return;
    }
    enum pawl_code code = pawl_store_set_aside(t->pawl->store, table, key, none,
                                               PAWL_SET_ASIDE_DEADLY, &err);
    if (code != PAWL_OK) {
        t->aside_code = code;
        t->aside_err = err;
    }
}

/* A caller's command has met due work: in careful mode it is marked like any other. */
static bool is_deadly(struct transaction *t, int64_t key)
{
    if (!t->pawl->is_dying) return false;
    if (pawl_careful_mark(t->pawl->careful, (char)OWN_DUE, key) != PAWL_MARK_SPENT) return false;
    set_aside(t, OWN_DUE, key);
    return t->aside_code == PAWL_OK;
}

/* Rows that were loaded and turn out to be due come first, whoever loaded them. */
static void schedule_due(struct transaction *t)
{
    struct pawl_append *loaded = &t->step.set.loaded_tasks;
    for (size_t i = 0; i < loaded->count; i++) {
        struct pawl_entry *entry = ((struct pawl_entry *const *)loaded->items)[i];
        const struct pawl_task_row *task = entry->row;
        if (task == NULL || task->due_at_ms == 0 || task->due_at_ms > t->head.now_ms) continue;
        if (is_deadly(t, task->key)) {
            entry->row = NULL;
            entry->is_bad = true;
            continue;
        }
        (void)own_request(t, PAWL_COMMAND_DUE, task->key);
    }
    loaded->count = 0;
}

/* One piece of own work: a task's or a continuation's. Passed over while the first ones fail, and no more than may
 * come along. In careful mode it is marked first. */
static bool may_schedule(struct transaction *t, enum own kind, int64_t key)
{
    if (t->own_skip > 0) {
        t->own_skip--;
        return false;
    }
    if (t->own_max == 0) return false;
    enum pawl_mark mark = PAWL_MARK_MADE;
    if (t->pawl->is_dying) mark = pawl_careful_mark(t->pawl->careful, (char)kind, key);
    if (mark == PAWL_MARK_HELD) return false;
    t->own_max--;
    t->had_company = true;
    if (mark == PAWL_MARK_SPENT) set_aside(t, kind, key);
    return mark == PAWL_MARK_MADE;
}

/* There is work of the engine's own: whether it is safe to take as much as comes along. */
static void begin_own(struct transaction *t)
{
    struct pawl *pawl = t->pawl;
    if (pawl->careful == NULL) return;
    pawl->is_dying = pawl_careful_begin(pawl->careful);
    if (!pawl->is_dying) return;
    bool has_callers = t->work.count > 0 || t->claims.count > 0;
    if (has_callers || t->own_max > 1) t->own_max = has_callers ? 0 : 1;
}

static bool has_room(const struct transaction *t)
{
    return t->work.count + t->claims.count <= PAWL_RETAINED_BESIDE_MAX;
}

/* A slice of retention, in steps with room. A pass goes on where the slice before it has ended; now and then one
 * begins anew, for what was passed over. */
static void schedule_retention(struct transaction *t)
{
    struct pawl *pawl = t->pawl;
    if (pawl->retain_ms == 0 || pawl->next_retain_at_ms > t->head.now_ms) return;
    if (!has_room(t) || !may_schedule(t, OWN_RETENTION, 0)) return;
    if (t->head.now_ms - pawl->retain_pass_at_ms >= PAWL_RETAINED_PASS_MS) {
        pawl->retained = (struct pawl_finished){0};
        pawl->retain_pass_at_ms = t->head.now_ms;
        pawl->has_passed_over = false;
    }
    struct pawl_request *request = own_request(t, PAWL_COMMAND_RETAIN, 0);
    struct pawl_retained *out = pawl_arena_take(t->step.set.arena, sizeof *out);
    if (request == NULL || out == NULL) {
        t->step.set.is_full = true;
        return;
    }
    request->command.ask.retain = (struct pawl_retain){.older_than_ms = pawl->retain_ms,
                                                       .events_keep_ms = pawl->events_keep_ms,
                                                       .states = PAWL_TASK_STATES_TERMINAL,
                                                       .max = INT64_MAX,
                                                       .after = pawl->retained};
    request->command.out.retained = out;
}

/* What was found out about lost work since. */
static void schedule_found(struct transaction *t)
{
    size_t count;
    const struct pawl_found *found = pawl_proof_found(t->pawl->proof, &count);
    for (size_t i = 0; i < count && i < PAWL_STEP_DUE_MAX; i++) {
        if (!may_schedule(t, OWN_FINDING, found[i].task)) continue;
        struct pawl_request *request = own_request(t, PAWL_COMMAND_RECOVER, found[i].task);
        if (request == NULL) return;
        struct pawl_str note = pawl_str_of(found[i].note);
        request->command.ask.recover.epoch = found[i].epoch;
        request->command.ask.recover.finding = found[i].finding;
        request->command.ask.recover.note = pawl_arena_copy(t->step.set.arena, note);
    }
}

/* What was found out about lost work, continuations this handle has caused, then, where it runs timers,
 * anybody's, then due rows. */
static enum pawl_code schedule_own(struct transaction *t, struct pawl_error *err)
{
    struct pawl *pawl = t->pawl;
    if (t->own_max == 0) return PAWL_OK;
    size_t count = 0;
    (void)pawl_proof_found(pawl->proof, &count);
    if (count > 0 || pawl->caused_count > 0) begin_own(t);
    schedule_found(t);
    count = 0;
    for (size_t i = 0; i < pawl->caused_count && count < PAWL_SLICES_AT_ONCE; i++, count++) {
        int64_t key = pawl->caused[i].key;
        if (may_schedule(t, OWN_CONTINUATION, key)) schedule_continuation(t, key, true);
    }
    bool may_be_due = pawl->next_due_at_ms == 0 || pawl->next_due_at_ms <= t->head.now_ms;
    if (!pawl->has_timers || !may_be_due) return PAWL_OK;
    struct pawl_entry *list =
        pawl_set_look(&t->step.set, PAWL_LOOK_CONTINUATIONS, 0, none, 0, PAWL_SLICES_AT_ONCE);
    struct pawl_entry *due = pawl_set_look(&t->step.set, PAWL_LOOK_DUE, 0, none, t->head.now_ms,
                                           PAWL_STEP_DUE_MAX);
    if (list == NULL || due == NULL) return PAWL_NO_MEMORY;
    enum pawl_code code = pawl_store_load(pawl->store, &t->step.set, err);
    if (code != PAWL_OK) return code;
    const struct pawl_rows *rows = list->row;
    if (rows->count > 0 || ((const struct pawl_rows *)due->row)->count > 0) begin_own(t);
    for (size_t i = 0; i < rows->count && count < PAWL_SLICES_AT_ONCE; i++) {
        int64_t key = ((const struct pawl_continuation_row *)rows->rows)[i].key;
        if (is_own_continuation(pawl, key)) continue;
        if (may_schedule(t, OWN_CONTINUATION, key)) schedule_continuation(t, key, false);
        count++;
    }
    rows = due->row;
    for (size_t i = 0; i < rows->count; i++) {
        int64_t key = ((const int64_t *)rows->rows)[i];
        if (may_schedule(t, OWN_DUE, key)) (void)own_request(t, PAWL_COMMAND_DUE, key);
    }
    t->step.set.loaded_tasks.count = 0; /* they are scheduled, or not for this step */
    schedule_retention(t);
    t->is_due_read = true;
    if (t->aside_code != PAWL_OK && err != NULL) *err = t->aside_err;
    return t->aside_code;
}

/* ---- Running ---- */

/* The ids of tasks whose earlier command has to run again: later ones wait. */
static bool waits_behind(struct pawl_map *held, const struct pawl_request *request)
{
    struct pawl_str id = request->command.task_id;
    return id.len > 0 && pawl_map_at(held, 0, 0, id) != NULL;
}

static void hold_back(struct transaction *t, struct pawl_map *held, const struct pawl_request *request)
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

static struct pawl_request *origin_of(const struct pawl *pawl, struct pawl_request *request)
{
    bool is_own_kind = request->command.kind == PAWL_COMMAND_DUE || request->command.kind == PAWL_COMMAND_RECOVER;
    if (is_own_kind) return NULL;
    bool is_own_retention = request->command.kind == PAWL_COMMAND_RETAIN && request->asked_boot_ms == 0;
    if (is_own_retention) return NULL; /* in the step's arena */
    if (request->command.kind != PAWL_COMMAND_CONTINUE) return request;
    for (size_t i = 0; i < pawl->caused_count; i++) {
        if (pawl->caused[i].key == request->own_continuation) return pawl->caused[i].origin;
    }
    return NULL;
}

static void note_caused(struct transaction *t, struct pawl_request *request, size_t first)
{
    for (size_t i = first; i < t->step.caused.count; i++) {
        struct caused_here *caused = pawl_arena_take(t->step.set.arena, sizeof *caused);
        if (caused == NULL) {
            t->step.set.is_full = true;
            return;
        }
        caused->key = *((int64_t *const *)t->step.caused.items)[i];
        caused->origin = origin_of(t->pawl, request);
        caused->next = t->caused;
        t->caused = caused;
    }
}

/* A claim that nobody waits for: what it was granted would only be lost for a while. */
static bool is_abandoned(const struct pawl_request *request)
{
    return request->command.kind == PAWL_COMMAND_CLAIM && atomic_load(&request->is_cancelled);
}

static bool run_one(struct transaction *t, struct pawl_request *request)
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
    note_caused(t, request, caused);
    request->is_done = true;
    return true;
}

/* Runs each request of a list once; those that are through go to `done`. Returns how many. */
static size_t pass(struct transaction *t, struct pawl_requests *list, struct pawl_requests *done)
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
static enum pawl_code run_half(struct transaction *t, struct pawl_requests *list, bool is_last_chance,
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
            schedule_due(t);
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
static enum pawl_code name_queues(struct transaction *t, struct pawl_error *err)
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

static void call_on_completed(struct transaction *t)
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

static bool found_nothing(const struct pawl_request *request)
{
    return request->command.kind == PAWL_COMMAND_CLAIM && request->command.code == PAWL_OK &&
           request->command.out.claimed->count == 0;
}

/* Whether somebody is told of something, be it only that it has been done before, or cannot be done any more. */
static bool acknowledges(const struct transaction *t)
{
    for (const struct pawl_request *r = t->done.first; r != NULL; r = r->next) {
        if (!found_nothing(r)) return true;
    }
    return false;
}

static enum pawl_code begin(struct transaction *t, struct pawl_error *err)
{
    struct pawl *pawl = t->pawl;
    t->began_boot_ms = pawl->env->boot_ms(pawl->env->self);
    enum pawl_code code = pawl_store_begin(pawl->store, &t->head, err);
    if (code != PAWL_OK) return code;
    pawl_assert(t->head.store_id.len < sizeof pawl->store_id);
    memcpy(pawl->store_id, t->head.store_id.ptr, t->head.store_id.len);
    pawl_set_init(&t->step.set, pawl->arena);
    t->step.now_ms = t->head.now_ms;
    t->step.random[0] = pawl->env->random(pawl->env->self);
    t->step.random[1] = pawl->env->random(pawl->env->self);
    t->step.next_key = t->head.next_key;
    t->step.head_position = t->head.position;
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
static void take_parked(struct transaction *t)
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

static enum pawl_code run_transaction(struct transaction *t, bool is_last_chance,
                                      struct pawl_error *err)
{
    struct pawl *pawl = t->pawl;
    enum pawl_code code = begin(t, err);
    if (code != PAWL_OK) return code;
    code = schedule_own(t, err);
    if (code == PAWL_OK) code = run_half(t, &t->work, is_last_chance, err);
    if (code == PAWL_OK) code = pawl_store_save(pawl->store, &t->step.set, err);
    if (code == PAWL_OK && t->with_parked) take_parked(t);
    if (code == PAWL_OK && t->claims.count > 0) {
        t->step.ready_limit = wanted_by(&t->claims);
        t->step.claim_bytes_left = PAWL_STEP_CLAIM_BYTES_MAX;
        code = run_half(t, &t->claims, is_last_chance, err);
        if (code == PAWL_OK) code = pawl_store_save(pawl->store, &t->step.set, err);
    }
    bool has_ears = pawl->listening != NULL || pawl->log.write != NULL;
    if (code == PAWL_OK && has_ears) code = name_queues(t, err);
    t->head.next_key = t->step.next_key;
    t->head.acknowledges = acknowledges(t);
    if (code == PAWL_OK) code = pawl_store_commit(pawl->store, &t->step.set, &t->head, err);
    if (code != PAWL_OK && code != PAWL_UNKNOWN_OUTCOME) pawl_store_rollback(pawl->store);
    return code;
}

/* ---- After the commit ---- */

static void forget_caused(struct pawl *pawl, int64_t key)
{
    for (size_t i = 0; i < pawl->caused_count; i++) {
        if (pawl->caused[i].key != key) continue;
        if (pawl->caused[i].origin != NULL) pawl->caused[i].origin->continuations--;
        pawl->caused[i] = pawl->caused[--pawl->caused_count];
        return;
    }
}

static void remember_caused(struct pawl *pawl, const struct caused_here *caused)
{
    if (pawl->caused_count == pawl->caused_room) {
        size_t room = pawl->caused_room == 0 ? 16 : pawl->caused_room * 2;
        struct pawl_caused *grown = realloc(pawl->caused, room * sizeof *grown);
        if (grown == NULL) return; /* its row is due: whoever runs timers goes on with it */
        pawl->caused = grown;
        pawl->caused_room = room;
    }
    pawl->caused[pawl->caused_count++] = (struct pawl_caused){caused->key, caused->origin};
    if (caused->origin != NULL) caused->origin->continuations++;
}

static int64_t next_pass_at(const struct pawl *pawl)
{
    return pawl->retain_pass_at_ms + PAWL_RETAINED_PASS_MS;
}

/* Where the next slice of retention begins, and when. */
static void settle_retention(struct transaction *t)
{
    struct pawl *pawl = t->pawl;
    for (const struct pawl_request *own = t->continued.first; own != NULL; own = own->next) {
        if (own->command.kind != PAWL_COMMAND_RETAIN) continue;
        const struct pawl_retained *out = own->command.out.retained;
        pawl->retained = out->after;
        if (out->has_passed_over) pawl->has_passed_over = true;
        pawl->next_retain_at_ms = out->goes_on               ? t->head.now_ms
                                  : out->held_by[0] != '\0' ? t->head.now_ms + PAWL_RETAINED_AGAIN_MS
                                                             : out->next_at_ms;
        if (pawl->next_retain_at_ms > next_pass_at(pawl)) pawl->next_retain_at_ms = next_pass_at(pawl);
    }
}

static int64_t continuing_until(const struct pawl *pawl)
{
    return pawl->env->boot_ms(pawl->env->self) + PAWL_CONTINUING_MS_MAX;
}

/* What was found is in the store; and what the step wants to be found is looked for. */
static void settle_found(struct transaction *t)
{
    for (const struct pawl_request *own = t->continued.first; own != NULL; own = own->next) {
        if (own->command.kind == PAWL_COMMAND_RECOVER) pawl_proof_settle(t->pawl->proof, own->command.number);
    }
    pawl_proof_look(t->pawl->proof, &t->step);
}

static void settle_continuations(struct transaction *t)
{
    struct pawl *pawl = t->pawl;
    for (const struct caused_here *caused = t->caused; caused != NULL; caused = caused->next) {
        remember_caused(pawl, caused);
    }
    for (struct pawl_request *own = t->continued.first; own != NULL; own = own->next) {
        if (own->command.kind != PAWL_COMMAND_CONTINUE) continue;
        struct pawl_request *origin = origin_of(pawl, own);
        if (origin != NULL && pawl->to_the_end) origin->until_boot_ms = continuing_until(pawl);
        bool is_of_redrive = origin != NULL && origin->command.kind == PAWL_COMMAND_REDRIVE;
        /* it may have caused others that resume nothing: its own count only grows */
        if (is_of_redrive && own->command.done > *origin->command.out.count) {
            *origin->command.out.count = own->command.done;
        }
        if (!own->command.goes_on) forget_caused(pawl, own->own_continuation);
    }
}

/* An answer that may go out now, or has to wait for something. */
static void answer_or_keep(struct transaction *t, struct pawl_request *request)
{
    struct pawl *pawl = t->pawl;
    if (found_nothing(request)) {
        request->command.out.claimed->next_at_ms =
            pawl->next_due_at_ms == INT64_MAX ? 0 : pawl->next_due_at_ms;
        if (request->wait_ms > 0 && pawl_engine_may_wait(pawl)) {
            if (request->until_boot_ms == 0) {
                request->until_boot_ms = pawl->env->boot_ms(pawl->env->self) + request->wait_ms;
            }
            request->is_parked = true;
            bool is_awaited = !atomic_load(&request->is_cancelled);
            if (is_awaited && pawl_parked_put(pawl->parked, request, &t->step.set)) return;
        }
    }
    if (request->continuations > 0) {
        request->until_boot_ms = continuing_until(pawl);
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

static void tell_the_world(struct transaction *t)
{
    struct pawl *pawl = t->pawl;
    (void)pthread_mutex_lock(&pawl->lock);
    pawl->change_count++;
    (void)pthread_cond_broadcast(&pawl->changed);
    (void)pthread_mutex_unlock(&pawl->lock);
    pawl_engine_log(&pawl->log, &t->step.set.appends[PAWL_APPEND_EVENT], pawl->arena);
    pawl_engine_log_notices(&pawl->log, &t->step.set.appends[PAWL_APPEND_NOTICE]);
    if (pawl->on_completed != NULL) call_on_completed(t);
    pawl_listening_tell(pawl->listening, &t->step.set.appends[PAWL_APPEND_EVENT],
                        pawl_str_of(pawl->store_id));
}

/* When retention has something to do again: when the next task is old enough, but at the latest when a pass begins
 * anew, since an import brings tasks that ended long ago. The first to end after all others is known of by the
 * bell. */
static void look_at_retention(struct pawl *pawl)
{
    int64_t finished_at_ms;
    if (pawl->retain_ms == 0 || !pawl->has_timers) return;
    if (pawl->next_retain_at_ms != 0 && !pawl->has_none_finished) return;
    if (!pawl->has_passed_over) pawl->retained = (struct pawl_finished){0}; /* what lay before it is gone */
    if (pawl_store_next_finished(pawl->store, &pawl->retained, &finished_at_ms, NULL) != PAWL_OK) return;
    pawl->has_none_finished = finished_at_ms >= INT64_MAX - pawl->retain_ms;
    pawl->next_retain_at_ms = next_pass_at(pawl);
    if (pawl->has_none_finished) return;
    int64_t at_ms = finished_at_ms + pawl->retain_ms;
    if (at_ms < pawl->next_retain_at_ms) pawl->next_retain_at_ms = at_ms;
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
    look_at_retention(pawl);
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
static void arm_earlier(struct transaction *t)
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
static bool needs_look(const struct transaction *t)
{
    const struct pawl *pawl = t->pawl;
    for (const struct pawl_request *r = t->done.first; r != NULL; r = r->next) {
        if (found_nothing(r)) return true;
    }
    return pawl->has_timers && (pawl->next_due_at_ms == 0 || t->is_due_read);
}

static void finish(struct transaction *t)
{
    struct pawl *pawl = t->pawl;
    settle_continuations(t);
    settle_retention(t);
    settle_found(t);
    if (needs_look(t)) {
        look_ahead(pawl);
    } else if (pawl->has_timers) {
        arm_earlier(t);
    }
    tell_the_world(t);
    for (struct pawl_request *request; (request = pawl_requests_take(&t->done)) != NULL;) {
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
    for (struct pawl_request *request; (request = pawl_requests_take(&t->work)) != NULL;) {
        pawl_requests_add(&pawl->backlog, request);
    }
    for (struct pawl_request *request; (request = pawl_requests_take(&t->claims)) != NULL;) {
        pawl_requests_add(&pawl->backlog, request);
    }
    pawl_parked_rouse(pawl->parked, &t->step); /* too late for the claims of this step */
}

/* Somebody has waited for it, and the next step with him. The turn is not counted: that was another's step. */
static void log_if_slow(const struct transaction *t, int64_t began_boot_ms)
{
    const struct pawl *pawl = t->pawl;
    int64_t took_ms = pawl->env->boot_ms(pawl->env->self) - began_boot_ms;
    if (took_ms < PAWL_STEP_SLOW_MS) return;
    pawl_log_write(&pawl->log, PAWL_LOG_WARN, "step.slow", PAWL_INT("took_ms", took_ms),
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
static struct pawl_requests take_back(struct transaction *t, enum pawl_code code)
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

static void sort_halves(struct transaction *t, struct pawl_requests *list)
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
    (void)pthread_mutex_lock(&pawl->lock);
    pawl->change_count++;
    (void)pthread_cond_broadcast(&pawl->changed);
    (void)pthread_mutex_unlock(&pawl->lock);
}

/* What others have committed meanwhile, and may have armed. On a file the turn's bell has told of all of it. On
 * PostgreSQL the bell may come late, or never from one who died before he rang: so once a second what is due
 * next is read all the same. Without a bell, or a thread that listens to it, it is read in every step. */
static void hear_others(struct pawl *pawl)
{
    bool has_bell = pawl->turn != NULL || (!pawl->is_driven && pawl_store_bell_fd(pawl->store) >= 0);
    bool rang = pawl->turn != NULL ? pawl_turn_drain(pawl->turn) : pawl_store_bell_drain(pawl->store);
    if (rang) hear_bell(pawl);
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

/* One try at one transaction. On failure *list holds again what had been taken from it. */
static enum pawl_code try_once(struct pawl *pawl, struct pawl_requests *list, struct company *company,
                               bool is_last_chance, struct pawl_error *err)
{
    struct transaction t = {.pawl = pawl,
                            .own_max = company->own_max,
                            .own_skip = company->own_skip,
                            .with_parked = company->with_parked};
    pawl_arena_reset(pawl->arena);
    sort_halves(&t, list);
    enum pawl_code code =
        pawl->turn == NULL ? PAWL_OK : pawl_turn_take(pawl->turn, PAWL_TURN_WAIT_MS_MAX, err);
    if (code == PAWL_OK) {
        hear_others(pawl);
        code = run_transaction(&t, is_last_chance, err);
        if (code == PAWL_OK) pawl_store_checkpoint(pawl->store);
        log_if_slow(&t, t.began_boot_ms);
        if (pawl->turn != NULL) {
            if (code == PAWL_OK || code == PAWL_UNKNOWN_OUTCOME) {
                pawl_turn_ring(pawl->turn);
                (void)pawl_turn_drain(pawl->turn); /* our own: nobody else can ring now */
            }
            pawl_turn_give(pawl->turn);
        }
    }
    if (pawl->careful != NULL) pawl_careful_clear(pawl->careful);
    company->came = t.had_company;
    if (code == PAWL_OK) {
        finish(&t);
    } else {
        *list = take_back(&t, code);
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
        if (!pawl_store_was_race(pawl->store)) break;
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

static bool is_own_due(const struct pawl *pawl)
{
    int64_t now_boot_ms = pawl->env->boot_ms(pawl->env->self);
    size_t found;
    (void)pawl_proof_found(pawl->proof, &found);
    bool is_due = pawl->has_timers && pawl->next_due_boot_ms <= now_boot_ms;
    return (is_due || found > 0 || pawl->caused_count > 0) && now_boot_ms >= pawl->no_step_until_boot_ms;
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
        if (!has_callers || is_own_due(pawl)) run_own_alone(pawl);
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
