/* Commands that are handed over without waiting for their answer, as a server does. */
#include "base/arena.h"
#include "core/check.h"
#include "engine/engine.h"
#include "stores.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { WAIT_MS = 30000, CLAIMS = 500 };

struct answers {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count;
};

struct handed {
    struct pawl_request request;
    struct pawl_claim ask;
    struct pawl_claimed claimed;
    struct pawl_arena *keep;
    struct answers *answers;
    struct pawl_request *cancels; /* another, when this one is answered; NULL = none */
    struct pawl *pawl;
    bool is_answered; /* under the lock */
};

static void take_answer(struct pawl_request *request)
{
    struct handed *handed = request->on_answer_self;
    struct answers *answers = handed->answers;
    if (handed->cancels != NULL) pawl_engine_cancel(handed->pawl, handed->cancels);
    (void)pthread_mutex_lock(&answers->lock);
    handed->is_answered = true;
    answers->count++;
    (void)pthread_cond_broadcast(&answers->changed);
    (void)pthread_mutex_unlock(&answers->lock);
}

static void await(struct answers *answers, int count)
{
    (void)pthread_mutex_lock(&answers->lock);
    while (answers->count < count) (void)pthread_cond_wait(&answers->changed, &answers->lock);
    CHECK_EQ(count, answers->count);
    (void)pthread_mutex_unlock(&answers->lock);
}

static void await_this(struct handed *handed)
{
    (void)pthread_mutex_lock(&handed->answers->lock);
    while (!handed->is_answered)
        (void)pthread_cond_wait(&handed->answers->changed, &handed->answers->lock);
    (void)pthread_mutex_unlock(&handed->answers->lock);
}

static void hand_claim_that_cancels(struct lab *lab, struct handed *handed, struct answers *answers, int64_t wait_ms,
                                    struct pawl_request *cancels)
{
    *handed = (struct handed){
        .ask = PAWL_CLAIM_INIT, .answers = answers, .cancels = cancels, .pawl = lab->pawl};
    CHECK_OK(pawl_arena_open(&handed->keep, 0), NULL);
    pawl_request_init(&handed->request, PAWL_COMMAND_CLAIM);
    handed->ask.worker_id = PAWL_STR("w");
    handed->request.command.ask.claim.ask = &handed->ask;
    handed->request.command.out.claimed = &handed->claimed;
    handed->request.command.keep = handed->keep;
    handed->request.wait_ms = wait_ms;
    handed->request.on_answer = take_answer;
    handed->request.on_answer_self = handed;
    CHECK_OK(pawl_engine_hand(lab->pawl, &handed->request, &lab->err), &lab->err);
}

static void hand_claim(struct lab *lab, struct handed *handed, struct answers *answers, int64_t wait_ms)
{
    hand_claim_that_cancels(lab, handed, answers, wait_ms, NULL);
}

