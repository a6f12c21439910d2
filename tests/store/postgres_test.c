/* What only PostgreSQL can do to a store: several processes at once, answers that are lost,
 * connections that die. The rest of the suite is store_test.c, which runs on both. */
#include "postgres_lab.h"

#include "base/number.h"
#include "base/str.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* ---- Labs ----------------------------------------------------------------------------------- */

static void open_lab(struct lab *lab)
{
    lab_open(lab, &postgres_kind);
}

/* One step that adds a task and an event. */
static enum pawl_code try_add(struct lab *lab, int64_t key)
{
    enum pawl_code code = lab_try_begin(lab);
    if (code != PAWL_OK) return code;
    lab_put_task(lab, key, 1);
    lab_put_event(lab, key, 1);
    lab->head.next_key = key + 1;
    return lab_try_commit(lab);
}

static void add(struct lab *lab, int64_t key)
{
    CHECK_OK(try_add(lab, key), &lab->err);
}

static bool has_task(struct lab *lab, int64_t key)
{
    lab_begin(lab);
    bool has = lab_task(lab, key) != NULL;
    pawl_store_rollback(lab->store);
    return has;
}

/* Does something when a statement is about to be sent, once. */
struct trap {
    int32_t point;
    void (*spring)(struct trap *trap);
    void *of;
    bool is_sprung;
};

static enum pawl_code before(void *self, int32_t point, struct pawl_error *err)
{
    struct trap *trap = self;
    (void)err;
    if (point == trap->point && !trap->is_sprung) {
        trap->is_sprung = true;
        trap->spring(trap);
    }
    return PAWL_OK;
}

static void set_trap(struct lab *lab, struct trap *trap)
{
    pawl_store_db(lab->store)->hook = (struct pawl_db_hook){before, trap};
}

/* ---- Opening -------------------------------------------------------------------------------- */

TEST("D-18 on PostgreSQL a change is on disk when its commit returns, whatever the default is")
{
    static struct lab lab;
    lab_prepare(&lab, &postgres_kind);
    size_t len = strlen(lab.target); /* its last parameter is options */
    (void)snprintf(lab.target + len, sizeof lab.target - len, "%%20-csynchronous_commit%%3Doff");
    CHECK_OK(lab_store(&lab, false, &lab.store), &lab.err);
    CHECK_TEXT("off", postgres_sql(lab.target, "SHOW synchronous_commit"));
    (void)postgres_sql(lab.target, "CREATE TABLE seen (setting text); "
                                   "CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS "
                                   "'BEGIN INSERT INTO seen VALUES "
                                   "(current_setting(''synchronous_commit'')); RETURN NULL; END'; "
                                   /* at the commit itself */
                                   "CREATE CONSTRAINT TRIGGER see AFTER UPDATE ON head DEFERRABLE "
                                   "INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION see()");
    for (int64_t key = 1; key <= 3; key++) add(&lab, key);
    CHECK_TEXT("on on on", postgres_sql(lab.target, "SELECT string_agg(setting, ' ') FROM seen"));
    lab_close(&lab);
}

TEST("on PostgreSQL a store is made in a schema of its own, once")
{
    static struct lab lab;
    lab_prepare(&lab, &postgres_kind);
    CHECK_CODE(PAWL_NOT_FOUND, lab_store(&lab, true, &lab.store));
    CHECK_OK(lab_store(&lab, false, &lab.store), &lab.err);
    add(&lab, 1);
    lab_reopen(&lab);
    CHECK(has_task(&lab, 1));
    CHECK_TEXT("1", postgres_sql(lab.target, "SELECT count(*) FROM meta"));
    lab_close(&lab);
}

static void *open_at_once(void *self)
{
    struct lab *lab = self;
    return lab_store(lab, false, &lab->store) == PAWL_OK ? self : NULL;
}

