/* Workflows of tasks that workers do: in sequence, tried again, timed out. Numbers are those of the
 * catalogue. */
#include "workflows.h"

#include "base/arena.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define T1 "{'name':'t1','taskReferenceName':'t1'}"
#define T2 "{'name':'t2','taskReferenceName':'t2'}"
/* A task with a definition of its own. */
#define TASK(ref, definition)                                                        \
    "{'name':'" ref "','taskReferenceName':'" ref "','taskDefinition':{'name':'" ref \
    "'," definition "}}"

TEST_EACH_STORE("W-001 W-023 tasks without definitions go one after the other, and the workflow's "
                "output is what its definition says")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab, T1 "," T2, "'outputParameters':{'x':'${t2.output.x}'}", NULL);
    CHECK_TEXT("RUNNING t1:SCHEDULED", wf_state(lab, id));
    struct pawl_str task = wf_poll(lab, "t1");
    CHECK_TEXT("RUNNING t1:IN_PROGRESS", wf_state(lab, id));
    (void)wf_update(lab, task, PAWL_UPDATE_COMPLETED, NULL, NULL);
    CHECK_TEXT("RUNNING t1:COMPLETED t2:SCHEDULED", wf_state(lab, id));
    CHECK_EQ(0, wf_poll(lab, "t1").len);
    wf_complete(lab, "t2", "{'x':1}");
    CHECK_TEXT("COMPLETED t1:COMPLETED t2:COMPLETED", wf_state(lab, id));
    CHECK_TEXT("{\"x\":1}", wf_output(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-002 nulls of the input arrive as nulls")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab,
                                  "{'name':'t1','taskReferenceName':'t1','inputParameters':{'a':'${"
                                  "workflow.input.a}','b':'${workflow.input.b}'}}",
                                  NULL, "{'a':null}");
    CHECK_TEXT("{\"a\":null,\"b\":null}", wf_text(lab, wf_record(lab, id, 1).input));
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED", wf_state(lab, id));
}

TEST_EACH_STORE("the largest counts and times of a definition are those of tasks that can be read and are never due")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab,
                 "{'name':'t1','taskReferenceName':'t1','retryCount':2147483647,'taskDefinition':{'name':'t1',"
                 "'retryDelaySeconds':2147483647,'timeoutSeconds':9223372036854775807,"
                 "'responseTimeoutSeconds':9223372036854775807,'totalTimeoutSeconds':9223372036854775807}}",
                 "'timeoutSeconds':9223372036854775807,'timeoutPolicy':'TIME_OUT_WF'", NULL);
    lab_pass(lab, 24 * 3600 * SECOND_MS);
    CHECK_TEXT("RUNNING t1:SCHEDULED", wf_state(lab, id));
    (void)wf_poll(lab, "t1");
    lab_pass(lab, 1000 * SECOND_MS);
    CHECK_TEXT("RUNNING t1:IN_PROGRESS", wf_state(lab, id));
    struct pawl_str task = wf_record(lab, id, 1).task_id;
    (void)wf_update(lab, task, PAWL_UPDATE_FAILED, NULL, "no");
    CHECK_TEXT("RUNNING t1:FAILED t1:SCHEDULED", wf_state(lab, id));
    wf_check(lab);
    CHECK_REFUSED(PAWL_OK, wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE)));
}

TEST_EACH_STORE("W-003 a failure for good ends the workflow, and is named")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, TASK("t1", "'retryCount':2"), NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    (void)wf_update(lab, task, PAWL_UPDATE_FAILED_WITH_TERMINAL_ERROR, NULL, "no such card");
    CHECK_TEXT("FAILED t1:FAILED_WITH_TERMINAL_ERROR", wf_state(lab, id));
    CHECK(strstr(wf_reason(lab, id), "no such card") != NULL);
    CHECK(strstr(wf_reason(lab, id), wf_text(lab, task)) != NULL);
    struct pawl_workflow_view view = wf_get(lab, id);
    CHECK(strstr(wf_text(lab, view.payloads[PAWL_WORKFLOW_PAYLOAD_FAILED]),
                 "\"references\":[\"t1\"]") != NULL);
    CHECK(pawl_str_equal(task, view.failed_task_id));
    wf_check(lab);
}

