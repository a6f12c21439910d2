/* Opening, the transaction of a step, its clock, and the plain reads of the loop.
 *
 * A step that has changed nothing is rolled back: it costs no sync. An error inside a transaction
 * leaves it to the caller to roll back; only a commit ends it whatever comes. When the outcome of a
 * commit is not known the connection is closed and opened anew, and never asked to commit the same
 * again. */
#include "store/store.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "core/limits.h"
#include "store/clock.h"
#include "store/handle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What the wall clock says, within what an instant can be. */
/* ---- Opening ----------------------------------------------------------------------------------
 */

static enum pawl_code connect(struct pawl_store *store, bool must_exist, struct pawl_db_hook hook,
                              struct pawl_error *err)
{
    const struct pawl_env *env = store->options.env;
    int64_t wall_ms = pawl_store_wall_ms(env);
    char store_id[PAWL_UUID_BYTES_MAX + 1];
    uint64_t high = env->random(env->self);
    pawl_uuid_make(wall_ms, high, env->random(env->self), store_id);

    struct pawl_db_options options = {
        .target = store->options.target,
        .must_exist = must_exist,
        .vfs = store->options.vfs,
        .schema = store->options.schema,
        .keeps_no_old = store->options.keeps_no_old,
        .log = store->options.log,
        .birth = {.store_id = pawl_str_of(store_id),
                  .boot_id = env->boot_id,
                  .clock_offset_ms = wall_ms - env->boot_ms(env->self),
                  .now_ms = wall_ms},
        .hook = hook,
    };
    return pawl_db_open(&store->db, &options, err);
}

/* What a transaction reads first. */
struct start {
    struct pawl_store *store;
    bool has_meta;
    bool has_head;
    int64_t schema_version;
    int64_t clock_offset_ms;
    bool is_same_boot;
    int64_t position;
    int64_t next_key;
    int64_t now_ms;   /* of the last committed step */
    int64_t wall_offset_ms;
    int64_t generation;
    int64_t clock_ms; /* PostgreSQL: the server's */
    char store_id[PAWL_UUID_BYTES_MAX + 1];
};

static enum pawl_code take_meta(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct start *start = self;
    struct pawl_str store_id = pawl_db_text(row, 1);
    if (store_id.len != PAWL_UUID_BYTES_MAX) {
        return pawl_error_set(err, PAWL_CORRUPT, "the id of the store is not a UUID");
    }
    start->has_meta = true;
    start->schema_version = pawl_db_int64(row, 0);
    memcpy(start->store_id, store_id.ptr, store_id.len);
    start->is_same_boot = pawl_str_equal(pawl_db_text(row, 2), start->store->options.env->boot_id);
    start->clock_offset_ms = pawl_db_int64(row, 3);
    return PAWL_OK;
}

static enum pawl_code take_head(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct start *start = self;
    (void)err;
    start->has_head = true;
    start->position = pawl_db_int64(row, 0);
    start->next_key = pawl_db_int64(row, 1);
    start->now_ms = pawl_db_int64(row, 2);
    start->wall_offset_ms = pawl_db_int64(row, 3);
    start->generation = pawl_db_int64(row, 4);
    return PAWL_OK;
}

static enum pawl_code judge_start(const struct start *start, struct pawl_error *err)
{
    if (!start->has_meta || !start->has_head) {
        return pawl_error_set(err, PAWL_CORRUPT, "the row of meta or of head is missing");
    }
    int64_t known = start->store->db->schema->count;
    if (start->schema_version != known) {
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "another version of Pawl has changed the store to schema %" PRId64
                              "; this one knows %" PRId64 ": start it anew",
                              start->schema_version, known);
    }
    const struct {
        const char *name;
        int64_t value;
        int64_t min;
        int64_t max;
    } numbers[] = {
        {"position", start->position, 0, PAWL_NUMBER_MAX / 2},
        {"next_key", start->next_key, 1, PAWL_ROW_KEY_MAX},
        {"now_ms", start->now_ms, 0, PAWL_INSTANT_MS_MAX},
        {"wall_offset_ms", start->wall_offset_ms, -PAWL_INSTANT_MS_MAX, PAWL_INSTANT_MS_MAX},
        {"generation", start->generation, 0, PAWL_NUMBER_MAX / 2},
    };
    for (size_t i = 0; i < PAWL_COUNT_OF(numbers); i++) {
        if (numbers[i].value >= numbers[i].min && numbers[i].value <= numbers[i].max) continue;
        return pawl_error_set(err, PAWL_CORRUPT, "head: %s is out of range: the store is damaged, see pawl fsck",
                              numbers[i].name);
    }
    return PAWL_OK;
}

