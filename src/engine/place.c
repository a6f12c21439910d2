#include "engine/place.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"
#include "core/limits.h"
#include "engine/ofd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SHOWN_BYTES_MAX = 40,                               /* of a task's id, for people */
    NAME_BYTES_MAX = SHOWN_BYTES_MAX + 1 + 32 + 1 + 20, /* <id>.<digest>.<epoch> */
    TAKES_MAX = 16, /* a file that is removed under us each time */
};
static const char id_name[] = "place";

static enum pawl_code io_error(struct pawl_error *err, const char *what, const char *path)
{
    return pawl_error_set(err, PAWL_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

/* ---- Names ---- */

static bool is_plain(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == ':';
}

static void make_name(const struct pawl_place *place, struct pawl_str task_id, int64_t epoch,
                      char out[NAME_BYTES_MAX + 1])
{
    /* Fixed keys: every process has to come to the same name. */
    static const uint64_t keys[2][2] = {{UINT64_C(0x7061776c2d6c6f63), UINT64_C(0x6b732d6f6e65)},
                                        {UINT64_C(0x7061776c2d6c6f63), UINT64_C(0x6b732d74776f)}};
    uint64_t digest[2];
    for (int i = 0; i < 2; i++) {
        struct pawl_hasher hasher;
        pawl_hasher_init(&hasher, keys[i]);
        pawl_hasher_add(&hasher, pawl_str_of(place->locks->store_id));
        pawl_hasher_add(&hasher, task_id);
        digest[i] = pawl_hasher_end(&hasher);
    }
    size_t len = 0;
    for (; len < task_id.len && len < SHOWN_BYTES_MAX; len++) {
        out[len] = is_plain(task_id.ptr[len]) ? task_id.ptr[len] : '_';
    }
    (void)snprintf(out + len, NAME_BYTES_MAX + 1 - len, ".%016" PRIx64 "%016" PRIx64 ".%" PRId64,
                   digest[0], digest[1], epoch);
}

static bool make_path(const struct pawl_place *place, const char *name, char *out, size_t room)
{
    int len = snprintf(out, room, "%s/%s", place->folder, name);
    return len > 0 && (size_t)len < room;
}

static enum pawl_code name_folder(struct pawl_place *place, struct pawl_error *err)
{
    const char *db_path = place->locks->db_path;
    const char *own = getenv("PAWL_LOCKS");
    char *out = place->folder;
    int len;
    if (db_path[0] != '\0') {
        len = snprintf(out, sizeof place->folder, "%s-locks", db_path);
    } else if (own != NULL && own[0] != '\0') {
        if (own[0] != '/') {
            return pawl_error_set(err, PAWL_IO, "PAWL_LOCKS: `%s` is not an absolute path", own);
        }
        len = snprintf(out, sizeof place->folder, "%s", own);
    } else {
        bool has_run = access("/run/lock", W_OK | X_OK) == 0;
        len = snprintf(out, sizeof place->folder, "%s/pawl-%ld", has_run ? "/run/lock" : "/tmp",
                       (long)geteuid());
    }
    if (len > 0 && (size_t)len < sizeof place->folder) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "the name of the folder for locks is too long");
}

/* ---- The id of the folder ---- */

/* Beside a database its folder is as safe as that is. Where others may make one in our name, ours
 * must be ours. */
static enum pawl_code make_folder(const struct pawl_place *place, struct pawl_error *err)
{
    struct stat found;
    if (mkdir(place->folder, 0700) != 0 && errno != EEXIST)
        return io_error(err, "make", place->folder);
    if (lstat(place->folder, &found) != 0) return io_error(err, "look at", place->folder);
    bool is_beside = place->locks->db_path[0] != '\0';
    bool is_ours = S_ISDIR(found.st_mode) && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
                   (found.st_uid == geteuid() || (is_beside && geteuid() == 0));
    if (is_ours) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "%s is not a folder of this user alone%s", place->folder,
                          is_beside ? "" : "; PAWL_LOCKS may name another");
}

