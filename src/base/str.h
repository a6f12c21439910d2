/* Text as a slice: struct pawl_str of pawl.h, a pointer and a length, by value.
 *
 * Slices are borrowed, may hold zero bytes and are not NUL-terminated. {NULL, 0} is "not given" and
 * equals every other empty slice. Nothing here allocates. */
#ifndef PAWL_BASE_STR_H
#define PAWL_BASE_STR_H

#include "pawl.h"

#include <limits.h>

/* A slice of a string literal (the quotes around it refuse anything else); the second form is for
 * initialisers of static objects. */
#define PAWL_STR(literal) ((struct pawl_str){"" literal "", sizeof(literal) - 1})
#define PAWL_STR_INIT(literal)             \
    {                                      \
        "" literal "", sizeof(literal) - 1 \
    }

/* The two arguments of a "%.*s". */
#define PAWL_STR_ARG(s) pawl_str_arg_len(s), pawl_str_arg_ptr(s)

static inline int pawl_str_arg_len(struct pawl_str s)
{
    return s.len < INT_MAX ? (int)s.len : INT_MAX;
}

static inline const char *pawl_str_arg_ptr(struct pawl_str s)
{
    return s.ptr != NULL ? s.ptr : "";
}

/* The slice of a NUL-terminated text, without its NUL; NULL gives the empty slice. */
struct pawl_str pawl_str_of(const char *c);

bool pawl_str_equal(struct pawl_str a, struct pawl_str b);

/* Negative, 0 or positive; by bytes, a prefix first: the order of memcmp, and of code points in
 * UTF-8. */
int pawl_str_compare(struct pawl_str a, struct pawl_str b);

bool pawl_str_starts(struct pawl_str s, struct pawl_str prefix);
bool pawl_str_ends(struct pawl_str s, struct pawl_str suffix);
bool pawl_str_has(struct pawl_str s, struct pawl_str needle);

/* Without the blanks (space, tab, CR, LF, FF, VT) at both ends. */
struct pawl_str pawl_str_trim(struct pawl_str s);

#endif
