/* Calls that wait: a claim for a task, a consumer for an event; what wakes them, and how soon. */
#include "base/arena.h"
#include "engine/engine.h"
#include "store/handle.h"
#include "stores.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define W PAWL_STR("w")

/* What wakes a waiting call must do so long before its time is up. */
enum { WAIT_MS = 30000, BOUND_MS = 10000 };

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

static int64_t now_ms(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

struct waiting {
    pthread_t thread;
    struct pawl *pawl;
    struct pawl_arena *keep;
    int64_t wait_ms;
    const char *consumer; /* NULL: a claim */
    struct pawl_claimed claimed;
    struct pawl_events events;
    enum pawl_code code;
    int64_t took_ms;
    _Atomic bool has_begun;
};

static void *wait_here(void *argument)
{
    struct waiting *waiting = argument;
    int64_t began_ms = now_ms();
    atomic_store(&waiting->has_begun, true);
    if (waiting->consumer != NULL) {
        waiting->code = pawl_consumer_read(waiting->pawl, pawl_str_of(waiting->consumer), 10,
                                           waiting->wait_ms, waiting->keep, &waiting->events, NULL);
    } else {
        waiting->code =
            pawl_task_claim(waiting->pawl, CLAIM(.worker_id = W, .wait_ms = waiting->wait_ms),
                            waiting->keep, &waiting->claimed, NULL);
    }
    waiting->took_ms = now_ms() - began_ms;
    return NULL;
}

static void begin_waiting(struct waiting *waiting, struct pawl *pawl, const char *consumer)
{
    *waiting = (struct waiting){.pawl = pawl, .wait_ms = WAIT_MS, .consumer = consumer};
    CHECK_OK(pawl_arena_open(&waiting->keep, 0), NULL);
    CHECK_EQ(0, pthread_create(&waiting->thread, NULL, wait_here, waiting));
    /* so that it is most likely asleep; what is tested holds if it is not, too */
    while (!atomic_load(&waiting->has_begun)) (void)poll(NULL, 0, 1);
    (void)poll(NULL, 0, 30);
}

static void end_waiting(struct waiting *waiting)
{
    CHECK_EQ(0, pthread_join(waiting->thread, NULL));
    CHECK_CODE(PAWL_OK, waiting->code);
    CHECK(waiting->took_ms < BOUND_MS);
}

static struct pawl *another(struct lab *lab)
{
    struct pawl_options options = lab_options(lab);
    options.driven = false;
    options.env = NULL;
    return lab_handle(lab, &options);
}

TEST_EACH_STORE("a claim that waits is woken by a task added to its own handle")
{
    lab_open_real(lab);
    struct waiting waiting;
    begin_waiting(&waiting, lab->pawl, NULL);
    struct pawl_str id = lab_add(lab, NEW());
    end_waiting(&waiting);
    CHECK_EQ(1, waiting.claimed.count);
    CHECK(pawl_str_equal(id, waiting.claimed.grants[0].fence.task_id));
    pawl_arena_close(waiting.keep);
}

TEST_EACH_STORE("a claim that waits is woken by a task added by another handle on the same store")
{
    lab_open_real(lab);
    struct pawl *other = another(lab);
    struct waiting waiting;
    begin_waiting(&waiting, lab->pawl, NULL);
    struct pawl_added added;
    check_ok(lab, pawl_task_add(other, NEW(), lab->keep, &added, &lab->err));
    end_waiting(&waiting);
    CHECK_EQ(1, waiting.claimed.count);
    CHECK(pawl_str_equal(added.id, waiting.claimed.grants[0].fence.task_id));
    pawl_arena_close(waiting.keep);
    pawl_close(other);
}

TEST_EACH_STORE(
    "T-063 a claim that waits is woken by the end of a deferral, with nobody doing anything")
{
    lab_open_real(lab);
    struct pawl_str id = lab_add(lab, NEW(.delay_ms = 300));
    struct waiting waiting;
    begin_waiting(&waiting, lab->pawl, NULL);
    end_waiting(&waiting);
    CHECK_EQ(1, waiting.claimed.count);
    CHECK(pawl_str_equal(id, waiting.claimed.grants[0].fence.task_id));
    pawl_arena_close(waiting.keep);
}

TEST_EACH_STORE("a claim that waits is woken by the end of another worker's lease")
{
    lab_open_real(lab);
    (void)lab_add(lab, NEW());
    struct pawl_claimed held =
        lab_claim(lab, CLAIM(.worker_id = PAWL_STR("gone"), .lease_ms = 300));
    CHECK_EQ(1, held.count);
    struct waiting waiting;
    begin_waiting(&waiting, lab->pawl, NULL);
    end_waiting(&waiting);
    CHECK_EQ(1, waiting.claimed.count);
    CHECK_EQ(3, waiting.claimed.grants[0].fence.epoch);
    pawl_arena_close(waiting.keep);
}

TEST_EACH_STORE(
    "a claim that waits is woken when a queue is resumed, and when a dependency completes")
{
    lab_open_real(lab);
    check_ok(lab, pawl_queue_set(lab->pawl, QUEUE_SET(.name = PAWL_STR("default"), .pause = 1),
                                 &lab->err));
    (void)lab_add(lab, NEW());
    struct waiting waiting;
    begin_waiting(&waiting, lab->pawl, NULL);
    check_ok(lab, pawl_queue_set(lab->pawl, QUEUE_SET(.name = PAWL_STR("default"), .pause = 2),
                                 &lab->err));
    end_waiting(&waiting);
    CHECK_EQ(1, waiting.claimed.count);
    pawl_arena_close(waiting.keep);

    struct pawl_str parent = waiting.claimed.count == 1 ? lab_add(lab, NEW(.hold = true)) : W;
    struct pawl_str child = lab_add(lab, NEW(.depends_on = &parent, .depends_on_count = 1));
    begin_waiting(&waiting, lab->pawl, NULL);
    check_ok(lab, pawl_task_complete(lab->pawl, parent, NO_TEXT, NULL, &lab->err));
    end_waiting(&waiting);
    CHECK_EQ(1, waiting.claimed.count);
    CHECK(pawl_str_equal(child, waiting.claimed.grants[0].fence.task_id));
    pawl_arena_close(waiting.keep);
}

TEST_EACH_STORE("one task wakes one of two claims that wait; the other goes on")
{
    lab_open_real(lab);
    struct waiting first;
    struct waiting second;
    begin_waiting(&first, lab->pawl, NULL);
    begin_waiting(&second, lab->pawl, NULL);
    struct pawl_str id = lab_add(lab, NEW());
    end_waiting(&first); /* it has waited longest */
    CHECK_EQ(1, first.claimed.count);
    CHECK(pawl_str_equal(id, first.claimed.grants[0].fence.task_id));
    (void)lab_add(lab, NEW());
    end_waiting(&second);
    CHECK_EQ(1, second.claimed.count);
    pawl_arena_close(first.keep);
    pawl_arena_close(second.keep);
}

TEST_EACH_STORE(
    "fifty claims that wait are all served by one batch of fifty, each with a task of its own")
{
    enum { MANY = 50 };
    lab_open_real(lab);
    static struct waiting waiting[MANY];
    for (int i = 0; i < MANY; i++) {
        waiting[i] = (struct waiting){.pawl = lab->pawl, .wait_ms = WAIT_MS};
        CHECK_OK(pawl_arena_open(&waiting[i].keep, 0), NULL);
        CHECK_EQ(0, pthread_create(&waiting[i].thread, NULL, wait_here, &waiting[i]));
    }
    while (!atomic_load(&waiting[MANY - 1].has_begun)) (void)poll(NULL, 0, 1);
    (void)poll(NULL, 0, 30);
    struct pawl_task_new asks[MANY];
    for (int i = 0; i < MANY; i++) asks[i] = *NEW(.input = PAWL_STR("[1,2,3]"));
    struct pawl_added *added = lab_add_batch(lab, asks, MANY);
    for (int i = 0; i < MANY; i++) end_waiting(&waiting[i]);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(1, waiting[i].claimed.count);
        CHECK_STR("[1,2,3]", waiting[i].claimed.grants[0].input);
        CHECK_EQ(1, lab_get(lab, added[i].id).epoch);
        CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, added[i].id).state);
    }
    for (int i = 0; i < MANY; i++) pawl_arena_close(waiting[i].keep);
}

