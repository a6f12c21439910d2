/* Events, one after the other: each is a move that the contract lists, from the state that the
 * events before it have made, by somebody who may. Promise 2: of two holders only the newer can
 * change a task; epochs only grow; no worker leaves a terminal state. */
#include "work.h"

#include "base/error.h"
#include "engine/place.h"

#include <inttypes.h>

#define STATE(name) (1u << PAWL_TASK_##name)
#define KIND(name)  (1u << PAWL_COMMAND_##name)

enum {
    OPEN = STATE(PENDING) | STATE(QUEUED) | STATE(RUNNING) | STATE(PAUSED),
    NOT_RUNNING = STATE(PENDING) | STATE(QUEUED) | STATE(PAUSED),
    REVIVABLE = STATE(FAILED) | STATE(DEAD_LETTER),
};

struct judging {
    struct sim *sim;
    struct model *model;
    const struct look_event *event;
    int64_t epochs;  /* by how much epoch and retries have to grow in it */
    int64_t retries; /* or RETRIES_RESET */
    const struct call *cause;
    bool is_unsure;  /* one of several may be the cause */
    bool is_time_up; /* its attempt's time: that is what the loss of its lease is charged as */
};

enum { RETRIES_RESET = -1 };

static bool is_from(const struct judging *j, unsigned states)
{
    return (states >> j->model->state & 1) != 0;
}

static bool has_come(int64_t at_ms, const struct judging *j)
{
    return at_ms != 0 && at_ms <= j->event->at_ms;
}

/* ---- Who did it ---------------------------------------------------------------------------- */

/* A call of the holder: with the fence that is the current one, before the lease ends. */
static const char *by_holder(struct judging *j, unsigned kinds)
{
    const struct model *model = j->model;
    if (model->state != PAWL_TASK_RUNNING) return "a holder moved a task that does not run";
    if (j->event->at_ms >= model->lease_end_at_ms) {
        return "a holder changed it after the end of its lease";
    }
    bool is_sure_found = false;
    bool is_sure;
    int at = 0;
    for (const struct call *call; (call = judge_cause(j->sim, &at, &is_sure)) != NULL;) {
        const struct pawl_command *command = &call->command;
        if ((kinds >> command->kind & 1) == 0 || !command->has_fence) continue;
        if (!pawl_str_equal(command->task_id, model->id) || command->fence.epoch != model->epoch) {
            continue;
        }
        if (!pawl_str_equal(command->fence.owner, model->owner)) continue;
        if (j->cause == NULL || (is_sure && !is_sure_found)) {
            j->is_unsure = false;
            j->cause = call;
            is_sure_found = is_sure;
        } else if (!is_sure_found && !call_is_same_outcome(j->cause, call)) {
            j->is_unsure = true;
        }
    }
    return j->cause == NULL ? "it changed under its lease, and its holder did not ask for that"
                            : NULL;
}

static const char *holder_outcome(struct judging *j, unsigned kinds)
{
    const char *fault = by_holder(j, kinds);
    j->model->outcome = j->cause;
    j->model->is_outcome_unsure = j->is_unsure;
    return fault;
}

static const char *by_operator(struct judging *j, unsigned kinds)
{
    int at = 0;
    bool is_sure;
    for (const struct call *call; (call = judge_cause(j->sim, &at, &is_sure)) != NULL;) {
        const struct pawl_command *command = &call->command;
        if ((kinds >> command->kind & 1) == 0 || command->has_fence) continue;
        if (!pawl_str_equal(command->task_id, j->model->id)) continue;
        if (!pawl_str_equal(command->actor, j->event->actor)) continue;
        j->cause = call;
        return NULL;
    }
    return "no operator asked for that";
}

/* What an execution has said that has ended after its lease was lost. */
static bool by_stopped(const struct judging *j)
{
    int at = 0;
    bool is_sure;
    for (const struct call *call; (call = judge_cause(j->sim, &at, &is_sure)) != NULL;) {
        const struct pawl_command *command = &call->command;
        if (command->kind == PAWL_COMMAND_STOPPED && command->fence.epoch == j->model->epoch &&
            pawl_str_equal(command->task_id, j->model->id) &&
            pawl_str_equal(command->fence.owner, j->model->owner)) {
            return true;
        }
    }
    return false;
}

/* Its lock is where no engine can look any more. */
static bool is_elsewhere(const struct judging *j)
{
    return !pawl_place_is_of_boot(j->model->lease_place, j->sim->boot_id);
}

