/* What a command run by `pawl worker run` says of its own task: progress, log, checkpoint,
 * retry-after, lease, release. The worker has put id, owner and epoch into its environment, and a
 * socket, over which all but a release and a renewal go; where nobody listens there, and from
 * outside, the store is asked. Nothing here writes to standard output unless asked to show
 * something: inside a command that is the result of the task. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/lines.h"
#include "app/show.h"
#include "app/tell.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/str.h"
#include "core/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The id: the first word if there is one more than needed, else that of the environment. *at is the
 * first word that is not the id. */
static enum pawl_code take_id(struct pawl_cli *cli, size_t needed, struct pawl_str *id, size_t *at)
{
    *at = cli->arguments.word_count > needed ? 1 : 0;
    *id = *at == 1 ? pawl_word(cli, 0) : pawl_cli_own_task();
    if (id->len > 0) return PAWL_OK;
    return pawl_error_set(&cli->err, PAWL_INVALID,
                          "name the task: only inside a command of `pawl worker run` it is known");
}

static int finish(struct pawl_cli *cli, enum pawl_code code)
{
    return code == PAWL_OK ? 0 : pawl_cli_fail(cli);
}

int pawl_cli_task_progress(struct pawl_cli *cli)
{
    struct pawl_str id;
    size_t at = 0;
    struct pawl_fence fence;
    struct pawl_change change;
    enum pawl_code code = take_id(cli, 1, &id, &at);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    struct pawl_str word = pawl_word(cli, at);
    if (pawl_str_ends(word, PAWL_STR("%"))) word.len--;
    double percent = 0;
    if (!pawl_double_parse(word, &percent)) {
        (void)pawl_error_set(&cli->err, PAWL_INVALID, "`%.*s` is no percentage",
                             PAWL_STR_ARG(word));
    }
    code = pawl_given_code(cli);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    struct pawl_tell tell;
    if (pawl_tell_open(&tell, cli, id)) {
        code = pawl_tell_say(&tell, cli, "progress", word, false, NULL);
        pawl_tell_close(&tell);
        return finish(cli, code);
    }
    pawl_cli_change(cli, id, &fence, &change);
    code = pawl_cli_begin(cli);
    if (code == PAWL_OK) code = pawl_task_progress(cli->pawl, id, percent, &change, &cli->err);
    return finish(cli, code);
}

/* What is logged, and where: by the worker, or in the store. */
struct log {
    struct pawl_str id;
    const struct pawl_change *change;
    struct pawl_tell tell;
};

static enum pawl_code log_text(struct pawl_cli *cli, struct log *log, struct pawl_str text)
{
    if (log->tell.fd >= 0) return pawl_tell_say(&log->tell, cli, "log", text, true, NULL);
    return pawl_task_log(cli->pawl, log->id, text, log->change, &cli->err);
}

static enum pawl_code log_input(struct pawl_cli *cli, struct log *log)
{
    struct pawl_lines lines;
    pawl_lines_init(&lines, STDIN_FILENO, PAWL_LOG_LINE_BYTES_MAX, cli->keep);
    for (;;) {
        struct pawl_str line;
        bool has = false;
        enum pawl_code code = pawl_lines_take(&lines, true, &line, &has, &cli->err);
        if (code != PAWL_OK || !has) return code;
        code = log_text(cli, log, line);
        if (code != PAWL_OK) return code;
    }
}

int pawl_cli_task_log(struct pawl_cli *cli)
{
    size_t at = 0;
    struct pawl_fence fence;
    struct pawl_change change;
    struct log log = {.change = &change};
    enum pawl_code code = take_id(cli, 1, &log.id, &at);
    if (code == PAWL_OK) code = pawl_given_code(cli);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    struct pawl_str text = pawl_word(cli, at);
    if (!pawl_tell_open(&log.tell, cli, log.id)) {
        pawl_cli_change(cli, log.id, &fence, &change);
        code = pawl_cli_begin(cli);
    }
    if (code == PAWL_OK) {
        bool is_input = pawl_str_equal(text, PAWL_STR("-"));
        code = is_input ? log_input(cli, &log) : log_text(cli, &log, text);
    }
    pawl_tell_close(&log.tell);
    return finish(cli, code);
}

/* What was saved, where somebody asks for it: a command that notes its progress says nothing by itself. */
static void show_checkpoint(struct pawl_cli *cli, struct pawl_str id, int32_t step)
{
    const struct pawl_output *out = &cli->out;
    if (!pawl_given(cli, "output")) return;
    if (out->form == PAWL_FORM_NAME || pawl_output_is_table(out)) {
        pawl_output_text(out, id);
        return;
    }
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, cli->scratch);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "id", id);
    pawl_json_put_member_int64(&w, "step", step);
    pawl_json_end_object(&w);
    pawl_output_json_line(out, pawl_json_writer_done(&w));
}

