/* Faults in turn. One short life of a store, call after call, in which everything happens once;
 * then the same life again and again, each time with one thing going wrong: statement 1, 2, 3 ...
 * fails, the process dies there, write or sync 1, 2, 3 ... fails, allocation 1, 2, 3 ... fails,
 * until there is none left to fail.
 *
 * Whoever gets an error, or no answer because the process died, asks again. In the end the store
 * has to look as if nothing had happened: every call is safe to repeat, nothing acknowledged is
 * lost, nothing is done twice. */
#include "sim.h"
#include "test.h"

#include "base/error.h"
#include "store/handle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST_MAIN()

enum {
    TRIES_MAX = 4, /* of one call; one fault may strike in its first try only */
    TEXT_BYTES_MAX = 8192,
    FAULTS_MAX = 100000,  /* there is an end to them */
    BOOT_BEGAN_MS = 5000, /* as of the new store that ground_open makes */
};

/* ---- Allocations --------------------------------------------------------------------------- */

/* The linker sends what our code allocates through here; SQLite is told to (sqlite3_config). */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *ptr, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *ptr, size_t bytes);

static struct {
    bool is_on; /* inside a call of the library */
    int64_t count;
    int64_t fails_at; /* 0 = never */
    bool has_struck;
} memory;

static bool allocation_fails(void)
{
    if (!memory.is_on || ++memory.count != memory.fails_at) return false;
    memory.has_struck = true;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *ptr, size_t bytes)
{
    return allocation_fails() ? NULL : __real_realloc(ptr, bytes);
}

static sqlite3_mem_methods sqlite_memory;

static void *sqlite_malloc(int bytes)
{
    return allocation_fails() ? NULL : sqlite_memory.xMalloc(bytes);
}

static void *sqlite_realloc(void *ptr, int bytes)
{
    return allocation_fails() ? NULL : sqlite_memory.xRealloc(ptr, bytes);
}

/* Before SQLite is used for the first time in this process. */
__attribute__((constructor)) static void take_over_sqlite_memory(void)
{
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory) != SQLITE_OK) abort();
    sqlite3_mem_methods ours = sqlite_memory;
    ours.xMalloc = sqlite_malloc;
    ours.xRealloc = sqlite_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &ours) != SQLITE_OK) abort();
}

/* ---- The life of a store ------------------------------------------------------------------- */

enum fault_kind {
    FAULT_NONE,
    FAULT_STATEMENT, /* fails once */
    FAULT_KILL,      /* before the statement, or right after the commit */
    FAULT_DISK,
    FAULT_MEMORY
};

struct life {
    struct ground ground;
    char folder[SIM_PATH_BYTES_MAX / 2];
    struct pawl *pawl;
    struct pawl_env env;
    struct pawl_arena *keep;
    int64_t boot_ms;
    uint64_t random;
    enum fault_kind kind;
    int64_t strikes_at; /* the statement that goes wrong */
    int64_t points;     /* statements so far */
    bool is_dead;
    bool has_died; /* and nobody has been answered since */
    bool has_struck;
    int64_t last_position;
    int64_t locked_epoch;     /* of the task that is done under supervision; 0 = its lock is free */
    bool cuts_power;          /* instead of a mere kill */
    bool cuts_power_later;    /* when whoever asked again has been answered */
    char end[TEXT_BYTES_MAX]; /* what the store looks like in the end */
};

static int64_t wall_ms(void *self)
{
    return SIM_WALL_BASE_MS + ((struct life *)self)->boot_ms - BOOT_BEGAN_MS;
}

static int64_t boot_ms(void *self)
{
    return ((struct life *)self)->boot_ms;
}

