/* Leases: claiming tasks, keeping them, and telling the outcomes of many at once. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "core/check.h"
#include "net/ask.h"
#include "net/native/native.h"
#include "net/native/body.h"
#include "net/native/change.h"
#include "wire/show.h"
#include "wire/words.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* ---- Claims -----------------------------------------------------------------------------------
 */

struct said_claim {
    struct pawl_claim claim;
    const struct pawl_json *queues;
};

/* clang-format off */
#define CLAIM_KEY(key, kind, is_needed) \
    {#key, PAWL_BODY_##kind, offsetof(struct said_claim, claim.key), is_needed}
#define START_KEYS \
    CLAIM_KEY(worker_id, NAME, true), CLAIM_KEY(lease_ms, MS, false), CLAIM_KEY(request_id, NAME, false)
#define CLAIM_KEYS                                                                      \
    START_KEYS, CLAIM_KEY(max, INT32, false), CLAIM_KEY(priority_min, INT32, false),    \
    {"queues", PAWL_BODY_ARRAY, offsetof(struct said_claim, queues), false}
/* clang-format on */

static enum pawl_code read_queues(struct said_claim *said, struct pawl_arena *keep,
                                  struct pawl_error *err)
{
    if (said->queues == NULL) return PAWL_OK;
    size_t count = said->queues->child_count;
    struct pawl_str *names = pawl_arena_take_array(keep, count, sizeof *names);
    if (names == NULL) {
        return pawl_error_set(err, pawl_arena_code(keep), "queues: no room for them");
    }
    size_t at = 0;
    for (const struct pawl_json *name = pawl_json_first(said->queues); name != NULL;
         name = pawl_json_next(name), at++) {
        if (pawl_json_text(name, keep, &names[at])) continue;
        return pawl_error_set(err, PAWL_INVALID, "queues[%zu]: a text is wanted", at);
    }
    said->claim.queues = names;
    said->claim.queue_count = count;
    return PAWL_OK;
}

/* The claim of a body, in keep; NULL with *err. */
static const struct pawl_claim *read_claim(const struct pawl_json *body,
                                           const struct pawl_body_key *keys, size_t count,
                                           struct pawl_arena *keep, struct pawl_error *err)
{
    struct said_claim *said = pawl_arena_take(keep, sizeof *said);
    if (said == NULL) {
        (void)pawl_error_set(err, pawl_arena_code(keep), "no room for the claim");
        return NULL;
    }
    said->claim.size = sizeof said->claim;
    if (pawl_body_fill(body, keys, count, keep, said, err) != PAWL_OK) return NULL;
    return read_queues(said, keep, err) == PAWL_OK ? &said->claim : NULL;
}

/* Its members, into an object that is open. left_ms: how much of its lease is left. */
static void put_grant(struct pawl_json_writer *w, const struct pawl_grant *grant, int64_t left_ms)
{
    pawl_json_put_member_text(w, "id", grant->fence.task_id);
    pawl_json_put_member_text(w, "owner", grant->fence.owner);
    pawl_json_put_member_int64(w, "epoch", grant->fence.epoch);
    pawl_json_put_member_text(w, "queue", grant->queue);
    pawl_json_put_member_int64(w, "priority", grant->priority);
    pawl_json_put_member_int64(w, "attempt", grant->attempt);
    pawl_json_put_member_int64(w, "max_retries", grant->max_retries);
    pawl_json_put_member_int64(w, "timeout_ms", grant->timeout_ms);
    pawl_json_put_member_int64(w, "lease_ms", grant->lease_ms);
    pawl_json_put_member_int64(w, "left_ms", left_ms);
    pawl_json_put_member_int64(w, "lease_end_at_ms", grant->lease_end_at_ms);
    pawl_show_text(w, "title", grant->title);
    pawl_show_text(w, "goal", grant->goal);
    pawl_json_put_member_raw(w, "input", grant->input);
    pawl_json_put_member_raw(w, "metadata", grant->metadata);
    pawl_json_put_member_raw(w, "checkpoint", grant->checkpoint);
    if (grant->checkpoint.len > 0) {
        pawl_json_put_member_int64(w, "checkpoint_step", grant->checkpoint_step);
    } else {
        pawl_json_put_member_null(w, "checkpoint_step");
    }
}

static void put_grants(struct pawl_json_writer *w, const struct pawl_ask *ask,
                       const struct pawl_claimed *claimed)
{
    pawl_json_begin_object(w);
    pawl_json_put_key(w, "grants");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < claimed->count; i++) {
        const struct pawl_grant *grant = &claimed->grants[i];
        pawl_json_begin_object(w);
        put_grant(w, grant, pawl_ask_left_ms(ask, grant, claimed->waited_ms));
        pawl_json_end_object(w);
    }
    pawl_json_end_array(w);
    pawl_show_instant(w, "next_at_ms", claimed->next_at_ms);
    pawl_json_put_member_int64(w, "waited_ms", claimed->waited_ms);
    pawl_json_end_object(w);
}

