#include "flow.h"

#include "asks.h"

#include "base/json.h"
#include "core/limits.h"
#include "core/workflow/registered.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFINITIONS = 3,
    REFS_MAX = 60,
    NEEDS_MAX = 8,
    DEPTH_MAX = 2,
    FLOWS_MAX = 40,
    WORDS_MAX = 1500,
    GRANTS_MAX = 1500,
    HELD_MAX = 64,
    TYPES = 2,
    WAYS = 2, /* what the input says, and cases are taken by */
};

struct ref { /* a node of a definition, as it was made */
    struct pawl_str name;
    int reached; /* bit 1 << way */
    int tries;   /* of a task; 0 = it is none */
    int level;   /* how many forks it is in */
    bool is_join;
    int needs[WAYS][NEEDS_MAX]; /* refs that have ended before it begins */
    int need_count[WAYS];
};

struct made {
    struct pawl_str name;
    struct pawl_str body;
    struct ref refs[REFS_MAX];
    int ref_count;
    bool has_timeout;
    bool has_fork;
};

struct flow {            /* a workflow that was asked for */
    struct pawl_str key; /* its idempotency key */
    struct call *start;
    int made;
    int way;
    struct pawl_str id;    /* as answered; empty = not yet */
    unsigned verbs;        /* bits of what was asked of it in this move and may be done */
    unsigned verbs_unsure; /* and at any time before, without an answer */
    bool was_retried;
    bool was_restarted;
    bool was_terminated; /* what is cancelled by it makes JOINs end so, after a retry */
};

enum sure { SURE_NEVER, SURE_MAYBE, SURE_YES };

struct word { /* an outcome that was told: its call's number stands in the output */
    const struct call *call;
    struct pawl_str task;
    enum pawl_update_status status;
    enum sure sure;
};

struct hold {
    struct pawl_str task;
    int64_t epoch;
    int worker;
};

struct flows {
    struct made made[DEFINITIONS];
    struct flow all[FLOWS_MAX];
    int count;
    struct word words[WORDS_MAX];
    int word_count;
    struct hold grants[GRANTS_MAX]; /* all there were */
    int grant_count;
    struct hold held[HELD_MAX];
    int held_count;
};

/* ---- Definitions --------------------------------------------------------------------------- */

struct making {
    struct sim *sim;
    struct made *made;
    int level;
};

static struct pawl_str join(struct sim *sim, struct pawl_str a, struct pawl_str b)
{
    struct pawl_str text = pawl_arena_format(sim->arena, "%.*s%s%.*s", PAWL_STR_ARG(a),
                                             a.len > 0 ? "," : "", PAWL_STR_ARG(b));
    if (text.ptr == NULL) abort();
    return text;
}

static int add_ref(struct making *m, int reached, const int from[WAYS])
{
    struct made *made = m->made;
    if (made->ref_count == REFS_MAX) abort();
    struct ref *ref = &made->refs[made->ref_count];
    *ref = (struct ref){
        .name = sim_text(m->sim, "r%d", made->ref_count), .reached = reached, .level = m->level};
    for (int way = 0; way < WAYS; way++) {
        if (from[way] >= 0) ref->needs[way][ref->need_count[way]++] = from[way];
    }
    return made->ref_count++;
}

static struct pawl_str make_list(struct making *m, int depth, int reached, int last[WAYS],
                                 bool may_be_empty);

static struct pawl_str make_task(struct making *m, int at)
{
    static const char *const flags[] = {
        "", "", "", "", ",\"optional\":true", ",\"permissive\":true"};
    struct sim *sim = m->sim;
    int retries = (int)roll(sim, 0, 2);
    m->made->refs[at].tries = retries + 1;
    int64_t type = roll(sim, 0, TYPES - 1);
    int64_t delay_s = roll(sim, 0, 1);
    int64_t response_s = roll(sim, 1, 3);
    return sim_text(sim,
                    "{\"name\":\"t%" PRId64 "\",\"taskReferenceName\":\"r%d\",\"retryCount\":%d,"
                    "\"inputParameters\":{\"v\":\"${workflow.variables.v}\"},\"taskDefinition\":{"
                    "\"name\":\"t%" PRId64 "\",\"retryDelaySeconds\":%" PRId64
                    ",\"timeoutSeconds\":0,\"responseTimeoutSeconds\":%" PRId64 "}%s}",
                    type, at, retries, type, delay_s, response_s, flags[roll(sim, 0, 5)]);
}

static struct pawl_str make_switch(struct making *m, int depth, int at, int reached, int last[WAYS])
{
    struct pawl_str cases[WAYS];
    for (int way = 0; way < WAYS; way++) {
        int inner[WAYS] = {at, at};
        cases[way] = make_list(m, depth + 1, reached & 1 << way, inner, true);
        last[way] = inner[way];
    }
    struct pawl_str text =
        pawl_arena_format(m->sim->arena,
                          "{\"name\":\"s\",\"taskReferenceName\":\"r%d\",\"type\":\"SWITCH\","
                          "\"evaluatorType\":\"value-param\","
                          "\"expression\":\"c\",\"inputParameters\":{\"c\":\"${workflow.input.c}\"}"
                          ",\"decisionCases\":{\"0\":[%.*s]},"
                          "\"defaultCase\":[%.*s]}",
                          at, PAWL_STR_ARG(cases[0]), PAWL_STR_ARG(cases[1]));
    if (text.ptr == NULL) abort();
    return text;
}

