/* The parser: each refusal, each limit at and beyond, and the same result however the bytes are
 * cut. */
#include "net/http.h"

#include "base/arena.h"
#include "base/str.h"
#include "net/limits.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct pawl_arena *arena;
    struct pawl_http *http;
    enum pawl_http_state state; /* the last one */
    size_t used;
    size_t heads;
};

static void reader_open(struct reader *reader)
{
    *reader = (struct reader){0};
    CHECK_OK(pawl_arena_open(&reader->arena, 0), NULL);
    CHECK_OK(pawl_http_open(&reader->http), NULL);
}

static void reader_close(struct reader *reader)
{
    pawl_http_close(reader->http);
    pawl_arena_close(reader->arena);
}

/* One message of text, in pieces of step bytes. Each piece lies alone in memory, so that a read
 * beyond it is seen. */
static enum pawl_http_state read_message(struct reader *reader, const char *text, size_t len,
                                         size_t step)
{
    pawl_arena_reset(reader->arena);
    pawl_http_begin(reader->http, reader->arena, PAWL_NET_BODY_BYTES_MAX);
    reader->used = reader->heads = 0;
    reader->state = PAWL_HTTP_MORE;
    while (reader->state != PAWL_HTTP_DONE && reader->state != PAWL_HTTP_REFUSED) {
        size_t piece = len - reader->used < step ? len - reader->used : step;
        if (piece == 0 && reader->state == PAWL_HTTP_MORE) break;
        char *copy = malloc(piece + 1);
        CHECK(copy != NULL);
        memcpy(copy, text + reader->used, piece);
        size_t used = 0;
        reader->state = pawl_http_feed(reader->http, copy, piece, &used);
        CHECK(used <= piece);
        if (reader->state == PAWL_HTTP_MORE) CHECK_EQ(piece, used);
        reader->used += used;
        reader->heads += reader->state == PAWL_HTTP_HEAD;
        free(copy);
    }
    return reader->state;
}

#define REQUEST "GET /v1/tasks HTTP/1.1\r\nHost: a\r\n"
#define POST    "POST /v1/tasks HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

TEST("a request is verb, target, headers and body")
{
    struct reader reader;
    reader_open(&reader);
    const char *text =
        "POST /v1/tasks?a=b HTTP/1.1\r\nHost: example.com:8080\r\nX-Authorization:\t token \r\n"
        "Content-Length: 5\r\n\r\nhello";
    CHECK_EQ(PAWL_HTTP_DONE, read_message(&reader, text, strlen(text), 1000));
    const struct pawl_http_request *request = pawl_http_request(reader.http);
    CHECK_EQ(PAWL_VERB_POST, request->verb);
    CHECK_STR("/v1/tasks?a=b", request->target);
    CHECK_EQ(3, request->header_count);
    CHECK_STR("example.com:8080", request->host);
    struct pawl_str token = {0};
    CHECK(pawl_http_header_get(request, PAWL_STR("x-authorization"), &token));
    CHECK_STR("token", token);
    CHECK(!pawl_http_header_get(request, PAWL_STR("x-authorizatio"), &token));
    CHECK_STR("hello", request->body);
    CHECK(request->keeps_alive);
    CHECK_EQ(1, reader.heads);
    reader_close(&reader);
}

struct message {
    const char *text;
    const char *body;
    bool keeps_alive;
    bool expects_continue;
};

static const struct message messages[] = {
    {REQUEST "\r\n", "", true, false},
    {"\r\n" REQUEST "\r\n", "", true, false},
    {REQUEST "Connection: close\r\n\r\n", "", false, false},
    {REQUEST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "", true, false},
    {"GET / HTTP/1.0\r\nHost: a\r\n\r\n", "", false, false},
    {"GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", "", false, false},
    {"PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n", "", true, false},
    {POST "Content-Length: 0\r\n\r\n", "", true, false},
    {POST "Content-Length: 2\r\nExpect: 100-Continue\r\n\r\n{}", "{}", true, true},
    {POST "Content-Length: 4\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nbody", "body", true,
     false},
    {CHUNKED "0\r\n\r\n", "", true, false},
    {CHUNKED "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", "hello!", true, false},
    {CHUNKED "00000003;name=\"v w\"\r\nabc\r\n0\r\n\r\n", "abc", true, false},
    {CHUNKED "A\r\n\r\n\r\n\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n\r\n\r\n\r\n", true, false},
    {POST "Transfer-Encoding: CHUNKED\r\n\r\n1\r\nx\r\n0\r\n\r\n", "x", true, false},
    {"DELETE /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n[]", "[]", true, false},
    {REQUEST "Accept:\r\n\r\n", "", true, false},
    {REQUEST "X: caf\xc3\xa9\r\n\r\n", "", true, false},
};