TEST("many who open a new store on PostgreSQL at once make one")
{
    enum { COUNT = 6 };
    static struct lab labs[COUNT];
    pthread_t threads[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        lab_prepare(&labs[i], &postgres_kind);
        memcpy(labs[i].target, labs[0].target, sizeof labs[i].target);
    }
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_EQ(0, pthread_create(&threads[i], NULL, open_at_once, &labs[i]));
    }
    for (size_t i = 0; i < COUNT; i++) {
        void *result = NULL;
        CHECK_EQ(0, pthread_join(threads[i], &result));
        if (result == NULL) FAIL("%s", labs[i].err.text);
    }
    CHECK_TEXT("1", postgres_sql(labs[0].target, "SELECT count(*) FROM meta"));
    for (size_t i = 0; i < COUNT; i++) lab_close(&labs[i]);
}

TEST("a schema that holds something else is refused and left alone")
{
    static struct lab lab;
    lab_prepare(&lab, &postgres_kind);
    (void)postgres_sql(lab.target,
                       "DO 'BEGIN EXECUTE ''CREATE SCHEMA '' || current_setting(''search_path'')"
                       "; END'; CREATE TABLE theirs (a int)");
    CHECK_CODE(PAWL_UNSUPPORTED, lab_store(&lab, false, &lab.store));
    CHECK_TEXT("1",
               postgres_sql(lab.target,
                            "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"));
    lab_close(&lab);
}

TEST("a newer schema on PostgreSQL is refused, at open and by whoever has it open")
{
    static struct lab lab;
    struct pawl_store *second = NULL;
    open_lab(&lab);
    (void)postgres_sql(lab.target, "UPDATE meta SET schema_version = schema_version + 1");
    CHECK_CODE(PAWL_UNSUPPORTED, lab_try_begin(&lab));
    CHECK_CODE(PAWL_UNSUPPORTED, lab_store(&lab, false, &second));
    lab_close(&lab);
}

TEST("a schema without its first rows is CORRUPT")
{
    static struct lab lab;
    open_lab(&lab);
    (void)postgres_sql(lab.target, "DELETE FROM meta");
    CHECK_CODE(PAWL_CORRUPT, lab_try_begin(&lab));
    struct pawl_store *second = NULL;
    CHECK_CODE(PAWL_CORRUPT, lab_store(&lab, false, &second));
    lab_close(&lab);
}

TEST("a server that is not there is IO, and the sentence tells no password")
{
    static struct lab lab;
    lab_prepare(&lab, &postgres_kind);
    struct pawl_store *store = NULL;
    (void)snprintf(lab.target, sizeof lab.target, "postgres://me:hunter2@127.0.0.1:1/nowhere");
    CHECK_CODE(PAWL_IO, lab_store(&lab, false, &store));
    CHECK(strstr(lab.err.text, "hunter2") == NULL);
    CHECK(strstr(lab.err.text, "127.0.0.1") != NULL);
    (void)snprintf(lab.target, sizeof lab.target, "postgres://me:hunter2@127.0.0.1:port/?what");
    CHECK_CODE(PAWL_IO, lab_store(&lab, false, &store));
    CHECK(strstr(lab.err.text, "hunter2") == NULL);
    lab_close(&lab);
}

/* ---- Values --------------------------------------------------------------------------------- */

static void put_payload(struct lab *lab, int64_t number, struct pawl_str body)
{
    pawl_set_put(&lab->set, PAWL_LOOK_PAYLOAD, number, (struct pawl_str){0}, 0,
                 LAB_TAKE(lab, body));
}

TEST("a zero byte in text is INVALID on PostgreSQL, and nothing is written")
{
    static struct lab lab;
    open_lab(&lab);
    lab_begin(&lab);
    lab_put_task(&lab, 1, 1);
    put_payload(&lab, 16, (struct pawl_str){"a\0b", 3});
    CHECK_CODE(PAWL_INVALID, lab_try_commit(&lab));
    CHECK(!has_task(&lab, 1));
    lab_close(&lab);
}

