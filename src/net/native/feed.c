/* Events to whoever waits for them. A member of the feed is one exchange: a stream, which has a
 * position and is given what lies behind it, or a consumer's read, which is answered with the first
 * page there is. Handlers bring members; only the feed's thread looks at them, and takes them out.
 */
#include "net/native/feed.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/number.h"
#include "base/str.h"
#include "core/task/event.h"
#include "net/ask.h"
#include "net/native/body.h"
#include "net/readers.h"
#include "store/read.h"
#include "wire/show.h"

#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct stream {
    int64_t
        position; /* of the last event it was given or passed over; -1: it begins at the newest */
    bool is_held; /* its client takes its time: it is passed over until there is room again */
    bool
        is_cut; /* it has missed a piece, and ends: its client comes back with the last id it had */
    int64_t quiet_at_ms; /* when it has to be told that it is alive */
    struct pawl_str queue;
    struct pawl_str task_id;
    const struct pawl_str *types;
    size_t type_count;
};

struct reading {
    struct pawl_str consumer;
    int32_t limit;
    int64_t wait_ms;
    int64_t until_ms; /* 0 until it was looked at */
};

struct member {
    struct pawl_ask ask; /* first; the command that makes a consumer which is new */
    struct pawl_feed *feed;
    struct member *next;
    bool is_stream;
    union {
        struct stream stream;
        struct reading reading;
    } is;
};

struct pawl_feed {
    struct pawl_native *native;
    struct pawl_reader *reader; /* of its thread; opened when it is needed */
    struct pawl_arena *scratch; /* of a page */
    struct member *members;     /* of its thread */
    bool is_behind;             /* a read has failed or a stream is held: look again soon */
    pthread_t thread;
    _Atomic int32_t member_count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct member *added; /* under the lock, as is what follows */
    bool has_news;
    bool is_stopping;
};

static int64_t now_ms(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* Something was committed, or somebody has left. On the engine's or a loop's thread. */
static void rouse(void *self)
{
    struct pawl_feed *feed = self;
    if (atomic_load(&feed->member_count) == 0) return;
    (void)pthread_mutex_lock(&feed->lock);
    feed->has_news = true;
    (void)pthread_cond_signal(&feed->changed);
    (void)pthread_mutex_unlock(&feed->lock);
}

static void on_left(struct pawl_exchange *exchange, void *self)
{
    (void)exchange;
    rouse(self);
}

/* Any thread; the member is counted already. */
static void add(struct pawl_feed *feed, struct member *member)
{
    (void)pthread_mutex_lock(&feed->lock);
    member->next = feed->added;
    feed->added = member;
    (void)pthread_cond_signal(&feed->changed);
    (void)pthread_mutex_unlock(&feed->lock);
}

/* Counts a new one, or answers that there are too many. */
static bool enter(struct pawl_feed *feed, struct pawl_exchange *exchange)
{
    struct pawl_error err = {0};
    if (atomic_fetch_add(&feed->member_count, 1) < PAWL_NET_FEED_MEMBERS_MAX) return true;
    (void)atomic_fetch_sub(&feed->member_count, 1);
    (void)pawl_error_set(&err, PAWL_LIMIT, "%d wait for events already", PAWL_NET_FEED_MEMBERS_MAX);
    pawl_exchange_answer_error(exchange, &err, NULL);
    return false;
}

/* ---- Reads of consumers -----------------------------------------------------------------------
 */

static void answer_events(struct pawl_exchange *exchange, const struct pawl_events *events)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, exchange->arena);
    pawl_json_begin_object(&w);
    pawl_show_events_json(&w, events);
    if (events->count > 0) {
        pawl_json_put_member_int64(&w, "position", events->position);
    } else {
        pawl_json_put_member_null(&w, "position");
    }
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(exchange, 200, &w);
}

/* The consumer is there now: it waits like any other. */
static void on_made(struct pawl_ask *ask)
{
    struct member *member = (struct member *)ask;
    if (enter(member->feed, ask->exchange)) add(member->feed, member);
}

