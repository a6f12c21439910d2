/* Who asks what: workers with their leases, clients that add, operators that meddle, consumers. Each call is
 * random; what makes it likely to be a sensible one is that people remember what they were told. */
#include "sim.h"

#include "base/error.h"
#include "core/limits.h"
#include "store/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct chance *dice(struct sim *sim)
{
    return &sim->chance;
}

static int64_t roll(struct sim *sim, int64_t min, int64_t max)
{
    return chance_from(dice(sim), min, max);
}

static bool happens(struct sim *sim, int permille)
{
    return chance_of(dice(sim), permille);
}

static struct pawl_str queue_name(struct sim *sim, int64_t number)
{
    return sim_text(sim, "q%" PRId64, number);
}

static struct pawl_str any_queue(struct sim *sim)
{
    return queue_name(sim, roll(sim, 0, sim->swarm.queues - 1));
}

/* ---- Whom it is about ------------------------------------------------------------------------- */

static int any_task(struct sim *sim)
{
    enum { TRIES = 4, THE_SAME_FEW = 3 };
    if (sim->model_count == 0) return -1;
    int last = sim->model_count - 1;
    if (last >= THE_SAME_FEW && happens(sim, sim->swarm.few_tasks)) last = THE_SAME_FEW - 1;
    int at = 0;
    for (int i = 0; i < TRIES; i++) {
        at = (int)roll(sim, 0, last);
        if (!pawl_task_state_is_terminal(sim->models[at].state)) break;
    }
    return at;
}

static int task_in(struct sim *sim, enum pawl_task_state state)
{
    int first = sim->model_count == 0 ? 0 : (int)roll(sim, 0, sim->model_count - 1);
    for (int i = 0; i < sim->model_count; i++) {
        int at = (first + i) % sim->model_count;
        if (sim->models[at].state == state) return at;
    }
    return any_task(sim);
}

static struct worker *any_worker(struct sim *sim)
{
    int first = (int)roll(sim, 0, sim->swarm.workers - 1);
    for (int i = 0; i < sim->swarm.workers; i++) {
        struct worker *worker = &sim->workers[(first + i) % sim->swarm.workers];
        if (worker->sleeps_until_ms <= sim->now_ms || sim->is_calm) return worker;
    }
    return NULL;
}

static const struct held *any_held(struct sim *sim, struct worker *worker)
{
    return worker->held_count == 0 ? NULL : &worker->held[roll(sim, 0, worker->held_count - 1)];
}

static void bury_fence(struct sim *sim, const struct pawl_fence *fence)
{
    sim->graves[sim->grave_count++ % SIM_GRAVES_MAX].fence = *fence;
}

static void drop_held(struct sim *sim, struct worker *worker, const struct pawl_fence *fence)
{
    for (int i = 0; i < worker->held_count; i++) {
        const struct pawl_fence *held = &worker->held[i].fence;
        if (held->epoch != fence->epoch || !pawl_str_equal(held->task_id, fence->task_id)) continue;
        bury_fence(sim, fence);
        worker->held[i] = worker->held[--worker->held_count];
        return;
    }
}

/* ---- Adding ----------------------------------------------------------------------------------- */

static struct pawl_retry any_retry(struct sim *sim)
{
    static const int32_t retries[] = {0, PAWL_RETRIES_NONE, 1, 2, 5};
    static const int64_t delays[] = {0, PAWL_DELAY_NONE, 50, 700};
    return (struct pawl_retry){
        .max_retries = retries[roll(sim, 0, 4)],
        .backoff = (enum pawl_backoff)roll(sim, 0, 2),
        .delay_ms = delays[roll(sim, 0, 3)],
        .delay_ms_max = happens(sim, 300) ? 1500 : 0,
        .jitter_ms = happens(sim, 200) ? 100 : 0,
    };
}

/* Waits for earlier members, for tasks there are, rarely for one that there is not. */
static void add_dependencies(struct sim *sim, struct pawl_task_new *ask, size_t member)
{
    enum { DEPENDENCIES = 3 };
    struct pawl_str *on = pawl_arena_take_array(sim->arena, DEPENDENCIES, sizeof *on);
    if (on == NULL) abort();
    size_t count = 0;
    int64_t wanted = roll(sim, 1, DEPENDENCIES);
    ask->dependency_policy = (enum pawl_dependency_policy)roll(sim, 0, 2);
    ask->allow_missing_dependencies = happens(sim, 500);
    for (int64_t i = 0; i < wanted; i++) {
        struct pawl_str name;
        int at = any_task(sim);
        if (member > 0 && happens(sim, 600)) {
            name = sim_text(sim, "#%" PRId64, roll(sim, 0, (int64_t)member - 1));
        } else if (ask->allow_missing_dependencies && happens(sim, 400)) {
            name = sim_text(sim, "own-%" PRId64, roll(sim, 0, 40));
        } else if (at >= 0) {
            name = sim->models[at].id;
        } else {
            continue;
        }
        bool is_known = pawl_str_equal(name, ask->id);
        for (size_t j = 0; j < count; j++) is_known = is_known || pawl_str_equal(on[j], name);
        if (!is_known) on[count++] = name;
    }
    ask->depends_on = on;
    ask->depends_on_count = count;
}

