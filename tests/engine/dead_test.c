/* Dead letters by the hundred: redrive by filter, in slices. */
#include "base/arena.h"
#include "engine/engine.h"
#include "stores.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 600 };

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

/* So many dead letters of a queue; their workers have vanished. */
static void add_dead(struct lab *lab, const char *queue, size_t count)
{
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, count, sizeof *asks);
    for (size_t i = 0; i < count; i++) {
        asks[i] = *NEW(.queue = pawl_str_of(queue), .input = PAWL_STR("\"old\""),
                       .retry = {.max_retries = PAWL_RETRIES_NONE});
    }
    (void)lab_add_batch(lab, asks, count);
    struct pawl_str queues[] = {pawl_str_of(queue)};
    CHECK_EQ(count, lab_claim(lab, CLAIM(.queues = queues, .queue_count = 1,
                                         .worker_id = PAWL_STR("gone"), .max = (int32_t)count))
                        .count);
    lab_pass(lab, 61 * SECOND_MS);
}

static struct pawl_str add_failed(struct lab *lab, const char *error)
{
    struct pawl_str id = lab_add(lab, NEW(.input = PAWL_STR("\"old\"")));
    struct pawl_fence fence = lab_start(lab, id, "w");
    check_ok(lab,
             pawl_task_fail(lab->pawl, id, FAILURE(.error = pawl_str_of(error), .is_final = true),
                            CHANGE(.fence = &fence), &lab->err));
    return id;
}

static size_t dead_count(struct lab *lab)
{
    return lab_list(lab, LIST(.states = 1u << PAWL_TASK_DEAD_LETTER, .limit = PAWL_BATCH_MAX))
        .count;
}

static int64_t redrive(struct lab *lab, const struct pawl_redrive *ask)
{
    int64_t count = -1;
    check_ok(lab, pawl_dead_redrive(lab->pawl, ask, &count, &lab->err));
    return count;
}

TEST_EACH_STORE(
    "600 dead letters are redriven by one call, with another input and refilled retries")
{
    lab_open(lab);
    add_dead(lab, "mail", MANY);
    CHECK_EQ(MANY, dead_count(lab));
    CHECK_EQ(MANY, redrive(lab, REDRIVE(.resume = {.input = PAWL_STR("\"edited\"")},
                                        .actor = PAWL_STR("ops"), .reason = PAWL_STR("fixed"))));
    CHECK_EQ(0, dead_count(lab));
    struct pawl_str queues[] = {PAWL_STR("mail")};
    struct pawl_claimed claimed =
        lab_claim(lab, CLAIM(.queues = queues, .queue_count = 1, .worker_id = PAWL_STR("w"),
                             .max = PAWL_BATCH_MAX));
    CHECK_EQ(MANY, claimed.count);
    for (size_t i = 0; i < claimed.count; i++) {
        CHECK_STR("\"edited\"", claimed.grants[i].input);
        CHECK_EQ(1, claimed.grants[i].attempt);
        CHECK_EQ(4, claimed.grants[i].fence.epoch);
    }
    struct pawl_events events = lab_history(lab, claimed.grants[0].fence.task_id);
    const struct pawl_event *resumed = &events.events[events.count - 2];
    CHECK_STR("resumed", resumed->action);
    CHECK_STR("redriven", resumed->cause);
    CHECK_STR("ops", resumed->actor);
    CHECK(pawl_str_has(resumed->detail, PAWL_STR("fixed")));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM continuation"));
}

TEST_EACH_STORE("a redrive takes at most so many, and those that die meanwhile are not met twice")
{
    lab_open(lab);
    add_dead(lab, "mail", 300);
    CHECK_EQ(260, redrive(lab, REDRIVE(.max = 260)));
    CHECK_EQ(40, dead_count(lab));
    CHECK_EQ(40, redrive(lab, REDRIVE(.max = 0)));
    CHECK_EQ(0, redrive(lab, REDRIVE(.max = 0)));
}

TEST_EACH_STORE("a redrive goes by queue, error and time of death")
{
    lab_open(lab);
    add_dead(lab, "mail", 3);
    struct pawl_str timeout = add_failed(lab, "connect: timeout after 3 s");
    struct pawl_str refused = add_failed(lab, "connect: refused");
    CHECK_EQ(0, redrive(lab, REDRIVE(.queue = PAWL_STR("nobody")))); /* nothing found is no error */
    CHECK_EQ(0, redrive(lab, REDRIVE(.error_has = PAWL_STR("no such error"))));
    CHECK_EQ(1, redrive(lab, REDRIVE(.error_has = PAWL_STR("timeout"))));
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, timeout).state);
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, lab_get(lab, refused).state);
    CHECK_STR("\"old\"", lab_get(lab, timeout).input);
    CHECK_EQ(0, redrive(lab, REDRIVE(.dead_before_at_ms = 5)));
    CHECK_EQ(3, redrive(lab, REDRIVE(.queue = PAWL_STR("mail"))));
    CHECK_EQ(1, dead_count(lab));
    int64_t died_at_ms = lab_get(lab, refused).finished_at_ms;
    CHECK_EQ(0, redrive(lab, REDRIVE(.dead_before_at_ms = died_at_ms)));
    CHECK_EQ(1, redrive(lab, REDRIVE(.dead_before_at_ms = died_at_ms + 1)));
}

