/* Workflows and their records: each counter is counted again. */
#include "store/fsck_pass.h"

#include "base/arena.h"
#include "base/str.h"
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

enum pawl_code pawl_fsck_on_workflow(void *self, const struct pawl_db_row *row,
                                     struct pawl_error *err)
{
    enum {
        HAS_SNAPSHOT = PAWL_ROW_WORKFLOW_COLUMNS,
        PAYLOADS,
        UNDECIDED,
        CONTINUATIONS,
        FAILURES,
        SEQ,
    };
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_pass *f = walk->f;
    struct pawl_workflow_row w;
    (void)err;
    const char *fault = pawl_row_workflow(row, f->arena, &w);
    if (fault != NULL) {
        (void)pawl_fsck_note(f, PAWL_CHECK_WORKFLOW, w.key, w.id, pawl_str_of(fault));
        return pawl_fsck_row_came(walk, w.key, 0);
    }
    if (pawl_db_int64(row, HAS_SNAPSHOT) == 0) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_WORKFLOW_SNAPSHOT, w.key, w.id,
            TEXT(f, "the definition that it runs by, key %" PRId64 ", is not there", w.snapshot));
    }
    if ((w.payloads & ~(uint32_t)pawl_db_int64(row, PAYLOADS)) != 0) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_WORKFLOW_PAYLOADS, w.key, w.id,
            TEXT(f, "of its payloads (bits %" PRIu32 ") some are missing", w.payloads));
    }
    differs(f, PAWL_CHECK_WORKFLOW_OPEN, w.key, w.id, "the count of what is open", w.open,
            pawl_db_int64(row, UNDECIDED) + pawl_db_int64(row, CONTINUATIONS));
    if (!pawl_workflow_state_is_terminal(w.state)) {
        differs(f, PAWL_CHECK_WORKFLOW_PERMISSIVE, w.key, w.id,
                "the count of failures that it went on from", w.permissive,
                pawl_db_int64(row, FAILURES));
    }
    if (pawl_db_int64(row, SEQ) >= w.next_seq) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_WORKFLOW_SEQ, w.key, w.id,
            TEXT(f, "its next record is to be number %" PRId64 ", and there is number %" PRId64,
                 w.next_seq, pawl_db_int64(row, SEQ)));
    }
    return pawl_fsck_row_came(walk, w.key, 0);
}

/* ---- Records ---- */

struct checked {
    struct pawl_record_row row;
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

enum pawl_code pawl_fsck_on_record(void *self, const struct pawl_db_row *row,
                                   struct pawl_error *err)
{
    enum { WORKFLOW = PAWL_ROW_RECORD_COLUMNS, TASK_ID, STATE, RUN, SNAPSHOT };
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_pass *f = walk->f;
    struct checked *is = pawl_arena_take(f->arena, sizeof *is);
    if (is == NULL) return pawl_fsck_arena_code(f, err);
    const char *fault = pawl_row_record(row, f->arena, &is->row);
    int64_t key = pawl_db_int64(row, 0);
    is->task_id = pawl_row_text(row, TASK_ID, f->arena);
    if (fault != NULL) {
        (void)pawl_fsck_note(f, PAWL_CHECK_RECORD, key, is->task_id, pawl_str_of(fault));
    } else if (pawl_db_int64(row, WORKFLOW) != is->row.workflow) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_RECORD_TASK, key, is->task_id,
            TEXT(f, "a record of workflow %" PRId64 " whose task is not there, or of another",
                 is->row.workflow));
    } else {
        judge_state(f, &is->row, row, is->task_id);
        is->snapshot = pawl_row_text(row, SNAPSHOT, f->arena);
        if (is->snapshot.len > 0 && pawl_db_int64(row, RUN) == is->row.run) {
            is->next = walk->rows;
            walk->rows = is;
        }
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
 */
static enum pawl_code judge_join(struct pawl_fsck_pass *f, const struct checked *is,
                                 struct pawl_error *err)
{
    struct pawl_snapshot_row snapshot = {.text = is->snapshot};
    struct pawl_record_row want = {0};
    pawl_snapshot_read(&snapshot, f->arena);
    if (snapshot.definition == NULL || is->row.node >= snapshot.definition->node_count)
        return PAWL_OK;
    const struct pawl_texts *on = &snapshot.definition->nodes[is->row.node].join_on;
    for (int64_t i = 0; i < on->count; i++) {
        struct joined joined = {.arena = f->arena};
        struct pawl_value values[] = {pawl_int(is->row.run), pawl_text(on->items[i])};
        enum pawl_code code =
            pawl_db_send(f->db, PAWL_SQL_RECORD_LATEST, values, 2, on_joined, &joined, err);
        if (code == PAWL_OK) code = pawl_db_flush(f->db, err);
        if (code != PAWL_OK) return code;
        bool is_over = joined.is_found && joined.row.is_decided;
        if (!is_over && (joined.is_found || is->row.join_branches > 0)) want.join_pending++;
        if (!is_over) continue;
        if (pawl_record_status_is_bad(joined.row.status)) want.join_failed++;
        if (joined.row.status == PAWL_RECORD_CANCELED) want.join_cancelled++;
        if (joined.row.status == PAWL_RECORD_COMPLETED_WITH_ERRORS) want.join_optional++;
    }
    if (on->count == 0) return PAWL_OK; /* what came last of each branch is not to be seen */
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