/* Of a store that was there, or has just been made. */
static enum pawl_code learn_id(struct pawl_store *store, struct pawl_error *err)
{
    struct start start = {.store = store};
    enum pawl_code code =
        pawl_db_send(store->db, PAWL_SQL_META_GET, NULL, 0, take_meta, &start, err);
    if (code == PAWL_OK) code = pawl_db_flush(store->db, err);
    if (code != PAWL_OK) return code;
    if (!start.has_meta) return pawl_error_set(err, PAWL_CORRUPT, "the row of meta is missing");
    memcpy(store->store_id, start.store_id, sizeof store->store_id);
    return PAWL_OK;
}

/* A machine that does not know the year would make instants that no row can hold. */
static enum pawl_code check_wall(const struct pawl_env *env, struct pawl_error *err)
{
    int64_t wall_ms = env->wall_ms(env->self);
    if (wall_ms >= 0 && wall_ms <= PAWL_INSTANT_MS_MAX - PAWL_DELAY_MS_MAX) return PAWL_OK;
    return pawl_error_set(err, PAWL_INVALID,
                          "wall clock: it says %" PRId64 " ms since 1970, which is not from 1970 to 9998: set it",
                          wall_ms);
}

enum pawl_code pawl_store_open(struct pawl_store **out, const struct pawl_store_options *options,
                               struct pawl_error *err)
{
    struct pawl_str target = options->target;
    enum pawl_code code = check_wall(options->env, err);
    if (code != PAWL_OK) return code;
    struct pawl_store *store = calloc(1, sizeof *store);
    if (store != NULL) store->target = malloc(target.len + 1);
    if (store == NULL || store->target == NULL) {
        pawl_store_close(store);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to open a store");
    }
    if (target.len > 0) memcpy(store->target, target.ptr, target.len);
    store->options = *options;
    store->options.target = (struct pawl_str){store->target, target.len};

    code = connect(store, options->must_exist, (struct pawl_db_hook){0}, err);
    if (code == PAWL_OK) code = learn_id(store, err);
    if (code != PAWL_OK) {
        pawl_store_close(store); /* takes a half-built store */
        return code;
    }
    *out = store;
    return PAWL_OK;
}

void pawl_store_close(struct pawl_store *store)
{
    if (store == NULL) return;
    pawl_db_close(store->db);
    free(store->target);
    free(store);
}

/* After an unknown outcome: what is open may hold on to a state that the disk does not have. */
static void connect_anew(struct pawl_store *store)
{
    struct pawl_error err;
    struct pawl_db_hook hook = store->db->hook;
    pawl_db_close(store->db);
    store->db = NULL;
    enum pawl_code code = connect(store, true, hook, &err);
    pawl_log_write(store->options.log, PAWL_LOG_WARN, "store.reopened",
                   PAWL_TEXT("outcome", pawl_str_of(code == PAWL_OK ? "open" : err.text)));
}

/* The connection, opened anew if that failed after an unknown outcome. */
static enum pawl_code have_connection(struct pawl_store *store, struct pawl_error *err)
{
    if (store->db != NULL) return PAWL_OK;
    return connect(store, true, (struct pawl_db_hook){0}, err);
}

struct pawl_db *pawl_store_db(struct pawl_store *store)
{
    return store->db;
}

struct pawl_str pawl_store_id(const struct pawl_store *store)
{
    return pawl_str_of(store->store_id);
}

bool pawl_store_is_postgres(const struct pawl_store *store)
{
    return pawl_db_target_is_postgres(store->options.target);
}

struct pawl_str pawl_store_path(const struct pawl_store *store)
{
    if (store->db == NULL)
        return pawl_store_is_postgres(store) ? (struct pawl_str){0} : store->options.target;
    return store->db->driver->path(store->db);
}

/* ---- The clock --------------------------------------------------------------------------------
 */

