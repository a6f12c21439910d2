/* What a handler sees and says, without a socket: answers are caught where the loop would take
 * them. */
#include "net/exchange.h"

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

struct fixture {
    struct pawl_exchange exchange;
    struct pawl_http_request request;
    int32_t posts;
};

static void count_post(struct pawl_exchange *exchange)
{
    struct fixture *f = exchange->loop;
    f->posts++;
}

static void ask(struct fixture *f, const char *path, const char *query, const char *body)
{
    struct pawl_exchange *exchange = &f->exchange;
    struct pawl_error err = {0};
    pawl_exchange_reset(exchange);
    f->posts = 0;
    f->request = (struct pawl_http_request){.body = pawl_str_of(body)};
    exchange->request = &f->request;
    exchange->path = pawl_str_of(path);
    exchange->face = pawl_face_of(exchange->path);
    exchange->instance = PAWL_STR("host-1");
    CHECK_OK(pawl_query_parse(pawl_str_of(query), exchange->arena, &exchange->parameters,
                              &exchange->parameter_count, &err),
             &err);
    exchange->mark = pawl_arena_mark(exchange->arena);
}

static void fixture_open(struct fixture *f)
{
    *f = (struct fixture){0};
    CHECK_OK(pawl_exchange_init(&f->exchange), NULL);
    f->exchange.post = count_post;
    f->exchange.loop = f;
    ask(f, "/v1/tasks", "", "");
}

TEST("getters give what was asked, and the fallback for what was not")
{
    struct fixture f;
    fixture_open(&f);
    ask(&f, "/v1/tasks", "n=7&all=True&status=A,B,,C&status=D&x=&name=a%20b", "");
    struct pawl_exchange *x = &f.exchange;
    CHECK_EQ(7, pawl_exchange_int64(x, "n", 1, 10, 3));
    CHECK_EQ(3, pawl_exchange_int64(x, "m", 1, 10, 3));
    CHECK_EQ(-1, pawl_exchange_int64(x, "x", 1, 10, -1)); /* a fallback needs not be in the range */
    CHECK(pawl_exchange_bool(x, "all", false));
    CHECK(pawl_exchange_bool(x, "none", true));
    CHECK_STR("a b", pawl_exchange_text(x, "name"));
    CHECK_EQ(0, pawl_exchange_text(x, "x").len);
    size_t count = 0;
    const struct pawl_str *list = pawl_exchange_list(x, "status", &count);
    static const char *const want[] = {"A", "B", "C", "D"};
    CHECK_EQ(COUNT_OF(want), count);
    for (size_t i = 0; i < count; i++) CHECK_STR(want[i], list[i]);
    CHECK(pawl_exchange_list(x, "nothing", &count) == NULL);
    CHECK_EQ(0, count);
    CHECK(!pawl_exchange_has_failed(x));
    CHECK_EQ(0, f.posts);
    pawl_exchange_close(x);
}

TEST("a bad value is answered once, with the name of its field")
{
    struct fixture f;
    fixture_open(&f);
    ask(&f, "/v1/tasks", "n=11&all=maybe", "");
    CHECK_EQ(3, pawl_exchange_int64(&f.exchange, "n", 1, 10, 3));
    CHECK(pawl_exchange_has_failed(&f.exchange));
    CHECK(!pawl_exchange_bool(&f.exchange, "all", false));
    CHECK_EQ(1, f.posts);
    CHECK_EQ(400, f.exchange.status);
    CHECK_STR("{\"code\":\"INVALID\",\"message\":\"n: a number from 1 to 10 is wanted, not "
              "`11`\",\"field\":\"n\"}",
              f.exchange.body);
    CHECK_TEXT("application/json", f.exchange.content_type);
    pawl_exchange_close(&f.exchange);
}

TEST("a body that is no JSON is answered with the place where it is none")
{
    struct fixture f;
    fixture_open(&f);
    ask(&f, "/v1/tasks", "", "{\"a\":1");
    CHECK(pawl_exchange_body_json(&f.exchange, 1) == NULL);
    CHECK_EQ(400, f.exchange.status);
    CHECK(pawl_str_has(f.exchange.body, PAWL_STR("\"field\":\"body\"")));
    ask(&f, "/v1/tasks", "", "{\"a\":1}");
    struct pawl_json *json = pawl_exchange_body_json(&f.exchange, 1);
    CHECK(json != NULL && pawl_json_member(json, PAWL_STR("a")) != NULL);
    CHECK(!pawl_exchange_has_failed(&f.exchange));
    pawl_exchange_close(&f.exchange);
}

