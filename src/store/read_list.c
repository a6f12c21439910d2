/* Lists of tasks, a page a call.
 *
 * Each kind of list is the walk of one index, and a letter names it:
 *
 *   r  ready ones, in the order of claims      task_ready, those of several queues merged
 *   q  other QUEUED ones, newest first         task, by its key; what follows r in a list of QUEUED
 *   a  PAUSED, RECOVERY_PENDING, FAILED, DEAD_LETTER, newest first      task_aside
 *   b  blocked ones, newest first              task_blocked
 *   f  finished ones, last finished first      task_finished
 *   u  RUNNING ones, first due first           task_due
 *   w  all else, newest first                  task, by its key
 *
 * A walk gives places: where in its order, and the row's key. The cursor of a page is the place
 * where it ended, so that what comes and goes elsewhere neither hides a row nor shows one twice. A
 * row that itself moves in the order of the walk is another matter: a RUNNING task may be shown
 * again when its lease was renewed between two pages. What a walk passes over (another state,
 * another queue) is counted, and a page ends, with a cursor, when it has looked at enough: no page
 * costs more than its bound, however rare is what it looks for. */
#include "store/reader.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/number.h"
#include "base/str.h"
#include "core/limits.h"

#include <inttypes.h>

enum {
    CURSOR_VERSION = '1',
    CHUNK_ROWS_MAX = 1024, /* places fetched at once */
    SHOWN_AT_ONCE = 64,    /* errors of 64 KiB: 4 MiB between two looks at the page's bytes */
    STATES_KNOWN = (1 << PAWL_TASK_STATE_COUNT) - 1,
};

#define BIT(name) (1u << PAWL_TASK_##name)

static const uint32_t aside = BIT(PAUSED) | BIT(RECOVERY_PENDING) | BIT(FAILED) | BIT(DEAD_LETTER);
static const uint32_t finished = BIT(COMPLETED) | BIT(FAILED) | BIT(CANCELLED) | BIT(DEAD_LETTER);

struct place {
    char walk;     /* its letter */
    int64_t first; /* rank, finish or due time; 0 in a walk by key */
    int64_t key;
};

/* What the statement of a walk takes besides a key and a limit. */
enum walk_extra { NO_EXTRA, EXTRA_FIRST, EXTRA_STATES };

struct walk {
    char letter;
    bool is_ascending;
    enum walk_extra extra;
    enum pawl_statement statement;
};

static const struct walk walks[] = {
    {'q', false, NO_EXTRA, PAWL_SQL_READ_WALK},
    {'a', false, EXTRA_STATES, PAWL_SQL_READ_ASIDE},
    {'b', false, NO_EXTRA, PAWL_SQL_READ_BLOCKED},
    {'f', false, EXTRA_FIRST, PAWL_SQL_READ_FINISHED},
    {'u', true, EXTRA_FIRST, PAWL_SQL_READ_DUE},
    {'w', false, NO_EXTRA, PAWL_SQL_READ_WALK},
};

/* One page in the making. */
struct listing {
    struct pawl_reader *reader;
    uint32_t states; /* wanted */
    int64_t queue;   /* key; 0 = all */
    int32_t limit;
    bool with_payload;
    bool with_paused;     /* ready ones of paused queues too */
    int64_t rows_left;    /* that may be looked at */
    struct place *places; /* chosen; room for limit + 1 */
    int32_t count;
    struct place last; /* looked at */
    bool has_more;     /* there is something after the last one looked at */
    int32_t rows_came; /* by the newest statement */
};

/* ---- Cursors --------------------------------------------------------------------------------- */

static struct pawl_str cursor_write(const struct place *place, struct pawl_arena *keep)
{
    return pawl_arena_format(keep, "%c%c.%" PRId64 ".%" PRId64, CURSOR_VERSION, place->walk,
                             place->first, place->key);
}

/* The text up to the next '.', which is taken off; all of it if there is none. */
static struct pawl_str next_part(struct pawl_str *text)
{
    size_t len = 0;
    while (len < text->len && text->ptr[len] != '.') len++;
    struct pawl_str part = {text->ptr, len};
    size_t taken = len < text->len ? len + 1 : len;
    *text = (struct pawl_str){text->ptr + taken, text->len - taken};
    return part;
}

