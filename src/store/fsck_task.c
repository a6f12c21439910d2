/* Tasks as they are, and as they should be by what lies beside them. */
#include "store/fsck_pass.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/str.h"
#include "core/limits.h"
#include "store/handle.h"
#include "store/rows.h"

#include <inttypes.h>

bool pawl_fsck_is_named(const struct pawl_fsck_pass *f, struct pawl_str id)
{
    return id.len > 0 && pawl_str_equal(id, f->ask->let_out);
}

struct pawl_fsck_task pawl_fsck_read_task(const struct pawl_db_row *row,
                                          const struct pawl_fsck_pass *f)
{
    enum { ROW_COLUMNS = 28 };
    struct pawl_fsck_task is = {.key = pawl_db_int64(row, 0),
                                .id = pawl_row_text(row, 1, f->arena)};
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
    is.is_held = !pawl_db_is_null(row, at++) && !pawl_fsck_is_named(f, is.id);
    return is;
}

static int64_t earliest(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The row as it has to be, as far as that follows from the rest. is_told: nobody is still to be
 * told of what has become of the task that blocks it. */
struct pawl_fsck_task pawl_fsck_task_wants(const struct pawl_fsck_task *is, bool is_told)
{
    struct pawl_fsck_task want = *is;
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
        bool is_told_of = is->control_deadline_at_ms <= is->updated_at_ms;
        due_at_ms = earliest(earliest(is->lease_end_at_ms, is->attempt_end_at_ms),
                             is_told_of ? 0 : is->control_deadline_at_ms);
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

static void differs(struct pawl_fsck_pass *f, enum pawl_fsck_check check,
                    const struct pawl_fsck_task *is, const char *what, int64_t said, int64_t wanted)
{
    if (said == wanted) return;
    (void)pawl_fsck_note(f, check, is->key, is->id,
                         TEXT(f, "%s is %" PRId64 " and has to be %" PRId64, what, said, wanted));
}

static void judge_lease(struct pawl_fsck_pass *f, const struct pawl_fsck_task *is,
                        const struct pawl_fsck_task *want)
{
    bool is_left = is->lease_kind != want->lease_kind || is->owner != want->owner ||
                   is->lease_ms != want->lease_ms || is->lease_end_at_ms != want->lease_end_at_ms ||
                   is->attempt_end_at_ms != want->attempt_end_at_ms;
    if (is_left) {
        (void)pawl_fsck_note(f, PAWL_CHECK_LEASE, is->key, is->id,
                             TEXT(f, "it is %s and has what only a lease has",
                                  pawl_task_state_name((enum pawl_task_state)is->state)));
    }
    bool is_asked =
        is->control != want->control || is->control_deadline_at_ms != want->control_deadline_at_ms;
    if (is_asked) {
        (void)pawl_fsck_note(f, PAWL_CHECK_CONTROL, is->key, is->id,
                             TEXT(f, "its holder is asked to pause or cancel, and it is %s",
                                  pawl_task_state_name((enum pawl_task_state)is->state)));
    }
}

static void judge_place(struct pawl_fsck_pass *f, const struct pawl_fsck_task *is,
                        const struct pawl_fsck_task *want)
{
    if (is->has_rank && !want->has_rank) {
        (void)pawl_fsck_note(f, PAWL_CHECK_RANK, is->key, is->id,
                             TEXT(f, "it is offered to workers and may not be claimed now"));
    } else if (!is->has_rank && want->has_rank) {
        (void)pawl_fsck_note(f, PAWL_CHECK_RANK, is->key, is->id,
                             TEXT(f, "it may be claimed now and no worker is offered it"));
    } else if (is->has_rank && is->rank != want->rank) {
        (void)pawl_fsck_note(f, PAWL_CHECK_RANK, is->key, is->id,
                             TEXT(f, "its place among the ready ones is not that of its priority"));
    }
    if (is->due_at_ms != want->due_at_ms) {
        (void)pawl_fsck_note(f, PAWL_CHECK_DUE, is->key, is->id,
                             TEXT(f, "the engine looks at it %s, and has to at %" PRId64,
                                  is->due_at_ms == 0 ? "never" : "too late", want->due_at_ms));
    }
}

static void judge_task(struct pawl_fsck_pass *f, const struct pawl_fsck_task *is, bool is_told,
                       struct pawl_str fault)
{
    struct pawl_fsck_task want = pawl_fsck_task_wants(is, is_told);
    /* RUNNING with nothing due is no row that can be read, and that is how it is held */
    if (fault.len > 0 && !is->is_held)
        (void)pawl_fsck_note(f, PAWL_CHECK_UNREADABLE, is->key, is->id, fault);
    if (!is->has_queue) {
        (void)pawl_fsck_note(f, PAWL_CHECK_TASK_QUEUE, is->key, is->id,
                             TEXT(f, "its queue, key %" PRId64 ", is not there", is->queue));
    }
    if (is->owner != 0 && want.owner != 0 && !is->has_worker) {
        (void)pawl_fsck_note(f, PAWL_CHECK_OWNER, is->key, is->id,
                             TEXT(f, "its owner, key %" PRId64 ", is not there", is->owner));
    }
    judge_lease(f, is, &want);
    differs(f, PAWL_CHECK_READY_AT, is, "its deferral", is->ready_at_ms, want.ready_at_ms);
    differs(f, PAWL_CHECK_RUN_AT, is, "the calendar time it waits for", is->run_at_ms,
            want.run_at_ms);
    judge_place(f, is, &want);
    differs(f, PAWL_CHECK_OPEN, is, "the count of its open dependencies", is->open_dependencies,
            want.open_dependencies);
    differs(f, PAWL_CHECK_BLOCKED, is, "the task that blocks it", is->blocked_by, want.blocked_by);
    differs(f, PAWL_CHECK_HAS_DEPENDENTS, is, "whether others depend on it", is->has_dependents,
            want.has_dependents);
    differs(f, PAWL_CHECK_SEQUENCE, is, "the sequence of its newest event", is->sequence,
            want.sequence);
    if (is->event_sequence < is->sequence) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_HISTORY, is->key, is->id,
            TEXT(f, "its newest event is to be number %" PRId64 ", and there is only %" PRId64,
                 is->sequence, is->event_sequence));
    }
    if ((is->payloads & ~is->payload_bits) != 0) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_PAYLOADS, is->key, is->id,
            TEXT(f, "of its payloads (bits %" PRId64 ") some are missing (bits %" PRId64 ")",
                 is->payloads, is->payloads & ~is->payload_bits));
    }
    differs(f, PAWL_CHECK_PAYLOAD_BYTES, is, "what a claim has to load, in bytes,",
            is->payload_bytes, want.payload_bytes);
    differs(f, PAWL_CHECK_CHECKPOINT_COUNT, is, "the count of its checkpoints",
            is->checkpoint_count, want.checkpoint_count);
    differs(f, PAWL_CHECK_CHECKPOINT_BYTES, is, "the size of its latest checkpoint",
            is->checkpoint_bytes, want.checkpoint_bytes);
    differs(f, PAWL_CHECK_LOG_BYTES, is, "the size of its log", is->log_bytes, want.log_bytes);
}

