/* The oracle. After each move it reads all that is stored and asks: is there a cause for each
 * change, has each event been allowed, is all that was ever acknowledged still there. It knows what
 * was asked and answered, and nothing of the code under test. */
#include "flow.h"
#include "work.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>

/* ---- Causes -------------------------------------------------------------------------------- */

const struct call *judge_cause(const struct sim *sim, int *at, bool *is_sure)
{
    for (; *at < sim->sent_count; (*at)++) {
        const struct sent *sent = &sim->sent[*at];
        if (sent->verdict != VERDICT_OK && sent->verdict != VERDICT_UNKNOWN) continue;
        (*at)++;
        *is_sure = sent->verdict == VERDICT_OK;
        return sent->call;
    }
    int unknown = *at - sim->sent_count;
    if (unknown >= sim->unknown_count) return NULL;
    (*at)++;
    *is_sure = false;
    return sim->unknown[unknown];
}

bool call_names(const struct call *call, struct pawl_str task_id)
{
    const struct pawl_command *command = &call->command;
    if (command->kind != PAWL_COMMAND_RENEW) return pawl_str_equal(command->task_id, task_id);
    for (size_t i = 0; i < command->ask.renew.count; i++) {
        if (pawl_str_equal(command->ask.renew.fences[i].task_id, task_id)) return true;
    }
    return false;
}

bool call_is_same_outcome(const struct call *a, const struct call *b)
{
    if (!pawl_str_equal(a->command.fence.owner, b->command.fence.owner)) return false;
    const struct pawl_command *x = &a->command;
    const struct pawl_command *y = &b->command;
    if (a == b) return true;
    if (x->kind != y->kind) return false;
    switch (x->kind) {
    case PAWL_COMMAND_COMPLETE:
        return pawl_str_equal(x->ask.result, y->ask.result);
    case PAWL_COMMAND_FAIL:
        return pawl_str_equal(x->ask.failure.error, y->ask.failure.error) &&
               x->ask.failure.is_final == y->ask.failure.is_final &&
               (x->ask.failure.is_final ||
                x->ask.failure.retry_after_ms == y->ask.failure.retry_after_ms);
    case PAWL_COMMAND_RELEASE:
        return x->ask.delay_ms == y->ask.delay_ms;
    case PAWL_COMMAND_PAUSE:
    case PAWL_COMMAND_CANCEL:
        return true;
    default:
        return false;
    }
}

int model_find(const struct sim *sim, struct pawl_str id)
{
    for (int i = 0; i < sim->model_count; i++) {
        if (pawl_str_equal(sim->models[i].id, id)) return i;
    }
    return -1;
}

