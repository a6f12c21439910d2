/* Pawl: durable tasks under fenced leases, in a library.
 *
 * A program adds tasks to queues; workers claim them. A claim is a lease with an epoch: a number that
 * grows with every hand-out, so that whoever has lost a task can change nothing any more. Every change is
 * one transaction, on disk before the call returns. Killed at any instruction, nothing acknowledged is
 * lost and nothing is stuck.
 *
 * Conventions, which hold for every function unless it says otherwise:
 *   results   a function that can fail returns enum pawl_code; PAWL_OK is 0. Outputs are written on
 *             PAWL_OK only. Finding nothing is PAWL_OK with a count of 0, except where one task, named
 *             by its id, is missing: PAWL_NOT_FOUND.
 *   err       may be NULL; else it receives the code and a sentence for a person.
 *   text      struct pawl_str: UTF-8, pointer and length, not NUL-terminated; borrowed for the call.
 *             NULL with length 0 means "not given"; with another length it is PAWL_INVALID. Any other pointer
 *             that is needed and NULL, as of a list with a count, is PAWL_MISUSE.
 *   keep      what a call returns lives in this arena until it is reset or closed.
 *   options   plain structs in which zero means the default. They start with their size, set by their
 *             ..._INIT macro, and only grow at the end: a library that is newer than the header takes what is
 *             missing as zero, an older one refuses what it does not know unless it is zero. What has no size
 *             of its own (struct pawl_retry, say) does not grow.
 *   times     int64_t milliseconds; an instant ends in _at_ms and counts from 1970; 0 means none.
 *   JSON      goes in and out as text. It is checked (UTF-8, depth, no duplicate keys), stored and given
 *             back as the bytes that came.
 *   threads   any thread may use a struct pawl at any time; an arena belongs to one thread at a time.
 *   cancel    a thread that is cancelled (pthread_cancel) inside a call wedges the handle for all: where threads are
 *             cancelled, let them disable it around calls (pthread_setcancelstate).
 *   fork      a handle does not survive it: in the child every call is PAWL_MISUSE, and close does nothing.
 *             Fork without exec only where no call is under way: a child that lives on holds what its
 *             parent had locked.
 *   globals   there are none: no signal handler, no exit, nothing written to a terminal.
 *   signals   where a limit on the size of files may be reached (RLIMIT_FSIZE), ignore SIGXFSZ: then it is PAWL_IO,
 *             like a full disk; unignored it kills the program, as it would by any write of yours. SIGPIPE is never
 *             raised by a call of this library.
 *
 * Codes that any call may return besides those listed with it: PAWL_INVALID (what was given is not well formed or out
 * of its range, as an id, a name or a key with too many bytes is; the sentence begins with the name of the field),
 * PAWL_TOO_LARGE (a body, a text for people or a list is larger than its limit below, or the answer than the arena it
 * goes to), PAWL_BUSY, PAWL_UNKNOWN_OUTCOME, PAWL_IO, PAWL_CORRUPT, PAWL_NO_MEMORY,
 * PAWL_MISUSE. After PAWL_BUSY nothing was committed. After PAWL_UNKNOWN_OUTCOME it may have been; every call is
 * safe to repeat (docs/store.md has the table).
 * Where Pawl is installed, docs/ is share/doc/pawl; of the Debian packages, /usr/share/doc/libpawl-dev. */
#ifndef PAWL_H
#define PAWL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PAWL_API __attribute__((visibility("default")))
#define PAWL_MUST_USE __attribute__((warn_unused_result))
#else
#define PAWL_API
#define PAWL_MUST_USE
#endif

