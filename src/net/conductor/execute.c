/* Workflows begun or signalled by somebody who waits for what comes of it; updates by reference. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/number.h"
#include "base/str.h"
#include "net/conductor/run.h"
#include "net/conductor/start.h"
#include "net/conductor/workflow_json.h"
#include "net/limits.h"
#include "net/reading.h"

#include <stddef.h>

/* ---- Execute ---- */

struct executing {
    struct pawl_starting starting; /* first */
    struct pawl_conductor *conductor;
    struct pawl_run run;
    int64_t wait_ms;
};

static void answer_started(struct pawl_ask *ask)
{
    struct executing *executing = (struct executing *)ask;
    pawl_run_wait(&executing->run, executing->conductor, ask->exchange,
                  executing->starting.started.id, executing->wait_ms);
}

static void execute(struct pawl_exchange *exchange, void *self)
{
    int64_t version = 0;
    struct pawl_str text = pawl_exchange_variable(exchange, "version");
    int64_t wait_s =
        pawl_exchange_int64(exchange, "waitForSeconds", 0, PAWL_CONDUCTOR_EXECUTE_S_MAX, 0);
    if (pawl_exchange_has_failed(exchange)) return;
    if (!pawl_int64_parse(text, INT32_MIN, INT32_MAX, &version)) {
        struct pawl_error err = {0};
        (void)pawl_error_set(&err, PAWL_INVALID, "version: a number is wanted, not `%.*s`",
                             PAWL_STR_ARG(text));
        pawl_exchange_answer_error(exchange, &err, "version");
        return;
    }
    int32_t number = (int32_t)version;
    struct executing *executing =
        pawl_starting_begin(exchange, self, sizeof *executing,
                            pawl_exchange_variable(exchange, "name"), &number, answer_started);
    if (executing == NULL) return;
    struct pawl_run *run = &executing->run;
    executing->conductor = self;
    executing->wait_ms = (wait_s == 0 ? PAWL_CONDUCTOR_EXECUTE_S : wait_s) * 1000;
    if (!pawl_run_fill(run, exchange)) return;
    run->request_id = pawl_exchange_text(exchange, "requestId");
    run->references = pawl_exchange_list(exchange, "waitUntilTaskRef", &run->reference_count);
    if (run->references == NULL) run->reference_count = 0;
    if (!pawl_exchange_has_failed(exchange)) pawl_ask_hand(&executing->starting.ask);
}

/* ---- Signals ---- */

static bool read_status(struct pawl_exchange *exchange, enum pawl_update_status *out)
{
    static const struct {
        struct pawl_str word;
        enum pawl_update_status status;
    } words[] = {
        {PAWL_STR_INIT("IN_PROGRESS"), PAWL_UPDATE_IN_PROGRESS},
        {PAWL_STR_INIT("COMPLETED"), PAWL_UPDATE_COMPLETED},
        {PAWL_STR_INIT("FAILED"), PAWL_UPDATE_FAILED},
        {PAWL_STR_INIT("FAILED_WITH_TERMINAL_ERROR"), PAWL_UPDATE_FAILED_WITH_TERMINAL_ERROR},
        {PAWL_STR_INIT("CANCELED"), PAWL_UPDATE_CANCELED},
    };
    struct pawl_str text = pawl_exchange_variable(exchange, "status");
    for (size_t i = 0; i < PAWL_COUNT_OF(words); i++) {
        if (!pawl_str_equal(words[i].word, text)) continue;
        *out = words[i].status;
        return true;
    }
    struct pawl_error err = {0};
    (void)pawl_error_set(&err, PAWL_INVALID, "status: `%.*s` is none that a task can be given",
                         PAWL_STR_ARG(text));
    pawl_exchange_answer_error(exchange, &err, "status");
    return false;
}

static enum pawl_record_status record_status(enum pawl_update_status status)
{
    switch (status) {
    case PAWL_UPDATE_IN_PROGRESS:
        return PAWL_RECORD_IN_PROGRESS;
    case PAWL_UPDATE_COMPLETED:
        return PAWL_RECORD_COMPLETED;
    case PAWL_UPDATE_FAILED:
        return PAWL_RECORD_FAILED;
    case PAWL_UPDATE_FAILED_WITH_TERMINAL_ERROR:
        return PAWL_RECORD_FAILED_WITH_TERMINAL_ERROR;
    case PAWL_UPDATE_CANCELED:
        return PAWL_RECORD_CANCELED;
    }
    return PAWL_RECORD_COMPLETED;
}

