/* Patterns are split once, when tables are joined, and sorted so that the first that fits is the
 * right one: by number of segments, then literals before variables from the left. A look is a walk
 * over those of the same length; there are some dozens, and nearly all differ in their second
 * segment. */
#include "net/route.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/str.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct segment {
    struct pawl_str text; /* of a variable: its name */
    bool is_variable;
};

struct entry {
    const struct pawl_route *route;
    void *self;
    size_t at;
    struct segment segments[PAWL_NET_SEGMENTS_MAX];
    size_t segment_count;
};

struct pawl_router {
    struct entry *entries;            /* owned; sorted */
    const struct pawl_route **routes; /* owned; in the order of the tables */
    size_t count;
};

/* ---- Roles
 * --------------------------------------------------------------------------------------------- */

static const char *const role_names[] = {
#define X(name, text) text,
    PAWL_ROLES(X)
#undef X
};

const char *pawl_role_name(enum pawl_role role)
{
    return (size_t)role < PAWL_COUNT_OF(role_names) ? role_names[role] : "unknown";
}

bool pawl_role_parse(struct pawl_str name, enum pawl_role *out)
{
    for (size_t i = 0; i < PAWL_COUNT_OF(role_names); i++) {
        if (!pawl_str_equal(name, pawl_str_of(role_names[i]))) continue;
        *out = (enum pawl_role)i;
        return true;
    }
    return false;
}

/* ---- Joining tables
 * ------------------------------------------------------------------------------------ */

/* The next segment of a path that begins behind *at, a '/'. False at the end. */
static bool next_segment(struct pawl_str path, size_t *at, struct pawl_str *out)
{
    if (*at >= path.len) return false;
    size_t start = *at + 1;
    size_t end = start;
    while (end < path.len && path.ptr[end] != '/') end++;
    *out = (struct pawl_str){path.ptr + start, end - start};
    *at = end;
    return true;
}

static bool split_pattern(struct entry *entry)
{
    struct pawl_str pattern = pawl_str_of(entry->route->pattern);
    struct pawl_str text;
    size_t at = 0;
    if (pattern.len == 0 || pattern.ptr[0] != '/') return false;
    while (next_segment(pattern, &at, &text)) {
        if (entry->segment_count == PAWL_NET_SEGMENTS_MAX) return false;
        struct segment *segment = &entry->segments[entry->segment_count++];
        bool is_open = text.len > 0 && text.ptr[0] == '{';
        bool is_closed = text.len > 0 && text.ptr[text.len - 1] == '}';
        if (is_open != is_closed || (is_open && text.len < 3)) return false;
        segment->is_variable = is_open;
        segment->text = is_open ? (struct pawl_str){text.ptr + 1, text.len - 2} : text;
    }
    return true;
}

/* By shape: two variables are alike. */
static int compare_shapes(const struct entry *a, const struct entry *b)
{
    if (a->segment_count != b->segment_count) return a->segment_count < b->segment_count ? -1 : 1;
    for (size_t i = 0; i < a->segment_count; i++) {
        const struct segment *x = &a->segments[i];
        const struct segment *y = &b->segments[i];
        if (x->is_variable != y->is_variable) return x->is_variable ? 1 : -1;
        int order = x->is_variable ? 0 : pawl_str_compare(x->text, y->text);
        if (order != 0) return order;
    }
    return 0;
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    int order = compare_shapes(a, b);
    if (order != 0) return order;
    return a->route->verb < b->route->verb ? -1 : a->route->verb > b->route->verb;
}

static enum pawl_code fill(struct pawl_router *router, const struct pawl_route_table *tables,
                           size_t table_count, struct pawl_error *err)
{
    for (size_t t = 0; t < table_count; t++) {
        for (size_t i = 0; i < tables[t].count; i++) {
            const struct pawl_route *route = &tables[t].routes[i];
            struct entry *entry = &router->entries[router->count];
            *entry = (struct entry){.route = route, .self = tables[t].self, .at = router->count};
            if (!split_pattern(entry) || route->handle == NULL || route->verb >= PAWL_VERB_OTHER) {
                return pawl_error_set(err, PAWL_MISUSE, "route %s: a bad pattern, or no handler",
                                      route->pattern);
            }
            router->routes[router->count++] = route;
        }
    }
    qsort(router->entries, router->count, sizeof *router->entries, compare_entries);
    for (size_t i = 1; i < router->count; i++) {
        if (compare_entries(&router->entries[i - 1], &router->entries[i]) != 0) continue;
        return pawl_error_set(err, PAWL_MISUSE, "route %s %s stands twice",
                              pawl_verb_name(router->entries[i].route->verb),
                              router->entries[i].route->pattern);
    }
    return PAWL_OK;
}

