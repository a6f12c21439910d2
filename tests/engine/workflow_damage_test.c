/* Counters of workflows that do not count what there is: fsck names each, and sets right what
 * follows from the records. Until then it is an error of that workflow alone: the engine lives, and
 * others go on. */
#include "workflows.h"

#include "base/arena.h"
#include "core/command.h"
#include "core/limits.h"
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

/* t1 may fail, and the JOIN waits for t2. */
#define FORK                                                                                   \
    "{'name':'f','taskReferenceName':'f','type':'FORK_JOIN','forkTasks':["                     \
    "[{'name':'t1','taskReferenceName':'t1','retryCount':0,'permissive':true}],"               \
    "[{'name':'t2','taskReferenceName':'t2','retryCount':0}]]},"                               \
    "{'name':'j','taskReferenceName':'j','type':'JOIN','joinOn':['t1','t2'],'optional':true}," \
    "{'name':'t3','taskReferenceName':'t3'}"
#define ONE                                                                               \
    "{'name':'t1','taskReferenceName':'t1','retryCount':0,'taskDefinition':{'name':'t1'," \
    "'retryCount':0,'timeoutSeconds':0,'responseTimeoutSeconds':5}}"

/* ---- fsck ---- */

struct heard {
    char names[500]; /* "workflow.open record.join" */
    char log[4000];
    struct pawl_fsck_done done;
};

static struct heard heard;

static void hear(void *self, const struct pawl_fsck_finding *finding)
{
    struct heard *to = self;
    size_t len = strlen(to->names);
    CHECK(finding->text.len > 0 && finding->advice.len > 0);
    (void)snprintf(to->names + len, sizeof to->names - len, "%s%s", len > 0 ? " " : "",
                   finding->check);
}

static void write_log(void *self, enum pawl_log_level level, struct pawl_str line)
{
    struct heard *to = self;
    size_t len = strlen(to->log);
    (void)level;
    (void)snprintf(to->log + len, sizeof to->log - len, "%.*s\n", PAWL_STR_ARG(line));
}

/* What is found. */
static const char *check(struct lab *lab, bool repair)
{
    struct pawl_fsck ask = PAWL_FSCK_INIT;
    memset(&heard, 0, sizeof heard);
    ask.store = pawl_str_of(lab->target);
    ask.repair = repair;
    ask.found = hear;
    ask.self = &heard;
    ask.env = &lab->world.env;
    CHECK_OK(pawl_fsck(&ask, &heard.done, &lab->err), &lab->err);
    return heard.names;
}

/* What is found is mended, all of it. */
static void repair(struct lab *lab)
{
    (void)check(lab, true);
    CHECK(heard.done.repaired > 0);
    CHECK_TEXT("", check(lab, false));
}

static void open_with_log(struct lab *lab)
{
    struct pawl_options options = lab_options(lab);
    memset(&heard, 0, sizeof heard);
    options.log = write_log;
    options.log_self = &heard;
    lab->pawl = lab_handle(lab, &options);
}

/* ---- Each counter ---- */

static const struct damage {
    const char *sql;
    const char *found;
    const char *look;
    const char *want;
} damages[] = {
    {"UPDATE workflow SET open = 0", "workflow.open", "SELECT open FROM workflow", "2"},
    {"UPDATE workflow SET open = 7", "workflow.open", "SELECT open FROM workflow", "2"},
    {"UPDATE workflow SET open = -1", "workflow.unreadable workflow.open",
     "SELECT open FROM workflow", "2"},
    {"UPDATE workflow SET permissive = 0", "workflow.permissive", "SELECT permissive FROM workflow",
     "1"},
    {"UPDATE workflow SET permissive = -5", "workflow.unreadable workflow.permissive",
     "SELECT permissive FROM workflow", "1"},
    {"UPDATE workflow SET ahead = -1", "workflow.unreadable workflow.ahead",
     "SELECT ahead FROM workflow", "1"},
    {"UPDATE workflow SET next_seq = 2", "workflow.next_seq", "SELECT next_seq FROM workflow", "5"},
    {"UPDATE workflow SET next_seq = -3", "workflow.unreadable workflow.next_seq",
     "SELECT next_seq FROM workflow", "5"},
    {"UPDATE workflow SET last = 987654", "workflow.last",
     "SELECT reference FROM record WHERE task = (SELECT last FROM workflow)", "j"},
    {"UPDATE record SET join_pending = 0 WHERE reference = 'j'", "record.join",
     "SELECT join_pending FROM record WHERE reference = 'j'", "1"},
    {"UPDATE record SET join_pending = 9 WHERE reference = 'j'", "record.join",
     "SELECT join_pending FROM record WHERE reference = 'j'", "1"},
    {"UPDATE record SET join_pending = -1 WHERE reference = 'j'", "record.unreadable record.join",
     "SELECT join_pending FROM record WHERE reference = 'j'", "1"},
    {"UPDATE record SET join_failed = 0, join_cancelled = 2, join_optional = 3 WHERE reference = "
     "'j'",
     "record.join record.join record.join",
     "SELECT join_failed + join_cancelled + join_optional FROM record "
     "WHERE reference = 'j'",
     "1"},
    {"UPDATE workflow SET open = 1, permissive = 3; UPDATE record SET join_pending = 5 WHERE "
     "reference = 'j'",
     "workflow.open workflow.permissive record.join", "SELECT open FROM workflow", "2"},
};

