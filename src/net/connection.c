/* The life of a connection:
 *
 *   READING ── request whole ──► HANDLING ── answered ──► WRITING ──► READING (or what was sent
 * ahead) │                            │ stream                 │ last, or refused │ refused ▼ ▼
 *      └───────────────────────► WRITING                  LINGERING ──► closed
 *
 * One exchange at a time. While it is under way the socket is still read, so that its end is seen;
 * what comes is kept (one read at most), and then reading stops: a client that sends ahead waits in
 * the socket, not in memory.
 *
 * A connection that was closed lives until its exchange has come back. */
#include "net/connection.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/code.h"
#include "base/error.h"
#include "base/printf.h"
#include "base/str.h"
#include "net/access.h"
#include "net/tls.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum state {
    READING,
    HANDLING,
    WRITING,
    STREAMING,
    LINGERING,
};

enum deadline {
    DEADLINE_NONE,
    DEADLINE_IDLE,
    DEADLINE_HANDSHAKE,
    DEADLINE_HEADERS,
    DEADLINE_BODY,
    DEADLINE_ANSWER,
    DEADLINE_LINGER
};

enum { WRITTEN_MAX = 3 }; /* buffers of one write */

struct pawl_connection {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    uv_timer_t timer;
    uv_write_t write;
    uv_shutdown_t shutdown;
    struct pawl_loop *loop;
    struct pawl_connection *next;
    struct pawl_connection **link; /* what points to it */
    struct pawl_http *http;
    struct pawl_exchange exchange;
    struct pawl_refusal refusal; /* of the head, told when the body has come; status 0 = none */
    enum state state;
    enum deadline deadline;
    char peer[INET6_ADDRSTRLEN]; /* as in the exchange; INET6_ADDRSTRLEN has room for the end */
    bool is_loopback;
    bool is_reading;
    bool has_ended;  /* the client's side */
    bool is_broken;  /* nothing can be written */
    bool is_writing; /* a write is under way */
    bool is_in_hand; /* the exchange is somebody's */
    bool is_last;    /* what is written now is the last answer */
    bool is_closing;
    int32_t open_handles;
    size_t lingered;
    char *ahead; /* malloc; what came while an exchange was under way */
    size_t ahead_len;
    char *piece; /* malloc; of a stream, while it is written */
    struct pawl_tls_session *tls; /* NULL: what is read and written is the socket's */
    uv_buf_t left[WRITTEN_MAX];   /* of what is written by TLS: what is to be said still */
    size_t left_count;
    char *sealed; /* malloc; of what is written by TLS, the part that is on its way */
    char head[PAWL_NET_ANSWER_HEAD_BYTES_MAX + PAWL_NET_ANSWER_HEADERS_BYTES_MAX];
    size_t head_len;
};

static void consume(struct pawl_connection *c, const char *bytes, size_t len);
static void after_answer(struct pawl_connection *c, bool was_sent);
static void flush_stream(struct pawl_connection *c);
static void send_handshake(struct pawl_connection *c);
static void hear_sealed(struct pawl_connection *c);

static const struct pawl_server_options *options_of(const struct pawl_connection *c)
{
    return c->loop->shared->options;
}

static int64_t now_ms(const struct pawl_connection *c)
{
    return (int64_t)uv_now(&c->loop->uv);
}

struct pawl_connection *pawl_connection_next(struct pawl_connection *connection)
{
    return connection->next;
}

/* ---- The end
 * ------------------------------------------------------------------------------------------- */

static void free_connection(struct pawl_connection *c)
{
    struct pawl_loop *loop = c->loop;
    struct pawl_loop_shared *shared = loop->shared;
    *c->link = c->next;
    if (c->next != NULL) c->next->link = c->link;
    free(c->ahead);
    free(c->piece);
    free(c->sealed);
    pawl_tls_session_close(c->tls);
    pawl_exchange_close(&c->exchange);
    pawl_http_close(c->http);
    free(c);
    (void)pthread_mutex_lock(&shared->lock);
    if (atomic_fetch_sub(&shared->metrics->connections, 1) == 1)
        (void)pthread_cond_broadcast(&shared->emptied);
    (void)pthread_mutex_unlock(&shared->lock);
    if (loop->is_cut && loop->connections == NULL) pawl_loop_wake(loop);
}

static void free_if_over(struct pawl_connection *c)
{
    if (c->open_handles == 0 && !c->is_in_hand && c->is_closing) free_connection(c);
}

