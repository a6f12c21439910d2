#include "store/clock.h"

#include "base/instant.h"

int64_t pawl_store_wall_ms(const struct pawl_env *env)
{
    int64_t wall_ms = env->wall_ms(env->self);
    return wall_ms < 0 ? 0 : wall_ms > PAWL_INSTANT_MS_MAX ? PAWL_INSTANT_MS_MAX : wall_ms;
}

bool pawl_store_clock_is_good(const struct pawl_env *env, const struct pawl_store_clock *clock)
{
    return clock->is_same_boot && clock->offset_ms >= -PAWL_INSTANT_MS_MAX &&
           clock->offset_ms <= PAWL_INSTANT_MS_MAX - env->boot_ms(env->self);
}

int64_t pawl_store_offset_ms(const struct pawl_env *env, const struct pawl_store_clock *clock)
{
    if (pawl_store_clock_is_good(env, clock)) return clock->offset_ms;
    int64_t wall_ms = pawl_store_wall_ms(env);
    int64_t start_ms = wall_ms > clock->last_now_ms ? wall_ms : clock->last_now_ms;
    return start_ms - env->boot_ms(env->self);
}

int64_t pawl_store_now_ms(const struct pawl_env *env, const struct pawl_store_clock *clock)
{
    int64_t now_ms = pawl_store_offset_ms(env, clock) + env->boot_ms(env->self);
    return now_ms > clock->last_now_ms ? now_ms : clock->last_now_ms;
}
