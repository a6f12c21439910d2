/* Threads: keeper_run and what it calls is the keeper's own; the rest is called by others. */
#include "supervisor/keeper.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "supervisor/clock.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    RETRY_MS_MIN = 5,
    RETRY_MS_MAX = 1000,
};

struct held {
    bool is_held;
    uint64_t
        serial; /* grows with each hold: an answer about the one before is not taken for this */
    char task_id[PAWL_TASK_ID_BYTES_MAX];
    size_t task_id_len;
    int64_t epoch;
    int64_t attempt_end_boot_ms;
    int64_t lease_ms; /* as granted */
    int64_t renew_at_boot_ms;
    struct pawl_kept kept;
};

/* A renewal under way: copies, since no lock is held over a call. */
struct question {
    int32_t slot;
    uint64_t serial;
    char task_id[PAWL_TASK_ID_BYTES_MAX];
};

struct pawl_keeper {
    struct pawl *pawl;
    struct pawl_str owner;
    const struct pawl_log *log;
    int heard_fd; /* borrowed */
    int wake_fd;
    int timer_fd;
    pthread_t thread;
    bool has_thread;
    int32_t slot_count;

    pthread_mutex_t mutex; /* guards what follows */
    struct held *held;     /* one a slot */
    bool is_stopping;

    /* the keeper thread's */
    struct question *questions;
    struct pawl_fence *fences;
    struct pawl_renewal *answers;
};

int64_t pawl_lease_margin_ms(int64_t lease_ms)
{
    int64_t margin_ms = lease_ms / 10 > 1000 ? lease_ms / 10 : 1000;
    return lease_ms / 4 < margin_ms ? lease_ms / 4 : margin_ms;
}

static void count_from(struct held *held, int64_t asked_boot_ms, int64_t lease_ms)
{
    held->renew_at_boot_ms = asked_boot_ms + lease_ms / 3;
    held->kept.stop_at_boot_ms = asked_boot_ms + lease_ms - pawl_lease_margin_ms(lease_ms);
    /* Cut at the attempt's end, as far as our count from before the request can tell. */
    int64_t end_boot_ms = asked_boot_ms + lease_ms;
    int64_t slack_ms = pawl_lease_margin_ms(held->lease_ms);
    held->kept.is_cut = end_boot_ms >= held->attempt_end_boot_ms - slack_ms;
    if (held->kept.is_cut) held->kept.stop_at_boot_ms = end_boot_ms;
}

static bool needs_renewal(const struct held *held)
{
    return held->is_held && !held->kept.is_lost;
}

/* When the next renewal is due. */
static int64_t next_due(struct pawl_keeper *keeper)
{
    int64_t next = INT64_MAX;
    for (int32_t i = 0; i < keeper->slot_count; i++) {
        const struct held *held = &keeper->held[i];
        if (needs_renewal(held) && held->renew_at_boot_ms < next) next = held->renew_at_boot_ms;
    }
    return next;
}

static size_t copy_questions(struct pawl_keeper *keeper)
{
    size_t count = 0;
    for (int32_t i = 0; i < keeper->slot_count; i++) {
        const struct held *held = &keeper->held[i];
        if (!needs_renewal(held)) continue;
        struct question *question = &keeper->questions[count];
        question->slot = i;
        question->serial = held->serial;
        memcpy(question->task_id, held->task_id, held->task_id_len);
        keeper->fences[count] = (struct pawl_fence){
            .task_id = {question->task_id, held->task_id_len},
            .owner = keeper->owner,
            .epoch = held->epoch,
        };
        count++;
    }
    return count;
}

static void take_answer(struct held *held, const struct pawl_renewal *answer, int64_t asked_boot_ms)
{
    if (answer->code == PAWL_OK) {
        count_from(held, asked_boot_ms, answer->lease_ms);
        held->kept.control = answer->control;
    } else {
        held->kept.is_lost = true;
    }
}

static void try_again_later(struct held *held, int64_t now_boot_ms)
{
    int64_t wait_ms = (held->kept.stop_at_boot_ms - now_boot_ms) / 4;
    if (wait_ms > RETRY_MS_MAX) wait_ms = RETRY_MS_MAX;
    if (wait_ms < RETRY_MS_MIN) wait_ms = RETRY_MS_MIN;
    held->renew_at_boot_ms = now_boot_ms + wait_ms;
    /* Beyond the margin nobody is helped: the worker stops the work. */
    if (now_boot_ms >= held->kept.stop_at_boot_ms) {
        held->renew_at_boot_ms = now_boot_ms + RETRY_MS_MAX;
    }
}

static void renew_all(struct pawl_keeper *keeper)
{
    pthread_mutex_lock(&keeper->mutex);
    size_t count = copy_questions(keeper);
    pthread_mutex_unlock(&keeper->mutex);
    if (count == 0) return;

    struct pawl_error err = {0};
    int64_t asked_boot_ms = pawl_worker_boot_ms();
    enum pawl_code code =
        pawl_lease_renew(keeper->pawl, keeper->fences, count, 0, keeper->answers, &err);
    int64_t now_boot_ms = pawl_worker_boot_ms();

    pthread_mutex_lock(&keeper->mutex);
    for (size_t i = 0; i < count; i++) {
        struct held *held = &keeper->held[keeper->questions[i].slot];
        if (!held->is_held || held->serial != keeper->questions[i].serial) continue;
        if (code == PAWL_OK) {
            take_answer(held, &keeper->answers[i], asked_boot_ms);
        } else {
            try_again_later(held, now_boot_ms);
        }
    }
    pthread_mutex_unlock(&keeper->mutex);
    pawl_worker_fd_ring(keeper->heard_fd);
    if (code != PAWL_OK) {
        pawl_log_write(keeper->log, PAWL_LOG_WARN, "worker.renewal_failed",
                       PAWL_TEXT("code", pawl_str_of(pawl_code_name(code))),
                       PAWL_INT("leases", (int64_t)count),
                       PAWL_TEXT("error", pawl_str_of(err.text)));
    }
}

