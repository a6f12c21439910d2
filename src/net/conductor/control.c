/* Workflows: paused, resumed, ended, begun again, removed; one or many. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "net/conductor/start.h"

#include <stdatomic.h>
#include <stddef.h>

/* ---- One ---- */

struct operating {
    struct pawl_ask ask; /* first */
    struct pawl_workflow_operate operate;
    struct pawl_workflow_operated operated;
    struct pawl_str answer;       /* text; empty = none */
    int32_t status;               /* of the answer without one */
    enum pawl_workflow_verb then; /* after the first has been done; 0 = nothing */
};

static void answer_operated(struct pawl_ask *ask);

static void fill_command(struct pawl_request *request, struct pawl_exchange *exchange,
                         struct pawl_str id, const struct pawl_workflow_operate *operate,
                         struct pawl_workflow_operated *operated)
{
    request->command.task_id = id;
    request->command.actor = exchange->caller;
    request->command.reason = operate->reason;
    request->command.ask.operate = operate;
    request->command.out.operated = operated;
}

static struct operating *begin(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                               enum pawl_workflow_verb verb)
{
    struct operating *operating = pawl_ask_begin(exchange, conductor->pawl, sizeof *operating,
                                                 PAWL_COMMAND_WORKFLOW_OPERATE, answer_operated);
    if (operating == NULL) return NULL;
    operating->operate.verb = verb;
    operating->status = 200;
    fill_command(&operating->ask.request, exchange, pawl_exchange_variable(exchange, "workflowId"),
                 &operating->operate, &operating->operated);
    return operating;
}

static void add(struct operating *operating)
{
    operating->ask.request.command.reason = operating->operate.reason;
    if (!pawl_exchange_has_failed(operating->ask.exchange)) pawl_ask_hand(&operating->ask);
}

/* Terminate, then remove: the second is a command of its own. */
static void answer_operated(struct pawl_ask *ask)
{
    struct operating *operating = (struct operating *)ask;
    if (operating->then != 0) {
        struct pawl_request *request = &ask->request;
        void (*on_answer)(struct pawl_request *) = request->on_answer;
        struct pawl_str id = request->command.task_id;
        operating->operate.verb = operating->then;
        operating->then = 0;
        pawl_request_init(request, PAWL_COMMAND_WORKFLOW_OPERATE);
        request->on_answer = on_answer;
        request->on_answer_self = ask;
        request->continuing = &ask->continuing;
        request->command.keep = ask->exchange->arena;
        fill_command(request, ask->exchange, id, &operating->operate, &operating->operated);
        pawl_ask_hand(ask);
    } else if (operating->answer.len > 0) {
        pawl_exchange_answer_text(ask->exchange, 200, operating->answer);
    } else {
        pawl_exchange_answer_empty(ask->exchange, operating->status);
    }
}

