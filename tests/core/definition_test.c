/* Definitions of workflows and tasks: reading, writing, checking, and the form a decision reads.
 * The files in tests/core/definitions are definitions as people write them. */
#include "core/workflow/definition.h"

#include "base/arena.h"
#include "base/printf.h"
#include "core/limits.h"
#include "core/workflow/definition_check.h"
#include "core/workflow/snapshot.h"
#include "test.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ARENA_BYTES = 256 * 1024 * 1024 };

static struct pawl_arena *open_arena(void)
{
    struct pawl_arena *arena = NULL;
    CHECK_OK(pawl_arena_open(&arena, ARENA_BYTES), NULL);
    return arena;
}

static struct pawl_str read_file(struct pawl_arena *arena, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) FAIL("%s cannot be opened", path);
    char *text = pawl_arena_take(arena, 1 << 20);
    size_t len = fread(text, 1, 1 << 20, file);
    fclose(file);
    return (struct pawl_str){text, len};
}

/* Reads a definition that has no faults. */
static struct pawl_definition *read_good(struct pawl_arena *arena, struct pawl_str text)
{
    struct pawl_faults faults;
    struct pawl_definition *definition = NULL;
    struct pawl_error err;
    pawl_faults_init(&faults, arena);
    CHECK_OK(pawl_definition_parse(text, arena, &faults, &definition, &err), &err);
    if (faults.count > 0) FAIL("%.*s", PAWL_STR_ARG(faults.first->message));
    return definition;
}

static struct pawl_str write(struct pawl_arena *arena, const struct pawl_definition *definition)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_definition_write(definition, &w);
    return pawl_json_writer_done(&w);
}

static const struct pawl_json *parse(struct pawl_arena *arena, struct pawl_str text)
{
    struct pawl_json *json = NULL;
    struct pawl_error err;
    CHECK_OK(pawl_json_parse(text, arena, &json, &err), &err);
    return json;
}

static int32_t node_of(const struct pawl_definition *definition, const char *reference)
{
    int32_t node = pawl_definition_find(definition, pawl_str_of(reference));
    if (node == PAWL_NOWHERE) FAIL("no node %s", reference);
    return node;
}

static const char *const files[] = {
    "tests/core/definitions/agent.json",
    "tests/core/definitions/order.json",
    "tests/core/definitions/video.json",
};

/* ---- Reading and writing ----------------------------------------------------------------------
 */

/* Whether all that want has is in got, as it is there. */
static void check_holds(const struct pawl_json *want, const struct pawl_json *got)
{
    if (want->kind != got->kind) {
        FAIL("%.*s became %.*s", PAWL_STR_ARG(want->raw), PAWL_STR_ARG(got->raw));
    }
    if (want->kind == PAWL_JSON_OBJECT) {
        for (const struct pawl_json *w = want->first; w != NULL; w = w->next) {
            const struct pawl_json *g = pawl_json_member(got, w->key);
            if (g == NULL) FAIL("%.*s is lost", PAWL_STR_ARG(w->key));
            check_holds(w, g);
        }
    } else if (want->kind == PAWL_JSON_ARRAY) {
        CHECK_EQ(want->child_count, got->child_count);
        const struct pawl_json *g = got->first;
        for (const struct pawl_json *w = want->first; w != NULL; w = w->next, g = g->next) {
            check_holds(w, g);
        }
    } else if (want->kind == PAWL_JSON_NUMBER) {
        CHECK_BYTES(want->raw.ptr, want->raw.len, got->raw.ptr, got->raw.len);
    }
}

TEST("real definitions come back with all that they had, and reading what was written changes "
     "nothing")
{
    struct pawl_arena *arena = open_arena();
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct pawl_str text = read_file(arena, files[i]);
        struct pawl_str first = write(arena, read_good(arena, text));
        check_holds(parse(arena, text), parse(arena, first));
        struct pawl_str second = write(arena, read_good(arena, first));
        CHECK_BYTES(first.ptr, first.len, second.ptr, second.len);
    }
    pawl_arena_close(arena);
}

TEST("what a definition leaves out has Conductor's defaults")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_str written =
        write(arena, read_good(arena, PAWL_STR("{\"name\":\"w\",\"tasks\":[{\"name\":\"a\","
                                               "\"taskReferenceName\":\"a\",\"unknown\":[1]}]}")));
    CHECK_STR("{\"name\":\"w\",\"version\":1,\"inputParameters\":[],\"outputParameters\":{},"
              "\"inputTemplate\":{},\"variables\":{},\"schemaVersion\":2,\"restartable\":true,"
              "\"workflowStatusListenerEnabled\":false,\"timeoutPolicy\":\"ALERT_ONLY\","
              "\"timeoutSeconds\":0,\"enforceSchema\":true,\"metadata\":{},\"maskedFields\":[],"
              "\"createTime\":0,\"updateTime\":0,\"tasks\":[{\"name\":\"a\","
              "\"taskReferenceName\":\"a\",\"type\":\"SIMPLE\",\"inputParameters\":{},"
              "\"startDelay\":0,\"optional\":false,\"permissive\":false,\"asyncComplete\":false,"
              "\"joinOn\":[],\"defaultExclusiveJoinTask\":[],\"onStateChange\":{},\"metadata\":{},"
              "\"decisionCases\":{},\"defaultCase\":[],\"forkTasks\":[],\"loopOver\":[]}]}",
              written);
    pawl_arena_close(arena);
}

static struct pawl_str no_path(void *self, struct pawl_arena *arena)
{
    (void)self;
    (void)arena;
    return PAWL_STR("");
}

static struct pawl_task_definition read_task(struct pawl_arena *arena, const char *text,
                                             struct pawl_faults *faults)
{
    pawl_faults_init(faults, arena);
    struct pawl_fault_place place = {.path = no_path, .faults = faults};
    struct pawl_task_definition definition;
    pawl_task_definition_read(parse(arena, pawl_str_of(text)), &place, &definition);
    return definition;
}

static struct pawl_str write_task(struct pawl_arena *arena,
                                  const struct pawl_task_definition *definition)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_task_definition_write(definition, &w);
    return pawl_json_writer_done(&w);
}

TEST("a task's definition has Conductor's defaults")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_faults faults;
    struct pawl_task_definition definition = read_task(arena, "{\"name\":\"t\"}", &faults);
    CHECK_EQ(0, faults.count);
    CHECK_STR("{\"name\":\"t\",\"retryCount\":3,\"retryLogic\":\"FIXED\",\"retryDelaySeconds\":60,"
              "\"backoffScaleFactor\":1,\"maxRetryDelaySeconds\":0,\"backoffJitterMs\":0,"
              "\"timeoutPolicy\":\"TIME_OUT_WF\",\"timeoutSeconds\":0,"
              "\"responseTimeoutSeconds\":3600,\"totalTimeoutSeconds\":0,"
              "\"rateLimitPerFrequency\":0,\"rateLimitFrequencyInSeconds\":1,\"inputKeys\":[],"
              "\"outputKeys\":[],\"inputTemplate\":{},\"runtimeMetadata\":[],"
              "\"taskStatusListenerEnabled\":true,\"enforceSchema\":false,\"createTime\":0,"
              "\"updateTime\":0}",
              write_task(arena, &definition));
    pawl_arena_close(arena);
}