static struct pawl_str begin(struct lab *lab)
{
    struct pawl_str id = wf_start(lab, FORK, NULL, NULL);
    wf_fail(lab, "t1", "so it was");
    CHECK_TEXT("", check(lab, false));
    return id;
}

static const char *end(struct lab *lab, struct pawl_str id)
{
    wf_complete(lab, "t2", NULL);
    wf_complete(lab, "t3", NULL);
    CHECK_TEXT("", check(lab, false));
    return wf_state(lab, id);
}

TEST_EACH_STORE(
    "fsck counts again what a workflow counts, and it goes on as if nothing had happened")
{
    lab_open(lab);
    const char *wanted = end(lab, begin(lab));
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        const struct damage *damage = &damages[i];
        (void)lab_sql(
            lab,
            "DELETE FROM record; DELETE FROM workflow; DELETE FROM payload; DELETE FROM event; "
            "DELETE FROM task");
        struct pawl_str id = begin(lab);
        (void)lab_sql(lab, damage->sql);
        const char *found = check(lab, false);
        if (strcmp(damage->found, found) != 0)
            FAIL("%s: wanted %s, found %s", damage->sql, damage->found, found);
        repair(lab);
        CHECK_TEXT(damage->want, lab_sql(lab, damage->look));
        CHECK_TEXT(wanted, end(lab, id));
    }
}

/* ---- What damage does until then ---- */

static enum pawl_code complete(struct lab *lab, struct pawl_str task)
{
    struct pawl_updated updated = {0};
    const struct pawl_update done = {.status = PAWL_UPDATE_COMPLETED, .worker_id = PAWL_STR("w")};
    return pawl_task_update(lab->pawl, task, &done, lab->keep, &updated, &lab->err);
}

TEST_EACH_STORE("a workflow that counts too little is an error of its own, and others go on")
{
    lab_open(lab);
    struct pawl_str bad = wf_start(lab, ONE, NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    struct pawl_str good = wf_start(lab, ONE, NULL, NULL);
    (void)lab_sql(lab, "UPDATE workflow SET open = 0 WHERE key = (SELECT MIN(key) FROM workflow)");
    CHECK_CODE(PAWL_CORRUPT, complete(lab, task));
    CHECK(strstr(lab->err.text, "open is negative") != NULL);
    CHECK(strstr(lab->err.text, wf_text(lab, bad)) != NULL);
    CHECK_TEXT("RUNNING t1:IN_PROGRESS", wf_state(lab, bad));
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED", wf_state(lab, good));
    repair(lab);
    CHECK_OK(complete(lab, task), &lab->err);
    CHECK_TEXT("COMPLETED t1:COMPLETED", wf_state(lab, bad));
}

TEST_EACH_STORE("a workflow that counts too little can be terminated, with all that is open")
{
    lab_open(lab);
    struct pawl_str id = begin(lab);
    (void)lab_sql(lab, "UPDATE workflow SET open = 0");
    CHECK_OK(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE)), &lab->err);
    CHECK_TEXT("TERMINATED f:COMPLETED t1:FAILED t2:CANCELED j:CANCELED", wf_state(lab, id));
    CHECK_TEXT("", check(lab, false));
}

TEST_EACH_STORE("what a workflow has left that ended too early, since it counted too little, is "
                "cancelled by fsck")
{
    lab_open(lab);
    struct pawl_str id = begin(lab);
    (void)lab_sql(lab, "UPDATE workflow SET open = 1, permissive = 0; UPDATE record SET "
                       "join_pending = 2 WHERE reference = 'j'");
    wf_complete(lab, "t2", NULL);
    CHECK_TEXT("COMPLETED f:COMPLETED t1:FAILED t2:COMPLETED j:IN_PROGRESS", wf_state(lab, id));
    CHECK_TEXT("workflow.open record.join", check(lab, false));
    repair(lab);
    lab_pass(lab, SECOND_MS);
    CHECK_TEXT("COMPLETED f:COMPLETED t1:FAILED t2:COMPLETED j:CANCELED", wf_state(lab, id));
    CHECK_TEXT("", check(lab, false));
}

