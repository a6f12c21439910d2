#include "base/json.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct pawl_arena *open_arena(size_t budget_bytes)
{
    struct pawl_arena *arena = NULL;
    CHECK_OK(pawl_arena_open(&arena, budget_bytes), NULL);
    return arena;
}

/* ---- What is JSON --------------------------------------------------------------------------- */

static const struct pawl_str valid[] = {
    PAWL_STR_INIT("null"),
    PAWL_STR_INIT("true"),
    PAWL_STR_INIT("false"),
    PAWL_STR_INIT(" \t\r\n null \t\r\n "),
    PAWL_STR_INIT("0"),
    PAWL_STR_INIT("-0"),
    PAWL_STR_INIT("129.9"),
    PAWL_STR_INIT("9007199254740993"),
    PAWL_STR_INIT("-12.50e+10"),
    PAWL_STR_INIT("1E-7"),
    PAWL_STR_INIT("0e0"),
    PAWL_STR_INIT("1e999999999999"), /* its text is a number, whether or not a double holds it */
    PAWL_STR_INIT("\"\""),
    PAWL_STR_INIT("\"plain\""),
    PAWL_STR_INIT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
    PAWL_STR_INIT("\"\\u0000\\u001f\\uABCD\\uabcd\""),
    PAWL_STR_INIT("\"\\ud83d\\uDE00\""),
    PAWL_STR_INIT("\"\\uD800\\uDC00\\udbff\\udfff\""),
    PAWL_STR_INIT("\"\\ud7ff\\ue000\""),
    PAWL_STR_INIT("\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\x7F\""),
    PAWL_STR_INIT("\"12345678\\n12345678\xC3\xA4"
                  "12345678\""),
    PAWL_STR_INIT("[]"),
    PAWL_STR_INIT("[ ]"),
    PAWL_STR_INIT("{}"),
    PAWL_STR_INIT("{ }"),
    PAWL_STR_INIT("[1,[2,[3,{}]],{\"a\":[]}]"),
    PAWL_STR_INIT("{\"a\":1,\"b\":{\"a\":1},\"A\":[{\"a\":1},{\"a\":1}]}"),
    PAWL_STR_INIT("{\"\":1}"),
    PAWL_STR_INIT("{ \"a\" : 1 , \"b\" : 2 }"),
    PAWL_STR_INIT("{\"a\\u0000\":1,\"a\":2}"),
    PAWL_STR_INIT("{\n          \"deep\": [\n          1,\n          2\n          ]\n}"),
};

TEST("what RFC 8259 allows is JSON")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_error err;
    for (size_t i = 0; i < COUNT_OF(valid); i++) {
        CHECK_OK(pawl_json_check(valid[i], arena, &err), &err);
        struct pawl_json *root = NULL;
        CHECK_OK(pawl_json_parse(valid[i], arena, &root, &err), &err);
        struct pawl_str raw = pawl_str_trim(valid[i]);
        CHECK_BYTES(raw.ptr, raw.len, root->raw.ptr, root->raw.len);
    }
    pawl_arena_close(arena);
}

