/* The rows of a life cycle, written by the product's own statements on one connection: what the ceiling
 * program and the filler share. No engine, no rules; of the store only its driver, so that both stores are
 * served by the same code, and PostgreSQL gets arrays and pipelines. On PostgreSQL a group is two round trips. */
#ifndef PAWL_BENCH_ROWS_H
#define PAWL_BENCH_ROWS_H

#include "store/db.h"

enum { INPUT_BYTES = 200, ROWS_CLAIMED_MAX = 1000 };

struct rows_claimed {
    int64_t key;
    char id[37];
};

struct rows_event {
    int64_t task;
    int64_t sequence;
    int64_t type;
    int64_t state;
};

struct rows {
    struct pawl_db *db;
    int64_t position; /* of the newest event */
    int64_t next_key;
    int64_t now_ms;
    int64_t wall_offset_ms;
    int64_t generation;
    int64_t queue;  /* key */
    int64_t worker; /* key of who claims */
    int64_t sum;   /* of all that was read: so that it is read */
    struct rows_claimed claimed[ROWS_CLAIMED_MAX]; /* by the newest rows_claim */
    int claimed_count;
    struct rows_event *events; /* owned; to be written by the commit */
    size_t event_count;
    size_t event_room;
    char input[INPUT_BYTES + 1];
};

/* Opens a store that `lifecycle` has created, with the settings the library uses. Exits on any error. */
void rows_open(struct rows *rows, const char *store, const char *queue);
void rows_close(struct rows *rows);

void rows_begin(struct rows *rows);
void rows_commit(struct rows *rows); /* writes events and head, commits, moves the log as the library does */

/* So many tasks as they are after create and queue, their input, their two events. */
void rows_create(struct rows *rows, int count);
/* The next ready tasks: keys and ids as the claim reads them, their input, the update, the event. */
void rows_claim(struct rows *rows, int count);
/* Loads what was claimed by its ids, updates it, writes the results and the events. */
void rows_complete(struct rows *rows);
/* So many tasks that have ended long ago, with their payloads and events. */
void rows_finished(struct rows *rows, int count);

/* A number that is stored as null. */
#define ROWS_NULL INT64_MIN

#endif
