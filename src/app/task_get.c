/* pawl task get: all there is to know about one task. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/listing.h"
#include "app/show.h"
#include "app/watch.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <inttypes.h>

/* What is asked for; counts are 0 for what is not. */
struct details {
    struct pawl_task task;
    struct pawl_str why;
    struct pawl_events history;
    struct pawl_checkpoints checkpoints;
    struct pawl_late_results late;
};

/* ---- Loading --------------------------------------------------------------------------------- */

/* All pages in one array. */
static enum pawl_code load_history(struct pawl_cli *cli, struct pawl_str id,
                                   struct pawl_events *out)
{
    struct pawl_event *all = NULL;
    size_t count = 0;
    for (;;) {
        struct pawl_events page;
        int64_t after = count == 0 ? 0 : all[count - 1].sequence;
        enum pawl_code code =
            cli->calls->task_history(cli->asked, id, after, PAWL_BATCH_MAX, cli->scratch, &page, &cli->err);
        if (code != PAWL_OK) return code;
        if (page.count == 0) break;
        all = pawl_arena_resize(cli->scratch, all, count * sizeof *all,
                                (count + page.count) * sizeof *all);
        if (all == NULL) {
            return pawl_error_set(&cli->err, pawl_arena_code(cli->scratch),
                                  "the history is too long");
        }
        for (size_t i = 0; i < page.count; i++) all[count + i] = page.events[i];
        count += page.count;
    }
    *out = (struct pawl_events){.events = all, .count = count};
    return PAWL_OK;
}

static enum pawl_code load(struct pawl_cli *cli, struct pawl_str id, struct details *out)
{
    enum pawl_code code = cli->calls->task_get(cli->asked, id, true, cli->scratch, &out->task, &cli->err);
    if (code == PAWL_OK) code = cli->calls->task_why(cli->asked, id, cli->scratch, &out->why, &cli->err);
    if (code == PAWL_OK && pawl_given(cli, "history")) code = load_history(cli, id, &out->history);
    if (code == PAWL_OK && pawl_given(cli, "checkpoints")) {
        code = cli->calls->task_checkpoints(cli->asked, id, cli->scratch, &out->checkpoints, &cli->err);
    }
    if (code == PAWL_OK && pawl_given(cli, "late")) {
        code = cli->calls->task_late_results(cli->asked, id, cli->scratch, &out->late, &cli->err);
    }
    return code;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_history(struct pawl_json_writer *w, const struct pawl_events *history)
{
    pawl_json_put_key(w, "history");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < history->count; i++) {
        pawl_json_begin_object(w);
        pawl_show_event_json(w, &history->events[i]);
        pawl_json_end_object(w);
    }
    pawl_json_end_array(w);
}

static void put_checkpoints(struct pawl_json_writer *w, const struct pawl_checkpoints *checkpoints)
{
    pawl_json_put_key(w, "checkpoints");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < checkpoints->count; i++) {
        const struct pawl_checkpoint *checkpoint = &checkpoints->checkpoints[i];
        pawl_json_begin_object(w);
        pawl_json_put_member_text(w, "id", checkpoint->id);
        pawl_json_put_member_int64(w, "step", checkpoint->step);
        pawl_json_put_member_int64(w, "at_ms", checkpoint->at_ms);
        pawl_json_put_member_int64(w, "epoch", checkpoint->epoch);
        pawl_json_put_member_raw(w, "state", checkpoint->state);
        pawl_json_end_object(w);
    }
    pawl_json_end_array(w);
}

static void put_late(struct pawl_json_writer *w, const struct pawl_late_results *late)
{
    pawl_json_put_key(w, "late_results");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < late->count; i++) {
        const struct pawl_late_result *result = &late->results[i];
        pawl_json_begin_object(w);
        pawl_json_put_member_int64(w, "at_ms", result->at_ms);
        pawl_json_put_member_int64(w, "epoch", result->epoch);
        pawl_show_text(w, "owner", result->owner);
        pawl_json_put_member_text(w, "kind", result->kind);
        pawl_show_text(w, "body", result->body);
        pawl_json_end_object(w);
    }
    pawl_json_end_array(w);
}

static void draw_json(struct pawl_cli *cli, const struct details *details)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, cli->scratch);
    pawl_json_begin_object(&w);
    pawl_show_task_json(&w, &details->task, true);
    pawl_show_text(&w, "why", details->why);
    if (pawl_given(cli, "history")) put_history(&w, &details->history);
    if (pawl_given(cli, "checkpoints")) put_checkpoints(&w, &details->checkpoints);
    if (pawl_given(cli, "late")) put_late(&w, &details->late);
    pawl_json_end_object(&w);
    pawl_output_json_line(&cli->out, pawl_json_writer_done(&w));
}

/* ---- Table ----------------------------------------------------------------------------------- */

/* A line of name and value, if there is a value. */
static void put_line(struct pawl_cli *cli, const char *name, struct pawl_str value)
{
    if (value.len == 0 || pawl_str_equal(value, PAWL_STR("-"))) return;
    struct pawl_str clean = pawl_text_clean(cli->scratch, value);
    (void)fprintf(cli->out.file, "%-13s %.*s\n", name, PAWL_STR_ARG(clean));
}

static void put_instant(struct pawl_cli *cli, const char *name, int64_t at_ms)
{
    put_line(cli, name, pawl_time_text(&cli->out, cli->scratch, at_ms));
}

