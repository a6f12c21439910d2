/* UTF-8, strictly (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef PAWL_BASE_UTF8_H
#define PAWL_BASE_UTF8_H

#include "pawl.h"

enum {
    PAWL_UTF8_BYTES_MAX = 4,        /* of one character */
    PAWL_UTF8_REPLACEMENT = 0xFFFD, /* stands for what could not be read */
    PAWL_UTF8_POINT_MAX = 0x10FFFF,
};

bool pawl_utf8_is_valid(struct pawl_str text);

/* The number of code points of valid text. In other text every byte that does not continue a
 * character counts. */
size_t pawl_utf8_points(struct pawl_str text);

/* The start of valid text: at most so many code points, or bytes, never ending inside a character.
 */
struct pawl_str pawl_utf8_cut_points(struct pawl_str text, size_t points_max);
struct pawl_str pawl_utf8_cut_bytes(struct pawl_str text, size_t bytes_max);

/* Reads the first character: its length in bytes, 1 to 4, or 0 if it is not valid or text is empty.
 */
size_t pawl_utf8_decode(struct pawl_str text, uint32_t *point);

/* Writes a code point, which must be one that UTF-8 can hold; returns its bytes, 1 to 4. */
size_t pawl_utf8_encode(uint32_t point, char out[PAWL_UTF8_BYTES_MAX]);

#endif