TEST("bytes one by one, in twos, threes and all at once are the same message")
{
    struct reader reader;
    reader_open(&reader);
    static const size_t steps[] = {1, 2, 3, 7, 100000};
    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        for (size_t s = 0; s < COUNT_OF(steps); s++) {
            size_t len = strlen(messages[i].text);
            if (read_message(&reader, messages[i].text, len, steps[s]) != PAWL_HTTP_DONE) {
                FAIL("message %zu, steps of %zu: %s", i, steps[s],
                     pawl_http_refusal(reader.http)->err.text);
            }
            const struct pawl_http_request *request = pawl_http_request(reader.http);
            CHECK_EQ(len, reader.used);
            CHECK_STR(messages[i].body, request->body);
            CHECK_EQ(messages[i].keeps_alive, request->keeps_alive);
            CHECK_EQ(messages[i].expects_continue, request->expects_continue);
            CHECK_EQ(1, reader.heads);
        }
    }
    reader_close(&reader);
}

TEST("no beginning of a message is taken for the whole")
{
    struct reader reader;
    reader_open(&reader);
    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        size_t len = strlen(messages[i].text);
        for (size_t cut = 0; cut < len; cut++) {
            CHECK_EQ(PAWL_HTTP_MORE, read_message(&reader, messages[i].text, cut, 100000));
        }
    }
    reader_close(&reader);
}

TEST("what follows a message is left to the next one")
{
    struct reader reader;
    reader_open(&reader);
    const char *text =
        POST "Content-Length: 3\r\n\r\nabc" CHUNKED "2\r\nde\r\n0\r\n\r\n" REQUEST "\r\n";
    static const char *const bodies[] = {"abc", "de", ""};
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        CHECK_EQ(PAWL_HTTP_DONE, read_message(&reader, text, strlen(text), 100000));
        CHECK_STR(bodies[i], pawl_http_request(reader.http)->body);
        text += reader.used;
    }
    CHECK_EQ(0, strlen(text));
    reader_close(&reader);
}

struct refused {
    const char *text;
    int32_t status;
    const char *sentence; /* a part of it */
};

