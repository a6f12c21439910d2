/* What is too much, or cannot be read, harms nobody else. */
#include "base/arena.h"
#include "stores.h"

#include "core/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE_BYTES = 9 * 1024 * 1024 };

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

TEST_SQLITE("a redrive of 20 dead letters of 9 MiB with another input of 9 MiB comes to its end, and nothing else fails")
{
    enum { DEAD = 20 };
    struct pawl_str body = lab_json(lab, LARGE_BYTES);
    int64_t count = 0;
    lab_open(lab);
    for (int i = 0; i < DEAD; i++) {
        struct pawl_str id = lab_add(lab, NEW(.input = body));
        struct pawl_fence fence = {id, PAWL_STR("w"), 1};
        struct pawl_arena *keep;
        struct pawl_grant grant;
        check_ok(lab, pawl_arena_open(&keep, 0));
        check_ok(lab, pawl_task_start(lab->pawl, id, CLAIM(.worker_id = PAWL_STR("w")), keep, &grant,
                                      &lab->err));
        pawl_arena_close(keep);
        check_ok(lab, pawl_task_fail(lab->pawl, id, FAILURE(.is_final = true), CHANGE(.fence = &fence),
                                     &lab->err));
    }
    check_ok(lab, pawl_dead_redrive(lab->pawl, REDRIVE(.resume = {sizeof(struct pawl_resume), false, body}),
                                    &count, &lab->err));
    CHECK_EQ(DEAD, count);
    (void)lab_add(lab, NEW(.input = PAWL_STR("1")));
}

TEST_EACH_STORE("600 tasks may wait for an id before there is such a task, and all are released when it completes")
{
    enum { WAITING = 600 };
    static struct pawl_task_new asks[WAITING];
    struct pawl_str on = PAWL_STR("late-comer");
    lab_open(lab);
    for (int i = 0; i < WAITING; i++) {
        asks[i] = *NEW(.depends_on = &on, .depends_on_count = 1, .allow_missing_dependencies = true);
    }
    (void)lab_add_batch(lab, asks, WAITING);
    (void)lab_add(lab, NEW(.id = on, .hold = true));
    check_ok(lab, pawl_task_complete(lab->pawl, on, NO_TEXT, NULL, &lab->err));
    lab_settle(lab, lab->pawl);
    CHECK_EQ(WAITING, lab_list(lab, LIST(.is_ready = true, .limit = PAWL_BATCH_MAX)).count);
}

TEST_EACH_STORE("D-12 a damaged row at the head of a queue does not hide those behind it, and is CORRUPT to every call")
{
    lab_open(lab);
    struct pawl_str bad = lab_add(lab, NEW(.id = PAWL_STR("bad")));
    struct pawl_str good = lab_add(lab, NEW(.id = PAWL_STR("good")));
    (void)lab_sql(lab, "UPDATE task SET priority = 77777 WHERE id = 'bad'");
    struct pawl_claimed claimed = lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w")));
    CHECK_EQ(1, claimed.count);
    CHECK_STR("good", claimed.grants[0].fence.task_id);
    struct pawl_fence fence = {bad, PAWL_STR("w"), 1};
    struct pawl_added added;
    CHECK_REFUSED(PAWL_CORRUPT, pawl_task_cancel(lab->pawl, bad, false, NULL, &lab->err));
    CHECK_REFUSED(PAWL_CORRUPT,
                  pawl_task_complete(lab->pawl, bad, NO_TEXT, CHANGE(.fence = &fence), &lab->err));
    CHECK_REFUSED(PAWL_CONFLICT,
                  pawl_task_add(lab->pawl, NEW(.id = bad), lab->keep, &added, &lab->err));
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, good).state);
}

TEST_EACH_STORE("of a task with many progress reports the transitions stay in its history")
{
    enum { REPORTS = 600 };
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.id = PAWL_STR("long")));
    struct pawl_fence fence = lab_start(lab, id, "w");
    for (int i = 0; i < REPORTS; i++) {
        lab_pass(lab, 1000);
        check_ok(lab, pawl_task_progress(lab->pawl, id, i % 100 + 0.5, CHANGE(.fence = &fence), &lab->err));
        struct pawl_renewal renewal;
        check_ok(lab, pawl_lease_renew(lab->pawl, &fence, 1, 0, &renewal, &lab->err));
    }
    lab_settle(lab, lab->pawl);
    struct pawl_events events = lab_history(lab, id);
    CHECK(events.count < 400);
    CHECK_STR("task_created", events.events[0].type);
    CHECK_STR("task_queued", events.events[1].type);
    CHECK_STR("task_started", events.events[2].type);
    CHECK_EQ(REPORTS + 3, events.events[events.count - 1].sequence);
}

