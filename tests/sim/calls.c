/* Calls on their way: made, handed over as any caller would, told of, and forgotten. */
#include "work.h"

#include "base/error.h"
#include "core/check.h"

#include <inttypes.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

struct call *call_make(struct sim *sim, enum pawl_command_kind kind, int worker)
{
    if (sim->call_count == SIM_CALLS_MAX) abort();
    struct call *call = &sim->calls[sim->call_count];
    *call = (struct call){.number = sim->call_count++,
                          .worker = worker,
                          .asked_at_ms = -1,
                          .command = {.kind = kind}};
    if (worker >= 0) call->generation = sim->workers[worker].generation;
    if (worker < 0) call->command.actor = sim_text(sim, "op#%d", call->number);
    call->command.reason = sim_text(sim, "#%d", call->number);
    return call;
}

static void point_answers(struct sent *sent)
{
    struct pawl_command *command = &sent->request.command;
    switch (command->kind) {
    case PAWL_COMMAND_CREATE:
        command->out.added = sent->added;
        break;
    case PAWL_COMMAND_START:
        command->out.grant = &sent->grant;
        break;
    case PAWL_COMMAND_CLAIM:
        command->out.claimed = &sent->claimed;
        break;
    case PAWL_COMMAND_RENEW:
        command->out.renewals = sent->renewals;
        break;
    case PAWL_COMMAND_REDRIVE:
        command->out.count = &sent->count;
        break;
    case PAWL_COMMAND_ACKNOWLEDGE:
        command->out.is_first = &sent->is_first;
        break;
    case PAWL_COMMAND_WORKFLOW_START:
        command->out.started = &sent->started;
        break;
    case PAWL_COMMAND_WORKFLOW_OPERATE:
        command->out.operated = &sent->operated;
        break;
    case PAWL_COMMAND_UPDATE:
        command->out.updated = &sent->updated;
        break;
    default:
        break;
    }
}

/* Who claims, from where. */
static void tell_worker(struct sim *sim, struct pawl_command *command, int number)
{
    const struct worker *worker = &sim->workers[number];
    struct pawl_worker_about *about = &command->ask.claim.about;
    *about = (struct pawl_worker_about){
        .host = worker->is_far ? PAWL_STR("far") : sim->host_id,
        .boot = worker->is_far ? PAWL_STR("boot-far") : sim->boot_id,
        .pid = 1 + number,
    };
    if (command->ask.claim.ask->is_supervised) about->place = work_place(sim, worker);
}

/* Time passes between what an operator has seen and what he says. */
static void think(struct sim *sim)
{
    enum { THOUGHT_MS_MAX = 1500 };
    if (sim->is_calm || !chance_of(&sim->chance, sim->swarm.slow_begin)) return;
    sim->now_ms += chance_from(&sim->chance, 1, THOUGHT_MS_MAX);
    work_go_on(sim);
}

/* What the public calls do on their caller's thread. */
static enum pawl_code prepare(struct sim *sim, struct engine *engine, struct sent *sent,
                              struct call *call, struct pawl_error *err)
{
    struct pawl_command *command = &sent->request.command;
    bool is_claim = command->kind == PAWL_COMMAND_CLAIM || command->kind == PAWL_COMMAND_START;
    if (is_claim && call->worker >= 0) {
        tell_worker(sim, command, call->worker);
        call->place = command->ask.claim.about.place;
    }
    if (command->kind == PAWL_COMMAND_RESOLVE) {
        enum pawl_code code = pawl_engine_look_at_work(engine->pawl, command, err);
        if (code != PAWL_OK) return code;
        call->seen_epoch = command->ask.resolve.seen_epoch;
        think(sim);
    }
    if (call->command.kind == PAWL_COMMAND_CREATE) {
        const struct pawl_member *members = NULL;
        enum pawl_code code = pawl_check_create(call->asks, call->count, PAWL_STR("sim"),
                                                sent->scratch, &members, err);
        if (code != PAWL_OK) return code;
        command->ask.create.members = members;
        command->ask.create.count = call->count;
        sent->added = pawl_arena_take_array(sent->scratch, call->count, sizeof *sent->added);
    } else {
        enum pawl_code code = pawl_check_command(command, sent->scratch, err);
        if (code != PAWL_OK) return code;
    }
    point_answers(sent);
    command->keep = sent->keep;
    return PAWL_OK;
}