/* One member of a task's definition as it comes, and as it goes; NULL: it is a fault. */
static const struct {
    const char *in;
    const char *out;
} scalars[] = {
    {"\"retryCount\":\"12\"", "\"retryCount\":12"},
    {"\"retryCount\":1.9", "\"retryCount\":1"},
    {"\"retryCount\":1e2", "\"retryCount\":100"},
    {"\"retryCount\":\"\"", "\"retryCount\":0"},
    {"\"retryCount\":null", "\"retryCount\":0"},
    {"\"retryCount\":2147483647", "\"retryCount\":2147483647"},
    {"\"retryCount\":2147483648", NULL},
    {"\"retryCount\":\"x\"", NULL},
    {"\"retryCount\":true", NULL},
    {"\"retryCount\":[1]", NULL},
    {"\"timeoutSeconds\":2147483648", "\"timeoutSeconds\":2147483648"},
    {"\"timeoutSeconds\":1e30", NULL},
    {"\"pollTimeoutSeconds\":0", "\"pollTimeoutSeconds\":0"},
    {"\"concurrentExecLimit\":\"5\"", "\"concurrentExecLimit\":5"},
    {"\"taskStatusListenerEnabled\":\"True\"", "\"taskStatusListenerEnabled\":true"},
    {"\"taskStatusListenerEnabled\":\"false\"", "\"taskStatusListenerEnabled\":false"},
    {"\"taskStatusListenerEnabled\":null", "\"taskStatusListenerEnabled\":false"},
    {"\"taskStatusListenerEnabled\":1", "\"taskStatusListenerEnabled\":true"},
    {"\"taskStatusListenerEnabled\":\"yes\"", NULL},
    {"\"taskStatusListenerEnabled\":{}", NULL},
    {"\"description\":12.50", "\"description\":\"12.50\""},
    {"\"description\":true", "\"description\":\"true\""},
    {"\"description\":\"\"", "\"description\":\"\""},
    {"\"description\":{}", NULL},
    {"\"description\":\"\\u0000\"", NULL},
    {"\"retryLogic\":\"LINEAR_BACKOFF\"", "\"retryLogic\":\"LINEAR_BACKOFF\""},
    {"\"retryLogic\":\"fixed\"", NULL},
    {"\"retryLogic\":\"\"", NULL},
    {"\"retryLogic\":1", NULL},
    {"\"timeoutPolicy\":null", "\"timeoutPolicy\":\"TIME_OUT_WF\""},
    {"\"timeoutPolicy\":\"RETRY\"", "\"timeoutPolicy\":\"RETRY\""},
    {"\"inputKeys\":[\"a\",1,null]", "\"inputKeys\":[\"a\",\"1\",null]"},
    {"\"inputKeys\":null", "\"inputKeys\":[]"},
    {"\"inputKeys\":\"a\"", NULL},
    {"\"inputKeys\":[[]]", NULL},
    {"\"inputTemplate\":{ \"b\" : 1.50 }", "\"inputTemplate\":{ \"b\" : 1.50 }"},
    {"\"inputTemplate\":null", "\"inputTemplate\":{}"},
    {"\"inputTemplate\":[]", NULL},
    {"\"inputSchema\":{\"name\":\"s\"}", "\"inputSchema\":{\"name\":\"s\"}"},
};

TEST("scalars are read as leniently as Conductor reads them, and what is none is a fault of its "
     "field")
{
    struct pawl_arena *arena = open_arena();
    for (size_t i = 0; i < COUNT_OF(scalars); i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"name\":\"t\",%s}", scalars[i].in);
        struct pawl_faults faults;
        struct pawl_task_definition definition = read_task(arena, text, &faults);
        if (scalars[i].out == NULL) {
            if (faults.count != 1) FAIL("%s was taken", scalars[i].in);
            CHECK(pawl_str_starts(pawl_str_of(scalars[i].in + 1), faults.first->path));
        } else {
            if (faults.count != 0) FAIL("%s was refused", scalars[i].in);
            struct pawl_str written = write_task(arena, &definition);
            if (!pawl_str_has(written, pawl_str_of(scalars[i].out))) {
                FAIL("%s: %.*s", scalars[i].in, PAWL_STR_ARG(written));
            }
        }
    }
    pawl_arena_close(arena);
}

TEST("a word that is not known is told with those that are, and with the path")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_faults faults;
    struct pawl_definition *definition;
    struct pawl_error err;
    pawl_faults_init(&faults, arena);
    struct pawl_str text =
        PAWL_STR("{\"name\":\"w\",\"timeoutPolicy\":\"RETRY\",\"tasks\":[{\"name\":\"a\","
                 "\"taskReferenceName\":\"a\",\"defaultCase\":[5,{\"name\":\"b\","
                 "\"taskDefinition\":{\"retryLogic\":\"NONE\"},\"startDelay\":{}}]}]}");
    CHECK_OK(pawl_definition_parse(text, arena, &faults, &definition, &err), &err);
    CHECK_EQ(4, faults.count);
    struct pawl_fault *fault = faults.first;
    CHECK_STR("timeoutPolicy", fault->path);
    CHECK_STR("timeoutPolicy must be one of TIME_OUT_WF, ALERT_ONLY", fault->message);
    CHECK_STR("\"RETRY\"", fault->value);
    fault = fault->next;
    CHECK_STR("tasks[0].defaultCase[0]", fault->path);
    CHECK_STR("5", fault->value);
    fault = fault->next;
    CHECK_STR("tasks[0].defaultCase[1].startDelay", fault->path);
    CHECK_STR("", fault->value);
    fault = fault->next;
    CHECK_STR("tasks[0].defaultCase[1].taskDefinition.retryLogic", fault->path);
    pawl_arena_close(arena);
}

TEST("what is no definition is refused with a sentence")
{
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        {"", "value"},
        {"[]", "object"},
        {"{\"name\":\"a\",\"name\":\"b\"}", "name"},
        {"{\"name\":\"a\",\"tasks\":[{\"type\":1,\"type\":2}]}", "type"},
        {"{\"name\":\"a\"", "line"},
    };
    struct pawl_arena *arena = open_arena();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_faults faults;
        struct pawl_definition *definition = NULL;
        struct pawl_error err;
        pawl_faults_init(&faults, arena);
        CHECK_CODE(PAWL_INVALID, pawl_definition_parse(pawl_str_of(rows[i].text), arena, &faults,
                                                       &definition, &err));
        CHECK(definition == NULL);
        if (strstr(err.text, rows[i].says) == NULL) FAIL("%s: %s", rows[i].text, err.text);
    }
    pawl_arena_close(arena);
}

