/* Each kind of damage is planted, found by its name, and mended where that needs no guess. */
#include "stores.h"

#include "base/arena.h"
#include "engine/engine.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOUND_MAX = 64 };

struct report {
    char names[FOUND_MAX][64];
    char texts[FOUND_MAX][256];
    bool repaired[FOUND_MAX];
    bool repairable[FOUND_MAX];
    int count;
    struct pawl_fsck_done done;
    char log[4096];
};

static struct report report;

static void hear(void *self, const struct pawl_fsck_finding *finding)
{
    struct report *to = self;
    if (to->count == FOUND_MAX) return;
    (void)snprintf(to->names[to->count], sizeof to->names[0], "%s", finding->check);
    (void)snprintf(to->texts[to->count], sizeof to->texts[0], "%.*s|%.*s",
                   PAWL_STR_ARG(finding->text), PAWL_STR_ARG(finding->advice));
    to->repaired[to->count] = finding->is_repaired;
    to->repairable[to->count] = finding->can_repair;
    to->count++;
}

static void write_log(void *self, enum pawl_log_level level, struct pawl_str line)
{
    struct report *to = self;
    size_t len = strlen(to->log);
    (void)level;
    (void)snprintf(to->log + len, sizeof to->log - len, "%.*s\n", PAWL_STR_ARG(line));
}

static enum pawl_code try_check(struct lab *lab, bool repair)
{
    struct pawl_fsck ask = PAWL_FSCK_INIT;
    memset(&report, 0, sizeof report);
    ask.store = pawl_str_of(lab->target);
    ask.repair = repair;
    ask.self = &report;
    ask.found = hear;
    ask.log = write_log;
    ask.log_self = &report;
    ask.env = lab->pawl != NULL ? &lab->world.env : NULL;
    return pawl_fsck(&ask, &report.done, &lab->err);
}

static void check(struct lab *lab, bool repair)
{
    CHECK_OK(try_check(lab, repair), &lab->err);
    CHECK_EQ(report.count, report.done.found);
}

/* What was found, as "task.rank task.due_at_ms"; in the lab's arena. */
static const char *found(struct lab *lab)
{
    size_t bytes = 1;
    for (int i = 0; i < report.count; i++) bytes += strlen(report.names[i]) + 1;
    char *text = pawl_arena_take(lab->keep, bytes);
    CHECK(text != NULL);
    char *at = text;
    *at = '\0';
    for (int i = 0; i < report.count; i++) {
        at += sprintf(at, "%s%s", i == 0 ? "" : " ", report.names[i]);
    }
    return text;
}

/* A store with one of everything: ready, deferred, running, waiting, blocked, paused, dead,
 * completed ones; payloads, checkpoints, log lines, late results, a consumer that has acknowledged
 * beyond a gap. */
static struct pawl_str ready, deferred, running, waiting, blocked, dead, completed, paused;

static void define_one(struct lab *lab)
{
    static const struct pawl_definition_new item = {PAWL_DEFINITION_WORKFLOW,
                                                    PAWL_STR_INIT("greetings"), 2,
                                                    PAWL_STR_INIT("{\"name\":\"greetings\"}")};
    struct pawl_request request;
    pawl_request_init(&request, PAWL_COMMAND_DEFINE);
    request.command.ask.define.items = &item;
    request.command.ask.define.count = 1;
    CHECK_OK(pawl_engine_ask(lab->pawl, &request, &lab->err), &lab->err);
}