TEST_EACH_STORE("a consumer that has acknowledged nothing for a week and is behind is dropped; others lose nothing")
{
    struct pawl_events events;
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.hold = true));
    check_ok(lab, pawl_consumer_read(lab->pawl, PAWL_STR("gone"), 10, 0, lab->keep, &events, &lab->err));
    lab_pass(lab, INT64_C(8) * 24 * 3600 * 1000);
    (void)lab_sql(lab, "UPDATE consumer SET seen_at_ms = 1");
    for (int i = 0; i < 400; i++) {
        check_ok(lab, pawl_task_pause(lab->pawl, id, NULL, &lab->err));
        check_ok(lab, pawl_task_resume(lab->pawl, id, NULL, NULL, &lab->err));
    }
    lab_settle(lab, lab->pawl);
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM consumer"));
    CHECK(strtol(lab_sql(lab, "SELECT count(*) FROM event"), NULL, 10) < 400);
}

TEST_EACH_STORE("acknowledging one by one, in any order, moves the cursor as far as there is no gap")
{
    struct pawl_events events;
    bool is_first = false;
    lab_open(lab);
    for (int i = 0; i < 3; i++) (void)lab_add(lab, NEW(.hold = true));
    check_ok(lab, pawl_consumer_read(lab->pawl, PAWL_STR("c"), 10, 0, lab->keep, &events, &lab->err));
    CHECK_EQ(3, events.count);
    for (int i = 2; i >= 0; i--) {
        check_ok(lab, pawl_consumer_acknowledge(lab->pawl, PAWL_STR("c"), events.events[i].id, &is_first,
                                                &lab->err));
        CHECK(is_first);
    }
    check_ok(lab, pawl_consumer_acknowledge(lab->pawl, PAWL_STR("c"), events.events[2].id, &is_first,
                                            &lab->err));
    CHECK(!is_first);
    CHECK_TEXT("3", lab_sql(lab, "SELECT cursor FROM consumer"));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM acknowledgement"));
}

/* As retention and a restore leave it: from 1 to 9 there is nothing, nor for a million after 11. */
static void make_gaps(struct lab *lab)
{
    for (int i = 0; i < 14; i++) (void)lab_add(lab, NEW(.hold = true));
    (void)lab_sql(lab, "DELETE FROM event WHERE position < 10");
    (void)lab_sql(lab, "UPDATE event SET position = position + 1048576 WHERE position > 11");
    (void)lab_sql(lab, "UPDATE head SET position = position + 1048576");
}

TEST_EACH_STORE("E9 a new consumer begins at the oldest event, and acknowledging passes positions "
                "without one")
{
    struct pawl_events events;
    bool is_first = false;
    lab_open(lab);
    make_gaps(lab);
    check_ok(lab, pawl_consumer_read(lab->pawl, PAWL_STR("c"), 10, 0, lab->keep, &events, &lab->err));
    CHECK_EQ(5, events.count);
    CHECK_TEXT("9", lab_sql(lab, "SELECT cursor FROM consumer"));
    for (size_t i = 0; i < events.count; i++) {
        check_ok(lab, pawl_consumer_acknowledge(lab->pawl, PAWL_STR("c"), events.events[i].id, &is_first,
                                                &lab->err));
        CHECK(is_first);
    }
    CHECK_TEXT("1048590", lab_sql(lab, "SELECT cursor FROM consumer"));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM acknowledgement"));
}

TEST_EACH_STORE("a consumer opened where no event is left begins after the newest there was")
{
    struct pawl_events events;
    lab_open(lab);
    (void)lab_add(lab, NEW(.hold = true));
    (void)lab_sql(lab, "DELETE FROM event");
    check_ok(lab, pawl_consumer_read(lab->pawl, PAWL_STR("c"), 10, 0, lab->keep, &events, &lab->err));
    CHECK_EQ(0, events.count);
    CHECK_TEXT("1", lab_sql(lab, "SELECT cursor FROM consumer"));
    (void)lab_add(lab, NEW(.hold = true));
    check_ok(lab, pawl_consumer_read(lab->pawl, PAWL_STR("c"), 10, 0, lab->keep, &events, &lab->err));
    CHECK_EQ(1, events.count);
}

