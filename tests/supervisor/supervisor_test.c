/* Supervised execution: handlers in threads of their own, in the real world. What is waited for is
 * an event, with a bound far beyond what it takes. */
#include "base/arena.h"
#include "engine/stores.h"
#include "supervisor/supervisor.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    BOUND_MS = 30000,
    LEASE_MS = 4000, /* of tests in which a lease runs out: its margin is the largest share that can be */
    WORKS_MAX = 32,

    /* Of tests that see a lease renewed, and none lost: a machine may stand still for as long as it
     * likes. */
    KEPT_MS = 60 * 1000,
    RENEW_MS = 200,
};
#define KEPT .lease_ms = KEPT_MS, .renew_every_ms = RENEW_MS

static int64_t now_ms(clockid_t clock)
{
    struct timespec at;
    (void)clock_gettime(clock, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

#define UNTIL(condition)                                                             \
    do {                                                                             \
        int64_t until_ms_ = now_ms(CLOCK_MONOTONIC) + BOUND_MS;                      \
        while (!(condition)) {                                                       \
            if (now_ms(CLOCK_MONOTONIC) > until_ms_) FAIL("waited for " #condition); \
            (void)poll(NULL, 0, 2);                                                  \
        }                                                                            \
    } while (0)

/* Tells by how much it was too late. */
#define CHECK_BEFORE(end_at_ms, at_ms)                                                       \
    do {                                                                                     \
        int64_t late_ms_ = (at_ms) - (end_at_ms);                                            \
        if (late_ms_ >= 0) FAIL(#at_ms ": %lld ms after " #end_at_ms, (long long)late_ms_); \
    } while (0)

/* What a test and its handlers share. Handlers note, the test checks. */
struct stage {
    struct lab *lab;
    struct pawl_supervisor *supervisor;
    struct pawl_supervisor_options options;
    enum pawl_work_end (*_Atomic act)(struct stage *stage, struct pawl_work *work);
    _Atomic int entered;
    _Atomic int left;
    _Atomic int together; /* the most at a time */
    _Atomic int reason;   /* that the handler has seen last */
    _Atomic int told;     /* that on_stop has been told last */
    _Atomic int64_t told_token;
    _Atomic int64_t stopped_at_ms; /* by the wall clock */
    _Atomic bool is_open;          /* the gate of handlers that wait at it */
    _Atomic int code;              /* of what the handler has tried */
    _Atomic int64_t tokens[WORKS_MAX];
    _Atomic int64_t lease_end_at_ms;
    int hold_ms;           /* for how long the store is held */
    pthread_t holder;      /* lets it go again */
    _Atomic int64_t child; /* left behind by the handler */
};

static enum pawl_work_end handle(void *self, struct pawl_work *work)
{
    struct stage *stage = self;
    int before = atomic_fetch_add(&stage->entered, 1);
    int inside = before + 1 - atomic_load(&stage->left);
    if (inside > atomic_load(&stage->together)) atomic_store(&stage->together, inside);
    if (before < WORKS_MAX) atomic_store(&stage->tokens[before], pawl_work_token(work));
    atomic_store(&stage->lease_end_at_ms, pawl_work_grant(work)->lease_end_at_ms);
    enum pawl_work_end (*act)(struct stage *, struct pawl_work *) = atomic_load(&stage->act);
    enum pawl_work_end end = act(stage, work);
    atomic_fetch_add(&stage->left, 1);
    return end;
}

static void hear_stop(void *self, int64_t token, enum pawl_stop_reason reason)
{
    struct stage *stage = self;
    atomic_store(&stage->told_token, token);
    atomic_store(&stage->told, (int)reason);
}

/* Opens the lab's handle if need be, and a supervisor on it with what the test has set. */
static void start(struct stage *stage, struct lab *lab,
                  enum pawl_work_end (*act)(struct stage *, struct pawl_work *))
{
    stage->lab = lab;
    stage->act = act;
    if (lab->pawl == NULL) lab_open_real(lab);
    if (stage->options.worker_id.len == 0) stage->options.worker_id = PAWL_STR("w");
    stage->options.size = sizeof stage->options;
    stage->options.handler = handle;
    stage->options.on_stop = hear_stop;
    stage->options.self = stage;
    CHECK_OK(pawl_supervisor_start(lab->pawl, &stage->options, &stage->supervisor, &lab->err),
             &lab->err);
}

static void stop(struct stage *stage)
{
    atomic_store(&stage->is_open, true);
    pawl_supervisor_close(stage->supervisor);
}

static struct pawl *another(struct lab *lab)
{
    struct pawl_options options = lab_options(lab);
    options.driven = false;
    options.env = NULL;
    return lab_handle(lab, &options);
}

static enum pawl_task_state state_of(struct lab *lab, struct pawl_str id)
{
    return lab_get(lab, id).state;
}

static size_t in_hand(struct stage *stage)
{
    struct pawl_in_hands hands;
    CHECK_OK(pawl_supervisor_list(stage->supervisor, stage->lab->keep, &hands, &stage->lab->err),
             &stage->lab->err);
    return hands.count;
}

static size_t uncontained(struct stage *stage)
{
    struct pawl_in_hands hands;
    CHECK_OK(pawl_supervisor_list(stage->supervisor, stage->lab->keep, &hands, &stage->lab->err),
             &stage->lab->err);
    return hands.uncontained_count;
}

/* The lease of a task ends now, behind the back of who keeps it. */
static void expire(struct lab *lab, struct pawl_str id)
{
    struct pawl_str sql = pawl_arena_format(
        lab->keep, "UPDATE task SET lease_end_at_ms = 1, due_at_ms = 1 WHERE id = '%.*s'",
        PAWL_STR_ARG(id));
    (void)lab_sql(lab, sql.ptr);
    CHECK(pawl_task_progress(lab->pawl, id, 1, NULL, NULL) !=
          PAWL_OK); /* so that it is looked at */
}

/* How often a task was given back by recovery. */
static int recoveries(struct lab *lab, struct pawl_str id)
{
    struct pawl_events events = lab_history(lab, id);
    int count = 0;
    for (size_t i = 0; i < events.count; i++) {
        count += pawl_str_equal(events.events[i].action, PAWL_STR("recovery_requeued")) ? 1 : 0;
    }
    return count;
}

/* ---- What handlers do ---- */

static enum pawl_work_end complete(struct stage *stage, struct pawl_work *work)
{
    (void)stage;
    return pawl_work_complete(work, PAWL_STR("\"mine\""));
}

/* Waits by poll, as a handler would that waits for a socket too. */
static enum pawl_work_end wait_for_stop(struct stage *stage, struct pawl_work *work)
{
    struct pollfd fd = {.fd = pawl_work_stop_fd(work), .events = POLLIN};
    (void)poll(&fd, 1, BOUND_MS);
    atomic_store(&stage->stopped_at_ms, now_ms(CLOCK_REALTIME));
    atomic_store(&stage->reason, (int)pawl_work_stop_reason(work));
    return PAWL_WORK_STOPPED;
}

static enum pawl_work_end detach(struct stage *stage, struct pawl_work *work)
{
    (void)stage;
    (void)work;
    return PAWL_WORK_DETACHED;
}

/* Heeds nothing but the gate. */
static enum pawl_work_end wait_at_gate(struct stage *stage, struct pawl_work *work)
{
    for (int i = 0; i < BOUND_MS && !atomic_load(&stage->is_open); i++) (void)poll(NULL, 0, 1);
    atomic_store(&stage->reason, (int)pawl_work_stop_reason(work));
    return pawl_work_complete(work, PAWL_STR("\"mine\""));
}

/* Until its lease has been renewed twice, or is lost. */
/* One renewal may be the first one's accident; whoever renews four times renews for ever. */
enum { RENEWALS_SEEN = 4 };

static enum pawl_work_end see_renewals(struct stage *stage, struct pawl_work *work)
{
    struct pawl_arena *keep;
    int64_t end_at_ms = pawl_work_grant(work)->lease_end_at_ms;
    int renewals = 0;
    if (pawl_arena_open(&keep, 0) != PAWL_OK) return PAWL_WORK_FAILED;
    for (int i = 0; i < BOUND_MS && renewals < RENEWALS_SEEN; i++) {
        if (pawl_work_stop_reason(work) != PAWL_STOP_NONE) break;
        struct pawl_task task;
        pawl_arena_reset(keep);
        enum pawl_code code = pawl_task_get(stage->lab->pawl, pawl_work_grant(work)->fence.task_id,
                                            false, keep, &task, NULL);
        if (code == PAWL_OK && task.lease_end_at_ms > end_at_ms) {
            end_at_ms = task.lease_end_at_ms;
            renewals++;
        }
        (void)poll(NULL, 0, 1);
    }
    pawl_arena_close(keep);
    atomic_store(&stage->code, renewals);
    atomic_store(&stage->reason, (int)pawl_work_stop_reason(work));
    return pawl_work_complete(work, PAWL_STR("\"mine\""));
}

/* ---- Keeping ---- */

TEST_EACH_STORE(
    "T-042 T-038 case-B03 a lease is renewed again and again while its handler works; completion leaves nothing in hand")
{
    struct stage stage = {.options = {KEPT}};
    start(&stage, lab, see_renewals);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(state_of(lab, id) == PAWL_TASK_COMPLETED);
    UNTIL(in_hand(&stage) == 0);
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(RENEWALS_SEEN, atomic_load(&stage.code));
    CHECK_EQ(1, atomic_load(&stage.entered));
    CHECK_EQ(PAWL_STOP_NONE, atomic_load(&stage.reason));
    CHECK_STR("\"mine\"", task.result);
    CHECK_EQ(0, task.owner.len);
    CHECK_EQ(0, task.lease_end_at_ms);
    CHECK_EQ(0, task.retries);
    stop(&stage);
}

static _Atomic bool burns;

static void *burn(void *self)
{
    volatile uint64_t *count = self;
    while (atomic_load(&burns)) (*count)++;
    return NULL;
}

/* Never calls the library, never sleeps. */
static enum pawl_work_end burn_for_long(struct stage *stage, struct pawl_work *work)
{
    const char *text = getenv("PAWL_BURN_SECONDS");
    int64_t seconds = text != NULL && atol(text) > 0 ? atol(text) : 5;
    int64_t until_ms = now_ms(CLOCK_MONOTONIC) + seconds * SECOND_MS;
    volatile uint64_t count = 0;
    do {
        for (int i = 0; i < 1000000; i++) count++;
    } while (now_ms(CLOCK_MONOTONIC) < until_ms);
    atomic_store(&stage->reason, (int)pawl_work_stop_reason(work));
    return PAWL_WORK_COMPLETED;
}

TEST_EACH_STORE("T-050 case-B05 a handler that burns the CPU through many leases, on a machine "
                "whose cores are busy, "
                "is entered once")
{
    struct stage stage = {.options = {.lease_ms = 1000}};
    enum { BURNERS_MAX = 64 };
    pthread_t burners[BURNERS_MAX];
    static volatile uint64_t counts[BURNERS_MAX];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int burner_count = cores < BURNERS_MAX ? (int)cores : BURNERS_MAX; /* all of them are busy */
    atomic_store(&burns, true);
    for (int i = 0; i < burner_count; i++) {
        CHECK_EQ(0, pthread_create(&burners[i], NULL, burn, (void *)(uintptr_t)&counts[i]));
    }
    start(&stage, lab, burn_for_long);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.entered) > 0);
    while (atomic_load(&stage.left) == 0) (void)poll(NULL, 0, 20);
    atomic_store(&burns, false);
    UNTIL(state_of(lab, id) == PAWL_TASK_COMPLETED);
    CHECK_EQ(1, atomic_load(&stage.entered));
    CHECK_EQ(0, lab_get(lab, id).retries);
    CHECK_EQ(1, lab_get(lab, id).epoch);
    CHECK_EQ(PAWL_STOP_NONE, atomic_load(&stage.reason));
    for (int i = 0; i < burner_count; i++) CHECK_EQ(0, pthread_join(burners[i], NULL));
    stop(&stage);
}

TEST_EACH_STORE("T-052 intervals that do not leave the margin are refused, and name the field")
{
    struct pawl_supervisor *supervisor = NULL;
    struct pawl_supervisor_options options = PAWL_SUPERVISOR_OPTIONS_INIT;
    static const int64_t bad_ms[] = {-1, 60000, 90000, 54000};
    lab_open_real(lab);
    CHECK_REFUSED(PAWL_MISUSE, pawl_supervisor_start(lab->pawl, &options, &supervisor, &lab->err));
    options.handler = handle;
    for (size_t i = 0; i < COUNT_OF(bad_ms); i++) {
        options.lease_ms = 60000;
        options.renew_every_ms = bad_ms[i];
        CHECK_REFUSED(PAWL_INVALID,
                      pawl_supervisor_start(lab->pawl, &options, &supervisor, &lab->err));
        CHECK(strstr(lab->err.text, "renew_every_ms") != NULL);
    }
    options.renew_every_ms = 0;
    options.slots = PAWL_SUPERVISOR_SLOTS_MAX + 1;
    CHECK_REFUSED(PAWL_INVALID, pawl_supervisor_start(lab->pawl, &options, &supervisor, &lab->err));
    CHECK(strstr(lab->err.text, "slots") != NULL);
    options.slots = 0;
    options.detached_max = PAWL_DETACHED_MAX + 1;
    CHECK_REFUSED(PAWL_INVALID, pawl_supervisor_start(lab->pawl, &options, &supervisor, &lab->err));
    options.detached_max = 0;
    options.grace_ms = -2; /* -1 is PAWL_DELAY_NONE */
    CHECK_REFUSED(PAWL_INVALID, pawl_supervisor_start(lab->pawl, &options, &supervisor, &lab->err));
    options.grace_ms = 0;
    options.lease_ms = PAWL_LEASE_MS_MIN - 1;
    CHECK_REFUSED(PAWL_INVALID, pawl_supervisor_start(lab->pawl, &options, &supervisor, &lab->err));
    CHECK(supervisor == NULL);
    options.lease_ms = 60000;
    options.renew_every_ms = 53999;
    CHECK_OK(pawl_supervisor_start(lab->pawl, &options, &supervisor, &lab->err), &lab->err);
    pawl_supervisor_close(supervisor);
}

TEST_SQLITE("a supervisor is no thing for a driven handle")
{
    struct pawl_supervisor *supervisor = NULL;
    struct pawl_supervisor_options options = PAWL_SUPERVISOR_OPTIONS_INIT;
    options.handler = handle;
    lab_open(lab);
    CHECK_REFUSED(PAWL_MISUSE, pawl_supervisor_start(lab->pawl, &options, &supervisor, &lab->err));
}

TEST_EACH_STORE("a supervisor with all the slots there may be, more than a claim may take, claims and works")
{
    struct stage stage = {.options = {KEPT, .slots = PAWL_SUPERVISOR_SLOTS_MAX}};
    start(&stage, lab, complete);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(state_of(lab, id) == PAWL_TASK_COMPLETED);
    stop(&stage);
}

TEST_EACH_STORE("T-052 a lease of 100 ms works")
{
    struct stage stage = {.options = {.lease_ms = 100}};
    struct pawl_str id;
    start(&stage, lab, see_renewals);
    /* On a machine that stalls for longer than that such a lease is lost now and then. */
    do {
        id = lab_add(lab, NEW(.retry = {.max_retries = PAWL_RETRIES_NONE}));
        UNTIL(pawl_task_state_is_terminal(state_of(lab, id)));
    } while (state_of(lab, id) == PAWL_TASK_DEAD_LETTER);
    CHECK_EQ(PAWL_TASK_COMPLETED, state_of(lab, id));
    CHECK_EQ(RENEWALS_SEEN, atomic_load(&stage.code));
    stop(&stage);
}

static void *let_go_later(void *argument)
{
    struct stage *stage = argument;
    (void)poll(NULL, 0, stage->hold_ms);
    lab_let_go(stage->lab);
    return NULL;
}

TEST_EACH_STORE("T-048 D-11 a store that is busy for half the lease does not cost the lease")
{
    /* The first renewal comes while the store is held. */
    struct stage stage = {.options = {.lease_ms = 8000, .renew_every_ms = 1500}, .hold_ms = 4000};
    start(&stage, lab, see_renewals);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.entered) == 1);
    CHECK_EQ(PAWL_OK, lab_hold(lab));
    CHECK_EQ(0, pthread_create(&stage.holder, NULL, let_go_later, &stage));
    CHECK_EQ(0, pthread_join(stage.holder, NULL));
    UNTIL(state_of(lab, id) == PAWL_TASK_COMPLETED);
    CHECK_EQ(1, atomic_load(&stage.entered));
    CHECK_EQ(PAWL_STOP_NONE, atomic_load(&stage.reason));
    stop(&stage);
}

