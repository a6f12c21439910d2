/* Answers: each OK has its trace in the store, and each refusal is the one that the contract's
 * table 3.3 has for the state that the task was in. The latter where it can be told: the task had
 * this one call in the move, and nothing else happened to it. */
#include "sim.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>

#define OK PAWL_OK
#define X  PAWL_STATE
#define LL PAWL_LEASE_LOST

/* What an operator is told, by the state before. */
/* clang-format off */
static const struct {
    enum pawl_command_kind kind;
    enum pawl_code by_state[9];
} table[] = {
    /*                         PENDING QUEUED RUNNING PAUSED RECOVERY COMPLETED FAILED CANCELLED DEAD_LETTER */
    {PAWL_COMMAND_QUEUE,      {OK,     OK,    OK,     X,     X,       OK,       X,     X,        X}},
    {PAWL_COMMAND_PROGRESS,   {OK,     OK,    LL,     OK,    X,       X,        X,     X,        X}},
    {PAWL_COMMAND_CHECKPOINT, {OK,     OK,    LL,     OK,    X,       X,        X,     X,        X}},
    {PAWL_COMMAND_LOG,        {OK,     OK,    OK,     OK,    X,       X,        X,     X,        X}},
    {PAWL_COMMAND_PAUSE,      {OK,     OK,    OK,     OK,    X,       X,        X,     X,        X}},
    {PAWL_COMMAND_RESUME,     {X,      X,     X,      OK,    X,       X,        OK,    X,        OK}},
    {PAWL_COMMAND_CANCEL,     {OK,     OK,    OK,     OK,    X,       X,        OK,    OK,       OK}},
    {PAWL_COMMAND_COMPLETE,   {OK,     OK,    LL,     OK,    X,       X,        X,     X,        X}},
    {PAWL_COMMAND_FAIL,       {X,      X,     LL,     X,     X,       X,        X,     X,        X}},
};
/* clang-format on */
#undef OK
#undef X
#undef LL

struct asked { /* a call about one task, as it was before the move */
    struct sim *sim;
    const struct sent *sent;
    const struct pawl_command *command;
    const struct model *model;
    const struct look_task *before; /* NULL = it did not exist */
    const struct look_task *after;
};

static int64_t was(const struct asked *a, enum look_column column)
{
    return a->before->at[column];
}

static struct pawl_str owner_before(const struct asked *a)
{
    return look_worker_id(a->sim->after, was(a, LOOK_owner));
}

/* Whether the fence was the current one all through the move. */
static bool fence_held(const struct asked *a, const struct pawl_fence *fence)
{
    return was(a, LOOK_state) == PAWL_TASK_RUNNING && was(a, LOOK_epoch) == fence->epoch &&
           pawl_str_equal(owner_before(a), fence->owner) &&
           a->sim->now_high_ms < was(a, LOOK_lease_end_at_ms);
}

static bool is_outcome(enum pawl_command_kind kind)
{
    return kind == PAWL_COMMAND_COMPLETE || kind == PAWL_COMMAND_FAIL ||
           kind == PAWL_COMMAND_RELEASE || kind == PAWL_COMMAND_PAUSE ||
           kind == PAWL_COMMAND_CANCEL;
}

/* ---- Whether the answer can be told -------------------------------------------------------- */

/* How many calls in this move name the task, whatever was answered; claims have a half of their
 * own. */
static int calls_about(const struct sim *sim, struct pawl_str id)
{
    int count = 0;
    for (int i = 0; i < sim->sent_count; i++) count += call_names(sim->sent[i].call, id);
    return count;
}

/* Whether the call met the task as it was before the move: it was the first about it. */
static bool is_first(const struct asked *a)
{
    const struct sim *sim = a->sim;
    bool is_clear = !sim->had_fault && !sim->was_killed && sim->unknown_count == 0;
    if (!is_clear || !sim->is_now_known || a->before == NULL || a->model->is_by_engine) {
        return false;
    }
    for (const struct sent *earlier = sim->sent; earlier < a->sent; earlier++) {
        if (call_names(earlier->call, a->model->id)) return false;
    }
    int64_t due = was(a, LOOK_due_at_ms);
    if (due != 0 && due <= sim->now_high_ms) return false; /* that comes first */
    int64_t ready = was(a, LOOK_ready_at_ms);              /* of a held one, which has no timer */
    if (ready > sim->now_low_ms && ready <= sim->now_high_ms) return false; /* just now, or not */
    bool has_stepped = sim->before->wall_offset_ms != sim->after->wall_offset_ms;
    bool is_rearmed = was(a, LOOK_run_at_ms) != 0 && (has_stepped || look_is_rearming(sim->before));
    if (is_rearmed) return false; /* and so does that */
    return was(a, LOOK_open_dependencies) == a->after->at[LOOK_open_dependencies];
}

