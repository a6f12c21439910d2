/* The bell between processes without the kernel's part. A handle watches the file of the turn by
 * inotify, and closing a watch takes the kernel some 10 ms, more than all else of a run together.
 * So the linker sends these few calls here (--wrap): a bell is a counter, and it rings for
 * everybody when somebody writes to a file of a turn, or closes one, as the kernel does for a
 * killed process. */
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { BELLS_MAX = 64 };

static int bells[BELLS_MAX]; /* descriptors + 1; 0 = free */

int __real_close(int fd);
ssize_t __real_pwrite(int fd, const void *bytes, size_t count, off_t at);
int __wrap_inotify_init1(int flags);
int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t count, off_t at);
int __wrap_close(int fd);

static void ring_all(void)
{
    uint64_t one = 1;
    for (int i = 0; i < BELLS_MAX; i++) {
        if (bells[i] != 0) {
            (void)!write(bells[i] - 1, &one, sizeof one); /* a full counter rings all the same */
        }
    }
}

int __wrap_inotify_init1(int flags)
{
    (void)flags;
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    for (int i = 0; i < BELLS_MAX && fd >= 0; i++) {
        if (bells[i] != 0) continue;
        bells[i] = fd + 1;
        return fd;
    }
    return fd;
}

int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    (void)fd;
    (void)path;
    (void)mask;
    return 1;
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t count, off_t at)
{
    ssize_t written = __real_pwrite(fd, bytes, count, at);
    ring_all();
    return written;
}

int __wrap_close(int fd)
{
    for (int i = 0; i < BELLS_MAX; i++) {
        if (bells[i] == fd + 1) bells[i] = 0;
    }
    int result = __real_close(fd);
    ring_all();
    return result;
}
