#include "worker/process.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/number.h"
#include "base/str.h"
#include "worker/talk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

/* ---- What the command is given --------------------------------------------------------------- */

static void put_optional_text(struct pawl_json_writer *w, const char *key, struct pawl_str text)
{
    if (text.len > 0) {
        pawl_json_put_member_text(w, key, text);
    } else {
        pawl_json_put_member_null(w, key);
    }
}

static struct pawl_str task_json(const struct pawl_grant *grant, struct pawl_arena *arena)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "id", grant->fence.task_id);
    pawl_json_put_member_text(&w, "queue", grant->queue);
    pawl_json_put_member_int64(&w, "attempt", grant->attempt);
    pawl_json_put_member_int64(&w, "epoch", grant->fence.epoch);
    pawl_json_put_member_int64(&w, "priority", grant->priority);
    put_optional_text(&w, "title", grant->title);
    put_optional_text(&w, "goal", grant->goal);
    pawl_json_put_member_raw(&w, "input", grant->input);
    pawl_json_put_member_raw(&w, "metadata", grant->metadata);
    pawl_json_put_member_raw(&w, "checkpoint", grant->checkpoint);
    if (grant->checkpoint.len > 0) {
        pawl_json_put_member_int64(&w, "checkpoint_step", grant->checkpoint_step);
    }
    pawl_json_end_object(&w);
    return pawl_json_writer_done(&w);
}

static bool write_all(int fd, struct pawl_str bytes)
{
    while (bytes.len > 0) {
        ssize_t put = write(fd, bytes.ptr, bytes.len);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        bytes.ptr += put;
        bytes.len -= (size_t)put;
    }
    return true;
}

static enum pawl_code write_file(const char *path, struct pawl_str first, struct pawl_str second,
                                 struct pawl_error *err)
{
    (void)unlink(path); /* of a task before, if it could not be removed */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_written = fd >= 0 && write_all(fd, first) && write_all(fd, second);
    int failure = errno;
    if (fd >= 0 && close(fd) != 0) {
        failure = errno;
        is_written = false;
    }
    if (is_written) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "cannot write %s: %s", path, strerror(failure));
}

static enum pawl_code write_files(struct pawl_process *process,
                                  const struct pawl_process_plan *plan,
                                  const struct pawl_grant *grant, int32_t number,
                                  struct pawl_arena *arena, struct pawl_error *err)
{
    (void)snprintf(process->task_path, sizeof process->task_path, "%s/task-%" PRId32 ".json",
                   plan->folder, number);
    (void)snprintf(process->socket_path, sizeof process->socket_path, "%s/socket-%" PRId32,
                   plan->folder, number);
    struct pawl_arena_mark mark = pawl_arena_mark(arena);
    struct pawl_str json = task_json(grant, arena);
    enum pawl_code code = pawl_arena_code(arena);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no room for the JSON of a task");
    code = write_file(process->task_path, json, PAWL_STR("\n"), err);
    pawl_arena_rewind(arena, mark);
    if (code != PAWL_OK) return code;
    process->listen_fd = pawl_talk_listen(process->socket_path);
    if (process->listen_fd >= 0) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "cannot listen at %s: %s", process->socket_path,
                          strerror(errno));
}

/* Names that the worker sets: what it inherited under them is not passed on. */
static bool is_ours(const char *variable)
{
    static const char *const names[] = {
        "PAWL_TASK=",  "PAWL_TASK_ID=", "PAWL_QUEUE=",     "PAWL_ATTEMPT=",
        "PAWL_EPOCH=", "PAWL_SOCKET=",  "PAWL_WORKER_ID=", "PAWL_DB=",
        "PAWL_SERVER=", /* its task is in the store */
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0) return true;
    }
    return false;
}

