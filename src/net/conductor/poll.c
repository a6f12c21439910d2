/* Polls: claims of one queue. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "net/conductor/polls.h"
#include "net/conductor/task_json.h"
#include "net/conductor/work.h"

void pawl_polling_fill(struct pawl_polling *polling, const struct pawl_conductor *conductor,
                       struct pawl_str queue, struct pawl_str worker_id,
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
    request->command.out.claimed = &polling->claimed;
}

void pawl_polling_put(const struct pawl_polling *polling, const struct pawl_conductor *conductor,
                      const struct pawl_grant *grant, int64_t left_ms, struct pawl_json_writer *w)
{
    int64_t grace_ms = conductor->lease_grace_ms;
    const struct pawl_shown_lease lease = {
        .epoch = grant->fence.epoch,
        .remaining_ms = left_ms > grace_ms ? left_ms - grace_ms : 0,
        .waited_ms = polling->claimed.waited_ms,
    };
    struct pawl_shown_task task = pawl_shown_task_granted(grant, polling->worker_id, grace_ms);
    task.lease = &lease;
    pawl_shown_task_write(&task, w);
}

struct poll {
    struct pawl_ask ask; /* first */
    struct pawl_conductor *conductor;
    struct pawl_polling polling;
    bool is_single;
};

static void put_grants(const struct poll *poll, struct pawl_json_writer *w)
{
    const struct pawl_claimed *claimed = &poll->polling.claimed;
    if (!poll->is_single) pawl_json_begin_array(w);
    for (size_t i = 0; i < claimed->count; i++) {
        const struct pawl_grant *grant = &claimed->grants[i];
        int64_t left_ms = pawl_ask_left_ms(&poll->ask, grant, claimed->waited_ms);
        pawl_polling_put(&poll->polling, poll->conductor, grant, left_ms, w);
    }
    if (!poll->is_single) pawl_json_end_array(w);
}

static void answer(struct pawl_ask *ask)
{
    const struct poll *poll = (const struct poll *)ask;
    const struct pawl_claimed *claimed = &poll->polling.claimed;
    struct pawl_json_writer w;
    if (poll->is_single && claimed->count == 0) {
        pawl_exchange_answer_empty(ask->exchange, 204);
        return;
    }
    pawl_json_writer_init(&w, ask->exchange->arena);
    put_grants(poll, &w);
    pawl_ask_answer_grants(ask->exchange, ask->pawl, claimed->grants, claimed->count, &w);
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
                      &poll->ask.request);
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
