/* One pass over the template's text: all but the strings that hold `${` is copied as it is. Such a
 * string is decoded and read from left to right into a buffer. `${` opens a frame there; when the
 * brace that closes it comes, what the buffer holds from there on is the expression, all inner ones
 * replaced already, and its value takes its place. So inner expressions come first, and what is
 * never closed simply stays as it is. */
#include "core/workflow/expression.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/json_string.h"
#include "base/str.h"
#include "core/limits.h"

#include <string.h>

/* ---- Text that grows ------------------------------------------------------------------------ */

struct buffer {
    struct pawl_arena *arena;
    char *ptr;
    size_t len;
    size_t capacity;
};

static void add(struct buffer *buffer, struct pawl_str text)
{
    if (text.len == 0) return;
    if (text.len > buffer->capacity - buffer->len) {
        size_t capacity = buffer->capacity == 0 ? 64 : buffer->capacity;
        while (capacity - buffer->len < text.len) capacity *= 2;
        char *ptr = pawl_arena_resize(buffer->arena, buffer->ptr, buffer->capacity, capacity);
        if (ptr == NULL) return; /* sticky: the arena is asked at the end */
        buffer->ptr = ptr;
        buffer->capacity = capacity;
    }
    memcpy(buffer->ptr + buffer->len, text.ptr, text.len);
    buffer->len += text.len;
}

static struct pawl_str decode(struct pawl_str raw, struct pawl_arena *arena)
{
    if (pawl_json_is_literal(raw)) return raw;
    char *ptr = pawl_arena_take(arena, raw.len);
    return ptr != NULL ? (struct pawl_str){ptr, pawl_json_decode(raw, ptr)} : (struct pawl_str){0};
}

static struct pawl_str inside(struct pawl_str raw)
{
    return (struct pawl_str){raw.ptr + 1, raw.len - 2};
}

/* ---- Values as text ------------------------------------------------------------------------- */

enum print { PRINT_JSON, PRINT_TEXT };

static bool is_container(const struct pawl_json *value)
{
    return value->kind == PAWL_JSON_ARRAY || value->kind == PAWL_JSON_OBJECT;
}

static void add_key(struct buffer *out, struct pawl_str key, enum print print)
{
    if (print == PRINT_TEXT) {
        add(out, decode(key, out->arena));
        add(out, PAWL_STR("="));
        return;
    }
    add(out, PAWL_STR("\""));
    add(out, key);
    add(out, PAWL_STR("\":"));
}

/* Text takes containers apart; JSON only those that a path has made. */
static void add_value(struct buffer *out, const struct pawl_json *value, enum print print)
{
    struct {
        const struct pawl_json *container;
        const struct pawl_json *next;
    } levels[PAWL_JSON_DEPTH_MAX + 4];
    size_t depth = 0;
    for (;;) {
        if (is_container(value) && (print == PRINT_TEXT || value->raw.len == 0)) {
            pawl_assert(depth < PAWL_COUNT_OF(levels));
            add(out, value->kind == PAWL_JSON_ARRAY ? PAWL_STR("[") : PAWL_STR("{"));
            levels[depth].container = value;
            levels[depth++].next = value->first;
        } else if (value->kind == PAWL_JSON_STRING && print == PRINT_TEXT) {
            add(out, decode(inside(value->raw), out->arena));
        } else {
            add(out, value->raw);
        }
        while (depth > 0 && levels[depth - 1].next == NULL) {
            bool is_array = levels[--depth].container->kind == PAWL_JSON_ARRAY;
            add(out, is_array ? PAWL_STR("]") : PAWL_STR("}"));
        }
        if (depth == 0) return;
        const struct pawl_json *container = levels[depth - 1].container;
        value = levels[depth - 1].next;
        levels[depth - 1].next = value->next;
        if (value != container->first)
            add(out, print == PRINT_TEXT ? PAWL_STR(", ") : PAWL_STR(","));
        if (container->kind == PAWL_JSON_OBJECT) add_key(out, value->key, print);
    }
}

struct pawl_str pawl_value_text(const struct pawl_json *value, struct pawl_arena *keep)
{
    struct buffer out = {.arena = keep};
    if (value == NULL) return PAWL_STR("null");
    add_value(&out, value, PRINT_TEXT);
    if (pawl_arena_code(keep) != PAWL_OK) return (struct pawl_str){0};
    return out.len > 0 ? (struct pawl_str){out.ptr, out.len} : PAWL_STR("");
}

