/* Any bytes as JSON. What is taken can be read whole, is the same when it is parsed again from its
 * own bytes or level by level, and comes out of the writer as it went in. */
#include "base/arena.h"
#include "base/assert.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "fuzz/fuzz.h"

enum { BUDGET_BYTES = 64 * 1024 * 1024, INPUT_BYTES_MAX = 64 * 1024 };

static bool has_zero_key; /* a key with a zero in it has no text to be written anew by */

/* Written anew, member by member; strings by their decoded text where they have one. */
static void write_node(struct pawl_json_writer *w, const struct pawl_json *node,
                       struct pawl_arena *arena)
{
    struct pawl_str text;
    int64_t number;
    double real;
    bool is_true;
    switch (node->kind) {
    case PAWL_JSON_OBJECT:
    case PAWL_JSON_ARRAY: {
        bool is_object = node->kind == PAWL_JSON_OBJECT;
        uint32_t count = 0;
        if (is_object)
            pawl_json_begin_object(w);
        else
            pawl_json_begin_array(w);
        for (const struct pawl_json *m = pawl_json_first(node); m != NULL;
             m = pawl_json_next(m), count++) {
            struct pawl_str key = {0};
            bool has_key = is_object && pawl_json_key(m, arena, &key);
            if (has_key) pawl_assert(pawl_json_member(node, key) == m);
            if (is_object) pawl_json_put_key_str(w, key);
            has_zero_key = has_zero_key || (is_object && !has_key);
            write_node(w, m, arena);
        }
        pawl_assert(count == node->child_count);
        if (is_object)
            pawl_json_end_object(w);
        else
            pawl_json_end_array(w);
        break;
    }
    case PAWL_JSON_STRING:
        if (pawl_json_text(node, arena, &text)) {
            pawl_assert(pawl_utf8_is_valid(text));
            pawl_json_put_text(w, text);
        } else {
            pawl_json_put_raw(w, node->raw); /* with a zero */
        }
        break;
    case PAWL_JSON_NUMBER:
        if (pawl_json_int64(node, &number)) pawl_assert(pawl_json_double(node, &real));
        pawl_json_put_raw(w, node->raw);
        break;
    case PAWL_JSON_TRUE:
    case PAWL_JSON_FALSE:
        pawl_assert(pawl_json_bool(node, &is_true) && is_true == (node->kind == PAWL_JSON_TRUE));
        pawl_json_put_bool(w, is_true);
        break;
    case PAWL_JSON_NULL:
        pawl_json_put_raw(w, PAWL_STR("null"));
        break;
    }
}

static struct pawl_str written(const struct pawl_json *root, struct pawl_arena *arena)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    write_node(&w, root, arena);
    struct pawl_str out = pawl_json_writer_done(&w);
    pawl_assert(out.len > 0);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > INPUT_BYTES_MAX) return 0;
    struct pawl_str text = {(const char *)bytes, size};
    struct pawl_arena *arena = NULL;
    struct pawl_json *root = NULL;
    struct pawl_json *again = NULL;
    struct pawl_json *top = NULL;
    struct pawl_error err = {0};
    pawl_assert(pawl_arena_open(&arena, BUDGET_BYTES) == PAWL_OK);
    enum pawl_code code = pawl_json_parse(text, arena, &root, &err);
    pawl_assert(code == PAWL_OK || code == PAWL_INVALID);
    pawl_assert((code == PAWL_OK) == (err.text[0] == '\0'));
    pawl_assert(pawl_json_check(text, arena, NULL) == code);
    if (code == PAWL_OK) {
        pawl_assert(pawl_json_parse(root->raw, arena, &again, NULL) == PAWL_OK);
        pawl_assert(pawl_json_parse_top(text, 0, arena, &top, NULL) == PAWL_OK);
        pawl_assert(pawl_str_equal(root->raw, again->raw) && pawl_str_equal(root->raw, top->raw));
        pawl_assert(top->child_count == root->child_count && top->first == NULL);
        has_zero_key = false;
        struct pawl_str first = written(root, arena);
        pawl_assert(has_zero_key || pawl_json_parse(first, arena, &again, NULL) == PAWL_OK);
        pawl_assert(has_zero_key || pawl_str_equal(first, written(again, arena)));
    }
    pawl_arena_close(arena);
    return 0;
}
