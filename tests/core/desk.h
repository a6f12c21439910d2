/* A desk for the rules: a step without a store. Rows are put down by hand, commands run on them,
 * and what they want beyond is answered with "there is none". */
#ifndef PAWL_TESTS_CORE_DESK_H
#define PAWL_TESTS_CORE_DESK_H

#include "base/str.h"
#include "core/step.h"
#include "core/task/event.h"
#include "test.h"

enum { DESK_TASKS_MAX = 16 };

#define DESK_NOW_MS  INT64_C(1800000000000)
#define DESK_QUEUE   INT64_C(1) /* key of "mail" */
#define DESK_WORKER  INT64_C(2) /* key of "worker-1" */
#define DESK_OTHER   INT64_C(3) /* key of "worker-2" */
#define DESK_TASK    INT64_C(10)
#define DESK_TASK_ID PAWL_STR("task-10")

struct desk {
    struct pawl_arena *arena;
    struct pawl_arena *keep;
    struct pawl_step step;
    struct pawl_task_row *tasks[DESK_TASKS_MAX];
    size_t task_count;
    struct pawl_queue_row queue;
    struct pawl_worker_row workers[2];
    const int64_t *ready; /* keys of the queue's ready tasks; borrowed */
    size_t ready_count;
    const struct pawl_dependency_row *dependencies; /* of every task; borrowed */
    size_t dependency_count;
};

void desk_open(struct desk *desk);
void desk_close(struct desk *desk);

/* A row in this state that the rules allow; the task of the desk, at epoch 3 and version 7. One
 * that is RUNNING is held by worker-1 for another 30 s. */
struct pawl_task_row desk_row(enum pawl_task_state state);
/* Puts a copy down as if it had been stored. */
struct pawl_task_row *desk_put(struct desk *desk, const struct pawl_task_row *row);

/* Runs a command to its end. What is due of a task is run first, as the engine does. */
enum pawl_code desk_run(struct desk *desk, struct pawl_command *command);
/* The same, once a task has come due. */
void desk_run_due(struct desk *desk, int64_t key);

size_t desk_event_count(const struct desk *desk);
/* The event so many places before the newest; NONE if there are not so many. */
enum pawl_event_type desk_event(const struct desk *desk, size_t before);
const struct pawl_event_row *desk_newest(const struct desk *desk);

#endif
