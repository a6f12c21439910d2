/* pawl dead redrive and discard: dead letters queued again, by their ids or by a filter, or
 * cancelled. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/each.h"
#include "app/show.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <inttypes.h>

/* ---- By id ----------------------------------------------------------------------------------- */

/* Lets through what has died only, and sees to it that the change is made to the task as it was
 * looked at: the same calls would queue or cancel a task that is alive. */
static enum pawl_code check_dead(struct pawl_cli *cli, struct pawl_str id, const char *verb,
                                 struct pawl_change *change)
{
    struct pawl_task task;
    enum pawl_code code = cli->calls->task_get(cli->asked, id, false, cli->scratch, &task, &cli->err);
    if (code != PAWL_OK) return code;
    if (task.state != PAWL_TASK_DEAD_LETTER && task.state != PAWL_TASK_FAILED) {
        return pawl_error_set(&cli->err, PAWL_STATE,
                              "task %.*s is %s: only what is DEAD_LETTER or FAILED can be %s",
                              PAWL_STR_ARG(id), pawl_task_state_name(task.state), verb);
    }
    if (change->expected_version != 0 && change->expected_version != task.version) {
        return pawl_error_set(&cli->err, PAWL_CONFLICT,
                              "task %.*s has version %" PRId64 ", not %" PRId64, PAWL_STR_ARG(id),
                              task.version, change->expected_version);
    }
    change->expected_version = task.version;
    return PAWL_OK;
}

static enum pawl_code redrive_one(struct pawl_cli *cli, struct pawl_str id, const void *self)
{
    struct pawl_fence fence;
    struct pawl_change change;
    pawl_cli_change(cli, id, &fence, &change);
    enum pawl_code code = check_dead(cli, id, "redriven", &change);
    return code == PAWL_OK ? cli->calls->task_resume(cli->asked, id, self, &change, &cli->err) : code;
}

static int redrive_ids(struct pawl_cli *cli)
{
    struct pawl_resume resume = PAWL_RESUME_INIT;
    resume.keep_retries = pawl_given(cli, "keep-retries");
    resume.input = pawl_given_json(cli, "input");
    return pawl_each_task(cli, redrive_one, &resume);
}

static enum pawl_code discard_one(struct pawl_cli *cli, struct pawl_str id, const void *self)
{
    (void)self;
    struct pawl_fence fence;
    struct pawl_change change;
    pawl_cli_change(cli, id, &fence, &change);
    enum pawl_code code = check_dead(cli, id, "discarded", &change);
    return code == PAWL_OK ? cli->calls->task_cancel(cli->asked, id, false, &change, &cli->err) : code;
}

int pawl_cli_dead_discard(struct pawl_cli *cli)
{
    return pawl_each_task(cli, discard_one, NULL);
}

/* ---- By a filter ----------------------------------------------------------------------------- */

static void take_filters(struct pawl_cli *cli, struct pawl_redrive *ask)
{
    ask->queue = pawl_given_text(cli, "queue");
    ask->error_has = pawl_given_text(cli, "error");
    ask->dead_before_at_ms = pawl_given_instant_ms(cli, "before");
    ask->max = pawl_given_int64(cli, "max", 1, INT64_MAX, 0);
    ask->resume.keep_retries = pawl_given(cli, "keep-retries");
    ask->resume.input = pawl_given_json(cli, "input");
    ask->actor = pawl_cli_actor(cli);
    ask->reason = pawl_given_text(cli, "reason");
}

static void show_count(struct pawl_cli *cli, int64_t count)
{
    const struct pawl_output *out = &cli->out;
    if (pawl_output_is_table(out)) {
        (void)fprintf(out->file, "%" PRId64 " redriven\n", count);
    } else if (out->form == PAWL_FORM_NAME) {
        (void)fprintf(out->file, "%" PRId64 "\n", count);
    } else {
        (void)fprintf(out->file, "{\"count\":%" PRId64 ",\"continuing\":%s}\n", count,
                      cli->continuing ? "true" : "false");
    }
}

int pawl_cli_dead_redrive(struct pawl_cli *cli)
{
    bool has_filter = pawl_given(cli, "queue") || pawl_given(cli, "error") ||
                      pawl_given(cli, "before") || pawl_given(cli, "max");
    bool is_all = pawl_given(cli, "all");
    bool has_ids = cli->arguments.word_count > 0;
    if (has_ids && (has_filter || is_all)) {
        (void)pawl_error_set(&cli->err, PAWL_INVALID, "give ids or a filter, not both");
        return pawl_cli_fail(cli);
    }
    if (has_ids) return redrive_ids(cli);
    if (!has_filter && !is_all) {
        (void)pawl_error_set(&cli->err, PAWL_INVALID, "name ids, a filter, or --all");
        return pawl_cli_fail(cli);
    }
    struct pawl_redrive ask = PAWL_REDRIVE_INIT;
    take_filters(cli, &ask);
    ask.continuing = &cli->continuing;
    int64_t count = 0;
    enum pawl_code code = pawl_cli_begin(cli);
    if (code == PAWL_OK) code = cli->calls->dead_redrive(cli->asked, &ask, &count, &cli->err);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    show_count(cli, count);
    pawl_cli_tell_continuing(cli);
    return 0;
}