static const struct {
    struct pawl_str text;
    const char *want;
} invalid[] = {
    {{NULL, 0}, "line 1, column 1: a value was expected, but the text ends"},
    {PAWL_STR_INIT(" \n\n "), "line 3, column 2: a value was expected, but the text ends"},
    {PAWL_STR_INIT("nul"), "line 1, column 1: a value was expected, not 'n'"},
    {PAWL_STR_INIT("True"), "a value was expected, not 'T'"},
    {PAWL_STR_INIT("nullx"), "column 5: the end of the text was expected, not 'x'"},
    {PAWL_STR_INIT("1 2"), "column 3: the end of the text was expected, not '2'"},
    {PAWL_STR_INIT("{} {}"), "column 4: the end of the text was expected, not '{'"},
    {PAWL_STR_INIT("null\0"), "column 5: the end of the text was expected, not the byte 0x00"},
    {PAWL_STR_INIT("\xEF\xBB\xBFnull"), "column 1: a value was expected, not the byte 0xef"},
    {PAWL_STR_INIT("NaN"), "a value was expected"},
    {PAWL_STR_INIT("-Infinity"), "column 2: a digit was expected, not 'I'"},
    {PAWL_STR_INIT("'a'"), "a value was expected, not '''"},
    {PAWL_STR_INIT("// x\n1"), "a value was expected, not '/'"},
    {PAWL_STR_INIT("\f1"), "a value was expected, not the byte 0x0c"},
    {PAWL_STR_INIT("\xC2\xA0"
                   "1"),
     "a value was expected, not '\xC2\xA0'"},

    {PAWL_STR_INIT("+1"), "a value was expected, not '+'"},
    {PAWL_STR_INIT(".5"), "a value was expected, not '.'"},
    {PAWL_STR_INIT("-"), "column 2: a digit was expected, but the text ends"},
    {PAWL_STR_INIT("01"), "column 1: a number must not begin with a zero"},
    {PAWL_STR_INIT("-01"), "column 2: a number must not begin with a zero"},
    {PAWL_STR_INIT("1."), "column 3: a digit was expected, but the text ends"},
    {PAWL_STR_INIT("1.e1"), "column 3: a digit was expected, not 'e'"},
    {PAWL_STR_INIT("1e"), "column 3: a digit was expected"},
    {PAWL_STR_INIT("1e+"), "column 4: a digit was expected"},
    {PAWL_STR_INIT("1.5.2"), "column 4: the end of the text was expected, not '.'"},
    {PAWL_STR_INIT("0x10"), "column 2: the end of the text was expected, not 'x'"},

    {PAWL_STR_INIT("\""), "column 1: the string is not closed"},
    {PAWL_STR_INIT("[\"abc]"), "column 2: the string is not closed"},
    {PAWL_STR_INIT("\"abc\\"), "column 1: the string is not closed"},
    {PAWL_STR_INIT("\"abc\\\""), "column 1: the string is not closed"},
    {PAWL_STR_INIT("\"a\nb\""), "column 3: a control character (0x0a) must be escaped"},
    {PAWL_STR_INIT("\"a\0b\""), "column 3: a control character (0x00) must be escaped"},
    {PAWL_STR_INIT("\"1234567\x1F\""), "column 9: a control character (0x1f) must be escaped"},
    {PAWL_STR_INIT("\"\\x41\""), "column 2: there is no such escape"},
    {PAWL_STR_INIT("\"\\'\""), "column 2: there is no such escape"},
    {PAWL_STR_INIT("\"\\\0\""), "column 2: there is no such escape"},
    {PAWL_STR_INIT("\"\\U0041\""), "column 2: there is no such escape"},
    {PAWL_STR_INIT("\"\\u12"), "column 2: an escape with \\u needs four hexadecimal digits"},
    {PAWL_STR_INIT("\"\\u123\""), "column 2: an escape with \\u needs four"},
    {PAWL_STR_INIT("\"\\u12g4\""), "column 2: an escape with \\u needs four"},
    {PAWL_STR_INIT("\"\\u+123\""), "column 2: an escape with \\u needs four"},
    {PAWL_STR_INIT("\"\\ud83d\""), "column 2: half of a surrogate pair stands alone"},
    {PAWL_STR_INIT("\"\\ud83dx\""), "column 2: half of a surrogate pair"},
    {PAWL_STR_INIT("\"\\ud83d\\n12345\""), "column 2: half of a surrogate pair"},
    {PAWL_STR_INIT("\"\\ud83d\\u0041\""), "column 2: half of a surrogate pair"},
    {PAWL_STR_INIT("\"\\ud83d\\ud83d\""), "column 2: half of a surrogate pair"},
    {PAWL_STR_INIT("\"\\ud83d\\ude0\""), "column 2: half of a surrogate pair"},
    {PAWL_STR_INIT("\"\\ud83d\\ude0"), "column 2: half of a surrogate pair"},
    {PAWL_STR_INIT("\"\\ude00\""), "column 2: half of a surrogate pair"},
    {PAWL_STR_INIT("\"\\ude00\\ud83d\""), "column 2: half of a surrogate pair"},
    {PAWL_STR_INIT("\"ab\x80\""), "column 4: the text is not valid UTF-8"},
    {PAWL_STR_INIT("\"\xC3\""), "column 2: the text is not valid UTF-8"},
    {PAWL_STR_INIT("\"\xC0\x80\""), "column 2: the text is not valid UTF-8"},
    {PAWL_STR_INIT("\"\xED\xA0\x80\""), "column 2: the text is not valid UTF-8"},
    {PAWL_STR_INIT("\"\xC3\xA4\xF4\x90\x80\x80\""), "column 3: the text is not valid UTF-8"},
    {PAWL_STR_INIT("\"\xE2\x82"), "column 2: the text is not valid UTF-8"},

    {PAWL_STR_INIT("["), "column 2: a value was expected, but the text ends"},
    {PAWL_STR_INIT("[1"), "column 3: a comma or ']' was expected, but the text ends"},
    {PAWL_STR_INIT("[1,"), "column 4: a value was expected, but the text ends"},
    {PAWL_STR_INIT("[1,]"), "column 4: a value was expected, not ']'"},
    {PAWL_STR_INIT("[,1]"), "column 2: a value was expected, not ','"},
    {PAWL_STR_INIT("[1,,2]"), "column 4: a value was expected, not ','"},
    {PAWL_STR_INIT("[1 2]"), "column 4: a comma or ']' was expected, not '2'"},
    {PAWL_STR_INIT("[1}"), "column 3: a comma or ']' was expected, not '}'"},
    {PAWL_STR_INIT("[}"), "column 2: a value was expected, not '}'"},
    {PAWL_STR_INIT("]"), "column 1: a value was expected, not ']'"},
    {PAWL_STR_INIT("[]]"), "column 3: the end of the text was expected, not ']'"},
    {PAWL_STR_INIT("{"), "column 2: a key in quotes was expected, but the text ends"},
    {PAWL_STR_INIT("{]"), "column 2: a key in quotes was expected, not ']'"},
    {PAWL_STR_INIT("{a:1}"), "column 2: a key in quotes was expected, not 'a'"},
    {PAWL_STR_INIT("{1:1}"), "column 2: a key in quotes was expected, not '1'"},
    {PAWL_STR_INIT("{\"a\"}"), "column 5: a colon was expected, not '}'"},
    {PAWL_STR_INIT("{\"a\" 1}"), "column 6: a colon was expected, not '1'"},
    {PAWL_STR_INIT("{\"a\":}"), "column 6: a value was expected, not '}'"},
    {PAWL_STR_INIT("{\"a\":1"), "column 7: a comma or '}' was expected, but the text ends"},
    {PAWL_STR_INIT("{\"a\":1,}"), "column 8: a key in quotes was expected, not '}'"},
    {PAWL_STR_INIT("{,\"a\":1}"), "column 2: a key in quotes was expected, not ','"},
    {PAWL_STR_INIT("{\"a\":1 \"b\":2}"), "column 8: a comma or '}' was expected, not '\"'"},
    {PAWL_STR_INIT("{\"a\":1]"), "column 7: a comma or '}' was expected, not ']'"},
    {PAWL_STR_INIT("{\"a"), "column 2: the string is not closed"},

    {PAWL_STR_INIT("{\"a\":1,\"a\":2}"), "column 8: the key \"a\" is there twice"},
    {PAWL_STR_INIT("{\"\":1,\"\":2}"), "column 7: the key \"\" is there twice"},
    {PAWL_STR_INIT("{\"a\":1,\"b\":{},\n \"\\u0061\":2}"),
     "line 2, column 2: the key \"\\u0061\" is there twice"},
    {PAWL_STR_INIT("{\"\\u00e4\":1,\"\xC3\xA4\":2}"), "is there twice"},
    {PAWL_STR_INIT("{\"\\ud83d\\ude00\":1,\"\xF0\x9F\x98\x80\":2}"), "is there twice"},
    {PAWL_STR_INIT("{\"/\":1,\"\\/\":2}"), "is there twice"},
    {PAWL_STR_INIT("{\"a\\n\":1,\"a\\u000A\":2}"), "is there twice"},
    {PAWL_STR_INIT("[{\"a\":{\"b\":1,\"c\":2,\"b\":3}}]"), "the key \"b\" is there twice"},
    {PAWL_STR_INIT("{\"a\":{\"b\":1},\"c\":[{\"a\":1}],\"a\":3}"), "the key \"a\" is there twice"},
    {PAWL_STR_INIT("{\"a\\u0000\":1,\"a\\u0000\":2}"), "is there twice"},

    {PAWL_STR_INIT("[\n  {\"\xC3\xA4\xE2\x82\xAC\": x}]"),
     "line 2, column 10: a value was expected"},
};

