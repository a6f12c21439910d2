/* Workflows and their records: each counter is counted again. */
#include "store/fsck_pass.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/str.h"
#include "core/workflow/decision.h"
#include "core/workflow/snapshot.h"
#include "store/handle.h"
#include "store/rows.h"

#include <inttypes.h>

static void differs(struct pawl_fsck_pass *f, enum pawl_fsck_check check, int64_t key,
                    struct pawl_str id, const char *what, int64_t said, int64_t wanted)
{
    if (said == wanted) return;
    (void)pawl_fsck_note(f, check, key, id,
                         TEXT(f, "%s is %" PRId64 " and has to be %" PRId64, what, said, wanted));
}

/* FSCK_WORKFLOWS: what the row says, then what there is. */
struct checked_workflow {
    struct pawl_arena *arena;
    struct pawl_workflow_row row;
    const char *fault; /* NULL: none */
    bool can_count;    /* it has none, or its counters are it */
    bool has_snapshot;
    uint32_t payloads;
    int64_t undecided;
    int64_t continuations;
    int64_t failures;
    int64_t newest_seq;
    int64_t newest; /* task */
    bool has_last;
};

static enum pawl_code read_workflow(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    enum {
        HAS_SNAPSHOT = PAWL_ROW_WORKFLOW_COLUMNS,
        PAYLOADS,
        UNDECIDED,
        CONTINUATIONS,
        FAILURES,
        SEQ,
        NEWEST,
        HAS_LAST,
    };
    struct checked_workflow *is = self;
    (void)err;
    is->fault = pawl_row_workflow(row, is->arena, &is->row);
    is->can_count = is->fault == NULL || is->fault == pawl_workflow_row_fault(&is->row);
    is->has_snapshot = pawl_db_int64(row, HAS_SNAPSHOT) != 0;
    is->payloads = (uint32_t)pawl_db_int64(row, PAYLOADS);
    is->undecided = pawl_db_int64(row, UNDECIDED);
    is->continuations = pawl_db_int64(row, CONTINUATIONS);
    is->failures = pawl_db_int64(row, FAILURES);
    is->newest_seq = pawl_db_int64(row, SEQ);
    is->newest = pawl_db_int64(row, NEWEST);
    is->has_last = pawl_db_int64(row, HAS_LAST) != 0;
    return PAWL_OK;
}

/* Its counters as they should be. How many records are ahead of the flow cannot be counted again: one is enough to
 * have it look. */
static struct pawl_workflow_row counted(const struct checked_workflow *is)
{
    struct pawl_workflow_row want = is->row;
    want.open = is->undecided + is->continuations;
    if (!pawl_workflow_state_is_terminal(want.state)) want.permissive = is->failures;
    if (want.permissive < 0) want.permissive = 0;
    if (want.ahead < 0) want.ahead = 1;
    if (want.next_seq <= is->newest_seq || want.next_seq < 1) want.next_seq = is->newest_seq + 1;
    if (!is->has_last && want.last != 0) want.last = is->newest;
    return want;
}

static void judge_counters(struct pawl_fsck_pass *f, const struct checked_workflow *is)
{
    const struct pawl_workflow_row *w = &is->row;
    struct pawl_workflow_row want = counted(is);
    differs(f, PAWL_CHECK_WORKFLOW_OPEN, w->key, w->id, "the count of what is open", w->open,
                  want.open);
    differs(f, PAWL_CHECK_WORKFLOW_PERMISSIVE, w->key, w->id,
                  "the count of failures that it went on from", w->permissive, want.permissive);
    differs(f, PAWL_CHECK_WORKFLOW_AHEAD, w->key, w->id,
                  "the count of records ahead of the flow", w->ahead, want.ahead);
    differs(f, PAWL_CHECK_WORKFLOW_SEQ, w->key, w->id, "the number of its next record",
                  w->next_seq, want.next_seq);
    differs(f, PAWL_CHECK_WORKFLOW_LAST, w->key, w->id, "the task of its newest record",
                  w->last, want.last);
}

