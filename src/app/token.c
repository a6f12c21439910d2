/* pawl token: create, list, revoke. */
#include "app/cli.h"
#include "app/commands.h"
#include "app/listing.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/str.h"
#include "core/check.h"
#include "core/limits.h"
#include "engine/engine.h"
#include "net/tokens.h"

/* clang-format off */
static const struct pawl_column list_columns[] = {
    {"NAME", false, false}, {"ROLE", false, false}, {"KEY ID", false, false}, {"CREATED", false, false},
    {NULL, false, false},
};
/* clang-format on */

static struct pawl_str token_json(struct pawl_arena *arena, const struct pawl_token *token,
                                  struct pawl_str key_secret)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "name", token->name);
    pawl_json_put_member_text(&w, "role", token->role);
    pawl_json_put_member_text(&w, "key_id", token->key_id);
    pawl_json_put_member_int64(&w, "created_at_ms", token->created_at_ms);
    if (key_secret.len > 0) {
        pawl_json_put_member_text(&w, "key_secret", key_secret);
        pawl_json_put_member_text(&w, "token", pawl_token_text(token->key_id, key_secret, arena));
    }
    pawl_json_end_object(&w);
    return pawl_json_writer_done(&w);
}

/* ---- create ---------------------------------------------------------------------------------- */

static void tell_created(struct pawl_cli *cli, const struct pawl_token *token,
                         struct pawl_str key_secret)
{
    const struct pawl_output *out = &cli->out;
    struct pawl_str text = pawl_token_text(token->key_id, key_secret, cli->scratch);
    if (out->form == PAWL_FORM_NAME) {
        pawl_output_text(out, text);
    } else if (!pawl_output_is_table(out)) {
        pawl_output_json_line(out, token_json(cli->scratch, token, key_secret));
    } else {
        (void)fprintf(out->file, "key id      %.*s\nkey secret  %.*s\ntoken       %.*s\n",
                      PAWL_STR_ARG(token->key_id), PAWL_STR_ARG(key_secret), PAWL_STR_ARG(text));
        (void)fputs("The secret is not kept: it is shown this once.\n", stderr);
    }
}

static enum pawl_code create(struct pawl_cli *cli)
{
    struct pawl_token token = {.name = pawl_word(cli, 0), .role = pawl_given_text(cli, "role")};
    struct pawl_str key_secret;
    enum pawl_role role;
    enum pawl_code code = pawl_check_name("name", token.name, PAWL_TOKEN_NAME_BYTES_MAX, &cli->err);
    if (code != PAWL_OK) return code;
    if (!pawl_role_parse(token.role, &role) || role == PAWL_ROLE_NONE) {
        return pawl_error_set(&cli->err, PAWL_INVALID,
                              "role: viewer, worker, operator or admin is wanted (--role)");
    }
    code = pawl_cli_begin(cli);
    if (code == PAWL_OK) code = pawl_token_make(&token, &key_secret, cli->keep, &cli->err);
    if (code != PAWL_OK) return code;
    token.created_at_ms = pawl_wall_ms();
    code = pawl_token_add(&cli->pawl->store_options, &token, &cli->err);
    if (code == PAWL_OK) tell_created(cli, &token, key_secret);
    return code;
}

int pawl_cli_token_create(struct pawl_cli *cli)
{
    return create(cli) == PAWL_OK ? 0 : pawl_cli_fail(cli);
}

/* ---- list ------------------------------------------------------------------------------------ */

static enum pawl_code read_list(struct pawl_cli *cli, struct pawl_token_list *list)
{
    struct pawl_reader *reader = NULL;
    enum pawl_code code = pawl_cli_begin(cli);
    if (code == PAWL_OK) code = pawl_reader_open(&reader, &cli->pawl->store_options, &cli->err);
    if (code == PAWL_OK) code = pawl_read_tokens(reader, cli->keep, list, &cli->err);
    pawl_reader_close(reader);
    return code;
}

int pawl_cli_token_list(struct pawl_cli *cli)
{
    struct pawl_listing listing;
    struct pawl_token_list list;
    if (read_list(cli, &list) != PAWL_OK) return pawl_cli_fail(cli);
    pawl_listing_begin(&listing, &cli->out, cli->scratch, "tokens", list_columns);
    for (size_t i = 0; i < list.count; i++) {
        const struct pawl_token *token = &list.tokens[i];
        if (cli->out.form == PAWL_FORM_NAME) {
            pawl_listing_name(&listing, token->name);
        } else if (!pawl_output_is_table(&cli->out)) {
            pawl_listing_json(&listing, token_json(cli->scratch, token, (struct pawl_str){0}));
        } else {
            const struct pawl_cell cells[] = {
                {token->name, NULL},
                {token->role, NULL},
                {token->key_id, NULL},
                {pawl_time_text(&cli->out, cli->scratch, token->created_at_ms), NULL},
            };
            pawl_listing_cells(&listing, cells);
        }
    }
    pawl_listing_end(&listing, PAWL_STR(""));
    return 0;
}

/* ---- revoke ---------------------------------------------------------------------------------- */

int pawl_cli_token_revoke(struct pawl_cli *cli)
{
    enum pawl_code code = pawl_cli_begin(cli);
    if (code == PAWL_OK)
        code = pawl_token_remove(&cli->pawl->store_options, pawl_word(cli, 0), &cli->err);
    return code == PAWL_OK ? 0 : pawl_cli_fail(cli);
}