static bool is_alone(const struct asked *a)
{
    return is_first(a) && calls_about(a->sim, a->model->id) == 1;
}

static bool is_version_wrong(const struct asked *a)
{
    int64_t expected = a->command->expected_version;
    return expected != 0 && expected != was(a, LOOK_version);
}

static enum pawl_code predict_start(const struct asked *a)
{
    switch ((enum pawl_task_state)was(a, LOOK_state)) {
    case PAWL_TASK_PENDING:
    case PAWL_TASK_QUEUED:
        if (was(a, LOOK_open_dependencies) > 0) return PAWL_NOT_READY;
        return was(a, LOOK_ready_at_ms) > a->sim->now_low_ms ? PAWL_NOT_READY : PAWL_OK;
    case PAWL_TASK_RUNNING:
        return PAWL_LEASE_ACTIVE;
    default:
        return PAWL_STATE;
    }
}

/* Of a lost lease whose work may go on. */
static enum pawl_code predict_recovery(const struct asked *a)
{
    const struct pawl_command *command = &a->sent->request.command; /* with what its caller saw */
    if (command->kind == PAWL_COMMAND_CANCEL) {
        return command->ask.is_forced ? PAWL_OK : PAWL_STATE;
    }
    if (command->kind != PAWL_COMMAND_RESOLVE) return PAWL_STATE;
    enum pawl_task_state to = command->ask.resolve.outcome;
    bool may_run_again = to == PAWL_TASK_QUEUED || to == PAWL_TASK_FAILED;
    bool is_seen = command->is_forced || command->ask.resolve.seen_epoch == was(a, LOOK_epoch);
    return may_run_again && !is_seen ? PAWL_BUSY : PAWL_OK;
}

static enum pawl_code predict_operator(const struct asked *a)
{
    int64_t state = was(a, LOOK_state);
    if (state == PAWL_TASK_RECOVERY_PENDING) return predict_recovery(a);
    if (a->command->kind == PAWL_COMMAND_RESOLVE) {
        bool may = (state == PAWL_TASK_FAILED || state == PAWL_TASK_DEAD_LETTER) &&
                   a->command->ask.resolve.outcome != PAWL_TASK_FAILED;
        return may ? PAWL_OK : PAWL_STATE;
    }
    if (a->command->kind == PAWL_COMMAND_PAUSE && state == PAWL_TASK_RUNNING &&
        was(a, LOOK_control) == PAWL_CONTROL_CANCEL) {
        return PAWL_STATE; /* it is asked to cancel */
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].kind == a->command->kind) return table[i].by_state[state];
    }
    return PAWL_MISUSE;
}

/* An outcome that was accepted before this move, by its epoch. */
static bool is_repeat(const struct asked *a, const struct call *accepted)
{
    return accepted != NULL && is_outcome(a->command->kind) &&
           accepted->command.fence.epoch == a->command->fence.epoch &&
           call_is_same_outcome(accepted, a->sent->call);
}

/* The word that the work under a lost fence has ended. */
static enum pawl_code predict_stopped(const struct asked *a)
{
    bool is_own = was(a, LOOK_epoch) == a->command->fence.epoch &&
                  pawl_str_equal(owner_before(a), a->command->fence.owner);
    if (is_own && was(a, LOOK_state) == PAWL_TASK_RUNNING) return PAWL_STATE;
    return is_own && was(a, LOOK_state) == PAWL_TASK_RECOVERY_PENDING ? PAWL_OK : PAWL_LEASE_LOST;
}

static enum pawl_code predict(const struct asked *a)
{
    if (a->command->kind == PAWL_COMMAND_STOPPED) return predict_stopped(a);
    if (a->command->kind == PAWL_COMMAND_START) return predict_start(a);
    if (is_version_wrong(a)) return PAWL_CONFLICT;
    if (!a->command->has_fence) return predict_operator(a);
    if (is_repeat(a, a->model->outcome_before)) return PAWL_OK;
    return fence_held(a, &a->command->fence) ? PAWL_OK : PAWL_LEASE_LOST;
}

