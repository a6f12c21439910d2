/* A bump pointer over a chain of blocks.
 *
 *   first -> block -> [block] -> block -> block      current marks where top is; the blocks behind
 * it current                        are kept for later large -> piece -> piece each larger than a
 * block may be; newest first
 *
 * Taking is an addition and a comparison. Blocks double from 4 KiB to 1 MiB, so a small arena is
 * small and a large one asks malloc rarely. A kept block that is too small for a request is passed
 * over by moving one that fits up to it, so blocks are never lost and the chain is no longer than
 * the greatest need so far.
 *
 * Under AddressSanitizer all that is not handed out is poisoned: a use after reset is found. */
#include "base/arena.h"

#include "base/assert.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(ptr, bytes)   ((void)(ptr), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(ptr, bytes) ((void)(ptr), (void)(bytes))
#endif

enum { ALIGN = 16 };

struct block {
    struct block *next;
    size_t size; /* of bytes */
    alignas(ALIGN) char bytes[];
};

static_assert(sizeof(struct block) % ALIGN == 0, "the bytes of a block are aligned");

enum { BLOCK_SIZE_MAX = PAWL_ARENA_BLOCK_BYTES_MAX - (int)sizeof(struct block) };

struct pawl_arena {
    char *top;   /* of the current block; NULL without one */
    size_t room; /* bytes behind top */
    struct block *first;
    struct block *current;
    struct block *large;
    size_t used_bytes;
    size_t budget_bytes;
    size_t block_bytes_next; /* header included */
    int32_t large_count;
    enum pawl_code code;
};

enum pawl_code pawl_arena_open(struct pawl_arena **out, size_t budget_bytes)
{
    if (out == NULL) return PAWL_MISUSE;
    struct pawl_arena *arena = calloc(1, sizeof *arena);
    if (arena == NULL) return PAWL_NO_MEMORY;
    arena->budget_bytes = budget_bytes != 0 ? budget_bytes : PAWL_ARENA_BYTES_DEFAULT;
    /* No object is larger, and a header added to less than this does not overflow. */
    if (arena->budget_bytes > PTRDIFF_MAX) arena->budget_bytes = PTRDIFF_MAX;
    arena->block_bytes_next = PAWL_ARENA_BLOCK_BYTES_MIN;
    *out = arena;
    return PAWL_OK;
}

static void free_large(struct pawl_arena *arena, int32_t count)
{
    while (arena->large_count > count) {
        struct block *block = arena->large;
        arena->large = block->next;
        arena->large_count--;
        free(block);
    }
}

/* Goes back to a place in a block of the chain; NULL is before the first one. */
static void set_top(struct pawl_arena *arena, struct block *block, char *top)
{
    arena->current = block;
    arena->top = top;
    arena->room = block == NULL ? 0 : (size_t)(block->bytes + block->size - top);
    if (arena->room > 0) ASAN_POISON_MEMORY_REGION(top, arena->room);
#ifdef HAS_ASAN
    struct block *rest = block == NULL ? arena->first : block->next;
    for (; rest != NULL; rest = rest->next) ASAN_POISON_MEMORY_REGION(rest->bytes, rest->size);
#endif
}

void pawl_arena_reset(struct pawl_arena *arena)
{
    free_large(arena, 0);
    struct block *first = arena->first;
    set_top(arena, first, first == NULL ? NULL : first->bytes);
    arena->used_bytes = 0;
    arena->code = PAWL_OK;
}

void pawl_arena_close(struct pawl_arena *arena)
{
    if (arena == NULL) return;
    free_large(arena, 0);
    while (arena->first != NULL) {
        struct block *block = arena->first;
        arena->first = block->next;
        free(block);
    }
    free(arena);
}

static void *fail(struct pawl_arena *arena, enum pawl_code code)
{
    if (arena->code == PAWL_OK) arena->code = code;
    return NULL;
}

/* Whether so many bytes more may be handed out. */
static bool allows(struct pawl_arena *arena, size_t bytes)
{
    if (arena->code != PAWL_OK) return false;
    if (bytes > arena->budget_bytes - arena->used_bytes) {
        (void)fail(arena, PAWL_TOO_LARGE);
        return false;
    }
    return true;
}

