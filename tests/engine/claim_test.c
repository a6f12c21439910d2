/* Handing out: order, queues, limits, repeats; what a claim never sees. */
#include "base/arena.h"
#include "core/limits.h"
#include "engine/engine.h"
#include "stores.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define W PAWL_STR("w")

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

/* "id id" of what was given. */
static const char *ids_of(struct lab *lab, const struct pawl_claimed *claimed)
{
    struct pawl_str ids = pawl_arena_format(lab->keep, "%s", "");
    for (size_t i = 0; i < claimed->count; i++) {
        ids = pawl_arena_format(lab->keep, "%s%s%.*s", ids.ptr, i == 0 ? "" : " ",
                                PAWL_STR_ARG(claimed->grants[i].fence.task_id));
    }
    return ids.ptr;
}

static const char *claim_ids(struct lab *lab, const struct pawl_claim *ask)
{
    struct pawl_claimed claimed = lab_claim(lab, ask);
    return ids_of(lab, &claimed);
}

static void add(struct lab *lab, const char *id, const char *queue, int32_t priority)
{
    (void)lab_add(lab,
                  NEW(.id = pawl_str_of(id), .queue = pawl_str_of(queue), .priority = priority));
}

TEST_EACH_STORE("a claim gives by priority, then ready time, then age, across its queues")
{
    lab_open(lab);
    add(lab, "m1", "mail", 20);
    lab_pass(lab, 5);
    add(lab, "p1", "print", 20);
    lab_pass(lab, 5);
    add(lab, "m2", "mail", 20);
    add(lab, "m3", "mail", 40);
    add(lab, "p2", "print", 99);
    add(lab, "p3", "print", PAWL_PRIORITY_LOWEST);
    add(lab, "o1", "other", 99);
    struct pawl_str queues[] = {PAWL_STR("print"), PAWL_STR("mail"), PAWL_STR("no such queue")};
    CHECK_TEXT("p2 m3 m1 p1",
               claim_ids(lab, CLAIM(.queues = queues, .queue_count = 3, .worker_id = W, .max = 4)));
    CHECK_TEXT("m2 p3", claim_ids(lab, CLAIM(.queues = queues, .queue_count = 3, .worker_id = W,
                                             .max = PAWL_BATCH_MAX)));
    CHECK_TEXT("", claim_ids(lab, CLAIM(.queues = queues, .queue_count = 3, .worker_id = W)));
}

TEST_SQLITE(
    "of two queues with tasks equal in priority and ready time the one named first is served")
{
    lab_open(lab);
    add(lab, "m1", "mail", 20);
    add(lab, "p1", "print", 20);
    add(lab, "m2", "mail", 20);
    struct pawl_str queues[] = {PAWL_STR("print"), PAWL_STR("mail")};
    CHECK_TEXT("p1 m1 m2",
               claim_ids(lab, CLAIM(.queues = queues, .queue_count = 2, .worker_id = W, .max = 3)));
}

TEST_EACH_STORE("a retry keeps the place that its ready time gives it")
{
    lab_open(lab);
    add(lab, "a", "default", 20);
    struct pawl_fence fence = lab_start(lab, PAWL_STR("a"), "w");
    check_ok(lab, pawl_task_fail(lab->pawl, PAWL_STR("a"), FAILURE(.retry_after_ms = 1000),
                                 CHANGE(.fence = &fence), &lab->err));
    lab_pass(lab, 500);
    add(lab, "b", "default", 20); /* ready before a is */
    lab_pass(lab, 600);
    add(lab, "c", "default", 20); /* and after */
    if (lab->store == LAB_SQLITE) {
        CHECK_TEXT("b a c", claim_ids(lab, CLAIM(.worker_id = W, .max = 3)));
    } else { /* the instants of the others did not move with the clock */
        CHECK_EQ(3, lab_claim(lab, CLAIM(.worker_id = W, .max = 3)).count);
    }
}

TEST_EACH_STORE("a claim with a minimum priority leaves what is below it")
{
    lab_open(lab);
    add(lab, "low", "default", 10);
    add(lab, "high", "default", 30);
    CHECK_TEXT("high", claim_ids(lab, CLAIM(.worker_id = W, .max = 5, .priority_min = 30)));
    CHECK_TEXT("", claim_ids(lab, CLAIM(.worker_id = W, .max = 5, .priority_min = 11)));
    CHECK_TEXT("low", claim_ids(lab, CLAIM(.worker_id = W, .max = 5, .priority_min = 10)));
}

