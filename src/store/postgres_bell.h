/* The bell of PostgreSQL: other processes' commits make a descriptor readable. A hint and no more:
 * whoever hears it looks at what is ready and due.
 *
 * A connection of its own listens, and rings after own commits. It is made at the first drain, so
 * that who never asks for the descriptor's news does not pay for it; when it breaks it is made
 * anew, once a second until that works, and each time the bell counts as heard, since some ringing
 * may have been missed.
 *
 *   threads  that of the store's connection */
#ifndef PAWL_STORE_POSTGRES_BELL_H
#define PAWL_STORE_POSTGRES_BELL_H

#include "store/postgres_link.h"

struct pawl_bell {
    struct pawl_link link;
    struct pawl_db *db;          /* borrowed */
    const struct pawl_libpq *pq; /* borrowed */
    const char *target;          /* borrowed */
    int watch_fd;  /* epoll: what is given out; stays the same however often we reconnect */
    int timer_fd;  /* in watch_fd: when to connect; now, when is_heard */
    bool is_heard; /* somebody has rung, and no drain has told of it yet */
    uint64_t knocks; /* heard, or made; and one whenever some may have been missed */
};

/* Makes the descriptor, which is readable at once, and connects nothing yet.
 *
 *   fails  PAWL_IO  no descriptors left */
enum pawl_code pawl_bell_open(struct pawl_bell *bell, struct pawl_db *db,
                              const struct pawl_libpq *pq, const char *target,
                              struct pawl_error *err) PAWL_MUST_USE;
void pawl_bell_close(struct pawl_bell *bell); /* takes one that is all zero */

/* Empties the descriptor; whether somebody else has rung. own_pid: the server's process that
 * commits for this store, whose ringing is dropped. */
bool pawl_bell_drain(struct pawl_bell *bell, int64_t own_pid);

/* Rings for others after a commit of own, or knocks: on the bell's connection, else on the one that
 * has committed. Waits for nothing. */
void pawl_bell_ring(struct pawl_bell *bell, struct pawl_link *own, bool knocks);

#endif
