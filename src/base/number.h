/* Numbers from text and back, whatever the locale. */
#ifndef PAWL_BASE_NUMBER_H
#define PAWL_BASE_NUMBER_H

#include "pawl.h"

enum {
    PAWL_INT64_TEXT_BYTES_MAX = 20,  /* "-9223372036854775808" */
    PAWL_DOUBLE_TEXT_BYTES_MAX = 31, /* "-1.7976931348623157e+308" has 24 */
};

/* Reads the whole text: digits with an optional '-' in front, nothing else ("+1", " 1", "1.0" and
 * "" are refused). False, and *out untouched, also if it does not lie in min..max. */
bool pawl_int64_parse(struct pawl_str text, int64_t min, int64_t max, int64_t *out) PAWL_MUST_USE;

/* Decimal digits, NUL-terminated; returns their count, with '-'. Several times as fast as printf.
 */
size_t pawl_int64_format(int64_t number, char out[PAWL_INT64_TEXT_BYTES_MAX + 1]);

/* Reads the whole text as a JSON number, correctly rounded. False for what is too large for a
 * double; what is too small becomes 0. */
bool pawl_double_parse(struct pawl_str text, double *out) PAWL_MUST_USE;

/* The shortest of 15, 16 or 17 digits that is read back as the same number, as JSON: integers up to
 * 2^53 without an exponent, -0 as 0, and "null" for what is not finite. NUL-terminated; returns the
 * length. */
size_t pawl_double_format(double number, char out[PAWL_DOUBLE_TEXT_BYTES_MAX + 1]);

#endif
