/* Any text as the template of a workflow: alone as the text of one string, and, if it is JSON, as
 * it is. Whatever comes out is JSON, and the same each time; a check of it ends too. */
#include "base/arena.h"
#include "base/assert.h"
#include "base/str.h"
#include "core/workflow/expression.h"
#include "fuzz/fuzz.h"

enum { BUDGET_BYTES = 8 * 1024 * 1024, INPUT_BYTES_MAX = 64 * 1024 };

static enum pawl_found get(void *self, struct pawl_str root, struct pawl_str field,
                           const struct pawl_json **value)
{
    (void)root;
    if (pawl_str_equal(field, PAWL_STR("later"))) return PAWL_FOUND_NOT_LOADED;
    if (pawl_str_equal(field, PAWL_STR("nothing"))) return PAWL_FOUND_NOTHING;
    *value = self;
    return PAWL_FOUND_VALUE;
}

static bool env(void *self, struct pawl_str name, bool is_bare, struct pawl_str *value)
{
    (void)self;
    (void)is_bare;
    *value = name;
    return true;
}

static bool has_task(void *self, struct pawl_str reference)
{
    (void)self;
    return reference.len % 2 == 0;
}

static void resolve(struct pawl_str json, struct pawl_json *value, struct pawl_arena *keep)
{
    struct pawl_scope scope = {.self = value, .get = get, .env = env, .task_id = PAWL_STR("id")};
    struct pawl_names names = {.has_task = has_task};
    struct pawl_str first = {0};
    for (int32_t run = 0; run < 2; run++) {
        struct pawl_arena *scratch = NULL;
        struct pawl_json_writer w;
        bool is_needed = false;
        pawl_assert(pawl_arena_open(&scratch, BUDGET_BYTES) == PAWL_OK);
        pawl_json_writer_init(&w, keep);
        enum pawl_code code = pawl_template_resolve(json, &scope, scratch, &w, &is_needed, NULL);
        pawl_assert(code == PAWL_OK || code == PAWL_TOO_LARGE);
        struct pawl_str got = pawl_json_writer_done(&w);
        pawl_assert((got.len > 0) == (code == PAWL_OK && !is_needed));
        pawl_arena_reset(scratch);
        pawl_assert(got.len == 0 || pawl_json_check(got, scratch, NULL) == PAWL_OK);
        pawl_assert(run == 0 || pawl_str_equal(first, got));
        first = got;
        pawl_arena_reset(scratch);
        code = pawl_template_check(json, &names, scratch, NULL);
        pawl_assert(code == PAWL_OK || code == PAWL_INVALID || code == PAWL_TOO_LARGE);
        pawl_arena_close(scratch);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > INPUT_BYTES_MAX) return 0;
    static const struct pawl_str data = PAWL_STR_INIT(
        "{\"a\":[1,2.5,{\"b\":\"x\",\"c\":[[],{}]}],\"b\":\"t\\u0000\",\"d\":null,\"e\":true}");
    struct pawl_str text = {(const char *)bytes, size};
    struct pawl_arena *keep = NULL;
    struct pawl_json *value = NULL;
    pawl_assert(pawl_arena_open(&keep, 0) == PAWL_OK);
    pawl_assert(pawl_json_parse(data, keep, &value, NULL) == PAWL_OK);

    struct pawl_json_writer w;
    pawl_json_writer_init(&w, keep);
    pawl_json_put_text(&w, text);
    resolve(pawl_json_writer_done(&w), value, keep);
    if (pawl_json_check(text, keep, NULL) == PAWL_OK) resolve(text, value, keep);
    pawl_arena_close(keep);
    return 0;
}