struct signalling {
    struct pawl_ask ask; /* first */
    struct pawl_conductor *conductor;
    struct pawl_workflow_operate operate;
    struct pawl_workflow_operated operated;
    struct pawl_run run;
    bool waits;
    int64_t wait_ms;
};

static void answer_signalled(struct pawl_ask *ask)
{
    struct signalling *signalling = (struct signalling *)ask;
    struct pawl_str id = ask->request.command.task_id;
    if (!signalling->waits) {
        pawl_exchange_answer_empty(ask->exchange, 200);
    } else if (signalling->operated.task_id.len > 0) {
        pawl_run_wait(&signalling->run, signalling->conductor, ask->exchange, id,
                      signalling->wait_ms);
    } else {
        struct pawl_error err = {0};
        (void)pawl_error_set(&err, PAWL_NOT_FOUND, "No such task: nothing waits in workflow %.*s",
                             PAWL_STR_ARG(id));
        pawl_exchange_answer_error(ask->exchange, &err, NULL);
    }
}

static void give_signal(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                        bool waits)
{
    enum pawl_update_status status;
    struct pawl_str output;
    if (!read_status(exchange, &status) || !pawl_conductor_object(exchange, &output)) return;
    struct signalling *signalling = pawl_ask_begin(exchange, conductor->pawl, sizeof *signalling,
                                                   PAWL_COMMAND_WORKFLOW_OPERATE, answer_signalled);
    if (signalling == NULL) return;
    signalling->conductor = conductor;
    signalling->waits = waits;
    signalling->wait_ms = waits ? pawl_exchange_int64(exchange, "timeoutMillis", 0,
                                                      PAWL_CONDUCTOR_EXECUTE_S_MAX * 1000, 5000)
                                : 0;
    if (waits && !pawl_run_fill(&signalling->run, exchange)) return;
    signalling->operate = (struct pawl_workflow_operate){
        .verb = PAWL_WORKFLOW_SIGNAL, .status = record_status(status), .task_output = output};
    struct pawl_command *command = &signalling->ask.request.command;
    command->task_id = pawl_exchange_variable(exchange, "workflowId");
    command->actor = exchange->caller;
    command->ask.operate = &signalling->operate;
    command->out.operated = &signalling->operated;
    if (!pawl_exchange_has_failed(exchange)) pawl_ask_hand(&signalling->ask);
}

static void signal_workflow(struct pawl_exchange *exchange, void *self)
{
    give_signal(exchange, self, false);
}

static void signal_and_wait(struct pawl_exchange *exchange, void *self)
{
    give_signal(exchange, self, true);
}

/* ---- Updates by reference ---- */

struct referring {
    struct pawl_ask ask; /* first */
    struct pawl_conductor *conductor;
    struct pawl_update update;
    struct pawl_updated updated;
    bool shows_workflow;
};

struct showing {
    struct pawl_reading reading; /* first */
    struct pawl_str id;
};

static enum pawl_code put_workflow(struct pawl_reading *reading, struct pawl_reader *reader,
                                   struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct showing *showing = (const struct showing *)reading;
    struct pawl_arena *keep = reading->exchange->arena;
    struct pawl_workflow_view view;
    enum pawl_code code = pawl_shown_workflow_read(reader, showing->id, true, keep, &view, err);
    if (code == PAWL_OK) pawl_shown_workflow_write(&view, keep, w);
    return code;
}

static void show_workflow(struct pawl_exchange *exchange, const struct pawl_conductor *conductor,
                          struct pawl_str id)
{
    struct showing *showing = pawl_reading_begin(exchange, sizeof *showing, put_workflow);
    if (showing == NULL) return;
    showing->id = id;
    pawl_reading_add(&showing->reading, conductor->readers);
}

