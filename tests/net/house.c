#include "house.h"

#include "base/arena.h"
#include "engine/engine.h"
#include "net/native/feed.h"
#include "net/readers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void count_answers(void *self, enum pawl_log_level level, struct pawl_str line)
{
    struct house *house = self;
    (void)level;
    if (!pawl_str_has(line, PAWL_STR("took_ms="))) return;
    (void)pthread_mutex_lock(&house->lock);
    house->answered_count++;
    (void)pthread_cond_broadcast(&house->changed);
    (void)pthread_mutex_unlock(&house->lock);
}

void await_answers(struct house *house, int32_t count)
{
    (void)pthread_mutex_lock(&house->lock);
    while (house->answered_count < count) (void)pthread_cond_wait(&house->changed, &house->lock);
    (void)pthread_mutex_unlock(&house->lock);
}

void house_open(struct house *house, struct lab *lab)
{
    static const struct pawl_str any_port[] = {PAWL_STR_INIT("127.0.0.1:0")};
    *house = (struct house){
        .lab = lab,
        .log = {.write = count_answers, .self = house, .level_max = PAWL_LOG_DEBUG},
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    lab_open_real(lab);
    house->native.pawl = lab->pawl;
    CHECK_OK(pawl_readers_open(&house->native.readers, &lab->pawl->store_options, 2, &lab->err),
             &lab->err);
    CHECK_OK(pawl_feed_open(&house->native.feed, &house->native, &lab->err), &lab->err);
    pawl_native_tables(&house->native, house->tables);
    struct pawl_server_options options = {
        .listen = any_port,
        .listen_count = 1,
        .tables = house->tables,
        .table_count = PAWL_NATIVE_TABLES,
        .log = &house->log,
    };
    CHECK_OK(pawl_server_open(&house->server, &options, &lab->err), &lab->err);
    CHECK_OK(pawl_server_start(house->server, &lab->err), &lab->err);
    const char *colon = strrchr(pawl_server_address(house->server, 0), ':');
    house->served.port = (int)strtoul(colon + 1, NULL, 10);
}

void house_close(struct house *house)
{
    answer_reset(&house->answer);
    pawl_server_close(house->server);
    pawl_feed_close(house->native.feed);
    pawl_readers_close(house->native.readers);
}

static struct pawl_str request_text(struct house *house, const char *line, const char *body)
{
    struct pawl_str text =
        pawl_arena_format(house->lab->keep,
                          "%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %zu\r\n"
                          "Connection: close\r\n\r\n%s",
                          line, house->served.port, strlen(body), body);
    CHECK(text.ptr != NULL);
    return text;
}

void read_answer(struct house *house, int fd)
{
    answer_reset(&house->answer);
    client_read(fd, &house->answer, false);
    (void)close(fd);
    struct pawl_str body = pawl_arena_copy(
        house->lab->keep, (struct pawl_str){house->answer.body, house->answer.body_len});
    CHECK_OK(pawl_json_parse(body, house->lab->keep, &house->json, &house->lab->err),
             &house->lab->err);
}

int send_request(struct house *house, const char *line, const char *body)
{
    int fd = client_open(&house->served);
    struct pawl_str text = request_text(house, line, body);
    client_send(fd, text.ptr, text.len);
    return fd;
}

void ask(struct house *house, int status, const char *line, const char *body)
{
    read_answer(house, send_request(house, line, body));
    if (status != 0 && house->answer.status != status) {
        FAIL("%s %s: %d %s", line, body, house->answer.status, house->answer.body);
    }
}

const char *format(struct house *house, const char *text, ...)
{
    char line[4096];
    va_list arguments;
    va_start(arguments, text);
    (void)vsnprintf(line, sizeof line, text, arguments);
    va_end(arguments);
    return pawl_arena_format(house->lab->keep, "%s", line).ptr;
}

size_t put_text(char *buffer, size_t place, const char *text)
{
    size_t len = strlen(text);
    memcpy(buffer + place, text, len + 1);
    return place + len;
}

const struct pawl_json *at(const struct house *house, const char *path)
{
    const struct pawl_json *node = house->json;
    for (const char *step = path; node != NULL;) {
        size_t len = strcspn(step, "/");
        if (node->kind == PAWL_JSON_ARRAY) {
            unsigned long n = strtoul(step, NULL, 10);
            node = pawl_json_first(node);
            for (unsigned long i = 0; i < n && node != NULL; i++) node = pawl_json_next(node);
        } else {
            node = pawl_json_member(node, (struct pawl_str){step, len});
        }
        if (step[len] == '\0') return node;
        step += len + 1;
    }
    FAIL("no %s in %s", path, house->answer.body);
}

struct pawl_str text_at(const struct house *house, const char *path)
{
    struct pawl_str text = {0};
    if (!pawl_json_text(at(house, path), house->lab->keep, &text)) {
        FAIL("%s is no text in %s", path, house->answer.body);
    }
    return text;
}

const char *c_text_at(const struct house *house, const char *path)
{
    return pawl_arena_c_text(house->lab->keep, text_at(house, path));
}

int64_t number_at(const struct house *house, const char *path)
{
    int64_t number = 0;
    if (!pawl_json_int64(at(house, path), &number)) {
        FAIL("%s is no number in %s", path, house->answer.body);
    }
    return number;
}

size_t count_at(const struct house *house, const char *path)
{
    return at(house, path)->child_count;
}

const char *add_task(struct house *house, const char *body)
{
    ask(house, 200, "POST /v1/tasks", body);
    return c_text_at(house, "id");
}
