#include "net/conductor/query.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/number.h"
#include "base/str.h"

#include <string.h>
#include <strings.h>

enum op {
    OP_EQUAL,
    OP_NOT_EQUAL,
    OP_LESS,
    OP_MORE,
    OP_LESS_EQUAL,
    OP_MORE_EQUAL,
    OP_IN,
    OP_NOT_IN,
    OP_BETWEEN,
    OP_NULL,
    OP_NOT_NULL,
    OP_STARTS,
};

struct condition {
    size_t field;
    enum op op;
    struct pawl_str *values;
    int64_t *numbers; /* of the values, for a number field */
    size_t count;
    size_t room;
};

/* In postfix form: conditions, and what joins the two before. */
enum step_kind { STEP_CONDITION, STEP_AND, STEP_OR };

struct step {
    enum step_kind kind;
    struct condition condition;
};

struct pawl_query {
    const struct pawl_query_field *fields;
    struct step *steps;
    size_t count;
};

/* ---- Words ---- */

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_QUOTED, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    struct pawl_str text; /* of what is quoted without its quotes and escapes */
    size_t at;
};

struct parser {
    struct pawl_str text;
    size_t at;
    struct token token; /* the next one */
    const struct pawl_query_field *fields;
    size_t field_count;
    struct pawl_arena *keep;
    struct pawl_error *err;
    struct pawl_query *query;
    size_t room;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_sign(char c)
{
    return c == '=' || c == '!' || c == '<' || c == '>' || c == '(' || c == ')' || c == ',';
}

static enum pawl_code complain(const struct parser *p, size_t at, const char *what)
{
    return pawl_error_set(p->err, PAWL_INVALID, "query: at %zu: %s", at + 1, what);
}

static enum pawl_code read_quoted(struct parser *p, char quote)
{
    size_t start = ++p->at;
    char *copy = pawl_arena_take(p->keep, p->text.len - start + 1);
    size_t len = 0;
    if (copy == NULL) return pawl_error_set(p->err, pawl_arena_code(p->keep), "query: no room");
    while (p->at < p->text.len && p->text.ptr[p->at] != quote) {
        if (p->text.ptr[p->at] == '\\' && p->at + 1 < p->text.len) p->at++;
        copy[len++] = p->text.ptr[p->at++];
    }
    if (p->at == p->text.len) return complain(p, start - 1, "a quote is left open");
    p->at++;
    p->token.kind = TOKEN_QUOTED;
    p->token.text = (struct pawl_str){copy, len};
    return PAWL_OK;
}

static enum pawl_code next(struct parser *p)
{
    while (p->at < p->text.len && is_blank(p->text.ptr[p->at])) p->at++;
    p->token = (struct token){.kind = TOKEN_END, .at = p->at};
    if (p->at == p->text.len) return PAWL_OK;
    size_t start = p->at;
    char c = p->text.ptr[start];
    if (c == '"' || c == '\'') return read_quoted(p, c);
    if (is_sign(c)) {
        bool may_be_two = c == '!' || c == '<' || c == '>';
        p->at++;
        if (may_be_two && p->at < p->text.len && p->text.ptr[p->at] == '=') p->at++;
        p->token.kind = TOKEN_SIGN;
    } else {
        while (p->at < p->text.len && !is_blank(p->text.ptr[p->at]) &&
               !is_sign(p->text.ptr[p->at])) {
            p->at++;
        }
        p->token.kind = TOKEN_WORD;
    }
    p->token.text = (struct pawl_str){p->text.ptr + start, p->at - start};
    return PAWL_OK;
}

static bool is_word(const struct parser *p, const char *word)
{
    struct pawl_str wanted = pawl_str_of(word);
    return p->token.kind == TOKEN_WORD && p->token.text.len == wanted.len &&
           strncasecmp(p->token.text.ptr, word, wanted.len) == 0;
}

static bool is_the_sign(const struct parser *p, const char *sign)
{
    return p->token.kind == TOKEN_SIGN && pawl_str_equal(p->token.text, pawl_str_of(sign));
}

/* ---- Conditions ---- */

static enum pawl_code take_field(struct parser *p, size_t *out)
{
    if (p->token.kind != TOKEN_WORD)
        return complain(p, p->token.at, "the name of a field is wanted");
    for (size_t i = 0; i < p->field_count; i++) {
        if (!pawl_str_equal(p->token.text, pawl_str_of(p->fields[i].name))) continue;
        *out = i;
        return next(p);
    }
    return pawl_error_set(p->err, PAWL_INVALID, "query: at %zu: there is no field %.*s",
                          p->token.at + 1, PAWL_STR_ARG(p->token.text));
}

static bool make_room(struct parser *p, struct condition *condition)
{
    size_t count = condition->count;
    size_t room = condition->room == 0 ? 2 : condition->room * 2;
    if (count < condition->room) return true;
    struct pawl_str *values = pawl_arena_resize(p->keep, condition->values, count * sizeof *values,
                                                room * sizeof *values);
    int64_t *numbers = pawl_arena_resize(p->keep, condition->numbers, count * sizeof *numbers,
                                         room * sizeof *numbers);
    if (values == NULL || numbers == NULL) return false;
    condition->values = values;
    condition->numbers = numbers;
    condition->room = room;
    return true;
}

static enum pawl_code add_value(struct parser *p, struct condition *condition)
{
    size_t count = condition->count;
    if (p->token.kind != TOKEN_WORD && p->token.kind != TOKEN_QUOTED) {
        return complain(p, p->token.at, "a value is wanted");
    }
    if (!make_room(p, condition)) {
        return pawl_error_set(p->err, pawl_arena_code(p->keep), "query: no room");
    }
    int64_t *number = &condition->numbers[count];
    condition->values[count] = p->token.text;
    *number = 0;
    bool is_number = p->fields[condition->field].is_number;
    if (is_number && !pawl_int64_parse(p->token.text, INT64_MIN, INT64_MAX, number)) {
        return complain(p, p->token.at, "a number is wanted");
    }
    condition->count++;
    return next(p);
}

static enum pawl_code take_list(struct parser *p, struct condition *condition)
{
    if (!is_the_sign(p, "(")) return complain(p, p->token.at, "( is wanted behind IN");
    do {
        enum pawl_code code = next(p);
        if (code == PAWL_OK) code = add_value(p, condition);
        if (code != PAWL_OK) return code;
    } while (is_the_sign(p, ","));
    if (!is_the_sign(p, ")")) return complain(p, p->token.at, ", or ) is wanted");
    return next(p);
}

static enum pawl_code take_null(struct parser *p, struct condition *condition)
{
    condition->op = OP_NULL;
    if (is_word(p, "not")) {
        condition->op = OP_NOT_NULL;
        enum pawl_code code = next(p);
        if (code != PAWL_OK) return code;
    }
    if (!is_word(p, "null")) return complain(p, p->token.at, "null is wanted behind IS");
    return next(p);
}

static enum pawl_code take_between(struct parser *p, struct condition *condition)
{
    condition->op = OP_BETWEEN;
    enum pawl_code code = add_value(p, condition);
    if (code != PAWL_OK) return code;
    if (!is_word(p, "and")) return complain(p, p->token.at, "AND is wanted in BETWEEN");
    code = next(p);
    return code == PAWL_OK ? add_value(p, condition) : code;
}

static bool find_sign(const struct parser *p, enum op *out)
{
    static const char *const signs[] = {
        [OP_EQUAL] = "=", [OP_NOT_EQUAL] = "!=",  [OP_LESS] = "<",
        [OP_MORE] = ">",  [OP_LESS_EQUAL] = "<=", [OP_MORE_EQUAL] = ">="};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (!is_the_sign(p, signs[i])) continue;
        *out = (enum op)i;
        return true;
    }
    return false;
}

