/* What may be done from which state, by whom, and what comes of it: the contract's table 3.3 as
 * data. The rules are tried on it with rows put down by hand (states_test.c here), the library
 * through its calls (states_test.c of tests/engine). */
#ifndef PAWL_TESTS_CORE_CELLS_H
#define PAWL_TESTS_CORE_CELLS_H

#include "core/task/event.h"

enum caller {
    OPERATOR,       /* no fence */
    HOLDER,         /* the owner and epoch of the row, in whatever state it is */
    EARLIER_HOLDER, /* the epoch before */
    STRANGER,       /* the row's epoch, but another worker */
};

struct cell {
    enum pawl_code code;
    int to; /* state afterwards, or SAME */
    enum pawl_event_type told;
    bool is_written; /* the version grows */
    bool is_new_epoch;
};

enum { SAME = -1, COLUMNS = 9 };

/* clang-format off */
#define TO(state, event)       {PAWL_OK, PAWL_TASK_##state, PAWL_EVENT_##event, true, false}
#define TO_EPOCH(state, event) {PAWL_OK, PAWL_TASK_##state, PAWL_EVENT_##event, true, true}
#define ASK                    {PAWL_OK, SAME, PAWL_EVENT_CONTROL_REQUESTED, true, false}
#define NOTE(event)            {PAWL_OK, SAME, PAWL_EVENT_##event, true, false}
#define NOP                    {PAWL_OK, SAME, PAWL_EVENT_NONE, false, false}
#define NO(code)               {PAWL_##code, SAME, PAWL_EVENT_NONE, false, false}
#define LOST                   NO(LEASE_LOST)
#define ALL_LOST               {LOST, LOST, LOST, LOST, LOST, LOST, LOST, LOST, LOST}
#define HELD(cell)             {LOST, LOST, cell, LOST, LOST, LOST, LOST, LOST, LOST}
/* clang-format on */

static const enum pawl_task_state columns[COLUMNS] = {
    PAWL_TASK_PENDING,   PAWL_TASK_QUEUED,           PAWL_TASK_RUNNING,
    PAWL_TASK_PAUSED,    PAWL_TASK_COMPLETED,        PAWL_TASK_FAILED,
    PAWL_TASK_CANCELLED, PAWL_TASK_RECOVERY_PENDING, PAWL_TASK_DEAD_LETTER,
};

enum operation {
    QUEUE,
    START,
    PROGRESS,
    CHECKPOINT,
    RENEW,
    RELEASE,
    YIELD,
    PAUSE,
    RESUME,
    CANCEL,
    CANCEL_BY_FORCE,
    COMPLETE,
    FAIL,
    RESOLVE_COMPLETED,
    RESOLVE_FAILED,
    RESOLVE_QUEUED,
    RESOLVE_CANCELLED,
    OPERATION_COUNT
};

static const char *const operation_names[OPERATION_COUNT] = {
    "queue",
    "start",
    "progress",
    "checkpoint",
    "renew",
    "release",
    "yield",
    "pause",
    "resume",
    "cancel",
    "cancel by force",
    "complete",
    "fail",
    "resolve as COMPLETED",
    "resolve as FAILED",
    "resolve as QUEUED",
    "resolve as CANCELLED",
};

