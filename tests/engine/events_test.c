/* Events as they are read: types, order, retention; consumers and what they acknowledge. */
#include "base/arena.h"
#include "stores.h"

#include <stdio.h>
#include <string.h>

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

static struct pawl_events read_all(struct lab *lab)
{
    struct pawl_events events;
    check_ok(lab, pawl_events_read(lab->pawl, 0, PAWL_BATCH_MAX, lab->keep, &events, &lab->err));
    return events;
}

static struct pawl_events consume(struct lab *lab, const char *consumer, int32_t limit)
{
    struct pawl_events events;
    check_ok(lab, pawl_consumer_read(lab->pawl, pawl_str_of(consumer), limit, 0, lab->keep, &events,
                                     &lab->err));
    return events;
}

static bool acknowledge(struct lab *lab, const char *consumer, struct pawl_str event_id)
{
    bool is_first = false;
    check_ok(lab, pawl_consumer_acknowledge(lab->pawl, pawl_str_of(consumer), event_id, &is_first,
                                            &lab->err));
    return is_first;
}

/* ---- Order ---- */

TEST_EACH_STORE(
    "T-053 create, queue, start, progress are sequences 1 to 4, and a second progress none")
{
    static const char *const types[] = {"task_created", "task_queued", "task_started",
                                        "task_progress"};
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.hold = true));
    check_ok(lab, pawl_task_queue(lab->pawl, id, NULL, &lab->err));
    struct pawl_fence fence = lab_start(lab, id, "w");
    for (int percent = 10; percent <= 20; percent += 10) {
        check_ok(lab,
                 pawl_task_progress(lab->pawl, id, percent, CHANGE(.fence = &fence), &lab->err));
    }
    struct pawl_events events = lab_history(lab, id);
    CHECK_EQ(4, events.count);
    for (size_t i = 0; i < 4; i++) {
        CHECK_EQ((int64_t)i + 1, events.events[i].sequence);
        CHECK_STR(types[i], events.events[i].type);
        CHECK(pawl_str_equal(id, events.events[i].task_id));
        if (i > 0) CHECK(events.events[i - 1].position < events.events[i].position);
    }
    CHECK_NEAR(10, events.events[3].progress, 0);
}

TEST_EACH_STORE(
    "T-054 events survive reopening with their ids; one acknowledged is gone for its consumer")
{
    lab_open(lab);
    (void)lab_add(lab, NEW());
    struct pawl_events before = consume(lab, "a", 10);
    CHECK_EQ(2, before.count);
    lab_reopen(lab);
    struct pawl_events after = consume(lab, "a", 10);
    CHECK_EQ(2, after.count);
    for (size_t i = 0; i < 2; i++) {
        CHECK(pawl_str_equal(before.events[i].id, after.events[i].id));
        CHECK_EQ(36, after.events[i].id.len);
        CHECK_EQ(before.events[i].position, after.events[i].position);
    }
    (void)consume(lab, "b", 10);
    CHECK(acknowledge(lab, "a", after.events[0].id));
    CHECK(!acknowledge(lab, "a", after.events[0].id));
    lab_reopen(lab);
    CHECK(!acknowledge(lab, "a", after.events[0].id));
    struct pawl_events rest = consume(lab, "a", 10);
    CHECK_EQ(1, rest.count);
    CHECK(pawl_str_equal(after.events[1].id, rest.events[0].id));
    CHECK_EQ(2, consume(lab, "b", 10).count);
    CHECK(acknowledge(lab, "b", after.events[0].id));
}

