/* Definitions: registered, replaced, removed, and read again, on each store. */
#include "base/arena.h"
#include "core/check.h"
#include "core/limits.h"
#include "engine/engine.h"
#include "stores.h"

#include <string.h>

static struct pawl_definition_new task(const char *name, const char *body)
{
    return (struct pawl_definition_new){PAWL_DEFINITION_TASK, pawl_str_of(name), 0,
                                        pawl_str_of(body)};
}

static struct pawl_definition_new workflow(const char *name, int64_t version, const char *body)
{
    return (struct pawl_definition_new){PAWL_DEFINITION_WORKFLOW, pawl_str_of(name), version,
                                        pawl_str_of(body)};
}

static enum pawl_code define_all(struct lab *lab, const struct pawl_definition_new *items,
                                 size_t count, enum pawl_definition_must must, const char *actor)
{
    struct pawl_request request;
    pawl_request_init(&request, PAWL_COMMAND_DEFINE);
    request.command.ask.define.items = items;
    request.command.ask.define.count = count;
    request.command.ask.define.must = must;
    request.command.actor = pawl_str_of(actor);
    enum pawl_code code = pawl_check_command(&request.command, lab->keep, &lab->err);
    return code == PAWL_OK ? pawl_engine_ask(lab->pawl, &request, &lab->err) : code;
}

static enum pawl_code define(struct lab *lab, struct pawl_definition_new item)
{
    return define_all(lab, &item, 1, PAWL_DEFINITION_ANY, "");
}

static enum pawl_code undefine(struct lab *lab, struct pawl_definition_new item)
{
    struct pawl_request request;
    pawl_request_init(&request, PAWL_COMMAND_UNDEFINE);
    request.command.ask.undefine = item;
    return pawl_engine_ask(lab->pawl, &request, &lab->err);
}

static enum pawl_code try_read(struct lab *lab, enum pawl_definition_kind kind, const char *name,
                               int64_t version, struct pawl_definition_row *out)
{
    struct pawl_reader *reader = NULL;
    CHECK_OK(pawl_reader_open(&reader, &lab->pawl->store_options, &lab->err), &lab->err);
    enum pawl_code code = pawl_read_definition(reader, kind, pawl_str_of(name), version, lab->keep,
                                               out, &lab->err);
    pawl_reader_close(reader);
    return code;
}

static struct pawl_definition_row get(struct lab *lab, enum pawl_definition_kind kind,
                                      const char *name, int64_t version)
{
    struct pawl_definition_row row = {0};
    CHECK_OK(try_read(lab, kind, name, version, &row), &lab->err);
    return row;
}

/* "a:1 a:2 b:1"; with bodies "a:1={}". */
static const char *list(struct lab *lab, const struct pawl_definition_ask *ask)
{
    struct pawl_reader *reader = NULL;
    struct pawl_definition_rows rows = {0};
    struct pawl_str text = {0};
    CHECK_OK(pawl_reader_open(&reader, &lab->pawl->store_options, &lab->err), &lab->err);
    CHECK_OK(pawl_read_definitions(reader, ask, lab->keep, &rows, &lab->err), &lab->err);
    pawl_reader_close(reader);
    for (size_t i = 0; i < rows.count; i++) {
        const struct pawl_definition_row *row = &rows.rows[i];
        text = pawl_arena_format(lab->keep, "%.*s%s%.*s:%d%s%.*s", PAWL_STR_ARG(text),
                                 i == 0 ? "" : " ", PAWL_STR_ARG(row->name), (int)row->version,
                                 row->body.len > 0 ? "=" : "", PAWL_STR_ARG(row->body));
    }
    return text.len > 0 ? text.ptr : "";
}

/* "CODE: sentence". */
static void check_said(struct lab *lab, const char *want, enum pawl_code got)
{
    const char *said = pawl_arena_format(lab->keep, "%s: %s", pawl_code_name(got), lab->err.text).ptr;
    CHECK_TEXT(want, said);
}

