/* A pass of fsck as its files share it: what is found, page by page, and what mends it. fsck.c has
 * the table of checks and the walk; the other files judge what lies in one table, and mend. */
#ifndef PAWL_STORE_FSCK_PASS_H
#define PAWL_STORE_FSCK_PASS_H

#include "store/db.h"
#include "store/fsck.h"

/* ---- The checks ---- */

#define RESTORE      "restore a backup, or leave it: nothing else depends on it"
#define MENDS        "`pawl fsck --repair` sets it right"
#define GONE_OF_TASK "it belongs to nobody and only takes room; look whether a task is missed"
#define CHECKS(X)                                                                                  \
    X(FILE, "file", NOTHING, "restore the newest backup (`pawl restore`)")                         \
    X(TABLE, "schema.table", NOTHING, "restore the newest backup (`pawl restore`)")                \
    X(INDEX, "schema.index", NOTHING,                                                              \
      "without it some calls are slow, or take twice what is to be once: make it with that "       \
      "statement in the shell of the database while nobody has the store open, or restore a "      \
      "backup")                                                                                    \
    X(HEAD, "head.range", NOTHING,                                                                 \
      "every change is refused until the newest backup is restored (`pawl restore`)")              \
    X(CLOCK, "head.now_ms", NOTHING,                                                               \
      "the store goes on from there: if this machine's clock is wrong, set it; else instants are " \
      "told too late by that much, and only a backup of before has others")                        \
    X(POSITION, "head.position", HEAD, MENDS)                                                      \
    X(NEXT_KEY, "head.next_key", HEAD, MENDS)                                                      \
    X(UNREADABLE, "task.unreadable", NOTHING,                                                      \
      "nobody can use it: restore a backup, or add it anew")                                       \
    X(TASK_QUEUE, "task.queue", NOTHING, "restore a backup, or cancel the task and add it anew")   \
    X(OWNER, "task.owner", NOTHING, "nothing: when its lease ends the task is given back")         \
    X(LEASE, "task.lease", TASK, MENDS)                                                            \
    X(CONTROL, "task.control", TASK, MENDS)                                                        \
    X(READY_AT, "task.ready_at_ms", TASK, MENDS)                                                   \
    X(RUN_AT, "task.run_at_ms", TASK, MENDS)                                                       \
    X(RANK, "task.rank", TASK, MENDS)                                                              \
    X(DUE, "task.due_at_ms", TASK, MENDS)                                                          \
    X(OPEN, "task.open_dependencies", TASK, MENDS)                                                 \
    X(BLOCKED, "task.blocked_by", TASK, MENDS)                                                     \
    X(HAS_DEPENDENTS, "task.has_dependents", TASK, MENDS)                                          \
    X(SEQUENCE, "task.sequence", TASK, MENDS)                                                      \
    X(HISTORY, "task.history", NOTHING, RESTORE)                                                   \
    X(PAYLOADS, "task.payloads", NOTHING, "restore a backup, or cancel the task and add it anew")  \
    X(PAYLOAD_BYTES, "task.payload_bytes", TASK, MENDS)                                            \
    X(CHECKPOINT_COUNT, "task.checkpoint_count", TASK, MENDS)                                      \
    X(CHECKPOINT_BYTES, "task.checkpoint_bytes", TASK, MENDS)                                      \
    X(LOG_BYTES, "task.log_bytes", TASK, MENDS)                                                    \
    X(DEPENDENCY_TASK, "dependency.task", NOTHING, GONE_OF_TASK)                                   \
    X(DEPENDENCY_FORM, "dependency.on", NOTHING, "it never ends: cancel the task and add it anew") \
    X(DEPENDENCY_TOLD, "dependency.is_open", TELL, "`pawl fsck --repair` has it told again")       \
    X(DEPENDENCY_SHUT, "dependency.is_closed", NOTHING, "look whether the task may run before it") \
    X(EVENT, "event.unreadable", NOTHING, RESTORE)                                                 \
    X(EVENT_TASK, "event.task", NOTHING, GONE_OF_TASK)                                             \
    X(PAYLOAD_TASK, "payload.task", NOTHING, GONE_OF_TASK)                                         \
    X(PAYLOAD_KIND, "payload.kind", NOTHING, "nobody reads it: look whether the task misses it")   \
    X(CHECKPOINT_TASK, "checkpoint.task", NOTHING, GONE_OF_TASK)                                   \
    X(LOG_TASK, "log.task", NOTHING, GONE_OF_TASK)                                                 \
    X(LATE_TASK, "late.task", NOTHING, GONE_OF_TASK)                                               \
    X(QUEUE, "queue.unreadable", NOTHING, "it works with the built-in defaults: `pawl queue set`") \
    X(WORKER, "worker.unreadable", NOTHING, "nothing: its next claim writes it anew")              \
    X(CURSOR, "consumer.cursor", CONSUMER, MENDS)                                                  \
    X(ACK_CONSUMER, "acknowledgement.consumer", NOTHING, "it does no harm and only takes room")    \
    X(ACK_CURSOR, "acknowledgement.position", ACKNOWLEDGEMENT, MENDS)                              \
    X(CONTINUATION, "continuation.unreadable", NOTHING,                                            \
      "what it was to go on with is left undone")                                                  \
    X(CONTINUATION_TASK, "continuation.task", NOTHING, "nothing: whoever steps next ends it")      \
    X(CONTINUATION_PUT_OFF, "continuation.put_off", TAKE_UP, "`pawl fsck --repair` has it tried again")  \
    X(TOMBSTONE, "tombstone", NOTHING, "its id and key stay in use for a while longer: nothing")   \
    X(QUARANTINE, "quarantine", NOTHING, "restore a backup, or add the task anew")                 \
    X(QUARANTINE_OVER, "quarantine.over", QUARANTINE_ROW, "`pawl fsck --repair` takes it out")     \
    X(QUARANTINE_DEADLY, "quarantine.deadly", NOTHING,                                             \
      "when you know why, `pawl fsck --repair --let-out ID` gives it back to the engine")          \
    X(DEFINITION, "definition", NOTHING, "register it anew: until then nobody finds it as it was")  \
    X(WORKFLOW, "workflow.unreadable", NOTHING, RESTORE)                                           \
    X(WORKFLOW_SNAPSHOT, "workflow.snapshot", NOTHING, "restore a backup: it cannot go on")        \
    X(WORKFLOW_PAYLOADS, "workflow.payloads", NOTHING, "restore a backup")                         \
    X(WORKFLOW_OPEN, "workflow.open", WORKFLOW, MENDS)                                             \
    X(WORKFLOW_PERMISSIVE, "workflow.permissive", WORKFLOW, MENDS)                                 \
    X(WORKFLOW_AHEAD, "workflow.ahead", WORKFLOW, MENDS)                                           \
    X(WORKFLOW_SEQ, "workflow.next_seq", WORKFLOW, MENDS)                                          \
    X(WORKFLOW_LAST, "workflow.last", WORKFLOW, MENDS)                                             \
    X(RECORD, "record.unreadable", NOTHING, RESTORE)                                               \
    X(RECORD_TASK, "record.task", NOTHING, GONE_OF_TASK)                                           \
    X(RECORD_STATE, "record.status", NOTHING, "restore a backup, or terminate the workflow")       \
    X(RECORD_JOIN, "record.join", RECORD, MENDS)                                                   \
    X(GATE, "gate.held", GATE, MENDS)                                                              \
    X(IMPORT, "import.unreadable", NOTHING,                                                        \
      "no file is known by it: look whether one has been imported twice")

