/* What lies beside tasks: events, payloads, checkpoints, logs, late results, tombstones. */
#include "store/fsck_pass.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/limits.h"
#include "store/handle.h"
#include "store/rows.h"

#include <inttypes.h>

/* A row whose task is not there. After a removal that is so for a while: the rest goes by a
 * continuation. */
struct orphan {
    enum pawl_fsck_check check;
    const char *what;
    int64_t key;
    int64_t task;
    struct orphan *next;
};

static enum pawl_code orphan_came(struct pawl_fsck_walk *walk, enum pawl_fsck_check check,
                                  const char *what, int64_t key, int64_t task,
                                  struct pawl_error *err)
{
    struct orphan *orphan = pawl_arena_take(walk->f->arena, sizeof *orphan);
    if (orphan == NULL) return pawl_fsck_arena_code(walk->f, err);
    *orphan = (struct orphan){check, what, key, task, walk->rows};
    walk->rows = orphan;
    return PAWL_OK;
}

enum pawl_code pawl_fsck_judge_orphans(struct pawl_fsck_walk *walk, struct pawl_error *err)
{
    struct pawl_fsck_pass *f = walk->f;
    enum pawl_code code = PAWL_OK;
    for (const struct orphan *at = walk->rows; at != NULL && code == PAWL_OK; at = at->next) {
        bool is_going = false;
        code = pawl_fsck_read_tells(f->db, at->task, (struct pawl_str){0}, &is_going, err);
        if (code != PAWL_OK || is_going) continue;
        (void)pawl_fsck_note(
            f, at->check, at->key, (struct pawl_str){0},
            TEXT(f, "%s of a task that is not there (key %" PRId64 ")", at->what, at->task));
    }
    return code;
}

enum pawl_code pawl_fsck_on_event(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_pass *f = walk->f;
    struct pawl_event_row event;
    int64_t position = pawl_db_int64(row, 0);
    const char *fault = pawl_row_event(row, f->arena, &event);
    if (fault != NULL) {
        (void)pawl_fsck_note(f, PAWL_CHECK_EVENT, position, (struct pawl_str){0},
                             pawl_str_of(fault));
    }
    enum pawl_code code = PAWL_OK;
    if (pawl_db_is_null(row, PAWL_ROW_EVENT_COLUMNS)) {
        code = orphan_came(walk, PAWL_CHECK_EVENT_TASK, "an event", position, pawl_db_int64(row, 1),
                           err);
    }
    return code == PAWL_OK ? pawl_fsck_row_came(walk, position, 0) : code;
}

/* key, task's key, task's key if it is there */
static enum pawl_code on_beside(struct pawl_fsck_walk *walk, const struct pawl_db_row *row,
                                enum pawl_fsck_check check, const char *what,
                                struct pawl_error *err)
{
    int64_t key = pawl_db_int64(row, 0);
    enum pawl_code code = PAWL_OK;
    if (pawl_db_is_null(row, 2)) {
        code = orphan_came(walk, check, what, key, pawl_db_int64(row, 1), err);
    }
    return code == PAWL_OK ? pawl_fsck_row_came(walk, key, 0) : code;
}

enum pawl_code pawl_fsck_on_payload(void *self, const struct pawl_db_row *row,
                                    struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_pass *f = walk->f;
    int64_t kind = pawl_db_int64(row, 0) % PAWL_PAYLOAD_KINDS_MAX;
    if (!pawl_db_is_null(row, 2) && (pawl_db_int64(row, 4) & (INT64_C(1) << kind)) == 0) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_PAYLOAD_KIND, pawl_db_int64(row, 0), pawl_row_text(row, 3, f->arena),
            TEXT(f, "there is a payload of kind %" PRId64 " that it does not know of", kind));
    }
    return on_beside(walk, row, PAWL_CHECK_PAYLOAD_TASK, "a payload", err);
}

enum pawl_code pawl_fsck_on_checkpoint(void *self, const struct pawl_db_row *row,
                                       struct pawl_error *err)
{
    return on_beside(self, row, PAWL_CHECK_CHECKPOINT_TASK, "a checkpoint", err);
}

enum pawl_code pawl_fsck_on_log(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    return on_beside(self, row, PAWL_CHECK_LOG_TASK, "a log line", err);
}

enum pawl_code pawl_fsck_on_late(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    return on_beside(self, row, PAWL_CHECK_LATE_TASK, "a late result", err);
}

enum pawl_code pawl_fsck_on_tombstone(void *self, const struct pawl_db_row *row,
                                      struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_fsck_pass *f = walk->f;
    (void)err;
    if (!pawl_db_is_null(row, 2) || !pawl_db_is_null(row, 3)) {
        (void)pawl_fsck_note(f, PAWL_CHECK_TOMBSTONE, pawl_db_int64(row, 0),
                             pawl_row_text(row, 1, f->arena),
                             TEXT(f, "it has a tombstone, and is there"));
    }
    return pawl_fsck_row_came(walk, pawl_db_int64(row, 0), 0);
}
