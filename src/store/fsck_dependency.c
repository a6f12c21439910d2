/* Dependencies: who waits for what is over, or was told what is not. */
#include "store/fsck_pass.h"

#include "base/arena.h"
#include "base/str.h"
#include "store/handle.h"
#include "store/rows.h"

#include <inttypes.h>

struct dependency_is {
    int64_t task, number, on_key;
    struct pawl_str on_id;
    bool is_open, has_task, has_on;
    struct pawl_str task_id;
    int64_t state, policy, blocked_by, on_state;
    int64_t awaited; /* the key of a task that has on_id */
    struct dependency_is *next;
};

enum pawl_code pawl_fsck_on_dependency(void *self, const struct pawl_db_row *row,
                                       struct pawl_error *err)
{
    struct pawl_fsck_walk *walk = self;
    struct pawl_arena *arena = walk->f->arena;
    struct dependency_is *is = pawl_arena_take(arena, sizeof *is);
    if (is == NULL) return pawl_fsck_arena_code(walk->f, err);
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
    return pawl_fsck_row_came(walk, is->task, is->number);
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

static enum pawl_code judge_dependency(struct pawl_fsck_pass *f, const struct dependency_is *is,
                                       struct pawl_error *err)
{
    if (!is->has_task) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_DEPENDENCY_TASK, is->task, (struct pawl_str){0},
            TEXT(f, "dependency %" PRId64 " of a task that is not there (key %" PRId64 ")",
                 is->number, is->task));
        return PAWL_OK;
    }
    if ((is->on_key != 0) == (is->on_id.len != 0)) {
        (void)pawl_fsck_note(f, PAWL_CHECK_DEPENDENCY_FORM, is->task, is->task_id,
                             TEXT(f, "its dependency %" PRId64 " names %s", is->number,
                                  is->on_key != 0 ? "a key and an id" : "neither a key nor an id"));
        return PAWL_OK;
    }
    if (is->on_key != 0 && !is->has_on && is->is_open) {
        (void)pawl_fsck_note(
            f, PAWL_CHECK_DEPENDENCY_FORM, is->task, is->task_id,
            TEXT(f, "it waits for a task that is not there (key %" PRId64 ")", is->on_key));
        return PAWL_OK;
    }
    bool is_over = is->state == PAWL_TASK_COMPLETED || is->state == PAWL_TASK_CANCELLED;
    if (!is->is_open && is->has_on && is->policy != PAWL_DEPENDENCY_IGNORE && !is_over &&
        is->on_state != PAWL_TASK_COMPLETED) {
        (void)pawl_fsck_note(f, PAWL_CHECK_DEPENDENCY_SHUT, is->task, is->task_id,
                             TEXT(f,
                                  "its dependency %" PRId64
                                  " counts as completed, and that task (key %" PRId64 ") is not",
                                  is->number, is->on_key));
    }
    bool is_missed = is->on_key == 0 && is->awaited != 0 && !is_terminal(is->state);
    if (!is_missed && !is_news(is)) return PAWL_OK;
    bool is_telling = false;
    int64_t on = is_missed ? is->awaited : is->on_key;
    enum pawl_code code = pawl_fsck_read_tells(f->db, on, is->on_id, &is_telling, err);
    if (code != PAWL_OK || is_telling) return code;
    struct pawl_fsck_found *found = pawl_fsck_note(
        f, PAWL_CHECK_DEPENDENCY_TOLD, on, is->task_id,
        is_missed ? TEXT(f, "it waits for an id as if no task had it, and one has it (%.*s)",
                         PAWL_STR_ARG(is->on_id))
                  : TEXT(f, "it waits for a task that has ended (key %" PRId64 ")", is->on_key));
    found->number = is_missed ? PAWL_CONTINUE_AWAITED : PAWL_CONTINUE_DEPENDENTS;
    found->name = is->on_id;
    return PAWL_OK;
}

enum pawl_code pawl_fsck_judge_dependencies(struct pawl_fsck_walk *walk, struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    for (const struct dependency_is *is = walk->rows; is != NULL && code == PAWL_OK;
         is = is->next) {
        code = judge_dependency(walk->f, is, err);
    }
    return code;
}