/* What the ..._INIT macros are made of: the size, all else zero. */
#ifdef __cplusplus
} /* extern "C" */
template <class Options> inline Options pawl_init_of()
{
    Options options = Options();
    options.size = sizeof options;
    return options;
}
extern "C" {
#define PAWL_INIT_OF(type) pawl_init_of<type>()
#else
#define PAWL_INIT_OF(type) {.size = sizeof(type)}
#endif

#define PAWL_VERSION_NUMBER 100 /* major * 10000 + minor * 100 + patch */
#define PAWL_VERSION_TEXT "0.1.0"

/* The version of the library that is running, as PAWL_VERSION_NUMBER. */
PAWL_API int32_t pawl_version_number(void);

/* ---- Text, codes, errors, memory ------------------------------------------------------------------- */

struct pawl_str {
    const char *ptr; /* borrowed; may hold zero bytes in payloads */
    size_t len;
};

/* Numbers are stable for ever. */
enum pawl_code {
    PAWL_OK = 0,
    PAWL_INVALID = 1,
    PAWL_UNAUTHENTICATED = 2,
    PAWL_FORBIDDEN = 3,
    PAWL_NOT_FOUND = 4,
    PAWL_CONFLICT = 5,
    PAWL_STATE = 6,
    PAWL_LEASE_LOST = 7,
    PAWL_LEASE_ACTIVE = 8,
    PAWL_NOT_READY = 9,
    PAWL_TOO_LARGE = 10,
    PAWL_LIMIT = 11,
    PAWL_BUSY = 12,
    PAWL_UNKNOWN_OUTCOME = 13,
    PAWL_IO = 14,
    PAWL_CORRUPT = 15,
    PAWL_NO_MEMORY = 16,
    PAWL_TIMEOUT = 17,
    PAWL_UNSUPPORTED = 18,
    PAWL_MISUSE = 19
};

/* The name without its prefix ("LEASE_LOST") and the sentence of a code; "UNKNOWN" for a number that is
 * none. Static text. */
PAWL_API const char *pawl_code_name(enum pawl_code code);
PAWL_API const char *pawl_code_text(enum pawl_code code);
/* Whether the same call may simply be made again later. */
PAWL_API bool pawl_code_repeats(enum pawl_code code);

enum { PAWL_ERROR_TEXT_BYTES_MAX = 511 };

struct pawl_error {
    enum pawl_code code;
    int64_t until_at_ms; /* PAWL_NOT_READY: when it can be tried again; 0 = not known */
    char text[PAWL_ERROR_TEXT_BYTES_MAX + 1]; /* NUL-terminated; cut, never allocated */
};

/* Memory for what calls return: blocks that are given back all at once.
 *
 *   budget_bytes  more than this is PAWL_TOO_LARGE; 0 means PAWL_ARENA_BYTES_DEFAULT
 *   fails         PAWL_NO_MEMORY; PAWL_MISUSE if out is NULL */
enum { PAWL_ARENA_BYTES_DEFAULT = 64 * 1024 * 1024 };
struct pawl_arena;
PAWL_API enum pawl_code pawl_arena_open(struct pawl_arena **out, size_t budget_bytes) PAWL_MUST_USE;
PAWL_API void pawl_arena_reset(struct pawl_arena *arena);
PAWL_API void pawl_arena_close(struct pawl_arena *arena); /* takes NULL */

/* What is found out about the work of a supervised lease that has ended. */
enum pawl_finding {
    PAWL_FINDING_STOPPED = 1, /* nobody holds the execution's lock */
    PAWL_FINDING_ALIVE = 2,   /* somebody does */
    PAWL_FINDING_UNKNOWN = 3  /* it could not be looked at */
};

/* ---- The outside world; systems level, may change in a minor version -------------------------------- */

/* Clocks and chance as the library may see them. Given at open, borrowed until close; called from the
 * library's threads. Simulation and tests replace them. */
struct pawl_env {
    void *self;
    int64_t (*wall_ms)(void *self); /* since 1970; may jump; for calendar times only */
    int64_t (*boot_ms)(void *self); /* never goes back; for leases, timers and waits */
    uint64_t (*random)(void *self);
    struct pawl_str boot_id; /* boot_ms means nothing to another boot */
    struct pawl_str host_id;
    /* What proves that work has stopped (docs/leases.md); find_execution = NULL means locks in the store's own
     * place, as pawl_execution_begin takes them. */
    struct pawl_str place;
    enum pawl_finding (*find_execution)(void *self, struct pawl_str task_id, int64_t epoch);
};

/* ---- Words ------------------------------------------------------------------------------------------ */

/* States of a task. The numbers are stored: never renumbered. */
enum pawl_task_state {
    PAWL_TASK_PENDING = 0,          /* created, not offered to workers */
    PAWL_TASK_QUEUED = 1,           /* offered; perhaps deferred or blocked */
    PAWL_TASK_RUNNING = 2,          /* leased to one owner under one epoch */
    PAWL_TASK_PAUSED = 3,           /* withdrawn for a while */
    PAWL_TASK_RECOVERY_PENDING = 4, /* lease over and fenced, outcome not known yet */
    PAWL_TASK_COMPLETED = 5,        /* terminal */
    PAWL_TASK_FAILED = 6,           /* terminal; an operator may move it on */
    PAWL_TASK_CANCELLED = 7,        /* terminal */
    PAWL_TASK_DEAD_LETTER = 8       /* terminal: retries spent; an operator may move it on */
};

enum pawl_dependency_policy {      /* what becomes of a task whose dependency can no longer complete */
    PAWL_DEPENDENCY_BLOCK = 0,  /* it waits, visibly blocked, until the dependency completes after all */
    PAWL_DEPENDENCY_CANCEL = 1, /* it is cancelled with a reason */
    PAWL_DEPENDENCY_IGNORE = 2  /* the dependency counts as satisfied */
};

enum pawl_control { /* an operator's wish, waiting for the holder of a lease */
    PAWL_CONTROL_NONE = 0,
    PAWL_CONTROL_PAUSE = 1,
    PAWL_CONTROL_CANCEL = 2
};

enum pawl_backoff { /* how the delay of retry n (from 1) follows from the base delay */
    PAWL_BACKOFF_EXPONENTIAL = 0, /* base * 2^(n-1) */
    PAWL_BACKOFF_LINEAR = 1,      /* base * n */
    PAWL_BACKOFF_FIXED = 2        /* base */
};

/* The name of a state ("QUEUED"), and back; parse returns false for what is no state. */
PAWL_API const char *pawl_task_state_name(enum pawl_task_state state);
PAWL_API bool pawl_task_state_parse(struct pawl_str name, enum pawl_task_state *out);
PAWL_API bool pawl_task_state_is_terminal(enum pawl_task_state state);

/* ---- Limits ------------------------------------------------------------------------------------------ */

enum {
    PAWL_TASK_ID_BYTES_MAX = 64,         /* of an id that is chosen anew */
    PAWL_TASK_ID_STORED_BYTES_MAX = 128, /* of one that an import has kept: room for any task's id */
    PAWL_CHECKPOINT_ID_BYTES = 36,       /* always */
    PAWL_QUEUE_NAME_BYTES_MAX = 64,
    PAWL_WORKER_ID_BYTES_MAX = 128,
    PAWL_KEY_BYTES_MAX = 256, /* idempotency keys and request ids */
    PAWL_TITLE_POINTS_MAX = 256,
    PAWL_GOAL_BYTES_MAX = 64 * 1024,
    PAWL_PAYLOAD_BYTES_MAX = 10 * 1024 * 1024, /* input, result, state of a checkpoint */
    PAWL_METADATA_BYTES_MAX = 64 * 1024,
    PAWL_ERROR_BYTES_MAX = 64 * 1024,
    PAWL_REASON_BYTES_MAX = 4 * 1024, /* a reason, a note, an actor */
    PAWL_LOG_LINE_BYTES_MAX = 64 * 1024,
    PAWL_DEPENDENCIES_MAX = 256,
    PAWL_BATCH_MAX = 1000, /* members of a batch: creates, claims, renewals, rows of a page */
    PAWL_BATCH_BYTES_MAX = 16 * 1024 * 1024,
    PAWL_RETRIES_MAX = 1000,
    PAWL_PRIORITY_MAX = 99,
    PAWL_LEASE_MS_MIN = 100,
    PAWL_WAIT_MS_MAX = 60 * 1000
};

/* ---- Events ------------------------------------------------------------------------------------------ */

/* One row a transition: history, outbox, live listeners and audit are views of it. Committed with the
 * change it tells of; positions are the order of commits. */
struct pawl_event {
    int64_t position;
    struct pawl_str id;      /* UUID text */
    struct pawl_str task_id;
    struct pawl_str queue;
    int64_t sequence;        /* 1, 2, 3 ... for each task */
    int64_t at_ms;
    struct pawl_str type;    /* "task_created", "task_queued", ...; docs/store.md lists them */
    struct pawl_str action;  /* name in the task's history ("paused", "retry_scheduled") or empty */
    enum pawl_task_state state;
    int64_t epoch;
    int64_t version;
    double progress;
    int32_t retries;
    int64_t next_retry_at_ms;
    bool success;
    int64_t duration_ms;     /* of the attempt, where one ended */
    struct pawl_str actor;   /* worker id or operator; may be empty */
    struct pawl_str cause;   /* "resumed", "released", "recovered", ...; may be empty */
    struct pawl_str detail;  /* for people; at most 1024 code points */
    struct pawl_str title;
    struct pawl_str correlation_id;
    bool has_gap; /* listeners: events before this one were dropped, because the listener was too slow */
    bool is_imported; /* it tells of another store's past (pawl import) */
};

/* Hears of every committed event of this handle's own steps, in order, after the commit and outside every
 * lock (the detail of a resume does not name the checkpoint, as history does), on a thread of its own, so that a slow one harms only itself: beyond PAWL_LISTENER_EVENTS_MAX waiting
 * events the oldest are dropped. Of a driven handle it is called by pawl_step and by the calls themselves.
 * Events are borrowed for the call. It may call back into the handle, but not close it. */
enum { PAWL_LISTENER_EVENTS_MAX = 1024 };
struct pawl_listener {
    void *self;
    void (*heard)(void *self, const struct pawl_event *event);
};

/* ---- Opening ----------------------------------------------------------------------------------------- */

struct pawl; /* an open store with its engine */

enum pawl_log_level { PAWL_LOG_ERROR = 0, PAWL_LOG_WARN = 1, PAWL_LOG_INFO = 2, PAWL_LOG_DEBUG = 3 };

struct pawl_options {
    size_t size;
    struct pawl_str store;      /* path of a SQLite file, or "postgres://..."; created if missing */
    bool must_exist;            /* a missing file is PAWL_NOT_FOUND instead of being created */
    bool driven;                /* no threads: the host calls pawl_step; see there */
    bool no_timers;             /* leave what comes due to other processes; continuations of own calls run */
    int64_t lease_ms;           /* lease of claims that name none, in queues that name none; 0 = 60 s */
    struct pawl_str correlation_id; /* for tasks of calls that name none; may be empty */
    const struct pawl_env *env; /* NULL = the real world */
    const struct pawl_listener *listeners; /* copied */
    size_t listener_count;
    /* Called once for every completion this handle's steps commit, after the commit and before the call that
     * caused it returns; may be NULL. None is ever left out, so it is not queued as for listeners, and the next step
     * of this handle waits for it: be quick, or hand on. Other processes do not wait; nothing of the store is held.
     * It runs on the thread that has run the step, the library's own or of a driven handle the caller's, one call
     * at a time. Looking at the store is allowed; changing it from here is PAWL_MISUSE.
     *   title, result_start  borrowed for the call; of the result the first 200 code points; empty for none */
    void (*on_completed)(void *self, struct pawl_str title, struct pawl_str result_start);
    void *on_completed_self;
    /* Structured log events as one logfmt line each; NULL = no log. Called from threads of the library and from those
     * that call it, perhaps several at a time, some of them in the middle of a transaction: it is to be quick and
     * must not call back. The line is borrowed for the call. */
    void (*log)(void *self, enum pawl_log_level level, struct pawl_str line);
    void *log_self;
    /* Retention: tasks that ended so long ago are removed with all that is theirs, by the timers of this handle,
     * in slices between other work; 0 = never. Consumers are waited for, and so is whoever depends on the task.
     * What is left is known for 90 days more: the id stays in use, the idempotency key gives the old id again,
     * who depends on it is told how it ended; every other call is PAWL_NOT_FOUND. FAILED and DEAD_LETTER tasks
     * go too: leave time to look at them. */
    int64_t retain_ms;
    /* While there is no consumer at all, events, and with them their tasks, are kept so long at least: for
     * consumers that come later; 0 = no longer than retain_ms says. */
    int64_t events_keep_ms;
    bool to_the_end; /* a call returns when all that it caused is through, as long as it goes on; else after 5 s
                        (see continuing) */
    /* Consumers that have acknowledged nothing for so long, and hold others back, are dropped by the steps of
     * this handle; 0 = 7 days. Of several handles on a store the shortest counts. */
    int64_t consumer_keep_ms;
};
#define PAWL_OPTIONS_INIT PAWL_INIT_OF(struct pawl_options)

/* Opens the store and starts the engine.
 *
 *   fails  PAWL_INVALID      a bad option; or the wall clock of the machine is not between 1970 and 9998
 *          PAWL_NOT_FOUND    must_exist and there is no file
 *          PAWL_UNSUPPORTED  not a store of ours, one of a newer version, one with several names
 *                            (hard links), or a network file system
 *          PAWL_CORRUPT      the file is damaged */
PAWL_API enum pawl_code pawl_open(struct pawl **out, const struct pawl_options *options,
                                  struct pawl_error *err) PAWL_MUST_USE;

/* From now on no call on this handle waits: claims and consumers' reads that wait return at once, empty, and
 * so do later ones. For an orderly stop; safe from any thread. Takes NULL; after a fork it does nothing in the child. */
PAWL_API void pawl_stop_waiting(struct pawl *pawl);

/* Answers calls under way with PAWL_BUSY, stops the threads, closes the store. Takes NULL. */
PAWL_API void pawl_close(struct pawl *pawl);

/* Driven handles only: does what has come due and what has been asked, in one step.
 *
 *   next_at_boot_ms  when to call again at the latest, on the boot clock; INT64_MAX = nothing is due */
PAWL_API enum pawl_code pawl_step(struct pawl *pawl, int64_t *next_at_boot_ms, struct pawl_error *err)
    PAWL_MUST_USE;

/* A descriptor that becomes readable when another process changed the store; -1 if there is none. */
PAWL_API int pawl_wait_fd(struct pawl *pawl);

/* ---- Adding tasks ------------------------------------------------------------------------------------ */

struct pawl_retry {          /* zero fields: the queue's default, else 3 retries, 1 s, 60 s, exponential */
    int32_t max_retries;     /* tries beyond the first; PAWL_RETRIES_NONE for none */
    enum pawl_backoff backoff;
    int64_t delay_ms;        /* PAWL_DELAY_NONE for none */
    int64_t delay_ms_max;
    int64_t jitter_ms;       /* added, at random from 0 to this */
};
enum { PAWL_RETRIES_NONE = -1, PAWL_DELAY_NONE = -1, PAWL_PRIORITY_LOWEST = -1 };

struct pawl_task_new {
    size_t size;
    struct pawl_str id;         /* empty = a UUID is made; ids ending in -attempt-N are reserved */
    struct pawl_str queue;      /* empty = "default" */
    struct pawl_str input;      /* JSON */
    struct pawl_str goal;       /* text */
    struct pawl_str title;      /* empty = from the goal */
    struct pawl_str metadata;   /* JSON object */
    struct pawl_str correlation_id;
    struct pawl_str key;        /* idempotency key: same key and body gives the first task again */
    int32_t priority;           /* 1..99, higher first; 0 = 20; PAWL_PRIORITY_LOWEST = 0 */
    bool hold;                  /* stays PENDING until pawl_task_queue */
    struct pawl_retry retry;
    int64_t run_at_ms;          /* calendar time before which it is not given out, by the wall clock, to a second,
                                   however that steps until then */
    int64_t delay_ms;           /* the same, counted from now; of both the later one counts */
    int64_t timeout_ms;         /* for one attempt, not extended by renewals; 0 = none */
    const struct pawl_str *depends_on; /* ids, or "#n" for member n (from 0) of the same batch */
    size_t depends_on_count;
    enum pawl_dependency_policy dependency_policy;
    bool allow_missing_dependencies; /* an unknown id counts as one that has not completed yet; nobody then
                                        sees a circle that is closed through it */
    struct pawl_str actor;
};
#define PAWL_TASK_NEW_INIT PAWL_INIT_OF(struct pawl_task_new)

struct pawl_added {
    struct pawl_str id;
    bool existed; /* the key was known: this is the earlier task */
    bool continuing; /* as in struct pawl_change: others are still being told that it is there */
};

/* Creates a task and queues it (unless hold). Written to out on PAWL_OK.
 *
 *   fails  PAWL_INVALID    a bad field, an id that is too long, an unknown, duplicate or cyclic dependency; names it
 *          PAWL_CONFLICT   the id is in use, or the key with another body
 *          PAWL_TOO_LARGE  a body, a text or a list beyond its limit */
PAWL_API enum pawl_code pawl_task_add(struct pawl *pawl, const struct pawl_task_new *ask,
                                      struct pawl_arena *keep, struct pawl_added *out,
                                      struct pawl_error *err) PAWL_MUST_USE;

/* All of them or none, in one transaction; out has room for count. Members may depend on each other. */
PAWL_API enum pawl_code pawl_task_add_batch(struct pawl *pawl, const struct pawl_task_new *asks,
                                            size_t count, struct pawl_arena *keep,
                                            struct pawl_added *out, struct pawl_error *err)
    PAWL_MUST_USE;

/* ---- Working on tasks -------------------------------------------------------------------------------- */

/* The right to a task: what a claim gives and every later word of that worker carries. */
struct pawl_fence {
    struct pawl_str task_id;
    struct pawl_str owner; /* worker id */
    int64_t epoch;
};

struct pawl_grant {
    struct pawl_fence fence;
    struct pawl_str queue;
    struct pawl_str title;
    struct pawl_str goal;
    struct pawl_str input;     /* JSON; empty = none given */
    struct pawl_str metadata;  /* JSON object, correlation_id included */
    struct pawl_str checkpoint; /* JSON: state of the latest checkpoint; empty = none */
    int32_t checkpoint_step;
    int32_t priority;
    int32_t attempt;           /* 1, 2, ...: retries + 1 */
    int32_t max_retries;
    int64_t lease_ms;          /* of this grant */
    int64_t lease_end_at_ms;   /* by the store's clock */
    int64_t timeout_ms;
    int64_t created_at_ms;
    int64_t started_at_ms;     /* of this attempt: a task that was released goes on with it */
    struct pawl_str correlation_id; /* empty = none of its own */
    bool is_of_workflow;       /* it is a step of one */
};

struct pawl_claim {
    size_t size;
    const struct pawl_str *queues; /* of equal priority and ready time the earlier named wins */
    size_t queue_count;            /* 0 = "default" */
    struct pawl_str worker_id;     /* required */
    int32_t max;                   /* 1..PAWL_BATCH_MAX; 0 = 1 */
    int32_t priority_min;
    int64_t lease_ms;              /* 0 = the queue's, else the handle's */
    int64_t wait_ms;               /* how long to wait for the first one; 0 = not at all */
    struct pawl_str request_id;    /* a repeated claim with the same id gives the same grants */
    bool is_supervised;            /* the work will be done under pawl_execution_begin: on the machine of its
                                      worker a lease that has ended comes back only when the execution is proved
                                      to have stopped; elsewhere its end is all that can be known */
};
#define PAWL_CLAIM_INIT PAWL_INIT_OF(struct pawl_claim)

struct pawl_claimed {
    const struct pawl_grant *grants; /* in keep */
    size_t count;
    int64_t next_at_ms; /* count 0: when the next deferred task of the store comes due; 0 = none */
    int64_t waited_ms;  /* how long the claim waited before it was granted: the leases began that much later */
};

/* Gives ready tasks to one worker, in order of priority, ready time, age; waits as asked if there is none.
 * Driven handles do not wait. */
PAWL_API enum pawl_code pawl_task_claim(struct pawl *pawl, const struct pawl_claim *ask,
                                        struct pawl_arena *keep, struct pawl_claimed *out,
                                        struct pawl_error *err) PAWL_MUST_USE;

/* Gives one PENDING or QUEUED task, by id; queues and max of the claim are not looked at.
 *
 *   fails  PAWL_NOT_FOUND, PAWL_STATE
 *          PAWL_NOT_READY     deferred (err->until_at_ms) or blocked (the sentence names by what)
 *          PAWL_LEASE_ACTIVE  somebody holds it */
PAWL_API enum pawl_code pawl_task_start(struct pawl *pawl, struct pawl_str task_id,
                                        const struct pawl_claim *ask, struct pawl_arena *keep,
                                        struct pawl_grant *out, struct pawl_error *err) PAWL_MUST_USE;

struct pawl_renewal {
    enum pawl_code code;      /* PAWL_OK, PAWL_LEASE_LOST; PAWL_CORRUPT: the task's row cannot be read */
    int64_t lease_end_at_ms;
    int64_t lease_ms;         /* left, as of the answer */
    enum pawl_control control;
    int64_t control_deadline_at_ms;
};

/* Prolongs leases to lease_ms from now (0 = the length they were granted). One answer a fence, in order;
 * the call itself is PAWL_OK if they could be asked about at all. */
PAWL_API enum pawl_code pawl_lease_renew(struct pawl *pawl, const struct pawl_fence *fences,
                                         size_t count, int64_t lease_ms, struct pawl_renewal *out,
                                         struct pawl_error *err) PAWL_MUST_USE;

/* ---- Executions: the proof that work has stopped ------------------------------------------------------ */

/* One claim of one task being worked on, as the kernel sees it: a lock that is held until the last process that
 * has inherited its descriptor is gone. For claims with is_supervised; the supervisor does all of this by itself. An
 * execution belongs to one thread at a time. docs/leases.md tells why this order. */
struct pawl_execution;

/* Takes the execution's lock, then looks whether the task still runs under the fence. Only after PAWL_OK may the
 * work begin.
 *
 *   fails  PAWL_LEASE_LOST  it does not; nothing is held
 *          PAWL_CONFLICT    the lock is held: this very claim is being worked on already
 *          PAWL_IO          no lock can be had, or not where the claim has said; give the task back */
PAWL_API enum pawl_code pawl_execution_begin(struct pawl *pawl, const struct pawl_fence *fence,
                                             struct pawl_execution **out, struct pawl_error *err)
    PAWL_MUST_USE;

/* The descriptor to hand on to a process that does the work; close-on-exec is set, so clear it in the child.
 * -1 after the first pawl_execution_has_stopped. */
PAWL_API int pawl_execution_fd(const struct pawl_execution *execution);

/* Lets go of our own hold, and tells whether anybody else still has one. An outcome may be told once this is
 * true; while it is not, keep the lease and ask again. NULL: true. */
PAWL_API bool pawl_execution_has_stopped(struct pawl_execution *execution);

/* Forgets the execution; its lock stays with whoever holds it still. Takes NULL. */
PAWL_API void pawl_execution_close(struct pawl_execution *execution);

/* Says that all work under a lost fence has stopped, so that the task need not wait for its proof.
 *
 *   fails  PAWL_LEASE_LOST  somebody else has seen to it already: nothing to do
 *          PAWL_STATE       the lease still holds: release it instead */
PAWL_API enum pawl_code pawl_lease_stopped(struct pawl *pawl, const struct pawl_fence *fence,
                                           struct pawl_error *err) PAWL_MUST_USE;

/* Who makes a change to a task, and under which conditions. A worker sets fence; an operator leaves it
 * NULL. expected_version, if not 0, must be the row's, else PAWL_CONFLICT. */
struct pawl_change {
    size_t size;
    const struct pawl_fence *fence;
    int64_t expected_version;
    struct pawl_str actor;  /* operator's name for the history */
    struct pawl_str reason; /* or note, or detail; at most PAWL_REASON_BYTES_MAX */
    /* Written if given: true when the call is done, but not all that follows from it for others (dependents, dead
     * letters). That goes on by itself, in slices; a call waits 5 s for it. */
    bool *continuing;
    bool is_forced;         /* resolve alone: QUEUED or FAILED although its work is seen to go on; given with a cancel,
                               which has a parameter for it, it is PAWL_MISUSE */
    /* Written if given, on PAWL_OK: the id of a new checkpoint, NUL-terminated; room for
     * PAWL_CHECKPOINT_ID_BYTES + 1. */
    char *checkpoint_id;
};
#define PAWL_CHANGE_INIT PAWL_INIT_OF(struct pawl_change)

/* Each call below moves or marks one task. change may be NULL: no fence, no condition.
 *
 *   fails  PAWL_NOT_FOUND   there is no such task
 *          PAWL_LEASE_LOST  the fence is not the current one, or the task runs and no fence was given
 *          PAWL_STATE       not from this state; the sentence names it
 *          PAWL_CONFLICT    expected_version did not match
 * Only a release has no meaning without a fence: PAWL_MISUSE. */

/* Reports percent (clamped to 0..100; PAWL_INVALID for NaN). An event at most once a second. */
PAWL_API enum pawl_code pawl_task_progress(struct pawl *pawl, struct pawl_str task_id, double percent,
                                           const struct pawl_change *change, struct pawl_error *err)
    PAWL_MUST_USE;

/* Saves resumable state: a JSON value. The newest 64 are kept. change->checkpoint_id tells the new one's id, by which
 * pawl_task_restore finds it. */
PAWL_API enum pawl_code pawl_task_checkpoint(struct pawl *pawl, struct pawl_str task_id, int32_t step,
                                             struct pawl_str state, const struct pawl_change *change,
                                             struct pawl_error *err) PAWL_MUST_USE;

/* Appends a line to the task's log; the oldest go when the log exceeds its byte cap. A fence is looked at
 * if given. */
PAWL_API enum pawl_code pawl_task_log(struct pawl *pawl, struct pawl_str task_id, struct pawl_str line,
                                      const struct pawl_change *change, struct pawl_error *err)
    PAWL_MUST_USE;

/* COMPLETED, with a JSON result (empty = none). Repeated with the same result under the same epoch: OK. */
PAWL_API enum pawl_code pawl_task_complete(struct pawl *pawl, struct pawl_str task_id,
                                           struct pawl_str result, const struct pawl_change *change,
                                           struct pawl_error *err) PAWL_MUST_USE;

struct pawl_failure {
    size_t size;
    struct pawl_str error;   /* text, at most PAWL_ERROR_BYTES_MAX */
    bool is_final;           /* no retry: DEAD_LETTER at once */
    int64_t retry_after_ms;  /* delay instead of the policy's; 0 = the policy's; PAWL_DELAY_NONE */
};
#define PAWL_FAILURE_INIT PAWL_INIT_OF(struct pawl_failure)

/* Ends the attempt: QUEUED with a delay, or DEAD_LETTER. Only its holder can: without the fence a RUNNING task
 * is PAWL_LEASE_LOST, and any other PAWL_STATE. */
PAWL_API enum pawl_code pawl_task_fail(struct pawl *pawl, struct pawl_str task_id,
                                       const struct pawl_failure *failure,
                                       const struct pawl_change *change, struct pawl_error *err)
    PAWL_MUST_USE;

/* Gives the task back uncounted: QUEUED, now or after delay_ms. A fence is required. */
PAWL_API enum pawl_code pawl_task_release(struct pawl *pawl, struct pawl_str task_id, int64_t delay_ms,
                                          const struct pawl_change *change, struct pawl_error *err)
    PAWL_MUST_USE;

/* ---- Supervised execution: handlers, and leases that are kept for them --------------------------------- */

/* A supervisor claims tasks, runs a function of yours for each, on a thread of its own, keeps the lease
 * meanwhile, tells the function when it is to stop, and tells the store how it ended. What a lost or dead
 * supervisor held is given out again only when its work is proved to have stopped (docs/leases.md).
 *
 * Leases are renewed by a thread that does nothing else, over a connection of its own: a handler that burns the
 * CPU or waits for ever costs no lease. Handlers, on_stop and the log are called outside every lock; the log from
 * several threads at once. A supervisor needs a handle that is not driven, and must be closed before it. */
struct pawl_supervisor;

/* One claim of one task in the hands of its handler. Good until the handler returns; any thread may use it. */
struct pawl_work;

/* Why a handler is to stop; the greater beats the less. */
enum pawl_stop_reason {
    PAWL_STOP_NONE = 0,
    PAWL_STOP_DRAINING = 1,    /* the supervisor ends; the task is given back uncounted */
    PAWL_STOP_PAUSED = 2,      /* an operator asked; save a checkpoint and return PAWL_WORK_STOPPED */
    PAWL_STOP_CANCELLED = 3,   /* the same; forced when its deadline has come */
    PAWL_STOP_NO_PROGRESS = 4, /* the watchdog; the attempt fails */
    PAWL_STOP_TIMED_OUT = 5,   /* the attempt's time is up; it fails */
    PAWL_STOP_LOST = 6         /* the lease is, or soon will be: whatever comes of the work is thrown away */
};

/* How work ends: the first five a handler returns, the others have come of it. */
enum pawl_work_end {
    PAWL_WORK_COMPLETED = 0, /* with the result given to pawl_work_complete, else without */
    PAWL_WORK_FAILED = 1,    /* as told by pawl_work_fail */
    PAWL_WORK_YIELDED = 2,   /* given back uncounted, for later: pawl_work_yield */
    PAWL_WORK_DETACHED = 3,  /* it goes on elsewhere; somebody says later how it ended: pawl_work_token */
    PAWL_WORK_STOPPED = 4,   /* it stopped because it was asked to; unasked, it is a failure */
    PAWL_WORK_PAUSED = 5,
    PAWL_WORK_CANCELLED = 6,
    PAWL_WORK_RELEASED = 7
};

enum { PAWL_SUPERVISOR_SLOTS_MAX = 1024, PAWL_DETACHED_MAX = 1000 * 1000 };

struct pawl_supervisor_options {
    size_t size;
    const struct pawl_str *queues; /* copied */
    size_t queue_count;            /* 0 = "default" */
    bool claims_nothing;           /* only what pawl_supervisor_run_one is given */
    struct pawl_str worker_id;     /* copied; empty = one is made. No two supervisors share one. */
    int32_t slots;                 /* handlers at a time, 1..PAWL_SUPERVISOR_SLOTS_MAX; 0 = 1 */
    int32_t detached_max;          /* so many detached ones take up no slot, 0..PAWL_DETACHED_MAX */
    int64_t lease_ms;              /* 0 = the queue's, else the handle's */
    int64_t renew_every_ms;        /* 0 = a third of the lease; with the margin it must be less than the lease */
    int64_t grace_ms;              /* how long a handler may take to stop before it counts as uncontained; 0 = 1 s,
                                      PAWL_DELAY_NONE for none */
    int64_t progress_ms;           /* a handler that reports no progress, checkpoint or log line for so long is
                                      stopped and its attempt fails; 0 = no such watch */
    /* Does the work. Must be set. */
    enum pawl_work_end (*handler)(void *self, struct pawl_work *work);
    /* Hears that a work is to stop, once a reason, besides pawl_work_stop_reason; may be NULL. Of detached work it
     * is the only word. Called from the thread that watches all others: return soon. */
    void (*on_stop)(void *self, int64_t token, enum pawl_stop_reason reason);
    void *self;
};
#define PAWL_SUPERVISOR_OPTIONS_INIT PAWL_INIT_OF(struct pawl_supervisor_options)

/* Starts claiming.
 *
 *   pawl    borrowed until close; claims and outcomes go through it, so its listeners and hooks hear of them
 *   fails   PAWL_INVALID  a bad option; names it
 *           PAWL_MISUSE   no handler, or a driven handle
 *           and what pawl_open fails with, for the keeper's connection */
PAWL_API enum pawl_code pawl_supervisor_start(struct pawl *pawl,
                                              const struct pawl_supervisor_options *options,
                                              struct pawl_supervisor **out, struct pawl_error *err)
    PAWL_MUST_USE;

/* Ends in order: claims no more, lets what is in hand end for at most drain_ms, asks the rest to stop
 * (PAWL_STOP_DRAINING), gives it back uncounted. May be called again, also from several threads; not from a handler.
 *
 *   fails  PAWL_TIMEOUT  handlers have not stopped within the grace: they are listed, their leases are kept, and
 *                        what they return still counts */
PAWL_API enum pawl_code pawl_supervisor_stop(struct pawl_supervisor *supervisor, int64_t drain_ms,
                                             struct pawl_error *err) PAWL_MUST_USE;

/* Stops with a drain of 0, then waits for every handler to return, however long; takes NULL; not from a handler. A
 * program that cannot wait exits instead: its locks go with it, and the tasks come back. */
PAWL_API void pawl_supervisor_close(struct pawl_supervisor *supervisor);

/* Runs the handler for one task, by id, on the caller's own thread, under all the rules above but the slots.
 *
 *   end    what has become of it, written on PAWL_OK; may be NULL
 *   fails  as pawl_task_start, with nothing changed
 *          PAWL_LEASE_LOST  the lease was lost on the way, the result thrown away
 *          PAWL_STATE       the supervisor is being stopped
 *          PAWL_LIMIT       PAWL_RUN_ONE_MAX calls of this are under way, or so many works are detached beyond
 *                           detached_max */
enum { PAWL_RUN_ONE_MAX = 64 };
PAWL_API enum pawl_code pawl_supervisor_run_one(struct pawl_supervisor *supervisor, struct pawl_str task_id,
                                                enum pawl_work_end *end, struct pawl_error *err) PAWL_MUST_USE;

enum pawl_work_phase {
    PAWL_WORK_RUNNING = 1,     /* in its handler */
    PAWL_WORK_STOPPING = 2,    /* asked to stop */
    PAWL_WORK_UNCONTAINED = 3, /* asked to stop, and the grace is over: it takes up its slot until it ends */
    PAWL_WORK_TELLING = 4,     /* the handler has returned, the store is being told */
    PAWL_WORK_WAITING = 5      /* detached */
};

struct pawl_in_hand {
    int64_t token;
    struct pawl_fence fence;
    enum pawl_work_phase phase;
    enum pawl_stop_reason reason;
    int64_t in_hand_ms; /* since it was claimed */
};

struct pawl_in_hands {
    const struct pawl_in_hand *works; /* in keep; in no order */
    size_t count;
    size_t uncontained_count;
};

/* All that the supervisor has in hand now. */
PAWL_API enum pawl_code pawl_supervisor_list(struct pawl_supervisor *supervisor, struct pawl_arena *keep,
                                             struct pawl_in_hands *out, struct pawl_error *err) PAWL_MUST_USE;

/* ---- What a handler can do with its work ---- */

/* The task as it was granted; borrowed until the handler returns. fence.epoch is what outside systems can check. */
PAWL_API const struct pawl_grant *pawl_work_grant(const struct pawl_work *work);

/* PAWL_STOP_NONE, or why it is to stop; cheap enough for every round of a loop. */
PAWL_API enum pawl_stop_reason pawl_work_stop_reason(const struct pawl_work *work);

/* A descriptor that is readable from then on, for poll; the supervisor's own: neither read nor close it. -1 if
 * none could be made. */
PAWL_API int pawl_work_stop_fd(struct pawl_work *work);

/* pawl_task_progress, _checkpoint and _log under the work's fence. PAWL_LEASE_LOST has told all there is: return.
 * checkpoint_id: NULL, or as in struct pawl_change. */
PAWL_API enum pawl_code pawl_work_progress(struct pawl_work *work, double percent, struct pawl_error *err)
    PAWL_MUST_USE;
PAWL_API enum pawl_code pawl_work_checkpoint(struct pawl_work *work, int32_t step, struct pawl_str state,
                                             char *checkpoint_id, struct pawl_error *err) PAWL_MUST_USE;
PAWL_API enum pawl_code pawl_work_log(struct pawl_work *work, struct pawl_str line, struct pawl_error *err)
    PAWL_MUST_USE;

/* What to return: `return pawl_work_complete(work, result);`. Each keeps a copy of what it is given. A result that
 * is no JSON, or too large, makes a failure. */
PAWL_API enum pawl_work_end pawl_work_complete(struct pawl_work *work, struct pawl_str result);
PAWL_API enum pawl_work_end pawl_work_fail(struct pawl_work *work, const struct pawl_failure *failure);
PAWL_API enum pawl_work_end pawl_work_yield(struct pawl_work *work, int64_t delay_ms);

/* Names the work beyond its handler's return: for on_stop, and for whoever ends work that was detached. Never used
 * again. */
PAWL_API int64_t pawl_work_token(const struct pawl_work *work);

/* End detached work, once, from any thread but a handler's own; before its handler has returned they wait for
 * that. The lease is kept until then, on no thread. The lock that proves work to go on is let go of when the handler
 * returns, though: if the process is gone or the lease lost, the task is given out again, whatever goes on elsewhere.
 *
 *   fails  PAWL_LEASE_LOST  it has ended or was lost before; nothing to do
 *          PAWL_STATE       the handler returned something else than PAWL_WORK_DETACHED
 *          PAWL_CONFLICT    somebody else is ending it at this moment
 *          and as pawl_task_complete, _fail and _release; after PAWL_INVALID or PAWL_TOO_LARGE it can be said anew */
PAWL_API enum pawl_code pawl_detached_complete(struct pawl_supervisor *supervisor, int64_t token,
                                               struct pawl_str result, struct pawl_error *err) PAWL_MUST_USE;
PAWL_API enum pawl_code pawl_detached_fail(struct pawl_supervisor *supervisor, int64_t token,
                                           const struct pawl_failure *failure, struct pawl_error *err)
    PAWL_MUST_USE;
/* Gives it up: PAUSED or CANCELLED if that was asked for, else back to its queue, uncounted. */
PAWL_API enum pawl_code pawl_detached_stop(struct pawl_supervisor *supervisor, int64_t token,
                                           struct pawl_error *err) PAWL_MUST_USE;

/* ---- Operating on tasks ------------------------------------------------------------------------------ */

/* QUEUED from PENDING, where hold has left it. Of a QUEUED, RUNNING or COMPLETED task: PAWL_OK, and nothing is done. */
PAWL_API enum pawl_code pawl_task_queue(struct pawl *pawl, struct pawl_str task_id,
                                        const struct pawl_change *change, struct pawl_error *err)
    PAWL_MUST_USE;

/* Of a RUNNING task without its fence: a request that its holder learns with its next renewal; at once, and so that
 * its lease was taken by force, if a supervisor or `pawl worker run` keeps it. Pausing is never forced; cancelling
 * is, at the request's deadline (one lease), or at once with is_forced. */
PAWL_API enum pawl_code pawl_task_pause(struct pawl *pawl, struct pawl_str task_id,
                                        const struct pawl_change *change, struct pawl_error *err)
    PAWL_MUST_USE;
PAWL_API enum pawl_code pawl_task_cancel(struct pawl *pawl, struct pawl_str task_id, bool is_forced,
                                         const struct pawl_change *change, struct pawl_error *err)
    PAWL_MUST_USE;

struct pawl_resume {
    size_t size;
    bool keep_retries;     /* do not refill the retries of a FAILED or DEAD_LETTER task */
    struct pawl_str input; /* JSON that replaces the input; empty = as it is */
};
#define PAWL_RESUME_INIT PAWL_INIT_OF(struct pawl_resume)

/* QUEUED again, from PAUSED, FAILED or DEAD_LETTER. resume may be NULL. */
PAWL_API enum pawl_code pawl_task_resume(struct pawl *pawl, struct pawl_str task_id,
                                         const struct pawl_resume *resume,
                                         const struct pawl_change *change, struct pawl_error *err)
    PAWL_MUST_USE;

/* An operator's decision for a RECOVERY_PENDING, FAILED or DEAD_LETTER task: COMPLETED (text = JSON
 * result), FAILED (text = error; from RECOVERY_PENDING only), QUEUED or CANCELLED. Takes a new epoch. Resolved as
 * QUEUED while its holder is asked to pause or cancel, it becomes PAUSED or CANCELLED: it is to be resumed then.
 *
 *   fails  PAWL_LEASE_ACTIVE  QUEUED, or FAILED, which can be resumed, was asked for, the work of the lost lease is
 *                             seen to go on, and the change is not forced */
PAWL_API enum pawl_code pawl_task_resolve(struct pawl *pawl, struct pawl_str task_id,
                                          enum pawl_task_state outcome, struct pawl_str text,
                                          const struct pawl_change *change, struct pawl_error *err)
    PAWL_MUST_USE;

struct pawl_redrive {
    size_t size;
    struct pawl_str queue;     /* only of this queue; empty = all */
    struct pawl_str error_has; /* only those whose error contains this text */
    int64_t dead_before_at_ms; /* only those that died before; 0 = all */
    int64_t max;               /* at most so many; 0 = all there were when it began */
    struct pawl_resume resume;
    struct pawl_str actor;
    struct pawl_str reason;
    bool *continuing; /* as in struct pawl_change */
};
#define PAWL_REDRIVE_INIT PAWL_INIT_OF(struct pawl_redrive)

/* Resumes dead letters by filter, in slices; *count is how many, whichever process resumed them: 0 for a queue that nobody
 * knows. After 5 s the call
 * returns though slices are left: then *continuing is true, and *count is how many there were so far. */
PAWL_API enum pawl_code pawl_dead_redrive(struct pawl *pawl, const struct pawl_redrive *ask,
                                          int64_t *count, struct pawl_error *err) PAWL_MUST_USE;

/* ---- Looking at tasks -------------------------------------------------------------------------------- */

struct pawl_task {
    struct pawl_str id;
    struct pawl_str queue;
    struct pawl_str title;
    struct pawl_str goal;     /* goal, input, metadata, result: only if asked for (with_payload) */
    struct pawl_str input;
    struct pawl_str metadata;
    struct pawl_str result;
    struct pawl_str error;
    struct pawl_str correlation_id;
    struct pawl_str key;
    enum pawl_task_state state;
    int32_t priority;
    double progress;
    int64_t progress_epoch; /* the claim that wrote progress */
    int32_t retries;
    int32_t recoveries;
    int32_t max_retries;
    int64_t version;          /* raised by whatever can be seen changing, but for a renewed lease end and the
                               next look of a recovery */
    int64_t epoch;
    struct pawl_str owner;    /* empty unless RUNNING or RECOVERY_PENDING */
    int64_t lease_end_at_ms;
    int64_t lease_ms;
    int64_t next_retry_at_ms; /* not given out before; stays when it has passed, until it is given out */
    int64_t timeout_ms;
    int64_t created_at_ms;
    int64_t updated_at_ms;
    int64_t started_at_ms;
    int64_t finished_at_ms;
    enum pawl_control control;
    struct pawl_str control_reason;
    int64_t control_deadline_at_ms; /* when it is to be answered; of a pause it stays when it has passed */
    int32_t open_dependencies;
    struct pawl_str blocked_by; /* a dependency that can no longer complete by itself */
    const struct pawl_str *depends_on; /* only if asked for */
    size_t depends_on_count;
    bool is_supervised;             /* RUNNING or RECOVERY_PENDING under a supervised lease */
    struct pawl_str lease_place;    /* supervised: where the lock of its work is */
    struct pawl_str recovery_note;  /* RECOVERY_PENDING: what the last look has found; may be empty */
    int64_t recovery_look_at_ms;    /* and when the next one is due */
    int64_t lease_left_ms;          /* RUNNING: until lease_end_at_ms by the clock of the store, which need not be
                                       this machine's, when it was read; 0 = the lease is over */
};

/* PAWL_NOT_FOUND if there is none; PAWL_CORRUPT if its row is in quarantine. */
PAWL_API enum pawl_code pawl_task_get(struct pawl *pawl, struct pawl_str task_id, bool with_payload,
                                      struct pawl_arena *keep, struct pawl_task *out,
                                      struct pawl_error *err) PAWL_MUST_USE;

/* Says in one sentence why a task is not being worked on: deferred until, blocked by, queue paused, so
 * many before it, no worker has asked, and so on. */
PAWL_API enum pawl_code pawl_task_why(struct pawl *pawl, struct pawl_str task_id,
                                      struct pawl_arena *keep, struct pawl_str *out,
                                      struct pawl_error *err) PAWL_MUST_USE;

struct pawl_list {
    size_t size;
    uint32_t states;        /* bit 1 << state for each wanted; 0 = all */
    bool is_ready;          /* only what may be claimed now, in the order of claims */
    bool is_blocked;        /* only what a dependency blocks for good */
    struct pawl_str queue;  /* empty = all */
    int32_t limit;          /* 1..PAWL_BATCH_MAX; 0 = 100 */
    struct pawl_str cursor; /* of the page before; empty = from the start */
    bool with_payload;
};
#define PAWL_LIST_INIT PAWL_INIT_OF(struct pawl_list)

struct pawl_page {
    const struct pawl_task *tasks; /* in keep */
    size_t count;
    struct pawl_str cursor; /* empty = this was the last page; a page may be short and have a cursor */
};

/* One page. Ready tasks come in the order of claims, those that run by when they are due, finished ones last finished
 * first, all others newest first. A page ends at a number of rows looked at, so it may be short, or empty, and
 * have a cursor: it was the last one only if the cursor is empty. A task that changes its place meanwhile may be met
 * twice or not at all.
 *
 *   fails  PAWL_INVALID  the cursor is not one of this list */
PAWL_API enum pawl_code pawl_task_list(struct pawl *pawl, const struct pawl_list *ask,
                                       struct pawl_arena *keep, struct pawl_page *out,
                                       struct pawl_error *err) PAWL_MUST_USE;

struct pawl_events {
    const struct pawl_event *events; /* in keep */
    size_t count;
    int64_t position; /* of the last one read */
};

/* Events of one task, oldest first, after the given sequence; limit as in lists. */
PAWL_API enum pawl_code pawl_task_history(struct pawl *pawl, struct pawl_str task_id,
                                          int64_t after_sequence, int32_t limit,
                                          struct pawl_arena *keep, struct pawl_events *out,
                                          struct pawl_error *err) PAWL_MUST_USE;

struct pawl_checkpoint {
    struct pawl_str id; /* UUID text */
    int32_t step;
    int64_t at_ms;
    int64_t epoch;
    struct pawl_str state; /* JSON */
};

/* The checkpoint with this id, or the latest for an empty one.
 *
 *   fails  PAWL_STATE      the task has no checkpoints at all
 *          PAWL_NOT_FOUND  no such task, or none with this id */
PAWL_API enum pawl_code pawl_task_restore(struct pawl *pawl, struct pawl_str task_id,
                                          struct pawl_str checkpoint_id, struct pawl_arena *keep,
                                          struct pawl_checkpoint *out, struct pawl_error *err)
    PAWL_MUST_USE;

struct pawl_checkpoints {
    const struct pawl_checkpoint *checkpoints; /* oldest first */
    size_t count;
};
/* All that are kept, with their states: up to 64, so mind the budget of keep. PAWL_NOT_FOUND: no such task. */
PAWL_API enum pawl_code pawl_task_checkpoints(struct pawl *pawl, struct pawl_str task_id,
                                              struct pawl_arena *keep, struct pawl_checkpoints *out,
                                              struct pawl_error *err) PAWL_MUST_USE;

struct pawl_log_line {
    int64_t number; /* grows; cursor for the next read */
    int64_t at_ms;
    int64_t epoch;
    struct pawl_str text;
};
struct pawl_log_lines {
    const struct pawl_log_line *lines;
    size_t count;
};
/* Lines after a number (0 = from the start), oldest first, at most limit (1..PAWL_BATCH_MAX; 0 = 100). What was too much
 * for the log's cap is gone, so numbers may begin late. PAWL_NOT_FOUND: no such task. */
PAWL_API enum pawl_code pawl_task_logs(struct pawl *pawl, struct pawl_str task_id, int64_t after_number,
                                       int32_t limit, struct pawl_arena *keep,
                                       struct pawl_log_lines *out, struct pawl_error *err)
    PAWL_MUST_USE;

/* An outcome that came without the right to it; kept for people to see, never applied. */
struct pawl_late_result {
    int64_t at_ms;
    int64_t epoch;
    struct pawl_str owner;
    struct pawl_str kind; /* "complete", "fail", "release" */
    struct pawl_str body; /* at most 64 KiB */
};
struct pawl_late_results {
    const struct pawl_late_result *results; /* oldest first */
    size_t count;
};
/* The last eight of a task. PAWL_NOT_FOUND: no such task. */
PAWL_API enum pawl_code pawl_task_late_results(struct pawl *pawl, struct pawl_str task_id,
                                               struct pawl_arena *keep, struct pawl_late_results *out,
                                               struct pawl_error *err) PAWL_MUST_USE;

/* ---- Queues ------------------------------------------------------------------------------------------ */

struct pawl_queue {
    struct pawl_str name;
    bool is_paused;
    int64_t lease_ms;        /* 0 = the handle's */
    struct pawl_retry retry; /* zero fields = the built-in defaults */
    /* counted when read */
    int64_t ready;
    int64_t deferred;
    int64_t running;
    int64_t oldest_ready_at_ms;
};

struct pawl_queues {
    const struct pawl_queue *queues; /* by name */
    size_t count;
};
/* All queues that anybody has named, with what waits in them; counting looks at every ready task, so it costs 80 ms for a
 * million. Ready ones are counted up to a million, and of what waits for an instant 100 000. */
PAWL_API enum pawl_code pawl_queue_list(struct pawl *pawl, struct pawl_arena *keep,
                                        struct pawl_queues *out, struct pawl_error *err) PAWL_MUST_USE;

struct pawl_queue_set {
    size_t size;
    struct pawl_str name;
    int32_t pause;    /* 0 = as it is, 1 = pause, 2 = resume */
    bool set_lease;   /* lease_ms below is meant */
    int64_t lease_ms;
    bool set_retry;   /* retry below is meant */
    struct pawl_retry retry;
};
#define PAWL_QUEUE_SET_INIT PAWL_INIT_OF(struct pawl_queue_set)

/* Changes a queue; creates it if it is new. */
PAWL_API enum pawl_code pawl_queue_set(struct pawl *pawl, const struct pawl_queue_set *ask,
                                       struct pawl_error *err) PAWL_MUST_USE;

/* ---- Events and their consumers ---------------------------------------------------------------------- */

/* Events after a position, in commit order, at most limit (1..PAWL_BATCH_MAX; 0 = 100). */
PAWL_API enum pawl_code pawl_events_read(struct pawl *pawl, int64_t after_position, int32_t limit,
                                         struct pawl_arena *keep, struct pawl_events *out,
                                         struct pawl_error *err) PAWL_MUST_USE;

/* The same for a named consumer: what lies after its cursor and is not acknowledged yet. A new name starts
 * at the oldest event kept. Waits at most wait_ms for the first one. At least once: use the event's id to
 * tell repeats.
 *
 *   fails  PAWL_LIMIT  a million events are acknowledged one by one beyond a gap: acknowledge through a
 *                      position */
PAWL_API enum pawl_code pawl_consumer_read(struct pawl *pawl, struct pawl_str consumer, int32_t limit,
                                           int64_t wait_ms, struct pawl_arena *keep,
                                           struct pawl_events *out, struct pawl_error *err)
    PAWL_MUST_USE;

/* Moves the consumer's cursor to position; never back. PAWL_NOT_FOUND: no such consumer. */
PAWL_API enum pawl_code pawl_consumer_acknowledge_through(struct pawl *pawl, struct pawl_str consumer,
                                                          int64_t position, struct pawl_error *err)
    PAWL_MUST_USE;

/* Acknowledges one event by id: *is_first is true the first time, false afterwards or if it is unknown. */
PAWL_API enum pawl_code pawl_consumer_acknowledge(struct pawl *pawl, struct pawl_str consumer,
                                                  struct pawl_str event_id, bool *is_first,
                                                  struct pawl_error *err) PAWL_MUST_USE;

/* Waits until anybody has committed something, at most wait_ms.
 *
 *   seen   0 the first time, which does not wait; then what the call before has made of it: it is another
 *          number if something was committed since
 *   fails  PAWL_BUSY     nobody is to wait any more (pawl_stop_waiting, pawl_close)
 *          PAWL_MISUSE   a driven handle: see pawl_wait_fd; one without timers, which hears of others late */
PAWL_API enum pawl_code pawl_changes_wait(struct pawl *pawl, uint64_t *seen, int64_t wait_ms,
                                          struct pawl_error *err) PAWL_MUST_USE;

/* ---- The store as a whole ---------------------------------------------------------------------------- */

struct pawl_consumer {
    struct pawl_str name;
    int64_t position;   /* passed up to here */
    int64_t behind;     /* events after it */
    int64_t seen_at_ms; /* when it last moved, or was made */
};

/* An id under which two processes claim, in turn: what one says without an epoch is taken for the other's word, and a
 * repeated claim of one may find the request of the other. */
struct pawl_shared_worker {
    struct pawl_str id;
    struct pawl_str host;       /* of the one that claimed last; of a client of a server, its address */
    int64_t pid;                /* 0 = not known: a client of a server */
    struct pawl_str other_host; /* of the one before */
    int64_t other_pid;
    int64_t at_ms;              /* when one of them last came back */
};

enum {
    PAWL_HEALTH_SHARED_MAX = 32,
    PAWL_HEALTH_COUNT_MAX = 1000,         /* where counts end: so many, or more */
    PAWL_HEALTH_FINISHED_MAX = 100 * 1000,
    PAWL_HEALTH_LATE_MS = 10 * 1000,      /* due so long ago is overdue: nobody runs timers */
    PAWL_TALLY_EVENTS_MAX = 100 * 1000
};

struct pawl_health {
    int64_t now_ms;         /* by the clock of the store */
    int64_t wall_ms;        /* by this machine's */
    int64_t schema_version;
    int64_t file_bytes;     /* PostgreSQL: of the schema's tables */
    int64_t free_bytes;     /* of them, room that holds nothing; 0 on PostgreSQL */
    int64_t log_bytes;      /* of the write-ahead log; 0 on PostgreSQL */
    /* counted up to PAWL_HEALTH_COUNT_MAX */
    int64_t running;        /* among what waits for an instant soonest */
    int64_t overdue;
    int64_t oldest_due_at_ms; /* of them; 0 = none */
    int64_t recovery_pending;
    int64_t dead_letters;
    int64_t paused;
    int64_t blocked;        /* by a dependency that can no longer complete by itself */
    int64_t quarantined;    /* rows that could not be read */
    int64_t late_results;   /* kept beside their tasks */
    int64_t continuations;  /* what large decisions have left to do */
    int64_t workflows_running; /* up to PAWL_HEALTH_FINISHED_MAX, paused ones among them */
    int64_t finished;       /* up to PAWL_HEALTH_FINISHED_MAX */
    int64_t oldest_finished_at_ms;
    const struct pawl_consumer *consumers; /* by name, in keep */
    size_t consumer_count;
    const struct pawl_shared_worker *shared; /* within the last hour, the newest first, in keep */
    size_t shared_count;    /* at most PAWL_HEALTH_SHARED_MAX */
};

/* How the store is: some 60 ms on one of a million tasks, and no more on a larger one, since counts go up to a bound. */
PAWL_API enum pawl_code pawl_health(struct pawl *pawl, struct pawl_arena *keep, struct pawl_health *out,
                                    struct pawl_error *err) PAWL_MUST_USE;

struct pawl_tally { /* of events */
    int64_t position; /* of the last one counted */
    int64_t events;   /* PAWL_TALLY_EVENTS_MAX: there may be more after position */
    int64_t added;
    int64_t claimed;
    int64_t completed;
    int64_t failed;   /* attempts */
    int64_t lost;     /* leases that ended without an outcome */
};

/* Counts what has happened after a position; with -1 nothing is counted, and position is that of the newest
 * event. */
PAWL_API enum pawl_code pawl_events_tally(struct pawl *pawl, int64_t after_position, struct pawl_arena *keep,
                                          struct pawl_tally *out, struct pawl_error *err) PAWL_MUST_USE;

/* ---- Counters ---------------------------------------------------------------------------------------- */

enum { PAWL_SPREAD_BUCKETS = 13 };
/* The bounds of all buckets but the last, which has none. */
#define PAWL_SPREAD_BOUNDS {1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 5000, 60000}

struct pawl_spread {
    int64_t count;
    int64_t sum;
    int64_t buckets[PAWL_SPREAD_BUCKETS]; /* how many were of at most the bound: each counts those before it, the last is count */
};

struct pawl_counted {
    struct pawl_str name;
    struct pawl_str action; /* of events, as in struct pawl_event; may be empty */
    int64_t count;
};

/* What this handle has done since it was opened; other processes have counts of their own. */
struct pawl_counters {
    int64_t failed_steps;   /* rolled back, or their outcome not known; their commands were tried again or answered so */
    int64_t races;          /* of them, those that others were faster than, and that were tried again at once */
    int64_t renewals;       /* leases prolonged */
    int64_t late_results;   /* outcomes of who had lost his lease, kept beside their tasks */
    int64_t workflows_started;
    const struct pawl_counted *workflows_ended; /* by state; all of them, in keep */
    size_t workflows_ended_count;
    const struct pawl_counted *events;          /* by type and action; all of them, in keep */
    size_t event_count;
    struct pawl_spread step_commands; /* committed steps, by how many commands they did at once */
    struct pawl_spread step_ms;       /* how long they took, without the wait for their turn */
    struct pawl_spread commit_ms;     /* of it, the commit: on SQLite the sync of the log */
    struct pawl_spread late_ms;       /* how long after its instant was dealt with what had come due */
    struct pawl_spread wait_ms;       /* how long tasks had been ready when they were claimed */
    struct pawl_spread run_ms;        /* how long attempts took that have ended */
};

/* Never waits. Counters that belong together may be one step apart. */
PAWL_API enum pawl_code pawl_counters(struct pawl *pawl, struct pawl_arena *keep, struct pawl_counters *out,
                                      struct pawl_error *err) PAWL_MUST_USE;

/* ---- Room -------------------------------------------------------------------------------------------- */

struct pawl_gc {
    size_t size;
    int64_t older_than_ms; /* since the task has ended */
    uint32_t states;       /* bit 1 << state, terminal ones; 0 = all of them */
    bool is_dry;           /* count what would be removed, and remove nothing */
    int64_t max;           /* at most so many; 0 = all */
};
#define PAWL_GC_INIT PAWL_INIT_OF(struct pawl_gc)

struct pawl_gc_done {
    int64_t removed; /* tasks */
    int64_t waiting; /* passed over, because others wait for them */
    int64_t ended;   /* what was left of tasks removed long ago, and is no more */
    char held_by[PAWL_QUEUE_NAME_BYTES_MAX + 1]; /* the consumer that has not passed the next one; "" = none */
};

/* Retention by hand: as retain_ms does it (struct pawl_options), now, whatever the options say. Many small
 * transactions: others have their turns between, and killed half-way it has done a part.
 *
 *   fails  PAWL_INVALID  older_than_ms is negative, states names one that is not terminal */
PAWL_API enum pawl_code pawl_gc(struct pawl *pawl, const struct pawl_gc *ask, struct pawl_gc_done *done,
                                struct pawl_error *err) PAWL_MUST_USE;

struct pawl_compacted {
    int64_t freed_bytes;
    int64_t file_bytes; /* afterwards; the file itself is cut when the log is moved into it */
};

/* Gives the room that removed rows have left in the file back to the file system, in slices of 2 MiB, each a
 * transaction of its own. Without it the room is used again by what comes.
 *
 *   fails  PAWL_UNSUPPORTED  PostgreSQL, where VACUUM does it; a file that was not made for it */
PAWL_API enum pawl_code pawl_compact(struct pawl *pawl, struct pawl_compacted *done, struct pawl_error *err)
    PAWL_MUST_USE;

/* ---- Keeping a store: backup, restore, fsck ------------------------------------------------------------ */

/* Copies a SQLite store, in use or not, as of one instant. Nobody waits for it and it waits for nobody. The copy
 * is whole, checked and on disk before it gets its name, and only its owner can read it (0600). It is a store itself.
 *
 *   done   may be NULL
 *   fails  PAWL_NOT_FOUND    there is no store
 *          PAWL_CONFLICT     there is a file `to`, and replace is not set; or its -wal lies there still
 *          PAWL_INVALID      `to` is the store itself, by another name perhaps, or one of its companions
 *          PAWL_CORRUPT      the store is damaged; nothing is left of the copy
 *          PAWL_UNSUPPORTED  PostgreSQL: use pg_dump */
struct pawl_backup {
    size_t size;
    struct pawl_str store;
    struct pawl_str to; /* a path; folders that are missing are made (0700) */
    bool replace;       /* a file that is there, and that nobody has open, is replaced */
};
#define PAWL_BACKUP_INIT PAWL_INIT_OF(struct pawl_backup)

struct pawl_backup_done {
    int64_t bytes;
};
PAWL_API enum pawl_code pawl_backup(const struct pawl_backup *ask, struct pawl_backup_done *done,
                                    struct pawl_error *err) PAWL_MUST_USE;

/* Puts a backup in the place of a store, in one move: killed at any instruction, either the old store or the new one
 * is there, whole. What was in the old one is gone. Every epoch, the position of the newest event and the next
 * row key are raised by 2^20, so that nothing handed out after the backup comes again: every lease is lost.
 *
 *   from       is only read
 *   fails      PAWL_INVALID      is_confirmed is not set; from is the store itself
 *              PAWL_NOT_FOUND    there is no file `from`
 *              PAWL_BUSY         somebody has the store open or is making it, or an execution of one of its tasks still
 *                                runs; all are told by the locks they hold
 *              PAWL_CORRUPT      the backup is damaged; the store is as it was
 *              PAWL_UNSUPPORTED  the backup is no store of ours or of a newer version; PostgreSQL: use pg_restore, then
 *                                pawl_epochs_raise_all */
struct pawl_restore {
    size_t size;
    struct pawl_str store; /* need not exist */
    struct pawl_str from;
    bool is_confirmed;     /* all that use the store have been stopped, and it may be replaced */
    const struct pawl_env *env; /* NULL = the real world */
};
#define PAWL_RESTORE_INIT PAWL_INIT_OF(struct pawl_restore)
PAWL_API enum pawl_code pawl_restore(const struct pawl_restore *ask, struct pawl_error *err) PAWL_MUST_USE;

/* The last part of a restore alone, in the store as it is, SQLite or PostgreSQL: for who has put it back by other
 * means. If it fails, repeat it. `from` is not looked at.
 *
 *   fails  PAWL_INVALID    is_confirmed is not set
 *          PAWL_NOT_FOUND  there is no store */
PAWL_API enum pawl_code pawl_epochs_raise_all(const struct pawl_restore *ask,
                                              struct pawl_error *err) PAWL_MUST_USE;

/* One thing that is not as it should be. */
struct pawl_fsck_finding {
    const char *check;       /* which promise is broken, as "task.rank"; the names never change */
    struct pawl_str task_id; /* whose; empty = no task's */
    int64_t key;             /* of the row */
    struct pawl_str text;    /* what is wrong */
    struct pawl_str advice;  /* what to do */
    bool can_repair;
    bool is_repaired;
};

/* Checks a store against all that docs/store.md says of it, in pages, so that it may be in use meanwhile; mends what
 * follows from the rest of it if asked to, in bounded steps, and writes a line of the log for each. It never guesses.
 *
 *   found  called for each finding, as it comes; borrowed for the call
 *   fails  PAWL_NOT_FOUND  there is no store; let_out is no task that was set aside so: the rest has been done
 *          PAWL_INVALID    let_out without repair
 *          PAWL_CORRUPT    it cannot even be opened */
struct pawl_fsck {
    size_t size;
    struct pawl_str store;
    bool repair;
    bool skip_file; /* SQLite: do not read the whole file for damage, which is one long read */
    void *self;
    void (*found)(void *self, const struct pawl_fsck_finding *finding); /* may be NULL */
    const struct pawl_env *env;                                    /* NULL = the real world */
    void (*log)(void *self, enum pawl_log_level level, struct pawl_str line); /* NULL = no log */
    void *log_self;
    /* with repair: the task with this id, set aside because its due work has killed its process again and again,
     * is given back to the engine; empty = none, and such tasks are only told of */
    struct pawl_str let_out;
};
#define PAWL_FSCK_INIT PAWL_INIT_OF(struct pawl_fsck)

struct pawl_fsck_done {
    int64_t rows;        /* looked at */
    int64_t found;       /* findings, mended ones included */
    int64_t repaired;
    int64_t page_ms_max; /* the longest read transaction but that of the whole file */
};
PAWL_API enum pawl_code pawl_fsck(const struct pawl_fsck *ask, struct pawl_fsck_done *done,
                                  struct pawl_error *err) PAWL_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
