/* The store as a whole: what is counted, by what clock, and that waiting for commits is told of all
 * of them. */
#include "base/arena.h"
#include "core/limits.h"
#include "stores.h"

#include <pthread.h>
#include <unistd.h>
#include <stdio.h>
#include <string.h>

static struct pawl_health health(struct lab *lab)
{
    struct pawl_health out = {0};
    CHECK_OK(pawl_health(lab->pawl, lab->keep, &out, &lab->err), &lab->err);
    return out;
}

static struct pawl_tally tally(struct lab *lab, int64_t after)
{
    struct pawl_tally out = {0};
    CHECK_OK(pawl_events_tally(lab->pawl, after, lab->keep, &out, &lab->err), &lab->err);
    return out;
}

static void fail_task(struct lab *lab, struct pawl_str id)
{
    struct pawl_fence fence = lab_start(lab, id, "w");
    CHECK_OK(pawl_task_fail(lab->pawl, id, FAILURE(.is_final = true), CHANGE(.fence = &fence),
                            &lab->err),
             &lab->err);
}

TEST_EACH_STORE("health counts what waits for a person, what has ended, and consumers")
{
    struct pawl_events events;
    lab_open(lab);
    struct pawl_health empty = health(lab);
    CHECK_EQ(0,
             empty.dead_letters + empty.blocked + empty.overdue + empty.finished + empty.running + empty.late_results);
    CHECK_EQ(0, empty.consumer_count);
    CHECK(empty.schema_version >= 2);
    CHECK(empty.file_bytes > 0);

    struct pawl_str dead = lab_add(lab, NEW());
    (void)lab_add(lab, NEW(.depends_on = &dead, .depends_on_count = 1));
    fail_task(lab, dead);
    struct pawl_str paused = lab_add(lab, NEW());
    CHECK_OK(pawl_task_pause(lab->pawl, paused, NULL, &lab->err), &lab->err);
    (void)lab_start(lab, lab_add(lab, NEW()), "w");
    CHECK_OK(pawl_consumer_read(lab->pawl, PAWL_STR("c"), 2, 0, lab->keep, &events, &lab->err),
             &lab->err);
    CHECK_OK(
        pawl_consumer_acknowledge_through(lab->pawl, PAWL_STR("c"), events.position, &lab->err),
        &lab->err);
    struct pawl_health full = health(lab);
    CHECK_EQ(1, full.dead_letters);
    CHECK_EQ(1, full.blocked);
    CHECK_EQ(1, full.paused);
    CHECK_EQ(1, full.running);
    CHECK_EQ(1, full.finished);
    CHECK_EQ(lab_get(lab, dead).finished_at_ms, full.oldest_finished_at_ms);
    CHECK_EQ(0, full.overdue);
    CHECK_EQ(1, full.consumer_count);
    CHECK_STR("c", full.consumers[0].name);
    CHECK_EQ(events.position, full.consumers[0].position);
    CHECK_EQ(tally(lab, -1).position - events.position, full.consumers[0].behind);
}

TEST_EACH_STORE("a large decision that has ended, and whose count is only waited for, has nothing left to do")
{
    lab_open(lab);
    (void)lab_sql(lab, "INSERT INTO continuation (key, kind, task, cursor, remaining, done) VALUES (500000, 2, 0, 0, -1, "
                       "7)");
    CHECK_EQ(0, health(lab).continuations);
    (void)lab_sql(lab, "UPDATE continuation SET remaining = 5");
    CHECK_EQ(1, health(lab).continuations);
}

TEST_SQLITE("what nobody does in time is overdue, after a grace")
{
    lab_open(lab);
    (void)lab_start(lab, lab_add(lab, NEW()), "w");
    int64_t end_ms = lab_get(lab, lab_list(lab, LIST(.limit = 1)).tasks[0].id).lease_end_at_ms;
    int64_t lease_ms = end_ms - health(lab).now_ms;
    atomic_fetch_add(&lab->world.boot_ms, lease_ms + PAWL_HEALTH_LATE_MS);
    CHECK_EQ(0, health(lab).overdue);
    atomic_fetch_add(&lab->world.boot_ms, 1);
    CHECK_EQ(1, health(lab).overdue);
    CHECK_EQ(end_ms, health(lab).oldest_due_at_ms);
}

