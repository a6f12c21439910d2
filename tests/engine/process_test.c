/* Several processes on one store, and some that die. The children check nothing: their exit says
 * what they found. They are forked before this program has any thread. */
#include "base/arena.h"
#include "engine/engine.h"
#include "stores.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TASKS = 1000, CLAIMERS = 8, LOOKS_MAX = 30000 /* a millisecond apart */ };

/* In a child: a handle with threads, in the real world. */
static struct pawl *child_open(struct lab *lab)
{
    struct pawl_options options = lab_options(lab);
    options.driven = false;
    options.env = NULL;
    struct pawl *pawl = NULL;
    if (pawl_open(&pawl, &options, &lab->err) != PAWL_OK) {
        (void)fprintf(stderr, "%s\n", lab->err.text);
        _exit(2);
    }
    return pawl;
}

static int child_failed(struct lab *lab, const char *what)
{
    (void)fprintf(stderr, "%s: %s: %s\n", what, pawl_code_name(lab->err.code), lab->err.text);
    return 3;
}

static struct pawl_str the_task(void)
{
    return PAWL_STR("the-task");
}

/* Adds the task of the test and closes again, so that no handle is carried over a fork. */
static void add_the_task(struct lab *lab)
{
    lab_open_real(lab);
    (void)lab_add(lab, NEW(.id = the_task(), .hold = true));
    pawl_close(lab->pawl);
    lab->pawl = NULL;
}

/* ---- Versions ---- */

static int add_one_five_times(struct lab *lab, int number)
{
    (void)number;
    struct pawl *pawl = child_open(lab);
    for (int i = 0; i < 5;) {
        struct pawl_task task;
        if (pawl_task_get(pawl, the_task(), false, lab->keep, &task, &lab->err) != PAWL_OK) {
            return child_failed(lab, "get");
        }
        enum pawl_code code =
            pawl_task_progress(pawl, the_task(), task.progress + 1,
                               CHANGE(.expected_version = task.version), &lab->err);
        if (code == PAWL_OK) {
            i++;
        } else if (code != PAWL_CONFLICT) {
            return child_failed(lab, "progress");
        }
    }
    pawl_close(pawl);
    return 0;
}

TEST_EACH_STORE("T-023 five processes add 1 five times each, by expected version: 25, version 26")
{
    add_the_task(lab);
    pid_t children[5];
    for (int i = 0; i < 5; i++) children[i] = lab_fork(lab, add_one_five_times, i);
    for (int i = 0; i < 5; i++) CHECK_EQ(0, lab_wait(children[i]));
    lab_open_real(lab);
    struct pawl_task task = lab_get(lab, the_task());
    CHECK_NEAR(25, task.progress, 0);
    CHECK_EQ(26, task.version);
}

/* Reads the task, waits for the other to have read it too, and then writes in its turn. */
static int report_stale(struct lab *lab, int number)
{
    struct pawl *pawl = child_open(lab);
    struct pawl_task task;
    if (pawl_task_get(pawl, the_task(), false, lab->keep, &task, &lab->err) != PAWL_OK) {
        return child_failed(lab, "get");
    }
    if (task.version != 1) return 4;
    (void)raise(SIGSTOP); /* until the test lets it go on */
    if (pawl_task_progress(pawl, the_task(), number, NULL, &lab->err) != PAWL_OK) {
        return child_failed(lab, "progress");
    }
    pawl_close(pawl);
    return 0;
}

static void wait_stopped(pid_t child)
{
    int status = 0;
    CHECK_EQ(child, waitpid(child, &status, WUNTRACED));
    CHECK(WIFSTOPPED(status));
}

TEST_EACH_STORE(
    "T-024 two processes report on a stale read without an expected version: the later stands")
{
    add_the_task(lab);
    pid_t first = lab_fork(lab, report_stale, 40);
    pid_t second = lab_fork(lab, report_stale, 90);
    wait_stopped(first);
    wait_stopped(second);
    CHECK_EQ(0, kill(first, SIGCONT));
    CHECK_EQ(0, lab_wait(first));
    CHECK_EQ(0, kill(second, SIGCONT));
    CHECK_EQ(0, lab_wait(second));
    lab_open_real(lab);
    CHECK_NEAR(90, lab_get(lab, the_task()).progress, 0);
    CHECK_EQ(3, lab_get(lab, the_task()).version);
}

