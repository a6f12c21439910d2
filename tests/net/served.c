#include "served.h"

#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Routes
 * -------------------------------------------------------------------------------------------- */

static void echo(struct pawl_exchange *exchange, void *self)
{
    (void)self;
    pawl_exchange_answer_text(exchange, 200, exchange->request->body);
}

static void name(struct pawl_exchange *exchange, void *self)
{
    (void)self;
    int64_t limit = pawl_exchange_int64(exchange, "limit", 1, 10, 5);
    if (pawl_exchange_has_failed(exchange)) return;
    (void)limit;
    pawl_exchange_answer_text(exchange, 200, pawl_exchange_variable(exchange, "name"));
}

static void nothing(struct pawl_exchange *exchange, void *self)
{
    (void)self;
    pawl_exchange_answer_empty(exchange, 204);
}

static void empty(struct pawl_exchange *exchange, void *self)
{
    (void)self;
    pawl_exchange_answer_empty(exchange, 200);
}

/* More than any socket buffer takes. */
static void large(struct pawl_exchange *exchange, void *self)
{
    (void)self;
    size_t len = 32 * 1024 * 1024;
    char *text = pawl_arena_take(exchange->arena, len);
    CHECK(text != NULL);
    memset(text, 'x', len);
    pawl_exchange_answer_text(exchange, 200, (struct pawl_str){text, len});
}

static void on_left(struct pawl_exchange *exchange, void *self)
{
    struct served *served = self;
    (void)exchange;
    (void)pthread_mutex_lock(&served->lock);
    served->left_count++;
    (void)pthread_cond_broadcast(&served->changed);
    (void)pthread_mutex_unlock(&served->lock);
}

static void on_done(void *self, bool was_sent)
{
    struct served *served = self;
    (void)pthread_mutex_lock(&served->lock);
    served->sent_count += was_sent;
    served->unsent_count += !was_sent;
    (void)pthread_cond_broadcast(&served->changed);
    (void)pthread_mutex_unlock(&served->lock);
}

static void park(struct pawl_exchange *exchange, void *self)
{
    struct served *served = self;
    pawl_exchange_on_left(exchange, on_left, served);
    pawl_exchange_on_done(exchange, on_done, served);
    (void)pthread_mutex_lock(&served->lock);
    CHECK(served->parked_count < PARKED_MAX);
    served->parked[served->parked_count++] = exchange;
    (void)pthread_cond_broadcast(&served->changed);
    (void)pthread_mutex_unlock(&served->lock);
}

static void begin_stream(struct pawl_exchange *exchange, void *self)
{
    pawl_exchange_stream(exchange, 200, "text/event-stream");
    park(exchange, self);
}

static const struct pawl_route routes[] = {
    {PAWL_VERB_POST, "/v1/echo", PAWL_ROLE_NONE, "The body.", echo, 0},
    {PAWL_VERB_GET, "/v1/echo", PAWL_ROLE_NONE, "The body of a GET.", echo, 0},
    {PAWL_VERB_POST, "/api/echo", PAWL_ROLE_VIEWER, "The body.", echo, 0},
    {PAWL_VERB_DELETE, "/v1/echo", PAWL_ROLE_ADMIN, "The body.", echo, PAWL_ROUTE_DRAINS},
    {PAWL_VERB_GET, "/v1/names/{name}", PAWL_ROLE_VIEWER, "The name.", name, 0},
    {PAWL_VERB_GET, "/v1/nothing", PAWL_ROLE_NONE, "204.", nothing, 0},
    {PAWL_VERB_GET, "/v1/empty", PAWL_ROLE_NONE, "200 without a body.", empty, 0},
    {PAWL_VERB_GET, "/v1/large", PAWL_ROLE_NONE, "32 MiB.", large, 0},
    {PAWL_VERB_GET, "/v1/wait", PAWL_ROLE_NONE, "Answers when the test says so.", park,
     PAWL_ROUTE_TAKES},
    {PAWL_VERB_GET, "/v1/stream", PAWL_ROLE_NONE, "Goes on.", begin_stream, 0},
};

/* ---- The server
 * ---------------------------------------------------------------------------------------- */

static void keep_line(void *self, enum pawl_log_level level, struct pawl_str line)
{
    struct served *served = self;
    (void)level;
    (void)pthread_mutex_lock(&served->lock);
    if (line.len + 2 < sizeof served->log - served->log_len) {
        memcpy(served->log + served->log_len, line.ptr, line.len);
        served->log_len += line.len;
        served->log[served->log_len++] = '\n';
    }
    (void)pthread_mutex_unlock(&served->lock);
}

void served_open(struct served *served, const struct pawl_server_options *options)
{
    static const struct pawl_str any_port[] = {PAWL_STR_INIT("127.0.0.1:0")};
    memset(served, 0, sizeof *served);
    CHECK_EQ(0, pthread_mutex_init(&served->lock, NULL));
    CHECK_EQ(0, pthread_cond_init(&served->changed, NULL));
    const struct pawl_log log = {.write = keep_line, .self = served, .level_max = PAWL_LOG_DEBUG};
    const struct pawl_route_table table = {routes, COUNT_OF(routes), served};
    struct pawl_server_options with = {0};
    if (options != NULL) with = *options;
    if (with.listen_count == 0) {
        with.listen = any_port;
        with.listen_count = 1;
    }
    struct pawl_log *kept_log = malloc(sizeof *kept_log); /* as long as the server */
    CHECK(kept_log != NULL);
    *kept_log = log;
    with.log = kept_log;
    with.tables = &table;
    with.table_count = 1;
    struct pawl_error err = {0};
    CHECK_OK(pawl_server_open(&served->server, &with, &err), &err);
    CHECK_OK(pawl_server_start(served->server, &err), &err);
    const char *colon = strrchr(pawl_server_address(served->server, 0), ':');
    served->port = colon != NULL ? (int)strtoul(colon + 1, NULL, 10) : 0;
    served->log_owner = kept_log;
}

