/* The loop: what runs, what is due, who is to be stopped. One thread; see worker.h for the others.
 *
 *   FREE -> BEGINNING -> WORKING -> CLEARING -> REPORTING -> FREE
 *
 * A slot begins when its execution has its lock; works while its command runs; clears what the
 * command has left running, until nobody holds the lock; and reports. All reasons to stop a command
 * meet in stop(). One that ends with exit status 0 all the same has finished its work, and the task
 * is completed, unless its time was up. Else the first reason decides what becomes of the task,
 * except that a lost lease beats all: then only that the work has stopped may be said. What ends by
 * itself after its lease is lost is told like any other: it is refused, and kept as a late result.
 */
#include "worker/worker.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "engine/engine.h"
#include "supervisor/clock.h"
#include "supervisor/keeper.h"
#include "worker/board.h"
#include "worker/folder.h"
#include "worker/leftover.h"
#include "worker/process.h"
#include "worker/reporter.h"
#include "worker/talk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    /* How long a claim waits for a task; the end of the worker ends the wait. */
    CLAIM_WAIT_MS = PAWL_WAIT_MS_MAX,
    /* The same while commands run and the worker is to end once nothing is left. */
    CLAIM_WAIT_BRIEF_MS = 100,
    QUEUES_BYTES_MAX = 256, /* of their names in the line that tells of the start */
    CLAIM_RETRY_MS_MIN = 100,
    CLAIM_RETRY_MS_MAX = 5000,
    /* A machine that cannot start commands now may in a moment, and may for hours not. */
    START_RETRY_MS_MIN = 1000,
    START_RETRY_MS_MAX = 60 * 1000,
    /* The JSON of a task, while it is written, and what its command prints. */
    SLOT_BYTES_MAX = 128 * 1024 * 1024,
    READ_BYTES = 16 * 1024,
    /* Looks for what a command has left running, until it has gone. Its end is heard of; the rest
     * may be nobody's child of ours. */
    CLEAR_LOOK_MS_MIN = 1,
    CLEAR_LOOK_MS_MAX = 250,
    /* Between two drawings of the lines on a terminal. */
    BOARD_MS = 200,
    /* Descriptors: of a slot whose command runs, while another is being started, and of the rest. A client of its
     * socket has one more, for an instant. */
    SLOT_FDS = 6,
    OTHER_FDS = 64,
};

enum phase { FREE, BEGINNING, WORKING, CLEARING, REPORTING };

/* Why a command is told to stop. The first that comes stays, since the command has had its SIGTERM
 * for it; only a lost lease takes the place of another, because then nothing may be said of the
 * task. */
enum reason {
    STOP_NONE,
    STOP_DRAIN,
    STOP_TIMEOUT,
    STOP_PAUSE,
    STOP_CANCEL,
    STOP_LOST,
};

struct slot {
    int32_t number; /* of all pools together */
    struct pool *pool;
    enum phase phase;
    struct pawl_arena *arena; /* of its task */
    struct pawl_reporter *reporter;
    struct pawl_talk *talk;
    struct pawl_process process;
    bool is_prepared; /* the process can be started */
    struct pawl_fence fence;
    struct pawl_str queue;
    int32_t attempt;
    int64_t lease_ms;
    int64_t ahead_ms; /* the clock of the store minus the boot clock, as far as the grant tells */
    bool is_talking;
    int64_t retry_after_ms; /* what the command asked for, once it does not talk any more */
    struct pawl_execution *execution; /* NULL unless begun */
    struct pawl_leftover leftover;
    int64_t started_boot_ms;
    int64_t timeout_ms;      /* 0 = none */
    bool is_own_timeout;     /* of the task, not of the worker's options */
    enum reason reason;      /* why it was told to stop */
    int64_t kill_at_boot_ms; /* once told to; of what is left, while it is cleared */
    int64_t look_at_boot_ms; /* clearing: the next look, and how long until the one after it */
    int64_t look_ms;
    bool is_uncontained; /* clearing: somebody whom we cannot stop holds the lock */
};

struct pool { /* beside the worker's thread, a claimer and a keeper */
    struct worker *worker;
    const struct pawl_worker_pool *options;
    struct pawl_process_plan plan;
    struct pawl_keeper *keeper;
    struct pawl_claimer *claimer;
    struct slot *slots; /* of the worker's */
    bool is_quiet;      /* no slot of any pool worked when its claim under way was asked */
    int64_t empty_turn; /* what turn it was when nothing was found and nothing ran; -1 = never */
    int64_t turn;       /* when its claim was asked */
    int64_t claim_at_boot_ms;
    int64_t claim_retry_ms;
    int64_t start_retry_ms; /* 0 unless commands could not be started */
};

struct worker {
    const struct pawl_worker_options *options;
    int64_t grace_ms;
    int heard_fd; /* rung by the other threads */
    int timer_fd;
    int child_fd; /* tells of SIGCHLD */
    struct pawl_folder folder;
    struct pawl_low_fds low;
    struct rlimit files; /* as pawl_process_plan has it */
    struct pool *pools;
    size_t pool_count;
    struct slot *slots;
    int32_t slot_count;
    struct pawl *keeping; /* owned: the keepers' handle */
    struct pollfd *poll_fds;
    pid_t *commands; /* of each slot, 0 = none; filled by find_commands */

    bool claims_are_over;     /* no more tasks are asked for */
    int64_t turn;             /* grows when a slot begins or gets free */
    bool child_has_ended;     /* since the last round */
    int64_t board_at_boot_ms; /* the next drawing */
    bool is_draining;
    int64_t drain_until_boot_ms; /* then commands are stopped */
    bool is_hurried;
    bool is_gone; /* the store is: nothing can be told any more */
    enum pawl_code code; /* why it ends, if not in order */
    struct pawl_error err;
};

