/* Retention: what goes, what stays of it, who is waited for, and that it can be killed anywhere. */
#include "base/arena.h"
#include "core/limits.h"
#include "stores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RETAIN_MS = 3600 * 1000 };

/* The code, and a part of its sentence. */
#define CHECK_SAYS(code, part, call)                  \
    do {                                              \
        CHECK_REFUSED((code), (call));                \
        CHECK(strstr(lab->err.text, (part)) != NULL); \
    } while (0)

#define GC(...) (&(struct pawl_gc){.size = sizeof(struct pawl_gc), __VA_ARGS__})

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

static struct pawl_gc_done gc(struct lab *lab, const struct pawl_gc *ask)
{
    struct pawl_gc_done done = {0};
    check_ok(lab, pawl_gc(lab->pawl, ask, &done, &lab->err));
    return done;
}

static void complete(struct lab *lab, struct pawl_str id)
{
    struct pawl_fence fence = lab_start(lab, id, "w");
    check_ok(lab,
             pawl_task_complete(lab->pawl, id, PAWL_STR("1"), CHANGE(.fence = &fence), &lab->err));
}

static void cancel(struct lab *lab, struct pawl_str id)
{
    check_ok(lab, pawl_task_cancel(lab->pawl, id, false, NULL, &lab->err));
}

static int64_t count(struct lab *lab, const char *table)
{
    char text[128];
    (void)snprintf(text, sizeof text, "SELECT COUNT(*) FROM %s", table);
    return atoll(lab_sql(lab, text));
}

static enum pawl_code get(struct lab *lab, struct pawl_str id)
{
    struct pawl_task task;
    return pawl_task_get(lab->pawl, id, false, lab->keep, &task, &lab->err);
}

/* A handle with retention takes the place of the one that is open. */
static void open_with(struct lab *lab, int64_t retain_ms, int64_t events_keep_ms)
{
    struct pawl_options options = lab_options(lab);
    options.retain_ms = retain_ms;
    options.events_keep_ms = events_keep_ms;
    if (lab->pawl != NULL) pawl_close(lab->pawl);
    lab->pawl = lab_handle(lab, &options);
}

TEST_EACH_STORE("D-61 a finished task is removed when its time is over, and not before")
{
    lab_open(lab);
    struct pawl_str done = lab_add(lab, NEW(.input = PAWL_STR("1"), .goal = PAWL_STR("g")));
    struct pawl_str alive = lab_add(lab, NEW(.input = PAWL_STR("2")));
    struct pawl_fence fence = lab_start(lab, done, "w");
    check_ok(lab, pawl_task_checkpoint(lab->pawl, done, 1, PAWL_STR("{}"), CHANGE(.fence = &fence),
                                       &lab->err));
    check_ok(lab,
             pawl_task_log(lab->pawl, done, PAWL_STR("line"), CHANGE(.fence = &fence), &lab->err));
    check_ok(lab, pawl_task_complete(lab->pawl, done, PAWL_STR("1"), CHANGE(.fence = &fence),
                                     &lab->err));
    CHECK_CODE(PAWL_LEASE_LOST,
               pawl_task_complete(lab->pawl, done, PAWL_STR("2"),
                                  CHANGE(.fence = &(struct pawl_fence){.task_id = done,
                                                                       .owner = PAWL_STR("w"),
                                                                       .epoch = 7}),
                                  &lab->err));
    lab_pass(lab, RETAIN_MS - 60 * SECOND_MS);
    open_with(lab, RETAIN_MS, 0);
    lab_settle(lab, lab->pawl);
    CHECK_CODE(PAWL_OK, get(lab, done));
    lab_pass(lab, 60 * SECOND_MS);
    open_with(lab, RETAIN_MS, 0);
    lab_settle(lab, lab->pawl);
    CHECK_SAYS(PAWL_NOT_FOUND, "no such task:", get(lab, done));
    CHECK(strstr(lab->err.text, "ended as COMPLETED and was removed") != NULL);
    CHECK_CODE(PAWL_OK, get(lab, alive));
    CHECK_EQ(1, count(lab, "task"));
    CHECK_EQ(1, count(lab, "payload")); /* the other one's */
    CHECK_EQ(2, count(lab, "event"));
    CHECK_EQ(0, count(lab, "checkpoint"));
    CHECK_EQ(0, count(lab, "log"));
    CHECK_EQ(0, count(lab, "late"));
    CHECK_EQ(1, count(lab, "tombstone"));
}

