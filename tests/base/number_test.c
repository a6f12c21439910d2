#include "base/number.h"

#include "base/str.h"
#include "test.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TEST("integers are digits with an optional minus, whole, within bounds")
{
    static const struct {
        const char *text;
        int64_t min;
        int64_t max;
        bool is_read;
        int64_t want;
    } rows[] = {
        {"0", INT64_MIN, INT64_MAX, true, 0},
        {"-0", INT64_MIN, INT64_MAX, true, 0},
        {"42", INT64_MIN, INT64_MAX, true, 42},
        {"-42", INT64_MIN, INT64_MAX, true, -42},
        {"007", INT64_MIN, INT64_MAX, true, 7},
        {"9223372036854775807", INT64_MIN, INT64_MAX, true, INT64_MAX},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, true, INT64_MIN},
        {"9223372036854775808", INT64_MIN, INT64_MAX, false, 0},
        {"-9223372036854775809", INT64_MIN, INT64_MAX, false, 0},
        {"99999999999999999999", INT64_MIN, INT64_MAX, false, 0},
        {"9007199254740993", INT64_MIN, INT64_MAX, true, INT64_C(9007199254740993)},
        {"5", 5, 10, true, 5},
        {"10", 5, 10, true, 10},
        {"4", 5, 10, false, 0},
        {"11", 5, 10, false, 0},
        {"", INT64_MIN, INT64_MAX, false, 0},
        {"-", INT64_MIN, INT64_MAX, false, 0},
        {"+1", INT64_MIN, INT64_MAX, false, 0},
        {"--1", INT64_MIN, INT64_MAX, false, 0},
        {" 1", INT64_MIN, INT64_MAX, false, 0},
        {"1 ", INT64_MIN, INT64_MAX, false, 0},
        {"1.0", INT64_MIN, INT64_MAX, false, 0},
        {"1e3", INT64_MIN, INT64_MAX, false, 0},
        {"0x10", INT64_MIN, INT64_MAX, false, 0},
        {"1a", INT64_MIN, INT64_MAX, false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t got = -77;
        struct pawl_str text = pawl_str_of(rows[i].text);
        CHECK_EQ(rows[i].is_read, pawl_int64_parse(text, rows[i].min, rows[i].max, &got));
        CHECK_EQ(rows[i].is_read ? rows[i].want : -77, got); /* untouched on failure */
    }
    int64_t got;
    CHECK(!pawl_int64_parse((struct pawl_str){0}, 0, 1, &got));
    CHECK(pawl_int64_parse((struct pawl_str){"123", 2}, 0, 99, &got)); /* not beyond the slice */
    CHECK_EQ(12, got);
}

