#include "base/instant.h"

#include "base/str.h"
#include "test.h"

#include <time.h>

TEST("instants are read in milliseconds and in ISO 8601")
{
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"0", 0},
        {"1796060703123", INT64_C(1796060703123)},
        {"253402300799999", PAWL_INSTANT_MS_MAX},
        {"1970-01-01", 0},
        {"1970-01-01T00:00:00Z", 0},
        {"2026-11-30T17:45:03.123Z", INT64_C(1796060703123)},
        {"2026-11-30t17:45:03.123z", INT64_C(1796060703123)},
        {"2026-11-30 17:45:03.123", INT64_C(1796060703123)},
        {"2026-11-30T17:45:03.123", INT64_C(1796060703123)},
        {"2026-11-30T19:45:03.123+02:00", INT64_C(1796060703123)},
        {"2026-11-30T19:45:03.123+0200", INT64_C(1796060703123)},
        {"2026-11-30T19:45:03.123+02", INT64_C(1796060703123)},
        {"2026-11-30T12:15:03.123-05:30", INT64_C(1796060703123)},
        {"2026-12-01T17:44:03.123+23:59", INT64_C(1796060703123)},
        {"2026-11-30T17:45:03.1239Z", INT64_C(1796060703123)}, /* rounded down */
        {"2026-11-30T17:45:03.123999999Z", INT64_C(1796060703123)},
        {"2026-11-30T17:45:03.1Z", INT64_C(1796060703100)},
        {"2026-11-30T17:45:03Z", INT64_C(1796060703000)},
        {"2026-11-30T17:45Z", INT64_C(1796060700000)},
        {"2026-11-30T17:45", INT64_C(1796060700000)},
        {"2026-11-30", INT64_C(1795996800000)},
        {"2000-02-29", INT64_C(951782400000)},
        {"2024-02-29T12:00:00Z", INT64_C(1709208000000)},
        {"9999-12-31T23:59:59.999Z", PAWL_INSTANT_MS_MAX},
        {"1970-01-01T02:00:00+02:00", 0},
        {"1969-12-31T23:00:00-01:00", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t got = -77;
        if (!pawl_instant_parse(pawl_str_of(rows[i].text), &got))
            FAIL("not read: %s", rows[i].text);
        CHECK_EQ(rows[i].want, got);
    }
}

TEST("what is no instant of the years 1970 to 9999 is refused and nothing is written")
{
    static const char *const rows[] = {
        "",
        "-1",
        "+1",
        "1.5",
        "253402300800000",
        "99999999999999999999",
        "1969-12-31",
        "1970-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "0000-01-01",
        "2026-11",
        "2026-11-3",
        "26-11-30",
        "2026-00-30",
        "2026-13-01",
        "2026-11-00",
        "2026-11-31",
        "2026-02-29",
        "1900-02-29",
        "2100-02-29",
        "2026-11-30T",
        "2026-11-30T17",
        "2026-11-30T17:4",
        "2026-11-30T17:45:",
        "2026-11-30T24:00:00Z",
        "2026-11-30T17:60:00Z",
        "2026-11-30T17:45:60Z",
        "2026-11-30T17:45:03.Z",
        "2026-11-30T17:45:03.1234567890Z",
        "2026-11-30T17:45:03,5Z",
        "2026-11-30T17:45:03ZZ",
        "2026-11-30T17:45:03Z ",
        " 2026-11-30",
        "2026-11-30Z",
        "2026-11-30T17:45:03+",
        "2026-11-30T17:45:03+2",
        "2026-11-30T17:45:03+24:00",
        "2026-11-30T17:45:03+02:60",
        "2026-11-30T17:45:03+02:",
        "2026-11-30T17:45:03+02:0",
        "2026-11-30T17:45:03+02:000",
        "2026-11-30T17:45:03 +02:00",
        "2026/11/30",
        "tomorrow",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t got = -77;
        if (pawl_instant_parse(pawl_str_of(rows[i]), &got)) FAIL("read: %s", rows[i]);
        CHECK_EQ(-77, got);
    }
    int64_t got;
    CHECK(!pawl_instant_parse((struct pawl_str){0}, &got));
    CHECK(!pawl_instant_parse(PAWL_STR("2026-11-30\0"), &got));
}