static void on_closed(uv_handle_t *handle)
{
    struct pawl_connection *c = handle->data;
    c->open_handles--;
    free_if_over(c);
}

/* Nobody waits for the exchange any more. */
static void leave(struct pawl_connection *c)
{
    if (c->state != HANDLING && c->state != STREAMING) return;
    if (atomic_exchange(&c->exchange.is_left, true)) return;
    if (c->exchange.left != NULL) c->exchange.left(&c->exchange, c->exchange.left_self);
}

static void close_connection(struct pawl_connection *c)
{
    if (c->is_closing) return;
    c->is_closing = c->is_broken = true;
    leave(c);
    uv_close(&c->socket.handle, on_closed);
    uv_close((uv_handle_t *)&c->timer, on_closed);
}

/* ---- Deadlines
 * ----------------------------------------------------------------------------------------- */

static void refuse_now(struct pawl_connection *c, const struct pawl_refusal *refusal);

static void on_deadline(uv_timer_t *timer)
{
    struct pawl_connection *c = timer->data;
    if (c->deadline != DEADLINE_HEADERS && c->deadline != DEADLINE_BODY) {
        close_connection(c);
        return;
    }
    struct pawl_refusal late = {.status = 408};
    (void)pawl_error_set(&late.err, PAWL_TIMEOUT, "the %s did not come in time",
                         c->deadline == DEADLINE_BODY ? "body" : "headers");
    refuse_now(c, &late);
    pawl_loop_take_posted(c->loop);
}

static void set_deadline(struct pawl_connection *c, enum deadline deadline)
{
    const struct pawl_server_options *options = options_of(c);
    const int64_t ms[] = {
        [DEADLINE_NONE] = 0,
        [DEADLINE_IDLE] = options->idle_ms_max,
        [DEADLINE_HANDSHAKE] = options->headers_ms_max,
        [DEADLINE_HEADERS] = options->headers_ms_max,
        [DEADLINE_BODY] = options->body_ms_max,
        [DEADLINE_ANSWER] = options->answer_ms_max,
        [DEADLINE_LINGER] = options->linger_ms_max,
    };
    if (c->is_closing) return;
    c->deadline = deadline;
    /* These fail only for handles that are closing. */
    if (deadline == DEADLINE_NONE)
        (void)uv_timer_stop(&c->timer);
    else
        (void)uv_timer_start(&c->timer, on_deadline, (uint64_t)ms[deadline], 0);
}

/* ---- Reading
 * ------------------------------------------------------------------------------------------- */

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct pawl_connection *c = handle->data;
    (void)suggested;
    *buffer = uv_buf_init(c->loop->read_buffer, sizeof c->loop->read_buffer);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer);

static void set_reading(struct pawl_connection *c, bool wanted)
{
    if (c->is_closing || c->has_ended || wanted == c->is_reading) return;
    c->is_reading = wanted;
    if (!wanted)
        (void)uv_read_stop(&c->socket.stream); /* never fails */
    else if (uv_read_start(&c->socket.stream, on_room, on_read) != 0)
        close_connection(c);
}

static void keep_ahead(struct pawl_connection *c, const char *bytes, size_t len)
{
    if (len == 0) return;
    pawl_assert(c->ahead == NULL);
    c->ahead = malloc(len);
    if (c->ahead == NULL) {
        close_connection(c);
        return;
    }
    memcpy(c->ahead, bytes, len);
    c->ahead_len = len;
    set_reading(c, false);
}

/* The client's side has ended, in order or not. */
static void end_reading(struct pawl_connection *c, bool is_broken)
{
    set_reading(c, false);
    c->has_ended = true;
    if (is_broken) c->is_broken = true;
    if (c->is_in_hand) leave(c);
    /* Whoever is written to may still read: half-closed. */
    else if (c->state != WRITING)
        close_connection(c);
}

/* What the client has said. */
static void hear(struct pawl_connection *c, const char *bytes, size_t len)
{
    if (c->state == READING) {
        consume(c, bytes, len);
    } else if (c->state == LINGERING) {
        c->lingered += len;
        if (c->lingered > PAWL_NET_LINGER_BYTES_MAX) close_connection(c);
    } else {
        keep_ahead(c, bytes, len);
    }
}