static void *keeper_run(void *self)
{
    struct pawl_keeper *keeper = self;
    for (;;) {
        pthread_mutex_lock(&keeper->mutex);
        int64_t due_boot_ms = next_due(keeper);
        bool is_stopping = keeper->is_stopping;
        pthread_mutex_unlock(&keeper->mutex);
        if (is_stopping) return NULL;
        if (due_boot_ms <= pawl_worker_boot_ms()) {
            renew_all(keeper);
            continue;
        }
        pawl_worker_timer_set(keeper->timer_fd, due_boot_ms);
        struct pollfd fds[] = {{.fd = keeper->timer_fd, .events = POLLIN},
                               {.fd = keeper->wake_fd, .events = POLLIN}};
        (void)poll(fds, 2, -1); /* interrupted is a reason to look too */
        pawl_worker_fd_clear(keeper->timer_fd);
        pawl_worker_fd_clear(keeper->wake_fd);
    }
}

enum pawl_code pawl_keeper_open(struct pawl_keeper **out, struct pawl *pawl, struct pawl_str owner,
                                int32_t slots, int heard_fd, const struct pawl_log *log,
                                struct pawl_error *err)
{
    pawl_assert(slots >= 1 && slots <= PAWL_BATCH_MAX); /* one call renews them all */
    struct pawl_keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to keep leases");
    *keeper = (struct pawl_keeper){
        .pawl = pawl, .owner = owner, .log = log, .heard_fd = heard_fd, .slot_count = slots};
    size_t count = (size_t)slots;
    keeper->held = calloc(count, sizeof *keeper->held);
    keeper->questions = calloc(count, sizeof *keeper->questions);
    keeper->fences = calloc(count, sizeof *keeper->fences);
    keeper->answers = calloc(count, sizeof *keeper->answers);
    keeper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    keeper->timer_fd = pawl_worker_timer_open();
    pthread_mutex_init(&keeper->mutex, NULL);
    bool is_whole = keeper->held != NULL && keeper->questions != NULL && keeper->fences != NULL &&
                    keeper->answers != NULL && keeper->wake_fd >= 0 && keeper->timer_fd >= 0;
    if (is_whole) {
        keeper->has_thread = pthread_create(&keeper->thread, NULL, keeper_run, keeper) == 0;
    }
    if (!keeper->has_thread) {
        pawl_keeper_close(keeper);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory or thread to keep leases");
    }
    (void)pthread_setname_np(keeper->thread, "pawl-leases"); /* a name is for people */
    *out = keeper;
    return PAWL_OK;
}

void pawl_keeper_close(struct pawl_keeper *keeper)
{
    if (keeper == NULL) return;
    if (keeper->has_thread) {
        pthread_mutex_lock(&keeper->mutex);
        keeper->is_stopping = true;
        pthread_mutex_unlock(&keeper->mutex);
        pawl_worker_fd_ring(keeper->wake_fd);
        (void)pthread_join(keeper->thread, NULL);
    }
    if (keeper->wake_fd >= 0) (void)close(keeper->wake_fd);
    if (keeper->timer_fd >= 0) (void)close(keeper->timer_fd);
    pthread_mutex_destroy(&keeper->mutex);
    free(keeper->held);
    free(keeper->questions);
    free(keeper->fences);
    free(keeper->answers);
    free(keeper);
}

void pawl_keeper_hold(struct pawl_keeper *keeper, int32_t slot, const struct pawl_fence *fence,
                      int64_t lease_ms, int64_t asked_boot_ms, int64_t attempt_end_boot_ms)
{
    pawl_assert(slot >= 0 && slot < keeper->slot_count);
    pawl_assert(fence->task_id.len <= PAWL_TASK_ID_BYTES_MAX);
    pthread_mutex_lock(&keeper->mutex);
    struct held *held = &keeper->held[slot];
    pawl_assert(!held->is_held);
    uint64_t serial = held->serial + 1;
    *held = (struct held){
        .is_held = true,
        .serial = serial,
        .task_id_len = fence->task_id.len,
        .epoch = fence->epoch,
        .attempt_end_boot_ms = attempt_end_boot_ms,
        .lease_ms = lease_ms,
    };
    memcpy(held->task_id, fence->task_id.ptr, fence->task_id.len);
    count_from(held, asked_boot_ms, lease_ms);
    pthread_mutex_unlock(&keeper->mutex);
    pawl_worker_fd_ring(keeper->wake_fd);
}

void pawl_keeper_drop(struct pawl_keeper *keeper, int32_t slot)
{
    pthread_mutex_lock(&keeper->mutex);
    keeper->held[slot].is_held = false;
    pthread_mutex_unlock(&keeper->mutex);
}

void pawl_keeper_lose(struct pawl_keeper *keeper, int32_t slot)
{
    pthread_mutex_lock(&keeper->mutex);
    keeper->held[slot].kept.is_lost = true;
    pthread_mutex_unlock(&keeper->mutex);
    pawl_worker_fd_ring(keeper->heard_fd);
}

struct pawl_kept pawl_keeper_look(struct pawl_keeper *keeper, int32_t slot)
{
    pthread_mutex_lock(&keeper->mutex);
    struct pawl_kept kept = keeper->held[slot].kept;
    pthread_mutex_unlock(&keeper->mutex);
    return kept;
}
