/* What a store on SQLite does with its file: whose it is, damage, full disks, several processes,
 * the clock kept in it, rows that cannot be read, and the plan of every statement. */
#include "lab.h"
#include "shim_vfs.h"

#include "base/str.h"
#include "core/limits.h"
#include "store/schema_text.h"
#include "store/sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUEUE = 1, NOBODY = 65534 };

static struct lab lab; /* of the running test; large, so not on the stack */

static void prepare(void)
{
    lab_prepare(&lab, &lab_kinds[0]);
}

static void open_lab(void)
{
    lab_open(&lab, &lab_kinds[0]);
}

static enum pawl_code try_open(bool must_exist)
{
    struct pawl_store *store = NULL;
    enum pawl_code code = lab_store(&lab, must_exist, &store);
    CHECK((code == PAWL_OK) == (store != NULL));
    pawl_store_close(store);
    return code;
}

static void add_tasks(int64_t first, int64_t last)
{
    lab_begin(&lab);
    for (int64_t key = first; key <= last; key++) (void)lab_put_task(&lab, key, QUEUE);
    lab_commit(&lab);
}

/* A file of the lab beside the store: "" is the store itself. */
static const char *path(const char *suffix)
{
    static char text[LAB_PATH_BYTES_MAX + 16];
    (void)snprintf(text, sizeof text, "%s%s", lab.target, suffix);
    return text;
}

static int64_t file_bytes(const char *suffix)
{
    struct stat status;
    return stat(path(suffix), &status) == 0 ? (int64_t)status.st_size : -1;
}

static void write_file(const char *text, size_t bytes, int64_t at)
{
    int fd = open(lab.target, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(bytes, pwrite(fd, text, bytes, at));
    CHECK_EQ(0, close(fd));
}

/* ---- The file ---------------------------------------------------------------------------------
 */

TEST("T-081 a new file is the owner's alone, in WAL mode, of the newest schema, and marked as ours")
{
    prepare();
    mode_t mask = umask(0);
    CHECK_OK(lab_store(&lab, false, &lab.store), &lab.err);
    add_tasks(1, 1);
    (void)umask(mask);
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        struct stat status;
        CHECK_EQ(0, stat(path(suffixes[i]), &status));
        CHECK_EQ(0600, status.st_mode & 0777);
    }
    CHECK_TEXT("wal", lab_sql_text(&lab, "PRAGMA journal_mode"));
    CHECK_TEXT("1348564844", lab_sql_text(&lab, "PRAGMA application_id"));
    CHECK_EQ(PAWL_SCHEMA_COUNT, atoi(lab_sql_text(&lab, "PRAGMA user_version")));
    CHECK_TEXT("4096", lab_sql_text(&lab, "PRAGMA page_size"));
    CHECK_TEXT("2", lab_sql_text(&lab, "PRAGMA auto_vacuum"));
    lab_close(&lab);
}

TEST("a store made through a link that leads nowhere is for its owner only, where the link leads")
{
    struct stat status;
    char to[LAB_PATH_BYTES_MAX + 16];
    const mode_t mask = umask(022);
    const char *const folders[] = {"", lab.folder}; /* of the second link: beside it, and in full */
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        prepare();
        (void)snprintf(to, sizeof to, "%s%sreal.db", folders[i], i == 0 ? "" : "/");
        CHECK_EQ(0, symlink("next.db", lab.target));
        (void)snprintf(lab.target, sizeof lab.target, "%.400s/next.db", lab.folder);
        CHECK_EQ(0, symlink(to, lab.target));
        (void)snprintf(lab.target, sizeof lab.target, "%.400s/store.db", lab.folder);
        CHECK_OK(lab_store(&lab, false, &lab.store), &lab.err);
        (void)snprintf(to, sizeof to, "%.400s/real.db", lab.folder);
        CHECK_EQ(0, lstat(to, &status));
        CHECK(S_ISREG(status.st_mode));
        CHECK_EQ(0600, status.st_mode & 0777);
        lab_close(&lab);
    }
    (void)umask(mask);
}

TEST("a path whose links go round in a circle is IO")
{
    struct pawl_store *store = NULL;
    prepare();
    CHECK_EQ(0, symlink("store.db", lab.target));
    CHECK_CODE(PAWL_IO, lab_store(&lab, false, &store));
    CHECK(store == NULL);
    lab_close(&lab);
}

TEST("the path of a store is absolute, and names that mean more to SQLite are plain files")
{
    static const char *const names[] = {":memory:", "file:x?mode=memory", "a b"};
    prepare();
    char before[LAB_PATH_BYTES_MAX];
    CHECK(getcwd(before, sizeof before) != NULL);
    CHECK_EQ(0, chdir(lab.folder));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        (void)snprintf(lab.target, sizeof lab.target, "%s", names[i]);
        struct pawl_store *store = NULL;
        CHECK_OK(lab_store(&lab, false, &store), &lab.err);
        CHECK_EQ('/', pawl_store_path(store).ptr[0]);
        CHECK(pawl_str_ends(pawl_store_path(store), pawl_str_of(names[i])));
        CHECK(!pawl_store_is_postgres(store));
        CHECK_EQ(-1, pawl_store_bell_fd(store));
        CHECK(!pawl_store_bell_drain(store));
        pawl_store_close(store);
        CHECK_EQ(0, access(names[i], F_OK));
    }
    CHECK_EQ(0, chdir(before));
    lab_close(&lab);
}

TEST("a path that cannot be one is INVALID, a folder that is not there is IO")
{
    prepare();
    lab.target[0] = '\0';
    CHECK_CODE(PAWL_INVALID, try_open(false));
    (void)snprintf(lab.target, sizeof lab.target, "%.400s/none/store.db", lab.folder);
    CHECK_CODE(PAWL_IO, try_open(false));
    (void)snprintf(lab.target, sizeof lab.target, "%.400s", lab.folder);
    CHECK_CODE(PAWL_INVALID, try_open(false)); /* a folder */
    (void)snprintf(lab.target, sizeof lab.target, "%.400s/pipe", lab.folder);
    CHECK_EQ(0, mkfifo(lab.target, 0600));
    CHECK_CODE(PAWL_INVALID, try_open(true)); /* which SQLite would wait for */
    CHECK_EQ(0, unlink(lab.target));
    lab_close(&lab);
}

TEST("a store with a second name is refused: each would have a log of its own")
{
    char other[LAB_PATH_BYTES_MAX];
    prepare();
    CHECK_OK(try_open(false), &lab.err);
    (void)snprintf(other, sizeof other, "%.400s/other.db", lab.folder);
    CHECK_EQ(0, link(lab.target, other));
    CHECK_CODE(PAWL_UNSUPPORTED, try_open(true));
    CHECK(strstr(lab.err.text, "2 names") != NULL);
    CHECK_EQ(0, unlink(other));
    CHECK_OK(try_open(true), &lab.err);
    lab_close(&lab);
}

