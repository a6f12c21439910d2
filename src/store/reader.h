/* What the files of the reads share: the reader, its transaction, and a task's row with what stands
 * around it. Only read*.c and their tests include this. */
#ifndef PAWL_STORE_READER_H
#define PAWL_STORE_READER_H

#include "base/arena.h"
#include "store/db.h"
#include "store/read.h"

#include <pthread.h>

enum {
    PAWL_READ_PAGE_ROWS = 100, /* where a caller does not say */

    /* A list looks at so many rows for a page, then answers with what it has found and a cursor, so
     * that a filter that little passes holds its read transaction no longer than a page that is
     * full. */
    PAWL_READ_ROWS_EACH = 20, /* for each row of the page */
    PAWL_READ_ROWS_MORE = 1000,

    /* Queues whose first ready task is fetched at once; there may be more. */
    PAWL_READ_QUEUES_MAX = 1000,

    /* Ready tasks fetched ahead from one queue while lists of several are merged. */
    PAWL_READ_AHEAD = 64,

    /* A page with payloads ends here, for an answer is held whole in memory. One task is always
     * given. */
    PAWL_READ_PAGE_BYTES_MAX = PAWL_BATCH_BYTES_MAX,

    /* Ready tasks of a queue are counted so far: 80 ms over the index alone. Beyond, nobody reads
     * the last digits. */
    PAWL_READ_READY_MAX = 1000 * 1000,

    /* So many of what waits for an instant are counted, first due first, all queues together. Each
     * is a row to look at, 5 us when it is not in memory. */
    PAWL_READ_WAITING_MAX = 100 * 1000,

    /* Of those before a task in its queue; more is "more than". */
    PAWL_READ_BEFORE_MAX = 1000,

    /* Open dependencies that are named. */
    PAWL_READ_NAMED_MAX = 5,

    /* Acknowledged events passed over at once, and in one call. A consumer with a longer run of
     * them beyond its cursor has to move the cursor first. */
    PAWL_READ_PASSED_ROWS = 4096,
    PAWL_READ_PASSED_MAX = 1000 * 1000,
};

struct pawl_reader {
    pthread_mutex_t lock;           /* held from begin to end */
    struct pawl_db_options options; /* the texts are owned */
    const struct pawl_env *env;     /* borrowed; NULL: it knows no time */
    struct pawl_db *db;             /* owned; NULL: the next call opens it anew */
    struct pawl_arena *scratch;     /* owned; reset by begin */
    int64_t schema_version;         /* as first seen; 0 = not yet */
    struct pawl_str store_id;       /* owned; known after the first flush */
};

/* Takes the lock and begins a read transaction; on failure neither is held. */
enum pawl_code pawl_reader_begin(struct pawl_reader *reader, struct pawl_error *err) PAWL_MUST_USE;

/* Ends both, whatever has happened. Returns code, or what has failed in keep: then err says so. */
enum pawl_code pawl_reader_end(struct pawl_reader *reader, const struct pawl_arena *keep,
                               enum pawl_code code, struct pawl_error *err) PAWL_MUST_USE;

/* One statement and its flush. */
enum pawl_code pawl_reader_ask(struct pawl_reader *reader, enum pawl_statement statement,
                               const struct pawl_value *values, size_t count, pawl_on_row *on_row,
                               void *self, struct pawl_error *err) PAWL_MUST_USE;

/* The row key of a task.
 *
 *   fails  PAWL_NOT_FOUND; PAWL_CORRUPT where only quarantine knows the id */
enum pawl_code pawl_reader_find(struct pawl_reader *reader, struct pawl_str id, int64_t *key,
                                struct pawl_error *err) PAWL_MUST_USE;

/* The instant by the clock that steps go by; 0 on SQLite for a reader without an outside world. */
enum pawl_code pawl_reader_now(struct pawl_reader *reader, int64_t *now_ms,
                               struct pawl_error *err) PAWL_MUST_USE;

enum pawl_code pawl_reader_disorder(const char *what, struct pawl_error *err);

/* The rows of a page: 0 is the default; PAWL_INVALID names the field. */
enum pawl_code pawl_reader_limit(int32_t asked, int32_t *limit,
                                 struct pawl_error *err) PAWL_MUST_USE;

/* A task's row and what stands around it. */
struct pawl_task_about {
    struct pawl_task_row row;
    struct pawl_str queue;
    bool is_queue_paused;
    struct pawl_str owner;              /* empty = none */
    struct pawl_str blocked_by;         /* empty = none */
    enum pawl_task_state blocker_state; /* where blocked_by is given */
    bool is_found;
    struct pawl_str fault;   /* what is wrong with the row; empty = nothing */
    struct pawl_arena *keep; /* where its texts live */
};

/* Sends the question for a task; the next flush fills *about, which must stay where it is until
 * then. */
enum pawl_code pawl_reader_send_task(struct pawl_reader *reader, int64_t key,
                                     struct pawl_arena *keep, struct pawl_task_about *about,
                                     struct pawl_error *err) PAWL_MUST_USE;

/* Finds a task by its id.
 *
 *   fails  PAWL_NOT_FOUND; PAWL_CORRUPT with what is wrong with its row */
enum pawl_code pawl_reader_get_task(struct pawl_reader *reader, struct pawl_str id,
                                    struct pawl_arena *keep, struct pawl_task_about *about,
                                    struct pawl_error *err) PAWL_MUST_USE;

/* Reads what lies beside tasks and makes of each what pawl.h shows. In one round trip, so the
 * caller bounds their number.
 *
 *   abouts   found and without a fault; one that turns out to have one gets it here, and its out is
 * of no use out      count of them; texts in keep *bytes   how much was taken from payloads, added
 * up fails    not for what is wrong with a single task */
enum pawl_code pawl_reader_show_tasks(struct pawl_reader *reader, struct pawl_task_about *abouts,
                                      size_t count, bool with_payload, struct pawl_arena *keep,
                                      struct pawl_task *out, size_t *bytes,
                                      struct pawl_error *err) PAWL_MUST_USE;


/* PAWL_CORRUPT, with what is wrong with a task's row. */
enum pawl_code pawl_reader_fault(struct pawl_str id, struct pawl_str fault, struct pawl_error *err);

#endif
