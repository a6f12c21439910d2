/* Expressions: what each form stands for, what is missing, malformed, not loaded, or too much. */
#include "core/workflow/expression.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/limits.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* What the tests' workflow has; each value is the text of a root's field. */
static const struct {
    const char *root;
    const char *field;
    const char *value;
} fields[] = {
    {"workflow", "input",
     "{\"o\": {\"b\": 1, \"a\": [\"x\", 2.50, null]}, \"l\": [1, 2, 3, 4], \"i\": 5, \"t\": true, "
     "\"n\": null, \"s\": \"text\", \"big\": 9007199254740993, \"price\": 129.90, \"exp\": 1e3, "
     "\"k\": \"key\", \"like\": \"${workflow.input.s}\", \"e\": \"a\\\"b\\u0000\\u00e4\", "
     "\"empty\": [], \"none\": {}, \"5\": \"five\", \"a b\": 7, \"a.b\": 8, \"it's\": 9, \"min\": "
     "2}"},
    {"workflow", "status", "\"RUNNING\""},
    {"workflow", "variables", "{\"v\": [[1, 2], [3]]}"},
    {"t1", "output",
     "{\"m\": {\"key\": \"found\", \"text\": \"deep\"}, "
     "\"l\": [{\"q\": 1, \"n\": \"one\"}, {\"q\": 2, \"n\": \"two\", \"tag\": \"x\"}, "
     "{\"q\": 3.5, \"n\": \"three\", \"tag\": \"y\", \"in\": [1, 2]}], "
     "\"2\": {\"ref\": {\"f\": 1}}, \"w\": [\"a\", \"b\", \"a\"], \"num\": [2, 4, 4, 4, 5, 5, 7, "
     "9]}"},
    {"t1", "endTime", "1700000000001"},
    {"t1", "status", "\"COMPLETED\""},
    {"t-2_x", "input", "{\"a\": 1}"},
};

struct world {
    struct pawl_arena *arena;
    const char *not_loaded; /* a root whose fields are not there yet; NULL: all are */
    int32_t asked;
    char asked_for[256];
};

static enum pawl_found get(void *self, struct pawl_str root, struct pawl_str field,
                           const struct pawl_json **value)
{
    struct world *world = self;
    size_t used = strlen(world->asked_for);
    world->asked++;
    snprintf(world->asked_for + used, sizeof world->asked_for - used, "%.*s.%.*s ",
             PAWL_STR_ARG(root), PAWL_STR_ARG(field));
    if (world->not_loaded != NULL && pawl_str_equal(root, pawl_str_of(world->not_loaded))) {
        return PAWL_FOUND_NOT_LOADED;
    }
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (!pawl_str_equal(root, pawl_str_of(fields[i].root))) continue;
        if (!pawl_str_equal(field, pawl_str_of(fields[i].field))) continue;
        struct pawl_json *node;
        CHECK_OK(pawl_json_parse(pawl_str_of(fields[i].value), world->arena, &node, NULL), NULL);
        *value = node;
        return PAWL_FOUND_VALUE;
    }
    return PAWL_FOUND_NOTHING;
}

static bool env(void *self, struct pawl_str name, bool is_bare, struct pawl_str *value)
{
    (void)self;
    if (is_bare && pawl_str_equal(name, PAWL_STR("NETFLIX_ENV")))
        *value = PAWL_STR("test");
    else if (!is_bare && pawl_str_equal(name, PAWL_STR("CONF")))
        *value = PAWL_STR("{\"port\": 80}");
    else if (!is_bare && pawl_str_equal(name, PAWL_STR("PLAIN")))
        *value = PAWL_STR("no json");
    else
        return false;
    return true;
}

static struct pawl_arena *open_arena(size_t budget_bytes)
{
    struct pawl_arena *arena = NULL;
    CHECK_OK(pawl_arena_open(&arena, budget_bytes), NULL);
    return arena;
}

static struct pawl_scope scope_of(struct world *world)
{
    return (struct pawl_scope){.self = world, .get = get, .env = env, .task_id = PAWL_STR("id-1")};
}

/* Resolves a template in the tests' workflow; template and result are JSON. */
static void check_template(const char *want, const char *json)
{
    struct world world = {.arena = open_arena(0)};
    struct pawl_arena *scratch = open_arena(0);
    struct pawl_scope scope = scope_of(&world);
    struct pawl_json_writer w;
    struct pawl_error err = {0};
    bool is_needed = true;
    pawl_json_writer_init(&w, world.arena);
    CHECK_OK(pawl_json_check(pawl_str_of(json), scratch, &err), &err);
    CHECK_OK(pawl_template_resolve(pawl_str_of(json), &scope, scratch, &w, &is_needed, &err), &err);
    CHECK(!is_needed);
    struct pawl_str got = pawl_json_writer_done(&w);
    CHECK_OK(pawl_json_check(got, scratch, &err), &err);
    CHECK_STR(want, got);
    pawl_arena_close(scratch);
    pawl_arena_close(world.arena);
}

