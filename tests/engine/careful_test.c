/* Careful mode: a row that kills the process does not kill it for ever. */
#include "base/arena.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/task/task.h"
#include "stores.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define W PAWL_STR("w")

/* A handle that leaves what is due to others. */
static void open_without_timers(struct lab *lab)
{
    struct pawl_options options = lab_options(lab);
    options.driven = false;
    options.env = NULL;
    options.no_timers = true;
    lab->pawl = lab_handle(lab, &options);
}

/* A fault of ours, planted: whoever ends the lease of the deadly task dies of it. The linker sends the engine here. */
void __real_pawl_task_raise_epoch(struct pawl_task_row *task);
void __wrap_pawl_task_raise_epoch(struct pawl_task_row *task);
static bool has_fault;

void __wrap_pawl_task_raise_epoch(struct pawl_task_row *task)
{
    if (has_fault && pawl_str_equal(task->title, PAWL_STR("deadly"))) abort();
    __real_pawl_task_raise_epoch(task);
}

static struct pawl_str add_deadly(struct lab *lab)
{
    struct pawl_str id = lab_add(lab, NEW(.title = PAWL_STR("deadly")));
    (void)lab_start(lab, id, "w");
    (void)lab_sql(lab, "UPDATE task SET lease_end_at_ms = 1, due_at_ms = 1 WHERE title = 'deadly'");
    return id;
}

/* Waits for a task of a queue that is only ready once timers have run. */
static int wait_for_work(struct lab *lab, int number)
{
    struct pawl_options options = PAWL_OPTIONS_INIT;
    struct pawl *pawl = NULL;
    struct pawl_claimed claimed = {0};
    (void)number;
    const struct rlimit no_core = {0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    has_fault = true;
    options.store = pawl_str_of(lab->target);
    if (pawl_open(&pawl, &options, NULL) != PAWL_OK) return 2;
    enum pawl_code code = pawl_task_claim(
        pawl, CLAIM(.worker_id = W, .queues = &PAWL_STR("later"), .queue_count = 1, .wait_ms = 30000),
        lab->keep, &claimed, NULL);
    int status = code == PAWL_OK && claimed.count == 1 ? 0 : 3;
    pawl_close(pawl);
    return status;
}

TEST_EACH_STORE("E11 a row that kills its process three times in careful mode is set aside, and all others go on")
{
    enum { DEATHS = 2 * PAWL_CAREFUL_DEATHS }; /* until careful mode begins, and in it */
    open_without_timers(lab);
    struct pawl_str deadly = add_deadly(lab);
    (void)lab_add(lab, NEW(.queue = PAWL_STR("later"), .delay_ms = 1));
    pawl_close(lab->pawl);
    lab->pawl = NULL;
    for (int i = 0; i < DEATHS; i++) CHECK_EQ(-1, lab_wait(lab_fork(lab, wait_for_work, i)));
    CHECK_EQ(0, lab_wait(lab_fork(lab, wait_for_work, DEATHS)));

    open_without_timers(lab);
    struct pawl_task task;
    CHECK_REFUSED(PAWL_CORRUPT, pawl_task_get(lab->pawl, deadly, false, lab->keep, &task, &lab->err));
    CHECK(strstr(lab->err.text, "killed its process") != NULL);
}

TEST_EACH_STORE("E11 processes that stop in order are no deaths, however many there are")
{
    open_without_timers(lab);
    enum { ORDERLY = PAWL_CAREFUL_DEATHS + 1 };
    for (int i = 0; i < ORDERLY; i++) {
        (void)lab_add(lab, NEW(.queue = PAWL_STR("later"), .delay_ms = 1 + i * SECOND_MS));
    }
    pawl_close(lab->pawl); /* no fork beside threads */
    lab->pawl = NULL;
    for (int i = 0; i < ORDERLY; i++) CHECK_EQ(0, lab_wait(lab_fork(lab, wait_for_work, i)));
    open_without_timers(lab);
    struct pawl_str deadly = add_deadly(lab);
    pawl_close(lab->pawl);
    lab->pawl = NULL;
    for (int i = 0; i < PAWL_CAREFUL_DEATHS; i++) CHECK_EQ(-1, lab_wait(lab_fork(lab, wait_for_work, i)));
    open_without_timers(lab);
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, deadly).state);
    pawl_close(lab->pawl);
    lab->pawl = NULL;
    /* the first in careful mode: had orderly ends counted, it would be the fourth, and set the row aside */
    CHECK_EQ(-1, lab_wait(lab_fork(lab, wait_for_work, 0)));
}

TEST_MAIN()
