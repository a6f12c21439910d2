#include "work.h"

#include "asks.h"
#include "net.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    SOON_MS = 500,
    LATE_MS = 3000,
    COMMAND_MS_MAX = 4000,
    LONG_COMMAND_MS_MAX = 400000, /* beyond the longest time between two looks */
    SAYS_MAX = 8,                 /* then it gives up */
    INTERLEAVES_MAX = 3
};

static struct execution *live_first(const struct sim *sim)
{
    return &sim->executions[sim->execution_first];
}

static struct execution *end_of(const struct sim *sim)
{
    return &sim->executions[sim->execution_count];
}

static bool is_under_way(const struct execution *x)
{
    return x->stage == STAGE_GRANTED || x->stage == STAGE_LOCKED || x->stage == STAGE_WORKING;
}

static bool is_locked(const struct execution *x)
{
    return x->has_hand || x->has_command;
}

/* When its worker can do something; INT64_MAX if it has none. */
static int64_t awake_at(const struct sim *sim, const struct execution *x)
{
    if (x->worker == WORK_NOBODY) return INT64_MAX;
    if (sim->is_calm) return sim->now_ms;
    return sim->workers[x->worker].sleeps_until_ms;
}

static bool is_awake(const struct sim *sim, const struct execution *x)
{
    return awake_at(sim, x) <= sim->now_ms;
}

static void tell(struct sim *sim, const struct execution *x, const char *what)
{
    pawl_hasher_add_int64(&sim->hasher, x->task);
    pawl_hasher_add_int64(&sim->hasher, x->fence.epoch);
    pawl_hasher_add_int64(&sim->hasher, x->stage);
    sim_tell(sim, "execution t%d.%" PRId64 " of worker %d%s: %s", x->task, x->fence.epoch,
             x->worker, x->is_far ? ", far away" : "", what);
}

/* min(lease / 4, max(1 s, lease / 10)) */
static int64_t margin_ms(int64_t lease_ms)
{
    int64_t margin = lease_ms / 10 > 1000 ? lease_ms / 10 : 1000;
    return lease_ms / 4 < margin ? lease_ms / 4 : margin;
}

static int64_t stops_at(const struct execution *x)
{
    return x->counts_until_ms - margin_ms(x->lease_ms);
}

/* ---- Locks --------------------------------------------------------------------------------- */

static struct execution *lock_holder(const struct sim *sim, struct pawl_str task_id, int64_t epoch,
                                     struct pawl_str place)
{
    for (struct execution *x = live_first(sim); x < end_of(sim); x++) {
        if (is_locked(x) && pawl_str_equal(x->place, place) && x->fence.epoch == epoch &&
            pawl_str_equal(x->fence.task_id, task_id)) {
            return x;
        }
    }
    return NULL;
}

bool work_is_locked(struct sim *sim, struct pawl_str task_id, int64_t epoch)
{
    return lock_holder(sim, task_id, epoch, work_place_near(sim)) != NULL;
}

bool work_goes_on(const struct sim *sim, int task, int64_t epoch)
{
    for (const struct execution *x = live_first(sim); x < end_of(sim); x++) {
        bool works = x->stage == STAGE_WORKING && x->has_command;
        if (works && !x->is_far && !x->is_overruled && x->task == task && x->fence.epoch == epoch) {
            return true;
        }
    }
    return false;
}

void work_overrule(struct sim *sim, int task)
{
    for (struct execution *x = live_first(sim); x < end_of(sim); x++) {
        if (x->task == task) x->is_overruled = true;
    }
}

bool work_forbids(const struct sim *sim, const struct call *call)
{
    const struct pawl_command *command = &call->command;
    bool is_end = command->kind == PAWL_COMMAND_COMPLETE || command->kind == PAWL_COMMAND_FAIL ||
                  command->kind == PAWL_COMMAND_RELEASE || command->kind == PAWL_COMMAND_PAUSE ||
                  command->kind == PAWL_COMMAND_CANCEL || command->kind == PAWL_COMMAND_STOPPED;
    if (!is_end || !command->has_fence) return false;
    for (const struct execution *x = live_first(sim); x < end_of(sim); x++) {
        if ((is_under_way(x) || is_locked(x)) && x->fence.epoch == command->fence.epoch &&
            pawl_str_equal(x->fence.task_id, command->fence.task_id) &&
            pawl_str_equal(x->fence.owner, command->fence.owner)) {
            return true;
        }
    }
    return false;
}

