/* Two readers of the same bytes. The guard sees each byte first: it knows the frame of a message
 * (lines, header names, chunks) in its one strict form and refuses the rest. What it lets through
 * goes to the library, which finds verb, target, headers and body. Both must find the end of the
 * message at the same byte; a message on which they differ is refused too, whichever of them is
 * right.
 *
 * The guard is needed: the libraries were made lenient for old peers. Debian builds http-parser
 * without its strict checks, so that a chunk may end in any two bytes, and both take a bare LF for
 * a line end. */
#include "net/http.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "net/limits.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- The library
 * --------------------------------------------------------------------------------------- */

#if PAWL_LLHTTP
#include <llhttp.h>
typedef llhttp_t parser;
typedef llhttp_settings_t parser_settings;
#else
#include <http_parser.h>
typedef http_parser parser;
typedef http_parser_settings parser_settings;
#endif

enum place {
    PLACE_BEFORE, /* a CR LF that the message before has left behind is read over */
    PLACE_BEFORE_LF,
    PLACE_VERB,
    PLACE_TARGET,
    PLACE_VERSION,
    PLACE_LINE_LF,
    PLACE_HEADER, /* its first byte, or the CR of the empty line */
    PLACE_NAME,
    PLACE_VALUE,
    PLACE_VALUE_LF,
    PLACE_HEAD_LF,
    PLACE_BODY, /* of known length */
    PLACE_CHUNK_SIZE,
    PLACE_CHUNK_EXTENSION,
    PLACE_CHUNK_LINE_LF,
    PLACE_CHUNK,
    PLACE_CHUNK_CR,
    PLACE_CHUNK_LF,
    PLACE_LAST_CR,
    PLACE_LAST_LF,
    PLACE_END,
};

struct span {
    uint32_t at;
    uint32_t len;
};

struct pawl_http {
    parser parser;
    parser_settings settings;
    struct pawl_arena *arena; /* borrowed */
    size_t body_bytes_max;

    /* the guard */
    enum place place;
    uint32_t place_bytes; /* in the version: how many have come */
    uint32_t line_bytes;
    uint32_t headers_bytes;
    uint64_t left;       /* of the body or the chunk */
    uint64_t body_bytes; /* announced so far */
    uint32_t digits;
    bool is_chunked;
    bool is_refused;

    /* what the library finds; texts are collected in one buffer and become slices at the end of the
     * head */
    char *texts;
    size_t texts_len;
    size_t texts_capacity;
    struct span target;
    struct span names[PAWL_NET_HEADERS_MAX];
    struct span values[PAWL_NET_HEADERS_MAX];
    size_t header_count;
    bool is_in_value;
    bool has_no_memory;
    bool has_head;
    bool has_told_head;
    bool is_complete;
    char *body;
    size_t body_len;
    size_t body_capacity;

    struct pawl_http_request request;
    struct pawl_refusal refusal;
};

const char *pawl_verb_name(enum pawl_verb verb)
{
    static const char *const names[] = {
#define X(name) #name,
        PAWL_VERBS(X)
#undef X
    };
    return (size_t)verb < PAWL_COUNT_OF(names) ? names[verb] : "";
}

bool pawl_http_header_get(const struct pawl_http_request *request, struct pawl_str name,
                          struct pawl_str *out)
{
    for (size_t i = 0; i < request->header_count; i++) {
        const struct pawl_http_header *header = &request->headers[i];
        if (header->name.len != name.len || strncasecmp(header->name.ptr, name.ptr, name.len) != 0)
            continue;
        *out = header->value;
        return true;
    }
    return false;
}

/* ---- Refusals
 * ------------------------------------------------------------------------------------------ */

static bool refuse(struct pawl_http *http, int32_t status, enum pawl_code code,
                   const char *sentence)
{
    http->is_refused = true;
    http->refusal.status = status;
    (void)pawl_error_set(&http->refusal.err, code, "%s", sentence);
    return false;
}

static bool malformed(struct pawl_http *http, const char *sentence)
{
    return refuse(http, 400, PAWL_INVALID, sentence);
}

/* ---- The guard
 * ----------------------------------------------------------------------------------------- */

