/* Threads: keeper_run and what it calls is the keeper's own; the rest is called by others. */
#include "supervisor/keeper.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "supervisor/clock.h"
#include "base/heap.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    RETRY_MS_MIN = 5,
    RETRY_MS_MAX = 1000,
    /* What is due within this part of its interval is renewed along. */
    SOON_PART = 4,
};

struct held {
    bool is_held;
    bool has_news; /* and is in the list of those that have */
    uint64_t
        serial; /* grows with each hold: an answer about the one before is not taken for this */
    char task_id[PAWL_TASK_ID_STORED_BYTES_MAX];
    size_t task_id_len;
    int64_t epoch;
    int64_t attempt_end_boot_ms;
    int64_t lease_ms; /* as granted */
    int64_t every_ms; /* renewed so often */
    struct pawl_kept kept;
};

/* A renewal under way: copies, since no lock is held over a call. */
struct question {
    int32_t slot;
    uint64_t serial;
    char task_id[PAWL_TASK_ID_STORED_BYTES_MAX];
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
    int64_t every_ms;      /* 0 = a third of the lease */
    struct held *held;     /* one a slot */
    struct pawl_heap due;  /* renewals; what is being asked about is not in it */
    int32_t *news;         /* slots with news, the newest last */
    int32_t news_count;
    bool is_stopping;

    /* the keeper thread's */
    struct question *questions; /* of one call */
    struct pawl_fence *fences;
    struct pawl_renewal *answers;
};

int64_t pawl_lease_margin_ms(int64_t lease_ms)
{
    int64_t margin_ms = lease_ms / 10 > 1000 ? lease_ms / 10 : 1000;
    return lease_ms / 4 < margin_ms ? lease_ms / 4 : margin_ms;
}

int64_t pawl_lease_renew_every_ms(int64_t lease_ms, int64_t wanted_ms)
{
    bool fits = wanted_ms > 0 && wanted_ms + pawl_lease_margin_ms(lease_ms) < lease_ms;
    return fits ? wanted_ms : lease_ms / 3;
}

struct pawl_kept pawl_lease_count(int64_t asked_boot_ms, int64_t left_ms, int64_t lease_ms,
                                  int64_t attempt_end_boot_ms)
{
    int64_t end_boot_ms = asked_boot_ms + left_ms;
    /* Cut at the attempt's end, as far as our count from before the request can tell. */
    bool is_cut = end_boot_ms >= attempt_end_boot_ms - pawl_lease_margin_ms(lease_ms);
    return (struct pawl_kept){
        .stop_at_boot_ms = is_cut ? end_boot_ms : end_boot_ms - pawl_lease_margin_ms(left_ms),
        .is_cut = is_cut,
    };
}

int64_t pawl_lease_pace_ms(const struct pawl_kept *kept, int64_t left_ms, int64_t lease_ms,
                           int64_t wanted_ms)
{
    return pawl_lease_renew_every_ms(kept->is_cut ? lease_ms : left_ms, wanted_ms);
}

int64_t pawl_lease_renew_at(const struct pawl_kept *kept, int64_t asked_boot_ms, int64_t every_ms)
{
    int64_t at_boot_ms = asked_boot_ms + every_ms;
    bool is_late = at_boot_ms + RETRY_MS_MIN >= kept->stop_at_boot_ms;
    return kept->is_cut && is_late ? INT64_MAX : at_boot_ms;
}

int64_t pawl_lease_try_again_ms(int64_t now_boot_ms, int64_t stop_at_boot_ms)
{
    /* Beyond the margin nobody is helped: the work is being stopped. */
    if (now_boot_ms >= stop_at_boot_ms) return RETRY_MS_MAX;
    int64_t wait_ms = (stop_at_boot_ms - now_boot_ms) / 4;
    if (wait_ms > RETRY_MS_MAX) return RETRY_MS_MAX;
    return wait_ms < RETRY_MS_MIN ? RETRY_MS_MIN : wait_ms;
}

static void count_from(struct pawl_keeper *keeper, int32_t slot, int64_t asked_boot_ms,
                       int64_t left_ms)
{
    struct held *held = &keeper->held[slot];
    enum pawl_control control = held->kept.control;
    held->kept =
        pawl_lease_count(asked_boot_ms, left_ms, held->lease_ms, held->attempt_end_boot_ms);
    held->kept.control = control;
    held->every_ms = pawl_lease_pace_ms(&held->kept, left_ms, held->lease_ms, keeper->every_ms);
    pawl_heap_set(&keeper->due, slot,
                  pawl_lease_renew_at(&held->kept, asked_boot_ms, held->every_ms));
}

