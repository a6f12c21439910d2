/* One work: what its handler can do, and its way from the lock to the outcome. Threads: the
 * handler's, but where a function of pawl.h says any.
 *
 * The order at the end matters. First the handler has returned; then the lock is let go of, since
 * an outcome leaves only when nothing works on the task any more; then what has come meanwhile is
 * looked at: a lease that was lost beats every result. */
#include "base/arena.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "engine/env.h"
#include "engine/options.h"
#include "supervisor/clock.h"
#include "supervisor/supervisor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

enum {
    WAIT_MS_MAX = 1000,
    STOPPED_TRIES_MAX = 3, /* recovery finds out by itself; telling it is only faster */
    TIMED_OUT_LOOKS_MAX = 40,
    TIMED_OUT_LOOK_EVERY_MS = 5,
};

void pawl_work_prepare(struct pawl_work *work, const struct pawl_grant *grant)
{
    struct pawl_fence fence = work->grant.fence;
    pawl_arena_reset(work->arena);
    work->grant = *grant;
    work->grant.fence = fence;
    work->grant.queue = pawl_arena_copy(work->arena, grant->queue);
    work->grant.title = pawl_arena_copy(work->arena, grant->title);
    work->grant.goal = pawl_arena_copy(work->arena, grant->goal);
    work->grant.input = pawl_arena_copy(work->arena, grant->input);
    work->grant.metadata = pawl_arena_copy(work->arena, grant->metadata);
    work->grant.checkpoint = pawl_arena_copy(work->arena, grant->checkpoint);
    work->has_room = pawl_arena_code(work->arena) == PAWL_OK;
    work->result = (struct pawl_str){0};
    work->failure = (struct pawl_failure)PAWL_FAILURE_INIT;
    work->delay_ms = 0;
}

/* ---- What a handler can do ------------------------------------------------------------------- */

const struct pawl_grant *pawl_work_grant(const struct pawl_work *work)
{
    return &work->grant;
}

enum pawl_stop_reason pawl_work_stop_reason(const struct pawl_work *work)
{
    return (enum pawl_stop_reason)atomic_load(&work->reason);
}

int64_t pawl_work_token(const struct pawl_work *work)
{
    return work->token;
}

int pawl_work_stop_fd(struct pawl_work *work)
{
    pthread_mutex_t *mutex = &work->supervisor->mutex;
    (void)pthread_mutex_lock(mutex);
    if (work->stop_fd < 0) {
        work->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        bool is_late = atomic_load(&work->reason) != PAWL_STOP_NONE;
        if (work->stop_fd >= 0 && is_late) pawl_fd_ring(work->stop_fd);
    }
    int fd = work->stop_fd;
    (void)pthread_mutex_unlock(mutex);
    return fd;
}

static struct pawl_change change_of(const struct pawl_work *work)
{
    struct pawl_change change = PAWL_CHANGE_INIT;
    change.fence = &work->grant.fence;
    return change;
}

static enum pawl_code heard(struct pawl_work *work, enum pawl_code code)
{
    if (code == PAWL_OK) atomic_store(&work->progress_boot_ms, pawl_clock_boot_ms());
    if (code == PAWL_LEASE_LOST) pawl_keeper_lose(work->supervisor->keeper, work->number);
    return code;
}

enum pawl_code pawl_work_progress(struct pawl_work *work, double percent, struct pawl_error *err)
{
    struct pawl_change change = change_of(work);
    return heard(work, pawl_task_progress(work->supervisor->pawl, work->grant.fence.task_id,
                                          percent, &change, err));
}

enum pawl_code pawl_work_checkpoint(struct pawl_work *work, int32_t step, struct pawl_str state,
                                    char *checkpoint_id, struct pawl_error *err)
{
    struct pawl_change change = change_of(work);
    change.checkpoint_id = checkpoint_id;
    return heard(work, pawl_task_checkpoint(work->supervisor->pawl, work->grant.fence.task_id, step,
                                            state, &change, err));
}

enum pawl_code pawl_work_log(struct pawl_work *work, struct pawl_str line, struct pawl_error *err)
{
    struct pawl_change change = change_of(work);
    return heard(
        work, pawl_task_log(work->supervisor->pawl, work->grant.fence.task_id, line, &change, err));
}

enum pawl_work_end pawl_work_complete(struct pawl_work *work, struct pawl_str result)
{
    work->result = pawl_arena_copy(work->arena, result);
    return PAWL_WORK_COMPLETED;
}

