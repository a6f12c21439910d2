/* Random workflows under random outcomes and operators: each comes to an end, and its counters are
 * right all the way. What is made depends on the seed alone, which a failure prints. */
#include "workflows.h"

#include "base/arena.h"
#include "core/command.h"
#include "engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKFLOWS = 60, OUTCOMES_MAX = 400, DEPTH_MAX = 3 };

struct dice {
    uint64_t state;
};

static uint64_t roll(struct dice *dice, uint64_t sides)
{
    dice->state = dice->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (dice->state >> 33) % sides;
}

/* ---- Definitions ---- */

struct making {
    struct lab *lab;
    struct dice *dice;
    int next; /* number of the next reference */
};

static struct pawl_str join_text(struct lab *lab, struct pawl_str a, const char *between,
                                 struct pawl_str b)
{
    return pawl_arena_format(lab->keep, "%.*s%s%.*s", PAWL_STR_ARG(a), a.len > 0 ? between : "",
                             PAWL_STR_ARG(b));
}

static struct pawl_str make_list(struct making *m, int depth, bool may_be_empty);

static struct pawl_str make_simple(struct making *m)
{
    static const char *const flags[] = {
        "", "", "", ",'optional':true", ",'permissive':true", ",'optional':true,'permissive':true"};
    return pawl_arena_format(
        m->lab->keep,
        "{'name':'s','taskReferenceName':'r%d','retryCount':%d,'inputParameters':{'v':'${workflow."
        "variables.v}',"
        "'o':'${r%d.output}'},'taskDefinition':{'name':'s','retryDelaySeconds':0}%s}",
        m->next++, (int)roll(m->dice, 2), (int)roll(m->dice, 20),
        flags[roll(m->dice, COUNT_OF(flags))]);
}

static struct pawl_str make_switch(struct making *m, int depth)
{
    int number = m->next++;
    struct pawl_str a = make_list(m, depth + 1, true);
    struct pawl_str b = make_list(m, depth + 1, true);
    return pawl_arena_format(
        m->lab->keep,
        "{'name':'sw','taskReferenceName':'r%d','type':'SWITCH','evaluatorType':'value-param','"
        "expression':'c',"
        "'inputParameters':{'c':'%d'},'decisionCases':{'0':[%.*s]},'defaultCase':[%.*s]}",
        number, (int)roll(m->dice, 2), PAWL_STR_ARG(a), PAWL_STR_ARG(b));
}

/* A joinOn of none, some or all of what the branches hold. */
static struct pawl_str make_fork(struct making *m, int depth)
{
    int number = m->next++;
    int first = m->next;
    struct pawl_str branches = {0};
    int count = 1 + (int)roll(m->dice, 3);
    for (int i = 0; i < count; i++) {
        struct pawl_str list = make_list(m, depth + 1, false);
        struct pawl_str branch = pawl_arena_format(m->lab->keep, "[%.*s]", PAWL_STR_ARG(list));
        branches = join_text(m->lab, branches, ",", branch);
    }
    struct pawl_str on = {0};
    bool has_on = roll(m->dice, 3) > 0;
    for (int i = first; has_on && i < m->next; i++) {
        if (roll(m->dice, 2) == 0) continue;
        on = join_text(m->lab, on, ",", pawl_arena_format(m->lab->keep, "'r%d'", i));
    }
    return pawl_arena_format(
        m->lab->keep,
        "{'name':'f','taskReferenceName':'r%d','type':'FORK_JOIN','forkTasks':[%.*s]},"
        "{'name':'j','taskReferenceName':'j%d','type':'JOIN','joinOn':[%.*s]}",
        number, PAWL_STR_ARG(branches), number, PAWL_STR_ARG(on));
}

static struct pawl_str make_node(struct making *m, int depth)
{
    switch (depth < DEPTH_MAX ? roll(m->dice, 10) : roll(m->dice, 7)) {
    case 5:
        return pawl_arena_format(m->lab->keep,
                                 "{'name':'n','taskReferenceName':'r%d','type':'NOOP'}", m->next++);
    case 6:
        return pawl_arena_format(m->lab->keep,
                                 "{'name':'v','taskReferenceName':'r%d','type':'SET_VARIABLE','"
                                 "inputParameters':{'v':1}}",
                                 m->next++);
    case 7:
        return make_switch(m, depth);
    case 8:
    case 9:
        return make_fork(m, depth);
    default:
        return make_simple(m);
    }
}

static struct pawl_str make_list(struct making *m, int depth, bool may_be_empty)
{
    struct pawl_str list = {0};
    int count = (may_be_empty ? 0 : 1) + (int)roll(m->dice, 3);
    for (int i = 0; i < count; i++) list = join_text(m->lab, list, ",", make_node(m, depth));
    return list;
}

/* ---- Lives ---- */

