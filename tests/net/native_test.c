/* Pawl's own interface, as a client sees it: a real server on a free port, on each store. */
#include "engine/engine.h"
#include "house.h"
#include "net/native/body.h"
#include "net/readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { POLLS = 300 };

/* ---- Working ----------------------------------------------------------------------------------
 */

TEST_EACH_STORE("over HTTP a task is added, claimed, kept, told of and completed, and shows it all")
{
    struct house house;
    house_open(&house, lab);
    const char *id = add_task(&house, "{\"input\":{\"n\":129.90},\"goal\":\"count\",\"priority\":"
                                      "\"HIGH\",\"key\":\"k-1\"}");
    ask(&house, 200, "POST /v1/tasks",
        "{\"input\":{\"n\":129.90},\"goal\":\"count\",\"priority\":\"HIGH\",\"key\":\"k-1\"}");
    CHECK_STR(id, text_at(&house, "id"));
    CHECK_STR("true", at(&house, "existed")->raw);

    ask(&house, 200, "POST /v1/tasks/claim", "{\"worker_id\":\"w\",\"lease_ms\":\"5m\",\"max\":3}");
    CHECK_EQ(1, count_at(&house, "grants"));
    CHECK_STR(id, text_at(&house, "grants/0/id"));
    CHECK_STR("w", text_at(&house, "grants/0/owner"));
    CHECK_STR("{\"n\":129.90}", at(&house, "grants/0/input")->raw);
    CHECK_EQ(1, number_at(&house, "grants/0/attempt"));
    CHECK_EQ(300000, number_at(&house, "grants/0/lease_ms"));
    int64_t left_ms = number_at(&house, "grants/0/left_ms");
    CHECK(left_ms > 0 && left_ms <= 300000);
    const char *fence = format(&house, "\"owner\":\"w\",\"epoch\":%lld",
                               (long long)number_at(&house, "grants/0/epoch"));

    ask(&house, 200, format(&house, "POST /v1/tasks/%s/progress", id),
        format(&house, "{%s,\"percent\":40}", fence));
    CHECK_STR(id, text_at(&house, "id"));
    CHECK_STR("false", at(&house, "continuing")->raw);
    ask(&house, 200, format(&house, "POST /v1/tasks/%s/checkpoint", id),
        format(&house, "{%s,\"step\":7,\"state\":null}", fence));
    const char *saved = c_text_at(&house, "checkpoint_id");
    ask(&house, 200, format(&house, "POST /v1/tasks/%s/log", id),
        format(&house, "{%s,\"line\":\"half way\"}", fence));
    ask(&house, 200, "POST /v1/leases/renew",
        format(&house,
               "{\"leases\":[{\"task_id\":\"%s\",%s},{\"task_id\":\"%s\",\"owner\":\"x\",\"epoch\":"
               "9}],\"lease_ms\":60000}",
               id, fence, id));
    CHECK_STR("OK", text_at(&house, "leases/0/code"));
    left_ms = number_at(&house, "leases/0/left_ms");
    CHECK(left_ms > 0 && left_ms <= 60000);
    CHECK_STR("null", at(&house, "leases/0/control")->raw);
    CHECK_STR("LEASE_LOST", text_at(&house, "leases/1/code"));

    ask(&house, 200, format(&house, "GET /v1/tasks/%s", id), "");
    CHECK_STR("RUNNING", text_at(&house, "state"));
    CHECK_EQ(40, number_at(&house, "progress"));
    CHECK(text_at(&house, "why").len > 0);
    ask(&house, 200, format(&house, "POST /v1/tasks/%s/complete", id),
        format(&house, "{%s,\"result\":{\"sum\":1}}", fence));
    ask(&house, 200, format(&house, "POST /v1/tasks/%s/complete", id), /* once more is as good */
        format(&house, "{%s,\"result\":{\"sum\":1}}", fence));
    ask(&house, 409, format(&house, "POST /v1/tasks/%s/fail", id),
        "{\"owner\":\"w\",\"epoch\":1000,\"error\":\"no\"}");

    ask(&house, 200, format(&house, "GET /v1/tasks/%s", id), "");
    CHECK_STR("COMPLETED", text_at(&house, "state"));
    CHECK_STR("{\"sum\":1}", at(&house, "result")->raw);
    ask(&house, 200, format(&house, "GET /v1/tasks/%s/logs", id), "");
    CHECK_STR("half way", text_at(&house, "lines/0/line"));
    ask(&house, 200, format(&house, "GET /v1/tasks/%s/checkpoints", id), "");
    CHECK_EQ(7, number_at(&house, "checkpoints/0/step"));
    const char *checkpoint = c_text_at(&house, "checkpoints/0/id");
    ask(&house, 200, format(&house, "GET /v1/tasks/%s/checkpoints/%s", id, checkpoint), "");
    CHECK_STR("null", at(&house, "state")->raw);
    ask(&house, 200, format(&house, "GET /v1/tasks/%s/checkpoints/latest", id), "");
    CHECK_STR(checkpoint, text_at(&house, "id"));
    CHECK_TEXT(checkpoint, saved);
    ask(&house, 200, format(&house, "GET /v1/tasks/%s/late-results", id), "");
    CHECK_STR("fail", text_at(&house, "late_results/0/kind"));
    ask(&house, 200, format(&house, "GET /v1/tasks/%s/events?limit=1&after=1", id), "");
    CHECK_EQ(1, count_at(&house, "events"));
    CHECK_EQ(2, number_at(&house, "events/0/sequence"));
    house_close(&house);
}