TEST("more than the buffers of both ends hold goes through in one step")
{
    enum { COUNT = 200, BYTES = 128 * 1024 };
    static struct lab lab;
    static char body[BYTES];
    open_lab(&lab);
    lab_begin(&lab);
    for (int64_t key = 1; key <= COUNT; key++) {
        memset(body, 'a' + (char)(key % 26), sizeof body);
        lab_put_task(&lab, key, 1);
        struct pawl_str copy = pawl_arena_copy(lab.arena, (struct pawl_str){body, sizeof body});
        put_payload(&lab, key * 16, copy);
    }
    lab_commit(&lab);

    lab_begin(&lab);
    for (int64_t key = 1; key <= COUNT; key++) {
        (void)pawl_set_look(&lab.set, PAWL_LOOK_PAYLOAD, key * 16, (struct pawl_str){0}, 0, 0);
    }
    lab_load(&lab);
    for (int64_t key = 1; key <= COUNT; key++) {
        const struct pawl_str *got = lab_look(&lab, PAWL_LOOK_PAYLOAD, key * 16, NULL, 0, 0)->row;
        CHECK(got != NULL);
        memset(body, 'a' + (char)(key % 26), sizeof body);
        CHECK_BYTES(body, sizeof body, got->ptr, got->len);
    }
    pawl_store_rollback(lab.store);
    lab_close(&lab);
}

/* ---- Several processes ---------------------------------------------------------------------- */

struct waiter {
    pthread_t thread;
    struct lab *lab;
    struct pawl_store *store;
    struct pawl_set set;
    struct pawl_head head;
    struct pawl_error err;
    enum pawl_code code;
};

static void *begin_beside(void *self)
{
    struct waiter *waiter = self;
    waiter->code = pawl_store_begin(waiter->store, &waiter->head, &waiter->err);
    return NULL;
}

TEST("steps of two processes go one after the other, and the second sees the first")
{
    static struct lab lab;
    struct postgres_side side;
    open_lab(&lab);
    postgres_side_open(&side, lab.target);
    struct waiter waiter = {.lab = &lab};
    CHECK_OK(lab_store(&lab, true, &waiter.store), &lab.err);

    lab_begin(&lab);
    CHECK_EQ(0, pthread_create(&waiter.thread, NULL, begin_beside, &waiter));
    postgres_await_lock(&side, &lab);
    lab_put_task(&lab, 1, 1);
    lab_put_event(&lab, 1, 1);
    lab.head.next_key = 2;
    lab_commit(&lab);
    CHECK_EQ(0, pthread_join(waiter.thread, NULL));
    CHECK_OK(waiter.code, &waiter.err);
    CHECK_EQ(1, waiter.head.position);
    CHECK_EQ(2, waiter.head.next_key);
    CHECK(waiter.head.now_ms >= lab.head.now_ms);

    pawl_store_close(waiter.store);
    postgres_side_close(&side);
    lab_close(&lab);
}

static void *begin_with_beside(void *self)
{
    struct waiter *waiter = self;
    waiter->code = pawl_store_begin_with(waiter->store, &waiter->set, &waiter->head, &waiter->err);
    return NULL;
}

TEST("what is loaded with the begin is read once the turn is had, though it was asked for before")
{
    static struct lab lab;
    struct pawl_arena *arena = NULL;
    struct postgres_side side;
    open_lab(&lab);
    add(&lab, 1);
    postgres_side_open(&side, lab.target);
    struct waiter waiter = {.lab = &lab};
    CHECK_OK(pawl_arena_open(&arena, 1024 * 1024), &lab.err);
    CHECK_OK(lab_store(&lab, true, &waiter.store), &lab.err);
    pawl_set_init(&waiter.set, arena);
    struct pawl_entry *old = pawl_set_look(&waiter.set, PAWL_LOOK_TASK, 1, PAWL_STR(""), 0, 0);
    struct pawl_entry *new =
        pawl_set_look(&waiter.set, PAWL_LOOK_TASK_ID, 0, PAWL_STR("t-2"), 0, 0);

    lab_begin(&lab);
    CHECK_EQ(0, pthread_create(&waiter.thread, NULL, begin_with_beside, &waiter));
    postgres_await_lock(&side, &lab);
    struct pawl_task_row *task =
        pawl_set_change(&lab.set, lab_look(&lab, PAWL_LOOK_TASK, 1, NULL, 0, 0));
    task->epoch = 7;
    lab_put_task(&lab, 2, 1);
    lab_put_event(&lab, 2, 1);
    lab.head.next_key = 3;
    lab_commit(&lab);
    CHECK_EQ(0, pthread_join(waiter.thread, NULL));
    CHECK_OK(waiter.code, &waiter.err);
    CHECK_EQ(3, waiter.head.next_key);
    CHECK_EQ(0, waiter.set.wanted.count);
    CHECK(old->is_loaded && old->row != NULL);
    CHECK_EQ(7, ((const struct pawl_task_row *)old->row)->epoch);
    CHECK(new->is_loaded &&new->row != NULL);
    CHECK_EQ(2, *(const int64_t *)new->row);

    pawl_store_close(waiter.store);
    pawl_arena_close(arena);
    postgres_side_close(&side);
    lab_close(&lab);
}

