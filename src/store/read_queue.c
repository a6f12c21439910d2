/* Queues with their counts. Nobody keeps counts in a step, so they are counted here, up to a bound
 * (PAWL_READ_READY_MAX, PAWL_READ_WAITING_MAX): ready ones by walking their index, running and
 * deferred ones of all queues by one walk over what has a due time. */
#include "store/reader.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "base/str.h"
#include "core/limits.h"
#include "store/rows.h"

/* What waits in one queue for an instant. */
struct waiting {
    int64_t deferred;
    int64_t running;
};

struct counting {
    struct pawl_arena *scratch;
    struct pawl_map by_queue; /* number = queue key, struct waiting */
};

/* READ_QUEUES_WAITING: queue, state, count */
static enum pawl_code on_waiting(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct counting *counting = self;
    void **slot = pawl_map_put(&counting->by_queue, 0, pawl_db_int64(row, 0), (struct pawl_str){0});
    if (slot != NULL && *slot == NULL) {
        *slot = pawl_arena_take(counting->scratch, sizeof(struct waiting));
    }
    if (slot == NULL || *slot == NULL) {
        return pawl_error_set(err, pawl_arena_code(counting->scratch), "no memory to count");
    }
    struct waiting *waiting = *slot;
    if (pawl_db_int64(row, 1) == PAWL_TASK_RUNNING) waiting->running = pawl_db_int64(row, 2);
    if (pawl_db_int64(row, 1) == PAWL_TASK_QUEUED) waiting->deferred = pawl_db_int64(row, 2);
    return PAWL_OK;
}

struct queues {
    struct pawl_arena *keep;
    const struct counting *counting;
    struct pawl_queue *all;
    size_t count;
    size_t room;
};

/* READ_QUEUES: the columns of pawl_row_queue, how many are ready, since when the oldest of them */
static enum pawl_code on_queue(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct queues *queues = self;
    struct pawl_queue_row queue;
    if (queues->count == queues->room) {
        size_t room = queues->room == 0 ? 16 : queues->room * 2;
        struct pawl_queue *all = pawl_arena_resize(queues->keep, queues->all,
                                                   queues->room * sizeof *all, room * sizeof *all);
        if (all == NULL) return PAWL_OK; /* keep tells */
        queues->all = all;
        queues->room = room;
    }
    /* a fault leaves the row usable, with built-in settings: that is how it is used, too */
    (void)pawl_row_queue(row, queues->keep, &queue);
    void **slot = pawl_map_at(&queues->counting->by_queue, 0, queue.key, (struct pawl_str){0});
    const struct waiting *waiting = slot != NULL ? *slot : NULL;
    queues->all[queues->count++] = (struct pawl_queue){
        .name = queue.name,
        .is_paused = queue.is_paused,
        .lease_ms = queue.lease_ms,
        .retry = queue.retry,
        .ready = pawl_db_int64(row, PAWL_ROW_QUEUE_COLUMNS),
        .deferred = waiting != NULL ? waiting->deferred : 0,
        .running = waiting != NULL ? waiting->running : 0,
        .oldest_ready_at_ms = pawl_db_int64(row, PAWL_ROW_QUEUE_COLUMNS + 1),
    };
    return PAWL_OK;
}

static enum pawl_code read_queues(struct pawl_reader *reader, struct queues *queues,
                                  struct pawl_error *err)
{
    struct counting counting = {.scratch = reader->scratch};
    pawl_map_init(&counting.by_queue, reader->scratch);
    queues->counting = &counting;
    struct pawl_value bounds[] = {pawl_int(PAWL_READ_WAITING_MAX), pawl_int(PAWL_READ_WAITING_MAX)};
    enum pawl_code code = pawl_reader_ask(reader, PAWL_SQL_READ_QUEUES_WAITING, bounds,
                                          PAWL_COUNT_OF(bounds), on_waiting, &counting, err);
    size_t before;
    do {
        before = queues->count;
        struct pawl_str after = before > 0 ? queues->all[before - 1].name : (struct pawl_str){0};
        struct pawl_value values[] = {pawl_text(after), pawl_int(PAWL_READ_QUEUES_MAX),
                                      pawl_int(PAWL_READ_READY_MAX), pawl_int(PAWL_RANK_TIME_MASK)};
        if (code == PAWL_OK) {
            code = pawl_reader_ask(reader, PAWL_SQL_READ_QUEUES, values, PAWL_COUNT_OF(values),
                                   on_queue, queues, err);
        }
    } while (code == PAWL_OK && queues->count - before == PAWL_READ_QUEUES_MAX);
    return code;
}

enum pawl_code pawl_read_queues(struct pawl_reader *reader, struct pawl_arena *keep,
                                struct pawl_queues *out, struct pawl_error *err)
{
    struct queues queues = {.keep = keep};
    enum pawl_code code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = pawl_reader_end(reader, keep, read_queues(reader, &queues, err), err);
    if (code == PAWL_OK) *out = (struct pawl_queues){queues.all, queues.count};
    return code;
}
