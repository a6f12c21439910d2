/* What a workflow does besides tasks of workers: SWITCH, FORK_JOIN, JOIN, SET_VARIABLE, TERMINATE,
 * WAIT, HUMAN, NOOP, DYNAMIC. Numbers are those of the catalogue. */
#include "workflows.h"

#include "base/arena.h"

#include <stdio.h>
#include <string.h>

#define S(ref) "{'name':'" ref "','taskReferenceName':'" ref "','retryCount':0}"
#define SWITCH(ref, param, cases, otherwise)                                                     \
    "{'name':'" ref "','taskReferenceName':'" ref                                                \
    "','type':'SWITCH','evaluatorType':'value-param',"                                           \
    "'expression':'c','inputParameters':{'c':'" param "'},'decisionCases':{" cases "}" otherwise \
    "}"
#define FORK(ref, branches) \
    "{'name':'" ref "','taskReferenceName':'" ref "','type':'FORK_JOIN','forkTasks':[" branches "]}"
#define JOIN(ref, on) \
    "{'name':'" ref "','taskReferenceName':'" ref "','type':'JOIN','joinOn':[" on "]}"

#define CHECK_DONE(call) CHECK_OK((call), &lab->err)

TEST_EACH_STORE(
    "W-056 W-057 W-058 a SWITCH takes the case of its input, or the default, or nothing")
{
    static const char *const with_default =
        SWITCH("sw", "${workflow.input.c}", "'sms':[" S("a") "],'email':[" S("b") "],'x':[]",
               ",'defaultCase':[" S("d") "]") "," S("z");
    static const char *const without =
        SWITCH("sw", "${workflow.input.c}", "'sms':[" S("a") "]", "") "," S("z");
    lab_open(lab);
    CHECK_TEXT("RUNNING sw:COMPLETED a:SCHEDULED",
               wf_state(lab, wf_start(lab, with_default, NULL, "{'c':'sms'}")));
    CHECK_TEXT("RUNNING sw:COMPLETED b:SCHEDULED",
               wf_state(lab, wf_start(lab, with_default, NULL, "{'c':'email'}")));
    CHECK_TEXT("RUNNING sw:COMPLETED d:SCHEDULED",
               wf_state(lab, wf_start(lab, with_default, NULL, "{'c':'other'}")));
    CHECK_TEXT("RUNNING sw:COMPLETED z:SCHEDULED",
               wf_state(lab, wf_start(lab, with_default, NULL, "{'c':'x'}")));
    CHECK_TEXT("RUNNING sw:COMPLETED z:SCHEDULED",
               wf_state(lab, wf_start(lab, without, NULL, "{'c':'other'}")));
    struct pawl_str id = wf_start(lab, with_default, NULL, NULL);
    CHECK_TEXT("RUNNING sw:COMPLETED d:SCHEDULED", wf_state(lab, id));
    CHECK_TEXT("{\"evaluationResult\":[\"null\"],\"selectedCase\":\"null\"}",
               wf_text(lab, wf_record(lab, id, 1).output));
    (void)wf_update(lab, wf_record(lab, id, 2).task_id, PAWL_UPDATE_COMPLETED, NULL, NULL);
    CHECK_TEXT("RUNNING sw:COMPLETED d:COMPLETED z:SCHEDULED", wf_state(lab, id));
    wf_complete(lab, "z", NULL);
    wf_check(lab);
}

