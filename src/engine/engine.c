/* The handle and its engine thread: opens, gathers requests, runs a step whenever there is something to do,
 * and sleeps without touching the database when there is not. */
#include "engine/engine.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "engine/listen.h"
#include "engine/options.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* ---- Requests ---- */

void pawl_requests_add(struct pawl_requests *list, struct pawl_request *request)
{
    request->next = NULL;
    if (list->last == NULL) {
        list->first = request;
    } else {
        list->last->next = request;
    }
    list->last = request;
    list->count++;
}

struct pawl_request *pawl_requests_take(struct pawl_requests *list)
{
    struct pawl_request *request = list->first;
    if (request == NULL) return NULL;
    list->first = request->next;
    if (list->first == NULL) list->last = NULL;
    list->count--;
    request->next = NULL;
    return request;
}

void pawl_request_init(struct pawl_request *request, enum pawl_command_kind kind)
{
    memset(request, 0, sizeof *request);
    request->command.kind = kind;
}

/* From here on nothing of the engine points to the request. */
static void end_request(struct pawl *pawl, struct pawl_request *request)
{
    (void)pthread_mutex_lock(&pawl->lock);
    request->is_over = true;
    if (request->is_in_cancelled) {
        struct pawl_request *next = request->next_cancelled;
        struct pawl_request *previous = request->previous_cancelled;
        if (next != NULL) next->previous_cancelled = previous;
        if (previous != NULL) previous->next_cancelled = next;
        if (pawl->cancelled == request) pawl->cancelled = next;
        request->is_in_cancelled = false;
    }
    (void)pthread_mutex_unlock(&pawl->lock);
}

void pawl_request_answer(struct pawl *pawl, struct pawl_request *request, enum pawl_code code,
                         const struct pawl_error *err)
{
    struct pawl_error told = *err;
    pawl_assert(request->waiting == NULL);
    request->command.code = code;
    request->command.err = told;
    request->is_answered = true;
    if (request->on_answer == NULL) {
        if (!pawl->is_driven) pawl_requests_add(&pawl->answered, request); /* who drives does not sleep */
        return;
    }
    request->command.err.code = code;
    /* nothing was written to the caller's arena, and nothing has failed there */
    if (code != PAWL_OK && request->command.keep != NULL) {
        pawl_arena_rewind(request->command.keep, request->keep_mark);
    }
    end_request(pawl, request);
    request->on_answer(request);
    pawl_engine_leave(pawl);
}

/* The engine's thread wakes one caller of a chain, and each wakes the next: to wake all itself would keep it from
 * the next step, while the callers have a processor to spare. Once woken, a caller's request is gone. */
void pawl_engine_wake_answered(struct pawl *pawl)
{
    while (pawl->answered.count > 0) {
        struct pawl_request *first = pawl_requests_take(&pawl->answered);
        struct pawl_request *last = first;
        for (int i = 1; i < PAWL_WAKE_CHAIN && pawl->answered.count > 0; i++) {
            last->wakes = pawl_requests_take(&pawl->answered);
            last = last->wakes;
        }
        (void)sem_post(&first->answered); /* cannot overflow: posted once */
    }
}

/* ---- Waiting ---- */

static int64_t boot_now(const struct pawl *pawl)
{
    return pawl->env->boot_ms(pawl->env->self);
}

/* Continuations, and what was found out about lost work: for the next step. */
static bool has_own_work(const struct pawl *pawl)
{
    size_t found;
    (void)pawl_proof_found(pawl->proof, &found);
    return pawl->caused_count > 0 || found > 0;
}

/* When the engine has to look again if nothing happens before. */
static int64_t wake_at(const struct pawl *pawl)
{
    if (pawl->is_gone) return INT64_MAX; /* nobody waits, and nothing comes due */
    int64_t at = pawl->has_timers ? pawl->next_due_boot_ms : INT64_MAX;
    if (has_own_work(pawl) || pawl_parked_is_roused(pawl->parked)) at = 0;
    if (at < pawl->no_step_until_boot_ms) at = pawl->no_step_until_boot_ms;
    at = pawl_earlier(at, pawl_parked_until(pawl->parked));
    for (const struct pawl_request *r = pawl->going_on.first; r != NULL; r = r->next) {
        at = pawl_earlier(at, r->until_boot_ms);
    }
    return at;
}

bool pawl_engine_may_wait(struct pawl *pawl)
{
    (void)pthread_mutex_lock(&pawl->lock);
    bool may_wait = !pawl->is_driven && !pawl->waits_no_more;
    (void)pthread_mutex_unlock(&pawl->lock);
    return may_wait;
}

void pawl_engine_wake(struct pawl *pawl)
{
    (void)pthread_mutex_lock(&pawl->lock);
    pawl->is_sleeping = false;
    (void)pthread_cond_broadcast(&pawl->changed);
    (void)pthread_mutex_unlock(&pawl->lock);
    uint64_t one = 1;
    if (pawl->has_thread) (void)!write(pawl->wake_fd, &one, sizeof one);
}

