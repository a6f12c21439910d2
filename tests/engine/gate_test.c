/* The limits of task definitions: how many may be in progress at once, how many may begin in a window. Numbers are
 * those of the catalogue. */
#include "workflows.h"

#include "base/arena.h"
#include "core/command.h"
#include "core/limits.h"
#include "engine/engine.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define T1 "{'name':'t1','taskReferenceName':'t1','retryCount':0}"

/* What wakes a waiting claim must do so long before its time is up. */
enum { WAIT_MS = 30000, BOUND_MS = 10000 };

#define CHECK_DONE(call) CHECK_OK((call), &lab->err)

static struct pawl_str json(struct lab *lab, const char *text)
{
    char *copy = pawl_arena_c_text(lab->keep, pawl_str_of(text));
    for (char *c = copy; *c != '\0'; c++) {
        if (*c == '\'') *c = '"';
    }
    return pawl_str_of(copy);
}

static enum pawl_code define_on(struct lab *lab, struct pawl *pawl, const char *body)
{
    struct pawl_request request;
    struct pawl_definition_new item = {
        .kind = PAWL_DEFINITION_TASK, .name = PAWL_STR("t1"), .body = json(lab, body)};
    pawl_request_init(&request, PAWL_COMMAND_DEFINE);
    request.command.ask.define.items = &item;
    request.command.ask.define.count = 1;
    return pawl_engine_ask(pawl, &request, &lab->err);
}

/* The definition of t1. */
static void define(struct lab *lab, const char *body)
{
    CHECK_DONE(define_on(lab, lab->pawl, body));
}

static const char *held(struct lab *lab)
{
    return lab_sql(lab, "SELECT held FROM gate");
}

static int64_t now_ms(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* ---- At once ---- */

TEST_EACH_STORE("W-029 of a definition no more are given out than may be in progress, and the next one once one "
                "is over")
{
    lab_open(lab);
    define(lab, "{'name':'t1','concurrentExecLimit':1}");
    struct pawl_str first = wf_start(lab, T1, NULL, NULL);
    struct pawl_str second = wf_start(lab, T1, NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    CHECK(task.len > 0);
    CHECK_EQ(0, wf_poll(lab, "t1").len);
    CHECK_TEXT("RUNNING t1:SCHEDULED", wf_state(lab, second));
    wf_check(lab);
    (void)wf_update(lab, task, PAWL_UPDATE_COMPLETED, NULL, NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED", wf_state(lab, first));
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED", wf_state(lab, second));
    CHECK_TEXT("0", held(lab));
    wf_check(lab);
}

TEST_EACH_STORE("W-029 a batch is given out up to the limit, and the queues of all domains count together")
{
    lab_open(lab);
    define(lab, "{'name':'t1','concurrentExecLimit':3}");
    for (int i = 0; i < 4; i++) {
        (void)lab_add(lab, NEW(.queue = PAWL_STR("t1")));
        (void)lab_add(lab, NEW(.queue = PAWL_STR("d:t1")));
        (void)lab_add(lab, NEW(.queue = PAWL_STR("other")));
    }
    static const struct pawl_str queues[] = {PAWL_STR_INIT("d:t1"), PAWL_STR_INIT("t1"),
                                             PAWL_STR_INIT("other")};
    struct pawl_claimed one =
        lab_claim(lab, CLAIM(.queues = queues, .queue_count = 1, .worker_id = PAWL_STR("w")));
    CHECK_EQ(1, one.count);
    struct pawl_claimed many = lab_claim(
        lab, CLAIM(.queues = queues, .queue_count = 3, .max = 20, .worker_id = PAWL_STR("w")));
    CHECK_EQ(2 + 4, many.count); /* what has no limit goes on */
    CHECK_TEXT("3", held(lab));
    CHECK_EQ(0, lab_claim(lab, CLAIM(.queues = queues, .queue_count = 3, .worker_id = PAWL_STR("w"))).count);
    CHECK_DONE(pawl_task_complete(lab->pawl, one.grants[0].fence.task_id, PAWL_STR("1"),
                                  CHANGE(.fence = &one.grants[0].fence), &lab->err));
    CHECK_EQ(1, lab_claim(lab, CLAIM(.queues = queues, .queue_count = 2, .max = 20,
                                     .worker_id = PAWL_STR("w"))).count);
    wf_check(lab);
}

TEST_EACH_STORE("W-029 a task that is started by its id is refused as long as the limit is reached")
{
    lab_open(lab);
    define(lab, "{'name':'t1','concurrentExecLimit':1}");
    struct pawl_str first = lab_add(lab, NEW(.queue = PAWL_STR("t1")));
    struct pawl_str second = lab_add(lab, NEW(.queue = PAWL_STR("t1")));
    struct pawl_fence fence = lab_start(lab, first, "w");
    struct pawl_grant grant;
    CHECK_REFUSED(PAWL_LIMIT, pawl_task_start(lab->pawl, second, CLAIM(.worker_id = PAWL_STR("w")), lab->keep,
                                              &grant, &lab->err));
    CHECK(strstr(lab->err.text, "concurrentExecLimit") != NULL);
    CHECK_DONE(pawl_task_release(lab->pawl, first, 0, CHANGE(.fence = &fence), &lab->err));
    (void)lab_start(lab, second, "w");
    wf_check(lab);
}

/* A workflow with t1 in hand. */
static struct pawl_str hold(struct lab *lab, struct pawl_str *workflow)
{
    *workflow = wf_start(lab, T1, NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    CHECK(task.len > 0);
    CHECK_TEXT("1", held(lab));
    return task;
}

TEST_EACH_STORE("W-029 a place is free again however a task leaves its worker's hands")
{
    lab_open(lab);
    struct pawl_str id;
    struct pawl_updated updated;
    define(lab, "{'name':'t1','concurrentExecLimit':1,'responseTimeoutSeconds':20,'retryCount':0}");

    static const enum pawl_update_status words[] = {PAWL_UPDATE_COMPLETED, PAWL_UPDATE_FAILED,
                                                    PAWL_UPDATE_FAILED_WITH_TERMINAL_ERROR, PAWL_UPDATE_CANCELED};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        (void)wf_update(lab, hold(lab, &id), words[i], NULL, NULL);
        CHECK_TEXT("0", held(lab));
    }

    /* a callback that is to be asked again later */
    struct pawl_str task = hold(lab, &id);
    struct pawl_update later = {.status = PAWL_UPDATE_IN_PROGRESS,
                                .callback_after_ms = 3600 * SECOND_MS,
                                .worker_id = PAWL_STR("w")};
    CHECK_DONE(pawl_task_update(lab->pawl, task, &later, lab->keep, &updated, &lab->err));
    CHECK_TEXT("0", held(lab));
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE)));

    (void)hold(lab, &id); /* silence */
    lab_pass(lab, 20 * SECOND_MS);
    CHECK_TEXT("0", held(lab));

    (void)hold(lab, &id);
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE)));
    CHECK_TEXT("0", held(lab));
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RERUN)));
    CHECK(wf_poll(lab, "t1").len > 0);
    CHECK_TEXT("1", held(lab));
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE)));
    CHECK_TEXT("0", held(lab));

    (void)hold(lab, &id);
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_REMOVE)));
    lab_settle(lab, lab->pawl);
    CHECK_TEXT("0", held(lab));
    wf_check(lab);
}

