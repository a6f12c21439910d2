/* Every bound of the engine, with its reason. Bounds that a caller may meet are in pawl.h. */
#ifndef PAWL_CORE_LIMITS_H
#define PAWL_CORE_LIMITS_H

#include "base/instant.h"
#include "pawl.h"

#include <assert.h>

enum {
    /* Payloads that one step may load and write: a batch of creates beside a claim of large inputs. What
     * would go beyond is TOO_LARGE for the command that asked, or waits for the next step. */
    PAWL_STEP_ARENA_BYTES_MAX = 160 * 1024 * 1024,

    /* What the run of one template may take: a payload in and out, and the values it looks at (expression.h). */
    PAWL_STEP_SCRATCH_BYTES_MAX = 64 * 1024 * 1024,

    /* Commands of one step. A longer step would make its first caller wait for its last one; the gain of a
     * larger group is gone long before (bench/README.md). */
    PAWL_STEP_COMMANDS_MAX = 1000,
    PAWL_STEP_COMMAND_BYTES_MAX = 32 * 1024 * 1024,

    /* Due rows take at most half a step. */
    PAWL_STEP_DUE_MAX = PAWL_STEP_COMMANDS_MAX / 2,

    /* Rounds of loading before a command goes alone into the next step. */
    PAWL_STEP_ROUNDS_MAX = 8,

    /* Queues whose keys a handle remembers, so that a claim on PostgreSQL reads the ready index as the step begins.
     * More of them in turn cost a round trip a claim, as if none was known. */
    PAWL_ENGINE_QUEUES_KNOWN = 16,

    /* Rows of one slice of a continuation: one decision stays far below 1 000 rows and 16 MiB. */
    PAWL_SLICE_ROWS_MAX = 256,
    PAWL_SLICE_BYTES_MAX = 16 * 1024 * 1024,
    PAWL_PRUNED_AT_ONCE = 500, /* events */
    PAWL_SLICES_AT_ONCE = 8,   /* of continuations, in one step: 2 000 rows, a few milliseconds */

    /* PostgreSQL: lost races before the callers are told BUSY. Each loser waits for a winner, so that even
     * some dozens of processes get through; what loses so often is no race. */
    PAWL_RACES_MAX = 8,

    /* Retention works beside callers: a step of theirs is to be longer by a few milliseconds at most. What a
     * long history leaves over is removed by later steps, so many events and log lines at once. */
    PAWL_RETAINED_ROWS_MAX = 500,
    PAWL_RETAINED_LOOKED_AT = 64, /* finished tasks, and tombstones, read for one slice */
    PAWL_REMAINS_AT_ONCE = 150,
    /* A step with more commands than this has no room for it. */
    PAWL_RETAINED_BESIDE_MAX = PAWL_STEP_COMMANDS_MAX / 4,
    /* A consumer in its way is looked at again after a minute, and tasks that others wait for after an hour. */
    PAWL_RETAINED_AGAIN_MS = 60 * 1000,
    PAWL_RETAINED_PASS_MS = 3600 * 1000,

    /* Free pages given back by one step: 2 MiB to move. */
    PAWL_COMPACTED_PAGES_MAX = 512,

    PAWL_STEP_SLOW_MS = 1000, /* what is logged: a caller has waited for it */

    /* How long a caller waits for the continuations it caused, and for the turn. */
    PAWL_CONTINUING_MS_MAX = 5000,
    PAWL_TURN_WAIT_MS_MAX = 5000,
    /* Who has less patience waits for the turn so long all the same: to give up is to lose the place in the line. */
    PAWL_TURN_WAIT_MS_MIN = 1000,

    /* The count of a redrive that ended elsewhere waits so long for its caller, who normally is there within
     * milliseconds. The next redrive clears away what nobody came for. */
    PAWL_ENDED_KEPT_MS = 3600 * 1000,

    /* After a look or a step of the engine's own that has failed: often enough to be on time when the world is
     * well again, seldom enough not to burden it while it is not. */
    PAWL_ENGINE_PATIENCE_MS = 1000,

    /* Callers that wake one another after a step, before the engine wakes the next: longer chains spare it more, and
     * their last waits longer. */
    PAWL_WAKE_CHAIN = 8,
    /* Notifications are hints, and there may be no bell: one looks so often besides. */
    PAWL_ENGINE_LOOK_EVERY_MS = 1000,

    /* The size that an options struct says of itself. Ours have 200 bytes; a size beyond this is no size, and is not
     * read. */
    PAWL_OPTIONS_BYTES_MAX = 4096,