TEST("what is not JSON is refused, with line, column and what is wrong")
{
    struct pawl_arena *arena = open_arena(0);
    for (size_t i = 0; i < COUNT_OF(invalid); i++) {
        struct pawl_error err = {.code = PAWL_OK};
        CHECK_CODE(PAWL_INVALID, pawl_json_check(invalid[i].text, arena, &err));
        CHECK_CODE(PAWL_INVALID, err.code);
        if (strstr(err.text, invalid[i].want) == NULL) {
            FAIL("want ... %s\ngot  %s", invalid[i].want, err.text);
        }
        struct pawl_json *root = NULL;
        CHECK_CODE(PAWL_INVALID, pawl_json_parse(invalid[i].text, arena, &root, &err));
        CHECK(strstr(err.text, invalid[i].want) != NULL);
        CHECK(root == NULL);
        CHECK_CODE(PAWL_INVALID, pawl_json_check(invalid[i].text, arena, NULL));
    }
    CHECK_OK(pawl_arena_code(arena), NULL);
    pawl_arena_close(arena);
}

TEST("no text that ends early is JSON, wherever it is cut, and nothing beyond its end is read")
{
    static const char whole[] = "{\"a\\u00e4\\ud83d\\ude00\": [1.5e3, true, \"\xE2\x82\xAC\", {}], "
                                "\"b\": null}";
    struct pawl_arena *arena = open_arena(0);
    for (size_t len = 0; len < sizeof whole - 1; len++) {
        char *text = pawl_arena_take(arena, len); /* its neighbours are poisoned under asan */
        memcpy(text, whole, len);
        CHECK_CODE(PAWL_INVALID, pawl_json_check((struct pawl_str){text, len}, arena, NULL));
    }
    CHECK_OK(pawl_json_check((struct pawl_str){whole, sizeof whole - 1}, arena, NULL), NULL);
    pawl_arena_close(arena);
}