/* The JOIN waits for all branches, or for some of what they hold. */
static struct pawl_str make_fork(struct making *m, int depth, int at, int reached, int last[WAYS])
{
    struct sim *sim = m->sim;
    struct pawl_str branches = {0};
    struct pawl_str on = {0};
    int ends[NEEDS_MAX][WAYS];
    int from[WAYS] = {at, at};
    int first = m->made->ref_count;
    int count = (int)roll(sim, 1, 3);
    m->level++;
    for (int i = 0; i < count; i++) {
        int inner[WAYS] = {at, at};
        struct pawl_str list = make_list(m, depth + 1, reached, inner, false);
        branches = join(sim, branches, pawl_arena_format(sim->arena, "[%.*s]", PAWL_STR_ARG(list)));
        for (int way = 0; way < WAYS; way++) ends[i][way] = inner[way];
    }
    m->level--;
    int end = m->made->ref_count;
    int number = add_ref(m, reached, from);
    struct ref *ref = &m->made->refs[number];
    ref->is_join = true;
    m->made->has_fork = true;
    bool has_on = happens(sim, 600);
    for (int i = first; has_on && i < end && ref->need_count[0] < NEEDS_MAX - 1 &&
                        ref->need_count[1] < NEEDS_MAX - 1;
         i++) {
        /* what is in a fork in this one may come behind its JOIN, which then is not waited for
         * (docs/workflows.md) */
        if (m->made->refs[i].level != m->level + 1 || happens(sim, 500)) continue;
        on = join(sim, on, sim_text(sim, "\"r%d\"", i));
        for (int way = 0; way < WAYS; way++) {
            bool is_taken = (m->made->refs[i].reached & 1 << way) != 0;
            if (is_taken) ref->needs[way][ref->need_count[way]++] = i;
        }
    }
    for (int i = 0; on.len == 0 && i < count; i++) {
        for (int way = 0; way < WAYS; way++) ref->needs[way][ref->need_count[way]++] = ends[i][way];
    }
    for (int way = 0; way < WAYS; way++) last[way] = number;
    struct pawl_str text = pawl_arena_format(
        sim->arena,
        "{\"name\":\"f\",\"taskReferenceName\":\"r%d\",\"type\":\"FORK_JOIN\",\"forkTasks\":[%.*s]}"
        ","
        "{\"name\":\"j\",\"taskReferenceName\":\"r%d\",\"type\":\"JOIN\",\"joinOn\":[%.*s]}",
        at, PAWL_STR_ARG(branches), number, PAWL_STR_ARG(on));
    if (text.ptr == NULL) abort();
    return text;
}

static struct pawl_str make_node(struct making *m, int depth, int reached, int last[WAYS])
{
    bool has_room = depth < DEPTH_MAX && m->made->ref_count < REFS_MAX / 2;
    int at = add_ref(m, reached, last);
    for (int way = 0; way < WAYS; way++) last[way] = at;
    switch (roll(m->sim, 0, has_room ? 9 : 6)) {
    case 4:
        return sim_text(m->sim, "{\"name\":\"n\",\"taskReferenceName\":\"r%d\",\"type\":\"NOOP\"}",
                        at);
    case 5:
        return sim_text(m->sim,
                        "{\"name\":\"v\",\"taskReferenceName\":\"r%d\",\"type\":\"SET_VARIABLE\","
                        "\"inputParameters\":{\"v\":%d}}",
                        at, at);
    case 6:
        return sim_text(m->sim,
                        "{\"name\":\"w\",\"taskReferenceName\":\"r%d\",\"type\":\"WAIT\","
                        "\"inputParameters\":{\"duration\":\"%" PRId64 " seconds\"}}",
                        at, roll(m->sim, 1, 3));
    case 7:
        return make_switch(m, depth, at, reached, last);
    case 8:
    case 9:
        return make_fork(m, depth, at, reached, last);
    default:
        return make_task(m, at);
    }
}

/* last: the refs that were before it, by way; then those that are last in it. */
static struct pawl_str make_list(struct making *m, int depth, int reached, int last[WAYS],
                                 bool may_be_empty)
{
    struct pawl_str list = {0};
    int64_t count = roll(m->sim, may_be_empty ? 0 : 1, 3);
    for (int64_t i = 0; i < count && m->made->ref_count < REFS_MAX - 8; i++) {
        list = join(m->sim, list, make_node(m, depth, reached, last));
    }
    if (list.len == 0 && !may_be_empty) abort();
    return list;
}

static void make(struct sim *sim, struct made *made, int number)
{
    struct making m = {sim, made, 0};
    int last[WAYS] = {-1, -1};
    made->name = sim_text(sim, "flow%d", number);
    made->has_timeout = happens(sim, 150);
    struct pawl_str list = make_list(&m, 0, (1 << WAYS) - 1, last, false);
    made->body = pawl_arena_format(
        sim->arena, "{\"name\":\"%.*s\",\"version\":1,\"tasks\":[%.*s]%s}",
        PAWL_STR_ARG(made->name), PAWL_STR_ARG(list),
        made->has_timeout ? ",\"timeoutSeconds\":20,\"timeoutPolicy\":\"TIME_OUT_WF\"" : "");
    if (made->body.ptr == NULL) abort();
    sim_tell(sim, "%.*s", PAWL_STR_ARG(made->body));
}

