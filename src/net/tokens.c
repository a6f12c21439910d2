#include "net/tokens.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "net/exchange.h"
#include "net/limits.h"

#include <pthread.h>
#include <sha2.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
    KEY_ID_BYTES = 8, /* random ones; twice as many digits */
    KEY_SECRET_BYTES = 32,
    LEVELS = 2, /* of JSON in a body */
};

struct pawl_tokens {
    struct pawl_reader *reader; /* the thread's, once it runs */
    const struct pawl_log *log; /* borrowed */
    struct pawl_arena *arenas[2];
    pthread_t thread;
    bool has_thread;
    bool has_lock;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_stopped;             /* under the lock, as is what follows */
    struct pawl_token_list list; /* lives in arenas[at] */
    int at;
    atomic_bool is_on; /* there has been a token */
};

/* ---- Secrets --------------------------------------------------------------------------------- */

static void digest(struct pawl_str secret, char out[SHA256_DIGEST_STRING_LENGTH])
{
    (void)SHA256Data((const uint8_t *)secret.ptr, secret.len, out);
}

/* Takes as long whatever they are. */
static bool is_same_digest(struct pawl_str stored, const char *got)
{
    unsigned char differs = 0;
    if (stored.len != SHA256_DIGEST_STRING_LENGTH - 1) return false;
    for (size_t i = 0; i < stored.len; i++) {
        differs |= (unsigned char)((unsigned char)stored.ptr[i] ^ (unsigned char)got[i]);
    }
    return differs == 0;
}

static struct pawl_str random_text(size_t bytes, struct pawl_arena *keep)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char random[KEY_SECRET_BYTES];
    if (getrandom(random, bytes, 0) != (ssize_t)bytes) return (struct pawl_str){0};
    char *text = pawl_arena_take(keep, 2 * bytes);
    for (size_t i = 0; i < bytes && text != NULL; i++) {
        text[2 * i] = digits[random[i] >> 4];
        text[2 * i + 1] = digits[random[i] & 15];
    }
    return (struct pawl_str){text, text != NULL ? 2 * bytes : 0};
}

struct pawl_str pawl_token_text(struct pawl_str key_id, struct pawl_str key_secret,
                                struct pawl_arena *keep)
{
    return pawl_arena_format(keep, "%.*s.%.*s", PAWL_STR_ARG(key_id), PAWL_STR_ARG(key_secret));
}