struct claiming {
    struct pawl_ask ask; /* first */
    struct pawl_claimed claimed;
};

static void answer_claim(struct pawl_ask *ask)
{
    const struct claiming *claiming = (const struct claiming *)ask;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, ask->exchange->arena);
    put_grants(&w, ask, &claiming->claimed);
    pawl_ask_answer_grants(ask->exchange, ask->pawl, claiming->claimed.grants,
                           claiming->claimed.count, &w);
}

static void claim(struct pawl_exchange *exchange, void *self)
{
    static const struct pawl_body_key keys[] = {CLAIM_KEYS, CLAIM_KEY(wait_ms, MS, false)};
    struct pawl_error err = {0};
    const struct pawl_json *body = pawl_body_of(exchange, 2);
    if (body == NULL) return;
    struct claiming *claiming =
        pawl_ask_begin(exchange, ((struct pawl_native *)self)->pawl, sizeof *claiming, PAWL_COMMAND_CLAIM, answer_claim);
    if (claiming == NULL) return;
    const struct pawl_claim *ask =
        read_claim(body, keys, PAWL_COUNT_OF(keys), exchange->arena, &err);
    if (ask == NULL) {
        pawl_ask_refuse(exchange, &err);
        return;
    }
    struct pawl_request *request = &claiming->ask.request;
    request->command.ask.claim.ask = ask;
    request->command.ask.claim.about.host = exchange->peer;
    request->command.out.claimed = &claiming->claimed;
    request->wait_ms = ask->wait_ms;
    pawl_ask_hand(&claiming->ask);
}

struct starting {
    struct pawl_ask ask; /* first */
    struct pawl_grant grant;
};

static void answer_start(struct pawl_ask *ask)
{
    const struct starting *starting = (const struct starting *)ask;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, ask->exchange->arena);
    pawl_json_begin_object(&w);
    put_grant(&w, &starting->grant, pawl_ask_left_ms(ask, &starting->grant, 0));
    pawl_json_end_object(&w);
    pawl_ask_answer_grants(ask->exchange, ask->pawl, &starting->grant, 1, &w);
}

static void start(struct pawl_exchange *exchange, void *self)
{
    static const struct pawl_body_key keys[] = {START_KEYS};
    struct pawl_error err = {0};
    const struct pawl_json *body = pawl_body_of(exchange, 1);
    if (body == NULL) return;
    struct starting *starting =
        pawl_ask_begin(exchange, ((struct pawl_native *)self)->pawl, sizeof *starting, PAWL_COMMAND_START, answer_start);
    if (starting == NULL) return;
    const struct pawl_claim *ask =
        read_claim(body, keys, PAWL_COUNT_OF(keys), exchange->arena, &err);
    if (ask == NULL) {
        pawl_ask_refuse(exchange, &err);
        return;
    }
    struct pawl_command *command = &starting->ask.request.command;
    command->task_id = pawl_exchange_variable(exchange, "id");
    command->ask.claim.ask = ask;
    command->ask.claim.about.host = exchange->peer;
    command->out.grant = &starting->grant;
    pawl_ask_hand(&starting->ask);
}

/* ---- Renewals ---------------------------------------------------------------------------------
 */

/* The members of an array of objects, at most PAWL_BATCH_MAX and at least one. */
static enum pawl_code check_members(const char *field, const struct pawl_json *array,
                                    struct pawl_error *err)
{
    if (array->child_count == 0) {
        return pawl_error_set(err, PAWL_INVALID, "%s: has no members", field);
    }
    if (array->child_count <= PAWL_BATCH_MAX) return PAWL_OK;
    return pawl_error_set(err, PAWL_TOO_LARGE, "%s: has %u members; at most %d", field,
                          (unsigned)array->child_count, PAWL_BATCH_MAX);
}

