/* Any text as the query of a search, and as its order. What is taken can be asked of anything, and
 * says the same each time; what is not names the place. */
#include "base/arena.h"
#include "base/array.h"
#include "base/assert.h"
#include "base/str.h"
#include "fuzz/fuzz.h"
#include "net/conductor/query.h"

enum { BUDGET_BYTES = 8 * 1024 * 1024 };

static const struct pawl_query_field fields[] = {
    {"status", false}, {"startTime", true}, {"reason", false}};

static struct pawl_query_value value_of(void *self, size_t field)
{
    const char *const texts[] = {"RUNNING", "", ""};
    pawl_assert(self != NULL && field < PAWL_COUNT_OF(fields));
    return (struct pawl_query_value){.text = pawl_str_of(texts[field]), .number = 7};
}

static void check_refusal(enum pawl_code code, const struct pawl_error *err)
{
    pawl_assert(code == PAWL_OK || code == PAWL_INVALID || code == PAWL_TOO_LARGE);
    pawl_assert((code == PAWL_OK) == (err->text[0] == '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct pawl_str text = {(const char *)bytes, size};
    struct pawl_query_sort sorts[PAWL_QUERY_SORTS_MAX];
    struct pawl_query *query = NULL;
    struct pawl_arena *arena = NULL;
    struct pawl_error err = {0};
    size_t count = 0;
    int self = 0;
    pawl_assert(pawl_arena_open(&arena, BUDGET_BYTES) == PAWL_OK);
    enum pawl_code code = pawl_query_of(text, fields, PAWL_COUNT_OF(fields), arena, &query, &err);
    check_refusal(code, &err);
    if (code == PAWL_OK) {
        bool holds = pawl_query_holds(query, &self, value_of);
        pawl_assert(pawl_query_holds(query, &self, value_of) == holds);
        pawl_assert(pawl_str_trim(text).len > 0 || holds);
    }
    err = (struct pawl_error){0};
    code = pawl_query_sort_of(text, fields, PAWL_COUNT_OF(fields), sorts, &count, &err);
    check_refusal(code, &err);
    pawl_assert(code != PAWL_OK || count <= PAWL_QUERY_SORTS_MAX);
    for (size_t i = 0; code == PAWL_OK && i < count; i++)
        pawl_assert(sorts[i].field < PAWL_COUNT_OF(fields));
    pawl_arena_close(arena);
    return 0;
}
