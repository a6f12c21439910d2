/* Clocks, engines and what befalls them. All processes of one machine share its boot clock; a
 * reboot starts it anew and kills them all. An engine is a driven handle; its host calls it when it
 * has something to ask, and when the handle said it would be due. */
#include "net.h"
#include "work.h"

#include "base/error.h"
#include "store/handle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BOOT_BEGAN_MS = -5000,  /* the machine ran a little before the run */
    STEPS_OF_MOVE_MAX = 60, /* a call that needs more never ends */
    EVENTS_OF_ADVANCE_MAX = 60,
    CLOCK_READS_MS_MAX = 3,
    FROZEN_LOOK_MS_MAX =
        20000, /* long enough for others to give the task back, and lose it again */
};

/* ---- The outside world of an engine -------------------------------------------------------- */

static void pass_a_moment(struct sim *sim)
{
    if (sim->is_calm || !chance_of(&sim->chance, sim->swarm.slow_clock)) return;
    sim->now_ms += chance_from(&sim->chance, 1, CLOCK_READS_MS_MAX);
}

static int64_t env_wall_ms(void *self)
{
    struct engine *engine = self;
    struct sim *sim = engine->sim;
    return SIM_WALL_BASE_MS + sim->now_ms + sim->wall_shift_ms + sim->swarm.skew_ms[engine->number];
}

static int64_t env_boot_ms(void *self)
{
    struct engine *engine = self;
    pass_a_moment(engine->sim);
    return world_boot_ms(engine->sim);
}

static uint64_t env_random(void *self)
{
    return chance_next(&((struct engine *)self)->chance);
}

int64_t world_boot_ms(const struct sim *sim)
{
    return sim->now_ms - sim->boot_began_ms;
}

int64_t world_store_now_ms(const struct sim *sim)
{
    bool is_tied = pawl_str_equal(sim->after->boot_id, sim->boot_id);
    int64_t now_ms =
        is_tied ? sim->after->clock_offset_ms + world_boot_ms(sim) : sim->after->now_ms;
    return now_ms > sim->after->now_ms ? now_ms : sim->after->now_ms;
}

static void new_boot(struct sim *sim)
{
    sim->boot++;
    sim->boot_id = sim_text(sim, "boot-%d", sim->boot);
    sim->boot_began_ms = sim->now_ms - chance_from(&sim->chance, 1000, 60000);
}

/* ---- Faults at statements ------------------------------------------------------------------ */

/* Answers that have left before the death are promises. */
static void note_answers(struct sim *sim)
{
    for (int i = 0; i < sim->sent_count; i++) {
        struct sent *sent = &sim->sent[i];
        if (!sent->request.is_answered || sent->was_answered) continue;
        sent->was_answered = true;
        sent->code = sent->request.command.code;
    }
}

static enum pawl_code die(struct engine *engine, struct pawl_error *err)
{
    if (!engine->is_dead) note_answers(engine->sim);
    engine->is_dead = true;
    engine->sim->plan.has_struck = true;
    return pawl_error_set(err, PAWL_IO, "killed");
}

/* Whether the lock of an execution is held, as an engine sees it that looks for proof. */
static enum pawl_finding env_find_execution(void *self, struct pawl_str task_id, int64_t epoch)
{
    static const char *const names[] = {
        [PAWL_FINDING_STOPPED] = "has stopped",
        [PAWL_FINDING_ALIVE] = "is alive",
        [PAWL_FINDING_UNKNOWN] = "cannot be looked at",
    };
    struct engine *engine = self;
    struct sim *sim = engine->sim;
    struct plan *plan = &sim->plan;
    if (engine->is_dead) return PAWL_FINDING_UNKNOWN;
    sim->result->looks++;
    work_interleave(sim);
    if (plan->kind == PLAN_KILL_LOOK && sim->is_in_step && ++plan->looks == plan->at) {
        (void)die(engine, NULL);
        return PAWL_FINDING_UNKNOWN;
    }
    enum pawl_finding finding =
        work_is_locked(sim, task_id, epoch) ? PAWL_FINDING_ALIVE : PAWL_FINDING_STOPPED;
    if (!sim->is_calm && sim->is_in_step && chance_of(&sim->chance, sim->swarm.freeze_look)) {
        engine->frozen_until_ms = sim->now_ms + chance_from(&sim->chance, 100, FROZEN_LOOK_MS_MAX);
        sim_tell(sim, "engine %d stands still with what it finds until %" PRId64, engine->number,
                 engine->frozen_until_ms);
    }
    /* an operator who cannot look decides by himself: only engines fail here */
    if (!sim->is_calm && sim->is_in_step && chance_of(&sim->chance, sim->swarm.look_fails)) {
        finding = PAWL_FINDING_UNKNOWN;
    }
    int at = model_find(sim, task_id);
    struct look_lease lease = {.state = -1};
    (void)looker_task(&sim->looker, task_id, sim->arena, &lease);
    bool is_fenced = lease.state == PAWL_TASK_RECOVERY_PENDING && lease.epoch == epoch;
    /* a look before the fencing is committed proves nothing: the work may begin after it */
    if (finding == PAWL_FINDING_STOPPED && is_fenced) sim->models[at].stopped_epoch = epoch;
    pawl_hasher_add_int64(&sim->hasher, finding);
    sim_tell(sim, "engine %d finds: t%d.%" PRId64 " %s", engine->number, at, epoch, names[finding]);
    return finding;
}