static uint64_t chance(void *self)
{
    struct life *life = self;
    return life->random =
               life->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

static enum pawl_finding find_execution(void *self, struct pawl_str task_id, int64_t epoch)
{
    const struct life *life = self;
    bool is_held = pawl_str_equal(task_id, PAWL_STR("guarded")) && epoch == life->locked_epoch;
    return is_held ? PAWL_FINDING_ALIVE : PAWL_FINDING_STOPPED;
}

static enum pawl_code before_statement(void *self, int32_t point, struct pawl_error *err)
{
    struct life *life = self;
    if (life->is_dead || life->ground.disk.is_dead) return pawl_error_set(err, PAWL_IO, "killed");
    if (point == PAWL_SQL_ROLLBACK) return PAWL_OK;
    if (++life->points != life->strikes_at) return PAWL_OK;
    if (life->kind != FAULT_STATEMENT && life->kind != FAULT_KILL) return PAWL_OK;
    life->has_struck = true;
    life->is_dead = life->kind == FAULT_KILL;
    return pawl_error_set(err, PAWL_IO, "by plan");
}

static void enter(struct life *life)
{
    struct pawl_db *db = pawl_store_db(life->pawl->store);
    if (db != NULL) db->hook = (struct pawl_db_hook){before_statement, life};
    memory.is_on = life->kind == FAULT_MEMORY;
}

/* Whether the process died in the call: then nobody has heard its answer. */
static bool leave(struct life *life)
{
    memory.is_on = false;
    return life->is_dead || life->ground.disk.is_dead;
}

static void open_store(struct life *life)
{
    struct pawl_error err = {0};
    struct pawl_options options = PAWL_OPTIONS_INIT;
    life->env = (struct pawl_env){.self = life,
                                  .wall_ms = wall_ms,
                                  .boot_ms = boot_ms,
                                  .random = chance,
                                  .boot_id = PAWL_STR("boot-0"),
                                  .host_id = PAWL_STR("host"),
                                  .place = PAWL_STR("locks"),
                                  .find_execution = find_execution};
    options.store = pawl_str_of(life->ground.db_name);
    options.driven = true;
    options.env = &life->env;
    options.lease_ms = 1000;
    enum pawl_code code = PAWL_BUSY;
    for (int i = 0; i < TRIES_MAX && code != PAWL_OK; i++) {
        life->pawl = NULL;
        memory.is_on = life->kind == FAULT_MEMORY;
        code = pawl_open(&life->pawl, &options, &err);
        memory.is_on = false;
        if (life->ground.disk.is_dead) {
            pawl_close(life->pawl);
            disk_heal(&life->ground.disk);
            code = PAWL_BUSY;
        }
    }
    CHECK_OK(code, &err);
}

/* A killed handle is closed, which writes nothing; then the store is opened anew. */
static void come_back(struct life *life)
{
    pawl_close(life->pawl);
    life->is_dead = false;
    life->has_died = true;
    life->has_struck = life->has_struck || life->ground.disk.has_struck;
    disk_heal(&life->ground.disk);
    if (life->cuts_power) disk_cut_power(&life->ground.disk);
    open_store(life);
}

static void lose_power(struct life *life)
{
    pawl_close(life->pawl);
    disk_cut_power(&life->ground.disk);
    life->has_died = false;
    open_store(life);
}

/* Asks until there is a clear answer. also_ok: what a repeat is told when the first try was done
 * after all. */
#define ASK(also_ok, call)                                                                      \
    do {                                                                                        \
        struct pawl_error err = {0};                                                            \
        enum pawl_code code = PAWL_BUSY;                                                        \
        bool is_clear = false;                                                                  \
        for (int tries = 0; tries < TRIES_MAX && !is_clear; tries++) {                          \
            enter(life);                                                                        \
            code = (call);                                                                      \
            bool died = leave(life);                                                            \
            bool is_again = tries > 0;                                                          \
            is_clear = !died && (code == PAWL_OK || (is_again && code == (also_ok)));           \
            if (died) come_back(life);                                                          \
        }                                                                                       \
        if (is_clear && life->has_died && life->cuts_power_later) lose_power(life);             \
        if (!is_clear) {                                                                        \
            FAIL("%s: %s: %s (fault %d at %" PRId64 ")", #call, pawl_code_name(code), err.text, \
                 (int)life->kind, life->strikes_at);                                            \
        }                                                                                       \
    } while (0)

static void pass(struct life *life, int64_t ms)
{
    int64_t next;
    life->boot_ms += ms;
    for (int i = 0; i < 3; i++) { /* what fails in one step is done by the next one */
        struct pawl_error err = {0};
        enter(life);
        enum pawl_code code = pawl_step(life->pawl, &next, &err);
        if (leave(life)) come_back(life);
        CHECK_OK(code, &err);
    }
}

static struct pawl_task_new task(const char *id, const char *key)
{
    struct pawl_task_new ask = PAWL_TASK_NEW_INIT;
    ask.id = pawl_str_of(id);
    ask.key = pawl_str_of(key);
    ask.input = PAWL_STR("{\"n\":1}");
    return ask;
}

static void claim(struct life *life, const char *request, int32_t max, struct pawl_fence fences[4],
                  size_t want)
{
    struct pawl_claim ask = PAWL_CLAIM_INIT;
    struct pawl_claimed claimed = {0};
    ask.worker_id = PAWL_STR("w");
    ask.request_id = pawl_str_of(request);
    ask.max = max;
    ASK(PAWL_OK, pawl_task_claim(life->pawl, &ask, life->keep, &claimed, &err));
    CHECK_EQ(want, claimed.count);
    for (size_t i = 0; i < want; i++) fences[i] = claimed.grants[i].fence;
}

static struct pawl_change by(const struct pawl_fence *fence)
{
    struct pawl_change change = PAWL_CHANGE_INIT;
    change.fence = fence;
    change.reason = PAWL_STR("so");
    return change;
}

static void add_tasks(struct life *life)
{
    struct pawl_added added[4];
    struct pawl_task_new urgent = task("urgent", "k1");
    urgent.priority = 90;
    ASK(PAWL_OK, pawl_task_add(life->pawl, &urgent, life->keep, added, &err));

    static const struct pawl_str on[] = {PAWL_STR_INIT("#0")};
    struct pawl_task_new batch[3] = {task("first", "k2"), task("second", "k3"),
                                     task("third", "k4")};
    batch[1].depends_on = on;
    batch[1].depends_on_count = 1;
    batch[2].depends_on = on;
    batch[2].depends_on_count = 1;
    batch[2].dependency_policy = PAWL_DEPENDENCY_CANCEL;
    ASK(PAWL_OK, pawl_task_add_batch(life->pawl, batch, 3, life->keep, added, &err));
    CHECK_EQ(PAWL_OK, pawl_arena_code(life->keep));

    struct pawl_task_new held = task("held", "k5");
    held.hold = true;
    held.delay_ms = 100;
    ASK(PAWL_OK, pawl_task_add(life->pawl, &held, life->keep, added, &err));
    ASK(PAWL_OK, pawl_task_queue(life->pawl, PAWL_STR("held"), NULL, &err));
}

static void work(struct life *life)
{
    struct pawl_fence fences[4];
    struct pawl_renewal renewals[4];
    claim(life, "r1", 2, fences, 2);
    ASK(PAWL_OK, pawl_lease_renew(life->pawl, fences, 2, 2000, renewals, &err));
    CHECK_EQ(PAWL_OK, renewals[0].code);
    struct pawl_change change = by(&fences[0]);
    ASK(PAWL_OK, pawl_task_progress(life->pawl, fences[0].task_id, 40, &change, &err));
    ASK(PAWL_OK,
        pawl_task_complete(life->pawl, fences[0].task_id, PAWL_STR("{\"r\":1}"), &change, &err));
    change = by(&fences[1]);
    struct pawl_failure failure = PAWL_FAILURE_INIT;
    failure.error = PAWL_STR("not yet");
    ASK(PAWL_OK, pawl_task_fail(life->pawl, fences[1].task_id, &failure, &change, &err));

    pass(life, 1000); /* the retry and the deferral come due */
    claim(life, "r2", 2, fences, 2);
    change = by(&fences[0]);
    ASK(PAWL_OK, pawl_task_release(life->pawl, fences[0].task_id, 0, &change, &err));
    pass(life, 3000); /* the other lease ends */
}

static struct pawl_fence guard(struct life *life, const char *request)
{
    static const struct pawl_str queues[] = {PAWL_STR_INIT("guarded")};
    struct pawl_claim ask = PAWL_CLAIM_INIT;
    struct pawl_claimed claimed = {0};
    ask.worker_id = PAWL_STR("guard");
    ask.request_id = pawl_str_of(request);
    ask.queues = queues;
    ask.queue_count = 1;
    ask.is_supervised = true;
    ASK(PAWL_OK, pawl_task_claim(life->pawl, &ask, life->keep, &claimed, &err));
    CHECK_EQ(1, claimed.count);
    life->locked_epoch = claimed.grants[0].fence.epoch;
    return claimed.grants[0].fence;
}

static void check_lost(struct life *life)
{
    struct pawl_task task;
    struct pawl_error err = {0};
    CHECK_OK(pawl_task_get(life->pawl, PAWL_STR("guarded"), false, life->keep, &task, &err), &err);
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, task.state);
    CHECK_EQ(life->locked_epoch, task.epoch);
}

