/* What a server says of itself: health, readiness, version, metrics, its routes.
 *
 * Looks at the store are done on a thread of its own, since a loop must not wait. */
#ifndef PAWL_NET_SERVICE_H
#define PAWL_NET_SERVICE_H

#include "net/route.h"
#include "net/server.h"
#include "pawl.h"

struct pawl_service;

/* pawl is borrowed until stop. */
enum pawl_code pawl_service_open(struct pawl_service **out, struct pawl *pawl,
                                 struct pawl_error *err) PAWL_MUST_USE;

struct pawl_route_table pawl_service_table(struct pawl_service *service);

/* Before the server is started. */
void pawl_service_begin(struct pawl_service *service, const struct pawl_server *server);

/* From now on pawl is not looked at; what is asked is BUSY. */
void pawl_service_stop(struct pawl_service *service);
void pawl_service_close(struct pawl_service *service); /* after the server; takes NULL */

#endif