static int64_t trips(const struct lab *lab)
{
    const struct pawl_db *db = pawl_store_db(lab->store);
    return db->driver->trips(db);
}

TEST("a begin with its loads is one round trip, and so are the writes with their commit")
{
    static struct lab lab;
    open_lab(&lab);
    for (int64_t key = 1; key <= 3; key++) {
        pawl_arena_reset(lab.arena);
        pawl_set_init(&lab.set, lab.arena);
        for (int64_t i = 1; i <= 3; i++) {
            (void)pawl_set_look(&lab.set, PAWL_LOOK_TASK, i, PAWL_STR(""), 0, 0);
            (void)pawl_set_look(&lab.set, PAWL_LOOK_QUEUE, i, PAWL_STR(""), 0, 0);
        }
        int64_t before = trips(&lab);
        CHECK_OK(pawl_store_begin_with(lab.store, &lab.set, &lab.head, &lab.err), &lab.err);
        CHECK_EQ(1, trips(&lab) - before);
        CHECK_EQ(0, lab.set.wanted.count);
        lab_put_task(&lab, key, 1);
        lab_put_event(&lab, key, 1);
        lab.head.next_key = key + 1;
        lab_commit(&lab);
        CHECK_EQ(2, trips(&lab) - before);
    }
    int64_t due_at_ms = 0;
    int64_t now_ms = 0;
    int64_t before = trips(&lab);
    CHECK_OK(pawl_store_next_due(lab.store, &due_at_ms, &now_ms, &lab.err), &lab.err);
    CHECK_EQ(1, trips(&lab) - before);
    lab_begin(&lab);
    pawl_store_rollback(lab.store); /* nobody waits for it */
    CHECK_EQ(2, trips(&lab) - before);
    lab_close(&lab);
}

TEST("a schema that has become a newer one is told, though loads with the begin fail in it")
{
    static struct lab lab;
    open_lab(&lab);
    (void)postgres_sql(
        lab.target,
        "UPDATE meta SET schema_version = schema_version + 1; ALTER TABLE task RENAME TO job");
    pawl_set_init(&lab.set, lab.arena);
    (void)pawl_set_look(&lab.set, PAWL_LOOK_TASK, 1, PAWL_STR(""), 0, 0);
    CHECK_CODE(PAWL_UNSUPPORTED, pawl_store_begin_with(lab.store, &lab.set, &lab.head, &lab.err));
    lab_close(&lab);
}

TEST("who waits 5 s for the turn gets BUSY, and it is no race")
{
    static struct lab lab;
    open_lab(&lab);
    struct waiter waiter = {.lab = &lab};
    CHECK_OK(lab_store(&lab, true, &waiter.store), &lab.err);
    lab_begin(&lab);
    (void)begin_beside(&waiter);
    CHECK_CODE(PAWL_BUSY, waiter.code);
    CHECK(!pawl_store_was_race(waiter.store));
    pawl_store_rollback(lab.store);
    (void)begin_beside(&waiter);
    CHECK_OK(waiter.code, &waiter.err);
    pawl_store_close(waiter.store);
    lab_close(&lab);
}