/* A supervised lease is given back when its work is known to have stopped, and not before. */
static const char *proof_fault(struct judging *j)
{
    const struct model *model = j->model;
    if (!model->is_supervised) return NULL;
    if (work_goes_on(j->sim, (int)(model - j->sim->models), model->epoch)) {
        return "it was given back while its work goes on";
    }
    if (model->stopped_epoch == model->epoch || by_stopped(j)) return NULL;
    /* across places the end of the lease is all there is */
    return is_elsewhere(j) ? NULL : "it was given back without proof that its work has stopped";
}

static bool is_holders(const struct judging *j)
{
    return j->model->state == PAWL_TASK_RUNNING && j->event->actor.len > 0 &&
           pawl_str_equal(j->event->actor, j->model->owner);
}

/* ---- Dependencies -------------------------------------------------------------------------- */

static bool is_bad_end(enum pawl_task_state state)
{
    return state == PAWL_TASK_FAILED || state == PAWL_TASK_CANCELLED ||
           state == PAWL_TASK_DEAD_LETTER;
}

static const char *by_dependency(struct judging *j, enum pawl_dependency_policy policy)
{
    const struct look *look = j->sim->after;
    int at = look_find(look, j->model->key);
    if (look->tasks[at].at[LOOK_dependency_policy] != (int64_t)policy) {
        return "its policy says otherwise";
    }
    j->model->is_by_engine = true;
    for (int i = 0; i < look->dependency_count; i++) {
        const struct look_dependency *dependency = &look->dependencies[i];
        if (dependency->task != j->model->key) continue;
        int on = model_find_key(j->sim, dependency->on);
        if (on >= 0 && is_bad_end(j->sim->models[on].state)) return NULL;
    }
    return "no dependency of it has ended badly";
}

/* I8 */
static const char *dependencies_fault(const struct judging *j)
{
    const struct look *look = j->sim->after;
    int at = look_find(look, j->model->key);
    bool ignores = look->tasks[at].at[LOOK_dependency_policy] == PAWL_DEPENDENCY_IGNORE;
    for (int i = 0; i < look->dependency_count; i++) {
        const struct look_dependency *dependency = &look->dependencies[i];
        if (dependency->task != j->model->key) continue;
        int on = model_find_key(j->sim, dependency->on);
        if (on >= 0 && j->sim->models[on].state == PAWL_TASK_COMPLETED) continue;
        if (on >= 0 && ignores && j->sim->models[on].has_ended_badly) continue;
        return "I8: it was given out before all it depends on had completed";
    }
    return NULL;
}

/* ---- Delays -------------------------------------------------------------------------------- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* min(cap, base * 2^(n-1)) and its sisters */
static int64_t policy_delay_ms(const struct judging *j, int64_t retry)
{
    const int64_t *row = j->sim->after->tasks[look_find(j->sim->after, j->model->key)].at;
    int64_t base = row[LOOK_delay_ms];
    int64_t cap = row[LOOK_delay_ms_max];
    switch ((enum pawl_backoff)row[LOOK_backoff]) {
    case PAWL_BACKOFF_EXPONENTIAL:
        return retry > 30 ? cap : smaller(cap, base << (retry - 1));
    case PAWL_BACKOFF_LINEAR:
        return smaller(cap, base * retry);
    case PAWL_BACKOFF_FIXED:
        return smaller(cap, base);
    }
    return 0;
}

static const char *retry_delay_fault(const struct judging *j, int64_t retry_after_ms)
{
    const struct look_event *event = j->event;
    const int64_t *row = j->sim->after->tasks[look_find(j->sim->after, j->model->key)].at;
    int64_t low = retry_after_ms > 0   ? retry_after_ms
                  : retry_after_ms < 0 ? 0
                                       : policy_delay_ms(j, event->retries);
    int64_t high = retry_after_ms == 0 ? low + row[LOOK_jitter_ms] : low;
    int64_t delay = event->next_retry_at_ms == 0 ? 0 : event->next_retry_at_ms - event->at_ms;
    return delay >= low && delay <= high ? NULL : "the delay of its retry is not its policy's";
}

