/* The rows of a task as the rules see them. A row is small and fixed; what may be large lies beside it as
 * payload, by (task, kind). Text is borrowed from the step's arena or from the caller, who waits. */
#ifndef PAWL_CORE_TASK_TASK_H
#define PAWL_CORE_TASK_TASK_H

#include "core/task/state.h"

/* What lies beside the row. The numbers are stored: the payload's key is task key * 16 + kind. */
enum pawl_payload_kind {
    PAWL_PAYLOAD_INPUT = 0,
    PAWL_PAYLOAD_RESULT = 1,
    PAWL_PAYLOAD_GOAL = 2,
    PAWL_PAYLOAD_METADATA = 3,
    PAWL_PAYLOAD_ERROR = 4,
    PAWL_PAYLOAD_CONTROL_REASON = 5,
    PAWL_PAYLOAD_RECOVERY_NOTE = 6,
    PAWL_PAYLOAD_KIND_COUNT = 7,
    PAWL_PAYLOAD_KINDS_MAX = 16
};

#define PAWL_RANK_NONE INT64_C(-1)

/* How a lease is held. Stored; 0 in every state but RUNNING and RECOVERY_PENDING. */
enum pawl_lease_kind {
    PAWL_LEASE_NONE = 0,
    PAWL_LEASE_CLIENT = 1,    /* its end is all that can be known */
    PAWL_LEASE_SUPERVISED = 2 /* its end has to be followed by the proof that the work has stopped */
};

/* The outcomes whose repeat is safe. Stored. */
enum pawl_outcome_kind {
    PAWL_OUTCOME_NONE = 0,
    PAWL_OUTCOME_COMPLETE = 1,
    PAWL_OUTCOME_FAIL = 2,
    PAWL_OUTCOME_RELEASE = 3,
    PAWL_OUTCOME_PAUSE = 4,
    PAWL_OUTCOME_CANCEL = 5
};

struct pawl_retry_policy { /* as settled at creation: no defaults left */
    int32_t max_retries;
    enum pawl_backoff backoff;
    int64_t delay_ms;
    int64_t delay_ms_max;
    int64_t jitter_ms;
};

struct pawl_task_row {
    int64_t key;        /* never reused */
    struct pawl_str id; /* public */
    int64_t queue;      /* key of its queue */
    enum pawl_task_state state;
    int32_t priority;
    int64_t rank;       /* PAWL_RANK_NONE unless it may be claimed now */
    int64_t due_at_ms;  /* when the engine has to look at it; may be early, never late; 0 = never */
    int64_t version;
    int64_t epoch;
    enum pawl_lease_kind lease_kind;
    struct pawl_str lease_place; /* supervised: where the lock of its execution is (engine/place.h) */
    int64_t owner;      /* key of a worker; 0 = none */
    int64_t lease_ms;   /* length it was granted with */
    int64_t lease_end_at_ms;
    int64_t attempt_end_at_ms; /* 0 = no time-out */
    int64_t timeout_ms;
    struct pawl_retry_policy retry;
    int32_t retries;
    int32_t recoveries;      /* how many of retries were crashes */
    int32_t crashes_in_row;  /* consecutive ones, for their back-off */
    bool wants_proof;        /* not stored: this step has found it due for a look */
    int64_t ready_at_ms;     /* deferral: not given out before; 0 = none */
    int64_t run_at_ms;       /* the calendar time that ready_at_ms stands for, while it is waited for; 0 = none */
    int64_t created_at_ms;
    int64_t updated_at_ms;
    int64_t started_at_ms;
    int64_t finished_at_ms;
    double progress;
    int64_t progress_epoch;
    int64_t progress_event_at_ms; /* of the last progress event */
    enum pawl_control control;
    int64_t control_deadline_at_ms;
    int64_t sequence;        /* of its last event */
    int64_t outcome_epoch;   /* the last accepted outcome */
    enum pawl_outcome_kind outcome_kind;
    int64_t outcome_digest;
    enum pawl_dependency_policy dependency_policy;
    int32_t open_dependencies;
    int64_t blocked_by;      /* key of a task; 0 = none */
    bool has_dependents;     /* someone depends on it, or did */
    bool has_new_dependents; /* not stored: somebody has come in this very step */
    uint32_t payloads;       /* bit 1 << kind for each that exists */
    int32_t checkpoint_count;
    int64_t log_bytes;
    int64_t payload_bytes;    /* of input, goal and metadata: what a claim has to load */
    int64_t checkpoint_bytes; /* and of the latest checkpoint */
    struct pawl_str title;
    struct pawl_str correlation_id;  /* empty = the id's hex digits */
    struct pawl_str idempotency_key; /* empty = none */
    int64_t body_digest;             /* of what was created, to tell a repeat */
    int64_t workflow;    /* key of the workflow that it is a step of; 0 = none. It has a record then */
    int32_t claims;      /* a workflow's: how often it was claimed */
    int64_t response_ms; /* a workflow's: how long its worker may be silent; 0 = for ever */
    int64_t gate;        /* key of the gate that counts it while it is in progress; 0 = none */
};

struct pawl_queue_row {
    int64_t key;
    struct pawl_str name;
    bool is_paused;
    int64_t lease_ms; /* 0 = the handle's */
    struct pawl_retry retry; /* zero fields = built-in */
};