TEST_EACH_STORE(
    "W-004 a worker that is silent for too long is timed out, and its task tried again by another")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab, TASK("t1", "'retryCount':1,'retryDelaySeconds':0,'responseTimeoutSeconds':2"),
                 NULL, NULL);
    struct pawl_str first = wf_poll(lab, "t1");
    lab_pass(lab, 2 * SECOND_MS - (lab->store == LAB_SQLITE ? 1 : 1500));
    CHECK_TEXT("RUNNING t1:IN_PROGRESS", wf_state(lab, id));
    lab_pass(lab, 2 * SECOND_MS);
    CHECK_TEXT("RUNNING t1:TIMED_OUT t1:SCHEDULED", wf_state(lab, id));
    struct pawl_record_view second = wf_record(lab, id, 2);
    CHECK_EQ(1, second.row.attempt);
    CHECK(pawl_str_equal(first, second.predecessor_id));
    CHECK(wf_update(lab, first, PAWL_UPDATE_COMPLETED, NULL, NULL).is_ignored);
    CHECK_TEXT("RUNNING t1:TIMED_OUT t1:SCHEDULED", wf_state(lab, id));
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("COMPLETED t1:TIMED_OUT t1:COMPLETED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE(
    "W-005 a task that goes on later is the same one, with its output and one claim more")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1, NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    struct pawl_updated updated;
    struct pawl_update ask = {.status = PAWL_UPDATE_IN_PROGRESS,
                              .output = PAWL_STR("{\"p\":1}"),
                              .callback_after_ms = 20 * SECOND_MS,
                              .worker_id = PAWL_STR("w")};
    CHECK_OK(pawl_task_update(lab->pawl, task, &ask, lab->keep, &updated, &lab->err), &lab->err);
    CHECK_TEXT("RUNNING t1:SCHEDULED", wf_state(lab, id));
    CHECK_EQ(20, wf_record(lab, id, 1).row.callback_after_s);
    CHECK_EQ(0, wf_poll(lab, "t1").len);
    lab_pass(lab, 20 * SECOND_MS);
    CHECK(pawl_str_equal(task, wf_poll(lab, "t1")));
    struct pawl_record_view record = wf_record(lab, id, 1);
    CHECK_EQ(2, record.claims);
    CHECK_TEXT("{\"p\":1}", wf_text(lab, record.output));
    (void)wf_update(lab, task, PAWL_UPDATE_COMPLETED, NULL, NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE(
    "W-006 tries are records of their own, each pointing to the one before, until they are spent")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab, TASK("t1", "'retryCount':3,'retryDelaySeconds':0"), NULL, NULL);
    for (int i = 0; i < 4; i++) wf_fail(lab, "t1", "no");
    CHECK_TEXT("FAILED t1:FAILED t1:FAILED t1:FAILED t1:FAILED", wf_state(lab, id));
    for (int64_t seq = 1; seq <= 4; seq++) {
        struct pawl_record_view record = wf_record(lab, id, seq);
        CHECK_EQ(seq - 1, record.row.attempt);
        CHECK_EQ(seq < 4, record.row.is_superseded);
        if (seq > 1)
            CHECK(pawl_str_equal(wf_record(lab, id, seq - 1).task_id, record.predecessor_id));
    }
    wf_check(lab);
}

TEST_EACH_STORE("W-007 the tries of the workflow's task come before those of its definition")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab,
                 "{'name':'t1','taskReferenceName':'t1','retryCount':1,'taskDefinition':{'name':'"
                 "t1','retryCount':5,'retryDelaySeconds':0}}",
                 NULL, NULL);
    wf_fail(lab, "t1", "no");
    wf_fail(lab, "t1", "no");
    CHECK_TEXT("FAILED t1:FAILED t1:FAILED", wf_state(lab, id));
}

