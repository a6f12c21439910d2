/* pawl server: from options to a server; its start, its signals, its end. */
#include "net/server.h"
#include "app/cli.h"
#include "app/commands.h"
#include "base/array.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/engine.h"
#include "net/conductor/conductor.h"
#include "net/limits.h"
#include "net/native/feed.h"
#include "net/native/native.h"
#include "net/readers.h"
#include "net/service.h"
#include "net/tls.h"
#include "net/tokens.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LOOK_EVERY_MS = 50 }; /* while it drains: for a second signal */

/* A line of the log goes out whole, whichever thread it comes from: stdio locks the stream. */
static void write_log(void *self, enum pawl_log_level level, struct pawl_str line)
{
    const struct pawl_log *log = self;
    char now[PAWL_INSTANT_TEXT_BYTES_MAX + 1];
    if (level > log->level_max) return;
    pawl_instant_format(pawl_wall_ms(), now);
    (void)fprintf(stderr, "time=%s %.*s\n", now, PAWL_STR_ARG(line));
}

/* What systemd is told; nobody needs to hear it. */
static void notify(const char *state)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    size_t len = path != NULL ? strlen(path) : 0;
    if (len < 2 || len >= sizeof to.sun_path) return;
    memcpy(to.sun_path, path, len);
    if (path[0] == '@') to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)(const void *)&to,
                 bytes);
    (void)close(fd);
}

/* Whether SIGINT or SIGTERM came; it is taken. */
static bool has_signal(struct pawl_cli *cli, int wait_ms)
{
    struct pollfd poll_fd = {.fd = cli->signal_fd, .events = POLLIN};
    struct signalfd_siginfo info;
    if (poll(&poll_fd, 1, wait_ms) != 1) return false;
    return read(cli->signal_fd, &info, sizeof info) == (ssize_t)sizeof info;
}

