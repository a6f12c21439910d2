/* How options and JSON say what becomes of a failed attempt. */
#ifndef PAWL_APP_RETRY_H
#define PAWL_APP_RETRY_H

#include "pawl.h"

struct pawl_cli;

/* Sets what --max-retries, --retry-delay, --retry-delay-max, --retry-jitter and --backoff say; what
 * is not given stays. Complains as pawl_given does. */
void pawl_given_retry(struct pawl_cli *cli, struct pawl_retry *retry);

/* Whether any of them was given. */
bool pawl_given_any_retry(const struct pawl_cli *cli);

#endif