/* clang-format off */
static const struct row {
    enum operation operation;
    enum caller caller;
    struct cell cells[COLUMNS];
} table[] = {
    /* PENDING, QUEUED, RUNNING,
       PAUSED, COMPLETED, FAILED,
       CANCELLED, RECOVERY_PENDING, DEAD_LETTER */
    {QUEUE, OPERATOR, {
        TO(QUEUED, QUEUED), NOP, NOP,
        NO(STATE), NOP, NO(STATE),
        NO(STATE), NO(STATE), NO(STATE)}},
    {START, OPERATOR, {
        TO_EPOCH(RUNNING, STARTED), TO_EPOCH(RUNNING, STARTED), NO(LEASE_ACTIVE),
        NO(STATE), NO(STATE), NO(STATE),
        NO(STATE), NO(STATE), NO(STATE)}},
    {PROGRESS, OPERATOR, {
        NOTE(PROGRESS), NOTE(PROGRESS), NO(LEASE_LOST),
        NOTE(PROGRESS), NO(STATE), NO(STATE),
        NO(STATE), NO(STATE), NO(STATE)}},
    {CHECKPOINT, OPERATOR, {
        NOTE(NONE), NOTE(NONE), NO(LEASE_LOST),
        NOTE(NONE), NO(STATE), NO(STATE),
        NO(STATE), NO(STATE), NO(STATE)}},
    {PAUSE, OPERATOR, {
        TO(PAUSED, PAUSED), TO(PAUSED, PAUSED), ASK,
        NOP, NO(STATE), NO(STATE),
        NO(STATE), NO(STATE), NO(STATE)}},
    {RESUME, OPERATOR, {
        NO(STATE), NO(STATE), NO(STATE),
        TO(QUEUED, RESUMED), NO(STATE), TO_EPOCH(QUEUED, RESUMED),
        NO(STATE), NO(STATE), TO_EPOCH(QUEUED, RESUMED)}},
    {CANCEL, OPERATOR, {
        TO(CANCELLED, CANCELLED), TO(CANCELLED, CANCELLED), ASK,
        TO(CANCELLED, CANCELLED), NO(STATE), TO_EPOCH(CANCELLED, CANCELLED),
        NOP, NO(STATE), TO_EPOCH(CANCELLED, CANCELLED)}},
    {CANCEL_BY_FORCE, OPERATOR, {
        TO(CANCELLED, CANCELLED), TO(CANCELLED, CANCELLED), TO_EPOCH(CANCELLED, CANCELLED),
        TO(CANCELLED, CANCELLED), NO(STATE), TO_EPOCH(CANCELLED, CANCELLED),
        NOP, TO_EPOCH(CANCELLED, CANCELLED), TO_EPOCH(CANCELLED, CANCELLED)}},
    {COMPLETE, OPERATOR, {
        TO(COMPLETED, COMPLETED), TO(COMPLETED, COMPLETED), NO(LEASE_LOST),
        TO(COMPLETED, COMPLETED), NO(STATE), NO(STATE),
        NO(STATE), NO(STATE), NO(STATE)}},
    {FAIL, OPERATOR, {
        NO(STATE), NO(STATE), NO(LEASE_LOST),
        NO(STATE), NO(STATE), NO(STATE),
        NO(STATE), NO(STATE), NO(STATE)}},
    {RESOLVE_COMPLETED, OPERATOR, {
        NO(STATE), NO(STATE), NO(STATE),
        NO(STATE), NO(STATE), TO_EPOCH(COMPLETED, RESOLVED_COMPLETED),
        NO(STATE), TO_EPOCH(COMPLETED, RESOLVED_COMPLETED), TO_EPOCH(COMPLETED, RESOLVED_COMPLETED)}},
    {RESOLVE_FAILED, OPERATOR, {
        NO(STATE), NO(STATE), NO(STATE),
        NO(STATE), NO(STATE), NO(STATE),
        NO(STATE), TO_EPOCH(FAILED, FAILED), NO(STATE)}},
    {RESOLVE_QUEUED, OPERATOR, {
        NO(STATE), NO(STATE), NO(STATE),
        NO(STATE), NO(STATE), TO_EPOCH(QUEUED, RESOLVED_QUEUED),
        NO(STATE), TO_EPOCH(QUEUED, RESOLVED_QUEUED), TO_EPOCH(QUEUED, RESOLVED_QUEUED)}},
    {RESOLVE_CANCELLED, OPERATOR, {
        NO(STATE), NO(STATE), NO(STATE),
        NO(STATE), NO(STATE), TO_EPOCH(CANCELLED, RESOLVED_CANCELLED),
        NO(STATE), TO_EPOCH(CANCELLED, RESOLVED_CANCELLED), TO_EPOCH(CANCELLED, RESOLVED_CANCELLED)}},

    {QUEUE,             HOLDER, HELD(NOP)},
    {PROGRESS,          HOLDER, HELD(NOTE(PROGRESS))},
    {CHECKPOINT,        HOLDER, HELD(NOTE(NONE))},
    {RENEW,             HOLDER, HELD(NOP)},
    {RELEASE,           HOLDER, HELD(TO(QUEUED, RELEASED))},
    {YIELD,             HOLDER, HELD(TO(QUEUED, YIELDED))},
    {PAUSE,             HOLDER, HELD(TO(PAUSED, PAUSED))},
    {RESUME,            HOLDER, HELD(NO(STATE))},
    {CANCEL,            HOLDER, HELD(TO(CANCELLED, CANCELLED))},
    {CANCEL_BY_FORCE,   HOLDER, HELD(TO(CANCELLED, CANCELLED))},
    {COMPLETE,          HOLDER, HELD(TO(COMPLETED, COMPLETED))},
    {FAIL,              HOLDER, HELD(TO(QUEUED, RETRY_SCHEDULED))},
    {RESOLVE_COMPLETED, HOLDER, HELD(NO(STATE))},
    {RESOLVE_FAILED,    HOLDER, HELD(NO(STATE))},
    {RESOLVE_QUEUED,    HOLDER, HELD(NO(STATE))},
    {RESOLVE_CANCELLED, HOLDER, HELD(NO(STATE))},
};
/* clang-format on */

#endif