static void draw_lines(struct pawl_cli *cli, const struct details *details)
{
    struct pawl_arena *scratch = cli->scratch;
    const struct pawl_task *task = &details->task;
    put_line(cli, "id", task->id);
    put_line(cli, "queue", task->queue);
    put_line(cli, "title", task->title);
    put_line(cli, "goal", task->goal);
    put_line(cli, "state", pawl_show_state(scratch, task));
    put_line(cli, "asked because", task->control_reason);
    put_line(cli, "why", details->why);
    put_line(cli, "recovery", task->recovery_note);
    put_instant(cli, "looked again", task->recovery_look_at_ms);
    put_line(cli, "error", task->error);
    put_line(cli, "priority", pawl_arena_format(scratch, "%" PRId32, task->priority));
    put_line(cli, "progress", pawl_arena_format(scratch, "%.1f%%", task->progress));
    put_line(cli, "failed tries", pawl_show_tries(scratch, task, " of "));
    put_line(cli, "epoch", pawl_arena_format(scratch, "%" PRId64, task->epoch));
    put_line(cli, "version", pawl_arena_format(scratch, "%" PRId64, task->version));
    put_line(cli, "owner", task->owner);
    put_instant(cli, "lease end", task->lease_end_at_ms);
    put_line(cli, "lease", pawl_duration_text(scratch, task->lease_ms));
    put_instant(cli, "asked until", task->control_deadline_at_ms);
    if (task->recoveries > 0) {
        put_line(cli, "recoveries", pawl_arena_format(scratch, "%" PRId32, task->recoveries));
    }
    put_instant(cli, "not before", task->next_retry_at_ms);
    put_line(cli, "timeout", pawl_duration_text(scratch, task->timeout_ms));
    put_instant(cli, "created", task->created_at_ms);
    put_instant(cli, "updated", task->updated_at_ms);
    put_instant(cli, "started", task->started_at_ms);
    put_instant(cli, "finished", task->finished_at_ms);
    for (size_t i = 0; i < task->depends_on_count; i++) {
        put_line(cli, "depends on", task->depends_on[i]);
    }
    put_line(cli, "blocked by", task->blocked_by);
    put_line(cli, "correlation", task->correlation_id);
    put_line(cli, "key", task->key);
    put_line(cli, "metadata", task->metadata);
    put_line(cli, "input", task->input);
    put_line(cli, "result", task->result);
}

static void draw_history(struct pawl_cli *cli, const struct pawl_events *history)
{
    struct pawl_listing listing;
    (void)fprintf(cli->out.file, "\nHistory\n");
    pawl_listing_begin(&listing, &cli->out, cli->scratch, "history", pawl_event_columns);
    for (size_t i = 0; i < history->count; i++) pawl_show_event(&listing, &history->events[i]);
    pawl_listing_end(&listing, PAWL_STR(""));
}

static void draw_checkpoints(struct pawl_cli *cli, const struct pawl_checkpoints *checkpoints)
{
    static const struct pawl_column columns[] = {
        {"STEP", true, false},   {"AT", false, false}, {"EPOCH", true, false},
        {"STATE", false, false}, {NULL, false, false},
    };
    struct pawl_listing listing;
    (void)fprintf(cli->out.file, "\nCheckpoints\n");
    pawl_listing_begin(&listing, &cli->out, cli->scratch, "checkpoints", columns);
    for (size_t i = 0; i < checkpoints->count; i++) {
        const struct pawl_checkpoint *at = &checkpoints->checkpoints[i];
        const struct pawl_cell cells[] = {
            {pawl_arena_format(cli->scratch, "%" PRId32, at->step), NULL},
            {pawl_time_text(&cli->out, cli->scratch, at->at_ms), NULL},
            {pawl_arena_format(cli->scratch, "%" PRId64, at->epoch), NULL},
            {at->state, NULL},
        };
        pawl_listing_cells(&listing, cells);
    }
    pawl_listing_end(&listing, PAWL_STR(""));
}

static void draw_late(struct pawl_cli *cli, const struct pawl_late_results *late)
{
    static const struct pawl_column columns[] = {
        {"AT", false, false},   {"EPOCH", true, false}, {"OWNER", false, false},
        {"KIND", false, false}, {"BODY", false, false}, {NULL, false, false},
    };
    struct pawl_listing listing;
    (void)fprintf(cli->out.file, "\nLate results\n");
    pawl_listing_begin(&listing, &cli->out, cli->scratch, "late_results", columns);
    for (size_t i = 0; i < late->count; i++) {
        const struct pawl_late_result *at = &late->results[i];
        const struct pawl_cell cells[] = {
            {pawl_time_text(&cli->out, cli->scratch, at->at_ms), NULL},
            {pawl_arena_format(cli->scratch, "%" PRId64, at->epoch), NULL},
            {at->owner, NULL},
            {at->kind, NULL},
            {at->body, NULL},
        };
        pawl_listing_cells(&listing, cells);
    }
    pawl_listing_end(&listing, PAWL_STR(""));
}

static enum pawl_code draw(struct pawl_cli *cli, void *self)
{
    (void)self;
    struct details details = {0};
    enum pawl_code code = load(cli, pawl_word(cli, 0), &details);
    if (code != PAWL_OK) return code;
    if (cli->out.form == PAWL_FORM_NAME) {
        pawl_output_text(&cli->out, details.task.id);
    } else if (!pawl_output_is_table(&cli->out)) {
        draw_json(cli, &details);
    } else {
        draw_lines(cli, &details);
        if (details.history.count > 0) draw_history(cli, &details.history);
        if (details.checkpoints.count > 0) draw_checkpoints(cli, &details.checkpoints);
        if (details.late.count > 0) draw_late(cli, &details.late);
    }
    code = pawl_arena_code(cli->scratch);
    return code == PAWL_OK ? code : pawl_error_set(&cli->err, code, "the task takes too much room");
}

int pawl_cli_task_get(struct pawl_cli *cli)
{
    if (pawl_cli_begin(cli) != PAWL_OK) return pawl_cli_fail(cli);
    return pawl_watch(cli, draw, NULL);
}