    /* A piece of an import: few enough that the rows of its dependencies fit in a step, many enough that a piece's
     * round trips to PostgreSQL do not count. */
    PAWL_IMPORT_TASKS_AT_ONCE = 200,
    PAWL_IMPORT_BYTES_AT_ONCE = 4 * 1024 * 1024,
    /* A record with all its texts, decoded, is held whole in memory. */
    PAWL_IMPORT_RECORD_BYTES_MAX = 64 * 1024 * 1024,
    /* Tasks of one file: their order needs some 300 bytes of each. */
    PAWL_IMPORT_TASKS_MAX = 4 * 1000 * 1000,

    /* A workflow's definition is one row, and is sent whole. Ten thousand tasks have some 5 MiB. */
    PAWL_DEFINITION_BYTES_MAX = PAWL_PAYLOAD_BYTES_MAX,
    /* Tasks of one definition, in all its branches: parsed, each takes about 1 KiB. */
    PAWL_DEFINITION_NODES_MAX = 20 * 1000,
    /* Lists of tasks inside each other. Each is up to three containers of JSON, which ends at 128; people come
     * to five. */
    PAWL_DEFINITION_DEPTH_MAX = 32,
    /* A name is part of an index entry, of routes and of lines of the log. A task's is a queue's name too. */
    PAWL_DEFINITION_NAME_BYTES_MAX = 255,
    /* What is wrong with a definition, told at once: more than anybody mends in one go. */
    PAWL_FAULTS_KEPT = 256,

    /* Records that one decision makes: each is some five rows, and a decision stays at about 1 000. What a larger fork
     * begins with goes on in a continuation. */
    PAWL_DECISION_RECORDS_MAX = 200,
    /* Records of a workflow that is rerun from one of its tasks: all are looked at, and those that stay go over to the
     * new run, in one step. Beyond this it is rerun from its start. */
    PAWL_RERUN_RECORDS_MAX = 2048,
    /* Variables of a workflow: they are read and written whole by each task that names them. */
    PAWL_VARIABLES_BYTES_MAX = 256 * 1024,
    /* Names of what has failed in a workflow: beyond this no more are kept. */
    PAWL_WORKFLOW_FAILED_BYTES_MAX = 256 * 1024,
    /* Failure workflows that fail, and have one themselves: more in a row are a mistake that goes round. */
    PAWL_FAILURE_DEPTH_MAX = 8,
    /* A task whose workflow cannot be read is looked at again so much later: somebody may have mended it. */
    PAWL_UNREADABLE_AGAIN_MS = 60 * 1000,
    /* Records removed by one step: each goes with its task, payloads and events. */
    PAWL_RECORDS_REMOVED_AT_ONCE = 50,

    /* Members of a circle of dependencies that an error names: they fit in its sentence, and people see the rest. */
    PAWL_CIRCLE_NAMED_MAX = 6,

    PAWL_CLAIM_QUEUES_MAX = 256, /* names of one claim: each is one walk of the ready index */

    /* A claim's answer stops growing here: it is held whole in memory on its way out. At least one task is
     * always given. */
    PAWL_CLAIM_BYTES_MAX = PAWL_BATCH_BYTES_MAX,

    /* Bodies that come with the ready rows on PostgreSQL: of so many tasks, and of those that have no more. Together
     * 256 KiB. A step that may take more asks for all by name: its one trip is for many. */
    PAWL_READY_PAYLOADS_MAX = 64,
    PAWL_READY_PAYLOAD_BYTES_MAX = 4096,

    /* What all claims of one step load together; those that find it spent have their turn in the next step. */
    PAWL_STEP_CLAIM_BYTES_MAX = 48 * 1024 * 1024,

    /* Claims that are tried at once on a queue in which nobody knows how many tasks are ready: more follow while they
     * find some. */
    PAWL_PARKED_TRIED_MAX = 32,

    /* Starts that a gate tells apart within the window of its rate: a limit up to it is kept to the millisecond, and
     * the row stays small whatever the limit is. */
    PAWL_GATE_STARTS_MAX = 128,

    /* Attempts and the like: they are counted so far, and then no more. */
    PAWL_COUNT_MAX = 1 << 30,

    PAWL_LEASE_MS_DEFAULT = 60 * 1000,
    /* A week is longer than any renewal's failure; what needs more is no lease. */
    PAWL_LEASE_MS_MAX = 7 * 24 * 3600 * 1000,

    /* A wall clock that has moved less against the boot clock is being slewed: calendar times are right to a
     * second. What it creeps adds up. */
    PAWL_WALL_STEP_MS = 1000,

