/* Tasks that wait for tasks: policies, cascades, hundreds of dependents. */
#include "base/arena.h"
#include "stores.h"

#include <stdio.h>
#include <string.h>

#define W PAWL_STR("w")
enum { MANY = 600 };

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

static struct pawl_str add_child(struct lab *lab, const struct pawl_str *parents, size_t count,
                                 enum pawl_dependency_policy policy)
{
    return lab_add(
        lab, NEW(.depends_on = parents, .depends_on_count = count, .dependency_policy = policy));
}

static void kill_task(struct lab *lab, struct pawl_str id)
{
    struct pawl_fence fence = lab_start(lab, id, "w");
    check_ok(lab,
             pawl_task_fail(lab->pawl, id, FAILURE(.error = PAWL_STR("dead"), .is_final = true),
                            CHANGE(.fence = &fence), &lab->err));
}

TEST_EACH_STORE(
    "T-021 a child starts when its parent has completed, and the error names who is open")
{
    lab_open(lab);
    struct pawl_str parent[] = {lab_add(lab, NEW(.id = PAWL_STR("the-parent"), .hold = true))};
    struct pawl_str child = add_child(lab, parent, 1, PAWL_DEPENDENCY_BLOCK);
    struct pawl_grant grant;
    CHECK_REFUSED(PAWL_NOT_READY, pawl_task_start(lab->pawl, child, CLAIM(.worker_id = W),
                                                  lab->keep, &grant, &lab->err));
    CHECK(strstr(lab->err.text, "the-parent") != NULL);
    CHECK_EQ(0, lab->err.until_at_ms);
    struct pawl_fence fence = lab_start(lab, parent[0], "w"); /* straight from PENDING */
    CHECK_REFUSED(PAWL_NOT_READY, pawl_task_start(lab->pawl, child, CLAIM(.worker_id = W),
                                                  lab->keep, &grant, &lab->err));
    check_ok(lab,
             pawl_task_complete(lab->pawl, parent[0], NO_TEXT, CHANGE(.fence = &fence), &lab->err));
    check_ok(lab, pawl_task_start(lab->pawl, child, CLAIM(.worker_id = W), lab->keep, &grant,
                                  &lab->err));
    CHECK_EQ(0, lab_get(lab, child).retries);
}

TEST_EACH_STORE(
    "D-05 dependencies are judged by the table: one that completed before counts as done")
{
    lab_open(lab);
    struct pawl_str done = lab_add(lab, NEW(.hold = true));
    check_ok(lab, pawl_task_complete(lab->pawl, done, NO_TEXT, NULL, &lab->err));
    struct pawl_options options = lab_options(lab);
    struct pawl *other = lab_handle(lab, &options);
    struct pawl_added added;
    check_ok(lab, pawl_task_add(other, NEW(.depends_on = &done, .depends_on_count = 1), lab->keep,
                                &added, &lab->err));
    CHECK_EQ(0, lab_get(lab, added.id).open_dependencies);
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = W)).count);
    pawl_close(other);
}

TEST_EACH_STORE(
    "T-115 D-36 policy block: visibly blocked, and released when the dependency completes late")
{
    lab_open(lab);
    struct pawl_str parent[] = {lab_add(lab, NEW())};
    struct pawl_str child = add_child(lab, parent, 1, PAWL_DEPENDENCY_BLOCK);
    kill_task(lab, parent[0]);
    struct pawl_task task = lab_get(lab, child);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK(pawl_str_equal(parent[0], task.blocked_by));
    CHECK_EQ(0, task.retries);
    CHECK_TEXT("created queued blocked", lab_told(lab, child));
    CHECK_STR("dependency_failed", lab_last(lab, child).action);
    CHECK(pawl_str_has(lab_last(lab, child).detail, parent[0]));
    struct pawl_page blocked = lab_list(lab, LIST(.is_blocked = true));
    CHECK_EQ(1, blocked.count);
    CHECK(pawl_str_equal(child, blocked.tasks[0].id));
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W)).count);

    int64_t version = task.version;
    lab_pass(lab, 3);
    check_ok(lab, pawl_task_resume(lab->pawl, parent[0], NULL, NULL, &lab->err));
    task = lab_get(lab, child);
    CHECK_STR("", task.blocked_by);
    CHECK_EQ(version + 1, task.version);
    CHECK_EQ(lab_get(lab, parent[0]).updated_at_ms, task.updated_at_ms);
    CHECK_EQ(0, lab_list(lab, LIST(.is_blocked = true)).count);
    check_ok(lab, pawl_task_complete(lab->pawl, parent[0], NO_TEXT, NULL, &lab->err));
    struct pawl_claimed claimed = lab_claim(lab, CLAIM(.worker_id = W));
    CHECK_EQ(1, claimed.count);
    CHECK(pawl_str_equal(child, claimed.grants[0].fence.task_id));
}

