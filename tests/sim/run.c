/* One run: a seed becomes a swarm of people and faults; moves until the program is over; then the
 * faults stop, everybody behaves, and all that can end has to end. */
#include "flow.h"
#include "work.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARENA_BYTES_MAX = 64 * 1024 * 1024,
    CALM_QUIET_MOVES = 3, /* nothing to do and nothing due for so many: it is over */
};

/* ---- Chance -------------------------------------------------------------------------------- */

uint64_t chance_next(struct chance *chance)
{
    uint64_t z = chance->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

int64_t chance_from(struct chance *chance, int64_t min, int64_t max)
{
    return max <= min ? min : min + (int64_t)(chance_next(chance) % (uint64_t)(max - min + 1));
}

bool chance_of(struct chance *chance, int permille)
{
    return permille > 0 && chance_from(chance, 1, 1000) <= permille;
}

/* ---- Telling ------------------------------------------------------------------------------- */

struct pawl_str sim_text(struct sim *sim, const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t kept = len < 0 ? 0 : (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
    char *copy = pawl_arena_take(sim->arena, kept + 1);
    if (copy == NULL) abort();
    memcpy(copy, text, kept);
    return (struct pawl_str){copy, kept};
}

void sim_tell(struct sim *sim, const char *format, ...)
{
    if (sim->options->story == NULL) return;
    va_list args;
    va_start(args, format);
    fprintf(sim->options->story, "%9" PRId64 "  ", sim->now_ms);
    vfprintf(sim->options->story, format, args);
    fputc('\n', sim->options->story);
    va_end(args);
}

void sim_fault(struct sim *sim, const char *format, ...)
{
    if (!sim->result->holds) return;
    va_list args;
    va_start(args, format);
    vsnprintf(sim->result->fault, sizeof sim->result->fault, format, args);
    va_end(args);
    sim->result->holds = false;
}

void sim_tell_under_way(struct ground *ground)
{
    struct sim *sim = ground->running;
    if (sim == NULL || sim->options->story == NULL) return;
    sim_tell(sim, "under way when it died, on engine %d:",
             sim->stepped == NULL ? -1 : sim->stepped->number);
    for (int i = 0; i < sim->sent_count; i++) {
        sim_tell(sim, "  %s", call_text(sim, sim->sent[i].call));
    }
    fflush(sim->options->story);
}

/* ---- The swarm ----------------------------------------------------------------------------- */

/* Most runs have only some of the faults, and none of them all: what one hides another shows. */
static int rate(struct chance *chance, int exists, int max)
{
    return chance_of(chance, exists) ? (int)chance_from(chance, 1, max) : 0;
}

static void pick_actions(struct chance *chance, struct swarm *swarm)
{
    static const int weights[] = {0, 1, 1, 3, 8};
    for (int i = 0; i < ACTION_COUNT; i++) swarm->weights[i] = weights[chance_from(chance, 0, 4)];
    swarm->weights[ACT_ADD] += 3;
    swarm->weights[ACT_CLAIM] += 4;
    swarm->weights[ACT_COMPLETE] += 1;
    swarm->weights[ACT_REDRIVE] = swarm->weights[ACT_REDRIVE] > 1;
    swarm->weights[ACT_QUEUE_SET] = swarm->weights[ACT_QUEUE_SET] > 1;
    swarm->weights[ACT_READ_EVENTS] = 0;
    swarm->weights[ACT_ACKNOWLEDGE] = swarm->weights[ACT_ACKNOWLEDGE] > 3 ? 2 : 0;
}

static void pick_faults(struct chance *chance, struct swarm *swarm)
{
    swarm->kill = rate(chance, 300, 60);
    swarm->kill_commit = rate(chance, 250, 60);
    swarm->kill_write = rate(chance, 200, 60);
    swarm->power = rate(chance, 150, 30);
    swarm->error = rate(chance, 250, 80);
    swarm->unknown = rate(chance, 200, 40);
    swarm->disk_error = rate(chance, 200, 40);
    swarm->disk_full = rate(chance, 200, 40);
    swarm->reboot = rate(chance, 150, 20);
    swarm->restart = rate(chance, 200, 20);
    swarm->freeze = rate(chance, 300, 60);
    swarm->wall_step = rate(chance, 300, 50);
    swarm->suspend = rate(chance, 200, 30);
    swarm->worker_crash = rate(chance, 300, 60);
    swarm->worker_sleep = rate(chance, 400, 100);
    swarm->answer_lost = rate(chance, 400, 200);
    swarm->slow_clock = rate(chance, 150, 400);
}

static void pick_work(struct chance *chance, struct swarm *swarm)
{
    swarm->supervised = rate(chance, 700, 1000);
    swarm->interleave = rate(chance, 500, 150);
    swarm->kill_look = rate(chance, 250, 150);
    swarm->freeze_look = rate(chance, 200, 300);
    swarm->look_fails = rate(chance, 150, 500);
    swarm->watch = rate(chance, 600, 1000);
    swarm->outlive = rate(chance, 600, 1000);
    swarm->ignore_signals = rate(chance, 400, 600);
    swarm->slow_begin = rate(chance, 400, 700);
    swarm->long_command = rate(chance, 150, 200);
    swarm->far_workers = rate(chance, 250, 600);
    swarm->lose_locks = rate(chance, 150, 20);
    swarm->net_slow = rate(chance, 400, 600);
    swarm->net_lost = rate(chance, 250, 250);
    swarm->net_twice = rate(chance, 250, 200);
    swarm->net_cut = rate(chance, 250, 80);
}

static void pick_swarm(struct sim *sim)
{
    struct chance *chance = &sim->chance;
    struct swarm *swarm = &sim->swarm;
    /* one after the other: compilers are free to draw those of an initializer in any order */
    swarm->engines = (int)chance_from(chance, 1, SIM_ENGINES_MAX);
    swarm->workers = (int)chance_from(chance, 1, SIM_WORKERS_MAX);
    swarm->queues = (int)chance_from(chance, 1, SIM_QUEUES_MAX);
    swarm->moves = (int)chance_from(chance, 50, 180);
    swarm->group_max = (int)chance_from(chance, 1, 10);
    swarm->dependencies = rate(chance, 700, 500);
    swarm->few_tasks = rate(chance, 300, 900);
    if (chance_of(chance, 16)) {
        swarm->prelude = (enum prelude)chance_from(chance, 1, PRELUDE_HISTORY);
    }
    for (int i = 0; i < SIM_ENGINES_MAX; i++) {
        swarm->has_no_timers[i] = i > 0 && chance_of(chance, 200);
        swarm->skew_ms[i] = chance_of(chance, 300) ? chance_from(chance, -60000, 60000) : 0;
    }
    pick_actions(chance, swarm);
    pick_faults(chance, swarm);
    pick_work(chance, swarm);
    if (swarm->prelude != PRELUDE_NONE) swarm->moves = 45;
    if (swarm->prelude == PRELUDE_DEAD) swarm->weights[ACT_REDRIVE] = 3;
    if (sim->options->kills_more > 0) {
        swarm->kill += sim->options->kills_more;
        swarm->kill_commit += sim->options->kills_more;
        swarm->kill_write += sim->options->kills_more;
    }
    if (sim->options->cuts_power) swarm->power += 60;
    swarm->plays_workflows = sim->options->seed % 8 == 5;
    if (swarm->plays_workflows) swarm->weights[ACT_ACKNOWLEDGE] = 0; /* nobody reads events */
}

/* ---- Time ---------------------------------------------------------------------------------- */

/* An instant at which something of a task changes by itself, by the run's clock, or now. */
static int64_t any_instant(struct sim *sim)
{
    static const enum look_column instants[] = {LOOK_lease_end_at_ms, LOOK_due_at_ms,
                                                LOOK_attempt_end_at_ms, LOOK_control_deadline_at_ms,
                                                LOOK_ready_at_ms};
    const struct look *look = sim->after;
    for (int i = 0; i < 6 && look->task_count > 0; i++) {
        const struct look_task *task =
            &look->tasks[chance_from(&sim->chance, 0, look->task_count - 1)];
        int64_t at = task->at[instants[chance_from(&sim->chance, 0, 4)]];
        int64_t in_ms = at - world_store_now_ms(sim);
        if (at != 0 && in_ms >= 0 && in_ms < 60000) return sim->now_ms + in_ms;
    }
    return sim->now_ms;
}

static void pass_time(struct sim *sim)
{
    int64_t dice = chance_from(&sim->chance, 1, 100);
    int64_t to = sim->now_ms;
    if (dice <= 35) {
        to += 0;
    } else if (dice <= 65) {
        to += chance_from(&sim->chance, 1, 100);
    } else if (dice <= 85) {
        to = any_instant(sim);
        to += chance_from(&sim->chance, -1, 1);
    } else if (dice <= 97) {
        to += chance_from(&sim->chance, 100, 2500);
    } else {
        to += chance_from(&sim->chance, 2500, 20000);
    }
    world_advance(sim, to);
}

/* ---- The program --------------------------------------------------------------------------- */

static void play(struct sim *sim)
{
    for (int i = 0; i < sim->swarm.moves && sim_holds(sim); i++) {
        world_happen(sim);
        struct engine *engine = world_engine(sim);
        if (engine != NULL && sim_holds(sim)) {
            world_plan_fault(sim);
            if (sim->swarm.weights[ACT_ACKNOWLEDGE] > 0 && chance_of(&sim->chance, 60)) {
                people_read_events(sim, engine);
            } else {
                people_act(sim, engine);
                world_step(sim, engine);
            }
        }
        if (sim_holds(sim)) pass_time(sim);
    }
}

static int64_t next_of_all(const struct sim *sim)
{
    int64_t next = INT64_MAX;
    for (int i = 0; i < sim->swarm.engines; i++) {
        const struct engine *engine = &sim->engines[i];
        if (engine->has_timers && engine->next_at_ms < next) next = engine->next_at_ms;
    }
    return next;
}

/* Each engine has a turn, so that all of them know what comes next. */
static void let_all_step(struct sim *sim)
{
    for (int i = 0; i < sim->swarm.engines && sim_holds(sim); i++) {
        world_step(sim, &sim->engines[i]);
    }
}

static void calm_down(struct sim *sim)
{
    sim->is_calm = true;
    sim->plan = (struct plan){0};
    sim_tell(sim, "---- no faults any more; everybody behaves ----");
    work_calm_down(sim);
    if (sim->lock_file > 0) world_reboot(sim); /* else some of them could never be proved to have stopped */
    world_happen(sim);
    if (!sim_holds(sim)) return;
    people_resume_queues(sim, &sim->engines[0]);
    world_step(sim, &sim->engines[0]);
    int quiet = 0;
    while (sim_holds(sim) && quiet < CALM_QUIET_MOVES && sim->call_count < SIM_CALLS_MAX - 100) {
        bool had_work = people_work(sim, &sim->engines[0]);
        world_step(sim, &sim->engines[0]);
        if (had_work || sim->workers[0].held_count > 0) {
            quiet = 0;
            continue;
        }
        let_all_step(sim);
        int64_t next = next_of_all(sim);
        if (world_people_next_at_ms(sim) < next) next = world_people_next_at_ms(sim);
        if (next == INT64_MAX) {
            quiet++;
        } else {
            quiet = 0;
            world_advance(sim, next);
        }
    }
    if (sim_holds(sim) && quiet < CALM_QUIET_MOVES) {
        sim_fault(sim, "everybody behaves, and it does not come to rest");
    }
    if (sim_holds(sim)) judge_end(sim);
}

/* ---- All ----------------------------------------------------------------------------------- */

static void hash_rows(struct sim *sim)
{
    const struct look *look = sim->after;
    pawl_hasher_add_int64(&sim->hasher, look->position);
    pawl_hasher_add_int64(&sim->hasher, look->next_key);
    pawl_hasher_add_int64(&sim->hasher, look->now_ms);
    for (int i = 0; i < look->task_count; i++) {
        const struct look_task *task = &look->tasks[i];
        for (int c = 0; c < LOOK_COLUMN_COUNT; c++) {
            pawl_hasher_add_int64(&sim->hasher, task->at[c]);
        }
        for (int p = 0; p < 8; p++) {
            pawl_hasher_add_int64(&sim->hasher, (int64_t)task->payload_hashes[p]);
        }
        pawl_hasher_add_int64(&sim->hasher, task->lates);
    }
}

static void *take(size_t count, size_t size)
{
    void *ptr = calloc(count, size);
    if (ptr == NULL) abort();
    return ptr;
}

static void open_arena(struct pawl_arena **arena)
{
    if (pawl_arena_open(arena, ARENA_BYTES_MAX) != PAWL_OK) abort();
}

void sim_run(struct ground *ground, const struct sim_options *options, struct sim_result *result)
{
    static const uint64_t key[2] = {1, 2};
    struct sim *sim = take(1, sizeof *sim);
    *result = (struct sim_result){.holds = true};
    sim->options = options;
    sim->result = result;
    sim->chance.state = options->seed * UINT64_C(0xD1342543DE82EF95) + 1;
    open_arena(&sim->arena);
    open_arena(&sim->looks[0].arena);
    open_arena(&sim->looks[1].arena);
    sim->before = &sim->looks[0];
    sim->after = &sim->looks[0];
    sim->calls = take(SIM_CALLS_MAX, sizeof *sim->calls);
    sim->models = take(SIM_TASKS_MAX, sizeof *sim->models);
    sim->executions = take(SIM_EXECUTIONS_MAX, sizeof *sim->executions);
    sim->event_at_ms = take(SIM_POSITIONS_MAX, sizeof *sim->event_at_ms);
    for (int i = 0; i < SIM_CONSUMERS_MAX; i++) {
        sim->consumers[i].is_acknowledged = take(SIM_POSITIONS_MAX, sizeof(bool));
    }
    pawl_hasher_init(&sim->hasher, key);
    pick_swarm(sim);
    ground->running = sim;
    world_open(sim, ground);
    if (sim_holds(sim)) {
        people_open(sim);
        if (sim->swarm.plays_workflows) sim->flows = flow_open(sim);
        looker_read(&sim->looker, sim->after, 0);
        play(sim);
    }
    if (sim_holds(sim)) calm_down(sim);
    hash_rows(sim);
    result->hash = pawl_hasher_end(&sim->hasher);
    result->tasks = sim->model_count;
    result->executions = sim->execution_count;
    result->workflows = sim->after->workflow_count;
    if (!result->holds) sim_tell(sim, "BROKEN: %s", result->fault);
    world_close(sim);
    for (int i = 0; i < SIM_SENT_MAX; i++) {
        pawl_arena_close(sim->sent[i].keep);
        pawl_arena_close(sim->sent[i].scratch);
    }
    for (int i = 0; i < SIM_CONSUMERS_MAX; i++) free(sim->consumers[i].is_acknowledged);
    flow_close(sim->flows);
    free(sim->event_at_ms);
    free(sim->executions);
    free(sim->models);
    free(sim->calls);
    pawl_arena_close(sim->looks[0].arena);
    pawl_arena_close(sim->looks[1].arena);
    pawl_arena_close(sim->arena);
    ground->running = NULL;
    free(sim);
}
