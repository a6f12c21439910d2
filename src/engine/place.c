#include "engine/place.h"

#include "base/error.h"
#include "base/str.h"
#include "base/uuid.h"
#include "engine/ofd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* <id>.<epoch>, which any file system takes: all that an id may hold is plain. What comes from
     * outside and is no id has three characters for each other byte. */
    NAME_BYTES_MAX = 3 * PAWL_TASK_ID_STORED_BYTES_MAX + 1 + 20,
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
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.' || byte == ':';
}

static void make_name(struct pawl_str task_id, int64_t epoch, char out[NAME_BYTES_MAX + 1])
{
    size_t len = 0;
    for (size_t i = 0; i < task_id.len && i < PAWL_TASK_ID_STORED_BYTES_MAX; i++) {
        char byte = task_id.ptr[i];
        if (is_plain(byte)) {
            out[len++] = byte;
        } else {
            len += (size_t)snprintf(out + len, 4, "%%%02x", (unsigned)(unsigned char)byte);
        }
    }
    (void)snprintf(out + len, NAME_BYTES_MAX + 1 - len, ".%lld", (long long)epoch);
}

static bool make_path(const struct pawl_place *place, const char *name, char *out, size_t room)
{
    int len = snprintf(out, room, "%s/%s", place->folder, name);
    return len > 0 && (size_t)len < room;
}

static bool make_folder_name(struct pawl_place *place, struct pawl_str db_path)
{
    const char *own = getenv("PAWL_LOCKS");
    char *out = place->folder;
    int len;
    if (db_path.len > 0) {
        len = snprintf(out, sizeof place->folder, "%.*s-locks", PAWL_STR_ARG(db_path));
    } else if (own != NULL && own[0] == '/') {
        len = snprintf(out, sizeof place->folder, "%s", own);
    } else {
        bool has_run = access("/run/lock", W_OK | X_OK) == 0;
        len = snprintf(out, sizeof place->folder, "%s/pawl-%ld", has_run ? "/run/lock" : "/tmp",
                       (long)geteuid());
    }
    return len > 0 && (size_t)len < sizeof place->folder;
}

/* ---- The id of the folder ---- */

/* In a folder that others may write to, ours must be ours. */
static enum pawl_code make_folder(const struct pawl_place *place, struct pawl_error *err)
{
    struct stat found;
    if (mkdir(place->folder, 0700) != 0 && errno != EEXIST)
        return io_error(err, "make", place->folder);
    if (lstat(place->folder, &found) != 0) return io_error(err, "look at", place->folder);
    bool is_ours = S_ISDIR(found.st_mode) && (found.st_uid == geteuid() || geteuid() == 0) &&
                   (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    if (is_ours) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "%s is not a folder of this user alone", place->folder);
}

/* Fills *id with what the file holds; empty if there is none, or nothing of use in it. */
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
    id[got == PAWL_UUID_BYTES_MAX ? got : 0] = '\0';
    return PAWL_OK;
}

/* Makes the file with its text in it, unless somebody else was faster: it is never seen half
 * written. */
static enum pawl_code make_id(const char *path, const struct pawl_env *env, struct pawl_error *err)
{
    char id[PAWL_UUID_BYTES_MAX + 1];
    char made[PAWL_PLACE_PATH_BYTES_MAX + 64];
    uint64_t random_high = env->random(env->self);
    pawl_uuid_make(env->wall_ms(env->self), random_high, env->random(env->self), id);
    int len = snprintf(made, sizeof made, "%s.%s", path, id);
    if (len < 0 || (size_t)len >= sizeof made)
        return pawl_error_set(err, PAWL_IO, "%s: is too long", path);
    int fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return io_error(err, "make", made);
    bool is_written = write(fd, id, PAWL_UUID_BYTES_MAX) == PAWL_UUID_BYTES_MAX;
    is_written = close(fd) == 0 && is_written;
    enum pawl_code code = PAWL_OK;
    if (!is_written || (link(made, path) != 0 && errno != EEXIST))
        code = io_error(err, "write", path);
    (void)unlink(made);
    return code;
}

enum pawl_code pawl_place_open(struct pawl_place *place, struct pawl_str db_path,
                               const struct pawl_env *env, bool may_make, struct pawl_error *err)
{
    char path[PAWL_PLACE_PATH_BYTES_MAX + 64];
    char id[PAWL_UUID_BYTES_MAX + 1];
    place->id[0] = '\0';
    if (!make_folder_name(place, db_path) || !make_path(place, id_name, path, sizeof path)) {
        return pawl_error_set(err, PAWL_IO, "the name of the folder for locks is too long");
    }
    enum pawl_code code = may_make ? make_folder(place, err) : PAWL_OK;
    if (code == PAWL_OK) code = read_id(path, id, err);
    if (code == PAWL_OK && id[0] == '\0' && may_make) {
        code = make_id(path, env, err);
        if (code == PAWL_OK) code = read_id(path, id, err);
        if (code == PAWL_OK && id[0] == '\0') {
            code = pawl_error_set(err, PAWL_IO, "%s holds no id; remove it", path);
        }
    }
    if (code != PAWL_OK || id[0] == '\0') return code;
    (void)snprintf(place->id, sizeof place->id, "%s@%.*s", id, PAWL_STR_ARG(env->boot_id));
    return PAWL_OK;
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
    make_name(task_id, epoch, name);
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
    make_name(task_id, epoch, name);
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