/* Opens the lab's handle so that it can be cut off from its store. On PostgreSQL as a role of its
 * own, named as the schema; it goes with the server. */
static void open_to_cut(struct lab *lab)
{
    char target[LAB_PATH_BYTES_MAX];
    (void)snprintf(target, sizeof target, "%s", lab->target);
    if (lab->store == LAB_POSTGRES) {
        (void)lab_sql(lab,
                      "DO 'BEGIN EXECUTE ''CREATE ROLE '' || current_setting(''search_path'') || "
                      "'' SUPERUSER LOGIN''; END'");
        int len = snprintf(lab->target, sizeof lab->target, "%.400s&user=lab_%s", target,
                           strrchr(lab->folder, '-') + 1);
        CHECK(len > 0 && (size_t)len < sizeof lab->target);
    }
    lab_open_real(lab);
    (void)snprintf(lab->target, sizeof lab->target, "%s", target);
}

/* Whoever is connected loses the server, and nobody gets in any more. What was under way when it
 * returns has been committed, or never will be. */
static void cut_off(struct lab *lab)
{
    if (lab->store == LAB_SQLITE) {
        CHECK_EQ(PAWL_OK, lab_hold(lab));
        return;
    }
    (void)lab_sql(lab, "DO 'BEGIN EXECUTE ''ALTER ROLE '' || current_setting(''search_path'') || "
                       "'' NOLOGIN''; END'");
    /* A process of the server ends when it comes to it. */
    UNTIL(strcmp(lab_sql(lab, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                              "WHERE usename = trim('\"' FROM current_setting('search_path'))"),
                 "0") == 0);
}

static void let_in(struct lab *lab)
{
    lab_let_go(lab);
    if (lab->store == LAB_SQLITE) return;
    (void)lab_sql(lab, "DO 'BEGIN EXECUTE ''ALTER ROLE '' || current_setting(''search_path'') || "
                       "'' LOGIN''; END'");
}

