/* How a worker tells an outcome that the store does not take as it is. */
#include "worker/reporter.h"

#include "core/limits.h"
#include "engine/stores.h"
#include "supervisor/clock.h"
#include "supervisor/keeper.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define W PAWL_STR("w")
enum { LEASE_MS = 60 * 1000 };

static void hear(int fd)
{
    struct pollfd heard = {.fd = fd, .events = POLLIN};
    CHECK_EQ(1, poll(&heard, 1, 60 * 1000));
    pawl_fd_clear(fd);
}

/* Claims a new task, begins its execution, and tells this ending; gives the task. */
static struct pawl_task tell(struct lab *lab, const struct pawl_ending *ending)
{
    struct pawl_keeper *keeper = NULL;
    struct pawl_reporter *reporter = NULL;
    struct pawl_begun begun;
    int heard_fd = eventfd(0, EFD_NONBLOCK);
    (void)lab_add(lab, NEW(.retry.delay_ms = 3600 * 1000));
    struct pawl_claimed claimed =
        lab_claim(lab, CLAIM(.worker_id = W, .lease_ms = LEASE_MS, .is_supervised = true));
    CHECK_EQ(1, claimed.count);
    struct pawl_fence fence = claimed.grants[0].fence;
    CHECK_OK(pawl_keeper_open(&keeper, lab->pawl, lab->pawl, W, 1, heard_fd, NULL, &lab->err), &lab->err);
    pawl_keeper_hold(keeper, 0, &fence, LEASE_MS, pawl_clock_boot_ms(), INT64_MAX);
    struct pawl_reporter_options options = {
        .pawl = lab->pawl, .keeper = keeper, .slot = 0, .heard_fd = heard_fd};
    CHECK_OK(pawl_reporter_open(&reporter, &options, &lab->err), &lab->err);
    pawl_reporter_begin(reporter, &fence);
    while (!pawl_reporter_has_begun(reporter, &begun)) hear(heard_fd);
    CHECK_OK(begun.code, &begun.err);
    pawl_execution_close(begun.execution);
    pawl_reporter_end(reporter, ending);
    while (!pawl_reporter_is_settled(reporter)) hear(heard_fd);
    pawl_reporter_close(reporter);
    pawl_keeper_close(keeper);
    CHECK_EQ(0, close(heard_fd));
    return lab_get(lab, fence.task_id);
}

TEST_EACH_STORE(
    "a failure whose delay is refused is told without it, and keeps its error and retries")
{
    lab_open_real(lab);
    struct pawl_task task = tell(lab, &(struct pawl_ending){
                                          .kind = PAWL_ENDING_FAIL,
                                          .text = PAWL_STR("exit status 3"),
                                          .retry_after_ms = PAWL_DELAY_MS_MAX + 1,
                                      });
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_EQ(1, task.retries);
    CHECK_STR("exit status 3", task.error);
    CHECK_EQ(3600 * 1000, task.next_retry_at_ms - task.updated_at_ms); /* the task's own */
}

TEST_EACH_STORE("a result that is refused is a failure that no retry mends")
{
    lab_open_real(lab);
    struct pawl_task task =
        tell(lab, &(struct pawl_ending){.kind = PAWL_ENDING_COMPLETE, .text = PAWL_STR("{\"a\":")});
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, task.state);
    CHECK(pawl_str_starts(task.error, PAWL_STR("the result was refused: result: ")));

    size_t len = PAWL_PAYLOAD_BYTES_MAX + 1;
    char *large = malloc(len);
    CHECK(large != NULL);
    memset(large, '1', len);
    task = tell(lab, &(struct pawl_ending){.kind = PAWL_ENDING_COMPLETE, .text = {large, len}});
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, task.state);
    CHECK(pawl_str_starts(task.error, PAWL_STR("the result was refused: result: 10485761 bytes")));
    free(large);
}

TEST_EACH_STORE(
    "a failure whose error is refused says so instead, is final only if it was, and is told once")
{
    static const struct {
        struct pawl_str text;
        int64_t retry_after_ms;
        bool is_final;
        enum pawl_task_state want;
    } rows[] = {
        {PAWL_STR_INIT("not \xff UTF-8"), 0, false, PAWL_TASK_QUEUED},
        {PAWL_STR_INIT("not \xff UTF-8"), 0, true, PAWL_TASK_DEAD_LETTER},
        {PAWL_STR_INIT("not \xff UTF-8"), PAWL_DELAY_MS_MAX + 1, false, PAWL_TASK_QUEUED},
        {PAWL_STR_INIT("a\0b"), 1000, false, PAWL_TASK_QUEUED},
    };
    lab_open_real(lab);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_task task = tell(lab, &(struct pawl_ending){
                                              .kind = PAWL_ENDING_FAIL,
                                              .text = rows[i].text,
                                              .retry_after_ms = rows[i].retry_after_ms,
                                              .is_final = rows[i].is_final,
                                          });
        CHECK_EQ(rows[i].want, task.state);
        CHECK_EQ(1, task.retries);
        CHECK(pawl_str_starts(task.error, PAWL_STR("the outcome was refused: error: ")));
    }
}

TEST_MAIN()