struct row {
    const char *json;
    const char *want;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) check_template(rows[i].want, rows[i].json);
}

TEST("a string that is one expression becomes the value, with its type and as it is written")
{
    static const struct row rows[] = {
        {"\"${workflow.input.o}\"", "{\"b\": 1, \"a\": [\"x\", 2.50, null]}"},
        {"\"${workflow.input.l}\"", "[1, 2, 3, 4]"},
        {"\"${workflow.input.i}\"", "5"},
        {"\"${workflow.input.t}\"", "true"},
        {"\"${workflow.input.n}\"", "null"},
        {"\"${workflow.input.s}\"", "\"text\""},
        {"\"${workflow.input.big}\"", "9007199254740993"},
        {"\"${workflow.input.price}\"", "129.90"},
        {"\"${workflow.input.exp}\"", "1e3"},
        {"\"${workflow.input.e}\"", "\"a\\\"b\\u0000\\u00e4\""},
        {"\"${workflow.status}\"", "\"RUNNING\""},
        {"\"${t1.endTime}\"", "1700000000001"},
        {"\"${t-2_x.input.a}\"", "1"},
        {"\"${ workflow.input.i }\"", "5"},
        {"\"\\u0024{workflow.input.i}\"", "5"},
    };
    check_rows(rows, COUNT_OF(rows));
}

TEST("with anything around it, even a blank, an expression becomes text")
{
    static const struct row rows[] = {
        {"\"a ${workflow.input.i} b\"", "\"a 5 b\""},
        {"\" ${workflow.input.i}\"", "\" 5\""},
        {"\"${workflow.input.i} \"", "\"5 \""},
        {"\"${workflow.input.i}${workflow.input.i}\"", "\"55\""},
        {"\"${}${workflow.input.i}\"", "\"5\""},
        {"\"-${workflow.input.n}-${workflow.input.t}-${workflow.input.price}\"",
         "\"-null-true-129.90\""},
        {"\"-${workflow.input.o}\"", "\"-{b=1, a=[x, 2.50, null]}\""},
        {"\"-${workflow.input.none}${workflow.input.empty}\"", "\"-{}[]\""},
        {"\"-${workflow.variables.v}\"", "\"-[[1, 2], [3]]\""},
        {"\"-${t1.output.l[*].n}\"", "\"-[one, two, three]\""},
        {"\"-${workflow.input.e}\"", "\"-a\\\"b\\u0000\303\244\""},
        {"\"-${workflow.input.missing}\"", "\"-null\""},
        {"\"-${CPEWF_TASK_ID}\"", "\"-id-1\""},
    };
    check_rows(rows, COUNT_OF(rows));
}

TEST("a dollar in front escapes an expression, and what is never closed stays as it is")
{
    static const struct row rows[] = {
        {"\"$${x}\"", "\"${x}\""},
        {"\"$${workflow.input.i} ${workflow.input.i}\"", "\"${workflow.input.i} 5\""},
        {"\"$${a ${workflow.input.i} b}\"", "\"${a ${workflow.input.i} b}\""},
        {"\"$$${x}\"", "\"$${x}\""},
        {"\"${t1.output.m['$${x}']}-\"", "\"null-\""},
        {"\"${workflow.input.i\"", "\"${workflow.input.i\""},
        {"\"${a ${workflow.input.i}\"", "\"${a 5\""},
        {"\"$${a ${workflow.input.i}\"", "\"$${a ${workflow.input.i}\""},
        {"\"} $ {a} $x ${\"", "\"} $ {a} $x ${\""},
        {"\"$\"", "\"$\""},
    };
    check_rows(rows, COUNT_OF(rows));
}

TEST("a blank expression is an empty string; what is missing, unknown or malformed is null")
{
    static const struct row rows[] = {
        {"\"${}\"", "\"\""},
        {"\"${ }\"", "\"\""},
        {"\"${workflow.input.missing}\"", "null"},
        {"\"${workflow.input.s.deeper}\"", "null"},
        {"\"${workflow.input.l.name}\"", "null"},
        {"\"${workflow.input.l[4]}\"", "null"},
        {"\"${workflow.input.o[0]}\"", "null"},
        {"\"${workflow.output.x}\"", "null"},
        {"\"${nobody.output.x}\"", "null"},
        {"\"${t1__2.output.x}\"", "null"},
        {"\"${workflow}\"", "null"},
        {"\"${HOME}\"", "null"},
        {"\"${workflow.input.}\"", "null"},
        {"\"${workflow.input[}\"", "null"},
        {"\"${workflow.input.l[1}\"", "null"},
        {"\"${workflow.input.l[x]}\"", "null"},
        {"\"${workflow.input.l[?(@ =~ /x/)]}\"", "null"},
        {"\"${workflow.input.l.nothing()}\"", "null"},
        {"\"${workflow.input.a b}\"", "null"},
        {"\"${workflow..s}\"", "null"},
        {"\"${.input}\"", "null"},
        {"\"${{}}\"", "null"},
        {"\"${workflow.input['s}\"", "null"},
    };
    check_rows(rows, COUNT_OF(rows));
}