struct flows *flow_open(struct sim *sim)
{
    struct flows *flows = calloc(1, sizeof *flows);
    if (flows == NULL) abort();
    for (int i = 0; i < DEFINITIONS; i++) make(sim, &flows->made[i], i);
    return flows;
}

void flow_close(struct flows *flows)
{
    free(flows);
}

/* ---- Asking -------------------------------------------------------------------------------- */

static void *take(struct sim *sim, size_t bytes)
{
    void *ptr = pawl_arena_take(sim->arena, bytes);
    if (ptr == NULL) abort();
    return ptr;
}

static struct call *define(struct sim *sim)
{
    const struct made *made = &sim->flows->made[roll(sim, 0, DEFINITIONS - 1)];
    struct call *call = call_make(sim, PAWL_COMMAND_DEFINE, -1);
    struct pawl_definition_new *item = take(sim, sizeof *item);
    *item = (struct pawl_definition_new){PAWL_DEFINITION_WORKFLOW, made->name, 1, made->body};
    call->command.ask.define.items = item;
    call->command.ask.define.count = 1;
    call->command.ask.define.must = PAWL_DEFINITION_ANY;
    return call;
}

static struct call *start(struct sim *sim)
{
    struct flows *flows = sim->flows;
    if (flows->count == FLOWS_MAX) return NULL;
    struct flow *flow = &flows->all[flows->count];
    struct call *call = call_make(sim, PAWL_COMMAND_WORKFLOW_START, -1);
    struct pawl_workflow_start *ask = take(sim, sizeof *ask);
    *flow = (struct flow){.start = call,
                          .made = (int)roll(sim, 0, DEFINITIONS - 1),
                          .way = (int)roll(sim, 0, WAYS - 1)};
    flow->key = sim_text(sim, "k%d", flows->count++);
    *ask = (struct pawl_workflow_start){.name = flows->made[flow->made].name,
                                        .input = sim_text(sim, "{\"c\":\"%d\"}", flow->way),
                                        .correlation_id = flow->key,
                                        .idempotency_key = flow->key,
                                        .idempotency = PAWL_IDEMPOTENCY_RETURN_EXISTING};
    call->command.ask.start = ask;
    return call;
}

static struct call *claim(struct sim *sim, int worker, int32_t max)
{
    struct call *call = call_make(sim, PAWL_COMMAND_CLAIM, -1);
    struct pawl_claim *ask = take(sim, sizeof *ask);
    struct pawl_str *queues = take(sim, TYPES * sizeof *queues);
    for (int i = 0; i < TYPES; i++) queues[i] = sim_text(sim, "t%d", i);
    *ask = (struct pawl_claim)PAWL_CLAIM_INIT;
    ask->worker_id = sim_text(sim, "w%d", worker);
    ask->queues = queues;
    ask->queue_count = TYPES;
    ask->max = max;
    call->command.ask.claim.ask = ask;
    return call;
}

static struct call *tell(struct sim *sim, const struct hold *hold, enum pawl_update_status status)
{
    struct flows *flows = sim->flows;
    if (flows->word_count == WORDS_MAX) return NULL;
    struct call *call = call_make(sim, PAWL_COMMAND_UPDATE, -1);
    struct pawl_update *ask = take(sim, sizeof *ask);
    *ask = (struct pawl_update){.status = status,
                                .output = sim_text(sim, "{\"token\":%d}", call->number),
                                .worker_id = sim_text(sim, "w%d", hold->worker),
                                .epoch = happens(sim, 300) ? hold->epoch : 0};
    if (status == PAWL_UPDATE_IN_PROGRESS && happens(sim, 500)) ask->callback_after_ms = 1000;
    call->command.task_id = hold->task;
    call->command.ask.update = ask;
    flows->words[flows->word_count++] =
        (struct word){.call = call, .task = hold->task, .status = status};
    return call;
}

static struct call *tell_something(struct sim *sim)
{
    static const enum pawl_update_status statuses[] = {
        PAWL_UPDATE_COMPLETED,
        PAWL_UPDATE_COMPLETED,
        PAWL_UPDATE_COMPLETED,
        PAWL_UPDATE_COMPLETED,
        PAWL_UPDATE_COMPLETED,
        PAWL_UPDATE_COMPLETED,
        PAWL_UPDATE_FAILED,
        PAWL_UPDATE_FAILED,
        PAWL_UPDATE_FAILED,
        PAWL_UPDATE_IN_PROGRESS,
        PAWL_UPDATE_FAILED_WITH_TERMINAL_ERROR,
    };
    struct flows *flows = sim->flows;
    if (flows->held_count == 0) return NULL;
    int at = (int)roll(sim, 0, flows->held_count - 1);
    struct call *call = tell(sim, &flows->held[at], statuses[roll(sim, 0, 10)]);
    if (happens(sim, 900)) flows->held[at] = flows->held[--flows->held_count];
    return call;
}