/* clang-format off */
#define WORD(name, verb_of, status_of)                                               \
    static void name(struct pawl_exchange *exchange, void *self)                     \
    {                                                                                \
        struct operating *operating = begin(exchange, self, PAWL_WORKFLOW_##verb_of); \
        if (operating == NULL) return;                                               \
        operating->status = (status_of);                                             \
        add(operating);                                                              \
    }
WORD(pause_it, PAUSE, 200)
WORD(resume, RESUME, 200)
WORD(decide, DECIDE, 200)
WORD(reset_callbacks, RESET_CALLBACKS, 204)
WORD(retry, RETRY, 204)
/* clang-format on */

static void take_terminate(struct operating *operating)
{
    struct pawl_exchange *exchange = operating->ask.exchange;
    operating->operate.reason = pawl_exchange_text(exchange, "reason");
    operating->operate.triggers_failure_workflow =
        pawl_exchange_bool(exchange, "triggerFailureWorkflow", false);
}

static void terminate(struct pawl_exchange *exchange, void *self)
{
    struct operating *operating = begin(exchange, self, PAWL_WORKFLOW_TERMINATE);
    if (operating == NULL) return;
    take_terminate(operating);
    add(operating);
}

static void remove_it(struct pawl_exchange *exchange, void *self)
{
    struct operating *operating = begin(exchange, self, PAWL_WORKFLOW_REMOVE);
    if (operating == NULL) return;
    operating->operate.archives = pawl_exchange_bool(exchange, "archiveWorkflow", true);
    add(operating);
}

static void terminate_and_remove(struct pawl_exchange *exchange, void *self)
{
    struct operating *operating = begin(exchange, self, PAWL_WORKFLOW_TERMINATE);
    if (operating == NULL) return;
    take_terminate(operating);
    operating->operate.archives = pawl_exchange_bool(exchange, "archiveWorkflow", true);
    operating->then = PAWL_WORKFLOW_REMOVE;
    add(operating);
}

static void restart(struct pawl_exchange *exchange, void *self)
{
    struct operating *operating = begin(exchange, self, PAWL_WORKFLOW_RESTART);
    if (operating == NULL) return;
    operating->operate.latest_definitions =
        pawl_exchange_bool(exchange, "useLatestDefinitions", false);
    operating->status = 204;
    add(operating);
}

/* ---- Those with a body ---- */

struct said {
    struct pawl_str task_id;
    struct pawl_str workflow_input;
    struct pawl_str task_input;
    struct pawl_str task_output;
    struct pawl_str correlation_id;
};

#define FIELD(json_key, member, field_kind)                                      \
    {                                                                            \
        .key = PAWL_STR_INIT(json_key), .offset = offsetof(struct said, member), \
        .kind = PAWL_FIELD_##field_kind                                          \
    }
static const struct pawl_field said_items[] = {
    FIELD("reRunFromTaskId", task_id, TEXT),
    FIELD("workflowInput", workflow_input, MAP_OR_NONE),
    FIELD("taskInput", task_input, MAP_OR_NONE),
    FIELD("taskOutput", task_output, MAP_OR_NONE),
    FIELD("correlationId", correlation_id, TEXT),
};
static const struct pawl_fields said_fields = {said_items, PAWL_COUNT_OF(said_items)};

static void rerun(struct pawl_exchange *exchange, void *self)
{
    struct said said;
    if (!pawl_conductor_body(exchange, said_fields, &said, "rerun.request.")) return;
    struct operating *operating = begin(exchange, self, PAWL_WORKFLOW_RERUN);
    if (operating == NULL) return;
    operating->operate.task_id = said.task_id;
    operating->operate.task_input = said.task_input;
    operating->operate.workflow_input = said.workflow_input;
    operating->operate.correlation_id = said.correlation_id;
    operating->answer = operating->ask.request.command.task_id;
    add(operating);
}

/* One client sends the request as a parameter, which nobody reads; so it is nothing then. */
static void skip_task(struct pawl_exchange *exchange, void *self)
{
    struct said said;
    if (!pawl_conductor_body(exchange, said_fields, &said, "skipTask.skipTaskRequest.")) return;
    struct operating *operating = begin(exchange, self, PAWL_WORKFLOW_SKIP);
    if (operating == NULL) return;
    operating->operate.reference = pawl_exchange_variable(exchange, "taskReferenceName");
    operating->operate.task_input = said.task_input;
    operating->operate.task_output = said.task_output;
    add(operating);
}

/* ---- Many ---- */

struct bulk {
    struct pawl_conductor *conductor;
    struct pawl_exchange *exchange;
    struct pawl_workflow_operate operate; /* of all */
    enum pawl_workflow_verb then;
    const struct pawl_str *ids;
    size_t count;
    struct one *ones;
    _Atomic size_t open;
};

struct one {
    struct bulk *bulk;
    struct pawl_request request;
    struct pawl_workflow_operate operate;
    struct pawl_workflow_operated operated;
    bool continuing;
};

static void answer_bulk(struct bulk *bulk)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, bulk->exchange->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_key(&w, "bulkErrorResults");
    pawl_json_begin_object(&w);
    for (size_t i = 0; i < bulk->count; i++) {
        const struct pawl_command *command = &bulk->ones[i].request.command;
        if (command->code == PAWL_OK) continue;
        pawl_json_put_key_str(&w, bulk->ids[i]);
        pawl_json_put_text(&w, pawl_str_of(command->err.text));
    }
    pawl_json_end_object(&w);
    pawl_json_put_key(&w, "bulkSuccessfulResults");
    pawl_json_begin_array(&w);
    for (size_t i = 0; i < bulk->count; i++) {
        if (bulk->ones[i].request.command.code == PAWL_OK) pawl_json_put_text(&w, bulk->ids[i]);
    }
    pawl_json_end_array(&w);
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(bulk->exchange, 200, &w);
}

