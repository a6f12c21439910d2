/* A real server: connections, exchanges that wait, streams, deadlines, limits, drain. Deadlines are
 * tiny or far away; what is waited for is a state. */
#include "served.h"

#include "base/error.h"
#include "base/str.h"
#include "net/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HOST "Host: localhost\r\n"

TEST("a request is answered, and the connection lives on")
{
    struct served served;
    struct answer answer;
    served_open(&served, NULL);
    int fd = client_open(&served);
    for (int i = 0; i < 3; i++) {
        client_say(fd, "POST /v1/echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello");
        client_read(fd, &answer, false);
        CHECK_EQ(200, answer.status);
        CHECK_TEXT("hello", answer.body);
        CHECK(answer_has(&answer, "Content-Type: text/plain;charset=UTF-8"));
        CHECK(strstr(answer.head, "Connection:") == NULL);
        answer_reset(&answer);
    }
    (void)close(fd);
    served_close(&served);
}

TEST("requests sent at once are answered in their order, one after the other")
{
    struct served served;
    struct answer answer;
    served_open(&served, NULL);
    int fd = client_open(&served);
    client_say(fd, "GET /v1/wait HTTP/1.1\r\n" HOST "\r\n"
                   "GET /v1/names/second HTTP/1.1\r\n" HOST "\r\n"
                   "GET /v1/wait HTTP/1.1\r\n" HOST "\r\n"
                   "GET /v1/names/fo");
    client_say(fd, "urth HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    served_await(&served, &served.parked_count, 1);
    served_answer(&served, 0, "first");
    served_await(&served, &served.parked_count, 2); /* not before the first was answered */
    served_answer(&served, 1, "third");
    static const char *const want[] = {"first", "second", "third", "fourth"};
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        client_read(fd, &answer, false);
        CHECK_TEXT(want[i], answer.body);
        answer_reset(&answer);
    }
    CHECK(client_is_closed(fd));
    (void)close(fd);
    served_close(&served);
}

TEST("ten exchanges wait at once and are answered from another thread, in any order")
{
    enum { COUNT = 10 };
    struct served served;
    struct answer answer;
    int fds[COUNT];
    served_open(&served, NULL);
    for (int i = 0; i < COUNT; i++) {
        fds[i] = client_open(&served);
        client_say(fds[i], "GET /v1/wait HTTP/1.1\r\n" HOST "\r\n");
        served_await(&served, &served.parked_count, i + 1);
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        char text[16];
        (void)snprintf(text, sizeof text, "%d", i);
        served_answer(&served, i, text);
        client_read(fds[i], &answer, false);
        CHECK_TEXT(text, answer.body);
        answer_reset(&answer);
        (void)close(fds[i]);
    }
    served_await(&served, &served.sent_count, COUNT);
    served_close(&served);
}

TEST("who hangs up while he waits is noticed, and his answer is known not to have reached him")
{
    struct served served;
    served_open(&served, NULL);
    int fd = client_open(&served);
    client_say(fd, "GET /v1/wait HTTP/1.1\r\n" HOST "\r\n");
    served_await(&served, &served.parked_count, 1);
    CHECK(!pawl_exchange_is_left(served.parked[0]));
    struct linger hard = {.l_onoff = 1};
    CHECK_EQ(0, setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard));
    (void)close(fd); /* with a reset */
    served_await(&served, &served.left_count, 1);
    CHECK(pawl_exchange_is_left(served.parked[0]));
    served_answer(&served, 0, "too late");
    served_await(&served, &served.unsent_count, 1);
    CHECK_EQ(0, served.sent_count);
    served_close(&served);
}

TEST("a client that has only closed its own side is still answered")
{
    struct served served;
    struct answer answer;
    served_open(&served, NULL);
    int fd = client_open(&served);
    client_say(fd, "GET /v1/wait HTTP/1.1\r\n" HOST "\r\n");
    CHECK_EQ(0, shutdown(fd, SHUT_WR));
    served_await(&served, &served.left_count, 1);
    served_answer(&served, 0, "still");
    client_read(fd, &answer, false);
    CHECK_TEXT("still", answer.body);
    CHECK(answer_has(&answer, "Connection: close"));
    answer_reset(&answer);
    CHECK(client_is_closed(fd));
    (void)close(fd);
    served_close(&served);
}

