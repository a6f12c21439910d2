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

enum { PATH_BYTES_MAX = PAWL_PLACE_PATH_BYTES_MAX + 16 }; /* of the file */
static const char file_name[] = "place";

static enum pawl_code io_error(struct pawl_error *err, const char *what, const char *path)
{
    return pawl_error_set(err, PAWL_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

/* ---- Names ---- */

/* Where in the file the lock of an execution is. Two that share a byte only wait for each other. */
static off_t offset_of(const struct pawl_place *place, struct pawl_str task_id, int64_t epoch)
{
    /* A fixed key: every process has to come to the same byte. */
    static const uint64_t key[2] = {UINT64_C(0x7061776c2d6c6f63), UINT64_C(0x6b732d6f6e65)};
    struct pawl_hasher hasher;
    pawl_hasher_init(&hasher, key);
    pawl_hasher_add(&hasher, pawl_str_of(place->locks->store_id));
    pawl_hasher_add(&hasher, task_id);
    pawl_hasher_add_int64(&hasher, epoch);
    return (off_t)(pawl_hasher_end(&hasher) >> 2); /* an offset and the one after it must fit */
}

static bool make_path(const struct pawl_place *place, char *out, size_t room)
{
    int len = snprintf(out, room, "%s/%s", place->folder, file_name);
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

/* ---- The file ---- */

/* Beside a database its folder is as safe as that is. Where others may make one in our name, ours
 * must be ours. */
static enum pawl_code check_folder(const struct pawl_place *place, struct pawl_error *err)
{
    struct stat found;
    if (lstat(place->folder, &found) != 0) return io_error(err, "look at", place->folder);
    bool is_beside = place->locks->db_path[0] != '\0';
    bool is_ours = S_ISDIR(found.st_mode) && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
                   (found.st_uid == geteuid() || (is_beside && geteuid() == 0));
    if (is_ours) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "%s is not a folder of this user alone%s", place->folder,
                          is_beside ? "" : "; PAWL_LOCKS may name another");
}

static enum pawl_code make_folder(const struct pawl_place *place, struct pawl_error *err)
{
    if (mkdir(place->folder, 0700) != 0 && errno != EEXIST)
        return io_error(err, "make", place->folder);
    return check_folder(place, err);
}

/* Opens the file and says which it is: by what it holds, and by its inode, whose number no other
 * file can have while somebody has it open. So neither a new file nor a copy is taken for it.
 *
 *   fails  PAWL_NOT_FOUND  there is none
 *          PAWL_CORRUPT    it is of no use
 *          PAWL_IO */
static enum pawl_code open_file(const struct pawl_place *place, int mode, int *out,
                                char id[PAWL_PLACE_ID_BYTES_MAX + 1], struct pawl_error *err)
{
    char path[PATH_BYTES_MAX];
    char text[PAWL_UUID_BYTES_MAX + 1];
    struct stat file;
    if (!make_path(place, path, sizeof path))
        return pawl_error_set(err, PAWL_IO, "the name of the folder for locks is too long");
    int fd = open(path, mode | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return pawl_error_set(err, PAWL_NOT_FOUND, "%s does not exist", path);
    if (fd < 0) return io_error(err, "open", path);
    ssize_t got = pread(fd, text, PAWL_UUID_BYTES_MAX, 0);
    if (got < 0 || fstat(fd, &file) != 0) {
        enum pawl_code code = io_error(err, "read", path);
        (void)close(fd); /* nothing was written */
        return code;
    }
    text[got] = '\0';
    if (!pawl_uuid_is(pawl_str_of(text))) {
        (void)close(fd); /* nothing was written */
        return pawl_error_set(err, PAWL_CORRUPT, "%s holds no id", path);
    }
    (void)snprintf(id, PAWL_PLACE_ID_BYTES_MAX + 1, "%s.%ju@%.*s", text, (uintmax_t)file.st_ino,
                   PAWL_STR_ARG(place->locks->env->boot_id));
    *out = fd;
    return PAWL_OK;
}

/* Opens the file only if it is still the one that the place was opened with. */
static enum pawl_code open_same(const struct pawl_place *place, int mode, int *out,
                                struct pawl_error *err)
{
    char id[PAWL_PLACE_ID_BYTES_MAX + 1];
    int fd;
    enum pawl_code code = open_file(place, mode, &fd, id, err);
    if (code != PAWL_OK && err != NULL) err->code = PAWL_IO;
    if (code != PAWL_OK) return PAWL_IO;
    if (strcmp(id, place->id) == 0) {
        *out = fd;
        return PAWL_OK;
    }
    (void)close(fd); /* nothing was written */
    return pawl_error_set(err, PAWL_IO, "%s/%s has been replaced", place->folder, file_name);
}

/* Makes the file with its text in it, unless somebody else was faster: it is never seen half
 * written, not even after a power cut. One that is of no use is replaced. */
static enum pawl_code make_file(const struct pawl_place *place, bool replaces,
                                struct pawl_error *err)
{
    const struct pawl_env *env = place->locks->env;
    char id[PAWL_UUID_BYTES_MAX + 1];
    char path[PATH_BYTES_MAX];
    char made[PATH_BYTES_MAX + PAWL_UUID_BYTES_MAX + 1];
    uint64_t random_high = env->random(env->self);
    pawl_uuid_make(env->wall_ms(env->self), random_high, env->random(env->self), id);
    if (!make_path(place, path, sizeof path))
        return pawl_error_set(err, PAWL_IO, "the name of the folder for locks is too long");
    (void)snprintf(made, sizeof made, "%s.%s", path, id);
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

static enum pawl_code read_id(struct pawl_place *place, struct pawl_error *err)
{
    int fd;
    enum pawl_code code = open_file(place, O_RDONLY, &fd, place->id, err);
    if (code == PAWL_OK) (void)close(fd); /* nothing was written */
    return code;
}

enum pawl_code pawl_place_open(struct pawl_place *place, const struct pawl_locks *locks,
                               bool may_make, struct pawl_error *err)
{
    place->locks = locks;
    place->id[0] = '\0';
    enum pawl_code code = name_folder(place, err);
    if (code == PAWL_OK && may_make) code = make_folder(place, err);
    if (code != PAWL_OK) return code;
    code = read_id(place, err);
    if (may_make && (code == PAWL_NOT_FOUND || code == PAWL_CORRUPT)) {
        code = make_file(place, code == PAWL_CORRUPT, err);
        if (code == PAWL_OK) code = read_id(place, err);
    }
    if (code == PAWL_OK) return PAWL_OK;
    if (code == PAWL_NOT_FOUND && !may_make) {
        if (err != NULL) *err = (struct pawl_error){0};
        return PAWL_OK; /* nobody has held a lock here yet */
    }
    if (err != NULL) err->code = PAWL_IO;
    return PAWL_IO;
}

/* Whether the folder, which is not there, could be made. */
static enum pawl_code check_parent(const struct pawl_place *place, struct pawl_error *err)
{
    char parent[PAWL_PLACE_PATH_BYTES_MAX + 1];
    memcpy(parent, place->folder, sizeof parent);
    char *slash = strrchr(parent, '/'); /* there is one: the path is absolute */
    slash[slash == parent ? 1 : 0] = '\0';
    return access(parent, W_OK | X_OK) == 0 ? PAWL_OK : io_error(err, "make a folder in", parent);
}

enum pawl_code pawl_place_check(struct pawl_place *place, const struct pawl_locks *locks,
                                struct pawl_error *err)
{
    struct stat found;
    int fd;
    place->locks = locks;
    place->id[0] = '\0';
    enum pawl_code code = name_folder(place, err);
    if (code != PAWL_OK) return code;
    if (lstat(place->folder, &found) != 0 && errno == ENOENT) return check_parent(place, err);
    code = check_folder(place, err);
    if (code != PAWL_OK) return code;
    if (access(place->folder, W_OK | X_OK) != 0) return io_error(err, "write to", place->folder);
    code = open_file(place, O_RDWR, &fd, place->id, err);
    if (code == PAWL_NOT_FOUND && err != NULL) *err = (struct pawl_error){0};
    if (code == PAWL_NOT_FOUND) return PAWL_OK; /* it is made when it is needed */
    if (code != PAWL_OK && err != NULL) err->code = PAWL_IO;
    if (code != PAWL_OK) return PAWL_IO;
    (void)close(fd); /* nothing was written */
    return PAWL_OK;
}

bool pawl_place_is_of_boot(struct pawl_str id, struct pawl_str boot_id)
{
    if (id.len <= boot_id.len || id.ptr[id.len - boot_id.len - 1] != '@') return false;
    struct pawl_str boot = {id.ptr + id.len - boot_id.len, boot_id.len};
    return pawl_str_equal(boot, boot_id);
}

/* ---- Locks ---- */

enum pawl_code pawl_place_take(const struct pawl_place *place, struct pawl_str task_id,
                               int64_t epoch, struct pawl_held *out, struct pawl_error *err)
{
    struct pawl_held held = {.at = offset_of(place, task_id, epoch), .fd = -1, .look_fd = -1};
    enum pawl_code code = open_same(place, O_RDWR, &held.fd, err);
    if (code == PAWL_OK) code = open_same(place, O_RDONLY, &held.look_fd, err);
    int fault = code == PAWL_OK ? pawl_ofd_lock(held.fd, held.at, 1, false) : 0;
    if (fault == EAGAIN || fault == EACCES) {
        code = pawl_error_set(err, PAWL_CONFLICT,
                              "task %.*s is being worked on under epoch %lld already",
                              PAWL_STR_ARG(task_id), (long long)epoch);
    } else if (fault != 0) {
        errno = fault;
        code = io_error(err, "lock a byte of the file in", place->folder);
    }
    if (code == PAWL_OK) {
        *out = held;
    } else {
        pawl_held_close(&held);
    }
    return code;
}

void pawl_held_let_go(struct pawl_held *held)
{
    if (held->fd >= 0) (void)close(held->fd); /* nothing was written */
    held->fd = -1;
}

void pawl_held_close(struct pawl_held *held)
{
    pawl_held_let_go(held);
    if (held->look_fd >= 0) (void)close(held->look_fd); /* nothing was written */
    held->look_fd = -1;
}

/* What stands in the way of a lock of the open file: PAWL_FINDING_STOPPED if nothing does. */
static enum pawl_finding find_holder(int fd, off_t from, off_t len, const char *path,
                                     struct pawl_error *err)
{
    bool is_held;
    errno = pawl_ofd_look(fd, from, len, &is_held);
    if (errno != 0) {
        (void)io_error(err, "look at a lock in", path);
        return PAWL_FINDING_UNKNOWN;
    }
    return is_held ? PAWL_FINDING_ALIVE : PAWL_FINDING_STOPPED;
}

enum pawl_finding pawl_held_find(const struct pawl_held *held)
{
    return find_holder(held->look_fd, held->at, 1, file_name, NULL);
}

enum pawl_finding pawl_place_find(const struct pawl_place *place, struct pawl_str task_id,
                                  int64_t epoch, struct pawl_error *err)
{
    int fd;
    if (open_same(place, O_RDONLY, &fd, err) != PAWL_OK) return PAWL_FINDING_UNKNOWN;
    off_t at = offset_of(place, task_id, epoch);
    enum pawl_finding finding = find_holder(fd, at, 1, place->folder, err);
    (void)close(fd); /* nothing was written */
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
        is_busy = find_holder(fd, 0, 0, entry->d_name, NULL) == PAWL_FINDING_ALIVE;
        (void)close(fd); /* nothing was written */
    }
    (void)closedir(folder);
    return is_busy;
}