TEST_EACH_STORE("outcomes are told in one request, each answered for itself, with a claim behind")
{
    struct house house;
    house_open(&house, lab);
    static const char *const ids[] = {"a", "b", "c", "d", "e"};
    long long epochs[COUNT_OF(ids)];
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        (void)add_task(&house, format(&house, "{\"id\":\"%s\"}", ids[i]));
    }
    for (size_t i = 0; i < 3; i++) {
        ask(&house, 200, format(&house, "POST /v1/tasks/%s/start", ids[i]),
            "{\"worker_id\":\"w\"}");
        CHECK_STR(ids[i], text_at(&house, "id"));
        epochs[i] = number_at(&house, "epoch");
    }
    ask(&house, 200, "POST /v1/outcomes",
        format(
            &house,
            "{\"outcomes\":["
            "{\"task_id\":\"a\",\"kind\":\"complete\",\"owner\":\"w\",\"epoch\":%lld,\"result\":"
            "1},"
            "{\"task_id\":\"b\",\"kind\":\"fail\",\"owner\":\"w\",\"epoch\":%lld,\"error\":"
            "\"no\",\"final\":true},"
            "{\"task_id\":\"c\",\"kind\":\"release\",\"owner\":\"w\",\"epoch\":%lld,\"delay_ms\":"
            "\"1h\"},"
            "{\"task_id\":\"a\",\"kind\":\"complete\",\"owner\":\"x\",\"epoch\":77},"
            "{\"task_id\":\"none\",\"kind\":\"release\",\"owner\":\"w\",\"epoch\":1}],"
            "\"claim\":{\"worker_id\":\"w\",\"max\":9}}",
            epochs[0], epochs[1], epochs[2]));
    CHECK_EQ(5, count_at(&house, "outcomes"));
    CHECK_STR("OK", text_at(&house, "outcomes/0/code"));
    CHECK_STR("OK", text_at(&house, "outcomes/1/code"));
    CHECK_STR("OK", text_at(&house, "outcomes/2/code"));
    CHECK_STR("LEASE_LOST", text_at(&house, "outcomes/3/code"));
    CHECK_STR("NOT_FOUND", text_at(&house, "outcomes/4/code"));
    CHECK_EQ(2, count_at(&house, "claim/grants"));
    CHECK_STR("d", text_at(&house, "claim/grants/0/id"));
    CHECK_STR("e", text_at(&house, "claim/grants/1/id"));
    CHECK_EQ(PAWL_TASK_COMPLETED, lab_get(lab, PAWL_STR("a")).state);
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, lab_get(lab, PAWL_STR("b")).state);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, PAWL_STR("c")).state);
    CHECK_EQ(0, lab_get(lab, PAWL_STR("c")).retries);

    /* what is malformed is refused with nothing done */
    ask(&house, 400, "POST /v1/outcomes",
        "{\"outcomes\":[{\"task_id\":\"d\",\"kind\":\"release\",\"owner\":\"w\",\"epoch\":1},"
        "{\"task_id\":\"e\",\"kind\":\"fail\",\"owner\":\"w\",\"epoch\":1,\"error\":7}]}");
    CHECK_STR("outcomes[1].error", text_at(&house, "field"));
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, PAWL_STR("d")).state);
    house_close(&house);
}

