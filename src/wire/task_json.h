/* Reading a task that somebody wants added. */
#ifndef PAWL_WIRE_TASK_JSON_H
#define PAWL_WIRE_TASK_JSON_H

#include "base/json.h"
#include "pawl.h"

/* A task from one JSON object. Texts are slices of the object or lie in keep; depends_on as
 * written.
 *
 *   fails  PAWL_INVALID  an unknown key, or a value of the wrong kind; names it */
enum pawl_code pawl_task_from_json(const struct pawl_json *object, struct pawl_arena *keep,
                                   struct pawl_task_new *out, struct pawl_error *err) PAWL_MUST_USE;

#endif
