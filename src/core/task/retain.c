/* Retention: finished tasks go after a while, and leave a tombstone.
 *
 * They are met in the order in which they ended, a slice a step. What becomes of one:
 *
 *   row           a tombstone takes its place: id, outcome, idempotency key
 *   what is beside it goes with it; of a long history or log, the rest by a continuation
 *   somebody waits for it          it stays: he is told what becomes of it, and it may be resumed
 *   a consumer has to pass it yet  it and all after it stay: positions are in the order of ends
 *
 * Nothing else knows of the removal: whoever looks for the task finds none, and looks for a
 * tombstone only then. */
#include "core/task/rule.h"

#include "base/assert.h"
#include "core/limits.h"

#include <string.h>

static const struct pawl_str none = {0};

static const struct pawl_tombstone_row *tombstone(struct pawl_step *step, enum pawl_look look,
                                                  struct pawl_str text)
{
    struct pawl_entry *entry = pawl_set_look(&step->set, look, 0, text, 0, 0);
    return entry == NULL || !entry->is_loaded ? NULL : entry->row;
}

const struct pawl_tombstone_row *pawl_tombstone_find(struct pawl_step *step, struct pawl_str id)
{
    return tombstone(step, PAWL_LOOK_TOMBSTONE_ID, id);
}

const struct pawl_tombstone_row *pawl_tombstone_find_key(struct pawl_step *step,
                                                         struct pawl_str idempotency_key)
{
    return tombstone(step, PAWL_LOOK_TOMBSTONE_KEY, idempotency_key);
}

/* ---- One task
 * -------------------------------------------------------------------------------------- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t log_lines(const struct pawl_task_row *task)
{
    return task->log_bytes / PAWL_LOG_ROW_BYTES; /* at most */
}

/* How many rows its removal writes, at most; dependencies and late results, which few have, are not
 * known. */
static int64_t rows_of(const struct pawl_task_row *task)
{
    int64_t count = 2 + task->checkpoint_count;
    for (int32_t kind = 0; kind < PAWL_PAYLOAD_KIND_COUNT; kind++) {
        if ((task->payloads & (1u << kind)) != 0) count++;
    }
    return count + smaller(task->sequence, PAWL_REMAINS_AT_ONCE) +
           smaller(log_lines(task), PAWL_REMAINS_AT_ONCE);
}

static void bury(struct pawl_step *step, const struct pawl_task_row *task)
{
    struct pawl_tombstone_row *stone = pawl_step_take(step, sizeof *stone);
    struct pawl_removal *removal = pawl_step_take(step, sizeof *removal);
    if (stone == NULL || removal == NULL) return;
    *stone = (struct pawl_tombstone_row){.key = task->key,
                                         .id = task->id,
                                         .state = task->state,
                                         .finished_at_ms = task->finished_at_ms,
                                         .removed_at_ms = step->now_ms,
                                         .idempotency_key = task->idempotency_key,
                                         .body_digest = task->body_digest};
    *removal = (struct pawl_removal){task, step->now_ms};
    pawl_set_append(&step->set, PAWL_APPEND_REMOVAL, removal);
    /* for later commands of this step */
    pawl_set_know(&step->set, PAWL_LOOK_TASK, task->key, none, NULL);
    pawl_set_know(&step->set, PAWL_LOOK_TASK_ID, 0, task->id, NULL);
    pawl_set_know(&step->set, PAWL_LOOK_TOMBSTONE_ID, 0, task->id, stone);
    if (task->idempotency_key.len > 0) {
        pawl_set_know(&step->set, PAWL_LOOK_IDEMPOTENCY, 0, task->idempotency_key, NULL);
        pawl_set_know(&step->set, PAWL_LOOK_TOMBSTONE_KEY, 0, task->idempotency_key, stone);
    }
    if (task->sequence > PAWL_REMAINS_AT_ONCE || log_lines(task) > PAWL_REMAINS_AT_ONCE) {
        (void)pawl_continuation_add(step, &(struct pawl_continuation_row){
                                              .kind = PAWL_CONTINUE_REMAINS, .task = task->key});
    }
}