TEST_EACH_STORE("a thousand leases are renewed and a thousand outcomes told in one request each")
{
    struct house house;
    house_open(&house, lab);
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, PAWL_BATCH_MAX, sizeof *asks);
    for (size_t i = 0; i < PAWL_BATCH_MAX; i++) asks[i].size = sizeof asks[i];
    (void)lab_add_batch(lab, asks, PAWL_BATCH_MAX);
    struct pawl_claimed claimed =
        lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .max = PAWL_BATCH_MAX));
    CHECK_EQ(PAWL_BATCH_MAX, claimed.count);
    char *leases = pawl_arena_take(lab->keep, 256 * PAWL_BATCH_MAX);
    char *outcomes = pawl_arena_take(lab->keep, 256 * PAWL_BATCH_MAX);
    size_t leases_len = put_text(leases, 0, "{\"leases\":[");
    size_t outcomes_len = put_text(outcomes, 0, "{\"outcomes\":[");
    for (size_t i = 0; i < claimed.count; i++) {
        const struct pawl_fence *fence = &claimed.grants[i].fence;
        const char *who = format(&house, "\"task_id\":\"%.*s\",\"owner\":\"w\",\"epoch\":%lld}",
                                 PAWL_STR_ARG(fence->task_id), (long long)fence->epoch);
        leases_len = put_text(leases, leases_len, format(&house, "%s{%s", i > 0 ? "," : "", who));
        outcomes_len =
            put_text(outcomes, outcomes_len,
                     format(&house, "%s{\"kind\":\"complete\",%s", i > 0 ? "," : "", who));
    }
    (void)put_text(leases, leases_len, "]}");
    (void)put_text(outcomes, outcomes_len, "]}");
    ask(&house, 200, "POST /v1/leases/renew", leases);
    CHECK_EQ(PAWL_BATCH_MAX, count_at(&house, "leases"));
    CHECK_STR("OK", text_at(&house, "leases/999/code"));
    ask(&house, 200, "POST /v1/outcomes", outcomes);
    CHECK_EQ(PAWL_BATCH_MAX, count_at(&house, "outcomes"));
    for (const struct pawl_json *told = pawl_json_first(at(&house, "outcomes")); told != NULL;
         told = pawl_json_next(told)) {
        struct pawl_str code = {0};
        CHECK(pawl_json_text(pawl_json_member(told, PAWL_STR("code")), lab->keep, &code));
        CHECK_STR("OK", code);
    }
    house_close(&house);
}

/* ---- Waiting ----------------------------------------------------------------------------------
 */

static const char waiting_claim[] = "{\"worker_id\":\"w\",\"wait_ms\":60000}";

TEST_EACH_STORE("a task goes to the next who waits, uncounted, when the first has hung up")
{
    struct house house;
    house_open(&house, lab);
    for (int32_t i = 0; i < 10; i++) {
        int gone = send_request(&house, "POST /v1/tasks/claim", waiting_claim);
        (void)close(gone);
        await_answers(&house, 2 * i + 1); /* it is known, long before its wait is over */
        int next = send_request(&house, "POST /v1/tasks/claim", waiting_claim);
        struct pawl_str id = lab_add(lab, NEW());
        read_answer(&house, next);
        CHECK_EQ(200, house.answer.status);
        CHECK_EQ(1, count_at(&house, "grants"));
        CHECK(pawl_str_equal(id, text_at(&house, "grants/0/id")));
        CHECK_EQ(1, number_at(&house, "grants/0/attempt"));
        await_answers(&house, 2 * i + 2);
    }
    house_close(&house);
}

/* Whether it was granted to the first before its end was seen is left to chance; then its lease
 * ends. */
TEST_EACH_STORE("a task that is added while a waiting client hangs up is not lost")
{
    struct house house;
    house_open(&house, lab);
    for (int i = 0; i < 10; i++) {
        int gone = send_request(&house, "POST /v1/tasks/claim",
                                "{\"worker_id\":\"gone\",\"wait_ms\":60000,\"lease_ms\":100}");
        (void)close(gone);
        struct pawl_str id = lab_add(lab, NEW(.retry = {.delay_ms = PAWL_DELAY_NONE}));
        ask(&house, 200, "POST /v1/tasks/claim", waiting_claim);
        CHECK_EQ(1, count_at(&house, "grants"));
        CHECK(pawl_str_equal(id, text_at(&house, "grants/0/id")));
    }
    house_close(&house);
}

TEST_EACH_STORE("what was granted in an answer that could not be written is given back, uncounted")
{
    struct house house;
    house_open(&house, lab);
    for (int i = 0; i < 3; i++) { /* more than the sockets hold */
        (void)lab_add(lab, NEW(.input = lab_json(lab, 9 * 1024 * 1024)));
    }
    int gone = send_request(&house, "POST /v1/tasks/claim", "{\"worker_id\":\"w\",\"max\":3}");
    char start[16];
    CHECK_EQ(sizeof start, recv(gone, start, sizeof start, MSG_WAITALL)); /* it was granted them */
    CHECK_EQ(0, memcmp(start, "HTTP/1.1 200", 12));
    (void)close(gone);
    for (int i = 0; i < 3; i++) {
        struct pawl_claimed claimed =
            lab_claim(lab, CLAIM(.worker_id = PAWL_STR("next"), .wait_ms = 50 * SECOND_MS));
        CHECK_EQ(1, claimed.count);
        CHECK_EQ(1, claimed.grants[0].attempt);
        struct pawl_task task = lab_get(lab, claimed.grants[0].fence.task_id);
        CHECK_EQ(0, task.retries);
        CHECK_EQ(0, task.recoveries);
    }
    house_close(&house);
}

