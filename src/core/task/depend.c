/* What becomes of those who wait for a task. They are told in slices: the first one in the very decision
 * that settled the task, the rest and every further level by continuations. A slice goes by the state the
 * task has when it runs, so it may run late, twice, or after the state has changed again. */
#include "core/task/rule.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"

#include <string.h>

static const struct pawl_str none = {0};

bool pawl_task_has_ended_badly(const struct pawl_task_row *task)
{
    return pawl_task_state_is_terminal(task->state) && task->state != PAWL_TASK_COMPLETED;
}

/* The caller touches the task. */
static void close_dependency(struct pawl_step *step, struct pawl_dependency_row *dependency,
                             struct pawl_task_row *task)
{
    struct pawl_dependency_row *done = pawl_step_take(step, sizeof *done);
    if (done == NULL) return;
    dependency->is_open = false;
    *done = *dependency;
    pawl_set_append(&step->set, PAWL_APPEND_DEPENDENCY_DONE, done);
    task->open_dependencies--;
    if (task->state == PAWL_TASK_QUEUED) pawl_task_offer(step, task);
}

/* Another open dependency of the task that has ended badly; NULL if there is none (or the set is short). */
static const struct pawl_task_row *other_blocker(struct pawl_step *step, int64_t task, int64_t but)
{
    struct pawl_entry *list =
        pawl_set_look(&step->set, PAWL_LOOK_DEPENDENCIES, task, none, 0, PAWL_DEPENDENCIES_MAX);
    if (list == NULL || !list->is_loaded) return NULL;
    const struct pawl_rows *rows = list->row;
    for (size_t i = 0; i < rows->count; i++) {
        const struct pawl_dependency_row *row = &((const struct pawl_dependency_row *)rows->rows)[i];
        if (!row->is_open || row->on == 0 || row->on == but) continue;
        struct pawl_entry *on = pawl_set_task(&step->set, row->on);
        if (on == NULL || !on->is_loaded || on->row == NULL) continue;
        if (pawl_task_has_ended_badly(on->row)) return on->row;
    }
    return NULL;
}

/* The same. */
static void unblock(struct pawl_step *step, struct pawl_task_row *task, int64_t by)
{
    if (task->blocked_by != by) return;
    const struct pawl_task_row *other = other_blocker(step, task->key, by);
    task->blocked_by = other == NULL ? 0 : other->key;
}

/* The dependency can no longer complete by itself. */
static void apply_policy(struct pawl_step *step, struct pawl_entry *entry,
                         struct pawl_dependency_row *dependency, const struct pawl_task_row *ended)
{
    const struct pawl_task_row *before = entry->row;
    if (before->dependency_policy == PAWL_DEPENDENCY_BLOCK && before->blocked_by != 0) return;
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    pawl_task_touch(step, task);
    switch (task->dependency_policy) {
    case PAWL_DEPENDENCY_BLOCK:
        task->blocked_by = ended->key;
        pawl_event_add(step, task, PAWL_EVENT_BLOCKED, PAWL_CAUSE_DEPENDENCY, none, ended->id);
        break;
    case PAWL_DEPENDENCY_CANCEL:
        pawl_task_move(task, PAWL_TASK_CANCELLED, PAWL_BY_ENGINE);
        /* the next level is another slice, however short this one is */
        task->has_new_dependents = true;
        pawl_task_finish(step, entry, PAWL_EVENT_CANCELLED, PAWL_CAUSE_DEPENDENCY, none, ended->id);
        break;
    case PAWL_DEPENDENCY_IGNORE:
        close_dependency(step, dependency, task);
        break;
    }
}

static void tell_one(struct pawl_step *step, struct pawl_entry *entry,
                     struct pawl_dependency_row *dependency, const struct pawl_task_row *on)
{
    const struct pawl_task_row *before = entry->row;
    if (before->state == PAWL_TASK_COMPLETED || before->state == PAWL_TASK_CANCELLED) return;
    if (pawl_task_has_ended_badly(on)) {
        if (!pawl_task_state_is_terminal(before->state)) apply_policy(step, entry, dependency, on);
        return;
    }
    if (on->state != PAWL_TASK_COMPLETED && before->blocked_by != on->key) return;
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    pawl_task_touch(step, task); /* once, whatever of it changes */
    unblock(step, task, on->key);
    if (on->state == PAWL_TASK_COMPLETED) close_dependency(step, dependency, task);
}

/* A list of its own, which takes the place of the one that was read: what is closed here stays closed for
 * whoever tells the same dependents again in this step. NULL when memory is out. */
static struct pawl_rows *own_list(struct pawl_step *step, int64_t on, int64_t after,
                                  const struct pawl_rows *read)
{
    struct pawl_rows *own = pawl_step_take(step, sizeof *own);
    size_t bytes = read->count * sizeof(struct pawl_dependency_row);
    struct pawl_dependency_row *rows = pawl_step_take(step, bytes);
    if (own == NULL || rows == NULL) return NULL;
    memcpy(rows, read->rows, bytes);
    *own = *read;
    own->rows = rows;
    /* a task may wait twice for the same one: its rows stay in one slice */
    size_t whole = own->count;
    while (own->is_cut && whole > 0 && rows[whole - 1].task == own->last) whole--;
    if (own->is_cut && whole > 0) {
        own->count = whole;
        own->last = rows[whole - 1].task;
    }
    pawl_set_know_after(&step->set, PAWL_LOOK_DEPENDENTS, on, after, own);
    return own;
}

int64_t pawl_dependents_slice(struct pawl_step *step, struct pawl_entry *on, int64_t after)
{
    const struct pawl_task_row *settled = on->row;
    struct pawl_entry *list = pawl_set_look(&step->set, PAWL_LOOK_DEPENDENTS, settled->key, none, after,
                                            PAWL_SLICE_ROWS_MAX);
    if (list == NULL || !list->is_loaded) return 0;
    const struct pawl_rows *rows = list->row;
    struct pawl_dependency_row *dependencies = rows->rows;
    for (size_t i = 0; i < rows->count; i++) (void)pawl_set_task(&step->set, dependencies[i].task);
    if (step->set.is_short) return 0;
    if (rows->count == 0) return rows->is_cut ? rows->last : 0;
    rows = own_list(step, settled->key, after, rows);
    if (rows == NULL) return 0;
    dependencies = rows->rows;
    for (size_t i = 0; i < rows->count; i++) {
        struct pawl_entry *entry = pawl_set_task(&step->set, dependencies[i].task);
        if (!dependencies[i].is_open || entry == NULL || entry->row == NULL) continue;
        tell_one(step, entry, &dependencies[i], settled);
    }
    return rows->is_cut ? rows->last : 0;
}

void pawl_dependents_tell_later(struct pawl_step *step, int64_t task, int64_t cursor)
{
    (void)pawl_continuation_add(
        step, &(struct pawl_continuation_row){
                  .kind = PAWL_CONTINUE_DEPENDENTS, .task = task, .cursor = cursor});
}

void pawl_dependents_tell(struct pawl_step *step, struct pawl_entry *entry)
{
    const struct pawl_task_row *task = entry->row;
    if (!task->has_dependents) return;
    if (task->has_new_dependents) {
        /* some are not in the table yet: the continuation reads them after the commit */
        pawl_dependents_tell_later(step, task->key, 0);
        return;
    }
    int64_t cursor = pawl_dependents_slice(step, entry, 0);
    if (cursor != 0 && !step->set.is_short) pawl_dependents_tell_later(step, task->key, cursor);
}
