/* How an attempt ends: complete, fail, release. Repeating the accepted outcome is safe; any other word of
 * one who has lost the task changes nothing and is kept as a late result. */
#include "core/task/rule.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/limits.h"
#include "core/task/retry.h"
#include "core/workflow/decision.h"

#include <inttypes.h>
#include <string.h>

static const struct pawl_str none = {0};

int64_t pawl_outcome_digest(struct pawl_str owner, enum pawl_outcome_kind kind, struct pawl_str body,
                            int64_t number)
{
    /* Stored, so the key is fixed: the digest tells a repeat from another outcome of the same worker, who
     * gains nothing by a collision. */
    static const uint64_t key[2] = {UINT64_C(0x7061776c2d6f7574), UINT64_C(0x636f6d652d763031)};
    struct pawl_hasher hasher;
    pawl_hasher_init(&hasher, key);
    pawl_hasher_add(&hasher, owner);
    pawl_hasher_add_int64(&hasher, kind);
    pawl_hasher_add_int64(&hasher, number);
    pawl_hasher_add(&hasher, body);
    return (int64_t)pawl_hasher_end(&hasher);
}

/* What a command says of the outcome, in the terms of its digest. */
struct outcome {
    enum pawl_outcome_kind kind;
    struct pawl_str body;
    int64_t number;
};

static struct outcome outcome_of(const struct pawl_command *command)
{
    switch (command->kind) {
    case PAWL_COMMAND_COMPLETE:
        return (struct outcome){PAWL_OUTCOME_COMPLETE, command->ask.result, 0};
    case PAWL_COMMAND_FAIL:
        return (struct outcome){PAWL_OUTCOME_FAIL, command->ask.failure.error,
                                command->ask.failure.is_final
                                    ? INT64_MAX
                                    : command->ask.failure.retry_after_ms};
    case PAWL_COMMAND_RELEASE:
        return (struct outcome){PAWL_OUTCOME_RELEASE, none, command->ask.delay_ms};
    case PAWL_COMMAND_PAUSE:
        return (struct outcome){PAWL_OUTCOME_PAUSE, none, 0};
    case PAWL_COMMAND_CANCEL:
        return (struct outcome){PAWL_OUTCOME_CANCEL, none, 0};
    default:
        return (struct outcome){PAWL_OUTCOME_NONE, none, 0};
    }
}

static int64_t digest_of(const struct pawl_command *command)
{
    struct outcome outcome = outcome_of(command);
    return pawl_outcome_digest(command->fence.owner, outcome.kind, outcome.body, outcome.number);
}

bool pawl_outcome_is_repeat(const struct pawl_command *command, const struct pawl_task_row *task)
{
    return command->has_fence && task->outcome_kind != PAWL_OUTCOME_NONE &&
           task->outcome_epoch == command->fence.epoch &&
           task->outcome_kind == outcome_of(command).kind &&
           task->outcome_digest == digest_of(command);
}

void pawl_outcome_accept(struct pawl_task_row *task, const struct pawl_command *command)
{
    if (!command->has_fence) return; /* an operator's word is not repeated by epoch */
    task->outcome_epoch = command->fence.epoch;
    task->outcome_kind = outcome_of(command).kind;
    task->outcome_digest = digest_of(command);
}

/* Of a RUNNING task the holder alone may say how it ends. */
static enum pawl_code find_attempt(struct pawl_step *step, struct pawl_command *command,
                                   struct pawl_entry **out, bool *is_done)
{
    enum pawl_code code = pawl_task_find_fenced(step, command, out, is_done);
    if (code != PAWL_OK || command->has_fence) return code;
    return pawl_task_guard(step, command, (*out)->row);
}

