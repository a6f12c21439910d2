#include "engine/workflow.h"

#include "base/arena.h"
#include "base/error.h"
#include "core/check.h"
#include "engine/engine.h"

/* Checks the command with memory of its own, then asks. */
static enum pawl_code check_and_ask(struct pawl *pawl, struct pawl_request *request,
                                    struct pawl_arena *keep, struct pawl_error *err)
{
    struct pawl_arena *scratch;
    enum pawl_code code = pawl_engine_enter(pawl, err);
    if (code != PAWL_OK) return code;
    request->command.keep = keep;
    code = pawl_arena_open(&scratch, 0);
    if (code == PAWL_OK) {
        code = pawl_check_command(&request->command, scratch, err);
        pawl_arena_close(scratch);
        if (code == PAWL_OK) code = pawl_engine_ask(pawl, request, err);
    } else {
        (void)pawl_error_set(err, code, "no memory to check the call");
    }
    pawl_engine_leave(pawl);
    return code;
}

enum pawl_code pawl_workflow_start(struct pawl *pawl, const struct pawl_workflow_start *ask,
                                   struct pawl_arena *keep, struct pawl_workflow_started *out,
                                   struct pawl_error *err)
{
    struct pawl_request request;
    pawl_request_init(&request, PAWL_COMMAND_WORKFLOW_START);
    request.command.ask.start = ask;
    request.command.out.started = out;
    return check_and_ask(pawl, &request, keep, err);
}

enum pawl_code pawl_workflow_operate(struct pawl *pawl, struct pawl_str workflow_id,
                                     const struct pawl_workflow_operate *ask,
                                     struct pawl_arena *keep, struct pawl_workflow_operated *out,
                                     struct pawl_error *err)
{
    struct pawl_request request;
    pawl_request_init(&request, PAWL_COMMAND_WORKFLOW_OPERATE);
    request.command.task_id = workflow_id;
    request.command.ask.operate = ask;
    request.command.out.operated = out;
    return check_and_ask(pawl, &request, keep, err);
}

enum pawl_code pawl_task_update(struct pawl *pawl, struct pawl_str task_id,
                                const struct pawl_update *ask, struct pawl_arena *keep,
                                struct pawl_updated *out, struct pawl_error *err)
{
    struct pawl_request request;
    pawl_request_init(&request, PAWL_COMMAND_UPDATE);
    request.command.task_id = task_id;
    request.command.ask.update = ask;
    request.command.out.updated = out;
    return check_and_ask(pawl, &request, keep, err);
}
