/* An exchange: one request and its answer, and what a handler works with.
 *
 *   static void get_task(struct pawl_exchange *exchange, void *self)
 *   {
 *       int64_t limit = pawl_exchange_int64(exchange, "limit", 1, 1000, 100);
 *       if (pawl_exchange_has_failed(exchange)) return;     // it has been answered: 400 with the
 * field
 *       ...
 *       pawl_exchange_answer_json(exchange, 200, &writer);
 *   }
 *
 * It has one owner at a time. The handler is called on the loop's thread and owns the exchange
 * until it answers, there or later from any thread; exactly once. From then on it must not be
 * touched. It lives until it is answered, also when its socket has closed.
 *
 * All that an answer points to lives in exchange->arena or for ever. */
#ifndef PAWL_NET_EXCHANGE_H
#define PAWL_NET_EXCHANGE_H

#include "base/arena.h"
#include "net/http.h"
#include "net/limits.h"
#include "net/route.h"
#include "pawl.h"

#include <pthread.h>
#include <stdatomic.h>

struct pawl_json;
struct pawl_json_writer;

/* How errors look on the wire. */
enum pawl_face {
    PAWL_FACE_PAWL,      /* {"code":"NOT_FOUND","message":"…","field":"…"} */
    PAWL_FACE_CONDUCTOR, /* below /api:
                            {"status":404,"message":"…","instance":"…","retryable":false} */
};
enum pawl_face pawl_face_of(struct pawl_str path);

enum pawl_exchange_body { PAWL_EXCHANGE_WHOLE, PAWL_EXCHANGE_STREAM };

struct pawl_exchange {
    /* ---- What a handler reads ---- */
    const struct pawl_http_request *request; /* verb, headers, body */
    struct pawl_str path;                    /* as sent */
    struct pawl_arena *arena;                /* until the answer is written */
    enum pawl_role role;                     /* of the caller; at least the route's */
    struct pawl_str caller;                  /* the name of its token; empty = none */
    struct pawl_str peer;                    /* the address it came from, or localhost; empty over a socket file */
    char request_id[PAWL_NET_REQUEST_ID_BYTES_MAX + 1];
    enum pawl_face face;

    /* ---- The rest is the server's ---- */
    struct pawl_route_match match;
    struct pawl_arena_mark mark; /* before the handler: what an error may go back to for room */
    struct pawl_parameter *parameters;
    size_t parameter_count;
    struct pawl_str instance; /* our host's name, for errors in Conductor's form */
    int64_t begun_boot_ms;
    void (*post)(struct pawl_exchange *exchange); /* gives it back to the loop */
    void *loop;
    struct pawl_exchange *next; /* in the loop's ring; under its lock */
    bool is_posted;

    _Atomic bool is_left;
    void (*left)(struct pawl_exchange *exchange, void *self);
    void *left_self;
    void (*done)(void *self, bool was_sent);
    void *done_self;

    _Atomic bool is_answered;
    int32_t status;
    enum pawl_code code; /* of an error's answer, for the log */
    const char *content_type;
    struct pawl_str body;
    char headers[PAWL_NET_ANSWER_HEADERS_BYTES_MAX + 1]; /* whole lines */
    size_t headers_len;
    enum pawl_exchange_body kind;
    bool closes; /* the connection, after the answer */

    pthread_mutex_t lock; /* for what follows */
    char *stream;         /* malloc; grows up to PAWL_NET_STREAM_BYTES_MAX */
    size_t stream_len;
    size_t stream_capacity;
    bool stream_has_ended;
};

/* For whoever runs handlers: the loop, and tests. init makes the lock and the arena, once; reset
 * makes it ready for the next request. */
enum pawl_code pawl_exchange_init(struct pawl_exchange *exchange) PAWL_MUST_USE;
void pawl_exchange_reset(struct pawl_exchange *exchange);
void pawl_exchange_close(struct pawl_exchange *exchange);

/* ---- What was asked
 * ------------------------------------------------------------------------------------- */

/* The getters below answer the exchange with 400 and the field's name when its value is bad, and
 * give the fallback; has_failed tells it. They may go on being called then. */
bool pawl_exchange_has_failed(const struct pawl_exchange *exchange);

/* Refuses a parameter that no getter has asked for: it would be a value that silently does nothing. Called after the
 * getters; true: it has been answered, as by them. Conductor's clients send what they like: below /api nobody calls
 * it. */
