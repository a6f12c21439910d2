/* One socket: reading, writing, keep-alive, its deadlines. On its loop's thread only. */
#ifndef PAWL_NET_CONNECTION_H
#define PAWL_NET_CONNECTION_H

#include "net/loop.h"

/* Takes what the listener has for it. */
void pawl_connection_accept(struct pawl_listener_socket *listener);

/* Its exchange has come back: an answer, a piece of one, its end. */
void pawl_connection_take(struct pawl_exchange *exchange);

/* The loop drains: idle ones are closed, who waits is woken, all are told to close. */
void pawl_connection_drain(struct pawl_connection *connection);
void pawl_connection_cut(struct pawl_connection *connection);
struct pawl_connection *pawl_connection_next(struct pawl_connection *connection);

#endif