TEST_EACH_STORE("hundreds of polls wait at once, and each gets a task of its own")
{
    struct house house;
    static int polls[POLLS];
    house_open(&house, lab);
    for (int i = 0; i < POLLS; i++) {
        polls[i] = send_request(&house, "POST /v1/tasks/claim", waiting_claim);
    }
    for (int i = 0; i < POLLS; i++) {
        (void)lab_add(lab, NEW(.id = pawl_str_of(format(&house, "t-%d", i))));
    }
    static bool was_given[POLLS];
    memset(was_given, 0, sizeof was_given);
    for (int i = 0; i < POLLS; i++) {
        read_answer(&house, polls[i]);
        CHECK_EQ(1, count_at(&house, "grants"));
        unsigned long n = strtoul(c_text_at(&house, "grants/0/id") + 2, NULL, 10);
        CHECK(n < POLLS && !was_given[n]);
        was_given[n] = true;
    }
    house_close(&house);
}

TEST_EACH_STORE("a server that drains answers polls empty, and takes outcomes still")
{
    struct house house;
    house_open(&house, lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    int poll = send_request(&house, "POST /v1/tasks/claim", waiting_claim);
    int worker = client_open(&house.served);
    /* the worker's connection is known to the server before it drains */
    struct pawl_str first = pawl_arena_format(
        lab->keep, "GET /v1/queues HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\nPOST ", house.served.port);
    client_send(worker, first.ptr, first.len);
    struct answer queues = {0};
    client_read(worker, &queues, false);
    CHECK_EQ(200, queues.status);
    answer_reset(&queues);
    pawl_server_drain(house.server);
    read_answer(&house, poll);
    if (house.answer.status == 200) {
        CHECK_EQ(0, count_at(&house, "grants"));
    } else { /* it was read after the drain had begun */
        CHECK_EQ(503, house.answer.status);
    }
    const char *body = format(&house, "{\"owner\":\"w\",\"epoch\":%lld}", (long long)fence.epoch);
    const char *rest =
        format(&house,
               "/v1/tasks/%.*s/complete HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: "
               "%zu\r\n\r\n%s",
               PAWL_STR_ARG(id), house.served.port, strlen(body), body);
    client_send(worker, rest, strlen(rest));
    read_answer(&house, worker);
    CHECK_EQ(200, house.answer.status);
    CHECK_EQ(PAWL_TASK_COMPLETED, lab_get(lab, id).state);
    house_close(&house);
}

TEST_EACH_STORE("a claim that is repeated with its request id gives the same grants")
{
    struct house house;
    house_open(&house, lab);
    const char *body = "{\"worker_id\":\"w\",\"request_id\":\"r-1\"}";
    (void)add_task(&house, "{\"id\":\"a\"}");
    (void)add_task(&house, "{\"id\":\"b\"}");
    ask(&house, 200, "POST /v1/tasks/claim", body);
    CHECK_STR("a", text_at(&house, "grants/0/id"));
    int64_t epoch = number_at(&house, "grants/0/epoch");
    ask(&house, 200, "POST /v1/tasks/claim", body);
    CHECK_EQ(1, count_at(&house, "grants"));
    CHECK_STR("a", text_at(&house, "grants/0/id"));
    CHECK_EQ(epoch, number_at(&house, "grants/0/epoch"));
    house_close(&house);
}

/* ---- Operating and looking --------------------------------------------------------------------
 */

TEST_EACH_STORE("operators pause, resume, cancel, resolve and redrive over HTTP")
{
    struct house house;
    house_open(&house, lab);
    (void)add_task(&house, "{\"id\":\"a\",\"hold\":true}");
    ask(&house, 200, "POST /v1/tasks/a/queue", "");
    ask(&house, 200, "POST /v1/tasks/a/pause", "{\"reason\":\"later\",\"actor\":\"ann\"}");
    CHECK_EQ(PAWL_TASK_PAUSED, lab_get(lab, PAWL_STR("a")).state);
    CHECK_STR("ann", lab_last(lab, PAWL_STR("a")).actor);
    ask(&house, 409, "POST /v1/tasks/a/pause", "{\"expected_version\":1}");
    CHECK_STR("CONFLICT", text_at(&house, "code"));
    ask(&house, 200, "POST /v1/tasks/a/resume", "{\"input\":{\"n\":2}}");
    ask(&house, 409, "POST /v1/tasks/a/resume", "");
    CHECK_STR("STATE", text_at(&house, "code"));
    ask(&house, 200, "POST /v1/tasks/a/start", "{\"worker_id\":\"w\"}");
    CHECK_STR("{\"n\":2}", at(&house, "input")->raw);
    ask(&house, 409, "POST /v1/tasks/a/start", "{\"worker_id\":\"w\"}");
    CHECK_STR("LEASE_ACTIVE", text_at(&house, "code"));
    ask(&house, 200, "POST /v1/tasks/a/cancel", "{\"forced\":true}");
    CHECK_EQ(PAWL_TASK_CANCELLED, lab_get(lab, PAWL_STR("a")).state);

    for (int i = 0; i < 2; i++) {
        const char *id = add_task(&house, "{\"queue\":\"mail\"}");
        ask(&house, 200, "POST /v1/tasks/claim", "{\"worker_id\":\"w\",\"queues\":[\"mail\"]}");
        ask(&house, 200, format(&house, "POST /v1/tasks/%s/fail", id),
            format(&house, "{\"owner\":\"w\",\"epoch\":%lld,\"error\":\"no %d\",\"final\":true}",
                   (long long)number_at(&house, "grants/0/epoch"), i));
    }
    ask(&house, 200, "GET /v1/tasks?state=DEAD_LETTER&queue=mail", "");
    CHECK_EQ(2, count_at(&house, "tasks"));
    const char *dead = c_text_at(&house, "tasks/0/id");
    ask(&house, 200, "POST /v1/dead/redrive", "{\"queue\":\"mail\",\"error_has\":\"no 1\"}");
    CHECK_EQ(1, number_at(&house, "count"));
    CHECK_STR("false", at(&house, "continuing")->raw);
    ask(&house, 200, "POST /v1/dead/redrive", "{\"all\":true}");
    CHECK_EQ(1, number_at(&house, "count"));
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, pawl_str_of(dead)).state);
    ask(&house, 200, "POST /v1/tasks/claim", "{\"worker_id\":\"w\",\"queues\":[\"mail\"]}");
    const char *id = c_text_at(&house, "grants/0/id");
    ask(&house, 200, format(&house, "POST /v1/tasks/%s/fail", id),
        format(&house, "{\"owner\":\"w\",\"epoch\":%lld,\"final\":true}",
               (long long)number_at(&house, "grants/0/epoch")));
    ask(&house, 200, format(&house, "POST /v1/tasks/%s/resolve", id),
        "{\"outcome\":\"COMPLETED\",\"result\":{\"by\":\"hand\"}}");
    ask(&house, 200, format(&house, "GET /v1/tasks/%s", id), "");
    CHECK_STR("COMPLETED", text_at(&house, "state"));
    CHECK_STR("{\"by\":\"hand\"}", at(&house, "result")->raw);
    house_close(&house);
}