/* Looks once; true if it is through with this member. */
static bool serve_reading(struct pawl_feed *feed, struct member *member)
{
    struct pawl_exchange *exchange = member->ask.exchange;
    struct reading *reading = &member->is.reading;
    struct pawl_events events = {0};
    struct pawl_error err = {0};
    struct pawl_arena_mark mark = pawl_arena_mark(exchange->arena);
    if (reading->until_ms == 0) reading->until_ms = now_ms() + reading->wait_ms;
    enum pawl_code code = pawl_read_consumer(feed->reader, reading->consumer, reading->limit,
                                             exchange->arena, &events, &err);
    if (code == PAWL_NOT_FOUND) {
        pawl_ask_hand(&member->ask);
        return true;
    }
    if (code != PAWL_OK) {
        pawl_ask_refuse(exchange, &err);
        return true;
    }
    bool is_over = now_ms() >= reading->until_ms || pawl_exchange_is_left(exchange);
    if (events.count == 0 && !is_over) {
        pawl_arena_rewind(exchange->arena, mark);
        return false;
    }
    answer_events(exchange, &events);
    return true;
}

/* ---- Streams -----------------------------------------------------------------------------------
 */

static bool wants(const struct stream *stream, const struct pawl_event *event)
{
    bool is_type = stream->type_count == 0;
    for (size_t i = 0; i < stream->type_count && !is_type; i++) {
        is_type = pawl_str_equal(stream->types[i], event->type);
    }
    return is_type && (stream->queue.len == 0 || pawl_str_equal(stream->queue, event->queue)) &&
           (stream->task_id.len == 0 || pawl_str_equal(stream->task_id, event->task_id));
}

/* One event as it goes to all: its position is what a client comes back with. */
static struct pawl_str piece_of(const struct pawl_event *event, struct pawl_arena *scratch)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, scratch);
    pawl_json_begin_object(&w);
    pawl_show_event_json(&w, event);
    pawl_json_end_object(&w);
    struct pawl_str json = pawl_json_writer_done(&w);
    return pawl_arena_format(scratch, "id: %" PRId64 "\nevent: %.*s\ndata: %.*s\n\n",
                             event->position, PAWL_STR_ARG(event->type), PAWL_STR_ARG(json));
}

static void give(struct pawl_feed *feed, struct member *member, struct pawl_str piece)
{
    struct stream *stream = &member->is.stream;
    stream->quiet_at_ms = now_ms() + PAWL_NET_FEED_QUIET_MS_MAX;
    if (pawl_exchange_stream_write(member->ask.exchange, piece) == PAWL_OK) return;
    stream->is_cut = true;
    feed->is_behind = true;
}

static bool is_served(const struct member *m)
{
    return m->is_stream && !m->is.stream.is_held && !m->is.stream.is_cut;
}

/* A page for all that stand behind `after` or further and are not held; whether there may be more.
 */
static bool give_page(struct pawl_feed *feed, int64_t after)
{
    struct pawl_events page = {0};
    struct pawl_error err = {0};
    pawl_arena_reset(feed->scratch);
    enum pawl_code code =
        pawl_read_events(feed->reader, after, PAWL_NET_FEED_EVENTS, feed->scratch, &page, &err);
    if (code != PAWL_OK) {
        feed->is_behind = true;
        return false;
    }
    for (size_t i = 0; i < page.count; i++) {
        struct pawl_str piece = {0};
        for (struct member *m = feed->members; m != NULL; m = m->next) {
            struct stream *stream = &m->is.stream;
            if (!is_served(m) || stream->position < after) continue;
            if (stream->position >= page.events[i].position || !wants(stream, &page.events[i])) {
                continue;
            }
            if (piece.len == 0) piece = piece_of(&page.events[i], feed->scratch);
            give(feed, m, piece);
        }
    }
    for (struct member *m = feed->members; m != NULL && page.count > 0; m = m->next) {
        struct stream *stream = &m->is.stream;
        if (!is_served(m) || stream->position < after) continue;
        if (stream->position < page.position) stream->position = page.position;
        stream->is_held =
            pawl_exchange_stream_waiting(m->ask.exchange) > PAWL_NET_STREAM_BYTES_MAX / 2;
        if (stream->is_held) feed->is_behind = true;
    }
    return page.count == PAWL_NET_FEED_EVENTS;
}

static bool has_come(struct pawl_feed *feed)
{
    (void)pthread_mutex_lock(&feed->lock);
    bool has_come = feed->added != NULL || feed->has_news || feed->is_stopping;
    (void)pthread_mutex_unlock(&feed->lock);
    return has_come;
}

/* Page by page, the hindmost first; those at the end of all are given their own in between, so that
 * one who reads years of events delays nobody. Ends early for who came meanwhile. */
