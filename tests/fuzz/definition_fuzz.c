/* A definition of a workflow from any bytes: read or refused, never a crash; what has no faults is
 * written so that reading it changes nothing, and so is its snapshot. */
#include "base/arena.h"
#include "base/assert.h"
#include "core/workflow/snapshot.h"
#include "fuzz/fuzz.h"

enum { ARENA_BYTES = 64 * 1024 * 1024 };

static enum pawl_lookup no_task(void *self, struct pawl_str name,
                                const struct pawl_task_definition **out)
{
    (void)self;
    (void)name;
    (void)out;
    return PAWL_LOOKUP_NONE;
}

static enum pawl_lookup no_version(void *self, struct pawl_str workflow, int32_t *out)
{
    (void)self;
    (void)workflow;
    (void)out;
    return PAWL_LOOKUP_NONE;
}

static const struct pawl_definition_source nothing = {.task = no_task,
                                                      .latest_version = no_version};

/* Reads what we have written. */
static struct pawl_definition *read_again(struct pawl_str text, struct pawl_arena *arena)
{
    struct pawl_faults faults;
    struct pawl_definition *definition = NULL;
    pawl_faults_init(&faults, arena);
    enum pawl_code code = pawl_definition_parse(text, arena, &faults, &definition, NULL);
    pawl_assert(code == PAWL_OK);
    pawl_assert(faults.count == 0);
    return definition;
}

static void write_and_read(const struct pawl_definition *definition, struct pawl_arena *arena)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_definition_write(definition, &w);
    struct pawl_str first = pawl_json_writer_done(&w);
    pawl_json_writer_init(&w, arena);
    pawl_definition_write(read_again(first, arena), &w);
    pawl_assert(pawl_str_equal(first, pawl_json_writer_done(&w)));

    struct pawl_snapshot snapshot;
    struct pawl_snapshot again;
    pawl_assert(pawl_snapshot_make(definition, &nothing, arena, &snapshot) == PAWL_LOOKUP_FOUND);
    const struct pawl_definition *read = read_again(snapshot.text, arena);
    pawl_assert(pawl_snapshot_make(read, &nothing, arena, &again) == PAWL_LOOKUP_FOUND);
    pawl_assert(pawl_str_equal(snapshot.text, again.text));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct pawl_arena *arena = NULL;
    struct pawl_arena *scratch = NULL;
    struct pawl_faults faults;
    struct pawl_definition *definition;
    static const struct pawl_definition_rules rules = {0};
    pawl_assert(pawl_arena_open(&arena, ARENA_BYTES) == PAWL_OK);
    pawl_assert(pawl_arena_open(&scratch, ARENA_BYTES) == PAWL_OK);
    pawl_faults_init(&faults, arena);
    struct pawl_str text = {(const char *)bytes, size};
    if (pawl_definition_parse(text, arena, &faults, &definition, NULL) == PAWL_OK) {
        enum pawl_lookup found = pawl_definition_check(definition, &rules, scratch, &faults);
        pawl_assert(found == PAWL_LOOKUP_FOUND); /* there is nothing to be asked */
        if (faults.count == 0) write_and_read(definition, arena);
    }
    pawl_arena_close(scratch);
    pawl_arena_close(arena);
    return 0;
}
