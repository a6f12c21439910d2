/* A path is read into steps, and a search takes them one after the other: the values met so far are
 * a list, and a step makes of it the list of the next values. So `..` costs no recursion over the
 * value, and each value looked at counts against one number.
 *
 * Filters nest in filters and in parentheses; their functions call each other as deep as that,
 * which reading bounds by PAWL_PATH_DEPTH_MAX. The regular expressions of `=~` are left out: libc's
 * allocate and may take exponential time, and there is no other. */
#include "core/workflow/path.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json_string.h"
#include "base/number.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/limits.h"

#include <string.h>

enum step_kind {
    STEP_NAME,
    STEP_NAMES,
    STEP_INDEX,
    STEP_INDICES,
    STEP_SLICE,
    STEP_ALL,
    STEP_FILTER,
    STEP_DESCENT
};

struct item {
    struct pawl_str name;
    int32_t index;
    struct item *next;
};

struct pawl_path_step {
    enum step_kind kind;
    struct item *items; /* names or indices; of a slice its two ends */
    bool has_from;
    bool has_to;
    struct filter *filter;
    struct pawl_path_step *next;
};

/* A value in a filter or an argument: a literal, or what a path leads to. */
struct pawl_path_argument {
    struct pawl_path *path;
    struct pawl_json *literal;
    struct pawl_path_argument *next;
};

enum operator{
    OP_NONE,
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_MORE,
    OP_MORE_EQUAL,
    OP_IN,
    OP_NOT_IN,
    OP_CONTAINS,
    OP_SIZE,
    OP_EMPTY,
    OP_AND,
    OP_OR,
    OP_NOT
};

struct filter {
    enum operator op;
    struct filter *left; /* of AND, OR, NOT */
    struct filter *right;
    struct pawl_path_argument *a; /* of the others */
    struct pawl_path_argument *b;
};

enum function {
    FUNCTION_NONE,
    FUNCTION_LENGTH,
    FUNCTION_MIN,
    FUNCTION_MAX,
    FUNCTION_AVG,
    FUNCTION_SUM,
    FUNCTION_STDDEV,
    FUNCTION_KEYS,
    FUNCTION_FIRST,
    FUNCTION_LAST,
    FUNCTION_INDEX,
    FUNCTION_CONCAT,
    FUNCTION_APPEND
};

static const struct {
    struct pawl_str name;
    enum function function;
    int32_t arguments_min;
    int32_t arguments_max;
} functions[] = {
    {PAWL_STR_INIT("length"), FUNCTION_LENGTH, 0, 0},
    {PAWL_STR_INIT("size"), FUNCTION_LENGTH, 0, 0},
    {PAWL_STR_INIT("min"), FUNCTION_MIN, 0, 0},
    {PAWL_STR_INIT("max"), FUNCTION_MAX, 0, 0},
    {PAWL_STR_INIT("avg"), FUNCTION_AVG, 0, 0},
    {PAWL_STR_INIT("sum"), FUNCTION_SUM, 0, 0},
    {PAWL_STR_INIT("stddev"), FUNCTION_STDDEV, 0, 0},
    {PAWL_STR_INIT("keys"), FUNCTION_KEYS, 0, 0},
    {PAWL_STR_INIT("first"), FUNCTION_FIRST, 0, 0},
    {PAWL_STR_INIT("last"), FUNCTION_LAST, 0, 0},
    {PAWL_STR_INIT("index"), FUNCTION_INDEX, 1, 1},
    {PAWL_STR_INIT("concat"), FUNCTION_CONCAT, 0, PAWL_PATH_BYTES_MAX},
    {PAWL_STR_INIT("append"), FUNCTION_APPEND, 1, PAWL_PATH_BYTES_MAX},
};

/* ---- Reading -------------------------------------------------------------------------------- */

struct reader {
    const char *start;
    const char *at;
    const char *end;
    struct pawl_arena *arena;
    struct pawl_error *err;
    enum pawl_code code;
    int32_t depth;
    struct pawl_path *also;
};

static bool fail(struct reader *r, const char *what)
{
    if (r->code != PAWL_OK) return false;
    r->code = pawl_error_set(r->err, PAWL_INVALID, "at byte %zu: %s",
                             (size_t)(r->at - r->start) + 1, what);
    return false;
}

static void *take(struct reader *r, size_t bytes)
{
    void *ptr = pawl_arena_take(r->arena, bytes);
    if (ptr == NULL && r->code == PAWL_OK) r->code = pawl_arena_code(r->arena);
    return ptr;
}

static bool is_next(const struct reader *r, char c)
{
    return r->at < r->end && *r->at == c;
}

static bool skip(struct reader *r, char c)
{
    if (!is_next(r, c)) return false;
    r->at++;
    return true;
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static bool skip_text(struct reader *r, struct pawl_str text)
{
    if (!pawl_str_starts((struct pawl_str){r->at, (size_t)(r->end - r->at)}, text)) return false;
    r->at += text.len;
    return true;
}

static bool is_special(char c)
{
    static const char special[] = ".[]()<>=!&|,'\"{}?*~";
    return (unsigned char)c <= ' ' || memchr(special, c, sizeof special - 1) != NULL;
}

static struct pawl_str read_plain(struct reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && !is_special(*r->at)) r->at++;
    return (struct pawl_str){start, (size_t)(r->at - start)};
}

