/* pawl import on both stores: what becomes of a file, and that it is all of it or nothing, wherever
 * it is cut off. What the command line adds is in tests/cli/import.sh. */
#include "stores.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/number.h"
#include "core/limits.h"
#include "engine/engine.h"
#include "import/import.h"
#include "store/handle.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_DIED = 9 };

/* ---- Files ----------------------------------------------------------------------------------- */

static const char *path_of(struct lab *lab, const char *name)
{
    return pawl_arena_format(lab->keep, "%s/%s", lab->folder, name).ptr;
}

static const char *write_file(struct lab *lab, const char *name, const char *text)
{
    const char *path = path_of(lab, name);
    FILE *file = fopen(path, "we");
    CHECK(file != NULL);
    CHECK_EQ(strlen(text), fwrite(text, 1, strlen(text), file));
    CHECK_EQ(0, fclose(file));
    return path;
}

static const char *write_sqlite(struct lab *lab, const char *name, const char *sql)
{
    const char *path = path_of(lab, name);
    sqlite3 *old;
    CHECK_EQ(SQLITE_OK, sqlite3_open(path, &old));
    char *complaint = NULL;
    int result = sqlite3_exec(old, sql, NULL, NULL, &complaint);
    if (result != SQLITE_OK) printf("%s\n", complaint);
    CHECK_EQ(SQLITE_OK, result);
    CHECK_EQ(SQLITE_OK, sqlite3_close(old));
    return path;
}

/* The newest schema of the older task manager. */
#define OLD_SCHEMA                                                                               \
    "CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT NOT NULL, goal TEXT NOT NULL, "         \
    "priority TEXT NOT NULL, status TEXT NOT NULL, progress REAL NOT NULL, retries INTEGER NOT " \
    "NULL, "                                                                                     \
    "max_retries INTEGER NOT NULL, depends_on TEXT NOT NULL, created_at TEXT NOT NULL, "         \
    "updated_at TEXT NOT NULL, result TEXT, error TEXT, metadata TEXT NOT NULL, "                \
    "checkpoints TEXT NOT NULL, history TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1, "     \
    "owner_id TEXT, lease_expires_at TEXT, lease_epoch INTEGER NOT NULL DEFAULT 0, "             \
    "owner_pid INTEGER, remote_execution_id TEXT, next_retry_at TEXT);"                          \
    "CREATE TABLE task_outbox_events (event_id TEXT PRIMARY KEY, task_id TEXT NOT NULL, "        \
    "sequence INTEGER NOT NULL, event_type TEXT NOT NULL, payload TEXT NOT NULL, "               \
    "created_at TEXT NOT NULL, delivered_at TEXT, UNIQUE (task_id, sequence), "                  \
    "FOREIGN KEY (task_id) REFERENCES tasks(id)); PRAGMA user_version = 3;"

#define OLD_TASK(id, status, more)                                                           \
    "INSERT INTO tasks (id, title, goal, priority, status, progress, retries, max_retries, " \
    "depends_on, created_at, updated_at, metadata, checkpoints, history) VALUES ('" id       \
    "', 'T', 'G', "                                                                          \
    "'HIGH', '" status "', 10.0, 0, 3, '[]', '2026-01-01T00:00:00+00:00', "                  \
    "'2026-01-02T00:00:00+00:00', '{}', '[]', '[]');" more

#define OLD_EVENT(id, sequence, type, at, status)                                                  \
    "INSERT INTO task_outbox_events VALUES ('evt-" id sequence "', '" id "', " sequence ", '" type \
    "', '{\"lease_epoch\":1,\"progress\":0.0,\"retries\":0,\"status\":\"" status "\"}', '" at      \
    "', NULL);"

/* ---- Importing ------------------------------------------------------------------------------- */

static enum pawl_code import(struct lab *lab, const char *path)
{
    struct pawl_importer importer;
    enum pawl_code code = pawl_importer_open(&importer, path, &lab->err);
    if (code == PAWL_OK) code = pawl_importer_run(&importer, lab->pawl, false, &lab->err);
    pawl_importer_close(&importer);
    return code;
}

static void import_json(struct lab *lab, const char *text)
{
    lab_open(lab);
    CHECK_OK(import(lab, write_file(lab, "tasks.json", text)), &lab->err);
}

/* All remarks of reading a file, as "task: text" lines; in keep. */
static const char *remarks_of(struct lab *lab, const char *path, bool refused)
{
    struct pawl_importer importer;
    struct pawl_str all = PAWL_STR("");
    enum pawl_code code = pawl_importer_open(&importer, path, &lab->err);
    CHECK(code == PAWL_OK || code == PAWL_INVALID);
    const struct pawl_import_remarks *list =
        refused ? &importer.report.refused : &importer.report.changed;
    for (const struct pawl_import_remark *at = list->first; at != NULL; at = at->next) {
        all = pawl_arena_format(lab->keep, "%.*s%.*s: %.*s\n", PAWL_STR_ARG(all),
                                PAWL_STR_ARG(at->task), PAWL_STR_ARG(at->text));
    }
    pawl_importer_close(&importer);
    return pawl_arena_c_text(lab->keep, all);
}

#define ID(text) PAWL_STR(text)

/* The code, and a part of the sentence. */
#define CHECK_SAYS(want, part, call)                                                  \
    do {                                                                              \
        CHECK_REFUSED(want, call);                                                    \
        if (strstr(lab->err.text, (part)) == NULL) CHECK_TEXT((part), lab->err.text); \
    } while (0)