TEST_EACH_STORE("a definition comes back as it was registered, with its times and by whom")
{
    static const char body[] = "{ \"name\" : \"greet\", \"own\": 129.90 }";
    lab_open(lab);
    struct pawl_definition_new item = task("greet", body);
    CHECK_OK(define_all(lab, &item, 1, PAWL_DEFINITION_ANY, "ann"), &lab->err);
    struct pawl_definition_row first = get(lab, PAWL_DEFINITION_TASK, "greet", 0);
    CHECK_STR(body, first.body);
    CHECK_STR("ann", first.created_by);
    CHECK_EQ(0, first.updated_by.len);
    CHECK(first.created_at_ms > 0);
    CHECK_EQ(0, first.updated_at_ms);
    CHECK(first.generation > 0);

    lab_pass(lab, SECOND_MS);
    item = task("greet", "{}");
    CHECK_OK(define_all(lab, &item, 1, PAWL_DEFINITION_ANY, "bob"), &lab->err);
    struct pawl_definition_row then = get(lab, PAWL_DEFINITION_TASK, "greet", 0);
    CHECK_STR("{}", then.body);
    CHECK_EQ(first.created_at_ms, then.created_at_ms);
    CHECK_STR("ann", then.created_by);
    CHECK_STR("bob", then.updated_by);
    CHECK(then.updated_at_ms >= first.created_at_ms);
    CHECK(then.generation > first.generation);
}

TEST_EACH_STORE("the latest version is the highest number, whatever order they came in")
{
    lab_open(lab);
    CHECK_OK(define(lab, workflow("w", 2, "{\"v\":2}")), &lab->err);
    CHECK_OK(define(lab, workflow("w", 10, "{\"v\":10}")), &lab->err);
    CHECK_OK(define(lab, workflow("w", 1, "{\"v\":1}")), &lab->err);
    CHECK_STR("{\"v\":10}", get(lab, PAWL_DEFINITION_WORKFLOW, "w", PAWL_VERSION_LATEST).body);
    CHECK_STR("{\"v\":2}", get(lab, PAWL_DEFINITION_WORKFLOW, "w", 2).body);
    CHECK_OK(undefine(lab, workflow("w", 10, "")), &lab->err);
    CHECK_EQ(2, get(lab, PAWL_DEFINITION_WORKFLOW, "w", PAWL_VERSION_LATEST).version);
}

TEST_EACH_STORE("what is not there is NOT_FOUND by its name, and kinds do not see each other's")
{
    struct pawl_definition_row row;
    lab_open(lab);
    CHECK_OK(define(lab, task("same", "{}")), &lab->err);
    check_said(lab, "NOT_FOUND: No such workflow definition: same",
                  try_read(lab, PAWL_DEFINITION_WORKFLOW, "same", PAWL_VERSION_LATEST, &row));
    check_said(lab, "NOT_FOUND: No such workflow definition: same, version 3",
                  try_read(lab, PAWL_DEFINITION_WORKFLOW, "same", 3, &row));
    check_said(lab, "NOT_FOUND: No such task definition: other",
                  try_read(lab, PAWL_DEFINITION_TASK, "other", 0, &row));
    check_said(lab, "NOT_FOUND: No such workflow definition: same, version 1",
                  undefine(lab, workflow("same", 1, "")));
    check_said(lab, "NOT_FOUND: No such event handler: same",
                  undefine(lab, (struct pawl_definition_new){PAWL_DEFINITION_EVENT_HANDLER,
                                                             PAWL_STR("same"), 0, NO_TEXT}));
}

TEST_EACH_STORE("one that must be new, or must be there, is refused otherwise, and all with it")
{
    lab_open(lab);
    CHECK_OK(define(lab, workflow("b", 1, "{}")), &lab->err);
    struct pawl_definition_new items[] = {workflow("a", 1, "{}"), workflow("b", 1, "{\"new\":1}")};
    check_said(lab, "CONFLICT: there is already a workflow definition: b, version 1",
                  define_all(lab, items, 2, PAWL_DEFINITION_ABSENT, ""));
    check_said(lab, "NOT_FOUND: No such workflow definition: a, version 1",
                  define_all(lab, items, 2, PAWL_DEFINITION_PRESENT, ""));
    struct pawl_definition_ask ask = {.kind = PAWL_DEFINITION_WORKFLOW, .with_body = true};
    CHECK_TEXT("b:1={}", list(lab, &ask));
    CHECK_OK(define_all(lab, items, 2, PAWL_DEFINITION_ANY, ""), &lab->err);
    CHECK_TEXT("a:1={} b:1={\"new\":1}", list(lab, &ask));
}