static struct pawl_task_new any_task_new(struct sim *sim, const struct call *call, size_t member)
{
    struct pawl_task_new ask = PAWL_TASK_NEW_INIT;
    ask.queue = any_queue(sim);
    ask.title = sim_text(sim, "c%d.%zu", call->number, member);
    ask.actor = call->command.actor;
    ask.retry = any_retry(sim);
    if (happens(sim, 500)) ask.input = sim_text(sim, "{\"call\":%d}", call->number);
    if (happens(sim, 100)) ask.goal = sim_text(sim, "goal of %d", call->number);
    if (happens(sim, 100)) ask.metadata = PAWL_STR("{\"a\":1}");
    if (happens(sim, 500)) ask.priority = (int32_t)roll(sim, PAWL_PRIORITY_LOWEST, 3) * 10;
    if (ask.priority == -10) ask.priority = PAWL_PRIORITY_LOWEST;
    if (happens(sim, 250)) ask.id = sim_text(sim, "own-%" PRId64, roll(sim, 0, 40));
    if (happens(sim, 300)) ask.key = sim_text(sim, "key-%d.%zu", call->number, member);
    if (happens(sim, 50)) ask.key = sim_text(sim, "key-%" PRId64 ".0", roll(sim, 0, call->number));
    ask.hold = happens(sim, 120);
    if (happens(sim, 150)) ask.delay_ms = roll(sim, 1, 2000);
    if (happens(sim, 40)) {
        ask.run_at_ms = SIM_WALL_BASE_MS + sim->now_ms + sim->wall_shift_ms + roll(sim, -1000, 3000);
    }
    if (happens(sim, 150)) ask.timeout_ms = roll(sim, 100, 2500);
    if (happens(sim, sim->swarm.dependencies)) add_dependencies(sim, &ask, member);
    return ask;
}

static bool has_id_before(const struct pawl_task_new *asks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pawl_str_equal(asks[i].id, asks[count].id)) return true;
    }
    return false;
}

static struct call *add(struct sim *sim, size_t count)
{
    struct call *call = call_make(sim, PAWL_COMMAND_CREATE, -1);
    struct pawl_task_new *asks = pawl_arena_take_array(sim->arena, count, sizeof *asks);
    if (asks == NULL) abort();
    for (size_t i = 0; i < count; i++) {
        asks[i] = any_task_new(sim, call, i);
        if (has_id_before(asks, i)) asks[i].id = (struct pawl_str){0};
    }
    call->asks = asks;
    call->count = count;
    return call;
}

/* A large batch of plain tasks. */
static struct call *add_many(struct sim *sim, size_t count)
{
    struct call *call = call_make(sim, PAWL_COMMAND_CREATE, -1);
    struct pawl_task_new *asks = pawl_arena_take_array(sim->arena, count, sizeof *asks);
    if (asks == NULL) abort();
    for (size_t i = 0; i < count; i++) {
        asks[i] = (struct pawl_task_new)PAWL_TASK_NEW_INIT;
        asks[i].title = sim_text(sim, "c%d.%zu", call->number, i);
        asks[i].queue = queue_name(sim, 0);
        asks[i].actor = call->command.actor;
        asks[i].retry.max_retries = PAWL_RETRIES_NONE;
    }
    call->asks = asks;
    call->count = count;
    return call;
}

/* All of these, from the first on, wait for the one named. */
static void let_wait(struct sim *sim, struct call *call, size_t first, struct pawl_str name)
{
    struct pawl_task_new *asks = pawl_arena_take_array(sim->arena, call->count, sizeof *asks);
    struct pawl_str *on = pawl_arena_take(sim->arena, sizeof *on);
    if (asks == NULL || on == NULL) abort();
    *on = name;
    memcpy(asks, call->asks, call->count * sizeof *asks);
    enum pawl_dependency_policy policy = (enum pawl_dependency_policy)roll(sim, 0, 2);
    for (size_t i = first; i < call->count; i++) {
        asks[i].dependency_policy = policy;
        asks[i].allow_missing_dependencies = true;
        asks[i].depends_on = on;
        asks[i].depends_on_count = 1;
    }
    asks[0].priority = first > 0 ? PAWL_PRIORITY_MAX : 0;
    call->asks = asks;
}

