#include "core/workflow/wait.h"

#include "base/array.h"
#include "base/str.h"

static struct pawl_str skip_blanks(struct pawl_str text)
{
    while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) {
        text.ptr++;
        text.len--;
    }
    return text;
}

static bool is_same_word(struct pawl_str text, const char *word)
{
    struct pawl_str other = pawl_str_of(word);
    if (text.len != other.len) return false;
    for (size_t i = 0; i < text.len; i++) {
        if ((text.ptr[i] | 0x20) != other.ptr[i]) return false;
    }
    return true;
}

static bool is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

bool pawl_wait_duration_parse(struct pawl_str text, int64_t *ms)
{
    enum { DIGITS_MAX = 9 };
    static const struct {
        const char *names[5];
        int64_t ms;
    } units[] = {
        {{"d", "day", "days"}, INT64_C(24) * 3600 * 1000},
        {{"h", "hr", "hrs", "hour", "hours"}, 3600 * 1000},
        {{"m", "min", "mins", "minute", "minutes"}, 60 * 1000},
        {{"s", "sec", "secs", "second", "seconds"}, 1000},
    };
    size_t unit = 0;
    int64_t total_ms = 0;
    for (text = skip_blanks(text); text.len > 0; text = skip_blanks(text)) {
        int64_t number = 0;
        size_t digits = 0;
        while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9') {
            if (digits == DIGITS_MAX) return false;
            number = number * 10 + (text.ptr[digits++] - '0');
        }
        if (digits == 0) return false;
        text = skip_blanks((struct pawl_str){text.ptr + digits, text.len - digits});
        struct pawl_str word = {text.ptr, 0};
        while (word.len < text.len && is_letter(text.ptr[word.len])) word.len++;
        bool is_known = false;
        for (; unit < PAWL_COUNT_OF(units) && !is_known; unit++) {
            for (size_t i = 0; i < PAWL_COUNT_OF(units[unit].names); i++) {
                const char *name = units[unit].names[i];
                if (name != NULL && is_same_word(word, name)) is_known = true;
            }
            if (is_known) total_ms += number * units[unit].ms;
        }
        if (!is_known) return false;
        text.ptr += word.len;
        text.len -= word.len;
    }
    *ms = total_ms;
    return true;
}