enum pawl_work_end pawl_work_fail(struct pawl_work *work, const struct pawl_failure *failure)
{
    struct pawl_error err = {0};
    enum pawl_code code = PAWL_OK;
    if (failure != NULL) {
        code = PAWL_OPTIONS_READ(work->failure, failure, "failure", "PAWL_FAILURE_INIT", &err);
    }
    if (code != PAWL_OK) work->failure.error = pawl_str_of(err.text);
    work->failure.error = pawl_arena_copy(work->arena, work->failure.error);
    return PAWL_WORK_FAILED;
}

enum pawl_work_end pawl_work_yield(struct pawl_work *work, int64_t delay_ms)
{
    work->delay_ms = delay_ms;
    return PAWL_WORK_YIELDED;
}

/* ---- Telling --------------------------------------------------------------------------------- */

static void wait_ms(struct pawl_supervisor *supervisor, int64_t ms)
{
    struct timespec until = pawl_env_deadline(ms);
    (void)pthread_mutex_lock(&supervisor->mutex);
    (void)pthread_cond_timedwait(&supervisor->changed, &supervisor->mutex, &until);
    (void)pthread_mutex_unlock(&supervisor->mutex);
}

/* Whether the lease is over for us, as far as we know; how long to wait before another try. */
static bool is_over(struct pawl_supervisor *supervisor, int32_t number, int64_t *again_ms)
{
    struct pawl_kept kept = pawl_keeper_look(supervisor->keeper, number);
    int64_t now_boot_ms = pawl_clock_boot_ms();
    *again_ms = pawl_lease_try_again_ms(now_boot_ms, kept.stop_at_boot_ms);
    return kept.is_lost || now_boot_ms >= kept.stop_at_boot_ms;
}

static enum pawl_code say(struct pawl *pawl, const struct pawl_telling *telling,
                          struct pawl_error *err)
{
    struct pawl_str id = telling->fence.task_id;
    struct pawl_change change = PAWL_CHANGE_INIT;
    change.fence = &telling->fence;
    switch (telling->end) {
    case PAWL_WORK_COMPLETED:
        return pawl_task_complete(pawl, id, telling->result, &change, err);
    case PAWL_WORK_YIELDED:
    case PAWL_WORK_RELEASED:
        return pawl_task_release(pawl, id, telling->delay_ms, &change, err);
    case PAWL_WORK_PAUSED:
        return pawl_task_pause(pawl, id, &change, err);
    case PAWL_WORK_CANCELLED:
        return pawl_task_cancel(pawl, id, false, &change, err);
    case PAWL_WORK_FAILED:
    case PAWL_WORK_DETACHED:
    case PAWL_WORK_STOPPED:
        break;
    }
    pawl_assert(telling->end == PAWL_WORK_FAILED);
    return pawl_task_fail(pawl, id, &telling->failure, &change, err);
}

static void fail_with(struct pawl_telling *telling, const char *text, bool is_final)
{
    telling->end = PAWL_WORK_FAILED;
    telling->failure = (struct pawl_failure)PAWL_FAILURE_INIT;
    telling->failure.is_final = is_final;
    if (text != telling->text) (void)snprintf(telling->text, sizeof telling->text, "%s", text);
    telling->failure.error = pawl_str_of(telling->text);
}

/* What the store refuses, however often it is told, is a failure that no retry mends; or, of a
 * failure, its delay, without which it is told then. */
static bool turn_into_failure(struct pawl_telling *telling, enum pawl_code code,
                              const struct pawl_error *err)
{
    bool is_refused = code == PAWL_INVALID || code == PAWL_TOO_LARGE || code == PAWL_MISUSE;
    bool was_failure =
        telling->end == PAWL_WORK_FAILED && telling->failure.error.ptr == telling->text;
    if (!is_refused || telling->is_detached || was_failure) return false;
    if (telling->end == PAWL_WORK_FAILED && telling->failure.retry_after_ms != 0) {
        telling->failure.retry_after_ms = 0;
        return true;
    }
    const char *what = telling->end == PAWL_WORK_COMPLETED ? "result"
                       : telling->end == PAWL_WORK_FAILED  ? "failure"
                                                           : "delay";
    (void)snprintf(telling->text, sizeof telling->text, "the %s was refused: %s", what, err->text);
    fail_with(telling, telling->text, true);
    return true;
}

/* The lease is lost, and the work has stopped. */
static void say_stopped(struct pawl_supervisor *supervisor, const struct pawl_telling *telling)
{
    for (int tries = 0; tries < STOPPED_TRIES_MAX; tries++) {
        enum pawl_code code = pawl_lease_stopped(supervisor->pawl, &telling->fence, NULL);
        if (!pawl_code_repeats(code))
            return; /* STATE: its end is still to come, and finds no lock */
    }
}

