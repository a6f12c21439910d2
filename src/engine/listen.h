/* Live listeners: told of committed events, in order, from a bounded queue, on a thread of their own, so that
 * a slow or failing one harms neither an operation nor the store. */
#ifndef PAWL_ENGINE_LISTEN_H
#define PAWL_ENGINE_LISTEN_H

#include "core/set.h"
#include "pawl.h"

struct pawl_listening;

/* has_thread: whether they are told on a thread; else at once, by whoever runs the step. */
enum pawl_code pawl_listening_open(struct pawl_listening **out, const struct pawl_listener *listeners,
                                   size_t count, bool has_thread, struct pawl_error *err);
void pawl_listening_close(struct pawl_listening *listening); /* takes NULL; what waits is told first */

/* Tells of the committed events of a step. Without memory they are dropped, and the next one has a gap. */
void pawl_listening_tell(struct pawl_listening *listening, const struct pawl_append *events,
                         struct pawl_str store_id);

#endif