/* What mends it. */
enum pawl_fsck_mending {
    PAWL_MEND_BY_NOTHING,
    PAWL_MEND_BY_HEAD,
    PAWL_MEND_BY_TASK,
    PAWL_MEND_BY_TELL,
    PAWL_MEND_BY_CONSUMER,
    PAWL_MEND_BY_ACKNOWLEDGEMENT,
    PAWL_MEND_BY_WORKFLOW,
    PAWL_MEND_BY_RECORD,
    PAWL_MEND_BY_TAKE_UP,
    PAWL_MEND_BY_GATE,
    PAWL_MEND_BY_QUARANTINE_ROW
};

enum pawl_fsck_check {
#define X(name, text, mending, advice) PAWL_CHECK_##name,
    CHECKS(X)
#undef X
};

struct pawl_fsck_about {
    const char *name;
    enum pawl_fsck_mending mending;
    const char *advice;
};
extern const struct pawl_fsck_about pawl_fsck_checks[];

/* One finding of a page. */
struct pawl_fsck_found {
    enum pawl_fsck_check check;
    int64_t key;
    int64_t number;          /* mending: a kind of continuation, a cursor */
    struct pawl_str task_id; /* in the arena, as all its texts */
    struct pawl_str text;
    struct pawl_str name; /* mending: an id, a table */
    struct pawl_fsck_found *next;
    bool is_repaired;
};