void served_close(struct served *served)
{
    pawl_server_close(served->server);
    free(served->log_owner);
    (void)pthread_cond_destroy(&served->changed);
    (void)pthread_mutex_destroy(&served->lock);
}

void served_await(struct served *served, const int32_t *count, int32_t wanted)
{
    (void)pthread_mutex_lock(&served->lock);
    while (*count < wanted) (void)pthread_cond_wait(&served->changed, &served->lock);
    CHECK_EQ(wanted, *count);
    (void)pthread_mutex_unlock(&served->lock);
}

void served_answer(struct served *served, int32_t at, const char *text)
{
    (void)pthread_mutex_lock(&served->lock);
    struct pawl_exchange *exchange = served->parked[at];
    (void)pthread_mutex_unlock(&served->lock);
    struct pawl_str kept = pawl_arena_copy(exchange->arena, pawl_str_of(text));
    pawl_exchange_answer_text(exchange, 200, kept);
}

/* ---- The client
 * ---------------------------------------------------------------------------------------- */

int client_open(const struct served *served)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)served->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(0, connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to));
    return fd;
}

/* What the server no longer takes is not sent: it has said why. */
void client_send(int fd, const char *bytes, size_t len)
{
    for (size_t sent = 0; sent < len;) {
        ssize_t count = send(fd, bytes + sent, len - sent, MSG_NOSIGNAL);
        if (count < 0) {
            CHECK(errno == EPIPE || errno == ECONNRESET);
            return;
        }
        sent += (size_t)count;
    }
}

void client_say(int fd, const char *text)
{
    client_send(fd, text, strlen(text));
}

static bool read_byte(int fd, char *byte)
{
    ssize_t count = recv(fd, byte, 1, 0);
    CHECK(count >= 0 || errno == ECONNRESET);
    return count == 1;
}

static const char *find_header(const char *head, const char *header)
{
    size_t len = strlen(header);
    for (const char *line = strchr(head, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        if (strncasecmp(line + 1, header, len) == 0 && line[1 + len] == ':') return line + 2 + len;
    }
    return NULL;
}

static void add_byte(char **text, size_t *len, char byte)
{
    char *larger = (*len & (*len + 1)) == 0 || *text == NULL ? realloc(*text, 2 * *len + 2) : *text;
    CHECK(larger != NULL);
    *text = larger;
    larger[(*len)++] = byte;
    larger[*len] = '\0';
}

static void read_exactly(int fd, struct answer *answer, size_t len)
{
    char *body = realloc(answer->body, answer->body_len + len + 1);
    CHECK(body != NULL);
    answer->body = body;
    while (len > 0) {
        ssize_t count = recv(fd, answer->body + answer->body_len, len, 0);
        if (count <= 0) FAIL("the body ends early");
        answer->body_len += (size_t)count;
        len -= (size_t)count;
    }
    answer->body[answer->body_len] = '\0';
}

static void read_chunks(int fd, struct answer *answer)
{
    for (;;) {
        char line[32];
        size_t len = 0;
        do {
            CHECK(len < sizeof line - 1);
            CHECK(read_byte(fd, &line[len]));
        } while (line[len++] != '\n');
        line[len] = '\0';
        size_t size = strtoul(line, NULL, 16);
        read_exactly(fd, answer, size);
        char end[2];
        CHECK(read_byte(fd, &end[0]) && read_byte(fd, &end[1]) && end[0] == '\r' && end[1] == '\n');
        if (size == 0) return;
    }
}

void client_read(int fd, struct answer *answer, bool has_no_body)
{
    *answer = (struct answer){0};
    size_t head_len = 0;
    while (head_len < 4 || memcmp(answer->head + head_len - 4, "\r\n\r\n", 4) != 0) {
        char byte = 0;
        if (!read_byte(fd, &byte))
            FAIL("the connection ended in the head: %s", answer->head ? answer->head : "");
        add_byte(&answer->head, &head_len, byte);
    }
    CHECK(strncmp(answer->head, "HTTP/1.1 ", 9) == 0);
    answer->status = (int)strtoul(answer->head + 9, NULL, 10);
    const char *length = find_header(answer->head, "Content-Length");
    if (answer->status == 100) return;
    if (answer->status == 204) CHECK(length == NULL);
    read_exactly(fd, answer, 0);
    if (has_no_body || answer->status == 204) return;
    if (length != NULL)
        read_exactly(fd, answer, strtoul(length, NULL, 10));
    else
        read_chunks(fd, answer);
}

void answer_reset(struct answer *answer)
{
    free(answer->head);
    free(answer->body);
    *answer = (struct answer){0};
}

bool client_is_closed(int fd)
{
    char byte = 0;
    return !read_byte(fd, &byte);
}

void client_ask(const struct served *served, const char *request, struct answer *answer)
{
    int fd = client_open(served);
    client_say(fd, request);
    client_read(fd, answer, strncmp(request, "HEAD ", 5) == 0);
    (void)close(fd);
}

bool answer_has(const struct answer *answer, const char *header_line)
{
    const char *at = strstr(answer->head, header_line);
    return at != NULL && at[-1] == '\n' && strncmp(at + strlen(header_line), "\r\n", 2) == 0;
}