/* ---- Workers ---------------------------------------------------------------------------------- */

static struct pawl_claim *any_claim(struct sim *sim, struct worker *worker)
{
    struct pawl_claim *ask = pawl_arena_take(sim->arena, sizeof *ask);
    struct pawl_str *queues = pawl_arena_take_array(sim->arena, SIM_QUEUES_MAX, sizeof *queues);
    if (ask == NULL || queues == NULL) abort();
    *ask = (struct pawl_claim)PAWL_CLAIM_INIT;
    ask->worker_id = worker->id;
    ask->queues = queues;
    ask->queue_count = (size_t)roll(sim, 1, SIM_QUEUES_MAX);
    for (size_t i = 0; i < ask->queue_count; i++) queues[i] = any_queue(sim);
    ask->max = happens(sim, 500) ? 0 : (int32_t)roll(sim, 1, 6);
    if (happens(sim, 100)) ask->priority_min = (int32_t)roll(sim, 0, 30);
    if (happens(sim, 400)) ask->lease_ms = roll(sim, PAWL_LEASE_MS_MIN, 3000);
    if (happens(sim, 500)) {
        ask->request_id = sim_text(sim, "r%d.%d.%d", worker->number, worker->generation, worker->requests++);
    }
    return ask;
}

static struct call *claim(struct sim *sim, struct worker *worker)
{
    struct call *call = call_make(sim, PAWL_COMMAND_CLAIM, worker->number);
    call->command.ask.claim.ask = any_claim(sim, worker);
    worker->claim = call;
    return call;
}

/* As many as there are, of all queues, for long. */
static struct call *claim_many(struct sim *sim, struct worker *worker, int32_t max)
{
    struct call *call = call_make(sim, PAWL_COMMAND_CLAIM, worker->number);
    struct pawl_claim *ask = pawl_arena_take(sim->arena, sizeof *ask);
    struct pawl_str *queues = pawl_arena_take_array(sim->arena, SIM_QUEUES_MAX, sizeof *queues);
    if (ask == NULL || queues == NULL) abort();
    for (int i = 0; i < sim->swarm.queues; i++) queues[i] = queue_name(sim, i);
    *ask = (struct pawl_claim)PAWL_CLAIM_INIT;
    ask->worker_id = worker->id;
    ask->queues = queues;
    ask->queue_count = (size_t)sim->swarm.queues;
    ask->max = max;
    ask->lease_ms = 60000;
    call->command.ask.claim.ask = ask;
    return call;
}

static struct call *start(struct sim *sim, struct worker *worker, int task)
{
    struct call *call = call_make(sim, PAWL_COMMAND_START, worker->number);
    struct pawl_claim *ask = any_claim(sim, worker);
    call->command.task_id = sim->models[task].id;
    call->command.ask.claim.ask = ask;
    if (happens(sim, 20)) call->command.task_id = PAWL_STR("nobody");
    if (happens(sim, 300)) worker->claim = call;
    return call;
}

static struct call *renew(struct sim *sim, struct worker *worker)
{
    struct call *call = call_make(sim, PAWL_COMMAND_RENEW, worker->number);
    struct pawl_fence *fences = pawl_arena_take_array(sim->arena, SIM_FENCES_MAX, sizeof *fences);
    if (fences == NULL) abort();
    size_t count = 0;
    for (int i = 0; i < worker->held_count && count < SIM_FENCES_MAX - 1; i++) {
        if (happens(sim, 700)) fences[count++] = worker->held[i].fence;
    }
    bool has_grave = sim->grave_count > 0 && happens(sim, 200);
    if (has_grave || count == 0) {
        int64_t graves = sim->grave_count < SIM_GRAVES_MAX ? sim->grave_count : SIM_GRAVES_MAX;
        if (graves == 0) {
            fences[count++] = worker->held[0].fence;
        } else {
            fences[count++] = sim->graves[roll(sim, 0, graves - 1)].fence;
        }
    }
    call->command.ask.renew.fences = fences;
    call->command.ask.renew.count = count;
    if (happens(sim, 400)) call->command.ask.renew.lease_ms = roll(sim, PAWL_LEASE_MS_MIN, 3000);
    return call;
}

