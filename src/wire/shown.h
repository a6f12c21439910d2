/* Reading what show.h writes: tasks, queues and events as a server tells them. */
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
enum pawl_code pawl_shown_event(const struct pawl_json *object, struct pawl_arena *keep,
                                struct pawl_event *out, struct pawl_error *err) PAWL_MUST_USE;
/* These three as the routes of a task tell them (docs/http-api.md). */
enum pawl_code pawl_shown_log_line(const struct pawl_json *object, struct pawl_arena *keep,
                                   struct pawl_log_line *out, struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_shown_checkpoint(const struct pawl_json *object, struct pawl_arena *keep,
                                     struct pawl_checkpoint *out,
                                     struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_shown_late_result(const struct pawl_json *object, struct pawl_arena *keep,
                                      struct pawl_late_result *out,
                                      struct pawl_error *err) PAWL_MUST_USE;

#endif
