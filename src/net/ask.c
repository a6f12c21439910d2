#include "net/ask.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "core/check.h"
#include "net/native/body.h"

#include <stdlib.h>
#include <string.h>

/* ---- Asking -----------------------------------------------------------------------------------
 */

void pawl_ask_refuse(struct pawl_exchange *exchange, const struct pawl_error *err)
{
    bool is_its_fault = err->code == PAWL_INVALID || err->code == PAWL_TOO_LARGE;
    pawl_exchange_answer_error(exchange, err,
                               is_its_fault ? pawl_body_field(err, exchange->arena) : NULL);
}

static void take_answer(struct pawl_request *request)
{
    struct pawl_ask *ask = request->on_answer_self;
    if (request->command.code != PAWL_OK) {
        pawl_ask_refuse(ask->exchange, &request->command.err);
        return;
    }
    ask->answer(ask);
}

void *pawl_ask_begin(struct pawl_exchange *exchange, struct pawl *pawl, size_t bytes,
                     enum pawl_command_kind kind, void (*answer)(struct pawl_ask *ask))
{
    pawl_assert(bytes >= sizeof(struct pawl_ask));
    bool is_strict = exchange->face == PAWL_FACE_PAWL; /* clients of Conductor send what they like */
    if (is_strict && pawl_exchange_has_unread(exchange)) return NULL;
    struct pawl_ask *ask = pawl_arena_take(exchange->arena, bytes);
    if (ask == NULL) {
        struct pawl_error err = {0};
        (void)pawl_error_set(&err, pawl_arena_code(exchange->arena), "no room for the request");
        pawl_exchange_answer_error(exchange, &err, NULL);
        return NULL;
    }
    ask->pawl = pawl;
    ask->exchange = exchange;
    ask->answer = answer;
    pawl_request_init(&ask->request, kind);
    ask->request.on_answer = take_answer;
    ask->request.on_answer_self = ask;
    ask->request.continuing = &ask->continuing;
    ask->request.command.keep = exchange->arena;
    return ask;
}

static void leave(struct pawl_exchange *exchange, void *self)
{
    struct pawl_ask *ask = self;
    (void)exchange;
    pawl_engine_cancel(ask->pawl, &ask->request);
}

void pawl_ask_hand_checked(struct pawl_ask *ask)
{
    struct pawl_exchange *exchange = ask->exchange;
    struct pawl_error err = {0};
    if (ask->request.wait_ms > 0) pawl_exchange_on_left(exchange, leave, ask);
    if (pawl_engine_hand(ask->pawl, &ask->request, &err) != PAWL_OK) {
        pawl_exchange_answer_error(exchange, &err, NULL);
    }
}

void pawl_ask_hand(struct pawl_ask *ask)
{
    struct pawl_error err = {0};
    struct pawl_arena_mark mark = pawl_arena_mark(ask->exchange->arena);
    enum pawl_code code = pawl_check_command(&ask->request.command, ask->exchange->arena, &err);
    pawl_arena_rewind(ask->exchange->arena, mark);
    if (code != PAWL_OK) {
        pawl_ask_refuse(ask->exchange, &err);
    } else {
        pawl_ask_hand_checked(ask);
    }
}

/* ---- Grants -----------------------------------------------------------------------------------
 */

/* A release that nobody waits for: it outlives its exchange, and frees itself. */
struct giving_back {
    struct pawl_request request;
    char texts[]; /* task_id, owner */
};

static void forget(struct pawl_request *request)
{
    free(request->on_answer_self);
}

/* What cannot even be told comes back when its lease ends. */
static void give_back(struct pawl *pawl, const struct pawl_fence *fence)
{
    struct giving_back *back = calloc(1, sizeof *back + fence->task_id.len + fence->owner.len);
    if (back == NULL) return;
    pawl_request_init(&back->request, PAWL_COMMAND_RELEASE);
    memcpy(back->texts, fence->task_id.ptr, fence->task_id.len);
    memcpy(back->texts + fence->task_id.len, fence->owner.ptr, fence->owner.len);
    struct pawl_command *command = &back->request.command;
    command->task_id = (struct pawl_str){back->texts, fence->task_id.len};
    command->has_fence = true;
    command->fence = (struct pawl_fence){
        .task_id = command->task_id,
        .owner = {back->texts + fence->task_id.len, fence->owner.len},
        .epoch = fence->epoch,
    };
    command->reason = PAWL_STR("its answer did not reach the worker");
    back->request.on_answer = forget;
    back->request.on_answer_self = back;
    if (pawl_engine_hand(pawl, &back->request, NULL) != PAWL_OK) free(back);
}

void pawl_ask_give_back(struct pawl *pawl, const struct pawl_grant *grants, size_t count)
{
    for (size_t i = 0; i < count; i++) give_back(pawl, &grants[i].fence);
}

struct granted {
    struct pawl *pawl;
    const struct pawl_grant *grants;
    size_t count;
};

static void see_it_sent(void *self, bool was_sent)
{
    const struct granted *granted = self;
    if (!was_sent) pawl_ask_give_back(granted->pawl, granted->grants, granted->count);
}

void pawl_ask_answer_grants(struct pawl_exchange *exchange, struct pawl *pawl,
                            const struct pawl_grant *grants, size_t count,
                            struct pawl_json_writer *w)
{
    struct granted *granted = pawl_arena_take(exchange->arena, sizeof *granted);
    bool is_written = !w->has_failed && pawl_arena_code(exchange->arena) == PAWL_OK;
    if (!is_written || granted == NULL) { /* what follows is an error, and that does reach him */
        pawl_ask_give_back(pawl, grants, count);
        struct pawl_error err = {0};
        enum pawl_code code = pawl_arena_code(exchange->arena);
        (void)pawl_error_set(&err, code != PAWL_OK ? code : PAWL_NO_MEMORY,
                             "no room for the answer: the tasks were given back; claim fewer");
        pawl_exchange_answer_error(exchange, &err, NULL);
        return;
    }
    *granted = (struct granted){.pawl = pawl, .grants = grants, .count = count};
    if (count > 0) pawl_exchange_on_done(exchange, see_it_sent, granted);
    pawl_exchange_answer_json(exchange, 200, w);
}

int64_t pawl_ask_left_ms(const struct pawl_ask *ask, const struct pawl_grant *grant,
                         int64_t waited_ms)
{
    const struct pawl_env *env = ask->pawl->env;
    int64_t since_ms = env->boot_ms(env->self) - ask->request.asked_boot_ms - waited_ms;
    int64_t left_ms = grant->lease_ms - (since_ms > 0 ? since_ms : 0);
    return left_ms > 0 ? left_ms : 0;
}