static char **make_environment(const struct pawl_process *process,
                               const struct pawl_process_plan *plan, const struct pawl_grant *grant,
                               struct pawl_arena *arena)
{
    enum { OWN_MAX = 8 };
    size_t count = 0;
    while (plan->environment[count] != NULL) count++;
    char **environment = pawl_arena_take_array(arena, count + OWN_MAX + 1, sizeof *environment);
    if (environment == NULL) return NULL;
    size_t to = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_ours(plan->environment[i])) environment[to++] = plan->environment[i];
    }
    const struct pawl_str own[] = {
        pawl_arena_format(arena, "PAWL_TASK=%s", process->task_path),
        pawl_arena_format(arena, "PAWL_TASK_ID=%.*s", PAWL_STR_ARG(grant->fence.task_id)),
        pawl_arena_format(arena, "PAWL_QUEUE=%.*s", PAWL_STR_ARG(grant->queue)),
        pawl_arena_format(arena, "PAWL_ATTEMPT=%" PRId32, grant->attempt),
        pawl_arena_format(arena, "PAWL_EPOCH=%" PRId64, grant->fence.epoch),
        pawl_arena_format(arena, "PAWL_WORKER_ID=%.*s", PAWL_STR_ARG(grant->fence.owner)),
        pawl_arena_format(arena, "PAWL_SOCKET=%s", process->socket_path),
        pawl_arena_format(arena, "PAWL_DB=%.*s", PAWL_STR_ARG(plan->store)),
    };
    static_assert(sizeof own / sizeof own[0] == OWN_MAX, "room for each");
    for (size_t i = 0; i < OWN_MAX; i++) environment[to++] = pawl_arena_c_text(arena, own[i]);
    return pawl_arena_code(arena) == PAWL_OK ? environment : NULL;
}

enum pawl_code pawl_process_prepare(struct pawl_process *process,
                                    const struct pawl_process_plan *plan,
                                    const struct pawl_grant *grant, int32_t number,
                                    struct pawl_arena *arena, struct pawl_error *err)
{
    *process = (struct pawl_process){
        .out_fd = -1, .err_fd = -1, .start_fd = -1, .listen_fd = -1, .arena = arena};
    enum pawl_code code = write_files(process, plan, grant, number, arena, err);
    if (code == PAWL_OK) {
        process->environment = make_environment(process, plan, grant, arena);
        if (process->environment == NULL) {
            code = pawl_error_set(err, PAWL_NO_MEMORY, "no room for the environment of a command");
        }
    }
    if (code != PAWL_OK) pawl_process_close(process);
    return code;
}

/* ---- Starting -------------------------------------------------------------------------------- */

enum pawl_code pawl_low_fds_open(struct pawl_low_fds *low, struct pawl_error *err)
{
    for (int i = 0; i < PAWL_LOW_COUNT; i++) low->fds[i] = -1;
    for (int i = 0; i < PAWL_LOW_COUNT; i++) {
        low->fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (low->fds[i] < 0) return pawl_error_set(err, PAWL_IO, "cannot open /dev/null: %s", strerror(errno));
    }
    return PAWL_OK;
}

void pawl_low_fds_close(struct pawl_low_fds *low)
{
    for (int i = 0; i < PAWL_LOW_COUNT; i++) {
        if (low->fds[i] >= 0) (void)close(low->fds[i]);
        low->fds[i] = -1;
    }
}

/* Makes the low ones copies of these, in the order of their names; without any, of nothing. */
static bool lend(const struct pawl_low_fds *low, const int *fds)
{
    bool is_done = true;
    for (int i = 0; i < PAWL_LOW_NONE; i++) {
        int fd = fds != NULL ? fds[i] : low->fds[PAWL_LOW_NONE];
        is_done = dup3(fd, low->fds[i], O_CLOEXEC) >= 0 && is_done;
    }
    return is_done;
}

/* What a child says of itself that cannot become the command. */
struct start_failure {
    int number;        /* errno */
    bool is_of_folder; /* not of the program */
};

/* The address sanitizer marks the stack of what it watches, and of a function that never returns the marks stay. */
#define ON_A_BORROWED_STACK __attribute__((no_sanitize_address))