/* ---- Slots ----------------------------------------------------------------------------------- */

static int32_t free_count(const struct slot *slots, int32_t slot_count)
{
    int32_t count = 0;
    for (int32_t i = 0; i < slot_count; i++) count += slots[i].phase == FREE ? 1 : 0;
    return count;
}

static bool is_idle(const struct worker *worker)
{
    return free_count(worker->slots, worker->slot_count) == worker->slot_count;
}

static struct slot *free_slot(struct pool *pool)
{
    for (int32_t i = 0; i < pool->options->slots; i++) {
        if (pool->slots[i].phase == FREE) return &pool->slots[i];
    }
    return NULL;
}

static struct pawl_kept kept_of(const struct slot *slot)
{
    return pawl_keeper_look(slot->pool->keeper, (int32_t)(slot - slot->pool->slots));
}

static void find_commands(struct worker *worker)
{
    for (int32_t i = 0; i < worker->slot_count; i++) {
        const struct slot *slot = &worker->slots[i];
        worker->commands[i] = slot->phase == WORKING ? slot->process.pid : 0;
    }
}

/* One that is to end anyway does not wait for a machine to get well. */
static void give_up(struct worker *worker, const struct pawl_error *err)
{
    bool is_to_end = worker->options->is_once || worker->options->is_until_empty;
    if (!is_to_end || worker->is_draining || worker->code != PAWL_OK) return;
    worker->claims_are_over = true;
    worker->code = PAWL_IO;
    worker->err = *err;
}

/* The task is not to blame: it goes back uncounted. It is this worker that waits, longer each time,
 * and then tries one task. */
static void take_start_failure(struct worker *worker, struct slot *slot,
                               const struct pawl_error *err)
{
    struct pool *pool = slot->pool;
    int64_t now_boot_ms = pawl_clock_boot_ms();
    if (now_boot_ms >= pool->claim_at_boot_ms) { /* else a sister of it was the first */
        int64_t wait_ms = pool->start_retry_ms == 0 ? START_RETRY_MS_MIN : pool->start_retry_ms * 2;
        pool->start_retry_ms = wait_ms < START_RETRY_MS_MAX ? wait_ms : START_RETRY_MS_MAX;
        pool->claim_at_boot_ms = now_boot_ms + pool->start_retry_ms;
    }
    pawl_log_write(worker->options->log, PAWL_LOG_ERROR, "worker.start_failed",
                   PAWL_TEXT("task", slot->fence.task_id),
                   PAWL_INT("again_in_ms", pool->start_retry_ms),
                   PAWL_TEXT("error", pawl_str_of(err->text)));
    give_up(worker, err);
}

static void report(struct slot *slot, const struct pawl_ending *ending)
{
    slot->phase = REPORTING;
    pawl_reporter_end(slot->reporter, ending);
}

/* Takes a task in hand. */
static void begin(struct pool *pool, struct slot *slot, const struct pawl_grant *grant,
                  int64_t asked_boot_ms)
{
    struct worker *worker = pool->worker;
    pawl_assert(slot->phase == FREE);
    pawl_arena_reset(slot->arena);
    slot->phase = BEGINNING;
    slot->reason = STOP_NONE;
    slot->fence = grant->fence;
    slot->fence.task_id = pawl_arena_copy(slot->arena, grant->fence.task_id);
    slot->fence.owner = pool->options->worker_id;
    slot->queue = pawl_arena_copy(slot->arena, grant->queue);
    slot->attempt = grant->attempt;
    slot->lease_ms = grant->lease_ms;
    bool is_cut = grant->timeout_ms > 0 && grant->timeout_ms < grant->lease_ms;
    int64_t held_ms = is_cut ? grant->timeout_ms : grant->lease_ms;
    slot->ahead_ms = grant->lease_end_at_ms - (asked_boot_ms + held_ms);
    pawl_assert(slot->fence.task_id.len > 0); /* an arena that was reset has room for it */
    /* An attempt's time counts from the answer: by then the store counts it too, so that it agrees
     * when we say that it is up. The lease counts from before the question. */
    slot->started_boot_ms = pawl_clock_boot_ms();
    slot->timeout_ms = grant->timeout_ms;
    int64_t own_timeout_ms = worker->options->timeout_ms;
    if (own_timeout_ms > 0 && (slot->timeout_ms == 0 || own_timeout_ms < slot->timeout_ms)) {
        slot->timeout_ms = own_timeout_ms;
    }
    slot->is_own_timeout = grant->timeout_ms != 0 && slot->timeout_ms == grant->timeout_ms;
    int64_t attempt_end = grant->timeout_ms > 0 ? asked_boot_ms + grant->timeout_ms : INT64_MAX;
    pawl_keeper_hold(pool->keeper, (int32_t)(slot - pool->slots), &slot->fence, grant->lease_ms,
                     asked_boot_ms, attempt_end);
    pawl_reporter_begin(slot->reporter, &slot->fence);

    struct pawl_error err = {0};
    enum pawl_code code = pawl_folder_keep(&worker->folder, &err);
    if (code == PAWL_OK) {
        code = pawl_process_prepare(&slot->process, &pool->plan, grant, slot->number, slot->arena,
                                    &err);
    }
    slot->is_prepared = code == PAWL_OK;
    if (code != PAWL_OK) take_start_failure(worker, slot, &err);
}