TEST("a row that another has inserted since it was looked for is a lost race, and is found then")
{
    static struct lab lab;
    open_lab(&lab);
    add(&lab, 1);
    lab_begin(&lab);
    CHECK(lab_look(&lab, PAWL_LOOK_TASK_ID, 0, "t-2", 0, 0)->row == NULL);
    lab_put_task(&lab, 2, 1);
    (void)postgres_sql(
        lab.target,
        "CREATE TEMP TABLE copy AS SELECT * FROM task; UPDATE copy SET key = 9, id = 't-2';"
        "INSERT INTO task SELECT * FROM copy");
    CHECK_CODE(PAWL_BUSY, lab_try_commit(&lab));
    CHECK(pawl_store_was_race(lab.store));
    lab_begin(&lab);
    CHECK(!pawl_store_was_race(lab.store));
    CHECK_EQ(9, *(int64_t *)lab_look(&lab, PAWL_LOOK_TASK_ID, 0, "t-2", 0, 0)->row);
    pawl_store_rollback(lab.store);
    lab_close(&lab);
}

TEST("a row that is not as it was read is a lost race, and the whole step with it")
{
    static struct lab lab;
    open_lab(&lab);
    add(&lab, 1);
    lab_begin(&lab);
    struct pawl_entry *entry = lab_look(&lab, PAWL_LOOK_TASK, 1, NULL, 0, 0);
    struct pawl_task_row *task = pawl_set_change(&lab.set, entry);
    task->epoch = 8;
    ((struct pawl_task_row *)entry->saved)->epoch = 7; /* as if it had been read so */
    lab_put_task(&lab, 2, 1);
    lab_put_event(&lab, 2, 1);
    CHECK_CODE(PAWL_BUSY, lab_try_commit(&lab));
    CHECK(pawl_store_was_race(lab.store));
    CHECK_TEXT("0", postgres_sql(lab.target, "SELECT epoch FROM task WHERE key = 1"));
    CHECK(!has_task(&lab, 2));
    CHECK_EQ(1, lab.head.position);
    lab_close(&lab);
}

TEST(
    "one row among many that is not as it was read is a lost race, and nothing of the step is kept")
{
    static struct lab lab;
    open_lab(&lab);
    for (int64_t key = 1; key <= 5; key++) add(&lab, key);
    lab_begin(&lab);
    for (int64_t key = 1; key <= 5; key++) {
        struct pawl_entry *entry = lab_look(&lab, PAWL_LOOK_TASK, key, NULL, 0, 0);
        struct pawl_task_row *task = pawl_set_change(&lab.set, entry);
        task->epoch = 8;
        if (key == 3) ((struct pawl_task_row *)entry->saved)->epoch = 7;
    }
    CHECK_CODE(PAWL_BUSY, lab_try_commit(&lab));
    CHECK(pawl_store_was_race(lab.store));
    CHECK_TEXT("0", postgres_sql(lab.target, "SELECT count(*) FROM task WHERE epoch <> 0"));
    lab_close(&lab);
}

/* ---- Connections that die ------------------------------------------------------------------- */

TEST("a connection that was lost while nothing went on is made anew, and nobody notices")
{
    static struct lab lab;
    struct postgres_side side;
    open_lab(&lab);
    postgres_side_open(&side, lab.target);
    add(&lab, 1);
    postgres_end_backends(&side, &lab);
    add(&lab, 2);
    postgres_end_backends(&side, &lab);
    int64_t due_at_ms = 0;
    int64_t now_ms = 0;
    CHECK_OK(pawl_store_next_due(lab.store, &due_at_ms, &now_ms, &lab.err), &lab.err);
    CHECK(has_task(&lab, 1));
    CHECK(has_task(&lab, 2));
    postgres_side_close(&side);
    lab_close(&lab);
}