enum pawl_code pawl_fsck_on_task(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_task *is = pawl_arena_take(walk->f->arena, sizeof *is);
    if (is == NULL) return pawl_fsck_arena_code(walk->f, err);
    *is = pawl_fsck_read_task(row, walk->f);
    is->next = walk->rows;
    walk->rows = is;
    return pawl_fsck_row_came(walk, is->key, 0);
}

static enum pawl_code on_fault(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct pawl_fsck_fault *fault = self;
    struct pawl_task_row task = {0};
    (void)err;
    const char *text = pawl_row_task(row, fault->arena, &task);
    fault->is_found = true;
    fault->id = task.id;
    if (text != NULL) fault->text = pawl_str_of(text);
    return PAWL_OK;
}

enum pawl_code pawl_fsck_read_fault(struct pawl_db *db, int64_t key, struct pawl_fsck_fault *fault,
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

enum pawl_code pawl_fsck_read_tells(struct pawl_db *db, int64_t task, struct pawl_str id, bool *out,
                                    struct pawl_error *err)
{
    struct pawl_value values[] = {pawl_int(task), pawl_text(id)};
    *out = false;
    enum pawl_code code =
        pawl_db_send(db, PAWL_SQL_FSCK_TELLS, values, PAWL_COUNT_OF(values), on_any, out, err);
    return code == PAWL_OK ? pawl_db_flush(db, err) : code;
}

enum pawl_code pawl_fsck_judge_tasks(struct pawl_fsck_walk *walk, struct pawl_error *err)
{
    struct pawl_fsck_pass *f = walk->f;
    struct pawl_fsck_task *oldest = NULL;
    for (struct pawl_fsck_task *at = walk->rows, *next; at != NULL; at = next) {
        next = at->next;
        at->next = oldest;
        oldest = at;
    }
    enum pawl_code code = PAWL_OK;
    for (struct pawl_fsck_task *is = oldest; is != NULL && code == PAWL_OK; is = is->next) {
        struct pawl_fsck_fault fault = {.arena = f->arena};
        bool is_telling = false;
        code = pawl_fsck_read_fault(f->db, is->key, &fault, err);
        if (code == PAWL_OK && is->blocked_by != 0 && !is->is_blocker_bad) {
            code =
                pawl_fsck_read_tells(f->db, is->blocked_by, (struct pawl_str){0}, &is_telling, err);
        }
        if (code == PAWL_OK) judge_task(f, is, !is_telling, fault.text);
    }
    return code;
}