TEST_EACH_STORE("a grant tells all that a worker needs")
{
    lab_open(lab);
    struct pawl_str id = lab_add(
        lab, NEW(.queue = PAWL_STR("mail"), .input = PAWL_STR("[1]"), .goal = PAWL_STR("go"),
                 .title = PAWL_STR("T"), .metadata = PAWL_STR("{\"a\":1}"), .priority = 33,
                 .timeout_ms = 9000, .retry = {.max_retries = 2, .delay_ms = PAWL_DELAY_NONE},
                 .correlation_id = PAWL_STR("c")));
    struct pawl_str queues[] = {PAWL_STR("mail")};
    const struct pawl_claim *ask =
        CLAIM(.queues = queues, .queue_count = 1, .worker_id = W, .lease_ms = 5000);
    struct pawl_claimed claimed = lab_claim(lab, ask);
    CHECK_EQ(1, claimed.count);
    const struct pawl_grant *grant = &claimed.grants[0];
    CHECK(pawl_str_equal(id, grant->fence.task_id));
    CHECK_STR("w", grant->fence.owner);
    CHECK_EQ(1, grant->fence.epoch);
    CHECK_STR("mail", grant->queue);
    CHECK_STR("[1]", grant->input);
    CHECK_STR("go", grant->goal);
    CHECK_STR("T", grant->title);
    CHECK_STR("{\"a\":1,\"correlation_id\":\"c\"}", grant->metadata);
    CHECK_EQ(33, grant->priority);
    CHECK_EQ(1, grant->attempt);
    CHECK_EQ(2, grant->max_retries);
    CHECK_EQ(5000, grant->lease_ms);
    CHECK_EQ(9000, grant->timeout_ms);
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(task.lease_end_at_ms, grant->lease_end_at_ms);
    CHECK_EQ(task.started_at_ms + 5000, grant->lease_end_at_ms);
    CHECK_STR("w", task.owner);
    check_ok(lab, pawl_task_fail(lab->pawl, id, NULL, CHANGE(.fence = &grant->fence), &lab->err));
    claimed = lab_claim(lab, ask);
    CHECK_EQ(2, claimed.grants[0].attempt);
    CHECK_EQ(2, claimed.grants[0].fence.epoch);
}

TEST_EACH_STORE("a claim stops at 16 MiB, and gives one task however large it is")
{
    lab_open(lab);
    struct pawl_str large = lab_json(lab, PAWL_PAYLOAD_BYTES_MAX);
    struct pawl_task_new asks[] = {*NEW(.id = PAWL_STR("a"), .input = large)};
    (void)lab_add_batch(lab, asks, 1);
    asks[0].id = PAWL_STR("b");
    (void)lab_add_batch(lab, asks, 1);
    add(lab, "c", "default", 20);
    CHECK_TEXT("a", claim_ids(lab, CLAIM(.worker_id = W, .max = 3)));
    CHECK_TEXT("b c", claim_ids(lab, CLAIM(.worker_id = W, .max = 3)));
}

TEST_EACH_STORE("one claim takes up to 1 000 tasks, each under a fence of its own")
{
    lab_open(lab);
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, PAWL_BATCH_MAX, sizeof *asks);
    for (int i = 0; i < PAWL_BATCH_MAX; i++) asks[i] = *NEW(.priority = 1 + i % 99);
    (void)lab_add_batch(lab, asks, PAWL_BATCH_MAX);
    struct pawl_claimed claimed = lab_claim(lab, CLAIM(.worker_id = W, .max = PAWL_BATCH_MAX));
    CHECK_EQ(PAWL_BATCH_MAX, claimed.count);
    struct pawl_fence *fences = pawl_arena_take_array(lab->keep, claimed.count, sizeof *fences);
    struct pawl_renewal *renewals =
        pawl_arena_take_array(lab->keep, claimed.count, sizeof *renewals);
    for (size_t i = 0; i < claimed.count; i++) {
        fences[i] = claimed.grants[i].fence;
        if (i > 0) CHECK(claimed.grants[i - 1].priority >= claimed.grants[i].priority);
    }
    check_ok(lab, pawl_lease_renew(lab->pawl, fences, claimed.count, 0, renewals, &lab->err));
    for (size_t i = 0; i < claimed.count; i++) CHECK_CODE(PAWL_OK, renewals[i].code);
    CHECK_REFUSED(PAWL_TOO_LARGE,
                  pawl_lease_renew(lab->pawl, fences, PAWL_BATCH_MAX + 1, 0, renewals, &lab->err));
}