TEST("a connection that is lost in the middle of a step is a lost race: nothing is committed")
{
    static struct lab lab;
    struct postgres_side side;
    open_lab(&lab);
    postgres_side_open(&side, lab.target);
    lab_begin(&lab);
    lab_put_task(&lab, 1, 1);
    lab_put_event(&lab, 1, 1);
    CHECK_OK(pawl_store_save(lab.store, &lab.set, &lab.err), &lab.err);
    postgres_end_backends(&side, &lab);
    CHECK_CODE(PAWL_BUSY, pawl_store_commit(lab.store, &lab.set, &lab.head, &lab.err));
    CHECK(pawl_store_was_race(lab.store));
    CHECK(!has_task(&lab, 1));
    add(&lab, 1);
    CHECK(has_task(&lab, 1));
    postgres_side_close(&side);
    lab_close(&lab);
}

TEST("a connection that is lost before a load is a lost race")
{
    static struct lab lab;
    struct postgres_side side;
    open_lab(&lab);
    postgres_side_open(&side, lab.target);
    lab_begin(&lab);
    postgres_end_backends(&side, &lab);
    (void)pawl_set_look(&lab.set, PAWL_LOOK_TASK, 1, (struct pawl_str){0}, 0, 0);
    CHECK_CODE(PAWL_BUSY, pawl_store_load(lab.store, &lab.set, &lab.err));
    CHECK(pawl_store_was_race(lab.store));
    pawl_store_rollback(lab.store);
    add(&lab, 1);
    postgres_side_close(&side);
    lab_close(&lab);
}

/* A lab whose store goes through a proxy. */
static void open_behind(struct lab *lab, struct proxy *proxy)
{
    lab_prepare(lab, &postgres_kind);
    proxy_open(proxy, lab);
    CHECK_OK(lab_store(lab, false, &lab->store), &lab->err);
}

static void close_behind(struct lab *lab, struct proxy *proxy)
{
    pawl_store_close(lab->store);
    lab->store = NULL;
    proxy_close(proxy);
    lab_close(lab);
}

/* The first question after the trap is the rest of the step's statements, and COMMIT with them. */
static void lose_answer(struct trap *trap)
{
    proxy_set(trap->of, PROXY_LOSE_ANSWER, 0);
}

static void lose_request(struct trap *trap)
{
    proxy_set(trap->of, PROXY_LOSE_REQUEST, 0);
}

static void forget(struct trap *trap)
{
    proxy_set(trap->of, PROXY_FORGET, 0);
}

TEST("a commit whose answer is lost is found to have been done, and is done once")
{
    static struct lab lab;
    static struct proxy proxy;
    open_behind(&lab, &proxy);
    for (int64_t key = 1; key <= 3; key++) { /* the first step has no row in node yet */
        struct trap trap = {.point = PAWL_SQL_COMMIT, .spring = lose_answer, .of = &proxy};
        set_trap(&lab, &trap);
        add(&lab, key);
        CHECK(trap.is_sprung);
        CHECK_EQ(key, lab.head.position);
        CHECK(has_task(&lab, key));
    }
    CHECK(strstr(lab.log_text, "event=store.answer_lost outcome=committed") != NULL);
    close_behind(&lab, &proxy);
}

TEST("a commit that never reached the server is a lost race")
{
    static struct lab lab;
    static struct proxy proxy;
    open_behind(&lab, &proxy);
    for (int64_t key = 1; key <= 3; key++) {
        struct trap trap = {.point = PAWL_SQL_COMMIT, .spring = lose_request, .of = &proxy};
        set_trap(&lab, &trap);
        CHECK_CODE(PAWL_BUSY, try_add(&lab, key));
        CHECK(trap.is_sprung);
        CHECK(pawl_store_was_race(lab.store));
        CHECK(!has_task(&lab, key));
        add(&lab, key);
    }
    close_behind(&lab, &proxy);
}

TEST("a commit that hangs in the network cannot be done any more once it was told lost")
{
    static struct lab lab;
    static struct proxy proxy;
    open_behind(&lab, &proxy);
    add(&lab, 1);
    struct trap trap = {.point = PAWL_SQL_COMMIT, .spring = forget, .of = &proxy};
    set_trap(&lab, &trap);
    /* the server still waits for it, with the row of head locked; it is ended, not waited for */
    CHECK_CODE(PAWL_BUSY, try_add(&lab, 2));
    CHECK(pawl_store_was_race(lab.store));
    add(&lab, 2);
    close_behind(&lab, &proxy);
}

