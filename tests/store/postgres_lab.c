#include "postgres_lab.h"

#include "base/str.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- The server ----------------------------------------------------------------------------- */

static const char *server_uri(void)
{
    const char *uri = getenv("PAWL_TEST_POSTGRES");
    if (uri == NULL || uri[0] == '\0') {
        SKIP("PAWL_TEST_POSTGRES names no server: run under tools/with_postgres");
    }
    return uri;
}

/* The folder's name is unlike any other's, and so are the names of the schema and of the
 * connections. */
static void make_target(struct lab *lab, const char *uri)
{
    const char *unique = strrchr(lab->folder, '-') + 1;
    int len = snprintf(lab->target, sizeof lab->target,
                       "%s%capplication_name=lab_%s&options=-csearch_path%%3D%%22lab_%s%%22", uri,
                       strchr(uri, '?') == NULL ? '?' : '&', unique, unique);
    CHECK(len > 0 && (size_t)len < sizeof lab->target);
}

void postgres_need(void)
{
    (void)server_uri();
}

void postgres_target(struct lab *lab)
{
    make_target(lab, server_uri());
}

const struct lab_kind postgres_kind = {"", postgres_need, postgres_target, postgres_remove};

void postgres_side_open(struct postgres_side *side, const char *target)
{
    struct pawl_error err;
    const char *const keys[] = {"dbname", NULL};
    const char *const values[] = {target, NULL};
    *side = (struct postgres_side){0};
    CHECK_OK(pawl_libpq_load(&side->pq, &err), &err);
    side->conn = side->pq.connectdbParams(keys, values, 1);
    if (side->pq.status(side->conn) != CONNECTION_OK) FAIL("%s", side->pq.errorMessage(side->conn));
    (void)postgres_side_sql(side, "SET client_min_messages = error; SET application_name = side");
}

void postgres_side_close(struct postgres_side *side)
{
    side->pq.finish(side->conn);
    pawl_libpq_unload(&side->pq);
}

const char *postgres_side_sql(struct postgres_side *side, const char *sql)
{
    static char text[1024];
    PGresult *result = side->pq.exec(side->conn, sql);
    ExecStatusType status = side->pq.resultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        FAIL("%s: %s", sql, side->pq.errorMessage(side->conn));
    }
    bool has_row = side->pq.ntuples(result) > 0;
    (void)snprintf(text, sizeof text, "%s", has_row ? side->pq.getvalue(result, 0, 0) : "");
    side->pq.clear(result);
    return text;
}

const char *postgres_sql(const char *target, const char *sql)
{
    struct postgres_side side;
    postgres_side_open(&side, target);
    const char *text = postgres_side_sql(&side, sql);
    postgres_side_close(&side);
    return text;
}

void postgres_side_await(struct postgres_side *side, const char *sql, const char *want)
{
    for (int i = 0; i < 2000; i++) {
        if (strcmp(postgres_side_sql(side, sql), want) == 0) return;
        (void)poll(NULL, 0, 5);
    }
    FAIL("%s: never became %s", sql, want);
}

void postgres_remove(struct lab *lab)
{
    make_target(lab, server_uri()); /* past any proxy */
    (void)postgres_sql(lab->target, "DO 'BEGIN EXECUTE ''DROP SCHEMA IF EXISTS '' || "
                                    "current_setting(''search_path'') || '' CASCADE''; END'");
}

void postgres_end_backends(struct postgres_side *side, const struct lab *lab)
{
    char sql[512];
    const char *unique = strrchr(lab->folder, '-') + 1;
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                   "WHERE application_name = 'lab_%s'",
                   unique);
    postgres_side_await(side, sql, "0");
}

void postgres_await_lock(struct postgres_side *side, const struct lab *lab)
{
    char sql[512];
    const char *unique = strrchr(lab->folder, '-') + 1;
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM pg_stat_activity "
                   "WHERE application_name = 'lab_%s' AND wait_event_type = 'Lock'",
                   unique);
    postgres_side_await(side, sql, "1");
}

/* ---- The proxy ------------------------------------------------------------------------------ */

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    if (fd >= 0) (void)close(fd);
    return -1;
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    CHECK_EQ(0, listen(fd, 16));
    return fd;
}

static void hang_up(int *fd)
{
    if (*fd >= 0) (void)close(*fd);
    *fd = -1;
}

