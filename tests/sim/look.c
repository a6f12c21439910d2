#include "look.h"

#include "base/str.h"
#include "core/limits.h"
#include "core/task/task.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum statement {
    S_BEGIN,
    S_COMMIT,
    S_HEAD,
    S_TASKS,
    S_PAYLOADS,
    S_DEPENDENCIES,
    S_EVENTS,
    S_QUEUES,
    S_WORKERS,
    S_CONTINUATIONS,
    S_CONSUMERS,
    S_ACKNOWLEDGEMENTS,
    S_CHECKPOINTS,
    S_LOGS,
    S_LATES,
    S_VERSION,
    S_TASK,
    S_WORKFLOWS,
    S_RECORDS,
    S_COUNT
};

static const char *const texts[S_COUNT] = {
    [S_BEGIN] = "BEGIN",
    [S_COMMIT] = "COMMIT",
    [S_HEAD] = "SELECT position, next_key, now_ms, boot_id, clock_offset_ms, (SELECT count(*) FROM "
               "quarantine), wall_offset_ms "
               "FROM head, meta",
    [S_TASKS] =
        "SELECT key, queue, state, priority, coalesce(rank, -1), due_at_ms, version, epoch, "
        "lease_kind, owner, "
        "lease_ms, lease_end_at_ms, attempt_end_at_ms, timeout_ms, max_retries, backoff, delay_ms, "
        "delay_ms_max, jitter_ms, retries, recoveries, crashes_in_row, ready_at_ms, created_at_ms, "
        "updated_at_ms, started_at_ms, finished_at_ms, progress * 1000, progress_epoch, "
        "progress_event_at_ms, control, control_deadline_at_ms, sequence, outcome_epoch, "
        "outcome_kind, "
        "outcome_digest, dependency_policy, open_dependencies, blocked_by, has_dependents, "
        "payloads, "
        "checkpoint_count, log_bytes, payload_bytes, checkpoint_bytes, body_digest, run_at_ms, "
        "lease_place FROM "
        "task ORDER "
        "BY key",
    [S_PAYLOADS] = "SELECT key, body FROM payload ORDER BY key",
    [S_DEPENDENCIES] =
        "SELECT task, number, on_key, is_open, on_id FROM dependency ORDER BY task, number",
    [S_EVENTS] = "SELECT position, task, sequence, type, at_ms, state, epoch, version, retries, "
                 "next_retry_at_ms, cause, progress, actor, note FROM event WHERE position > ?1 "
                 "ORDER BY position",
    [S_QUEUES] = "SELECT key, name, is_paused, lease_ms FROM queue ORDER BY key",
    [S_WORKERS] = "SELECT key, id, request_id FROM worker ORDER BY key",
    [S_CONTINUATIONS] =
        "SELECT key, kind, task, cursor FROM continuation WHERE remaining >= 0 ORDER BY key",
    [S_CONSUMERS] = "SELECT key, name, cursor FROM consumer ORDER BY key",
    [S_ACKNOWLEDGEMENTS] =
        "SELECT consumer, position FROM acknowledgement ORDER BY consumer, position",
    /* beside max(key) the other columns are those of its row (lang_select, bare columns) */
    [S_CHECKPOINTS] = "SELECT task, count(*), max(key), state FROM checkpoint GROUP BY task",
    [S_LOGS] =
        "SELECT task, count(*), sum(bytes), sum(length(CAST(text AS BLOB))) FROM log GROUP BY task",
    [S_LATES] = "SELECT task, count(*) FROM late GROUP BY task",
    [S_VERSION] = "PRAGMA data_version",
    [S_TASK] = ("SELECT state, epoch, (SELECT id FROM worker WHERE key = owner), lease_place FROM "
                "task WHERE id = ?1"),
    [S_WORKFLOWS] = "SELECT key, state, run, open, finished_at_ms, id, idempotency_key FROM workflow "
                    "ORDER BY key",
    [S_RECORDS] = "SELECT r.task, r.workflow, r.run, r.seq, r.status, r.attempt, r.is_superseded, "
                  "r.is_decided, t.state, coalesce(t.rank, -1), t.due_at_ms, r.reference, t.id, p.body "
                  "FROM record r JOIN task t ON t.key = r.task LEFT JOIN payload p ON p.key = r.task * 16 + 1 "
                  "ORDER BY r.task",
};

