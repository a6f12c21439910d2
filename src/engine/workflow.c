#include "engine/workflow.h"

#include "engine/engine.h"

static enum pawl_code ask_for(struct pawl *pawl, struct pawl_request *request,
                              struct pawl_arena *keep, struct pawl_error *err)
{
    request->command.keep = keep;
    return pawl_engine_check_and_ask(pawl, request, err);
}

enum pawl_code pawl_workflow_start(struct pawl *pawl, const struct pawl_workflow_start *ask,
                                   struct pawl_arena *keep, struct pawl_workflow_started *out,
                                   struct pawl_error *err)
{
    struct pawl_request request;
    pawl_request_init(&request, PAWL_COMMAND_WORKFLOW_START);
    request.command.ask.start = ask;
    request.command.out.started = out;
    return ask_for(pawl, &request, keep, err);
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
    return ask_for(pawl, &request, keep, err);
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
    return ask_for(pawl, &request, keep, err);
}