/* We count an attempt's time from a little before the engine does. The engine is let go first, so
 * that the end of one attempt is not told twice. */
static bool has_timed_out(struct pawl_supervisor *supervisor, const struct pawl_telling *telling)
{
    for (int looks = 0; telling->is_timed_out && looks < TIMED_OUT_LOOKS_MAX; looks++) {
        enum pawl_code code = pawl_lease_stopped(supervisor->pawl, &telling->fence, NULL);
        if (code == PAWL_OK || code == PAWL_LEASE_LOST) return true;
        if (code != PAWL_STATE) return false;
        wait_ms(supervisor, TIMED_OUT_LOOK_EVERY_MS);
    }
    return false;
}

enum pawl_code pawl_work_tell(struct pawl_supervisor *supervisor, struct pawl_telling *telling,
                              struct pawl_error *err)
{
    struct pawl_error why = {0};
    if (telling->goes_on)
        (void)pawl_error_set(&why, PAWL_LEASE_LOST, "somebody holds its lock still");
    if (!telling->goes_on && has_timed_out(supervisor, telling)) return PAWL_OK;
    while (!telling->goes_on) {
        int64_t again_ms;
        bool must_end = is_over(supervisor, telling->number, &again_ms);
        if (must_end && !telling->is_timed_out) break;
        enum pawl_code code = say(supervisor->pawl, telling, &why);
        if (code == PAWL_OK) return PAWL_OK;
        if (turn_into_failure(telling, code, &why)) continue;
        bool may_help = pawl_code_repeats(code) || code == PAWL_IO || code == PAWL_NO_MEMORY;
        bool is_refused = code == PAWL_INVALID || code == PAWL_TOO_LARGE || code == PAWL_MISUSE;
        if (is_refused && telling->is_detached) {
            if (err != NULL) *err = why;
            return code;
        }
        if (!may_help || must_end) break;
        wait_ms(supervisor, again_ms);
    }
    pawl_log_write(&supervisor->pawl->log, PAWL_LOG_WARN, "work.lease_lost",
                   PAWL_TEXT("task", telling->fence.task_id),
                   PAWL_INT("epoch", telling->fence.epoch),
                   PAWL_TEXT("error", pawl_str_of(why.text)));
    if (!telling->goes_on) say_stopped(supervisor, telling);
    return pawl_error_set(err, PAWL_LEASE_LOST, "the lease of task %.*s was lost%s%s",
                          PAWL_STR_ARG(telling->fence.task_id), why.text[0] != '\0' ? ": " : "",
                          why.text);
}

/* ---- The way of a work ----------------------------------------------------------------------- */

/* Those that were asked to stop, and did not complete. */
static void end_as_asked(struct pawl_telling *telling, const struct pawl_work *work,
                         enum pawl_stop_reason reason)
{
    switch (reason) {
    case PAWL_STOP_NONE:
        break;
    case PAWL_STOP_DRAINING:
        telling->end = PAWL_WORK_RELEASED;
        telling->delay_ms = 0;
        break;
    case PAWL_STOP_PAUSED:
        telling->end = PAWL_WORK_PAUSED;
        break;
    case PAWL_STOP_CANCELLED:
        telling->end = PAWL_WORK_CANCELLED;
        break;
    case PAWL_STOP_NO_PROGRESS:
        (void)snprintf(telling->text, sizeof telling->text, "no progress for %" PRId64 " ms",
                       work->supervisor->options.progress_ms);
        fail_with(telling, telling->text, false);
        break;
    case PAWL_STOP_TIMED_OUT:
        (void)snprintf(telling->text, sizeof telling->text,
                       "attempt timed out after %" PRId64 " ms", work->grant.timeout_ms);
        fail_with(telling, telling->text, false);
        telling->is_timed_out = true;
        break;
    case PAWL_STOP_LOST:
        break;
    }
}

static void choose_end(struct pawl_telling *telling, const struct pawl_work *work,
                       enum pawl_work_end end, enum pawl_stop_reason reason)
{
    telling->end = end;
    telling->result = work->result;
    telling->failure = work->failure;
    telling->delay_ms = work->delay_ms;
    bool has_completed = end == PAWL_WORK_COMPLETED && reason != PAWL_STOP_TIMED_OUT;
    if (!has_completed && reason != PAWL_STOP_NONE) {
        end_as_asked(telling, work, reason);
    } else if (end == PAWL_WORK_STOPPED) {
        fail_with(telling, "cancelled by worker: its handler stopped without being asked to",
                  false);
    } else if (end < PAWL_WORK_COMPLETED || end > PAWL_WORK_YIELDED) {
        fail_with(telling, "its handler returned what is no end of work", true);
    } else if (pawl_arena_code(work->arena) != PAWL_OK) {
        fail_with(telling, "no memory for what its handler gave", false);
    } else if (end == PAWL_WORK_FAILED && telling->failure.error.len == 0) {
        telling->failure.error = PAWL_STR("its handler failed");
    }
}

