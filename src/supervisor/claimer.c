/* Threads: claimer_run and what it calls is the claimer's own; the rest is called by the worker's.
 * Who owns the request and the answer is told by stage. */
#include "supervisor/claimer.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "base/uuid.h"
#include "engine/engine.h"
#include "supervisor/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>

enum stage {
    IDLE,     /* the worker's */
    ASKED,    /* the claimer's */
    ANSWERED, /* the worker's */
};

struct pawl_claimer {
    struct pawl *pawl;
    struct pawl_claim ask;
    int heard_fd; /* borrowed */
    pthread_t thread;
    bool has_thread;
    struct pawl_arena *arena; /* of the answer */
    struct pawl_claim_answer answer;
    struct pawl_grant grants[PAWL_BATCH_MAX]; /* their texts are in arena */
    char request_id[PAWL_UUID_BYTES_MAX + 1];
    bool has_request_id;         /* of a claim whose answer did not come */
    int64_t first_asked_boot_ms; /* when it was asked first */

    _Atomic bool gives_up; /* no claim waits any more */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    enum stage stage;
    bool is_stopping;
};

static void make_request_id(struct pawl_claimer *claimer)
{
    uint64_t random[2] = {0};
    /* These few bytes always come once the machine has started; and without them the time still
     * tells one claim of a worker from another. */
    (void)!getrandom(random, sizeof random, 0);
    pawl_uuid_make(pawl_clock_boot_ms(), random[0], random[1], claimer->request_id);
    claimer->has_request_id = true;
}

/* Of grants that were made at an earlier try it is not known since when their leases run. Renewing
 * them gives them a known beginning; those that are lost already are left out. If that fails, they
 * count from before the first try. */
static void renew_grants(struct pawl_claimer *claimer)
{
    struct pawl_claim_answer *answer = &claimer->answer;
    struct pawl_fence fences[PAWL_BATCH_MAX];
    struct pawl_renewal renewals[PAWL_BATCH_MAX];
    size_t count = answer->count;
    for (size_t i = 0; i < count; i++) fences[i] = claimer->grants[i].fence;
    answer->asked_boot_ms = claimer->first_asked_boot_ms;
    int64_t asked_boot_ms = pawl_clock_boot_ms();
    enum pawl_code code = pawl_lease_renew(claimer->pawl, fences, count, 0, renewals, NULL);
    if (code != PAWL_OK) return;
    answer->asked_boot_ms = asked_boot_ms;
    answer->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (renewals[i].code == PAWL_OK) claimer->grants[answer->count++] = claimer->grants[i];
    }
}

static void claim(struct pawl_claimer *claimer)
{
    struct pawl_claim_answer *answer = &claimer->answer;
    struct pawl_claimed claimed = {0};
    bool is_repeat = claimer->has_request_id;
    *answer = (struct pawl_claim_answer){0};
    pawl_arena_reset(claimer->arena);
    int64_t asked_boot_ms = pawl_clock_boot_ms();
    if (!is_repeat) {
        make_request_id(claimer);
        claimer->first_asked_boot_ms = asked_boot_ms;
    }
    claimer->ask.request_id = pawl_str_of(claimer->request_id);
    answer->code = pawl_engine_claim(claimer->pawl, &claimer->ask, &claimer->gives_up,
                                     claimer->arena, &claimed, &answer->err);
    /* Where nothing was committed, now or at a try before, there is nothing to get back. */
    bool is_void = answer->code == PAWL_BUSY && !is_repeat;
    if (answer->code == PAWL_OK || is_void) claimer->has_request_id = false;
    if (answer->code != PAWL_OK) return;
    pawl_assert(claimed.count <= (size_t)claimer->ask.max);
    for (size_t i = 0; i < claimed.count; i++) claimer->grants[i] = claimed.grants[i];
    answer->grants = claimer->grants;
    answer->count = claimed.count;
    answer->asked_boot_ms = asked_boot_ms + claimed.waited_ms;
    if (is_repeat && claimed.count > 0) renew_grants(claimer);
}