TEST_EACH_STORE("a gap that closes before more events than are passed at once is made up for by the next "
                "acknowledgements")
{
    enum { EVENTS = 2 * PAWL_ACKNOWLEDGED_LOOKS_MAX + 2 };
    struct pawl_events events;
    bool is_first = false;
    lab_open(lab);
    for (int i = 0; i < EVENTS; i++) (void)lab_add(lab, NEW(.hold = true));
    check_ok(lab, pawl_consumer_read(lab->pawl, PAWL_STR("c"), EVENTS, 0, lab->keep, &events, &lab->err));
    for (int i = EVENTS - 2; i >= 0; i--) {
        check_ok(lab, pawl_consumer_acknowledge(lab->pawl, PAWL_STR("c"), events.events[i].id, &is_first,
                                                &lab->err));
    }
    CHECK_EQ(PAWL_ACKNOWLEDGED_LOOKS_MAX, strtol(lab_sql(lab, "SELECT cursor FROM consumer"), NULL, 10));
    check_ok(lab, pawl_consumer_acknowledge(lab->pawl, PAWL_STR("c"), events.events[EVENTS - 1].id, &is_first,
                                            &lab->err));
    CHECK(is_first);
    (void)lab_add(lab, NEW(.hold = true));
    check_ok(lab, pawl_consumer_read(lab->pawl, PAWL_STR("c"), EVENTS, 0, lab->keep, &events, &lab->err));
    check_ok(lab, pawl_consumer_acknowledge(lab->pawl, PAWL_STR("c"), events.events[0].id, &is_first,
                                            &lab->err));
    CHECK_EQ(EVENTS + 1, strtol(lab_sql(lab, "SELECT cursor FROM consumer"), NULL, 10));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM acknowledgement"));
}

TEST_SQLITE("24 claims that wait for tasks of 9 MiB get them all when their queue is resumed")
{
    enum { TASKS = 24 };
    struct pawl_str queue = PAWL_STR("large");
    struct pawl_str body = lab_json(lab, LARGE_BYTES);
    struct pawl_arena *keep;
    lab_open(lab);
    for (int i = 0; i < TASKS; i++) (void)lab_add(lab, NEW(.queue = queue, .input = body));
    check_ok(lab, pawl_arena_open(&keep, (size_t)512 * 1024 * 1024));
    size_t count = 0;
    /* one claim of all: as many as fit in an answer, again and again */
    while (count < TASKS) {
        struct pawl_claimed claimed;
        check_ok(lab, pawl_task_claim(lab->pawl, CLAIM(.queues = &queue, .queue_count = 1, .max = TASKS,
                                                       .worker_id = PAWL_STR("w")),
                                      keep, &claimed, &lab->err));
        CHECK(claimed.count > 0);
        count += claimed.count;
        pawl_arena_reset(keep);
    }
    CHECK_EQ(TASKS, count);
    pawl_arena_close(keep);
}

TEST_EACH_STORE("resolving to QUEUED refills both counts of tries")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.retry = {.max_retries = PAWL_RETRIES_NONE}));
    (void)lab_start(lab, id, "gone");
    lab_pass(lab, 61 * SECOND_MS);
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, lab_get(lab, id).state);
    CHECK_EQ(1, lab_get(lab, id).recoveries);
    check_ok(lab, pawl_task_resolve(lab->pawl, id, PAWL_TASK_QUEUED, PAWL_STR("the machine is back"), NULL,
                                    &lab->err));
    CHECK_EQ(0, lab_get(lab, id).retries);
    CHECK_EQ(0, lab_get(lab, id).recoveries);
}

TEST_SQLITE("after an orderly close the file alone is the whole store")
{
    char copy[LAB_PATH_BYTES_MAX + 8];
    char command[2 * LAB_PATH_BYTES_MAX + 32];
    lab_open_real(lab);
    struct pawl_str id = lab_add(lab, NEW(.input = PAWL_STR("1")));
    pawl_close(lab->pawl);
    lab->pawl = NULL;
    (void)snprintf(copy, sizeof copy, "%s.copy", lab->target);
    (void)snprintf(command, sizeof command, "cp %s %s", lab->target, copy);
    CHECK_EQ(0, system(command));
    struct pawl_options options = lab_options(lab);
    options.store = pawl_str_of(copy);
    options.must_exist = true;
    lab->pawl = lab_handle(lab, &options);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
}

static int use_after_fork(struct lab *lab, int number)
{
    struct pawl_added added;
    (void)number;
    enum pawl_code code = pawl_task_add(lab->pawl, NEW(.hold = true), lab->keep, &added, NULL);
    pawl_close(lab->pawl); /* does nothing, and does not hang */
    return code == PAWL_MISUSE ? 0 : 1;
}

