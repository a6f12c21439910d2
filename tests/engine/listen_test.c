/* Listeners and the hook: after the commit, in order, once, and a slow one harms only itself. */
#include "base/arena.h"
#include "stores.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

/* What a listener has heard; written on the library's thread. */
struct ear {
    pthread_mutex_t lock;
    pthread_cond_t heard;
    char types[4096]; /* "created queued " */
    size_t begun;     /* events it was called with; count are those it is through with */
    size_t count;
    size_t gaps;
    int64_t last_position;
    bool is_in_order;
    sem_t *gate; /* each event waits here first; NULL = none */
    struct lab *lab;
    void (*also)(struct ear *ear, const struct pawl_event *event); /* on the library's thread */
    struct pawl_event last;                                        /* its texts are gone */
    enum pawl_code code;
};

static void ear_open(struct ear *ear, struct lab *lab)
{
    *ear = (struct ear){.lab = lab, .is_in_order = true};
    (void)pthread_mutex_init(&ear->lock, NULL);
    (void)pthread_cond_init(&ear->heard, NULL);
}

static void ear_close(struct ear *ear)
{
    (void)pthread_mutex_destroy(&ear->lock);
    (void)pthread_cond_destroy(&ear->heard);
}

static void hear(void *self, const struct pawl_event *event)
{
    struct ear *ear = self;
    (void)pthread_mutex_lock(&ear->lock);
    ear->begun++;
    (void)pthread_cond_signal(&ear->heard);
    (void)pthread_mutex_unlock(&ear->lock);
    while (ear->gate != NULL && sem_wait(ear->gate) != 0 && errno == EINTR) {
    }
    (void)pthread_mutex_lock(&ear->lock);
    size_t used = strlen(ear->types);
    (void)snprintf(ear->types + used, sizeof ear->types - used, "%s%.*s", used == 0 ? "" : " ",
                   (int)event->type.len - 5, event->type.ptr + 5);
    ear->count++;
    if (event->has_gap) ear->gaps++;
    if (event->position <= ear->last_position) ear->is_in_order = false;
    ear->last_position = event->position;
    ear->last = *event;
    (void)pthread_cond_signal(&ear->heard);
    (void)pthread_mutex_unlock(&ear->lock);
    if (ear->also != NULL) ear->also(ear, event);
}

/* Waits, 20 s at most, until so many events were heard, or begun. */
static void wait_for(struct ear *ear, const size_t *what, size_t count)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    (void)pthread_mutex_lock(&ear->lock);
    int waited = 0;
    while (*what < count && waited == 0) {
        waited = pthread_cond_timedwait(&ear->heard, &ear->lock, &until);
    }
    size_t got = *what;
    (void)pthread_mutex_unlock(&ear->lock);
    if (got < count) FAIL("heard %zu events, not %zu", got, count);
}

static void wait_heard(struct ear *ear, size_t count)
{
    wait_for(ear, &ear->count, count);
}

static void open_with(struct lab *lab, struct ear *ears, size_t count, bool is_driven)
{
    struct pawl_listener listeners[4];
    for (size_t i = 0; i < count; i++) {
        ear_open(&ears[i], lab);
        listeners[i] = (struct pawl_listener){&ears[i], hear};
    }
    struct pawl_options options = lab_options(lab);
    options.listeners = listeners;
    options.listener_count = count;
    options.driven = is_driven;
    if (!is_driven) options.env = NULL;
    lab->pawl = lab_handle(lab, &options);
}

static void close_with(struct lab *lab, struct ear *ears, size_t count)
{
    pawl_close(lab->pawl);
    lab->pawl = NULL;
    for (size_t i = 0; i < count; i++) ear_close(&ears[i]);
}