TEST_EACH_STORE("W-060 W-061 the flow climbs out of nested cases, and a fork inside one is joined "
                "before it goes on")
{
    static const char *const tasks = SWITCH(
        "outer", "${workflow.input.c}",
        "'k':[" SWITCH("inner", "${workflow.input.d}", "'l':[" S("a") "]", "") "],'long':[" FORK(
            "f", "[" S("b1") "],[" S("b2") "]") "," JOIN("j", "'b1','b2'") "]",
        "") "," S("z");
    lab_open(lab);
    struct pawl_str id = wf_start(lab, tasks, NULL, "{'c':'k','d':'l'}");
    wf_complete(lab, "a", NULL);
    CHECK_TEXT("RUNNING outer:COMPLETED inner:COMPLETED a:COMPLETED z:SCHEDULED",
               wf_state(lab, id));
    wf_complete(lab, "z", NULL);
    CHECK_TEXT("RUNNING outer:COMPLETED inner:COMPLETED z:SCHEDULED",
               wf_state(lab, wf_start(lab, tasks, NULL, "{'c':'k'}")));
    wf_complete(lab, "z", NULL);
    id = wf_start(lab, tasks, NULL, "{'c':'long'}");
    wf_complete(lab, "b2", NULL);
    CHECK_TEXT("RUNNING outer:COMPLETED f:COMPLETED b1:SCHEDULED b2:COMPLETED j:IN_PROGRESS",
               wf_state(lab, id));
    wf_check(lab);
    wf_complete(lab, "b1", NULL);
    CHECK_TEXT(
        "RUNNING outer:COMPLETED f:COMPLETED b1:COMPLETED b2:COMPLETED j:COMPLETED z:SCHEDULED",
        wf_state(lab, id));
    wf_check(lab);
}

#define FORK_70 \
    FORK("f", "[" S("t1") "," S("t3") "],[" S("t2") "]") "," JOIN("j", "'t3','t2'") "," S("t4")

TEST_EACH_STORE("W-070 branches go on by themselves, and their JOIN gives what they gave")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, FORK_70, NULL, NULL);
    CHECK_TEXT("RUNNING f:COMPLETED t1:SCHEDULED t2:SCHEDULED j:IN_PROGRESS", wf_state(lab, id));
    wf_complete(lab, "t1", "{'q':0}");
    wf_complete(lab, "t2", "{'x':2}");
    CHECK_TEXT("RUNNING f:COMPLETED t1:COMPLETED t2:COMPLETED j:IN_PROGRESS t3:SCHEDULED",
               wf_state(lab, id));
    wf_check(lab);
    wf_complete(lab, "t3", "{'x':3}");
    CHECK_TEXT(
        "RUNNING f:COMPLETED t1:COMPLETED t2:COMPLETED j:COMPLETED t3:COMPLETED t4:SCHEDULED",
        wf_state(lab, id));
    CHECK_TEXT("{\"t3\":{\"x\":3},\"t2\":{\"x\":2}}", wf_text(lab, wf_latest(lab, id, "j").output));
    wf_complete(lab, "t4", NULL);
    CHECK_TEXT(
        "COMPLETED f:COMPLETED t1:COMPLETED t2:COMPLETED j:COMPLETED t3:COMPLETED t4:COMPLETED",
        wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-071 W-072 a branch that fails ends the workflow; a retry has its siblings and "
                "the JOIN wait again")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, FORK_70, NULL, NULL);
    wf_complete(lab, "t1", NULL);
    wf_fail(lab, "t2", "no");
    CHECK_TEXT("FAILED f:COMPLETED t1:COMPLETED t2:FAILED j:CANCELED t3:CANCELED",
               wf_state(lab, id));
    wf_check(lab);
    struct pawl_str join = wf_latest(lab, id, "j").task_id;
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RETRY)));
    CHECK_TEXT("RUNNING f:COMPLETED t1:COMPLETED t2:FAILED j:IN_PROGRESS t3:CANCELED t2:SCHEDULED "
               "t3:SCHEDULED",
               wf_state(lab, id));
    CHECK(pawl_str_equal(join, wf_latest(lab, id, "j").task_id));
    wf_check(lab);
    wf_complete(lab, "t2", NULL);
    wf_complete(lab, "t3", NULL);
    wf_complete(lab, "t4", NULL);
    CHECK_TEXT("COMPLETED f:COMPLETED t1:COMPLETED t2:FAILED j:COMPLETED t3:CANCELED t2:COMPLETED "
               "t3:COMPLETED t4:COMPLETED",
               wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE(
    "W-073 a permissive branch lets the others end, then the JOIN fails; a retry makes it good")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab,
        FORK("f", "[{'name':'t1','taskReferenceName':'t1','retryCount':0,'permissive':true}," S(
                      "t3") "],[{'name':'t2','taskReferenceName':'t2','retryCount':0,'permissive':"
                            "true}]") "," JOIN("j", "'t3','t2'"),
        NULL, NULL);
    wf_fail(lab, "t2", "no");
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("RUNNING f:COMPLETED t1:COMPLETED t2:FAILED j:IN_PROGRESS t3:SCHEDULED",
               wf_state(lab, id));
    wf_check(lab);
    wf_complete(lab, "t3", NULL);
    CHECK_TEXT("FAILED f:COMPLETED t1:COMPLETED t2:FAILED j:FAILED t3:COMPLETED",
               wf_state(lab, id));
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RETRY)));
    CHECK_TEXT("RUNNING f:COMPLETED t1:COMPLETED t2:FAILED j:IN_PROGRESS t3:COMPLETED t2:SCHEDULED",
               wf_state(lab, id));
    wf_check(lab);
    wf_complete(lab, "t2", NULL);
    CHECK_TEXT("COMPLETED f:COMPLETED t1:COMPLETED t2:FAILED j:COMPLETED t3:COMPLETED t2:COMPLETED",
               wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-074 a failure that is tried again is none for the JOIN")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab,
                 FORK("f", "[{'name':'t1','taskReferenceName':'t1','taskDefinition':{'name':'t1','"
                           "retryCount':2,'retryDelaySeconds':20}}],[" S("t2") "]") "," JOIN(
                     "j", "'t1','t2'"),
                 NULL, NULL);
    wf_complete(lab, "t2", NULL);
    wf_fail(lab, "t1", "no");
    CHECK_TEXT("RUNNING f:COMPLETED t1:FAILED t2:COMPLETED j:IN_PROGRESS t1:SCHEDULED",
               wf_state(lab, id));
    wf_check(lab);
    lab_pass(lab, 20 * SECOND_MS);
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("COMPLETED f:COMPLETED t1:FAILED t2:COMPLETED j:COMPLETED t1:COMPLETED",
               wf_state(lab, id));
}