/* the first crash in a row is for nothing, then 1, 2, 4 ... 60 s */
static const char *crash_delay_fault(const struct judging *j)
{
    int64_t crashes = j->model->crashes;
    int64_t want = crashes <= 1  ? 0
                   : crashes > 7 ? 60000
                                 : smaller(60000, INT64_C(1000) << (crashes - 2));
    int64_t delay =
        j->event->next_retry_at_ms == 0 ? 0 : j->event->next_retry_at_ms - j->event->at_ms;
    return delay == want ? NULL : "the delay after its crash is not the contract's";
}

static bool is_over_budget(const struct judging *j)
{
    const int64_t *row = j->sim->after->tasks[look_find(j->sim->after, j->model->key)].at;
    return j->event->retries > row[LOOK_max_retries];
}

/* ---- Kinds of events ----------------------------------------------------------------------- */

static const struct pawl_task_new *asked(const struct model *model)
{
    return &model->made_by->asks[model->member];
}

static const char *created(struct judging *j)
{
    if (j->model->sequence != 0 || j->event->epoch != 0) return "it was created twice";
    if (!pawl_str_equal(j->event->actor, asked(j->model)->actor)) return "somebody else created it";
    return NULL;
}

static const char *queued(struct judging *j)
{
    if (!is_from(j, STATE(PENDING))) return "queued though it was not PENDING";
    if (!asked(j->model)->hold && pawl_str_equal(j->event->actor, asked(j->model)->actor)) {
        return NULL;
    }
    return by_operator(j, KIND(QUEUE));
}

static bool asks_for(const struct judging *j, const struct pawl_claim *ask)
{
    const struct look *look = j->sim->after;
    const int64_t *row = look->tasks[look_find(look, j->model->key)].at;
    const struct look_queue *queue = look_queue(look, row[LOOK_queue]);
    if (queue == NULL || queue->is_paused || row[LOOK_priority] < ask->priority_min) return false;
    for (size_t i = 0; i < ask->queue_count; i++) {
        if (pawl_str_equal(ask->queues[i], queue->name)) return true;
    }
    return false;
}

/* The lengths that a lease may have: the claim's, the queue's (which may have changed in this
 * move), ours. */
static bool is_lease_ms(const struct judging *j, const struct pawl_claim *ask, int64_t lease_ms)
{
    if (ask->lease_ms != 0) return lease_ms == ask->lease_ms;
    const int64_t *row = j->sim->after->tasks[look_find(j->sim->after, j->model->key)].at;
    const struct look *looks[] = {j->sim->before, j->sim->after};
    for (int i = 0; i < 2; i++) {
        const struct look_queue *queue = look_queue(looks[i], row[LOOK_queue]);
        if (lease_ms == (queue == NULL || queue->lease_ms == 0 ? SIM_LEASE_MS : queue->lease_ms)) {
            return true;
        }
    }
    return false;
}

static const char *started(struct judging *j)
{
    struct model *model = j->model;
    const struct look_event *event = j->event;
    j->epochs = 1;
    if (!is_from(j, STATE(PENDING) | STATE(QUEUED))) return "given out though it was not to be had";
    int64_t ready_at_ms = model->run_at_ms != 0 ? model->run_at_ms - j->sim->after->wall_offset_ms
                                                : model->ready_at_ms;
    if (ready_at_ms > event->at_ms) return "given out before its time";
    const char *fault = dependencies_fault(j);
    if (fault != NULL) return fault;
    const struct look_task *after = &j->sim->after->tasks[look_find(j->sim->after, model->key)];
    const int64_t *row = after->at;
    bool is_still = row[LOOK_state] == PAWL_TASK_RUNNING && row[LOOK_epoch] == event->epoch;
    int at = 0;
    bool is_sure;
    for (const struct call *call; (call = judge_cause(j->sim, &at, &is_sure)) != NULL;) {
        if (call->command.kind != PAWL_COMMAND_START && call->command.kind != PAWL_COMMAND_CLAIM) {
            continue;
        }
        const struct pawl_claim *ask = call->command.ask.claim.ask;
        if (!pawl_str_equal(ask->worker_id, event->actor)) continue;
        if (call->command.kind == PAWL_COMMAND_START
                ? !pawl_str_equal(call->command.task_id, model->id)
                : !asks_for(j, ask)) {
            continue;
        }
        if (is_still && !is_lease_ms(j, ask, row[LOOK_lease_ms])) continue;
        bool is_kind = row[LOOK_lease_kind] ==
                       (ask->is_supervised ? PAWL_LEASE_SUPERVISED : PAWL_LEASE_CLIENT);
        if (is_still && !is_kind) continue;
        /* as it was when it asked: since then the machine may have started anew */
        struct pawl_str place = call->place;
        if (is_still && !pawl_str_equal(after->lease_place, place)) continue;
        model->lease_place = place;
        model->is_supervised = ask->is_supervised;
        model->owner = ask->worker_id;
        model->lease_ms = is_still ? row[LOOK_lease_ms] : ask->lease_ms;
        model->lease_end_at_ms = is_still ? event->at_ms + model->lease_ms : INT64_MAX;
        model->attempt_end_at_ms =
            row[LOOK_timeout_ms] == 0 ? 0 : event->at_ms + row[LOOK_timeout_ms];
        /* no lease outlives its attempt */
        if (model->attempt_end_at_ms != 0 && model->attempt_end_at_ms < model->lease_end_at_ms) {
            model->lease_end_at_ms = model->attempt_end_at_ms;
        }
        return NULL;
    }
    return "no worker asked for it in this way";
}