TEST("inner expressions are resolved first, and their text becomes part of the outer one")
{
    static const struct row rows[] = {
        {"\"${t1.output.m['${workflow.input.k}']}\"", "\"found\""},
        {"\"${t1.output.m.${workflow.input.s}}\"", "\"deep\""},
        {"\"${t1.output.l[${workflow.input.min}].n}\"", "\"three\""},
        {"\"${${workflow.input.missing}}\"", "null"},
        {"\"x${t1.output.m['${workflow.input['${workflow.input.k}${}']}']}\"", "\"xnull\""},
    };
    check_rows(rows, COUNT_OF(rows));
}

TEST("resolving goes through objects and lists; keys and other values stay as they are")
{
    static const struct row rows[] = {
        {"{\"${workflow.input.i}\" : [ 1.0, \"${workflow.input.i}\", "
         "{\"a\":\"${workflow.input.n}\"} ]}",
         "{\"${workflow.input.i}\" : [ 1.0, 5, {\"a\":null} ]}"},
        {"[\"${workflow.input.missing}\",\"x\"]", "[null,\"x\"]"},
        {"\"${workflow.input.like}\"",
         "\"${workflow.input.s}\""}, /* what is fetched is not resolved again */
        {"9007199254740993", "9007199254740993"},
        {"\"plain \\u00e4\"", "\"plain \\u00e4\""},
        {"{}", "{}"},
    };
    check_rows(rows, COUNT_OF(rows));
}

TEST("special names: the task's id, allowed variables, the environment store")
{
    static const struct row rows[] = {
        {"\"${CPEWF_TASK_ID}\"", "\"id-1\""},
        {"\"${NETFLIX_ENV}\"", "\"test\""},
        {"\"${NETFLIX_STACK}\"", "null"},
        {"\"${workflow.env.CONF}\"", "\"{\\\"port\\\": 80}\""},
        {"\"${workflow.env.CONF.port}\"", "80"},
        {"\"${workflow.env.PLAIN}\"", "\"no json\""},
        {"\"${workflow.env.PLAIN.x}\"", "null"},
        {"\"${workflow.env.NETFLIX_ENV}\"", "null"},
        {"\"${CONF}\"", "null"},
        {"\"${workflow.env}\"", "null"},
    };
    check_rows(rows, COUNT_OF(rows));
}

TEST("secrets stay the text that names them, and no filter sees them")
{
    static const struct row rows[] = {
        {"\"${workflow.secrets.S}\"", "\"${workflow.secrets.S}\""},
        {"\"Bearer ${workflow.secrets.S.path}\"", "\"Bearer ${workflow.secrets.S.path}\""},
        {"\"${workflow.secrets['S']}\"", "\"${workflow.secrets['S']}\""},
        {"\"${workflow.secrets.${workflow.input.k}}\"", "\"${workflow.secrets.key}\""},
        {"\"${workflow.secrets}\"", "null"},
        {"\"${workflow.input.l[?(@ != $.workflow.secrets.S)]}\"", "[1,2,3,4]"},
    };
    check_rows(rows, COUNT_OF(rows));
}

