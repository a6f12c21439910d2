/* Killed at any instruction: backup, restore and upgrade are run again and again, and die before
 * their first, second, third ... change of a file, until one lives to its end. After each death the
 * store must be whole: the old one or the new one; and the same again must then work. */
#include "pawl.h"
#include "store/schema_text.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 512, DEATHS_MAX = 2000 };

static char folder[PATH_BYTES];
static char kept[PATH_BYTES]; /* what each round begins with */
static char db[PATH_BYTES];
static char copy[PATH_BYTES];

static struct pawl_str text(const char *c)
{
    return (struct pawl_str){c, strlen(c)};
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static void remove_all(const char *path)
{
    (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Runs a program with its output dropped; at: the call before which it dies, 0 = none. Its status
 * as of waitpid. */
static int run(const char *const argv[], int at)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char number[16];
        (void)snprintf(number, sizeof number, "%d", at);
        (void)setenv("PAWL_KILL_AT", number, 1);
        if (at > 0) (void)setenv("LD_PRELOAD", KILL_AT, 1);
        if (freopen("/dev/null", "w", stdout) == NULL) _exit(99);
        if (at > 0 && freopen("/dev/null", "w", stderr) == NULL) _exit(99);
        (void)execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(99);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) CHECK_EQ(EINTR, errno);
    return status;
}

static void shell(const char *command)
{
    const char *argv[] = {"/bin/sh", "-c", command, NULL};
    CHECK_EQ(0, run(argv, 0));
}

static void add(const char *path, const char *id)
{
    const char *argv[] = {PROGRAM, "--db", path, "task", "add", "--id", id, "-i", "[1,2,3]", NULL};
    CHECK_EQ(0, run(argv, 0));
}

/* A program that ends without closing: what it has written is in the log alone. */
static void add_and_die(const char *path, const char *id)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct pawl *pawl = NULL;
        struct pawl_arena *keep = NULL;
        struct pawl_options options = PAWL_OPTIONS_INIT;
        struct pawl_task_new ask = PAWL_TASK_NEW_INIT;
        struct pawl_added added;
        options.store = text(path);
        options.driven = true;
        ask.id = text(id);
        bool is_done = pawl_arena_open(&keep, 0) == PAWL_OK &&
                       pawl_open(&pawl, &options, NULL) == PAWL_OK &&
                       pawl_task_add(pawl, &ask, keep, &added, NULL) == PAWL_OK;
        _exit(is_done ? 0 : 1);
    }
    int status = 0;
    CHECK_EQ(child, waitpid(child, &status, 0));
    CHECK_EQ(0, status);
}

static void begin(void)
{
    const char *where = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%.200s/pawl-kill-XXXXXX",
                   where == NULL ? "/tmp" : where);
    CHECK(mkdtemp(folder) != NULL);
    (void)snprintf(kept, sizeof kept, "%.200s/kept", folder);
    (void)snprintf(db, sizeof db, "%.200s/now/a.db", folder);
    (void)snprintf(copy, sizeof copy, "%.200s/now/far/copy.db", folder);
    char path[PATH_BYTES];
    CHECK_EQ(0, mkdir(kept, 0700));
    (void)snprintf(path, sizeof path, "%.200s/b.db", kept);
    add(path, "b-1");
    add(path, "b-2");
    (void)snprintf(path, sizeof path, "%.200s/a.db", kept);
    add(path, "a-1");
    add(path, "a-2");
    add_and_die(path, "a-3");
}

/* A new round: everything as it was kept. */
static void again(void)
{
    char command[3 * PATH_BYTES];
    (void)snprintf(command, sizeof command, "rm -rf '%.200s/now'; cp -rp '%.200s' '%.200s/now'",
                   folder, kept, folder);
    shell(command);
}

static void end(void)
{
    remove_all(folder);
}