static bool is_write(int32_t point)
{
    const char *sql = point < PAWL_SQL_COUNT ? pawl_sql_sqlite[point] : NULL;
    return sql != NULL && (strncmp(sql, "INSERT", 6) == 0 || strncmp(sql, "UPDATE", 6) == 0 ||
                           strncmp(sql, "DELETE", 6) == 0);
}

/* Without a fault no transaction that has written fails: what can be refused is refused before. */
static void watch_transaction(struct sim *sim, int32_t point)
{
    struct plan *plan = &sim->plan;
    if (point == PAWL_SQL_BEGIN_WRITE || point == PAWL_SQL_COMMIT) plan->has_written = false;
    if (is_write(point)) plan->has_written = true;
    if (point != PAWL_SQL_ROLLBACK) return;
    if (plan->has_written && !plan->has_struck && !sim->disk->has_struck) {
        sim_fault(sim, "a transaction failed in save though nothing was wrong with the store");
    }
    plan->has_written = false;
}

static enum pawl_code before_statement(void *self, int32_t point, struct pawl_error *err)
{
    struct engine *engine = self;
    struct sim *sim = engine->sim;
    struct plan *plan = &sim->plan;
    if (engine->is_dead) return pawl_error_set(err, PAWL_IO, "killed");
    if (sim->disk->is_dead) return die(engine, err);
    watch_transaction(sim, point);
    work_interleave(sim);
    if (point == PAWL_DB_AT_COMMITTED) {
        bool is_hit = ++plan->commits == plan->at;
        if (is_hit && plan->kind == PLAN_KILL_COMMIT) return die(engine, err);
        if (is_hit && plan->kind == PLAN_UNKNOWN) {
            plan->has_struck = true;
            return pawl_error_set(err, PAWL_UNKNOWN_OUTCOME, "the answer of the commit is lost");
        }
        return PAWL_OK;
    }
    if (point == PAWL_SQL_ROLLBACK || ++plan->points != plan->at) return PAWL_OK;
    if (plan->kind == PLAN_KILL) return die(engine, err);
    if (plan->kind == PLAN_ERROR) {
        plan->has_struck = true;
        return pawl_error_set(err, plan->code, "the statement fails, by plan");
    }
    return PAWL_OK;
}

void world_plan_fault(struct sim *sim)
{
    const struct swarm *swarm = &sim->swarm;
    const struct {
        int permille;
        enum plan_kind kind;
        int64_t at_max;
    } faults[] = {
        {swarm->kill, PLAN_KILL, 60},
        {swarm->kill_commit, PLAN_KILL_COMMIT, 2},
        {swarm->kill_write, PLAN_KILL_WRITE, 20},
        {swarm->power, PLAN_POWER, 20},
        {swarm->error, PLAN_ERROR, 60},
        {swarm->unknown, PLAN_UNKNOWN, 2},
        {swarm->disk_error, PLAN_DISK_ERROR, 20},
        {swarm->disk_full, PLAN_DISK_FULL, 20},
        {swarm->kill_look, PLAN_KILL_LOOK, 3},
    };
    sim->plan = (struct plan){0};
    for (size_t i = 0; i < sizeof faults / sizeof *faults && !sim->is_calm; i++) {
        if (!chance_of(&sim->chance, faults[i].permille)) continue;
        sim->plan.kind = faults[i].kind;
        sim->plan.at = (int)chance_from(&sim->chance, 1, faults[i].at_max);
        if (chance_of(&sim->chance, 500)) {
            sim->plan.at = (sim->plan.at + 3) / 4; /* early ones more often */
        }
        sim->plan.code = chance_of(&sim->chance, 300) ? PAWL_BUSY : PAWL_IO;
        return;
    }
}