TEST("a file that is marked as ours and has no schema number is CORRUPT")
{
    prepare();
    lab_sql(&lab, "PRAGMA application_id = 1348564844; CREATE TABLE task (key)");
    CHECK_CODE(PAWL_CORRUPT, try_open(false));
    lab_close(&lab);
}

TEST("an empty file becomes a store, unless one must exist")
{
    prepare();
    write_file("", 0, 0);
    CHECK_CODE(PAWL_NOT_FOUND, try_open(true));
    CHECK_OK(try_open(false), &lab.err);
    CHECK_OK(try_open(true), &lab.err);
    lab_close(&lab);
}

TEST("network file systems are told by their number, and FUSE by its type")
{
    CHECK(pawl_file_system_is_remote(0x6969, NULL));
    CHECK(pawl_file_system_is_remote(0xFF534D42, NULL));
    CHECK(pawl_file_system_is_remote(0xFE534D42, NULL));
    CHECK(pawl_file_system_is_remote(0x01021997, NULL));
    CHECK(pawl_file_system_is_remote(0x00C36400, NULL));
    CHECK(pawl_file_system_is_remote(0x65735546, "fuse.sshfs"));
    CHECK(!pawl_file_system_is_remote(0x65735546, "fuse.gocryptfs"));
    CHECK(!pawl_file_system_is_remote(0x65735546, "fuseblk"));
    CHECK(!pawl_file_system_is_remote(0x65735546, NULL));
    CHECK(!pawl_file_system_is_remote(0xEF53, NULL));     /* ext4 */
    CHECK(!pawl_file_system_is_remote(0x01021994, NULL)); /* tmpfs */
    CHECK(!pawl_file_system_is_remote(0x9123683E, NULL)); /* btrfs */
}

TEST("the type of a mount is found by its device, and lines of anything else are passed over")
{
    static const struct {
        const char *line;
        const char *want;
    } rows[] = {
        {"36 35 0:51 / /mnt rw,noatime shared:1 - fuse.sshfs me@there:/ rw\n", "fuse.sshfs"},
        {"36 35 0:51 / /mnt rw,noatime - ext4 /dev/sda rw\n", "ext4"},
        {"36 35 0:51 / /mnt rw - ext4\n", "ext4"},
        {"36 35 0:52 / /mnt rw,noatime - ext4 /dev/sda rw\n", NULL},
        {"36 35 0:51 / /mnt rw,noatime\n", NULL},
        {"nonsense", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "%s", rows[i].line);
        CHECK_TEXT(rows[i].want, pawl_mount_type(line, makedev(0, 51)));
    }
}

/* Runs the body as somebody whom permissions bind. */
static void as_nobody(void (*body)(void))
{
    bool is_root = geteuid() == 0;
    if (is_root) CHECK_EQ(0, seteuid(NOBODY));
    body();
    if (is_root) CHECK_EQ(0, seteuid(0));
}

static void refused_as_io(void)
{
    CHECK_CODE(PAWL_IO, try_open(false));
}

static void ok(void)
{
    CHECK_OK(try_open(false), &lab.err);
}

TEST("a file or folder that may not be written is IO, with a sentence that says so")
{
    prepare();
    CHECK_OK(try_open(false), &lab.err);
    CHECK_EQ(0, chmod(lab.folder, 0777));
    CHECK_EQ(0, chmod(path(""), 0666));
    CHECK_EQ(0, chmod(path("-wal"), 0666));
    CHECK_EQ(0, chmod(path("-shm"), 0666));
    as_nobody(ok);
    CHECK_EQ(0, chmod(path(""), 0444));
    as_nobody(refused_as_io);
    CHECK(strstr(lab.err.text, "read-only") != NULL);

    CHECK_EQ(0, chmod(path(""), 0666));
    CHECK_EQ(0, unlink(path("-wal")));
    CHECK_EQ(0, unlink(path("-shm")));
    CHECK_EQ(0, chmod(lab.folder, 0555));
    as_nobody(refused_as_io);

    CHECK_EQ(0, unlink(path("")));
    as_nobody(refused_as_io); /* cannot be created */
    CHECK(strstr(lab.err.text, "cannot be created") != NULL);
    lab_close(&lab);
}

/* ---- Whose file -------------------------------------------------------------------------------
 */

TEST("a database of others is UNSUPPORTED and stays as it was")
{
    static const char *const statements[] = {
        "CREATE TABLE notes (text)",
        "CREATE TABLE notes (text); DROP TABLE notes",
        "PRAGMA application_id = 7; PRAGMA user_version = 1; CREATE TABLE task (key)",
        "PRAGMA application_id = 7",
    };
    for (size_t i = 0; i < COUNT_OF(statements); i++) {
        prepare();
        lab_sql(&lab, statements[i]);
        CHECK_CODE(PAWL_UNSUPPORTED, try_open(false));
        CHECK_CODE(PAWL_UNSUPPORTED, try_open(true));
        CHECK(strstr(lab.err.text, "not a Pawl store") != NULL);
        CHECK_TEXT("delete", lab_sql_text(&lab, "PRAGMA journal_mode"));
        CHECK_EQ(-1, file_bytes("-wal"));
        lab_close(&lab);
    }
}

TEST("T-079 a store of another program is UNSUPPORTED, and the sentence names pawl import")
{
    prepare();
    lab_sql(&lab, "CREATE TABLE tasks (id TEXT PRIMARY KEY)");
    CHECK_CODE(PAWL_UNSUPPORTED, try_open(false));
    CHECK(strstr(lab.err.text, "pawl import") != NULL);
    lab_close(&lab);
}

TEST("an older store in WAL mode is refused without a lock, and nothing appears beside it")
{
    prepare();
    sqlite3 *old; /* closed in order: its log is in the file, and gone */
    CHECK_EQ(SQLITE_OK, sqlite3_open(path(""), &old));
    CHECK_EQ(SQLITE_OK,
             sqlite3_exec(old,
                          "PRAGMA journal_mode = WAL; CREATE TABLE tasks (id TEXT PRIMARY KEY)",
                          NULL, NULL, NULL));
    CHECK_EQ(SQLITE_OK, sqlite3_close(old));
    CHECK_EQ(-1, file_bytes("-wal"));
    CHECK_CODE(PAWL_UNSUPPORTED, try_open(false));
    CHECK_CODE(PAWL_UNSUPPORTED, try_open(true));
    CHECK(strstr(lab.err.text, "pawl import") != NULL);
    CHECK_EQ(-1, file_bytes("-wal"));
    CHECK_EQ(-1, file_bytes("-shm"));
    lab_close(&lab);
}

