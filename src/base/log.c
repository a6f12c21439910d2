/* One line of logfmt, built on the stack. The end of the buffer is held back for " cut=true", so
 * that a reader can tell a short value from one that was cut. */
#include "base/log.h"

#include "base/array.h"
#include "base/number.h"
#include "base/str.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CUT_MARK " cut=true"

struct line {
    char text[PAWL_LOG_TEXT_BYTES_MAX];
    size_t len;
    size_t len_max;
    bool is_cut; /* once cut, nothing more is added */
};

static bool has_room(struct line *line, size_t bytes)
{
    if (bytes > line->len_max - line->len) line->is_cut = true;
    return !line->is_cut;
}

/* Whole or not at all. */
static void add(struct line *line, struct pawl_str piece)
{
    if (!has_room(line, piece.len)) return;
    memcpy(line->text + line->len, piece.ptr, piece.len);
    line->len += piece.len;
}

/* One character of a quoted value; point is what ptr holds. */
static void add_quoted_char(struct line *line, uint32_t point, struct pawl_str bytes)
{
    char escaped[8];
    struct pawl_str out = bytes;
    if (point == '"') out = PAWL_STR("\\\"");
    if (point == '\\') out = PAWL_STR("\\\\");
    if (point == '\n') out = PAWL_STR("\\n");
    if (point == '\r') out = PAWL_STR("\\r");
    if (point == '\t') out = PAWL_STR("\\t");
    bool is_control = point < ' ' || (point >= 0x7F && point < 0xA0);
    if (is_control && out.len == bytes.len) {
        snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)point & 0xFF);
        out = pawl_str_of(escaped);
    }
    add(line, out);
}

static void add_quoted(struct line *line, struct pawl_str value)
{
    if (!has_room(line, 2)) return;
    add(line, PAWL_STR("\""));
    line->len_max--; /* for the quote that ends it */
    while (value.len > 0) {
        uint32_t point = PAWL_UTF8_REPLACEMENT;
        size_t len = pawl_utf8_decode(value, &point);
        struct pawl_str bytes = len != 0 ? (struct pawl_str){value.ptr, len} : PAWL_STR("\uFFFD");
        add_quoted_char(line, point, bytes);
        if (len == 0) len = 1;
        value.ptr += len;
        value.len -= len;
    }
    line->len_max++;
    line->text[line->len++] = '"';
}

static bool needs_quotes(struct pawl_str value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if (c <= ' ' || c >= 0x7F || c == '"' || c == '=' || c == '\\') return true;
    }
    return value.len == 0;
}

static void add_field(struct line *line, const char *key_text, struct pawl_str value)
{
    struct pawl_str key = pawl_str_of(key_text);
    if (!has_room(line, key.len + 2)) return;
    if (line->len > 0) add(line, PAWL_STR(" "));
    add(line, key);
    add(line, PAWL_STR("="));
    if (needs_quotes(value)) {
        add_quoted(line, value);
    } else {
        struct pawl_str whole = value;
        if (value.len > line->len_max - line->len) value.len = line->len_max - line->len;
        add(line, value);
        if (value.len < whole.len) line->is_cut = true;
    }
}

const char *pawl_log_level_name(enum pawl_log_level level)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    size_t at = (size_t)level;
    return at < PAWL_COUNT_OF(names) ? names[at] : "debug";
}

void pawl_log_write_fields(const struct pawl_log *log, enum pawl_log_level level, const char *event,
                           ...)
{
    if (log == NULL || log->write == NULL || level > log->level_max) return;

    struct line line; /* only what is written is read */
    line.len = 0;
    line.len_max = sizeof line.text - (sizeof CUT_MARK - 1);
    line.is_cut = false;
    add_field(&line, "level", pawl_str_of(pawl_log_level_name(level)));
    add_field(&line, "event", pawl_str_of(event));

    va_list args;
    va_start(args, event);
    for (;;) {
        struct pawl_log_field field = va_arg(args, struct pawl_log_field);
        if (field.kind == PAWL_LOG_FIELD_END) break;
        char number[PAWL_INT64_TEXT_BYTES_MAX + 1];
        if (field.kind == PAWL_LOG_FIELD_INT) {
            field.text = (struct pawl_str){number, pawl_int64_format(field.number, number)};
        }
        add_field(&line, field.key, field.text);
    }
    va_end(args);

    if (line.is_cut) {
        memcpy(line.text + line.len, CUT_MARK, sizeof CUT_MARK - 1);
        line.len += sizeof CUT_MARK - 1;
    }
    log->write(log->self, level, (struct pawl_str){line.text, line.len});
}