static void lose_server(struct trap *trap)
{
    proxy_set(trap->of, PROXY_LOSE_SERVER, 0);
}

TEST("when the server stays away after a lost answer the outcome is UNKNOWN, and known when it is "
     "back")
{
    static struct lab lab;
    static struct proxy proxy;
    open_behind(&lab, &proxy);
    add(&lab, 1);
    struct trap trap = {.point = PAWL_SQL_COMMIT, .spring = lose_server, .of = &proxy};
    set_trap(&lab, &trap);
    CHECK_CODE(PAWL_UNKNOWN_OUTCOME, try_add(&lab, 2));
    CHECK_CODE(PAWL_BUSY, lab_try_begin(&lab));
    proxy_set(&proxy, PROXY_PASS, 0);
    CHECK(has_task(&lab, 2));

    /* what that commit has left behind is not taken for another's */
    trap = (struct trap){.point = PAWL_SQL_COMMIT, .spring = lose_request, .of = &proxy};
    CHECK_CODE(PAWL_BUSY, try_add(&lab, 3));
    CHECK(!has_task(&lab, 3));
    add(&lab, 3);
    close_behind(&lab, &proxy);
}

TEST("a statement that fails in the middle takes the commit behind it along, and is known to")
{
    static struct lab lab;
    open_lab(&lab);
    add(&lab, 1);
    (void)postgres_sql(lab.target, "ALTER TABLE event ADD CONSTRAINT none CHECK (task <> 2)");
    CHECK_CODE(PAWL_IO, try_add(&lab, 2));
    CHECK(!pawl_store_was_race(lab.store));
    CHECK(!has_task(&lab, 2));
    CHECK_EQ(1, lab.head.position);
    CHECK(strstr(lab.log_text, "event=store.answer_lost") == NULL);
    add(&lab, 3);
    lab_close(&lab);
}

struct ending {
    struct postgres_side side;
    struct lab *lab;
};

static void end_all(struct trap *trap)
{
    struct ending *ending = trap->of;
    postgres_end_backends(&ending->side, ending->lab);
}

TEST("a process of the server that is ended at any statement of a step costs that step only")
{
    static struct lab lab;
    struct ending ending = {.lab = &lab};
    open_lab(&lab);
    postgres_side_open(&ending.side, lab.target);
    const int32_t points[] = {PAWL_SQL_BEGIN_WRITE, PAWL_SQL_HEAD_LOCK, PAWL_SQL_META_GET,
                              PAWL_SQL_TASK_BY_KEY, PAWL_SQL_TASK_ADD,  PAWL_SQL_EVENT_ADD,
                              PAWL_SQL_HEAD_SAVE,   PAWL_SQL_COMMIT};
    for (size_t i = 0; i < COUNT_OF(points); i++) {
        struct trap trap = {.point = points[i], .spring = end_all, .of = &ending};
        int64_t key = (int64_t)i + 1;
        set_trap(&lab, &trap);
        enum pawl_code code = lab_try_begin(&lab);
        if (code == PAWL_OK) {
            (void)pawl_set_look(&lab.set, PAWL_LOOK_TASK, 1, (struct pawl_str){0}, 0, 0);
            code = pawl_store_load(lab.store, &lab.set, &lab.err);
            if (code != PAWL_OK) pawl_store_rollback(lab.store);
        }
        if (code == PAWL_OK) {
            lab_put_task(&lab, key, 1);
            lab_put_event(&lab, key, 1);
            code = lab_try_commit(&lab);
        }
        CHECK(trap.is_sprung);
        if (code != PAWL_OK) { /* at begin it was only made anew */
            CHECK_CODE(PAWL_BUSY, code);
            CHECK(pawl_store_was_race(lab.store));
            CHECK(!has_task(&lab, key));
            add(&lab, key);
        }
        CHECK_EQ(key, lab.head.position);
    }
    postgres_side_close(&ending.side);
    lab_close(&lab);
}

/* ---- The clock ------------------------------------------------------------------------------ */