/* The delays of tries that follow each other. */
static const char *delays(struct lab *lab, const char *definition, int tries)
{
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "{'name':'t1','taskReferenceName':'t1','taskDefinition':{'name':'t1','retryCount':9,%s}}",
        definition);
    struct pawl_str id = wf_start(lab, text, NULL, NULL);
    struct pawl_str all = pawl_arena_format(lab->keep, "%s", "");
    for (int i = 0; i < tries; i++) {
        wf_fail(lab, "t1", "no");
        int64_t delay_s = wf_latest(lab, id, "t1").row.callback_after_s;
        all = pawl_arena_format(lab->keep, "%.*s%s%" PRId64, PAWL_STR_ARG(all), i == 0 ? "" : " ",
                                delay_s);
        CHECK(delay_s == 0 || wf_poll(lab, "t1").len == 0);
        lab_pass(lab, delay_s * SECOND_MS);
    }
    CHECK_OK(wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_TERMINATE)), &lab->err);
    return all.ptr;
}

TEST_EACH_STORE("case-B25 W-008 the delay doubles up to its cap")
{
    lab_open(lab);
    CHECK_TEXT(
        "2 4 5 5 5",
        delays(lab,
               "'retryLogic':'EXPONENTIAL_BACKOFF','retryDelaySeconds':2,'maxRetryDelaySeconds':5",
               5));
}

TEST_EACH_STORE("case-B25 W-009 the linear delay grows by its scale")
{
    lab_open(lab);
    CHECK_TEXT("2 4 6",
               delays(lab,
                      "'retryLogic':'LINEAR_BACKOFF','retryDelaySeconds':1,'backoffScaleFactor':2",
                      3));
    CHECK_TEXT("7 7", delays(lab, "'retryDelaySeconds':7", 2));
}

TEST_SQLITE("W-010 jitter is added in milliseconds, beyond the delay that is shown")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab, TASK("t1", "'retryCount':9,'retryDelaySeconds':1,'backoffJitterMs':500"), NULL, NULL);
    wf_fail(lab, "t1", "no");
    CHECK_EQ(1, wf_latest(lab, id, "t1").row.callback_after_s);
    lab_pass(lab, SECOND_MS - 1);
    CHECK_EQ(0, wf_poll(lab, "t1").len);
    lab_pass(lab, 501);
    CHECK(wf_poll(lab, "t1").len > 0);
}

TEST_SQLITE("W-011 the budget of all tries counts from the first, delays and all")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab,
                                  TASK("t1", "'retryCount':10,'retryDelaySeconds':1,'"
                                             "totalTimeoutSeconds':3,'timeoutPolicy':'RETRY'"),
                                  NULL, NULL);
    for (int i = 0; i < 2; i++) {
        wf_fail(lab, "t1", "no");
        lab_pass(lab, SECOND_MS);
    }
    wf_fail(lab, "t1", "no");
    CHECK_TEXT("RUNNING t1:FAILED t1:FAILED t1:FAILED t1:SCHEDULED", wf_state(lab, id));
    lab_pass(lab, SECOND_MS);
    CHECK_TEXT("TIMED_OUT t1:FAILED t1:FAILED t1:FAILED t1:TIMED_OUT", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-012 a task held beyond the budget of all tries is timed out, and the workflow")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab, TASK("t1", "'retryCount':1,'totalTimeoutSeconds':20,'timeoutPolicy':'RETRY'"),
                 NULL, NULL);
    CHECK(wf_poll(lab, "t1").len > 0);
    lab_pass(lab, 20 * SECOND_MS);
    CHECK_TEXT("TIMED_OUT t1:TIMED_OUT", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-013 a failure after the budget is not tried again, whatever the policy")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab,
                 TASK("t1", "'retryCount':5,'retryDelaySeconds':0,'totalTimeoutSeconds':20,'"
                            "timeoutPolicy':'ALERT_ONLY'"),
                 NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    lab_pass(lab, 21 * SECOND_MS);
    CHECK_TEXT("RUNNING t1:IN_PROGRESS", wf_state(lab, id));
    (void)wf_update(lab, task, PAWL_UPDATE_FAILED, NULL, "no");
    CHECK_TEXT("FAILED t1:FAILED", wf_state(lab, id));
}