static void fill_one(struct one *one, struct pawl_str id, enum pawl_workflow_verb verb);

static void take_one(struct pawl_request *request)
{
    struct one *one = request->on_answer_self;
    struct bulk *bulk = one->bulk;
    if (request->command.code == PAWL_OK && bulk->then != 0 && one->operate.verb != bulk->then) {
        struct pawl_error err = {0};
        fill_one(one, request->command.task_id, bulk->then);
        if (pawl_engine_hand(bulk->conductor->pawl, &one->request, &err) == PAWL_OK) return;
        one->request.command.code = err.code;
        one->request.command.err = err;
    }
    if (atomic_fetch_sub(&bulk->open, 1) == 1) answer_bulk(bulk);
}

static void fill_one(struct one *one, struct pawl_str id, enum pawl_workflow_verb verb)
{
    struct bulk *bulk = one->bulk;
    one->operate = bulk->operate;
    one->operate.verb = verb;
    pawl_request_init(&one->request, PAWL_COMMAND_WORKFLOW_OPERATE);
    one->request.on_answer = take_one;
    one->request.on_answer_self = one;
    one->request.continuing = &one->continuing;
    one->request.command.keep = bulk->exchange->arena;
    fill_command(&one->request, bulk->exchange, id, &one->operate, &one->operated);
}

/* The ids, each once: a repeated one is a key of the answer only once. */
static size_t drop_repeats(struct pawl_str *ids, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < kept && !pawl_str_equal(ids[k], ids[i])) k++;
        if (k == kept) ids[kept++] = ids[i];
    }
    return kept;
}

static void operate_all(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                        enum pawl_workflow_verb verb, enum pawl_workflow_verb then)
{
    struct pawl_error err = {0};
    struct bulk *bulk = pawl_arena_take(exchange->arena, sizeof *bulk);
    const struct pawl_str *ids = NULL;
    size_t count = 0;
    if (!pawl_conductor_ids(exchange, &ids, &count)) return;
    struct pawl_request **requests =
        pawl_arena_take_array(exchange->arena, count, sizeof *requests);
    struct one *ones = pawl_arena_take_array(exchange->arena, count, sizeof *ones);
    enum pawl_code code = pawl_arena_code(exchange->arena);
    if (code != PAWL_OK) {
        (void)pawl_error_set(&err, code, "no room for the ids");
        pawl_exchange_answer_error(exchange, &err, NULL);
        return;
    }
    count = drop_repeats((struct pawl_str *)(uintptr_t)ids, count);
    bulk->conductor = conductor;
    bulk->exchange = exchange;
    bulk->then = then;
    bulk->ids = ids;
    bulk->count = count;
    bulk->open = count;
    bulk->ones = ones;
    bulk->operate = (struct pawl_workflow_operate){
        .reason = pawl_exchange_text(exchange, "reason"),
        .archives = pawl_exchange_bool(exchange, "archiveWorkflow", true),
        .latest_definitions = pawl_exchange_bool(exchange, "useLatestDefinitions", false),
    };
    if (pawl_exchange_has_failed(exchange)) return;
    for (size_t i = 0; i < count; i++) {
        ones[i].bulk = bulk;
        fill_one(&ones[i], ids[i], verb);
        requests[i] = &ones[i].request;
    }
    if (pawl_engine_hand_all(conductor->pawl, requests, count, &err) != PAWL_OK) {
        pawl_exchange_answer_error(exchange, &err, NULL);
    }
}

