/* One libuv loop and its thread; its connections; the ring by which other threads give exchanges
 * back. */
#ifndef PAWL_NET_LOOP_H
#define PAWL_NET_LOOP_H

#include "net/exchange.h"
#include "net/server.h"
#include "pawl.h"

#include <pthread.h>
#include <uv.h>

struct pawl_connection;

/* What all loops share; of the server. */
struct pawl_loop_shared {
    const struct pawl_server_options *options; /* defaults filled in */
    const struct pawl_router *router;
    struct pawl_metrics *metrics;
    struct pawl_str instance;
    _Atomic bool is_draining;
    _Atomic bool is_cut;
    _Atomic uint64_t request_count; /* for ids of requests */
    uint64_t request_salt;
    pthread_mutex_t lock;
    pthread_cond_t emptied; /* of connections, or a loop was cut; under the lock */
    int32_t cut_count;      /* loops that call no handler any more; under the lock */
};

struct pawl_listener_socket {
    union {
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    struct pawl_loop *loop;
    int fd; /* owned by the server */
    bool is_unix;
    bool is_loopback;
};

struct pawl_loop {
    uv_loop_t uv;
    uv_async_t wake;
    pthread_t thread;
    struct pawl_loop_shared *shared;
    struct pawl_listener_socket listeners[PAWL_NET_LISTENERS_MAX];
    size_t listener_count;
    struct pawl_connection *connections; /* a list */
    bool is_draining;                    /* has begun to */
    bool is_cut;
    bool is_open;
    bool has_thread;

    pthread_mutex_t lock;
    struct pawl_exchange *first; /* given back, in order; under the lock */
    struct pawl_exchange *last;

    time_t date_at;
    char date[32];
    char read_buffer[PAWL_NET_READ_BYTES];
};

/* fds stay the caller's; each loop listens on copies of them. */
enum pawl_code pawl_loop_open(struct pawl_loop *loop, struct pawl_loop_shared *shared,
                              const struct pawl_listener_socket *listeners, size_t count,
                              struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_loop_start(struct pawl_loop *loop, struct pawl_error *err) PAWL_MUST_USE;
void pawl_loop_wake(struct pawl_loop *loop); /* any thread: look at is_draining, is_cut */
void pawl_loop_join(struct pawl_loop *loop); /* after is_cut */

/* For connections. post is their exchanges' way back: any thread. take_posted handles what has
 * come; on the loop's thread, after each call of a handler. */
void pawl_loop_post(struct pawl_exchange *exchange);
bool pawl_loop_is_posted(struct pawl_exchange *exchange);
void pawl_loop_take_posted(struct pawl_loop *loop);
const char *pawl_loop_date(struct pawl_loop *loop); /* for the header Date */

#endif