TEST_EACH_STORE("W-014 an attempt that takes too long ends the workflow by the policy TIME_OUT_WF")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab, TASK("t1", "'retryCount':3,'timeoutSeconds':20,'timeoutPolicy':'TIME_OUT_WF'"), NULL,
        NULL);
    CHECK(wf_poll(lab, "t1").len > 0);
    lab_pass(lab, 20 * SECOND_MS);
    CHECK_TEXT("TIMED_OUT t1:TIMED_OUT", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-015 and is tried again by the policy RETRY, until the tries are spent")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab,
        TASK("t1",
             "'retryCount':1,'retryDelaySeconds':0,'timeoutSeconds':20,'timeoutPolicy':'RETRY'"),
        NULL, NULL);
    for (int i = 0; i < 2; i++) {
        CHECK(wf_poll(lab, "t1").len > 0);
        lab_pass(lab, 20 * SECOND_MS);
    }
    CHECK_TEXT("TIMED_OUT t1:TIMED_OUT t1:TIMED_OUT", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-016 what nobody polls in time is timed out, and not given out any more")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab, TASK("t1", "'retryCount':3,'pollTimeoutSeconds':20,'timeoutPolicy':'TIME_OUT_WF'"),
        NULL, NULL);
    lab_pass(lab, 20 * SECOND_MS);
    CHECK_TEXT("TIMED_OUT t1:TIMED_OUT", wf_state(lab, id));
    CHECK_EQ(0, wf_poll(lab, "t1").len);
}

TEST_EACH_STORE(
    "W-017 the silence of a worker counts from its poll, not from a longer poll time-out")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab,
                 TASK("t1", "'retryCount':1,'retryDelaySeconds':0,'pollTimeoutSeconds':300,'"
                            "responseTimeoutSeconds':20,'timeoutPolicy':'RETRY'"),
                 NULL, NULL);
    CHECK(wf_poll(lab, "t1").len > 0);
    lab_pass(lab, 20 * SECOND_MS);
    CHECK_TEXT("RUNNING t1:TIMED_OUT t1:SCHEDULED", wf_state(lab, id));
}

TEST_EACH_STORE("W-018 heartbeats keep a task for longer than its worker may be silent")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, TASK("t1", "'responseTimeoutSeconds':50"), NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    for (int i = 0; i < 6; i++) {
        struct pawl_updated updated;
        struct pawl_update beat = {
            .status = PAWL_UPDATE_IN_PROGRESS, .worker_id = PAWL_STR("w"), .extends_lease = true};
        lab_pass(lab, 20 * SECOND_MS);
        CHECK_OK(pawl_task_update(lab->pawl, task, &beat, lab->keep, &updated, &lab->err),
                 &lab->err);
        CHECK_EQ(PAWL_LEASE_WORD_HELD, updated.lease);
    }
    (void)wf_update(lab, task, PAWL_UPDATE_COMPLETED, NULL, NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED", wf_state(lab, id));
}

TEST_EACH_STORE("W-019 an optional task is tried again, and then gives up without the workflow")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab,
                 "{'name':'t1','taskReferenceName':'t1','optional':true,'taskDefinition':{'name':'"
                 "t1','retryCount':1,'retryDelaySeconds':0}}," T2,
                 NULL, NULL);
    wf_fail(lab, "t1", "no");
    wf_fail(lab, "t1", "no");
    CHECK_TEXT("RUNNING t1:FAILED t1:COMPLETED_WITH_ERRORS t2:SCHEDULED", wf_state(lab, id));
    wf_complete(lab, "t2", NULL);
    CHECK_TEXT("COMPLETED t1:FAILED t1:COMPLETED_WITH_ERRORS t2:COMPLETED", wf_state(lab, id));
    wf_check(lab);
}

TEST_EACH_STORE("W-020 a permissive task lets the others go on, and fails the workflow at its end")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab,
                 "{'name':'t1','taskReferenceName':'t1','permissive':true,'taskDefinition':{'name':"
                 "'t1','retryCount':1,'retryDelaySeconds':0}}," T2,
                 NULL, NULL);
    wf_fail(lab, "t1", "first");
    wf_fail(lab, "t1", "second");
    CHECK_TEXT("RUNNING t1:FAILED t1:FAILED t2:SCHEDULED", wf_state(lab, id));
    wf_complete(lab, "t2", NULL);
    CHECK_TEXT("FAILED t1:FAILED t1:FAILED t2:COMPLETED", wf_state(lab, id));
    CHECK(strstr(wf_reason(lab, id), "second") != NULL);
    wf_check(lab);
}