TEST("now is the server's clock, whatever ours says, and never falls behind a committed one")
{
    static struct lab lab;
    open_lab(&lab);
    lab.world.wall_ms = 1;
    lab_begin(&lab);
    int64_t server_ms = 0;
    const char *text =
        postgres_sql(lab.target, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint");
    CHECK(pawl_int64_parse(pawl_str_of(text), 1, INT64_MAX, &server_ms));
    CHECK_NEAR(server_ms, lab.head.now_ms, 5000);
    CHECK_EQ(0, lab.head.wall_offset_ms);
    pawl_store_rollback(lab.store);

    (void)postgres_sql(lab.target, "UPDATE head SET now_ms = 2000000000000");
    lab_begin(&lab);
    CHECK_EQ(INT64_C(2000000000000), lab.head.now_ms);
    pawl_store_rollback(lab.store);
    CHECK(strstr(lab.log_text, "event=clock.behind") != NULL);
    lab_close(&lab);
}

/* ---- The bell ------------------------------------------------------------------------------- */

static bool is_ringing(struct lab *lab, int wait_ms)
{
    struct pollfd fd = {.fd = pawl_store_bell_fd(lab->store), .events = POLLIN};
    CHECK(fd.fd >= 0);
    return poll(&fd, 1, wait_ms) > 0;
}

/* Whether the bell rings for others' sake within the time; what else makes it readable is drained.
 */
static bool hears(struct lab *lab, int wait_ms)
{
    while (is_ringing(lab, wait_ms)) {
        if (pawl_store_bell_drain(lab->store)) return true;
    }
    return false;
}

TEST("the bell tells of others' commits, not of own ones, and of those that matter")
{
    static struct lab lab;
    open_lab(&lab);
    struct lab other = lab;
    CHECK_OK(lab_store(&lab, true, &other.store), &lab.err);
    CHECK(hears(&lab, 10000)); /* it begins by looking */
    CHECK(!hears(&lab, 0));

    add(&other, 1);
    CHECK(hears(&lab, 10000));
    add(&lab, 2);
    CHECK(!hears(&lab, 200));
    CHECK(hears(&other, 10000));
    add(&lab, 3);
    CHECK(hears(&other, 10000));

    lab_begin(&other); /* a renewal makes nothing ready and tells no event */
    struct pawl_task_row *task =
        pawl_set_change(&other.set, lab_look(&other, PAWL_LOOK_TASK, 1, NULL, 0, 0));
    task->lease_ms++;
    lab_commit(&other);
    CHECK(!hears(&lab, 200));

    pawl_store_close(other.store);
    lab_close(&lab);
}

TEST("a store that is too busy to drain its bell forgets no ringing")
{
    static struct lab lab;
    open_lab(&lab);
    struct lab other = lab;
    CHECK_OK(lab_store(&lab, true, &other.store), &lab.err);
    CHECK(hears(&lab, 10000));
    add(&other, 1);
    CHECK(is_ringing(&lab, 10000));
    for (int64_t key = 2; key <= 600; key++)
        add(&lab, key); /* takes what comes, and keeps the ringing */
    CHECK(hears(&lab, 10000));
    CHECK(!hears(&lab, 200));
    pawl_store_close(other.store);
    lab_close(&lab);
}

TEST("a bell that broke counts as rung, rings again, and keeps its descriptor")
{
    static struct lab lab;
    struct postgres_side side;
    open_lab(&lab);
    postgres_side_open(&side, lab.target);
    int fd = pawl_store_bell_fd(lab.store);
    CHECK(hears(&lab, 10000));
    postgres_end_backends(&side, &lab);
    CHECK(hears(&lab, 10000));
    CHECK(!hears(&lab, 0));
    struct lab other = lab;
    CHECK_OK(lab_store(&lab, true, &other.store), &lab.err);
    add(&other, 1);
    CHECK(hears(&lab, 10000));
    CHECK_EQ(fd, pawl_store_bell_fd(lab.store));
    pawl_store_close(other.store);
    postgres_side_close(&side);
    lab_close(&lab);
}

TEST_MAIN()
