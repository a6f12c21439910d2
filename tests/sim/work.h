/* Executions: the work of tasks that were claimed under a supervised lease, as `pawl worker run`
 * and the supervisor do it. An execution takes its lock, looks at its row once more, works under a
 * command that may outlive its worker and may not care about signals, and tells how it ended when
 * its lock is free. The locks are this world's: one table, of which engines are told by
 * find_execution.
 *
 *   granted ──► locked ──► working ──► ended ──► over
 *               lock       row seen    lock      told, or
 *               taken      to be ours  free      given up
 *
 * Between any two statements of an engine's step, and while it looks for a lock, executions go on.
 */
#ifndef PAWL_TESTS_SIM_WORK_H
#define PAWL_TESTS_SIM_WORK_H

#include "sim.h"

enum stage {
    STAGE_GRANTED, /* its worker has heard of it */
    STAGE_LOCKED,  /* holds its lock, and has not looked at the row yet */
    STAGE_WORKING,
    STAGE_ENDED, /* its lock is free, and its worker has something to say */
    STAGE_OVER   /* remembered, so that nobody begins it twice */
};

enum { WORK_NOBODY = -1 };

struct execution {
    int task;
    struct pawl_fence fence;
    int worker; /* WORK_NOBODY: it has died, and its command lives on */
    int generation;
    bool is_far; /* in a place that no engine can look at */
    struct pawl_str place; /* where its lock is, once it has one */
    enum stage stage;
    bool has_hand;      /* its worker holds the lock */
    bool has_command;   /* so does its command, or a child of it */
    int64_t next_at_ms; /* granted, locked: goes on then; ended: says it then, once more */
    int64_t command_ends_at_ms;
    bool ignores_signals;
    bool is_stopping;  /* the command was told to stop */
    bool is_lost;      /* its worker was told so */
    bool is_overruled; /* an operator let the task go on without proof */
    enum pawl_control control;
    /* what its worker counts, from before the first copy of the request left */
    int64_t lease_ms;
    int64_t counts_until_ms;
    int64_t renew_at_ms;
    int boot;
    struct call *word; /* what it says in the end, again and again */
    int said;
};

/* ---- Locks --------------------------------------------------------------------------------- */

/* Whether the lock of an execution is held in the place of the engines. */
bool work_is_locked(struct sim *sim, struct pawl_str task_id, int64_t epoch);
/* Whether its command runs there, and nobody has overruled it. */
bool work_goes_on(const struct sim *sim, int task, int64_t epoch);
/* An operator has decided that the task goes on whatever runs. */
void work_overrule(struct sim *sim, int task);
/* Whether nobody would say this: the work that it is the outcome of goes on. */
bool work_forbids(const struct sim *sim, const struct call *call);

/* Where the locks of this worker lie, as its claims say; of the engines. */
struct pawl_str work_place(struct sim *sim, const struct worker *worker);
struct pawl_str work_place_near(struct sim *sim);

/* ---- Life ---------------------------------------------------------------------------------- */

void work_begin(struct sim *sim, struct worker *worker, const struct call *call,
                const struct letter_grant *grant);
void work_hear_renewal(struct sim *sim, struct worker *worker, const struct call *call,
                       const struct pawl_fence *fence, const struct letter_renewal *renewal);
/* The answer to what an execution has said. False if none has said it. */
bool work_hear_word(struct sim *sim, const struct call *call, enum pawl_code code);
/* Its worker is killed: commands die with it or live on. */
void work_crash(struct sim *sim, struct worker *worker);
/* The machine of the engines goes down, and frees all locks. */
void work_reboot(struct sim *sim);

/* Whoever behaves comes to an end; what outlives its worker takes its time. */
void work_calm_down(struct sim *sim);
/* All that has come due by now goes on. */
void work_go_on(struct sim *sim);
/* In the middle of a step: one of them may go on. */
void work_interleave(struct sim *sim);
/* When something comes due: to go on, or to say. INT64_MAX = never. */
int64_t work_next_at_ms(const struct sim *sim);
/* Renewals, words on the way and outcomes that are due. Returns how many calls were made. */
int work_speak(struct sim *sim, struct engine *engine);
bool work_has_words(const struct sim *sim);

#endif