TEST_EACH_STORE("D-61 without the option nothing is ever removed")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    complete(lab, id);
    lab_pass(lab, INT64_C(400) * 24 * 3600 * SECOND_MS);
    lab_settle(lab, lab->pawl);
    CHECK_CODE(PAWL_OK, get(lab, id));
}

TEST_EACH_STORE("D-61 ids and idempotency keys of removed tasks stay in use")
{
    lab_open(lab);
    const struct pawl_task_new *ask =
        NEW(.id = PAWL_STR("mine"), .key = PAWL_STR("k"), .goal = PAWL_STR("a"));
    struct pawl_added added;
    struct pawl_str id = lab_add(lab, ask);
    complete(lab, id);
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).removed);
    lab_reopen(lab);
    CHECK_SAYS(PAWL_CONFLICT, "id: mine is in use",
               pawl_task_add(lab->pawl, NEW(.id = PAWL_STR("mine")), lab->keep, &added, &lab->err));
    check_ok(lab, pawl_task_add(lab->pawl, ask, lab->keep, &added, &lab->err));
    CHECK(added.existed);
    CHECK_STR("mine", added.id);
    CHECK_SAYS(PAWL_CONFLICT, "key k: task mine was created under it",
               pawl_task_add(lab->pawl, NEW(.key = PAWL_STR("k"), .goal = PAWL_STR("b")), lab->keep,
                             &added, &lab->err));
    CHECK_EQ(0, count(lab, "task"));
}

TEST_EACH_STORE("D-61 who depends on a removed task is told how it ended")
{
    lab_open(lab);
    struct pawl_str good = lab_add(lab, NEW());
    struct pawl_str bad = lab_add(lab, NEW());
    struct pawl_added added;
    complete(lab, good);
    cancel(lab, bad);
    CHECK_EQ(2, gc(lab, GC(.older_than_ms = 0)).removed);

    struct pawl_str after_good = lab_add(lab, NEW(.depends_on = &good, .depends_on_count = 1));
    CHECK_EQ(0, lab_get(lab, after_good).open_dependencies);
    CHECK_EQ(1, lab_get(lab, after_good).depends_on_count);
    CHECK(pawl_str_equal(good, lab_get(lab, after_good).depends_on[0]));
    CHECK_EQ(PAWL_TASK_RUNNING, (lab_start(lab, after_good, "w"), lab_get(lab, after_good).state));

    CHECK_CODE(PAWL_INVALID,
               pawl_task_add(lab->pawl, NEW(.depends_on = &bad, .depends_on_count = 1), lab->keep,
                             &added, &lab->err));
    CHECK(strstr(lab->err.text, "ended as CANCELLED and was removed") != NULL);
    struct pawl_str cancelled = lab_add(lab, NEW(.depends_on = &bad, .depends_on_count = 1,
                                                 .dependency_policy = PAWL_DEPENDENCY_CANCEL));
    CHECK_EQ(PAWL_TASK_CANCELLED, lab_get(lab, cancelled).state);
    struct pawl_str ignoring = lab_add(lab, NEW(.depends_on = &bad, .depends_on_count = 1,
                                                .dependency_policy = PAWL_DEPENDENCY_IGNORE));
    CHECK_EQ(0, lab_get(lab, ignoring).open_dependencies);
}

TEST_EACH_STORE("D-61 a batch may depend on its own repeat of a removed task")
{
    lab_open(lab);
    const struct pawl_task_new first = *NEW(.key = PAWL_STR("k"));
    struct pawl_str member = PAWL_STR("#0");
    complete(lab, lab_add(lab, &first));
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).removed);
    struct pawl_task_new both[] = {first, *NEW(.depends_on = &member, .depends_on_count = 1)};
    struct pawl_added *added = lab_add_batch(lab, both, 2);
    CHECK(added[0].existed);
    CHECK_EQ(0, lab_get(lab, added[1].id).open_dependencies);
}

TEST_EACH_STORE("D-61 a task that others wait for stays until they do not")
{
    lab_open(lab);
    struct pawl_str bad = lab_add(lab, NEW(.retry = {.max_retries = PAWL_RETRIES_NONE}));
    struct pawl_str waits = lab_add(lab, NEW(.depends_on = &bad, .depends_on_count = 1));
    struct pawl_fence fence = lab_start(lab, bad, "w");
    check_ok(lab, pawl_task_fail(lab->pawl, bad, NULL, CHANGE(.fence = &fence), &lab->err));
    struct pawl_gc_done done = gc(lab, GC(.older_than_ms = 0));
    CHECK_EQ(0, done.removed);
    CHECK_EQ(1, done.waiting);
    check_ok(lab, pawl_task_resume(lab->pawl, bad, NULL, NULL, &lab->err));
    complete(lab, bad);
    CHECK_EQ(0, lab_get(lab, waits).open_dependencies);
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).removed);
    complete(lab, waits);
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).removed);
    CHECK_EQ(0, count(lab, "dependency"));
}