static const char *progressed(struct judging *j)
{
    if (!is_from(j, OPEN) || j->event->state != (int64_t)j->model->state) {
        return "progress of what is not open";
    }
    return is_holders(j) ? by_holder(j, KIND(PROGRESS)) : by_operator(j, KIND(PROGRESS));
}

/* Back from a holder or from recovery, where a request was waiting. */
static const char *returned(struct judging *j, enum pawl_control control)
{
    struct model *model = j->model;
    if (model->control != control) return "nobody had asked for that";
    if (model->state == PAWL_TASK_RECOVERY_PENDING) {
        j->epochs = 1;
        j->retries = 1;
        model->crashes = model->attempt_end_at_ms != 0 ? 0 : model->crashes + 1;
        model->is_by_engine = true;
        return proof_fault(j);
    }
    if (has_come(model->attempt_end_at_ms, j) && j->event->epoch == model->epoch + 1) {
        j->epochs = 1;
        j->retries = 1;
        model->crashes = 0;
        model->is_by_engine = true;
        return NULL;
    }
    const char *fault = holder_outcome(j, KIND(FAIL) | KIND(RELEASE));
    if (fault != NULL) return fault;
    /* both may have been under way: the count tells them apart */
    bool is_counted = j->event->retries > model->retries;
    if (j->is_unsure ? is_counted : j->cause->command.kind == PAWL_COMMAND_FAIL) {
        j->retries = 1;
        model->crashes = 0;
    }
    return NULL;
}

static const char *paused(struct judging *j)
{
    if (j->event->cause == PAWL_CAUSE_CONTROL) return returned(j, PAWL_CONTROL_PAUSE);
    if (is_holders(j)) return holder_outcome(j, KIND(PAUSE));
    return is_from(j, STATE(PENDING) | STATE(QUEUED)) ? by_operator(j, KIND(PAUSE))
                                                      : "paused from a wrong state";
}

static const char *resumed(struct judging *j)
{
    bool was_finished = is_from(j, REVIVABLE);
    bool keeps;
    j->epochs = was_finished;
    if (!was_finished && !is_from(j, STATE(PAUSED))) return "resumed from a wrong state";
    if (j->event->cause == PAWL_CAUSE_REDRIVEN) {
        if (!is_from(j, STATE(DEAD_LETTER))) return "redriven though it was no dead letter";
        j->model->is_by_engine = true;
        int number;
        if (sscanf(j->event->actor.ptr, "op#%d", &number) != 1 || number >= j->sim->call_count) {
            return "by nobody";
        }
        const struct call *call = &j->sim->calls[number];
        if (call->command.kind != PAWL_COMMAND_REDRIVE || call->sent_count == 0) {
            return "by no redrive";
        }
        keeps = call->command.ask.redrive->resume.keep_retries;
    } else {
        const char *fault = by_operator(j, KIND(RESUME));
        if (fault != NULL) return fault;
        keeps = j->cause->command.ask.resume.keep_retries;
    }
    j->model->crashes = 0;
    if (was_finished && !keeps) j->retries = RETRIES_RESET;
    if (was_finished) j->model->keeps_budget = keeps;
    return NULL;
}

static const char *completed(struct judging *j)
{
    if (++j->model->completions > 1) return "completed twice";
    j->model->crashes = 0;
    if (is_holders(j)) return holder_outcome(j, KIND(COMPLETE));
    return is_from(j, NOT_RUNNING) ? by_operator(j, KIND(COMPLETE))
                                   : "completed from a wrong state";
}

