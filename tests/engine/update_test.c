/* What is said of a task on Conductor's wire: who is obeyed, and what becomes of it. */
#include "base/arena.h"
#include "core/check.h"
#include "core/limits.h"
#include "engine/engine.h"
#include "stores.h"

#define SAYS(...) (&(struct pawl_update){__VA_ARGS__})
enum { GRACE_MS = 1000 };

static enum pawl_code try_say(struct lab *lab, struct pawl_str id, const struct pawl_update *update,
                              struct pawl_updated *out)
{
    struct pawl_request request;
    pawl_request_init(&request, PAWL_COMMAND_UPDATE);
    request.command.task_id = id;
    request.command.ask.update = update;
    request.command.out.updated = out;
    request.command.keep = lab->keep;
    enum pawl_code code = pawl_check_command(&request.command, lab->keep, &lab->err);
    return code == PAWL_OK ? pawl_engine_ask(lab->pawl, &request, &lab->err) : code;
}

static struct pawl_updated say(struct lab *lab, struct pawl_str id, const struct pawl_update *update)
{
    struct pawl_updated updated = {0};
    CHECK_OK(try_say(lab, id, update, &updated), &lab->err);
    return updated;
}

/* A claim of the wire; the epoch of its grant, 0 = none. */
static int64_t poll(struct lab *lab, const char *queue, const char *worker, struct pawl_grant *out)
{
    const struct pawl_poll poll = {.grace_ms = GRACE_MS};
    struct pawl_str name = pawl_str_of(queue);
    struct pawl_claim ask = PAWL_CLAIM_INIT;
    struct pawl_claimed claimed = {0};
    struct pawl_request request;
    ask.queues = &name;
    ask.queue_count = 1;
    ask.worker_id = pawl_str_of(worker);
    pawl_request_init(&request, PAWL_COMMAND_CLAIM);
    request.command.ask.claim.ask = &ask;
    request.command.ask.claim.poll = &poll;
    request.command.out.claimed = &claimed;
    request.command.keep = lab->keep;
    CHECK_OK(pawl_engine_ask(lab->pawl, &request, &lab->err), &lab->err);
    if (claimed.count == 0) return 0;
    if (out != NULL) *out = claimed.grants[0];
    return claimed.grants[0].fence.epoch;
}

static void define(struct lab *lab, const char *name, const char *body)
{
    const struct pawl_definition_new item = {PAWL_DEFINITION_TASK, pawl_str_of(name), 0,
                                             pawl_str_of(body)};
    struct pawl_request request;
    pawl_request_init(&request, PAWL_COMMAND_DEFINE);
    request.command.ask.define.items = &item;
    request.command.ask.define.count = 1;
    CHECK_OK(pawl_engine_ask(lab->pawl, &request, &lab->err), &lab->err);
}

TEST_EACH_STORE("C4 a poll's lease is responseTimeoutSeconds and the grace: 3600 s without a definition")
{
    struct pawl_grant grant;
    lab_open(lab);
    (void)lab_add(lab, NEW(.queue = PAWL_STR("q")));
    CHECK_EQ(1, poll(lab, "q", "w", &grant));
    CHECK_EQ(3600 * SECOND_MS + GRACE_MS, grant.lease_ms);
    define(lab, "r", "{\"name\":\"r\",\"responseTimeoutSeconds\":\"5\"}");
    (void)lab_add(lab, NEW(.queue = PAWL_STR("d:r")));
    CHECK_EQ(1, poll(lab, "d:r", "w", &grant));
    CHECK_EQ(5 * SECOND_MS + GRACE_MS, grant.lease_ms);
    CHECK(grant.created_at_ms > 0);
    CHECK(grant.started_at_ms >= grant.created_at_ms);
}

TEST_EACH_STORE("the longest lease is the engine's, whatever a definition says")
{
    struct pawl_grant grant;
    lab_open(lab);
    define(lab, "q", "{\"name\":\"q\",\"responseTimeoutSeconds\":9000000000}");
    (void)lab_add(lab, NEW(.queue = PAWL_STR("q")));
    CHECK_EQ(1, poll(lab, "q", "w", &grant));
    CHECK_EQ(PAWL_LEASE_MS_MAX, grant.lease_ms);
}