void pawl_engine_add_holder(struct pawl *pawl, struct pawl_holder *holder)
{
    (void)pthread_mutex_lock(&pawl->lock);
    holder->next = pawl->holders;
    pawl->holders = holder;
    (void)pthread_mutex_unlock(&pawl->lock);
}

void pawl_engine_remove_holder(struct pawl *pawl, struct pawl_holder *holder)
{
    (void)pthread_mutex_lock(&pawl->lock);
    struct pawl_holder **at = &pawl->holders;
    while (*at != NULL && *at != holder) at = &(*at)->next;
    if (*at != NULL) *at = holder->next;
    (void)pthread_mutex_unlock(&pawl->lock);
}

void pawl_engine_hear_knocks(struct pawl *pawl)
{
    (void)pthread_mutex_lock(&pawl->lock);
    if (pawl->holders != NULL) {
        uint64_t knocks = pawl->turn != NULL ? pawl_turn_knocks(pawl->turn) : pawl_store_knocks(pawl->store);
        bool is_new = knocks != pawl->knocks_heard;
        uint64_t one = 1;
        pawl->knocks_heard = knocks;
        for (struct pawl_holder *holder = pawl->holders; holder != NULL && is_new; holder = holder->next) {
            (void)!write(holder->knock_fd, &one, sizeof one);
        }
    }
    (void)pthread_mutex_unlock(&pawl->lock);
}

bool pawl_engine_is_gone(struct pawl *pawl, struct pawl_error *err)
{
    (void)pthread_mutex_lock(&pawl->lock);
    bool is_gone = pawl->is_gone;
    if (is_gone && err != NULL) *err = pawl->gone;
    (void)pthread_mutex_unlock(&pawl->lock);
    return is_gone;
}

void pawl_stop_waiting(struct pawl *pawl)
{
    if (pawl == NULL || pawl->pid != getpid()) return;
    (void)pthread_mutex_lock(&pawl->lock);
    pawl->waits_no_more = true;
    (void)pthread_mutex_unlock(&pawl->lock);
    pawl_engine_wake(pawl);
}

/* Callers whose continuations take too long. */
static void let_go_on(struct pawl *pawl, int64_t now_boot_ms)
{
    struct pawl_requests still = {0};
    for (struct pawl_request *request; (request = pawl_requests_take(&pawl->going_on)) != NULL;) {
        if (request->until_boot_ms > now_boot_ms) {
            pawl_requests_add(&still, request);
            continue;
        }
        for (size_t c = 0; c < pawl->caused_count; c++) {
            if (pawl->caused[c].origin == request) pawl->caused[c].origin = NULL;
        }
        request->command.continuing = true;
        pawl_request_answer(pawl, request, request->command.code, &request->command.err);
    }
    pawl->going_on = still;
}

static void take_cancelled(struct pawl *pawl, struct pawl_requests *list)
{
    (void)pthread_mutex_lock(&pawl->lock);
    for (struct pawl_request *request; (request = pawl->cancelled) != NULL;) {
        pawl->cancelled = request->next_cancelled;
        if (pawl->cancelled != NULL) pawl->cancelled->previous_cancelled = NULL;
        request->is_in_cancelled = false;
        if (!pawl_parked_holds(request)) continue; /* it is on its way to a step, and answered after it */
        pawl_parked_remove(pawl->parked, request);
        pawl_requests_add(list, request);
    }
    (void)pthread_mutex_unlock(&pawl->lock);
}

static void answer_waited_out(struct pawl *pawl)
{
    struct pawl_requests over = {0};
    int64_t now_boot_ms = boot_now(pawl);
    take_cancelled(pawl, &over);
    pawl_parked_rouse_opened(pawl->parked, now_boot_ms);
    pawl_parked_take_waited_out(pawl->parked, now_boot_ms, !pawl_engine_may_wait(pawl), &over);
    for (struct pawl_request *request; (request = pawl_requests_take(&over)) != NULL;) {
        struct pawl_command *command = &request->command;
        if (command->kind == PAWL_COMMAND_CLAIM && command->code == PAWL_OK) {
            command->out.claimed->waited_ms = now_boot_ms - request->asked_boot_ms;
        }
        pawl_request_answer(pawl, request, command->code, &command->err);
    }
    let_go_on(pawl, now_boot_ms);
}

static void arm_timer(const struct pawl *pawl, int64_t at_boot_ms)
{
    struct itimerspec when = {0};
    if (at_boot_ms != INT64_MAX) {
        int64_t in_ms = at_boot_ms - boot_now(pawl);
        if (in_ms < 1) in_ms = 1;
        if (in_ms > 24 * 3600 * 1000) in_ms = 24 * 3600 * 1000;
        when.it_value.tv_sec = (time_t)(in_ms / 1000);
        when.it_value.tv_nsec = (long)(in_ms % 1000) * 1000000;
    }
    (void)timerfd_settime(pawl->timer_fd, 0, &when, NULL);
}

/* A timer that never fires, but is cancelled when somebody sets the wall clock: calendar times are due at others
 * then (timerfd_create(2)). Without it they are looked at with the next step. */
