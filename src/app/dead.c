/* pawl dead redrive: dead letters queued again, by their ids or by a filter. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/show.h"
#include "base/arena.h"
#include "base/error.h"

#include <inttypes.h>

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
        (void)fprintf(out->file, "{\"count\":%" PRId64 "}\n", count);
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
    if (has_ids) return pawl_cli_task_resume(cli);
    if (!has_filter && !is_all) {
        (void)pawl_error_set(&cli->err, PAWL_INVALID, "name ids, a filter, or --all");
        return pawl_cli_fail(cli);
    }
    struct pawl_redrive ask = PAWL_REDRIVE_INIT;
    take_filters(cli, &ask);
    int64_t count = 0;
    enum pawl_code code = pawl_cli_begin(cli);
    if (code == PAWL_OK) code = pawl_dead_redrive(cli->pawl, &ask, &count, &cli->err);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    show_count(cli, count);
    return 0;
}