static void check_first(const struct asked *a)
{
    if (!is_first(a)) return;
    bool may_be_again = a->command->kind == PAWL_COMMAND_START && a->sent->call->sent_count > 1;
    if (may_be_again || a->model->is_outcome_unsure) return;
    enum pawl_code want = predict(a);
    if (want == a->sent->code) return;
    sim_fault(a->sim, "%s was answered %s and had to be %s: it was %s at epoch %" PRId64,
              call_text(a->sim, a->sent->call), pawl_code_name(a->sent->code), pawl_code_name(want),
              pawl_task_state_name((enum pawl_task_state)was(a, LOOK_state)), was(a, LOOK_epoch));
}

/* ---- Traces of what was answered OK -------------------------------------------------------- */

static bool has_event(const struct asked *a, struct pawl_str actor)
{
    const struct look *look = a->sim->after;
    for (int i = 0; i < look->event_count; i++) {
        const struct look_event *event = &look->events[i];
        if (event->task == a->model->key && pawl_str_equal(event->actor, actor)) return true;
    }
    return false;
}

static bool had_state(const struct asked *a, unsigned states)
{
    return (a->model->states & states) != 0;
}

#define STATE(name) (1u << PAWL_TASK_##name)

/* An operator's word that needed no write. */
static bool is_idle(const struct asked *a)
{
    switch (a->command->kind) {
    case PAWL_COMMAND_QUEUE:
        return had_state(a, STATE(QUEUED) | STATE(RUNNING) | STATE(COMPLETED));
    case PAWL_COMMAND_PAUSE:
        return had_state(a, STATE(PAUSED)) ||
               (had_state(a, STATE(RUNNING)) &&
                ((a->before != NULL && was(a, LOOK_control) == PAWL_CONTROL_PAUSE) ||
                 calls_about(a->sim, a->model->id) > 1));
    case PAWL_COMMAND_CANCEL:
        return had_state(a, STATE(CANCELLED)) ||
               (had_state(a, STATE(RUNNING)) &&
                ((a->before != NULL && was(a, LOOK_control) == PAWL_CONTROL_CANCEL) ||
                 calls_about(a->sim, a->model->id) > 1));
    default:
        return false;
    }
}

static void check_operator(const struct asked *a)
{
    switch (a->command->kind) {
    case PAWL_COMMAND_PROGRESS:
    case PAWL_COMMAND_CHECKPOINT:
    case PAWL_COMMAND_LOG:
        return; /* counted, or compared with the row */
    default:
        break;
    }
    if (has_event(a, a->command->actor) || is_idle(a)) return;
    sim_fault(a->sim, "%s was acknowledged and has left no trace",
              call_text(a->sim, a->sent->call));
}

/* An outcome that was accepted, in this move or before it. */
static void check_outcome(const struct asked *a)
{
    const struct model *model = a->model;
    if (is_repeat(a, model->outcome) || is_repeat(a, model->outcome_before)) return;
    if (model->is_outcome_unsure &&
        model->outcome->command.fence.epoch == a->command->fence.epoch) {
        return;
    }
    sim_fault(a->sim, "%s was acknowledged, and another outcome stands, or none",
              call_text(a->sim, a->sent->call));
}

static void check_progress(const struct asked *a)
{
    if (!is_alone(a) || a->model->state == PAWL_TASK_COMPLETED) return;
    double percent = a->command->ask.percent;
    if (percent < 0) percent = 0;
    if (percent > 100) percent = 100;
    if (a->after->at[LOOK_progress] != (int64_t)(percent * 1000)) {
        sim_fault(a->sim, "%s was acknowledged and is not kept", call_text(a->sim, a->sent->call));
    }
}

/* Told OK once at most: it is what has given the task back. */
static void check_stopped(const struct asked *a)
{
    const struct look *look = a->sim->after;
    for (int i = 0; i < look->event_count; i++) {
        const struct look_event *event = &look->events[i];
        bool is_it = event->task == a->model->key && event->epoch == a->command->fence.epoch + 1 &&
                     event->type != PAWL_EVENT_STARTED;
        if (is_it) return;
    }
    sim_fault(a->sim, "%s was acknowledged, and has given nothing back",
              call_text(a->sim, a->sent->call));
}