TEST_EACH_STORE("T-115 policy cancel: the dependents are cancelled, level by level, with a reason")
{
    lab_open(lab);
    struct pawl_str parent[] = {lab_add(lab, NEW())};
    struct pawl_str child[] = {add_child(lab, parent, 1, PAWL_DEPENDENCY_CANCEL)};
    struct pawl_str grandchild[] = {add_child(lab, child, 1, PAWL_DEPENDENCY_CANCEL)};
    struct pawl_str last = add_child(lab, grandchild, 1, PAWL_DEPENDENCY_BLOCK);
    check_ok(lab, pawl_task_cancel(lab->pawl, parent[0], false, NULL, &lab->err));
    CHECK_EQ(PAWL_TASK_CANCELLED, lab_get(lab, child[0]).state);
    CHECK_EQ(PAWL_TASK_CANCELLED, lab_get(lab, grandchild[0]).state);
    CHECK(pawl_str_has(lab_last(lab, child[0]).detail, parent[0]));
    CHECK(pawl_str_has(lab_last(lab, grandchild[0]).detail, child[0]));
    CHECK_STR("dependency", lab_last(lab, child[0]).cause);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, last).state);
    CHECK(pawl_str_equal(grandchild[0], lab_get(lab, last).blocked_by));
    CHECK_EQ(0, lab_get(lab, child[0]).retries);
}

TEST_EACH_STORE("T-115 policy ignore: a dependency that can no longer complete counts as satisfied")
{
    lab_open(lab);
    struct pawl_str parents[] = {lab_add(lab, NEW()), lab_add(lab, NEW())};
    struct pawl_str child = add_child(lab, parents, 2, PAWL_DEPENDENCY_IGNORE);
    kill_task(lab, parents[0]);
    CHECK_EQ(1, lab_get(lab, child).open_dependencies);
    CHECK_STR("", lab_get(lab, child).blocked_by);
    int64_t version = lab_get(lab, child).version;
    check_ok(lab, pawl_task_cancel(lab->pawl, parents[1], false, NULL, &lab->err));
    CHECK_EQ(0, lab_get(lab, child).open_dependencies);
    CHECK_EQ(version + 1, lab_get(lab, child).version);
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = W)).count);
}

TEST_EACH_STORE("T-115 a dependency that had ended before the task was made: all three policies")
{
    lab_open(lab);
    struct pawl_str dead[] = {lab_add(lab, NEW())};
    kill_task(lab, dead[0]);
    struct pawl_str blocked = add_child(lab, dead, 1, PAWL_DEPENDENCY_BLOCK);
    struct pawl_str cancelled = add_child(lab, dead, 1, PAWL_DEPENDENCY_CANCEL);
    struct pawl_str ignoring = add_child(lab, dead, 1, PAWL_DEPENDENCY_IGNORE);
    CHECK(pawl_str_equal(dead[0], lab_get(lab, blocked).blocked_by));
    CHECK_TEXT("created queued blocked", lab_told(lab, blocked));
    CHECK_EQ(PAWL_TASK_CANCELLED, lab_get(lab, cancelled).state);
    CHECK_TEXT("created cancelled", lab_told(lab, cancelled));
    CHECK_EQ(0, lab_get(lab, ignoring).open_dependencies);
    check_ok(lab,
             pawl_task_resolve(lab->pawl, dead[0], PAWL_TASK_COMPLETED, NO_TEXT, NULL, &lab->err));
    CHECK_EQ(0, lab_get(lab, blocked).open_dependencies);
    CHECK_STR("", lab_get(lab, blocked).blocked_by);
    CHECK_EQ(2, lab_claim(lab, CLAIM(.worker_id = W, .max = 5)).count);
}