TEST_SQLITE("a handle does not survive a fork: in the child calls are MISUSE, and close does nothing")
{
    lab_open_real(lab);
    (void)lab_add(lab, NEW(.hold = true));
    CHECK_EQ(0, lab_wait(lab_fork(lab, use_after_fork, 0)));
    (void)lab_add(lab, NEW(.hold = true));
}

TEST_SQLITE("a database that is moved away under a running handle is noticed before anything is acknowledged")
{
    char command[2 * LAB_PATH_BYTES_MAX + 32];
    struct pawl_added added;
    lab_open(lab);
    (void)lab_add(lab, NEW(.hold = true));
    (void)snprintf(command, sizeof command, "mv %s %s.away", lab->target, lab->target);
    CHECK_EQ(0, system(command));
    CHECK_REFUSED(PAWL_IO, pawl_task_add(lab->pawl, NEW(.hold = true), lab->keep, &added, &lab->err));
}

TEST_SQLITE("a task that waits twice for the same one, by its key and by its id, is released")
{
    enum { OTHERS = 255 };
    static struct pawl_task_new asks[OTHERS];
    struct pawl_str y = PAWL_STR("y");
    struct pawl_str twice[] = {PAWL_STR("#0"), PAWL_STR("y")};
    lab_open(lab);
    (void)lab_add(lab, NEW(.id = y, .key = PAWL_STR("k"), .hold = true));
    for (int i = 0; i < OTHERS; i++) asks[i] = *NEW(.depends_on = &y, .depends_on_count = 1);
    (void)lab_add_batch(lab, asks, OTHERS);
    struct pawl_task_new both[] = {*NEW(.key = PAWL_STR("k"), .hold = true),
                                   *NEW(.id = PAWL_STR("both"), .depends_on = twice, .depends_on_count = 2)};
    struct pawl_added added[2];
    check_ok(lab, pawl_task_add_batch(lab->pawl, both, 2, lab->keep, added, &lab->err));
    CHECK(added[0].existed);
    check_ok(lab, pawl_task_complete(lab->pawl, y, NO_TEXT, NULL, &lab->err));
    lab_settle(lab, lab->pawl);
    CHECK_EQ(0, lab_get(lab, PAWL_STR("both")).open_dependencies);
}

TEST_EACH_STORE("T-084 a row that cannot be read is set aside once, and every call about it is CORRUPT and names it")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.id = PAWL_STR("broken")));
    struct pawl_str good = lab_add(lab, NEW(.id = PAWL_STR("good")));
    struct pawl_fence fences[] = {lab_start(lab, id, "w"), lab_start(lab, good, "w"),
                                  {PAWL_STR("nobody"), PAWL_STR("w"), 1}};
    (void)lab_sql(lab, "UPDATE task SET state = 99 WHERE id = 'broken'");
    struct pawl_renewal renewals[3];
    check_ok(lab, pawl_lease_renew(lab->pawl, fences, 3, 0, renewals, &lab->err));
    CHECK_CODE(PAWL_CORRUPT, renewals[0].code);
    CHECK_CODE(PAWL_OK, renewals[1].code);
    CHECK_CODE(PAWL_LEASE_LOST, renewals[2].code);
    CHECK_TEXT("1", lab_sql(lab, "SELECT count(*) FROM quarantine"));
    CHECK_TEXT("1", lab_sql(lab, "SELECT count(*) FROM task WHERE id = 'broken' AND due_at_ms IS NULL"));

    const char *seen = lab_sql(lab, "SELECT seen_at_ms FROM quarantine");
    lab_pass(lab, 1000);
    struct pawl_change change = PAWL_CHANGE_INIT;
    change.fence = &fences[0];
    CHECK_REFUSED(PAWL_CORRUPT, pawl_task_complete(lab->pawl, id, NO_TEXT, &change, &lab->err));
    CHECK(strstr(lab->err.text, "broken") != NULL);
    /* what lab_sql wrote is synced by now; to be told of it again is to write nothing */
    const char *now = lab_sql(lab, "SELECT now_ms FROM head");
    lab_pass(lab, 1000);
    CHECK_REFUSED(PAWL_CORRUPT,
                  pawl_task_resolve(lab->pawl, id, PAWL_TASK_CANCELLED, NO_TEXT, NULL, &lab->err));
    CHECK(strstr(lab->err.text, "broken") != NULL);
    CHECK_REFUSED(PAWL_CORRUPT, pawl_task_cancel(lab->pawl, id, true, NULL, &lab->err));
    check_ok(lab, pawl_lease_renew(lab->pawl, fences, 1, 0, renewals, &lab->err));
    CHECK_CODE(PAWL_CORRUPT, renewals[0].code);
    CHECK_TEXT(seen, lab_sql(lab, "SELECT seen_at_ms FROM quarantine"));
    CHECK_TEXT(now, lab_sql(lab, "SELECT now_ms FROM head"));
}

