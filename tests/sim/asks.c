/* Calls as people make them: random, but likely to be sensible ones, since people remember what
 * they were told. */
#include "asks.h"

#include "store/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct pawl_str queue_name(struct sim *sim, int64_t number)
{
    return sim_text(sim, "q%" PRId64, number);
}

static struct pawl_str any_queue(struct sim *sim)
{
    return queue_name(sim, roll(sim, 0, sim->swarm.queues - 1));
}

/* ---- Whom it is about ---------------------------------------------------------------------- */

int ask_any_task(struct sim *sim)
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

int ask_task_in(struct sim *sim, enum pawl_task_state state)
{
    int first = sim->model_count == 0 ? 0 : (int)roll(sim, 0, sim->model_count - 1);
    for (int i = 0; i < sim->model_count; i++) {
        int at = (first + i) % sim->model_count;
        if (sim->models[at].state == state) return at;
    }
    return ask_any_task(sim);
}

struct worker *ask_any_worker(struct sim *sim)
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

/* ---- Adding -------------------------------------------------------------------------------- */

static struct pawl_retry any_retry(struct sim *sim)
{
    static const int32_t retries[] = {0, PAWL_RETRIES_NONE, 1, 2, 5};
    static const int64_t delays[] = {0, PAWL_DELAY_NONE, 50, 700};
    struct pawl_retry retry = {.max_retries = retries[roll(sim, 0, 4)]};
    retry.backoff = (enum pawl_backoff)roll(sim, 0, 2);
    retry.delay_ms = delays[roll(sim, 0, 3)];
    if (happens(sim, 300)) retry.delay_ms_max = 1500;
    if (happens(sim, 200)) retry.jitter_ms = 100;
    return retry;
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
        int at = ask_any_task(sim);
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
        ask.run_at_ms =
            SIM_WALL_BASE_MS + sim->now_ms + sim->wall_shift_ms + roll(sim, -1000, 3000);
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

struct call *ask_add(struct sim *sim, size_t count)
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
struct call *ask_add_many(struct sim *sim, size_t count)
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
void ask_let_wait(struct sim *sim, struct call *call, size_t first, struct pawl_str name)
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

/* ---- Workers ------------------------------------------------------------------------------- */

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
    ask->is_supervised = happens(sim, sim->swarm.supervised);
    if (happens(sim, 500)) {
        ask->request_id =
            sim_text(sim, "r%d.%d.%d", worker->number, worker->generation, worker->requests++);
    }
    return ask;
}

struct call *ask_claim(struct sim *sim, struct worker *worker)
{
    struct call *call = call_make(sim, PAWL_COMMAND_CLAIM, worker->number);
    call->command.ask.claim.ask = any_claim(sim, worker);
    worker->claim = call;
    return call;
}

struct call *ask_claim_many(struct sim *sim, struct worker *worker, int32_t max)
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
    ask->is_supervised = sim->is_calm && happens(sim, sim->swarm.supervised);
    ask->lease_ms = 60000;
    call->command.ask.claim.ask = ask;
    return call;
}

struct call *ask_start(struct sim *sim, struct worker *worker, int task)
{
    struct call *call = call_make(sim, PAWL_COMMAND_START, worker->number);
    struct pawl_claim *ask = any_claim(sim, worker);
    call->command.task_id = sim->models[task].id;
    call->command.ask.claim.ask = ask;
    if (happens(sim, 20)) call->command.task_id = PAWL_STR("nobody");
    if (happens(sim, 300)) worker->claim = call;
    return call;
}

