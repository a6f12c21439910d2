/* The server is killed with -9, over and over, while clients of Conductor's wire start workflows,
 * work, signal and pause: each workflow that was acknowledged ends COMPLETED exactly once, and each
 * outcome that was acknowledged is in its record.
 *
 * PAWL_KILL_SECONDS (30) says how long, PAWL_KILL_SEED (1) which choices are made; what was done is
 * added to the file PAWL_KILL_FIGURES. Clients never give up: they ask again until they are
 * answered, but for starts without an idempotency key, which may then be there once or not at all.
 */
#include "program.h"
#include "stores.h"

#include "base/arena.h"
#include "base/json.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    STARTERS = 5,
    WORKERS = 4,
    THREADS_MAX = STARTERS + WORKERS + 1,
    STARTED_AT_ONCE = 16, /* by one starter, who then waits for their ends */
    FLOWS_MAX = 400 * 1000,
    WORDS_MAX = 4 * 1000 * 1000,
    TEXT_BYTES = 40,
    STUCK_MS = 30 * 1000,
    ASIDE_MAX = 10,
};

/* ---- What is started ---- */

/* A definition; ' stands for ". Records that have to be COMPLETED, and for each way that the input
 * names one more list. */
static const struct shape {
    const char *name;
    const char *tasks;
    const char *always;
    const char *by_way[3];
} shapes[] = {
    {"line",
     "{'name':'step','taskReferenceName':'a'},{'name':'step','taskReferenceName':'b'},"
     "{'name':'step','taskReferenceName':'e'}",
     "a b e",
     {"", "", ""}},
    {"fork",
     "{'name':'f','taskReferenceName':'f','type':'FORK_JOIN','forkTasks':["
     "[{'name':'step','taskReferenceName':'a'},{'name':'step','taskReferenceName':'b'}],"
     "[{'name':'frail','taskReferenceName':'c'}],[{'name':'step','taskReferenceName':'d'}]]},"
     "{'name':'j','taskReferenceName':'j','type':'JOIN','joinOn':['b','c','d']},"
     "{'name':'v','taskReferenceName':'v','type':'SET_VARIABLE','inputParameters':{'seen':'${b."
     "output.token}'}},"
     "{'name':'step','taskReferenceName':'e'}",
     "f a b c d j v e",
     {"", "", ""}},
    {"choice",
     "{'name':'step','taskReferenceName':'a'},"
     "{'name':'s','taskReferenceName':'s','type':'SWITCH','evaluatorType':'value-param','"
     "expression':'way',"
     "'inputParameters':{'way':'${workflow.input.way}'},'decisionCases':{"
     "'0':[{'name':'step','taskReferenceName':'b'}],"
     "'1':[{'name':'frail','taskReferenceName':'c'},{'name':'step','taskReferenceName':'d'}]},"
     "'defaultCase':[{'name':'n','taskReferenceName':'n','type':'NOOP'}]},"
     "{'name':'step','taskReferenceName':'e'}",
     "a s e",
     {"b", "c d", "n"}},
    {"waits",
     "{'name':'step','taskReferenceName':'a'},"
     "{'name':'w','taskReferenceName':'w','type':'WAIT','inputParameters':{'duration':'1 "
     "seconds'}},"
     "{'name':'step','taskReferenceName':'b'},"
     "{'name':'g','taskReferenceName':'g','type':'WAIT'},{'name':'step','taskReferenceName':'e'}",
     "a w b g e",
     {"", "", ""}},
    {"frail",
     "{'name':'frail','taskReferenceName':'a'},{'name':'frail','taskReferenceName':'e'}",
     "a e",
     {"", "", ""}},
    {"nested",
     "{'name':'f','taskReferenceName':'f','type':'FORK_JOIN','forkTasks':["
     "[{'name':'frail','taskReferenceName':'a'},"
     "{'name':'s','taskReferenceName':'s','type':'SWITCH','evaluatorType':'value-param','"
     "expression':'way',"
     "'inputParameters':{'way':'${workflow.input.way}'},'decisionCases':{"
     "'0':[{'name':'step','taskReferenceName':'b'}]},'defaultCase':[{'name':'step','"
     "taskReferenceName':'c'}]}],"
     "[{'name':'g','taskReferenceName':'g','type':'FORK_JOIN','forkTasks':["
     "[{'name':'step','taskReferenceName':'d'}],[{'name':'step','taskReferenceName':'h'}]]},"
     "{'name':'i','taskReferenceName':'i','type':'JOIN','joinOn':['d','h']}]]},"
     "{'name':'j','taskReferenceName':'j','type':'JOIN'},{'name':'step','taskReferenceName':'e'}",
     "f a s g d h i j e",
     {"b", "c", "c"}},
};