static const char *forced(struct judging *j)
{
    struct model *model = j->model;
    if (j->event->actor.len == 0) {
        j->epochs = 1;
        model->is_by_engine = true;
        if (model->control != PAWL_CONTROL_CANCEL) {
            return "the engine cancelled it, and nobody had asked";
        }
        return has_come(model->control_deadline_at_ms, j)
                   ? NULL
                   : "the engine cancelled it before the deadline";
    }
    j->epochs = is_from(j, REVIVABLE | STATE(RUNNING) | STATE(RECOVERY_PENDING));
    return by_operator(j, KIND(CANCEL));
}

static const char *cancelled(struct judging *j)
{
    if (!is_from(j, OPEN | REVIVABLE | STATE(RECOVERY_PENDING))) {
        return "cancelled from a wrong state";
    }
    switch (j->event->cause) {
    case PAWL_CAUSE_CONTROL:
        return returned(j, PAWL_CONTROL_CANCEL);
    case PAWL_CAUSE_DEPENDENCY:
        return is_from(j, NOT_RUNNING) ? by_dependency(j, PAWL_DEPENDENCY_CANCEL)
                                       : "cancelled while it ran";
    case PAWL_CAUSE_FORCED:
        return forced(j);
    default:
        break;
    }
    if (is_from(j, STATE(RECOVERY_PENDING)))
        return "cancelled without force while its work may go on";
    if (is_holders(j)) return holder_outcome(j, KIND(CANCEL));
    j->epochs = is_from(j, REVIVABLE);
    return is_from(j, STATE(RUNNING)) ? "an operator cancelled it under its lease"
                                      : by_operator(j, KIND(CANCEL));
}

static const char *timed_out(struct judging *j)
{
    j->epochs = 1;
    j->retries = 1;
    j->model->crashes = 0;
    j->model->is_by_engine = true;
    if (!has_come(j->model->attempt_end_at_ms, j)) return "the attempt timed out before its time";
    if (j->model->is_supervised != is_from(j, STATE(RECOVERY_PENDING))) {
        return j->model->is_supervised ? "charged before its work was known to have stopped"
                                       : "charged twice";
    }
    return proof_fault(j);
}

static const char *retry_scheduled(struct judging *j)
{
    if (is_over_budget(j)) return "a retry beyond the budget";
    if (j->event->cause == PAWL_CAUSE_TIMED_OUT) {
        const char *early = timed_out(j);
        return early != NULL ? early : retry_delay_fault(j, 0);
    }
    if (!is_from(j, STATE(RUNNING))) return "a retry of what did not run";
    const char *fault = holder_outcome(j, KIND(FAIL));
    if (fault != NULL) return fault;
    j->retries = 1;
    j->model->crashes = 0;
    const struct pawl_failure *failure = &j->cause->command.ask.failure;
    if (j->is_unsure) return NULL;
    return failure->is_final ? "a retry of what failed for good"
                             : retry_delay_fault(j, failure->retry_after_ms);
}

static const char *dead_lettered(struct judging *j)
{
    if (j->event->cause == PAWL_CAUSE_TIMED_OUT) {
        const char *early = timed_out(j);
        return early != NULL || is_over_budget(j) ? early : "dead with tries left";
    }
    if (j->event->cause == PAWL_CAUSE_LEASE_ENDED) {
        j->epochs = 1;
        j->retries = 1;
        j->model->crashes++;
        j->model->is_by_engine = true;
        if (!is_from(j, STATE(RECOVERY_PENDING))) return "dead of a lease that had not ended";
        if (j->model->attempt_end_at_ms != 0) return "its time was up, and it is told as a crash";
        return is_over_budget(j) ? proof_fault(j) : "dead with tries left";
    }
    const char *fault = holder_outcome(j, KIND(FAIL));
    if (fault != NULL) return fault;
    j->retries = 1;
    j->model->crashes = 0;
    bool may_die = j->cause->command.ask.failure.is_final || is_over_budget(j) || j->is_unsure;
    return may_die ? NULL : "dead with tries left";
}

