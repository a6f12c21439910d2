/* Routes: which of several patterns wins, what a path may hold, how a query is read. */
#include "net/route.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static void handle(struct pawl_exchange *exchange, void *self)
{
    (void)exchange;
    (void)self;
}

#define ROUTE(verb, pattern)                                            \
    {                                                                   \
        PAWL_VERB_##verb, pattern, PAWL_ROLE_VIEWER, pattern, handle, 0 \
    }

static const struct pawl_route first[] = {
    ROUTE(GET, "/v1/tasks"),
    ROUTE(POST, "/v1/tasks"),
    ROUTE(GET, "/v1/tasks/{id}"),
    ROUTE(DELETE, "/v1/tasks/{id}"),
    {PAWL_VERB_GET, "/v1/claim/{queue}", PAWL_ROLE_WORKER, "takes", handle, PAWL_ROUTE_TAKES},
};
static const struct pawl_route second[] = {
    ROUTE(POST, "/api/workflow/{name}"),
    ROUTE(POST, "/api/workflow/test"),
    ROUTE(GET, "/api/workflow/{id}"),
    ROUTE(GET, "/api/workflow/search"),
    ROUTE(GET, "/api/workflow/running/{name}"),
    ROUTE(GET, "/api/workflow/{id}/tasks"),
    ROUTE(PUT, "/api/workflow/bulk/pause"),
    ROUTE(PUT, "/api/workflow/{id}/pause"),
    ROUTE(GET, "/api/tasks/{taskId}"),
    ROUTE(POST, "/api/tasks/{workflowId}/{taskRefName}/{status}"),
    ROUTE(POST, "/api/tasks/{workflowId}/{status}/signal"),
    ROUTE(POST, "/api/tasks/{workflowId}/{status}/signal/sync"),
    ROUTE(POST, "/api/tasks/{workflowId}/{taskRefName}/{status}/sync"),
    ROUTE(POST, "/api/tasks/queue/requeue/{taskType}"),
    ROUTE(GET, "/api/queue/"),
};

struct fixture {
    struct pawl_router *router;
    struct pawl_arena *arena;
    struct pawl_route_match match;
    struct pawl_error err;
};

static void fixture_open(struct fixture *f)
{
    *f = (struct fixture){0};
    const struct pawl_route_table tables[] = {{first, COUNT_OF(first), NULL},
                                              {second, COUNT_OF(second), f}};
    CHECK_OK(pawl_arena_open(&f->arena, 0), NULL);
    CHECK_OK(pawl_router_open(&f->router, tables, 2, &f->err), &f->err);
}

static void fixture_close(struct fixture *f)
{
    pawl_router_close(f->router);
    pawl_arena_close(f->arena);
}

static enum pawl_code find(struct fixture *f, enum pawl_verb verb, const char *path)
{
    return pawl_router_find(f->router, verb, pawl_str_of(path), f->arena, &f->match, &f->err);
}

TEST("of the patterns that fit, the one with the leftmost literal wins")
{
    static const struct {
        enum pawl_verb verb;
        const char *path;
        const char *pattern;
    } rows[] = {
        {PAWL_VERB_GET, "/v1/tasks", "/v1/tasks"},
        {PAWL_VERB_GET, "/v1/tasks/t-1", "/v1/tasks/{id}"},
        {PAWL_VERB_POST, "/api/workflow/test", "/api/workflow/test"},
        {PAWL_VERB_POST, "/api/workflow/tests", "/api/workflow/{name}"},
        {PAWL_VERB_GET, "/api/workflow/search", "/api/workflow/search"},
        {PAWL_VERB_GET, "/api/workflow/running/tasks", "/api/workflow/running/{name}"},
        {PAWL_VERB_GET, "/api/workflow/w/tasks", "/api/workflow/{id}/tasks"},
        {PAWL_VERB_PUT, "/api/workflow/bulk/pause", "/api/workflow/bulk/pause"},
        {PAWL_VERB_PUT, "/api/workflow/w/pause", "/api/workflow/{id}/pause"},
        {PAWL_VERB_POST, "/api/tasks/w/COMPLETED/signal",
         "/api/tasks/{workflowId}/{status}/signal"},
        {PAWL_VERB_POST, "/api/tasks/w/ref/COMPLETED",
         "/api/tasks/{workflowId}/{taskRefName}/{status}"},
        {PAWL_VERB_POST, "/api/tasks/queue/requeue/mail", "/api/tasks/queue/requeue/{taskType}"},
        {PAWL_VERB_POST, "/api/tasks/w/s/signal/sync",
         "/api/tasks/{workflowId}/{status}/signal/sync"},
        {PAWL_VERB_POST, "/api/tasks/w/r/s/sync",
         "/api/tasks/{workflowId}/{taskRefName}/{status}/sync"},
        {PAWL_VERB_GET, "/api/queue/", "/api/queue/"},
        {PAWL_VERB_HEAD, "/v1/tasks/t-1", "/v1/tasks/{id}"},
        /* A literal with another verb does not hide the variable. */
        {PAWL_VERB_GET, "/api/workflow/test", "/api/workflow/{id}"},
        {PAWL_VERB_POST, "/api/workflow/search", "/api/workflow/{name}"},
    };
    struct fixture f;
    fixture_open(&f);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_OK(find(&f, rows[i].verb, rows[i].path), &f.err);
        CHECK_TEXT(rows[i].pattern, f.match.route->pattern);
        CHECK(f.match.route == pawl_router_at(f.router, f.match.at));
        CHECK((f.match.self == &f) == (rows[i].path[1] == 'a'));
    }
    fixture_close(&f);
}