static struct call *operate(struct sim *sim, struct flow *flow, enum pawl_workflow_verb verb)
{
    struct call *call = call_make(sim, PAWL_COMMAND_WORKFLOW_OPERATE, -1);
    struct pawl_workflow_operate *ask = take(sim, sizeof *ask);
    *ask = (struct pawl_workflow_operate){.verb = verb};
    call->command.task_id = flow->id;
    call->command.ask.operate = ask;
    return call;
}

static struct call *operate_some(struct sim *sim)
{
    static const enum pawl_workflow_verb verbs[] = {
        PAWL_WORKFLOW_PAUSE,     PAWL_WORKFLOW_PAUSE,  PAWL_WORKFLOW_RESUME,
        PAWL_WORKFLOW_RESUME,    PAWL_WORKFLOW_RETRY,  PAWL_WORKFLOW_RESTART,
        PAWL_WORKFLOW_TERMINATE, PAWL_WORKFLOW_DECIDE, PAWL_WORKFLOW_RESET_CALLBACKS};
    struct flows *flows = sim->flows;
    if (flows->count == 0) return NULL;
    struct flow *flow = &flows->all[roll(sim, 0, flows->count - 1)];
    enum pawl_workflow_verb verb = verbs[roll(sim, 0, 8)];
    /* What a retry makes of the counters of JOINs is not played yet. */
    bool is_played = verb != PAWL_WORKFLOW_RETRY || !flows->made[flow->made].has_fork;
    return flow->id.len == 0 || !is_played ? NULL : operate(sim, flow, verb);
}

static struct call *again(struct sim *sim)
{
    if (sim->call_count == 0) return NULL;
    struct call *call = &sim->calls[roll(sim, 0, sim->call_count - 1)];
    bool may_repeat = call->command.kind == PAWL_COMMAND_WORKFLOW_START ||
                      call->command.kind == PAWL_COMMAND_UPDATE ||
                      call->command.kind == PAWL_COMMAND_DEFINE;
    return may_repeat ? call : NULL;
}

static struct call *next_call(struct sim *sim)
{
    int64_t dice = roll(sim, 1, 100);
    if (sim->move < 3) return define(sim);
    if (dice <= 4) return define(sim);
    if (dice <= 16) return start(sim);
    if (dice <= 42)
        return claim(sim, (int)roll(sim, 0, sim->swarm.workers - 1), (int32_t)roll(sim, 1, 4));
    if (dice <= 76) return tell_something(sim);
    if (dice <= 92) return operate_some(sim);
    return again(sim);
}

void flow_act(struct sim *sim, struct engine *engine)
{
    int64_t count = happens(sim, 300) ? 1 : roll(sim, 0, sim->swarm.group_max);
    for (int64_t i = 0; i < count && sim->call_count < SIM_CALLS_MAX - 500; i++) {
        struct call *call = next_call(sim);
        if (call == NULL) continue;
        (void)call_send(sim, engine, call);
        if (happens(sim, 30)) (void)call_send(sim, engine, call); /* twice in one step */
    }
}

static struct flow *find_flow(struct flows *flows, struct pawl_str key)
{
    for (int i = 0; i < flows->count; i++) {
        if (pawl_str_equal(flows->all[i].key, key)) return &flows->all[i];
    }
    return NULL;
}

bool flow_work(struct sim *sim, struct engine *engine)
{
    enum { AT_ONCE = 50 };
    struct flows *flows = sim->flows;
    const struct look *look = sim->after;
    bool had = false;
    for (int i = 0; i < look->workflow_count && sim->sent_count < AT_ONCE; i++) {
        struct flow *flow = find_flow(flows, look->workflows[i].idempotency_key);
        if (flow == NULL || look->workflows[i].state != PAWL_WORKFLOW_PAUSED) continue;
        flow->id = sim_text(sim, "%.*s", PAWL_STR_ARG(look->workflows[i].id));
        had = call_send(sim, engine, operate(sim, flow, PAWL_WORKFLOW_RESUME)) || had;
    }
    while (flows->held_count > 0 && sim->sent_count < AT_ONCE) {
        struct call *call = tell(sim, &flows->held[--flows->held_count], PAWL_UPDATE_COMPLETED);
        had = (call != NULL && call_send(sim, engine, call)) || had;
    }
    if (!had) (void)call_send(sim, engine, claim(sim, 0, AT_ONCE));
    return had;
}

/* ---- What was answered --------------------------------------------------------------------- */

static void hear_start(struct sim *sim, const struct sent *sent)
{
    struct flows *flows = sim->flows;
    for (int i = 0; i < flows->count; i++) {
        struct flow *flow = &flows->all[i];
        if (flow->start != sent->call || sent->verdict != VERDICT_OK) continue;
        if (flow->id.len > 0 && !pawl_str_equal(flow->id, sent->started.id)) {
            sim_fault(sim, "%.*s is answered with two ids: %.*s and %.*s", PAWL_STR_ARG(flow->key),
                      PAWL_STR_ARG(flow->id), PAWL_STR_ARG(sent->started.id));
        }
        flow->id = sim_text(sim, "%.*s", PAWL_STR_ARG(sent->started.id));
    }
}

