/* The simulator: several engines on one store, workers, clients and operators, in one thread and in
 * virtual time, with faults; and an oracle that looks at everything after every step. One seed
 * names one run.
 *
 *   disk     a disk in memory that can fail, die half-way and lose what was not synced
 *   bell     how engines hear of each other
 *   look     everything that is stored, read with plain SQL
 *   world    clocks, engines, kills, the step with its fault
 *   people   who asks when and hears what; asks: the calls themselves; consume: events read
 *   calls    a call on its way, and as a line of the timeline
 *   work     executions under supervised leases, and their locks; net: the way to their workers
 *   judge    the oracle: is there a cause for each change, is nothing lost
 *   events   whether each event was allowed; answers: whether each answer is true
 *   rules    what holds of the stored rows at any time
 *   flow     runs that play workflows: their people, and their oracle
 *   run      the whole: a program with faults, then quiet, then all that can end has ended */
#ifndef PAWL_TESTS_SIM_SIM_H
#define PAWL_TESTS_SIM_SIM_H

#include "base/hash.h"
#include "base/str.h"
#include "core/command.h"
#include "disk.h"
#include "engine/engine.h"
#include "look.h"

#include <stdio.h>

enum {
    SIM_ENGINES_MAX = 3,
    SIM_WORKERS_MAX = 5,
    SIM_QUEUES_MAX = 3,
    SIM_CONSUMERS_MAX = 2,
    SIM_TASKS_MAX = 2000,
    SIM_CALLS_MAX = 4000,
    SIM_SENT_MAX = 64,   /* requests of one step */
    SIM_GRANTS_MAX = 64, /* that one worker remembers */
    SIM_FENCES_MAX = 8,  /* of one renewal */
    SIM_CALL_GRANTS_MAX = 8,
    SIM_EXECUTIONS_MAX = 1500,
    SIM_POSTS_MAX = 64,   /* requests on their way */
    SIM_LETTERS_MAX = 64, /* answers on their way */
    SIM_GRAVES_MAX = 64,
    SIM_UNKNOWN_MAX = 256,
    SIM_MEMBERS_MAX = 700,
    SIM_POSITIONS_MAX = 40000,
    SIM_FAULT_BYTES_MAX = 500,
    SIM_PATH_BYTES_MAX = 150,
};

#define SIM_LEASE_MS     INT64_C(1000) /* of claims and queues that name none */
#define SIM_WALL_BASE_MS INT64_C(1800000000000)

/* ---- Chance -------------------------------------------------------------------------------- */

struct chance {
    uint64_t state;
};
uint64_t chance_next(struct chance *chance);
/* From min to max, both included. */
int64_t chance_from(struct chance *chance, int64_t min, int64_t max);
bool chance_of(struct chance *chance, int permille);

/* ---- What a run is made of ----------------------------------------------------------------- */

enum action {
    ACT_ADD,
    ACT_ADD_BATCH,
    ACT_CLAIM,
    ACT_CLAIM_AGAIN,
    ACT_START,
    ACT_RENEW,
    ACT_PROGRESS,
    ACT_CHECKPOINT,
    ACT_LOG,
    ACT_COMPLETE,
    ACT_FAIL,
    ACT_RELEASE,
    ACT_HOLDER_PAUSE,
    ACT_HOLDER_CANCEL,
    ACT_STALE, /* a word of one who has lost the task, or never had it */
    ACT_QUEUE,
    ACT_PAUSE,
    ACT_RESUME,
    ACT_CANCEL,
    ACT_RESOLVE,
    ACT_OPERATE, /* what only a holder may do, by an operator */
    ACT_REDRIVE,
    ACT_QUEUE_SET,
    ACT_READ_EVENTS,
    ACT_ACKNOWLEDGE,
    ACT_AGAIN, /* an earlier call once more: duplicate, late, or because no answer came */
    ACTION_COUNT
};

/* A few runs begin with something large, for which the engine takes more than one slice. */
enum prelude {
    PRELUDE_NONE,
    PRELUDE_DEPENDENTS, /* one task, and several hundred that depend on it */
    PRELUDE_AWAITED,    /* many that wait for an id, then a task with it */
    PRELUDE_DEAD,       /* several hundred dead letters, to be redriven */
    PRELUDE_HISTORY     /* one task with more events than are kept */
};

