/* Events to whoever waits for them: live streams and the reads of consumers, on each store. */
#include "house.h"

#include "net/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 64 * 1024 };

/* A client of a stream: it reads line by line, and over the sizes of chunks. */
struct client {
    int fd;
    char buffer[LINE_BYTES_MAX];
    size_t at;
    size_t len;
    char line[LINE_BYTES_MAX];
};

/* false when the server has closed */
static bool client_line(struct client *client)
{
    size_t len = 0;
    for (;;) {
        if (client->at == client->len) {
            ssize_t count = read(client->fd, client->buffer, sizeof client->buffer);
            if (count <= 0) return false;
            client->at = 0;
            client->len = (size_t)count;
        }
        char byte = client->buffer[client->at++];
        if (byte == '\n') break;
        CHECK(len + 1 < sizeof client->line);
        client->line[len++] = byte;
    }
    if (len > 0 && client->line[len - 1] == '\r') len--;
    client->line[len] = '\0';
    return true;
}

/* The next line that begins so; what follows. */
static const char *client_field(struct client *client, const char *name)
{
    size_t len = strlen(name);
    while (client_line(client)) {
        if (strncmp(client->line, name, len) == 0) return client->line + len;
    }
    FAIL("the stream ended before %s", name);
}

static void client_begin(struct house *house, struct client *client, const char *target,
                         const char *headers)
{
    client->fd = client_open(&house->served);
    client->at = client->len = 0;
    client_say(client->fd, format(house, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n", target,
                                  house->served.port, headers));
    CHECK_STR("HTTP/1.1 200 OK", pawl_str_of(client_line(client) ? client->line : ""));
    CHECK_STR("text/event-stream", pawl_str_of(client_field(client, "Content-Type: ")));
    (void)client_field(client, ": alive"); /* from now on nothing is missed */
}

/* The next event, past what only says that the stream is alive: its position. */
static int64_t client_event(struct client *client, const char *type)
{
    int64_t position = 0;
    for (;;) {
        if (!client_line(client)) FAIL("the stream ended before %s", type);
        if (strncmp(client->line, "id: ", 4) == 0) position = atoll(client->line + 4);
        if (strncmp(client->line, "event: ", 7) == 0) break;
    }
    CHECK_STR(type, pawl_str_of(client->line + 7));
    CHECK(position > 0);
    return position;
}

TEST_EACH_STORE("a stream tells events as they are committed, and goes on behind the last one a client had")
{
    static struct client live;
    static struct client whole;
    static struct client back;
    struct house house;
    house_open(&house, lab);
    (void)add_task(&house, "{\"id\":\"before\"}");
    client_begin(&house, &live, "/v1/events/stream", "");
    client_begin(&house, &whole, "/v1/events/stream?after=0", "");
    (void)add_task(&house, "{\"id\":\"one\",\"queue\":\"left\"}");
    int64_t first = client_event(&live, "task_created");
    CHECK(strstr(client_field(&live, "data: "), "\"task_id\":\"one\"") != NULL);
    int64_t second = client_event(&live, "task_queued");
    CHECK(second > first);

    CHECK(client_event(&whole, "task_created") < first);
    CHECK(strstr(client_field(&whole, "data: "), "\"task_id\":\"before\"") != NULL);
    (void)client_event(&whole, "task_queued");
    CHECK_EQ(first, client_event(&whole, "task_created"));
    CHECK_EQ(second, client_event(&whole, "task_queued"));

    (void)close(live.fd);
    (void)add_task(&house, "{\"id\":\"two\",\"queue\":\"right\"}");
    client_begin(&house, &back, "/v1/events/stream?after=0",
                 format(&house, "Last-Event-ID: %lld\r\n", (long long)first));
    CHECK_EQ(second, client_event(&back, "task_queued"));
    (void)client_event(&back, "task_created");
    CHECK(strstr(client_field(&back, "data: "), "\"task_id\":\"two\"") != NULL);
    (void)close(back.fd);
    (void)close(whole.fd);
    house_close(&house);
}