TEST_EACH_STORE("D-36 a task blocked by two stays blocked by the other when one of them goes on")
{
    lab_open(lab);
    struct pawl_str parents[] = {lab_add(lab, NEW()), lab_add(lab, NEW())};
    struct pawl_str child = add_child(lab, parents, 2, PAWL_DEPENDENCY_BLOCK);
    kill_task(lab, parents[0]);
    kill_task(lab, parents[1]);
    CHECK(pawl_str_equal(parents[0], lab_get(lab, child).blocked_by));
    check_ok(lab, pawl_task_resume(lab->pawl, parents[0], NULL, NULL, &lab->err));
    CHECK(pawl_str_equal(parents[1], lab_get(lab, child).blocked_by));
    check_ok(lab, pawl_task_complete(lab->pawl, parents[0], NO_TEXT, NULL, &lab->err));
    struct pawl_task before = lab_get(lab, child);
    CHECK(pawl_str_equal(parents[1], before.blocked_by));
    check_ok(lab, pawl_task_resolve(lab->pawl, parents[1], PAWL_TASK_COMPLETED, NO_TEXT, NULL,
                                    &lab->err));
    struct pawl_task after = lab_get(lab, child);
    CHECK_STR("", after.blocked_by);
    CHECK_EQ(0, after.open_dependencies);
    CHECK_EQ(before.version + 1, after.version); /* one change, though two things of it are seen */
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = W)).count);
}

TEST_EACH_STORE("a child that is held or paused is released too, and waits for its operator alone")
{
    lab_open(lab);
    struct pawl_str parent[] = {lab_add(lab, NEW(.queue = PAWL_STR("parents")))};
    struct pawl_str held =
        lab_add(lab, NEW(.hold = true, .depends_on = parent, .depends_on_count = 1));
    struct pawl_str paused = add_child(lab, parent, 1, PAWL_DEPENDENCY_BLOCK);
    check_ok(lab, pawl_task_pause(lab->pawl, paused, NULL, &lab->err));
    check_ok(lab, pawl_task_complete(lab->pawl, parent[0], NO_TEXT, NULL, &lab->err));
    CHECK_EQ(0, lab_get(lab, held).open_dependencies);
    CHECK_EQ(0, lab_get(lab, paused).open_dependencies);
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W, .max = 5)).count);
    check_ok(lab, pawl_task_queue(lab->pawl, held, NULL, &lab->err));
    check_ok(lab, pawl_task_resume(lab->pawl, paused, NULL, NULL, &lab->err));
    CHECK_EQ(2, lab_claim(lab, CLAIM(.worker_id = W, .max = 5)).count);
}

/* ---- Many ---- */

/* A parent in queue "parents" and MANY children of it, in one batch. */
static struct pawl_added *add_family(struct lab *lab, enum pawl_dependency_policy policy)
{
    static const struct pawl_str first[] = {PAWL_STR_INIT("#0")};
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, MANY + 1, sizeof *asks);
    asks[0] = *NEW(.queue = PAWL_STR("parents"));
    for (int i = 1; i <= MANY; i++) {
        asks[i] = *NEW(.depends_on = first, .depends_on_count = 1, .dependency_policy = policy);
    }
    return lab_add_batch(lab, asks, MANY + 1);
}

static size_t ready_count(struct lab *lab)
{
    struct pawl_page page = lab_list(
        lab, LIST(.is_ready = true, .queue = PAWL_STR("default"), .limit = PAWL_BATCH_MAX));
    return page.count;
}

