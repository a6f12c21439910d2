/* The clock that leases in hand are counted by: it goes on while the machine sleeps, and never
 * jumps. */
#ifndef PAWL_SUPERVISOR_CLOCK_H
#define PAWL_SUPERVISOR_CLOCK_H

#include "pawl.h"

int64_t pawl_clock_boot_ms(void);

/* A timer of that clock, as a descriptor; -1 on failure. Unlike the time-out of poll it counts what
 * the machine slept. */
int pawl_timer_open(void);

/* Makes it readable at an instant; INT64_MAX for never. */
void pawl_timer_set(int timer_fd, int64_t at_boot_ms);

/* Makes an event or timer descriptor unreadable again. */
void pawl_fd_clear(int fd);

/* Makes an event descriptor readable. */
void pawl_fd_ring(int event_fd);

#endif