TEST("an older store in its JSON form is UNSUPPORTED, and the sentence names pawl import")
{
    static const char text[] = " {\"task-1\": {\"id\": \"task-1\"}}";
    prepare();
    FILE *file = fopen(path(""), "we");
    CHECK(file != NULL);
    CHECK_EQ(strlen(text), fwrite(text, 1, strlen(text), file));
    CHECK_EQ(0, fclose(file));
    CHECK_CODE(PAWL_UNSUPPORTED, try_open(false));
    CHECK_CODE(PAWL_UNSUPPORTED, try_open(true));
    CHECK(strstr(lab.err.text, "pawl import") != NULL);
    CHECK_EQ(strlen(text), file_bytes(""));
    CHECK_EQ(-1, file_bytes("-wal"));
    lab_close(&lab);
}

TEST("T-082 a newer schema is UNSUPPORTED, at open and when it appears under an open handle")
{
    open_lab();
    lab_sql(&lab, "UPDATE meta SET schema_version = schema_version + 1");
    CHECK_CODE(PAWL_UNSUPPORTED, lab_try_begin(&lab));
    lab_sql(&lab, "UPDATE meta SET schema_version = schema_version - 1");
    lab_begin(&lab);
    pawl_store_rollback(lab.store);

    lab_sql(&lab, "PRAGMA user_version = 99");
    CHECK_CODE(PAWL_UNSUPPORTED, try_open(false));
    CHECK(strstr(lab.err.text, "schema 99") != NULL);
    lab_close(&lab);
}

TEST("T-085 a file that is no database is CORRUPT, whatever its size")
{
    /* SQLite takes a file of one byte for an empty one */
    static const size_t sizes[] = {2, 99, 100, 511, 512, 4096, 20000};
    static char noise[20000];
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)(i * 37 + 11);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        prepare();
        write_file(noise, sizes[i], 0);
        CHECK_CODE(PAWL_CORRUPT, try_open(false));
        CHECK_EQ(sizes[i], file_bytes("")); /* untouched */
        lab_close(&lab);
    }
}

/* Moves everything from the log into the file and closes the store. */
static void settle_file(void)
{
    pawl_store_close(lab.store);
    lab.store = NULL;
    lab_sql(&lab, "PRAGMA wal_checkpoint(TRUNCATE)");
    CHECK_EQ(0, file_bytes("-wal"));
    CHECK_EQ(0, unlink(path("-wal")));
    CHECK_EQ(0, unlink(path("-shm")));
}

TEST("T-085 a damaged file is CORRUPT at open or when the damage is met, never an empty list")
{
    static char zeros[4096];
    open_lab();
    add_tasks(1, 500);
    settle_file();
    int64_t pages = file_bytes("") / 4096;
    CHECK(pages > 20);
    static char copy[4096];
    int found = 0;
    for (int64_t page = 0; page < pages; page++) {
        int fd = open(lab.target, O_RDONLY);
        CHECK_EQ(4096, pread(fd, copy, sizeof copy, page * 4096));
        CHECK_EQ(0, close(fd));
        write_file(zeros, sizeof zeros, page * 4096);

        enum pawl_code code = lab_store(&lab, true, &lab.store);
        if (code == PAWL_OK) code = lab_try_begin(&lab);
        size_t count = 500;
        if (code == PAWL_OK) {
            struct pawl_entry *entry =
                pawl_set_look(&lab.set, PAWL_LOOK_READY, QUEUE, (struct pawl_str){0}, 0, 1000);
            code = pawl_store_load(lab.store, &lab.set, &lab.err);
            if (code == PAWL_OK) count = ((struct pawl_rows *)entry->row)->count;
            pawl_store_rollback(lab.store);
        }
        if (code != PAWL_OK) found++;
        CHECK(code == PAWL_OK || code == PAWL_CORRUPT);
        CHECK_EQ(500, count);
        pawl_store_close(lab.store);
        lab.store = NULL;
        (void)unlink(path("-wal"));
        (void)unlink(path("-shm"));
        write_file(copy, sizeof copy, page * 4096);
    }
    CHECK(found > 10); /* task and its ready index are most of the file */
    lab_close(&lab);
}

TEST("T-085 a cut file is CORRUPT at open")
{
    open_lab();
    add_tasks(1, 500);
    settle_file();
    CHECK_EQ(0, truncate(path(""), file_bytes("") / 2 / 4096 * 4096));
    CHECK_CODE(PAWL_CORRUPT, try_open(true));
    lab_close(&lab);
}

