/* The supervisor, as its files share it.
 *
 *   watcher    gives out what the claimer brings, looks at deadlines, tells handlers to stop
 *   claimer    asks for tasks (claimer.h)
 *   keeper     renews, over a connection of its own (keeper.h)
 *   a slot     runs one handler after another, and tells the store how each ended
 *
 * What is in hand has a number, by which keeper and heap know it, and a token, which is never used
 * again. `mutex` is never held over a call of the public API, a hook or a line of the log; the
 * keeper's own is taken under it. */
#ifndef PAWL_SUPERVISOR_SUPERVISOR_H
#define PAWL_SUPERVISOR_SUPERVISOR_H

#include "engine/engine.h"
#include "supervisor/claimer.h"
#include "base/heap.h"
#include "supervisor/keeper.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    /* A token is serial << bits | number. */
    PAWL_TOKEN_NUMBER_BITS = 20,
    /* A machine that cannot make a lock file now may in a moment. */
    PAWL_WORK_AGAIN_MS = 1000,
};
static_assert(PAWL_SUPERVISOR_SLOTS_MAX + PAWL_RUN_ONE_MAX + PAWL_DETACHED_MAX <
                  1 << PAWL_TOKEN_NUMBER_BITS,
              "every number must fit in a token");

struct pawl_work {
    struct pawl_supervisor *supervisor;
    int32_t number;
    int64_t token;
    struct pawl_grant grant; /* texts in arena, the fence's in the item */
    struct pawl_arena *arena;
    bool has_room;                    /* the grant fitted in */
    pthread_t thread;                 /* of the handler */
    _Atomic int reason;               /* enum pawl_stop_reason */
    _Atomic int64_t progress_boot_ms; /* when there was some */
    int stop_fd;                      /* -1 until it is asked for; under mutex */

    /* what the handler's return means; its thread's */
    struct pawl_str result;
    struct pawl_failure failure;
    int64_t delay_ms;
};

struct pawl_slot {
    struct pawl_work work;
    pthread_cond_t changed;
    bool has_thread;
    bool is_busy;  /* given out, until its work has been told */
    bool has_work; /* ready to be run */
};

struct pawl_item { /* one work in hand */
    bool is_used;
    bool has_slot;          /* it runs in one */
    bool is_uncontained;    /* was asked to stop, and the grace is over */
    bool is_telling;        /* the store is being told */
    struct pawl_work *work; /* NULL once it is detached */
    int64_t token;
    enum pawl_stop_reason reason;
    size_t task_id_len;
    char task_id[PAWL_TASK_ID_STORED_BYTES_MAX];
    int64_t epoch;
    int64_t asked_boot_ms;
    int64_t timeout_at_boot_ms; /* INT64_MAX = never */
    int64_t grace_at_boot_ms;   /* INT64_MAX = it was not told to stop yet, or may take its time */
};

struct pawl_supervisor {
    struct pawl *pawl;    /* borrowed */
    struct pawl *keeping; /* owned: the keeper's connection */
    pid_t pid;
    struct pawl_supervisor_options options;
    char *names;             /* owned: texts of queues and of the worker's id */
    struct pawl_str *queues; /* owned */
    struct pawl_str worker_id;
    struct pawl_claimer *claimer; /* NULL: claims nothing */
    struct pawl_keeper *keeper;
    int heard_fd;
    int timer_fd;
    pthread_t watcher;
    bool has_watcher;
    int64_t claim_at_boot_ms; /* the watcher's: after a failure, patience */
    int64_t claim_retry_ms;

    pthread_mutex_t mutex;  /* guards what follows */
    pthread_cond_t changed; /* something has ended, was detached, or is uncontained */
    struct pawl_slot *slots;
    struct pawl_item *items;
    int32_t item_room;
    int32_t item_top;      /* numbers from here on were never used */
    int32_t *free_numbers; /* below it */
    int32_t free_count;
    struct pawl_heap looks; /* when to look at an item again: may be early */
    int64_t serial;
    int32_t in_hand_count; /* with calls of run_one that are still starting */
    int32_t slot_count;    /* of those in hand: in slots, by themselves, detached */
    int32_t alone_count;
    int32_t detached_count;
    int32_t uncontained_count;
    int32_t asked_count; /* by the claim under way, 0 = none */
    bool is_stopping;
    bool is_draining; /* the time to end by themselves is over */
    bool is_closing;
    int64_t drain_at_boot_ms;
};

/* What the store is to be told. */
struct pawl_telling {
    int32_t number;
    struct pawl_fence fence;
    enum pawl_work_end end;
    bool
        is_timed_out; /* failed because the attempt's time is up: the engine sees to that as well */
    bool is_detached; /* what is refused is the caller's to say anew */
    bool goes_on;     /* somebody holds its lock still: nothing is told, recovery sees to it */
    struct pawl_str result;
    struct pawl_failure failure;
    int64_t delay_ms;
    char text[PAWL_ERROR_TEXT_BYTES_MAX + 64]; /* room for an error of ours */
};

/* ---- work.c: one work, from its grant to its end ---- */

/* Copies the grant; the mutex is not held. */
void pawl_work_prepare(struct pawl_work *work, const struct pawl_grant *grant);

/* From the lock to the outcome, on the handler's thread; *end as pawl_supervisor_run_one has it. */
enum pawl_code pawl_work_run(struct pawl_work *work, enum pawl_work_end *end,
                             struct pawl_error *err);

/* Tells the store, again and again while it is busy, until the lease is over; PAWL_LEASE_LOST then.
 */
enum pawl_code pawl_work_tell(struct pawl_supervisor *supervisor, struct pawl_telling *telling,
                              struct pawl_error *err);

/* ---- items.c: what is in hand; under the mutex ---- */

/* Counts a call of run_one from its beginning on, so that stopping waits for it; false if there are
 * too many, or no number is left but for what the claimer may bring. Unreserve is for a call that
 * takes nothing. */
bool pawl_item_reserve(struct pawl_supervisor *supervisor);
void pawl_item_unreserve(struct pawl_supervisor *supervisor);

/* Takes a number, and begins to keep its lease. There is one for each task that was asked for, and
 * for each call that was reserved. */
void pawl_item_take(struct pawl_supervisor *supervisor, struct pawl_work *work,
                    const struct pawl_grant *grant, int64_t asked_boot_ms, bool has_slot);
void pawl_item_drop(struct pawl_supervisor *supervisor, int32_t number);
/* The handler has returned, and somebody will say more. */
void pawl_item_detach(struct pawl_supervisor *supervisor, int32_t number);
struct pawl_item *pawl_item_find(struct pawl_supervisor *supervisor, int64_t token);
struct pawl_fence pawl_item_fence(const struct pawl_supervisor *supervisor,
                                  const struct pawl_item *item);

/* What a look has led to, for on_stop and the log once the mutex is free. */
struct pawl_told {
    int64_t token;
    enum pawl_stop_reason reason;
    bool is_uncontained; /* the news is this, not the reason */
    size_t task_id_len;
    char task_id[PAWL_TASK_ID_STORED_BYTES_MAX];
    int64_t epoch;
};

/* Looks whether an item is to stop; how many of told were filled: 0, 1 or 2. */
size_t pawl_item_look(struct pawl_supervisor *supervisor, int32_t number, int64_t now_boot_ms,
                      struct pawl_told told[2]);

const char *pawl_stop_reason_name(enum pawl_stop_reason reason);

#endif
