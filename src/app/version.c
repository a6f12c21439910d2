/* pawl version. */
#include "app/cli.h"
#include "app/commands.h"

int pawl_cli_version(struct pawl_cli *cli)
{
    const struct pawl_output *out = &cli->out;
    bool is_json = out->form == PAWL_FORM_JSON || out->form == PAWL_FORM_JSONL;
    /* Everybody's scripts expect a line of text here, so JSON comes only when asked for. */
    if (is_json && pawl_given(cli, "output")) {
        (void)fprintf(out->file, "{\"version\":\"%s\"}\n", PAWL_VERSION_TEXT);
    } else {
        (void)fprintf(out->file, "pawl %s\n", PAWL_VERSION_TEXT);
    }
    return 0;
}
