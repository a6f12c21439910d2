/* Events: the history of a task, the stream of all, and what is left of it for a consumer.
 *
 * Each asks for positions first and then for each row by its position, with what is told of its
 * task. A row that cannot be decoded is passed over, so that all others go on. */
#include "store/reader.h"

#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "store/id.h"
#include "core/task/metadata.h"
#include "store/render.h"
#include "store/rows.h"

#include <inttypes.h>

/* READ_EVENT: the columns of pawl_row_event, then these. */
enum {
    COLUMN_TASK_ID = PAWL_ROW_EVENT_COLUMNS,
    COLUMN_QUEUE,
    COLUMN_TITLE,
    COLUMN_CORRELATION_ID,
    COLUMN_MAX_RETRIES,
    COLUMN_RESULT,
    COLUMN_CHECKPOINT,
    COLUMN_CHECKPOINT_AT,
};

struct page {
    struct pawl_reader *reader;
    struct pawl_arena *keep;
    int64_t last;       /* what follows lies behind it */
    int64_t *positions; /* in scratch */
    size_t limit;
    size_t position_count;
    struct pawl_event *events; /* in keep */
    size_t count;
};

static enum pawl_code on_position(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct page *page = self;
    int64_t position = pawl_db_int64(row, 0);
    if (page->position_count == page->limit) return PAWL_OK;
    if (position <= page->last) return pawl_reader_disorder("events", err);
    page->last = position;
    page->positions[page->position_count++] = position;
    return PAWL_OK;
}

static enum pawl_code on_event(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct page *page = self;
    struct pawl_arena *keep = page->keep;
    struct pawl_str store_id = page->reader->store_id;
    struct pawl_event_row event;
    if (pawl_row_event(row, keep, &event) != NULL) return PAWL_OK;
    struct pawl_event_about about = {
        .store_id = store_id,
        .task_id = pawl_row_text(row, COLUMN_TASK_ID, keep),
        .queue = pawl_row_text(row, COLUMN_QUEUE, keep),
        .title = pawl_row_text(row, COLUMN_TITLE, keep),
        .max_retries = (int32_t)pawl_db_int64(row, COLUMN_MAX_RETRIES),
        .result = pawl_db_text(row, COLUMN_RESULT),
    };
    about.correlation_id =
        pawl_correlation_id(about.task_id, pawl_db_text(row, COLUMN_CORRELATION_ID), keep);
    int64_t checkpoint = pawl_db_int64(row, COLUMN_CHECKPOINT);
    if (checkpoint != 0) {
        about.checkpoint_id = pawl_checkpoint_id(store_id, checkpoint,
                                                 pawl_db_int64(row, COLUMN_CHECKPOINT_AT), keep);
    }
    pawl_event_render_about(&event, &about, keep, &page->events[page->count++]);
    return PAWL_OK;
}

static enum pawl_code open_page(struct page *page, struct pawl_reader *reader, int32_t limit,
                                struct pawl_arena *keep, struct pawl_error *err)
{
    *page = (struct page){.reader = reader, .keep = keep, .limit = (size_t)limit};
    page->positions = pawl_arena_take_array(reader->scratch, page->limit, sizeof *page->positions);
    page->events = pawl_arena_take_array(keep, page->limit, sizeof *page->events);
    if (page->positions == NULL) {
        return pawl_error_set(err, pawl_arena_code(reader->scratch), "no memory to read events");
    }
    if (page->events == NULL) {
        return pawl_error_set(err, pawl_arena_code(keep), "no memory for events");
    }
    return PAWL_OK;
}

/* Reads the events at the positions found. */
static enum pawl_code fill_page(struct page *page, struct pawl_error *err)
{
    struct pawl_db *db = page->reader->db;
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < page->position_count && code == PAWL_OK; i++) {
        struct pawl_value values[] = {pawl_int(page->positions[i]), pawl_int(PAWL_EXCERPT_POINTS)};
        code = pawl_db_send(db, PAWL_SQL_READ_EVENT, values, PAWL_COUNT_OF(values), on_event, page,
                            err);
    }
    return code == PAWL_OK ? pawl_db_flush(db, err) : code;
}

/* otherwise: the position if nothing was read. */
static struct pawl_events shown(const struct page *page, int64_t otherwise)
{
    return (struct pawl_events){
        .events = page->events,
        .count = page->count,
        .position =
            page->position_count > 0 ? page->positions[page->position_count - 1] : otherwise,
    };
}

/* ---- A task's history ------------------------------------------------------------------------ */

static enum pawl_code read_history(struct pawl_reader *reader, struct pawl_str id,
                                   int64_t after_sequence, int32_t limit, struct pawl_arena *keep,
                                   struct pawl_events *out, struct pawl_error *err)
{
    int64_t task;
    struct page page;
    enum pawl_code code = pawl_reader_find(reader, id, &task, err);
    if (code == PAWL_OK) code = open_page(&page, reader, limit, keep, err);
    if (code != PAWL_OK) return code;
    struct pawl_value values[] = {pawl_int(task), pawl_int(after_sequence), pawl_int(limit)};
    code = pawl_reader_ask(reader, PAWL_SQL_READ_HISTORY, values, PAWL_COUNT_OF(values),
                           on_position, &page, err);
    if (code == PAWL_OK) code = fill_page(&page, err);
    if (code == PAWL_OK && page.count > 0 && page.events[page.count - 1].sequence <= after_sequence) {
        return pawl_reader_disorder("events", err);
    }
    if (code == PAWL_OK) *out = shown(&page, 0);
    return code;
}