/* A lease is lost while its work goes on: nobody has the task until its worker says that the work
 * has stopped. The next one is lost and its work has stopped: that is found. One fault loses one
 * look, and there is another within five minutes. */
static void lose_work(struct life *life)
{
    enum { LOOK_MS = 5 * 60 * 1000 };
    struct pawl_added added[1];
    struct pawl_task_new ask = task("guarded", "k6");
    ask.queue = PAWL_STR("guarded");
    ASK(PAWL_OK, pawl_task_add(life->pawl, &ask, life->keep, added, &err));
    struct pawl_fence fence = guard(life, "g1");
    pass(life, 1000);
    pass(life, LOOK_MS);
    check_lost(life);
    life->locked_epoch = 0;
    ASK(PAWL_LEASE_LOST, pawl_lease_stopped(life->pawl, &fence, &err));

    (void)guard(life, "g2");
    life->locked_epoch = 0;
    pass(life, 1000);
    pass(life, LOOK_MS);
    pass(life, 1000); /* what a second crash delays */

    fence = guard(life, "g3");
    life->locked_epoch = 0;
    struct pawl_change change = by(&fence);
    ASK(PAWL_OK, pawl_task_complete(life->pawl, fence.task_id, PAWL_STR("3"), &change, &err));
}

static void end_tasks(struct life *life)
{
    struct pawl_fence fences[4];
    struct pawl_failure failure = PAWL_FAILURE_INIT;
    failure.error = PAWL_STR("for good");
    failure.is_final = true;
    claim(life, "r3", 1, fences, 1);
    struct pawl_change change = by(&fences[0]);
    ASK(PAWL_OK, pawl_task_fail(life->pawl, fences[0].task_id, &failure, &change, &err));
    struct pawl_redrive redrive = PAWL_REDRIVE_INIT;
    redrive.resume = (struct pawl_resume)PAWL_RESUME_INIT;
    int64_t count;
    ASK(PAWL_OK, pawl_dead_redrive(life->pawl, &redrive, &count, &err));

    claim(life, "r4", 3, fences, 2);
    for (int i = 0; i < 2; i++) {
        change = by(&fences[i]);
        ASK(PAWL_OK,
            pawl_task_complete(life->pawl, fences[i].task_id, PAWL_STR("[]"), &change, &err));
    }
    ASK(PAWL_OK, pawl_task_pause(life->pawl, PAWL_STR("second"), NULL, &err));
    ASK(PAWL_STATE, pawl_task_resume(life->pawl, PAWL_STR("second"), NULL, NULL, &err));
    claim(life, "r5", 1, fences, 1);
    ASK(PAWL_OK, pawl_task_cancel(life->pawl, fences[0].task_id, true, NULL, &err));
    struct pawl_queue_set set = PAWL_QUEUE_SET_INIT;
    set.name = PAWL_STR("default");
    set.pause = 1;
    ASK(PAWL_OK, pawl_queue_set(life->pawl, &set, &err));
}

