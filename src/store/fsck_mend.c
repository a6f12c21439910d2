/* Mending: each looks again, in the transaction that writes, and by the code that judged. */
#include "store/fsck_pass.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/str.h"
#include "core/limits.h"
#include "store/handle.h"
#include "store/rows.h"

struct one_task {
    const struct pawl_fsck_pass *f;
    struct pawl_fsck_task is;
    bool is_found;
};

static enum pawl_code on_one_task(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct one_task *one = self;
    (void)err;
    one->is = pawl_fsck_read_task(row, one->f);
    one->is_found = true;
    return PAWL_OK;
}

static enum pawl_code mend_task(struct pawl_fsck_pass *f, const struct pawl_fsck_found *found,
                                struct pawl_error *err)
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
        code = pawl_fsck_read_tells(db, one.is.blocked_by, (struct pawl_str){0}, &is_telling, err);
        if (code != PAWL_OK) return code;
    }
    struct pawl_fsck_task want = pawl_fsck_task_wants(&one.is, !is_telling);
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

static enum pawl_code mend_head(struct pawl_fsck_pass *f, struct pawl_head *head,
                                struct pawl_error *err)
{
    struct pawl_fsck_head is;
    enum pawl_code code = pawl_fsck_read_head(f->ask->store->db, &is, err);
    if (code != PAWL_OK) return code;
    /* never to what no step would go by */
    if (is.newest_position <= PAWL_NUMBER_MAX / 2 && head->position < is.newest_position) {
        head->position = is.newest_position;
    }
    if (is.largest_key < PAWL_ROW_KEY_MAX && head->next_key <= is.largest_key) {
        head->next_key = is.largest_key + 1;
    }
    return PAWL_OK;
}