/* Passes on what is there; false at the end of the stream. */
static bool pass_on(int from, int to)
{
    char bytes[16384];
    ssize_t count = read(from, bytes, sizeof bytes);
    for (ssize_t done = 0; done < count;) {
        ssize_t sent = send(to, bytes + done, (size_t)(count - done), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        done += sent;
    }
    return count > 0;
}

static void take_connection(struct proxy *proxy)
{
    int near = accept(proxy->listen_fd, NULL, NULL);
    if (near < 0) return;
    int far = -1;
    if (proxy->mode != PROXY_REFUSE && proxy->count < PROXY_LINKS_MAX)
        far = connect_to(proxy->server);
    if (far < 0) {
        (void)close(near);
        return;
    }
    proxy->near_fds[proxy->count] = near;
    proxy->far_fds[proxy->count++] = far;
}

/* A fault is made once; then comes the next mode. */
static bool is_due(struct proxy *proxy, enum proxy_mode mode, enum proxy_mode next)
{
    int want = (int)mode;
    if (proxy->mode == want && proxy->skips > 0) {
        proxy->skips--;
        return false;
    }
    return atomic_compare_exchange_strong(&proxy->mode, &want, (int)next);
}

static void serve(struct proxy *proxy, int i, bool is_asked, bool is_answered)
{
    int *near = &proxy->near_fds[i];
    int *far = &proxy->far_fds[i];
    bool is_open = true;
    if (is_asked && is_due(proxy, PROXY_FORGET, PROXY_PASS)) {
        hang_up(near); /* the far end stays: the server waits for more */
        return;
    }
    if (is_asked && is_due(proxy, PROXY_LOSE_REQUEST, PROXY_PASS)) is_open = false;
    if (is_answered && is_due(proxy, PROXY_LOSE_ANSWER, PROXY_PASS)) is_open = false;
    if (is_answered && is_due(proxy, PROXY_LOSE_SERVER, PROXY_REFUSE)) is_open = false;
    if (is_asked && is_open) is_open = pass_on(*near, *far);
    if (is_answered && is_open) is_open = pass_on(*far, *near);
    if (!is_open) {
        hang_up(near);
        hang_up(far);
    }
}

static void *run_proxy(void *self)
{
    struct proxy *proxy = self;
    for (;;) {
        struct pollfd fds[2 + 2 * PROXY_LINKS_MAX];
        fds[0] = (struct pollfd){.fd = proxy->stop_fds[0], .events = POLLIN};
        fds[1] = (struct pollfd){.fd = proxy->listen_fd, .events = POLLIN};
        int count = proxy->count;
        for (int i = 0; i < count; i++) {
            bool is_open = proxy->near_fds[i] >= 0;
            fds[2 + 2 * i] = (struct pollfd){.fd = proxy->near_fds[i], .events = POLLIN};
            fds[3 + 2 * i] =
                (struct pollfd){.fd = is_open ? proxy->far_fds[i] : -1, .events = POLLIN};
        }
        if (poll(fds, (nfds_t)(2 + 2 * count), -1) < 0 && errno != EINTR) return NULL;
        if (fds[0].revents != 0) return NULL;
        for (int i = 0; i < count; i++) {
            bool is_asked = fds[2 + 2 * i].revents != 0;
            bool is_answered = fds[3 + 2 * i].revents != 0;
            if (is_asked || is_answered) serve(proxy, i, is_asked, is_answered);
        }
        if (fds[1].revents != 0) take_connection(proxy);
    }
}

void proxy_open(struct proxy *proxy, struct lab *lab)
{
    *proxy = (struct proxy){.mode = PROXY_PASS};
    const char *folders = postgres_sql(lab->target, "SHOW unix_socket_directories");
    if (folders[0] != '/') SKIP("the server has no Unix socket");
    (void)snprintf(proxy->server, sizeof proxy->server, "%.*s/.s.PGSQL.",
                   (int)strcspn(folders, ","), folders);
    size_t len = strlen(proxy->server);
    (void)snprintf(proxy->server + len, sizeof proxy->server - len, "%.10s",
                   postgres_sql(lab->target, "SHOW port"));
    (void)snprintf(proxy->path, sizeof proxy->path, "%.200s/.s.PGSQL.5432", lab->folder);
    proxy->listen_fd = listen_at(proxy->path);
    CHECK_EQ(0, pipe(proxy->stop_fds));

    char uri[LAB_PATH_BYTES_MAX];
    char user[64];
    (void)snprintf(user, sizeof user, "%.60s", postgres_sql(lab->target, "SELECT current_user"));
    (void)snprintf(uri, sizeof uri, "postgres:///%.60s?user=%s&host=%.200s&sslmode=disable",
                   postgres_sql(lab->target, "SELECT current_database()"), user, lab->folder);
    make_target(lab, uri);
    CHECK_EQ(0, pthread_create(&proxy->thread, NULL, run_proxy, proxy));
}

void proxy_set(struct proxy *proxy, enum proxy_mode mode, int skips)
{
    proxy->skips = skips;
    proxy->mode = mode;
}

void proxy_close(struct proxy *proxy)
{
    CHECK_EQ(1, write(proxy->stop_fds[1], "", 1));
    CHECK_EQ(0, pthread_join(proxy->thread, NULL));
    for (int i = 0; i < proxy->count; i++) {
        hang_up(&proxy->near_fds[i]);
        hang_up(&proxy->far_fds[i]);
    }
    hang_up(&proxy->listen_fd);
    hang_up(&proxy->stop_fds[0]);
    hang_up(&proxy->stop_fds[1]);
}