enum pawl_code pawl_fsck_on_workflow(void *self, const struct pawl_db_row *row,
                                     struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_pass *f = walk->f;
    struct checked_workflow is = {.arena = f->arena};
    (void)read_workflow(&is, row, err);
    const struct pawl_workflow_row *w = &is.row;
    if (is.fault != NULL) {
        (void)pawl_fsck_note(f, PAWL_CHECK_WORKFLOW, w->key, w->id, pawl_str_of(is.fault));
    }
    if (is.can_count) judge_counters(f, &is);
    if (is.fault != NULL) return pawl_fsck_row_came(walk, w->key, 0);
    if (!is.has_snapshot) {
        (void)pawl_fsck_note(f, PAWL_CHECK_WORKFLOW_SNAPSHOT, w->key, w->id,
                             TEXT(f,
                                  "the definition that it runs by, key %" PRId64 ", is not there",
                                  w->snapshot));
    }
    if ((w->payloads & ~is.payloads) != 0) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_WORKFLOW_PAYLOADS, w->key, w->id,
            TEXT(f, "of its payloads (bits %" PRIu32 ") some are missing", w->payloads));
    }
    return pawl_fsck_row_came(walk, w->key, 0);
}

static enum pawl_code go_on_later(struct pawl_fsck_pass *f, const struct pawl_continuation_row *row,
                                  struct pawl_head *head, struct pawl_error *err)
{
    struct pawl_value values[] = {
        pawl_int(head->next_key++), pawl_int(row->kind), pawl_int(row->task), pawl_int(row->cursor),
        pawl_int(0), pawl_int(0), pawl_text_or_null(row->args),
    };
    return pawl_db_change(f->ask->store->db, PAWL_SQL_CONTINUATION_ADD, values,
                          PAWL_COUNT_OF(values), true, err);
}

/* A decision that was never made, because a counter said that there was something to wait for. */
static enum pawl_code decide_later(struct pawl_fsck_pass *f, int64_t workflow, int64_t run,
                                   struct pawl_str args, struct pawl_head *head, struct pawl_error *err)
{
    struct pawl_value key = pawl_int(workflow);
    struct pawl_continuation_row row = {
        .kind = PAWL_CONTINUE_DECISION, .task = workflow, .cursor = run, .args = args};
    enum pawl_code code = go_on_later(f, &row, head, err);
    if (code != PAWL_OK) return code;
    return pawl_db_change(f->ask->store->db, PAWL_SQL_WORKFLOW_OPEN_MORE, &key, 1, true, err);
}

enum pawl_code pawl_fsck_mend_workflow(struct pawl_fsck_pass *f, int64_t key,
                                       struct pawl_head *head, struct pawl_error *err)
{
    struct pawl_db *db = f->ask->store->db;
    struct checked_workflow is = {.arena = f->arena};
    struct pawl_value page[] = {pawl_int(key - 1), pawl_int(1)};
    enum pawl_code code =
        pawl_db_send(db, PAWL_SQL_FSCK_WORKFLOWS, page, PAWL_COUNT_OF(page), read_workflow, &is, err);
    if (code == PAWL_OK) code = pawl_db_flush(db, err);
    if (code != PAWL_OK || is.row.key != key || !is.can_count) return code;
    struct pawl_workflow_row want = counted(&is);
    struct pawl_value values[] = {
        pawl_int(key),        pawl_int(want.open),     pawl_int(want.permissive),
        pawl_int(want.ahead), pawl_int(want.next_seq), pawl_int_or_null(want.last),
    };
    code = pawl_db_change(db, PAWL_SQL_WORKFLOW_MEND, values, PAWL_COUNT_OF(values), true, err);
    if (code != PAWL_OK || want.open == is.row.open) return code;
    if (pawl_workflow_state_is_terminal(want.state) && is.undecided > 0) { /* it ended too early */
        struct pawl_continuation_row row = {.kind = PAWL_CONTINUE_CANCEL, .task = key};
        return go_on_later(f, &row, head, err);
    }
    bool is_over = want.open == 0 && want.state == PAWL_WORKFLOW_RUNNING;
    return is_over ? decide_later(f, key, want.run, PAWL_STR("[]"), head, err) : PAWL_OK;
}

/* ---- Records ---- */