/* Text that grows in room that is large enough. */
struct text {
    char *ptr;
    size_t len;
    size_t room;
};

static struct text open_text(struct pawl_arena *arena, size_t room)
{
    return (struct text){.ptr = pawl_arena_take(arena, room), .room = room};
}

PAWL_PRINTF(2, 3) static void add(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text->ptr + text->len, text->room - text->len, format, args);
    va_end(args);
    CHECK(len >= 0 && (size_t)len < text->room - text->len);
    text->len += (size_t)len;
}

static struct pawl_str text_of(const struct text *text)
{
    return (struct pawl_str){text->ptr, text->len};
}

/* ---- Limits ------------------------------------------------------------------------------------
 */

/* A definition of count tasks in a row. */
static struct pawl_str make_row(struct pawl_arena *arena, int count)
{
    struct text text = open_text(arena, (size_t)count * 80 + 100);
    add(&text, "{\"name\":\"w\",\"tasks\":[");
    for (int i = 0; i < count; i++) {
        add(&text, "%s{\"name\":\"t%d\",\"taskReferenceName\":\"r%d\"}", i > 0 ? "," : "", i % 10,
            i);
    }
    add(&text, "]}");
    return text_of(&text);
}

TEST("ten thousand tasks are read, found, linked and written; the limit takes itself and not one "
     "more")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_definition *definition = read_good(arena, make_row(arena, 10000));
    CHECK_EQ(10000, definition->node_count);
    for (int32_t i = 0; i < 10000; i++) {
        char reference[16];
        snprintf(reference, sizeof reference, "r%d", i);
        CHECK_EQ(i, node_of(definition, reference));
        CHECK_EQ(i == 9999 ? PAWL_NOWHERE : i + 1, definition->nodes[i].successor);
    }
    struct pawl_str written = write(arena, definition);
    CHECK_EQ(10000, read_good(arena, written)->node_count);
    pawl_arena_reset(arena);

    (void)read_good(arena, make_row(arena, PAWL_DEFINITION_NODES_MAX));
    struct pawl_faults faults;
    struct pawl_error err;
    pawl_faults_init(&faults, arena);
    CHECK_CODE(PAWL_TOO_LARGE, pawl_definition_parse(make_row(arena, PAWL_DEFINITION_NODES_MAX + 1),
                                                     arena, &faults, &definition, &err));
    CHECK(strstr(err.text, "20000") != NULL);
    pawl_arena_close(arena);
}

/* A SWITCH in a case of a SWITCH …, so many lists inside each other. */
static struct pawl_str make_nest(struct pawl_arena *arena, int depth)
{
    struct text text = open_text(arena, (size_t)depth * 200 + 200);
    add(&text, "{\"name\":\"w\",\"tasks\":[");
    for (int i = 0; i < depth; i++) {
        add(&text,
            "{\"name\":\"s\",\"taskReferenceName\":\"s%d\",\"type\":\"SWITCH\","
            "\"decisionCases\":{\"a\":[",
            i);
    }
    add(&text, "{\"name\":\"t\",\"taskReferenceName\":\"t\","
               "\"taskDefinition\":{\"inputKeys\":[\"k\"]}}");
    for (int i = 0; i < depth; i++) add(&text, "]}}");
    add(&text, "]}");
    return text_of(&text);
}

TEST("lists may be nested to the limit, and not one deeper")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_definition *definition =
        read_good(arena, make_nest(arena, PAWL_DEFINITION_DEPTH_MAX));
    struct pawl_str first = write(arena, definition);
    struct pawl_str second = write(arena, read_good(arena, first));
    CHECK_BYTES(first.ptr, first.len, second.ptr, second.len);
    CHECK_EQ(PAWL_NOWHERE, definition->nodes[node_of(definition, "t")].successor);

    struct pawl_faults faults;
    struct pawl_error err;
    pawl_faults_init(&faults, arena);
    CHECK_CODE(PAWL_TOO_LARGE,
               pawl_definition_parse(make_nest(arena, PAWL_DEFINITION_DEPTH_MAX + 1), arena,
                                     &faults, &definition, &err));
    CHECK(strstr(err.text, "nested") != NULL);
    pawl_arena_close(arena);
}

TEST("an arena that is too small is told, and nothing is given")
{
    struct pawl_arena *keep = open_arena();
    struct pawl_str text = read_file(keep, files[2]);
    for (size_t budget = 256; budget < 64 * 1024; budget += 509) {
        struct pawl_arena *arena = NULL;
        CHECK_OK(pawl_arena_open(&arena, budget), NULL);
        struct pawl_faults faults;
        struct pawl_definition *definition = NULL;
        struct pawl_error err;
        pawl_faults_init(&faults, arena);
        enum pawl_code code = pawl_definition_parse(text, arena, &faults, &definition, &err);
        if (code == PAWL_OK) {
            CHECK(budget > 16 * 1024);
            CHECK_EQ(14, definition->node_count);
        } else {
            CHECK_CODE(PAWL_TOO_LARGE, code);
            CHECK(definition == NULL);
        }
        pawl_arena_close(arena);
    }
    pawl_arena_close(keep);
}

/* ---- What a decision reads ----------------------------------------------------------------------
 */

static const struct {
    const char *file;
    const char *reference;
    const char *successor; /* NULL: nothing */
} successors[] = {
    {"tests/core/definitions/video.json", "probe", "has_video"},
    {"tests/core/definitions/video.json", "has_video", "work"},
    {"tests/core/definitions/video.json", "no_video", NULL}, /* TERMINATE */
    {"tests/core/definitions/video.json", "normalise", "work"},
    {"tests/core/definitions/video.json", "work", "work_join"},
    {"tests/core/definitions/video.json", "hd", "hd_check"},
    {"tests/core/definitions/video.json", "hd_check", "work_join"},
    {"tests/core/definitions/video.json", "sd", "work_join"},
    {"tests/core/definitions/video.json", "thumbnails_join", "work_join"},
    {"tests/core/definitions/video.json", "tell", NULL},
    {"tests/core/definitions/agent.json", "ask", "use_tools"},
    {"tests/core/definitions/agent.json", "fan_in", "remember"},
    {"tests/core/definitions/agent.json", "ask_human", "remember"},
    {"tests/core/definitions/agent.json", "remember", "think"}, /* the round is over */
    {"tests/core/definitions/agent.json", "think", "each_source"},
    {"tests/core/definitions/order.json", "stock", "stock_kind"},
    {"tests/core/definitions/order.json", "call_a", "inner_join"},
    {"tests/core/definitions/order.json", "inner_join",
     "reserved"}, /* out of the case and the branch */
    {"tests/core/definitions/order.json", "stock_kind", "reserved"},
    {"tests/core/definitions/order.json", "payment", "reserved"},
    {"tests/core/definitions/order.json", "bill", NULL},
};

