/* The ring is a list under a lock: one lock an answer, held for two pointers. Who posts from the
 * loop's own thread wakes nobody, since take_posted follows every call of a handler. */
#include "net/loop.h"

#include "base/error.h"
#include "base/str.h"
#include "net/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void pawl_loop_post(struct pawl_exchange *exchange)
{
    struct pawl_loop *loop = exchange->loop;
    (void)pthread_mutex_lock(&loop->lock);
    if (!exchange->is_posted) {
        exchange->is_posted = true;
        exchange->next = NULL;
        if (loop->first == NULL)
            loop->first = exchange;
        else
            loop->last->next = exchange;
        loop->last = exchange;
    }
    /* Under the lock: once it is given up the exchange may be gone, and with the last one the loop.
     */
    if (pthread_equal(pthread_self(), loop->thread) == 0) (void)uv_async_send(&loop->wake);
    (void)pthread_mutex_unlock(&loop->lock);
}

bool pawl_loop_is_posted(struct pawl_exchange *exchange)
{
    struct pawl_loop *loop = exchange->loop;
    (void)pthread_mutex_lock(&loop->lock);
    bool is_posted = exchange->is_posted;
    (void)pthread_mutex_unlock(&loop->lock);
    return is_posted;
}

void pawl_loop_take_posted(struct pawl_loop *loop)
{
    for (;;) {
        (void)pthread_mutex_lock(&loop->lock);
        struct pawl_exchange *exchange = loop->first;
        if (exchange != NULL) {
            loop->first = exchange->next;
            exchange->is_posted = false;
        }
        (void)pthread_mutex_unlock(&loop->lock);
        if (exchange == NULL) return;
        pawl_connection_take(exchange);
    }
}

const char *pawl_loop_date(struct pawl_loop *loop)
{
    time_t now = time(NULL); /* shown only */
    struct tm parts;
    if (now != loop->date_at && gmtime_r(&now, &parts) != NULL) {
        loop->date_at = now;
        (void)strftime(loop->date, sizeof loop->date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    }
    return loop->date;
}

static void close_listeners(struct pawl_loop *loop)
{
    for (size_t i = 0; i < loop->listener_count; i++) {
        uv_handle_t *handle = (uv_handle_t *)&loop->listeners[i].socket;
        if (uv_is_closing(handle) == 0) uv_close(handle, NULL);
    }
}

static void each_connection(struct pawl_loop *loop, void (*act)(struct pawl_connection *connection))
{
    struct pawl_connection *next = NULL;
    for (struct pawl_connection *connection = loop->connections; connection != NULL;
         connection = next) {
        next = pawl_connection_next(connection);
        act(connection);
    }
}

static void on_wake(uv_async_t *wake)
{
    struct pawl_loop *loop = wake->data;
    if (loop->shared->is_draining && !loop->is_draining) {
        loop->is_draining = true;
        close_listeners(loop);
        each_connection(loop, pawl_connection_drain);
    }
    if (loop->shared->is_cut && !loop->is_cut) {
        loop->is_cut = true;
        close_listeners(loop);
        each_connection(loop, pawl_connection_cut);
        (void)pthread_mutex_lock(&loop->shared->lock);
        loop->shared->cut_count++;
        (void)pthread_cond_broadcast(&loop->shared->emptied);
        (void)pthread_mutex_unlock(&loop->shared->lock);
    }
    pawl_loop_take_posted(loop);
    /* Nothing can be posted any more: the last exchange has been answered. */
    if (loop->is_cut && loop->connections == NULL && uv_is_closing((uv_handle_t *)wake) == 0) {
        uv_close((uv_handle_t *)wake, NULL);
    }
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct pawl_listener_socket *listener = stream->data;
    /* Out of descriptors is none of this: libuv has a spare one, with which it accepts and closes.
     */
    if (status < 0) {
        atomic_fetch_add(&listener->loop->shared->metrics->turned_away, 1);
        return;
    }
    pawl_connection_accept(listener);
}

static enum pawl_code listen_on(struct pawl_loop *loop, struct pawl_listener_socket *listener,
                                struct pawl_error *err)
{
    int fd = fcntl(listener->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return pawl_error_set(err, PAWL_IO, "cannot listen: %s", strerror(errno));
    int error = 0;
    if (listener->is_unix) {
        (void)uv_pipe_init(&loop->uv, &listener->socket.pipe,
                           0); /* these two never fail for a loop that is there */
        error = uv_pipe_open(&listener->socket.pipe, fd);
    } else {
        (void)uv_tcp_init(&loop->uv, &listener->socket.tcp);
        error = uv_tcp_open(&listener->socket.tcp, fd);
    }
    listener->socket.stream.data = listener;
    loop->listener_count++;
    if (error != 0) (void)close(fd);
    if (error == 0) error = uv_listen(&listener->socket.stream, PAWL_NET_BACKLOG, on_connection);
    if (error == 0) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "cannot listen: %s", uv_strerror(error));
}

enum pawl_code pawl_loop_open(struct pawl_loop *loop, struct pawl_loop_shared *shared,
                              const struct pawl_listener_socket *listeners, size_t count,
                              struct pawl_error *err)
{
    loop->shared = shared;
    int error = uv_loop_init(&loop->uv);
    if (error != 0)
        return pawl_error_set(err, PAWL_IO, "cannot make a loop: %s", uv_strerror(error));
    error = uv_async_init(&loop->uv, &loop->wake, on_wake);
    if (error == 0 && pthread_mutex_init(&loop->lock, NULL) != 0) error = UV_ENOMEM;
    if (error != 0) {
        (void)uv_run(&loop->uv, UV_RUN_NOWAIT);
        (void)uv_loop_close(&loop->uv);
        return pawl_error_set(err, PAWL_IO, "cannot make a loop: %s", uv_strerror(error));
    }
    loop->wake.data = loop;
    loop->is_open = true;
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < count && code == PAWL_OK; i++) {
        loop->listeners[i] = listeners[i];
        loop->listeners[i].loop = loop;
        code = listen_on(loop, &loop->listeners[i], err);
    }
    return code;
}

static void *run(void *self)
{
    struct pawl_loop *loop = self;
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    return NULL;
}

enum pawl_code pawl_loop_start(struct pawl_loop *loop, struct pawl_error *err)
{
    /* Signals are the main thread's. */
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    (void)pthread_mutex_lock(&loop->lock); /* its thread is known before it posts */
    int error = pthread_create(&loop->thread, NULL, run, loop);
    (void)pthread_mutex_unlock(&loop->lock);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    loop->has_thread = error == 0;
    if (error == 0) return PAWL_OK;
    loop->thread = pthread_self();
    return pawl_error_set(err, PAWL_IO, "cannot start a loop: %s", strerror(error));
}

void pawl_loop_wake(struct pawl_loop *loop)
{
    (void)uv_async_send(&loop->wake);
}

void pawl_loop_join(struct pawl_loop *loop)
{
    if (!loop->is_open) return;
    if (!loop->has_thread)
        (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    else
        (void)pthread_join(loop->thread, NULL);
    (void)uv_loop_close(&loop->uv);
    (void)pthread_mutex_destroy(&loop->lock);
}
