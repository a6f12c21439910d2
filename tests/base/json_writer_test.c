#include "base/json_writer.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "test.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct pawl_arena *open_arena(size_t budget_bytes)
{
    struct pawl_arena *arena = NULL;
    CHECK_OK(pawl_arena_open(&arena, budget_bytes), NULL);
    return arena;
}

TEST("commas and colons come by themselves")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "id", PAWL_STR("t-1"));
    pawl_json_put_key(&w, "list");
    pawl_json_begin_array(&w);
    pawl_json_put_int64(&w, 1);
    pawl_json_begin_array(&w);
    pawl_json_end_array(&w);
    pawl_json_begin_object(&w);
    pawl_json_end_object(&w);
    pawl_json_put_text(&w, PAWL_STR("[,{:"));
    pawl_json_put_null(&w);
    pawl_json_end_array(&w);
    pawl_json_put_member_int64(&w, "n", INT64_MIN);
    pawl_json_put_member_double(&w, "d", 0.5);
    pawl_json_put_member_bool(&w, "t", true);
    pawl_json_put_member_bool(&w, "f", false);
    pawl_json_put_member_null(&w, "z");
    pawl_json_put_member_raw(&w, "raw", PAWL_STR("{\"x\": 129.9 }"));
    pawl_json_put_member_raw(&w, "none", (struct pawl_str){0});
    pawl_json_put_key_str(&w, PAWL_STR("a\"b"));
    pawl_json_put_raw(&w, PAWL_STR("9007199254740993 "));
    pawl_json_put_member_int64(&w, "last", 0);
    pawl_json_end_object(&w);
    CHECK_STR("{\"id\":\"t-1\",\"list\":[1,[],{},\"[,{:\",null],\"n\":-9223372036854775808,"
              "\"d\":0.5,\"t\":true,\"f\":false,\"z\":null,\"raw\":{\"x\": 129.9 },\"none\":null,"
              "\"a\\\"b\":9007199254740993 ,\"last\":0}",
              pawl_json_writer_done(&w));
    pawl_arena_close(arena);
}

static void check_text(struct pawl_arena *arena, struct pawl_str text, const char *want)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_json_put_text(&w, text);
    CHECK_STR(want, pawl_json_writer_done(&w));
}

TEST("text is escaped where JSON needs it, and only there")
{
    struct pawl_arena *arena = open_arena(0);
    check_text(arena, (struct pawl_str){0}, "\"\"");
    check_text(arena, PAWL_STR("plain/text"), "\"plain/text\"");
    check_text(arena, PAWL_STR("\"\\\b\f\n\r\t"), "\"\\\"\\\\\\b\\f\\n\\r\\t\"");
    check_text(arena, PAWL_STR("\0\x01\x1F\x7F"), "\"\\u0000\\u0001\\u001f\x7F\"");
    check_text(arena, PAWL_STR("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"),
               "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\"");
    check_text(arena, PAWL_STR("12345678\n12345678\"1234567\\"),
               "\"12345678\\n12345678\\\"1234567\\\\\"");
    pawl_arena_close(arena);
}

TEST("each byte that is no UTF-8 becomes U+FFFD")
{
    struct pawl_arena *arena = open_arena(0);
    check_text(arena,
               PAWL_STR("a\xFF"
                        "b"),
               "\"a\uFFFDb\"");
    check_text(arena, PAWL_STR("\xE2\x82"), "\"\uFFFD\uFFFD\"");
    check_text(arena, PAWL_STR("\xED\xA0\x80"), "\"\uFFFD\uFFFD\uFFFD\"");
    check_text(arena, PAWL_STR("\xC3\xA4\x80\xC3\xA4"), "\"\xC3\xA4\uFFFD\xC3\xA4\"");
    pawl_arena_close(arena);
}

TEST("all bytes in all positions around a word give JSON that says the same or U+FFFD")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_error err;
    for (int byte = 0; byte < 256; byte++) {
        for (size_t at = 0; at < 18; at++) {
            char bytes[18];
            memset(bytes, 'x', sizeof bytes);
            bytes[at] = (char)byte;
            struct pawl_json_writer w;
            pawl_json_writer_init(&w, arena);
            pawl_json_put_text(&w, (struct pawl_str){bytes, sizeof bytes});
            struct pawl_json *node;
            struct pawl_str text = {0};
            CHECK_OK(pawl_json_parse(pawl_json_writer_done(&w), arena, &node, &err), &err);
            CHECK_EQ(byte != 0, pawl_json_text(node, arena, &text));
            if (byte >= 0x80) CHECK_EQ(sizeof bytes + 2, text.len);
            if (byte > 0 && byte < 0x80) {
                CHECK_BYTES(bytes, sizeof bytes, text.ptr, text.len);
            }
        }
        pawl_arena_reset(arena);
    }
    pawl_arena_close(arena);
}