/* All that TLS has of the client, as long as it is read; what is left then is heard when it is read again. */
static void hear_sealed(struct pawl_connection *c)
{
    char bytes[PAWL_NET_TLS_READ_BYTES];
    enum pawl_tls_read what = PAWL_TLS_BYTES;
    while (what == PAWL_TLS_BYTES && c->is_reading && !c->is_closing) {
        size_t len = 0;
        bool was_ready = pawl_tls_is_ready(c->tls);
        what = pawl_tls_read(c->tls, bytes, sizeof bytes, &len);
        bool is_ready = pawl_tls_is_ready(c->tls);
        send_handshake(c);
        /* whoever has shaken hands may wait like any other; who is at it may not take his time */
        if (is_ready && !was_ready && c->state == READING) set_deadline(c, DEADLINE_IDLE);
        if (what == PAWL_TLS_BYTES) hear(c, bytes, len);
        if (what == PAWL_TLS_END) end_reading(c, false);
        if (what == PAWL_TLS_BROKEN) {
            end_reading(c, true);
            close_connection(c);
        }
    }
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct pawl_connection *c = stream->data;
    if (c->is_closing || count == 0) return;
    if (count < 0) {
        end_reading(c, count != UV_EOF);
    } else if (c->tls == NULL) {
        hear(c, buffer->base, (size_t)count);
    } else if (!pawl_tls_take(c->tls, buffer->base, (size_t)count)) {
        close_connection(c);
    } else {
        if (!pawl_tls_is_ready(c->tls) && c->deadline == DEADLINE_IDLE) {
            set_deadline(c, DEADLINE_HANDSHAKE);
        }
        hear_sealed(c);
    }
    pawl_loop_take_posted(c->loop);
}

/* ---- A request
 * ----------------------------------------------------------------------------------------- */

/* X-Request-Id if it is sane, else one of ours. */
static void name_request(struct pawl_connection *c, const struct pawl_http_request *request)
{
    struct pawl_exchange *exchange = &c->exchange;
    struct pawl_loop_shared *shared = c->loop->shared;
    struct pawl_str given = {0};
    if (request != NULL && pawl_http_header_get(request, PAWL_STR("X-Request-Id"), &given)) {
        size_t at = 0;
        while (at < given.len && given.ptr[at] > ' ' && given.ptr[at] < 0x7f &&
               given.ptr[at] != '"')
            at++;
        if (at == given.len && given.len > 0 && given.len <= PAWL_NET_REQUEST_ID_BYTES_MAX) {
            memcpy(exchange->request_id, given.ptr, given.len);
            exchange->request_id[given.len] = '\0';
            return;
        }
    }
    (void)snprintf(exchange->request_id, sizeof exchange->request_id, "%016" PRIx64 "-%" PRIu64,
                   shared->request_salt,
                   (uint64_t)(atomic_fetch_add(&shared->request_count, 1) + 1));
}

static void take_refusal(struct pawl_connection *c, enum pawl_code code,
                         const struct pawl_error *err)
{
    static const int32_t verb_status = 405;
    c->refusal.err = *err;
    c->refusal.status = code == PAWL_UNSUPPORTED ? verb_status : pawl_code_http(code);
}

/* For the form of a refusal. */
static void note_path(struct pawl_connection *c)
{
    struct pawl_str target = pawl_http_request(c->http)->target;
    struct pawl_exchange *exchange = &c->exchange;
    size_t len = 0;
    while (len < target.len && target.ptr[len] != '?') len++;
    exchange->path = (struct pawl_str){target.ptr, len};
    exchange->face = pawl_face_of(exchange->path);
}

