#include "supervisor/clock.h"

#include "base/assert.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int64_t pawl_clock_boot_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_BOOTTIME, &now); /* fails only for clocks that do not exist */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int pawl_timer_open(void)
{
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

void pawl_timer_set(int timer_fd, int64_t at_boot_ms)
{
    struct itimerspec when = {0}; /* all zero is never */
    if (at_boot_ms != INT64_MAX) {
        int64_t at_ms = at_boot_ms < 1 ? 1 : at_boot_ms;
        when.it_value.tv_sec = at_ms / 1000;
        when.it_value.tv_nsec = at_ms % 1000 * 1000000;
    }
    int result = timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    pawl_assert(result == 0);
}

void pawl_fd_clear(int fd)
{
    uint64_t count = 0;
    ssize_t got = read(fd, &count, sizeof count);
    (void)got; /* nothing to clear is fine */
}

void pawl_fd_ring(int event_fd)
{
    uint64_t one = 1;
    ssize_t put = write(event_fd, &one, sizeof one);
    (void)put; /* full is readable too */
}
