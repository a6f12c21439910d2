/* Who may have which route: every route of the server against every role. */
#include "net/access.h"

#include "base/arena.h"
#include "base/str.h"
#include "net/conductor/conductor.h"
#include "net/native/native.h"
#include "net/service.h"
#include "net/tokens.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* The right of each route, said a second time: whoever adds a route says here what it needs. */
/* clang-format off */
static const struct {
    const char *route;
    enum pawl_role role;
} wanted[] = {
    {"GET /health", PAWL_ROLE_NONE},
    {"GET /ready", PAWL_ROLE_NONE},
    {"GET /metrics", PAWL_ROLE_VIEWER},
    {"GET /v1/version", PAWL_ROLE_NONE},
    {"GET /v1/openapi.json", PAWL_ROLE_NONE},
    {"GET /api/health", PAWL_ROLE_NONE},
    {"GET /api/version", PAWL_ROLE_NONE},
    {"POST /api/token", PAWL_ROLE_NONE}, /* a key and its secret say who it is */
    {"POST /v1/tasks", PAWL_ROLE_WORKER},
    {"POST /v1/tasks/batch", PAWL_ROLE_WORKER},
    {"GET /v1/tasks", PAWL_ROLE_VIEWER},
    {"GET /v1/tasks/{id}", PAWL_ROLE_VIEWER},
    {"GET /v1/tasks/{id}/events", PAWL_ROLE_VIEWER},
    {"GET /v1/tasks/{id}/logs", PAWL_ROLE_VIEWER},
    {"GET /v1/tasks/{id}/checkpoints", PAWL_ROLE_VIEWER},
    {"GET /v1/tasks/{id}/checkpoints/{checkpoint}", PAWL_ROLE_VIEWER},
    {"GET /v1/tasks/{id}/late-results", PAWL_ROLE_VIEWER},
    {"POST /v1/tasks/claim", PAWL_ROLE_WORKER},
    {"POST /v1/tasks/{id}/start", PAWL_ROLE_WORKER},
    {"POST /v1/leases/renew", PAWL_ROLE_WORKER},
    {"POST /v1/outcomes", PAWL_ROLE_WORKER},
    {"POST /v1/tasks/{id}/progress", PAWL_ROLE_WORKER},
    {"POST /v1/tasks/{id}/checkpoint", PAWL_ROLE_WORKER},
    {"POST /v1/tasks/{id}/log", PAWL_ROLE_WORKER},
    {"POST /v1/tasks/{id}/complete", PAWL_ROLE_WORKER},
    {"POST /v1/tasks/{id}/fail", PAWL_ROLE_WORKER},
    {"POST /v1/tasks/{id}/release", PAWL_ROLE_WORKER},
    {"POST /v1/tasks/{id}/queue", PAWL_ROLE_OPERATOR},
    {"POST /v1/tasks/{id}/pause", PAWL_ROLE_OPERATOR},
    {"POST /v1/tasks/{id}/resume", PAWL_ROLE_OPERATOR},
    {"POST /v1/tasks/{id}/cancel", PAWL_ROLE_OPERATOR},
    {"POST /v1/tasks/{id}/resolve", PAWL_ROLE_OPERATOR},
    {"POST /v1/dead/redrive", PAWL_ROLE_OPERATOR},
    {"GET /v1/queues", PAWL_ROLE_VIEWER},
    {"GET /v1/queues/{name}", PAWL_ROLE_VIEWER},
    {"PUT /v1/queues/{name}", PAWL_ROLE_OPERATOR},
    {"GET /v1/events", PAWL_ROLE_VIEWER},
    {"GET /v1/events/stream", PAWL_ROLE_VIEWER},
    {"POST /v1/consumers/{name}/read", PAWL_ROLE_WORKER},
    {"POST /v1/consumers/{name}/acknowledge", PAWL_ROLE_WORKER},
    {"GET /v1/store", PAWL_ROLE_VIEWER},
    {"GET /api/metadata/taskdefs", PAWL_ROLE_VIEWER},
    {"POST /api/metadata/taskdefs", PAWL_ROLE_WORKER}, /* workers register their tasks */
    {"PUT /api/metadata/taskdefs", PAWL_ROLE_WORKER},
    {"GET /api/metadata/taskdefs/{tasktype}", PAWL_ROLE_VIEWER},
    {"DELETE /api/metadata/taskdefs/{tasktype}", PAWL_ROLE_OPERATOR},
    {"GET /api/metadata/workflow", PAWL_ROLE_VIEWER},
    {"POST /api/metadata/workflow", PAWL_ROLE_OPERATOR},
    {"PUT /api/metadata/workflow", PAWL_ROLE_OPERATOR},
    {"POST /api/metadata/workflow/validate", PAWL_ROLE_WORKER},
    {"GET /api/metadata/workflow/latest-versions", PAWL_ROLE_VIEWER},
    {"GET /api/metadata/workflow/names", PAWL_ROLE_VIEWER},
    {"GET /api/metadata/workflow/names-and-versions", PAWL_ROLE_VIEWER},
    {"GET /api/metadata/workflow/{name}", PAWL_ROLE_VIEWER},
    {"GET /api/metadata/workflow/{name}/versions", PAWL_ROLE_VIEWER},
    {"DELETE /api/metadata/workflow/{name}/{version}", PAWL_ROLE_OPERATOR},
    {"GET /api/tasks/poll/batch/{tasktype}", PAWL_ROLE_WORKER}, /* they take tasks */
    {"GET /api/tasks/poll/{tasktype}", PAWL_ROLE_WORKER},
    {"POST /api/tasks", PAWL_ROLE_WORKER},
    {"POST /api/tasks/update-v2", PAWL_ROLE_WORKER},
    {"GET /api/tasks/{taskId}", PAWL_ROLE_VIEWER},
    {"POST /api/tasks/{taskId}/ack", PAWL_ROLE_WORKER},
    {"POST /api/tasks/{taskId}/log", PAWL_ROLE_WORKER},
    {"GET /api/tasks/{taskId}/log", PAWL_ROLE_VIEWER},
    {"GET /api/tasks/queue/sizes", PAWL_ROLE_VIEWER},
    {"GET /api/tasks/queue/size", PAWL_ROLE_VIEWER},
    {"GET /api/tasks/queue/all", PAWL_ROLE_VIEWER},
    {"GET /api/tasks/queue/all/verbose", PAWL_ROLE_VIEWER},
    {"GET /api/tasks/queue/polldata", PAWL_ROLE_VIEWER},
    {"GET /api/tasks/queue/polldata/all", PAWL_ROLE_VIEWER},
    {"POST /api/tasks/queue/requeue/{taskType}", PAWL_ROLE_OPERATOR},
    {"POST /api/workflow", PAWL_ROLE_WORKER},
    {"GET /api/workflow/search", PAWL_ROLE_VIEWER},
    {"GET /api/workflow/search-v2", PAWL_ROLE_VIEWER},
    {"GET /api/workflow/search-by-tasks", PAWL_ROLE_VIEWER},
    {"GET /api/workflow/search-by-tasks-v2", PAWL_ROLE_VIEWER},
    {"GET /api/tasks/search", PAWL_ROLE_VIEWER},
    {"GET /api/tasks/search-v2", PAWL_ROLE_VIEWER},
    {"POST /api/workflow/{name}", PAWL_ROLE_WORKER},
    {"GET /api/workflow/{workflowId}", PAWL_ROLE_VIEWER},
    {"GET /api/workflow/{workflowId}/status", PAWL_ROLE_VIEWER},
    {"GET /api/workflow/{workflowId}/tasks", PAWL_ROLE_VIEWER},
    {"GET /api/workflow/running/{name}", PAWL_ROLE_VIEWER},
    {"GET /api/workflow/{name}/correlated/{correlationId}", PAWL_ROLE_VIEWER},
    {"POST /api/workflow/{name}/correlated", PAWL_ROLE_WORKER},
    {"POST /api/workflow/bulk/search", PAWL_ROLE_WORKER},
    {"POST /api/workflow/test", PAWL_ROLE_WORKER},
    {"PUT /api/workflow/{workflowId}/pause", PAWL_ROLE_OPERATOR},
    {"PUT /api/workflow/{workflowId}/resume", PAWL_ROLE_OPERATOR},
    {"DELETE /api/workflow/{workflowId}", PAWL_ROLE_OPERATOR},
    {"DELETE /api/workflow/{workflowId}/remove", PAWL_ROLE_ADMIN},
    {"DELETE /api/workflow/{workflowId}/terminate-remove", PAWL_ROLE_ADMIN},
    {"POST /api/workflow/{workflowId}/restart", PAWL_ROLE_OPERATOR},
    {"POST /api/workflow/{workflowId}/retry", PAWL_ROLE_OPERATOR},
    {"POST /api/workflow/{workflowId}/rerun", PAWL_ROLE_OPERATOR},
    {"POST /api/workflow/{workflowId}/resetcallbacks", PAWL_ROLE_OPERATOR},
    {"PUT /api/workflow/{workflowId}/skiptask/{taskReferenceName}", PAWL_ROLE_OPERATOR},
    {"PUT /api/workflow/decide/{workflowId}", PAWL_ROLE_OPERATOR},
    {"PUT /api/workflow/bulk/pause", PAWL_ROLE_OPERATOR},
    {"PUT /api/workflow/bulk/resume", PAWL_ROLE_OPERATOR},
    {"POST /api/workflow/bulk/restart", PAWL_ROLE_OPERATOR},
    {"POST /api/workflow/bulk/retry", PAWL_ROLE_OPERATOR},
    {"POST /api/workflow/bulk/terminate", PAWL_ROLE_OPERATOR},
    {"DELETE /api/workflow/bulk/remove", PAWL_ROLE_ADMIN},
    {"POST /api/workflow/bulk/delete", PAWL_ROLE_ADMIN},
    {"DELETE /api/workflow/bulk/terminate-remove", PAWL_ROLE_ADMIN},
    {"POST /api/workflow/execute/{name}/{version}", PAWL_ROLE_WORKER},
    {"POST /api/workflow/{workflowId}/variables", PAWL_ROLE_OPERATOR},
    {"POST /api/tasks/{workflowId}/{status}/signal", PAWL_ROLE_WORKER},
    {"POST /api/tasks/{workflowId}/{status}/signal/sync", PAWL_ROLE_WORKER},
    {"POST /api/tasks/{workflowId}/{taskRefName}/{status}", PAWL_ROLE_WORKER},
    {"POST /api/tasks/{workflowId}/{taskRefName}/{status}/sync", PAWL_ROLE_WORKER},
    {"GET /api/event", PAWL_ROLE_VIEWER},
    {"POST /api/event", PAWL_ROLE_OPERATOR},
    {"PUT /api/event", PAWL_ROLE_OPERATOR},
    {"GET /api/event/{event}", PAWL_ROLE_VIEWER},
    {"DELETE /api/event/{name}", PAWL_ROLE_OPERATOR},
    {"GET /api/event/handler/{name}", PAWL_ROLE_VIEWER},
};