static void fail(const struct looker *looker, const char *what)
{
    fprintf(stderr, "the oracle cannot read: %s: %s\n", what, sqlite3_errmsg(looker->db));
    abort();
}

uint64_t look_hash(struct pawl_str text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < text.len; i++) {
        hash = (hash ^ (unsigned char)text.ptr[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

void looker_open(struct looker *looker, const char *path)
{
    *looker = (struct looker){.data_version = -1};
    if (sqlite3_open_v2(path, &looker->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
            SQLITE_OK ||
        sqlite3_db_config(looker->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) != SQLITE_OK) {
        fail(looker, "open");
    }
}

void looker_close(struct looker *looker)
{
    for (int i = 0; i < S_COUNT; i++) (void)sqlite3_finalize(looker->statements[i]);
    if (sqlite3_close(looker->db) != SQLITE_OK) fail(looker, "close");
    *looker = (struct looker){.data_version = -1};
}

static sqlite3_stmt *prepared(struct looker *looker, enum statement number)
{
    sqlite3_stmt **statement = &looker->statements[number];
    if (*statement == NULL &&
        sqlite3_prepare_v3(looker->db, texts[number], -1, SQLITE_PREPARE_PERSISTENT, statement,
                           NULL) != SQLITE_OK) {
        fail(looker, texts[number]);
    }
    return *statement;
}

static bool next_row(struct looker *looker, enum statement number)
{
    int result = sqlite3_step(looker->statements[number]);
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) fail(looker, texts[number]);
    (void)sqlite3_reset(looker->statements[number]);
    return false;
}

static void run(struct looker *looker, enum statement number)
{
    (void)prepared(looker, number);
    while (next_row(looker, number)) {
    }
}

static struct pawl_str text_at(sqlite3_stmt *row, int column, struct pawl_arena *arena)
{
    const char *bytes = sqlite3_column_blob(row, column);
    if (bytes == NULL) return (struct pawl_str){0};
    struct pawl_str text = {bytes, (size_t)sqlite3_column_bytes(row, column)};
    return (struct pawl_str){pawl_arena_c_text(arena, text), text.len}; /* sscanf reads some */
}

/* The array, in the arena, with room for one more. */
static void *grown(struct pawl_arena *arena, void *array, int count, size_t bytes)
{
    enum { ROOM_FIRST = 16 };
    size_t have = (size_t)count;
    bool is_full = have == 0 || (have >= ROOM_FIRST && (have & (have - 1)) == 0);
    if (!is_full) return array;
    void *larger = pawl_arena_take_array(arena, have == 0 ? ROOM_FIRST : 2 * have, bytes);
    if (larger == NULL) abort();
    if (have > 0) memcpy(larger, array, have * bytes);
    return larger;
}

/* A new element at the end. */
#define ADD(look, array, count)                                                                 \
    ((look)->array = grown((look)->arena, (look)->array, (look)->count, sizeof *(look)->array), \
     &(look)->array[(look)->count++])

bool looker_is_stale(struct looker *looker)
{
    sqlite3_stmt *row = prepared(looker, S_VERSION);
    int64_t version = -1;
    while (next_row(looker, S_VERSION)) version = sqlite3_column_int64(row, 0);
    bool is_stale = version != looker->data_version;
    looker->data_version = version;
    return is_stale;
}

int look_find(const struct look *look, int64_t key)
{
    int low = 0;
    int high = look->task_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (look->tasks[middle].at[LOOK_key] < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < look->task_count && look->tasks[low].at[LOOK_key] == key ? low : -1;
}

const struct look_queue *look_queue(const struct look *look, int64_t key)
{
    for (int i = 0; i < look->queue_count; i++) {
        if (look->queues[i].key == key) return &look->queues[i];
    }
    return NULL;
}

struct pawl_str look_worker_id(const struct look *look, int64_t key)
{
    for (int i = 0; i < look->worker_count; i++) {
        if (look->workers[i].key == key) return look->workers[i].id;
    }
    return (struct pawl_str){0};
}

bool look_is_rearming(const struct look *look)
{
    for (int i = 0; i < look->continuation_count; i++) {
        if (look->continuations[i].kind == PAWL_CONTINUE_CALENDAR) return true;
    }
    return false;
}

static void read_head(struct looker *looker, struct look *look)
{
    sqlite3_stmt *row = prepared(looker, S_HEAD);
    while (next_row(looker, S_HEAD)) {
        look->position = sqlite3_column_int64(row, 0);
        look->next_key = sqlite3_column_int64(row, 1);
        look->now_ms = sqlite3_column_int64(row, 2);
        look->boot_id = text_at(row, 3, look->arena);
        look->clock_offset_ms = sqlite3_column_int64(row, 4);
        look->quarantine_count = sqlite3_column_int64(row, 5);
        look->wall_offset_ms = sqlite3_column_int64(row, 6);
    }
}

static void read_tasks(struct looker *looker, struct look *look)
{
    sqlite3_stmt *row = prepared(looker, S_TASKS);
    while (next_row(looker, S_TASKS)) {
        struct look_task *task = ADD(look, tasks, task_count);
        *task = (struct look_task){0};
        for (int i = 0; i < LOOK_COLUMN_COUNT; i++) task->at[i] = sqlite3_column_int64(row, i);
        task->lease_place = text_at(row, LOOK_COLUMN_COUNT, look->arena);
    }
}

static struct look_task *task_of(struct look *look, int64_t key)
{
    int at = look_find(look, key);
    return at < 0 ? NULL : &look->tasks[at];
}

/* What lies beside the tasks. Rows of tasks that do not exist are for nobody: the sums then differ.
 */
static void read_beside(struct looker *looker, struct look *look)
{
    struct look_task *task;
    sqlite3_stmt *row = prepared(looker, S_PAYLOADS);
    while (next_row(looker, S_PAYLOADS)) {
        int64_t key = sqlite3_column_int64(row, 0);
        task = task_of(look, key / 16);
        if (task == NULL || key % 16 >= 8) continue;
        struct pawl_str body = {sqlite3_column_blob(row, 1), (size_t)sqlite3_column_bytes(row, 1)};
        task->payload_bits |= INT64_C(1) << (key % 16);
        task->payload_lens[key % 16] = (int64_t)body.len;
        task->payload_hashes[key % 16] = look_hash(body);
    }
    row = prepared(looker, S_CHECKPOINTS);
    while (next_row(looker, S_CHECKPOINTS)) {
        task = task_of(look, sqlite3_column_int64(row, 0));
        if (task == NULL) continue;
        struct pawl_str state = {sqlite3_column_blob(row, 3), (size_t)sqlite3_column_bytes(row, 3)};
        task->checkpoints = sqlite3_column_int64(row, 1);
        task->checkpoint_len = (int64_t)state.len;
        task->checkpoint_hash = look_hash(state);
    }
    row = prepared(looker, S_LOGS);
    while (next_row(looker, S_LOGS)) {
        task = task_of(look, sqlite3_column_int64(row, 0));
        if (task == NULL) continue;
        task->logs = sqlite3_column_int64(row, 1);
        task->log_bytes = sqlite3_column_int64(row, 2);
        if (task->log_bytes != sqlite3_column_int64(row, 3)) task->log_bytes = -1;
        task->log_bytes += task->logs * PAWL_LOG_ROW_BYTES;
    }
    row = prepared(looker, S_LATES);
    while (next_row(looker, S_LATES)) {
        task = task_of(look, sqlite3_column_int64(row, 0));
        if (task != NULL) task->lates = sqlite3_column_int64(row, 1);
    }
    row = prepared(looker, S_DEPENDENCIES);
    while (next_row(looker, S_DEPENDENCIES)) {
        struct look_dependency *dependency = ADD(look, dependencies, dependency_count);
        *dependency =
            (struct look_dependency){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                                     sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3),
                                     text_at(row, 4, look->arena)};
        task = task_of(look, dependency->task);
        if (task != NULL) task->open_dependencies += dependency->is_open;
    }
}

static void read_events(struct looker *looker, struct look *look, int64_t after)
{
    sqlite3_stmt *row = prepared(looker, S_EVENTS);
    if (sqlite3_bind_int64(row, 1, after) != SQLITE_OK) fail(looker, "bind");
    while (next_row(looker, S_EVENTS)) {
        struct look_event *event = ADD(look, events, event_count);
        int64_t *const numbers[] = {&event->position, &event->task,
                                    &event->sequence, &event->type,
                                    &event->at_ms,    &event->state,
                                    &event->epoch,    &event->version,
                                    &event->retries,  &event->next_retry_at_ms,
                                    &event->cause};
        enum { NUMBERS = sizeof numbers / sizeof *numbers };
        for (int i = 0; i < NUMBERS; i++) *numbers[i] = sqlite3_column_int64(row, i);
        event->progress = sqlite3_column_double(row, NUMBERS);
        event->actor = text_at(row, NUMBERS + 1, look->arena);
        event->note = text_at(row, NUMBERS + 2, look->arena);
    }
}

static void read_workflows(struct looker *looker, struct look *look)
{
    sqlite3_stmt *row = prepared(looker, S_WORKFLOWS);
    while (next_row(looker, S_WORKFLOWS)) {
        struct look_workflow *workflow = ADD(look, workflows, workflow_count);
        int64_t *const numbers[] = {&workflow->key, &workflow->state, &workflow->run, &workflow->open,
                                    &workflow->finished_at_ms};
        enum { NUMBERS = sizeof numbers / sizeof *numbers };
        for (int i = 0; i < NUMBERS; i++) *numbers[i] = sqlite3_column_int64(row, i);
        workflow->id = text_at(row, NUMBERS, look->arena);
        workflow->idempotency_key = text_at(row, NUMBERS + 1, look->arena);
    }
    row = prepared(looker, S_RECORDS);
    while (next_row(looker, S_RECORDS)) {
        struct look_record *record = ADD(look, records, record_count);
        int64_t *const numbers[] = {&record->task,          &record->workflow,   &record->run,   &record->seq,
                                    &record->status,        &record->attempt,    &record->is_superseded,
                                    &record->is_decided,    &record->state,      &record->rank,
                                    &record->due_at_ms};
        enum { NUMBERS = sizeof numbers / sizeof *numbers };
        for (int i = 0; i < NUMBERS; i++) *numbers[i] = sqlite3_column_int64(row, i);
        record->reference = text_at(row, NUMBERS, look->arena);
        record->id = text_at(row, NUMBERS + 1, look->arena);
        record->result = text_at(row, NUMBERS + 2, look->arena);
    }
}

static void read_small(struct looker *looker, struct look *look)
{
    sqlite3_stmt *row = prepared(looker, S_QUEUES);
    while (next_row(looker, S_QUEUES)) {
        struct look_queue *queue = ADD(look, queues, queue_count);
        *queue = (struct look_queue){sqlite3_column_int64(row, 0), text_at(row, 1, look->arena),
                                     sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3)};
    }
    row = prepared(looker, S_WORKERS);
    while (next_row(looker, S_WORKERS)) {
        struct look_worker *worker = ADD(look, workers, worker_count);
        *worker = (struct look_worker){sqlite3_column_int64(row, 0), text_at(row, 1, look->arena),
                                       text_at(row, 2, look->arena)};
    }
    row = prepared(looker, S_CONTINUATIONS);
    while (next_row(looker, S_CONTINUATIONS)) {
        struct look_continuation *continuation = ADD(look, continuations, continuation_count);
        *continuation =
            (struct look_continuation){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                                       sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3)};
    }
    row = prepared(looker, S_CONSUMERS);
    while (next_row(looker, S_CONSUMERS)) {
        struct look_consumer *consumer = ADD(look, consumers, consumer_count);
        *consumer =
            (struct look_consumer){sqlite3_column_int64(row, 0), text_at(row, 1, look->arena),
                                   sqlite3_column_int64(row, 2)};
    }
    row = prepared(looker, S_ACKNOWLEDGEMENTS);
    while (next_row(looker, S_ACKNOWLEDGEMENTS)) {
        struct look_acknowledgement *one = ADD(look, acknowledgements, acknowledgement_count);
        *one = (struct look_acknowledgement){sqlite3_column_int64(row, 0),
                                             sqlite3_column_int64(row, 1)};
    }
}

void looker_read(struct looker *looker, struct look *look, int64_t after_position)
{
    struct pawl_arena *arena = look->arena;
    pawl_arena_reset(arena);
    *look = (struct look){.arena = arena};
    run(looker, S_BEGIN);
    read_head(looker, look);
    read_tasks(looker, look);
    read_beside(looker, look);
    read_events(looker, look, after_position);
    read_small(looker, look);
    read_workflows(looker, look);
    run(looker, S_COMMIT);
}

bool looker_task(struct looker *looker, struct pawl_str id, struct pawl_arena *keep,
                 struct look_lease *lease)
{
    bool is_there = false;
    sqlite3_stmt *row = prepared(looker, S_TASK);
    if (sqlite3_bind_text(row, 1, id.ptr, (int)id.len, SQLITE_STATIC) != SQLITE_OK) {
        fail(looker, "bind");
    }
    while (next_row(looker, S_TASK)) {
        is_there = true;
        *lease = (struct look_lease){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                                     text_at(row, 2, keep), text_at(row, 3, keep)};
    }
    return is_there;
}

void looker_names(struct looker *looker, int64_t after_key, struct pawl_arena *keep,
                  struct look_name *names, int *count, int max)
{
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(
            looker->db, "SELECT id, title, idempotency_key FROM task WHERE key > ?1 ORDER BY key",
            -1, &row, NULL) != SQLITE_OK ||
        sqlite3_bind_int64(row, 1, after_key) != SQLITE_OK) {
        fail(looker, "names");
    }
    *count = 0;
    while (*count < max && sqlite3_step(row) == SQLITE_ROW) {
        names[(*count)++] =
            (struct look_name){text_at(row, 0, keep), text_at(row, 1, keep), text_at(row, 2, keep)};
    }
    (void)sqlite3_finalize(row);
}

static void ask(struct looker *looker, const char *sql, char *text, size_t room)
{
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(looker->db, sql, -1, &row, NULL) != SQLITE_OK) fail(looker, sql);
    text[0] = '\0';
    if (sqlite3_step(row) == SQLITE_ROW) {
        const unsigned char *got = sqlite3_column_text(row, 0);
        (void)snprintf(text, room, "%s", got == NULL ? "" : (const char *)got);
    }
    if (sqlite3_finalize(row) != SQLITE_OK) fail(looker, sql);
}

const char *looker_integrity(struct looker *looker, char text[200])
{
    ask(looker, "PRAGMA integrity_check(1)", text, 200);
    return text;
}

int64_t looker_number(struct looker *looker, const char *sql)
{
    char text[32];
    int64_t number = 0;
    ask(looker, sql, text, sizeof text);
    (void)sscanf(text, "%" SCNd64, &number);
    return number;
}
