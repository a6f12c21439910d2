/* Answers what a set wants.
 *
 * Each wanted entry becomes one ask. All are sent, those of one look after each other, then
 * flushed, so that the number of round trips to PostgreSQL does not grow with their number; only
 * then are the entries answered, since rows may come at any time between. Rows that came along with
 * another look are entered, and the set keeps its own where it has them: they may be newer.
 *
 * A row that cannot be read is set aside: a note goes to `quarantine`, and the row is taken out of
 * the indexes by which claims and timers would meet it again. Its task is answered as none; all
 * others go on. */
#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "core/limits.h"
#include "core/workflow/snapshot.h"
#include "store/handle.h"
#include "store/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct load {
    struct pawl_store *store;
    struct pawl_set *set;
    struct answer *answers; /* of set->wanted, in its order */
    struct pawl_append bad; /* struct bad_row */
};

struct bad_row {
    const char *table;
    int64_t key;
    struct pawl_str id;
    struct pawl_str raw;
    const char *reason;
    bool is_aside; /* claims and timers do not meet it */
    bool is_known; /* it is in quarantine already: nothing is left to write */
};

/* What has come for one entry. */
struct answer {
    struct load *load;
    struct pawl_entry *entry;
    void *row;              /* one row */
    struct pawl_rows *list; /* lists: always there */
    size_t room;
    size_t read_count; /* rows that came, readable or not */
    int64_t last;
    bool is_bad;
};

static enum pawl_code memory(const struct load *load, struct pawl_error *err)
{
    enum pawl_code code = pawl_arena_code(load->set->arena);
    if (code == PAWL_OK) return PAWL_OK;
    return pawl_error_set(err, code, "the rows of a step do not fit in its memory");
}

/* Room for one more row at the end of a list; NULL without memory. */
static void *list_add(struct answer *answer, size_t row_bytes)
{
    enum { ROOM_FIRST = 8 };
    struct pawl_rows *list = answer->list;
    if (list->count == answer->room) {
        size_t room = answer->room == 0 ? ROOM_FIRST : answer->room * 2;
        void *rows = pawl_arena_resize(answer->load->set->arena, list->rows,
                                       answer->room * row_bytes, room * row_bytes);
        if (rows == NULL) return NULL;
        list->rows = rows;
        answer->room = room;
    }
    return (char *)list->rows + list->count++ * row_bytes;
}

static void note_bad(struct load *load, const char *table, int64_t key, struct pawl_str id,
                     struct pawl_str raw, const char *reason, bool is_aside)
{
    struct bad_row *bad = pawl_arena_take(load->set->arena, sizeof *bad);
    if (bad == NULL) return; /* the arena remembers */
    *bad = (struct bad_row){table, key, id, raw, reason, is_aside, false};
    (void)pawl_append_add(&load->bad, load->set->arena, bad); /* the same */
}

/* ---- Rows as they come ------------------------------------------------------------------------
 */

/* Decodes the row and enters it; *out is NULL if it was bad. */
static enum pawl_code enter_task(struct load *load, const struct pawl_db_row *row,
                                 struct pawl_task_row **out, struct pawl_error *err)
{
    struct pawl_arena *arena = load->set->arena;
    struct pawl_task_row *task = pawl_arena_take(arena, sizeof *task);
    *out = NULL;
    if (task == NULL) return memory(load, err);
    const char *fault = pawl_row_task(row, arena, task);
    if (fault != NULL && pawl_arena_code(arena) == PAWL_OK) {
        struct pawl_str raw =
            pawl_arena_format(arena, "state=%" PRId64 " rank=%" PRId64 " due_at_ms=%" PRId64,
                              pawl_db_int64(row, 3), pawl_db_int64(row, 5), pawl_db_int64(row, 6));
        bool is_aside = pawl_db_is_null(row, 5) && pawl_db_is_null(row, 6);
        note_bad(load, "task", task->key, task->id, raw, fault, is_aside);
        return memory(load, err);
    }
    if (fault == NULL) {
        (void)pawl_set_enter(load->set, PAWL_LOOK_TASK, task->key, task); /* is_full remembers */
        *out = task;
    }
    return memory(load, err);
}

static enum pawl_code on_task(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct pawl_task_row *task = NULL;
    enum pawl_code code = enter_task(answer->load, row, &task, err);
    /* looks by text are answered by the key */
    answer->row = answer->entry->look == PAWL_LOOK_TASK || task == NULL ? (void *)task : &task->key;
    answer->is_bad = task == NULL;
    return code;
}

