/* UUIDs as text. A table of digits, and the places of the hyphens. */
#include "base/uuid.h"

#include <string.h>

static bool is_hyphen_place(size_t at)
{
    return at == 8 || at == 13 || at == 18 || at == 23;
}

static void format(const uint8_t bytes[16], char out[PAWL_UUID_BYTES_MAX + 1])
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    for (size_t i = 0; i < 16; i++) {
        if (is_hyphen_place(at)) out[at++] = '-';
        out[at++] = digits[bytes[i] >> 4];
        out[at++] = digits[bytes[i] & 15];
    }
    out[at] = '\0';
}

/* The low bits of value, big-endian. */
static void put_big_endian(uint8_t *out, size_t bytes, uint64_t value)
{
    for (size_t i = bytes; i > 0; i--) {
        out[i - 1] = (uint8_t)(value & 0xFF);
        value >>= 8;
    }
}

void pawl_uuid_make(int64_t at_ms, uint64_t random_high, uint64_t random_low,
                    char out[PAWL_UUID_BYTES_MAX + 1])
{
    uint8_t bytes[16];
    put_big_endian(bytes, 6, (uint64_t)at_ms);
    put_big_endian(bytes + 6, 2, 0x7000 | (random_high & 0x0FFF));
    put_big_endian(bytes + 8, 8, UINT64_C(2) << 62 | (random_low & UINT64_MAX >> 2));
    format(bytes, out);
}

/* -1 for what is no hexadecimal digit. */
static int digit_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool pawl_uuid_parse(struct pawl_str text, uint8_t out[16])
{
    if (text.len != PAWL_UUID_BYTES_MAX) return false;
    uint8_t bytes[16];
    size_t count = 0;
    for (size_t at = 0; at < text.len;) {
        if (is_hyphen_place(at)) {
            if (text.ptr[at] != '-') return false;
            at++;
        }
        int high = digit_value(text.ptr[at]);
        int low = digit_value(text.ptr[at + 1]);
        if (high < 0 || low < 0) return false;
        bytes[count++] = (uint8_t)(high << 4 | low);
        at += 2;
    }
    memcpy(out, bytes, sizeof bytes);
    return true;
}

bool pawl_uuid_is(struct pawl_str text)
{
    uint8_t bytes[16];
    return pawl_uuid_parse(text, bytes);
}

int64_t pawl_uuid_at_ms(struct pawl_str text)
{
    uint8_t bytes[16];
    int64_t at_ms = 0;
    if (!pawl_uuid_parse(text, bytes)) return 0;
    for (size_t i = 0; i < 6; i++) at_ms = at_ms << 8 | bytes[i];
    return at_ms;
}