static enum pawl_code take_condition(struct parser *p, struct condition *out)
{
    *out = (struct condition){0};
    enum pawl_code code = take_field(p, &out->field);
    if (code != PAWL_OK) return code;
    bool is_plain = find_sign(p, &out->op);
    bool is_not = is_word(p, "not");
    bool is_in = is_word(p, "in");
    bool is_between = is_word(p, "between");
    bool is_null = is_word(p, "is");
    bool starts = is_word(p, "starts_with");
    if (!is_plain && !is_not && !is_in && !is_between && !is_null && !starts) {
        return complain(p, p->token.at, "an operator is wanted");
    }
    code = next(p);
    if (code != PAWL_OK) return code;
    if (is_not && !is_word(p, "in")) return complain(p, p->token.at, "IN is wanted behind NOT");
    if (is_not) code = next(p);
    if (code != PAWL_OK) return code;
    if (is_between) return take_between(p, out);
    if (is_null) return take_null(p, out);
    if (is_in || is_not) out->op = is_not ? OP_NOT_IN : OP_IN;
    if (starts) out->op = OP_STARTS;
    return is_in || is_not ? take_list(p, out) : add_value(p, out);
}

/* ---- The whole ---- */

static enum pawl_code add_step(struct parser *p, const struct step *step)
{
    enum { STEPS_MAX = 2 * PAWL_QUERY_CONDITIONS_MAX };
    struct pawl_query *query = p->query;
    if (query->count == STEPS_MAX) {
        return pawl_error_set(p->err, PAWL_TOO_LARGE, "query: more than %d conditions",
                              PAWL_QUERY_CONDITIONS_MAX);
    }
    if (query->count == p->room) {
        size_t room = p->room == 0 ? 16 : p->room * 2;
        struct step *steps =
            pawl_arena_resize(p->keep, query->steps, p->room * sizeof *steps, room * sizeof *steps);
        if (steps == NULL)
            return pawl_error_set(p->err, pawl_arena_code(p->keep), "query: no room");
        query->steps = steps;
        p->room = room;
    }
    query->steps[query->count++] = *step;
    return PAWL_OK;
}

