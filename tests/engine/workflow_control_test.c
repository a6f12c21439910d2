/* What people do with a workflow: pause, terminate, retry, restart, rerun, skip, remove; and how it
 * ends. Numbers are those of the catalogue. */
#include "workflows.h"

#include "base/arena.h"
#include "core/command.h"
#include "core/limits.h"
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#define T1 "{'name':'t1','taskReferenceName':'t1','retryCount':0}"
#define T2 "{'name':'t2','taskReferenceName':'t2','retryCount':0}"
#define T3 "{'name':'t3','taskReferenceName':'t3','retryCount':0}"

#define FORK                                                                     \
    "{'name':'f','taskReferenceName':'f','type':'FORK_JOIN','forkTasks':[["  T1 \
    "," T3 "],[" T2 "]]},{'name':'j','taskReferenceName':'j','type':'JOIN','joinOn':['t3','t2']}"

#define FORK_OF_TWO                                                             \
    "{'name':'f','taskReferenceName':'f','type':'FORK_JOIN','forkTasks':[[" T3  \
    "],[" T2 "]]},{'name':'j','taskReferenceName':'j','type':'JOIN','joinOn':['t3','t2']}"

#define CHECK_DONE(call) CHECK_OK((call), &lab->err)

/* Registers a definition in the words of wf_definition. */
static void define(struct lab *lab, enum pawl_definition_kind kind, const char *name,
                   int64_t version, const char *body)
{
    struct pawl_request request;
    char *text = pawl_arena_c_text(lab->keep, pawl_str_of(body));
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '\'') *c = '"';
    }
    struct pawl_definition_new item = {
        .kind = kind, .name = pawl_str_of(name), .version = version, .body = pawl_str_of(text)};
    pawl_request_init(&request, PAWL_COMMAND_DEFINE);
    request.command.ask.define.items = &item;
    request.command.ask.define.count = 1;
    CHECK_DONE(pawl_engine_ask(lab->pawl, &request, &lab->err));
}

static struct pawl_str start_registered(struct lab *lab, const char *name, const char *input)
{
    struct pawl_workflow_started started = {0};
    char *text = pawl_arena_c_text(lab->keep, pawl_str_of(input));
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '\'') *c = '"';
    }
    struct pawl_workflow_start ask = {.name = pawl_str_of(name), .input = pawl_str_of(text)};
    CHECK_DONE(pawl_workflow_start(lab->pawl, &ask, lab->keep, &started, &lab->err));
    return started.id;
}

TEST_EACH_STORE(
    "W-033 a paused workflow takes what is said of its tasks, and goes on when it is resumed")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1 "," T2, NULL, NULL);
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_PAUSE)));
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_PAUSE)));
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("PAUSED t1:COMPLETED", wf_state(lab, id));
    wf_check(lab);
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RESUME)));
    CHECK_TEXT("RUNNING t1:COMPLETED t2:SCHEDULED", wf_state(lab, id));
    CHECK_REFUSED(PAWL_STATE, wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RESUME)));
    wf_complete(lab, "t2", NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED t2:COMPLETED", wf_state(lab, id));
    CHECK_REFUSED(PAWL_STATE, wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_PAUSE)));
    wf_check(lab);
}

TEST_EACH_STORE("W-034 what is terminated cancels its tasks, and hears nothing more")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1, NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    CHECK_DONE(
        wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE, .reason = PAWL_STR("r"))));
    CHECK_TEXT("TERMINATED t1:CANCELED", wf_state(lab, id));
    CHECK_TEXT("r", wf_reason(lab, id));
    CHECK(wf_update(lab, task, PAWL_UPDATE_COMPLETED, NULL, NULL).is_ignored);
    CHECK_TEXT("TERMINATED t1:CANCELED", wf_state(lab, id));
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE)));
    struct pawl_str other = wf_start(lab, T2, NULL, NULL);
    wf_complete(lab, "t2", NULL);
    CHECK_REFUSED(PAWL_STATE, wf_operate(lab, other, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE)));
    wf_check(lab);
}

TEST_EACH_STORE("W-035 W-036 a workflow over time is timed out with what is open, and may be "
                "retried with a new clock")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab, T1 "," T2, "'timeoutSeconds':30,'timeoutPolicy':'TIME_OUT_WF'", NULL);
    wf_complete(lab, "t1", NULL);
    lab_pass(lab, 30 * SECOND_MS);
    CHECK_TEXT("TIMED_OUT t1:COMPLETED t2:CANCELED", wf_state(lab, id));
    CHECK_EQ(0, wf_poll(lab, "t2").len);
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RETRY)));
    CHECK_TEXT("RUNNING t1:COMPLETED t2:CANCELED t2:SCHEDULED", wf_state(lab, id));
    CHECK(wf_get(lab, id).row.retried_at_ms > 0);
    lab_pass(lab, 20 * SECOND_MS);
    wf_complete(lab, "t2", NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED t2:CANCELED t2:COMPLETED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-037 a paused workflow runs out of its time between its tasks, and a retry goes "
                "on from there")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab, T1 "," T2, "'timeoutSeconds':30,'timeoutPolicy':'TIME_OUT_WF'", NULL);
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_PAUSE)));
    wf_complete(lab, "t1", NULL);
    lab_pass(lab, 30 * SECOND_MS);
    CHECK_TEXT("TIMED_OUT t1:COMPLETED", wf_state(lab, id));
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RETRY)));
    CHECK_TEXT("RUNNING t1:COMPLETED t2:SCHEDULED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-038 a failed workflow is retried as often as one likes; a running one is not")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1, NULL, NULL);
    CHECK_REFUSED(PAWL_NOT_FOUND, wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RETRY)));
    wf_fail(lab, "t1", "no");
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RETRY)));
    wf_fail(lab, "t1", "no");
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RETRY)));
    CHECK_EQ(0, strlen(wf_reason(lab, id)));
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("COMPLETED t1:FAILED t1:FAILED t1:COMPLETED", wf_state(lab, id));
    CHECK_EQ(2, wf_record(lab, id, 3).row.attempt);
    CHECK_REFUSED(PAWL_STATE, wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RETRY)));
    wf_check(lab);
}