/* In the child, which has our memory until it is the command: only calls that are safe then, and nothing written but
 * on the stack. */
ON_A_BORROWED_STACK _Noreturn static void give_up(int start_fd, bool is_of_folder)
{
    struct start_failure failure = {.number = errno, .is_of_folder = is_of_folder};
    (void)!write(start_fd, &failure, sizeof failure); /* a pipe takes so little at once */
    _exit(EX_TEMPFAIL);
}

struct child {
    const struct pawl_process_plan *plan;
    char **environment;
    pid_t parent;
};

/* A table of descriptors of our own, with the low ones in it and those below them. Old kernels copy all of it, and have
 * those that are ours marked already; the rest is what a library may have left open. */
ON_A_BORROWED_STACK static bool take_fds(const int *low)
{
    int highest = low[0];
    for (int i = 1; i < PAWL_LOW_COUNT; i++) highest = low[i] > highest ? low[i] : highest;
    if (syscall(SYS_close_range, (unsigned)highest + 1, ~0U, CLOSE_RANGE_UNSHARE) != 0 && unshare(CLONE_FILES) != 0) {
        return false;
    }
    (void)syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
    return true;
}

ON_A_BORROWED_STACK static int become_command(void *self)
{
    const struct child *child = self;
    const struct pawl_process_plan *plan = child->plan;
    const int *low = plan->low->fds;
    int start_fd = low[PAWL_LOW_START];
    sigset_t none;
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != child->parent) _exit(EX_TEMPFAIL); /* it died before it could be watched */
    if (!take_fds(low)) give_up(start_fd, false);
    (void)dup2(low[PAWL_LOW_IN], STDIN_FILENO);
    (void)dup2(low[PAWL_LOW_OUT], STDOUT_FILENO);
    (void)dup2(low[PAWL_LOW_ERR], STDERR_FILENO);
    if (start_fd == PAWL_PROCESS_LOCK_FD) start_fd = fcntl(start_fd, F_DUPFD_CLOEXEC, PAWL_PROCESS_LOCK_FD + 1);
    /* The lock goes on. Where so high a number is not allowed it keeps its own. */
    bool is_moved = low[PAWL_LOW_LOCK] != PAWL_PROCESS_LOCK_FD &&
                    dup2(low[PAWL_LOW_LOCK], PAWL_PROCESS_LOCK_FD) == PAWL_PROCESS_LOCK_FD;
    if (!is_moved) (void)fcntl(low[PAWL_LOW_LOCK], F_SETFD, 0);
    if (plan->files.rlim_cur != 0) (void)setrlimit(RLIMIT_NOFILE, &plan->files);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (plan->cwd != NULL && chdir(plan->cwd) != 0) give_up(start_fd, true);
    (void)execvpe(plan->argv[0], plan->argv, child->environment);
    give_up(start_fd, false);
}

/* Not fork(2). That copies the maps of all our threads' stacks, and the table of descriptors: with 1 024 slots 2 048 of
 * these are of the one file of locks, and each copy that is closed walks the list of all locks there are in it. So the
 * child has our memory and our descriptors until it has taken those it needs; only this thread waits for it meanwhile. */
static pid_t spawn(const struct pawl_process_plan *plan, char **environment)
{
    enum { STACK_BYTES = 128 * 1024 }; /* for a path of PATH_MAX and some thousand arguments */
    _Alignas(64) char stack[STACK_BYTES];
    struct child child = {.plan = plan, .environment = environment, .parent = getpid()};
    return clone(become_command, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &child);
}

static void close_fd(int *fd)
{
    if (*fd >= 0) (void)close(*fd);
    *fd = -1;
}

