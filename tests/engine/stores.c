#include "stores.h"

#include "base/arena.h"
#if PAWL_POSTGRES
#include "store/libpq.h"
#endif

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEEP_BYTES_MAX = 512 * 1024 * 1024 };

struct lab_hold {
    int turn_fd; /* SQLite; -1 = not held */
#if PAWL_POSTGRES
    struct pawl_libpq pq;
    PGconn *conn;
#endif
};

/* ---- PostgreSQL ---- */

#if PAWL_POSTGRES
static void postgres_skip_without(struct lab *lab)
{
    const char *uri = getenv("PAWL_TEST_POSTGRES");
    if (uri != NULL && uri[0] != '\0') return;
    free(lab);
    SKIP("PAWL_TEST_POSTGRES names no server: run under tools/with_postgres");
}

static void postgres_target(struct lab *lab)
{
    const char *uri = getenv("PAWL_TEST_POSTGRES");
    /* The folder's name is unlike any other's, and so is the schema's. */
    int len =
        snprintf(lab->target, sizeof lab->target, "%s%coptions=-csearch_path%%3D%%22lab_%s%%22",
                 uri, strchr(uri, '?') == NULL ? '?' : '&', strrchr(lab->folder, '-') + 1);
    CHECK(len > 0 && (size_t)len < sizeof lab->target);
}

static const char *postgres_sql(struct lab *lab, const char *sql)
{
    const char *const keys[] = {"dbname", NULL};
    const char *const values[] = {lab->target, NULL};
    struct pawl_libpq pq = {0};
    CHECK_OK(pawl_libpq_load(&pq, &lab->err), &lab->err);
    PGconn *conn = pq.connectdbParams(keys, values, 1);
    if (pq.status(conn) != CONNECTION_OK) FAIL("%s", pq.errorMessage(conn));
    pq.clear(pq.exec(conn, "SET client_min_messages = error"));
    PGresult *result = pq.exec(conn, sql);
    ExecStatusType status = pq.resultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        FAIL("%s: %s", sql, pq.errorMessage(conn));
    }
    const char *text = pq.ntuples(result) > 0 ? pq.getvalue(result, 0, 0) : "";
    struct pawl_str kept = pawl_arena_format(lab->keep, "%s", text);
    pq.clear(result);
    pq.finish(conn);
    pawl_libpq_unload(&pq);
    return kept.ptr;
}

/* The turn is the row of head (store/statements.sql, HEAD_LOCK). */
static bool postgres_hold(struct lab *lab)
{
    const char *const keys[] = {"dbname", NULL};
    const char *const values[] = {lab->target, NULL};
    struct lab_hold *hold = lab->hold;
    if (pawl_libpq_load(&hold->pq, NULL) != PAWL_OK) return false;
    hold->conn = hold->pq.connectdbParams(keys, values, 1);
    PGresult *result = hold->pq.exec(hold->conn, "BEGIN; SELECT 1 FROM head FOR UPDATE");
    bool holds = hold->pq.resultStatus(result) == PGRES_TUPLES_OK;
    hold->pq.clear(result);
    return holds;
}

static void postgres_let_go(struct lab_hold *hold)
{
    if (hold->conn != NULL) hold->pq.finish(hold->conn);
    pawl_libpq_unload(&hold->pq);
}

static void postgres_remove(struct lab *lab)
{
    (void)postgres_sql(lab, "DO 'BEGIN EXECUTE ''DROP SCHEMA IF EXISTS '' || "
                            "current_setting(''search_path'') || '' CASCADE''; END'");
}
#else
static void postgres_skip_without(struct lab *lab)
{
    free(lab);
    SKIP("this build has no PostgreSQL (PAWL_POSTGRES)");
}

static void postgres_target(struct lab *lab)
{
    (void)lab;
}

static const char *postgres_sql(struct lab *lab, const char *sql)
{
    (void)lab;
    return sql;
}

static bool postgres_hold(struct lab *lab)
{
    (void)lab;
    return false;
}

static void postgres_let_go(struct lab_hold *hold)
{
    (void)hold;
}

static void postgres_remove(struct lab *lab)
{
    (void)lab;
}
#endif

/* ---- SQLite ---- */

