/* Who asks when: workers with their leases, clients that add, operators that meddle; and who hears
 * what. */
#include "asks.h"
#include "flow.h"
#include "net.h"
#include "work.h"

#include "core/limits.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Acting -------------------------------------------------------------------------------- */

void people_bury_fence(struct sim *sim, const struct pawl_fence *fence)
{
    sim->graves[sim->grave_count++ % SIM_GRAVES_MAX].fence = *fence;
}

static void drop_held(struct sim *sim, struct worker *worker, const struct pawl_fence *fence)
{
    for (int i = 0; i < worker->held_count; i++) {
        const struct pawl_fence *held = &worker->held[i].fence;
        if (held->epoch != fence->epoch || !pawl_str_equal(held->task_id, fence->task_id)) continue;
        people_bury_fence(sim, fence);
        worker->held[i] = worker->held[--worker->held_count];
        return;
    }
}

static enum action any_action(struct sim *sim)
{
    int total = 0;
    for (int i = 0; i < ACTION_COUNT; i++) total += sim->swarm.weights[i];
    int64_t at = roll(sim, 0, total - 1);
    int action = 0;
    while (at >= sim->swarm.weights[action]) at -= sim->swarm.weights[action++];
    return (enum action)action;
}

static struct call *next_call(struct sim *sim, const struct engine *engine)
{
    struct worker *worker = ask_any_worker(sim);
    switch (any_action(sim)) {
    case ACT_ADD:
        return ask_add(sim, 1);
    case ACT_ADD_BATCH:
        return ask_add(sim, (size_t)roll(sim, 2, 6));
    case ACT_CLAIM:
        return worker == NULL ? NULL : ask_claim(sim, worker);
    case ACT_CLAIM_AGAIN:
        return worker == NULL ? NULL : worker->claim;
    case ACT_START: {
        int task = ask_any_task(sim);
        return worker == NULL || task < 0 ? NULL : ask_start(sim, worker, task);
    }
    case ACT_RENEW:
        return worker == NULL || worker->held_count == 0 ? NULL : ask_renew(sim, worker);
    case ACT_PROGRESS:
        return ask_holder_word(sim, PAWL_COMMAND_PROGRESS);
    case ACT_CHECKPOINT:
        return ask_holder_word(sim, PAWL_COMMAND_CHECKPOINT);
    case ACT_LOG:
        return ask_holder_word(sim, PAWL_COMMAND_LOG);
    case ACT_COMPLETE:
        return ask_holder_word(sim, PAWL_COMMAND_COMPLETE);
    case ACT_FAIL:
        return ask_holder_word(sim, PAWL_COMMAND_FAIL);
    case ACT_RELEASE:
        return ask_holder_word(sim, PAWL_COMMAND_RELEASE);
    case ACT_HOLDER_PAUSE:
        return ask_holder_word(sim, PAWL_COMMAND_PAUSE);
    case ACT_HOLDER_CANCEL:
        return ask_holder_word(sim, PAWL_COMMAND_CANCEL);
    case ACT_STALE:
        return ask_stale_word(sim);
    case ACT_QUEUE:
        return ask_operator_word(sim, PAWL_COMMAND_QUEUE, ask_task_in(sim, PAWL_TASK_PENDING));
    case ACT_PAUSE:
        return ask_operator_word(sim, PAWL_COMMAND_PAUSE, ask_any_task(sim));
    case ACT_RESUME: {
        static const enum pawl_task_state from[] = {PAWL_TASK_PAUSED, PAWL_TASK_DEAD_LETTER,
                                                    PAWL_TASK_FAILED};
        return ask_operator_word(sim, PAWL_COMMAND_RESUME, ask_task_in(sim, from[roll(sim, 0, 2)]));
    }
    case ACT_CANCEL:
        return ask_operator_word(sim, PAWL_COMMAND_CANCEL,
                                 happens(sim, 900) ? ask_any_task(sim)
                                                   : ask_task_in(sim, PAWL_TASK_RECOVERY_PENDING));
    case ACT_RESOLVE: {
        static const enum pawl_task_state from[] = {PAWL_TASK_DEAD_LETTER,
                                                    PAWL_TASK_RECOVERY_PENDING, PAWL_TASK_RUNNING};
        return ask_operator_word(sim, PAWL_COMMAND_RESOLVE,
                                 happens(sim, 800) ? ask_task_in(sim, from[roll(sim, 0, 2)])
                                                   : ask_any_task(sim));
    }
    case ACT_OPERATE:
        return ask_operate(sim);
    case ACT_REDRIVE:
        return ask_redrive(sim);
    case ACT_QUEUE_SET:
        return ask_queue_set(sim);
    case ACT_ACKNOWLEDGE:
        return ask_acknowledge(sim, engine);
    case ACT_AGAIN:
        return ask_again(sim);
    case ACT_READ_EVENTS: /* not one of a group: people_read_events */
    case ACTION_COUNT:
        break;
    }
    return NULL;
}