TEST_EACH_STORE("a stream tells of the queue, the task and the types that it was asked for")
{
    static struct client queue;
    static struct client task;
    static struct client type;
    struct house house;
    house_open(&house, lab);
    client_begin(&house, &queue, "/v1/events/stream?queue=right", "");
    client_begin(&house, &task, "/v1/events/stream?task=three", "");
    client_begin(&house, &type, "/v1/events/stream?type=task_cancelled&type=task_paused", "");
    (void)add_task(&house, "{\"id\":\"one\",\"queue\":\"left\"}");
    (void)add_task(&house, "{\"id\":\"two\",\"queue\":\"right\"}");
    (void)add_task(&house, "{\"id\":\"three\",\"queue\":\"left\"}");
    ask(&house, 200, "POST /v1/tasks/two/pause", "{}");
    ask(&house, 200, "POST /v1/tasks/three/cancel", "{}");
    int64_t created = client_event(&queue, "task_created");
    CHECK_EQ(created + 1, client_event(&queue, "task_queued"));
    int64_t paused = client_event(&queue, "task_paused");
    CHECK_EQ(paused, client_event(&type, "task_paused"));
    (void)client_event(&task, "task_created");
    (void)client_event(&task, "task_queued");
    int64_t cancelled = client_event(&task, "task_cancelled");
    CHECK_EQ(cancelled, client_event(&type, "task_cancelled"));
    (void)close(queue.fd);
    (void)close(task.fd);
    (void)close(type.fd);
    house_close(&house);
}

TEST_EACH_STORE("what a stream cannot begin with is refused, and names the field")
{
    static const struct {
        const char *query;
        const char *field;
    } rows[] = {
        {"?after=-1", "after"},
        {"?after=x", "after"},
        {"?type=task_nonsense", "type"},
        {"?tasks=one", "tasks"},
    };
    struct house house;
    house_open(&house, lab);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ask(&house, 400, format(&house, "GET /v1/events/stream%s", rows[i].query), "");
        CHECK_STR(rows[i].field, text_at(&house, "field"));
    }
    struct answer answer = {0};
    client_ask(&house.served,
               format(&house,
                      "GET /v1/events/stream HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                      "Last-Event-ID: yesterday\r\nConnection: close\r\n\r\n",
                      house.served.port),
               &answer);
    CHECK_EQ(400, answer.status);
    CHECK(strstr(answer.body, "Last-Event-ID") != NULL);
    answer_reset(&answer);
    house_close(&house);
}

TEST_EACH_STORE("a client that does not read delays no other, and misses nothing when it does")
{
    enum { BATCHES = 16, EACH = 500, POINTS = PAWL_TITLE_POINTS_MAX };
    static struct client slow;
    static struct client quick;
    static char title[POINTS * 4 + 1];
    struct house house;
    house_open(&house, lab);
    for (size_t i = 0; i < POINTS; i++) memcpy(title + i * 4, "\xf0\x9f\x98\x80", 4);
    client_begin(&house, &slow, "/v1/events/stream", "");
    client_begin(&house, &quick, "/v1/events/stream?type=task_created", "");
    for (int batch = 0; batch < BATCHES; batch++) { /* two events a task: 20 MB, more than sockets and streams take */
        static char body[EACH * (sizeof title + 20)];
        size_t len = (size_t)snprintf(body, sizeof body, "{\"tasks\":[");
        for (int i = 0; i < EACH; i++) {
            len += (size_t)snprintf(body + len, sizeof body - len, "%s{\"title\":\"%s\"}",
                                    i == 0 ? "" : ",", title);
        }
        (void)snprintf(body + len, sizeof body - len, "]}");
        ask(&house, 200, "POST /v1/tasks/batch", body);
        for (int i = 0; i < EACH; i++) (void)client_event(&quick, "task_created");
    }
    int64_t last = 0;
    for (int i = 0; i < 2 * BATCHES * EACH; i++) {
        const char *id = client_field(&slow, "id: ");
        int64_t position = atoll(id);
        if (!client_line(&slow)) FAIL("the stream ended after %d events", i);
        if (slow.line[0] == '\0') { /* alive */
            i--;
            continue;
        }
        CHECK(last == 0 || position == last + 1);
        last = position;
    }
    (void)close(slow.fd);
    (void)close(quick.fd);
    house_close(&house);
}