static const char *fenced(struct judging *j)
{
    struct model *model = j->model;
    model->is_by_engine = true;
    j->is_time_up = j->event->cause == PAWL_CAUSE_TIMED_OUT;
    if (!is_from(j, STATE(RUNNING))) return "fenced though it did not run";
    if (j->is_time_up && !model->is_supervised)
        return "its time is up, and it is not charged at once";
    /* of several instants the earliest counts */
    bool is_attempt_first =
        has_come(model->attempt_end_at_ms, j) && model->attempt_end_at_ms <= model->lease_end_at_ms;
    if (is_attempt_first != j->is_time_up)
        return "the end of its attempt and of its lease were mixed up";
    return has_come(model->lease_end_at_ms, j) ? NULL : "fenced before the end of its lease";
}

static const char *recovered(struct judging *j)
{
    j->epochs = 1;
    j->retries = 1;
    j->model->crashes++;
    j->model->is_by_engine = true;
    if (!is_from(j, STATE(RECOVERY_PENDING))) return "recovered though it was not fenced";
    if (j->model->attempt_end_at_ms != 0) return "its time was up, and it is charged as a crash";
    const char *fault = proof_fault(j);
    if (fault != NULL) return fault;
    return is_over_budget(j) ? "recovered beyond its budget" : crash_delay_fault(j);
}

static const char *noted(struct judging *j)
{
    j->model->is_by_engine = true;
    if (!is_from(j, STATE(RECOVERY_PENDING)) || !j->model->is_supervised) {
        return "a note of a recovery that there is not";
    }
    if (pawl_str_equal(j->event->note, j->model->note)) return "the same was noted twice";
    j->model->note = sim_text(j->sim, "%.*s", PAWL_STR_ARG(j->event->note));
    return NULL;
}

static const char *given_back(struct judging *j)
{
    const char *fault = holder_outcome(j, KIND(RELEASE));
    if (fault != NULL || j->is_unsure) return fault;
    int64_t delay =
        j->event->next_retry_at_ms == 0 ? 0 : j->event->next_retry_at_ms - j->event->at_ms;
    if (delay != j->cause->command.ask.delay_ms) return "given back for another delay";
    return (delay > 0) == (j->event->type == PAWL_EVENT_YIELDED) ? NULL : "told in the wrong words";
}

static const char *requested(struct judging *j)
{
    if (!is_from(j, STATE(RUNNING))) return "a request to a holder that there is not";
    bool is_pause = j->event->cause == PAWL_CAUSE_PAUSE;
    const char *fault = by_operator(j, is_pause ? KIND(PAUSE) : KIND(CANCEL));
    j->model->control = is_pause ? PAWL_CONTROL_PAUSE : PAWL_CONTROL_CANCEL;
    j->model->control_deadline_at_ms = j->event->at_ms + j->model->lease_ms;
    j->model->is_overdue = false;
    return fault;
}

static const char *unanswered(struct judging *j)
{
    struct model *model = j->model;
    model->is_by_engine = true;
    if (!is_from(j, STATE(RUNNING)) || model->control != PAWL_CONTROL_PAUSE) {
        return "nobody had asked it to pause";
    }
    if (!has_come(model->control_deadline_at_ms, j)) return "overdue before the deadline";
    if (model->is_overdue) return "an unanswered pause was told twice";
    model->is_overdue = true;
    return NULL;
}

static const char *blocked(struct judging *j)
{
    j->model->was_blocked = true;
    return is_from(j, NOT_RUNNING) ? by_dependency(j, PAWL_DEPENDENCY_BLOCK)
                                   : "blocked in a wrong state";
}

static const char *resolved(struct judging *j, enum pawl_task_state to)
{
    bool was_lost = is_from(j, STATE(RECOVERY_PENDING));
    int task = (int)(j->model - j->sim->models);
    j->epochs = 1;
    if (!is_from(j, REVIVABLE) && !was_lost) return "resolved from a wrong state";
    const char *fault = by_operator(j, KIND(RESOLVE));
    if (fault != NULL) return fault;
    enum pawl_task_state want = j->cause->command.ask.resolve.outcome;
    if (want == PAWL_TASK_QUEUED && j->model->control == PAWL_CONTROL_PAUSE) want = PAWL_TASK_PAUSED;
    if (want == PAWL_TASK_QUEUED && j->model->control == PAWL_CONTROL_CANCEL) want = PAWL_TASK_CANCELLED;
    if (want != to) return "resolved in another way than was asked";
    /* FAILED can be resumed later, by somebody who looks no more */
    bool may_run_again = to == PAWL_TASK_QUEUED || to == PAWL_TASK_FAILED;
    if (j->cause->command.is_forced) work_overrule(j->sim, task);
    bool has_looked = j->cause->seen_epoch >= j->model->epoch || j->cause->command.is_forced;
    if (was_lost && may_run_again && !has_looked) {
        return "an operator let it run again without a look after its lease was lost";
    }
    if (was_lost && may_run_again && work_goes_on(j->sim, task, j->model->epoch)) {
        return "an operator let it run again while its work goes on, and was not told";
    }
    if (to == PAWL_TASK_COMPLETED && ++j->model->completions > 1) return "completed twice";
    if (to == PAWL_TASK_QUEUED) j->model->crashes = 0;
    if (to == PAWL_TASK_QUEUED && !was_lost) {
        j->retries = RETRIES_RESET;
        j->model->keeps_budget = false;
    }
    return NULL;
}