TEST_EACH_STORE("D-52 an empty claim tells when the next deferred task comes due")
{
    lab_open(lab);
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W)).next_at_ms);
    struct pawl_str later = lab_add(lab, NEW(.delay_ms = 9000));
    struct pawl_str sooner = lab_add(lab, NEW(.delay_ms = 4000, .queue = PAWL_STR("mail")));
    (void)later;
    struct pawl_claimed claimed = lab_claim(lab, CLAIM(.worker_id = W));
    CHECK_EQ(0, claimed.count);
    CHECK_EQ(lab_get(lab, sooner).next_retry_at_ms, claimed.next_at_ms);
}

TEST_EACH_STORE("a paused queue gives nothing until it is resumed; its tasks stay as they are")
{
    lab_open(lab);
    add(lab, "a", "mail", 20);
    struct pawl_str queues[] = {PAWL_STR("mail")};
    const struct pawl_claim *ask = CLAIM(.queues = queues, .queue_count = 1, .worker_id = W);
    check_ok(lab,
             pawl_queue_set(lab->pawl, QUEUE_SET(.name = PAWL_STR("mail"), .pause = 1), &lab->err));
    int64_t version = lab_get(lab, PAWL_STR("a")).version;
    CHECK_TEXT("", claim_ids(lab, ask));
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, PAWL_STR("a")).state);
    CHECK_EQ(version, lab_get(lab, PAWL_STR("a")).version);
    /* by id it starts: somebody wants this very one */
    check_ok(lab,
             pawl_queue_set(lab->pawl, QUEUE_SET(.name = PAWL_STR("mail"), .pause = 2), &lab->err));
    CHECK_TEXT("a", claim_ids(lab, ask));
}

TEST_EACH_STORE("the length of a lease is the claim's, else the queue's, else the handle's")
{
    struct pawl_options options = lab_options(lab);
    options.lease_ms = 30000;
    lab->pawl = lab_handle(lab, &options);
    check_ok(lab, pawl_queue_set(
                      lab->pawl,
                      QUEUE_SET(.name = PAWL_STR("mail"), .set_lease = true, .lease_ms = 20000),
                      &lab->err));
    struct pawl_str queues[] = {PAWL_STR("mail"), PAWL_STR("default")};
    add(lab, "a", "mail", 99);
    add(lab, "b", "mail", 98);
    add(lab, "c", "default", 97);
    static const int64_t asked_ms[] = {10000, 0, 0};
    static const int64_t want_ms[] = {10000, 20000, 30000};
    for (size_t i = 0; i < 3; i++) {
        struct pawl_claimed claimed =
            lab_claim(lab, CLAIM(.queues = queues, .queue_count = 2, .worker_id = W,
                                 .lease_ms = asked_ms[i]));
        CHECK_EQ(want_ms[i], claimed.grants[0].lease_ms);
    }
}

/* ---- Repeats (E12) ---- */

TEST_EACH_STORE("a claim repeated with its request id gives the same grants, also after a restart")
{
    lab_open(lab);
    for (int i = 0; i < 5; i++) (void)lab_add(lab, NEW(.input = PAWL_STR("\"in\"")));
    const struct pawl_claim *ask = CLAIM(.worker_id = W, .max = 2, .request_id = PAWL_STR("r-1"));
    const char *first = claim_ids(lab, ask);
    for (int i = 0; i < 2; i++) {
        struct pawl_claimed again = lab_claim(lab, ask);
        CHECK_TEXT(first, ids_of(lab, &again));
        CHECK_EQ(1, again.grants[0].fence.epoch);
        CHECK_STR("\"in\"", again.grants[0].input);
        lab_reopen(lab);
    }
    /* another worker's request of the same name is another request */
    struct pawl_claimed other =
        lab_claim(lab, CLAIM(.worker_id = PAWL_STR("v"), .max = 1, .request_id = PAWL_STR("r-1")));
    CHECK_EQ(1, other.count);
    CHECK(!pawl_str_has(pawl_str_of(first), other.grants[0].fence.task_id));
    /* the next request is a new one */
    const char *second =
        claim_ids(lab, CLAIM(.worker_id = W, .max = 2, .request_id = PAWL_STR("r-2")));
    CHECK(strcmp(first, second) != 0);
}