int pawl_cli_task_checkpoint(struct pawl_cli *cli)
{
    struct pawl_str id;
    size_t at = 0;
    struct pawl_fence fence;
    struct pawl_change change;
    enum pawl_code code = take_id(cli, 2, &id, &at);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    int32_t step = (int32_t)pawl_int64_read(cli, "step", pawl_word(cli, at), 0, INT32_MAX);
    struct pawl_str state = pawl_json_read(cli, "state", pawl_word(cli, at + 1));
    code = pawl_given_code(cli);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    struct pawl_tell tell;
    if (pawl_tell_open(&tell, cli, id)) {
        struct pawl_str rest =
            pawl_arena_format(cli->keep, "%" PRId32 " %.*s", step, PAWL_STR_ARG(state));
        struct pawl_str text = {0};
        code = pawl_tell_say(&tell, cli, "checkpoint", rest, false, &text);
        pawl_tell_close(&tell);
        struct pawl_json *json = NULL;
        struct pawl_str made = {0};
        bool is_whole = code == PAWL_OK && pawl_json_parse(pawl_str_trim(text), cli->scratch, &json, NULL) == PAWL_OK &&
                        pawl_json_text(pawl_json_member(json, PAWL_STR("id")), cli->scratch, &made);
        if (is_whole) show_checkpoint(cli, made, step);
        if (code == PAWL_OK && !is_whole) {
            code = pawl_error_set(&cli->err, PAWL_IO, "the worker answers what is not understood");
        }
        return finish(cli, code);
    }
    char made[PAWL_CHECKPOINT_ID_BYTES + 1] = "";
    pawl_cli_change(cli, id, &fence, &change);
    change.checkpoint_id = made;
    code = pawl_cli_begin(cli);
    if (code == PAWL_OK) {
        code = pawl_task_checkpoint(cli->pawl, id, step, state, &change, &cli->err);
    }
    if (code == PAWL_OK) show_checkpoint(cli, pawl_str_of(made), step);
    return finish(cli, code);
}

int pawl_cli_task_retry_after(struct pawl_cli *cli)
{
    struct pawl_tell tell;
    struct pawl_str word = pawl_word(cli, 0);
    (void)pawl_duration_read(cli, "retry-after", word, PAWL_DELAY_MS_MAX);
    enum pawl_code code = pawl_given_code(cli);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    struct pawl_str id = pawl_cli_own_task();
    if (id.len == 0 || !pawl_tell_open(&tell, cli, id)) {
        (void)pawl_error_set(&cli->err, PAWL_INVALID,
                             "retry-after works only inside a command of `pawl worker run`");
        return pawl_cli_fail(cli);
    }
    code = pawl_tell_say(&tell, cli, "retry-after", word, false, NULL);
    pawl_tell_close(&tell);
    return finish(cli, code);
}

/* ---- Lease ----------------------------------------------------------------------------------- */

static enum pawl_code renew(struct pawl_cli *cli, const struct pawl_change *change,
                            int64_t lease_ms)
{
    if (change->fence == NULL) {
        return pawl_error_set(&cli->err, PAWL_INVALID, "--renew needs --owner and --epoch");
    }
    struct pawl_renewal renewal;
    enum pawl_code code =
        pawl_lease_renew(cli->pawl, change->fence, 1, lease_ms, &renewal, &cli->err);
    if (code != PAWL_OK || renewal.code == PAWL_OK) return code;
    return pawl_error_set(&cli->err, renewal.code, "the lease of task %.*s is no longer yours",
                          PAWL_STR_ARG(change->fence->task_id));
}

static void show_lease(struct pawl_cli *cli, const struct pawl_task *task, int64_t left_ms)
{
    const struct pawl_output *out = &cli->out;
    struct pawl_arena *scratch = cli->scratch;
    if (out->form == PAWL_FORM_NAME) {
        pawl_output_text(out, task->id);
        return;
    }
    if (pawl_output_is_table(out)) {
        struct pawl_str end = pawl_time_text(out, scratch, task->lease_end_at_ms);
        struct pawl_str left = pawl_duration_text(scratch, left_ms);
        struct pawl_str whole = pawl_duration_text(scratch, task->lease_ms);
        struct pawl_str line = pawl_arena_format(
            scratch, "%.*s epoch %" PRId64 " held by %.*s, %.*s of %.*s left, ends %.*s%s%s",
            PAWL_STR_ARG(task->id), task->epoch, PAWL_STR_ARG(task->owner), PAWL_STR_ARG(left),
            PAWL_STR_ARG(whole), PAWL_STR_ARG(end),
            task->control != PAWL_CONTROL_NONE ? ", asked to " : "",
            task->control != PAWL_CONTROL_NONE ? pawl_control_name(task->control) : "");
        pawl_output_text(out, pawl_text_clean(scratch, line));
        return;
    }
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, scratch);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "id", task->id);
    pawl_json_put_member_text(&w, "owner", task->owner);
    pawl_json_put_member_int64(&w, "epoch", task->epoch);
    pawl_json_put_member_int64(&w, "lease_ms", task->lease_ms);
    pawl_json_put_member_int64(&w, "left_ms", left_ms);
    pawl_json_put_member_int64(&w, "lease_end_at_ms", task->lease_end_at_ms);
    pawl_show_text(&w, "control", pawl_str_of(pawl_control_name(task->control)));
    pawl_json_end_object(&w);
    pawl_output_json_line(out, pawl_json_writer_done(&w));
}