enum { SHAPE_WAITS = 3 };

/* ---- What was said ---- */

enum sure { SURE_NEVER, SURE_MAYBE, SURE_YES };

struct flow {
    char key[TEXT_BYTES]; /* its correlation id */
    char id[TEXT_BYTES];  /* "" = not known */
    int shape;
    int way;
    enum sure sure;
};

/* An outcome: of a task, or by a signal of a workflow. */
struct word {
    char of[TEXT_BYTES];
    int64_t token;
    bool is_failure;
    bool is_seen;
    enum sure sure;
};

struct load {
    struct program program;
    uint64_t seed;
    pthread_mutex_t lock;
    struct flow *flows; /* owned; under the lock, as all up to fault */
    int64_t flow_count;
    struct word *words; /* owned */
    int64_t word_count;
    int64_t repeats;
    char fault[1000];
    _Atomic bool is_over; /* nothing is started any more */
    _Atomic bool is_done; /* and nothing worked */
};

struct person {
    struct load *load;
    struct pawl_arena *keep;
    pthread_t thread;
    int number;
    int64_t said;
    uint64_t state;
};

static uint64_t roll(struct person *person, uint64_t sides)
{
    person->state = person->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (person->state >> 33) % sides;
}

static void pause_ms(int64_t ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    (void)nanosleep(&pause, NULL);
}

/* Only the first one is kept, and ends it all. */
__attribute__((format(printf, 2, 3))) static void complain(struct load *load, const char *format,
                                                           ...)
{
    va_list list;
    va_start(list, format);
    (void)pthread_mutex_lock(&load->lock);
    if (load->fault[0] == '\0') (void)vsnprintf(load->fault, sizeof load->fault, format, list);
    (void)pthread_mutex_unlock(&load->lock);
    va_end(list);
    load->is_over = true;
    load->is_done = true;
    load->program.gives_up = true;
}

static struct reply ask(struct person *person, const char *line, const char *body)
{
    struct reply reply = program_ask(&person->load->program, line, body, person->keep);
    (void)pthread_mutex_lock(&person->load->lock);
    if (reply.is_repeated) person->load->repeats++;
    (void)pthread_mutex_unlock(&person->load->lock);
    return reply;
}

static const char *format(struct person *person, const char *text, ...)
    __attribute__((format(printf, 2, 3)));
static const char *format(struct person *person, const char *text, ...)
{
    char line[1000];
    va_list list;
    va_start(list, text);
    (void)vsnprintf(line, sizeof line, text, list);
    va_end(list);
    struct pawl_str kept = pawl_arena_format(person->keep, "%s", line);
    return kept.ptr != NULL ? kept.ptr : "";
}

static void copy_text(char to[TEXT_BYTES], struct pawl_str text)
{
    (void)snprintf(to, TEXT_BYTES, "%.*s", PAWL_STR_ARG(text));
}

static const struct pawl_json *parse(struct person *person, struct pawl_str text)
{
    struct pawl_json *json = NULL;
    return pawl_json_parse(text, person->keep, &json, NULL) == PAWL_OK ? json : NULL;
}

static struct pawl_str text_of(struct person *person, const struct pawl_json *object,
                               const char *member)
{
    struct pawl_str text = {0};
    (void)!pawl_json_text(pawl_json_member(object, pawl_str_of(member)), person->keep, &text);
    return text;
}

static int64_t number_of(const struct pawl_json *object, const char *member)
{
    int64_t number = -1;
    (void)!pawl_json_int64(pawl_json_member(object, pawl_str_of(member)), &number);
    return number;
}

static void keep_word(struct person *person, struct pawl_str of, int64_t token, bool is_failure,
                      enum sure sure)
{
    struct load *load = person->load;
    (void)pthread_mutex_lock(&load->lock);
    bool has_room = load->word_count < WORDS_MAX;
    if (has_room) {
        struct word *word = &load->words[load->word_count++];
        *word = (struct word){.token = token, .is_failure = is_failure, .sure = sure};
        copy_text(word->of, of);
    }
    (void)pthread_mutex_unlock(&load->lock);
    if (!has_room) complain(load, "too many words for this test");
}

/* No two are the same, whoever says them. */
static int64_t next_token(struct person *person)
{
    return (int64_t)(person->number + 1) << 40 | ++person->said;
}

/* ---- Who starts ---- */