/* All that can be said before the body has come. */
static void look_at_head(struct pawl_connection *c)
{
    struct pawl_exchange *exchange = &c->exchange;
    struct pawl_loop_shared *shared = c->loop->shared;
    const struct pawl_http_request *request = pawl_http_request(c->http);
    struct pawl_error err = {0};
    exchange->request = request;
    name_request(c, request);
    note_path(c);
    size_t path_len = exchange->path.len;
    struct pawl_str query = {request->target.ptr + path_len, request->target.len - path_len};
    if (query.len > 0) query = (struct pawl_str){query.ptr + 1, query.len - 1};

    enum pawl_code found = pawl_router_find(shared->router, request->verb, exchange->path,
                                            exchange->arena, &exchange->match, &err);
    /* Who may not ask learns nothing of what there is. */
    struct pawl_error denied = {0};
    struct pawl_caller caller = {0};
    enum pawl_role needed = found == PAWL_OK ? exchange->match.route->role : PAWL_ROLE_VIEWER;
    enum pawl_code code = pawl_access_check(&options_of(c)->access, request, c->is_loopback, needed,
                                            exchange->arena, &caller, &denied);
    exchange->role = caller.role;
    exchange->caller = caller.name;
    if (code != PAWL_OK) {
        err = denied;
    } else {
        code = found;
    }
    if (code == PAWL_UNSUPPORTED) {
        pawl_exchange_header(exchange, "Allow",
                             pawl_route_allow(exchange->match.allowed, exchange->arena));
    }
    if (code == PAWL_OK) {
        code = pawl_query_parse(query, exchange->arena, &exchange->parameters,
                                &exchange->parameter_count, &err);
    }
    if (code == PAWL_OK && c->loop->is_draining &&
        (exchange->match.route->flags & PAWL_ROUTE_DRAINS) == 0) {
        code = pawl_error_set(&err, PAWL_BUSY, "the server is stopping");
    }
    if (code == PAWL_OK && shared->metrics->exchanges >= options_of(c)->exchanges_max) {
        code = pawl_error_set(&err, PAWL_BUSY, "%d requests are under way already",
                              (int)options_of(c)->exchanges_max);
    }
    if (code != PAWL_OK) take_refusal(c, code, &err);
}

static void take_in_hand(struct pawl_connection *c)
{
    c->state = HANDLING;
    c->is_in_hand = true;
    atomic_fetch_add(&c->loop->shared->metrics->exchanges, 1);
    set_deadline(c, DEADLINE_NONE);
}

/* The connection is closed after it. */
static void refuse_now(struct pawl_connection *c, const struct pawl_refusal *refusal)
{
    if (c->exchange.request_id[0] == '\0') name_request(c, NULL);
    take_in_hand(c);
    pawl_exchange_refuse(&c->exchange, refusal, true);
}

static void handle(struct pawl_connection *c)
{
    struct pawl_exchange *exchange = &c->exchange;
    exchange->mark = pawl_arena_mark(exchange->arena);
    if (c->refusal.status != 0) {
        take_in_hand(c);
        pawl_exchange_refuse(exchange, &c->refusal, false);
        return;
    }
    take_in_hand(c);
    exchange->match.route->handle(exchange, exchange->match.self);
}

/* Whether reading goes on. */
static bool take_head(struct pawl_connection *c)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    look_at_head(c);
    const struct pawl_http_request *request = pawl_http_request(c->http);
    if (!request->has_body) return true;
    if (c->refusal.status != 0) {
        /* A small body is read over, so that the connection lives on. */
        if (!request->expects_continue &&
            pawl_http_limit_body(c->http, PAWL_NET_REFUSED_BODY_BYTES_MAX))
            return true;
        refuse_now(c, &c->refusal);
        return false;
    }
    if (request->expects_continue) {
        uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)go_on, sizeof go_on - 1);
        (void)uv_try_write(&c->socket.stream, &buffer,
                           1); /* a client that does not get it goes on after a while */
    }
    set_deadline(c, DEADLINE_BODY);
    return true;
}

static void begin_request(struct pawl_connection *c)
{
    pawl_exchange_reset(&c->exchange);
    pawl_http_begin(c->http, c->exchange.arena, (size_t)options_of(c)->body_bytes_max);
    c->refusal.status = 0;
    c->state = READING;
}

static void consume(struct pawl_connection *c, const char *bytes, size_t len)
{
    if (c->deadline == DEADLINE_IDLE && len > 0) {
        c->exchange.begun_boot_ms = now_ms(c);
        set_deadline(c, DEADLINE_HEADERS);
    }
    while (c->state == READING && !c->is_closing) {
        size_t used = 0;
        enum pawl_http_state state = pawl_http_feed(c->http, bytes, len, &used);
        bytes += used;
        len -= used;
        switch (state) {
        case PAWL_HTTP_MORE:
            return;
        case PAWL_HTTP_HEAD:
            if (!take_head(c)) return;
            break;
        case PAWL_HTTP_DONE:
            handle(c);
            keep_ahead(c, bytes, len);
            return;
        case PAWL_HTTP_REFUSED:
            note_path(c);
            refuse_now(c, c->refusal.status != 0 ? &c->refusal : pawl_http_refusal(c->http));
            return;
        }
    }
}

/* ---- An answer
 * ----------------------------------------------------------------------------------------- */