/* Starts the command, now that its execution has its lock. */
static enum pawl_code start(struct worker *worker, struct slot *slot, struct pawl_error *err)
{
    int lock_fd = pawl_execution_fd(slot->execution);
    pawl_leftover_init(&slot->leftover, &slot->fence, lock_fd);
    enum pawl_code code = pawl_process_start(&slot->process, &slot->pool->plan, lock_fd, err);
    if (code != PAWL_OK) return code;
    slot->phase = WORKING;
    slot->is_talking = true;
    pawl_talk_begin(slot->talk, &slot->fence, slot->lease_ms, slot->ahead_ms,
                    slot->process.listen_fd);
    slot->process.listen_fd = -1; /* the talk's now */
    pawl_log_write(worker->options->log, PAWL_LOG_INFO, "worker.task_started",
                   PAWL_TEXT("task", slot->fence.task_id), PAWL_INT("epoch", slot->fence.epoch),
                   PAWL_TEXT("queue", slot->queue), PAWL_INT("attempt", slot->attempt));
    return PAWL_OK;
}

static void tend_beginning(struct worker *worker, struct slot *slot)
{
    struct pawl_begun begun;
    if (!pawl_reporter_has_begun(slot->reporter, &begun)) return;
    slot->execution = begun.execution;
    enum pawl_code code = begun.code;
    bool may_start = code == PAWL_OK && slot->is_prepared && !worker->is_draining;
    if (may_start) code = start(worker, slot, &begun.err);
    if (slot->phase == WORKING) return;

    if (code != PAWL_OK && code != PAWL_LEASE_LOST) take_start_failure(worker, slot, &begun.err);
    bool is_ours = code == PAWL_OK || code == PAWL_IO; /* else another has it, or it is not known */
    struct pawl_ending ending = {.kind = is_ours ? PAWL_ENDING_RELEASE : PAWL_ENDING_NONE};
    if (slot->is_prepared) pawl_process_close(&slot->process);
    pawl_execution_close(slot->execution);
    slot->execution = NULL;
    report(slot, &ending);
}

static void stop(struct worker *worker, struct slot *slot, enum reason reason, int64_t now_boot_ms)
{
    if (slot->reason == STOP_NONE) {
        slot->kill_at_boot_ms = now_boot_ms + worker->grace_ms;
        pawl_process_signal(&slot->process, SIGTERM);
    }
    if (slot->reason == STOP_NONE || reason == STOP_LOST) slot->reason = reason;
}

/* What became of the task, now that its command has ended. */
static struct pawl_ending ending_of(struct slot *slot)
{
    const struct pawl_process *process = &slot->process;
    struct pawl_str printed = {process->printed, process->printed_len};
    struct pawl_str tail = {process->tail, process->tail_len};
    struct pawl_ending ending = pawl_ending_of_exit(process->wait_status, printed, process->is_cut,
                                                    tail, slot->retry_after_ms, slot->arena);
    switch (slot->reason) {
    case STOP_NONE:
        break;
    case STOP_LOST:
        return (struct pawl_ending){.kind = PAWL_ENDING_STOPPED};
    case STOP_TIMEOUT:
        ending.kind = slot->is_own_timeout ? PAWL_ENDING_STOPPED : PAWL_ENDING_FAIL;
        ending.is_final = false;
        ending.retry_after_ms = 0;
        ending.is_timed_out = slot->is_own_timeout;
        ending.text = pawl_arena_format(slot->arena, "%stimed out after %" PRId64 " ms",
                                        slot->is_own_timeout ? "attempt " : "", slot->timeout_ms);
        break;
    case STOP_DRAIN:
        if (ending.kind == PAWL_ENDING_COMPLETE) break;
        return (struct pawl_ending){.kind = PAWL_ENDING_RELEASE};
    case STOP_PAUSE:
        if (ending.kind == PAWL_ENDING_COMPLETE) break;
        return (struct pawl_ending){.kind = PAWL_ENDING_PAUSE};
    case STOP_CANCEL:
        if (ending.kind == PAWL_ENDING_COMPLETE) break;
        return (struct pawl_ending){.kind = PAWL_ENDING_CANCEL};
    }
    return ending;
}

static void conclude(struct worker *worker, struct slot *slot)
{
    struct pawl_ending ending = ending_of(slot);
    bool is_lost = slot->reason == STOP_LOST;
    if (slot->process.start == PAWL_START_FAILED && !is_lost) {
        ending = (struct pawl_ending){.kind = PAWL_ENDING_RELEASE};
    }
    if (pawl_arena_code(slot->arena) != PAWL_OK) {
        ending = (struct pawl_ending){.kind = PAWL_ENDING_FAIL,
                                      .text = PAWL_STR("no memory for the result")};
    }
    if (slot->is_uncontained && worker->is_draining) {
        ending = (struct pawl_ending){.kind = PAWL_ENDING_NONE}; /* its work goes on */
    }
    if (ending.kind == PAWL_ENDING_COMPLETE && slot->process.is_cut) {
        pawl_log_write(worker->options->log, PAWL_LOG_WARN, "worker.result_cut",
                       PAWL_TEXT("task", slot->fence.task_id), PAWL_INT("epoch", slot->fence.epoch),
                       PAWL_INT("bytes_kept", (int64_t)slot->process.printed_len));
    }
    pawl_log_write(worker->options->log, PAWL_LOG_DEBUG, "worker.command_ended",
                   PAWL_TEXT("task", slot->fence.task_id),
                   PAWL_INT("wait_status", slot->process.wait_status),
                   PAWL_INT("ms", pawl_clock_boot_ms() - slot->started_boot_ms));
    pawl_process_close(&slot->process);
    pawl_execution_close(slot->execution);
    slot->execution = NULL;
    report(slot, &ending);
}