static void answer_referred(struct pawl_ask *ask)
{
    const struct referring *referring = (const struct referring *)ask;
    if (referring->shows_workflow) {
        show_workflow(ask->exchange, referring->conductor, referring->update.workflow_id);
    } else {
        pawl_exchange_answer_text(ask->exchange, 200, referring->updated.task_id);
    }
}

static void refer(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                  bool shows_workflow)
{
    enum pawl_update_status status;
    struct pawl_str output;
    if (!read_status(exchange, &status) || !pawl_conductor_object(exchange, &output)) return;
    struct referring *referring = pawl_ask_begin(exchange, conductor->pawl, sizeof *referring,
                                                 PAWL_COMMAND_UPDATE, answer_referred);
    if (referring == NULL) return;
    referring->conductor = conductor;
    referring->shows_workflow = shows_workflow;
    referring->update = (struct pawl_update){
        .workflow_id = pawl_exchange_variable(exchange, "workflowId"),
        .reference = pawl_exchange_variable(exchange, "taskRefName"),
        .status = status,
        .output = output,
        .merges_output = true,
    };
    struct pawl_command *command = &referring->ask.request.command;
    command->actor = exchange->caller;
    command->ask.update = &referring->update;
    command->out.updated = &referring->updated;
    pawl_ask_hand(&referring->ask);
}

static void update_by_reference(struct pawl_exchange *exchange, void *self)
{
    refer(exchange, self, false);
}

static void update_by_reference_and_show(struct pawl_exchange *exchange, void *self)
{
    refer(exchange, self, true);
}

/* ---- Variables ---- */

struct setting {
    struct pawl_ask ask; /* first */
    struct pawl_conductor *conductor;
    struct pawl_workflow_operate operate;
    struct pawl_workflow_operated operated;
};

static void answer_set(struct pawl_ask *ask)
{
    const struct setting *setting = (const struct setting *)ask;
    show_workflow(ask->exchange, setting->conductor, ask->request.command.task_id);
}

static void set_variables(struct pawl_exchange *exchange, void *self)
{
    struct pawl_conductor *conductor = self;
    struct pawl_str variables;
    if (!pawl_conductor_object(exchange, &variables)) return;
    struct setting *setting = pawl_ask_begin(exchange, conductor->pawl, sizeof *setting,
                                             PAWL_COMMAND_WORKFLOW_OPERATE, answer_set);
    if (setting == NULL) return;
    setting->conductor = conductor;
    setting->operate =
        (struct pawl_workflow_operate){.verb = PAWL_WORKFLOW_SET_VARIABLES, .variables = variables};
    struct pawl_command *command = &setting->ask.request.command;
    command->task_id = pawl_exchange_variable(exchange, "workflowId");
    command->actor = exchange->caller;
    command->ask.operate = &setting->operate;
    command->out.operated = &setting->operated;
    pawl_ask_hand(&setting->ask);
}

/* clang-format off */
static const struct pawl_route routes[] = {
    {PAWL_VERB_POST, "/api/workflow/execute/{name}/{version}", PAWL_ROLE_WORKER, "Starts a workflow and waits for it", execute, 0},
    {PAWL_VERB_POST, "/api/workflow/{workflowId}/variables", PAWL_ROLE_OPERATOR, "Sets variables of a workflow", set_variables, 0},
    {PAWL_VERB_POST, "/api/tasks/{workflowId}/{status}/signal", PAWL_ROLE_WORKER, "Ends what waits in a workflow", signal_workflow, 0},
    {PAWL_VERB_POST, "/api/tasks/{workflowId}/{status}/signal/sync", PAWL_ROLE_WORKER, "Ends what waits, and waits for what comes of it", signal_and_wait, 0},
    {PAWL_VERB_POST, "/api/tasks/{workflowId}/{taskRefName}/{status}", PAWL_ROLE_WORKER, "Tells what became of a task, by its reference", update_by_reference, PAWL_ROUTE_DRAINS},
    {PAWL_VERB_POST, "/api/tasks/{workflowId}/{taskRefName}/{status}/sync", PAWL_ROLE_WORKER, "The same, and shows the workflow", update_by_reference_and_show, PAWL_ROUTE_DRAINS},
};
/* clang-format on */

struct pawl_route_table pawl_conductor_executes(struct pawl_conductor *conductor)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), conductor};
}
