/* Backup and restore: what they promise and what they refuse. */
#include "stores.h"

#include "base/arena.h"
#include "store/schema_text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RAISE (INT64_C(1) << 20)

/* A path in the folder of the test; in keep. */
static struct pawl_str place(struct lab *lab, const char *name)
{
    struct pawl_str path = pawl_arena_format(lab->keep, "%s/%s", lab->folder, name);
    CHECK(path.len > 0);
    return pawl_str_of(pawl_arena_c_text(lab->keep, path));
}

static enum pawl_code back_up_to(struct lab *lab, struct pawl_str to, bool replace)
{
    struct pawl_backup ask = PAWL_BACKUP_INIT;
    ask.store = pawl_str_of(lab->target);
    ask.to = to;
    ask.replace = replace;
    return pawl_backup(&ask, NULL, &lab->err);
}

static enum pawl_code restore_from(struct lab *lab, struct pawl_str from)
{
    struct pawl_restore ask = PAWL_RESTORE_INIT;
    ask.store = pawl_str_of(lab->target);
    ask.from = from;
    ask.is_confirmed = true;
    ask.env = &lab->world.env;
    return pawl_restore(&ask, &lab->err);
}

static void shut(struct lab *lab)
{
    pawl_close(lab->pawl);
    lab->pawl = NULL;
}

/* The ids in a store, newest first, and that fsck finds nothing. */
static const char *ids_in(struct lab *lab, struct pawl_str path)
{
    struct pawl_options options = lab_options(lab);
    struct pawl_fsck fsck = PAWL_FSCK_INIT;
    struct pawl_fsck_done done;
    struct pawl_page page;
    struct pawl *pawl = NULL;
    fsck.store = options.store = path;
    fsck.env = options.env; /* the clock that the store went by */
    CHECK_OK(pawl_fsck(&fsck, &done, &lab->err), &lab->err);
    CHECK_EQ(0, done.found);
    CHECK_OK(pawl_open(&pawl, &options, &lab->err), &lab->err);
    CHECK_OK(pawl_task_list(pawl, LIST(.limit = 1000), lab->keep, &page, &lab->err), &lab->err);
    pawl_close(pawl);
    return lab_ids(lab, &page);
}

static void add(struct lab *lab, const char *id)
{
    (void)lab_add(lab, NEW(.id = pawl_str_of(id)));
}

static unsigned mode_of(struct pawl_str path)
{
    struct stat status;
    CHECK_EQ(0, stat(path.ptr, &status));
    return status.st_mode & 07777;
}

static void write_file(struct pawl_str path, const char *bytes, size_t len)
{
    FILE *file = fopen(path.ptr, "we");
    CHECK(file != NULL);
    CHECK_EQ(len, fwrite(bytes, 1, len, file));
    CHECK_EQ(0, fclose(file));
}

/* ---- Backup ---- */

TEST_SQLITE(
    "a backup is the store as of now, its owner's alone, and a store itself; its folders are made")
{
    lab_open(lab);
    add(lab, "a");
    struct pawl_str to = place(lab, "x/y/copy.db");
    mode_t mask = umask(0);
    CHECK_OK(back_up_to(lab, to, false), &lab->err); /* while the handle is open */
    (void)umask(mask);
    add(lab, "b");
    CHECK_EQ(0600, mode_of(to));
    CHECK_EQ(0700, mode_of(place(lab, "x/y")));
    CHECK_EQ(0700, mode_of(place(lab, "x")));
    CHECK_TEXT("a", ids_in(lab, to));
    CHECK(access(place(lab, "x/y/copy.db-new").ptr, F_OK) != 0);
    CHECK_STR("a", lab_get(lab, PAWL_STR("a")).id); /* the handle goes on */
}