TEST("paths: names, brackets, unions, indices, slices, wildcards, descent")
{
    static const struct row rows[] = {
        {"\"${workflow.input['o']['b']}\"", "1"},
        {"\"${workflow['input'].i}\"", "5"},
        {"\"${workflow.input.['i']}\"", "5"},
        {"\"${workflow.input['a b']}\"", "7"},
        {"\"${workflow.input['a.b']}\"", "8"},
        {"\"${workflow.input['it\\\\'s']}\"", "9"},
        {"\"${workflow.input.5}\"", "\"five\""},
        {"\"${t1.output.2.ref.f}\"", "1"},
        {"\"${workflow.input[\\\"i\\\", 'missing', \\\"s\\\", 'i']}\"", "{\"i\":5,\"s\":\"text\"}"},
        {"\"${t1.output['m','2']['key','ref'].f}\"", "[1]"},
        {"\"${workflow.input.l[0]}\"", "1"},
        {"\"${workflow.input.l[-1]}\"", "4"},
        {"\"${workflow.input.l[-4]}\"", "1"},
        {"\"${workflow.input.l[-5]}\"", "null"},
        {"\"${workflow.input.l[0,2,9]}\"", "[1,3]"},
        {"\"${workflow.input.l[1:3]}\"", "[2,3]"},
        {"\"${workflow.input.l[:2]}\"", "[1,2]"},
        {"\"${workflow.input.l[-2:]}\"", "[3,4]"},
        {"\"${workflow.input.l[1:-1]}\"", "[2,3]"},
        {"\"${workflow.input.l[3:1]}\"", "[]"},
        {"\"${workflow.input.l[-9:99]}\"", "[1,2,3,4]"},
        {"\"${workflow.input.l[*]}\"", "[1,2,3,4]"},
        {"\"${workflow.input.o.*}\"", "[1,[\"x\", 2.50, null]]"},
        {"\"${workflow.input.s.*}\"", "[]"},
        {"\"${t1.output.l[*].tag}\"", "[\"x\",\"y\"]"},
        {"\"${t1.output..n}\"", "[\"one\",\"two\",\"three\"]"},
        {"\"${t1.output..['q']}\"", "[1,2,3.5]"},
        {"\"${workflow.variables.v..[0]}\"", "[[1, 2],1,3]"},
        {"\"${workflow.variables.v..*}\"", "[[1, 2],[3],1,2,3]"},
        {"\"${t1.output..nothing}\"", "[]"},
        {"\"${nobody.output..x}\"", "[]"},
        {"\"${t1.output.l[2147483648]}\"", "null"},
    };
    check_rows(rows, COUNT_OF(rows));
}

TEST("filters: comparisons, operators, and, or, not, and other roots")
{
    static const struct row rows[] = {
        {"\"${t1.output.l[?(@.q>1)].n}\"", "[\"two\",\"three\"]"},
        {"\"${t1.output.l[?(@.q >= 2 && @.tag == 'x')].n}\"", "[\"two\"]"},
        {"\"${t1.output.l[?(@.q < 2 || @.tag == \\\"y\\\")].n}\"", "[\"one\",\"three\"]"},
        {"\"${t1.output.l[?(@.q == 1 || @.q == 2 && @.tag == 'z')].n}\"", "[\"one\"]"},
        {"\"${t1.output.l[?((@.q == 1 || @.q == 2) && @.tag)].n}\"", "[\"two\"]"},
        {"\"${t1.output.l[?(@.q <= 1.0)].n}\"", "[\"one\"]"},
        {"\"${t1.output.l[?(@.tag != 'x')].n}\"", "[\"one\",\"three\"]"},
        {"\"${t1.output.l[?(@.tag)].n}\"", "[\"two\",\"three\"]"},
        {"\"${t1.output.l[?(!@.tag)].n}\"", "[\"one\"]"},
        {"\"${t1.output.l[?(!(@.q > 1))].n}\"", "[\"one\"]"},
        {"\"${t1.output.l[?(@.n > 'q')].n}\"", "[\"two\",\"three\"]"},
        {"\"${t1.output.l[?(@.n > 1)].n}\"", "[]"},
        {"\"${t1.output.l[?(@.n in ['one', 'three', 3])].q}\"", "[1,3.5]"},
        {"\"${t1.output.l[?(@.n nin ['one'])].q}\"", "[2,3.5]"},
        {"\"${t1.output.l[?(@.n contains 'o')].q}\"", "[1,2]"},
        {"\"${t1.output.l[?(@.in contains 2)].q}\"", "[3.5]"},
        {"\"${t1.output.l[?(@.in size 2)].q}\"", "[3.5]"},
        {"\"${t1.output.l[?(@.n size 3)].q}\"", "[1,2]"},
        {"\"${t1.output.l[?(@.in empty false)].q}\"", "[3.5]"},
        {"\"${t1.output.l[?(@.in.length() == 2)].q}\"", "[3.5]"},
        {"\"${t1.output.l[?(@.in[*])].q}\"", "[3.5]"},
        {"\"${t1.output.l[?(@.in[?(@ > 1)])].q}\"", "[3.5]"},
        {"\"${t1.output.l[?(@.q > $.workflow.input.min)].n}\"", "[\"three\"]"},
        {"\"${t1.output.l[?(@['q'] == ${workflow.input.min})].n}\"", "[\"two\"]"},
        {"\"${workflow.input.o.a[?(@ == null)]}\"", "[null]"},
        {"\"${workflow.input.l[?(@ > 2)]}\"", "[3,4]"},
        {"\"${workflow.input.l[?(true)]}\"", "[1,2,3,4]"},
        {"\"${workflow.input.l[?(false)]}\"", "[]"},
        {"\"${t1.output.m[?(@.key == 'found')].text}\"", "[\"deep\"]"},
        {"\"${t1.output..[?(@.q > 2)].n}\"", "[\"three\"]"},
        {"\"${workflow.variables..[?(@ > 1)]}\"", "[2,3]"},
        {"\"${workflow.input.l[?(@ == 9)]}\"", "[]"},
        {"\"${workflow.input.l[?(@ >)]}\"", "null"},
        {"\"${workflow.input.l[?(@ > 1]}\"", "null"},
        {"\"${workflow.input.l[?@ > 1]}\"", "null"},
    };
    check_rows(rows, COUNT_OF(rows));
}

