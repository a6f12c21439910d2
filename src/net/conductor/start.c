#include "net/conductor/start.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/str.h"
#include "core/workflow/definition_check.h"
#include "net/conductor/work.h"

#include <stddef.h>

/* ---- Bodies ---- */

bool pawl_conductor_ids(struct pawl_exchange *exchange, const struct pawl_str **out, size_t *count)
{
    struct pawl_error err = {0};
    struct pawl_json *body = pawl_exchange_body_json(exchange, 1);
    if (body == NULL) return false;
    struct pawl_str *ids = NULL;
    size_t at = 0;
    bool is_array = body->kind == PAWL_JSON_ARRAY && body->child_count > 0;
    if (!is_array || body->child_count > PAWL_BATCH_MAX) {
        (void)pawl_error_set(&err, PAWL_INVALID, "body: an array of 1 to %d ids is wanted",
                             PAWL_BATCH_MAX);
    } else {
        ids = pawl_arena_take_array(exchange->arena, body->child_count, sizeof *ids);
    }
    for (const struct pawl_json *id = ids == NULL ? NULL : pawl_json_first(body);
         id != NULL && err.code == PAWL_OK; id = pawl_json_next(id), at++) {
        if (pawl_json_text(id, exchange->arena, &ids[at])) continue;
        (void)pawl_error_set(&err, PAWL_INVALID, "body[%zu]: a text is wanted", at);
    }
    if (err.code == PAWL_OK && ids == NULL) {
        (void)pawl_error_set(&err, pawl_arena_code(exchange->arena), "no room for the ids");
    }
    if (err.code != PAWL_OK) {
        pawl_exchange_answer_error(exchange, &err, "body");
        return false;
    }
    *out = ids;
    *count = at;
    return true;
}

bool pawl_conductor_object(struct pawl_exchange *exchange, struct pawl_str *out)
{
    struct pawl_error err = {0};
    struct pawl_json *body = NULL;
    struct pawl_str text = pawl_str_trim(exchange->request->body);
    *out = PAWL_STR("{}");
    if (text.len == 0) return true;
    enum pawl_code code = pawl_json_parse_top(text, 0, exchange->arena, &body, &err);
    if (code == PAWL_OK && body->kind != PAWL_JSON_OBJECT) {
        code = pawl_error_set(&err, PAWL_INVALID, "an object is wanted");
    }
    if (code == PAWL_OK) {
        *out = text;
        return true;
    }
    pawl_error_prefix(&err, "body");
    pawl_exchange_answer_error(exchange, &err, "body");
    return false;
}

/* ---- StartWorkflowRequest ---- */

struct request {
    struct pawl_str name;
    int64_t version; /* PAWL_NOT_GIVEN: the latest */
    struct pawl_str input;
    struct pawl_str correlation_id;
    struct pawl_str domains;
    struct pawl_str definition;
    int64_t priority;
    struct pawl_str idempotency_key;
    int64_t idempotency;
};

static const struct pawl_str strategies[] = {
    [PAWL_IDEMPOTENCY_NONE] = PAWL_STR_INIT(""),
    [PAWL_IDEMPOTENCY_FAIL] = PAWL_STR_INIT("FAIL"),
    [PAWL_IDEMPOTENCY_RETURN_EXISTING] = PAWL_STR_INIT("RETURN_EXISTING"),
    [PAWL_IDEMPOTENCY_FAIL_ON_RUNNING] = PAWL_STR_INIT("FAIL_ON_RUNNING"),
    {0},
};

#define FIELD(json_key, member, field_kind)                                         \
    {                                                                               \
        .key = PAWL_STR_INIT(json_key), .offset = offsetof(struct request, member), \
        .kind = PAWL_FIELD_##field_kind                                             \
    }
static const struct pawl_field request_items[] = {
    FIELD("name", name, TEXT),
    FIELD("version", version, INT_OR_NONE),
    FIELD("input", input, ANY),
    FIELD("correlationId", correlation_id, TEXT),
    FIELD("taskToDomain", domains, MAP_OR_NONE),
    FIELD("workflowDef", definition, MAP_OR_NONE),
    FIELD("priority", priority, INT),
    FIELD("idempotencyKey", idempotency_key, TEXT),
    {.key = PAWL_STR_INIT("idempotencyStrategy"),
     .words = strategies,
     .offset = offsetof(struct request, idempotency),
     .kind = PAWL_FIELD_WORD},
};
static const struct pawl_fields request_fields = {request_items, PAWL_COUNT_OF(request_items)};

static void check_request(const struct request *request, const struct pawl_fault_place *place)
{
    if (request->name.len == 0 && request->definition.len == 0) {
        pawl_place_fault(place, PAWL_STR("name"), (struct pawl_str){0},
                         PAWL_STR("must not be empty"));
    }
    if (request->priority < 0 || request->priority > PAWL_PRIORITY_MAX) {
        pawl_place_fault(place, PAWL_STR("priority"), (struct pawl_str){0},
                         PAWL_STR("must be from 0 to 99"));
    }
    if (request->input.len > 0 && request->input.ptr[0] != '{') {
        pawl_place_fault(place, PAWL_STR("input"), request->input, PAWL_STR("must be an object"));
    }
}