bool pawl_remains_slice(struct pawl_step *step, int64_t task)
{
    struct pawl_entry *event = pawl_set_look(&step->set, PAWL_LOOK_EVENT_LAST, task, none, 0, 0);
    struct pawl_entry *line = pawl_set_look(&step->set, PAWL_LOOK_LOG_OLDEST, task, none, 0, 1);
    if (step->set.is_short || event == NULL || line == NULL) return false;
    bool is_any = event->row != NULL || ((const struct pawl_rows *)line->row)->count > 0;
    int64_t *key = pawl_step_take(step, sizeof *key);
    if (!is_any || key == NULL) return false;
    *key = task;
    pawl_set_append(&step->set, PAWL_APPEND_REMAINS, key);
    return true;
}

/* ---- A slice
 * --------------------------------------------------------------------------------------- */

struct slice {
    struct pawl_step *step;
    const struct pawl_retain *ask;
    const struct pawl_rows *finished; /* struct pawl_finished */
    const struct pawl_consumer_row *slowest;
    int64_t cutoff_at_ms;
    struct pawl_retained out;
};

static bool is_older(const struct slice *slice, const struct pawl_finished *place)
{
    return place->at_ms <= slice->cutoff_at_ms;
}

/* The task as it is now, if it is one that may go: whatever made it run again in this step comes
 * first. */
static const struct pawl_task_row *candidate(const struct slice *slice, int64_t key)
{
    struct pawl_entry *entry = pawl_set_task(&slice->step->set, key);
    if (entry == NULL || !entry->is_loaded || entry->row == NULL || entry->is_changed) return NULL;
    const struct pawl_task_row *task = entry->row;
    bool is_wanted = (slice->ask->states & (1u << task->state)) != 0;
    return pawl_task_state_is_terminal(task->state) && is_wanted ? task : NULL;
}

static bool is_waited_for(const struct slice *slice, const struct pawl_task_row *task)
{
    if (!task->has_dependents) return false;
    struct pawl_entry *waiting =
        pawl_set_look(&slice->step->set, PAWL_LOOK_WAITING, task->key, task->id, 0, 0);
    return waiting != NULL && waiting->is_loaded && waiting->row != NULL;
}

static bool is_passed(const struct slice *slice, const struct pawl_task_row *task)
{
    if (slice->slowest == NULL) return true;
    struct pawl_entry *last =
        pawl_set_look(&slice->step->set, PAWL_LOOK_EVENT_LAST, task->key, none, 0, 0);
    if (last == NULL || !last->is_loaded || last->row == NULL) return true;
    return *(const int64_t *)last->row <= slice->slowest->cursor;
}

static void look_at_all(const struct slice *slice)
{
    const struct pawl_finished *places = slice->finished->rows;
    for (size_t i = 0; i < slice->finished->count && is_older(slice, &places[i]); i++) {
        const struct pawl_task_row *task = candidate(slice, places[i].key);
        if (task == NULL) continue;
        (void)is_waited_for(slice, task);
        (void)is_passed(slice, task);
    }
}

static void hold(struct slice *slice)
{
    struct pawl_str name = slice->slowest->name;
    size_t len = name.len < sizeof slice->out.held_by ? name.len : sizeof slice->out.held_by - 1;
    memcpy(slice->out.held_by, name.ptr, len);
}

/* Sets where the next slice begins, and whether it has anything to do. */
static void take_all(struct slice *slice)
{
    const struct pawl_finished *places = slice->finished->rows;
    int64_t rows_left = PAWL_RETAINED_ROWS_MAX;
    for (size_t i = 0; i < slice->finished->count; i++) {
        if (!is_older(slice, &places[i])) {
            slice->out.next_at_ms = slice->step->now_ms + places[i].at_ms - slice->cutoff_at_ms;
            return;
        }
        const struct pawl_task_row *task = candidate(slice, places[i].key);
        if (task != NULL && !is_passed(slice, task)) {
            hold(slice);
            return;
        }
        if (task != NULL && is_waited_for(slice, task)) {
            slice->out.waiting++;
            slice->out.has_passed_over = true;
        } else if (task == NULL) {
            slice->out.has_passed_over = true;
        } else {
            if (slice->out.removed == slice->ask->max) return;
            rows_left -= slice->ask->is_dry ? 0 : rows_of(task);
            if (rows_left < 0) {
                slice->out.goes_on = true;
                return;
            }
            if (!slice->ask->is_dry) bury(slice->step, task);
            slice->out.removed++;
        }
        slice->out.after = places[i];
    }
    slice->out.goes_on = slice->finished->is_cut && slice->out.removed < slice->ask->max;
}