struct call {
    struct stage *stage;
    struct pawl_str id;
    enum pawl_code code;
};

static void *call_run_one(void *argument)
{
    struct call *call = argument;
    call->code = pawl_supervisor_run_one(call->stage->supervisor, call->id, NULL, NULL);
    return NULL;
}

TEST_EACH_STORE("T-049 a store that cannot be reached stops the work before its lease has ended")
{
    struct stage stage = {.options = {.lease_ms = LEASE_MS, .claims_nothing = true}};
    struct stage next = {.options = {.worker_id = PAWL_STR("v"), .claims_nothing = true}};
    pthread_t caller;
    open_to_cut(lab);
    start(&stage, lab, wait_for_stop);
    struct call call = {.stage = &stage, .id = lab_add(lab, NEW())};
    CHECK_EQ(0, pthread_create(&caller, NULL, call_run_one, &call));
    UNTIL(atomic_load(&stage.entered) == 1);
    cut_off(lab);
    UNTIL(atomic_load(&stage.left) == 1);
    int64_t end_at_ms = atoll(lab_sql(lab, "SELECT lease_end_at_ms FROM task"));
    CHECK_EQ(PAWL_STOP_LOST, atomic_load(&stage.reason));
    CHECK_BEFORE(end_at_ms, atomic_load(&stage.stopped_at_ms));
    UNTIL(atomic_load(&stage.told) == PAWL_STOP_LOST); /* the handler may be faster than the hook */
    let_in(lab);
    CHECK_EQ(0, pthread_join(caller, NULL));
    CHECK_CODE(PAWL_LEASE_LOST, call.code);
    UNTIL(state_of(lab, call.id) == PAWL_TASK_QUEUED);
    CHECK_EQ(1, lab_get(lab, call.id).retries);
    CHECK_EQ(1, recoveries(lab, call.id));
    start(&next, lab, complete);
    CHECK_OK(pawl_supervisor_run_one(next.supervisor, call.id, NULL, &lab->err), &lab->err);
    CHECK_EQ(PAWL_TASK_COMPLETED, state_of(lab, call.id));
    stop(&next);
    stop(&stage);
}

/* How long a call takes that waits for a store that is held. */
static int64_t renewal_took_ms(struct lab *lab, const struct pawl_fence *fence, int64_t try_ms)
{
    struct pawl_renewal answer;
    int64_t from_ms = now_ms(CLOCK_BOOTTIME);
    CHECK_CODE(PAWL_BUSY, pawl_engine_renew_by(lab->pawl, fence, 1, from_ms + try_ms, &answer, &lab->err));
    return now_ms(CLOCK_BOOTTIME) - from_ms;
}

TEST_EACH_STORE("D-62 a try of a renewal that waits for others is given up when its time is over")
{
    enum { FIRST_MS = 200, SECOND_MS_MORE = 1500 };
    lab_open_real(lab);
    struct pawl_fence fence = lab_start(lab, lab_add(lab, NEW(.timeout_ms = 0)), "w");
    CHECK_EQ(PAWL_OK, lab_hold(lab));
    int64_t first_ms = renewal_took_ms(lab, &fence, FIRST_MS);
    int64_t second_ms = renewal_took_ms(lab, &fence, SECOND_MS_MORE);
    lab_let_go(lab);
    CHECK(first_ms >= FIRST_MS);
    CHECK(second_ms >= SECOND_MS_MORE);
    /* what each store waits by itself is 5 s; two calls, and a machine that stands still now and then */
    CHECK(first_ms < PAWL_TURN_WAIT_MS_MAX || second_ms < PAWL_TURN_WAIT_MS_MAX);
    struct pawl_renewal answer;
    CHECK_OK(pawl_engine_renew_by(lab->pawl, &fence, 1, now_ms(CLOCK_BOOTTIME) + BOUND_MS, &answer, &lab->err),
             &lab->err);
    CHECK_EQ(PAWL_OK, answer.code);
}

/* Processes of the server for the lab's handles, by what they have been asked last. */
#define OF_LAB "FROM pg_stat_activity WHERE usename = trim('\"' FROM current_setting('search_path')) AND "

TEST_POSTGRES("D-62 a server that has fallen silent costs a try of a renewal, and not the lease")
{
    struct stage stage = {.options = {.lease_ms = 12000, .renew_every_ms = RENEW_MS, .claims_nothing = true}};
    pthread_t caller;
    open_to_cut(lab);
    start(&stage, lab, see_renewals);
    /* Both handles have connected, and their bells; the keeper's came last. */
    UNTIL(strcmp(lab_sql(lab, "SELECT count(*) " OF_LAB "position('LISTEN' IN query) > 0"), "2") == 0);
    pid_t silent = (pid_t)atoll(lab_sql(lab, "SELECT pid " OF_LAB "position('LISTEN' IN query) = 0 "
                                             "ORDER BY backend_start DESC LIMIT 1"));
    CHECK(silent > 1);
    CHECK_EQ(0, kill(silent, SIGSTOP));
    struct call call = {.stage = &stage, .id = lab_add(lab, NEW())};
    CHECK_EQ(0, pthread_create(&caller, NULL, call_run_one, &call));
    CHECK_EQ(0, pthread_join(caller, NULL));
    CHECK_EQ(0, kill(silent, SIGCONT)); /* it was there, and silent, all the time */
    CHECK_CODE(PAWL_OK, call.code);
    CHECK_EQ(PAWL_TASK_COMPLETED, state_of(lab, call.id));
    CHECK_EQ(PAWL_STOP_NONE, atomic_load(&stage.reason));
    stop(&stage);
}

static int64_t shifted_wall_ms(void *self)
{
    return now_ms(CLOCK_REALTIME) + atomic_load((_Atomic int64_t *)self);
}

static int64_t real_boot_ms(void *self)
{
    (void)self;
    return now_ms(CLOCK_BOOTTIME);
}

static uint64_t counted(void *self)
{
    return (uint64_t)atomic_load((_Atomic int64_t *)self) + (uint64_t)now_ms(CLOCK_BOOTTIME) * 4;
}

TEST_EACH_STORE("T-106 with the wall clock stepped by an hour, both ways, no live lease is lost "
                "and no dead one kept")
{
    static const int64_t steps_ms[] = {3600 * SECOND_MS, -3600 * SECOND_MS};
    for (size_t i = 0; i < COUNT_OF(steps_ms); i++) {
        _Atomic int64_t shift_ms = 0;
        struct stage stage = {.options = {KEPT}};
        struct pawl_options options = lab_options(lab);
        struct pawl_env env = {.self = &shift_ms,
                               .wall_ms = shifted_wall_ms,
                               .boot_ms = real_boot_ms,
                               .random = counted,
                               .boot_id = PAWL_STR("this boot"),
                               .host_id = PAWL_STR("host-1")};
        options.driven = false;
        options.env = &env;
        lab->pawl = lab_handle(lab, &options);
        struct pawl_str dead = lab_add(lab, NEW(.queue = PAWL_STR("dead")));
        struct pawl_claim *ask = CLAIM(.worker_id = PAWL_STR("gone"), .lease_ms = LEASE_MS);
        struct pawl_grant grant;
        CHECK_OK(pawl_task_start(lab->pawl, dead, ask, lab->keep, &grant, &lab->err), &lab->err);
        start(&stage, lab, see_renewals);
        struct pawl_str live = lab_add(lab, NEW());
        UNTIL(atomic_load(&stage.entered) == 1);
        atomic_store(&shift_ms, steps_ms[i]);
        UNTIL(state_of(lab, live) == PAWL_TASK_COMPLETED);
        CHECK_EQ(1, atomic_load(&stage.entered));
        CHECK_EQ(RENEWALS_SEEN, atomic_load(&stage.code));
        UNTIL(state_of(lab, dead) == PAWL_TASK_QUEUED);
        CHECK_EQ(1, lab_get(lab, dead).retries);
        stop(&stage);
        pawl_close(lab->pawl);
        lab->pawl = NULL;
    }
}

/* ---- Fences ---- */

TEST_EACH_STORE("T-027 T-028 T-030 a task in hand is nobody else's: not by start, not by its "
                "worker's name, not by "
                "having none")
{
    struct stage stage = {0};
    struct pawl_grant grant;
    start(&stage, lab, wait_at_gate);
    struct pawl *other = another(lab);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.entered) == 1);
    int64_t version = lab_get(lab, id).version;
    CHECK_REFUSED(PAWL_LEASE_ACTIVE, pawl_task_start(other, id, CLAIM(.worker_id = PAWL_STR("w")),
                                                     lab->keep, &grant, &lab->err));
    struct pawl_fence fence = {id, PAWL_STR("w"), 2};
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_checkpoint(other, id, 1, PAWL_STR("{}"),
                                                        CHANGE(.fence = &fence), &lab->err));
    CHECK_REFUSED(PAWL_LEASE_LOST,
                  pawl_task_checkpoint(other, id, 1, PAWL_STR("{}"), NULL, &lab->err));
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(other, id, NO_TEXT, NULL, &lab->err));
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_progress(other, id, 50, NULL, &lab->err));
    fence = (struct pawl_fence){id, PAWL_STR("stranger"), 1};
    CHECK_REFUSED(PAWL_LEASE_LOST,
                  pawl_task_complete(other, id, NO_TEXT, CHANGE(.fence = &fence), &lab->err));
    CHECK_EQ(version, lab_get(lab, id).version);
    struct pawl_checkpoints checkpoints;
    CHECK_OK(pawl_task_checkpoints(other, id, lab->keep, &checkpoints, &lab->err), &lab->err);
    CHECK_EQ(0, checkpoints.count);
    pawl_close(other);
    stop(&stage);
    CHECK_EQ(PAWL_TASK_COMPLETED, state_of(lab, id));
}

