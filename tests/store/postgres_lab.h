/* What tests on PostgreSQL need: a schema of its own for each lab, a plain connection to look
 * behind the store, and a proxy that loses what it is told to lose.
 *
 * The server is named by PAWL_TEST_POSTGRES (tools/with_postgres COMMAND sets it); without it these
 * tests are skipped, and say so. */
#ifndef PAWL_TESTS_STORE_POSTGRES_LAB_H
#define PAWL_TESTS_STORE_POSTGRES_LAB_H

#include "lab.h"
#include "store/libpq.h"

#include <pthread.h>
#include <stdatomic.h>

/* For tests of PostgreSQL alone. lab_kinds has this kind too. */
extern const struct lab_kind postgres_kind;
/* The target names a schema that does not exist yet. */
void postgres_need(void);
void postgres_target(struct lab *lab);
/* Drops the schema. */
void postgres_remove(struct lab *lab);

/* Runs SQL in the schema of a target, on a connection of its own. The first column of the last row,
 * or ""; good until the next call. */
const char *postgres_sql(const char *target, const char *sql);

/* The same by a connection that stays. */
struct postgres_side {
    struct pawl_libpq pq;
    PGconn *conn;
};
void postgres_side_open(struct postgres_side *side, const char *target);
void postgres_side_close(struct postgres_side *side);
const char *postgres_side_sql(struct postgres_side *side, const char *sql);
/* Asks until the answer is the wanted one, at most 10 s. */
void postgres_side_await(struct postgres_side *side, const char *sql, const char *want);

/* Ends the server's processes behind all stores on the lab's schema, and waits until they are gone.
 */
void postgres_end_backends(struct postgres_side *side, const struct lab *lab);
/* Waits until one of them waits for a lock. */
void postgres_await_lock(struct postgres_side *side, const struct lab *lab);

/* Between a store and the server. */
enum proxy_mode {
    PROXY_PASS = 0,
    PROXY_LOSE_ANSWER,  /* passes on what is asked; at the first answer hangs up on both */
    PROXY_LOSE_REQUEST, /* hangs up on both instead of passing on a request */
    PROXY_FORGET, /* hangs up on the store at its first request; the server hears nothing of it */
    PROXY_LOSE_SERVER, /* as PROXY_LOSE_ANSWER, and then refuses */
    PROXY_REFUSE,      /* hangs up on every connection */
};

enum { PROXY_LINKS_MAX = 32 };

struct proxy {
    pthread_t thread;
    char path[256]; /* of the socket's folder */
    char server[256];
    int listen_fd;
    int stop_fds[2];
    _Atomic int mode;
    _Atomic int skips; /* so many questions or answers pass before the mode's fault is made */
    int near_fds[PROXY_LINKS_MAX]; /* to the store; -1 = none */
    int far_fds[PROXY_LINKS_MAX];  /* to the server */
    int count;
};
/* Opens the proxy and makes the lab's target lead through it. */
void proxy_open(struct proxy *proxy, struct lab *lab);
/* skips: how many questions (and their answers) pass before the fault is made. */
void proxy_set(struct proxy *proxy, enum proxy_mode mode, int skips);
void proxy_close(struct proxy *proxy);

#endif