TEST_EACH_STORE("W-075 a fork inside a branch is joined by itself first")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab,
                 FORK("f", "[" FORK("g", "[" S("a") "],[" S("b") "]") "," JOIN(
                               "k", "'a','b'") "],[" S("c") "]") "," JOIN("j", "'k','c'"),
                 NULL, NULL);
    CHECK_TEXT("RUNNING f:COMPLETED g:COMPLETED a:SCHEDULED b:SCHEDULED k:IN_PROGRESS c:SCHEDULED "
               "j:IN_PROGRESS",
               wf_state(lab, id));
    wf_complete(lab, "c", NULL);
    wf_complete(lab, "a", NULL);
    wf_complete(lab, "b", NULL);
    CHECK_TEXT("COMPLETED f:COMPLETED g:COMPLETED a:COMPLETED b:COMPLETED k:COMPLETED c:COMPLETED "
               "j:COMPLETED",
               wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE(
    "W-076 an optional failure in a branch shows in the JOIN, and the workflow completes")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab,
        FORK("f", "[{'name':'a','taskReferenceName':'a','retryCount':0,'optional':true}],[" S(
                      "b") "]") "," JOIN("j", "'a','b'"),
        NULL, NULL);
    wf_fail(lab, "a", "no");
    wf_complete(lab, "b", NULL);
    CHECK_TEXT("COMPLETED f:COMPLETED a:COMPLETED_WITH_ERRORS b:COMPLETED j:COMPLETED_WITH_ERRORS",
               wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE(
    "W-077 a JOIN passes with those that it names, and the workflow waits for the others")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab, FORK("f", "[" S("a") "],[" S("b") "]") "," JOIN("j", "'a'") "," S("z"), NULL, NULL);
    wf_complete(lab, "a", NULL);
    CHECK_TEXT("RUNNING f:COMPLETED a:COMPLETED b:SCHEDULED j:COMPLETED z:SCHEDULED",
               wf_state(lab, id));
    wf_complete(lab, "z", NULL);
    CHECK_TEXT("RUNNING f:COMPLETED a:COMPLETED b:SCHEDULED j:COMPLETED z:COMPLETED",
               wf_state(lab, id));
    wf_complete(lab, "b", NULL);
    CHECK_TEXT("COMPLETED f:COMPLETED a:COMPLETED b:COMPLETED j:COMPLETED z:COMPLETED",
               wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("a JOIN that names nobody waits for each branch, and gives what came last of them")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab, FORK("f", "[" S("a") "," S("b") "],[" S("c") "]") "," JOIN("j", ""), NULL, NULL);
    wf_complete(lab, "c", "{'x':1}");
    wf_complete(lab, "a", "{'x':2}");
    CHECK_TEXT("RUNNING f:COMPLETED a:COMPLETED c:COMPLETED j:IN_PROGRESS b:SCHEDULED",
               wf_state(lab, id));
    wf_complete(lab, "b", "{'x':3}");
    CHECK_TEXT("COMPLETED f:COMPLETED a:COMPLETED c:COMPLETED j:COMPLETED b:COMPLETED",
               wf_state(lab, id));
    CHECK_TEXT("{\"b\":{\"x\":3},\"c\":{\"x\":1}}", wf_text(lab, wf_latest(lab, id, "j").output));
    wf_check(lab);
}

