/* A library to be preloaded: kills its process right before the nth call that changes a file or a
 * folder. The number is in PAWL_KILL_AT; whoever lives to his end has made fewer calls. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic long calls;

static void count(void)
{
    const char *at = getenv("PAWL_KILL_AT");
    if (at != NULL && ++calls == atol(at)) (void)kill(getpid(), SIGKILL);
}

/* dlsym gives a pointer to an object; the union makes it one to a function. */
#define WRAP(result, name, parameters, arguments)     \
    result name parameters;                           \
    result name parameters                            \
    {                                                 \
        union {                                       \
            void *object;                             \
            result(*function) parameters;             \
        } real = {.object = dlsym(RTLD_NEXT, #name)}; \
        count();                                      \
        return real.function arguments;               \
    }

WRAP(ssize_t, write, (int fd, const void *from, size_t bytes), (fd, from, bytes))
WRAP(ssize_t, pwrite, (int fd, const void *from, size_t bytes, off_t at), (fd, from, bytes, at))
WRAP(ssize_t, pwrite64, (int fd, const void *from, size_t bytes, off64_t at), (fd, from, bytes, at))
WRAP(int, ftruncate, (int fd, off_t bytes), (fd, bytes))
WRAP(int, ftruncate64, (int fd, off64_t bytes), (fd, bytes))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, fallocate, (int fd, int mode, off_t at, off_t bytes), (fd, mode, at, bytes))
WRAP(int, posix_fallocate, (int fd, off_t at, off_t bytes), (fd, at, bytes))
WRAP(int, rename, (const char *from, const char *to), (from, to))
WRAP(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags),
     (a, from, b, to, flags))
WRAP(int, link, (const char *from, const char *to), (from, to))
WRAP(int, unlink, (const char *path), (path))
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(int, mknod, (const char *path, mode_t mode, dev_t device), (path, mode, device))
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode))

/* Those that make a file. */
static mode_t mode_of(int flags, va_list more)
{
    return (flags & O_CREAT) != 0 ? (mode_t)va_arg(more, unsigned) : 0;
}

#define WRAP_OPEN(name)                               \
    int name(const char *path, int flags, ...);       \
    int name(const char *path, int flags, ...)        \
    {                                                 \
        va_list more;                                 \
        va_start(more, flags);                        \
        mode_t mode = mode_of(flags, more);           \
        va_end(more);                                 \
        union {                                       \
            void *object;                             \
            int (*function)(const char *, int, ...);  \
        } real = {.object = dlsym(RTLD_NEXT, #name)}; \
        if ((flags & O_CREAT) != 0) count();          \
        return real.function(path, flags, mode);      \
    }

WRAP_OPEN(open)
WRAP_OPEN(open64)