TEST_SQLITE("D-61 what others wait for is looked at again after an hour, by the timers")
{
    lab_open(lab);
    open_with(lab, RETAIN_MS, 0);
    struct pawl_str bad = lab_add(lab, NEW());
    struct pawl_str waits = lab_add(lab, NEW(.depends_on = &bad, .depends_on_count = 1));
    cancel(lab, bad);
    lab_pass(lab, RETAIN_MS);
    lab_settle(lab, lab->pawl);
    CHECK_CODE(PAWL_OK, get(lab, bad));
    cancel(lab, waits);
    lab_pass(lab, PAWL_RETAINED_PASS_MS);
    lab_settle(lab, lab->pawl);
    CHECK_CODE(PAWL_NOT_FOUND, get(lab, bad));
    CHECK_CODE(PAWL_NOT_FOUND, get(lab, waits));
}

TEST_SQLITE("B7 retention waits for consumers, and says for which one")
{
    struct pawl_events events;
    lab_open(lab);
    open_with(lab, RETAIN_MS, 0);
    struct pawl_str id = lab_add(lab, NEW());
    check_ok(lab,
             pawl_consumer_read(lab->pawl, PAWL_STR("slow"), 10, 0, lab->keep, &events, &lab->err));
    complete(lab, id);
    CHECK_TEXT("slow", gc(lab, GC(.older_than_ms = 0)).held_by);
    lab_pass(lab, RETAIN_MS);
    lab_settle(lab, lab->pawl);
    CHECK_CODE(PAWL_OK, get(lab, id));
    check_ok(lab,
             pawl_consumer_read(lab->pawl, PAWL_STR("slow"), 10, 0, lab->keep, &events, &lab->err));
    CHECK_EQ(4, events.count);
    check_ok(lab, pawl_consumer_acknowledge_through(lab->pawl, PAWL_STR("slow"), events.position,
                                                    &lab->err));
    lab_pass(lab, PAWL_RETAINED_AGAIN_MS);
    lab_settle(lab, lab->pawl);
    CHECK_CODE(PAWL_NOT_FOUND, get(lab, id));
}

TEST_SQLITE(
    "B7 a consumer that has stayed away for a week holds nobody's room, and the log says so")
{
    struct pawl_events events;
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    check_ok(lab,
             pawl_consumer_read(lab->pawl, PAWL_STR("gone"), 10, 0, lab->keep, &events, &lab->err));
    complete(lab, id);
    lab_pass(lab, PAWL_CONSUMER_KEEP_MS_DEFAULT - 1);
    CHECK_EQ(0, gc(lab, GC(.older_than_ms = 0)).removed);
    lab_pass(lab, 1);
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).removed);
    CHECK_EQ(0, count(lab, "consumer"));
}

TEST_SQLITE("B7 how long a consumer may stay away is an option, up to for ever")
{
    struct pawl_events events;
    lab_open(lab);
    struct pawl_options options = lab_options(lab);
    options.consumer_keep_ms = -1;
    struct pawl *none = NULL;
    CHECK_SAYS(PAWL_INVALID, "consumer_keep_ms: -1", pawl_open(&none, &options, &lab->err));
    options.consumer_keep_ms = PAWL_RETAIN_MS_MAX + 1;
    CHECK_SAYS(PAWL_INVALID, "consumer_keep_ms: ", pawl_open(&none, &options, &lab->err));
    options.consumer_keep_ms = 2 * PAWL_CONSUMER_KEEP_MS_DEFAULT;
    pawl_close(lab->pawl);
    lab->pawl = lab_handle(lab, &options);
    check_ok(lab,
             pawl_consumer_read(lab->pawl, PAWL_STR("gone"), 10, 0, lab->keep, &events, &lab->err));
    complete(lab, lab_add(lab, NEW()));
    lab_pass(lab, 2 * PAWL_CONSUMER_KEEP_MS_DEFAULT - 1);
    CHECK_EQ(0, gc(lab, GC(.older_than_ms = 0)).removed);
    CHECK_EQ(1, count(lab, "consumer"));
    options.consumer_keep_ms = PAWL_RETAIN_MS_MAX;
    struct pawl *forever = lab_handle(lab, &options);
    lab_pass(lab, 1);
    struct pawl_gc_done done;
    check_ok(lab, pawl_gc(forever, GC(.older_than_ms = 0), &done, &lab->err));
    CHECK_TEXT("gone", done.held_by);
    pawl_close(forever);
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).removed);
    CHECK_EQ(0, count(lab, "consumer"));
}