static void fill(struct lab *lab)
{
    struct pawl_str on_ready[] = {PAWL_STR("ready")};
    struct pawl_str on_dead[] = {PAWL_STR("dead")};
    lab_open(lab);
    ready = lab_add(lab, NEW(.id = PAWL_STR("ready"), .queue = PAWL_STR("r"),
                             .goal = PAWL_STR("go"), .input = PAWL_STR("{\"n\":1}"),
                             .metadata = PAWL_STR("{\"m\":2}"), .priority = 30));
    deferred = lab_add(
        lab, NEW(.id = PAWL_STR("deferred"), .queue = PAWL_STR("r"), .delay_ms = 3600 * SECOND_MS));
    waiting = lab_add(lab, NEW(.id = PAWL_STR("waiting"), .queue = PAWL_STR("r"),
                               .depends_on = on_ready, .depends_on_count = 1));
    paused = lab_add(lab, NEW(.id = PAWL_STR("paused"), .queue = PAWL_STR("r")));
    CHECK_OK(pawl_task_pause(lab->pawl, paused, CHANGE(.reason = PAWL_STR("later")), &lab->err),
             &lab->err);
    dead = lab_add(lab, NEW(.id = PAWL_STR("dead"), .queue = PAWL_STR("d"),
                            .retry = {.max_retries = PAWL_RETRIES_NONE}));
    blocked = lab_add(lab, NEW(.id = PAWL_STR("blocked"), .queue = PAWL_STR("r"),
                               .depends_on = on_dead, .depends_on_count = 1));
    struct pawl_fence fence = lab_start(lab, dead, "w");
    CHECK_OK(pawl_task_fail(lab->pawl, dead, FAILURE(.error = PAWL_STR("no")),
                            CHANGE(.fence = &fence), &lab->err),
             &lab->err);
    completed = lab_add(lab, NEW(.id = PAWL_STR("completed"), .queue = PAWL_STR("c")));
    fence = lab_start(lab, completed, "w");
    CHECK_OK(
        pawl_task_complete(lab->pawl, completed, PAWL_STR("7"), CHANGE(.fence = &fence), &lab->err),
        &lab->err);
    CHECK_CODE(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, completed, PAWL_STR("8"),
                                                   CHANGE(.fence = &fence), &lab->err));
    running = lab_add(lab, NEW(.id = PAWL_STR("running"), .queue = PAWL_STR("c")));
    fence = lab_start(lab, running, "w");
    CHECK_OK(pawl_task_checkpoint(lab->pawl, running, 1, PAWL_STR("{\"at\":1}"),
                                  CHANGE(.fence = &fence), &lab->err),
             &lab->err);
    CHECK_OK(
        pawl_task_log(lab->pawl, running, PAWL_STR("hello"), CHANGE(.fence = &fence), &lab->err),
        &lab->err);
    define_one(lab);
    struct pawl_events events;
    CHECK_OK(pawl_consumer_read(lab->pawl, PAWL_STR("me"), 10, 0, lab->keep, &events, &lab->err),
             &lab->err);
    bool is_first;
    CHECK_OK(pawl_consumer_acknowledge(lab->pawl, PAWL_STR("me"), events.events[3].id, &is_first,
                                       &lab->err),
             &lab->err);
}

TEST_EACH_STORE("fsck finds nothing in a store that has one of everything")
{
    fill(lab);
    check(lab, false);
    CHECK_TEXT("", found(lab));
    CHECK(report.done.rows > 30);
    check(lab, true);
    CHECK_EQ(0, report.done.repaired);
    CHECK_TEXT("", report.log);
}

/* Damage, what is to be found, whether it can be mended, and what then is as it was. */
struct damage {
    const char *sql;
    const char *found;
    bool mends;
    const char *look;
    const char *want;
};

