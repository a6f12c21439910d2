/* UUIDs (RFC 9562) as canonical text: 8-4-4-4-12 hexadecimal digits. */
#ifndef PAWL_BASE_UUID_H
#define PAWL_BASE_UUID_H

#include "pawl.h"

enum {
    PAWL_UUID_BYTES_MAX = 36, /* of the text */
};

/* A version 7 UUID: 48 bits of milliseconds, then random, so that texts sort by time.
 *
 *   at_ms        must lie in 0 .. 2^48 - 1; only its low 48 bits are used
 *   random_high  its low 12 bits are used
 *   random_low   its low 62 bits are used
 *   out          lower case, NUL-terminated */
void pawl_uuid_make(int64_t at_ms, uint64_t random_high, uint64_t random_low,
                    char out[PAWL_UUID_BYTES_MAX + 1]);

/* Reads the canonical form of any version, in either case; no braces, no "urn:". */
bool pawl_uuid_parse(struct pawl_str text, uint8_t out[16]) PAWL_MUST_USE;

bool pawl_uuid_is(struct pawl_str text);

/* The instant that a version 7 UUID holds in its first 48 bits; 0 for what is no UUID. */
int64_t pawl_uuid_at_ms(struct pawl_str text);

#endif