TEST_EACH_STORE("lists have all versions, the latest of each, or those of one name")
{
    lab_open(lab);
    struct pawl_definition_new items[] = {
        workflow("b", 1, "{}"), workflow("a", 2, "{}"),  workflow("a", 1, "{}"),
        workflow("a", 3, "{}"), workflow("ab", 7, "{}"), task("a", "{}"),
    };
    CHECK_OK(define_all(lab, items, COUNT_OF(items), PAWL_DEFINITION_ANY, ""), &lab->err);
    struct pawl_definition_ask ask = {.kind = PAWL_DEFINITION_WORKFLOW};
    CHECK_TEXT("a:1 a:2 a:3 ab:7 b:1", list(lab, &ask));
    ask.is_latest = true;
    CHECK_TEXT("a:3 ab:7 b:1", list(lab, &ask));
    ask.with_body = true;
    CHECK_TEXT("a:3={} ab:7={} b:1={}", list(lab, &ask));
    ask = (struct pawl_definition_ask){.kind = PAWL_DEFINITION_WORKFLOW, .name = PAWL_STR("a")};
    CHECK_TEXT("a:1 a:2 a:3", list(lab, &ask));
    ask.kind = PAWL_DEFINITION_EVENT_HANDLER;
    CHECK_TEXT("", list(lab, &ask));
}

TEST_EACH_STORE("a list of several pages has each once, with its own body")
{
    enum { MANY = 230 };
    static struct pawl_definition_new items[MANY];
    struct pawl_reader *reader = NULL;
    struct pawl_definition_rows rows = {0};
    lab_open(lab);
    for (int i = 0; i < MANY; i++) {
        struct pawl_str name = pawl_arena_format(lab->keep, "t%03d", i);
        struct pawl_str body = pawl_arena_format(lab->keep, "{\"n\":%d}", i);
        items[i] = (struct pawl_definition_new){PAWL_DEFINITION_TASK, name, 0, body};
    }
    CHECK_OK(define_all(lab, items, MANY, PAWL_DEFINITION_ANY, ""), &lab->err);
    CHECK_OK(pawl_reader_open(&reader, &lab->pawl->store_options, &lab->err), &lab->err);
    struct pawl_definition_ask ask = {.kind = PAWL_DEFINITION_TASK, .with_body = true};
    CHECK_OK(pawl_read_definitions(reader, &ask, lab->keep, &rows, &lab->err), &lab->err);
    pawl_reader_close(reader);
    CHECK_EQ(MANY, rows.count);
    for (int i = 0; i < MANY; i++) {
        CHECK(pawl_str_equal(items[i].name, rows.rows[i].name));
        CHECK(pawl_str_equal(items[i].body, rows.rows[i].body));
    }
}

TEST_EACH_STORE("what is done in one step sees what was done in it before")
{
    struct pawl_request requests[4];
    struct pawl_definition_new items[] = {workflow("w", 1, "{}"), workflow("w", 1, "{\"n\":2}")};
    lab_open(lab);
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        pawl_request_init(&requests[i], i == 2 ? PAWL_COMMAND_UNDEFINE : PAWL_COMMAND_DEFINE);
        if (i == 2) {
            requests[i].command.ask.undefine = items[0];
        } else {
            requests[i].command.ask.define.items = &items[i / 2];
            requests[i].command.ask.define.count = 1;
            requests[i].command.ask.define.must = PAWL_DEFINITION_ABSENT;
        }
        pawl_engine_add(lab->pawl, &requests[i]);
    }
    lab_settle(lab, lab->pawl);
    CHECK_EQ(PAWL_OK, requests[0].command.code);
    CHECK_EQ(PAWL_CONFLICT, requests[1].command.code);
    CHECK_EQ(PAWL_OK, requests[2].command.code);
    CHECK_EQ(PAWL_OK, requests[3].command.code);
    struct pawl_definition_row row = get(lab, PAWL_DEFINITION_WORKFLOW, "w", PAWL_VERSION_LATEST);
    CHECK_STR("{\"n\":2}", row.body);
    CHECK_EQ(0, row.updated_at_ms); /* it is a new one */
    CHECK_TEXT("1", lab_sql(lab, "SELECT count(*) FROM definition"));
}

TEST_EACH_STORE("every change raises the generation, what is refused does not")
{
    lab_open(lab);
    CHECK_OK(define(lab, task("a", "{}")), &lab->err);
    CHECK_TEXT("1", lab_sql(lab, "SELECT generation FROM head"));
    struct pawl_definition_new items[] = {task("b", "{}"), task("c", "{}")};
    CHECK_OK(define_all(lab, items, 2, PAWL_DEFINITION_ANY, ""), &lab->err);
    CHECK_TEXT("3", lab_sql(lab, "SELECT generation FROM head"));
    CHECK_CODE(PAWL_CONFLICT, define_all(lab, items, 2, PAWL_DEFINITION_ABSENT, ""));
    CHECK_TEXT("3", lab_sql(lab, "SELECT generation FROM head"));
    CHECK_OK(undefine(lab, items[0]), &lab->err);
    CHECK_TEXT("4", lab_sql(lab, "SELECT generation FROM head"));
    lab_add(lab, NEW(.input = PAWL_STR("1")));
    CHECK_TEXT("4", lab_sql(lab, "SELECT generation FROM head"));
    CHECK_EQ(3, get(lab, PAWL_DEFINITION_TASK, "c", 0).generation);
}