TEST_SQLITE("a backup never replaces a file unasked, and asked only one that nobody has open")
{
    lab_open(lab);
    add(lab, "a");
    struct pawl_str to = place(lab, "copy.db");
    write_file(to, "mine", 4);
    CHECK_REFUSED(PAWL_CONFLICT, back_up_to(lab, to, false));
    CHECK_EQ(0, access(to.ptr, F_OK));
    CHECK_OK(back_up_to(lab, to, true), &lab->err);
    add(lab, "b");
    CHECK_REFUSED(PAWL_CONFLICT, back_up_to(lab, to, false));
    CHECK_TEXT("a", ids_in(lab, to));
    CHECK_EQ(0, unlink(place(lab, "copy.db-turn").ptr));
    CHECK_OK(back_up_to(lab, to, true), &lab->err);

    struct pawl_options options = lab_options(lab);
    struct pawl *user = NULL;
    options.store = to;
    CHECK_OK(pawl_open(&user, &options, &lab->err), &lab->err);
    CHECK_REFUSED(PAWL_BUSY, back_up_to(lab, to, true));
    pawl_close(user);
    CHECK_TEXT("b a", ids_in(lab, to));
    /* a log that is not its own */
    write_file(place(lab, "copy.db-wal"), "log", 3);
    CHECK_REFUSED(PAWL_CONFLICT, back_up_to(lab, to, true));
}

TEST_SQLITE("a backup onto the store itself is refused, whatever it is called")
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-turn", "-journal", "-new"};
    lab_open(lab);
    add(lab, "a");
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        struct pawl_str to = pawl_arena_format(lab->keep, "%s%s", lab->target, suffixes[i]);
        CHECK_REFUSED(PAWL_INVALID, back_up_to(lab, to, true));
    }
    CHECK_EQ(0, symlink(lab->target, place(lab, "soft.db").ptr));
    CHECK_EQ(0, symlink(lab->folder, place(lab, "round").ptr));
    const char *name = strrchr(lab->target, '/') + 1;
    CHECK_REFUSED(PAWL_INVALID, back_up_to(lab, place(lab, "soft.db"), true));
    struct pawl_str around = pawl_arena_format(lab->keep, "%s/round/%s", lab->folder, name);
    CHECK_REFUSED(PAWL_INVALID, back_up_to(lab, around, true));
    CHECK_REFUSED(PAWL_INVALID, back_up_to(lab, place(lab, ""), true)); /* a folder */
    CHECK_REFUSED(PAWL_INVALID, back_up_to(lab, NO_TEXT, true));
    CHECK_EQ(0, link(lab->target, place(lab, "hard.db").ptr)); /* no store has two names */
    CHECK_REFUSED(PAWL_UNSUPPORTED, back_up_to(lab, place(lab, "hard.db"), true));
    CHECK_EQ(0, unlink(place(lab, "hard.db").ptr));
    CHECK_STR("a", lab_get(lab, PAWL_STR("a")).id);
}

TEST_SQLITE("a backup of no store, of another's, and of a damaged one leaves nothing")
{
    struct pawl_str to = place(lab, "copy.db");
    CHECK_REFUSED(PAWL_NOT_FOUND, back_up_to(lab, to, false));
    write_file(pawl_str_of(lab->target), "this is no database at all, by its length and look", 50);
    CHECK_REFUSED(PAWL_CORRUPT, back_up_to(lab, to, false));
    CHECK_EQ(0, unlink(lab->target));
    (void)lab_sql(lab, "CREATE TABLE tasks (id)");
    CHECK_REFUSED(PAWL_UNSUPPORTED, back_up_to(lab, to, false));
    CHECK_EQ(0, unlink(lab->target));

    lab_open(lab);
    add(lab, "a");
    shut(lab);
    const char *page = lab_sql(lab, "SELECT rootpage FROM sqlite_master WHERE name = 'event_task'");
    FILE *file = fopen(lab->target, "r+e");
    CHECK(file != NULL);
    CHECK_EQ(0, fseek(file, (atol(page) - 1) * 4096, SEEK_SET));
    for (int i = 0; i < 4096; i++) CHECK(fputc(0x5A, file) != EOF);
    CHECK_EQ(0, fclose(file));
    CHECK_REFUSED(PAWL_CORRUPT, back_up_to(lab, to, false));
    CHECK(access(to.ptr, F_OK) != 0);
    CHECK(access(place(lab, "copy.db-new").ptr, F_OK) != 0);
}

