/* The event row: one for each transition, written in the same transaction. History, outbox, live listeners
 * and audit are views of it, rendered when read. */
#ifndef PAWL_CORE_TASK_EVENT_H
#define PAWL_CORE_TASK_EVENT_H

#include "core/task/task.h"

/* The numbers are stored. type = name in the outbox and for listeners; action = name in the task's history,
 * empty where the contract's history has none; success as the history shows it. */
#define PAWL_EVENT_TYPES(X)                                                        \
    /* name              no  type                      action                success */ \
    X(CREATED,            1, "task_created",           "",                   true)  \
    X(QUEUED,             2, "task_queued",            "",                   true)  \
    X(STARTED,            3, "task_started",           "",                   true)  \
    X(PROGRESS,           4, "task_progress",          "",                   true)  \
    X(PAUSED,             5, "task_paused",            "paused",             true)  \
    X(RESUMED,            6, "task_queued",            "resumed",            true)  \
    X(COMPLETED,          7, "task_completed",         "completed",          true)  \
    X(FAILED,             8, "task_failed",            "recovery_resolved",  false) \
    X(CANCELLED,          9, "task_cancelled",         "cancelled",          true)  \
    X(RETRY_SCHEDULED,   10, "task_retry_scheduled",   "retry_scheduled",    false) \
    X(DEAD_LETTERED,     11, "task_dead_lettered",     "dead_lettered",      false) \
    X(FENCED,            12, "task_recovery_pending",  "recovery_fenced",    true)  \
    X(RECOVERED,         13, "task_queued",            "recovery_requeued",  true)  \
    X(YIELDED,           14, "task_queued",            "lease_yielded",      true)  \
    X(RELEASED,          15, "task_queued",            "lease_released",     true)  \
    X(CONTROL_REQUESTED, 16, "task_control_requested", "control_requested",  true)  \
    X(BLOCKED,           17, "task_blocked",           "dependency_failed",  false) \
    X(RESOLVED_QUEUED,   18, "task_queued",            "recovery_resolved",  true)  \
    X(RESOLVED_COMPLETED,19, "task_completed",         "recovery_resolved",  true)  \
    X(RESOLVED_CANCELLED,20, "task_cancelled",         "recovery_resolved",  true)  \
    X(RECOVERY_NOTED,    21, "task_updated",           "recovery_pending",   false) \
    X(IMPORTED,          22, "task_created",           "imported",           true)  \
    X(ATTEMPT_FAILED,    23, "task_failed",            "failed",             false)  \
    X(UNANSWERED,        24, "task_control_unanswered", "control_unanswered", false) \
    X(RESOLVED_PAUSED,   25, "task_paused",            "recovery_resolved",  true)

enum pawl_event_type {
    PAWL_EVENT_NONE = 0,
#define X(name, number, type, action, success) PAWL_EVENT_##name = number,
    PAWL_EVENT_TYPES(X)
#undef X
};

/* Why, where the type alone does not tell. Stored. */
#define PAWL_EVENT_CAUSES(X)      \
    X(NONE,            0, "")     \
    X(QUEUED,          1, "queued")   \
    X(RESUMED,         2, "resumed")  \
    X(RECOVERED,       3, "recovered") \
    X(YIELDED,         4, "yielded")  \
    X(RELEASED,        5, "released") \
    X(RESOLVED,        6, "resolved") \
    X(TIMED_OUT,       7, "timed_out") \
    X(LEASE_ENDED,     8, "lease_ended") \
    X(FORCED,          9, "forced")   \
    X(DEPENDENCY,     10, "dependency") \
    X(REDRIVEN,       11, "redriven") \
    X(CONTROL,        12, "control")  \
    X(PAUSE,          13, "pause")    \
    X(CANCEL,         14, "cancel")   \
    X(IMPORTED,       15, "imported")  \
    X(WORKFLOW,       16, "workflow")

enum pawl_event_cause {
#define X(name, number, text) PAWL_CAUSE_##name = number,
    PAWL_EVENT_CAUSES(X)
#undef X
};

/* They count from 0 without a gap. */
enum {
    PAWL_CAUSE_COUNT = 0
#define X(name, number, text) +1
        PAWL_EVENT_CAUSES(X)
#undef X
};

struct pawl_event_row {
    int64_t position; /* given at save: positions are the order of commits */
    int64_t task;     /* key */
    int64_t sequence;
    enum pawl_event_type type;
    int64_t at_ms;
    enum pawl_task_state state;
    int64_t epoch;
    int64_t version;
    double progress;
    int32_t retries;
    int64_t next_retry_at_ms;
    int64_t duration_ms;
    enum pawl_event_cause cause;
    struct pawl_str actor;
    struct pawl_str note; /* reason, error excerpt, or what the detail needs; empty = none */
};

/* Static texts of the tables; empty for a number that is none. */
struct pawl_str pawl_event_type_text(enum pawl_event_type type);
struct pawl_str pawl_event_action_text(enum pawl_event_type type);
bool pawl_event_is_success(enum pawl_event_type type);
bool pawl_event_type_is(int64_t number);
struct pawl_str pawl_event_cause_text(enum pawl_event_cause cause);

#endif