TEST_EACH_STORE("a JOIN does not wait for what a case not taken would have done")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab,
                 FORK("f", "[" SWITCH("sw", "${workflow.input.c}", "'k':[" S("a") "]",
                                      "") "],[" S("b") "]") "," JOIN("j", "'a','b'"),
                 NULL, "{'c':'other'}");
    CHECK_TEXT("RUNNING f:COMPLETED sw:COMPLETED b:SCHEDULED j:IN_PROGRESS", wf_state(lab, id));
    wf_check(lab);
    wf_complete(lab, "b", NULL);
    CHECK_TEXT("COMPLETED f:COMPLETED sw:COMPLETED b:COMPLETED j:COMPLETED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE(
    "W-084 a fork of 500 branches begins in slices, and its JOIN knows its count from the first")
{
    enum { BRANCHES = 500 };
    lab_open(lab);
    struct pawl_str branches = pawl_arena_format(lab->keep, "%s", "");
    struct pawl_str on = branches;
    for (int i = 0; i < BRANCHES; i++) {
        branches = pawl_arena_format(lab->keep, "%.*s%s[{'name':'b','taskReferenceName':'b%d'}]",
                                     PAWL_STR_ARG(branches), i == 0 ? "" : ",", i);
        on = pawl_arena_format(lab->keep, "%.*s%s'b%d'", PAWL_STR_ARG(on), i == 0 ? "" : ",", i);
    }
    struct pawl_str tasks =
        pawl_arena_format(lab->keep,
                          "{'name':'f','taskReferenceName':'f','type':'FORK_JOIN','forkTasks':[%.*"
                          "s]},{'name':'j','taskReferenceName':'j','type':'JOIN','joinOn':[%.*s]}",
                          PAWL_STR_ARG(branches), PAWL_STR_ARG(on));
    struct pawl_str id = wf_start(lab, tasks.ptr, NULL, NULL);
    lab_settle(lab, lab->pawl);
    wf_check(lab);
    struct pawl_str queue = PAWL_STR("b");
    for (int i = 0; i < BRANCHES / 100; i++) {
        struct pawl_claimed claimed = lab_claim(
            lab, CLAIM(.queues = &queue, .queue_count = 1, .worker_id = PAWL_STR("w"), .max = 100));
        CHECK_EQ(100, claimed.count);
        for (size_t k = 0; k < claimed.count; k++) {
            (void)wf_update(lab, claimed.grants[k].fence.task_id, PAWL_UPDATE_COMPLETED, "{'x':1}",
                            NULL);
        }
    }
    struct pawl_workflow_view view = wf_get(lab, id);
    CHECK_EQ(PAWL_WORKFLOW_COMPLETED, view.row.state);
    CHECK_EQ(BRANCHES + 2, view.tasks.count);
    CHECK_EQ(BRANCHES + 2, wf_latest(lab, id, "j").row.seq);
    CHECK_TEXT("0", lab_sql(lab, "SELECT open FROM workflow"));
    wf_check(lab);
}