/* A definition that comes with the request; its task definitions are found by the step. */
static const struct pawl_definition *read_definition(struct pawl_str text,
                                                     struct pawl_exchange *exchange,
                                                     struct pawl_faulty *faulty,
                                                     struct pawl_error *err)
{
    struct pawl_arena *scratch = NULL;
    struct pawl_definition *definition = NULL;
    enum pawl_code code = pawl_arena_open(&scratch, PAWL_NET_EXCHANGE_ARENA_BYTES_MAX);
    if (code != PAWL_OK) {
        (void)pawl_error_set(err, code, "no room for the definition");
        return NULL;
    }
    const struct pawl_definition_rules rules = {.self = scratch,
                                                .inputs = pawl_definition_check_inputs};
    code = pawl_definition_parse(text, exchange->arena, &faulty->faults, &definition, err);
    if (code == PAWL_OK) {
        (void)!pawl_definition_check(definition, &rules, scratch, &faulty->faults);
    }
    pawl_arena_close(scratch);
    return code == PAWL_OK ? definition : NULL;
}

static bool fill_start(const struct request *request, struct pawl_exchange *exchange,
                       struct pawl_workflow_start *start)
{
    struct pawl_error err = {0};
    struct pawl_faulty faulty = {.prefix = PAWL_STR("startWorkflow.startWorkflowRequest.")};
    pawl_faults_init(&faulty.faults, exchange->arena);
    const struct pawl_fault_place place = pawl_faulty_place(&faulty);
    check_request(request, &place);
    *start = (struct pawl_workflow_start){
        .name = request->name,
        .version = request->version == PAWL_NOT_GIVEN ? 0 : (int32_t)request->version,
        .input = request->input.len > 0 ? request->input : PAWL_STR("{}"),
        .correlation_id = request->correlation_id,
        .priority = (int32_t)request->priority,
        .domains = request->domains,
        .idempotency_key = request->idempotency_key,
        .idempotency = (enum pawl_idempotency)request->idempotency,
    };
    if (request->definition.len > 0) {
        faulty.prefix = PAWL_STR("startWorkflow.startWorkflowRequest.workflowDef.");
        start->definition = read_definition(request->definition, exchange, &faulty, &err);
    }
    if (err.code != PAWL_OK) {
        pawl_exchange_answer_error(exchange, &err, "workflowDef");
        return false;
    }
    if (!pawl_faulty_any(&faulty, 1)) return true;
    pawl_faulty_refuse(exchange, &faulty, 1);
    return false;
}

bool pawl_start_read(struct pawl_exchange *exchange, struct pawl_workflow_start *out)
{
    struct request request;
    return pawl_conductor_body(exchange, request_fields, &request,
                               "startWorkflow.startWorkflowRequest.") &&
           fill_start(&request, exchange, out);
}

static void *begin_ask(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                       size_t bytes, const struct request *request,
                       void (*answer)(struct pawl_ask *ask))
{
    struct pawl_workflow_start start;
    if (!fill_start(request, exchange, &start)) return NULL;
    struct pawl_starting *starting =
        pawl_ask_begin(exchange, conductor->pawl, bytes, PAWL_COMMAND_WORKFLOW_START, answer);
    if (starting == NULL) return NULL;
    starting->start = start;
    starting->ask.request.command.actor = exchange->caller;
    starting->ask.request.command.ask.start = &starting->start;
    starting->ask.request.command.out.started = &starting->started;
    return starting;
}

void *pawl_starting_begin(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                          size_t bytes, struct pawl_str name, const int32_t *version,
                          void (*answer)(struct pawl_ask *ask))
{
    struct request request;
    if (!pawl_conductor_body(exchange, request_fields, &request,
                             "startWorkflow.startWorkflowRequest.")) {
        return NULL;
    }
    if (name.len > 0) request.name = name;
    if (version != NULL) request.version = *version == 0 ? PAWL_NOT_GIVEN : *version;
    return begin_ask(exchange, conductor, bytes, &request, answer);
}

/* ---- Routes ---- */

static void answer_started(struct pawl_ask *ask)
{
    const struct pawl_starting *starting = (const struct pawl_starting *)ask;
    pawl_exchange_answer_text(ask->exchange, 200, starting->started.id);
}

static void start_workflow(struct pawl_exchange *exchange, void *self)
{
    struct pawl_starting *starting = pawl_starting_begin(
        exchange, self, sizeof *starting, (struct pawl_str){0}, NULL, answer_started);
    if (starting != NULL) pawl_ask_hand(&starting->ask);
}

/* The body is the input. */
static void start_by_name(struct pawl_exchange *exchange, void *self)
{
    struct request request;
    pawl_fields_init(request_fields, &request);
    request.name = pawl_exchange_variable(exchange, "name");
    request.version =
        pawl_exchange_int64(exchange, "version", INT32_MIN, INT32_MAX, PAWL_NOT_GIVEN);
    request.priority = pawl_exchange_int64(exchange, "priority", INT32_MIN, INT32_MAX, 0);
    request.correlation_id = pawl_exchange_text(exchange, "correlationId");
    if (pawl_exchange_has_failed(exchange)) return;
    if (!pawl_conductor_object(exchange, &request.input)) return;
    struct pawl_starting *starting =
        begin_ask(exchange, self, sizeof *starting, &request, answer_started);
    if (starting != NULL) pawl_ask_hand(&starting->ask);
}

/* clang-format off */
static const struct pawl_route routes[] = {
    {PAWL_VERB_POST, "/api/workflow", PAWL_ROLE_WORKER, "Starts a workflow", start_workflow, 0},
    {PAWL_VERB_POST, "/api/workflow/{name}", PAWL_ROLE_WORKER, "Starts a workflow by its name", start_by_name, 0},
};
/* clang-format on */

struct pawl_route_table pawl_conductor_starts(struct pawl_conductor *conductor)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), conductor};
}