static void check_task_call(struct sim *sim, const struct sent *sent)
{
    const struct pawl_command *command = &sent->call->command;
    int at = model_find(sim, command->task_id);
    if (at < 0) {
        if (sent->verdict == VERDICT_UNKNOWN || sent->code == PAWL_NOT_FOUND || sim->had_fault) {
            return;
        }
        sim_fault(sim, "%s: there is no such task", call_text(sim, sent->call));
        return;
    }
    struct asked a = {.sim = sim,
                      .sent = sent,
                      .command = command,
                      .model = &sim->models[at],
                      .before = at < sim->before->task_count ? &sim->before->tasks[at] : NULL,
                      .after = &sim->after->tasks[at]};
    check_first(&a);
    if (sent->verdict != VERDICT_OK || !sim_holds(sim)) return;
    if (command->kind == PAWL_COMMAND_PROGRESS) check_progress(&a);
    if (command->kind == PAWL_COMMAND_STOPPED) check_stopped(&a);
    if (command->kind == PAWL_COMMAND_START) return; /* as a grant */
    if (!command->has_fence) {
        check_operator(&a);
    } else if (is_outcome(command->kind)) {
        check_outcome(&a);
    }
}

/* A refused outcome is kept for people to see: T-120. */
static void check_late(struct sim *sim, const struct sent *sent)
{
    const struct pawl_command *command = &sent->call->command;
    bool is_kept = command->kind == PAWL_COMMAND_COMPLETE || command->kind == PAWL_COMMAND_FAIL ||
                   command->kind == PAWL_COMMAND_RELEASE;
    if (!is_kept || !command->has_fence || !sent->was_answered || sent->code != PAWL_LEASE_LOST) {
        return;
    }
    int at = model_find(sim, command->task_id);
    if (at >= 0 && sim->after->tasks[at].lates == 0) {
        sim_fault(sim, "%s came too late and was not kept", call_text(sim, sent->call));
    }
}

/* ---- Grants -------------------------------------------------------------------------------- */

static bool was_started(const struct sim *sim, const struct model *model,
                        const struct pawl_fence *fence)
{
    for (int i = 0; i < sim->after->event_count; i++) {
        const struct look_event *event = &sim->after->events[i];
        if (event->task == model->key && event->type == PAWL_EVENT_STARTED &&
            event->epoch == fence->epoch && pawl_str_equal(event->actor, fence->owner)) {
            return true;
        }
    }
    return false;
}

static void check_grant(struct sim *sim, const struct sent *sent, const struct pawl_grant *grant,
                        bool is_last)
{
    int at = model_find(sim, grant->fence.task_id);
    if (at < 0) {
        sim_fault(sim, "%s was given a task that does not exist", call_text(sim, sent->call));
        return;
    }
    const struct model *model = &sim->models[at];
    const struct look_task *task = &sim->after->tasks[at];
    bool is_new = was_started(sim, model, &grant->fence);
    bool is_here = model->state == PAWL_TASK_RUNNING && model->epoch == grant->fence.epoch &&
                   pawl_str_equal(model->owner, grant->fence.owner);
    /* a start comes before other calls of its step, which may have ended what it repeats */
    bool was_here = !is_last && at < sim->before->task_count &&
                    sim->before->tasks[at].at[LOOK_epoch] == grant->fence.epoch &&
                    sim->before->tasks[at].at[LOOK_state] == PAWL_TASK_RUNNING;
    const char *name = model_name(sim, model);
    if (!is_new && sent->call->sent_count < 2) {
        sim_fault(sim, "%s: epoch %" PRId64 " was answered, and its start was not committed", name,
                  grant->fence.epoch);
    } else if (!is_here && !was_here && (is_last || !is_new)) {
        sim_fault(sim, "%s: epoch %" PRId64 " was answered and holds no lease", name,
                  grant->fence.epoch);
    } else if (is_last && grant->lease_end_at_ms != task->at[LOOK_lease_end_at_ms]) {
        sim_fault(sim, "%s: its holder was told another lease end", name);
    } else if (is_last && (grant->attempt != model->retries + 1 ||
                           (int64_t)grant->input.len != task->payload_lens[PAWL_PAYLOAD_INPUT] ||
                           (grant->input.len > 0 &&
                            look_hash(grant->input) != task->payload_hashes[PAWL_PAYLOAD_INPUT]))) {
        sim_fault(sim, "%s: its holder was told another attempt or input", name);
    } else if (is_last && ((int64_t)grant->checkpoint.len != task->checkpoint_len ||
                           (grant->checkpoint.len > 0 &&
                            look_hash(grant->checkpoint) != task->checkpoint_hash))) {
        sim_fault(sim, "%s: its holder was not told the latest checkpoint", name);
    }
}