/* A text in quotes of either kind; a backslash takes the next character as it is. */
static bool read_quoted(struct reader *r, struct pawl_str *out)
{
    char quote = *r->at++;
    const char *start = r->at;
    bool has_escape = false;
    while (r->at < r->end && *r->at != quote) {
        if (*r->at == '\\') {
            has_escape = true;
            r->at++;
        }
        if (r->at < r->end) r->at++;
    }
    *out = (struct pawl_str){start, (size_t)(r->at - start)};
    if (!skip(r, quote)) return fail(r, "the quotes are not closed");
    if (!has_escape) return true;

    char *ptr = take(r, out->len);
    if (ptr == NULL) return false;
    size_t len = 0;
    for (size_t i = 0; i < out->len; i++) {
        if (out->ptr[i] == '\\') i++;
        ptr[len++] = out->ptr[i];
    }
    *out = (struct pawl_str){ptr, len};
    return true;
}

static bool read_index(struct reader *r, int32_t *out)
{
    const char *start = r->at;
    (void)skip(r, '-');
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    int64_t number;
    if (!pawl_int64_parse((struct pawl_str){start, (size_t)(r->at - start)}, INT32_MIN, INT32_MAX,
                          &number)) {
        return fail(r, "an index is missing, or too large");
    }
    *out = (int32_t)number;
    return true;
}

static struct filter *read_filter(struct reader *r);

/* Names in quotes, with commas between; behind the opening bracket. */
static bool read_items(struct reader *r, struct pawl_path_step *step, bool are_names)
{
    struct item **last = &step->items;
    do {
        skip_blanks(r);
        struct item *item = take(r, sizeof *item);
        if (item == NULL) return false;
        if (are_names && !is_next(r, '\'') && !is_next(r, '"'))
            return fail(r, "quotes are missing");
        if (are_names ? !read_quoted(r, &item->name) : !read_index(r, &item->index)) return false;
        *last = item;
        last = &item->next;
        skip_blanks(r);
    } while (skip(r, ','));
    bool is_one = step->items->next == NULL;
    if (are_names) step->kind = is_one ? STEP_NAME : STEP_NAMES;
    if (!are_names) step->kind = is_one ? STEP_INDEX : STEP_INDICES;
    return true;
}

/* [from:to], either of which may be missing. */
static bool read_slice(struct reader *r, struct pawl_path_step *step)
{
    struct item *from = take(r, sizeof *from);
    struct item *to = take(r, sizeof *to);
    if (from == NULL || to == NULL) return false;
    from->next = to;
    step->kind = STEP_SLICE;
    step->items = from;
    step->has_from = !is_next(r, ':');
    if (step->has_from && !read_index(r, &from->index)) return false;
    skip_blanks(r);
    if (!skip(r, ':')) return fail(r, "':' is missing");
    skip_blanks(r);
    step->has_to = !is_next(r, ']');
    if (step->has_to && !read_index(r, &to->index)) return false;
    skip_blanks(r);
    return true;
}

static bool has_colon(const struct reader *r)
{
    const char *at = r->at;
    while (at < r->end && *at != ':' && *at != ']') at++;
    return at < r->end && *at == ':';
}

static bool read_bracket(struct reader *r, struct pawl_path_step *step)
{
    r->at++;
    skip_blanks(r);
    if (skip(r, '*')) {
        step->kind = STEP_ALL;
    } else if (skip(r, '?')) {
        step->kind = STEP_FILTER;
        skip_blanks(r);
        if (!skip(r, '(')) return fail(r, "'(' is missing");
        step->filter = read_filter(r);
        if (step->filter == NULL) return false;
        if (!skip(r, ')')) return fail(r, "an operator or ')' is missing");
    } else if (is_next(r, '\'') || is_next(r, '"')) {
        if (!read_items(r, step, true)) return false;
    } else if (has_colon(r)) {
        if (!read_slice(r, step)) return false;
    } else if (!read_items(r, step, false)) {
        return false;
    }
    skip_blanks(r);
    return skip(r, ']') || fail(r, "']' is missing");
}

static struct pawl_path_argument *read_argument(struct reader *r);

/* name(arguments), behind the name. */
static bool read_function(struct reader *r, struct pawl_path *path, struct pawl_str name)
{
    size_t at = 0;
    while (at < PAWL_COUNT_OF(functions) && !pawl_str_equal(functions[at].name, name)) at++;
    if (at == PAWL_COUNT_OF(functions)) return fail(r, "there is no such function");
    path->function = (int32_t)functions[at].function;

    r->at++;
    int32_t count = 0;
    struct pawl_path_argument **last = &path->arguments;
    skip_blanks(r);
    while (!skip(r, ')')) {
        if (count > 0 && !skip(r, ',')) return fail(r, "',' or ')' is missing");
        *last = read_argument(r);
        if (*last == NULL) return false;
        last = &(*last)->next;
        count++;
        skip_blanks(r);
    }
    if (count >= functions[at].arguments_min && count <= functions[at].arguments_max) return true;
    return fail(r, "the function takes another number of arguments");
}

static struct pawl_path_step *add_step(struct reader *r, struct pawl_path_step ***last,
                                       enum step_kind kind)
{
    struct pawl_path_step *step = take(r, sizeof *step);
    if (step == NULL) return NULL;
    step->kind = kind;
    **last = step;
    *last = &step->next;
    return step;
}

static bool add_name(struct reader *r, struct pawl_path_step ***last, struct pawl_str name)
{
    struct pawl_path_step *step = add_step(r, last, STEP_NAME);
    struct item *item = take(r, sizeof *item);
    if (step == NULL || item == NULL) return false;
    item->name = name;
    step->items = item;
    return true;
}