TEST_EACH_STORE(
    "T-055 D-32 with the clock stepped back between two writes, the order is that of commits")
{
    lab_open(lab);
    struct pawl_str first = lab_add(lab, NEW(.hold = true));
    atomic_fetch_sub(&lab->world.wall_ms, 3600 * SECOND_MS);
    struct pawl_str second = lab_add(lab, NEW(.hold = true));
    lab_reopen(lab); /* another process, which sees the earlier hour only */
    check_ok(lab, pawl_task_queue(lab->pawl, first, NULL, &lab->err));
    check_ok(lab, pawl_task_queue(lab->pawl, second, NULL, &lab->err));
    struct pawl_events events = read_all(lab);
    CHECK_EQ(4, events.count);
    struct pawl_str want[] = {first, second, first, second};
    for (size_t i = 0; i < 4; i++) {
        CHECK(pawl_str_equal(want[i], events.events[i].task_id));
        if (i == 0) continue;
        CHECK(events.events[i - 1].position < events.events[i].position);
        CHECK(events.events[i - 1].at_ms <= events.events[i].at_ms);
    }
}

TEST_SQLITE("D-47 after a reboot with the wall clock set back, time does not run backwards")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    (void)lab_start(lab, id, "w");
    int64_t before = lab_get(lab, id).updated_at_ms;
    lab->world.env.boot_id = PAWL_STR("boot-2");
    atomic_store(&lab->world.boot_ms, 10);
    atomic_fetch_sub(&lab->world.wall_ms, 7200 * SECOND_MS);
    lab_reopen(lab);
    lab_pass(lab, 5);
    struct pawl_str next = lab_add(lab, NEW());
    CHECK(lab_get(lab, next).created_at_ms >= before);
    /* and the lease ends a lease later at the most, not two hours after that */
    lab_pass(lab, 61 * SECOND_MS);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
}

TEST_EACH_STORE("D-47 a step of the wall clock by an hour costs no live lease and keeps no dead one")
{
    static const int64_t steps_ms[] = {3600 * SECOND_MS, -3600 * SECOND_MS};
    for (size_t i = 0; i < COUNT_OF(steps_ms); i++) {
        if (i == 0) lab_open(lab);
        struct pawl_str live = lab_add(lab, NEW());
        struct pawl_fence fence = lab_start(lab, live, "w");
        atomic_fetch_add(&lab->world.wall_ms, steps_ms[i]);
        lab_pass(lab, 59 * SECOND_MS);
        struct pawl_renewal renewal;
        check_ok(lab, pawl_lease_renew(lab->pawl, &fence, 1, 0, &renewal, &lab->err));
        CHECK_CODE(PAWL_OK, renewal.code);
        lab_pass(lab, 60 * SECOND_MS);
        CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, live).state);
    }
}

TEST_EACH_STORE("D-47 what is left of a lease is told by the clock of the store, however wrong the wall clock is")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    CHECK_EQ(0, lab_get(lab, id).lease_left_ms);
    struct pawl_fence fence = lab_start(lab, id, "w");
    atomic_fetch_add(&lab->world.wall_ms, 7200 * SECOND_MS);
    int64_t left_ms = lab_get(lab, id).lease_left_ms;
    CHECK(left_ms > 0 && left_ms <= 60 * SECOND_MS); /* the clock of PostgreSQL goes on by itself */
    if (lab->store == LAB_SQLITE) CHECK_EQ(60 * SECOND_MS, left_ms);
    atomic_fetch_sub(&lab->world.wall_ms, 4 * 7200 * SECOND_MS);
    lab_pass(lab, 20 * SECOND_MS);
    left_ms = lab_get(lab, id).lease_left_ms;
    CHECK(left_ms > 0 && left_ms <= 40 * SECOND_MS);
    if (lab->store == LAB_SQLITE) CHECK_EQ(40 * SECOND_MS, left_ms);
    /* over, and nobody has looked yet */
    lab_elapse(lab, 40 * SECOND_MS);
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, id).state);
    CHECK_EQ(0, lab_get(lab, id).lease_left_ms);
    CHECK_REFUSED(PAWL_LEASE_LOST,
                  pawl_task_complete(lab->pawl, id, NO_TEXT, CHANGE(.fence = &fence), &lab->err));
}