static void answer_renew(struct pawl_ask *ask)
{
    const struct pawl_command *command = &ask->request.command;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, ask->exchange->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_key(&w, "leases");
    pawl_json_begin_array(&w);
    for (size_t i = 0; i < command->ask.renew.count; i++) {
        const struct pawl_renewal *renewal = &command->out.renewals[i];
        pawl_json_begin_object(&w);
        pawl_json_put_member_text(&w, "task_id", command->ask.renew.fences[i].task_id);
        pawl_json_put_member_text(&w, "code", pawl_str_of(pawl_code_name(renewal->code)));
        if (renewal->code == PAWL_OK) {
            pawl_json_put_member_int64(&w, "left_ms", renewal->lease_ms);
            pawl_json_put_member_int64(&w, "lease_end_at_ms", renewal->lease_end_at_ms);
            pawl_show_text(&w, "control", pawl_str_of(pawl_control_name(renewal->control)));
            pawl_show_instant(&w, "control_deadline_at_ms", renewal->control_deadline_at_ms);
        }
        pawl_json_end_object(&w);
    }
    pawl_json_end_array(&w);
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(ask->exchange, 200, &w);
}

static enum pawl_code read_fences(const struct pawl_json *leases, struct pawl_arena *keep,
                                  struct pawl_fence *fences, struct pawl_error *err)
{
    static const struct pawl_body_key keys[] = {
        {"task_id", PAWL_BODY_NAME, offsetof(struct pawl_fence, task_id), true},
        {"owner", PAWL_BODY_NAME, offsetof(struct pawl_fence, owner), true},
        {"epoch", PAWL_BODY_EPOCH, offsetof(struct pawl_fence, epoch), true},
    };
    size_t i = 0;
    for (const struct pawl_json *at = pawl_json_first(leases); at != NULL;
         at = pawl_json_next(at), i++) {
        enum pawl_code code = pawl_body_fill(at, keys, PAWL_COUNT_OF(keys), keep, &fences[i], err);
        if (code == PAWL_OK) continue;
        pawl_error_prefix(err, "leases[%zu]", i);
        return code;
    }
    return PAWL_OK;
}

static void renew(struct pawl_exchange *exchange, void *self)
{
    struct said {
        const struct pawl_json *leases;
        int64_t lease_ms;
    } said = {0};
    static const struct pawl_body_key keys[] = {
        {"leases", PAWL_BODY_ARRAY, offsetof(struct said, leases), true},
        {"lease_ms", PAWL_BODY_MS, offsetof(struct said, lease_ms), false},
    };
    struct pawl_arena *keep = exchange->arena;
    struct pawl_error err = {0};
    const struct pawl_json *body = pawl_body_wanted(exchange, 3);
    if (body == NULL) return;
    struct pawl_ask *ask =
        pawl_ask_begin(exchange, ((struct pawl_native *)self)->pawl, sizeof *ask, PAWL_COMMAND_RENEW, answer_renew);
    if (ask == NULL) return;
    struct pawl_fence *fences = NULL;
    enum pawl_code code = pawl_body_fill(body, keys, PAWL_COUNT_OF(keys), keep, &said, &err);
    if (code == PAWL_OK) code = check_members("leases", said.leases, &err);
    if (code == PAWL_OK) {
        size_t count = said.leases->child_count;
        fences = pawl_arena_take_array(keep, count, sizeof *fences);
        ask->request.command.ask.renew.fences = fences;
        ask->request.command.ask.renew.count = count;
        ask->request.command.ask.renew.lease_ms = said.lease_ms;
        ask->request.command.out.renewals =
            pawl_arena_take_array(keep, count, sizeof(struct pawl_renewal));
        code = pawl_arena_code(keep);
        if (code != PAWL_OK) (void)pawl_error_set(&err, code, "leases: no room for them");
    }
    if (code == PAWL_OK) code = read_fences(said.leases, keep, fences, &err);
    if (code != PAWL_OK) {
        pawl_ask_refuse(exchange, &err);
        return;
    }
    pawl_ask_hand(ask);
}

/* ---- Outcomes ---------------------------------------------------------------------------------
 */

/* Many outcomes, and perhaps a claim behind them: commands of their own, handed over together and
 * answered together, by whichever is answered last. The first ask of the array is the claim's if
 * there is one. */
struct telling {
    struct pawl_native *native;
    struct pawl_exchange *exchange;
    struct pawl_request **requests; /* in their order; the claim's is the last one */
    bool *continuing;               /* of each */
    size_t count;                   /* with the claim */
    bool has_claim;
    struct pawl_ask claim; /* of which only pawl and request are used */
    struct pawl_claimed claimed;
    _Atomic size_t open;
};