/* The boot clock stands still for nobody and steps for nobody; the offset makes it an instant. It
 * is kept in the store, so that all processes of one boot agree, and made anew after a reboot: from
 * the wall clock, but never behind what has been committed. An offset out of all range is one that
 * somebody has damaged. */
static struct pawl_store_clock kept_clock(const struct start *start)
{
    return (struct pawl_store_clock){start->is_same_boot, start->clock_offset_ms, start->now_ms};
}

static void log_clocks(struct pawl_store *store, int64_t now_ms, int64_t last_now_ms)
{
    const struct pawl_env *env = store->options.env;
    int64_t drift_ms = pawl_store_wall_ms(env) - env->boot_ms(env->self);
    int64_t step_ms = drift_ms - store->drift_ms;
    if (store->is_drift_known &&
        (step_ms >= PAWL_WALL_STEP_MS || step_ms <= -PAWL_WALL_STEP_MS)) {
        pawl_log_write(store->options.log, PAWL_LOG_INFO, "clock.stepped",
                       PAWL_INT("by_ms", step_ms));
    }
    store->drift_ms = drift_ms;
    store->is_drift_known = true;
    if (now_ms < last_now_ms && !store->has_warned_behind) {
        pawl_log_write(store->options.log, PAWL_LOG_WARN, "clock.behind",
                       PAWL_INT("by_ms", last_now_ms - now_ms));
    }
    store->has_warned_behind = now_ms < last_now_ms;
}

static enum pawl_code read_clock(struct pawl_store *store, struct start *start, int64_t *out,
                                 struct pawl_error *err)
{
    const struct pawl_env *env = store->options.env;
    const struct pawl_store_clock kept = kept_clock(start);
    int64_t now_ms = 0;
    enum pawl_code code = PAWL_OK;
    if (store->db->driver->clock != NULL) {
        now_ms = start->clock_ms;
    } else if (pawl_store_clock_is_good(env, &kept)) {
        now_ms = start->clock_offset_ms + env->boot_ms(env->self);
    } else {
        int64_t offset_ms = pawl_store_offset_ms(env, &kept);
        start->clock_offset_ms = offset_ms;
        struct pawl_value values[] = {pawl_text(env->boot_id), pawl_int(offset_ms)};
        code = pawl_db_change(store->db, PAWL_SQL_META_CLOCK, values, PAWL_COUNT_OF(values), true,
                              err);
        if (code == PAWL_OK) code = pawl_db_flush(store->db, err);
        store->is_dirty = true;
        now_ms = offset_ms + env->boot_ms(env->self);
    }
    if (code != PAWL_OK) return code;
    log_clocks(store, now_ms, start->now_ms);
    *out = now_ms > start->now_ms ? now_ms : start->now_ms;
    return PAWL_OK;
}

static bool is_far(int64_t a, int64_t b)
{
    return a - PAWL_WALL_STEP_MS >= b || a + PAWL_WALL_STEP_MS <= b;
}

/* The wall clock minus the boot clock. False for a process that was stopped between the two: they say nothing. */
static bool read_drift(const struct pawl_env *env, int64_t *drift_ms)
{
    int64_t before_ms = env->boot_ms(env->self);
    int64_t wall_ms = pawl_store_wall_ms(env);
    *drift_ms = wall_ms - before_ms;
    return env->boot_ms(env->self) - before_ms < PAWL_WALL_STEP_MS / 2;
}

/* Whether the wall clock has stepped, or crept away, since calendar times were armed; then start gets how far it is
 * ahead of the store's clock. Of processes whose walls disagree each says so once, and not again before its own has
 * moved. On PostgreSQL now is the wall clock of the server, and there is nothing to follow. */
static bool wall_has_moved(struct pawl_store *store, struct start *start)
{
    int64_t drift_ms;
    if (store->db->driver->clock != NULL || !read_drift(store->options.env, &drift_ms)) return false;
    if (store->is_wall_known && !is_far(drift_ms, store->wall_drift_ms)) return false;
    store->wall_seen_ms = drift_ms;
    int64_t ahead_ms = drift_ms - start->clock_offset_ms;
    bool has_moved = is_far(ahead_ms, start->wall_offset_ms);
    if (has_moved) start->wall_offset_ms = ahead_ms;
    /* what has not moved is what to compare with, so that what it creeps adds up */
    if (!has_moved) store->wall_drift_ms = drift_ms;
    if (!has_moved) store->is_wall_known = true;
    return has_moved;
}