/* Which faults exist in this run and how often (of 1000), and who does what. */
struct swarm {
    int engines;
    int workers;
    int queues;
    int moves;
    int group_max;
    bool has_no_timers[SIM_ENGINES_MAX];
    int64_t skew_ms[SIM_ENGINES_MAX]; /* of the wall clock */
    int weights[ACTION_COUNT];
    int kill;        /* at a statement */
    int kill_commit; /* after the commit, before the answers */
    int kill_write;  /* inside a write or sync of the disk */
    int power;       /* the same, and all that is not synced is lost */
    int error;       /* a statement fails with IO or BUSY */
    int unknown;     /* the answer of a commit is lost */
    int disk_error;  /* a write or sync fails */
    int disk_full;   /* writes fail for a while */
    int reboot;
    int restart; /* an engine is closed and opened in good order */
    int freeze;  /* an engine is not run for a while */
    int wall_step;
    int suspend;
    int worker_crash;
    int worker_sleep;
    int answer_lost;
    int slow_clock;   /* time passes between two looks at a clock */
    int dependencies; /* a new task waits for others */
    /* supervised leases */
    int supervised;     /* a claim asks for one */
    int interleave;     /* an execution goes on between two statements of a step */
    int kill_look;      /* a process dies while it looks for a lock */
    int freeze_look;    /* it stands still from then on, with what it has found in hand */
    int look_fails;     /* whether a lock is held cannot be told */
    int watch;          /* an engine's host sees at once that a lock was let go */
    int outlive;        /* a command lives on without its worker */
    int ignore_signals; /* or does not care about signals */
    int slow_begin;     /* a worker stands still between claim, lock and look */
    int long_command;   /* it takes minutes */
    int far_workers;    /* so many of them (of 1000) hold locks in another place */
    int lose_locks;     /* somebody removes the file of all locks, and another one is made */
    /* the way between workers and engines */
    int net_slow;
    int net_lost;
    int net_twice;
    int net_cut;
    int few_tasks; /* calls go to the same few tasks */
    enum prelude prelude;
    bool plays_workflows; /* instead of all that people do with single tasks */
};

/* A call as somebody makes it: it may be sent more than once. Texts live as long as the run. */
struct call {
    int number; /* stands in titles, actors, reasons and bodies, so that traces of it can be told */
    int worker; /* who calls; -1 = a client or an operator */
    struct pawl_command command;      /* but for keep, out and the members of a create */
    const struct pawl_task_new *asks; /* CREATE */
    size_t count;
    int sent_count;
    int generation;      /* of the worker who calls */
    int64_t asked_at_ms; /* when its first copy left; -1 = not yet */
    struct pawl_str place; /* CLAIM, START: where the locks of its worker were, when it was sent last */
    int64_t seen_epoch;  /* RESOLVE: of which its caller has looked for the lock */
    bool is_answered;    /* its caller has heard */
    /* CLAIM: what it was given when it was first answered */
    struct call_grant {
        int task;
        int64_t epoch;
    } granted[SIM_CALL_GRANTS_MAX];
    int granted_count;
};

enum verdict {
    VERDICT_NONE, /* not answered yet */
    VERDICT_OK,
    VERDICT_REFUSED, /* nothing was changed, but for a late result */
    VERDICT_UNKNOWN  /* it may have been done */
};

/* A call under way. */
struct sent {
    struct call *call;
    struct pawl_request request;
    struct pawl_arena *keep;    /* owned */
    struct pawl_arena *scratch; /* owned: of its check */
    struct pawl_added *added;   /* in scratch */
    struct pawl_grant grant;
    struct pawl_claimed claimed;
    struct pawl_renewal renewals[SIM_FENCES_MAX];
    int64_t count;
    bool is_first;
    struct pawl_workflow_started started;
    struct pawl_workflow_operated operated;
    struct pawl_updated updated;
    enum verdict verdict;
    enum pawl_code code;
    bool was_answered; /* before the engine died */
};