static void serve_streams(struct pawl_feed *feed)
{
    bool has_more = true;
    while (has_more) {
        int64_t least = INT64_MAX;
        int64_t most = -1;
        for (const struct member *m = feed->members; m != NULL; m = m->next) {
            if (!is_served(m)) continue;
            if (m->is.stream.position < least) least = m->is.stream.position;
            if (m->is.stream.position > most) most = m->is.stream.position;
        }
        if (most < 0) return;
        if (most != least) (void)give_page(feed, most);
        has_more = give_page(feed, least);
        if (has_more && has_come(feed)) {
            feed->is_behind = true;
            return;
        }
    }
}

/* Whether it is through with a stream; else it may begin, go on, or be told that it is alive. */
static bool look_at_stream(struct pawl_feed *feed, struct member *member, int64_t newest)
{
    struct stream *stream = &member->is.stream;
    struct pawl_exchange *exchange = member->ask.exchange;
    if (stream->position < 0) stream->position = newest;
    if (stream->is_held) {
        stream->is_held = pawl_exchange_stream_waiting(exchange) > PAWL_NET_STREAM_BYTES_MAX / 4;
        if (stream->is_held) feed->is_behind = true;
    }
    if (pawl_exchange_is_left(exchange) || stream->is_cut) {
        pawl_exchange_stream_end(exchange);
        return true;
    }
    if (now_ms() >= stream->quiet_at_ms) {
        /* no data: nothing happens at the client, but it remembers where it was */
        char piece[64];
        int len = snprintf(piece, sizeof piece, ": alive\nid: %" PRId64 "\n\n", stream->position);
        give(feed, member, (struct pawl_str){piece, (size_t)len});
    }
    return false;
}

/* ---- The thread --------------------------------------------------------------------------------
 */

static bool has_new_stream(const struct pawl_feed *feed)
{
    for (const struct member *m = feed->members; m != NULL; m = m->next) {
        if (m->is_stream && m->is.stream.position < 0) return true;
    }
    return false;
}

/* The position from which streams that name none begin. */
static enum pawl_code newest_position(struct pawl_feed *feed, int64_t *out, struct pawl_error *err)
{
    struct pawl_tally tally = {0};
    if (!has_new_stream(feed)) return PAWL_OK;
    pawl_arena_reset(feed->scratch);
    enum pawl_code code = pawl_read_tally(feed->reader, -1, feed->scratch, &tally, err);
    *out = tally.position;
    return code;
}

/* Nothing can be read: who waits for an answer is told, streams wait for a better time. */
static void tell_failure(struct pawl_feed *feed, const struct pawl_error *err)
{
    feed->is_behind = true;
    for (struct member **link = &feed->members; *link != NULL;) {
        struct member *member = *link;
        bool is_left = pawl_exchange_is_left(member->ask.exchange);
        if (member->is_stream && !is_left) {
            link = &member->next;
            continue;
        }
        *link = member->next;
        if (member->is_stream) {
            pawl_exchange_stream_end(member->ask.exchange);
        } else {
            pawl_ask_refuse(member->ask.exchange, err);
        }
        (void)atomic_fetch_sub(&feed->member_count, 1);
    }
}

static void serve(struct pawl_feed *feed)
{
    struct pawl_error err = {0};
    int64_t newest = 0;
    enum pawl_code code = PAWL_OK;
    feed->is_behind = false;
    if (feed->reader == NULL) {
        code = pawl_reader_open(&feed->reader, &feed->native->pawl->store_options, &err);
        if (code != PAWL_OK) feed->reader = NULL;
    }
    if (code == PAWL_OK) code = newest_position(feed, &newest, &err);
    if (code != PAWL_OK) {
        tell_failure(feed, &err);
        return;
    }
    for (struct member **link = &feed->members; *link != NULL;) {
        struct member *member = *link;
        struct member *next = member->next; /* it is the exchange's, which may go */
        bool is_through =
            member->is_stream ? look_at_stream(feed, member, newest) : serve_reading(feed, member);
        if (is_through) {
            *link = next;
            (void)atomic_fetch_sub(&feed->member_count, 1);
        } else {
            link = &member->next;
        }
    }
    serve_streams(feed);
}