static void pump(struct slot *slot)
{
    char bytes[READ_BYTES];
    pawl_process_read_out(&slot->process);
    size_t room = pawl_reporter_room(slot->reporter);
    size_t len =
        pawl_process_read_err(&slot->process, bytes, room < sizeof bytes ? room : sizeof bytes);
    if (len > 0) pawl_reporter_log(slot->reporter, (struct pawl_str){bytes, len});
}

static int64_t timeout_at(const struct slot *slot)
{
    return slot->timeout_ms == 0 ? INT64_MAX : slot->started_boot_ms + slot->timeout_ms;
}

/* A lease that is cut where the attempt's time is up is not lost before that. */
static int64_t stop_at(const struct pawl_kept *kept)
{
    return kept->is_cut ? INT64_MAX : kept->stop_at_boot_ms;
}

static void look_for_reasons(struct worker *worker, struct slot *slot, int64_t now_boot_ms)
{
    struct pawl_kept kept = kept_of(slot);
    if (kept.is_lost || worker->is_gone) {
        stop(worker, slot, STOP_LOST, now_boot_ms);
    } else if (now_boot_ms >= timeout_at(slot)) {
        stop(worker, slot, STOP_TIMEOUT, now_boot_ms);
    } else if (now_boot_ms >= stop_at(&kept)) {
        stop(worker, slot, STOP_LOST, now_boot_ms);
    } else if (kept.control == PAWL_CONTROL_CANCEL) {
        stop(worker, slot, STOP_CANCEL, now_boot_ms);
    } else if (kept.control == PAWL_CONTROL_PAUSE) {
        stop(worker, slot, STOP_PAUSE, now_boot_ms);
    } else if (worker->is_draining && now_boot_ms >= worker->drain_until_boot_ms) {
        stop(worker, slot, STOP_DRAIN, now_boot_ms);
    }
    if (slot->reason == STOP_NONE) return;
    if (worker->is_hurried || now_boot_ms >= slot->kill_at_boot_ms) {
        pawl_process_signal(&slot->process, SIGKILL);
        slot->kill_at_boot_ms = INT64_MAX; /* once is enough */
    }
}

static void look_at_start(struct worker *worker, struct slot *slot)
{
    if (slot->process.start != PAWL_START_UNKNOWN) return;
    struct pawl_error err = {0};
    enum pawl_start start = pawl_process_started(&slot->process, &slot->pool->plan, &err);
    if (start == PAWL_START_FAILED) take_start_failure(worker, slot, &err);
    if (start == PAWL_START_DONE) slot->pool->start_retry_ms = 0;
}

static void tend_working(struct worker *worker, struct slot *slot, int64_t now_boot_ms)
{
    pawl_process_look(
        &slot->process); /* before reading: what it wrote before its end is then read */
    look_at_start(worker, slot);
    pump(slot);
    if (!slot->process.has_exited) look_for_reasons(worker, slot, now_boot_ms);
    if (!pawl_process_is_over(&slot->process)) return;
    pawl_talk_end(slot->talk);
    slot->phase = CLEARING;
    slot->is_uncontained = false;
    slot->kill_at_boot_ms = now_boot_ms + worker->grace_ms;
    slot->look_at_boot_ms = now_boot_ms;
    slot->look_ms = CLEAR_LOOK_MS_MIN;
}

static void tell_uncontained(struct worker *worker, struct slot *slot)
{
    slot->is_uncontained = true;
    pawl_log_write(worker->options->log, PAWL_LOG_ERROR, "worker.uncontained",
                   PAWL_TEXT("task", slot->fence.task_id), PAWL_INT("epoch", slot->fence.epoch),
                   PAWL_INT("pid", pawl_leftover_holder(&slot->leftover)),
                   PAWL_TEXT("error", PAWL_STR("a process that this worker cannot stop holds the "
                                               "lock of the task's execution")));
}

/* The command has ended; the outcome waits until nothing of it runs. */
static void tend_clearing(struct worker *worker, struct slot *slot, int64_t now_boot_ms)
{
    if (slot->is_talking && pawl_talk_is_over(slot->talk, &slot->retry_after_ms)) {
        slot->is_talking = false;
        slot->look_at_boot_ms = now_boot_ms;
    }
    bool is_due = now_boot_ms >= slot->look_at_boot_ms || worker->child_has_ended;
    if (!is_due && !worker->is_draining) return;
    bool is_kill = worker->is_hurried || now_boot_ms >= slot->kill_at_boot_ms;
    find_commands(worker);
    int32_t left =
        pawl_leftover_stop(&slot->leftover, worker->commands, worker->slot_count, is_kill);
    bool has_stopped = pawl_execution_has_stopped(slot->execution);
    if (left == 0 && !has_stopped && is_kill && !slot->is_uncontained) {
        tell_uncontained(worker, slot);
    }
    bool is_given_up = slot->is_uncontained && worker->is_draining;
    if (!slot->is_talking && ((left == 0 && has_stopped) || is_given_up)) {
        conclude(worker, slot);
        return;
    }
    slot->look_at_boot_ms = now_boot_ms + slot->look_ms;
    slot->look_ms = slot->look_ms < CLEAR_LOOK_MS_MAX ? slot->look_ms * 2 : CLEAR_LOOK_MS_MAX;
}