struct pawl_fsck_pass {
    const struct pawl_fsck_run *ask;
    struct pawl_db *db;       /* reads only */
    struct pawl_arena *arena; /* of the page */
    struct pawl_fsck_done done;
    int64_t began_boot_ms; /* the page */
    int64_t page_rows;
    struct pawl_fsck_found *first; /* of the page, in order */
    struct pawl_fsck_found **last;
    struct pawl_fsck_found
        none;         /* what is noted when the arena is full, which the page then says */
    int64_t position; /* of head, as of the page */
    bool has_let_out; /* the task that was named */
};

/* Notes a finding; never NULL. */
struct pawl_fsck_found *pawl_fsck_note(struct pawl_fsck_pass *f, enum pawl_fsck_check check,
                                       int64_t key, struct pawl_str task_id, struct pawl_str text);
#define TEXT(f, ...) pawl_arena_format((f)->arena, __VA_ARGS__)
enum pawl_code pawl_fsck_arena_code(const struct pawl_fsck_pass *f, struct pawl_error *err);

/* ---- A page ---- */

/* The rows of one table, a page after the other. */
struct pawl_fsck_walk {
    struct pawl_fsck_pass *f;
    enum pawl_statement statement;
    pawl_on_row *on_row;
    int64_t after;              /* the key of the last row seen, */
    int64_t after_part;         /* and its second part, */
    struct pawl_str after_text; /* or its first as text */
    char text[64];
    bool has_parts; /* the key has two */
    bool has_text;  /* and its first is text */
    int64_t count;  /* rows of this page */
    bool is_cut;    /* it took too long: the page ends here */
    void *rows;     /* tasks and dependencies: to be judged when all have come */
};

/* What on_row returns to end a page early. */
enum { PAGE_IS_CUT = PAWL_LIMIT };

/* What each on_row ends with. */
enum pawl_code pawl_fsck_row_came(struct pawl_fsck_walk *walk, int64_t key, int64_t part);

/* ---- What is there ---- */

struct pawl_fsck_head {
    bool is_found;
    int64_t position;
    int64_t next_key;
    int64_t newest_position;
    int64_t largest_key;
    int64_t now_ms;
    int64_t wall_offset_ms;
    int64_t generation;
};
enum pawl_code pawl_fsck_read_head(struct pawl_db *db, struct pawl_fsck_head *out,
                                   struct pawl_error *err);

/* Notes what is missing of the schema; *has_tables: all tables are there, and can be read. */
enum pawl_code pawl_fsck_check_schema(struct pawl_fsck_pass *f, bool *has_tables, struct pawl_error *err);

/* FSCK_TASKS: what the row says, then what there is. Nulls are 0, but for rank. */
struct pawl_fsck_task {
    int64_t key;
    struct pawl_str id;
    int64_t queue, state, priority;
    bool has_rank;
    int64_t rank, due_at_ms, lease_kind, owner, lease_ms, lease_end_at_ms, attempt_end_at_ms;
    int64_t ready_at_ms, updated_at_ms, finished_at_ms, control, control_deadline_at_ms, sequence;
    int64_t open_dependencies, blocked_by, has_dependents, payloads, checkpoint_count, log_bytes;
    int64_t payload_bytes, checkpoint_bytes, dependency_policy, run_at_ms;

