/* Live listeners: told of committed events, in order, each from a bounded queue and on a thread of its own, so
 * that a slow or failing one harms neither an operation nor another listener. */
#ifndef PAWL_ENGINE_LISTEN_H
#define PAWL_ENGINE_LISTEN_H

#include "core/set.h"
#include "pawl.h"

struct pawl_listening;

/* has_threads: whether each is told on a thread of its own; else by pawl_listening_tell_now. */
enum pawl_code pawl_listening_open(struct pawl_listening **out, const struct pawl_listener *listeners,
                                   size_t count, bool has_threads, struct pawl_error *err);
void pawl_listening_close(struct pawl_listening *listening); /* takes NULL; what waits is told first */

/* Queues the committed events of a step. Without memory they are dropped, and the next one has a gap. */
void pawl_listening_tell(struct pawl_listening *listening, const struct pawl_append *events,
                         struct pawl_str store_id);
/* Without threads: tells all that waits, on the caller's. Not under a lock: listeners may call back. */
void pawl_listening_tell_now(struct pawl_listening *listening); /* takes NULL */

#endif