TEST_EACH_STORE("a redrive may keep the retries, which are then spent at the next failure")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.retry = {.max_retries = PAWL_RETRIES_NONE}));
    struct pawl_fence fence = lab_start(lab, id, "w");
    check_ok(lab, pawl_task_fail(lab->pawl, id, NULL, CHANGE(.fence = &fence), &lab->err));
    CHECK_EQ(1, redrive(lab, REDRIVE(.resume = {.keep_retries = true})));
    CHECK_EQ(1, lab_get(lab, id).retries);
}

TEST_EACH_STORE("a redriven task with 600 dependents is counted once, and they are unblocked")
{
    static const struct pawl_str first[] = {PAWL_STR_INIT("#0")};
    lab_open(lab);
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, MANY + 1, sizeof *asks);
    asks[0] = *NEW(.queue = PAWL_STR("parents"));
    for (int i = 1; i <= MANY; i++) asks[i] = *NEW(.depends_on = first, .depends_on_count = 1);
    struct pawl_added *added = lab_add_batch(lab, asks, MANY + 1);
    struct pawl_fence fence = lab_start(lab, added[0].id, "w");
    check_ok(lab, pawl_task_fail(lab->pawl, added[0].id, FAILURE(.is_final = true),
                                 CHANGE(.fence = &fence), &lab->err));
    CHECK_EQ(MANY, lab_list(lab, LIST(.is_blocked = true, .limit = PAWL_BATCH_MAX)).count);
    CHECK_EQ(1, redrive(lab, REDRIVE(.max = 0)));
    CHECK_EQ(0, lab_list(lab, LIST(.is_blocked = true, .limit = PAWL_BATCH_MAX)).count);
}

TEST_EACH_STORE("a handle without timers redrives to the end as well")
{
    lab_open(lab);
    add_dead(lab, "mail", 300);
    pawl_close(lab->pawl);
    struct pawl_options options = lab_options(lab);
    options.no_timers = true;
    lab->pawl = lab_handle(lab, &options);
    CHECK_EQ(300, redrive(lab, REDRIVE(.max = 0)));
    CHECK_EQ(0, dead_count(lab));
}

/* A redrive on its way: handed over, and run only when a handle steps. */
struct asked {
    struct pawl_request request;
    struct pawl_redrive ask;
    int64_t count;
};

static void ask_redrive(struct pawl *pawl, struct asked *asked)
{
    *asked = (struct asked){.ask = PAWL_REDRIVE_INIT};
    pawl_request_init(&asked->request, PAWL_COMMAND_REDRIVE);
    asked->request.command.ask.redrive = &asked->ask;
    asked->request.command.out.count = &asked->count;
    pawl_engine_add(pawl, &asked->request);
}

TEST_EACH_STORE("E8 a redrive's count is whole, whichever process ran its slices")
{
    lab_open(lab);
    add_dead(lab, "mail", MANY);
    struct pawl_options options = lab_options(lab);
    options.no_timers = true;
    struct pawl *caller = lab_handle(lab, &options);
    static struct asked asked;
    ask_redrive(caller, &asked);
    check_ok(lab, pawl_step(caller, NULL, &lab->err));
    CHECK(!asked.request.is_answered);
    lab_settle(lab, lab->pawl); /* another one takes over all that is left */
    CHECK_EQ(0, dead_count(lab));
    CHECK(!asked.request.is_answered);
    int64_t at_boot_ms = 0; /* what has ended is not due: nobody wakes for it */
    check_ok(lab, pawl_step(lab->pawl, &at_boot_ms, &lab->err));
    CHECK_EQ(INT64_MAX, at_boot_ms);
    check_ok(lab, pawl_step(caller, NULL, &lab->err));
    CHECK(asked.request.is_answered);
    CHECK_CODE(PAWL_OK, asked.request.command.code);
    CHECK_EQ(MANY, asked.count);
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM continuation"));
    pawl_close(caller);
}

TEST_EACH_STORE(
    "E8 a count that nobody comes for is cleared away by the next redrive, after an hour")
{
    lab_open(lab);
    add_dead(lab, "mail", 3);
    struct pawl_options options = lab_options(lab);
    options.no_timers = true;
    struct pawl *caller = lab_handle(lab, &options);
    static struct asked asked;
    ask_redrive(caller, &asked);
    check_ok(lab, pawl_step(caller, NULL, &lab->err));
    pawl_close(caller); /* as if it had been killed */
    lab_settle(lab, lab->pawl);
    CHECK_TEXT("1", lab_sql(lab, "SELECT count(*) FROM continuation"));
    CHECK_EQ(0, redrive(lab, REDRIVE(.max = 0)));
    CHECK_TEXT("1", lab_sql(lab, "SELECT count(*) FROM continuation"));
    if (lab->store == LAB_POSTGRES) {
        (void)lab_sql(lab, "UPDATE continuation SET cursor = cursor - 3600000");
    } else {
        lab_pass(lab, 3600 * SECOND_MS);
    }
    CHECK_EQ(0, redrive(lab, REDRIVE(.max = 0)));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM continuation"));
}

TEST_MAIN()