TEST_EACH_STORE("W-029 a place is free again when the lease of a task of no workflow ends")
{
    lab_open(lab);
    define(lab, "{'name':'t1','concurrentExecLimit':1}");
    struct pawl_str id = lab_add(lab, NEW(.queue = PAWL_STR("t1")));
    struct pawl_str queue = PAWL_STR("t1");
    struct pawl_claimed claimed =
        lab_claim(lab, CLAIM(.queues = &queue, .queue_count = 1, .worker_id = PAWL_STR("w"), .lease_ms = 20000));
    CHECK_EQ(1, claimed.count);
    CHECK_TEXT("1", held(lab));
    lab_pass(lab, 20 * SECOND_MS);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
    CHECK_TEXT("0", held(lab));
    wf_check(lab);
}

TEST_EACH_STORE("W-029 a change of the limit holds for what waits already")
{
    lab_open(lab);
    define(lab, "{'name':'t1','concurrentExecLimit':3}");
    for (int i = 0; i < 6; i++) (void)lab_add(lab, NEW(.queue = PAWL_STR("t1")));
    CHECK(wf_poll(lab, "t1").len > 0);
    struct pawl_str second = wf_poll(lab, "t1");
    define(lab, "{'name':'t1','concurrentExecLimit':2}");
    CHECK_EQ(0, wf_poll(lab, "t1").len);
    define(lab, "{'name':'t1','concurrentExecLimit':1}");
    CHECK_EQ(0, wf_poll(lab, "t1").len);
    CHECK(second.len > 0);
    define(lab, "{'name':'t1'}");
    CHECK(wf_poll(lab, "t1").len > 0);
    define(lab, "{'name':'t1','concurrentExecLimit':3}"); /* what was claimed without a limit is not counted */
    CHECK_TEXT("2", held(lab));
    CHECK(wf_poll(lab, "t1").len > 0);
    CHECK_EQ(0, wf_poll(lab, "t1").len);
    wf_check(lab);
}