TEST("a store without its first rows, or with senseless ones, is CORRUPT")
{
    static const struct {
        const char *sql;
        bool at_open;
    } rows[] = {
        {"DELETE FROM meta", true},
        {"UPDATE meta SET store_id = 'x'", true},
        {"DELETE FROM head", false},
        {"UPDATE head SET next_key = 0", false},
        {"UPDATE head SET now_ms = -1", false},
        {"UPDATE head SET now_ms = 9223372036854775807", false},
        {"DROP TABLE head", false},
        {"DROP TABLE meta", true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        open_lab();
        lab_sql(&lab, rows[i].sql);
        CHECK_CODE(PAWL_CORRUPT, lab_try_begin(&lab));
        CHECK_CODE(rows[i].at_open ? PAWL_CORRUPT : PAWL_OK, try_open(true));
        lab_close(&lab);
    }
}

TEST("a store that another file has replaced is noticed")
{
    open_lab();
    lab_sql(&lab, "UPDATE meta SET store_id = '00000000-0000-7000-8000-000000000000'");
    CHECK_CODE(PAWL_CORRUPT, lab_try_begin(&lab));
    lab_close(&lab);
}

/* ---- Several at once --------------------------------------------------------------------------
 */

enum { OPENERS = 6, OPEN_ROUNDS = 10 };

struct opener {
    pthread_t thread;
    pthread_barrier_t *barrier;
    enum pawl_code code;
    struct pawl_error err;
    char store_id[PAWL_UUID_BYTES_MAX + 1];
};

static void *open_one(void *self)
{
    struct opener *opener = self;
    struct lab_world world = lab.world; /* the random numbers of two threads must not meet */
    world.env.self = &world;
    world.random = (uint64_t)(uintptr_t)opener;
    struct pawl_store_options options = {.target = pawl_str_of(lab.target), .env = &world.env};
    struct pawl_store *store = NULL;
    (void)pthread_barrier_wait(opener->barrier);
    opener->code = pawl_store_open(&store, &options, &opener->err);
    if (opener->code == PAWL_OK) memcpy(opener->store_id, store->store_id, sizeof store->store_id);
    pawl_store_close(store);
    return NULL;
}

TEST("many handles that create a store at once all open the same one")
{
    for (int round = 0; round < OPEN_ROUNDS; round++) {
        struct opener openers[OPENERS];
        pthread_barrier_t barrier;
        prepare();
        CHECK_EQ(0, pthread_barrier_init(&barrier, NULL, OPENERS));
        for (size_t i = 0; i < OPENERS; i++) {
            openers[i] = (struct opener){.barrier = &barrier};
            CHECK_EQ(0, pthread_create(&openers[i].thread, NULL, open_one, &openers[i]));
        }
        for (size_t i = 0; i < OPENERS; i++) CHECK_EQ(0, pthread_join(openers[i].thread, NULL));
        for (size_t i = 0; i < OPENERS; i++) {
            CHECK_OK(openers[i].code, &openers[i].err);
            CHECK_TEXT(openers[0].store_id, openers[i].store_id);
        }
        (void)pthread_barrier_destroy(&barrier);
        lab_close(&lab);
    }
}

/* One of several processes: opens and adds tasks of its own. The exit code is a pawl_code. */
static int process(int number)
{
    struct pawl_store *store = NULL;
    lab.world.random = (uint64_t)number;
    enum pawl_code code = lab_store(&lab, false, &store);
    lab.store = store;
    for (int64_t i = 0; i < 20 && code == PAWL_OK; i++) {
        code = lab_try_begin(&lab);
        if (code != PAWL_OK) break;
        (void)lab_put_task(&lab, number * 100 + i + 1, QUEUE);
        lab_put_event(&lab, number * 100 + i + 1, 1);
        code = lab_try_commit(&lab);
        pawl_store_checkpoint(store);
    }
    pawl_store_close(store);
    return (int)code;
}

TEST("processes that create a store at once and write to it lose nothing")
{
    for (int round = 0; round < 3; round++) {
        pid_t pids[OPENERS];
        prepare();
        for (int i = 0; i < OPENERS; i++) {
            pids[i] = fork();
            CHECK(pids[i] >= 0);
            if (pids[i] == 0) _exit(process(i));
        }
        for (int i = 0; i < OPENERS; i++) {
            int status = 0;
            CHECK_EQ(pids[i], waitpid(pids[i], &status, 0));
            CHECK(WIFEXITED(status));
            CHECK_CODE(PAWL_OK, (enum pawl_code)WEXITSTATUS(status));
        }
        CHECK_OK(lab_store(&lab, true, &lab.store), &lab.err);
        lab_begin(&lab);
        CHECK_EQ(OPENERS * 20, lab.head.position);
        CHECK_EQ(OPENERS * 20, lab_rows(&lab, PAWL_LOOK_READY, QUEUE, 0, 1000)->count);
        pawl_store_rollback(lab.store);
        CHECK_TEXT("ok", lab_sql_text(&lab, "PRAGMA integrity_check"));
        lab_close(&lab);
    }
}

/* ---- A disk that fails ------------------------------------------------------------------------
 */

static struct shim_vfs shim;

static void open_on_shim(void)
{
    prepare();
    shim_vfs_add(&shim);
    lab.vfs = "shim";
    CHECK_OK(lab_store(&lab, false, &lab.store), &lab.err);
}

static void close_on_shim(void)
{
    lab_close(&lab);
    shim_vfs_remove(&shim);
}

TEST("a store whose making fails at any write is made by the next who opens it")
{
    int failures = 0;
    for (int at = 1; at < 200; at++) {
        struct pawl_store *store = NULL;
        prepare();
        shim_vfs_add(&shim);
        lab.vfs = "shim";
        shim.fail_write_at = at;
        shim.write_result = at % 2 == 0 ? SQLITE_FULL : SQLITE_IOERR_WRITE;
        enum pawl_code code = lab_store(&lab, false, &store);
        shim.fail_write_at = 0;
        pawl_store_close(store);
        CHECK(code == PAWL_OK || code == PAWL_IO || code == PAWL_UNKNOWN_OUTCOME);
        if (code != PAWL_OK) failures++;
        CHECK_OK(lab_store(&lab, false, &lab.store), &lab.err);
        lab_begin(&lab);
        CHECK_EQ(0, lab.head.position);
        pawl_store_rollback(lab.store);
        CHECK_TEXT("1", lab_sql_text(&lab, "SELECT count(*) FROM meta"));
        close_on_shim();
        if (code == PAWL_OK) break;
    }
    CHECK(failures > 20);
}

static void check_count(size_t count)
{
    lab_begin(&lab);
    CHECK_EQ(count, lab_rows(&lab, PAWL_LOOK_READY, QUEUE, 0, 1000)->count);
    pawl_store_rollback(lab.store);
}

static enum pawl_code try_add(int64_t key)
{
    enum pawl_code code = lab_try_begin(&lab);
    if (code != PAWL_OK) return code;
    (void)lab_put_task(&lab, key, QUEUE);
    return lab_try_commit(&lab);
}

TEST("a full disk is IO at every write, loses nothing, and all goes on when there is room again")
{
    open_on_shim();
    int64_t count = 0;
    int writes = 0;
    for (int at = 1; at < 100; at++) {
        shim.write_count = 0;
        shim.fail_write_at = at;
        shim.write_result = SQLITE_FULL;
        enum pawl_code code = try_add(count + 1);
        shim.fail_write_at = 0;
        if (code == PAWL_OK) {
            count++;
            break;
        }
        writes++;
        CHECK_CODE(PAWL_IO, code);
        CHECK(strstr(lab.err.text, "the disk is full") != NULL);
        check_count((size_t)count);
        CHECK_OK(try_add(count + 1), &lab.err);
        count++;
        lab_reopen(&lab); /* what is on disk, not in memory */
        check_count((size_t)count);
    }
    CHECK(writes >= 4); /* frames' headers and pages */
    CHECK_TEXT("ok", lab_sql_text(&lab, "PRAGMA integrity_check"));
    close_on_shim();
}

TEST("an error of the disk in a commit is UNKNOWN_OUTCOME, and the store opens the file anew")
{
    open_on_shim();
    CHECK_OK(try_add(1), &lab.err);
    for (int at = 1; at < 100; at++) {
        shim.write_count = 0;
        shim.fail_write_at = at;
        shim.write_result = SQLITE_IOERR_WRITE;
        struct pawl_db *before = pawl_store_db(lab.store);
        enum pawl_code code = try_add(100 + at);
        shim.fail_write_at = 0;
        if (code == PAWL_OK) break;
        CHECK_CODE(PAWL_UNKNOWN_OUTCOME, code);
        CHECK(pawl_store_db(lab.store) != NULL && before != NULL);
        check_count(1);
    }
    CHECK(strstr(lab.log_text, "store.reopened") != NULL);

    shim.fails_sync = true;
    CHECK_CODE(PAWL_UNKNOWN_OUTCOME, try_add(2));
    shim.fails_sync = false;
    lab_begin(&lab);
    bool is_there = lab_task(&lab, 2) != NULL; /* either is allowed */
    pawl_store_rollback(lab.store);
    if (!is_there) CHECK_OK(try_add(2), &lab.err);
    CHECK_OK(try_add(3), &lab.err);
    close_on_shim();
}

TEST("a store that cannot be opened anew says so until it can")
{
    open_on_shim();
    CHECK_OK(try_add(1), &lab.err);
    shim.fails_sync = true;
    shim.fails_read = true;
    enum pawl_code code = try_add(2); /* the read may fail before the commit does */
    CHECK(code == PAWL_UNKNOWN_OUTCOME || code == PAWL_IO);
    shim.fails_read = false;
    if (code == PAWL_IO) CHECK_CODE(PAWL_UNKNOWN_OUTCOME, try_add(2));
    shim.fails_sync = false;

    int64_t due_at_ms = 0;
    int64_t now_ms = 0;
    pawl_db_close(lab.store->db); /* as if opening anew had failed */
    lab.store->db = NULL;
    shim.fails_read = true;
    CHECK_CODE(PAWL_IO, lab_try_begin(&lab));
    CHECK_CODE(PAWL_IO, pawl_store_next_due(lab.store, &due_at_ms, &now_ms, &lab.err));
    pawl_store_checkpoint(lab.store);
    CHECK_EQ(-1, pawl_store_bell_fd(lab.store));
    CHECK(pawl_store_path(lab.store).len > 0);
    shim.fails_read = false;
    CHECK_OK(pawl_store_next_due(lab.store, &due_at_ms, &now_ms, &lab.err), &lab.err);
    CHECK_OK(try_add(3), &lab.err);
    close_on_shim();
}

TEST("a lock held by somebody else is BUSY after five seconds, with nothing written")
{
    sqlite3 *other = NULL;
    open_on_shim();
    CHECK_EQ(SQLITE_OK, sqlite3_open(lab.target, &other));
    CHECK_EQ(SQLITE_OK, sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    shim.slept_us = 0;
    CHECK_CODE(PAWL_BUSY, lab_try_begin(&lab));
    CHECK_NEAR(5000000, shim.slept_us, 200000);
    CHECK_EQ(SQLITE_OK, sqlite3_exec(other, "COMMIT", NULL, NULL, NULL));
    CHECK_OK(try_add(1), &lab.err);
    CHECK_EQ(SQLITE_OK, sqlite3_close(other));
    close_on_shim();
}

/* ---- The log ----------------------------------------------------------------------------------
 */

static void add_large(int64_t key)
{
    struct pawl_str body = {.len = 400 * 1024};
    lab_begin(&lab);
    body.ptr = pawl_arena_take(lab.arena, body.len);
    CHECK(body.ptr != NULL);
    memset((char *)(uintptr_t)body.ptr, 'x', body.len);
    pawl_set_put(&lab.set, PAWL_LOOK_PAYLOAD, key * 16, (struct pawl_str){0}, 0,
                 LAB_TAKE(&lab, body));
    lab_commit(&lab);
    pawl_store_checkpoint(lab.store);
}

TEST("the log stays short and is written over; nothing else moves it, not even closing")
{
    open_lab();
    for (int64_t key = 1; key <= 60; key++) add_large(key); /* 24 MB */
    int64_t bytes = file_bytes("-wal");
    CHECK(bytes < 6 * 1024 * 1024);
    CHECK(file_bytes("") > 18 * 1024 * 1024);
    lab_reopen(&lab);
    CHECK_EQ(bytes, file_bytes("-wal"));
    CHECK_TEXT("60", lab_sql_text(&lab, "SELECT count(*) FROM payload"));
    lab_close(&lab);
}

TEST("a reader in the way lets the log grow, and it shrinks no further than when it is gone")
{
    sqlite3 *reader = NULL;
    open_lab();
    add_large(1);
    CHECK_EQ(SQLITE_OK, sqlite3_open(lab.target, &reader));
    CHECK_EQ(SQLITE_OK, sqlite3_db_config(reader, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL));
    CHECK_EQ(SQLITE_OK,
             sqlite3_exec(reader, "BEGIN; SELECT key FROM payload LIMIT 1", NULL, NULL, NULL));
    for (int64_t key = 2; key <= 40; key++) add_large(key);
    int64_t bytes = file_bytes("-wal");
    CHECK(bytes > 15 * 1024 * 1024);
    CHECK_EQ(SQLITE_OK, sqlite3_exec(reader, "COMMIT", NULL, NULL, NULL));
    for (int64_t key = 41; key <= 80; key++) add_large(key);
    CHECK(file_bytes("-wal") < bytes + 6 * 1024 * 1024); /* moved, and written over */
    CHECK_EQ(SQLITE_OK, sqlite3_close(reader));
    lab_close(&lab);
}

TEST("a log that is far too long has its checkpoint wait for readers, but not for long")
{
    sqlite3 *reader = NULL;
    open_on_shim();
    add_large(1);
    CHECK_EQ(SQLITE_OK, sqlite3_open(lab.target, &reader));
    CHECK_EQ(SQLITE_OK, sqlite3_db_config(reader, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL));
    CHECK_EQ(SQLITE_OK,
             sqlite3_exec(reader, "BEGIN; SELECT key FROM payload LIMIT 1", NULL, NULL, NULL));
    int64_t key = 2;
    shim.slept_us = 0;
    for (; key <= 150; key++) add_large(key); /* below 64 MB: nobody waits */
    CHECK_EQ(0, shim.slept_us);
    for (; key <= 170; key++) add_large(key);
    CHECK(shim.slept_us > 200000); /* one or two tries of 400 ms */
    CHECK(shim.slept_us < 1000000);
    CHECK_EQ(SQLITE_OK, sqlite3_close(reader));
    for (; key <= 195; key++) add_large(key);
    CHECK(file_bytes("-wal") <= 17 * 1024 * 1024); /* moved, and cut */
    close_on_shim();
}

enum { PAGE_US = 60 * 1000 };

/* Two readers that take turns, so that there is one at every instant; each reads for twice
 * PAGE_US. */
struct relay {
    sqlite3 *readers[2];
    int newest;
    int64_t next_us; /* of the shim's sleep */
    int count;
};

static void hand_over(void *self)
{
    struct relay *relay = self;
    if (shim.slept_us < relay->next_us) return;
    relay->next_us = shim.slept_us + PAGE_US;
    relay->newest = 1 - relay->newest;
    relay->count++;
    /* it has read for long enough; the other one goes on */
    (void)sqlite3_exec(relay->readers[relay->newest], "COMMIT", NULL, NULL, NULL);
    CHECK_EQ(SQLITE_OK, sqlite3_exec(relay->readers[relay->newest],
                                     "BEGIN; SELECT key FROM payload LIMIT 1", NULL, NULL, NULL));
}

TEST("readers who follow each other without a gap do not keep the log from beginning anew")
{
    struct relay relay = {.newest = 1};
    open_on_shim();
    add_large(1);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(SQLITE_OK, sqlite3_open(lab.target, &relay.readers[i]));
        CHECK_EQ(SQLITE_OK,
                 sqlite3_db_config(relay.readers[i], SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL));
        hand_over(&relay);
        relay.next_us = 0;
    }
    shim.on_sleep = hand_over;
    shim.on_sleep_self = &relay;
    int64_t bytes_max = 0;
    for (int64_t key = 2; key <= 220; key++) { /* 88 MB */
        add_large(key);
        if (file_bytes("-wal") > bytes_max) bytes_max = file_bytes("-wal");
    }
    shim.on_sleep = NULL;
    CHECK(relay.count > 2);
    CHECK(bytes_max > 64 * 1000 * 1000);
    CHECK(bytes_max < 70 * 1000 * 1000);
    for (int i = 0; i < 2; i++) CHECK_EQ(SQLITE_OK, sqlite3_close(relay.readers[i]));
    close_on_shim();
}

/* ---- The clock --------------------------------------------------------------------------------
 */

static int64_t now(void)
{
    lab_begin(&lab);
    int64_t now_ms = lab.head.now_ms;
    lab_commit(&lab);
    return now_ms;
}

static int64_t plain_now(void)
{
    int64_t due_at_ms = 0;
    int64_t now_ms = 0;
    CHECK_OK(pawl_store_next_due(lab.store, &due_at_ms, &now_ms, &lab.err), &lab.err);
    return now_ms;
}

static void pass(int64_t ms)
{
    lab.world.wall_ms += ms;
    lab.world.boot_ms += ms;
}

TEST("D-47 now follows the boot clock: steps of the wall clock move nothing, and are logged")
{
    open_lab();
    CHECK_EQ(LAB_START_MS, now());
    pass(1500);
    CHECK_EQ(LAB_START_MS + 1500, now());
    CHECK_EQ(LAB_START_MS + 1500, plain_now());
    lab.world.wall_ms += 3600 * LAB_SECOND_MS;
    CHECK_EQ(LAB_START_MS + 1500, now());
    CHECK(strstr(lab.log_text, "event=clock.stepped by_ms=3600000") != NULL);
    lab.world.wall_ms -= 7200 * LAB_SECOND_MS;
    pass(10);
    CHECK_EQ(LAB_START_MS + 1510, now());
    CHECK(strstr(lab.log_text, "by_ms=-7200000") != NULL);

    struct pawl_store *first = lab.store; /* another process of the same boot agrees */
    CHECK_OK(lab_store(&lab, true, &lab.store), &lab.err);
    CHECK_EQ(LAB_START_MS + 1510, now());
    pawl_store_close(first);
    lab_close(&lab);
}

TEST("D-47 after a reboot now begins at the wall clock, but never before the last committed step")
{
    open_lab();
    pass(5000);
    CHECK_OK(try_add(1), &lab.err);
    pawl_store_close(lab.store);

    lab.world.env.boot_id = PAWL_STR("boot-2");
    lab.world.boot_ms = 100;
    lab.world.wall_ms = LAB_START_MS + 60000;
    CHECK_OK(lab_store(&lab, true, &lab.store), &lab.err);
    CHECK_EQ(LAB_START_MS + 60000, plain_now()); /* before any step of this boot */
    CHECK_EQ(LAB_START_MS + 60000, now());
    lab.world.wall_ms -= 5000; /* the offset is fixed by now: the step was committed */
    lab.world.boot_ms += 7;
    CHECK_EQ(LAB_START_MS + 60007, now());
    pawl_store_close(lab.store);

    lab.world.env.boot_id = PAWL_STR("boot-3");
    lab.world.boot_ms = 100;
    lab.world.wall_ms = LAB_START_MS - 3600 * LAB_SECOND_MS; /* a dead battery */
    CHECK_OK(lab_store(&lab, true, &lab.store), &lab.err);
    CHECK_EQ(LAB_START_MS + 60000, plain_now());
    CHECK_EQ(LAB_START_MS + 60000, now());
    lab.world.boot_ms += 5;
    CHECK_EQ(LAB_START_MS + 60005, now());
    lab_close(&lab);
}

TEST("D-47 now is never behind the last committed step, and that is logged once")
{
    open_lab();
    pass(5000);
    CHECK_OK(try_add(1), &lab.err);
    lab.world.boot_ms -= 3000;
    CHECK_EQ(LAB_START_MS + 5000, now());
    CHECK_EQ(LAB_START_MS + 5000, plain_now());
    const char *first = strstr(lab.log_text, "event=clock.behind by_ms=3000");
    CHECK(first != NULL);
    CHECK_EQ(LAB_START_MS + 5000, now());
    CHECK(strstr(first + strlen("event=clock.behind"), "clock.behind") == NULL);
    lab_close(&lab);
}

TEST("a damaged clock offset is made anew")
{
    static const char *const damages[] = {
        "UPDATE meta SET clock_offset_ms = 9223372036854775807",
        "UPDATE meta SET clock_offset_ms = -9223372036854775807",
        "UPDATE meta SET boot_id = ''",
    };
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        open_lab();
        lab_sql(&lab, damages[i]);
        CHECK_EQ(LAB_START_MS, plain_now());
        CHECK_EQ(LAB_START_MS, now());
        pass(5);
        CHECK_EQ(LAB_START_MS + 5, now());
        lab_close(&lab);
    }
}