enum pawl_code pawl_router_open(struct pawl_router **out, const struct pawl_route_table *tables,
                                size_t table_count, struct pawl_error *err)
{
    size_t count = 0;
    for (size_t t = 0; t < table_count; t++) count += tables[t].count;
    struct pawl_router *router = calloc(1, sizeof *router);
    enum pawl_code code = PAWL_OK;
    if (router != NULL) {
        router->entries = calloc(count + 1, sizeof *router->entries);
        router->routes = calloc(count + 1, sizeof *router->routes);
    }
    if (router == NULL || router->entries == NULL || router->routes == NULL) {
        code = pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the routes");
    } else {
        code = fill(router, tables, table_count, err);
    }
    if (code != PAWL_OK) {
        pawl_router_close(router);
        return code;
    }
    *out = router;
    return PAWL_OK;
}

void pawl_router_close(struct pawl_router *router)
{
    if (router == NULL) return;
    free(router->entries);
    free(router->routes);
    free(router);
}

size_t pawl_router_count(const struct pawl_router *router)
{
    return router->count;
}

const struct pawl_route *pawl_router_at(const struct pawl_router *router, size_t at)
{
    return router->routes[at];
}

/* ---- Decoding
 * ------------------------------------------------------------------------------------------ */

static int32_t hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* NULL, or what is wrong. out is a slice of raw where nothing is escaped; {NULL, 0} if the arena
 * failed. */
static const char *decode(struct pawl_str raw, bool plus_is_blank, struct pawl_arena *keep,
                          struct pawl_str *out)
{
    bool is_plain = true;
    for (size_t i = 0; i < raw.len && is_plain; i++) {
        is_plain = raw.ptr[i] != '%' && !(plus_is_blank && raw.ptr[i] == '+');
    }
    if (is_plain) {
        *out = raw;
    } else {
        char *text = pawl_arena_take(keep, raw.len);
        if (text == NULL) {
            *out = (struct pawl_str){0};
            return NULL;
        }
        size_t len = 0;
        for (size_t i = 0; i < raw.len; i++) {
            char c = raw.ptr[i];
            if (c == '%') {
                bool is_whole = raw.len - i > 2;
                int32_t high = is_whole ? hex_value(raw.ptr[i + 1]) : -1;
                int32_t low = is_whole ? hex_value(raw.ptr[i + 2]) : -1;
                if (high < 0 || low < 0) return "has a % that begins no escape";
                c = (char)(high * 16 + low);
                i += 2;
            } else if (c == '+' && plus_is_blank) {
                c = ' ';
            }
            text[len++] = c;
        }
        *out = (struct pawl_str){text, len};
    }
    if (memchr(out->ptr, 0, out->len) != NULL) return "has a zero byte";
    return pawl_utf8_is_valid(*out) ? NULL : "is no UTF-8";
}

static bool is_dots(struct pawl_str text)
{
    return pawl_str_equal(text, PAWL_STR(".")) || pawl_str_equal(text, PAWL_STR(".."));
}

/* ---- Looking
 * ------------------------------------------------------------------------------------------- */

static enum pawl_code split_path(struct pawl_str path, struct pawl_arena *keep,
                                 struct pawl_str *segments, size_t *count, struct pawl_error *err)
{
    struct pawl_str raw;
    size_t at = 0;
    if (path.len == 0 || path.ptr[0] != '/')
        return pawl_error_set(err, PAWL_INVALID, "the path begins with no /");
    *count = 0;
    while (next_segment(path, &at, &raw)) {
        if (*count == PAWL_NET_SEGMENTS_MAX)
            return pawl_error_set(err, PAWL_NOT_FOUND, "No such path");
        struct pawl_str *segment = &segments[*count];
        const char *wrong = decode(raw, false, keep, segment);
        if (wrong == NULL && segment->ptr == NULL) {
            return pawl_error_set(err, pawl_arena_code(keep), "no room for the path");
        }
        if (wrong == NULL && is_dots(*segment)) wrong = "is . or ..";
        if (wrong != NULL)
            return pawl_error_set(err, PAWL_INVALID, "path: segment %zu %s", *count + 1, wrong);
        (*count)++;
    }
    return PAWL_OK;
}

