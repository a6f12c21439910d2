/* Calls as people make them (asks.c): each is new, random, and not sent yet. NULL where there is
 * nothing to ask. */
#ifndef PAWL_TESTS_SIM_ASKS_H
#define PAWL_TESTS_SIM_ASKS_H

#include "sim.h"

static inline int64_t roll(struct sim *sim, int64_t min, int64_t max)
{
    return chance_from(&sim->chance, min, max);
}

static inline bool happens(struct sim *sim, int permille)
{
    return chance_of(&sim->chance, permille);
}

/* Some task, rather an open one; some task in this state, if there is one; -1 without tasks. */
int ask_any_task(struct sim *sim);
int ask_task_in(struct sim *sim, enum pawl_task_state state);
/* A worker that does not sleep; NULL if all do. */
struct worker *ask_any_worker(struct sim *sim);
struct pawl_str ask_consumer_name(struct sim *sim);

struct call *ask_add(struct sim *sim, size_t count);
/* Plain tasks of the first queue; then, from the first on, they wait for the one named. */
struct call *ask_add_many(struct sim *sim, size_t count);
void ask_let_wait(struct sim *sim, struct call *call, size_t first, struct pawl_str name);

struct call *ask_claim(struct sim *sim, struct worker *worker);
/* As many as there are, of all queues, for long. */
struct call *ask_claim_many(struct sim *sim, struct worker *worker, int32_t max);
struct call *ask_start(struct sim *sim, struct worker *worker, int task);
struct call *ask_renew(struct sim *sim, struct worker *worker);

/* What is said about one task, with or without a fence; by a holder; by one who has lost the task
 * or never had it; by an operator; by an operator who says what only a holder may. */
struct call *ask_word(struct sim *sim, enum pawl_command_kind kind, int worker,
                      struct pawl_str task_id, const struct pawl_fence *fence);
struct call *ask_holder_word(struct sim *sim, enum pawl_command_kind kind);
struct call *ask_stale_word(struct sim *sim);
struct call *ask_operator_word(struct sim *sim, enum pawl_command_kind kind, int task);
struct call *ask_operate(struct sim *sim);

struct call *ask_redrive(struct sim *sim);
struct call *ask_queue_set(struct sim *sim);
struct call *ask_resume_queue(struct sim *sim, int64_t number);
struct call *ask_acknowledge(struct sim *sim, const struct engine *engine);

/* An earlier call once more. */
struct call *ask_again(struct sim *sim);

#endif