TEST_EACH_STORE("queues, events, consumers and the store can be looked at")
{
    struct house house;
    house_open(&house, lab);
    ask(&house, 200, "PUT /v1/queues/mail",
        "{\"is_paused\":true,\"lease_ms\":\"2m\",\"retry\":{\"max_retries\":0,\"backoff\":"
        "\"fixed\",\"delay_ms\":\"10s\"}}");
    ask(&house, 200, "POST /v1/tasks/batch",
        "{\"tasks\":[{\"id\":\"a\",\"queue\":\"mail\"},{\"queue\":\"mail\",\"depends_on\":[\"#0\"]}"
        "]}");
    CHECK_EQ(2, count_at(&house, "tasks"));
    CHECK_STR("a", text_at(&house, "tasks/0/id"));
    ask(&house, 200, "GET /v1/queues/mail", "");
    CHECK_STR("true", at(&house, "is_paused")->raw);
    CHECK_EQ(120000, number_at(&house, "lease_ms"));
    CHECK_STR("fixed", text_at(&house, "retry/backoff"));
    CHECK_EQ(1, number_at(&house, "ready"));
    ask(&house, 200, "PUT /v1/queues/mail", "{\"is_paused\":false}");
    /* what is not set is null, and so it may be put back as it was read */
    ask(&house, 200, "PUT /v1/queues/plain", "{\"is_paused\":false}");
    ask(&house, 200, "GET /v1/queues/plain", "");
    CHECK_STR("null", at(&house, "lease_ms")->raw);
    CHECK_STR("null", at(&house, "retry/max_retries")->raw);
    CHECK_STR("null", at(&house, "retry/delay_ms")->raw);
    ask(&house, 200, "PUT /v1/queues/plain",
        "{\"lease_ms\":null,\"retry\":{\"max_retries\":null,\"backoff\":\"exponential\",\"delay_ms\":null,"
        "\"delay_ms_max\":null,\"jitter_ms\":0}}");
    ask(&house, 200, "GET /v1/queues/plain", "");
    CHECK_STR("null", at(&house, "retry/max_retries")->raw);
    ask(&house, 200, "PUT /v1/queues/plain", "{\"retry\":{\"max_retries\":0,\"delay_ms\":0}}");
    ask(&house, 200, "GET /v1/queues/plain", "");
    CHECK_EQ(0, number_at(&house, "retry/max_retries"));
    CHECK_EQ(0, number_at(&house, "retry/delay_ms"));
    ask(&house, 200, "GET /v1/queues", "");
    bool has_mail = false;
    for (const struct pawl_json *queue = pawl_json_first(at(&house, "queues")); queue != NULL;
         queue = pawl_json_next(queue)) {
        struct pawl_str name = {0};
        CHECK(pawl_json_text(pawl_json_member(queue, PAWL_STR("name")), lab->keep, &name));
        if (!pawl_str_equal(name, PAWL_STR("mail"))) continue;
        has_mail = true;
        CHECK_STR("false", pawl_json_member(queue, PAWL_STR("is_paused"))->raw);
        CHECK_STR("120000", pawl_json_member(queue, PAWL_STR("lease_ms"))->raw);
    }
    CHECK(has_mail);

    ask(&house, 200, "GET /v1/tasks?limit=1&payload=true", "");
    CHECK_EQ(1, count_at(&house, "tasks"));
    size_t dependencies = count_at(&house, "tasks/0/depends_on");
    const char *cursor = c_text_at(&house, "cursor");
    ask(&house, 200, format(&house, "GET /v1/tasks?limit=1&payload=true&cursor=%s", cursor), "");
    CHECK_EQ(1, count_at(&house, "tasks"));
    CHECK_EQ(1, dependencies + count_at(&house, "tasks/0/depends_on")); /* in either order */
    ask(&house, 200, "GET /v1/tasks?state=QUEUED,RUNNING&state=PAUSED&ready=true", "");
    CHECK_EQ(1, count_at(&house, "tasks"));

    ask(&house, 200, "GET /v1/events?limit=1", "");
    CHECK_STR("a", text_at(&house, "events/0/task_id"));
    int64_t position = number_at(&house, "position");
    CHECK_EQ(number_at(&house, "events/0/position"), position);
    ask(&house, 200, "GET /v1/events?after=1000000", "");
    CHECK_EQ(0, count_at(&house, "events"));
    CHECK_EQ(1000000, number_at(&house, "position"));

    struct pawl_events events = {0};
    ask(&house, 404, "POST /v1/consumers/audit/acknowledge", "{\"position\":1}");
    CHECK_OK(pawl_consumer_read(lab->pawl, PAWL_STR("audit"), 10, 0, lab->keep, &events, &lab->err),
             &lab->err);
    const char *event = pawl_arena_c_text(lab->keep, events.events[1].id);
    ask(&house, 200, "POST /v1/consumers/audit/acknowledge",
        format(&house, "{\"event_id\":\"%s\"}", event));
    CHECK_STR("true", at(&house, "is_first")->raw);
    ask(&house, 200, "POST /v1/consumers/audit/acknowledge",
        format(&house, "{\"event_id\":\"%s\"}", event));
    CHECK_STR("false", at(&house, "is_first")->raw);
    ask(&house, 200, "POST /v1/consumers/audit/acknowledge",
        format(&house, "{\"position\":%lld}", (long long)events.position));
    ask(&house, 200, "GET /v1/store", "");
    CHECK_STR("audit", text_at(&house, "consumers/0/name"));
    CHECK_EQ(0, number_at(&house, "consumers/0/behind"));
    CHECK_EQ(0, number_at(&house, "quarantined"));
    house_close(&house);
}

