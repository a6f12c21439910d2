/* A command: a request to change something, as the step runs it. Callers fill one, checked (core/check.h),
 * and wait for its answer; all it points to stays borrowed until then. */
#ifndef PAWL_CORE_COMMAND_H
#define PAWL_CORE_COMMAND_H

#include "base/arena.h"
#include "core/task/event.h"
#include "core/task/update.h"
#include "core/workflow/registered.h"
#include "core/workflow/ask.h"

enum pawl_command_kind {
    PAWL_COMMAND_CREATE = 1,
    PAWL_COMMAND_QUEUE,
    PAWL_COMMAND_START,
    PAWL_COMMAND_CLAIM, /* runs in the second half of a step */
    PAWL_COMMAND_RENEW,
    PAWL_COMMAND_STOPPED, /* the work under a lost fence has ended */
    PAWL_COMMAND_PROGRESS,
    PAWL_COMMAND_CHECKPOINT,
    PAWL_COMMAND_LOG,
    PAWL_COMMAND_COMPLETE,
    PAWL_COMMAND_FAIL,
    PAWL_COMMAND_RELEASE,
    PAWL_COMMAND_UPDATE, /* any of the last three, a renewal or a cancel, as Conductor's clients say it */
    PAWL_COMMAND_PAUSE,
    PAWL_COMMAND_RESUME,
    PAWL_COMMAND_CANCEL,
    PAWL_COMMAND_RESOLVE,
    PAWL_COMMAND_REDRIVE,
    PAWL_COMMAND_QUEUE_SET,
    PAWL_COMMAND_CONSUMER_OPEN,
    PAWL_COMMAND_ACKNOWLEDGE,
    PAWL_COMMAND_ACKNOWLEDGE_THROUGH,
    PAWL_COMMAND_RETAIN, /* the engine's too */
    PAWL_COMMAND_COMPACT,
    PAWL_COMMAND_DEFINE,   /* definitions are registered: all of them, or none */
    PAWL_COMMAND_UNDEFINE, /* one is removed */
    PAWL_COMMAND_IMPORT, /* one piece of a transaction of any size, see engine/import.h */
    PAWL_COMMAND_WORKFLOW_START,
    PAWL_COMMAND_WORKFLOW_OPERATE,
    /* of the engine itself */
    PAWL_COMMAND_DUE,      /* number = task key */
    PAWL_COMMAND_CONTINUE, /* number = continuation key */
    PAWL_COMMAND_RECOVER,  /* number = task key: what a look for its proof has found */
};

/* A create's member after its check: what had to be computed once. */
struct pawl_member {
    const struct pawl_task_new *ask;
    struct pawl_str title;          /* as it will be shown */
    struct pawl_str correlation_id; /* the call's, the metadata's or the handle's; empty = made from the id */
    int64_t body_digest;
    const int32_t *member_of;       /* for each dependency: index in the batch, or -1 */
};

/* ---- A task of another store, decoded ---- */

struct pawl_import_event { /* of its history; oldest first */
    enum pawl_event_type type;
    int64_t sequence;
    int64_t at_ms;
    enum pawl_task_state state;
    int64_t epoch;
    double progress;
    int32_t retries;
    int64_t next_retry_at_ms;
    int64_t duration_ms;
    struct pawl_str note; /* the whole detail */
};

struct pawl_import_checkpoint { /* oldest first */
    int32_t step;
    int64_t at_ms;
    struct pawl_str state;
};

struct pawl_import_task {
    struct pawl_str id;
    enum pawl_task_state state; /* as it was there; RUNNING is handed back */
    bool is_remote;             /* what became of a RUNNING one is not known */
    struct pawl_str title;      /* as it will be shown */
    struct pawl_str goal;
    struct pawl_str metadata;
    struct pawl_str correlation_id;
    struct pawl_str result;
    struct pawl_str error;
    struct pawl_str owner;      /* who held it, or held it last */
    struct pawl_str note;       /* for the event of the import: where it comes from */
    int32_t priority;
    int32_t retries;
    int32_t max_retries;
    double progress;
    int64_t version;
    int64_t epoch;
    int64_t created_at_ms;      /* 0 = the time of import */
    int64_t updated_at_ms;      /* likewise */
    int64_t run_at_ms;          /* a deferral, in calendar time; 0 = none */
    const struct pawl_str *depends_on;
    size_t depends_on_count;
    const struct pawl_import_checkpoint *checkpoints;
    size_t checkpoint_count;
    const struct pawl_import_event *events;
    size_t event_count;
    int64_t sequence;           /* the highest there */
    bool is_taken;              /* answer: the store has a task with this id */
};

struct pawl_worker_about { /* who claims, for display */
    struct pawl_str host;
    struct pawl_str boot;
    int64_t pid;
    struct pawl_str place; /* of a supervised claim */
};

/* A slice of retention: which finished tasks are to go, and where in their order it begins. */
struct pawl_retain {
    int64_t older_than_ms;  /* since they have ended */
    int64_t events_keep_ms; /* while there is no consumer, not before so long either */
    uint32_t states;        /* bit 1 << state */
    bool is_dry;            /* only count */
    int64_t max;            /* at most so many tasks */
    struct pawl_finished after;
};

