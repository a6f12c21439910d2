/* The feed: one thread that hands committed events to whoever waits for them, live streams (SSE)
 * and reads of consumers. It reads with a connection of its own, a page for all that stand at the
 * same place, and asks nothing while nothing is committed. */
#ifndef PAWL_NET_NATIVE_FEED_H
#define PAWL_NET_NATIVE_FEED_H

#include "net/native/native.h"

struct pawl_feed;

/* Hears of the commits of `native->pawl`, whose store it reads; both are borrowed until close. */
enum pawl_code pawl_feed_open(struct pawl_feed **out, struct pawl_native *native,
                              struct pawl_error *err) PAWL_MUST_USE;
/* After the server has closed: nobody is left whom it serves. Takes NULL. */
void pawl_feed_close(struct pawl_feed *feed);

/* GET /v1/events/stream and POST /v1/consumers/{name}/read. */
struct pawl_route_table pawl_native_feeds(struct pawl_native *native);

#endif