TEST("what follows a task is known: in its list, after its case, at the JOIN of its branch, in its "
     "loop")
{
    struct pawl_arena *arena = open_arena();
    for (size_t i = 0; i < COUNT_OF(successors); i++) {
        pawl_arena_reset(arena);
        struct pawl_definition *definition = read_good(arena, read_file(arena, successors[i].file));
        int32_t got = definition->nodes[node_of(definition, successors[i].reference)].successor;
        const char *want = successors[i].successor;
        if (got != (want == NULL ? PAWL_NOWHERE : node_of(definition, want))) {
            FAIL("after %s", successors[i].reference);
        }
    }
    pawl_arena_close(arena);
}

TEST("tasks are numbered as they stand, and their lists are found by case and kind")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_definition *d = read_good(arena, read_file(arena, files[2]));
    static const char *const order[] = {
        "probe", "has_video",  "no_video",        "normalise", "work",    "hd",        "hd_check",
        "sd",    "thumbnails", "thumbnails_join", "work_join", "package", "cool_down", "tell"};
    int32_t last = -1;
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        CHECK(node_of(d, order[i]) > last);
        last = node_of(d, order[i]);
    }
    int32_t sw = node_of(d, "has_video");
    CHECK_EQ(node_of(d, "no_video"),
             d->lists[pawl_definition_case(d, sw, PAWL_STR("audio"))].first);
    int32_t empty = pawl_definition_case(d, sw, PAWL_STR("h264"));
    CHECK_EQ(PAWL_NODE_LIST_CASE, d->lists[empty].kind); /* an empty case is not the default */
    CHECK_EQ(PAWL_NOWHERE, d->lists[empty].first);
    CHECK_EQ(node_of(d, "normalise"), d->lists[pawl_definition_case(d, sw, PAWL_STR("vp9"))].first);
    CHECK_EQ(PAWL_NOWHERE, pawl_definition_find(d, PAWL_STR("nobody")));
    CHECK_STR("tasks[2].forkTasks[2][1]", pawl_node_path(d, node_of(d, "thumbnails_join"), arena));
    CHECK_STR("tasks[1].decisionCases[audio][0]", pawl_node_path(d, node_of(d, "no_video"), arena));
    pawl_arena_close(arena);
}

/* ---- Checks ------------------------------------------------------------------------------------
 */

static const struct pawl_definition_rules lenient = {0};

static enum pawl_lookup check(struct pawl_arena *arena, struct pawl_str text,
                              const struct pawl_definition_rules *rules, struct pawl_faults *faults)
{
    struct pawl_arena *scratch = open_arena();
    struct pawl_error err;
    struct pawl_definition *definition;
    pawl_faults_init(faults, arena);
    CHECK_OK(pawl_definition_parse(text, arena, faults, &definition, &err), &err);
    enum pawl_lookup found = pawl_definition_check(definition, rules, scratch, faults);
    pawl_arena_close(scratch);
    return found;
}

TEST("real definitions pass")
{
    struct pawl_arena *arena = open_arena();
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct pawl_faults faults;
        CHECK_EQ(PAWL_LOOKUP_FOUND, check(arena, read_file(arena, files[i]), &lenient, &faults));
        if (faults.count > 0) FAIL("%.*s", PAWL_STR_ARG(faults.first->message));
        CHECK_EQ(0, faults.warning_count);
    }
    pawl_arena_close(arena);
}

/* A task, and the paths of its faults inside tasks[0], with a blank behind each; "" = it is good.
 */