static enum pawl_code on_task_listed(void *self, const struct pawl_db_row *row,
                                     struct pawl_error *err)
{
    struct answer *answer = self;
    struct pawl_task_row *task = NULL;
    answer->read_count++;
    answer->last = pawl_db_int64(row, 0);
    enum pawl_code code = enter_task(answer->load, row, &task, err);
    if (code != PAWL_OK || task == NULL) return code;
    int64_t *key = list_add(answer, sizeof *key);
    if (key != NULL) *key = task->key;
    return memory(answer->load, err);
}

/* A row of a queue or a worker that is usable, but not as it was written. */
static void warn_row(struct load *load, const char *table, int64_t key, const char *fault)
{
    if (fault == NULL || load->store->has_warned_row) return;
    if (pawl_arena_code(load->set->arena) != PAWL_OK) return;
    load->store->has_warned_row = true;
    pawl_log_write(load->store->options.log, PAWL_LOG_WARN, "row.defaulted",
                   PAWL_TEXT("table", pawl_str_of(table)), PAWL_INT("key", key),
                   PAWL_TEXT("reason", pawl_str_of(fault)));
}

static enum pawl_code on_queue(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct load *load = answer->load;
    struct pawl_queue_row *queue = pawl_arena_take(load->set->arena, sizeof *queue);
    if (queue == NULL) return memory(load, err);
    warn_row(load, "queue", pawl_db_int64(row, 0), pawl_row_queue(row, load->set->arena, queue));
    (void)pawl_set_enter(load->set, PAWL_LOOK_QUEUE, queue->key, queue); /* is_full remembers */
    answer->row = answer->entry->look == PAWL_LOOK_QUEUE ? (void *)queue : &queue->key;
    return memory(load, err);
}

static enum pawl_code on_worker(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct load *load = answer->load;
    struct pawl_worker_row *worker = pawl_arena_take(load->set->arena, sizeof *worker);
    if (worker == NULL) return memory(load, err);
    warn_row(load, "worker", pawl_db_int64(row, 0), pawl_row_worker(row, load->set->arena, worker));
    (void)pawl_set_enter(load->set, PAWL_LOOK_WORKER, worker->key, worker); /* is_full remembers */
    if (answer->list != NULL) {
        int64_t *key = list_add(answer, sizeof *key);
        if (key != NULL) *key = worker->key;
        return memory(load, err);
    }
    answer->row = answer->entry->look == PAWL_LOOK_WORKER ? (void *)worker : &worker->key;
    return memory(load, err);
}

static enum pawl_code on_gate(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct load *load = answer->load;
    struct pawl_gate_row *gate = pawl_arena_take(load->set->arena, sizeof *gate);
    if (gate == NULL) return memory(load, err);
    warn_row(load, "gate", pawl_db_int64(row, 0), pawl_row_gate(row, load->set->arena, gate));
    (void)pawl_set_enter(load->set, PAWL_LOOK_GATE, gate->key, gate); /* is_full remembers */
    answer->row = answer->entry->look == PAWL_LOOK_GATE ? (void *)gate : &gate->key;
    return memory(load, err);
}

static enum pawl_code on_workflow(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct load *load = answer->load;
    struct pawl_workflow_row *workflow = pawl_arena_take(load->set->arena, sizeof *workflow);
    if (workflow == NULL) return memory(load, err);
    if (pawl_row_workflow(row, load->set->arena, workflow) != NULL) {
        answer->is_bad = true;
        return memory(load, err);
    }
    (void)pawl_set_enter(load->set, PAWL_LOOK_WORKFLOW, workflow->key, workflow);
    answer->row = answer->entry->look == PAWL_LOOK_WORKFLOW ? (void *)workflow : &workflow->key;
    return memory(load, err);
}

static enum pawl_code on_record(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct load *load = answer->load;
    struct pawl_record_row *record = pawl_arena_take(load->set->arena, sizeof *record);
    answer->read_count++;
    answer->last = pawl_db_int64(row, 0);
    if (record == NULL) return memory(load, err);
    if (pawl_row_record(row, load->set->arena, record) != NULL) {
        answer->is_bad = true;
        return memory(load, err);
    }
    (void)pawl_set_enter(load->set, PAWL_LOOK_RECORD, record->task, record);
    if (answer->list != NULL) {
        int64_t *key = list_add(answer, sizeof *key);
        if (key != NULL) *key = record->task;
        return memory(load, err);
    }
    answer->row = answer->entry->look == PAWL_LOOK_RECORD ? (void *)record : &record->task;
    return memory(load, err);
}

