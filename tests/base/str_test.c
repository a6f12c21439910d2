#include "base/str.h"

#include "test.h"

#include <stdio.h>

static const struct pawl_str fixed = PAWL_STR_INIT("fixed");

TEST("a literal and a C string become slices without their NUL")
{
    CHECK_EQ(5, fixed.len);
    CHECK_STR("abc", PAWL_STR("abc"));
    CHECK_EQ(3, PAWL_STR("a\0b").len);
    CHECK_STR("abc", pawl_str_of("abc"));
    CHECK_EQ(0, pawl_str_of("").len);
}

TEST("no C string is the slice that was not given")
{
    struct pawl_str none = pawl_str_of(NULL);
    CHECK(none.ptr == NULL);
    CHECK_EQ(0, none.len);
}

TEST("slices are equal when their bytes are, and all empty ones are equal")
{
    static const struct {
        struct pawl_str a;
        struct pawl_str b;
        bool want;
    } rows[] = {
        {PAWL_STR_INIT("abc"), PAWL_STR_INIT("abc"), true},
        {PAWL_STR_INIT("abc"), PAWL_STR_INIT("abd"), false},
        {PAWL_STR_INIT("abc"), PAWL_STR_INIT("ab"), false},
        {PAWL_STR_INIT("a\0b"), PAWL_STR_INIT("a\0c"), false},
        {PAWL_STR_INIT(""), {NULL, 0}, true},
        {{NULL, 0}, {NULL, 0}, true},
        {PAWL_STR_INIT("a"), {NULL, 0}, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_EQ(rows[i].want, pawl_str_equal(rows[i].a, rows[i].b));
        CHECK_EQ(rows[i].want, pawl_str_compare(rows[i].a, rows[i].b) == 0);
    }
}

TEST("order goes by bytes, a prefix first")
{
    CHECK(pawl_str_compare(PAWL_STR("a"), PAWL_STR("b")) < 0);
    CHECK(pawl_str_compare(PAWL_STR("b"), PAWL_STR("a")) > 0);
    CHECK(pawl_str_compare(PAWL_STR("a"), PAWL_STR("ab")) < 0);
    CHECK(pawl_str_compare(PAWL_STR("ab"), PAWL_STR("a")) > 0);
    CHECK(pawl_str_compare((struct pawl_str){0}, PAWL_STR("a")) < 0);
    CHECK(pawl_str_compare(PAWL_STR("z"), PAWL_STR("\xC3\xA4")) < 0);
}

TEST("a slice starts and ends with, and has, what it contains, the empty one always")
{
    static const struct {
        struct pawl_str s;
        struct pawl_str part;
        bool starts;
        bool ends;
        bool has;
    } rows[] = {
        {PAWL_STR_INIT("abcab"), PAWL_STR_INIT("ab"), true, true, true},
        {PAWL_STR_INIT("abc"), PAWL_STR_INIT("abc"), true, true, true},
        {PAWL_STR_INIT("abc"), PAWL_STR_INIT("b"), false, false, true},
        {PAWL_STR_INIT("abc"), PAWL_STR_INIT("bc"), false, true, true},
        {PAWL_STR_INIT("abc"), PAWL_STR_INIT("abcd"), false, false, false},
        {PAWL_STR_INIT("abc"), PAWL_STR_INIT("x"), false, false, false},
        {PAWL_STR_INIT("abc"), {NULL, 0}, true, true, true},
        {{NULL, 0}, {NULL, 0}, true, true, true},
        {{NULL, 0}, PAWL_STR_INIT("a"), false, false, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_EQ(rows[i].starts, pawl_str_starts(rows[i].s, rows[i].part));
        CHECK_EQ(rows[i].ends, pawl_str_ends(rows[i].s, rows[i].part));
        CHECK_EQ(rows[i].has, pawl_str_has(rows[i].s, rows[i].part));
    }
}

TEST("trimming takes blanks from both ends only")
{
    CHECK_STR("a b", pawl_str_trim(PAWL_STR(" \t\r\n\v\fa b\n")));
    CHECK_STR("a", pawl_str_trim(PAWL_STR("a")));
    CHECK_STR("", pawl_str_trim(PAWL_STR(" \n ")));
    CHECK_STR("", pawl_str_trim((struct pawl_str){0}));
}

TEST("printf takes a slice, also one that was not given")
{
    char text[32];
    snprintf(text, sizeof text, "<%.*s|%.*s>", PAWL_STR_ARG(fixed),
             PAWL_STR_ARG(pawl_str_of(NULL)));
    CHECK_TEXT("<fixed|>", text);
}

TEST_MAIN()