static int complete_stale(struct lab *lab, int number)
{
    (void)number;
    struct pawl *pawl = child_open(lab);
    struct pawl_task task;
    if (pawl_task_get(pawl, the_task(), false, lab->keep, &task, &lab->err) != PAWL_OK) {
        return child_failed(lab, "get");
    }
    (void)raise(SIGSTOP);
    if (pawl_task_complete(pawl, the_task(), PAWL_STR("1"), NULL, &lab->err) != PAWL_OK) {
        return child_failed(lab, "complete");
    }
    pawl_close(pawl);
    return 0;
}

TEST_EACH_STORE("T-025 progress by one process, completion by another: COMPLETED, 100, version 3")
{
    add_the_task(lab);
    pid_t first = lab_fork(lab, report_stale, 40);
    pid_t second = lab_fork(lab, complete_stale, 0);
    wait_stopped(first);
    wait_stopped(second);
    CHECK_EQ(0, kill(first, SIGCONT));
    CHECK_EQ(0, lab_wait(first));
    CHECK_EQ(0, kill(second, SIGCONT));
    CHECK_EQ(0, lab_wait(second));
    lab_open_real(lab);
    struct pawl_task task = lab_get(lab, the_task());
    CHECK_EQ(PAWL_TASK_COMPLETED, task.state);
    CHECK_NEAR(100, task.progress, 0);
    CHECK_EQ(3, task.version);
}

/* ---- Claims ---- */

static void claimed_path(struct lab *lab, int number, char path[LAB_PATH_BYTES_MAX + 32])
{
    (void)snprintf(path, LAB_PATH_BYTES_MAX + 32, "%s/claimed-%d", lab->folder, number);
}

/* Claims until nothing is left; writes "task priority" lines. */
static int claim_all(struct lab *lab, int number)
{
    char path[LAB_PATH_BYTES_MAX + 32];
    char worker[32];
    claimed_path(lab, number, path);
    (void)snprintf(worker, sizeof worker, "claimer-%d", number);
    FILE *file = fopen(path, "w");
    if (file == NULL) return 5;
    struct pawl *pawl = child_open(lab);
    for (;;) {
        struct pawl_claimed claimed;
        pawl_arena_reset(lab->keep);
        enum pawl_code code =
            pawl_task_claim(pawl, CLAIM(.worker_id = pawl_str_of(worker), .max = 1 + number % 4),
                            lab->keep, &claimed, &lab->err);
        if (code != PAWL_OK) return child_failed(lab, "claim");
        if (claimed.count == 0) break;
        for (size_t i = 0; i < claimed.count; i++) {
            const struct pawl_grant *grant = &claimed.grants[i];
            (void)fprintf(file, "%.*s %d\n", PAWL_STR_ARG(grant->fence.task_id), grant->priority);
        }
    }
    pawl_close(pawl);
    return fclose(file) == 0 ? 0 : 5;
}

TEST_EACH_STORE(
    "T-032 eight claimers, 1 000 tasks: each granted exactly once, by priority per claimer")
{
    lab_open_real(lab);
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, TASKS, sizeof *asks);
    for (int i = 0; i < TASKS; i++) {
        asks[i] = *NEW(.id = pawl_arena_format(lab->keep, "%d", i), .priority = 1 + i * 7 % 99);
    }
    (void)lab_add_batch(lab, asks, TASKS);
    pawl_close(lab->pawl);
    lab->pawl = NULL;
    pid_t children[CLAIMERS];
    for (int i = 0; i < CLAIMERS; i++) children[i] = lab_fork(lab, claim_all, i);
    for (int i = 0; i < CLAIMERS; i++) CHECK_EQ(0, lab_wait(children[i]));

    static int times[TASKS];
    memset(times, 0, sizeof times);
    int total = 0;
    for (int i = 0; i < CLAIMERS; i++) {
        char path[LAB_PATH_BYTES_MAX + 32];
        claimed_path(lab, i, path);
        FILE *file = fopen(path, "r");
        CHECK(file != NULL);
        int task = 0;
        int priority = 0;
        int before = 100;
        while (fscanf(file, "%d %d", &task, &priority) == 2) {
            CHECK(task >= 0 && task < TASKS);
            times[task]++;
            total++;
            CHECK(priority <= before);
            before = priority;
        }
        (void)fclose(file);
    }
    CHECK_EQ(TASKS, total);
    for (int i = 0; i < TASKS; i++) CHECK_EQ(1, times[i]);
    lab_open_real(lab);
    CHECK_TEXT("1000", lab_sql(lab, "SELECT count(*) FROM task WHERE state = 2 AND epoch = 1"));
    CHECK_TEXT("1000", lab_sql(lab, "SELECT count(*) FROM event WHERE type = 3"));
}