/* How long nothing has to be done, if nothing happens. */
static int64_t rest_ms(const struct pawl_feed *feed)
{
    int64_t until_ms = INT64_MAX;
    for (const struct member *m = feed->members; m != NULL; m = m->next) {
        int64_t at_ms = m->is_stream ? m->is.stream.quiet_at_ms : m->is.reading.until_ms;
        if (at_ms < until_ms) until_ms = at_ms;
    }
    if (until_ms == INT64_MAX) return -1;
    int64_t left_ms = until_ms - now_ms();
    if (feed->is_behind && left_ms > PAWL_NET_FEED_AGAIN_MS) left_ms = PAWL_NET_FEED_AGAIN_MS;
    return left_ms < 0 ? 0 : left_ms;
}

/* Until there is something to do; false when the feed ends. What was brought is among the members
 * then. */
static bool await(struct pawl_feed *feed)
{
    int64_t left_ms = rest_ms(feed);
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t at_ns = until.tv_nsec + (left_ms > 0 ? left_ms % 1000 : 0) * 1000000;
    until.tv_sec += (time_t)((left_ms > 0 ? left_ms / 1000 : 0) + at_ns / 1000000000);
    until.tv_nsec = (long)(at_ns % 1000000000);
    (void)pthread_mutex_lock(&feed->lock);
    int waited = 0;
    while (feed->added == NULL && !feed->has_news && !feed->is_stopping && waited == 0) {
        waited = left_ms < 0 ? pthread_cond_wait(&feed->changed, &feed->lock)
                             : pthread_cond_timedwait(&feed->changed, &feed->lock, &until);
    }
    feed->has_news = false;
    bool is_stopping = feed->is_stopping;
    while (feed->added != NULL) {
        struct member *member = feed->added;
        feed->added = member->next;
        member->next = feed->members;
        feed->members = member;
    }
    (void)pthread_mutex_unlock(&feed->lock);
    return !is_stopping;
}

static void *run(void *self)
{
    struct pawl_feed *feed = self;
    while (await(feed)) serve(feed);
    pawl_assert(feed->members == NULL); /* the server has closed before */
    pawl_reader_close(feed->reader);
    return NULL;
}

