/* What an operator looks at: the state of the store as a whole, and what has been done lately.
 * Every count has a bound and walks an index that holds little else, so that it takes as long on a
 * store of millions as on a small one. */
#include "store/reader.h"

#include "base/array.h"
#include "base/error.h"
#include "core/limits.h"
#include "core/task/event.h"
#include "store/rows.h"

struct health {
    struct pawl_arena *keep;
    struct pawl_health out;
    int64_t position;
    size_t room;
};

enum { COLUMNS_SUMMARY = 15 };

/* HEALTH: in the order of its columns. */
static enum pawl_code on_health(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct health *health = self;
    struct pawl_health *out = &health->out;
    int64_t *const fields[COLUMNS_SUMMARY] = {
        &health->position,      &out->schema_version,
        &out->overdue,          &out->oldest_due_at_ms,
        &out->recovery_pending, &out->dead_letters,
        &out->paused,           &out->blocked,
        &out->finished,         &out->oldest_finished_at_ms,
        &out->quarantined,      &out->continuations,
        &out->running,          &out->late_results,
        &out->workflows_running,
    };
    for (int32_t i = 0; i < COLUMNS_SUMMARY; i++) *fields[i] = pawl_db_int64(row, i);
    return PAWL_OK;
}

/* CONSUMERS: key, name, cursor, seen_at_ms */
static enum pawl_code on_consumer(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct health *health = self;
    struct pawl_consumer *all = (struct pawl_consumer *)(uintptr_t)health->out.consumers;
    if (health->out.consumer_count == health->room) {
        size_t room = health->room == 0 ? 8 : health->room * 2;
        all = pawl_arena_resize(health->keep, all, health->room * sizeof *all, room * sizeof *all);
        if (all == NULL) return PAWL_OK; /* keep tells */
        health->room = room;
    }
    int64_t cursor = pawl_db_int64(row, 2);
    all[health->out.consumer_count++] = (struct pawl_consumer){
        .name = pawl_row_text(row, 1, health->keep),
        .position = cursor,
        .behind = health->position > cursor ? health->position - cursor : 0,
        .seen_at_ms = pawl_db_int64(row, 3),
    };
    health->out.consumers = all;
    return PAWL_OK;
}

/* WORKERS_SHARED: id, host, pid, other_host, other_pid, shared_at_ms */
static enum pawl_code on_shared(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct health *health = self;
    struct pawl_shared_worker *all = (struct pawl_shared_worker *)(uintptr_t)health->out.shared;
    if (all == NULL) all = pawl_arena_take(health->keep, PAWL_HEALTH_SHARED_MAX * sizeof *all);
    if (all == NULL) return PAWL_OK; /* keep tells */
    all[health->out.shared_count++] = (struct pawl_shared_worker){
        .id = pawl_row_text(row, 0, health->keep),
        .host = pawl_row_text(row, 1, health->keep),
        .pid = pawl_db_int64(row, 2),
        .other_host = pawl_row_text(row, 3, health->keep),
        .other_pid = pawl_db_int64(row, 4),
        .at_ms = pawl_db_int64(row, 5),
    };
    health->out.shared = all;
    return PAWL_OK;
}

static enum pawl_code read_file(struct pawl_reader *reader, struct health *health,
                                struct pawl_error *err)
{
    struct pawl_db_file file = {0};
    if (reader->db->driver->file == NULL) return PAWL_OK;
    enum pawl_code code = reader->db->driver->file(reader->db, &file, err);
    if (code != PAWL_OK) return code;
    health->out.file_bytes = file.bytes;
    health->out.free_bytes = file.free_bytes;
    health->out.log_bytes = file.log_bytes;
    return PAWL_OK;
}