TEST("an error is told in the form of the path that was asked")
{
    struct fixture f;
    fixture_open(&f);
    struct pawl_error err = {0};
    (void)pawl_error_set(&err, PAWL_NOT_FOUND, "No such task: t-1");
    ask(&f, "/api/tasks/t-1", "", "");
    pawl_exchange_answer_error(&f.exchange, &err, NULL);
    CHECK_EQ(404, f.exchange.status);
    CHECK_STR("{\"status\":404,\"message\":\"No such task: "
              "t-1\",\"instance\":\"host-1\",\"retryable\":false}",
              f.exchange.body);
    (void)pawl_error_set(&err, PAWL_UNAUTHENTICATED, "no token");
    ask(&f, "/api/tasks/t-1", "", "");
    pawl_exchange_answer_error(&f.exchange, &err, NULL);
    CHECK_STR("{\"status\":401,\"message\":\"no "
              "token\",\"error\":\"INVALID_TOKEN\",\"instance\":\"host-1\","
              "\"retryable\":false}",
              f.exchange.body);
    (void)pawl_error_set(&err, PAWL_BUSY, "a moment");
    ask(&f, "/v1/tasks", "", "");
    pawl_exchange_answer_error(&f.exchange, &err, NULL);
    CHECK_EQ(503, f.exchange.status);
    CHECK_STR("{\"code\":\"BUSY\",\"message\":\"a moment\"}", f.exchange.body);
    struct pawl_str headers = {f.exchange.headers, f.exchange.headers_len};
    CHECK_STR("Retry-After: 1\r\n", headers);
    static const struct {
        const char *path;
        enum pawl_face face;
    } rows[] = {{"/api", PAWL_FACE_CONDUCTOR},
                {"/api/", PAWL_FACE_CONDUCTOR},
                {"/apis", PAWL_FACE_PAWL},
                {"/v1/api/", PAWL_FACE_PAWL},
                {"/health", PAWL_FACE_PAWL}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        CHECK_EQ(rows[i].face, pawl_face_of(pawl_str_of(rows[i].path)));
    pawl_exchange_close(&f.exchange);
}

TEST("an answer for which there is no room becomes an error that has room")
{
    struct fixture f;
    fixture_open(&f);
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, f.exchange.arena);
    CHECK(pawl_arena_take(f.exchange.arena, PAWL_NET_EXCHANGE_ARENA_BYTES_MAX + 1) == NULL);
    pawl_json_begin_object(&w);
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(&f.exchange, 200, &w);
    CHECK_EQ(413, f.exchange.status);
    CHECK_STR("{\"code\":\"TOO_LARGE\",\"message\":\"no room for the answer\"}", f.exchange.body);
    pawl_exchange_close(&f.exchange);
}

TEST("texts are bare, and what is empty names no type")
{
    struct fixture f;
    fixture_open(&f);
    pawl_exchange_header(&f.exchange, "Pawl-Lease", PAWL_STR("held; remaining-ms=5"));
    pawl_exchange_answer_text(&f.exchange, 200, PAWL_STR("0198-abc"));
    CHECK_TEXT("text/plain;charset=UTF-8", f.exchange.content_type);
    CHECK_STR("0198-abc", f.exchange.body);
    CHECK_STR("Pawl-Lease: held; remaining-ms=5\r\n",
              ((struct pawl_str){f.exchange.headers, f.exchange.headers_len}));
    ask(&f, "/v1/tasks", "", "");
    pawl_exchange_answer_empty(&f.exchange, 204);
    CHECK(f.exchange.content_type == NULL);
    CHECK_EQ(0, f.exchange.headers_len);
    pawl_exchange_close(&f.exchange);
}

TEST("a stream holds a mebibyte for a slow reader; then it is told so, and nothing more is taken")
{
    struct fixture f;
    fixture_open(&f);
    pawl_exchange_stream(&f.exchange, 200, "text/event-stream");
    static char piece[64 * 1024];
    struct pawl_str bytes = {piece, sizeof piece};
    for (size_t i = 0; i < PAWL_NET_STREAM_BYTES_MAX / sizeof piece; i++) {
        CHECK_OK(pawl_exchange_stream_write(&f.exchange, bytes), NULL);
    }
    CHECK_EQ(PAWL_NET_STREAM_BYTES_MAX, f.exchange.stream_len);
    CHECK_CODE(PAWL_BUSY, pawl_exchange_stream_write(&f.exchange, PAWL_STR("x")));
    f.exchange.stream_len = 0; /* its reader has caught up, too late */
    CHECK_CODE(PAWL_BUSY, pawl_exchange_stream_write(&f.exchange, PAWL_STR("x")));
    CHECK(f.exchange.closes);
    pawl_exchange_stream_end(&f.exchange);
    f.exchange.is_left = true;
    CHECK_CODE(PAWL_STATE, pawl_exchange_stream_write(&f.exchange, PAWL_STR("x")));
    pawl_exchange_close(&f.exchange);
}

TEST_MAIN()