TEST("another verb is told with what the path has, anything else is not found")
{
    struct fixture f;
    fixture_open(&f);
    CHECK_CODE(PAWL_UNSUPPORTED, find(&f, PAWL_VERB_PATCH, "/v1/tasks"));
    CHECK_STR("GET, HEAD, POST", pawl_route_allow(f.match.allowed, f.arena));
    CHECK_CODE(PAWL_UNSUPPORTED, find(&f, PAWL_VERB_OTHER, "/v1/tasks/t"));
    CHECK_STR("GET, HEAD, DELETE", pawl_route_allow(f.match.allowed, f.arena));
    /* HEAD must not take a task. */
    CHECK_CODE(PAWL_UNSUPPORTED, find(&f, PAWL_VERB_HEAD, "/v1/claim/mail"));
    CHECK_STR("GET", pawl_route_allow(f.match.allowed, f.arena));
    CHECK_CODE(PAWL_UNSUPPORTED, find(&f, PAWL_VERB_POST, "/api/tasks/update-v2"));

    static const char *const unknown[] = {"/",
                                          "/v1",
                                          "/v1/tasks/",
                                          "/v1/tasks//",
                                          "/v1//tasks",
                                          "//v1/tasks",
                                          "/V1/tasks",
                                          "/v1/tasks/a/b",
                                          "/api/queue",
                                          "/api/workflow/",
                                          "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a"};
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        if (find(&f, PAWL_VERB_GET, unknown[i]) != PAWL_NOT_FOUND) FAIL("%s is found", unknown[i]);
        CHECK_EQ(0, f.match.allowed);
    }
    fixture_close(&f);
}

TEST("segments are decoded, and what is no text is refused")
{
    static const struct {
        const char *raw;
        const char *id; /* NULL = refused */
    } rows[] = {
        {"t-1", "t-1"},
        {"a%20b", "a b"},
        {"a%2Fb", "a/b"},
        {"a+b", "a+b"},
        {"%C3%A9", "\xc3\xa9"},
        {"100%25", "100%"},
        {"%41", "A"},
        {"a%3Fb", "a?b"},
        {"...", "..."},
        {"..a", "..a"},
        {"%", NULL},
        {"%4", NULL},
        {"a%4", NULL},
        {"%zz", NULL},
        {"%00", NULL},
        {"a%00b", NULL},
        {"%ff", NULL},
        {"%C3", NULL},
        {"%C0%AF", NULL},
        {"..", NULL},
        {".", NULL},
        {"%2e%2e", NULL},
        {"%2E.", NULL},
        {"%ED%A0%80", NULL},
    };
    struct fixture f;
    fixture_open(&f);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char path[100];
        (void)snprintf(path, sizeof path, "/v1/tasks/%s", rows[i].raw);
        enum pawl_code code = find(&f, PAWL_VERB_GET, path);
        if (rows[i].id == NULL) {
            if (code != PAWL_INVALID) FAIL("%s is %s", rows[i].raw, pawl_code_name(code));
            continue;
        }
        CHECK_OK(code, &f.err);
        CHECK_EQ(1, f.match.variable_count);
        CHECK_STR("id", f.match.variables[0].name);
        CHECK_STR(rows[i].id, f.match.variables[0].value);
    }
    fixture_close(&f);
}

TEST("a query is decoded; empty values and None are as good as absent")
{
    struct fixture f;
    fixture_open(&f);
    struct pawl_parameter *all = NULL;
    size_t count = 0;
    CHECK_OK(pawl_query_parse(PAWL_STR("a=1&b=&c&&d=x+y%2Bz&=e&f=None&g=none&a=2&h=i=j"), f.arena,
                              &all, &count, &f.err),
             &f.err);
    static const char *const want[][2] = {{"a", "1"},    {"d", "x y+z"}, {"", "e"},
                                          {"g", "none"}, {"a", "2"},     {"h", "i=j"}};
    CHECK_EQ(COUNT_OF(want), count);
    for (size_t i = 0; i < count; i++) {
        CHECK_STR(want[i][0], all[i].name);
        CHECK_STR(want[i][1], all[i].value);
    }
    CHECK_OK(pawl_query_parse(PAWL_STR(""), f.arena, &all, &count, &f.err), &f.err);
    CHECK_EQ(0, count);

    static const char *const bad[] = {"a=%",   "a=%4",  "a=%zz",    "%zz=1",
                                      "a=%00", "a=%ff", "a=b&c=%C3"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_CODE(PAWL_INVALID,
                   pawl_query_parse(pawl_str_of(bad[i]), f.arena, &all, &count, &f.err));
    }
    CHECK_TEXT("query: c is no UTF-8", f.err.text);
    fixture_close(&f);
}

