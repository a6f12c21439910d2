/* The open handle, as the engine's files share it: requests on their way, the step, what waits.
 *
 *   callers' threads  check a command, hand it over as a request on their own stack, sleep until answered
 *   engine thread     owns the store and everything below "the engine's own"; runs steps; answers
 *   listener thread   tells listeners what was committed
 *   turn's waiter     waits in the kernel for the turn (turn.h)
 *
 * A driven handle has none of these threads: whoever calls runs the step, under `driving`. */
#ifndef PAWL_ENGINE_ENGINE_H
#define PAWL_ENGINE_ENGINE_H

#include "base/uuid.h"
#include "core/command.h"
#include "core/limits.h"
#include "engine/careful.h"
#include "engine/counters.h"
#include "engine/env.h"
#include "engine/parked.h"
#include "engine/proof.h"
#include "engine/turn.h"
#include "store/read.h"
#include "store/store.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/types.h>

struct pawl_waiting; /* parked.c */

/* One command on its way, linked into one list at a time. It lives on the stack of its caller, who
 * waits; or it has on_answer, and is the engine's until that is called. */
struct pawl_request {
    struct pawl_command command;
    struct pawl_request *next;
    struct pawl_arena_mark keep_mark; /* answers start here; what an undone run left is given back */
    sem_t answered;                   /* threads only */
    struct pawl_request *wakes;       /* by the caller, once he is woken; or NULL */
    void (*on_answer)(struct pawl_request *request); /* on the engine's thread, outside its locks; or NULL */
    void *on_answer_self;
    bool is_answered;
    bool is_done;                 /* its rule has run to the end in the open transaction */
    bool is_parked;               /* a CLAIM that waits for something to become ready, or has */
    struct pawl_waiting *waiting; /* its places among the parked; NULL = it is not there */
    uint64_t parked_order;        /* 0 = it has never been there */
    int64_t wait_ms;              /* a CLAIM that finds nothing waits so long */
    const _Atomic bool *gives_up; /* and no longer once this is true; may be NULL */
    _Atomic bool is_cancelled;    /* pawl_engine_cancel; written under the handle's lock */
    bool is_over; /* answered: there is nothing to cancel; under the handle's lock */
    struct pawl_request *next_cancelled; /* in the handle's list of them, under its lock */
    struct pawl_request *previous_cancelled;
    bool is_in_cancelled;
    int64_t asked_boot_ms;    /* when it was handed over */
    int64_t answer_by_boot_ms; /* its step is not waited for beyond that; 0 = the store's own bounds */
    int64_t opens_boot_ms;    /* parked: when the window of a limit moves on, so that it may find something; 0 = none */
    int64_t until_boot_ms;    /* parked: when it is answered empty; going on: when it is let go */
    int32_t continuations;    /* still running on its behalf */
    bool *continuing;         /* the caller's, told whether some were left; may be NULL */
    int64_t own_continuation; /* of the engine's own CONTINUE: its key */
};

/* A continuation that this handle caused and therefore sees through. */
struct pawl_caused {
    int64_t key;
    struct pawl_request *origin; /* who waits for it; NULL when nobody does any more */
};

struct pawl_listening; /* listen.h */

/* Somebody who keeps leases. He is knocked at, by his event descriptor, once an operator wants something of a
 * holder, or has taken a lease: then he looks at those in his hands. So he is when the store is gone. A knock may be lost (its process was killed
 * right after the commit, the bell was down): renewals tell the same. */
struct pawl_holder {
    int knock_fd;
    struct pawl_holder *next; /* the handle's */
};

/* A queue's key, so that its ready index can be read with the begin of a step. Names keep their keys; and a wrong
 * one would only make that read a useless one. */
struct pawl_known_queue {
    int64_t key; /* 0 = none */
    char name[PAWL_QUEUE_NAME_BYTES_MAX + 1];
};

struct pawl {
    struct pawl_env_real real;
    const struct pawl_env *env;
    struct pawl_log log;
    char *target;                  /* owned: the path or URI */
    char *correlation_id;          /* owned */
    struct pawl_store_options store_options;
    char store_id[PAWL_UUID_BYTES_MAX + 1]; /* known from the first step on */
    bool is_driven;
    pid_t pid;                     /* who opened it: a handle does not survive fork */
    bool has_timers;
    bool to_the_end;
    int64_t lease_ms;
    int64_t retain_ms;             /* 0 = retention is off */
    int64_t events_keep_ms;
    int64_t consumer_keep_ms;