/* As the worker knows it. */
static enum pawl_code ask_worker(struct pawl_cli *cli, struct pawl_tell *tell,
                                 struct pawl_task *task, int64_t *left_ms)
{
    struct pawl_str text = {0};
    struct pawl_json *json = NULL;
    struct pawl_str control = {0};
    struct pawl_error err = {0};
    enum pawl_code code = pawl_tell_say(tell, cli, "lease", (struct pawl_str){0}, false, &text);
    if (code != PAWL_OK) return code;
    *task = (struct pawl_task){.state = PAWL_TASK_RUNNING};
    code = pawl_json_parse(pawl_str_trim(text), cli->scratch, &json, &err);
    bool is_whole =
        code == PAWL_OK &&
        pawl_json_text(pawl_json_member(json, PAWL_STR("id")), cli->scratch, &task->id) &&
        pawl_json_text(pawl_json_member(json, PAWL_STR("owner")), cli->scratch, &task->owner) &&
        pawl_json_int64(pawl_json_member(json, PAWL_STR("epoch")), &task->epoch) &&
        pawl_json_int64(pawl_json_member(json, PAWL_STR("lease_ms")), &task->lease_ms) &&
        pawl_json_int64(pawl_json_member(json, PAWL_STR("left_ms")), left_ms) &&
        pawl_json_int64(pawl_json_member(json, PAWL_STR("lease_end_at_ms")),
                        &task->lease_end_at_ms);
    if (!is_whole) {
        return pawl_error_set(&cli->err, PAWL_IO, "the worker answers what is not understood");
    }
    if (pawl_json_text(pawl_json_member(json, PAWL_STR("control")), cli->scratch, &control)) {
        bool is_pause = pawl_str_equal(control, PAWL_STR("pause"));
        task->control = is_pause ? PAWL_CONTROL_PAUSE : PAWL_CONTROL_CANCEL;
    }
    return PAWL_OK;
}

int pawl_cli_task_lease(struct pawl_cli *cli)
{
    struct pawl_str id;
    size_t at = 0;
    struct pawl_fence fence;
    struct pawl_change change;
    struct pawl_task task;
    enum pawl_code code = take_id(cli, 0, &id, &at);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    int64_t lease_ms = pawl_given_above_0(cli, "lease", pawl_given_lease_ms(cli, "lease"));
    code = pawl_given_code(cli);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    struct pawl_tell tell;
    int64_t left_ms = 0;
    if (!pawl_given(cli, "renew") && pawl_tell_open(&tell, cli, id)) {
        code = ask_worker(cli, &tell, &task, &left_ms);
        pawl_tell_close(&tell);
        if (code == PAWL_OK) show_lease(cli, &task, left_ms);
        return finish(cli, code);
    }
    pawl_cli_change(cli, id, &fence, &change);
    code = pawl_cli_begin(cli);
    if (code == PAWL_OK && pawl_given(cli, "renew")) code = renew(cli, &change, lease_ms);
    if (code == PAWL_OK) code = pawl_task_get(cli->pawl, id, false, cli->scratch, &task, &cli->err);
    if (code == PAWL_OK && task.state != PAWL_TASK_RUNNING) {
        code = pawl_error_set(&cli->err, PAWL_STATE, "task %.*s is %s: nobody holds it",
                              PAWL_STR_ARG(id), pawl_task_state_name(task.state));
    }
    if (code == PAWL_OK && change.fence != NULL && task.epoch != change.fence->epoch) {
        code = pawl_error_set(&cli->err, PAWL_LEASE_LOST,
                              "the lease of task %.*s is no longer yours", PAWL_STR_ARG(id));
    }
    if (code == PAWL_OK) {
        show_lease(cli, &task, task.lease_left_ms);
    }
    return finish(cli, code);
}

int pawl_cli_task_release(struct pawl_cli *cli)
{
    struct pawl_str id;
    size_t at = 0;
    struct pawl_fence fence;
    struct pawl_change change;
    enum pawl_code code = take_id(cli, 0, &id, &at);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    int64_t delay_ms = pawl_given_duration_ms(cli, "delay", 0);
    pawl_cli_change(cli, id, &fence, &change);
    if (cli->err.code == PAWL_OK && change.fence == NULL) {
        (void)pawl_error_set(&cli->err, PAWL_INVALID, "a release needs --owner and --epoch");
    }
    code = pawl_cli_begin(cli);
    if (code == PAWL_OK) code = pawl_task_release(cli->pawl, id, delay_ms, &change, &cli->err);
    return finish(cli, code);
}
