/* The public calls that change something: each checks what it was given on the caller's own thread, hands a
 * command over, and waits. The rules are in core; nothing is decided here. */
#include "engine/engine.h"
#include "engine/place.h"

#include "base/error.h"
#include "base/str.h"
#include "core/check.h"
#include "core/limits.h"
#include "engine/options.h"

#include <string.h>
#include <unistd.h>

int32_t pawl_version_number(void)
{
    return PAWL_VERSION_NUMBER;
}

static enum pawl_code misuse(struct pawl_error *err, const char *what)
{
    return pawl_error_set(err, PAWL_MISUSE, "%s", what);
}

enum pawl_code pawl_engine_check_and_ask(struct pawl *pawl, struct pawl_request *request,
                                         struct pawl_error *err)
{
    struct pawl_arena *scratch;
    enum pawl_code code = pawl_engine_enter(pawl, err); /* a large body takes a while to check */
    if (code != PAWL_OK) return code;
    code = pawl_arena_open(&scratch, 0);
    if (code == PAWL_OK) {
        code = pawl_check_command(&request->command, scratch, err);
        pawl_arena_close(scratch);
        if (code == PAWL_OK) code = pawl_engine_ask(pawl, request, err);
    } else {
        (void)pawl_error_set(err, code, "no memory to check the call");
    }
    pawl_engine_leave(pawl);
    return code;
}

/* What every call about one task has in common. */
static enum pawl_code begin_change(struct pawl *pawl, struct pawl_request *request,
                                   enum pawl_command_kind kind, struct pawl_str task_id,
                                   const struct pawl_change *change, struct pawl_error *err)
{
    pawl_request_init(request, kind);
    if (pawl == NULL) return misuse(err, "pawl: is NULL");
    if (task_id.len == 0) return pawl_error_set(err, PAWL_INVALID, "task_id: is empty");
    struct pawl_command *command = &request->command;
    command->task_id = task_id;
    if (change == NULL) return PAWL_OK;
    struct pawl_change said;
    enum pawl_code code = PAWL_OPTIONS_READ(said, change, "change", "PAWL_CHANGE_INIT", err);
    if (code != PAWL_OK) return code;
    if (said.fence != NULL) {
        command->has_fence = true;
        command->fence = *said.fence;
    }
    command->expected_version = said.expected_version;
    command->actor = said.actor;
    command->reason = said.reason;
    request->continuing = said.continuing;
    if (said.is_forced && kind == PAWL_COMMAND_CANCEL) {
        return misuse(err, "change.is_forced is resolve's; a cancel is forced by the parameter of the call");
    }
    command->is_forced = said.is_forced;
    if (kind == PAWL_COMMAND_CHECKPOINT) command->out.checkpoint_id = said.checkpoint_id;
    return PAWL_OK;
}

/* ---- Adding ---- */