TEST_EACH_STORE("the calls name what is missing or wrong; PostgreSQL is told its own means")
{
    struct pawl_backup backup = PAWL_BACKUP_INIT;
    struct pawl_restore restore = PAWL_RESTORE_INIT;
    CHECK_REFUSED(PAWL_INVALID, pawl_backup(&backup, NULL, &lab->err));
    CHECK_REFUSED(PAWL_INVALID, pawl_restore(&restore, &lab->err));
    restore.store = backup.store = pawl_str_of(lab->target);
    CHECK_REFUSED(PAWL_INVALID, pawl_restore(&restore, &lab->err));
    CHECK(strstr(lab->err.text, "is_confirmed") != NULL);
    CHECK_REFUSED(PAWL_INVALID, pawl_epochs_raise_all(&restore, &lab->err));
    restore.is_confirmed = true;
    CHECK_REFUSED(PAWL_INVALID, pawl_restore(&restore, &lab->err));
    CHECK(strstr(lab->err.text, "from") != NULL);
    CHECK_REFUSED(PAWL_NOT_FOUND, pawl_epochs_raise_all(&restore, &lab->err));
    restore.from = backup.to = place(lab, "copy.db");
    if (lab->store == LAB_POSTGRES) {
        CHECK_REFUSED(PAWL_UNSUPPORTED, pawl_backup(&backup, NULL, &lab->err));
        CHECK(strstr(lab->err.text, "pg_dump") != NULL);
        CHECK_REFUSED(PAWL_UNSUPPORTED, pawl_restore(&restore, &lab->err));
        CHECK(strstr(lab->err.text, "--raise-epochs") != NULL);
    } else {
        CHECK_REFUSED(PAWL_NOT_FOUND, pawl_restore(&restore, &lab->err));
        CHECK(access(lab->target, F_OK) != 0);
    }
    restore.size = backup.size = 1;
    CHECK_REFUSED(PAWL_MISUSE, pawl_backup(&backup, NULL, &lab->err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_restore(&restore, &lab->err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_epochs_raise_all(NULL, &lab->err));
}

/* What the writers and their parent share. */
enum { WRITERS = 5, BACKUPS = 8 };
struct shared {
    _Atomic int is_over;
    _Atomic int64_t calls[WRITERS];
    _Atomic int64_t longest_us[WRITERS];
};
static struct shared *shared;
static int calls_pipe[2]; /* a byte for each call, as long as there is room */

static int64_t now_us(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

static int write_on(struct lab *lab, int number)
{
    struct pawl *pawl = NULL;
    struct pawl_options options = PAWL_OPTIONS_INIT;
    options.store = pawl_str_of(lab->target);
    if (pawl_open(&pawl, &options, NULL) != PAWL_OK) return 1;
    while (shared->is_over == 0) {
        struct pawl_added added;
        int64_t start_us = now_us();
        pawl_arena_reset(lab->keep);
        if (pawl_task_add(pawl, NEW(.input = PAWL_STR("[1,2,3]")), lab->keep, &added, NULL) !=
            PAWL_OK) {
            return 2;
        }
        int64_t took_us = now_us() - start_us;
        shared->calls[number]++;
        if (write(calls_pipe[1], "", 1) < 0 && errno != EAGAIN) return 3;
        if (took_us > shared->longest_us[number]) shared->longest_us[number] = took_us;
    }
    pawl_close(pawl);
    return 0;
}

static int64_t calls(void)
{
    int64_t sum = 0;
    for (int i = 0; i < WRITERS; i++) sum += shared->calls[i];
    return sum;
}

static void await_calls(int64_t count)
{
    char byte;
    while (calls() < count) CHECK_EQ(1, read(calls_pipe[0], &byte, 1));
}

TEST_SQLITE("backups of a store that five processes write are whole, and none of the writers errs "
            "or stands still")
{
    pid_t writers[WRITERS];
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    CHECK_EQ(0, pipe(calls_pipe));
    CHECK_EQ(0, fcntl(calls_pipe[1], F_SETFL, O_NONBLOCK));
    for (int i = 0; i < WRITERS; i++) writers[i] = lab_fork(lab, write_on, i);
    await_calls(100);
    int64_t took_us[BACKUPS];
    int64_t counts[BACKUPS];
    for (int i = 0; i < BACKUPS; i++) {
        int64_t before = calls();
        int64_t start_us = now_us();
        struct pawl_str to = place(lab, (char[]){'c', (char)('0' + i), '\0'});
        CHECK_OK(back_up_to(lab, to, false), &lab->err);
        took_us[i] = now_us() - start_us;
        /* committed before it began is in it; not yet begun when it ended is not */
        char target[LAB_PATH_BYTES_MAX];
        (void)snprintf(target, sizeof target, "%s", lab->target);
        (void)snprintf(lab->target, sizeof lab->target, "%s", to.ptr);
        counts[i] = atoll(lab_sql(lab, "SELECT count(*) FROM task"));
        CHECK_EQ(counts[i] * 2, atoll(lab_sql(lab, "SELECT count(*) FROM event")));
        CHECK_TEXT("ok", lab_sql(lab, "PRAGMA integrity_check"));
        (void)snprintf(lab->target, sizeof lab->target, "%s", target);
        CHECK(counts[i] >= before);
        CHECK(i == 0 || counts[i] >= counts[i - 1]);
        await_calls(before + 50); /* they go on */
    }
    shared->is_over = 1;
    int64_t longest_us = 0;
    for (int i = 0; i < WRITERS; i++) {
        CHECK_EQ(0, lab_wait(writers[i])); /* no call failed, BUSY included */
        if (shared->longest_us[i] > longest_us) longest_us = shared->longest_us[i];
    }
    (void)fprintf(
        stderr, "%lld tasks; the last backup took %lld ms; the longest call of a writer %lld ms\n",
        (long long)counts[BACKUPS - 1], (long long)took_us[BACKUPS - 1] / 1000,
        (long long)longest_us / 1000);
    CHECK_EQ(0, munmap(shared, sizeof *shared) + close(calls_pipe[0]) + close(calls_pipe[1]));
}

/* ---- Restore ---- */

TEST_SQLITE("T-080 a restore brings back what was backed up over later damage, whole")
{
    lab_open(lab);
    add(lab, "a");
    struct pawl_str copy = place(lab, "copy.db");
    CHECK_OK(back_up_to(lab, copy, false), &lab->err);
    add(lab, "b");
    shut(lab);
    char noise[9000];
    memset(noise, 0x5A, sizeof noise);
    write_file(pawl_str_of(lab->target), noise, sizeof noise);
    write_file(place(lab, strrchr(lab->target, '/') + 1), noise, sizeof noise);
    char log[LAB_PATH_BYTES_MAX + 8];
    (void)snprintf(log, sizeof log, "%s-wal", lab->target);
    write_file(pawl_str_of(log), noise, sizeof noise);
    CHECK_OK(restore_from(lab, copy), &lab->err);
    CHECK(access(log, F_OK) != 0);
    CHECK_EQ(0600, mode_of(pawl_str_of(lab->target)));
    CHECK_TEXT("a", ids_in(lab, pawl_str_of(lab->target)));
    CHECK_TEXT("ok", lab_sql(lab, "PRAGMA integrity_check"));
}

TEST_SQLITE(
    "a restore raises epochs, positions and keys by 2^20; old fences are dead, ids of events stay")
{
    lab_open(lab);
    add(lab, "a");
    struct pawl_fence fence = lab_start(lab, PAWL_STR("a"), "w");
    add(lab, "b");
    struct pawl_event event = lab_last(lab, PAWL_STR("a"));
    int64_t position = atoll(lab_sql(lab, "SELECT position FROM head"));
    int64_t next_key = atoll(lab_sql(lab, "SELECT next_key FROM head"));
    struct pawl_str copy = place(lab, "copy.db");
    CHECK_OK(back_up_to(lab, copy, false), &lab->err);
    /* handed out after the backup, and forgotten by the restore */
    CHECK_OK(
        pawl_task_complete(lab->pawl, PAWL_STR("a"), NO_TEXT, CHANGE(.fence = &fence), &lab->err),
        &lab->err);
    add(lab, "c");
    int64_t lost_position = atoll(lab_sql(lab, "SELECT position FROM head"));
    shut(lab);
    CHECK_OK(restore_from(lab, copy), &lab->err);
    CHECK_EQ(position + RAISE, atoll(lab_sql(lab, "SELECT position FROM head")));
    CHECK_EQ(next_key + RAISE, atoll(lab_sql(lab, "SELECT next_key FROM head")));
    lab_open(lab);
    CHECK_EQ(1 + RAISE, lab_get(lab, PAWL_STR("a")).epoch);
    CHECK_EQ(RAISE, lab_get(lab, PAWL_STR("b")).epoch);
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, PAWL_STR("a")).state);
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, PAWL_STR("a"), NO_TEXT,
                                                      CHANGE(.fence = &fence), &lab->err));
    CHECK_STR(pawl_arena_c_text(lab->keep, event.id), lab_last(lab, PAWL_STR("a")).id);
    add(lab, "d");
    CHECK(lab_last(lab, PAWL_STR("d")).position > lost_position);
    /* the lease ends by itself, and the task comes back */
    lab_pass(lab, 61 * SECOND_MS);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, PAWL_STR("a")).state);
}

