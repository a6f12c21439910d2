/* Sockets are made here and bound before anything else is begun, so that a port that is taken is
 * told at once; the loops listen on copies of them, and the kernel shares connections out. */
#include "net/server.h"

#include "base/error.h"
#include "base/number.h"
#include "base/str.h"
#include "net/access.h"
#include "net/loop.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { ADDRESS_BYTES_MAX = 160 };

struct pawl_server {
    struct pawl_server_options options;
    struct pawl_router *router;
    struct pawl_metrics metrics;
    struct pawl_loop_shared shared;
    bool has_lock;
    struct pawl_loop *loops; /* owned */
    int32_t loop_count;      /* of those that were opened */
    struct pawl_listener_socket listeners[PAWL_NET_LISTENERS_MAX];
    char addresses[PAWL_NET_LISTENERS_MAX][ADDRESS_BYTES_MAX];
    size_t listener_count;
    char instance[256];
};

/* ---- Listening
 * ----------------------------------------------------------------------------------------- */

static enum pawl_code listen_failed(struct pawl_str address, struct pawl_error *err)
{
    enum pawl_code code = errno == EADDRINUSE ? PAWL_CONFLICT : PAWL_IO;
    return pawl_error_set(err, code, "cannot listen on %.*s: %s", PAWL_STR_ARG(address),
                          strerror(errno));
}