static void tend(struct worker *worker, struct slot *slot, int64_t now_boot_ms)
{
    if (slot->phase == BEGINNING) tend_beginning(worker, slot);
    if (slot->phase == WORKING) tend_working(worker, slot, now_boot_ms);
    if (slot->phase == CLEARING) tend_clearing(worker, slot, now_boot_ms);
    if (slot->phase == REPORTING && pawl_reporter_is_settled(slot->reporter)) {
        pawl_keeper_drop(slot->pool->keeper, (int32_t)(slot - slot->pool->slots));
        slot->phase = FREE;
        worker->turn++;
    }
}

/* ---- Claims ---------------------------------------------------------------------------------- */

/* For how many tasks the pool may ask, now or when it is time. While commands cannot be started, it
 * is one, and not before it is known what became of the one before. */
static int32_t wanted_count(const struct pool *pool)
{
    if (pool->worker->claims_are_over || pawl_claimer_is_asking(pool->claimer)) return 0;
    int32_t count = free_count(pool->slots, pool->options->slots);
    if (count == 0 || pool->start_retry_ms == 0) return count;
    for (int32_t i = 0; i < pool->options->slots; i++) {
        const struct slot *slot = &pool->slots[i];
        bool is_working = slot->phase == WORKING && slot->process.start != PAWL_START_UNKNOWN;
        if (slot->phase != FREE && !is_working) return 0;
    }
    return 1;
}

static void ask_for_tasks(struct pool *pool, int64_t now_boot_ms)
{
    const struct pawl_worker_options *options = pool->worker->options;
    int32_t count = wanted_count(pool);
    if (count == 0 || now_boot_ms < pool->claim_at_boot_ms) return;
    pool->is_quiet = is_idle(pool->worker);
    pool->turn = pool->worker->turn;
    int64_t wait_ms = CLAIM_WAIT_MS;
    if (options->is_until_empty) wait_ms = pool->is_quiet ? 0 : CLAIM_WAIT_BRIEF_MS;
    pawl_claimer_ask(pool->claimer, options->is_once ? 1 : count, wait_ms);
}

/* Whether asking again can help. */
static bool may_help(enum pawl_code code)
{
    return pawl_code_repeats(code) || code == PAWL_IO || code == PAWL_NO_MEMORY;
}

static void take_failure(struct pool *pool, const struct pawl_claim_answer *answer)
{
    struct worker *worker = pool->worker;
    if (worker->is_gone) return;
    int64_t wait_ms = pool->claim_retry_ms == 0 ? CLAIM_RETRY_MS_MIN : pool->claim_retry_ms * 2;
    pool->claim_retry_ms = wait_ms < CLAIM_RETRY_MS_MAX ? wait_ms : CLAIM_RETRY_MS_MAX;
    pool->claim_at_boot_ms = pawl_clock_boot_ms() + pool->claim_retry_ms;
    if (may_help(answer->code)) {
        pawl_log_write(worker->options->log, PAWL_LOG_WARN, "worker.claim_failed",
                       PAWL_TEXT("code", pawl_str_of(pawl_code_name(answer->code))),
                       PAWL_INT("again_in_ms", pool->claim_retry_ms),
                       PAWL_TEXT("error", pawl_str_of(answer->err.text)));
        /* A store comes back; a folder is mended by somebody. */
        struct pawl_place place;
        struct pawl_error err = {0};
        if (pawl_engine_check_locks(worker->options->pawl, &place, &err) == PAWL_IO) {
            give_up(worker, &err);
        }
        return;
    }
    worker->claims_are_over = true;
    if (worker->code != PAWL_OK) return;
    worker->code = answer->code;
    worker->err = answer->err;
}

/* Whether every pool has found nothing since the last slot of any began or got free. */
static bool is_empty(const struct worker *worker)
{
    for (size_t i = 0; i < worker->pool_count; i++) {
        if (worker->pools[i].empty_turn != worker->turn) return false;
    }
    return true;
}

static void take_tasks(struct pool *pool)
{
    struct worker *worker = pool->worker;
    struct pawl_claim_answer answer;
    if (!pawl_claimer_take(pool->claimer, &answer)) return;
    if (answer.code != PAWL_OK) {
        take_failure(pool, &answer);
        return;
    }
    pool->claim_retry_ms = 0;
    for (size_t i = 0; i < answer.count; i++) {
        struct slot *slot = free_slot(pool);
        pawl_assert(slot != NULL); /* no more was asked for */
        begin(pool, slot, &answer.grants[i], answer.asked_boot_ms);
        worker->turn++;
    }
    if (answer.count > 0 && worker->options->is_once) worker->claims_are_over = true;
    if (answer.count > 0 || !worker->options->is_until_empty) return;
    if (pool->is_quiet) pool->empty_turn = pool->turn;
    if (is_empty(worker)) {
        worker->claims_are_over = true;
    } else if (pool->is_quiet) {
        /* Others have not answered yet, or work: what they make ready is waited for. */
        pool->claim_at_boot_ms = pawl_clock_boot_ms() + CLAIM_WAIT_BRIEF_MS / 10;
    }
}

/* ---- The loop -------------------------------------------------------------------------------- */

