/* pawl import: the tasks of an older task manager, and the report of what became of them. */
#include "import/import.h"
#include "app/cli.h"
#include "app/commands.h"
#include "base/arena.h"
#include "base/json_writer.h"
#include "base/str.h"

#include <inttypes.h>

/* ---- The report ------------------------------------------------------------------------------ */

static void put_remarks(struct pawl_json_writer *w, const char *key,
                        const struct pawl_import_remarks *list)
{
    pawl_json_put_key(w, key);
    pawl_json_begin_array(w);
    for (const struct pawl_import_remark *at = list->first; at != NULL; at = at->next) {
        pawl_json_begin_object(w);
        pawl_json_put_member_text(w, "task", at->task);
        pawl_json_put_member_text(w, "text", at->text);
        pawl_json_end_object(w);
    }
    pawl_json_end_array(w);
}

static void put_counts(struct pawl_json_writer *w, const struct pawl_import_report *report)
{
    pawl_json_put_member_int64(w, "tasks", report->task_count);
    pawl_json_put_key(w, "states");
    pawl_json_begin_object(w);
    for (int i = 0; i < PAWL_TASK_STATE_COUNT; i++) {
        if (report->state_counts[i] == 0) continue;
        pawl_json_put_member_int64(w, pawl_task_state_name((enum pawl_task_state)i),
                                   report->state_counts[i]);
    }
    pawl_json_end_object(w);
    pawl_json_put_member_int64(w, "handed_back", report->handed_back_count);
    pawl_json_put_member_int64(w, "spent", report->spent_count);
    pawl_json_put_member_int64(w, "unsettled", report->unsettled_count);
    pawl_json_put_member_int64(w, "checkpoints", report->checkpoint_count);
    pawl_json_put_member_int64(w, "events", report->event_count);
    pawl_json_put_key(w, "ignored_keys");
    pawl_json_begin_object(w);
    for (size_t i = 0; i < pawl_map_count(&report->ignored_keys); i++) {
        const struct pawl_map_entry *entry = pawl_map_entry(&report->ignored_keys, i);
        pawl_json_put_key_str(w, entry->text);
        pawl_json_put_int64(w, entry->value == NULL ? 0 : *(const int64_t *)entry->value);
    }
    pawl_json_end_object(w);
}

static void print_json(struct pawl_cli *cli, const struct pawl_importer *importer, bool is_imported)
{
    const struct pawl_import_report *report = &importer->report;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, report->arena); /* no budget: a report is as long as what it tells */
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "file", pawl_str_of(importer->file.path));
    pawl_json_put_member_text(&w, "form", report->form);
    pawl_json_put_member_int64(&w, "schema", report->schema);
    pawl_json_put_member_text(&w, "digest", report->digest);
    pawl_json_put_member_bool(&w, "imported", is_imported);
    put_counts(&w, report);
    put_remarks(&w, "refused", &report->refused);
    put_remarks(&w, "changed", &report->changed);
    pawl_json_end_object(&w);
    pawl_output_json_line(&cli->out, pawl_json_writer_done(&w));
}

static void print_remarks(struct pawl_cli *cli, const char *what,
                          const struct pawl_import_remarks *list)
{
    for (const struct pawl_import_remark *at = list->first; at != NULL; at = at->next) {
        struct pawl_arena_mark mark = pawl_arena_mark(cli->scratch);
        struct pawl_str line = pawl_arena_format(cli->scratch, "%s %.*s: %.*s", what,
                                                 PAWL_STR_ARG(at->task), PAWL_STR_ARG(at->text));
        pawl_output_text(&cli->out, pawl_text_clean(cli->scratch, line));
        pawl_arena_rewind(cli->scratch, mark);
    }
}

static void print_text(struct pawl_cli *cli, const struct pawl_importer *importer, bool is_imported)
{
    const struct pawl_import_report *report = &importer->report;
    FILE *file = cli->out.file;
    (void)fprintf(file, "%" PRId64 " task%s in %s:", report->task_count,
                  report->task_count == 1 ? "" : "s", importer->file.path);
    for (int i = 0; i < PAWL_TASK_STATE_COUNT; i++) {
        if (report->state_counts[i] == 0) continue;
        (void)fprintf(file, " %" PRId64 " %s", report->state_counts[i],
                      pawl_task_state_name((enum pawl_task_state)i));
    }
    (void)fprintf(file, "; %" PRId64 " checkpoints, %" PRId64 " events\n", report->checkpoint_count,
                  report->event_count);
    if (report->handed_back_count > 0) {
        (void)fprintf(file, "%" PRId64 " RUNNING: queued again, a retry charged\n",
                      report->handed_back_count);
    }
    if (report->spent_count > 0) {
        (void)fprintf(file, "%" PRId64 " RUNNING with no try left: DEAD_LETTER\n",
                      report->spent_count);
    }
    if (report->unsettled_count > 0) {
        (void)fprintf(file,
                      "%" PRId64 " RUNNING elsewhere: RECOVERY_PENDING, for `pawl task resolve`\n",
                      report->unsettled_count);
    }
    for (size_t i = 0; i < pawl_map_count(&report->ignored_keys); i++) {
        const struct pawl_map_entry *entry = pawl_map_entry(&report->ignored_keys, i);
        (void)fprintf(file, "ignored %.*s: not known here, %" PRId64 " times\n",
                      PAWL_STR_ARG(entry->text),
                      entry->value == NULL ? 0 : *(const int64_t *)entry->value);
    }
    print_remarks(cli, "changed", &report->changed);
    print_remarks(cli, "refused", &report->refused);
    (void)fprintf(file, is_imported ? "imported\n" : "nothing was imported\n");
}

/* ---- The command ----------------------------------------------------------------------------- */

/* A trial looks at the store too, if there is one. */
static enum pawl_code run(struct pawl_cli *cli, struct pawl_importer *importer, bool is_trial)
{
    struct pawl_options options = PAWL_OPTIONS_INIT;
    options.driven = true;
    enum pawl_code code = pawl_cli_open_for(cli, &options, !is_trial);
    if (is_trial && code == PAWL_NOT_FOUND) {
        cli->err = (struct pawl_error){0};
        return PAWL_OK;
    }
    return code == PAWL_OK ? pawl_importer_run(importer, cli->pawl, is_trial, &cli->err) : code;
}

int pawl_cli_import(struct pawl_cli *cli)
{
    bool is_trial = pawl_given(cli, "dry-run");
    bool is_json = pawl_given(cli, "json") || !pawl_output_is_table(&cli->out);
    struct pawl_importer importer = {.file = {.fd = -1}};
    enum pawl_code code = pawl_given_code(cli);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    code =
        pawl_importer_open(&importer, pawl_arena_c_text(cli->keep, pawl_word(cli, 0)), &cli->err);
    if (code == PAWL_OK) code = run(cli, &importer, is_trial);
    if (importer.is_open) {
        (is_json ? print_json : print_text)(cli, &importer, code == PAWL_OK && !is_trial);
    }
    pawl_importer_close(&importer);
    return code == PAWL_OK ? 0 : pawl_cli_fail(cli);
}