/* ---- Fields ---------------------------------------------------------------------------------- */

TEST_EACH_STORE("T-002 an import reads an object with the 23 keys")
{
    import_json(
        lab,
        "{\"t1\":{\"id\":\"t1\",\"title\":\" One \",\"goal\":\"do\",\"priority\":\" high \","
        "\"status\":\"COMPLETED\",\"progress\":40.5,\"retries\":1,\"max_retries\":2,\"depends_on\":"
        "[],"
        "\"checkpoints\":[{\"checkpoint_id\":\"cp\",\"task_id\":\"t1\",\"step_index\":4,\"state_"
        "data\":"
        "{\"a\": "
        "1.50},\"timestamp\":\"2026-01-01T00:00:01.123999+00:00\",\"metadata\":{},\"version\":1}],"
        "\"history\":[{\"timestamp\":\"2026-01-01T00:00:02+00:00\",\"action\":\"paused\","
        "\"detail\":\"lunch\","
        "\"duration_ms\":0.0,\"success\":true}],\"created_at\":\"2026-01-01T00:00:00.999999+00:"
        "00\","
        "\"updated_at\":\"2026-01-01T00:00:03+00:00\",\"result\":\"all good\",\"error\":null,"
        "\"metadata\":{\"correlation_id\":\"c-1\",\"x\":[1.0,2]},\"version\":7,\"owner_id\":\"w\","
        "\"lease_expires_at\":null,\"lease_epoch\":3,\"owner_pid\":12,\"remote_execution_id\":null,"
        "\"next_retry_at\":null}}");
    struct pawl_task task = lab_get(lab, ID("t1"));
    CHECK_EQ(PAWL_TASK_COMPLETED, task.state);
    CHECK_STR("One", task.title);
    CHECK_EQ(30, task.priority);
    CHECK(task.progress == 100.0);
    CHECK_EQ(1, task.retries);
    CHECK_EQ(2, task.max_retries);
    CHECK_EQ(7, task.version);
    CHECK_EQ(3, task.epoch);
    CHECK_EQ(INT64_C(1767225600999), task.created_at_ms);
    CHECK_EQ(INT64_C(1767225603000), task.updated_at_ms);
    CHECK_STR("c-1", task.correlation_id);
    CHECK_TEXT("all good",
               lab_sql(lab, "SELECT replace(body, '\"', '') FROM payload WHERE key % 16 = 1"));
    CHECK_TEXT("{\"correlation_id\":\"c-1\",\"x\":[1.0,2]}",
               lab_sql(lab, "SELECT body FROM payload WHERE key % 16 = 3"));
    CHECK_TEXT("{\"a\": 1.50}", lab_sql(lab, "SELECT state FROM checkpoint"));
    CHECK_TEXT("1767225601123", lab_sql(lab, "SELECT at_ms FROM checkpoint"));
    struct pawl_events history = lab_history(lab, ID("t1"));
    CHECK_EQ(2, history.count);
    CHECK_STR("paused", history.events[0].action);
    CHECK_STR("lunch", history.events[0].detail);
    CHECK_EQ(INT64_C(1767225602000), history.events[0].at_ms);
    CHECK_STR("task_created", history.events[1].type);
    CHECK_STR("imported", history.events[1].action);
    CHECK(history.events[1].is_imported);
    CHECK_EQ(2, history.events[1].sequence);
}

TEST_EACH_STORE(
    "T-002 a task with only an id is imported with the defaults, and keys nobody knows are named")
{
    const char *path =
        write_file(lab, "tasks.json",
                   "{\"a\":{\"id\":\"t1\",\"colour\":1},\"b\":{\"id\":\"t2\",\"colour\":2}}");
    struct pawl_importer importer;
    lab_open(lab);
    CHECK_OK(pawl_importer_open(&importer, path, &lab->err), &lab->err);
    void **slot = pawl_map_at(&importer.report.ignored_keys, 0, 0, PAWL_STR("task.colour"));
    CHECK(slot != NULL && *(int64_t *)*slot == 2);
    CHECK_OK(pawl_importer_run(&importer, lab->pawl, false, &lab->err), &lab->err);
    pawl_importer_close(&importer);
    struct pawl_task task = lab_get(lab, ID("t1"));
    CHECK_EQ(PAWL_TASK_PENDING, task.state);
    CHECK_EQ(20, task.priority);
    CHECK_EQ(3, task.max_retries);
    CHECK_EQ(1, task.version);
    CHECK_EQ(0, task.epoch);
    CHECK_STR("", task.title);
    CHECK_EQ(0, task.depends_on_count);
    CHECK(task.created_at_ms > 0 && task.created_at_ms == task.updated_at_ms);
}

TEST_EACH_STORE("ids that differ only in their 128th byte are held by two executions at once")
{
    char text[1024];
    char id[2][PAWL_TASK_ID_STORED_BYTES_MAX + 1];
    struct pawl_execution *executions[2];
    for (size_t i = 0; i < PAWL_COUNT_OF(id); i++) {
        memset(id[i], '.', PAWL_TASK_ID_STORED_BYTES_MAX);
        id[i][0] = 'a';
        id[i][PAWL_TASK_ID_STORED_BYTES_MAX - 1] = (char)('1' + i);
        id[i][PAWL_TASK_ID_STORED_BYTES_MAX] = '\0';
    }
    (void)snprintf(text, sizeof text,
                   "{\"1\":{\"id\":\"%s\",\"status\":\"QUEUED\"},"
                   "\"2\":{\"id\":\"%s\",\"status\":\"QUEUED\"}}",
                   id[0], id[1]);
    import_json(lab, text);
    for (size_t i = 0; i < PAWL_COUNT_OF(id); i++) {
        struct pawl_fence fence = lab_start(lab, pawl_str_of(id[i]), "w");
        CHECK_OK(pawl_execution_begin(lab->pawl, &fence, &executions[i], &lab->err), &lab->err);
    }
    for (size_t i = 0; i < PAWL_COUNT_OF(id); i++) pawl_execution_close(executions[i]);
}