static void hear_signals(struct worker *worker)
{
    struct signalfd_siginfo info;
    while (read(worker->options->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        pawl_log_write(worker->options->log, PAWL_LOG_INFO, "worker.draining",
                       PAWL_INT("signal", (int64_t)info.ssi_signo),
                       PAWL_INT("running", worker->slot_count -
                                               free_count(worker->slots, worker->slot_count)));
        int64_t now_boot_ms = pawl_clock_boot_ms();
        worker->claims_are_over = true;
        pawl_stop_waiting(worker->options->pawl);
        worker->is_hurried = worker->is_draining; /* the second one */
        if (!worker->is_draining) worker->drain_until_boot_ms = now_boot_ms + worker->grace_ms;
        if (worker->is_hurried) worker->drain_until_boot_ms = now_boot_ms;
        worker->is_draining = true;
        for (int32_t i = 0; worker->is_hurried && i < worker->slot_count; i++) {
            pawl_reporter_hurry(worker->slots[i].reporter);
        }
    }
    while (read(worker->child_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        worker->child_has_ended = true;
    }
}

/* A store whose file is another's by now does not come back: the commands are stopped like those that have lost
 * their leases, and whoever starts this worker again has it look at what is there. */
static void look_at_store(struct worker *worker)
{
    struct pawl_error err = {0};
    if (worker->is_gone || !pawl_engine_is_gone(worker->options->pawl, &err)) return;
    worker->is_gone = true;
    worker->claims_are_over = true;
    worker->is_draining = true;
    worker->code = err.code;
    worker->err = err;
    for (int32_t i = 0; i < worker->slot_count; i++) pawl_reporter_hurry(worker->slots[i].reporter);
}

/* When something is due without anybody saying so. */
static int64_t next_due(const struct worker *worker)
{
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < worker->pool_count; i++) {
        const struct pool *pool = &worker->pools[i];
        if (wanted_count(pool) > 0) due = pawl_earlier(due, pool->claim_at_boot_ms);
    }
    if (worker->options->board != NULL && !is_idle(worker)) {
        due = pawl_earlier(due, worker->board_at_boot_ms);
    }
    for (int32_t i = 0; i < worker->slot_count; i++) {
        const struct slot *slot = &worker->slots[i];
        if (slot->phase == CLEARING) due = pawl_earlier(due, slot->look_at_boot_ms);
        if (slot->phase != WORKING) continue;
        if (slot->reason != STOP_NONE) {
            due = pawl_earlier(due, slot->kill_at_boot_ms);
            continue;
        }
        struct pawl_kept kept = kept_of(slot);
        due = pawl_earlier(due, pawl_earlier(stop_at(&kept), timeout_at(slot)));
        if (worker->is_draining) due = pawl_earlier(due, worker->drain_until_boot_ms);
    }
    return due;
}

static void wait_for_news(struct worker *worker)
{
    size_t count = 0;
    struct pollfd *fds = worker->poll_fds;
    fds[count++] = (struct pollfd){.fd = worker->options->signal_fd, .events = POLLIN};
    fds[count++] = (struct pollfd){.fd = worker->child_fd, .events = POLLIN};
    fds[count++] = (struct pollfd){.fd = worker->heard_fd, .events = POLLIN};
    fds[count++] = (struct pollfd){.fd = worker->timer_fd, .events = POLLIN};
    for (int32_t i = 0; i < worker->slot_count; i++) {
        const struct slot *slot = &worker->slots[i];
        if (slot->phase != WORKING) continue;
        bool has_room = pawl_reporter_room(slot->reporter) > 0;
        /* poll passes over what is negative. */
        fds[count++] = (struct pollfd){.fd = slot->process.start_fd, .events = POLLIN};
        fds[count++] = (struct pollfd){.fd = slot->process.out_fd, .events = POLLIN};
        fds[count++] =
            (struct pollfd){.fd = has_room ? slot->process.err_fd : -1, .events = POLLIN};
    }
    pawl_timer_set(worker->timer_fd, next_due(worker));
    (void)poll(fds, (nfds_t)count, -1); /* interrupted is a reason to look too */
    pawl_fd_clear(worker->timer_fd);
    pawl_fd_clear(worker->heard_fd);
}

static bool is_over(struct worker *worker)
{
    if (!worker->claims_are_over || !is_idle(worker)) return false;
    for (size_t i = 0; i < worker->pool_count; i++) {
        if (pawl_claimer_is_asking(worker->pools[i].claimer)) return false;
    }
    return true;
}

static const char *phase_text(const struct slot *slot)
{
    switch (slot->phase) {
    case FREE:
        return "";
    case BEGINNING:
        return "begins";
    case WORKING:
        return slot->reason == STOP_NONE ? "runs" : "is stopped";
    case CLEARING:
        return slot->is_uncontained ? "uncontained: see the log"
                                    : "has ended, its children have not";
    case REPORTING:
        return "is told";
    }
    return "";
}

/* The line of each slot on a terminal: what, since when, how far. */
static void show_slots(struct worker *worker, int64_t now_boot_ms)
{
    struct pawl_board *board = worker->options->board;
    if (board == NULL || (now_boot_ms < worker->board_at_boot_ms && !is_idle(worker))) return;
    worker->board_at_boot_ms = now_boot_ms + BOARD_MS;
    for (int32_t i = 0; i < worker->slot_count; i++) {
        const struct slot *slot = &worker->slots[i];
        char line[PAWL_BOARD_LINE_BYTES_MAX + 1] = "";
        double progress = pawl_talk_progress(slot->talk);
        if (slot->phase != FREE) {
            (void)snprintf(line, sizeof line, "[%d] %.*s %.*s %" PRId64 "s %s", (int)i + 1,
                           PAWL_STR_ARG(slot->queue), PAWL_STR_ARG(slot->fence.task_id),
                           (now_boot_ms - slot->started_boot_ms) / 1000, phase_text(slot));
            size_t len = strlen(line);
            if (progress >= 0) (void)snprintf(line + len, sizeof line - len, " %.0f%%", progress);
        }
        pawl_board_set(board, i, pawl_str_of(line));
    }
    pawl_board_draw(board);
}

static void work(struct worker *worker)
{
    for (;;) {
        hear_signals(worker);
        look_at_store(worker);
        for (size_t i = 0; i < worker->pool_count; i++) take_tasks(&worker->pools[i]);
        find_commands(worker);
        if (worker->child_has_ended) pawl_leftover_reap(worker->commands, worker->slot_count);
        int64_t now_boot_ms = pawl_clock_boot_ms();
        for (int32_t i = 0; i < worker->slot_count; i++) {
            tend(worker, &worker->slots[i], now_boot_ms);
        }
        worker->child_has_ended = false;
        show_slots(worker, now_boot_ms);
        if (is_over(worker)) return;
        for (size_t i = 0; i < worker->pool_count; i++) {
            ask_for_tasks(&worker->pools[i], now_boot_ms);
        }
        wait_for_news(worker);
    }
}

/* ---- Opening and closing --------------------------------------------------------------------- */

/* Descriptors 0 to 2 must be something, or a pipe of ours would become one of them. */
static void fill_standard_fds(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null", O_RDWR); /* takes the lowest free number */
        }
    }
}