/* What is said about one task, with or without a fence. */
static struct call *word(struct sim *sim, enum pawl_command_kind kind, int worker, struct pawl_str task_id,
                         const struct pawl_fence *fence)
{
    struct call *call = call_make(sim, kind, worker);
    struct pawl_command *command = &call->command;
    command->task_id = task_id;
    if (fence != NULL) {
        command->has_fence = true;
        command->fence = *fence;
        command->actor = (struct pawl_str){0};
    }
    switch (kind) {
    case PAWL_COMMAND_PROGRESS:
        command->ask.percent = (double)roll(sim, -1, 12) * 10;
        break;
    case PAWL_COMMAND_CHECKPOINT:
        command->ask.checkpoint.step = (int32_t)roll(sim, 0, 5);
        command->ask.checkpoint.state = sim_text(sim, "{\"state\":%d}", call->number);
        break;
    case PAWL_COMMAND_LOG:
        command->ask.line = sim_text(sim, "line of %d", call->number);
        break;
    case PAWL_COMMAND_COMPLETE:
        if (happens(sim, 800)) command->ask.result = sim_text(sim, "{\"result\":%d}", call->number);
        break;
    case PAWL_COMMAND_FAIL:
        command->ask.failure = (struct pawl_failure)PAWL_FAILURE_INIT;
        command->ask.failure.error = sim_text(sim, "error of #%d", call->number);
        command->ask.failure.is_final = happens(sim, 200);
        if (happens(sim, 200)) command->ask.failure.retry_after_ms = roll(sim, -1, 2000);
        break;
    case PAWL_COMMAND_RELEASE:
        command->ask.delay_ms = happens(sim, 500) ? 0 : roll(sim, 1, 1500);
        break;
    case PAWL_COMMAND_CANCEL:
        command->ask.is_forced = fence == NULL && happens(sim, 400);
        break;
    case PAWL_COMMAND_RESUME:
        command->ask.resume = (struct pawl_resume)PAWL_RESUME_INIT;
        command->ask.resume.keep_retries = happens(sim, 300);
        if (happens(sim, 200)) command->ask.resume.input = sim_text(sim, "{\"again\":%d}", call->number);
        break;
    case PAWL_COMMAND_RESOLVE: {
        static const enum pawl_task_state to[] = {PAWL_TASK_COMPLETED, PAWL_TASK_QUEUED, PAWL_TASK_CANCELLED,
                                                  PAWL_TASK_FAILED};
        command->ask.resolve.outcome = to[roll(sim, 0, 3)];
        if (command->ask.resolve.outcome == PAWL_TASK_COMPLETED) {
            command->ask.resolve.text = sim_text(sim, "{\"resolved\":%d}", call->number);
        }
        break;
    }
    default:
        break;
    }
    return call;
}

static struct call *holder_word(struct sim *sim, enum pawl_command_kind kind)
{
    struct worker *worker = any_worker(sim);
    const struct held *held = worker == NULL ? NULL : any_held(sim, worker);
    if (held == NULL) return NULL;
    return word(sim, kind, worker->number, held->fence.task_id, &held->fence);
}

/* A word with a fence that was lost, or with one that is not the speaker's. */
static struct call *stale_word(struct sim *sim)
{
    static const enum pawl_command_kind kinds[] = {
        PAWL_COMMAND_COMPLETE, PAWL_COMMAND_COMPLETE,   PAWL_COMMAND_FAIL,  PAWL_COMMAND_RELEASE,
        PAWL_COMMAND_PROGRESS, PAWL_COMMAND_CHECKPOINT, PAWL_COMMAND_PAUSE, PAWL_COMMAND_CANCEL,
        PAWL_COMMAND_LOG,
    };
    enum pawl_command_kind kind = kinds[roll(sim, 0, 8)];
    struct pawl_fence fence;
    int graves = sim->grave_count < SIM_GRAVES_MAX ? sim->grave_count : SIM_GRAVES_MAX;
    if (graves > 0 && happens(sim, 700)) {
        fence = sim->graves[roll(sim, 0, graves - 1)].fence;
        return word(sim, kind, 0, fence.task_id, &fence);
    }
    int at = task_in(sim, PAWL_TASK_RUNNING);
    if (at < 0) return NULL;
    const struct worker *other = &sim->workers[roll(sim, 0, sim->swarm.workers - 1)];
    const struct model *model = &sim->models[at];
    fence = (struct pawl_fence){model->id, other->id, model->epoch > 0 ? model->epoch : 1};
    if (happens(sim, 300)) fence.epoch++;
    if (fence.epoch == model->epoch && pawl_str_equal(fence.owner, model->owner)) fence.owner = PAWL_STR("stranger");
    return word(sim, kind, other->number, model->id, &fence);
}