static bool fits(const struct entry *entry, const struct pawl_str *segments, size_t count)
{
    if (entry->segment_count != count) return false;
    for (size_t i = 0; i < count; i++) {
        /* An empty segment is nothing that a variable could be. */
        if (entry->segments[i].is_variable
                ? segments[i].len == 0
                : !pawl_str_equal(entry->segments[i].text, segments[i])) {
            return false;
        }
    }
    return true;
}

/* Bits of verbs that this route answers. */
static uint32_t verbs_of(const struct pawl_route *route)
{
    uint32_t verbs = 1U << route->verb;
    if (route->verb == PAWL_VERB_GET && (route->flags & PAWL_ROUTE_TAKES) == 0)
        verbs |= 1U << PAWL_VERB_HEAD;
    return verbs;
}

enum pawl_code pawl_router_find(const struct pawl_router *router, enum pawl_verb verb,
                                struct pawl_str path, struct pawl_arena *keep,
                                struct pawl_route_match *match, struct pawl_error *err)
{
    struct pawl_str segments[PAWL_NET_SEGMENTS_MAX] = {0};
    size_t count = 0;
    match->allowed = 0;
    enum pawl_code code = split_path(path, keep, segments, &count, err);
    if (code != PAWL_OK) return code;
    for (size_t i = 0; i < router->count; i++) {
        const struct entry *entry = &router->entries[i];
        if (!fits(entry, segments, count)) continue;
        uint32_t verbs = verbs_of(entry->route);
        match->allowed |= verbs;
        if ((verbs & 1U << verb) == 0) continue;
        match->route = entry->route;
        match->self = entry->self;
        match->at = entry->at;
        match->variable_count = 0;
        for (size_t s = 0; s < count; s++) {
            if (!entry->segments[s].is_variable) continue;
            match->variables[match->variable_count++] =
                (struct pawl_variable){entry->segments[s].text, segments[s]};
        }
        return PAWL_OK;
    }
    if (match->allowed != 0) {
        return pawl_error_set(err, PAWL_UNSUPPORTED, "this path does not have the verb");
    }
    return pawl_error_set(err, PAWL_NOT_FOUND, "No such path: %.*s", PAWL_STR_ARG(path));
}

struct pawl_str pawl_route_allow(uint32_t allowed, struct pawl_arena *keep)
{
    struct pawl_str text = {0};
    for (int32_t verb = 0; verb < PAWL_VERB_OTHER; verb++) {
        if ((allowed & 1U << verb) == 0) continue;
        const char *name = pawl_verb_name((enum pawl_verb)verb);
        text = text.len == 0 ? pawl_str_of(name)
                             : pawl_arena_format(keep, "%.*s, %s", PAWL_STR_ARG(text), name);
    }
    return text;
}

/* ---- Queries
 * ------------------------------------------------------------------------------------------- */