TEST_SQLITE("a restore is refused while anything uses the store, and the user goes on")
{
    lab_open(lab);
    add(lab, "a");
    struct pawl_str copy = place(lab, "copy.db");
    CHECK_OK(back_up_to(lab, copy, false), &lab->err);
    add(lab, "b");
    CHECK_REFUSED(PAWL_BUSY, restore_from(lab, copy)); /* this very process, idle */
    CHECK_TEXT("b a", ids_in(lab, pawl_str_of(lab->target)));
    add(lab, "c"); /* its locks are as they were */
    CHECK_REFUSED(PAWL_BUSY, restore_from(lab, copy));
    shut(lab);
    CHECK_OK(restore_from(lab, copy), &lab->err);
}

static int idle(struct lab *lab, int out)
{
    struct pawl *pawl = NULL;
    struct pawl_options options = PAWL_OPTIONS_INIT;
    options.store = pawl_str_of(lab->target);
    if (pawl_open(&pawl, &options, NULL) != PAWL_OK || write(out, "x", 1) != 1) return 1;
    (void)pause(); /* until it is killed: no close, as when a process dies */
    return 0;
}

TEST_SQLITE("an idle process that has the store open stands against a restore, dead it does not")
{
    int ready[2];
    char byte;
    lab_open(lab);
    add(lab, "a");
    struct pawl_str copy = place(lab, "copy.db");
    CHECK_OK(back_up_to(lab, copy, false), &lab->err);
    add(lab, "b");
    shut(lab);
    CHECK_EQ(0, pipe(ready));
    pid_t child = lab_fork(lab, idle, ready[1]);
    CHECK_EQ(1, read(ready[0], &byte, 1));
    CHECK_REFUSED(PAWL_BUSY, restore_from(lab, copy));
    CHECK(strstr(lab->err.text, "is open") != NULL);
    CHECK_EQ(0, kill(child, SIGKILL));
    CHECK_EQ(-1, lab_wait(child));
    CHECK_OK(restore_from(lab, copy), &lab->err);
    CHECK_TEXT("a", ids_in(lab, pawl_str_of(lab->target)));
    CHECK_EQ(0, close(ready[0]));
    CHECK_EQ(0, close(ready[1]));
}