/* ---- Operators -------------------------------------------------------------------------------- */

static struct call *operator_word(struct sim *sim, enum pawl_command_kind kind, int task)
{
    if (task < 0) return NULL;
    struct call *call = word(sim, kind, -1, sim->models[task].id, NULL);
    if (happens(sim, 100)) call->command.expected_version = sim->models[task].version + roll(sim, 0, 1);
    if (happens(sim, 10)) call->command.task_id = PAWL_STR("nobody");
    return call;
}

static struct call *operate(struct sim *sim)
{
    static const enum pawl_command_kind kinds[] = {PAWL_COMMAND_COMPLETE,   PAWL_COMMAND_FAIL, PAWL_COMMAND_PROGRESS,
                                                   PAWL_COMMAND_CHECKPOINT, PAWL_COMMAND_LOG};
    return operator_word(sim, kinds[roll(sim, 0, 4)], any_task(sim));
}

static struct call *redrive(struct sim *sim)
{
    struct call *call = call_make(sim, PAWL_COMMAND_REDRIVE, -1);
    struct pawl_redrive *ask = pawl_arena_take(sim->arena, sizeof *ask);
    if (ask == NULL) abort();
    *ask = (struct pawl_redrive)PAWL_REDRIVE_INIT;
    ask->resume = (struct pawl_resume)PAWL_RESUME_INIT;
    ask->resume.keep_retries = happens(sim, 300);
    ask->actor = call->command.actor;
    ask->reason = call->command.reason;
    if (happens(sim, 500)) ask->queue = any_queue(sim);
    if (happens(sim, 300)) ask->error_has = PAWL_STR("error of");
    if (happens(sim, 300)) ask->max = roll(sim, 1, 3);
    call->command.ask.redrive = ask;
    return call;
}

static struct call *queue_set(struct sim *sim, struct pawl_str name)
{
    struct call *call = call_make(sim, PAWL_COMMAND_QUEUE_SET, -1);
    struct pawl_queue_set *ask = pawl_arena_take(sim->arena, sizeof *ask);
    if (ask == NULL) abort();
    *ask = (struct pawl_queue_set)PAWL_QUEUE_SET_INIT;
    ask->name = name;
    ask->pause = (int32_t)roll(sim, 0, 2);
    if (happens(sim, 300)) {
        ask->set_lease = true;
        ask->lease_ms = happens(sim, 300) ? 0 : roll(sim, 200, 2000);
    }
    call->command.ask.queue_set = ask;
    return call;
}

static struct pawl_str consumer_name(struct sim *sim)
{
    return sim_text(sim, "c%" PRId64, roll(sim, 0, SIM_CONSUMERS_MAX - 1));
}

static struct call *acknowledge(struct sim *sim, const struct engine *engine)
{
    if (sim->after->position == 0) return NULL;
    int64_t position = roll(sim, 1, sim->after->position);
    bool is_one = happens(sim, 700);
    struct call *call = call_make(sim, is_one ? PAWL_COMMAND_ACKNOWLEDGE : PAWL_COMMAND_ACKNOWLEDGE_THROUGH, -1);
    struct pawl_command *command = &call->command;
    command->ask.acknowledge.consumer = consumer_name(sim);
    command->ask.acknowledge.position = position;
    if (!is_one) return call;
    /* the id of an event, as its reader would have it */
    int64_t at_ms = sim->event_at_ms[position];
    if (engine->pawl->store_id[0] == '\0') return NULL;
    command->ask.acknowledge.at_ms = at_ms;
    command->ask.acknowledge.event_id =
        pawl_event_id(pawl_str_of(engine->pawl->store_id), position, at_ms, sim->arena);
    return call;
}

/* ---- Acting ----------------------------------------------------------------------------------- */

