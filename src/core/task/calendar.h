/* Calendar times: instants of the wall clock, which may step, carried over to the store's clock, which does not.
 * The row keeps the calendar time for as long as it waits for it, so that it can be armed anew. */
#ifndef PAWL_CORE_TASK_CALENDAR_H
#define PAWL_CORE_TASK_CALENDAR_H

#include "core/step.h"

/* The same instant on the store's clock. */
int64_t pawl_calendar_at_ms(const struct pawl_step *step, int64_t run_at_ms);

/* Arms a row anew, if it waits for the calendar: whoever gives it out does so first, for the clocks may have stepped
 * (the store's too, after a reboot) and the continuation not come to it yet. Returns whether that changed it, and leaves
 * it to the caller to touch it. */
bool pawl_calendar_refresh(struct pawl_step *step, struct pawl_task_row *task);

/* The wall clock has stepped: a continuation arms all that waits for the calendar anew. */
void pawl_calendar_rearm(struct pawl_step *step);
/* One slice of it. Returns whether there is more. May be short. */
bool pawl_calendar_slice(struct pawl_step *step, struct pawl_continuation_row *row);

#endif