struct letter_grant {
    int task;
    struct pawl_fence fence; /* the run's */
    int64_t lease_ms;
};

struct letter_renewal {
    enum pawl_code code;
    int64_t lease_ms;
    enum pawl_control control;
};

struct letter {              /* an answer on its way to a worker */
    const struct call *call; /* NULL = the place is free */
    int64_t at_ms;
    enum pawl_code code;
    int grant_count;
    struct letter_grant grants[SIM_SENT_MAX];
    struct letter_renewal renewals[SIM_FENCES_MAX];
};

struct post {          /* a request on its way to the engines */
    struct call *call; /* NULL = the place is free */
    int64_t at_ms;
};

struct held { /* what a worker believes to hold, or has held */
    struct pawl_fence fence;
    int task;
};

struct worker {
    struct pawl_str id;
    int number;
    int generation;
    bool is_far; /* its locks lie where no engine can look */
    int64_t sleeps_until_ms;
    int64_t cut_until_ms; /* nothing gets through to it, or from it */
    struct held held[SIM_GRANTS_MAX];
    int held_count;
    struct call *claim; /* the newest one */
    int requests;
};

struct grave { /* a fence that was lost, or never was */
    struct pawl_fence fence;
};

/* What the oracle knows of a task: its row as the events have made it, and what was promised of it.
 */
struct model {
    int64_t key;
    struct pawl_str id;
    struct pawl_str idempotency_key;
    const struct call *made_by;
    size_t member;
    enum pawl_task_state state;
    int64_t epoch;
    int64_t version;
    int64_t sequence;
    int64_t retries;
    int64_t crashes; /* in a row */
    struct pawl_str owner;
    int64_t lease_end_at_ms;
    int64_t lease_ms;
    int64_t attempt_end_at_ms;
    int64_t ready_at_ms;
    int64_t run_at_ms; /* calendar time; 0 = none */
    enum pawl_control control;
    int64_t control_deadline_at_ms;
    bool is_supervised;    /* its lease is, or was when it was lost */
    int64_t stopped_epoch; /* a look after its fencing has found this one stopped */
    struct pawl_str lease_place; /* where the lock of its work is */
    struct pawl_str note;  /* of its recovery */
    bool keeps_budget;     /* resumed without a new budget: retries may exceed it */
    bool has_ended_badly;  /* once at least */
    int completions;
    /* the last outcome that was accepted from a holder */
    const struct call *outcome; /* NULL = none */
    bool is_outcome_unsure;     /* several were under way when the engine died: one of them */
    /* rows beside it that were acknowledged, and those that may be there besides */
    int64_t checkpoints_sure;
    int64_t checkpoints_maybe;
    int64_t logs_sure;
    int64_t logs_maybe;
    int64_t lates_maybe;
    /* in this move */
    const struct call *outcome_before; /* the one before it */
    int events;
    bool is_by_engine; /* due, a dependency, a redrive did something */
    bool was_blocked;  /* and may not be so any more */
    bool is_overdue;   /* its holder has not answered in time that it was asked to pause */
    unsigned kinds;    /* bit 1 << kind of calls that may have changed it */
    int calls;         /* and how many */
    unsigned states;   /* bit 1 << state that it had */
};

enum plan_kind {
    PLAN_NONE,
    PLAN_ERROR,       /* the statement is refused with plan.code */
    PLAN_KILL,        /* before the statement */
    PLAN_UNKNOWN,     /* after the commit, the engine lives on */
    PLAN_KILL_COMMIT, /* after the commit */
    PLAN_KILL_WRITE,
    PLAN_POWER,
    PLAN_DISK_ERROR,
    PLAN_DISK_FULL,
    PLAN_KILL_LOOK /* while it looks for a lock: what it had found goes with it */
};

struct plan { /* the fault of one step */
    enum plan_kind kind;
    int at; /* statement or commit, from 1 */
    enum pawl_code code;
    int points; /* statements so far */
    int commits;
    int looks;
    bool has_struck;
    bool has_written; /* in the open transaction */
};

struct sim;
struct execution; /* work.h */
struct flows;     /* flow.h */