TEST("a stream arrives piece by piece, and ends")
{
    struct served served;
    struct answer answer;
    served_open(&served, NULL);
    int fd = client_open(&served);
    client_say(fd, "GET /v1/stream HTTP/1.1\r\n" HOST "\r\n");
    served_await(&served, &served.parked_count, 1);
    for (int i = 0; i < 100; i++) {
        CHECK_OK(pawl_exchange_stream_write(served.parked[0], PAWL_STR("data: x\n\n")), NULL);
    }
    pawl_exchange_stream_end(served.parked[0]);
    client_read(fd, &answer, false);
    CHECK_EQ(200, answer.status);
    CHECK(answer_has(&answer, "Content-Type: text/event-stream"));
    CHECK_EQ(100 * strlen("data: x\n\n"), answer.body_len);
    answer_reset(&answer);
    served_await(&served, &served.sent_count, 1);
    /* And the connection lives on. */
    client_say(fd, "GET /v1/empty HTTP/1.1\r\n" HOST "\r\n");
    client_read(fd, &answer, false);
    CHECK_EQ(200, answer.status);
    answer_reset(&answer);
    (void)close(fd);
    served_close(&served);
}

TEST("the reader of a stream who reads nothing is given up, with a bounded memory")
{
    struct served served;
    served_open(&served, NULL);
    int fd = client_open(&served);
    client_say(fd, "GET /v1/stream HTTP/1.1\r\n" HOST "\r\n");
    served_await(&served, &served.parked_count, 1);
    static char piece[64 * 1024];
    enum pawl_code code = PAWL_OK;
    int64_t pieces = 0;
    while (code == PAWL_OK && pieces < 10000) {
        code = pawl_exchange_stream_write(served.parked[0], (struct pawl_str){piece, sizeof piece});
        pieces++;
    }
    CHECK(code == PAWL_BUSY || code == PAWL_STATE); /* the loop may have given it up first */
    pawl_exchange_stream_end(served.parked[0]);
    /* It ends before its end: without the last chunk. */
    char *bytes = malloc(sizeof piece);
    CHECK(bytes != NULL);
    char tail[8] = "";
    ssize_t count = 0;
    while ((count = recv(fd, bytes, sizeof piece, 0)) > 0) {
        size_t len = (size_t)count < sizeof tail - 1 ? (size_t)count : sizeof tail - 1;
        memcpy(tail, bytes + count - len, len);
    }
    CHECK(strstr(tail, "0\r\n\r\n") == NULL);
    free(bytes);
    (void)close(fd);
    served_await(&served, &served.unsent_count, 1);
    served_close(&served);
}

/* ---- Deadlines
 * ----------------------------------------------------------------------------------------- */

TEST("headers and bodies that do not come are told 408 and closed")
{
    static const char *const parts[] = {
        "GET /v1/echo HT", "GET /v1/echo HTTP/1.1\r\nHost: loc",
        "POST /v1/echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhell",
        "POST /v1/echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhe"};
    struct served served;
    struct answer answer;
    const struct pawl_server_options options = {.headers_ms_max = 20, .body_ms_max = 20};
    served_open(&served, &options);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        int fd = client_open(&served);
        client_say(fd, parts[i]);
        client_read(fd, &answer, false);
        CHECK_EQ(408, answer.status);
        CHECK(answer_has(&answer, "Connection: close"));
        CHECK(strstr(answer.body, "\"code\":\"TIMEOUT\"") != NULL);
        CHECK(strstr(answer.body, i < 2 ? "the headers" : "the body") != NULL);
        answer_reset(&answer);
        CHECK(client_is_closed(fd));
        (void)close(fd);
    }
    served_close(&served);
}