TEST_EACH_STORE("what is terminated with more open tasks than a slice is cancelled to the last")
{
    enum { BRANCHES = 400 };
    lab_open(lab);
    struct pawl_str branches = pawl_arena_format(lab->keep, "%s", "");
    for (int i = 0; i < BRANCHES; i++) {
        branches = pawl_arena_format(lab->keep, "%.*s%s[{'name':'b','taskReferenceName':'b%d'}]",
                                     PAWL_STR_ARG(branches), i == 0 ? "" : ",", i);
    }
    struct pawl_str tasks =
        pawl_arena_format(lab->keep,
                          "{'name':'f','taskReferenceName':'f','type':'FORK_JOIN','forkTasks':[%.*"
                          "s]},{'name':'j','taskReferenceName':'j','type':'JOIN','joinOn':[]}",
                          PAWL_STR_ARG(branches));
    struct pawl_str id = wf_start(lab, tasks.ptr, NULL, NULL);
    lab_settle(lab, lab->pawl);
    CHECK_DONE(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE)));
    lab_settle(lab, lab->pawl);
    CHECK_TEXT("401", lab_sql(lab, "SELECT COUNT(*) FROM record WHERE status = 7"));
    CHECK_TEXT("0", lab_sql(lab, "SELECT open FROM workflow"));
    wf_check(lab);
}

TEST_EACH_STORE("W-085 a fork without its JOIN fails when it is reached")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, FORK("f", "[" S("a") "]") "," S("z"), NULL, NULL);
    CHECK_TEXT("FAILED", wf_state(lab, id));
    CHECK(strstr(wf_reason(lab, id), "followed by a JOIN") != NULL);
    wf_check(lab);
}

