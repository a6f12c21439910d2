#include "base/base64.h"

#include "base/arena.h"
#include "base/str.h"
#include "test.h"

TEST("the vectors of RFC 4648, section 10, and all bytes that have no letter")
{
    static const struct {
        struct pawl_str bytes;
        const char *want;
    } rows[] = {
        {PAWL_STR_INIT(""), ""},
        {PAWL_STR_INIT("f"), "Zg=="},
        {PAWL_STR_INIT("fo"), "Zm8="},
        {PAWL_STR_INIT("foo"), "Zm9v"},
        {PAWL_STR_INIT("foob"), "Zm9vYg=="},
        {PAWL_STR_INIT("fooba"), "Zm9vYmE="},
        {PAWL_STR_INIT("foobar"), "Zm9vYmFy"},
        {PAWL_STR_INIT("\xFB\xEF\xBE\xFF\xFF\xFF"), "++++////"},
        {PAWL_STR_INIT("\0\0\0"), "AAAA"},
        {PAWL_STR_INIT("\xFF"), "/w=="},
        {{NULL, 0}, ""},
    };
    struct pawl_arena *arena = NULL;
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_STR(rows[i].want, pawl_base64_encode(arena, rows[i].bytes));
        struct pawl_str bytes = {0};
        CHECK(pawl_base64_decode(arena, pawl_str_of(rows[i].want), &bytes));
        CHECK(pawl_str_equal(rows[i].bytes, bytes));
    }
    pawl_arena_close(arena);
}

TEST("what is not base64 is refused, and so is what no bytes are written as")
{
    static const char *const rows[] = {"Z",    "Zg",   "Zg=",      "=",    "====", "Z===",
                                       "Zh==", "Zm9=", "Zg==Zg==", "Zm9!", "Zm9v\n", "Zg=a"};
    struct pawl_arena *arena = NULL;
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_str bytes = PAWL_STR("untouched");
        CHECK(!pawl_base64_decode(arena, pawl_str_of(rows[i]), &bytes));
        CHECK_STR("untouched", bytes);
    }
    pawl_arena_close(arena);
}

TEST("without memory there is nothing")
{
    struct pawl_arena *arena = NULL;
    CHECK_OK(pawl_arena_open(&arena, 7), NULL);
    CHECK(pawl_base64_encode(arena, PAWL_STR("foob")).ptr == NULL);
    CHECK_CODE(PAWL_TOO_LARGE, pawl_arena_code(arena));
    pawl_arena_close(arena);
}

TEST_MAIN()