/* The asks as this library knows them: the caller's own, or copies of those that another header made. */
static enum pawl_code read_asks(const struct pawl_task_new **asks, size_t count, struct pawl_arena *scratch,
                                struct pawl_error *err)
{
    const struct pawl_task_new *given = *asks;
    size_t stride = count == 0 ? sizeof *given : given->size;
    struct pawl_task_new *own = NULL;
    if (stride != sizeof *given) {
        own = pawl_arena_take_array(scratch, count, sizeof *own);
        if (own == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to check the batch");
    }
    for (size_t i = 0; i < count; i++) {
        const char *ask = (const char *)given + i * stride;
        size_t size;
        memcpy(&size, ask, sizeof size);
        if (size != stride) return misuse(err, "asks: begin each with PAWL_TASK_NEW_INIT");
        if (own == NULL) continue;
        enum pawl_code code = PAWL_OPTIONS_READ(own[i], ask, "ask", "PAWL_TASK_NEW_INIT", err);
        if (code != PAWL_OK) return code;
    }
    if (own != NULL) *asks = own;
    for (size_t i = 0; i < count; i++) {
        const struct pawl_task_new *ask = &(*asks)[i];
        if (ask->depends_on_count > 0 && ask->depends_on == NULL) return misuse(err, "depends_on: is NULL");
    }
    return PAWL_OK;
}

static enum pawl_code check_and_add(struct pawl *pawl, const struct pawl_task_new *asks, size_t count,
                                    struct pawl_arena *scratch, struct pawl_arena *keep,
                                    struct pawl_added *out, struct pawl_error *err)
{
    struct pawl_request request;
    pawl_request_init(&request, PAWL_COMMAND_CREATE);
    const struct pawl_member *members = NULL;
    struct pawl_added *added = NULL; /* the caller's own stay as they are if this fails */
    enum pawl_code code = read_asks(&asks, count, scratch, err);
    if (code == PAWL_OK) {
        code = pawl_check_create(asks, count, pawl_str_of(pawl->correlation_id), scratch, &members, err);
    }
    if (code == PAWL_OK) {
        added = pawl_arena_take_array(scratch, count, sizeof *added);
        code = pawl_arena_code(scratch);
        if (code != PAWL_OK) (void)pawl_error_set(err, code, "no memory for the answers");
    }
    if (code == PAWL_OK) {
        request.command.ask.create.members = members;
        request.command.ask.create.count = count;
        request.command.keep = keep;
        request.command.out.added = added;
        code = pawl_engine_ask(pawl, &request, err);
    }
    for (size_t i = 0; i < count && code == PAWL_OK; i++) {
        out[i] = added[i];
        out[i].continuing = request.command.continuing;
    }
    return code;
}

enum pawl_code pawl_task_add_batch(struct pawl *pawl, const struct pawl_task_new *asks, size_t count,
                                   struct pawl_arena *keep, struct pawl_added *out,
                                   struct pawl_error *err)
{
    if (pawl == NULL || keep == NULL || (count > 0 && (asks == NULL || out == NULL))) {
        return misuse(err, "pawl, asks, keep and out are needed");
    }
    enum pawl_code code = pawl_engine_enter(pawl, err);
    if (code != PAWL_OK) return code;
    struct pawl_arena *scratch;
    code = pawl_arena_open(&scratch, 0);
    if (code == PAWL_OK) {
        code = check_and_add(pawl, asks, count, scratch, keep, out, err);
        pawl_arena_close(scratch);
    } else {
        (void)pawl_error_set(err, code, "no memory to check the batch");
    }
    pawl_engine_leave(pawl);
    return code;
}

enum pawl_code pawl_task_add(struct pawl *pawl, const struct pawl_task_new *ask, struct pawl_arena *keep,
                             struct pawl_added *out, struct pawl_error *err)
{
    return pawl_task_add_batch(pawl, ask, 1, keep, out, err);
}

/* ---- Working ---- */

/* *own is where the request keeps what was asked. */
static enum pawl_code begin_claim(struct pawl *pawl, struct pawl_request *request,
                                  const struct pawl_claim *ask, struct pawl_claim *own,
                                  struct pawl_arena *keep, const void *out, struct pawl_error *err)
{
    if (pawl == NULL || ask == NULL || keep == NULL || out == NULL) {
        return misuse(err, "pawl, ask, keep and out are needed");
    }
    enum pawl_code code = PAWL_OPTIONS_READ(*own, ask, "ask", "PAWL_CLAIM_INIT", err);
    if (code != PAWL_OK) return code;
    if (own->queue_count > 0 && own->queues == NULL) return misuse(err, "queues: is NULL");
    request->command.ask.claim.ask = own;
    request->command.ask.claim.about =
        (struct pawl_worker_about){.host = pawl->env->host_id, .boot = pawl->env->boot_id, .pid = getpid()};
    request->command.keep = keep;
    return PAWL_OK;
}

/* A supervised claim says where its locks will be: read anew each time, since a folder may be replaced. */
static enum pawl_code name_place(struct pawl *pawl, struct pawl_request *request, struct pawl_place *place,
                                 struct pawl_error *err)
{
    struct pawl_worker_about *about = &request->command.ask.claim.about;
    if (!request->command.ask.claim.ask->is_supervised) return PAWL_OK;
    if (pawl->env->find_execution != NULL) {
        about->place = pawl->env->place;
        return PAWL_OK;
    }
    enum pawl_code code = pawl_engine_enter(pawl, err);
    if (code != PAWL_OK) return code;
    code = pawl_place_open(place, &pawl->locks, true, err);
    pawl_engine_leave(pawl);
    about->place = pawl_str_of(place->id);
    return code;
}

enum pawl_code pawl_task_claim(struct pawl *pawl, const struct pawl_claim *ask, struct pawl_arena *keep,
                               struct pawl_claimed *out, struct pawl_error *err)
{
    return pawl_engine_claim(pawl, ask, NULL, keep, out, err);
}

enum pawl_code pawl_engine_claim(struct pawl *pawl, const struct pawl_claim *ask,
                                 const _Atomic bool *gives_up, struct pawl_arena *keep,
                                 struct pawl_claimed *out, struct pawl_error *err)
{
    struct pawl_request request;
    struct pawl_claim own;
    pawl_request_init(&request, PAWL_COMMAND_CLAIM);
    enum pawl_code code = begin_claim(pawl, &request, ask, &own, keep, out, err);
    if (code != PAWL_OK) return code;
    struct pawl_claimed claimed = {0};
    struct pawl_place place;
    request.command.out.claimed = &claimed;
    request.wait_ms = own.wait_ms;
    request.gives_up = gives_up;
    code = name_place(pawl, &request, &place, err);
    if (code == PAWL_OK) code = pawl_engine_check_and_ask(pawl, &request, err);
    if (code == PAWL_OK) *out = claimed;
    return code;
}

enum pawl_code pawl_task_start(struct pawl *pawl, struct pawl_str task_id, const struct pawl_claim *ask,
                               struct pawl_arena *keep, struct pawl_grant *out, struct pawl_error *err)
{
    struct pawl_request request;
    struct pawl_claim own;
    enum pawl_code code = begin_change(pawl, &request, PAWL_COMMAND_START, task_id, NULL, err);
    if (code == PAWL_OK) code = begin_claim(pawl, &request, ask, &own, keep, out, err);
    if (code != PAWL_OK) return code;
    struct pawl_grant grant = {0};
    struct pawl_place place;
    request.command.out.grant = &grant;
    code = name_place(pawl, &request, &place, err);
    if (code == PAWL_OK) code = pawl_engine_check_and_ask(pawl, &request, err);
    if (code == PAWL_OK) *out = grant;
    return code;
}

static enum pawl_code renew(struct pawl *pawl, const struct pawl_fence *fences, size_t count, int64_t lease_ms,
                            bool only_looks, int64_t answer_by_boot_ms, struct pawl_renewal *out,
                            struct pawl_error *err)
{
    if (pawl == NULL || (count > 0 && (fences == NULL || out == NULL))) {
        return misuse(err, "pawl, fences and out are needed");
    }
    if (count == 0) return PAWL_OK;
    struct pawl_arena *scratch;
    enum pawl_code code = pawl_arena_open(&scratch, 0);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no memory to check the call");
    struct pawl_request request;
    pawl_request_init(&request, PAWL_COMMAND_RENEW);
    request.command.ask.renew.fences = fences;
    request.command.ask.renew.count = count;
    request.command.ask.renew.lease_ms = lease_ms;
    request.command.ask.renew.only_looks = only_looks;
    request.answer_by_boot_ms = answer_by_boot_ms;
    code = pawl_check_command(&request.command, scratch, err);
    struct pawl_renewal *renewals = NULL; /* the caller's own stay as they are if this fails */
    if (code == PAWL_OK) {
        renewals = pawl_arena_take_array(scratch, count, sizeof *renewals);
        code = pawl_arena_code(scratch);
        if (code != PAWL_OK) (void)pawl_error_set(err, code, "no memory for the answers");
    }
    request.command.out.renewals = renewals;
    if (code == PAWL_OK) code = pawl_engine_ask(pawl, &request, err);
    if (code == PAWL_OK) memcpy(out, renewals, count * sizeof *out);
    pawl_arena_close(scratch);
    return code;
}

enum pawl_code pawl_lease_renew(struct pawl *pawl, const struct pawl_fence *fences, size_t count,
                                int64_t lease_ms, struct pawl_renewal *out, struct pawl_error *err)
{
    return renew(pawl, fences, count, lease_ms, false, 0, out, err);
}

enum pawl_code pawl_engine_renew_by(struct pawl *pawl, const struct pawl_fence *fences, size_t count,
                                    int64_t answer_by_boot_ms, struct pawl_renewal *out, struct pawl_error *err)
{
    return renew(pawl, fences, count, 0, false, answer_by_boot_ms, out, err);
}

enum pawl_code pawl_engine_look_at_leases(struct pawl *pawl, const struct pawl_fence *fences, size_t count,
                                          struct pawl_renewal *out, struct pawl_error *err)
{
    return renew(pawl, fences, count, 0, true, 0, out, err);
}

enum pawl_code pawl_lease_stopped(struct pawl *pawl, const struct pawl_fence *fence, struct pawl_error *err)
{
    struct pawl_request request;
    struct pawl_change change = PAWL_CHANGE_INIT;
    if (fence == NULL) return misuse(err, "pawl and fence are needed");
    change.fence = fence;
    enum pawl_code code =
        begin_change(pawl, &request, PAWL_COMMAND_STOPPED, fence->task_id, &change, err);
    return code != PAWL_OK ? code : pawl_engine_check_and_ask(pawl, &request, err);
}

enum pawl_code pawl_task_progress(struct pawl *pawl, struct pawl_str task_id, double percent,
                                  const struct pawl_change *change, struct pawl_error *err)
{
    struct pawl_request request;
    enum pawl_code code = begin_change(pawl, &request, PAWL_COMMAND_PROGRESS, task_id, change, err);
    request.command.ask.percent = percent;
    return code != PAWL_OK ? code : pawl_engine_check_and_ask(pawl, &request, err);
}

enum pawl_code pawl_task_checkpoint(struct pawl *pawl, struct pawl_str task_id, int32_t step,
                                    struct pawl_str state, const struct pawl_change *change,
                                    struct pawl_error *err)
{
    struct pawl_request request;
    enum pawl_code code = begin_change(pawl, &request, PAWL_COMMAND_CHECKPOINT, task_id, change, err);
    if (code != PAWL_OK) return code;
    char id[PAWL_CHECKPOINT_ID_BYTES + 1] = "";
    char *out = request.command.out.checkpoint_id;
    request.command.ask.checkpoint.step = step;
    request.command.ask.checkpoint.state = state;
    request.command.out.checkpoint_id = id;
    code = pawl_engine_check_and_ask(pawl, &request, err);
    if (code == PAWL_OK && out != NULL) memcpy(out, id, sizeof id);
    return code;
}

enum pawl_code pawl_task_log(struct pawl *pawl, struct pawl_str task_id, struct pawl_str line,
                             const struct pawl_change *change, struct pawl_error *err)
{
    struct pawl_request request;
    enum pawl_code code = begin_change(pawl, &request, PAWL_COMMAND_LOG, task_id, change, err);
    request.command.ask.line = line;
    return code != PAWL_OK ? code : pawl_engine_check_and_ask(pawl, &request, err);
}

enum pawl_code pawl_task_complete(struct pawl *pawl, struct pawl_str task_id, struct pawl_str result,
                                  const struct pawl_change *change, struct pawl_error *err)
{
    struct pawl_request request;
    enum pawl_code code = begin_change(pawl, &request, PAWL_COMMAND_COMPLETE, task_id, change, err);
    request.command.ask.result = result;
    return code != PAWL_OK ? code : pawl_engine_check_and_ask(pawl, &request, err);
}

enum pawl_code pawl_task_fail(struct pawl *pawl, struct pawl_str task_id,
                              const struct pawl_failure *failure, const struct pawl_change *change,
                              struct pawl_error *err)
{
    struct pawl_request request;
    enum pawl_code code = begin_change(pawl, &request, PAWL_COMMAND_FAIL, task_id, change, err);
    if (code == PAWL_OK && failure != NULL) {
        code = PAWL_OPTIONS_READ(request.command.ask.failure, failure, "failure", "PAWL_FAILURE_INIT", err);
    }
    return code != PAWL_OK ? code : pawl_engine_check_and_ask(pawl, &request, err);
}

enum pawl_code pawl_task_release(struct pawl *pawl, struct pawl_str task_id, int64_t delay_ms,
                                 const struct pawl_change *change, struct pawl_error *err)
{
    struct pawl_request request;
    enum pawl_code code = begin_change(pawl, &request, PAWL_COMMAND_RELEASE, task_id, change, err);
    request.command.ask.delay_ms = delay_ms;
    return code != PAWL_OK ? code : pawl_engine_check_and_ask(pawl, &request, err);
}

/* ---- Operating ---- */

enum pawl_code pawl_task_queue(struct pawl *pawl, struct pawl_str task_id,
                               const struct pawl_change *change, struct pawl_error *err)
{
    struct pawl_request request;
    enum pawl_code code = begin_change(pawl, &request, PAWL_COMMAND_QUEUE, task_id, change, err);
    return code != PAWL_OK ? code : pawl_engine_check_and_ask(pawl, &request, err);
}

enum pawl_code pawl_task_pause(struct pawl *pawl, struct pawl_str task_id,
                               const struct pawl_change *change, struct pawl_error *err)
{
    struct pawl_request request;
    enum pawl_code code = begin_change(pawl, &request, PAWL_COMMAND_PAUSE, task_id, change, err);
    return code != PAWL_OK ? code : pawl_engine_check_and_ask(pawl, &request, err);
}

enum pawl_code pawl_task_cancel(struct pawl *pawl, struct pawl_str task_id, bool is_forced,
                                const struct pawl_change *change, struct pawl_error *err)
{
    struct pawl_request request;
    enum pawl_code code = begin_change(pawl, &request, PAWL_COMMAND_CANCEL, task_id, change, err);
    request.command.ask.is_forced = is_forced;
    return code != PAWL_OK ? code : pawl_engine_check_and_ask(pawl, &request, err);
}

enum pawl_code pawl_task_resume(struct pawl *pawl, struct pawl_str task_id,
                                const struct pawl_resume *resume, const struct pawl_change *change,
                                struct pawl_error *err)
{
    struct pawl_request request;
    enum pawl_code code = begin_change(pawl, &request, PAWL_COMMAND_RESUME, task_id, change, err);
    if (code == PAWL_OK && resume != NULL) {
        code = PAWL_OPTIONS_READ(request.command.ask.resume, resume, "resume", "PAWL_RESUME_INIT", err);
    }
    return code != PAWL_OK ? code : pawl_engine_check_and_ask(pawl, &request, err);
}

enum pawl_code pawl_engine_look_at_work(struct pawl *pawl, struct pawl_command *command, struct pawl_error *err)
{
    struct pawl_arena *scratch;
    struct pawl_task task;
    if (!pawl_resolve_needs_look(command)) return PAWL_OK;
    enum pawl_code code = pawl_arena_open(&scratch, 0);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no memory to look at the task");
    code = pawl_task_get(pawl, command->task_id, false, scratch, &task, err);
    /* what has stopped now stays so: under a lost epoch nothing can begin any more */
    if (code == PAWL_OK && task.state == PAWL_TASK_RECOVERY_PENDING) command->ask.resolve.seen_epoch = task.epoch;
    /* RUNNING too: its lease may have ended with nobody to fence it before this very call */
    bool has_lock = code == PAWL_OK && task.is_supervised;
    enum pawl_finding finding = has_lock ? pawl_proof_find(&pawl->locks, &task) : PAWL_FINDING_STOPPED;
    if (finding == PAWL_FINDING_UNKNOWN) {
        code = pawl_error_set(err, PAWL_LEASE_ACTIVE,
                              "whether the work of task %.*s goes on cannot be told: its lock is in another file of this "
                              "machine, or one that is gone; make sure that it has stopped, and force this",
                              PAWL_STR_ARG(task.id));
    }
    if (finding == PAWL_FINDING_ALIVE) {
        code = pawl_error_set(err, PAWL_LEASE_ACTIVE,
                              "the work of task %.*s goes on: its lock is held; wait for it, stop it, or force this",
                              PAWL_STR_ARG(task.id));
    }
    pawl_arena_close(scratch);
    return code;
}

enum pawl_code pawl_task_resolve(struct pawl *pawl, struct pawl_str task_id,
                                 enum pawl_task_state outcome, struct pawl_str text,
                                 const struct pawl_change *change, struct pawl_error *err)
{
    struct pawl_request request;
    enum pawl_code code = begin_change(pawl, &request, PAWL_COMMAND_RESOLVE, task_id, change, err);
    request.command.ask.resolve.outcome = outcome;
    request.command.ask.resolve.text = text;
    if (code == PAWL_OK) code = pawl_engine_look_at_work(pawl, &request.command, err);
    return code != PAWL_OK ? code : pawl_engine_check_and_ask(pawl, &request, err);
}

enum pawl_code pawl_dead_redrive(struct pawl *pawl, const struct pawl_redrive *ask, int64_t *count,
                                 struct pawl_error *err)
{
    if (pawl == NULL || ask == NULL) return misuse(err, "pawl and ask are needed");
    struct pawl_redrive own;
    enum pawl_code code = PAWL_OPTIONS_READ(own, ask, "ask", "PAWL_REDRIVE_INIT", err);
    if (code != PAWL_OK) return code;
    struct pawl_request request;
    int64_t done = 0;
    pawl_request_init(&request, PAWL_COMMAND_REDRIVE);
    request.command.ask.redrive = &own;
    request.command.out.count = &done;
    request.continuing = own.continuing;
    code = pawl_engine_check_and_ask(pawl, &request, err);
    if (code == PAWL_OK && count != NULL) *count = done;
    return code;
}

enum pawl_code pawl_queue_set(struct pawl *pawl, const struct pawl_queue_set *ask, struct pawl_error *err)
{
    if (pawl == NULL || ask == NULL) return misuse(err, "pawl and ask are needed");
    struct pawl_queue_set own;
    enum pawl_code code = PAWL_OPTIONS_READ(own, ask, "ask", "PAWL_QUEUE_SET_INIT", err);
    if (code != PAWL_OK) return code;
    struct pawl_request request;
    pawl_request_init(&request, PAWL_COMMAND_QUEUE_SET);
    request.command.ask.queue_set = &own;
    return pawl_engine_check_and_ask(pawl, &request, err);
}

/* ---- Room ---- */

static enum pawl_code check_gc(const struct pawl_gc *ask, struct pawl_error *err)
{
    if (ask->older_than_ms < 0 || ask->older_than_ms > PAWL_RETAIN_MS_MAX) {
        return pawl_error_set(err, PAWL_INVALID, "older_than_ms: %lld is not from 0 to %lld",
                              (long long)ask->older_than_ms, (long long)PAWL_RETAIN_MS_MAX);
    }
    if ((ask->states & ~(uint32_t)PAWL_TASK_STATES_TERMINAL) != 0) {
        return pawl_error_set(err, PAWL_INVALID, "states: only what has ended can be removed");
    }
    return ask->max >= 0 ? PAWL_OK : pawl_error_set(err, PAWL_INVALID, "max: is negative");
}

/* Slice after slice, each a command of its own. */
static enum pawl_code run_gc(struct pawl *pawl, struct pawl_retain slice, struct pawl_gc_done *done,
                             struct pawl_error *err)
{
    struct pawl_gc_done all = {0};
    for (bool goes_on = true; goes_on;) {
        struct pawl_request request;
        struct pawl_retained out = {0};
        pawl_request_init(&request, PAWL_COMMAND_RETAIN);
        request.command.ask.retain = slice;
        request.command.out.retained = &out;
        enum pawl_code code = pawl_engine_check_and_ask(pawl, &request, err);
        if (code != PAWL_OK) return code;
        all.removed += out.removed;
        all.waiting += out.waiting;
        all.ended += out.ended;
        memcpy(all.held_by, out.held_by, sizeof all.held_by);
        slice.after = out.after;
        slice.max -= out.removed;
        goes_on = out.goes_on && slice.max > 0;
    }
    *done = all;
    return PAWL_OK;
}

enum pawl_code pawl_gc(struct pawl *pawl, const struct pawl_gc *ask, struct pawl_gc_done *done,
                       struct pawl_error *err)
{
    struct pawl_gc own;
    if (pawl == NULL || ask == NULL || done == NULL) return misuse(err, "pawl, ask and done are needed");
    enum pawl_code code = PAWL_OPTIONS_READ(own, ask, "ask", "PAWL_GC_INIT", err);
    if (code == PAWL_OK) code = check_gc(&own, err);
    if (code == PAWL_OK) code = pawl_engine_enter(pawl, err);
    if (code != PAWL_OK) return code;
    code = run_gc(pawl,
                  (struct pawl_retain){.older_than_ms = own.older_than_ms,
                                       .states = own.states != 0 ? own.states : PAWL_TASK_STATES_TERMINAL,
                                       .is_dry = own.is_dry,
                                       .max = own.max != 0 ? own.max : INT64_MAX},
                  done, err);
    pawl_engine_leave(pawl);
    return code;
}

static enum pawl_code run_compact(struct pawl *pawl, struct pawl_compacted *done, struct pawl_error *err)
{
    struct pawl_compacted all = {0};
    for (bool goes_on = true; goes_on;) {
        struct pawl_request request;
        struct pawl_pages pages = {0};
        pawl_request_init(&request, PAWL_COMMAND_COMPACT);
        request.command.out.pages = &pages;
        enum pawl_code code = pawl_engine_check_and_ask(pawl, &request, err);
        if (code != PAWL_OK) return code;
        if (!pages.is_able) {
            return pawl_error_set(err, PAWL_UNSUPPORTED,
                                  "this file was made by a version that could not give room back in slices; "
                                  "with all programs stopped, sqlite3 FILE 'PRAGMA auto_vacuum = 2; VACUUM' "
                                  "makes it such a file");
        }
        all.freed_bytes += pages.freed_pages * pages.page_bytes;
        all.file_bytes = pages.pages * pages.page_bytes;
        goes_on = pages.free_pages > 0 && pages.freed_pages > 0;
    }
    *done = all;
    return PAWL_OK;
}

enum pawl_code pawl_compact(struct pawl *pawl, struct pawl_compacted *done, struct pawl_error *err)
{
    if (pawl == NULL || done == NULL) return misuse(err, "pawl and done are needed");
    enum pawl_code code = pawl_engine_enter(pawl, err);
    if (code != PAWL_OK) return code;
    if (pawl->turn == NULL) {
        code = pawl_error_set(err, PAWL_UNSUPPORTED,
                              "PostgreSQL uses the room of removed rows again by itself (autovacuum); "
                              "VACUUM FULL of the schema's tables gives it back, and locks them meanwhile");
    } else {
        code = run_compact(pawl, done, err);
    }
    pawl_engine_leave(pawl);
    return code;
}

/* ---- Consumers ---- */

enum pawl_code pawl_consumer_acknowledge_through(struct pawl *pawl, struct pawl_str consumer,
                                                 int64_t position, struct pawl_error *err)
{
    if (pawl == NULL) return misuse(err, "pawl: is NULL");
    struct pawl_request request;
    pawl_request_init(&request, PAWL_COMMAND_ACKNOWLEDGE_THROUGH);
    request.command.ask.acknowledge.consumer = consumer;
    request.command.ask.acknowledge.position = position;
    return pawl_engine_check_and_ask(pawl, &request, err);
}

enum pawl_code pawl_consumer_acknowledge(struct pawl *pawl, struct pawl_str consumer,
                                         struct pawl_str event_id, bool *is_first,
                                         struct pawl_error *err)
{
    if (pawl == NULL) return misuse(err, "pawl: is NULL");
    struct pawl_request request;
    bool first = false;
    pawl_request_init(&request, PAWL_COMMAND_ACKNOWLEDGE);
    request.command.ask.acknowledge.consumer = consumer;
    request.command.ask.acknowledge.event_id = event_id;
    request.command.ask.acknowledge.at_ms = pawl_uuid_at_ms(event_id);
    request.command.out.is_first = &first;
    enum pawl_code code = pawl_engine_check_and_ask(pawl, &request, err);
    if (code == PAWL_OK && is_first != NULL) *is_first = first;
    return code;
}
