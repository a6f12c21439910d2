/* Reading what show.h writes: a task or a queue as a server tells it. */
#ifndef PAWL_WIRE_SHOWN_H
#define PAWL_WIRE_SHOWN_H

#include "base/json.h"
#include "pawl.h"

/* Texts are slices of the object or lie in keep. Keys that are not known are read over: a newer
 * server says more. What is not shown (the place of a lease) is left empty.
 *
 *   fails  PAWL_IO  a value that is not as it is written; names its key */
enum pawl_code pawl_shown_task(const struct pawl_json *object, struct pawl_arena *keep,
                               struct pawl_task *out, struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_shown_queue(const struct pawl_json *object, struct pawl_arena *keep,
                                struct pawl_queue *out, struct pawl_error *err) PAWL_MUST_USE;

#endif