    /* between threads, under lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;        /* something was committed, here or elsewhere */
    uint64_t change_count;
    void (*on_change)(void *self);
    void *on_change_self;
    struct pawl_requests incoming;
    struct pawl_request *cancelled; /* not seen to yet; newest first */
    struct pawl_holder *holders;
    uint64_t knocks_heard;
    bool is_sleeping;               /* the engine has to be woken by wake_fd */
    bool is_stopping;
    bool waits_no_more;            /* pawl_stop_waiting */
    bool is_gone;                  /* pawl_engine_is_gone, with the sentence */
    struct pawl_error gone;
    int32_t call_count;            /* public calls under way: closing waits for them to leave */
    int wake_fd;                   /* eventfd */
    int timer_fd;                  /* timerfd on the boot clock */
    int wall_fd;                   /* timerfd that tells when the wall clock has stepped; -1 without one */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t driving;       /* a driven handle's one step at a time */

    /* the engine's own */
    struct pawl_store *store;
    struct pawl_turn *turn;        /* NULL on PostgreSQL */
    struct pawl_locks locks;       /* of its store */
    struct pawl_proof *proof;
    struct pawl_careful *careful;  /* NULL in a world of tests */
    struct pawl_arena *arena;      /* the step's */
    struct pawl_arena *scratch;    /* of templates */
    struct pawl_requests backlog;  /* first in the next step */
    struct pawl_parked *parked;    /* claims that found nothing and wait */
    struct pawl_known_queue queues[PAWL_ENGINE_QUEUES_KNOWN]; /* claimed from of late; PostgreSQL only */
    size_t queue_next;             /* the one to be forgotten first */
    struct pawl_requests going_on; /* answered when their continuations are through */
    struct pawl_requests answered; /* their callers are to be woken */
    struct pawl_caused *caused;    /* owned array */
    size_t caused_count;
    size_t caused_room;
    int64_t next_due_at_ms;        /* store time; 0 = not known; INT64_MAX = nothing */
    int64_t next_due_boot_ms;      /* when that is on the boot clock */
    int64_t looked_boot_ms;        /* when it was last read */
    int64_t no_step_until_boot_ms; /* after a failure of the engine's own work: patience */
    int64_t next_retain_at_ms;     /* store time; 0 = not known; at the latest when a pass begins anew */
    struct pawl_finished retained; /* up to there this pass of retention has come */
    int64_t retain_pass_at_ms;     /* when it began */
    bool has_passed_over;          /* it met what stays for now */
    bool has_none_finished;        /* nothing had ended when it was looked at */
    bool is_dying;   /* careful.h: processes die of own work: it goes alone, marked before
                        it is tried */
    bool is_careful; /* own work has failed: it goes alone, one piece a step */
    size_t own_skip; /* careful: pieces passed over because they fail */

    struct pawl_listening *listening; /* NULL without listeners */
    void (*on_completed)(void *self, struct pawl_str title, struct pawl_str result_start);
    void *on_completed_self;

    struct pawl_counting counting; /* read from any thread */

    /* readers */
    pthread_mutex_t read_lock;
    struct pawl_reader *reader;    /* opened at the first read */
};

/* From now on calls on_change after each commit, here or elsewhere; NULL ends it. On the engine's thread, under the
 * handle's lock: it must not call back, nor wait. */
void pawl_engine_on_change(struct pawl *pawl, void (*on_change)(void *self), void *self);
/* Something was committed, here or elsewhere: tells who waits for that. */
void pawl_engine_changed(struct pawl *pawl);

/* For public calls: enters, checks the command with memory of its own, and asks. The caller's arena keeps nothing of
 * the check. */
enum pawl_code pawl_engine_check_and_ask(struct pawl *pawl, struct pawl_request *request,
                                         struct pawl_error *err);

/* Hands a checked command over and waits for its answer: its code, with *err filled. */
enum pawl_code pawl_engine_ask(struct pawl *pawl, struct pawl_request *request, struct pawl_error *err);

/* Hands a checked command with on_answer over and returns at once. It is answered once, on the
 * engine's thread; the request and all it points to stay as they are until then. When the code is
 * an error its answers have left nothing in the keep arena.
 *
 *   fails  PAWL_BUSY  the handle is being closed: there will be no answer */
enum pawl_code pawl_engine_hand(struct pawl *pawl, struct pawl_request *request,
                                struct pawl_error *err) PAWL_MUST_USE;

/* The same for several, in their order and with nobody else's between them: as far as a step takes
 * so many, one step does them all. Each is answered for itself. All of them are handed over, or none. */
enum pawl_code pawl_engine_hand_all(struct pawl *pawl, struct pawl_request *const *requests,
                                    size_t count, struct pawl_error *err) PAWL_MUST_USE;

/* Nobody waits for a handed claim any more: it is granted nothing from now on, and answered soon,
 * empty. Called before its answer has been taken note of, by the thread that does. Other commands
 * are done all the same. */