static void put_told(struct pawl_json_writer *w, const struct pawl_request *request)
{
    const struct pawl_command *command = &request->command;
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "task_id", command->task_id);
    pawl_json_put_member_text(w, "code", pawl_str_of(pawl_code_name(command->code)));
    if (command->code != PAWL_OK) {
        pawl_json_put_member_text(w, "message", pawl_str_of(command->err.text));
    } else if (*request->continuing) {
        pawl_json_put_member_bool(w, "continuing", true);
    }
    pawl_json_end_object(w);
}

static void answer_telling(struct telling *telling)
{
    const struct pawl_request *claim = &telling->claim.request;
    size_t outcomes = telling->count - (telling->has_claim ? 1 : 0);
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, telling->exchange->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_key(&w, "outcomes");
    pawl_json_begin_array(&w);
    for (size_t i = 0; i < outcomes; i++) put_told(&w, telling->requests[i]);
    pawl_json_end_array(&w);
    if (telling->has_claim) {
        pawl_json_put_key(&w, "claim");
        if (claim->command.code == PAWL_OK) {
            put_grants(&w, &telling->claim, &telling->claimed);
        } else {
            put_told(&w, claim);
        }
    }
    pawl_json_end_object(&w);
    bool has_grants = telling->has_claim && claim->command.code == PAWL_OK;
    pawl_ask_answer_grants(telling->exchange, telling->native->pawl, telling->claimed.grants,
                           has_grants ? telling->claimed.count : 0, &w);
}

static void take_told(struct pawl_request *request)
{
    struct telling *telling = request->on_answer_self;
    if (atomic_fetch_sub(&telling->open, 1) == 1) answer_telling(telling);
}

static void begin_telling(struct telling *telling, struct pawl_request *request,
                          enum pawl_command_kind kind)
{
    pawl_request_init(request, kind);
    request->on_answer = take_told;
    request->on_answer_self = telling;
    request->continuing = &telling->continuing[telling->count];
    telling->requests[telling->count++] = request;
}

static const struct {
    const char *word;
    enum pawl_command_kind kind;
} outcome_kinds[] = {
    {"complete", PAWL_COMMAND_COMPLETE},
    {"fail", PAWL_COMMAND_FAIL},
    {"release", PAWL_COMMAND_RELEASE},
};

static enum pawl_code read_outcome(const struct pawl_json *body, struct telling *telling,
                                   struct pawl_request *request, struct pawl_error *err)
{
    static const struct pawl_body_key keys[] = {
        PAWL_SAID_KEY("task_id", NAME, task_id, true),
        PAWL_SAID_KEY("kind", NAME, kind, true),
        PAWL_SAID_BY,
        PAWL_SAID_COMPLETE,
        PAWL_SAID_FAIL,
        PAWL_SAID_RELEASE,
    };
    struct pawl_arena *keep = telling->exchange->arena;
    struct pawl_said said = {0};
    enum pawl_code code = pawl_body_fill(body, keys, PAWL_COUNT_OF(keys), keep, &said, err);
    if (code != PAWL_OK) return code;
    size_t at = 0;
    while (at < PAWL_COUNT_OF(outcome_kinds) &&
           !pawl_str_equal(said.kind, pawl_str_of(outcome_kinds[at].word))) {
        at++;
    }
    if (at == PAWL_COUNT_OF(outcome_kinds)) {
        return pawl_error_set(err, PAWL_INVALID, "kind: complete, fail or release is wanted");
    }
    if (said.actor.len == 0) said.actor = telling->exchange->caller;
    begin_telling(telling, request, outcome_kinds[at].kind);
    code = pawl_said_fill(&said, outcome_kinds[at].kind, said.task_id, &request->command, err);
    if (code != PAWL_OK) return code;
    struct pawl_arena_mark mark = pawl_arena_mark(keep);
    code = pawl_check_command(&request->command, keep, err);
    pawl_arena_rewind(keep, mark);
    return code;
}