TEST_EACH_STORE("W-048 variables are set, and read by the output")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab,
                 "{'name':'v','taskReferenceName':'v','type':'SET_VARIABLE','inputParameters':{'v':"
                 "2,'w':[1]}}",
                 "'variables':{'v':1,'k':'x'},'outputParameters':{'v':'${workflow.variables.v}','w'"
                 ":'${workflow.variables.w}','k':'${workflow.variables.k}'}",
                 NULL);
    CHECK_TEXT("COMPLETED v:COMPLETED", wf_state(lab, id));
    CHECK_TEXT("{\"v\":2,\"w\":[1],\"k\":\"x\"}", wf_output(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-049 variables that are too large are left as they were")
{
    lab_open(lab);
    struct pawl_str large = pawl_arena_format(lab->keep, "{'b':'%.*s'}", 300 * 1024,
                                              lab_text(lab, 300 * 1024, 'b').ptr);
    struct pawl_str id = wf_start(lab,
                                  "{'name':'v','taskReferenceName':'v','type':'SET_VARIABLE','"
                                  "inputParameters':{'v':'${workflow.input.b}'}}",
                                  "'variables':{'v':1}", large.ptr);
    CHECK_TEXT("FAILED v:FAILED_WITH_TERMINAL_ERROR", wf_state(lab, id));
    CHECK_TEXT("{\"v\":1}",
               wf_text(lab, wf_get(lab, id).payloads[PAWL_WORKFLOW_PAYLOAD_VARIABLES]));
}

#define TERMINATE(input) \
    "{'name':'end','taskReferenceName':'end','type':'TERMINATE','inputParameters':{" input "}}"

TEST_EACH_STORE("W-117 TERMINATE ends the workflow with its own output, whatever is open")
{
    static const struct {
        const char *output;
        const char *want;
    } rows[] = {{",'workflowOutput':{'a':1}", "{\"a\":1}"},
                {",'workflowOutput':5", "{\"output\":5}"},
                {"", "{}"}};
    lab_open(lab);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       FORK("f", "[" S("s") "],[" TERMINATE(
                                     "'terminationStatus':'COMPLETED'%s") "]") "," JOIN("j", "'s'"),
                       rows[i].output);
        struct pawl_str id = wf_start(lab, text, "'outputParameters':{'x':1}", NULL);
        CHECK_TEXT("COMPLETED f:COMPLETED s:CANCELED end:COMPLETED j:CANCELED", wf_state(lab, id));
        CHECK_TEXT(rows[i].want, wf_output(lab, id));
    }
    wf_check(lab);
}

TEST_EACH_STORE("W-118 TERMINATE in a case fails the workflow with its reason")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab,
        SWITCH("sw", "k",
               "'k':[" TERMINATE("'terminationStatus':'FAILED','terminationReason':'bad'") "]",
               "") "," S("z"),
        NULL, NULL);
    CHECK_TEXT("FAILED sw:COMPLETED end:COMPLETED", wf_state(lab, id));
    CHECK_TEXT("bad", wf_reason(lab, id));
    id = wf_start(lab, TERMINATE("'terminationStatus':'${workflow.input.s}'"), NULL,
                  "{'s':'MAYBE'}");
    CHECK_TEXT("FAILED end:FAILED", wf_state(lab, id));
    wf_check(lab);
}

#define WAIT(input) \
    "{'name':'wait','taskReferenceName':'wait','type':'WAIT','inputParameters':{" input "}}"

