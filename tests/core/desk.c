#include "desk.h"

#include "core/limits.h"
#include "core/task/rule.h"

#include <string.h>

enum { ARENA_BYTES_MAX = 64 * 1024 * 1024 };

void desk_open(struct desk *desk)
{
    *desk = (struct desk){
        .queue = {.key = DESK_QUEUE, .name = PAWL_STR("mail")},
        .workers = {{.key = DESK_WORKER, .id = PAWL_STR("worker-1")},
                    {.key = DESK_OTHER, .id = PAWL_STR("worker-2")}},
    };
    CHECK_OK(pawl_arena_open(&desk->arena, ARENA_BYTES_MAX), NULL);
    CHECK_OK(pawl_arena_open(&desk->keep, ARENA_BYTES_MAX), NULL);
    pawl_set_init(&desk->step.set, desk->arena);
    desk->step.now_ms = DESK_NOW_MS;
    desk->step.random[0] = 7;
    desk->step.next_key = 1000;
    desk->step.lease_ms = 60000;
    desk->step.consumer_keep_ms = PAWL_CONSUMER_KEEP_MS_DEFAULT;
    desk->step.head_position = 50;
    desk->step.ready_limit = 100;
}

void desk_close(struct desk *desk)
{
    pawl_arena_close(desk->arena);
    pawl_arena_close(desk->keep);
}

struct pawl_task_row desk_row(enum pawl_task_state state)
{
    struct pawl_task_row row = {
        .key = DESK_TASK,
        .id = DESK_TASK_ID,
        .queue = DESK_QUEUE,
        .state = state,
        .priority = 20,
        .rank = PAWL_RANK_NONE,
        .version = 7,
        .epoch = 3,
        .retry = {.max_retries = 3, .delay_ms = 1000, .delay_ms_max = 60000},
        .created_at_ms = DESK_NOW_MS - 90000,
        .updated_at_ms = DESK_NOW_MS - 60000,
        .started_at_ms = DESK_NOW_MS - 30000,
        .progress = 40.0,
        .sequence = 5,
    };
    switch (state) {
    case PAWL_TASK_QUEUED:
        row.rank = pawl_rank_make(row.priority, DESK_NOW_MS - 60000);
        break;
    case PAWL_TASK_RUNNING:
        row.lease_kind = PAWL_LEASE_CLIENT;
        row.owner = DESK_WORKER;
        row.lease_ms = 60000;
        row.lease_end_at_ms = DESK_NOW_MS + 30000;
        row.due_at_ms = row.lease_end_at_ms;
        break;
    case PAWL_TASK_RECOVERY_PENDING:
        row.lease_kind = PAWL_LEASE_CLIENT;
        row.owner = DESK_WORKER;
        row.lease_ms = 60000;
        break;
    case PAWL_TASK_COMPLETED:
        row.progress = 100.0;
        row.finished_at_ms = DESK_NOW_MS - 1000;
        break;
    case PAWL_TASK_FAILED:
    case PAWL_TASK_CANCELLED:
    case PAWL_TASK_DEAD_LETTER:
        row.finished_at_ms = DESK_NOW_MS - 1000;
        break;
    case PAWL_TASK_PENDING:
    case PAWL_TASK_PAUSED:
        break;
    }
    return row;
}

struct pawl_task_row *desk_put(struct desk *desk, const struct pawl_task_row *row)
{
    CHECK(desk->task_count < DESK_TASKS_MAX);
    CHECK_TEXT(NULL, pawl_task_row_fault(row));
    struct pawl_task_row *copy = pawl_arena_take(desk->arena, sizeof *copy);
    CHECK(copy != NULL);
    *copy = *row;
    desk->tasks[desk->task_count++] = copy;
    return copy;
}

/* ---- Answers ---- */

static void *key_of(struct desk *desk, int64_t key)
{
    int64_t *row = pawl_arena_take(desk->arena, sizeof *row);
    CHECK(row != NULL);
    *row = key;
    return row;
}