TEST_SQLITE("D-47 after a reboot a reader goes by the wall clock, but never behind the last commit")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW(.delay_ms = 5000));
    lab_pass(lab, 4000);
    lab_add(lab, NEW()); /* commits */
    struct pawl_health health;
    check_ok(lab, pawl_health(lab->pawl, lab->keep, &health, &lab->err));
    int64_t before_ms = health.now_ms;
    lab->world.env.boot_id = PAWL_STR("boot-2");
    atomic_store(&lab->world.boot_ms, 10);
    atomic_fetch_sub(&lab->world.wall_ms, 7200 * SECOND_MS);
    check_ok(lab, pawl_health(lab->pawl, lab->keep, &health, &lab->err));
    CHECK_EQ(before_ms, health.now_ms);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
}

TEST_EACH_STORE("D-35 an event tells the row as it was committed, not what became of it")
{
    lab_open(lab);
    struct pawl_str id =
        lab_add(lab, NEW(.title = PAWL_STR("T"), .queue = PAWL_STR("mail"), .hold = true));
    check_ok(lab, pawl_task_progress(lab->pawl, id, 10, NULL, &lab->err));
    struct pawl_fence fence = lab_start(lab, id, "w");
    check_ok(lab,
             pawl_task_complete(lab->pawl, id, PAWL_STR("1"), CHANGE(.fence = &fence), &lab->err));
    struct pawl_events events = lab_history(lab, id);
    CHECK_EQ(4, events.count);
    static const struct {
        enum pawl_task_state state;
        int64_t version;
        int64_t epoch;
        double progress;
    } want[] = {{PAWL_TASK_PENDING, 1, 0, 0},
                {PAWL_TASK_PENDING, 2, 0, 10},
                {PAWL_TASK_RUNNING, 3, 1, 10},
                {PAWL_TASK_COMPLETED, 4, 1, 100}};
    for (size_t i = 0; i < 4; i++) {
        const struct pawl_event *event = &events.events[i];
        CHECK_EQ(want[i].state, event->state);
        CHECK_EQ(want[i].version, event->version);
        CHECK_EQ(want[i].epoch, event->epoch);
        CHECK_NEAR(want[i].progress, event->progress, 0);
        CHECK_STR("T", event->title);
        CHECK_STR("mail", event->queue);
        CHECK(!event->has_gap);
    }
}

/* ---- Consumers ---- */

TEST_EACH_STORE("a consumer reads in commit order from its cursor, which never goes back")
{
    lab_open(lab);
    for (int i = 0; i < 3; i++) (void)lab_add(lab, NEW());
    struct pawl_events page = consume(lab, "a", 4);
    CHECK_EQ(4, page.count);
    CHECK_EQ(page.events[3].position, page.position);
    check_ok(lab,
             pawl_consumer_acknowledge_through(lab->pawl, PAWL_STR("a"), page.position, &lab->err));
    struct pawl_events rest = consume(lab, "a", 4);
    CHECK_EQ(2, rest.count);
    CHECK(rest.events[0].position > page.position);
    check_ok(lab, pawl_consumer_acknowledge_through(lab->pawl, PAWL_STR("a"), 1, &lab->err));
    CHECK_EQ(2, consume(lab, "a", 4).count);
    CHECK_REFUSED(PAWL_INVALID, pawl_consumer_acknowledge_through(lab->pawl, PAWL_STR("a"),
                                                                  rest.position + 1, &lab->err));
    check_ok(lab,
             pawl_consumer_acknowledge_through(lab->pawl, PAWL_STR("a"), rest.position, &lab->err));
    CHECK_EQ(0, consume(lab, "a", 4).count);
    lab_reopen(lab);
    CHECK_EQ(0, consume(lab, "a", 4).count);
    (void)lab_add(lab, NEW(.hold = true));
    CHECK_EQ(1, consume(lab, "a", 4).count);
}