static enum pawl_code mend_telling(struct pawl_fsck_pass *f, const struct pawl_fsck_found *found,
                                   struct pawl_head *head, struct pawl_error *err)
{
    struct pawl_db *db = f->ask->store->db;
    bool is_telling = false;
    enum pawl_code code = pawl_fsck_read_tells(db, found->key, found->name, &is_telling, err);
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

static enum pawl_code mend_consumer(struct pawl_fsck_pass *f, const struct pawl_fsck_found *found,
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

struct one_gate {
    struct pawl_gate_row row;
    struct pawl_arena *arena;
    int64_t wanted;
};

static enum pawl_code on_one_gate(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct one_gate *is = self;
    (void)err;
    if (pawl_row_gate(row, is->arena, &is->row) != NULL) is->row.held = -1; /* nothing that it says counts */
    is->wanted = pawl_db_int64(row, PAWL_ROW_GATE_COLUMNS);
    return PAWL_OK;
}

static enum pawl_code mend_gate(struct pawl_fsck_pass *f, const struct pawl_fsck_found *found,
                                struct pawl_error *err)
{
    struct pawl_db *db = f->ask->store->db;
    struct one_gate is = {.arena = f->arena};
    struct pawl_value page[] = {pawl_int(found->key - 1), pawl_int(1)};
    enum pawl_code code = pawl_db_send(db, PAWL_SQL_FSCK_GATES, page, PAWL_COUNT_OF(page),
                                       on_one_gate, &is, err);
    if (code == PAWL_OK) code = pawl_db_flush(db, err);
    if (code != PAWL_OK || is.row.key != found->key || is.row.held == is.wanted) return code;
    struct pawl_value values[] = {pawl_int(found->key), pawl_int(is.wanted),
                                  pawl_blob_or_null(is.row.starts)};
    return pawl_db_change(db, PAWL_SQL_GATE_SAVE, values, PAWL_COUNT_OF(values), false, err);
}

static enum pawl_code mend_quarantined(struct pawl_fsck_pass *f,
                                       const struct pawl_fsck_found *found, struct pawl_error *err)
{
    struct pawl_db *db = f->ask->store->db;
    struct pawl_fsck_fault fault = {.arena = f->arena};
    enum pawl_code code = pawl_fsck_read_fault(db, found->key, &fault, err);
    if (code != PAWL_OK || !fault.is_found || fault.text.len > 0) return code;
    struct pawl_value values[] = {pawl_text(found->name), pawl_int(found->key)};
    return pawl_db_change(db, PAWL_SQL_QUARANTINE_REMOVE, values, PAWL_COUNT_OF(values), false,
                          err);
}

static enum pawl_code mend_one(struct pawl_fsck_pass *f, const struct pawl_fsck_found *found,
                               struct pawl_head *head, struct pawl_error *err)
{
    struct pawl_value acknowledgement[] = {pawl_int(found->key), pawl_int(found->number)};
    switch (pawl_fsck_checks[found->check].mending) {
    case PAWL_MEND_BY_NOTHING:
        return PAWL_OK;
    case PAWL_MEND_BY_HEAD:
        return mend_head(f, head, err);
    case PAWL_MEND_BY_TASK:
        return mend_task(f, found, err);
    case PAWL_MEND_BY_TELL:
        return mend_telling(f, found, head, err);
    case PAWL_MEND_BY_CONSUMER:
        return mend_consumer(f, found, head, err);
    case PAWL_MEND_BY_ACKNOWLEDGEMENT:
        return pawl_db_change(f->ask->store->db, PAWL_SQL_ACKNOWLEDGEMENT_PRUNE, acknowledgement, 2,
                              false, err);
    case PAWL_MEND_BY_WORKFLOW:
        return pawl_fsck_mend_workflow(f, found->key, head, err);
    case PAWL_MEND_BY_RECORD:
        return pawl_fsck_mend_record(f, found->key, head, err);
    case PAWL_MEND_BY_TAKE_UP:
        return pawl_db_change(f->ask->store->db, PAWL_SQL_CONTINUATION_TAKE_UP, acknowledgement, 1,
                              false, err);
    case PAWL_MEND_BY_GATE:
        return mend_gate(f, found, err);
    case PAWL_MEND_BY_QUARANTINE_ROW:
        return mend_quarantined(f, found, err);
    }
    return PAWL_OK;
}

/* A row is mended as a whole, and what it has several findings of, once. */
static bool is_first_of_its_row(const struct pawl_fsck_pass *f, const struct pawl_fsck_found *found)
{
    enum pawl_fsck_mending mending = pawl_fsck_checks[found->check].mending;
    bool is_whole = mending == PAWL_MEND_BY_TASK || mending == PAWL_MEND_BY_WORKFLOW ||
                    mending == PAWL_MEND_BY_RECORD;
    for (const struct pawl_fsck_found *at = f->first; is_whole && at != found; at = at->next) {
        if (pawl_fsck_checks[at->check].mending == mending && at->key == found->key) return false;
    }
    return true;
}

static enum pawl_code mend_page(struct pawl_fsck_pass *f, struct pawl_error *err)
{
    struct pawl_store *store = f->ask->store;
    struct pawl_set nothing;
    struct pawl_head head;
    pawl_set_init(&nothing, f->arena);
    enum pawl_code code = pawl_store_begin(store, &head, err);
    if (code != PAWL_OK) return code;
    for (const struct pawl_fsck_found *at = f->first; at != NULL && code == PAWL_OK;
         at = at->next) {
        if (is_first_of_its_row(f, at)) code = mend_one(f, at, &head, err);
    }
    store->is_dirty = true;
    if (code == PAWL_OK) return pawl_store_commit(store, &nothing, &head, err);
    pawl_store_rollback(store);
    return code;
}

enum pawl_code pawl_fsck_mend(struct pawl_fsck_pass *f, struct pawl_error *err)
{
    const struct pawl_fsck_run *ask = f->ask;
    bool is_worth_it = false;
    for (const struct pawl_fsck_found *at = f->first; at != NULL; at = at->next) {
        if (pawl_fsck_checks[at->check].mending != PAWL_MEND_BY_NOTHING) is_worth_it = true;
    }
    if (!is_worth_it) return PAWL_OK;
    enum pawl_code code = ask->turn_take(ask->self, err);
    if (code != PAWL_OK) return code;
    code = mend_page(f, err);
    ask->turn_give(ask->self, code == PAWL_OK || code == PAWL_UNKNOWN_OUTCOME);
    for (struct pawl_fsck_found *at = f->first; at != NULL && code == PAWL_OK; at = at->next) {
        at->is_repaired = pawl_fsck_checks[at->check].mending != PAWL_MEND_BY_NOTHING;
        if (!at->is_repaired) continue;
        f->done.repaired++;
        pawl_log_write(ask->options->log, PAWL_LOG_INFO, "fsck.repaired",
                       PAWL_TEXT("check", pawl_str_of(pawl_fsck_checks[at->check].name)),
                       PAWL_INT("key", at->key), PAWL_TEXT("task", at->task_id),
                       PAWL_TEXT("reason", at->text));
    }
    return code;
}