TEST("functions end a path; numbers that are whole have no fraction")
{
    static const struct row rows[] = {
        {"\"${workflow.input.l.length()}\"", "4"},
        {"\"${workflow.input.none.size()}\"", "0"},
        {"\"${t1.output.l[*].tag.length()}\"", "2"},
        {"\"${workflow.input.s.length()}\"", "null"},
        {"\"${workflow.input.missing.length()}\"", "null"},
        {"\"${t1.output.num.min()}\"", "2"},
        {"\"${t1.output.l[*].q.max()}\"", "3.5"},
        {"\"${t1.output.num.sum()}\"", "40"},
        {"\"${t1.output.num.avg()}\"", "5"},
        {"\"${t1.output.num.stddev()}\"", "2"},
        {"\"${workflow.input.empty.sum()}\"", "null"},
        {"\"${workflow.input.s.sum()}\"", "null"},
        {"\"${workflow.input.o.keys()}\"", "[\"b\",\"a\"]"},
        {"\"${workflow.input.l.keys()}\"", "null"},
        {"\"${workflow.input.l.first()}\"", "1"},
        {"\"${workflow.input.l.last()}\"", "4"},
        {"\"${workflow.input.empty.last()}\"", "null"},
        {"\"${workflow.input.l.index(-2)}\"", "3"},
        {"\"${workflow.input.l.index(9)}\"", "null"},
        {"\"${workflow.input.l.index()}\"", "null"},
        {"\"${t1.output.w.concat('-', 1, $.workflow.input.s)}\"", "\"aba-1text\""},
        {"\"${workflow.input.l.append(5, 'x')}\"", "[1,2,3,4,5,\"x\"]"},
        {"\"${workflow.input.s.append(5)}\"", "null"},
        {"\"${workflow.input.l.length().x}\"", "null"},
    };
    check_rows(rows, COUNT_OF(rows));
}

TEST("roots that are not loaded are asked for all at once, and nothing is put; only what is named "
     "is asked")
{
    struct world world = {.arena = open_arena(0), .not_loaded = "t1"};
    struct pawl_arena *scratch = open_arena(0);
    struct pawl_scope scope = scope_of(&world);
    struct pawl_json_writer w;
    bool is_needed = false;
    struct pawl_str json =
        PAWL_STR("{\"a\":\"${t1.output.x}\",\"b\":\"${workflow.input.i}\",\"c\":\"-${t1.status}\","
                 "\"d\":\"${workflow.input.l[?(@ > $.t1.endTime)]}\"}");
    pawl_json_writer_init(&w, world.arena);
    CHECK_OK(pawl_template_resolve(json, &scope, scratch, &w, &is_needed, NULL), NULL);
    CHECK(is_needed);
    CHECK_EQ(0, w.len);
    CHECK_TEXT("t1.output workflow.input t1.status workflow.input t1.endTime t1.endTime t1.endTime "
               "t1.endTime ",
               world.asked_for);

    world.not_loaded = NULL;
    CHECK_OK(pawl_template_resolve(json, &scope, scratch, &w, &is_needed, NULL), NULL);
    CHECK(!is_needed);
    CHECK_STR("{\"a\":null,\"b\":5,\"c\":\"-COMPLETED\",\"d\":[]}", pawl_json_writer_done(&w));
    pawl_arena_close(scratch);
    pawl_arena_close(world.arena);
}

static void check_input(const char *want, const char *parameters, const char *input_template)
{
    struct world world = {.arena = open_arena(0)};
    struct pawl_arena *scratch = open_arena(0);
    struct pawl_scope scope = scope_of(&world);
    struct pawl_json_writer w;
    bool is_needed = true;
    pawl_json_writer_init(&w, world.arena);
    CHECK_OK(pawl_template_resolve_input(pawl_str_of(parameters), pawl_str_of(input_template),
                                         &scope, scratch, &w, &is_needed, NULL),
             NULL);
    CHECK_STR(want, pawl_json_writer_done(&w));
    pawl_arena_close(scratch);
    pawl_arena_close(world.arena);
}