struct pawl_str work_place_near(struct sim *sim)
{
    return sim_text(sim, "locks-%d@%.*s", sim->lock_file, PAWL_STR_ARG(sim->boot_id));
}

static struct pawl_str place_of(struct sim *sim, bool is_far)
{
    return is_far ? PAWL_STR("locks@elsewhere") : work_place_near(sim);
}

struct pawl_str work_place(struct sim *sim, const struct worker *worker)
{
    return place_of(sim, worker->is_far);
}

/* A host that watches the folder sees it, and calls its engine, which looks again. */
static void ring_folder(struct sim *sim, const struct execution *x)
{
    if (x->is_far || is_locked(x)) return;
    for (int i = 0; i < sim->swarm.engines; i++) {
        struct engine *engine = &sim->engines[i];
        bool watches = engine->pawl != NULL && !engine->is_dead && engine->has_timers;
        if (watches && happens(sim, sim->swarm.watch)) engine->next_at_ms = sim->now_ms;
    }
}

/* ---- From stage to stage ------------------------------------------------------------------- */

static void be_over(struct sim *sim, struct execution *x, const char *why)
{
    x->has_hand = false;
    x->has_command = false;
    x->stage = STAGE_OVER;
    tell(sim, x, why);
    ring_folder(sim, x);
    people_bury_fence(sim, &x->fence);
    while (sim->execution_first < sim->execution_count && live_first(sim)->stage == STAGE_OVER) {
        sim->execution_first++;
    }
}

static int64_t pause_ms(struct sim *sim)
{
    if (sim->is_calm || !happens(sim, sim->swarm.slow_begin)) return 0;
    return roll(sim, 1, LATE_MS);
}

static bool is_row_ours(struct sim *sim, const struct execution *x)
{
    struct look_lease lease;
    return looker_task(&sim->looker, x->fence.task_id, sim->arena, &lease) &&
           lease.state == PAWL_TASK_RUNNING && lease.epoch == x->fence.epoch &&
           pawl_str_equal(lease.owner, x->fence.owner) && pawl_str_equal(lease.place, x->place);
}

static void take_lock(struct sim *sim, struct execution *x)
{
    x->place = place_of(sim, x->is_far);
    if (lock_holder(sim, x->fence.task_id, x->fence.epoch, x->place) != NULL) {
        be_over(sim, x, "its lock is held already: left to whoever holds it");
        return;
    }
    x->has_hand = true;
    x->stage = STAGE_LOCKED;
    x->next_at_ms = sim->now_ms + pause_ms(sim);
    tell(sim, x, "takes its lock");
}

/* The heart: no task has two executions of one place at a time; and wherever they are, none begins
 * while another's worker still counts on its lease. */
static void check_alone(struct sim *sim, const struct execution *new)
{
    for (const struct execution *x = live_first(sim); x < end_of(sim); x++) {
        if (x == new || x->task != new->task || x->stage != STAGE_WORKING || !x->has_command) {
            continue;
        }
        if (x->is_overruled) continue;
        bool is_counted = x->worker != WORK_NOBODY && x->boot == sim->boot && !x->is_lost &&
                          sim->now_ms < x->counts_until_ms;
        if (!x->is_far && !new->is_far) {
            sim_fault(sim,
                      "t%d: two executions at the same time, under epochs %" PRId64 " and %" PRId64,
                      x->task, x->fence.epoch, new->fence.epoch);
        } else if (is_counted) {
            sim_fault(sim,
                      "t%d: an execution begins under epoch %" PRId64
                      ", and the worker of epoch %" PRId64 " counts on its lease",
                      x->task, new->fence.epoch, x->fence.epoch);
        }
    }
}