static void say(struct lab *lab, struct dice *dice, struct pawl_str task)
{
    static const enum pawl_update_status statuses[] = {
        PAWL_UPDATE_COMPLETED, PAWL_UPDATE_COMPLETED,   PAWL_UPDATE_COMPLETED,
        PAWL_UPDATE_COMPLETED, PAWL_UPDATE_COMPLETED,   PAWL_UPDATE_COMPLETED,
        PAWL_UPDATE_COMPLETED, PAWL_UPDATE_FAILED,      PAWL_UPDATE_FAILED,
        PAWL_UPDATE_FAILED,    PAWL_UPDATE_IN_PROGRESS, PAWL_UPDATE_FAILED_WITH_TERMINAL_ERROR,
    };
    (void)wf_update(lab, task, statuses[roll(dice, COUNT_OF(statuses))], "{'x':1}", "so it was");
}

static void operate(struct lab *lab, struct dice *dice, struct pawl_str id)
{
    static const enum pawl_workflow_verb verbs[] = {
        PAWL_WORKFLOW_PAUSE,          PAWL_WORKFLOW_RESUME, PAWL_WORKFLOW_RESUME,
        PAWL_WORKFLOW_RETRY,          PAWL_WORKFLOW_RETRY,  PAWL_WORKFLOW_RESTART,
        PAWL_WORKFLOW_TERMINATE,      PAWL_WORKFLOW_SKIP,   PAWL_WORKFLOW_DECIDE,
        PAWL_WORKFLOW_RESET_CALLBACKS, PAWL_WORKFLOW_RERUN, PAWL_WORKFLOW_RERUN,
        PAWL_WORKFLOW_RERUN};
    char reference[16];
    (void)snprintf(reference, sizeof reference, "r%d", (int)roll(dice, 20));
    struct pawl_workflow_operate ask = {.verb = verbs[roll(dice, COUNT_OF(verbs))],
                                        .reference = pawl_str_of(reference)};
    struct pawl_workflow_view view = wf_get(lab, id);
    if (ask.verb == PAWL_WORKFLOW_RERUN && view.tasks.count > 0) { /* from any of its tasks */
        ask.task_id = view.tasks.items[roll(dice, view.tasks.count)].task_id;
    }
    (void)wf_operate(lab, id, &ask); /* what its state does not allow is refused */
}

static bool is_over(struct lab *lab, struct pawl_str id)
{
    struct pawl_workflow_view view;
    struct pawl_workflow_ask ask = {0};
    CHECK_OK(pawl_workflow_get(lab->pawl, id, &ask, lab->keep, &view, &lab->err), &lab->err);
    return pawl_workflow_state_is_terminal(view.row.state);
}

static void live(struct lab *lab, struct dice *dice, const char *tasks)
{
    struct pawl_str id = wf_start(lab, tasks, "'outputParameters':{'o':'${r1.output}'}", NULL);
    for (int i = 0; i < OUTCOMES_MAX; i++) {
        bool is_late =
            i > OUTCOMES_MAX / 2; /* nobody interferes any more: it has to come to its end */
        if (!is_late && roll(dice, 5) == 0) operate(lab, dice, id);
        if (is_late) (void)wf_operate(lab, id, OPERATE(.verb = PAWL_WORKFLOW_RESUME));
        struct pawl_str task = wf_poll(lab, "s");
        if (task.len > 0) say(lab, dice, task);
        lab_settle(lab, lab->pawl);
        if (i % 7 == 0) wf_check(lab);
        if (task.len == 0 && is_over(lab, id) && (is_late || roll(dice, 3) == 0)) break;
    }
    if (!is_over(lab, id)) CHECK_TEXT("an end", wf_state(lab, id));
    wf_check(lab);
    CHECK_EQ(0, wf_poll(lab, "s").len); /* what is open of it has been cancelled */
}

/* One at once: each is said of before the next is asked for, so that a place that is not given back stops them all. */
static void limit_them(struct lab *lab)
{
    struct pawl_request request;
    struct pawl_definition_new item = {.kind = PAWL_DEFINITION_TASK,
                                       .name = PAWL_STR("s"),
                                       .body = PAWL_STR("{\"name\":\"s\",\"concurrentExecLimit\":1}")};
    pawl_request_init(&request, PAWL_COMMAND_DEFINE);
    request.command.ask.define.items = &item;
    request.command.ask.define.count = 1;
    CHECK_OK(pawl_engine_ask(lab->pawl, &request, &lab->err), &lab->err);
}

TEST_SQLITE("random workflows come to their end, with every counter right")
{
    const char *said = getenv("PAWL_WORKFLOW_SEED");
    uint64_t first = said == NULL ? 1 : strtoull(said, NULL, 10);
    lab_open(lab);
    limit_them(lab);
    for (uint64_t seed = first; seed < first + (said == NULL ? WORKFLOWS : 1); seed++) {
        struct dice dice = {.state = seed * UINT64_C(0x9E3779B97F4A7C15)};
        struct making making = {.lab = lab, .dice = &dice};
        struct pawl_str tasks = make_list(&making, 0, false);
        (void)fprintf(stderr, "seed %" PRIu64 "\n", seed);
        live(lab, &dice, tasks.ptr);
        CHECK_OK(pawl_arena_code(lab->keep), NULL);
        pawl_arena_reset(lab->keep);
    }
}

TEST_MAIN()