TEST_EACH_STORE("acknowledging through a position includes what was acknowledged one by one")
{
    lab_open(lab);
    for (int i = 0; i < 3; i++) (void)lab_add(lab, NEW(.hold = true));
    struct pawl_events page = consume(lab, "a", 10);
    CHECK_EQ(3, page.count);
    CHECK(acknowledge(lab, "a", page.events[1].id));
    CHECK_EQ(2, consume(lab, "a", 10).count);
    check_ok(lab, pawl_consumer_acknowledge_through(lab->pawl, PAWL_STR("a"),
                                                    page.events[0].position, &lab->err));
    struct pawl_events rest = consume(lab, "a", 10);
    CHECK_EQ(1, rest.count);
    CHECK_EQ(page.events[2].position, rest.events[0].position);
    CHECK(!acknowledge(lab, "a", page.events[0].id));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM acknowledgement WHERE position = 1"));
}

TEST_EACH_STORE(
    "an id that is none, or of an event that is not there, is acknowledged as not first")
{
    lab_open(lab);
    (void)lab_add(lab, NEW());
    struct pawl_events page = consume(lab, "a", 10);
    CHECK(!acknowledge(lab, "a", PAWL_STR("x")));
    CHECK(!acknowledge(lab, "a", NO_TEXT));
    CHECK(!acknowledge(lab, "a", PAWL_STR("01890a5d-ac96-774b-bcce-b302099a8057")));
    CHECK_EQ(2, consume(lab, "a", 10).count);
    bool is_first = true;
    CHECK_REFUSED(PAWL_NOT_FOUND,
                  pawl_consumer_acknowledge(lab->pawl, PAWL_STR("nobody"), page.events[0].id,
                                            &is_first, &lab->err));
    CHECK(is_first);
    CHECK_REFUSED(PAWL_NOT_FOUND,
                  pawl_consumer_acknowledge_through(lab->pawl, PAWL_STR("nobody"), 1, &lab->err));
}

TEST_EACH_STORE("a new consumer starts at the oldest event kept, and a page has 1 to 1 000 events")
{
    lab_open(lab);
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, PAWL_BATCH_MAX, sizeof *asks);
    for (int i = 0; i < PAWL_BATCH_MAX; i++) asks[i] = *NEW(.hold = i > 0);
    (void)lab_add_batch(lab, asks, PAWL_BATCH_MAX);
    CHECK_EQ(100, consume(lab, "a", 0).count);
    CHECK_EQ(1, consume(lab, "a", 0).events[0].position);
    CHECK_EQ(PAWL_BATCH_MAX, consume(lab, "a", PAWL_BATCH_MAX).count);
    struct pawl_events events;
    CHECK_REFUSED(PAWL_INVALID, pawl_consumer_read(lab->pawl, PAWL_STR("a"), PAWL_BATCH_MAX + 1, 0,
                                                   lab->keep, &events, &lab->err));
    CHECK_REFUSED(PAWL_INVALID, pawl_consumer_read(lab->pawl, PAWL_STR("a"), -1, 0, lab->keep,
                                                   &events, &lab->err));
    CHECK_REFUSED(PAWL_INVALID, pawl_events_read(lab->pawl, 0, PAWL_BATCH_MAX + 1, lab->keep,
                                                 &events, &lab->err));
    CHECK_REFUSED(PAWL_INVALID,
                  pawl_consumer_read(lab->pawl, PAWL_STR("a"), 1, PAWL_WAIT_MS_MAX + 1, lab->keep,
                                     &events, &lab->err));
}

/* ---- Retention ---- */

static void toggle(struct lab *lab, struct pawl_str id, int times)
{
    for (int i = 0; i < times; i++) {
        check_ok(lab, pawl_task_pause(lab->pawl, id, NULL, &lab->err));
        check_ok(lab, pawl_task_resume(lab->pawl, id, NULL, NULL, &lab->err));
    }
}

TEST_EACH_STORE(
    "T-111 D-33 of a task that lives on the newest 256 events stay, and the sequence goes on")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    toggle(lab, id, 160); /* 322 events */
    lab_settle(lab, lab->pawl);
    struct pawl_events events = lab_history(lab, id);
    CHECK_EQ(256 + 2, events.count); /* cut at 320: every 64 events, and two came after */
    CHECK_EQ(322, events.events[events.count - 1].sequence);
    for (size_t i = 1; i < events.count; i++) {
        CHECK_EQ(events.events[i - 1].sequence + 1, events.events[i].sequence);
    }
    check_ok(lab, pawl_task_complete(lab->pawl, id, NO_TEXT, NULL, &lab->err));
    CHECK_EQ(323, lab_last(lab, id).sequence);
}