/* ---- Rows that cannot be read -----------------------------------------------------------------
 */

TEST("T-084 a task with an unreadable row is set aside, and all others go on")
{
    static const char *const damages[] = {
        "UPDATE task SET state = 99 WHERE key = 2",
        "UPDATE task SET state = -1 WHERE key = 2",
        "UPDATE task SET priority = 100 WHERE key = 2",
        "UPDATE task SET priority = 4294967316 WHERE key = 2",
        "UPDATE task SET backoff = 3 WHERE key = 2",
        "UPDATE task SET control = 3 WHERE key = 2",
        "UPDATE task SET lease_kind = 3 WHERE key = 2",
        "UPDATE task SET outcome_kind = 6 WHERE key = 2",
        "UPDATE task SET dependency_policy = 3 WHERE key = 2",
        "UPDATE task SET payloads = 128 WHERE key = 2",
        "UPDATE task SET retries = -1 WHERE key = 2",
        "UPDATE task SET log_bytes = -1 WHERE key = 2",
        "UPDATE task SET progress = 101 WHERE key = 2",
        "UPDATE task SET version = 0 WHERE key = 2",
        "UPDATE task SET finished_at_ms = 7 WHERE key = 2",
        "UPDATE task SET id = '' WHERE key = 2",
    };
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        open_lab();
        lab_begin(&lab);
        for (int64_t key = 1; key <= 3; key++) lab_put_task(&lab, key, QUEUE)->due_at_ms = 10 * key;
        lab_commit(&lab);
        lab_sql(&lab, damages[i]);

        lab_begin(&lab);
        struct pawl_rows *ready = lab_rows(&lab, PAWL_LOOK_READY, QUEUE, 0, 0);
        struct pawl_rows *due = lab_rows(&lab, PAWL_LOOK_DUE, 0, 1000, 0);
        CHECK_EQ(2, ready->count);
        CHECK_EQ(1, ((int64_t *)ready->rows)[0]);
        CHECK_EQ(3, ((int64_t *)ready->rows)[1]);
        CHECK_EQ(2, due->count);
        CHECK(lab_task(&lab, 2) == NULL);
        CHECK(lab_look(&lab, PAWL_LOOK_TASK_ID, 0, "t-2", 0, 0)->row == NULL);
        lab_commit(&lab);

        CHECK_TEXT("2",
                   lab_sql_text(&lab, "SELECT row_key FROM quarantine WHERE table_name = 'task'"));
        CHECK(strlen(lab_sql_text(&lab, "SELECT reason FROM quarantine")) > 5);
        CHECK(strstr(lab_sql_text(&lab, "SELECT raw FROM quarantine"), "due_at_ms=20") != NULL);
        CHECK_TEXT("1",
                   lab_sql_text(&lab, "SELECT count(*) FROM task WHERE key = 2 AND rank IS NULL "
                                      "AND due_at_ms IS NULL"));
        CHECK(strstr(lab.log_text, "event=row.quarantined table=task key=2") != NULL);

        lab_begin(&lab); /* and it is not met again */
        lab.log_text[0] = '\0';
        lab.log_len = 0;
        CHECK_EQ(2, lab_rows(&lab, PAWL_LOOK_READY, QUEUE, 0, 0)->count);
        CHECK_EQ(2, lab_rows(&lab, PAWL_LOOK_DUE, 0, 1000, 0)->count);
        CHECK_TEXT("", lab.log_text);
        lab_commit(&lab);
        lab_close(&lab);
    }
}

