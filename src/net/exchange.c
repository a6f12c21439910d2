/* What a handler sees. Knows no socket: whoever runs handlers is given the exchange back by its
 * post function.
 *
 * An answer goes from one thread to the other by post, whose lock orders all that was written
 * before it. After it nothing of the exchange may be touched here. */
#include "net/exchange.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/code.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static const char json_type[] = "application/json";
static const char text_type[] = "text/plain;charset=UTF-8";

enum pawl_face pawl_face_of(struct pawl_str path)
{
    bool is_below =
        pawl_str_starts(path, PAWL_STR("/api/")) || pawl_str_equal(path, PAWL_STR("/api"));
    return is_below ? PAWL_FACE_CONDUCTOR : PAWL_FACE_PAWL;
}

enum pawl_code pawl_exchange_init(struct pawl_exchange *exchange)
{
    *exchange = (struct pawl_exchange){0};
    enum pawl_code code = pawl_arena_open(&exchange->arena, PAWL_NET_EXCHANGE_ARENA_BYTES_MAX);
    if (code != PAWL_OK) return code;
    if (pthread_mutex_init(&exchange->lock, NULL) == 0) return PAWL_OK;
    pawl_arena_close(exchange->arena);
    exchange->arena = NULL;
    return PAWL_NO_MEMORY;
}

void pawl_exchange_reset(struct pawl_exchange *exchange)
{
    pawl_arena_reset(exchange->arena);
    exchange->mark = pawl_arena_mark(exchange->arena);
    exchange->request = NULL;
    exchange->path = exchange->caller = (struct pawl_str){0};
    exchange->role = PAWL_ROLE_NONE;
    exchange->request_id[0] = '\0';
    exchange->match.route = NULL;
    exchange->match.variable_count = 0;
    exchange->parameters = NULL;
    exchange->parameter_count = 0;
    exchange->left = NULL;
    exchange->done = NULL;
    exchange->is_left = false;
    exchange->is_answered = false;
    exchange->status = 0;
    exchange->code = PAWL_OK;
    exchange->content_type = NULL;
    exchange->body = (struct pawl_str){0};
    exchange->headers_len = 0;
    exchange->kind = PAWL_EXCHANGE_WHOLE;
    exchange->closes = false;
    free(exchange->stream);
    exchange->stream = NULL;
    exchange->stream_len = exchange->stream_capacity = 0;
    exchange->stream_has_ended = false;
}

void pawl_exchange_close(struct pawl_exchange *exchange)
{
    if (exchange->arena == NULL) return;
    free(exchange->stream);
    (void)pthread_mutex_destroy(&exchange->lock);
    pawl_arena_close(exchange->arena);
    exchange->arena = NULL;
}

/* ---- What was asked
 * ------------------------------------------------------------------------------------ */

static void answer_invalid(struct pawl_exchange *exchange, const char *name, const char *wanted,
                           struct pawl_str got)
{
    struct pawl_error err = {0};
    if (exchange->is_answered) return; /* by the first bad one */
    struct pawl_str shown = got.len > 64 ? (struct pawl_str){got.ptr, 64} : got;
    (void)pawl_error_set(&err, PAWL_INVALID, "%s: %s is wanted, not `%.*s`", name, wanted,
                         PAWL_STR_ARG(shown));
    pawl_exchange_answer_error(exchange, &err, name);
}

bool pawl_exchange_has_failed(const struct pawl_exchange *exchange)
{
    return exchange->is_answered;
}

bool pawl_exchange_has_unread(struct pawl_exchange *exchange)
{
    for (size_t i = 0; i < exchange->parameter_count && !exchange->is_answered; i++) {
        if (exchange->parameters[i].is_read) continue;
        struct pawl_error err = {0};
        struct pawl_str name = pawl_arena_format(exchange->arena, "%.*s", PAWL_STR_ARG(exchange->parameters[i].name));
        (void)pawl_error_set(&err, PAWL_INVALID, "%.*s: there is no such parameter here", PAWL_STR_ARG(name));
        pawl_exchange_answer_error(exchange, &err, name.ptr);
    }
    return exchange->is_answered;
}

struct pawl_str pawl_exchange_variable(const struct pawl_exchange *exchange, const char *name)
{
    struct pawl_str wanted = pawl_str_of(name);
    const struct pawl_route_match *match = &exchange->match;
    size_t at = 0;
    while (at < match->variable_count && !pawl_str_equal(match->variables[at].name, wanted)) at++;
    pawl_assert(at < match->variable_count);
    return match->variables[at].value;
}

