/* TLS for the server's connections: OpenSSL over memory, so that the loop alone touches sockets.
 * The library is opened when it is first needed, as libpq is: who serves plain HTTP pays nothing
 * (docs/decisions/008-openssl.md).
 *
 * A session belongs to its loop's thread; the context may be used by all loops at once. */
#ifndef PAWL_NET_TLS_H
#define PAWL_NET_TLS_H

#include "pawl.h"

struct pawl_tls;
struct pawl_tls_session;

/* Loads the library, the certificate with its chain, and the key (PEM). TLS 1.2 and newer.
 *
 *   fails  PAWL_UNSUPPORTED  the library is not installed, or older than 3
 *          PAWL_INVALID      a file that is none of these, or a key of another certificate
 *          PAWL_NO_MEMORY */
enum pawl_code pawl_tls_open(struct pawl_tls **out, const char *certificate, const char *key,
                             struct pawl_error *err) PAWL_MUST_USE;
void pawl_tls_close(struct pawl_tls *tls); /* after its sessions; takes NULL */

struct pawl_tls_session *pawl_tls_session_open(struct pawl_tls *tls); /* NULL without memory */
void pawl_tls_session_close(struct pawl_tls_session *session);        /* takes NULL */

/* Bytes that came from the socket; false without memory. */
bool pawl_tls_take(struct pawl_tls_session *session, const char *bytes, size_t len) PAWL_MUST_USE;

enum pawl_tls_read {
    PAWL_TLS_BYTES,  /* *len of them are in out */
    PAWL_TLS_MORE,   /* all that came has been read */
    PAWL_TLS_END,    /* the other side has said that it is through */
    PAWL_TLS_BROKEN, /* no TLS, or none that we speak */
};
/* What was said to us, at most `room` bytes of it. It may leave something to send (an answer of the
 * handshake, why it failed), whatever it gives. */
enum pawl_tls_read pawl_tls_read(struct pawl_tls_session *session, char *out, size_t room,
                                 size_t *len);
bool pawl_tls_is_ready(const struct pawl_tls_session *session); /* the handshake is through */

/* Says something, once it is ready; false if it cannot be said. */
bool pawl_tls_say(struct pawl_tls_session *session, const char *bytes, size_t len) PAWL_MUST_USE;
/* Says that we are through. */
void pawl_tls_end(struct pawl_tls_session *session);

/* What is to be sent to the socket: its size, and up to `room` bytes of it. */
size_t pawl_tls_waiting(const struct pawl_tls_session *session);
size_t pawl_tls_send(struct pawl_tls_session *session, char *out, size_t room);

#endif