/* So many opening brackets and what closes them; arrays, or objects with a key. */
static struct pawl_str nest(struct pawl_arena *arena, int32_t depth, bool is_object)
{
    struct pawl_str open = is_object ? PAWL_STR("{\"a\":") : PAWL_STR("[");
    char *text = pawl_arena_take(arena, (size_t)depth * (open.len + 1) + 1);
    size_t len = 0;
    for (int32_t i = 0; i < depth; i++) {
        memcpy(text + len, open.ptr, open.len);
        len += open.len;
    }
    text[len++] = '0';
    for (int32_t i = 0; i < depth; i++) text[len++] = is_object ? '}' : ']';
    return (struct pawl_str){text, len};
}

TEST("values nest 128 deep and not deeper")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_error err;
    for (int kind = 0; kind < 2; kind++) {
        struct pawl_json *root;
        struct pawl_str text = nest(arena, PAWL_JSON_DEPTH_MAX, kind == 1);
        CHECK_OK(pawl_json_check(text, arena, &err), &err);
        CHECK_OK(pawl_json_parse(text, arena, &root, &err), &err);
        int32_t depth = 0;
        for (struct pawl_json *node = root; node->first != NULL; node = node->first) depth++;
        CHECK_EQ(PAWL_JSON_DEPTH_MAX, depth);

        text = nest(arena, PAWL_JSON_DEPTH_MAX + 1, kind == 1);
        CHECK_CODE(PAWL_INVALID, pawl_json_check(text, arena, &err));
        CHECK(strstr(err.text, "more than 128 arrays and objects inside each other") != NULL);
        CHECK_CODE(PAWL_INVALID, pawl_json_parse(text, arena, &root, &err));
    }
    CHECK_CODE(PAWL_INVALID, pawl_json_check(nest(arena, 100000, false), arena, &err));
    pawl_arena_close(arena);
}

/* ---- Keys ----------------------------------------------------------------------------------- */

/* {"k0":0,"k1":0,...} and at the end one more key, as it is written, unless it is NULL. */
static struct pawl_str object_of(struct pawl_arena *arena, int32_t count, const char *more)
{
    enum { MEMBER_BYTES_MAX = 16 };
    size_t room = ((size_t)count + 2) * MEMBER_BYTES_MAX;
    char *text = pawl_arena_take(arena, room);
    size_t len = 0;
    for (int32_t i = 0; i < count; i++) {
        len += (size_t)snprintf(text + len, room - len, "%c\"k%d\":0", i == 0 ? '{' : ',', i);
    }
    if (more != NULL) len += (size_t)snprintf(text + len, room - len, ",\"%s\":0", more);
    text[len++] = '}';
    return (struct pawl_str){text, len};
}

TEST("a key that comes twice is found among few and among many, plain and escaped")
{
    static const int32_t counts[] = {1,  2,   15,  16,  17,   18,   63,     64,    65,
                                     66, 100, 127, 128, 1000, 5000, 100000, 100001};
    struct pawl_arena *arena = open_arena(0);
    struct pawl_error err;
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        int32_t count = counts[i];
        char first[] = "k0";
        char first_escaped[] = "\\u006b0";
        char last[16];
        char next[16];
        snprintf(last, sizeof last, "k%d", count - 1);
        snprintf(next, sizeof next, "k%d", count);
        CHECK_OK(pawl_json_check(object_of(arena, count, NULL), arena, &err), &err);
        CHECK_OK(pawl_json_check(object_of(arena, count, next), arena, &err), &err);
        CHECK_CODE(PAWL_INVALID, pawl_json_check(object_of(arena, count, first), arena, &err));
        CHECK_CODE(PAWL_INVALID, pawl_json_check(object_of(arena, count, last), arena, &err));
        CHECK_CODE(PAWL_INVALID,
                   pawl_json_check(object_of(arena, count, first_escaped), arena, &err));
        CHECK(strstr(err.text, "is there twice") != NULL);
        pawl_arena_reset(arena);
    }
    pawl_arena_close(arena);
}

TEST("keys that look alike at both ends, or to a careless hash, are different")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_error err;
    CHECK_OK(pawl_json_check(PAWL_STR("{\"abcdefgh1abcdefgh\":0,\"abcdefgh2abcdefgh\":0,"
                                      "\"abcdefgh12abcdefgh\":0,\"a\":0,\"aa\":0,\"aaa\":0,"
                                      "\"a\\u0000\":0,\"\\u0000a\":0,\"\\u0000\":0,\"\":0}"),
                             arena, &err),
             &err);
    pawl_arena_close(arena);
}

/* Objects with so many keys around one another: each has the next one as the value of a middle key,
 * and the same keys. */