static const struct damage damages[] = {
    {"UPDATE task SET rank = NULL WHERE id = 'ready'", "task.rank", true,
     "SELECT rank >> 48 FROM task WHERE id = 'ready'", "69"},
    {"UPDATE task SET rank = 5 WHERE id = 'ready'", "task.rank", true,
     "SELECT rank >> 48 FROM task WHERE id = 'ready'", "69"},
    {"UPDATE task SET rank = 5 WHERE id = 'completed'", "task.unreadable task.rank", true,
     "SELECT count(*) FROM task WHERE id = 'completed' AND rank IS NULL", "1"},
    {"UPDATE task SET rank = 5 WHERE id = 'waiting'", "task.unreadable task.rank", true,
     "SELECT count(*) FROM task WHERE id = 'waiting' AND rank IS NULL", "1"},
    {"UPDATE task SET open_dependencies = 0 WHERE id = 'waiting'", "task.open_dependencies", true,
     "SELECT open_dependencies FROM task WHERE id = 'waiting'", "1"},
    {"UPDATE task SET open_dependencies = 4 WHERE id = 'ready'",
     "task.unreadable task.open_dependencies", true,
     "SELECT open_dependencies FROM task WHERE id = 'ready'", "0"},
    {"UPDATE task SET due_at_ms = NULL WHERE id = 'deferred'", "task.due_at_ms", true,
     "SELECT count(*) FROM task WHERE id = 'deferred' AND due_at_ms = ready_at_ms", "1"},
    {"UPDATE task SET due_at_ms = due_at_ms + 1000 WHERE id = 'running'", "task.due_at_ms", true,
     "SELECT count(*) FROM task WHERE id = 'running' AND due_at_ms = lease_end_at_ms", "1"},
    {"UPDATE task SET owner = 1, lease_kind = 1 WHERE id = 'paused'", "task.unreadable task.lease",
     true, "SELECT count(*) FROM task WHERE id = 'paused' AND owner IS NULL AND lease_kind IS NULL",
     "1"},
    {"UPDATE task SET owner = 987654 WHERE id = 'running'", "task.owner", false, NULL, NULL},
    {"UPDATE task SET control = 1 WHERE id = 'paused'", "task.unreadable task.control", true,
     "SELECT control FROM task WHERE id = 'paused'", "0"},
    {"UPDATE task SET ready_at_ms = 1 WHERE id = 'dead'", "task.unreadable task.ready_at_ms", true,
     "SELECT count(*) FROM task WHERE id = 'dead' AND ready_at_ms IS NULL", "1"},
    {"UPDATE task SET run_at_ms = 1 WHERE id = 'ready'", "task.unreadable task.run_at_ms", true,
     "SELECT count(*) FROM task WHERE id = 'ready' AND run_at_ms IS NULL", "1"},
    {"UPDATE task SET run_at_ms = 1 WHERE id = 'dead'", "task.unreadable task.run_at_ms", true,
     "SELECT count(*) FROM task WHERE id = 'dead' AND run_at_ms IS NULL", "1"},
    {"UPDATE task SET blocked_by = 987654 WHERE id = 'waiting'", "task.blocked_by", true,
     "SELECT count(*) FROM task WHERE id = 'waiting' AND blocked_by IS NULL", "1"},
    {"UPDATE task SET has_dependents = 0 WHERE id = 'ready'", "task.has_dependents", true,
     "SELECT has_dependents FROM task WHERE id = 'ready'", "1"},
    {"UPDATE task SET sequence = 1 WHERE id = 'dead'", "task.sequence", true,
     "SELECT CASE WHEN sequence > 3 THEN 'more' ELSE 'less' END FROM task WHERE id = 'dead'",
     "more"},
    {"UPDATE task SET sequence = 99 WHERE id = 'dead'", "task.history", false, NULL, NULL},
    {"UPDATE task SET payload_bytes = 3 WHERE id = 'ready'", "task.payload_bytes", true,
     "SELECT payload_bytes FROM task WHERE id = 'ready'", "16"},
    {"UPDATE task SET checkpoint_count = 5 WHERE id = 'running'", "task.checkpoint_count", true,
     "SELECT checkpoint_count FROM task WHERE id = 'running'", "1"},
    {"UPDATE task SET checkpoint_bytes = 0 WHERE id = 'running'", "task.checkpoint_bytes", true,
     "SELECT checkpoint_bytes FROM task WHERE id = 'running'", "8"},
    {"UPDATE task SET log_bytes = 0 WHERE id = 'running'", "task.log_bytes", true,
     "SELECT log_bytes FROM task WHERE id = 'running'", "69"},
    {"UPDATE task SET state = 77 WHERE id = 'ready'", "task.unreadable", false, NULL, NULL},
    {"UPDATE task SET queue = 987654 WHERE id = 'paused'", "task.queue", false, NULL, NULL},
    {"UPDATE task SET finished_at_ms = NULL WHERE id = 'dead'", "task.unreadable", false, NULL,
     NULL},
    {"DELETE FROM payload WHERE key = (SELECT key * 16 FROM task WHERE id = 'ready')",
     "task.payloads", false, NULL, NULL},
    {"UPDATE task SET payloads = payloads - 1 WHERE id = 'ready'", "payload.kind", false, NULL,
     NULL},
    {"INSERT INTO payload (key, body) VALUES (987654 * 16, '1')", "payload.task", false, NULL,
     NULL},
    {"UPDATE head SET position = 2", "head.position", true, NULL, NULL},
    {"UPDATE head SET next_key = 2", "head.next_key", true,
     "SELECT CASE WHEN next_key > (SELECT MAX(key) FROM task) THEN 'more' ELSE 'less' END FROM "
     "head",
     "more"},
    {"UPDATE dependency SET is_open = 0 WHERE task = (SELECT key FROM task WHERE id = 'waiting')",
     "task.rank task.open_dependencies dependency.is_closed", false, NULL, NULL},
    {"UPDATE dependency SET on_key = 987654 WHERE task = (SELECT key FROM task WHERE id = "
     "'waiting')",
     "dependency.on", false, NULL, NULL},
    {"UPDATE dependency SET on_id = 'x' WHERE task = (SELECT key FROM task WHERE id = 'waiting')",
     "dependency.on", false, NULL, NULL},
    {"INSERT INTO dependency (task, number, on_key, is_open) SELECT 987654, 0, key, 0 FROM task "
     "WHERE id = "
     "'completed'",
     "dependency.task", false, NULL, NULL},
    {"INSERT INTO event (position, task, sequence, type, at_ms, state, epoch, version, progress, "
     "retries, cause) "
     "SELECT 7000000, 987654, 1, 1, 1, 1, 0, 1, 0, 0, 0",
     "head.position event.task", false, NULL, NULL},
    {"INSERT INTO event (position, task, sequence, type, at_ms, state, epoch, version, progress, "
     "retries, cause) SELECT 7000000, 987654, 1, 1, 1, 1, 0, 1, 0, 0, 0; INSERT INTO continuation "
     "(key, kind, task, "
     "cursor, remaining, done) VALUES (500000, 5, 987654, 0, 0, 0)", /* the rest of a removal */
     "head.position head.next_key", true, NULL, NULL},
    {"INSERT INTO tombstone (key, id, state, finished_at_ms, removed_at_ms) SELECT key, id, 5, 1, "
     "1 FROM "
     "task WHERE id = 'paused'",
     "tombstone", false, NULL, NULL},
    {"UPDATE task SET state = 4, lease_kind = 2, lease_end_at_ms = NULL, due_at_ms = NULL WHERE id "
     "= 'running'",
     "task.due_at_ms", true,
     "SELECT count(*) FROM task WHERE id = 'running' AND due_at_ms = updated_at_ms", "1"},
    {"UPDATE event SET type = 77 WHERE position = 2", "event.unreadable", false, NULL, NULL},
    {"UPDATE checkpoint SET task = 987654",
     "task.checkpoint_count task.checkpoint_bytes checkpoint.task", false, NULL, NULL},
    {"UPDATE log SET task = 987654", "task.log_bytes log.task", false, NULL, NULL},
    {"UPDATE late SET task = 987654", "late.task", false, NULL, NULL},
    {"UPDATE queue SET backoff = 77 WHERE name = 'd'", "queue.unreadable", false, NULL, NULL},
    {"UPDATE consumer SET cursor = 7000000", "consumer.cursor acknowledgement.position", true,
     "SELECT CASE WHEN c.cursor = h.position THEN 'head' ELSE 'other' END FROM consumer c, head h",
     "head"},
    {"UPDATE acknowledgement SET consumer = 987654", "acknowledgement.consumer", false, NULL, NULL},
    {"UPDATE consumer SET cursor = 5", "acknowledgement.position", true,
     "SELECT count(*) FROM acknowledgement", "0"},
    {"INSERT INTO continuation (key, kind, task, cursor, remaining, done) VALUES (500000, 77, 0, "
     "0, 0, 0)",
     "head.next_key continuation.unreadable", false, NULL, NULL},
    {"INSERT INTO continuation (key, kind, task, cursor, remaining, done) VALUES (500000, 1, "
     "987654, 0, 0, 0)",
     "head.next_key continuation.task", false, NULL, NULL},
    {"INSERT INTO quarantine (table_name, row_key, id, raw, reason, seen_at_ms) SELECT 'task', "
     "key, id, '', "
     "'was odd', 1 FROM task WHERE id = 'paused'",
     "quarantine.over", true, "SELECT count(*) FROM quarantine", "0"},
    {"INSERT INTO quarantine (table_name, row_key, id, raw, reason, seen_at_ms) VALUES "
     "('continuation', 5, NULL, "
     "'', 'odd', 1)",
     "quarantine", false, NULL, NULL},
    {"INSERT INTO import (digest, name, at_ms, task_count) VALUES ('odd', 'old.json', 1, 3)",
     "import.unreadable", false, NULL, NULL},
    {"INSERT INTO import (digest, name, at_ms, task_count) VALUES "
     "('0123456789abcdef0123456789abcdef', 'old.json', 1, -3)",
     "import.unreadable", false, NULL, NULL},
    {"INSERT INTO import (digest, name, at_ms, task_count) VALUES "
     "('0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0', 'old.json', 1, 3)",
     "import.unreadable", false, NULL, NULL},
    {"UPDATE definition SET kind = 9", "definition", false, NULL, NULL},
    {"UPDATE definition SET name = ''", "definition", false, NULL, NULL},
    {"UPDATE definition SET body = ''", "definition", false, NULL, NULL},
    {"UPDATE definition SET kind = 1", "definition", false, NULL, NULL},
    {"UPDATE definition SET generation = 0", "definition", false, NULL, NULL},
    {"UPDATE head SET generation = 0", "definition", false, NULL, NULL},
    {"UPDATE definition SET key = 500000", "head.next_key", true, NULL, NULL},
    {"UPDATE task SET epoch = 9223372036854775807 WHERE id = 'ready'", "task.unreadable", false, NULL, NULL},
    {"UPDATE task SET version = 9223372036854775807 WHERE id = 'ready'", "task.unreadable", false, NULL, NULL},
    {"UPDATE task SET log_bytes = 9223372036854775807 WHERE id = 'ready'", "task.unreadable task.log_bytes", true,
     "SELECT log_bytes FROM task WHERE id = 'ready'", "0"},
    {"DROP INDEX task_due", "schema.index", false, NULL, NULL},
    {"CREATE INDEX task_due ON task (due_at_ms, key) WHERE due_at_ms IS NOT NULL; DROP INDEX event_task",
     "schema.index", false, NULL, NULL},
    {"CREATE UNIQUE INDEX event_task ON event (task, sequence)", "", false, NULL, NULL},
};