TEST_EACH_STORE("W-021 a task that is both is optional")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab,
                                  "{'name':'t1','taskReferenceName':'t1','permissive':true,'"
                                  "optional':true,'retryCount':0}," T2,
                                  NULL, NULL);
    wf_fail(lab, "t1", "no");
    wf_complete(lab, "t2", NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED_WITH_ERRORS t2:COMPLETED", wf_state(lab, id));
}

TEST_EACH_STORE("W-022 a task with a start delay is offered when that is over")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab, "{'name':'t1','taskReferenceName':'t1','startDelay':20}", NULL, NULL);
    CHECK_EQ(0, wf_poll(lab, "t1").len);
    lab_pass(lab, 20 * SECOND_MS);
    wf_complete(lab, "t1", NULL);
    CHECK_TEXT("COMPLETED t1:COMPLETED", wf_state(lab, id));
}

TEST_EACH_STORE("W-024 the input template fills what the parameters lack, and what became null")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab,
        "{'name':'t1','taskReferenceName':'t1','inputParameters':{'a':5,'c':'${workflow.input.none}"
        "'},"
        "'taskDefinition':{'name':'t1','inputTemplate':{'a':1,'b':'${workflow.input.q}','c':3}}}",
        NULL, "{'q':'z'}");
    CHECK_TEXT("{\"a\":5,\"c\":3,\"b\":\"z\"}", wf_text(lab, wf_record(lab, id, 1).input));
}

TEST_EACH_STORE("W-025 each try sees its own id in its input")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab,
                 "{'name':'t1','taskReferenceName':'t1','inputParameters':{'id':'${CPEWF_TASK_ID}'}"
                 ",'taskDefinition':{'name':'t1','retryCount':1,'retryDelaySeconds':0}}",
                 NULL, NULL);
    wf_fail(lab, "t1", "no");
    for (int64_t seq = 1; seq <= 2; seq++) {
        struct pawl_record_view record = wf_record(lab, id, seq);
        struct pawl_str want =
            pawl_arena_format(lab->keep, "{\"id\":\"%.*s\"}", PAWL_STR_ARG(record.task_id));
        CHECK_TEXT(want.ptr, wf_text(lab, record.input));
    }
}

TEST_EACH_STORE("W-026 of two words about one task the first counts")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1 "," T2, NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    CHECK(!wf_update(lab, task, PAWL_UPDATE_COMPLETED, NULL, NULL).is_ignored);
    CHECK(wf_update(lab, task, PAWL_UPDATE_FAILED, NULL, "no").is_ignored);
    CHECK_TEXT("RUNNING t1:COMPLETED t2:SCHEDULED", wf_state(lab, id));
}

TEST_EACH_STORE("W-031 of tasks of several workflows the one of the highest priority comes first")
{
    lab_open(lab);
    struct pawl_str ids[3];
    for (int i = 0; i < 3; i++) {
        struct pawl_workflow_started started;
        struct pawl_workflow_start ask = {.definition = wf_definition(lab, T1, NULL),
                                          .priority = i == 0   ? 0
                                                      : i == 1 ? 50
                                                               : 99};
        CHECK_OK(pawl_workflow_start(lab->pawl, &ask, lab->keep, &started, &lab->err), &lab->err);
        ids[i] = started.id;
    }
    for (int i = 2; i >= 0; i--)
        CHECK(pawl_str_equal(wf_record(lab, ids[i], 1).task_id, wf_poll(lab, "t1")));
}

