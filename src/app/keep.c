/* pawl backup, restore, fsck: looking after a store. None of them opens the store as other commands
 * do. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/listing.h"
#include "app/location.h"
#include "app/show.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/str.h"
#include "core/limits.h"

#include <inttypes.h>
#include <stdio.h>

/* What was given is well formed, and where the store is. */
static enum pawl_code find_store(struct pawl_cli *cli, bool creates)
{
    enum pawl_code code = pawl_given_code(cli);
    struct pawl_str server;
    if (code == PAWL_OK) code = pawl_cli_find_server(cli, &server); /* none: it works on a store */
    if (code != PAWL_OK) return code;
    return pawl_location_find(pawl_given_text(cli, "db"), creates, cli->keep, &cli->store,
                              &cli->err);
}

/* ---- Backup -----------------------------------------------------------------------------------
 */

int pawl_cli_backup(struct pawl_cli *cli)
{
    struct pawl_backup ask = PAWL_BACKUP_INIT;
    struct pawl_backup_done done = {0};
    enum pawl_code code = find_store(cli, false);
    ask.store = cli->store;
    ask.to = pawl_word(cli, 0);
    ask.replace = pawl_given(cli, "replace");
    if (code == PAWL_OK) code = pawl_backup(&ask, &done, &cli->err);
    if (code == PAWL_CONFLICT && !ask.replace) {
        (void)pawl_error_set(&cli->err, code, "there is a file %.*s already; --replace writes over it",
                             PAWL_STR_ARG(ask.to));
    }
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    if (cli->out.form == PAWL_FORM_NAME) {
        pawl_output_text(&cli->out, ask.to);
        return 0;
    }
    if (pawl_output_is_table(&cli->out)) {
        (void)fprintf(cli->out.file, "%.*s: %" PRId64 " bytes, checked\n", PAWL_STR_ARG(ask.to),
                      done.bytes);
        return 0;
    }
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, cli->scratch);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "to", ask.to);
    pawl_json_put_member_int64(&w, "bytes", done.bytes);
    pawl_json_end_object(&w);
    pawl_output_json_line(&cli->out, pawl_json_writer_done(&w));
    return 0;
}

/* ---- Restore ----------------------------------------------------------------------------------
 */

static enum pawl_code check_restore(struct pawl_cli *cli)
{
    bool raises = pawl_given(cli, "raise-epochs");
    if (raises == (cli->arguments.word_count == 1)) {
        return pawl_error_set(
            &cli->err, PAWL_INVALID,
            "name the backup, or, for a store that is back by other means, --raise-epochs");
    }
    if (!pawl_given(cli, "yes")) {
        return pawl_error_set(&cli->err, PAWL_INVALID,
                              "%s; stop all workers and programs that use it, then say --yes",
                              raises ? "every lease is lost" : "the store is replaced");
    }
    return find_store(cli, !raises);
}

/* from is empty where only the epochs were raised. The store is not named: its address may hold a
 * password. */
static void show_restored(struct pawl_cli *cli, struct pawl_str from)
{
    if (cli->out.form == PAWL_FORM_NAME) {
        pawl_output_text(&cli->out, from);
        return;
    }
    if (pawl_output_is_table(&cli->out)) {
        (void)fprintf(cli->out.file, "%.*s%severy epoch is raised by %d\n", PAWL_STR_ARG(from),
                      from.len > 0 ? ": restored, and " : "", PAWL_RESTORE_RAISE);
        return;
    }
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, cli->scratch);
    pawl_json_begin_object(&w);
    pawl_show_text(&w, "from", from);
    pawl_json_put_member_int64(&w, "epochs_raised_by", PAWL_RESTORE_RAISE);
    pawl_json_end_object(&w);
    pawl_output_json_line(&cli->out, pawl_json_writer_done(&w));
}

int pawl_cli_restore(struct pawl_cli *cli)
{
    struct pawl_restore ask = PAWL_RESTORE_INIT;
    bool raises = pawl_given(cli, "raise-epochs");
    enum pawl_code code = check_restore(cli);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    ask.store = cli->store;
    ask.is_confirmed = true;
    if (!raises) ask.from = pawl_word(cli, 0);
    code = raises ? pawl_epochs_raise_all(&ask, &cli->err) : pawl_restore(&ask, &cli->err);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    show_restored(cli, raises ? (struct pawl_str){0} : ask.from);
    return 0;
}

