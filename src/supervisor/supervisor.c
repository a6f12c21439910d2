/* Opening, the watcher, the slots, and the end of a supervisor. See supervisor.h for the threads.
 */
#include "supervisor/supervisor.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "base/uuid.h"
#include "core/check.h"
#include "core/limits.h"
#include "engine/options.h"
#include "supervisor/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    CLAIM_WAIT_MS = PAWL_WAIT_MS_MAX, /* the end of the supervisor ends the wait */
    CLAIM_RETRY_MS_MIN = 100,
    CLAIM_RETRY_MS_MAX = 5000,
    GRACE_MS_DEFAULT = 1000,
    TOLD_MAX = 256, /* at once; on_stop is called for them before others are looked at */
    RENEW_MS_DEFAULT = 0,
};

/* ---- Slots ----------------------------------------------------------------------------------- */

static void *slot_run(void *self)
{
    struct pawl_slot *slot = self;
    struct pawl_supervisor *supervisor = slot->work.supervisor;
    for (;;) {
        (void)pthread_mutex_lock(&supervisor->mutex);
        while (!slot->has_work && !supervisor->is_closing) {
            (void)pthread_cond_wait(&slot->changed, &supervisor->mutex);
        }
        bool is_over = !slot->has_work;
        (void)pthread_mutex_unlock(&supervisor->mutex);
        if (is_over) return NULL;
        enum pawl_work_end end;
        (void)pawl_work_run(&slot->work, &end, NULL); /* what went wrong is in the log */
        (void)pthread_mutex_lock(&supervisor->mutex);
        slot->has_work = false;
        slot->is_busy = false;
        if (slot->work.stop_fd >= 0) pawl_fd_clear(slot->work.stop_fd);
        (void)pthread_mutex_unlock(&supervisor->mutex);
        pawl_fd_ring(supervisor->heard_fd);
    }
}

static bool start_slot(struct pawl_supervisor *supervisor, struct pawl_slot *slot)
{
    struct pawl_work *work = &slot->work;
    work->supervisor = supervisor;
    work->stop_fd = -1;
    if (work->arena == NULL && pawl_arena_open(&work->arena, 0) != PAWL_OK) return false;
    slot->has_thread = pthread_create(&work->thread, NULL, slot_run, slot) == 0;
    if (slot->has_thread) (void)pthread_setname_np(work->thread, "pawl-work"); /* for people */
    return slot->has_thread;
}

static struct pawl_slot *free_slot(struct pawl_supervisor *supervisor)
{
    for (int32_t i = 0; i < supervisor->options.slots; i++) {
        struct pawl_slot *slot = &supervisor->slots[i];
        if (!slot->is_busy && slot->has_thread) return slot;
    }
    return NULL;
}

/* How many tasks can be taken now, each with a thread that waits for it. Deferred ones beyond
 * detached_max take up slots. */
static int32_t count_room(struct pawl_supervisor *supervisor)
{
    int32_t beyond = supervisor->detached_count - supervisor->options.detached_max;
    int32_t room = supervisor->options.slots - supervisor->slot_count - (beyond > 0 ? beyond : 0);
    int32_t found = 0;
    for (int32_t i = 0; i < supervisor->options.slots && found < room; i++) {
        struct pawl_slot *slot = &supervisor->slots[i];
        if (slot->is_busy) continue;
        if (!slot->has_thread && !start_slot(supervisor, slot)) break;
        found++;
    }
    return found < PAWL_BATCH_MAX ? found : PAWL_BATCH_MAX;
}

/* ---- Claims: the watcher's ------------------------------------------------------------------- */