/* By name: a number that a SQLite statement leaves the same on both stores. */
static void plant(struct lab *lab, const struct damage *damage)
{
    (void)lab_sql(lab, damage->sql);
    check(lab, false);
    if (strcmp(damage->found, found(lab)) != 0) {
        FAIL("%s: wanted %s, found %s (%s)", damage->sql, damage->found, found(lab),
             report.count > 0 ? report.texts[0] : "");
    }
    for (int i = 0; i < report.count; i++) {
        const char *bar = strchr(report.texts[i], '|');
        CHECK(bar != NULL);
        CHECK(bar > report.texts[i]); /* what is wrong */
        CHECK(bar[1] != '\0');        /* and what to do */
    }
    CHECK_EQ(0, report.done.repaired);
    CHECK_TEXT("", report.log);
}

static void mend(struct lab *lab, const struct damage *damage)
{
    check(lab, true);
    if (damage->mends) {
        CHECK(report.done.repaired > 0);
        CHECK(strstr(report.log, "fsck.repaired") != NULL);
        check(lab, false);
        if (report.count > 0) FAIL("%s: mended, and still %s", damage->sql, found(lab));
    }
    if (damage->look != NULL) CHECK_TEXT(damage->want, lab_sql(lab, damage->look));
    /* nothing that is only told was touched */
    check(lab, true);
    CHECK_EQ(0, report.done.repaired);
}