bool pawl_value_is_true(const struct pawl_json *value)
{
    double number;
    if (value == NULL) return false;
    return value->kind == PAWL_JSON_TRUE || (pawl_json_double(value, &number) && number > 0);
}

/* ---- Expressions in a string ---------------------------------------------------------------- */

struct frame {
    size_t start;      /* of `${`, or `$${`, in the buffer */
    size_t source_at;  /* where it stands in the string */
    size_t spliced_at; /* where the first inner expression was put; SIZE_MAX: none */
    int32_t braces;    /* open ones inside it */
    bool is_escape;
};

/* A run over a template: with a scope it resolves, else it tells what it sees. */
struct run {
    const struct pawl_scope *scope;
    void (*see)(void *self, const struct pawl_expression *expression);
    void *self;
    struct pawl_arena *scratch;
    struct buffer out;
    struct buffer text; /* of the string at hand */
    struct frame frames[PAWL_EXPRESSION_DEPTH_MAX];
    size_t depth;
    size_t string_at;
    int64_t visits_left;
    bool is_needed;
    bool is_done; /* the string was one expression, and its value has been put */
};

static bool is_blank(struct pawl_str text)
{
    return pawl_str_trim(text).len == 0;
}

/* A name without a path. */
static bool is_word(struct pawl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool is_digit = c >= '0' && c <= '9';
        if (!is_letter && !is_digit && c != '_' && c != '-') return false;
    }
    return text.len > 0;
}

/* Whether an inner expression has a part in a name, or comes before it. */
static bool is_spliced(struct pawl_str body, struct pawl_str name, size_t spliced_at)
{
    if (spliced_at == SIZE_MAX) return false;
    bool is_inside = name.ptr >= body.ptr && name.ptr < body.ptr + body.len;
    return !is_inside || spliced_at < (size_t)(name.ptr - body.ptr) + name.len;
}

static void see_path(struct run *run, struct pawl_expression *seen, const struct pawl_path *path,
                     size_t spliced_at)
{
    struct pawl_str unknown = {0};
    seen->kind = path->is_secret ? PAWL_EXPRESSION_SECRET : PAWL_EXPRESSION_PATH;
    seen->root = is_spliced(seen->text, path->root, spliced_at) ? unknown : path->root;
    seen->field = is_spliced(seen->text, path->field, spliced_at) ? unknown : path->field;
    run->see(run->self, seen);
}

static void see_expression(struct run *run, struct pawl_str body, size_t spliced_at)
{
    struct pawl_arena_mark mark = pawl_arena_mark(run->scratch);
    struct pawl_expression seen = {.text = body, .at = run->string_at};
    struct pawl_error err = {0};
    struct pawl_path *path = NULL;
    if (is_blank(body)) {
        run->see(run->self, &seen);
        return;
    }
    if (is_word(pawl_str_trim(body))) {
        seen.kind = PAWL_EXPRESSION_WORD;
        seen.root = spliced_at == SIZE_MAX ? pawl_str_trim(body) : (struct pawl_str){0};
        run->see(run->self, &seen);
        return;
    }
    enum pawl_code code = pawl_path_parse(body, run->scratch, &path, &err);
    if (code == PAWL_INVALID) {
        seen.kind = PAWL_EXPRESSION_MALFORMED;
        seen.problem = err.text;
        run->see(run->self, &seen);
    }
    if (code != PAWL_OK) return;
    see_path(run, &seen, path, spliced_at);
    /* An inner expression may have decided a name in a filter: only those before it are known. */
    for (path = path->also; path != NULL; path = path->also) see_path(run, &seen, path, spliced_at);
    pawl_arena_rewind(run->scratch, mark);
}

static const struct pawl_json null_node = {.raw = PAWL_STR_INIT("null"), .kind = PAWL_JSON_NULL};

/* The value of `${NAME}`. */
static bool find_word(struct run *run, struct pawl_str word, struct pawl_str *text)
{
    const struct pawl_scope *scope = run->scope;
    if (pawl_str_equal(word, PAWL_STR("CPEWF_TASK_ID"))) {
        *text = scope->task_id;
        return text->len > 0;
    }
    return scope->env != NULL && scope->env(scope->self, word, true, text);
}

