/* pawl task logs, result, wait: what a task has said and what became of it. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/each.h"
#include "app/patience.h"
#include "app/show.h"
#include "base/arena.h"
#include "base/base64.h"
#include "base/code.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

#include <inttypes.h>
#include <time.h>

enum {
    LOOK_MS_MIN = 10, /* a task that is about to end is not kept waiting for */
    LOOK_MS_MAX = 200,
};

/* ---- Logs ------------------------------------------------------------------------------------ */

static void show_line(struct pawl_cli *cli, struct pawl_listing *listing,
                      const struct pawl_log_line *line)
{
    if (pawl_output_is_table(&cli->out) || cli->out.form == PAWL_FORM_NAME) {
        pawl_output_text(&cli->out, line->text); /* as it came: no columns around it */
        return;
    }
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, cli->scratch);
    pawl_json_begin_object(&w);
    pawl_json_put_member_int64(&w, "number", line->number);
    pawl_json_put_member_int64(&w, "at_ms", line->at_ms);
    pawl_json_put_member_int64(&w, "epoch", line->epoch);
    pawl_json_put_member_text(&w, "text", line->text);
    pawl_json_end_object(&w);
    pawl_listing_json(listing, pawl_json_writer_done(&w));
}

/* Shows all there is after *number. */
static enum pawl_code show_lines(struct pawl_cli *cli, struct pawl_listing *listing,
                                 int64_t *number)
{
    for (;;) {
        struct pawl_log_lines page;
        pawl_arena_reset(cli->scratch);
        enum pawl_code code = cli->calls->task_logs(cli->asked, pawl_word(cli, 0), *number, PAWL_BATCH_MAX,
                                             cli->scratch, &page, &cli->err);
        if (code != PAWL_OK || page.count == 0) return code;
        for (size_t i = 0; i < page.count; i++) show_line(cli, listing, &page.lines[i]);
        *number = page.lines[page.count - 1].number;
        (void)fflush(cli->out.file); /* asked for when the program ends */
    }
}

static enum pawl_code has_ended(struct pawl_cli *cli, bool *out)
{
    struct pawl_task task;
    pawl_arena_reset(cli->scratch);
    enum pawl_code code =
        cli->calls->task_get(cli->asked, pawl_word(cli, 0), false, cli->scratch, &task, &cli->err);
    if (code == PAWL_OK) *out = pawl_task_state_is_terminal(task.state);
    return code;
}

int pawl_cli_task_logs(struct pawl_cli *cli)
{
    static const struct pawl_column no_columns[] = {{NULL, false, false}};
    int64_t number = pawl_given_int64(cli, "after", 0, INT64_MAX, 0);
    bool follows = pawl_given(cli, "follow");
    if (pawl_cli_begin(cli) != PAWL_OK) return pawl_cli_fail(cli);
    struct pawl_listing listing;
    pawl_listing_begin(&listing, &cli->out, cli->scratch, "lines", no_columns);
    struct pawl_patience patience = {0};
    bool is_over = !follows;
    bool is_interrupted = false;
    for (;;) {
        /* Asked first: what is logged before the end is then still read. */
        enum pawl_code code = is_over ? PAWL_OK : has_ended(cli, &is_over);
        if (code == PAWL_OK) code = show_lines(cli, &listing, &number);
        if (code != PAWL_OK && follows && pawl_patience_lasts(cli, &patience, code, &is_interrupted)) continue;
        if (is_interrupted) break;
        if (code != PAWL_OK) return pawl_cli_fail(cli);
        pawl_patience_end(&patience);
        if (is_over) break;
        is_interrupted = pawl_cli_sleep(cli, LOOK_MS_MAX);
    }
    if (cli->out.form == PAWL_FORM_JSON) pawl_listing_end(&listing, PAWL_STR(""));
    return is_interrupted ? PAWL_EXIT_INTERRUPTED : 0;
}

/* ---- Result ---------------------------------------------------------------------------------- */

/* What a command printed, out of what became of it (pawl_result_make): a text, or an object whose
 * bytes or text were cut or are no text. */
static bool find_printed(struct pawl_cli *cli, struct pawl_str result, struct pawl_str *out,
                         bool *is_cut)
{
    struct pawl_json *json = NULL;
    struct pawl_str text;
    if (pawl_json_parse_top(result, 1, cli->scratch, &json, NULL) != PAWL_OK) return false;
    if (pawl_json_text(json, cli->scratch, out)) return true;
    const struct pawl_json *base64 = pawl_json_member(json, PAWL_STR("base64"));
    const struct pawl_json *cut = pawl_json_member(json, PAWL_STR("cut"));
    bool is_bytes = base64 != NULL;
    const struct pawl_json *body = is_bytes ? base64 : pawl_json_member(json, PAWL_STR("text"));
    bool has_cut = pawl_json_bool(cut, is_cut) && *is_cut;
    if (!has_cut && (cut != NULL || !is_bytes)) return false;
    if (json->child_count != (has_cut ? 2 : 1)) return false;
    if (!pawl_json_text(body, cli->scratch, &text)) return false;
    if (is_bytes) return pawl_base64_decode(cli->scratch, text, out);
    *out = text;
    return true;
}

static void show_result(struct pawl_cli *cli, struct pawl_str result)
{
    const struct pawl_output *out = &cli->out;
    struct pawl_str printed;
    bool is_cut = false;
    bool is_raw =
        pawl_given(cli, "raw") && result.len > 0 && find_printed(cli, result, &printed, &is_cut);
    if (!is_raw) {
        pawl_output_json_line(out, result.len > 0 ? result : PAWL_STR("null"));
        return;
    }
    bool is_exact = result.ptr[0] == '{';
    if (is_exact && !out->is_terminal) {
        (void)fwrite(pawl_str_arg_ptr(printed), 1, printed.len, out->file);
    } else {
        pawl_output_text(out, printed);
    }
    if (is_cut) (void)fprintf(stderr, "pawl: the result was cut when it was stored\n");
}