static enum pawl_code on_snapshot(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct pawl_set *set = answer->load->set;
    struct pawl_snapshot_row *snapshot = pawl_arena_take(set->arena, sizeof *snapshot);
    if (snapshot == NULL) return memory(answer->load, err);
    *snapshot = (struct pawl_snapshot_row){.key = pawl_db_int64(row, 0),
                                           .hash = pawl_row_text(row, 1, set->arena),
                                           .text = pawl_row_text(row, 2, set->arena)};
    pawl_snapshot_read(snapshot, set->arena);
    (void)pawl_set_enter(set, PAWL_LOOK_SNAPSHOT, snapshot->key, snapshot);
    answer->row = answer->entry->look == PAWL_LOOK_SNAPSHOT ? (void *)snapshot : &snapshot->key;
    return memory(answer->load, err);
}

static enum pawl_code on_payload(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct pawl_str *body = pawl_arena_take(answer->load->set->arena, sizeof *body);
    if (body != NULL) *body = pawl_row_text(row, 0, answer->load->set->arena);
    answer->row = body;
    return memory(answer->load, err);
}

/* Bodies that come along with the ready rows: the set keeps its own. */
static enum pawl_code on_payload_ready(void *self, const struct pawl_db_row *row,
                                       struct pawl_error *err)
{
    static const enum pawl_payload_kind kinds[] = {PAWL_PAYLOAD_INPUT, PAWL_PAYLOAD_GOAL,
                                                   PAWL_PAYLOAD_METADATA};
    struct load *load = self;
    for (size_t i = 0; i < PAWL_COUNT_OF(kinds); i++) {
        int32_t column = (int32_t)i + 1;
        if (pawl_db_is_null(row, column)) continue;
        struct pawl_str *body = pawl_arena_take(load->set->arena, sizeof *body);
        if (body == NULL) return memory(load, err);
        *body = pawl_row_text(row, column, load->set->arena);
        int64_t key = pawl_db_int64(row, 0) * PAWL_PAYLOAD_KINDS_MAX + kinds[i];
        (void)pawl_set_enter(load->set, PAWL_LOOK_PAYLOAD, key, body); /* is_full remembers */
    }
    return memory(load, err);
}

static enum pawl_code on_consumer(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct pawl_consumer_row *consumer =
        pawl_arena_take(answer->load->set->arena, sizeof *consumer);
    if (consumer != NULL && pawl_row_consumer(row, answer->load->set->arena, consumer) == NULL) {
        answer->row = consumer;
    }
    return memory(answer->load, err);
}

static enum pawl_code on_continuation(void *self, const struct pawl_db_row *row,
                                      struct pawl_error *err)
{
    struct answer *answer = self;
    struct load *load = answer->load;
    struct pawl_arena *arena = load->set->arena;
    struct pawl_continuation_row *continuation = pawl_arena_take(arena, sizeof *continuation);
    if (continuation == NULL) return memory(load, err);
    const char *fault = pawl_row_continuation(row, arena, continuation);
    if (fault != NULL && pawl_arena_code(arena) == PAWL_OK) {
        struct pawl_str raw = pawl_arena_format(
            arena, "kind=%" PRId64 " task=%" PRId64 " cursor=%" PRId64 " args=%.*s",
            pawl_db_int64(row, 1), pawl_db_int64(row, 2), pawl_db_int64(row, 3),
            PAWL_STR_ARG(continuation->args));
        note_bad(load, "continuation", continuation->key, (struct pawl_str){0}, raw, fault, false);
    }
    if (fault != NULL) return memory(load, err);
    (void)pawl_set_enter(load->set, PAWL_LOOK_CONTINUATION, continuation->key, continuation);
    if (answer->list == NULL) {
        answer->row = continuation;
    } else {
        struct pawl_continuation_row *place = list_add(answer, sizeof *place);
        if (place != NULL) *place = *continuation;
    }
    return memory(load, err);
}

static enum pawl_code on_dependency(void *self, const struct pawl_db_row *row,
                                    struct pawl_error *err)
{
    struct answer *answer = self;
    struct pawl_dependency_row dependency;
    answer->read_count++;
    answer->last = pawl_db_int64(row, 0);
    if (pawl_row_dependency(row, answer->load->set->arena, &dependency) == NULL) {
        struct pawl_dependency_row *place = list_add(answer, sizeof *place);
        if (place != NULL) *place = dependency;
    }
    return memory(answer->load, err);
}