/* Waits for the loss, then tries to have its way all the same. */
static enum pawl_work_end insist(struct stage *stage, struct pawl_work *work)
{
    (void)wait_for_stop(stage, work);
    const struct pawl_fence *fence = &pawl_work_grant(work)->fence;
    struct pawl_change change = {.size = sizeof change, .fence = fence};
    struct pawl_renewal renewal = {0};
    enum pawl_code code =
        pawl_task_complete(stage->lab->pawl, fence->task_id, PAWL_STR("\"late\""), &change, NULL);
    if (code == PAWL_LEASE_LOST) code = pawl_work_progress(work, 50, NULL);
    if (code == PAWL_LEASE_LOST)
        code = pawl_lease_renew(stage->lab->pawl, fence, 1, 0, &renewal, NULL);
    atomic_store(&stage->code, (int)(code == PAWL_OK ? renewal.code : PAWL_OK));
    return pawl_work_complete(work, PAWL_STR("\"mine\""));
}

TEST_EACH_STORE("T-039 T-040 a lost lease stops its handler, whose late words are refused; "
                "the next owner's stand")
{
    struct stage stage = {.options = {KEPT}};
    struct stage next = {.options = {.worker_id = PAWL_STR("v"), .claims_nothing = true}};
    start(&stage, lab, insist);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.entered) == 1);
    CHECK_OK(
        pawl_queue_set(lab->pawl, QUEUE_SET(.name = PAWL_STR("default"), .pause = 1), &lab->err),
        &lab->err);
    expire(lab, id);
    UNTIL(atomic_load(&stage.left) == 1);
    CHECK_EQ(PAWL_STOP_LOST, atomic_load(&stage.reason));
    CHECK_EQ(PAWL_LEASE_LOST, atomic_load(&stage.code));
    UNTIL(state_of(lab, id) == PAWL_TASK_QUEUED);
    UNTIL(in_hand(&stage) == 0);
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(0, task.owner.len);
    CHECK_EQ(1, task.retries);
    CHECK_EQ(1, recoveries(lab, id));
    struct pawl_late_results late;
    CHECK_OK(pawl_task_late_results(lab->pawl, id, lab->keep, &late, &lab->err), &lab->err);
    CHECK_EQ(1, late.count);
    CHECK_STR("\"late\"", late.results[0].body);

    start(&next, lab, complete);
    enum pawl_work_end end;
    CHECK_OK(pawl_supervisor_run_one(next.supervisor, id, &end, &lab->err), &lab->err);
    CHECK_EQ(PAWL_WORK_COMPLETED, end);
    task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_COMPLETED, task.state);
    CHECK_STR("\"mine\"", task.result);
    stop(&next);
    stop(&stage);
}

/* Given to somebody else behind the back of who works on it: forced, since the work goes on. */
static struct pawl_fence give_to_other(struct lab *lab, struct pawl_str id)
{
    struct pawl_grant grant;
    expire(lab, id);
    CHECK_OK(pawl_task_resolve(lab->pawl, id, PAWL_TASK_QUEUED, NO_TEXT, CHANGE(.is_forced = true),
                               &lab->err),
             &lab->err);
    CHECK_OK(pawl_task_start(lab->pawl, id, CLAIM(.worker_id = PAWL_STR("other")), lab->keep,
                             &grant, &lab->err),
             &lab->err);
    return grant.fence;
}

static size_t late_count(struct lab *lab, struct pawl_str id)
{
    struct pawl_late_results late;
    CHECK_OK(pawl_task_late_results(lab->pawl, id, lab->keep, &late, &lab->err), &lab->err);
    return late.count;
}

static void complete_by(struct lab *lab, struct pawl_fence fence)
{
    CHECK_EQ(PAWL_TASK_RUNNING, state_of(lab, fence.task_id));
    CHECK_OK(pawl_task_complete(lab->pawl, fence.task_id, PAWL_STR("\"other\""),
                                CHANGE(.fence = &fence), &lab->err),
             &lab->err);
    CHECK_STR("\"other\"", lab_get(lab, fence.task_id).result);
}

TEST_EACH_STORE(
    "T-044 a task that somebody else was given just before completion is the other one's: the "
    "store refuses the completion, before any renewal was due")
{
    struct stage stage = {.options = {.claims_nothing = true, .lease_ms = 3600 * SECOND_MS}};
    pthread_t caller;
    start(&stage, lab, wait_at_gate);
    struct call call = {.stage = &stage, .id = lab_add(lab, NEW())};
    CHECK_EQ(0, pthread_create(&caller, NULL, call_run_one, &call));
    UNTIL(atomic_load(&stage.entered) == 1);
    struct pawl_fence other = give_to_other(lab, call.id);
    atomic_store(&stage.is_open, true);
    CHECK_EQ(0, pthread_join(caller, NULL));
    CHECK_EQ(PAWL_STOP_NONE, atomic_load(&stage.reason));
    CHECK_CODE(PAWL_LEASE_LOST, call.code);
    CHECK_EQ(1, late_count(lab, call.id)); /* it was told, and refused */
    complete_by(lab, other);
    stop(&stage);
}

/* Ends with a result, though it was told to stop. */
static enum pawl_work_end complete_when_told(struct stage *stage, struct pawl_work *work)
{
    (void)wait_for_stop(stage, work);
    return pawl_work_complete(work, PAWL_STR("\"mine\""));
}

TEST_EACH_STORE(
    "T-044 T-047 a task that somebody else was given, as a renewal finds: its handler ends "
    "with a result when it is told, and has lost")
{
    struct stage stage = {.options = {.claims_nothing = true, KEPT}};
    pthread_t caller;
    start(&stage, lab, complete_when_told);
    struct call call = {.stage = &stage, .id = lab_add(lab, NEW())};
    CHECK_EQ(0, pthread_create(&caller, NULL, call_run_one, &call));
    UNTIL(atomic_load(&stage.entered) == 1);
    struct pawl_fence other = give_to_other(lab, call.id);
    CHECK_EQ(0, pthread_join(caller, NULL));
    CHECK_EQ(PAWL_STOP_LOST, atomic_load(&stage.reason));
    CHECK_CODE(PAWL_LEASE_LOST, call.code);
    CHECK_EQ(0, late_count(lab, call.id)); /* nothing was told any more */
    complete_by(lab, other);
    stop(&stage);
}

TEST_EACH_STORE("T-120 completions of an older attempt change nothing; the last 8 are kept and "
                "counted, a repeat is none")
{
    struct pawl_health health;
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence old = lab_start(lab, id, "w");
    lab_pass(lab, 60 * SECOND_MS); /* its lease */
    struct pawl_fence held = lab_start(lab, id, "v");
    CHECK_EQ(1, lab_get(lab, id).retries);
    int64_t version = lab_get(lab, id).version;
    for (int i = 0; i < 20; i++) {
        struct pawl_str result = pawl_arena_format(lab->keep, "%d", i / 2);
        CHECK_REFUSED(PAWL_LEASE_LOST,
                      pawl_task_complete(lab->pawl, id, result, CHANGE(.fence = &old), &lab->err));
    }
    struct pawl_late_results late;
    CHECK_OK(pawl_task_late_results(lab->pawl, id, lab->keep, &late, &lab->err), &lab->err);
    CHECK_EQ(8, late.count);
    CHECK_STR("2", late.results[0].body);
    CHECK_STR("9", late.results[7].body);
    CHECK_EQ(old.epoch, late.results[7].epoch);
    CHECK_STR("w", late.results[7].owner);
    CHECK_OK(pawl_health(lab->pawl, lab->keep, &health, &lab->err), &lab->err);
    CHECK_EQ(8, health.late_results);
    CHECK_EQ(version, lab_get(lab, id).version);
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, id).state);
    CHECK_OK(pawl_task_complete(lab->pawl, id, PAWL_STR("1"), CHANGE(.fence = &held), &lab->err),
             &lab->err);
}

/* Its lease is lost at its margin, for want of a renewal; in the store it goes on. Ends with a
 * result then, and only then can the store be changed again. */
static enum pawl_work_end complete_at_margin(struct stage *stage, struct pawl_work *work)
{
    atomic_store(&stage->code, (int)lab_hold(stage->lab));
    (void)wait_for_stop(stage, work);
    lab_let_go(stage->lab);
    return pawl_work_complete(work, PAWL_STR("\"mine\""));
}