static void begin_command(struct sim *sim, struct execution *x)
{
    const struct swarm *swarm = &sim->swarm;
    int64_t most = sim->is_calm                        ? SOON_MS
                   : happens(sim, swarm->long_command) ? LONG_COMMAND_MS_MAX
                                                       : COMMAND_MS_MAX;
    x->stage = STAGE_WORKING;
    x->has_command = true;
    x->command_ends_at_ms = sim->now_ms + roll(sim, 0, most);
    x->ignores_signals = happens(sim, swarm->ignore_signals);
    tell(sim, x, x->ignores_signals ? "works, and ignores signals" : "works");
    check_alone(sim, x);
}

static void look_at_row(struct sim *sim, struct execution *x)
{
    if (is_row_ours(sim, x)) {
        begin_command(sim, x);
    } else {
        x->is_lost = true;
        be_over(sim, x, "it is not its any more, or nobody would look here: the lock is let go");
    }
}

static void end_command(struct sim *sim, struct execution *x)
{
    x->has_command = false;
    if (x->worker == WORK_NOBODY) {
        be_over(sim, x, "its command has ended too");
    } else {
        tell(sim, x, "its command has ended");
    }
}

static void let_go(struct sim *sim, struct execution *x)
{
    x->has_hand = false;
    x->stage = STAGE_ENDED;
    x->next_at_ms = sim->now_ms;
    tell(sim, x, "its lock is free");
    ring_folder(sim, x);
}

static void stop_command(struct sim *sim, struct execution *x, const char *why)
{
    int64_t ends_at_ms = sim->now_ms + roll(sim, 0, SOON_MS);
    x->is_stopping = true;
    if (!x->ignores_signals && ends_at_ms < x->command_ends_at_ms) {
        x->command_ends_at_ms = ends_at_ms;
    }
    tell(sim, x, why);
}

/* Why its worker stops the command now; NULL = it does not. */
static const char *stop_reason(const struct sim *sim, const struct execution *x)
{
    if (x->is_stopping || !x->has_command || !is_awake(sim, x)) return NULL;
    if (x->is_lost) return "is stopped: the lease is lost";
    if (sim->now_ms >= stops_at(x)) return "is stopped: its time, as its worker counts it, is up";
    return x->control == PAWL_CONTROL_NONE ? NULL : "is stopped: somebody has asked for it";
}

/* One thing that has come due; false if there is none. */
static bool go_on(struct sim *sim, struct execution *x)
{
    if (x->has_command && x->command_ends_at_ms <= sim->now_ms) {
        end_command(sim, x);
        return true;
    }
    if (!is_awake(sim, x)) return false;
    const char *reason = stop_reason(sim, x);
    if (reason != NULL) {
        stop_command(sim, x, reason);
    } else if (x->stage == STAGE_GRANTED && x->next_at_ms <= sim->now_ms) {
        take_lock(sim, x);
    } else if (x->stage == STAGE_LOCKED && x->next_at_ms <= sim->now_ms) {
        look_at_row(sim, x);
    } else if (x->stage == STAGE_WORKING && !x->has_command) {
        let_go(sim, x);
    } else {
        return false;
    }
    return true;
}

void work_go_on(struct sim *sim)
{
    for (struct execution *x = live_first(sim); x < end_of(sim) && sim_holds(sim); x++) {
        while (sim_holds(sim) && go_on(sim, x)) {
        }
    }
}

/* Whoever stood still goes on, and a command ends whenever it likes. */
void work_interleave(struct sim *sim)
{
    if (!sim->is_in_step || sim->is_calm || sim->disk->is_dead || !sim_holds(sim)) return;
    int count = sim->execution_count - sim->execution_first;
    for (int i = 0; i < INTERLEAVES_MAX && count > 0; i++) {
        if (!happens(sim, sim->swarm.interleave)) return;
        struct execution *x = live_first(sim) + roll(sim, 0, count - 1);
        if (x->stage == STAGE_GRANTED || x->stage == STAGE_LOCKED) x->next_at_ms = sim->now_ms;
        if (x->has_command && happens(sim, 200)) x->command_ends_at_ms = sim->now_ms;
        (void)go_on(sim, x);
        count = sim->execution_count - sim->execution_first;
    }
}