/* ---- The transaction --------------------------------------------------------------------------
 */

static enum pawl_code read_start(struct pawl_store *store, struct start *start,
                                 struct pawl_set *set, struct load **load, struct pawl_error *err)
{
    /* head first: on PostgreSQL its lock is waited for, and what is read after it is as of then */
    enum pawl_code code =
        pawl_db_send(store->db, PAWL_SQL_HEAD_LOCK, NULL, 0, take_head, start, err);
    if (code == PAWL_OK) {
        code = pawl_db_send(store->db, PAWL_SQL_META_GET, NULL, 0, take_meta, start, err);
    }
    if (code == PAWL_OK && set != NULL) code = pawl_load_ask(store, set, load, err);
    /* the clock flushes: all of it is one round trip */
    bool has_clock = store->db->driver->clock != NULL;
    if (code == PAWL_OK && has_clock)
        code = store->db->driver->clock(store->db, &start->clock_ms, err);
    if (code == PAWL_OK && !has_clock) code = pawl_db_flush(store->db, err);
    /* in a schema that is not ours loads fail too, and it is not they that have to be told */
    bool is_read = start->has_meta && start->has_head;
    if (code == PAWL_OK || (is_read && judge_start(start, NULL) != PAWL_OK)) {
        code = judge_start(start, err);
    }
    if (code != PAWL_OK) return code;
    if (memcmp(start->store_id, store->store_id, sizeof start->store_id) != 0) {
        return pawl_error_set(err, PAWL_CORRUPT, "another store has taken the place of this one");
    }
    return PAWL_OK;
}

enum pawl_code pawl_store_begin(struct pawl_store *store, struct pawl_head *head,
                                struct pawl_error *err)
{
    return pawl_store_begin_with(store, NULL, head, err);
}

enum pawl_code pawl_store_begin_with(struct pawl_store *store, struct pawl_set *set,
                                     struct pawl_head *head, struct pawl_error *err)
{
    struct start start = {.store = store};
    struct load *load = NULL;
    if (set != NULL && set->wanted.count == 0) set = NULL;
    int64_t now_ms = 0;
    pawl_assert(!store->is_begun);
    enum pawl_code code = have_connection(store, err);
    if (code == PAWL_OK) code = pawl_db_begin(store->db, true, err);
    if (code != PAWL_OK) return code;
    store->is_begun = true;
    store->is_dirty = false;

    code = read_start(store, &start, set, &load, err);
    if (code == PAWL_OK) code = read_clock(store, &start, &now_ms, err);
    store->now_ms = now_ms;
    if (code == PAWL_OK && load != NULL) code = pawl_load_take(load, err);
    if (code != PAWL_OK) {
        pawl_store_rollback(store);
        return code;
    }
    int64_t armed_by_ms = start.wall_offset_ms;
    store->wall_has_moved = wall_has_moved(store, &start);
    *head = (struct pawl_head){
        .position = start.position,
        .next_key = start.next_key,
        .now_ms = now_ms,
        .wall_offset_ms = armed_by_ms,
        .generation = start.generation,
        .wall_ahead_ms = start.wall_offset_ms,
        .store_id = {store->store_id, PAWL_UUID_BYTES_MAX},
    };
    return PAWL_OK;
}

void pawl_store_rollback(struct pawl_store *store)
{
    if (!store->is_begun) return;
    store->is_begun = false;
    pawl_db_rollback(store->db);
}

static enum pawl_code write_events(struct pawl_store *store, const struct pawl_append *events,
                                   int64_t *position, struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < events->count && code == PAWL_OK; i++) {
        struct pawl_event_row *row = &((struct pawl_event_new **)events->items)[i]->row;
        row->position = ++*position;
        struct pawl_value values[] = {
            pawl_int(row->position),
            pawl_int(row->task),
            pawl_int(row->sequence),
            pawl_int(row->type),
            pawl_int(row->at_ms),
            pawl_int(row->state),
            pawl_int(row->epoch),
            pawl_int(row->version),
            pawl_real(row->progress),
            pawl_int(row->retries),
            pawl_int_or_null(row->next_retry_at_ms),
            pawl_int_or_null(row->duration_ms),
            pawl_int(row->cause),
            pawl_text_or_null(row->actor),
            pawl_text_or_null(row->note),
        };
        code = pawl_db_change(store->db, PAWL_SQL_EVENT_ADD, values, PAWL_COUNT_OF(values), false,
                              err);
    }
    return code;
}