static void give_out(struct pawl_supervisor *supervisor, const struct pawl_grant *grant,
                     int64_t asked_boot_ms)
{
    (void)pthread_mutex_lock(&supervisor->mutex);
    struct pawl_slot *slot = free_slot(supervisor);
    pawl_assert(slot != NULL); /* no more was asked for */
    pawl_item_take(supervisor, &slot->work, grant, asked_boot_ms, true);
    slot->is_busy = true;
    (void)pthread_mutex_unlock(&supervisor->mutex);

    pawl_work_prepare(&slot->work, grant);
    (void)pthread_mutex_lock(&supervisor->mutex);
    slot->has_work = true;
    (void)pthread_cond_signal(&slot->changed);
    (void)pthread_mutex_unlock(&supervisor->mutex);
}

static void take_failure(struct pawl_supervisor *supervisor, const struct pawl_claim_answer *answer)
{
    int64_t wait_ms = supervisor->claim_retry_ms * 2;
    if (wait_ms < CLAIM_RETRY_MS_MIN) wait_ms = CLAIM_RETRY_MS_MIN;
    supervisor->claim_retry_ms = pawl_earlier(wait_ms, CLAIM_RETRY_MS_MAX);
    supervisor->claim_at_boot_ms = pawl_clock_boot_ms() + supervisor->claim_retry_ms;
    pawl_log_write(&supervisor->pawl->log, PAWL_LOG_WARN, "supervisor.claim_failed",
                   PAWL_TEXT("worker", supervisor->worker_id),
                   PAWL_TEXT("code", pawl_str_of(pawl_code_name(answer->code))),
                   PAWL_INT("again_in_ms", supervisor->claim_retry_ms),
                   PAWL_TEXT("error", pawl_str_of(answer->err.text)));
}

static void tend_claims(struct pawl_supervisor *supervisor)
{
    struct pawl_claim_answer answer;
    if (supervisor->claimer == NULL) return;
    if (pawl_claimer_take(supervisor->claimer, &answer)) {
        if (answer.code != PAWL_OK) {
            take_failure(supervisor, &answer);
        } else {
            supervisor->claim_retry_ms = 0;
            supervisor->claim_at_boot_ms = 0;
        }
        for (size_t i = 0; answer.code == PAWL_OK && i < answer.count; i++) {
            give_out(supervisor, &answer.grants[i], answer.asked_boot_ms);
        }
    }
    if (pawl_claimer_is_asking(supervisor->claimer)) return;
    (void)pthread_mutex_lock(&supervisor->mutex);
    bool is_early = pawl_clock_boot_ms() < supervisor->claim_at_boot_ms;
    int32_t room = supervisor->is_stopping || is_early ? 0 : count_room(supervisor);
    supervisor->asked_count = room;
    if (room > 0) pawl_claimer_ask(supervisor->claimer, room, CLAIM_WAIT_MS);
    (void)pthread_cond_broadcast(&supervisor->changed);
    (void)pthread_mutex_unlock(&supervisor->mutex);
}

/* ---- Looking: the watcher's ------------------------------------------------------------------ */

static size_t look(struct pawl_supervisor *supervisor, struct pawl_told told[TOLD_MAX])
{
    size_t count = 0;
    int32_t number;
    int64_t now_boot_ms = pawl_clock_boot_ms();
    (void)pthread_mutex_lock(&supervisor->mutex);
    if (now_boot_ms >= supervisor->drain_at_boot_ms && !supervisor->is_draining) {
        supervisor->is_draining = true;
        (void)pthread_cond_broadcast(&supervisor->changed);
        for (int32_t i = 0; i < supervisor->item_top; i++) {
            if (supervisor->items[i].is_used) pawl_heap_set(&supervisor->looks, i, 0);
        }
    }
    while (count + 2 <= TOLD_MAX && pawl_keeper_news(supervisor->keeper, &number)) {
        count += pawl_item_look(supervisor, number, now_boot_ms, told + count);
    }
    while (count + 2 <= TOLD_MAX && pawl_heap_first(&supervisor->looks, &number) <= now_boot_ms) {
        count += pawl_item_look(supervisor, number, now_boot_ms, told + count);
    }
    (void)pthread_mutex_unlock(&supervisor->mutex);
    return count;
}