TEST_EACH_STORE(
    "T-047 a handler that ends at the instant its lease is given up has lost, though the store "
    "would still take its result")
{
    struct stage stage = {.options = {.claims_nothing = true, .lease_ms = 3 * SECOND_MS}};
    start(&stage, lab, complete_at_margin);
    struct pawl_str id = lab_add(lab, NEW());
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_supervisor_run_one(stage.supervisor, id, NULL, &lab->err));
    CHECK_EQ(PAWL_OK, atomic_load(&stage.code));
    CHECK_EQ(PAWL_STOP_LOST, atomic_load(&stage.reason));
    CHECK_EQ(0, lab_get(lab, id).result.len);
    CHECK_EQ(0, late_count(lab, id)); /* had it been told, it would be there or late */
    UNTIL(state_of(lab, id) == PAWL_TASK_QUEUED);
    CHECK_EQ(1, recoveries(lab, id));
    stop(&stage);
}

static enum pawl_work_end lose_and_complete(struct stage *stage, struct pawl_work *work)
{
    const struct pawl_fence *fence = &pawl_work_grant(work)->fence;
    enum pawl_code code = pawl_task_cancel(stage->lab->pawl, fence->task_id, true, NULL, NULL);
    atomic_store(&stage->code, (int)code);
    return pawl_work_complete(work, PAWL_STR("\"mine\""));
}

TEST_EACH_STORE("a handler that ends as its lease is taken from it has lost")
{
    struct stage stage = {.options = {.claims_nothing = true}};
    enum pawl_work_end end = PAWL_WORK_YIELDED;
    start(&stage, lab, lose_and_complete);
    struct pawl_str id = lab_add(lab, NEW());
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_supervisor_run_one(stage.supervisor, id, &end, &lab->err));
    CHECK_EQ(PAWL_WORK_YIELDED, end);
    CHECK_EQ(PAWL_OK, atomic_load(&stage.code));
    CHECK_EQ(PAWL_TASK_CANCELLED, state_of(lab, id));
    CHECK_EQ(0, lab_get(lab, id).result.len);
    stop(&stage);
}

static enum pawl_work_end swallow(struct stage *stage, struct pawl_work *work)
{
    (void)wait_for_stop(stage, work);
    atomic_store(&stage->code, (int)pawl_work_progress(work, 80, NULL));
    return wait_at_gate(stage, work);
}

TEST_EACH_STORE("T-045 T-046 D-08 a handler that does not stop is uncontained and takes up its "
                "slot; others go on; when it "
                "ends, its task is queued exactly once")
{
    struct stage stage = {.options = {KEPT, .slots = 2, .grace_ms = PAWL_DELAY_NONE}};
    start(&stage, lab, swallow);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.entered) == 1);
    expire(lab, id);
    UNTIL(uncontained(&stage) == 1);
    UNTIL(atomic_load(&stage.code) == PAWL_LEASE_LOST);
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, state_of(lab, id));
    stage.act = complete;
    struct pawl_str others[3];
    for (size_t i = 0; i < COUNT_OF(others); i++) others[i] = lab_add(lab, NEW());
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        UNTIL(state_of(lab, others[i]) == PAWL_TASK_COMPLETED);
    }
    CHECK_EQ(2, atomic_load(&stage.together));
    CHECK_EQ(1, uncontained(&stage));
    CHECK_OK(
        pawl_queue_set(lab->pawl, QUEUE_SET(.name = PAWL_STR("default"), .pause = 1), &lab->err),
        &lab->err);
    CHECK_REFUSED(PAWL_TIMEOUT, pawl_supervisor_stop(stage.supervisor, 0, &lab->err));
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, state_of(lab, id));
    CHECK_EQ(0, recoveries(lab, id));
    atomic_store(&stage.is_open, true);
    UNTIL(in_hand(&stage) == 0);
    UNTIL(state_of(lab, id) == PAWL_TASK_QUEUED);
    CHECK_EQ(1, recoveries(lab, id));
    CHECK_EQ(1, lab_get(lab, id).retries);
    CHECK_EQ(0, uncontained(&stage));
    stop(&stage);
    CHECK_EQ(1, recoveries(lab, id));
}

/* ---- Ends ---- */

static enum pawl_work_end fail(struct stage *stage, struct pawl_work *work)
{
    bool is_final = atomic_load(&stage->is_open);
    return pawl_work_fail(work, FAILURE(.error = PAWL_STR("no paper"), .is_final = is_final));
}

static struct pawl_task run_one(struct stage *stage, enum pawl_work_end want)
{
    struct lab *lab = stage->lab;
    struct pawl_str id = lab_add(lab, NEW());
    enum pawl_work_end end;
    CHECK_OK(pawl_supervisor_run_one(stage->supervisor, id, &end, &lab->err), &lab->err);
    CHECK_EQ(want, end);
    CHECK_EQ(0, in_hand(stage));
    return lab_get(lab, id);
}

TEST_EACH_STORE("T-043 T-064 a handler's failure is retried, a final one is a dead letter at once; "
                "both reach the caller")
{
    struct stage stage = {.options = {.claims_nothing = true}};
    start(&stage, lab, fail);
    struct pawl_task task = run_one(&stage, PAWL_WORK_FAILED);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_EQ(1, task.retries);
    CHECK(task.next_retry_at_ms > task.updated_at_ms);
    CHECK_STR("no paper", task.error);
    atomic_store(&stage.is_open, true);
    task = run_one(&stage, PAWL_WORK_FAILED);
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, task.state);
    CHECK_EQ(1, task.retries);
    CHECK_STR("no paper", task.error);
    stop(&stage);
}

static enum pawl_work_end return_code(struct stage *stage, struct pawl_work *work)
{
    (void)work;
    return (enum pawl_work_end)atomic_load(&stage->code);
}

static enum pawl_work_end yield(struct stage *stage, struct pawl_work *work)
{
    (void)stage;
    return pawl_work_yield(work, 60 * SECOND_MS);
}

static enum pawl_work_end fail_far_off(struct stage *stage, struct pawl_work *work)
{
    (void)stage;
    return pawl_work_fail(work, FAILURE(.error = PAWL_STR("no luck"), .retry_after_ms = INT64_MAX));
}

static enum pawl_work_end break_result(struct stage *stage, struct pawl_work *work)
{
    (void)stage;
    return pawl_work_complete(work, PAWL_STR("{no json"));
}

TEST_EACH_STORE(
    "D-59 no result completes; stopping unasked is a failure; so is what is no result, and no end")
{
    struct stage stage = {.options = {.claims_nothing = true}};
    start(&stage, lab, return_code);
    struct pawl_task task = run_one(&stage, PAWL_WORK_COMPLETED);
    CHECK_EQ(PAWL_TASK_COMPLETED, task.state);
    CHECK_EQ(0, task.result.len);
    atomic_store(&stage.code, PAWL_WORK_STOPPED);
    task = run_one(&stage, PAWL_WORK_FAILED);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK(pawl_str_has(task.error, PAWL_STR("cancelled by worker")));
    atomic_store(&stage.code, 77);
    task = run_one(&stage, PAWL_WORK_FAILED);
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, task.state);
    stage.act = break_result;
    task = run_one(&stage, PAWL_WORK_FAILED);
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, task.state);
    CHECK(pawl_str_has(task.error, PAWL_STR("the result was refused")));
    stage.act = fail_far_off; /* told without the delay */
    task = run_one(&stage, PAWL_WORK_FAILED);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_STR("no luck", task.error);
    stage.act = yield;
    task = run_one(&stage, PAWL_WORK_YIELDED);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_EQ(0, task.retries);
    CHECK(task.next_retry_at_ms > task.updated_at_ms);
    stop(&stage);
}

TEST_EACH_STORE("D-01 D-03 errors of a start are returned as they are, and change nothing")
{
    struct stage stage = {.options = {.claims_nothing = true}};
    start(&stage, lab, complete);
    struct pawl_str parent = lab_add(lab, NEW(.hold = true));
    struct pawl_str blocked = lab_add(lab, NEW(.depends_on = &parent, .depends_on_count = 1));
    struct pawl_str done = lab_add(lab, NEW());
    CHECK_OK(pawl_task_complete(lab->pawl, done, NO_TEXT, NULL, &lab->err), &lab->err);
    int64_t version = lab_get(lab, blocked).version;
    CHECK_REFUSED(PAWL_NOT_READY,
                  pawl_supervisor_run_one(stage.supervisor, blocked, NULL, &lab->err));
    CHECK_EQ(version, lab_get(lab, blocked).version);
    CHECK_EQ(0, lab_get(lab, blocked).retries);
    CHECK_REFUSED(PAWL_STATE, pawl_supervisor_run_one(stage.supervisor, done, NULL, &lab->err));
    CHECK_REFUSED(PAWL_NOT_FOUND,
                  pawl_supervisor_run_one(stage.supervisor, PAWL_STR("none"), NULL, &lab->err));
    CHECK_EQ(0, atomic_load(&stage.entered));
    CHECK_OK(pawl_supervisor_stop(stage.supervisor, 0, &lab->err), &lab->err);
    CHECK_REFUSED(PAWL_STATE, pawl_supervisor_run_one(stage.supervisor, parent, NULL, &lab->err));
    stop(&stage);
}

/* With calls that are still starting, and with what the claimer was asked for. */
static int32_t taken(struct stage *stage)
{
    struct pawl_supervisor *supervisor = stage->supervisor;
    (void)pthread_mutex_lock(&supervisor->mutex);
    int32_t count = supervisor->in_hand_count + supervisor->asked_count;
    (void)pthread_mutex_unlock(&supervisor->mutex);
    return count;
}