/* What an expression stands for: *text, if it returns NULL, else a value. */
static const struct pawl_json *evaluate(struct run *run, struct pawl_str body,
                                        struct pawl_str *text)
{
    *text = (struct pawl_str){0};
    if (is_blank(body)) return NULL;
    if (body.len > PAWL_PATH_BYTES_MAX) return &null_node;
    struct pawl_arena_mark mark = pawl_arena_mark(run->scratch);
    struct pawl_path *path = NULL;
    struct pawl_str kept = pawl_arena_copy(run->scratch, body); /* the buffer goes on */
    struct pawl_str word = pawl_str_trim(kept);
    if (is_word(word)) return find_word(run, word, text) ? NULL : &null_node;
    if (kept.len == 0 || pawl_path_parse(kept, run->scratch, &path, NULL) != PAWL_OK) {
        return &null_node;
    }
    if (path->is_secret) {
        *text = pawl_arena_format(run->scratch, "${%.*s}", PAWL_STR_ARG(kept));
        return NULL;
    }
    int64_t visits =
        run->visits_left < PAWL_PATH_VISITS_MAX ? run->visits_left : PAWL_PATH_VISITS_MAX;
    struct pawl_search search = {.scope = run->scope, .arena = run->scratch, .visits_left = visits};
    const struct pawl_json *value = pawl_path_find(path, &search);
    run->visits_left -= search.visits_left < 0 ? visits + (visits == run->visits_left)
                                               : visits - search.visits_left;
    if (search.is_needed) run->is_needed = true;
    if (value == NULL && pawl_arena_code(run->scratch) == PAWL_OK)
        pawl_arena_rewind(run->scratch, mark);
    return value != NULL ? value : &null_node;
}

static void add_quoted(struct buffer *out, struct pawl_str text)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, out->arena);
    pawl_json_put_text(&w, text);
    add(out, pawl_json_writer_done(&w));
}

/* The frame on top has met its brace; is_whole: nothing stands around it. */
static void close_frame(struct run *run, bool is_whole)
{
    struct frame frame = run->frames[--run->depth];
    struct buffer *text = &run->text;
    if (text->len < frame.start + 3) return; /* the arena has failed */
    if (frame.is_escape) {
        memmove(text->ptr + frame.start, text->ptr + frame.start + 1, text->len - frame.start - 1);
        text->len--;
        return;
    }
    struct pawl_str body = {text->ptr + frame.start + 2, text->len - frame.start - 3};
    struct frame *outer = run->depth > 0 ? &run->frames[run->depth - 1] : NULL;
    if (outer != NULL && outer->spliced_at == SIZE_MAX)
        outer->spliced_at = frame.start - outer->start - 2;
    if (run->scope == NULL) {
        see_expression(run, body, frame.spliced_at);
        text->len = frame.start;
        add(text, PAWL_STR("0"));
        return;
    }
    struct pawl_str plain;
    const struct pawl_json *value = evaluate(run, body, &plain);
    if (is_whole) {
        run->is_done = true;
        if (value != NULL) add_value(&run->out, value, PRINT_JSON);
        if (value == NULL) add_quoted(&run->out, plain);
        return;
    }
    text->len = frame.start;
    if (value != NULL) add_value(text, value, PRINT_TEXT);
    if (value == NULL) add(text, plain);
    run->visits_left -= (int64_t)((text->len - frame.start) / PAWL_PATH_VISIT_BYTES);
}

/* Opens a frame if one begins at text; returns the bytes of its sign, or 0. */
static size_t open_frame(struct run *run, struct pawl_str text, size_t source_at)
{
    bool is_literal = run->depth > 0 && run->frames[run->depth - 1].is_escape;
    if (is_literal || run->depth == PAWL_EXPRESSION_DEPTH_MAX) return 0;
    bool is_escape = pawl_str_starts(text, PAWL_STR("$${"));
    if (!is_escape && !pawl_str_starts(text, PAWL_STR("${"))) return 0;
    run->frames[run->depth++] = (struct frame){.start = run->text.len,
                                               .source_at = source_at,
                                               .spliced_at = SIZE_MAX,
                                               .is_escape = is_escape};
    size_t len = is_escape ? 3 : 2;
    add(&run->text, (struct pawl_str){text.ptr, len});
    return len;
}

static void read_text(struct run *run, struct pawl_str text)
{
    run->text.len = 0;
    run->depth = 0;
    run->is_done = false;
    for (size_t i = 0; i < text.len && run->visits_left >= 0; i++) {
        struct pawl_str rest = {text.ptr + i, text.len - i};
        size_t opened = open_frame(run, rest, i);
        if (opened > 0) {
            i += opened - 1;
            continue;
        }
        add(&run->text, (struct pawl_str){rest.ptr, 1});
        if (run->depth == 0) continue;
        struct frame *frame = &run->frames[run->depth - 1];
        if (*rest.ptr == '{') frame->braces++;
        if (*rest.ptr != '}' || frame->braces-- > 0) continue;
        close_frame(run, run->depth == 1 && frame->source_at == 0 && rest.len == 1);
    }
}