int model_find_key(const struct sim *sim, int64_t key)
{
    int low = 0;
    int high = sim->model_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sim->models[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < sim->model_count && sim->models[low].key == key ? low : -1;
}

const char *model_name(struct sim *sim, const struct model *model)
{
    return sim_text(sim, "t%d", (int)(model - sim->models)).ptr;
}

/* ---- New tasks ----------------------------------------------------------------------------- */

static int64_t said(int64_t own, int64_t built_in)
{
    return own == 0 ? built_in : own < 0 ? 0 : own;
}

static const char *new_row_fault(const struct sim *sim, const struct look_task *task,
                                 const struct look_name *name, const struct pawl_task_new *ask)
{
    const struct look_queue *queue = look_queue(sim->after, task->at[LOOK_queue]);
    enum { INPUT = PAWL_PAYLOAD_INPUT };
    if (queue == NULL || !pawl_str_equal(queue->name, ask->queue)) {
        return "its queue is another one";
    }
    if (task->at[LOOK_priority] != (ask->priority == 0  ? 20
                                    : ask->priority < 0 ? 0
                                                        : ask->priority)) {
        return "its priority is another one";
    }
    if (ask->id.len > 0 && !pawl_str_equal(ask->id, name->id)) return "its id is another one";
    if (!pawl_str_equal(ask->key, name->key)) return "its key is another one";
    if (task->at[LOOK_max_retries] != said(ask->retry.max_retries, 3)) {
        return "its budget is another one";
    }
    if (task->at[LOOK_delay_ms] != said(ask->retry.delay_ms, 1000)) {
        return "its delay is another one";
    }
    if (task->at[LOOK_timeout_ms] != ask->timeout_ms) return "its time-out is another one";
    if (task->at[LOOK_dependency_policy] != (int64_t)ask->dependency_policy) {
        return "its policy is another one";
    }
    if (task->payload_lens[INPUT] != (int64_t)ask->input.len) return "its input is another one";
    if (ask->input.len > 0 && task->payload_hashes[INPUT] != look_hash(ask->input)) {
        return "its input is another one";
    }
    return NULL;
}

static const struct call *maker(const struct sim *sim, int number)
{
    int at = 0;
    bool is_sure;
    for (const struct call *call; (call = judge_cause(sim, &at, &is_sure)) != NULL;) {
        if (call->command.kind == PAWL_COMMAND_CREATE && call->number == number) return call;
    }
    return NULL;
}

/* Each row is of a member of a create that was under way. */
static void meet_new_tasks(struct sim *sim)
{
    static struct look_name names[SIM_TASKS_MAX];
    const struct look *look = sim->after;
    int count = 0;
    if (look->task_count == sim->model_count) return;
    int64_t last_key = sim->model_count == 0 ? 0 : sim->models[sim->model_count - 1].key;
    looker_names(&sim->looker, last_key, sim->arena, names, &count,
                 SIM_TASKS_MAX - sim->model_count);
    for (int i = 0; i < count && sim_holds(sim); i++) {
        const struct look_task *task = &look->tasks[sim->model_count];
        int number = -1;
        size_t member = 0;
        (void)sscanf(names[i].title.ptr == NULL ? "" : names[i].title.ptr, "c%d.%zu", &number,
                     &member);
        const struct call *call = maker(sim, number);
        if (call == NULL || member >= call->count) {
            sim_fault(sim, "task %.*s exists, and nobody has just created it",
                      PAWL_STR_ARG(names[i].id));
            return;
        }
        struct model *model = &sim->models[sim->model_count++];
        *model = (struct model){.key = task->at[LOOK_key],
                                .id = names[i].id,
                                .idempotency_key = names[i].key,
                                .made_by = call,
                                .member = member};
        const char *fault = new_row_fault(sim, task, &names[i], &call->asks[member]);
        if (fault != NULL) sim_fault(sim, "%s: %s", model_name(sim, model), fault);
    }
}

static bool is_dependency(const struct sim *sim, const struct model *model,
                          const struct look_dependency *dependency, struct pawl_str name)
{
    int on = model_find_key(sim, dependency->on);
    if (dependency->on == 0) return pawl_str_equal(dependency->on_id, name);
    if (on < 0) return false;
    int member;
    if (sscanf(name.ptr, "#%d", &member) != 1) return pawl_str_equal(sim->models[on].id, name);
    if (sim->models[on].made_by == model->made_by) return sim->models[on].member == (size_t)member;
    /* a member that existed under its key */
    return pawl_str_equal(sim->models[on].idempotency_key, model->made_by->asks[member].key);
}

/* A new task waits for those it named, in that order, and not before it is time. */
static const char *new_task_fault(const struct sim *sim, const struct model *model,
                                  const struct look_task *task)
{
    const struct pawl_task_new *ask = &model->made_by->asks[model->member];
    size_t count = 0;
    for (int i = 0; i < sim->after->dependency_count; i++) {
        const struct look_dependency *dependency = &sim->after->dependencies[i];
        if (dependency->task != model->key) continue;
        bool is_right = count < ask->depends_on_count && dependency->number == (int64_t)count &&
                        is_dependency(sim, model, dependency, ask->depends_on[count]);
        if (!is_right) return "it waits for another task than it named";
        count++;
    }
    if (count != ask->depends_on_count) return "it does not wait for all it named";
    bool is_untouched = model->calls == 0 && !model->is_by_engine &&
                        (model->state == PAWL_TASK_PENDING || model->state == PAWL_TASK_QUEUED);
    if (ask->delay_ms == 0 || ask->run_at_ms != 0 || !is_untouched) return NULL;
    int64_t ready_at_ms = task->at[LOOK_created_at_ms] + ask->delay_ms;
    bool is_deferred = task->at[LOOK_ready_at_ms] == ready_at_ms || sim->now_high_ms >= ready_at_ms;
    return is_deferred ? NULL : "it is not deferred as it was asked";
}

/* All members of a batch or none: as many rows of each, but for those whose key was known. */
static void check_batches(struct sim *sim, int first)
{
    static int rows[SIM_MEMBERS_MAX];
    for (int i = 0; i < sim->sent_count && sim_holds(sim); i++) {
        const struct call *call = sim->sent[i].call;
        if (call->command.kind != PAWL_COMMAND_CREATE || call->count < 2) continue;
        memset(rows, 0, sizeof rows);
        int most = 0;
        for (int t = first; t < sim->model_count; t++) {
            const struct model *model = &sim->models[t];
            if (model->made_by == call && ++rows[model->member] > most) most = rows[model->member];
        }
        for (size_t m = 0; m < call->count && most > 0; m++) {
            if (call->asks[m].key.len == 0 && rows[m] != most) {
                sim_fault(sim, "only a part of batch #%d was created", call->number);
                return;
            }
        }
    }
}

/* ---- Changes of rows ----------------------------------------------------------------------- */

struct change { /* of one task in this move */
    struct sim *sim;
    struct model *model;
    const int64_t *was;
    const int64_t *is;
    const struct look_task *before;
    const struct look_task *after;
};

static bool differs(const struct change *c, enum look_column column)
{
    return c->was[column] != c->is[column];
}

static bool may(const struct change *c, unsigned kinds)
{
    return (c->model->kinds & kinds) != 0;
}

#define KIND(name) (1u << PAWL_COMMAND_##name)

static bool has_passed(const struct change *c, int64_t at_ms)
{
    return at_ms != 0 && (!c->sim->is_now_known || at_ms <= c->sim->now_high_ms);
}

/* What a reader can see of a row: none of it changes under one version. A renewal moves the lease
 * end alone. */
static const char *version_fault(const struct change *c)
{
    static const enum look_column seen[] = {
        LOOK_state,
        LOOK_epoch,
        LOOK_owner,
        LOOK_retries,
        LOOK_recoveries,
        LOOK_ready_at_ms,
        LOOK_updated_at_ms,
        LOOK_started_at_ms,
        LOOK_finished_at_ms,
        LOOK_progress,
        LOOK_progress_epoch,
        LOOK_control,
        LOOK_open_dependencies,
        LOOK_control_deadline_at_ms,
        LOOK_blocked_by,
    };
    bool is_same = c->is[LOOK_version] == c->was[LOOK_version];
    for (size_t i = 0; i < sizeof seen / sizeof *seen && is_same; i++) {
        if (differs(c, seen[i]))
            return "something that is seen of it changed under the same version";
    }
    bool is_older = c->is[LOOK_updated_at_ms] < c->was[LOOK_updated_at_ms];
    return is_older ? "it was touched earlier than before" : NULL;
}

/* It waited for a calendar time, and the wall clock has stepped. */
static bool is_rearmed(const struct change *c)
{
    const struct look *before = c->sim->before;
    bool has_stepped = before->wall_offset_ms != c->sim->after->wall_offset_ms;
    return c->was[LOOK_run_at_ms] != 0 && (has_stepped || look_is_rearming(before));
}

static bool is_noted(const struct change *c)
{
    return may(c, KIND(PROGRESS) | KIND(CHECKPOINT));
}

/* Moves that are told of by another task's events, or by none. */
static bool is_touched(const struct change *c)
{
    return differs(c, LOOK_open_dependencies) || differs(c, LOOK_blocked_by) ||
           c->model->was_blocked || (differs(c, LOOK_ready_at_ms) && is_rearmed(c));
}

/* What a row may not do without an event of its own. */
static const char *silent_fault(const struct change *c)
{
    static const enum look_column with_events[] = {
        LOOK_state,          LOOK_epoch,
        LOOK_sequence,       LOOK_owner,
        LOOK_lease_kind,     LOOK_lease_ms,
        LOOK_retries,        LOOK_recoveries,
        LOOK_crashes_in_row, LOOK_attempt_end_at_ms,
        LOOK_started_at_ms,  LOOK_finished_at_ms,
        LOOK_control,        LOOK_control_deadline_at_ms,
        LOOK_outcome_epoch,  LOOK_outcome_kind,
        LOOK_outcome_digest,
    };
    for (size_t i = 0; i < sizeof with_events / sizeof *with_events; i++) {
        if (differs(c, with_events[i])) return "it moved without an event";
    }
    bool may_be_touched = is_noted(c) || is_touched(c);
    if (differs(c, LOOK_version) && !may_be_touched) return "its version changed without an event";
    if (differs(c, LOOK_updated_at_ms) && !may_be_touched) return "it was touched without an event";
    if (differs(c, LOOK_lease_end_at_ms) && !may(c, KIND(RENEW))) {
        return "its lease end moved without a renewal";
    }
    int64_t closed = c->was[LOOK_open_dependencies] - c->is[LOOK_open_dependencies];
    bool was_blocked = c->was[LOOK_blocked_by] != 0 || c->is[LOOK_blocked_by] != 0;
    bool is_counted = is_noted(c) || was_blocked || is_rearmed(c);
    if (!is_counted && c->is[LOOK_version] - c->was[LOOK_version] != closed) {
        return "its version did not grow by one for each dependency that closed";
    }
    bool has_dependencies = c->was[LOOK_open_dependencies] > 0;
    bool is_ready_now = has_passed(c, c->was[LOOK_ready_at_ms]) || is_rearmed(c);
    if ((differs(c, LOOK_rank) || differs(c, LOOK_ready_at_ms)) && !is_ready_now &&
        !has_dependencies) {
        return "its place in the queue changed by itself";
    }
    bool is_due_now = has_passed(c, c->was[LOOK_due_at_ms]) || is_rearmed(c);
    if (differs(c, LOOK_due_at_ms) && !is_due_now && !has_dependencies && !may(c, KIND(RENEW))) {
        return "its timer moved by itself";
    }
    if ((differs(c, LOOK_open_dependencies) || differs(c, LOOK_blocked_by)) && !has_dependencies) {
        return "its dependencies changed, and it has none";
    }
    return NULL;
}

/* What only some calls can change, event or not. */
static const char *loud_fault(const struct change *c)
{
    static const enum look_column never[] = {
        LOOK_key,         LOOK_queue,         LOOK_priority,          LOOK_timeout_ms,
        LOOK_max_retries, LOOK_backoff,       LOOK_delay_ms,          LOOK_delay_ms_max,
        LOOK_jitter_ms,   LOOK_created_at_ms, LOOK_dependency_policy, LOOK_body_digest,
    };
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        if (differs(c, never[i])) return "something of it changed that never does";
    }
    if (differs(c, LOOK_run_at_ms) && c->is[LOOK_run_at_ms] != 0)
        return "its calendar time changed";
    bool has_ended = c->model->events > 0 && pawl_task_state_is_terminal(c->model->state);
    bool is_noted = may(c, KIND(PROGRESS));
    if ((differs(c, LOOK_progress) || differs(c, LOOK_progress_epoch)) && !is_noted && !has_ended) {
        return "its progress changed by itself";
    }
    if (differs(c, LOOK_progress_event_at_ms) && !is_noted) {
        return "progress was told that nobody made";
    }
    if ((differs(c, LOOK_checkpoint_count) || differs(c, LOOK_checkpoint_bytes) ||
         c->before->checkpoint_hash != c->after->checkpoint_hash) &&
        !may(c, KIND(CHECKPOINT))) {
        return "a checkpoint that nobody saved";
    }
    if (differs(c, LOOK_log_bytes) && !may(c, KIND(LOG))) return "a log line that nobody wrote";
    bool may_replace = may(c, KIND(RESUME)) || c->model->is_by_engine;
    if (c->before->payload_hashes[PAWL_PAYLOAD_INPUT] !=
            c->after->payload_hashes[PAWL_PAYLOAD_INPUT] &&
        !may_replace) {
        return "its input changed";
    }
    if (c->before->payload_hashes[PAWL_PAYLOAD_GOAL] !=
        c->after->payload_hashes[PAWL_PAYLOAD_GOAL]) {
        return "its goal changed";
    }
    if (c->before->payload_hashes[PAWL_PAYLOAD_RESULT] !=
            c->after->payload_hashes[PAWL_PAYLOAD_RESULT] &&
        !(c->model->events > 0 && c->model->state == PAWL_TASK_COMPLETED)) {
        return "its result changed";
    }
    if (c->before->lates > c->after->lates) return "late results are gone";
    if (c->before->lates < c->after->lates && c->model->lates_maybe == 0) {
        return "a late result of nobody";
    }
    if (differs(c, LOOK_has_dependents) && c->is[LOOK_has_dependents] == 0) {
        return "it forgot its dependents";
    }
    return NULL;
}