    PAWL_RETRY_COUNT_DEFAULT = 3,
    PAWL_RETRY_DELAY_MS_DEFAULT = 1000,
    PAWL_RETRY_DELAY_MS_MAX_DEFAULT = 60 * 1000,
    /* Careful mode begins after so many deaths within so long, lasts as long, and sets a row aside after so many. */
    PAWL_CAREFUL_DEATHS = 3,
    PAWL_CAREFUL_MS = 10 * 60 * 1000, /* longer than whoever starts programs again waits between two tries */

    /* Looks for the proof that lost work has stopped: the first at once, then 5 s, 10 s, ... Nothing depends on them
     * while the lock is watched; they are for what watching misses. */
    PAWL_RECOVERY_LOOK_MS_MIN = 5 * 1000,
    PAWL_RECOVERY_LOOK_MS_MAX = 5 * 60 * 1000,
    /* Locks waited for at once by one engine; others are looked at when they are due again. */
    PAWL_PROOFS_AWAITED_MAX = 1024,
    /* An engine that proves nothing (a one-shot command) leaves the look to others, who find it due then. */
    PAWL_RECOVERY_LEAVE_MS = 1,

    PAWL_CRASH_DELAY_MS_MAX = 60 * 1000, /* of a task that takes its workers with it */

    PAWL_PRIORITY_DEFAULT = 20,
    PAWL_TITLE_FROM_GOAL_POINTS = 45, /* longer goals are cut there and end in three dots */

    PAWL_CHECKPOINTS_KEPT = 64,
    PAWL_LATE_RESULTS_KEPT = 8,
    PAWL_LATE_RESULT_BYTES_MAX = 64 * 1024,
    PAWL_TASK_ROWS_MAX = 16 + PAWL_CHECKPOINTS_KEPT + PAWL_LATE_RESULTS_KEPT, /* payloads too */
    PAWL_LOG_BYTES_KEPT = 1024 * 1024, /* for each task; the oldest lines go first */
    PAWL_LOG_ROW_BYTES = 64,           /* what a line counts besides its text: a row is not free */
    /* rows that may have to go for one line of the largest size */
    PAWL_LOG_ROWS_DROPPED_MAX = (PAWL_LOG_LINE_BYTES_MAX + PAWL_LOG_ROW_BYTES) / PAWL_LOG_ROW_BYTES + 1,

    /* Signs of life are written now and then alone: a claim or an acknowledgement should not cost a row more. */
    PAWL_WORKER_SEEN_EVERY_MS = 60 * 1000,
    PAWL_WORKER_SHARED_MS = 3600 * 1000, /* how long an id that two processes used counts as shared; told to the log so often */
    PAWL_WORKER_RENEWED_EVERY_MS = 24 * 3600 * 1000,
    PAWL_CONSUMER_SEEN_EVERY_MS = 3600 * 1000,

    /* Rows of workers that are gone, removed when a new one comes: so the table shrinks faster than it grows. */
    PAWL_WORKERS_GONE_AT_ONCE = 8,

    /* How many events a cursor passes at once when a gap closes; the next acknowledgement goes on from there. */
    PAWL_ACKNOWLEDGED_LOOKS_MAX = 64,

    PAWL_EVENTS_KEPT = 256,     /* of a task that lives on */
    PAWL_EVENT_NOTE_POINTS = 1024,
    PAWL_EXCERPT_POINTS = 60,   /* of a result or an error in a history detail */
    PAWL_REASON_POINTS = 200,   /* of a reason in an event */
    PAWL_PROGRESS_EVENT_MS = 1000, /* progress makes an event at most this often */

    /* What a restore adds to every epoch, to positions and row keys: more than a store hands out between two
     * backups of one task, and so little that 2^43 restores fit. */
    PAWL_RESTORE_RAISE = 1 << 20,
    PAWL_EPOCHS_RAISED_AT_ONCE = 5000, /* tasks a transaction: some 50 ms */

    /* One read transaction of fsck is to last so long at most. Pages grow and shrink by it. */
    PAWL_FSCK_PAGE_MS_MAX = 100,
    PAWL_FSCK_PAGE_ROWS_MAX = 1024,
    /* A store whose clock is further ahead of the machine's is told of: no leap second, no time zone is as long. */
    PAWL_FSCK_AHEAD_MS = 24 * 3600 * 1000,