static const char *sqlite_sql(struct lab *lab, const char *sql)
{
    sqlite3 *db = NULL;
    CHECK_EQ(SQLITE_OK, sqlite3_open(lab->target, &db));
    (void)sqlite3_busy_timeout(db, 5000);
    struct pawl_str kept = pawl_arena_format(lab->keep, "%s", "");
    const char *rest = sql;
    while (*rest != '\0') {
        sqlite3_stmt *statement = NULL;
        if (sqlite3_prepare_v2(db, rest, -1, &statement, &rest) != SQLITE_OK) {
            FAIL("%s: %s", sql, sqlite3_errmsg(db));
        }
        int got = sqlite3_step(statement);
        if (got == SQLITE_ROW && sqlite3_column_text(statement, 0) != NULL) {
            kept =
                pawl_arena_format(lab->keep, "%s", (const char *)sqlite3_column_text(statement, 0));
        }
        while (got == SQLITE_ROW) got = sqlite3_step(statement);
        if (got != SQLITE_DONE) FAIL("%s: %s", sql, sqlite3_errmsg(db));
        (void)sqlite3_finalize(statement);
    }
    (void)sqlite3_close(db);
    return kept.ptr;
}

/* The turn (engine/turn.h), by its two bytes. */
static bool sqlite_hold(struct lab *lab)
{
    char path[LAB_PATH_BYTES_MAX + 8];
    struct flock both = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 2};
    (void)snprintf(path, sizeof path, "%s-turn", lab->target);
    lab->hold->turn_fd = open(path, O_RDWR | O_CLOEXEC);
    return lab->hold->turn_fd >= 0 && fcntl(lab->hold->turn_fd, F_OFD_SETLKW, &both) == 0;
}

/* ---- */

enum pawl_code lab_hold(struct lab *lab)
{
    lab->hold = calloc(1, sizeof *lab->hold);
    if (lab->hold == NULL) return PAWL_NO_MEMORY;
    lab->hold->turn_fd = -1;
    bool holds = lab->store == LAB_POSTGRES ? postgres_hold(lab) : sqlite_hold(lab);
    return holds ? PAWL_OK : PAWL_IO;
}

void lab_let_go(struct lab *lab)
{
    if (lab->hold == NULL) return;
    if (lab->hold->turn_fd >= 0) (void)close(lab->hold->turn_fd);
    if (lab->store == LAB_POSTGRES) postgres_let_go(lab->hold);
    free(lab->hold);
    lab->hold = NULL;
}

const char *lab_sql(struct lab *lab, const char *sql)
{
    return lab->store == LAB_POSTGRES ? postgres_sql(lab, sql) : sqlite_sql(lab, sql);
}

/* ---- The world ---- */

static int64_t wall_ms(void *self)
{
    return atomic_load(&((struct lab_world *)self)->wall_ms);
}

static int64_t boot_ms(void *self)
{
    return atomic_load(&((struct lab_world *)self)->boot_ms);
}

static uint64_t random_number(void *self)
{
    struct lab_world *world = self;
    world->random = world->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return world->random;
}

static void world_init(struct lab_world *world)
{
    atomic_store(&world->wall_ms, INT64_C(1800000000000));
    atomic_store(&world->boot_ms, 5000);
    world->random = 7;
    world->env = (struct pawl_env){
        .self = world,
        .wall_ms = wall_ms,
        .boot_ms = boot_ms,
        .random = random_number,
        .boot_id = PAWL_STR("boot-1"),
        .host_id = PAWL_STR("host-1"),
    };
}

void lab_elapse(struct lab *lab, int64_t ms)
{
    atomic_fetch_add(&lab->world.wall_ms, ms);
    atomic_fetch_add(&lab->world.boot_ms, ms);
    if (lab->store == LAB_POSTGRES) {
        char sql[1024];
        (void)snprintf(sql, sizeof sql,
                       "UPDATE task SET due_at_ms = due_at_ms - %" PRId64
                       ", lease_end_at_ms = lease_end_at_ms - %" PRId64
                       ", attempt_end_at_ms = attempt_end_at_ms - %" PRId64
                       ", ready_at_ms = ready_at_ms - %" PRId64
                       ", started_at_ms = started_at_ms - %" PRId64
                       ", finished_at_ms = finished_at_ms - %" PRId64
                       ", progress_event_at_ms = progress_event_at_ms - %" PRId64
                       ", control_deadline_at_ms = control_deadline_at_ms - %" PRId64
                       ", updated_at_ms = updated_at_ms - %" PRId64,
                       ms, ms, ms, ms, ms, ms, ms, ms, ms);
        (void)postgres_sql(lab, sql);
        (void)snprintf(sql, sizeof sql,
                       "UPDATE record SET first_scheduled_at_ms = first_scheduled_at_ms - %" PRId64
                       ", scheduled_at_ms = scheduled_at_ms - %" PRId64,
                       ms, ms);
        (void)postgres_sql(lab, sql);
        (void)snprintf(sql, sizeof sql,
                       "UPDATE workflow SET created_at_ms = created_at_ms - %" PRId64
                       ", retried_at_ms = retried_at_ms - %" PRId64,
                       ms, ms);
        (void)postgres_sql(lab, sql);
    }
}