/* "a-1 a-2 a-3" with the epoch of the first behind, "3 tasks" of a whole store. */
static const char *contents(const char *path)
{
    static char ids[256];
    struct pawl *pawl = NULL;
    struct pawl_arena *keep = NULL;
    struct pawl_options options = PAWL_OPTIONS_INIT;
    struct pawl_fsck fsck = PAWL_FSCK_INIT;
    struct pawl_fsck_done done;
    struct pawl_list ask = {.size = sizeof ask};
    struct pawl_page page;
    struct pawl_error err;
    fsck.store = options.store = text(path);
    options.must_exist = true;
    options.driven = true;
    CHECK_OK(pawl_fsck(&fsck, &done, &err), &err);
    CHECK_EQ(0, done.found);
    CHECK_OK(pawl_arena_open(&keep, 0), NULL);
    CHECK_OK(pawl_open(&pawl, &options, &err), &err);
    CHECK_OK(pawl_task_list(pawl, &ask, keep, &page, &err), &err);
    size_t len = 0;
    ids[0] = '\0';
    for (size_t i = page.count; i > 0; i--) {
        const struct pawl_task *task = &page.tasks[i - 1];
        len += (size_t)snprintf(ids + len, sizeof ids - len, "%s%.*s:%lld", len == 0 ? "" : " ",
                                (int)task->id.len, task->id.ptr, (long long)task->epoch);
        CHECK(len < sizeof ids);
    }
    pawl_close(pawl);
    pawl_arena_close(keep);
    return ids;
}

#define OLD "a-1:0 a-2:0 a-3:0"
#define NEW "b-1:1048576 b-2:1048576"

static bool has_died(int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
    CHECK_EQ(0, status);
    return false;
}

TEST("T-080 a restore that is killed at any change of a file leaves the old store or the new one, "
     "whole")
{
    int olds = 0;
    int news = 0;
    begin();
    char from[PATH_BYTES];
    (void)snprintf(from, sizeof from, "%.200s/now/b.db", folder);
    const char *argv[] = {PROGRAM, "--db", db, "restore", from, "--yes", NULL};
    bool died = true;
    for (int at = 1; died; at++) {
        CHECK(at < DEATHS_MAX);
        again();
        died = has_died(run(argv, at));
        char is[256];
        (void)snprintf(is, sizeof is, "%s", contents(db));
        bool is_old = strcmp(is, OLD) == 0;
        if (!is_old && strcmp(is, NEW) != 0) FAIL("killed at call %d: %s", at, is);
        CHECK(died || !is_old);
        olds += is_old;
        news += !is_old;
        /* and then it can be done */
        CHECK_EQ(0, run(argv, 0));
        CHECK_TEXT(NEW, contents(db));
        CHECK_TEXT("b-1:0 b-2:0", contents(from));
    }
    (void)fprintf(stderr, "%d deaths left the old store, %d the new one\n", olds, news - 1);
    CHECK(olds > 20);
    CHECK(news > 1);
    end();
}

/* The file of a store goes, and what its last process left in the log stays. */
static void again_without_file(void)
{
    char log[PATH_BYTES + 8];
    struct stat status;
    again();
    CHECK_EQ(0, unlink(db));
    (void)snprintf(log, sizeof log, "%s-wal", db);
    CHECK_EQ(0, stat(log, &status));
    CHECK(status.st_size > 4096); /* pages of the old store */
}

TEST("T-080 a restore in the place of a store whose log alone is left never mixes the two, killed "
     "at "
     "any change of a file or not")
{
    int nones = 0;
    int news = 0;
    begin();
    char from[PATH_BYTES];
    (void)snprintf(from, sizeof from, "%.200s/now/b.db", folder);
    const char *argv[] = {PROGRAM, "--db", db, "restore", from, "--yes", NULL};
    bool died = true;
    for (int at = 1; died; at++) {
        struct stat status;
        CHECK(at < DEATHS_MAX);
        again_without_file();
        died = has_died(run(argv, at));
        bool is_new = stat(db, &status) == 0 && status.st_size > 0;
        CHECK(died || is_new);
        if (is_new) CHECK_TEXT(NEW, contents(db));
        nones += !is_new;
        news += is_new;
        CHECK_EQ(0, run(argv, 0));
        CHECK_TEXT(NEW, contents(db));
    }
    (void)fprintf(stderr, "%d deaths left no store, %d the new one\n", nones, news - 1);
    CHECK(nones > 20);
    CHECK(news > 1);
    end();
}

TEST("a new store in the place of one whose log alone is left has nothing of it")
{
    begin();
    again_without_file();
    add(db, "n-1");
    CHECK_TEXT("n-1:0", contents(db));
    end();
}

