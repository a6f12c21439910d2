/* HTTP/1.1 requests from bytes. Pure: no socket, no clock.
 *
 * A library parses (llhttp or http-parser, whichever the system has). In front of it every byte is
 * looked at once more, and what two parsers could read in two ways is refused: line ends that are
 * no CR LF, white space before a colon, folded headers, control characters, two lengths, a length
 * beside a transfer coding, any coding but "chunked". What passes here is the same to every parser
 * that a proxy may have.
 *
 *   pawl_http_begin(http, arena);
 *   while (state == MORE) state = pawl_http_feed(http, bytes, len, &used);
 *
 * Bytes may come in pieces of any size; the result is the same. One message at a time: what follows
 * it is left to the next begin. */
#ifndef PAWL_NET_HTTP_H
#define PAWL_NET_HTTP_H

#include "pawl.h"

/* clang-format off */
#define PAWL_VERBS(X) X(GET) X(HEAD) X(POST) X(PUT) X(DELETE) X(PATCH) X(OPTIONS)
/* clang-format on */

enum pawl_verb {
#define X(name) PAWL_VERB_##name,
    PAWL_VERBS(X)
#undef X
        PAWL_VERB_OTHER /* known to HTTP, and to no route */
};

const char *pawl_verb_name(enum pawl_verb verb); /* "GET"; "" for PAWL_VERB_OTHER */

struct pawl_http_header {
    struct pawl_str name;  /* as sent */
    struct pawl_str value; /* without the blanks around it */
};

struct pawl_http_request {
    enum pawl_verb verb;
    struct pawl_str target; /* as sent: starts with '/', visible ASCII, no '#' */
    const struct pawl_http_header *headers;
    size_t header_count;
    struct pawl_str host; /* there is exactly one */
    struct pawl_str body; /* once the state is DONE */
    bool has_body;        /* it was announced; it may be empty */
    bool is_old;          /* HTTP/1.0 */
    bool keeps_alive;
    bool expects_continue;
};

/* The first header of this name (any case); false if there is none. */
bool pawl_http_header_get(const struct pawl_http_request *request, struct pawl_str name,
                          struct pawl_str *out);

/* Why a request is not taken. */
struct pawl_refusal {
    int32_t status;
    struct pawl_error err;
};

enum pawl_http_state {
    PAWL_HTTP_MORE,    /* all bytes were used, the message goes on */
    PAWL_HTTP_HEAD,    /* the headers are there: told once; feed on, with no bytes too */
    PAWL_HTTP_DONE,    /* the message is whole */
    PAWL_HTTP_REFUSED, /* what follows cannot be told from it: the connection must be closed */
};

struct pawl_http;

enum pawl_code pawl_http_open(struct pawl_http **out) PAWL_MUST_USE; /* fails PAWL_NO_MEMORY */
void pawl_http_close(struct pawl_http *http);                        /* takes NULL */

/* A new message. What is kept of it lies in arena; a body is no larger than body_bytes_max. */
void pawl_http_begin(struct pawl_http *http, struct pawl_arena *arena, size_t body_bytes_max);

/* After HEAD: a smaller bound for the body, for one that is only read over; false if it is known to
 * be larger. */
bool pawl_http_limit_body(struct pawl_http *http, size_t body_bytes_max);

/* Whether a byte of the message has come. */
bool pawl_http_has_begun(const struct pawl_http *http);

/* Takes bytes up to the next state.
 *
 *   used     written always: how many were taken
 *   request  pawl_http_request, from HEAD on; its body from DONE on
 *   refused  pawl_http_refusal */
enum pawl_http_state pawl_http_feed(struct pawl_http *http, const char *bytes, size_t len,
                                    size_t *used);

const struct pawl_http_request *pawl_http_request(const struct pawl_http *http);
const struct pawl_refusal *pawl_http_refusal(const struct pawl_http *http);

#endif
