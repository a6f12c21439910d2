/* The loop: what runs, what is due, who is to be stopped. One thread; see worker.h for the others.
 *
 * A slot goes round: free, working (its command runs), reporting (the outcome is being told), free.
 * All reasons to stop a command meet in stop(). One that ends with exit status 0 all the same has
 * finished its work, and the task is completed, unless its time was up. Else the first reason
 * decides what becomes of the task, except that a lost lease beats all: then nothing may be said
 * any more. */
#include "worker/worker.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "supervisor/clock.h"
#include "supervisor/keeper.h"
#include "worker/process.h"
#include "worker/reporter.h"

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
    CLAIM_RETRY_MS_MIN = 100,
    CLAIM_RETRY_MS_MAX = 5000,
    /* A machine that cannot start a process now may in a moment. */
    START_RETRY_MS = 1000,
    /* The JSON of a task, while it is written, and what its command prints. */
    SLOT_BYTES_MAX = 128 * 1024 * 1024,
    READ_BYTES = 16 * 1024,
};

enum phase { FREE, WORKING, REPORTING };

/* Why a command is told to stop. The first that comes stays, since the command has had its SIGTERM for
 * it; only a lost lease takes the place of another, because then nothing may be said of the task. */
enum reason {
    STOP_NONE,
    STOP_DRAIN,
    STOP_TIMEOUT,
    STOP_PAUSE,
    STOP_CANCEL,
    STOP_LOST,
};

struct slot {
    int32_t number;
    enum phase phase;
    struct pawl_arena *arena; /* of its task */
    struct pawl_reporter *reporter;
    struct pawl_process process;
    struct pawl_fence fence;
    int64_t started_boot_ms;
    int64_t asked_boot_ms;   /* its claim: from here its time counts, as its lease does */
    int64_t timeout_ms;      /* 0 = none */
    bool is_own_timeout;     /* of the task, not of the worker's options */
    enum reason reason;      /* why it was told to stop */
    int64_t kill_at_boot_ms; /* once told to */
};

struct worker {
    const struct pawl_worker_options *options;
    struct pawl_process_plan plan;
    int64_t grace_ms;
    int heard_fd; /* rung by the other threads */
    int timer_fd;
    int child_fd; /* tells of SIGCHLD */
    char folder[192];
    struct pawl_keeper *keeper;
    struct pawl_claimer *claimer;
    struct slot *slots;
    int32_t slot_count;
    struct pollfd *poll_fds;

    bool claims_are_over; /* no more tasks are asked for */
    bool all_were_free;   /* when the claim under way was asked */
    int64_t claim_at_boot_ms;
    int64_t claim_retry_ms;
    bool is_draining;
    int64_t drain_until_boot_ms; /* then commands are stopped */
    bool is_hurried;
    enum pawl_code code; /* why it ends, if not in order */
    struct pawl_error err;
};

/* ---- Slots ----------------------------------------------------------------------------------- */

static int32_t free_count(const struct worker *worker)
{
    int32_t count = 0;
    for (int32_t i = 0; i < worker->slot_count; i++) {
        count += worker->slots[i].phase == FREE ? 1 : 0;
    }
    return count;
}

static struct slot *free_slot(struct worker *worker)
{
    for (int32_t i = 0; i < worker->slot_count; i++) {
        if (worker->slots[i].phase == FREE) return &worker->slots[i];
    }
    return NULL;
}

static void report(struct slot *slot, const struct pawl_ending *ending)
{
    slot->phase = REPORTING;
    pawl_reporter_end(slot->reporter, ending);
}