static bool read_steps(struct reader *r, struct pawl_path *path, struct pawl_path_step **last)
{
    while (is_next(r, '.') || is_next(r, '[')) {
        bool is_descent = skip_text(r, PAWL_STR(".."));
        if (is_descent && add_step(r, &last, STEP_DESCENT) == NULL) return false;
        if (!is_descent) (void)skip(r, '.');
        if (is_next(r, '[')) {
            struct pawl_path_step *step = add_step(r, &last, STEP_ALL);
            if (step == NULL || !read_bracket(r, step)) return false;
            continue;
        }
        if (skip(r, '*')) {
            if (add_step(r, &last, STEP_ALL) == NULL) return false;
            continue;
        }
        struct pawl_str name = read_plain(r);
        if (name.len == 0) return fail(r, "a name is missing");
        if (is_next(r, '('))
            return is_descent ? fail(r, "'..' needs a name") : read_function(r, path, name);
        if (!add_name(r, &last, name)) return false;
    }
    return true;
}

/* Several names at the end make one object of their members; further on they are several values. */
static void set_definite(struct pawl_path *path)
{
    path->is_definite = true;
    for (const struct pawl_path_step *step = path->first; step != NULL; step = step->next) {
        bool is_merged = step->kind == STEP_NAMES && step->next == NULL;
        if (step->kind != STEP_NAME && step->kind != STEP_INDEX && !is_merged) {
            path->is_definite = false;
        }
    }
}

static bool take_name(struct pawl_path *path, struct pawl_str *out)
{
    if (path->first == NULL || path->first->kind != STEP_NAME) return false;
    *out = path->first->items->name;
    path->first = path->first->next;
    return out->len > 0;
}

/* The first two steps of an absolute path are its root and field. */
static bool take_root(struct reader *r, struct pawl_path *path)
{
    if (!take_name(path, &path->root)) return fail(r, "it does not begin with a name");
    if (!take_name(path, &path->field)) return fail(r, "no field follows the first name");
    if (!pawl_str_equal(path->root, PAWL_STR("workflow"))) return true;
    path->is_secret = pawl_str_equal(path->field, PAWL_STR("secrets"));
    if (!path->is_secret && !pawl_str_equal(path->field, PAWL_STR("env"))) return true;
    return take_name(path, &path->name) || fail(r, "the name of a secret or variable is missing");
}

/* `@…` or `$…` */
static struct pawl_path *read_inner(struct reader *r)
{
    struct pawl_path *path = take(r, sizeof *path);
    if (path == NULL) return NULL;
    bool is_absolute = *r->at++ == '$';
    if (!read_steps(r, path, &path->first)) return NULL;
    if (is_absolute) {
        if (!take_root(r, path)) return NULL;
        path->also = r->also;
        r->also = path;
    }
    set_definite(path);
    return path;
}

static struct pawl_json *text_node(struct pawl_arena *arena, struct pawl_str text)
{
    struct pawl_json *node = pawl_arena_take(arena, sizeof *node);
    if (node == NULL) return NULL;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_json_put_text(&w, text);
    node->kind = PAWL_JSON_STRING;
    node->raw = pawl_json_writer_done(&w);
    return node->raw.len > 0 ? node : NULL;
}

static bool read_word(struct reader *r, struct pawl_json *node)
{
    static const struct {
        struct pawl_str word;
        enum pawl_json_kind kind;
    } words[] = {{PAWL_STR_INIT("null"), PAWL_JSON_NULL},
                 {PAWL_STR_INIT("true"), PAWL_JSON_TRUE},
                 {PAWL_STR_INIT("false"), PAWL_JSON_FALSE}};
    const char *start = r->at;
    while (r->at < r->end && (!is_special(*r->at) || *r->at == '.')) r->at++;
    node->raw = (struct pawl_str){start, (size_t)(r->at - start)};
    for (size_t i = 0; i < PAWL_COUNT_OF(words); i++) {
        node->kind = words[i].kind;
        if (pawl_str_equal(words[i].word, node->raw)) return true;
    }
    double ignored;
    node->kind = PAWL_JSON_NUMBER;
    return pawl_double_parse(node->raw, &ignored) || fail(r, "a value is missing");
}

static struct pawl_json *read_scalar(struct reader *r)
{
    if (is_next(r, '\'') || is_next(r, '"')) {
        struct pawl_str text;
        if (!read_quoted(r, &text)) return NULL;
        struct pawl_json *node = text_node(r->arena, text);
        if (node == NULL && r->code == PAWL_OK) r->code = pawl_arena_code(r->arena);
        return node;
    }
    struct pawl_json *node = take(r, sizeof *node);
    return node != NULL && read_word(r, node) ? node : NULL;
}

/* A list of scalars, for `in`. */
static struct pawl_json *read_list(struct reader *r)
{
    struct pawl_json *list = take(r, sizeof *list);
    if (list == NULL) return NULL;
    list->kind = PAWL_JSON_ARRAY;
    struct pawl_json **last = &list->first;
    r->at++;
    skip_blanks(r);
    while (!skip(r, ']')) {
        if (list->child_count > 0 && !skip(r, ',')) {
            (void)fail(r, "',' or ']' is missing");
            return NULL;
        }
        skip_blanks(r);
        *last = read_scalar(r);
        if (*last == NULL) return NULL;
        last = &(*last)->next;
        list->child_count++;
        skip_blanks(r);
    }
    return list;
}

static struct pawl_path_argument *read_argument(struct reader *r)
{
    struct pawl_path_argument *argument = take(r, sizeof *argument);
    if (argument == NULL) return NULL;
    skip_blanks(r);
    if (r->depth >= PAWL_PATH_DEPTH_MAX) {
        (void)fail(r, "it is nested too deep");
        return NULL;
    }
    r->depth++;
    if (is_next(r, '@') || is_next(r, '$')) {
        argument->path = read_inner(r);
    } else {
        argument->literal = is_next(r, '[') ? read_list(r) : read_scalar(r);
    }
    r->depth--;
    return argument->path != NULL || argument->literal != NULL ? argument : NULL;
}