static void tell(const struct pawl_supervisor *supervisor, const struct pawl_told *told)
{
    const struct pawl_log *log = &supervisor->pawl->log;
    struct pawl_str task_id = {told->task_id, told->task_id_len};
    const char *reason = pawl_stop_reason_name(told->reason);
    if (told->is_uncontained) {
        pawl_log_write(log, PAWL_LOG_ERROR, "work.uncontained", PAWL_TEXT("task", task_id),
                       PAWL_INT("epoch", told->epoch), PAWL_TEXT("reason", pawl_str_of(reason)));
        return;
    }
    pawl_log_write(log, told->reason == PAWL_STOP_LOST ? PAWL_LOG_WARN : PAWL_LOG_INFO, "work.stop",
                   PAWL_TEXT("task", task_id), PAWL_INT("epoch", told->epoch),
                   PAWL_TEXT("reason", pawl_str_of(reason)));
    const struct pawl_supervisor_options *options = &supervisor->options;
    if (options->on_stop != NULL) options->on_stop(options->self, told->token, told->reason);
}

static void wait_for_news(struct pawl_supervisor *supervisor)
{
    int32_t number;
    (void)pthread_mutex_lock(&supervisor->mutex);
    int64_t due = pawl_heap_first(&supervisor->looks, &number);
    if (!supervisor->is_draining) due = pawl_earlier(due, supervisor->drain_at_boot_ms);
    bool waits = !supervisor->is_stopping && supervisor->claim_at_boot_ms > pawl_clock_boot_ms();
    if (waits) due = pawl_earlier(due, supervisor->claim_at_boot_ms);
    (void)pthread_mutex_unlock(&supervisor->mutex);
    struct pollfd fds[] = {{.fd = supervisor->heard_fd, .events = POLLIN},
                           {.fd = supervisor->timer_fd, .events = POLLIN}};
    pawl_timer_set(supervisor->timer_fd, due);
    (void)poll(fds, 2, -1); /* interrupted is a reason to look too */
    pawl_fd_clear(supervisor->heard_fd);
    pawl_fd_clear(supervisor->timer_fd);
}

static void *watcher_run(void *self)
{
    struct pawl_supervisor *supervisor = self;
    struct pawl_told told[TOLD_MAX];
    for (;;) {
        (void)pthread_mutex_lock(&supervisor->mutex);
        bool is_closing = supervisor->is_closing;
        (void)pthread_mutex_unlock(&supervisor->mutex);
        if (is_closing) return NULL;
        size_t count = look(supervisor, told);
        for (size_t i = 0; i < count; i++) tell(supervisor, &told[i]);
        tend_claims(supervisor);
        if (count + 2 <= TOLD_MAX) wait_for_news(supervisor);
    }
}

/* ---- Opening --------------------------------------------------------------------------------- */

static enum pawl_code check_renewal(int64_t lease_ms, int64_t every_ms, struct pawl_error *err)
{
    int64_t margin_ms = pawl_lease_margin_ms(lease_ms);
    if (every_ms == RENEW_MS_DEFAULT || (every_ms > 0 && every_ms + margin_ms < lease_ms))
        return PAWL_OK;
    return pawl_error_set(err, PAWL_INVALID,
                          "renew_every_ms: %" PRId64 " and a margin of %" PRId64
                          " ms are not less than the lease of %" PRId64 " ms",
                          every_ms, margin_ms, lease_ms);
}