bool call_send(struct sim *sim, struct engine *engine, struct call *call)
{
    struct pawl_error err = {0};
    if (sim->sent_count == SIM_SENT_MAX || work_forbids(sim, call)) return false;
    if (call->asked_at_ms < 0) call->asked_at_ms = sim->now_ms;
    struct sent *sent = &sim->sent[sim->sent_count];
    struct pawl_arena *keep = sent->keep;
    struct pawl_arena *scratch = sent->scratch;
    if (keep == NULL &&
        (pawl_arena_open(&keep, 0) != PAWL_OK || pawl_arena_open(&scratch, 0) != PAWL_OK)) {
        abort();
    }
    pawl_arena_reset(keep);
    pawl_arena_reset(scratch);
    *sent = (struct sent){.call = call, .keep = keep, .scratch = scratch};
    pawl_request_init(&sent->request, call->command.kind);
    sent->request.command = call->command;
    enum pawl_code code = prepare(sim, engine, sent, call, &err);
    if (code != PAWL_OK) {
        sim_tell(sim, "%s -> %s before it is handed over: %s", call_text(sim, call),
                 pawl_code_name(code), err.text);
        return false;
    }
    call->sent_count++;
    sim->sent_count++;
    sim->result->calls++;
    pawl_engine_add(engine->pawl, &sent->request);
    return true;
}

void call_forget_sent(struct sim *sim)
{
    for (int i = 0; i < sim->sent_count; i++) (void)sem_destroy(&sim->sent[i].request.answered);
    sim->sent_count = 0;
}

/* ---- Telling ------------------------------------------------------------------------------- */

static const char *kind_name(enum pawl_command_kind kind)
{
    switch (kind) {
    case PAWL_COMMAND_CREATE:
        return "add";
    case PAWL_COMMAND_QUEUE:
        return "queue";
    case PAWL_COMMAND_START:
        return "start";
    case PAWL_COMMAND_CLAIM:
        return "claim";
    case PAWL_COMMAND_RENEW:
        return "renew";
    case PAWL_COMMAND_STOPPED:
        return "stopped";
    case PAWL_COMMAND_RECOVER:
        return "recover";
    case PAWL_COMMAND_PROGRESS:
        return "progress";
    case PAWL_COMMAND_CHECKPOINT:
        return "checkpoint";
    case PAWL_COMMAND_LOG:
        return "log";
    case PAWL_COMMAND_COMPLETE:
        return "complete";
    case PAWL_COMMAND_FAIL:
        return "fail";
    case PAWL_COMMAND_RELEASE:
        return "release";
    case PAWL_COMMAND_PAUSE:
        return "pause";
    case PAWL_COMMAND_RESUME:
        return "resume";
    case PAWL_COMMAND_CANCEL:
        return "cancel";
    case PAWL_COMMAND_RESOLVE:
        return "resolve";
    case PAWL_COMMAND_REDRIVE:
        return "redrive";
    case PAWL_COMMAND_QUEUE_SET:
        return "queue set";
    case PAWL_COMMAND_CONSUMER_OPEN:
        return "consumer open";
    case PAWL_COMMAND_ACKNOWLEDGE:
        return "acknowledge";
    case PAWL_COMMAND_ACKNOWLEDGE_THROUGH:
        return "acknowledge through";
    case PAWL_COMMAND_RETAIN:
        return "retain";
    case PAWL_COMMAND_COMPACT:
        return "compact";
    case PAWL_COMMAND_UPDATE:
        return "update";
    case PAWL_COMMAND_DEFINE:
        return "define";
    case PAWL_COMMAND_UNDEFINE:
        return "undefine";
    case PAWL_COMMAND_WORKFLOW_START:
        return "workflow start";
    case PAWL_COMMAND_WORKFLOW_OPERATE:
        return "workflow operate";
    case PAWL_COMMAND_IMPORT:
        return "import";
    case PAWL_COMMAND_DUE:
        return "due";
    case PAWL_COMMAND_CONTINUE:
        return "continue";
    }
    return "?";
}

/* Short names: the place of the task and its id. */
static struct pawl_str task_text(struct sim *sim, struct pawl_str id)
{
    int at = model_find(sim, id);
    if (id.len == 0) return id;
    return at < 0 ? sim_text(sim, "%.*s (unknown)", PAWL_STR_ARG(id)) : sim_text(sim, "t%d", at);
}

