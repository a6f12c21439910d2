/* UTF-8 by the table 3-7 of the Unicode standard: the first byte says how many follow, and the
 * range of the second keeps out overlong forms, surrogates and what lies above U+10FFFF. */
#include "base/utf8.h"

#include "base/assert.h"

#include <string.h>

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xC0u) == 0x80u;
}

/* The bytes of a character by its first byte, 0 if it cannot be one; *low and *high bound the
 * second. */
static size_t length_of(unsigned char first, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xBF;
    if (first < 0x80) return 1;
    if (first < 0xC2) return 0;
    if (first < 0xE0) return 2;
    if (first < 0xF0) {
        if (first == 0xE0) *low = 0xA0;
        if (first == 0xED) *high = 0x9F;
        return 3;
    }
    if (first > 0xF4) return 0;
    if (first == 0xF0) *low = 0x90;
    if (first == 0xF4) *high = 0x8F;
    return 4;
}

size_t pawl_utf8_decode(struct pawl_str text, uint32_t *point)
{
    if (text.len == 0) return 0;
    unsigned char first = (unsigned char)text.ptr[0];
    unsigned char low;
    unsigned char high;
    size_t len = length_of(first, &low, &high);
    if (len == 0 || len > text.len) return 0;
    if (len == 1) {
        *point = first;
        return 1;
    }

    unsigned char second = (unsigned char)text.ptr[1];
    if (second < low || second > high) return 0;
    uint32_t value = first & (0x7Fu >> len);
    value = value << 6 | (second & 0x3Fu);
    for (size_t i = 2; i < len; i++) {
        if (!is_continuation(text.ptr[i])) return 0;
        value = value << 6 | ((unsigned char)text.ptr[i] & 0x3Fu);
    }
    *point = value;
    return len;
}

size_t pawl_utf8_encode(uint32_t point, char out[PAWL_UTF8_BYTES_MAX])
{
    pawl_assert(point <= PAWL_UTF8_POINT_MAX);
    pawl_assert(point < 0xD800 || point > 0xDFFF);
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }

    size_t len = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80u | (point & 0x3Fu));
        point >>= 6;
    }
    static const unsigned char first_bits[] = {[2] = 0xC0, [3] = 0xE0, [4] = 0xF0};
    out[0] = (char)(first_bits[len] | point);
    return len;
}

/* The bytes of ASCII that text starts with, counted in words as long as that works. */
static size_t ascii_bytes(struct pawl_str text)
{
    size_t at = 0;
    while (text.len - at >= 8) {
        uint64_t word;
        memcpy(&word, text.ptr + at, 8);
        if ((word & UINT64_C(0x8080808080808080)) != 0) break;
        at += 8;
    }
    while (at < text.len && (unsigned char)text.ptr[at] < 0x80) at++;
    return at;
}

static struct pawl_str without_first(struct pawl_str text, size_t bytes)
{
    return (struct pawl_str){text.ptr + bytes, text.len - bytes};
}

bool pawl_utf8_is_valid(struct pawl_str text)
{
    while (text.len > 0) {
        uint32_t point;
        size_t len =
            (unsigned char)text.ptr[0] < 0x80 ? ascii_bytes(text) : pawl_utf8_decode(text, &point);
        if (len == 0) return false;
        text = without_first(text, len);
    }
    return true;
}

size_t pawl_utf8_points(struct pawl_str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) count += !is_continuation(text.ptr[i]);
    return count;
}

struct pawl_str pawl_utf8_cut_points(struct pawl_str text, size_t points_max)
{
    if (text.len <= points_max) return text;
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (is_continuation(text.ptr[i])) continue;
        if (count == points_max) return (struct pawl_str){text.ptr, i};
        count++;
    }
    return text;
}

struct pawl_str pawl_utf8_cut_bytes(struct pawl_str text, size_t bytes_max)
{
    if (text.len <= bytes_max) return text;
    /* Back to the start of the character at the limit. One of more than four bytes is none. */
    size_t len = bytes_max;
    while (len > 0 && bytes_max - len < PAWL_UTF8_BYTES_MAX - 1 && is_continuation(text.ptr[len])) {
        len--;
    }
    if (is_continuation(text.ptr[len])) len = bytes_max;
    return (struct pawl_str){text.ptr, len};
}