static void arm_disk(struct sim *sim)
{
    struct disk *disk = sim->disk;
    const struct plan *plan = &sim->plan;
    disk_heal(disk);
    disk->has_struck = false;
    switch (plan->kind) {
    case PLAN_KILL_WRITE:
    case PLAN_POWER:
        disk_strike(disk, DISK_DIES, plan->at, INT64_MAX);
        break;
    case PLAN_DISK_ERROR:
        disk_strike(disk, DISK_FAILS, plan->at, 1);
        break;
    case PLAN_DISK_FULL:
        disk_strike(disk, DISK_IS_FULL, plan->at, chance_from(&sim->chance, 1, 40));
        break;
    case PLAN_NONE:
    case PLAN_ERROR:
    case PLAN_KILL:
    case PLAN_UNKNOWN:
    case PLAN_KILL_COMMIT:
    case PLAN_KILL_LOOK:
        break;
    }
}

/* ---- Engines ------------------------------------------------------------------------------- */

void world_open_engine(struct sim *sim, struct engine *engine)
{
    struct pawl_error err = {0};
    struct pawl_options options = PAWL_OPTIONS_INIT;
    engine->env = (struct pawl_env){.self = engine,
                                    .wall_ms = env_wall_ms,
                                    .boot_ms = env_boot_ms,
                                    .random = env_random,
                                    .boot_id = sim->boot_id,
                                    .host_id = sim->host_id,
                                    .place = work_place_near(sim),
                                    .find_execution = env_find_execution};
    options.store = pawl_str_of(sim->path);
    options.must_exist = true;
    options.driven = true;
    options.no_timers = !engine->has_timers;
    options.lease_ms = SIM_LEASE_MS;
    options.env = &engine->env;
    disk_heal(sim->disk);
    enum pawl_code code = pawl_open(&engine->pawl, &options, &err);
    if (code != PAWL_OK) {
        engine->pawl = NULL;
        sim_fault(sim, "engine %d does not open again: %s: %s", engine->number,
                  pawl_code_name(code), err.text);
        return;
    }
    engine->is_dead = false;
    engine->next_at_ms = sim->now_ms;
    sim_tell(sim, "engine %d opens%s", engine->number,
             engine->has_timers ? "" : ", without timers");
}

/* The locks of a killed process are freed, and its memory of the log goes with the last one. */
static void bury(struct sim *sim, struct engine *engine)
{
    pawl_close(engine->pawl);
    engine->pawl = NULL;
    engine->is_dead = false;
    engine->opens_at_ms = sim->now_ms + chance_from(&sim->chance, 0, 1500);
    bool has_others = false;
    for (int i = 0; i < sim->swarm.engines; i++) {
        has_others = has_others || sim->engines[i].pawl != NULL;
    }
    if (!has_others && sim->looker.db != NULL) {
        looker_close(&sim->looker); /* it is a process too: now the log has to be recovered */
        looker_open(&sim->looker, sim->path);
    }
}

void world_kill(struct sim *sim, struct engine *engine)
{
    if (engine->pawl == NULL) return;
    sim->result->kills++;
    bury(sim, engine);
    sim_tell(sim, "engine %d is killed", engine->number);
}

static void reboot(struct sim *sim, bool is_power_cut)
{
    for (int i = 0; i < sim->swarm.engines; i++) {
        if (sim->engines[i].pawl == NULL) continue;
        pawl_close(sim->engines[i].pawl);
        sim->engines[i].pawl = NULL;
        sim->engines[i].is_dead = false;
    }
    looker_close(&sim->looker);
    disk_heal(sim->disk);
    if (is_power_cut) {
        disk_cut_power(sim->disk);
        sim->result->power_cuts++;
        for (int i = 0; i < sim->model_count; i++) {
            const struct model *model = &sim->models[i];
            if (model->state == PAWL_TASK_RUNNING) sim->result->held_at_cuts[model->is_supervised]++;
        }
    }
    sim->now_ms += chance_from(&sim->chance, 0, 4000);
    work_reboot(sim);
    new_boot(sim);
    looker_open(&sim->looker, sim->path);
    for (int i = 0; i < sim->swarm.engines; i++) {
        sim->engines[i].opens_at_ms = sim->now_ms + chance_from(&sim->chance, 0, 1000);
    }
    sim_tell(sim, is_power_cut ? "the power is cut; %s" : "the machine reboots; %s",
             sim->boot_id.ptr);
}

