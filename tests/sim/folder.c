/* The folder of a run: only the file of the turn in it is real. It is locked as long as its run lives,
 * so that the next one can tell which were left behind by runs that were killed. */
#include "sim.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "pawl-sim.";

static void empty(int folder_fd)
{
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        (void)unlinkat(folder_fd, entry->d_name, 0); /* "." and ".." are none */
    }
    (void)closedir(folder);
}

/* Nobody else's, and nobody's who lives. */
static void sweep(int where_fd, const char *name)
{
    struct stat found;
    int fd = openat(where_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    bool is_ours = fstat(fd, &found) == 0 && found.st_uid == geteuid();
    if (is_ours && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        empty(fd);
        (void)unlinkat(where_fd, name, AT_REMOVEDIR);
    }
    (void)close(fd); /* nothing was written */
}

static void sweep_all(const char *where)
{
    DIR *folder = opendir(where);
    if (folder == NULL) return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            sweep(dirfd(folder), entry->d_name);
        }
    }
    (void)closedir(folder);
}

bool sim_folder_make(const char *where, char *out, size_t room)
{
    sweep_all(where);
    for (int tries = 0; tries < 100; tries++) {
        int len = snprintf(out, room, "%s/%sXXXXXX", where, prefix);
        if (len < 0 || (size_t)len >= room || mkdtemp(out) == NULL) return false;
        int fd = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* held to the end of the process */
        struct stat held;
        struct stat named;
        bool is_held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0;
        if (is_held && stat(out, &named) == 0 && held.st_ino == named.st_ino) return true;
        if (fd >= 0) (void)close(fd); /* somebody has taken it for a dead one's */
    }
    return false;
}