static void add_news(struct pawl_keeper *keeper, int32_t slot)
{
    if (keeper->held[slot].has_news) return;
    keeper->held[slot].has_news = true;
    keeper->news[keeper->news_count++] = slot;
}

static void lose(struct pawl_keeper *keeper, int32_t slot)
{
    keeper->held[slot].kept.is_lost = true;
    pawl_heap_set(&keeper->due, slot, INT64_MAX);
    add_news(keeper, slot);
}

/* Takes those that are due, and with them those that soon will be, so that calls are few. */
static size_t take_questions(struct pawl_keeper *keeper, int64_t now_boot_ms)
{
    size_t count = 0;
    int32_t slot = 0;
    int64_t first_boot_ms = pawl_heap_first(&keeper->due, &slot);
    if (first_boot_ms > now_boot_ms) return 0;
    while (count < PAWL_BATCH_MAX) {
        int64_t at_boot_ms = pawl_heap_first(&keeper->due, &slot);
        if (at_boot_ms == INT64_MAX) break;
        const struct held *held = &keeper->held[slot];
        if (at_boot_ms > now_boot_ms + held->every_ms / SOON_PART) break;
        pawl_heap_set(&keeper->due, slot, INT64_MAX);
        struct question *question = &keeper->questions[count];
        question->slot = slot;
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

static void take_answer(struct pawl_keeper *keeper, int32_t slot, const struct pawl_renewal *answer,
                        int64_t asked_boot_ms)
{
    struct held *held = &keeper->held[slot];
    if (answer->code != PAWL_OK) {
        lose(keeper, slot);
        return;
    }
    count_from(keeper, slot, asked_boot_ms, answer->lease_ms);
    if (held->kept.control != answer->control) add_news(keeper, slot);
    held->kept.control = answer->control;
}

static void renew(struct pawl_keeper *keeper)
{
    int64_t asked_boot_ms = pawl_clock_boot_ms();
    pthread_mutex_lock(&keeper->mutex);
    size_t count = take_questions(keeper, asked_boot_ms);
    pthread_mutex_unlock(&keeper->mutex);
    if (count == 0) return;

    struct pawl_error err = {0};
    enum pawl_code code =
        pawl_lease_renew(keeper->pawl, keeper->fences, count, 0, keeper->answers, &err);
    int64_t now_boot_ms = pawl_clock_boot_ms();

    pthread_mutex_lock(&keeper->mutex);
    for (size_t i = 0; i < count; i++) {
        int32_t slot = keeper->questions[i].slot;
        const struct held *held = &keeper->held[slot];
        bool is_same = held->is_held && held->serial == keeper->questions[i].serial;
        if (!is_same || held->kept.is_lost) continue; /* what was told lost stays lost */
        if (code == PAWL_OK) {
            take_answer(keeper, slot, &keeper->answers[i], asked_boot_ms);
        } else {
            pawl_heap_set(&keeper->due, slot,
                          now_boot_ms +
                              pawl_lease_try_again_ms(now_boot_ms, held->kept.stop_at_boot_ms));
        }
    }
    pthread_mutex_unlock(&keeper->mutex);
    pawl_fd_ring(keeper->heard_fd);
    if (code != PAWL_OK) {
        pawl_log_write(keeper->log, PAWL_LOG_WARN, "lease.renewal_failed",
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
        int32_t slot;
        int64_t due_boot_ms = pawl_heap_first(&keeper->due, &slot);
        bool is_stopping = keeper->is_stopping;
        pthread_mutex_unlock(&keeper->mutex);
        if (is_stopping) return NULL;
        if (due_boot_ms <= pawl_clock_boot_ms()) {
            renew(keeper);
            continue;
        }
        pawl_timer_set(keeper->timer_fd, due_boot_ms);
        struct pollfd fds[] = {{.fd = keeper->timer_fd, .events = POLLIN},
                               {.fd = keeper->wake_fd, .events = POLLIN}};
        (void)poll(fds, 2, -1); /* interrupted is a reason to look too */
        pawl_fd_clear(keeper->timer_fd);
        pawl_fd_clear(keeper->wake_fd);
    }
}

enum pawl_code pawl_keeper_open(struct pawl_keeper **out, struct pawl *pawl, struct pawl_str owner,
                                int32_t slots, int heard_fd, const struct pawl_log *log,
                                struct pawl_error *err)
{
    pawl_assert(slots >= 1);
    struct pawl_keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to keep leases");
    *keeper = (struct pawl_keeper){
        .pawl = pawl, .owner = owner, .log = log, .heard_fd = heard_fd, .slot_count = slots};
    keeper->held = calloc((size_t)slots, sizeof *keeper->held);
    keeper->news = calloc((size_t)slots, sizeof *keeper->news);
    size_t count = slots < PAWL_BATCH_MAX ? (size_t)slots : PAWL_BATCH_MAX;
    keeper->questions = calloc(count, sizeof *keeper->questions);
    keeper->fences = calloc(count, sizeof *keeper->fences);
    keeper->answers = calloc(count, sizeof *keeper->answers);
    keeper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    keeper->timer_fd = pawl_timer_open();
    pthread_mutex_init(&keeper->mutex, NULL);
    bool has_heap = pawl_heap_open(&keeper->due, slots);
    bool is_whole = has_heap && keeper->held != NULL && keeper->news != NULL &&
                    keeper->questions != NULL && keeper->fences != NULL &&
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
        pawl_fd_ring(keeper->wake_fd);
        (void)pthread_join(keeper->thread, NULL);
    }
    if (keeper->wake_fd >= 0) (void)close(keeper->wake_fd);
    if (keeper->timer_fd >= 0) (void)close(keeper->timer_fd);
    pthread_mutex_destroy(&keeper->mutex);
    pawl_heap_close(&keeper->due);
    free(keeper->held);
    free(keeper->news);
    free(keeper->questions);
    free(keeper->fences);
    free(keeper->answers);
    free(keeper);
}

void pawl_keeper_pace(struct pawl_keeper *keeper, int64_t renew_every_ms)
{
    pthread_mutex_lock(&keeper->mutex);
    keeper->every_ms = renew_every_ms;
    pthread_mutex_unlock(&keeper->mutex);
}

void pawl_keeper_hold(struct pawl_keeper *keeper, int32_t slot, const struct pawl_fence *fence,
                      int64_t lease_ms, int64_t asked_boot_ms, int64_t attempt_end_boot_ms)
{
    pawl_assert(slot >= 0 && slot < keeper->slot_count);
    pawl_assert(fence->task_id.len <= PAWL_TASK_ID_STORED_BYTES_MAX);
    pthread_mutex_lock(&keeper->mutex);
    struct held *held = &keeper->held[slot];
    pawl_assert(!held->is_held);
    uint64_t serial = held->serial + 1;
    *held = (struct held){
        .is_held = true,
        .has_news = held->has_news,
        .serial = serial,
        .task_id_len = fence->task_id.len,
        .epoch = fence->epoch,
        .attempt_end_boot_ms = attempt_end_boot_ms,
        .lease_ms = lease_ms,
    };
    memcpy(held->task_id, fence->task_id.ptr, fence->task_id.len);
    int32_t before;
    int64_t due_boot_ms = pawl_heap_first(&keeper->due, &before);
    count_from(keeper, slot, asked_boot_ms, lease_ms);
    bool is_first = due_boot_ms != pawl_heap_first(&keeper->due, &before);
    pthread_mutex_unlock(&keeper->mutex);
    if (is_first) pawl_fd_ring(keeper->wake_fd);
}

void pawl_keeper_drop(struct pawl_keeper *keeper, int32_t slot)
{
    pthread_mutex_lock(&keeper->mutex);
    keeper->held[slot].is_held = false;
    pawl_heap_set(&keeper->due, slot, INT64_MAX);
    pthread_mutex_unlock(&keeper->mutex);
}

void pawl_keeper_lose(struct pawl_keeper *keeper, int32_t slot)
{
    pthread_mutex_lock(&keeper->mutex);
    lose(keeper, slot);
    pthread_mutex_unlock(&keeper->mutex);
    pawl_fd_ring(keeper->heard_fd);
}

bool pawl_keeper_news(struct pawl_keeper *keeper, int32_t *slot)
{
    pthread_mutex_lock(&keeper->mutex);
    bool has_news = keeper->news_count > 0;
    if (has_news) {
        *slot = keeper->news[--keeper->news_count];
        keeper->held[*slot].has_news = false;
    }
    pthread_mutex_unlock(&keeper->mutex);
    return has_news;
}

struct pawl_kept pawl_keeper_look(struct pawl_keeper *keeper, int32_t slot)
{
    pthread_mutex_lock(&keeper->mutex);
    struct pawl_kept kept = keeper->held[slot].kept;
    pthread_mutex_unlock(&keeper->mutex);
    return kept;
}