static void put_nested(struct pawl_json_writer *w, int32_t keys, int32_t depth)
{
    for (int32_t level = 0; level < depth; level++) {
        pawl_json_begin_object(w);
        for (int32_t i = 0; i < keys / 2; i++) {
            char key[16];
            snprintf(key, sizeof key, "k%d", i);
            pawl_json_put_member_null(w, key);
        }
        pawl_json_put_key(w, "inner");
    }
    pawl_json_put_null(w);
    for (int32_t level = depth; level > 0; level--) {
        for (int32_t i = keys / 2; i < keys; i++) {
            char key[16];
            snprintf(key, sizeof key, "k%d", i);
            pawl_json_put_member_null(w, key);
        }
        pawl_json_end_object(w);
    }
}

TEST("large objects inside each other, with the same keys, keep them apart")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_error err;
    static const int32_t keys[] = {2, 16, 30, 31, 32, 33, 34, 40, 200, 2000};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct pawl_json_writer w;
        pawl_json_writer_init(&w, arena);
        pawl_json_begin_array(&w);
        put_nested(&w, keys[i], 20);
        put_nested(&w, keys[i], 3);
        pawl_json_end_array(&w);
        struct pawl_str text = pawl_json_writer_done(&w);
        CHECK_OK(pawl_json_check(text, arena, &err), &err);

        /* The outermost object's first key once more, at its end. */
        pawl_json_writer_init(&w, arena);
        put_nested(&w, keys[i], 20);
        struct pawl_str whole = pawl_json_writer_done(&w);
        whole.len--;
        text = pawl_arena_format(arena, "%.*s,\"k0\":1}", PAWL_STR_ARG(whole));
        CHECK_CODE(PAWL_INVALID, pawl_json_check(text, arena, &err));
        CHECK(strstr(err.text, "the key \"k0\" is there twice") != NULL);
        pawl_arena_reset(arena);
    }
    pawl_arena_close(arena);
}

TEST("a long key is shown cut between characters")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_error err;
    char key[200];
    for (size_t i = 0; i < sizeof key; i += 2) memcpy(key + i, "\xC3\xA4", 2);
    struct pawl_str text = pawl_arena_format(arena, "{\"x%.*s\":1,\"x%.*s\":2}", (int)sizeof key,
                                             key, (int)sizeof key, key);
    CHECK_CODE(PAWL_INVALID, pawl_json_check(text, arena, &err));
    CHECK(pawl_utf8_is_valid(pawl_str_of(err.text)));
    CHECK(strlen(err.text) < 150);
    pawl_arena_close(arena);
}

/* ---- Memory --------------------------------------------------------------------------------- */

TEST("checking ordinary payloads takes nothing, and gives back what large ones take")
{
    struct pawl_arena *arena = open_arena(1);
    struct pawl_error err;
    CHECK_OK(pawl_json_check(PAWL_STR("{\"a\":[1,2,{\"b\":\"c\"}],\"d\":\"\\n\"}"), arena, &err),
             &err);
    CHECK(pawl_arena_take(arena, 1) != NULL);
    pawl_arena_close(arena);

    arena = open_arena(0);
    struct pawl_str large = object_of(arena, 50000, NULL);
    void *before = pawl_arena_take(arena, 16);
    struct pawl_arena_mark mark = pawl_arena_mark(arena);
    CHECK_OK(pawl_json_check(large, arena, &err), &err);
    CHECK_BYTES(&mark.used_bytes, sizeof mark.used_bytes,
                &(size_t){pawl_arena_mark(arena).used_bytes}, sizeof mark.used_bytes);
    CHECK(pawl_arena_resize(arena, before, 16, 32) == before); /* still the newest piece */
    pawl_arena_close(arena);
}

TEST("without memory for keys the answer is the arena's code, at every budget, never OK")
{
    struct pawl_arena *room = open_arena(0);
    struct pawl_str text = object_of(room, 3000, "\\u0061bc");
    int32_t failures = 0;
    for (size_t budget_bytes = 1;; budget_bytes += 500) {
        struct pawl_arena *arena = open_arena(budget_bytes);
        struct pawl_error err;
        enum pawl_code code = pawl_json_check(text, arena, &err);
        CHECK_OK(pawl_arena_code(arena), NULL); /* check leaves scratch as it was */
        pawl_arena_close(arena);
        if (code == PAWL_OK) break;
        CHECK_CODE(PAWL_TOO_LARGE, code);
        CHECK_TEXT("the JSON text needs more memory than its budget", err.text);
        failures++;
    }
    CHECK(failures > 10);
    pawl_arena_close(room);
}