TEST_EACH_STORE(
    "T-020 a listener hears the committed rows in order: one a transition, none for notes")
{
    struct ear ear;
    open_with(lab, &ear, 1, true);
    struct pawl_str id = lab_add(lab, NEW(.title = PAWL_STR("T"), .queue = PAWL_STR("mail")));
    CHECK_TEXT("created queued", ear.types);
    struct pawl_fence fence = lab_start(lab, id, "w");
    struct pawl_renewal renewal;
    check_ok(lab, pawl_task_checkpoint(lab->pawl, id, 1, PAWL_STR("{}"), CHANGE(.fence = &fence),
                                       &lab->err));
    check_ok(lab, pawl_lease_renew(lab->pawl, &fence, 1, 0, &renewal, &lab->err));
    check_ok(lab, pawl_task_log(lab->pawl, id, PAWL_STR("x"), NULL, &lab->err));
    CHECK_TEXT("created queued started", ear.types);
    check_ok(lab, pawl_task_cancel(lab->pawl, id, false, CHANGE(.fence = &fence), &lab->err));
    CHECK_TEXT("created queued started cancelled", ear.types);
    CHECK(ear.is_in_order);
    struct pawl_event row = lab_last(lab, id);
    CHECK_EQ(row.position, ear.last.position);
    CHECK_EQ(row.sequence, ear.last.sequence);
    CHECK_EQ(row.version, ear.last.version);
    CHECK_EQ(row.epoch, ear.last.epoch);
    CHECK_EQ(row.state, ear.last.state);
    CHECK_EQ(row.at_ms, ear.last.at_ms);
    CHECK_EQ(4, lab_history(lab, id).count);
    close_with(lab, &ear, 1);
}

static void compare_texts(struct ear *ear, const struct pawl_event *event)
{
    bool is_good = pawl_str_equal(event->title, PAWL_STR("T")) &&
                   pawl_str_equal(event->queue, PAWL_STR("mail")) &&
                   pawl_str_equal(event->task_id, PAWL_STR("t-1")) &&
                   pawl_str_equal(event->correlation_id, PAWL_STR("c-1")) && event->id.len == 36;
    if (!is_good) ear->code = PAWL_CORRUPT;
}

TEST_EACH_STORE(
    "T-022 an event's title is the task's, whatever its metadata says, and all texts are there")
{
    struct ear ear;
    open_with(lab, &ear, 1, true);
    ear.also = compare_texts;
    (void)lab_add(lab, NEW(.id = PAWL_STR("t-1"), .title = PAWL_STR("T"), .queue = PAWL_STR("mail"),
                           .correlation_id = PAWL_STR("c-1"),
                           .metadata = PAWL_STR("{\"title\":\"forged\",\"task_id\":\"x\"}")));
    check_ok(lab, pawl_task_pause(lab->pawl, PAWL_STR("t-1"), NULL, &lab->err));
    CHECK_EQ(3, ear.count);
    CHECK_CODE(PAWL_OK, ear.code);
    close_with(lab, &ear, 1);
}

TEST_EACH_STORE("T-022 a listener that is stuck delays neither the calls nor another listener")
{
    struct ear ears[2];
    sem_t gate;
    (void)sem_init(&gate, 0, 0);
    open_with(lab, ears, 2, false);
    ears[0].gate = &gate;
    struct pawl_str id = lab_add(lab, NEW());
    check_ok(lab, pawl_task_cancel(lab->pawl, id, false, NULL, &lab->err));
    wait_heard(&ears[1], 3);
    CHECK_TEXT("created queued cancelled", ears[1].types);
    (void)pthread_mutex_lock(&ears[0].lock);
    CHECK_EQ(0, ears[0].count);
    (void)pthread_mutex_unlock(&ears[0].lock);
    for (int i = 0; i < 10; i++) (void)sem_post(&gate);
    wait_heard(&ears[0], 3);
    CHECK_TEXT("created queued cancelled", ears[0].types);
    close_with(lab, ears, 2);
    (void)sem_destroy(&gate);
}