TEST_SQLITE("events are kept for consumers to come, if that is asked for and there are none")
{
    lab_open(lab);
    open_with(lab, RETAIN_MS, 2 * RETAIN_MS);
    complete(lab, lab_add(lab, NEW()));
    lab_pass(lab, 2 * RETAIN_MS - 1);
    lab_settle(lab, lab->pawl);
    CHECK_EQ(1, count(lab, "task"));
    lab_pass(lab, 1);
    lab_settle(lab, lab->pawl);
    lab_pass(lab, PAWL_RETAINED_PASS_MS);
    lab_settle(lab, lab->pawl);
    CHECK_EQ(0, count(lab, "task"));
}

TEST_EACH_STORE("D-33 sequences and positions go on where they were after removal")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    complete(lab, id);
    struct pawl_str other = lab_add(lab, NEW(.hold = true));
    int64_t position = lab_last(lab, other).position;
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).removed);
    lab_reopen(lab);
    check_ok(lab, pawl_task_queue(lab->pawl, other, NULL, &lab->err));
    CHECK_EQ(2, lab_last(lab, other).sequence);
    CHECK_EQ(position + 1, lab_last(lab, other).position);
}

TEST_EACH_STORE(
    "a long history and a long log are removed by later steps, and nothing is left over")
{
    enum { ROUNDS = PAWL_REMAINS_AT_ONCE };
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    for (int i = 0; i < ROUNDS; i++) {
        struct pawl_fence fence = lab_start(lab, id, "w");
        for (int line = 0; line < 3; line++) {
            check_ok(lab, pawl_task_log(lab->pawl, id, PAWL_STR("x"), CHANGE(.fence = &fence),
                                        &lab->err));
        }
        check_ok(lab, pawl_task_release(lab->pawl, id, 0, CHANGE(.fence = &fence), &lab->err));
    }
    cancel(lab, id);
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).removed);
    lab_settle(lab, lab->pawl);
    CHECK_EQ(0, count(lab, "event"));
    CHECK_EQ(0, count(lab, "log"));
    CHECK_EQ(0, count(lab, "continuation"));
}

TEST_EACH_STORE("retention by hand: by state, at most so many, and counted without being done")
{
    lab_open(lab);
    for (int i = 0; i < 3; i++) complete(lab, lab_add(lab, NEW()));
    cancel(lab, lab_add(lab, NEW()));
    CHECK_EQ(0, gc(lab, GC(.older_than_ms = 1000 * SECOND_MS)).removed);
    CHECK_EQ(4, gc(lab, GC(.is_dry = true)).removed);
    CHECK_EQ(1, gc(lab, GC(.is_dry = true, .states = 1 << PAWL_TASK_CANCELLED)).removed);
    CHECK_EQ(4, count(lab, "task"));
    CHECK_EQ(1, gc(lab, GC(.states = 1 << PAWL_TASK_CANCELLED)).removed);
    CHECK_EQ(2, gc(lab, GC(.max = 2)).removed);
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).removed);
    CHECK_EQ(4, count(lab, "tombstone"));
}