static struct pawl_str add_text(struct sim *sim, const struct call *call)
{
    struct pawl_str text = sim_text(sim, "%zu", call->count);
    for (size_t i = 0; i < call->count && i < 4; i++) {
        const struct pawl_task_new *ask = &call->asks[i];
        text = sim_text(sim, "%.*s [%.*s priority %d%s%.*s%s%.*s%s", PAWL_STR_ARG(text),
                        PAWL_STR_ARG(ask->queue), ask->priority, ask->id.len > 0 ? " id " : "",
                        PAWL_STR_ARG(ask->id), ask->key.len > 0 ? " key " : "",
                        PAWL_STR_ARG(ask->key), ask->hold ? " hold" : "");
        for (size_t d = 0; d < ask->depends_on_count; d++) {
            bool is_member = ask->depends_on[d].ptr[0] == '#';
            struct pawl_str on =
                is_member ? ask->depends_on[d] : task_text(sim, ask->depends_on[d]);
            text = sim_text(sim, "%.*s%s%.*s", PAWL_STR_ARG(text), d == 0 ? " after " : ",",
                            PAWL_STR_ARG(on));
        }
        text = sim_text(sim, "%.*s]", PAWL_STR_ARG(text));
    }
    return text;
}

static struct pawl_str what_text(struct sim *sim, const struct call *call)
{
    const struct pawl_command *command = &call->command;
    struct pawl_str text = {0};
    switch (command->kind) {
    case PAWL_COMMAND_CREATE:
        return add_text(sim, call);
    case PAWL_COMMAND_CLAIM:
    case PAWL_COMMAND_START: {
        const struct pawl_claim *ask = command->ask.claim.ask;
        for (size_t i = 0; i < ask->queue_count; i++) {
            text = sim_text(sim, "%.*s%.*s ", PAWL_STR_ARG(text), PAWL_STR_ARG(ask->queues[i]));
        }
        return sim_text(sim, "%.*s%smax %d lease %" PRId64 " priority %d.. request %.*s",
                        PAWL_STR_ARG(text), ask->is_supervised ? "supervised " : "", ask->max,
                        ask->lease_ms, ask->priority_min, PAWL_STR_ARG(ask->request_id));
    }
    case PAWL_COMMAND_RENEW:
        for (size_t i = 0; i < command->ask.renew.count; i++) {
            const struct pawl_fence *fence = &command->ask.renew.fences[i];
            text = sim_text(sim, "%.*s%.*s epoch %" PRId64 ", ", PAWL_STR_ARG(text),
                            PAWL_STR_ARG(task_text(sim, fence->task_id)), fence->epoch);
        }
        return sim_text(sim, "%.*sfor %" PRId64, PAWL_STR_ARG(text), command->ask.renew.lease_ms);
    case PAWL_COMMAND_PROGRESS:
        return sim_text(sim, "%.0f %%", command->ask.percent);
    case PAWL_COMMAND_COMPLETE:
        return command->ask.result;
    case PAWL_COMMAND_FAIL:
        return sim_text(sim, "%s retry after %" PRId64,
                        command->ask.failure.is_final ? "for good" : "",
                        command->ask.failure.retry_after_ms);
    case PAWL_COMMAND_RELEASE:
        return sim_text(sim, "for %" PRId64 " ms", command->ask.delay_ms);
    case PAWL_COMMAND_CANCEL:
        return command->ask.is_forced ? PAWL_STR("by force") : text;
    case PAWL_COMMAND_RESOLVE:
        return sim_text(sim, "%s%s", pawl_task_state_name(command->ask.resolve.outcome),
                        command->is_forced ? " whatever runs" : "");
    case PAWL_COMMAND_REDRIVE:
        return sim_text(sim, "%.*s max %" PRId64, PAWL_STR_ARG(command->ask.redrive->queue),
                        command->ask.redrive->max);
    case PAWL_COMMAND_QUEUE_SET:
        return sim_text(sim, "%.*s pause %d lease %" PRId64,
                        PAWL_STR_ARG(command->ask.queue_set->name), command->ask.queue_set->pause,
                        command->ask.queue_set->lease_ms);
    case PAWL_COMMAND_WORKFLOW_START:
        return command->ask.start->idempotency_key;
    case PAWL_COMMAND_WORKFLOW_OPERATE:
        return sim_text(sim, "verb %d", command->ask.operate->verb);
    case PAWL_COMMAND_UPDATE:
        return sim_text(sim, "status %d", command->ask.update->status);
    case PAWL_COMMAND_ACKNOWLEDGE:
    case PAWL_COMMAND_ACKNOWLEDGE_THROUGH:
        return sim_text(sim, "%.*s %" PRId64, PAWL_STR_ARG(command->ask.acknowledge.consumer),
                        command->ask.acknowledge.position);
    default:
        return text;
    }
}

