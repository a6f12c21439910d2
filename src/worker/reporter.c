/* Threads: reporter_run and what it calls is the reporter's own; the rest is called by the
 * worker's. */
#include "worker/reporter.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/str.h"
#include "supervisor/clock.h"
#include "supervisor/keeper.h"
#include "worker/board.h"
#include "worker/fate.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    /* What a command may be ahead of the store. Beyond, it waits in its own write. */
    LOG_BYTES_MAX = 64 * 1024,
    /* Of one entry: mended, three times as much is still one line of a log. */
    CHUNK_BYTES_MAX = 16 * 1024,
    RETRY_MS_MIN = 50,
    RETRY_MS_MAX = 1000,
    LOG_TRIES_MAX = 8, /* then these lines are given up: the outcome matters more */
};

enum stage {
    IDLE,      /* no task */
    BEGINNING, /* its execution is to begin */
    BEGUN,     /* or could not; the worker has not looked yet */
    WORKING,   /* log comes in */
    ENDED,     /* there is an outcome */
    SETTLED,   /* it is dealt with; the worker has not looked yet */
};

struct pawl_reporter {
    struct pawl_reporter_options options;
    pthread_t thread;
    bool has_thread;
    struct pawl_arena *arena; /* the reporter thread's */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    enum stage stage;
    bool is_stopping;
    bool is_hurried;
    struct pawl_fence fence;
    struct pawl_begun begun;
    struct pawl_ending ending;
    size_t log_len;
    char log[LOG_BYTES_MAX];
};

/* What the thread has to do next. */
struct work {
    bool is_over;   /* the thread ends */
    bool begins;    /* the execution is next */
    bool has_ended; /* the outcome is next */
    struct pawl_fence fence;
    struct pawl_ending ending;
    bool is_retold; /* the outcome, in the only words left */
    size_t len;
    char bytes[CHUNK_BYTES_MAX];
};

/* How much of the log can go as one entry: whole lines, or at the end or when one is too long, what
 * there is. 0 = wait for more. */
static size_t ready_bytes(const struct pawl_reporter *reporter)
{
    size_t len = reporter->log_len < CHUNK_BYTES_MAX ? reporter->log_len : CHUNK_BYTES_MAX;
    const char *last = len > 0 ? memrchr(reporter->log, '\n', len) : NULL;
    if (last != NULL) return (size_t)(last - reporter->log) + 1;
    bool is_all = reporter->stage == ENDED || len == CHUNK_BYTES_MAX;
    return is_all ? len : 0;
}

/* ---- The reporter's thread ------------------------------------------------------------------- */

static void wait_for_work(struct pawl_reporter *reporter, struct work *work)
{
    pthread_mutex_lock(&reporter->mutex);
    size_t len = ready_bytes(reporter);
    while (len == 0 && reporter->stage != BEGINNING && reporter->stage != ENDED &&
           !reporter->is_stopping) {
        (void)pthread_cond_wait(&reporter->changed, &reporter->mutex);
        len = ready_bytes(reporter);
    }
    work->is_over = reporter->is_stopping;
    work->begins = reporter->stage == BEGINNING;
    work->has_ended = len == 0 && reporter->stage == ENDED;
    work->fence = reporter->fence;
    work->ending = reporter->ending;
    work->is_retold = false;
    work->len = len;
    memcpy(work->bytes, reporter->log, len);
    memmove(reporter->log, reporter->log + len, reporter->log_len - len);
    reporter->log_len -= len;
    pthread_mutex_unlock(&reporter->mutex);
}

static bool is_lost(struct pawl_reporter *reporter)
{
    struct pawl_kept kept = pawl_keeper_look(reporter->options.keeper, reporter->options.slot);
    return kept.is_lost || pawl_clock_boot_ms() >= kept.stop_at_boot_ms;
}

static bool is_hurried(struct pawl_reporter *reporter)
{
    pthread_mutex_lock(&reporter->mutex);
    bool result = reporter->is_hurried;
    pthread_mutex_unlock(&reporter->mutex);
    return result;
}

static void sleep_ms(int64_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&time,
                    NULL); /* signals are blocked in this thread; a shorter wait would do no harm */
}

/* Waits before try number n (from 1) of a call that failed with code; false if another try is no
 * use. */
