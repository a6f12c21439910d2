/* A real server on a free port, in this process, with a handful of routes; and a client of raw
 * bytes. */
#ifndef PAWL_TESTS_NET_SERVED_H
#define PAWL_TESTS_NET_SERVED_H

#include "net/exchange.h"
#include "net/server.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PARKED_MAX = 64 };

struct served {
    struct pawl_server *server;
    int port;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct pawl_exchange *parked[PARKED_MAX]; /* of GET /v1/wait; under the lock */
    int32_t parked_count;
    int32_t left_count;
    int32_t sent_count;
    int32_t unsent_count;
    char log[64 * 1024];
    size_t log_len;
    struct pawl_log *log_owner;
};

/* options may be NULL; where it listens, its routes and its log are set here. */
void served_open(struct served *served, const struct pawl_server_options *options);
void served_close(struct served *served);

/* Waits until *count, a field under the lock, has this value. */
void served_await(struct served *served, const int32_t *count, int32_t wanted);
/* Answers the parked exchange with its number, from this thread. */
void served_answer(struct served *served, int32_t at, const char *text);

/* ---- The client ---- */

int client_open(const struct served *served);
void client_send(int fd, const char *bytes, size_t len);
void client_say(int fd, const char *text);

struct answer {
    int status;
    char *head; /* owned; NUL-terminated, with its status line */
    char *body; /* owned; NUL-terminated beyond its length */
    size_t body_len;
};

/* Reads one answer; has_no_body for those to HEAD. Fails the test when the connection ends before.
 */
void client_read(int fd, struct answer *answer, bool has_no_body);
void answer_reset(struct answer *answer);
/* Whether the server has closed, and nothing more came. Waits for it. */
bool client_is_closed(int fd);
/* Asks on a connection of its own that is closed then, and gives the answer. */
void client_ask(const struct served *served, const char *request, struct answer *answer);
bool answer_has(const struct answer *answer, const char *header_line);

#endif