static const char *judge_type(struct judging *j, int64_t *to)
{
    switch ((enum pawl_event_type)j->event->type) {
    case PAWL_EVENT_CREATED:
        *to = PAWL_TASK_PENDING;
        return created(j);
    case PAWL_EVENT_QUEUED:
        *to = PAWL_TASK_QUEUED;
        return queued(j);
    case PAWL_EVENT_STARTED:
        *to = PAWL_TASK_RUNNING;
        return started(j);
    case PAWL_EVENT_PROGRESS:
        *to = j->model->state;
        return progressed(j);
    case PAWL_EVENT_PAUSED:
        *to = PAWL_TASK_PAUSED;
        return paused(j);
    case PAWL_EVENT_RESUMED:
        *to = PAWL_TASK_QUEUED;
        return resumed(j);
    case PAWL_EVENT_COMPLETED:
        *to = PAWL_TASK_COMPLETED;
        return completed(j);
    case PAWL_EVENT_FAILED:
        *to = PAWL_TASK_FAILED;
        return is_from(j, STATE(RECOVERY_PENDING)) ? resolved(j, PAWL_TASK_FAILED)
                                                   : "FAILED, and nothing here is remote";
    case PAWL_EVENT_RECOVERY_NOTED:
        *to = PAWL_TASK_RECOVERY_PENDING;
        return noted(j);
    case PAWL_EVENT_CANCELLED:
        *to = PAWL_TASK_CANCELLED;
        return cancelled(j);
    case PAWL_EVENT_RETRY_SCHEDULED:
        *to = PAWL_TASK_QUEUED;
        return retry_scheduled(j);
    case PAWL_EVENT_DEAD_LETTERED:
        *to = PAWL_TASK_DEAD_LETTER;
        return dead_lettered(j);
    case PAWL_EVENT_FENCED:
        *to = PAWL_TASK_RECOVERY_PENDING;
        return fenced(j);
    case PAWL_EVENT_RECOVERED:
        *to = PAWL_TASK_QUEUED;
        return recovered(j);
    case PAWL_EVENT_YIELDED:
    case PAWL_EVENT_RELEASED:
        *to = PAWL_TASK_QUEUED;
        return given_back(j);
    case PAWL_EVENT_CONTROL_REQUESTED:
        *to = PAWL_TASK_RUNNING;
        return requested(j);
    case PAWL_EVENT_UNANSWERED:
        *to = PAWL_TASK_RUNNING;
        return unanswered(j);
    case PAWL_EVENT_BLOCKED:
        *to = j->model->state;
        return blocked(j);
    case PAWL_EVENT_RESOLVED_QUEUED:
        *to = PAWL_TASK_QUEUED;
        return resolved(j, PAWL_TASK_QUEUED);
    case PAWL_EVENT_RESOLVED_PAUSED:
        *to = PAWL_TASK_PAUSED;
        return resolved(j, PAWL_TASK_PAUSED);
    case PAWL_EVENT_RESOLVED_COMPLETED:
        *to = PAWL_TASK_COMPLETED;
        return resolved(j, PAWL_TASK_COMPLETED);
    case PAWL_EVENT_RESOLVED_CANCELLED:
        *to = PAWL_TASK_CANCELLED;
        return resolved(j, PAWL_TASK_CANCELLED);
    case PAWL_EVENT_IMPORTED: /* nobody imports here */
    case PAWL_EVENT_ATTEMPT_FAILED: /* nor are there workflows */
    case PAWL_EVENT_NONE:
        break;
    }
    return "an event of no type";
}

