#include "net/conductor/waits.h"

#include "base/error.h"
#include "engine/engine.h"
#include "net/limits.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct pawl_waits {
    struct pawl *pawl;
    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t changed;
    struct pawl_wait *added;
    int32_t count; /* added, or in the thread's hands */
    bool is_stopping;
    pthread_t thread;

    /* the thread's own */
    struct pawl_reader *reader;
    struct pawl_wait *waiting;
};

static int64_t boot_now(const struct pawl_waits *waits)
{
    const struct pawl_env *env = waits->pawl->env;
    return env->boot_ms(env->self);
}

/* Takes over what was added; waits for some if there is none. False: it is to end, and has none. */
static bool take_added(struct pawl_waits *waits, bool *is_stopping)
{
    (void)pthread_mutex_lock(&waits->lock);
    while (waits->added == NULL && waits->waiting == NULL && !waits->is_stopping) {
        (void)pthread_cond_wait(&waits->changed, &waits->lock);
    }
    while (waits->added != NULL) {
        struct pawl_wait *wait = waits->added;
        waits->added = wait->next;
        wait->next = waits->waiting;
        waits->waiting = wait;
    }
    *is_stopping = waits->is_stopping;
    bool has_any = waits->waiting != NULL;
    (void)pthread_mutex_unlock(&waits->lock);
    return has_any;
}

static void look_at_all(struct pawl_waits *waits, bool is_stopping)
{
    struct pawl_error err = {0};
    int32_t answered = 0;
    int64_t now_ms = boot_now(waits);
    if (waits->reader == NULL) {
        enum pawl_code code = pawl_reader_open(&waits->reader, &waits->pawl->store_options, &err);
        if (code != PAWL_OK) waits->reader = NULL;
    }
    struct pawl_wait **at = &waits->waiting;
    while (*at != NULL) {
        struct pawl_wait *wait = *at;
        struct pawl_wait *next = wait->next; /* it may be gone once it is answered */
        bool is_over =
            is_stopping || now_ms >= wait->until_boot_ms || pawl_exchange_is_left(wait->exchange);
        if (wait->look(wait, waits->reader, is_over, &err)) {
            *at = next;
            answered++;
        } else {
            at = &wait->next;
        }
    }
    (void)pthread_mutex_lock(&waits->lock);
    waits->count -= answered;
    (void)pthread_mutex_unlock(&waits->lock);
}

/* Until anybody has committed something, or the first deadline: but new ones are looked at soon. */
static void pause_a_little(struct pawl_waits *waits, uint64_t *seen)
{
    int64_t wait_ms = PAWL_CONDUCTOR_LOOK_EVERY_MS;
    int64_t now_ms = boot_now(waits);
    for (const struct pawl_wait *wait = waits->waiting; wait != NULL; wait = wait->next) {
        int64_t left_ms = wait->until_boot_ms - now_ms;
        if (left_ms < wait_ms) wait_ms = left_ms > 0 ? left_ms : 0;
    }
    if (waits->waiting == NULL || wait_ms == 0) return;
    if (pawl_changes_wait(waits->pawl, seen, wait_ms, NULL) != PAWL_OK) *seen = 0;
}

static void *run(void *self)
{
    struct pawl_waits *waits = self;
    uint64_t seen = 0;
    bool is_stopping = false;
    while (take_added(waits, &is_stopping) || !is_stopping) {
        look_at_all(waits, is_stopping);
        if (!is_stopping) pause_a_little(waits, &seen);
    }
    pawl_reader_close(waits->reader);
    return NULL;
}

enum pawl_code pawl_waits_open(struct pawl_waits **out, struct pawl *pawl, struct pawl_error *err)
{
    sigset_t all;
    sigset_t before;
    struct pawl_waits *waits = calloc(1, sizeof *waits);
    if (waits == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for what waits");
    waits->pawl = pawl;
    (void)pthread_mutex_init(&waits->lock, NULL);
    (void)pthread_cond_init(&waits->changed, NULL);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are the main thread's */
    bool has_thread = pthread_create(&waits->thread, NULL, run, waits) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (has_thread) {
        *out = waits;
        return PAWL_OK;
    }
    (void)pthread_cond_destroy(&waits->changed);
    (void)pthread_mutex_destroy(&waits->lock);
    free(waits);
    return pawl_error_set(err, PAWL_NO_MEMORY, "cannot start a thread for what waits");
}

void pawl_waits_close(struct pawl_waits *waits)
{
    if (waits == NULL) return;
    (void)pthread_mutex_lock(&waits->lock);
    waits->is_stopping = true;
    (void)pthread_cond_signal(&waits->changed);
    (void)pthread_mutex_unlock(&waits->lock);
    (void)pthread_join(waits->thread, NULL);
    (void)pthread_cond_destroy(&waits->changed);
    (void)pthread_mutex_destroy(&waits->lock);
    free(waits);
}

void pawl_waits_add(struct pawl_waits *waits, struct pawl_wait *wait)
{
    (void)pthread_mutex_lock(&waits->lock);
    bool has_room = waits->count < PAWL_CONDUCTOR_WAITS_MAX;
    wait->until_boot_ms = boot_now(waits) + (has_room ? wait->wait_ms : 0);
    wait->next = waits->added;
    waits->added = wait;
    waits->count++;
    (void)pthread_cond_signal(&waits->changed);
    (void)pthread_mutex_unlock(&waits->lock);
}
