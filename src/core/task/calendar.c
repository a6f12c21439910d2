#include "core/task/calendar.h"

#include "core/limits.h"
#include "core/task/rule.h"

static const struct pawl_str none = {0};

int64_t pawl_calendar_at_ms(const struct pawl_step *step, int64_t run_at_ms)
{
    int64_t at_ms = run_at_ms - step->wall_offset_ms;
    return at_ms < 1 ? 1 : at_ms > PAWL_INSTANT_MS_MAX ? PAWL_INSTANT_MS_MAX : at_ms;
}

void pawl_calendar_rearm(struct pawl_step *step)
{
    (void)pawl_continuation_add(step, &(struct pawl_continuation_row){.kind = PAWL_CONTINUE_CALENDAR});
}

bool pawl_calendar_refresh(struct pawl_step *step, struct pawl_task_row *task)
{
    if (task->run_at_ms == 0) return false;
    int64_t at_ms = pawl_calendar_at_ms(step, task->run_at_ms);
    if (at_ms == task->ready_at_ms) return false;
    task->ready_at_ms = at_ms;
    return true;
}

/* A task that has been offered stays so: its time had come. */
static void rearm_one(struct pawl_step *step, struct pawl_entry *entry)
{
    const struct pawl_task_row *before = entry->row;
    bool is_armed = before->run_at_ms == 0 ||
                    before->ready_at_ms == pawl_calendar_at_ms(step, before->run_at_ms);
    if (is_armed) return;
    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    if (pawl_calendar_refresh(step, task)) pawl_task_touch(step, task);
    if (task->state == PAWL_TASK_QUEUED) pawl_task_offer(step, task);
}

bool pawl_calendar_slice(struct pawl_step *step, struct pawl_continuation_row *row)
{
    struct pawl_entry *list =
        pawl_set_look(&step->set, PAWL_LOOK_CALENDAR, 0, none, row->cursor, PAWL_SLICE_ROWS_MAX);
    if (list == NULL || !list->is_loaded) return false;
    const struct pawl_rows *rows = list->row;
    for (size_t i = 0; i < rows->count; i++) {
        struct pawl_entry *entry = pawl_set_task(&step->set, ((const int64_t *)rows->rows)[i]);
        if (entry != NULL && entry->is_loaded && entry->row != NULL) rearm_one(step, entry);
    }
    if (rows->is_cut) row->cursor = rows->last;
    return rows->is_cut;
}