/* clang-format off */
#define BULK(name, verb, then)                                                         \
    static void name(struct pawl_exchange *exchange, void *self)                       \
    {                                                                                  \
        operate_all(exchange, self, PAWL_WORKFLOW_##verb, (enum pawl_workflow_verb)(then)); \
    }
BULK(pause_all, PAUSE, 0)
BULK(resume_all, RESUME, 0)
BULK(restart_all, RESTART, 0)
BULK(retry_all, RETRY, 0)
BULK(terminate_all, TERMINATE, 0)
BULK(remove_all, REMOVE, 0)
BULK(terminate_and_remove_all, TERMINATE, PAWL_WORKFLOW_REMOVE)

static const struct pawl_route routes[] = {
    {PAWL_VERB_PUT, "/api/workflow/{workflowId}/pause", PAWL_ROLE_OPERATOR, "Pauses a workflow", pause_it, 0},
    {PAWL_VERB_PUT, "/api/workflow/{workflowId}/resume", PAWL_ROLE_OPERATOR, "Resumes a workflow", resume, 0},
    {PAWL_VERB_DELETE, "/api/workflow/{workflowId}", PAWL_ROLE_OPERATOR, "Terminates a workflow", terminate, 0},
    {PAWL_VERB_DELETE, "/api/workflow/{workflowId}/remove", PAWL_ROLE_ADMIN, "Removes a workflow", remove_it, 0},
    {PAWL_VERB_DELETE, "/api/workflow/{workflowId}/terminate-remove", PAWL_ROLE_ADMIN, "Terminates and removes a workflow", terminate_and_remove, 0},
    {PAWL_VERB_POST, "/api/workflow/{workflowId}/restart", PAWL_ROLE_OPERATOR, "Begins a workflow anew", restart, 0},
    {PAWL_VERB_POST, "/api/workflow/{workflowId}/retry", PAWL_ROLE_OPERATOR, "Tries again what has failed", retry, 0},
    {PAWL_VERB_POST, "/api/workflow/{workflowId}/rerun", PAWL_ROLE_OPERATOR, "Runs a workflow again from a task", rerun, 0},
    {PAWL_VERB_POST, "/api/workflow/{workflowId}/resetcallbacks", PAWL_ROLE_OPERATOR, "Offers at once what waits for a callback", reset_callbacks, 0},
    {PAWL_VERB_PUT, "/api/workflow/{workflowId}/skiptask/{taskReferenceName}", PAWL_ROLE_OPERATOR, "Skips a task", skip_task, 0},
    {PAWL_VERB_PUT, "/api/workflow/decide/{workflowId}", PAWL_ROLE_OPERATOR, "Looks whether a workflow can go on", decide, 0},
    {PAWL_VERB_PUT, "/api/workflow/bulk/pause", PAWL_ROLE_OPERATOR, "Pauses workflows", pause_all, 0},
    {PAWL_VERB_PUT, "/api/workflow/bulk/resume", PAWL_ROLE_OPERATOR, "Resumes workflows", resume_all, 0},
    {PAWL_VERB_POST, "/api/workflow/bulk/restart", PAWL_ROLE_OPERATOR, "Begins workflows anew", restart_all, 0},
    {PAWL_VERB_POST, "/api/workflow/bulk/retry", PAWL_ROLE_OPERATOR, "Tries again what has failed", retry_all, 0},
    {PAWL_VERB_POST, "/api/workflow/bulk/terminate", PAWL_ROLE_OPERATOR, "Terminates workflows", terminate_all, 0},
    {PAWL_VERB_DELETE, "/api/workflow/bulk/remove", PAWL_ROLE_ADMIN, "Removes workflows", remove_all, 0},
    {PAWL_VERB_POST, "/api/workflow/bulk/delete", PAWL_ROLE_ADMIN, "Removes workflows", remove_all, 0},
    {PAWL_VERB_DELETE, "/api/workflow/bulk/terminate-remove", PAWL_ROLE_ADMIN, "Terminates and removes workflows", terminate_and_remove_all, 0},
};
/* clang-format on */

struct pawl_route_table pawl_conductor_controls(struct pawl_conductor *conductor)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), conductor};
}