static void keep_flow(struct person *person, struct flow *flow, const struct reply *reply)
{
    struct load *load = person->load;
    flow->sure = SURE_MAYBE;
    if (reply->status == 200) {
        flow->sure = SURE_YES;
        copy_text(flow->id, reply->body);
    } else if (reply->status != 0 && reply->status != 503) {
        complain(load, "a start is answered %d: %.*s", reply->status, PAWL_STR_ARG(reply->body));
    }
    (void)pthread_mutex_lock(&load->lock);
    bool has_room = load->flow_count < FLOWS_MAX;
    if (has_room) load->flows[load->flow_count++] = *flow;
    (void)pthread_mutex_unlock(&load->lock);
    if (!has_room) complain(load, "too many workflows for this test");
}

/* By its key it is started once, however often it is asked for; without one it is asked for once.
 */
static void start(struct person *person, struct flow *flow)
{
    bool has_key = roll(person, 2) == 0;
    *flow =
        (struct flow){.shape = (int)roll(person, COUNT_OF(shapes)), .way = (int)roll(person, 3)};
    (void)snprintf(flow->key, sizeof flow->key, "k%d-%" PRId64, person->number, ++person->said);
    const char *key =
        has_key ? format(person,
                         ",\"idempotencyKey\":\"%s\",\"idempotencyStrategy\":\"RETURN_EXISTING\"",
                         flow->key)
                : "";
    const char *body = format(
        person, "{\"name\":\"%s\",\"version\":1,\"correlationId\":\"%s\",\"input\":{\"way\":%d}%s}",
        shapes[flow->shape].name, flow->key, flow->way, key);
    struct reply reply = has_key ? ask(person, "POST /api/workflow", body)
                                 : program_ask_once(&person->load->program, "POST /api/workflow",
                                                    body, person->keep);
    keep_flow(person, flow, &reply);
    if (!has_key || flow->id[0] == '\0' || roll(person, 5) > 0) return;
    struct reply again = ask(person, "POST /api/workflow", body);
    if (again.status == 200 && !pawl_str_equal(again.body, pawl_str_of(flow->id))) {
        complain(person->load, "%s was started as %s and as %.*s", flow->key, flow->id,
                 PAWL_STR_ARG(again.body));
    }
}

/* It may have ended meanwhile, or the first of two copies was heard. */
static void halt(struct person *person, const struct flow *flow)
{
    static const char *const verbs[] = {"pause", "resume"};
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        struct reply reply =
            ask(person, format(person, "PUT /api/workflow/%s/%s", flow->id, verbs[i]), NULL);
        if (reply.status != 0 && reply.status != 200 && reply.status != 409) {
            complain(person->load, "%s of %s is answered %d: %.*s", verbs[i], flow->id,
                     reply.status, PAWL_STR_ARG(reply.body));
        }
    }
}

static void await_end(struct person *person, const struct flow *flow)
{
    const char *line = format(person, "GET /api/workflow/%s/status", flow->id);
    while (flow->id[0] != '\0' && !person->load->is_over) {
        struct reply reply = ask(person, line, NULL);
        struct pawl_str status = text_of(person, parse(person, reply.body), "status");
        if (pawl_str_equal(status, PAWL_STR("COMPLETED"))) return;
        if (reply.status != 0 && !pawl_str_equal(status, PAWL_STR("RUNNING"))) {
            complain(person->load, "%s is %.*s", flow->id, PAWL_STR_ARG(reply.body));
        }
        pause_ms(50);
    }
}

static void *run_starter(void *self)
{
    struct person *person = self;
    struct flow flows[STARTED_AT_ONCE];
    while (!person->load->is_over) {
        for (size_t i = 0; i < COUNT_OF(flows); i++) {
            start(person, &flows[i]);
            if (flows[i].id[0] != '\0' && roll(person, 8) == 0) halt(person, &flows[i]);
        }
        for (size_t i = 0; i < COUNT_OF(flows); i++) await_end(person, &flows[i]);
        pawl_arena_reset(person->keep);
    }
    return NULL;
}

/* ---- Who works ---- */

static enum sure sure_of(const struct reply *reply)
{
    if (reply->lease == REPLY_LEASE_DONE) return SURE_YES;
    return reply->lease == REPLY_LEASE_LOST && !reply->is_repeated ? SURE_NEVER : SURE_MAYBE;
}

