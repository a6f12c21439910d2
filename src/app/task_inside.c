/* What a command run by `pawl worker run` says of its own task: progress, log, checkpoint,
 * retry-after, lease, release. The worker has put id, owner and epoch into its environment. Nothing
 * here writes to standard output unless asked to show something: inside a command that is the
 * result of the task. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/lines.h"
#include "app/show.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/number.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
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
    pawl_cli_change(cli, id, &fence, &change);
    code = pawl_cli_begin(cli);
    if (code == PAWL_OK) code = pawl_task_progress(cli->pawl, id, percent, &change, &cli->err);
    return finish(cli, code);
}

static enum pawl_code log_input(struct pawl_cli *cli, struct pawl_str id,
                                const struct pawl_change *change)
{
    struct pawl_lines lines;
    pawl_lines_init(&lines, STDIN_FILENO, PAWL_LOG_LINE_BYTES_MAX, cli->keep);
    for (;;) {
        struct pawl_str line;
        bool has = false;
        enum pawl_code code = pawl_lines_take(&lines, true, &line, &has, &cli->err);
        if (code != PAWL_OK || !has) return code;
        code = pawl_task_log(cli->pawl, id, line, change, &cli->err);
        if (code != PAWL_OK) return code;
    }
}

int pawl_cli_task_log(struct pawl_cli *cli)
{
    struct pawl_str id;
    size_t at = 0;
    struct pawl_fence fence;
    struct pawl_change change;
    enum pawl_code code = take_id(cli, 1, &id, &at);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    struct pawl_str text = pawl_word(cli, at);
    pawl_cli_change(cli, id, &fence, &change);
    code = pawl_cli_begin(cli);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    bool is_input = pawl_str_equal(text, PAWL_STR("-"));
    code = is_input ? log_input(cli, id, &change)
                    : pawl_task_log(cli->pawl, id, text, &change, &cli->err);
    return finish(cli, code);
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
    pawl_cli_change(cli, id, &fence, &change);
    code = pawl_cli_begin(cli);
    if (code == PAWL_OK) {
        code = pawl_task_checkpoint(cli->pawl, id, step, state, &change, &cli->err);
    }
    return finish(cli, code);
}

int pawl_cli_task_retry_after(struct pawl_cli *cli)
{
    const char *path = getenv("PAWL_RETRY_AFTER_FILE");
    int64_t ms = pawl_duration_read(cli, "retry-after", pawl_word(cli, 0));
    enum pawl_code code = pawl_given_code(cli);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    if (path == NULL || path[0] == '\0') {
        (void)pawl_error_set(&cli->err, PAWL_INVALID,
                             "retry-after works only inside a command of `pawl worker run`");
        return pawl_cli_fail(cli);
    }
    /* The worker made the file; one that is gone is not made anew. */
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    bool is_written = fd >= 0 && dprintf(fd, "%" PRId64 "\n", ms) > 0;
    if (fd >= 0 && close(fd) != 0) is_written = false;
    if (is_written) return 0;
    (void)pawl_error_set(&cli->err, PAWL_IO, "cannot write %s: %s", path, strerror(errno));
    return pawl_cli_fail(cli);
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

static void show_lease(struct pawl_cli *cli, const struct pawl_task *task)
{
    const struct pawl_output *out = &cli->out;
    struct pawl_arena *scratch = cli->scratch;
    if (out->form == PAWL_FORM_NAME) {
        pawl_output_text(out, task->id);
        return;
    }
    if (pawl_output_is_table(out)) {
        struct pawl_str end = pawl_time_text(out, scratch, task->lease_end_at_ms);
        struct pawl_str line = pawl_arena_format(
            scratch, "%.*s epoch %" PRId64 " held by %.*s, ends %.*s%s%s", PAWL_STR_ARG(task->id),
            task->epoch, PAWL_STR_ARG(task->owner), PAWL_STR_ARG(end),
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
    pawl_json_put_member_int64(&w, "lease_end_at_ms", task->lease_end_at_ms);
    pawl_show_text(&w, "control", pawl_str_of(pawl_control_name(task->control)));
    pawl_json_end_object(&w);
    pawl_output_json_line(out, pawl_json_writer_done(&w));
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
    int64_t lease_ms = pawl_given_duration_ms(cli, "lease", 0);
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
    if (code == PAWL_OK) show_lease(cli, &task);
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