/* tchar of RFC 9110, 5.6.2 */
static bool is_token(unsigned char c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
    return c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

static bool guard_line(struct pawl_http *http, unsigned char c)
{
    static const char version[] = "HTTP/1.";
    if (++http->line_bytes > PAWL_NET_REQUEST_LINE_BYTES_MAX + 2) {
        return refuse(http, 414, PAWL_TOO_LARGE, "the request line has more than 8192 bytes");
    }
    switch (http->place) {
    case PLACE_BEFORE:
        if (c == '\r' && http->line_bytes == 1) {
            http->place = PLACE_BEFORE_LF;
            return true;
        }
        http->place = PLACE_VERB;
        return is_token(c) || malformed(http, "a request begins with its verb");
    case PLACE_BEFORE_LF:
        http->place = PLACE_BEFORE;
        return c == '\n' || malformed(http, "a CR without an LF before the request");
    case PLACE_VERB:
        if (c == ' ') http->place = PLACE_TARGET;
        return c == ' ' || is_token(c) ||
               malformed(http, "the verb has a character that no verb has");
    case PLACE_TARGET:
        if (http->place_bytes++ == 0) {
            return c == '/' || malformed(http, "the target of a request begins with a /");
        }
        if (c == '#') return malformed(http, "the target has a #: fragments are not sent");
        if (c == ' ') {
            http->place = PLACE_VERSION;
            http->place_bytes = 0;
            return true;
        }
        return (c > ' ' && c < 0x7f) ||
               malformed(http, "the target has a byte that must be escaped with %");
    case PLACE_VERSION: {
        uint32_t at = http->place_bytes++;
        if (at < sizeof version - 1) {
            return c == (unsigned char)version[at] || malformed(http, "HTTP/1.1 is spoken here");
        }
        if (at == sizeof version - 1) {
            return c == '0' || c == '1' || malformed(http, "HTTP/1.1 is spoken here");
        }
        http->place = PLACE_LINE_LF;
        return c == '\r' || malformed(http, "the request line does not end in CR LF");
    }
    default:
        http->place = PLACE_HEADER;
        return c == '\n' || malformed(http, "the request line does not end in CR LF");
    }
}

static bool guard_header(struct pawl_http *http, unsigned char c)
{
    if (++http->headers_bytes > PAWL_NET_HEADERS_BYTES_MAX) {
        return refuse(http, 431, PAWL_TOO_LARGE, "the headers have more than 32768 bytes");
    }
    switch (http->place) {
    case PLACE_HEADER:
        if (c == '\r') {
            http->place = PLACE_HEAD_LF;
            return true;
        }
        if (c == ' ' || c == '\t') return malformed(http, "a header goes on over a second line");
        http->place = PLACE_NAME;
        return is_token(c) || malformed(http, "a line of the headers begins with no name");
    case PLACE_NAME:
        if (c == ':') http->place = PLACE_VALUE;
        if (c == ' ' || c == '\t')
            return malformed(http, "white space before the colon of a header");
        return c == ':' || is_token(c) ||
               malformed(http, "the name of a header has a character that no name has");
    case PLACE_VALUE:
        if (c == '\r') {
            http->place = PLACE_VALUE_LF;
            return true;
        }
        if (c == '\n') return malformed(http, "a header ends in LF without CR");
        return (c >= ' ' && c != 0x7f) || c == '\t' ||
               malformed(http, "the value of a header has a control character");
    case PLACE_VALUE_LF:
        http->place = PLACE_HEADER;
        return c == '\n' || malformed(http, "a CR without an LF in a header");
    default:
        http->place = PLACE_END; /* of the head: what follows is said by the headers */
        return c == '\n' || malformed(http, "the headers do not end in CR LF");
    }
}

static int32_t hex_value(unsigned char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static bool body_too_large(struct pawl_http *http)
{
    http->is_refused = true;
    http->refusal.status = 413;
    (void)pawl_error_set(&http->refusal.err, PAWL_TOO_LARGE, "the body has more than %zu bytes",
                         http->body_bytes_max);
    return false;
}

/* A chunk's line is whole. */
static bool begin_chunk(struct pawl_http *http)
{
    if (http->left > http->body_bytes_max || http->body_bytes > http->body_bytes_max - http->left) {
        return body_too_large(http);
    }
    http->body_bytes += http->left;
    http->place = http->left == 0 ? PLACE_LAST_CR : PLACE_CHUNK;
    return true;
}

static bool guard_chunk_line(struct pawl_http *http, unsigned char c)
{
    if (++http->line_bytes > PAWL_NET_CHUNK_LINE_BYTES_MAX) {
        return malformed(http, "the line of a chunk has more than 256 bytes");
    }
    if (http->place == PLACE_CHUNK_LINE_LF) {
        return c == '\n' ? begin_chunk(http)
                         : malformed(http, "the line of a chunk does not end in CR LF");
    }
    if (c == '\r' && http->digits > 0) {
        http->place = PLACE_CHUNK_LINE_LF;
        return true;
    }
    if (http->place == PLACE_CHUNK_EXTENSION) {
        return (c >= ' ' && c < 0x7f) ||
               malformed(http, "the extension of a chunk has a byte it may not have");
    }
    if (c == ';' && http->digits > 0) {
        http->place = PLACE_CHUNK_EXTENSION;
        return true;
    }
    int32_t value = hex_value(c);
    if (value < 0) return malformed(http, "the size of a chunk is no hexadecimal number");
    if (http->digits == PAWL_NET_CHUNK_DIGITS_MAX)
        return malformed(http, "the size of a chunk has more than 8 digits");
    http->digits++;
    http->left = http->left * 16 + (uint64_t)value;
    return true;
}

static void await_chunk(struct pawl_http *http)
{
    http->place = PLACE_CHUNK_SIZE;
    http->left = 0;
    http->digits = 0;
    http->line_bytes = 0;
}

static bool guard_chunk_end(struct pawl_http *http, unsigned char c)
{
    switch (http->place) {
    case PLACE_CHUNK_CR:
        http->place = PLACE_CHUNK_LF;
        return c == '\r' || malformed(http, "a chunk is longer than its size");
    case PLACE_CHUNK_LF:
        await_chunk(http);
        return c == '\n' || malformed(http, "a chunk does not end in CR LF");
    case PLACE_LAST_CR:
        http->place = PLACE_LAST_LF;
        return c == '\r' || malformed(http, "headers behind the body are not taken");
    default:
        http->place = PLACE_END;
        return c == '\n' || malformed(http, "the body does not end in CR LF");
    }
}

/* How many of the bytes the guard lets through now: to the end of the head, or of the message;
 * fewer than len too where it stops there. Sets is_refused at the first that it does not. */
static size_t guard(struct pawl_http *http, const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && !http->is_refused && http->place != PLACE_END) {
        unsigned char c = (unsigned char)bytes[at];
        if (http->place <= PLACE_LINE_LF) {
            (void)guard_line(http, c);
        } else if (http->place <= PLACE_HEAD_LF) {
            (void)guard_header(http, c);
        } else if (http->place == PLACE_BODY || http->place == PLACE_CHUNK) {
            uint64_t taken = http->left < len - at ? http->left : len - at;
            http->left -= taken;
            at += (size_t)taken;
            if (http->left == 0)
                http->place = http->place == PLACE_BODY ? PLACE_END : PLACE_CHUNK_CR;
            continue;
        } else if (http->place <= PLACE_CHUNK_LINE_LF) {
            (void)guard_chunk_line(http, c);
        } else {
            (void)guard_chunk_end(http, c);
        }
        at++;
    }
    return at;
}

/* ---- What the library finds
 * ---------------------------------------------------------------------------- */

static bool grow(struct pawl_http *http, char **ptr, size_t *capacity, size_t bytes, size_t first)
{
    if (bytes <= *capacity) return true;
    size_t wanted = *capacity == 0 ? first : 2 * *capacity;
    while (wanted < bytes) wanted *= 2;
    char *larger = pawl_arena_resize(http->arena, *ptr, *capacity, wanted);
    if (larger == NULL) {
        http->has_no_memory = true;
        return false;
    }
    *ptr = larger;
    *capacity = wanted;
    return true;
}

/* The pieces of one text come one behind the other. */
static int add_text(struct pawl_http *http, struct span *span, const char *at, size_t len)
{
    if (!grow(http, &http->texts, &http->texts_capacity, http->texts_len + len, 1024)) return -1;
    if (span->len == 0) span->at = (uint32_t)http->texts_len;
    pawl_assert(span->at + span->len == http->texts_len);
    if (len > 0) memcpy(http->texts + http->texts_len, at, len);
    http->texts_len += len;
    span->len += (uint32_t)len;
    return 0;
}

static int on_target(parser *p, const char *at, size_t len)
{
    struct pawl_http *http = p->data;
    if (http->has_head) return -1; /* a second message where the guard sees one */
    return add_text(http, &http->target, at, len);
}

static int on_name(parser *p, const char *at, size_t len)
{
    struct pawl_http *http = p->data;
    if (http->has_head) return -1;
    if (http->header_count == 0 || http->is_in_value) {
        if (http->header_count == PAWL_NET_HEADERS_MAX) {
            (void)refuse(http, 431, PAWL_TOO_LARGE, "there are more than 100 headers");
            return -1;
        }
        http->header_count++;
        http->is_in_value = false;
    }
    return add_text(http, &http->names[http->header_count - 1], at, len);
}

static int on_value(parser *p, const char *at, size_t len)
{
    struct pawl_http *http = p->data;
    if (http->has_head || http->header_count == 0) return -1;
    http->is_in_value = true;
    return add_text(http, &http->values[http->header_count - 1], at, len);
}

static int on_head(parser *p)
{
    struct pawl_http *http = p->data;
    http->has_head = true;
    p->upgrade = 0; /* nobody goes on to another protocol here: the body is a body */
    return 0;
}

static int on_body(parser *p, const char *at, size_t len)
{
    struct pawl_http *http = p->data;
    if (http->is_complete || len > http->body_bytes - http->body_len) return -1;
    if (!grow(http, &http->body, &http->body_capacity, http->body_len + len, 512)) return -1;
    memcpy(http->body + http->body_len, at, len);
    http->body_len += len;
    return 0;
}

static int on_complete(parser *p)
{
    struct pawl_http *http = p->data;
    http->is_complete = true;
    return 0;
}

static bool library_refused(struct pawl_http *http, unsigned error, const char *description)
{
    if (http->is_refused) return false; /* by a callback */
    if (http->has_no_memory) return refuse(http, 503, PAWL_NO_MEMORY, "no memory for the request");
    switch (error) {
    case HPE_UNEXPECTED_CONTENT_LENGTH:
        return malformed(http, "two lengths of the body, or a length beside a Transfer-Encoding");
    case HPE_INVALID_CONTENT_LENGTH:
        return malformed(http, "Content-Length is no number that a body can have");
    case HPE_INVALID_TRANSFER_ENCODING:
        return malformed(http, "Transfer-Encoding may be chunked and nothing else");
    case HPE_INVALID_METHOD:
        return malformed(http, "this verb is not known");
    default:
        return malformed(http, description);
    }
}

/* Hands bytes that the guard has let through to the library. False if it refuses one. */
static bool execute(struct pawl_http *http, const char *bytes, size_t len)
{
    if (len == 0) return true;
#if PAWL_LLHTTP
    llhttp_errno_t error = llhttp_execute(&http->parser, bytes, len);
    if (error == HPE_OK) return true;
    const char *reason = llhttp_get_error_reason(&http->parser);
    return library_refused(http, (unsigned)error,
                           reason != NULL ? reason : llhttp_errno_name(error));
#else
    size_t used = http_parser_execute(&http->parser, &http->settings, bytes, len);
    enum http_errno error = HTTP_PARSER_ERRNO(&http->parser);
    if (error == HPE_OK && used == len) return true;
    return library_refused(http, (unsigned)error, http_errno_description(error));
#endif
}

static void library_begin(struct pawl_http *http)
{
#if PAWL_LLHTTP
    llhttp_init(&http->parser, HTTP_REQUEST, &http->settings);
#else
    http_parser_init(&http->parser, HTTP_REQUEST);
#endif
    http->parser.data = http;
}

static bool library_keeps_alive(const struct pawl_http *http)
{
#if PAWL_LLHTTP
    return llhttp_should_keep_alive(&http->parser) != 0;
#else
    return http_should_keep_alive(&http->parser) != 0;
#endif
}

/* ---- The head is whole
 * --------------------------------------------------------------------------------- */

static struct pawl_str slice(const struct pawl_http *http, struct span span)
{
    return (struct pawl_str){span.len == 0 ? "" : http->texts + span.at, span.len};
}

static enum pawl_verb verb_of(unsigned method)
{
    switch (method) {
    case HTTP_GET:
        return PAWL_VERB_GET;
    case HTTP_HEAD:
        return PAWL_VERB_HEAD;
    case HTTP_POST:
        return PAWL_VERB_POST;
    case HTTP_PUT:
        return PAWL_VERB_PUT;
    case HTTP_DELETE:
        return PAWL_VERB_DELETE;
    case HTTP_PATCH:
        return PAWL_VERB_PATCH;
    case HTTP_OPTIONS:
        return PAWL_VERB_OPTIONS;
    default:
        return PAWL_VERB_OTHER;
    }
}

/* The only header of this name; two are refused. */
static bool one_header(struct pawl_http *http, struct pawl_str name, const char *twice,
                       struct pawl_str *out)
{
    size_t count = 0;
    for (size_t i = 0; i < http->request.header_count; i++) {
        const struct pawl_http_header *header = &http->request.headers[i];
        if (header->name.len != name.len || strncasecmp(header->name.ptr, name.ptr, name.len) != 0)
            continue;
        if (++count > 1) return malformed(http, twice);
        *out = header->value;
    }
    return true;
}

static bool is_word(struct pawl_str text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.ptr, word, text.len) == 0;
}