/* letters: those of the walks that this list may be in. */
static enum pawl_code cursor_read(struct pawl_str text, const char *letters, struct place *out,
                                  struct pawl_error *err)
{
    struct pawl_str rest = text;
    struct pawl_str kind = next_part(&rest);
    struct pawl_str first = next_part(&rest);
    bool is_one = kind.len == 2 && kind.ptr[0] == CURSOR_VERSION &&
                  pawl_int64_parse(first, 0, INT64_MAX, &out->first) &&
                  pawl_int64_parse(rest, 0, INT64_MAX, &out->key);
    if (!is_one) {
        return pawl_error_set(err, PAWL_INVALID, "cursor: \"%.*s\" is none that a list has given",
                              PAWL_STR_ARG(text));
    }
    out->walk = kind.ptr[1];
    struct pawl_str letter = {&kind.ptr[1], 1};
    if (pawl_str_has(pawl_str_of(letters), letter)) return PAWL_OK;
    return pawl_error_set(err, PAWL_INVALID, "cursor: it is of a list with another filter");
}

/* ---- Walks ----------------------------------------------------------------------------------- */

static void choose(struct listing *listing, const struct place *place)
{
    if (listing->count <= listing->limit) listing->places[listing->count++] = *place;
}

/* 0 or first, key, state, queue, rank */
static enum pawl_code on_place(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct listing *listing = self;
    struct place place = {listing->last.walk, pawl_db_int64(row, 0), pawl_db_int64(row, 1)};
    int64_t state = pawl_db_int64(row, 2);
    bool is_wanted = pawl_task_state_is(state) && (listing->states & (1u << state)) != 0;
    if (listing->queue != 0 && pawl_db_int64(row, 3) != listing->queue) is_wanted = false;
    if (place.walk == 'q' && !pawl_db_is_null(row, 4)) is_wanted = false; /* in walk r */
    listing->rows_came++;
    listing->last = place;
    if (is_wanted) choose(listing, &place);
    return PAWL_OK;
}

static enum pawl_code ask_places(struct listing *listing, const struct walk *walk, int32_t rows,
                                 struct pawl_error *err)
{
    struct pawl_value values[3] = {pawl_int(listing->last.key), pawl_int(rows)};
    if (walk->extra == EXTRA_FIRST) values[2] = pawl_int(listing->last.first);
    if (walk->extra == EXTRA_STATES) values[2] = pawl_int(listing->states);
    listing->rows_came = 0;
    return pawl_reader_ask(listing->reader, walk->statement, values,
                           walk->extra == NO_EXTRA ? 2 : PAWL_COUNT_OF(values), on_place, listing,
                           err);
}

/* Walks on from the last place until the page has one more than it may show, the index ends, or
 * enough has been looked at. */
static enum pawl_code walk_on(struct listing *listing, const struct walk *walk,
                              struct pawl_error *err)
{
    int32_t rows = listing->limit + 1 - listing->count;
    while (listing->count <= listing->limit && listing->rows_left > 0) {
        if (rows > listing->rows_left) rows = (int32_t)listing->rows_left;
        enum pawl_code code = ask_places(listing, walk, rows, err);
        if (code != PAWL_OK) return code;
        listing->rows_left -= listing->rows_came;
        if (listing->rows_came < rows) {
            listing->has_more = false;
            return PAWL_OK;
        }
        rows = rows * 4 < CHUNK_ROWS_MAX ? rows * 4 : CHUNK_ROWS_MAX;
    }
    listing->has_more = true;
    return PAWL_OK;
}

/* ---- Ready ones ------------------------------------------------------------------------------ */

/* The ready tasks of one queue beyond some place, as far as they have been fetched. */
struct stream {
    int64_t queue;
    struct place *places; /* room for PAWL_READ_AHEAD; NULL until the head is gone */
    struct place head;
    int32_t at;
    int32_t count;
    bool has_ended;
};

struct streams {
    struct pawl_arena *scratch;
    struct stream *all;
    size_t count;
    size_t room;
};