TEST_EACH_STORE("W-029 what is counted is kept when the store is closed and opened again")
{
    lab_open(lab);
    define(lab, "{'name':'t1','concurrentExecLimit':1}");
    (void)wf_start(lab, T1, NULL, NULL);
    (void)wf_start(lab, T1, NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    lab_reopen(lab);
    CHECK_EQ(0, wf_poll(lab, "t1").len);
    (void)wf_update(lab, task, PAWL_UPDATE_COMPLETED, NULL, NULL);
    CHECK(wf_poll(lab, "t1").len > 0);
    wf_check(lab);
}

static void hear(void *self, const struct pawl_fsck_finding *finding)
{
    char *said = self;
    (void)snprintf(said + strlen(said), 512 - strlen(said), "%s: %.*s;", finding->check, (int)finding->text.len,
                   finding->text.ptr);
}

TEST_EACH_STORE("fsck counts what a gate lets through again, and sets it right")
{
    lab_open(lab);
    define(lab, "{'name':'t1','concurrentExecLimit':2}");
    (void)wf_start(lab, T1, NULL, NULL);
    CHECK(wf_poll(lab, "t1").len > 0);
    (void)lab_sql(lab, "UPDATE gate SET held = 2");
    for (int i = 0; i < 2; i++) {
        char said[512] = "";
        struct pawl_fsck ask = PAWL_FSCK_INIT;
        struct pawl_fsck_done done = {0};
        ask.store = pawl_str_of(lab->target);
        ask.repair = i == 0;
        ask.found = hear;
        ask.self = said;
        ask.env = &lab->world.env;
        CHECK_DONE(pawl_fsck(&ask, &done, &lab->err));
        CHECK_EQ(i == 0 ? 1 : 0, done.repaired);
        CHECK_TEXT(i == 0 ? "gate.held: the gate of t1 counts 2 tasks in progress and has to count 1;" : "", said);
    }
    CHECK_TEXT("1", held(lab));
}

/* ---- Waiting ---- */

struct waiting {
    pthread_t thread;
    struct pawl *pawl;
    struct pawl_arena *keep;
    struct pawl_claimed claimed;
    enum pawl_code code;
    int64_t took_ms;
    _Atomic bool has_begun;
};

static void *wait_here(void *argument)
{
    struct waiting *waiting = argument;
    struct pawl_str queue = PAWL_STR("t1");
    int64_t began_ms = now_ms();
    atomic_store(&waiting->has_begun, true);
    waiting->code = pawl_task_claim(
        waiting->pawl,
        CLAIM(.queues = &queue, .queue_count = 1, .worker_id = PAWL_STR("v"), .wait_ms = WAIT_MS),
        waiting->keep, &waiting->claimed, NULL);
    waiting->took_ms = now_ms() - began_ms;
    return NULL;
}

static void begin_waiting(struct waiting *waiting, struct pawl *pawl)
{
    *waiting = (struct waiting){.pawl = pawl};
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
    CHECK_EQ(1, waiting->claimed.count);
    CHECK(waiting->took_ms < BOUND_MS);
    pawl_arena_close(waiting->keep);
}

static struct pawl *another(struct lab *lab)
{
    struct pawl_options options = lab_options(lab);
    options.driven = false;
    options.env = NULL;
    return lab_handle(lab, &options);
}

TEST_EACH_STORE("W-029 who waits before a full gate is woken by a place that comes free, here or on another handle")
{
    lab_open_real(lab);
    struct pawl *other = another(lab);
    define(lab, "{'name':'t1','concurrentExecLimit':1}");
    for (int i = 0; i < 3; i++) (void)wf_start(lab, T1, NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    for (int i = 0; i < 2; i++) {
        struct waiting waiting;
        begin_waiting(&waiting, i == 0 ? lab->pawl : other);
        (void)wf_update(lab, task, PAWL_UPDATE_COMPLETED, NULL, NULL);
        CHECK_EQ(0, pthread_join(waiting.thread, NULL));
        CHECK_CODE(PAWL_OK, waiting.code);
        CHECK_EQ(1, waiting.claimed.count);
        CHECK(waiting.took_ms < BOUND_MS);
        task = pawl_arena_copy(lab->keep, waiting.claimed.grants[0].fence.task_id);
        pawl_arena_close(waiting.keep);
    }
    pawl_close(other);
}

TEST_EACH_STORE("W-029 who waits before a full gate is woken when its limit is raised, here or on another handle")
{
    lab_open_real(lab);
    struct pawl *other = another(lab);
    define(lab, "{'name':'t1','concurrentExecLimit':1}");
    for (int i = 0; i < 3; i++) (void)wf_start(lab, T1, NULL, NULL);
    CHECK(wf_poll(lab, "t1").len > 0);
    struct waiting waiting;
    begin_waiting(&waiting, lab->pawl);
    define(lab, "{'name':'t1','concurrentExecLimit':2}");
    end_waiting(&waiting);
    begin_waiting(&waiting, other);
    define(lab, "{'name':'t1'}");
    end_waiting(&waiting);
    pawl_close(other);
}

TEST_EACH_STORE("W-030 who waits for a window to move on is given the next task then, and not before")
{
    lab_open_real(lab);
    define(lab, "{'name':'t1','rateLimitPerFrequency':1,'rateLimitFrequencyInSeconds':1}");
    for (int i = 0; i < 3; i++) (void)lab_add(lab, NEW(.queue = PAWL_STR("t1")));
    int64_t before_ms = 0;
    for (int i = 0; i < 3; i++) {
        struct waiting waiting;
        begin_waiting(&waiting, lab->pawl);
        CHECK_EQ(0, pthread_join(waiting.thread, NULL));
        CHECK_EQ(1, waiting.claimed.count);
        CHECK(waiting.took_ms < BOUND_MS);
        int64_t began_ms = waiting.claimed.grants[0].started_at_ms;
        CHECK(i == 0 || began_ms - before_ms >= 1 * SECOND_MS);
        before_ms = began_ms;
        pawl_arena_close(waiting.keep);
    }
}

/* ---- In a window ---- */

TEST_SQLITE("W-030 in any window no more begin than may, and the next one when the oldest start is out of it")
{
    lab_open(lab);
    define(lab, "{'name':'t1','rateLimitPerFrequency':2,'rateLimitFrequencyInSeconds':10}");
    for (int i = 0; i < 6; i++) (void)wf_start(lab, T1, NULL, NULL);
    struct pawl_str queue = PAWL_STR("t1");
    wf_complete(lab, "t1", NULL);
    lab_pass(lab, 4 * SECOND_MS);
    wf_complete(lab, "t1", NULL); /* over or not, it has begun */
    struct pawl_claimed none =
        lab_claim(lab, CLAIM(.queues = &queue, .queue_count = 1, .worker_id = PAWL_STR("w")));
    CHECK_EQ(0, none.count);
    int64_t at_ms = none.next_at_ms;
    lab_pass(lab, 6 * SECOND_MS - 1);
    CHECK_EQ(0, wf_poll(lab, "t1").len);
    lab_reopen(lab);
    CHECK_EQ(0, wf_poll(lab, "t1").len);
    lab_elapse(lab, 1);
    struct pawl_claimed next =
        lab_claim(lab, CLAIM(.queues = &queue, .queue_count = 1, .max = 9, .worker_id = PAWL_STR("w")));
    CHECK_EQ(1, next.count);
    CHECK_EQ(at_ms, next.grants[0].started_at_ms);
    lab_elapse(lab, 4 * SECOND_MS);
    CHECK(wf_poll(lab, "t1").len > 0);
    CHECK_EQ(0, wf_poll(lab, "t1").len);
    wf_check(lab);
}

TEST_SQLITE("W-030 a callback that is polled again counts as a start; both limits hold together")
{
    lab_open(lab);
    struct pawl_updated updated;
    define(lab, "{'name':'t1','rateLimitPerFrequency':2,'rateLimitFrequencyInSeconds':10,'concurrentExecLimit':1}");
    (void)wf_start(lab, T1, NULL, NULL);
    (void)wf_start(lab, T1, NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    CHECK_EQ(0, wf_poll(lab, "t1").len); /* at once */
    struct pawl_update later = {.status = PAWL_UPDATE_IN_PROGRESS, .worker_id = PAWL_STR("w")};
    CHECK_DONE(pawl_task_update(lab->pawl, task, &later, lab->keep, &updated, &lab->err));
    task = wf_poll(lab, "t1");
    CHECK(task.len > 0);
    (void)wf_update(lab, task, PAWL_UPDATE_COMPLETED, NULL, NULL);
    CHECK_EQ(0, wf_poll(lab, "t1").len); /* in the window */
    lab_elapse(lab, 10 * SECOND_MS);
    CHECK(wf_poll(lab, "t1").len > 0);
    wf_check(lab);
}

TEST_SQLITE("W-030 above PAWL_GATE_STARTS_MAX starts the row stays small, and never too many begin in a window")
{
    enum { RATE = 1000, TASKS = 2500, WINDOW_S = 10, STEP_MS = 7, BATCH = 5 };
    static int64_t began[TASKS];
    static struct pawl_task_new news[500];
    lab_open(lab);
    define(lab, "{'name':'t1','rateLimitPerFrequency':1000,'rateLimitFrequencyInSeconds':10}");
    for (size_t i = 0; i < COUNT_OF(news); i++) news[i] = *NEW(.queue = PAWL_STR("t1"));
    for (int i = 0; i < TASKS / 500; i++) (void)lab_add_batch(lab, news, COUNT_OF(news));
    struct pawl_str queue = PAWL_STR("t1");
    int count = 0;
    for (int steps = 0; count < TASKS; steps++) {
        CHECK(steps < 10000);
        struct pawl_arena_mark mark = pawl_arena_mark(lab->keep);
        struct pawl_claimed claimed = lab_claim(
            lab, CLAIM(.queues = &queue, .queue_count = 1, .max = BATCH, .worker_id = PAWL_STR("w"),
                       .lease_ms = 3600 * SECOND_MS));
        for (size_t i = 0; i < claimed.count; i++) began[count++] = claimed.grants[i].started_at_ms;
        pawl_arena_rewind(lab->keep, mark);
        lab_elapse(lab, STEP_MS);
    }
    for (int i = RATE; i < TASKS; i++) CHECK(began[i] - began[i - RATE] >= WINDOW_S * SECOND_MS);
    /* a place comes back late by a part of the window at most */
    int64_t part_ms = WINDOW_S * SECOND_MS / PAWL_GATE_STARTS_MAX + 1 + STEP_MS;
    for (int i = RATE; i < TASKS; i++) {
        CHECK(i % BATCH != 0 || began[i] - began[i - RATE] <= WINDOW_S * SECOND_MS + 2 * part_ms);
    }
    CHECK(atoll(lab_sql(lab, "SELECT length(starts) FROM gate")) <= 16 * (PAWL_GATE_STARTS_MAX + 2));
}

/* ---- Many processes ---- */

enum { LIMIT = 3, PROCESSES = 4, LIVES = 40 };

/* Claims until nothing is left; each time it looks how many are in progress. */
static int work(struct lab *lab, int number)
{
    struct pawl_options options = lab_options(lab);
    struct pawl *pawl = NULL;
    struct pawl_str queue = PAWL_STR("t1");
    struct pawl_str worker = pawl_arena_format(lab->keep, "w-%d", number);
    options.driven = false;
    options.env = NULL;
    if (pawl_open(&pawl, &options, &lab->err) != PAWL_OK) return 2;
    for (;;) {
        struct pawl_claimed claimed;
        struct pawl_page page;
        struct pawl_arena_mark mark = pawl_arena_mark(lab->keep);
        enum pawl_code code = pawl_task_claim(
            pawl, CLAIM(.queues = &queue, .queue_count = 1, .max = 2, .worker_id = worker, .wait_ms = 2000),
            lab->keep, &claimed, &lab->err);
        if (code != PAWL_OK) return 3;
        if (claimed.count == 0) break;
        if (pawl_task_list(pawl, LIST(.states = 1u << PAWL_TASK_RUNNING), lab->keep, &page, &lab->err) != PAWL_OK) {
            return 4;
        }
        if (page.count > LIMIT) return 5;
        for (size_t i = 0; i < claimed.count; i++) {
            const struct pawl_fence *fence = &claimed.grants[i].fence;
            code = pawl_task_complete(pawl, fence->task_id, PAWL_STR("1"), CHANGE(.fence = fence), &lab->err);
            if (code != PAWL_OK) return 6;
        }
        pawl_arena_rewind(lab->keep, mark);
    }
    pawl_close(pawl);
    return 0;
}

TEST_EACH_STORE("W-029 many processes together never have more in progress than may be")
{
    pid_t children[PROCESSES];
    lab_open_real(lab);
    define(lab, "{'name':'t1','concurrentExecLimit':3}");
    for (int i = 0; i < LIVES; i++) (void)lab_add(lab, NEW(.queue = PAWL_STR("t1")));
    pawl_close(lab->pawl);
    lab->pawl = NULL;
    for (int i = 0; i < PROCESSES; i++) children[i] = lab_fork(lab, work, i);
    for (int i = 0; i < PROCESSES; i++) CHECK_EQ(0, lab_wait(children[i]));
    lab_open_real(lab);
    CHECK_EQ(LIVES, lab_list(lab, LIST(.states = 1u << PAWL_TASK_COMPLETED, .limit = LIVES + 1)).count);
    CHECK_TEXT("0", held(lab));
}

TEST_MAIN()