/* As a command that has inherited the descriptor of its execution: the lock is its own as long as
 * it lives. */
static int execute(struct lab *lab, int out)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(place(lab, "locks-file").ptr, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fcntl(fd, F_OFD_SETLK, &whole) != 0 || write(out, "x", 1) != 1) return 1;
    (void)pause();
    return 0;
}

TEST_SQLITE("a restore is refused while the lock of an execution is held")
{
    int ready[2];
    char byte;
    char folder[LAB_PATH_BYTES_MAX + 16];
    char file[LAB_PATH_BYTES_MAX + 32];
    lab_open(lab);
    add(lab, "a");
    struct pawl_str copy = place(lab, "copy.db");
    CHECK_OK(back_up_to(lab, copy, false), &lab->err);
    shut(lab);
    (void)snprintf(folder, sizeof folder, "%s-locks", lab->target);
    (void)snprintf(file, sizeof file, "%s/place", folder);
    CHECK_EQ(0, mkdir(folder, 0700));
    static const char id[] = "01900000-0000-7000-8000-000000000001";
    write_file(pawl_str_of(file), id, strlen(id));
    CHECK_EQ(0, symlink(file, place(lab, "locks-file").ptr));
    CHECK_EQ(0, pipe(ready));
    pid_t child = lab_fork(lab, execute, ready[1]);
    CHECK_EQ(1, read(ready[0], &byte, 1));
    CHECK_REFUSED(PAWL_BUSY, restore_from(lab, copy));
    CHECK(strstr(lab->err.text, "-locks") != NULL);
    CHECK(strstr(lab->err.text, "has the store open") != NULL); /* it may be such a one's as well */
    struct pawl_restore raise = PAWL_RESTORE_INIT;
    raise.store = pawl_str_of(lab->target);
    raise.is_confirmed = true;
    CHECK_REFUSED(PAWL_BUSY, pawl_epochs_raise_all(&raise, &lab->err));
    CHECK_EQ(0, kill(child, SIGKILL));
    CHECK_EQ(-1, lab_wait(child));
    CHECK_OK(restore_from(lab, copy), &lab->err);
    CHECK_EQ(0, close(ready[0]));
    CHECK_EQ(0, close(ready[1]));
}

