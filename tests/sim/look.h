/* Everything that is stored, read with plain SQL on a connection of its own: what the oracle sees.
 */
#ifndef PAWL_TESTS_SIM_LOOK_H
#define PAWL_TESTS_SIM_LOOK_H

#include "base/arena.h"

#include <sqlite3.h>

/* The columns of a task as numbers; null is 0, but for rank, where it is -1. */
#define LOOK_COLUMNS(X)       \
    X(key)                    \
    X(queue)                  \
    X(state)                  \
    X(priority)               \
    X(rank)                   \
    X(due_at_ms)              \
    X(version)                \
    X(epoch)                  \
    X(lease_kind)             \
    X(owner)                  \
    X(lease_ms)               \
    X(lease_end_at_ms)        \
    X(attempt_end_at_ms)      \
    X(timeout_ms)             \
    X(max_retries)            \
    X(backoff)                \
    X(delay_ms)               \
    X(delay_ms_max)           \
    X(jitter_ms)              \
    X(retries)                \
    X(recoveries)             \
    X(crashes_in_row)         \
    X(ready_at_ms)            \
    X(created_at_ms)          \
    X(updated_at_ms)          \
    X(started_at_ms)          \
    X(finished_at_ms)         \
    X(progress)               \
    X(progress_epoch)         \
    X(progress_event_at_ms)   \
    X(control)                \
    X(control_deadline_at_ms) \
    X(sequence)               \
    X(outcome_epoch)          \
    X(outcome_kind)           \
    X(outcome_digest)         \
    X(dependency_policy)      \
    X(open_dependencies)      \
    X(blocked_by)             \
    X(has_dependents)         \
    X(payloads)               \
    X(checkpoint_count)       \
    X(log_bytes)              \
    X(payload_bytes)          \
    X(checkpoint_bytes)       \
    X(body_digest)            \
    X(run_at_ms)

enum look_column {
#define X(name) LOOK_##name,
    LOOK_COLUMNS(X)
#undef X
        LOOK_COLUMN_COUNT
};

struct look_task {
    int64_t at[LOOK_COLUMN_COUNT];
    struct pawl_str lease_place;
    /* counted from the rows beside it */
    int64_t open_dependencies;
    int64_t payload_bits;
    int64_t payload_lens[8];
    uint64_t payload_hashes[8];
    int64_t checkpoints;
    int64_t checkpoint_len; /* of the latest */
    uint64_t checkpoint_hash;
    int64_t logs;
    int64_t log_bytes;
    int64_t lates;
};

struct look_name { /* texts of a task, which do not change */
    struct pawl_str id;
    struct pawl_str title;
    struct pawl_str key;
};

struct look_dependency {
    int64_t task;
    int64_t number;
    int64_t on;
    int64_t is_open;
    struct pawl_str on_id;
};

struct look_event {
    int64_t position;
    int64_t task;
    int64_t sequence;
    int64_t type;
    int64_t at_ms;
    int64_t state;
    int64_t epoch;
    int64_t version;
    int64_t retries;
    int64_t next_retry_at_ms;
    int64_t cause;
    double progress;
    struct pawl_str actor;
    struct pawl_str note;
};

/* What a row says of who works on its task. */
struct look_lease {
    int64_t state;
    int64_t epoch;
    struct pawl_str owner;
    struct pawl_str place;
};

struct look_queue {
    int64_t key;
    struct pawl_str name;
    int64_t is_paused;
    int64_t lease_ms;
};

struct look_worker {
    int64_t key;
    struct pawl_str id;
    struct pawl_str request_id; /* of its newest claim */
};

struct look_continuation {
    int64_t key;
    int64_t kind;
    int64_t task;
    int64_t cursor;
};

struct look_workflow {
    int64_t key;
    int64_t state;
    int64_t run;
    int64_t open;
    int64_t finished_at_ms;
    struct pawl_str id;
    struct pawl_str idempotency_key;
};

struct look_record { /* with its task */
    int64_t task;
    int64_t workflow;
    int64_t run;
    int64_t seq;
    int64_t status;
    int64_t attempt;
    int64_t is_superseded;
    int64_t is_decided;
    int64_t state;
    int64_t rank; /* -1 = none */
    int64_t due_at_ms;
    struct pawl_str reference;
    struct pawl_str id;
    struct pawl_str result;
};

struct look_consumer {
    int64_t key;
    struct pawl_str name;
    int64_t cursor;
};

struct look_acknowledgement {
    int64_t consumer;
    int64_t position;
};

struct look {
    struct pawl_arena *arena; /* owned: all below */
    int64_t position;
    int64_t next_key;
    int64_t now_ms;
    int64_t wall_offset_ms;
    struct pawl_str boot_id;
    int64_t clock_offset_ms;
    struct look_task *tasks; /* by key */
    int task_count;
    struct look_dependency *dependencies; /* by task and number */
    int dependency_count;
    struct look_event *events; /* only those after the position asked for */
    int event_count;
    struct look_queue *queues;
    int queue_count;
    struct look_worker *workers;
    int worker_count;
    struct look_continuation *continuations;
    int continuation_count;
    struct look_workflow *workflows; /* by key */
    int workflow_count;
    struct look_record *records; /* by task */
    int record_count;
    struct look_consumer *consumers;
    int consumer_count;
    struct look_acknowledgement *acknowledgements;
    int acknowledgement_count;
    int64_t quarantine_count;
};

struct looker {
    sqlite3 *db; /* NULL = closed */
    sqlite3_stmt *statements[20];
    int64_t data_version; /* of the last look */
};

void looker_open(struct looker *looker, const char *path);
void looker_close(struct looker *looker);
/* Whether somebody has committed since the last look. */
bool looker_is_stale(struct looker *looker);
/* Reads everything, in one transaction; events after this position. */
void looker_read(struct looker *looker, struct look *look, int64_t after_position);
/* The texts of tasks with a key beyond this one: name is called for each, by key. */
void looker_names(struct looker *looker, int64_t after_key, struct pawl_arena *keep,
                  struct look_name *names, int *count, int max);
/* How a task stands at this moment, as whoever begins its work looks at it; its texts are good until
 * the arena is reset. False if there is none. */
bool looker_task(struct looker *looker, struct pawl_str id, struct pawl_arena *keep,
                 struct look_lease *lease);
/* "ok", or what SQLite finds wrong with the file. Good until the next call. */
const char *looker_integrity(struct looker *looker, char text[200]);
/* One number. */
int64_t looker_number(struct looker *looker, const char *sql);

/* The place of a task by its key; -1. */
int look_find(const struct look *look, int64_t key);
const struct look_queue *look_queue(const struct look *look, int64_t key);
/* Whether calendar times are being armed anew. */
bool look_is_rearming(const struct look *look);
struct pawl_str look_worker_id(const struct look *look, int64_t key);

uint64_t look_hash(struct pawl_str text);

#endif