#define DAMAGE_TEST(name, from, to)                                       \
    TEST_EACH_STORE("fsck finds what is planted and names it: " name)     \
    {                                                                     \
        size_t end = (to) < COUNT_OF(damages) ? (to) : COUNT_OF(damages); \
        fill(lab);                                                        \
        save_all(lab);                                                    \
        for (size_t i = (from); i < end; i++) {                           \
            plant(lab, &damages[i]);                                      \
            mend(lab, &damages[i]);                                       \
            back_again(lab);                                              \
        }                                                                 \
    }

static const char *const tables[] = {
    "meta",       "head",         "queue",      "worker",          "task",       "payload",
    "dependency", "event",        "consumer",   "acknowledgement", "checkpoint", "log",
    "late",       "continuation", "quarantine", "tombstone",       "import",
    "definition"};

/* The rows beside themselves, in the same store. */
static void save_all(struct lab *lab)
{
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "CREATE TABLE kept_%s AS SELECT * FROM %s", tables[i],
                       tables[i]);
        (void)lab_sql(lab, text);
    }
}

static void back_again(struct lab *lab)
{
    static char text[8192];
    size_t len = (size_t)snprintf(text, sizeof text, "BEGIN;");
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "DELETE FROM %s; INSERT INTO %s SELECT * FROM kept_%s;", tables[i],
                                tables[i], tables[i]);
        CHECK(len < sizeof text);
    }
    (void)snprintf(text + len, sizeof text - len, "COMMIT");
    (void)lab_sql(lab, text);
}