static void check_backups(const char *const argv[], const char *before)
{
    bool died = true;
    int deaths = 0;
    for (int at = 1; died; at++) {
        CHECK(at < DEATHS_MAX);
        again();
        if (before != NULL) shell(before);
        died = has_died(run(argv, at));
        deaths += died;
        bool is_there = access(copy, F_OK) == 0;
        if (is_there) {
            const char *is = contents(copy);
            bool is_right =
                strcmp(is, OLD) == 0 || (before != NULL && strcmp(is, "b-1:0 b-2:0") == 0);
            if (!is_right) FAIL("killed at call %d: %s", at, is);
        }
        CHECK(is_there || before == NULL);
        CHECK(is_there || died);
        CHECK_TEXT(OLD, contents(db));
        if (is_there && before == NULL) CHECK_EQ(0, unlink(copy));
        CHECK_EQ(0, run(argv, 0));
        CHECK_TEXT(OLD, contents(copy));
    }
    (void)fprintf(stderr, "%d deaths\n", deaths);
    CHECK(deaths > 10);
}

TEST("a backup that is killed at any change of a file leaves a whole copy or none, and the store "
     "as it was")
{
    begin();
    const char *argv[] = {PROGRAM, "--db", db, "backup", copy, NULL};
    check_backups(argv, NULL);
    end();
}

TEST("a backup that replaces an older one leaves the old copy or the new one, whole")
{
    char before[4 * PATH_BYTES];
    begin();
    (void)snprintf(before, sizeof before,
                   "mkdir '%.200s/now/far'; cp -p '%.200s/now/b.db' '%.200s'", folder, folder,
                   copy);
    const char *argv[] = {PROGRAM, "--db", db, "backup", "--replace", copy, NULL};
    check_backups(argv, before);
    end();
}

/* A number by SQL, or -1. */
static int64_t ask_sql(const char *path, const char *sql)
{
    sqlite3 *handle = NULL;
    sqlite3_stmt *statement = NULL;
    int64_t number = -1;
    CHECK_EQ(SQLITE_OK, sqlite3_open(path, &handle));
    if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        number = sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    CHECK_EQ(SQLITE_OK, sqlite3_close(handle));
    return number;
}

static int count_copies(void)
{
    char path[PATH_BYTES];
    int count = 0;
    (void)snprintf(path, sizeof path, "%.200s/now/backups", folder);
    DIR *list = opendir(path);
    if (list == NULL) return 0;
    for (struct dirent *at; (at = readdir(list)) != NULL;) {
        size_t len = strlen(at->d_name);
        if (len < 4 || strcmp(at->d_name + len - 3, ".db") != 0) continue;
        char file[2 * PATH_BYTES];
        (void)snprintf(file, sizeof file, "%.400s/%.200s", path, at->d_name);
        CHECK_TEXT(OLD, contents(file)); /* of the old version, and whole */
        count++;
    }
    (void)closedir(list);
    return count;
}

TEST("T-080 an upgrade that is killed at any change of a file has been done or not, and a whole "
     "copy stays if it has")
{
    int olds = 0;
    int news = 0;
    begin();
    const char *argv[] = {UPGRADER, db, NULL};
    bool died = true;
    for (int at = 1; died; at++) {
        CHECK(at < DEATHS_MAX);
        again();
        died = has_died(run(argv, at));
        int64_t version = ask_sql(db, "PRAGMA user_version");
        bool is_old = version == PAWL_SCHEMA_COUNT;
        CHECK(is_old || version == PAWL_SCHEMA_COUNT + 1);
        CHECK_EQ(version, ask_sql(db, "SELECT schema_version FROM meta"));
        CHECK_EQ(3, ask_sql(db, "SELECT count(*) FROM task"));
        CHECK_EQ(is_old ? -1 : 3, ask_sql(db, "SELECT count(*) FROM shade"));
        CHECK_EQ(
            1, ask_sql(db,
                       "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"));
        int copies = count_copies();
        CHECK(is_old || copies == 1);
        CHECK(died || !is_old);
        olds += is_old;
        news += !is_old;
        CHECK_EQ(0, run(argv, 0));
        CHECK_EQ(3, ask_sql(db, "SELECT count(*) FROM shade"));
    }
    (void)fprintf(stderr, "%d deaths left the old version, %d the new one\n", olds, news - 1);
    CHECK(olds > 20);
    CHECK(news > 1);
    end();
}

TEST_MAIN()