struct checked {
    struct pawl_record_row row;
    const char *fault;
    struct pawl_str task_id;
    struct pawl_str snapshot; /* of an open JOIN */
    struct checked *next;
};

static void judge_state(struct pawl_fsck_pass *f, const struct pawl_record_row *record,
                        const struct pawl_db_row *row, struct pawl_str id)
{
    enum { STATE = PAWL_ROW_RECORD_COLUMNS + 2 };
    int64_t number = pawl_db_int64(row, STATE);
    if (!pawl_task_state_is(number)) return; /* told of the task */
    bool has_ended = pawl_task_state_is_terminal((enum pawl_task_state)number);
    if (has_ended == pawl_record_status_is_terminal(record->status)) return;
    (void)pawl_fsck_note(f, PAWL_CHECK_RECORD_STATE, record->task, id,
                         TEXT(f, "its workflow knows it as %s, and it is %s",
                              pawl_record_status_name(record->status),
                              pawl_task_state_name((enum pawl_task_state)number)));
}

enum { RECORD_WORKFLOW = PAWL_ROW_RECORD_COLUMNS, RECORD_TASK_ID, RECORD_STATE, RECORD_RUN, RECORD_SNAPSHOT };

/* Whether it is an open JOIN of the present run, and nothing but its counters may be wrong with it. */
static bool read_checked(const struct pawl_db_row *row, struct pawl_arena *arena, struct checked *is)
{
    is->fault = pawl_row_record(row, arena, &is->row);
    is->task_id = pawl_row_text(row, RECORD_TASK_ID, arena);
    is->snapshot = pawl_row_text(row, RECORD_SNAPSHOT, arena);
    bool can_count = is->fault == NULL || is->fault == pawl_record_row_fault(&is->row);
    return can_count && pawl_db_int64(row, RECORD_WORKFLOW) == is->row.workflow &&
           is->snapshot.len > 0 && pawl_db_int64(row, RECORD_RUN) == is->row.run;
}

enum pawl_code pawl_fsck_on_record(void *self, const struct pawl_db_row *row,
                                   struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_pass *f = walk->f;
    struct checked *is = pawl_arena_take(f->arena, sizeof *is);
    if (is == NULL) return pawl_fsck_arena_code(f, err);
    int64_t key = pawl_db_int64(row, 0);
    if (read_checked(row, f->arena, is)) {
        is->next = walk->rows;
        walk->rows = is;
    }
    if (is->fault != NULL) {
        (void)pawl_fsck_note(f, PAWL_CHECK_RECORD, key, is->task_id, pawl_str_of(is->fault));
    } else if (pawl_db_int64(row, RECORD_WORKFLOW) != is->row.workflow) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_RECORD_TASK, key, is->task_id,
            TEXT(f, "a record of workflow %" PRId64 " whose task is not there, or of another",
                 is->row.workflow));
    } else {
        judge_state(f, &is->row, row, is->task_id);
    }
    return pawl_fsck_row_came(walk, key, 0);
}

struct joined {
    struct pawl_arena *arena;
    struct pawl_record_row row;
    bool is_found;
};

static enum pawl_code on_joined(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct joined *joined = self;
    (void)err;
    joined->is_found = pawl_row_record(row, joined->arena, &joined->row) == NULL;
    return PAWL_OK;
}

/* As types/join.c counts, from what is joined; whose flow has come is not to be seen in the rows.
 * *can_count: it names what it joins. */
