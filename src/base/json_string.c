/* Escapes and their absence. Most strings have none: the way through them goes eight bytes at a
 * time, and a string that stands for itself is never copied. */
#include "base/json_string.h"

#include "base/str.h"
#include "base/utf8.h"

#include <string.h>

static uint64_t byte_at(const char *ptr, size_t at)
{
    return (unsigned char)ptr[at];
}

/* Little-endian whatever the machine, so that the first byte is the lowest; one load on most. */
static uint64_t load(const char *ptr)
{
    return byte_at(ptr, 0) | byte_at(ptr, 1) << 8 | byte_at(ptr, 2) << 16 | byte_at(ptr, 3) << 24 |
           byte_at(ptr, 4) << 32 | byte_at(ptr, 5) << 40 | byte_at(ptr, 6) << 48 |
           byte_at(ptr, 7) << 56;
}

/* The same byte in all eight places. */
#define EIGHT(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The top bit of each byte that is less than limit (at most 0x80). A borrow may also mark bytes
 * above the first that is, so only the lowest mark counts. */
static uint64_t marks_below(uint64_t word, uint64_t limit)
{
    return (word - EIGHT(limit)) & ~word & EIGHT(0x80);
}

static uint64_t marks_special(uint64_t word)
{
    return marks_below(word, ' ') | marks_below(word ^ EIGHT('"'), 1) |
           marks_below(word ^ EIGHT('\\'), 1) | (word & EIGHT(0x80));
}

static bool is_plain(char c)
{
    return c >= ' ' && c != '"' && c != '\\' && (unsigned char)c < 0x80;
}

size_t pawl_json_plain_bytes(const char *at, const char *end)
{
    const char *start = at;
    while (end - at >= 8) {
        uint64_t marks = marks_special(load(at));
        if (marks != 0) return (size_t)(at - start) + (size_t)__builtin_ctzll(marks) / 8;
        at += 8;
    }
    while (at < end && is_plain(*at)) at++;
    return (size_t)(at - start);
}

bool pawl_json_is_literal(struct pawl_str raw)
{
    return raw.len == 0 || memchr(raw.ptr, '\\', raw.len) == NULL;
}

int32_t pawl_json_hex4(const char *digits)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = digits[i];
        int32_t digit = -1;
        if (c >= '0' && c <= '9') digit = c - '0';
        if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
        if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* What a backslash and this letter stand for; not for 'u'. */
static uint32_t point_of_escape(char letter)
{
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return (unsigned char)letter;
    }
}

/* Takes the first character, as written or escaped, off a raw string that is not empty. */
static uint32_t next_point(struct pawl_str *rest)
{
    uint32_t point = 0;
    size_t len;
    if (rest->ptr[0] != '\\') {
        len = pawl_utf8_decode(*rest, &point);
    } else if (rest->ptr[1] != 'u') {
        point = point_of_escape(rest->ptr[1]);
        len = 2;
    } else {
        point = (uint32_t)pawl_json_hex4(rest->ptr + 2);
        len = 6;
        if (point >= 0xD800 && point < 0xDC00) {
            uint32_t low = (uint32_t)pawl_json_hex4(rest->ptr + 8);
            point = 0x10000 + ((point - 0xD800) << 10 | (low - 0xDC00));
            len = 12;
        }
    }
    rest->ptr += len;
    rest->len -= len;
    return point;
}

size_t pawl_json_decode(struct pawl_str raw, char *out)
{
    size_t len = 0;
    while (raw.len > 0) {
        const char *escape = memchr(raw.ptr, '\\', raw.len);
        size_t literal = escape == NULL ? raw.len : (size_t)(escape - raw.ptr);
        memcpy(out + len, raw.ptr, literal);
        len += literal;
        raw.ptr += literal;
        raw.len -= literal;
        if (raw.len > 0) len += pawl_utf8_encode(next_point(&raw), out + len);
    }
    return len;
}

bool pawl_json_same_text(struct pawl_str a, struct pawl_str b)
{
    if (pawl_json_is_literal(a) && pawl_json_is_literal(b)) return pawl_str_equal(a, b);
    while (a.len > 0 && b.len > 0) {
        if (next_point(&a) != next_point(&b)) return false;
    }
    return a.len == 0 && b.len == 0;
}

bool pawl_json_stands_for(struct pawl_str raw, struct pawl_str text)
{
    if (pawl_json_is_literal(raw)) return pawl_str_equal(raw, text);
    while (raw.len > 0 && text.len > 0) {
        uint32_t point;
        size_t len = pawl_utf8_decode(text, &point);
        if (len == 0 || next_point(&raw) != point) return false;
        text.ptr += len;
        text.len -= len;
    }
    return raw.len == 0 && text.len == 0;
}