/* ---- What is refused --------------------------------------------------------------------------
 */

TEST_EACH_STORE("what is wrong with a request is told with its code, its status and its field")
{
    static const struct {
        const char *line;
        const char *body;
        int status;
        const char *code;
        const char *field; /* NULL = none is to blame */
    } rows[] = {
        {"POST /v1/tasks", "{", 400, "INVALID", "body"},
        {"POST /v1/tasks", "[]", 400, "INVALID", NULL},
        {"POST /v1/tasks", "{\"prioritty\":1}", 400, "INVALID", NULL},
        {"POST /v1/tasks", "{\"priority\":100}", 400, "INVALID", "priority"},
        {"POST /v1/tasks", "{\"depends_on\":[\"nobody\"]}", 400, "INVALID", "depends_on"},
        {"POST /v1/tasks/batch", "{\"tasks\":[]}", 400, "INVALID", "tasks"},
        {"POST /v1/tasks/batch", "{\"tasks\":[{},{\"queue\":7}]}", 400, "INVALID",
         "tasks[1].queue"},
        {"POST /v1/tasks/batch", "{\"tasks\":[{},{\"queue\":\"\\n\"}]}", 400, "INVALID",
         "tasks[1].queue"},
        {"POST /v1/tasks", "", 400, "INVALID", "body"},
        {"POST /v1/tasks/batch", "", 400, "INVALID", "body"},
        {"POST /v1/tasks/batch", "{}", 400, "INVALID", "tasks"},
        {"POST /v1/outcomes", "", 400, "INVALID", "body"},
        {"POST /v1/leases/renew", "", 400, "INVALID", "body"},
        {"POST /v1/tasks/claim", "{}", 400, "INVALID", "worker_id"},
        {"POST /v1/tasks/claim", "{\"worker_id\":\"\"}", 400, "INVALID", "worker_id"},
        {"POST /v1/tasks/claim", "{\"worker_id\":\"w\",\"max\":1001}", 400, "INVALID", "max"},
        {"POST /v1/tasks/claim", "{\"worker_id\":\"w\",\"max\":-1}", 400, "INVALID", "max"},
        {"POST /v1/tasks/claim", "{\"worker_id\":\"w\",\"wait_ms\":60001}", 400, "INVALID",
         "wait_ms"},
        {"POST /v1/tasks/claim", "{\"worker_id\":\"w\",\"lease_ms\":\"soon\"}", 400, "INVALID",
         "lease_ms"},
        {"POST /v1/tasks/claim", "{\"worker_id\":\"w\",\"lease_ms\":1}", 400, "INVALID",
         "lease_ms"},
        {"POST /v1/tasks/claim", "{\"worker_id\":\"w\",\"queues\":\"mail\"}", 400, "INVALID",
         "queues"},
        {"POST /v1/tasks/claim", "{\"worker_id\":\"w\",\"queues\":[\"a\",1]}", 400, "INVALID",
         "queues[1]"},
        {"POST /v1/tasks/claim", "{\"worker_id\":\"w\",\"waitms\":1}", 400, "INVALID", "waitms"},
        {"POST /v1/tasks/a/start", "{\"worker_id\":\"w\",\"max\":1}", 400, "INVALID", "max"},
        {"POST /v1/tasks/none/start", "{\"worker_id\":\"w\"}", 404, "NOT_FOUND", NULL},
        {"POST /v1/tasks/later/start", "{\"worker_id\":\"w\"}", 409, "NOT_READY", NULL},
        {"POST /v1/leases/renew", "{\"leases\":[{\"task_id\":\"a\",\"owner\":\"w\"}]}", 400,
         "INVALID", "leases[0].epoch"},
        {"POST /v1/leases/renew", "{\"leases\":[]}", 400, "INVALID", "leases"},
        {"POST /v1/tasks/a/progress", "{}", 400, "INVALID", "percent"},
        {"POST /v1/tasks/a/progress", "{\"percent\":\"1\"}", 400, "INVALID", "percent"},
        {"POST /v1/tasks/a/progress", "{\"percent\":1,\"owner\":\"w\"}", 400, "INVALID", "epoch"},
        {"POST /v1/tasks/a/progress", "{\"percent\":1,\"epoch\":1}", 400, "INVALID", "owner"},
        {"POST /v1/tasks/a/progress", "{\"percent\":1,\"owner\":\"w\",\"epoch\":0}", 400, "INVALID",
         "epoch"},
        {"POST /v1/tasks/a/progress", "{\"percent\":1,\"owner\":\"w\",\"epoch\":5}", 409,
         "LEASE_LOST", NULL},
        {"POST /v1/tasks/a/checkpoint", "{\"step\":1}", 400, "INVALID", "state"},
        {"POST /v1/tasks/a/checkpoint", "{\"step\":-1,\"state\":1}", 400, "INVALID", "step"},
        {"POST /v1/tasks/a/log", "{\"line\":1}", 400, "INVALID", "line"},
        {"POST /v1/tasks/a/complete", "{\"results\":1}", 400, "INVALID", "results"},
        {"POST /v1/tasks/a/fail", "{\"final\":1}", 400, "INVALID", "final"},
        {"POST /v1/tasks/a/release", "{}", 400, "INVALID", "owner"},
        {"POST /v1/tasks/a/pause", "{\"actor\":7}", 400, "INVALID", "actor"},
        {"POST /v1/tasks/a/resolve", "{\"outcome\":\"LOST\"}", 400, "INVALID", "outcome"},
        {"POST /v1/tasks/a/resolve", "{\"outcome\":\"RUNNING\"}", 400, "INVALID", "outcome"},
        {"POST /v1/outcomes", "{\"outcomes\":[]}", 400, "INVALID", "outcomes"},
        {"POST /v1/outcomes", "{\"outcomes\":[{\"task_id\":\"a\",\"kind\":\"done\"}]}", 400,
         "INVALID", "outcomes[0].kind"},
        {"POST /v1/outcomes",
         "{\"outcomes\":[{\"task_id\":\"a\",\"kind\":\"fail\"}],\"claim\":{\"worker_id\":\"w\","
         "\"wait_ms\":1}}",
         400, "INVALID", "claim.wait_ms"},
        {"PUT /v1/queues/mail", "{\"retry\":{\"backoff\":\"slow\"}}", 400, "INVALID",
         "retry.backoff"},
        {"PUT /v1/queues/mail", "{\"lease_ms\":1}", 400, "INVALID", "lease_ms"},
        {"POST /v1/dead/redrive", "", 400, "INVALID", "all"},
        {"POST /v1/dead/redrive", "{\"keep_retries\":true}", 400, "INVALID", "all"},
        {"POST /v1/dead/redrive", "{\"all\":false}", 400, "INVALID", "all"},
        {"POST /v1/dead/redrive", "{\"dead_before_at_ms\":\"yesterday\"}", 400, "INVALID",
         "dead_before_at_ms"},
        {"POST /v1/consumers/c/acknowledge", "{}", 400, "INVALID", "position"},
        {"POST /v1/consumers/c/acknowledge", "{\"position\":1,\"event_id\":\"x\"}", 400, "INVALID",
         "position"},
        {"GET /v1/tasks?state=LOST", "", 400, "INVALID", "state"},
        {"GET /v1/tasks?status=RUNNING", "", 400, "INVALID", "status"},
        {"GET /v1/events?aftr=1", "", 400, "INVALID", "aftr"},
        {"POST /v1/tasks?queue=mail", "{}", 400, "INVALID", "queue"},
        {"GET /v1/tasks?limit=1001", "", 400, "INVALID", "limit"},
        {"GET /v1/tasks?ready=perhaps", "", 400, "INVALID", "ready"},
        {"GET /v1/tasks?cursor=x", "", 400, "INVALID", "cursor"},
        {"GET /v1/tasks/none", "", 404, "NOT_FOUND", NULL},
        {"GET /v1/tasks/none/events", "", 404, "NOT_FOUND", NULL},
        {"GET /v1/tasks/a/checkpoints/latest", "", 409, "STATE", NULL},
        {"GET /v1/queues/none", "", 404, "NOT_FOUND", NULL},
        {"GET /v1/events?after=-1", "", 400, "INVALID", "after"},
    };
    struct house house;
    house_open(&house, lab);
    (void)lab_add(lab, NEW(.id = PAWL_STR("a")));
    (void)lab_add(lab, NEW(.id = PAWL_STR("later"), .delay_ms = 3600 * SECOND_MS));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ask(&house, rows[i].status, rows[i].line, rows[i].body);
        CHECK_STR(rows[i].code, text_at(&house, "code"));
        const struct pawl_json *field = pawl_json_member(house.json, PAWL_STR("field"));
        struct pawl_str name = {0};
        bool is_text = field != NULL && pawl_json_text(field, lab->keep, &name);
        if (rows[i].field == NULL ? field != NULL
                                  : !is_text || !pawl_str_equal(name, pawl_str_of(rows[i].field))) {
            FAIL("%s %s: %s", rows[i].line, rows[i].body, house.answer.body);
        }
    }
    ask(&house, 409, "POST /v1/tasks/later/start", "{\"worker_id\":\"w\"}");
    CHECK(number_at(&house, "until_at_ms") > 0);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, PAWL_STR("a")).state);
    house_close(&house);
}

