/* Routes: static tables of verb, pattern, right and handler, and the way from a request's target to
 * one of them.
 *
 *   static const struct pawl_route routes[] = {
 *       {PAWL_VERB_GET, "/v1/tasks/{id}", PAWL_ROLE_VIEWER, "A task", get_task, 0},
 *   };
 *
 * A segment of a pattern is a literal or a {variable}. The same number of segments can match
 * several patterns: the one with the leftmost literal wins, among those that have the verb. HEAD is
 * GET without a body, except where a GET takes something. There is no trailing-slash equivalence.
 */
#ifndef PAWL_NET_ROUTE_H
#define PAWL_NET_ROUTE_H

#include "net/http.h"
#include "net/limits.h"
#include "pawl.h"

struct pawl_exchange;
struct pawl_json_writer;

/* What a caller may do; each may do what those before it may. */
/* clang-format off */
#define PAWL_ROLES(X)                                                     \
    X(NONE,     "none")     /* a caller without a token; a public route */ \
    X(VIEWER,   "viewer")   /* look */                                     \
    X(WORKER,   "worker")   /* add tasks, claim them, tell what became of them */ \
    X(OPERATOR, "operator") /* pause, cancel, resolve, redrive */          \
    X(ADMIN,    "admin")    /* tokens, settings, removal */
/* clang-format on */
enum pawl_role {
#define X(name, text) PAWL_ROLE_##name,
    PAWL_ROLES(X)
#undef X
};
const char *pawl_role_name(enum pawl_role role);
bool pawl_role_parse(struct pawl_str name, enum pawl_role *out);

enum {
    PAWL_ROUTE_TAKES = 1 << 0,  /* a GET that takes something: HEAD is 405 */
    PAWL_ROUTE_DRAINS = 1 << 1, /* answered while the server drains; others are told BUSY */
};

struct pawl_route {
    enum pawl_verb verb;
    const char *pattern;
    enum pawl_role role;
    const char *summary; /* a sentence for the OpenAPI document */
    /* On the loop's thread: it must not wait. It answers, or keeps the exchange and answers later
     * (net/exchange.h). self is the table's. */
    void (*handle)(struct pawl_exchange *exchange, void *self);
    uint32_t flags;
};

struct pawl_route_table {
    const struct pawl_route *routes; /* borrowed as long as the router lives */
    size_t count;
    void *self;
};

struct pawl_variable {
    struct pawl_str name;
    struct pawl_str value; /* decoded */
};

struct pawl_route_match {
    const struct pawl_route *route;
    void *self;
    size_t at; /* its number among all, in the order of the tables */
    struct pawl_variable variables[PAWL_NET_SEGMENTS_MAX];
    size_t variable_count;
    uint32_t allowed; /* bit 1 << verb: what the path has; after PAWL_UNSUPPORTED */
};

struct pawl_router;

/* Joins tables. fails  PAWL_MISUSE  a bad pattern, or one that stands twice; PAWL_NO_MEMORY */
enum pawl_code pawl_router_open(struct pawl_router **out, const struct pawl_route_table *tables,
                                size_t table_count, struct pawl_error *err) PAWL_MUST_USE;
void pawl_router_close(struct pawl_router *router); /* takes NULL */

size_t pawl_router_count(const struct pawl_router *router);
const struct pawl_route *pawl_router_at(const struct pawl_router *router, size_t at);

/* The route of a path, which is as it was sent, without its query.
 *
 *   keep   decoded variables live here
 *   fails  PAWL_INVALID      the path is no path: "..", a bad escape, no UTF-8, a NUL
 *          PAWL_NOT_FOUND    no route
 *          PAWL_UNSUPPORTED  another verb: match->allowed says which */
enum pawl_code pawl_router_find(const struct pawl_router *router, enum pawl_verb verb,
                                struct pawl_str path, struct pawl_arena *keep,
                                struct pawl_route_match *match,
                                struct pawl_error *err) PAWL_MUST_USE;

/* "GET, HEAD, POST": the value of Allow. */
struct pawl_str pawl_route_allow(uint32_t allowed, struct pawl_arena *keep);

/* An OpenAPI 3.0 document of all routes. */
void pawl_router_describe(const struct pawl_router *router, struct pawl_json_writer *w);

struct pawl_parameter {
    struct pawl_str name;
    struct pawl_str value;
    bool is_read; /* somebody has asked for it */
};

/* The parameters of a query, decoded, in their order. Empty values and the literal None are as good
 * as absent and left out.
 *
 *   fails  PAWL_INVALID    a bad escape, no UTF-8, a NUL; the sentence names the parameter
 *          PAWL_TOO_LARGE  more than PAWL_NET_PARAMETERS_MAX */
enum pawl_code pawl_query_parse(struct pawl_str query, struct pawl_arena *keep,
                                struct pawl_parameter **out, size_t *count,
                                struct pawl_error *err) PAWL_MUST_USE;

/* true, on, yes, 1 and false, off, no, 0, in any case. */
bool pawl_query_bool_parse(struct pawl_str text, bool *out) PAWL_MUST_USE;

#endif
