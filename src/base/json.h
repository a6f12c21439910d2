/* JSON (RFC 8259), read: one pass over the text, explicit stack, slices into it.
 *
 * Payloads must leave as they came: 129.9, 2^53 + 1 and the order of keys. So a value is its own
 * bytes, and nothing is converted before somebody asks. Stricter than the RFC asks where the RFC
 * warns: UTF-8 only and valid, no half surrogates, no key twice in an object (compared as decoded),
 * nesting bounded.
 *
 * base/json_writer.h, included here, writes JSON. */
#ifndef PAWL_BASE_JSON_H
#define PAWL_BASE_JSON_H

#include "base/json_writer.h"
#include "pawl.h"

enum {
    /* Containers inside each other. Nobody writes more by hand, and every tool downstream has a
     * limit: better ours, with a sentence. */
    PAWL_JSON_DEPTH_MAX = 128,
};

#define PAWL_JSON_TEXT_BYTES_MAX UINT32_MAX /* positions are kept in 32 bits */

/* Whether text is exactly one JSON value, blanks around it allowed.
 *
 *   scratch  room for the keys of large objects; all that was taken is given back. Ordinary
 * payloads take nothing fails    PAWL_INVALID    the sentence has line, column (in characters) and
 * what is wrong PAWL_TOO_LARGE, PAWL_NO_MEMORY  of the arena, or a text beyond
 *                            PAWL_JSON_TEXT_BYTES_MAX */
enum pawl_code pawl_json_check(struct pawl_str text, struct pawl_arena *scratch,
                               struct pawl_error *err) PAWL_MUST_USE;

enum pawl_json_kind {
    PAWL_JSON_NULL,
    PAWL_JSON_FALSE,
    PAWL_JSON_TRUE,
    PAWL_JSON_NUMBER,
    PAWL_JSON_STRING,
    PAWL_JSON_ARRAY,
    PAWL_JSON_OBJECT
};

/* A value. raw and key are slices of the text that was parsed. */
struct pawl_json {
    struct pawl_str raw;     /* the exact bytes, a string's quotes too */
    struct pawl_str key;     /* in an object: its key, without quotes, escapes as written */
    struct pawl_json *next;  /* the next member of the same container, or NULL */
    struct pawl_json *first; /* the first member of a container, or NULL */
    uint32_t child_count;
    enum pawl_json_kind kind;
};

/* Checks text as pawl_json_check does, and gives its tree; 64 bytes a value.
 *
 *   text   borrowed as long as the tree is used
 *   arena  the tree lives here */
enum pawl_code pawl_json_parse(struct pawl_str text, struct pawl_arena *arena,
                               struct pawl_json **out, struct pawl_error *err) PAWL_MUST_USE;

/* The same with nodes for the top levels only (0 = the root alone). What lies deeper is checked,
 * and its container has child_count but no first: a slice, which can be parsed by its raw. For
 * requests that carry large payloads. */
enum pawl_code pawl_json_parse_top(struct pawl_str text, int32_t levels, struct pawl_arena *arena,
                                   struct pawl_json **out, struct pawl_error *err) PAWL_MUST_USE;

/* The functions below take NULL for a node that is not there, and answer false or NULL. They leave
 * *out untouched then. */

/* The member of an object with this key (decoded), or NULL; also for what is no object. One pass
 * over the members. */
struct pawl_json *pawl_json_member(const struct pawl_json *object, struct pawl_str key);

/* The members of an array or object in order; NULL when there are none (left). */
struct pawl_json *pawl_json_first(const struct pawl_json *container);
struct pawl_json *pawl_json_next(const struct pawl_json *member);

/* The decoded text of a string: a slice of the text parsed if it has no escapes, else in the arena.
 * False for what is no string, one with a zero byte (\u0000), or if the arena failed. */
bool pawl_json_text(const struct pawl_json *node, struct pawl_arena *arena,
                    struct pawl_str *out) PAWL_MUST_USE;

/* The decoded key of a member of an object; else as pawl_json_text. */
bool pawl_json_key(const struct pawl_json *node, struct pawl_arena *arena,
                   struct pawl_str *out) PAWL_MUST_USE;

/* A number written as digits with an optional '-', exactly, in 64 bits; false for 1.0 and 1e3. */
bool pawl_json_int64(const struct pawl_json *node, int64_t *out) PAWL_MUST_USE;

/* Any number that a double can hold, rounded. */
bool pawl_json_double(const struct pawl_json *node, double *out) PAWL_MUST_USE;

bool pawl_json_bool(const struct pawl_json *node, bool *out) PAWL_MUST_USE;

#endif
