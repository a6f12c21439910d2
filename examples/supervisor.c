/* Runs a function for each task, under a lease that is kept for it, until one has been seen. */
#include <pawl.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

/* One that takes long looks at pawl_work_stop_reason(work) now and then. */
static enum pawl_work_end greet(void *self, struct pawl_work *work)
{
    const struct pawl_grant *task = pawl_work_grant(work);
    printf("hello %.*s, try %d\n", (int)task->input.len, task->input.ptr, (int)task->attempt);
    sem_post((sem_t *)self);
    return pawl_work_complete(work, task->input);
}

int main(int argc, char **argv)
{
    const struct pawl_str input = {"\"ada\"", 5};
    struct pawl_options options = PAWL_OPTIONS_INIT;
    struct pawl_supervisor_options how = PAWL_SUPERVISOR_OPTIONS_INIT;
    struct pawl_task_new ask = PAWL_TASK_NEW_INIT;
    struct pawl_supervisor *supervisor = NULL;
    struct pawl *pawl = NULL;
    struct pawl_arena *keep = NULL;
    struct pawl_added added;
    sem_t seen;
    options.store.ptr = argc > 1 ? argv[1] : "tasks.db";
    options.store.len = strlen(options.store.ptr);
    ask.input = input;
    how.handler = greet;
    how.self = &seen;
    int bad = sem_init(&seen, 0, 0) || pawl_open(&pawl, &options, NULL);
    bad = bad || pawl_arena_open(&keep, 0) || pawl_supervisor_start(pawl, &how, &supervisor, NULL);
    bad = bad || pawl_task_add(pawl, &ask, keep, &added, NULL);
    bad = bad || sem_wait(&seen);
    pawl_supervisor_close(supervisor); /* what has ended is told first */
    pawl_arena_close(keep);
    pawl_close(pawl);
    return bad;
}