/* Until a signal comes, or the store is gone: then *err says so. */
static void wait_for_end(struct pawl_cli *cli, struct pawl_error *err)
{
    struct pawl_holder holder = {.knock_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    struct pollfd fds[] = {{.fd = cli->signal_fd, .events = POLLIN}, {.fd = holder.knock_fd, .events = POLLIN}};
    uint64_t count;
    pawl_engine_add_holder(cli->pawl, &holder);
    while (!has_signal(cli, 0) && !pawl_engine_is_gone(cli->pawl, err)) {
        (void)poll(fds, 2, -1); /* interrupted is a reason to look too */
        if (fds[1].revents != 0) (void)!read(holder.knock_fd, &count, sizeof count);
    }
    pawl_engine_remove_holder(cli->pawl, &holder);
    if (holder.knock_fd >= 0) (void)close(holder.knock_fd); /* without one only signals are heard */
}

static void take_options(struct pawl_cli *cli, struct pawl_server_options *options)
{
    static const struct pawl_str usual[] = {PAWL_STR_INIT("127.0.0.1:8080")};
    options->listen = pawl_given_all(cli, "listen", &options->listen_count);
    if (options->listen_count == 0) {
        options->listen = usual;
        options->listen_count = PAWL_COUNT_OF(usual);
    }
    options->access.hosts = pawl_given_all(cli, "allow-host", &options->access.host_count);
    options->is_insecure = pawl_given(cli, "insecure");
    options->loops = (int32_t)pawl_given_int64(cli, "loops", 1, PAWL_NET_LOOPS_MAX, 1);
}

/* Both files or neither. */
static enum pawl_code open_tls(struct pawl_cli *cli, struct pawl_tls **out)
{
    struct pawl_str certificate = pawl_given_text(cli, "tls-cert");
    struct pawl_str key = pawl_given_text(cli, "tls-key");
    if (certificate.len == 0 && key.len == 0) return PAWL_OK;
    if (certificate.len == 0 || key.len == 0) {
        return pawl_error_set(&cli->err, PAWL_INVALID, "--tls-cert and --tls-key go together");
    }
    const char *certificate_path = pawl_arena_c_text(cli->keep, certificate);
    const char *key_path = pawl_arena_c_text(cli->keep, key);
    if (certificate_path == NULL || key_path == NULL) {
        return pawl_error_set(&cli->err, PAWL_NO_MEMORY, "no memory for the paths");
    }
    return pawl_tls_open(out, certificate_path, key_path, &cli->err);
}

static void tell_ready(struct pawl_cli *cli, const struct pawl_server *server)
{
    (void)fputs("listening on", cli->out.file);
    for (size_t i = 0; i < pawl_server_address_count(server); i++) {
        (void)fprintf(cli->out.file, " %s", pawl_server_address(server, i));
    }
    (void)fputc('\n', cli->out.file);
    (void)fflush(
        cli->out
            .file); /* whoever starts it waits for this line; that it fails is told at the end */
    notify("READY=1");
}

/* Until its end is wanted, and then until nothing is under way, the time is up, or a second signal. */
static enum pawl_code serve(struct pawl_cli *cli, struct pawl_server *server, const struct pawl_log *log,
                            int64_t drain_ms)
{
    wait_for_end(cli, &cli->err);
    notify("STOPPING=1");
    pawl_log_write(log, PAWL_LOG_INFO, "server.draining", PAWL_INT("drain_ms", drain_ms));
    pawl_server_drain(server);
    int64_t waited_ms = 0;
    bool is_hurried = false;
    while (waited_ms < drain_ms && !is_hurried && !pawl_server_wait(server, LOOK_EVERY_MS)) {
        waited_ms += LOOK_EVERY_MS;
        is_hurried = has_signal(cli, 0);
    }
    pawl_log_write(log, PAWL_LOG_INFO, "server.stopped", PAWL_INT("waited_ms", waited_ms),
                   PAWL_INT("connections", pawl_server_metrics(server)->connections));
    return cli->err.code;
}

int pawl_cli_server(struct pawl_cli *cli)
{
    struct pawl_log log = {.write = write_log, .self = &log, .level_max = PAWL_LOG_INFO};
    if (pawl_given(cli, "quiet")) log.level_max = PAWL_LOG_WARN;
    if (pawl_given(cli, "verbose")) log.level_max = PAWL_LOG_DEBUG;
    struct pawl_server_options options = {.log = &log};
    struct pawl_options with = PAWL_OPTIONS_INIT;
    with.log = write_log;
    with.log_self = &log;
    with.retain_ms = pawl_given_above_0(cli, "retain", pawl_given_age_ms(cli, "retain"));
    with.events_keep_ms =
        pawl_given_above_0(cli, "events-keep", pawl_given_age_ms(cli, "events-keep"));
    int64_t drain_ms = pawl_given_duration_ms(cli, "drain", PAWL_NET_DRAIN_MS_MAX);
    int64_t grace_ms = pawl_given_duration_ms(cli, "lease-grace", PAWL_CONDUCTOR_LEASE_GRACE_MS);
    take_options(cli, &options);
    (void)signal(SIGPIPE, SIG_IGN);

    struct pawl_server *server = NULL;
    struct pawl_service *service = NULL;
    struct pawl_tokens *tokens = NULL;
    struct pawl_native native = {0};
    struct pawl_conductor conductor = {0};
    struct pawl_route_table tables[PAWL_NATIVE_TABLES + PAWL_CONDUCTOR_TABLES + 2];
    enum pawl_code code = pawl_given_code(cli);
    if (code == PAWL_OK) code = open_tls(cli, &options.tls);
    if (code == PAWL_OK) code = pawl_cli_open(cli, &with);
    if (code == PAWL_OK) code = pawl_service_open(&service, cli->pawl, &cli->err);
    if (code == PAWL_OK)
        code = pawl_tokens_open(&tokens, &cli->pawl->store_options, &log, &cli->err);
    if (code == PAWL_OK) {
        native.pawl = cli->pawl;
        code = pawl_readers_open(&native.readers, &cli->pawl->store_options, 0, &cli->err);
    }
    if (code == PAWL_OK) code = pawl_feed_open(&native.feed, &native, &cli->err);
    if (code == PAWL_OK) {
        code = pawl_conductor_open(&conductor, cli->pawl, native.readers, &cli->err);
        conductor.lease_grace_ms = grace_ms;
    }
    if (code == PAWL_OK) {
        size_t count = PAWL_NATIVE_TABLES + PAWL_CONDUCTOR_TABLES;
        pawl_native_tables(&native, tables);
        pawl_conductor_tables(&conductor, tables + PAWL_NATIVE_TABLES);
        tables[count++] = pawl_service_table(service);
        tables[count++] = pawl_tokens_table(tokens);
        pawl_tokens_guard(tokens, &options.access);
        options.tables = tables;
        options.table_count = count;
        code = pawl_server_open(&server, &options, &cli->err);
    }
    if (code == PAWL_OK) {
        pawl_service_begin(service, server);
        code = pawl_server_start(server, &cli->err);
    }
    if (code == PAWL_OK) {
        tell_ready(cli, server);
        code = serve(cli, server, &log, drain_ms);
        pawl_server_cut(server);
    }
    /* First the server, which waits for what is in the engine's and the readers' hands, and gives
     * back what could not be told; then those; the engine last. */
    if (service != NULL) pawl_service_stop(service);
    pawl_server_close(server);
    pawl_tls_close(options.tls);
    pawl_service_close(service);
    pawl_feed_close(native.feed);
    pawl_readers_close(native.readers);
    pawl_conductor_close(&conductor);
    pawl_tokens_close(tokens);
    pawl_close(cli->pawl);
    cli->pawl = NULL;
    return code == PAWL_OK ? 0 : pawl_cli_fail(cli);
}