TEST("T-084 an unreadable continuation is set aside, so that it is not due for ever")
{
    open_lab();
    lab_sql(&lab, "INSERT INTO continuation VALUES (5, 99, 0, 0, 0, 0, '{\"a\":1}')");
    lab_begin(&lab);
    CHECK_EQ(0, lab_rows(&lab, PAWL_LOOK_CONTINUATIONS, 0, 0, 0)->count);
    lab_commit(&lab);
    CHECK_TEXT("0", lab_sql_text(&lab, "SELECT count(*) FROM continuation"));
    CHECK(strstr(lab_sql_text(&lab, "SELECT raw FROM quarantine"), "args={\"a\":1}") != NULL);
    int64_t due_at_ms = 0;
    int64_t now_ms = 0;
    CHECK_OK(pawl_store_next_due(lab.store, &due_at_ms, &now_ms, &lab.err), &lab.err);
    CHECK_EQ(INT64_MAX, due_at_ms);
    lab_close(&lab);
}

TEST("T-084 a queue with a senseless policy works with the built-in one, a worker without its "
     "grants")
{
    open_lab();
    lab_begin(&lab);
    lab_put_queue(&lab, QUEUE, "mail");
    lab_commit(&lab);
    lab_sql(&lab,
            "UPDATE queue SET backoff = 77, lease_ms = 500, is_paused = 1;"
            "INSERT INTO worker (key, id, started_at_ms, seen_at_ms, request_id, granted) VALUES (9, 'w', 1, 2, 'r', x'010203')");
    lab_begin(&lab);
    struct pawl_queue_row *queue = lab_look(&lab, PAWL_LOOK_QUEUE, QUEUE, NULL, 0, 0)->row;
    CHECK_STR("mail", queue->name);
    CHECK(queue->is_paused);
    CHECK_EQ(0, queue->lease_ms);
    CHECK_EQ(0, queue->retry.backoff);
    struct pawl_worker_row *worker = lab_look(&lab, PAWL_LOOK_WORKER_ID, 0, "w", 0, 0)->row;
    CHECK(worker != NULL);
    worker = lab_look(&lab, PAWL_LOOK_WORKER, 9, NULL, 0, 0)->row;
    CHECK_STR("w", worker->id);
    CHECK_EQ(0, worker->granted.len);
    pawl_store_rollback(lab.store);
    CHECK(strstr(lab.log_text, "event=row.defaulted table=queue") != NULL);
    lab_close(&lab);
}