TEST_EACH_STORE(
    "a listener too slow by more than 1 024 events loses the oldest, and is told of the gap")
{
    enum { BATCHES = 5, MEMBERS = 500, ALL = BATCHES * MEMBERS };
    struct ear ears[2];
    sem_t gate;
    (void)sem_init(&gate, 0, 0);
    open_with(lab, ears, 2, false);
    ears[0].gate = &gate;
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, MEMBERS, sizeof *asks);
    for (int i = 0; i < MEMBERS; i++) asks[i] = *NEW(.hold = true);
    (void)lab_add_batch(lab, asks, MEMBERS);
    wait_for(&ears[0], &ears[0].begun, 1); /* it sits in its first event now */
    for (size_t i = 1; i < BATCHES; i++) {
        wait_heard(&ears[1], i * MEMBERS); /* the other one is never behind */
        (void)lab_add_batch(lab, asks, MEMBERS);
    }
    for (int i = 0; i < ALL; i++) (void)sem_post(&gate);
    pawl_close(lab->pawl); /* what still waits is told before it returns */
    lab->pawl = NULL;
    CHECK_EQ(1 + PAWL_LISTENER_EVENTS_MAX, ears[0].count);
    CHECK_EQ(1, ears[0].gaps);
    CHECK(ears[0].is_in_order);
    CHECK_EQ(ALL, ears[0].last_position);
    CHECK_EQ(ALL, ears[1].count);
    CHECK_EQ(0, ears[1].gaps);
    ear_close(&ears[0]);
    ear_close(&ears[1]);
    (void)sem_destroy(&gate);
}

/* ---- Calling back ---- */

static void add_another(struct ear *ear, const struct pawl_event *event)
{
    struct pawl_added added;
    struct pawl_task task;
    if (!pawl_str_equal(event->type, PAWL_STR("task_completed"))) return;
    struct pawl_arena *keep;
    ear->code = pawl_arena_open(&keep, 0);
    if (ear->code == PAWL_OK) {
        ear->code = pawl_task_add(ear->lab->pawl, NEW(.id = PAWL_STR("next")), keep, &added, NULL);
    }
    if (ear->code == PAWL_OK) {
        ear->code = pawl_task_get(ear->lab->pawl, added.id, true, keep, &task, NULL);
    }
    pawl_arena_close(keep);
}

TEST_EACH_STORE("a listener may call back into its handle, with threads")
{
    struct ear ear;
    open_with(lab, &ear, 1, false);
    ear.also = add_another;
    struct pawl_str id = lab_add(lab, NEW());
    check_ok(lab, pawl_task_complete(lab->pawl, id, NO_TEXT, NULL, &lab->err));
    wait_heard(&ear, 5);
    CHECK_TEXT("created queued completed created queued", ear.types);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, PAWL_STR("next")).state);
    close_with(lab, &ear, 1);
    CHECK_CODE(PAWL_OK, ear.code);
}

TEST_EACH_STORE("a listener may call back into its handle, driven")
{
    struct ear ear;
    open_with(lab, &ear, 1, true);
    ear.also = add_another;
    struct pawl_str id = lab_add(lab, NEW());
    check_ok(lab, pawl_task_complete(lab->pawl, id, NO_TEXT, NULL, &lab->err));
    CHECK_CODE(PAWL_OK, ear.code);
    CHECK_TEXT("created queued completed created queued", ear.types);
    CHECK(ear.is_in_order);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, PAWL_STR("next")).state);
    close_with(lab, &ear, 1);
}

TEST_EACH_STORE("of two listeners of a driven handle both hear what one of them causes, in order")
{
    struct ear ears[2];
    open_with(lab, ears, 2, true);
    ears[1].also = add_another; /* the first has heard all by then, and there is more */
    struct pawl_str id = lab_add(lab, NEW());
    check_ok(lab, pawl_task_complete(lab->pawl, id, NO_TEXT, NULL, &lab->err));
    for (int i = 0; i < 2; i++) {
        CHECK_TEXT("created queued completed created queued", ears[i].types);
        CHECK(ears[i].is_in_order);
        CHECK_EQ(0, ears[i].gaps);
    }
    close_with(lab, ears, 2);
}

/* ---- The hook ---- */

struct hook {
    _Atomic int count;
    struct lab *lab;
    char title[64];
    size_t result_bytes;
    bool looks;
    bool changes;
    enum pawl_code code;
    enum pawl_task_state seen;
};