TEST("an input template fills what the parameters lack, and what has become null")
{
    check_input("{}", "", "");
    check_input("{\"a\":5}", "{\"a\": \"${workflow.input.i}\"}", "");
    check_input("{\"a\":5}", "", "{\"a\": \"${workflow.input.i}\"}");
    check_input("{\"a\":1,\"b\":5}", "{\"a\": 1}", "{\"a\": 2, \"b\": \"${workflow.input.i}\"}");
    check_input("{\"a\":2}", "{\"a\": \"${workflow.input.missing}\"}", "{\"a\": 2}");
    check_input("{\"\\u0061\":2}", "{\"\\u0061\": null}", "{\"a\": 2}");
    check_input("{\"a\":\"${workflow.input.i}\"}", "{\"a\": null}",
                "{\"a\": \"${workflow.input.i}\"}");
    check_input("{\"a\":\"${workflow.input.no}\"}", "{}", "{\"a\": \"${workflow.input.no}\"}");
    check_input("{\"a\":{\"b\":null}}", "{\"a\": {\"b\":null}}", "{\"a\": {\"b\":1}}");

    struct world world = {.arena = open_arena(0)};
    struct pawl_scope scope = scope_of(&world);
    struct pawl_json_writer w;
    struct pawl_error err;
    bool is_needed;
    pawl_json_writer_init(&w, world.arena);
    CHECK_CODE(PAWL_INVALID, pawl_template_resolve_input(PAWL_STR("{}"), PAWL_STR("[1]"), &scope,
                                                         world.arena, &w, &is_needed, &err));
    CHECK_TEXT("inputTemplate is not an object", err.text);
    pawl_arena_close(world.arena);
}

static bool has_task(void *self, struct pawl_str reference)
{
    (void)self;
    return pawl_str_equal(reference, PAWL_STR("t1")) || pawl_str_equal(reference, PAWL_STR("t2"));
}

static bool has_word(void *self, struct pawl_str word)
{
    (void)self;
    return pawl_str_equal(word, PAWL_STR("NETFLIX_ENV"));
}

TEST("a definition may name its tasks, the workflow and known words, and be well formed; else the "
     "sentence says where")
{
    static const struct {
        const char *json;
        const char *want; /* NULL: well */
    } rows[] = {
        {"{\"a\": [\"${t1.output.x}\", null, 5, \"${t2.output['${workflow.input.k}']}\"]}", NULL},
        {"\"${CPEWF_TASK_ID} ${NETFLIX_ENV} ${workflow.secrets.S} ${workflow.env.X}\"", NULL},
        {"\"$${t9.output} $${}\"", NULL},
        {"\"${${workflow.input.k}.output.x} ${workflow.${workflow.input.k}}\"", NULL},
        {"\"${t1.output[${workflow.input.i}]} ${t1.output[?(@.a == ${workflow.input.i})]}\"", NULL},
        {"\"${t1.output\"", NULL}, /* no expression: it has no end */
        {"{\"${t9.output}\": 1}", NULL},
        {"\"${t9.output.x}\"", "${t9.output.x}: the task t9 is not defined in the workflow"},
        {"[{\"a\":\"x ${t9.status}\"}]",
         "${t9.status}: the task t9 is not defined in the workflow"},
        {"\"${t1.output[?(@.a == $.t9.output.b)]}\"",
         "${t1.output[?(@.a == $.t9.output.b)]}: the task t9 is not defined in the workflow"},
        {"\"${t1.output.m['${t9.output.x}']}\"",
         "${t9.output.x}: the task t9 is not defined in the workflow"},
        {"\"${t9.output.m['${t1.output.x}']}\"",
         "${t9.output.m['0']}: the task t9 is not defined in the workflow"},
        {"\"${}\"", "an expression is empty: ${}"},
        {"\"${ }\"", "an expression is empty: ${ }"},
        {"\"${HOME}\"", "${HOME}: there is no such name"},
        {"\"${t1.output.}\"", "${t1.output.} is no expression: at byte 11: a name is missing"},
        {"\"${t1.output[?(@.a =~ /x/)]}\"", "${t1.output[?(@.a =~ /x/)]} is no expression: at byte "
                                            "17: regular expressions (=~) are not supported"},
        {"\"${workflow.input.a b}\"",
         "${workflow.input.a b} is no expression: at byte 17: something is left over"},
    };
    static const struct pawl_names names = {.has_task = has_task, .has_word = has_word};
    struct pawl_arena *scratch = open_arena(0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_error err = {0};
        enum pawl_code code = pawl_template_check(pawl_str_of(rows[i].json), &names, scratch, &err);
        CHECK_TEXT(rows[i].want != NULL ? rows[i].want : "", err.text);
        CHECK_CODE(rows[i].want != NULL ? PAWL_INVALID : PAWL_OK, code);
        pawl_arena_reset(scratch);
    }
    pawl_arena_close(scratch);
}

