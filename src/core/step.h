/* What a command is run with, and the one function that runs it: the rules. Pure: no clock, no I/O, no
 * allocation but from the step's arena. Same input, same output. */
#ifndef PAWL_CORE_STEP_H
#define PAWL_CORE_STEP_H

#include "core/command.h"
#include "core/set.h"

struct pawl_ready {
    int64_t queue;
    struct pawl_str gate; /* queue 0: of all queues of this task definition */
    bool is_many; /* a paused queue goes on, a limit has changed: any number may be ready; else it is one task */
};

struct pawl_step {
    int64_t now_ms;          /* read once, after the write lock is held */
    int64_t wall_offset_ms;  /* the wall clock minus now, for calendar times only */
    uint64_t random[2];      /* state of the step's generator, seeded once a step */
    int64_t next_key;        /* the next row key; all tables share the numbers */
    int64_t lease_ms;        /* default of the handle */
    int64_t consumer_keep_ms; /* of the handle: how long consumers may stay away */
    int64_t head_position;   /* of the newest committed event */
    int64_t generation;      /* of the definitions: raised by each change of one */
    int64_t generation_begun; /* as the step began */
    int64_t claim_bytes_left; /* what all claims of the step may still load */
    bool can_prove;          /* this engine looks for proof after the commit */
    int32_t ready_limit;     /* rows to read of each asked queue: what all claims of the step may take */
    struct pawl_set set;
    struct pawl_arena *scratch; /* for the run of one template; whoever uses it resets it first */
    struct pawl_append caused; /* int64_t: continuations made, in order; the engine runs them to the end */
    struct pawl_append ready;  /* struct pawl_ready: where waiting claims have to be looked at */
    bool knocks;               /* an operator wants something of the holder of a lease, or has taken it */
    bool was_cut;              /* a claim went away empty though a queue may hold more: run it again */
};

enum pawl_verdict {
    PAWL_DONE, /* command->code is its answer */
    PAWL_NEED  /* rows are wanted; the command is undone and has to run again */
};

/* Runs one command. On PAWL_NEED, and when its code is an error, it has left no change behind, but for a
 * late result kept beside a LEASE_LOST. */
enum pawl_verdict pawl_step_run(struct pawl_step *step, struct pawl_command *command);

/* Wants the rows that a command names and is known to need: round 0 of the step, so that what can be read when the
 * step begins is. Nothing is lost if it forgets one. */
void pawl_step_want(struct pawl_step *step, const struct pawl_command *command);

/* Notes that there is something for claims. */
void pawl_step_offer(struct pawl_step *step, int64_t queue, bool is_many);
/* The same where a gate has opened (core/task/gate.h), by the name of its definition. */
void pawl_step_offer_gate(struct pawl_step *step, struct pawl_str name, bool is_many);

/* Row keys and chance, for the rules. */
int64_t pawl_step_key(struct pawl_step *step);
uint64_t pawl_step_random(struct pawl_step *step);

#endif