static enum pawl_code open_fds(struct worker *worker, struct pawl_error *err)
{
    sigset_t child;
    (void)sigemptyset(&child); /* these fail only for bad numbers */
    (void)sigaddset(&child, SIGCHLD);
    worker->heard_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    worker->timer_fd = pawl_timer_open();
    worker->child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (worker->heard_fd >= 0 && worker->timer_fd >= 0 && worker->child_fd >= 0) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "cannot open a descriptor: %s", strerror(errno));
}

static enum pawl_code open_slot(struct pool *pool, struct slot *slot, struct pawl_error *err)
{
    const struct worker *worker = pool->worker;
    struct pawl_reporter_options options = {
        .pawl = worker->options->pawl,
        .keeper = pool->keeper,
        .slot = (int32_t)(slot - pool->slots),
        .heard_fd = worker->heard_fd,
        .log = worker->options->log,
        .is_terminal = worker->options->is_terminal,
        .board = worker->options->board,
    };
    slot->pool = pool;
    slot->number = (int32_t)(slot - worker->slots);
    enum pawl_code code = pawl_arena_open(&slot->arena, SLOT_BYTES_MAX);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no memory for slots");
    code = pawl_reporter_open(&slot->reporter, &options, err);
    if (code != PAWL_OK) return code;
    struct pawl_talk_options talk = {
        .pawl = options.pawl,
        .keeper = options.keeper,
        .slot = options.slot,
        .heard_fd = options.heard_fd,
    };
    return pawl_talk_open(&slot->talk, &talk, err);
}

static enum pawl_code open_pool(struct pool *pool, struct pawl_error *err)
{
    const struct worker *worker = pool->worker;
    struct pawl *pawl = worker->options->pawl;
    struct pawl_claim ask = PAWL_CLAIM_INIT;
    ask.queues = pool->options->queues;
    ask.queue_count = pool->options->queue_count;
    ask.worker_id = pool->options->worker_id;
    ask.lease_ms = worker->options->lease_ms;
    ask.is_supervised = true;
    enum pawl_code code =
        pawl_keeper_open(&pool->keeper, worker->keeping, pawl, pool->options->worker_id, pool->options->slots,
                         worker->heard_fd, worker->options->log, err);
    for (int32_t i = 0; i < pool->options->slots && code == PAWL_OK; i++) {
        code = open_slot(pool, &pool->slots[i], err);
    }
    if (code != PAWL_OK) return code;
    return pawl_claimer_open(&pool->claimer, pawl, &ask, worker->heard_fd, err);
}

/* What each pool is, before anything is opened. */
static enum pawl_code plan_pools(struct worker *worker, struct pawl_error *err)
{
    const struct pawl_worker_options *options = worker->options;
    struct slot *slots = worker->slots;
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < worker->pool_count && code == PAWL_OK; i++) {
        struct pool *pool = &worker->pools[i];
        *pool = (struct pool){
            .worker = worker, .options = &options->pools[i], .slots = slots, .empty_turn = -1};
        pool->plan = (struct pawl_process_plan){
            .argv = pool->options->argv,
            .environment = options->environment,
            .cwd = options->cwd,
            .folder = worker->folder.path,
            .store = options->store,
            .low = &worker->low,
            .files = worker->files,
        };
        slots += pool->options->slots;
        code = pawl_process_check(&pool->plan, err);
    }
    return code;
}

static enum pawl_code take_memory(struct worker *worker, struct pawl_error *err)
{
    enum { OTHER_WAITS = 4, SLOT_WAITS = 3 }; /* of wait_for_news */
    size_t count = (size_t)worker->slot_count;
    worker->pools = calloc(worker->pool_count, sizeof *worker->pools);
    worker->slots = calloc(count, sizeof *worker->slots);
    worker->commands = calloc(count, sizeof *worker->commands);
    worker->poll_fds = calloc(OTHER_WAITS + SLOT_WAITS * count, sizeof *worker->poll_fds);
    bool is_whole = worker->pools != NULL && worker->slots != NULL && worker->commands != NULL &&
                    worker->poll_fds != NULL;
    if (is_whole) return PAWL_OK;
    return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for %zu slots", count);
}

