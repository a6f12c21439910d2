/* One JSON object over another, top members only. */
#ifndef PAWL_CORE_WORKFLOW_OVERLAY_H
#define PAWL_CORE_WORKFLOW_OVERLAY_H

#include "base/json.h"

/* The members of over as they are, then those of under that over lacks; in the arena. An empty
 * text, and one that is no object, counts as {}. Empty if the arena has failed. */
struct pawl_str pawl_overlay(struct pawl_str under, struct pawl_str over, struct pawl_arena *arena);

/* Whether the text is an object (blanks around it allowed). */
bool pawl_overlay_is_object(struct pawl_str text);

#endif