TEST("an idle connection is closed without a word, before and after a request")
{
    struct served served;
    struct answer answer;
    const struct pawl_server_options options = {.idle_ms_max = 20};
    served_open(&served, &options);
    int fd = client_open(&served);
    CHECK(client_is_closed(fd));
    (void)close(fd);
    fd = client_open(&served);
    client_say(fd, "GET /v1/empty HTTP/1.1\r\n" HOST "\r\n");
    client_read(fd, &answer, false);
    CHECK_EQ(200, answer.status);
    answer_reset(&answer);
    CHECK(client_is_closed(fd));
    (void)close(fd);
    served_close(&served);
}

TEST("a client that does not read its answer is closed, whatever is left of it")
{
    struct served served;
    const struct pawl_server_options options = {.answer_ms_max = 20};
    served_open(&served, &options);
    int fd = client_open(&served);
    int small = 4096;
    CHECK_EQ(0, setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small));
    client_say(fd, "GET /v1/large HTTP/1.1\r\n" HOST "\r\n");
    CHECK(pawl_server_metrics(served.server) != NULL);
    while (pawl_server_metrics(served.server)->accepted == 0) (void)sched_yield();
    while (pawl_server_metrics(served.server)->connections > 0) (void)sched_yield();
    (void)close(fd);
    served_close(&served);
}

TEST("waiting for an answer has no deadline of the connection's")
{
    struct served served;
    struct answer answer;
    const struct pawl_server_options options = {.headers_ms_max = 20,
                                                .body_ms_max = 20,
                                                .idle_ms_max = 20,
                                                .answer_ms_max = 20,
                                                .linger_ms_max = 20};
    served_open(&served, &options);
    int waiting = client_open(&served);
    client_say(waiting, "GET /v1/wait HTTP/1.1\r\n" HOST "\r\n");
    served_await(&served, &served.parked_count, 1);
    for (int i = 0; i < 3; i++) { /* idle ones come and go meanwhile */
        int fd = client_open(&served);
        CHECK(client_is_closed(fd));
        (void)close(fd);
    }
    served_answer(&served, 0, "there");
    client_read(waiting, &answer, false);
    CHECK_TEXT("there", answer.body);
    answer_reset(&answer);
    (void)close(waiting);
    served_close(&served);
}

/* ---- Limits
 * -------------------------------------------------------------------------------------------- */

TEST("a connection beyond the limit is told so, and has its place when another goes")
{
    struct served served;
    struct answer answer;
    const struct pawl_server_options options = {.connections_max = 2};
    served_open(&served, &options);
    int first = client_open(&served);
    int second = client_open(&served);
    while (pawl_server_metrics(served.server)->connections < 2) (void)sched_yield();
    int third = client_open(&served);
    client_say(third, "GET /v1/empty HTTP/1.1\r\n" HOST "\r\n");
    client_read(third, &answer, false);
    CHECK_EQ(503, answer.status);
    CHECK(answer_has(&answer, "Retry-After: 1"));
    CHECK(answer_has(&answer, "Connection: close"));
    answer_reset(&answer);
    (void)close(third);
    (void)close(first);
    while (pawl_server_metrics(served.server)->connections > 1) (void)sched_yield();
    client_ask(&served, "GET /v1/empty HTTP/1.1\r\n" HOST "\r\n", &answer);
    CHECK_EQ(200, answer.status);
    answer_reset(&answer);
    (void)close(second);
    served_close(&served);
}

TEST("an exchange beyond the limit is told BUSY, and its connection lives on")
{
    struct served served;
    struct answer answer;
    const struct pawl_server_options options = {.exchanges_max = 1};
    served_open(&served, &options);
    int waiting = client_open(&served);
    client_say(waiting, "GET /v1/wait HTTP/1.1\r\n" HOST "\r\n");
    served_await(&served, &served.parked_count, 1);
    int fd = client_open(&served);
    client_say(fd, "GET /v1/empty HTTP/1.1\r\n" HOST "\r\n");
    client_read(fd, &answer, false);
    CHECK_EQ(503, answer.status);
    CHECK(strstr(answer.body, "BUSY") != NULL);
    answer_reset(&answer);
    served_answer(&served, 0, "");
    served_await(&served, &served.sent_count, 1);
    client_read(waiting, &answer, false);
    answer_reset(&answer);
    client_say(fd, "GET /v1/empty HTTP/1.1\r\n" HOST "\r\n");
    client_read(fd, &answer, false);
    CHECK_EQ(200, answer.status);
    answer_reset(&answer);
    (void)close(fd);
    (void)close(waiting);
    served_close(&served);
}

