#include "app/output.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/str.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const char *const form_names[] = {
    [PAWL_FORM_TABLE] = "table", [PAWL_FORM_WIDE] = "wide", [PAWL_FORM_JSON] = "json",
    [PAWL_FORM_JSONL] = "jsonl", [PAWL_FORM_NAME] = "name",
};

void pawl_output_init(struct pawl_output *out, FILE *file)
{
    *out = (struct pawl_output){.file = file, .form = PAWL_FORM_JSON};
    int fd = fileno(file);
    out->is_terminal = fd >= 0 && isatty(fd) == 1;
    struct winsize size;
    if (out->is_terminal && ioctl(fd, TIOCGWINSZ, &size) == 0) out->columns = size.ws_col;
}

static bool find_form(struct pawl_str name, enum pawl_form *form)
{
    for (size_t i = 0; i < PAWL_COUNT_OF(form_names); i++) {
        if (!pawl_str_equal(name, pawl_str_of(form_names[i]))) continue;
        *form = (enum pawl_form)i;
        return true;
    }
    return false;
}

enum pawl_code pawl_output_choose(struct pawl_output *out, struct pawl_str form,
                                  struct pawl_str color, bool is_list, struct pawl_error *err)
{
    out->form = out->is_terminal ? PAWL_FORM_TABLE : is_list ? PAWL_FORM_JSONL : PAWL_FORM_JSON;
    if (form.ptr != NULL && !find_form(form, &out->form)) {
        return pawl_error_set(err, PAWL_INVALID,
                              "--output: `%.*s` is none of table, wide, json, jsonl and name",
                              PAWL_STR_ARG(form));
    }
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    bool is_dumb = terminal == NULL || strcmp(terminal, "dumb") == 0;
    out->has_colors = out->is_terminal && !is_dumb && (no_color == NULL || no_color[0] == '\0');
    if (pawl_str_equal(color, PAWL_STR("always"))) {
        out->has_colors = true;
    } else if (pawl_str_equal(color, PAWL_STR("never"))) {
        out->has_colors = false;
    } else if (color.ptr != NULL && !pawl_str_equal(color, PAWL_STR("auto"))) {
        return pawl_error_set(err, PAWL_INVALID,
                              "--color: `%.*s` is none of auto, always and never",
                              PAWL_STR_ARG(color));
    }
    return PAWL_OK;
}

bool pawl_output_is_table(const struct pawl_output *out)
{
    return out->form == PAWL_FORM_TABLE || out->form == PAWL_FORM_WIDE;
}

/* ---- Control characters ---------------------------------------------------------------------- */

static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7F && point < 0xA0);
}

/* Marks that change the direction of what follows (UAX #9), and line separators. */
static bool is_deceptive(uint32_t point)
{
    return (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069) ||
           point == 0x2028 || point == 0x2029;
}

/* The next character and its length; a byte that is none counts as U+FFFD. */
static size_t next_point(struct pawl_str rest, uint32_t *point)
{
    size_t len = pawl_utf8_decode(rest, point);
    if (len > 0) return len;
    *point = PAWL_UTF8_REPLACEMENT;
    return 1;
}

void pawl_output_json(const struct pawl_output *out, struct pawl_str json)
{
    size_t from = 0; /* what is not written yet begins here */
    for (size_t at = 0; at < json.len;) {
        unsigned char byte = (unsigned char)json.ptr[at];
        bool is_break = byte == '\n' || byte == '\r';
        /* Only strings can hold these, so an escape is what they may be written as. */
        bool may_be_control = out->is_terminal && (byte >= 0x7F || is_break);
        if (!is_break && !may_be_control) {
            at++;
            continue;
        }
        uint32_t point = byte;
        size_t len = 1;
        if (!is_break) len = next_point((struct pawl_str){json.ptr + at, json.len - at}, &point);
        if (is_break || is_control(point) || is_deceptive(point)) {
            (void)fwrite(json.ptr + from, 1, at - from, out->file);
            if (is_break) {
                (void)fputc(' ', out->file);
            } else {
                (void)fprintf(out->file, "\\u%04" PRIx32, point);
            }
            from = at + len;
        }
        at += len;
    }
    (void)fwrite(json.ptr + from, 1, json.len - from, out->file);
}