TEST_EACH_STORE("W-039 a restart begins anew by the definition it had, or by the latest")
{
    lab_open(lab);
    define(lab, PAWL_DEFINITION_WORKFLOW, "w", 1,
           "{'name':'w','version':1,'tasks':[" T1 "," T2 "]}");
    struct pawl_str id = start_registered(lab, "w", "{'k':1}");
    wf_complete(lab, "t1", NULL);
    wf_fail(lab, "t2", "no");
    define(lab, PAWL_DEFINITION_WORKFLOW, "w", 2,
           "{'name':'w','version':2,'tasks':[" T1 "," T3 "]}");
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RESTART)));
    CHECK_TEXT("RUNNING t1:SCHEDULED", wf_state(lab, id));
    CHECK_EQ(1, wf_get(lab, id).row.definition_version);
    CHECK_REFUSED(PAWL_STATE, wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RESTART)));
    wf_complete(lab, "t1", NULL);
    wf_fail(lab, "t2", "no");
    CHECK_DONE(
        wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RESTART, .latest_definitions = true)));
    CHECK_EQ(2, wf_get(lab, id).row.definition_version);
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("RUNNING t1:COMPLETED t3:SCHEDULED", wf_state(lab, id));
    CHECK_TEXT("{\"k\":1}", wf_text(lab, wf_get(lab, id).payloads[PAWL_WORKFLOW_PAYLOAD_INPUT]));
    lab_settle(lab, lab->pawl);
    CHECK_TEXT("2", lab_sql(lab, "SELECT COUNT(*) FROM record")); /* those of older runs are gone */
    wf_check(lab);
}

TEST_EACH_STORE("W-040 what is not restartable is restarted only after it has failed")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1, "'restartable':false", NULL);
    wf_fail(lab, "t1", "no");
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RESTART)));
    wf_complete(lab, "t1", NULL);
    CHECK_REFUSED(PAWL_NOT_FOUND, wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RESTART)));
}

TEST_EACH_STORE("W-041 a rerun without a task begins anew, with another input")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab, T1 "," T2, "'outputParameters':{'k':'${workflow.input.k}'}", "{'k':1}");
    wf_complete(lab, "t1", NULL);
    wf_complete(lab, "t2", NULL);
    CHECK_TEXT("{\"k\":1}", wf_output(lab, id));
    CHECK_DONE(wf_operate(
        lab, id, OPERATE(.verb = PAWL_WORKFLOW_RERUN, .workflow_input = PAWL_STR("{\"k\":2}"))));
    CHECK_TEXT("RUNNING t1:SCHEDULED", wf_state(lab, id));
    wf_complete(lab, "t1", NULL);
    wf_complete(lab, "t2", NULL);
    CHECK_TEXT("{\"k\":2}", wf_output(lab, id));
    wf_check(lab);
}

/* A rerun from the newest task of a reference. */
static enum pawl_code rerun(struct lab *lab, struct pawl_str id, const char *reference,
                            const char *input)
{
    char *text = input == NULL ? NULL : pawl_arena_c_text(lab->keep, pawl_str_of(input));
    for (char *c = text; c != NULL && *c != '\0'; c++) {
        if (*c == '\'') *c = '"';
    }
    return wf_operate(lab, id,
                      OPERATE(.verb = PAWL_WORKFLOW_RERUN,
                              .task_id = wf_latest(lab, id, reference).task_id,
                              .task_input = pawl_str_of(text)));
}

