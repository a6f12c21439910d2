/* Dates by arithmetic over the Gregorian calendar, and two small readers that walk along a text. */
#include "base/instant.h"

#include "base/array.h"
#include "base/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    SECOND_MS = 1000,
    MINUTE_MS = 60 * SECOND_MS,
    HOUR_MS = 60 * MINUTE_MS,
    DAY_MS = 24 * HOUR_MS,

    YEARS_400_DAYS = 146097, /* after which the calendar repeats */
    FRACTION_DIGITS_MAX = 9,
};

/* ---- The calendar --------------------------------------------------------------------------- */

struct date {
    int32_t year;
    int32_t month; /* 1..12 */
    int32_t day;   /* 1..31 */
};

static bool is_leap(int32_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* The days of a year before a month; month 13 gives all. */
static int32_t days_before_month(int32_t year, int32_t month)
{
    static const int16_t days[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    return days[month - 1] + (month > 2 && is_leap(year) ? 1 : 0);
}

/* From 1970 to the start of a year. */
static int64_t days_before_year(int32_t year)
{
    const int32_t days_before_1970 = 719162; /* of the years 1 to 1969 */
    int32_t past = year - 1;
    return 365 * past + past / 4 - past / 100 + past / 400 - days_before_1970;
}

static bool date_is_valid(struct date date)
{
    if (date.month < 1 || date.month > 12 || date.day < 1) return false;
    return date.day <=
           days_before_month(date.year, date.month + 1) - days_before_month(date.year, date.month);
}

static int64_t days_of_date(struct date date)
{
    return days_before_year(date.year) + days_before_month(date.year, date.month) + date.day - 1;
}

/* days since 1970, 0 or more */
static struct date date_of_days(int64_t days)
{
    /* The mean year is long enough to be at most one year off. */
    struct date date = {.year = 1970 + (int32_t)(days * 400 / YEARS_400_DAYS), .month = 1};
    while (days < days_before_year(date.year)) date.year--;
    while (days >= days_before_year(date.year + 1)) date.year++;

    int32_t day = (int32_t)(days - days_before_year(date.year));
    while (day >= days_before_month(date.year, date.month + 1)) date.month++;
    date.day = day - days_before_month(date.year, date.month) + 1;
    return date;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* What is left of a text. */
struct cursor {
    const char *at;
    const char *end;
};

static bool take_char(struct cursor *cursor, const char *any_of)
{
    if (cursor->at == cursor->end || *cursor->at == '\0') return false;
    if (strchr(any_of, *cursor->at) == NULL) return false;
    cursor->at++;
    return true;
}

static bool is_at_digit(const struct cursor *cursor)
{
    return cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9';
}

/* Exactly so many digits. */
static bool take_number(struct cursor *cursor, int32_t digits, int32_t max, int32_t *out)
{
    int32_t value = 0;
    for (int32_t i = 0; i < digits; i++) {
        if (!is_at_digit(cursor)) return false;
        value = value * 10 + (*cursor->at - '0');
        cursor->at++;
    }
    *out = value;
    return value <= max;
}

/* The digits behind a point, 1 to 9, in billionths. */
static bool take_fraction(struct cursor *cursor, int64_t *billionths)
{
    int32_t digits = 0;
    int64_t value = 0;
    for (; is_at_digit(cursor); cursor->at++) {
        value = value * 10 + (*cursor->at - '0');
        if (++digits > FRACTION_DIGITS_MAX) return false;
    }
    if (digits == 0) return false;
    for (; digits < FRACTION_DIGITS_MAX; digits++) value *= 10;
    *billionths = value;
    return true;
}

static bool take_date(struct cursor *cursor, struct date *date)
{
    return take_number(cursor, 4, 9999, &date->year) && take_char(cursor, "-") &&
           take_number(cursor, 2, 12, &date->month) && take_char(cursor, "-") &&
           take_number(cursor, 2, 31, &date->day) && date_is_valid(*date);
}

/* 17:45, 17:45:03 or 17:45:03.123 */
static bool take_clock(struct cursor *cursor, int64_t *ms)
{
    int32_t hour;
    int32_t minute;
    int32_t second = 0;
    int64_t billionths = 0;
    if (!take_number(cursor, 2, 23, &hour) || !take_char(cursor, ":")) return false;
    if (!take_number(cursor, 2, 59, &minute)) return false;
    if (take_char(cursor, ":")) {
        if (!take_number(cursor, 2, 59, &second)) return false;
        if (take_char(cursor, ".") && !take_fraction(cursor, &billionths)) return false;
    }
    *ms = hour * (int64_t)HOUR_MS + minute * (int64_t)MINUTE_MS + second * (int64_t)SECOND_MS +
          billionths / 1000000;
    return true;
}

/* Z, +02, +0200, +02:00 or nothing, which is UTC */
static bool take_offset(struct cursor *cursor, int64_t *ms)
{
    int32_t hours = 0;
    int32_t minutes = 0;
    if (cursor->at == cursor->end || take_char(cursor, "Zz")) return true;
    bool is_west = *cursor->at == '-';
    if (!take_char(cursor, "+-")) return false;
    if (!take_number(cursor, 2, 23, &hours)) return false;
    bool has_colon = take_char(cursor, ":");
    if ((has_colon || is_at_digit(cursor)) && !take_number(cursor, 2, 59, &minutes)) return false;
    int64_t offset = hours * (int64_t)HOUR_MS + minutes * (int64_t)MINUTE_MS;
    *ms = is_west ? -offset : offset;
    return true;
}

bool pawl_instant_parse(struct pawl_str text, int64_t *at_ms)
{
    if (pawl_int64_parse(text, 0, PAWL_INSTANT_MS_MAX, at_ms)) return true;
    if (text.len == 0) return false;

    struct cursor cursor = {text.ptr, text.ptr + text.len};
    struct date date;
    int64_t clock_ms = 0;
    int64_t offset_ms = 0;
    if (!take_date(&cursor, &date)) return false;
    if (take_char(&cursor, "Tt ")) {
        if (!take_clock(&cursor, &clock_ms) || !take_offset(&cursor, &offset_ms)) return false;
    }
    if (cursor.at != cursor.end) return false;

    int64_t ms = days_of_date(date) * DAY_MS + clock_ms - offset_ms;
    if (ms < 0 || ms > PAWL_INSTANT_MS_MAX) return false;
    *at_ms = ms;
    return true;
}

void pawl_instant_format(int64_t at_ms, char out[PAWL_INSTANT_TEXT_BYTES_MAX + 1])
{
    if (at_ms < 0) at_ms = 0;
    if (at_ms > PAWL_INSTANT_MS_MAX) at_ms = PAWL_INSTANT_MS_MAX;
    struct date date = date_of_days(at_ms / DAY_MS);
    int32_t ms = (int32_t)(at_ms % DAY_MS);
    /* The remainders say to the compiler that the text fits. */
    snprintf(out, PAWL_INSTANT_TEXT_BYTES_MAX + 1, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
             (unsigned)date.year % 10000, (unsigned)date.month % 100, (unsigned)date.day % 100,
             (unsigned)(ms / HOUR_MS) % 100, (unsigned)(ms / MINUTE_MS) % 60,
             (unsigned)(ms / SECOND_MS) % 60, (unsigned)ms % 1000);
}

/* ---- Durations ------------------------------------------------------------------------------ */

struct unit {
    const char *name;
    int64_t ms;
};

/* Largest first. */
static const struct unit units[] = {
    {"d", DAY_MS}, {"h", HOUR_MS}, {"m", MINUTE_MS}, {"s", SECOND_MS}, {"ms", 1},
};

/* The unit whose name the letters at the cursor are; none at all are seconds. NULL for no unit. */
static const struct unit *take_unit(struct cursor *cursor)
{
    const char *start = cursor->at;
    while (cursor->at < cursor->end && *cursor->at >= 'a' && *cursor->at <= 'z') cursor->at++;
    size_t len = (size_t)(cursor->at - start);
    for (size_t i = 0; i < PAWL_COUNT_OF(units); i++) {
        if (strlen(units[i].name) == len && memcmp(units[i].name, start, len) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* A whole number and perhaps a fraction. */
static bool take_amount(struct cursor *cursor, int64_t *whole, int64_t *billionths,
                        bool *has_fraction)
{
    const char *start = cursor->at;
    while (is_at_digit(cursor)) cursor->at++;
    struct pawl_str digits = {start, (size_t)(cursor->at - start)};
    if (!pawl_int64_parse(digits, 0, INT64_MAX, whole)) return false;
    *billionths = 0;
    *has_fraction = take_char(cursor, ".");
    return !*has_fraction || take_fraction(cursor, billionths);
}

/* whole and billionths of a unit, in milliseconds; false if that is too many. */
static bool add_amount(int64_t *ms, int64_t whole, int64_t billionths, int64_t unit_ms)
{
    const int64_t billion = 1000000000;
    int64_t product;
    /* A day is 86.4 million milliseconds: the product of the fraction fits. */
    if (__builtin_mul_overflow(whole, unit_ms, &product)) return false;
    int64_t fraction = (billionths * unit_ms + billion - 1) / billion; /* what is not 0 stays so */
    if (__builtin_add_overflow(product, fraction, &product)) return false;
    return !__builtin_add_overflow(*ms, product, ms);
}

bool pawl_duration_parse(struct pawl_str text, int64_t *ms)
{
    if (text.len == 0) return false;
    struct cursor cursor = {text.ptr, text.ptr + text.len};
    int64_t total = 0;
    int64_t unit_ms_before = INT64_MAX;
    bool has_fraction = false;
    while (cursor.at < cursor.end) {
        int64_t whole;
        int64_t billionths;
        if (has_fraction) return false; /* only the last one may have one */
        if (!take_amount(&cursor, &whole, &billionths, &has_fraction)) return false;

        bool is_bare = cursor.at == cursor.end && unit_ms_before == INT64_MAX;
        const struct unit *unit = is_bare ? NULL : take_unit(&cursor);
        if (unit == NULL && !is_bare) return false;
        int64_t unit_ms = is_bare ? SECOND_MS : unit->ms;
        if (unit_ms >= unit_ms_before) return false;
        unit_ms_before = unit_ms;
        if (!add_amount(&total, whole, billionths, unit_ms)) return false;
    }
    *ms = total;
    return true;
}

/* Appends to a text of PAWL_DURATION_TEXT_BYTES_MAX; there is room by construction. */
static size_t add_part(char *out, size_t len, uint64_t amount, const char *unit)
{
    size_t room = PAWL_DURATION_TEXT_BYTES_MAX + 1 - len;
    return len + (size_t)snprintf(out + len, room, "%" PRIu64 "%s", amount, unit);
}

void pawl_duration_format(int64_t ms, char out[PAWL_DURATION_TEXT_BYTES_MAX + 1])
{
    size_t len = 0;
    uint64_t rest = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    if (ms < 0) out[len++] = '-';
    if (rest >= DAY_MS) len = add_part(out, len, rest / DAY_MS, "d");
    if (rest / HOUR_MS % 24 != 0) len = add_part(out, len, rest / HOUR_MS % 24, "h");
    if (rest / MINUTE_MS % 60 != 0) len = add_part(out, len, rest / MINUTE_MS % 60, "m");

    uint64_t fraction = rest % SECOND_MS;
    if (rest > 0 && rest < SECOND_MS) {
        (void)add_part(out, len, rest, "ms");
    } else if (fraction != 0) {
        len += (size_t)snprintf(out + len, PAWL_DURATION_TEXT_BYTES_MAX + 1 - len,
                                "%" PRIu64 ".%03" PRIu64, rest / SECOND_MS % 60, fraction);
        while (out[len - 1] == '0') len--;
        memcpy(out + len, "s", 2);
    } else if (rest / SECOND_MS % 60 != 0 || rest == 0) {
        (void)add_part(out, len, rest / SECOND_MS % 60, "s");
    }
}
