#include "app/lines.h"

#include "base/arena.h"
#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024 };

void pawl_lines_init(struct pawl_lines *lines, int fd, size_t line_bytes_max,
                     struct pawl_arena *arena)
{
    *lines = (struct pawl_lines){.fd = fd, .line_bytes_max = line_bytes_max, .arena = arena};
}

/* A line that is there already. */
static bool take_buffered(struct pawl_lines *lines, size_t searched, struct pawl_str *line)
{
    char *start = lines->bytes + lines->from;
    size_t len = lines->to - lines->from;
    if (len == 0) return false;
    char *end = memchr(start + searched, '\n', len - searched);
    if (end == NULL && !lines->is_end) return false;
    *line = (struct pawl_str){start, end != NULL ? (size_t)(end - start) : len};
    lines->from += line->len + (end != NULL ? 1 : 0);
    if (line->len > 0 && line->ptr[line->len - 1] == '\r') line->len--;
    return true;
}

static enum pawl_code make_room(struct pawl_lines *lines, struct pawl_error *err)
{
    if (lines->from > 0) {
        memmove(lines->bytes, lines->bytes + lines->from, lines->to - lines->from);
        lines->to -= lines->from;
        lines->from = 0;
    }
    if (lines->to > lines->line_bytes_max) {
        return pawl_error_set(err, PAWL_TOO_LARGE, "a line has more than %zu bytes",
                              lines->line_bytes_max);
    }
    if (lines->capacity - lines->to >= READ_BYTES) return PAWL_OK;
    size_t capacity = lines->capacity == 0 ? 2 * READ_BYTES : 2 * lines->capacity;
    char *bytes = pawl_arena_resize(lines->arena, lines->bytes, lines->capacity, capacity);
    if (bytes == NULL) {
        return pawl_error_set(err, pawl_arena_code(lines->arena), "no room for a line");
    }
    lines->bytes = bytes;
    lines->capacity = capacity;
    return PAWL_OK;
}

static bool would_wait(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 0;
}

enum pawl_code pawl_lines_take(struct pawl_lines *lines, bool may_wait, struct pawl_str *line,
                               bool *has, struct pawl_error *err)
{
    size_t searched = 0;
    for (;;) {
        *has = take_buffered(lines, searched, line);
        if (*has || lines->is_end) return PAWL_OK;
        if (!may_wait && would_wait(lines->fd)) return PAWL_OK;
        searched = lines->to - lines->from;
        enum pawl_code code = make_room(lines, err);
        if (code != PAWL_OK) return code;
        ssize_t got = read(lines->fd, lines->bytes + lines->to, READ_BYTES);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return pawl_error_set(err, PAWL_IO, "cannot read: %s", strerror(errno));
        lines->to += (size_t)got;
        lines->is_end = got == 0;
    }
}
