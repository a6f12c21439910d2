#include "worker/leftover.h"

#include "base/number.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PATH_BYTES_MAX = 64,             /* /proc/<pid>/… */
    ENVIRONMENT_BYTES_MAX = 1 << 20, /* what is looked at of one; exec itself allows some more */
    CHILDREN_BYTES_MAX = 64 * 1024,  /* of the list of our children: thousands of them */
    STAT_BYTES_MAX = 2048,           /* some fifty numbers and a short name */
    FD_BYTES_MAX = 4096,             /* what is told of a descriptor: some lines */
};

void pawl_leftover_adopt(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* every Linux we run on knows it */
}

/* ---- Whose a process is ---- */

enum answer { NO, YES, UNKNOWN };

/* Reads a file of /proc, which has no size, as far as there is room; NUL-terminated. -1 if it
 * cannot be opened. */
static ssize_t read_file(const char *path, char *bytes, size_t room)
{
    ssize_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bytes[0] = '\0';
    if (fd < 0) return -1;
    for (;;) {
        ssize_t got = read(fd, bytes + len, room - 1 - (size_t)len);
        if (got <= 0) break;
        len += got;
    }
    (void)close(fd);
    bytes[len] = '\0';
    return len;
}

/* Whether a process whose environment was read as empty has none. In the middle of an execve, when
 * the new memory is not filled yet, it only seems so: then it has no end either. */
static enum answer has_no_environment(pid_t pid)
{
    enum { STATE = 3, ENVIRONMENT_START = 50, ENVIRONMENT_END = 51 }; /* fields, see proc(5) */
    char path[PATH_BYTES_MAX];
    char stat[STAT_BYTES_MAX];
    int64_t start = 0;
    int64_t end = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    if (read_file(path, stat, sizeof stat) <= 0) return YES; /* it is gone */
    char *at = strrchr(stat, ')');                           /* the name may have spaces */
    int field = STATE;
    for (at = at != NULL ? at + 1 : stat; *at == ' '; field++) {
        char *word = ++at;
        at += strcspn(at, " \n");
        struct pawl_str number = {word, (size_t)(at - word)};
        if (field == STATE && (*word == 'Z' || *word == 'X')) return YES;
        int64_t *bound = field == ENVIRONMENT_START ? &start : &end;
        if (field != ENVIRONMENT_START && field != ENVIRONMENT_END) continue;
        if (!pawl_int64_parse(number, 0, INT64_MAX, bound)) return UNKNOWN;
    }
    return end > 0 && end == start ? YES : UNKNOWN;
}

static enum answer is_in_environment(pid_t pid, const struct pawl_leftover *leftover)
{
    char path[PATH_BYTES_MAX];
    bool has_id = false;
    bool has_epoch = false;
    char *bytes = malloc(ENVIRONMENT_BYTES_MAX);
    if (bytes == NULL) return UNKNOWN;
    (void)snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
    ssize_t len = read_file(path, bytes, ENVIRONMENT_BYTES_MAX);
    for (ssize_t at = 0; at < len; at += (ssize_t)strlen(bytes + at) + 1) {
        has_id = has_id || strcmp(bytes + at, leftover->id_variable) == 0;
        has_epoch = has_epoch || strcmp(bytes + at, leftover->epoch_variable) == 0;
    }
    free(bytes);
    if (has_id && has_epoch) return YES;
    if (len != 0) return NO; /* of others, or not ours to look at */
    return has_no_environment(pid) == YES ? NO : UNKNOWN;
}

/* The line of /proc that tells of the lock that was taken through the open file of a descriptor:
 * with its bytes, and the same for all who have inherited it. False if there is none. */
static bool read_lock(pid_t pid, int fd, char line[PAWL_LEFTOVER_LOCK_BYTES_MAX + 1])
{
    static const char key[] = "\nlock:";
    char path[PATH_BYTES_MAX];
    char bytes[FD_BYTES_MAX];
    (void)snprintf(path, sizeof path, "/proc/%ld/fdinfo/%d", (long)pid, fd);
    line[0] = '\0';
    if (read_file(path, bytes, sizeof bytes) <= 0) return false;
    const char *at = strstr(bytes, key);
    if (at == NULL) return false;
    at += sizeof key - 1;
    (void)snprintf(line, PAWL_LEFTOVER_LOCK_BYTES_MAX + 1, "%.*s", (int)strcspn(at, "\n"), at);
    return true;
}