enum pawl_code pawl_token_make(struct pawl_token *token, struct pawl_str *key_secret,
                               struct pawl_arena *keep, struct pawl_error *err)
{
    char text[SHA256_DIGEST_STRING_LENGTH];
    struct pawl_str key_id = random_text(KEY_ID_BYTES, keep);
    struct pawl_str secret = random_text(KEY_SECRET_BYTES, keep);
    if (key_id.len == 0 || secret.len == 0)
        return pawl_error_set(err, PAWL_IO, "no randomness for a token, or no memory");
    digest(secret, text);
    token->key_id = key_id;
    token->secret_digest = pawl_arena_copy(keep, pawl_str_of(text));
    *key_secret = secret;
    return PAWL_OK;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static bool find_pair(struct pawl_tokens *tokens, struct pawl_str key_id,
                      struct pawl_str key_secret, struct pawl_arena *keep, enum pawl_role *role,
                      struct pawl_str *name)
{
    char text[SHA256_DIGEST_STRING_LENGTH];
    bool is_found = false;
    digest(key_secret, text);
    (void)pthread_mutex_lock(&tokens->lock);
    for (size_t i = 0; i < tokens->list.count && !is_found; i++) {
        const struct pawl_token *token = &tokens->list.tokens[i];
        if (!pawl_str_equal(token->key_id, key_id)) continue;
        is_found = is_same_digest(token->secret_digest, text) &&
                   pawl_role_parse(token->role, role) && *role != PAWL_ROLE_NONE;
        if (is_found) *name = pawl_arena_copy(keep, token->name);
    }
    (void)pthread_mutex_unlock(&tokens->lock);
    return is_found;
}

static bool find_token(void *self, struct pawl_str token, struct pawl_arena *keep,
                       enum pawl_role *role, struct pawl_str *name)
{
    const char *dot = memchr(token.ptr, '.', token.len);
    if (dot == NULL) return false;
    size_t len = (size_t)(dot - token.ptr);
    return find_pair(self, (struct pawl_str){token.ptr, len},
                     (struct pawl_str){dot + 1, token.len - len - 1}, keep, role, name);
}

static bool has_tokens(void *self)
{
    struct pawl_tokens *tokens = self;
    return tokens->is_on;
}

void pawl_tokens_guard(struct pawl_tokens *tokens, struct pawl_access *access)
{
    access->find_token = find_token;
    access->has_tokens = has_tokens;
    access->self = tokens;
}

/* False, and answered, if it is not there. */
static bool get_text(struct pawl_exchange *exchange, const struct pawl_json *body, const char *key,
                     struct pawl_str *out)
{
    if (pawl_json_text(pawl_json_member(body, pawl_str_of(key)), exchange->arena, out)) return true;
    struct pawl_error err = {0};
    (void)pawl_error_set(&err, PAWL_INVALID, "%s: a text is wanted", key);
    pawl_exchange_answer_error(exchange, &err, key);
    return false;
}

/* Not INVALID_TOKEN, as all other 401 are: clients would fetch a token to ask for a token. */
static void refuse_pair(struct pawl_exchange *exchange)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, exchange->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_int64(&w, "status", 401);
    pawl_json_put_member_text(&w, "message", PAWL_STR("keyId and keySecret are not known"));
    pawl_json_put_member_text(&w, "error", PAWL_STR("INVALID_CREDENTIALS"));
    pawl_json_put_member_bool(&w, "retryable", false);
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(exchange, 401, &w);
}

static void give_token(struct pawl_exchange *exchange, void *self)
{
    struct pawl_tokens *tokens = self;
    struct pawl_error err = {0};
    if (!tokens->is_on) {
        (void)pawl_error_set(&err, PAWL_NOT_FOUND, "this server asks for no tokens");
        pawl_exchange_answer_error(exchange, &err, NULL);
        return;
    }
    struct pawl_str key_id;
    struct pawl_str key_secret;
    enum pawl_role role;
    struct pawl_str name;
    const struct pawl_json *body = pawl_exchange_body_json(exchange, LEVELS);
    if (body == NULL) return;
    if (!get_text(exchange, body, "keyId", &key_id)) return;
    if (!get_text(exchange, body, "keySecret", &key_secret)) return;
    if (!find_pair(tokens, key_id, key_secret, exchange->arena, &role, &name)) {
        refuse_pair(exchange);
        return;
    }
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, exchange->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "token", pawl_token_text(key_id, key_secret, exchange->arena));
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(exchange, 200, &w);
}

/* clang-format off */
static const struct pawl_route routes[] = {
    {PAWL_VERB_POST, "/api/token", PAWL_ROLE_NONE, "A token for a key and its secret; 404 while there are no tokens.", give_token,
     PAWL_ROUTE_DRAINS},
};
/* clang-format on */

struct pawl_route_table pawl_tokens_table(struct pawl_tokens *tokens)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), tokens};
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* What cannot be read leaves what there was. */
static enum pawl_code read_all(struct pawl_tokens *tokens, struct pawl_error *err)
{
    struct pawl_token_list list;
    int spare = 1 - tokens->at; /* written by this thread only */
    pawl_arena_reset(tokens->arenas[spare]);
    enum pawl_code code = pawl_read_tokens(tokens->reader, tokens->arenas[spare], &list, err);
    if (code != PAWL_OK) return code;
    (void)pthread_mutex_lock(&tokens->lock);
    tokens->list = list;
    tokens->at = spare;
    (void)pthread_mutex_unlock(&tokens->lock);
    if (list.count > 0) tokens->is_on = true;
    return PAWL_OK;
}