static const enum pawl_role roles[] = {
#define X(name, text) PAWL_ROLE_##name,
    PAWL_ROLES(X)
#undef X
};
/* clang-format on */

/* A token's text is the name of its role. */
static bool find_token(void *self, struct pawl_str token, struct pawl_arena *keep,
                       enum pawl_role *role, struct pawl_str *name)
{
    (void)self;
    (void)keep;
    *name = token;
    return pawl_role_parse(token, role) && *role != PAWL_ROLE_NONE;
}

static struct pawl_router *open_routes(void)
{
    static struct pawl_native native; /* no route is called */
    static struct pawl_conductor conductor;
    struct pawl_route_table tables[PAWL_NATIVE_TABLES + PAWL_CONDUCTOR_TABLES + 2];
    size_t count = PAWL_NATIVE_TABLES + PAWL_CONDUCTOR_TABLES;
    struct pawl_router *router = NULL;
    struct pawl_error err = {0};
    pawl_native_tables(&native, tables);
    pawl_conductor_tables(&conductor, tables + PAWL_NATIVE_TABLES);
    tables[count++] = pawl_service_table(NULL);
    tables[count++] = pawl_tokens_table(NULL);
    CHECK_OK(pawl_router_open(&router, tables, count, &err), &err);
    return router;
}

