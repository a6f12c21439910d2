/* Instants and durations as people write them. Inside, both are milliseconds in an int64_t; an
 * instant counts from 1970. No time zones: what has no offset is UTC, and libc's tables are not
 * asked. */
#ifndef PAWL_BASE_INSTANT_H
#define PAWL_BASE_INSTANT_H

#include "pawl.h"

enum {
    PAWL_INSTANT_TEXT_BYTES_MAX = 24,  /* "2026-11-30T17:45:03.123Z" */
    PAWL_DURATION_TEXT_BYTES_MAX = 31, /* "-106751991167d7h12m55.807s" has 26 */
};

/* Of two instants of one clock. */
static inline int64_t pawl_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#define PAWL_INSTANT_MS_MAX INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */

/* Reads an instant of the years 1970 to 9999; false, and *at_ms untouched, for all else.
 *
 *   1796060703123              milliseconds
 *   2026-11-30T17:45:03.123Z   or with an offset (+02:00, -0530, +02), or none: UTC; 'T' may be a
 * space 2026-11-30T17:45           seconds may be missing; a fraction has 1 to 9 digits, rounded
 * down 2026-11-30                 its midnight */
bool pawl_instant_parse(struct pawl_str text, int64_t *at_ms) PAWL_MUST_USE;

/* "2026-11-30T17:45:03.123Z", NUL-terminated. What lies outside the years 1970 to 9999 is shown as
 * the nearer end. */
void pawl_instant_format(int64_t at_ms, char out[PAWL_INSTANT_TEXT_BYTES_MAX + 1]);

/* Reads a duration; false, and *ms untouched, for all else.
 *
 *   250ms 30s 1.5s 5m 2h 7d    a fraction of at most 9 digits, rounded up to a millisecond
 *   1h30m 1m1.5s               larger units first, each once; a fraction only in the last
 *   90 or 1.5                  seconds */
bool pawl_duration_parse(struct pawl_str text, int64_t *ms) PAWL_MUST_USE;

/* "1h30m", "1.5s", "250ms", "0s", "-5m"; NUL-terminated. What is not negative is read back as the
 * same duration. */
void pawl_duration_format(int64_t ms, char out[PAWL_DURATION_TEXT_BYTES_MAX + 1]);

#endif