/* Digits only: no sign, no list, no blank inside. The library has read it too, and both must agree.
 */
static bool find_length(struct pawl_http *http, struct pawl_str length)
{
    static const char no_number[] = "Content-Length is no number that a body can have";
    uint64_t bytes = 0;
    if (length.len > 18) return malformed(http, no_number);
    for (size_t i = 0; i < length.len; i++) {
        if (length.ptr[i] < '0' || length.ptr[i] > '9') return malformed(http, no_number);
        bytes = bytes * 10 + (uint64_t)(length.ptr[i] - '0');
    }
    if (bytes > http->body_bytes_max) return body_too_large(http);
    http->left = http->body_bytes = bytes;
    return true;
}

static bool find_frame(struct pawl_http *http)
{
    static const char two_lengths[] =
        "two lengths of the body, or a length beside a Transfer-Encoding";
    struct pawl_str length = {0};
    struct pawl_str coding = {0};
    if (!one_header(http, PAWL_STR("content-length"), two_lengths, &length)) return false;
    if (!one_header(http, PAWL_STR("transfer-encoding"), "Transfer-Encoding stands twice",
                    &coding)) {
        return false;
    }
    if (coding.ptr != NULL) {
        if (length.ptr != NULL) return malformed(http, two_lengths);
        if (!is_word(coding, "chunked")) {
            return malformed(http, "Transfer-Encoding may be chunked and nothing else");
        }
        if (http->request.is_old) return malformed(http, "HTTP/1.0 has no Transfer-Encoding");
        http->request.has_body = true;
        await_chunk(http);
        return true;
    }
    http->left = 0;
    if (length.ptr != NULL) {
        if (length.len == 0)
            return malformed(http, "Content-Length is no number that a body can have");
        if (!find_length(http, length)) return false;
        http->request.has_body = true;
    }
    http->place = http->left > 0 ? PLACE_BODY : PLACE_END;
    return true;
}