static void see(void *self, const struct pawl_expression *seen)
{
    char *text = self;
    size_t used = strlen(text);
    snprintf(text + used, 512 - used, "%d %.*s.%.*s@%zu ", (int)seen->kind,
             PAWL_STR_ARG(seen->root), PAWL_STR_ARG(seen->field), seen->at);
}

TEST("a template tells the roots and fields it names, and where")
{
    char text[512] = "";
    struct pawl_arena *scratch = open_arena(0);
    CHECK_OK(pawl_template_read(
                 PAWL_STR("[\"${t1.output.x}\",\"${w.input['${workflow.input.k}']} ${A}\","
                          "\"${${a.b}.c}${workflow.secrets.S}\",\"${x.y[?(@ > $.z.status)]}\"]"),
                 scratch, text, see, NULL),
             NULL);
    CHECK_TEXT("2 t1.output@1 2 workflow.input@18 2 w.input@18 1 A.@18 2 a.b@59 2 .@59 3 "
               "workflow.secrets@59 "
               "2 x.y@94 2 z.status@94 ",
               text);
    pawl_arena_close(scratch);
}

/* Resolves with a budget; what came out. */
static enum pawl_code resolve_within(struct pawl_str json, size_t budget_bytes,
                                     struct pawl_str *out, struct pawl_arena *keep)
{
    struct world world = {.arena = open_arena(0)};
    struct pawl_arena *scratch = open_arena(budget_bytes);
    struct pawl_scope scope = scope_of(&world);
    struct pawl_json_writer w;
    bool is_needed = false;
    pawl_json_writer_init(&w, keep);
    enum pawl_code code = pawl_template_resolve(json, &scope, scratch, &w, &is_needed, NULL);
    *out = pawl_json_writer_done(&w);
    pawl_arena_close(scratch);
    pawl_arena_close(world.arena);
    return code;
}

TEST("with every budget that is too small the answer is TOO_LARGE and nothing is put, with the "
     "others it is right")
{
    struct pawl_str json =
        PAWL_STR("{\"a\":\"-${t1.output.l[?(@.n in ['one','two'] && @.q < 2)]['n','q']}\","
                 "\"b\":\"${t1.output.w.concat('x')}\",\"c\":\"${workflow.secrets.S}\"}");
    struct pawl_arena *keep = open_arena(0);
    bool was_right = false;
    for (size_t budget = 16; budget < 16384; budget += 16) {
        struct pawl_str got;
        enum pawl_code code = resolve_within(json, budget, &got, keep);
        if (code == PAWL_OK) {
            was_right = true;
            CHECK_STR("{\"a\":\"-[{n=one, q=1}]\",\"b\":\"abax\",\"c\":\"${workflow.secrets.S}\"}",
                      got);
            continue;
        }
        CHECK_CODE(PAWL_TOO_LARGE, code);
        CHECK_EQ(0, got.len);
        CHECK(!was_right);
    }
    CHECK(was_right);
    pawl_arena_close(keep);
}

TEST("a path may look at so many values and no more")
{
    struct world world = {.arena = open_arena(0)};
    struct pawl_scope scope = scope_of(&world);
    struct pawl_path *path;
    CHECK_OK(pawl_path_parse(PAWL_STR("workflow.input..*..*"), world.arena, &path, NULL), NULL);
    struct pawl_search search = {
        .scope = &scope, .arena = world.arena, .visits_left = PAWL_PATH_VISITS_MAX};
    CHECK(pawl_path_find(path, &search) != NULL);
    int64_t used = PAWL_PATH_VISITS_MAX - search.visits_left;
    CHECK(used > 0);
    search.visits_left = used; /* just enough, and one less */
    CHECK(pawl_path_find(path, &search) != NULL);
    CHECK_EQ(0, search.visits_left);
    search.visits_left = used - 1;
    CHECK(pawl_path_find(path, &search) == NULL);
    CHECK(search.visits_left < 0);
    pawl_arena_close(world.arena);
}

static enum pawl_found get_deep(void *self, struct pawl_str root, struct pawl_str field,
                                const struct pawl_json **value)
{
    (void)root;
    (void)field;
    *value = self;
    return PAWL_FOUND_VALUE;
}

