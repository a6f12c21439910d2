#include "app/each.h"

#include "app/cli.h"
#include "app/commands.h"
#include "app/show.h"
#include "base/arena.h"

int pawl_each_status(int64_t done_count, int64_t failed_count, int first_failure)
{
    if (failed_count == 0) return 0;
    return done_count > 0 ? PAWL_EXIT_PART_FAILED : first_failure;
}

int pawl_each_task(struct pawl_cli *cli,
                   enum pawl_code (*change)(struct pawl_cli *cli, struct pawl_str id,
                                            const void *self),
                   const void *self)
{
    /* What every id has in common is looked at before the store is. */
    struct pawl_fence fence;
    struct pawl_change common;
    pawl_cli_change(cli, (struct pawl_str){0}, &fence, &common);
    if (pawl_cli_begin(cli) != PAWL_OK) return pawl_cli_fail(cli);

    bool tells = pawl_cli_tells_changes(cli);
    int64_t done_count = 0;
    int64_t failed_count = 0;
    int first_failure = 0;
    for (size_t i = 0; i < cli->arguments.word_count; i++) {
        struct pawl_str id = pawl_word(cli, i);
        struct pawl_task task;
        pawl_arena_reset(cli->scratch);
        enum pawl_code code = change(cli, id, self);
        if (code == PAWL_OK) {
            pawl_cli_tell_continuing(cli);
            code = cli->calls->task_get(cli->asked, id, false, cli->scratch, &task, &cli->err);
        }
        if (code == PAWL_OK) {
            if (tells) pawl_show_changed(cli, &task);
            done_count++;
            continue;
        }
        int status = pawl_cli_fail(cli);
        if (failed_count++ == 0) first_failure = status;
    }
    return pawl_each_status(done_count, failed_count, first_failure);
}