TEST_EACH_STORE("a consumer waits over HTTP for the first event it has not acknowledged")
{
    struct house house;
    house_open(&house, lab);
    ask(&house, 200, "POST /v1/consumers/mail/read", "{}");
    CHECK_EQ(0, count_at(&house, "events"));
    CHECK_STR("null", at(&house, "position")->raw);

    int fd = send_request(&house, "POST /v1/consumers/mail/read", "{\"wait_ms\":\"1m\",\"limit\":1}");
    (void)add_task(&house, "{\"id\":\"one\"}");
    read_answer(&house, fd);
    CHECK_EQ(200, house.answer.status);
    CHECK_EQ(1, count_at(&house, "events"));
    CHECK_STR("task_created", text_at(&house, "events/0/type"));
    int64_t position = number_at(&house, "position");

    ask(&house, 200, "POST /v1/consumers/mail/read", "{}"); /* nothing was acknowledged: again */
    CHECK_EQ(2, count_at(&house, "events"));
    ask(&house, 200, "POST /v1/consumers/mail/acknowledge",
        format(&house, "{\"position\":%lld}", (long long)position));
    ask(&house, 200, "POST /v1/consumers/mail/read", "{}");
    CHECK_EQ(1, count_at(&house, "events"));
    CHECK_STR("task_queued", text_at(&house, "events/0/type"));
    house_close(&house);
}

TEST_EACH_STORE("a consumer's read is refused for what it cannot mean")
{
    static const struct {
        const char *body;
        const char *field;
    } rows[] = {
        {"{\"limit\":0}", "limit"},
        {"{\"limit\":1001}", "limit"},
        {"{\"wait_ms\":60001}", "wait_ms"},
        {"{\"after\":1}", "after"},
    };
    struct house house;
    house_open(&house, lab);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ask(&house, 400, "POST /v1/consumers/mail/read", rows[i].body);
        CHECK_STR(rows[i].field, text_at(&house, "field"));
    }
    ask(&house, 400, "POST /v1/consumers/%20/read", "{}");
    house_close(&house);
}

TEST_SQLITE("as many as the limit may wait for events, and one who leaves makes room")
{
    static int fds[PAWL_NET_FEED_MEMBERS_MAX];
    struct house house;
    struct rlimit files;
    CHECK_EQ(0, getrlimit(RLIMIT_NOFILE, &files));
    files.rlim_cur = files.rlim_max;
    CHECK_EQ(0, setrlimit(RLIMIT_NOFILE, &files)); /* two sockets each */
    house_open(&house, lab);
    ask(&house, 200, "POST /v1/consumers/mail/read", "{}");
    for (int i = 0; i < PAWL_NET_FEED_MEMBERS_MAX; i++) {
        fds[i] = send_request(&house, "POST /v1/consumers/mail/read", "{\"wait_ms\":\"1m\"}");
    }
    do { /* they are read in any order: some of them may be the one too many */
        ask(&house, 0, "POST /v1/consumers/mail/read", "{\"wait_ms\":1}");
    } while (house.answer.status == 200);
    CHECK_EQ(429, house.answer.status);
    CHECK_STR("LIMIT", text_at(&house, "code"));
    (void)close(fds[0]);
    (void)close(fds[1]);
    do {
        ask(&house, 0, "POST /v1/consumers/mail/read", "{\"wait_ms\":1}");
    } while (house.answer.status == 429);
    CHECK_EQ(200, house.answer.status);
    for (int i = 2; i < PAWL_NET_FEED_MEMBERS_MAX; i++) (void)close(fds[i]);
    house_close(&house);
}

TEST_EACH_STORE("a server that drains ends its streams and answers who waits for events")
{
    static struct client client;
    struct house house;
    house_open(&house, lab);
    ask(&house, 200, "POST /v1/consumers/mail/read", "{}");
    client_begin(&house, &client, "/v1/events/stream", "");
    int fd = send_request(&house, "POST /v1/consumers/mail/read", "{\"wait_ms\":\"1m\"}");
    /* it is among those who wait when a later one has been answered */
    ask(&house, 200, "POST /v1/consumers/mail/read", "{}");
    pawl_server_drain(house.server);
    read_answer(&house, fd);
    if (house.answer.status == 200) {
        CHECK_EQ(0, count_at(&house, "events"));
    } else { /* it was read after the drain had begun */
        CHECK_EQ(503, house.answer.status);
    }
    CHECK_STR("", pawl_str_of(client_field(&client, "0"))); /* the last chunk: it has ended in order */
    (void)close(client.fd);
    house_close(&house);
}

TEST_MAIN()