/* COMPLETED and CANCELLED are for ever; but others may come to depend on it. */
static const char *frozen_fault(const struct change *c)
{
    bool was_over =
        c->was[LOOK_state] == PAWL_TASK_COMPLETED || c->was[LOOK_state] == PAWL_TASK_CANCELLED;
    if (!was_over) return NULL;
    for (int i = 0; i < LOOK_COLUMN_COUNT; i++) {
        if (i != LOOK_has_dependents && c->was[i] != c->is[i]) {
            return "I7: it changed after its end";
        }
    }
    bool is_same = memcmp(c->before->payload_hashes, c->after->payload_hashes,
                          sizeof c->before->payload_hashes) == 0;
    return is_same ? NULL : "I7: a payload changed after its end";
}

/* The row is what its events say. */
static const char *told_fault(const struct change *c)
{
    const struct model *model = c->model;
    if (c->is[LOOK_state] != (int64_t)model->state) {
        return "I4: its state is not that of its last event";
    }
    if (c->is[LOOK_epoch] != model->epoch) return "its epoch is not that of its last event";
    if (c->is[LOOK_retries] != model->retries) return "its retries are not those of its last event";
    if (c->is[LOOK_sequence] != model->sequence) return "I4: it counts other events than there are";
    if (c->is[LOOK_crashes_in_row] != model->crashes) return "its crashes were not counted right";
    if (c->is[LOOK_control] != (int64_t)model->control) {
        return "a request to its holder is not as told";
    }
    if (c->is[LOOK_version] < model->version) return "its version is behind its last event's";
    if (c->is[LOOK_attempt_end_at_ms] != model->attempt_end_at_ms) {
        return "its attempt ends at another time than its time-out says";
    }
    if (model->state == PAWL_TASK_RUNNING &&
        !pawl_str_equal(look_worker_id(c->sim->after, c->is[LOOK_owner]), model->owner)) {
        return "its owner is not who started it";
    }
    /* who waits for others may have been blocked, with an event, and set free again in one move */
    bool may_grow = may(c, KIND(PROGRESS) | KIND(CHECKPOINT)) || c->before == NULL ||
                    is_touched(c) || c->was[LOOK_open_dependencies] > 0;
    if (model->events > 0 && !may_grow && c->is[LOOK_version] != model->version) {
        return "its version grew beyond its last event";
    }
    return NULL;
}