TEST_EACH_STORE("W-042 a rerun from a task gives that very task anew, with another input, and takes "
                "away what came of it")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab,
                                  T1 ",{'name':'t2','taskReferenceName':'t2','inputParameters':{"
                                     "'k':'${workflow.input.k}'}}," T3,
                                  NULL, "{'k':1}");
    CHECK_REFUSED(PAWL_STATE, rerun(lab, id, "t1", NULL));
    wf_complete(lab, "t1", NULL);
    struct pawl_str t2 = wf_poll(lab, "t2");
    (void)wf_update(lab, t2, PAWL_UPDATE_COMPLETED, "{'o':1}", NULL);
    wf_fail(lab, "t3", "no");
    CHECK_TEXT("FAILED t1:COMPLETED t2:COMPLETED t3:FAILED", wf_state(lab, id));
    for (int i = 0; i < 3; i++) {
        CHECK_DONE(rerun(lab, id, "t2", "{'k':5}"));
        CHECK_TEXT("RUNNING t1:COMPLETED t2:SCHEDULED", wf_state(lab, id));
        CHECK(pawl_str_equal(t2, wf_record(lab, id, 2).task_id));
        CHECK_TEXT("{\"k\":5}", wf_text(lab, wf_record(lab, id, 2).input));
        CHECK_EQ(0, wf_record(lab, id, 2).output.len);
        CHECK_EQ(0, strlen(wf_reason(lab, id)));
        CHECK_REFUSED(PAWL_STATE, rerun(lab, id, "t2", NULL));
        wf_check(lab);
        CHECK(pawl_str_equal(t2, wf_poll(lab, "t2")));
        (void)wf_update(lab, t2, PAWL_UPDATE_COMPLETED, "{'o':2}", NULL);
        CHECK_TEXT("RUNNING t1:COMPLETED t2:COMPLETED t3:SCHEDULED", wf_state(lab, id));
        wf_complete(lab, "t3", NULL);
        CHECK_TEXT("COMPLETED t1:COMPLETED t2:COMPLETED t3:COMPLETED", wf_state(lab, id));
        wf_check(lab);
    }
    lab_settle(lab, lab->pawl);
    CHECK_TEXT("3", lab_sql(lab, "SELECT COUNT(*) FROM record")); /* what was taken away is gone */
    wf_check(lab);
}

TEST_EACH_STORE("W-042 a task that the workflow does not have is named; nothing is changed")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1, NULL, NULL);
    struct pawl_str other = wf_start(lab, T2, NULL, NULL);
    wf_fail(lab, "t1", "no");
    CHECK_REFUSED(PAWL_INVALID, wf_operate(lab, id,
                                           OPERATE(.verb = PAWL_WORKFLOW_RERUN,
                                                   .task_id = PAWL_STR("none"))));
    CHECK_REFUSED(PAWL_INVALID,
                  wf_operate(lab, id,
                             OPERATE(.verb = PAWL_WORKFLOW_RERUN,
                                     .task_id = wf_latest(lab, other, "t2").task_id)));
    CHECK_TEXT("FAILED t1:FAILED", wf_state(lab, id));
    CHECK_TEXT("no", wf_text(lab, wf_record(lab, id, 1).reason));
    wf_check(lab);
}

TEST_EACH_STORE("W-042 who held the task before its rerun holds it no more")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1, NULL, NULL);
    struct pawl_str queue = PAWL_STR("t1");
    struct pawl_claimed claimed = lab_claim(
        lab, CLAIM(.queues = &queue, .queue_count = 1, .worker_id = PAWL_STR("w")));
    CHECK_EQ(1, claimed.count);
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE)));
    CHECK_DONE(rerun(lab, id, "t1", NULL));
    struct pawl_change change = PAWL_CHANGE_INIT;
    change.fence = &claimed.grants[0].fence;
    CHECK_REFUSED(PAWL_LEASE_LOST, pawl_task_complete(lab->pawl, change.fence->task_id, NO_TEXT,
                                                      &change, &lab->err));
    CHECK_TEXT("RUNNING t1:SCHEDULED", wf_state(lab, id));
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-042 a rerun from an attempt that was tried again takes the later ones away")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab, "{'name':'r','taskReferenceName':'r','retryCount':1}," T2, NULL, NULL);
    int64_t delay_ms = 60 * SECOND_MS;
    struct pawl_str first = wf_record(lab, id, 1).task_id;
    wf_fail(lab, "r", "no");
    lab_pass(lab, delay_ms);
    wf_complete(lab, "r", NULL);
    wf_complete(lab, "t2", NULL);
    CHECK_TEXT("COMPLETED r:FAILED r:COMPLETED t2:COMPLETED", wf_state(lab, id));
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RERUN, .task_id = first)));
    CHECK_TEXT("RUNNING r:SCHEDULED", wf_state(lab, id));
    wf_fail(lab, "r", "no");
    lab_pass(lab, delay_ms);
    wf_complete(lab, "r", NULL);
    wf_complete(lab, "t2", NULL);
    CHECK_DONE(rerun(lab, id, "r", NULL)); /* the second attempt */
    CHECK_TEXT("RUNNING r:FAILED r:SCHEDULED", wf_state(lab, id));
    CHECK_EQ(1, wf_latest(lab, id, "r").row.attempt);
    wf_check(lab);
}