static void befall_workers(struct sim *sim)
{
    struct worker *worker = &sim->workers[roll(sim, 0, sim->swarm.workers - 1)];
    if (happens(sim, sim->swarm.worker_sleep)) {
        worker->sleeps_until_ms = sim->now_ms + roll(sim, 100, 4000);
        sim_tell(sim, "worker %d stands still until %" PRId64, worker->number,
                 worker->sleeps_until_ms);
    }
    if (happens(sim, sim->swarm.net_cut)) {
        worker->cut_until_ms = sim->now_ms + roll(sim, 200, 5000);
        sim_tell(sim, "worker %d is cut off until %" PRId64, worker->number, worker->cut_until_ms);
    }
    if (happens(sim, sim->swarm.worker_crash)) {
        work_crash(sim, worker);
        for (int i = 0; i < worker->held_count; i++) {
            people_bury_fence(sim, &worker->held[i].fence);
        }
        worker->held_count = 0;
        worker->claim = NULL;
        worker->generation++;
        if (happens(sim, 500)) {
            worker->id = sim_text(sim, "w%d.%d", worker->number, worker->generation);
        }
        sim_tell(sim, "worker %d crashes and comes back as %.*s", worker->number,
                 PAWL_STR_ARG(worker->id));
    }
}

/* ---- Preludes ------------------------------------------------------------------------------ */

static void make_dependents(struct sim *sim, struct engine *engine)
{
    struct call *call =
        ask_add_many(sim, (size_t)roll(sim, PAWL_SLICE_ROWS_MAX + 2, SIM_MEMBERS_MAX));
    ask_let_wait(sim, call, 1, PAWL_STR("#0"));
    (void)call_send(sim, engine, call);
}

static void make_awaited(struct sim *sim, struct engine *engine)
{
    static const struct pawl_str awaited = PAWL_STR_INIT("awaited");
    struct call *call;
    if (sim->prelude_moves == 1) {
        call = ask_add_many(sim, (size_t)roll(sim, 2, SIM_MEMBERS_MAX));
        ask_let_wait(sim, call, 0, awaited);
    } else {
        call = ask_add(sim, 1);
        struct pawl_task_new *ask = pawl_arena_take(sim->arena, sizeof *ask);
        if (ask == NULL) abort();
        *ask = call->asks[0];
        ask->id = awaited;
        call->asks = ask;
    }
    (void)call_send(sim, engine, call);
}

static void make_dead(struct sim *sim, struct engine *engine)
{
    struct worker *worker = &sim->workers[0];
    if (sim->prelude_moves == 1) {
        (void)call_send(sim, engine,
                        ask_add_many(sim, (size_t)roll(sim, PAWL_SLICE_ROWS_MAX + 1, 330)));
    } else if (worker->held_count == 0) {
        (void)call_send(sim, engine, ask_claim_many(sim, worker, SIM_SENT_MAX));
    } else {
        for (int i = 0; i < worker->held_count && i < SIM_SENT_MAX; i++) {
            const struct pawl_fence *fence = &worker->held[i].fence;
            (void)call_send(
                sim, engine,
                ask_word(sim, PAWL_COMMAND_FAIL, worker->number, fence->task_id, fence));
        }
    }
}

enum { HISTORY_MOVES = 12 };

/* More events, then more checkpoints, than are kept. */
static void make_history(struct sim *sim, struct engine *engine)
{
    enum { PAIRS = 20 };
    if (sim->model_count == 0) {
        (void)call_send(sim, engine, ask_add(sim, 1));
        return;
    }
    for (int i = 0; i < 2 * PAIRS && sim->prelude_moves > HISTORY_MOVES - 2; i++) {
        (void)call_send(sim, engine,
                        ask_word(sim, PAWL_COMMAND_CHECKPOINT, -1, sim->models[0].id, NULL));
    }
    for (int i = 0; i < PAIRS && sim->prelude_moves <= HISTORY_MOVES - 2; i++) {
        (void)call_send(sim, engine,
                        ask_word(sim, PAWL_COMMAND_PAUSE, -1, sim->models[0].id, NULL));
        (void)call_send(sim, engine,
                        ask_word(sim, PAWL_COMMAND_RESUME, -1, sim->models[0].id, NULL));
    }
}

/* Whether this move was one of the prelude. */
static bool act_prelude(struct sim *sim, struct engine *engine)
{
    static const struct {
        int moves;
        void (*act)(struct sim *sim, struct engine *engine);
    } preludes[] = {
        [PRELUDE_NONE] = {0, NULL},
        [PRELUDE_DEPENDENTS] = {1, make_dependents},
        [PRELUDE_AWAITED] = {2, make_awaited},
        [PRELUDE_DEAD] = {14, make_dead},
        [PRELUDE_HISTORY] = {HISTORY_MOVES, make_history},
    };
    if (sim->prelude_moves >= preludes[sim->swarm.prelude].moves) return false;
    sim->prelude_moves++;
    preludes[sim->swarm.prelude].act(sim, engine);
    return true;
}

