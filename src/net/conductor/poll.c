/* Polls: claims of one queue. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "net/conductor/polls.h"
#include "net/conductor/work.h"
#include "net/conductor/workflow_json.h"

void pawl_polling_fill(struct pawl_polling *polling, const struct pawl_conductor *conductor,
                       struct pawl_str queue, struct pawl_str worker_id, struct pawl_str peer,
                       struct pawl_request *request)
{
    static const struct pawl_str nobody = PAWL_CONDUCTOR_NOBODY;
    polling->queue = queue;
    polling->worker_id = worker_id;
    polling->claim = (struct pawl_claim)PAWL_CLAIM_INIT;
    polling->claim.queues = &polling->queue;
    polling->claim.queue_count = queue.len > 0 ? 1 : 0;
    polling->claim.worker_id = worker_id.len > 0 ? worker_id : nobody;
    polling->poll.grace_ms = conductor->lease_grace_ms;
    request->command.ask.claim.ask = &polling->claim;
    request->command.ask.claim.poll = &polling->poll;
    if (worker_id.len > 0) request->command.ask.claim.about.host = peer;
    request->command.out.claimed = &polling->claimed;
}

/* ---- What was granted ---- */

/* A task of a workflow, as it is read after the claim. */
static enum pawl_code read_task(const struct pawl_polling *polling, struct pawl_reader *reader,
                                const struct pawl_grant *grant, struct pawl_shown_task *out,
                                struct pawl_error *err)
{
    const struct pawl_workflow_ask nothing = {0};
    struct pawl_arena *keep = polling->ask->exchange->arena;
    struct pawl_record_view record;
    struct pawl_workflow_view workflow;
    struct pawl_shown_definition of;
    enum pawl_code code = pawl_read_record(reader, grant->fence.task_id, keep, &record, err);
    if (code == PAWL_OK) {
        code = pawl_read_workflow(reader, record.workflow_id, &nothing, keep, &workflow, err);
    }
    if (code != PAWL_OK) return code;
    pawl_shown_definition_read(&workflow, keep, &of);
    *out = pawl_shown_task_recorded(&record, &of);
    out->status = "IN_PROGRESS";
    out->worker_id = polling->worker_id;
    out->callback_after_s = 0;
    return PAWL_OK;
}

static enum pawl_code put_grant(const struct pawl_polling *polling, struct pawl_reader *reader,
                                const struct pawl_grant *grant, struct pawl_json_writer *w,
                                struct pawl_error *err)
{
    int64_t grace_ms = polling->conductor->lease_grace_ms;
    int64_t waited_ms = polling->claimed.waited_ms;
    int64_t left_ms = pawl_ask_left_ms(polling->ask, grant, waited_ms);
    const struct pawl_shown_lease lease = {
        .epoch = grant->fence.epoch,
        .remaining_ms = left_ms > grace_ms ? left_ms - grace_ms : 0,
        .waited_ms = waited_ms,
    };
    struct pawl_shown_task task = pawl_shown_task_granted(grant, polling->worker_id, grace_ms);
    if (grant->is_of_workflow) {
        enum pawl_code code = read_task(polling, reader, grant, &task, err);
        if (code != PAWL_OK) return code;
    }
    task.lease = &lease;
    pawl_shown_task_write(&task, w);
    return PAWL_OK;
}

static void answer_grants(const struct pawl_polling *polling, struct pawl_reader *reader)
{
    struct pawl_exchange *exchange = polling->ask->exchange;
    const struct pawl_claimed *claimed = &polling->claimed;
    struct pawl_error err = {0};
    struct pawl_json_writer w;
    enum pawl_code code = PAWL_OK;
    pawl_json_writer_init(&w, exchange->arena);
    if (!polling->is_single) pawl_json_begin_array(&w);
    for (size_t i = 0; i < claimed->count && code == PAWL_OK; i++) {
        code = put_grant(polling, reader, &claimed->grants[i], &w, &err);
    }
    if (code != PAWL_OK) {
        pawl_ask_give_back(polling->ask->pawl, claimed->grants, claimed->count);
        pawl_ask_refuse(exchange, &err);
        return;
    }
    if (!polling->is_single) pawl_json_end_array(&w);
    pawl_ask_answer_grants(exchange, polling->ask->pawl, claimed->grants, claimed->count, &w);
}

static void refuse_grants(const struct pawl_polling *polling, const struct pawl_error *err)
{
    pawl_ask_give_back(polling->ask->pawl, polling->claimed.grants, polling->claimed.count);
    pawl_ask_refuse(polling->ask->exchange, err);
}

