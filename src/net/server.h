/* The server: where it listens, its loops, and its end. Knows no task: what it answers is said by
 * its tables. */
#ifndef PAWL_NET_SERVER_H
#define PAWL_NET_SERVER_H

#include "base/log.h"
#include "net/access.h"
#include "net/metrics.h"
#include "net/route.h"
#include "net/tls.h"
#include "pawl.h"

/* All is borrowed as long as the server lives. Zero means the default of net/limits.h. */
struct pawl_server_options {
    const struct pawl_str *listen; /* "HOST:PORT", port 0 = a free one; "unix:PATH" */
    size_t listen_count;
    const struct pawl_route_table *tables;
    size_t table_count;
    struct pawl_access access;
    struct pawl_tls *tls;    /* of all addresses but unix sockets; NULL = plain HTTP */
    bool is_insecure; /* without tokens on an address that others reach */
    const struct pawl_log *log;
    int32_t loops;
    int32_t connections_max;
    int32_t exchanges_max;
    int32_t body_bytes_max;
    int64_t headers_ms_max;
    int64_t body_ms_max;
    int64_t answer_ms_max;
    int64_t idle_ms_max;
    int64_t linger_ms_max;
};

struct pawl_server;

/* Binds and listens; nothing is accepted before start.
 *
 *   fails  PAWL_INVALID    an address that is none; one that others reach, without tokens and
 * without is_insecure PAWL_CONFLICT   somebody listens there PAWL_IO, PAWL_NO_MEMORY, PAWL_MISUSE
 * (tables) */
enum pawl_code pawl_server_open(struct pawl_server **out, const struct pawl_server_options *options,
                                struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_server_start(struct pawl_server *server, struct pawl_error *err) PAWL_MUST_USE;

/* "http://127.0.0.1:8080", "unix:/run/pawl.sock"; NUL-terminated. */
size_t pawl_server_address_count(const struct pawl_server *server);
const char *pawl_server_address(const struct pawl_server *server, size_t at);

const struct pawl_router *pawl_server_router(const struct pawl_server *server);
const struct pawl_metrics *pawl_server_metrics(const struct pawl_server *server);
bool pawl_server_is_draining(const struct pawl_server *server);

/* No connection is accepted any more; who waits is woken (net/exchange.h: left); routes that drain
 * are answered still, on connections that are told to close. Any thread; at once. */
void pawl_server_drain(struct pawl_server *server);

/* Waits until no connection is left, at most so long; whether it is so. */
bool pawl_server_wait(struct pawl_server *server, int64_t wait_ms);

/* Closes all sockets; afterwards no handler is called any more. Exchanges that are in somebody's
 * hands stay until they are answered. */
void pawl_server_cut(struct pawl_server *server);

/* Drains, cuts, waits for those exchanges, joins. Takes NULL and what was never started. */
void pawl_server_close(struct pawl_server *server);

#endif