static enum pawl_code on_checkpoint(void *self, const struct pawl_db_row *row,
                                    struct pawl_error *err)
{
    struct answer *answer = self;
    struct pawl_checkpoint_row *checkpoint =
        pawl_arena_take(answer->load->set->arena, sizeof *checkpoint);
    if (checkpoint != NULL &&
        pawl_row_checkpoint(row, answer->load->set->arena, checkpoint) == NULL) {
        answer->row = checkpoint;
    }
    return memory(answer->load, err);
}

static enum pawl_code on_event(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct pawl_event_row *event = pawl_arena_take(answer->load->set->arena, sizeof *event);
    if (event != NULL && pawl_row_event(row, answer->load->set->arena, event) == NULL) {
        answer->row = event;
    }
    return memory(answer->load, err);
}

static enum pawl_code on_number(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    int64_t *number = pawl_arena_take(answer->load->set->arena, sizeof *number);
    if (number != NULL) *number = pawl_db_int64(row, 0);
    answer->row = number;
    return memory(answer->load, err);
}

static enum pawl_code on_number_listed(void *self, const struct pawl_db_row *row,
                                       struct pawl_error *err)
{
    struct answer *answer = self;
    int64_t *number = list_add(answer, sizeof *number);
    answer->read_count++;
    if (number != NULL) *number = pawl_db_int64(row, 0);
    return memory(answer->load, err);
}

static enum pawl_code on_import(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct pawl_import_row *import = pawl_arena_take(answer->load->set->arena, sizeof *import);
    if (import != NULL) {
        struct pawl_arena *arena = answer->load->set->arena;
        *import = (struct pawl_import_row){.digest = pawl_row_text(row, 0, arena),
                                           .name = pawl_row_text(row, 1, arena),
                                           .at_ms = pawl_db_int64(row, 2),
                                           .task_count = pawl_db_int64(row, 3)};
    }
    answer->row = import;
    return memory(answer->load, err);
}

static enum pawl_code on_late(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct pawl_late_row late;
    if (pawl_row_late(row, answer->load->set->arena, &late) == NULL) {
        struct pawl_late_row *place = list_add(answer, sizeof *place);
        if (place != NULL) *place = late;
    }
    return memory(answer->load, err);
}

static enum pawl_code on_log(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct pawl_log_row line;
    if (pawl_row_log(row, &line) == NULL) {
        struct pawl_log_row *place = list_add(answer, sizeof *place);
        if (place != NULL) *place = line;
    }
    return memory(answer->load, err);
}

static enum pawl_code on_tombstone(void *self, const struct pawl_db_row *row,
                                   struct pawl_error *err)
{
    struct answer *answer = self;
    struct load *load = answer->load;
    struct pawl_tombstone_row *stone = pawl_arena_take(load->set->arena, sizeof *stone);
    answer->read_count++;
    if (stone == NULL) return memory(load, err);
    if (pawl_row_tombstone(row, load->set->arena, stone) != NULL) return memory(load, err);
    if (answer->list == NULL) {
        answer->row = stone;
    } else {
        struct pawl_tombstone_row *place = list_add(answer, sizeof *place);
        if (place != NULL) *place = *stone;
    }
    return memory(load, err);
}

static enum pawl_code on_finished(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct answer *answer = self;
    struct pawl_finished *place = list_add(answer, sizeof *place);
    answer->read_count++;
    if (place != NULL) {
        *place = (struct pawl_finished){pawl_db_int64(row, 0), pawl_db_int64(row, 1)};
    }
    return memory(answer->load, err);
}

/* A definition that cannot be read is answered as none: fsck tells of it. */
static enum pawl_code on_registered(void *self, const struct pawl_db_row *row,
                                    struct pawl_error *err)
{
    struct answer *answer = self;
    struct pawl_set *set = answer->load->set;
    struct pawl_definition_row *definition = pawl_arena_take(set->arena, sizeof *definition);
    if (definition == NULL || pawl_row_definition(row, set->arena, definition) != NULL) {
        return memory(answer->load, err);
    }
    if (answer->entry->look == PAWL_LOOK_DEFINITION) {
        answer->row = definition;
        return memory(answer->load, err);
    }
    int64_t number = pawl_definition_number(definition->kind, definition->version);
    (void)pawl_set_enter_text(set, PAWL_LOOK_DEFINITION, number, definition->name, definition);
    answer->row = &definition->version;
    return memory(answer->load, err);
}