static bool is_asked(const struct pawl_claim *ask, const struct look_queue *queue)
{
    for (size_t i = 0; i < ask->queue_count; i++) {
        if (pawl_str_equal(ask->queues[i], queue->name)) return true;
    }
    return false;
}

/* The rank it had when it was given out; -1 if that is not known any more. */
static int64_t rank_given(const struct sim *sim, int at)
{
    if (at >= sim->before->task_count || sim->models[at].events != 1) return -1;
    return sim->before->tasks[at].at[LOOK_rank];
}

/* Work of the engine's own that takes many rounds of loading, and what it finds due without having
 * timers, may be done when some claims have been served already. */
static bool may_be_late(const struct sim *sim, int at)
{
    bool may =
        sim->stepped != NULL && (!sim->stepped->has_timers || sim->before->continuation_count > 0);
    return may && (at >= sim->before->task_count || sim->before->tasks[at].at[LOOK_rank] < 0);
}

/* Nothing better was left: claims run last in a step, so what is ready now was ready then. */
static void check_left(struct sim *sim, const struct sent *sent)
{
    const struct pawl_claim *ask = sent->call->command.ask.claim.ask;
    size_t max = ask->max == 0 ? 1 : (size_t)ask->max;
    for (int i = 0; i < sim->after->task_count && sim_holds(sim); i++) {
        const int64_t *left = sim->after->tasks[i].at;
        const struct look_queue *queue = look_queue(sim->after, left[LOOK_queue]);
        if (left[LOOK_rank] < 0 || left[LOOK_priority] < ask->priority_min) continue;
        if (queue == NULL || queue->is_paused || !is_asked(ask, queue)) continue;
        if (may_be_late(sim, i)) continue;
        if (sent->claimed.count < max) {
            sim_fault(sim, "%s was given %zu, and t%d was ready", call_text(sim, sent->call),
                      sent->claimed.count, i);
            return;
        }
        for (size_t g = 0; g < sent->claimed.count; g++) {
            int given = model_find(sim, sent->claimed.grants[g].fence.task_id);
            const int64_t *row = sim->after->tasks[given].at;
            int64_t rank = rank_given(sim, given);
            bool is_better = left[LOOK_priority] > row[LOOK_priority] ||
                             (rank >= 0 && left[LOOK_rank] < rank) ||
                             (left[LOOK_rank] == rank && left[LOOK_queue] == row[LOOK_queue] &&
                              left[LOOK_key] < row[LOOK_key]);
            if (!is_better) continue;
            sim_fault(sim, "%s was given t%d, and t%d came before it", call_text(sim, sent->call),
                      given, i);
            return;
        }
    }
}

/* Claims of one move have no order among each other. */
static bool is_only_claim(const struct sim *sim, const struct call *call)
{
    int count = 0;
    for (int i = 0; i < sim->sent_count; i++) {
        const struct call *other = sim->sent[i].call;
        bool is_claim =
            other->command.kind == PAWL_COMMAND_CLAIM || other->command.kind == PAWL_COMMAND_START;
        count += is_claim && other->worker == call->worker;
    }
    return count == 1;
}

/* Whether the call is the worker's newest request, made again; any other takes its place. */
static bool is_newest_again(const struct sim *sim, const struct call *call)
{
    const struct pawl_claim *ask = call->command.ask.claim.ask;
    if (!is_only_claim(sim, call)) return false;
    for (int i = 0; i < sim->before->worker_count && ask->request_id.len > 0; i++) {
        const struct look_worker *worker = &sim->before->workers[i];
        if (!pawl_str_equal(worker->id, ask->worker_id)) continue;
        return pawl_str_equal(worker->request_id, ask->request_id);
    }
    return false;
}

static bool is_given(const struct sent *sent, struct pawl_str task_id)
{
    for (size_t i = 0; i < sent->claimed.count; i++) {
        if (pawl_str_equal(sent->claimed.grants[i].fence.task_id, task_id)) return true;
    }
    return false;
}

