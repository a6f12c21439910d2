/* Upgrades of the schema. The tests bring lists of their own, beside that of the product:
 * the first file of ours, which makes the store of version 1 that is upgraded, and then one that
 * does something or fails half-way. */
#include "lab.h"

#include "base/str.h"
#include "store/schema_text.h"
#if PAWL_POSTGRES
#include "postgres_lab.h"
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUEUE = 1, UPGRADERS = 6 };

#define MORE                                                \
    "ALTER TABLE task ADD COLUMN colour TEXT;"              \
    "CREATE TABLE shade (key BIGINT PRIMARY KEY, of TEXT);" \
    "INSERT INTO shade (key, of) SELECT key, id FROM task;"
#define FAILING                                \
    "ALTER TABLE task ADD COLUMN colour TEXT;" \
    "INSERT INTO nowhere (key) VALUES (1);"

enum { OLD = PAWL_SCHEMA_COUNT, NEW };

struct lists {
    const char *sqlite[NEW];
    const char *postgres[NEW];
    struct pawl_schema schema;
};

/* All of ours, and one more. */
static const struct pawl_schema *list_of(struct lists *lists, const char *more)
{
    for (int i = 0; i < OLD; i++) {
        lists->sqlite[i] = pawl_schema_sqlite[i];
        lists->postgres[i] = pawl_schema_postgres[i];
    }
    lists->sqlite[OLD] = lists->postgres[OLD] = more;
    lists->schema = (struct pawl_schema){lists->sqlite, lists->postgres, NEW};
    return &lists->schema;
}

/* A number as text; good until the next call. */
static const char *number(int value)
{
    static char text[16];
    (void)snprintf(text, sizeof text, "%d", value);
    return text;
}

static enum pawl_code open_with(struct lab *lab, const struct pawl_schema *schema,
                                struct pawl_store **out)
{
    struct pawl_store_options options = {
        .target = pawl_str_of(lab->target),
        .must_exist = true,
        .env = &lab->world.env,
        .log = &lab->log,
        .schema = schema,
    };
    return pawl_store_open(out, &options, &lab->err);
}

/* Either store: one text. */
static const char *sql(struct lab *lab, const char *text)
{
#if PAWL_POSTGRES
    if (pawl_db_target_is_postgres(pawl_str_of(lab->target)))
        return postgres_sql(lab->target, text);
#endif
    return lab_sql_text(lab, text);
}

static bool is_sqlite(const struct lab *lab)
{
    return !pawl_db_target_is_postgres(pawl_str_of(lab->target));
}

/* A store of our version with three tasks, closed. */
static void make_old(struct lab *lab)
{
    lab_begin(lab);
    lab_put_queue(lab, QUEUE, "default");
    for (int64_t key = 11; key <= 13; key++) {
        (void)lab_put_task(lab, key, QUEUE);
        lab_put_event(lab, key, 1);
    }
    lab_commit(lab);
    pawl_store_close(lab->store);
    lab->store = NULL;
}

/* The copies that upgrades have left; the name of the last one. */
static int count_copies(struct lab *lab, char *name, size_t bytes)
{
    char folder[LAB_PATH_BYTES_MAX + 16];
    int count = 0;
    (void)snprintf(folder, sizeof folder, "%s/backups", lab->folder);
    DIR *list = opendir(folder);
    if (list == NULL) return 0;
    for (struct dirent *at; (at = readdir(list)) != NULL;) {
        if (at->d_name[0] == '.') continue;
        count++;
        (void)snprintf(name, bytes, "%s/%.200s", folder, at->d_name);
    }
    (void)closedir(list);
    return count;
}

/* A number that tells the contents of the store's file. */
static uint64_t sum_of(const char *path)
{
    uint64_t sum = 1469598103934665603u;
    FILE *file = fopen(path, "re");
    CHECK(file != NULL);
    for (int byte; (byte = fgetc(file)) != EOF;) sum = (sum ^ (uint64_t)byte) * 1099511628211u;
    CHECK_EQ(0, fclose(file));
    return sum;
}