static const struct refused refused[] = {
    {REQUEST "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400, "two lengths"},
    {POST "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400, "two lengths"},
    {POST "Content-Length: 1, 1\r\n\r\nx", 400, "Content-Length"},
    {POST "Content-Length: +1\r\n\r\nx", 400, "Content-Length"},
    {POST "Content-Length: -1\r\n\r\nx", 400, "Content-Length"},
    {POST "Content-Length: 0x1\r\n\r\nx", 400, "Content-Length"},
    {POST "Content-Length: 1 1\r\n\r\nx", 400, "Content-Length"},
    {POST "Content-Length: \r\n\r\n", 400, "Content-Length"},
    {POST "Content-Length: 99999999999999999999\r\n\r\n", 400, "Content-Length"},
    {POST "Content-Length: 16777217\r\n\r\n", 413, "more than 16777216 bytes"},
    {POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "beside"},
    {POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400, "beside"},
    {POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400, "chunked and nothing else"},
    {POST "Transfer-Encoding: gzip\r\n\r\n", 400, "chunked and nothing else"},
    {POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400, "chunked and nothing else"},
    {POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400, "chunked and nothing else"},
    {POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
     "Transfer-Encoding"},
    {POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400, "white space before the colon"},
    {POST "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n", 400, "white space before the colon"},
    {"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "HTTP/1.0"},
    {REQUEST "A: b\n\r\n", 400, "LF without CR"},
    {REQUEST "A: b\rB: c\r\n\r\n", 400, "CR without an LF"},
    {REQUEST "A: b\r\n c\r\n\r\n", 400, "second line"},
    {REQUEST "A: b\r\n\tc\r\n\r\n", 400, "second line"},
    {REQUEST "\n", 400, "no name"},
    {REQUEST ": b\r\n\r\n", 400, "no name"},
    {REQUEST "A\r\n\r\n", 400, "no name has"},
    {REQUEST "A(b): c\r\n\r\n", 400, "no name has"},
    {REQUEST "A\xc3\xa9: c\r\n\r\n", 400, "no name has"},
    {REQUEST "A: \x01\r\n\r\n", 400, "control character"},
    {REQUEST "A: \x7f\r\n\r\n", 400, "control character"},
    {"GET / HTTP/1.1\r\n\r\n", 400, "no Host"},
    {"GET / HTTP/1.1\r\nHost: \r\n\r\n", 400, "no Host"},
    {"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", 400, "two Host"},
    {"GET / HTTP/1.1\nHost: a\r\n\r\n", 400, "CR LF"},
    {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "begins with a /"},
    {"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400, "HTTP/1.1"},
    {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400, "CR LF"},
    {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 400, "HTTP/1.1"},
    {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 400, "HTTP/1.1"},
    {"GET / http/1.1\r\nHost: a\r\n\r\n", 400, "HTTP/1.1"},
    {"GET /\r\nHost: a\r\n\r\n", 400, "must be escaped"},
    {"GET /a\x7f HTTP/1.1\r\nHost: a\r\n\r\n", 400, "must be escaped"},
    {"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "must be escaped"},
    {"GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n", 400, "must be escaped"},
    {"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400, "fragments"},
    {"GET http://example.com/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "begins with a /"},
    {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400, "begins with a /"},
    {"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "begins with a /"},
    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, ""},
    {"FETCH / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "verb is not known"},
    {"get / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "verb is not known"},
    {"\x16\x03\x01\x02", 400, "begins with its verb"},
    {"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "begins with its verb"},
    {"\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "CR without an LF"},
    {REQUEST "Expect: 200-ok\r\n\r\n", 417, "100-continue"},
    {CHUNKED "5\r\nhelloXX0\r\n\r\n", 400, "longer than its size"},
    {CHUNKED "5\r\nhello\rX0\r\n\r\n", 400, "does not end in CR LF"},
    {CHUNKED "5\nhello\r\n0\r\n\r\n", 400, "hexadecimal"},
    {CHUNKED "5;a\nhello\r\n0\r\n\r\n", 400, "extension"},
    {CHUNKED "5\rXhello\r\n0\r\n\r\n", 400, "CR LF"},
    {CHUNKED " 5\r\nhello\r\n0\r\n\r\n", 400, "hexadecimal"},
    {CHUNKED "5 \r\nhello\r\n0\r\n\r\n", 400, "hexadecimal"},
    {CHUNKED "0x5\r\nhello\r\n0\r\n\r\n", 400, "hexadecimal"},
    {CHUNKED "-1\r\nhello\r\n0\r\n\r\n", 400, "hexadecimal"},
    {CHUNKED "\r\nhello\r\n0\r\n\r\n", 400, "hexadecimal"},
    {CHUNKED ";a\r\nhello\r\n0\r\n\r\n", 400, "hexadecimal"},
    {CHUNKED "000000005\r\nhello\r\n0\r\n\r\n", 400, "more than 8 digits"},
    {CHUNKED "1000001\r\n", 413, "more than 16777216 bytes"},
    {CHUNKED "ffffffff\r\n", 413, "more than 16777216 bytes"},
    {CHUNKED "0\r\nTrailer: x\r\n\r\n", 400, "behind the body"},
    {CHUNKED "0\r\n\n", 400, "behind the body"},
    {CHUNKED "0\r\n\rX", 400, "CR LF"},
};

TEST("what two parsers could read in two ways is refused, however it is cut")
{
    struct reader reader;
    reader_open(&reader);
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        for (size_t step = 1; step <= 1000; step = step * 31 + 1) {
            size_t len = strlen(refused[i].text);
            if (read_message(&reader, refused[i].text, len, step) != PAWL_HTTP_REFUSED) {
                FAIL("%zu is not refused (state %d)", i, (int)reader.state);
            }
            const struct pawl_refusal *refusal = pawl_http_refusal(reader.http);
            if (refusal->status != refused[i].status ||
                strstr(refusal->err.text, refused[i].sentence) == NULL) {
                FAIL("%zu: %d %s", i, (int)refusal->status, refusal->err.text);
            }
            CHECK(refusal->err.code != PAWL_OK);
            /* It stays so. */
            size_t used = 1;
            CHECK_EQ(PAWL_HTTP_REFUSED, pawl_http_feed(reader.http, "GET", 3, &used));
            CHECK_EQ(0, used);
        }
    }
    reader_close(&reader);
}

TEST("a zero byte is refused wherever it stands before the body, and taken in it")
{
    struct reader reader;
    reader_open(&reader);
    const char *text = POST "Accept: x\r\nContent-Length: 3\r\n\r\nabc";
    size_t len = strlen(text);
    for (size_t at = 0; at < len; at++) {
        char copy[200];
        memcpy(copy, text, len);
        copy[at] = '\0';
        enum pawl_http_state want = at < len - 3 ? PAWL_HTTP_REFUSED : PAWL_HTTP_DONE;
        CHECK_EQ(want, read_message(&reader, copy, len, 1000));
    }
    reader_close(&reader);
}

/* head, count times middle, tail. */
static char *repeated(const char *head, const char *middle, size_t count, const char *tail)
{
    size_t middle_len = strlen(middle);
    size_t head_len = strlen(head);
    char *text = malloc(head_len + count * middle_len + strlen(tail) + 1);
    CHECK(text != NULL);
    memcpy(text, head, head_len);
    for (size_t i = 0; i < count; i++) memcpy(text + head_len + i * middle_len, middle, middle_len);
    memcpy(text + head_len + count * middle_len, tail, strlen(tail) + 1);
    return text;
}

static void check_limit(const char *head, const char *middle, size_t count, const char *tail,
                        int32_t status)
{
    struct reader reader;
    reader_open(&reader);
    char *text = repeated(head, middle, count, tail);
    CHECK_EQ(PAWL_HTTP_DONE, read_message(&reader, text, strlen(text), 1000000));
    free(text);
    text = repeated(head, middle, count + 1, tail);
    for (size_t step = 1; step <= 1000000; step *= 1000) {
        CHECK_EQ(PAWL_HTTP_REFUSED, read_message(&reader, text, strlen(text), step));
        CHECK_EQ(status, pawl_http_refusal(reader.http)->status);
        CHECK_CODE(status == 400 ? PAWL_INVALID : PAWL_TOO_LARGE,
                   pawl_http_refusal(reader.http)->err.code);
    }
    free(text);
    reader_close(&reader);
}

TEST("the request line may have 8192 bytes and not one more")
{
    check_limit("GET /", "a", PAWL_NET_REQUEST_LINE_BYTES_MAX - strlen("GET / HTTP/1.1"),
                " HTTP/1.1\r\nHost: a\r\n\r\n", 414);
}

TEST("the headers may have 32768 bytes and not one more")
{
    check_limit("GET / HTTP/1.1\r\nHost: a\r\nA: ", "b",
                PAWL_NET_HEADERS_BYTES_MAX - strlen("Host: a\r\nA: \r\n\r\n"), "\r\n\r\n", 431);
}

TEST("there may be 100 headers and not one more")
{
    check_limit("GET / HTTP/1.1\r\nHost: a\r\n", "A:\r\n", PAWL_NET_HEADERS_MAX - 1, "\r\n", 431);
}

TEST("the line of a chunk may have 256 bytes and not one more")
{
    check_limit(CHUNKED "1;", "e", PAWL_NET_CHUNK_LINE_BYTES_MAX - strlen("1;\r\n"),
                "\r\nx\r\n0\r\n\r\n", 400);
}

TEST("a body may have 16 MiB and not a byte more, with a length and in chunks")
{
    struct reader reader;
    reader_open(&reader);
    char *text =
        repeated(POST "Content-Length: 16777216\r\n\r\n", "x", PAWL_NET_BODY_BYTES_MAX, "");
    CHECK_EQ(PAWL_HTTP_DONE, read_message(&reader, text, strlen(text), 65536));
    CHECK_EQ(PAWL_NET_BODY_BYTES_MAX, pawl_http_request(reader.http)->body.len);
    free(text);
    text = repeated(CHUNKED "fffff0\r\n", "x", 0xfffff0, "\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n");
    CHECK_EQ(PAWL_HTTP_DONE, read_message(&reader, text, strlen(text), 65536));
    CHECK_EQ(PAWL_NET_BODY_BYTES_MAX, pawl_http_request(reader.http)->body.len);
    free(text);
    text = repeated(CHUNKED "fffff0\r\n", "x", 0xfffff0, "\r\n11\r\n");
    CHECK_EQ(PAWL_HTTP_REFUSED, read_message(&reader, text, strlen(text), 65536));
    CHECK_EQ(413, pawl_http_refusal(reader.http)->status);
    free(text);
    reader_close(&reader);
}

TEST("a body beyond the room for it is refused, and nothing is lost but it")
{
    struct reader reader;
    reader_open(&reader);
    pawl_arena_close(reader.arena);
    CHECK_OK(pawl_arena_open(&reader.arena, 64 * 1024), NULL);
    char *text = repeated(POST "Content-Length: 100000\r\n\r\n", "x", 100000, "");
    CHECK_EQ(PAWL_HTTP_REFUSED, read_message(&reader, text, strlen(text), 1000000));
    CHECK_EQ(503, pawl_http_refusal(reader.http)->status);
    free(text);
    CHECK_EQ(PAWL_HTTP_DONE, read_message(&reader, REQUEST "\r\n", strlen(REQUEST "\r\n"), 1000));
    reader_close(&reader);
}

TEST_MAIN()