/* It gives what it gave before, as far as that still holds, and nothing else. */
static void check_again(struct sim *sim, const struct sent *sent)
{
    const struct call *call = sent->call;
    for (size_t i = 0; i < sent->claimed.count; i++) {
        const struct pawl_fence *fence = &sent->claimed.grants[i].fence;
        int at = model_find(sim, fence->task_id);
        if (at < 0 || !was_started(sim, &sim->models[at], fence)) continue;
        sim_fault(sim, "%s was made again, and was given more", call_text(sim, call));
        return;
    }
    for (int i = 0; i < call->granted_count; i++) {
        const struct model *model = &sim->models[call->granted[i].task];
        bool holds = model->state == PAWL_TASK_RUNNING && model->epoch == call->granted[i].epoch;
        if (!holds || is_given(sent, model->id)) continue;
        sim_fault(sim, "%s was made again, and was not given %s", call_text(sim, call),
                  model_name(sim, model));
        return;
    }
}

static void note_grants(struct sim *sim, const struct sent *sent)
{
    struct call *call = sent->call;
    call->granted_count = 0;
    if (!is_only_claim(sim, call)) return;
    for (size_t i = 0; i < sent->claimed.count && i < SIM_CALL_GRANTS_MAX; i++) {
        const struct pawl_fence *fence = &sent->claimed.grants[i].fence;
        call->granted[call->granted_count++] =
            (struct call_grant){model_find(sim, fence->task_id), fence->epoch};
    }
}

static void check_claim(struct sim *sim, const struct sent *sent)
{
    const struct pawl_claim *ask = sent->call->command.ask.claim.ask;
    bool is_again = is_newest_again(sim, sent->call);
    if (is_again) check_again(sim, sent);
    for (size_t i = 0; i < sent->claimed.count && sim_holds(sim); i++) {
        check_grant(sim, sent, &sent->claimed.grants[i], true);
        if (i > 0 && sent->call->sent_count == 1 &&
            sent->claimed.grants[i].priority > sent->claimed.grants[i - 1].priority) {
            sim_fault(sim, "%s was given tasks out of order", call_text(sim, sent->call));
        }
    }
    if (sim_holds(sim) && !is_again) note_grants(sim, sent);
    bool may_be_again = ask->request_id.len > 0 && sent->call->sent_count > 1;
    if (!sim_holds(sim) || sim->steps_of_move > 1) {
        return; /* a later step may have made more ready */
    }
    if (!may_be_again) check_left(sim, sent);
    if (sim->sent_count != 1 || sent->claimed.count > 0 || sim->after->continuation_count > 0 ||
        !sim_holds(sim)) {
        return;
    }
    int64_t next = 0;
    for (int i = 0; i < sim->after->task_count; i++) {
        int64_t due = sim->after->tasks[i].at[LOOK_due_at_ms];
        if (due != 0 && (next == 0 || due < next)) next = due;
    }
    if (sent->claimed.next_at_ms != next && !sim->had_fault) {
        sim_fault(sim,
                  "an empty claim was told that the next is due at %" PRId64
                  ", and it is at %" PRId64,
                  sent->claimed.next_at_ms, next);
    }
}

/* ---- Renewals ------------------------------------------------------------------------------ */