/* What the caller is told: of a role, or without a token if it is NONE. */
static enum pawl_code ask(enum pawl_role has, enum pawl_role needed, struct pawl_arena *arena)
{
    const struct pawl_access access = {.find_token = find_token};
    const struct pawl_http_header header = {PAWL_STR("X-Authorization"),
                                            pawl_str_of(pawl_role_name(has))};
    const struct pawl_http_request request = {
        .host = PAWL_STR("localhost"),
        .headers = &header,
        .header_count = has != PAWL_ROLE_NONE ? 1 : 0,
    };
    struct pawl_caller caller;
    struct pawl_error err = {0};
    return pawl_access_check(&access, &request, true, needed, arena, &caller, &err);
}

/* NULL if nobody has said what this route needs. */
static const enum pawl_role *find_wanted(const struct pawl_route *route)
{
    char text[256];
    (void)snprintf(text, sizeof text, "%s %s", pawl_verb_name(route->verb), route->pattern);
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        if (strcmp(wanted[i].route, text) == 0) return &wanted[i].role;
    }
    return NULL;
}

TEST("every route is refused without a token, refused to a role too low, and open from its own up")
{
    struct pawl_router *router = open_routes();
    struct pawl_arena *arena = NULL;
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    CHECK_EQ(COUNT_OF(wanted), pawl_router_count(router));
    for (size_t at = 0; at < pawl_router_count(router); at++) {
        const struct pawl_route *route = pawl_router_at(router, at);
        const enum pawl_role *needed = find_wanted(route);
        const char *verb = pawl_verb_name(route->verb);
        if (needed == NULL) FAIL("%s %s: whose is it?", verb, route->pattern);
        for (size_t i = 0; i < COUNT_OF(roles); i++) {
            enum pawl_code want = PAWL_OK;
            if (roles[i] < *needed) {
                want = roles[i] == PAWL_ROLE_NONE ? PAWL_UNAUTHENTICATED : PAWL_FORBIDDEN;
            }
            enum pawl_code got = ask(roles[i], route->role, arena);
            if (got != want) {
                FAIL("%s %s as %s: %d, not %d", verb, route->pattern, pawl_role_name(roles[i]),
                     (int)got, (int)want);
            }
        }
    }
    pawl_arena_close(arena);
    pawl_router_close(router);
}

TEST("what is no GET needs the right of a worker at least")
{
    struct pawl_router *router = open_routes();
    for (size_t at = 0; at < pawl_router_count(router); at++) {
        const struct pawl_route *route = pawl_router_at(router, at);
        bool is_look = route->verb == PAWL_VERB_GET;
        bool is_of_token = strcmp(route->pattern, "/api/token") == 0; /* it changes nothing */
        if (!is_look && !is_of_token && route->role < PAWL_ROLE_WORKER)
            FAIL("%s changes something", route->pattern);
    }
    pawl_router_close(router);
}

TEST_MAIN()