static enum pawl_code check_options(const struct pawl *pawl,
                                    struct pawl_supervisor_options *options, struct pawl_error *err)
{
    if (options->handler == NULL) return pawl_error_set(err, PAWL_MISUSE, "handler: is NULL");
    if (options->queue_count > 0 && options->queues == NULL) {
        return pawl_error_set(err, PAWL_MISUSE, "queues: is NULL");
    }
    struct pawl_claim claim = PAWL_CLAIM_INIT;
    claim.queues = options->queues;
    claim.queue_count = options->queue_count;
    claim.worker_id = options->worker_id.len > 0 ? options->worker_id : PAWL_STR("made");
    claim.lease_ms = options->lease_ms;
    enum pawl_code code = pawl_check_claim(&claim, err);
    if (options->slots == 0) options->slots = 1;
    if (options->grace_ms == 0) options->grace_ms = GRACE_MS_DEFAULT;
    if (options->grace_ms == PAWL_DELAY_NONE) options->grace_ms = 0;
    if (code == PAWL_OK) {
        code = pawl_check_range("slots", options->slots, 1, PAWL_SUPERVISOR_SLOTS_MAX, err);
    }
    if (code == PAWL_OK) {
        code = pawl_check_range("detached_max", options->detached_max, 0, PAWL_DETACHED_MAX, err);
    }
    if (code == PAWL_OK)
        code = pawl_check_range("grace_ms", options->grace_ms, 0, PAWL_DELAY_MS_MAX, err);
    if (code == PAWL_OK) {
        code = pawl_check_range("progress_ms", options->progress_ms, 0, PAWL_DELAY_MS_MAX, err);
    }
    int64_t lease_ms = options->lease_ms > 0 ? options->lease_ms : pawl->lease_ms;
    if (code == PAWL_OK) code = check_renewal(lease_ms, options->renew_every_ms, err);
    return code;
}

static enum pawl_code no_memory(struct pawl_error *err)
{
    return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a supervisor");
}

/* Queues and the worker's id, copied or made. */
static enum pawl_code copy_names(struct pawl_supervisor *supervisor, struct pawl_error *err)
{
    struct pawl_supervisor_options *options = &supervisor->options;
    const struct pawl_env *env = supervisor->pawl->env;
    char made[PAWL_UUID_BYTES_MAX + 1];
    struct pawl_str id = options->worker_id;
    if (id.len == 0) {
        uint64_t high = env->random(env->self);
        pawl_uuid_make(env->wall_ms(env->self), high, env->random(env->self), made);
        id = pawl_str_of(made);
    }
    size_t bytes = id.len;
    for (size_t i = 0; i < options->queue_count; i++) bytes += options->queues[i].len;
    supervisor->names = malloc(bytes);
    supervisor->queues = calloc(options->queue_count + 1, sizeof *supervisor->queues);
    if (supervisor->names == NULL || supervisor->queues == NULL) return no_memory(err);
    char *at = supervisor->names;
    memcpy(at, id.ptr, id.len);
    supervisor->worker_id = (struct pawl_str){at, id.len};
    at += id.len;
    for (size_t i = 0; i < options->queue_count; i++) {
        struct pawl_str queue = options->queues[i];
        memcpy(at, queue.ptr, queue.len); /* none is empty */
        supervisor->queues[i] = (struct pawl_str){at, queue.len};
        at += queue.len;
    }
    options->queues = supervisor->queues;
    options->worker_id = supervisor->worker_id;
    return PAWL_OK;
}

static enum pawl_code open_memory(struct pawl_supervisor *supervisor, struct pawl_error *err)
{
    const struct pawl_supervisor_options *options = &supervisor->options;
    supervisor->item_room = options->slots + options->detached_max + PAWL_RUN_ONE_MAX;
    size_t room = (size_t)supervisor->item_room;
    supervisor->slots = calloc((size_t)options->slots, sizeof *supervisor->slots);
    supervisor->items = calloc(room, sizeof *supervisor->items);
    supervisor->free_numbers = calloc(room, sizeof *supervisor->free_numbers);
    bool has_heap = pawl_heap_open(&supervisor->looks, supervisor->item_room);
    supervisor->heard_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    supervisor->timer_fd = pawl_timer_open();
    for (int32_t i = 0; supervisor->slots != NULL && i < options->slots; i++) {
        (void)pthread_cond_init(&supervisor->slots[i].changed, NULL);
        supervisor->slots[i].work.stop_fd = -1;
    }
    bool is_whole = has_heap && supervisor->slots != NULL && supervisor->items != NULL &&
                    supervisor->free_numbers != NULL;
    if (!is_whole) return no_memory(err);
    bool has_fds = supervisor->heard_fd >= 0 && supervisor->timer_fd >= 0;
    return has_fds ? PAWL_OK : pawl_error_set(err, PAWL_IO, "no descriptors for a supervisor");
}