static void check_renewal(struct sim *sim, const struct sent *sent, size_t i)
{
    const struct pawl_fence *fence = &sent->call->command.ask.renew.fences[i];
    const struct pawl_renewal *told = &sent->renewals[i];
    int at = model_find(sim, fence->task_id);
    if (at < 0 || at >= sim->before->task_count || !sim->is_now_known) return;
    struct asked a = {.sim = sim,
                      .sent = sent,
                      .model = &sim->models[at],
                      .before = &sim->before->tasks[at],
                      .after = &sim->after->tasks[at]};
    const char *name = model_name(sim, a.model);
    bool was_held = was(&a, LOOK_state) == PAWL_TASK_RUNNING &&
                    was(&a, LOOK_epoch) == fence->epoch &&
                    pawl_str_equal(owner_before(&a), fence->owner) &&
                    sim->now_low_ms < was(&a, LOOK_lease_end_at_ms);
    bool is_still = a.model->state == PAWL_TASK_RUNNING && a.model->epoch == fence->epoch;
    if (told->code == PAWL_OK && !was_held) {
        sim_fault(sim, "%s: a lease that was lost was renewed", name);
    } else if (told->code != PAWL_OK && fence_held(&a, fence) && is_alone(&a)) {
        sim_fault(sim, "%s: a lease that held was told lost", name);
    } else if (told->code == PAWL_OK && is_still && calls_about(sim, a.model->id) == 1) {
        int64_t asked = sent->call->command.ask.renew.lease_ms;
        int64_t length = asked != 0 ? asked : a.after->at[LOOK_lease_ms];
        int64_t attempt_end = a.after->at[LOOK_attempt_end_at_ms];
        bool is_cut =
            attempt_end != 0 && told->lease_end_at_ms == attempt_end; /* no lease outlives it */
        bool is_now = (is_cut || told->lease_end_at_ms >= sim->now_low_ms + length) &&
                      told->lease_end_at_ms <= sim->now_high_ms + length;
        if (!is_now || told->lease_end_at_ms != a.after->at[LOOK_lease_end_at_ms]) {
            sim_fault(sim, "%s: its holder was told another lease end than is kept", name);
        } else if (told->control != (enum pawl_control)a.after->at[LOOK_control]) {
            sim_fault(sim, "%s: its holder was not told of a request", name);
        }
    }
}

/* ---- Creates ------------------------------------------------------------------------------- */

static bool is_member(const struct call *call, struct pawl_str name)
{
    if (name.len > 1 && name.ptr[0] == '#') return true;
    for (size_t i = 0; i < call->count; i++) {
        if (call->asks[i].id.len > 0 && pawl_str_equal(call->asks[i].id, name)) return true;
    }
    return false;
}

static int key_before(const struct sim *sim, struct pawl_str key)
{
    for (int i = 0; key.len > 0 && i < sim->before->task_count; i++) {
        if (pawl_str_equal(sim->models[i].idempotency_key, key)) return i;
    }
    return -1;
}

static enum pawl_code predict_create(const struct sim *sim, const struct call *call)
{
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < call->count; i++) {
        const struct pawl_task_new *ask = &call->asks[i];
        for (size_t d = 0; d < ask->depends_on_count && !ask->allow_missing_dependencies; d++) {
            int on = model_find(sim, ask->depends_on[d]);
            bool is_there = on >= 0 && on < sim->before->task_count;
            if (!is_there && !is_member(call, ask->depends_on[d])) return PAWL_INVALID;
        }
        int known = key_before(sim, ask->key);
        int taken = ask->id.len == 0 ? -1 : model_find(sim, ask->id);
        if (known >= 0) {
            bool is_same = sim->models[known].made_by == call && sim->models[known].member == i;
            if (!is_same) code = PAWL_CONFLICT;
        } else if (taken >= 0 && taken < sim->before->task_count) {
            code = PAWL_CONFLICT;
        }
        for (size_t j = 0; j < i && ask->key.len > 0;
             j++) { /* members are never alike: their titles differ */
            if (pawl_str_equal(call->asks[j].key, ask->key)) code = PAWL_CONFLICT;
        }
    }
    return code;
}

static void check_create(struct sim *sim, const struct sent *sent)
{
    const struct call *call = sent->call;
    int creates = 0;
    for (int i = 0; i < sim->sent_count; i++) {
        creates += sim->sent[i].call->command.kind == PAWL_COMMAND_CREATE;
    }
    bool can_tell = creates == 1 && !sim->had_fault && !sim->was_killed && sim->unknown_count == 0;
    if (can_tell && predict_create(sim, call) != sent->code) {
        sim_fault(sim, "%s was answered %s and had to be %s", call_text(sim, call),
                  pawl_code_name(sent->code), pawl_code_name(predict_create(sim, call)));
        return;
    }
    for (size_t i = 0; i < call->count && sent->verdict == VERDICT_OK; i++) {
        int at = model_find(sim, sent->added[i].id);
        const struct model *model = at < 0 ? NULL : &sim->models[at];
        bool is_new = at >= sim->before->task_count;
        if (model == NULL) {
            sim_fault(sim, "promise 1: %s was acknowledged and does not exist",
                      call_text(sim, call));
        } else if (model->made_by != call || model->member != i) {
            sim_fault(sim, "%s was given the id of another task", call_text(sim, call));
        } else if (sent->added[i].existed ? call->asks[i].key.len == 0 : !is_new) {
            sim_fault(sim, "%s: whether it existed was not told right", call_text(sim, call));
        }
    }
}