TEST_SQLITE("a backup that is damaged, another's or missing leaves the store as it was")
{
    lab_open(lab);
    add(lab, "a");
    struct pawl_str copy = place(lab, "copy.db");
    CHECK_OK(back_up_to(lab, copy, false), &lab->err);
    shut(lab);
    FILE *file = fopen(copy.ptr, "r+e");
    CHECK(file != NULL);
    CHECK_EQ(0, fseek(file, 3 * 4096, SEEK_SET));
    for (int i = 0; i < 4096; i++) CHECK(fputc(0x5A, file) != EOF);
    CHECK_EQ(0, fclose(file));
    CHECK_REFUSED(PAWL_CORRUPT, restore_from(lab, copy));
    write_file(copy, "no database, nothing like it, not at all, no, never ever", 50);
    CHECK_REFUSED(PAWL_CORRUPT, restore_from(lab, copy));
    CHECK_REFUSED(PAWL_NOT_FOUND, restore_from(lab, place(lab, "none.db")));
    CHECK_REFUSED(PAWL_INVALID, restore_from(lab, pawl_str_of(lab->target)));
    CHECK_EQ(0, unlink(copy.ptr));
    char target[LAB_PATH_BYTES_MAX];
    (void)snprintf(target, sizeof target, "%s", lab->target);
    (void)snprintf(lab->target, sizeof lab->target, "%s", copy.ptr);
    (void)lab_sql(lab, "CREATE TABLE tasks (id)");
    (void)snprintf(lab->target, sizeof lab->target, "%s", target);
    CHECK_REFUSED(PAWL_UNSUPPORTED, restore_from(lab, copy));
    write_file(copy, "", 0);
    CHECK_REFUSED(PAWL_UNSUPPORTED, restore_from(lab, copy)); /* an empty file is no store */
    CHECK(strstr(lab->err.text, copy.ptr) != NULL);
    CHECK_TEXT("a", ids_in(lab, pawl_str_of(lab->target)));
    lab_open(lab);
    CHECK_EQ(0, lab_get(lab, PAWL_STR("a")).epoch);
}