void pawl_engine_cancel(struct pawl *pawl, struct pawl_request *request);

/* Around all that a public call does with the handle, so that it is not closed under it.
 *
 *   fails  PAWL_BUSY  the handle is being closed; then there is nothing to leave */
enum pawl_code pawl_engine_enter(struct pawl *pawl, struct pawl_error *err);
void pawl_engine_leave(struct pawl *pawl);

/* Driven handles, for simulation: hands over without running anything; pawl_step answers. */
void pawl_engine_add(struct pawl *pawl, struct pawl_request *request);

/* Prepares a request whose command is filled but for its answer. */
void pawl_request_init(struct pawl_request *request, enum pawl_command_kind kind);

/* One transaction for these requests (all taken from `list`), what is due and the roused claims:
 * see transact.c. What could not be done in this step is put into the backlog; all others are
 * answered or parked. */
void pawl_engine_step(struct pawl *pawl, struct pawl_requests *list);

/* Sets code and sentence; who waits for it is woken by pawl_engine_wake_answered, at the end of the transaction or of
 * the engine's round. The request is gone for all else of the engine. */
void pawl_request_answer(struct pawl *pawl, struct pawl_request *request, enum pawl_code code,
                         const struct pawl_error *err);
void pawl_engine_wake_answered(struct pawl *pawl);

/* Writes a line of the log for each event of a committed step. */
void pawl_engine_log(const struct pawl_log *log, const struct pawl_append *events,
                     struct pawl_arena *scratch);

/* The same for what is not an event of a task. */
void pawl_engine_log_notices(const struct pawl_log *log, const struct pawl_append *notices);

/* pawl_task_claim that waits no longer once *gives_up is true and the engine has been woken. */
enum pawl_code pawl_engine_claim(struct pawl *pawl, const struct pawl_claim *ask,
                                 const _Atomic bool *gives_up, struct pawl_arena *keep,
                                 struct pawl_claimed *out, struct pawl_error *err) PAWL_MUST_USE;
void pawl_engine_wake(struct pawl *pawl);

/* A holder hears the knocks of all processes as long as he is added; on a handle without timers perhaps only those of
 * that handle. He stays where he is until he is removed. */
void pawl_engine_add_holder(struct pawl *pawl, struct pawl_holder *holder);
void pawl_engine_remove_holder(struct pawl *pawl, struct pawl_holder *holder); /* nothing if he was not added */

/* Whether the file of the store was seen to be moved, removed or replaced: then the handle stays of no use, every call
 * fails with PAWL_IO, and a program that goes on for long has to end, or to open the store anew. Noticed without a read
 * of the store, also while nothing goes on; claims that wait are answered, and holders are knocked at. *err says what
 * has happened. */
bool pawl_engine_is_gone(struct pawl *pawl, struct pawl_error *err);

/* pawl_lease_renew that is answered by an instant of the boot clock, or soon after it: with PAWL_BUSY unless the store
 * has answered. Only what waits for others is cut short: for the turn, and for a server that says nothing. */
enum pawl_code pawl_engine_renew_by(struct pawl *pawl, const struct pawl_fence *fences, size_t count,
                                    int64_t answer_by_boot_ms, struct pawl_renewal *out,
                                    struct pawl_error *err) PAWL_MUST_USE;

/* Of leases, all that a renewal would tell; they are not renewed, and nothing is written. The answers are those of
 * pawl_lease_renew. */
enum pawl_code pawl_engine_look_at_leases(struct pawl *pawl, const struct pawl_fence *fences, size_t count,
                                          struct pawl_renewal *out, struct pawl_error *err) PAWL_MUST_USE;

/* Whether a call may wait; false after pawl_stop_waiting. */
bool pawl_engine_may_wait(struct pawl *pawl);

/* What an operator has to see before he lets a lost task run again (RESOLVE), on his own thread: fills seen_epoch.
 *
 *   fails  PAWL_LEASE_ACTIVE  the work of its lost lease is seen to go on, and he does not overrule that */
enum pawl_code pawl_engine_look_at_work(struct pawl *pawl, struct pawl_command *command, struct pawl_error *err);

/* Whether executions can have locks here: pawl_place_check. A world of tests has none of its own. */
enum pawl_code pawl_engine_check_locks(struct pawl *pawl, struct pawl_place *place, struct pawl_error *err);

/* The engine's: knocks at the holders if somebody has, since it was looked last. */
void pawl_engine_hear_knocks(struct pawl *pawl);

/* A plain look, without the turn: what is due next, and whether a parked claim could be served. */
void pawl_engine_look(struct pawl *pawl, bool *is_worth_a_step);

#endif