STORE_TEST("T-079 opening a store of an older schema raises its version and keeps what is in it")
{
    struct lists lists;
    make_old(lab);
    CHECK_OK(open_with(lab, list_of(&lists, MORE), &lab->store), &lab->err);
    CHECK_TEXT(number(NEW), sql(lab, "SELECT schema_version FROM meta"));
    CHECK_TEXT("t-12", sql(lab, "SELECT of FROM shade WHERE key = 12"));
    lab_begin(lab);
    CHECK_EQ(3, lab_rows(lab, PAWL_LOOK_READY, QUEUE, 0, 10)->count);
    CHECK_EQ(3, lab->head.position);
    pawl_store_rollback(lab->store);
    if (is_sqlite(lab)) CHECK_TEXT(number(NEW), sql(lab, "PRAGMA user_version"));
    pawl_store_close(lab->store);
    lab->store = NULL;
    /* the second time there is nothing to do */
    CHECK_OK(open_with(lab, &lists.schema, &lab->store), &lab->err);
    CHECK_TEXT("3", sql(lab, "SELECT count(*) FROM shade"));
}

/* A store of version 1 as its program left it: made by its SQL, since our statements are for the
 * newest. */
static void make_first(const char *path)
{
    static const char rows[] =
        "PRAGMA application_id = 1348564844; PRAGMA user_version = 1;"
        "INSERT INTO meta (one, schema_version, store_id, generation, boot_id, clock_offset_ms) "
        "VALUES "
        "(1, 1, '01900000-0000-7000-8000-000000000001', 1, 'boot-1', 1799999995000);"
        "INSERT INTO head (one, position, next_key, now_ms) VALUES (1, 2, 100, 1800000000000);"
        "INSERT INTO queue VALUES (1, 'default', 0, 0, 0, 0, 0, 0, 0);"
        "INSERT INTO task (key, id, queue, state, priority, rank, version, epoch, max_retries, "
        "backoff, delay_ms, "
        "delay_ms_max, jitter_ms, retries, recoveries, crashes_in_row, created_at_ms, "
        "updated_at_ms, progress, "
        "progress_epoch, control, sequence, dependency_policy, open_dependencies, has_dependents, "
        "payloads, "
        "checkpoint_count, log_bytes, payload_bytes, checkpoint_bytes) VALUES "
        "(11, 'first', 1, 1, 20, (79 << 48) | 1800000000000, 1, 0, 3, 0, 1000, 60000, 0, 0, 0, 0, "
        "1800000000000, "
        "1800000000000, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0), "
        "(12, 'over', 1, 7, 20, NULL, 1, 0, 3, 0, 1000, 60000, 0, 0, 0, 0, 1800000000000, "
        "1800000000000, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0);"
        "UPDATE task SET finished_at_ms = 1800000000000 WHERE key = 12;"
        "INSERT INTO dependency (task, number, on_key, is_open) VALUES (12, 0, 11, 1);"
        "INSERT INTO event (position, task, sequence, type, at_ms, state, epoch, version, "
        "progress, retries, "
        "cause) VALUES (1, 11, 1, 1, 1800000000000, 1, 0, 1, 0, 0, 0), "
        "(2, 12, 1, 9, 1800000000000, 7, 0, 1, 0, 0, 0);";
    sqlite3 *handle = NULL;
    CHECK_EQ(SQLITE_OK, sqlite3_open(path, &handle));
    CHECK_EQ(SQLITE_OK, sqlite3_exec(handle, "PRAGMA journal_mode = WAL", NULL, NULL, NULL));
    CHECK_EQ(SQLITE_OK, sqlite3_exec(handle, pawl_schema_sqlite[0], NULL, NULL, NULL));
    CHECK_EQ(SQLITE_OK, sqlite3_exec(handle, rows, NULL, NULL, NULL));
    CHECK_EQ(SQLITE_OK, sqlite3_close(handle));
}