static enum pawl_code read_health(struct pawl_reader *reader, struct health *health,
                                  struct pawl_error *err)
{
    int64_t now_ms = 0;
    enum pawl_code code = pawl_reader_now(reader, &now_ms, err);
    if (code != PAWL_OK) return code;
    struct pawl_value bounds[] = {pawl_int(now_ms - PAWL_HEALTH_LATE_MS),
                                  pawl_int(PAWL_HEALTH_COUNT_MAX),
                                  pawl_int(PAWL_HEALTH_FINISHED_MAX)};
    code = pawl_reader_ask(reader, PAWL_SQL_HEALTH, bounds, PAWL_COUNT_OF(bounds), on_health,
                           health, err);
    struct pawl_value limit = pawl_int(PAWL_HEALTH_COUNT_MAX);
    if (code == PAWL_OK) {
        code = pawl_reader_ask(reader, PAWL_SQL_CONSUMERS, &limit, 1, on_consumer, health, err);
    }
    struct pawl_value lately[] = {pawl_int(now_ms - PAWL_WORKER_SHARED_MS), pawl_int(PAWL_HEALTH_SHARED_MAX)};
    if (code == PAWL_OK) {
        code = pawl_reader_ask(reader, PAWL_SQL_WORKERS_SHARED, lately, PAWL_COUNT_OF(lately), on_shared, health,
                               err);
    }
    if (code == PAWL_OK) code = read_file(reader, health, err);
    health->out.now_ms = now_ms;
    health->out.wall_ms = reader->env == NULL ? now_ms : reader->env->wall_ms(reader->env->self);
    return code;
}

enum pawl_code pawl_read_health(struct pawl_reader *reader, struct pawl_arena *keep,
                                struct pawl_health *out, struct pawl_error *err)
{
    struct health health = {.keep = keep};
    enum pawl_code code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = pawl_reader_end(reader, keep, read_health(reader, &health, err), err);
    if (code == PAWL_OK) *out = health.out;
    return code;
}

/* ---- What has been done lately
 * --------------------------------------------------------------------- */

static void count(struct pawl_tally *tally, int64_t type, int64_t number)
{
    switch (type) {
    case PAWL_EVENT_CREATED:
        tally->added += number;
        break;
    case PAWL_EVENT_STARTED:
        tally->claimed += number;
        break;
    case PAWL_EVENT_COMPLETED:
    case PAWL_EVENT_RESOLVED_COMPLETED:
        tally->completed += number;
        break;
    case PAWL_EVENT_RETRY_SCHEDULED:
    case PAWL_EVENT_DEAD_LETTERED:
        tally->failed += number;
        break;
    case PAWL_EVENT_FENCED:
        tally->lost += number;
        break;
    default:
        break;
    }
    tally->events += number;
}

/* TALLY: type, how many, the newest position among them */
static enum pawl_code on_tally(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct pawl_tally *tally = self;
    int64_t position = pawl_db_int64(row, 2);
    count(tally, pawl_db_int64(row, 0), pawl_db_int64(row, 1));
    if (position > tally->position) tally->position = position;
    return PAWL_OK;
}

static enum pawl_code on_position(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    *(int64_t *)self = pawl_db_int64(row, 0);
    return PAWL_OK;
}

static enum pawl_code read_tally(struct pawl_reader *reader, int64_t after_position,
                                 struct pawl_tally *out, struct pawl_error *err)
{
    enum { TYPES_MAX = 256 };
    struct pawl_value values[] = {pawl_int(after_position), pawl_int(PAWL_TALLY_EVENTS_MAX),
                                  pawl_int(TYPES_MAX)};
    out->position = after_position;
    if (after_position < 0) {
        return pawl_reader_ask(reader, PAWL_SQL_HEAD_POSITION, NULL, 0, on_position, &out->position,
                               err);
    }
    return pawl_reader_ask(reader, PAWL_SQL_TALLY, values, PAWL_COUNT_OF(values), on_tally, out,
                           err);
}

enum pawl_code pawl_read_tally(struct pawl_reader *reader, int64_t after_position,
                               struct pawl_arena *keep, struct pawl_tally *out,
                               struct pawl_error *err)
{
    struct pawl_tally tally = {0};
    enum pawl_code code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = pawl_reader_end(reader, keep, read_tally(reader, after_position, &tally, err), err);
    if (code == PAWL_OK) *out = tally;
    return code;
}