TEST_SQLITE(
    "a restore of a backup of an older schema brings it up on its way, and needs no copy of it")
{
    static const char rows[] =
        "PRAGMA application_id = 1348564844; PRAGMA user_version = 1;"
        "INSERT INTO meta (one, schema_version, store_id, generation, boot_id, clock_offset_ms) "
        "VALUES "
        "(1, 1, '01900000-0000-7000-8000-000000000001', 1, 'boot-1', 1799999995000);"
        "INSERT INTO head (one, position, next_key, now_ms) VALUES (1, 0, 1, 1800000000000);";
    struct pawl_str copy = place(lab, "copy.db");
    char target[LAB_PATH_BYTES_MAX];
    sqlite3 *handle = NULL;
    (void)snprintf(target, sizeof target, "%s", lab->target);
    CHECK_EQ(SQLITE_OK, sqlite3_open(copy.ptr, &handle));
    CHECK_EQ(SQLITE_OK, sqlite3_exec(handle, pawl_schema_sqlite[0], NULL, NULL, NULL));
    CHECK_EQ(SQLITE_OK, sqlite3_exec(handle, rows, NULL, NULL, NULL));
    CHECK_EQ(SQLITE_OK, sqlite3_close(handle));
    CHECK_OK(restore_from(lab, copy), &lab->err);
    CHECK_TEXT(PAWL_SCHEMA_COUNT > 1 ? "more" : "one",
               lab_sql(lab, "SELECT CASE WHEN user_version > 1 THEN 'more' ELSE 'one' END FROM "
                            "pragma_user_version"));
    CHECK(access(place(lab, "backups").ptr, F_OK) != 0);
    CHECK_TEXT("", ids_in(lab, pawl_str_of(lab->target)));
    (void)snprintf(lab->target, sizeof lab->target, "%s", copy.ptr);
    CHECK_TEXT("1", lab_sql(lab, "PRAGMA user_version")); /* only read */
    (void)snprintf(lab->target, sizeof lab->target, "%s", target);
}

TEST_SQLITE("a restore that fails where no store was leaves none")
{
    struct pawl_str copy = place(lab, "copy.db");
    write_file(copy, "no database, nothing like it, not at all, no, never ever", 50);
    CHECK_REFUSED(PAWL_CORRUPT, restore_from(lab, copy));
    CHECK(access(lab->target, F_OK) != 0);
}

TEST_SQLITE(
    "callers of an older or a newer header are understood, fields this library has not refused")
{
    struct {
        struct pawl_backup ask;
        int64_t later;
    } backup = {.ask = {.size = sizeof backup}};
    struct {
        struct pawl_restore ask;
        int64_t later;
    } restore = {.ask = {.size = offsetof(struct pawl_restore, env), .is_confirmed = true}};
    struct {
        struct pawl_fsck ask;
        int64_t later;
    } fsck = {.ask = {.size = offsetof(struct pawl_fsck, log)}};
    lab_open(lab);
    add(lab, "a");
    shut(lab);
    fsck.ask.store = restore.ask.store = backup.ask.store = pawl_str_of(lab->target);
    restore.ask.from = backup.ask.to = place(lab, "copy.db");
    backup.later = 1;
    CHECK_REFUSED(PAWL_INVALID, pawl_backup(&backup.ask, NULL, &lab->err));
    CHECK(strstr(lab->err.text, "older than the header") != NULL);
    backup.later = 0;
    CHECK_OK(pawl_backup(&backup.ask, NULL, &lab->err), &lab->err);
    CHECK_OK(pawl_restore(&restore.ask, &lab->err), &lab->err);
    CHECK_OK(pawl_epochs_raise_all(&restore.ask, &lab->err), &lab->err);
    CHECK_OK(pawl_fsck(&fsck.ask, NULL, &lab->err), &lab->err);
    restore.ask.size = sizeof restore;
    fsck.ask.size = sizeof fsck;
    CHECK_OK(pawl_restore(&restore.ask, &lab->err), &lab->err);
    CHECK_OK(pawl_fsck(&fsck.ask, NULL, &lab->err), &lab->err);
}

TEST_SQLITE("a restore makes a store that is not there, and follows a link to one that is")
{
    struct stat status;
    lab_open(lab);
    add(lab, "a");
    struct pawl_str copy = place(lab, "copy.db");
    CHECK_OK(back_up_to(lab, copy, false), &lab->err);
    shut(lab);
    CHECK_EQ(0, unlink(lab->target));
    CHECK_OK(restore_from(lab, copy), &lab->err);
    struct pawl_str link = place(lab, "link.db");
    CHECK_EQ(0, symlink(lab->target, link.ptr));
    struct pawl_restore ask = PAWL_RESTORE_INIT;
    ask.store = link;
    ask.from = copy;
    ask.is_confirmed = true;
    ask.env = &lab->world.env;
    CHECK_OK(pawl_restore(&ask, &lab->err), &lab->err);
    CHECK_EQ(0, lstat(link.ptr, &status));
    CHECK(S_ISLNK(status.st_mode));
    CHECK_TEXT("a", ids_in(lab, pawl_str_of(lab->target)));
}