static enum operator read_operator(struct reader *r)
{
    static const struct {
        struct pawl_str text;
        enum operator op;
        bool is_word;
    } operators[] = {
        {PAWL_STR_INIT("=="), OP_EQUAL, false},
        {PAWL_STR_INIT("!="), OP_NOT_EQUAL, false},
        {PAWL_STR_INIT("<="), OP_LESS_EQUAL, false},
        {PAWL_STR_INIT("<"), OP_LESS, false},
        {PAWL_STR_INIT(">="), OP_MORE_EQUAL, false},
        {PAWL_STR_INIT(">"), OP_MORE, false},
        {PAWL_STR_INIT("in"), OP_IN, true},
        {PAWL_STR_INIT("nin"), OP_NOT_IN, true},
        {PAWL_STR_INIT("contains"), OP_CONTAINS, true},
        {PAWL_STR_INIT("size"), OP_SIZE, true},
        {PAWL_STR_INIT("empty"), OP_EMPTY, true},
    };
    skip_blanks(r);
    for (size_t i = 0; i < PAWL_COUNT_OF(operators); i++) {
        const char *start = r->at;
        if (!skip_text(r, operators[i].text)) continue;
        if (!operators[i].is_word || r->at == r->end || is_special(*r->at)) return operators[i].op;
        r->at = start;
    }
    return OP_NONE;
}

static struct filter *read_compare(struct reader *r)
{
    struct filter *filter = take(r, sizeof *filter);
    if (filter == NULL) return NULL;
    filter->a = read_argument(r);
    if (filter->a == NULL) return NULL;
    filter->op = read_operator(r);
    if (filter->op == OP_NONE) {
        if (is_next(r, '=')) {
            (void)fail(r, "regular expressions (=~) are not supported");
            return NULL;
        }
        return filter;
    }
    filter->b = read_argument(r);
    return filter->b != NULL ? filter : NULL;
}

static struct filter *read_unary(struct reader *r)
{
    skip_blanks(r);
    if (r->depth >= PAWL_PATH_DEPTH_MAX) {
        (void)fail(r, "it is nested too deep");
        return NULL;
    }
    r->depth++;
    struct filter *filter = NULL;
    if (skip(r, '!')) {
        filter = take(r, sizeof *filter);
        if (filter != NULL) {
            filter->op = OP_NOT;
            filter->left = read_unary(r);
            if (filter->left == NULL) filter = NULL;
        }
    } else if (skip(r, '(')) {
        filter = read_filter(r);
        if (filter != NULL && !skip(r, ')')) {
            (void)fail(r, "')' is missing");
            filter = NULL;
        }
    } else {
        filter = read_compare(r);
    }
    r->depth--;
    skip_blanks(r);
    return filter;
}

/* A chain of what is joined by one operator leans to the right, so that a search takes it in a
 * loop. */
static struct filter *read_chain(struct reader *r, enum operator op)
{
    struct pawl_str sign = op == OP_OR ? PAWL_STR("||") : PAWL_STR("&&");
    struct filter *first = NULL;
    struct filter **last = &first;
    for (;;) {
        struct filter *filter = op == OP_OR ? read_chain(r, OP_AND) : read_unary(r);
        if (filter == NULL) return NULL;
        if (!skip_text(r, sign)) {
            *last = filter;
            return first;
        }
        struct filter *both = take(r, sizeof *both);
        if (both == NULL) return NULL;
        both->op = op;
        both->left = filter;
        *last = both;
        last = &both->right;
    }
}

static struct filter *read_filter(struct reader *r)
{
    return read_chain(r, OP_OR);
}

enum pawl_code pawl_path_parse(struct pawl_str text, struct pawl_arena *arena,
                               struct pawl_path **out, struct pawl_error *err)
{
    if (text.len > PAWL_PATH_BYTES_MAX) {
        return pawl_error_set(err, PAWL_INVALID, "it is longer than %d bytes", PAWL_PATH_BYTES_MAX);
    }
    text = pawl_str_trim(text);
    struct reader r = {
        .start = text.ptr, .at = text.ptr, .end = text.ptr + text.len, .arena = arena, .err = err};
    struct pawl_path *path = take(&r, sizeof *path);
    if (path == NULL) return pawl_error_set(err, r.code, "no memory to read an expression");

    struct pawl_path_step **last = &path->first;
    struct pawl_str name = read_plain(&r);
    if (name.len == 0) (void)fail(&r, "a name is missing");
    if (name.len > 0 && add_name(&r, &last, name) && read_steps(&r, path, last) &&
        take_root(&r, path) && r.at < r.end) {
        (void)fail(&r, "something is left over");
    }
    if (r.code != PAWL_OK) {
        if (r.code != PAWL_INVALID)
            (void)pawl_error_set(err, r.code, "no memory to read an expression");
        return r.code;
    }
    set_definite(path);
    path->also = r.also;
    *out = path;
    return PAWL_OK;
}

/* ---- Searching ------------------------------------------------------------------------------ */

struct nodes {
    const struct pawl_json **at;
    size_t count;
    size_t capacity;
};

/* Counts what is looked at; false when it has become too much. */
static bool visit(struct pawl_search *s, uint64_t count)
{
    if (s->visits_left < 0) return false;
    s->visits_left = count > (uint64_t)s->visits_left ? -1 : s->visits_left - (int64_t)count;
    return s->visits_left >= 0;
}