static enum pawl_code open_keeper(struct pawl_supervisor *supervisor, struct pawl_error *err)
{
    const struct pawl *pawl = supervisor->pawl;
    enum pawl_code code = pawl_keeper_handle(&supervisor->keeping, pawl, err);
    if (code != PAWL_OK) return code;
    code = pawl_keeper_open(&supervisor->keeper, supervisor->keeping, supervisor->pawl,
                            supervisor->worker_id, supervisor->item_room, supervisor->heard_fd, &pawl->log, err);
    if (code == PAWL_OK) {
        pawl_keeper_pace(supervisor->keeper, supervisor->options.renew_every_ms);
    }
    return code;
}

static enum pawl_code open_claimer(struct pawl_supervisor *supervisor, struct pawl_error *err)
{
    struct pawl_claim ask = PAWL_CLAIM_INIT;
    if (supervisor->options.claims_nothing) return PAWL_OK;
    ask.queues = supervisor->queues;
    ask.queue_count = supervisor->options.queue_count;
    ask.worker_id = supervisor->worker_id;
    ask.lease_ms = supervisor->options.lease_ms;
    ask.is_supervised = true;
    return pawl_claimer_open(&supervisor->claimer, supervisor->pawl, &ask, supervisor->heard_fd,
                             err);
}

/* Takes a half-open one; nothing is in hand. */
static void free_all(struct pawl_supervisor *supervisor)
{
    pawl_claimer_close(supervisor->claimer);
    pawl_keeper_close(supervisor->keeper);
    pawl_close(supervisor->keeping);
    for (int32_t i = 0; supervisor->slots != NULL && i < supervisor->options.slots; i++) {
        struct pawl_slot *slot = &supervisor->slots[i];
        if (slot->has_thread) (void)pthread_join(slot->work.thread, NULL);
        if (slot->work.stop_fd >= 0) (void)close(slot->work.stop_fd);
        pawl_arena_close(slot->work.arena);
        (void)pthread_cond_destroy(&slot->changed);
    }
    if (supervisor->heard_fd >= 0) (void)close(supervisor->heard_fd);
    if (supervisor->timer_fd >= 0) (void)close(supervisor->timer_fd);
    (void)pthread_cond_destroy(&supervisor->changed);
    (void)pthread_mutex_destroy(&supervisor->mutex);
    pawl_heap_close(&supervisor->looks);
    free(supervisor->slots);
    free(supervisor->items);
    free(supervisor->free_numbers);
    free(supervisor->queues);
    free(supervisor->names);
    free(supervisor);
}