static void read_and_answer(struct pawl_read *read, struct pawl_reader *reader,
                            const struct pawl_error *failed)
{
    const struct pawl_polling *polling = read->self;
    if (reader != NULL) {
        answer_grants(polling, reader);
    } else {
        refuse_grants(polling, failed);
    }
}

void pawl_polling_answer(struct pawl_polling *polling, const struct pawl_conductor *conductor,
                         const struct pawl_ask *ask, bool is_single)
{
    struct pawl_error err = {0};
    bool needs_reader = false;
    for (size_t i = 0; i < polling->claimed.count; i++) {
        needs_reader = needs_reader || polling->claimed.grants[i].is_of_workflow;
    }
    polling->conductor = conductor;
    polling->ask = ask;
    polling->is_single = is_single;
    polling->read = (struct pawl_read){.run = read_and_answer, .self = polling};
    if (!needs_reader) {
        answer_grants(polling, NULL);
    } else if (pawl_readers_add(conductor->readers, &polling->read, &err) != PAWL_OK) {
        refuse_grants(polling, &err);
    }
}

/* ---- Polls ---- */

struct poll {
    struct pawl_ask ask; /* first */
    struct pawl_conductor *conductor;
    struct pawl_polling polling;
    bool is_single;
};

static void answer(struct pawl_ask *ask)
{
    struct poll *poll = (struct poll *)ask;
    if (poll->polling.claimed.count > 0) {
        pawl_polling_answer(&poll->polling, poll->conductor, ask, poll->is_single);
    } else if (poll->is_single) {
        pawl_exchange_answer_empty(ask->exchange, 204);
    } else {
        pawl_exchange_answer(ask->exchange, 200, "application/json", PAWL_STR("[]"));
    }
}

static struct pawl_str queue_of(struct pawl_exchange *exchange)
{
    struct pawl_str type = pawl_exchange_variable(exchange, "tasktype");
    struct pawl_str domain = pawl_exchange_text(exchange, "domain");
    if (domain.len == 0) return type;
    return pawl_arena_format(exchange->arena, "%.*s:%.*s", PAWL_STR_ARG(domain),
                             PAWL_STR_ARG(type));
}

static void poll_queue(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                       bool is_single)
{
    enum { COUNT_MAX = PAWL_BATCH_MAX };
    int64_t count = pawl_exchange_int64(exchange, "count", INT32_MIN, INT32_MAX, 1);
    int64_t timeout_ms = pawl_exchange_int64(exchange, "timeout", INT32_MIN,
                                             PAWL_CONDUCTOR_POLL_MS_MAX, PAWL_CONDUCTOR_POLL_MS);
    if (pawl_exchange_has_failed(exchange)) return;
    if (is_single) {
        count = 1;
        timeout_ms = PAWL_CONDUCTOR_POLL_MS;
    }
    struct poll *poll =
        pawl_ask_begin(exchange, conductor->pawl, sizeof *poll, PAWL_COMMAND_CLAIM, answer);
    if (poll == NULL) return;
    struct pawl_str worker_id = pawl_exchange_text(exchange, "workerid");
    const struct pawl_env *env = conductor->pawl->env;
    poll->conductor = conductor;
    poll->is_single = is_single;
    pawl_polling_fill(&poll->polling, conductor, queue_of(exchange), worker_id,
                      exchange->peer, &poll->ask.request);
    pawl_polls_note(conductor->polls, poll->polling.queue, worker_id, env->wall_ms(env->self));
    if (count <= 0) {
        answer(&poll->ask);
        return;
    }
    poll->polling.claim.max = (int32_t)(count < COUNT_MAX ? count : COUNT_MAX);
    poll->ask.request.wait_ms = timeout_ms > 0 ? timeout_ms : 0;
    pawl_ask_hand(&poll->ask);
}

static void poll_batch(struct pawl_exchange *exchange, void *self)
{
    poll_queue(exchange, self, false);
}

static void poll_single(struct pawl_exchange *exchange, void *self)
{
    poll_queue(exchange, self, true);
}

/* clang-format off */
static const struct pawl_route routes[] = {
    {PAWL_VERB_GET, "/api/tasks/poll/batch/{tasktype}", PAWL_ROLE_WORKER, "Claims tasks of a type", poll_batch, PAWL_ROUTE_TAKES},
    {PAWL_VERB_GET, "/api/tasks/poll/{tasktype}", PAWL_ROLE_WORKER, "Claims a task of a type", poll_single, PAWL_ROUTE_TAKES},
};
/* clang-format on */

struct pawl_route_table pawl_conductor_polls(struct pawl_conductor *conductor)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), conductor};
}
