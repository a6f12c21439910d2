#include "net/access.h"

#include "base/error.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static bool is_same_name(struct pawl_str a, struct pawl_str b)
{
    return a.len == b.len && (a.len == 0 || strncasecmp(a.ptr, b.ptr, a.len) == 0);
}

struct pawl_str pawl_access_host_name(struct pawl_str host)
{
    size_t end = 0;
    if (host.len > 0 && host.ptr[0] == '[') {
        while (end < host.len && host.ptr[end] != ']') end++;
        return (struct pawl_str){host.ptr, end < host.len ? end + 1 : host.len};
    }
    while (end < host.len && host.ptr[end] != ':') end++;
    return (struct pawl_str){host.ptr, end};
}

bool pawl_access_is_loopback(struct pawl_str host_name)
{
    char text[INET6_ADDRSTRLEN] = "";
    struct in_addr four;
    struct in6_addr six;
    if (is_same_name(host_name, PAWL_STR("localhost"))) return true;
    if (host_name.len > 2 && host_name.ptr[0] == '[' && host_name.ptr[host_name.len - 1] == ']') {
        host_name = (struct pawl_str){host_name.ptr + 1, host_name.len - 2};
    }
    if (host_name.len == 0 || host_name.len >= sizeof text) return false;
    memcpy(text, host_name.ptr, host_name.len);
    if (inet_pton(AF_INET, text, &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, text, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

static bool is_ours(const struct pawl_access *access, struct pawl_str name)
{
    if (pawl_access_is_loopback(name)) return true;
    for (size_t i = 0; i < access->host_count; i++) {
        if (is_same_name(access->hosts[i], name)) return true;
    }
    return false;
}

/* A page of our own has our own address as its origin. */
static bool is_own_origin(const struct pawl_access *access, const struct pawl_http_request *request,
                          struct pawl_str origin)
{
    static const struct pawl_str schemes[] = {PAWL_STR_INIT("http://"), PAWL_STR_INIT("https://")};
    for (size_t i = 0; i < 2; i++) {
        if (!pawl_str_starts(origin, schemes[i])) continue;
        struct pawl_str host = {origin.ptr + schemes[i].len, origin.len - schemes[i].len};
        if (is_same_name(host, request->host)) return true;
        struct pawl_str name = pawl_access_host_name(host);
        for (size_t h = 0; h < access->host_count; h++) {
            if (is_same_name(access->hosts[h], name)) return true;
        }
    }
    return false;
}

static enum pawl_code find_token(const struct pawl_http_request *request, struct pawl_str *token,
                                 struct pawl_error *err)
{
    static const struct pawl_str bearer = PAWL_STR_INIT("Bearer ");
    if (pawl_http_header_get(request, PAWL_STR("X-Authorization"), token)) return PAWL_OK;
    struct pawl_str value = {0};
    if (!pawl_http_header_get(request, PAWL_STR("Authorization"), &value)) return PAWL_OK;
    if (value.len <= bearer.len || strncasecmp(value.ptr, bearer.ptr, bearer.len) != 0) {
        return pawl_error_set(err, PAWL_UNAUTHENTICATED,
                              "Authorization is not `Bearer` and a token");
    }
    *token = pawl_str_trim((struct pawl_str){value.ptr + bearer.len, value.len - bearer.len});
    return PAWL_OK;
}

bool pawl_access_has_tokens(const struct pawl_access *access)
{
    if (access->find_token == NULL) return false;
    return access->has_tokens == NULL || access->has_tokens(access->self);
}

enum pawl_code pawl_access_check(const struct pawl_access *access,
                                 const struct pawl_http_request *request, bool is_loopback,
                                 enum pawl_role needed, struct pawl_arena *keep,
                                 struct pawl_caller *caller, struct pawl_error *err)
{
    bool has_tokens = pawl_access_has_tokens(access);
    struct pawl_str name = pawl_access_host_name(request->host);
    if (is_loopback && !has_tokens && !is_ours(access, name)) {
        return pawl_error_set(err, PAWL_FORBIDDEN,
                              "Host: `%.*s` is not a name of this server (--allow-host adds one)",
                              PAWL_STR_ARG(name));
    }
    struct pawl_str origin = {0};
    if (pawl_http_header_get(request, PAWL_STR("Origin"), &origin) &&
        !is_own_origin(access, request, origin)) {
        return pawl_error_set(err, PAWL_FORBIDDEN,
                              "Origin: pages of `%.*s` may not ask (--allow-host adds a name)",
                              PAWL_STR_ARG(origin));
    }
    if (!has_tokens) {
        *caller = (struct pawl_caller){.role = PAWL_ROLE_ADMIN};
        return PAWL_OK;
    }
    *caller = (struct pawl_caller){.role = PAWL_ROLE_NONE};
    if (needed == PAWL_ROLE_NONE) return PAWL_OK;
    struct pawl_str token = {0};
    enum pawl_code code = find_token(request, &token, err);
    if (code != PAWL_OK) return code;
    if (token.len == 0 ||
        !access->find_token(access->self, token, keep, &caller->role, &caller->name)) {
        return pawl_error_set(err, PAWL_UNAUTHENTICATED,
                              token.len == 0 ? "this needs a token" : "the token is not known");
    }
    if (caller->role >= needed) return PAWL_OK;
    return pawl_error_set(err, PAWL_FORBIDDEN, "this needs the role %s; the token has %s",
                          pawl_role_name(needed), pawl_role_name(caller->role));
}
