#include "store/token.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "store/reader.h"

struct listing {
    struct pawl_arena *keep;
    struct pawl_token *tokens; /* room for PAWL_TOKENS_MAX */
    size_t count;
};

/* TOKENS: name, key_id, role, secret_digest, created_at_ms */
static enum pawl_code on_token(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct listing *listing = self;
    listing->tokens[listing->count++] = (struct pawl_token){
        .name = pawl_arena_copy(listing->keep, pawl_db_text(row, 0)),
        .key_id = pawl_arena_copy(listing->keep, pawl_db_text(row, 1)),
        .role = pawl_arena_copy(listing->keep, pawl_db_text(row, 2)),
        .secret_digest = pawl_arena_copy(listing->keep, pawl_db_text(row, 3)),
        .created_at_ms = pawl_db_int64(row, 4),
    };
    return PAWL_OK;
}

enum pawl_code pawl_read_tokens(struct pawl_reader *reader, struct pawl_arena *keep,
                                struct pawl_token_list *out, struct pawl_error *err)
{
    struct pawl_value values[] = {pawl_text((struct pawl_str){0}), pawl_int(PAWL_TOKENS_MAX)};
    struct listing listing = {.keep = keep};
    listing.tokens = pawl_arena_take(keep, PAWL_TOKENS_MAX * sizeof *listing.tokens);
    if (listing.tokens == NULL)
        return pawl_error_set(err, pawl_arena_code(keep), "no room for the tokens");
    enum pawl_code code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = pawl_reader_ask(reader, PAWL_SQL_TOKENS, values, PAWL_COUNT_OF(values), on_token,
                           &listing, err);
    code = pawl_reader_end(reader, keep, code, err);
    if (code == PAWL_OK) *out = (struct pawl_token_list){listing.tokens, listing.count};
    return code;
}

/* ---- Writes ---------------------------------------------------------------------------------- */

static enum pawl_code begin(const struct pawl_store_options *options, struct pawl_db **out,
                            struct pawl_error *err)
{
    const struct pawl_db_options with = {
        .target = options->target,
        .must_exist = true,
        .vfs = options->vfs,
        .schema = options->schema,
        .log = options->log,
    };
    struct pawl_db *db = NULL;
    enum pawl_code code = pawl_db_open(&db, &with, err);
    if (code == PAWL_OK) code = pawl_db_begin(db, true, err);
    if (code != PAWL_OK) {
        pawl_db_close(db);
        return code;
    }
    *out = db;
    return PAWL_OK;
}

static enum pawl_code end(struct pawl_db *db, enum pawl_code code, struct pawl_error *err)
{
    if (code == PAWL_OK) code = pawl_db_commit(db, err);
    pawl_db_close(db); /* rolls back */
    return code;
}

struct search {
    struct pawl_str name;
    bool is_found;
    size_t count;
};

/* TOKENS, of which the first column alone */
static enum pawl_code on_name(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct search *search = self;
    search->count++;
    if (pawl_str_equal(pawl_db_text(row, 0), search->name)) search->is_found = true;
    return PAWL_OK;
}

static enum pawl_code look(struct pawl_db *db, struct search *search, struct pawl_error *err)
{
    struct pawl_value values[] = {pawl_text((struct pawl_str){0}), pawl_int(PAWL_TOKENS_MAX)};
    enum pawl_code code =
        pawl_db_send(db, PAWL_SQL_TOKENS, values, PAWL_COUNT_OF(values), on_name, search, err);
    return code == PAWL_OK ? pawl_db_flush(db, err) : code;
}

enum pawl_code pawl_token_add(const struct pawl_store_options *options,
                              const struct pawl_token *token, struct pawl_error *err)
{
    struct pawl_db *db = NULL;
    struct search search = {.name = token->name};
    enum pawl_code code = begin(options, &db, err);
    if (code != PAWL_OK) return code;
    code = look(db, &search, err);
    if (code == PAWL_OK && search.is_found) {
        code = pawl_error_set(err, PAWL_CONFLICT, "there is a token %.*s already",
                              PAWL_STR_ARG(token->name));
    }
    if (code == PAWL_OK && search.count >= PAWL_TOKENS_MAX) {
        code = pawl_error_set(err, PAWL_LIMIT, "there are %d tokens already; revoke some",
                              PAWL_TOKENS_MAX);
    }
    struct pawl_value values[] = {pawl_text(token->name), pawl_text(token->key_id),
                                  pawl_text(token->role), pawl_text(token->secret_digest),
                                  pawl_int(token->created_at_ms)};
    if (code == PAWL_OK) {
        code = pawl_db_change(db, PAWL_SQL_TOKEN_ADD, values, PAWL_COUNT_OF(values), true, err);
    }
    return end(db, code, err);
}

enum pawl_code pawl_token_remove(const struct pawl_store_options *options, struct pawl_str name,
                                 struct pawl_error *err)
{
    struct pawl_db *db = NULL;
    struct search search = {.name = name};
    struct pawl_value value = pawl_text(name);
    enum pawl_code code = begin(options, &db, err);
    if (code != PAWL_OK) return code;
    code = look(db, &search, err);
    if (code == PAWL_OK && !search.is_found)
        code = pawl_error_set(err, PAWL_NOT_FOUND, "there is no token %.*s", PAWL_STR_ARG(name));
    if (code == PAWL_OK) code = pawl_db_change(db, PAWL_SQL_TOKEN_REMOVE, &value, 1, true, err);
    return end(db, code, err);
}