TEST_EACH_STORE("counts end at their bound")
{
    enum { MANY = PAWL_HEALTH_COUNT_MAX + 1 };
    static struct pawl_task_new asks[MANY];
    lab_open(lab);
    struct pawl_str on = lab_add(lab, NEW());
    for (int i = 0; i < MANY; i++) asks[i] = *NEW(.depends_on = &on, .depends_on_count = 1);
    (void)lab_add_batch(lab, asks, PAWL_BATCH_MAX);
    (void)lab_add_batch(lab, asks, MANY - PAWL_BATCH_MAX);
    CHECK_OK(pawl_task_cancel(lab->pawl, on, false, NULL, &lab->err), &lab->err);
    lab_settle(lab, lab->pawl);
    CHECK_EQ(PAWL_HEALTH_COUNT_MAX, health(lab).blocked);
}

static void claim_from(struct lab *lab, const char *host)
{
    struct pawl_str id = lab_add(lab, NEW());
    lab->world.env.host_id = pawl_str_of(host);
    struct pawl_fence fence = lab_start(lab, id, "w");
    struct pawl_change change = PAWL_CHANGE_INIT;
    change.fence = &fence;
    CHECK_OK(pawl_task_complete(lab->pawl, id, PAWL_STR("1"), &change, &lab->err), &lab->err);
}

TEST_EACH_STORE("an id under which two processes claim in turn is shared; one that was restarted is not")
{
    lab_open(lab);
    claim_from(lab, "one");
    claim_from(lab, "one");
    claim_from(lab, "two"); /* restarted elsewhere */
    claim_from(lab, "two");
    claim_from(lab, "three");
    CHECK_EQ(0, health(lab).shared_count);
    claim_from(lab, "two");
    struct pawl_health found = health(lab);
    CHECK_EQ(1, found.shared_count);
    CHECK_STR("w", found.shared[0].id);
    CHECK_STR("two", found.shared[0].host);
    CHECK_STR("three", found.shared[0].other_host);
    CHECK_EQ(getpid(), found.shared[0].pid);
    CHECK_EQ(getpid(), found.shared[0].other_pid);
}

TEST_SQLITE("an id that was shared is so for an hour after the last sign of it")
{
    lab_open(lab);
    claim_from(lab, "one");
    claim_from(lab, "two");
    claim_from(lab, "one");
    CHECK_EQ(1, health(lab).shared_count);
    atomic_fetch_add(&lab->world.boot_ms, PAWL_WORKER_SHARED_MS - 1);
    CHECK_EQ(1, health(lab).shared_count);
    atomic_fetch_add(&lab->world.boot_ms, 1);
    CHECK_EQ(0, health(lab).shared_count);
}

static int64_t counted(const struct pawl_counted *all, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (pawl_str_equal(all[i].name, pawl_str_of(name))) return all[i].count;
    }
    return -1;
}

static struct pawl_counters counters(struct lab *lab)
{
    struct pawl_counters out = {0};
    CHECK_OK(pawl_counters(lab->pawl, lab->keep, &out, &lab->err), &lab->err);
    return out;
}

TEST_EACH_STORE("counters tell what the handle has done since it was opened")
{
    lab_open(lab);
    struct pawl_counters none = counters(lab);
    CHECK_EQ(0, none.step_commands.count);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    struct pawl_renewal renewal = {0};
    CHECK_OK(pawl_lease_renew(lab->pawl, &fence, 1, 0, &renewal, &lab->err), &lab->err);
    struct pawl_fence stale = fence;
    stale.owner = PAWL_STR("another");
    struct pawl_change change = PAWL_CHANGE_INIT;
    change.fence = &stale;
    CHECK_OK(pawl_lease_renew(lab->pawl, &stale, 1, 0, &renewal, &lab->err), &lab->err);
    CHECK_EQ(PAWL_LEASE_LOST, renewal.code);
    CHECK_EQ(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, id, PAWL_STR("1"), &change, &lab->err));
    change.fence = &fence;
    CHECK_OK(pawl_task_complete(lab->pawl, id, PAWL_STR("2"), &change, &lab->err), &lab->err);

    struct pawl_counters done = counters(lab);
    CHECK_EQ(1, counted(done.events, done.event_count, "task_created"));
    CHECK_EQ(1, counted(done.events, done.event_count, "task_started"));
    CHECK_EQ(1, counted(done.events, done.event_count, "task_completed"));
    CHECK_EQ(0, counted(done.events, done.event_count, "task_failed"));
    CHECK_EQ(0, counted(done.workflows_ended, done.workflows_ended_count, "FAILED"));
    CHECK_EQ(-1, counted(done.workflows_ended, done.workflows_ended_count, "RUNNING"));
    CHECK_EQ(1, done.renewals);
    CHECK_EQ(1, done.late_results);
    CHECK_EQ(0, done.failed_steps);
    CHECK_EQ(6, done.step_commands.sum);
    CHECK_EQ(6, done.step_commands.count);
    CHECK_EQ(6, done.step_commands.buckets[0]);
    CHECK_EQ(6, done.commit_ms.count);
    CHECK_EQ(1, done.wait_ms.count);
    CHECK_EQ(1, done.run_ms.count);
}

