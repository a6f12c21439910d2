/* Three bytes are four digits; the bytes that are missing at the end are zero, and shown as "=". */
#include "base/base64.h"

#include "base/arena.h"

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