static void consume(struct life *life)
{
    struct pawl_events events = {0};
    bool is_first;
    ASK(PAWL_OK, pawl_consumer_read(life->pawl, PAWL_STR("c"), 100, 0, life->keep, &events, &err));
    /* a read makes no promise: if the power goes after it, a new consumer may be new once more */
    ASK(PAWL_OK, pawl_consumer_read(life->pawl, PAWL_STR("c"), 100, 0, life->keep, &events, &err));
    CHECK(events.count > 10);
    life->last_position = events.position;
    ASK(PAWL_OK,
        pawl_consumer_acknowledge(life->pawl, PAWL_STR("c"), events.events[4].id, &is_first, &err));
    ASK(PAWL_OK, pawl_consumer_acknowledge_through(life->pawl, PAWL_STR("c"), 3, &err));
}

/* What was cancelled goes, once all is read. */
static void remove_old(struct life *life)
{
    struct pawl_gc ask = PAWL_GC_INIT;
    struct pawl_gc_done done;
    ask.states = 1 << PAWL_TASK_CANCELLED;
    ASK(PAWL_OK,
        pawl_consumer_acknowledge_through(life->pawl, PAWL_STR("c"), life->last_position, &err));
    ASK(PAWL_OK, pawl_gc(life->pawl, &ask, &done, &err));
    CHECK_TEXT("", done.held_by);
    ASK(PAWL_OK, pawl_gc(life->pawl, &ask, &done, &err));
    CHECK_EQ(0, done.removed);
}

/* ---- What is left of it -------------------------------------------------------------------- */