TEST_SQLITE("counters tell how long tasks waited, and how long their attempts took")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    atomic_fetch_add(&lab->world.boot_ms, 40);
    struct pawl_fence fence = lab_start(lab, id, "w");
    struct pawl_failure failure = PAWL_FAILURE_INIT;
    struct pawl_change change = PAWL_CHANGE_INIT;
    failure.error = PAWL_STR("no");
    change.fence = &fence;
    atomic_fetch_add(&lab->world.boot_ms, 7);
    CHECK_OK(pawl_task_fail(lab->pawl, id, &failure, &change, &lab->err), &lab->err);
    struct pawl_counters done = counters(lab);
    CHECK_EQ(40, done.wait_ms.sum);
    CHECK_EQ(7, done.run_ms.sum);
    CHECK_EQ(1, counted(done.events, done.event_count, "task_retry_scheduled"));
}

TEST_SQLITE("a counter tells how late what came due was dealt with")
{
    lab_open(lab);
    (void)lab_add(lab, NEW(.delay_ms = 1000));
    atomic_fetch_add(&lab->world.boot_ms, 1030);
    lab_settle(lab, lab->pawl);
    struct pawl_spread late = counters(lab).late_ms;
    CHECK_EQ(1, late.count);
    CHECK_EQ(30, late.sum);
    CHECK_EQ(0, late.buckets[4]);
    CHECK_EQ(1, late.buckets[5]);
}

TEST_EACH_STORE("a tally counts what has happened after a position, by kind")
{
    lab_open(lab);
    struct pawl_str first = lab_add(lab, NEW());
    struct pawl_tally start = tally(lab, -1);
    CHECK_EQ(0, start.events);
    CHECK_EQ(lab_last(lab, first).position, start.position);
    struct pawl_fence fence = lab_start(lab, first, "w");
    CHECK_OK(pawl_task_complete(lab->pawl, first, NO_TEXT, CHANGE(.fence = &fence), &lab->err),
             &lab->err);
    fail_task(lab, lab_add(lab, NEW()));
    struct pawl_tally later = tally(lab, start.position);
    CHECK_EQ(1, later.added);
    CHECK_EQ(2, later.claimed);
    CHECK_EQ(1, later.completed);
    CHECK_EQ(1, later.failed);
    CHECK_EQ(0, later.lost);
    CHECK_EQ(6, later.events);
    CHECK_EQ(start.position + 6, later.position);
    CHECK_EQ(0, tally(lab, later.position).events);
    CHECK_EQ(later.position, tally(lab, later.position).position);
}

/* ---- The log ---- */

struct lines {
    char text[16 * 1024];
    size_t len;
};

static void keep_line(void *self, enum pawl_log_level level, struct pawl_str line)
{
    struct lines *lines = self;
    (void)level;
    int more = snprintf(lines->text + lines->len, sizeof lines->text - lines->len, "%.*s\n",
                        PAWL_STR_ARG(line));
    if (more > 0 && lines->len + (size_t)more < sizeof lines->text) lines->len += (size_t)more;
}

static void open_with_log(struct lab *lab, struct lines *lines)
{
    struct pawl_options options = lab_options(lab);
    memset(lines, 0, sizeof *lines);
    options.log = keep_line;
    options.log_self = lines;
    lab->pawl = lab_handle(lab, &options);
}

#define CHECK_LINE(part) CHECK(strstr(lines.text, (part)) != NULL)