static bool take_head(struct pawl_http *http)
{
    if (!http->has_head) return malformed(http, "the headers can be read in two ways");
    struct pawl_http_header *headers =
        pawl_arena_take_array(http->arena, http->header_count + 1, sizeof *headers);
    if (headers == NULL) return refuse(http, 503, PAWL_NO_MEMORY, "no memory for the request");
    for (size_t i = 0; i < http->header_count; i++) {
        headers[i].name = slice(http, http->names[i]);
        headers[i].value = pawl_str_trim(slice(http, http->values[i]));
    }
    struct pawl_http_request *request = &http->request;
    request->headers = headers;
    request->header_count = http->header_count;
    request->verb = verb_of(http->parser.method);
    request->target = slice(http, http->target);
    request->is_old = http->parser.http_minor == 0;
    request->keeps_alive = !request->is_old && library_keeps_alive(http);
    if (!find_frame(http)) return false;

    struct pawl_str host = {0};
    if (!one_header(http, PAWL_STR("host"), "there are two Host headers", &host)) return false;
    if (host.len == 0) return malformed(http, "there is no Host header");
    request->host = host;
    struct pawl_str expected = {0};
    if (!one_header(http, PAWL_STR("expect"), "there are two Expect headers", &expected))
        return false;
    if (expected.len > 0 && !is_word(expected, "100-continue")) {
        return refuse(http, 417, PAWL_UNSUPPORTED, "Expect may be 100-continue and nothing else");
    }
    request->expects_continue = expected.len > 0 && !request->is_old && request->has_body;
    return true;
}