enum pawl_code pawl_supervisor_start(struct pawl *pawl,
                                     const struct pawl_supervisor_options *options,
                                     struct pawl_supervisor **out, struct pawl_error *err)
{
    if (pawl == NULL || options == NULL || out == NULL) {
        return pawl_error_set(err, PAWL_MISUSE, "pawl, options and out are needed");
    }
    if (pawl->is_driven || pawl->pid != getpid()) {
        return pawl_error_set(err, PAWL_MISUSE,
                              "a supervisor needs a handle of this process that is not driven");
    }
    struct pawl_supervisor *supervisor = calloc(1, sizeof *supervisor);
    if (supervisor == NULL) return no_memory(err);
    enum pawl_code code = PAWL_OPTIONS_READ(supervisor->options, options, "options",
                                            "PAWL_SUPERVISOR_OPTIONS_INIT", err);
    if (code == PAWL_OK) code = check_options(pawl, &supervisor->options, err);
    if (code != PAWL_OK) {
        free(supervisor);
        return code;
    }
    supervisor->pawl = pawl;
    supervisor->pid = getpid();
    supervisor->heard_fd = -1;
    supervisor->timer_fd = -1;
    supervisor->drain_at_boot_ms = INT64_MAX;
    (void)pthread_mutex_init(&supervisor->mutex, NULL);
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&supervisor->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);

    code = copy_names(supervisor, err);
    if (code == PAWL_OK) code = open_memory(supervisor, err);
    if (code == PAWL_OK) code = open_keeper(supervisor, err);
    if (code == PAWL_OK) code = open_claimer(supervisor, err);
    if (code == PAWL_OK) {
        supervisor->has_watcher =
            pthread_create(&supervisor->watcher, NULL, watcher_run, supervisor) == 0;
        if (!supervisor->has_watcher) code = no_memory(err);
    }
    if (code != PAWL_OK) {
        free_all(supervisor);
        return code;
    }
    (void)pthread_setname_np(supervisor->watcher, "pawl-watch"); /* a name is for people */
    pawl_log_write(&pawl->log, PAWL_LOG_INFO, "supervisor.started",
                   PAWL_TEXT("worker", supervisor->worker_id),
                   PAWL_INT("slots", supervisor->options.slots));
    *out = supervisor;
    return PAWL_OK;
}

/* ---- The end --------------------------------------------------------------------------------- */

static enum pawl_code check_alive(const struct pawl_supervisor *supervisor, struct pawl_error *err)
{
    bool is_ours = supervisor != NULL && supervisor->pid == getpid();
    return is_ours ? PAWL_OK
                   : pawl_error_set(err, PAWL_MISUSE, "supervisor: is NULL, or of another process");
}

/* Gives back what was detached, when its time to end by itself is over. */
static void stop_detached(struct pawl_supervisor *supervisor)
{
    for (int32_t i = 0; i < supervisor->item_room; i++) {
        (void)pthread_mutex_lock(&supervisor->mutex);
        const struct pawl_item *item = &supervisor->items[i];
        bool is_detached = item->is_used && item->work == NULL && !item->is_telling;
        int64_t token = item->token;
        bool is_last = i >= supervisor->item_top;
        (void)pthread_mutex_unlock(&supervisor->mutex);
        if (is_last) return;
        if (!is_detached) continue;
        enum pawl_code code = pawl_detached_stop(supervisor, token, NULL);
        (void)code; /* if that fails, its lease ends and it comes back */
    }
}

/* Waits until nothing is in hand, or what is has been found not to stop. */
static enum pawl_code wait_for_end(struct pawl_supervisor *supervisor, struct pawl_error *err)
{
    (void)pthread_mutex_lock(&supervisor->mutex);
    for (;;) {
        bool must_stop = supervisor->is_draining && supervisor->detached_count > 0;
        bool is_over = supervisor->asked_count == 0 &&
                       supervisor->in_hand_count == supervisor->uncontained_count;
        if (must_stop) {
            (void)pthread_mutex_unlock(&supervisor->mutex);
            stop_detached(supervisor);
            (void)pthread_mutex_lock(&supervisor->mutex);
            if (supervisor->detached_count == 0) continue;
        } else if (is_over) {
            break;
        }
        (void)pthread_cond_wait(&supervisor->changed, &supervisor->mutex);
    }
    int32_t left = supervisor->uncontained_count;
    (void)pthread_mutex_unlock(&supervisor->mutex);
    if (left == 0) return PAWL_OK;
    return pawl_error_set(err, PAWL_TIMEOUT, "%" PRId32 " handlers do not stop", left);
}