TEST_SQLITE("W-119 a WAIT waits to the millisecond, until an instant, or for somebody")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, WAIT("'duration':'2 seconds'"), NULL, NULL);
    CHECK_TEXT("RUNNING wait:IN_PROGRESS", wf_state(lab, id));
    lab_pass(lab, 2 * SECOND_MS - 1);
    CHECK_TEXT("RUNNING wait:IN_PROGRESS", wf_state(lab, id));
    lab_pass(lab, 1);
    CHECK_TEXT("COMPLETED wait:COMPLETED", wf_state(lab, id));
    CHECK_TEXT(
        "COMPLETED wait:COMPLETED",
        wf_state(lab, wf_start(lab, WAIT("'until':'1970-01-02 10:00 GMT+02:00'"), NULL, NULL)));
    CHECK_TEXT(
        "FAILED wait:FAILED_WITH_TERMINAL_ERROR",
        wf_state(lab, wf_start(lab, WAIT("'until':'2030-01-01','duration':'${workflow.input.d}'"),
                               NULL, "{'d':'1s'}")));
    CHECK_TEXT("FAILED wait:FAILED_WITH_TERMINAL_ERROR",
               wf_state(lab, wf_start(lab, WAIT("'duration':'${workflow.input.d}'"), NULL,
                                      "{'d':'abc'}")));
    id = wf_start(lab, WAIT(""), NULL, NULL);
    lab_pass(lab, 3600 * SECOND_MS);
    CHECK_TEXT("RUNNING wait:IN_PROGRESS", wf_state(lab, id));
    (void)wf_update(lab, wf_record(lab, id, 1).task_id, PAWL_UPDATE_COMPLETED, "{'k':1}", NULL);
    CHECK_TEXT("COMPLETED wait:COMPLETED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("a WAIT for a duration ends by itself on each store")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, WAIT("'duration':'1m'") "," S("z"), NULL, NULL);
    lab_pass(lab, 60 * SECOND_MS);
    CHECK_TEXT("RUNNING wait:COMPLETED z:SCHEDULED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-120 a WAIT without an end is timed out by its definition, and tried again")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab,
                 "{'name':'wait','taskReferenceName':'wait','type':'WAIT','taskDefinition':{'name':"
                 "'wait','timeoutSeconds':20,'timeoutPolicy':'RETRY','retryCount':1,'"
                 "retryDelaySeconds':0,'responseTimeoutSeconds':10}}," S("s"),
                 NULL, NULL);
    lab_pass(lab, 20 * SECOND_MS);
    CHECK_TEXT("RUNNING wait:TIMED_OUT wait:IN_PROGRESS", wf_state(lab, id));
    (void)wf_update(lab, wf_record(lab, id, 2).task_id, PAWL_UPDATE_COMPLETED, NULL, NULL);
    CHECK_TEXT("RUNNING wait:TIMED_OUT wait:COMPLETED s:SCHEDULED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-121 a HUMAN that is open holds up no time-out of others")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab,
        FORK("f", "[{'name':'h','taskReferenceName':'h','type':'HUMAN'}],[{'name':'s','"
                  "taskReferenceName':'s','taskDefinition':{'name':'s','retryCount':1,'"
                  "retryDelaySeconds':0,'responseTimeoutSeconds':20}}]") "," JOIN("j", "'h','s'"),
        NULL, NULL);
    CHECK(wf_poll(lab, "s").len > 0);
    lab_pass(lab, 20 * SECOND_MS);
    CHECK_TEXT("RUNNING f:COMPLETED h:IN_PROGRESS s:TIMED_OUT j:IN_PROGRESS s:SCHEDULED",
               wf_state(lab, id));
    (void)wf_update(lab, wf_record(lab, id, 2).task_id, PAWL_UPDATE_COMPLETED, NULL, NULL);
    wf_complete(lab, "s", NULL);
    CHECK_TEXT("COMPLETED f:COMPLETED h:COMPLETED s:TIMED_OUT j:COMPLETED s:COMPLETED",
               wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE(
    "W-054 a signal reaches the WAIT that is open; when nothing waits it reaches nobody")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, WAIT("") "," S("t2"), NULL, NULL);
    struct pawl_workflow_operated operated;
    const struct pawl_workflow_operate *signal =
        OPERATE(.verb = PAWL_WORKFLOW_SIGNAL, .status = PAWL_RECORD_COMPLETED,
                .task_output = PAWL_STR("{\"k\":1}"));
    CHECK_DONE(pawl_workflow_operate(lab->pawl, id, signal, lab->keep, &operated, &lab->err));
    CHECK(pawl_str_equal(wf_record(lab, id, 1).task_id, operated.task_id));
    CHECK_TEXT("RUNNING wait:COMPLETED t2:SCHEDULED", wf_state(lab, id));
    CHECK_TEXT("{\"k\":1}", wf_text(lab, wf_record(lab, id, 1).output));
    CHECK_DONE(pawl_workflow_operate(lab->pawl, id, signal, lab->keep, &operated, &lab->err));
    CHECK_EQ(0, operated.task_id.len);
    CHECK_REFUSED(PAWL_NOT_FOUND, pawl_workflow_operate(lab->pawl, PAWL_STR("none"), signal,
                                                        lab->keep, &operated, &lab->err));
}

TEST_EACH_STORE("W-132 a NOOP may be the last")
{
    lab_open(lab);
    CHECK_TEXT("COMPLETED n:COMPLETED",
               wf_state(lab, wf_start(lab, "{'name':'n','taskReferenceName':'n','type':'NOOP'}",
                                      NULL, NULL)));
}

