#include "base/arena.h"

#include "base/str.h"
#include "test.h"

#include <string.h>

/* The linker sends the allocations of this program here (CMakeLists.txt), so that they can fail:
 * the one that fails is counted down to, 0 is none. There is no argument to hang that on. */
static int allocations_left;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t bytes);

static bool fails_now(void)
{
    return allocations_left > 0 && --allocations_left == 0;
}

void *__wrap_malloc(size_t bytes)
{
    return fails_now() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *ptr, size_t bytes)
{
    return fails_now() ? NULL : __real_realloc(ptr, bytes);
}

static struct pawl_arena *open_arena(size_t budget_bytes)
{
    struct pawl_arena *arena = NULL;
    CHECK_OK(pawl_arena_open(&arena, budget_bytes), NULL);
    return arena;
}

static bool is_clear(const char *ptr, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (ptr[i] != 0) return false;
    }
    return true;
}

enum { MIB = 1024 * 1024 };

TEST("an arena without a place to go is misuse")
{
    CHECK_CODE(PAWL_MISUSE, pawl_arena_open(NULL, 0));
}

TEST("pieces of every size are clear, aligned to 16 bytes and apart from each other")
{
    static const size_t sizes[] = {0,        1,        7,    16,        17,
                                   1000,     4096,     5000, 70 * 1024, 900 * 1024,
                                   MIB - 16, MIB - 15, MIB,  3 * MIB,   1};
    struct pawl_arena *arena = open_arena(0);
    for (int round = 0; round < 3; round++) { /* later rounds meet used blocks */
        char *pieces[COUNT_OF(sizes)];
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            pieces[i] = pawl_arena_take(arena, sizes[i]);
            CHECK(pieces[i] != NULL);
            CHECK_EQ(0, (uintptr_t)pieces[i] % 16);
            CHECK(is_clear(pieces[i], sizes[i]));
            memset(pieces[i], (int)i + 1, sizes[i]);
        }
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            for (size_t at = 0; at < sizes[i]; at++) CHECK_EQ(i + 1, pieces[i][at]);
        }
        pawl_arena_reset(arena);
    }
    pawl_arena_close(arena);
}

TEST("blocks are kept between resets")
{
    struct pawl_arena *arena = open_arena(0);
    char *before = pawl_arena_take(arena, 100);
    pawl_arena_reset(arena);
    CHECK(before == pawl_arena_take(arena, 100));
    pawl_arena_close(arena);
}

TEST("the budget can be used to its last byte, and one more is too large, until reset")
{
    struct pawl_arena *arena = open_arena(1000);
    CHECK(pawl_arena_take(arena, 600) != NULL);
    CHECK(pawl_arena_take(arena, 392) != NULL); /* 8 bytes went to alignment */
    CHECK_OK(pawl_arena_code(arena), NULL);
    CHECK(pawl_arena_take(arena, 1) == NULL);
    CHECK_CODE(PAWL_TOO_LARGE, pawl_arena_code(arena));

    pawl_arena_reset(arena);
    CHECK_OK(pawl_arena_code(arena), NULL);
    CHECK(pawl_arena_take(arena, 1000) != NULL);
    pawl_arena_close(arena);
}

TEST("failure is sticky: after it nothing is given, however small")
{
    struct pawl_arena *arena = open_arena(1000);
    char *piece = pawl_arena_take(arena, 8);
    CHECK(pawl_arena_take(arena, 2000) == NULL);
    CHECK(pawl_arena_take(arena, 1) == NULL);
    CHECK(pawl_arena_take_array(arena, 1, 1) == NULL);
    CHECK(pawl_arena_c_text(arena, PAWL_STR("a")) == NULL);
    CHECK(pawl_arena_copy(arena, PAWL_STR("a")).ptr == NULL);
    CHECK(pawl_arena_format(arena, "a").ptr == NULL);
    CHECK(pawl_arena_resize(arena, piece, 8, 9) == NULL);
    CHECK_CODE(PAWL_TOO_LARGE, pawl_arena_code(arena));
    pawl_arena_close(arena);
}