#define SIMPLE(ref) "{\"name\":\"t\",\"taskReferenceName\":\"" ref "\"}"
static const struct {
    const char *task;
    const char *faults;
} types[] = {
    {"\"type\":\"SIMPLE\"", ""},
    {"\"type\":\"\"", "type "},
    {"\"type\":null", "type "},
    {"\"type\":\"own_type\"", ""},
    {"\"startDelay\":-1", "startDelay "},
    {"\"type\":\"EVENT\"", "sink "},
    {"\"type\":\"EVENT\",\"sink\":\" \"", "sink "},
    {"\"type\":\"EVENT\",\"sink\":\"conductor\"", ""},
    {"\"type\":\"DECISION\"", "caseValueParam decisionCases "},
    {"\"type\":\"DECISION\",\"caseExpression\":\"1\",\"decisionCases\":{\"a\":[]}", ""},
    {"\"type\":\"SWITCH\"", "evaluatorType expression decisionCases "},
    {"\"type\":\"SWITCH\",\"evaluatorType\":\"value-param\",\"expression\":\"x\","
     "\"decisionCases\":{}",
     "decisionCases "},
    {"\"type\":\"SWITCH\",\"evaluatorType\":\"value-param\",\"expression\":\"x\","
     "\"decisionCases\":{\"a\":[" SIMPLE("b") "]}",
     ""},
    {"\"type\":\"DYNAMIC\"", "dynamicTaskNameParam "},
    {"\"type\":\"DYNAMIC\",\"dynamicTaskNameParam\":\"n\"", ""},
    {"\"type\":\"FORK_JOIN\"", "forkTasks "},
    {"\"type\":\"FORK_JOIN\",\"forkTasks\":[[" SIMPLE("b") "],[]]", "forkTasks[1] "},
    {"\"type\":\"FORK_JOIN\",\"forkTasks\":[[" SIMPLE("b") "]]", ""},
    {"\"type\":\"FORK_JOIN\",\"forkTasks\":{}", "forkTasks forkTasks "},
    {"\"type\":\"FORK_JOIN_DYNAMIC\"", "dynamicForkTasksParam dynamicForkTasksInputParamName "},
    {"\"type\":\"FORK_JOIN_DYNAMIC\",\"dynamicForkTasksParam\":\"a\"",
     "dynamicForkTasksInputParamName "},
    {"\"type\":\"FORK_JOIN_DYNAMIC\",\"dynamicForkJoinTasksParam\":\"a\"", ""},
    {"\"type\":\"FORK_JOIN_DYNAMIC\",\"dynamicForkJoinTasksParam\":\"a\","
     "\"dynamicForkTasksParam\":\"b\"",
     "dynamicForkJoinTasksParam "},
    {"\"type\":\"FORK_JOIN_DYNAMIC\",\"inputParameters\":{\"forkTaskInputs\":1}", ""},
    {"\"type\":\"DO_WHILE\"", "loopOver loopCondition "},
    {"\"type\":\"DO_WHILE\",\"items\":[1],\"loopOver\":[" SIMPLE("b") "]", ""},
    {"\"type\":\"DO_WHILE\",\"inputParameters\":{\"_items\":[]},\"loopOver\":[" SIMPLE("b") "]",
     ""},
    {"\"type\":\"DO_WHILE\",\"loopCondition\":\"true\",\"loopOver\":[" SIMPLE("b") "]", ""},
    {"\"type\":\"SUB_WORKFLOW\"", "subWorkflowParam "},
    {"\"type\":\"SUB_WORKFLOW\",\"subWorkflowParam\":{\"version\":1}", "subWorkflowParam "},
    {"\"type\":\"SUB_WORKFLOW\",\"subWorkflowParam\":{\"name\":\"s\"}", ""},
    {"\"type\":\"SUB_WORKFLOW\",\"subWorkflowParam\":{\"workflowDefinition\":\"${a.b}\"}", ""},
    {"\"type\":\"SUB_WORKFLOW\",\"subWorkflowParam\":{\"workflowDefinition\":\"x\"}",
     "subWorkflowParam.workflowDefinition "},
    {"\"type\":\"SUB_WORKFLOW\",\"subWorkflowParam\":{\"workflowDefinition\":7}",
     "subWorkflowParam.workflowDefinition "},
    {"\"type\":\"SUB_WORKFLOW\",\"subWorkflowParam\":{\"name\":\"s\","
     "\"idempotencyStrategy\":\"MAYBE\"}",
     "subWorkflowParam.idempotencyStrategy "},
    {"\"type\":\"WAIT\"", ""},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"duration\":\"1d 2h30m\"}", ""},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"duration\":\"2 Hours 5SECS\"}", ""},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"duration\":\"${x.y} s\"}", ""},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"duration\":\"5\"}", "inputParameters.duration "},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"duration\":\"5m 2h\"}", "inputParameters.duration "},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"duration\":\"1.5h\"}", "inputParameters.duration "},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"until\":\"2030-01-31\"}", ""},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"until\":\"2030-01-31 08:00\"}", ""},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"until\":\"2030-01-31 08:00 CET\"}", ""},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"until\":\"2030-01-31 08:00 GMT+02:00\"}", ""},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"until\":1900000000000}", ""},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"until\":\"tomorrow\"}", "inputParameters.until "},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"until\":\"2030-13-31\"}", "inputParameters.until "},
    {"\"type\":\"WAIT\",\"inputParameters\":{\"until\":\"2030-01-31\",\"duration\":\"1s\"}",
     "inputParameters "},
    {"\"type\":\"HTTP\"", "inputParameters.http_request "},
    {"\"type\":\"HTTP\",\"inputParameters\":{\"uri\":\"u\"}", ""},
    {"\"type\":\"HTTP\",\"taskDefinition\":{\"name\":\"h\",\"inputTemplate\":{\"http_request\":{}}"
     "}",
     ""},
    {"\"type\":\"TERMINATE\"", "inputParameters.terminationStatus "},
    {"\"type\":\"TERMINATE\",\"optional\":true,\"inputParameters\":{\"terminationStatus\":"
     "\"FAILED\"}",
     "optional "},
    {"\"type\":\"TERMINATE\",\"inputParameters\":{\"terminationStatus\":\"failed\"}",
     "inputParameters.terminationStatus "},
    {"\"type\":\"TERMINATE\",\"inputParameters\":{\"terminationStatus\":\"${x.output.s}\"}", ""},
    {"\"type\":\"SET_VARIABLE\"", ""},
    {"\"type\":\"KAFKA_PUBLISH\"", "inputParameters.kafka_request "},
    {"\"type\":\"KAFKA_PUBLISH\",\"inputParameters\":{\"kafka_request\":{}}", ""},
    {"\"type\":\"JSON_JQ_TRANSFORM\"", "inputParameters.queryExpression "},
    {"\"type\":\"JSON_JQ_TRANSFORM\",\"inputParameters\":{\"queryExpression\":\".\"}", ""},
    {"\"type\":\"JOIN\",\"joinOn\":[\"nobody\"]", ""},
    {"\"type\":\"INLINE\"", ""},
    {"\"type\":\"LAMBDA\"", ""},
    {"\"type\":\"START_WORKFLOW\"", ""},
    {"\"type\":\"HUMAN\"", ""},
    {"\"type\":\"NOOP\"", ""},
    {"\"type\":\"EXCLUSIVE_JOIN\"", ""},
    {"\"type\":\"LLM_TEXT_COMPLETE\"", ""},
    {"\"taskDefinition\":{\"name\":\"\",\"retryCount\":-1}",
     "taskDefinition.name taskDefinition.retryCount "},
};

/* The paths of the faults, with a blank behind each, without what they all begin with. */
static void join_paths(const struct pawl_faults *faults, struct pawl_str prefix, char *out,
                       size_t room)
{
    size_t len = 0;
    out[0] = '\0';
    for (const struct pawl_fault *fault = faults->first; fault != NULL; fault = fault->next) {
        if (fault->is_warning) continue;
        struct pawl_str path = fault->path;
        if (pawl_str_starts(path, prefix)) {
            path = (struct pawl_str){path.ptr + prefix.len, path.len - prefix.len};
        }
        len += (size_t)snprintf(out + len, room - len, "%.*s ", PAWL_STR_ARG(path));
    }
}

TEST("each type of task is refused without what it needs, and taken with it")
{
    struct pawl_arena *arena = open_arena();
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        pawl_arena_reset(arena);
        struct pawl_faults faults;
        struct pawl_str text = pawl_arena_format(
            arena, "{\"name\":\"w\",\"tasks\":[{\"name\":\"t\",\"taskReferenceName\":\"a\",%s}]}",
            types[i].task);
        CHECK_EQ(PAWL_LOOKUP_FOUND, check(arena, text, &lenient, &faults));
        char got[512];
        join_paths(&faults, PAWL_STR("tasks[0]."), got, sizeof got);
        if (strcmp(got, types[i].faults) != 0) FAIL("%s: %s", types[i].task, got);
    }
    pawl_arena_close(arena);
}