/* Whoever holds a lock still holds it, where nobody finds it any more. */
static void lose_locks(struct sim *sim)
{
    sim->lock_file++;
    for (int i = 0; i < sim->swarm.engines; i++) sim->engines[i].env.place = work_place_near(sim);
    sim_tell(sim, "the file of the locks is removed, and another one is made");
}

struct engine *world_engine(struct sim *sim)
{
    int first = (int)chance_from(&sim->chance, 0, sim->swarm.engines - 1);
    for (int i = 0; i < sim->swarm.engines; i++) {
        struct engine *engine = &sim->engines[(first + i) % sim->swarm.engines];
        if (engine->pawl != NULL && (engine->frozen_until_ms <= sim->now_ms || sim->is_calm)) {
            return engine;
        }
    }
    return NULL;
}

/* ---- The step ------------------------------------------------------------------------------ */

static bool all_answered(const struct sim *sim)
{
    for (int i = 0; i < sim->sent_count; i++) {
        if (!sim->sent[i].request.is_answered) return false;
    }
    return true;
}

static void take_answers(struct sim *sim, const struct engine *engine)
{
    for (int i = 0; i < sim->sent_count; i++) {
        struct sent *sent = &sim->sent[i];
        if (!engine->is_dead && sent->request.is_answered) {
            sent->was_answered = true;
            sent->code = sent->request.command.code;
        }
        if (!sent->was_answered || sent->code == PAWL_UNKNOWN_OUTCOME) {
            sent->verdict = VERDICT_UNKNOWN;
        } else {
            sent->verdict = sent->code == PAWL_OK ? VERDICT_OK : VERDICT_REFUSED;
        }
    }
}

static void run_steps(struct sim *sim, struct engine *engine)
{
    sim->steps_of_move = 0;
    for (int i = 0; i < STEPS_OF_MOVE_MAX; i++) {
        struct pawl_error err = {0};
        struct pawl_db *db = pawl_store_db(engine->pawl->store);
        if (db != NULL) db->hook = (struct pawl_db_hook){before_statement, engine};
        int64_t next_boot_ms = INT64_MAX;
        sim->result->steps++;
        sim->steps_of_move++;
        if (pawl_step(engine->pawl, &next_boot_ms, &err) != PAWL_OK) {
            sim_fault(sim, "pawl_step fails: %s", err.text);
        }
        if (sim->disk->is_dead) (void)die(engine, NULL);
        sim->next_boot_ms = next_boot_ms;
        if (engine->is_dead || all_answered(sim)) return;
    }
    for (int i = 0; i < sim->sent_count; i++) {
        if (sim->sent[i].request.is_answered) continue;
        sim_fault(sim, "a call is not answered, however often the engine steps: %s",
                  call_text(sim, sim->sent[i].call));
        return;
    }
}

void world_step(struct sim *sim, struct engine *engine)
{
    if (!sim_holds(sim)) return;
    sim->move++;
    sim->stepped = engine;
    sim->boot_low_ms = world_boot_ms(sim);
    sim->boot_id_of_move = sim->boot_id;
    arm_disk(sim);
    sim->is_in_step = true;
    run_steps(sim, engine);
    sim->is_in_step = false;
    sim->boot_high_ms = world_boot_ms(sim);
    sim->was_killed = engine->is_dead;
    sim->had_fault = sim->plan.has_struck || sim->disk->has_struck;
    take_answers(sim, engine);
    for (int i = 0; i < sim->sent_count; i++) call_tell_answer(sim, engine, &sim->sent[i]);
    bool is_power_cut = engine->is_dead && sim->plan.kind == PLAN_POWER;
    /* What a process that died in a sync has left may be read by the next one and not be on the
     * disk yet. That it is lost then after all is a test of its own (fault_test.c); here the kernel
     * writes back in time. */
    if (!is_power_cut && (engine->is_dead || sim->had_fault)) disk_settle(sim->disk);
    if (is_power_cut) {
        sim->result->kills++;
        reboot(sim, true);
    } else if (engine->is_dead) {
        world_kill(sim, engine);
    } else {
        engine->next_at_ms =
            sim->next_boot_ms == INT64_MAX ? INT64_MAX : sim->next_boot_ms + sim->boot_began_ms;
        if (sim->had_fault) sim_tell(sim, "engine %d met a fault of the store", engine->number);
    }
    disk_heal(sim->disk);
    judge_move(sim);
    if (sim_holds(sim)) net_answer(sim);
    call_forget_sent(sim);
    if (sim_holds(sim)) work_go_on(sim);
}