static enum pawl_code remove_at_commit(void *self, int32_t point, struct pawl_error *err)
{
    (void)err;
    if (point == PAWL_SQL_COMMIT) (void)unlink(self);
    return PAWL_OK;
}

TEST_SQLITE("claims that wait end with IO when the store is removed within a commit of their own handle")
{
#if defined(__SANITIZE_THREAD__)
    SKIP("the hook is set beside a thread that reads it, which the thread sanitizer rightly tells");
#endif
    struct waiting waiting[2];
    lab_open_real(lab);
    for (int i = 0; i < 2; i++) begin_waiting(&waiting[i], lab->pawl, NULL);
    pawl_store_db(lab->pawl->store)->hook = (struct pawl_db_hook){remove_at_commit, lab->target};
    (void)lab_add(lab, NEW(.queue = PAWL_STR("another")));
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(0, pthread_join(waiting[i].thread, NULL));
        CHECK_CODE(PAWL_IO, waiting[i].code);
        CHECK(waiting[i].took_ms < BOUND_MS);
        pawl_arena_close(waiting[i].keep);
    }
}

TEST_EACH_STORE(
    "after pawl_stop_waiting the calls that wait come back empty, and no later one waits")
{
    lab_open_real(lab);
    struct waiting claim;
    struct waiting read;
    begin_waiting(&claim, lab->pawl, NULL);
    begin_waiting(&read, lab->pawl, "c");
    pawl_stop_waiting(lab->pawl);
    end_waiting(&claim);
    end_waiting(&read);
    CHECK_EQ(0, claim.claimed.count);
    CHECK_EQ(0, read.events.count);
    pawl_arena_close(claim.keep);
    pawl_arena_close(read.keep);
    int64_t began_ms = now_ms();
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = W, .wait_ms = WAIT_MS)).count);
    CHECK(now_ms() - began_ms < BOUND_MS);
    /* all else goes on */
    (void)lab_add(lab, NEW());
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = W)).count);
}