static const struct {
    const char *text;
    const char *faults;
} workflows[] = {
    {"{}", "name tasks "},
    {"{\"name\":\" \",\"tasks\":[]}", "name tasks "},
    {"{\"name\":\"w\",\"tasks\":5}", "tasks tasks "},
    {"{\"name\":\"a:b\",\"tasks\":[" SIMPLE("a") "]}", "name "},
    {"{\"name\":\"a;b\",\"tasks\":[" SIMPLE("a") "]}", "name "},
    {"{\"name\":\"w\",\"schemaVersion\":1,\"tasks\":[" SIMPLE("a") "]}", "schemaVersion "},
    {"{\"name\":\"w\",\"timeoutSeconds\":-1,\"tasks\":[" SIMPLE("a") "]}", "timeoutSeconds "},
    {"{\"name\":\"w\",\"tasks\":[{}]}", "tasks[0].name tasks[0].taskReferenceName "},
    {"{\"name\":\"w\",\"tasks\":[" SIMPLE("a") "," SIMPLE("a") "," SIMPLE("a") "]}",
     "tasks[1].taskReferenceName tasks[2].taskReferenceName "},
    {"{\"name\":\"w\",\"tasks\":[{\"name\":\"f\",\"taskReferenceName\":\"f\",\"type\":\"FORK_"
     "JOIN\","
     "\"forkTasks\":[[" SIMPLE("x") "],[" SIMPLE(
         "x") "]]},{\"name\":\"j\","
              "\"taskReferenceName\":\"f\",\"type\":\"JOIN\"}]}",
     "tasks[0].forkTasks[1][0].taskReferenceName tasks[1].taskReferenceName "},
};

TEST("faults of a workflow are told all at once, each with its path")
{
    struct pawl_arena *arena = open_arena();
    for (size_t i = 0; i < COUNT_OF(workflows); i++) {
        struct pawl_faults faults;
        CHECK_EQ(PAWL_LOOKUP_FOUND,
                 check(arena, pawl_str_of(workflows[i].text), &lenient, &faults));
        char got[512];
        join_paths(&faults, PAWL_STR(""), got, sizeof got);
        if (strcmp(got, workflows[i].faults) != 0) FAIL("%s: %s", workflows[i].text, got);
    }
    pawl_arena_close(arena);
}

static const struct {
    const char *members;
    const char *faults;
} task_rows[] = {
    {"\"name\":\"t\"", ""},
    {"\"name\":\"\"", "name "},
    {"\"name\":null", "name "},
    {"\"name\":\"a:b\"", "name "},
    {"\"name\":\"t\",\"retryCount\":0,\"retryDelaySeconds\":0,\"concurrentExecLimit\":0", ""},
    {"\"name\":\"t\",\"retryCount\":-1", "retryCount "},
    {"\"name\":\"t\",\"retryDelaySeconds\":-1", "retryDelaySeconds "},
    {"\"name\":\"t\",\"backoffScaleFactor\":0", "backoffScaleFactor "},
    {"\"name\":\"t\",\"maxRetryDelaySeconds\":-1", "maxRetryDelaySeconds "},
    {"\"name\":\"t\",\"backoffJitterMs\":-1", "backoffJitterMs "},
    {"\"name\":\"t\",\"timeoutSeconds\":-1", "timeoutSeconds "},
    {"\"name\":\"t\",\"responseTimeoutSeconds\":0", "responseTimeoutSeconds "},
    {"\"name\":\"t\",\"responseTimeoutSeconds\":1", ""},
    {"\"name\":\"t\",\"pollTimeoutSeconds\":-1", "pollTimeoutSeconds "},
    {"\"name\":\"t\",\"totalTimeoutSeconds\":-1", "totalTimeoutSeconds "},
    {"\"name\":\"t\",\"concurrentExecLimit\":-1", "concurrentExecLimit "},
    {"\"name\":\"t\",\"timeoutSeconds\":3599", "responseTimeoutSeconds "},
    {"\"name\":\"t\",\"timeoutSeconds\":3600", ""},
    {"\"name\":\"t\",\"timeoutSeconds\":5,\"responseTimeoutSeconds\":5,\"totalTimeoutSeconds\":4",
     "timeoutSeconds "},
    {"\"name\":\"t\",\"timeoutSeconds\":5,\"responseTimeoutSeconds\":5,\"totalTimeoutSeconds\":5",
     ""},
    {"\"retryCount\":-1,\"responseTimeoutSeconds\":-7", "name retryCount responseTimeoutSeconds "},
};

TEST("a task's definition is checked in each of its ranges")
{
    struct pawl_arena *arena = open_arena();
    for (size_t i = 0; i < COUNT_OF(task_rows); i++) {
        char text[256];
        snprintf(text, sizeof text, "{%s}", task_rows[i].members);
        struct pawl_faults faults;
        struct pawl_task_definition definition = read_task(arena, text, &faults);
        struct pawl_fault_place place = {.path = no_path, .faults = &faults};
        pawl_task_definition_check(&definition, &lenient, &place);
        char got[512];
        join_paths(&faults, PAWL_STR(""), got, sizeof got);
        if (strcmp(got, task_rows[i].faults) != 0) FAIL("%s: %s", text, got);
    }
    pawl_arena_close(arena);
}

TEST("a fault shows a wrong number, and more faults than are kept are counted")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_faults faults;
    struct pawl_str text =
        PAWL_STR("{\"name\":\"w\",\"schemaVersion\":3,\"tasks\":[" SIMPLE("a") "]}");
    (void)check(arena, text, &lenient, &faults);
    CHECK_STR("schemaVersion must be 2", faults.first->message);
    CHECK_STR("3", faults.first->value);

    struct text many = open_text(arena, 4096);
    add(&many, "{\"name\":\"w\",\"tasks\":[{}");
    for (int i = 1; i < 200; i++) add(&many, ",{}");
    add(&many, "]}");
    (void)check(arena, text_of(&many), &lenient, &faults);
    CHECK_EQ(400, faults.count);
    CHECK_EQ(PAWL_FAULTS_KEPT, faults.kept);
    pawl_arena_close(arena);
}

TEST("a definition may have as many bytes as the limit says, and not one more")
{
    struct pawl_arena *arena = open_arena();
    for (size_t more = 0; more < 2; more++) {
        struct text text = open_text(arena, PAWL_DEFINITION_BYTES_MAX + 100);
        add(&text, "{\"name\":\"w\",\"tasks\":[" SIMPLE("a") "],\"description\":\"");
        size_t padding = PAWL_DEFINITION_BYTES_MAX - 2 - text.len + more;
        memset(text.ptr + text.len, 'x', padding);
        text.len += padding;
        add(&text, "\"}");
        CHECK_EQ(PAWL_DEFINITION_BYTES_MAX + more, text.len);
        struct pawl_faults faults;
        (void)check(arena, text_of(&text), &lenient, &faults);
        CHECK_EQ(more, faults.count);
        if (more > 0)
            CHECK_STR("the definition must have at most 10485760 bytes", faults.first->message);
    }
    pawl_arena_close(arena);
}