/* ---- The outside
 * --------------------------------------------------------------------------------------- */

enum pawl_code pawl_http_open(struct pawl_http **out)
{
    struct pawl_http *http = calloc(1, sizeof *http);
    if (http == NULL) return PAWL_NO_MEMORY;
#if PAWL_LLHTTP
    llhttp_settings_init(&http->settings);
#else
    http_parser_settings_init(&http->settings);
#endif
    http->settings.on_url = on_target;
    http->settings.on_header_field = on_name;
    http->settings.on_header_value = on_value;
    http->settings.on_headers_complete = on_head;
    http->settings.on_body = on_body;
    http->settings.on_message_complete = on_complete;
    *out = http;
    return PAWL_OK;
}

void pawl_http_close(struct pawl_http *http)
{
    free(http);
}

void pawl_http_begin(struct pawl_http *http, struct pawl_arena *arena, size_t body_bytes_max)
{
    size_t header_count = http->header_count; /* only so many spans are not zero */
    memset(http->names, 0, header_count * sizeof http->names[0]);
    memset(http->values, 0, header_count * sizeof http->values[0]);
    library_begin(http);
    http->arena = arena;
    http->body_bytes_max = body_bytes_max;
    http->place = PLACE_BEFORE;
    http->place_bytes = http->line_bytes = http->headers_bytes = 0;
    http->left = http->body_bytes = 0;
    http->digits = 0;
    http->is_refused = http->is_in_value = http->has_no_memory = false;
    http->has_head = http->has_told_head = http->is_complete = false;
    http->texts = http->body = NULL;
    http->texts_len = http->texts_capacity = http->body_len = http->body_capacity = 0;
    http->target = (struct span){0};
    http->header_count = 0;
    http->request = (struct pawl_http_request){0};
    http->refusal = (struct pawl_refusal){0};
}