static bool has_stopped(struct pawl_tokens *tokens)
{
    struct timespec until;
    int error = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PAWL_NET_TOKENS_EVERY_MS / 1000;
    (void)pthread_mutex_lock(&tokens->lock);
    while (!tokens->is_stopped && error == 0) {
        error = pthread_cond_timedwait(&tokens->changed, &tokens->lock, &until);
    }
    bool is_stopped = tokens->is_stopped;
    (void)pthread_mutex_unlock(&tokens->lock);
    return is_stopped;
}

static void *run(void *self)
{
    struct pawl_tokens *tokens = self;
    enum pawl_code before = PAWL_OK;
    while (!has_stopped(tokens)) {
        struct pawl_error err = {0};
        enum pawl_code code = read_all(tokens, &err);
        if (code != PAWL_OK && before == PAWL_OK) {
            pawl_log_write(tokens->log, PAWL_LOG_WARN, "tokens.unread",
                           PAWL_TEXT("error", pawl_str_of(err.text)));
        }
        before = code;
    }
    return NULL;
}

static bool init_lock(struct pawl_tokens *tokens)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) return false;
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool has_mutex = pthread_mutex_init(&tokens->lock, NULL) == 0;
    tokens->has_lock = has_mutex && pthread_cond_init(&tokens->changed, &attributes) == 0;
    if (has_mutex && !tokens->has_lock) (void)pthread_mutex_destroy(&tokens->lock);
    (void)pthread_condattr_destroy(&attributes);
    return tokens->has_lock;
}

static enum pawl_code start(struct pawl_tokens *tokens, struct pawl_error *err)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are the main thread's */
    tokens->has_thread = pthread_create(&tokens->thread, NULL, run, tokens) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (tokens->has_thread) return PAWL_OK;
    return pawl_error_set(err, PAWL_NO_MEMORY, "cannot start a thread for the tokens");
}

enum pawl_code pawl_tokens_open(struct pawl_tokens **out, const struct pawl_store_options *options,
                                const struct pawl_log *log, struct pawl_error *err)
{
    struct pawl_tokens *tokens = calloc(1, sizeof *tokens);
    if (tokens == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the tokens");
    tokens->log = log;
    bool has_room = init_lock(tokens) && pawl_arena_open(&tokens->arenas[0], 0) == PAWL_OK &&
                    pawl_arena_open(&tokens->arenas[1], 0) == PAWL_OK;
    enum pawl_code code =
        has_room ? PAWL_OK : pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the tokens");
    if (code == PAWL_OK) code = pawl_reader_open(&tokens->reader, options, err);
    if (code == PAWL_OK) code = read_all(tokens, err);
    if (code == PAWL_OK) code = start(tokens, err);
    if (code != PAWL_OK) {
        pawl_tokens_close(tokens);
        return code;
    }
    *out = tokens;
    return PAWL_OK;
}

void pawl_tokens_close(struct pawl_tokens *tokens)
{
    if (tokens == NULL) return;
    if (tokens->has_thread) {
        (void)pthread_mutex_lock(&tokens->lock);
        tokens->is_stopped = true;
        (void)pthread_cond_signal(&tokens->changed);
        (void)pthread_mutex_unlock(&tokens->lock);
        (void)pthread_join(tokens->thread, NULL);
    }
    pawl_reader_close(tokens->reader);
    pawl_arena_close(tokens->arenas[0]);
    pawl_arena_close(tokens->arenas[1]);
    if (tokens->has_lock) {
        (void)pthread_cond_destroy(&tokens->changed);
        (void)pthread_mutex_destroy(&tokens->lock);
    }
    free(tokens);
}
