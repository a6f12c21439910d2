/* The engine's own work: due rows, continuations, retention, what was found out about lost work. What of it comes
 * along in a step, and what is left of it after the commit. */
#include "engine/transaction.h"

#include "base/str.h"
#include "core/limits.h"

#include <stdlib.h>

static const struct pawl_str none = {0};

/* Pieces of the engine's own work, as their marks name them (careful.h). */
enum own {
    OWN_DUE = 't',
    OWN_FINDING = 'r', /* apart: a look succeeds before its finding is applied */
    OWN_CONTINUATION = 'c',
    OWN_RETENTION = 'g',
};

/* ---- The engine's own commands ---- */

static struct pawl_request *own_request(struct pawl_transaction *t, enum pawl_command_kind kind,
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

static void schedule_continuation(struct pawl_transaction *t, int64_t key, bool is_own)
{
    struct pawl_request *request = own_request(t, PAWL_COMMAND_CONTINUE, key);
    if (request == NULL) return;
    request->own_continuation = key;
    request->command.is_anothers = !is_own;
}

/* It has killed its process too often: it is not met again. */
static void set_aside(struct pawl_transaction *t, enum own kind, int64_t key)
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
static bool is_deadly(struct pawl_transaction *t, int64_t key)
{
    if (!t->pawl->is_dying) return false;
    if (pawl_careful_mark(t->pawl->careful, (char)OWN_DUE, key) != PAWL_MARK_SPENT) return false;
    set_aside(t, OWN_DUE, key);
    return t->aside_code == PAWL_OK;
}

/* Rows that were loaded and turn out to be due come first, whoever loaded them. */
void pawl_own_schedule_due(struct pawl_transaction *t)
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
static bool may_schedule(struct pawl_transaction *t, enum own kind, int64_t key)
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
static void begin_own(struct pawl_transaction *t)
{
    struct pawl *pawl = t->pawl;
    if (pawl->careful == NULL) return;
    pawl->is_dying = pawl_careful_begin(pawl->careful);
    if (!pawl->is_dying) return;
    bool has_callers = t->work.count > 0 || t->claims.count > 0;
    if (has_callers || t->own_max > 1) t->own_max = has_callers ? 0 : 1;
}

static bool has_room(const struct pawl_transaction *t)
{
    return t->work.count + t->claims.count <= PAWL_RETAINED_BESIDE_MAX;
}

/* A slice of retention, in steps with room. A pass goes on where the slice before it has ended; now and then one
 * begins anew, for what was passed over. */
static void schedule_retention(struct pawl_transaction *t)
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
static void schedule_found(struct pawl_transaction *t)
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
enum pawl_code pawl_own_schedule(struct pawl_transaction *t, struct pawl_error *err)
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

void pawl_own_note_caused(struct pawl_transaction *t, struct pawl_request *request, size_t first)
{
    for (size_t i = first; i < t->step.caused.count; i++) {
        struct pawl_caused_here *caused = pawl_arena_take(t->step.set.arena, sizeof *caused);
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

static void remember_caused(struct pawl *pawl, const struct pawl_caused_here *caused)
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
static void settle_retention(struct pawl_transaction *t)
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

int64_t pawl_continuing_until(const struct pawl *pawl)
{
    return pawl->env->boot_ms(pawl->env->self) + PAWL_CONTINUING_MS_MAX;
}

/* What was found is in the store; and what the step wants to be found is looked for. */
static void settle_found(struct pawl_transaction *t)
{
    for (const struct pawl_request *own = t->continued.first; own != NULL; own = own->next) {
        if (own->command.kind == PAWL_COMMAND_RECOVER) pawl_proof_settle(t->pawl->proof, own->command.number);
    }
    pawl_proof_look(t->pawl->proof, &t->step);
}

static void settle_continuations(struct pawl_transaction *t)
{
    struct pawl *pawl = t->pawl;
    for (const struct pawl_caused_here *caused = t->caused; caused != NULL; caused = caused->next) {
        remember_caused(pawl, caused);
    }
    for (struct pawl_request *own = t->continued.first; own != NULL; own = own->next) {
        if (own->command.kind != PAWL_COMMAND_CONTINUE) continue;
        struct pawl_request *origin = origin_of(pawl, own);
        if (origin != NULL && pawl->to_the_end) origin->until_boot_ms = pawl_continuing_until(pawl);
        bool is_of_redrive = origin != NULL && origin->command.kind == PAWL_COMMAND_REDRIVE;
        /* it may have caused others that resume nothing: its own count only grows */
        if (is_of_redrive && own->command.done > *origin->command.out.count) {
            *origin->command.out.count = own->command.done;
        }
        if (!own->command.goes_on) forget_caused(pawl, own->own_continuation);
    }
}

void pawl_own_settle(struct pawl_transaction *t)
{
    settle_continuations(t);
    settle_retention(t);
    settle_found(t);
}

/* When retention has something to do again: when the next task is old enough, but at the latest when a pass begins
 * anew, since an import brings tasks that ended long ago. The first to end after all others is known of by the
 * bell. */
void pawl_own_look_at_retention(struct pawl *pawl)
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

bool pawl_own_is_due(const struct pawl *pawl)
{
    int64_t now_boot_ms = pawl->env->boot_ms(pawl->env->self);
    size_t found;
    (void)pawl_proof_found(pawl->proof, &found);
    bool is_due = pawl->has_timers && pawl->next_due_boot_ms <= now_boot_ms;
    return (is_due || found > 0 || pawl->caused_count > 0) && now_boot_ms >= pawl->no_step_until_boot_ms;
}