TEST("a body beyond the limit is refused before it has come, in the form of its path")
{
    struct served served;
    struct answer answer;
    const struct pawl_server_options options = {.body_bytes_max = 1000};
    served_open(&served, &options);
    client_ask(&served, "POST /v1/echo HTTP/1.1\r\n" HOST "Content-Length: 1001\r\n\r\n", &answer);
    CHECK_EQ(413, answer.status);
    CHECK(strstr(answer.body, "\"code\":\"TOO_LARGE\"") != NULL);
    answer_reset(&answer);
    client_ask(&served,
               "POST /api/echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3e9\r\n",
               &answer);
    CHECK_EQ(413, answer.status);
    CHECK(strstr(answer.body, "\"status\":413") != NULL);
    answer_reset(&answer);
    served_close(&served);
}

TEST("out of descriptors, who comes is turned away, and the server lives on")
{
    struct served served;
    struct answer answer;
    struct rlimit before;
    served_open(&served, NULL);
    int first = client_open(&served);
    client_say(first, "GET /v1/empty HTTP/1.1\r\n" HOST "\r\n");
    client_read(first, &answer, false);
    answer_reset(&answer);
    CHECK_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
    int fd = client_open(&served); /* the last one the server accepts */
    client_say(fd, "GET /v1/empty HTTP/1.1\r\n" HOST "\r\n");
    client_read(fd, &answer, false);
    answer_reset(&answer);
    int late =
        socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* before there is no descriptor for it */
    struct rlimit tight = {.rlim_cur = (rlim_t)late, .rlim_max = before.rlim_max};
    int probe = dup(fd);
    CHECK(probe > late); /* so nothing below the limit is free */
    (void)close(probe);
    CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &tight));
    struct sockaddr_storage to;
    socklen_t to_len = sizeof to;
    CHECK_EQ(0, getpeername(first, (struct sockaddr *)&to, &to_len));
    CHECK_EQ(0, connect(late, (struct sockaddr *)&to, to_len));
    CHECK(client_is_closed(late));
    CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
    (void)close(late);
    /* The loop is through with turning away when it answers this. */
    client_say(first, "GET /v1/empty HTTP/1.1\r\n" HOST "\r\n");
    client_read(first, &answer, false);
    answer_reset(&answer);
    client_ask(&served, "GET /v1/empty HTTP/1.1\r\n" HOST "\r\n", &answer);
    CHECK_EQ(200, answer.status);
    answer_reset(&answer);
    (void)close(fd);
    (void)close(first);
    served_close(&served);
}

/* ---- Access
 * -------------------------------------------------------------------------------------------- */

static bool find_token(void *self, struct pawl_str token, struct pawl_arena *keep,
                       enum pawl_role *role, struct pawl_str *name)
{
    (void)self;
    (void)keep;
    *name = token;
    return pawl_role_parse(token, role) &&
           *role != PAWL_ROLE_NONE; /* a token's text is its role here */
}