static void *take_found(struct pawl_search *s, size_t bytes)
{
    void *ptr = pawl_arena_take(s->arena, bytes);
    if (ptr == NULL && s->code == PAWL_OK) s->code = pawl_arena_code(s->arena);
    return ptr;
}

static bool add_node(struct pawl_search *s, struct nodes *nodes, const struct pawl_json *node)
{
    if (node == NULL) return true;
    if (!visit(s, 1)) return false;
    if (nodes->count == nodes->capacity) {
        size_t capacity = nodes->capacity == 0 ? 2 : nodes->capacity * 2;
        void *at = pawl_arena_resize(s->arena, nodes->at, nodes->capacity * sizeof(void *),
                                     capacity * sizeof(void *));
        if (at == NULL) {
            if (s->code == PAWL_OK) s->code = pawl_arena_code(s->arena);
            return false;
        }
        nodes->at = at;
        nodes->capacity = capacity;
    }
    nodes->at[nodes->count++] = node;
    return true;
}

static const struct pawl_json *member(struct pawl_search *s, const struct pawl_json *node,
                                      struct pawl_str name)
{
    if (node->kind != PAWL_JSON_OBJECT || !visit(s, node->child_count)) return NULL;
    return pawl_json_member(node, name);
}

static const struct pawl_json *element(struct pawl_search *s, const struct pawl_json *node,
                                       int64_t index)
{
    if (node == NULL || node->kind != PAWL_JSON_ARRAY) return NULL;
    if (index < 0) index += node->child_count;
    if (index < 0 || index >= node->child_count || !visit(s, (uint64_t)index)) return NULL;
    const struct pawl_json *child = node->first;
    while (index-- > 0) child = child->next;
    return child;
}

/* A container of our own with copies of nodes; its raw is empty. */
static struct pawl_json *make_container(struct pawl_search *s, enum pawl_json_kind kind)
{
    struct pawl_json *made = take_found(s, sizeof *made);
    if (made != NULL) made->kind = kind;
    return made;
}

static bool put_copy(struct pawl_search *s, struct pawl_json *container, struct pawl_json ***last,
                     const struct pawl_json *node)
{
    if (!visit(s, 1)) return false;
    struct pawl_json *copy = take_found(s, sizeof *copy);
    if (copy == NULL) return false;
    *copy = *node;
    copy->next = NULL;
    **last = copy;
    *last = &copy->next;
    container->child_count++;
    return true;
}

static const struct pawl_json *merge_members(struct pawl_search *s,
                                             const struct pawl_path_step *step,
                                             const struct pawl_json *node)
{
    if (node->kind != PAWL_JSON_OBJECT) return NULL;
    struct pawl_json *object = make_container(s, PAWL_JSON_OBJECT);
    if (object == NULL) return NULL;
    struct pawl_json **last = &object->first;
    for (const struct item *item = step->items; item != NULL; item = item->next) {
        const struct pawl_json *found = member(s, node, item->name);
        bool is_there = found == NULL || pawl_json_member(object, item->name) != NULL;
        if (!is_there && !put_copy(s, object, &last, found)) return NULL;
    }
    return object;
}

static bool holds(struct pawl_search *s, const struct filter *filter, const struct pawl_json *node);

/* Whether a node passes a filter; what the filter took is given back. */
static bool passes(struct pawl_search *s, const struct filter *filter, const struct pawl_json *node)
{
    if (!visit(s, 1)) return false;
    struct pawl_arena_mark mark = pawl_arena_mark(s->arena);
    bool does = holds(s, filter, node);
    pawl_arena_rewind(s->arena, mark);
    return does;
}

/* The elements of an array that pass, or an object itself. Behind `..`, which gives every value
 * once, the objects of an array are met by themselves. */
static void take_filtered(struct pawl_search *s, const struct pawl_path_step *step,
                          const struct pawl_json *node, bool is_scan, struct nodes *out)
{
    if (node->kind == PAWL_JSON_OBJECT && passes(s, step->filter, node)) {
        (void)add_node(s, out, node);
    }
    if (node->kind != PAWL_JSON_ARRAY) return;
    for (const struct pawl_json *child = node->first; child != NULL; child = child->next) {
        if (is_scan && child->kind == PAWL_JSON_OBJECT) continue;
        if (passes(s, step->filter, child) && !add_node(s, out, child)) return;
        if (s->visits_left < 0 || s->code != PAWL_OK) return;
    }
}

static void take_slice(struct pawl_search *s, const struct pawl_path_step *step,
                       const struct pawl_json *node, struct nodes *out)
{
    if (node->kind != PAWL_JSON_ARRAY) return;
    int64_t count = node->child_count;
    int64_t from = step->has_from ? step->items->index : 0;
    int64_t to = step->has_to ? step->items->next->index : count;
    if (from < 0) from = from + count < 0 ? 0 : from + count;
    if (to < 0) to += count;
    const struct pawl_json *child = from < to ? element(s, node, from) : NULL;
    for (; child != NULL && from < to; from++) {
        if (!add_node(s, out, child)) return;
        child = child->next;
    }
}

/* A value and all below it, each before what it holds; the path down to it is the stack. */
static void take_all_below(struct pawl_search *s, const struct pawl_json *node, struct nodes *out)
{
    const struct pawl_json *next[PAWL_JSON_DEPTH_MAX + 4];
    size_t depth = 0;
    if (!add_node(s, out, node)) return;
    next[depth++] = pawl_json_first(node);
    while (depth > 0) {
        const struct pawl_json *child = next[depth - 1];
        if (child == NULL) {
            depth--;
            continue;
        }
        next[depth - 1] = child->next;
        if (!add_node(s, out, child)) return;
        if (child->first != NULL && depth < PAWL_COUNT_OF(next)) next[depth++] = child->first;
    }
}

