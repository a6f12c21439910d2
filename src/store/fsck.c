/* The checks are a table: what is said, what to do, whether it can be mended. A page is read into
 * the arena first and judged then, so that a question that one row raises can be asked in the same
 * transaction.
 *
 * Mended is only what follows from other rows: counts, places in indexes, fields that a state
 * forbids. Each mending looks again, in the transaction that writes, and by the same code; so it
 * does nothing if somebody was faster. What would need a guess (a lost row, which of two
 * contradicting fields is right) is only told. */
#include "store/fsck.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "store/handle.h"
#include "store/rows.h"
#include "store/sqlite_copy.h"

#include <inttypes.h>
#include <string.h>

/* ---- The checks -------------------------------------------------------------------------------
 */

#define RESTORE      "restore a backup, or leave it: nothing else depends on it"
#define MENDS        "`pawl fsck --repair` sets it right"
#define GONE_OF_TASK "it belongs to nobody and only takes room; look whether a task is missed"
#define CHECKS(X)                                                                                  \
    X(FILE, "file", NOTHING, "restore the newest backup (`pawl restore`)")                         \
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
    X(TOMBSTONE, "tombstone", NOTHING, "its id and key stay in use for a while longer: nothing")   \
    X(QUARANTINE, "quarantine", NOTHING, "restore a backup, or add the task anew")                 \
    X(QUARANTINE_OVER, "quarantine.over", QUARANTINE_ROW, "`pawl fsck --repair` takes it out")     \
    X(QUARANTINE_DEADLY, "quarantine.deadly", NOTHING,                                             \
      "when you know why, `pawl fsck --repair --let-out ID` gives it back to the engine")          \
    X(IMPORT, "import.unreadable", NOTHING,                                                        \
      "no file is known by it: look whether one has been imported twice")

/* What mends it. */
enum mending {
    BY_NOTHING,
    BY_HEAD,
    BY_TASK,
    BY_TELL,
    BY_CONSUMER,
    BY_ACKNOWLEDGEMENT,
    BY_QUARANTINE_ROW
};

enum check {
#define X(name, text, mending, advice) CHECK_##name,
    CHECKS(X)
#undef X
};

static const struct {
    const char *name;
    enum mending mending;
    const char *advice;
} checks[] = {
#define X(name, text, mending, advice) [CHECK_##name] = {text, BY_##mending, advice},
    CHECKS(X)
#undef X
};

/* One finding of a page. */
struct found {
    enum check check;
    int64_t key;
    int64_t number;          /* mending: a kind of continuation, a cursor */
    struct pawl_str task_id; /* in the arena, as all its texts */
    struct pawl_str text;
    struct pawl_str name; /* mending: an id, a table */
    struct found *next;
    bool is_repaired;
};

struct fsck {
    const struct pawl_fsck_run *ask;
    struct pawl_db *db;       /* reads only */
    struct pawl_arena *arena; /* of the page */
    struct pawl_fsck_done done;
    int64_t began_boot_ms; /* the page */
    int64_t page_rows;
    struct found *first; /* of the page, in order */
    struct found **last;
    struct found none; /* what is noted when the arena is full, which the page then says */
    int64_t position;  /* of head, as of the page */
    bool has_let_out;  /* the task that was named */
};

static int64_t boot_now(const struct fsck *f)
{
    const struct pawl_env *env = f->ask->options->env;
    return env->boot_ms(env->self);
}

static struct found *note(struct fsck *f, enum check check, int64_t key, struct pawl_str task_id,
                          struct pawl_str text)
{
    struct found *found = pawl_arena_take(f->arena, sizeof *found);
    if (found == NULL) return &f->none;
    *found = (struct found){.check = check, .key = key, .task_id = task_id, .text = text};
    *f->last = found;
    f->last = &found->next;
    return found;
}

#define TEXT(f, ...) pawl_arena_format((f)->arena, __VA_ARGS__)

/* ---- A page -----------------------------------------------------------------------------------
 */