struct pawl_str pawl_exchange_text(const struct pawl_exchange *exchange, const char *name)
{
    struct pawl_str wanted = pawl_str_of(name);
    struct pawl_str value = {0};
    for (size_t i = exchange->parameter_count; i > 0; i--) { /* of several the first */
        struct pawl_parameter *parameter = &exchange->parameters[i - 1];
        if (!pawl_str_equal(parameter->name, wanted)) continue;
        parameter->is_read = true;
        value = parameter->value;
    }
    return value;
}

bool pawl_exchange_bool(struct pawl_exchange *exchange, const char *name, bool fallback)
{
    struct pawl_str text = pawl_exchange_text(exchange, name);
    bool value = fallback;
    if (text.len > 0 && !pawl_query_bool_parse(text, &value)) {
        answer_invalid(exchange, name, "true or false", text);
    }
    return value;
}

int64_t pawl_exchange_int64(struct pawl_exchange *exchange, const char *name, int64_t min,
                            int64_t max, int64_t fallback)
{
    struct pawl_str text = pawl_exchange_text(exchange, name);
    int64_t value = fallback;
    if (text.len > 0 && !pawl_int64_parse(text, min, max, &value)) {
        struct pawl_str wanted = pawl_arena_format(exchange->arena, "a number from %lld to %lld",
                                                   (long long)min, (long long)max);
        answer_invalid(exchange, name, wanted.len > 0 ? wanted.ptr : "another number", text);
    }
    return value;
}

const struct pawl_str *pawl_exchange_list(struct pawl_exchange *exchange, const char *name,
                                          size_t *count)
{
    struct pawl_str wanted = pawl_str_of(name);
    size_t pieces = 0;
    *count = 0;
    for (size_t i = 0; i < exchange->parameter_count; i++) {
        struct pawl_parameter *parameter = &exchange->parameters[i];
        if (!pawl_str_equal(parameter->name, wanted)) continue;
        parameter->is_read = true;
        pieces++;
        for (size_t c = 0; c < parameter->value.len; c++) pieces += parameter->value.ptr[c] == ',';
    }
    if (pieces == 0) return NULL;
    struct pawl_str *list = pawl_arena_take_array(exchange->arena, pieces, sizeof *list);
    if (list == NULL) {
        struct pawl_error err = {0};
        (void)pawl_error_set(&err, pawl_arena_code(exchange->arena), "%s: no room for the list",
                             name);
        if (!exchange->is_answered) pawl_exchange_answer_error(exchange, &err, name);
        return NULL;
    }
    for (size_t i = 0; i < exchange->parameter_count; i++) {
        struct pawl_str value = exchange->parameters[i].value;
        if (!pawl_str_equal(exchange->parameters[i].name, wanted)) continue;
        for (size_t start = 0, c = 0; c <= value.len; c++) {
            if (c < value.len && value.ptr[c] != ',') continue;
            if (c > start) list[(*count)++] = (struct pawl_str){value.ptr + start, c - start};
            start = c + 1;
        }
    }
    return list;
}

struct pawl_json *pawl_exchange_body_json(struct pawl_exchange *exchange, int32_t levels)
{
    struct pawl_json *json = NULL;
    struct pawl_error err = {0};
    enum pawl_code code =
        pawl_json_parse_top(exchange->request->body, levels, exchange->arena, &json, &err);
    if (code == PAWL_OK) return json;
    pawl_error_prefix(&err, "body");
    if (!exchange->is_answered) pawl_exchange_answer_error(exchange, &err, "body");
    return NULL;
}

/* ---- Waiting
 * ------------------------------------------------------------------------------------------- */

bool pawl_exchange_is_left(const struct pawl_exchange *exchange)
{
    return exchange->is_left;
}

void pawl_exchange_on_left(struct pawl_exchange *exchange,
                           void (*left)(struct pawl_exchange *exchange, void *self), void *self)
{
    exchange->left = left;
    exchange->left_self = self;
}

void pawl_exchange_on_done(struct pawl_exchange *exchange, void (*done)(void *self, bool was_sent),
                           void *self)
{
    exchange->done = done;
    exchange->done_self = self;
}