/* ---- Looks as statements ----------------------------------------------------------------------
 */

struct question {
    enum pawl_statement statement;
    pawl_on_row *on_row;
    bool is_list;
    struct pawl_value values[3];
    size_t count;
};

/* By kind, name and version, which stand in the number and the text of a look. */
static struct question definition_question(enum pawl_statement statement,
                                           const struct pawl_entry *entry)
{
    int64_t kind;
    int64_t version;
    pawl_definition_number_read(entry->number, &kind, &version);
    return (struct question){
        statement, on_registered, false, {pawl_int(kind), pawl_text(entry->text), pawl_int(version)}, 3};
}

static int32_t limit_of(const struct pawl_entry *entry)
{
    return entry->limit > 0 ? entry->limit : PAWL_SLICE_ROWS_MAX;
}

/* The two texts of WORKFLOW_KEYED. */
static struct question keyed(struct pawl_str text)
{
    size_t at = 0;
    while (at < text.len && text.ptr[at] != '\0') at++;
    struct pawl_value name = pawl_text((struct pawl_str){text.ptr, at});
    size_t rest = at < text.len ? at + 1 : at;
    struct pawl_value key = pawl_text((struct pawl_str){text.ptr + rest, text.len - rest});
    return (struct question){PAWL_SQL_WORKFLOW_BY_IDEMPOTENCY, on_workflow, false, {name, key}, 2};
}

static struct question question_of(const struct pawl_entry *entry)
{
    struct pawl_value number = pawl_int(entry->number);
    struct pawl_value text = pawl_text(entry->text);
    struct pawl_value after = pawl_int(entry->after);
    struct pawl_value limit = pawl_int(limit_of(entry));

