/* Sentences are put together in a buffer beside the error, since their arguments may lie in it. */
#include "base/error.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One byte more than an error holds, so that cutting sees whether a character ends at the limit. */
struct draft {
    char text[PAWL_ERROR_TEXT_BYTES_MAX + 2];
    size_t len;
};

PAWL_PRINTF(2, 0)
static void draft_add(struct draft *draft, const char *format, va_list args)
{
    size_t room = sizeof draft->text - draft->len;
    int wanted = vsnprintf(draft->text + draft->len, room, format, args);
    if (wanted < 0) return; /* beyond INT_MAX, or a wide character that is none */
    draft->len += (size_t)wanted < room ? (size_t)wanted : room - 1;
}

static void draft_add_text(struct draft *draft, const char *text, size_t len)
{
    size_t room = sizeof draft->text - 1 - draft->len;
    if (len > room) len = room;
    memcpy(draft->text + draft->len, text, len);
    draft->len += len;
}

static void put_draft(struct pawl_error *err, const struct draft *draft)
{
    struct pawl_str whole = {draft->text, draft->len};
    struct pawl_str text = pawl_utf8_cut_bytes(whole, PAWL_ERROR_TEXT_BYTES_MAX);
    memcpy(err->text, text.ptr, text.len);
    err->text[text.len] = '\0';
}

enum pawl_code pawl_error_set(struct pawl_error *err, enum pawl_code code, const char *format, ...)
{
    if (err == NULL) return code;

    struct draft draft;
    draft.len = 0;
    va_list args;
    va_start(args, format);
    draft_add(&draft, format, args);
    va_end(args);

    err->code = code;
    err->until_at_ms = 0;
    put_draft(err, &draft);
    return code;
}

void pawl_error_prefix(struct pawl_error *err, const char *format, ...)
{
    if (err == NULL) return;

    struct draft draft;
    draft.len = 0;
    va_list args;
    va_start(args, format);
    draft_add(&draft, format, args);
    va_end(args);

    draft_add_text(&draft, ": ", 2);
    draft_add_text(&draft, err->text, strlen(err->text));
    put_draft(err, &draft);
}