/* Tombstones whose time is over, the oldest first. */
static void end_tombstones(struct slice *slice, const struct pawl_rows *stones)
{
    const struct pawl_tombstone_row *rows = stones->rows;
    size_t i = 0;
    for (; i < stones->count; i++) {
        if (slice->step->now_ms - rows[i].removed_at_ms < PAWL_TOMBSTONE_KEPT_MS) return;
        int64_t *key = pawl_step_take(slice->step, sizeof *key);
        if (key == NULL) return;
        *key = rows[i].key;
        pawl_set_append(&slice->step->set, PAWL_APPEND_TOMBSTONE_PRUNE, key);
        pawl_set_know(&slice->step->set, PAWL_LOOK_TOMBSTONE_ID, 0, rows[i].id, NULL);
        if (rows[i].idempotency_key.len > 0) {
            pawl_set_know(&slice->step->set, PAWL_LOOK_TOMBSTONE_KEY, 0, rows[i].idempotency_key,
                          NULL);
        }
        slice->out.ended++;
    }
    if (stones->is_cut && slice->out.held_by[0] == '\0') slice->out.goes_on = true;
}

static void notice(struct pawl_step *step, const struct pawl_retained *done)
{
    struct pawl_notice *notice = pawl_step_take(step, sizeof *notice);
    if (notice == NULL) return;
    *notice = (struct pawl_notice){PAWL_NOTICE_RETAINED, .first = done->removed, .second = done->ended};
    pawl_set_append(&step->set, PAWL_APPEND_NOTICE, notice);
}

enum pawl_code pawl_rule_retain(struct pawl_step *step, struct pawl_command *command)
{
    const struct pawl_retain *ask = &command->ask.retain;
    struct slice slice = {.step = step, .ask = ask, .out = {.after = ask->after}};
    struct pawl_entry *finished = pawl_set_look(&step->set, PAWL_LOOK_FINISHED, ask->after.at_ms,
                                                none, ask->after.key, PAWL_RETAINED_LOOKED_AT);
    struct pawl_entry *stones =
        pawl_set_look(&step->set, PAWL_LOOK_TOMBSTONES, 0, none, 0, PAWL_RETAINED_LOOKED_AT);
    struct pawl_entry *slowest = pawl_set_look(&step->set, PAWL_LOOK_CURSOR_MIN, 0, none, 0, 0);
    if (step->set.is_short || finished == NULL || stones == NULL || slowest == NULL)
        return PAWL_BUSY;
    slice.finished = finished->row;
    slice.slowest = slowest->row;
    if (slice.slowest != NULL && !ask->is_dry && pawl_consumer_drop(step, slice.slowest)) {
        slice.out.goes_on = true; /* the next slowest one counts now */
        *command->out.retained = slice.out;
        return PAWL_OK;
    }
    int64_t age_ms = ask->older_than_ms;
    if (slice.slowest == NULL && age_ms < ask->events_keep_ms) age_ms = ask->events_keep_ms;
    slice.cutoff_at_ms = step->now_ms - age_ms;
    look_at_all(&slice);
    if (step->set.is_short) return PAWL_BUSY;
    take_all(&slice);
    if (!ask->is_dry) end_tombstones(&slice, stones->row);
    if (slice.out.removed > 0 && !ask->is_dry) notice(step, &slice.out);
    *command->out.retained = slice.out;
    return PAWL_OK;
}

/* ---- Room in the file
 * ------------------------------------------------------------------------------ */

enum pawl_code pawl_rule_compact(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_compacting *asked = pawl_step_take(step, sizeof *asked);
    if (asked == NULL) return PAWL_NO_MEMORY;
    *asked = (struct pawl_compacting){PAWL_COMPACTED_PAGES_MAX, command->out.pages};
    pawl_set_append(&step->set, PAWL_APPEND_COMPACT, asked);
    return PAWL_OK;
}