enum pawl_code pawl_read_history(struct pawl_reader *reader, struct pawl_str id,
                                 int64_t after_sequence, int32_t limit, struct pawl_arena *keep,
                                 struct pawl_events *out, struct pawl_error *err)
{
    struct pawl_events found = {0};
    enum pawl_code code = pawl_reader_limit(limit, &limit, err);
    if (code == PAWL_OK) code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = read_history(reader, id, after_sequence, limit, keep, &found, err);
    code = pawl_reader_end(reader, keep, code, err);
    if (code == PAWL_OK) *out = found;
    return code;
}

/* ---- The stream ------------------------------------------------------------------------------ */

static enum pawl_code read_events(struct pawl_reader *reader, int64_t after_position, int32_t limit,
                                  struct pawl_arena *keep, struct pawl_events *out,
                                  struct pawl_error *err)
{
    struct page page;
    enum pawl_code code = open_page(&page, reader, limit, keep, err);
    if (code != PAWL_OK) return code;
    page.last = after_position;
    struct pawl_value values[] = {pawl_int(after_position), pawl_int(limit)};
    code = pawl_reader_ask(reader, PAWL_SQL_READ_EVENTS, values, PAWL_COUNT_OF(values), on_position,
                           &page, err);
    if (code == PAWL_OK) code = fill_page(&page, err);
    if (code == PAWL_OK) *out = shown(&page, after_position);
    return code;
}

enum pawl_code pawl_read_events(struct pawl_reader *reader, int64_t after_position, int32_t limit,
                                struct pawl_arena *keep, struct pawl_events *out,
                                struct pawl_error *err)
{
    struct pawl_events found = {0};
    enum pawl_code code = pawl_reader_limit(limit, &limit, err);
    if (code == PAWL_OK) code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = read_events(reader, after_position, limit, keep, &found, err);
    code = pawl_reader_end(reader, keep, code, err);
    if (code == PAWL_OK) *out = found;
    return code;
}

/* ---- Consumers ------------------------------------------------------------------------------- */

struct consumer {
    int64_t key;
    int64_t cursor;
    bool is_found;
};

/* CONSUMER_BY_NAME: key, name, cursor, seen_at_ms */
static enum pawl_code on_consumer(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    *(struct consumer *)self =
        (struct consumer){pawl_db_int64(row, 0), pawl_db_int64(row, 2), true};
    return PAWL_OK;
}

static enum pawl_code on_floor(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    *(int64_t *)self = pawl_db_int64(row, 0);
    return PAWL_OK;
}

/* Goes on from the cursor in stretches, passing over what is acknowledged, until the page is full
 * or the events end. */
static enum pawl_code find_open(struct page *page, const struct consumer *consumer,
                                struct pawl_error *err)
{
    int64_t after = consumer->cursor;
    int64_t rows = (int64_t)page->limit; /* most often nothing is to be passed over */
    for (int64_t passed = 0; passed < PAWL_READ_PASSED_MAX; passed += rows) {
        int64_t floor = 0;
        struct pawl_value stretch[] = {pawl_int(after), pawl_int(rows - 1)};
        enum pawl_code code = pawl_reader_ask(page->reader, PAWL_SQL_READ_EVENTS_FLOOR, stretch,
                                              PAWL_COUNT_OF(stretch), on_floor, &floor, err);
        if (code != PAWL_OK) return code;
        struct pawl_value values[] = {pawl_int(after), pawl_int(floor != 0 ? floor : INT64_MAX),
                                      pawl_int(consumer->key),
                                      pawl_int((int64_t)(page->limit - page->position_count))};
        code = pawl_reader_ask(page->reader, PAWL_SQL_READ_EVENTS_OPEN, values,
                               PAWL_COUNT_OF(values), on_position, page, err);
        if (code != PAWL_OK) return code;
        if (floor == 0 || page->position_count == page->limit) return PAWL_OK;
        after = floor;
        rows = PAWL_READ_PASSED_ROWS;
    }
    if (page->position_count > 0) return PAWL_OK;
    return pawl_error_set(err, PAWL_LIMIT,
                          "more than %d events after position %" PRId64
                          " are acknowledged one by one: acknowledge through a position first",
                          (int)PAWL_READ_PASSED_MAX, consumer->cursor);
}

static enum pawl_code read_consumer(struct pawl_reader *reader, struct pawl_str name, int32_t limit,
                                    struct pawl_arena *keep, struct pawl_events *out,
                                    struct pawl_error *err)
{
    struct consumer consumer = {0};
    struct page page;
    struct pawl_value value = pawl_text(name);
    enum pawl_code code =
        pawl_reader_ask(reader, PAWL_SQL_CONSUMER_BY_NAME, &value, 1, on_consumer, &consumer, err);
    if (code != PAWL_OK) return code;
    if (!consumer.is_found) {
        return pawl_error_set(err, PAWL_NOT_FOUND, "no such consumer: %.*s", PAWL_STR_ARG(name));
    }
    code = open_page(&page, reader, limit, keep, err);
    page.last = consumer.cursor;
    if (code == PAWL_OK) code = find_open(&page, &consumer, err);
    if (code == PAWL_OK) code = fill_page(&page, err);
    if (code == PAWL_OK) *out = shown(&page, consumer.cursor);
    return code;
}

enum pawl_code pawl_read_consumer(struct pawl_reader *reader, struct pawl_str name, int32_t limit,
                                  struct pawl_arena *keep, struct pawl_events *out,
                                  struct pawl_error *err)
{
    struct pawl_events found = {0};
    enum pawl_code code = pawl_reader_limit(limit, &limit, err);
    if (code == PAWL_OK) code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = read_consumer(reader, name, limit, keep, &found, err);
    code = pawl_reader_end(reader, keep, code, err);
    if (code == PAWL_OK) *out = found;
    return code;
}