struct engine {
    struct sim *sim;
    int number;
    struct pawl *pawl; /* NULL while it is dead */
    struct pawl_env env;
    struct chance chance;
    bool is_dead; /* killed, and about to be closed */
    bool has_timers;
    int64_t next_at_ms; /* when its host calls next; INT64_MAX = never */
    int64_t frozen_until_ms;
    int64_t opens_at_ms; /* while dead */
};

struct sim_options {
    uint64_t seed;
    FILE *story;    /* the timeline; NULL = none is written */
    int kills_more; /* for tests of kills: raises the rates of all kinds of them */
    bool cuts_power;
};

struct sim_result {
    bool holds;
    char fault[SIM_FAULT_BYTES_MAX + 1]; /* the rule that was broken */
    uint64_t hash;
    int calls;
    int steps;
    int kills;
    int power_cuts;
    int held_at_cuts[2]; /* tasks that were held when the power was cut, by client-held and supervised leases */
    int tasks;
    int executions;
    int looks; /* for a lock */
    int workflows;
};

struct sim {
    const struct sim_options *options;
    struct sim_result *result;
    struct chance chance;
    struct swarm swarm;
    struct disk *disk;
    char path[SIM_PATH_BYTES_MAX];
    struct pawl_arena *arena; /* owned: all texts of the run */
    struct pawl_hasher hasher;

    int64_t now_ms; /* true time since the run began */
    int64_t boot_began_ms;
    int64_t wall_shift_ms;
    int boot;
    int lock_file; /* how often it was replaced */
    struct pawl_str boot_id;
    struct pawl_str host_id;
    bool is_calm; /* no faults any more */

    struct engine engines[SIM_ENGINES_MAX];
    struct worker workers[SIM_WORKERS_MAX];
    struct execution *executions; /* owned array */
    int execution_count;
    int execution_first; /* all before it are over */
    struct post posts[SIM_POSTS_MAX];
    struct letter letters[SIM_LETTERS_MAX];
    bool is_in_step;
    struct grave graves[SIM_GRAVES_MAX]; /* a ring */
    int grave_count;
    struct call *calls; /* owned array */
    int call_count;
    struct sent sent[SIM_SENT_MAX];
    int sent_count;
    struct plan plan;
    int move; /* moves so far */
    int prelude_moves;

    struct look looks[2];
    struct look *before; /* the move; the same as after if nothing was committed */
    struct look *after;
    struct looker looker;
    struct flows *flows;  /* owned; NULL in runs that play single tasks */
    struct model *models; /* owned array; a task's place is that of its row */
    int model_count;
    const struct call *unknown[SIM_UNKNOWN_MAX]; /* may have been done, and show later */
    int unknown_count;
    bool is_unsure;      /* a step of unknown outcome may show later */
    int64_t boot_low_ms; /* the boot clock in this move lay between these two */
    int64_t boot_high_ms;
    struct pawl_str boot_id_of_move;
    bool is_now_known; /* so did the store's clock between these */
    int64_t now_low_ms;
    int64_t now_high_ms;
    const struct engine *stepped; /* the engine of this move */
    int steps_of_move;
    bool was_killed;      /* it died in it */
    bool had_fault;       /* or something else went wrong */
    int64_t next_boot_ms; /* what pawl_step said last */
    int64_t *event_at_ms; /* owned array, by position */
    struct {
        bool *is_acknowledged; /* owned array, by position: the caller was told that it was the
                                  first */
    } consumers[SIM_CONSUMERS_MAX];
};

/* What runs stand on, made once a process: the disk and the bytes of a new store. */
struct ground {
    struct disk disk;
    struct disk_bytes db;
    struct disk_bytes wal;
    char db_name[SIM_PATH_BYTES_MAX];
    char wal_name[SIM_PATH_BYTES_MAX];
    struct sim *running; /* NULL between runs */
};
/* Makes a folder in another for this process and its children, and takes away what runs that were
 * killed have left there. False if it cannot be made. */
bool sim_folder_make(const char *where, char *out, size_t room);

/* folder is a real one, for the file of the turn. Close leaves it empty. */
void ground_open(struct ground *ground, const char *folder);
void ground_close(struct ground *ground);