/* What one step makes of one value. */
static void take_step(struct pawl_search *s, const struct pawl_path_step *step,
                      const struct pawl_json *node, bool is_scan, struct nodes *out)
{
    switch (step->kind) {
    case STEP_NAME:
        (void)add_node(s, out, member(s, node, step->items->name));
        break;
    case STEP_NAMES:
        if (step->next == NULL) {
            (void)add_node(s, out, merge_members(s, step, node));
            break;
        }
        for (const struct item *item = step->items; item != NULL; item = item->next) {
            (void)add_node(s, out, member(s, node, item->name));
        }
        break;
    case STEP_INDEX:
    case STEP_INDICES:
        for (const struct item *item = step->items; item != NULL; item = item->next) {
            (void)add_node(s, out, element(s, node, item->index));
        }
        break;
    case STEP_SLICE:
        take_slice(s, step, node, out);
        break;
    case STEP_ALL:
        for (const struct pawl_json *child = pawl_json_first(node); child != NULL;
             child = child->next) {
            if (!add_node(s, out, child)) return;
        }
        break;
    case STEP_FILTER:
        take_filtered(s, step, node, is_scan, out);
        break;
    case STEP_DESCENT:
        take_all_below(s, node, out);
        break;
    }
}

/* Where a path begins. */
static const struct pawl_json *find_root(struct pawl_search *s, const struct pawl_path *path)
{
    if (path->is_secret) return NULL;
    if (path->name.len == 0) {
        const struct pawl_json *value = NULL;
        enum pawl_found found = s->scope->get(s->scope->self, path->root, path->field, &value);
        if (found == PAWL_FOUND_NOT_LOADED) s->is_needed = true;
        return found == PAWL_FOUND_VALUE ? value : NULL;
    }
    struct pawl_str text;
    if (s->scope->env == NULL || !s->scope->env(s->scope->self, path->name, false, &text))
        return NULL;
    struct pawl_json *node = NULL;
    enum pawl_code code = PAWL_OK;
    if (path->first == NULL) node = text_node(s->arena, text);
    if (path->first != NULL) code = pawl_json_parse(text, s->arena, &node, NULL);
    if (s->code == PAWL_OK && (code == PAWL_OK || code != PAWL_INVALID))
        s->code = pawl_arena_code(s->arena);
    return code == PAWL_OK ? node : NULL;
}

static const struct pawl_json *apply_function(struct pawl_search *s, const struct pawl_path *path,
                                              const struct pawl_json *value);

static const struct pawl_json *find(struct pawl_search *s, const struct pawl_path *path,
                                    const struct pawl_json *current)
{
    const struct pawl_json *start = path->root.len > 0 ? find_root(s, path) : current;
    struct nodes nodes = {0};
    if (!add_node(s, &nodes, start)) return NULL;
    bool is_scan = false;
    for (const struct pawl_path_step *step = path->first; step != NULL; step = step->next) {
        struct nodes out = {0};
        for (size_t i = 0; i < nodes.count && visit(s, 1); i++) {
            take_step(s, step, nodes.at[i], is_scan, &out);
        }
        nodes = out;
        is_scan = step->kind == STEP_DESCENT;
    }
    const struct pawl_json *value = nodes.count > 0 ? nodes.at[0] : NULL;
    if (!path->is_definite) {
        struct pawl_json *list = make_container(s, PAWL_JSON_ARRAY);
        struct pawl_json **last = list != NULL ? &list->first : NULL;
        for (size_t i = 0; list != NULL && i < nodes.count; i++) {
            if (!put_copy(s, list, &last, nodes.at[i])) break;
        }
        value = list;
    }
    if (path->function != FUNCTION_NONE && value != NULL) value = apply_function(s, path, value);
    return s->visits_left >= 0 && s->code == PAWL_OK ? value : NULL;
}

const struct pawl_json *pawl_path_find(const struct pawl_path *path, struct pawl_search *search)
{
    return find(search, path, NULL);
}

/* ---- Filters -------------------------------------------------------------------------------- */

static const struct pawl_json *value_of(struct pawl_search *s,
                                        const struct pawl_path_argument *argument,
                                        const struct pawl_json *node)
{
    return argument->path != NULL ? find(s, argument->path, node) : argument->literal;
}

static struct pawl_str text_of(struct pawl_search *s, const struct pawl_json *string)
{
    struct pawl_str raw = {string->raw.ptr + 1, string->raw.len - 2};
    if (!visit(s, raw.len / PAWL_PATH_VISIT_BYTES)) return (struct pawl_str){0};
    if (pawl_json_is_literal(raw)) return raw;
    char *ptr = take_found(s, raw.len);
    return ptr != NULL ? (struct pawl_str){ptr, pawl_json_decode(raw, ptr)} : (struct pawl_str){0};
}

/* Numbers by their value, texts by their bytes; nothing else has an order. */
static bool compare(struct pawl_search *s, const struct pawl_json *a, const struct pawl_json *b,
                    int *order)
{
    if (a == NULL || b == NULL || a->kind != b->kind) return false;
    if (a->kind == PAWL_JSON_STRING) {
        *order = pawl_str_compare(text_of(s, a), text_of(s, b));
        return true;
    }
    int64_t a_int;
    int64_t b_int;
    if (pawl_json_int64(a, &a_int) && pawl_json_int64(b, &b_int)) {
        *order = (a_int > b_int) - (a_int < b_int);
        return true;
    }
    double a_double;
    double b_double;
    if (!pawl_json_double(a, &a_double) || !pawl_json_double(b, &b_double)) return false;
    *order = (a_double > b_double) - (a_double < b_double);
    return true;
}

