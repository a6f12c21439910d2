#include "app/retry.h"

#include "app/cli.h"
#include "app/show.h"
#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"

bool pawl_given_any_retry(const struct pawl_cli *cli)
{
    return pawl_given(cli, "max-retries") || pawl_given(cli, "retry-delay") ||
           pawl_given(cli, "retry-delay-max") || pawl_given(cli, "retry-jitter") ||
           pawl_given(cli, "backoff");
}

void pawl_given_retry(struct pawl_cli *cli, struct pawl_retry *retry)
{
    if (pawl_given(cli, "max-retries")) {
        retry->max_retries =
            pawl_retries_as_given(pawl_given_int64(cli, "max-retries", 0, PAWL_RETRIES_MAX, 0));
    }
    if (pawl_given(cli, "retry-delay")) {
        retry->delay_ms =
            pawl_delay_as_given(pawl_given_within_ms(cli, "retry-delay", PAWL_DELAY_MS_MAX, 0));
    }
    if (pawl_given(cli, "retry-delay-max")) {
        retry->delay_ms_max =
            pawl_given_above_0(cli, "retry-delay-max",
                               pawl_given_within_ms(cli, "retry-delay-max", PAWL_DELAY_MS_MAX / 2, 0));
    }
    retry->jitter_ms =
        pawl_given_within_ms(cli, "retry-jitter", PAWL_DELAY_MS_MAX / 2, retry->jitter_ms);
    struct pawl_str backoff = pawl_given_text(cli, "backoff");
    bool is_bad = backoff.ptr != NULL && !pawl_backoff_parse(backoff, &retry->backoff);
    if (is_bad && cli->err.code == PAWL_OK) {
        (void)pawl_error_set(&cli->err, PAWL_INVALID,
                             "backoff: `%.*s` is none of exponential, linear and fixed",
                             PAWL_STR_ARG(backoff));
    }
}