TEST_EACH_STORE(
    "T-105 D-15 D-16 D-48 junk, offset-less and Z timestamps have their documented values")
{
    const char *text =
        "{\"1\":{\"id\":\"z\",\"status\":\"QUEUED\",\"created_at\":\"2026-01-01T00:00:00Z\"},"
        "\"2\":{\"id\":\"none\",\"status\":\"QUEUED\",\"created_at\":\"2026-01-01T00:00:00\"},"
        "\"3\":{\"id\":\"offset\",\"status\":\"QUEUED\",\"created_at\":\"2026-01-01T02:00:00."
        "000999+02:00\"},"
        "\"4\":{\"id\":\"junk\",\"status\":\"QUEUED\",\"created_at\":\"yesterday\",\"next_retry_"
        "at\":\"soon\"},"
        "\"5\":{\"id\":\"runs\",\"status\":\"RUNNING\",\"lease_expires_at\":\"not yet\"},"
        "\"6\":{\"id\":\"digits\",\"status\":\"QUEUED\",\"created_at\":\"12\"},"
        "\"7\":{\"id\":\"never\",\"status\":\"QUEUED\",\"next_retry_at\":\"9999-12-31T00:00:00Z\"},"
        "\"8\":{\"id\":\"late\",\"status\":\"QUEUED\",\"next_retry_at\":\"9997-12-31T00:00:00Z\"}}";
    import_json(lab, text);
    CHECK_EQ(INT64_C(1767225600000), lab_get(lab, ID("z")).created_at_ms);
    CHECK_EQ(INT64_C(1767225600000), lab_get(lab, ID("none")).created_at_ms);
    CHECK_EQ(INT64_C(1767225600000), lab_get(lab, ID("offset")).created_at_ms);
    CHECK(lab_get(lab, ID("junk")).created_at_ms > INT64_C(1767225600000));
    CHECK(lab_get(lab, ID("digits")).created_at_ms > INT64_C(1767225600000));
    CHECK_EQ(0, lab_get(lab, ID("junk")).next_retry_at_ms);
    CHECK_EQ(0, lab_get(lab, ID("never")).next_retry_at_ms);
    CHECK(lab_get(lab, ID("late")).next_retry_at_ms > 0);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, ID("runs")).state);
    CHECK(lab_start(lab, ID("runs"), "w").epoch > 1); /* and can be started */
    CHECK_TEXT("junk: created_at: \"yesterday\" is no instant: the time of import\n"
               "junk: next_retry_at: \"soon\" is no instant: none\n"
               "runs: lease_expires_at: \"not yet\" is no instant: its lease is over\n"
               "digits: created_at: \"12\" is no instant: the time of import\n"
               "never: next_retry_at: is beyond the year 9998: none\n",
               remarks_of(lab, path_of(lab, "tasks.json"), false));
}

TEST_EACH_STORE("D-34 D-49 what was RUNNING is queued again under a new epoch with a retry "
                "charged; what ran elsewhere waits "
                "for a person")
{
    import_json(lab, "{\"1\":{\"id\":\"here\",\"status\":\"RUNNING\",\"lease_epoch\":5,\"retries\":"
                     "2,\"owner_id\":\"w\"},"
                     "\"2\":{\"id\":\"there\",\"status\":\"RUNNING\",\"lease_epoch\":4,\"remote_"
                     "execution_id\":\"x-4\","
                     "\"metadata\":{\"execution_mode\":\"remote\"}}}");
    struct pawl_task here = lab_get(lab, ID("here"));
    CHECK_EQ(PAWL_TASK_QUEUED, here.state);
    CHECK_EQ(6, here.epoch);
    CHECK_EQ(3, here.retries);
    CHECK_TEXT("created recovery_pending queued", lab_told(lab, ID("here")));
    struct pawl_task there = lab_get(lab, ID("there"));
    CHECK_EQ(PAWL_TASK_RECOVERY_PENDING, there.state);
    CHECK_EQ(4, there.epoch);
    CHECK_EQ(0, there.retries);
    CHECK(strstr(lab_sql(lab, "SELECT body FROM payload WHERE key % 16 = 3"),
                 "\"remote_execution_id\":\"x-4\"") != NULL);
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .max = 9)).count);
    CHECK_OK(pawl_task_resolve(lab->pawl, ID("there"), PAWL_TASK_QUEUED, NO_TEXT, NULL, &lab->err),
             &lab->err);
}