    /* Expressions of workflows. People write a few dozen bytes; what is longer has had a payload spliced
     * into it. Filters and expressions in each other are run by functions that call each other as deep. */
    PAWL_PATH_BYTES_MAX = 4096,
    PAWL_PATH_DEPTH_MAX = 16,
    PAWL_EXPRESSION_DEPTH_MAX = 16,
    /* Values that one path may look at: as many as a payload of the largest size holds if each takes four bytes;
     * some 20 ms, and 20 MiB for what it finds. A path that would look at more, as a chain of `..` can, finds
     * nothing. Comparing texts counts one for so many bytes. */
    PAWL_PATH_VISITS_MAX = PAWL_PAYLOAD_BYTES_MAX / 4,
    PAWL_PATH_VISIT_BYTES = 64,
    /* What all paths of one template may look at, and print. */
    PAWL_TEMPLATE_VISITS_MAX = 4 * PAWL_PATH_VISITS_MAX,

    /* The low bits of a rank hold any instant up to PAWL_INSTANT_MS_MAX, the end of the year 9999. */
    PAWL_RANK_TIME_BITS = 48,
};

/* What of a rank is the ready time. */
#define PAWL_RANK_TIME_MASK ((INT64_C(1) << PAWL_RANK_TIME_BITS) - 1)

/* Consumers that have acknowledged nothing for so long, and hold others back, are dropped. */
#define PAWL_CONSUMER_KEEP_MS_DEFAULT (INT64_C(7) * 24 * 3600 * 1000)

/* Tokens of a store. All are held in memory by each server, which walks them at each request: 1 000 are 5 us. */
#define PAWL_TOKENS_MAX 1000
#define PAWL_TOKEN_NAME_BYTES_MAX 64

/* Tombstones: by then nobody repeats a call that long ago made the task, nor starts what depends on it. For ever
 * would be a file that grows for ever. */
#define PAWL_TOMBSTONE_KEPT_MS (INT64_C(90) * 24 * 3600 * 1000)

/* Ages by which things are removed: longer than this is never. */
#define PAWL_RETAIN_MS_MAX (INT64_C(100) * 366 * 24 * 3600 * 1000)

/* A worker that has not been seen for so long is gone, and its row with it: the longest lease that it may hold without a
 * word, twice. */
#define PAWL_WORKER_KEPT_MS (INT64_C(2) * PAWL_LEASE_MS_MAX)
static_assert(PAWL_WORKER_KEPT_MS > INT64_C(1) * PAWL_LEASE_MS_MAX + PAWL_WORKER_RENEWED_EVERY_MS,
              "nobody who may hold a lease is gone");

/* What an import keeps of all tasks of a file together, whose ids and dependencies may be many and long. */
#define PAWL_IMPORT_KEPT_BYTES_MAX (INT64_C(4) * 1024 * 1024 * 1024)

/* What only rises by one: versions, epochs, positions, keys. Nobody comes so far: a row with more than half of it is
 * damaged, and not read; what is made of one that is read still has room. */
#define PAWL_NUMBER_MAX (INT64_C(1) << 62)

/* Keys of rows end earlier: a payload's key is sixteen times that of its task. */
#define PAWL_ROW_KEY_MAX (PAWL_NUMBER_MAX / 64)

/* What an import may bring of versions, epochs and sequences: room to go on from. */
#define PAWL_NUMBER_IMPORTED_MAX (PAWL_NUMBER_MAX / 4)

/* Lengths that definitions give in seconds end here, after a hundred years: longer is never, and now + this is a
 * number. */
#define PAWL_DEFINED_SECONDS_MAX (INT64_C(100) * 366 * 24 * 3600)

/* Delays are capped so that now + delay can never overflow, whatever a caller asks. */
#define PAWL_DELAY_MS_MAX (INT64_C(366) * 24 * 3600 * 1000)

static_assert(PAWL_STEP_COMMAND_BYTES_MAX + PAWL_STEP_CLAIM_BYTES_MAX + 2 * PAWL_PAYLOAD_BYTES_MAX <=
                  PAWL_STEP_ARENA_BYTES_MAX,
              "the bodies of a step, its claims and two payloads must fit in its arena");
static_assert(PAWL_STEP_CLAIM_BYTES_MAX >= PAWL_CLAIM_BYTES_MAX + 2 * PAWL_PAYLOAD_BYTES_MAX,
              "a claim that is alone in its step is always given a task");
static_assert(2 + PAWL_TASK_ROWS_MAX + 2 * PAWL_REMAINS_AT_ONCE <= PAWL_RETAINED_ROWS_MAX,
              "any task must fit in a slice of retention, but for its dependencies");
static_assert(PAWL_INSTANT_MS_MAX < INT64_C(1) << PAWL_RANK_TIME_BITS, "an instant must fit in a rank");
static_assert(PAWL_BATCH_BYTES_MAX >= PAWL_PAYLOAD_BYTES_MAX, "a batch of one must hold any payload");

#endif