/* What was acknowledged lies beside it, and nothing else. */
static const char *beside_fault(const struct change *c)
{
    enum { CHECKPOINTS_KEPT = 64 };
    const struct model *model = c->model;
    int64_t most = model->checkpoints_sure + model->checkpoints_maybe;
    int64_t least =
        model->checkpoints_sure < CHECKPOINTS_KEPT ? model->checkpoints_sure : CHECKPOINTS_KEPT;
    if (c->after->checkpoints < least) return "promise 1: an acknowledged checkpoint is gone";
    if (c->after->checkpoints > most) return "a checkpoint was saved twice";
    if (c->after->logs < model->logs_sure) return "promise 1: an acknowledged log line is gone";
    if (c->after->logs > model->logs_sure + model->logs_maybe) {
        return "a log line was written twice";
    }
    if (model->state != PAWL_TASK_COMPLETED || model->outcome == NULL || model->is_outcome_unsure) {
        return NULL;
    }
    const struct pawl_command *command = &model->outcome->command;
    if (command->kind != PAWL_COMMAND_COMPLETE) return NULL;
    uint64_t want = command->ask.result.len == 0 ? 0 : look_hash(command->ask.result);
    bool is_told = command->fence.epoch == model->epoch;
    return !is_told || c->after->payload_hashes[PAWL_PAYLOAD_RESULT] == want
               ? NULL
               : "its result is not the accepted one";
}

