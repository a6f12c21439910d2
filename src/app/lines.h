/* Lines from a descriptor, whole ones, without waiting for more than asked: stdio cannot say
 * whether a read would wait, and who answers line by line must know. */
#ifndef PAWL_APP_LINES_H
#define PAWL_APP_LINES_H

#include "pawl.h"

struct pawl_lines {
    int fd;
    size_t line_bytes_max;
    struct pawl_arena *arena; /* borrowed; holds the buffer */
    char *bytes;
    size_t from; /* what is read and not taken */
    size_t to;
    size_t capacity;
    bool is_end; /* of the input */
};

void pawl_lines_init(struct pawl_lines *lines, int fd, size_t line_bytes_max,
                     struct pawl_arena *arena);

/* Takes the next line, without its end; it is good until the next call. *has is false at the end of
 * the input, and, unless may_wait, when reading on would wait.
 *
 *   fails  PAWL_TOO_LARGE  a line longer than line_bytes_max
 *          PAWL_IO         */
enum pawl_code pawl_lines_take(struct pawl_lines *lines, bool may_wait, struct pawl_str *line,
                               bool *has, struct pawl_error *err) PAWL_MUST_USE;

#endif
