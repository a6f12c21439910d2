/* How options and JSON say what becomes of a failed attempt. */
#ifndef PAWL_APP_RETRY_H
#define PAWL_APP_RETRY_H

#include "pawl.h"

struct pawl_cli;

/* A number of retries or a delay as struct pawl_retry has it, where zero means the default and what
 * is none has a value of its own. */
int32_t pawl_retries_as_given(int64_t max_retries);
int64_t pawl_delay_as_given(int64_t delay_ms);

/* Sets what --max-retries, --retry-delay, --retry-delay-max, --retry-jitter and --backoff say; what
 * is not given stays. Complains as pawl_given does. */
void pawl_given_retry(struct pawl_cli *cli, struct pawl_retry *retry);

/* Whether any of them was given. */
bool pawl_given_any_retry(const struct pawl_cli *cli);

#endif