bool pawl_http_limit_body(struct pawl_http *http, size_t body_bytes_max)
{
    if (http->body_bytes > body_bytes_max) return false;
    http->body_bytes_max = body_bytes_max;
    return true;
}

bool pawl_http_has_begun(const struct pawl_http *http)
{
    return http->place != PLACE_BEFORE;
}

/* Where a state is reached, or PAWL_HTTP_MORE. */
static enum pawl_http_state state_of(struct pawl_http *http)
{
    if (http->is_refused) return PAWL_HTTP_REFUSED;
    if (http->place != PLACE_END) return PAWL_HTTP_MORE;
    if (!http->has_told_head) {
        http->has_told_head = true;
        if (!take_head(http)) return PAWL_HTTP_REFUSED;
        /* The library's own end of a message without a body came with the head. */
        if (http->is_complete == (http->place == PLACE_END)) return PAWL_HTTP_HEAD;
        (void)malformed(http, "the end of the request can be read in two ways");
        return PAWL_HTTP_REFUSED;
    }
    if (!http->is_complete || http->body_len != http->body_bytes) {
        (void)malformed(http, "the end of the request can be read in two ways");
        return PAWL_HTTP_REFUSED;
    }
    http->request.body = (struct pawl_str){http->body_len > 0 ? http->body : "", http->body_len};
    return PAWL_HTTP_DONE;
}

enum pawl_http_state pawl_http_feed(struct pawl_http *http, const char *bytes, size_t len,
                                    size_t *used)
{
    *used = 0;
    if (http->is_refused) return PAWL_HTTP_REFUSED;
    size_t taken = guard(http, bytes, len);
    *used = taken;
    if (!http->is_refused) (void)execute(http, bytes, taken);
    return state_of(http);
}

const struct pawl_http_request *pawl_http_request(const struct pawl_http *http)
{
    return &http->request;
}

const struct pawl_refusal *pawl_http_refusal(const struct pawl_http *http)
{
    return &http->refusal;
}