void people_act(struct sim *sim, struct engine *engine)
{
    if (sim->flows != NULL) {
        flow_act(sim, engine);
        return;
    }
    int64_t count = happens(sim, 400) ? 1 : roll(sim, 0, sim->swarm.group_max);
    befall_workers(sim);
    if (act_prelude(sim, engine)) return;
    net_deliver(sim, engine);
    (void)work_speak(sim, engine);
    for (int64_t i = 0; i < count && sim->call_count < SIM_CALLS_MAX - 2; i++) {
        struct call *call = next_call(sim, engine);
        if (call == NULL) continue;
        net_hand_over(sim, engine, call);
        if (happens(sim, 30)) (void)call_send(sim, engine, call); /* twice in one step */
    }
}

/* ---- Hearing ------------------------------------------------------------------------------- */

static void take_grant(struct worker *worker, const struct letter_grant *grant)
{
    if (!pawl_str_equal(grant->fence.owner, worker->id)) return;
    for (int i = 0; i < worker->held_count; i++) {
        if (worker->held[i].task == grant->task &&
            worker->held[i].fence.epoch == grant->fence.epoch) {
            return;
        }
    }
    if (worker->held_count == SIM_GRANTS_MAX) return; /* forgotten: its lease will end */
    worker->held[worker->held_count++] = (struct held){.fence = grant->fence, .task = grant->task};
}

static void hear_grants(struct sim *sim, struct worker *worker, const struct letter *letter)
{
    bool is_supervised = letter->call->command.ask.claim.ask->is_supervised;
    for (int i = 0; i < letter->grant_count; i++) {
        if (is_supervised) {
            work_begin(sim, worker, letter->call, &letter->grants[i]);
        } else {
            take_grant(worker, &letter->grants[i]);
        }
    }
}

static void hear_lost(struct sim *sim, struct worker *worker, const struct letter *letter,
                      const struct pawl_fence *fence)
{
    static const struct letter_renewal lost = {.code = PAWL_LEASE_LOST};
    drop_held(sim, worker, fence);
    work_hear_renewal(sim, worker, letter->call, fence, &lost);
}

void people_hear_letter(struct sim *sim, const struct letter *letter)
{
    const struct pawl_command *command = &letter->call->command;
    struct worker *worker = &sim->workers[letter->call->worker];
    bool is_ok = letter->code == PAWL_OK;
    if (work_hear_word(sim, letter->call, letter->code)) return;
    switch (command->kind) {
    case PAWL_COMMAND_CLAIM:
    case PAWL_COMMAND_START:
        hear_grants(sim, worker, letter);
        break;
    case PAWL_COMMAND_RENEW:
        for (size_t i = 0; is_ok && i < command->ask.renew.count; i++) {
            const struct pawl_fence *fence = &command->ask.renew.fences[i];
            work_hear_renewal(sim, worker, letter->call, fence, &letter->renewals[i]);
            if (letter->renewals[i].code != PAWL_OK) drop_held(sim, worker, fence);
        }
        break;
    case PAWL_COMMAND_COMPLETE:
    case PAWL_COMMAND_FAIL:
    case PAWL_COMMAND_RELEASE:
    case PAWL_COMMAND_PAUSE:
    case PAWL_COMMAND_CANCEL:
        if (is_ok || letter->code == PAWL_LEASE_LOST) drop_held(sim, worker, &command->fence);
        break;
    default:
        if (letter->code == PAWL_LEASE_LOST) hear_lost(sim, worker, letter, &command->fence);
        break;
    }
}

/* ---- Good behaviour ------------------------------------------------------------------------ */

void people_resume_queues(struct sim *sim, struct engine *engine)
{
    if (sim->flows != NULL) return;
    for (int64_t i = 0; i < sim->swarm.queues; i++) {
        (void)call_send(sim, engine, ask_resume_queue(sim, i));
    }
}

bool people_work(struct sim *sim, struct engine *engine)
{
    enum { AT_ONCE = 50 };
    if (sim->flows != NULL) return flow_work(sim, engine);
    net_deliver(sim, engine);
    int had = sim->sent_count + work_speak(sim, engine);
    for (int w = 0; w < sim->swarm.workers; w++) {
        struct worker *worker = &sim->workers[w];
        for (int i = 0; i < worker->held_count && sim->sent_count < AT_ONCE; i++) {
            const struct pawl_fence *fence = &worker->held[i].fence;
            (void)call_send(sim, engine,
                            ask_word(sim, PAWL_COMMAND_COMPLETE, w, fence->task_id, fence));
            had++;
        }
    }
    if (had > 0) return true;
    (void)call_send(sim, engine, ask_claim_many(sim, &sim->workers[0], AT_ONCE));
    return false;
}

void people_open(struct sim *sim)
{
    for (int i = 0; i < sim->swarm.workers; i++) {
        sim->workers[i] = (struct worker){.number = i, .id = sim_text(sim, "w%d", i)};
        sim->workers[i].is_far = happens(sim, sim->swarm.far_workers);
    }
}
