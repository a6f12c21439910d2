#include "base/map.h"

#include "base/arena.h"
#include "base/str.h"
#include "test.h"

static struct pawl_arena *open_arena(size_t budget_bytes)
{
    struct pawl_arena *arena = NULL;
    CHECK_OK(pawl_arena_open(&arena, budget_bytes), NULL);
    return arena;
}

TEST("an empty map finds nothing and takes nothing from its arena")
{
    struct pawl_arena *arena = open_arena(1);
    struct pawl_map map;
    pawl_map_init(&map, arena);
    CHECK(pawl_map_at(&map, 1, 2, PAWL_STR("a")) == NULL);
    CHECK_EQ(0, pawl_map_count(&map));
    CHECK(pawl_arena_take(arena, 1) != NULL);
    pawl_arena_close(arena);
}

TEST("kind, number and text are all part of the key")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_map map;
    pawl_map_init(&map, arena);
    int value = 0;
    *pawl_map_put(&map, 1, 2, PAWL_STR("a")) = &value;
    CHECK(*pawl_map_at(&map, 1, 2, PAWL_STR("a")) == &value);
    CHECK(pawl_map_at(&map, 2, 2, PAWL_STR("a")) == NULL);
    CHECK(pawl_map_at(&map, 1, 3, PAWL_STR("a")) == NULL);
    CHECK(pawl_map_at(&map, 1, 2, PAWL_STR("b")) == NULL);
    CHECK(pawl_map_at(&map, 1, 2, (struct pawl_str){0}) == NULL);
    pawl_arena_close(arena);
}

TEST("putting a key again finds its slot with the value in it")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_map map;
    pawl_map_init(&map, arena);
    int value = 0;
    void **slot = pawl_map_put(&map, 1, INT64_MIN, (struct pawl_str){0});
    CHECK(*slot == NULL);
    *slot = &value;
    CHECK(pawl_map_put(&map, 1, INT64_MIN, (struct pawl_str){0}) == slot);
    CHECK(*slot == &value);
    CHECK_EQ(1, pawl_map_count(&map));
    pawl_arena_close(arena);
}

TEST("50 000 keys are found again, in their order, in slots that never moved")
{
    enum { COUNT = 50000 };
    static int values[COUNT];
    static void **slots[COUNT];
    struct pawl_arena *arena = open_arena(0);
    struct pawl_map map;
    pawl_map_init(&map, arena);
    for (int i = 0; i < COUNT; i++) {
        struct pawl_str text =
            i % 2 == 0 ? pawl_arena_format(arena, "key %d", i) : (struct pawl_str){0};
        slots[i] = pawl_map_put(&map, (uint32_t)i % 3, i / 2, text);
        *slots[i] = &values[i];
    }
    CHECK_EQ(COUNT, pawl_map_count(&map));
    for (int i = 0; i < COUNT; i++) {
        const struct pawl_map_entry *entry = pawl_map_entry(&map, (size_t)i);
        CHECK(entry->value == &values[i]);
        CHECK_EQ(i % 3, entry->kind);
        CHECK_EQ(i / 2, entry->number);
        CHECK(pawl_map_at(&map, entry->kind, entry->number, entry->text) == slots[i]);
    }
    pawl_arena_close(arena);
}

TEST("a map whose arena is full refuses new keys and keeps the old ones")
{
    struct pawl_arena *arena = open_arena(20000);
    struct pawl_map map;
    pawl_map_init(&map, arena);
    int64_t number = 0;
    while (pawl_map_put(&map, 0, number, (struct pawl_str){0}) != NULL) number++;
    CHECK(number > 100);
    CHECK_EQ(number, pawl_map_count(&map));
    CHECK_CODE(PAWL_TOO_LARGE, pawl_arena_code(arena));
    for (int64_t i = 0; i < number; i++) {
        CHECK(pawl_map_at(&map, 0, i, (struct pawl_str){0}) != NULL);
    }
    CHECK(pawl_map_at(&map, 0, number, (struct pawl_str){0}) == NULL);
    pawl_arena_close(arena);
}

TEST("initialising again empties the map")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_map map;
    pawl_map_init(&map, arena);
    CHECK(pawl_map_put(&map, 0, 1, PAWL_STR("a")) != NULL);
    pawl_map_init(&map, arena);
    CHECK_EQ(0, pawl_map_count(&map));
    CHECK(pawl_map_at(&map, 0, 1, PAWL_STR("a")) == NULL);
    pawl_arena_close(arena);
}

TEST_MAIN()