/* What waits until both sides are there: '(' AND OR. */
struct waiting {
    char of[2 * PAWL_QUERY_CONDITIONS_MAX];
    size_t count;
};

/* Those that bind as close go before it. */
static enum pawl_code pop(struct parser *p, struct waiting *waiting, char before)
{
    while (waiting->count > 0) {
        char top = waiting->of[waiting->count - 1];
        if (top == '(' || (before == '&' && top == '|')) break;
        const struct step step = {.kind = top == '&' ? STEP_AND : STEP_OR};
        enum pawl_code code = add_step(p, &step);
        if (code != PAWL_OK) return code;
        waiting->count--;
    }
    return PAWL_OK;
}

static enum pawl_code push(struct parser *p, struct waiting *waiting, char what)
{
    if (waiting->count == sizeof waiting->of) {
        return pawl_error_set(p->err, PAWL_TOO_LARGE,
                              "query: more than %zu parts wait for their end", sizeof waiting->of);
    }
    waiting->of[waiting->count++] = what;
    return next(p);
}

/* A condition, with the parentheses before and behind it. */
static enum pawl_code take_operand(struct parser *p, struct waiting *waiting)
{
    struct step step = {.kind = STEP_CONDITION};
    enum pawl_code code = PAWL_OK;
    while (is_the_sign(p, "(") && code == PAWL_OK) code = push(p, waiting, '(');
    if (code == PAWL_OK) code = take_condition(p, &step.condition);
    if (code == PAWL_OK) code = add_step(p, &step);
    while (code == PAWL_OK && is_the_sign(p, ")")) {
        code = pop(p, waiting, ')');
        if (code != PAWL_OK) return code;
        if (waiting->count == 0) return complain(p, p->token.at, "a ) has no (");
        waiting->count--;
        code = next(p);
    }
    return code;
}

static enum pawl_code parse(struct parser *p)
{
    struct waiting waiting = {.count = 0};
    enum pawl_code code = next(p);
    if (code != PAWL_OK || p->token.kind == TOKEN_END) return code;
    for (;;) {
        code = take_operand(p, &waiting);
        if (code != PAWL_OK) return code;
        if (p->token.kind == TOKEN_END) break;
        char what = is_word(p, "and") ? '&' : is_word(p, "or") ? '|' : '\0';
        if (what == '\0') return complain(p, p->token.at, "AND or OR is wanted");
        code = pop(p, &waiting, what);
        if (code == PAWL_OK) code = push(p, &waiting, what);
        if (code != PAWL_OK) return code;
    }
    code = pop(p, &waiting, '\0');
    if (code == PAWL_OK && waiting.count > 0) code = complain(p, p->token.at, "a ( has no )");
    return code;
}