/* Lets go of the lock. A child that the handler has left behind with it keeps the task open; false
 * if the lease was over before the child was. */
static bool let_go(struct pawl_work *work, struct pawl_execution *execution)
{
    int64_t again_ms;
    bool has_stopped;
    while (!(has_stopped = pawl_execution_has_stopped(execution)) &&
           !is_over(work->supervisor, work->number, &again_ms)) {
        wait_ms(work->supervisor, again_ms < WAIT_MS_MAX / 10 ? again_ms : WAIT_MS_MAX / 10);
    }
    pawl_execution_close(execution);
    return has_stopped;
}

/* Runs the handler under the lock; false if it could not begin. */
static bool run_handler(struct pawl_work *work, enum pawl_work_end *end,
                        struct pawl_telling *telling)
{
    struct pawl_supervisor *supervisor = work->supervisor;
    struct pawl_execution *execution = NULL;
    struct pawl_error err = {0};
    enum pawl_code code = PAWL_NO_MEMORY;
    telling->end = PAWL_WORK_RELEASED;
    if (pawl_work_stop_reason(work) != PAWL_STOP_NONE) return false;
    if (work->has_room) {
        code = pawl_execution_begin(supervisor->pawl, &work->grant.fence, &execution, &err);
    }
    if (code == PAWL_LEASE_LOST || code == PAWL_CONFLICT) {
        telling->goes_on = code == PAWL_CONFLICT;
        pawl_keeper_lose(supervisor->keeper, work->number);
        return false;
    }
    if (code != PAWL_OK) {
        telling->delay_ms = PAWL_WORK_AGAIN_MS;
        pawl_log_write(&supervisor->pawl->log, PAWL_LOG_ERROR, "work.start_failed",
                       PAWL_TEXT("task", work->grant.fence.task_id),
                       PAWL_TEXT("code", pawl_str_of(pawl_code_name(code))),
                       PAWL_TEXT("error", pawl_str_of(err.text)));
        return false;
    }
    *end = supervisor->options.handler(supervisor->options.self, work);
    telling->goes_on = !let_go(work, execution);
    return true;
}

enum pawl_code pawl_work_run(struct pawl_work *work, enum pawl_work_end *end,
                             struct pawl_error *err)
{
    struct pawl_supervisor *supervisor = work->supervisor;
    struct pawl_telling telling = {.number = work->number, .fence = work->grant.fence};
    enum pawl_work_end returned = PAWL_WORK_STOPPED;
    work->thread = pthread_self();
    bool has_run = run_handler(work, &returned, &telling);

    (void)pthread_mutex_lock(&supervisor->mutex);
    struct pawl_item *item = &supervisor->items[work->number];
    enum pawl_stop_reason reason = item->reason;
    bool is_detached =
        has_run && !telling.goes_on && returned == PAWL_WORK_DETACHED && reason != PAWL_STOP_LOST;
    if (is_detached) {
        pawl_item_detach(supervisor, work->number);
    } else {
        item->is_telling = true;
        (void)pthread_cond_broadcast(
            &supervisor->changed); /* whoever waited for it to be detached */
    }
    (void)pthread_mutex_unlock(&supervisor->mutex);
    if (is_detached) {
        *end = PAWL_WORK_DETACHED;
        return PAWL_OK;
    }
    if (has_run) choose_end(&telling, work, returned, reason);
    enum pawl_code code = pawl_work_tell(supervisor, &telling, err);
    pawl_log_write(&supervisor->pawl->log, PAWL_LOG_DEBUG, "work.ended",
                   PAWL_TEXT("task", telling.fence.task_id), PAWL_INT("epoch", telling.fence.epoch),
                   PAWL_INT("end", telling.end),
                   PAWL_TEXT("reason", pawl_str_of(pawl_stop_reason_name(reason))));
    (void)pthread_mutex_lock(&supervisor->mutex);
    pawl_item_drop(supervisor, work->number);
    (void)pthread_mutex_unlock(&supervisor->mutex);
    *end = telling.end;
    return code;
}