struct pawl_worker_row {
    int64_t key;
    struct pawl_str id;
    struct pawl_str host;
    struct pawl_str boot;
    int64_t pid; /* for display only */
    int64_t started_at_ms;
    int64_t seen_at_ms; /* of its last claim that found something, or renewal; now and then */
    struct pawl_str request_id; /* of its newest claim */
    struct pawl_str granted;    /* that claim's grants: array of struct pawl_granted as bytes */
    struct pawl_str other_host; /* of the process that claimed under this id before this one; empty = none */
    struct pawl_str other_boot;
    int64_t other_pid;
    int64_t shared_at_ms;       /* when one of the two was last seen to come back; 0 = never: a worker was restarted */
};

/* One grant of a worker's newest claim, as kept for its repeat. */
struct pawl_granted {
    int64_t task_key;
    int64_t epoch;
};

struct pawl_dependency_row {
    int64_t task;     /* who waits */
    int64_t on;       /* for whom; 0 = a task that does not exist yet, see on_id */
    int32_t number;   /* order in which they were named, from 0 */
    struct pawl_str on_id; /* only while on is 0 */
    bool is_open;
};

struct pawl_consumer_row {
    int64_t key;
    struct pawl_str name;
    int64_t cursor; /* position read and done with */
    int64_t seen_at_ms;
};

/* Work left over from a decision that was too large for one step: a row that is due now, committed with
 * the part that is done. */
enum pawl_continuation_kind {
    PAWL_CONTINUE_DEPENDENTS = 1, /* tell the dependents of task what became of it */
    PAWL_CONTINUE_REDRIVE = 2,
    PAWL_CONTINUE_PRUNE = 3,      /* delete old events of task */
    PAWL_CONTINUE_AWAITED = 4,    /* join more of those that waited for task's id, in args, to it */
    PAWL_CONTINUE_REMAINS = 5,    /* delete more events and log lines of a removed task */
    PAWL_CONTINUE_CALENDAR = 6,   /* arm calendar times anew */
    /* task is the workflow's key */
    PAWL_CONTINUE_DECISION = 7,   /* what is left of a decision of the run cursor, in args; the workflow counts it as open */
    PAWL_CONTINUE_CANCEL = 8,     /* cancel what is open of a workflow that has ended */
    PAWL_CONTINUE_FAILURE = 9,    /* start the failure workflow of one that has ended */
    PAWL_CONTINUE_UNDECIDED = 10, /* decide more of what has ended while it was paused */
    PAWL_CONTINUE_CALLBACKS = 11, /* offer more of what waits for a callback */
    PAWL_CONTINUE_RUN_REMOVE = 12, /* remove more records of the run cursor */
    PAWL_CONTINUE_LAST = PAWL_CONTINUE_RUN_REMOVE
};

/* A redrive that came to its end in another process than the one that waits for its count: not due any more. */
#define PAWL_CONTINUATION_ENDED INT64_C(-1)
/* The rows that it is about are damaged: not due until fsck has mended them. */
#define PAWL_CONTINUATION_PUT_OFF INT64_C(-2)

struct pawl_continuation_row {
    int64_t key;
    enum pawl_continuation_kind kind;
    int64_t task;   /* key, or 0 */
    int64_t cursor; /* last row key done; ended: when */
    int64_t left;   /* redrive: how many it may still take; PAWL_CONTINUATION_ENDED, _PUT_OFF */
    int64_t done;   /* redrive: how many it took */
    struct pawl_str args; /* redrive: its filter as JSON */
};

struct pawl_checkpoint_row {
    int64_t key;
    int64_t task;
    int32_t step;
    int64_t epoch;
    int64_t at_ms;
    struct pawl_str state;
};

struct pawl_log_row {
    int64_t key;
    int64_t task;
    int64_t epoch;
    int64_t at_ms;
    struct pawl_str text;
};

struct pawl_late_row {
    int64_t key;
    int64_t task;
    int64_t epoch;
    int64_t at_ms;
    struct pawl_str owner;
    enum pawl_outcome_kind kind;
    int64_t digest;
    struct pawl_str body;
    bool is_holders; /* the owner had been given the task under this epoch; else he is a stranger */
};

/* Those that end, as a set of bits. */
enum {
    PAWL_TASK_STATES_TERMINAL = 1 << PAWL_TASK_COMPLETED | 1 << PAWL_TASK_FAILED |
                                1 << PAWL_TASK_CANCELLED | 1 << PAWL_TASK_DEAD_LETTER
};

/* What stays of a task that retention has removed, so that its id and its idempotency key stay in use and who
 * depends on it learns how it ended. */
struct pawl_tombstone_row {
    int64_t key; /* the task's */
    struct pawl_str id;
    enum pawl_task_state state;
    int64_t finished_at_ms;
    int64_t removed_at_ms;
    struct pawl_str idempotency_key; /* empty = none */
    int64_t body_digest;
};

struct pawl_finished { /* a finished task's place in the order in which they ended */
    int64_t at_ms;
    int64_t key;
};

/* The marker of a file whose tasks have been brought in: it is not done twice. */
struct pawl_import_row {
    struct pawl_str digest; /* of its bytes */
    struct pawl_str name;
    int64_t at_ms;
    int64_t task_count;
};

/* The rank of a task that became ready then: priority first, higher first, then ready time. */
int64_t pawl_rank_make(int32_t priority, int64_t ready_at_ms);
/* The ready time in a rank. */
int64_t pawl_rank_ready_at_ms(int64_t rank);

/* The only place where a state changes; asserts that the table lists the move. */
void pawl_task_move(struct pawl_task_row *task, enum pawl_task_state to, enum pawl_mover by);

/* One more, as far as is counted. */
int32_t pawl_count_next(int32_t count);

/* What must be true of any stored row; the same as an assertion before a write and as a check after a read.
 * Returns NULL or what is wrong. */
const char *pawl_task_row_fault(const struct pawl_task_row *task);

#endif