TEST_EACH_STORE("a repeated claim leaves out what is no longer held")
{
    lab_open(lab);
    for (int i = 0; i < 3; i++) (void)lab_add(lab, NEW());
    const struct pawl_claim *ask = CLAIM(.worker_id = W, .max = 2, .request_id = PAWL_STR("r"));
    struct pawl_claimed first = lab_claim(lab, ask);
    check_ok(lab, pawl_task_complete(lab->pawl, first.grants[0].fence.task_id, NO_TEXT,
                                     CHANGE(.fence = &first.grants[0].fence), &lab->err));
    struct pawl_claimed again = lab_claim(lab, ask);
    CHECK_EQ(1, again.count);
    CHECK(pawl_str_equal(first.grants[1].fence.task_id, again.grants[0].fence.task_id));
    lab_pass(lab, 61000);
    CHECK_EQ(0, lab_claim(lab, ask).count); /* over, and not given again under this id */
}

TEST_EACH_STORE("start by id is repeated by its request id; without it the lease is active")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    const struct pawl_claim *ask = CLAIM(.worker_id = W, .request_id = PAWL_STR("r"));
    struct pawl_grant grants[2];
    for (int i = 0; i < 2; i++) {
        check_ok(lab, pawl_task_start(lab->pawl, id, ask, lab->keep, &grants[i], &lab->err));
        CHECK_EQ(1, grants[i].fence.epoch);
        CHECK_EQ(grants[0].lease_end_at_ms, grants[i].lease_end_at_ms);
    }
    CHECK_TEXT("created queued started", lab_told(lab, id));
    struct pawl_grant other = {.attempt = 77};
    CHECK_REFUSED(PAWL_LEASE_ACTIVE, pawl_task_start(lab->pawl, id, CLAIM(.worker_id = W),
                                                     lab->keep, &other, &lab->err));
    CHECK_REFUSED(PAWL_LEASE_ACTIVE,
                  pawl_task_start(lab->pawl, id, CLAIM(.worker_id = PAWL_STR("v")), lab->keep,
                                  &other, &lab->err));
    CHECK_EQ(77, other.attempt);
    CHECK_STR("w", lab_get(lab, id).owner);
}

/* ---- What never runs ---- */

TEST_EACH_STORE(
    "T-098 D-03 starting a blocked task a hundred times costs no retry and changes nothing")
{
    lab_open(lab);
    struct pawl_str parent[] = {lab_add(lab, NEW(.id = PAWL_STR("parent"), .hold = true))};
    struct pawl_str id = lab_add(lab, NEW(.depends_on = parent, .depends_on_count = 1));
    int64_t version = lab_get(lab, id).version;
    for (int i = 0; i < 100; i++) {
        struct pawl_grant grant;
        CHECK_REFUSED(PAWL_NOT_READY, pawl_task_start(lab->pawl, id, CLAIM(.worker_id = W),
                                                      lab->keep, &grant, &lab->err));
        CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W)).count);
    }
    CHECK(strstr(lab->err.text, "parent") != NULL);
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(0, task.retries);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_EQ(version, task.version);
    CHECK_TEXT("created queued", lab_told(lab, id));
}

TEST_EACH_STORE(
    "T-099 D-01 a task cancelled while an earlier one runs stays CANCELLED and never runs")
{
    lab_open(lab);
    struct pawl_str first = lab_add(lab, NEW());
    struct pawl_str second = lab_add(lab, NEW());
    struct pawl_claimed claimed = lab_claim(lab, CLAIM(.worker_id = W));
    CHECK(pawl_str_equal(first, claimed.grants[0].fence.task_id));
    check_ok(lab, pawl_task_cancel(lab->pawl, second, false, NULL, &lab->err));
    check_ok(lab, pawl_task_complete(lab->pawl, first, NO_TEXT,
                                     CHANGE(.fence = &claimed.grants[0].fence), &lab->err));
    struct pawl_grant grant;
    CHECK_REFUSED(PAWL_STATE, pawl_task_start(lab->pawl, second, CLAIM(.worker_id = W), lab->keep,
                                              &grant, &lab->err));
    CHECK_REFUSED(PAWL_STATE, pawl_task_fail(lab->pawl, second, NULL, NULL, &lab->err));
    lab_pass(lab, 120000);
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W)).count);
    CHECK_EQ(PAWL_TASK_CANCELLED, lab_get(lab, second).state);
    CHECK_EQ(0, lab_get(lab, second).epoch);
}