TEST("with tokens each route asks for its role, however the token is sent")
{
    static const struct {
        const char *request;
        int status;
        const char *body; /* a part */
    } rows[] = {
        {"GET /v1/nothing HTTP/1.1\r\n" HOST "\r\n", 204, ""},
        {"GET /v1/names/a HTTP/1.1\r\n" HOST "\r\n", 401, "this needs a token"},
        {"GET /v1/names/a HTTP/1.1\r\n" HOST "X-Authorization: viewer\r\n\r\n", 200, "a"},
        {"GET /v1/names/a HTTP/1.1\r\n" HOST "Authorization: Bearer viewer\r\n\r\n", 200, "a"},
        {"GET /v1/names/a HTTP/1.1\r\n" HOST "Authorization: bearer  admin\r\n\r\n", 200, "a"},
        {"GET /v1/names/a HTTP/1.1\r\n" HOST "Authorization: Basic dTpw\r\n\r\n", 401, "Bearer"},
        {"GET /v1/names/a HTTP/1.1\r\n" HOST "X-Authorization: none\r\n\r\n", 401, "not known"},
        {"GET /v1/names/a HTTP/1.1\r\n" HOST "X-Authorization: x\r\n\r\n", 401, "UNAUTHENTICATED"},
        {"DELETE /v1/echo HTTP/1.1\r\n" HOST "X-Authorization: operator\r\n\r\n", 403,
         "needs the role admin"},
        {"DELETE /v1/echo HTTP/1.1\r\n" HOST "X-Authorization: admin\r\n\r\n", 200, ""},
        /* Who has no token learns not even what there is. */
        {"GET /v1/unknown HTTP/1.1\r\n" HOST "\r\n", 401, ""},
        {"PUT /v1/echo HTTP/1.1\r\n" HOST "\r\n", 401, ""},
        {"GET /v1/unknown HTTP/1.1\r\n" HOST "X-Authorization: viewer\r\n\r\n", 404, ""},
        {"POST /api/echo HTTP/1.1\r\n" HOST "\r\n", 401, "\"error\":\"INVALID_TOKEN\""},
        /* The Host of an address with tokens may be any. */
        {"GET /v1/names/a HTTP/1.1\r\nHost: pawl.example.org\r\nX-Authorization: viewer\r\n\r\n",
         200, "a"},
    };
    struct served served;
    struct answer answer;
    const struct pawl_server_options options = {.access = {.find_token = find_token}};
    served_open(&served, &options);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        client_ask(&served, rows[i].request, &answer);
        if (answer.status != rows[i].status || strstr(answer.body, rows[i].body) == NULL) {
            FAIL("%zu: %d %s", i, answer.status, answer.body);
        }
        CHECK((answer.status == 401) == answer_has(&answer, "WWW-Authenticate: Bearer"));
        answer_reset(&answer);
    }
    served_close(&served);
}

TEST("an address that others reach is not listened on without tokens, unless it is said aloud")
{
    static const struct pawl_str all[] = {PAWL_STR_INIT("0.0.0.0:0")};
    struct pawl_server *server = NULL;
    struct pawl_error err = {0};
    struct pawl_server_options options = {.listen = all, .listen_count = 1};
    CHECK_CODE(PAWL_INVALID, pawl_server_open(&server, &options, &err));
    CHECK(strstr(err.text, "--insecure") != NULL);
    options.is_insecure = true;
    CHECK_OK(pawl_server_open(&server, &options, &err), &err);
    pawl_server_close(server);
    options.is_insecure = false;
    options.access.find_token = find_token;
    CHECK_OK(pawl_server_open(&server, &options, &err), &err);
    pawl_server_close(server);
}

TEST("addresses that are none are refused, and one that is taken is a conflict")
{
    static const struct pawl_str bad[] = {PAWL_STR_INIT("8080"),
                                          PAWL_STR_INIT(":8080"),
                                          PAWL_STR_INIT("127.0.0.1"),
                                          PAWL_STR_INIT("127.0.0.1:"),
                                          PAWL_STR_INIT("127.0.0.1:65536"),
                                          PAWL_STR_INIT("127.0.0.1:http"),
                                          PAWL_STR_INIT("::1:80"),
                                          PAWL_STR_INIT("unix:"),
                                          PAWL_STR_INIT("")};
    struct pawl_server *server = NULL;
    struct pawl_error err = {0};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const struct pawl_server_options options = {.listen = &bad[i], .listen_count = 1};
        CHECK_CODE(PAWL_INVALID, pawl_server_open(&server, &options, &err));
        CHECK(strncmp(err.text, "--listen", 8) == 0);
    }
    struct served served;
    served_open(&served, NULL);
    char taken_text[64];
    (void)snprintf(taken_text, sizeof taken_text, "127.0.0.1:%d", served.port);
    const struct pawl_str taken = pawl_str_of(taken_text);
    const struct pawl_server_options options = {.listen = &taken, .listen_count = 1};
    CHECK_CODE(PAWL_CONFLICT, pawl_server_open(&server, &options, &err));
    served_close(&served);
}

