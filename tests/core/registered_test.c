/* The latest version of a definition, as a step has it that changes definitions itself. */
#include "core/workflow/registered.h"

#include "base/str.h"
#include "core/step.h"
#include "test.h"

enum { STORED_MAX = 4 };

struct shelf {
    struct pawl_arena *arena;
    struct pawl_step step;
    struct pawl_definition_row stored[STORED_MAX]; /* by version */
    size_t stored_count;
};

static const struct pawl_str name = PAWL_STR_INIT("w");

static void shelf_open(struct shelf *shelf, const int64_t *versions, size_t count)
{
    *shelf = (struct shelf){.stored_count = count};
    CHECK_OK(pawl_arena_open(&shelf->arena, 0), NULL);
    pawl_set_init(&shelf->step.set, shelf->arena);
    shelf->step.generation = shelf->step.generation_begun = 10;
    for (size_t i = 0; i < count; i++) {
        shelf->stored[i] = (struct pawl_definition_row){.key = 1 + (int64_t)i,
                                                        .kind = PAWL_DEFINITION_WORKFLOW,
                                                        .name = name,
                                                        .version = versions[i],
                                                        .body = PAWL_STR("{}")};
    }
}

static void answer(struct shelf *shelf, struct pawl_entry *entry)
{
    struct pawl_definition_row *best = NULL;
    int64_t kind = 0;
    int64_t version = 0;
    pawl_definition_number_read(entry->number, &kind, &version);
    CHECK_EQ(PAWL_DEFINITION_WORKFLOW, kind);
    bool is_below = entry->look == PAWL_LOOK_DEFINITION_BELOW;
    for (size_t i = 0; i < shelf->stored_count; i++) {
        struct pawl_definition_row *row = &shelf->stored[i];
        if (is_below ? row->version < version : row->version == version) best = row;
    }
    if (is_below && best != NULL) {
        (void)pawl_set_enter_text(&shelf->step.set, PAWL_LOOK_DEFINITION,
                                  pawl_definition_number(PAWL_DEFINITION_WORKFLOW, best->version),
                                  name, best);
    }
    pawl_set_answer(&shelf->step.set, entry,
                    best == NULL ? NULL : is_below ? (void *)&best->version : (void *)best);
}

static void answer_all(struct shelf *shelf)
{
    struct pawl_append *wanted = &shelf->step.set.wanted;
    for (size_t i = 0; i < wanted->count; i++) {
        answer(shelf, ((struct pawl_entry **)wanted->items)[i]);
    }
    wanted->count = 0;
}

static enum pawl_code run(struct shelf *shelf, struct pawl_command *command)
{
    while (pawl_step_run(&shelf->step, command) == PAWL_NEED) answer_all(shelf);
    return command->code;
}

static enum pawl_code put(struct shelf *shelf, int64_t version)
{
    const struct pawl_definition_new item = {PAWL_DEFINITION_WORKFLOW, name, version,
                                             PAWL_STR("{}")};
    struct pawl_command command = {.kind = PAWL_COMMAND_DEFINE};
    command.ask.define.items = &item;
    command.ask.define.count = 1;
    return run(shelf, &command);
}

static enum pawl_code take_away(struct shelf *shelf, int64_t version)
{
    struct pawl_command command = {.kind = PAWL_COMMAND_UNDEFINE};
    command.ask.undefine =
        (struct pawl_definition_new){PAWL_DEFINITION_WORKFLOW, name, version, {0}};
    return run(shelf, &command);
}

/* The version; -1 for none. */
static int64_t latest(struct shelf *shelf)
{
    for (;;) {
        (void)pawl_set_begin(&shelf->step.set);
        const struct pawl_definition_row *row = pawl_registered_get(
            &shelf->step, PAWL_DEFINITION_WORKFLOW, name, PAWL_VERSION_LATEST);
        if (!shelf->step.set.is_short) return row == NULL ? -1 : row->version;
        CHECK(row == NULL);
        answer_all(shelf);
    }
}

TEST("the latest is what the store has, and what the step has put beyond it")
{
    struct shelf shelf;
    const int64_t versions[] = {1, 3};
    shelf_open(&shelf, versions, COUNT_OF(versions));
    CHECK_EQ(3, latest(&shelf));
    CHECK_EQ(PAWL_OK, put(&shelf, 2));
    CHECK_EQ(3, latest(&shelf));
    CHECK_EQ(PAWL_OK, put(&shelf, 7));
    CHECK_EQ(7, latest(&shelf));
    CHECK_EQ(12, shelf.step.generation);
    pawl_arena_close(shelf.arena);
}

TEST("what the step has removed is passed over, down to none")
{
    struct shelf shelf;
    const int64_t versions[] = {-2, 1, 3};
    shelf_open(&shelf, versions, COUNT_OF(versions));
    CHECK_EQ(PAWL_OK, take_away(&shelf, 3));
    CHECK_EQ(1, latest(&shelf));
    CHECK_EQ(PAWL_OK, put(&shelf, 2));
    CHECK_EQ(2, latest(&shelf));
    CHECK_EQ(PAWL_OK, take_away(&shelf, 2));
    CHECK_EQ(PAWL_OK, take_away(&shelf, 1));
    CHECK_EQ(-2, latest(&shelf));
    CHECK_EQ(PAWL_OK, take_away(&shelf, -2));
    CHECK_EQ(-1, latest(&shelf));
    CHECK_EQ(PAWL_NOT_FOUND, take_away(&shelf, 3));
    CHECK_EQ(PAWL_OK, put(&shelf, 3));
    CHECK_EQ(3, latest(&shelf));
    pawl_arena_close(shelf.arena);
}

TEST("kind and version share a number and come out of it again")
{
    static const int64_t versions[] = {0, 1, -1, -16, INT32_MAX, INT32_MIN, PAWL_VERSION_LATEST};
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        for (int kind = PAWL_DEFINITION_TASK; kind <= (int)PAWL_DEFINITION_KIND_LAST; kind++) {
            int64_t kind_read = 0;
            int64_t version_read = 0;
            int64_t number = pawl_definition_number((enum pawl_definition_kind)kind, versions[i]);
            pawl_definition_number_read(number, &kind_read, &version_read);
            CHECK_EQ(kind, kind_read);
            CHECK_EQ(versions[i], version_read);
        }
    }
}

TEST_MAIN()