static struct block *new_block(struct pawl_arena *arena, size_t bytes)
{
    size_t block_bytes = arena->block_bytes_next;
    while (block_bytes - sizeof(struct block) < bytes) block_bytes *= 2;
    pawl_assert(block_bytes <= PAWL_ARENA_BLOCK_BYTES_MAX);

    struct block *block = malloc(block_bytes);
    if (block == NULL) return NULL;
    block->size = block_bytes - sizeof *block;
    ASAN_POISON_MEMORY_REGION(block->bytes, block->size);
    arena->block_bytes_next =
        block_bytes < PAWL_ARENA_BLOCK_BYTES_MAX ? block_bytes * 2 : PAWL_ARENA_BLOCK_BYTES_MAX;
    return block;
}

/* Makes a block with room for bytes the current one: a kept one, or a new one. */
static bool next_block(struct pawl_arena *arena, size_t bytes)
{
    struct block **after = arena->current == NULL ? &arena->first : &arena->current->next;
    struct block **link = after;
    while (*link != NULL && (*link)->size < bytes) link = &(*link)->next;

    struct block *block = *link;
    if (block != NULL) {
        *link = block->next;
    } else {
        block = new_block(arena, bytes);
    }
    if (block == NULL) return false;
    block->next = *after;
    *after = block;
    arena->current = block;
    arena->top = block->bytes;
    arena->room = block->size;
    return true;
}

/* calloc, because the kernel's pages are clear already. */
static char *take_large(struct pawl_arena *arena, size_t bytes)
{
    struct block *block = calloc(1, sizeof *block + bytes);
    if (block == NULL) return fail(arena, PAWL_NO_MEMORY);
    block->size = bytes;
    block->next = arena->large;
    arena->large = block;
    arena->large_count++;
    arena->used_bytes += bytes;
    return block->bytes;
}

/* Not cleared, except a large piece. What aligning skips counts as handed out. */
static char *take(struct pawl_arena *arena, size_t bytes, size_t align)
{
    if (bytes == 0) bytes = 1; /* a pointer must point somewhere */
    size_t skip = -(uintptr_t)arena->top & (align - 1);
    if (bytes > arena->room || skip > arena->room - bytes) {
        if (!allows(arena, bytes)) return NULL;
        if (bytes > BLOCK_SIZE_MAX) return take_large(arena, bytes);
        if (!next_block(arena, bytes)) return fail(arena, PAWL_NO_MEMORY);
        skip = 0;
    }
    size_t taken = skip + bytes;
    if (!allows(arena, taken)) return NULL;
    char *piece = arena->top + skip;
    ASAN_UNPOISON_MEMORY_REGION(piece, bytes);
    arena->top += taken;
    arena->room -= taken;
    arena->used_bytes += taken;
    return piece;
}

void *pawl_arena_take(struct pawl_arena *arena, size_t bytes)
{
    char *piece = take(arena, bytes, ALIGN);
    if (piece != NULL && bytes <= BLOCK_SIZE_MAX) memset(piece, 0, bytes);
    return piece;
}

void *pawl_arena_take_array(struct pawl_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return fail(arena, PAWL_TOO_LARGE);
    return pawl_arena_take(arena, bytes);
}

/* The link to the large block that holds a piece, or NULL. */
static struct block **find_large(struct pawl_arena *arena, const void *piece)
{
    struct block **link = &arena->large;
    while (*link != NULL && (*link)->bytes != piece) link = &(*link)->next;
    return *link == NULL ? NULL : link;
}

/* A large piece may move, whatever came after it: its block is nobody's neighbour. */
static void *resize_large(struct pawl_arena *arena, struct block **link, size_t bytes)
{
    struct block *block = *link;
    size_t bytes_before = block->size;
    if (bytes > bytes_before && !allows(arena, bytes - bytes_before)) return NULL;

    block = realloc(block, sizeof *block + bytes);
    if (block == NULL) return fail(arena, PAWL_NO_MEMORY);
    block->size = bytes;
    *link = block;
    arena->used_bytes = arena->used_bytes - bytes_before + bytes;
    return block->bytes;
}

