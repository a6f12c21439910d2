/* The connection, against whatever may answer: a thread that sends canned bytes. */
#include "client/calls.h"
#include "client/client.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "test.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Takes one connection, reads a whole request without a body or with one, and answers; NULL hangs
 * up. */
struct stranger {
    int listen_fd;
    uint16_t port;
    const char *answer;
    char heard[8192];
    pthread_t thread;
};

static bool is_whole(const char *heard, size_t len)
{
    const char *end = strstr(heard, "\r\n\r\n");
    const char *length = strstr(heard, "Content-Length: ");
    size_t body = 0;
    if (end == NULL) return false;
    if (length != NULL) (void)sscanf(length, "Content-Length: %zu", &body);
    return len >= (size_t)(end + 4 - heard) + body;
}

static void *answer_one(void *self)
{
    struct stranger *stranger = self;
    size_t len = 0;
    int fd = accept(stranger->listen_fd, NULL, NULL);
    while (fd >= 0 && !is_whole(stranger->heard, len)) {
        ssize_t got = read(fd, stranger->heard + len, sizeof stranger->heard - 1 - len);
        if (got <= 0) break;
        len += (size_t)got;
    }
    if (fd >= 0 && stranger->answer != NULL) {
        (void)!write(fd, stranger->answer, strlen(stranger->answer));
    }
    if (fd >= 0) (void)close(fd);
    return NULL;
}

static void listen_for(struct stranger *stranger, const char *answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    *stranger = (struct stranger){.answer = answer};
    stranger->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(stranger->listen_fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(stranger->listen_fd, 1) == 0);
    CHECK(getsockname(stranger->listen_fd, (struct sockaddr *)&address, &len) == 0);
    stranger->port = ntohs(address.sin_port);
    CHECK(pthread_create(&stranger->thread, NULL, answer_one, stranger) == 0);
}

/* What a look, or a change, makes of the answer. */
static enum pawl_code ask(struct stranger *stranger, const char *answer, bool is_change,
                          struct pawl_error *err)
{
    struct pawl_client *client = NULL;
    struct pawl_arena *keep = NULL;
    char server[64];
    listen_for(stranger, answer);
    (void)snprintf(server, sizeof server, "http://127.0.0.1:%d/", stranger->port);
    CHECK_OK(pawl_arena_open(&keep, 0), NULL);
    CHECK_OK(pawl_client_open(&client, pawl_str_of(server), PAWL_STR("key.secret"), err), err);
    struct pawl *pawl = pawl_client_handle(client);
    struct pawl_task task;
    enum pawl_code code =
        is_change ? pawl_calls_remote.task_pause(pawl, PAWL_STR("a/b"), NULL, err)
                  : pawl_calls_remote.task_get(pawl, PAWL_STR("a/b"), false, keep, &task, err);
    CHECK(pthread_join(stranger->thread, NULL) == 0);
    (void)close(stranger->listen_fd);
    pawl_client_close(client);
    pawl_arena_close(keep);
    return code;
}

#define JSON(status, body) \
    "HTTP/1.1 " status " x\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" body
#define PAGE(status)   \
    "HTTP/1.1 " status \
    " x\r\nConnection: close\r\nContent-Type: text/html\r\n\r\n<html>sign in</html>"