static void *rows_of(struct desk *desk, const void *rows, size_t count, size_t size)
{
    struct pawl_rows *list = pawl_arena_take(desk->arena, sizeof *list);
    void *copy = pawl_arena_take(desk->arena, count * size + 1);
    CHECK(list != NULL && copy != NULL);
    if (count > 0) memcpy(copy, rows, count * size);
    *list = (struct pawl_rows){.rows = copy, .count = count};
    return list;
}

static void *dependencies_of(struct desk *desk, const struct pawl_entry *entry)
{
    struct pawl_dependency_row found[64];
    size_t count = 0;
    for (size_t i = 0; i < desk->dependency_count && count < COUNT_OF(found); i++) {
        const struct pawl_dependency_row *row = &desk->dependencies[i];
        bool is_one = entry->look == PAWL_LOOK_DEPENDENCIES
                          ? row->task == entry->number
                          : row->on == entry->number && row->task > entry->after;
        if (is_one) found[count++] = *row;
    }
    return rows_of(desk, found, count, sizeof *found);
}

static struct pawl_task_row *task_by(const struct desk *desk, int64_t key, struct pawl_str id)
{
    for (size_t i = 0; i < desk->task_count; i++) {
        if (desk->tasks[i]->key == key) return desk->tasks[i];
        if (id.len > 0 && pawl_str_equal(desk->tasks[i]->id, id)) return desk->tasks[i];
    }
    return NULL;
}

static void *answer_of(struct desk *desk, const struct pawl_entry *entry)
{
    switch (entry->look) {
    case PAWL_LOOK_TASK:
        return task_by(desk, entry->number, (struct pawl_str){0});
    case PAWL_LOOK_TASK_ID: {
        const struct pawl_task_row *task = task_by(desk, 0, entry->text);
        return task == NULL ? NULL : key_of(desk, task->key);
    }
    case PAWL_LOOK_QUEUE:
        return entry->number == DESK_QUEUE ? &desk->queue : NULL;
    case PAWL_LOOK_QUEUE_NAME:
        return pawl_str_equal(entry->text, desk->queue.name) ? key_of(desk, DESK_QUEUE) : NULL;
    case PAWL_LOOK_WORKER:
        for (size_t i = 0; i < COUNT_OF(desk->workers); i++) {
            if (desk->workers[i].key == entry->number) return &desk->workers[i];
        }
        return NULL;
    case PAWL_LOOK_WORKER_ID:
        for (size_t i = 0; i < COUNT_OF(desk->workers); i++) {
            if (!pawl_str_equal(desk->workers[i].id, entry->text)) continue;
            return key_of(desk, desk->workers[i].key);
        }
        return NULL;
    case PAWL_LOOK_READY:
        return rows_of(desk, desk->ready, desk->ready_count, sizeof *desk->ready);
    case PAWL_LOOK_DEPENDENTS:
    case PAWL_LOOK_DEPENDENCIES:
        return dependencies_of(desk, entry);
    case PAWL_LOOK_DUE:
    case PAWL_LOOK_CONTINUATIONS:
    case PAWL_LOOK_AWAITED:
    case PAWL_LOOK_LATE:
    case PAWL_LOOK_LOG_OLDEST:
    case PAWL_LOOK_DEAD:
    case PAWL_LOOK_CALENDAR:
    case PAWL_LOOK_WORKERS_GONE:
    case PAWL_LOOK_FINISHED:
    case PAWL_LOOK_EVENTS:
    case PAWL_LOOK_TOMBSTONES:
    case PAWL_LOOK_RECORDS_OPEN:
    case PAWL_LOOK_RECORDS_UNDECIDED:
    case PAWL_LOOK_RECORDS_BAD:
    case PAWL_LOOK_RECORDS:
        return rows_of(desk, NULL, 0, 1);
    case PAWL_LOOK_STARTED_BY:
    case PAWL_LOOK_DEFINITION:
    case PAWL_LOOK_DEFINITION_BELOW:
    case PAWL_LOOK_IMPORT:
    case PAWL_LOOK_IDEMPOTENCY:
    case PAWL_LOOK_PAYLOAD:
    case PAWL_LOOK_STARTED:
    case PAWL_LOOK_CONSUMER:
    case PAWL_LOOK_CONTINUATION:
    case PAWL_LOOK_CHECKPOINT:
    case PAWL_LOOK_EVENT:
    case PAWL_LOOK_ACK:
    case PAWL_LOOK_TOMBSTONE_ID:
    case PAWL_LOOK_TOMBSTONE_KEY:
    case PAWL_LOOK_EVENT_LAST:
    case PAWL_LOOK_WAITING:
    case PAWL_LOOK_WORKFLOW:
    case PAWL_LOOK_WORKFLOW_ID:
    case PAWL_LOOK_WORKFLOW_KEYED:
    case PAWL_LOOK_RECORD:
    case PAWL_LOOK_RECORD_LATEST:
    case PAWL_LOOK_RECORDS_TOUCHED:
    case PAWL_LOOK_SNAPSHOT:
    case PAWL_LOOK_SNAPSHOT_HASH:
    case PAWL_LOOK_GATE:
    case PAWL_LOOK_GATE_NAME:
    case PAWL_LOOK_TASK_DEFINITION:
    case PAWL_LOOK_PARSED:
        return NULL;
    case PAWL_LOOK_CURSOR_MIN:
        return key_of(desk, INT64_MAX);
    }
    return NULL;
}