static const char *reason_of(int32_t status)
{
    switch (status) {
    case 200:
        return "OK";
    case 201:
        return "Created";
    case 202:
        return "Accepted";
    case 204:
        return "No Content";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 408:
        return "Request Timeout";
    case 409:
        return "Conflict";
    case 413:
        return "Content Too Large";
    case 414:
        return "URI Too Long";
    case 417:
        return "Expectation Failed";
    case 429:
        return "Too Many Requests";
    case 431:
        return "Request Header Fields Too Large";
    case 500:
        return "Internal Server Error";
    case 503:
        return "Service Unavailable";
    case 504:
        return "Gateway Timeout";
    default:
        return status < 300 ? "OK" : "Error";
    }
}

static void add_head(struct pawl_connection *c, const char *format, ...) PAWL_PRINTF(2, 3);
static void add_head(struct pawl_connection *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(c->head + c->head_len, sizeof c->head - c->head_len, format, arguments);
    va_end(arguments);
    pawl_assert(len >= 0 &&
                (size_t)len < sizeof c->head - c->head_len); /* all that goes in is bounded */
    c->head_len += (size_t)len;
}

static bool is_head_only(const struct pawl_exchange *exchange)
{
    return exchange->request != NULL && exchange->request->verb == PAWL_VERB_HEAD;
}

static void write_head(struct pawl_connection *c)
{
    struct pawl_exchange *exchange = &c->exchange;
    c->head_len = 0;
    add_head(c, "HTTP/1.1 %d %s\r\nDate: %s\r\nX-Request-Id: %s\r\nCache-Control: no-store\r\n",
             (int)exchange->status, reason_of(exchange->status), pawl_loop_date(c->loop),
             exchange->request_id);
    if (exchange->content_type != NULL) {
        add_head(c, "Content-Type: %s\r\nX-Content-Type-Options: nosniff\r\n",
                 exchange->content_type);
    }
    if (exchange->status == 401) add_head(c, "WWW-Authenticate: Bearer\r\n");
    if (exchange->kind == PAWL_EXCHANGE_STREAM) {
        if (!exchange->request->is_old) add_head(c, "Transfer-Encoding: chunked\r\n");
    } else if (exchange->status != 204) {
        add_head(c, "Content-Length: %zu\r\n", exchange->body.len);
    }
    if (c->is_last) add_head(c, "Connection: close\r\n");
    add_head(c, "%.*s\r\n", (int)exchange->headers_len, exchange->headers);
}

static void on_written(uv_write_t *write, int status)
{
    struct pawl_connection *c = write->data;
    c->is_writing = false;
    if (status != 0) c->is_broken = true;
    if (c->state == STREAMING) {
        free(c->piece);
        c->piece = NULL;
        if (c->is_broken)
            leave(c);
        else
            set_deadline(c, DEADLINE_NONE);
        flush_stream(c);
    } else {
        after_answer(c, status == 0);
    }
    pawl_loop_take_posted(c->loop);
}

static void seal_and_write(struct pawl_connection *c);

static void on_sealed_written(uv_write_t *write, int status)
{
    struct pawl_connection *c = write->data;
    free(c->sealed);
    c->sealed = NULL;
    if (status == 0 && c->left_count > 0) {
        seal_and_write(c);
    } else {
        c->left_count = 0;
        on_written(write, status);
    }
}

/* Seals the next part of what is left and sends it: a large answer is not held twice. */
static void seal_and_write(struct pawl_connection *c)
{
    size_t room = PAWL_NET_TLS_WRITE_BYTES;
    bool is_said = true;
    while (c->left_count > 0 && room > 0 && is_said) {
        uv_buf_t *buffer = &c->left[0];
        size_t len = buffer->len < room ? buffer->len : room;
        is_said = pawl_tls_say(c->tls, buffer->base, len);
        buffer->base += len;
        buffer->len -= len;
        room -= len;
        if (buffer->len > 0) continue;
        c->left_count--;
        memmove(c->left, c->left + 1, c->left_count * sizeof *c->left);
    }
    size_t waiting = pawl_tls_waiting(c->tls);
    c->sealed = is_said ? malloc(waiting) : NULL;
    if (c->sealed == NULL) {
        c->left_count = 0;
        on_written(&c->write, UV_ENOMEM);
        return;
    }
    uv_buf_t sealed = uv_buf_init(c->sealed, (unsigned)pawl_tls_send(c->tls, c->sealed, waiting));
    set_deadline(c, DEADLINE_ANSWER);
    int error = uv_write(&c->write, &c->socket.stream, &sealed, 1, on_sealed_written);
    if (error != 0) on_sealed_written(&c->write, error);
}