/* ---- Fsck -------------------------------------------------------------------------------------
 */

/* clang-format off */
static const struct pawl_column columns[] = {
    {"CHECK", false, false}, {"KEY", true, true}, {"TASK", false, false}, {"REPAIR", false, false},
    {"FINDING", false, false}, {NULL, false, false},
};
/* clang-format on */

enum { ROWS_HELD_MAX = 1000 };

struct checking {
    struct pawl_cli *cli;
    struct pawl_listing listing;
    int64_t held;
};

static struct pawl_str finding_json(struct pawl_arena *arena,
                                    const struct pawl_fsck_finding *finding)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "check", pawl_str_of(finding->check));
    pawl_show_text(&w, "task_id", finding->task_id);
    pawl_json_put_member_int64(&w, "key", finding->key);
    pawl_json_put_member_text(&w, "text", finding->text);
    pawl_json_put_member_text(&w, "advice", finding->advice);
    pawl_json_put_member_bool(&w, "can_repair", finding->can_repair);
    pawl_json_put_member_bool(&w, "is_repaired", finding->is_repaired);
    pawl_json_end_object(&w);
    return pawl_json_writer_done(&w);
}

static void show_finding(void *self, const struct pawl_fsck_finding *finding)
{
    struct checking *checking = self;
    struct pawl_listing *listing = &checking->listing;
    struct pawl_arena *arena = listing->arena;
    if (listing->out->form == PAWL_FORM_NAME) {
        pawl_listing_name(listing, pawl_str_of(finding->check));
    } else if (!pawl_output_is_table(listing->out)) {
        pawl_listing_json(listing, finding_json(arena, finding));
    } else {
        const struct pawl_cell cells[] = {
            {pawl_str_of(finding->check), NULL},
            {pawl_arena_format(arena, "%" PRId64, finding->key), NULL},
            {pawl_arena_copy(arena, finding->task_id), NULL},
            {finding->is_repaired  ? PAWL_STR("done")
             : finding->can_repair ? PAWL_STR("--repair")
                                   : PAWL_STR("no"),
             NULL},
            {pawl_arena_format(arena, "%.*s; %.*s", PAWL_STR_ARG(finding->text),
                               PAWL_STR_ARG(finding->advice)),
             NULL},
        };
        pawl_listing_cells(listing, cells);
    }
    if (++checking->held < ROWS_HELD_MAX) return;
    pawl_listing_flush(listing);
    pawl_arena_reset(arena);
    checking->held = 0;
}

static void write_log(void *self, enum pawl_log_level level, struct pawl_str line)
{
    (void)self;
    (void)level;
    (void)fprintf(stderr, "%.*s\n", PAWL_STR_ARG(line));
}

int pawl_cli_fsck(struct pawl_cli *cli)
{
    struct checking checking = {.cli = cli};
    struct pawl_fsck ask = PAWL_FSCK_INIT;
    struct pawl_fsck_done done = {0};
    enum pawl_code code = find_store(cli, false);
    ask.store = cli->store;
    ask.repair = pawl_given(cli, "repair");
    ask.skip_file = pawl_given(cli, "skip-file");
    ask.let_out = pawl_given_text(cli, "let-out");
    ask.self = &checking;
    ask.found = show_finding;
    ask.log = write_log;
    pawl_listing_begin(&checking.listing, &cli->out, cli->scratch, "findings", columns);
    if (code == PAWL_OK) code = pawl_fsck(&ask, &done, &cli->err);
    if (code != PAWL_OK) return pawl_cli_fail(cli);
    struct pawl_str tail = pawl_arena_format(
        cli->keep, ",\"rows\":%" PRId64 ",\"found\":%" PRId64 ",\"repaired\":%" PRId64, done.rows,
        done.found, done.repaired);
    pawl_listing_end(&checking.listing, tail);
    if (cli->out.form != PAWL_FORM_JSON) { /* which has them */
        (void)fprintf(stderr,
                      "%" PRId64 " rows, %" PRId64 " findings, %" PRId64 " of them repaired\n",
                      done.rows, done.found, done.repaired);
    }
    return done.found > done.repaired ? PAWL_EXIT_WORK_FAILED : 0;
}