static enum pawl_code count_join(struct pawl_fsck_pass *f, struct pawl_db *db,
                                 const struct checked *is, struct pawl_record_row *want,
                                 bool *can_count, struct pawl_error *err)
{
    struct pawl_snapshot_row snapshot = {.text = is->snapshot};
    *want = (struct pawl_record_row){0};
    *can_count = false;
    pawl_snapshot_read(&snapshot, f->arena);
    if (snapshot.definition == NULL || is->row.node >= snapshot.definition->node_count)
        return PAWL_OK;
    const struct pawl_texts *on = &snapshot.definition->nodes[is->row.node].join_on;
    for (int64_t i = 0; i < on->count; i++) {
        struct joined joined = {.arena = f->arena};
        struct pawl_value values[] = {pawl_int(is->row.run), pawl_text(on->items[i])};
        enum pawl_code code =
            pawl_db_send(db, PAWL_SQL_RECORD_LATEST, values, 2, on_joined, &joined, err);
        if (code == PAWL_OK) code = pawl_db_flush(db, err);
        if (code != PAWL_OK) return code;
        bool is_over = joined.is_found && joined.row.is_decided;
        if (!is_over && (joined.is_found || is->row.join_branches > 0)) want->join_pending++;
        if (!is_over) continue;
        if (pawl_record_status_is_bad(joined.row.status)) want->join_failed++;
        if (joined.row.status == PAWL_RECORD_CANCELED) want->join_cancelled++;
        if (joined.row.status == PAWL_RECORD_COMPLETED_WITH_ERRORS) want->join_optional++;
    }
    *can_count = on->count > 0; /* else: what came last of each branch is not to be seen */
    return PAWL_OK;
}

static enum pawl_code judge_join(struct pawl_fsck_pass *f, const struct checked *is,
                                 struct pawl_error *err)
{
    struct pawl_record_row want;
    bool can_count;
    enum pawl_code code = count_join(f, f->db, is, &want, &can_count, err);
    if (code != PAWL_OK || !can_count) return code;
    int64_t key = is->row.task;
    differs(f, PAWL_CHECK_RECORD_JOIN, key, is->task_id, "the count of what it waits for",
            is->row.join_pending, want.join_pending);
    differs(f, PAWL_CHECK_RECORD_JOIN, key, is->task_id, "its count of failures",
            is->row.join_failed, want.join_failed);
    differs(f, PAWL_CHECK_RECORD_JOIN, key, is->task_id, "its count of cancelled ones",
            is->row.join_cancelled, want.join_cancelled);
    differs(f, PAWL_CHECK_RECORD_JOIN, key, is->task_id, "its count of optional failures",
            is->row.join_optional, want.join_optional);
    return PAWL_OK;
}

enum pawl_code pawl_fsck_judge_records(struct pawl_fsck_walk *walk, struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    for (const struct checked *is = walk->rows; is != NULL && code == PAWL_OK; is = is->next) {
        code = judge_join(walk->f, is, err);
    }
    return code;
}

struct one_record {
    struct pawl_arena *arena;
    struct checked is;
    bool can_count;
};

static enum pawl_code on_one_record(void *self, const struct pawl_db_row *row,
                                    struct pawl_error *err)
{
    struct one_record *one = self;
    (void)err;
    one->can_count = read_checked(row, one->arena, &one->is);
    return PAWL_OK;
}

enum pawl_code pawl_fsck_mend_record(struct pawl_fsck_pass *f, int64_t key, struct pawl_head *head,
                                     struct pawl_error *err)
{
    struct pawl_db *db = f->ask->store->db;
    struct one_record one = {.arena = f->arena};
    struct pawl_value page[] = {pawl_int(key - 1), pawl_int(1)};
    struct pawl_record_row want;
    bool can_count = false;
    enum pawl_code code =
        pawl_db_send(db, PAWL_SQL_FSCK_RECORDS, page, PAWL_COUNT_OF(page), on_one_record, &one, err);
    if (code == PAWL_OK) code = pawl_db_flush(db, err);
    if (code != PAWL_OK || one.is.row.task != key || !one.can_count) return code;
    code = count_join(f, db, &one.is, &want, &can_count, err);
    if (code != PAWL_OK || !can_count) return code;
    struct pawl_value values[] = {
        pawl_int(key),
        pawl_int(want.join_pending),
        pawl_int(want.join_failed),
        pawl_int(want.join_cancelled),
        pawl_int(want.join_optional),
    };
    code = pawl_db_change(db, PAWL_SQL_RECORD_MEND, values, PAWL_COUNT_OF(values), true, err);
    if (code != PAWL_OK || want.join_pending > 0) return code;
    return decide_later(f, one.is.row.workflow, one.is.row.run,
                        TEXT(f, "[%d,%d,%" PRId64 "]", PAWL_TODO_RUN, one.is.row.node, key), head, err);
}