TEST("T-079 a store of version 1 becomes one of the newest, with what is in it")
{
    static struct lab lab;
    char name[1024] = "";
    lab_prepare(&lab, &lab_kinds[0]);
    make_first(lab.target);
    CHECK_OK(open_with(&lab, NULL, &lab.store), &lab.err);
    CHECK_TEXT(number(OLD), sql(&lab, "PRAGMA user_version"));
    CHECK_TEXT(number(OLD), sql(&lab, "SELECT schema_version FROM meta"));
    CHECK_TEXT("0", sql(&lab, "SELECT count(*) FROM tombstone"));
    CHECK_TEXT("0", sql(&lab, "SELECT count(*) FROM token"));
    CHECK_TEXT("0", sql(&lab, "SELECT count(*) FROM definition"));
    CHECK_TEXT("0", sql(&lab, "SELECT generation FROM head"));
    /* of what is over nothing is open any more */
    CHECK_TEXT("0", sql(&lab, "SELECT is_open FROM dependency"));
    CHECK_TEXT("0", sql(&lab, "SELECT open_dependencies FROM task WHERE id = 'over'"));
    lab_begin(&lab);
    CHECK_EQ(1, lab_rows(&lab, PAWL_LOOK_READY, QUEUE, 0, 10)->count);
    CHECK_STR("first", lab_task(&lab, 11)->id);
    pawl_store_rollback(lab.store);
    CHECK_EQ(1, count_copies(&lab, name, sizeof name));
    lab_close(&lab);
}

TEST("T-079 an upgrade leaves a copy of what was there, in its old shape, beside the database")
{
    static struct lab lab;
    struct lists lists;
    char name[1024] = "";
    lab_open(&lab, &lab_kinds[0]);
    make_old(&lab);
    CHECK_OK(open_with(&lab, list_of(&lists, MORE), &lab.store), &lab.err);
    CHECK_EQ(1, count_copies(&lab, name, sizeof name));
    char wanted[128];
    (void)snprintf(wanted, sizeof wanted, "/store.schema-%d-to-%d.20270115T080000.000Z.db", OLD,
                   NEW);
    CHECK(strstr(name, wanted) != NULL);
    struct stat status;
    CHECK_EQ(0, stat(name, &status));
    CHECK_EQ(0600, status.st_mode & 07777);
    (void)snprintf(lab.target, sizeof lab.target, "%.500s", name);
    CHECK_TEXT(number(OLD), sql(&lab, "PRAGMA user_version"));
    CHECK_TEXT("0",
               sql(&lab, "SELECT count(*) FROM pragma_table_info('task') WHERE name = 'colour'"));
    CHECK_TEXT("3", sql(&lab, "SELECT count(*) FROM task"));
    CHECK_TEXT("ok", sql(&lab, "PRAGMA integrity_check"));
    CHECK(strstr(lab.log_text, "store.kept_old") != NULL);
    lab_close(&lab);
}

TEST("T-079 what is in the log alone is in the copy too")
{
    static struct lab lab;
    struct lists lists;
    char name[1024] = "";
    lab_open(&lab, &lab_kinds[0]);
    make_old(&lab); /* its connection does not move the log when it closes */
    struct stat status;
    char log[LAB_PATH_BYTES_MAX + 8];
    (void)snprintf(log, sizeof log, "%s-wal", lab.target);
    CHECK_EQ(0, stat(log, &status));
    CHECK(status.st_size > 0);
    CHECK_OK(open_with(&lab, list_of(&lists, MORE), &lab.store), &lab.err);
    CHECK_EQ(1, count_copies(&lab, name, sizeof name));
    (void)snprintf(lab.target, sizeof lab.target, "%.500s", name);
    CHECK_TEXT("3", sql(&lab, "SELECT count(*) FROM task"));
    lab_close(&lab);
}

STORE_TEST("T-080 D-55 an upgrade that fails changes nothing, and says what failed first")
{
    struct lists lists;
    make_old(lab);
    CHECK_CODE(is_sqlite(lab) ? PAWL_CORRUPT : PAWL_IO,
               open_with(lab, list_of(&lists, FAILING), &lab->store));
    CHECK(strstr(lab->err.text, "nowhere") != NULL); /* not what became of the rollback */
    CHECK(lab->store == NULL);
    if (is_sqlite(lab)) CHECK_EQ(0, count_copies(lab, lab->log_text, 1));
    CHECK_TEXT(number(OLD), sql(lab, "SELECT schema_version FROM meta"));
    if (is_sqlite(lab)) CHECK_TEXT(number(OLD), sql(lab, "PRAGMA user_version"));
    lab_reopen(lab); /* as before */
    lab_begin(lab);
    CHECK_EQ(3, lab_rows(lab, PAWL_LOOK_READY, QUEUE, 0, 10)->count);
    pawl_store_rollback(lab->store);
    pawl_store_close(lab->store);
    lab->store = NULL;
    /* and the right list still does it: the column was not there yet */
    CHECK_OK(open_with(lab, list_of(&lists, MORE), &lab->store), &lab->err);
}

