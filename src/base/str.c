/* Slices. The only care taken is with NULL: libc's memory functions may not be given it, even with
 * length 0. */
#include "base/str.h"

#include <string.h>

struct pawl_str pawl_str_of(const char *c)
{
    if (c == NULL) return (struct pawl_str){0};
    return (struct pawl_str){c, strlen(c)};
}

static bool bytes_are_equal(const char *a, const char *b, size_t len)
{
    return len == 0 || memcmp(a, b, len) == 0;
}

bool pawl_str_equal(struct pawl_str a, struct pawl_str b)
{
    return a.len == b.len && bytes_are_equal(a.ptr, b.ptr, a.len);
}

int pawl_str_compare(struct pawl_str a, struct pawl_str b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common == 0 ? 0 : memcmp(a.ptr, b.ptr, common);
    if (order != 0) return order;
    return (a.len > b.len) - (a.len < b.len);
}

bool pawl_str_starts(struct pawl_str s, struct pawl_str prefix)
{
    return prefix.len <= s.len && bytes_are_equal(s.ptr, prefix.ptr, prefix.len);
}

bool pawl_str_ends(struct pawl_str s, struct pawl_str suffix)
{
    if (suffix.len > s.len) return false;
    if (suffix.len == 0) return true;
    return memcmp(s.ptr + (s.len - suffix.len), suffix.ptr, suffix.len) == 0;
}

bool pawl_str_has(struct pawl_str s, struct pawl_str needle)
{
    if (needle.len == 0) return true;
    return needle.len <= s.len && memmem(s.ptr, s.len, needle.ptr, needle.len) != NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct pawl_str pawl_str_trim(struct pawl_str s)
{
    while (s.len > 0 && is_blank(s.ptr[s.len - 1])) s.len--;
    while (s.len > 0 && is_blank(s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    return s;
}