static void write_buffers(struct pawl_connection *c, uv_buf_t *buffers, unsigned count)
{
    pawl_assert(count <= WRITTEN_MAX);
    c->is_writing = true;
    c->write.data = c;
    if (c->tls != NULL) {
        memcpy(c->left, buffers, count * sizeof *buffers);
        c->left_count = count;
        seal_and_write(c);
        return;
    }
    set_deadline(c, DEADLINE_ANSWER);
    int error = uv_write(&c->write, &c->socket.stream, buffers, count, on_written);
    if (error != 0) on_written(&c->write, error);
}

/* What TLS itself has to say, on its way: nobody waits for it. */
struct handshake {
    uv_write_t write;
    char bytes[];
};

static void on_handshake_written(uv_write_t *write, int status)
{
    (void)status; /* a socket that is broken is told by its reading */
    free(write->data);
}

static void send_handshake(struct pawl_connection *c)
{
    size_t waiting = pawl_tls_waiting(c->tls);
    if (waiting == 0 || c->is_closing) return;
    struct handshake *handshake = malloc(sizeof *handshake + waiting);
    if (handshake == NULL) {
        close_connection(c);
        return;
    }
    handshake->write.data = handshake;
    uv_buf_t buffer = uv_buf_init(handshake->bytes,
                                  (unsigned)pawl_tls_send(c->tls, handshake->bytes, waiting));
    int error = uv_write(&handshake->write, &c->socket.stream, &buffer, 1, on_handshake_written);
    if (error == 0) return;
    free(handshake);
    close_connection(c);
}

static bool is_last_answer(const struct pawl_connection *c)
{
    const struct pawl_exchange *exchange = &c->exchange;
    if (exchange->closes || c->loop->is_draining || c->has_ended) return true;
    if (exchange->request == NULL || !exchange->request->keeps_alive) return true;
    return exchange->kind == PAWL_EXCHANGE_STREAM && exchange->request->is_old;
}

static void write_answer(struct pawl_connection *c)
{
    struct pawl_exchange *exchange = &c->exchange;
    c->state = WRITING;
    if (c->is_broken) {
        after_answer(c, false);
        return;
    }
    c->is_last = is_last_answer(c);
    write_head(c);
    uv_buf_t buffers[2] = {uv_buf_init(c->head, (unsigned)c->head_len)};
    bool has_body = exchange->body.len > 0 && !is_head_only(exchange);
    if (has_body)
        buffers[1] =
            uv_buf_init((char *)(uintptr_t)exchange->body.ptr, (unsigned)exchange->body.len);
    write_buffers(c, buffers, has_body ? 2 : 1);
}

static void tell_log(struct pawl_connection *c, bool was_sent, int64_t took_ms)
{
    const struct pawl_exchange *exchange = &c->exchange;
    enum pawl_log_level level = PAWL_LOG_DEBUG;
    if (exchange->status >= 500)
        level = PAWL_LOG_WARN;
    else if (exchange->status >= 400)
        level = PAWL_LOG_INFO;
    const char *verb = exchange->request != NULL ? pawl_verb_name(exchange->request->verb) : "";
    const char *code = exchange->status >= 400 ? pawl_code_name(exchange->code) : "OK";
    pawl_log_write(options_of(c)->log, level, "http.request",
                   PAWL_TEXT("request", pawl_str_of(exchange->request_id)),
                   PAWL_TEXT("verb", pawl_str_of(verb)), PAWL_TEXT("path", exchange->path),
                   PAWL_INT("status", exchange->status), PAWL_TEXT("code", pawl_str_of(code)),
                   PAWL_INT("took_ms", took_ms),
                   PAWL_TEXT("sent", was_sent ? PAWL_STR("true") : PAWL_STR("false")));
}

static void linger(struct pawl_connection *c);