static bool comes_before(const struct place *a, const struct place *b)
{
    return a->first != b->first ? a->first < b->first : a->key < b->key;
}

/* READ_READY_HEADS: rank, key, state, queue, rank */
static enum pawl_code on_head(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct streams *streams = self;
    if (streams->count == streams->room) {
        size_t room = streams->room == 0 ? 16 : streams->room * 2;
        struct stream *all = pawl_arena_resize(streams->scratch, streams->all,
                                               streams->room * sizeof *all, room * sizeof *all);
        if (all == NULL) {
            return pawl_error_set(err, pawl_arena_code(streams->scratch),
                                  "too many queues to merge");
        }
        streams->all = all;
        streams->room = room;
    }
    streams->all[streams->count++] = (struct stream){
        .queue = pawl_db_int64(row, 3),
        .head = {'r', pawl_db_int64(row, 0), pawl_db_int64(row, 1)},
    };
    return PAWL_OK;
}

/* The first ready task of every queue beyond a place. */
static enum pawl_code open_streams(struct listing *listing, const struct place *after,
                                   struct streams *streams, struct pawl_error *err)
{
    size_t before;
    do {
        before = streams->count;
        int64_t queue = before == 0 ? 0 : streams->all[before - 1].queue;
        struct pawl_value values[] = {pawl_int(queue), pawl_int(after->first), pawl_int(after->key),
                                      pawl_int(PAWL_READ_QUEUES_MAX),
                                      pawl_int(listing->with_paused)};
        enum pawl_code code = pawl_reader_ask(listing->reader, PAWL_SQL_READ_READY_HEADS, values,
                                              PAWL_COUNT_OF(values), on_head, streams, err);
        if (code != PAWL_OK) return code;
    } while (streams->count - before == PAWL_READ_QUEUES_MAX);
    return PAWL_OK;
}

static enum pawl_code on_ready(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct stream *stream = self;
    if (stream->count == PAWL_READ_AHEAD) return PAWL_OK;
    stream->places[stream->count++] =
        (struct place){'r', pawl_db_int64(row, 0), pawl_db_int64(row, 1)};
    return PAWL_OK;
}

/* Takes the head away; the next one was fetched already, or is fetched now with some more. */
static enum pawl_code advance(struct listing *listing, struct stream *stream,
                              struct pawl_error *err)
{
    if (stream->at == stream->count) {
        if (stream->places == NULL) {
            stream->places = pawl_arena_take_array(listing->reader->scratch, PAWL_READ_AHEAD,
                                                   sizeof *stream->places);
        }
        if (stream->places == NULL) {
            return pawl_error_set(err, pawl_arena_code(listing->reader->scratch),
                                  "too many queues to merge");
        }
        stream->at = 0;
        stream->count = 0;
        int32_t wanted = listing->limit + 1 - listing->count;
        struct pawl_value values[] = {
            pawl_int(stream->queue), pawl_int(stream->head.first), pawl_int(stream->head.key),
            pawl_int(wanted < PAWL_READ_AHEAD ? wanted : PAWL_READ_AHEAD)};
        enum pawl_code code = pawl_reader_ask(listing->reader, PAWL_SQL_READ_READY, values,
                                              PAWL_COUNT_OF(values), on_ready, stream, err);
        if (code != PAWL_OK) return code;
    }
    stream->has_ended = stream->count == 0;
    if (!stream->has_ended) stream->head = stream->places[stream->at++];
    return PAWL_OK;
}

static struct stream *first_stream(const struct streams *streams)
{
    struct stream *first = NULL;
    for (size_t i = 0; i < streams->count; i++) {
        struct stream *stream = &streams->all[i];
        if (stream->has_ended) continue;
        if (first == NULL || comes_before(&stream->head, &first->head)) first = stream;
    }
    return first;
}

