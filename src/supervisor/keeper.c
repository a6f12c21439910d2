/* Threads: keeper_run and what it calls is the keeper's own; the rest is called by others. */
#include "supervisor/keeper.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/heap.h"
#include "base/str.h"
#include "engine/engine.h"
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
    /* What is due within this part of its interval is renewed along. */
    SOON_PART = 4,
    /* Operators who want something all the time may cost a twentieth of it. */
    LOOK_PAUSE_TIMES = 20,
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

/* A call under way: copies, since no lock is held over it. */
struct question {
    int32_t slot;
    uint64_t serial;
    char task_id[PAWL_TASK_ID_STORED_BYTES_MAX];
};

struct pawl_keeper {
    struct pawl *pawl;
    struct pawl *hears;
    struct pawl_holder holder;
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
    int64_t look_at_boot_ms;     /* at all leases in hand; INT64_MAX = nobody has knocked */
    int64_t may_look_at_boot_ms; /* not before */
    int64_t looked_boot_ms;      /* when the last look began */
    bool is_stopping;

    /* the keeper thread's */
    int32_t look_from; /* slots before it have been looked at already */
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

int64_t pawl_lease_try_ms(int64_t now_boot_ms, int64_t stop_at_boot_ms)
{
    /* Beyond the margin nobody is helped: the work is being stopped. */
    if (now_boot_ms >= stop_at_boot_ms) return RETRY_MS_MAX;
    int64_t try_ms = (stop_at_boot_ms - now_boot_ms) / 4;
    return try_ms < RETRY_MS_MIN ? RETRY_MS_MIN : try_ms;
}

int64_t pawl_lease_try_again_ms(int64_t now_boot_ms, int64_t stop_at_boot_ms)
{
    return pawl_earlier(pawl_lease_try_ms(now_boot_ms, stop_at_boot_ms), RETRY_MS_MAX);
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

static void put_question(struct pawl_keeper *keeper, size_t number, int32_t slot)
{
    const struct held *held = &keeper->held[slot];
    struct question *question = &keeper->questions[number];
    question->slot = slot;
    question->serial = held->serial;
    memcpy(question->task_id, held->task_id, held->task_id_len);
    keeper->fences[number] = (struct pawl_fence){
        .task_id = {question->task_id, held->task_id_len},
        .owner = keeper->owner,
        .epoch = held->epoch,
    };
}

/* Takes those that are due, and with them those that soon will be, so that calls are few. Their first margin sets how
 * long the try may take. */
static size_t take_questions(struct pawl_keeper *keeper, int64_t now_boot_ms, int64_t *answer_by_boot_ms)
{
    int64_t stop_at_boot_ms = INT64_MAX;
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
        stop_at_boot_ms = pawl_earlier(stop_at_boot_ms, held->kept.stop_at_boot_ms);
        put_question(keeper, count++, slot);
    }
    *answer_by_boot_ms = now_boot_ms + pawl_lease_try_ms(now_boot_ms, stop_at_boot_ms);
    return count;
}

/* The question behind an answer, unless the slot holds another lease by now, or it was told lost: that stays so. */
static struct held *asked_about(struct pawl_keeper *keeper, size_t number)
{
    struct held *held = &keeper->held[keeper->questions[number].slot];
    bool is_same = held->is_held && held->serial == keeper->questions[number].serial;
    return is_same && !held->kept.is_lost ? held : NULL;
}

static void take_control(struct pawl_keeper *keeper, int32_t slot, enum pawl_control control)
{
    struct held *held = &keeper->held[slot];
    if (held->kept.control != control) add_news(keeper, slot);
    held->kept.control = control;
}

static void take_answer(struct pawl_keeper *keeper, int32_t slot, const struct pawl_renewal *answer,
                        int64_t asked_boot_ms)
{
    if (answer->code != PAWL_OK) {
        lose(keeper, slot);
        return;
    }
    count_from(keeper, slot, asked_boot_ms, answer->lease_ms);
    take_control(keeper, slot, answer->control);
}

static void renew(struct pawl_keeper *keeper)
{
    int64_t asked_boot_ms = pawl_clock_boot_ms();
    int64_t answer_by_boot_ms = 0;
    pthread_mutex_lock(&keeper->mutex);
    size_t count = take_questions(keeper, asked_boot_ms, &answer_by_boot_ms);
    pthread_mutex_unlock(&keeper->mutex);
    if (count == 0) return;

    struct pawl_error err = {0};
    enum pawl_code code = pawl_engine_renew_by(keeper->pawl, keeper->fences, count, answer_by_boot_ms,
                                               keeper->answers, &err);

    pthread_mutex_lock(&keeper->mutex);
    for (size_t i = 0; i < count; i++) {
        int32_t slot = keeper->questions[i].slot;
        const struct held *held = asked_about(keeper, i);
        if (held == NULL) continue;
        if (code == PAWL_OK) {
            take_answer(keeper, slot, &keeper->answers[i], asked_boot_ms);
        } else { /* one that has taken its time is followed at once */
            pawl_heap_set(&keeper->due, slot,
                          asked_boot_ms + pawl_lease_try_again_ms(asked_boot_ms, held->kept.stop_at_boot_ms));
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

/* ---- Knocks ---- */

static void want_look(struct pawl_keeper *keeper)
{
    int64_t now_boot_ms = pawl_clock_boot_ms();
    int64_t at_boot_ms =
        keeper->may_look_at_boot_ms > now_boot_ms ? keeper->may_look_at_boot_ms : now_boot_ms;
    if (at_boot_ms < keeper->look_at_boot_ms) keeper->look_at_boot_ms = at_boot_ms;
}

/* Takes the next ones in hand; whether there are more. */
static bool take_held(struct pawl_keeper *keeper, size_t *count)
{
    *count = 0;
    while (keeper->look_from < keeper->slot_count && *count < PAWL_BATCH_MAX) {
        int32_t slot = keeper->look_from++;
        const struct held *held = &keeper->held[slot];
        if (held->is_held && !held->kept.is_lost) put_question(keeper, (*count)++, slot);
    }
    return keeper->look_from < keeper->slot_count;
}

/* A part of the look, or all of it: so many leases as a call takes. */
static void look(struct pawl_keeper *keeper)
{
    size_t count;
    int64_t began_boot_ms = pawl_clock_boot_ms();
    pthread_mutex_lock(&keeper->mutex);
    if (keeper->look_from == 0) keeper->looked_boot_ms = began_boot_ms;
    bool has_more = take_held(keeper, &count);
    pthread_mutex_unlock(&keeper->mutex);

    struct pawl_error err = {0};
    enum pawl_code code = PAWL_OK;
    if (count > 0) {
        code = pawl_engine_look_at_leases(keeper->pawl, keeper->fences, count, keeper->answers, &err);
    }
    int64_t now_boot_ms = pawl_clock_boot_ms();

    pthread_mutex_lock(&keeper->mutex);
    for (size_t i = 0; i < count && code == PAWL_OK; i++) {
        int32_t slot = keeper->questions[i].slot;
        if (asked_about(keeper, i) == NULL) continue;
        if (keeper->answers[i].code != PAWL_OK) {
            lose(keeper, slot);
        } else {
            take_control(keeper, slot, keeper->answers[i].control);
        }
    }
    if (code != PAWL_OK || !has_more) {
        keeper->look_from = 0;
        keeper->may_look_at_boot_ms =
            now_boot_ms + (now_boot_ms - keeper->looked_boot_ms) * LOOK_PAUSE_TIMES;
        keeper->look_at_boot_ms = code == PAWL_OK ? INT64_MAX : now_boot_ms + RETRY_MS_MAX;
    }
    pthread_mutex_unlock(&keeper->mutex);
    pawl_fd_ring(keeper->heard_fd);
    if (code != PAWL_OK) {
        pawl_log_write(keeper->log, PAWL_LOG_WARN, "lease.look_failed",
                       PAWL_TEXT("code", pawl_str_of(pawl_code_name(code))),
                       PAWL_INT("leases", (int64_t)count),
                       PAWL_TEXT("error", pawl_str_of(err.text)));
    }
}

/* ---- The thread ---- */

static void *keeper_run(void *self)
{
    struct pawl_keeper *keeper = self;
    for (;;) {
        pthread_mutex_lock(&keeper->mutex);
        int32_t slot;
        int64_t due_boot_ms = pawl_heap_first(&keeper->due, &slot);
        int64_t look_at_boot_ms = keeper->look_at_boot_ms;
        bool is_stopping = keeper->is_stopping;
        pthread_mutex_unlock(&keeper->mutex);
        int64_t now_boot_ms = pawl_clock_boot_ms();
        if (is_stopping) return NULL;
        if (due_boot_ms <= now_boot_ms) {
            renew(keeper);
            continue;
        }
        if (look_at_boot_ms <= now_boot_ms) {
            look(keeper);
            continue;
        }
        pawl_timer_set(keeper->timer_fd,
                       due_boot_ms < look_at_boot_ms ? due_boot_ms : look_at_boot_ms);
        struct pollfd fds[] = {{.fd = keeper->timer_fd, .events = POLLIN},
                               {.fd = keeper->wake_fd, .events = POLLIN},
                               {.fd = keeper->holder.knock_fd, .events = POLLIN}};
        (void)poll(fds, 3, -1); /* interrupted is a reason to look too */
        pawl_fd_clear(keeper->timer_fd);
        pawl_fd_clear(keeper->wake_fd);
        if ((fds[2].revents & POLLIN) == 0) continue;
        pawl_fd_clear(keeper->holder.knock_fd);
        pthread_mutex_lock(&keeper->mutex);
        want_look(keeper);
        pthread_mutex_unlock(&keeper->mutex);
    }
}

enum pawl_code pawl_keeper_handle(struct pawl **out, const struct pawl *pawl, struct pawl_error *err)
{
    struct pawl_options options = PAWL_OPTIONS_INIT;
    options.store = pawl_str_of(pawl->target);
    options.must_exist = true;
    options.no_timers = true;
    options.env = pawl->env;
    options.log = pawl->log.write;
    options.log_self = pawl->log.self;
    return pawl_open(out, &options, err);
}

enum pawl_code pawl_keeper_open(struct pawl_keeper **out, struct pawl *pawl, struct pawl *hears,
                                struct pawl_str owner, int32_t slots, int heard_fd,
                                const struct pawl_log *log, struct pawl_error *err)
{
    pawl_assert(slots >= 1);
    struct pawl_keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to keep leases");
    *keeper = (struct pawl_keeper){.pawl = pawl,
                                   .hears = hears,
                                   .owner = owner,
                                   .log = log,
                                   .heard_fd = heard_fd,
                                   .slot_count = slots,
                                   .look_at_boot_ms = INT64_MAX};
    keeper->held = calloc((size_t)slots, sizeof *keeper->held);
    keeper->news = calloc((size_t)slots, sizeof *keeper->news);
    size_t count = slots < PAWL_BATCH_MAX ? (size_t)slots : PAWL_BATCH_MAX;
    keeper->questions = calloc(count, sizeof *keeper->questions);
    keeper->fences = calloc(count, sizeof *keeper->fences);
    keeper->answers = calloc(count, sizeof *keeper->answers);
    keeper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    keeper->holder.knock_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    keeper->timer_fd = pawl_timer_open();
    pthread_mutex_init(&keeper->mutex, NULL);
    bool has_heap = pawl_heap_open(&keeper->due, slots);
    bool is_whole = has_heap && keeper->held != NULL && keeper->news != NULL &&
                    keeper->questions != NULL && keeper->fences != NULL &&
                    keeper->answers != NULL && keeper->wake_fd >= 0 && keeper->timer_fd >= 0 &&
                    keeper->holder.knock_fd >= 0;
    if (is_whole) {
        keeper->has_thread = pthread_create(&keeper->thread, NULL, keeper_run, keeper) == 0;
    }
    if (!keeper->has_thread) {
        pawl_keeper_close(keeper);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory or thread to keep leases");
    }
    (void)pthread_setname_np(keeper->thread, "pawl-leases"); /* a name is for people */
    pawl_engine_add_holder(hears, &keeper->holder);
    *out = keeper;
    return PAWL_OK;
}

void pawl_keeper_close(struct pawl_keeper *keeper)
{
    if (keeper == NULL) return;
    pawl_engine_remove_holder(keeper->hears, &keeper->holder);
    if (keeper->has_thread) {
        pthread_mutex_lock(&keeper->mutex);
        keeper->is_stopping = true;
        pthread_mutex_unlock(&keeper->mutex);
        pawl_fd_ring(keeper->wake_fd);
        (void)pthread_join(keeper->thread, NULL);
    }
    if (keeper->wake_fd >= 0) (void)close(keeper->wake_fd);
    if (keeper->timer_fd >= 0) (void)close(keeper->timer_fd);
    if (keeper->holder.knock_fd >= 0) (void)close(keeper->holder.knock_fd);
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
    /* Granted before a look that it was not yet in hand for. */
    bool was_missed = asked_boot_ms <= keeper->looked_boot_ms;
    if (was_missed) want_look(keeper);
    pthread_mutex_unlock(&keeper->mutex);
    if (is_first || was_missed) pawl_fd_ring(keeper->wake_fd);
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