TEST_EACH_STORE(
    "D-06 what was RUNNING on its last try is a dead letter, and whoever waits for it is blocked")
{
    import_json(lab,
                "{\"1\":{\"id\":\"last\",\"status\":\"RUNNING\",\"lease_epoch\":5,\"retries\":3,"
                "\"max_retries\":3,\"owner_id\":\"w\"},"
                "\"2\":{\"id\":\"only\",\"status\":\"RUNNING\",\"max_retries\":0},"
                "\"3\":{\"id\":\"child\",\"status\":\"QUEUED\",\"depends_on\":[\"last\"]}}");
    struct pawl_task last = lab_get(lab, ID("last"));
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, last.state);
    CHECK_EQ(6, last.epoch);
    CHECK_EQ(4, last.retries);
    CHECK_STR("worker w vanished: its lease ended without an outcome (4 of 4 tries)", last.error);
    CHECK_TEXT("created recovery_pending dead_lettered", lab_told(lab, ID("last")));
    struct pawl_task only = lab_get(lab, ID("only"));
    CHECK_EQ(PAWL_TASK_DEAD_LETTER, only.state);
    CHECK_STR("worker vanished: its lease ended without an outcome (1 of 1 tries)", only.error);
    CHECK_STR("last", lab_get(lab, ID("child")).blocked_by);
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .max = 9)).count);
    lab_settle(lab, lab->pawl);
    CHECK_OK(pawl_task_resume(lab->pawl, ID("last"), NULL, NULL, &lab->err), &lab->err);
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .max = 9)).count);
}

TEST_EACH_STORE(
    "D-34 the outbox keeps its numbers, new events follow them, and history lends its sentences")
{
    const char *path = write_sqlite(
        lab, "tasks.sqlite3",
        OLD_SCHEMA OLD_TASK("t1", "PAUSED", "")
            OLD_EVENT("t1", "1", "task_created", "2026-01-01T00:00:00+00:00", "PENDING")
                OLD_EVENT("t1", "2", "task_queued", "2026-01-01T00:00:01+00:00", "QUEUED")
                    OLD_EVENT("t1", "3", "task_paused", "2026-01-01T00:00:02.5+00:00", "PAUSED")
                        OLD_EVENT("gone", "1", "task_created", "2026-01-01T00:00:00+00:00",
                                  "PENDING") "UPDATE tasks SET history = "
                                             "'[{\"timestamp\":\"2026-01-01T00:00:02+00:00\","
                                             "\"action\":\"paused\",\"detail\":"
                                             "\"lunch\"},{\"timestamp\":\"2026-01-01T00:00:09+00:"
                                             "00\",\"action\":\"resumed\",\"detail\":\"alone\"}]'");
    lab_open(lab);
    CHECK_OK(import(lab, path), &lab->err);
    struct pawl_events history = lab_history(lab, ID("t1"));
    CHECK_EQ(5, history.count);
    CHECK_STR("task_queued", history.events[1].type);
    CHECK_EQ(PAWL_TASK_QUEUED, history.events[1].state);
    CHECK_EQ(1, history.events[1].epoch);
    CHECK_STR("lunch", history.events[2].detail);
    CHECK_EQ(3, history.events[2].sequence);
    CHECK_STR("alone", history.events[3].detail);
    CHECK_STR("imported", history.events[4].action);
    CHECK_OK(pawl_task_resume(lab->pawl, ID("t1"), NULL, NULL, &lab->err), &lab->err);
    CHECK_EQ(6, lab_last(lab, ID("t1")).sequence);
    CHECK_TEXT("task_outbox_events: 1 rows are about tasks that are not there: left out\n",
               remarks_of(lab, path, false));
}

TEST_EACH_STORE("D-36 dependencies hold across the file whatever its order, and a dead one blocks")
{
    import_json(lab,
                "{\"1\":{\"id\":\"child\",\"status\":\"QUEUED\",\"depends_on\":[\"parent\","
                "\"parent\",\"done\"]},"
                "\"2\":{\"id\":\"parent\",\"status\":\"QUEUED\"},"
                "\"3\":{\"id\":\"done\",\"status\":\"COMPLETED\"},"
                "\"4\":{\"id\":\"stuck\",\"status\":\"QUEUED\",\"depends_on\":[\"dead\"]},"
                "\"5\":{\"id\":\"dead\",\"status\":\"DEAD_LETTER\",\"depends_on\":[\"parent\"]},"
                "\"6\":{\"id\":\"waits\",\"status\":\"QUEUED\",\"depends_on\":[\"not-here\"]}}");
    struct pawl_task child = lab_get(lab, ID("child"));
    CHECK_EQ(2, child.depends_on_count);
    CHECK_EQ(1, child.open_dependencies);
    CHECK_STR("dead", lab_get(lab, ID("stuck")).blocked_by);
    struct pawl_claimed claimed = lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .max = 9));
    CHECK_EQ(1, claimed.count);
    /* a dead letter waits too, and is told while it is dead */
    CHECK_OK(pawl_task_complete(lab->pawl, ID("parent"), NO_TEXT,
                                CHANGE(.fence = &claimed.grants[0].fence), &lab->err),
             &lab->err);
    CHECK_OK(pawl_task_resume(lab->pawl, ID("dead"), NULL, NULL, &lab->err), &lab->err);
    (void)lab_add(lab, NEW(.id = PAWL_STR("not-here"), .priority = 1));
    lab_settle(lab, lab->pawl);
    claimed = lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .max = 9));
    CHECK_EQ(3, claimed.count); /* child, dead, not-here */
}

