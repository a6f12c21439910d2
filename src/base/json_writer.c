/* Where a comma is due follows from the last byte written: none at the start, behind '{' or '[',
 * and behind the ':' of a key. No value ends in one of these. So the only state is the nesting, and
 * that for assertions. */
#include "base/json_writer.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/json_string.h"
#include "base/number.h"
#include "base/str.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { CAPACITY_BYTES_FIRST = 256 };

static_assert(PAWL_JSON_WRITER_DEPTH_MAX == 8 * sizeof((struct pawl_json_writer *)NULL)->objects,
              "objects has a bit for each depth");

void pawl_json_writer_init(struct pawl_json_writer *w, struct pawl_arena *arena)
{
    *w = (struct pawl_json_writer){.arena = arena};
}

/* Makes room for bytes more; false if the arena has failed. */
static bool reserve(struct pawl_json_writer *w, size_t bytes)
{
    if (w->has_failed) return false;
    if (bytes <= w->capacity_bytes - w->len) return true;

    size_t capacity_bytes = w->capacity_bytes == 0 ? CAPACITY_BYTES_FIRST : w->capacity_bytes;
    while (capacity_bytes - w->len < bytes)
        capacity_bytes *= 2; /* there is no text of 2^62 bytes */
    char *ptr = pawl_arena_resize(w->arena, w->ptr, w->capacity_bytes, capacity_bytes);
    if (ptr == NULL) {
        w->has_failed = true;
        return false;
    }
    w->ptr = ptr;
    w->capacity_bytes = capacity_bytes;
    return true;
}

static void add(struct pawl_json_writer *w, struct pawl_str bytes)
{
    if (bytes.len == 0 || !reserve(w, bytes.len)) return;
    memcpy(w->ptr + w->len, bytes.ptr, bytes.len);
    w->len += bytes.len;
}

static void add_char(struct pawl_json_writer *w, char c)
{
    if (!reserve(w, 1)) return;
    w->ptr[w->len++] = c;
}

struct pawl_str pawl_json_writer_done(struct pawl_json_writer *w)
{
    pawl_assert(w->depth == 0);
    if (w->has_failed || w->len == 0) return (struct pawl_str){0};
    /* Gives back what was reserved and not used; smaller never fails. */
    char *ptr = pawl_arena_resize(w->arena, w->ptr, w->capacity_bytes, w->len);
    if (ptr == NULL) return (struct pawl_str){0};
    w->ptr = ptr;
    w->capacity_bytes = w->len;
    return (struct pawl_str){w->ptr, w->len};
}

static char last_byte(const struct pawl_json_writer *w)
{
    return w->len == 0 ? '\0' : w->ptr[w->len - 1];
}

static bool is_in_object(const struct pawl_json_writer *w)
{
    if (w->depth == 0) return false;
    return (w->objects[(w->depth - 1) / 64] >> (w->depth - 1) % 64 & 1) != 0;
}

static void add_comma_if_due(struct pawl_json_writer *w)
{
    char last = last_byte(w);
    if (last != '\0' && last != '{' && last != '[' && last != ':') add_char(w, ',');
}

static void start_value(struct pawl_json_writer *w)
{
    if (w->has_failed) return;
    pawl_assert(w->depth > 0 || w->len == 0);
    pawl_assert(!is_in_object(w) || last_byte(w) == ':');
    add_comma_if_due(w);
}

static void begin(struct pawl_json_writer *w, bool is_object)
{
    start_value(w);
    pawl_assert(w->depth < PAWL_JSON_WRITER_DEPTH_MAX);
    uint64_t *word = &w->objects[w->depth / 64];
    uint64_t bit = UINT64_C(1) << w->depth % 64;
    *word = is_object ? *word | bit : *word & ~bit;
    w->depth++;
    add_char(w, is_object ? '{' : '[');
}

static void end(struct pawl_json_writer *w, bool is_object)
{
    pawl_assert(w->depth > 0);
    pawl_assert(is_in_object(w) == is_object);
    pawl_assert(w->has_failed || last_byte(w) != ':');
    w->depth--;
    add_char(w, is_object ? '}' : ']');
}

void pawl_json_begin_object(struct pawl_json_writer *w)
{
    begin(w, true);
}

void pawl_json_end_object(struct pawl_json_writer *w)
{
    end(w, true);
}

void pawl_json_begin_array(struct pawl_json_writer *w)
{
    begin(w, false);
}

void pawl_json_end_array(struct pawl_json_writer *w)
{
    end(w, false);
}