TEST("a query may have 256 parameters and not one more")
{
    struct fixture f;
    fixture_open(&f);
    char text[2 * PAWL_NET_PARAMETERS_MAX + 2];
    memset(text, '&', sizeof text);
    struct pawl_parameter *all = NULL;
    size_t count = 0;
    struct pawl_str query = {text, PAWL_NET_PARAMETERS_MAX - 1};
    CHECK_OK(pawl_query_parse(query, f.arena, &all, &count, &f.err), &f.err);
    query.len++;
    CHECK_CODE(PAWL_TOO_LARGE, pawl_query_parse(query, f.arena, &all, &count, &f.err));
    fixture_close(&f);
}

TEST("truth in a query has many names")
{
    static const char *const yes[] = {"true", "True", "TRUE", "on", "yes", "1"};
    static const char *const no[] = {"false", "False", "off", "NO", "0"};
    static const char *const neither[] = {"", "2", "y", "truee", "tru"};
    bool value = false;
    for (size_t i = 0; i < COUNT_OF(yes); i++)
        CHECK(pawl_query_bool_parse(pawl_str_of(yes[i]), &value) && value);
    for (size_t i = 0; i < COUNT_OF(no); i++)
        CHECK(pawl_query_bool_parse(pawl_str_of(no[i]), &value) && !value);
    for (size_t i = 0; i < COUNT_OF(neither); i++)
        CHECK(!pawl_query_bool_parse(pawl_str_of(neither[i]), &value));
}

TEST("tables that do not fit together are refused when they are joined")
{
    static const struct pawl_route bad[][2] = {
        {ROUTE(GET, "/v1/a"), ROUTE(GET, "/v1/a")},
        {ROUTE(GET, "/v1/{a}"), ROUTE(GET, "/v1/{b}")},
        {ROUTE(GET, "v1"), ROUTE(GET, "/v1/b")},
        {ROUTE(GET, "/v1/{a"), ROUTE(GET, "/v1/b")},
        {ROUTE(GET, "/v1/{}"), ROUTE(GET, "/v1/b")},
        {{PAWL_VERB_GET, "/v1/a", PAWL_ROLE_VIEWER, "", NULL, 0}, ROUTE(GET, "/v1/b")},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct pawl_router *router = NULL;
        struct pawl_error err = {0};
        const struct pawl_route_table table = {bad[i], 2, NULL};
        CHECK_CODE(PAWL_MISUSE, pawl_router_open(&router, &table, 1, &err));
        CHECK(router == NULL);
    }
}

TEST("the OpenAPI document has every route once, with its verb, variables and role")
{
    struct fixture f;
    fixture_open(&f);
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, f.arena);
    pawl_router_describe(f.router, &w);
    struct pawl_str text = pawl_json_writer_done(&w);
    struct pawl_json *json = NULL;
    CHECK_OK(pawl_json_parse(text, f.arena, &json, &f.err), &f.err);
    const struct pawl_json *paths = pawl_json_member(json, PAWL_STR("paths"));
    size_t operations = 0;
    size_t with_names = 0;
    for (const struct pawl_json *path = pawl_json_first(paths); path != NULL;
         path = pawl_json_next(path)) {
        for (const struct pawl_json *operation = pawl_json_first(path); operation != NULL;
             operation = pawl_json_next(operation)) {
            /* As many parameters as the path has variables, with their names. */
            const struct pawl_json *parameters =
                pawl_json_member(operation, PAWL_STR("parameters"));
            size_t variables = 0;
            for (size_t c = 0; c < path->key.len; c++) variables += path->key.ptr[c] == '{';
            CHECK_EQ(variables, parameters->child_count);
            operations++;
            with_names += variables;
        }
    }
    CHECK_EQ(pawl_router_count(f.router), operations);
    CHECK(with_names > 10);
    const struct pawl_json *claim =
        pawl_json_member(pawl_json_member(paths, PAWL_STR("/v1/claim/{queue}")), PAWL_STR("get"));
    struct pawl_str role = {0};
    CHECK(pawl_json_text(pawl_json_member(claim, PAWL_STR("x-pawl-role")), f.arena, &role));
    CHECK_STR("worker", role);
    fixture_close(&f);
}

TEST("roles have names that are read back")
{
    for (int i = PAWL_ROLE_NONE; i <= PAWL_ROLE_ADMIN; i++) {
        enum pawl_role role = PAWL_ROLE_NONE;
        CHECK(pawl_role_parse(pawl_str_of(pawl_role_name((enum pawl_role)i)), &role));
        CHECK_EQ(i, role);
    }
    enum pawl_role role = PAWL_ROLE_WORKER;
    CHECK(!pawl_role_parse(PAWL_STR("root"), &role));
    CHECK_EQ(PAWL_ROLE_WORKER, role);
}

TEST_MAIN()