TEST("T-084 events, checkpoints, late results and log lines that cannot be read are passed over")
{
    open_lab();
    lab_sql(
        &lab,
        "INSERT INTO event VALUES (1, 1, 1, 999, 0, 0, 0, 1, 0.0, 0, NULL, NULL, 0, NULL, NULL);"
        "INSERT INTO event VALUES (2, 1, 2, 1, 0, 0, 0, 1, 0.0, 0, NULL, NULL, 99, NULL, NULL);"
        "INSERT INTO checkpoint VALUES (5, 1, 99999999999, 0, 0, '{}');"
        "INSERT INTO late VALUES (6, 1, 1, 1, 'w', 99, 1, 'x', 1), (7, 1, 1, 1, 'w', 1, 1, 'x', 1);"
        "INSERT INTO log VALUES (8, 1, 1, 1, -5, 'x'), (9, 1, 1, 1, 1, 'x');"
        "INSERT INTO dependency VALUES (1, -1, 4, NULL, 1), (1, 1, 4, NULL, 1)");
    lab_begin(&lab);
    CHECK(lab_look(&lab, PAWL_LOOK_EVENT, 1, NULL, 0, 0)->row == NULL);
    CHECK(lab_look(&lab, PAWL_LOOK_EVENT, 2, NULL, 0, 0)->row == NULL);
    CHECK(lab_look(&lab, PAWL_LOOK_CHECKPOINT, 1, NULL, 0, 0)->row == NULL);
    CHECK_EQ(1, lab_rows(&lab, PAWL_LOOK_LATE, 1, 0, 0)->count);
    CHECK_EQ(1, lab_rows(&lab, PAWL_LOOK_LOG_OLDEST, 1, 0, 0)->count);
    CHECK_EQ(1, lab_rows(&lab, PAWL_LOOK_DEPENDENCIES, 1, 0, 0)->count);
    pawl_store_rollback(lab.store);
    lab_close(&lab);
}

TEST("a constraint that fires in save is IO and says that the fault is ours")
{
    open_lab();
    add_tasks(1, 1);
    lab_begin(&lab);
    lab_put_task(&lab, 2, QUEUE)->id = PAWL_STR("t-1");
    CHECK_CODE(PAWL_IO, lab_try_commit(&lab));
    CHECK(strstr(lab.err.text, "internal: TASK_ADD") != NULL);
    check_count(1);
    lab_close(&lab);
}

/* ---- Plans ------------------------------------------------------------------------------------
 */