static const char *const sums[] = {
    "SELECT group_concat(id || ' ' || state || ' ' || epoch || ' ' || retries || ' ' || sequence "
    "|| ' ' || "
    "open_dependencies || ' ' || coalesce(rank, 0)) FROM (SELECT * FROM task ORDER BY id)",
    "SELECT group_concat(t.id || ' ' || (p.key % 16) || ' ' || p.body) "
    "FROM (SELECT * FROM payload ORDER BY key) p JOIN task t ON t.key = p.key / 16",
    "SELECT group_concat(e.position || ' ' || e.type || ' ' || e.state || ' ' || e.epoch) "
    "FROM (SELECT * FROM event ORDER BY position) e",
    "SELECT group_concat(id || ' ' || state || ' ' || idempotency_key) FROM tombstone",
    /* nothing is left of what was removed */
    "SELECT count(*) FROM payload WHERE key / 16 NOT IN (SELECT key FROM task)",
    "SELECT count(*) FROM event WHERE task NOT IN (SELECT key FROM task)",
    "SELECT count(*) FROM dependency WHERE task NOT IN (SELECT key FROM task)",
    "SELECT count(*) FROM task WHERE id IN (SELECT id FROM tombstone)",
    "SELECT count(*) FROM continuation WHERE remaining >= 0",
    "SELECT cursor FROM consumer",
    "SELECT group_concat(position) FROM acknowledgement",
    /* I1, I4: no lease outside RUNNING; sequences without a gap; the last event's state is the
       row's */
    "SELECT count(*) FROM task WHERE (state = 2) <> (lease_end_at_ms IS NOT NULL)",
    "SELECT count(*) FROM task t WHERE sequence <> (SELECT count(*) FROM event WHERE task = t.key)",
    "SELECT count(*) FROM task t "
    "WHERE state <> (SELECT state FROM event WHERE task = t.key ORDER BY sequence DESC LIMIT 1)",
    "SELECT count(*) FROM task t "
    "WHERE open_dependencies <> (SELECT count(*) FROM dependency WHERE task = t.key AND is_open = "
    "1)",
};

static void look_at_end(struct life *life)
{
    struct looker looker;
    char text[200];
    size_t len = 0;
    looker_open(&looker, life->ground.db_name);
    CHECK_TEXT("ok", looker_integrity(&looker, text));
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        sqlite3_stmt *row = NULL;
        CHECK_EQ(SQLITE_OK, sqlite3_prepare_v2(looker.db, sums[i], -1, &row, NULL));
        CHECK_EQ(SQLITE_ROW, sqlite3_step(row));
        const unsigned char *got = sqlite3_column_text(row, 0);
        int more = snprintf(life->end + len, sizeof life->end - len, "%s\n",
                            got == NULL ? "-" : (const char *)got);
        CHECK(more >= 0 && len + (size_t)more < sizeof life->end);
        len += (size_t)more;
        (void)sqlite3_finalize(row);
    }
    looker_close(&looker);
}

static void arm_disk(struct life *life, enum disk_fault fault, int64_t at, int64_t count)
{
    life->kind = FAULT_DISK;
    disk_strike(&life->ground.disk, fault, at, count);
}

/* The whole life, on a new store. arm is called when the handle is open, or before that with
 * is_early. */
static void live(struct life *life, enum fault_kind kind, int64_t at)
{
    life->kind = kind;
    life->strikes_at = at;
    life->points = 0;
    life->has_struck = false;
    life->is_dead = false;
    life->has_died = false;
    life->locked_epoch = 0;
    life->boot_ms = BOOT_BEGAN_MS;
    life->random = 7;
    memory.count = 0;
    memory.fails_at = kind == FAULT_MEMORY ? at : 0;
    memory.has_struck = false;
    CHECK_OK(pawl_arena_open(&life->keep, 0), NULL);
    open_store(life);
    add_tasks(life);
    work(life);
    end_tasks(life);
    lose_work(life);
    consume(life);
    remove_old(life);
    pawl_close(life->pawl);
    life->pawl = NULL;
    pawl_arena_close(life->keep);
    life->has_struck = life->has_struck || life->ground.disk.has_struck || memory.has_struck;
    disk_heal(&life->ground.disk);
    life->kind = FAULT_NONE;
    memory.fails_at = 0;
    look_at_end(life);
}

/* An empty disk, or one with a new store on it. */
static void reset_disk(struct life *life, bool has_store)
{
    struct ground *ground = &life->ground;
    disk_reset(&ground->disk, 1);
    ground->disk.keeps_safe = true;
    ground->disk.has_struck = false;
    if (!has_store) return;
    disk_put(&ground->disk, ground->db_name, ground->db.ptr, ground->db.len);
    disk_put(&ground->disk, ground->wal_name, ground->wal.ptr, ground->wal.len);
}