static const char *change_fault(const struct change *c)
{
    const char *fault = told_fault(c);
    if (fault == NULL) fault = beside_fault(c);
    if (fault == NULL && c->before == NULL) return new_task_fault(c->sim, c->model, c->after);
    if (fault != NULL) return fault;
    fault = version_fault(c);
    if (fault == NULL) fault = frozen_fault(c);
    if (fault == NULL) fault = loud_fault(c);
    if (fault == NULL && c->model->events == 0) fault = silent_fault(c);
    return fault;
}

static void sync_model(const struct change *c)
{
    struct model *model = c->model;
    model->version = c->is[LOOK_version];
    model->lease_end_at_ms = c->is[LOOK_lease_end_at_ms];
    model->attempt_end_at_ms = c->is[LOOK_attempt_end_at_ms];
    model->lease_ms = c->is[LOOK_lease_ms];
    model->ready_at_ms = c->is[LOOK_ready_at_ms];
    model->run_at_ms = c->is[LOOK_run_at_ms];
    model->control_deadline_at_ms = c->is[LOOK_control_deadline_at_ms];
}

static void check_changes(struct sim *sim)
{
    for (int i = 0; i < sim->model_count && sim_holds(sim); i++) {
        const struct look_task *before =
            i < sim->before->task_count ? &sim->before->tasks[i] : NULL;
        const struct look_task *after = &sim->after->tasks[i];
        struct change change = {.sim = sim,
                                .model = &sim->models[i],
                                .was = before == NULL ? NULL : before->at,
                                .is = after->at,
                                .before = before,
                                .after = after};
        const char *fault = change_fault(&change);
        if (fault != NULL) sim_fault(sim, "%s: %s", model_name(sim, change.model), fault);
        sync_model(&change);
    }
}