/* The numbers of a running task, each beyond what is counted: whoever goes on from it must not overflow. */
TEST_EACH_STORE("T-084 a number beyond all bounds makes a row that cannot be read, and harms no other")
{
    static const char *const columns[] = {"version",       "epoch",          "sequence",
                                          "retries",       "recoveries",     "crashes_in_row",
                                          "claims",        "lease_ms",       "lease_end_at_ms",
                                          "timeout_ms",    "delay_ms",       "delay_ms_max",
                                          "jitter_ms",     "created_at_ms",  "started_at_ms",
                                          "progress_epoch", "outcome_epoch", "payload_bytes",
                                          "log_bytes",     "checkpoint_bytes"};
    static const char *const values[] = {"2147483647", "2305843009213693953", "9223372036854775807"};
    lab_open(lab);
    for (size_t c = 0; c < COUNT_OF(columns); c++) {
        bool is_counter = c >= 3 && c <= 6;
        for (size_t v = is_counter ? 0 : 1; v < (is_counter && lab->store == LAB_POSTGRES ? 1 : 3); v++) {
            struct pawl_str id = lab_add(lab, NEW());
            struct pawl_str good = lab_add(lab, NEW());
            struct pawl_fence fences[] = {lab_start(lab, id, "w"), lab_start(lab, good, "w")};
            const char *sql = pawl_arena_format(lab->keep, "UPDATE task SET %s = %s WHERE id = '%.*s'",
                                                columns[c], values[v], PAWL_STR_ARG(id))
                                  .ptr;
            (void)lab_sql(lab, sql);
            CHECK_REFUSED(PAWL_CORRUPT, pawl_task_fail(lab->pawl, id, FAILURE(.error = PAWL_STR("no")),
                                                       CHANGE(.fence = &fences[0]), &lab->err));
            lab_pass(lab, PAWL_LEASE_MS_DEFAULT + 1); /* both leases end */
            lab_settle(lab, lab->pawl);
            CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, good).state);
            check_ok(lab, pawl_task_cancel(lab->pawl, good, false, NULL, &lab->err));
        }
    }
}

TEST_EACH_STORE("a head that is out of range is CORRUPT before anything is acknowledged, and named")
{
    static const struct {
        const char *column;
        const char *value;
    } heads[] = {{"wall_offset_ms", "9223372036854775807"}, {"wall_offset_ms", "-9223372036854775808"},
                 {"position", "9223372036854775807"}, {"position", "-1"},
                 {"next_key", "9223372036854775807"}, {"next_key", "0"},
                 {"now_ms", "9223372036854775807"},   {"now_ms", "-1"},
                 {"generation", "9223372036854775807"}};
    lab_open(lab);
    (void)lab_add(lab, NEW());
    (void)lab_sql(lab, "CREATE TABLE head_before AS SELECT * FROM head");
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        struct pawl_added added;
        (void)lab_sql(lab, pawl_arena_format(lab->keep, "UPDATE head SET %s = %s", heads[i].column, heads[i].value).ptr);
        CHECK_REFUSED(PAWL_CORRUPT, pawl_task_add(lab->pawl, NEW(), lab->keep, &added, &lab->err));
        CHECK(strstr(lab->err.text, heads[i].column) != NULL);
        (void)lab_sql(lab, pawl_arena_format(lab->keep, "UPDATE head SET %s = (SELECT %s FROM head_before)",
                                             heads[i].column, heads[i].column)
                               .ptr);
    }
    (void)lab_add(lab, NEW());
    CHECK_TEXT("2", lab_sql(lab, "SELECT count(*) FROM task"));
}

TEST_EACH_STORE("a row with a key that none ever has is set aside under it, and harms no other")
{
    struct pawl_str id = PAWL_STR("far");
    struct pawl_added added;
    lab_open(lab);
    (void)lab_add(lab, NEW(.id = id));
    (void)lab_sql(lab, "UPDATE task SET key = 9223372036854775807");
    CHECK_REFUSED(PAWL_CORRUPT, pawl_task_cancel(lab->pawl, id, false, NULL, &lab->err));
    CHECK_REFUSED(PAWL_CONFLICT, pawl_task_add(lab->pawl, NEW(.id = id), lab->keep, &added, &lab->err));
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"))).count);
    CHECK_TEXT("9223372036854775807", lab_sql(lab, "SELECT row_key FROM quarantine"));
    (void)lab_add(lab, NEW());
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"))).count);
}

TEST_MAIN()
