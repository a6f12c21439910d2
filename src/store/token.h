/* Tokens, as they are kept. No step knows of them: a write here is a transaction of its own, on a
 * connection of its own, beside whoever has the turn. */
#ifndef PAWL_STORE_TOKEN_H
#define PAWL_STORE_TOKEN_H

#include "store/read.h"

struct pawl_token {
    struct pawl_str name;
    struct pawl_str key_id; /* public; unique */
    struct pawl_str role;   /* by its name */
    struct pawl_str secret_digest;
    int64_t created_at_ms;
};

struct pawl_token_list {
    struct pawl_token *tokens;
    size_t count;
};

/* All of them, by name. */
enum pawl_code pawl_read_tokens(struct pawl_reader *reader, struct pawl_arena *keep,
                                struct pawl_token_list *out, struct pawl_error *err) PAWL_MUST_USE;

/* Of a store that is there, and of the newest schema.
 *
 *   fails  PAWL_CONFLICT  one of this name is there
 *          PAWL_LIMIT     PAWL_TOKENS_MAX are there */
enum pawl_code pawl_token_add(const struct pawl_store_options *options,
                              const struct pawl_token *token, struct pawl_error *err) PAWL_MUST_USE;

/* fails  PAWL_NOT_FOUND */
enum pawl_code pawl_token_remove(const struct pawl_store_options *options, struct pawl_str name,
                                 struct pawl_error *err) PAWL_MUST_USE;

#endif