static bool may_try_again(struct pawl_reporter *reporter, enum pawl_code code, int32_t tries)
{
    bool may_help = pawl_code_repeats(code) || code == PAWL_IO || code == PAWL_NO_MEMORY;
    if (!may_help || is_lost(reporter) || is_hurried(reporter)) return false;
    int64_t wait_ms = tries < 5 ? RETRY_MS_MIN * (INT64_C(1) << tries) : RETRY_MS_MAX;
    sleep_ms(wait_ms < RETRY_MS_MAX ? wait_ms : RETRY_MS_MAX);
    return !is_lost(reporter);
}

static void begin(struct pawl_reporter *reporter, const struct work *work)
{
    struct pawl_begun begun = {0};
    for (int32_t tries = 0;; tries++) {
        begun.code = pawl_execution_begin(reporter->options.pawl, &work->fence, &begun.execution,
                                          &begun.err);
        if (begun.code == PAWL_OK || begun.code == PAWL_IO) break;
        if (!may_try_again(reporter, begun.code, tries)) break;
    }
    pthread_mutex_lock(&reporter->mutex);
    reporter->begun = begun;
    reporter->stage = BEGUN;
    pthread_mutex_unlock(&reporter->mutex);
}

static void pass_on(struct pawl_reporter *reporter, const struct work *work)
{
    const char *at = work->bytes;
    const char *end = work->bytes + work->len;
    if (!reporter->options.is_terminal) {
        (void)fwrite(at, 1, work->len, stderr);
        if (end[-1] != '\n') (void)fputc('\n', stderr);
        return;
    }
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL) line_end = end;
        (void)fprintf(stderr, "%.*s | ", PAWL_STR_ARG(work->fence.task_id));
        for (; at < line_end; at++) {
            /* Nothing that could speak to the terminal. */
            unsigned char byte = (unsigned char)*at;
            if ((byte >= 0x20 && byte != 0x7F) || byte == '\t') (void)fputc(byte, stderr);
        }
        (void)fputc('\n', stderr);
        at = line_end + 1;
    }
}

static void write_log(struct pawl_reporter *reporter, const struct work *work)
{
    struct pawl_change change = PAWL_CHANGE_INIT;
    change.fence = &work->fence;
    struct pawl_error err = {0};
    struct pawl_str text = {work->bytes, work->len};
    if (text.ptr[text.len - 1] == '\n') text.len--;
    pawl_arena_reset(reporter->arena);
    text = pawl_text_mend(text, reporter->arena);
    enum pawl_code code = PAWL_OK;
    for (int32_t tries = 0; tries < LOG_TRIES_MAX && text.len > 0; tries++) {
        code = pawl_task_log(reporter->options.pawl, work->fence.task_id, text, &change, &err);
        if (code == PAWL_OK || !may_try_again(reporter, code, tries)) break;
    }
    if (code == PAWL_OK) return;
    if (code == PAWL_LEASE_LOST) pawl_keeper_lose(reporter->options.keeper, reporter->options.slot);
    pawl_log_write(reporter->options.log, PAWL_LOG_WARN, "worker.log_dropped",
                   PAWL_TEXT("task", work->fence.task_id),
                   PAWL_TEXT("code", pawl_str_of(pawl_code_name(code))),
                   PAWL_TEXT("error", pawl_str_of(err.text)));
}

/* That the work has stopped, so that the task need not wait for its proof. Where the store holds
 * the lease to be ours still, the task is given back as one does then. */
static enum pawl_code say_stopped(struct pawl_reporter *reporter, const struct work *work,
                                  struct pawl_error *err)
{
    struct pawl *pawl = reporter->options.pawl;
    struct pawl_change change = PAWL_CHANGE_INIT;
    struct pawl_failure failure = PAWL_FAILURE_INIT;
    change.fence = &work->fence;
    failure.error = work->ending.text;
    enum pawl_code code = pawl_lease_stopped(pawl, &work->fence, err);
    if (code == PAWL_STATE) {
        code = work->ending.is_timed_out
                   ? pawl_task_fail(pawl, work->fence.task_id, &failure, &change, err)
                   : pawl_task_release(pawl, work->fence.task_id, 0, &change, err);
    }
    return code == PAWL_LEASE_LOST ? PAWL_OK : code; /* somebody has seen to it */
}

