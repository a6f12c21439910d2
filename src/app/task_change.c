/* What an operator does to tasks: queue, pause, resume, cancel, complete, fail, resolve. Each takes
 * ids, and shows what became of the task. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/each.h"
#include "app/retry.h"
#include "app/show.h"
#include "base/error.h"
#include "base/str.h"

static enum pawl_code queue_one(struct pawl_cli *cli, struct pawl_str id, const void *self)
{
    (void)self;
    struct pawl_fence fence;
    struct pawl_change change;
    pawl_cli_change(cli, id, &fence, &change);
    return cli->calls->task_queue(cli->asked, id, &change, &cli->err);
}

int pawl_cli_task_queue(struct pawl_cli *cli)
{
    return pawl_each_task(cli, queue_one, NULL);
}

static enum pawl_code pause_one(struct pawl_cli *cli, struct pawl_str id, const void *self)
{
    (void)self;
    struct pawl_fence fence;
    struct pawl_change change;
    pawl_cli_change(cli, id, &fence, &change);
    return cli->calls->task_pause(cli->asked, id, &change, &cli->err);
}

int pawl_cli_task_pause(struct pawl_cli *cli)
{
    return pawl_each_task(cli, pause_one, NULL);
}

static enum pawl_code resume_one(struct pawl_cli *cli, struct pawl_str id, const void *self)
{
    const struct pawl_resume *resume = self;
    struct pawl_fence fence;
    struct pawl_change change;
    pawl_cli_change(cli, id, &fence, &change);
    return cli->calls->task_resume(cli->asked, id, resume, &change, &cli->err);
}

int pawl_cli_task_resume(struct pawl_cli *cli)
{
    struct pawl_resume resume = PAWL_RESUME_INIT;
    resume.keep_retries = pawl_given(cli, "keep-retries");
    resume.input = pawl_given_json(cli, "input");
    return pawl_each_task(cli, resume_one, &resume);
}

static enum pawl_code cancel_one(struct pawl_cli *cli, struct pawl_str id, const void *self)
{
    (void)self;
    struct pawl_fence fence;
    struct pawl_change change;
    pawl_cli_change(cli, id, &fence, &change);
    return cli->calls->task_cancel(cli->asked, id, pawl_given(cli, "force"), &change, &cli->err);
}

int pawl_cli_task_cancel(struct pawl_cli *cli)
{
    return pawl_each_task(cli, cancel_one, NULL);
}

static enum pawl_code complete_one(struct pawl_cli *cli, struct pawl_str id, const void *self)
{
    const struct pawl_str *result = self;
    struct pawl_fence fence;
    struct pawl_change change;
    pawl_cli_change(cli, id, &fence, &change);
    return cli->calls->task_complete(cli->asked, id, *result, &change, &cli->err);
}

int pawl_cli_task_complete(struct pawl_cli *cli)
{
    struct pawl_str result = pawl_given_json(cli, "result");
    return pawl_each_task(cli, complete_one, &result);
}

static enum pawl_code fail_one(struct pawl_cli *cli, struct pawl_str id, const void *self)
{
    const struct pawl_failure *failure = self;
    struct pawl_fence fence;
    struct pawl_change change;
    pawl_cli_change(cli, id, &fence, &change);
    return cli->calls->task_fail(cli->asked, id, failure, &change, &cli->err);
}

int pawl_cli_task_fail(struct pawl_cli *cli)
{
    struct pawl_failure failure = PAWL_FAILURE_INIT;
    failure.error = pawl_given_body(cli, "error");
    failure.is_final = pawl_given(cli, "final");
    if (pawl_given(cli, "retry-after")) {
        failure.retry_after_ms = pawl_delay_as_given(pawl_given_duration_ms(cli, "retry-after", 0));
    }
    return pawl_each_task(cli, fail_one, &failure);
}

struct resolution {
    enum pawl_task_state outcome;
    struct pawl_str text;
    bool is_forced;
};

static enum pawl_code resolve_one(struct pawl_cli *cli, struct pawl_str id, const void *self)
{
    const struct resolution *resolution = self;
    struct pawl_fence fence;
    struct pawl_change change;
    pawl_cli_change(cli, id, &fence, &change);
    change.is_forced = resolution->is_forced;
    enum pawl_code code =
        cli->calls->task_resolve(cli->asked, id, resolution->outcome, resolution->text, &change, &cli->err);
    if (code == PAWL_STATE && resolution->outcome == PAWL_TASK_FAILED) {
        return pawl_error_set(&cli->err, code, "%s; FAILED is for RECOVERY_PENDING only",
                              cli->err.text);
    }
    return code;
}

static bool can_be_outcome(enum pawl_task_state state)
{
    return state == PAWL_TASK_COMPLETED || state == PAWL_TASK_FAILED || state == PAWL_TASK_QUEUED ||
           state == PAWL_TASK_CANCELLED;
}

int pawl_cli_task_resolve(struct pawl_cli *cli)
{
    struct resolution resolution = {0};
    struct pawl_str outcome = pawl_given_text(cli, "outcome");
    bool is_state = pawl_state_parse(outcome, &resolution.outcome);
    if (!pawl_given(cli, "outcome")) {
        (void)pawl_error_set(
            &cli->err, PAWL_INVALID,
            "--outcome is missing: one of COMPLETED, FAILED, QUEUED and CANCELLED");
        return pawl_cli_fail(cli);
    }
    if (!is_state || !can_be_outcome(resolution.outcome)) {
        (void)pawl_error_set(
            &cli->err, PAWL_INVALID,
            "--outcome is one of COMPLETED, FAILED, QUEUED and CANCELLED, not `%.*s`",
            PAWL_STR_ARG(outcome));
        return pawl_cli_fail(cli);
    }
    bool is_result = resolution.outcome == PAWL_TASK_COMPLETED;
    resolution.text = is_result ? pawl_given_json(cli, "text") : pawl_given_body(cli, "text");
    resolution.is_forced = pawl_given(cli, "force");
    return pawl_each_task(cli, resolve_one, &resolution);
}