enum pawl_code pawl_rule_complete(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    bool is_done;
    enum pawl_code code = find_attempt(step, command, &entry, &is_done);
    if (code != PAWL_OK || is_done) return code;
    if (((const struct pawl_task_row *)entry->row)->workflow != 0) return pawl_record_outcome(step, command, entry);
    const struct pawl_task_row *before = entry->row;
    enum pawl_mover by =
        before->state == PAWL_TASK_RUNNING ? PAWL_BY_WORKER : PAWL_BY_OPERATOR;
    bool is_open = before->state == PAWL_TASK_RUNNING || before->state == PAWL_TASK_PENDING ||
                   before->state == PAWL_TASK_QUEUED || before->state == PAWL_TASK_PAUSED;
    if (!is_open) return pawl_state_error(command, before, "complete");

    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    pawl_task_move(task, PAWL_TASK_COMPLETED, by);
    pawl_outcome_accept(task, command);
    pawl_lease_clear(step, task);
    pawl_task_complete_progress(task);
    task->crashes_in_row = 0;
    if (command->ask.result.len > 0) {
        pawl_payload_put(step, task, PAWL_PAYLOAD_RESULT, command->ask.result);
    }
    pawl_payload_drop(step, task, PAWL_PAYLOAD_ERROR);
    pawl_task_touch(step, task);
    pawl_task_finish(step, entry, PAWL_EVENT_COMPLETED, PAWL_CAUSE_NONE, pawl_command_actor(command),
                     pawl_utf8_cut_points(command->ask.result, PAWL_EXCERPT_POINTS));
    return PAWL_OK;
}

/* Up to the task's jitter, so that those which failed together do not come back together. */
static int64_t jitter_ms(struct pawl_step *step, const struct pawl_task_row *task)
{
    if (task->retry.jitter_ms == 0) return 0;
    return (int64_t)(pawl_step_random(step) % (uint64_t)(task->retry.jitter_ms + 1));
}

void pawl_task_fail_attempt(struct pawl_step *step, struct pawl_entry *entry, struct pawl_str error,
                            bool is_final, int64_t retry_after_ms, enum pawl_mover by,
                            enum pawl_event_cause cause, struct pawl_str actor)
{
    struct pawl_task_row *task = entry->row;
    struct pawl_str excerpt = pawl_utf8_cut_points(error, PAWL_EXCERPT_POINTS);
    pawl_assert(task->retries >= 1);
    pawl_payload_put(step, task, PAWL_PAYLOAD_ERROR, error);
    if (is_final || task->retries > task->retry.max_retries) {
        pawl_task_move(task, PAWL_TASK_DEAD_LETTER, by);
        pawl_lease_clear(step, task);
        pawl_task_finish(step, entry, PAWL_EVENT_DEAD_LETTERED, cause, actor, excerpt);
        return;
    }
    int64_t delay_ms = retry_after_ms > 0   ? retry_after_ms
                       : retry_after_ms < 0 ? 0
                                            : pawl_retry_delay_ms(&task->retry, task->retries) +
                                                  jitter_ms(step, task);
    if (delay_ms > PAWL_DELAY_MS_MAX) delay_ms = PAWL_DELAY_MS_MAX; /* a long delay, and its jitter */
    if (pawl_task_return(step, entry, delay_ms, by) != PAWL_TASK_QUEUED) return;
    pawl_event_add(step, task, PAWL_EVENT_RETRY_SCHEDULED, cause, actor, excerpt);
}

void pawl_task_charge_timeout(struct pawl_step *step, struct pawl_entry *entry, struct pawl_str owner)
{
    struct pawl_task_row *task = entry->row;
    struct pawl_str error = pawl_arena_format(step->set.arena, "attempt timed out after %" PRId64 " ms",
                                              task->timeout_ms);
    task->retries = pawl_count_next(task->retries);
    task->crashes_in_row = 0;
    pawl_task_fail_attempt(step, entry, error, false, 0, PAWL_BY_ENGINE, PAWL_CAUSE_TIMED_OUT, owner);
}

enum pawl_code pawl_rule_fail(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    bool is_done;
    enum pawl_code code = find_attempt(step, command, &entry, &is_done);
    if (code != PAWL_OK || is_done) return code;
    if (((const struct pawl_task_row *)entry->row)->workflow != 0) return pawl_record_outcome(step, command, entry);
    const struct pawl_task_row *before = entry->row;
    if (before->state != PAWL_TASK_RUNNING) return pawl_state_error(command, before, "fail");

    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    pawl_outcome_accept(task, command);
    task->retries = pawl_count_next(task->retries);
    task->crashes_in_row = 0;
    pawl_task_touch(step, task);
    const struct pawl_failure *failure = &command->ask.failure;
    pawl_task_fail_attempt(step, entry, failure->error, failure->is_final, failure->retry_after_ms,
                           PAWL_BY_WORKER, PAWL_CAUSE_NONE, pawl_command_actor(command));
    return PAWL_OK;
}

