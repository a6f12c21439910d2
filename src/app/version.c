/* pawl version: ours, and that of SQLite, whose faults are ours too. */
#include "app/cli.h"
#include "app/commands.h"

#include <sqlite3.h>

enum {
    /* Before it, a checkpoint that races a reset of the log can lose a commit (store/sqlite.c). */
    SQLITE_VERSION_MENDED = 3051003,
};

int pawl_cli_version(struct pawl_cli *cli)
{
    const struct pawl_output *out = &cli->out;
    bool is_json = out->form == PAWL_FORM_JSON || out->form == PAWL_FORM_JSONL;
    /* Everybody's scripts expect lines of text here, so JSON comes only when asked for. */
    if (is_json && pawl_given(cli, "output")) {
        (void)fprintf(out->file, "{\"version\":\"%s\",\"sqlite_version\":\"%s\"}\n",
                      PAWL_VERSION_TEXT, sqlite3_libversion());
        return 0;
    }
    (void)fprintf(out->file, "pawl %s\nSQLite %s\n", PAWL_VERSION_TEXT, sqlite3_libversion());
    if (sqlite3_libversion_number() < SQLITE_VERSION_MENDED) {
        (void)fprintf(out->file,
                      "SQLite before 3.51.3 can lose a commit when a checkpoint races a reset of "
                      "the log;\nfor that reason the checkpoints of a store are run by one process "
                      "at a time.\n");
    }
    return 0;
}