/* Runs one seed. */
void sim_run(struct ground *ground, const struct sim_options *options, struct sim_result *result);

/* Tells what the run that is under way was doing: for whoever sees the process die. */
void sim_tell_under_way(struct ground *ground);

/* The first rule that is found broken is kept: the run ends. */
void sim_fault(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline bool sim_holds(const struct sim *sim)
{
    return sim->result->holds;
}

/* A line of the timeline. */
void sim_tell(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct pawl_str sim_text(struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- world.c ------------------------------------------------------------------------------- */

void world_open(struct sim *sim, struct ground *ground);
void world_close(struct sim *sim);

int64_t world_boot_ms(const struct sim *sim);
int64_t world_store_now_ms(const struct sim *sim);
/* Goes on to this instant; engines whose timers fire before it are run then. */
void world_advance(struct sim *sim, int64_t to_ms);
/* When something comes due among those who work, or on the way between them and the engines. */
int64_t world_people_next_at_ms(const struct sim *sim);
/* Runs what has been sent on this engine, with the fault planned, and judges the outcome. */
void world_step(struct sim *sim, struct engine *engine);
void world_plan_fault(struct sim *sim);
/* Things that happen between steps: engines open again, clocks step, machines reboot. */
void world_happen(struct sim *sim);
/* Its locks are free, and whatever was held before is given back. */
void world_reboot(struct sim *sim);
/* An engine that lives and is not frozen; NULL if there is none. */
struct engine *world_engine(struct sim *sim);
void world_open_engine(struct sim *sim, struct engine *engine);
void world_kill(struct sim *sim, struct engine *engine);

/* ---- calls.c ------------------------------------------------------------------------------- */

/* A new call of this kind, to be filled. */
struct call *call_make(struct sim *sim, enum pawl_command_kind kind, int worker);
/* Hands it over to an engine; false if it was refused before that. */
bool call_send(struct sim *sim, struct engine *engine, struct call *call);
/* Who, what, on what: for the timeline and for faults. The text is the run's. */
const char *call_text(struct sim *sim, const struct call *call);
/* Tells of the answers, and hashes them. */
void call_tell_answer(struct sim *sim, const struct engine *engine, const struct sent *sent);
void call_forget_sent(struct sim *sim);

/* ---- people.c ------------------------------------------------------------------------------ */

void people_open(struct sim *sim);
/* One or more calls, sent to this engine. */
void people_act(struct sim *sim, struct engine *engine);
/* A consumer reads its events, at once. */
void people_read_events(struct sim *sim, struct engine *engine);
/* A fence that is nobody's any more. */
void people_bury_fence(struct sim *sim, const struct pawl_fence *fence);
/* Everybody behaves: claims, completes. Returns whether there was anything to do. */
bool people_work(struct sim *sim, struct engine *engine);
void people_resume_queues(struct sim *sim, struct engine *engine);

/* ---- judge.c, events.c, answers.c, rules.c ------------------------------------------------- */

/* After a move: looks, and holds everything against what may be. */
void judge_move(struct sim *sim);
void judge_end(struct sim *sim);
/* Takes an event into its model; what is wrong with it becomes the run's fault. */
void judge_event(struct sim *sim, const struct look_event *event);
/* Whether an answer is what the states before allow, and its traces are there. */
void judge_answers(struct sim *sim);
/* What holds of rows as they are. */
void rules_check(struct sim *sim, const struct look *look);

/* The place of a task by its id or key; -1 if it does not exist. */
int model_find(const struct sim *sim, struct pawl_str id);
int model_find_key(const struct sim *sim, int64_t key);
const char *model_name(struct sim *sim, const struct model *model);

/* The calls that may have caused a change in this move: answered OK, or not known. NULL ends them;
 * *at begins with 0. *is_sure: it was answered OK. */
const struct call *judge_cause(const struct sim *sim, int *at, bool *is_sure);
/* Whether a call names a task, as its own or among its renewals. */
bool call_names(const struct call *call, struct pawl_str task_id);
/* Whether two words of a holder are the same outcome. */
bool call_is_same_outcome(const struct call *a, const struct call *b);

#endif