static void hear_claim(struct sim *sim, const struct sent *sent)
{
    struct flows *flows = sim->flows;
    bool is_lost = !sim->is_calm && happens(sim, sim->swarm.answer_lost);
    for (size_t i = 0; sent->verdict == VERDICT_OK && i < sent->claimed.count; i++) {
        const struct pawl_fence *fence = &sent->claimed.grants[i].fence;
        int worker = fence->owner.ptr[1] - '0';
        struct hold hold = {sim_text(sim, "%.*s", PAWL_STR_ARG(fence->task_id)), fence->epoch,
                            worker};
        for (int at = 0; at < flows->grant_count; at++) {
            const struct hold *other = &flows->grants[at];
            if (other->epoch == hold.epoch && pawl_str_equal(other->task, hold.task)) {
                sim_fault(sim, "task %.*s is given out twice with epoch %" PRId64,
                          PAWL_STR_ARG(hold.task), hold.epoch);
            }
        }
        if (flows->grant_count < GRANTS_MAX) flows->grants[flows->grant_count++] = hold;
        if (!is_lost && flows->held_count < HELD_MAX) flows->held[flows->held_count++] = hold;
    }
}

static void hear_update(struct sim *sim, const struct sent *sent)
{
    struct flows *flows = sim->flows;
    for (int i = 0; i < flows->word_count; i++) {
        struct word *word = &flows->words[i];
        if (word->call != sent->call) continue;
        bool is_taken = sent->verdict == VERDICT_OK && !sent->updated.is_ignored &&
                        sent->updated.lease != PAWL_LEASE_WORD_LOST;
        if (is_taken) word->sure = SURE_YES;
        if (sent->verdict == VERDICT_UNKNOWN && word->sure == SURE_NEVER) word->sure = SURE_MAYBE;
    }
}

static void hear_operate(struct sim *sim, const struct sent *sent)
{
    struct flows *flows = sim->flows;
    enum pawl_workflow_verb verb = sent->call->command.ask.operate->verb;
    if (sent->verdict == VERDICT_REFUSED) return;
    for (int i = 0; i < flows->count; i++) {
        struct flow *flow = &flows->all[i];
        if (!pawl_str_equal(flow->id, sent->call->command.task_id)) continue;
        flow->verbs |= 1U << verb;
        if (sent->verdict == VERDICT_UNKNOWN) flow->verbs_unsure |= 1U << verb;
        flow->was_retried = flow->was_retried || verb == PAWL_WORKFLOW_RETRY;
        flow->was_terminated = flow->was_terminated || verb == PAWL_WORKFLOW_TERMINATE;
        flow->was_restarted = flow->was_restarted || verb == PAWL_WORKFLOW_RESTART;
    }
}

static void hear(struct sim *sim)
{
    for (int i = 0; i < sim->flows->count; i++) sim->flows->all[i].verbs = 0;
    for (int i = 0; i < sim->sent_count && sim_holds(sim); i++) {
        const struct sent *sent = &sim->sent[i];
        if (sent->verdict == VERDICT_REFUSED &&
            (sent->code == PAWL_CORRUPT || sent->code == PAWL_LIMIT)) {
            sim_fault(sim, "%s: %s", call_text(sim, sent->call), sent->request.command.err.text);
        }
        switch ((int)sent->call->command.kind) {
        case PAWL_COMMAND_WORKFLOW_START:
            hear_start(sim, sent);
            break;
        case PAWL_COMMAND_CLAIM:
            hear_claim(sim, sent);
            break;
        case PAWL_COMMAND_UPDATE:
            hear_update(sim, sent);
            break;
        case PAWL_COMMAND_WORKFLOW_OPERATE:
            hear_operate(sim, sent);
            break;
        default:
            break;
        }
    }
}

/* ---- What is stored ------------------------------------------------------------------------ */

static bool has_ended(const struct look_record *record)
{
    return pawl_record_status_is_terminal((enum pawl_record_status)record->status);
}

static bool is_over(const struct look_workflow *workflow)
{
    return pawl_workflow_state_is_terminal((enum pawl_workflow_state)workflow->state);
}

/* The records of a workflow's present run, as far as they concern each other. */
struct sight {
    struct sim *sim;
    const struct look *look;
    const struct look_workflow *workflow;
    struct flow *flow;
    const struct made *made;
    const struct look_record *newest[REFS_MAX];
    bool has_ended_once[REFS_MAX];
    int64_t attempts[REFS_MAX];
    int64_t undecided;
    int64_t bad;
    int64_t open;
};

static bool has_continuation(const struct sight *s, enum pawl_continuation_kind kind)
{
    for (int i = 0; i < s->look->continuation_count; i++) {
        const struct look_continuation *is = &s->look->continuations[i];
        if (is->task == s->workflow->key && is->kind == (int64_t)kind) return true;
    }
    return false;
}

static int64_t decisions(const struct sight *s)
{
    int64_t count = 0;
    for (int i = 0; i < s->look->continuation_count; i++) {
        const struct look_continuation *is = &s->look->continuations[i];
        count += is->task == s->workflow->key && is->kind == PAWL_CONTINUE_DECISION &&
                 is->cursor == s->workflow->run;
    }
    return count;
}