/* What the file holds, cut to what may be an id. An empty one if there is no file. */
static enum pawl_code read_id(const char *path, char id[PAWL_UUID_BYTES_MAX + 1],
                              struct pawl_error *err)
{
    id[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) return PAWL_OK;
    if (fd < 0) return io_error(err, "open", path);
    ssize_t got = read(fd, id, PAWL_UUID_BYTES_MAX);
    (void)close(fd); /* nothing was written */
    if (got < 0) return io_error(err, "read", path);
    id[got] = '\0';
    if (pawl_uuid_is(pawl_str_of(id))) return PAWL_OK;
    return pawl_error_set(err, PAWL_CORRUPT, "%s holds no id", path);
}

/* Makes the file with its text in it, unless somebody else was faster: it is never seen half
 * written, not even after a power cut. One that is of no use is replaced. */
static enum pawl_code make_id(const struct pawl_place *place, const char *path, bool replaces,
                              struct pawl_error *err)
{
    const struct pawl_env *env = place->locks->env;
    char id[PAWL_UUID_BYTES_MAX + 1];
    char made[PAWL_PLACE_PATH_BYTES_MAX + 64];
    uint64_t random_high = env->random(env->self);
    pawl_uuid_make(env->wall_ms(env->self), random_high, env->random(env->self), id);
    int len = snprintf(made, sizeof made, "%s.%s", path, id);
    if (len < 0 || (size_t)len >= sizeof made)
        return pawl_error_set(err, PAWL_IO, "%s: is too long", path);
    int fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return io_error(err, "make", made);
    bool is_written = write(fd, id, PAWL_UUID_BYTES_MAX) == PAWL_UUID_BYTES_MAX && fsync(fd) == 0;
    is_written = close(fd) == 0 && is_written;
    bool is_there = is_written &&
                    (replaces ? rename(made, path) == 0 : link(made, path) == 0 || errno == EEXIST);
    enum pawl_code code = is_there ? PAWL_OK : io_error(err, "write", path);
    (void)unlink(made);
    return code;
}

enum pawl_code pawl_place_open(struct pawl_place *place, const struct pawl_locks *locks,
                               bool may_make, struct pawl_error *err)
{
    char path[PAWL_PLACE_PATH_BYTES_MAX + 64];
    char id[PAWL_UUID_BYTES_MAX + 1];
    place->locks = locks;
    place->id[0] = '\0';
    enum pawl_code code = name_folder(place, err);
    if (code == PAWL_OK && !make_path(place, id_name, path, sizeof path)) {
        code = pawl_error_set(err, PAWL_IO, "the name of the folder for locks is too long");
    }
    if (code == PAWL_OK && may_make) code = make_folder(place, err);
    if (code != PAWL_OK) return code;
    code = read_id(path, id, err);
    bool is_missing = code == PAWL_OK && id[0] == '\0';
    if (may_make && (is_missing || code == PAWL_CORRUPT)) {
        code = make_id(place, path, !is_missing, err);
        if (code == PAWL_OK) code = read_id(path, id, err);
    }
    if (code != PAWL_OK || id[0] == '\0') return code == PAWL_CORRUPT ? PAWL_IO : code;
    (void)snprintf(place->id, sizeof place->id, "%s@%.*s", id, PAWL_STR_ARG(locks->env->boot_id));
    return PAWL_OK;
}

bool pawl_place_is_of_boot(struct pawl_str id, struct pawl_str boot_id)
{
    if (id.len <= boot_id.len || id.ptr[id.len - boot_id.len - 1] != '@') return false;
    struct pawl_str boot = {id.ptr + id.len - boot_id.len, boot_id.len};
    return pawl_str_equal(boot, boot_id);
}

/* ---- Locks ---- */