/* The newest piece of the current block, with room behind it. */
static void *resize_newest(struct pawl_arena *arena, char *ptr, size_t bytes_old, size_t bytes_new)
{
    if (bytes_new > bytes_old && !allows(arena, bytes_new - bytes_old)) return NULL;
    arena->top = ptr + bytes_new;
    arena->room = arena->room + bytes_old - bytes_new;
    arena->used_bytes = arena->used_bytes - bytes_old + bytes_new;
    ASAN_UNPOISON_MEMORY_REGION(ptr, bytes_new);
    ASAN_POISON_MEMORY_REGION(arena->top, arena->room);
    return ptr;
}

void *pawl_arena_resize(struct pawl_arena *arena, void *ptr, size_t bytes_old, size_t bytes_new)
{
    pawl_assert(ptr != NULL || bytes_old == 0);
    if (arena->code != PAWL_OK) return NULL;
    if (ptr == NULL) return take(arena, bytes_new, ALIGN);
    struct block **large = find_large(arena, ptr);
    if (large != NULL) return resize_large(arena, large, bytes_new);

    char *piece = ptr;
    bool is_newest = piece + bytes_old == arena->top;
    if (is_newest && bytes_new <= bytes_old + arena->room) {
        return resize_newest(arena, piece, bytes_old, bytes_new);
    }
    if (bytes_new <= bytes_old) return ptr;
    char *copy = take(arena, bytes_new, ALIGN);
    if (copy != NULL) memcpy(copy, ptr, bytes_old);
    return copy;
}

struct pawl_str pawl_arena_copy(struct pawl_arena *arena, struct pawl_str str)
{
    if (str.ptr == NULL) return (struct pawl_str){0};
    if (str.len == 0) return (struct pawl_str){"", 0};
    char *copy = take(arena, str.len, 1);
    if (copy == NULL) return (struct pawl_str){0};
    memcpy(copy, str.ptr, str.len);
    return (struct pawl_str){copy, str.len};
}

char *pawl_arena_c_text(struct pawl_arena *arena, struct pawl_str str)
{
    char *copy = str.len < SIZE_MAX ? take(arena, str.len + 1, 1) : fail(arena, PAWL_TOO_LARGE);
    if (copy == NULL) return NULL;
    if (str.len > 0) memcpy(copy, str.ptr, str.len);
    copy[str.len] = '\0';
    return copy;
}

PAWL_PRINTF(2, 0)
static struct pawl_str format_list(struct pawl_arena *arena, const char *format, va_list args)
{
    /* Most texts are short: format them beside the arena, and again only if they are not. */
    char draft[256];
    va_list again;
    va_copy(again, args);
    int wanted = vsnprintf(draft, sizeof draft, format, args);
    struct pawl_str text = {0};
    if (wanted < 0) {
        (void)fail(arena, PAWL_TOO_LARGE);
    } else if ((size_t)wanted < sizeof draft) {
        text.ptr = pawl_arena_c_text(arena, (struct pawl_str){draft, (size_t)wanted});
    } else {
        char *out = take(arena, (size_t)wanted + 1, 1);
        if (out != NULL) (void)vsnprintf(out, (size_t)wanted + 1, format, again); /* as before */
        text.ptr = out;
    }
    va_end(again);
    if (text.ptr != NULL) text.len = (size_t)wanted;
    return text;
}

struct pawl_str pawl_arena_format(struct pawl_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct pawl_str text = format_list(arena, format, args);
    va_end(args);
    return text;
}

enum pawl_code pawl_arena_code(const struct pawl_arena *arena)
{
    return arena->code;
}

struct pawl_arena_mark pawl_arena_mark(const struct pawl_arena *arena)
{
    return (struct pawl_arena_mark){.block = arena->current,
                                    .top = arena->top,
                                    .used_bytes = arena->used_bytes,
                                    .large_count = arena->large_count,
                                    .code = arena->code};
}

void pawl_arena_rewind(struct pawl_arena *arena, struct pawl_arena_mark mark)
{
    pawl_assert(mark.large_count <= arena->large_count);
    free_large(arena, mark.large_count);
    set_top(arena, mark.block, mark.top);
    arena->used_bytes = mark.used_bytes;
    arena->code = mark.code;
}