TEST_EACH_STORE("W-042 a rerun within a branch leaves the others alone, and their JOIN waits again")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, FORK ",{'name':'e','taskReferenceName':'e','retryCount':0}", NULL,
                                  NULL);
    wf_complete(lab, "t2", "{'b':2}");
    wf_complete(lab, "t1", NULL);
    wf_complete(lab, "t3", "{'a':1}");
    CHECK_TEXT("RUNNING f:COMPLETED t1:COMPLETED t2:COMPLETED j:COMPLETED t3:COMPLETED e:SCHEDULED",
               wf_state(lab, id));
    wf_fail(lab, "e", "no");
    CHECK_DONE(rerun(lab, id, "t1", NULL));
    CHECK_TEXT("RUNNING f:COMPLETED t1:SCHEDULED t2:COMPLETED j:IN_PROGRESS", wf_state(lab, id));
    wf_check(lab);
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("RUNNING f:COMPLETED t1:COMPLETED t2:COMPLETED j:IN_PROGRESS t3:SCHEDULED",
               wf_state(lab, id));
    wf_complete(lab, "t3", "{'a':7}");
    CHECK_TEXT("{\"t3\":{\"a\":7},\"t2\":{\"b\":2}}", wf_text(lab, wf_latest(lab, id, "j").output));
    wf_complete(lab, "e", NULL);
    CHECK_TEXT("COMPLETED f:COMPLETED t1:COMPLETED t2:COMPLETED j:COMPLETED t3:COMPLETED "
               "e:COMPLETED",
               wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-042 what was cancelled beside the task is run again with it")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, FORK, NULL, NULL);
    wf_fail(lab, "t1", "no");
    CHECK_TEXT("FAILED f:COMPLETED t1:FAILED t2:CANCELED j:CANCELED", wf_state(lab, id));
    struct pawl_str t2 = wf_latest(lab, id, "t2").task_id;
    CHECK_DONE(rerun(lab, id, "t1", NULL));
    CHECK_TEXT("RUNNING f:COMPLETED t1:SCHEDULED t2:SCHEDULED j:IN_PROGRESS", wf_state(lab, id));
    CHECK(pawl_str_equal(t2, wf_latest(lab, id, "t2").task_id));
    wf_check(lab);
    wf_complete(lab, "t2", NULL);
    wf_complete(lab, "t1", NULL);
    wf_complete(lab, "t3", NULL);
    CHECK_TEXT("COMPLETED f:COMPLETED t1:COMPLETED t2:COMPLETED j:COMPLETED t3:COMPLETED",
               wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-042 a rerun from a fork begins all of its branches anew, from a JOIN only itself")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1 "," FORK_OF_TWO, NULL, NULL);
    wf_complete(lab, "t1", NULL);
    wf_complete(lab, "t2", NULL);
    wf_complete(lab, "t3", NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED f:COMPLETED t3:COMPLETED t2:COMPLETED j:COMPLETED",
               wf_state(lab, id));
    CHECK_DONE(rerun(lab, id, "j", NULL));
    CHECK_TEXT("COMPLETED t1:COMPLETED f:COMPLETED t3:COMPLETED t2:COMPLETED j:COMPLETED",
               wf_state(lab, id));
    CHECK_DONE(rerun(lab, id, "f", NULL));
    CHECK_TEXT("RUNNING t1:COMPLETED f:COMPLETED t3:SCHEDULED t2:SCHEDULED j:IN_PROGRESS",
               wf_state(lab, id));
    wf_complete(lab, "t2", NULL);
    wf_complete(lab, "t3", NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED f:COMPLETED t3:COMPLETED t2:COMPLETED j:COMPLETED",
               wf_state(lab, id));
    CHECK_DONE(rerun(lab, id, "t1", NULL));
    CHECK_TEXT("RUNNING t1:SCHEDULED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-042 what a fork had not begun when the workflow ended is begun by the rerun")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab,
        T1 ",{'name':'f','taskReferenceName':'f','type':'FORK_JOIN','forkTasks':[[{'name':'x',"
           "'type':'TERMINATE','taskReferenceName':'x','inputParameters':{'terminationStatus':"
           "'${t1.output.end}'}}],[" T2 "]]},{'name':'j','taskReferenceName':'j','type':'JOIN',"
           "'joinOn':['t2']}",
        NULL, NULL);
    wf_complete(lab, "t1", "{'end':'FAILED'}");
    CHECK_TEXT("FAILED t1:COMPLETED f:COMPLETED x:COMPLETED j:CANCELED", wf_state(lab, id));
    CHECK_DONE(rerun(lab, id, "j", NULL));
    CHECK_TEXT("RUNNING t1:COMPLETED f:COMPLETED x:COMPLETED j:IN_PROGRESS t2:SCHEDULED",
               wf_state(lab, id));
    wf_complete(lab, "t2", NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED f:COMPLETED x:COMPLETED j:COMPLETED t2:COMPLETED",
               wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-042 tasks that were skipped before the task stay so")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1 "," T2 "," T3, NULL, NULL);
    CHECK_DONE(wf_operate(
        lab, id, OPERATE(.verb = PAWL_WORKFLOW_SKIP, .reference = PAWL_STR("t2"))));
    wf_complete(lab, "t1", NULL);
    wf_fail(lab, "t3", "no");
    CHECK_TEXT("FAILED t1:COMPLETED t2:SKIPPED t3:FAILED", wf_state(lab, id));
    CHECK_DONE(rerun(lab, id, "t3", NULL));
    CHECK_TEXT("RUNNING t1:COMPLETED t2:SKIPPED t3:SCHEDULED", wf_state(lab, id));
    wf_fail(lab, "t3", "no");
    CHECK_DONE(rerun(lab, id, "t1", NULL));
    CHECK_TEXT("RUNNING t1:SCHEDULED", wf_state(lab, id)); /* what follows is gone, skipped or not */
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("RUNNING t1:COMPLETED t2:SCHEDULED", wf_state(lab, id));
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE)));
    CHECK_DONE(rerun(lab, id, "t2", NULL));
    wf_complete(lab, "t2", NULL);
    wf_complete(lab, "t3", NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED t2:COMPLETED t3:COMPLETED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-042 a workflow that ran out of its time has it anew after a rerun")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab, T1 "," T2, "'timeoutSeconds':30,'timeoutPolicy':'TIME_OUT_WF'", NULL);
    wf_complete(lab, "t1", NULL);
    lab_pass(lab, 30 * SECOND_MS);
    CHECK_TEXT("TIMED_OUT t1:COMPLETED t2:CANCELED", wf_state(lab, id));
    CHECK_DONE(rerun(lab, id, "t2", NULL));
    lab_pass(lab, 20 * SECOND_MS);
    CHECK_TEXT("RUNNING t1:COMPLETED t2:SCHEDULED", wf_state(lab, id));
    lab_pass(lab, 10 * SECOND_MS);
    CHECK_TEXT("TIMED_OUT t1:COMPLETED t2:CANCELED", wf_state(lab, id));
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RERUN)));
    CHECK_TEXT("RUNNING t1:SCHEDULED", wf_state(lab, id));
    wf_check(lab);
}