DAMAGE_TEST("places and counts", 0, 10)
DAMAGE_TEST("fields that a state forbids, and more counts", 10, 20)
DAMAGE_TEST("what cannot be mended", 20, 32)
DAMAGE_TEST("what lies beside tasks", 32, 43)
DAMAGE_TEST("consumers, continuations, quarantine, imports, definitions", 43, 99)

TEST_EACH_STORE("fsck tells of a head that no step goes by, and --repair leaves it as it is and says so")
{
    static const char *const heads[] = {
        "UPDATE head SET position = 9223372036854775807", "UPDATE head SET next_key = 9223372036854775807",
        "UPDATE head SET generation = 9223372036854775807", "UPDATE head SET wall_offset_ms = 9223372036854775807",
        "UPDATE head SET now_ms = -1", "UPDATE head SET now_ms = 9223372036854775807"};
    fill(lab);
    save_all(lab);
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        (void)lab_sql(lab, heads[i]);
        check(lab, false);
        CHECK(strncmp(found(lab), "head.range", 10) == 0);
        CHECK(!report.repairable[0]);
        CHECK(strstr(report.texts[0], "restore") != NULL);
        back_again(lab);
        check(lab, false);
        CHECK_TEXT("", found(lab));
    }
}

TEST_SQLITE("fsck tells of a clock that is days ahead of the machine's")
{
    fill(lab);
    save_all(lab);
    (void)lab_sql(lab, "UPDATE head SET now_ms = now_ms + 86000000");
    check(lab, false);
    CHECK_TEXT("", found(lab));
    (void)lab_sql(lab, "UPDATE head SET now_ms = now_ms + 86400000");
    check(lab, false);
    CHECK_TEXT("head.now_ms", found(lab));
    CHECK(strstr(report.texts[0], "ahead of this machine's") != NULL);
    back_again(lab);
}

TEST_EACH_STORE("fsck tells of a table that is missing, and looks no further")
{
    fill(lab);
    (void)lab_sql(lab, "DROP TABLE late");
    check(lab, false);
    CHECK(strstr(found(lab), "schema.table") != NULL);
    for (int i = 0; i < report.count; i++) CHECK(strncmp(report.names[i], "schema.", 7) == 0);
    CHECK(!report.repairable[0]);
}

TEST_EACH_STORE("who was never told that what it waits for has ended is told by fsck --repair")
{
    fill(lab);
    /* as if the telling had been lost: the dependency completes behind the library's back */
    (void)lab_sql(
        lab,
        "UPDATE task SET state = 5, rank = NULL, progress = 100, finished_at_ms = 5, sequence = 2 "
        "WHERE id = 'ready'");
    check(lab, false);
    CHECK_TEXT("dependency.is_open", found(lab));
    check(lab, true);
    CHECK_EQ(1, report.done.repaired);
    lab_settle(lab, lab->pawl);
    CHECK_EQ(0, lab_get(lab, waiting).open_dependencies);
    struct pawl_page page = lab_list(lab, LIST(.is_ready = true));
    CHECK_TEXT("waiting", lab_ids(lab, &page));
    check(lab, false);
    CHECK_TEXT("", found(lab));
}