/* ---- Time ---------------------------------------------------------------------------------- */

static struct engine *next_timer(struct sim *sim, int64_t to_ms)
{
    struct engine *first = NULL;
    for (int i = 0; i < sim->swarm.engines; i++) {
        struct engine *engine = &sim->engines[i];
        if (engine->pawl == NULL || engine->next_at_ms > to_ms || !engine->has_timers) continue;
        if (engine->frozen_until_ms > sim->now_ms) continue;
        if (first == NULL || engine->next_at_ms < first->next_at_ms) first = engine;
    }
    return first;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t world_people_next_at_ms(const struct sim *sim)
{
    return earlier(work_next_at_ms(sim), net_next_at_ms(sim));
}

/* What is done by itself at this instant is done; if somebody has something to say, to whom it may
 * concern. False if there is nobody. */
static bool let_people_go_on(struct sim *sim)
{
    work_go_on(sim);
    net_hear(sim);
    work_go_on(sim);
    if (!sim_holds(sim) || (!work_has_words(sim) && !net_has_posts(sim))) return true;
    struct engine *engine = world_engine(sim);
    if (engine == NULL || sim->call_count > SIM_CALLS_MAX - 100) return false;
    world_plan_fault(sim);
    net_deliver(sim, engine);
    (void)work_speak(sim, engine);
    if (sim->sent_count > 0) world_step(sim, engine);
    return true;
}

void world_advance(struct sim *sim, int64_t to_ms)
{
    for (int i = 0; i < EVENTS_OF_ADVANCE_MAX && sim_holds(sim); i++) {
        struct engine *engine = next_timer(sim, to_ms);
        int64_t people_at_ms = world_people_next_at_ms(sim);
        if (people_at_ms <= to_ms && (engine == NULL || people_at_ms < engine->next_at_ms)) {
            if (people_at_ms > sim->now_ms) sim->now_ms = people_at_ms;
            if (!let_people_go_on(sim)) break;
            continue;
        }
        if (engine == NULL) break;
        if (engine->next_at_ms > sim->now_ms) sim->now_ms = engine->next_at_ms;
        world_plan_fault(sim);
        net_deliver(sim, engine);
        world_step(sim, engine);
    }
    if (to_ms > sim->now_ms) sim->now_ms = to_ms;
    sim->disk->now_ms = SIM_WALL_BASE_MS + sim->now_ms;
    if (sim_holds(sim)) work_go_on(sim);
    if (sim_holds(sim)) net_hear(sim);
}

/* Nothing was asked: what was committed is all there. */
static void judge_quiet_move(struct sim *sim)
{
    sim->move++;
    sim->stepped = NULL;
    sim->was_killed = false;
    sim->boot_id_of_move = (struct pawl_str){0};
    judge_move(sim);
}

void world_reboot(struct sim *sim)
{
    reboot(sim, false);
    judge_quiet_move(sim);
}

static void step_wall(struct sim *sim)
{
    int64_t by_ms = chance_from(&sim->chance, -3600000, 3600000);
    sim->wall_shift_ms += by_ms;
    sim_tell(sim, "the wall clock steps by %" PRId64 " ms", by_ms);
}

void world_happen(struct sim *sim)
{
    const struct swarm *swarm = &sim->swarm;
    struct engine *engine = &sim->engines[chance_from(&sim->chance, 0, swarm->engines - 1)];
    if (chance_of(&sim->chance, swarm->wall_step)) step_wall(sim);
    if (chance_of(&sim->chance, swarm->suspend)) {
        int64_t by_ms = chance_from(&sim->chance, 1000, 100000);
        sim->now_ms += by_ms; /* the boot clock goes on in a suspended machine */
        sim_tell(sim, "the machine was suspended for %" PRId64 " ms", by_ms);
    }
    if (chance_of(&sim->chance, swarm->reboot)) {
        reboot(sim, sim->disk->keeps_safe && chance_of(&sim->chance, 500));
        judge_quiet_move(sim);
    }
    if (chance_of(&sim->chance, swarm->lose_locks)) lose_locks(sim);
    if (chance_of(&sim->chance, swarm->freeze)) {
        engine->frozen_until_ms = sim->now_ms + chance_from(&sim->chance, 100, 3000);
        sim_tell(sim, "engine %d is frozen until %" PRId64, engine->number,
                 engine->frozen_until_ms);
    }
    if (chance_of(&sim->chance, swarm->restart) && engine->pawl != NULL) {
        sim_tell(sim, "engine %d is closed in good order", engine->number);
        bury(sim, engine);
    }
    for (int i = 0; i < swarm->engines && sim_holds(sim); i++) {
        engine = &sim->engines[i];
        if (engine->pawl == NULL && (engine->opens_at_ms <= sim->now_ms || sim->is_calm)) {
            world_open_engine(sim, engine);
        }
    }
}

/* ---- Beginning and end --------------------------------------------------------------------- */

static void copy_out(struct disk *disk, const char *name, struct disk_bytes *out)
{
    const struct disk_file *file = disk_find(disk, name);
    if (file == NULL || file->seen.len == 0) return;
    *out = (struct disk_bytes){malloc(file->seen.len), file->seen.len, file->seen.len};
    if (out->ptr == NULL) abort();
    memcpy(out->ptr, file->seen.ptr, file->seen.len);
}

void ground_open(struct ground *ground, const char *folder)
{
    static struct sim birth; /* of a world in which only this store comes into being */
    *ground = (struct ground){0};
    disk_add(&ground->disk);
    (void)snprintf(ground->db_name, sizeof ground->db_name, "%s/store.db", folder);
    (void)snprintf(ground->wal_name, sizeof ground->wal_name, "%s/store.db-wal", folder);

    struct pawl *pawl = NULL;
    struct pawl_error err = {0};
    struct engine engine = {.sim = &birth};
    struct pawl_options options = PAWL_OPTIONS_INIT;
    birth = (struct sim){.boot_began_ms = BOOT_BEGAN_MS, .is_calm = true};
    engine.env = (struct pawl_env){.self = &engine,
                                   .wall_ms = env_wall_ms,
                                   .boot_ms = env_boot_ms,
                                   .random = env_random,
                                   .boot_id = PAWL_STR("boot-0"),
                                   .host_id = PAWL_STR("host")};
    options.store = pawl_str_of(ground->db_name);
    options.driven = true;
    options.env = &engine.env;
    if (pawl_open(&pawl, &options, &err) != PAWL_OK) {
        fprintf(stderr, "no store for the simulation: %s\n", err.text);
        abort();
    }
    pawl_close(pawl);
    copy_out(&ground->disk, ground->db_name, &ground->db);
    copy_out(&ground->disk, ground->wal_name, &ground->wal);
}

void ground_close(struct ground *ground)
{
    char turn_name[SIM_PATH_BYTES_MAX + 8];
    (void)snprintf(turn_name, sizeof turn_name, "%s-turn", ground->db_name);
    disk_remove(&ground->disk);
    (void)unlink(turn_name);
    (void)unlink(ground->db_name); /* an empty one, made before SQLite opens it */
    free(ground->db.ptr);
    free(ground->wal.ptr);
}

void world_open(struct sim *sim, struct ground *ground)
{
    const struct swarm *swarm = &sim->swarm;
    sim->disk = &ground->disk;
    disk_reset(sim->disk, chance_next(&sim->chance));
    sim->disk->keeps_safe = swarm->power > 0 || swarm->reboot > 0;
    disk_put(sim->disk, ground->db_name, ground->db.ptr, ground->db.len);
    disk_put(sim->disk, ground->wal_name, ground->wal.ptr, ground->wal.len);
    (void)sqlite3_test_control(SQLITE_TESTCTRL_PRNG_RESET); /* its salts are the run's own */
    (void)snprintf(sim->path, sizeof sim->path, "%s", ground->db_name);
    sim->boot_id = PAWL_STR("boot-0");
    sim->host_id = PAWL_STR("host");
    sim->boot_began_ms = BOOT_BEGAN_MS;
    if (chance_of(&sim->chance, 200)) new_boot(sim);
    looker_open(&sim->looker, sim->path);
    for (int i = 0; i < swarm->engines; i++) {
        sim->engines[i] = (struct engine){.sim = sim,
                                          .number = i,
                                          .chance = {chance_next(&sim->chance)},
                                          .has_timers = !swarm->has_no_timers[i],
                                          .next_at_ms = INT64_MAX};
        world_open_engine(sim, &sim->engines[i]);
    }
}

void world_close(struct sim *sim)
{
    for (int i = 0; i < sim->swarm.engines; i++) {
        pawl_close(sim->engines[i].pawl);
        sim->engines[i].pawl = NULL;
    }
    looker_close(&sim->looker);
}