/* Tells how a task ended, and gives the next one if there is one. */
static const struct pawl_json *tell(struct person *person, const struct pawl_json *task)
{
    struct pawl_str id = text_of(person, task, "taskId");
    bool is_frail = pawl_str_equal(text_of(person, task, "taskType"), PAWL_STR("frail"));
    bool is_failure = is_frail && roll(person, 3) == 0;
    bool is_chained = roll(person, 2) == 0;
    int64_t token = next_token(person);
    if (roll(person, 300) == 0) return NULL; /* the worker forgets it */
    const char *body =
        format(person,
               "{\"workflowInstanceId\":\"%.*s\",\"taskId\":\"%.*s\",\"workerId\":\"w%d\","
               "\"status\":\"%s\","
               "\"outputData\":{\"token\":%" PRId64 "},\"reasonForIncompletion\":\"%" PRId64 "\"}",
               PAWL_STR_ARG(text_of(person, task, "workflowInstanceId")), PAWL_STR_ARG(id),
               person->number, is_failure ? "FAILED" : "COMPLETED", token, token);
    struct reply reply =
        ask(person, is_chained ? "POST /api/tasks/update-v2" : "POST /api/tasks", body);
    keep_word(person, id, token, is_failure, sure_of(&reply));
    if (reply.status != 0 && reply.status != 200 && reply.status != 204) {
        complain(person->load, "an update is answered %d: %.*s", reply.status,
                 PAWL_STR_ARG(reply.body));
    }
    return is_chained && reply.status == 200 ? parse(person, reply.body) : NULL;
}

static void *run_worker(void *self)
{
    struct person *person = self;
    while (!person->load->is_done) {
        const char *type = roll(person, 3) == 0 ? "frail" : "step";
        struct reply reply =
            ask(person,
                format(person, "GET /api/tasks/poll/batch/%s?workerid=w%d&count=3&timeout=100",
                       type, person->number),
                NULL);
        const struct pawl_json *tasks = parse(person, reply.body);
        if (reply.status != 0 && reply.status != 200 && reply.status != 204) {
            complain(person->load, "a poll is answered %d: %.*s", reply.status,
                     PAWL_STR_ARG(reply.body));
        }
        for (const struct pawl_json *at = pawl_json_first(tasks); at != NULL;
             at = pawl_json_next(at)) {
            for (const struct pawl_json *task = at; task != NULL;) task = tell(person, task);
        }
        pawl_arena_reset(person->keep);
    }
    return NULL;
}

/* The ids of what runs of a shape. */
static const struct pawl_json *running(struct person *person, const char *name)
{
    struct reply reply = ask(person, format(person, "GET /api/workflow/running/%s", name), NULL);
    return reply.status == 200 ? parse(person, reply.body) : NULL;
}

/* Opens gates: many a time too early, or again. */
static void *run_signaller(void *self)
{
    struct person *person = self;
    while (!person->load->is_done) {
        const struct pawl_json *all = running(person, shapes[SHAPE_WAITS].name);
        for (const struct pawl_json *at = pawl_json_first(all); at != NULL;
             at = pawl_json_next(at)) {
            struct pawl_str id = {0};
            int64_t token = next_token(person);
            (void)!pawl_json_text(at, person->keep, &id);
            struct reply reply =
                ask(person, format(person, "POST /api/tasks/%.*s/g/COMPLETED", PAWL_STR_ARG(id)),
                    format(person, "{\"token\":%" PRId64 "}", token));
            if (reply.status == 200) keep_word(person, id, token, false, SURE_YES);
            if (reply.status != 200 && reply.is_repeated)
                keep_word(person, id, token, false, SURE_MAYBE);
            if (reply.status != 0 && reply.status != 200 && reply.status != 404) {
                complain(person->load, "a signal is answered %d: %.*s", reply.status,
                         PAWL_STR_ARG(reply.body));
            }
        }
        pawl_arena_reset(person->keep);
        pause_ms(50);
    }
    return NULL;
}

/* ---- The siege ---- */

static void init_person(struct person *person, struct load *load, int number)
{
    *person = (struct person){
        .load = load, .number = number, .state = load->seed * 1000 + (uint64_t)number};
    CHECK_OK(pawl_arena_open(&person->keep, 0), NULL);
}

static void define(struct person *person)
{
    struct reply reply =
        ask(person, "POST /api/metadata/taskdefs",
            "[{\"name\":\"step\",\"retryCount\":1000,\"retryDelaySeconds\":0,\"timeoutSeconds\":0,"
            "\"responseTimeoutSeconds\":2},"
            "{\"name\":\"frail\",\"retryCount\":1000,\"retryDelaySeconds\":0,\"timeoutSeconds\":0,"
            "\"responseTimeoutSeconds\":2}]");
    CHECK_EQ(200, reply.status);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        char body[4000];
        (void)snprintf(
            body, sizeof body,
            "{'name':'%s','version':1,'tasks':[%s],'outputParameters':{'end':'${e.output.token}'}}",
            shapes[i].name, shapes[i].tasks);
        for (char *at = body; *at != '\0'; at++) *at = *at == '\'' ? '"' : *at;
        reply = ask(person, "POST /api/metadata/workflow", body);
        if (reply.status != 200)
            FAIL("%s: %d %.*s", shapes[i].name, reply.status, PAWL_STR_ARG(reply.body));
    }
}

