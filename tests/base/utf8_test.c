#include "base/utf8.h"

#include "base/str.h"
#include "test.h"

static const struct {
    struct pawl_str text;
    bool is_valid;
} rows[] = {
    {{NULL, 0}, true},
    {PAWL_STR_INIT("plain ASCII, longer than eight bytes\n"), true},
    {PAWL_STR_INIT("a\0b"), true},
    {PAWL_STR_INIT("\x7F"), true},
    {PAWL_STR_INIT("\xC2\x80"), true},         /* U+0080, the first of two bytes */
    {PAWL_STR_INIT("\xDF\xBF"), true},         /* U+07FF, the last */
    {PAWL_STR_INIT("\xE0\xA0\x80"), true},     /* U+0800 */
    {PAWL_STR_INIT("\xED\x9F\xBF"), true},     /* U+D7FF, before the surrogates */
    {PAWL_STR_INIT("\xEE\x80\x80"), true},     /* U+E000, behind them */
    {PAWL_STR_INIT("\xEF\xBF\xBF"), true},     /* U+FFFF */
    {PAWL_STR_INIT("\xF0\x90\x80\x80"), true}, /* U+10000 */
    {PAWL_STR_INIT("\xF4\x8F\xBF\xBF"), true}, /* U+10FFFF */
    {PAWL_STR_INIT("12345678\xE2\x82\xAC"
                   "12345678"),
     true},
    {PAWL_STR_INIT("\x80"), false}, /* a continuation alone */
    {PAWL_STR_INIT("\xBF"), false},
    {PAWL_STR_INIT("\xC0\x80"), false}, /* overlong forms */
    {PAWL_STR_INIT("\xC1\xBF"), false},
    {PAWL_STR_INIT("\xE0\x9F\xBF"), false},
    {PAWL_STR_INIT("\xF0\x8F\xBF\xBF"), false},
    {PAWL_STR_INIT("\xED\xA0\x80"), false}, /* surrogates */
    {PAWL_STR_INIT("\xED\xBF\xBF"), false},
    {PAWL_STR_INIT("\xF4\x90\x80\x80"), false}, /* above U+10FFFF */
    {PAWL_STR_INIT("\xF5\x80\x80\x80"), false},
    {PAWL_STR_INIT("\xFE"), false},
    {PAWL_STR_INIT("\xFF"), false},
    {PAWL_STR_INIT("\xC3"), false}, /* ends inside a character */
    {PAWL_STR_INIT("\xE2\x82"), false},
    {PAWL_STR_INIT("\xF0\x9F\x98"), false},
    {PAWL_STR_INIT("\xC3"
                   "a"),
     false},
    {PAWL_STR_INIT("\xE2\x82"
                   "a"),
     false},
    {PAWL_STR_INIT("\xE2"
                   "a\xAC"),
     false},
    {PAWL_STR_INIT("12345678\xFF"), false},
    {PAWL_STR_INIT("1234567\xFF"
                   "8"),
     false},
};

TEST("valid UTF-8 is what RFC 3629 allows and nothing else")
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_EQ(rows[i].is_valid, pawl_utf8_is_valid(rows[i].text));
    }
}

TEST("every code point is written, read back and valid; surrogates are not")
{
    for (uint32_t point = 0; point <= PAWL_UTF8_POINT_MAX; point++) {
        if (point == 0xD800) point = 0xE000;
        char bytes[PAWL_UTF8_BYTES_MAX];
        struct pawl_str text = {bytes, pawl_utf8_encode(point, bytes)};
        uint32_t again = 0;
        CHECK_EQ(text.len, pawl_utf8_decode(text, &again));
        CHECK_EQ(point, again);
        CHECK_EQ(1, pawl_utf8_points(text));
    }
}

TEST("decoding agrees with validity for every sequence of two bytes, and of three with one first")
{
    for (uint32_t i = 0; i < 0x10000; i++) {
        char bytes[4] = {(char)(i >> 8), (char)(i & 0xFF), '\x80', '\x80'};
        for (size_t len = 1; len <= sizeof bytes; len++) {
            struct pawl_str text = {bytes, len};
            uint32_t point;
            size_t first = pawl_utf8_decode(text, &point);
            if (first == len) CHECK(pawl_utf8_is_valid(text));
            if (first == 0) CHECK(!pawl_utf8_is_valid(text));
        }
    }
}

TEST("code points are counted, not bytes")
{
    CHECK_EQ(0, pawl_utf8_points((struct pawl_str){0}));
    CHECK_EQ(3, pawl_utf8_points(PAWL_STR("abc")));
    CHECK_EQ(4, pawl_utf8_points(PAWL_STR("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80")));
}

TEST("text is cut at a number of code points")
{
    struct pawl_str text = PAWL_STR("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    static const size_t want[] = {0, 1, 3, 6, 10, 10, 10};
    for (size_t points = 0; points < COUNT_OF(want); points++) {
        CHECK_EQ(want[points], pawl_utf8_cut_points(text, points).len);
    }
    CHECK_EQ(10, pawl_utf8_cut_points(text, SIZE_MAX).len);
}

TEST("text is cut at a number of bytes, never inside a character")
{
    struct pawl_str text = PAWL_STR("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (size_t bytes = 0; bytes < COUNT_OF(want); bytes++) {
        CHECK_EQ(want[bytes], pawl_utf8_cut_bytes(text, bytes).len);
    }
}

TEST("bytes that are no text are cut too")
{
    CHECK_EQ(5, pawl_utf8_cut_bytes(PAWL_STR("\x80\x80\x80\x80\x80\x80\x80\x80"), 5).len);
}

TEST_MAIN()