TEST_EACH_STORE("T-111 events wait for the slowest consumer, and go when it has passed them")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    (void)consume(lab, "slow", 1);
    (void)consume(lab, "fast", 1);
    toggle(lab, id, 160);
    lab_settle(lab, lab->pawl);
    CHECK_EQ(322, lab_history(lab, id).count);
    struct pawl_events all = read_all(lab);
    check_ok(lab, pawl_consumer_acknowledge_through(lab->pawl, PAWL_STR("fast"), all.position,
                                                    &lab->err));
    toggle(lab, id, 32);
    lab_settle(lab, lab->pawl);
    CHECK_EQ(386, lab_history(lab, id).count);
    check_ok(lab, pawl_consumer_acknowledge_through(lab->pawl, PAWL_STR("slow"), all.position,
                                                    &lab->err));
    toggle(lab, id, 32);
    lab_settle(lab, lab->pawl);
    struct pawl_events left = lab_history(lab, id);
    CHECK_EQ(256 + 2, left.count); /* cut at 448 */
    CHECK_EQ(450, left.events[left.count - 1].sequence);
    CHECK_EQ(450, lab_last(lab, id).sequence);
}

TEST_EACH_STORE("T-112 D-31 checkpoint, progress and queue on a deferred task tell of no retry")
{
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    struct pawl_fence fence = lab_start(lab, id, "w");
    check_ok(lab, pawl_task_fail(lab->pawl, id, NULL, CHANGE(.fence = &fence), &lab->err));
    CHECK_TEXT("created queued started retry_scheduled", lab_told(lab, id));
    check_ok(lab, pawl_task_checkpoint(lab->pawl, id, 1, PAWL_STR("{}"), NULL, &lab->err));
    check_ok(lab, pawl_task_progress(lab->pawl, id, 10, NULL, &lab->err));
    check_ok(lab, pawl_task_queue(lab->pawl, id, NULL, &lab->err));
    CHECK_TEXT("created queued started retry_scheduled progress", lab_told(lab, id));
}

/* As a damaged index would: each row is found twice. */
static void double_rows(struct lab *lab, const char *table)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql, "ALTER TABLE %s RENAME TO %s_once", table, table);
    (void)lab_sql(lab, sql);
    (void)snprintf(sql, sizeof sql,
                   "CREATE TABLE %s AS SELECT * FROM %s_once UNION ALL SELECT * FROM %s_once",
                   table, table, table);
    (void)lab_sql(lab, sql);
}

TEST_EACH_STORE("rows that come out of order end a listing as corrupt, instead of never")
{
    struct pawl_events events;
    struct pawl_log_lines logs;
    lab_open(lab);
    struct pawl_str id = lab_add(lab, NEW());
    check_ok(lab, pawl_task_log(lab->pawl, id, PAWL_STR("a line"), NULL, &lab->err));
    double_rows(lab, "event");
    double_rows(lab, "log");
    CHECK_EQ(PAWL_CORRUPT, pawl_events_read(lab->pawl, 0, 10, lab->keep, &events, &lab->err));
    CHECK(strstr(lab->err.text, "events are out of order") != NULL);
    CHECK_EQ(PAWL_CORRUPT, pawl_task_history(lab->pawl, id, 0, 10, lab->keep, &events, &lab->err));
    CHECK_EQ(PAWL_CORRUPT,
             pawl_consumer_read(lab->pawl, PAWL_STR("c"), 10, 0, lab->keep, &events, &lab->err));
    CHECK_EQ(PAWL_CORRUPT, pawl_task_logs(lab->pawl, id, 0, 10, lab->keep, &logs, &lab->err));
}

TEST_MAIN()