static void after_answer(struct pawl_connection *c, bool was_sent)
{
    struct pawl_exchange *exchange = &c->exchange;
    int64_t took_ms = now_ms(c) - exchange->begun_boot_ms;
    size_t at = exchange->match.route != NULL ? exchange->match.at
                                              : pawl_router_count(c->loop->shared->router);
    pawl_metrics_count(c->loop->shared->metrics, at, exchange->status, took_ms);
    tell_log(c, was_sent, took_ms);
    if (exchange->done != NULL) exchange->done(exchange->done_self, was_sent);
    c->is_in_hand = false;
    atomic_fetch_sub(&c->loop->shared->metrics->exchanges, 1);
    if (c->is_closing) {
        free_if_over(c);
        return;
    }
    if (!was_sent) {
        close_connection(c);
        return;
    }
    if (c->is_last) {
        linger(c);
        return;
    }
    begin_request(c);
    set_deadline(c, DEADLINE_IDLE);
    if (c->ahead != NULL) {
        char *bytes = c->ahead;
        size_t len = c->ahead_len;
        c->ahead = NULL;
        set_reading(c, true);
        consume(c, bytes, len);
        free(bytes);
    } else if (c->has_ended) {
        close_connection(c);
    } else {
        set_reading(c, true);
    }
    if (c->tls != NULL) hear_sealed(c);
    /* The loop may have begun to drain while the answer was on its way. */
    if (c->loop->is_draining) pawl_connection_drain(c);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    struct pawl_connection *c = request->data;
    if (status != 0 && !c->is_closing) close_connection(c);
}

/* Our side is closed; what the other side still sends is read over, until its end. */
static void linger(struct pawl_connection *c)
{
    c->state = LINGERING;
    free(c->ahead);
    c->ahead = NULL;
    if (c->has_ended) {
        close_connection(c);
        return;
    }
    c->shutdown.data = c;
    set_deadline(c, DEADLINE_LINGER);
    set_reading(c, true);
    if (c->tls != NULL) {
        pawl_tls_end(c->tls);
        send_handshake(c);
    }
    if (c->is_closing || uv_shutdown(&c->shutdown, &c->socket.stream, on_shutdown) != 0)
        close_connection(c);
}

/* ---- Answers that go on
 * -------------------------------------------------------------------------------- */

/* What is there, as one chunk, and the last chunk if it is the end. */
static void flush_stream(struct pawl_connection *c)
{
    struct pawl_exchange *exchange = &c->exchange;
    if (c->is_writing) return;
    (void)pthread_mutex_lock(&exchange->lock);
    char *bytes = exchange->stream;
    size_t len = exchange->stream_len;
    bool has_ended = exchange->stream_has_ended;
    bool is_cut_short = exchange->closes;
    exchange->stream = NULL;
    exchange->stream_len = exchange->stream_capacity = 0;
    (void)pthread_mutex_unlock(&exchange->lock);

    /* The end is posted before it can be seen here. Once more, then: an exchange in the ring must
     * not go. */
    if (has_ended && pawl_loop_is_posted(exchange)) has_ended = false;
    bool is_chunked = !exchange->request->is_old;
    bool is_hidden = is_head_only(exchange);
    if (c->is_broken || is_hidden || len == 0) {
        free(bytes);
        bytes = NULL;
        len = 0;
    }
    if (is_cut_short && !has_ended) leave(c);
    if (c->is_broken || (has_ended && len == 0)) {
        if (!has_ended) return; /* its producer has been told */
        if (is_cut_short) c->is_last = true;
        if (c->is_broken || is_cut_short || !is_chunked || is_hidden) {
            c->state = WRITING;
            after_answer(c, !c->is_broken && !is_cut_short);
            return;
        }
        c->state = WRITING; /* its end is the end of the answer */
        uv_buf_t last = uv_buf_init((char *)(uintptr_t) "0\r\n\r\n", 5);
        write_buffers(c, &last, 1);
        return;
    }
    if (len == 0) return;
    c->piece = bytes;
    c->head_len = 0;
    if (is_chunked) add_head(c, "%zx\r\n", len);
    uv_buf_t buffers[3] = {uv_buf_init(c->head, (unsigned)c->head_len),
                           uv_buf_init(bytes, (unsigned)len),
                           uv_buf_init((char *)(uintptr_t) "\r\n", is_chunked ? 2 : 0)};
    write_buffers(c, buffers, 3);
}

static void begin_stream(struct pawl_connection *c)
{
    c->state = STREAMING;
    if (c->is_broken) {
        flush_stream(c);
        return;
    }
    c->is_last = is_last_answer(c);
    write_head(c);
    uv_buf_t buffer = uv_buf_init(c->head, (unsigned)c->head_len);
    write_buffers(c, &buffer, 1);
}

void pawl_connection_take(struct pawl_exchange *exchange)
{
    struct pawl_connection *c =
        (struct pawl_connection *)(void *)((char *)exchange -
                                           offsetof(struct pawl_connection, exchange));
    if (c->state == STREAMING) {
        flush_stream(c);
    } else if (c->state == HANDLING) {
        if (exchange->kind == PAWL_EXCHANGE_STREAM)
            begin_stream(c);
        else
            write_answer(c);
    }
}