TEST_EACH_STORE("T-100 D-01 a queued task that was completed by hand is not claimed")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    check_ok(lab, pawl_task_complete(lab->pawl, id, NO_TEXT, NULL, &lab->err));
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W)).count);
    CHECK_EQ(PAWL_TASK_COMPLETED, lab_get(lab, id).state);
}

TEST_EACH_STORE("T-101 D-02 tasks queued before a restart, and by another handle, are claimed")
{
    lab_open(lab);
    (void)lab_add(lab, NEW(.id = PAWL_STR("before")));
    lab_reopen(lab);
    struct pawl_options options = lab_options(lab);
    struct pawl *other = lab_handle(lab, &options);
    struct pawl_added added;
    check_ok(lab, pawl_task_add(other, NEW(.id = PAWL_STR("elsewhere"), .priority = 10), lab->keep,
                                &added, &lab->err));
    CHECK_TEXT("before elsewhere", claim_ids(lab, CLAIM(.worker_id = W, .max = 5)));
    pawl_close(other);
}

TEST_EACH_STORE("D-22 what another handle has written is listed and read at once")
{
    lab_open(lab);
    struct pawl_options options = lab_options(lab);
    struct pawl *other = lab_handle(lab, &options);
    struct pawl_added added;
    check_ok(lab, pawl_task_add(other, NEW(.id = PAWL_STR("a")), lab->keep, &added, &lab->err));
    struct pawl_page page = lab_list(lab, LIST(.limit = 0));
    CHECK_TEXT("a", lab_ids(lab, &page));
    check_ok(lab, pawl_task_cancel(other, added.id, false, NULL, &lab->err));
    CHECK_EQ(PAWL_TASK_CANCELLED, lab_get(lab, added.id).state);
    pawl_close(other);
}

TEST_EACH_STORE("D-24 who loses the race for a task is told LEASE_ACTIVE, and nothing has changed")
{
    lab_open(lab);
    struct pawl_options options = lab_options(lab);
    struct pawl *other = lab_handle(lab, &options);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_grant grants[2] = {0};
    check_ok(lab, pawl_task_start(lab->pawl, id, CLAIM(.worker_id = W), lab->keep, &grants[0],
                                  &lab->err));
    int64_t version = lab_get(lab, id).version;
    CHECK_REFUSED(PAWL_LEASE_ACTIVE, pawl_task_start(other, id, CLAIM(.worker_id = PAWL_STR("v")),
                                                     lab->keep, &grants[1], &lab->err));
    CHECK_EQ(0, grants[1].fence.epoch);
    CHECK_EQ(version, lab_get(lab, id).version);
    CHECK_STR("w", lab_get(lab, id).owner);
    check_ok(lab,
             pawl_task_complete(other, id, NO_TEXT, CHANGE(.fence = &grants[0].fence), &lab->err));
    pawl_close(other);
}

/* ---- Ends of leases ---- */

/* Another handle, that leaves timers alone, in place of the lab's: only time passes. */
static struct pawl *without_timers(struct lab *lab)
{
    struct pawl *driven = lab->pawl;
    struct pawl_options options = lab_options(lab);
    options.no_timers = true;
    lab->pawl = lab_handle(lab, &options);
    return driven;
}

TEST_EACH_STORE(
    "D-04 start by id of a task whose lease is over meets it as it is after the fencing")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    (void)lab_start(lab, id, "w");
    struct pawl *driven = without_timers(lab);
    lab_pass(lab, 60000);
    struct pawl_fence fence = lab_start(lab, id, "v"); /* what is due of a row comes first */
    CHECK_EQ(3, fence.epoch);
    CHECK_EQ(1, lab_get(lab, id).retries);
    CHECK_TEXT("created queued started recovery_pending queued started", lab_told(lab, id));
    pawl_close(driven);
}

TEST_EACH_STORE("a deferral that is over is no reason against a start, whoever runs the timers")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.delay_ms = 5000));
    struct pawl *driven = without_timers(lab);
    lab_pass(lab, 5000);
    CHECK_EQ(1, lab_start(lab, id, "v").epoch);
    pawl_close(driven);
}

