/* Base64 (RFC 4648, section 4): bytes that are no text, inside JSON. */
#ifndef PAWL_BASE_BASE64_H
#define PAWL_BASE_BASE64_H

#include "pawl.h"

/* With padding, without line breaks; lives in the arena. {NULL, 0} if it failed. */
struct pawl_str pawl_base64_encode(struct pawl_arena *arena, struct pawl_str bytes);

/* The bytes, in the arena. False, and *out untouched, for what encode does not give, and if the
 * arena failed. */
bool pawl_base64_decode(struct pawl_arena *arena, struct pawl_str text,
                        struct pawl_str *out) PAWL_MUST_USE;

#endif