TEST("an answer is taken for the server's only if it is: codes of looks and of changes")
{
    static const struct {
        const char *answer;
        enum pawl_code look, change;
        const char *text; /* in the sentence */
    } cases[] = {
        {JSON("409", "{\"code\":\"LEASE_ACTIVE\",\"message\":\"held by w\"}"), PAWL_LEASE_ACTIVE,
         PAWL_LEASE_ACTIVE, "held by w"},
        {JSON("401", "{\"code\":\"UNAUTHENTICATED\",\"message\":\"no token\"}"),
         PAWL_UNAUTHENTICATED, PAWL_UNAUTHENTICATED, "no token"},
        {JSON("500", "{\"code\":\"NEWER\",\"message\":\"x\"}"), PAWL_IO, PAWL_UNKNOWN_OUTCOME,
         "answers 500"},
        {JSON("200", "{\"id\":7"), PAWL_IO, PAWL_UNKNOWN_OUTCOME, "answers 200"},
        {JSON("404", "{}"), PAWL_IO, PAWL_IO, "answers 404"},
        {PAGE("200"), PAWL_IO, PAWL_UNKNOWN_OUTCOME, "not as a pawl server does"},
        {PAGE("302"), PAWL_IO, PAWL_IO, "answers 302"},
        {PAGE("401"), PAWL_UNAUTHENTICATED, PAWL_UNAUTHENTICATED, "answers 401"},
        {PAGE("403"), PAWL_FORBIDDEN, PAWL_FORBIDDEN, "answers 403"},
        {PAGE("404"), PAWL_IO, PAWL_IO, "answers 404"},
        {PAGE("502"), PAWL_IO, PAWL_UNKNOWN_OUTCOME, "answers 502"},
        {NULL, PAWL_IO, PAWL_UNKNOWN_OUTCOME, ""},
        {"nonsense", PAWL_IO, PAWL_UNKNOWN_OUTCOME, ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (int is_change = 0; is_change < 2; is_change++) {
            struct stranger stranger;
            struct pawl_error err = {0};
            enum pawl_code want = is_change == 1 ? cases[i].change : cases[i].look;
            CHECK_EQ(want, ask(&stranger, cases[i].answer, is_change == 1, &err));
            CHECK_EQ(want, err.code);
            CHECK(strstr(err.text, cases[i].text) != NULL);
        }
    }
}

TEST("a request has the token, the escaped id, and a change its body")
{
    struct stranger stranger;
    struct pawl_error err = {0};
    CHECK_OK(ask(&stranger, JSON("200", "{\"id\":\"a/b\",\"state\":\"PAUSED\"}"), false, &err),
             &err);
    CHECK(strstr(stranger.heard, "GET /v1/tasks/a%2Fb HTTP/1.1\r\n") == stranger.heard);
    CHECK(strstr(stranger.heard, "\r\nAuthorization: Bearer key.secret\r\n") != NULL);
    CHECK_OK(ask(&stranger, JSON("200", "{\"id\":\"a/b\"}"), true, &err), &err);
    CHECK(strstr(stranger.heard, "POST /v1/tasks/a%2Fb/pause HTTP/1.1\r\n") == stranger.heard);
    CHECK(strstr(stranger.heard, "\r\n\r\n{}") != NULL);
}

TEST("nobody there: IO for a change too, since nothing was sent")
{
    struct stranger stranger;
    struct pawl_error err = {0};
    struct pawl_client *client = NULL;
    char server[64];
    CHECK_OK(ask(&stranger, JSON("200", "{\"id\":\"a\",\"state\":\"QUEUED\"}"), false, &err), &err);
    (void)snprintf(server, sizeof server, "http://127.0.0.1:%d", stranger.port); /* closed by now */
    CHECK_OK(pawl_client_open(&client, pawl_str_of(server), PAWL_STR(""), &err), &err);
    CHECK_EQ(PAWL_IO,
             pawl_calls_remote.task_pause(pawl_client_handle(client), PAWL_STR("a"), NULL, &err));
    CHECK(strstr(err.text, "cannot reach http://127.0.0.1:") == err.text);
    pawl_client_close(client);
}

TEST("addresses and tokens that are none are refused, and a password is not said again")
{
    static const char *const bad[] = {"",
                                      "localhost:8080",
                                      "ftp://h",
                                      "http://",
                                      "unix:a",
                                      "http://localhost/?a",
                                      "http://localhost:u:p@x",
                                      "http://localhost ",
                                      "http://localhost\r\nX: y"};
    struct pawl_client *client = NULL;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct pawl_error err = {0};
        CHECK_EQ(PAWL_INVALID, pawl_client_open(&client, pawl_str_of(bad[i]), PAWL_STR(""), &err));
        CHECK(strstr(err.text, "u:p") == NULL);
    }
    struct pawl_error err = {0};
    CHECK_EQ(PAWL_INVALID,
             pawl_client_open(&client, PAWL_STR("http://localhost"), PAWL_STR("a\r\nX: y"), &err));
}

TEST_MAIN()