/* Containers are equal if their texts are. */
static bool is_equal(struct pawl_search *s, const struct pawl_json *a, const struct pawl_json *b)
{
    int order;
    if (a == NULL || b == NULL || a->kind != b->kind) return false;
    if (compare(s, a, b, &order)) return order == 0;
    if (!visit(s, a->raw.len / PAWL_PATH_VISIT_BYTES)) return false;
    if (a->kind != PAWL_JSON_ARRAY && a->kind != PAWL_JSON_OBJECT)
        return pawl_str_equal(a->raw, b->raw);
    return a->child_count == b->child_count && pawl_str_equal(a->raw, b->raw) &&
           (a->raw.len > 0 || a->child_count == 0);
}

static bool is_among(struct pawl_search *s, const struct pawl_json *value,
                     const struct pawl_json *list)
{
    if (list == NULL || list->kind != PAWL_JSON_ARRAY) return false;
    for (const struct pawl_json *child = list->first; child != NULL; child = child->next) {
        if (!visit(s, 1)) return false;
        if (is_equal(s, value, child)) return true;
    }
    return false;
}

static bool does_contain(struct pawl_search *s, const struct pawl_json *a,
                         const struct pawl_json *b)
{
    if (a == NULL || b == NULL) return false;
    if (a->kind == PAWL_JSON_ARRAY) return is_among(s, b, a);
    if (a->kind != PAWL_JSON_STRING || b->kind != PAWL_JSON_STRING) return false;
    struct pawl_str text = text_of(s, a);
    struct pawl_str part = text_of(s, b);
    return visit(s, text.len / PAWL_PATH_VISIT_BYTES * (part.len + 1)) && pawl_str_has(text, part);
}

/* How long an array or a text is; -1 for all else. */
static int64_t size_of(struct pawl_search *s, const struct pawl_json *value)
{
    if (value == NULL) return -1;
    if (value->kind == PAWL_JSON_ARRAY) return value->child_count;
    return value->kind == PAWL_JSON_STRING ? (int64_t)pawl_utf8_points(text_of(s, value)) : -1;
}

static bool relates(struct pawl_search *s, enum operator op, const struct pawl_json *a,
                    const struct pawl_json *b)
{
    int order = 0;
    int64_t size;
    bool flag;
    switch (op) {
    case OP_EQUAL:
        return is_equal(s, a, b);
    case OP_NOT_EQUAL:
        return !is_equal(s, a, b);
    case OP_LESS:
        return compare(s, a, b, &order) && order < 0;
    case OP_LESS_EQUAL:
        return compare(s, a, b, &order) && order <= 0;
    case OP_MORE:
        return compare(s, a, b, &order) && order > 0;
    case OP_MORE_EQUAL:
        return compare(s, a, b, &order) && order >= 0;
    case OP_IN:
        return is_among(s, a, b);
    case OP_NOT_IN:
        return !is_among(s, a, b);
    case OP_CONTAINS:
        return does_contain(s, a, b);
    case OP_SIZE:
        return pawl_json_int64(b, &size) && size >= 0 && size_of(s, a) == size;
    case OP_EMPTY:
        return pawl_json_bool(b, &flag) && size_of(s, a) >= 0 && (size_of(s, a) == 0) == flag;
    default:
        return false;
    }
}

/* A value by itself holds if it is there; a list that a path has made, if it is not empty. */
static bool stands(struct pawl_search *s, const struct pawl_path_argument *a,
                   const struct pawl_json *node)
{
    const struct pawl_json *value = value_of(s, a, node);
    if (a->literal != NULL) return value->kind == PAWL_JSON_TRUE;
    return value != NULL &&
           (a->path->is_definite || a->path->function != FUNCTION_NONE || value->first != NULL);
}

static bool holds(struct pawl_search *s, const struct filter *filter, const struct pawl_json *node)
{
    while (filter->op == OP_AND || filter->op == OP_OR) {
        bool left = holds(s, filter->left, node);
        if (left == (filter->op == OP_OR)) return left;
        filter = filter->right;
    }
    if (filter->op == OP_NOT) return !holds(s, filter->left, node);
    if (filter->op == OP_NONE) return stands(s, filter->a, node);
    return relates(s, filter->op, value_of(s, filter->a, node), value_of(s, filter->b, node));
}

/* ---- Functions ------------------------------------------------------------------------------ */

static const struct pawl_json *number_node(struct pawl_search *s, double number)
{
    struct pawl_json *node = take_found(s, sizeof *node);
    char *text = take_found(s, PAWL_DOUBLE_TEXT_BYTES_MAX + 1);
    if (node == NULL || text == NULL) return NULL;
    node->kind = PAWL_JSON_NUMBER;
    node->raw = (struct pawl_str){text, pawl_double_format(number, text)};
    if (pawl_str_equal(node->raw, PAWL_STR("null"))) node->kind = PAWL_JSON_NULL;
    return node;
}

/* By Newton's method, from above: it falls until it falls no more. */
static double square_root(double number)
{
    if (!(number > 0)) return 0;
    double root = number > 1 ? number : 1;
    for (;;) {
        double next = (root + number / root) / 2;
        if (!(next < root)) return root;
        root = next;
    }
}