static void *give_at_stop(void *argument)
{
    struct stage *stage = argument;
    bool is_stopping = false;
    while (!is_stopping) {
        (void)poll(NULL, 0, 2);
        (void)pthread_mutex_lock(&stage->supervisor->mutex);
        is_stopping = stage->supervisor->is_stopping;
        (void)pthread_mutex_unlock(&stage->supervisor->mutex);
    }
    atomic_store(&stage->is_open, true);
    lab_let_go(stage->lab);
    return NULL;
}

TEST_SQLITE("calls for one task count from their beginning: the limit holds, and a stop waits")
{
    struct stage stage = {.options = {.claims_nothing = true}};
    struct call calls[PAWL_RUN_ONE_MAX];
    pthread_t callers[PAWL_RUN_ONE_MAX];
    start(&stage, lab, complete);
    for (int i = 0; i < PAWL_RUN_ONE_MAX; i++) {
        calls[i] = (struct call){.stage = &stage, .id = lab_add(lab, NEW())};
    }
    CHECK_EQ(PAWL_OK, lab_hold(lab));
    for (int i = 0; i < PAWL_RUN_ONE_MAX; i++) {
        CHECK_EQ(0, pthread_create(&callers[i], NULL, call_run_one, &calls[i]));
    }
    UNTIL(taken(&stage) == PAWL_RUN_ONE_MAX);
    CHECK_REFUSED(PAWL_LIMIT,
                  pawl_supervisor_run_one(stage.supervisor, calls[0].id, NULL, &lab->err));
    CHECK_EQ(0, pthread_create(&stage.holder, NULL, give_at_stop, &stage));
    CHECK_OK(pawl_supervisor_stop(stage.supervisor, 0, &lab->err), &lab->err);
    CHECK(atomic_load(&stage.is_open)); /* the calls went on only then */
    CHECK_EQ(0, taken(&stage));
    for (int i = 0; i < PAWL_RUN_ONE_MAX; i++) CHECK_EQ(0, pthread_join(callers[i], NULL));
    CHECK_EQ(0, lab_list(lab, LIST(.states = 1U << PAWL_TASK_RUNNING)).count);
    CHECK_EQ(0, pthread_join(stage.holder, NULL));
    stop(&stage);
}

static enum pawl_work_end meet(struct stage *stage, struct pawl_work *work)
{
    (void)work;
    for (int i = 0; i < BOUND_MS && atomic_load(&stage->entered) < 2; i++) (void)poll(NULL, 0, 1);
    return PAWL_WORK_COMPLETED;
}

TEST_EACH_STORE("T-097 two ready tasks are run side by side, each once")
{
    struct stage stage = {.options = {.slots = 2}};
    start(&stage, lab, meet);
    struct pawl_str one = lab_add(lab, NEW());
    struct pawl_str two = lab_add(lab, NEW());
    UNTIL(state_of(lab, one) == PAWL_TASK_COMPLETED && state_of(lab, two) == PAWL_TASK_COMPLETED);
    CHECK_EQ(2, atomic_load(&stage.entered));
    CHECK_EQ(2, atomic_load(&stage.together));
    stop(&stage);
}

static enum pawl_work_end work_briefly(struct stage *stage, struct pawl_work *work)
{
    (void)stage;
    (void)work;
    (void)poll(NULL, 0, 5);
    return PAWL_WORK_COMPLETED;
}

TEST_EACH_STORE("case-B82 no more is claimed than there are slots for")
{
    struct stage stage = {0};
    start(&stage, lab, work_briefly);
    struct pawl_str ids[6];
    for (size_t i = 0; i < COUNT_OF(ids); i++) ids[i] = lab_add(lab, NEW());
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        while (state_of(lab, ids[i]) != PAWL_TASK_COMPLETED) {
            CHECK(lab_list(lab, LIST(.states = 1U << PAWL_TASK_RUNNING)).count <= 1);
        }
        CHECK_EQ(0, lab_get(lab, ids[i]).retries);
    }
    CHECK_EQ(6, atomic_load(&stage.entered));
    stop(&stage);
}

/* ---- Stopping ---- */

TEST_EACH_STORE(
    "T-041 T-109 D-07 an orderly stop with ten tasks running leaves ten queued, uncounted")
{
    struct stage stage = {.options = {.slots = 10}};
    struct pawl_str ids[12];
    lab_open_real(lab);
    for (size_t i = 0; i < COUNT_OF(ids); i++) ids[i] = lab_add(lab, NEW());
    start(&stage, lab, wait_for_stop);
    UNTIL(atomic_load(&stage.entered) == 10);
    CHECK_OK(pawl_supervisor_stop(stage.supervisor, 50, &lab->err), &lab->err);
    CHECK_EQ(PAWL_STOP_DRAINING, atomic_load(&stage.reason));
    CHECK_EQ(10, atomic_load(&stage.left));
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        struct pawl_task task = lab_get(lab, ids[i]);
        CHECK_EQ(PAWL_TASK_QUEUED, task.state);
        CHECK_EQ(0, task.retries);
        CHECK_EQ(0, task.owner.len);
    }
    CHECK_EQ(10, atomic_load(&stage.entered));
    CHECK_EQ(0, in_hand(&stage));
    stop(&stage);
}

TEST_EACH_STORE(
    "case-B86 an orderly stop lets handlers end by themselves first, and their results count")
{
    struct stage stage = {0};
    start(&stage, lab, wait_at_gate);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_str next = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.entered) == 1);
    CHECK_EQ(0, pthread_create(&stage.holder, NULL, give_at_stop, &stage));
    CHECK_OK(pawl_supervisor_stop(stage.supervisor, BOUND_MS, &lab->err), &lab->err);
    CHECK_EQ(0, pthread_join(stage.holder, NULL));
    CHECK_EQ(PAWL_TASK_COMPLETED, state_of(lab, id));
    CHECK_EQ(PAWL_STOP_NONE, atomic_load(&stage.reason));
    CHECK_EQ(PAWL_TASK_QUEUED, state_of(lab, next));
    CHECK_EQ(1, atomic_load(&stage.entered));
    stop(&stage);
}

static enum pawl_work_end save_and_stop(struct stage *stage, struct pawl_work *work)
{
    (void)wait_for_stop(stage, work);
    atomic_store(&stage->code, (int)pawl_work_checkpoint(work, 7, PAWL_STR("{\"at\":7}"), NULL, NULL));
    return PAWL_WORK_STOPPED;
}

TEST_EACH_STORE("T-113 D-54 case-B17 pause and cancel reach the handler at once, whichever handle they "
                "come by; it can save before it stops")
{
    /* Its first renewal is twenty minutes away. */
    struct stage stage = {.options = {.lease_ms = 3600 * SECOND_MS}};
    struct pawl_checkpoint checkpoint;
    start(&stage, lab, save_and_stop);
    struct pawl *other = another(lab);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.entered) == 1);
    CHECK_OK(pawl_task_pause(lab->pawl, id, NULL, &lab->err), &lab->err);
    UNTIL(state_of(lab, id) == PAWL_TASK_PAUSED);
    CHECK_EQ(PAWL_STOP_PAUSED, atomic_load(&stage.reason));
    CHECK_EQ(PAWL_OK, atomic_load(&stage.code));
    CHECK_OK(pawl_task_restore(lab->pawl, id, NO_TEXT, lab->keep, &checkpoint, &lab->err),
             &lab->err);
    CHECK_STR("{\"at\":7}", checkpoint.state);
    CHECK_EQ(0, lab_get(lab, id).retries);

    id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.entered) == 2);
    CHECK_OK(pawl_task_cancel(other, id, false, NULL, &lab->err), &lab->err);
    UNTIL(state_of(lab, id) == PAWL_TASK_CANCELLED);
    UNTIL(atomic_load(&stage.left) == 2);
    CHECK_EQ(PAWL_STOP_CANCELLED, atomic_load(&stage.reason));

    id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.entered) == 3);
    CHECK_OK(pawl_task_cancel(other, id, true, NULL, &lab->err), &lab->err);
    UNTIL(atomic_load(&stage.left) == 3);
    CHECK_EQ(PAWL_STOP_LOST, atomic_load(&stage.reason));
    pawl_close(other);
    stop(&stage);
}

TEST_EACH_STORE("T-113 a request that nobody has knocked for is told with the next renewal")
{
    struct stage stage = {.options = {KEPT}};
    start(&stage, lab, wait_for_stop);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.entered) == 1);
    (void)lab_sql(lab, "UPDATE task SET control = 1, control_deadline_at_ms = lease_end_at_ms");
    UNTIL(state_of(lab, id) == PAWL_TASK_PAUSED);
    CHECK_EQ(PAWL_STOP_PAUSED, atomic_load(&stage.reason));
    stop(&stage);
}

TEST_SQLITE("T-113 a request finds its holder among more leases than a call takes")
{
    enum { COUNT = PAWL_BATCH_MAX + 100 };
    struct stage stage = {
        .options = {.lease_ms = 3600 * SECOND_MS, .slots = 8, .detached_max = COUNT}};
    struct pawl_task_new asks[COUNT];
    start(&stage, lab, detach);
    for (size_t i = 0; i < COUNT; i++) asks[i] = *NEW();
    struct pawl_added *added = lab_add_batch(lab, asks, PAWL_BATCH_MAX);
    (void)lab_add_batch(lab, asks, COUNT - PAWL_BATCH_MAX);
    UNTIL(in_hand(&stage) == COUNT && atomic_load(&stage.left) == COUNT);
    CHECK_OK(pawl_task_cancel(lab->pawl, added[PAWL_BATCH_MAX - 1].id, true, NULL, &lab->err),
             &lab->err);
    UNTIL(in_hand(&stage) == COUNT - 1);
    struct pawl_str last = lab_add(lab, NEW());
    UNTIL(state_of(lab, last) == PAWL_TASK_RUNNING);
    CHECK_OK(pawl_task_pause(lab->pawl, last, NULL, &lab->err), &lab->err);
    UNTIL(atomic_load(&stage.told) == PAWL_STOP_PAUSED);
    stop(&stage);
}