/* ---- What was asked in this move ----------------------------------------------------------- */

static void count_beside(struct model *model, const struct sent *sent)
{
    bool is_sure = sent->verdict == VERDICT_OK;
    bool is_maybe = sent->verdict == VERDICT_UNKNOWN;
    switch (sent->call->command.kind) {
    case PAWL_COMMAND_CHECKPOINT:
        model->checkpoints_sure += is_sure;
        model->checkpoints_maybe += is_maybe;
        break;
    case PAWL_COMMAND_LOG:
        model->logs_sure += is_sure;
        model->logs_maybe += is_maybe;
        break;
    case PAWL_COMMAND_COMPLETE:
    case PAWL_COMMAND_FAIL:
    case PAWL_COMMAND_RELEASE:
        if (sent->call->command.has_fence && (is_maybe || sent->code == PAWL_LEASE_LOST)) {
            model->lates_maybe++;
        }
        break;
    default:
        break;
    }
}

/* Who may have changed which task. */
static void spread_causes(struct sim *sim)
{
    for (int i = 0; i < sim->model_count; i++) {
        struct model *model = &sim->models[i];
        model->outcome_before = model->outcome;
        model->events = 0;
        model->is_by_engine = false;
        model->was_blocked = false;
        model->kinds = 0;
        model->calls = 0;
        model->lates_maybe = 0;
        model->states = i < sim->before->task_count ? 1u << model->state : 0;
    }
    for (int i = 0; i < sim->sent_count; i++) {
        const struct call *call = sim->sent[i].call;
        int at = model_find(sim, call->command.task_id);
        if (at >= 0) count_beside(&sim->models[at], &sim->sent[i]);
    }
    int at = 0;
    bool is_sure;
    for (const struct call *call; (call = judge_cause(sim, &at, &is_sure)) != NULL;) {
        if (call->command.kind == PAWL_COMMAND_RENEW) {
            for (size_t f = 0; f < call->command.ask.renew.count; f++) {
                int task = model_find(sim, call->command.ask.renew.fences[f].task_id);
                if (task < 0) continue;
                sim->models[task].kinds |= KIND(RENEW);
                sim->models[task].calls++;
            }
            continue;
        }
        int task = model_find(sim, call->command.task_id);
        if (task < 0) continue;
        sim->models[task].kinds |= 1u << call->command.kind;
        sim->models[task].calls++;
    }
}

/* ---- The store as a whole ------------------------------------------------------------------ */

static void find_now(struct sim *sim)
{
    const struct look *look = sim->after;
    sim->is_now_known =
        sim->boot_id_of_move.len > 0 && pawl_str_equal(look->boot_id, sim->boot_id_of_move);
    if (!sim->is_now_known) return;
    /* never behind what was committed before */
    int64_t last = sim->before->now_ms;
    sim->now_low_ms = look->clock_offset_ms + sim->boot_low_ms;
    sim->now_high_ms = look->clock_offset_ms + sim->boot_high_ms;
    if (sim->now_low_ms < last) sim->now_low_ms = last;
    if (sim->now_high_ms < last) sim->now_high_ms = last;
}

static void check_head(struct sim *sim)
{
    const struct look *was = sim->before;
    const struct look *is = sim->after;
    if (is->position < was->position) {
        sim_fault(sim, "promise 1: %" PRId64 " committed events are gone",
                  was->position - is->position);
    } else if (is->next_key < was->next_key) {
        sim_fault(sim, "row keys are given out again");
    } else if (is->now_ms < was->now_ms) {
        sim_fault(sim, "the store's clock went back by %" PRId64 " ms", was->now_ms - is->now_ms);
    } else if (is->task_count < was->task_count && sim->flows == NULL) { /* a restart removes some */
        sim_fault(sim, "promise 1: a task is gone");
    } else if (is->event_count != is->position - was->position && sim->flows == NULL) {
        sim_fault(sim, "%" PRId64 " positions were given to %d events",
                  is->position - was->position, is->event_count);
    } else if (pawl_str_equal(is->boot_id, was->boot_id) &&
               is->clock_offset_ms != was->clock_offset_ms) {
        sim_fault(sim, "the clock of the store was moved during a boot");
    } else if (sim->is_now_known && is->now_ms != was->now_ms &&
               ((is->now_ms < sim->now_low_ms && !sim->is_unsure) ||
                is->now_ms > sim->now_high_ms)) {
        sim_fault(sim,
                  "the store's clock is not the boot clock's: %" PRId64 " is not from %" PRId64
                  " to %" PRId64,
                  is->now_ms, sim->now_low_ms, sim->now_high_ms);
    }
}