    switch (entry->look) {
    case PAWL_LOOK_TASK:
        return (struct question){PAWL_SQL_TASK_BY_KEY, on_task, false, {number}, 1};
    case PAWL_LOOK_TASK_ID:
        return (struct question){PAWL_SQL_TASK_BY_ID, on_task, false, {text}, 1};
    case PAWL_LOOK_IDEMPOTENCY:
        return (struct question){PAWL_SQL_TASK_BY_IDEMPOTENCY, on_task, false, {text}, 1};
    case PAWL_LOOK_QUEUE:
        return (struct question){PAWL_SQL_QUEUE_BY_KEY, on_queue, false, {number}, 1};
    case PAWL_LOOK_QUEUE_NAME:
        return (struct question){PAWL_SQL_QUEUE_BY_NAME, on_queue, false, {text}, 1};
    case PAWL_LOOK_WORKER:
        return (struct question){PAWL_SQL_WORKER_BY_KEY, on_worker, false, {number}, 1};
    case PAWL_LOOK_WORKER_ID:
        return (struct question){PAWL_SQL_WORKER_BY_ID, on_worker, false, {text}, 1};
    case PAWL_LOOK_PAYLOAD:
        return (struct question){PAWL_SQL_PAYLOAD_GET, on_payload, false, {number}, 1};
    case PAWL_LOOK_CONSUMER:
        return (struct question){PAWL_SQL_CONSUMER_BY_NAME, on_consumer, false, {text}, 1};
    case PAWL_LOOK_CONTINUATION:
        return (struct question){PAWL_SQL_CONTINUATION_BY_KEY, on_continuation, false, {number}, 1};
    case PAWL_LOOK_CHECKPOINT:
        return (struct question){PAWL_SQL_CHECKPOINT_LATEST, on_checkpoint, false, {number}, 1};
    case PAWL_LOOK_EVENT:
        return (struct question){PAWL_SQL_EVENT_BY_POSITION, on_event, false, {number}, 1};
    case PAWL_LOOK_EVENTS:
        return (struct question){PAWL_SQL_READ_EVENTS, on_number_listed, true, {number, limit}, 2};
    case PAWL_LOOK_ACK:
        return (struct question){
            PAWL_SQL_ACKNOWLEDGEMENT_GET, on_number, false, {number, after}, 2};
    case PAWL_LOOK_IMPORT:
        return (struct question){PAWL_SQL_IMPORT_BY_DIGEST, on_import, false, {text}, 1};
    case PAWL_LOOK_CURSOR_MIN:
        return (struct question){PAWL_SQL_CONSUMER_CURSOR_MIN, on_consumer, false, {{0}}, 0};
    case PAWL_LOOK_READY:
        return (struct question){PAWL_SQL_TASKS_READY, on_task_listed, true, {number, limit}, 2};
    case PAWL_LOOK_DUE:
        return (struct question){PAWL_SQL_TASKS_DUE, on_task_listed, true, {after, limit}, 2};
    case PAWL_LOOK_CONTINUATIONS: {
        bool is_ended = entry->number != 0;
        struct pawl_value least = pawl_int(is_ended ? PAWL_CONTINUATION_ENDED : 0);
        struct pawl_value most = pawl_int(is_ended ? PAWL_CONTINUATION_ENDED : INT64_MAX);
        return (struct question){
            PAWL_SQL_CONTINUATIONS, on_continuation, true, {least, most, limit}, 3};
    }
    case PAWL_LOOK_DEPENDENTS:
        return (struct question){
            PAWL_SQL_DEPENDENTS, on_dependency, true, {number, after, limit}, 3};
    case PAWL_LOOK_DEPENDENCIES:
        return (struct question){PAWL_SQL_DEPENDENCIES, on_dependency, true, {number, limit}, 2};
    case PAWL_LOOK_AWAITED:
        return (struct question){
            PAWL_SQL_DEPENDENTS_AWAITED, on_dependency, true, {text, limit}, 2};
    case PAWL_LOOK_LATE:
        return (struct question){PAWL_SQL_LATE_OLDEST, on_late, true, {number, limit}, 2};
    case PAWL_LOOK_LOG_OLDEST:
        return (struct question){PAWL_SQL_LOG_OLDEST, on_log, true, {number, limit}, 2};
    case PAWL_LOOK_DEAD:
        return (struct question){PAWL_SQL_TASKS_DEAD, on_task_listed, true, {after, limit}, 2};
    case PAWL_LOOK_STARTED:
        return (struct question){PAWL_SQL_EVENT_STARTED, on_payload, false, {number, after}, 2};
    case PAWL_LOOK_STARTED_BY:
        return (struct question){PAWL_SQL_EVENT_STARTED_BY, on_number, false, {number, text}, 2};
    case PAWL_LOOK_WORKERS_GONE:
        return (struct question){PAWL_SQL_WORKERS_GONE, on_worker, true, {after, limit}, 2};
    case PAWL_LOOK_CALENDAR:
        return (struct question){PAWL_SQL_TASKS_CALENDAR, on_task_listed, true, {after, limit}, 2};
    case PAWL_LOOK_TOMBSTONE_ID:
        return (struct question){PAWL_SQL_TOMBSTONE_BY_ID, on_tombstone, false, {text}, 1};
    case PAWL_LOOK_TOMBSTONE_KEY:
        return (struct question){PAWL_SQL_TOMBSTONE_BY_IDEMPOTENCY, on_tombstone, false, {text}, 1};
    case PAWL_LOOK_TOMBSTONES:
        return (struct question){PAWL_SQL_TOMBSTONES, on_tombstone, true, {limit}, 1};
    case PAWL_LOOK_EVENT_LAST:
        return (struct question){PAWL_SQL_EVENT_LAST, on_number, false, {number}, 1};
    case PAWL_LOOK_WAITING:
        return (struct question){PAWL_SQL_DEPENDENT_WAITING, on_number, false, {number, text}, 2};
    case PAWL_LOOK_DEFINITION:
        return definition_question(PAWL_SQL_DEFINITION_GET, entry);
    case PAWL_LOOK_DEFINITION_BELOW:
        return definition_question(PAWL_SQL_DEFINITION_BELOW, entry);
    case PAWL_LOOK_WORKFLOW:
        return (struct question){PAWL_SQL_WORKFLOW_BY_KEY, on_workflow, false, {number}, 1};
    case PAWL_LOOK_WORKFLOW_ID:
        return (struct question){PAWL_SQL_WORKFLOW_BY_ID, on_workflow, false, {text}, 1};
    case PAWL_LOOK_WORKFLOW_KEYED:
        return keyed(entry->text);
    case PAWL_LOOK_RECORD:
        return (struct question){PAWL_SQL_RECORD_BY_TASK, on_record, false, {number}, 1};
    case PAWL_LOOK_RECORD_LATEST:
        return (struct question){PAWL_SQL_RECORD_LATEST, on_record, false, {number, text}, 2};
    case PAWL_LOOK_RECORDS_OPEN:
        return (struct question){PAWL_SQL_RECORDS_OPEN, on_record, true, {number, after, limit}, 3};
    case PAWL_LOOK_RECORDS_UNDECIDED:
        return (struct question){
            PAWL_SQL_RECORDS_UNDECIDED, on_record, true, {number, after, limit}, 3};
    case PAWL_LOOK_RECORDS_BAD:
        return (struct question){PAWL_SQL_RECORDS_BAD, on_record, true, {number, after, limit}, 3};
    case PAWL_LOOK_SNAPSHOT:
        return (struct question){PAWL_SQL_SNAPSHOT_BY_KEY, on_snapshot, false, {number}, 1};
    case PAWL_LOOK_SNAPSHOT_HASH:
        return (struct question){PAWL_SQL_SNAPSHOT_BY_HASH, on_snapshot, false, {text}, 1};
    case PAWL_LOOK_RECORDS:
        return (struct question){PAWL_SQL_RECORDS, on_record, true, {number, limit}, 2};
    case PAWL_LOOK_GATE:
        return (struct question){PAWL_SQL_GATE_BY_KEY, on_gate, false, {number}, 1};
    case PAWL_LOOK_GATE_NAME:
        return (struct question){PAWL_SQL_GATE_BY_NAME, on_gate, false, {text}, 1};
    case PAWL_LOOK_RECORDS_TOUCHED:
    case PAWL_LOOK_TASK_DEFINITION:
    case PAWL_LOOK_PARSED:
        break; /* never asked for */
    case PAWL_LOOK_FINISHED:
        return (struct question){PAWL_SQL_FINISHED, on_finished, true, {number, after, limit}, 3};
    }
    bool is_known = false;
    pawl_assert(is_known);
    return (struct question){0};
}