/* ---- Beginning ----------------------------------------------------------------------------- */

void work_begin(struct sim *sim, struct worker *worker, const struct call *call,
                const struct letter_grant *grant)
{
    /* who has begun it once, or given it up, knows that */
    for (const struct execution *x = sim->executions; x < end_of(sim); x++) {
        if (x->task == grant->task && x->fence.epoch == grant->fence.epoch &&
            x->generation == worker->generation &&
            pawl_str_equal(x->fence.owner, grant->fence.owner)) {
            return;
        }
    }
    bool is_for_it =
        call->generation == worker->generation && pawl_str_equal(grant->fence.owner, worker->id);
    if (!is_for_it || sim->execution_count == SIM_EXECUTIONS_MAX) return; /* its lease will end */
    struct execution *x = &sim->executions[sim->execution_count++];
    *x = (struct execution){.task = grant->task,
                            .fence = grant->fence,
                            .worker = worker->number,
                            .generation = worker->generation,
                            .is_far = worker->is_far,
                            .stage = STAGE_GRANTED,
                            .next_at_ms = sim->now_ms + pause_ms(sim),
                            .lease_ms = grant->lease_ms,
                            .counts_until_ms = call->asked_at_ms + grant->lease_ms,
                            .renew_at_ms = call->asked_at_ms + grant->lease_ms / 3,
                            .boot = sim->boot};
    tell(sim, x, "is granted");
}

/* ---- Keeping ------------------------------------------------------------------------------- */

static bool needs_renewal(const struct execution *x)
{
    return is_under_way(x) && x->worker != WORK_NOBODY && !x->is_lost;
}

static bool is_renewal_due(const struct sim *sim, const struct execution *x)
{
    return needs_renewal(x) && x->renew_at_ms <= sim->now_ms;
}

static void renew(struct sim *sim, struct execution *x, struct pawl_fence *fence)
{
    *fence = x->fence;
    /* if no answer comes: again after a quarter of what is left */
    int64_t wait_ms = (stops_at(x) - sim->now_ms) / 4;
    if (wait_ms < 5 || wait_ms > 1000) wait_ms = 1000;
    x->renew_at_ms = sim->now_ms + wait_ms;
}

/* When one is due, all leases of the worker together, as many as go into a call. */
static struct call *ask_renewal(struct sim *sim, struct worker *worker)
{
    struct execution *due[SIM_FENCES_MAX];
    struct execution *others[SIM_FENCES_MAX];
    size_t due_count = 0;
    size_t other_count = 0;
    for (struct execution *x = live_first(sim); x < end_of(sim); x++) {
        if (x->worker != worker->number || !needs_renewal(x)) continue;
        if (is_renewal_due(sim, x)) {
            if (due_count < SIM_FENCES_MAX) due[due_count++] = x;
        } else if (other_count < SIM_FENCES_MAX) {
            others[other_count++] = x;
        }
    }
    if (due_count == 0) return NULL;
    struct pawl_fence *fences = pawl_arena_take_array(sim->arena, SIM_FENCES_MAX, sizeof *fences);
    if (fences == NULL) abort();
    size_t count = 0;
    for (size_t i = 0; i < due_count; i++) renew(sim, due[i], &fences[count++]);
    for (size_t i = 0; i < other_count && count < SIM_FENCES_MAX; i++) {
        renew(sim, others[i], &fences[count++]);
    }
    struct call *call = call_make(sim, PAWL_COMMAND_RENEW, worker->number);
    call->command.ask.renew.fences = fences;
    call->command.ask.renew.count = count;
    return call;
}