/* Over the numbers of a list; nothing if it has none. */
static const struct pawl_json *sum_up(struct pawl_search *s, int32_t function,
                                      const struct pawl_json *list)
{
    if (list->kind != PAWL_JSON_ARRAY) return NULL;
    const struct pawl_json *least = NULL;
    const struct pawl_json *most = NULL;
    int order;
    double number;
    double sum = 0;
    double count = 0;
    for (const struct pawl_json *child = list->first; child != NULL && visit(s, 1);
         child = child->next) {
        if (!pawl_json_double(child, &number)) continue;
        if (least == NULL || (compare(s, child, least, &order) && order < 0)) least = child;
        if (most == NULL || (compare(s, child, most, &order) && order > 0)) most = child;
        sum += number;
        count++;
    }
    if (least == NULL) return NULL;
    if (function == FUNCTION_MIN) return least;
    if (function == FUNCTION_MAX) return most;
    if (function == FUNCTION_SUM) return number_node(s, sum);
    if (function == FUNCTION_AVG) return number_node(s, sum / count);
    double squares = 0;
    for (const struct pawl_json *child = list->first; child != NULL; child = child->next) {
        if (!pawl_json_double(child, &number)) continue;
        squares += (number - sum / count) * (number - sum / count);
    }
    return number_node(s, square_root(squares / count));
}

static const struct pawl_json *list_keys(struct pawl_search *s, const struct pawl_json *object)
{
    struct pawl_json *list =
        object->kind == PAWL_JSON_OBJECT ? make_container(s, PAWL_JSON_ARRAY) : NULL;
    if (list == NULL) return NULL;
    struct pawl_json **last = &list->first;
    for (const struct pawl_json *child = object->first; child != NULL; child = child->next) {
        char *ptr = take_found(s, child->key.len + 2);
        if (ptr == NULL) return NULL;
        ptr[0] = '"';
        memcpy(ptr + 1, child->key.ptr, child->key.len);
        ptr[child->key.len + 1] = '"';
        struct pawl_json key = {.kind = PAWL_JSON_STRING, .raw = {ptr, child->key.len + 2}};
        if (!put_copy(s, list, &last, &key)) return NULL;
    }
    return list;
}

static const struct pawl_json *append(struct pawl_search *s, const struct pawl_path *path,
                                      const struct pawl_json *value)
{
    struct pawl_json *list =
        value->kind == PAWL_JSON_ARRAY ? make_container(s, PAWL_JSON_ARRAY) : NULL;
    if (list == NULL) return NULL;
    struct pawl_json **last = &list->first;
    for (const struct pawl_json *child = value->first; child != NULL; child = child->next) {
        if (!put_copy(s, list, &last, child)) return NULL;
    }
    for (const struct pawl_path_argument *a = path->arguments; a != NULL; a = a->next) {
        const struct pawl_json *more = value_of(s, a, value);
        if (more != NULL && !put_copy(s, list, &last, more)) return NULL;
    }
    return list;
}

/* Grows *text by a string's text or by what a number or word is written as. */
static bool add_text(struct pawl_search *s, struct pawl_str *text, const struct pawl_json *value)
{
    if (value == NULL || value->kind == PAWL_JSON_ARRAY || value->kind == PAWL_JSON_OBJECT)
        return true;
    struct pawl_str more = value->kind == PAWL_JSON_STRING ? text_of(s, value) : value->raw;
    if (!visit(s, 1 + (text->len + more.len) / PAWL_PATH_VISIT_BYTES)) return false;
    char *ptr = take_found(s, text->len + more.len);
    if (ptr == NULL) return false;
    if (text->len > 0) memcpy(ptr, text->ptr, text->len);
    if (more.len > 0) memcpy(ptr + text->len, more.ptr, more.len);
    *text = (struct pawl_str){ptr, text->len + more.len};
    return true;
}

static const struct pawl_json *concat(struct pawl_search *s, const struct pawl_path *path,
                                      const struct pawl_json *value)
{
    struct pawl_str text = {0};
    if (!add_text(s, &text, value)) return NULL;
    const struct pawl_json *child = value->kind == PAWL_JSON_ARRAY ? value->first : NULL;
    for (; child != NULL; child = child->next) {
        if (!add_text(s, &text, child)) return NULL;
    }
    for (const struct pawl_path_argument *a = path->arguments; a != NULL; a = a->next) {
        if (!add_text(s, &text, value_of(s, a, value))) return NULL;
    }
    const struct pawl_json *node = text_node(s->arena, text);
    if (node == NULL && s->code == PAWL_OK) s->code = pawl_arena_code(s->arena);
    return node;
}

static const struct pawl_json *apply_function(struct pawl_search *s, const struct pawl_path *path,
                                              const struct pawl_json *value)
{
    int64_t index;
    switch ((enum function)path->function) {
    case FUNCTION_LENGTH:
        if (value->kind != PAWL_JSON_ARRAY && value->kind != PAWL_JSON_OBJECT) return NULL;
        return number_node(s, value->child_count);
    case FUNCTION_KEYS:
        return list_keys(s, value);
    case FUNCTION_FIRST:
        return element(s, value, 0);
    case FUNCTION_LAST:
        return element(s, value, -1);
    case FUNCTION_INDEX:
        if (!pawl_json_int64(value_of(s, path->arguments, value), &index)) return NULL;
        return index > INT32_MIN && index < INT32_MAX ? element(s, value, index) : NULL;
    case FUNCTION_CONCAT:
        return concat(s, path, value);
    case FUNCTION_APPEND:
        return append(s, path, value);
    case FUNCTION_NONE:
        return value;
    default:
        return sum_up(s, path->function, value);
    }
}