struct call *ask_renew(struct sim *sim, struct worker *worker)
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
struct call *ask_word(struct sim *sim, enum pawl_command_kind kind, int worker,
                      struct pawl_str task_id, const struct pawl_fence *fence)
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
        if (happens(sim, 200)) {
            command->ask.resume.input = sim_text(sim, "{\"again\":%d}", call->number);
        }
        break;
    case PAWL_COMMAND_RESOLVE: {
        static const enum pawl_task_state to[] = {PAWL_TASK_COMPLETED, PAWL_TASK_QUEUED,
                                                  PAWL_TASK_CANCELLED, PAWL_TASK_FAILED};
        command->ask.resolve.outcome = to[roll(sim, 0, 3)];
        command->is_forced = happens(sim, 150);
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

struct call *ask_holder_word(struct sim *sim, enum pawl_command_kind kind)
{
    struct worker *worker = ask_any_worker(sim);
    const struct held *held = worker == NULL ? NULL : any_held(sim, worker);
    if (held == NULL) return NULL;
    return ask_word(sim, kind, worker->number, held->fence.task_id, &held->fence);
}

/* A word with a fence that was lost, or with one that is not the speaker's. */
struct call *ask_stale_word(struct sim *sim)
{
    static const enum pawl_command_kind kinds[] = {
        PAWL_COMMAND_COMPLETE, PAWL_COMMAND_COMPLETE,   PAWL_COMMAND_FAIL,  PAWL_COMMAND_RELEASE,
        PAWL_COMMAND_PROGRESS, PAWL_COMMAND_CHECKPOINT, PAWL_COMMAND_PAUSE, PAWL_COMMAND_CANCEL,
        PAWL_COMMAND_LOG,      PAWL_COMMAND_STOPPED,
    };
    enum pawl_command_kind kind = kinds[roll(sim, 0, 9)];
    struct pawl_fence fence;
    int graves = sim->grave_count < SIM_GRAVES_MAX ? sim->grave_count : SIM_GRAVES_MAX;
    if (graves > 0 && happens(sim, 700)) {
        fence = sim->graves[roll(sim, 0, graves - 1)].fence;
        return ask_word(sim, kind, 0, fence.task_id, &fence);
    }
    int at = ask_task_in(sim, PAWL_TASK_RUNNING);
    if (at < 0) return NULL;
    const struct worker *other = &sim->workers[roll(sim, 0, sim->swarm.workers - 1)];
    const struct model *model = &sim->models[at];
    fence = (struct pawl_fence){model->id, other->id, model->epoch > 0 ? model->epoch : 1};
    if (happens(sim, 300)) fence.epoch++;
    if (fence.epoch == model->epoch && pawl_str_equal(fence.owner, model->owner)) {
        fence.owner = PAWL_STR("stranger");
    }
    return ask_word(sim, kind, other->number, model->id, &fence);
}

/* ---- Operators ----------------------------------------------------------------------------- */

struct call *ask_operator_word(struct sim *sim, enum pawl_command_kind kind, int task)
{
    if (task < 0) return NULL;
    struct call *call = ask_word(sim, kind, -1, sim->models[task].id, NULL);
    if (happens(sim, 100)) {
        call->command.expected_version = sim->models[task].version + roll(sim, 0, 1);
    }
    if (happens(sim, 10)) call->command.task_id = PAWL_STR("nobody");
    return call;
}

struct call *ask_operate(struct sim *sim)
{
    static const enum pawl_command_kind kinds[] = {PAWL_COMMAND_COMPLETE, PAWL_COMMAND_FAIL,
                                                   PAWL_COMMAND_PROGRESS, PAWL_COMMAND_CHECKPOINT,
                                                   PAWL_COMMAND_LOG};
    enum pawl_command_kind kind = kinds[roll(sim, 0, 4)];
    return ask_operator_word(sim, kind, ask_any_task(sim));
}

struct call *ask_redrive(struct sim *sim)
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

static struct call *set_queue(struct sim *sim, struct pawl_str name, struct pawl_queue_set **ask)
{
    struct call *call = call_make(sim, PAWL_COMMAND_QUEUE_SET, -1);
    *ask = pawl_arena_take(sim->arena, sizeof **ask);
    if (*ask == NULL) abort();
    **ask = (struct pawl_queue_set)PAWL_QUEUE_SET_INIT;
    (*ask)->name = name;
    call->command.ask.queue_set = *ask;
    return call;
}

struct call *ask_queue_set(struct sim *sim)
{
    struct pawl_queue_set *ask;
    struct call *call = set_queue(sim, any_queue(sim), &ask);
    ask->pause = (int32_t)roll(sim, 0, 2);
    if (happens(sim, 300)) {
        ask->set_lease = true;
        ask->lease_ms = happens(sim, 300) ? 0 : roll(sim, 200, 2000);
    }
    return call;
}

struct call *ask_resume_queue(struct sim *sim, int64_t number)
{
    struct pawl_queue_set *ask;
    struct call *call = set_queue(sim, queue_name(sim, number), &ask);
    ask->pause = 2;
    return call;
}

struct pawl_str ask_consumer_name(struct sim *sim)
{
    return sim_text(sim, "c%" PRId64, roll(sim, 0, SIM_CONSUMERS_MAX - 1));
}

struct call *ask_acknowledge(struct sim *sim, const struct engine *engine)
{
    if (sim->after->position == 0) return NULL;
    int64_t position = roll(sim, 1, sim->after->position);
    if (position >= SIM_POSITIONS_MAX) return NULL;
    bool is_one = happens(sim, 700);
    struct call *call =
        call_make(sim, is_one ? PAWL_COMMAND_ACKNOWLEDGE : PAWL_COMMAND_ACKNOWLEDGE_THROUGH, -1);
    struct pawl_command *command = &call->command;
    command->ask.acknowledge.consumer = ask_consumer_name(sim);
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

/* ---- Acting -------------------------------------------------------------------------------- */

struct call *ask_again(struct sim *sim)
{
    enum { RECENT = 30 };
    if (sim->call_count == 0) return NULL;
    int first = sim->call_count > RECENT && happens(sim, 800) ? sim->call_count - RECENT : 0;
    for (int i = 0; i < 4; i++) {
        struct call *call = &sim->calls[roll(sim, first, sim->call_count - 1)];
        if (call->sent_count > 0 && call->count < 100 &&
            (!call->is_answered || happens(sim, 300))) {
            return call;
        }
    }
    return NULL;
}