TEST_EACH_STORE("a workflow that waits for what is over goes on when fsck has counted again")
{
    lab_open(lab);
    struct pawl_str id = begin(lab);
    (void)lab_sql(lab, "UPDATE record SET join_pending = 2 WHERE reference = 'j'");
    wf_complete(lab, "t2", NULL); /* and the JOIN does not see that it was the last */
    CHECK_EQ(0, wf_poll(lab, "t3").len);
    CHECK_TEXT("record.join", check(lab, false));
    repair(lab);
    lab_pass(lab, SECOND_MS);
    wf_complete(lab, "t3", NULL);
    CHECK_EQ(PAWL_WORKFLOW_FAILED, wf_get(lab, id).row.state);

    id = wf_start(lab, ONE, NULL, NULL);
    (void)lab_sql(lab, "UPDATE workflow SET open = 2 WHERE key = (SELECT MAX(key) FROM workflow)");
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("RUNNING t1:COMPLETED", wf_state(lab, id));
    repair(lab);
    lab_pass(lab, SECOND_MS);
    CHECK_TEXT("COMPLETED t1:COMPLETED", wf_state(lab, id));
    CHECK_TEXT("", check(lab, false));
}

TEST_EACH_STORE("what is due of a damaged workflow is put off, the log says so, and it is done "
                "once fsck has mended it")
{
    static const struct {
        int open;
        const char *reason;
    } cases[] = {{0, "open is negative"}, {-1, "cannot be read"}};
    open_with_log(lab);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char sql[100];
        heard.log[0] = '\0';
        struct pawl_str id = wf_start(lab, ONE, NULL, NULL);
        CHECK(wf_poll(lab, "t1").len > 0);
        (void)snprintf(sql, sizeof sql, "UPDATE workflow SET open = %d WHERE state = 0",
                       cases[i].open);
        (void)lab_sql(lab, sql);
        lab_pass(lab, 6 * SECOND_MS); /* its worker is silent */
        CHECK(strstr(heard.log, "event=row.put_off") != NULL);
        CHECK(strstr(heard.log, cases[i].reason) != NULL);
        repair(lab);
        lab_pass(lab, PAWL_UNREADABLE_AGAIN_MS);
        CHECK_TEXT("TIMED_OUT t1:TIMED_OUT", wf_state(lab, id));
        CHECK_TEXT("", check(lab, false));
    }
}

TEST_EACH_STORE("the rest of a large decision waits until fsck has mended its workflow")
{
    enum { BRANCHES = 2 * PAWL_DECISION_RECORDS_MAX + 20 };
    static char tasks[BRANCHES * 80 + 200];
    size_t len = 0;
    lab_open(lab);
    len += (size_t)snprintf(tasks, sizeof tasks,
                            "{'name':'f','taskReferenceName':'f','type':'FORK_JOIN','forkTasks':[");
    for (int i = 0; i < BRANCHES; i++) {
        len +=
            (size_t)snprintf(tasks + len, sizeof tasks - len,
                             "%s[{'name':'t1','taskReferenceName':'t%d'}]", i == 0 ? "" : ",", i);
    }
    (void)snprintf(tasks + len, sizeof tasks - len,
                   "]},{'name':'j','taskReferenceName':'j','type':'JOIN'}");
    struct pawl_request request;
    struct pawl_workflow_started started = {0};
    const struct pawl_workflow_start ask = {.definition = wf_definition(lab, tasks, NULL),
                                            .input = PAWL_STR("{}")};
    pawl_request_init(&request, PAWL_COMMAND_WORKFLOW_START);
    request.command.ask.start = &ask;
    request.command.out.started = &started;
    request.command.keep = lab->keep;
    pawl_engine_add(lab->pawl, &request);
    int64_t next_at_boot_ms;
    CHECK_OK(pawl_step(lab->pawl, &next_at_boot_ms, &lab->err), &lab->err); /* the first part */
    CHECK_TEXT("1", lab_sql(lab, "SELECT COUNT(*) FROM continuation"));
    (void)lab_sql(lab, "UPDATE workflow SET open = -1");
    lab_settle(lab, lab->pawl);
    CHECK_OK(request.command.code, &request.command.err);
    CHECK_TEXT("-2", lab_sql(lab, "SELECT remaining FROM continuation"));
    CHECK_TEXT("continuation.put_off workflow.unreadable workflow.open", check(lab, false));
    repair(lab);
    lab_pass(lab, SECOND_MS);
    CHECK_TEXT("0", lab_sql(lab, "SELECT COUNT(*) FROM continuation"));
    CHECK_EQ(BRANCHES + 1, wf_get(lab, started.id).row.open);
    CHECK_TEXT("", check(lab, false));
}

TEST_MAIN()