void pawl_output_json_line(const struct pawl_output *out, struct pawl_str json)
{
    pawl_output_json(out, json);
    (void)fputc('\n', out->file);
}

void pawl_output_text(const struct pawl_output *out, struct pawl_str text)
{
    for (size_t at = 0; out->is_terminal && at < text.len;) {
        uint32_t point = 0;
        struct pawl_str rest = {text.ptr + at, text.len - at};
        size_t len = next_point(rest, &point);
        bool is_layout = point == '\n' || point == '\t';
        bool is_bad = (is_control(point) && !is_layout) || is_deceptive(point);
        if (!is_bad) (void)fwrite(rest.ptr, 1, len, out->file);
        at += len;
    }
    if (!out->is_terminal) (void)fwrite(pawl_str_arg_ptr(text), 1, text.len, out->file);
    (void)fputc('\n', out->file);
}

struct pawl_str pawl_text_clean(struct pawl_arena *arena, struct pawl_str text)
{
    char *clean = pawl_arena_take(arena, text.len * 3 + 1); /* U+FFFD has three bytes */
    if (clean == NULL) return (struct pawl_str){0};
    size_t to = 0;
    for (size_t at = 0; at < text.len;) {
        uint32_t point = 0;
        at += next_point((struct pawl_str){text.ptr + at, text.len - at}, &point);
        if (point == '\n' || point == '\t' || point == '\r') point = ' ';
        if (is_control(point) || is_deceptive(point)) continue;
        char bytes[PAWL_UTF8_BYTES_MAX];
        size_t len = pawl_utf8_encode(point, bytes);
        memcpy(clean + to, bytes, len);
        to += len;
    }
    return (struct pawl_str){clean, to};
}

/* ---- Times and colours ----------------------------------------------------------------------- */

int64_t pawl_wall_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now); /* fails only for clocks that do not exist */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct pawl_str pawl_time_text(const struct pawl_output *out, struct pawl_arena *arena,
                               int64_t at_ms)
{
    if (at_ms == 0) return PAWL_STR("-");
    if (!out->is_terminal) {
        char text[PAWL_INSTANT_TEXT_BYTES_MAX + 1];
        pawl_instant_format(at_ms, text);
        return pawl_arena_copy(arena, pawl_str_of(text));
    }
    int64_t ms = pawl_wall_ms() - at_ms;
    bool is_past = ms >= 0;
    int64_t seconds = (is_past ? ms : -ms) / 1000;
    int64_t number = seconds;
    const char *unit = "s";
    if (seconds >= 2 * 86400) {
        number = seconds / 86400;
        unit = "d";
    } else if (seconds >= 2 * 3600) {
        number = seconds / 3600;
        unit = "h";
    } else if (seconds >= 120) {
        number = seconds / 60;
        unit = "m";
    }
    return is_past ? pawl_arena_format(arena, "%" PRId64 "%s ago", number, unit)
                   : pawl_arena_format(arena, "in %" PRId64 "%s", number, unit);
}

struct pawl_str pawl_duration_text(struct pawl_arena *arena, int64_t ms)
{
    if (ms == 0) return PAWL_STR("-");
    char text[PAWL_DURATION_TEXT_BYTES_MAX + 1];
    pawl_duration_format(ms, text);
    return pawl_arena_copy(arena, pawl_str_of(text));
}

const char *pawl_state_color(const struct pawl_output *out, enum pawl_task_state state)
{
    if (!out->has_colors) return "";
    switch (state) {
    case PAWL_TASK_COMPLETED:
        return "\033[32m"; /* green */
    case PAWL_TASK_FAILED:
    case PAWL_TASK_DEAD_LETTER:
        return "\033[31m"; /* red */
    case PAWL_TASK_RUNNING:
        return "\033[36m"; /* cyan */
    case PAWL_TASK_PAUSED:
    case PAWL_TASK_RECOVERY_PENDING:
        return "\033[33m"; /* yellow */
    case PAWL_TASK_PENDING:
    case PAWL_TASK_CANCELLED:
        return "\033[2m"; /* faint */
    case PAWL_TASK_QUEUED:
        return "";
    }
    return "";
}

const char *pawl_color_end(const struct pawl_output *out)
{
    return out->has_colors ? "\033[0m" : "";
}
