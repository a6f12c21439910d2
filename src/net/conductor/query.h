/* The grammar of Conductor's searches:
 *
 *   query  = cond { (AND | OR) cond }, with parentheses; AND binds closer
 *   cond   = field op value | field [NOT] IN (value, …) | field BETWEEN value AND value
 *          | field IS [NOT] null | field STARTS_WITH value
 *   op     = = | != | < | > | <= | >=
 *   value  = bare, or in ' or " with backslash escapes; * in the value of = and != is any run of
 *            characters
 *   sort   = field[:ASC | :DESC] { | sort }
 *
 * Keywords in any case, blanks where one likes. Pure: what fields there are and what they hold is
 * the caller's. */
#ifndef PAWL_NET_CONDUCTOR_QUERY_H
#define PAWL_NET_CONDUCTOR_QUERY_H

#include "pawl.h"

enum {
    PAWL_QUERY_BYTES_MAX = 8 * 1024, /* as long as a request line */
    PAWL_QUERY_CONDITIONS_MAX = 256, /* people come to ten; a list of IN counts once */
    PAWL_QUERY_SORTS_MAX = 8,
};

struct pawl_query_field {
    const char *name;
    bool is_number; /* compared as one; instants are milliseconds */
};

struct pawl_query;

struct pawl_query_value {
    struct pawl_str text; /* empty = null */
    int64_t number;       /* of a number field */
};

struct pawl_query_sort {
    size_t field;
    bool is_descending;
};

/* An empty text holds for all.
 *
 *   fails  PAWL_INVALID    "query: at 14: …"
 *          PAWL_TOO_LARGE  beyond the limits above
 *          PAWL_NO_MEMORY  of keep */
enum pawl_code pawl_query_of(struct pawl_str text, const struct pawl_query_field *fields,
                             size_t field_count, struct pawl_arena *keep, struct pawl_query **out,
                             struct pawl_error *err) PAWL_MUST_USE;

/* value gives what a field holds; asked for only where it counts. */
bool pawl_query_holds(const struct pawl_query *query, void *self,
                      struct pawl_query_value (*value)(void *self, size_t field));

/* Whether it holds for nothing but where this field is this text: one that needs no others to be
 * looked at. */
bool pawl_query_names(const struct pawl_query *query, size_t field, struct pawl_str *out);

/* Parts between bars; count is how many there are.
 *
 *   fails  PAWL_INVALID, PAWL_TOO_LARGE */
enum pawl_code pawl_query_sort_of(struct pawl_str text, const struct pawl_query_field *fields,
                                  size_t field_count,
                                  struct pawl_query_sort out[PAWL_QUERY_SORTS_MAX], size_t *count,
                                  struct pawl_error *err) PAWL_MUST_USE;

/* Whether text has part, whatever the case of letters of ASCII. */
bool pawl_query_has(struct pawl_str text, struct pawl_str part);

#endif