TEST_EACH_STORE("a task that damage had set aside is worked on again after fsck --repair")
{
    struct pawl_str queue = PAWL_STR("r");
    fill(lab);
    (void)lab_sql(lab, "UPDATE task SET open_dependencies = 4 WHERE id = 'ready'");
    struct pawl_claimed none =
        lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .queues = &queue, .queue_count = 1));
    CHECK_EQ(0, none.count); /* met, and set aside */
    check(lab, false);
    CHECK_TEXT("task.rank task.open_dependencies quarantine.over", found(lab));
    check(lab, true);
    check(lab, false);
    CHECK_TEXT("", found(lab));
    struct pawl_claimed claimed =
        lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .queues = &queue, .queue_count = 1));
    CHECK_EQ(1, claimed.count);
    CHECK_STR("ready", claimed.grants[0].fence.task_id);
}

TEST_EACH_STORE(
    "what is closed is no finding: of a task that depends on what had completed, of one that ended "
    "before what it depends on, as an import may bring it")
{
    struct pawl_str on_completed[] = {PAWL_STR("completed")};
    fill(lab);
    (void)lab_add(lab, NEW(.id = PAWL_STR("after"), .queue = PAWL_STR("r"),
                           .depends_on = on_completed, .depends_on_count = 1));
    (void)lab_sql(lab, "INSERT INTO dependency (task, number, on_key, is_open) SELECT c.key, 0, "
                       "p.key, 0 FROM task c, "
                       "task p WHERE c.id = 'completed' AND p.id = 'deferred'");
    check(lab, false);
    CHECK_TEXT("", found(lab));
}

/* As careful mode leaves it (transact.c). */
static void set_aside(struct lab *lab, const char *id)
{
    (void)lab_sql(
        lab,
        pawl_arena_c_text(
            lab->keep,
            pawl_arena_format(lab->keep,
                              "UPDATE task SET rank = NULL, due_at_ms = NULL WHERE id = '%s'; "
                              "INSERT INTO quarantine (table_name, row_key, id, raw, reason, "
                              "seen_at_ms) SELECT 'task', key, NULL, '{}', '%s', 1 FROM task WHERE "
                              "id = '%s'",
                              id, PAWL_SET_ASIDE_DEADLY, id)));
}

static enum pawl_code let_out(struct lab *lab, const char *id, bool repair)
{
    struct pawl_fsck ask = PAWL_FSCK_INIT;
    ask.store = pawl_str_of(lab->target);
    ask.repair = repair;
    ask.let_out = pawl_str_of(id);
    ask.env = &lab->world.env;
    return pawl_fsck(&ask, &report.done, &lab->err);
}

TEST_EACH_STORE("E11 a task that was set aside because it kills stays so through repairs, until a "
                "person names it")
{
    static const char armed[] =
        "SELECT count(*) FROM task WHERE (id = 'running' AND due_at_ms IS NOT NULL) OR (id = "
        "'ready' AND rank IS NOT NULL)";
    fill(lab);
    set_aside(lab, "running");
    set_aside(lab, "ready");
    check(lab, true);
    CHECK_TEXT("quarantine.deadly quarantine.deadly", found(lab));
    CHECK(!report.repairable[0]);
    CHECK_EQ(0, report.done.repaired);
    CHECK_TEXT("0", lab_sql(lab, armed));
    /* what else is wrong with it is mended, and that does not arm it */
    (void)lab_sql(lab, "UPDATE task SET log_bytes = 0 WHERE id = 'running'");
    check(lab, true);
    CHECK_EQ(1, report.done.repaired);
    CHECK_TEXT("0", lab_sql(lab, armed));

    CHECK_REFUSED(PAWL_INVALID, let_out(lab, "running", false));
    CHECK_REFUSED(PAWL_NOT_FOUND, let_out(lab, "paused", true));
    CHECK_TEXT("0", lab_sql(lab, armed));
    CHECK_OK(let_out(lab, "running", true), &lab->err);
    CHECK_TEXT("1", lab_sql(lab, armed));
    check(lab, false);
    CHECK_TEXT("quarantine.deadly", found(lab));
    CHECK_OK(let_out(lab, "ready", true), &lab->err);
    CHECK_TEXT("2", lab_sql(lab, armed));
    check(lab, false);
    CHECK_TEXT("", found(lab));
}