static void restart(struct load *load)
{
    program_kill(&load->program);
    if (!program_start(&load->program)) complain(load, "the server does not start again");
}

static int64_t now_ms(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

static int64_t count_running(struct person *person)
{
    int64_t count = 0;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const struct pawl_json *ids = running(person, shapes[i].name);
        count += ids != NULL ? (int64_t)ids->child_count : 1;
    }
    pawl_arena_reset(person->keep);
    return count;
}

/* Three deaths while a row is tried set it aside, as if it had caused them; here it was us. An
 * operator gives it back, as docs/keeping.md says. */
static void let_out(struct load *load, struct lab *lab, int *aside)
{
    struct pawl_str printed = {0};
    const char *id = lab_sql(lab, "SELECT id FROM quarantine ORDER BY id LIMIT 1");
    if (id[0] == '\0') return;
    const char *const arguments[] = {"fsck", "--repair", "--let-out", id, NULL};
    if (program_run(&load->program, arguments, lab->keep, &printed) != 0 || ++*aside > ASIDE_MAX) {
        complain(load, "%s is set aside, and does not come back: %.*s", id, PAWL_STR_ARG(printed));
    }
}

static void await_all(struct load *load, struct person *person, struct lab *lab, int *aside)
{
    int64_t least = INT64_MAX;
    int64_t since_ms = now_ms();
    for (;;) {
        int64_t count = count_running(person);
        if (count == 0 || load->is_done) return;
        if (count < least) since_ms = now_ms();
        if (count < least) least = count;
        if (now_ms() - since_ms > STUCK_MS)
            complain(load, "%" PRId64 " workflows do not end", count);
        let_out(load, lab, aside);
        pause_ms(100);
    }
}

static void besiege(struct load *load, struct lab *lab, int64_t seconds, int *aside)
{
    enum { PAUSE_MS_MIN = 200, PAUSE_MS_MAX = 3000 };
    struct person people[THREADS_MAX];
    struct person killer;
    init_person(&killer, load, THREADS_MAX);
    for (int i = 0; i < THREADS_MAX; i++) init_person(&people[i], load, i);
    CHECK(program_start(&load->program));
    define(&killer);
    for (int i = 0; i < THREADS_MAX; i++) {
        void *(*run)(void *) = i < STARTERS             ? run_starter
                               : i < STARTERS + WORKERS ? run_worker
                                                        : run_signaller;
        CHECK_EQ(0, pthread_create(&people[i].thread, NULL, run, &people[i]));
    }
    int64_t end_ms = now_ms() + seconds * 1000;
    while (now_ms() < end_ms && !load->is_over) {
        pause_ms(PAUSE_MS_MIN + (int64_t)roll(&killer, PAUSE_MS_MAX - PAUSE_MS_MIN));
        restart(load);
    }
    load->is_over = true;
    for (int i = 0; i < STARTERS; i++) (void)pthread_join(people[i].thread, NULL);
    if (!load->is_done) restart(load);
    await_all(load, &killer, lab, aside);
    load->is_done = true;
    for (int i = STARTERS; i < THREADS_MAX; i++) (void)pthread_join(people[i].thread, NULL);
    for (int i = 0; i < THREADS_MAX; i++) pawl_arena_close(people[i].keep);
    pawl_arena_close(killer.keep);
}

/* ---- The judgement ---- */

static int by_word(const void *a, const void *b)
{
    const struct word *x = a;
    const struct word *y = b;
    int order = strcmp(x->of, y->of);
    return order != 0 ? order : (x->token > y->token) - (x->token < y->token);
}

static struct word *find_word(const struct load *load, struct pawl_str of, int64_t token)
{
    struct word key = {.token = token};
    copy_text(key.of, of);
    return bsearch(&key, load->words, (size_t)load->word_count, sizeof key, by_word);
}

/* What was said of this record, and may have been heard. */
static void judge_word(struct person *person, struct pawl_str of, int64_t token, bool is_failure)
{
    struct word *word = find_word(person->load, of, token);
    if (word == NULL || word->sure == SURE_NEVER || word->is_failure != is_failure ||
        word->is_seen) {
        FAIL("%.*s has the outcome %" PRId64 ", which %s", PAWL_STR_ARG(of), token,
             word == NULL                     ? "nobody said"
             : word->sure == SURE_NEVER       ? "was told to be late"
             : word->is_failure != is_failure ? "was another one"
                                              : "is seen twice");
    }
    word->is_seen = true;
}