TEST_EACH_STORE("T-113 an unanswered cancel is forced at its deadline, and force works at once; "
                "the handler learns that it "
                "has lost")
{
    struct stage stage = {.options = {.lease_ms = LEASE_MS, .renew_every_ms = RENEW_MS}};
    start(&stage, lab, wait_at_gate);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.entered) == 1);
    CHECK_OK(pawl_task_cancel(lab->pawl, id, false, NULL, &lab->err), &lab->err);
    UNTIL(atomic_load(&stage.told) == PAWL_STOP_CANCELLED);
    UNTIL(state_of(lab, id) == PAWL_TASK_CANCELLED);
    UNTIL(atomic_load(&stage.told) == PAWL_STOP_LOST);
    CHECK_EQ(atomic_load(&stage.tokens[0]), atomic_load(&stage.told_token));
    atomic_store(&stage.is_open, true);
    UNTIL(in_hand(&stage) == 0);
    CHECK_EQ(PAWL_STOP_LOST, atomic_load(&stage.reason));

    atomic_store(&stage.told, PAWL_STOP_NONE);
    stage.act = wait_for_stop;
    id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.entered) == 2);
    CHECK_OK(pawl_task_cancel(lab->pawl, id, true, NULL, &lab->err), &lab->err);
    CHECK_EQ(PAWL_TASK_CANCELLED, state_of(lab, id));
    UNTIL(atomic_load(&stage.left) == 2);
    CHECK_EQ(PAWL_STOP_LOST, atomic_load(&stage.reason));
    stop(&stage);
}

TEST_EACH_STORE("T-051 an attempt whose time is up is stopped and fails, whatever its renewals")
{
    struct stage stage = {.options = {.lease_ms = 10 * SECOND_MS}};
    start(&stage, lab, wait_for_stop);
    struct pawl_str id =
        lab_add(lab, NEW(.timeout_ms = 2000, .retry = {.delay_ms = 60 * SECOND_MS}));
    UNTIL(atomic_load(&stage.left) == 1);
    CHECK_EQ(PAWL_STOP_TIMED_OUT, atomic_load(&stage.reason));
    UNTIL(state_of(lab, id) == PAWL_TASK_QUEUED);
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(1, task.retries);
    CHECK(pawl_str_has(task.error, PAWL_STR("timed out after 2000 ms")));
    UNTIL(in_hand(&stage) == 0);
    CHECK_EQ(1, lab_get(lab, id).retries);
    CHECK_EQ(0, recoveries(lab, id));
    stop(&stage);
}

TEST_EACH_STORE("T-051 the caller of one task learns that its time was up as a failure")
{
    struct stage stage = {.options = {.claims_nothing = true}};
    enum pawl_work_end end;
    start(&stage, lab, wait_for_stop);
    struct pawl_str id =
        lab_add(lab, NEW(.timeout_ms = 2000, .retry = {.max_retries = PAWL_RETRIES_NONE}));
    CHECK_OK(pawl_supervisor_run_one(stage.supervisor, id, &end, &lab->err), &lab->err);
    CHECK_EQ(PAWL_WORK_FAILED, end);
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, state_of(lab, id));
    CHECK_EQ(1, lab_get(lab, id).retries);
    stop(&stage);
}

enum { PROGRESS_MS = 1500 };

static enum pawl_work_end report(struct stage *stage, struct pawl_work *work)
{
    int64_t until_ms = now_ms(CLOCK_MONOTONIC) + PROGRESS_MS * 3 / 2;
    for (int i = 0; now_ms(CLOCK_MONOTONIC) < until_ms; i++) {
        atomic_store(&stage->code, (int)pawl_work_progress(work, i % 100, NULL));
        (void)poll(NULL, 0, 20);
    }
    atomic_store(&stage->reason, (int)pawl_work_stop_reason(work));
    return PAWL_WORK_COMPLETED;
}

TEST_EACH_STORE(
    "D-50 a handler without progress is stopped and its attempt fails; one that reports goes on")
{
    struct stage stage = {.options = {.progress_ms = PROGRESS_MS}};
    start(&stage, lab, report);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(state_of(lab, id) == PAWL_TASK_COMPLETED); /* half as long again */
    CHECK_EQ(PAWL_STOP_NONE, atomic_load(&stage.reason));
    stage.act = wait_for_stop;
    id = lab_add(lab, NEW(.retry = {.delay_ms = 60 * SECOND_MS}));
    UNTIL(state_of(lab, id) == PAWL_TASK_QUEUED && lab_get(lab, id).retries == 1);
    CHECK_EQ(PAWL_STOP_NO_PROGRESS, atomic_load(&stage.reason));
    CHECK_STR("no progress for 1500 ms", lab_get(lab, id).error);
    stop(&stage);
}

TEST_EACH_STORE("D-50 a handler that hangs beyond the grace keeps its lease no longer, and its "
                "task waits for its end")
{
    struct stage stage = {.options = {.progress_ms = 1000, .grace_ms = 500, .lease_ms = LEASE_MS}};
    start(&stage, lab, wait_at_gate);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(uncontained(&stage) == 1);
    UNTIL(state_of(lab, id) == PAWL_TASK_RECOVERY_PENDING);
    stage.act = complete;
    atomic_store(&stage.is_open, true);
    UNTIL(state_of(lab, id) == PAWL_TASK_COMPLETED);
    CHECK_EQ(1, lab_get(lab, id).retries);
    CHECK_EQ(1, recoveries(lab, id));
    stop(&stage);
}

/* ---- Telling ---- */

static enum pawl_work_end complete_busy(struct stage *stage, struct pawl_work *work)
{
    bool holds = lab_hold(stage->lab) == PAWL_OK &&
                 pthread_create(&stage->holder, NULL, let_go_later, stage) == 0;
    atomic_store(&stage->code, (int)(holds ? PAWL_OK : PAWL_IO));
    return pawl_work_complete(work, PAWL_STR("\"mine\""));
}

static void end_busy(struct stage *stage)
{
    CHECK_EQ(PAWL_OK, atomic_load(&stage->code));
    CHECK_EQ(0, pthread_join(stage->holder, NULL));
}

TEST_EACH_STORE("T-123 D-21 a success whose commit meets a store that is busy for 2 s is recorded "
                "once, and is no failure")
{
    struct stage stage = {.options = {.claims_nothing = true, .lease_ms = 10 * SECOND_MS},
                          .hold_ms = 2000};
    start(&stage, lab, complete_busy);
    struct pawl_task task = run_one(&stage, PAWL_WORK_COMPLETED);
    end_busy(&stage);
    CHECK_EQ(PAWL_TASK_COMPLETED, task.state);
    CHECK_EQ(0, task.retries);
    CHECK_STR("\"mine\"", task.result);
    CHECK_TEXT("created queued started completed", lab_told(lab, task.id));
    stop(&stage);
}

TEST_EACH_STORE("D-17 D-21 a success that waits for the store beyond its lease is a lost lease, "
                "never a failure")
{
    struct stage stage = {.options = {.claims_nothing = true, .lease_ms = LEASE_MS},
                          .hold_ms = LEASE_MS + 200};
    start(&stage, lab, complete_busy);
    struct pawl_str id = lab_add(lab, NEW());
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_supervisor_run_one(stage.supervisor, id, NULL, &lab->err));
    end_busy(&stage);
    UNTIL(state_of(lab, id) == PAWL_TASK_QUEUED);
    CHECK_EQ(1, recoveries(lab, id));
    CHECK_EQ(0, lab_get(lab, id).error.len);
    stop(&stage);
}

static enum pawl_work_end leave_child(struct stage *stage, struct pawl_work *work)
{
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* it goes with the test, however that ends */
        for (;;) (void)pause();
    }
    atomic_store(&stage->child, child);
    return pawl_work_complete(work, PAWL_STR("\"mine\""));
}

TEST_EACH_STORE("B9 an outcome leaves when the lock is free: a child that its handler has left "
                "behind keeps a task open, and its lease")
{
    struct stage stage = {.options = {KEPT}};
    start(&stage, lab, leave_child);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.left) == 1);
    int64_t end_at_ms = atomic_load(&stage.lease_end_at_ms);
    UNTIL(lab_get(lab, id).lease_end_at_ms > end_at_ms);
    CHECK_EQ(PAWL_TASK_RUNNING, state_of(lab, id));
    CHECK_EQ(0, kill((pid_t)atomic_load(&stage.child), SIGKILL));
    CHECK_EQ(atomic_load(&stage.child), waitpid((pid_t)atomic_load(&stage.child), NULL, 0));
    UNTIL(state_of(lab, id) == PAWL_TASK_COMPLETED);
    CHECK_EQ(1, atomic_load(&stage.entered));
    stop(&stage);
}

