/* OpenSSL behind pawl_tls_*: loaded by dlopen, each session between two memory buffers. */
#include "net/tls.h"

#include "base/error.h"

#include <dlfcn.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

/* All of OpenSSL that we call; those that its headers make macros of stand as what they stand for.
 */
#define FUNCTIONS(X)                      \
    X(BIO_ctrl_pending)                   \
    X(BIO_free)                           \
    X(BIO_new)                            \
    X(BIO_read)                           \
    X(BIO_s_mem)                          \
    X(BIO_write)                          \
    X(ERR_clear_error)                    \
    X(ERR_error_string_n)                 \
    X(ERR_peek_last_error)                \
    X(SSL_CTX_check_private_key)          \
    X(SSL_CTX_ctrl)                       \
    X(SSL_CTX_free)                       \
    X(SSL_CTX_new)                        \
    X(SSL_CTX_set_alpn_select_cb)         \
    X(SSL_CTX_set_options)                \
    X(SSL_CTX_use_PrivateKey_file)        \
    X(SSL_CTX_use_certificate_chain_file) \
    X(SSL_free)                           \
    X(SSL_get_error)                      \
    X(SSL_is_init_finished)               \
    X(SSL_new)                            \
    X(SSL_read)                           \
    X(SSL_select_next_proto)              \
    X(SSL_set_accept_state)               \
    X(SSL_set_bio)                        \
    X(SSL_shutdown)                       \
    X(SSL_write)                          \
    X(TLS_server_method)

struct pawl_tls {
    void *library; /* of dlopen */
    SSL_CTX *context;
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
};

struct pawl_tls_session {
    const struct pawl_tls *tls;
    SSL *ssl;
    BIO *in; /* owned by ssl, as is out */
    BIO *out;
};

static enum pawl_code load(struct pawl_tls *tls, struct pawl_error *err)
{
    static const char *const names[] = {
#define X(name) #name,
        FUNCTIONS(X)
#undef X
    };
    void **const slots[] = {
#define X(name) (void **)&tls->name,
        FUNCTIONS(X)
#undef X
    };
    /* it has handlers of its own for the end of the process: once there, it stays */
    tls->library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (tls->library == NULL) {
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "TLS needs libssl.so.3: install the package libssl3 (Debian, Ubuntu) "
                              "or openssl (Fedora, Alpine, Arch)");
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *function = dlsym(tls->library, names[i]); /* libcrypto's too: it comes with libssl */
        if (function == NULL) {
            return pawl_error_set(err, PAWL_UNSUPPORTED, "libssl.so.3 has no %s", names[i]);
        }
        memcpy(slots[i], &function, sizeof function);
    }
    return PAWL_OK;
}

static enum pawl_code refuse(const struct pawl_tls *tls, const char *what, const char *path,
                             struct pawl_error *err)
{
    char reason[256];
    tls->ERR_error_string_n(tls->ERR_peek_last_error(), reason, sizeof reason);
    tls->ERR_clear_error();
    return pawl_error_set(err, PAWL_INVALID, "--tls-%s: %s: %s", what, path, reason);
}