enum pawl_code pawl_process_start(struct pawl_process *process,
                                  const struct pawl_process_plan *plan, int lock_fd,
                                  struct pawl_error *err)
{
    int out[2] = {-1, -1};
    int err_pipe[2] = {-1, -1};
    int start[2] = {-1, -1}; /* the child's end is closed as it becomes the command */
    pid_t pid = -1;
    int in = open(process->task_path, O_RDONLY | O_CLOEXEC);
    bool has_pipes = in >= 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err_pipe, O_CLOEXEC) == 0 &&
                     pipe2(start, O_CLOEXEC) == 0;
    const int fds[] = {in, out[1], err_pipe[1], start[1], lock_fd}; /* PAWL_LOW_IN and so on */
    if (has_pipes && lend(plan->low, fds)) pid = spawn(plan, process->environment);
    int failure = errno;
    (void)lend(plan->low, NULL); /* cannot fail */
    close_fd(&in);
    close_fd(&out[1]);
    close_fd(&err_pipe[1]);
    close_fd(&start[1]);
    if (pid < 0) {
        close_fd(&out[0]);
        close_fd(&err_pipe[0]);
        close_fd(&start[0]);
        return pawl_error_set(err, PAWL_IO, "cannot start a process: %s", strerror(failure));
    }
    (void)setpgid(pid, pid); /* both sides, so that it is done whoever is first */
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    (void)fcntl(err_pipe[0], F_SETFL, O_NONBLOCK);
    (void)fcntl(start[0], F_SETFL, O_NONBLOCK);
    process->pid = pid;
    process->out_fd = out[0];
    process->err_fd = err_pipe[0];
    process->start_fd = start[0];
    return PAWL_OK;
}

enum pawl_start pawl_process_started(struct pawl_process *process,
                                     const struct pawl_process_plan *plan, struct pawl_error *err)
{
    if (process->start != PAWL_START_UNKNOWN) return process->start;
    struct start_failure failure;
    ssize_t got = read(process->start_fd, &failure, sizeof failure);
    /* A sister that is just being started may still hold the other end. */
    if (got < 0 && (errno == EAGAIN || errno == EINTR) && !process->has_exited)
        return PAWL_START_UNKNOWN;
    close_fd(&process->start_fd);
    process->start = PAWL_START_DONE;
    if (got != (ssize_t)sizeof failure) return process->start;
    process->start = PAWL_START_FAILED;
    (void)pawl_error_set(err, PAWL_IO, "cannot %s %s: %s", failure.is_of_folder ? "go to" : "run",
                         failure.is_of_folder ? plan->cwd : plan->argv[0],
                         strerror(failure.number));
    return process->start;
}

/* ---- While it runs --------------------------------------------------------------------------- */

void pawl_process_signal(struct pawl_process *process, int signal_number)
{
    if (process->pid == 0 || process->has_exited) return;
    (void)kill(-process->pid, signal_number); /* it may have exited this moment */
}

void pawl_process_look(struct pawl_process *process)
{
    siginfo_t info = {0};
    if (process->pid == 0 || process->has_exited) return;
    int result = waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    if (result != 0 || info.si_pid == 0) return;
    /* As long as it has not been waited for, its number can be nobody else's. */
    (void)kill(-process->pid, SIGKILL);
    (void)waitpid(process->pid, &process->wait_status, 0);
    process->has_exited = true;
}

/* Reads once; gives 0 when there is nothing now, and closes the pipe at its end. */
static size_t read_some(const struct pawl_process *process, int *fd, char *bytes, size_t room)
{
    for (;;) {
        ssize_t got = read(*fd, bytes, room);
        if (got > 0) return (size_t)got;
        if (got < 0 && errno == EINTR) continue;
        bool is_empty = got < 0 && errno == EAGAIN;
        if (!is_empty || process->has_exited) close_fd(fd);
        return 0;
    }
}

static void keep_printed(struct pawl_process *process, const char *bytes, size_t len)
{
    size_t room = PAWL_RESULT_BYTES_MAX - process->printed_len;
    if (len > room) {
        len = room;
        process->is_cut = true;
    }
    if (process->printed_len + len > process->printed_capacity) {
        size_t capacity = process->printed_capacity == 0 ? 4096 : process->printed_capacity;
        while (capacity < process->printed_len + len) capacity *= 2;
        char *printed = pawl_arena_resize(process->arena, process->printed,
                                          process->printed_capacity, capacity);
        if (printed == NULL) {
            process->is_cut = true; /* what there is memory for */
            return;
        }
        process->printed = printed;
        process->printed_capacity = capacity;
    }
    memcpy(process->printed + process->printed_len, bytes, len);
    process->printed_len += len;
}

