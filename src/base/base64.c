/* Three bytes are four digits; the bytes that are missing at the end are zero, and shown as "=". */
#include "base/base64.h"

#include "base/arena.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_digits(char *out, uint32_t bits)
{
    for (int i = 0; i < 4; i++) out[i] = digits[bits >> (18 - 6 * i) & 63];
}

static uint32_t byte_at(struct pawl_str bytes, size_t at)
{
    return at < bytes.len ? (unsigned char)bytes.ptr[at] : 0;
}

struct pawl_str pawl_base64_encode(struct pawl_arena *arena, struct pawl_str bytes)
{
    size_t groups = bytes.len / 3 + (bytes.len % 3 != 0);
    char *out = pawl_arena_take_array(arena, groups, 4);
    if (out == NULL) return (struct pawl_str){0};

    for (size_t i = 0; i < groups; i++) {
        size_t at = 3 * i;
        put_digits(out + 4 * i,
                   byte_at(bytes, at) << 16 | byte_at(bytes, at + 1) << 8 | byte_at(bytes, at + 2));
    }
    size_t len = 4 * groups;
    if (bytes.len % 3 != 0) out[len - 1] = '=';
    if (bytes.len % 3 == 1) out[len - 2] = '=';
    return (struct pawl_str){out, len};
}

/* Four digits from at, the missing ones 0; false if one is none. */
static bool take_digits(const char *at, size_t count, uint32_t *bits)
{
    *bits = 0;
    for (size_t i = 0; i < 4; i++) {
        const char *digit = i < count ? memchr(digits, at[i], sizeof digits - 1) : digits;
        if (digit == NULL) return false;
        *bits = *bits << 6 | (uint32_t)(digit - digits);
    }
    return true;
}

bool pawl_base64_decode(struct pawl_arena *arena, struct pawl_str text, struct pawl_str *out)
{
    size_t groups = text.len / 4;
    size_t missing = 0; /* bytes of the last group */
    while (missing < 2 && missing < text.len && text.ptr[text.len - 1 - missing] == '=') missing++;
    if (text.len % 4 != 0) return false;
    char *bytes = pawl_arena_take_array(arena, groups, 3);
    if (bytes == NULL) return false;
    for (size_t i = 0; i < groups; i++) {
        uint32_t bits = 0;
        bool is_last = i + 1 == groups;
        if (!take_digits(text.ptr + 4 * i, is_last ? 4 - missing : 4, &bits)) return false;
        if (is_last && (bits & ((UINT32_C(1) << (8 * missing)) - 1)) != 0) return false;
        bytes[3 * i] = (char)(unsigned char)(bits >> 16);
        bytes[3 * i + 1] = (char)(unsigned char)(bits >> 8);
        bytes[3 * i + 2] = (char)(unsigned char)bits;
    }
    *out = (struct pawl_str){bytes, 3 * groups - missing};
    return true;
}
