#include "base/uuid.h"

#include "base/str.h"
#include "test.h"

#include <string.h>

TEST("version 7 has time, version, random, variant, random, each in its place")
{
    char text[PAWL_UUID_BYTES_MAX + 1];
    pawl_uuid_make(0, 0, 0, text);
    CHECK_TEXT("00000000-0000-7000-8000-000000000000", text);
    pawl_uuid_make(INT64_C(0xFFFFFFFFFFFF), UINT64_MAX, UINT64_MAX, text);
    CHECK_TEXT("ffffffff-ffff-7fff-bfff-ffffffffffff", text);
    pawl_uuid_make(INT64_C(0x0123456789AB), 0xCDE, UINT64_C(0x123456789ABCDEF0), text);
    CHECK_TEXT("01234567-89ab-7cde-9234-56789abcdef0", text);
}

TEST("texts made later sort behind earlier ones")
{
    char before[PAWL_UUID_BYTES_MAX + 1];
    char after[PAWL_UUID_BYTES_MAX + 1];
    pawl_uuid_make(INT64_C(1796060703123), UINT64_MAX, UINT64_MAX, before);
    pawl_uuid_make(INT64_C(1796060703124), 0, 0, after);
    CHECK(strcmp(before, after) < 0);
}

TEST("canonical text is read in either case, all else is refused")
{
    static const struct {
        const char *text;
        bool want;
    } rows[] = {
        {"01234567-89ab-cdef-0123-456789abcdef", true},
        {"01234567-89AB-CDEF-0123-456789ABCDEF", true},
        {"ffffffff-ffff-ffff-ffff-ffffffffffff", true},
        {"", false},
        {"0123456789abcdef0123456789abcdef", false},
        {"{01234567-89ab-cdef-0123-456789abcdef}", false},
        {"01234567-89ab-cdef-0123-456789abcde", false},
        {"01234567-89ab-cdef-0123-456789abcdef0", false},
        {"01234567-89ab-cdef-0123-456789abcdeg", false},
        {"01234567-89ab-cdef-0123_456789abcdef", false},
        {"0123456-789ab-cdef-0123-456789abcdef", false},
        {"01234567-89ab-cdef-0123-456789abcd-f", false},
        {" 1234567-89ab-cdef-0123-456789abcdef", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_EQ(rows[i].want, pawl_uuid_is(pawl_str_of(rows[i].text)));
    }
    CHECK(!pawl_uuid_is((struct pawl_str){0}));
}

TEST("reading gives the bytes in the order of the text, and nothing on failure")
{
    uint8_t bytes[16] = {0};
    CHECK(!pawl_uuid_parse(PAWL_STR("01234567-89ab-cdef-0123-456789abcdeg"), bytes));
    CHECK_EQ(0, bytes[1]);
    CHECK(pawl_uuid_parse(PAWL_STR("01234567-89ab-cdef-FEDC-ba9876543210"), bytes));
    static const uint8_t want[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                     0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10};
    CHECK_BYTES(want, sizeof want, bytes, sizeof bytes);
}

TEST_MAIN()