TEST_SQLITE("the log tells of a dropped consumer and of what retention has removed")
{
    static struct lines lines;
    struct pawl_events events;
    struct pawl_gc ask = PAWL_GC_INIT;
    struct pawl_gc_done done;
    open_with_log(lab, &lines);
    CHECK_OK(pawl_consumer_read(lab->pawl, PAWL_STR("gone"), 1, 0, lab->keep, &events, &lab->err),
             &lab->err);
    CHECK_OK(pawl_task_cancel(lab->pawl, lab_add(lab, NEW()), false, NULL, &lab->err), &lab->err);
    lab_pass(lab, PAWL_CONSUMER_KEEP_MS_DEFAULT);
    CHECK_OK(pawl_gc(lab->pawl, &ask, &done, &lab->err), &lab->err);
    CHECK_LINE("level=warn event=consumer.dropped consumer=gone behind=3 away_ms=604800000\n");
    CHECK_LINE("level=info event=retention.slice removed=1 ended=0\n");
}

TEST_SQLITE("the log tells of a lost lease and of the dead letter it ends in")
{
    static struct lines lines;
    open_with_log(lab, &lines);
    (void)lab_start(
        lab, lab_add(lab, NEW(.id = PAWL_STR("t"), .retry.max_retries = PAWL_RETRIES_NONE)), "w");
    lab_pass(lab, 120 * SECOND_MS);
    CHECK_LINE("level=warn event=task.recovery_pending task=t ");
    CHECK_LINE("level=warn event=task.dead_lettered task=t ");
}

static int64_t slow_boot_ms(void *self)
{
    return atomic_fetch_add(&((struct lab_world *)self)->boot_ms, 400);
}

TEST_SQLITE("the log tells of a slow step, and of a step of the wall clock")
{
    static struct lines lines;
    open_with_log(lab, &lines);
    (void)lab_add(lab, NEW());
    CHECK(strstr(lines.text, "step.slow") == NULL);
    atomic_fetch_add(&lab->world.wall_ms, 3600 * SECOND_MS);
    (void)lab_add(lab, NEW());
    CHECK_LINE("event=clock.stepped by_ms=3600000\n");
    lab->world.env.boot_ms = slow_boot_ms; /* every look at the clock takes a while */
    (void)lab_add(lab, NEW());
    CHECK_LINE("level=warn event=step.slow took_ms=");
}

/* ---- Waiting for commits ---- */

static void *add_one(void *self)
{
    struct lab *lab = self;
    struct pawl_options options = PAWL_OPTIONS_INIT;
    struct pawl *other = NULL;
    struct pawl_arena *keep = NULL;
    struct pawl_added added;
    options.store = pawl_str_of(lab->target);
    enum pawl_code code = pawl_open(&other, &options, NULL);
    if (code == PAWL_OK) code = pawl_arena_open(&keep, 0);
    if (code == PAWL_OK) code = pawl_task_add(other, NEW(), keep, &added, NULL);
    pawl_arena_close(keep);
    pawl_close(other);
    return code == PAWL_OK ? self : NULL;
}

TEST_EACH_STORE("who waits for commits hears of others', and of none that he has heard of")
{
    pthread_t other;
    uint64_t seen = 0;
    void *done = NULL;
    lab_open_real(lab);
    CHECK_OK(pawl_changes_wait(lab->pawl, &seen, PAWL_WAIT_MS_MAX, &lab->err), &lab->err);
    uint64_t first = seen;
    CHECK(first != 0);
    CHECK_EQ(0, pthread_create(&other, NULL, add_one, lab));
    CHECK_OK(pawl_changes_wait(lab->pawl, &seen, PAWL_WAIT_MS_MAX, &lab->err), &lab->err);
    CHECK(seen != first);
    CHECK_EQ(0, pthread_join(other, &done));
    CHECK(done == lab);
    pawl_stop_waiting(lab->pawl);
    CHECK_REFUSED(PAWL_BUSY, pawl_changes_wait(lab->pawl, &seen, PAWL_WAIT_MS_MAX, &lab->err));
}

TEST_EACH_STORE("waiting for commits refuses what cannot hear")
{
    uint64_t seen = 0;
    lab_open(lab);
    CHECK_REFUSED(PAWL_MISUSE, pawl_changes_wait(lab->pawl, &seen, 0, &lab->err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_changes_wait(NULL, &seen, 0, &lab->err));
}

TEST_MAIN()