struct tally {
    int64_t flows;
    int64_t unsure; /* that were there */
    int64_t records;
    int64_t failed;
    int64_t timed_out;
};

static bool lists(const char *list, struct pawl_str reference)
{
    for (const char *at = list; *at != '\0'; at++) {
        if (*at == reference.ptr[0]) return true;
    }
    return false;
}

struct found { /* of one workflow, by the letter of its reference */
    int64_t completed[26];
    int64_t attempts[26]; /* bit 1 << attempt */
    int64_t count[26];
    int64_t token[26];
};

static void judge_record(struct person *person, const struct flow *flow,
                         const struct pawl_json *task, struct found *found, struct tally *tally)
{
    const struct shape *shape = &shapes[flow->shape];
    struct pawl_str id = text_of(person, task, "taskId");
    struct pawl_str status = text_of(person, task, "status");
    struct pawl_str type = text_of(person, task, "taskType");
    struct pawl_str reference = text_of(person, task, "referenceTaskName");
    bool is_ours =
        pawl_str_equal(type, PAWL_STR("step")) || pawl_str_equal(type, PAWL_STR("frail"));
    if (reference.len != 1 ||
        (!lists(shape->always, reference) && !lists(shape->by_way[flow->way], reference))) {
        FAIL("%s way %d has a record of %.*s", shape->name, flow->way, PAWL_STR_ARG(reference));
    }
    int letter = reference.ptr[0] - 'a';
    int64_t token = number_of(pawl_json_member(task, PAWL_STR("outputData")), "token");
    int64_t attempt = number_of(task, "retryCount");
    tally->records++;
    found->count[letter]++;
    CHECK(attempt >= 0 && attempt < 63);
    found->attempts[letter] |= INT64_C(1) << attempt;
    if (pawl_str_equal(status, PAWL_STR("COMPLETED"))) {
        found->completed[letter]++;
        found->token[letter] = token;
        if (is_ours) judge_word(person, id, token, false);
        if (pawl_str_equal(type, PAWL_STR("WAIT")) && reference.ptr[0] == 'g') {
            judge_word(person, pawl_str_of(flow->id), token, false);
        }
        return;
    }
    CHECK(is_ours);
    if (pawl_str_equal(status, PAWL_STR("FAILED"))) {
        tally->failed++;
        judge_word(person, id, token, true);
        CHECK_STR(format(person, "%" PRId64, token),
                  text_of(person, task, "reasonForIncompletion"));
    } else {
        tally->timed_out++;
        CHECK_STR("TIMED_OUT", status);
        CHECK_EQ(-1, token);
    }
}

static void judge_flow(struct person *person, struct flow *flow, const struct pawl_json *workflow,
                       struct tally *tally)
{
    const struct shape *shape = &shapes[flow->shape];
    struct found found = {0};
    int64_t seq = 0;
    struct pawl_str id = text_of(person, workflow, "workflowId");
    if (flow->sure == SURE_YES) CHECK_STR(flow->id, id);
    copy_text(flow->id, id);
    if (!pawl_str_equal(text_of(person, workflow, "status"), PAWL_STR("COMPLETED"))) {
        FAIL("%s %s is %.*s", shape->name, flow->id,
             PAWL_STR_ARG(text_of(person, workflow, "status")));
    }
    const struct pawl_json *tasks = pawl_json_member(workflow, PAWL_STR("tasks"));
    for (const struct pawl_json *at = pawl_json_first(tasks); at != NULL; at = pawl_json_next(at)) {
        CHECK_EQ(++seq, number_of(at, "seq"));
        judge_record(person, flow, at, &found, tally);
    }
    for (int letter = 0; letter < 26; letter++) {
        char name[] = {(char)('a' + letter), '\0'};
        struct pawl_str reference = pawl_str_of(name);
        bool is_wanted =
            lists(shape->always, reference) || lists(shape->by_way[flow->way], reference);
        if (found.completed[letter] != (is_wanted ? 1 : 0)) {
            FAIL("%s %s: %s is completed %" PRId64 " times", shape->name, flow->id, name,
                 found.completed[letter]);
        }
        CHECK_EQ((INT64_C(1) << found.count[letter]) - 1, found.attempts[letter]);
    }
    CHECK_EQ(found.token['e' - 'a'],
             number_of(pawl_json_member(workflow, PAWL_STR("output")), "end"));
    if (lists(shape->always, PAWL_STR("v"))) {
        CHECK_EQ(found.token['b' - 'a'],
                 number_of(pawl_json_member(workflow, PAWL_STR("variables")), "seen"));
    }
}

