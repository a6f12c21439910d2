/* The rows of a life cycle, written by the product's own statements on a bare SQLite connection: what the
 * ceiling program and the filler share. No engine, no rules. */
#ifndef PAWL_BENCH_ROWS_H
#define PAWL_BENCH_ROWS_H

#include "store/statements.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum { INPUT_BYTES = 200 };

struct rows {
    sqlite3 *db;
    sqlite3_stmt *statements[PAWL_SQL_COUNT];
    int64_t position; /* of the newest event */
    int64_t next_key;
    int64_t now_ms;
    int64_t queue;    /* key */
    int log_pages;
    char input[INPUT_BYTES + 1];
};

/* Opens a store that the library has created, with the settings the library uses. Exits on any error. */
void rows_open(struct rows *rows, const char *path, const char *queue);
void rows_close(struct rows *rows);

void rows_begin(struct rows *rows);
void rows_commit(struct rows *rows); /* writes head, commits, moves the log as the library does */

/* A task as it is after create and queue, its input, its two events. Returns its key. */
int64_t rows_create(struct rows *rows);
/* The next ready tasks: keys and ids as the claim reads them, their input, the update, the event. Returns how
 * many there were. */
struct rows_claimed {
    int64_t key;
    char id[37];
};
int rows_claim(struct rows *rows, int count, struct rows_claimed *out);
/* Loads the task by id, updates it, writes the result and the event. */
void rows_complete(struct rows *rows, const struct rows_claimed *task);
/* A task that has ended long ago, with its payloads and events, in one go. */
void rows_finished(struct rows *rows);

/* Runs a statement with these values: a number each, ROWS_NULL for null; texts where text[i] is not NULL. */
#define ROWS_NULL INT64_MIN

#endif