enum pawl_code pawl_supervisor_stop(struct pawl_supervisor *supervisor, int64_t drain_ms,
                                    struct pawl_error *err)
{
    enum pawl_code code = check_alive(supervisor, err);
    if (code == PAWL_OK) code = pawl_check_range("drain_ms", drain_ms, 0, PAWL_DELAY_MS_MAX, err);
    if (code != PAWL_OK) return code;
    int64_t at_boot_ms = pawl_clock_boot_ms() + drain_ms;
    (void)pthread_mutex_lock(&supervisor->mutex);
    bool is_first = !supervisor->is_stopping;
    supervisor->is_stopping = true;
    supervisor->drain_at_boot_ms = pawl_earlier(supervisor->drain_at_boot_ms, at_boot_ms);
    int32_t in_hand = supervisor->in_hand_count;
    (void)pthread_mutex_unlock(&supervisor->mutex);
    if (is_first) {
        pawl_log_write(&supervisor->pawl->log, PAWL_LOG_INFO, "supervisor.stopping",
                       PAWL_TEXT("worker", supervisor->worker_id), PAWL_INT("in_hand", in_hand));
        if (supervisor->claimer != NULL) pawl_claimer_give_up(supervisor->claimer);
    }
    pawl_fd_ring(supervisor->heard_fd);
    return wait_for_end(supervisor, err);
}

void pawl_supervisor_close(struct pawl_supervisor *supervisor)
{
    if (check_alive(supervisor, NULL) != PAWL_OK) return;
    enum pawl_code code = pawl_supervisor_stop(supervisor, 0, NULL);
    (void)code; /* what does not stop is waited for */
    (void)pthread_mutex_lock(&supervisor->mutex);
    while (supervisor->in_hand_count > 0) {
        (void)pthread_cond_wait(&supervisor->changed, &supervisor->mutex);
    }
    supervisor->is_closing = true;
    for (int32_t i = 0; i < supervisor->options.slots; i++) {
        (void)pthread_cond_signal(&supervisor->slots[i].changed);
    }
    (void)pthread_mutex_unlock(&supervisor->mutex);
    pawl_fd_ring(supervisor->heard_fd);
    (void)pthread_join(supervisor->watcher, NULL);
    free_all(supervisor);
}

/* ---- One task, and the list ------------------------------------------------------------------ */

static enum pawl_code enter_alone(struct pawl_supervisor *supervisor, struct pawl_error *err)
{
    (void)pthread_mutex_lock(&supervisor->mutex);
    bool is_stopping = supervisor->is_stopping;
    bool is_full = !is_stopping && !pawl_item_reserve(supervisor);
    (void)pthread_mutex_unlock(&supervisor->mutex);
    if (is_stopping) return pawl_error_set(err, PAWL_STATE, "the supervisor is being stopped");
    if (!is_full) return PAWL_OK;
    return pawl_error_set(err, PAWL_LIMIT, "%d calls are under way, or too much is detached",
                          PAWL_RUN_ONE_MAX);
}

/* In hand by itself, on the caller's thread. */
static void begin_alone(struct pawl_supervisor *supervisor, struct pawl_work *work,
                        const struct pawl_grant *grant, int64_t asked_boot_ms)
{
    (void)pthread_mutex_lock(&supervisor->mutex);
    pawl_item_take(supervisor, work, grant, asked_boot_ms, false);
    (void)pthread_mutex_unlock(&supervisor->mutex);
    pawl_fd_ring(supervisor->heard_fd);
    pawl_work_prepare(work, grant);
}