static size_t count_in(struct lab *lab, enum pawl_task_state state)
{
    return lab_list(lab, LIST(.states = 1u << state, .limit = PAWL_BATCH_MAX)).count;
}

TEST_EACH_STORE("600 dependents are released when the call that completed their task returns")
{
    lab_open(lab);
    struct pawl_added *family = add_family(lab, PAWL_DEPENDENCY_BLOCK);
    CHECK_EQ(0, ready_count(lab));
    check_ok(lab, pawl_task_complete(lab->pawl, family[0].id, NO_TEXT, NULL, &lab->err));
    CHECK_EQ(MANY, ready_count(lab));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM continuation"));
}

TEST_EACH_STORE(
    "a handle without timers runs the continuations it caused, to the end, and no others")
{
    struct pawl_options options = lab_options(lab);
    options.no_timers = true;
    lab->pawl = lab_handle(lab, &options);
    struct pawl_added *family = add_family(lab, PAWL_DEPENDENCY_BLOCK);
    /* somebody else's, left behind */
    (void)lab_sql(lab, "INSERT INTO continuation (key, kind, task, cursor, remaining, done) "
                       "VALUES (1000000, 1, 1, 0, 0, 0)");
    struct pawl_str deferred = lab_add(lab, NEW(.delay_ms = 1000, .queue = PAWL_STR("later")));
    lab_pass(lab, 2000);
    check_ok(lab, pawl_task_complete(lab->pawl, family[0].id, NO_TEXT, NULL, &lab->err));
    CHECK_EQ(MANY, ready_count(lab));
    CHECK_TEXT("1", lab_sql(lab, "SELECT count(*) FROM continuation"));
    CHECK(lab_get(lab, deferred).next_retry_at_ms != 0); /* what comes due is left alone */
}

TEST_EACH_STORE("600 dependents are cancelled, blocked or set free when their task dies")
{
    static const enum pawl_dependency_policy policies[] = {
        PAWL_DEPENDENCY_CANCEL, PAWL_DEPENDENCY_BLOCK, PAWL_DEPENDENCY_IGNORE};
    lab_open(lab);
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        struct pawl_added *family = add_family(lab, policies[i]);
        kill_task(lab, family[0].id);
        switch (policies[i]) {
        case PAWL_DEPENDENCY_CANCEL:
            CHECK_EQ(MANY, count_in(lab, PAWL_TASK_CANCELLED));
            break;
        case PAWL_DEPENDENCY_BLOCK:
            CHECK_EQ(MANY, lab_list(lab, LIST(.is_blocked = true, .limit = PAWL_BATCH_MAX)).count);
            check_ok(lab, pawl_task_resume(lab->pawl, family[0].id, NULL, NULL, &lab->err));
            CHECK_EQ(0, lab_list(lab, LIST(.is_blocked = true, .limit = PAWL_BATCH_MAX)).count);
            CHECK_EQ(0, ready_count(lab));
            check_ok(lab, pawl_task_complete(lab->pawl, family[0].id, NO_TEXT, NULL, &lab->err));
            CHECK_EQ(MANY, ready_count(lab));
            CHECK_EQ(MANY, lab_claim(lab, CLAIM(.worker_id = W, .max = PAWL_BATCH_MAX)).count);
            break;
        case PAWL_DEPENDENCY_IGNORE:
            CHECK_EQ(MANY, ready_count(lab));
            break;
        }
        CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM continuation"));
    }
}

