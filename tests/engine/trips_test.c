/* Round trips to PostgreSQL: how often a step waits for the server. They are what a step costs
 * there, so that each kind of step has its number here, and none creeps up unseen. On SQLite there
 * are none. */
#include "stores.h"

#include "core/limits.h"
#include "engine/engine.h"
#include "store/handle.h"

#include <stdio.h>
#include <string.h>

#define W PAWL_STR("w")

/* A handle with its threads, as a server's, in a world whose clocks stand still: so it never looks
 * again whether others have armed something, which it does once a second. */
static void open_still(struct lab *lab)
{
    struct pawl_options options = lab_options(lab);
    options.driven = false;
    lab->pawl = lab_handle(lab, &options);
}

static int64_t trips(struct lab *lab)
{
    const struct pawl_db *db = pawl_store_db(lab->pawl->store);
    return db->driver->trips == NULL ? 0 : db->driver->trips(db);
}

/* What a call cost. SQLite has no trips, and the test says so too. */
#define CHECK_TRIPS(lab, want, call)                                              \
    do {                                                                          \
        int64_t before = trips(lab);                                              \
        CHECK_OK(call, &(lab)->err);                                              \
        CHECK_EQ((lab)->store == LAB_POSTGRES ? (want) : 0, trips(lab) - before); \
    } while (0)

static enum pawl_code add(struct lab *lab, const struct pawl_task_new *ask)
{
    struct pawl_added added;
    return pawl_task_add(lab->pawl, ask, lab->keep, &added, &lab->err);
}

static enum pawl_code claim(struct lab *lab, const struct pawl_claim *ask, struct pawl_claimed *out)
{
    return pawl_task_claim(lab->pawl, ask, lab->keep, out, &lab->err);
}

static enum pawl_code complete(struct lab *lab, const struct pawl_fence *fence)
{
    return pawl_task_complete(lab->pawl, fence->task_id, PAWL_STR("{}"), CHANGE(.fence = fence),
                              &lab->err);
}

TEST_EACH_STORE("a step on PostgreSQL costs a fixed number of round trips, by what it does")
{
    struct pawl_claimed claimed;
    open_still(lab);
    for (int i = 0; i < 2;
         i++) { /* the first ones learn what a handle remembers, and make the queue */
        CHECK_OK(add(lab, NEW(.id = i == 0 ? PAWL_STR("one") : PAWL_STR("two"),
                              .input = PAWL_STR("{}"))),
                 &lab->err);
        CHECK_OK(claim(lab, CLAIM(.worker_id = W), &claimed), &lab->err);
        CHECK_EQ(1, claimed.count);
        CHECK_OK(complete(lab, &claimed.grants[0].fence), &lab->err);
    }
    CHECK_TRIPS(lab, 2, add(lab, NEW(.input = PAWL_STR("{}"))));
    CHECK_TRIPS(lab, 2, add(lab, NEW(.id = PAWL_STR("three"), .key = PAWL_STR("key"))));
    CHECK_TRIPS(lab, 2, claim(lab, CLAIM(.worker_id = W, .max = 2), &claimed));
    CHECK_EQ(2, claimed.count);
    struct pawl_renewal renewals[2];
    struct pawl_fence fences[] = {claimed.grants[0].fence, claimed.grants[1].fence};
    CHECK_TRIPS(lab, 2, pawl_lease_renew(lab->pawl, fences, 2, 0, renewals, &lab->err));
    CHECK_TRIPS(lab, 2, complete(lab, &fences[0]));
    CHECK_TRIPS(lab, 1, complete(lab, &fences[0])); /* said again: nothing is written */
    CHECK_TRIPS(lab, 2,
                pawl_task_fail(lab->pawl, fences[1].task_id,
                               FAILURE(.error = PAWL_STR("no"), .is_final = true),
                               CHANGE(.fence = &fences[1]), &lab->err));
    CHECK_TRIPS(lab, 2,
                claim(lab, CLAIM(.worker_id = W), &claimed)); /* the second looks what comes next */
    CHECK_EQ(0, claimed.count);
}

TEST_EACH_STORE("small bodies come with the ready rows, large ones by a round trip of their own")
{
    struct pawl_claimed claimed;
    char body[PAWL_READY_PAYLOAD_BYTES_MAX + 2]; /* a JSON string */
    memset(body, 'x', sizeof body);
    body[0] = '"';
    open_still(lab);
    CHECK_OK(add(lab, NEW()), &lab->err);
    CHECK_OK(claim(lab, CLAIM(.worker_id = W), &claimed), &lab->err);
    for (size_t over = 0; over < 2; over++) {
        struct pawl_str input = {body, PAWL_READY_PAYLOAD_BYTES_MAX + over};
        body[input.len - 1] = '"';
        CHECK_OK(add(lab, NEW(.input = input)), &lab->err);
        body[input.len - 1] = 'x';
        CHECK_TRIPS(lab, 2 + (int64_t)over, claim(lab, CLAIM(.worker_id = W), &claimed));
        CHECK_EQ(1, claimed.count);
        CHECK_EQ(input.len, claimed.grants[0].input.len);
    }
}

TEST_EACH_STORE("the bodies of more tasks than come with the ready rows take a round trip of their own")
{
    struct pawl_claimed claimed;
    open_still(lab);
    CHECK_OK(add(lab, NEW()), &lab->err);
    CHECK_OK(claim(lab, CLAIM(.worker_id = W), &claimed), &lab->err);
    for (int32_t over = 0; over < 2; over++) {
        int32_t max = PAWL_READY_PAYLOADS_MAX + over;
        for (int32_t i = 0; i < max; i++) {
            CHECK_OK(add(lab, NEW(.input = PAWL_STR("{\"a\":1}"))), &lab->err);
        }
        CHECK_TRIPS(lab, 2 + over, claim(lab, CLAIM(.worker_id = W, .max = max), &claimed));
        CHECK_EQ(max, claimed.count);
        CHECK_STR("{\"a\":1}", claimed.grants[max - 1].input);
    }
}

TEST_EACH_STORE("a claim from more queues in turn than a handle remembers finds what is there")
{
    enum { COUNT = PAWL_ENGINE_QUEUES_KNOWN + 1 };
    char name[32];
    struct pawl_claimed claimed;
    open_still(lab);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            (void)snprintf(name, sizeof name, "queue-%d", i);
            struct pawl_str queue = pawl_str_of(name);
            CHECK_OK(add(lab, NEW(.queue = queue)), &lab->err);
            CHECK_OK(
                claim(lab, CLAIM(.queues = &queue, .queue_count = 1, .worker_id = W), &claimed),
                &lab->err);
            CHECK_EQ(1, claimed.count);
        }
    }
}

TEST_MAIN()