TEST("it listens on a path, which goes with it, and takes over what a killed one left")
{
    const char *tmp = getenv("TMPDIR");
    char folder[80];
    (void)snprintf(folder, sizeof folder, "%s/net-XXXXXX", tmp != NULL ? tmp : "/tmp");
    CHECK(mkdtemp(folder) != NULL);
    char path[100];
    (void)snprintf(path, sizeof path, "unix:%s/s", folder);
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s/s", folder);
    int stale = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(0, bind(stale, (struct sockaddr *)&to, sizeof to));
    (void)close(stale);

    struct served served;
    struct answer answer;
    const struct pawl_str listen[] = {pawl_str_of(path)};
    const struct pawl_server_options options = {.listen = listen, .listen_count = 1};
    served_open(&served, &options);
    CHECK_TEXT(path, pawl_server_address(served.server, 0));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(0, connect(fd, (struct sockaddr *)&to, sizeof to));
    client_say(fd, "GET /v1/names/a HTTP/1.1\r\nHost: anything\r\n\r\n");
    client_read(fd, &answer, false);
    CHECK_EQ(200, answer.status);
    answer_reset(&answer);
    (void)close(fd);
    /* A second server does not take it from the first. */
    struct pawl_server *second = NULL;
    struct pawl_error err = {0};
    CHECK_CODE(PAWL_CONFLICT, pawl_server_open(&second, &options, &err));
    CHECK_EQ(0, access(to.sun_path, F_OK));
    served_close(&served);
    CHECK(access(to.sun_path, F_OK) != 0);
    CHECK_EQ(0, rmdir(folder));
}

/* ---- Drain
 * --------------------------------------------------------------------------------------------- */

TEST("draining closes what is idle, wakes who waits, takes what drains and nothing else")
{
    struct served served;
    struct answer answer;
    served_open(&served, NULL);
    int idle = client_open(&served);
    int waiting = client_open(&served);
    int half = client_open(&served);
    int other = client_open(&served);
    client_say(waiting, "GET /v1/wait HTTP/1.1\r\n" HOST "\r\n");
    served_await(&served, &served.parked_count, 1);
    while (pawl_server_metrics(served.server)->connections < 4) (void)sched_yield();
    /* Both have begun, which the answer to one on the same loop afterwards shows. */
    client_say(half, "DELETE /v1/echo HTTP/1.1\r\n" HOST);
    client_say(other, "GET /v1/empty HTTP/1.1\r\n" HOST);
    client_ask(&served, "GET /v1/empty HTTP/1.1\r\n" HOST "\r\n", &answer);
    answer_reset(&answer);
    client_ask(&served, "GET /v1/empty HTTP/1.1\r\n" HOST "\r\n", &answer);
    answer_reset(&answer);

    pawl_server_drain(served.server);
    CHECK(pawl_server_is_draining(served.server));
    CHECK(client_is_closed(idle));
    served_await(&served, &served.left_count, 1);
    CHECK(!pawl_server_wait(served.server, 1));
    client_say(half, "Content-Length: 2\r\n\r\nok");
    client_read(half, &answer, false);
    CHECK_EQ(200, answer.status);
    CHECK(answer_has(&answer, "Connection: close"));
    answer_reset(&answer);
    client_say(other, "\r\n");
    client_read(other, &answer, false);
    CHECK_EQ(503, answer.status);
    CHECK(strstr(answer.body, "stopping") != NULL);
    answer_reset(&answer);
    served_answer(&served, 0, "");
    client_read(waiting, &answer, false);
    CHECK_EQ(200, answer.status);
    CHECK(answer_has(&answer, "Connection: close"));
    answer_reset(&answer);
    (void)close(idle);
    (void)close(waiting);
    (void)close(half);
    (void)close(other);
    CHECK(pawl_server_wait(served.server, 60 * 1000));
    served_close(&served);
}

