/* The inside of JSON strings, without the quotes: what reading and writing share.
 *
 * Internal to base. A raw string is a slice that has been checked: no control characters, valid
 * UTF-8, whole escapes, surrogates in pairs. */
#ifndef PAWL_BASE_JSON_STRING_H
#define PAWL_BASE_JSON_STRING_H

#include "pawl.h"

/* How many bytes from at on are plain: ASCII that stands for itself in a string. */
size_t pawl_json_plain_bytes(const char *at, const char *end);

/* Whether a raw string stands for itself. */
bool pawl_json_is_literal(struct pawl_str raw);

/* The value of four hexadecimal digits, or -1. */
int32_t pawl_json_hex4(const char *digits);

/* Decodes a raw string; out has room for raw.len bytes. Returns the bytes written. */
size_t pawl_json_decode(struct pawl_str raw, char *out);

/* Whether two raw strings stand for the same text. */
bool pawl_json_same_text(struct pawl_str a, struct pawl_str b);

/* Whether a raw string stands for this text, which is valid UTF-8. */
bool pawl_json_stands_for(struct pawl_str raw, struct pawl_str text);

#endif