TEST_EACH_STORE("what an operator asks of a task whose lease is over is judged after the fencing")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    struct pawl *driven = without_timers(lab);
    lab_pass(lab, 60000);
    struct pawl_renewal renewal;
    check_ok(lab, pawl_lease_renew(lab->pawl, &fence, 1, 0, &renewal, &lab->err));
    CHECK_CODE(PAWL_LEASE_LOST, renewal.code);
    check_ok(lab, pawl_task_pause(lab->pawl, id, NULL, &lab->err));
    CHECK_EQ(PAWL_TASK_PAUSED, lab_get(lab, id).state); /* at once: nobody holds it */
    CHECK_EQ(PAWL_CONTROL_NONE, lab_get(lab, id).control);
    pawl_close(driven);
}

TEST_EACH_STORE("D-04 an expired lease is fenced and charged before a claim of the same step")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence old = lab_start(lab, id, "w");
    struct pawl *driven = lab->pawl;
    /* let time pass, without a step of its own: the claim's step finds the end */
    struct pawl_options options = lab_options(lab);
    options.no_timers = true;
    lab->pawl = lab_handle(lab, &options);
    lab_pass(lab, 60000);
    pawl_close(lab->pawl);
    lab->pawl = driven;
    struct pawl_claimed claimed = lab_claim(lab, CLAIM(.worker_id = PAWL_STR("v")));
    CHECK_EQ(1, claimed.count);
    CHECK_EQ(3, claimed.grants[0].fence.epoch); /* a crash costs two */
    CHECK_EQ(2, claimed.grants[0].attempt);
    CHECK_TEXT("created queued started recovery_pending queued started", lab_told(lab, id));
    CHECK_EQ(1, lab_get(lab, id).retries);
    CHECK_REFUSED(PAWL_LEASE_LOST,
                  pawl_task_complete(lab->pawl, id, NO_TEXT, CHANGE(.fence = &old), &lab->err));
    check_ok(lab, pawl_task_complete(lab->pawl, id, NO_TEXT,
                                     CHANGE(.fence = &claimed.grants[0].fence), &lab->err));
}

TEST_SQLITE("D-48 a lease is over at its end and not one millisecond before")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    lab_pass(lab, 59999);
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, id).state);
    check_ok(lab, pawl_task_progress(lab->pawl, id, 1, CHANGE(.fence = &fence), &lab->err));
    lab_pass(lab, 1);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
    CHECK_REFUSED(PAWL_LEASE_LOST,
                  pawl_task_progress(lab->pawl, id, 2, CHANGE(.fence = &fence), &lab->err));
    CHECK_NEAR(1, lab_get(lab, id).progress, 0);
}

TEST_EACH_STORE("a look at leases tells what a renewal tells, renews nothing, and writes nothing")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_str gone = lab_add(lab, NEW());
    struct pawl_fence fences[] = {lab_start(lab, id, "w"), lab_start(lab, gone, "w")};
    struct pawl_renewal seen[2];
    check_ok(lab, pawl_task_cancel(lab->pawl, gone, true, NULL, &lab->err));
    check_ok(lab, pawl_task_pause(lab->pawl, id, NULL, &lab->err));
    struct pawl_task before = lab_get(lab, id);
    const char *head = "SELECT next_key || ' ' || position || ' ' || now_ms FROM head";
    const char *head_before = lab_sql(lab, head);
    lab_elapse(lab, 1000);
    check_ok(lab, pawl_engine_look_at_leases(lab->pawl, fences, 2, seen, &lab->err));
    CHECK_CODE(PAWL_OK, seen[0].code);
    CHECK_EQ(PAWL_CONTROL_PAUSE, seen[0].control);
    CHECK(seen[0].lease_ms > 0 && seen[0].lease_ms < before.lease_ms);
    CHECK_CODE(PAWL_LEASE_LOST, seen[1].code);
    CHECK_TEXT(head_before, lab_sql(lab, head));
    CHECK_EQ(before.version, lab_get(lab, id).version);
    check_ok(lab, pawl_task_pause(lab->pawl, id, CHANGE(.fence = &fences[0]), &lab->err));
}

TEST_EACH_STORE("D-50 an attempt over its time-out fails though its lease is renewed")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.timeout_ms = 90000));
    struct pawl_fence fence = lab_start(lab, id, "w");
    struct pawl_renewal renewal;
    lab_pass(lab, 50000);
    check_ok(lab, pawl_lease_renew(lab->pawl, &fence, 1, 0, &renewal, &lab->err));
    CHECK_CODE(PAWL_OK, renewal.code);
    lab_pass(lab, 41000);
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_EQ(1, task.retries);
    CHECK_EQ(2, task.epoch);
    CHECK(pawl_str_has(task.error, PAWL_STR("timed out")));
    CHECK_STR("timed_out", lab_last(lab, id).cause);
    check_ok(lab, pawl_lease_renew(lab->pawl, &fence, 1, 0, &renewal, &lab->err));
    CHECK_CODE(PAWL_LEASE_LOST, renewal.code);
}