static enum pawl_code read_outcomes(const struct pawl_json *outcomes, struct telling *telling,
                                    struct pawl_error *err)
{
    size_t count = outcomes->child_count;
    struct pawl_arena *keep = telling->exchange->arena;
    struct pawl_request *requests = pawl_arena_take_array(keep, count, sizeof *requests);
    telling->requests = pawl_arena_take_array(keep, count + 1, sizeof(struct pawl_request *));
    telling->continuing = pawl_arena_take_array(keep, count + 1, sizeof(bool));
    enum pawl_code code = pawl_arena_code(keep);
    if (code != PAWL_OK) return pawl_error_set(err, code, "outcomes: no room for them");
    size_t i = 0;
    for (const struct pawl_json *at = pawl_json_first(outcomes); at != NULL;
         at = pawl_json_next(at), i++) {
        code = read_outcome(at, telling, &requests[i], err);
        if (code == PAWL_OK) continue;
        pawl_error_prefix(err, "outcomes[%zu]", i);
        return code;
    }
    return PAWL_OK;
}

/* The claim does not wait: the outcomes' answers would wait with it. */
static enum pawl_code read_chained(const struct pawl_json *body, struct telling *telling,
                                   struct pawl_error *err)
{
    static const struct pawl_body_key keys[] = {CLAIM_KEYS};
    const struct pawl_claim *ask =
        read_claim(body, keys, PAWL_COUNT_OF(keys), telling->exchange->arena, err);
    enum pawl_code code = ask != NULL ? pawl_check_claim(ask, err) : err->code;
    if (code != PAWL_OK) {
        pawl_error_prefix(err, "claim");
        return code;
    }
    struct pawl_request *request = &telling->claim.request;
    begin_telling(telling, request, PAWL_COMMAND_CLAIM);
    request->command.ask.claim.ask = ask;
    request->command.ask.claim.about.host = telling->exchange->peer;
    request->command.out.claimed = &telling->claimed;
    request->command.keep = telling->exchange->arena;
    telling->has_claim = true;
    return PAWL_OK;
}

static void tell(struct pawl_exchange *exchange, void *self)
{
    struct said {
        const struct pawl_json *outcomes;
        const struct pawl_json *claim;
    } said = {0};
    static const struct pawl_body_key keys[] = {
        {"outcomes", PAWL_BODY_ARRAY, offsetof(struct said, outcomes), true},
        {"claim", PAWL_BODY_OBJECT, offsetof(struct said, claim), false},
    };
    struct pawl_native *native = self;
    struct pawl_error err = {0};
    const struct pawl_json *body = pawl_body_wanted(exchange, 3);
    if (body == NULL) return;
    struct telling *telling = pawl_arena_take(exchange->arena, sizeof *telling);
    enum pawl_code code = pawl_arena_code(exchange->arena);
    if (code != PAWL_OK) (void)pawl_error_set(&err, code, "no room for the request");
    if (code == PAWL_OK) {
        telling->native = native;
        telling->claim.pawl = native->pawl;
        telling->exchange = exchange;
        code = pawl_body_fill(body, keys, PAWL_COUNT_OF(keys), exchange->arena, &said, &err);
    }
    if (code == PAWL_OK) code = check_members("outcomes", said.outcomes, &err);
    if (code == PAWL_OK) code = read_outcomes(said.outcomes, telling, &err);
    /* who is about to end hands out nothing more */
    bool claims = code == PAWL_OK && said.claim != NULL && pawl_engine_may_wait(native->pawl) &&
                  !pawl_exchange_is_left(exchange);
    if (claims) code = read_chained(said.claim, telling, &err);
    if (code != PAWL_OK) {
        pawl_ask_refuse(exchange, &err);
        return;
    }
    telling->open = telling->count;
    code = pawl_engine_hand_all(native->pawl, telling->requests, telling->count, &err);
    if (code != PAWL_OK) pawl_exchange_answer_error(exchange, &err, NULL);
}

static const struct pawl_route routes[] = {
    {PAWL_VERB_POST, "/v1/tasks/claim", PAWL_ROLE_WORKER, "Claims tasks, and waits for them", claim,
     0},
    {PAWL_VERB_POST, "/v1/tasks/{id}/start", PAWL_ROLE_WORKER, "Claims one task", start, 0},
    {PAWL_VERB_POST, "/v1/leases/renew", PAWL_ROLE_WORKER, "Prolongs leases", renew,
     PAWL_ROUTE_DRAINS},
    {PAWL_VERB_POST, "/v1/outcomes", PAWL_ROLE_WORKER,
     "Tells the outcomes of many tasks, and claims more", tell, PAWL_ROUTE_DRAINS},
};

struct pawl_route_table pawl_native_claims(struct pawl_native *native)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), native};
}