enum pawl_code pawl_query_parse(struct pawl_str query, struct pawl_arena *keep,
                                struct pawl_parameter **out, size_t *count, struct pawl_error *err)
{
    size_t pieces = query.len > 0 ? 1 : 0;
    for (size_t i = 0; i < query.len; i++) pieces += query.ptr[i] == '&';
    if (pieces > PAWL_NET_PARAMETERS_MAX) {
        return pawl_error_set(err, PAWL_TOO_LARGE, "the query has more than %d parameters",
                              PAWL_NET_PARAMETERS_MAX);
    }
    struct pawl_parameter *all = pawl_arena_take_array(keep, pieces, sizeof *all);
    size_t kept = 0;
    size_t start = 0;
    for (size_t i = 0; i < pieces && all != NULL; i++) {
        size_t end = start;
        while (end < query.len && query.ptr[end] != '&') end++;
        size_t equals = start;
        while (equals < end && query.ptr[equals] != '=') equals++;
        struct pawl_str name = {query.ptr + start, equals - start};
        struct pawl_str value = {query.ptr + equals, 0};
        if (equals < end) value = (struct pawl_str){query.ptr + equals + 1, end - equals - 1};
        start = end + 1;

        const char *wrong = decode(name, true, keep, &all[kept].name);
        if (wrong != NULL)
            return pawl_error_set(err, PAWL_INVALID, "query: the name of parameter %zu %s", i + 1,
                                  wrong);
        wrong = decode(value, true, keep, &all[kept].value);
        if (wrong != NULL) {
            return pawl_error_set(err, PAWL_INVALID, "query: %.*s %s", PAWL_STR_ARG(all[kept].name),
                                  wrong);
        }
        if (all[kept].value.len == 0 || pawl_str_equal(all[kept].value, PAWL_STR("None"))) continue;
        kept++;
    }
    if (all == NULL || pawl_arena_code(keep) != PAWL_OK) {
        return pawl_error_set(err, pawl_arena_code(keep), "no room for the query");
    }
    *out = all;
    *count = kept;
    return PAWL_OK;
}

bool pawl_query_bool_parse(struct pawl_str text, bool *out)
{
    static const char *const words[2][4] = {{"false", "off", "no", "0"},
                                            {"true", "on", "yes", "1"}};
    for (size_t i = 0; i < 8; i++) {
        const char *word = words[i / 4][i % 4];
        if (text.len != strlen(word) || strncasecmp(text.ptr, word, text.len) != 0) continue;
        *out = i >= 4;
        return true;
    }
    return false;
}

/* ---- OpenAPI
 * ------------------------------------------------------------------------------------------- */

static void describe_parameters(const struct entry *entry, struct pawl_json_writer *w)
{
    pawl_json_put_key(w, "parameters");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < entry->segment_count; i++) {
        if (!entry->segments[i].is_variable) continue;
        pawl_json_begin_object(w);
        pawl_json_put_member_text(w, "name", entry->segments[i].text);
        pawl_json_put_member_text(w, "in", PAWL_STR("path"));
        pawl_json_put_member_bool(w, "required", true);
        pawl_json_put_member_raw(w, "schema", PAWL_STR("{\"type\":\"string\"}"));
        pawl_json_end_object(w);
    }
    pawl_json_end_array(w);
}

/* path: the first of those with its shape, whose names of variables the document has. */
static void describe_operation(const struct entry *path, const struct entry *entry,
                               struct pawl_json_writer *w)
{
    static const char *const lower[] = {"get", "head", "post", "put", "delete", "patch", "options"};
    static_assert(PAWL_COUNT_OF(lower) == PAWL_VERB_OTHER, "one name a verb");
    pawl_json_put_key(w, lower[entry->route->verb]);
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "summary", pawl_str_of(entry->route->summary));
    pawl_json_put_member_text(w, "x-pawl-role", pawl_str_of(pawl_role_name(entry->route->role)));
    describe_parameters(path, w);
    pawl_json_put_member_raw(
        w, "responses",
        PAWL_STR("{\"default\":{\"description\":\"an answer, or an error with its code\"}}"));
    pawl_json_end_object(w);
}

void pawl_router_describe(const struct pawl_router *router, struct pawl_json_writer *w)
{
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "openapi", PAWL_STR("3.0.3"));
    pawl_json_put_key(w, "info");
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "title", PAWL_STR("Pawl"));
    pawl_json_put_member_text(w, "version", PAWL_STR(PAWL_VERSION_TEXT));
    pawl_json_end_object(w);
    pawl_json_put_key(w, "paths");
    pawl_json_begin_object(w);
    const struct entry *path = NULL;
    for (size_t i = 0; i < router->count; i++) {
        const struct entry *entry = &router->entries[i];
        bool is_first = i == 0 || compare_shapes(&router->entries[i - 1], entry) != 0;
        bool is_last =
            i + 1 == router->count || compare_shapes(entry, &router->entries[i + 1]) != 0;
        if (is_first) {
            path = entry;
            pawl_json_put_key(w, entry->route->pattern);
            pawl_json_begin_object(w);
        }
        describe_operation(path, entry, w);
        if (is_last) pawl_json_end_object(w);
    }
    pawl_json_end_object(w);
    pawl_json_end_object(w);
}