/* A handle with retention, which has come past all that has ended: something of long ago. */
static void open_retaining(struct lab *lab)
{
    enum { RETAIN_MS = 1000 };
    struct pawl_options options = lab_options(lab);
    options.retain_ms = RETAIN_MS;
    lab_open(lab);
    pawl_close(lab->pawl);
    lab->pawl = lab_handle(lab, &options);
    struct pawl_str id = lab_add(lab, NEW());
    CHECK_OK(pawl_task_cancel(lab->pawl, id, false, NULL, &lab->err), &lab->err);
    lab_pass(lab, RETAIN_MS);
    lab_settle(lab, lab->pawl);
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM task"));
    id = lab_add(lab, NEW());
    CHECK_OK(pawl_task_cancel(lab->pawl, id, false, NULL, &lab->err), &lab->err);
    lab_settle(lab, lab->pawl);
}

static const char old_task[] =
    "{\"1\":{\"id\":\"old\",\"status\":\"COMPLETED\",\"updated_at\":\"2001-01-01T00:00:00Z\"}}";

TEST_EACH_STORE("D-61 what a dead letter waits for stays, since it may be resumed")
{
    struct pawl_gc_done done;
    struct pawl_gc ask = {.size = sizeof ask};
    import_json(lab, "{\"1\":{\"id\":\"on\",\"status\":\"CANCELLED\"},\"2\":{\"id\":\"dead\","
                     "\"status\":\"DEAD_LETTER\",\"depends_on\":[\"on\"]}}");
    ask.states = 1u << PAWL_TASK_CANCELLED;
    CHECK_OK(pawl_gc(lab->pawl, &ask, &done, &lab->err), &lab->err);
    CHECK_EQ(1, done.waiting);
    CHECK_EQ(0, done.removed);
}

TEST_EACH_STORE("a task with as many tries as are counted is given out and fails as often as one likes")
{
    struct pawl_task task;
    import_json(lab, "{\"1\":{\"id\":\"weary\",\"status\":\"QUEUED\",\"retries\":1073741824,\"max_retries\":3}}");
    for (int i = 0; i < 3; i++) {
        struct pawl_grant grant;
        struct pawl_claim claim = PAWL_CLAIM_INIT;
        claim.worker_id = ID("w");
        CHECK_OK(pawl_task_start(lab->pawl, ID("weary"), &claim, lab->keep, &grant, &lab->err), &lab->err);
        struct pawl_change change = PAWL_CHANGE_INIT;
        change.fence = &grant.fence;
        CHECK_OK(pawl_task_fail(lab->pawl, ID("weary"), NULL, &change, &lab->err), &lab->err);
        CHECK_OK(pawl_task_get(lab->pawl, ID("weary"), false, lab->keep, &task, &lab->err), &lab->err);
        CHECK_EQ(PAWL_TASK_DEAD_LETTER, task.state);
        CHECK_EQ(1073741824, task.retries);
        struct pawl_resume resume = PAWL_RESUME_INIT;
        resume.keep_retries = true;
        CHECK_OK(pawl_task_resume(lab->pawl, ID("weary"), &resume, NULL, &lab->err), &lab->err);
    }
}

TEST_SQLITE("D-61 imported tasks that ended long ago are removed by retention at once")
{
    struct pawl_task task;
    open_retaining(lab);
    CHECK_OK(import(lab, write_file(lab, "tasks.json", old_task)), &lab->err);
    lab_settle(lab, lab->pawl);
    CHECK_REFUSED(PAWL_NOT_FOUND,
                  pawl_task_get(lab->pawl, ID("old"), false, lab->keep, &task, &lab->err));
}

TEST_SQLITE("D-61 what another process imports and ended long ago is removed within an hour")
{
    struct pawl_task task;
    open_retaining(lab);
    struct pawl *own = lab->pawl;
    struct pawl_options options = lab_options(lab);
    lab->pawl = lab_handle(lab, &options);
    CHECK_OK(import(lab, write_file(lab, "tasks.json", old_task)), &lab->err);
    pawl_close(lab->pawl);
    lab->pawl = own;
    (void)lab_add(lab, NEW());
    lab_pass(lab, PAWL_RETAINED_PASS_MS);
    lab_settle(lab, lab->pawl);
    CHECK_REFUSED(PAWL_NOT_FOUND,
                  pawl_task_get(lab->pawl, ID("old"), false, lab->keep, &task, &lab->err));
}

TEST_EACH_STORE("what has waited longer in the older store comes first")
{
    import_json(
        lab,
        "{\"1\":{\"id\":\"young\",\"status\":\"QUEUED\",\"created_at\":\"2026-01-02T00:00:00Z\"},"
        "\"2\":{\"id\":\"old\",\"status\":\"QUEUED\",\"created_at\":\"2026-01-01T00:00:00Z\"}}");
    struct pawl_page page = lab_list(lab, LIST(.is_ready = true));
    CHECK_TEXT("old young", lab_ids(lab, &page));
}

/* ---- Files that are large, or change ---- */

TEST_SQLITE("400 000 tiny tasks in JSON are read")
{
    enum { TASKS = 400000 };
    char path[LAB_PATH_BYTES_MAX + 16];
    (void)snprintf(path, sizeof path, "%s/many.json", lab->folder);
    FILE *file = fopen(path, "we");
    CHECK(file != NULL);
    for (int i = 0; i < TASKS; i++)
        (void)fprintf(file, "%s\"%d\":{\"id\":\"t%d\"}", i == 0 ? "{" : ",", i, i);
    (void)fputc('}', file);
    CHECK_EQ(0, fclose(file));
    struct pawl_importer importer;
    CHECK_OK(pawl_importer_open(&importer, path, &lab->err), &lab->err);
    CHECK_EQ(TASKS, importer.report.task_count);
    CHECK_EQ(TASKS, importer.order.count);
    pawl_importer_close(&importer);
}