/* Takes a task in hand. */
static void begin(struct worker *worker, struct slot *slot, const struct pawl_grant *grant,
                  int64_t asked_boot_ms)
{
    pawl_assert(slot->phase == FREE);
    pawl_arena_reset(slot->arena);
    slot->phase = WORKING;
    slot->reason = STOP_NONE;
    slot->fence = grant->fence;
    slot->fence.task_id = pawl_arena_copy(slot->arena, grant->fence.task_id);
    slot->fence.owner = worker->options->worker_id;
    pawl_assert(slot->fence.task_id.len > 0); /* an arena that was reset has room for it */
    slot->started_boot_ms = pawl_worker_boot_ms();
    slot->asked_boot_ms = asked_boot_ms;
    slot->timeout_ms = grant->timeout_ms;
    int64_t own_timeout_ms = worker->options->timeout_ms;
    if (own_timeout_ms > 0 && (slot->timeout_ms == 0 || own_timeout_ms < slot->timeout_ms)) {
        slot->timeout_ms = own_timeout_ms;
    }
    slot->is_own_timeout = grant->timeout_ms != 0 && slot->timeout_ms == grant->timeout_ms;
    int64_t attempt_end = grant->timeout_ms > 0 ? asked_boot_ms + grant->timeout_ms : INT64_MAX;
    pawl_keeper_hold(worker->keeper, slot->number, &slot->fence, grant->lease_ms, asked_boot_ms,
                     attempt_end);
    pawl_reporter_begin(slot->reporter, &slot->fence);

    struct pawl_ending give_back = {.kind = PAWL_ENDING_RELEASE};
    if (worker->is_draining) {
        report(slot, &give_back);
        return;
    }
    struct pawl_error err = {0};
    enum pawl_code code =
        pawl_process_start(&slot->process, &worker->plan, grant, slot->number, slot->arena, &err);
    if (code == PAWL_OK) {
        pawl_log_write(worker->options->log, PAWL_LOG_INFO, "worker.task_started",
                       PAWL_TEXT("task", slot->fence.task_id), PAWL_INT("epoch", slot->fence.epoch),
                       PAWL_TEXT("queue", grant->queue), PAWL_INT("attempt", grant->attempt));
        return;
    }
    pawl_log_write(worker->options->log, PAWL_LOG_ERROR, "worker.start_failed",
                   PAWL_TEXT("task", slot->fence.task_id),
                   PAWL_TEXT("error", pawl_str_of(err.text)));
    give_back.delay_ms = START_RETRY_MS;
    report(slot, &give_back);
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
    struct pawl_ending ending =
        pawl_ending_of_exit(process->wait_status, printed, process->is_cut, tail,
                            pawl_process_retry_after_ms(process), slot->arena);
    switch (slot->reason) {
    case STOP_NONE:
        break;
    case STOP_LOST:
        ending.kind = PAWL_ENDING_NONE;
        break;
    case STOP_TIMEOUT:
        ending.kind = PAWL_ENDING_FAIL;
        ending.is_final = false;
        ending.retry_after_ms = 0;
        ending.is_timed_out = slot->is_own_timeout;
        ending.text =
            pawl_arena_format(slot->arena, "timed out after %" PRId64 " ms", slot->timeout_ms);
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
    if (pawl_arena_code(slot->arena) != PAWL_OK) {
        ending = (struct pawl_ending){.kind = PAWL_ENDING_FAIL,
                                      .text = PAWL_STR("no memory for the result")};
    }
    if (ending.kind == PAWL_ENDING_COMPLETE && slot->process.is_cut) {
        pawl_log_write(worker->options->log, PAWL_LOG_WARN, "worker.result_cut",
                       PAWL_TEXT("task", slot->fence.task_id), PAWL_INT("epoch", slot->fence.epoch),
                       PAWL_INT("bytes_kept", (int64_t)slot->process.printed_len));
    }
    pawl_log_write(worker->options->log, PAWL_LOG_DEBUG, "worker.command_ended",
                   PAWL_TEXT("task", slot->fence.task_id),
                   PAWL_INT("wait_status", slot->process.wait_status),
                   PAWL_INT("ms", pawl_worker_boot_ms() - slot->started_boot_ms));
    pawl_process_close(&slot->process);
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
    return slot->timeout_ms == 0 ? INT64_MAX : slot->asked_boot_ms + slot->timeout_ms;
}

static void look_for_reasons(struct worker *worker, struct slot *slot, int64_t now_boot_ms)
{
    struct pawl_kept kept = pawl_keeper_look(worker->keeper, slot->number);
    if (kept.is_lost) {
        stop(worker, slot, STOP_LOST, now_boot_ms);
    } else if (now_boot_ms >= timeout_at(slot)) {
        stop(worker, slot, STOP_TIMEOUT, now_boot_ms);
    } else if (now_boot_ms >= kept.stop_at_boot_ms) {
        stop(worker, slot, kept.is_cut ? STOP_TIMEOUT : STOP_LOST, now_boot_ms);
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

static void tend_working(struct worker *worker, struct slot *slot, int64_t now_boot_ms)
{
    pawl_process_look(
        &slot->process); /* before reading: what it wrote before its end is then read */
    pump(slot);
    if (!slot->process.has_exited) look_for_reasons(worker, slot, now_boot_ms);
    if (pawl_process_is_over(&slot->process)) conclude(worker, slot);
}

static void tend(struct worker *worker, struct slot *slot, int64_t now_boot_ms)
{
    if (slot->phase == WORKING) tend_working(worker, slot, now_boot_ms);
    if (slot->phase == REPORTING && pawl_reporter_is_settled(slot->reporter)) {
        pawl_keeper_drop(worker->keeper, slot->number);
        slot->phase = FREE;
    }
}

/* ---- Claims ---------------------------------------------------------------------------------- */

static void ask_for_tasks(struct worker *worker, int64_t now_boot_ms)
{
    int32_t count = free_count(worker);
    if (worker->claims_are_over || pawl_claimer_is_asking(worker->claimer)) return;
    if (count == 0 || now_boot_ms < worker->claim_at_boot_ms) return;
    worker->all_were_free = count == worker->slot_count;
    int64_t wait_ms = CLAIM_WAIT_MS;
    if (worker->options->is_until_empty) wait_ms = worker->all_were_free ? 0 : CLAIM_WAIT_BRIEF_MS;
    pawl_claimer_ask(worker->claimer, worker->options->is_once ? 1 : count, wait_ms);
}

/* Whether asking again can help. */
static bool may_help(enum pawl_code code)
{
    return pawl_code_repeats(code) || code == PAWL_IO || code == PAWL_NO_MEMORY;
}

static void take_failure(struct worker *worker, const struct pawl_claim_answer *answer)
{
    int64_t wait_ms = worker->claim_retry_ms == 0 ? CLAIM_RETRY_MS_MIN : worker->claim_retry_ms * 2;
    worker->claim_retry_ms = wait_ms < CLAIM_RETRY_MS_MAX ? wait_ms : CLAIM_RETRY_MS_MAX;
    worker->claim_at_boot_ms = pawl_worker_boot_ms() + worker->claim_retry_ms;
    if (may_help(answer->code)) {
        pawl_log_write(worker->options->log, PAWL_LOG_WARN, "worker.claim_failed",
                       PAWL_TEXT("code", pawl_str_of(pawl_code_name(answer->code))),
                       PAWL_INT("again_in_ms", worker->claim_retry_ms),
                       PAWL_TEXT("error", pawl_str_of(answer->err.text)));
        return;
    }
    worker->claims_are_over = true;
    worker->code = answer->code;
    worker->err = answer->err;
}

static void take_tasks(struct worker *worker)
{
    struct pawl_claim_answer answer;
    if (!pawl_claimer_take(worker->claimer, &answer)) return;
    if (answer.code != PAWL_OK) {
        take_failure(worker, &answer);
        return;
    }
    worker->claim_retry_ms = 0;
    for (size_t i = 0; i < answer.count; i++) {
        struct slot *slot = free_slot(worker);
        pawl_assert(slot != NULL); /* no more was asked for */
        begin(worker, slot, &answer.grants[i], answer.asked_boot_ms);
    }
    bool is_one = answer.count > 0 && worker->options->is_once;
    bool is_empty = answer.count == 0 && worker->options->is_until_empty && worker->all_were_free;
    if (is_one || is_empty) worker->claims_are_over = true;
}

/* ---- The loop -------------------------------------------------------------------------------- */

static void hear_signals(struct worker *worker)
{
    struct signalfd_siginfo info;
    while (read(worker->options->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        pawl_log_write(worker->options->log, PAWL_LOG_INFO, "worker.draining",
                       PAWL_INT("signal", (int64_t)info.ssi_signo),
                       PAWL_INT("running", worker->slot_count - free_count(worker)));
        int64_t now_boot_ms = pawl_worker_boot_ms();
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
        /* Every slot is looked at anyway. */
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When something is due without anybody saying so. */
static int64_t next_due(const struct worker *worker)
{
    int64_t due = INT64_MAX;
    bool wants_tasks = !worker->claims_are_over && free_count(worker) > 0;
    if (wants_tasks && !pawl_claimer_is_asking(worker->claimer)) due = worker->claim_at_boot_ms;
    for (int32_t i = 0; i < worker->slot_count; i++) {
        const struct slot *slot = &worker->slots[i];
        if (slot->phase != WORKING) continue;
        if (slot->reason != STOP_NONE) {
            due = earlier(due, slot->kill_at_boot_ms);
            continue;
        }
        struct pawl_kept kept = pawl_keeper_look(worker->keeper, slot->number);
        due = earlier(due, earlier(kept.stop_at_boot_ms, timeout_at(slot)));
        if (worker->is_draining) due = earlier(due, worker->drain_until_boot_ms);
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
        fds[count++] = (struct pollfd){.fd = slot->process.out_fd, .events = POLLIN};
        fds[count++] =
            (struct pollfd){.fd = has_room ? slot->process.err_fd : -1, .events = POLLIN};
    }
    pawl_worker_timer_set(worker->timer_fd, next_due(worker));
    (void)poll(fds, (nfds_t)count, -1); /* interrupted is a reason to look too */
    pawl_worker_fd_clear(worker->timer_fd);
    pawl_worker_fd_clear(worker->heard_fd);
}

static bool is_over(struct worker *worker)
{
    return worker->claims_are_over && free_count(worker) == worker->slot_count &&
           !pawl_claimer_is_asking(worker->claimer);
}

static void work(struct worker *worker)
{
    for (;;) {
        hear_signals(worker);
        take_tasks(worker);
        int64_t now_boot_ms = pawl_worker_boot_ms();
        for (int32_t i = 0; i < worker->slot_count; i++) {
            tend(worker, &worker->slots[i], now_boot_ms);
        }
        if (is_over(worker)) return;
        ask_for_tasks(worker, now_boot_ms);
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

static enum pawl_code make_folder(struct worker *worker, struct pawl_error *err)
{
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || parent[0] == '\0') parent = "/tmp";
    int len = snprintf(worker->folder, sizeof worker->folder, "%s/pawl-worker-XXXXXX", parent);
    bool is_short = len > 0 && (size_t)len < sizeof worker->folder;
    if (is_short && mkdtemp(worker->folder) != NULL) return PAWL_OK;
    worker->folder[0] = '\0';
    return pawl_error_set(err, PAWL_IO, "cannot make a folder in %s: %s", parent,
                          is_short ? strerror(errno) : "its name is too long");
}

static enum pawl_code open_fds(struct worker *worker, struct pawl_error *err)
{
    sigset_t child;
    (void)sigemptyset(&child); /* these fail only for bad numbers */
    (void)sigaddset(&child, SIGCHLD);
    worker->heard_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    worker->timer_fd = pawl_worker_timer_open();
    worker->child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (worker->heard_fd >= 0 && worker->timer_fd >= 0 && worker->child_fd >= 0) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "cannot open a descriptor: %s", strerror(errno));
}

static enum pawl_code open_slots(struct worker *worker, struct pawl_error *err)
{
    enum { OTHER_FDS = 4 };
    worker->slots = calloc((size_t)worker->slot_count, sizeof *worker->slots);
    worker->poll_fds = calloc(OTHER_FDS + 2 * (size_t)worker->slot_count, sizeof *worker->poll_fds);
    if (worker->slots == NULL || worker->poll_fds == NULL) {
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for %" PRId32 " slots",
                              worker->slot_count);
    }
    for (int32_t i = 0; i < worker->slot_count; i++) {
        struct slot *slot = &worker->slots[i];
        struct pawl_reporter_options options = {
            .pawl = worker->options->pawl,
            .keeper = worker->keeper,
            .slot = i,
            .heard_fd = worker->heard_fd,
            .log = worker->options->log,
            .is_terminal = worker->options->is_terminal,
        };
        slot->number = i;
        enum pawl_code code = pawl_arena_open(&slot->arena, SLOT_BYTES_MAX);
        if (code != PAWL_OK) return pawl_error_set(err, code, "no memory for slots");
        code = pawl_reporter_open(&slot->reporter, &options, err);
        if (code != PAWL_OK) return code;
    }
    return PAWL_OK;
}

static enum pawl_code open_worker(struct worker *worker, struct pawl_error *err)
{
    const struct pawl_worker_options *options = worker->options;
    struct pawl_claim ask = PAWL_CLAIM_INIT;
    ask.queues = options->queues;
    ask.queue_count = options->queue_count;
    ask.worker_id = options->worker_id;
    ask.lease_ms = options->lease_ms;
    worker->plan = (struct pawl_process_plan){
        .argv = options->argv,
        .environment = options->environment,
        .cwd = options->cwd,
        .folder = worker->folder,
        .store = options->store,
    };
    fill_standard_fds();
    enum pawl_code code = pawl_process_check(&worker->plan, err);
    if (code == PAWL_OK) code = make_folder(worker, err);
    if (code == PAWL_OK) code = open_fds(worker, err);
    if (code == PAWL_OK) {
        code = pawl_keeper_open(&worker->keeper, options->pawl, options->worker_id,
                                worker->slot_count, worker->heard_fd, options->log, err);
    }
    if (code == PAWL_OK) code = open_slots(worker, err);
    if (code == PAWL_OK) {
        code = pawl_claimer_open(&worker->claimer, options->pawl, &ask, worker->heard_fd, err);
    }
    return code;
}

/* Takes a half-open one. */
static void close_worker(struct worker *worker)
{
    pawl_claimer_close(worker->claimer);
    for (int32_t i = 0; worker->slots != NULL && i < worker->slot_count; i++) {
        pawl_reporter_close(worker->slots[i].reporter);
        pawl_arena_close(worker->slots[i].arena);
    }
    pawl_keeper_close(worker->keeper);
    free(worker->slots);
    free(worker->poll_fds);
    if (worker->heard_fd >= 0) (void)close(worker->heard_fd);
    if (worker->timer_fd >= 0) (void)close(worker->timer_fd);
    if (worker->child_fd >= 0) (void)close(worker->child_fd);
    if (worker->folder[0] != '\0')
        (void)rmdir(worker->folder); /* empty: each task's files went with it */
}

enum pawl_code pawl_worker_run(const struct pawl_worker_options *options, struct pawl_error *err)
{
    struct worker worker = {
        .options = options,
        .grace_ms = options->grace_ms > 0 ? options->grace_ms : PAWL_WORKER_GRACE_MS_DEFAULT,
        .slot_count = options->slots > 0 ? options->slots : 1,
        .heard_fd = -1,
        .timer_fd = -1,
        .child_fd = -1,
    };
    pawl_assert(worker.slot_count <= PAWL_WORKER_SLOTS_MAX);
    enum pawl_code code = open_worker(&worker, err);
    if (code == PAWL_OK) {
        pawl_log_write(options->log, PAWL_LOG_INFO, "worker.started",
                       PAWL_TEXT("worker", options->worker_id),
                       PAWL_INT("slots", worker.slot_count));
        work(&worker);
        code = worker.code;
        if (code != PAWL_OK && err != NULL) *err = worker.err;
        pawl_log_write(options->log, PAWL_LOG_INFO, "worker.ended",
                       PAWL_TEXT("worker", options->worker_id));
    }
    close_worker(&worker);
    return code;
}