TEST("without memory for nodes parsing gives the arena's code and no tree")
{
    struct pawl_str text = PAWL_STR("[[1,2,3],{\"a\":4,\"b\":[5,6]}]");
    int32_t failures = 0;
    for (size_t budget_bytes = 1;; budget_bytes += 30) {
        struct pawl_arena *arena = open_arena(budget_bytes);
        struct pawl_json *root = NULL;
        enum pawl_code code = pawl_json_parse(text, arena, &root, NULL);
        CHECK_EQ(code == PAWL_OK, root != NULL);
        pawl_arena_close(arena);
        if (code == PAWL_OK) break;
        CHECK_CODE(PAWL_TOO_LARGE, code);
        failures++;
    }
    CHECK(failures >= 10);
}

TEST("a text of ten megabytes is checked in its scratch")
{
    enum { BYTES = 10 * 1024 * 1024 };
    struct pawl_arena *arena = open_arena(0);
    struct pawl_error err;
    struct pawl_str keys = object_of(arena, 800000, NULL); /* about as many as fit in 10 MiB */
    CHECK(keys.len > BYTES * 9 / 10);
    struct pawl_arena *scratch = open_arena(24 * 1024 * 1024);
    CHECK_OK(pawl_json_check(keys, scratch, &err), &err);

    char *text = pawl_arena_take(arena, BYTES);
    memset(text, ' ', BYTES);
    text[0] = '[';
    text[BYTES - 1] = ']';
    CHECK_OK(pawl_json_check((struct pawl_str){text, BYTES}, scratch, &err), &err);
    memset(text, '1', BYTES);
    CHECK_OK(pawl_json_check((struct pawl_str){text, BYTES}, scratch, &err), &err);
    text[0] = '"';
    text[BYTES - 1] = '"';
    CHECK_OK(pawl_json_check((struct pawl_str){text, BYTES}, scratch, &err), &err);
    text[BYTES / 2] = '\n';
    CHECK_CODE(PAWL_INVALID, pawl_json_check((struct pawl_str){text, BYTES}, scratch, &err));
    pawl_arena_close(scratch);
    pawl_arena_close(arena);
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

static struct pawl_json *parse(struct pawl_arena *arena, struct pawl_str text)
{
    struct pawl_error err;
    struct pawl_json *root = NULL;
    CHECK_OK(pawl_json_parse(text, arena, &root, &err), &err);
    return root;
}

TEST("a tree has kinds, exact bytes, keys and order")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_json *root =
        parse(arena, PAWL_STR(" {\"z\" : 129.9 , \"a\":[ 1 , \"x\" ],\"n\":null,"
                              "\"t\":true,\"f\":false,\"o\":{ } } "));
    CHECK_EQ(PAWL_JSON_OBJECT, root->kind);
    CHECK_EQ(6, root->child_count);
    CHECK(root->next == NULL);
    CHECK(root->key.ptr == NULL);
    CHECK_STR("{\"z\" : 129.9 , \"a\":[ 1 , \"x\" ],\"n\":null,\"t\":true,\"f\":false,\"o\":{ } }",
              root->raw);

    static const struct {
        const char *key;
        const char *raw;
        enum pawl_json_kind kind;
        uint32_t child_count;
    } rows[] = {
        {"z", "129.9", PAWL_JSON_NUMBER, 0}, {"a", "[ 1 , \"x\" ]", PAWL_JSON_ARRAY, 2},
        {"n", "null", PAWL_JSON_NULL, 0},    {"t", "true", PAWL_JSON_TRUE, 0},
        {"f", "false", PAWL_JSON_FALSE, 0},  {"o", "{ }", PAWL_JSON_OBJECT, 0},
    };
    const struct pawl_json *member = pawl_json_first(root);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_STR(rows[i].key, member->key);
        CHECK_STR(rows[i].raw, member->raw);
        CHECK_EQ(rows[i].kind, member->kind);
        CHECK_EQ(rows[i].child_count, member->child_count);
        member = pawl_json_next(member);
    }
    CHECK(member == NULL);
    const struct pawl_json *list = pawl_json_member(root, PAWL_STR("a"));
    CHECK_STR("1", pawl_json_first(list)->raw);
    CHECK_STR("\"x\"", pawl_json_next(pawl_json_first(list))->raw);
    CHECK(pawl_json_first(list)->key.ptr == NULL);
    pawl_arena_close(arena);
}

TEST("a member is found by its decoded key")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_json *root =
        parse(arena, PAWL_STR("{\"a\":1,\"\\u00e4\\n\":2,\"\xC3\xB6\":3,\"\":4}"));
    CHECK_STR("1", pawl_json_member(root, PAWL_STR("a"))->raw);
    CHECK_STR("2", pawl_json_member(root, PAWL_STR("\xC3\xA4\n"))->raw);
    CHECK_STR("3", pawl_json_member(root, PAWL_STR("\xC3\xB6"))->raw);
    CHECK_STR("4", pawl_json_member(root, (struct pawl_str){0})->raw);
    CHECK(pawl_json_member(root, PAWL_STR("b")) == NULL);
    CHECK(pawl_json_member(root, PAWL_STR("\\u00e4\\n")) == NULL);
    CHECK(pawl_json_member(root, PAWL_STR("\xC3\xA4")) == NULL);
    CHECK(pawl_json_member(root, PAWL_STR("\xC3\xA4\nx")) == NULL);
    CHECK(pawl_json_member(root, PAWL_STR("\xFF")) == NULL);
    CHECK(pawl_json_member(pawl_json_first(root), PAWL_STR("a")) == NULL);
    CHECK(pawl_json_member(NULL, PAWL_STR("a")) == NULL);
    pawl_arena_close(arena);
}