TEST("an import has at most PAWL_IMPORT_TASKS_MAX tasks, and says so")
{
    struct pawl_import_order order;
    struct pawl_arena *arena;
    struct pawl_error err = {0};
    CHECK_OK(pawl_arena_open(&arena, PAWL_IMPORT_KEPT_BYTES_MAX), &err);
    CHECK_CODE(PAWL_TOO_LARGE,
               pawl_import_order_init(&order, PAWL_IMPORT_TASKS_MAX + 1, arena, &err));
    CHECK_TEXT("4000001 tasks; at most 4000000 of one file", err.text);
    pawl_arena_close(arena);
}

TEST_SQLITE("a record that is larger than the limit is named")
{
    enum { LINE = 1024 * 1024 };
    const char *path = write_file(lab, "tasks.json", "{\"t\":{\"id\":\"t\",\"goal\":\"\\n");
    FILE *file = fopen(path, "ae");
    struct pawl_str line = lab_text(lab, LINE, 'g');
    CHECK(file != NULL);
    for (int i = 0; i < PAWL_IMPORT_RECORD_BYTES_MAX / LINE; i++)
        CHECK_EQ(1, fwrite(line.ptr, LINE, 1, file));
    CHECK(fputs("\"}}", file) >= 0);
    CHECK_EQ(0, fclose(file));
    lab_open(lab);
    CHECK_SAYS(PAWL_TOO_LARGE, "tasks.json: the record t takes more than 64 MiB",
               import(lab, path));
}

/* Between the two readings somebody cuts the file short. */
static void check_cut(struct lab *lab, const char *path)
{
    struct pawl_importer importer;
    CHECK_OK(pawl_importer_open(&importer, path, &lab->err), &lab->err);
    CHECK_EQ(0, truncate(path, 100));
    CHECK_SAYS(PAWL_CONFLICT, "was changed while it was read",
               pawl_importer_run(&importer, lab->pawl, false, &lab->err));
    pawl_importer_close(&importer);
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM task"));
}

TEST_EACH_STORE("a file that is cut short while it is read is a conflict, and harms nobody")
{
    struct pawl_str goal = lab_text(lab, 60 * 1000, 'g');
    struct pawl_str text = pawl_arena_format(
        lab->keep, "{\"1\":{\"id\":\"a\",\"goal\":\"%.*s\"},\"2\":{\"id\":\"b\"}}",
        PAWL_STR_ARG(goal));
    lab_open(lab);
    check_cut(lab, write_file(lab, "tasks.json", text.ptr));
    const char *more = pawl_arena_format(lab->keep, "%s UPDATE tasks SET goal = '%.*s'",
                                         OLD_SCHEMA OLD_TASK("a", "QUEUED", ""), PAWL_STR_ARG(goal))
                           .ptr;
    check_cut(lab, write_sqlite(lab, "tasks.sqlite3", more));
}

/* ---- Refusals -------------------------------------------------------------------------------- */

TEST_EACH_STORE(
    "T-029 D-34 every record that cannot be read is named with its reason, and nothing is imported")
{
    const char *path =
        write_file(lab, "tasks.json",
                   "{\"1\":{\"id\":\"good\"},\"2\":{\"id\":\"s\",\"status\":\"LOST\"},\"nameless\":"
                   "{},\"4\":{\"id\":\"a b\"},"
                   "\"5\":{\"id\":\"p\",\"progress\":\"half\",\"retries\":-1},"
                   "\"5a\":{\"id\":\"q\",\"retries\":1073741825,\"version\":9223372036854775807,"
                   "\"lease_epoch\":1152921504606846977},\"6\":{\"id\":\"c\","
                   "\"checkpoints\":[{\"step_index\":\"x\","
                   "\"state_data\":{}}]},\"7\":{\"id\":\"good\"},\"8\":3,\"9\":{\"id\":\"x\","
                   "\"status\":\"QUEUED\",\"depends_on\":[\"y\"]},"
                   "\"10\":{\"id\":\"y\",\"status\":\"QUEUED\",\"depends_on\":[\"x\"]}}");
    lab_open(lab);
    CHECK_SAYS(PAWL_INVALID, "", import(lab, path));
    CHECK_TEXT("s: status: \"LOST\" is none\n"
               "nameless: id: is missing\n"
               "4: id: is not 1 to 128 letters, digits and . _ - after a letter or digit\n"
               "p: progress: is no number\n"
               "p: retries: -1 is not from 0 to 1073741824\n"
               "q: retries: 1073741825 is not from 0 to 1073741824\n"
               "q: version: 9223372036854775807 is not from 1 to 1152921504606846976\n"
               "q: lease_epoch: 1152921504606846977 is not from 0 to 1152921504606846976\n"
               "c: checkpoints: number 1 has no step_index from 0 to 2147483647\n"
               "good: id: two records have it\n"
               "8: id: is not 1 to 128 letters, digits and . _ - after a letter or digit\n"
               "y: depends_on: it waits for itself in the end\n"
               "x: depends_on: it waits for itself in the end\n",
               remarks_of(lab, path, true));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM task"));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM event"));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM import"));
}