bool pawl_exchange_has_unread(struct pawl_exchange *exchange);

/* A variable of the route's pattern; one that the pattern does not have is a broken promise. */
struct pawl_str pawl_exchange_variable(const struct pawl_exchange *exchange, const char *name);

/* Parameters of the query. Empty ones count as not given, unknown ones are never looked at. */
struct pawl_str pawl_exchange_text(const struct pawl_exchange *exchange,
                                   const char *name); /* empty = not given */
bool pawl_exchange_bool(struct pawl_exchange *exchange, const char *name, bool fallback);
int64_t pawl_exchange_int64(struct pawl_exchange *exchange, const char *name, int64_t min,
                            int64_t max, int64_t fallback);
/* All values: of repeated keys and between commas alike. In the arena; NULL with *count 0 if none
 * is given. */
const struct pawl_str *pawl_exchange_list(struct pawl_exchange *exchange, const char *name,
                                          size_t *count);

/* The body as JSON, as pawl_json_parse_top reads it. NULL, and answered, if it is none; NULL alone
 * never. */
struct pawl_json *pawl_exchange_body_json(struct pawl_exchange *exchange, int32_t levels);

/* ---- Waiting
 * -------------------------------------------------------------------------------------------- */

/* Whether nobody waits for the answer any more: the socket has closed, or the server drains. It
 * must be answered all the same. Any thread. */
bool pawl_exchange_is_left(const struct pawl_exchange *exchange);

/* Called once, on the loop's thread, when that becomes so, to wake what the exchange waits for. Set
 * by the handler before it hands the exchange on. It may still be called while or after another
 * thread answers, until the loop has taken the answer: exchange and arena are there as long. */
void pawl_exchange_on_left(struct pawl_exchange *exchange,
                           void (*left)(struct pawl_exchange *exchange, void *self), void *self);

/* Called once, on the loop's thread, when the answer was given to the socket whole, or could not
 * be. For what an answer hands out. Set before answering. */
void pawl_exchange_on_done(struct pawl_exchange *exchange, void (*done)(void *self, bool was_sent),
                           void *self);

/* ---- Answers: any thread, exactly one
 * ------------------------------------------------------------------- */

/* A header of the answer, before answering. Both are visible ASCII, spaces in the value too; what
 * does not fit in PAWL_NET_ANSWER_HEADERS_BYTES_MAX is a broken promise. */
void pawl_exchange_header(struct pawl_exchange *exchange, const char *name, struct pawl_str value);

/* content_type NULL: there is no body, and none is named. */
void pawl_exchange_answer(struct pawl_exchange *exchange, int32_t status, const char *content_type,
                          struct pawl_str body);

/* What was written; if the arena failed, that becomes the answer: TOO_LARGE or NO_MEMORY. */
void pawl_exchange_answer_json(struct pawl_exchange *exchange, int32_t status,
                               struct pawl_json_writer *w);
void pawl_exchange_answer_text(struct pawl_exchange *exchange, int32_t status,
                               struct pawl_str text);
void pawl_exchange_answer_empty(struct pawl_exchange *exchange, int32_t status);

/* The error's code says the status; field may be NULL. */
void pawl_exchange_answer_error(struct pawl_exchange *exchange, const struct pawl_error *err,
                                const char *field);
/* The same with another status, and for a refusal that must close the connection. */
void pawl_exchange_refuse(struct pawl_exchange *exchange, const struct pawl_refusal *refusal,
                          bool closes);

/* ---- Answers that go on
 * --------------------------------------------------------------------------------- */

/* Begins an answer whose pieces follow. Until stream_end the exchange is still the handler's; one
 * thread at a time. */
void pawl_exchange_stream(struct pawl_exchange *exchange, int32_t status, const char *content_type);

/* Copies a piece for the reader.
 *
 *   fails  PAWL_BUSY  the reader is too slow: PAWL_NET_STREAM_BYTES_MAX wait for it. The piece is
 * dropped, and so will be all others: end the stream PAWL_STATE nobody reads any more */
enum pawl_code pawl_exchange_stream_write(struct pawl_exchange *exchange,
                                          struct pawl_str piece) PAWL_MUST_USE;

/* Bytes of it that wait for its reader. */
size_t pawl_exchange_stream_waiting(struct pawl_exchange *exchange);

/* The last word: as an answer, it gives the exchange away. */
void pawl_exchange_stream_end(struct pawl_exchange *exchange);

#endif