const char *call_text(struct sim *sim, const struct call *call)
{
    const struct pawl_command *command = &call->command;
    struct pawl_str who =
        call->worker < 0 ? PAWL_STR("client") : sim_text(sim, "worker %d", call->worker);
    struct pawl_str task = task_text(sim, command->task_id);
    struct pawl_str fence = command->has_fence
                                ? sim_text(sim, " epoch %" PRId64, command->fence.epoch)
                                : (struct pawl_str){0};
    struct pawl_str version = command->expected_version != 0
                                  ? sim_text(sim, " if version %" PRId64, command->expected_version)
                                  : (struct pawl_str){0};
    return sim_text(sim, "#%d %.*s: %s %.*s%.*s%.*s %.*s", call->number, PAWL_STR_ARG(who),
                    kind_name(command->kind), PAWL_STR_ARG(task), PAWL_STR_ARG(fence),
                    PAWL_STR_ARG(version), PAWL_STR_ARG(what_text(sim, call)))
        .ptr;
}

static struct pawl_str grant_text(struct sim *sim, struct pawl_str text,
                                  const struct pawl_grant *grant)
{
    return sim_text(sim, "%.*s %.*s epoch %" PRId64 " until %" PRId64, PAWL_STR_ARG(text),
                    PAWL_STR_ARG(task_text(sim, grant->fence.task_id)), grant->fence.epoch,
                    grant->lease_end_at_ms);
}

static struct pawl_str answer_text(struct sim *sim, const struct sent *sent)
{
    struct pawl_str text = pawl_str_of(pawl_code_name(sent->code));
    if (sent->code != PAWL_OK) {
        return sim_text(sim, "%.*s: %s", PAWL_STR_ARG(text), sent->request.command.err.text);
    }
    switch (sent->request.command.kind) {
    case PAWL_COMMAND_CREATE:
        for (size_t i = 0; i < sent->call->count && i < 4; i++) {
            text = sim_text(sim, "%.*s %.*s%s", PAWL_STR_ARG(text), PAWL_STR_ARG(sent->added[i].id),
                            sent->added[i].existed ? " (existed)" : "");
        }
        return text;
    case PAWL_COMMAND_START:
        return grant_text(sim, text, &sent->grant);
    case PAWL_COMMAND_CLAIM:
        for (size_t i = 0; i < sent->claimed.count; i++) {
            text = grant_text(sim, text, &sent->claimed.grants[i]);
        }
        return sent->claimed.count > 0
                   ? text
                   : sim_text(sim, "nothing; next at %" PRId64, sent->claimed.next_at_ms);
    case PAWL_COMMAND_RENEW:
        for (size_t i = 0; i < sent->call->command.ask.renew.count; i++) {
            text = sim_text(sim, "%.*s %s", PAWL_STR_ARG(text),
                            pawl_code_name(sent->renewals[i].code));
        }
        return text;
    case PAWL_COMMAND_REDRIVE:
        return sim_text(sim, "%.*s %" PRId64, PAWL_STR_ARG(text), sent->count);
    case PAWL_COMMAND_ACKNOWLEDGE:
        return sim_text(sim, "%.*s %s", PAWL_STR_ARG(text), sent->is_first ? "first" : "again");
    default:
        return text;
    }
}

static void hash_answer(struct sim *sim, const struct sent *sent)
{
    struct pawl_hasher *hasher = &sim->hasher;
    pawl_hasher_add_int64(hasher, sent->call->number);
    pawl_hasher_add_int64(hasher, sent->verdict);
    pawl_hasher_add_int64(hasher, sent->code);
    if (sent->verdict != VERDICT_OK) return;
    switch (sent->request.command.kind) {
    case PAWL_COMMAND_CREATE:
        for (size_t i = 0; i < sent->call->count; i++) pawl_hasher_add(hasher, sent->added[i].id);
        break;
    case PAWL_COMMAND_START:
        pawl_hasher_add_int64(hasher, sent->grant.fence.epoch);
        break;
    case PAWL_COMMAND_CLAIM:
        for (size_t i = 0; i < sent->claimed.count; i++) {
            pawl_hasher_add(hasher, sent->claimed.grants[i].fence.task_id);
            pawl_hasher_add_int64(hasher, sent->claimed.grants[i].fence.epoch);
        }
        break;
    case PAWL_COMMAND_RENEW:
        for (size_t i = 0; i < sent->call->command.ask.renew.count; i++) {
            pawl_hasher_add_int64(hasher, sent->renewals[i].lease_end_at_ms);
        }
        break;
    default:
        break;
    }
}

void call_tell_answer(struct sim *sim, const struct engine *engine, const struct sent *sent)
{
    hash_answer(sim, sent);
    if (sim->options->story == NULL) return;
    const char *what = call_text(sim, sent->call);
    struct pawl_str answer =
        sent->was_answered ? answer_text(sim, sent) : PAWL_STR("no answer, the engine is dead");
    sim_tell(sim, "engine %d  %s -> %.*s", engine->number, what, PAWL_STR_ARG(answer));
}