TEST_EACH_STORE("D-07 released tasks are queued at once, with no retry charged")
{
    lab_open(lab);
    for (int i = 0; i < 3; i++) (void)lab_add(lab, NEW());
    struct pawl_claimed claimed = lab_claim(lab, CLAIM(.worker_id = W, .max = 3));
    for (size_t i = 0; i < 3; i++) {
        const struct pawl_fence *fence = &claimed.grants[i].fence;
        check_ok(lab, pawl_task_release(lab->pawl, fence->task_id, 0,
                                        CHANGE(.fence = fence, .reason = PAWL_STR("stopping")),
                                        &lab->err));
        CHECK_EQ(0, lab_get(lab, fence->task_id).retries);
        CHECK_STR("lease_released", lab_last(lab, fence->task_id).action);
        CHECK_STR("released", lab_last(lab, fence->task_id).cause);
    }
    CHECK_EQ(3, lab_claim(lab, CLAIM(.worker_id = W, .max = 5)).count);
}

TEST_EACH_STORE(
    "a task given back with a delay is not seen before it is over, and no retry is charged")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    check_ok(lab, pawl_task_release(lab->pawl, id, 5000, CHANGE(.fence = &fence), &lab->err));
    struct pawl_task task = lab_get(lab, id);
    CHECK_EQ(5000, task.next_retry_at_ms - task.updated_at_ms);
    CHECK_EQ(0, task.retries);
    CHECK_STR("lease_yielded", lab_last(lab, id).action);
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W)).count);
    lab_pass(lab, 5000);
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = W)).count);
}

TEST_SQLITE("the rows of workers that have not been seen for 14 days go when new ones come, a few "
            "at a time")
{
    enum { OLD = 20, DAY_MS = 24 * 3600 * 1000 };
    lab_open(lab);
    for (int i = 0; i < OLD; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "old-%d", i);
        struct pawl_str id = lab_add(lab, NEW(.key = pawl_str_of(name)));
        struct pawl_fence fence = lab_start(lab, id, name);
        check_ok(lab,
                 pawl_task_complete(lab->pawl, id, NO_TEXT, CHANGE(.fence = &fence), &lab->err));
    }
    /* one only renews, once in a lease of a week; one comes back */
    struct pawl_str held = lab_add(lab, NEW());
    struct pawl_claimed claimed =
        lab_claim(lab, CLAIM(.worker_id = PAWL_STR("old-0"), .lease_ms = 7 * (int64_t)DAY_MS));
    CHECK_EQ(1, claimed.count);
    struct pawl_renewal renewal;
    for (int day = 0; day < 15; day += 5) {
        lab_pass(lab, 5 * (int64_t)DAY_MS);
        check_ok(lab,
                 pawl_lease_renew(lab->pawl, &claimed.grants[0].fence, 1, 0, &renewal, &lab->err));
        CHECK_CODE(PAWL_OK, renewal.code);
    }
    CHECK_TEXT("20", lab_sql(lab, "SELECT count(*) FROM worker"));
    lab_start(lab, lab_add(lab, NEW()), "new-1");
    CHECK_TEXT("13", lab_sql(lab, "SELECT count(*) FROM worker")); /* 20 - 8 + 1 */
    lab_start(lab, lab_add(lab, NEW()), "old-19");
    CHECK_TEXT("13",
               lab_sql(lab, "SELECT count(*) FROM worker")); /* it is known, and nobody goes */
    lab_start(lab, lab_add(lab, NEW()), "old-1");            /* it was gone, and is new */
    lab_start(lab, lab_add(lab, NEW()), "new-2");
    CHECK_TEXT(
        "new-1 new-2 old-0 old-1 old-19",
        lab_sql(lab, "SELECT group_concat(id, ' ') FROM (SELECT id FROM worker ORDER BY id)"));
    check_ok(lab, pawl_task_complete(lab->pawl, held, NO_TEXT,
                                     CHANGE(.fence = &claimed.grants[0].fence), &lab->err));
}

TEST_MAIN()