TEST("an array whose size overflows is too large")
{
    struct pawl_arena *arena = open_arena(SIZE_MAX);
    CHECK(pawl_arena_take_array(arena, SIZE_MAX / 2, 3) == NULL);
    CHECK_CODE(PAWL_TOO_LARGE, pawl_arena_code(arena));
    pawl_arena_reset(arena);
    CHECK(pawl_arena_take(arena, SIZE_MAX) == NULL); /* nor does the block's header wrap it round */
    CHECK_CODE(PAWL_TOO_LARGE, pawl_arena_code(arena));
    pawl_arena_reset(arena);
    CHECK(is_clear(pawl_arena_take_array(arena, 100, 8), 800));
    pawl_arena_close(arena);
}

/* Takes pieces of all kinds; false as soon as one was not given. */
static bool use_all_kinds(struct pawl_arena *arena)
{
    char *small = pawl_arena_take(arena, 100);
    if (small == NULL) return false;
    memset(small, 's', 100);
    char *block = pawl_arena_take(arena, 100 * 1024);
    char *large = block == NULL ? NULL : pawl_arena_take(arena, 2 * MIB);
    if (large == NULL) return false;
    memset(large, 'l', 2 * MIB);
    char *larger = pawl_arena_resize(arena, large, 2 * MIB, 3 * MIB);
    CHECK_EQ('s', small[99]);
    CHECK_EQ('l', larger == NULL ? large[0] : larger[2 * MIB - 1]);
    return larger != NULL;
}

TEST("each allocation may fail: that is no memory, sticks, and is over after reset")
{
    int fail_at = 1;
    for (;; fail_at++) {
        struct pawl_arena *arena = open_arena(0);
        allocations_left = fail_at;
        bool is_done = use_all_kinds(arena);
        bool has_failed = allocations_left == 0;
        allocations_left = 0;
        CHECK_EQ(!has_failed, is_done);
        if (has_failed) {
            CHECK_CODE(PAWL_NO_MEMORY, pawl_arena_code(arena));
            CHECK(pawl_arena_take(arena, 1) == NULL);
            pawl_arena_reset(arena);
            CHECK(use_all_kinds(arena));
        }
        pawl_arena_close(arena);
        if (!has_failed) break;
    }
    CHECK_EQ(5, fail_at); /* two blocks, a large one, its growth; the fifth never comes */
}

TEST("an arena that cannot be opened leaves the pointer alone")
{
    struct pawl_arena *arena = NULL;
    allocations_left = 1;
    CHECK_CODE(PAWL_NO_MEMORY, pawl_arena_open(&arena, 0));
    CHECK(arena == NULL);
}

TEST("copies hold the bytes; what was not given stays so")
{
    struct pawl_arena *arena = open_arena(0);
    CHECK_STR("abc", pawl_arena_copy(arena, PAWL_STR("abc")));
    CHECK(pawl_arena_copy(arena, (struct pawl_str){0}).ptr == NULL);
    CHECK(pawl_arena_copy(arena, PAWL_STR("")).ptr != NULL);
    CHECK_TEXT("abc", pawl_arena_c_text(arena, PAWL_STR("abc")));
    CHECK_TEXT("", pawl_arena_c_text(arena, (struct pawl_str){0}));
    pawl_arena_close(arena);
}

TEST("texts are formatted at every length around that of the draft")
{
    struct pawl_arena *arena = open_arena(0);
    for (int len = 0; len<600; len += len> 250 && len < 260 ? 1 : 10) {
        struct pawl_str text = pawl_arena_format(arena, "%*s", len, "");
        CHECK_EQ(len, text.len);
        CHECK_EQ(len, strlen(text.ptr));
    }
    CHECK_STR("7 tasks", pawl_arena_format(arena, "%d %s", 7, "tasks"));
    pawl_arena_close(arena);
}

TEST("the newest piece grows and shrinks where it is")
{
    struct pawl_arena *arena = open_arena(2000);
    char *piece = pawl_arena_resize(arena, NULL, 0, 100);
    memset(piece, 'x', 100);
    CHECK(piece == pawl_arena_resize(arena, piece, 100, 1000));
    CHECK(piece == pawl_arena_resize(arena, piece, 1000, 50));
    CHECK_EQ('x', piece[49]);
    CHECK(pawl_arena_take(arena, 1936) != NULL); /* what it gave back can be had again */
    CHECK(pawl_arena_take(arena, 1) == NULL);
    pawl_arena_close(arena);
}