static enum pawl_code start_alone(struct pawl_supervisor *supervisor, struct pawl_str task_id,
                                  struct pawl_work *work, struct pawl_arena *scratch,
                                  struct pawl_error *err)
{
    struct pawl_claim ask = PAWL_CLAIM_INIT;
    struct pawl_grant grant;
    ask.worker_id = supervisor->worker_id;
    ask.lease_ms = supervisor->options.lease_ms;
    ask.is_supervised = true;
    int64_t asked_boot_ms = pawl_clock_boot_ms();
    enum pawl_code code = pawl_task_start(supervisor->pawl, task_id, &ask, scratch, &grant, err);
    if (code == PAWL_OK) begin_alone(supervisor, work, &grant, asked_boot_ms);
    return code;
}

enum pawl_code pawl_supervisor_run_one(struct pawl_supervisor *supervisor, struct pawl_str task_id,
                                       enum pawl_work_end *end, struct pawl_error *err)
{
    enum pawl_code code = check_alive(supervisor, err);
    if (code == PAWL_OK) code = enter_alone(supervisor, err);
    if (code != PAWL_OK) return code;
    struct pawl_arena *scratch = NULL;
    struct pawl_work work = {.supervisor = supervisor, .stop_fd = -1};
    enum pawl_work_end ended;
    code = pawl_arena_open(&scratch, 0);
    if (code == PAWL_OK) code = pawl_arena_open(&work.arena, 0);
    if (code != PAWL_OK) (void)no_memory(err);
    if (code == PAWL_OK) code = start_alone(supervisor, task_id, &work, scratch, err);
    pawl_arena_close(scratch);
    if (code == PAWL_OK) {
        code = pawl_work_run(&work, &ended, err);
        if (code == PAWL_OK && end != NULL) *end = ended;
        if (work.stop_fd >= 0) (void)close(work.stop_fd);
    } else {
        (void)pthread_mutex_lock(&supervisor->mutex);
        pawl_item_unreserve(supervisor);
        (void)pthread_mutex_unlock(&supervisor->mutex);
    }
    pawl_arena_close(work.arena);
    return code;
}

static enum pawl_work_phase phase_of(const struct pawl_item *item)
{
    if (item->work == NULL) return PAWL_WORK_WAITING;
    if (item->is_telling) return PAWL_WORK_TELLING;
    if (item->is_uncontained) return PAWL_WORK_UNCONTAINED;
    return item->reason == PAWL_STOP_NONE ? PAWL_WORK_RUNNING : PAWL_WORK_STOPPING;
}

enum pawl_code pawl_supervisor_list(struct pawl_supervisor *supervisor, struct pawl_arena *keep,
                                    struct pawl_in_hands *out, struct pawl_error *err)
{
    enum pawl_code code = check_alive(supervisor, err);
    if (code != PAWL_OK) return code;
    if (keep == NULL || out == NULL)
        return pawl_error_set(err, PAWL_MISUSE, "keep and out are needed");
    int64_t now_boot_ms = pawl_clock_boot_ms();
    size_t count = 0;
    (void)pthread_mutex_lock(&supervisor->mutex);
    size_t room = (size_t)supervisor->in_hand_count;
    struct pawl_in_hand *works = pawl_arena_take_array(keep, room, sizeof *works);
    for (int32_t i = 0; works != NULL && i < supervisor->item_top; i++) {
        const struct pawl_item *item = &supervisor->items[i];
        if (!item->is_used) continue;
        struct pawl_fence fence = pawl_item_fence(supervisor, item);
        works[count++] = (struct pawl_in_hand){
            .token = item->token,
            .fence = {pawl_arena_copy(keep, fence.task_id), pawl_arena_copy(keep, fence.owner),
                      fence.epoch},
            .phase = phase_of(item),
            .reason = item->reason,
            .in_hand_ms = now_boot_ms - item->asked_boot_ms,
        };
    }
    size_t uncontained = (size_t)supervisor->uncontained_count;
    (void)pthread_mutex_unlock(&supervisor->mutex);
    code = pawl_arena_code(keep);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no memory for the list");
    *out = (struct pawl_in_hands){works, count, uncontained};
    return PAWL_OK;
}