/* Whether the path still names the open file. */
static bool is_named(int fd, const char *path)
{
    struct stat held;
    struct stat named;
    return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

enum pawl_code pawl_place_take(const struct pawl_place *place, struct pawl_str task_id,
                               int64_t epoch, int *out, struct pawl_error *err)
{
    char name[NAME_BYTES_MAX + 1];
    char path[PAWL_PLACE_PATH_BYTES_MAX + NAME_BYTES_MAX + 2];
    make_name(place, task_id, epoch, name);
    if (!make_path(place, name, path, sizeof path)) {
        return pawl_error_set(err, PAWL_IO, "%s: is too long a name", place->folder);
    }
    for (int takes = 0; takes < TAKES_MAX; takes++) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0) return io_error(err, "open", path);
        int fault = pawl_ofd_lock(fd, 0, 0, false);
        if (fault == 0 && is_named(fd, path)) {
            *out = fd;
            return PAWL_OK;
        }
        (void)close(fd); /* nothing was written */
        if (fault == EAGAIN || fault == EACCES) {
            return pawl_error_set(err, PAWL_CONFLICT,
                                  "task %.*s is being worked on under epoch %lld already",
                                  PAWL_STR_ARG(task_id), (long long)epoch);
        }
        errno = fault;
        if (fault != 0) return io_error(err, "lock", path);
    }
    return pawl_error_set(err, PAWL_IO, "%s is removed again and again", path);
}

/* What stands in the way of a lock on the open file: PAWL_FINDING_STOPPED if nothing does. */
static enum pawl_finding find_holder(int fd, const char *path, struct pawl_error *err)
{
    bool is_held;
    errno = pawl_ofd_look(fd, &is_held);
    if (errno != 0) {
        (void)io_error(err, "look at the lock of", path);
        return PAWL_FINDING_UNKNOWN;
    }
    return is_held ? PAWL_FINDING_ALIVE : PAWL_FINDING_STOPPED;
}

enum pawl_finding pawl_place_find(const struct pawl_place *place, struct pawl_str task_id,
                                  int64_t epoch, struct pawl_error *err)
{
    char name[NAME_BYTES_MAX + 1];
    char path[PAWL_PLACE_PATH_BYTES_MAX + NAME_BYTES_MAX + 2];
    make_name(place, task_id, epoch, name);
    if (!make_path(place, name, path, sizeof path)) {
        (void)pawl_error_set(err, PAWL_IO, "%s: is too long a name", place->folder);
        return PAWL_FINDING_UNKNOWN;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return PAWL_FINDING_STOPPED; /* it was never begun, or has ended */
    if (fd < 0) {
        (void)io_error(err, "open", path);
        return PAWL_FINDING_UNKNOWN;
    }
    enum pawl_finding finding = find_holder(fd, path, err);
    (void)close(fd);                                         /* nothing was written */
    if (finding == PAWL_FINDING_STOPPED) (void)unlink(path); /* else it lies there; no harm */
    return finding;
}

bool pawl_place_is_busy(const struct pawl_place *place)
{
    DIR *folder = opendir(place->folder);
    bool is_busy = false;
    if (folder == NULL) return false;
    for (struct dirent *entry; !is_busy && (entry = readdir(folder)) != NULL;) {
        int fd =
            openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0) continue;
        is_busy = find_holder(fd, entry->d_name, NULL) == PAWL_FINDING_ALIVE;
        (void)close(fd); /* nothing was written */
    }
    (void)closedir(folder);
    return is_busy;
}

void pawl_place_sweep(const struct pawl_place *place)
{
    DIR *folder = opendir(place->folder);
    int left = PAWL_LOCKS_SWEPT_MAX;
    if (folder == NULL) return;
    for (struct dirent *entry; left > 0 && (entry = readdir(folder)) != NULL;) {
        /* Names of ours have two dots; signs, marks and the id have none, and nothing else is our
         * business. */
        const char *first = strchr(entry->d_name, '.');
        if (first == NULL || first == entry->d_name || strchr(first + 1, '.') == NULL) continue;
        int fd =
            openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0) continue;
        bool is_free = find_holder(fd, entry->d_name, NULL) == PAWL_FINDING_STOPPED;
        (void)close(fd); /* nothing was written */
        if (is_free) (void)unlinkat(dirfd(folder), entry->d_name, 0);
        left--;
    }
    (void)closedir(folder);
}