TEST("what will fail at run time alone is a warning, and a fault where the server is strict")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_str text = PAWL_STR(
        "{\"name\":\"w\",\"tasks\":[{\"name\":\"f\",\"taskReferenceName\":\"f\",\"type\":\"FORK_"
        "JOIN\","
        "\"forkTasks\":[[" SIMPLE(
            "x") "]]},{\"name\":\"l\",\"taskReferenceName\":\"l\","
                 "\"type\":\"DO_WHILE\",\"loopCondition\":\"false\",\"loopOver\":[{\"name\":\"s\","
                 "\"taskReferenceName\":\"s\",\"type\":\"SWITCH\",\"evaluatorType\":\"value-"
                 "param\","
                 "\"expression\":\"e\",\"decisionCases\":{\"a\":[" SIMPLE(
                     "b__1") "]}}]},{\"name\":\"j\","
                             "\"taskReferenceName\":\"j__1\",\"type\":\"JOIN\",\"joinOn\":["
                             "\"nobody\"]}]}");
    struct pawl_faults faults;
    (void)check(arena, text, &lenient, &faults);
    CHECK_EQ(0, faults.count);
    CHECK_EQ(3, faults.warning_count);

    struct pawl_definition_rules strict = {.is_strict = true};
    (void)check(arena, text, &strict, &faults);
    CHECK_EQ(0, faults.warning_count);
    char got[512];
    join_paths(&faults, PAWL_STR(""), got, sizeof got);
    CHECK_TEXT("tasks[0].type tasks[1].loopOver[0].decisionCases[a][0].taskReferenceName "
               "tasks[2].joinOn ",
               got);
    pawl_arena_close(arena);
}

TEST("operators and evaluators that do not run here are taken with a warning that names them")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_str text = PAWL_STR(
        "{\"name\":\"w\",\"tasks\":[{\"name\":\"l\",\"taskReferenceName\":\"l\",\"type\":"
        "\"LLM_TEXT_COMPLETE\"},{\"name\":\"s\",\"taskReferenceName\":\"s\",\"type\":\"SWITCH\","
        "\"evaluatorType\":\"python\",\"expression\":\"1\",\"decisionCases\":{\"a\":[]}},"
        "{\"name\":\"i\",\"taskReferenceName\":\"i\",\"type\":\"INLINE\",\"inputParameters\":{"
        "\"evaluatorType\":\"javascript\",\"expression\":\"1\"}}]}");
    struct pawl_definition_rules rules = {.types_missing = UINT64_C(1) << PAWL_NODE_LLM,
                                          .lacks_javascript = true};
    struct pawl_faults faults;
    (void)check(arena, text, &rules, &faults);
    CHECK_EQ(0, faults.count);
    CHECK_EQ(3, faults.warning_count);
    CHECK(pawl_str_has(faults.first->message, PAWL_STR("LLM_TEXT_COMPLETE")));
    CHECK(pawl_str_has(faults.first->next->message, PAWL_STR("'python'")));
    CHECK(pawl_str_has(faults.last->message, PAWL_STR("'javascript'")));
    CHECK_STR("tasks[2].inputParameters.evaluatorType", faults.last->path);

    (void)check(arena, text, &lenient, &faults);
    CHECK_EQ(1, faults.warning_count); /* nobody runs python */
    pawl_arena_close(arena);
}

static bool parses_no_brace(void *self, struct pawl_str script, struct pawl_error *why)
{
    ++*(int *)self;
    if (!pawl_str_has(script, PAWL_STR("{"))) return true;
    snprintf(why->text, sizeof why->text, "a brace");
    return false;
}

static void refuse_inputs(void *self, const struct pawl_definition *definition, int32_t node,
                          const struct pawl_fault_place *place)
{
    (void)self;
    pawl_place_fault(place, PAWL_STR("inputParameters"), definition->nodes[node].input,
                     PAWL_STR("are refused"));
}

TEST(
    "scripts are given to the parser, and the inputs of the first list to the check of expressions")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_str text = PAWL_STR(
        "{\"name\":\"w\",\"tasks\":[{\"name\":\"s\",\"taskReferenceName\":\"s\",\"type\":"
        "\"SWITCH\","
        "\"evaluatorType\":\"graaljs\",\"expression\":\"{\",\"decisionCases\":{\"a\":[" SIMPLE(
            "b") "]}}"
                 ",{\"name\":\"l\",\"taskReferenceName\":\"l\",\"type\":\"DO_WHILE\","
                 "\"loopCondition\":\"1\","
                 "\"loopOver\":[" SIMPLE(
                     "c") "]},{\"name\":\"d\",\"taskReferenceName\":\"d\",\"type\":"
                          "\"DECISION\",\"caseExpression\":\"{\",\"decisionCases\":{\"a\":[]}}]}");
    int scripts = 0;
    struct pawl_definition_rules rules = {
        .self = &scripts, .script_parses = parses_no_brace, .inputs = refuse_inputs};
    struct pawl_faults faults;
    (void)check(arena, text, &rules, &faults);
    CHECK_EQ(3, scripts);
    char got[512];
    join_paths(&faults, PAWL_STR(""), got, sizeof got);
    CHECK_TEXT("tasks[0].expression tasks[0].inputParameters tasks[1].inputParameters "
               "tasks[2].caseExpression tasks[2].inputParameters ",
               got);
    CHECK_STR("tasks[0].expression cannot be parsed: a brace", faults.first->message);
    pawl_arena_close(arena);
}

TEST("owners and plain names are asked for by options alone")
{
    struct pawl_arena *arena = open_arena();
    struct pawl_str text = PAWL_STR("{\"name\":\"w.1\",\"tasks\":[" SIMPLE("a") "]}");
    struct pawl_definition_rules rules = {.needs_owner_email = true, .needs_plain_names = true};
    struct pawl_faults faults;
    (void)check(arena, text, &lenient, &faults);
    CHECK_EQ(0, faults.count);
    (void)check(arena, text, &rules, &faults);
    char got[512];
    join_paths(&faults, PAWL_STR(""), got, sizeof got);
    CHECK_TEXT("name ownerEmail ", got);
    pawl_arena_close(arena);
}

/* ---- Snapshots ----------------------------------------------------------------------------------
 */

/* What is registered: probe_video, transcode, and payment_flow; what of them is not loaded is NEED.
 */
struct shelf {
    struct pawl_task_definition transcode;
    bool is_loaded;
    int asked;
};

static enum pawl_lookup shelf_task(void *self, struct pawl_str name,
                                   const struct pawl_task_definition **out)
{
    struct shelf *shelf = self;
    shelf->asked++;
    if (!shelf->is_loaded) return PAWL_LOOKUP_NEED;
    if (!pawl_str_equal(name, shelf->transcode.name)) return PAWL_LOOKUP_NONE;
    *out = &shelf->transcode;
    return PAWL_LOOKUP_FOUND;
}