static void judge(struct load *load, struct lab *lab, struct tally *tally)
{
    struct person judge;
    init_person(&judge, load, THREADS_MAX);
    if (load->word_count > 0)
        qsort(load->words, (size_t)load->word_count, sizeof *load->words, by_word);
    for (int64_t i = 0; i < load->flow_count; i++) {
        struct flow *flow = &load->flows[i];
        struct reply reply =
            ask(&judge,
                format(&judge,
                       "GET /api/workflow/%s/correlated/%s?includeClosed=true&includeTasks=true",
                       shapes[flow->shape].name, flow->key),
                NULL);
        const struct pawl_json *all = parse(&judge, reply.body);
        CHECK_EQ(200, reply.status);
        CHECK(all != NULL && all->child_count <= 1);
        if (all->child_count == 1) judge_flow(&judge, flow, pawl_json_first(all), tally);
        if (flow->sure == SURE_YES && all->child_count != 1)
            FAIL("%s is lost: %s", flow->key, flow->id);
        tally->flows += all->child_count;
        if (flow->sure != SURE_YES) tally->unsure += all->child_count;
        pawl_arena_reset(judge.keep);
    }
    for (int64_t i = 0; i < load->word_count; i++) {
        const struct word *word = &load->words[i];
        if (word->sure == SURE_YES && !word->is_seen) {
            FAIL("outcome %" PRId64 " of %s was acknowledged and is lost", word->token, word->of);
        }
    }
    CHECK_EQ(tally->flows, strtoll(lab_sql(lab, "SELECT COUNT(*) FROM workflow"), NULL, 10));
    CHECK_EQ(tally->records, strtoll(lab_sql(lab, "SELECT COUNT(*) FROM record"), NULL, 10));
    pawl_arena_close(judge.keep);
}

static void check_store(struct load *load, struct lab *lab)
{
    const char *const arguments[] = {"fsck", NULL};
    struct pawl_str printed = {0};
    CHECK_EQ(0, program_stop(&load->program));
    if (program_run(&load->program, arguments, lab->keep, &printed) != 0)
        FAIL("%.*s", PAWL_STR_ARG(printed));
}

static void tell_figures(const struct load *load, const struct tally *tally, int64_t seconds,
                         int aside)
{
    const char *path = getenv("PAWL_KILL_FIGURES");
    FILE *files[] = {stdout, path != NULL ? fopen(path, "a") : NULL};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        if (files[i] == NULL) continue;
        (void)fprintf(files[i],
                      "    seed %" PRIu64 ", %" PRId64 " s: killed %" PRId64 " times, %" PRId64
                      " requests asked again; %" PRId64 " workflows (%" PRId64
                      " of them unacknowledged), %" PRId64 " records, %" PRId64 " failed, %" PRId64
                      " timed out; %d rows set aside and taken back\n",
                      load->seed, seconds, load->program.kills, load->repeats, tally->flows,
                      tally->unsure, tally->records, tally->failed, tally->timed_out, aside);
    }
    if (files[1] != NULL) (void)fclose(files[1]);
}

static int64_t number_given(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? strtoll(text, NULL, 10) : otherwise;
}

static void load_open(struct load *load, struct lab *lab)
{
    *load = (struct load){.seed = (uint64_t)number_given("PAWL_KILL_SEED", 1)};
    CHECK_EQ(0, pthread_mutex_init(&load->lock, NULL));
    load->flows = calloc(FLOWS_MAX, sizeof *load->flows);
    load->words = calloc(WORDS_MAX, sizeof *load->words);
    CHECK(load->flows != NULL && load->words != NULL);
    (void)snprintf(load->program.target, sizeof load->program.target, "%s", lab->target);
    CHECK(snprintf(load->program.socket, sizeof load->program.socket, "%.80s/socket", lab->folder) <
          (int)sizeof load->program.socket);
}

static void load_close(struct load *load)
{
    program_kill(&load->program);
    (void)pthread_mutex_destroy(&load->lock);
    free(load->flows);
    free(load->words);
}

TEST_EACH_STORE(
    "W-032 the server is killed with -9 over and over: every workflow ends COMPLETED exactly once")
{
    static struct load load;
    struct tally tally = {0};
    int64_t seconds = number_given("PAWL_KILL_SECONDS", 30);
    int aside = 0;
    load_open(&load, lab);
    besiege(&load, lab, seconds, &aside);
    if (load.fault[0] != '\0') FAIL("%s", load.fault);
    judge(&load, lab, &tally);
    check_store(&load, lab);
    tell_figures(&load, &tally, seconds, aside);
    load_close(&load);
}

/* ---- After each answer ---- */