    bool has_queue, has_worker;
    int64_t event_sequence, open_count, bad_dependency;
    bool is_blocker_bad, is_depended_on;
    int64_t payload_bits, checkpoints, log_sum, payload_sum, checkpoint_latest;
    bool is_held; /* set aside because it kills, and nobody has named it: it is not armed again */
    struct pawl_fsck_task *next;
};
struct pawl_fsck_task pawl_fsck_read_task(const struct pawl_db_row *row,
                                          const struct pawl_fsck_pass *f);
/* The same as it should be.
 *
 *   is_told  nothing is still on its way to it */
struct pawl_fsck_task pawl_fsck_task_wants(const struct pawl_fsck_task *is, bool is_told);

struct pawl_fsck_fault {
    struct pawl_arena *arena;
    struct pawl_str text;
    struct pawl_str id;
    bool is_found;
};
/* What is wrong with the row as every load would see it; empty: nothing. */
enum pawl_code pawl_fsck_read_fault(struct pawl_db *db, int64_t key, struct pawl_fsck_fault *fault,
                                    struct pawl_error *err);

/* Whether a person has said that this task is to be let out. */
bool pawl_fsck_is_named(const struct pawl_fsck_pass *f, struct pawl_str id);

/* Whether a continuation is still to tell of the task, or to join those that wait for the id. */
enum pawl_code pawl_fsck_read_tells(struct pawl_db *db, int64_t task, struct pawl_str id, bool *out,
                                    struct pawl_error *err);

/* ---- Rows of each table, and what is judged when a page of them has come ---- */

pawl_on_row pawl_fsck_on_task;
pawl_on_row pawl_fsck_on_dependency;
pawl_on_row pawl_fsck_on_event;
pawl_on_row pawl_fsck_on_payload;
pawl_on_row pawl_fsck_on_checkpoint;
pawl_on_row pawl_fsck_on_log;
pawl_on_row pawl_fsck_on_late;
pawl_on_row pawl_fsck_on_tombstone;
pawl_on_row pawl_fsck_on_queue;
pawl_on_row pawl_fsck_on_worker;
pawl_on_row pawl_fsck_on_gate;
pawl_on_row pawl_fsck_on_consumer;
pawl_on_row pawl_fsck_on_acknowledgement;
pawl_on_row pawl_fsck_on_continuation;
pawl_on_row pawl_fsck_on_definition;
pawl_on_row pawl_fsck_on_workflow;
pawl_on_row pawl_fsck_on_record;
/* What is found of a workflow or a JOIN is looked at again, by the same code, and set right. */
enum pawl_code pawl_fsck_mend_workflow(struct pawl_fsck_pass *f, int64_t key,
                                       struct pawl_head *head, struct pawl_error *err);
enum pawl_code pawl_fsck_mend_record(struct pawl_fsck_pass *f, int64_t key, struct pawl_head *head,
                                     struct pawl_error *err);
enum pawl_code pawl_fsck_judge_records(struct pawl_fsck_walk *walk, struct pawl_error *err);
pawl_on_row pawl_fsck_on_import;
pawl_on_row pawl_fsck_on_quarantined;
enum pawl_code pawl_fsck_judge_tasks(struct pawl_fsck_walk *walk, struct pawl_error *err);
enum pawl_code pawl_fsck_judge_dependencies(struct pawl_fsck_walk *walk, struct pawl_error *err);
enum pawl_code pawl_fsck_judge_orphans(struct pawl_fsck_walk *walk, struct pawl_error *err);
enum pawl_code pawl_fsck_judge_quarantined(struct pawl_fsck_walk *walk, struct pawl_error *err);

/* Mends what can be, in one transaction, and writes a line of the log for each. */
enum pawl_code pawl_fsck_mend(struct pawl_fsck_pass *f, struct pawl_error *err);

#endif
