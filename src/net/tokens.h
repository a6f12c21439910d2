/* The tokens of the store, in memory: who a caller is.
 *
 * A token is sent as KEY_ID.KEY_SECRET. The secret has 256 random bits and is shown once; the store
 * and we have its SHA-256. A thread reads the store's tokens anew every PAWL_NET_TOKENS_EVERY_MS,
 * so that a new token is good, and a revoked one no longer, without a word to the server. Once
 * there has been a token callers need one, until the server ends: whoever revokes the last one
 * closes the server and does not open it. */
#ifndef PAWL_NET_TOKENS_H
#define PAWL_NET_TOKENS_H

#include "net/access.h"
#include "net/route.h"
#include "store/token.h"

struct pawl_tokens;

/* Reads them for the first time. What options and log point to is borrowed until close. */
enum pawl_code pawl_tokens_open(struct pawl_tokens **out, const struct pawl_store_options *options,
                                const struct pawl_log *log, struct pawl_error *err) PAWL_MUST_USE;
void pawl_tokens_close(struct pawl_tokens *tokens); /* after the server; takes NULL */

/* Sets what asks us. */
void pawl_tokens_guard(struct pawl_tokens *tokens, struct pawl_access *access);

/* POST /api/token: what clients of Conductor change their key and secret into a token by. */
struct pawl_route_table pawl_tokens_table(struct pawl_tokens *tokens);

/* The text to send for a key and a secret. */
struct pawl_str pawl_token_text(struct pawl_str key_id, struct pawl_str key_secret,
                                struct pawl_arena *keep);

/* A new key and its secret: sets key_id and secret_digest.
 *
 *   fails  PAWL_IO  there is no randomness; the arena's */
enum pawl_code pawl_token_make(struct pawl_token *token, struct pawl_str *key_secret,
                               struct pawl_arena *keep, struct pawl_error *err) PAWL_MUST_USE;

#endif