static struct call *again(struct sim *sim)
{
    enum { RECENT = 30 };
    if (sim->call_count == 0) return NULL;
    int first = sim->call_count > RECENT && happens(sim, 800) ? sim->call_count - RECENT : 0;
    for (int i = 0; i < 4; i++) {
        struct call *call = &sim->calls[roll(sim, first, sim->call_count - 1)];
        if (call->sent_count > 0 && call->count < 100 && (!call->is_answered || happens(sim, 300))) return call;
    }
    return NULL;
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
    struct worker *worker = any_worker(sim);
    switch (any_action(sim)) {
    case ACT_ADD: return add(sim, 1);
    case ACT_ADD_BATCH: return add(sim, (size_t)roll(sim, 2, 6));
    case ACT_CLAIM: return worker == NULL ? NULL : claim(sim, worker);
    case ACT_CLAIM_AGAIN: return worker == NULL ? NULL : worker->claim;
    case ACT_START: {
        int task = any_task(sim);
        return worker == NULL || task < 0 ? NULL : start(sim, worker, task);
    }
    case ACT_RENEW: return worker == NULL || worker->held_count == 0 ? NULL : renew(sim, worker);
    case ACT_PROGRESS: return holder_word(sim, PAWL_COMMAND_PROGRESS);
    case ACT_CHECKPOINT: return holder_word(sim, PAWL_COMMAND_CHECKPOINT);
    case ACT_LOG: return holder_word(sim, PAWL_COMMAND_LOG);
    case ACT_COMPLETE: return holder_word(sim, PAWL_COMMAND_COMPLETE);
    case ACT_FAIL: return holder_word(sim, PAWL_COMMAND_FAIL);
    case ACT_RELEASE: return holder_word(sim, PAWL_COMMAND_RELEASE);
    case ACT_HOLDER_PAUSE: return holder_word(sim, PAWL_COMMAND_PAUSE);
    case ACT_HOLDER_CANCEL: return holder_word(sim, PAWL_COMMAND_CANCEL);
    case ACT_STALE: return stale_word(sim);
    case ACT_QUEUE: return operator_word(sim, PAWL_COMMAND_QUEUE, task_in(sim, PAWL_TASK_PENDING));
    case ACT_PAUSE: return operator_word(sim, PAWL_COMMAND_PAUSE, any_task(sim));
    case ACT_RESUME: {
        static const enum pawl_task_state from[] = {PAWL_TASK_PAUSED, PAWL_TASK_DEAD_LETTER, PAWL_TASK_FAILED};
        return operator_word(sim, PAWL_COMMAND_RESUME, task_in(sim, from[roll(sim, 0, 2)]));
    }
    case ACT_CANCEL: return operator_word(sim, PAWL_COMMAND_CANCEL, any_task(sim));
    case ACT_RESOLVE:
        return operator_word(sim, PAWL_COMMAND_RESOLVE,
                             happens(sim, 700) ? task_in(sim, PAWL_TASK_DEAD_LETTER) : any_task(sim));
    case ACT_OPERATE: return operate(sim);
    case ACT_REDRIVE: return redrive(sim);
    case ACT_QUEUE_SET: return queue_set(sim, any_queue(sim));
    case ACT_ACKNOWLEDGE: return acknowledge(sim, engine);
    case ACT_AGAIN: return again(sim);
    case ACT_READ_EVENTS: /* not one of a group: people_read_events */
    case ACTION_COUNT: break;
    }
    return NULL;
}

static void befall_workers(struct sim *sim)
{
    struct worker *worker = &sim->workers[roll(sim, 0, sim->swarm.workers - 1)];
    if (happens(sim, sim->swarm.worker_sleep)) {
        worker->sleeps_until_ms = sim->now_ms + roll(sim, 100, 4000);
        sim_tell(sim, "worker %d stands still until %" PRId64, worker->number, worker->sleeps_until_ms);
    }
    if (happens(sim, sim->swarm.worker_crash)) {
        for (int i = 0; i < worker->held_count; i++) bury_fence(sim, &worker->held[i].fence);
        worker->held_count = 0;
        worker->claim = NULL;
        worker->generation++;
        if (happens(sim, 500)) worker->id = sim_text(sim, "w%d.%d", worker->number, worker->generation);
        sim_tell(sim, "worker %d crashes and comes back as %.*s", worker->number, PAWL_STR_ARG(worker->id));
    }
}

/* ---- Preludes --------------------------------------------------------------------------------- */

static void make_dependents(struct sim *sim, struct engine *engine)
{
    struct call *call = add_many(sim, (size_t)roll(sim, PAWL_SLICE_ROWS_MAX + 2, SIM_MEMBERS_MAX));
    let_wait(sim, call, 1, PAWL_STR("#0"));
    (void)call_send(sim, engine, call);
}