/* ---- Readers ----------------------------------------------------------------------------------
 */

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open;
    int32_t run_count;
};

static void pass_gate(struct pawl_read *read, struct pawl_reader *reader,
                      const struct pawl_error *failed)
{
    struct gate *gate = read->self;
    (void)failed;
    (void)pthread_mutex_lock(&gate->lock);
    while (!gate->is_open) (void)pthread_cond_wait(&gate->changed, &gate->lock);
    gate->run_count += reader != NULL;
    (void)pthread_mutex_unlock(&gate->lock);
}

TEST_EACH_STORE("readers take so many reads and no more, and do all they have taken")
{
    static struct pawl_read reads[PAWL_NET_READS_MAX + 2];
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct pawl_readers *readers = NULL;
    lab_open_real(lab);
    CHECK_OK(pawl_readers_open(&readers, &lab->pawl->store_options, 1, &lab->err), &lab->err);
    int32_t taken = 0;
    enum pawl_code code = PAWL_OK;
    while (code == PAWL_OK && taken < (int32_t)COUNT_OF(reads)) {
        reads[taken] = (struct pawl_read){.run = pass_gate, .self = &gate};
        code = pawl_readers_add(readers, &reads[taken], &lab->err);
        if (code == PAWL_OK) taken++;
    }
    CHECK_CODE(PAWL_BUSY, code);
    /* one may be in the hands of the thread */
    CHECK(taken == PAWL_NET_READS_MAX || taken == PAWL_NET_READS_MAX + 1);
    (void)pthread_mutex_lock(&gate.lock);
    gate.is_open = true;
    (void)pthread_cond_broadcast(&gate.changed);
    (void)pthread_mutex_unlock(&gate.lock);
    pawl_readers_close(readers);
    CHECK_EQ(taken, gate.run_count);
}

TEST_MAIN()