void work_hear_renewal(struct sim *sim, struct worker *worker, const struct call *call,
                       const struct pawl_fence *fence, const struct letter_renewal *renewal)
{
    for (struct execution *x = live_first(sim); x < end_of(sim); x++) {
        bool is_meant = x->worker == worker->number && x->fence.epoch == fence->epoch &&
                        pawl_str_equal(x->fence.task_id, fence->task_id) && needs_renewal(x);
        if (!is_meant) continue;
        if (renewal->code != PAWL_OK) {
            x->is_lost = true;
            tell(sim, x, "its worker is told that the lease is lost");
            continue;
        }
        int64_t until_ms = call->asked_at_ms + renewal->lease_ms;
        if (until_ms > x->counts_until_ms) {
            x->counts_until_ms = until_ms;
            x->renew_at_ms = call->asked_at_ms + renewal->lease_ms / 3;
        }
        x->control = renewal->control;
    }
}

/* ---- Saying how it ended ------------------------------------------------------------------- */

static enum pawl_command_kind word_kind(struct sim *sim, const struct execution *x)
{
    bool is_up = sim->now_ms >= stops_at(x);
    if (x->is_lost || (is_up && happens(sim, 500))) {
        return happens(sim, 800) ? PAWL_COMMAND_STOPPED : PAWL_COMMAND_COMPLETE;
    }
    if (x->control == PAWL_CONTROL_PAUSE) return PAWL_COMMAND_PAUSE;
    if (x->control == PAWL_CONTROL_CANCEL) return PAWL_COMMAND_CANCEL;
    if (sim->is_calm) return PAWL_COMMAND_COMPLETE;
    int64_t dice = roll(sim, 1, 100);
    return dice <= 60   ? PAWL_COMMAND_COMPLETE
           : dice <= 85 ? PAWL_COMMAND_FAIL
                        : PAWL_COMMAND_RELEASE;
}

static struct call *ask_end(struct sim *sim, struct execution *x, enum pawl_command_kind kind)
{
    struct call *call = ask_word(sim, kind, x->worker, x->fence.task_id, &x->fence);
    if (kind == PAWL_COMMAND_CANCEL) call->command.ask.is_forced = false;
    return call;
}

static bool has_word_due(const struct sim *sim, const struct execution *x)
{
    return x->stage == STAGE_ENDED && x->next_at_ms <= sim->now_ms && is_awake(sim, x);
}

static bool say_end(struct sim *sim, struct engine *engine, struct execution *x)
{
    if (!has_word_due(sim, x)) return false;
    if (x->said++ >= SAYS_MAX && !sim->is_calm) {
        be_over(sim, x, "nobody has heard how it ended");
        return false;
    }
    if (x->word == NULL) x->word = ask_end(sim, x, word_kind(sim, x));
    x->next_at_ms = sim->now_ms + roll(sim, 50, 1000);
    net_hand_over(sim, engine, x->word);
    return true;
}

bool work_hear_word(struct sim *sim, const struct call *call, enum pawl_code code)
{
    for (struct execution *x = live_first(sim); x < end_of(sim); x++) {
        if (x->stage != STAGE_ENDED || x->word != call) continue;
        bool is_stopped = call->command.kind == PAWL_COMMAND_STOPPED;
        if (code == PAWL_STATE && is_stopped) { /* its lease held longer than it has counted */
            x->word = ask_end(sim, x, PAWL_COMMAND_RELEASE);
            x->next_at_ms = sim->now_ms;
        } else if (code == PAWL_LEASE_LOST && !is_stopped && happens(sim, 700)) {
            x->is_lost = true;
            x->word = ask_end(sim, x, PAWL_COMMAND_STOPPED);
            x->next_at_ms = sim->now_ms;
        } else if (code == PAWL_OK || code == PAWL_LEASE_LOST || code == PAWL_STATE ||
                   code == PAWL_NOT_FOUND) {
            be_over(sim, x, "has told how it ended");
        }
        return true;
    }
    return false;
}