enum pawl_code pawl_store_save_all(struct pawl_store *store, struct pawl_set *set,
                                   struct pawl_head *head, struct pawl_error *err)
{
    struct pawl_append *events = &set->appends[PAWL_APPEND_EVENT];
    enum pawl_code code = pawl_store_save(store, set, err);
    if (code == PAWL_OK) code = write_events(store, events, &head->position, err);
    if (code == PAWL_OK) code = pawl_db_flush(store->db, err);
    if (code == PAWL_OK) events->count = 0;
    return code;
}

/* What others have committed. The newest of it may be in memory alone, if its process died in its sync; a commit
 * of our own syncs the whole log, theirs too. */
static int64_t committed_by_others(struct pawl_store *store)
{
    if (store->db->driver->others == NULL) return store->synced;
    return store->db->driver->others(store->db);
}

enum pawl_code pawl_store_commit(struct pawl_store *store, struct pawl_set *set,
                                 struct pawl_head *head, struct pawl_error *err)
{
    const struct pawl_append *events = &set->appends[PAWL_APPEND_EVENT];
    int64_t position = head->position;
    pawl_assert(store->is_begun);
    int64_t others = store->synced;
    if (!store->is_dirty && events->count == 0) {
        if (head->acknowledges) others = committed_by_others(store);
        if (others == store->synced) {
            pawl_store_rollback(store);
            return PAWL_OK;
        }
        head->next_key++; /* something has to change: an update to the same values writes nothing */
    }
    enum pawl_code code = write_events(store, events, &position, err);
    struct pawl_value values[] = {pawl_int(position), pawl_int(head->next_key),
                                  pawl_int(head->now_ms), pawl_int(head->wall_offset_ms),
                                  pawl_int(head->generation)};
    if (code == PAWL_OK) {
        code =
            pawl_db_change(store->db, PAWL_SQL_HEAD_SAVE, values, PAWL_COUNT_OF(values), true, err);
    }
    store->db->knocks = head->knocks;
    if (code == PAWL_OK) code = pawl_db_commit(store->db, err);
    head->has_changed = code == PAWL_OK;
    if (code == PAWL_UNKNOWN_OUTCOME) {
        store->is_begun = false;
        /* PostgreSQL's driver does so by itself, and its bell stays */
        if (!store->db->driver->is_postgres) connect_anew(store);
    } else if (code != PAWL_OK) {
        pawl_store_rollback(store);
    } else {
        store->is_begun = false;
        store->synced = others;
        head->position = position;
        if (store->wall_has_moved && head->wall_offset_ms == head->wall_ahead_ms) {
            store->wall_drift_ms = store->wall_seen_ms;
            store->is_wall_known = true;
        }
    }
    return code;
}

/* ---- Plain reads ------------------------------------------------------------------------------
 */

struct due {
    struct start start;
    int64_t due_at_ms; /* INT64_MAX = never */
    bool has_calendar; /* there are tasks that wait for a calendar time */
};

static enum pawl_code take_due(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct due *due = self;
    (void)err;
    due->start.now_ms = pawl_db_int64(row, 0);
    due->start.is_same_boot =
        pawl_str_equal(pawl_db_text(row, 1), due->start.store->options.env->boot_id);
    due->start.clock_offset_ms = pawl_db_int64(row, 2);
    if (!pawl_db_is_null(row, 3)) due->due_at_ms = pawl_db_int64(row, 3);
    if (!pawl_db_is_null(row, 4)) due->due_at_ms = 0; /* a continuation */
    due->start.wall_offset_ms = pawl_db_int64(row, 5);
    due->has_calendar = !pawl_db_is_null(row, 6);
    return PAWL_OK;
}

