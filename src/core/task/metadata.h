/* The metadata of a task as it is shown: what was stored, with a correlation id in it. */
#ifndef PAWL_CORE_TASK_METADATA_H
#define PAWL_CORE_TASK_METADATA_H

#include "pawl.h"

/* The correlation id of a task: the one it was given, else one that follows from its id (its hex
 * digits if that is a UUID, else 32 hex digits hashed from it). In the arena. */
struct pawl_str pawl_correlation_id(struct pawl_str task_id, struct pawl_str given,
                                    struct pawl_arena *keep);

/* The stored object (empty = none) as it came, with a member "correlation_id" added where it has
 * none, or in place of a null.
 *
 *   scratch  room to parse it
 *   keep     the result lives here, or is metadata itself
 *   fails    PAWL_INVALID  it is no JSON object; the arenas' codes */
enum pawl_code pawl_metadata_show(struct pawl_str metadata, struct pawl_str correlation_id,
                                  struct pawl_arena *scratch, struct pawl_arena *keep,
                                  struct pawl_str *out, struct pawl_error *err) PAWL_MUST_USE;

#endif