TEST_EACH_STORE(
    "T-029 a second import of a file is refused, also of a copy; so are ids that are in use")
{
    const char *text =
        "{\"t1\":{\"id\":\"t1\",\"title\":\"T\",\"status\":\"PAUSED\",\"metadata\":{\"a\":1}}}";
    import_json(lab, text);
    struct pawl_task task = lab_get(lab, ID("t1"));
    CHECK_STR("T", task.title);
    CHECK_EQ(PAWL_TASK_PAUSED, task.state);
    CHECK_SAYS(PAWL_CONFLICT, "has been imported already: 1 tasks of tasks.json",
               import(lab, path_of(lab, "tasks.json")));
    CHECK_SAYS(PAWL_CONFLICT, "has been imported already",
               import(lab, write_file(lab, "copy.json", text)));
    CHECK_SAYS(PAWL_CONFLICT, "id: 1 of the tasks have an id that is in use here",
               import(lab, write_file(lab, "other.json",
                                      "{\"t2\":{\"id\":\"t2\"},\"t1\":{\"id\":\"t1\"}}")));
    CHECK_TEXT("1", lab_sql(lab, "SELECT count(*) FROM task"));
    CHECK_OK(import(lab, write_file(lab, "more.json", "{\"t2\":{\"id\":\"t2\"}}")), &lab->err);
}

TEST_SQLITE("stores of schema 1 and 2, without the columns and tables that came later, are read")
{
    const char *first =
        write_sqlite(lab, "first.sqlite3",
                     "CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT NOT NULL, goal TEXT NOT "
                     "NULL, priority TEXT NOT NULL, "
                     "status TEXT NOT NULL, progress REAL NOT NULL, retries INTEGER NOT NULL, "
                     "max_retries INTEGER NOT NULL, "
                     "depends_on TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT "
                     "NULL, result TEXT, error TEXT, "
                     "metadata TEXT NOT NULL, checkpoints TEXT NOT NULL, history TEXT NOT NULL); "
                     "PRAGMA user_version = 1;" OLD_TASK("v1", "RUNNING", ""));
    const char *second = write_sqlite(
        lab, "second.sqlite3",
        OLD_SCHEMA "DROP TABLE task_outbox_events; ALTER TABLE tasks DROP COLUMN "
                   "next_retry_at; PRAGMA user_version = 2;" OLD_TASK("v2", "QUEUED", ""));
    lab_open(lab);
    CHECK_OK(import(lab, first), &lab->err);
    CHECK_OK(import(lab, second), &lab->err);
    CHECK_EQ(1, lab_get(lab, ID("v1")).epoch);
    CHECK_EQ(30, lab_get(lab, ID("v2")).priority);
}

TEST_SQLITE("a newer schema, a Pawl store, a log beside the file, no table, no JSON: each is "
            "refused with a sentence")
{
    lab_open(lab);
    CHECK_SAYS(PAWL_UNSUPPORTED, "has schema 4; 1 to 3 can be imported",
               import(lab, write_sqlite(lab, "new.sqlite3", OLD_SCHEMA "PRAGMA user_version = 4")));
    CHECK_SAYS(PAWL_INVALID, "has no table of tasks",
               import(lab, write_sqlite(lab, "else.sqlite3", "CREATE TABLE a (b)")));
    CHECK_SAYS(PAWL_INVALID, "bad.json: line 1, ",
               import(lab, write_file(lab, "bad.json", "{\"a\":")));
    CHECK_SAYS(PAWL_INVALID, "list.json is no object of tasks by their ids",
               import(lab, write_file(lab, "list.json", "[]")));
    CHECK_SAYS(PAWL_INVALID, "is empty", import(lab, write_file(lab, "empty.json", "")));
    CHECK_SAYS(PAWL_NOT_FOUND, "cannot open ", import(lab, path_of(lab, "absent")));
    const char *live = write_sqlite(lab, "live.sqlite3", OLD_SCHEMA);
    (void)write_file(lab, "live.sqlite3-wal", "something");
    CHECK_SAYS(PAWL_STATE, "has a log beside it", import(lab, live));
    (void)lab_add(lab, NEW(.hold = true));
    (void)lab_sql(lab, "PRAGMA wal_checkpoint(TRUNCATE)");
    CHECK_SAYS(PAWL_UNSUPPORTED, "is a Pawl store", import(lab, lab->target));
}

TEST_SQLITE("the file is only read: its bytes stay, and nothing appears beside it")
{
    const char *path = write_sqlite(
        lab, "only.sqlite3", "PRAGMA journal_mode = WAL;" OLD_SCHEMA OLD_TASK("t1", "QUEUED", ""));
    struct pawl_import_file before;
    struct pawl_import_file after;
    CHECK_OK(pawl_import_file_open(&before, path, &lab->err), &lab->err);
    lab_open(lab);
    CHECK_OK(import(lab, path), &lab->err);
    CHECK_OK(pawl_import_file_check_same(&before, &lab->err), &lab->err);
    CHECK_OK(pawl_import_file_open(&after, path, &lab->err), &lab->err);
    CHECK_TEXT(before.digest, after.digest);
    pawl_import_file_close(&before);
    pawl_import_file_close(&after);
    CHECK_EQ(-1, access(path_of(lab, "only.sqlite3-wal"), F_OK));
    CHECK_EQ(-1, access(path_of(lab, "only.sqlite3-shm"), F_OK));
}

/* ---- Whole or not at all --------------------------------------------------------------------- */

#define THREE                                                                             \
    "{\"1\":{\"id\":\"a\",\"status\":\"QUEUED\",\"goal\":\"g\",\"depends_on\":[\"b\"],"   \
    "\"checkpoints\":"                                                                    \
    "[{\"step_index\":1,\"state_data\":{}}]},\"2\":{\"id\":\"b\",\"status\":\"RUNNING\"," \
    "\"result\":\"r\"},"                                                                  \
    "\"3\":{\"id\":\"c\",\"status\":\"FAILED\",\"error\":\"e\",\"depends_on\":[\"x\"]}}"