TEST_EACH_STORE("W-064 values keep their kinds; in a text they are written out")
{
    lab_open(lab);
    struct pawl_str id = wf_start(
        lab,
        "{'name':'t1','taskReferenceName':'t1','inputParameters':{'o':'${workflow.input.o}','l':'${"
        "workflow.input.l}',"
        "'t':'a ${workflow.input.i} "
        "b','e':'$${x}','m':'${workflow.input.none}','deep':{'n':['${workflow.input.b}']}}}",
        NULL, "{'o':{'k':1.50},'l':[1,'x'],'i':5,'b':true}");
    CHECK_TEXT("{\"o\":{\"k\":1.50},\"l\":[1,\"x\"],\"t\":\"a 5 "
               "b\",\"e\":\"${x}\",\"m\":null,\"deep\":{\"n\":[true]}}",
               wf_text(lab, wf_record(lab, id, 1).input));
}

TEST_EACH_STORE("W-065 W-066 a later task reads what an earlier one gave back, and when it ended")
{
    lab_open(lab);
    struct pawl_str id =
        wf_start(lab,
                 T1 ",{'name':'t2','taskReferenceName':'t2','inputParameters':{'n':'${t1.output.l[?"
                    "(@.q>1)].n}','c':'${t1.output.l.length()}',"
                    "'last':'${t1.output.l[-1].n}','s':'${t1.status}','end':'${t1.endTime}','later'"
                    ":'${t3.output}'}},{'name':'t3','taskReferenceName':'t3'}",
                 NULL, NULL);
    wf_complete(lab, "t1", "{'l':[{'n':'a','q':1},{'n':'b','q':2}]}");
    struct pawl_record_view first = wf_record(lab, id, 1);
    struct pawl_str want = pawl_arena_format(
        lab->keep,
        "{\"n\":[\"b\"],\"c\":2,\"last\":\"b\",\"s\":\"COMPLETED\",\"end\":%" PRId64
        ",\"later\":null}",
        first.finished_at_ms);
    CHECK_TEXT(want.ptr, wf_text(lab, wf_record(lab, id, 2).input));
}

TEST_EACH_STORE("a workflow of one definition shares the snapshot of another")
{
    lab_open(lab);
    (void)wf_start(lab, T1, NULL, NULL);
    (void)wf_start(lab, T1, NULL, NULL);
    (void)wf_start(lab, T2, NULL, NULL);
    CHECK_TEXT("2", lab_sql(lab, "SELECT COUNT(*) FROM snapshot"));
}

TEST_EACH_STORE(
    "a native worker completes a workflow's task by its fence, and saying it again is no harm")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, T1 "," T2, NULL, NULL);
    struct pawl_str queue = PAWL_STR("t1");
    struct pawl_claimed claimed =
        lab_claim(lab, CLAIM(.queues = &queue, .queue_count = 1, .worker_id = PAWL_STR("n")));
    CHECK_EQ(1, claimed.count);
    struct pawl_fence fence = claimed.grants[0].fence;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(pawl_task_complete(lab->pawl, fence.task_id, PAWL_STR("[1]"),
                                    CHANGE(.fence = &fence), &lab->err),
                 &lab->err);
    }
    CHECK_TEXT("RUNNING t1:COMPLETED t2:SCHEDULED", wf_state(lab, id));
    CHECK_TEXT("{\"result\":[1]}", wf_text(lab, wf_record(lab, id, 1).output));
    CHECK_REFUSED(PAWL_LEASE_LOST,
                  pawl_task_fail(lab->pawl, fence.task_id, FAILURE(.error = PAWL_STR("no")),
                                 CHANGE(.fence = &fence), &lab->err));
    wf_check(lab);
}

TEST_EACH_STORE("a workflow whose definition cannot be read is left alone by timers, and told of to who asks")
{
    lab_open(lab);
    struct pawl_str id = wf_start(lab, TASK("t1", "'responseTimeoutSeconds':20"), NULL, NULL);
    struct pawl_str task = wf_poll(lab, "t1");
    (void)lab_sql(lab, "UPDATE snapshot SET body = '{}'");
    lab_pass(lab, 21 * SECOND_MS);
    struct pawl_updated updated;
    struct pawl_update ask = {.status = PAWL_UPDATE_COMPLETED, .worker_id = PAWL_STR("w")};
    CHECK_REFUSED(PAWL_CORRUPT, pawl_task_update(lab->pawl, task, &ask, lab->keep, &updated, &lab->err));
    CHECK_REFUSED(PAWL_CORRUPT, wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_PAUSE)));
}

TEST_MAIN()