static enum pawl_code say(struct pawl_reporter *reporter, const struct work *work,
                          struct pawl_error *err)
{
    struct pawl *pawl = reporter->options.pawl;
    const struct pawl_ending *ending = &work->ending;
    struct pawl_str id = work->fence.task_id;
    struct pawl_change change = PAWL_CHANGE_INIT;
    change.fence = &work->fence;
    struct pawl_failure failure = PAWL_FAILURE_INIT;
    switch (ending->kind) {
    case PAWL_ENDING_NONE:
        return PAWL_OK;
    case PAWL_ENDING_STOPPED:
        return say_stopped(reporter, work, err);
    case PAWL_ENDING_COMPLETE:
        return pawl_task_complete(pawl, id, ending->text, &change, err);
    case PAWL_ENDING_RELEASE:
        return pawl_task_release(pawl, id, 0, &change, err);
    case PAWL_ENDING_CANCEL:
        return pawl_task_cancel(pawl, id, false, &change, err);
    case PAWL_ENDING_PAUSE:
        return pawl_task_pause(pawl, id, &change, err);
    case PAWL_ENDING_FAIL:
        break;
    }
    failure.error = ending->text;
    failure.is_final = ending->is_final;
    failure.retry_after_ms = ending->retry_after_ms;
    return pawl_task_fail(pawl, id, &failure, &change, err);
}

/* What the store refuses as it is told is told in another way, or the task would wait for the end
 * of its lease: a failure without its delay, then without its text, and a result as a failure that
 * no retry mends. False if there is no other way. */
static bool tell_otherwise(struct pawl_reporter *reporter, struct work *work, enum pawl_code code,
                           const struct pawl_error *err)
{
    struct pawl_ending *ending = &work->ending;
    bool is_refused = code == PAWL_INVALID || code == PAWL_TOO_LARGE;
    if (!is_refused || work->is_retold) return false;
    if (ending->kind == PAWL_ENDING_COMPLETE) {
        *ending = (struct pawl_ending){.kind = PAWL_ENDING_FAIL, .is_final = true};
        ending->text = pawl_arena_format(reporter->arena, "the result was refused: %s", err->text);
    } else if (ending->retry_after_ms != 0) {
        ending->retry_after_ms = 0;
    } else {
        ending->kind = PAWL_ENDING_FAIL;
        ending->text = pawl_arena_format(reporter->arena, "the outcome was refused: %s", err->text);
        work->is_retold = true; /* nothing of it is the command's any more */
    }
    pawl_log_write(reporter->options.log, PAWL_LOG_WARN, "worker.outcome_refused",
                   PAWL_TEXT("task", work->fence.task_id), PAWL_INT("epoch", work->fence.epoch),
                   PAWL_TEXT("code", pawl_str_of(pawl_code_name(code))),
                   PAWL_TEXT("error", pawl_str_of(err->text)));
    return true;
}

/* ---- The line of the log about the end ---- */

static void log_fate(struct pawl_reporter *reporter, const struct work *work, const char *outcome)
{
    pawl_log_write(reporter->options.log, PAWL_LOG_INFO, "worker.task_ended",
                   PAWL_TEXT("task", work->fence.task_id), PAWL_INT("epoch", work->fence.epoch),
                   PAWL_TEXT("outcome", pawl_str_of(outcome)));
}

/* How the command ended, why that is a failure, and when it is tried again. */
static void log_failure(struct pawl_reporter *reporter, const struct work *work,
                        const char *outcome, struct pawl_str error,
                        const struct pawl_fate_look *look)
{
    const struct pawl_ending *ending = &work->ending;
    bool is_signal = ending->signal_number != 0;
    bool waits = look->is_known && look->task.state == PAWL_TASK_QUEUED;
    char retry_at[PAWL_INSTANT_TEXT_BYTES_MAX + 1] = "";
    if (waits) {
        int64_t at_ms = look->task.next_retry_at_ms;
        pawl_instant_format(at_ms != 0 ? at_ms : look->task.updated_at_ms, retry_at);
    }
    const char *state = look->is_known ? pawl_task_state_name(look->task.state) : "unknown";
    pawl_log_write(reporter->options.log, PAWL_LOG_WARN, "worker.task_ended",
                   PAWL_TEXT("task", work->fence.task_id), PAWL_INT("epoch", work->fence.epoch),
                   PAWL_TEXT("outcome", pawl_str_of(outcome)),
                   PAWL_INT(is_signal ? "signal" : "exit_status",
                            is_signal ? ending->signal_number : ending->exit_status),
                   PAWL_TEXT("error", pawl_error_excerpt(error)),
                   PAWL_TEXT(waits ? "retry_at" : "state", pawl_str_of(waits ? retry_at : state)));
}