TEST_SQLITE("W-042 a workflow of too many tasks is rerun from its start alone")
{
    lab_open(lab);
    struct pawl_str tasks = {0};
    for (int i = 0; i < PAWL_RERUN_RECORDS_MAX; i++) {
        tasks = pawl_arena_format(lab->keep, "%.*s{'name':'n','taskReferenceName':'n%d','type':'NOOP'},",
                                  PAWL_STR_ARG(tasks), i);
    }
    tasks = pawl_arena_format(lab->keep, "%.*s" T1, PAWL_STR_ARG(tasks));
    struct pawl_str id = wf_start(lab, tasks.ptr, NULL, NULL);
    lab_settle(lab, lab->pawl);
    wf_fail(lab, "t1", "no");
    CHECK_REFUSED(PAWL_TOO_LARGE, rerun(lab, id, "n0", NULL));
    struct pawl_workflow_view view = wf_get(lab, id);
    CHECK_EQ(PAWL_WORKFLOW_FAILED, view.row.state);
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RERUN)));
    lab_settle(lab, lab->pawl);
    wf_complete(lab, "t1", NULL);
    CHECK_EQ(PAWL_WORKFLOW_COMPLETED, wf_get(lab, id).row.state);
    wf_check(lab);
}

TEST_EACH_STORE("W-138 a rerun from a WAIT begins its time anew, from a SWITCH takes another branch")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab,
        "{'name':'w','taskReferenceName':'w','type':'WAIT','inputParameters':{'duration':'30s'}},"
        "{'name':'s','taskReferenceName':'s','type':'SWITCH','evaluatorType':'value-param',"
        "'expression':'c','inputParameters':{'c':'${workflow.input.c}','d':1},'decisionCases':{"
        "'a':[" T1 "],'b':[" T2 "]}}," T3,
        NULL, "{'c':'a'}");
    lab_pass(lab, 30 * SECOND_MS);
    wf_complete(lab, "t1", NULL);
    wf_complete(lab, "t3", NULL);
    CHECK_TEXT("COMPLETED w:COMPLETED s:COMPLETED t1:COMPLETED t3:COMPLETED", wf_state(lab, id));
    CHECK_DONE(rerun(lab, id, "s", "{'c':'b'}"));
    CHECK_TEXT("RUNNING w:COMPLETED s:COMPLETED t2:SCHEDULED", wf_state(lab, id));
    CHECK_TEXT("{\"c\":\"b\",\"d\":1,\"case\":\"b\",\"hasChildren\":\"true\"}",
               wf_text(lab, wf_latest(lab, id, "s").input));
    wf_complete(lab, "t2", NULL);
    wf_complete(lab, "t3", NULL);
    CHECK_TEXT("COMPLETED w:COMPLETED s:COMPLETED t2:COMPLETED t3:COMPLETED", wf_state(lab, id));
    CHECK_DONE(rerun(lab, id, "t2", NULL)); /* inside a case: the flow leaves it as before */
    CHECK_TEXT("RUNNING w:COMPLETED s:COMPLETED t2:SCHEDULED", wf_state(lab, id));
    wf_complete(lab, "t2", NULL);
    wf_complete(lab, "t3", NULL);
    CHECK_DONE(rerun(lab, id, "w", NULL));
    CHECK_TEXT("RUNNING w:IN_PROGRESS", wf_state(lab, id));
    lab_pass(lab, 29 * SECOND_MS);
    CHECK_TEXT("RUNNING w:IN_PROGRESS", wf_state(lab, id));
    lab_pass(lab, 1 * SECOND_MS);
    CHECK_TEXT("RUNNING w:COMPLETED s:COMPLETED t1:SCHEDULED", wf_state(lab, id));
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE)));
    CHECK_DONE(rerun(lab, id, "w", "{'duration':'5s'}"));
    lab_pass(lab, 5 * SECOND_MS);
    CHECK_TEXT("RUNNING w:COMPLETED s:COMPLETED t1:SCHEDULED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-043 a task is skipped before its turn, and its output is read all the same")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab,
        T1 "," T2
           ",{'name':'t3','taskReferenceName':'t3','inputParameters':{'o':'${t2.output.o}'}}",
        NULL, NULL);
    CHECK_DONE(wf_operate(lab, id,
                          OPERATE(.verb = PAWL_WORKFLOW_SKIP, .reference = PAWL_STR("t2"),
                                  .task_output = PAWL_STR("{\"o\":1}"))));
    CHECK_REFUSED(
        PAWL_INVALID,
        wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_SKIP, .reference = PAWL_STR("t9"))));
    CHECK_REFUSED(
        PAWL_STATE,
        wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_SKIP, .reference = PAWL_STR("t1"))));
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("RUNNING t1:COMPLETED t2:SKIPPED t3:SCHEDULED", wf_state(lab, id));
    CHECK_TEXT("{\"o\":1}", wf_text(lab, wf_record(lab, id, 3).input));
    wf_complete(lab, "t3", NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED t2:SKIPPED t3:COMPLETED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-044 a definition without tasks starts nothing")
{
    lab_open(lab);
    struct pawl_workflow_started started;
    struct pawl_workflow_start ask = {.definition = wf_definition(lab, "", NULL)};
    CHECK_REFUSED(PAWL_INVALID,
                  pawl_workflow_start(lab->pawl, &ask, lab->keep, &started, &lab->err));
    CHECK_TEXT("0", lab_sql(lab, "SELECT COUNT(*) FROM workflow"));
}

TEST_EACH_STORE("W-045 W-047 the failure workflow is told what failed, and the output names it")
{
    lab_open(lab);
    define(lab, PAWL_DEFINITION_WORKFLOW, "f1", 1,
           "{'name':'f1','tasks':[{'name':'fix','taskReferenceName':'fix'}]}");
    struct pawl_workflow_started started;
    struct pawl_workflow_start ask = {
        .definition = wf_definition(lab, T1, "'failureWorkflow':'$workflow.input.fw'"),
        .input = PAWL_STR("{\"fw\":\"f1\",\"k\":7}"),
        .correlation_id = PAWL_STR("c-1")};
    CHECK_DONE(pawl_workflow_start(lab->pawl, &ask, lab->keep, &started, &lab->err));
    wf_fail(lab, "t1", "no card");
    lab_settle(lab, lab->pawl);
    CHECK_TEXT("FAILED t1:FAILED", wf_state(lab, started.id));
    struct pawl_workflow_list list = {.correlation_id = PAWL_STR("c-1")};
    struct pawl_workflow_page page;
    CHECK_DONE(pawl_workflow_list(lab->pawl, &list, lab->keep, &page, &lab->err));
    CHECK_EQ(2, page.count);
    struct pawl_str fix = page.items[1].id;
    struct pawl_str want = pawl_arena_format(lab->keep, "{\"conductor.failure_workflow\":\"%.*s\"}",
                                             PAWL_STR_ARG(fix));
    CHECK_TEXT(want.ptr, wf_output(lab, started.id));
    CHECK_TEXT("RUNNING fix:SCHEDULED", wf_state(lab, fix));
    const char *input = wf_text(lab, wf_get(lab, fix).payloads[PAWL_WORKFLOW_PAYLOAD_INPUT]);
    CHECK(strstr(input, "\"failureStatus\":\"FAILED\"") != NULL);
    CHECK(strstr(input, "no card") != NULL);
    CHECK(strstr(input, "\"k\":7") != NULL);
    CHECK(strstr(input, wf_text(lab, wf_record(lab, started.id, 1).task_id)) != NULL);
    wf_check(lab);
}

TEST_EACH_STORE(
    "W-047 a failure workflow that is not there changes nothing, and the output says so")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1, "'failureWorkflow':'none'", NULL);
    wf_fail(lab, "t1", "no");
    lab_settle(lab, lab->pawl);
    CHECK_TEXT("FAILED t1:FAILED", wf_state(lab, id));
    CHECK(strstr(wf_output(lab, id), "could not be started: No such workflow definition: none") !=
          NULL);
}