/* A word on the way: progress, a checkpoint, a line. */
static bool say_something(struct sim *sim, struct engine *engine, struct execution *x)
{
    static const enum pawl_command_kind kinds[] = {PAWL_COMMAND_PROGRESS, PAWL_COMMAND_CHECKPOINT,
                                                   PAWL_COMMAND_LOG};
    bool may = x->stage == STAGE_WORKING && x->worker != WORK_NOBODY && is_awake(sim, x);
    if (!may || sim->is_calm || !happens(sim, 60)) return false;
    net_hand_over(sim, engine,
                  ask_word(sim, kinds[roll(sim, 0, 2)], x->worker, x->fence.task_id, &x->fence));
    return true;
}

bool work_has_words(const struct sim *sim)
{
    for (const struct execution *x = live_first(sim); x < end_of(sim); x++) {
        if ((is_renewal_due(sim, x) && is_awake(sim, x)) || has_word_due(sim, x)) return true;
    }
    return false;
}

int work_speak(struct sim *sim, struct engine *engine)
{
    enum { ROOM = 20 };
    int count = 0;
    for (int i = 0; i < sim->swarm.workers && sim->sent_count < SIM_SENT_MAX - ROOM; i++) {
        struct worker *worker = &sim->workers[i];
        if (worker->sleeps_until_ms > sim->now_ms && !sim->is_calm) continue;
        struct call *call = ask_renewal(sim, worker);
        if (call == NULL) continue;
        net_hand_over(sim, engine, call);
        count++;
    }
    for (struct execution *x = live_first(sim); x < end_of(sim); x++) {
        if (sim->sent_count >= SIM_SENT_MAX - ROOM) break;
        if (sim->call_count >= SIM_CALLS_MAX - ROOM) break;
        count += say_end(sim, engine, x) || say_something(sim, engine, x);
    }
    return count;
}

/* ---- Time ---------------------------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When the execution goes on or has something to say. */
static int64_t next_of(const struct sim *sim, const struct execution *x)
{
    int64_t own = INT64_MAX; /* needs its worker */
    if (x->stage != STAGE_WORKING) own = x->next_at_ms;
    if (x->stage == STAGE_WORKING && !x->has_command) own = sim->now_ms;
    if (x->has_command && !x->is_stopping) {
        own = x->is_lost || x->control != PAWL_CONTROL_NONE ? sim->now_ms : stops_at(x);
    }
    if (needs_renewal(x)) own = earlier(own, x->renew_at_ms);
    int64_t awake = awake_at(sim, x);
    if (own < awake) own = awake;
    return x->has_command ? earlier(own, x->command_ends_at_ms) : own;
}

int64_t work_next_at_ms(const struct sim *sim)
{
    int64_t next = INT64_MAX;
    for (const struct execution *x = live_first(sim); x < end_of(sim); x++) {
        if (x->stage != STAGE_OVER) next = earlier(next, next_of(sim, x));
    }
    return next;
}

void work_calm_down(struct sim *sim)
{
    for (struct execution *x = live_first(sim); x < end_of(sim); x++) {
        bool is_long = x->has_command && x->command_ends_at_ms > sim->now_ms + SOON_MS;
        if (is_long && x->worker != WORK_NOBODY) x->command_ends_at_ms = sim->now_ms + SOON_MS;
    }
}

/* ---- Death --------------------------------------------------------------------------------- */

void work_crash(struct sim *sim, struct worker *worker)
{
    for (struct execution *x = live_first(sim); x < end_of(sim); x++) {
        if (x->worker != worker->number || x->stage == STAGE_OVER) continue;
        x->has_hand = false;
        x->worker = WORK_NOBODY;
        if (x->has_command && happens(sim, sim->swarm.outlive)) {
            tell(sim, x, "its worker is killed, and its command lives on");
        } else {
            be_over(sim, x, "its worker is killed, and it ends with it");
        }
    }
}

void work_reboot(struct sim *sim)
{
    for (struct execution *x = live_first(sim); x < end_of(sim); x++) {
        if (x->is_far || x->stage == STAGE_OVER) continue;
        x->worker = WORK_NOBODY;
        be_over(sim, x, "its machine goes down");
    }
    for (int i = 0; i < sim->swarm.workers; i++) {
        struct worker *worker = &sim->workers[i];
        if (worker->is_far) continue;
        worker->generation++;
        net_forget(sim, worker);
    }
}