static void log_dropped(struct pawl_reporter *reporter, const struct work *work,
                        enum pawl_code code, const struct pawl_error *err)
{
    pawl_log_write(reporter->options.log, PAWL_LOG_WARN, "worker.outcome_dropped",
                   PAWL_TEXT("task", work->fence.task_id), PAWL_INT("epoch", work->fence.epoch),
                   PAWL_TEXT("outcome", pawl_str_of(pawl_ending_name(work->ending.kind))),
                   PAWL_TEXT("code", pawl_str_of(pawl_code_name(code))),
                   PAWL_TEXT("error", pawl_str_of(err->text)));
}

/* ---- The end ---- */

/* True if there is nothing to tell the store: the task has ended already, in a way that is known.
 */
static bool has_ended(struct pawl_reporter *reporter, const struct work *work)
{
    struct pawl_fate_look look =
        pawl_fate_of(reporter->options.pawl, &work->fence, reporter->arena);
    switch (look.fate) {
    case PAWL_FATE_BY_ITSELF:
        log_fate(reporter, work, "by_itself");
        return true;
    case PAWL_FATE_TIMED_OUT:
        log_failure(reporter, work, "timed_out", look.task.error, &look);
        return true;
    case PAWL_FATE_OURS:
    case PAWL_FATE_LOST:
        break;
    }
    return false;
}

/* What became of the task after it was said that its work has stopped. */
static void log_stopped(struct pawl_reporter *reporter, const struct work *work)
{
    if (has_ended(reporter, work)) return;
    pawl_log_write(reporter->options.log, PAWL_LOG_WARN, "worker.lease_lost",
                   PAWL_TEXT("task", work->fence.task_id), PAWL_INT("epoch", work->fence.epoch));
}

static void log_ending(struct pawl_reporter *reporter, const struct work *work)
{
    switch (work->ending.kind) {
    case PAWL_ENDING_NONE:
    case PAWL_ENDING_STOPPED:
        log_stopped(reporter, work);
        break;
    case PAWL_ENDING_FAIL: {
        struct pawl_fate_look look =
            pawl_fate_of(reporter->options.pawl, &work->fence, reporter->arena);
        log_failure(reporter, work, "fail", work->ending.text, &look);
        break;
    }
    case PAWL_ENDING_COMPLETE:
    case PAWL_ENDING_RELEASE:
    case PAWL_ENDING_CANCEL:
    case PAWL_ENDING_PAUSE:
        log_fate(reporter, work, pawl_ending_name(work->ending.kind));
        break;
    }
}

static void write_ending(struct pawl_reporter *reporter, struct work *work)
{
    struct pawl_error err = {0};
    enum pawl_code code = PAWL_OK;
    pawl_arena_reset(reporter->arena);
    if (has_ended(reporter, work)) return;
    pawl_arena_reset(reporter->arena);
    for (int32_t tries = 0;; tries++) {
        code = say(reporter, work, &err);
        if (code == PAWL_OK) break;
        if (tell_otherwise(reporter, work, code, &err)) continue;
        if (!may_try_again(reporter, code, tries)) break;
    }
    if (code == PAWL_LEASE_LOST && has_ended(reporter, work)) return; /* since we have looked */
    if (code == PAWL_OK) {
        log_ending(reporter, work);
    } else {
        log_dropped(reporter, work, code, &err);
    }
    /* Refused, the outcome is kept as a late one; the lease is over, and so is the work. */
    if (code == PAWL_LEASE_LOST) (void)say_stopped(reporter, work, &err);
}

static void *reporter_run(void *self)
{
    struct pawl_reporter *reporter = self;
    struct work work;
    for (;;) {
        wait_for_work(reporter, &work);
        if (work.is_over) return NULL;
        if (work.begins) {
            begin(reporter, &work);
        } else if (!work.has_ended) {
            pawl_board_begin(reporter->options.board);
            pass_on(reporter, &work);
            pawl_board_end(reporter->options.board);
            if (!is_lost(reporter)) write_log(reporter, &work);
        } else {
            write_ending(reporter, &work);
            pthread_mutex_lock(&reporter->mutex);
            reporter->stage = SETTLED;
            pthread_mutex_unlock(&reporter->mutex);
        }
        pawl_fd_ring(reporter->options.heard_fd);
    }
}