struct cut {
    int at; /* the statement before which it happens, from 0 */
    int count;
    bool is_death;
    enum pawl_code code;
};

static enum pawl_code cut_off(void *self, int32_t point, struct pawl_error *err)
{
    struct cut *cut = self;
    (void)point;
    if (cut->count++ != cut->at) return PAWL_OK;
    if (cut->is_death) _exit(EXIT_DIED);
    return pawl_error_set(err, cut->code, "cut off");
}

static long number_of(const char *text)
{
    int64_t number = -2;
    return pawl_int64_parse(pawl_str_of(text), 0, 1000, &number) ? (long)number : -2;
}

/* What is stored: 0 for nothing, 3 for everything, anything else for a part of it. */
static long stored(struct lab *lab)
{
    static const char *const counts[] = {
        "SELECT count(*) FROM task", "SELECT 3 * count(*) FROM import",
        "SELECT count(*) * 3 / 5 FROM event", "SELECT 3 * count(*) FROM checkpoint",
        "SELECT count(*) * 3 / 2 FROM dependency"};
    long first = number_of(lab_sql(lab, counts[0]));
    for (size_t i = 1; i < PAWL_COUNT_OF(counts); i++) {
        if (number_of(lab_sql(lab, counts[i])) != first) return -1;
    }
    return first;
}

static int import_and_die(struct lab *lab, int number)
{
    struct cut cut = {.at = number, .is_death = true};
    struct pawl_options options = lab_options(lab);
    struct pawl_importer importer;
    struct pawl *pawl;
    if (pawl_open(&pawl, &options, &lab->err) != PAWL_OK) return 1;
    pawl_store_db(pawl->store)->hook = (struct pawl_db_hook){.before = cut_off, .self = &cut};
    enum pawl_code code = pawl_importer_open(&importer, path_of(lab, "tasks.json"), &lab->err);
    if (code == PAWL_OK) code = pawl_importer_run(&importer, pawl, false, &lab->err);
    pawl_importer_close(&importer);
    if (code == PAWL_OK) pawl_close(pawl);
    return code == PAWL_OK ? 0 : 1;
}

TEST_EACH_STORE("an import that dies before any of its statements has done nothing, and after its "
                "commit everything")
{
    (void)write_file(lab, "tasks.json", THREE);
    lab_open(lab);
    int died = 0;
    int status = EXIT_DIED;
    for (; status == EXIT_DIED; died++) {
        long before = stored(lab);
        CHECK(before == 0 || before == 3);
        if (before == 3) break; /* the death after the commit */
        status = lab_wait(lab_fork(lab, import_and_die, died));
        CHECK(status == EXIT_DIED || status == 0);
    }
    CHECK(died > 20);
    CHECK_EQ(3, stored(lab));
    CHECK_SAYS(PAWL_CONFLICT, "has been imported already", import(lab, path_of(lab, "tasks.json")));
}

TEST_EACH_STORE("an import whose disk is full at any of its statements leaves nothing, and can be "
                "repeated at once")
{
    const char *path = write_file(lab, "tasks.json", THREE);
    lab_open(lab);
    enum pawl_code code = PAWL_IO;
    int failed = 0;
    for (; code == PAWL_IO; failed++) {
        CHECK_EQ(0, stored(lab));
        struct cut cut = {.at = failed, .code = PAWL_IO};
        pawl_store_db(lab->pawl->store)->hook =
            (struct pawl_db_hook){.before = cut_off, .self = &cut};
        code = import(lab, path);
        pawl_store_db(lab->pawl->store)->hook = (struct pawl_db_hook){0};
    }
    CHECK(failed > 20);
    CHECK(code == PAWL_OK || code == PAWL_UNKNOWN_OUTCOME);
    CHECK_EQ(3, stored(lab));
}

TEST_EACH_STORE("an import larger than a piece, in an order that suits it not at all, is whole; "
                "and the next task follows it")
{
    enum { COUNT = 500 };
    struct pawl_str text = PAWL_STR("{");
    for (int i = 0; i < COUNT; i++) {
        text = pawl_arena_format(
            lab->keep,
            "%.*s%s\"%d\":{\"id\":\"t%d\",\"status\":\"QUEUED\",\"depends_on\":[\"t%d\"]}",
            PAWL_STR_ARG(text), i > 0 ? "," : "", i, i, i + 1);
    }
    import_json(lab,
                pawl_arena_format(lab->keep, "%.*s,\"x\":{\"id\":\"t500\",\"status\":\"QUEUED\"}}",
                                  PAWL_STR_ARG(text))
                    .ptr);
    CHECK_TEXT("501", lab_sql(lab, "SELECT count(*) FROM task"));
    CHECK_TEXT(
        "500",
        lab_sql(lab, "SELECT count(*) FROM dependency WHERE on_key IS NOT NULL AND is_open = 1"));
    CHECK_TEXT("501", lab_sql(lab, "SELECT position FROM head"));
    CHECK_EQ(1, lab_list(lab, LIST(.is_ready = true)).count);
    (void)lab_add(lab, NEW(.hold = true));
    CHECK_TEXT("502", lab_sql(lab, "SELECT position FROM head"));
    CHECK_EQ(1, lab_list(lab, LIST(.is_ready = true)).count);
}
TEST_MAIN()