/* Where each round trip is waited for, the small bodies of ready tasks come with their rows: most are given out at once,
 * and to ask for them when the rows are there would be another trip. Large ones are asked for by name. */
static enum pawl_code ask_payloads(struct load *load, const struct pawl_entry *entry,
                                   struct pawl_error *err)
{
    int32_t limit = limit_of(entry);
    if (!pawl_store_is_postgres(load->store) || limit > PAWL_READY_PAYLOADS_MAX) return PAWL_OK;
    struct pawl_value values[] = {pawl_int(entry->number), pawl_int(limit),
                                  pawl_int(PAWL_READY_PAYLOAD_BYTES_MAX)};
    return pawl_db_send(load->store->db, PAWL_SQL_PAYLOADS_READY, values, PAWL_COUNT_OF(values),
                        on_payload_ready, load, err);
}

static enum pawl_code ask(struct load *load, struct answer *answer, struct pawl_error *err)
{
    struct question question = question_of(answer->entry);
    if (question.is_list) {
        answer->list = pawl_arena_take(load->set->arena, sizeof *answer->list);
        if (answer->list == NULL) return memory(load, err);
    }
    enum pawl_code code = pawl_db_send(load->store->db, question.statement, question.values,
                                       question.count, question.on_row, answer, err);
    bool is_ready = answer->entry->look == PAWL_LOOK_READY && code == PAWL_OK;
    return is_ready ? ask_payloads(load, answer->entry, err) : code;
}

static enum pawl_code give(struct load *load, struct answer *answer, struct pawl_error *err)
{
    struct pawl_entry *entry = answer->entry;
    void *row = answer->list != NULL ? (void *)answer->list : answer->row;
    if (answer->list != NULL) {
        answer->list->is_cut = answer->read_count >= (size_t)limit_of(entry);
        answer->list->last = answer->last;
    }
    pawl_set_answer(load->set, entry, row);
    if (answer->is_bad) entry->is_bad = true;
    return memory(load, err);
}

/* ---- Rows set aside ---------------------------------------------------------------------------
 */

static enum pawl_code set_aside(struct pawl_store *store, const struct bad_row *bad,
                                struct pawl_error *err)
{
    bool is_task = strcmp(bad->table, "task") == 0;
    struct pawl_value key = pawl_int(bad->key);
    struct pawl_value note[] = {pawl_text(pawl_str_of(bad->table)),  key,
                                pawl_text_or_null(bad->id),          pawl_text(bad->raw),
                                pawl_text(pawl_str_of(bad->reason)), pawl_int(store->now_ms)};
    enum pawl_code code =
        pawl_db_change(store->db, PAWL_SQL_QUARANTINE_ADD, note, PAWL_COUNT_OF(note), false, err);
    if (code == PAWL_OK) {
        code = pawl_db_change(store->db,
                              is_task ? PAWL_SQL_TASK_SET_ASIDE : PAWL_SQL_CONTINUATION_REMOVE,
                              &key, 1, false, err);
    }
    pawl_log_write(store->options.log, PAWL_LOG_ERROR, "row.quarantined",
                   PAWL_TEXT("table", pawl_str_of(bad->table)), PAWL_INT("key", bad->key),
                   PAWL_TEXT("id", bad->id), PAWL_TEXT("reason", pawl_str_of(bad->reason)));
    store->is_dirty = true;
    return code;
}