static void *claimer_run(void *self)
{
    struct pawl_claimer *claimer = self;
    for (;;) {
        pthread_mutex_lock(&claimer->mutex);
        while (claimer->stage != ASKED && !claimer->is_stopping) {
            (void)pthread_cond_wait(&claimer->changed, &claimer->mutex);
        }
        bool is_stopping = claimer->is_stopping;
        pthread_mutex_unlock(&claimer->mutex);
        if (is_stopping) return NULL;
        claim(claimer);
        pthread_mutex_lock(&claimer->mutex);
        claimer->stage = ANSWERED;
        pthread_mutex_unlock(&claimer->mutex);
        pawl_fd_ring(claimer->heard_fd);
    }
}

enum pawl_code pawl_claimer_open(struct pawl_claimer **out, struct pawl *pawl,
                                 const struct pawl_claim *ask, int heard_fd, struct pawl_error *err)
{
    enum {
        ANSWER_BYTES_MAX = 512 * 1024 * 1024, /* a budget: the store ends a claim long before */
    };
    struct pawl_claimer *claimer = calloc(1, sizeof *claimer);
    if (claimer == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to claim tasks");
    claimer->pawl = pawl;
    claimer->ask = *ask;
    claimer->heard_fd = heard_fd;
    pthread_mutex_init(&claimer->mutex, NULL);
    pthread_cond_init(&claimer->changed, NULL);
    if (pawl_arena_open(&claimer->arena, ANSWER_BYTES_MAX) == PAWL_OK) {
        claimer->has_thread = pthread_create(&claimer->thread, NULL, claimer_run, claimer) == 0;
    }
    if (!claimer->has_thread) {
        pawl_claimer_close(claimer);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory or thread to claim tasks");
    }
    (void)pthread_setname_np(claimer->thread, "pawl-claims"); /* a name is for people */
    *out = claimer;
    return PAWL_OK;
}

void pawl_claimer_close(struct pawl_claimer *claimer)
{
    if (claimer == NULL) return;
    if (claimer->has_thread) {
        pthread_mutex_lock(&claimer->mutex);
        claimer->is_stopping = true;
        pthread_cond_signal(&claimer->changed);
        pthread_mutex_unlock(&claimer->mutex);
        (void)pthread_join(claimer->thread, NULL);
    }
    pthread_cond_destroy(&claimer->changed);
    pthread_mutex_destroy(&claimer->mutex);
    pawl_arena_close(claimer->arena);
    free(claimer);
}

void pawl_claimer_ask(struct pawl_claimer *claimer, int32_t max, int64_t wait_ms)
{
    pawl_assert(max >= 1);
    pthread_mutex_lock(&claimer->mutex);
    pawl_assert(claimer->stage == IDLE);
    claimer->ask.max = max < PAWL_BATCH_MAX ? max : PAWL_BATCH_MAX;
    claimer->ask.wait_ms = wait_ms;
    claimer->stage = ASKED;
    pthread_cond_signal(&claimer->changed);
    pthread_mutex_unlock(&claimer->mutex);
}

void pawl_claimer_give_up(struct pawl_claimer *claimer)
{
    atomic_store(&claimer->gives_up, true);
    pawl_engine_wake(claimer->pawl);
}

static enum stage stage_of(struct pawl_claimer *claimer)
{
    pthread_mutex_lock(&claimer->mutex);
    enum stage stage = claimer->stage;
    pthread_mutex_unlock(&claimer->mutex);
    return stage;
}

bool pawl_claimer_is_asking(struct pawl_claimer *claimer)
{
    return stage_of(claimer) != IDLE;
}

bool pawl_claimer_take(struct pawl_claimer *claimer, struct pawl_claim_answer *out)
{
    if (stage_of(claimer) != ANSWERED) return false;
    *out = claimer->answer;
    pthread_mutex_lock(&claimer->mutex);
    claimer->stage = IDLE;
    pthread_mutex_unlock(&claimer->mutex);
    return true;
}
