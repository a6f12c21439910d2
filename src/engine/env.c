#include "engine/env.h"

#include "base/str.h"

#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static int64_t read_ms(clockid_t clock)
{
    struct timespec at;
    (void)clock_gettime(clock, &at); /* cannot fail for these clocks */
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

struct timespec pawl_env_deadline(int64_t wait_ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail for this clock */
    until.tv_sec += (time_t)(wait_ms / 1000);
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

static int64_t wall_ms(void *self)
{
    (void)self;
    return read_ms(CLOCK_REALTIME);
}

static int64_t boot_ms(void *self)
{
    (void)self;
    return read_ms(CLOCK_BOOTTIME);
}

static uint64_t chance(void *self)
{
    (void)self;
    uint64_t value = 0;
    /* up to 256 bytes come whole once the kernel's generator is ready */
    while (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) {
    }
    return value;
}

/* The first line of a file, or the fallback. */
static void read_line(const char *path, const char *fallback, char out[PAWL_ENV_ID_BYTES_MAX + 1])
{
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t got = read(fd, out, PAWL_ENV_ID_BYTES_MAX);
        len = got > 0 ? (size_t)got : 0;
        (void)close(fd); /* nothing was written */
    }
    while (len > 0 && (unsigned char)out[len - 1] <= ' ') len--;
    if (len == 0) {
        len = strnlen(fallback, PAWL_ENV_ID_BYTES_MAX);
        memcpy(out, fallback, len);
    }
    out[len] = '\0';
}

void pawl_env_real_init(struct pawl_env_real *real)
{
    char host[PAWL_ENV_ID_BYTES_MAX + 1] = "localhost";
    (void)gethostname(host, PAWL_ENV_ID_BYTES_MAX); /* the fallback's fallback */
    read_line("/proc/sys/kernel/random/boot_id", "unknown-boot", real->boot_id);
    read_line("/etc/machine-id", host, real->host_id);
    real->env = (struct pawl_env){.self = real,
                                  .wall_ms = wall_ms,
                                  .boot_ms = boot_ms,
                                  .random = chance,
                                  .boot_id = pawl_str_of(real->boot_id),
                                  .host_id = pawl_str_of(real->host_id)};
}