int pawl_cli_task_result(struct pawl_cli *cli)
{
    struct pawl_task task;
    struct pawl_str id = pawl_word(cli, 0);
    enum pawl_code code = pawl_cli_begin(cli);
    if (code == PAWL_OK) code = cli->calls->task_get(cli->asked, id, true, cli->scratch, &task, &cli->err);
    if (code == PAWL_OK && !pawl_task_state_is_terminal(task.state)) {
        code = pawl_error_set(&cli->err, PAWL_NOT_READY, "task %.*s is %s", PAWL_STR_ARG(id),
                              pawl_task_state_name(task.state));
    }
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    if (task.state == PAWL_TASK_COMPLETED) {
        show_result(cli, task.result);
        return 0;
    }
    struct pawl_str error = pawl_text_clean(cli->scratch, task.error);
    (void)fprintf(stderr, "pawl: %s%s%.*s\n", pawl_task_state_name(task.state),
                  error.len > 0 ? ": " : "", PAWL_STR_ARG(error));
    return PAWL_EXIT_WORK_FAILED;
}

/* ---- Wait ------------------------------------------------------------------------------------ */

static int64_t monotonic_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_BOOTTIME, &now); /* fails only for clocks that do not exist */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Which of the tasks named have not ended, in the order of their naming. */
struct waiting {
    struct pawl_str *open;
    size_t open_count;
    enum pawl_task_state first_state; /* of the first of them */
    int worst;                        /* the exit status of those that have ended */
};

/* Shows those that have ended since. */
static enum pawl_code look_at_all(struct pawl_cli *cli, struct waiting *waiting)
{
    size_t left = 0;
    for (size_t i = 0; i < waiting->open_count; i++) {
        struct pawl_task task;
        struct pawl_str id = waiting->open[i];
        pawl_arena_reset(cli->scratch);
        enum pawl_code code = cli->calls->task_get(cli->asked, id, false, cli->scratch, &task, &cli->err);
        if (code != PAWL_OK) return code;
        if (!pawl_task_state_is_terminal(task.state)) {
            if (left == 0) waiting->first_state = task.state;
            waiting->open[left++] = id;
            continue;
        }
        struct pawl_arena_mark mark = pawl_arena_mark(cli->keep);
        pawl_show_changed(cli, &task);
        pawl_arena_rewind(cli->keep, mark);
        if (task.state != PAWL_TASK_COMPLETED) waiting->worst = PAWL_EXIT_WORK_FAILED;
    }
    waiting->open_count = left;
    (void)fflush(cli->out.file); /* asked for when the program ends */
    return PAWL_OK;
}

static enum pawl_code say_time_is_up(struct pawl_cli *cli, const struct waiting *waiting)
{
    struct pawl_str more = {0};
    if (waiting->open_count > 1) {
        more = pawl_arena_format(cli->keep, ", and %zu more not ended", waiting->open_count - 1);
    }
    return pawl_error_set(&cli->err, PAWL_TIMEOUT, "task %.*s is still %s%.*s",
                          PAWL_STR_ARG(waiting->open[0]),
                          pawl_task_state_name(waiting->first_state), PAWL_STR_ARG(more));
}

/* Until all have ended; PAWL_TIMEOUT. */
static enum pawl_code wait_for_all(struct pawl_cli *cli, struct waiting *waiting, int64_t until_ms,
                                   bool *is_interrupted)
{
    struct pawl_patience patience = {0};
    for (int64_t look_ms = LOOK_MS_MIN;;
         look_ms = look_ms * 2 < LOOK_MS_MAX ? look_ms * 2 : LOOK_MS_MAX) {
        enum pawl_code code = look_at_all(cli, waiting);
        bool is_late = monotonic_ms() >= until_ms;
        if (code != PAWL_OK && !is_late && pawl_patience_lasts(cli, &patience, code, is_interrupted)) continue;
        if (*is_interrupted) return PAWL_OK;
        if (code == PAWL_OK) pawl_patience_end(&patience);
        if (code != PAWL_OK || waiting->open_count == 0) return code;
        int64_t left_ms = until_ms - monotonic_ms();
        if (left_ms <= 0) return say_time_is_up(cli, waiting);
        *is_interrupted = pawl_cli_sleep(cli, left_ms < look_ms ? left_ms : look_ms);
        if (*is_interrupted) return PAWL_OK;
    }
}

int pawl_cli_task_wait(struct pawl_cli *cli)
{
    int64_t timeout_ms = pawl_given_duration_ms(cli, "timeout", -1);
    if (pawl_cli_begin(cli) != PAWL_OK) return pawl_cli_fail(cli);
    int64_t until_ms = timeout_ms < 0 ? INT64_MAX : monotonic_ms() + timeout_ms;
    struct waiting waiting = {.open_count = cli->arguments.word_count};
    waiting.open = pawl_arena_take_array(cli->keep, waiting.open_count, sizeof *waiting.open);
    if (waiting.open == NULL) {
        (void)pawl_error_set(&cli->err, pawl_arena_code(cli->keep), "too many tasks");
        return pawl_cli_fail(cli);
    }
    for (size_t i = 0; i < waiting.open_count; i++) waiting.open[i] = pawl_word(cli, i);
    bool is_interrupted = false;
    enum pawl_code code = wait_for_all(cli, &waiting, until_ms, &is_interrupted);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    return is_interrupted ? PAWL_EXIT_INTERRUPTED : waiting.worst;
}