TEST_SQLITE("fsck finds a damaged page of the file, and says to restore")
{
    fill(lab);
    pawl_close(lab->pawl);
    lab->pawl = NULL;
    const char *page = lab_sql(lab, "SELECT rootpage FROM sqlite_master WHERE name = 'event_task'");
    FILE *file = fopen(lab->target, "r+e");
    CHECK(file != NULL);
    CHECK_EQ(0, fseek(file, (atol(page) - 1) * 4096 + 2000, SEEK_SET));
    for (int i = 0; i < 2000; i++) CHECK(fputc(0x5A, file) != EOF);
    CHECK_EQ(0, fclose(file));
    enum pawl_code code = try_check(lab, false);
    CHECK(code == PAWL_OK || code == PAWL_CORRUPT); /* the rows behind it may not be readable */
    CHECK(report.count >= 1);
    CHECK_TEXT("file", report.names[0]);
    CHECK(!report.repairable[0]);
    CHECK(strstr(report.texts[0], "pawl restore") != NULL);
}

TEST_EACH_STORE("fsck of no store is NOT_FOUND, and a wrong call MISUSE")
{
    struct pawl_fsck ask = PAWL_FSCK_INIT;
    CHECK_CODE(PAWL_NOT_FOUND, try_check(lab, false));
    CHECK_CODE(PAWL_NOT_FOUND, try_check(lab, true));
    CHECK_REFUSED(PAWL_INVALID, pawl_fsck(&ask, NULL, &lab->err));
    ask.size = 1;
    CHECK_REFUSED(PAWL_MISUSE, pawl_fsck(&ask, NULL, &lab->err));
    CHECK_REFUSED(PAWL_MISUSE, pawl_fsck(NULL, NULL, &lab->err));
}

TEST_EACH_STORE("a store of many pages is read in bounded transactions, while it is in use")
{
    enum { TASKS = 3000 };
    lab_open_real(lab);
    static struct pawl_task_new asks[PAWL_BATCH_MAX];
    for (size_t i = 0; i < PAWL_BATCH_MAX; i++) asks[i] = *NEW(.input = PAWL_STR("[1,2,3]"));
    for (int i = 0; i < TASKS; i += PAWL_BATCH_MAX) (void)lab_add_batch(lab, asks, PAWL_BATCH_MAX);
    (void)lab_sql(lab, "UPDATE task SET open_dependencies = 1, rank = NULL");
    struct pawl_fsck ask = PAWL_FSCK_INIT;
    memset(&report, 0, sizeof report);
    ask.store = pawl_str_of(lab->target);
    ask.repair = true;
    ask.self = &report;
    ask.found = hear;
    CHECK_OK(pawl_fsck(&ask, &report.done, &lab->err), &lab->err);
    CHECK_EQ(2 * TASKS, report.done.repaired);
    CHECK_TEXT(
        "0",
        lab_sql(lab, "SELECT count(*) FROM task WHERE rank IS NULL OR open_dependencies <> 0"));
    struct pawl_claimed claimed = lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .max = 5));
    CHECK_EQ(5, claimed.count);
    check(lab, false);
    CHECK_TEXT("", found(lab));
}

/* A clock that goes on by 10 ms whenever somebody looks at it. */
static int64_t hurrying_ms(void *self)
{
    return *(int64_t *)self += 10;
}

static int64_t wall_ms(void *self)
{
    (void)self;
    return INT64_C(1800000000000);
}

static uint64_t no_chance(void *self)
{
    (void)self;
    return 7;
}

TEST_SQLITE(
    "however slow the rows come, a read transaction of fsck ends in time, and none is left out")
{
    int64_t boot_ms = 5000;
    struct pawl_env env = {.self = &boot_ms,
                           .wall_ms = wall_ms,
                           .boot_ms = hurrying_ms,
                           .random = no_chance,
                           .boot_id = PAWL_STR("boot-1"),
                           .host_id = PAWL_STR("host-1")};
    struct pawl_fsck ask = PAWL_FSCK_INIT;
    struct pawl_fsck_done slow;
    fill(lab);
    (void)lab_sql(lab, "UPDATE task SET rank = NULL WHERE id = 'ready'");
    check(lab, false);
    ask.store = pawl_str_of(lab->target);
    ask.env = &env;
    CHECK_OK(pawl_fsck(&ask, &slow, &lab->err), &lab->err);
    CHECK_EQ(1, slow.found);
    CHECK_EQ(report.done.rows, slow.rows);
    CHECK(slow.page_ms_max > 50);
    CHECK(slow.page_ms_max <= 100);
}

TEST_MAIN()