TEST_EACH_STORE("failure workflows that fail one for the other come to an end")
{
    lab_open(lab);
    define(lab, PAWL_DEFINITION_WORKFLOW, "round", 1,
           "{'name':'round','failureWorkflow':'round','tasks':[{'name':'x','type':'JOIN','"
           "taskReferenceName':'j'},{'name':'t','type':'TERMINATE','taskReferenceName':'t','"
           "inputParameters':{'terminationStatus':'FAILED'}}]}");
    (void)start_registered(lab, "round", "{}");
    lab_settle(lab, lab->pawl);
    CHECK_EQ(PAWL_FAILURE_DEPTH_MAX + 1, atoll(lab_sql(lab, "SELECT COUNT(*) FROM workflow")));
    wf_check(lab);
}

TEST_EACH_STORE("W-028 waiting callbacks are offered at once when they are reset")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1, NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    struct pawl_updated updated;
    struct pawl_update ask = {.status = PAWL_UPDATE_IN_PROGRESS,
                              .callback_after_ms = 3600 * SECOND_MS,
                              .worker_id = PAWL_STR("w")};
    CHECK_DONE(pawl_task_update(lab->pawl, task, &ask, lab->keep, &updated, &lab->err));
    CHECK_EQ(0, wf_poll(lab, "t1").len);
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RESET_CALLBACKS)));
    CHECK(pawl_str_equal(task, wf_poll(lab, "t1")));
    (void)wf_update(lab, task, PAWL_UPDATE_COMPLETED, NULL, NULL);
    CHECK_REFUSED(PAWL_STATE, wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RESET_CALLBACKS)));
}

