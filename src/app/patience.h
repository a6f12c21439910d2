/* Who follows a store on PostgreSQL outlives a restart of its server. */
#ifndef PAWL_APP_PATIENCE_H
#define PAWL_APP_PATIENCE_H

#include "pawl.h"

struct pawl_cli;

struct pawl_patience { /* zero at first */
    int64_t wait_ms;   /* the last wait; 0 = the store has answered */
};

/* After a look that has failed: waits, longer each time, 100 ms to 5 s, if the store may answer again. Tells the first
 * failure on standard error, and forgets it.
 *
 *   returns  false if it is the end: what has failed stays in cli->err, or *is_interrupted is set */
bool pawl_patience_lasts(struct pawl_cli *cli, struct pawl_patience *patience, enum pawl_code code,
                         bool *is_interrupted);

/* Whether a store that has failed with code may answer again. */
bool pawl_patience_helps(const struct pawl_cli *cli, enum pawl_code code);

/* After a look that has not failed: tells that the store answers again, if it did not. */
void pawl_patience_end(struct pawl_patience *patience);

#endif
