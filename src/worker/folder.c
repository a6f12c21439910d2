#include "worker/folder.h"

#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "pawl-worker-";
static const char pattern[] = "/pawl-worker-XXXXXX";

static const char *parent_of_folders(void)
{
    enum { PARENT_BYTES_MAX = PAWL_FOLDER_PATH_BYTES_MAX - (int)sizeof pattern };
    const char *parent = getenv("TMPDIR");
    bool is_usable = parent != NULL && parent[0] != '\0' && strlen(parent) <= PARENT_BYTES_MAX;
    return is_usable ? parent : "/tmp";
}

static bool is_at(const char *path, int fd)
{
    struct stat named;
    struct stat held;
    return lstat(path, &named) == 0 && fstat(fd, &held) == 0 && named.st_ino == held.st_ino &&
           named.st_dev == held.st_dev;
}

enum pawl_code pawl_folder_open(struct pawl_folder *folder, struct pawl_error *err)
{
    enum { TRIES_MAX = 100 };
    const char *parent = parent_of_folders();
    *folder = (struct pawl_folder)PAWL_FOLDER_NONE;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        (void)snprintf(folder->path, sizeof folder->path, "%s%s", parent, pattern);
        if (mkdtemp(folder->path) == NULL) break;
        int fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        /* A file system that knows no such lock has nobody who sweeps. */
        bool is_locked = fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
        if (is_locked && is_at(folder->path, fd)) {
            folder->lock_fd = fd;
            return PAWL_OK;
        }
        /* gone or held: somebody has swept it before it was locked, and it is made anew */
        int failure = fd >= 0 || errno == ENOENT ? EBUSY : errno;
        if (fd >= 0) (void)close(fd);
        (void)rmdir(folder->path);
        errno = failure;
        if (failure != EBUSY) break;
    }
    folder->path[0] = '\0';
    return pawl_error_set(err, PAWL_IO, "cannot make a folder in %s: %s", parent, strerror(errno));
}

enum pawl_code pawl_folder_keep(struct pawl_folder *folder, struct pawl_error *err)
{
    if (folder->path[0] != '\0' && is_at(folder->path, folder->lock_fd)) return PAWL_OK;
    if (folder->lock_fd >= 0) (void)close(folder->lock_fd);
    return pawl_folder_open(folder, err);
}

void pawl_folder_close(struct pawl_folder *folder)
{
    if (folder->path[0] != '\0') (void)rmdir(folder->path); /* each task's files went with it */
    if (folder->lock_fd >= 0) (void)close(folder->lock_fd);
    *folder = (struct pawl_folder)PAWL_FOLDER_NONE;
}

/* ---- Sweeping -------------------------------------------------------------------------------- */

static bool starts(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* What a worker puts there; a name is removed, whatever it leads to. */
static void empty_folder(int fd)
{
    int listed_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = listed_fd < 0 ? NULL : fdopendir(listed_fd);
    if (names == NULL) {
        if (listed_fd >= 0) (void)close(listed_fd);
        return;
    }
    for (const struct dirent *at; (at = readdir(names)) != NULL;) {
        bool is_ours = starts(at->d_name, "task-") || starts(at->d_name, "socket-");
        if (is_ours) (void)unlinkat(fd, at->d_name, 0); /* what stays keeps its folder */
    }
    (void)closedir(names);
}

/* Whether the folder was a dead worker's and has gone. Two who sweep are kept apart by its lock. */
static bool sweep_one(int parent_fd, const char *name)
{
    struct stat status;
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool is_dead = fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
                   flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (is_dead) empty_folder(fd);
    bool is_gone = is_dead && unlinkat(parent_fd, name, AT_REMOVEDIR) == 0;
    if (fd >= 0) (void)close(fd);
    return is_gone;
}

int32_t pawl_folder_sweep(void)
{
    int32_t count = 0;
    DIR *names = opendir(parent_of_folders());
    if (names == NULL) return 0;
    for (const struct dirent *at;
         count < PAWL_FOLDERS_SWEPT_MAX && (at = readdir(names)) != NULL;) {
        bool is_one = starts(at->d_name, prefix) && strlen(at->d_name) == sizeof pattern - 2;
        if (is_one && sweep_one(dirfd(names), at->d_name)) count++;
    }
    (void)closedir(names);
    return count;
}