void lab_pass(struct lab *lab, int64_t ms)
{
    lab_elapse(lab, ms);
    lab_settle(lab, lab->pawl);
}

void lab_settle(struct lab *lab, struct pawl *pawl)
{
    int64_t next_at_boot_ms;
    int steps = 0;
    do {
        CHECK_OK(pawl_step(pawl, &next_at_boot_ms, &lab->err), &lab->err);
        CHECK(++steps < 10000);
    } while (next_at_boot_ms <= boot_ms(&lab->world));
}

/* ---- Opening ---- */

struct pawl_options lab_options(struct lab *lab)
{
    struct pawl_options options = PAWL_OPTIONS_INIT;
    options.store = pawl_str_of(lab->target);
    options.driven = true;
    options.env = &lab->world.env;
    return options;
}

struct pawl *lab_handle(struct lab *lab, const struct pawl_options *options)
{
    struct pawl *pawl = NULL;
    CHECK_OK(pawl_open(&pawl, options, &lab->err), &lab->err);
    return pawl;
}

void lab_open(struct lab *lab)
{
    struct pawl_options options = lab_options(lab);
    lab->pawl = lab_handle(lab, &options);
}

void lab_open_real(struct lab *lab)
{
    struct pawl_options options = lab_options(lab);
    options.driven = false;
    options.env = NULL;
    lab->pawl = lab_handle(lab, &options);
}

