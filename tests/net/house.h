/* Pawl's own interface as a client sees it: a real server on a free port, on a store of the lab. */
#ifndef PAWL_TESTS_NET_HOUSE_H
#define PAWL_TESTS_NET_HOUSE_H

#include "base/json.h"
#include "net/native/native.h"
#include "served.h"
#include "stores.h"

struct house {
    struct lab *lab;
    struct pawl_native native;
    struct pawl_route_table tables[PAWL_NATIVE_TABLES];
    struct pawl_server *server;
    struct pawl_log log;
    struct served served; /* of which only the port is used, by the client */
    struct answer answer; /* the last one */
    struct pawl_json *json;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int32_t answered_count; /* by the lines of the log; under the lock */
};

void await_answers(struct house *house, int32_t count);
void house_open(struct house *house, struct lab *lab);
void house_close(struct house *house);
void read_answer(struct house *house, int fd);
int send_request(struct house *house, const char *line, const char *body);
/* Asks, and checks the status (0: any); what went otherwise is shown. */
void ask(struct house *house, int status, const char *line, const char *body);
const char *format(struct house *house, const char *text, ...) __attribute__((format(printf, 2, 3)));
/* Puts text at a place of a buffer that has room; where the next one goes. */
size_t put_text(char *buffer, size_t place, const char *text);
/* The value at a path such as "grants/0/id" in the last answer. */
const struct pawl_json *at(const struct house *house, const char *path);
struct pawl_str text_at(const struct house *house, const char *path);
const char *c_text_at(const struct house *house, const char *path);
int64_t number_at(const struct house *house, const char *path);
size_t count_at(const struct house *house, const char *path);
const char *add_task(struct house *house, const char *body);

#endif