TEST_SQLITE(
    "a live store can be restored from: what is in its log counts, and nothing of it changes")
{
    lab_open(lab);
    add(lab, "a");
    shut(lab);
    struct pawl_options options = lab_options(lab);
    struct pawl_str other = place(lab, "other.db");
    struct pawl_added added;
    struct pawl *pawl = NULL;
    options.store = other;
    CHECK_OK(pawl_open(&pawl, &options, &lab->err), &lab->err);
    CHECK_OK(pawl_task_add(pawl, NEW(.id = PAWL_STR("o")), lab->keep, &added, &lab->err),
             &lab->err);
    CHECK_OK(restore_from(lab, other), &lab->err);
    CHECK_TEXT("o", ids_in(lab, pawl_str_of(lab->target)));
    CHECK_OK(pawl_task_add(pawl, NEW(.id = PAWL_STR("p")), lab->keep, &added, &lab->err),
             &lab->err);
    pawl_close(pawl);
}

TEST_SQLITE("who has the file open when another takes its place by hand notices at the next call")
{
    lab_open(lab);
    add(lab, "a");
    struct pawl_str copy = place(lab, "copy.db");
    CHECK_OK(back_up_to(lab, copy, false), &lab->err);
    add(lab, "b");
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, PAWL_STR("b")).state); /* its reader is open too */
    char name[LAB_PATH_BYTES_MAX + 8];
    CHECK_EQ(0, rename(copy.ptr, lab->target));
    (void)snprintf(name, sizeof name, "%s-wal", lab->target);
    CHECK_EQ(0, unlink(name));
    (void)snprintf(name, sizeof name, "%s-shm", lab->target);
    CHECK_EQ(0, unlink(name));
    struct pawl_added added;
    CHECK_REFUSED(PAWL_IO,
                  pawl_task_add(lab->pawl, NEW(.id = PAWL_STR("c")), lab->keep, &added, &lab->err));
    CHECK(strstr(lab->err.text, "replaced") != NULL);
    struct pawl_task task;
    CHECK_REFUSED(PAWL_IO,
                  pawl_task_get(lab->pawl, PAWL_STR("b"), false, lab->keep, &task, &lab->err));
}

TEST_EACH_STORE(
    "raising the epochs of a store that was put back by other means fences every holder")
{
    enum { TASKS = 12000 }; /* several slices */
    lab_open(lab);
    static struct pawl_task_new asks[PAWL_BATCH_MAX];
    for (size_t i = 0; i < PAWL_BATCH_MAX; i++) asks[i] = *NEW(.hold = true);
    for (int i = 0; i < TASKS; i += PAWL_BATCH_MAX) (void)lab_add_batch(lab, asks, PAWL_BATCH_MAX);
    add(lab, "a");
    struct pawl_fence fence = lab_start(lab, PAWL_STR("a"), "w");
    struct pawl_restore ask = PAWL_RESTORE_INIT;
    ask.store = pawl_str_of(lab->target);
    ask.is_confirmed = true;
    ask.env = &lab->world.env;
    CHECK_OK(pawl_epochs_raise_all(&ask, &lab->err), &lab->err);
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, PAWL_STR("a"), NO_TEXT,
                                                      CHANGE(.fence = &fence), &lab->err));
    CHECK_EQ(1 + RAISE, lab_get(lab, PAWL_STR("a")).epoch);
    CHECK_TEXT("12000", lab_sql(lab, "SELECT count(*) FROM task WHERE epoch = 1048576"));
    CHECK_OK(pawl_epochs_raise_all(&ask, &lab->err), &lab->err); /* twice does no harm */
    CHECK_EQ(1 + 2 * RAISE, lab_get(lab, PAWL_STR("a")).epoch);
    add(lab, "b");
    CHECK(lab_last(lab, PAWL_STR("b")).position > 2 * RAISE);
    (void)lab_sql(lab, "UPDATE task SET epoch = 9223372036854775807 WHERE id = 'b'");
    CHECK_OK(pawl_epochs_raise_all(&ask, &lab->err), &lab->err); /* nor does a row that nobody can read */
    CHECK_EQ(1 + 3 * RAISE, lab_get(lab, PAWL_STR("a")).epoch);
}

TEST_MAIN()