static void make_awaited(struct sim *sim, struct engine *engine)
{
    static const struct pawl_str awaited = PAWL_STR_INIT("awaited");
    struct call *call;
    if (sim->prelude_moves == 1) {
        call = add_many(sim, (size_t)roll(sim, 2, PAWL_SLICE_ROWS_MAX));
        let_wait(sim, call, 0, awaited);
    } else {
        call = add(sim, 1);
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
        (void)call_send(sim, engine, add_many(sim, (size_t)roll(sim, PAWL_SLICE_ROWS_MAX + 1, 330)));
    } else if (worker->held_count == 0) {
        (void)call_send(sim, engine, claim_many(sim, worker, SIM_SENT_MAX));
    } else {
        for (int i = 0; i < worker->held_count && i < SIM_SENT_MAX; i++) {
            const struct pawl_fence *fence = &worker->held[i].fence;
            (void)call_send(sim, engine, word(sim, PAWL_COMMAND_FAIL, worker->number, fence->task_id, fence));
        }
    }
}

static void make_history(struct sim *sim, struct engine *engine)
{
    enum { PAIRS = 20 };
    if (sim->model_count == 0) {
        (void)call_send(sim, engine, add(sim, 1));
        return;
    }
    for (int i = 0; i < PAIRS; i++) {
        (void)call_send(sim, engine, word(sim, PAWL_COMMAND_PAUSE, -1, sim->models[0].id, NULL));
        (void)call_send(sim, engine, word(sim, PAWL_COMMAND_RESUME, -1, sim->models[0].id, NULL));
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
        [PRELUDE_HISTORY] = {10, make_history},
    };
    if (sim->prelude_moves >= preludes[sim->swarm.prelude].moves) return false;
    sim->prelude_moves++;
    preludes[sim->swarm.prelude].act(sim, engine);
    return true;
}

void people_act(struct sim *sim, struct engine *engine)
{
    int64_t count = happens(sim, 400) ? 1 : roll(sim, 0, sim->swarm.group_max);
    befall_workers(sim);
    if (act_prelude(sim, engine)) return;
    for (int64_t i = 0; i < count && sim->call_count < SIM_CALLS_MAX - 2; i++) {
        struct call *call = next_call(sim, engine);
        if (call == NULL) continue;
        (void)call_send(sim, engine, call);
        if (happens(sim, 30)) (void)call_send(sim, engine, call); /* twice in one step */
    }
}

/* ---- Hearing ---------------------------------------------------------------------------------- */

static void take_grant(struct sim *sim, struct worker *worker, const struct pawl_grant *grant)
{
    int task = model_find(sim, grant->fence.task_id);
    if (task < 0 || !pawl_str_equal(grant->fence.owner, worker->id)) return;
    for (int i = 0; i < worker->held_count; i++) {
        if (worker->held[i].task == task && worker->held[i].fence.epoch == grant->fence.epoch) return;
    }
    if (worker->held_count == SIM_GRANTS_MAX) return; /* forgotten: its lease will end */
    worker->held[worker->held_count++] = (struct held){
        .fence = {sim->models[task].id, worker->id, grant->fence.epoch},
        .task = task,
        .end_at_ms = grant->lease_end_at_ms,
    };
}

static void hear_one(struct sim *sim, const struct sent *sent)
{
    const struct pawl_command *command = &sent->call->command;
    struct worker *worker = sent->call->worker < 0 ? NULL : &sim->workers[sent->call->worker];
    bool is_ok = sent->code == PAWL_OK;
    if (worker == NULL) return;
    switch (command->kind) {
    case PAWL_COMMAND_CLAIM:
        for (size_t i = 0; is_ok && i < sent->claimed.count; i++) take_grant(sim, worker, &sent->claimed.grants[i]);
        break;
    case PAWL_COMMAND_START:
        if (is_ok) take_grant(sim, worker, &sent->grant);
        break;
    case PAWL_COMMAND_RENEW:
        for (size_t i = 0; is_ok && i < command->ask.renew.count; i++) {
            if (sent->renewals[i].code != PAWL_OK) drop_held(sim, worker, &command->ask.renew.fences[i]);
        }
        break;
    case PAWL_COMMAND_COMPLETE:
    case PAWL_COMMAND_FAIL:
    case PAWL_COMMAND_RELEASE:
    case PAWL_COMMAND_PAUSE:
    case PAWL_COMMAND_CANCEL:
        if (is_ok || sent->code == PAWL_LEASE_LOST) drop_held(sim, worker, &command->fence);
        break;
    default:
        if (sent->code == PAWL_LEASE_LOST) drop_held(sim, worker, &command->fence);
        break;
    }
}

void people_hear(struct sim *sim)
{
    for (int i = 0; i < sim->sent_count; i++) {
        struct sent *sent = &sim->sent[i];
        if (!sent->was_answered) continue;
        if (!sim->is_calm && happens(sim, sim->swarm.answer_lost)) {
            sim_tell(sim, "the answer to #%d is lost", sent->call->number);
            continue;
        }
        sent->call->is_answered = true;
        hear_one(sim, sent);
    }
}