enum pawl_code pawl_store_next_due(struct pawl_store *store, int64_t *due_at_ms, int64_t *now_ms,
                                   struct pawl_error *err)
{
    const struct pawl_env *env = store->options.env;
    struct due due = {.start = {.store = store}, .due_at_ms = INT64_MAX};
    struct start *start = &due.start;
    int64_t now = 0;
    pawl_assert(!store->is_begun);
    enum pawl_code code = have_connection(store, err);
    if (code == PAWL_OK)
        code = pawl_db_send(store->db, PAWL_SQL_NEXT_DUE, NULL, 0, take_due, &due, err);
    /* the clock flushes: both are one round trip */
    bool has_clock = store->db != NULL && store->db->driver->clock != NULL;
    if (code == PAWL_OK && has_clock) code = store->db->driver->clock(store->db, &now, err);
    if (code == PAWL_OK && !has_clock) code = pawl_db_flush(store->db, err);
    if (code != PAWL_OK) return code;
    if (!has_clock) {
        const struct pawl_store_clock kept = kept_clock(start);
        start->clock_offset_ms = pawl_store_offset_ms(env, &kept);
        now = env->boot_ms(env->self) + start->clock_offset_ms;
    }
    *now_ms = now > start->now_ms ? now : start->now_ms;
    *due_at_ms = due.has_calendar && wall_has_moved(store, start) ? 0 : due.due_at_ms;
    return PAWL_OK;
}

static enum pawl_code take_instant(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    *(int64_t *)self = pawl_db_int64(row, 0);
    return PAWL_OK;
}

enum pawl_code pawl_store_next_finished(struct pawl_store *store, const struct pawl_finished *after,
                                        int64_t *finished_at_ms, struct pawl_error *err)
{
    int64_t found = INT64_MAX;
    struct pawl_value values[] = {pawl_int(after->at_ms), pawl_int(after->key), pawl_int(1)};
    pawl_assert(!store->is_begun);
    enum pawl_code code = have_connection(store, err);
    if (code == PAWL_OK) {
        code = pawl_db_send(store->db, PAWL_SQL_FINISHED, values, PAWL_COUNT_OF(values),
                            take_instant, &found, err);
    }
    if (code == PAWL_OK) code = pawl_db_flush(store->db, err);
    if (code == PAWL_OK) *finished_at_ms = found;
    return code;
}

static enum pawl_code take_any(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)row;
    (void)err;
    *(bool *)self = true;
    return PAWL_OK;
}

enum pawl_code pawl_store_has_ready(struct pawl_store *store, const struct pawl_str *queues,
                                    size_t count, bool *out, struct pawl_error *err)
{
    bool is_any = false;
    pawl_assert(!store->is_begun);
    enum pawl_code code = have_connection(store, err);
    for (size_t i = 0; i < count && code == PAWL_OK && !is_any; i++) {
        struct pawl_value name = pawl_text(queues[i]);
        code = pawl_db_send(store->db, PAWL_SQL_READY_ANY, &name, 1, take_any, &is_any, err);
    }
    if (code == PAWL_OK) code = pawl_db_flush(store->db, err);
    if (code != PAWL_OK) return code;
    *out = is_any;
    return PAWL_OK;
}

static void checkpoint(struct pawl_store *store, bool all)
{
    pawl_assert(!store->is_begun);
    if (store->db != NULL && store->db->driver->checkpoint != NULL) {
        store->db->driver->checkpoint(store->db, all);
    }
}

void pawl_store_checkpoint(struct pawl_store *store)
{
    checkpoint(store, false);
}

void pawl_store_checkpoint_all(struct pawl_store *store)
{
    checkpoint(store, true);
}

bool pawl_store_was_race(const struct pawl_store *store)
{
    return store->db != NULL && pawl_db_was_race(store->db);
}

void pawl_store_patience(struct pawl_store *store, int64_t ms)
{
    if (store->db != NULL && store->db->driver->patience != NULL) store->db->driver->patience(store->db, ms);
}

uint64_t pawl_store_knocks(const struct pawl_store *store)
{
    if (store->db == NULL || store->db->driver->knocks == NULL) return 0;
    return store->db->driver->knocks(store->db);
}

int pawl_store_bell_fd(const struct pawl_store *store)
{
    if (store->db == NULL || store->db->driver->bell_fd == NULL) return -1;
    return store->db->driver->bell_fd(store->db);
}

bool pawl_store_bell_drain(struct pawl_store *store)
{
    if (store->db == NULL || store->db->driver->bell_drain == NULL) return false;
    return store->db->driver->bell_drain(store->db);
}
