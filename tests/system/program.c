#include "program.h"

#include "base/arena.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AGAIN_MS = 5, READ_BYTES = 16 * 1024, ARGUMENTS_MAX = 16 };

/* ---- The process ---- */

/* In the child, with out as its standard output. */
static _Noreturn void become(const char *const *arguments, int out)
{
    const char *argv[ARGUMENTS_MAX + 1] = {PROGRAM};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i + 1 < ARGUMENTS_MAX && arguments[i] != NULL; i++)
        argv[i + 1] = arguments[i];
    if (dup2(out, STDOUT_FILENO) < 0) _exit(99);
    (void)execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(99);
}

static pid_t begin(const char *const *arguments, int *out)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        become(arguments, ends[1]);
    }
    (void)close(ends[1]);
    *out = ends[0];
    return pid;
}

bool program_start(struct program *program)
{
    char listen[PROGRAM_PATH_BYTES + 8];
    (void)snprintf(listen, sizeof listen, "unix:%s", program->socket);
    const char *const arguments[] = {"server",        "--db", program->target,
                                     "--listen",      listen, "--quiet",
                                     "--lease-grace", "1ms",  NULL};
    char line[2 * PROGRAM_PATH_BYTES];
    int out = -1;
    program->pid = begin(arguments, &out);
    if (program->pid < 0) return false;
    ssize_t len = read(out, line, sizeof line); /* "listening on ...", or its end */
    (void)close(out);
    return len > 0;
}

static int await(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void program_kill(struct program *program)
{
    if (program->pid <= 0) return;
    (void)kill(program->pid, SIGKILL);
    (void)await(program->pid);
    program->pid = 0;
    program->kills++;
}

int program_stop(struct program *program)
{
    if (program->pid <= 0) return -1;
    (void)kill(program->pid, SIGTERM);
    int status = await(program->pid);
    program->pid = 0;
    return status;
}

/* Until the end, or until there is no room. */
static struct pawl_str read_all(int fd, struct pawl_arena *keep)
{
    char *bytes = NULL;
    size_t size = 0;
    size_t len = 0;
    for (;;) {
        if (len == size) {
            size_t larger = size == 0 ? READ_BYTES : 2 * size;
            char *grown = pawl_arena_resize(keep, bytes, size, larger);
            if (grown == NULL) return (struct pawl_str){0};
            bytes = grown;
            size = larger;
        }
        ssize_t count = read(fd, bytes + len, size - len);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return (struct pawl_str){bytes, len};
        len += (size_t)count;
    }
}

int program_run(const struct program *program, const char *const *arguments,
                struct pawl_arena *keep, struct pawl_str *printed)
{
    const char *all[ARGUMENTS_MAX] = {0};
    size_t count = 0;
    int out = -1;
    while (count + 3 < ARGUMENTS_MAX && arguments[count] != NULL) {
        all[count] = arguments[count];
        count++;
    }
    all[count++] = "--db";
    all[count] = program->target;
    pid_t pid = begin(all, &out);
    if (pid < 0) return -1;
    *printed = read_all(out, keep);
    (void)close(out);
    return await(pid);
}

/* ---- Its clients ---- */

static int connect_to(const struct program *program)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", program->socket);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) == 0)
        return fd;
    if (fd >= 0) (void)close(fd);
    return -1;
}

static bool send_all(int fd, struct pawl_str text)
{
    for (size_t sent = 0; sent < text.len;) {
        ssize_t count = send(fd, text.ptr + sent, text.len - sent, MSG_NOSIGNAL);
        if (count <= 0) return false;
        sent += (size_t)count;
    }
    return true;
}

/* What was received, if it is a whole answer. */
static struct reply read_reply(struct pawl_str text)
{
    struct reply reply = {0};
    const char *end = text.len > 0 ? memmem(text.ptr, text.len, "\r\n\r\n", 4) : NULL;
    if (end == NULL || !pawl_str_starts(text, PAWL_STR("HTTP/1.1 "))) return reply;
    struct pawl_str head = {text.ptr, (size_t)(end - text.ptr)};
    reply.body = (struct pawl_str){end + 4, text.len - head.len - 4};
    int status = (int)strtoul(head.ptr + 9, NULL, 10);
    const char *length = memmem(head.ptr, head.len, "\r\nContent-Length: ", 18);
    size_t wanted = length != NULL ? strtoul(length + 18, NULL, 10) : 0;
    if ((length == NULL && status != 204) || reply.body.len != wanted) return (struct reply){0};
    if (pawl_str_has(head, PAWL_STR("\r\nPawl-Lease: done"))) reply.lease = REPLY_LEASE_DONE;
    if (pawl_str_has(head, PAWL_STR("\r\nPawl-Lease: lost"))) reply.lease = REPLY_LEASE_LOST;
    reply.status = status;
    return reply;
}

struct reply program_ask_once(const struct program *program, const char *line, const char *body,
                              struct pawl_arena *keep)
{
    struct reply reply = {0};
    size_t len = body != NULL ? strlen(body) : 0;
    struct pawl_str request = pawl_arena_format(
        keep,
        "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
        line, len, body != NULL ? body : "");
    int fd = connect_to(program);
    if (fd < 0) return reply;
    if (send_all(fd, request)) reply = read_reply(read_all(fd, keep));
    (void)close(fd);
    return reply;
}

struct reply program_ask(const struct program *program, const char *line, const char *body,
                         struct pawl_arena *keep)
{
    const struct timespec pause = {.tv_nsec = AGAIN_MS * 1000000L};
    struct reply reply = program_ask_once(program, line, body, keep);
    bool is_repeated = false;
    while ((reply.status == 0 || reply.status == 503) && !program->gives_up) {
        is_repeated = true;
        (void)nanosleep(&pause, NULL);
        reply = program_ask_once(program, line, body, keep);
    }
    reply.is_repeated = is_repeated;
    return reply;
}