/* Merges the queues' ready tasks from the last place on. */
static enum pawl_code walk_ready(struct listing *listing, struct pawl_error *err)
{
    struct streams streams = {.scratch = listing->reader->scratch};
    struct stream one = {.queue = listing->queue, .head = listing->last};
    enum pawl_code code;
    if (listing->queue == 0) {
        code = open_streams(listing, &listing->last, &streams, err);
    } else {
        streams = (struct streams){.all = &one, .count = 1};
        code = advance(listing, &one, err);
    }
    while (code == PAWL_OK && listing->count <= listing->limit) {
        struct stream *stream = first_stream(&streams);
        listing->has_more = stream != NULL;
        if (stream == NULL) break;
        listing->last = stream->head;
        choose(listing, &stream->head);
        if (listing->count <= listing->limit) code = advance(listing, stream, err);
    }
    return code;
}

/* ---- The page -------------------------------------------------------------------------------- */

static bool is_subset(uint32_t states, uint32_t of)
{
    return (states & ~of) == 0;
}

/* The letters of the walks a list is made of, in order. */
static const char *choose_walks(const struct pawl_list *ask, uint32_t states)
{
    if (ask->is_ready) return "r";
    if (ask->is_blocked) return "b";
    if (states == BIT(QUEUED)) return "rq";
    if (states == BIT(RUNNING)) return "u";
    if (is_subset(states, aside)) return "a";
    if (is_subset(states, finished)) return "f";
    return "w";
}

static const struct walk *walk_of(char letter)
{
    for (size_t i = 0; i < PAWL_COUNT_OF(walks); i++) {
        if (walks[i].letter == letter) return &walks[i];
    }
    pawl_assert(false);
    return NULL;
}

static struct place start_of(char letter)
{
    bool is_ascending = letter == 'r' || walk_of(letter)->is_ascending;
    int64_t end = is_ascending ? -1 : INT64_MAX;
    return (struct place){letter, end, end};
}

/* Goes through the walks, from where the cursor stands. */
static enum pawl_code choose_places(struct listing *listing, const char *letters,
                                    const struct place *start, struct pawl_error *err)
{
    const char *letter = letters;
    listing->last = *start;
    while (*letter != start->walk) letter++;
    for (;;) {
        enum pawl_code code =
            *letter == 'r' ? walk_ready(listing, err) : walk_on(listing, walk_of(*letter), err);
        if (code != PAWL_OK) return code;
        letter++;
        if (listing->has_more || *letter == '\0') return PAWL_OK;
        listing->last = start_of(*letter);
    }
}

/* Reads the rows of the places chosen, and shows as many as fit. *shown: places done with. */
static enum pawl_code show_places(struct listing *listing, int32_t count, struct pawl_arena *keep,
                                  struct pawl_task *tasks, size_t *task_count, int32_t *shown,
                                  struct pawl_error *err)
{
    struct pawl_reader *reader = listing->reader;
    struct pawl_task_about *abouts =
        pawl_arena_take_array(reader->scratch, (size_t)count, sizeof *abouts);
    if (abouts == NULL) {
        return pawl_error_set(err, pawl_arena_code(reader->scratch), "no memory to list");
    }
    enum pawl_code code = PAWL_OK;
    for (int32_t i = 0; i < count && code == PAWL_OK; i++) {
        code = pawl_reader_send_task(reader, listing->places[i].key, keep, &abouts[i], err);
    }
    if (code == PAWL_OK) code = pawl_db_flush(reader->db, err);

    size_t bytes = 0;
    int32_t at_once = listing->with_payload ? 1 : SHOWN_AT_ONCE;
    while (code == PAWL_OK && *shown < count && bytes < PAWL_READ_PAGE_BYTES_MAX) {
        struct pawl_task_about *good = &abouts[*shown]; /* moved together */
        size_t good_count = 0;
        for (int32_t i = 0; i < at_once && *shown < count; i++) {
            const struct pawl_task_about *about = &abouts[(*shown)++];
            if (about->is_found && about->fault.len == 0) good[good_count++] = *about;
        }
        struct pawl_task *out = &tasks[*task_count];
        code = pawl_reader_show_tasks(reader, good, good_count, listing->with_payload, keep, out,
                                      &bytes, err);
        for (size_t i = 0; i < good_count; i++) {
            if (good[i].fault.len == 0) tasks[(*task_count)++] = out[i]; /* all others go on */
        }
    }
    return code;
}