TEST("a piece that cannot grow where it is moves with its bytes")
{
    struct pawl_arena *arena = open_arena(0);
    char *piece = pawl_arena_take(arena, 100);
    memset(piece, 'x', 100);
    CHECK(pawl_arena_take(arena, 1) != NULL);
    char *moved = pawl_arena_resize(arena, piece, 100, 200);
    CHECK(moved != NULL && moved != piece);
    CHECK_EQ('x', moved[99]);
    pawl_arena_close(arena);
}

TEST("a buffer doubles through all kinds of blocks and keeps its bytes, within twice its size")
{
    struct pawl_arena *arena = open_arena(32 * MIB);
    size_t bytes = 16;
    char *buffer = pawl_arena_resize(arena, NULL, 0, bytes);
    for (; bytes < 16 * MIB; bytes *= 2) {
        memset(buffer + bytes / 2, (int)(bytes % 127), bytes / 2);
        buffer = pawl_arena_resize(arena, buffer, bytes, 2 * bytes);
        CHECK(buffer != NULL);
    }
    for (size_t at = 16; at < 16 * MIB; at *= 2) CHECK_EQ(at % 127, buffer[at - 1]);
    pawl_arena_close(arena);
}

TEST("large pieces grow without a copy in the budget, also when newer ones exist")
{
    struct pawl_arena *arena = open_arena(11 * MIB);
    char *a = pawl_arena_take(arena, 2 * MIB);
    char *b = pawl_arena_take(arena, 2 * MIB);
    memset(a, 'a', 2 * MIB);
    memset(b, 'b', 2 * MIB);
    a = pawl_arena_resize(arena, a, 2 * MIB, 4 * MIB);
    b = pawl_arena_resize(arena, b, 2 * MIB, 7 * MIB);
    CHECK(a != NULL && b != NULL);
    CHECK_EQ('a', a[2 * MIB - 1]);
    CHECK_EQ('b', b[2 * MIB - 1]);
    CHECK(pawl_arena_resize(arena, b, 7 * MIB, 7 * MIB + 1) == NULL);
    CHECK_CODE(PAWL_TOO_LARGE, pawl_arena_code(arena));
    pawl_arena_close(arena);
}

TEST("going back to a mark gives back what came after it, large pieces too")
{
    struct pawl_arena *arena = open_arena(4 * MIB);
    struct pawl_arena_mark start = pawl_arena_mark(arena); /* before the first block */
    for (int round = 0; round < 10; round++) {
        char *kept = pawl_arena_take(arena, 100);
        memset(kept, 'k', 100);
        struct pawl_arena_mark mark = pawl_arena_mark(arena);
        CHECK(pawl_arena_take(arena, 3 * MIB) != NULL);
        CHECK(pawl_arena_take(arena, 500 * 1024) != NULL);
        pawl_arena_rewind(arena, mark);
        CHECK_EQ('k', kept[99]);
        CHECK(is_clear(pawl_arena_take(arena, 100), 100));
        CHECK_EQ('k', kept[99]);
        pawl_arena_rewind(arena, start);
    }
    pawl_arena_close(arena);
}

TEST("going back forgets a failure after the mark and keeps one before it")
{
    struct pawl_arena *arena = open_arena(100);
    struct pawl_arena_mark mark = pawl_arena_mark(arena);
    CHECK(pawl_arena_take(arena, 101) == NULL);
    struct pawl_arena_mark failed = pawl_arena_mark(arena);
    pawl_arena_rewind(arena, failed);
    CHECK_CODE(PAWL_TOO_LARGE, pawl_arena_code(arena));
    pawl_arena_rewind(arena, mark);
    CHECK_OK(pawl_arena_code(arena), NULL);
    CHECK(pawl_arena_take(arena, 100) != NULL);
    pawl_arena_close(arena);
}

TEST("closing nothing is allowed")
{
    pawl_arena_close(NULL);
}

TEST_MAIN()
