/* The file of `pawl worker run --queues-from`: a line for each queue, with its slots and its
 * command.
 *
 *   # queue  [slots]  [-- command, which /bin/sh runs]
 *   mail     4        -- ./send.sh "$PAWL_TASK_ID"
 *   files             -- ./compress.sh | ./store.sh
 *   thumbs   2
 *
 * What a line leaves out comes from the command line. */
#ifndef PAWL_APP_QUEUES_FROM_H
#define PAWL_APP_QUEUES_FROM_H

#include "app/cli.h"
#include "worker/worker.h"

/* Reads the file into cli->keep.
 *
 *   otherwise  slots and argv (NULL = none) of lines that have none, and the worker id that those
 * of the pools begin with fails      PAWL_INVALID with the number of the line, PAWL_IO */
enum pawl_code pawl_queues_from(struct pawl_cli *cli, struct pawl_str path,
                                const struct pawl_worker_pool *otherwise,
                                const struct pawl_worker_pool **pools, size_t *count) PAWL_MUST_USE;

#endif