TEST_EACH_STORE("retention by hand refuses what it cannot mean, and names it")
{
    struct pawl_gc_done done;
    lab_open(lab);
    CHECK_SAYS(PAWL_INVALID,
               "older_than_ms:", pawl_gc(lab->pawl, GC(.older_than_ms = -1), &done, &lab->err));
    CHECK_SAYS(PAWL_INVALID, "states:",
               pawl_gc(lab->pawl, GC(.states = 1 << PAWL_TASK_RUNNING), &done, &lab->err));
    CHECK_SAYS(PAWL_INVALID, "max:", pawl_gc(lab->pawl, GC(.max = -1), &done, &lab->err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_gc(lab->pawl, &(struct pawl_gc){0}, &done, &lab->err));
    struct pawl_options options = lab_options(lab);
    struct pawl *pawl = NULL;
    options.retain_ms = -1;
    CHECK_SAYS(PAWL_INVALID, "retain_ms:", pawl_open(&pawl, &options, &lab->err));
    options.retain_ms = PAWL_RETAIN_MS_MAX + 1;
    CHECK_SAYS(PAWL_INVALID, "retain_ms:", pawl_open(&pawl, &options, &lab->err));
}

TEST_EACH_STORE("a slice removes a bounded number of rows, and the next one goes on")
{
    enum { TASKS = 200 };
    lab_open(lab);
    for (int i = 0; i < TASKS; i++) cancel(lab, lab_add(lab, NEW()));
    lab_pass(lab, RETAIN_MS);
    open_with(lab, RETAIN_MS, 0);
    int64_t next_at_boot_ms;
    check_ok(lab, pawl_step(lab->pawl, &next_at_boot_ms, &lab->err));
    CHECK(next_at_boot_ms <= atomic_load(&lab->world.boot_ms));
    int64_t left = count(lab, "task");
    CHECK(left < TASKS && left >= TASKS - PAWL_RETAINED_LOOKED_AT);
    lab_settle(lab, lab->pawl);
    CHECK_EQ(0, count(lab, "task"));
    CHECK_EQ(0, count(lab, "event"));
    CHECK_EQ(TASKS, count(lab, "tombstone"));
}

TEST_SQLITE("tombstones end after 90 days")
{
    lab_open(lab);
    complete(lab, lab_add(lab, NEW(.id = PAWL_STR("a"))));
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).removed);
    lab_pass(lab, PAWL_TOMBSTONE_KEPT_MS - 1);
    CHECK_EQ(0, gc(lab, GC(.older_than_ms = 0)).ended);
    lab_pass(lab, 1);
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).ended);
    CHECK_EQ(0, count(lab, "tombstone"));
    (void)lab_add(lab, NEW(.id = PAWL_STR("a")));
}

TEST_SQLITE("tombstones end in the order of their removal, however long one task has lived")
{
    lab_open(lab);
    struct pawl_str old = lab_add(lab, NEW());
    complete(lab, lab_add(lab, NEW(.id = PAWL_STR("early"))));
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).removed);
    lab_pass(lab, PAWL_TOMBSTONE_KEPT_MS - 1);
    complete(lab, old);
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).removed);
    lab_pass(lab, 1);
    CHECK_EQ(1, gc(lab, GC(.older_than_ms = 0)).ended);
    CHECK_EQ(1, count(lab, "tombstone"));
    (void)lab_add(lab, NEW(.id = PAWL_STR("early")));
}

TEST_EACH_STORE("what a task waits for is closed when it is over itself, and nobody is held by it")
{
    enum { CHILDREN = PAWL_SLICE_ROWS_MAX + 3 };
    lab_open(lab);
    struct pawl_str root[] = {lab_add(lab, NEW()), lab_add(lab, NEW())};
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, CHILDREN, sizeof *asks);
    for (int i = 0; i < CHILDREN; i++) {
        asks[i] = *NEW(.depends_on = root, .depends_on_count = 2,
                       .dependency_policy = PAWL_DEPENDENCY_CANCEL);
    }
    struct pawl_added *children = lab_add_batch(lab, asks, CHILDREN);
    struct pawl_str done = lab_add(lab, NEW(.depends_on = root, .depends_on_count = 2));
    check_ok(lab, pawl_task_complete(lab->pawl, done, NO_TEXT, NULL, &lab->err));
    cancel(lab, root[0]);
    lab_settle(lab, lab->pawl);
    struct pawl_task last = lab_get(lab, children[CHILDREN - 1].id);
    CHECK_EQ(PAWL_TASK_CANCELLED, last.state);
    CHECK_EQ(0, last.open_dependencies);
    CHECK_EQ(0, lab_get(lab, done).open_dependencies);
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM dependency WHERE is_open = 1"));
    cancel(lab, root[1]);
    struct pawl_gc_done all = gc(lab, GC(.older_than_ms = 0));
    CHECK_EQ(0, all.waiting);
    CHECK_EQ(CHILDREN + 3, all.removed);
}

TEST_SQLITE("the room of removed rows goes back to the file system")
{
    enum { TASKS = 40 };
    lab_open(lab);
    struct pawl_compacted done;
    struct pawl_str input = lab_json(lab, 100 * 1024);
    for (int i = 0; i < TASKS; i++) cancel(lab, lab_add(lab, NEW(.input = input)));
    check_ok(lab, pawl_compact(lab->pawl, &done, &lab->err));
    CHECK_EQ(0, done.freed_bytes);
    CHECK(done.file_bytes > TASKS * 100 * 1024);
    CHECK_EQ(TASKS, gc(lab, GC(.older_than_ms = 0)).removed);
    check_ok(lab, pawl_compact(lab->pawl, &done, &lab->err));
    CHECK(done.freed_bytes > TASKS * 100 * 1024);
    CHECK(done.file_bytes < 500 * 1024);
    CHECK_TEXT("ok", lab_sql(lab, "PRAGMA integrity_check"));
}

TEST_MAIN()