void lab_reopen(struct lab *lab)
{
    pawl_close(lab->pawl);
    lab->pawl = NULL;
    lab_open(lab);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

void lab_run(const void *store, void (*body)(struct lab *lab))
{
    const char *where = getenv("TMPDIR");
    struct lab *lab = calloc(1, sizeof *lab);
    CHECK(lab != NULL);
    lab->store = *(const enum lab_store *)store;
    (void)snprintf(lab->folder, sizeof lab->folder, "%.400s/pawl-test-XXXXXX",
                   where == NULL ? "/tmp" : where);
    if (lab->store == LAB_POSTGRES) postgres_skip_without(lab);
    CHECK(mkdtemp(lab->folder) != NULL);
    if (lab->store == LAB_POSTGRES) {
        char locks[LAB_PATH_BYTES_MAX + 8];
        (void)snprintf(locks, sizeof locks, "%s/locks", lab->folder);
        CHECK_EQ(0, setenv("PAWL_LOCKS", locks, 1));
        postgres_target(lab);
    } else {
        (void)snprintf(lab->target, sizeof lab->target, "%.400s/store.db", lab->folder);
    }
    world_init(&lab->world);
    CHECK_OK(pawl_arena_open(&lab->keep, KEEP_BYTES_MAX), NULL);
    body(lab);
    lab_let_go(lab);
    pawl_close(lab->pawl);
    if (lab->store == LAB_POSTGRES) postgres_remove(lab);
    pawl_arena_close(lab->keep);
    (void)nftw(lab->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(lab);
}

void lab_add_tests(struct test_case tests[LAB_STORE_COUNT],
                   char names[LAB_STORE_COUNT][LAB_NAME_BYTES_MAX], const char *sentence,
                   const char *file, int line, void (*body)(const void *store))
{
    static const enum lab_store stores[LAB_STORE_COUNT] = {LAB_SQLITE, LAB_POSTGRES};
    static const char *const labels[LAB_STORE_COUNT] = {"sqlite", "postgres"};
    for (int i = 0; i < LAB_STORE_COUNT; i++) {
        (void)snprintf(names[i], LAB_NAME_BYTES_MAX, "%s [%s]", sentence, labels[i]);
        tests[i] = (struct test_case){
            .name = names[i], .file = file, .line = line, .body_with = body, .given = &stores[i]};
        test_add(&tests[i]);
    }
}

/* ---- Short words ---- */

struct pawl_str lab_add(struct lab *lab, const struct pawl_task_new *ask)
{
    struct pawl_added added;
    CHECK_OK(pawl_task_add(lab->pawl, ask, lab->keep, &added, &lab->err), &lab->err);
    return added.id;
}

struct pawl_added *lab_add_batch(struct lab *lab, const struct pawl_task_new *asks, size_t count)
{
    struct pawl_added *added = pawl_arena_take_array(lab->keep, count, sizeof *added);
    CHECK(added != NULL);
    CHECK_OK(pawl_task_add_batch(lab->pawl, asks, count, lab->keep, added, &lab->err), &lab->err);
    return added;
}

struct pawl_task lab_get(struct lab *lab, struct pawl_str id)
{
    struct pawl_task task;
    CHECK_OK(pawl_task_get(lab->pawl, id, true, lab->keep, &task, &lab->err), &lab->err);
    return task;
}

struct pawl_fence lab_start(struct lab *lab, struct pawl_str id, const char *worker)
{
    struct pawl_grant grant;
    CHECK_OK(pawl_task_start(lab->pawl, id, CLAIM(.worker_id = pawl_str_of(worker)), lab->keep,
                             &grant, &lab->err),
             &lab->err);
    return grant.fence;
}

struct pawl_claimed lab_claim(struct lab *lab, const struct pawl_claim *ask)
{
    struct pawl_claimed claimed;
    CHECK_OK(pawl_task_claim(lab->pawl, ask, lab->keep, &claimed, &lab->err), &lab->err);
    return claimed;
}

struct pawl_page lab_list(struct lab *lab, const struct pawl_list *ask)
{
    struct pawl_page page;
    CHECK_OK(pawl_task_list(lab->pawl, ask, lab->keep, &page, &lab->err), &lab->err);
    return page;
}

struct pawl_events lab_history(struct lab *lab, struct pawl_str id)
{
    struct pawl_events events;
    CHECK_OK(pawl_task_history(lab->pawl, id, 0, PAWL_BATCH_MAX, lab->keep, &events, &lab->err),
             &lab->err);
    return events;
}

const char *lab_told(struct lab *lab, struct pawl_str id)
{
    struct pawl_events events = lab_history(lab, id);
    struct pawl_str told = pawl_arena_format(lab->keep, "%s", "");
    for (size_t i = 0; i < events.count; i++) {
        struct pawl_str type = events.events[i].type;
        CHECK(pawl_str_starts(type, PAWL_STR("task_")));
        told = pawl_arena_format(lab->keep, "%s%s%.*s", told.ptr, i == 0 ? "" : " ",
                                 (int)type.len - 5, type.ptr + 5);
    }
    CHECK(told.ptr != NULL);
    return told.ptr;
}

struct pawl_event lab_last(struct lab *lab, struct pawl_str id)
{
    struct pawl_events events = lab_history(lab, id);
    CHECK(events.count > 0);
    return events.events[events.count - 1];
}

const char *lab_ids(struct lab *lab, const struct pawl_page *page)
{
    struct pawl_str ids = pawl_arena_format(lab->keep, "%s", "");
    for (size_t i = 0; i < page->count; i++) {
        ids = pawl_arena_format(lab->keep, "%s%s%.*s", ids.ptr, i == 0 ? "" : " ",
                                PAWL_STR_ARG(page->tasks[i].id));
    }
    CHECK(ids.ptr != NULL);
    return ids.ptr;
}

struct pawl_str lab_text(struct lab *lab, size_t bytes, char of)
{
    char *text = pawl_arena_take(lab->keep, bytes + 1);
    CHECK(text != NULL);
    memset(text, of, bytes);
    return (struct pawl_str){text, bytes};
}

struct pawl_str lab_json(struct lab *lab, size_t bytes)
{
    CHECK(bytes >= 2);
    struct pawl_str text = lab_text(lab, bytes, 'x');
    char *quoted = pawl_arena_take(lab->keep, bytes);
    CHECK(quoted != NULL);
    memcpy(quoted, text.ptr, bytes);
    quoted[0] = quoted[bytes - 1] = '"';
    return (struct pawl_str){quoted, bytes};
}

/* ---- Other processes ---- */

pid_t lab_fork(struct lab *lab, int (*work)(struct lab *lab, int number), int number)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(work(lab, number));
    return child;
}

int lab_wait(pid_t child)
{
    int status = 0;
    CHECK_EQ(child, waitpid(child, &status, 0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