enum pawl_code pawl_query_of(struct pawl_str text, const struct pawl_query_field *fields,
                             size_t field_count, struct pawl_arena *keep, struct pawl_query **out,
                             struct pawl_error *err)
{
    struct pawl_query *query = pawl_arena_take(keep, sizeof *query);
    if (query == NULL) return pawl_error_set(err, pawl_arena_code(keep), "query: no room");
    if (text.len > PAWL_QUERY_BYTES_MAX) {
        return pawl_error_set(err, PAWL_TOO_LARGE, "query: %zu bytes; at most %d", text.len,
                              PAWL_QUERY_BYTES_MAX);
    }
    query->fields = fields;
    struct parser p = {.text = text,
                       .fields = fields,
                       .field_count = field_count,
                       .keep = keep,
                       .err = err,
                       .query = query};
    enum pawl_code code = parse(&p);
    if (code == PAWL_OK) *out = query;
    return code;
}

/* ---- Whether it holds ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* A pattern with *: in any case. One place to come back to is enough. */
static bool matches(struct pawl_str pattern, struct pawl_str text)
{
    size_t p = 0;
    size_t t = 0;
    size_t star = pattern.len;
    size_t star_t = 0;
    while (t < text.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            star_t = t;
        } else if (p < pattern.len && lower(pattern.ptr[p]) == lower(text.ptr[t])) {
            p++;
            t++;
        } else if (star < pattern.len) {
            p = star + 1;
            t = ++star_t;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*') p++;
    return p == pattern.len;
}

static bool equals(const struct condition *condition, size_t at, bool is_number,
                   const struct pawl_query_value *value)
{
    if (is_number) return condition->numbers[at] == value->number;
    struct pawl_str wanted = condition->values[at];
    return pawl_str_has(wanted, PAWL_STR("*")) ? matches(wanted, value->text)
                                               : pawl_str_equal(wanted, value->text);
}

static bool is_among(const struct condition *condition, bool is_number,
                     const struct pawl_query_value *value)
{
    for (size_t i = 0; i < condition->count; i++) {
        if (equals(condition, i, is_number, value)) return true;
    }
    return false;
}

/* Below 0, 0, above 0: the value against that of the condition. */
static int compare(const struct condition *condition, size_t at, bool is_number,
                   const struct pawl_query_value *value)
{
    if (!is_number) return pawl_str_compare(value->text, condition->values[at]);
    int64_t wanted = condition->numbers[at];
    return value->number < wanted ? -1 : value->number > wanted;
}

static bool holds(const struct condition *condition, bool is_number,
                  const struct pawl_query_value *value)
{
    bool is_null = is_number ? value->number == 0 : value->text.len == 0;
    switch (condition->op) {
    case OP_EQUAL:
    case OP_IN:
        return is_among(condition, is_number, value);
    case OP_NOT_EQUAL:
    case OP_NOT_IN:
        return !is_among(condition, is_number, value);
    case OP_LESS:
        return compare(condition, 0, is_number, value) < 0;
    case OP_MORE:
        return compare(condition, 0, is_number, value) > 0;
    case OP_LESS_EQUAL:
        return compare(condition, 0, is_number, value) <= 0;
    case OP_MORE_EQUAL:
        return compare(condition, 0, is_number, value) >= 0;
    case OP_BETWEEN:
        return compare(condition, 0, is_number, value) >= 0 &&
               compare(condition, 1, is_number, value) <= 0;
    case OP_NULL:
        return is_null;
    case OP_NOT_NULL:
        return !is_null;
    case OP_STARTS:
        return pawl_str_starts(value->text, condition->values[0]);
    }
    return false;
}

bool pawl_query_names(const struct pawl_query *query, size_t field, struct pawl_str *out)
{
    const struct condition *found = NULL;
    for (size_t i = 0; i < query->count; i++) {
        const struct step *step = &query->steps[i];
        if (step->kind == STEP_OR) return false;
        bool is_one = step->kind == STEP_CONDITION && step->condition.field == field &&
                      (step->condition.op == OP_EQUAL || step->condition.op == OP_IN) &&
                      step->condition.count == 1;
        if (is_one) found = &step->condition;
    }
    if (found == NULL || found->values[0].len == 0 || memchr(found->values[0].ptr, '*', found->values[0].len) != NULL)
        return false;
    *out = found->values[0];
    return true;
}

bool pawl_query_holds(const struct pawl_query *query, void *self,
                      struct pawl_query_value (*value)(void *self, size_t field))
{
    bool stack[2 * PAWL_QUERY_CONDITIONS_MAX];
    size_t depth = 0;
    for (size_t i = 0; i < query->count; i++) {
        const struct step *step = &query->steps[i];
        if (step->kind == STEP_CONDITION) {
            size_t field = step->condition.field;
            const struct pawl_query_value got = value(self, field);
            stack[depth++] = holds(&step->condition, query->fields[field].is_number, &got);
            continue;
        }
        depth--; /* of two there are always both */
        bool right = stack[depth];
        bool left = stack[depth - 1];
        stack[depth - 1] = step->kind == STEP_AND ? left && right : left || right;
    }
    return depth == 0 || stack[0];
}

bool pawl_query_has(struct pawl_str text, struct pawl_str part)
{
    for (size_t at = 0; at + part.len <= text.len; at++) {
        size_t same = 0;
        while (same < part.len && lower(text.ptr[at + same]) == lower(part.ptr[same])) same++;
        if (same == part.len) return true;
    }
    return false;
}

/* ---- Order ---- */

static enum pawl_code sort_part(struct pawl_str part, const struct pawl_query_field *fields,
                                size_t field_count, struct pawl_query_sort *out,
                                struct pawl_error *err)
{
    size_t colon = 0;
    while (colon < part.len && part.ptr[colon] != ':') colon++;
    struct pawl_str name = pawl_str_trim((struct pawl_str){part.ptr, colon});
    struct pawl_str way = {0};
    if (colon < part.len) {
        way = pawl_str_trim((struct pawl_str){part.ptr + colon + 1, part.len - colon - 1});
    }
    bool is_up = way.len == 0 || (way.len == 3 && strncasecmp(way.ptr, "ASC", 3) == 0);
    bool is_down = way.len == 4 && strncasecmp(way.ptr, "DESC", 4) == 0;
    if (!is_up && !is_down) {
        return pawl_error_set(err, PAWL_INVALID, "sort: `%.*s` is neither ASC nor DESC",
                              PAWL_STR_ARG(way));
    }
    for (size_t i = 0; i < field_count; i++) {
        if (!pawl_str_equal(name, pawl_str_of(fields[i].name))) continue;
        *out = (struct pawl_query_sort){i, is_down};
        return PAWL_OK;
    }
    return pawl_error_set(err, PAWL_INVALID, "sort: there is no field %.*s", PAWL_STR_ARG(name));
}

enum pawl_code pawl_query_sort_of(struct pawl_str text, const struct pawl_query_field *fields,
                                  size_t field_count,
                                  struct pawl_query_sort out[PAWL_QUERY_SORTS_MAX], size_t *count,
                                  struct pawl_error *err)
{
    for (size_t start = 0, at = 0; at <= text.len; at++) {
        if (at < text.len && text.ptr[at] != '|') continue;
        struct pawl_str part = pawl_str_trim((struct pawl_str){text.ptr + start, at - start});
        start = at + 1;
        if (part.len == 0) continue;
        if (*count == PAWL_QUERY_SORTS_MAX) {
            return pawl_error_set(err, PAWL_TOO_LARGE, "sort: more than %d fields",
                                  PAWL_QUERY_SORTS_MAX);
        }
        enum pawl_code code = sort_part(part, fields, field_count, &out[*count], err);
        if (code != PAWL_OK) return code;
        ++*count;
    }
    return PAWL_OK;
}