/* As many descriptors as the slots need: as far as it is ours to say, and told before anything is begun if it is not. */
static enum pawl_code provide_fds(struct worker *worker, struct pawl_error *err)
{
    struct rlimit limit;
    rlim_t needed = OTHER_FDS + SLOT_FDS * (rlim_t)worker->slot_count;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return PAWL_OK;
    struct rlimit raised = {.rlim_cur = needed, .rlim_max = limit.rlim_max};
    if (limit.rlim_max >= needed && setrlimit(RLIMIT_NOFILE, &raised) == 0) {
        worker->files = limit; /* what the commands get */
        return PAWL_OK;
    }
    return pawl_error_set(err, PAWL_LIMIT,
                          "slots: %" PRId32 " need %ju descriptors, and there may be %ju (ulimit -Hn, LimitNOFILE=)",
                          worker->slot_count, (uintmax_t)needed, (uintmax_t)limit.rlim_max);
}

static enum pawl_code open_worker(struct worker *worker, struct pawl_error *err)
{
    fill_standard_fds();
    pawl_leftover_adopt();
    enum pawl_code code = pawl_low_fds_open(&worker->low, err);
    if (code == PAWL_OK) code = provide_fds(worker, err);
    if (code == PAWL_OK) code = take_memory(worker, err);
    if (code == PAWL_OK) code = plan_pools(worker, err);
    if (code == PAWL_OK) code = pawl_folder_open(&worker->folder, err);
    if (code == PAWL_OK) code = open_fds(worker, err);
    if (code == PAWL_OK) code = pawl_keeper_handle(&worker->keeping, worker->options->pawl, err);
    for (size_t i = 0; i < worker->pool_count && code == PAWL_OK; i++) {
        code = open_pool(&worker->pools[i], err);
    }
    return code;
}

/* Takes a half-open one. */
static void close_worker(struct worker *worker)
{
    for (size_t i = 0; worker->pools != NULL && i < worker->pool_count; i++) {
        pawl_claimer_close(worker->pools[i].claimer);
    }
    for (int32_t i = 0; worker->slots != NULL && i < worker->slot_count; i++) {
        pawl_talk_close(worker->slots[i].talk);
        pawl_reporter_close(worker->slots[i].reporter);
        pawl_arena_close(worker->slots[i].arena);
    }
    for (size_t i = 0; worker->pools != NULL && i < worker->pool_count; i++) {
        pawl_keeper_close(worker->pools[i].keeper);
    }
    pawl_close(worker->keeping);
    free(worker->pools);
    free(worker->slots);
    free(worker->commands);
    free(worker->poll_fds);
    if (worker->heard_fd >= 0) (void)close(worker->heard_fd);
    if (worker->timer_fd >= 0) (void)close(worker->timer_fd);
    if (worker->child_fd >= 0) (void)close(worker->child_fd);
    pawl_low_fds_close(&worker->low);
    pawl_folder_close(&worker->folder);
}

static void sweep(const struct worker *worker)
{
    int32_t count = pawl_folder_sweep();
    if (count == 0) return;
    pawl_log_write(worker->options->log, PAWL_LOG_INFO, "worker.swept", PAWL_INT("folders", count));
}

/* "files,mail" of all pools, as many as there is room for: who starts a worker sees what it takes. */
static struct pawl_str name_queues(const struct pawl_worker_options *options, char out[QUEUES_BYTES_MAX])
{
    static const struct pawl_str unsaid = PAWL_STR_INIT("default");
    size_t len = 0;
    for (size_t i = 0; i < options->pool_count; i++) {
        const struct pawl_worker_pool *pool = &options->pools[i];
        const struct pawl_str *queues = pool->queue_count == 0 ? &unsaid : pool->queues;
        size_t count = pool->queue_count == 0 ? 1 : pool->queue_count;
        for (size_t at = 0; at < count; at++) {
            if (len + queues[at].len + sizeof ",…" > QUEUES_BYTES_MAX) {
                memcpy(out + len, "…", sizeof "…" - 1);
                return (struct pawl_str){out, len + sizeof "…" - 1};
            }
            if (len > 0) out[len++] = ',';
            memcpy(out + len, queues[at].ptr, queues[at].len);
            len += queues[at].len;
        }
    }
    return (struct pawl_str){out, len};
}

enum pawl_code pawl_worker_run(const struct pawl_worker_options *options, struct pawl_error *err)
{
    struct worker worker = {
        .options = options,
        .grace_ms = options->grace_ms,
        .pool_count = options->pool_count,
        .heard_fd = -1,
        .timer_fd = -1,
        .child_fd = -1,
        .folder = PAWL_FOLDER_NONE,
    };
    for (size_t i = 0; i < options->pool_count; i++) worker.slot_count += options->pools[i].slots;
    pawl_assert(worker.slot_count >= 1 && worker.slot_count <= PAWL_WORKER_SLOTS_MAX);
    pawl_assert(worker.pool_count == 1 || !options->is_once);
    enum pawl_code code = open_worker(&worker, err);
    if (code == PAWL_OK) {
        char queues[QUEUES_BYTES_MAX];
        pawl_log_write(options->log, PAWL_LOG_INFO, "worker.started",
                       PAWL_TEXT("worker", options->worker_id),
                       PAWL_TEXT("queues", name_queues(options, queues)),
                       PAWL_INT("slots", worker.slot_count));
        sweep(&worker);
        work(&worker);
        code = worker.code;
        if (code != PAWL_OK && err != NULL) *err = worker.err;
        pawl_log_write(options->log, PAWL_LOG_INFO, "worker.ended",
                       PAWL_TEXT("worker", options->worker_id));
    }
    close_worker(&worker);
    return code;
}