static void add_escaped(struct pawl_json_writer *w, char c)
{
    char escaped[8];
    switch (c) {
    case '"':
        add(w, PAWL_STR("\\\""));
        return;
    case '\\':
        add(w, PAWL_STR("\\\\"));
        return;
    case '\b':
        add(w, PAWL_STR("\\b"));
        return;
    case '\f':
        add(w, PAWL_STR("\\f"));
        return;
    case '\n':
        add(w, PAWL_STR("\\n"));
        return;
    case '\r':
        add(w, PAWL_STR("\\r"));
        return;
    case '\t':
        add(w, PAWL_STR("\\t"));
        return;
    default:
        break;
    }
    if ((unsigned char)c >= 0x80) {
        add(w, PAWL_STR("\uFFFD"));
        return;
    }
    snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)(unsigned char)c);
    add(w, pawl_str_of(escaped));
}

/* The bytes at the start of text that may be copied: plain ones and whole valid characters. */
static size_t copied_bytes(struct pawl_str text)
{
    const char *at = text.ptr;
    const char *end = text.ptr + text.len;
    while (at < end) {
        size_t len = pawl_json_plain_bytes(at, end);
        uint32_t point;
        if (len == 0 && (unsigned char)*at >= 0x80) {
            len = pawl_utf8_decode((struct pawl_str){at, (size_t)(end - at)}, &point);
        }
        if (len == 0) break;
        at += len;
    }
    return (size_t)(at - text.ptr);
}

static void add_string(struct pawl_json_writer *w, struct pawl_str text)
{
    (void)reserve(w, text.len + 2); /* enough if nothing needs escaping; fails again below */
    add_char(w, '"');
    while (text.len > 0) {
        size_t len = copied_bytes(text);
        add(w, (struct pawl_str){text.ptr, len});
        if (len < text.len) add_escaped(w, text.ptr[len++]);
        text.ptr += len;
        text.len -= len;
    }
    add_char(w, '"');
}

void pawl_json_put_key_str(struct pawl_json_writer *w, struct pawl_str key)
{
    if (w->has_failed) return;
    pawl_assert(is_in_object(w));
    pawl_assert(last_byte(w) != ':');
    add_comma_if_due(w);
    add_string(w, key);
    add_char(w, ':');
}

void pawl_json_put_key(struct pawl_json_writer *w, const char *key)
{
    pawl_json_put_key_str(w, pawl_str_of(key));
}

void pawl_json_put_text(struct pawl_json_writer *w, struct pawl_str text)
{
    start_value(w);
    add_string(w, text);
}

void pawl_json_put_int64(struct pawl_json_writer *w, int64_t number)
{
    char text[PAWL_INT64_TEXT_BYTES_MAX + 1];
    size_t len = pawl_int64_format(number, text);
    start_value(w);
    add(w, (struct pawl_str){text, len});
}

void pawl_json_put_double(struct pawl_json_writer *w, double number)
{
    char text[PAWL_DOUBLE_TEXT_BYTES_MAX + 1];
    size_t len = pawl_double_format(number, text);
    start_value(w);
    add(w, (struct pawl_str){text, len});
}

void pawl_json_put_bool(struct pawl_json_writer *w, bool value)
{
    start_value(w);
    add(w, value ? PAWL_STR("true") : PAWL_STR("false"));
}

void pawl_json_put_null(struct pawl_json_writer *w)
{
    start_value(w);
    add(w, PAWL_STR("null"));
}

void pawl_json_put_raw(struct pawl_json_writer *w, struct pawl_str json)
{
    start_value(w);
    add(w, json.len > 0 ? json : PAWL_STR("null"));
}

void pawl_json_put_member_text(struct pawl_json_writer *w, const char *key, struct pawl_str text)
{
    pawl_json_put_key(w, key);
    pawl_json_put_text(w, text);
}

void pawl_json_put_member_int64(struct pawl_json_writer *w, const char *key, int64_t number)
{
    pawl_json_put_key(w, key);
    pawl_json_put_int64(w, number);
}

void pawl_json_put_member_double(struct pawl_json_writer *w, const char *key, double number)
{
    pawl_json_put_key(w, key);
    pawl_json_put_double(w, number);
}

void pawl_json_put_member_bool(struct pawl_json_writer *w, const char *key, bool value)
{
    pawl_json_put_key(w, key);
    pawl_json_put_bool(w, value);
}

void pawl_json_put_member_null(struct pawl_json_writer *w, const char *key)
{
    pawl_json_put_key(w, key);
    pawl_json_put_null(w);
}

void pawl_json_put_member_raw(struct pawl_json_writer *w, const char *key, struct pawl_str json)
{
    pawl_json_put_key(w, key);
    pawl_json_put_raw(w, json);
}