TEST("a chain of descents is cut off and gives null; a template of many such is refused")
{
    enum { LEVELS = 100 };
    static const struct pawl_str chain = PAWL_STR_INIT("\"${w.input..*..*..*..*..*..*}\"");
    struct pawl_arena *arena = open_arena(0);
    struct pawl_json *value;
    char json[LEVELS * 4 + 1];
    for (size_t i = 0; i < LEVELS; i++) {
        memcpy(json + i * 3, "[1,", 3);
        json[LEVELS * 3 + i] = ']';
    }
    json[LEVELS * 3 - 1] = ' ';
    CHECK_OK(pawl_json_parse((struct pawl_str){json, (size_t)LEVELS * 4}, arena, &value, NULL),
             NULL);

    struct pawl_scope scope = {.self = value, .get = get_deep};
    struct pawl_arena *scratch = open_arena(PAWL_STEP_ARENA_BYTES_MAX);
    struct pawl_json_writer w;
    struct pawl_error err;
    bool is_needed;
    pawl_json_writer_init(&w, arena);
    CHECK_OK(pawl_template_resolve(chain, &scope, scratch, &w, &is_needed, &err), &err);
    CHECK_STR("null", pawl_json_writer_done(&w));

    struct pawl_str many = pawl_arena_format(
        arena, "[%.*s,%.*s,%.*s,%.*s,%.*s]", PAWL_STR_ARG(chain), PAWL_STR_ARG(chain),
        PAWL_STR_ARG(chain), PAWL_STR_ARG(chain), PAWL_STR_ARG(chain));
    CHECK_CODE(PAWL_TOO_LARGE, pawl_template_resolve(many, &scope, scratch, &w, &is_needed, &err));
    CHECK_TEXT("the expressions look at more than 10485760 values", err.text);
    pawl_arena_close(scratch);
    pawl_arena_close(arena);
}

TEST("an expression of the greatest length and depth is read, and one more byte or level is null")
{
    struct pawl_arena *arena = open_arena(0);
    struct pawl_path *path;
    char text[PAWL_PATH_BYTES_MAX + 2];
    memset(text, 'a', sizeof text);
    memcpy(text, "workflow.input.", 15);
    CHECK_CODE(PAWL_OK,
               pawl_path_parse((struct pawl_str){text, PAWL_PATH_BYTES_MAX}, arena, &path, NULL));
    CHECK_CODE(PAWL_INVALID, pawl_path_parse((struct pawl_str){text, PAWL_PATH_BYTES_MAX + 1},
                                             arena, &path, NULL));

    for (size_t depth = 1; depth <= PAWL_PATH_DEPTH_MAX; depth++) {
        /* the comparison itself takes two levels */
        size_t len = (size_t)snprintf(text, sizeof text, "w.input.l[?(");
        memset(text + len, '!', depth);
        len += depth;
        snprintf(text + len, sizeof text - len, "@.a)]");
        CHECK_CODE(depth + 2 <= PAWL_PATH_DEPTH_MAX ? PAWL_OK : PAWL_INVALID,
                   pawl_path_parse(pawl_str_of(text), arena, &path, NULL));
    }
    pawl_arena_close(arena);

    /* `${workflow.input.${workflow.input.…}}`: the innermost one is plain text if it is too deep */
    char json[1024] = "\"x ";
    for (int32_t depth = 0; depth <= PAWL_EXPRESSION_DEPTH_MAX; depth++) {
        memcpy(json + strlen(json), "${workflow.input.", sizeof "${workflow.input.");
    }
    memset(json + strlen(json), '}', PAWL_EXPRESSION_DEPTH_MAX + 1);
    memcpy(json + strlen(json), "\"", 2);
    check_template("\"x null\"", json);

    struct pawl_str at_most =
        PAWL_STR("\"${${${${${${${${${${${${${${${${NETFLIX_ENV}}}}}}}}}}}}}}}}\"");
    CHECK_EQ(2 + 2 * PAWL_EXPRESSION_DEPTH_MAX + 11 + PAWL_EXPRESSION_DEPTH_MAX, at_most.len);
    check_template("null", at_most.ptr);
}

TEST("a condition holds if it is true or a number above 0, and for nothing else")
{
    static const struct {
        const char *json;
        bool want;
        const char *text;
    } rows[] = {
        {"true", true, "true"},  {"false", false, "false"},
        {"null", false, "null"}, {"1", true, "1"},
        {"0.5", true, "0.5"},    {"0", false, "0"},
        {"-1", false, "-1"},     {"\"true\"", false, "true"},
        {"\"\"", false, ""},     {"[1]", false, "[1]"},
        {"5", true, "5"},        {"{\"a\": {\"b\\u0041\": []}}", false, "{a={bA=[]}}"},
    };
    struct pawl_arena *arena = open_arena(0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_json *value;
        CHECK_OK(pawl_json_parse(pawl_str_of(rows[i].json), arena, &value, NULL), NULL);
        CHECK_EQ(rows[i].want, pawl_value_is_true(value));
        CHECK_STR(rows[i].text, pawl_value_text(value, arena));
    }
    CHECK(!pawl_value_is_true(NULL));
    CHECK_STR("null", pawl_value_text(NULL, arena));
    pawl_arena_close(arena);
}

TEST_MAIN()