static int add_some(struct lab *lab, int number)
{
    struct pawl *pawl = child_open(lab);
    for (int i = 0; i < number; i++) {
        struct pawl_added added;
        if (pawl_task_add(pawl, NEW(.priority = 1), lab->keep, &added, &lab->err) != PAWL_OK) {
            return child_failed(lab, "add");
        }
    }
    pawl_close(pawl);
    return 0;
}

TEST_EACH_STORE("T-101 tasks that another process has queued are claimed")
{
    CHECK_EQ(0, lab_wait(lab_fork(lab, add_some, 3)));
    lab_open_real(lab);
    CHECK_EQ(3, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .max = 10)).count);
}

static int add_one_later(struct lab *lab, int number)
{
    (void)raise(SIGSTOP); /* until the test is ready */
    return add_some(lab, number);
}

/* Whether a claim waits: the engine sleeps, and what it has put aside does not change meanwhile. */
static bool is_one_parked(struct pawl *pawl)
{
    (void)pthread_mutex_lock(&pawl->lock);
    bool is_parked = pawl->is_sleeping && pawl_parked_count(pawl->parked) == 1;
    (void)pthread_mutex_unlock(&pawl->lock);
    return is_parked;
}

/* Lets a stopped child go on once the claim of the test waits. */
struct waker {
    struct pawl *pawl;
    pid_t child;
};

static void *wake_child(void *argument)
{
    const struct waker *waker = argument;
    for (int i = 0; i < LOOKS_MAX && !is_one_parked(waker->pawl); i++) (void)poll(NULL, 0, 1);
    (void)kill(waker->child, SIGCONT);
    return NULL;
}

TEST_EACH_STORE("a claim that waits is woken by a task that another process adds")
{
    pid_t child = lab_fork(lab, add_one_later, 1);
    pthread_t thread;
    wait_stopped(child);
    lab_open_real(lab);
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"))).count);
    struct waker waker = {lab->pawl, child};
    CHECK_EQ(0, pthread_create(&thread, NULL, wake_child, &waker));
    struct pawl_claimed claimed =
        lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .wait_ms = 30000));
    CHECK_EQ(1, claimed.count);
    CHECK_EQ(0, pthread_join(thread, NULL));
    CHECK_EQ(0, lab_wait(child));
}

/* ---- Death ---- */

static int add_and_die(struct lab *lab, int number)
{
    (void)number;
    struct pawl *pawl = child_open(lab);
    struct pawl_added added;
    if (pawl_task_add(pawl, NEW(.id = the_task()), lab->keep, &added, &lab->err) != PAWL_OK) {
        return child_failed(lab, "add");
    }
    return 9; /* at once: nothing is closed */
}

TEST_EACH_STORE("T-034 a process that exits right after its insert returned: the row is there once")
{
    CHECK_EQ(9, lab_wait(lab_fork(lab, add_and_die, 0)));
    lab_open_real(lab);
    CHECK_EQ(1, lab_list(lab, LIST(.limit = 0)).count);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, the_task()).state);
    CHECK_TEXT("created queued", lab_told(lab, the_task()));
}

static void *say_progress(void *argument)
{
    struct lab *lab = argument;
    (void)!pawl_task_progress(lab->pawl, the_task(), 50, NULL, NULL);
    return NULL;
}

/* Whether the engine has a call in hand; or sleeps, and nobody calls. */
static bool is_at_work(struct pawl *pawl, bool has_call)
{
    (void)pthread_mutex_lock(&pawl->lock);
    bool works = !pawl->is_sleeping && pawl->incoming.count == 0;
    bool is_so = works == has_call && (pawl->call_count > 0) == has_call;
    (void)pthread_mutex_unlock(&pawl->lock);
    return is_so;
}

static bool until_at_work(struct pawl *pawl, bool has_call)
{
    bool is_so = false;
    for (int i = 0; i < LOOKS_MAX && !(is_so = is_at_work(pawl, has_call)); i++) {
        (void)poll(NULL, 0, 1);
    }
    return is_so;
}

/* Exits while its update waits for the store, which the test holds. */
static int die_before_update(struct lab *lab, int number)
{
    (void)number;
    lab->pawl = child_open(lab);
    pthread_t thread;
    if (!until_at_work(lab->pawl, false)) return 4;
    if (pthread_create(&thread, NULL, say_progress, lab) != 0) return 5;
    return until_at_work(lab->pawl, true) ? 9 : 6;
}