TEST("closing waits for an exchange that is in somebody's hands")
{
    struct served served;
    served_open(&served, NULL);
    int fd = client_open(&served);
    client_say(fd, "GET /v1/wait HTTP/1.1\r\n" HOST "\r\n");
    served_await(&served, &served.parked_count, 1);
    pawl_server_cut(served.server);
    CHECK(client_is_closed(fd));
    served_await(&served, &served.left_count, 1);
    CHECK(!pawl_server_wait(served.server, 1));
    served_answer(&served, 0, "nobody hears it");
    served_await(&served, &served.unsent_count, 1);
    CHECK(pawl_server_wait(served.server, 60 * 1000));
    (void)close(fd);
    served_close(&served);
}

TEST("four loops share the connections, and all are answered")
{
    struct served served;
    struct answer answer;
    const struct pawl_server_options options = {.loops = 4};
    served_open(&served, &options);
    for (int i = 0; i < 40; i++) {
        client_ask(&served, "POST /v1/echo HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx",
                   &answer);
        CHECK_TEXT("x", answer.body);
        answer_reset(&answer);
    }
    served_close(&served);
}

/* ---- What is told of it
 * -------------------------------------------------------------------------------- */

TEST("a request has an id: the one it came with if that is sane, else one of ours; the log has it "
     "too")
{
    struct served served;
    struct answer answer;
    served_open(&served, NULL);
    client_ask(&served, "GET /v1/nothing HTTP/1.1\r\n" HOST "X-Request-Id: mine-1\r\n\r\n",
               &answer);
    CHECK(answer_has(&answer, "X-Request-Id: mine-1"));
    answer_reset(&answer);
    client_ask(&served, "GET /v1/nothing HTTP/1.1\r\n" HOST "X-Request-Id: two words\r\n\r\n",
               &answer);
    CHECK(strstr(answer.head, "X-Request-Id: ") != NULL &&
          strstr(answer.head, "two words") == NULL);
    answer_reset(&answer);
    client_ask(&served, "GET /v1/unknown HTTP/1.1\r\n" HOST "X-Request-Id: mine-2\r\n\r\n",
               &answer);
    answer_reset(&answer);
    /* Counted once the last byte is given away, which a client may see first. */
    while (pawl_server_metrics(served.server)->exchanges > 0) (void)sched_yield();
    struct pawl_error err = {0};
    struct pawl_arena *keep = NULL;
    CHECK_OK(pawl_arena_open(&keep, 0), &err);
    struct pawl_metrics_page page = {.keep = keep};
    pawl_metrics_print(pawl_server_metrics(served.server), pawl_server_router(served.server),
                       &page);
    struct pawl_str text = {page.ptr, page.len};
    CHECK(pawl_str_has(
        text,
        PAWL_STR(
            "pawl_http_requests_total{verb=\"GET\",route=\"/v1/nothing\",status=\"204\"} 2\n")));
    CHECK(pawl_str_has(
        text, PAWL_STR("pawl_http_requests_total{verb=\"\",route=\"\",status=\"404\"} 1\n")));
    CHECK(pawl_str_has(text, PAWL_STR("pawl_http_request_ms_count 3\n")));
    CHECK(pawl_str_has(text, PAWL_STR("pawl_http_request_ms_bucket{le=\"+Inf\"} 3\n")));
    pawl_arena_close(keep);
    served_close(&served);
    CHECK(
        strstr(served.log,
               "event=http.request request=mine-1 verb=GET path=/v1/nothing status=204 code=OK") !=
        NULL);
    CHECK(
        strstr(served.log,
               "level=info event=http.request request=mine-2 verb=GET path=/v1/unknown status=404 "
               "code=NOT_FOUND") != NULL);
}

TEST_MAIN()
