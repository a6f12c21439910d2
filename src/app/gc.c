/* pawl gc: what has ended long ago is removed, and its room in the file given back. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/show.h"
#include "base/error.h"
#include "base/str.h"

#include <inttypes.h>
#include <string.h>

struct report {
    bool has_removed; /* retention was asked for */
    bool is_dry;
    bool has_compacted;
    struct pawl_gc_done done;
    struct pawl_compacted room;
};

static void show_text(const struct pawl_output *out, const struct report *report)
{
    if (report->has_removed) {
        (void)fprintf(out->file, "%" PRId64 " %s\n", report->done.removed,
                      report->is_dry ? "would be removed" : "removed");
    }
    if (report->done.waiting > 0) {
        (void)fprintf(stderr, "%" PRId64 " stay: others wait for them\n", report->done.waiting);
    }
    if (report->done.held_by[0] != '\0') {
        (void)fprintf(stderr, "the rest stays: consumer %s has not passed its events yet\n",
                      report->done.held_by);
    }
    if (report->has_compacted) {
        (void)fprintf(out->file, "%" PRId64 " bytes given back; the file has %" PRId64 "\n",
                      report->room.freed_bytes, report->room.file_bytes);
    }
}

static void show_json(struct pawl_cli *cli, const struct report *report)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, cli->scratch);
    pawl_json_begin_object(&w);
    if (report->has_removed) {
        pawl_json_put_member_bool(&w, "is_dry", report->is_dry);
        pawl_json_put_member_int64(&w, "removed", report->done.removed);
        pawl_json_put_member_int64(&w, "waiting", report->done.waiting);
        pawl_show_text(&w, "held_by", pawl_str_of(report->done.held_by));
        pawl_json_put_member_int64(&w, "tombstones_ended", report->done.ended);
    }
    if (report->has_compacted) {
        pawl_json_put_member_int64(&w, "freed_bytes", report->room.freed_bytes);
        pawl_json_put_member_int64(&w, "file_bytes", report->room.file_bytes);
    }
    pawl_json_end_object(&w);
    pawl_output_json_line(&cli->out, pawl_json_writer_done(&w));
}

static enum pawl_code check_options(struct pawl_cli *cli, bool removes, bool compacts)
{
    if (!removes && !compacts) {
        return pawl_error_set(&cli->err, PAWL_INVALID,
                              "say how old: --older-than 30d; or --compact, or both");
    }
    if (!removes &&
        (pawl_given(cli, "status") || pawl_given(cli, "max") || pawl_given(cli, "dry-run"))) {
        return pawl_error_set(&cli->err, PAWL_INVALID,
                              "--status, --max and --dry-run go with --older-than");
    }
    if (compacts && pawl_given(cli, "dry-run")) {
        return pawl_error_set(&cli->err, PAWL_INVALID,
                              "--dry-run changes nothing: no --compact with it");
    }
    return PAWL_OK;
}

static enum pawl_code run(struct pawl_cli *cli, struct report *report)
{
    struct pawl_gc ask = PAWL_GC_INIT;
    report->has_removed = pawl_given(cli, "older-than");
    report->has_compacted = pawl_given(cli, "compact");
    report->is_dry = ask.is_dry = pawl_given(cli, "dry-run");
    ask.older_than_ms = pawl_given_age_ms(cli, "older-than");
    ask.max = pawl_given_int64(cli, "max", 1, INT64_MAX, 0);
    enum pawl_code code = check_options(cli, report->has_removed, report->has_compacted);
    if (code == PAWL_OK) code = pawl_given_states(cli, &ask.states);
    if (code == PAWL_OK) code = pawl_cli_begin(cli);
    if (code == PAWL_OK && report->has_removed)
        code = pawl_gc(cli->pawl, &ask, &report->done, &cli->err);
    if (code == PAWL_OK && report->has_compacted)
        code = pawl_compact(cli->pawl, &report->room, &cli->err);
    return code;
}

int pawl_cli_gc(struct pawl_cli *cli)
{
    struct report report = {0};
    if (run(cli, &report) != PAWL_OK) return pawl_cli_fail(cli);
    if (pawl_output_is_table(&cli->out)) {
        show_text(&cli->out, &report);
    } else {
        show_json(cli, &report);
    }
    return 0;
}