/* ---- Templates ------------------------------------------------------------------------------ */

/* Where a string ends, behind its quote; at is its opening one. */
static size_t string_end(struct pawl_str json, size_t at)
{
    for (at++; json.ptr[at] != '"'; at++) {
        if (json.ptr[at] == '\\') at++;
    }
    return at + 1;
}

static bool is_key(struct pawl_str json, size_t end)
{
    while (end < json.len && (unsigned char)json.ptr[end] <= ' ') end++;
    return end < json.len && json.ptr[end] == ':';
}

static void read_string(struct run *run, struct pawl_str raw)
{
    struct pawl_str text = {0};
    if (memchr(raw.ptr, '$', raw.len) != NULL || pawl_str_has(raw, PAWL_STR("\\u"))) {
        text = decode(inside(raw), run->scratch);
    }
    if (!pawl_str_has(text, PAWL_STR("${"))) {
        add(&run->out, raw);
        return;
    }
    read_text(run, text);
    if (!run->is_done) add_quoted(&run->out, (struct pawl_str){run->text.ptr, run->text.len});
}

static void read_template(struct run *run, struct pawl_str json)
{
    size_t copied = 0;
    size_t at = 0;
    while (at < json.len && run->visits_left >= 0) {
        const char *quote = memchr(json.ptr + at, '"', json.len - at);
        if (quote == NULL) break;
        size_t start = (size_t)(quote - json.ptr);
        at = string_end(json, start);
        if (is_key(json, at)) continue;
        add(&run->out, (struct pawl_str){json.ptr + copied, start - copied});
        run->string_at = start;
        read_string(run, (struct pawl_str){quote, at - start});
        copied = at;
    }
    add(&run->out, (struct pawl_str){json.ptr + copied, json.len - copied});
}

static struct run start_run(struct pawl_arena *scratch)
{
    return (struct run){.scratch = scratch,
                        .out = {.arena = scratch},
                        .text = {.arena = scratch},
                        .visits_left = PAWL_TEMPLATE_VISITS_MAX};
}

static enum pawl_code end_run(const struct run *run, struct pawl_error *err)
{
    enum pawl_code code = pawl_arena_code(run->scratch);
    if (code != PAWL_OK)
        return pawl_error_set(err, code, "the expressions need more memory than there is");
    if (run->visits_left >= 0) return PAWL_OK;
    return pawl_error_set(err, PAWL_TOO_LARGE, "the expressions look at more than %d values",
                          PAWL_TEMPLATE_VISITS_MAX);
}

enum pawl_code pawl_template_resolve(struct pawl_str json, const struct pawl_scope *scope,
                                     struct pawl_arena *scratch, struct pawl_json_writer *out,
                                     bool *is_needed, struct pawl_error *err)
{
    struct run run = start_run(scratch);
    run.scope = scope;
    read_template(&run, json);
    enum pawl_code code = end_run(&run, err);
    if (code != PAWL_OK) return code;
    *is_needed = run.is_needed;
    if (!run.is_needed) pawl_json_put_raw(out, (struct pawl_str){run.out.ptr, run.out.len});
    return PAWL_OK;
}

static enum pawl_code parse_object(struct pawl_str json, struct pawl_arena *scratch,
                                   const char *field, struct pawl_json **out,
                                   struct pawl_error *err)
{
    *out = NULL;
    if (json.len == 0) return PAWL_OK;
    enum pawl_code code = pawl_json_parse_top(json, 1, scratch, out, err);
    if (code == PAWL_OK && (*out)->kind != PAWL_JSON_OBJECT) {
        code = pawl_error_set(err, PAWL_INVALID, "%s is not an object", field);
    }
    return code;
}

static struct pawl_json *same_member(struct run *run, const struct pawl_json *object,
                                     struct pawl_str key)
{
    run->visits_left -= object != NULL ? object->child_count : 0;
    if (run->visits_left < 0) return NULL;
    struct pawl_json *member = pawl_json_first(object);
    while (member != NULL && !pawl_json_same_text(member->key, key)) member = member->next;
    return member;
}