static void check_events(struct sim *sim)
{
    const struct look *look = sim->after;
    int64_t at_ms = sim->before->now_ms;
    for (int i = 0; i < look->event_count && sim_holds(sim); i++) {
        const struct look_event *event = &look->events[i];
        if (event->position != sim->before->position + 1 + i) {
            sim_fault(sim, "positions have a gap before %" PRId64, event->position);
            return;
        }
        if (event->at_ms < at_ms || event->at_ms > look->now_ms) {
            sim_fault(sim, "event %" PRId64 " is of another time than its commit", event->position);
            return;
        }
        at_ms = event->at_ms;
        if (event->position < SIM_POSITIONS_MAX) sim->event_at_ms[event->position] = event->at_ms;
        judge_event(sim, event);
    }
}

static void check_consumers(struct sim *sim)
{
    for (int i = 0; i < sim->before->consumer_count && sim_holds(sim); i++) {
        const struct look_consumer *was = &sim->before->consumers[i];
        const struct look_consumer *is =
            i < sim->after->consumer_count ? &sim->after->consumers[i] : NULL;
        if (is == NULL || is->key != was->key || is->cursor < was->cursor) {
            sim_fault(sim, "consumer %.*s is gone, or its cursor went back",
                      PAWL_STR_ARG(was->name));
        }
    }
}

/* ---- Timers -------------------------------------------------------------------------------- */

static int64_t next_due(const struct look *look)
{
    int64_t due = INT64_MAX;
    for (int i = 0; i < look->task_count; i++) {
        int64_t at = look->tasks[i].at[LOOK_due_at_ms];
        if (at != 0 && at < due) due = at;
    }
    return due;
}

/* Promise 3: what is due has been done by the step, and its host is told when the next is due. */
static void check_timers(struct sim *sim)
{
    enum { DUE_ENOUGH = 400, CLOCK_MS = 3 };
    const struct look *look = sim->after;
    if (sim->stepped == NULL || !sim->stepped->has_timers || sim->had_fault || sim->was_killed) {
        return;
    }
    if (!sim->is_now_known || look->task_count >= DUE_ENOUGH) return;
    int64_t due = next_due(look);
    /* a decision may need more rounds than a step has: then the next step is wanted at once */
    if (due <= sim->now_low_ms && sim->flows == NULL) {
        sim_fault(sim,
                  "promise 3: something was due at %" PRId64 " and is still undone at %" PRId64,
                  due, sim->now_low_ms);
        return;
    }
    if (sim->next_boot_ms < 0) return; /* nobody asked */
    int64_t late =
        (sim->boot_high_ms - sim->boot_low_ms) + (sim->swarm.slow_clock > 0 ? 4 * CLOCK_MS : 0);
    int64_t due_boot = due == INT64_MAX ? INT64_MAX : due - look->clock_offset_ms;
    if (look->continuation_count > 0) due_boot = sim->boot_high_ms;
    if (due_boot < sim->boot_high_ms) due_boot = sim->boot_high_ms;
    if (due_boot != INT64_MAX && sim->next_boot_ms > due_boot + late) {
        sim_fault(sim,
                  "promise 3: something is due at %" PRId64
                  ", and the engine wants to be called at %" PRId64,
                  due_boot, sim->next_boot_ms);
    }
}

/* ---- A move -------------------------------------------------------------------------------- */

static void keep_unknown(struct sim *sim, bool has_committed)
{
    bool is_unknown = sim->was_killed;
    for (int i = 0; i < sim->sent_count; i++) {
        is_unknown = is_unknown || sim->sent[i].verdict == VERDICT_UNKNOWN;
    }
    /* what has not shown by now is overwritten by the commit that has */
    if (has_committed && !is_unknown) {
        sim->unknown_count = 0;
        sim->is_unsure = false;
    }
    sim->is_unsure = sim->is_unsure || is_unknown;
    for (int i = 0; i < sim->sent_count; i++) {
        if (sim->sent[i].verdict != VERDICT_UNKNOWN || sim->unknown_count == SIM_UNKNOWN_MAX) {
            continue;
        }
        sim->unknown[sim->unknown_count++] = sim->sent[i].call;
    }
}