static void fault(const struct sight *s, const struct look_record *record, const char *what)
{
    sim_fault(s->sim, "workflow %.*s (%.*s, way %d, %s)%s%.*s: %s", PAWL_STR_ARG(s->flow->key),
              PAWL_STR_ARG(s->made->name), s->flow->way,
              pawl_workflow_state_name((enum pawl_workflow_state)s->workflow->state),
              record != NULL ? " " : "",
              PAWL_STR_ARG(record != NULL ? record->reference : (struct pawl_str){0}), what);
}

static bool fits(const struct look_record *record)
{
    switch ((enum pawl_record_status)record->status) {
    case PAWL_RECORD_SCHEDULED:
        return record->state == PAWL_TASK_QUEUED || record->state == PAWL_TASK_RUNNING;
    case PAWL_RECORD_IN_PROGRESS:
        return record->state == PAWL_TASK_PENDING;
    case PAWL_RECORD_COMPLETED:
    case PAWL_RECORD_COMPLETED_WITH_ERRORS:
    case PAWL_RECORD_SKIPPED:
        return record->state == PAWL_TASK_COMPLETED;
    case PAWL_RECORD_FAILED:
    case PAWL_RECORD_FAILED_WITH_TERMINAL_ERROR:
    case PAWL_RECORD_TIMED_OUT:
        return record->state == PAWL_TASK_FAILED;
    case PAWL_RECORD_CANCELED:
        return record->state == PAWL_TASK_CANCELLED;
    }
    return false;
}

static int64_t token_of(const struct look_record *record)
{
    static const struct pawl_str before = PAWL_STR_INIT("{\"token\":");
    if (record->result.len <= before.len || memcmp(record->result.ptr, before.ptr, before.len) != 0)
        return -1;
    return strtoll(record->result.ptr + before.len, NULL, 10);
}

/* An outcome of a task is what somebody told who may have been heard. */
static void judge_outcome(const struct sight *s, const struct look_record *record)
{
    const struct flows *flows = s->sim->flows;
    int64_t token = token_of(record);
    bool is_told = record->status == PAWL_RECORD_COMPLETED ||
                   record->status == PAWL_RECORD_FAILED ||
                   record->status == PAWL_RECORD_FAILED_WITH_TERMINAL_ERROR;
    if (!is_told) return;
    for (int i = 0; i < flows->word_count; i++) {
        const struct word *word = &flows->words[i];
        if (word->call->number != token) continue;
        bool is_same =
            (word->status == PAWL_UPDATE_COMPLETED) == (record->status == PAWL_RECORD_COMPLETED);
        if (word->sure == SURE_NEVER) fault(s, record, "its outcome was told to be too late");
        if (!is_same || !pawl_str_equal(word->task, record->id))
            fault(s, record, "its outcome is another one's");
        return;
    }
    fault(s, record, "it has an outcome that nobody told");
}

static void judge_record(struct sight *s, const struct look_record *record)
{
    int at = record->reference.len > 1 ? atoi(record->reference.ptr + 1) : REFS_MAX;
    if (at < 0 || at >= s->made->ref_count) {
        fault(s, record, "it is a record of no node");
        return;
    }
    const struct ref *ref = &s->made->refs[at];
    s->undecided += !record->is_decided;
    s->open += !has_ended(record);
    s->bad += pawl_record_status_is_bad((enum pawl_record_status)record->status) ? 1 : 0;
    s->attempts[at] |= INT64_C(1) << record->attempt;
    s->has_ended_once[at] = s->has_ended_once[at] || has_ended(record);
    if (!record->is_superseded && s->newest[at] != NULL)
        fault(s, record, "two records are the newest of it");
    if (!record->is_superseded) s->newest[at] = record;
    if ((ref->reached & 1 << s->flow->way) == 0) fault(s, record, "it is not on the way");
    if (!fits(record)) fault(s, record, "its task is in another state");
    if (record->is_decided && !has_ended(record))
        fault(s, record, "it is decided and has not ended");
    if (ref->tries > 0 && has_ended(record)) judge_outcome(s, record);
    bool is_stuck = s->workflow->state == PAWL_WORKFLOW_RUNNING && has_ended(record) &&
                    !record->is_decided && !has_continuation(s, PAWL_CONTINUE_UNDECIDED) &&
                    decisions(s) == 0;
    if (is_stuck) fault(s, record, "it has ended, and nothing follows");
    bool is_lost =
        record->state == PAWL_TASK_QUEUED && record->rank == -1 && record->due_at_ms == 0;
    if (is_lost) fault(s, record, "it is queued, and nobody will ever get it");
    if (record->state == PAWL_TASK_RUNNING && record->due_at_ms == 0)
        fault(s, record, "it is held for ever");
}