/* ---- The beginning, and the end of all
 * ------------------------------------------------------------------ */

void pawl_connection_drain(struct pawl_connection *c)
{
    if (c->is_closing) return;
    if (c->is_in_hand)
        leave(c);
    else if (c->state == READING && !pawl_http_has_begun(c->http))
        close_connection(c);
}

void pawl_connection_cut(struct pawl_connection *c)
{
    close_connection(c);
}

static struct pawl_connection *new_connection(struct pawl_listener_socket *listener)
{
    struct pawl_connection *c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    c->loop = listener->loop;
    c->is_loopback = listener->is_loopback;
    if (pawl_http_open(&c->http) != PAWL_OK || pawl_exchange_init(&c->exchange) != PAWL_OK) {
        pawl_http_close(c->http);
        free(c);
        return NULL;
    }
    c->exchange.post = pawl_loop_post;
    c->exchange.loop = c->loop;
    c->exchange.instance = c->loop->shared->instance;
    /* These never fail for a loop that is there. */
    if (listener->is_unix)
        (void)uv_pipe_init(&c->loop->uv, &c->socket.pipe, 0);
    else
        (void)uv_tcp_init(&c->loop->uv, &c->socket.tcp);
    (void)uv_timer_init(&c->loop->uv, &c->timer);
    c->socket.handle.data = c;
    c->timer.data = c;
    c->open_handles = 2;
    c->next = c->loop->connections;
    c->link = &c->loop->connections;
    if (c->next != NULL) c->next->link = &c->next;
    c->loop->connections = c;
    return c;
}

/* One machine has many names for itself, and of every other one that counts. */
static void note_peer(struct pawl_connection *c)
{
    struct sockaddr_storage at;
    int len = sizeof at;
    const struct sockaddr *address = (const struct sockaddr *)&at;
    if (uv_tcp_getpeername(&c->socket.tcp, (struct sockaddr *)&at, &len) != 0) return;
    (void)uv_ip_name(address, c->peer, sizeof c->peer);
    static const char mapped[] = "::ffff:"; /* IPv4 through a socket of IPv6 */
    if (strncmp(c->peer, mapped, sizeof mapped - 1) == 0)
        memmove(c->peer, c->peer + sizeof mapped - 1, strlen(c->peer) - sizeof mapped + 2);
    if (strcmp(c->peer, "::1") == 0 || strncmp(c->peer, "127.", 4) == 0)
        (void)snprintf(c->peer, sizeof c->peer, "localhost");
    c->exchange.peer = pawl_str_of(c->peer);
}

void pawl_connection_accept(struct pawl_listener_socket *listener)
{
    struct pawl_loop_shared *shared = listener->loop->shared;
    struct pawl_connection *c = new_connection(listener);
    if (c == NULL) return; /* it waits in the backlog */
    int64_t count = atomic_fetch_add(&shared->metrics->connections, 1) + 1;
    atomic_fetch_add(&shared->metrics->accepted, 1);
    if (uv_accept(&listener->socket.stream, &c->socket.stream) != 0) {
        close_connection(c);
        return;
    }
    if (!listener->is_unix) {
        (void)uv_tcp_nodelay(&c->socket.tcp, 1); /* it only gets slower without */
        note_peer(c);
        if (shared->options->tls != NULL) c->tls = pawl_tls_session_open(shared->options->tls);
    }
    bool is_unsealed = c->tls == NULL && !listener->is_unix && shared->options->tls != NULL;
    begin_request(c);
    c->exchange.begun_boot_ms = now_ms(c);
    if (is_unsealed) { /* without memory */
        close_connection(c);
        return;
    }
    if (count > shared->options->connections_max) {
        atomic_fetch_add(&shared->metrics->turned_away, 1);
        /* who has not shaken hands cannot be told */
        if (c->tls != NULL || count > shared->options->connections_max + PAWL_NET_TURNED_AWAY_MAX) {
            close_connection(c);
            return;
        }
        struct pawl_refusal full = {.status = 503};
        (void)pawl_error_set(&full.err, PAWL_BUSY, "there are %d connections already",
                             (int)shared->options->connections_max);
        set_reading(c, true);
        refuse_now(c, &full);
        pawl_loop_take_posted(c->loop);
        return;
    }
    set_deadline(c, DEADLINE_IDLE);
    set_reading(c, true);
}