TEST("nodes are made down to the level asked for, and the rest is checked all the same")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_error err;
    struct pawl_str text = PAWL_STR("{\"queue\":\"q\",\"input\":{\"a\":[1,2],\"b\":{\"c\":3}}}");
    struct pawl_json *root;
    CHECK_OK(pawl_json_parse_top(text, 0, arena, &root, &err), &err);
    CHECK_EQ(2, root->child_count);
    CHECK(root->first == NULL);
    CHECK_BYTES(text.ptr, text.len, root->raw.ptr, root->raw.len);

    CHECK_OK(pawl_json_parse_top(text, 1, arena, &root, &err), &err);
    CHECK_STR("\"q\"", pawl_json_member(root, PAWL_STR("queue"))->raw);
    struct pawl_json *input = pawl_json_member(root, PAWL_STR("input"));
    CHECK_STR("{\"a\":[1,2],\"b\":{\"c\":3}}", input->raw);
    CHECK_EQ(2, input->child_count);
    CHECK(input->first == NULL);

    CHECK_OK(pawl_json_parse_top(text, 2, arena, &root, &err), &err);
    input = pawl_json_member(root, PAWL_STR("input"));
    CHECK_STR("[1,2]", pawl_json_member(input, PAWL_STR("a"))->raw);
    CHECK_STR("{\"c\":3}", pawl_json_member(input, PAWL_STR("b"))->raw);
    CHECK(pawl_json_member(input, PAWL_STR("b"))->first == NULL);

    CHECK_CODE(PAWL_INVALID, pawl_json_parse_top(PAWL_STR("[[[[01]]]]"), 1, arena, &root, &err));
    pawl_arena_close(arena);
}

TEST("text is a slice of what was parsed if it has no escapes, else decoded in the arena")
{
    static const struct {
        struct pawl_str raw;
        const char *want; /* NULL: refused */
        bool is_slice;
    } rows[] = {
        {PAWL_STR_INIT("\"plain\""), "plain", true},
        {PAWL_STR_INIT("\"\""), "", true},
        {PAWL_STR_INIT("\"\xC3\xA4\""), "\xC3\xA4", true},
        {PAWL_STR_INIT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), "\"\\/\b\f\n\r\t", false},
        {PAWL_STR_INIT("\"a\\u0041\\u00e4\\u20AC\\ud83d\\ude00z\""),
         "aA\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z", false},
        {PAWL_STR_INIT("\"\\udbff\\udfff\\ud800\\udc00\""), "\xF4\x8F\xBF\xBF\xF0\x90\x80\x80",
         false},
        {PAWL_STR_INIT("\"a\\u0000b\""), NULL, false},
        {PAWL_STR_INIT("1"), NULL, false},
        {PAWL_STR_INIT("null"), NULL, false},
        {PAWL_STR_INIT("[]"), NULL, false},
    };
    struct pawl_arena *arena = open_arena(0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_str text = PAWL_STR("untouched");
        bool is_text = pawl_json_text(parse(arena, rows[i].raw), arena, &text);
        CHECK_EQ(rows[i].want != NULL, is_text);
        CHECK_STR(is_text ? rows[i].want : "untouched", text);
        if (is_text) CHECK_EQ(rows[i].is_slice, text.ptr == rows[i].raw.ptr + 1);
    }
    CHECK(!pawl_json_text(NULL, arena, &(struct pawl_str){0}));
    CHECK_OK(pawl_arena_code(arena), NULL);
    pawl_arena_close(arena);
}

TEST("every code point escaped is that code point")
{
    struct pawl_arena *arena = open_arena(0);
    for (uint32_t point = 1; point <= PAWL_UTF8_POINT_MAX; point += point < 0x3000 ? 1 : 97) {
        if (point >= 0xD800 && point <= 0xDFFF) continue;
        char bytes[PAWL_UTF8_BYTES_MAX + 1] = {0};
        (void)pawl_utf8_encode(point, bytes);
        uint32_t above = point - 0x10000; /* of no use below */
        struct pawl_str raw =
            point < 0x10000
                ? pawl_arena_format(arena, "\"\\u%04x\"", (unsigned)point)
                : pawl_arena_format(arena, "\"\\u%04X\\u%04x\"", 0xD800 + (unsigned)(above >> 10),
                                    0xDC00 + (unsigned)(above & 0x3FF));
        struct pawl_str text;
        CHECK(pawl_json_text(parse(arena, raw), arena, &text));
        CHECK_STR(bytes, text);
        pawl_arena_reset(arena);
    }
    pawl_arena_close(arena);
}

