/* How long a WAIT waits, as people write it. */
#ifndef PAWL_CORE_WORKFLOW_WAIT_H
#define PAWL_CORE_WORKFLOW_WAIT_H

#include "pawl.h"

/* "1d 2h30m": days, hours, minutes, seconds in this order, each at most once; blanks do not count,
 * nor does case. False, and *ms untouched, for all else. An empty text is 0. */
bool pawl_wait_duration_parse(struct pawl_str text, int64_t *ms) PAWL_MUST_USE;

#endif