struct pawl_retained {
    int64_t removed;
    int64_t waiting; /* passed over, since others wait for them */
    bool has_passed_over; /* those, or what cannot be read, lie before `after` */
    int64_t ended;   /* tombstones */
    struct pawl_finished after; /* where the next slice begins */
    bool goes_on;
    int64_t next_at_ms; /* when the first one beyond is old enough; 0 = not known */
    char held_by[PAWL_QUEUE_NAME_BYTES_MAX + 1]; /* a consumer that has not passed the next one; empty = none */
};

/* A claim of Conductor's wire: its lease is what the definition of the task says, and a grace, since those clients
 * renew late. */
struct pawl_poll {
    struct pawl_str after; /* a task: its queue is meant, once it has ended, whatever the claim names; empty = none */
    int64_t grace_ms;
};

struct pawl_pages; /* set.h */

struct pawl_command {
    enum pawl_command_kind kind;
    struct pawl_str task_id; /* empty where it names none */
    int64_t number;          /* of the engine's own commands */

    /* struct pawl_change, flat */
    bool has_fence;
    struct pawl_fence fence;
    int64_t expected_version;
    struct pawl_str actor;
    struct pawl_str reason;
    bool takes_ended; /* LOG: a line comes late to a task that has ended; it is kept all the same */
    bool is_forced; /* RESOLVE: whether or not its work is seen to go on; the caller's thread looks */

    union {
        struct {
            const struct pawl_member *members;
            size_t count;
        } create;
        struct {
            const struct pawl_claim *ask; /* CLAIM and START */
            struct pawl_worker_about about;
            const struct pawl_poll *poll; /* NULL: one of ours */
        } claim;
        struct {
            const struct pawl_fence *fences;
            size_t count;
            int64_t lease_ms;
            bool only_looks; /* tells what a renewal would tell, and renews nothing */
        } renew;
        double percent;
        struct {
            int32_t step;
            struct pawl_str state;
        } checkpoint;
        struct pawl_str line;
        struct pawl_str result;
        struct pawl_failure failure;
        int64_t delay_ms; /* RELEASE */
        const struct pawl_update *update;
        bool is_forced;   /* CANCEL */
        struct pawl_resume resume;
        struct {
            enum pawl_task_state outcome;
            struct pawl_str text;
            int64_t seen_epoch; /* of the lost lease whose work was not seen to go on; 0 = nobody has looked */
        } resolve;
        struct {
            int64_t epoch;
            enum pawl_finding finding;
            struct pawl_str note; /* ALIVE, UNKNOWN */
        } recover;
        const struct pawl_redrive *redrive;
        struct {
            const struct pawl_import_row *file; /* of the first piece; NULL after it */
            struct pawl_import_task *tasks;
            size_t count;
        } import;
        const struct pawl_queue_set *queue_set;
        struct {
            struct pawl_str consumer;
            struct pawl_str event_id; /* ACKNOWLEDGE */
            int64_t position;         /* ACKNOWLEDGE: what the id names, filled in by the engine */
            int64_t at_ms;            /* and the instant in it */
        } acknowledge;
        struct pawl_retain retain;
        struct {
            const struct pawl_definition_new *items; /* of one version twice, the later one stays */
            size_t count;
            enum pawl_definition_must must;
        } define;
        struct pawl_definition_new undefine; /* without body */
        const struct pawl_workflow_start *start;
        const struct pawl_workflow_operate *operate;
    } ask;

    struct pawl_arena *keep; /* the caller's; answers are copied there at the command's own turn */
    union {
        struct pawl_added *added;      /* CREATE, one a member */
        struct pawl_grant *grant;      /* START */
        char *checkpoint_id;           /* CHECKPOINT, written by the engine; may be NULL */
        struct pawl_claimed *claimed;  /* CLAIM */
        struct pawl_renewal *renewals; /* RENEW, one a fence */
        struct pawl_updated *updated;  /* UPDATE */
        int64_t *count;                /* REDRIVE */
        bool *is_first;                /* ACKNOWLEDGE */
        struct pawl_retained *retained; /* RETAIN */
        struct pawl_pages *pages;        /* COMPACT */
        struct pawl_workflow_started *started;
        struct pawl_workflow_operated *operated;
    } out;

    enum pawl_code code; /* the answer */
    struct pawl_error err;
    int64_t made;         /* CHECKPOINT: its key */
    int64_t late_ms;      /* DUE: how long its instant had passed; -1 = it had not, after all */
    int64_t taken;        /* CLAIM: tasks it has taken off its queues; not those it had before */
    int64_t opens_at_ms;  /* CLAIM that found nothing: when the window of a limit moves on; 0 = it waits for none */
    bool continuing;      /* answered before all that it caused was through */
    bool is_anothers;     /* CONTINUE: it was caused elsewhere, and somebody there may wait for its count */
    bool goes_on;         /* CONTINUE: its row has more to do */
    int64_t done;         /* CONTINUE: what a redrive has resumed so far */
};

#endif