static void end_child(struct stage *stage)
{
    pid_t child = (pid_t)atomic_load(&stage->child);
    CHECK_EQ(0, kill(child, SIGKILL));
    CHECK_EQ(child, waitpid(child, NULL, 0));
}

TEST_EACH_STORE("B9 a child left behind through its attempt's time-out keeps the task from being "
                "given out again")
{
    struct stage stage = {.options = {.lease_ms = 10 * SECOND_MS}};
    start(&stage, lab, leave_child);
    struct pawl_str id =
        lab_add(lab, NEW(.timeout_ms = 2000, .retry = {.delay_ms = 60 * SECOND_MS}));
    UNTIL(atomic_load(&stage.left) == 1);
    UNTIL(in_hand(&stage) == 0);
    UNTIL(state_of(lab, id) != PAWL_TASK_RUNNING);
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, state_of(lab, id));
    end_child(&stage);
    UNTIL(state_of(lab, id) == PAWL_TASK_QUEUED);
    CHECK_EQ(1, lab_get(lab, id).retries);
    CHECK(pawl_str_has(lab_get(lab, id).error, PAWL_STR("timed out after 2000 ms")));
    stop(&stage);
}

static enum pawl_work_end leave_child_and_detach(struct stage *stage, struct pawl_work *work)
{
    (void)leave_child(stage, work);
    return PAWL_WORK_DETACHED;
}

TEST_EACH_STORE("B9 a child left behind beyond a lost lease keeps the task from being given out "
                "again, detached or not")
{
    struct stage stage = {.options = {KEPT, .claims_nothing = true}};
    enum pawl_work_end (*acts[])(struct stage *, struct pawl_work *) = {leave_child,
                                                                        leave_child_and_detach};
    start(&stage, lab, leave_child);
    for (size_t i = 0; i < COUNT_OF(acts); i++) {
        pthread_t caller;
        struct call call = {.stage = &stage, .id = lab_add(lab, NEW())};
        stage.act = acts[i];
        CHECK_EQ(0, pthread_create(&caller, NULL, call_run_one, &call));
        UNTIL(atomic_load(&stage.left) == (int)i + 1);
        expire(lab, call.id);
        CHECK_EQ(0, pthread_join(caller, NULL));
        CHECK_EQ(PAWL_LEASE_LOST, call.code);
        CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, state_of(lab, call.id));
        end_child(&stage);
        UNTIL(state_of(lab, call.id) == PAWL_TASK_QUEUED);
        CHECK_EQ(1, recoveries(lab, call.id));
    }
    stop(&stage);
}

/* ---- Deferred ---- */

TEST_EACH_STORE("detached work keeps its lease on no thread, and is completed by its token, once")
{
    struct stage stage = {.options = {KEPT, .detached_max = 1}};
    start(&stage, lab, detach);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_in_hands hands;
    UNTIL(atomic_load(&stage.left) == 1);
    int64_t end_at_ms = atomic_load(&stage.lease_end_at_ms);
    UNTIL(lab_get(lab, id).lease_end_at_ms > end_at_ms + 3 * RENEW_MS);
    stage.act = complete; /* the slot is free */
    struct pawl_str other = lab_add(lab, NEW());
    UNTIL(state_of(lab, other) == PAWL_TASK_COMPLETED);
    UNTIL(in_hand(&stage) == 1);
    CHECK_OK(pawl_supervisor_list(stage.supervisor, lab->keep, &hands, &lab->err), &lab->err);
    CHECK_EQ(PAWL_WORK_WAITING, hands.works[0].phase);
    int64_t token = atomic_load(&stage.tokens[0]);
    CHECK_EQ(token, hands.works[0].token);
    CHECK_REFUSED(PAWL_INVALID,
                  pawl_detached_complete(stage.supervisor, token, PAWL_STR("{"), &lab->err));
    CHECK_OK(pawl_detached_complete(stage.supervisor, token, PAWL_STR("5"), &lab->err), &lab->err);
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_COMPLETED, task.state);
    CHECK_STR("5", task.result);
    CHECK_EQ(1, task.epoch);
    CHECK_REFUSED(PAWL_LEASE_LOST,
                  pawl_detached_complete(stage.supervisor, token, PAWL_STR("5"), &lab->err));
    CHECK_REFUSED(PAWL_LEASE_LOST,
                  pawl_detached_complete(stage.supervisor, 12345, PAWL_STR("5"), &lab->err));
    CHECK_EQ(0, in_hand(&stage));
    stop(&stage);
}

TEST_EACH_STORE(
    "detached work beyond detached_max takes up its slot; failing, giving up and stopping free it")
{
    struct stage stage = {0};
    start(&stage, lab, detach);
    struct pawl_str one = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.left) == 1);
    struct pawl_str two = lab_add(lab, NEW());
    UNTIL(in_hand(&stage) == 1);
    CHECK_EQ(PAWL_TASK_QUEUED, state_of(lab, two));
    CHECK_OK(pawl_detached_fail(stage.supervisor, atomic_load(&stage.tokens[0]),
                                FAILURE(.error = PAWL_STR("no answer"), .is_final = true),
                                &lab->err),
             &lab->err);
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, state_of(lab, one));
    UNTIL(atomic_load(&stage.left) == 2);
    CHECK_EQ(PAWL_TASK_RUNNING, state_of(lab, two));
    CHECK_OK(pawl_supervisor_stop(stage.supervisor, 0, &lab->err), &lab->err);
    CHECK_EQ(PAWL_TASK_QUEUED, state_of(lab, two));
    CHECK_EQ(0, lab_get(lab, two).retries);
    UNTIL(in_hand(&stage) == 0);
    stop(&stage);
}

TEST_SQLITE("what calls for one task have detached leaves room for what was claimed meanwhile")
{
    struct stage stage = {0};
    start(&stage, lab, detach);
    UNTIL(taken(&stage) == 1); /* asked for */
    for (int i = 0; i <= PAWL_RUN_ONE_MAX; i++) {
        struct pawl_str id = lab_add(lab, NEW(.queue = PAWL_STR("others")));
        if (i < PAWL_RUN_ONE_MAX) {
            CHECK_OK(pawl_supervisor_run_one(stage.supervisor, id, NULL, &lab->err), &lab->err);
            continue;
        }
        CHECK_REFUSED(PAWL_LIMIT, pawl_supervisor_run_one(stage.supervisor, id, NULL, &lab->err));
    }
    (void)lab_add(lab, NEW());
    UNTIL(in_hand(&stage) == PAWL_RUN_ONE_MAX + 1);
    stop(&stage);
}

TEST_EACH_STORE("detached work whose lease is lost is told so, and its token is of no use any more")
{
    struct stage stage = {.options = {KEPT}};
    start(&stage, lab, detach);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.left) == 1);
    UNTIL(in_hand(&stage) == 1);
    int64_t token = atomic_load(&stage.tokens[0]);
    CHECK_OK(pawl_task_pause(lab->pawl, id, NULL, &lab->err), &lab->err);
    UNTIL(atomic_load(&stage.told) == PAWL_STOP_PAUSED);
    CHECK_EQ(token, atomic_load(&stage.told_token));
    CHECK_OK(pawl_detached_stop(stage.supervisor, token, &lab->err), &lab->err);
    CHECK_EQ(PAWL_TASK_PAUSED, state_of(lab, id));

    id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.left) == 2);
    token = atomic_load(&stage.tokens[1]);
    CHECK_OK(pawl_task_cancel(lab->pawl, id, true, NULL, &lab->err), &lab->err);
    UNTIL(atomic_load(&stage.told) == PAWL_STOP_LOST);
    UNTIL(in_hand(&stage) == 0);
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_detached_stop(stage.supervisor, token, &lab->err));
    stop(&stage);
}

struct ender {
    struct stage *stage;
    pthread_t thread;
    enum pawl_code code;
};

static void *end_early(void *argument)
{
    struct ender *ender = argument;
    ender->code = pawl_detached_complete(
        ender->stage->supervisor, atomic_load(&ender->stage->tokens[0]), PAWL_STR("1"), NULL);
    return NULL;
}

static enum pawl_work_end detach_late(struct stage *stage, struct pawl_work *work)
{
    int64_t token = pawl_work_token(work);
    atomic_store(&stage->code,
                 (int)pawl_detached_complete(stage->supervisor, token, PAWL_STR("2"), NULL));
    (void)wait_at_gate(stage, work);
    return PAWL_WORK_DETACHED;
}

TEST_EACH_STORE("who ends detached work before its handler has returned waits for that; the "
                "handler itself is refused")
{
    struct stage stage = {0};
    struct ender ender = {.stage = &stage};
    start(&stage, lab, detach_late);
    struct pawl_str id = lab_add(lab, NEW());
    UNTIL(atomic_load(&stage.code) == PAWL_MISUSE);
    CHECK_EQ(0, pthread_create(&ender.thread, NULL, end_early, &ender));
    (void)poll(NULL, 0, 20); /* most likely it waits by now; what is tested holds if not, too */
    CHECK_EQ(PAWL_TASK_RUNNING, state_of(lab, id));
    atomic_store(&stage.is_open, true);
    CHECK_EQ(0, pthread_join(ender.thread, NULL));
    CHECK_CODE(PAWL_OK, ender.code);
    CHECK_STR("1", lab_get(lab, id).result);
    stop(&stage);
}

TEST_MAIN()