/* ---- Answers
 * ------------------------------------------------------------------------------------------- */

static bool is_visible(struct pawl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < ' ' || text.ptr[i] == 0x7f) return false;
    }
    return true;
}

void pawl_exchange_header(struct pawl_exchange *exchange, const char *name, struct pawl_str value)
{
    size_t name_len = strlen(name);
    size_t bytes = name_len + 2 + value.len + 2;
    pawl_assert(is_visible(value));
    pawl_assert(bytes <= PAWL_NET_ANSWER_HEADERS_BYTES_MAX - exchange->headers_len);
    char *at = exchange->headers + exchange->headers_len;
    memcpy(at, name, name_len);
    memcpy(at + name_len, ": ", 2);
    if (value.len > 0) memcpy(at + name_len + 2, value.ptr, value.len);
    memcpy(at + name_len + 2 + value.len, "\r\n", 2);
    exchange->headers_len += bytes;
}

static void give(struct pawl_exchange *exchange, int32_t status, const char *content_type,
                 struct pawl_str body)
{
    bool was_answered = atomic_exchange(&exchange->is_answered, true);
    pawl_assert(!was_answered);
    exchange->status = status;
    exchange->content_type = content_type;
    exchange->body = body;
    exchange->post(exchange);
}

void pawl_exchange_answer(struct pawl_exchange *exchange, int32_t status, const char *content_type,
                          struct pawl_str body)
{
    pawl_assert(status >= 200 && status <= 599);
    pawl_assert(content_type != NULL || body.len == 0);
    pawl_assert(status != 204 || content_type == NULL);
    give(exchange, status, content_type, body);
}

void pawl_exchange_answer_json(struct pawl_exchange *exchange, int32_t status,
                               struct pawl_json_writer *w)
{
    struct pawl_str body = pawl_json_writer_done(w);
    if (body.ptr == NULL || pawl_arena_code(exchange->arena) != PAWL_OK) {
        struct pawl_error err = {0};
        enum pawl_code code = pawl_arena_code(exchange->arena);
        (void)pawl_error_set(&err, code != PAWL_OK ? code : PAWL_NO_MEMORY,
                             "no room for the answer");
        pawl_exchange_answer_error(exchange, &err, NULL);
        return;
    }
    pawl_exchange_answer(exchange, status, json_type, body);
}

void pawl_exchange_answer_text(struct pawl_exchange *exchange, int32_t status, struct pawl_str text)
{
    pawl_exchange_answer(exchange, status, text_type, text);
}

void pawl_exchange_answer_empty(struct pawl_exchange *exchange, int32_t status)
{
    pawl_exchange_answer(exchange, status, NULL, (struct pawl_str){0});
}

/* The words that SDKs ask for: they fetch a new token for these alone. */
static const char *conductor_error_word(int32_t status)
{
    if (status == 401) return "INVALID_TOKEN";
    return status == 403 ? "FORBIDDEN" : NULL;
}

/* Clients of Conductor look for messages that begin with "No such". */
static struct pawl_str as_sentence(struct pawl_str text, struct pawl_arena *keep)
{
    if (!pawl_str_starts(text, PAWL_STR("no such "))) return text;
    struct pawl_str copy = pawl_arena_format(keep, "N%.*s", (int)text.len - 1, text.ptr + 1);
    return copy.len > 0 ? copy : text;
}

static struct pawl_str error_body(struct pawl_exchange *exchange, int32_t status,
                                  const struct pawl_error *err, const char *field)
{
    /* A handler that ran out of room is through with what it took. */
    if (pawl_arena_code(exchange->arena) != PAWL_OK)
        pawl_arena_rewind(exchange->arena, exchange->mark);
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, exchange->arena);
    pawl_json_begin_object(&w);
    if (exchange->face == PAWL_FACE_CONDUCTOR) {
        const char *word = conductor_error_word(status);
        pawl_json_put_member_int64(&w, "status", status);
        pawl_json_put_member_text(&w, "message",
                                  as_sentence(pawl_str_of(err->text), exchange->arena));
        if (word != NULL) pawl_json_put_member_text(&w, "error", pawl_str_of(word));
        pawl_json_put_member_text(&w, "instance", exchange->instance);
        pawl_json_put_member_bool(&w, "retryable", pawl_code_repeats(err->code));
    } else {
        pawl_json_put_member_text(&w, "code", pawl_str_of(pawl_code_name(err->code)));
        pawl_json_put_member_text(&w, "message", pawl_str_of(err->text));
        if (field != NULL) pawl_json_put_member_text(&w, "field", pawl_str_of(field));
        if (err->until_at_ms != 0) pawl_json_put_member_int64(&w, "until_at_ms", err->until_at_ms);
    }
    pawl_json_end_object(&w);
    return pawl_json_writer_done(&w);
}