static enum pawl_code on_queue(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    int64_t *found = self;
    found[0] = pawl_db_int64(row, 0);
    found[1] = pawl_db_int64(row, 2);
    return PAWL_OK;
}

/* Whether there can be anything at all: the queue is known, and not paused where that matters. */
static enum pawl_code find_queue(struct listing *listing, const struct pawl_list *ask,
                                 bool *is_empty, struct pawl_error *err)
{
    if (ask->queue.len == 0) return PAWL_OK;
    struct pawl_value name = pawl_text(ask->queue);
    int64_t found[2] = {0, 0}; /* key, is_paused */
    enum pawl_code code =
        pawl_reader_ask(listing->reader, PAWL_SQL_QUEUE_BY_NAME, &name, 1, on_queue, found, err);
    listing->queue = found[0];
    *is_empty = found[0] == 0 || (ask->is_ready && found[1] != 0);
    return code;
}

static enum pawl_code read_list(struct listing *listing, const struct pawl_list *ask,
                                const char *letters, const struct place *start,
                                struct pawl_arena *keep, struct pawl_page *out,
                                struct pawl_error *err)
{
    bool is_empty = false;
    struct pawl_arena *scratch = listing->reader->scratch;
    enum pawl_code code = find_queue(listing, ask, &is_empty, err);
    if (code != PAWL_OK || is_empty) return code;
    size_t room = (size_t)listing->limit + 1;
    listing->places = pawl_arena_take_array(scratch, room, sizeof *listing->places);
    struct pawl_task *tasks = pawl_arena_take_array(keep, room - 1, sizeof *tasks);
    if (tasks == NULL) return PAWL_OK; /* keep tells */
    if (listing->places == NULL) {
        return pawl_error_set(err, pawl_arena_code(scratch), "no memory to list");
    }
    code = choose_places(listing, letters, start, err);
    if (code != PAWL_OK) return code;

    int32_t count = listing->count < listing->limit ? listing->count : listing->limit;
    int32_t shown = 0;
    code = show_places(listing, count, keep, tasks, &out->count, &shown, err);
    if (code != PAWL_OK) return code;
    out->tasks = tasks;
    if (shown < count || listing->count > listing->limit) {
        out->cursor = cursor_write(&listing->places[shown - 1], keep);
    } else if (listing->has_more) {
        out->cursor = cursor_write(&listing->last, keep);
    }
    return PAWL_OK;
}

enum pawl_code pawl_read_list(struct pawl_reader *reader, const struct pawl_list *ask,
                              struct pawl_arena *keep, struct pawl_page *out,
                              struct pawl_error *err)
{
    struct listing listing = {
        .reader = reader,
        .states = ask->states != 0 ? ask->states : STATES_KNOWN,
        .with_payload = ask->with_payload,
        .with_paused = !ask->is_ready,
    };
    if ((ask->states & ~(uint32_t)STATES_KNOWN) != 0) {
        return pawl_error_set(err, PAWL_INVALID, "states: there is no state for some of its bits");
    }
    const char *letters = choose_walks(ask, listing.states);
    struct place start = start_of(letters[0]);
    enum pawl_code code = pawl_reader_limit(ask->limit, &listing.limit, err);
    if (code == PAWL_OK && ask->cursor.len != 0) {
        code = cursor_read(ask->cursor, letters, &start, err);
    }
    if (code != PAWL_OK) return code;
    listing.rows_left = (int64_t)listing.limit * PAWL_READ_ROWS_EACH + PAWL_READ_ROWS_MORE;

    struct pawl_page page = {0};
    /* what is ready is QUEUED and not blocked */
    bool is_none = ask->is_ready && (ask->is_blocked || (listing.states & BIT(QUEUED)) == 0);
    if (!is_none) {
        code = pawl_reader_begin(reader, err);
        if (code != PAWL_OK) return code;
        code = pawl_reader_end(reader, keep,
                               read_list(&listing, ask, letters, &start, keep, &page, err), err);
    }
    if (code == PAWL_OK && page.cursor.len > 0 && pawl_str_equal(page.cursor, ask->cursor)) {
        return pawl_reader_disorder("tasks", err);
    }
    if (code == PAWL_OK) *out = page;
    return code;
}
