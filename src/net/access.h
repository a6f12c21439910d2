/* Who may ask. Pure: what a request says of itself, against what the server was told. */
#ifndef PAWL_NET_ACCESS_H
#define PAWL_NET_ACCESS_H

#include "net/http.h"
#include "net/route.h"
#include "pawl.h"

struct pawl_access {
    /* Names beside localhost under which we are asked, without a port; borrowed. */
    const struct pawl_str *hosts;
    size_t host_count;
    /* The role of a token, and the name it goes by (in keep); false if it is none of ours. On a
     * loop's thread: it must not wait. NULL: there are no tokens, and everything is allowed to
     * everybody who reaches us. */
    bool (*find_token)(void *self, struct pawl_str token, struct pawl_arena *keep,
                       enum pawl_role *role, struct pawl_str *name);
    /* Whether callers need a token by now; NULL: they do if there is find_token. Any thread. */
    bool (*has_tokens)(void *self);
    void *self;
};

struct pawl_caller {
    enum pawl_role role;
    struct pawl_str name; /* of the token; empty = none */
};

/* Whether this request may have a route that needs this role.
 *
 *   is_loopback  it came in over a loopback address
 *   fails        PAWL_FORBIDDEN        a Host that is not ours, on loopback without tokens: a page
 * elsewhere may have bound its name to our address; a foreign Origin; a role that is not enough
 *                PAWL_UNAUTHENTICATED  there are tokens, and this request has none of them */
enum pawl_code pawl_access_check(const struct pawl_access *access,
                                 const struct pawl_http_request *request, bool is_loopback,
                                 enum pawl_role needed, struct pawl_arena *keep,
                                 struct pawl_caller *caller, struct pawl_error *err) PAWL_MUST_USE;

/* Whether callers need a token. */
bool pawl_access_has_tokens(const struct pawl_access *access);

/* Host without its port: "[::1]:80" gives "[::1]". */
struct pawl_str pawl_access_host_name(struct pawl_str host);

/* Whether an address that is listened on, or a Host, is of this machine alone. */
bool pawl_access_is_loopback(struct pawl_str host_name);

#endif