/* ---- Running ---- */

static void answer_all(struct desk *desk)
{
    struct pawl_set *set = &desk->step.set;
    for (size_t i = 0; i < set->wanted.count; i++) {
        struct pawl_entry *entry = ((struct pawl_entry **)set->wanted.items)[i];
        pawl_set_answer(set, entry, answer_of(desk, entry));
    }
    set->wanted.count = 0;
}

static bool run_once(struct desk *desk, struct pawl_command *command)
{
    enum pawl_verdict verdict = pawl_step_run(&desk->step, command);
    CHECK(!desk->step.set.is_full);
    if (verdict == PAWL_DONE) return true;
    answer_all(desk);
    return false;
}

void desk_run_due(struct desk *desk, int64_t key)
{
    struct pawl_command due = {.kind = PAWL_COMMAND_DUE, .number = key};
    int rounds = 0;
    while (!run_once(desk, &due)) CHECK(++rounds < 10);
    CHECK_CODE(PAWL_OK, due.code);
}

enum pawl_code desk_run(struct desk *desk, struct pawl_command *command)
{
    command->keep = desk->keep;
    int rounds = 0;
    while (!run_once(desk, command)) {
        CHECK(++rounds < 10);
        for (size_t i = 0; i < desk->task_count; i++) {
            const struct pawl_task_row *task = desk->tasks[i];
            bool is_due = task->due_at_ms != 0 && task->due_at_ms <= desk->step.now_ms;
            if (is_due) desk_run_due(desk, task->key);
        }
    }
    return command->code;
}

size_t desk_event_count(const struct desk *desk)
{
    return desk->step.set.appends[PAWL_APPEND_EVENT].count;
}

static const struct pawl_event_row *event_at(const struct desk *desk, size_t before)
{
    const struct pawl_append *events = &desk->step.set.appends[PAWL_APPEND_EVENT];
    if (before >= events->count) return NULL;
    return &((struct pawl_event_new **)events->items)[events->count - 1 - before]->row;
}

enum pawl_event_type desk_event(const struct desk *desk, size_t before)
{
    const struct pawl_event_row *event = event_at(desk, before);
    return event == NULL ? PAWL_EVENT_NONE : event->type;
}

const struct pawl_event_row *desk_newest(const struct desk *desk)
{
    const struct pawl_event_row *event = event_at(desk, 0);
    CHECK(event != NULL);
    return event;
}