static void judge_refs(struct sight *s)
{
    for (int i = 0; i < s->made->ref_count && sim_holds(s->sim); i++) {
        const struct ref *ref = &s->made->refs[i];
        int way = s->flow->way;
        int64_t attempts = s->attempts[i];
        if ((attempts & (attempts + 1)) != 0) fault(s, s->newest[i], "an attempt is missing");
        if (attempts != 0 && s->newest[i] == NULL) fault(s, NULL, "a node has only old records");
        if (ref->tries > 0 && attempts >> ref->tries != 0 && !s->flow->was_retried) {
            fault(s, s->newest[i], "it was tried too often");
        }
        bool is_join = ref->is_join;
        bool has_begun =
            is_join ? s->has_ended_once[i] && s->newest[i]->status != PAWL_RECORD_CANCELED &&
                          !pawl_record_status_is_bad((enum pawl_record_status)s->newest[i]->status)
                    : attempts != 0;
        for (int n = 0; has_begun && n < ref->need_count[way]; n++) {
            bool is_forks = is_join && n == 0;
            if (!is_forks && !s->has_ended_once[ref->needs[way][n]] && ref->need_count[way] != 1) {
                fault(s, s->newest[i], "it did not wait");
            }
            if (ref->need_count[way] == 1 && attempts != 0 &&
                s->attempts[ref->needs[way][n]] == 0) {
                fault(s, s->newest[i], "what comes before it is not there");
            }
        }
        bool is_missing = s->workflow->state == PAWL_WORKFLOW_COMPLETED &&
                          (ref->reached & 1 << way) != 0 &&
                          (s->newest[i] == NULL || !has_ended(s->newest[i]));
        if (is_missing) {
            sim_fault(s->sim, "workflow %.*s is COMPLETED without r%d", PAWL_STR_ARG(s->flow->key),
                      i);
        }
    }
}

static void judge_state(struct sight *s, const struct look_workflow *before)
{
    const struct look_workflow *is = s->workflow;
    unsigned may = s->flow->verbs | s->flow->verbs_unsure;
    int64_t was = before == NULL ? PAWL_WORKFLOW_RUNNING : before->state;
    bool may_retry = (may & (1U << PAWL_WORKFLOW_RETRY | 1U << PAWL_WORKFLOW_RESTART)) != 0;
    bool may_restart = (may & 1U << PAWL_WORKFLOW_RESTART) != 0;
    if (is->open != s->undecided + decisions(s)) fault(s, NULL, "it does not count what is open");
    if (is->state == PAWL_WORKFLOW_RUNNING && is->open == 0)
        fault(s, NULL, "nothing is open, and it goes on");
    if (is_over(is) != (is->finished_at_ms != 0)) fault(s, NULL, "its end has no time");
    if (is_over(is) && s->open > 0 && !has_continuation(s, PAWL_CONTINUE_CANCEL)) {
        fault(s, NULL, "it has ended, and tasks of it are open");
    }
    if (is->state == PAWL_WORKFLOW_FAILED && s->bad == 0)
        fault(s, NULL, "nothing of it has failed");
    if (is->state == PAWL_WORKFLOW_TIMED_OUT && s->bad == 0 && !s->made->has_timeout)
        fault(s, NULL, "it has no time-out");
    if (before != NULL && before->run != is->run && !may_restart)
        fault(s, NULL, "nobody has restarted it");
    if (was == is->state) return;
    if (was == PAWL_WORKFLOW_COMPLETED && !may_restart) fault(s, NULL, "it was COMPLETED");
    if (before != NULL && is_over(before) && is->state != PAWL_WORKFLOW_TERMINATED && !may_retry) {
        fault(s, NULL, "it had ended, and nobody has brought it back");
    }
    if (is->state == PAWL_WORKFLOW_TERMINATED && !s->flow->was_terminated &&
        !s->flow->was_retried) {
        fault(s, NULL, "nobody has terminated it");
    }
    if (is->state == PAWL_WORKFLOW_PAUSED && (may & 1U << PAWL_WORKFLOW_PAUSE) == 0) {
        fault(s, NULL, "nobody has paused it");
    }
    if (was == PAWL_WORKFLOW_PAUSED && is->state == PAWL_WORKFLOW_RUNNING && !may_retry &&
        (may & 1U << PAWL_WORKFLOW_RESUME) == 0) {
        fault(s, NULL, "nobody has resumed it");
    }
}

static const struct look_workflow *find_workflow(const struct look *look, int64_t key)
{
    for (int i = 0; i < look->workflow_count; i++) {
        if (look->workflows[i].key == key) return &look->workflows[i];
    }
    return NULL;
}

static void judge_workflow(struct sim *sim, const struct look_workflow *workflow)
{
    struct flows *flows = sim->flows;
    struct sight s = {.sim = sim, .look = sim->after, .workflow = workflow};
    s.flow = find_flow(flows, workflow->idempotency_key);
    if (s.flow == NULL) {
        sim_fault(sim, "nobody has started workflow %.*s", PAWL_STR_ARG(workflow->id));
        return;
    }
    s.made = &flows->made[s.flow->made];
    if (s.flow->id.len > 0 && !pawl_str_equal(s.flow->id, workflow->id))
        fault(&s, NULL, "it was started twice");
    for (int i = 0; i < s.look->record_count && sim_holds(sim); i++) {
        const struct look_record *record = &s.look->records[i];
        if (record->workflow == workflow->key && record->run == workflow->run)
            judge_record(&s, record);
    }
    if (sim_holds(sim)) judge_refs(&s);
    const struct look_workflow *before =
        sim->before == sim->after ? workflow : find_workflow(sim->before, workflow->key);
    if (sim_holds(sim)) judge_state(&s, before);
}