static struct answers *new_answers(void)
{
    static struct answers answers;
    answers =
        (struct answers){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    return &answers;
}

TEST_EACH_STORE(
    "claims that wait without a thread are served in the order in which they came, each task once")
{
    static struct handed handed[CLAIMS];
    struct answers *answers = new_answers();
    lab_open_real(lab);
    for (int i = 0; i < CLAIMS; i++) hand_claim(lab, &handed[i], answers, WAIT_MS);
    for (int i = 0; i < CLAIMS; i++) {
        struct pawl_str id = lab_add(lab, NEW());
        await(answers, i + 1);
        CHECK(handed[i].is_answered);
        CHECK_CODE(PAWL_OK, handed[i].request.command.code);
        CHECK_EQ(1, handed[i].claimed.count);
        CHECK(pawl_str_equal(id, handed[i].claimed.grants[0].fence.task_id));
    }
    for (int i = 0; i < CLAIMS; i++) pawl_arena_close(handed[i].keep);
}

TEST_EACH_STORE("a cancelled claim is answered empty, and its task goes to the next who waits")
{
    struct handed gone;
    struct handed next;
    struct answers *answers = new_answers();
    lab_open_real(lab);
    hand_claim(lab, &gone, answers, WAIT_MS);
    hand_claim(lab, &next, answers, WAIT_MS);
    pawl_engine_cancel(lab->pawl, &gone.request);
    pawl_engine_cancel(lab->pawl, &gone.request); /* once is enough */
    await_this(&gone);
    CHECK_CODE(PAWL_OK, gone.request.command.code);
    CHECK_EQ(0, gone.claimed.count);
    (void)lab_add(lab, NEW());
    await_this(&next);
    CHECK_EQ(1, next.claimed.count);
    pawl_engine_cancel(lab->pawl, &next.request); /* too late, and no harm */
    pawl_arena_close(gone.keep);
    pawl_arena_close(next.keep);
}

TEST_EACH_STORE(
    "whether it is cancelled before or in its step, a cancelled claim keeps no task from others")
{
    lab_open_real(lab);
    for (int round = 0; round < 100; round++) {
        struct handed gone;
        struct handed next;
        struct answers *answers = new_answers();
        hand_claim(lab, &gone, answers, WAIT_MS);
        (void)lab_add(lab, NEW());
        pawl_engine_cancel(lab->pawl, &gone.request);
        await_this(&gone);
        if (gone.claimed.count == 0) {
            hand_claim(lab, &next, answers, WAIT_MS);
            await_this(&next);
            CHECK_EQ(1, next.claimed.count);
            pawl_arena_close(next.keep);
        }
        pawl_arena_close(gone.keep);
    }
}

/* What was handed over before has been seen to when this returns: the second step comes after the end of the first. */
static void settle(struct lab *lab)
{
    for (int i = 0; i < 2; i++) {
        CHECK_CODE(PAWL_NOT_FOUND, pawl_task_pause(lab->pawl, PAWL_STR("none"), NULL, &lab->err));
    }
}

/* A world in which something happens as a step begins, which asks for chance. */
struct meddling {
    struct pawl_env_real real;
    struct pawl_env env;
    struct pawl *pawl;
    struct pawl_request *victim;
    _Atomic bool is_armed;
};

static uint64_t meddle(void *self)
{
    struct meddling *meddling = self;
    bool is_in_step = meddling->pawl != NULL && pthread_equal(pthread_self(), meddling->pawl->thread) != 0;
    if (is_in_step && atomic_exchange(&meddling->is_armed, false)) pawl_engine_cancel(meddling->pawl, meddling->victim);
    return meddling->real.env.random(meddling->real.env.self);
}

TEST_EACH_STORE("a claim that is cancelled when it has been taken for a task leaves the task to the next who waits")
{
    struct handed gone;
    struct handed next;
    static struct meddling meddling;
    struct answers *answers = new_answers();
    lab_open_real(lab);
    struct pawl *own = lab->pawl;
    struct pawl_options options = lab_options(lab);
    meddling = (struct meddling){0};
    pawl_env_real_init(&meddling.real);
    meddling.env = meddling.real.env;
    meddling.env.self = &meddling;
    meddling.env.random = meddle;
    options.driven = false;
    options.env = &meddling.env;
    meddling.pawl = lab_handle(lab, &options);
    lab->pawl = meddling.pawl;
    hand_claim(lab, &gone, answers, WAIT_MS);
    hand_claim(lab, &next, answers, WAIT_MS);
    settle(lab);
    meddling.victim = &gone.request;
    atomic_store(&meddling.is_armed, true);
    (void)lab_add(lab, NEW());
    await(answers, 2);
    CHECK_EQ(0, gone.claimed.count);
    CHECK_EQ(1, next.claimed.count);
    lab->pawl = own;
    pawl_close(meddling.pawl);
    pawl_arena_close(gone.keep);
    pawl_arena_close(next.keep);
}

TEST_EACH_STORE("a claim that is cancelled between two steps is answered at once, without another step")
{
    struct handed gone;
    struct handed brief;
    struct answers *answers = new_answers();
    lab_open_real(lab);
    hand_claim(lab, &gone, answers, WAIT_MS);
    settle(lab);
    int64_t began_ms = lab->pawl->env->boot_ms(lab->pawl->env->self);
    hand_claim_that_cancels(lab, &brief, answers, 20, &gone.request);
    await(answers, 2);
    CHECK_EQ(0, gone.claimed.count);
    CHECK(lab->pawl->env->boot_ms(lab->pawl->env->self) - began_ms < WAIT_MS / 2);
    pawl_arena_close(gone.keep);
    pawl_arena_close(brief.keep);
}

TEST_EACH_STORE("a claim that has waited its time is answered empty")
{
    struct handed handed;
    struct answers *answers = new_answers();
    lab_open_real(lab);
    hand_claim(lab, &handed, answers, 20);
    await(answers, 1);
    CHECK_CODE(PAWL_OK, handed.request.command.code);
    CHECK_EQ(0, handed.claimed.count);
    pawl_arena_close(handed.keep);
}

TEST_EACH_STORE("closing answers all that wait, and takes nothing more")
{
    struct handed handed[3];
    struct answers *answers = new_answers();
    lab_open_real(lab);
    struct pawl_options options = lab_options(lab);
    options.driven = false;
    options.env = NULL;
    struct pawl *other = lab_handle(lab, &options);
    struct pawl *own = lab->pawl;
    lab->pawl = other;
    for (int i = 0; i < 3; i++) hand_claim(lab, &handed[i], answers, WAIT_MS);
    lab->pawl = own;
    pawl_close(other);
    await(answers, 3);
    for (int i = 0; i < 3; i++) {
        CHECK_CODE(PAWL_BUSY, handed[i].request.command.code);
        CHECK_EQ(0, handed[i].claimed.count);
        pawl_arena_close(handed[i].keep);
    }
}

TEST_EACH_STORE("an answer that is an error leaves nothing in the arena, and says what is wrong")
{
    struct handed handed = {.answers = new_answers()};
    lab_open_real(lab);
    CHECK_OK(pawl_arena_open(&handed.keep, 0), NULL);
    pawl_request_init(&handed.request, PAWL_COMMAND_PAUSE);
    handed.request.command.task_id = PAWL_STR("none such");
    handed.request.on_answer = take_answer;
    handed.request.on_answer_self = &handed;
    CHECK_OK(pawl_engine_hand(lab->pawl, &handed.request, &lab->err), &lab->err);
    await(handed.answers, 1);
    CHECK_CODE(PAWL_NOT_FOUND, handed.request.command.code);
    CHECK_EQ(PAWL_NOT_FOUND, handed.request.command.err.code);
    CHECK(strstr(handed.request.command.err.text, "none such") != NULL);
    pawl_arena_close(handed.keep);
}

TEST_MAIN()