TEST("numbers that are not finite are null")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_array(&w);
    pawl_json_put_double(&w, (double)NAN);
    pawl_json_put_double(&w, (double)INFINITY);
    pawl_json_put_double(&w, 129.9);
    pawl_json_put_double(&w, 5.0);
    pawl_json_end_array(&w);
    CHECK_STR("[null,null,129.9,5]", pawl_json_writer_done(&w));
    pawl_arena_close(arena);
}

TEST("a long text comes out whole, and other pieces may be taken meanwhile")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_array(&w);
    for (int64_t i = 0; i < 300000; i++) {
        pawl_json_put_int64(&w, i);
        if (i % 1000 == 0) CHECK(pawl_arena_take(arena, 10) != NULL);
    }
    pawl_json_end_array(&w);
    struct pawl_str text = pawl_json_writer_done(&w);
    CHECK_EQ(1988890 + 1, text.len); /* digits, commas and two brackets */
    struct pawl_error err;
    CHECK_OK(pawl_json_check(text, arena, &err), &err);
    pawl_arena_close(arena);
}

TEST("what the writer reserved and did not use goes back to the arena")
{
    struct pawl_arena *arena = open_arena(300);
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_json_put_int64(&w, 1);
    CHECK_STR("1", pawl_json_writer_done(&w));
    CHECK(pawl_arena_take(arena, 280) != NULL);
    pawl_arena_close(arena);
}

TEST("without memory there is no text, and the arena says why")
{
    for (size_t budget_bytes = 1; budget_bytes < 6000; budget_bytes += 100) {
        struct pawl_arena *arena = open_arena(budget_bytes);
        struct pawl_json_writer w;
        pawl_json_writer_init(&w, arena);
        pawl_json_begin_array(&w);
        for (int i = 0; i < 300; i++) {
            pawl_json_begin_object(&w);
            pawl_json_put_member_text(&w, "k", PAWL_STR("0123456789"));
            pawl_json_end_object(&w);
        }
        pawl_json_end_array(&w);
        CHECK_EQ(0, pawl_json_writer_done(&w).len);
        CHECK_CODE(PAWL_TOO_LARGE, pawl_arena_code(arena));
        pawl_arena_close(arena);
    }
}

TEST("nothing written is nothing")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    CHECK_EQ(0, pawl_json_writer_done(&w).len);
    pawl_arena_close(arena);
}

TEST("containers nest to the limit")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    for (int i = 0; i < PAWL_JSON_WRITER_DEPTH_MAX; i++) {
        if (i % 2 == 0) {
            pawl_json_begin_array(&w);
        } else {
            pawl_json_begin_object(&w);
            pawl_json_put_key(&w, "k");
        }
    }
    pawl_json_put_null(&w); /* the innermost is an object and has a key */
    for (int i = PAWL_JSON_WRITER_DEPTH_MAX; i > 0; i--) {
        if (i % 2 == 1) {
            pawl_json_end_array(&w);
        } else {
            pawl_json_end_object(&w);
        }
    }
    struct pawl_error err;
    CHECK_OK(pawl_json_check(pawl_json_writer_done(&w), arena, &err), &err);
    pawl_arena_close(arena);
}

/* What a caller may do wrong. */
static void misuse(int which, struct pawl_json_writer *w)
{
    pawl_json_begin_object(w);
    switch (which) {
    case 0:
        pawl_json_put_null(w);
        return; /* no key */
    case 1:
        pawl_json_end_array(w);
        return;
    case 2:
        (void)pawl_json_writer_done(w);
        return; /* not closed */
    case 3:
        pawl_json_put_key(w, "a");
        pawl_json_put_key(w, "b");
        return;
    case 4:
        pawl_json_put_key(w, "a");
        pawl_json_end_object(w);
        return;
    case 5:
        pawl_json_end_object(w);
        pawl_json_put_null(w); /* a second value */
        return;
    case 6:
        pawl_json_end_object(w);
        pawl_json_end_object(w);
        return;
    case 7:
        pawl_json_put_key(w, "a");
        pawl_json_begin_array(w);
        pawl_json_put_key(w, "b"); /* keys are for objects */
        return;
    default:
        return;
    }
}

TEST("calls in a wrong order are broken promises")
{
    enum { MISUSES = 8 };
    for (int which = 0; which < MISUSES; which++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            signal(SIGABRT, SIG_DFL);
            close(STDERR_FILENO);
            struct pawl_arena *arena = NULL;
            struct pawl_json_writer w;
            if (pawl_arena_open(&arena, 0) != PAWL_OK) _exit(1);
            pawl_json_writer_init(&w, arena);
            misuse(which, &w);
            _exit(0);
        }
        int status;
        CHECK_EQ(child, waitpid(child, &status, 0));
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

TEST_MAIN()