/* A workflow without what differs from life to life: ids and times. */
static const char *show(struct person *person, struct pawl_str id)
{
    struct reply reply =
        ask(person, format(person, "GET /api/workflow/%.*s", PAWL_STR_ARG(id)), NULL);
    const struct pawl_json *workflow = parse(person, reply.body);
    const struct pawl_json *tasks = pawl_json_member(workflow, PAWL_STR("tasks"));
    const struct pawl_json *output = pawl_json_member(workflow, PAWL_STR("output"));
    CHECK_EQ(200, reply.status);
    CHECK(output != NULL);
    const char *text =
        format(person, "%.*s %.*s", PAWL_STR_ARG(text_of(person, workflow, "status")),
               PAWL_STR_ARG(output->raw));
    for (const struct pawl_json *at = pawl_json_first(tasks); at != NULL; at = pawl_json_next(at)) {
        const struct pawl_json *said = pawl_json_member(at, PAWL_STR("outputData"));
        CHECK(said != NULL);
        text = format(person,
                      "%s, %.*s %.*s seq %" PRId64 " attempt %" PRId64 " polls %" PRId64
                      " by %.*s: %.*s",
                      text, PAWL_STR_ARG(text_of(person, at, "referenceTaskName")),
                      PAWL_STR_ARG(text_of(person, at, "status")), number_of(at, "seq"),
                      number_of(at, "retryCount"), number_of(at, "pollCount"),
                      PAWL_STR_ARG(text_of(person, at, "workerId")), PAWL_STR_ARG(said->raw));
    }
    return text;
}

/* Asks, and what is there then is there after a death, too. */
static struct pawl_str ask_and_kill(struct person *person, bool kills, struct pawl_str id,
                                    const char *line, const char *body)
{
    struct load *load = person->load;
    struct reply reply = ask(person, line, body);
    if (reply.status != 200)
        FAIL("%s is answered %d: %.*s", line, reply.status, PAWL_STR_ARG(reply.body));
    if (!kills) return reply.body;
    const char *before = show(person, id.len > 0 ? id : reply.body);
    program_kill(&load->program);
    CHECK(program_start(&load->program));
    CHECK_TEXT(before, show(person, id.len > 0 ? id : reply.body));
    return reply.body;
}

/* Two tasks, one after the other; how it looked at its end. */
static const char *live(struct person *person, bool kills)
{
    static const char *const types[] = {"t1", "t2"};
    struct pawl_str id = ask_and_kill(person, kills, (struct pawl_str){0}, "POST /api/workflow",
                                      "{\"name\":\"two\",\"input\":{\"x\":1}}");
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        const char *poll = format(person, "GET /api/tasks/poll/%s?workerid=w", types[i]);
        struct pawl_str task =
            text_of(person, parse(person, ask_and_kill(person, kills, id, poll, NULL)), "taskId");
        CHECK_EQ(204, ask(person, poll, NULL).status); /* it is held */
        const char *update =
            format(person,
                   "{\"workflowInstanceId\":\"%.*s\",\"taskId\":\"%.*s\",\"workerId\":\"w\","
                   "\"status\":\"COMPLETED\",\"outputData\":{\"x\":1}}",
                   PAWL_STR_ARG(id), PAWL_STR_ARG(task));
        for (int copy = 0; copy < 2; copy++)
            (void)ask_and_kill(person, kills, id, "POST /api/tasks", update);
    }
    return show(person, id);
}

TEST_EACH_STORE(
    "W-032 the server is killed after each answer of a workflow's life: it goes on to the same end")
{
    static struct load load;
    struct person person;
    load_open(&load, lab);
    init_person(&person, &load, 0);
    CHECK(program_start(&load.program));
    struct reply reply =
        ask(&person, "POST /api/metadata/workflow",
            "{\"name\":\"two\",\"tasks\":[{\"name\":\"t1\",\"taskReferenceName\":\"t1\"},"
            "{\"name\":\"t2\",\"taskReferenceName\":\"t2\"}],"
            "\"outputParameters\":{\"x\":\"${t2.output.x}\"}}");
    CHECK_EQ(200, reply.status);
    const char *wanted = live(&person, false);
    CHECK_TEXT("COMPLETED {\"x\":1}, t1 COMPLETED seq 1 attempt 0 polls 1 by w: {\"x\":1}, "
               "t2 COMPLETED seq 2 attempt 0 polls 1 by w: {\"x\":1}",
               wanted);
    CHECK_TEXT(wanted, live(&person, true));
    CHECK_EQ(7, load.program.kills);
    check_store(&load, lab);
    pawl_arena_close(person.keep);
    load_close(&load);
}

TEST_MAIN()
