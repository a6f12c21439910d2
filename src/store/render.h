/* How a committed event row is told.
 *
 * pawl_event_render (store/read.h) knows the row alone. It copies all texts into keep, so that what
 * it has made outlives the step, and an empty correlation id becomes the one that follows from the
 * task's id. */
#ifndef PAWL_STORE_RENDER_H
#define PAWL_STORE_RENDER_H

#include "store/read.h"

/* What the row does not hold. Borrowed for the call, but for the texts that struct pawl_event
 * shows: they and the row's actor are not copied, and stay the caller's to keep. */
struct pawl_event_about {
    struct pawl_str store_id;
    struct pawl_str task_id;
    struct pawl_str queue;
    struct pawl_str title;
    struct pawl_str correlation_id;
    int32_t max_retries;           /* -1 = not known */
    struct pawl_str result;        /* of a completed task: its start; may be empty */
    struct pawl_str checkpoint_id; /* of a resumed task: its latest; may be empty */
};

void pawl_event_render_about(const struct pawl_event_row *row, const struct pawl_event_about *about,
                             struct pawl_arena *keep, struct pawl_event *out);

#endif
