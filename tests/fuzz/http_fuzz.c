/* Requests from any bytes: taken or refused, never a crash; and the same whether they come at once
 * or one by one. */
#include "base/arena.h"
#include "base/assert.h"
#include "base/str.h"
#include "fuzz/fuzz.h"
#include "net/http.h"
#include "net/limits.h"

#include <string.h>

enum { BODY_BYTES_MAX = 1000, MESSAGES_MAX = 16 };

struct reader {
    struct pawl_arena *arena;
    struct pawl_http *http;
};

/* One message from bytes on, in pieces; *used is where it ends. */
static enum pawl_http_state read_message(struct reader *reader, const char *bytes, size_t len,
                                         size_t step, size_t *used)
{
    enum pawl_http_state state = PAWL_HTTP_MORE;
    bool has_head = false;
    *used = 0;
    pawl_arena_reset(reader->arena);
    pawl_http_begin(reader->http, reader->arena, BODY_BYTES_MAX);
    while (state == PAWL_HTTP_HEAD || (state == PAWL_HTTP_MORE && *used < len)) {
        size_t piece = len - *used < step ? len - *used : step;
        size_t taken = 0;
        state = pawl_http_feed(reader->http, bytes + *used, piece, &taken);
        pawl_assert(taken <= piece);
        *used += taken;
        if (state != PAWL_HTTP_HEAD) continue;
        pawl_assert(!has_head);
        has_head = true;
    }
    pawl_assert(state != PAWL_HTTP_DONE || has_head);
    return state;
}

static void check_request(const struct pawl_http_request *request)
{
    pawl_assert(request->target.len > 0 && request->target.ptr[0] == '/');
    pawl_assert(request->host.len > 0);
    pawl_assert(request->body.len <= BODY_BYTES_MAX);
    pawl_assert(request->has_body || request->body.len == 0);
    for (size_t i = 0; i < request->header_count; i++) {
        struct pawl_str value = request->headers[i].value;
        pawl_assert(request->headers[i].name.len > 0);
        pawl_assert(memchr(value.ptr, '\r', value.len) == NULL);
        pawl_assert(memchr(value.ptr, '\n', value.len) == NULL);
        pawl_assert(memchr(value.ptr, 0, value.len) == NULL);
    }
}

static void check_same(const struct pawl_http_request *a, const struct pawl_http_request *b)
{
    pawl_assert(a->verb == b->verb);
    pawl_assert(pawl_str_equal(a->target, b->target));
    pawl_assert(pawl_str_equal(a->body, b->body));
    pawl_assert(a->header_count == b->header_count);
    pawl_assert(a->keeps_alive == b->keeps_alive);
    pawl_assert(a->expects_continue == b->expects_continue);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct reader whole = {0};
    struct reader single = {0};
    pawl_assert(pawl_arena_open(&whole.arena, 0) == PAWL_OK &&
                pawl_http_open(&whole.http) == PAWL_OK);
    pawl_assert(pawl_arena_open(&single.arena, 0) == PAWL_OK &&
                pawl_http_open(&single.http) == PAWL_OK);
    const char *at = (const char *)bytes;
    enum pawl_http_state state = PAWL_HTTP_DONE;
    for (int32_t i = 0; i < MESSAGES_MAX && state == PAWL_HTTP_DONE && size > 0; i++) {
        size_t used = 0;
        size_t used_single = 0;
        state = read_message(&whole, at, size, size, &used);
        enum pawl_http_state other = read_message(&single, at, size, 1, &used_single);
        pawl_assert(state == other);
        if (state == PAWL_HTTP_DONE) {
            pawl_assert(used == used_single);
            check_request(pawl_http_request(whole.http));
            check_same(pawl_http_request(whole.http), pawl_http_request(single.http));
        }
        if (state == PAWL_HTTP_REFUSED) {
            pawl_assert(pawl_http_refusal(whole.http)->status >= 400);
            pawl_assert(pawl_http_refusal(whole.http)->err.code != PAWL_OK);
        }
        at += used;
        size -= used;
    }
    pawl_http_close(whole.http);
    pawl_http_close(single.http);
    pawl_arena_close(whole.arena);
    pawl_arena_close(single.arena);
    return 0;
}
