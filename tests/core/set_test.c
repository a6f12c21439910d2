/* The working set: what a command does is undone whole, and nothing is asked for twice. */
#include "base/str.h"
#include "core/set.h"
#include "test.h"

#include <string.h>

static const struct pawl_str none = {0};

static struct pawl_arena *open_arena(void)
{
    struct pawl_arena *arena;
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    return arena;
}

static struct pawl_task_row row_of(int64_t key)
{
    return (struct pawl_task_row){.key = key, .version = 1, .state = PAWL_TASK_PENDING};
}

TEST("a row that is not loaded is wanted once, and the command is short of it")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_set set;
    pawl_set_init(&set, arena);
    struct pawl_set_mark mark = pawl_set_begin(&set);
    struct pawl_entry *entry = pawl_set_task(&set, 5);
    CHECK(set.is_short);
    CHECK(pawl_set_task(&set, 5) == entry);
    CHECK_EQ(1, set.wanted.count);
    pawl_set_undo(&set, &mark);
    CHECK(!set.is_short);
    CHECK_EQ(1, set.wanted.count); /* still wanted: the command will come again */
    pawl_arena_close(arena);
}

TEST("undoing puts every changed row back, forgets what was appended, and may be done again")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_set set;
    pawl_set_init(&set, arena);
    struct pawl_task_row stored = row_of(5);
    struct pawl_entry *entry = pawl_set_enter(&set, PAWL_LOOK_TASK, 5, &stored);
    for (int round = 0; round < 2; round++) {
        struct pawl_set_mark mark = pawl_set_begin(&set);
        struct pawl_task_row *task = pawl_set_change(&set, entry);
        task->version = 2;
        task = pawl_set_change(&set, entry); /* twice in one command */
        task->version = 3;
        int64_t made = 9;
        pawl_set_put(&set, PAWL_LOOK_PAYLOAD, 81, none, 0, &made);
        pawl_set_append(&set, PAWL_APPEND_LOG, &made);
        pawl_set_undo(&set, &mark);
        CHECK_EQ(1, stored.version);
        CHECK(!entry->is_changed);
        CHECK(entry->saved == NULL);
        CHECK_EQ(0, set.appends[PAWL_APPEND_LOG].count);
        CHECK(pawl_set_look(&set, PAWL_LOOK_PAYLOAD, 81, none, 0, 0)->row == NULL);
    }
    pawl_arena_close(arena);
}

TEST("what one command has changed stays when the next one is undone")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_set set;
    pawl_set_init(&set, arena);
    struct pawl_task_row stored = row_of(5);
    struct pawl_entry *entry = pawl_set_enter(&set, PAWL_LOOK_TASK, 5, &stored);
    (void)pawl_set_begin(&set);
    ((struct pawl_task_row *)pawl_set_change(&set, entry))->version = 2;
    struct pawl_set_mark mark = pawl_set_begin(&set);
    ((struct pawl_task_row *)pawl_set_change(&set, entry))->version = 3;
    pawl_set_undo(&set, &mark);
    CHECK_EQ(2, stored.version);
    CHECK(entry->is_changed);
    CHECK_EQ(1, ((const struct pawl_task_row *)entry->saved)->version);
    pawl_arena_close(arena);
}

TEST("an answer of the store does not take the place of what the step has put there")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_set set;
    pawl_set_init(&set, arena);
    (void)pawl_set_begin(&set);
    struct pawl_task_row made = row_of(5);
    pawl_set_put(&set, PAWL_LOOK_TASK, 5, none, 0, &made);
    struct pawl_task_row stored = row_of(5);
    struct pawl_entry *entry = pawl_set_enter(&set, PAWL_LOOK_TASK, 5, &stored);
    CHECK(entry->row == &made);
    CHECK(!entry->is_stored);
    pawl_arena_close(arena);
}

TEST("lists of one number that begin elsewhere are told apart")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_set set;
    pawl_set_init(&set, arena);
    struct pawl_entry *first = pawl_set_look(&set, PAWL_LOOK_DEPENDENTS, 5, none, 0, 10);
    struct pawl_entry *second = pawl_set_look(&set, PAWL_LOOK_DEPENDENTS, 5, none, 77, 10);
    CHECK(first != second);
    CHECK_EQ(2, set.wanted.count);
    pawl_arena_close(arena);
}

TEST("a set without memory says so and stays usable for undoing")
{
    struct pawl_arena *arena;
    CHECK_OK(pawl_arena_open(&arena, 4096), NULL);
    struct pawl_set set;
    pawl_set_init(&set, arena);
    struct pawl_set_mark mark = pawl_set_begin(&set);
    for (int64_t key = 1; key < 1000 && !set.is_full; key++) (void)pawl_set_task(&set, key);
    CHECK(set.is_full);
    pawl_set_undo(&set, &mark);
    pawl_arena_close(arena);
}

TEST_MAIN()
