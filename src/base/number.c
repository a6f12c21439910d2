/* Numbers from text.
 *
 * strtod and printf follow the locale of the process, which belongs to whoever embeds us: a German
 * one reads 1,5. But only the decimal point differs. So a number is taken apart first, and strtod
 * is given its digits as an integer with an exponent; what printf gives has its point put right. */
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool pawl_int64_parse(struct pawl_str text, int64_t min, int64_t max, int64_t *out)
{
    size_t at = text.len > 0 && text.ptr[0] == '-' ? 1 : 0;
    bool is_negative = at == 1;
    if (at == text.len) return false;

    /* Counted downwards, where there is one number more. */
    int64_t value = 0;
    for (; at < text.len; at++) {
        if (!is_digit(text.ptr[at])) return false;
        if (__builtin_mul_overflow(value, 10, &value)) return false;
        if (__builtin_sub_overflow(value, text.ptr[at] - '0', &value)) return false;
    }
    if (!is_negative && __builtin_sub_overflow(0, value, &value)) return false;
    if (value < min || value > max) return false;
    *out = value;
    return true;
}

size_t pawl_int64_format(int64_t number, char out[PAWL_INT64_TEXT_BYTES_MAX + 1])
{
    char digits[PAWL_INT64_TEXT_BYTES_MAX];
    size_t start = sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[--start] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) digits[--start] = '-';

    size_t len = sizeof digits - start;
    memcpy(out, digits + start, len);
    out[len] = '\0';
    return len;
}

enum {
    /* The longest decimal that lies exactly between two doubles has 767 digits. Behind them it only
     * matters whether anything but zeros follows. */
    DIGITS_MAX = 770,
    EXPONENT_MAX = 100000, /* far beyond what any double has, and what DIGITS_MAX can move */
};

/* A number as digits * 10^exponent. */
struct decimal {
    char text[1 + DIGITS_MAX + 1 + 16]; /* sign, digits, a last one for the rest, "e-100000" */
    size_t len;
    int64_t exponent;
    int32_t digit_count; /* without leading zeros */
    bool is_cut;         /* a digit that is not 0 was left out */
};

static void add_digit(struct decimal *decimal, char digit)
{
    if (decimal->digit_count == 0 && digit == '0') return;
    if (decimal->digit_count < DIGITS_MAX) {
        decimal->text[decimal->len++] = digit;
        decimal->digit_count++;
        return;
    }
    decimal->exponent++;
    if (digit != '0') decimal->is_cut = true;
}

/* Reads digits from *at on; false if there is none. */
static bool read_digits(struct pawl_str text, size_t *at, struct decimal *decimal, bool is_fraction)
{
    size_t first = *at;
    for (; *at < text.len && is_digit(text.ptr[*at]); (*at)++) {
        add_digit(decimal, text.ptr[*at]);
        if (is_fraction) decimal->exponent--;
    }
    return *at > first;
}

/* Reads what follows an 'e'. */
static bool read_exponent(struct pawl_str text, size_t *at, struct decimal *decimal)
{
    bool is_negative = false;
    if (*at < text.len && (text.ptr[*at] == '+' || text.ptr[*at] == '-')) {
        is_negative = text.ptr[*at] == '-';
        (*at)++;
    }
    size_t first = *at;
    int64_t exponent = 0;
    for (; *at < text.len && is_digit(text.ptr[*at]); (*at)++) {
        if (exponent < INT64_MAX / 32) exponent = exponent * 10 + (text.ptr[*at] - '0');
    }
    decimal->exponent += is_negative ? -exponent : exponent;
    return *at > first;
}

/* Takes a JSON number apart; false if it is none. */
static bool read_decimal(struct pawl_str text, struct decimal *decimal)
{
    size_t at = 0;
    if (at < text.len && text.ptr[at] == '-') {
        decimal->text[decimal->len++] = '-';
        at++;
    }
    bool starts_with_zero = at < text.len && text.ptr[at] == '0';
    size_t first = at;
    if (!read_digits(text, &at, decimal, false)) return false;
    if (starts_with_zero && at - first > 1) return false;
    if (at < text.len && text.ptr[at] == '.') {
        at++;
        if (!read_digits(text, &at, decimal, true)) return false;
    }
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        at++;
        if (!read_exponent(text, &at, decimal)) return false;
    }
    return at == text.len;
}

/* Exact when both fit: a double holds integers up to 2^53 and powers of ten up to 10^22, and one
 * operation on exact operands is correctly rounded. Nearly all numbers in JSON are of this kind. */
static bool convert_small(const struct decimal *decimal, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (decimal->digit_count > 15) return false;
    if (decimal->exponent < -22 || decimal->exponent > 22) return false;

    bool is_negative = decimal->len > 0 && decimal->text[0] == '-';
    int64_t digits = 0;
    for (size_t i = is_negative ? 1 : 0; i < decimal->len; i++) {
        digits = digits * 10 + (decimal->text[i] - '0');
    }
    double value = (double)digits;
    if (decimal->exponent < 0) {
        value /= powers[-decimal->exponent];
    } else {
        value *= powers[decimal->exponent];
    }
    *out = is_negative ? -value : value;
    return true;
}

static int64_t clamp(int64_t value, int64_t limit)
{
    if (value > limit) return limit;
    return value < -limit ? -limit : value;
}

bool pawl_double_parse(struct pawl_str text, double *out)
{
    struct decimal decimal;
    decimal.len = 0;
    decimal.exponent = 0;
    decimal.digit_count = 0;
    decimal.is_cut = false;
    if (!read_decimal(text, &decimal)) return false;
    if (convert_small(&decimal, out)) return true;

    if (decimal.digit_count == 0) decimal.text[decimal.len++] = '0';
    if (decimal.is_cut) {
        decimal.text[decimal.len++] = '1';
        decimal.exponent--;
    }
    snprintf(decimal.text + decimal.len, sizeof decimal.text - decimal.len, "e%d",
             (int)clamp(decimal.exponent, EXPONENT_MAX));
    double value = strtod(decimal.text, NULL);
    if (!isfinite(value)) return false;
    *out = value;
    return true;
}

/* What printf wrote for "%g", with '.' for whatever bytes the locale has for it. */
static size_t put_point_right(char *text)
{
    size_t len = 0;
    bool in_point = false;
    for (const char *c = text; *c != '\0'; c++) {
        bool is_ours = is_digit(*c) || *c == '-' || *c == '+' || *c == 'e';
        if (is_ours || !in_point) text[len++] = is_ours ? *c : '.';
        in_point = !is_ours;
    }
    text[len] = '\0';
    return len;
}

size_t pawl_double_format(double number, char out[PAWL_DOUBLE_TEXT_BYTES_MAX + 1])
{
    const size_t size = PAWL_DOUBLE_TEXT_BYTES_MAX + 1;
    if (!isfinite(number)) return (size_t)snprintf(out, size, "null");

    const double integer_max = 9007199254740992.0; /* 2^53 */
    if (number >= -integer_max && number <= integer_max && number == floor(number)) {
        return pawl_int64_format((int64_t)number, out);
    }
    size_t len = 0;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, size, "%.*g", digits, number);
        len = put_point_right(out);
        double again;
        if (pawl_double_parse((struct pawl_str){out, len}, &again) && again == number) break;
    }
    return len;
}