TEST_EACH_STORE("F2 who lost the task to a newer claim is not obeyed, and what he said is kept")
{
    struct pawl_late_results late;
    lab_open(lab);
    define(lab, "q", "{\"name\":\"q\",\"responseTimeoutSeconds\":5}");
    struct pawl_str id = lab_add(lab, NEW(.queue = PAWL_STR("q"),
                                          .retry = {.delay_ms = PAWL_DELAY_NONE}));
    CHECK_EQ(1, poll(lab, "q", "one", NULL));
    lab_pass(lab, 7 * SECOND_MS);
    lab_pass(lab, 60 * SECOND_MS); /* crashes have a delay of their own */
    CHECK(poll(lab, "q", "two", NULL) > 1);
    struct pawl_updated updated =
        say(lab, id, SAYS(.status = PAWL_UPDATE_COMPLETED, .output = PAWL_STR("{\"by\":1}"),
                          .worker_id = PAWL_STR("one")));
    CHECK_EQ(PAWL_LEASE_WORD_LOST, updated.lease);
    CHECK(updated.is_ignored && !updated.is_terminal);
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, id).state);
    CHECK_OK(pawl_task_late_results(lab->pawl, id, lab->keep, &late, &lab->err), &lab->err);
    CHECK_EQ(1, late.count);
    CHECK_STR("one", late.results[0].owner);
    updated = say(lab, id, SAYS(.status = PAWL_UPDATE_COMPLETED, .worker_id = PAWL_STR("two")));
    CHECK_EQ(PAWL_LEASE_WORD_DONE, updated.lease);
    CHECK(updated.is_terminal);
}

TEST_EACH_STORE("F2 who gave the task back himself is obeyed until it is given out again")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.queue = PAWL_STR("q")));
    CHECK_EQ(1, poll(lab, "q", "one", NULL));
    (void)say(lab, id, SAYS(.status = PAWL_UPDATE_IN_PROGRESS, .callback_after_ms = 60 * SECOND_MS,
                            .worker_id = PAWL_STR("one")));
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
    struct pawl_updated updated =
        say(lab, id, SAYS(.status = PAWL_UPDATE_COMPLETED, .worker_id = PAWL_STR("one")));
    CHECK(updated.is_terminal && !updated.is_ignored);
}

TEST_EACH_STORE("an outsider ends a running task, and its holder is answered as if he had")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.queue = PAWL_STR("q")));
    CHECK_EQ(1, poll(lab, "q", "w", NULL));
    struct pawl_updated updated =
        say(lab, id, SAYS(.status = PAWL_UPDATE_COMPLETED, .output = PAWL_STR("{\"by\":\"page\"}"),
                          .worker_id = PAWL_STR("somebody")));
    CHECK_EQ(PAWL_LEASE_WORD_NONE, updated.lease);
    CHECK_EQ(PAWL_TASK_COMPLETED, lab_get(lab, id).state);
    updated = say(lab, id, SAYS(.status = PAWL_UPDATE_COMPLETED, .worker_id = PAWL_STR("w"),
                                .output = PAWL_STR("{\"by\":\"w\"}")));
    CHECK(updated.is_ignored);
    CHECK_STR("{\"by\":\"page\"}", lab_get(lab, id).result);
}

TEST_EACH_STORE("an update with its epoch is judged by it, and is kept when it comes too late")
{
    struct pawl_updated updated;
    struct pawl_late_results late;
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.queue = PAWL_STR("q")));
    CHECK_EQ(1, poll(lab, "q", "w", NULL));
    lab_pass(lab, 2 * 3600 * SECOND_MS);
    CHECK_CODE(PAWL_LEASE_LOST,
               try_say(lab, id, SAYS(.status = PAWL_UPDATE_COMPLETED, .output = PAWL_STR("{}"),
                                     .worker_id = PAWL_STR("w"), .epoch = 1), &updated));
    CHECK_OK(pawl_task_late_results(lab->pawl, id, lab->keep, &late, &lab->err), &lab->err);
    CHECK_EQ(1, late.count);
    CHECK_CODE(PAWL_LEASE_LOST, try_say(lab, id, SAYS(.extends_lease = true, .epoch = 1,
                                                      .worker_id = PAWL_STR("w")), &updated));
}