TEST("keys are decoded as texts are")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_json *root = parse(arena, PAWL_STR("{\"a\\n\":1,\"b\":2,\"c\\u0000\":3}"));
    struct pawl_str key = {0};
    struct pawl_json *member = pawl_json_first(root);
    CHECK(pawl_json_key(member, arena, &key));
    CHECK_STR("a\n", key);
    member = pawl_json_next(member);
    CHECK(pawl_json_key(member, arena, &key));
    CHECK_STR("b", key);
    CHECK(!pawl_json_key(pawl_json_next(member), arena, &key));
    CHECK(!pawl_json_key(root, arena, &key));
    CHECK(!pawl_json_key(NULL, arena, &key));
    CHECK_STR("b", key);
    pawl_arena_close(arena);
}

TEST("decoding without memory fails, and the arena says so")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_json *node = parse(arena, PAWL_STR("\"0123456789\\n\""));
    struct pawl_arena *small = open_arena(5);
    CHECK(!pawl_json_text(node, small, &(struct pawl_str){0}));
    CHECK_CODE(PAWL_TOO_LARGE, pawl_arena_code(small));
    pawl_arena_close(small);
    pawl_arena_close(arena);
}

TEST("numbers keep their text, and are 64-bit integers or doubles when asked")
{
    static const struct {
        const char *text;
        bool is_int64;
        int64_t int64;
        bool is_double;
        double number;
    } rows[] = {
        {"0", true, 0, true, 0},
        {"-0", true, 0, true, 0},
        {"12", true, 12, true, 12},
        {"-3", true, -3, true, -3},
        {"9007199254740993", true, INT64_C(9007199254740993), true, 9007199254740992.0},
        {"9223372036854775807", true, INT64_MAX, true, 9223372036854775808.0},
        {"-9223372036854775808", true, INT64_MIN, true, -9223372036854775808.0},
        {"9223372036854775808", false, 0, true, 9223372036854775808.0},
        {"129.9", false, 0, true, 129.9},
        {"1.0", false, 0, true, 1},
        {"1e3", false, 0, true, 1000},
        {"1e400", false, 0, false, 0},
        {"\"12\"", false, 0, false, 0},
        {"true", false, 0, false, 0},
        {"null", false, 0, false, 0},
    };
    struct pawl_arena *arena = open_arena(0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_json *node = parse(arena, pawl_str_of(rows[i].text));
        CHECK_STR(rows[i].text, node->raw);
        int64_t int64 = 77;
        double number = 77;
        CHECK_EQ(rows[i].is_int64, pawl_json_int64(node, &int64));
        CHECK_EQ(rows[i].is_int64 ? rows[i].int64 : 77, int64);
        CHECK_EQ(rows[i].is_double, pawl_json_double(node, &number));
        CHECK_NEAR(rows[i].is_double ? rows[i].number : 77, number, 0);
    }
    CHECK(!pawl_json_int64(NULL, &(int64_t){0}));
    CHECK(!pawl_json_double(NULL, &(double){0}));
    pawl_arena_close(arena);
}

TEST("only true and false are truth values")
{
    struct pawl_arena *arena = open_arena(0);
    bool value = false;
    CHECK(pawl_json_bool(parse(arena, PAWL_STR("true")), &value) && value);
    CHECK(pawl_json_bool(parse(arena, PAWL_STR("false")), &value) && !value);
    CHECK(!pawl_json_bool(parse(arena, PAWL_STR("1")), &value));
    CHECK(!pawl_json_bool(parse(arena, PAWL_STR("\"true\"")), &value));
    CHECK(!pawl_json_bool(parse(arena, PAWL_STR("null")), &value));
    CHECK(!pawl_json_bool(NULL, &value));
    pawl_arena_close(arena);
}

TEST("nothing has no members")
{
    CHECK(pawl_json_first(NULL) == NULL);
    CHECK(pawl_json_next(NULL) == NULL);
}

TEST("a long array is one chain, in order")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_array(&w);
    for (int64_t i = 0; i < 100000; i++) pawl_json_put_int64(&w, i);
    pawl_json_end_array(&w);
    struct pawl_json *root = parse(arena, pawl_json_writer_done(&w));
    CHECK_EQ(100000, root->child_count);
    int64_t want = 0;
    for (const struct pawl_json *node = root->first; node != NULL; node = node->next) {
        int64_t got;
        CHECK(pawl_json_int64(node, &got));
        CHECK_EQ(want, got);
        want++;
    }
    CHECK_EQ(100000, want);
    pawl_arena_close(arena);
}

TEST_MAIN()
