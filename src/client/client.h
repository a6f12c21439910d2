/* A connection to `pawl server`: a request at a time, by libcurl. */
#ifndef PAWL_CLIENT_CLIENT_H
#define PAWL_CLIENT_CLIENT_H

#include "base/json.h"
#include "pawl.h"

enum {
    /* A server that does not take a connection for so long is not there. */
    PAWL_CLIENT_CONNECT_MS_MAX = 10 * 1000,
    /* The longest a call of the server takes is 5 s, and a body of 10 MiB may come over a slow
       line. */
    PAWL_CLIENT_ANSWER_MS_MAX = 120 * 1000,
    /* More than a task with the largest input and result. */
    PAWL_CLIENT_ANSWER_BYTES_MAX = 64 * 1024 * 1024,
};

struct pawl_client;

/* Nothing is asked yet.
 *
 *   server  http://…, https://… or unix:PATH, as pawl server says where it listens
 *   token   KEYID.SECRET; empty = none
 *   fails   PAWL_INVALID      another address, one with a user or a query; a token that is none
 *           PAWL_UNSUPPORTED  no libcurl */
enum pawl_code pawl_client_open(struct pawl_client **out, struct pawl_str server,
                                struct pawl_str token, struct pawl_error *err) PAWL_MUST_USE;
void pawl_client_close(struct pawl_client *client); /* may be NULL */

/* One request and the body of its answer.
 *
 *   path    from /v1 on, with its query; escaped (pawl_client_escape)
 *   body    JSON; NULL without one
 *   fails   as the server says, and as pawl_calls_remote */
enum pawl_code pawl_client_ask(struct pawl_client *client, const char *verb, struct pawl_str path,
                               struct pawl_str body, struct pawl_arena *keep,
                               struct pawl_json **answer, struct pawl_error *err) PAWL_MUST_USE;

/* Text as it may stand in a path or a query. */
struct pawl_str pawl_client_escape(struct pawl_arena *arena, struct pawl_str text);

#endif
