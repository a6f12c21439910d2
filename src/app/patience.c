#include "app/patience.h"

#include "app/cli.h"
#include "store/db.h"

enum { WAIT_MS_MIN = 100, WAIT_MS_MAX = 5000 };

bool pawl_patience_helps(const struct pawl_cli *cli, enum pawl_code code)
{
    bool may_come_back = pawl_code_repeats(code) || code == PAWL_IO;
    return may_come_back && pawl_db_target_is_postgres(cli->store);
}

bool pawl_patience_lasts(struct pawl_cli *cli, struct pawl_patience *patience, enum pawl_code code,
                         bool *is_interrupted)
{
    if (!pawl_patience_helps(cli, code)) return false;
    if (patience->wait_ms == 0) {
        (void)pawl_cli_fail(cli);
        (void)fprintf(stderr, "pawl: waiting until the store answers again\n");
    }
    cli->err = (struct pawl_error){0};
    int64_t wait_ms = patience->wait_ms == 0 ? WAIT_MS_MIN : patience->wait_ms * 2;
    patience->wait_ms = wait_ms < WAIT_MS_MAX ? wait_ms : WAIT_MS_MAX;
    *is_interrupted = pawl_cli_sleep(cli, patience->wait_ms);
    return !*is_interrupted;
}

void pawl_patience_end(struct pawl_patience *patience)
{
    if (patience->wait_ms != 0) (void)fprintf(stderr, "pawl: the store answers again\n");
    patience->wait_ms = 0;
}