static void on_completed(void *self, struct pawl_str title, struct pawl_str result_start)
{
    struct hook *hook = self;
    (void)snprintf(hook->title, sizeof hook->title, "%.*s", PAWL_STR_ARG(title));
    hook->result_bytes = result_start.len;
    if (hook->looks) {
        struct pawl_arena *keep;
        struct pawl_task task = {0};
        hook->code = pawl_arena_open(&keep, 0);
        if (hook->code == PAWL_OK) {
            hook->code = pawl_task_get(hook->lab->pawl, PAWL_STR("t-1"), false, keep, &task, NULL);
        }
        hook->seen = task.state;
        pawl_arena_close(keep);
    }
    if (hook->changes) {
        hook->code = pawl_task_cancel(hook->lab->pawl, PAWL_STR("t-1"), true, NULL, NULL);
    }
    atomic_fetch_add(&hook->count, 1);
}

static void open_hooked(struct lab *lab, struct hook *hook, bool is_driven)
{
    struct pawl_options options = lab_options(lab);
    options.driven = is_driven;
    if (!is_driven) options.env = NULL;
    options.on_completed = on_completed;
    options.on_completed_self = hook;
    lab->pawl = lab_handle(lab, &options);
    hook->lab = lab;
}

TEST_EACH_STORE(
    "D-51 the completion hook runs once a completion, after the commit, with the result's start")
{
    struct hook hook = {.looks = true};
    open_hooked(lab, &hook, true);
    (void)lab_add(lab, NEW(.id = PAWL_STR("t-1"), .title = PAWL_STR("Mail")));
    struct pawl_fence fence = lab_start(lab, PAWL_STR("t-1"), "w");
    CHECK_EQ(0, hook.count);
    struct pawl_str result = lab_json(lab, 1000);
    const struct pawl_change *change = CHANGE(.fence = &fence);
    check_ok(lab, pawl_task_complete(lab->pawl, PAWL_STR("t-1"), result, change, &lab->err));
    CHECK_EQ(1, hook.count);
    CHECK_TEXT("Mail", hook.title);
    CHECK_EQ(200, hook.result_bytes);
    CHECK_CODE(PAWL_OK, hook.code);
    CHECK_EQ(PAWL_TASK_COMPLETED, hook.seen); /* committed when it was called */
    /* a repeat is no completion, nor is what was refused */
    check_ok(lab, pawl_task_complete(lab->pawl, PAWL_STR("t-1"), result, change, &lab->err));
    CHECK_REFUSED(PAWL_LEASE_LOST,
                  pawl_task_complete(lab->pawl, PAWL_STR("t-1"), NO_TEXT, change, &lab->err));
    CHECK_EQ(1, hook.count);
}

TEST_EACH_STORE(
    "D-51 the hook runs for a completion by an operator and by resolve, and for no other end")
{
    struct hook hook = {0};
    open_hooked(lab, &hook, true);
    struct pawl_str id = lab_add(lab, NEW());
    check_ok(lab, pawl_task_complete(lab->pawl, id, NO_TEXT, NULL, &lab->err));
    CHECK_EQ(1, hook.count);
    CHECK_EQ(0, hook.result_bytes);
    id = lab_add(lab, NEW());
    check_ok(lab, pawl_task_cancel(lab->pawl, id, false, NULL, &lab->err));
    id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    check_ok(lab, pawl_task_fail(lab->pawl, id, FAILURE(.is_final = true), CHANGE(.fence = &fence),
                                 &lab->err));
    CHECK_EQ(1, hook.count);
    check_ok(lab,
             pawl_task_resolve(lab->pawl, id, PAWL_TASK_COMPLETED, PAWL_STR("1"), NULL, &lab->err));
    CHECK_EQ(2, hook.count);
}

TEST_EACH_STORE(
    "D-51 the hook runs in the step: a change it asks for is MISUSE, and not a standstill")
{
    for (int is_driven = 0; is_driven <= 1; is_driven++) {
        struct hook hook = {.changes = true};
        open_hooked(lab, &hook, is_driven == 1);
        struct pawl_str id = lab_add(lab, NEW());
        check_ok(lab, pawl_task_complete(lab->pawl, id, NO_TEXT, NULL, &lab->err));
        CHECK_EQ(1, hook.count);
        pawl_close(lab->pawl);
        lab->pawl = NULL;
        CHECK_CODE(PAWL_MISUSE, hook.code);
    }
}

TEST_MAIN()