TEST_EACH_STORE("a continuation that was left behind is finished by the next handle with timers")
{
    struct pawl_options options = lab_options(lab);
    lab->pawl = lab_handle(lab, &options);
    struct pawl_added *family = add_family(lab, PAWL_DEPENDENCY_BLOCK);
    check_ok(lab, pawl_task_complete(lab->pawl, family[0].id, NO_TEXT, NULL, &lab->err));
    /* as if the process had died after its first slice: all but the first 256 are open again */
    (void)lab_sql(lab, "UPDATE dependency SET is_open = 1 WHERE task > "
                       "(SELECT min(task) + 255 FROM dependency)");
    (void)lab_sql(lab, "UPDATE task SET open_dependencies = 1, rank = NULL WHERE key IN "
                       "(SELECT task FROM dependency WHERE is_open = 1)");
    const char *left = lab_sql(lab, "SELECT count(*) FROM dependency WHERE is_open = 1");
    CHECK_EQ(MANY, ready_count(lab) + (size_t)(left[0] - '0') * 100 + (size_t)(left[1] - '0') * 10 +
                       (size_t)(left[2] - '0'));
    (void)lab_sql(lab, "INSERT INTO continuation (key, kind, task, cursor, remaining, done) "
                       "SELECT 1000000, 1, min(on_key), min(task) + 255, 0, 0 FROM dependency");
    lab_reopen(lab);
    lab_settle(lab, lab->pawl);
    CHECK_EQ(MANY, ready_count(lab));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM continuation"));
}

TEST_EACH_STORE("whatever a reader sees changing of a dependent raises version and updated_at_ms")
{
    lab_open(lab);
    struct pawl_str parents[] = {lab_add(lab, NEW()), lab_add(lab, NEW())};
    struct pawl_str child = add_child(lab, parents, 2, PAWL_DEPENDENCY_BLOCK);
    for (size_t i = 0; i < COUNT_OF(parents); i++) {
        struct pawl_task before = lab_get(lab, child);
        lab_pass(lab, 5);
        check_ok(lab, pawl_task_complete(lab->pawl, parents[i], NO_TEXT, NULL, &lab->err));
        struct pawl_task after = lab_get(lab, child);
        CHECK_EQ(before.open_dependencies - 1, after.open_dependencies);
        CHECK_EQ(before.version + 1, after.version);
        CHECK_EQ(lab_get(lab, parents[i]).updated_at_ms, after.updated_at_ms);
        /* who has read it before is told */
        CHECK_REFUSED(PAWL_CONFLICT,
                      pawl_task_cancel(lab->pawl, child, false,
                                       CHANGE(.expected_version = before.version), &lab->err));
    }
}

TEST_EACH_STORE(
    "the deadline of a pause that passes raises the version, the end of a deferral nothing")
{
    lab_open(lab);
    struct pawl_str held = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, held, "w");
    struct pawl_renewal renewal;
    check_ok(lab, pawl_lease_renew(lab->pawl, &fence, 1, 3 * 60 * SECOND_MS, &renewal, &lab->err));
    check_ok(lab, pawl_task_pause(lab->pawl, held, NULL, &lab->err));
    struct pawl_str deferred = lab_add(lab, NEW(.delay_ms = 1000));
    struct pawl_task asked = lab_get(lab, held);
    struct pawl_task waits = lab_get(lab, deferred);
    CHECK(asked.control_deadline_at_ms != 0);
    lab_pass(lab, 61 * SECOND_MS);
    struct pawl_task task = lab_get(lab, held);
    CHECK_EQ(PAWL_TASK_RUNNING, task.state);
    CHECK(task.control_deadline_at_ms != 0); /* it is seen to be overdue */
    CHECK_EQ(asked.version + 1, task.version);
    task = lab_get(lab, deferred);
    CHECK_EQ(1, lab_list(lab, LIST(.is_ready = true)).count);
    CHECK_EQ(waits.version, task.version);
    CHECK(task.next_retry_at_ms != 0);
    lab_start(lab, deferred, "w");
    CHECK_EQ(0, lab_get(lab, deferred).next_retry_at_ms);
}

/* Time that goes on by itself, a bit with each look at the boot clock. */
static int64_t run_on(void *self)
{
    struct lab_world *world = self;
    atomic_fetch_add(&world->wall_ms, 400);
    return atomic_fetch_add(&world->boot_ms, 400);
}

static struct pawl *open_hurried(struct lab *lab, struct pawl_env *env, bool to_the_end)
{
    *env = lab->world.env;
    env->boot_ms = run_on;
    struct pawl_options options = lab_options(lab);
    options.env = env;
    options.no_timers = true;
    options.to_the_end = to_the_end;
    return lab_handle(lab, &options);
}