TEST_EACH_STORE(
    "W-131 a DYNAMIC task has the name that its input says, with a definition of its own")
{
    lab_open(lab);
    static const char *const tasks =
        "{'name':'d','taskReferenceName':'d','type':'DYNAMIC','dynamicTaskNameParam':'which','"
        "inputParameters':{'which':'${workflow.input.n}'},'taskDefinition':{'name':'d','retryCount'"
        ":0}}";
    struct pawl_str id = wf_start(lab, tasks, NULL, "{'n':'mail'}");
    wf_complete(lab, "mail", NULL);
    CHECK_TEXT("COMPLETED d:COMPLETED", wf_state(lab, id));
    CHECK_TEXT("FAILED", wf_state(lab, wf_start(lab, tasks, NULL, NULL)));
    id = wf_start(lab,
                  "{'name':'d','taskReferenceName':'d','type':'DYNAMIC','dynamicTaskNameParam':'"
                  "which','inputParameters':{'which':'mail'}}",
                  NULL, NULL);
    CHECK_TEXT("FAILED", wf_state(lab, id));
    CHECK(strstr(wf_reason(lab, id), "no definition of the task mail") != NULL);
}

TEST_EACH_STORE("W-135 a task goes to the domain that was named last, or to none")
{
    lab_open(lab);
    static const struct {
        const char *domains;
        const char *queue;
    } rows[] = {{"{\"*\":\"d1, d2\"}", "d2:t1"},
                {"{\"t1\":\"d1,no_domain\",\"*\":\"d9\"}", "t1"},
                {"{\"t2\":\"d1\"}", "t1"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_workflow_started started;
        struct pawl_workflow_start ask = {.definition = wf_definition(lab, S("t1"), NULL),
                                          .domains = pawl_str_of(rows[i].domains)};
        CHECK_DONE(pawl_workflow_start(lab->pawl, &ask, lab->keep, &started, &lab->err));
        CHECK(pawl_str_equal(wf_record(lab, started.id, 1).task_id, wf_poll(lab, rows[i].queue)));
    }
}

TEST_EACH_STORE("a type or an evaluator that is not here fails the workflow with its name")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab,
                                  "{'name':'x','taskReferenceName':'x','type':'JSON_JQ_TRANSFORM','"
                                  "inputParameters':{'queryExpression':'.'}}",
                                  NULL, NULL);
    CHECK_TEXT("FAILED", wf_state(lab, id));
    CHECK(strstr(wf_reason(lab, id), "JSON_JQ_TRANSFORM") != NULL);
    id = wf_start(lab,
                  "{'name':'x','taskReferenceName':'x','type':'SWITCH','evaluatorType':'javascript'"
                  ",'expression':'1','decisionCases':{'a':[" S("a") "]}}",
                  NULL, NULL);
    CHECK(strstr(wf_reason(lab, id), "javascript") != NULL);
    wf_check(lab);
}

TEST_EACH_STORE("a thousand steps that run at once are a loop, in slices")
{
    enum { STEPS = 1000 };
    lab_open(lab);
    struct pawl_str tasks = pawl_arena_format(lab->keep, "%s", "");
    for (int i = 0; i < STEPS; i++) {
        tasks = pawl_arena_format(lab->keep,
                                  "%.*s%s{'name':'n','taskReferenceName':'n%d','type':'NOOP'}",
                                  PAWL_STR_ARG(tasks), i == 0 ? "" : ",", i);
    }
    struct pawl_str id = wf_start(lab, tasks.ptr, NULL, NULL);
    lab_settle(lab, lab->pawl);
    struct pawl_workflow_view view = wf_get(lab, id);
    CHECK_EQ(PAWL_WORKFLOW_COMPLETED, view.row.state);
    CHECK_EQ(STEPS, view.tasks.count);
    wf_check(lab);
}

TEST_MAIN()