TEST("integers are written as they are read")
{
    static const struct {
        int64_t number;
        const char *want;
    } rows[] = {
        {0, "0"},
        {7, "7"},
        {-7, "-7"},
        {1234567890, "1234567890"},
        {INT64_MAX, "9223372036854775807"},
        {INT64_MIN, "-9223372036854775808"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[PAWL_INT64_TEXT_BYTES_MAX + 1];
        CHECK_EQ(strlen(rows[i].want), pawl_int64_format(rows[i].number, text));
        CHECK_TEXT(rows[i].want, text);
    }
}

static bool is_same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

TEST("doubles are read correctly rounded")
{
    static const struct {
        const char *text;
        double want;
    } rows[] = {
        {"0", 0.0},
        {"-0", -0.0},
        {"0.0e9999999999999999999999", 0.0},
        {"1", 1.0},
        {"129.9", 129.9},
        {"-0.5", -0.5},
        {"1e3", 1000.0},
        {"1E+3", 1000.0},
        {"25e-1", 2.5},
        {"1e22", 1e22},
        {"1e23", 1e23},
        {"123456789012345678", 123456789012345678.0},
        {"9007199254740993", 9007199254740992.0}, /* halfway: to even */
        {"9007199254740995", 9007199254740996.0},
        {"0.1", 0.1},
        {"0.30000000000000004", 0.30000000000000004},
        {"2.2250738585072011e-308", 2.2250738585072011e-308},
        {"4.9406564584124654e-324", 4.9406564584124654e-324},
        {"1e-400", 0.0},
        {"-1e-99999999999999999999", -0.0},
        {"1.7976931348623157e308", DBL_MAX},
        {"17976931348623157e292", DBL_MAX},
        {"0.000000000000000000000000000000000000001e39", 1.0},
        {"10000000000000000000000000000000000000000e-40", 1.0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double got = 77;
        CHECK(pawl_double_parse(pawl_str_of(rows[i].text), &got));
        CHECK(is_same(rows[i].want, got));
    }
}

TEST("a digit far behind the point decides which way halfway goes")
{
    char text[1000];
    memset(text, '0', sizeof text);
    memcpy(text, "9007199254740993.", 17);
    double got;
    CHECK(pawl_double_parse((struct pawl_str){text, 900}, &got));
    CHECK(is_same(9007199254740992.0, got));
    text[899] = '1';
    CHECK(pawl_double_parse((struct pawl_str){text, 900}, &got));
    CHECK(is_same(9007199254740994.0, got));
}

TEST("many digits before the point count too")
{
    char text[400];
    memset(text, '9', sizeof text);
    double got = 77;
    CHECK(!pawl_double_parse((struct pawl_str){text, 309}, &got)); /* rounds to 1e309 */
    CHECK(pawl_double_parse((struct pawl_str){text, 308}, &got));
    CHECK(is_same(1e308, got));

    char zeros[2000];
    memset(zeros, '0', sizeof zeros);
    zeros[0] = '1';
    memcpy(zeros + 1996, "e-99", 4);
    CHECK(!pawl_double_parse((struct pawl_str){zeros, 2000}, &got));
    memcpy(zeros + 1994, "e-1993", 6);
    CHECK(pawl_double_parse((struct pawl_str){zeros, 2000}, &got));
    CHECK(is_same(1.0, got));
}

TEST("what JSON does not call a number, or no double holds, is refused")
{
    static const char *const rows[] = {
        "",
        "-",
        "+1",
        "01",
        "-01",
        "1.",
        ".5",
        "-.5",
        "1e",
        "1e+",
        "1.e1",
        "1.5.2",
        " 1",
        "1 ",
        "0x1p3",
        "inf",
        "Infinity",
        "nan",
        "NaN",
        "1,5",
        "1e5.0",
        "1e309",
        "-1e309",
        "1.7976931348623159e308",
        "1e99999999999999999999",
        "00",
        "1f",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double got = 77;
        CHECK(!pawl_double_parse(pawl_str_of(rows[i]), &got));
        CHECK(is_same(77, got));
    }
}

TEST("doubles are written short, and integers without exponent")
{
    static const struct {
        double number;
        const char *want;
    } rows[] = {
        {0.0, "0"},
        {-0.0, "0"},
        {1.0, "1"},
        {-3.0, "-3"},
        {129.9, "129.9"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e15, "1000000000000000"},
        {9007199254740992.0, "9007199254740992"},
        {1e22, "1e+22"},
        {1e-7, "1e-07"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {5e-324, "4.94065645841247e-324"},
        {(double)INFINITY, "null"},
        {-(double)INFINITY, "null"},
        {(double)NAN, "null"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[PAWL_DOUBLE_TEXT_BYTES_MAX + 1];
        CHECK_EQ(strlen(rows[i].want), pawl_double_format(rows[i].number, text));
        CHECK_TEXT(rows[i].want, text);
    }
}

TEST("a hundred thousand doubles of all sizes are read back as they were written")
{
    uint64_t bits = 7;
    for (int i = 0; i < 100000; i++) {
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double number;
        memcpy(&number, &bits, sizeof number);
        if (!isfinite(number)) continue;
        char text[PAWL_DOUBLE_TEXT_BYTES_MAX + 1];
        double again;
        struct pawl_str written = {text, pawl_double_format(number, text)};
        CHECK(pawl_double_parse(written, &again));
        CHECK(is_same(number, again));
        CHECK(is_same(number, strtod(text, NULL)));
    }
}

TEST("a locale with another decimal point changes nothing")
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8",
                                        "fr_FR.utf8"};
    const char *name = NULL;
    for (size_t i = 0; i < COUNT_OF(names) && name == NULL; i++) {
        name = setlocale(LC_NUMERIC, names[i]);
    }
    if (name == NULL) SKIP("no locale with a decimal comma is installed");
    double got;
    char text[PAWL_DOUBLE_TEXT_BYTES_MAX + 1];
    bool is_read = pawl_double_parse(PAWL_STR("1.2345678901234567"), &got);
    (void)pawl_double_format(129.9, text);
    setlocale(LC_NUMERIC, "C");
    CHECK(is_read);
    CHECK(is_same(1.2345678901234567, got));
    CHECK_TEXT("129.9", text);
}

TEST_MAIN()