static bool is_join(const struct sim *sim, const struct look_record *record)
{
    const struct look_workflow *workflow = find_workflow(sim->after, record->workflow);
    const struct flow *flow =
        workflow == NULL ? NULL : find_flow(sim->flows, workflow->idempotency_key);
    return flow != NULL &&
           sim->flows->made[flow->made].refs[atoi(record->reference.ptr + 1)].is_join;
}

/* What has ended stays as it is; only JOINs are opened again, by a retry. */
static void judge_changes(struct sim *sim)
{
    const struct look *was = sim->before;
    const struct look *is = sim->after;
    int at = 0;
    for (int i = 0; was != is && i < was->record_count && sim_holds(sim); i++) {
        const struct look_record *before = &was->records[i];
        while (at < is->record_count && is->records[at].task < before->task) at++;
        if (at == is->record_count || is->records[at].task != before->task) continue;
        const struct look_record *after = &is->records[at];
        bool may_change = before->status == after->status || !has_ended(before) ||
                          after->status == PAWL_RECORD_COMPLETED_WITH_ERRORS ||
                          is_join(sim, before);
        if (!may_change) {
            sim_fault(sim, "record %.*s of workflow %" PRId64 " was %s and is %s",
                      PAWL_STR_ARG(before->reference), before->workflow,
                      pawl_record_status_name((enum pawl_record_status)before->status),
                      pawl_record_status_name((enum pawl_record_status)after->status));
        }
    }
}

/* What was acknowledged is there. */
static void judge_promises(struct sim *sim)
{
    struct flows *flows = sim->flows;
    const struct look *look = sim->after;
    for (int i = 0; i < flows->count && sim_holds(sim); i++) {
        const struct flow *flow = &flows->all[i];
        int count = 0;
        for (int w = 0; w < look->workflow_count; w++) {
            count += pawl_str_equal(look->workflows[w].idempotency_key, flow->key) ? 1 : 0;
        }
        if (count > 1)
            sim_fault(sim, "there are %d workflows of %.*s", count, PAWL_STR_ARG(flow->key));
        if (flow->id.len > 0 && count == 0)
            sim_fault(sim, "workflow %.*s is lost", PAWL_STR_ARG(flow->key));
    }
    for (int i = 0; i < look->record_count && sim_holds(sim); i++) {
        const struct look_record *record = &look->records[i];
        for (int w = 0; w < flows->word_count; w++) {
            const struct word *word = &flows->words[w];
            bool is_sure = word->sure == SURE_YES && word->status != PAWL_UPDATE_IN_PROGRESS &&
                           pawl_str_equal(word->task, record->id);
            if (!is_sure) continue;
            bool is_there = has_ended(record) && token_of(record) == word->call->number;
            if (!is_there) {
                sim_fault(sim, "the outcome #%d of %.*s was acknowledged and is lost",
                          word->call->number, PAWL_STR_ARG(record->reference));
            }
        }
    }
}

void flow_judge(struct sim *sim)
{
    hear(sim);
    for (int i = 0; i < sim->after->workflow_count && sim_holds(sim); i++) {
        judge_workflow(sim, &sim->after->workflows[i]);
    }
    if (sim_holds(sim)) judge_changes(sim);
    if (sim_holds(sim)) judge_promises(sim);
    if (sim_holds(sim) && sim->after->quarantine_count > 0) sim_fault(sim, "a row was set aside");
}

void flow_judge_end(struct sim *sim)
{
    char text[200];
    struct pawl_error err = {0};
    struct pawl_fsck ask = PAWL_FSCK_INIT;
    struct pawl_fsck_done done = {0};
    const struct look *look = sim->after;
    for (int i = 0; i < look->workflow_count && sim_holds(sim); i++) {
        if (is_over(&look->workflows[i])) continue;
        sim_fault(sim, "everybody behaves, and workflow %.*s stays %s",
                  PAWL_STR_ARG(look->workflows[i].idempotency_key),
                  pawl_workflow_state_name((enum pawl_workflow_state)look->workflows[i].state));
    }
    int64_t left = looker_number(&sim->looker, "SELECT count(*) FROM continuation");
    int64_t due =
        looker_number(&sim->looker, "SELECT count(*) FROM task WHERE due_at_ms IS NOT NULL");
    if (sim_holds(sim) && left > 0) sim_fault(sim, "a continuation is left");
    if (sim_holds(sim) && due > 0) sim_fault(sim, "something is due for ever");
    if (sim_holds(sim) && strcmp(looker_integrity(&sim->looker, text), "ok") != 0) {
        sim_fault(sim, "the file is damaged: %s", text);
    }
    ask.store = pawl_str_of(sim->path);
    ask.env = &sim->engines[0].env;
    ask.skip_file = true;
    if (sim_holds(sim) && pawl_fsck(&ask, &done, &err) != PAWL_OK)
        sim_fault(sim, "fsck: %s", err.text);
    if (sim_holds(sim) && done.found > 0)
        sim_fault(sim, "fsck finds %" PRId64 " faults", done.found);
}