TEST_EACH_STORE(
    "E8 after 5 s a call returns OK and tells that it is continuing; others go on with the rest")
{
    enum { CROWD = 5 * MANY };
    lab_open(lab);
    struct pawl_added *family = NULL;
    struct pawl_str parent = lab_add(lab, NEW(.id = PAWL_STR("parent"), .hold = true));
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, MANY, sizeof *asks);
    for (int i = 0; i < MANY; i++) {
        asks[i] = *NEW(.depends_on = &parent, .depends_on_count = 1);
    }
    for (int n = 0; n < CROWD; n += MANY) family = lab_add_batch(lab, asks, MANY);
    CHECK(!family[0].continuing);
    struct pawl_env env;
    struct pawl *pawl = open_hurried(lab, &env, false);
    bool continuing = false;
    check_ok(lab, pawl_task_complete(pawl, parent, NO_TEXT, CHANGE(.continuing = &continuing),
                                     &lab->err));
    CHECK(continuing);
    CHECK_EQ(PAWL_TASK_COMPLETED, lab_get(lab, parent).state);
    CHECK_TEXT("1", lab_sql(lab, "SELECT count(*) FROM continuation"));
    pawl_close(pawl);
    lab_settle(lab, lab->pawl);
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM continuation"));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM dependency WHERE is_open = 1"));
    continuing = true;
    check_ok(lab, pawl_task_cancel(lab->pawl, family[0].id, false,
                                   CHANGE(.continuing = &continuing), &lab->err));
    CHECK(!continuing);
    continuing = true; /* outputs are written on OK only */
    CHECK_REFUSED(PAWL_STATE, pawl_task_complete(lab->pawl, family[0].id, NO_TEXT,
                                                 CHANGE(.continuing = &continuing), &lab->err));
    CHECK(continuing);
}

TEST_EACH_STORE("E8 a handle that goes to the end waits as long as slices are done")
{
    enum { CROWD = 5 * MANY };
    lab_open(lab);
    struct pawl_str parent = lab_add(lab, NEW(.id = PAWL_STR("parent"), .hold = true));
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, MANY, sizeof *asks);
    for (int i = 0; i < MANY; i++) {
        asks[i] = *NEW(.depends_on = &parent, .depends_on_count = 1);
    }
    for (int n = 0; n < CROWD; n += MANY) lab_add_batch(lab, asks, MANY);
    struct pawl_env env;
    struct pawl *pawl = open_hurried(lab, &env, true);
    bool continuing = true;
    int64_t began_ms = atomic_load(&lab->world.boot_ms);
    check_ok(lab, pawl_task_complete(pawl, parent, NO_TEXT, CHANGE(.continuing = &continuing),
                                     &lab->err));
    CHECK(!continuing);
    CHECK(atomic_load(&lab->world.boot_ms) - began_ms > 5 * SECOND_MS);
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM continuation"));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM dependency WHERE is_open = 1"));
    pawl_close(pawl);
}

TEST_EACH_STORE(
    "E8 a task that hundreds have waited for is added at once, and tells that it is continuing")
{
    enum { CROWD = 5 * MANY };
    static const struct pawl_str awaited = PAWL_STR_INIT("awaited");
    lab_open(lab);
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, MANY, sizeof *asks);
    for (int i = 0; i < MANY; i++) {
        asks[i] =
            *NEW(.depends_on = &awaited, .depends_on_count = 1, .allow_missing_dependencies = true);
    }
    for (int n = 0; n < CROWD; n += MANY) lab_add_batch(lab, asks, MANY);
    struct pawl_env env;
    struct pawl *pawl = open_hurried(lab, &env, false);
    struct pawl_added added = {0};
    check_ok(lab, pawl_task_add(pawl, NEW(.id = awaited), lab->keep, &added, &lab->err));
    CHECK(added.continuing);
    pawl_close(pawl);
    lab_settle(lab, lab->pawl);
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM dependency WHERE on_key IS NULL"));
}

TEST_MAIN()