TEST_EACH_STORE(
    "W-050 what is removed is gone with all of its tasks; only what has ended is archived")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1 "," T2, NULL, NULL);
    wf_complete(lab, "t1", "{'x':1}");
    CHECK_REFUSED(PAWL_INVALID,
                  wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_REMOVE, .archives = true)));
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_REMOVE)));
    lab_settle(lab, lab->pawl);
    struct pawl_workflow_view view;
    CHECK_REFUSED(PAWL_NOT_FOUND, pawl_workflow_get(lab->pawl, id, &(struct pawl_workflow_ask){0},
                                                    lab->keep, &view, &lab->err));
    CHECK_TEXT("0", lab_sql(lab, "SELECT COUNT(*) FROM task"));
    CHECK_TEXT("0", lab_sql(lab, "SELECT COUNT(*) FROM record"));
    CHECK_TEXT("0", lab_sql(lab, "SELECT COUNT(*) FROM payload"));
    CHECK_TEXT("0", lab_sql(lab, "SELECT COUNT(*) FROM event"));
    wf_check(lab);
}

TEST_EACH_STORE("W-055 a start needs a definition that there is, and a priority of 0 to 99")
{
    lab_open(lab);
    struct pawl_workflow_started started;
    struct pawl_workflow_start ask = {.definition = wf_definition(lab, T1, NULL), .priority = 100};
    CHECK_REFUSED(PAWL_INVALID,
                  pawl_workflow_start(lab->pawl, &ask, lab->keep, &started, &lab->err));
    ask = (struct pawl_workflow_start){.name = PAWL_STR("none")};
    CHECK_REFUSED(PAWL_NOT_FOUND,
                  pawl_workflow_start(lab->pawl, &ask, lab->keep, &started, &lab->err));
    define(lab, PAWL_DEFINITION_WORKFLOW, "w", 1, "{'name':'w','tasks':[" T1 "]}");
    ask = (struct pawl_workflow_start){.name = PAWL_STR("w"), .version = 9};
    CHECK_REFUSED(PAWL_NOT_FOUND,
                  pawl_workflow_start(lab->pawl, &ask, lab->keep, &started, &lab->err));
}

TEST_EACH_STORE(
    "an idempotency key names one workflow of its definition, unless its start is told otherwise")
{
    lab_open(lab);
    struct pawl_workflow_started first, again;
    struct pawl_workflow_start ask = {.definition = wf_definition(lab, T1, NULL),
                                      .idempotency_key = PAWL_STR("k")};
    CHECK_DONE(pawl_workflow_start(lab->pawl, &ask, lab->keep, &first, &lab->err));
    CHECK_REFUSED(PAWL_CONFLICT,
                  pawl_workflow_start(lab->pawl, &ask, lab->keep, &again, &lab->err));
    ask.idempotency = PAWL_IDEMPOTENCY_RETURN_EXISTING;
    CHECK_DONE(pawl_workflow_start(lab->pawl, &ask, lab->keep, &again, &lab->err));
    CHECK(again.existed && pawl_str_equal(first.id, again.id));
    ask.idempotency = PAWL_IDEMPOTENCY_FAIL_ON_RUNNING;
    CHECK_REFUSED(PAWL_CONFLICT,
                  pawl_workflow_start(lab->pawl, &ask, lab->keep, &again, &lab->err));
    wf_complete(lab, "t1", NULL);
    CHECK_DONE(pawl_workflow_start(lab->pawl, &ask, lab->keep, &again, &lab->err));
    CHECK(!again.existed && !pawl_str_equal(first.id, again.id));
}

TEST_EACH_STORE(
    "a task of a workflow is said to have ended by its reference; when none is open there is none")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1 "," T2, NULL, NULL);
    struct pawl_updated updated;
    struct pawl_update ask = {
        .workflow_id = id, .reference = PAWL_STR("t1"), .status = PAWL_UPDATE_COMPLETED};
    CHECK_DONE(pawl_task_update(lab->pawl, NO_TEXT, &ask, lab->keep, &updated, &lab->err));
    CHECK_TEXT("RUNNING t1:COMPLETED t2:SCHEDULED", wf_state(lab, id));
    CHECK_REFUSED(PAWL_NOT_FOUND,
                  pawl_task_update(lab->pawl, NO_TEXT, &ask, lab->keep, &updated, &lab->err));
}