/* ---- The rest ------------------------------------------------------------------------------ */

static void check_redrive(struct sim *sim, const struct sent *sent)
{
    const struct pawl_redrive *ask = sent->call->command.ask.redrive;
    int64_t count = 0;
    for (int i = 0; i < sim->after->event_count; i++) {
        const struct look_event *event = &sim->after->events[i];
        count += event->cause == PAWL_CAUSE_REDRIVEN && pawl_str_equal(event->actor, ask->actor);
    }
    if (ask->max != 0 && count > ask->max && sent->call->sent_count == 1) {
        sim_fault(sim, "%s took more than it may", call_text(sim, sent->call));
    }
    bool is_simple = sim->sent_count == 1 && !sim->had_fault && sim->unknown_count == 0;
    if (is_simple && sent->count != count) {
        sim_fault(sim, "%s told %" PRId64 ", and took %" PRId64, call_text(sim, sent->call),
                  sent->count, count);
    }
    if (!is_simple || ask->max != 0 || ask->error_has.len > 0) return;
    for (int i = 0; i < sim->before->task_count && sim_holds(sim); i++) {
        const int64_t *row = sim->before->tasks[i].at;
        const struct look_queue *queue = look_queue(sim->before, row[LOOK_queue]);
        if (row[LOOK_state] != PAWL_TASK_DEAD_LETTER || sim->models[i].events > 0) continue;
        if (ask->queue.len > 0 && !pawl_str_equal(queue->name, ask->queue)) continue;
        sim_fault(sim, "%s left t%d behind", call_text(sim, sent->call), i);
    }
}

static void check_acknowledge(struct sim *sim, const struct sent *sent)
{
    const struct pawl_command *command = &sent->call->command;
    int number = -1;
    (void)sscanf(command->ask.acknowledge.consumer.ptr, "c%d", &number);
    int64_t position = command->ask.acknowledge.position;
    if (!sent->is_first || number < 0 || position >= SIM_POSITIONS_MAX) return;
    bool *is_acknowledged = &sim->consumers[number].is_acknowledged[position];
    if (*is_acknowledged) {
        sim_fault(sim, "%s was told twice that it was the first", call_text(sim, sent->call));
    }
    *is_acknowledged = true;
    if (position > sim->after->position) {
        sim_fault(sim, "an event that does not exist was acknowledged");
    }
}

static void check_answer(struct sim *sim, const struct sent *sent)
{
    const struct pawl_command *command = &sent->call->command;
    bool is_ok = sent->verdict == VERDICT_OK;
    switch (command->kind) {
    case PAWL_COMMAND_CREATE:
        check_create(sim, sent);
        break;
    case PAWL_COMMAND_CLAIM:
        if (is_ok) check_claim(sim, sent);
        break;
    case PAWL_COMMAND_START:
        check_task_call(sim, sent);
        if (is_ok && sim_holds(sim)) {
            bool is_last = calls_about(sim, command->task_id) == 1;
            check_grant(sim, sent, &sent->grant, is_last);
        }
        break;
    case PAWL_COMMAND_RENEW:
        for (size_t i = 0; is_ok && i < command->ask.renew.count && sim_holds(sim); i++) {
            check_renewal(sim, sent, i);
        }
        break;
    case PAWL_COMMAND_REDRIVE:
        if (is_ok) check_redrive(sim, sent);
        break;
    case PAWL_COMMAND_ACKNOWLEDGE:
        if (is_ok) check_acknowledge(sim, sent);
        break;
    case PAWL_COMMAND_QUEUE_SET:
    case PAWL_COMMAND_ACKNOWLEDGE_THROUGH:
    case PAWL_COMMAND_CONSUMER_OPEN:
        break;
    default:
        check_task_call(sim, sent);
        if (sim_holds(sim)) check_late(sim, sent);
        break;
    }
}

void judge_answers(struct sim *sim)
{
    for (int i = 0; i < sim->sent_count && sim_holds(sim); i++) {
        if (sim->sent[i].verdict == VERDICT_UNKNOWN) sim->sent[i].call->granted_count = 0;
        if (sim->sent[i].verdict != VERDICT_UNKNOWN || sim->sent[i].was_answered) {
            check_answer(sim, &sim->sent[i]);
        }
    }
}
