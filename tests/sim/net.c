#include "net.h"

#include "asks.h"
#include "work.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SLOW_MS_MAX = 1500 };

static bool is_cut(const struct sim *sim, const struct worker *worker)
{
    return worker->cut_until_ms > sim->now_ms && !sim->is_calm;
}

/* How long it takes: mostly nothing. */
static int64_t delay_ms(struct sim *sim)
{
    if (sim->is_calm || !happens(sim, sim->swarm.net_slow)) return 0;
    return roll(sim, 1, SLOW_MS_MAX);
}

/* ---- To the engines ------------------------------------------------------------------------ */

/* False if too many are on their way already. */
static bool send_later(struct sim *sim, struct call *call, int64_t in_ms)
{
    for (int i = 0; i < SIM_POSTS_MAX; i++) {
        if (sim->posts[i].call != NULL) continue;
        sim->posts[i] = (struct post){call, sim->now_ms + in_ms};
        sim_tell(sim, "%s is on its way for %" PRId64 " ms", call_text(sim, call), in_ms);
        return true;
    }
    return false;
}

void net_hand_over(struct sim *sim, struct engine *engine, struct call *call)
{
    if (call->asked_at_ms < 0) call->asked_at_ms = sim->now_ms;
    if (call->worker < 0 || sim->is_calm) {
        (void)call_send(sim, engine, call);
        return;
    }
    if (is_cut(sim, &sim->workers[call->worker]) || happens(sim, sim->swarm.net_lost)) {
        sim_tell(sim, "%s is lost on its way", call_text(sim, call));
        return;
    }
    int64_t in_ms = delay_ms(sim);
    bool is_twice = happens(sim, sim->swarm.net_twice);
    if (in_ms == 0 || !send_later(sim, call, in_ms)) (void)call_send(sim, engine, call);
    if (is_twice) (void)send_later(sim, call, delay_ms(sim) + roll(sim, 0, 100));
}

void net_deliver(struct sim *sim, struct engine *engine)
{
    enum { ROOM = 24 };
    for (int i = 0; i < SIM_POSTS_MAX && sim->sent_count < SIM_SENT_MAX - ROOM; i++) {
        struct post *post = &sim->posts[i];
        if (post->call == NULL || (post->at_ms > sim->now_ms && !sim->is_calm)) continue;
        struct call *call = post->call;
        post->call = NULL;
        (void)call_send(sim, engine, call);
    }
}

bool net_has_posts(const struct sim *sim)
{
    for (int i = 0; i < SIM_POSTS_MAX; i++) {
        const struct post *post = &sim->posts[i];
        if (post->call != NULL && (post->at_ms <= sim->now_ms || sim->is_calm)) return true;
    }
    return false;
}

void net_forget(struct sim *sim, const struct worker *worker)
{
    for (int i = 0; i < SIM_POSTS_MAX; i++) {
        struct post *post = &sim->posts[i];
        if (post->call != NULL && post->call->worker == worker->number) post->call = NULL;
    }
}

/* ---- To the workers ------------------------------------------------------------------------ */

static void write_letter(struct sim *sim, const struct sent *sent, struct letter *letter)
{
    const struct pawl_command *command = &sent->call->command;
    *letter = (struct letter){.call = sent->call, .code = sent->code};
    if (sent->code != PAWL_OK) return;
    bool is_start = command->kind == PAWL_COMMAND_START;
    bool is_claim = command->kind == PAWL_COMMAND_CLAIM;
    size_t count = is_start ? 1 : is_claim ? sent->claimed.count : 0;
    const struct pawl_grant *grants = is_start ? &sent->grant : sent->claimed.grants;
    for (size_t i = 0; i < count && letter->grant_count < SIM_SENT_MAX; i++) {
        const struct pawl_fence *fence = &grants[i].fence;
        int task = model_find(sim, fence->task_id);
        if (task < 0) continue;
        letter->grants[letter->grant_count++] = (struct letter_grant){
            .task = task,
            .fence = {sim->models[task].id, sim_text(sim, "%.*s", PAWL_STR_ARG(fence->owner)),
                      fence->epoch},
            .lease_ms = grants[i].lease_ms,
        };
    }
    for (size_t i = 0; command->kind == PAWL_COMMAND_RENEW && i < command->ask.renew.count; i++) {
        letter->renewals[i] = (struct letter_renewal){
            sent->renewals[i].code, sent->renewals[i].lease_ms, sent->renewals[i].control};
    }
}

static struct letter *free_letter(struct sim *sim)
{
    for (int i = 0; i < SIM_LETTERS_MAX; i++) {
        if (sim->letters[i].call == NULL) return &sim->letters[i];
    }
    return NULL;
}

/* Whoever stands still hears it when it goes on. */
static bool is_heard_now(const struct sim *sim, const struct letter *letter)
{
    return sim->is_calm || (letter->at_ms <= sim->now_ms &&
                            sim->workers[letter->call->worker].sleeps_until_ms <= sim->now_ms);
}

static void answer_one(struct sim *sim, struct sent *sent)
{
    static struct letter here;
    struct call *call = sent->call;
    bool is_lost = !sim->is_calm && happens(sim, sim->swarm.answer_lost);
    if (call->worker >= 0 && is_cut(sim, &sim->workers[call->worker])) is_lost = true;
    if (is_lost) {
        sim_tell(sim, "the answer to #%d is lost", call->number);
        return;
    }
    if (call->worker < 0) {
        call->is_answered = true;
        return;
    }
    write_letter(sim, sent, &here);
    here.at_ms = sim->now_ms + delay_ms(sim);
    struct letter *late = is_heard_now(sim, &here) ? NULL : free_letter(sim);
    if (late != NULL) {
        *late = here;
        return;
    }
    call->is_answered = true;
    people_hear_letter(sim, &here);
}

void net_answer(struct sim *sim)
{
    for (int i = 0; i < sim->sent_count; i++) {
        if (sim->sent[i].was_answered) answer_one(sim, &sim->sent[i]);
    }
}

void net_hear(struct sim *sim)
{
    for (int i = 0; i < SIM_LETTERS_MAX; i++) {
        struct letter *letter = &sim->letters[i];
        if (letter->call == NULL || !is_heard_now(sim, letter)) continue;
        sim->calls[letter->call->number].is_answered = true;
        people_hear_letter(sim, letter);
        letter->call = NULL;
    }
}

int64_t net_next_at_ms(const struct sim *sim)
{
    int64_t next = INT64_MAX;
    for (int i = 0; i < SIM_POSTS_MAX; i++) {
        const struct post *post = &sim->posts[i];
        if (post->call != NULL && post->at_ms < next) next = post->at_ms;
    }
    for (int i = 0; i < SIM_LETTERS_MAX; i++) {
        const struct letter *letter = &sim->letters[i];
        if (letter->call == NULL) continue;
        int64_t awake_ms = sim->workers[letter->call->worker].sleeps_until_ms;
        int64_t at_ms = letter->at_ms > awake_ms ? letter->at_ms : awake_ms;
        if (at_ms < next) next = at_ms;
    }
    return next;
}