static void life_open(struct life *life)
{
    const char *where = getenv("TMPDIR");
    if (where == NULL || strlen(where) > sizeof life->folder / 2) where = "/tmp";
    CHECK(sim_folder_make(where, life->folder, sizeof life->folder));
    ground_open(&life->ground, life->folder);
}

static void life_close(struct life *life)
{
    ground_close(&life->ground);
    (void)rmdir(life->folder);
}

/* What the store looks like when nothing goes wrong. */
static void learn_end(struct life *life, char want[TEXT_BYTES_MAX])
{
    reset_disk(life, true);
    live(life, FAULT_NONE, 0);
    memcpy(want, life->end, TEXT_BYTES_MAX);
    CHECK(strstr(want, "urgent 5 ") != NULL);
    CHECK(strstr(want, "guarded 5 5 2 ") != NULL);
    CHECK(strstr(want, "second 7 ") != NULL || strstr(want, "third 7 ") != NULL);
}

/* ---- The turns ----------------------------------------------------------------------------- */

static struct life life;
static char want[TEXT_BYTES_MAX];

static void fail_in_turn(enum fault_kind kind, int64_t stride)
{
    int64_t at = 1 - stride;
    life_open(&life);
    learn_end(&life, want);
    do {
        at += stride;
        CHECK(at < FAULTS_MAX);
        reset_disk(&life, true);
        live(&life, kind, at);
        CHECK_TEXT(want, life.end);
    } while (life.has_struck);
    CHECK(at > 100);
    life_close(&life);
}

TEST("any statement may fail once: whoever asks again finds the store as if nothing had happened")
{
    fail_in_turn(FAULT_STATEMENT, 1);
}

TEST("the process may die before any statement, and after any commit")
{
    life.cuts_power = false;
    fail_in_turn(FAULT_KILL, 1);
}

/* Allocations are thousands, most of them SQLite's own in preparing statements: only every n-th fails. Where each life
 * takes its time under a sanitizer, only every n-th fault of the disk too. With PAWL_FAULTS=all each one. */
static int64_t stride_of(enum fault_kind kind)
{
#if defined(__SANITIZE_ADDRESS__)
    enum { MEMORY_STRIDE = 13, DISK_STRIDE = 4 };
#else
    enum { MEMORY_STRIDE = 4, DISK_STRIDE = 1 };
#endif
    const char *which = getenv("PAWL_FAULTS");
    if (which != NULL && strcmp(which, "all") == 0) return 1;
    return kind == FAULT_MEMORY ? MEMORY_STRIDE : DISK_STRIDE;
}

TEST("any allocation may fail once")
{
    fail_in_turn(FAULT_MEMORY, stride_of(FAULT_MEMORY));
}

static void fail_disk_in_turn(enum disk_fault fault, int64_t count, bool has_store)
{
    int64_t at = 1 - stride_of(FAULT_DISK);
    life_open(&life);
    learn_end(&life, want);
    do {
        at += stride_of(FAULT_DISK);
        CHECK(at < FAULTS_MAX);
        reset_disk(&life, has_store);
        arm_disk(&life, fault, at, count);
        live(&life, FAULT_DISK, 0);
        CHECK_TEXT(want, life.end);
    } while (life.has_struck);
    CHECK(at > 50);
    life_close(&life);
}

TEST("any write or sync of the disk may fail once, from the first one of a new store on")
{
    fail_disk_in_turn(DISK_FAILS, 1, false);
}

TEST("the disk may be full at any write")
{
    fail_disk_in_turn(DISK_IS_FULL, 1, false);
}

TEST("the process may die in any write or sync, which may be there in part")
{
    life.cuts_power = false;
    fail_disk_in_turn(DISK_DIES, INT64_MAX, false);
}

TEST("the power may be cut in any write or sync: what was not synced may be there or not")
{
    life.cuts_power = true;
    fail_disk_in_turn(DISK_DIES, INT64_MAX, false);
    life.cuts_power = false;
}

TEST("what a process left that died in a sync is on the disk when it is acknowledged to who asks "
     "again")
{
    life.cuts_power_later = true;
    fail_disk_in_turn(DISK_DIES, INT64_MAX, true);
    life.cuts_power_later = false;
}