TEST("instants are written in UTC, and what is beyond as the nearer end")
{
    static const struct {
        int64_t at_ms;
        const char *want;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {INT64_C(1796060703123), "2026-11-30T17:45:03.123Z"},
        {INT64_C(951782399999), "2000-02-28T23:59:59.999Z"},
        {INT64_C(951782400000), "2000-02-29T00:00:00.000Z"},
        {INT64_C(4107542399999), "2100-02-28T23:59:59.999Z"},
        {INT64_C(4107542400000), "2100-03-01T00:00:00.000Z"},
        {PAWL_INSTANT_MS_MAX, "9999-12-31T23:59:59.999Z"},
        {PAWL_INSTANT_MS_MAX + 1, "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
        {-1, "1970-01-01T00:00:00.000Z"},
        {INT64_MIN, "1970-01-01T00:00:00.000Z"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[PAWL_INSTANT_TEXT_BYTES_MAX + 1];
        pawl_instant_format(rows[i].at_ms, text);
        CHECK_TEXT(rows[i].want, text);
    }
}

TEST("days are written as libc writes them and read back: each of 430 years, then every 41st")
{
    const int64_t day_ms = 86400000;
    const int64_t year_2400_ms = INT64_C(13569465600000);
    for (int64_t at_ms = 0; at_ms < PAWL_INSTANT_MS_MAX;
         at_ms += at_ms < year_2400_ms ? day_ms : 41 * day_ms) {
        char text[PAWL_INSTANT_TEXT_BYTES_MAX + 1];
        char want[PAWL_INSTANT_TEXT_BYTES_MAX + 1];
        pawl_instant_format(at_ms, text);
        time_t seconds = at_ms / 1000;
        struct tm tm;
        CHECK(gmtime_r(&seconds, &tm) != NULL);
        CHECK(strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%S.000Z", &tm) > 0);
        CHECK_TEXT(want, text);
        int64_t again;
        CHECK(pawl_instant_parse(pawl_str_of(text), &again));
        CHECK_EQ(at_ms, again);
    }
}

TEST("durations are read with units, largest first, or as seconds")
{
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"0", 0},
        {"0s", 0},
        {"90", 90000},
        {"1.5", 1500},
        {"0.0005", 1},
        {"250ms", 250},
        {"1.9ms", 2},
        {"30s", 30000},
        {"1.5s", 1500},
        {"5m", 300000},
        {"0.5m", 30000},
        {"2h", 7200000},
        {"7d", 604800000},
        {"1h30m", 5400000},
        {"1d2h3m4s5ms", 93784005},
        {"1m1.5s", 61500},
        {"1d1ms", 86400001},
        {"0.000000001d", 1},
        {"0.5ms", 1},
        {"0.000000001ms", 1},
        {"0.0ms", 0},
        {"0.0001", 1},
        {"0.999999999d", 86400000},
        {"9223372036854775807ms", INT64_MAX},
        {"106751991167d7h12m55.807s", INT64_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t got = -77;
        if (!pawl_duration_parse(pawl_str_of(rows[i].text), &got)) {
            FAIL("not read: %s", rows[i].text);
        }
        CHECK_EQ(rows[i].want, got);
    }
}

TEST("what is no duration, or too long, is refused and nothing is written")
{
    static const char *const rows[] = {
        "",
        "-1s",
        "+1s",
        "s",
        "ms",
        ".5s",
        "5.",
        "5.s",
        "1.5h30m",
        "30m1h",
        "1h1h",
        "5m30",
        "1w",
        "1H",
        "1 h",
        " 1h",
        "1h ",
        "1hour",
        "1h-5m",
        "1,5s",
        "1.0000000001s",
        "1e3",
        "9223372036854775808ms",
        "106751991167d7h12m55.808s",
        "9223372036854775807",
        "99999999999999999999d",
        "inf",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t got = -77;
        if (pawl_duration_parse(pawl_str_of(rows[i]), &got)) FAIL("read: %s", rows[i]);
        CHECK_EQ(-77, got);
    }
}

TEST("durations are written as a person would")
{
    static const struct {
        int64_t ms;
        const char *want;
    } rows[] = {
        {0, "0s"},
        {1, "1ms"},
        {250, "250ms"},
        {1000, "1s"},
        {1500, "1.5s"},
        {1050, "1.05s"},
        {60000, "1m"},
        {60001, "1m0.001s"},
        {5400000, "1h30m"},
        {86400000, "1d"},
        {86400000 + 250, "1d0.25s"},
        {93784005, "1d2h3m4.005s"},
        {INT64_MAX, "106751991167d7h12m55.807s"},
        {INT64_MIN, "-106751991167d7h12m55.808s"},
        {-300000, "-5m"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[PAWL_DURATION_TEXT_BYTES_MAX + 1];
        pawl_duration_format(rows[i].ms, text);
        CHECK_TEXT(rows[i].want, text);
    }
}

TEST("durations of all sizes are read back as they were written")
{
    for (int64_t ms = 0; ms < INT64_MAX / 3; ms += 1 + ms / 7) {
        char text[PAWL_DURATION_TEXT_BYTES_MAX + 1];
        pawl_duration_format(ms, text);
        int64_t again = -1;
        CHECK(pawl_duration_parse(pawl_str_of(text), &again));
        CHECK_EQ(ms, again);
    }
}

TEST_MAIN()