/* Steps of plans that may be what they are, by their beginning; of one statement or of any. */
static const struct {
    const char *statement;
    const char *plan;
} allowed[] = {
    /* one row, or tables that stay small */
    {"FSCK_SCHEMA", "SCAN sqlite_schema"},
    {NULL, "SCAN meta"},
    {NULL, "SCAN head"},
    {NULL, "SCAN queue"},
    {NULL, "SCAN consumer"},
    {NULL, "SCAN continuation"},
    {NULL, "SCAN CONSTANT ROW"},
    /* a walk along an index in its order, stopped by LIMIT */
    {NULL, "SCAN task USING INDEX task_due"},
    {NULL, "SCAN task USING COVERING INDEX task_due"},
    {NULL, "SCAN task USING INDEX task_calendar"},
    {NULL, "SCAN task USING COVERING INDEX task_calendar"},
    /* subqueries with a LIMIT of their own */
    {"READ_AHEAD", "SCAN earlier"},
    {"READ_AHEAD", "SCAN older"},
    {"READ_QUEUES", "SCAN counted"},
    {"READ_QUEUES_WAITING", "SCAN waiting"},
    {"READ_QUEUES_WAITING", "USE TEMP B-TREE FOR GROUP BY"},
    {"HEALTH", "SCAN overdue"},
    {"HEALTH", "SCAN workflows"},
    {"HEALTH", "SCAN too_late"},
    {"HEALTH", "SCAN recovering"},
    {"HEALTH", "SCAN dead"},
    {"HEALTH", "SCAN paused"},
    {"HEALTH", "SCAN blocked"},
    {"HEALTH", "SCAN finished"},
    {"HEALTH", "SCAN aside"},
    {"HEALTH", "SCAN going_on"},
    {"HEALTH", "SCAN waiting"},
    {"HEALTH", "SCAN quarantine"},
    {"HEALTH", "SCAN task USING COVERING INDEX task_blocked"},
    {"HEALTH", "SCAN task USING INDEX task_blocked"},
    {"TALLY", "SCAN told"},
    {"TALLY", "USE TEMP B-TREE FOR GROUP BY"},
    /* walks along a table's own keys: all that is passed is wanted, or LIMIT counts what is passed
     */
    {"PAYLOADS_REMOVE", "SEARCH payload"},
    {"READ_READY_HEADS", "SEARCH q "},
    {"READ_WALK", "SEARCH task"},
    {"READ_WORKFLOWS_NEWEST", "SEARCH w "},
    {"READ_RECORDS_NEWEST", "SEARCH r "},
    {"READ_EVENTS", "SEARCH event"},
    {"READ_EVENTS_FLOOR", "SEARCH event"},
    {"READ_EVENTS_OPEN",
     "SEARCH e "}, /* passes what is acknowledged beyond a gap, which has a limit */
    {"HEALTH", "SEARCH late"},
    {"TALLY", "SEARCH event"},
    {"EPOCHS_RAISE", "SEARCH task"},
    {"EPOCHS_NEXT", "SEARCH task"},
};

static bool plan_is_allowed(const char *name, const char *plan)
{
    for (size_t i = 0; i < COUNT_OF(allowed); i++) {
        bool is_its = allowed[i].statement == NULL || strcmp(allowed[i].statement, name) == 0;
        if (is_its && strncmp(plan, allowed[i].plan, strlen(allowed[i].plan)) == 0) return true;
    }
    return false;
}

static bool plan_is_good(const char *name, const char *plan)
{
    bool scans = strncmp(plan, "SCAN ", strlen("SCAN ")) == 0;
    bool sorts = strstr(plan, "USE TEMP B-TREE") != NULL;
    bool builds = strstr(plan, "AUTOMATIC") != NULL;
    bool walks = strstr(plan, "INTEGER PRIMARY KEY (rowid>") != NULL ||
                 strstr(plan, "INTEGER PRIMARY KEY (rowid<") != NULL;
    bool is_check =
        strncmp(name, "FSCK_", strlen("FSCK_")) == 0; /* looks at every row, page by page */
    bool is_good =
        (!scans && !sorts && !builds && (!walks || is_check)) || plan_is_allowed(name, plan);
    if (!is_good) (void)fprintf(stderr, "%s: %s\n", name, plan);
    return is_good;
}

/* Those that a step writes for each task; IN of many numbers in an index's condition would show
 * here. */
static int tables_made_by(sqlite3 *db, const char *name, const char *sql)
{
    static const char *const hot[] = {"TASK_ADD",    "TASK_SAVE",    "TASK_SAVE_INSIDE",
                                      "EVENT_ADD",   "PAYLOAD_PUT",  "RECORD_ADD",
                                      "RECORD_SAVE", "WORKFLOW_SAVE"};
    bool is_hot = false;
    int made = 0;
    for (size_t i = 0; i < COUNT_OF(hot); i++) is_hot = is_hot || strcmp(hot[i], name) == 0;
    if (!is_hot) return 0;
    sqlite3_stmt *program = NULL;
    char *explain = sqlite3_mprintf("EXPLAIN %s", sql);
    CHECK(explain != NULL);
    CHECK_EQ(SQLITE_OK, sqlite3_prepare_v2(db, explain, -1, &program, NULL));
    while (sqlite3_step(program) == SQLITE_ROW) {
        if (strcmp((const char *)sqlite3_column_text(program, 1), "OpenEphemeral") == 0) made++;
    }
    CHECK_EQ(SQLITE_OK, sqlite3_finalize(program));
    sqlite3_free(explain);
    if (made > 0) (void)fprintf(stderr, "%s makes %d tables as it runs\n", name, made);
    return made;
}

TEST("D-19 no statement scans a table that grows, sorts, or builds an index of its own")
{
    sqlite3 *db = NULL;
    char *sql = NULL;
    int bad = 0;
    open_lab();
    CHECK_EQ(SQLITE_OK, sqlite3_open(lab.target, &db));
    for (size_t i = 0; i < PAWL_SQL_COUNT; i++) {
        sqlite3_stmt *plan = NULL;
        if (pawl_sql_sqlite[i] == NULL) continue; /* PostgreSQL's own */
        sql = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", pawl_sql_sqlite[i]);
        CHECK(sql != NULL);
        if (sqlite3_prepare_v2(db, sql, -1, &plan, NULL) != SQLITE_OK) {
            FAIL("%s: %s", pawl_sql_name[i], sqlite3_errmsg(db));
        }
        while (sqlite3_step(plan) == SQLITE_ROW) {
            const char *text = (const char *)sqlite3_column_text(plan, 3);
            if (!plan_is_good(pawl_sql_name[i], text)) bad++;
        }
        bad += tables_made_by(db, pawl_sql_name[i], pawl_sql_sqlite[i]);
        CHECK_EQ(SQLITE_OK, sqlite3_finalize(plan));
        sqlite3_free(sql);
    }
    CHECK_EQ(SQLITE_OK, sqlite3_close(db));
    CHECK_EQ(0, bad);
    lab_close(&lab);
}

TEST_MAIN()
