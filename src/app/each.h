/* One change to several tasks. */
#ifndef PAWL_APP_EACH_H
#define PAWL_APP_EACH_H

#include "pawl.h"

struct pawl_cli;

/* Looks at what was given, opens the store, calls change for each word of the command line and
 * shows the task after it (pawl_cli_tells_changes). What fails is told at once and the rest is
 * still done.
 *
 *   change  tells its failure in cli->err
 *   gives   0; with one id, or if all failed, the exit status of the first failure; else 8 */
int pawl_each_task(struct pawl_cli *cli,
                   enum pawl_code (*change)(struct pawl_cli *cli, struct pawl_str id,
                                            const void *self),
                   const void *self);

/* The exit status of a batch. */
int pawl_each_status(int64_t done_count, int64_t failed_count, int first_failure);

#endif
