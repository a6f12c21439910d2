/* Memory that is given back all at once: a chain of blocks with a byte budget.
 *
 * Nearly all that the library allocates lives in an arena: what a request needs until its reply is
 * sent (keep), what a step needs until it ends (scratch). pawl.h declares pawl_arena_open, _reset
 * and _close, which embedders use too.
 *
 *   budget   counts what is handed out, not the blocks; beyond it is PAWL_TOO_LARGE
 *   failure  is sticky: after the first one everything fails until reset (or rewind to before it),
 * so that a command may ignore NULL where it only passes it on, and ask pawl_arena_code once, at
 * its end blocks   grow from 4 KiB to 1 MiB and are kept between resets; larger pieces have a block
 * of their own, freed at reset threads  one at a time
 */
#ifndef PAWL_BASE_ARENA_H
#define PAWL_BASE_ARENA_H

#include "base/printf.h"
#include "pawl.h"

enum {
    PAWL_ARENA_BLOCK_BYTES_MIN = 4 * 1024,
    PAWL_ARENA_BLOCK_BYTES_MAX = 1024 * 1024, /* what an idle arena may keep a block at */
};

/* Cleared memory, aligned to 16 bytes; bytes 0 gives a pointer of no use. NULL on failure. */
void *pawl_arena_take(struct pawl_arena *arena, size_t bytes);

/* The same for count elements of size bytes; a product that overflows is PAWL_TOO_LARGE. */
void *pawl_arena_take_array(struct pawl_arena *arena, size_t count, size_t size);

/* A piece taken before, made larger or smaller: in place if it is the newest one or a large one,
 * else copied. The new part is not cleared. ptr NULL (with bytes_old 0) takes a new piece. NULL on
 * failure, the old piece is as it was. For buffers that grow: double them, and the budget holds at
 * most twice their size. */
void *pawl_arena_resize(struct pawl_arena *arena, void *ptr, size_t bytes_old, size_t bytes_new);

/* Copies; {NULL, 0} on failure. NULL stays NULL. */
struct pawl_str pawl_arena_copy(struct pawl_arena *arena, struct pawl_str str);

/* A NUL-terminated copy, for libc and SQLite; NULL on failure. Zero bytes inside stay. */
char *pawl_arena_c_text(struct pawl_arena *arena, struct pawl_str str);

/* printf into the arena. The result is NUL-terminated beyond its length; {NULL, 0} on failure. */
struct pawl_str pawl_arena_format(struct pawl_arena *arena, const char *format, ...)
    PAWL_PRINTF(2, 3);

/* PAWL_OK, PAWL_TOO_LARGE or PAWL_NO_MEMORY: the first failure since reset. */
enum pawl_code pawl_arena_code(const struct pawl_arena *arena) PAWL_MUST_USE;

/* A point in an arena's life to go back to. Marks nest; the fields are the arena's own. */
struct pawl_arena_mark {
    void *block;
    char *top;
    size_t used_bytes;
    int32_t large_count;
    enum pawl_code code;
};

struct pawl_arena_mark pawl_arena_mark(const struct pawl_arena *arena);

/* Gives back all that was taken after the mark (and what was resized after it), and forgets a
 * failure that came after it. No reset may lie between. */
void pawl_arena_rewind(struct pawl_arena *arena, struct pawl_arena_mark mark);

#endif
