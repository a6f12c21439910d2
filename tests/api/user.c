/* A user of the library, in the C that C99 and C++17 share: every ..._INIT macro, and one life of a
 * task. Compiled by api_check.sh as both, without a warning, and run. */
#include <pawl.h>

#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, const char *what)
{
    if (holds) return;
    printf("does not hold: %s\n", what);
    failures++;
}

#define EXPECT(condition) expect((condition) ? 1 : 0, #condition)

static struct pawl_str text(const char *c)
{
    struct pawl_str str;
    str.ptr = c;
    str.len = strlen(c);
    return str;
}

static void check_inits(void)
{
    struct pawl_options options = PAWL_OPTIONS_INIT;
    struct pawl_task_new ask = PAWL_TASK_NEW_INIT;
    struct pawl_claim claim = PAWL_CLAIM_INIT;
    struct pawl_change change = PAWL_CHANGE_INIT;
    struct pawl_failure failure = PAWL_FAILURE_INIT;
    struct pawl_resume resume = PAWL_RESUME_INIT;
    struct pawl_redrive redrive = PAWL_REDRIVE_INIT;
    struct pawl_list list = PAWL_LIST_INIT;
    struct pawl_queue_set queue_set = PAWL_QUEUE_SET_INIT;
    EXPECT(options.size == sizeof options && options.store.ptr == NULL && !options.driven);
    EXPECT(ask.size == sizeof ask && ask.priority == 0 && ask.depends_on == NULL);
    EXPECT(claim.size == sizeof claim && claim.max == 0);
    EXPECT(change.size == sizeof change && change.fence == NULL);
    EXPECT(failure.size == sizeof failure && !failure.is_final);
    EXPECT(resume.size == sizeof resume && resume.input.len == 0);
    EXPECT(redrive.size == sizeof redrive && redrive.max == 0);
    EXPECT(list.size == sizeof list && list.states == 0);
    EXPECT(queue_set.size == sizeof queue_set && queue_set.pause == 0);
}

static void check_life(const char *path)
{
    struct pawl_options options = PAWL_OPTIONS_INIT;
    struct pawl_task_new ask = PAWL_TASK_NEW_INIT;
    struct pawl_claim claim = PAWL_CLAIM_INIT;
    struct pawl_change change = PAWL_CHANGE_INIT;
    struct pawl *pawl = NULL;
    struct pawl_arena *keep = NULL;
    struct pawl_added added;
    struct pawl_claimed claimed;
    struct pawl_task task;
    struct pawl_error err;
    options.store = text(path);
    ask.goal = text("be used");
    claim.worker_id = text("worker");
    EXPECT(pawl_open(&pawl, &options, &err) == PAWL_OK);
    EXPECT(pawl_arena_open(&keep, 0) == PAWL_OK);
    EXPECT(pawl_task_add(pawl, &ask, keep, &added, &err) == PAWL_OK);
    EXPECT(pawl_task_claim(pawl, &claim, keep, &claimed, &err) == PAWL_OK);
    EXPECT(claimed.count == 1);
    change.fence = &claimed.grants[0].fence;
    EXPECT(pawl_task_complete(pawl, added.id, text("1"), &change, &err) == PAWL_OK);
    EXPECT(pawl_task_get(pawl, added.id, true, keep, &task, &err) == PAWL_OK);
    EXPECT(task.state == PAWL_TASK_COMPLETED);
    EXPECT(strcmp(pawl_task_state_name(task.state), "COMPLETED") == 0);
    pawl_arena_close(keep);
    pawl_close(pawl);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    EXPECT(pawl_version_number() == PAWL_VERSION_NUMBER);
    check_inits();
    check_life(argv[1]);
    return failures == 0 ? 0 : 1;
}