/* One member of an input: resolved, or as the template has it if that gives null. */
static void add_member(struct run *run, const struct pawl_json *member,
                       const struct pawl_json *spare)
{
    if (run->out.len > 1) add(&run->out, PAWL_STR(","));
    add_key(&run->out, member->key, PRINT_JSON);
    size_t start = run->out.len;
    read_template(run, member->raw);
    if (spare == NULL || run->out.len < start) return;
    if (!pawl_str_equal(PAWL_STR("null"),
                        (struct pawl_str){run->out.ptr + start, run->out.len - start}))
        return;
    run->out.len = start;
    add(&run->out, spare->raw);
}

enum pawl_code pawl_template_resolve_input(struct pawl_str parameters,
                                           struct pawl_str input_template,
                                           const struct pawl_scope *scope,
                                           struct pawl_arena *scratch, struct pawl_json_writer *out,
                                           bool *is_needed, struct pawl_error *err)
{
    struct pawl_json *own;
    struct pawl_json *spare;
    enum pawl_code code = parse_object(parameters, scratch, "inputParameters", &own, err);
    if (code == PAWL_OK) code = parse_object(input_template, scratch, "inputTemplate", &spare, err);
    if (code != PAWL_OK) return code;

    struct run run = start_run(scratch);
    run.scope = scope;
    add(&run.out, PAWL_STR("{"));
    for (const struct pawl_json *member = pawl_json_first(own); member != NULL;
         member = member->next) {
        add_member(&run, member, same_member(&run, spare, member->key));
    }
    for (const struct pawl_json *member = pawl_json_first(spare); member != NULL;
         member = member->next) {
        if (same_member(&run, own, member->key) == NULL) add_member(&run, member, member);
    }
    add(&run.out, PAWL_STR("}"));
    code = end_run(&run, err);
    if (code != PAWL_OK) return code;
    *is_needed = run.is_needed;
    if (!run.is_needed) pawl_json_put_raw(out, (struct pawl_str){run.out.ptr, run.out.len});
    return PAWL_OK;
}

/* ---- Checks --------------------------------------------------------------------------------- */

enum pawl_code pawl_template_read(struct pawl_str json, struct pawl_arena *scratch, void *self,
                                  void (*see)(void *self, const struct pawl_expression *expression),
                                  struct pawl_error *err)
{
    struct run run = start_run(scratch);
    run.self = self;
    run.see = see;
    read_template(&run, json);
    return end_run(&run, err);
}

struct checking {
    const struct pawl_names *names;
    enum pawl_code code;
    struct pawl_error *err;
};

static bool has_word(const struct pawl_names *names, struct pawl_str word)
{
    return word.len == 0 || pawl_str_equal(word, PAWL_STR("CPEWF_TASK_ID")) ||
           (names->has_word != NULL && names->has_word(names->self, word));
}

static void check_expression(void *self, const struct pawl_expression *seen)
{
    struct checking *checking = self;
    const struct pawl_names *names = checking->names;
    if (checking->code != PAWL_OK) return;
    switch (seen->kind) {
    case PAWL_EXPRESSION_BLANK:
        checking->code =
            pawl_error_set(checking->err, PAWL_INVALID, "an expression is empty: ${%.*s}",
                           PAWL_STR_ARG(seen->text));
        break;
    case PAWL_EXPRESSION_MALFORMED:
        checking->code = pawl_error_set(checking->err, PAWL_INVALID, "${%.*s} is no expression: %s",
                                        PAWL_STR_ARG(seen->text), seen->problem);
        break;
    case PAWL_EXPRESSION_WORD:
        if (has_word(names, seen->root)) break;
        checking->code = pawl_error_set(checking->err, PAWL_INVALID,
                                        "${%.*s}: there is no such name", PAWL_STR_ARG(seen->text));
        break;
    case PAWL_EXPRESSION_PATH:
        if (seen->root.len == 0 || pawl_str_equal(seen->root, PAWL_STR("workflow"))) break;
        if (names->has_task(names->self, seen->root)) break;
        checking->code = pawl_error_set(checking->err, PAWL_INVALID,
                                        "${%.*s}: the task %.*s is not defined in the workflow",
                                        PAWL_STR_ARG(seen->text), PAWL_STR_ARG(seen->root));
        break;
    case PAWL_EXPRESSION_SECRET:
        break;
    }
}

enum pawl_code pawl_template_check(struct pawl_str json, const struct pawl_names *names,
                                   struct pawl_arena *scratch, struct pawl_error *err)
{
    struct checking checking = {.names = names, .code = PAWL_OK, .err = err};
    enum pawl_code code = pawl_template_read(json, scratch, &checking, check_expression, err);
    return code != PAWL_OK ? code : checking.code;
}