TEST_EACH_STORE("a claim that waits in vain comes back empty when its time is up, and not before")
{
    lab_open_real(lab);
    (void)lab_add(lab, NEW(.queue = PAWL_STR("other")));
    int64_t began_ms = now_ms();
    struct pawl_claimed claimed = lab_claim(lab, CLAIM(.worker_id = W, .wait_ms = 200));
    int64_t took_ms = now_ms() - began_ms;
    CHECK_EQ(0, claimed.count);
    CHECK(claimed.waited_ms >= 200);
    CHECK(took_ms >= 199); /* two clocks, each rounded down */
    CHECK(took_ms < BOUND_MS);
}

TEST_EACH_STORE("a consumer that waits is woken by a commit of its own handle and of another")
{
    lab_open_real(lab);
    struct pawl *other = another(lab);
    struct waiting waiting;
    begin_waiting(&waiting, lab->pawl, "c");
    (void)lab_add(lab, NEW(.hold = true));
    end_waiting(&waiting);
    CHECK_EQ(1, waiting.events.count);
    check_ok(lab, pawl_consumer_acknowledge_through(lab->pawl, PAWL_STR("c"),
                                                    waiting.events.position, &lab->err));
    pawl_arena_close(waiting.keep);

    begin_waiting(&waiting, lab->pawl, "c");
    struct pawl_added added;
    check_ok(lab, pawl_task_add(other, NEW(.hold = true), lab->keep, &added, &lab->err));
    end_waiting(&waiting);
    CHECK_EQ(1, waiting.events.count);
    CHECK(pawl_str_equal(added.id, waiting.events.events[0].task_id));
    pawl_arena_close(waiting.keep);
    pawl_close(other);
}

TEST_EACH_STORE("a consumer that waits in vain comes back empty when its time is up")
{
    lab_open_real(lab);
    int64_t began_ms = now_ms();
    struct pawl_events events = {.count = 7};
    check_ok(lab, pawl_consumer_read(lab->pawl, W, 10, 200, lab->keep, &events, &lab->err));
    CHECK_EQ(0, events.count);
    CHECK(now_ms() - began_ms >= 199);
}

TEST_MAIN()