/* ---- The worker's thread --------------------------------------------------------------------- */

enum pawl_code pawl_reporter_open(struct pawl_reporter **out,
                                  const struct pawl_reporter_options *options,
                                  struct pawl_error *err)
{
    struct pawl_reporter *reporter = calloc(1, sizeof *reporter);
    if (reporter == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to report");
    reporter->options = *options;
    pthread_mutex_init(&reporter->mutex, NULL);
    pthread_cond_init(&reporter->changed, NULL);
    if (pawl_arena_open(&reporter->arena, 0) == PAWL_OK) {
        reporter->has_thread = pthread_create(&reporter->thread, NULL, reporter_run, reporter) == 0;
    }
    if (!reporter->has_thread) {
        pawl_reporter_close(reporter);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory or thread to report");
    }
    (void)pthread_setname_np(reporter->thread, "pawl-report"); /* a name is for people */
    *out = reporter;
    return PAWL_OK;
}

void pawl_reporter_close(struct pawl_reporter *reporter)
{
    if (reporter == NULL) return;
    if (reporter->has_thread) {
        pthread_mutex_lock(&reporter->mutex);
        pawl_assert(reporter->stage == IDLE);
        reporter->is_stopping = true;
        pthread_cond_signal(&reporter->changed);
        pthread_mutex_unlock(&reporter->mutex);
        (void)pthread_join(reporter->thread, NULL);
    }
    pthread_cond_destroy(&reporter->changed);
    pthread_mutex_destroy(&reporter->mutex);
    pawl_arena_close(reporter->arena);
    free(reporter);
}

void pawl_reporter_begin(struct pawl_reporter *reporter, const struct pawl_fence *fence)
{
    pthread_mutex_lock(&reporter->mutex);
    pawl_assert(reporter->stage == IDLE);
    pawl_assert(reporter->log_len == 0);
    reporter->fence = *fence;
    reporter->stage = BEGINNING;
    pthread_cond_signal(&reporter->changed);
    pthread_mutex_unlock(&reporter->mutex);
}

bool pawl_reporter_has_begun(struct pawl_reporter *reporter, struct pawl_begun *out)
{
    pthread_mutex_lock(&reporter->mutex);
    bool has_begun = reporter->stage == BEGUN;
    if (has_begun) {
        *out = reporter->begun;
        reporter->begun = (struct pawl_begun){0};
        reporter->stage = WORKING;
    }
    pthread_mutex_unlock(&reporter->mutex);
    return has_begun;
}

size_t pawl_reporter_room(struct pawl_reporter *reporter)
{
    pthread_mutex_lock(&reporter->mutex);
    size_t room = LOG_BYTES_MAX - reporter->log_len;
    pthread_mutex_unlock(&reporter->mutex);
    return room;
}

void pawl_reporter_log(struct pawl_reporter *reporter, struct pawl_str bytes)
{
    pthread_mutex_lock(&reporter->mutex);
    pawl_assert(reporter->stage == WORKING);
    pawl_assert(bytes.len <= LOG_BYTES_MAX - reporter->log_len);
    memcpy(reporter->log + reporter->log_len, bytes.ptr, bytes.len);
    reporter->log_len += bytes.len;
    pthread_cond_signal(&reporter->changed);
    pthread_mutex_unlock(&reporter->mutex);
}

void pawl_reporter_end(struct pawl_reporter *reporter, const struct pawl_ending *ending)
{
    pthread_mutex_lock(&reporter->mutex);
    pawl_assert(reporter->stage == WORKING);
    reporter->ending = *ending;
    reporter->stage = ENDED;
    pthread_cond_signal(&reporter->changed);
    pthread_mutex_unlock(&reporter->mutex);
}

void pawl_reporter_hurry(struct pawl_reporter *reporter)
{
    pthread_mutex_lock(&reporter->mutex);
    reporter->is_hurried = true;
    pthread_mutex_unlock(&reporter->mutex);
}

bool pawl_reporter_is_settled(struct pawl_reporter *reporter)
{
    pthread_mutex_lock(&reporter->mutex);
    bool is_settled = reporter->stage == SETTLED;
    if (is_settled) reporter->stage = IDLE;
    pthread_mutex_unlock(&reporter->mutex);
    return is_settled;
}