/* What raises a version beside the events of its task: notes of its worker, what becomes of those it waits
 * for, and the calendar. */
static bool may_be_touched(const struct judging *j)
{
    unsigned notes = KIND(PROGRESS) | KIND(CHECKPOINT);
    int task = (int)(j->model - j->sim->models);
    if ((j->model->kinds & notes) != 0 || task >= j->sim->before->task_count) return true;
    const int64_t *was = j->sim->before->tasks[task].at;
    return was[LOOK_open_dependencies] > 0 || was[LOOK_run_at_ms] != 0;
}

static const char *judge_numbers(const struct judging *j, int64_t to)
{
    const struct look_event *event = j->event;
    const struct model *model = j->model;
    if (event->sequence != model->sequence + 1) return "I4: the sequence of its events has a gap";
    if (event->state != to) return "the event tells another state";
    if (event->epoch != model->epoch + j->epochs) {
        return event->epoch < model->epoch ? "I2: its epoch fell"
                                           : "its epoch did not grow as it must";
    }
    if (event->version <= model->version) return "its version did not grow";
    if (event->version != model->version + 1 && !may_be_touched(j)) {
        return "its version grew by more than one for one event";
    }
    if (event->retries != (j->retries == RETRIES_RESET ? 0 : model->retries + j->retries)) {
        return "retries were not counted right";
    }
    return NULL;
}

/* The model goes where the event says. */
static void take(const struct judging *j)
{
    struct model *model = j->model;
    const struct look_event *event = j->event;
    model->state = (enum pawl_task_state)event->state;
    model->epoch = event->epoch;
    model->version = event->version;
    model->sequence = event->sequence;
    model->retries = event->retries;
    model->ready_at_ms = event->next_retry_at_ms;
    if (event->state != PAWL_TASK_QUEUED && event->state != PAWL_TASK_PENDING) model->run_at_ms = 0;
    model->states |= 1u << event->state;
    model->events++;
    if (is_bad_end(model->state)) model->has_ended_badly = true;
    if (model->state == PAWL_TASK_RUNNING || event->type == PAWL_EVENT_RECOVERY_NOTED) return;
    model->lease_end_at_ms = 0;
    model->note = (struct pawl_str){0};
    if (!j->is_time_up) model->attempt_end_at_ms = 0;
    if (model->state == PAWL_TASK_RECOVERY_PENDING) return; /* it keeps owner and request */
    model->owner = (struct pawl_str){0};
    model->control = PAWL_CONTROL_NONE;
    model->control_deadline_at_ms = 0;
    model->is_overdue = false;
}

static void tell_event(struct sim *sim, const struct model *model, const struct look_event *event)
{
    if (sim->options->story == NULL) return;
    struct pawl_str type = pawl_event_type_text((enum pawl_event_type)event->type);
    struct pawl_str cause = pawl_event_cause_text((enum pawl_event_cause)event->cause);
    sim_tell(sim, "    %s %.*s%s%.*s: %s, epoch %" PRId64 ", retries %" PRId64 " by %.*s",
             model_name(sim, model), PAWL_STR_ARG(type), cause.len > 0 ? " " : "",
             PAWL_STR_ARG(cause), pawl_task_state_name((enum pawl_task_state)event->state),
             event->epoch, event->retries,
             PAWL_STR_ARG(event->actor.len > 0 ? event->actor : PAWL_STR("the engine")));
}

void judge_event(struct sim *sim, const struct look_event *event)
{
    int at = model_find_key(sim, event->task);
    if (at < 0) {
        sim_fault(sim, "event %" PRId64 " is of no task", event->position);
        return;
    }
    struct judging j = {.sim = sim, .model = &sim->models[at], .event = event};
    tell_event(sim, j.model, event);
    enum pawl_task_state from = j.model->state;
    int64_t to = -1;
    const char *fault = judge_type(&j, &to);
    if (fault == NULL) fault = judge_numbers(&j, to);
    if (fault != NULL) {
        sim_fault(sim,
                  "%s: %s (event %" PRId64 " of type %" PRId64 ", %s to %s, epoch %" PRId64
                  " to %" PRId64 ")",
                  model_name(sim, j.model), fault, event->position, event->type,
                  pawl_task_state_name(from),
                  pawl_task_state_name((enum pawl_task_state)event->state), j.model->epoch,
                  event->epoch);
        return;
    }
    take(&j);
}
