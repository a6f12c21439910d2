/* The rows of a workflow as the rules see them. A workflow is a row; each step of it is a task like
 * any other, with a record beside it that says where in the workflow it stands. What may be large
 * is payload, by (workflow, kind).
 *
 * A run is what a start or a restart begins. It is named by a row key, so that a record's run says
 * which workflow it is of and which time: records of older runs are not seen any more. */
#ifndef PAWL_CORE_WORKFLOW_WORKFLOW_H
#define PAWL_CORE_WORKFLOW_WORKFLOW_H

#include "core/task/task.h"

struct pawl_definition; /* definition.h */

/* clang-format off */
/* The numbers are stored: add at the end, never renumber. */
#define PAWL_WORKFLOW_STATES(X) /* name, number, terminal */ \
    X(RUNNING, 0, false)                                     \
    X(PAUSED, 1, false)                                      \
    X(COMPLETED, 2, true)                                    \
    X(FAILED, 3, true)                                       \
    X(TIMED_OUT, 4, true)                                    \
    X(TERMINATED, 5, true)

/* What has become of a step, in Conductor's words; the state of its task follows from it (record.c). */
#define PAWL_RECORD_STATUSES(X) /* name, number, terminal, successful */ \
    X(SCHEDULED, 0, false, true)                                         \
    X(IN_PROGRESS, 1, false, true)                                       \
    X(COMPLETED, 2, true, true)                                          \
    X(COMPLETED_WITH_ERRORS, 3, true, true)                              \
    X(FAILED, 4, true, false)                                            \
    X(FAILED_WITH_TERMINAL_ERROR, 5, true, false)                        \
    X(TIMED_OUT, 6, true, false)                                         \
    X(CANCELED, 7, true, false)                                          \
    X(SKIPPED, 8, true, true)
/* clang-format on */

enum pawl_workflow_state {
#define X(name, number, terminal) PAWL_WORKFLOW_##name = (number),
    PAWL_WORKFLOW_STATES(X)
#undef X
};

enum {
    PAWL_WORKFLOW_STATE_COUNT = 0
#define X(name, number, terminal) +1
    PAWL_WORKFLOW_STATES(X)
#undef X
};

enum pawl_record_status {
#define X(name, number, terminal, successful) PAWL_RECORD_##name = (number),
    PAWL_RECORD_STATUSES(X)
#undef X
};

enum {
    PAWL_RECORD_STATUS_COUNT = 0
#define X(name, number, terminal, successful) +1
    PAWL_RECORD_STATUSES(X)
#undef X
};

/* Their names as the wire has them; false for what is none. */
const char *pawl_workflow_state_name(enum pawl_workflow_state state);
const char *pawl_record_status_name(enum pawl_record_status status);
bool pawl_workflow_state_parse(struct pawl_str name, enum pawl_workflow_state *out);
bool pawl_record_status_parse(struct pawl_str name, enum pawl_record_status *out);
bool pawl_workflow_state_is_terminal(enum pawl_workflow_state state);
bool pawl_record_status_is_terminal(enum pawl_record_status status);
/* Ended, and not as it was to end. */
bool pawl_record_status_is_bad(enum pawl_record_status status);

/* What a start does that finds its idempotency key in use. */
enum pawl_idempotency {
    PAWL_IDEMPOTENCY_NONE, /* as FAIL */
    PAWL_IDEMPOTENCY_FAIL,
    PAWL_IDEMPOTENCY_RETURN_EXISTING,
    PAWL_IDEMPOTENCY_FAIL_ON_RUNNING,
};

/* What lies beside a workflow. The numbers are stored: the payload's key is workflow key * 16 +
 * kind. */
enum pawl_workflow_payload {
    PAWL_WORKFLOW_PAYLOAD_INPUT = 0,
    PAWL_WORKFLOW_PAYLOAD_OUTPUT = 1,
    PAWL_WORKFLOW_PAYLOAD_VARIABLES = 2,
    PAWL_WORKFLOW_PAYLOAD_DOMAINS = 3, /* task to domain */
    PAWL_WORKFLOW_PAYLOAD_REASON = 4,
    PAWL_WORKFLOW_PAYLOAD_FAILED = 5, /* JSON: the names of what has failed for good, see end.c */
    PAWL_WORKFLOW_PAYLOAD_COUNT = 6
};

struct pawl_workflow_row {
    int64_t key;
    struct pawl_str id;
    struct pawl_str name; /* of its definition, and the version of it */
    int32_t definition_version;
    int64_t snapshot; /* key */
    enum pawl_workflow_state state;
    int32_t priority;
    int64_t run;           /* its present one */
    int64_t version;       /* counts committed changes */
    int64_t created_at_ms; /* of this run */
    int64_t updated_at_ms;
    int64_t finished_at_ms;
    int64_t retried_at_ms; /* the last time it was brought back: its time-out counts from there; 0 =
                              never */
    int64_t next_seq;
    int64_t open;       /* records that are not decided for good, and continuations */
    int64_t permissive; /* failures that let it go on, and fail it at its end */
    int64_t ahead;  /* records that may be there before the flow comes to them: skipped ones, and,
                       once something  was tried again that the flow had gone on from, one more for
                       good. 0: it need not look */
    int64_t last;   /* task key of the newest record; 0 = none */
    int64_t failed; /* of the one that ended it; 0 = none */
    uint32_t payloads;               /* bit 1 << kind for each that exists */
    struct pawl_str correlation_id;  /* empty = none */
    struct pawl_str idempotency_key; /* empty = none */
    int32_t depth; /* a failure workflow's: how many failed, one for the other, before it */
};

/* What only a workflow's task has. The key is the task's. */
struct pawl_record_row {
    int64_t task;
    int64_t workflow;
    int64_t run;
    int64_t
        seq; /* its place among the records of the run, from 1; below 0 while it waits for one */
    int32_t node; /* in the snapshot */
    struct pawl_str reference;
    enum pawl_record_status status;
    int32_t attempt;               /* from 0 */
    int64_t predecessor;           /* task key of the attempt before; 0 = none */
    bool is_superseded;            /* a newer one of its reference is there */
    bool is_decided;               /* ended, and what follows from it has been done */
    int64_t first_scheduled_at_ms; /* of the first attempt */
    int64_t scheduled_at_ms;
    int64_t start_delay_s;    /* of the definition, or of the retry */
    int64_t callback_after_s; /* as its worker said last */
    struct pawl_str worker;   /* who spoke of it last; empty = nobody */
    struct pawl_str domain;   /* empty = none */

    /* a JOIN's counters; 0 elsewhere */
    int32_t join_pending;   /* what it joins and is not over */
    int32_t join_branches;  /* whose flow has not reached it */
    int32_t join_failed;    /* of what is over: ended badly */
    int32_t join_cancelled; /* of these: CANCELED */
    int32_t join_optional;  /* ended COMPLETED_WITH_ERRORS */
};

/* A definition as workflows began with it. Immutable; the definition is parsed from the text. */
struct pawl_snapshot_row {
    int64_t key;
    struct pawl_str hash; /* 32 hexadecimal digits */
    struct pawl_str text;
    const struct pawl_definition *definition; /* NULL: it cannot be read */
};

/* What must be true of any stored row; NULL or what is wrong. */
const char *pawl_workflow_row_fault(const struct pawl_workflow_row *workflow);
const char *pawl_record_row_fault(const struct pawl_record_row *record);

#endif