TEST_EACH_STORE("operators of tasks do not touch those of workflows")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1, NULL, NULL);
    struct pawl_str task = wf_record(lab, id, 1).task_id;
    CHECK_REFUSED(PAWL_STATE, pawl_task_pause(lab->pawl, task, NULL, &lab->err));
    CHECK_REFUSED(PAWL_STATE, pawl_task_queue(lab->pawl, task, NULL, &lab->err));
    CHECK_REFUSED(PAWL_STATE, pawl_task_resume(lab->pawl, task, NULL, NULL, &lab->err));
    CHECK_DONE(
        pawl_task_cancel(lab->pawl, task, false, CHANGE(.reason = PAWL_STR("enough")), &lab->err));
    CHECK_TEXT("TERMINATED t1:CANCELED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("lists: what runs of a name, page by page")
{
    lab_open(lab);
    for (int i = 0; i < 3; i++) (void)wf_start(lab, T1, NULL, NULL);
    wf_complete(lab, "t1", NULL);
    struct pawl_workflow_page page;
    struct pawl_workflow_list list = {.name = PAWL_STR("w"), .limit = 1};
    CHECK_DONE(pawl_workflow_list(lab->pawl, &list, lab->keep, &page, &lab->err));
    CHECK_EQ(1, page.count);
    CHECK(page.is_cut);
    list.after = page.items[0].key;
    list.limit = 10;
    CHECK_DONE(pawl_workflow_list(lab->pawl, &list, lab->keep, &page, &lab->err));
    CHECK_EQ(1, page.count);
    CHECK(!page.is_cut);
}

/* What reaches the engine together is one step. */
static void together(struct lab *lab, struct pawl_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        requests[i].command.keep = lab->keep;
        pawl_engine_add(lab->pawl, &requests[i]);
    }
    lab_settle(lab, lab->pawl);
    for (size_t i = 0; i < count; i++) CHECK_OK(requests[i].command.code, &requests[i].command.err);
}

static void fill_operate(struct pawl_request *request, struct pawl_str id,
                         const struct pawl_workflow_operate *ask,
                         struct pawl_workflow_operated *operated)
{
    pawl_request_init(request, PAWL_COMMAND_WORKFLOW_OPERATE);
    request->command.task_id = id;
    request->command.ask.operate = ask;
    request->command.out.operated = operated;
}

static void fill_update(struct pawl_request *request, struct pawl_str task,
                        const struct pawl_update *ask, struct pawl_updated *updated)
{
    pawl_request_init(request, PAWL_COMMAND_UPDATE);
    request->command.task_id = task;
    request->command.ask.update = ask;
    request->command.out.updated = updated;
}

TEST_EACH_STORE("what ends while its workflow is paused is decided by a resume of the same step")
{
    struct pawl_request requests[3];
    struct pawl_workflow_operated operated[2];
    struct pawl_updated updated;
    lab_open(lab);
    struct pawl_str id = wf_start(lab, FORK, NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    const struct pawl_update done = {.status = PAWL_UPDATE_COMPLETED, .worker_id = PAWL_STR("w")};
    fill_operate(&requests[0], id, OPERATE(.verb = PAWL_WORKFLOW_PAUSE), &operated[0]);
    fill_update(&requests[1], task, &done, &updated);
    fill_operate(&requests[2], id, OPERATE(.verb = PAWL_WORKFLOW_RESUME), &operated[1]);
    together(lab, requests, COUNT_OF(requests));
    CHECK_TEXT("RUNNING f:COMPLETED t1:COMPLETED t2:SCHEDULED j:IN_PROGRESS t3:SCHEDULED",
               wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("what a terminate has cancelled is tried again by a retry of the same step")
{
    struct pawl_request requests[2];
    struct pawl_workflow_operated operated[2];
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1 "," T2, NULL, NULL);
    fill_operate(&requests[0], id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE), &operated[0]);
    fill_operate(&requests[1], id, OPERATE(.verb = PAWL_WORKFLOW_RETRY), &operated[1]);
    together(lab, requests, COUNT_OF(requests));
    CHECK_TEXT("RUNNING t1:CANCELED t1:SCHEDULED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-042 what a terminate has cancelled is rerun in the same step")
{
    struct pawl_request requests[2];
    struct pawl_workflow_operated operated[2];
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1 "," FORK_OF_TWO, NULL, NULL);
    wf_complete(lab, "t1", NULL);
    struct pawl_str t2 = wf_latest(lab, id, "t2").task_id;
    fill_operate(&requests[0], id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE), &operated[0]);
    fill_operate(&requests[1], id, OPERATE(.verb = PAWL_WORKFLOW_RERUN, .task_id = t2),
                 &operated[1]);
    together(lab, requests, COUNT_OF(requests));
    CHECK_TEXT("RUNNING t1:COMPLETED f:COMPLETED t3:SCHEDULED t2:SCHEDULED j:IN_PROGRESS",
               wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-042 variables stay in a rerun from a task, and not in one from the start")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab,
        "{'name':'v','taskReferenceName':'v','type':'SET_VARIABLE','inputParameters':{'a':2}}," T1,
        "'variables':{'a':1}", NULL);
    wf_fail(lab, "t1", "no");
    CHECK_DONE(rerun(lab, id, "t1", NULL));
    CHECK_TEXT("{\"a\":2}",
               wf_text(lab, wf_get(lab, id).payloads[PAWL_WORKFLOW_PAYLOAD_VARIABLES]));
    wf_fail(lab, "t1", "no");
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RERUN)));
    CHECK_TEXT("RUNNING v:COMPLETED t1:SCHEDULED", wf_state(lab, id));
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE)));
    wf_check(lab);
}

TEST_MAIN()