/* ---- Consumers -------------------------------------------------------------------------------- */

static bool is_acknowledged(const struct look *look, int64_t consumer, int64_t position)
{
    for (int i = 0; i < look->acknowledgement_count; i++) {
        const struct look_acknowledgement *one = &look->acknowledgements[i];
        if (one->consumer == consumer && one->position == position) return true;
    }
    return false;
}

/* What a consumer is given is what lies after its cursor and is not acknowledged, without a gap. */
static void check_events(struct sim *sim, struct pawl_str name, int32_t limit, const struct pawl_events *got)
{
    const struct look *look = sim->after;
    const struct look_consumer *consumer = NULL;
    for (int i = 0; i < look->consumer_count; i++) {
        if (pawl_str_equal(look->consumers[i].name, name)) consumer = &look->consumers[i];
    }
    if (consumer == NULL) {
        sim_fault(sim, "a consumer has read and does not exist");
        return;
    }
    size_t count = 0;
    for (int64_t position = consumer->cursor + 1; position <= look->position; position++) {
        if (count == (size_t)limit) break;
        if (is_acknowledged(look, consumer->key, position)) continue;
        if (count >= got->count || got->events[count].position != position) {
            sim_fault(sim, "consumer %.*s is not given event %" PRId64, PAWL_STR_ARG(name), position);
            return;
        }
        count++;
    }
    if (count != got->count) sim_fault(sim, "consumer %.*s is given events twice", PAWL_STR_ARG(name));
}

void people_read_events(struct sim *sim, struct engine *engine)
{
    struct pawl_error err = {0};
    struct pawl_events events = {0};
    struct pawl_arena *keep;
    struct pawl_str name = consumer_name(sim);
    int32_t limit = (int32_t)roll(sim, 1, 30);
    if (pawl_arena_open(&keep, 0) != PAWL_OK) abort();
    sim->plan = (struct plan){0};
    sim->move++;
    sim->stepped = NULL; /* a read runs no step, but when the consumer is new */
    sim->had_fault = false;
    sim->was_killed = false;
    sim->boot_low_ms = world_boot_ms(sim);
    sim->boot_id_of_move = sim->boot_id;
    enum pawl_code code = pawl_consumer_read(engine->pawl, name, limit, 0, keep, &events, &err);
    sim->boot_high_ms = world_boot_ms(sim);
    sim->next_boot_ms = -1; /* nobody said */
    sim_tell(sim, "engine %d  consumer %.*s reads: %s, %zu events", engine->number, PAWL_STR_ARG(name),
             pawl_code_name(code), events.count);
    if (code != PAWL_OK) sim_fault(sim, "a consumer cannot read: %s", err.text);
    judge_move(sim);
    if (sim_holds(sim)) check_events(sim, name, limit, &events);
    pawl_arena_close(keep);
}

/* ---- Good behaviour --------------------------------------------------------------------------- */

void people_resume_queues(struct sim *sim, struct engine *engine)
{
    for (int64_t i = 0; i < sim->swarm.queues; i++) {
        struct call *call = queue_set(sim, queue_name(sim, i));
        struct pawl_queue_set *ask = pawl_arena_take(sim->arena, sizeof *ask);
        if (ask == NULL) abort();
        *ask = (struct pawl_queue_set)PAWL_QUEUE_SET_INIT;
        ask->name = queue_name(sim, i);
        ask->pause = 2;
        call->command.ask.queue_set = ask;
        (void)call_send(sim, engine, call);
    }
}

bool people_work(struct sim *sim, struct engine *engine)
{
    enum { AT_ONCE = 50 };
    int had = 0;
    for (int w = 0; w < sim->swarm.workers; w++) {
        struct worker *worker = &sim->workers[w];
        for (int i = 0; i < worker->held_count && sim->sent_count < AT_ONCE; i++) {
            const struct pawl_fence *fence = &worker->held[i].fence;
            (void)call_send(sim, engine, word(sim, PAWL_COMMAND_COMPLETE, w, fence->task_id, fence));
            had++;
        }
    }
    if (had > 0) return true;
    (void)call_send(sim, engine, claim_many(sim, &sim->workers[0], AT_ONCE));
    return false;
}

void people_open(struct sim *sim)
{
    for (int i = 0; i < sim->swarm.workers; i++) {
        sim->workers[i] = (struct worker){.number = i, .id = sim_text(sim, "w%d", i)};
    }
}