static enum pawl_code on_known(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)row;
    (void)err;
    ((struct bad_row *)self)->is_known = true;
    return PAWL_OK;
}

/* Once: a row that is met again is left as it is. */
static enum pawl_code set_all_aside(struct load *load, struct pawl_error *err)
{
    struct bad_row **bad = (struct bad_row **)load->bad.items;
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < load->bad.count && code == PAWL_OK; i++) {
        struct pawl_value values[] = {pawl_text(pawl_str_of(bad[i]->table)), pawl_int(bad[i]->key)};
        code = pawl_db_send(load->store->db, PAWL_SQL_QUARANTINE_GET, values, PAWL_COUNT_OF(values),
                            on_known, bad[i], err);
    }
    if (code == PAWL_OK && load->bad.count > 0) code = pawl_db_flush(load->store->db, err);
    for (size_t i = 0; i < load->bad.count && code == PAWL_OK; i++) {
        if (!bad[i]->is_known || !bad[i]->is_aside) code = set_aside(load->store, bad[i], err);
    }
    if (code == PAWL_OK && load->bad.count > 0) code = pawl_db_flush(load->store->db, err);
    return code;
}

enum pawl_code pawl_store_set_aside(struct pawl_store *store, const char *table, int64_t key,
                                    struct pawl_str id, const char *reason, struct pawl_error *err)
{
    struct bad_row bad = {
        .table = table, .key = key, .id = id, .raw = PAWL_STR("{}"), .reason = reason};
    enum pawl_code code = set_aside(store, &bad, err);
    return code == PAWL_OK ? pawl_db_flush(store->db, err) : code;
}

/* By look, then number or text: asks of one statement follow each other, and rows are locked in the
 * same order by all steps. */
static int by_look(const void *one, const void *other)
{
    const struct pawl_entry *a = *(struct pawl_entry *const *)one;
    const struct pawl_entry *b = *(struct pawl_entry *const *)other;
    if (a->look != b->look) return a->look < b->look ? -1 : 1;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    int order = pawl_str_compare(a->text, b->text);
    if (order != 0 || a->after == b->after) return order;
    return a->after < b->after ? -1 : 1;
}

enum pawl_code pawl_load_ask(struct pawl_store *store, struct pawl_set *set, struct load **out,
                             struct pawl_error *err)
{
    struct pawl_entry **wanted = set->wanted.items;
    size_t count = set->wanted.count;
    struct load *load = pawl_arena_take(set->arena, sizeof *load);
    if (load == NULL) return memory(&(struct load){.set = set}, err);
    *load = (struct load){.store = store, .set = set};
    load->answers = pawl_arena_take_array(set->arena, count, sizeof *load->answers);
    if (load->answers == NULL) return memory(load, err);
    if (count > 1) qsort(wanted, count, sizeof(struct pawl_entry *), by_look);
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < count && code == PAWL_OK; i++) {
        load->answers[i] = (struct answer){.load = load, .entry = wanted[i]};
        code = ask(load, &load->answers[i], err);
    }
    if (code == PAWL_OK) *out = load;
    return code;
}

enum pawl_code pawl_load_take(struct load *load, struct pawl_error *err)
{
    size_t count = load->set->wanted.count;
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < count && code == PAWL_OK; i++) code = give(load, &load->answers[i], err);
    if (code == PAWL_OK) code = set_all_aside(load, err);
    if (code == PAWL_OK) load->set->wanted.count = 0;
    return code;
}

enum pawl_code pawl_store_load(struct pawl_store *store, struct pawl_set *set,
                               struct pawl_error *err)
{
    struct load *load = NULL;
    pawl_assert(store->is_begun);
    if (set->wanted.count == 0) return PAWL_OK;
    enum pawl_code code = pawl_load_ask(store, set, &load, err);
    if (code == PAWL_OK) code = pawl_db_flush(store->db, err);
    return code == PAWL_OK ? pawl_load_take(load, err) : code;
}