enum pawl_code pawl_feed_open(struct pawl_feed **out, struct pawl_native *native,
                              struct pawl_error *err)
{
    pthread_condattr_t monotonic;
    struct pawl_feed *feed = calloc(1, sizeof *feed);
    if (feed == NULL || pawl_arena_open(&feed->scratch, 0) != PAWL_OK) {
        free(feed);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the feed of events");
    }
    feed->native = native;
    (void)pthread_mutex_init(&feed->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&feed->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    if (pthread_create(&feed->thread, NULL, run, feed) != 0) {
        (void)pthread_cond_destroy(&feed->changed);
        (void)pthread_mutex_destroy(&feed->lock);
        pawl_arena_close(feed->scratch);
        free(feed);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no thread for the feed of events");
    }
    pawl_engine_on_change(native->pawl, rouse, feed);
    *out = feed;
    return PAWL_OK;
}

void pawl_feed_close(struct pawl_feed *feed)
{
    if (feed == NULL) return;
    pawl_engine_on_change(feed->native->pawl, NULL, NULL);
    (void)pthread_mutex_lock(&feed->lock);
    feed->is_stopping = true;
    (void)pthread_cond_signal(&feed->changed);
    (void)pthread_mutex_unlock(&feed->lock);
    (void)pthread_join(feed->thread, NULL);
    (void)pthread_cond_destroy(&feed->changed);
    (void)pthread_mutex_destroy(&feed->lock);
    pawl_arena_close(feed->scratch);
    free(feed);
}

/* ---- Routes ------------------------------------------------------------------------------------
 */

static bool is_event_type(struct pawl_str name)
{
    static const struct pawl_str types[] = {
#define X(name, number, type, action, success) PAWL_STR_INIT(type),
        PAWL_EVENT_TYPES(X)
#undef X
    };
    for (size_t i = 0; i < PAWL_COUNT_OF(types); i++) {
        if (pawl_str_equal(types[i], name)) return true;
    }
    return false;
}

static void check_types(struct pawl_exchange *exchange, const struct stream *stream)
{
    for (size_t i = 0; i < stream->type_count; i++) {
        struct pawl_error err = {0};
        if (pawl_exchange_has_failed(exchange) || is_event_type(stream->types[i])) continue;
        (void)pawl_error_set(&err, PAWL_INVALID, "type: `%.*s` is no type of event",
                             PAWL_STR_ARG(stream->types[i]));
        pawl_ask_refuse(exchange, &err);
    }
}

/* Where to begin: behind the event a client has had last, or where it says; else with what comes.
 */
static int64_t first_position(struct pawl_exchange *exchange)
{
    struct pawl_str last = {0};
    int64_t position = -1;
    int64_t after = pawl_exchange_int64(exchange, "after", 0, INT64_MAX, -1);
    bool is_back = pawl_http_header_get(exchange->request, PAWL_STR("Last-Event-ID"), &last);
    if (!is_back || last.len == 0 || pawl_exchange_has_failed(exchange)) return after;
    if (pawl_int64_parse(last, 0, INT64_MAX, &position)) return position;
    struct pawl_error err = {0};
    (void)pawl_error_set(&err, PAWL_INVALID,
                         "Last-Event-ID: the id of an event of this stream is wanted");
    pawl_exchange_answer_error(exchange, &err, "Last-Event-ID");
    return -1;
}

static void stream_events(struct pawl_exchange *exchange, void *self)
{
    struct pawl_native *native = self;
    struct stream stream = {
        .position = first_position(exchange),
        .queue = pawl_exchange_text(exchange, "queue"),
        .task_id = pawl_exchange_text(exchange, "task"),
    };
    stream.types = pawl_exchange_list(exchange, "type", &stream.type_count);
    check_types(exchange, &stream);
    if (pawl_exchange_has_failed(exchange)) return;
    struct member *member =
        pawl_ask_begin(exchange, native->pawl, sizeof *member, PAWL_COMMAND_CONSUMER_OPEN, NULL);
    if (member == NULL || !enter(native->feed, exchange)) return;
    member->feed = native->feed;
    member->is_stream = true;
    member->is.stream = stream;
    pawl_exchange_header(exchange, "X-Accel-Buffering", PAWL_STR("no"));
    pawl_exchange_on_left(exchange, on_left, native->feed);
    pawl_exchange_stream(exchange, 200, "text/event-stream");
    add(native->feed, member); /* its quiet has ended: the first piece says that it is there */
}

static void read_events(struct pawl_exchange *exchange, void *self)
{
    static const struct pawl_body_key keys[] = {
        {"limit", PAWL_BODY_INT32, offsetof(struct reading, limit), false},
        {"wait_ms", PAWL_BODY_MS, offsetof(struct reading, wait_ms), false},
    };
    struct pawl_native *native = self;
    struct pawl_error err = {0};
    struct reading reading = {.consumer = pawl_exchange_variable(exchange, "name"), .limit = 100};
    const struct pawl_json *body = pawl_body_of(exchange, 1);
    if (body == NULL) return;
    enum pawl_code code =
        pawl_body_fill(body, keys, PAWL_COUNT_OF(keys), exchange->arena, &reading, &err);
    if (code == PAWL_OK && (reading.limit < 1 || reading.limit > PAWL_BATCH_MAX)) {
        code = pawl_error_set(&err, PAWL_INVALID, "limit: %d is not from 1 to %d",
                              (int)reading.limit, PAWL_BATCH_MAX);
    }
    if (code == PAWL_OK && reading.wait_ms > PAWL_WAIT_MS_MAX) {
        code = pawl_error_set(&err, PAWL_INVALID, "wait_ms: %lld is more than %d",
                              (long long)reading.wait_ms, PAWL_WAIT_MS_MAX);
    }
    if (code != PAWL_OK) {
        pawl_ask_refuse(exchange, &err);
        return;
    }
    struct member *member =
        pawl_ask_begin(exchange, native->pawl, sizeof *member, PAWL_COMMAND_CONSUMER_OPEN, on_made);
    if (member == NULL || !enter(native->feed, exchange)) return;
    member->feed = native->feed;
    member->is.reading = reading;
    member->ask.request.command.ask.acknowledge.consumer = reading.consumer;
    pawl_exchange_on_left(exchange, on_left, native->feed);
    add(native->feed, member);
}

static const struct pawl_route routes[] = {
    {PAWL_VERB_GET, "/v1/events/stream", PAWL_ROLE_VIEWER, "Events as they come (SSE)",
     stream_events, PAWL_ROUTE_TAKES},
    {PAWL_VERB_POST, "/v1/consumers/{name}/read", PAWL_ROLE_WORKER,
     "Events that a consumer has not acknowledged", read_events, 0},
};

struct pawl_route_table pawl_native_feeds(struct pawl_native *native)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), native};
}