void pawl_process_read_out(struct pawl_process *process)
{
    enum { READS_MAX = 16 }; /* then others get their turn */
    char bytes[64 * 1024];
    for (int32_t i = 0; i < READS_MAX && process->out_fd >= 0; i++) {
        size_t len = read_some(process, &process->out_fd, bytes, sizeof bytes);
        if (len == 0) return;
        keep_printed(process, bytes, len);
    }
}

static void keep_tail(struct pawl_process *process, const char *bytes, size_t len)
{
    size_t max = sizeof process->tail;
    if (len >= max) {
        memcpy(process->tail, bytes + len - max, max);
        process->tail_len = max;
        return;
    }
    size_t old = process->tail_len + len > max ? max - len : process->tail_len;
    memmove(process->tail, process->tail + process->tail_len - old, old);
    memcpy(process->tail + old, bytes, len);
    process->tail_len = old + len;
}

size_t pawl_process_read_err(struct pawl_process *process, char *bytes, size_t room)
{
    if (process->err_fd < 0 || room == 0) return 0;
    size_t len = read_some(process, &process->err_fd, bytes, room);
    if (len > 0) keep_tail(process, bytes, len);
    return len;
}

bool pawl_process_is_over(const struct pawl_process *process)
{
    return process->has_exited && process->out_fd < 0 && process->err_fd < 0;
}

void pawl_process_close(struct pawl_process *process)
{
    pawl_assert(process->pid == 0 || process->has_exited);
    close_fd(&process->out_fd);
    close_fd(&process->err_fd);
    close_fd(&process->start_fd);
    close_fd(&process->listen_fd);
    if (process->task_path[0] != '\0') (void)unlink(process->task_path);
    if (process->socket_path[0] != '\0') (void)unlink(process->socket_path);
    process->pid = 0;
}

/* ---- Before anything runs -------------------------------------------------------------------- */

static bool can_run(int folder_fd, const char *path)
{
    struct stat status;
    bool is_file = fstatat(folder_fd, path, &status, 0) == 0 && S_ISREG(status.st_mode);
    return is_file && faccessat(folder_fd, path, X_OK, 0) == 0;
}

static bool is_on_path(const char *name)
{
    const char *path = getenv("PATH");
    if (path == NULL) path = "/bin:/usr/bin"; /* as execvp has it */
    while (*path != '\0') {
        size_t len = strcspn(path, ":");
        char candidate[4096];
        int written = snprintf(candidate, sizeof candidate, "%.*s/%s", len > 0 ? (int)len : 1,
                               len > 0 ? path : ".", name);
        if (written > 0 && (size_t)written < sizeof candidate && can_run(AT_FDCWD, candidate)) {
            return true;
        }
        path += len;
        if (*path == ':') path++;
    }
    return false;
}

enum pawl_code pawl_process_check(const struct pawl_process_plan *plan, struct pawl_error *err)
{
    const char *name = plan->argv[0];
    int folder_fd = AT_FDCWD;
    if (plan->cwd != NULL) {
        folder_fd = open(plan->cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (folder_fd < 0) {
            return pawl_error_set(err, PAWL_NOT_FOUND, "cannot go to %s: %s", plan->cwd,
                                  strerror(errno));
        }
    }
    bool is_there = strchr(name, '/') != NULL ? can_run(folder_fd, name) : is_on_path(name);
    if (folder_fd >= 0) (void)close(folder_fd);
    if (is_there) return PAWL_OK;
    return pawl_error_set(err, PAWL_NOT_FOUND, "there is no program %s to run", name);
}