static bool holds_lock(pid_t pid, const struct pawl_leftover *leftover)
{
    char path[PATH_BYTES_MAX];
    bool holds = false;
    (void)snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *folder = opendir(path);
    if (folder == NULL) return false; /* it has ended, or is not ours to look at */
    for (struct dirent *entry; !holds && (entry = readdir(folder)) != NULL;) {
        struct stat open_file;
        char lock[PAWL_LEFTOVER_LOCK_BYTES_MAX + 1];
        int64_t fd = 0;
        holds = fstatat(dirfd(folder), entry->d_name, &open_file, 0) == 0 &&
                open_file.st_dev == leftover->lock_device &&
                open_file.st_ino == leftover->lock_inode &&
                pawl_int64_parse(pawl_str_of(entry->d_name), 0, INT32_MAX, &fd) &&
                read_lock(pid, (int)fd, lock) && strcmp(lock, leftover->lock) == 0;
    }
    (void)closedir(folder);
    return holds;
}

void pawl_leftover_init(struct pawl_leftover *leftover, const struct pawl_fence *fence, int lock_fd)
{
    struct stat lock = {0};
    (void)fstat(lock_fd, &lock); /* it is open */
    *leftover = (struct pawl_leftover){.lock_device = lock.st_dev, .lock_inode = lock.st_ino};
    (void)read_lock(getpid(), lock_fd, leftover->lock);
    (void)snprintf(leftover->id_variable, sizeof leftover->id_variable, "PAWL_TASK_ID=%.*s",
                   PAWL_STR_ARG(fence->task_id));
    (void)snprintf(leftover->epoch_variable, sizeof leftover->epoch_variable, "PAWL_EPOCH=%" PRId64,
                   fence->epoch);
}

/* ---- Our children ---- */

/* The next of some numbers with spaces between them; 0 at their end, or at what is none. */
static pid_t take_pid(struct pawl_str *rest)
{
    int64_t pid = 0;
    struct pawl_str word = *rest;
    const char *space = word.len > 0 ? memchr(word.ptr, ' ', word.len) : NULL;
    if (space != NULL) word.len = (size_t)(space - word.ptr);
    if (!pawl_int64_parse(word, 1, INT32_MAX, &pid)) return 0;
    size_t taken = word.len + (space != NULL ? 1 : 0);
    *rest = (struct pawl_str){rest->ptr + taken, rest->len - taken};
    return (pid_t)pid;
}

static bool is_command(pid_t pid, const pid_t *commands, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (commands[i] == pid) return true;
    }
    return false;
}

static bool is_told(struct pawl_leftover *leftover, pid_t pid)
{
    for (int32_t i = 0; i < leftover->told_count; i++) {
        if (leftover->told[i] == pid) return true;
    }
    if (leftover->told_count < PAWL_LEFTOVERS_TOLD_MAX) {
        leftover->told[leftover->told_count++] = pid;
    }
    return false;
}

int32_t pawl_leftover_stop(struct pawl_leftover *leftover, const pid_t *commands,
                           int32_t command_count, bool is_kill)
{
    char path[PATH_BYTES_MAX];
    char children[CHILDREN_BYTES_MAX];
    int32_t count = 0;
    /* Orphans become children of the process's first thread, as all are that it starts. */
    (void)snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    if (read_file(path, children, sizeof children) <= 0) return 0;
    struct pawl_str rest = pawl_str_of(children);
    pid_t pid;
    while ((pid = take_pid(&rest)) > 0) {
        if (is_command(pid, commands, command_count)) continue;
        enum answer is_ours = is_in_environment(pid, leftover);
        if (is_ours == NO && holds_lock(pid, leftover)) is_ours = YES;
        if (is_ours == NO) continue;
        count++;
        if (is_ours == UNKNOWN) continue; /* the next look tells */
        /* It is our child and has not been waited for: its number can be nobody else's. */
        if (is_kill) {
            (void)kill(pid, SIGKILL);
        } else if (!is_told(leftover, pid)) {
            (void)kill(pid, SIGTERM);
        }
    }
    return count;
}

pid_t pawl_leftover_holder(const struct pawl_leftover *leftover)
{
    pid_t holder = 0;
    DIR *folder = opendir("/proc");
    if (folder == NULL) return 0;
    for (struct dirent *entry; holder == 0 && (entry = readdir(folder)) != NULL;) {
        struct pawl_str name = pawl_str_of(entry->d_name);
        pid_t pid = take_pid(&name);
        if (pid > 0 && holds_lock(pid, leftover)) holder = pid;
    }
    (void)closedir(folder);
    return holder;
}

void pawl_leftover_reap(const pid_t *commands, int32_t command_count)
{
    for (;;) {
        siginfo_t info = {0};
        int result = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
        /* A command is waited for by whoever runs it; then we are called again. */
        if (result != 0 || info.si_pid == 0) return;
        if (is_command(info.si_pid, commands, command_count)) return;
        (void)waitpid(info.si_pid, NULL, 0);
    }
}