void judge_move(struct sim *sim)
{
    if (!sim_holds(sim)) return;
    bool has_committed = looker_is_stale(&sim->looker);
    sim->before = sim->after;
    if (has_committed) {
        sim->after = sim->before == &sim->looks[0] ? &sim->looks[1] : &sim->looks[0];
        looker_read(&sim->looker, sim->after, sim->before->position);
    } else {
        sim->after->event_count = 0;
    }
    find_now(sim);
    check_head(sim);
    if (!sim_holds(sim)) return;
    if (sim->flows != NULL) {
        flow_judge(sim);
        if (sim_holds(sim)) check_timers(sim);
        keep_unknown(sim, has_committed);
        return;
    }
    int first = sim->model_count;
    meet_new_tasks(sim);
    check_batches(sim, first);
    if (!sim_holds(sim)) return;
    spread_causes(sim);
    check_events(sim);
    if (!sim_holds(sim)) return;
    check_changes(sim);
    if (sim_holds(sim)) rules_check(sim, sim->after);
    if (sim_holds(sim)) judge_answers(sim);
    if (sim_holds(sim)) check_consumers(sim);
    if (sim_holds(sim)) check_timers(sim);
    keep_unknown(sim, has_committed);
}

/* ---- The end ------------------------------------------------------------------------------- */

/* Whether a task that is not finished may stay so when nobody does anything any more. */
static bool may_rest(const struct sim *sim, const struct look *look, const struct look_task *task)
{
    switch ((enum pawl_task_state)task->at[LOOK_state]) {
    case PAWL_TASK_PENDING:
    case PAWL_TASK_PAUSED:
    case PAWL_TASK_COMPLETED:
    case PAWL_TASK_FAILED:
    case PAWL_TASK_CANCELLED:
    case PAWL_TASK_DEAD_LETTER:
        return true;
    case PAWL_TASK_RUNNING:
    case PAWL_TASK_RECOVERY_PENDING:
        return false;
    case PAWL_TASK_QUEUED:
        break;
    }
    for (int i = 0; i < look->dependency_count; i++) {
        const struct look_dependency *dependency = &look->dependencies[i];
        if (dependency->task != task->at[LOOK_key] || !dependency->is_open) continue;
        int on = look_find(look, dependency->on);
        if (dependency->on == 0) return true; /* an id that nobody has created */
        if (on >= 0 && look->tasks[on].at[LOOK_state] != PAWL_TASK_COMPLETED) return true;
    }
    (void)sim;
    return false;
}

void judge_end(struct sim *sim)
{
    if (sim->flows != NULL) {
        flow_judge_end(sim);
        return;
    }
    char text[200];
    const struct look *look = sim->after;
    for (int i = 0; i < look->task_count && sim_holds(sim); i++) {
        if (may_rest(sim, look, &look->tasks[i])) continue;
        sim_fault(sim, "%s: everybody behaves, and it stays %s", model_name(sim, &sim->models[i]),
                  pawl_task_state_name(sim->models[i].state));
    }
    if (!sim_holds(sim)) return;
    if (look->continuation_count > 0) sim_fault(sim, "a continuation is left");
    if (sim_holds(sim) && next_due(look) != INT64_MAX) sim_fault(sim, "something is due for ever");
    if (sim_holds(sim) && strcmp(looker_integrity(&sim->looker, text), "ok") != 0) {
        sim_fault(sim, "the file is damaged: %s", text);
    }
    /* a long history is cut at its beginning, never below 256 */
    int64_t cut = looker_number(
        &sim->looker,
        "SELECT count(*) FROM (SELECT count(*) AS kept, max(sequence) AS last, min(sequence) AS "
        "first "
        "FROM event GROUP BY task) WHERE kept <> last - first + 1 OR (first > 1 AND kept < 256)");
    int64_t without = looker_number(
        &sim->looker,
        "SELECT count(*) FROM task t WHERE NOT EXISTS (SELECT 1 FROM event WHERE task = t.key)");
    if (sim_holds(sim) && cut + without > 0) {
        sim_fault(sim, "I4: events are gone that are to be kept");
    }
}
