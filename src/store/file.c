#include "store/file.h"

#include "base/error.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum pawl_code io_error(struct pawl_error *err, const char *what, const char *path)
{
    enum pawl_code code = errno == ENOMEM ? PAWL_NO_MEMORY : PAWL_IO;
    return pawl_error_set(err, code, "cannot %s %s: %s", what, path, strerror(errno));
}

/* A copy of a, then b; NULL without memory. */
static char *join(const char *a, const char *b)
{
    char *text = NULL;
    return asprintf(&text, "%s%s", a, b) < 0 ? NULL : text;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* ---- Names ------------------------------------------------------------------------------------
 */

enum pawl_code pawl_file_real(struct pawl_str path, char **out, struct pawl_error *err)
{
    struct stat status;
    if (path.len == 0 || path.len >= PATH_MAX || memchr(path.ptr, '\0', path.len) != NULL) {
        return pawl_error_set(err, PAWL_INVALID, "a path has 1 to %d bytes, none of them zero",
                              PATH_MAX - 1);
    }
    char *text = strndup(path.ptr, path.len);
    if (text == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a path");
    char *real = realpath(text, NULL);
    enum pawl_code code = PAWL_OK;
    if (real != NULL && stat(real, &status) == 0 && !S_ISREG(status.st_mode)) {
        code = pawl_error_set(err, PAWL_INVALID, "%s is not a file", text);
    } else if (real == NULL && errno != ENOENT) {
        code = io_error(err, "look at", text);
    } else if (real == NULL) {
        char *folder = folder_of(text);
        char *real_folder = folder == NULL ? NULL : realpath(folder, NULL);
        const char *slash = strrchr(text, '/');
        const char *name = slash == NULL ? text : slash + 1;
        if (real_folder == NULL && errno == ENOENT) {
            code = pawl_error_set(err, PAWL_NOT_FOUND, "there is no folder %s", folder);
        } else if (real_folder == NULL) {
            code = io_error(err, "look at", text);
        } else if (name[0] == '\0') {
            code = pawl_error_set(err, PAWL_INVALID, "%s is a folder", text);
        } else if (asprintf(&real, "%s/%s", strcmp(real_folder, "/") == 0 ? "" : real_folder,
                            name) < 0) {
            real = NULL;
            code = pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a path");
        }
        free(folder);
        free(real_folder);
    }
    free(text);
    if (code == PAWL_OK) {
        *out = real;
    } else {
        free(real);
    }
    return code;
}

enum pawl_code pawl_file_make_folder(const char *path, struct pawl_error *err)
{
    char *text = strdup(path);
    if (text == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a path");
    enum pawl_code code = PAWL_OK;
    for (char *at = text + 1; code == PAWL_OK && *at != '\0'; at++) {
        if (*at != '/') continue;
        *at = '\0';
        if (mkdir(text, 0700) != 0 && errno != EEXIST)
            code = io_error(err, "make the folder", text);
        *at = '/';
    }
    free(text);
    return code;
}

enum pawl_code pawl_file_check_reading(const char *path, struct pawl_error *err)
{
    bool may = faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
    return may ? PAWL_OK : io_error(err, "read", path);
}

enum pawl_code pawl_file_check_writing(const char *path, struct pawl_error *err)
{
    char *folder = folder_of(path);
    if (folder == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a path");
    enum pawl_code code = PAWL_OK;
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0) {
        code = io_error(err, "write to", path);
    } else if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0) {
        code = io_error(err, "make files in", folder);
    }
    free(folder);
    return code;
}

bool pawl_file_exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

bool pawl_file_is_same(const char *a, const char *b)
{
    struct stat first;
    struct stat second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_ino == second.st_ino &&
           first.st_dev == second.st_dev;
}

int64_t pawl_file_bytes(const char *path, const char *suffix)
{
    struct stat status;
    char *name = join(path, suffix);
    bool is_there = name != NULL && stat(name, &status) == 0;
    free(name);
    return is_there ? (int64_t)status.st_size : -1;
}

enum pawl_code pawl_file_remove(const char *path, const char *suffix, struct pawl_error *err)
{
    char *name = join(path, suffix);
    if (name == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a path");
    enum pawl_code code = PAWL_OK;
    if (unlink(name) != 0 && errno != ENOENT) code = io_error(err, "remove", name);
    free(name);
    return code;
}

/* ---- A file on its way to a name --------------------------------------------------------------
 */

static enum pawl_code sync_folder_of(const char *path, struct pawl_error *err)
{
    char *folder = folder_of(path);
    if (folder == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a path");
    enum pawl_code code = PAWL_OK;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* EINVAL: a file system that knows no such thing */
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
        code = io_error(err, "sync the folder", folder);
    if (fd >= 0) (void)close(fd);
    free(folder);
    return code;
}

/* Opens and locks `temp`. The one that the lock was got on may have been moved away meanwhile: then
 * again. */
static enum pawl_code lock_temp(struct pawl_file_new *file, struct pawl_error *err)
{
    enum { TRIES_MAX = 100 };
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    whole.l_len = 1; /* far from the bytes that SQLite locks */
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        struct stat held;
        struct stat named;
        file->fd = open(file->temp, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file->fd < 0) return io_error(err, "make", file->temp);
        if (fcntl(file->fd, F_OFD_SETLK, &whole) != 0) {
            bool is_held = errno == EAGAIN || errno == EACCES;
            enum pawl_code code =
                is_held ? pawl_error_set(err, PAWL_BUSY, "another process is making %s right now",
                                         file->path)
                        : io_error(err, "lock", file->temp);
            (void)close(file->fd);
            file->fd = -1;
            return code;
        }
        bool is_it = fstat(file->fd, &held) == 0 && lstat(file->temp, &named) == 0 &&
                     held.st_ino == named.st_ino && held.st_dev == named.st_dev;
        if (is_it) return PAWL_OK;
        (void)close(file->fd);
        file->fd = -1;
    }
    return pawl_error_set(err, PAWL_BUSY, "%s comes and goes", file->temp);
}

static enum pawl_code remove_leftovers(const struct pawl_file_new *file, struct pawl_error *err)
{
    enum pawl_code code = pawl_file_remove(file->temp, "-wal", err);
    if (code == PAWL_OK) code = pawl_file_remove(file->temp, "-shm", err);
    if (code == PAWL_OK) code = pawl_file_remove(file->temp, "-journal", err);
    return code;
}

enum pawl_code pawl_file_new_open(struct pawl_file_new *out, const char *path,
                                  struct pawl_error *err)
{
    *out = (struct pawl_file_new){.fd = -1, .path = strdup(path), .temp = join(path, "-new")};
    enum pawl_code code = PAWL_OK;
    if (out->path == NULL || out->temp == NULL) {
        code = pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a path");
    }
    if (code == PAWL_OK) code = lock_temp(out, err);
    if (code == PAWL_OK) code = remove_leftovers(out, err);
    if (code == PAWL_OK && (ftruncate(out->fd, 0) != 0 || fchmod(out->fd, 0600) != 0)) {
        code = io_error(err, "empty", out->temp);
    }
    if (code != PAWL_OK) pawl_file_new_close(out);
    return code;
}

/* Not every file system knows renameat2. Between the link and the unlink both names are the file.
 */
static int move_if_free(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    return link(from, to) == 0 ? unlink(from) : -1;
}

enum pawl_code pawl_file_new_put(struct pawl_file_new *file, bool may_replace,
                                 struct pawl_error *err)
{
    enum pawl_code code = remove_leftovers(file, err);
    if (code != PAWL_OK) return code;
    if (fsync(file->fd) != 0) return io_error(err, "sync", file->temp);
    int moved = may_replace ? rename(file->temp, file->path) : move_if_free(file->temp, file->path);
    if (moved != 0 && errno == EEXIST) {
        return pawl_error_set(err, PAWL_CONFLICT, "there is a file %s already", file->path);
    }
    if (moved != 0) return io_error(err, "move the new file to", file->path);
    free(file->temp); /* it is no more */
    file->temp = NULL;
    return sync_folder_of(file->path, err);
}

void pawl_file_new_close(struct pawl_file_new *file)
{
    if (file->temp != NULL && file->fd >= 0) {
        (void)remove_leftovers(file, NULL); /* what stays is taken over by the next one */
        (void)unlink(file->temp);
    }
    if (file->fd >= 0) (void)close(file->fd);
    free(file->path);
    free(file->temp);
    *file = (struct pawl_file_new){.fd = -1};
}
