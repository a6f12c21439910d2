/* The store's clock where the store has none of its own (SQLite): an offset on the boot clock that all processes of
 * one boot share, kept in `meta`. Steps and readers go by it alike. */
#ifndef PAWL_STORE_CLOCK_H
#define PAWL_STORE_CLOCK_H

#include "pawl.h"

/* As it is kept. */
struct pawl_store_clock {
    bool is_same_boot;
    int64_t offset_ms;
    int64_t last_now_ms; /* of the last commit */
};

/* The wall clock, within what an instant may be. */
int64_t pawl_store_wall_ms(const struct pawl_env *env);

/* Whether the offset that is kept may be gone by: it is of this boot, and in a range that nobody has damaged. */
bool pawl_store_clock_is_good(const struct pawl_env *env, const struct pawl_store_clock *clock);

/* The offset: the one that is kept if it is good, else a new one from the wall clock, never behind what has been
 * committed. */
int64_t pawl_store_offset_ms(const struct pawl_env *env, const struct pawl_store_clock *clock);

/* Now, by that offset, and never behind what has been committed. */
int64_t pawl_store_now_ms(const struct pawl_env *env, const struct pawl_store_clock *clock);

#endif
