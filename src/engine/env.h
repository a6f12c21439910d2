/* The real outside world: the clocks and the chance of this machine. */
#ifndef PAWL_ENGINE_ENV_H
#define PAWL_ENGINE_ENV_H

#include "pawl.h"

#include <time.h>

enum { PAWL_ENV_ID_BYTES_MAX = 64 };

struct pawl_env_real {
    struct pawl_env env;
    char boot_id[PAWL_ENV_ID_BYTES_MAX + 1];
    char host_id[PAWL_ENV_ID_BYTES_MAX + 1];
};

/* Fills `real`, which must not move while its env is used. */
void pawl_env_real_init(struct pawl_env_real *real);

/* So many milliseconds from now on the monotonic clock, for waits of threads. */
struct timespec pawl_env_deadline(int64_t wait_ms);

#endif