static void watch_wall(struct pawl *pawl)
{
    const struct itimerspec never = {.it_value = {.tv_sec = (time_t)(PAWL_INSTANT_MS_MAX / 1000)}};
    if (pawl->wall_fd < 0) pawl->wall_fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (pawl->wall_fd < 0) return;
    (void)timerfd_settime(pawl->wall_fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

/* Sleeps until woken, rung, or due. Returns whether the bell has rung. */
static bool sleep_until(struct pawl *pawl, int64_t at_boot_ms)
{
    int bell = pawl->turn != NULL ? pawl_turn_bell_fd(pawl->turn) : pawl_store_bell_fd(pawl->store);
    struct pollfd waits[] = {
        {.fd = pawl->wake_fd, .events = POLLIN},
        {.fd = pawl->timer_fd, .events = POLLIN},
        {.fd = bell, .events = POLLIN},
        {.fd = pawl->turn != NULL ? pawl_turn_late_fd(pawl->turn) : -1, .events = POLLIN},
        {.fd = pawl_proof_fd(pawl->proof), .events = POLLIN},
        {.fd = pawl->wall_fd, .events = POLLIN},
    };
    arm_timer(pawl, at_boot_ms);
    bool looks_anyway = (pawl->turn == NULL || bell < 0) &&
                        (pawl_parked_count(pawl->parked) > 0 || pawl->has_timers);
    int got =
        poll(waits, sizeof waits / sizeof *waits, looks_anyway ? PAWL_ENGINE_LOOK_EVERY_MS : -1);
    uint64_t count;
    if (waits[0].revents != 0) (void)!read(pawl->wake_fd, &count, sizeof count);
    if (waits[1].revents != 0) (void)!read(pawl->timer_fd, &count, sizeof count);
    if (waits[3].revents != 0) pawl_turn_settle(pawl->turn);
    if (waits[4].revents != 0) pawl_proof_look_again(pawl->proof);
    bool rang = waits[2].revents != 0;
    if (rang && pawl->turn != NULL) rang = pawl_turn_drain(pawl->turn);
    if (rang && pawl->turn == NULL) rang = pawl_store_bell_drain(pawl->store);
    if (waits[5].revents != 0) {
        (void)!read(pawl->wall_fd, &count, sizeof count); /* ECANCELED: the wall clock was set */
        watch_wall(pawl);
        rang = true;
    }
    return rang || (got == 0 && looks_anyway);
}

static size_t command_bytes(const struct pawl_command *command)
{
    size_t bytes = 1024;
    switch (command->kind) {
    case PAWL_COMMAND_CREATE:
        for (size_t i = 0; i < command->ask.create.count; i++) {
            const struct pawl_task_new *ask = command->ask.create.members[i].ask;
            bytes += 1024 + ask->input.len + ask->goal.len + ask->metadata.len;
        }
        break;
    case PAWL_COMMAND_COMPLETE:
        bytes += command->ask.result.len;
        break;
    case PAWL_COMMAND_CHECKPOINT:
        bytes += command->ask.checkpoint.state.len;
        break;
    case PAWL_COMMAND_RESUME:
        bytes += command->ask.resume.input.len;
        break;
    case PAWL_COMMAND_RESOLVE:
        bytes += command->ask.resolve.text.len;
        break;
    case PAWL_COMMAND_REDRIVE:
        bytes += command->ask.redrive->resume.input.len;
        break;
    case PAWL_COMMAND_LOG:
        bytes += command->ask.line.len;
        break;
    case PAWL_COMMAND_UPDATE:
        bytes += command->ask.update->output.len;
        for (size_t i = 0; i < command->ask.update->log_count; i++) {
            bytes += 64 + command->ask.update->logs[i].len;
        }
        break;
    case PAWL_COMMAND_DEFINE:
        for (size_t i = 0; i < command->ask.define.count; i++) {
            bytes += 1024 + command->ask.define.items[i].body.len;
        }
        break;
    default:
        break;
    }
    return bytes;
}

/* Moves requests to the step's list until it is as large as a step may be. */
static void fill(struct pawl_requests *list, size_t *bytes, struct pawl_requests *from)
{
    while (from->first != NULL && list->count < PAWL_STEP_COMMANDS_MAX) {
        size_t more = command_bytes(&from->first->command);
        if (list->count > 0 && *bytes + more > PAWL_STEP_COMMAND_BYTES_MAX) return;
        *bytes += more;
        pawl_requests_add(list, pawl_requests_take(from));
    }
}

/* What has arrived, or that the engine goes to sleep: decided under the lock, so that no wake-up is lost. */
static struct pawl_requests gather(struct pawl *pawl, bool may_sleep, bool *is_stopping, bool *sleeps)
{
    struct pawl_requests list = {0};
    size_t bytes = 0;
    (void)pthread_mutex_lock(&pawl->lock);
    if (pawl->backlog.count > 0) {
        /* what did not come to its end goes alone: it gets all the rounds it needs */
        pawl_requests_add(&list, pawl_requests_take(&pawl->backlog));
    } else {
        fill(&list, &bytes, &pawl->incoming);
    }
    *is_stopping = pawl->is_stopping;
    *sleeps = may_sleep && list.count == 0 && !pawl->is_stopping && pawl->cancelled == NULL;
    pawl->is_sleeping = *sleeps;
    (void)pthread_mutex_unlock(&pawl->lock);
    return list;
}

void pawl_engine_changed(struct pawl *pawl)
{
    (void)pthread_mutex_lock(&pawl->lock);
    pawl->change_count++;
    (void)pthread_cond_broadcast(&pawl->changed);
    if (pawl->on_change != NULL) pawl->on_change(pawl->on_change_self);
    (void)pthread_mutex_unlock(&pawl->lock);
}

void pawl_engine_on_change(struct pawl *pawl, void (*on_change)(void *self), void *self)
{
    (void)pthread_mutex_lock(&pawl->lock);
    pawl->on_change = on_change;
    pawl->on_change_self = self;
    (void)pthread_mutex_unlock(&pawl->lock);
}

/* The files of the store have lost their names, now or before: there is nothing left to wait for. */
static bool see_whether_gone(struct pawl *pawl)
{
    struct pawl_error err = {0};
    if (pawl->is_gone || pawl->turn == NULL || !pawl_turn_take_suspicion(pawl->turn)) return pawl->is_gone;
    if (pawl_turn_check(pawl->turn, &err) == PAWL_OK) return false;
    if (pawl->has_timers) { /* else whoever has asked is told, and this handle is one of several */
        pawl_log_write(&pawl->log, PAWL_LOG_ERROR, "store.gone", PAWL_TEXT("error", pawl_str_of(err.text)));
    }
    (void)pthread_mutex_lock(&pawl->lock);
    pawl->is_gone = true;
    pawl->gone = err;
    uint64_t one = 1;
    for (struct pawl_holder *holder = pawl->holders; holder != NULL; holder = holder->next) {
        (void)!write(holder->knock_fd, &one, sizeof one);
    }
    (void)pthread_mutex_unlock(&pawl->lock);
    pawl_engine_changed(pawl);
    struct pawl_requests parked = {0};
    pawl_parked_take_waited_out(pawl->parked, INT64_MAX - 1, true, &parked);
    for (struct pawl_request *request; (request = pawl_requests_take(&parked)) != NULL;) {
        pawl_request_answer(pawl, request, err.code, &err);
    }
    return true;
}

static void drain_on_stop(struct pawl *pawl)
{
    static const struct pawl_error closing = {.code = PAWL_BUSY,
                                              .text = "the handle is being closed"};
    struct pawl_requests parked = {0};
    pawl_parked_take_waited_out(pawl->parked, INT64_MAX - 1, true, &parked);
    struct pawl_requests *lists[] = {&pawl->backlog, &parked, &pawl->going_on};
    for (size_t i = 0; i < 3; i++) {
        for (struct pawl_request *request; (request = pawl_requests_take(lists[i])) != NULL;) {
            bool is_committed = lists[i] == &pawl->going_on;
            request->command.continuing = is_committed;
            pawl_request_answer(pawl, request, is_committed ? PAWL_OK : PAWL_BUSY, &closing);
        }
    }
    (void)pthread_mutex_lock(&pawl->lock);
    struct pawl_requests rest = pawl->incoming;
    pawl->incoming = (struct pawl_requests){0};
    (void)pthread_mutex_unlock(&pawl->lock);
    for (struct pawl_request *request; (request = pawl_requests_take(&rest)) != NULL;) {
        pawl_request_answer(pawl, request, PAWL_BUSY, &closing);
    }
}

static void *engine_thread(void *argument)
{
    struct pawl *pawl = argument;
    for (;;) {
        int64_t now = boot_now(pawl);
        bool may_try = !see_whether_gone(pawl) && now >= pawl->no_step_until_boot_ms;
        bool is_due = may_try && pawl->has_timers && pawl->next_due_boot_ms <= now;
        bool has_own = may_try && has_own_work(pawl);
        bool is_worth = may_try && pawl_parked_is_roused(pawl->parked);
        bool is_stopping;
        bool sleeps;
        struct pawl_requests list =
            gather(pawl, !is_due && !has_own && !is_worth, &is_stopping, &sleeps);
        if (is_stopping) {
            for (struct pawl_request *request; (request = pawl_requests_take(&list)) != NULL;) {
                pawl_requests_add(&pawl->backlog, request);
            }
            break;
        }
        if (sleeps) {
            pawl_engine_wake_answered(pawl); /* a store that is gone has answered those who waited */
            bool rang = sleep_until(pawl, wake_at(pawl));
            (void)pthread_mutex_lock(&pawl->lock);
            pawl->is_sleeping = false;
            (void)pthread_mutex_unlock(&pawl->lock);
            if (rang && !see_whether_gone(pawl)) {
                pawl_engine_changed(pawl);
                pawl_engine_hear_knocks(pawl);
                if (pawl->has_timers || pawl_parked_count(pawl->parked) > 0) {
                    bool is_worth_a_step;
                    pawl_engine_look(pawl, &is_worth_a_step);
                    if (is_worth_a_step) pawl_parked_rouse_all(pawl->parked);
                }
            }
        } else if (list.count > 0 || has_own || is_worth) {
            pawl_engine_step(pawl, &list);
        } else if (is_due) {
            /* a timer has fired: it may be early, or somebody else was faster; a plain read tells */
            bool is_worth_a_step;
            pawl_engine_look(pawl, &is_worth_a_step);
            if (is_worth_a_step) {
                pawl_parked_rouse_all(pawl->parked);
                pawl_engine_step(pawl, &list);
            }
        }
        answer_waited_out(pawl);
        pawl_engine_wake_answered(pawl);
    }
    drain_on_stop(pawl);
    pawl_engine_wake_answered(pawl);
    return NULL;
}

/* ---- Asking ---- */

void pawl_engine_add(struct pawl *pawl, struct pawl_request *request)
{
    if (request->command.keep != NULL) request->keep_mark = pawl_arena_mark(request->command.keep);
    if (request->on_answer == NULL) (void)sem_init(&request->answered, 0, 0);
    request->asked_boot_ms = boot_now(pawl);
    pawl_requests_add(&pawl->incoming, request);
}

/* All of them, one after the other, with nobody's between them; or none. */
static bool hand_over(struct pawl *pawl, struct pawl_request *const *requests, size_t count)
{
    (void)pthread_mutex_lock(&pawl->lock);
    bool is_open = !pawl->is_stopping;
    for (size_t i = 0; i < count && is_open; i++) {
        pawl_engine_add(pawl, requests[i]);
        /* each that answers itself holds the handle open until then */
        if (requests[i]->on_answer != NULL) pawl->call_count++;
    }
    bool must_wake = is_open && pawl->is_sleeping;
    pawl->is_sleeping = false;
    (void)pthread_mutex_unlock(&pawl->lock);
    uint64_t one = 1;
    if (must_wake) (void)!write(pawl->wake_fd, &one, sizeof one);
    return is_open;
}

enum pawl_code pawl_engine_hand(struct pawl *pawl, struct pawl_request *request,
                                struct pawl_error *err)
{
    return pawl_engine_hand_all(pawl, &request, 1, err);
}

enum pawl_code pawl_engine_hand_all(struct pawl *pawl, struct pawl_request *const *requests,
                                    size_t count, struct pawl_error *err)
{
    pawl_assert(!pawl->is_driven);
    for (size_t i = 0; i < count; i++) pawl_assert(requests[i]->on_answer != NULL);
    enum pawl_code code = pawl_engine_enter(pawl, err); /* not after a fork */
    if (code != PAWL_OK) return code;
    bool is_open = hand_over(pawl, requests, count);
    pawl_engine_leave(pawl);
    if (is_open) return PAWL_OK;
    return pawl_error_set(err, PAWL_BUSY, "the handle is being closed");
}

void pawl_engine_cancel(struct pawl *pawl, struct pawl_request *request)
{
    (void)pthread_mutex_lock(&pawl->lock);
    bool is_new = !request->is_over && !atomic_load(&request->is_cancelled);
    if (is_new) {
        atomic_store(&request->is_cancelled, true);
        request->is_in_cancelled = true;
        request->next_cancelled = pawl->cancelled;
        if (pawl->cancelled != NULL) pawl->cancelled->previous_cancelled = request;
        pawl->cancelled = request;
    }
    bool must_wake = is_new && pawl->is_sleeping;
    if (must_wake) pawl->is_sleeping = false;
    (void)pthread_mutex_unlock(&pawl->lock);
    uint64_t one = 1;
    if (must_wake) (void)!write(pawl->wake_fd, &one, sizeof one);
}

/* A driven host has one thread: it does not wait for continuations that the store does not let go
 * on. They are rows, and whoever steps next goes on with them. */
static void let_go(struct pawl *pawl)
{
    int64_t now = boot_now(pawl);
    bool has_failed = now < pawl->no_step_until_boot_ms;
    for (struct pawl_request *r = pawl->going_on.first; r != NULL && has_failed; r = r->next) {
        r->until_boot_ms = now;
    }
    answer_waited_out(pawl);
}

static void run_driven(struct pawl *pawl)
{
    struct pawl_requests list = {0};
    size_t bytes = 0;
    if (pawl->backlog.count > 0) {
        pawl_requests_add(&list, pawl_requests_take(&pawl->backlog));
    } else {
        fill(&list, &bytes, &pawl->incoming);
    }
    pawl_engine_step(pawl, &list);
    let_go(pawl);
}

enum pawl_code pawl_engine_enter(struct pawl *pawl, struct pawl_error *err)
{
    if (pawl->pid != getpid()) {
        return pawl_error_set(err, PAWL_MISUSE, "the handle was opened by the process this one was forked from");
    }
    (void)pthread_mutex_lock(&pawl->lock);
    bool is_open = !pawl->is_stopping;
    if (is_open) pawl->call_count++;
    (void)pthread_mutex_unlock(&pawl->lock);
    return is_open ? PAWL_OK : pawl_error_set(err, PAWL_BUSY, "the handle is being closed");
}

void pawl_engine_leave(struct pawl *pawl)
{
    (void)pthread_mutex_lock(&pawl->lock);
    if (--pawl->call_count == 0 && pawl->is_stopping) (void)pthread_cond_broadcast(&pawl->changed);
    (void)pthread_mutex_unlock(&pawl->lock);
}

/* The completion hook runs within a step: what it asks for would wait for itself. */
static enum pawl_code misuse_in_hook(struct pawl_error *err)
{
    return pawl_error_set(err, PAWL_MISUSE, "on_completed may look, but not change anything");
}

static enum pawl_code ask_driven(struct pawl *pawl, struct pawl_request *request, struct pawl_error *err)
{
    if (pthread_mutex_lock(&pawl->driving) == EDEADLK) return misuse_in_hook(err);
    pawl_engine_add(pawl, request);
    while (!request->is_answered) run_driven(pawl);
    (void)pthread_mutex_unlock(&pawl->driving);
    pawl_listening_tell_now(pawl->listening);
    return PAWL_OK;
}

static enum pawl_code ask_thread(struct pawl *pawl, struct pawl_request *request, struct pawl_error *err)
{
    if (pthread_equal(pthread_self(), pawl->thread)) return misuse_in_hook(err);
    if (!hand_over(pawl, &request, 1)) {
        return pawl_error_set(err, PAWL_BUSY, "the handle is being closed");
    }
    while (sem_wait(&request->answered) != 0 && errno == EINTR) {
    }
    if (request->wakes != NULL) (void)sem_post(&request->wakes->answered);
    return PAWL_OK;
}

enum pawl_code pawl_engine_ask(struct pawl *pawl, struct pawl_request *request, struct pawl_error *err)
{
    enum pawl_code code = pawl_engine_enter(pawl, err);
    if (code != PAWL_OK) return code;
    code = pawl->is_driven ? ask_driven(pawl, request, err) : ask_thread(pawl, request, err);
    pawl_engine_leave(pawl);
    if (code != PAWL_OK) return code; /* it was not handed over */
    (void)sem_destroy(&request->answered);
    if (request->command.code == PAWL_OK) {
        if (request->continuing != NULL) *request->continuing = request->command.continuing;
        return PAWL_OK;
    }
    /* nothing was written to the caller's arena, and nothing has failed there */
    if (request->command.keep != NULL) pawl_arena_rewind(request->command.keep, request->keep_mark);
    if (err != NULL) {
        *err = request->command.err;
        err->code = request->command.code;
    }
    return request->command.code;
}

/* When a driven host has to call again: at once if there is something to do, but not while its store fails. */
static int64_t step_again_at(const struct pawl *pawl)
{
    int64_t now = boot_now(pawl);
    if (pawl->backlog.count > 0 || pawl->incoming.count > 0) return now;
    if (!has_own_work(pawl)) return wake_at(pawl);
    return now > pawl->no_step_until_boot_ms ? now : pawl->no_step_until_boot_ms;
}

enum pawl_code pawl_step(struct pawl *pawl, int64_t *next_at_boot_ms, struct pawl_error *err)
{
    if (pawl == NULL || !pawl->is_driven) {
        return pawl_error_set(err, PAWL_MISUSE, "pawl_step is for driven handles");
    }
    enum pawl_code code = pawl_engine_enter(pawl, err);
    if (code != PAWL_OK) return code;
    if (pthread_mutex_lock(&pawl->driving) == EDEADLK) {
        pawl_engine_leave(pawl);
        return misuse_in_hook(err);
    }
    if (pawl->turn != NULL) pawl_turn_settle(pawl->turn);
    pawl_proof_look_again(pawl->proof);
    if (pawl->turn == NULL) (void)pawl_store_bell_drain(pawl->store); /* pawl_wait_fd is quiet again */
    run_driven(pawl);
    int64_t at = step_again_at(pawl);
    (void)pthread_mutex_unlock(&pawl->driving);
    pawl_listening_tell_now(pawl->listening);
    pawl_engine_leave(pawl);
    if (next_at_boot_ms != NULL) *next_at_boot_ms = at;
    return PAWL_OK;
}

int pawl_wait_fd(struct pawl *pawl)
{
    if (pawl == NULL) return -1;
    return pawl->turn != NULL ? pawl_turn_bell_fd(pawl->turn) : pawl_store_bell_fd(pawl->store);
}

/* ---- Opening and closing ---- */

static char *c_copy(struct pawl_str text)
{
    char *copy = malloc(text.len + 1);
    if (copy == NULL) return NULL;
    if (text.len > 0) memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

static enum pawl_code check_keep(const char *name, int64_t ms, struct pawl_error *err)
{
    if (ms >= 0 && ms <= PAWL_RETAIN_MS_MAX) return PAWL_OK;
    return pawl_error_set(err, PAWL_INVALID, "%s: %lld is not from 0 to %lld", name, (long long)ms,
                          (long long)PAWL_RETAIN_MS_MAX);
}

static enum pawl_code check_options(const struct pawl_options *options, struct pawl_error *err)
{
    bool is_empty = options->store.len == 0 || options->store.ptr == NULL;
    if (is_empty) return pawl_error_set(err, PAWL_INVALID, "store: is empty");
    if (memchr(options->store.ptr, '\0', options->store.len) != NULL) {
        return pawl_error_set(err, PAWL_INVALID, "store: holds a NUL");
    }
    if (options->correlation_id.len > 0 && options->correlation_id.ptr == NULL) {
        return pawl_error_set(err, PAWL_INVALID, "correlation_id: has a length and no bytes");
    }
    if (options->listener_count > 0 && options->listeners == NULL) {
        return pawl_error_set(err, PAWL_MISUSE, "listeners: is NULL");
    }
    for (size_t i = 0; i < options->listener_count; i++) {
        if (options->listeners[i].heard != NULL) continue;
        return pawl_error_set(err, PAWL_MISUSE, "listeners[%zu]: heard is NULL", i);
    }
    const struct pawl_env *env = options->env;
    if (env != NULL && (env->wall_ms == NULL || env->boot_ms == NULL || env->random == NULL)) {
        return pawl_error_set(err, PAWL_MISUSE, "env: wall_ms, boot_ms and random are needed");
    }
    enum pawl_code code = check_keep("retain_ms", options->retain_ms, err);
    if (code == PAWL_OK) code = check_keep("events_keep_ms", options->events_keep_ms, err);
    if (code == PAWL_OK) code = check_keep("consumer_keep_ms", options->consumer_keep_ms, err);
    if (code != PAWL_OK) return code;
    bool is_lease = options->lease_ms == 0 || (options->lease_ms >= PAWL_LEASE_MS_MIN &&
                                               options->lease_ms <= PAWL_LEASE_MS_MAX);
    if (!is_lease) {
        return pawl_error_set(err, PAWL_INVALID, "lease_ms: %lld is not from %d to %d",
                              (long long)options->lease_ms, PAWL_LEASE_MS_MIN, PAWL_LEASE_MS_MAX);
    }
    return PAWL_OK;
}

/* A copy: the store's own path goes with its connection, which may be opened anew. */
static enum pawl_code name_locks(struct pawl *pawl, struct pawl_error *err)
{
    struct pawl_locks *locks = &pawl->locks;
    struct pawl_str path = pawl_store_is_postgres(pawl->store) ? (struct pawl_str){0} : pawl_store_path(pawl->store);
    struct pawl_str id = pawl_store_id(pawl->store);
    if (path.len > PAWL_PLACE_PATH_BYTES_MAX || id.len > PAWL_UUID_BYTES_MAX) {
        return pawl_error_set(err, PAWL_IO, "the path of the store is too long");
    }
    if (path.len > 0) memcpy(locks->db_path, path.ptr, path.len);
    if (id.len > 0) memcpy(locks->store_id, id.ptr, id.len);
    locks->env = pawl->env;
    return PAWL_OK;
}

static enum pawl_code open_parts(struct pawl *pawl, const struct pawl_options *options,
                                 struct pawl_error *err)
{
    pawl->target = c_copy(options->store);
    pawl->correlation_id = c_copy(options->correlation_id);
    if (pawl->target == NULL || pawl->correlation_id == NULL) {
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to open %.*s",
                              PAWL_STR_ARG(options->store));
    }
    pawl->store_options = (struct pawl_store_options){.target = pawl_str_of(pawl->target),
                                                      .must_exist = options->must_exist,
                                                      .env = pawl->env,
                                                      .log = &pawl->log};
    enum pawl_code code = pawl_arena_open(&pawl->arena, PAWL_STEP_ARENA_BYTES_MAX);
    if (code == PAWL_OK) code = pawl_arena_open(&pawl->scratch, PAWL_STEP_SCRATCH_BYTES_MAX);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no memory for the step");
    code = pawl_store_open(&pawl->store, &pawl->store_options, err);
    if (code == PAWL_OK && !pawl_store_is_postgres(pawl->store)) {
        code = pawl_turn_open(&pawl->turn, pawl_store_path(pawl->store), !pawl->is_driven, pawl->has_timers,
                              err);
    }
    if (code == PAWL_OK) code = name_locks(pawl, err);
    if (code == PAWL_OK) {
        pawl->parked = pawl_parked_open();
        if (pawl->parked == NULL) code = pawl_error_set(err, PAWL_NO_MEMORY, "no memory to open a store");
    }
    if (code == PAWL_OK) {
        pawl->proof = pawl_proof_open(&pawl->locks);
        bool is_real = pawl->env == &pawl->real.env;
        if (is_real) pawl->careful = pawl_careful_open(&pawl->locks);
        if (pawl->proof == NULL || (is_real && pawl->careful == NULL)) {
            code = pawl_error_set(err, PAWL_NO_MEMORY, "no memory to open a store");
        }
    }
    if (code == PAWL_OK && options->listener_count > 0) {
        code = pawl_listening_open(&pawl->listening, options->listeners, options->listener_count,
                                   !pawl->is_driven, err);
    }
    return code;
}

static enum pawl_code start_thread(struct pawl *pawl, struct pawl_error *err)
{
    pawl->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    pawl->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (pawl->wake_fd < 0 || pawl->timer_fd < 0) {
        return pawl_error_set(err, PAWL_IO, "no descriptors for the engine: %s", strerror(errno));
    }
    if (pawl->has_timers) watch_wall(pawl);
    pawl->has_thread = pthread_create(&pawl->thread, NULL, engine_thread, pawl) == 0;
    if (!pawl->has_thread) return pawl_error_set(err, PAWL_NO_MEMORY, "cannot start the engine thread");
    return PAWL_OK;
}

enum pawl_code pawl_open(struct pawl **out, const struct pawl_options *given, struct pawl_error *err)
{
    if (out == NULL || given == NULL) return pawl_error_set(err, PAWL_MISUSE, "out and options are needed");
    struct pawl_options own;
    const struct pawl_options *options = &own;
    enum pawl_code code = PAWL_OPTIONS_READ(own, given, "options", "PAWL_OPTIONS_INIT", err);
    if (code == PAWL_OK) code = check_options(options, err);
    if (code != PAWL_OK) return code;
    struct pawl *pawl = calloc(1, sizeof *pawl);
    if (pawl == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a handle");
    pawl->pid = getpid();
    pawl->wake_fd = -1;
    pawl->timer_fd = -1;
    pawl->wall_fd = -1;
    pawl_env_real_init(&pawl->real);
    pawl->env = options->env != NULL ? options->env : &pawl->real.env;
    pawl->log = (struct pawl_log){options->log, options->log_self, PAWL_LOG_DEBUG};
    pawl->is_driven = options->driven;
    pawl->has_timers = !options->no_timers;
    pawl->retain_ms = options->retain_ms;
    pawl->events_keep_ms = options->events_keep_ms;
    pawl->to_the_end = options->to_the_end;
    pawl->consumer_keep_ms =
        options->consumer_keep_ms != 0 ? options->consumer_keep_ms : PAWL_CONSUMER_KEEP_MS_DEFAULT;
    pawl->lease_ms = options->lease_ms != 0 ? options->lease_ms : PAWL_LEASE_MS_DEFAULT;
    pawl->on_completed = options->on_completed;
    pawl->on_completed_self = options->on_completed_self;
    (void)pthread_mutex_init(&pawl->lock, NULL);
    pthread_mutexattr_t checked; /* whoever holds it and asks again is told */
    (void)pthread_mutexattr_init(&checked);
    (void)pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_ERRORCHECK);
    (void)pthread_mutex_init(&pawl->driving, &checked);
    (void)pthread_mutexattr_destroy(&checked);
    (void)pthread_mutex_init(&pawl->read_lock, NULL);
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&pawl->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);

    code = open_parts(pawl, options, err);
    if (code == PAWL_OK && !pawl->is_driven) code = start_thread(pawl, err);
    if (code != PAWL_OK) {
        pawl_close(pawl);
        return code;
    }
    *out = pawl;
    return PAWL_OK;
}

/* The database file is whole when the last one has gone: people copy it. Not worth waiting for: whoever has the
 * turn, or closes after us, does it. */
static void move_log(struct pawl *pawl)
{
    if (pawl->turn == NULL || pawl->store == NULL) return;
    if (pawl_turn_take(pawl->turn, 1, NULL) != PAWL_OK) return;
    pawl_store_checkpoint_all(pawl->store);
    pawl_turn_give(pawl->turn);
}

void pawl_close(struct pawl *pawl)
{
    if (pawl == NULL) return;
    if (pawl->pid != getpid()) return; /* forked: its threads are not here, its files are the parent's */
    (void)pthread_mutex_lock(&pawl->lock);
    pawl->is_stopping = true;
    (void)pthread_cond_broadcast(&pawl->changed);
    (void)pthread_mutex_unlock(&pawl->lock);
    if (pawl->has_thread) {
        uint64_t one = 1;
        (void)!write(pawl->wake_fd, &one, sizeof one);
        (void)pthread_join(pawl->thread, NULL);
    }
    pawl_listening_close(pawl->listening);
    (void)pthread_mutex_lock(&pawl->lock);
    while (pawl->call_count > 0) (void)pthread_cond_wait(&pawl->changed, &pawl->lock);
    (void)pthread_mutex_unlock(&pawl->lock);
    pawl_reader_close(pawl->reader);
    move_log(pawl);
    pawl_turn_close(pawl->turn);
    pawl_proof_close(pawl->proof);
    pawl_careful_close(pawl->careful);
    pawl_store_close(pawl->store);
    pawl_parked_close(pawl->parked);
    pawl_arena_close(pawl->arena);
    pawl_arena_close(pawl->scratch);
    if (pawl->wake_fd >= 0) (void)close(pawl->wake_fd);
    if (pawl->timer_fd >= 0) (void)close(pawl->timer_fd);
    if (pawl->wall_fd >= 0) (void)close(pawl->wall_fd);
    (void)pthread_mutex_destroy(&pawl->lock);
    (void)pthread_mutex_destroy(&pawl->driving);
    (void)pthread_mutex_destroy(&pawl->read_lock);
    (void)pthread_cond_destroy(&pawl->changed);
    free(pawl->caused);
    free(pawl->correlation_id);
    free(pawl->target);
    free(pawl);
}