/* What a server that was killed has left behind. */
static void remove_stale(const struct sockaddr_un *to)
{
    struct stat status;
    if (lstat(to->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    if (connect(fd, (const struct sockaddr *)(const void *)to, sizeof *to) != 0 &&
        errno == ECONNREFUSED) {
        (void)unlink(to->sun_path); /* then bind tells */
    }
    (void)close(fd);
}

static enum pawl_code bind_path(struct pawl_listener_socket *listener, struct pawl_str address,
                                char *shown, struct pawl_error *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct pawl_str path = {address.ptr + 5, address.len - 5};
    if (path.len == 0 || path.len >= sizeof to.sun_path) {
        return pawl_error_set(
            err, PAWL_INVALID,
            "--listen: a path of 1 to %zu bytes is wanted behind unix:", sizeof to.sun_path - 1);
    }
    memcpy(to.sun_path, path.ptr, path.len);
    remove_stale(&to);
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    listener->is_unix = true;
    listener->is_loopback = false; /* no page of a browser reaches it: any Host is good */
    if (listener->fd < 0) return listen_failed(address, err);
    mode_t before = umask(0177);
    int result = bind(listener->fd, (const struct sockaddr *)(const void *)&to, sizeof to);
    (void)umask(before);
    if (result != 0) return listen_failed(address, err);
    (void)snprintf(shown, ADDRESS_BYTES_MAX, "unix:%s", to.sun_path);
    return PAWL_OK;
}

static enum pawl_code split(struct pawl_str address, struct pawl_str *host, struct pawl_str *port,
                            struct pawl_error *err)
{
    size_t colon = address.len;
    while (colon > 0 && address.ptr[colon - 1] != ':') colon--;
    int64_t number = 0;
    if (colon > 1) {
        *host = (struct pawl_str){address.ptr, colon - 1};
        *port = (struct pawl_str){address.ptr + colon, address.len - colon};
        bool is_bare_six = host->ptr[0] != '[' && memchr(host->ptr, ':', host->len) != NULL;
        if (!is_bare_six && host->len < 128 && pawl_int64_parse(*port, 0, 65535, &number))
            return PAWL_OK;
    }
    return pawl_error_set(err, PAWL_INVALID,
                          "--listen: `%.*s` is no HOST:PORT, [ADDRESS]:PORT or unix:PATH",
                          PAWL_STR_ARG(address));
}

static void show_address(int fd, bool is_sealed, char *shown)
{
    struct sockaddr_storage at = {0};
    socklen_t len = sizeof at;
    char host[64] = "";
    char port[16] = "";
    (void)getsockname(fd, (struct sockaddr *)&at, &len); /* of a socket that is bound */
    (void)getnameinfo((struct sockaddr *)&at, len, host, sizeof host, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV);
    bool is_six = at.ss_family == AF_INET6;
    (void)snprintf(shown, ADDRESS_BYTES_MAX, "http%s://%s%s%s:%s", is_sealed ? "s" : "", is_six ? "[" : "", host,
                   is_six ? "]" : "", port);
}

static bool is_loopback_address(const struct sockaddr *address)
{
    char host[64] = "";
    (void)getnameinfo(address,
                      address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                     : sizeof(struct sockaddr_in),
                      host, sizeof host, NULL, 0, NI_NUMERICHOST);
    return pawl_access_is_loopback(pawl_str_of(host));
}

static enum pawl_code bind_host(struct pawl_listener_socket *listener, struct pawl_str address,
                                bool is_sealed,
                                char *shown, struct pawl_error *err)
{
    struct pawl_str host = {0};
    struct pawl_str port = {0};
    enum pawl_code code = split(address, &host, &port, err);
    if (code != PAWL_OK) return code;
    if (host.ptr[0] == '[' && host.len > 2) host = (struct pawl_str){host.ptr + 1, host.len - 2};
    char host_text[128];
    char port_text[8];
    (void)snprintf(host_text, sizeof host_text, "%.*s", PAWL_STR_ARG(host));
    (void)snprintf(port_text, sizeof port_text, "%.*s", PAWL_STR_ARG(port));
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *found = NULL;
    int error = getaddrinfo(host_text, port_text, &hints, &found);
    if (error != 0) {
        return pawl_error_set(err, PAWL_INVALID, "--listen: %s: %s", host_text,
                              gai_strerror(error));
    }
    listener->is_loopback = is_loopback_address(found->ai_addr);
    listener->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int one = 1;
    if (listener->fd >= 0) {
        (void)setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &one,
                         sizeof one); /* else bind tells */
    }
    if (listener->fd < 0 || bind(listener->fd, found->ai_addr, found->ai_addrlen) != 0)
        code = listen_failed(address, err);
    freeaddrinfo(found);
    if (code == PAWL_OK) show_address(listener->fd, is_sealed, shown);
    return code;
}

static enum pawl_code bind_one(struct pawl_server *server, struct pawl_str address,
                               struct pawl_error *err)
{
    if (server->listener_count == PAWL_NET_LISTENERS_MAX) {
        return pawl_error_set(err, PAWL_LIMIT, "--listen: more than %d addresses",
                              PAWL_NET_LISTENERS_MAX);
    }
    struct pawl_listener_socket *listener = &server->listeners[server->listener_count];
    char *shown = server->addresses[server->listener_count];
    listener->fd = -1;
    server->listener_count++;
    bool is_path = pawl_str_starts(address, PAWL_STR("unix:"));
    enum pawl_code code = is_path ? bind_path(listener, address, shown, err)
                                  : bind_host(listener, address, server->options.tls != NULL, shown, err);
    if (code != PAWL_OK) return code;
    bool is_open = !listener->is_unix && !listener->is_loopback;
    if (is_open && !pawl_access_has_tokens(&server->options.access) &&
        !server->options.is_insecure) {
        return pawl_error_set(
            err, PAWL_INVALID,
            "--listen: others reach %.*s, and there are no tokens: whoever comes "
            "could do anything. "
            "Make one by `pawl token create`, listen on 127.0.0.1, or say --insecure",
            PAWL_STR_ARG(address));
    }
    if (listen(listener->fd, PAWL_NET_BACKLOG) != 0) return listen_failed(address, err);
    return PAWL_OK;
}

/* ---- Opening
 * ------------------------------------------------------------------------------------------- */

static void fill_defaults(struct pawl_server_options *options)
{
    if (options->loops == 0) options->loops = 1;
    if (options->connections_max == 0) options->connections_max = PAWL_NET_CONNECTIONS_MAX;
    if (options->exchanges_max == 0) options->exchanges_max = PAWL_NET_EXCHANGES_MAX;
    if (options->body_bytes_max == 0) options->body_bytes_max = PAWL_NET_BODY_BYTES_MAX;
    if (options->headers_ms_max == 0) options->headers_ms_max = PAWL_NET_HEADERS_MS_MAX;
    if (options->body_ms_max == 0) options->body_ms_max = PAWL_NET_BODY_MS_MAX;
    if (options->answer_ms_max == 0) options->answer_ms_max = PAWL_NET_ANSWER_MS_MAX;
    if (options->idle_ms_max == 0) options->idle_ms_max = PAWL_NET_IDLE_MS_MAX;
    if (options->linger_ms_max == 0) options->linger_ms_max = PAWL_NET_LINGER_MS_MAX;
}

static enum pawl_code init_shared(struct pawl_server *server, struct pawl_error *err)
{
    struct pawl_loop_shared *shared = &server->shared;
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the server");
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool has_lock = pthread_mutex_init(&shared->lock, NULL) == 0;
    server->has_lock = has_lock && pthread_cond_init(&shared->emptied, &attributes) == 0;
    if (has_lock && !server->has_lock) (void)pthread_mutex_destroy(&shared->lock);
    (void)pthread_condattr_destroy(&attributes);
    if (!server->has_lock) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the server");
    if (gethostname(server->instance, sizeof server->instance - 1) != 0) server->instance[0] = '\0';
    if (getrandom(&shared->request_salt, sizeof shared->request_salt, 0) < 0)
        shared->request_salt = 0;
    shared->options = &server->options;
    shared->router = server->router;
    shared->metrics = &server->metrics;
    shared->instance = pawl_str_of(server->instance);
    return PAWL_OK;
}

static enum pawl_code open_loops(struct pawl_server *server, struct pawl_error *err)
{
    server->loops = calloc((size_t)server->options.loops, sizeof *server->loops);
    if (server->loops == NULL)
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the loops");
    enum pawl_code code = PAWL_OK;
    for (int32_t i = 0; i < server->options.loops && code == PAWL_OK; i++) {
        struct pawl_loop *loop = &server->loops[server->loop_count++];
        loop->thread = pthread_self(); /* until it has one of its own */
        code =
            pawl_loop_open(loop, &server->shared, server->listeners, server->listener_count, err);
    }
    return code;
}

enum pawl_code pawl_server_open(struct pawl_server **out, const struct pawl_server_options *options,
                                struct pawl_error *err)
{
    struct pawl_server *server = calloc(1, sizeof *server);
    if (server == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the server");
    server->options = *options;
    fill_defaults(&server->options);
    enum pawl_code code = PAWL_OK;
    if (server->options.loops < 1 || server->options.loops > PAWL_NET_LOOPS_MAX) {
        code = pawl_error_set(err, PAWL_INVALID, "loops: a number from 1 to %d is wanted",
                              PAWL_NET_LOOPS_MAX);
    }
    if (code == PAWL_OK)
        code = pawl_router_open(&server->router, options->tables, options->table_count, err);
    if (code == PAWL_OK) {
        code = pawl_metrics_init(&server->metrics, pawl_router_count(server->router));
        if (code != PAWL_OK) (void)pawl_error_set(err, code, "no memory for the counters");
    }
    if (code == PAWL_OK) code = init_shared(server, err);
    for (size_t i = 0; i < options->listen_count && code == PAWL_OK; i++)
        code = bind_one(server, options->listen[i], err);
    if (code == PAWL_OK) code = open_loops(server, err);
    if (code != PAWL_OK) {
        pawl_server_close(server);
        return code;
    }
    *out = server;
    return PAWL_OK;
}

enum pawl_code pawl_server_start(struct pawl_server *server, struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    for (int32_t i = 0; i < server->loop_count && code == PAWL_OK; i++)
        code = pawl_loop_start(&server->loops[i], err);
    return code;
}

size_t pawl_server_address_count(const struct pawl_server *server)
{
    return server->listener_count;
}

const char *pawl_server_address(const struct pawl_server *server, size_t at)
{
    return server->addresses[at];
}

const struct pawl_router *pawl_server_router(const struct pawl_server *server)
{
    return server->router;
}

const struct pawl_metrics *pawl_server_metrics(const struct pawl_server *server)
{
    return &server->metrics;
}

bool pawl_server_is_draining(const struct pawl_server *server)
{
    return server->shared.is_draining;
}

/* ---- The end
 * ------------------------------------------------------------------------------------------- */

static void wake_all(struct pawl_server *server)
{
    for (int32_t i = 0; i < server->loop_count; i++) {
        if (server->loops[i].is_open) pawl_loop_wake(&server->loops[i]);
    }
}

void pawl_server_drain(struct pawl_server *server)
{
    if (atomic_exchange(&server->shared.is_draining, true)) return;
    /* A name that is free again is somebody else's at once, so it goes before the socket. */
    for (size_t i = 0; i < server->listener_count; i++) {
        if (server->listeners[i].fd < 0) continue;
        bool is_bound = server->addresses[i][0] != '\0';
        if (server->listeners[i].is_unix && is_bound) (void)unlink(server->addresses[i] + 5);
        (void)close(server->listeners[i].fd);
        server->listeners[i].fd = -1;
    }
    wake_all(server);
}

bool pawl_server_wait(struct pawl_server *server, int64_t wait_ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(wait_ms / 1000);
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    int error = 0;
    (void)pthread_mutex_lock(&server->shared.lock);
    while (server->metrics.connections > 0 && error == 0) {
        error = pthread_cond_timedwait(&server->shared.emptied, &server->shared.lock, &until);
    }
    bool is_empty = server->metrics.connections == 0;
    (void)pthread_mutex_unlock(&server->shared.lock);
    return is_empty;
}

void pawl_server_cut(struct pawl_server *server)
{
    pawl_server_drain(server);
    if (atomic_exchange(&server->shared.is_cut, true)) return;
    int32_t running = 0;
    for (int32_t i = 0; i < server->loop_count; i++) running += server->loops[i].has_thread;
    wake_all(server);
    if (running == 0) return;
    (void)pthread_mutex_lock(&server->shared.lock);
    while (server->shared.cut_count < running) {
        (void)pthread_cond_wait(&server->shared.emptied, &server->shared.lock);
    }
    (void)pthread_mutex_unlock(&server->shared.lock);
}

void pawl_server_close(struct pawl_server *server)
{
    if (server == NULL) return;
    pawl_server_cut(server);
    for (int32_t i = 0; i < server->loop_count; i++) pawl_loop_join(&server->loops[i]);
    free(server->loops);
    if (server->has_lock) {
        (void)pthread_cond_destroy(&server->shared.emptied);
        (void)pthread_mutex_destroy(&server->shared.lock);
    }
    pawl_metrics_reset(&server->metrics);
    pawl_router_close(server->router);
    free(server);
}