TEST_EACH_STORE("what is no definition is refused by its place, and nothing is done")
{
    lab_open(lab);
    struct pawl_definition_new items[] = {task("good", "{}"), task("", "{}")};
    check_said(lab, "INVALID: definitions[1]: name: is empty",
                  define_all(lab, items, 2, PAWL_DEFINITION_ANY, ""));
    check_said(lab, "INVALID: definitions[0]: body: is no object", define(lab, task("a", "[1]")));
    check_said(lab, "INVALID: definitions[0]: body: is empty", define(lab, task("a", "")));
    CHECK_CODE(PAWL_INVALID, define(lab, task("a", "{\"a\":1,\"a\":2}")));
    check_said(lab, "INVALID: definitions: there are none",
                  define_all(lab, items, 0, PAWL_DEFINITION_ANY, ""));
    check_said(lab, "INVALID: definitions[0]: version: 2147483648 is not from -2147483648 to 2147483647",
                  define(lab, workflow("a", INT64_C(1) << 31, "{}")));
    items[0].name = lab_text(lab, PAWL_QUEUE_NAME_BYTES_MAX + 1, 'n');
    check_said(lab, "INVALID: definitions[0]: name: 65 bytes; at most 64", define(lab, items[0]));
    items[0].kind = PAWL_DEFINITION_WORKFLOW;
    CHECK_OK(define(lab, items[0]), &lab->err);
    items[0].name = lab_text(lab, PAWL_DEFINITION_NAME_BYTES_MAX + 1, 'n');
    check_said(lab, "INVALID: definitions[0]: name: 256 bytes; at most 255", define(lab, items[0]));
    CHECK_TEXT("1", lab_sql(lab, "SELECT count(*) FROM definition"));
}

TEST_EACH_STORE("a batch of definitions ends at its limits of members and of bytes")
{
    enum { MANY = PAWL_BATCH_MAX + 1 };
    static struct pawl_definition_new items[MANY];
    lab_open(lab);
    for (int i = 0; i < MANY; i++) items[i] = task("a", "{}");
    check_said(lab, "TOO_LARGE: definitions: 1001; at most 1000",
                  define_all(lab, items, MANY, PAWL_DEFINITION_ANY, ""));
    struct pawl_str body = lab_text(lab, 9 * 1024 * 1024, ' ');
    ((char *)(uintptr_t)body.ptr)[0] = '{';
    ((char *)(uintptr_t)body.ptr)[body.len - 1] = '}';
    items[0].body = items[1].body = body;
    CHECK_CODE(PAWL_TOO_LARGE, define_all(lab, items, 2, PAWL_DEFINITION_ANY, ""));
    CHECK_OK(define_all(lab, items, 1, PAWL_DEFINITION_ANY, ""), &lab->err);
    CHECK_EQ(body.len, get(lab, PAWL_DEFINITION_TASK, "a", 0).body.len);
}

TEST_EACH_STORE("a list that does not fit is TOO_LARGE, and the reader goes on")
{
    struct pawl_arena *small = NULL;
    struct pawl_reader *reader = NULL;
    struct pawl_definition_rows rows = {0};
    struct pawl_definition_ask ask = {.kind = PAWL_DEFINITION_TASK, .with_body = true};
    lab_open(lab);
    struct pawl_str body = lab_text(lab, 1024 * 1024, ' ');
    ((char *)(uintptr_t)body.ptr)[0] = '{';
    ((char *)(uintptr_t)body.ptr)[body.len - 1] = '}';
    struct pawl_definition_new items[] = {task("a", "{}"), task("b", "{}")};
    items[0].body = items[1].body = body;
    CHECK_OK(define_all(lab, items, 2, PAWL_DEFINITION_ANY, ""), &lab->err);
    CHECK_OK(pawl_reader_open(&reader, &lab->pawl->store_options, &lab->err), &lab->err);
    CHECK_OK(pawl_arena_open(&small, 1536 * 1024), &lab->err);
    CHECK_CODE(PAWL_TOO_LARGE, pawl_read_definitions(reader, &ask, small, &rows, &lab->err));
    pawl_arena_close(small);
    CHECK_OK(pawl_read_definitions(reader, &ask, lab->keep, &rows, &lab->err), &lab->err);
    CHECK_EQ(2, rows.count);
    pawl_reader_close(reader);
}

TEST_MAIN()