TEST_EACH_STORE("a heartbeat renews the lease, and keeps an output that is another than before")
{
    struct pawl_grant grant;
    struct pawl_checkpoints all;
    lab_open(lab);
    define(lab, "q", "{\"name\":\"q\",\"responseTimeoutSeconds\":10}");
    struct pawl_str id = lab_add(lab, NEW(.queue = PAWL_STR("q")));
    CHECK_EQ(1, poll(lab, "q", "w", NULL));
    for (int i = 0; i < 5; i++) {
        lab_pass(lab, 8 * SECOND_MS);
        struct pawl_updated updated =
            say(lab, id, SAYS(.extends_lease = true, .output = PAWL_STR("{\"at\":1}"),
                              .worker_id = i % 2 == 0 ? PAWL_STR("w") : NO_TEXT));
        CHECK_EQ(PAWL_LEASE_WORD_HELD, updated.lease);
        CHECK_EQ(10 * SECOND_MS + GRACE_MS, updated.remaining_ms);
    }
    CHECK_OK(pawl_task_checkpoints(lab->pawl, id, lab->keep, &all, &lab->err), &lab->err);
    CHECK_EQ(1, all.count);
    (void)say(lab, id, SAYS(.status = PAWL_UPDATE_IN_PROGRESS, .worker_id = PAWL_STR("w")));
    CHECK_EQ(2, poll(lab, "q", "v", &grant));
    CHECK_STR("{\"at\":1}", grant.checkpoint);
}

TEST_EACH_STORE("case-B15 of the outputs of heartbeats the last one is offered to the next attempt, not the first")
{
    static const char *const outputs[] = {"{\"p\":1}", "{\"p\":2}", "{\"p\":3}", "{}", ""};
    struct pawl_grant grant;
    lab_open(lab);
    define(lab, "q", "{\"name\":\"q\",\"responseTimeoutSeconds\":10,\"retryDelaySeconds\":0}");
    struct pawl_str id = lab_add(lab, NEW(.queue = PAWL_STR("q")));
    CHECK_EQ(1, poll(lab, "q", "w", NULL));
    for (size_t i = 0; i < COUNT_OF(outputs); i++) {
        lab_pass(lab, SECOND_MS);
        (void)say(lab, id, SAYS(.extends_lease = true, .output = pawl_str_of(outputs[i]),
                                .worker_id = PAWL_STR("w")));
    }
    lab_pass(lab, 12 * SECOND_MS); /* silence: the attempt is over */
    CHECK_EQ(3, poll(lab, "q", "v", &grant));
    CHECK_STR("{\"p\":3}", grant.checkpoint);
}

TEST_EACH_STORE("what an update may hold: its status, its lines, its callback")
{
    static struct pawl_str lines[PAWL_BATCH_MAX + 1];
    struct pawl_updated updated;
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.queue = PAWL_STR("q")));
    CHECK_CODE(PAWL_INVALID, try_say(lab, id, SAYS(.output = PAWL_STR("{}")), &updated));
    CHECK_CODE(PAWL_TOO_LARGE, try_say(lab, id, SAYS(.status = PAWL_UPDATE_COMPLETED, .logs = lines,
                                                     .log_count = COUNT_OF(lines)), &updated));
    CHECK_CODE(PAWL_INVALID, try_say(lab, id, SAYS(.status = PAWL_UPDATE_IN_PROGRESS,
                                                   .callback_after_ms = PAWL_DELAY_MS_MAX + 1), &updated));
    CHECK_CODE(PAWL_INVALID, try_say(lab, id, SAYS(.status = PAWL_UPDATE_COMPLETED,
                                                   .output = PAWL_STR("{")), &updated));
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
}

TEST_MAIN()