TEST_EACH_STORE("T-035 a process that exits before its update is written: progress is still 0")
{
    add_the_task(lab);
    CHECK_EQ(PAWL_OK, lab_hold(lab));
    CHECK_EQ(9, lab_wait(lab_fork(lab, die_before_update, 0)));
    lab_let_go(lab);
    lab_open_real(lab);
    CHECK_NEAR(0, lab_get(lab, the_task()).progress, 0);
    CHECK_EQ(1, lab_get(lab, the_task()).version);
}

static int start_and_die(struct lab *lab, int number)
{
    struct pawl *pawl = child_open(lab);
    struct pawl_grant grant;
    enum pawl_code code = pawl_task_start(
        pawl, the_task(), CLAIM(.worker_id = PAWL_STR("child"), .lease_ms = PAWL_LEASE_MS_MIN),
        lab->keep, &grant, &lab->err);
    if (code != PAWL_OK) return child_failed(lab, "start");
    if (number == 1) (void)raise(SIGKILL);
    return 9;
}

TEST_EACH_STORE("a process that dies with a lease is found out: its task comes back, counted")
{
    add_the_task(lab);
    for (int killed = 0; killed <= 1; killed++) {
        CHECK_EQ(killed ? -1 : 9, lab_wait(lab_fork(lab, start_and_die, killed)));
        lab_open_real(lab);
        struct pawl_claimed claimed =
            lab_claim(lab, CLAIM(.worker_id = PAWL_STR("next"), .wait_ms = 30000));
        CHECK_EQ(1, claimed.count);
        CHECK_EQ(2 + killed, claimed.grants[0].attempt);
        CHECK_EQ(killed + 1, lab_get(lab, the_task()).retries);
        CHECK_OK(pawl_task_release(lab->pawl, the_task(), 0,
                                   CHANGE(.fence = &claimed.grants[0].fence), &lab->err),
                 &lab->err);
        pawl_close(lab->pawl);
        lab->pawl = NULL;
    }
}

static int complete_quickly(struct lab *lab, int number)
{
    (void)number;
    struct pawl *pawl = child_open(lab);
    for (;;) {
        struct pawl_claimed claimed;
        pawl_arena_reset(lab->keep);
        if (pawl_task_claim(pawl, CLAIM(.worker_id = PAWL_STR("child"), .max = 5), lab->keep,
                            &claimed, &lab->err) != PAWL_OK) {
            return child_failed(lab, "claim");
        }
        for (size_t i = 0; i < claimed.count; i++) {
            const struct pawl_fence *fence = &claimed.grants[i].fence;
            if (pawl_task_complete(pawl, fence->task_id, PAWL_STR("1"), CHANGE(.fence = fence),
                                   &lab->err) != PAWL_OK) {
                return child_failed(lab, "complete");
            }
        }
        if (claimed.count == 0) return 0;
    }
}

static int completed(struct lab *lab)
{
    return atoi(lab_sql(lab, "SELECT count(*) FROM task WHERE state = 5"));
}

TEST_EACH_STORE("a process that is killed at work leaves each task completed, held or queued, and "
                "no turn taken")
{
    lab_open_real(lab);
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, 300, sizeof *asks);
    for (int i = 0; i < 300; i++) asks[i] = *NEW();
    (void)lab_add_batch(lab, asks, 300);
    pawl_close(lab->pawl);
    lab->pawl = NULL;
    for (int i = 0; i < 3; i++) {
        pid_t child = lab_fork(lab, complete_quickly, 0);
        int wanted = completed(lab) + 20 + 10 * i; /* and goes on while we look */
        for (int looks = 0; looks < LOOKS_MAX && completed(lab) < wanted; looks++) {
            (void)poll(NULL, 0, 1);
        }
        (void)kill(child, SIGKILL);
        int status = lab_wait(child);
        CHECK(status == -1 || status == 0);
        lab_open_real(lab);
        (void)lab_add(lab, NEW(.queue = PAWL_STR("after")));
        CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM task WHERE state NOT IN (1, 2, 5)"));
        CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM task WHERE sequence <> "
                                     "(SELECT count(*) FROM event WHERE event.task = task.key)"));
        CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM event, task WHERE task.key = event.task "
                                     "AND event.sequence = task.sequence "
                                     "AND event.state <> task.state"));
        pawl_close(lab->pawl);
        lab->pawl = NULL;
    }
}

TEST_MAIN()