/* The rows of one table, a page after the other. */
struct walk {
    struct fsck *f;
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

static enum pawl_code row_came(struct walk *walk, int64_t key, int64_t part)
{
    struct fsck *f = walk->f;
    walk->after = key;
    walk->after_part = part;
    walk->count++;
    f->done.rows++;
    /* PostgreSQL has answered the whole page by now */
    walk->is_cut = !f->db->driver->is_postgres &&
                   boot_now(f) - f->began_boot_ms >= PAWL_FSCK_PAGE_MS_MAX * 3 / 4;
    return walk->is_cut ? (enum pawl_code)PAGE_IS_CUT : PAWL_OK;
}

static enum pawl_code ask_page(struct walk *walk, struct pawl_error *err)
{
    struct fsck *f = walk->f;
    struct pawl_value values[4];
    size_t count = 0;
    values[count++] = walk->has_text ? pawl_text(walk->after_text) : pawl_int(walk->after);
    if (walk->has_parts) values[count++] = pawl_int(walk->after_part);
    values[count++] = pawl_int(f->page_rows);
    if (walk->statement == PAWL_SQL_FSCK_TASKS) {
        values[count++] = pawl_int(PAWL_LOG_ROW_BYTES);
        values[count++] = pawl_text(PAWL_STR(PAWL_SET_ASIDE_DEADLY));
    }
    enum pawl_code code =
        pawl_db_send(f->db, walk->statement, values, count, walk->on_row, walk, err);
    if (code == PAWL_OK) code = pawl_db_flush(f->db, err);
    return walk->is_cut && code == (enum pawl_code)PAGE_IS_CUT ? PAWL_OK : code;
}

/* The next page is to last about half of what it may. */
static void fit_page(struct fsck *f)
{
    int64_t took_ms = boot_now(f) - f->began_boot_ms;
    if (took_ms > PAWL_FSCK_PAGE_MS_MAX / 2 && f->page_rows > 1) f->page_rows /= 2;
    if (took_ms < PAWL_FSCK_PAGE_MS_MAX / 4 && f->page_rows < PAWL_FSCK_PAGE_ROWS_MAX) {
        f->page_rows *= 2;
    }
}

static enum pawl_code arena_code(const struct fsck *f, struct pawl_error *err)
{
    enum pawl_code code = pawl_arena_code(f->arena);
    return code == PAWL_OK ? code : pawl_error_set(err, code, "no memory for a page of fsck");
}

/* ---- Head -------------------------------------------------------------------------------------
 */

struct head_is {
    bool is_found;
    int64_t position;
    int64_t next_key;
    int64_t newest_position;
    int64_t largest_key;
};

static enum pawl_code on_head(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    enum { KEYS_FROM = 3, KEYS_TO = 11 };
    struct head_is *is = self;
    (void)err;
    *is = (struct head_is){true, pawl_db_int64(row, 0), pawl_db_int64(row, 1),
                           pawl_db_int64(row, 2), 0};
    for (int32_t column = KEYS_FROM; column <= KEYS_TO; column++) {
        int64_t key = pawl_db_int64(row, column);
        if (key > is->largest_key) is->largest_key = key;
    }
    return PAWL_OK;
}

static enum pawl_code read_head(struct pawl_db *db, struct head_is *out, struct pawl_error *err)
{
    *out = (struct head_is){0};
    enum pawl_code code = pawl_db_send(db, PAWL_SQL_FSCK_HEAD, NULL, 0, on_head, out, err);
    if (code == PAWL_OK) code = pawl_db_flush(db, err);
    if (code == PAWL_OK && !out->is_found) {
        code = pawl_error_set(err, PAWL_CORRUPT, "the row of head is missing: restore a backup");
    }
    return code;
}

static void judge_head(struct fsck *f, const struct head_is *is)
{
    if (is->position < is->newest_position) {
        (void)note(f, CHECK_POSITION, 1, (struct pawl_str){0},
                   TEXT(f,
                        "the newest event has position %" PRId64 ", and head says %" PRId64
                        ": the next events would find their places taken",
                        is->newest_position, is->position));
    }
    if (is->next_key <= is->largest_key) {
        (void)note(f, CHECK_NEXT_KEY, 1, (struct pawl_str){0},
                   TEXT(f,
                        "the largest key is %" PRId64 ", and the next one is to be %" PRId64
                        ": new rows would find their places taken",
                        is->largest_key, is->next_key));
    }
}

/* ---- Tasks ------------------------------------------------------------------------------------
 */

/* FSCK_TASKS: what the row says, then what there is. Nulls are 0, but for rank. */
struct task_is {
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
    struct task_is *next;
};

/* Whether a person has said that this task is to be let out. */
static bool is_named(const struct fsck *f, struct pawl_str id)
{
    return id.len > 0 && pawl_str_equal(id, f->ask->let_out);
}

static struct task_is read_task(const struct pawl_db_row *row, const struct fsck *f)
{
    enum { ROW_COLUMNS = 28 };
    struct task_is is = {.key = pawl_db_int64(row, 0), .id = pawl_row_text(row, 1, f->arena)};
    int64_t *const numbers[] = {
        &is.queue,
        &is.state,
        &is.priority,
        &is.rank,
        &is.due_at_ms,
        &is.lease_kind,
        &is.owner,
        &is.lease_ms,
        &is.lease_end_at_ms,
        &is.attempt_end_at_ms,
        &is.ready_at_ms,
        &is.updated_at_ms,
        &is.finished_at_ms,
        &is.control,
        &is.control_deadline_at_ms,
        &is.sequence,
        &is.open_dependencies,
        &is.blocked_by,
        &is.has_dependents,
        &is.payloads,
        &is.checkpoint_count,
        &is.log_bytes,
        &is.payload_bytes,
        &is.checkpoint_bytes,
        &is.dependency_policy,
        &is.run_at_ms,
    };
    for (size_t i = 0; i < PAWL_COUNT_OF(numbers); i++) {
        *numbers[i] = pawl_db_int64(row, (int32_t)i + 2);
    }
    is.has_rank = !pawl_db_is_null(row, 5);
    int32_t at = ROW_COLUMNS;
    is.has_queue = pawl_db_int64(row, at++) != 0;
    is.has_worker = pawl_db_int64(row, at++) != 0;
    is.event_sequence = pawl_db_int64(row, at++);
    is.open_count = pawl_db_int64(row, at++);
    is.bad_dependency = pawl_db_int64(row, at++);
    is.is_blocker_bad = pawl_db_int64(row, at++) != 0;
    is.is_depended_on = pawl_db_int64(row, at++) != 0;
    is.payload_bits = pawl_db_int64(row, at++);
    is.checkpoints = pawl_db_int64(row, at++);
    is.log_sum = pawl_db_int64(row, at++);
    is.payload_sum = pawl_db_int64(row, at++);
    is.checkpoint_latest = pawl_db_int64(row, at++);
    is.is_held = !pawl_db_is_null(row, at++) && !is_named(f, is.id);
    return is;
}

static int64_t earliest(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The row as it has to be, as far as that follows from the rest. is_told: nobody is still to be
 * told of what has become of the task that blocks it. */
static struct task_is task_wants(const struct task_is *is, bool is_told)
{
    struct task_is want = *is;
    bool runs = is->state == PAWL_TASK_RUNNING;
    bool recovers = is->state == PAWL_TASK_RECOVERY_PENDING;
    bool is_queued = is->state == PAWL_TASK_QUEUED;
    bool is_terminal = pawl_task_state_is(is->state) &&
                       pawl_task_state_is_terminal((enum pawl_task_state)is->state);
    want.open_dependencies = is->open_count;
    if (is->is_depended_on) want.has_dependents = 1;
    if (is->event_sequence > is->sequence) want.sequence = is->event_sequence;
    if (is->payload_sum > is->payload_bytes) want.payload_bytes = is->payload_sum;
    want.checkpoint_count = is->checkpoints;
    want.checkpoint_bytes = is->checkpoint_latest;
    want.log_bytes = is->log_sum;
    if (!pawl_task_state_is(is->state)) return want; /* the rest follows from the state */

    if (!runs) want.lease_end_at_ms = 0;
    if (!runs && !recovers) {
        want.lease_kind = want.owner = want.lease_ms = want.attempt_end_at_ms = 0;
        want.control = want.control_deadline_at_ms = 0;
    }
    if (!is_queued && is->state != PAWL_TASK_PENDING) want.ready_at_ms = 0;
    bool blocks = is->dependency_policy == PAWL_DEPENDENCY_BLOCK && !is_terminal;
    if (is->blocked_by != 0 && !(blocks && is->is_blocker_bad) && is_told) {
        want.blocked_by = blocks ? is->bad_dependency : 0;
    }

    bool is_offered = is_queued && want.open_dependencies == 0;
    bool is_priority = is->priority >= 0 && is->priority <= PAWL_PRIORITY_MAX;
    if (!is_offered) {
        want.has_rank = false;
    } else if (is->has_rank && is_priority) {
        want.rank = pawl_rank_make((int32_t)is->priority, pawl_rank_ready_at_ms(is->rank));
    } else if (!is->has_rank && is->ready_at_ms == 0 && is_priority) {
        /* when exactly it became ready is not known any more; it was not before its last change */
        want.has_rank = true;
        want.rank = pawl_rank_make((int32_t)is->priority, is->updated_at_ms);
    }
    int64_t due_at_ms = 0;
    if (runs) {
        due_at_ms = earliest(earliest(is->lease_end_at_ms, is->attempt_end_at_ms),
                             is->control_deadline_at_ms);
    } else if (is_offered && !want.has_rank) {
        due_at_ms = is->ready_at_ms;
    } else if (recovers && is->lease_kind == PAWL_LEASE_SUPERVISED && is->due_at_ms == 0) {
        due_at_ms = is->updated_at_ms; /* its proof is to be looked for */
    }
    if (due_at_ms != 0 && (is->due_at_ms == 0 || is->due_at_ms > due_at_ms))
        want.due_at_ms = due_at_ms;
    if (is->is_held && !is->has_rank) want.has_rank = false;
    if (is->is_held && is->due_at_ms == 0) want.due_at_ms = 0;
    if (want.ready_at_ms == 0 || want.has_rank) want.run_at_ms = 0;
    return want;
}

static void differs(struct fsck *f, enum check check, const struct task_is *is, const char *what,
                    int64_t said, int64_t wanted)
{
    if (said == wanted) return;
    (void)note(f, check, is->key, is->id,
               TEXT(f, "%s is %" PRId64 " and has to be %" PRId64, what, said, wanted));
}

static void judge_lease(struct fsck *f, const struct task_is *is, const struct task_is *want)
{
    bool is_left = is->lease_kind != want->lease_kind || is->owner != want->owner ||
                   is->lease_ms != want->lease_ms || is->lease_end_at_ms != want->lease_end_at_ms ||
                   is->attempt_end_at_ms != want->attempt_end_at_ms;
    if (is_left) {
        (void)note(f, CHECK_LEASE, is->key, is->id,
                   TEXT(f, "it is %s and has what only a lease has",
                        pawl_task_state_name((enum pawl_task_state)is->state)));
    }
    bool is_asked =
        is->control != want->control || is->control_deadline_at_ms != want->control_deadline_at_ms;
    if (is_asked) {
        (void)note(f, CHECK_CONTROL, is->key, is->id,
                   TEXT(f, "its holder is asked to pause or cancel, and it is %s",
                        pawl_task_state_name((enum pawl_task_state)is->state)));
    }
}

static void judge_place(struct fsck *f, const struct task_is *is, const struct task_is *want)
{
    if (is->has_rank && !want->has_rank) {
        (void)note(f, CHECK_RANK, is->key, is->id,
                   TEXT(f, "it is offered to workers and may not be claimed now"));
    } else if (!is->has_rank && want->has_rank) {
        (void)note(f, CHECK_RANK, is->key, is->id,
                   TEXT(f, "it may be claimed now and no worker is offered it"));
    } else if (is->has_rank && is->rank != want->rank) {
        (void)note(f, CHECK_RANK, is->key, is->id,
                   TEXT(f, "its place among the ready ones is not that of its priority"));
    }
    if (is->due_at_ms != want->due_at_ms) {
        (void)note(f, CHECK_DUE, is->key, is->id,
                   TEXT(f, "the engine looks at it %s, and has to at %" PRId64,
                        is->due_at_ms == 0 ? "never" : "too late", want->due_at_ms));
    }
}

static void judge_task(struct fsck *f, const struct task_is *is, bool is_told,
                       struct pawl_str fault)
{
    struct task_is want = task_wants(is, is_told);
    /* RUNNING with nothing due is no row that can be read, and that is how it is held */
    if (fault.len > 0 && !is->is_held) (void)note(f, CHECK_UNREADABLE, is->key, is->id, fault);
    if (!is->has_queue) {
        (void)note(f, CHECK_TASK_QUEUE, is->key, is->id,
                   TEXT(f, "its queue, key %" PRId64 ", is not there", is->queue));
    }
    if (is->owner != 0 && want.owner != 0 && !is->has_worker) {
        (void)note(f, CHECK_OWNER, is->key, is->id,
                   TEXT(f, "its owner, key %" PRId64 ", is not there", is->owner));
    }
    judge_lease(f, is, &want);
    differs(f, CHECK_READY_AT, is, "its deferral", is->ready_at_ms, want.ready_at_ms);
    differs(f, CHECK_RUN_AT, is, "the calendar time it waits for", is->run_at_ms, want.run_at_ms);
    judge_place(f, is, &want);
    differs(f, CHECK_OPEN, is, "the count of its open dependencies", is->open_dependencies,
            want.open_dependencies);
    differs(f, CHECK_BLOCKED, is, "the task that blocks it", is->blocked_by, want.blocked_by);
    differs(f, CHECK_HAS_DEPENDENTS, is, "whether others depend on it", is->has_dependents,
            want.has_dependents);
    differs(f, CHECK_SEQUENCE, is, "the sequence of its newest event", is->sequence, want.sequence);
    if (is->event_sequence < is->sequence) {
        (void)note(f, CHECK_HISTORY, is->key, is->id,
                   TEXT(f,
                        "its newest event is to be number %" PRId64 ", and there is only %" PRId64,
                        is->sequence, is->event_sequence));
    }
    if ((is->payloads & ~is->payload_bits) != 0) {
        (void)note(f, CHECK_PAYLOADS, is->key, is->id,
                   TEXT(f, "of its payloads (bits %" PRId64 ") some are missing (bits %" PRId64 ")",
                        is->payloads, is->payloads & ~is->payload_bits));
    }
    differs(f, CHECK_PAYLOAD_BYTES, is, "what a claim has to load, in bytes,", is->payload_bytes,
            want.payload_bytes);
    differs(f, CHECK_CHECKPOINT_COUNT, is, "the count of its checkpoints", is->checkpoint_count,
            want.checkpoint_count);
    differs(f, CHECK_CHECKPOINT_BYTES, is, "the size of its latest checkpoint",
            is->checkpoint_bytes, want.checkpoint_bytes);
    differs(f, CHECK_LOG_BYTES, is, "the size of its log", is->log_bytes, want.log_bytes);
}

static enum pawl_code on_task(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct walk *walk = self;
    struct task_is *is = pawl_arena_take(walk->f->arena, sizeof *is);
    if (is == NULL) return arena_code(walk->f, err);
    *is = read_task(row, walk->f);
    is->next = walk->rows;
    walk->rows = is;
    return row_came(walk, is->key, 0);
}

struct fault {
    struct pawl_arena *arena;
    struct pawl_str text;
    struct pawl_str id;
    bool is_found;
};

static enum pawl_code on_fault(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct fault *fault = self;
    struct pawl_task_row task = {0};
    (void)err;
    const char *text = pawl_row_task(row, fault->arena, &task);
    fault->is_found = true;
    fault->id = task.id;
    if (text != NULL) fault->text = pawl_str_of(text);
    return PAWL_OK;
}

/* What is wrong with the row as every load would see it; empty: nothing. */
static enum pawl_code read_fault(struct pawl_db *db, int64_t key, struct fault *fault,
                                 struct pawl_error *err)
{
    struct pawl_value value = pawl_int(key);
    enum pawl_code code = pawl_db_send(db, PAWL_SQL_READ_TASK, &value, 1, on_fault, fault, err);
    return code == PAWL_OK ? pawl_db_flush(db, err) : code;
}

static enum pawl_code on_any(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)row;
    (void)err;
    *(bool *)self = true;
    return PAWL_OK;
}

/* Whether a continuation is still to tell of the task, or to join those that wait for the id. */
static enum pawl_code read_tells(struct pawl_db *db, int64_t task, struct pawl_str id, bool *out,
                                 struct pawl_error *err)
{
    struct pawl_value values[] = {pawl_int(task), pawl_text(id)};
    *out = false;
    enum pawl_code code =
        pawl_db_send(db, PAWL_SQL_FSCK_TELLS, values, PAWL_COUNT_OF(values), on_any, out, err);
    return code == PAWL_OK ? pawl_db_flush(db, err) : code;
}

static enum pawl_code judge_tasks(struct walk *walk, struct pawl_error *err)
{
    struct fsck *f = walk->f;
    struct task_is *oldest = NULL;
    for (struct task_is *at = walk->rows, *next; at != NULL; at = next) {
        next = at->next;
        at->next = oldest;
        oldest = at;
    }
    enum pawl_code code = PAWL_OK;
    for (struct task_is *is = oldest; is != NULL && code == PAWL_OK; is = is->next) {
        struct fault fault = {.arena = f->arena};
        bool is_telling = false;
        code = read_fault(f->db, is->key, &fault, err);
        if (code == PAWL_OK && is->blocked_by != 0 && !is->is_blocker_bad) {
            code = read_tells(f->db, is->blocked_by, (struct pawl_str){0}, &is_telling, err);
        }
        if (code == PAWL_OK) judge_task(f, is, !is_telling, fault.text);
    }
    return code;
}

/* ---- Dependencies -----------------------------------------------------------------------------
 */

struct dependency_is {
    int64_t task, number, on_key;
    struct pawl_str on_id;
    bool is_open, has_task, has_on;
    struct pawl_str task_id;
    int64_t state, policy, blocked_by, on_state;
    int64_t awaited; /* the key of a task that has on_id */
    struct dependency_is *next;
};

static enum pawl_code on_dependency(void *self, const struct pawl_db_row *row,
                                    struct pawl_error *err)
{
    struct walk *walk = self;
    struct pawl_arena *arena = walk->f->arena;
    struct dependency_is *is = pawl_arena_take(arena, sizeof *is);
    if (is == NULL) return arena_code(walk->f, err);
    *is = (struct dependency_is){
        .task = pawl_db_int64(row, 0),
        .number = pawl_db_int64(row, 1),
        .on_key = pawl_db_int64(row, 2),
        .on_id = pawl_row_text(row, 3, arena),
        .is_open = pawl_db_int64(row, 4) != 0,
        .has_task = !pawl_db_is_null(row, 5),
        .task_id = pawl_row_text(row, 5, arena),
        .state = pawl_db_int64(row, 6),
        .policy = pawl_db_int64(row, 7),
        .blocked_by = pawl_db_int64(row, 8),
        .has_on = !pawl_db_is_null(row, 9),
        .on_state = pawl_db_int64(row, 10),
        .awaited = pawl_db_int64(row, 11),
        .next = walk->rows,
    };
    walk->rows = is;
    return row_came(walk, is->task, is->number);
}

static bool is_terminal(int64_t state)
{
    return pawl_task_state_is(state) && pawl_task_state_is_terminal((enum pawl_task_state)state);
}

/* Whether who waits should have been told what has become of the other. */
static bool is_news(const struct dependency_is *is)
{
    if (!is->is_open || is_terminal(is->state) || !is_terminal(is->on_state)) return false;
    if (is->on_state == PAWL_TASK_COMPLETED) return true;
    return is->policy != PAWL_DEPENDENCY_BLOCK || is->blocked_by == 0;
}

static enum pawl_code judge_dependency(struct fsck *f, const struct dependency_is *is,
                                       struct pawl_error *err)
{
    if (!is->has_task) {
        (void)note(f, CHECK_DEPENDENCY_TASK, is->task, (struct pawl_str){0},
                   TEXT(f, "dependency %" PRId64 " of a task that is not there (key %" PRId64 ")",
                        is->number, is->task));
        return PAWL_OK;
    }
    if ((is->on_key != 0) == (is->on_id.len != 0)) {
        (void)note(f, CHECK_DEPENDENCY_FORM, is->task, is->task_id,
                   TEXT(f, "its dependency %" PRId64 " names %s", is->number,
                        is->on_key != 0 ? "a key and an id" : "neither a key nor an id"));
        return PAWL_OK;
    }
    if (is->on_key != 0 && !is->has_on && is->is_open) {
        (void)note(f, CHECK_DEPENDENCY_FORM, is->task, is->task_id,
                   TEXT(f, "it waits for a task that is not there (key %" PRId64 ")", is->on_key));
        return PAWL_OK;
    }
    bool is_over = is->state == PAWL_TASK_COMPLETED || is->state == PAWL_TASK_CANCELLED;
    if (!is->is_open && is->has_on && is->policy != PAWL_DEPENDENCY_IGNORE && !is_over &&
        is->on_state != PAWL_TASK_COMPLETED) {
        (void)note(f, CHECK_DEPENDENCY_SHUT, is->task, is->task_id,
                   TEXT(f,
                        "its dependency %" PRId64
                        " counts as completed, and that task (key %" PRId64 ") is not",
                        is->number, is->on_key));
    }
    bool is_missed = is->on_key == 0 && is->awaited != 0 && !is_terminal(is->state);
    if (!is_missed && !is_news(is)) return PAWL_OK;
    bool is_telling = false;
    int64_t on = is_missed ? is->awaited : is->on_key;
    enum pawl_code code = read_tells(f->db, on, is->on_id, &is_telling, err);
    if (code != PAWL_OK || is_telling) return code;
    struct found *found = note(
        f, CHECK_DEPENDENCY_TOLD, on, is->task_id,
        is_missed ? TEXT(f, "it waits for an id as if no task had it, and one has it (%.*s)",
                         PAWL_STR_ARG(is->on_id))
                  : TEXT(f, "it waits for a task that has ended (key %" PRId64 ")", is->on_key));
    found->number = is_missed ? PAWL_CONTINUE_AWAITED : PAWL_CONTINUE_DEPENDENTS;
    found->name = is->on_id;
    return PAWL_OK;
}

static enum pawl_code judge_dependencies(struct walk *walk, struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    for (const struct dependency_is *is = walk->rows; is != NULL && code == PAWL_OK;
         is = is->next) {
        code = judge_dependency(walk->f, is, err);
    }
    return code;
}

/* ---- What lies beside tasks -------------------------------------------------------------------
 */

/* A row whose task is not there. After a removal that is so for a while: the rest goes by a
 * continuation. */
struct orphan {
    enum check check;
    const char *what;
    int64_t key;
    int64_t task;
    struct orphan *next;
};

static enum pawl_code orphan_came(struct walk *walk, enum check check, const char *what,
                                  int64_t key, int64_t task, struct pawl_error *err)
{
    struct orphan *orphan = pawl_arena_take(walk->f->arena, sizeof *orphan);
    if (orphan == NULL) return arena_code(walk->f, err);
    *orphan = (struct orphan){check, what, key, task, walk->rows};
    walk->rows = orphan;
    return PAWL_OK;
}

static enum pawl_code judge_orphans(struct walk *walk, struct pawl_error *err)
{
    struct fsck *f = walk->f;
    enum pawl_code code = PAWL_OK;
    for (const struct orphan *at = walk->rows; at != NULL && code == PAWL_OK; at = at->next) {
        bool is_going = false;
        code = read_tells(f->db, at->task, (struct pawl_str){0}, &is_going, err);
        if (code != PAWL_OK || is_going) continue;
        (void)note(f, at->check, at->key, (struct pawl_str){0},
                   TEXT(f, "%s of a task that is not there (key %" PRId64 ")", at->what, at->task));
    }
    return code;
}

static enum pawl_code on_event(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct walk *walk = self;
    struct fsck *f = walk->f;
    struct pawl_event_row event;
    int64_t position = pawl_db_int64(row, 0);
    const char *fault = pawl_row_event(row, f->arena, &event);
    if (fault != NULL) {
        (void)note(f, CHECK_EVENT, position, (struct pawl_str){0}, pawl_str_of(fault));
    }
    enum pawl_code code = PAWL_OK;
    if (pawl_db_is_null(row, PAWL_ROW_EVENT_COLUMNS)) {
        code =
            orphan_came(walk, CHECK_EVENT_TASK, "an event", position, pawl_db_int64(row, 1), err);
    }
    return code == PAWL_OK ? row_came(walk, position, 0) : code;
}

/* key, task's key, task's key if it is there */
static enum pawl_code on_beside(struct walk *walk, const struct pawl_db_row *row, enum check check,
                                const char *what, struct pawl_error *err)
{
    int64_t key = pawl_db_int64(row, 0);
    enum pawl_code code = PAWL_OK;
    if (pawl_db_is_null(row, 2)) {
        code = orphan_came(walk, check, what, key, pawl_db_int64(row, 1), err);
    }
    return code == PAWL_OK ? row_came(walk, key, 0) : code;
}

static enum pawl_code on_payload(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct walk *walk = self;
    struct fsck *f = walk->f;
    int64_t kind = pawl_db_int64(row, 0) % PAWL_PAYLOAD_KINDS_MAX;
    if (!pawl_db_is_null(row, 2) && (pawl_db_int64(row, 4) & (INT64_C(1) << kind)) == 0) {
        (void)note(
            f, CHECK_PAYLOAD_KIND, pawl_db_int64(row, 0), pawl_row_text(row, 3, f->arena),
            TEXT(f, "there is a payload of kind %" PRId64 " that it does not know of", kind));
    }
    return on_beside(walk, row, CHECK_PAYLOAD_TASK, "a payload", err);
}

static enum pawl_code on_checkpoint(void *self, const struct pawl_db_row *row,
                                    struct pawl_error *err)
{
    return on_beside(self, row, CHECK_CHECKPOINT_TASK, "a checkpoint", err);
}

static enum pawl_code on_log(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    return on_beside(self, row, CHECK_LOG_TASK, "a log line", err);
}

static enum pawl_code on_late(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    return on_beside(self, row, CHECK_LATE_TASK, "a late result", err);
}

static enum pawl_code on_tombstone(void *self, const struct pawl_db_row *row,
                                   struct pawl_error *err)
{
    struct walk *walk = self;
    struct fsck *f = walk->f;
    (void)err;
    if (!pawl_db_is_null(row, 2) || !pawl_db_is_null(row, 3)) {
        (void)note(f, CHECK_TOMBSTONE, pawl_db_int64(row, 0), pawl_row_text(row, 1, f->arena),
                   TEXT(f, "it has a tombstone, and is there"));
    }
    return row_came(walk, pawl_db_int64(row, 0), 0);
}

/* ---- Queues, workers, consumers, continuations, quarantine ------------------------------------
 */

static enum pawl_code on_queue(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct walk *walk = self;
    struct pawl_queue_row queue;
    (void)err;
    const char *fault = pawl_row_queue(row, walk->f->arena, &queue);
    if (fault != NULL) {
        (void)note(walk->f, CHECK_QUEUE, queue.key, (struct pawl_str){0},
                   TEXT(walk->f, "queue %.*s: %s", PAWL_STR_ARG(queue.name), fault));
    }
    return row_came(walk, queue.key, 0);
}

static enum pawl_code on_worker(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct walk *walk = self;
    struct pawl_worker_row worker;
    (void)err;
    const char *fault = pawl_row_worker(row, walk->f->arena, &worker);
    if (fault != NULL) {
        (void)note(walk->f, CHECK_WORKER, worker.key, (struct pawl_str){0},
                   TEXT(walk->f, "worker %.*s: %s", PAWL_STR_ARG(worker.id), fault));
    }
    return row_came(walk, worker.key, 0);
}

static enum pawl_code on_consumer(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct walk *walk = self;
    struct fsck *f = walk->f;
    struct pawl_consumer_row consumer;
    (void)err;
    (void)pawl_row_consumer(row, f->arena, &consumer); /* it has no faults */
    if (consumer.cursor > f->position || consumer.cursor < 0) {
        (void)note(f, CHECK_CURSOR, consumer.key, (struct pawl_str){0},
                   TEXT(f,
                        "consumer %.*s has read to %" PRId64 ", and the newest event is %" PRId64
                        ": it would miss what comes",
                        PAWL_STR_ARG(consumer.name), consumer.cursor, f->position));
    }
    return row_came(walk, consumer.key, 0);
}

static enum pawl_code on_acknowledgement(void *self, const struct pawl_db_row *row,
                                         struct pawl_error *err)
{
    struct walk *walk = self;
    struct fsck *f = walk->f;
    int64_t consumer = pawl_db_int64(row, 0);
    int64_t position = pawl_db_int64(row, 1);
    int64_t cursor = pawl_db_int64(row, 3);
    (void)err;
    if (pawl_db_is_null(row, 2)) {
        (void)note(
            f, CHECK_ACK_CONSUMER, consumer, (struct pawl_str){0},
            TEXT(f, "event %" PRId64 " is acknowledged by a consumer that is not there", position));
    } else if (position <= cursor) {
        note(f, CHECK_ACK_CURSOR, consumer, (struct pawl_str){0},
             TEXT(f, "event %" PRId64 " is acknowledged twice: the cursor is beyond it", position))
            ->number = cursor;
    }
    return row_came(walk, consumer, position);
}

static enum pawl_code on_continuation(void *self, const struct pawl_db_row *row,
                                      struct pawl_error *err)
{
    struct walk *walk = self;
    struct fsck *f = walk->f;
    struct pawl_continuation_row rest;
    (void)err;
    const char *fault = pawl_row_continuation(row, f->arena, &rest);
    if (fault != NULL) {
        (void)note(f, CHECK_CONTINUATION, rest.key, (struct pawl_str){0}, pawl_str_of(fault));
    } else if (rest.task != 0 && rest.kind != PAWL_CONTINUE_REMAINS &&
               pawl_db_is_null(row, PAWL_ROW_CONTINUATION_COLUMNS)) {
        (void)note(f, CHECK_CONTINUATION_TASK, rest.key, (struct pawl_str){0},
                   TEXT(f,
                        "the rest of a decision about a task that is not there (key %" PRId64 ")",
                        rest.task));
    }
    return row_came(walk, rest.key, 0);
}

/* The next page of a table whose key is text begins behind this one. A longer key than there is
 * room for can only be damage: what begins alike is passed over. */
static void text_came(struct walk *walk, struct pawl_str key)
{
    bool fits = key.len < sizeof walk->text;
    size_t len = fits ? key.len : sizeof walk->text;
    if (len > 0) memcpy(walk->text, key.ptr, len);
    if (!fits) walk->text[len - 1]++;
    walk->after_text = (struct pawl_str){walk->text, len};
}

static enum pawl_code on_import(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    enum { DIGEST_BYTES = 32 }; /* of hex */
    struct walk *walk = self;
    struct fsck *f = walk->f;
    struct pawl_str digest = pawl_row_text(row, 0, f->arena);
    struct pawl_str name = pawl_row_text(row, 1, f->arena);
    bool is_right =
        digest.len == DIGEST_BYTES && pawl_db_int64(row, 2) > 0 && pawl_db_int64(row, 3) >= 0;
    (void)err;
    for (size_t i = 0; i < digest.len && is_right; i++) {
        char c = digest.ptr[i];
        is_right = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    }
    if (!is_right) {
        (void)note(f, CHECK_IMPORT, 0, (struct pawl_str){0},
                   TEXT(f,
                        "the import of %.*s is noted with a digest, a time or a count of tasks "
                        "that none can have",
                        PAWL_STR_ARG(name)));
    }
    text_came(walk, digest);
    return row_came(walk, 0, 0);
}

struct quarantined {
    struct pawl_str table;
    int64_t key;
    struct pawl_str id;
    struct pawl_str reason;
    struct quarantined *next;
};

static enum pawl_code on_quarantined(void *self, const struct pawl_db_row *row,
                                     struct pawl_error *err)
{
    struct walk *walk = self;
    struct pawl_arena *arena = walk->f->arena;
    struct quarantined *is = pawl_arena_take(arena, sizeof *is);
    if (is == NULL) return arena_code(walk->f, err);
    *is = (struct quarantined){pawl_row_text(row, 0, arena), pawl_db_int64(row, 1),
                               pawl_row_text(row, 2, arena), pawl_row_text(row, 3, arena),
                               walk->rows};
    walk->rows = is;
    text_came(walk, is->table);
    return row_came(walk, 0, is->key);
}

static enum pawl_code judge_quarantined(struct walk *walk, struct pawl_error *err)
{
    struct fsck *f = walk->f;
    enum pawl_code code = PAWL_OK;
    for (const struct quarantined *is = walk->rows; is != NULL && code == PAWL_OK; is = is->next) {
        struct fault fault = {.arena = f->arena};
        bool is_task = pawl_str_equal(is->table, PAWL_STR("task"));
        if (is_task) code = read_fault(f->db, is->key, &fault, err);
        if (code != PAWL_OK) break;
        bool is_readable = is_task && fault.is_found && fault.text.len == 0;
        bool is_deadly = is_task && fault.is_found &&
                         pawl_str_equal(is->reason, PAWL_STR(PAWL_SET_ASIDE_DEADLY));
        bool is_over = is_readable && (!is_deadly || is_named(f, fault.id));
        f->has_let_out = f->has_let_out || (is_deadly && is_named(f, fault.id));
        struct found *found =
            note(f,
                 is_over     ? CHECK_QUARANTINE_OVER
                 : is_deadly ? CHECK_QUARANTINE_DEADLY
                             : CHECK_QUARANTINE,
                 is->key, is_deadly || is_over ? fault.id : is->id,
                 is_over ? TEXT(f, "it was set aside (%.*s) and can be read again",
                                PAWL_STR_ARG(is->reason))
                         : TEXT(f, "a row of %.*s is set aside: %.*s", PAWL_STR_ARG(is->table),
                                PAWL_STR_ARG(is->reason)));
        found->name = is->table;
    }
    return code;
}

/* ---- Mending ----------------------------------------------------------------------------------
 */

struct one_task {
    const struct fsck *f;
    struct task_is is;
    bool is_found;
};

static enum pawl_code on_one_task(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct one_task *one = self;
    (void)err;
    one->is = read_task(row, one->f);
    one->is_found = true;
    return PAWL_OK;
}

static enum pawl_code mend_task(struct fsck *f, const struct found *found, struct pawl_error *err)
{
    struct pawl_db *db = f->ask->store->db;
    struct one_task one = {.f = f};
    struct pawl_value page[] = {pawl_int(found->key - 1), pawl_int(1), pawl_int(PAWL_LOG_ROW_BYTES),
                                pawl_text(PAWL_STR(PAWL_SET_ASIDE_DEADLY))};
    bool is_telling = false;
    enum pawl_code code =
        pawl_db_send(db, PAWL_SQL_FSCK_TASKS, page, PAWL_COUNT_OF(page), on_one_task, &one, err);
    if (code == PAWL_OK) code = pawl_db_flush(db, err);
    if (code != PAWL_OK || !one.is_found || one.is.key != found->key) return code;
    if (one.is.blocked_by != 0) {
        code = read_tells(db, one.is.blocked_by, (struct pawl_str){0}, &is_telling, err);
        if (code != PAWL_OK) return code;
    }
    struct task_is want = task_wants(&one.is, !is_telling);
    struct pawl_value values[] = {
        pawl_int(want.key),
        want.has_rank ? pawl_int(want.rank) : pawl_null(),
        pawl_int_or_null(want.due_at_ms),
        pawl_int_or_null(want.lease_kind),
        pawl_int_or_null(want.owner),
        pawl_int_or_null(want.lease_ms),
        pawl_int_or_null(want.lease_end_at_ms),
        pawl_int_or_null(want.attempt_end_at_ms),
        pawl_int_or_null(want.ready_at_ms),
        pawl_int(want.control),
        pawl_int_or_null(want.control_deadline_at_ms),
        pawl_int(want.sequence),
        pawl_int(want.open_dependencies),
        pawl_int_or_null(want.blocked_by),
        pawl_int(want.has_dependents),
        pawl_int(want.checkpoint_count),
        pawl_int(want.log_bytes),
        pawl_int(want.payload_bytes),
        pawl_int(want.checkpoint_bytes),
        pawl_int_or_null(want.run_at_ms),
    };
    return pawl_db_change(db, PAWL_SQL_TASK_MEND, values, PAWL_COUNT_OF(values), true, err);
}

static enum pawl_code mend_head(struct fsck *f, struct pawl_head *head, struct pawl_error *err)
{
    struct head_is is;
    enum pawl_code code = read_head(f->ask->store->db, &is, err);
    if (code != PAWL_OK) return code;
    if (head->position < is.newest_position) head->position = is.newest_position;
    if (head->next_key <= is.largest_key) head->next_key = is.largest_key + 1;
    return PAWL_OK;
}

static enum pawl_code mend_telling(struct fsck *f, const struct found *found,
                                   struct pawl_head *head, struct pawl_error *err)
{
    struct pawl_db *db = f->ask->store->db;
    bool is_telling = false;
    enum pawl_code code = read_tells(db, found->key, found->name, &is_telling, err);
    if (code != PAWL_OK || is_telling) return code;
    struct pawl_value values[] = {
        pawl_int(head->next_key++),
        pawl_int(found->number),
        pawl_int(found->key),
        pawl_int(0),
        pawl_int(0),
        pawl_int(0),
        pawl_text_or_null(found->name),
    };
    return pawl_db_change(db, PAWL_SQL_CONTINUATION_ADD, values, PAWL_COUNT_OF(values), true, err);
}

struct one_consumer {
    int64_t cursor;
    int64_t seen_at_ms;
};

static enum pawl_code on_one_consumer(void *self, const struct pawl_db_row *row,
                                      struct pawl_error *err)
{
    (void)err;
    *(struct one_consumer *)self =
        (struct one_consumer){pawl_db_int64(row, 2), pawl_db_int64(row, 3)};
    return PAWL_OK;
}

static enum pawl_code mend_consumer(struct fsck *f, const struct found *found,
                                    const struct pawl_head *head, struct pawl_error *err)
{
    struct pawl_db *db = f->ask->store->db;
    struct one_consumer is = {0};
    struct pawl_value page[] = {pawl_int(found->key - 1), pawl_int(1)};
    enum pawl_code code = pawl_db_send(db, PAWL_SQL_FSCK_CONSUMERS, page, PAWL_COUNT_OF(page),
                                       on_one_consumer, &is, err);
    if (code == PAWL_OK) code = pawl_db_flush(db, err);
    if (code != PAWL_OK || (is.cursor >= 0 && is.cursor <= head->position)) return code;
    struct pawl_value values[] = {pawl_int(found->key),
                                  pawl_int(is.cursor < 0 ? 0 : head->position),
                                  pawl_int(is.seen_at_ms)};
    return pawl_db_change(db, PAWL_SQL_CONSUMER_SAVE, values, PAWL_COUNT_OF(values), false, err);
}

static enum pawl_code mend_quarantined(struct fsck *f, const struct found *found,
                                       struct pawl_error *err)
{
    struct pawl_db *db = f->ask->store->db;
    struct fault fault = {.arena = f->arena};
    enum pawl_code code = read_fault(db, found->key, &fault, err);
    if (code != PAWL_OK || !fault.is_found || fault.text.len > 0) return code;
    struct pawl_value values[] = {pawl_text(found->name), pawl_int(found->key)};
    return pawl_db_change(db, PAWL_SQL_QUARANTINE_REMOVE, values, PAWL_COUNT_OF(values), false,
                          err);
}

static enum pawl_code mend_one(struct fsck *f, const struct found *found, struct pawl_head *head,
                               struct pawl_error *err)
{
    struct pawl_value acknowledgement[] = {pawl_int(found->key), pawl_int(found->number)};
    switch (checks[found->check].mending) {
    case BY_NOTHING:
        return PAWL_OK;
    case BY_HEAD:
        return mend_head(f, head, err);
    case BY_TASK:
        return mend_task(f, found, err);
    case BY_TELL:
        return mend_telling(f, found, head, err);
    case BY_CONSUMER:
        return mend_consumer(f, found, head, err);
    case BY_ACKNOWLEDGEMENT:
        return pawl_db_change(f->ask->store->db, PAWL_SQL_ACKNOWLEDGEMENT_PRUNE, acknowledgement, 2,
                              false, err);
    case BY_QUARANTINE_ROW:
        return mend_quarantined(f, found, err);
    }
    return PAWL_OK;
}

/* A task is mended as a whole, and what it has several findings of, once. */
static bool is_first_of_its_task(const struct fsck *f, const struct found *found)
{
    if (checks[found->check].mending != BY_TASK) return true;
    for (const struct found *at = f->first; at != found; at = at->next) {
        if (checks[at->check].mending == BY_TASK && at->key == found->key) return false;
    }
    return true;
}

static enum pawl_code mend_page(struct fsck *f, struct pawl_error *err)
{
    struct pawl_store *store = f->ask->store;
    struct pawl_set nothing;
    struct pawl_head head;
    pawl_set_init(&nothing, f->arena);
    enum pawl_code code = pawl_store_begin(store, &head, err);
    if (code != PAWL_OK) return code;
    for (const struct found *at = f->first; at != NULL && code == PAWL_OK; at = at->next) {
        if (is_first_of_its_task(f, at)) code = mend_one(f, at, &head, err);
    }
    store->is_dirty = true;
    if (code == PAWL_OK) return pawl_store_commit(store, &nothing, &head, err);
    pawl_store_rollback(store);
    return code;
}

/* Mends what can be, in one transaction, and writes a line of the log for each. */
static enum pawl_code mend(struct fsck *f, struct pawl_error *err)
{
    const struct pawl_fsck_run *ask = f->ask;
    bool is_worth_it = false;
    for (const struct found *at = f->first; at != NULL; at = at->next) {
        if (checks[at->check].mending != BY_NOTHING) is_worth_it = true;
    }
    if (!is_worth_it) return PAWL_OK;
    enum pawl_code code = ask->turn_take(ask->self, err);
    if (code != PAWL_OK) return code;
    code = mend_page(f, err);
    ask->turn_give(ask->self, code == PAWL_OK || code == PAWL_UNKNOWN_OUTCOME);
    for (struct found *at = f->first; at != NULL && code == PAWL_OK; at = at->next) {
        at->is_repaired = checks[at->check].mending != BY_NOTHING;
        if (!at->is_repaired) continue;
        f->done.repaired++;
        pawl_log_write(ask->options->log, PAWL_LOG_INFO, "fsck.repaired",
                       PAWL_TEXT("check", pawl_str_of(checks[at->check].name)),
                       PAWL_INT("key", at->key), PAWL_TEXT("task", at->task_id),
                       PAWL_TEXT("reason", at->text));
    }
    return code;
}

static void tell(struct fsck *f)
{
    for (const struct found *at = f->first; at != NULL; at = at->next) {
        struct pawl_fsck_finding finding = {
            .check = checks[at->check].name,
            .task_id = at->task_id,
            .key = at->key,
            .text = at->text,
            .advice = at->is_repaired ? PAWL_STR("it has been set right")
                                      : pawl_str_of(checks[at->check].advice),
            .can_repair = checks[at->check].mending != BY_NOTHING,
            .is_repaired = at->is_repaired,
        };
        f->done.found++;
        if (f->ask->found != NULL) f->ask->found(f->ask->self, &finding);
    }
}

/* ---- The whole --------------------------------------------------------------------------------
 */

static void begin_findings(struct fsck *f)
{
    pawl_arena_reset(f->arena);
    f->first = NULL;
    f->last = &f->first;
}

static enum pawl_code end_findings(struct fsck *f, struct pawl_error *err)
{
    enum pawl_code code = arena_code(f, err);
    if (code == PAWL_OK && f->ask->store != NULL) code = mend(f, err);
    if (code == PAWL_OK) tell(f);
    return code;
}

/* One read transaction: head, then a page of one table. */
static enum pawl_code read_page(struct walk *walk,
                                enum pawl_code (*judge)(struct walk *, struct pawl_error *),
                                struct pawl_error *err)
{
    struct fsck *f = walk->f;
    struct head_is head;
    walk->count = 0;
    walk->rows = NULL;
    walk->is_cut = false;
    f->began_boot_ms = boot_now(f);
    enum pawl_code code = pawl_db_begin(f->db, false, err);
    if (code != PAWL_OK) return code;
    code = read_head(f->db, &head, err);
    f->position = head.position;
    if (code == PAWL_OK && walk->on_row == NULL) judge_head(f, &head);
    if (code == PAWL_OK && walk->on_row != NULL) code = ask_page(walk, err);
    if (code == PAWL_OK && judge != NULL) code = judge(walk, err);
    pawl_db_rollback(f->db);
    int64_t took_ms = boot_now(f) - f->began_boot_ms;
    if (took_ms > f->done.page_ms_max) f->done.page_ms_max = took_ms;
    return code;
}

static enum pawl_code walk_all(struct walk *walk,
                               enum pawl_code (*judge)(struct walk *, struct pawl_error *),
                               struct pawl_error *err)
{
    struct fsck *f = walk->f;
    enum pawl_code code;
    bool is_end;
    do {
        int64_t asked = f->page_rows;
        begin_findings(f);
        code = read_page(walk, judge, err);
        if (code == PAWL_OK) fit_page(f);
        if (code == PAWL_OK) code = end_findings(f, err);
        is_end = !walk->is_cut && walk->count < asked;
    } while (code == PAWL_OK && !is_end);
    return code;
}

static enum pawl_code check_file(struct fsck *f, struct pawl_error *err)
{
    struct pawl_error why = {0};
    struct pawl_str path = f->db->driver->path(f->db);
    if (f->db->driver->is_postgres || f->ask->skips_file || f->ask->options->vfs != NULL)
        return PAWL_OK;
    begin_findings(f);
    enum pawl_code code = pawl_sqlite_check(path.ptr, &why);
    if (code == PAWL_CORRUPT) {
        (void)note(f, CHECK_FILE, 0, (struct pawl_str){0}, pawl_str_of(why.text));
        code = PAWL_OK;
    }
    if (code != PAWL_OK && err != NULL) *err = why;
    return code == PAWL_OK ? end_findings(f, err) : code;
}

static enum pawl_code run(struct fsck *f, struct pawl_error *err)
{
    static const struct {
        enum pawl_statement statement;
        pawl_on_row *on_row;
        enum pawl_code (*judge)(struct walk *, struct pawl_error *);
        bool has_parts;
        bool has_text;
    } tables[] = {
        {PAWL_SQL_FSCK_HEAD, NULL, NULL, false, false},
        {PAWL_SQL_FSCK_QUEUES, on_queue, NULL, false, false},
        {PAWL_SQL_FSCK_WORKERS, on_worker, NULL, false, false},
        {PAWL_SQL_FSCK_TASKS, on_task, judge_tasks, false, false},
        {PAWL_SQL_FSCK_DEPENDENCIES, on_dependency, judge_dependencies, true, false},
        {PAWL_SQL_FSCK_PAYLOADS, on_payload, judge_orphans, false, false},
        {PAWL_SQL_FSCK_CHECKPOINTS, on_checkpoint, judge_orphans, false, false},
        {PAWL_SQL_FSCK_LOGS, on_log, judge_orphans, false, false},
        {PAWL_SQL_FSCK_LATES, on_late, judge_orphans, false, false},
        {PAWL_SQL_FSCK_EVENTS, on_event, judge_orphans, false, false},
        {PAWL_SQL_FSCK_TOMBSTONES, on_tombstone, NULL, false, false},
        {PAWL_SQL_FSCK_CONSUMERS, on_consumer, NULL, false, false},
        {PAWL_SQL_FSCK_ACKNOWLEDGEMENTS, on_acknowledgement, NULL, true, false},
        {PAWL_SQL_FSCK_CONTINUATIONS, on_continuation, NULL, false, false},
        {PAWL_SQL_FSCK_IMPORTS, on_import, NULL, false, true},
        {PAWL_SQL_FSCK_QUARANTINE, on_quarantined, judge_quarantined, true, true},
    };
    enum pawl_code code = check_file(f, err);
    for (size_t i = 0; i < PAWL_COUNT_OF(tables) && code == PAWL_OK; i++) {
        struct walk walk = {
            .f = f,
            .statement = tables[i].statement,
            .on_row = tables[i].on_row,
            .has_parts = tables[i].has_parts,
            .has_text = tables[i].has_text,
            .after = INT64_MIN,
            .after_part = INT64_MIN,
        };
        code = walk_all(&walk, tables[i].judge, err);
    }
    return code;
}

enum pawl_code pawl_fsck_run(const struct pawl_fsck_run *ask, struct pawl_fsck_done *out,
                             struct pawl_error *err)
{
    enum { PAGE_ROWS_FIRST = 64 };
    struct fsck f = {.ask = ask, .page_rows = PAGE_ROWS_FIRST};
    struct pawl_db_options options = {
        .target = ask->options->target,
        .read_only = true,
        .vfs = ask->options->vfs,
        .schema = ask->options->schema,
        .log = ask->options->log,
    };
    enum pawl_code code = pawl_arena_open(&f.arena, 0);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no memory for fsck");
    code = pawl_db_open(&f.db, &options, err);
    if (code == PAWL_OK) code = run(&f, err);
    if (code == PAWL_OK && ask->let_out.len > 0 && !f.has_let_out) {
        code = pawl_error_set(err, PAWL_NOT_FOUND,
                              "let_out: no task %.*s is set aside because it kills its process",
                              PAWL_STR_ARG(ask->let_out));
    }
    pawl_db_close(f.db);
    pawl_arena_close(f.arena);
    if (code == PAWL_OK) *out = f.done;
    return code;
}
