#include "core/task/retry.h"

#include "base/assert.h"
#include "core/limits.h"

/* base * 2^doublings, or max where that is less; by doubling, so that nothing overflows. */
static int64_t doubled(int64_t base, int32_t doublings, int64_t max)
{
    while (doublings-- > 0 && base < max) base = base > max / 2 ? max : base * 2;
    return base < max ? base : max;
}

int64_t pawl_retry_delay_ms(const struct pawl_retry_policy *policy, int32_t retry)
{
    pawl_assert(retry >= 1);
    int64_t base = policy->delay_ms;
    int64_t max = policy->delay_ms_max;
    switch (policy->backoff) {
    case PAWL_BACKOFF_EXPONENTIAL:
        return doubled(base, retry - 1, max);
    case PAWL_BACKOFF_LINEAR:
        return base > max / retry ? max : base * retry;
    case PAWL_BACKOFF_FIXED:
        return base < max ? base : max;
    }
    pawl_assert(false);
    return 0;
}

int64_t pawl_crash_delay_ms(int32_t crashes_in_row)
{
    if (crashes_in_row <= 1) return 0;
    return doubled(1000, crashes_in_row - 2, PAWL_CRASH_DELAY_MS_MAX);
}

/* 0 = not said, -1 = none. */
static int64_t said(int64_t own, int64_t queue, int64_t built_in)
{
    int64_t value = own != 0 ? own : queue != 0 ? queue : built_in;
    return value < 0 ? 0 : value;
}

struct pawl_retry_policy pawl_retry_settle(const struct pawl_retry *own, const struct pawl_retry *queue)
{
    struct pawl_retry_policy policy = {
        .max_retries = (int32_t)said(own->max_retries, queue->max_retries, PAWL_RETRY_COUNT_DEFAULT),
        .backoff = own->backoff != 0 ? own->backoff : queue->backoff,
        .delay_ms = said(own->delay_ms, queue->delay_ms, PAWL_RETRY_DELAY_MS_DEFAULT),
        .delay_ms_max = said(own->delay_ms_max, queue->delay_ms_max, PAWL_RETRY_DELAY_MS_MAX_DEFAULT),
        .jitter_ms = said(own->jitter_ms, queue->jitter_ms, 0),
    };
    /* who asks for a longer base than the cap means it */
    if (policy.delay_ms_max < policy.delay_ms) policy.delay_ms_max = policy.delay_ms;
    return policy;
}
