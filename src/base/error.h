/* The sentence that goes with a code (struct pawl_error of pawl.h).
 *
 * The function that finds the fault writes the sentence; callers may put words in front, never
 * replace it. The text has a fixed size and is cut between characters, never allocated. */
#ifndef PAWL_BASE_ERROR_H
#define PAWL_BASE_ERROR_H

#include "base/printf.h"
#include "pawl.h"

/* Fills *err (may be NULL; until_at_ms becomes 0) and returns code, so that failing is one line.
 * The arguments may point into err->text. */
enum pawl_code pawl_error_set(struct pawl_error *err, enum pawl_code code, const char *format, ...)
    PAWL_PRINTF(3, 4);

/* Puts words and ": " in front of the sentence: "claim from mail: no such queue". Code and time
 * stay. Does nothing without err. */
void pawl_error_prefix(struct pawl_error *err, const char *format, ...) PAWL_PRINTF(2, 3);

#endif