enum pawl_code pawl_rule_release(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    bool is_done;
    enum pawl_code code = find_attempt(step, command, &entry, &is_done);
    if (code != PAWL_OK || is_done) return code;
    if (((const struct pawl_task_row *)entry->row)->workflow != 0) return pawl_record_outcome(step, command, entry);

    struct pawl_task_row *task = pawl_set_change(&step->set, entry);
    int64_t delay_ms = command->ask.delay_ms;
    pawl_outcome_accept(task, command);
    pawl_task_touch(step, task);
    if (pawl_task_return(step, entry, delay_ms, PAWL_BY_WORKER) != PAWL_TASK_QUEUED) return PAWL_OK;
    bool is_yield = delay_ms > 0;
    pawl_event_add(step, task, is_yield ? PAWL_EVENT_YIELDED : PAWL_EVENT_RELEASED,
                   is_yield ? PAWL_CAUSE_YIELDED : PAWL_CAUSE_RELEASED, pawl_command_actor(command),
                   command->reason);
    return PAWL_OK;
}

/* Which of the kept ones goes for a new one: the oldest of a stranger, else the oldest. A stranger's takes the place of
 * no holder's: false. */
static bool late_victim(const struct pawl_rows *rows, bool is_holders, size_t *out)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (((const struct pawl_late_row *)rows->rows)[i].is_holders) continue;
        *out = i;
        return true;
    }
    *out = 0;
    return is_holders;
}

enum pawl_code pawl_rule_late(struct pawl_step *step, struct pawl_command *command)
{
    struct pawl_entry *entry;
    enum pawl_code code = pawl_task_find(step, command, command->task_id, &entry);
    if (code != PAWL_OK) return code;
    const struct pawl_task_row *task = entry->row;
    struct pawl_entry *list = pawl_set_look(&step->set, PAWL_LOOK_LATE, task->key, none, 0,
                                            PAWL_LATE_RESULTS_KEPT);
    if (list == NULL || !list->is_loaded) return PAWL_BUSY;
    struct pawl_rows *rows = list->row;
    struct outcome outcome = outcome_of(command);
    int64_t digest = digest_of(command);
    for (size_t i = 0; i < rows->count; i++) {
        const struct pawl_late_row *kept = &((const struct pawl_late_row *)rows->rows)[i];
        bool is_same = kept->epoch == command->fence.epoch && kept->digest == digest &&
                       pawl_str_equal(kept->owner, command->fence.owner);
        if (is_same) return PAWL_OK;
    }
    struct pawl_entry *given =
        pawl_set_look(&step->set, PAWL_LOOK_STARTED, task->key, none, command->fence.epoch, 0);
    if (given == NULL || !given->is_loaded) return PAWL_BUSY;
    bool is_holders =
        given->row != NULL && pawl_str_equal(*(const struct pawl_str *)given->row, command->fence.owner);
    size_t victim = 0;
    bool is_full = rows->count >= PAWL_LATE_RESULTS_KEPT;
    if (is_full && !late_victim(rows, is_holders, &victim)) return PAWL_OK; /* a stranger: no room for him */
    /* The list grows with what this step keeps, so that a repeat in the same step is none either. */
    struct pawl_late_row *all = pawl_step_take(step, (rows->count + 1) * sizeof *all);
    struct pawl_rows *grown = pawl_step_take(step, sizeof *grown);
    if (all == NULL || grown == NULL) return PAWL_NO_MEMORY;
    for (size_t i = 0; i < rows->count; i++) all[i] = ((const struct pawl_late_row *)rows->rows)[i];
    struct pawl_late_row *late = &all[rows->count];
    *late = (struct pawl_late_row){
        .key = pawl_step_key(step),
        .task = task->key,
        .epoch = command->fence.epoch,
        .at_ms = step->now_ms,
        .owner = command->fence.owner,
        .kind = outcome.kind,
        .digest = digest,
        .body = pawl_utf8_cut_bytes(outcome.body, PAWL_LATE_RESULT_BYTES_MAX),
        .is_holders = is_holders,
    };
    pawl_set_append(&step->set, PAWL_APPEND_LATE, late);
    *grown = (struct pawl_rows){.rows = all, .count = rows->count + 1};
    if (is_full) {
        int64_t *prune = pawl_step_take(step, sizeof *prune);
        if (prune == NULL) return PAWL_NO_MEMORY;
        *prune = all[victim].key;
        pawl_set_append(&step->set, PAWL_APPEND_LATE_PRUNE, prune);
        grown->count--;
        memmove(&all[victim], &all[victim + 1], (grown->count - victim) * sizeof *all);
    }
    pawl_set_know(&step->set, PAWL_LOOK_LATE, task->key, none, grown);
    return PAWL_OK;
}