static enum pawl_lookup shelf_version(void *self, struct pawl_str workflow, int32_t *out)
{
    struct shelf *shelf = self;
    shelf->asked++;
    if (!shelf->is_loaded) return PAWL_LOOKUP_NEED;
    if (!pawl_str_equal(workflow, PAWL_STR("payment_flow"))) return PAWL_LOOKUP_NONE;
    *out = 12;
    return PAWL_LOOKUP_FOUND;
}

static struct shelf make_shelf(struct pawl_arena *arena)
{
    struct pawl_faults faults;
    return (struct shelf){.transcode = read_task(arena,
                                                 "{\"name\":\"transcode\",\"retryCount\":9,"
                                                 "\"inputTemplate\":{\"http_request\":{}}}",
                                                 &faults),
                          .is_loaded = true};
}

TEST("a snapshot holds the definition of each task: its own, the registered one, or one that is "
     "made")
{
    struct pawl_arena *arena = open_arena();
    struct shelf shelf = make_shelf(arena);
    struct pawl_definition_source source = {&shelf, shelf_task, shelf_version};
    struct pawl_definition *before = read_good(arena, read_file(arena, files[2]));
    struct pawl_snapshot snapshot;
    CHECK_EQ(PAWL_LOOKUP_FOUND, pawl_snapshot_make(before, &source, arena, &snapshot));
    struct pawl_definition *d = read_good(arena, snapshot.text);
    static const struct {
        const char *reference;
        int64_t retry_count;
        int64_t response_timeout_s;
    } rows[] = {
        {"probe", 2, 60},     /* its own */
        {"hd", 9, 3600},      /* registered */
        {"sd", 9, 3600},      /* the same */
        {"package", 3, 3600}, /* made for workers */
        {"work_join", 0, 0},  /* made for the server */
        {"tell", 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct pawl_node *n = &d->nodes[node_of(d, rows[i].reference)];
        CHECK(n->task_definition != NULL);
        CHECK_EQ(rows[i].retry_count, n->task_definition->retry_count);
        CHECK_EQ(rows[i].response_timeout_s, n->task_definition->response_timeout_s);
    }
    CHECK(before->nodes[node_of(before, "hd")].task_definition == NULL);

    struct pawl_snapshot again;
    CHECK_EQ(PAWL_LOOKUP_FOUND, pawl_snapshot_make(d, &source, arena, &again));
    CHECK_BYTES(snapshot.text.ptr, snapshot.text.len, again.text.ptr, again.text.len);
    CHECK(snapshot.hash[0] == again.hash[0] && snapshot.hash[1] == again.hash[1]);
    pawl_arena_close(arena);
}

TEST("a snapshot pins sub-workflows without a version, leaves the others and DYNAMIC tasks alone")
{
    struct pawl_arena *arena = open_arena();
    struct shelf shelf = make_shelf(arena);
    struct pawl_definition_source source = {&shelf, shelf_task, shelf_version};
    struct pawl_definition *before = read_good(arena, read_file(arena, files[1]));
    struct pawl_snapshot snapshot;
    CHECK_EQ(PAWL_LOOKUP_FOUND, pawl_snapshot_make(before, &source, arena, &snapshot));
    struct pawl_definition *d = read_good(arena, snapshot.text);
    CHECK_STR("12", d->nodes[node_of(d, "payment")].sub_workflow->version);
    CHECK_STR("4", d->nodes[node_of(d, "shipping")].sub_workflow->version);
    CHECK_STR("audit_inline", d->nodes[node_of(d, "audit")].sub_workflow->name);
    CHECK(d->nodes[node_of(d, "pick")].task_definition == NULL);
    CHECK_EQ(3, d->nodes[node_of(d, "bill")].task_definition->retry_count);
    pawl_arena_close(arena);
}

TEST("a snapshot of something that is not loaded asks for all of it at once")
{
    struct pawl_arena *arena = open_arena();
    struct shelf shelf = make_shelf(arena);
    shelf.is_loaded = false;
    struct pawl_definition_source source = {&shelf, shelf_task, shelf_version};
    struct pawl_definition *definition = read_good(arena, read_file(arena, files[1]));
    struct pawl_snapshot snapshot = {0};
    CHECK_EQ(PAWL_LOOKUP_NEED, pawl_snapshot_make(definition, &source, arena, &snapshot));
    CHECK_EQ(0, snapshot.text.len);
    CHECK_EQ(definition->node_count - 1 /* the DYNAMIC one */ + 1 /* payment_flow */, shelf.asked);
    pawl_arena_close(arena);
}

TEST("different snapshots have different hashes, and a hash is the same for ever")
{
    uint64_t a[2];
    uint64_t b[2];
    pawl_snapshot_hash(PAWL_STR("{\"a\":1}"), a);
    pawl_snapshot_hash(PAWL_STR("{\"a\":2}"), b);
    CHECK(a[0] != b[0] && a[1] != b[1] && a[0] != a[1]);
    CHECK(a[0] == UINT64_C(0x3a472f0082a54ae9)); /* SipHash of another hand */
    CHECK(a[1] == UINT64_C(0x8bebb0b974ac587f)); /* SipHash of another hand */
}

TEST("the template of a registered definition may have what a task needs; one not loaded is asked "
     "for")
{
    struct pawl_arena *arena = open_arena();
    struct shelf shelf = make_shelf(arena);
    struct pawl_definition_source source = {&shelf, shelf_task, shelf_version};
    struct pawl_definition_rules rules = {.source = &source};
    struct pawl_str text = PAWL_STR("{\"name\":\"w\",\"tasks\":[{\"name\":\"transcode\","
                                    "\"taskReferenceName\":\"a\",\"type\":\"HTTP\"}]}");
    struct pawl_faults faults;
    CHECK_EQ(PAWL_LOOKUP_FOUND, check(arena, text, &rules, &faults));
    CHECK_EQ(0, faults.count);
    CHECK_EQ(PAWL_LOOKUP_FOUND, check(arena, text, &lenient, &faults));
    CHECK_EQ(1, faults.count);
    shelf.is_loaded = false;
    CHECK_EQ(PAWL_LOOKUP_NEED, check(arena, text, &rules, &faults));
    pawl_arena_close(arena);
}

TEST("seconds of a definition are milliseconds, none below 0, and a hundred years at most")
{
    CHECK_EQ(5000, pawl_defined_ms(5));
    CHECK_EQ(0, pawl_defined_ms(INT64_MIN));
    CHECK_EQ(PAWL_DEFINED_SECONDS_MAX * 1000, pawl_defined_ms(PAWL_DEFINED_SECONDS_MAX));
    CHECK_EQ(PAWL_DEFINED_SECONDS_MAX * 1000, pawl_defined_ms(INT64_MAX));
}

TEST_MAIN()