static void answer_error(struct pawl_exchange *exchange, int32_t status,
                         const struct pawl_error *err, const char *field)
{
    if (pawl_code_repeats(err->code) && status >= 429) {
        char seconds[PAWL_INT64_TEXT_BYTES_MAX + 1];
        size_t len = pawl_int64_format(PAWL_NET_RETRY_AFTER_S, seconds);
        pawl_exchange_header(exchange, "Retry-After", (struct pawl_str){seconds, len});
    }
    struct pawl_str body = error_body(exchange, status, err, field);
    exchange->code = err->code;
    /* Without room for a sentence the status says it. */
    give(exchange, status, body.len > 0 ? json_type : NULL, body);
}

void pawl_exchange_answer_error(struct pawl_exchange *exchange, const struct pawl_error *err,
                                const char *field)
{
    pawl_assert(err->code != PAWL_OK);
    answer_error(exchange, pawl_code_http(err->code), err, field);
}

void pawl_exchange_refuse(struct pawl_exchange *exchange, const struct pawl_refusal *refusal,
                          bool closes)
{
    exchange->closes = closes;
    answer_error(exchange, refusal->status, &refusal->err, NULL);
}

/* ---- Answers that go on
 * -------------------------------------------------------------------------------- */

void pawl_exchange_stream(struct pawl_exchange *exchange, int32_t status, const char *content_type)
{
    bool was_answered = atomic_exchange(&exchange->is_answered, true);
    pawl_assert(!was_answered);
    exchange->status = status;
    exchange->content_type = content_type;
    exchange->kind = PAWL_EXCHANGE_STREAM;
    exchange->post(exchange);
}

static bool stream_has_room(struct pawl_exchange *exchange, size_t bytes)
{
    if (bytes > PAWL_NET_STREAM_BYTES_MAX - exchange->stream_len) return false;
    size_t wanted = exchange->stream_capacity != 0 ? exchange->stream_capacity : 1024;
    while (wanted < exchange->stream_len + bytes) wanted *= 2;
    if (wanted == exchange->stream_capacity) return true;
    char *larger = realloc(exchange->stream, wanted);
    if (larger == NULL) return false;
    exchange->stream = larger;
    exchange->stream_capacity = wanted;
    return true;
}

enum pawl_code pawl_exchange_stream_write(struct pawl_exchange *exchange, struct pawl_str piece)
{
    pawl_assert(exchange->kind == PAWL_EXCHANGE_STREAM);
    if (exchange->is_left) return PAWL_STATE;
    if (piece.len == 0) return PAWL_OK;
    (void)pthread_mutex_lock(&exchange->lock);
    bool has_room = !exchange->closes && stream_has_room(exchange, piece.len);
    if (has_room) {
        memcpy(exchange->stream + exchange->stream_len, piece.ptr, piece.len);
        exchange->stream_len += piece.len;
    } else {
        exchange->closes =
            true; /* what was dropped is missed: the reader must not take the rest for the whole */
    }
    (void)pthread_mutex_unlock(&exchange->lock);
    if (!has_room) return PAWL_BUSY;
    exchange->post(exchange);
    return PAWL_OK;
}

size_t pawl_exchange_stream_waiting(struct pawl_exchange *exchange)
{
    (void)pthread_mutex_lock(&exchange->lock);
    size_t waiting = exchange->stream_len;
    (void)pthread_mutex_unlock(&exchange->lock);
    return waiting;
}

void pawl_exchange_stream_end(struct pawl_exchange *exchange)
{
    pawl_assert(exchange->kind == PAWL_EXCHANGE_STREAM);
    /* Posted under the lock: whoever sees the end finds it posted. */
    (void)pthread_mutex_lock(&exchange->lock);
    exchange->stream_has_ended = true;
    exchange->post(exchange);
    (void)pthread_mutex_unlock(&exchange->lock);
}