TEST("T-080 there is no upgrade without its copy")
{
    static struct lab lab;
    struct lists lists;
    char name[1024];
    lab_open(&lab, &lab_kinds[0]);
    make_old(&lab);
    (void)snprintf(name, sizeof name, "%s/backups", lab.folder);
    int fd =
        open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); /* a file where the folder would be */
    CHECK(fd >= 0);
    CHECK_EQ(0, close(fd));
    CHECK_CODE(PAWL_IO, open_with(&lab, list_of(&lists, MORE), &lab.store));
    CHECK(strstr(lab.err.text, "no upgrade without a copy") != NULL);
    CHECK_TEXT(number(OLD), sql(&lab, "PRAGMA user_version"));
    lab_close(&lab);
}

STORE_TEST("T-082 a store of a newer schema is UNSUPPORTED, and stays as it is")
{
    struct lists lists;
    uint64_t before = 0;
    make_old(lab);
    CHECK_OK(open_with(lab, list_of(&lists, MORE), &lab->store), &lab->err);
    pawl_store_checkpoint_all(lab->store);
    pawl_store_close(lab->store);
    lab->store = NULL;
    if (is_sqlite(lab)) before = sum_of(lab->target);
    CHECK_CODE(PAWL_UNSUPPORTED, open_with(lab, NULL, &lab->store));
    char wanted[128];
    (void)snprintf(wanted, sizeof wanted, "has schema %d, and this version of Pawl knows up to %d",
                   NEW, OLD);
    CHECK(strstr(lab->err.text, wanted) != NULL);
    CHECK_TEXT(number(NEW), sql(lab, "SELECT schema_version FROM meta"));
    if (is_sqlite(lab)) CHECK_EQ(before, sum_of(lab->target));
}

STORE_TEST("T-082 who has it open when another upgrades it is told so, and writes nothing more")
{
    struct lists lists;
    struct pawl_store *newer = NULL;
    make_old(lab);
    CHECK_OK(open_with(lab, NULL, &lab->store), &lab->err);
    CHECK_OK(open_with(lab, list_of(&lists, MORE), &newer), &lab->err);
    pawl_store_close(newer);
    CHECK_CODE(PAWL_UNSUPPORTED, lab_try_begin(lab));
    CHECK(strstr(lab->err.text, "start it anew") != NULL);
}

/* A child: waits until the pipe is closed, opens, looks. It exits with a code. */
static int upgrade(struct lab *lab, int go)
{
    struct lists lists;
    struct pawl_store *store = NULL;
    char byte;
    while (read(go, &byte, 1) < 0 && errno == EINTR) {
    }
    lab->world.random = (uint64_t)getpid();
    enum pawl_code code = open_with(lab, list_of(&lists, MORE), &store);
    lab->store = store;
    if (code == PAWL_OK) code = lab_try_begin(lab);
    if (code == PAWL_OK) pawl_store_rollback(store);
    pawl_store_close(store);
    return (int)code;
}

STORE_TEST("T-083 of processes that upgrade together one does it, and all work")
{
    pid_t pids[UPGRADERS];
    int go[2];
    char name[1024] = "";
    make_old(lab);
    CHECK_EQ(0, pipe2(go, O_CLOEXEC));
    for (int i = 0; i < UPGRADERS; i++) {
        pids[i] = fork();
        CHECK(pids[i] >= 0);
        if (pids[i] == 0) {
            (void)close(go[1]);
            _exit(upgrade(lab, go[0]));
        }
    }
    CHECK_EQ(0, close(go[1]));
    for (int i = 0; i < UPGRADERS; i++) {
        int status = 0;
        CHECK_EQ(pids[i], waitpid(pids[i], &status, 0));
        CHECK(WIFEXITED(status));
        CHECK_CODE(PAWL_OK, (enum pawl_code)WEXITSTATUS(status));
    }
    CHECK_EQ(0, close(go[0]));
    CHECK_TEXT("3", sql(lab, "SELECT count(*) FROM shade"));
    if (is_sqlite(lab)) CHECK_EQ(1, count_copies(lab, name, sizeof name));
}

TEST_MAIN()