/* We speak HTTP/1.1 and nothing else; a client that offers others only goes on without ALPN. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *offered, unsigned offered_len, void *self)
{
    static const unsigned char ours[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    const struct pawl_tls *tls = self;
    unsigned char *chosen = NULL;
    (void)ssl;
    int result =
        tls->SSL_select_next_proto(&chosen, out_len, ours, sizeof ours, offered, offered_len);
    if (result != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static enum pawl_code set_up(struct pawl_tls *tls, const char *certificate, const char *key,
                             struct pawl_error *err)
{
    tls->context = tls->SSL_CTX_new(tls->TLS_server_method());
    if (tls->context == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for TLS");
    (void)tls->SSL_CTX_ctrl(tls->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    /* a client may not make us shake hands again and again; who closes without a word is no attack
     * on HTTP, which counts its bytes; buffers of idle sessions are given back */
    (void)tls->SSL_CTX_set_options(tls->context,
                                   SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    (void)tls->SSL_CTX_ctrl(tls->context, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
    tls->SSL_CTX_set_alpn_select_cb(tls->context, choose_protocol, tls);
    tls->ERR_clear_error();
    if (tls->SSL_CTX_use_certificate_chain_file(tls->context, certificate) != 1) {
        return refuse(tls, "cert", certificate, err);
    }
    if (tls->SSL_CTX_use_PrivateKey_file(tls->context, key, SSL_FILETYPE_PEM) != 1 ||
        tls->SSL_CTX_check_private_key(tls->context) != 1) {
        return refuse(tls, "key", key, err);
    }
    return PAWL_OK;
}

enum pawl_code pawl_tls_open(struct pawl_tls **out, const char *certificate, const char *key,
                             struct pawl_error *err)
{
    struct pawl_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for TLS");
    enum pawl_code code = load(tls, err);
    if (code == PAWL_OK) code = set_up(tls, certificate, key, err);
    if (code != PAWL_OK) {
        pawl_tls_close(tls);
        return code;
    }
    *out = tls;
    return PAWL_OK;
}

void pawl_tls_close(struct pawl_tls *tls)
{
    if (tls == NULL) return;
    if (tls->context != NULL) tls->SSL_CTX_free(tls->context);
    if (tls->library != NULL) (void)dlclose(tls->library); /* the count of users only */
    free(tls);
}

struct pawl_tls_session *pawl_tls_session_open(struct pawl_tls *tls)
{
    struct pawl_tls_session *session = calloc(1, sizeof *session);
    if (session == NULL) return NULL;
    session->tls = tls;
    session->ssl = tls->SSL_new(tls->context);
    session->in = tls->BIO_new(tls->BIO_s_mem());
    session->out = tls->BIO_new(tls->BIO_s_mem());
    if (session->ssl == NULL || session->in == NULL || session->out == NULL) {
        (void)tls->BIO_free(session->in); /* takes NULL */
        (void)tls->BIO_free(session->out);
        pawl_tls_session_close(session);
        return NULL;
    }
    tls->SSL_set_bio(session->ssl, session->in, session->out);
    tls->SSL_set_accept_state(session->ssl);
    return session;
}

void pawl_tls_session_close(struct pawl_tls_session *session)
{
    if (session == NULL) return;
    if (session->ssl != NULL) session->tls->SSL_free(session->ssl); /* and its BIOs */
    free(session);
}

bool pawl_tls_take(struct pawl_tls_session *session, const char *bytes, size_t len)
{
    return len <= INT_MAX && session->tls->BIO_write(session->in, bytes, (int)len) == (int)len;
}

enum pawl_tls_read pawl_tls_read(struct pawl_tls_session *session, char *out, size_t room,
                                 size_t *len)
{
    const struct pawl_tls *tls = session->tls;
    tls->ERR_clear_error();
    int count = tls->SSL_read(session->ssl, out, room > INT_MAX ? INT_MAX : (int)room);
    *len = count > 0 ? (size_t)count : 0;
    if (count > 0) return PAWL_TLS_BYTES;
    switch (tls->SSL_get_error(session->ssl, count)) {
    case SSL_ERROR_WANT_READ:
        return PAWL_TLS_MORE;
    case SSL_ERROR_ZERO_RETURN:
        return PAWL_TLS_END;
    default:
        return PAWL_TLS_BROKEN;
    }
}

bool pawl_tls_is_ready(const struct pawl_tls_session *session)
{
    return session->tls->SSL_is_init_finished(session->ssl) != 0;
}

bool pawl_tls_say(struct pawl_tls_session *session, const char *bytes, size_t len)
{
    session->tls->ERR_clear_error();
    if (len == 0) return true;
    return len <= INT_MAX && session->tls->SSL_write(session->ssl, bytes, (int)len) == (int)len;
}

void pawl_tls_end(struct pawl_tls_session *session)
{
    session->tls->ERR_clear_error();
    if (pawl_tls_is_ready(session)) (void)session->tls->SSL_shutdown(session->ssl);
}

size_t pawl_tls_waiting(const struct pawl_tls_session *session)
{
    return session->tls->BIO_ctrl_pending(session->out);
}

size_t pawl_tls_send(struct pawl_tls_session *session, char *out, size_t room)
{
    int count = session->tls->BIO_read(session->out, out, room > INT_MAX ? INT_MAX : (int)room);
    return count > 0 ? (size_t)count : 0;
}
