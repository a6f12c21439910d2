#include "worker/ending.h"

#include "base/arena.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"

#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>

const char *pawl_ending_name(enum pawl_ending_kind kind)
{
    switch (kind) {
    case PAWL_ENDING_NONE:
        return "none";
    case PAWL_ENDING_STOPPED:
        return "stopped";
    case PAWL_ENDING_COMPLETE:
        return "complete";
    case PAWL_ENDING_FAIL:
        return "fail";
    case PAWL_ENDING_RELEASE:
        return "release";
    case PAWL_ENDING_CANCEL:
        return "cancel";
    case PAWL_ENDING_PAUSE:
        return "pause";
    }
    return "none";
}

struct pawl_str pawl_text_mend(struct pawl_str bytes, struct pawl_arena *arena)
{
    char *text = pawl_arena_take(arena, bytes.len * 3); /* U+FFFD has three bytes */
    size_t to = 0;
    for (size_t at = 0; text != NULL && at < bytes.len;) {
        uint32_t point = 0;
        size_t len = pawl_utf8_decode((struct pawl_str){bytes.ptr + at, bytes.len - at}, &point);
        if (len == 0 || point == 0) point = PAWL_UTF8_REPLACEMENT;
        at += len == 0 ? 1 : len;
        to += pawl_utf8_encode(point, text + to);
    }
    return text == NULL ? (struct pawl_str){0} : (struct pawl_str){text, to};
}

static struct pawl_str without_breaks_at_end(struct pawl_str text)
{
    while (text.len > 0 && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r'))
        text.len--;
    return text;
}

/* A cut may have gone through a character: the whole ones before it. */
static struct pawl_str whole_characters(struct pawl_str bytes, bool is_cut)
{
    for (size_t less = 0; is_cut && less < PAWL_UTF8_BYTES_MAX && less < bytes.len; less++) {
        struct pawl_str shorter = {bytes.ptr, bytes.len - less};
        if (pawl_utf8_is_valid(shorter)) return shorter;
    }
    return bytes;
}

struct pawl_str pawl_result_make(struct pawl_str printed, bool is_cut, struct pawl_arena *arena)
{
    if (without_breaks_at_end(printed).len == 0) return (struct pawl_str){0};
    if (!is_cut && pawl_json_check(printed, arena, NULL) == PAWL_OK) return pawl_str_trim(printed);

    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    printed = whole_characters(printed, is_cut);
    bool is_text = pawl_utf8_is_valid(printed) && memchr(printed.ptr, '\0', printed.len) == NULL;
    if (is_text && !is_cut) {
        pawl_json_put_text(&w, without_breaks_at_end(printed));
        return pawl_json_writer_done(&w);
    }
    pawl_json_begin_object(&w);
    if (is_text) {
        pawl_json_put_member_text(&w, "text", printed);
    } else {
        pawl_json_put_member_text(&w, "base64", pawl_base64_encode(arena, printed));
    }
    if (is_cut) pawl_json_put_member_bool(&w, "cut", true);
    pawl_json_end_object(&w);
    return pawl_json_writer_done(&w);
}

struct pawl_str pawl_failure_text(int wait_status, struct pawl_str tail, struct pawl_arena *arena)
{
    struct pawl_str text = pawl_text_mend(without_breaks_at_end(tail), arena);
    const char *colon = text.len > 0 ? ": " : "";
    if (WIFSIGNALED(wait_status)) {
        const char *name = sigdescr_np(WTERMSIG(wait_status));
        return pawl_arena_format(arena, "signal %d (%s)%s%.*s", WTERMSIG(wait_status),
                                 name != NULL ? name : "unknown", colon, PAWL_STR_ARG(text));
    }
    return pawl_arena_format(arena, "exit status %d%s%.*s", WEXITSTATUS(wait_status), colon,
                             PAWL_STR_ARG(text));
}

struct pawl_str pawl_error_excerpt(struct pawl_str error)
{
    enum { EXCERPT_POINTS = 200 };
    error = pawl_str_trim(error);
    const char *last = error.len > 0 ? memrchr(error.ptr, '\n', error.len) : NULL;
    if (last != NULL) {
        error.len -= (size_t)(last + 1 - error.ptr);
        error.ptr = last + 1;
    }
    return pawl_utf8_cut_points(error, EXCERPT_POINTS);
}

static bool is_final_status(int exit_status)
{
    enum { CANNOT_RUN = 126, NOT_FOUND = 127 };
    return exit_status == EX_DATAERR || exit_status == EX_CONFIG || exit_status == CANNOT_RUN ||
           exit_status == NOT_FOUND;
}

struct pawl_ending pawl_ending_of_exit(int wait_status, struct pawl_str printed, bool is_cut,
                                       struct pawl_str tail, int64_t retry_after_ms,
                                       struct pawl_arena *arena)
{
    struct pawl_ending ending = {.kind = PAWL_ENDING_COMPLETE};
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) {
        ending.text = pawl_result_make(printed, is_cut, arena);
        return ending;
    }
    ending.kind = PAWL_ENDING_FAIL;
    ending.exit_status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
    ending.signal_number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    ending.text = pawl_failure_text(wait_status, tail, arena);
    ending.is_final = WIFEXITED(wait_status) && is_final_status(WEXITSTATUS(wait_status));
    if (retry_after_ms >= 0) {
        ending.retry_after_ms = retry_after_ms == 0 ? PAWL_DELAY_NONE : retry_after_ms;
    }
    return ending;
}
