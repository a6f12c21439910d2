/* Reads of people and consumers, on each kind of store. Rows are put where they are wanted through
 * a set; the rules have no part in it. */
#include "lab.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/str.h"
#include "base/uuid.h"
#include "core/limits.h"
#include "store/id.h"
#include "core/task/metadata.h"
#include "store/reader.h"
#include "store/render.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { QUEUE = 1, OTHER_QUEUE = 2, WORKER = 3 };

static const struct pawl_str none = {0};

/* A reader beside the lab's store. */
struct desk {
    struct lab *lab;
    struct pawl_reader *reader;
    struct pawl_arena *keep;
    struct pawl_error err;
};

static enum pawl_code try_reader(struct desk *desk)
{
    struct pawl_store_options options = {
        .target = pawl_str_of(desk->lab->target), .log = &desk->lab->log, .vfs = desk->lab->vfs};
    return pawl_reader_open(&desk->reader, &options, &desk->err);
}

static void desk_open(struct desk *desk, struct lab *lab)
{
    *desk = (struct desk){.lab = lab};
    CHECK_OK(pawl_arena_open(&desk->keep, 0), NULL);
    CHECK_OK(try_reader(desk), &desk->err);
}

static void desk_close(struct desk *desk)
{
    pawl_reader_close(desk->reader);
    pawl_arena_close(desk->keep);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Begins a step that has the queues "mail" and "sound" and the worker "w-1". */
static void begin_with_queues(struct lab *lab)
{
    lab_begin(lab);
    lab_put_queue(lab, QUEUE, "mail");
    lab_put_queue(lab, OTHER_QUEUE, "sound");
    struct pawl_worker_row worker = {.key = WORKER, .id = PAWL_STR("w-1")};
    pawl_set_put(&lab->set, PAWL_LOOK_WORKER, WORKER, none, 0, LAB_TAKE(lab, worker));
}

static struct pawl_task_row *put_task(struct lab *lab, int64_t key, int64_t queue,
                                      enum pawl_task_state state)
{
    struct pawl_task_row *task = lab_put_task(lab, key, queue);
    task->state = state;
    if (state != PAWL_TASK_QUEUED) task->rank = PAWL_RANK_NONE;
    if (state == PAWL_TASK_COMPLETED) task->progress = 100.0;
    if (pawl_task_state_is_terminal(state)) task->finished_at_ms = LAB_START_MS + key;
    if (state == PAWL_TASK_RUNNING) {
        task->epoch = 1;
        task->lease_kind = PAWL_LEASE_CLIENT;
        task->owner = WORKER;
        task->lease_ms = 60000;
        task->lease_end_at_ms = LAB_START_MS + 60000;
        task->due_at_ms = task->lease_end_at_ms;
    }
    return task;
}

/* QUEUED, but not before an instant. */
static struct pawl_task_row *put_deferred(struct lab *lab, int64_t key, int64_t queue,
                                          int64_t until_ms)
{
    struct pawl_task_row *task = put_task(lab, key, queue, PAWL_TASK_QUEUED);
    task->rank = PAWL_RANK_NONE;
    task->ready_at_ms = until_ms;
    task->due_at_ms = until_ms;
    return task;
}

static struct pawl_task_row *put_ready(struct lab *lab, int64_t key, int64_t queue,
                                       int32_t priority, int64_t since_ms)
{
    struct pawl_task_row *task = put_task(lab, key, queue, PAWL_TASK_QUEUED);
    task->priority = priority;
    task->rank = pawl_rank_make(priority, since_ms);
    return task;
}

static void put_payload(struct lab *lab, struct pawl_task_row *task, enum pawl_payload_kind kind,
                        const char *body)
{
    struct pawl_str text = pawl_arena_copy(lab->arena, pawl_str_of(body));
    task->payloads |= 1u << kind;
    pawl_set_put(&lab->set, PAWL_LOOK_PAYLOAD, task->key * PAWL_PAYLOAD_KINDS_MAX + kind, none, 0,
                 LAB_TAKE(lab, text));
}

static void put_dependency(struct lab *lab, int64_t task, int32_t number, int64_t on,
                           const char *on_id, bool is_open)
{
    struct pawl_dependency_row row = {task, on, number, pawl_str_of(on_id), is_open};
    pawl_set_append(&lab->set, PAWL_APPEND_DEPENDENCY, LAB_TAKE(lab, row));
}

static void put_checkpoint(struct lab *lab, int64_t key, int64_t task, int32_t step, int64_t at_ms,
                           const char *state)
{
    struct pawl_checkpoint_row row = {key, task, step, 1, at_ms, pawl_str_of(state)};
    pawl_set_append(&lab->set, PAWL_APPEND_CHECKPOINT, LAB_TAKE(lab, row));
}

static void put_event(struct lab *lab, const struct pawl_event_row *row)
{
    struct pawl_event_new event = {.row = *row};
    if (event.row.at_ms == 0) event.row.at_ms = LAB_START_MS + 1000;
    if (event.row.version == 0) event.row.version = 1;
    pawl_set_append(&lab->set, PAWL_APPEND_EVENT, LAB_TAKE(lab, event));
}

/* N of the id "t-N". */
static int64_t number_of(const struct pawl_task *task)
{
    int64_t number = 0;
    struct pawl_str digits = {task->id.ptr + 2, task->id.len - 2};
    CHECK(pawl_int64_parse(digits, 1, INT64_MAX, &number));
    return number;
}

/* ---- Looking at pages ------------------------------------------------------------------------ */

/* The numbers in the ids "t-N" of a page, as "3 2 1". */
static void page_text(const struct pawl_page *page, char *out, size_t room)
{
    size_t len = strlen(out);
    for (size_t i = 0; i < page->count; i++) {
        int added = snprintf(out + len, room - len, "%s%.*s", len > 0 ? " " : "",
                             (int)page->tasks[i].id.len - 2, page->tasks[i].id.ptr + 2);
        CHECK(added > 0 && (size_t)added < room - len);
        len += (size_t)added;
    }
}

/* All pages of a list, one after the other. */
static const char *list_text(struct desk *desk, struct pawl_list ask)
{
    static char text[8192];
    text[0] = '\0';
    for (int pages = 0; pages < 1000; pages++) {
        struct pawl_page page;
        CHECK_OK(pawl_read_list(desk->reader, &ask, desk->keep, &page, &desk->err), &desk->err);
        int32_t limit = ask.limit != 0 ? ask.limit : PAWL_READ_PAGE_ROWS;
        CHECK((int64_t)page.count <= limit);
        page_text(&page, text, sizeof text);
        if (page.cursor.len == 0) return text;
        ask.cursor = page.cursor;
    }
    FAIL("the list has no end");
}

/* The same in pages of every size up to a few. */
static void check_list(struct desk *desk, struct pawl_list ask, const char *want)
{
    static const int32_t limits[] = {0, 1, 2, 3, 7};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        ask.limit = limits[i];
        CHECK_TEXT(want, list_text(desk, ask));
        pawl_arena_reset(desk->keep);
    }
}

static struct pawl_list ask_states(uint32_t states)
{
    struct pawl_list ask = PAWL_LIST_INIT;
    ask.states = states;
    return ask;
}

#define BIT(name) (1u << PAWL_TASK_##name)

/* ---- One task -------------------------------------------------------------------------------- */

STORE_TEST("a task is read in all its fields")
{
    struct desk desk;
    struct pawl_task task;
    begin_with_queues(lab);
    (void)put_task(lab, 101, QUEUE, PAWL_TASK_COMPLETED);
    struct pawl_task_row *row = put_task(lab, 100, OTHER_QUEUE, PAWL_TASK_RUNNING);
    row->priority = 33;
    row->version = 7;
    row->epoch = 5;
    row->timeout_ms = 9000;
    row->retries = 2;
    row->recoveries = 1;
    row->progress = 12.5;
    row->progress_epoch = 4;
    row->created_at_ms = LAB_START_MS - 3;
    row->updated_at_ms = LAB_START_MS - 2;
    row->started_at_ms = LAB_START_MS - 1;
    row->control = PAWL_CONTROL_PAUSE;
    row->control_deadline_at_ms = LAB_START_MS + 5;
    row->open_dependencies = 1;
    row->title = PAWL_STR("a title");
    row->correlation_id = PAWL_STR("c-1");
    row->idempotency_key = PAWL_STR("only-once");
    put_payload(lab, row, PAWL_PAYLOAD_INPUT, "{\"n\": 129.9}");
    put_payload(lab, row, PAWL_PAYLOAD_GOAL, "a goal");
    put_payload(lab, row, PAWL_PAYLOAD_METADATA, "{ \"a\" : 1 }");
    put_payload(lab, row, PAWL_PAYLOAD_ERROR, "boom");
    put_payload(lab, row, PAWL_PAYLOAD_CONTROL_REASON, "lunch");
    put_dependency(lab, 100, 0, 101, NULL, false);
    put_dependency(lab, 100, 1, 0, "to-come", true);
    lab_commit(lab);

    desk_open(&desk, lab);
    CHECK_OK(pawl_read_task(desk.reader, PAWL_STR("t-100"), true, desk.keep, &task, &desk.err),
             &desk.err);
    CHECK_STR("t-100", task.id);
    CHECK_STR("sound", task.queue);
    CHECK_STR("a title", task.title);
    CHECK_STR("a goal", task.goal);
    CHECK_STR("{\"n\": 129.9}", task.input);
    CHECK_STR("{ \"a\" : 1 ,\"correlation_id\":\"c-1\"}", task.metadata);
    CHECK_STR("", task.result);
    CHECK_STR("boom", task.error);
    CHECK_STR("c-1", task.correlation_id);
    CHECK_STR("only-once", task.key);
    CHECK_EQ(PAWL_TASK_RUNNING, task.state);
    CHECK_EQ(33, task.priority);
    CHECK_NEAR(12.5, task.progress, 0);
    CHECK_EQ(4, task.progress_epoch);
    CHECK_EQ(2, task.retries);
    CHECK_EQ(1, task.recoveries);
    CHECK_EQ(3, task.max_retries);
    CHECK_EQ(7, task.version);
    CHECK_EQ(5, task.epoch);
    CHECK_STR("w-1", task.owner);
    CHECK_EQ(LAB_START_MS + 60000, task.lease_end_at_ms);
    CHECK_EQ(60000, task.lease_ms);
    CHECK_EQ(0, task.next_retry_at_ms);
    CHECK_EQ(9000, task.timeout_ms);
    CHECK_EQ(LAB_START_MS - 3, task.created_at_ms);
    CHECK_EQ(LAB_START_MS - 2, task.updated_at_ms);
    CHECK_EQ(LAB_START_MS - 1, task.started_at_ms);
    CHECK_EQ(0, task.finished_at_ms);
    CHECK_EQ(PAWL_CONTROL_PAUSE, task.control);
    CHECK_STR("lunch", task.control_reason);
    CHECK_EQ(LAB_START_MS + 5, task.control_deadline_at_ms);
    CHECK_EQ(1, task.open_dependencies);
    CHECK_STR("", task.blocked_by);
    CHECK_EQ(2, task.depends_on_count);
    CHECK_STR("t-101", task.depends_on[0]);
    CHECK_STR("to-come", task.depends_on[1]);
    desk_close(&desk);
}

STORE_TEST("without payload a task has its error and the reason of a request, and nothing larger")
{
    struct desk desk;
    struct pawl_task task;
    begin_with_queues(lab);
    struct pawl_task_row *row = put_task(lab, 100, QUEUE, PAWL_TASK_DEAD_LETTER);
    put_payload(lab, row, PAWL_PAYLOAD_INPUT, "1");
    put_payload(lab, row, PAWL_PAYLOAD_GOAL, "a goal");
    put_payload(lab, row, PAWL_PAYLOAD_METADATA, "{}");
    put_payload(lab, row, PAWL_PAYLOAD_RESULT, "2");
    put_payload(lab, row, PAWL_PAYLOAD_ERROR, "boom");
    put_dependency(lab, 100, 0, 0, "to-come", true);
    lab_commit(lab);

    desk_open(&desk, lab);
    CHECK_OK(pawl_read_task(desk.reader, PAWL_STR("t-100"), false, desk.keep, &task, &desk.err),
             &desk.err);
    CHECK_STR("boom", task.error);
    CHECK_EQ(0, task.goal.len + task.input.len + task.metadata.len + task.result.len);
    CHECK_EQ(0, task.depends_on_count);
    CHECK_STR("", task.owner);
    desk_close(&desk);
}

STORE_TEST(
    "an id that nobody has is NOT_FOUND in every read of a task, and outputs stay as they were")
{
    struct desk desk;
    desk_open(&desk, lab);
    struct pawl_str id = PAWL_STR("nobody");
    struct pawl_task task = {.version = 77};
    struct pawl_events events = {.count = 77};
    struct pawl_checkpoints checkpoints = {.count = 77};
    struct pawl_checkpoint checkpoint = {.step = 77};
    struct pawl_log_lines lines = {.count = 77};
    struct pawl_late_results late = {.count = 77};
    struct pawl_str why = PAWL_STR("77");
    struct pawl_reader *reader = desk.reader;
    CHECK_CODE(PAWL_NOT_FOUND, pawl_read_task(reader, id, true, desk.keep, &task, &desk.err));
    CHECK_TEXT("no such task: nobody", desk.err.text);
    CHECK_CODE(PAWL_NOT_FOUND, pawl_read_history(reader, id, 0, 0, desk.keep, &events, NULL));
    CHECK_CODE(PAWL_NOT_FOUND, pawl_read_checkpoints(reader, id, desk.keep, &checkpoints, NULL));
    CHECK_CODE(PAWL_NOT_FOUND,
               pawl_read_checkpoint(reader, id, none, desk.keep, &checkpoint, NULL));
    CHECK_CODE(PAWL_NOT_FOUND, pawl_read_logs(reader, id, 0, 0, desk.keep, &lines, NULL));
    CHECK_CODE(PAWL_NOT_FOUND, pawl_read_late(reader, id, desk.keep, &late, NULL));
    CHECK_CODE(PAWL_NOT_FOUND, pawl_read_why(reader, id, desk.keep, &why, NULL));
    CHECK_EQ(77, task.version);
    CHECK_EQ(77, events.count);
    CHECK_EQ(77, checkpoints.count);
    CHECK_EQ(77, checkpoint.step);
    CHECK_EQ(77, lines.count);
    CHECK_EQ(77, late.count);
    CHECK_STR("77", why);
    desk_close(&desk);
}

/* Puts a note into quarantine, within a step that changes something else, too. */
static void quarantine(struct lab *lab, int64_t key, const char *id, const char *reason)
{
    struct pawl_value values[] = {pawl_text(PAWL_STR("task")),    pawl_int(key),
                                  pawl_text(pawl_str_of(id)),     pawl_text(PAWL_STR("raw")),
                                  pawl_text(pawl_str_of(reason)), pawl_int(LAB_START_MS)};
    CHECK_OK(pawl_db_change(pawl_store_db(lab->store), PAWL_SQL_QUARANTINE_ADD, values, 6, false,
                            &lab->err),
             &lab->err);
}

STORE_TEST("T-084 a task in quarantine is CORRUPT with the reason, a list goes on without it")
{
    struct desk desk;
    struct pawl_task task;
    begin_with_queues(lab);
    (void)put_task(lab, 100, QUEUE, PAWL_TASK_QUEUED);
    (void)put_task(lab, 101, QUEUE, PAWL_TASK_QUEUED);
    (void)put_task(lab, 102, QUEUE, PAWL_TASK_QUEUED);
    quarantine(lab, 101, "t-101", "state is none that is known");
    quarantine(lab, 999, "t-gone", "key is not positive");
    lab_commit(lab);

    desk_open(&desk, lab);
    CHECK_CODE(PAWL_CORRUPT,
               pawl_read_task(desk.reader, PAWL_STR("t-101"), false, desk.keep, &task, &desk.err));
    CHECK_TEXT("task t-101 cannot be read: state is none that is known", desk.err.text);
    CHECK_CODE(PAWL_CORRUPT,
               pawl_read_task(desk.reader, PAWL_STR("t-gone"), false, desk.keep, &task, &desk.err));
    CHECK_TEXT("task t-gone cannot be read: key is not positive", desk.err.text);
    check_list(&desk, ask_states(0), "102 100");
    check_list(&desk, ask_states(BIT(QUEUED)), "100 102");
    desk_close(&desk);
}

STORE_TEST("a row that cannot be decoded is CORRUPT, in quarantine or not; broken JSON only where "
           "it is asked for")
{
    struct desk desk;
    struct pawl_task task;
    begin_with_queues(lab);
    (void)put_task(lab, 100, QUEUE, PAWL_TASK_QUEUED);
    put_payload(lab, put_task(lab, 101, QUEUE, PAWL_TASK_QUEUED), PAWL_PAYLOAD_INPUT, "{\"a\":");
    put_payload(lab, put_task(lab, 102, QUEUE, PAWL_TASK_QUEUED), PAWL_PAYLOAD_METADATA, "[1]");
    put_task(lab, 103, QUEUE, PAWL_TASK_QUEUED)->payloads = 1u << PAWL_PAYLOAD_ERROR;
    (void)put_task(lab, 104, 4711, PAWL_TASK_QUEUED);
    lab_commit(lab);

    desk_open(&desk, lab);
    static const struct {
        const char *id;
        bool with_payload;
        const char *text;
    } rows[] = {
        {"t-101", true, "task t-101 cannot be read: its input: "},
        {"t-102", true, "task t-102 cannot be read: its metadata: metadata is no JSON object"},
        {"t-103", false, "task t-103 cannot be read: a payload is missing"},
        {"t-104", false, "task t-104 cannot be read: its queue is missing"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_CODE(PAWL_CORRUPT, pawl_read_task(desk.reader, pawl_str_of(rows[i].id),
                                                rows[i].with_payload, desk.keep, &task, &desk.err));
        CHECK(strncmp(rows[i].text, desk.err.text, strlen(rows[i].text)) == 0);
    }
    CHECK_OK(pawl_read_task(desk.reader, PAWL_STR("t-101"), false, desk.keep, &task, &desk.err),
             &desk.err);
    check_list(&desk, ask_states(0), "102 101 100");
    struct pawl_list ask = ask_states(0);
    ask.with_payload = true;
    check_list(&desk, ask, "100");
    desk_close(&desk);
}

TEST("T-084 a row with an unknown state is CORRUPT for who asks for it, and missing from lists")
{
    static struct lab lab;
    struct desk desk;
    struct pawl_task task;
    lab_open(&lab, &lab_kinds[0]);
    begin_with_queues(&lab);
    (void)put_task(&lab, 100, QUEUE, PAWL_TASK_QUEUED);
    (void)put_task(&lab, 101, QUEUE, PAWL_TASK_QUEUED);
    (void)put_task(&lab, 102, QUEUE, PAWL_TASK_QUEUED);
    lab_commit(&lab);
    lab_sql(&lab, "UPDATE task SET state = 77 WHERE key = 101; "
                  "UPDATE task SET priority = 100 WHERE key = 102");
    desk_open(&desk, &lab);
    CHECK_CODE(PAWL_CORRUPT,
               pawl_read_task(desk.reader, PAWL_STR("t-101"), false, desk.keep, &task, &desk.err));
    CHECK_TEXT("task t-101 cannot be read: state is none that is known", desk.err.text);
    CHECK_CODE(PAWL_CORRUPT,
               pawl_read_why(desk.reader, PAWL_STR("t-102"), desk.keep, &task.id, &desk.err));
    check_list(&desk, ask_states(0), "100");
    check_list(&desk, ask_states(BIT(QUEUED)), "100");
    desk_close(&desk);
    lab_close(&lab);
}

TEST("metadata is shown as it came, with a correlation id where it has none")
{
    static const struct {
        const char *stored;
        const char *want;
    } rows[] = {
        {"", "{\"correlation_id\":\"c\\\"1\"}"},
        {"{}", "{\"correlation_id\":\"c\\\"1\"}"},
        {" { } ", " { \"correlation_id\":\"c\\\"1\"} "},
        {"{\"n\":1e2 ,\"z\":[1, 2]}", "{\"n\":1e2 ,\"z\":[1, 2],\"correlation_id\":\"c\\\"1\"}"},
        {"{\"correlation_id\":\"own\"}", "{\"correlation_id\":\"own\"}"},
        {"{\"correlation_id\": null, \"a\":{}}", "{\"correlation_id\": \"c\\\"1\", \"a\":{}}"},
        {"{\"a\":{\"correlation_id\":1}}",
         "{\"a\":{\"correlation_id\":1},\"correlation_id\":\"c\\\"1\"}"},
    };
    struct pawl_arena *arena;
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_str shown;
        struct pawl_error err;
        CHECK_OK(pawl_metadata_show(pawl_str_of(rows[i].stored), PAWL_STR("c\"1"), arena, arena,
                                    &shown, &err),
                 &err);
        CHECK_STR(rows[i].want, shown);
    }
    pawl_arena_close(arena);
}

TEST("T-008 a task without a correlation id has one that follows from its id")
{
    struct pawl_arena *arena;
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    CHECK_STR("given", pawl_correlation_id(PAWL_STR("x"), PAWL_STR("given"), arena));
    CHECK_STR("01934bc0123470008000abcdef012345",
              pawl_correlation_id(PAWL_STR("01934bc0-1234-7000-8000-ABCDEF012345"), none, arena));
    struct pawl_str made = pawl_correlation_id(PAWL_STR("my-task"), none, arena);
    CHECK_EQ(32, made.len);
    CHECK(pawl_str_equal(made, pawl_correlation_id(PAWL_STR("my-task"), none, arena)));
    CHECK(!pawl_str_equal(made, pawl_correlation_id(PAWL_STR("my-task2"), none, arena)));
    pawl_arena_close(arena);
}

/* ---- Ids ------------------------------------------------------------------------------------- */

TEST("an id of an event or a checkpoint gives back its number, in its own store and kind only")
{
    static const int64_t numbers[] = {1, 2, 1000, INT64_C(1) << 40, (INT64_C(1) << 48) - 1};
    static const int64_t instants[] = {0, 1, LAB_START_MS, (INT64_C(1) << 48) - 1};
    struct pawl_str store = PAWL_STR("01934bc0-0000-7000-8000-000000000001");
    struct pawl_str other = PAWL_STR("01934bc0-0000-7000-8000-000000000002");
    struct pawl_arena *arena;
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        for (size_t k = 0; k < COUNT_OF(instants); k++) {
            struct pawl_str event = pawl_event_id(store, numbers[i], instants[k], arena);
            struct pawl_str checkpoint = pawl_checkpoint_id(store, numbers[i], instants[k], arena);
            CHECK(pawl_uuid_is(event));
            CHECK_EQ('7', event.ptr[14]);
            CHECK(!pawl_str_equal(event, checkpoint));
            CHECK_EQ(numbers[i], pawl_event_id_position(store, event));
            CHECK_EQ(numbers[i], pawl_checkpoint_id_key(store, checkpoint));
            CHECK_EQ(instants[k], pawl_id_at_ms(event));
            CHECK_EQ(0, pawl_event_id_position(other, event));
            CHECK_EQ(0, pawl_event_id_position(store, checkpoint));
            CHECK_EQ(0, pawl_checkpoint_id_key(store, event));
        }
    }
    pawl_arena_close(arena);
}

TEST("ids of events sort by their instants, and what was made up or changed names nothing")
{
    struct pawl_str store = PAWL_STR("01934bc0-0000-7000-8000-000000000001");
    struct pawl_arena *arena;
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    CHECK(pawl_str_compare(pawl_event_id(store, 9, 1000, arena),
                           pawl_event_id(store, 3, 1001, arena)) < 0);

    static const char *const made_up[] = {"",
                                          "x",
                                          "01934bc0-1234-7000-8000-abcdef012345",
                                          "01934bc0-1234-4000-8000-abcdef012345",
                                          "00000000-0000-7000-8000-000000000000",
                                          "01934bc0-1234-7000-c000-abcdef012345"};
    for (size_t i = 0; i < COUNT_OF(made_up); i++) {
        CHECK_EQ(0, pawl_event_id_position(store, pawl_str_of(made_up[i])));
    }
    struct pawl_str id = pawl_event_id(store, 4711, LAB_START_MS, arena);
    for (size_t i = 0; i < id.len; i++) {
        char changed[PAWL_UUID_BYTES_MAX];
        memcpy(changed, id.ptr, sizeof changed);
        changed[i] = changed[i] == '3' ? '5' : '3';
        CHECK_EQ(0, pawl_event_id_position(store, (struct pawl_str){changed, sizeof changed}));
    }
    CHECK_EQ(-1, pawl_id_at_ms(PAWL_STR("01934bc0-1234-4000-8000-abcdef012345")));
    pawl_arena_close(arena);
}

/* ---- Events ---------------------------------------------------------------------------------- */

TEST("the detail of each event is a line for people")
{
    static const struct {
        struct pawl_event_row row;
        const char *action;
        bool success;
        const char *detail;
        /* clang-format off */
    } rows[] = {
        {{.type = PAWL_EVENT_CREATED}, "", true, "created"},
        {{.type = PAWL_EVENT_CREATED, .actor = PAWL_STR_INIT("ann")}, "", true, "created by ann"},
        {{.type = PAWL_EVENT_QUEUED, .next_retry_at_ms = LAB_START_MS + 5000},
         "", true, "queued, not before 2027-01-15T08:00:05.000Z"},
        {{.type = PAWL_EVENT_STARTED, .retries = 1, .actor = PAWL_STR_INIT("w-1")},
         "", true, "attempt 2 started by w-1"},
        {{.type = PAWL_EVENT_PROGRESS, .progress = 50}, "", true, "50 %"},
        {{.type = PAWL_EVENT_PROGRESS, .progress = 33.349, .note = PAWL_STR_INIT("page 3")},
         "", true, "33.3 %: page 3"},
        {{.type = PAWL_EVENT_PAUSED, .note = PAWL_STR_INIT("lunch")}, "paused", true, "lunch"},
        {{.type = PAWL_EVENT_PAUSED, .actor = PAWL_STR_INIT("ann")}, "paused", true, "paused by ann"},
        {{.type = PAWL_EVENT_PAUSED, .cause = PAWL_CAUSE_CONTROL}, "paused", true, "paused as asked"},
        {{.type = PAWL_EVENT_RESUMED, .cause = PAWL_CAUSE_RESUMED, .note = PAWL_STR_INIT("go")},
         "resumed", true, "resumed, latest checkpoint CP: go"},
        {{.type = PAWL_EVENT_RESUMED, .cause = PAWL_CAUSE_REDRIVEN, .actor = PAWL_STR_INIT("ann")},
         "resumed", true, "redriven by ann, latest checkpoint CP"},
        {{.type = PAWL_EVENT_COMPLETED}, "completed", true, "completed: {\"a\": 1 }"},
        {{.type = PAWL_EVENT_FAILED, .state = PAWL_TASK_FAILED, .actor = PAWL_STR_INIT("ann")},
         "recovery_resolved", false, "resolved as FAILED by ann"},
        {{.type = PAWL_EVENT_CANCELLED}, "cancelled", true, "cancelled as asked"},
        {{.type = PAWL_EVENT_CANCELLED, .note = PAWL_STR_INIT("no need")}, "cancelled", true, "no need"},
        {{.type = PAWL_EVENT_CANCELLED, .cause = PAWL_CAUSE_FORCED}, "cancelled", true,
         "cancelled by force"},
        {{.type = PAWL_EVENT_CANCELLED, .cause = PAWL_CAUSE_DEPENDENCY, .note = PAWL_STR_INIT("t-1")},
         "cancelled", true, "cancelled: it depends on task t-1, which can no longer complete"},
        {{.type = PAWL_EVENT_RETRY_SCHEDULED, .retries = 2, .next_retry_at_ms = LAB_START_MS + 4000,
          .note = PAWL_STR_INIT("boom\nat line 3")},
         "retry_scheduled", false, "retry 2 of 3 in 4s: boom at line 3"},
        {{.type = PAWL_EVENT_RETRY_SCHEDULED, .retries = 1}, "retry_scheduled", false,
         "retry 1 of 3 at once"},
        {{.type = PAWL_EVENT_DEAD_LETTERED, .retries = 4, .note = PAWL_STR_INIT("boom")},
         "dead_lettered", false, "attempt 4 was the last, a person must act: boom"},
        {{.type = PAWL_EVENT_FENCED, .actor = PAWL_STR_INIT("w-1")}, "recovery_fenced", true,
         "the lease of w-1 ended without an outcome"},
        {{.type = PAWL_EVENT_RECOVERED, .note = PAWL_STR_INIT("w-1")}, "recovery_requeued", true,
         "queued again: worker w-1 vanished"},
        {{.type = PAWL_EVENT_YIELDED, .actor = PAWL_STR_INIT("w-1"),
          .next_retry_at_ms = LAB_START_MS + 1500},
         "lease_yielded", true, "given back by w-1, not before 2027-01-15T08:00:01.500Z"},
        {{.type = PAWL_EVENT_RELEASED, .actor = PAWL_STR_INIT("w-1"), .note = PAWL_STR_INIT("bye")},
         "lease_released", true, "given back by w-1: bye"},
        {{.type = PAWL_EVENT_CONTROL_REQUESTED, .cause = PAWL_CAUSE_PAUSE}, "control_requested", true,
         "an operator asked to pause"},
        {{.type = PAWL_EVENT_CONTROL_REQUESTED, .cause = PAWL_CAUSE_CANCEL,
          .actor = PAWL_STR_INIT("ann"), .note = PAWL_STR_INIT("old")},
         "control_requested", true, "ann asked to cancel: old"},
        {{.type = PAWL_EVENT_UNANSWERED, .cause = PAWL_CAUSE_PAUSE, .note = PAWL_STR_INIT("old")},
         "control_unanswered", false, "its holder has not answered in time, asked to pause: old"},
        {{.type = PAWL_EVENT_BLOCKED, .note = PAWL_STR_INIT("t-1")}, "dependency_failed", false,
         "blocked by task t-1, which can no longer complete by itself"},
        {{.type = PAWL_EVENT_RESOLVED_QUEUED, .state = PAWL_TASK_QUEUED, .note = PAWL_STR_INIT("again")},
         "recovery_resolved", true, "resolved as QUEUED: again"},
        {{.type = PAWL_EVENT_RESOLVED_COMPLETED, .state = PAWL_TASK_COMPLETED}, "recovery_resolved", true,
         "resolved as COMPLETED"},
        {{.type = PAWL_EVENT_RESOLVED_CANCELLED, .state = PAWL_TASK_CANCELLED}, "recovery_resolved", true,
         "resolved as CANCELLED"},
        {{.type = PAWL_EVENT_RESOLVED_PAUSED, .state = PAWL_TASK_PAUSED, .actor = PAWL_STR_INIT("ann")},
         "recovery_resolved", true, "resolved as PAUSED by ann"},
    };
    /* clang-format on */
    struct pawl_event_about about = {
        .max_retries = 3, .result = PAWL_STR("{\"a\": 1\n}"), .checkpoint_id = PAWL_STR("CP")};
    struct pawl_arena *arena;
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_event event;
        struct pawl_event_row row = rows[i].row;
        row.at_ms = LAB_START_MS;
        pawl_event_render_about(&row, &about, arena, &event);
        CHECK_STR(rows[i].detail, event.detail);
        CHECK_STR(rows[i].action, event.action);
        CHECK_EQ(rows[i].success, event.success);
    }
    pawl_arena_close(arena);
}

TEST("a detail has at most 1024 code points, cut between characters")
{
    enum { POINTS = 1100 };
    char note[POINTS * 2];
    for (size_t i = 0; i < POINTS; i++) memcpy(note + 2 * i, "\u00e9", 2);
    struct pawl_event_row row = {.type = PAWL_EVENT_PAUSED, .note = {note, sizeof note}};
    struct pawl_event event;
    struct pawl_arena *arena;
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    pawl_event_render(&row, none, none, none, none, none, arena, &event);
    CHECK_EQ(2048, event.detail.len);
    CHECK(memcmp(note, event.detail.ptr, event.detail.len) == 0);
    pawl_arena_close(arena);
}

TEST("what is told to listeners outlives the row it was made from")
{
    char actor[] = "w-1";
    char id[] = "t-1";
    char title[] = "a title";
    char queue[] = "mail";
    struct pawl_event_row row = {.type = PAWL_EVENT_STARTED, .actor = pawl_str_of(actor)};
    struct pawl_event event;
    struct pawl_arena *arena;
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    pawl_event_render(&row, none, pawl_str_of(id), pawl_str_of(queue), pawl_str_of(title), none,
                      arena, &event);
    memset(actor, 'x', strlen(actor));
    memset(id, 'x', strlen(id));
    memset(title, 'x', strlen(title));
    memset(queue, 'x', strlen(queue));
    CHECK_STR("w-1", event.actor);
    CHECK_STR("t-1", event.task_id);
    CHECK_STR("a title", event.title);
    CHECK_STR("mail", event.queue);
    CHECK_STR("attempt 1 started by w-1", event.detail);
    CHECK(pawl_str_equal(pawl_correlation_id(PAWL_STR("t-1"), none, arena), event.correlation_id));
    pawl_arena_close(arena);
}

STORE_TEST("an event of every type and every cause is read back")
{
    static const enum pawl_event_type types[] = {
#define X(name, number, type, action, success) PAWL_EVENT_##name,
        PAWL_EVENT_TYPES(X)
#undef X
    };
    static const enum pawl_event_cause causes[] = {
#define X(name, number, text) PAWL_CAUSE_##name,
        PAWL_EVENT_CAUSES(X)
#undef X
    };
    struct desk desk;
    struct pawl_events events;
    begin_with_queues(lab);
    (void)put_task(lab, 100, QUEUE, PAWL_TASK_QUEUED);
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        put_event(lab, &(struct pawl_event_row){.task = 100,
                                                .sequence = (int64_t)i + 1,
                                                .type = types[i],
                                                .cause = causes[i % COUNT_OF(causes)]});
    }
    lab_commit(lab);
    desk_open(&desk, lab);
    CHECK_OK(pawl_read_history(desk.reader, PAWL_STR("t-100"), 0, 0, desk.keep, &events, &desk.err),
             &desk.err);
    CHECK_EQ(COUNT_OF(types), events.count);
    for (size_t i = 0; i < events.count; i++) {
        CHECK(pawl_str_equal(pawl_event_type_text(types[i]), events.events[i].type));
        CHECK(pawl_str_equal(pawl_event_cause_text(causes[i % COUNT_OF(causes)]),
                             events.events[i].cause));
        CHECK(events.events[i].detail.len > 0);
    }
    desk_close(&desk);
}

STORE_TEST("a history has the events of one task in order, with what is told of the task")
{
    struct desk desk;
    struct pawl_events events;
    begin_with_queues(lab);
    struct pawl_task_row *task = put_task(lab, 100, OTHER_QUEUE, PAWL_TASK_COMPLETED);
    (void)put_task(lab, 101, QUEUE, PAWL_TASK_QUEUED);
    task->title = PAWL_STR("a title");
    put_payload(lab, task, PAWL_PAYLOAD_RESULT,
                "\"0123456789012345678901234567890123456789012345678901234567\u00e9\u00e9\"");
    put_checkpoint(lab, 60, 100, 1, LAB_START_MS + 1, "1");
    put_checkpoint(lab, 61, 100, 2, LAB_START_MS + 2, "2");
    put_checkpoint(lab, 62, 100, 3, LAB_START_MS + 9000, "3");
    put_event(lab,
              &(struct pawl_event_row){.task = 100, .sequence = 1, .type = PAWL_EVENT_CREATED});
    put_event(lab,
              &(struct pawl_event_row){.task = 101, .sequence = 1, .type = PAWL_EVENT_CREATED});
    put_event(lab, &(struct pawl_event_row){.task = 100,
                                            .sequence = 2,
                                            .type = PAWL_EVENT_RETRY_SCHEDULED,
                                            .state = PAWL_TASK_QUEUED,
                                            .epoch = 4,
                                            .version = 5,
                                            .progress = 20,
                                            .retries = 1,
                                            .next_retry_at_ms = LAB_START_MS + 2000,
                                            .duration_ms = 77,
                                            .cause = PAWL_CAUSE_TIMED_OUT,
                                            .actor = PAWL_STR("w-1"),
                                            .note = PAWL_STR("boom")});
    put_event(lab,
              &(struct pawl_event_row){.task = 100, .sequence = 3, .type = PAWL_EVENT_RESUMED});
    put_event(lab, &(struct pawl_event_row){
                       .task = 100, .sequence = 4, .type = PAWL_EVENT_COMPLETED, .state = 5});
    lab_commit(lab);

    desk_open(&desk, lab);
    struct pawl_str id = PAWL_STR("t-100");
    CHECK_OK(pawl_read_history(desk.reader, id, 0, 0, desk.keep, &events, &desk.err), &desk.err);
    CHECK_EQ(4, events.count);
    CHECK_EQ(5, events.position);
    const struct pawl_event *retry = &events.events[1];
    CHECK_EQ(3, retry->position);
    CHECK_EQ(2, retry->sequence);
    CHECK_EQ(3, pawl_event_id_position(lab->head.store_id, retry->id));
    CHECK_EQ(retry->at_ms, pawl_id_at_ms(retry->id));
    CHECK_STR("t-100", retry->task_id);
    CHECK_STR("sound", retry->queue);
    CHECK_STR("a title", retry->title);
    CHECK_EQ(32, retry->correlation_id.len);
    CHECK_EQ(LAB_START_MS + 1000, retry->at_ms);
    CHECK_STR("task_retry_scheduled", retry->type);
    CHECK_STR("retry_scheduled", retry->action);
    CHECK_EQ(PAWL_TASK_QUEUED, retry->state);
    CHECK_EQ(4, retry->epoch);
    CHECK_EQ(5, retry->version);
    CHECK_NEAR(20, retry->progress, 0);
    CHECK_EQ(1, retry->retries);
    CHECK_EQ(LAB_START_MS + 2000, retry->next_retry_at_ms);
    CHECK(!retry->success);
    CHECK_EQ(77, retry->duration_ms);
    CHECK_STR("w-1", retry->actor);
    CHECK_STR("timed_out", retry->cause);
    CHECK_STR("retry 1 of 3 in 1s: boom", retry->detail);

    char want[128];
    struct pawl_str checkpoint =
        pawl_checkpoint_id(lab->head.store_id, 61, LAB_START_MS + 2, desk.keep);
    (void)snprintf(want, sizeof want, "resumed, latest checkpoint %.*s", PAWL_STR_ARG(checkpoint));
    CHECK_STR(want, events.events[2].detail);
    CHECK_STR("completed: \"0123456789012345678901234567890123456789012345678901234567\u00e9",
              events.events[3].detail);

    CHECK_OK(pawl_read_history(desk.reader, id, 1, 2, desk.keep, &events, &desk.err), &desk.err);
    CHECK_EQ(2, events.count);
    CHECK_EQ(2, events.events[0].sequence);
    CHECK_OK(pawl_read_history(desk.reader, id, 4, 2, desk.keep, &events, &desk.err), &desk.err);
    CHECK_EQ(0, events.count);
    desk_close(&desk);
}

STORE_TEST("the stream of events is read in the order of commits, page by page, without one that "
           "is damaged")
{
    struct desk desk;
    struct pawl_events events;
    begin_with_queues(lab);
    (void)put_task(lab, 100, QUEUE, PAWL_TASK_QUEUED);
    for (int32_t i = 1; i <= 9; i++) {
        put_event(lab, &(struct pawl_event_row){.task = i == 8 ? 4711 : 100,
                                                .sequence = i,
                                                .type = i == 5 ? 99 : PAWL_EVENT_QUEUED,
                                                .at_ms = LAB_START_MS - i});
    }
    quarantine(lab, 4711, "t-4711", "title is none");
    lab_commit(lab);

    desk_open(&desk, lab);
    int64_t after = 0;
    int64_t expected = 0;
    for (int32_t page = 0; page < 4; page++) {
        CHECK_OK(pawl_read_events(desk.reader, after, 3, desk.keep, &events, &desk.err), &desk.err);
        for (size_t i = 0; i < events.count; i++) {
            expected += expected == 4 ? 2 : 1;
            CHECK_EQ(expected, events.events[i].position);
            CHECK_STR(expected == 8 ? "t-4711" : "t-100", events.events[i].task_id);
        }
        CHECK_EQ(page == 3 ? 9 : after + 3, events.position);
        after = events.position;
    }
    CHECK_EQ(9, expected);
    CHECK_EQ(0, events.count);
    desk_close(&desk);
}

/* ---- Consumers ------------------------------------------------------------------------------- */

static void put_consumer(struct lab *lab, int64_t key, const char *name, int64_t cursor)
{
    struct pawl_consumer_row row = {key, pawl_str_of(name), cursor, LAB_START_MS};
    pawl_set_put(&lab->set, PAWL_LOOK_CONSUMER, 0, row.name, 0, LAB_TAKE(lab, row));
}

static void put_ack(struct lab *lab, int64_t consumer, int64_t position)
{
    struct pawl_ack ack = {consumer, position};
    pawl_set_append(&lab->set, PAWL_APPEND_ACK, LAB_TAKE(lab, ack));
}

static const char *positions_text(const struct pawl_events *events)
{
    static char text[256];
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < events->count; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%" PRId64, i > 0 ? " " : "",
                                events->events[i].position);
    }
    return text;
}

STORE_TEST("T-054 a consumer sees what lies after its cursor and is not acknowledged by it")
{
    struct desk desk;
    struct pawl_events events = {.count = 77};
    begin_with_queues(lab);
    (void)put_task(lab, 100, QUEUE, PAWL_TASK_QUEUED);
    for (int32_t i = 1; i <= 9; i++) lab_put_event(lab, 100, i);
    put_consumer(lab, 50, "audit", 2);
    put_consumer(lab, 51, "mirror", 0);
    put_ack(lab, 50, 4);
    put_ack(lab, 50, 5);
    put_ack(lab, 50, 9);
    put_ack(lab, 51, 3);
    lab_commit(lab);

    desk_open(&desk, lab);
    struct pawl_str audit = PAWL_STR("audit");
    CHECK_OK(pawl_read_consumer(desk.reader, audit, 0, desk.keep, &events, &desk.err), &desk.err);
    CHECK_TEXT("3 6 7 8", positions_text(&events));
    CHECK_OK(pawl_read_consumer(desk.reader, audit, 2, desk.keep, &events, &desk.err), &desk.err);
    CHECK_TEXT("3 6", positions_text(&events));
    CHECK_EQ(6, events.position);
    CHECK_OK(pawl_read_consumer(desk.reader, PAWL_STR("mirror"), 4, desk.keep, &events, &desk.err),
             &desk.err);
    CHECK_TEXT("1 2 4 5", positions_text(&events));
    CHECK_CODE(PAWL_NOT_FOUND, pawl_read_consumer(desk.reader, PAWL_STR("nobody"), 0, desk.keep,
                                                  &events, &desk.err));
    CHECK_TEXT("no such consumer: nobody", desk.err.text);
    CHECK_EQ(4, events.count);
    desk_close(&desk);
}

STORE_TEST("a consumer finds what is open behind a long run of acknowledged events")
{
    enum { RUN = PAWL_READ_PASSED_ROWS * 2 + 100 };
    struct desk desk;
    struct pawl_events events;
    begin_with_queues(lab);
    (void)put_task(lab, 100, QUEUE, PAWL_TASK_QUEUED);
    put_consumer(lab, 50, "audit", 0);
    for (int32_t i = 1; i <= RUN + 2; i++) {
        lab_put_event(lab, 100, i);
        if (i <= RUN) put_ack(lab, 50, i);
    }
    lab_commit(lab);

    desk_open(&desk, lab);
    for (int32_t limit = 1; limit <= 3; limit++) {
        CHECK_OK(pawl_read_consumer(desk.reader, PAWL_STR("audit"), limit, desk.keep, &events,
                                    &desk.err),
                 &desk.err);
        CHECK_EQ(limit < 2 ? 1 : 2, events.count);
        CHECK_EQ(RUN + 1, events.events[0].position);
    }
    desk_close(&desk);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

STORE_TEST("T-004 low, critical and medium, all queued, are listed as critical, medium, low")
{
    struct desk desk;
    begin_with_queues(lab);
    (void)put_ready(lab, 100, QUEUE, 10, LAB_START_MS);
    (void)put_ready(lab, 101, QUEUE, 40, LAB_START_MS);
    (void)put_ready(lab, 102, QUEUE, 20, LAB_START_MS);
    lab_commit(lab);

    desk_open(&desk, lab);
    check_list(&desk, ask_states(BIT(QUEUED)), "101 102 100");
    struct pawl_list ask = ask_states(0);
    ask.is_ready = true;
    check_list(&desk, ask, "101 102 100");
    desk_close(&desk);
}

STORE_TEST(
    "ready tasks of several queues come in one order of claims; a paused queue has none to claim")
{
    struct desk desk;
    begin_with_queues(lab);
    lab_put_queue(lab, 10, "empty");
    lab_put_queue(lab, 11, "asleep");
    struct pawl_queue_row asleep = {.key = 11, .name = PAWL_STR("asleep"), .is_paused = true};
    pawl_set_put(&lab->set, PAWL_LOOK_QUEUE, 11, none, 0, LAB_TAKE(lab, asleep));
    (void)put_ready(lab, 100, QUEUE, 20, LAB_START_MS + 5);
    (void)put_ready(lab, 101, OTHER_QUEUE, 20, LAB_START_MS + 5);
    (void)put_ready(lab, 102, QUEUE, 20, LAB_START_MS + 5);
    (void)put_ready(lab, 103, OTHER_QUEUE, 20, LAB_START_MS + 4);
    (void)put_ready(lab, 104, QUEUE, 30, LAB_START_MS + 9);
    (void)put_ready(lab, 105, OTHER_QUEUE, 0, LAB_START_MS);
    (void)put_ready(lab, 106, OTHER_QUEUE, 99, LAB_START_MS + 99);
    (void)put_ready(lab, 107, 11, 50, LAB_START_MS);
    (void)put_deferred(lab, 108, QUEUE, LAB_START_MS + 1000);
    (void)put_deferred(lab, 109, OTHER_QUEUE, LAB_START_MS + 500);
    (void)put_task(lab, 110, QUEUE, PAWL_TASK_PENDING);
    lab_commit(lab);

    desk_open(&desk, lab);
    struct pawl_list ask = ask_states(0);
    ask.is_ready = true;
    check_list(&desk, ask, "106 104 103 100 101 102 105");
    ask.queue = PAWL_STR("mail");
    check_list(&desk, ask, "104 100 102");
    ask.queue = PAWL_STR("asleep");
    check_list(&desk, ask, "");
    ask.queue = PAWL_STR("nowhere");
    check_list(&desk, ask, "");
    ask.queue = none;
    ask.states = BIT(PAUSED);
    check_list(&desk, ask, "");

    ask = ask_states(BIT(QUEUED));
    check_list(&desk, ask, "106 107 104 103 100 101 102 105 109 108");
    ask.queue = PAWL_STR("mail");
    check_list(&desk, ask, "104 100 102 108");
    ask.queue = PAWL_STR("asleep");
    check_list(&desk, ask, "107");
    desk_close(&desk);
}

STORE_TEST("a thousand ready tasks of many queues are merged in pages without loss or repeat")
{
    enum { QUEUES = 40, TASKS = 1000 };
    struct desk desk;
    begin_with_queues(lab);
    for (int32_t i = 0; i < QUEUES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "q-%02" PRId32, i);
        lab_put_queue(lab, 10 + i, name);
    }
    uint64_t key[2] = {1, 2};
    for (int32_t i = 0; i < TASKS; i++) {
        uint64_t chance = pawl_hash64(key, (struct pawl_str){(const char *)&i, sizeof i});
        (void)put_ready(lab, 100 + i, 10 + (int64_t)(chance % QUEUES), (int32_t)(chance >> 20 & 3),
                        LAB_START_MS + (int64_t)(chance >> 30 & 7));
    }
    lab_commit(lab);

    desk_open(&desk, lab);
    static const int32_t limits[] = {1000, 100, 13};
    for (size_t k = 0; k < COUNT_OF(limits); k++) {
        struct pawl_list ask = ask_states(0);
        ask.is_ready = true;
        ask.limit = limits[k];
        int64_t last_rank = -1;
        int64_t last_key = 0;
        int32_t count = 0;
        do {
            struct pawl_page page;
            CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
            for (size_t i = 0; i < page.count; i++) {
                int64_t number = number_of(&page.tasks[i]);
                int32_t at = (int32_t)number - 100;
                uint64_t chance = pawl_hash64(key, (struct pawl_str){(const char *)&at, sizeof at});
                int64_t rank = pawl_rank_make(page.tasks[i].priority,
                                              LAB_START_MS + (int64_t)(chance >> 30 & 7));
                CHECK(rank > last_rank || (rank == last_rank && number > last_key));
                last_rank = rank;
                last_key = number;
                count++;
            }
            ask.cursor = page.cursor;
        } while (ask.cursor.len > 0);
        CHECK_EQ(TASKS, count);
    }
    desk_close(&desk);
}

/* One of every state, twice, alternating. */
static void put_every_state(struct lab *lab)
{
    begin_with_queues(lab);
    for (int64_t i = 0; i < 2 * PAWL_TASK_STATE_COUNT; i++) {
        (void)put_task(lab, 100 + i, i < PAWL_TASK_STATE_COUNT ? QUEUE : OTHER_QUEUE,
                       (enum pawl_task_state)(i % PAWL_TASK_STATE_COUNT));
    }
    lab_commit(lab);
}

STORE_TEST("each filter of states lists what it says, in the order of its kind")
{
    struct desk desk;
    put_every_state(lab);
    desk_open(&desk, lab);
    static const struct {
        uint32_t states;
        const char *all;
        const char *sound; /* of the second queue */
    } rows[] = {
        {0, "117 116 115 114 113 112 111 110 109 108 107 106 105 104 103 102 101 100",
         "117 116 115 114 113 112 111 110 109"},
        {BIT(PENDING), "109 100", "109"},
        {BIT(QUEUED), "101 110", "110"},
        {BIT(RUNNING), "102 111", "111"},
        {BIT(PAUSED), "112 103", "112"},
        {BIT(RECOVERY_PENDING), "113 104", "113"},
        {BIT(FAILED) | BIT(DEAD_LETTER), "117 115 108 106", "117 115"},
        {BIT(PAUSED) | BIT(RECOVERY_PENDING) | BIT(FAILED) | BIT(DEAD_LETTER),
         "117 115 113 112 108 106 104 103", "117 115 113 112"},
        {BIT(COMPLETED), "114 105", "114"},
        {BIT(COMPLETED) | BIT(CANCELLED), "116 114 107 105", "116 114"},
        {BIT(COMPLETED) | BIT(FAILED), "115 114 106 105", "115 114"},
        {BIT(QUEUED) | BIT(RUNNING), "111 110 102 101", "111 110"},
        {BIT(PAUSED) | BIT(COMPLETED), "114 112 105 103", "114 112"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_list ask = ask_states(rows[i].states);
        check_list(&desk, ask, rows[i].all);
        ask.queue = PAWL_STR("sound");
        check_list(&desk, ask, rows[i].sound);
    }
    desk_close(&desk);
}

STORE_TEST("finished tasks come last finished first, equal ones by key")
{
    struct desk desk;
    begin_with_queues(lab);
    static const int64_t finished[] = {5, 9, 5, 1, 5, 9};
    for (size_t i = 0; i < COUNT_OF(finished); i++) {
        put_task(lab, 100 + (int64_t)i, QUEUE, PAWL_TASK_COMPLETED)->finished_at_ms = finished[i];
    }
    lab_commit(lab);
    desk_open(&desk, lab);
    check_list(&desk, ask_states(BIT(COMPLETED)), "105 101 104 102 100 103");
    desk_close(&desk);
}

STORE_TEST("running tasks come first due first, equal ones by key")
{
    struct desk desk;
    begin_with_queues(lab);
    static const int64_t due[] = {5, 9, 5, 1, 5, 9};
    for (size_t i = 0; i < COUNT_OF(due); i++) {
        put_task(lab, 100 + (int64_t)i, QUEUE, PAWL_TASK_RUNNING)->due_at_ms = due[i];
    }
    (void)put_deferred(lab, 107, QUEUE, 3);
    lab_commit(lab);
    desk_open(&desk, lab);
    check_list(&desk, ask_states(BIT(RUNNING)), "103 100 102 104 101 105");
    desk_close(&desk);
}

STORE_TEST("blocked tasks are listed newest first")
{
    struct desk desk;
    begin_with_queues(lab);
    (void)put_task(lab, 99, QUEUE, PAWL_TASK_CANCELLED);
    for (int64_t i = 100; i < 106; i++) {
        struct pawl_task_row *task = put_deferred(lab, i, i % 2 == 0 ? QUEUE : OTHER_QUEUE, 0);
        task->open_dependencies = 1;
        if (i != 103) task->blocked_by = 99;
    }
    lab_commit(lab);
    desk_open(&desk, lab);
    struct pawl_list ask = ask_states(0);
    ask.is_blocked = true;
    check_list(&desk, ask, "105 104 102 101 100");
    ask.queue = PAWL_STR("mail");
    check_list(&desk, ask, "104 102 100");
    ask.states = BIT(PAUSED);
    check_list(&desk, ask, "");
    ask.states = 0;
    ask.is_ready = true;
    check_list(&desk, ask, "");
    struct pawl_page page;
    ask = ask_states(0);
    ask.is_blocked = true;
    CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
    CHECK_STR("t-99", page.tasks[0].blocked_by);
    desk_close(&desk);
}

STORE_TEST("a page that looks for what is rare ends with a cursor, short, and the next one goes on")
{
    enum { TASKS = 3000 };
    struct desk desk;
    begin_with_queues(lab);
    for (int64_t i = 0; i < TASKS; i++) {
        (void)put_task(lab, 100 + i, QUEUE, i == 7 ? PAWL_TASK_PENDING : PAWL_TASK_QUEUED);
    }
    lab_commit(lab);
    desk_open(&desk, lab);
    struct pawl_list ask = ask_states(BIT(PENDING));
    struct pawl_page page;
    int32_t pages = 0;
    ask.limit = 1;
    do {
        CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
        pages++;
        CHECK_EQ(pages == 3 ? 1 : 0, page.count);
        ask.cursor = page.cursor;
    } while (ask.cursor.len > 0);
    CHECK_EQ(3, pages); /* 1020 rows each */
    CHECK_STR("t-107", page.tasks[0].id);
    desk_close(&desk);
}

/* What changes between two pages of a list of all: rows before the cursor and after it go, come and
 * move. */
static void change_between_pages(struct lab *lab, int32_t page)
{
    lab_begin(lab);
    (void)put_task(lab, 500 + page, QUEUE,
                   PAWL_TASK_QUEUED); /* newer than all: never in a later page */
    struct pawl_entry *entry = lab_look(lab, PAWL_LOOK_TASK, 199 - 10 * page, NULL, 0, 0);
    struct pawl_task_row *task = pawl_set_change(&lab->set, entry);
    task->state = PAWL_TASK_PAUSED; /* one that has been shown */
    task->rank = PAWL_RANK_NONE;
    task->version++;
    lab_commit(lab);
}

STORE_TEST("pages of a list that changes meanwhile lose and repeat nothing that stays")
{
    struct desk desk;
    begin_with_queues(lab);
    for (int64_t i = 100; i < 200; i++) (void)put_task(lab, i, QUEUE, PAWL_TASK_QUEUED);
    lab_commit(lab);
    desk_open(&desk, lab);
    struct pawl_list ask = ask_states(0);
    int64_t expected = 199;
    ask.limit = 10;
    for (int32_t pages = 0; pages == 0 || ask.cursor.len > 0; pages++) {
        struct pawl_page page;
        CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
        CHECK_EQ(10, page.count);
        for (size_t i = 0; i < page.count; i++) CHECK_EQ(expected--, number_of(&page.tasks[i]));
        ask.cursor = page.cursor;
        change_between_pages(lab, pages);
    }
    CHECK_EQ(99, expected);
    desk_close(&desk);
}

/* Somebody claims it: it is not ready any more. */
static void take_away(struct lab *lab, int64_t key)
{
    lab_begin(lab);
    struct pawl_entry *entry = lab_look(lab, PAWL_LOOK_TASK, key, NULL, 0, 0);
    struct pawl_task_row *task = pawl_set_change(&lab->set, entry);
    task->state = PAWL_TASK_PAUSED;
    task->rank = PAWL_RANK_NONE;
    task->version++;
    lab_commit(lab);
}

STORE_TEST("the same of ready tasks, some of which are claimed between the pages")
{
    enum { FIRST = 100, END = 140 };
    struct desk desk;
    bool is_gone[END + 5] = {false};
    begin_with_queues(lab);
    for (int64_t i = FIRST; i < END; i++) {
        (void)put_ready(lab, i, i % 2 == 0 ? QUEUE : OTHER_QUEUE, 20, LAB_START_MS);
    }
    lab_commit(lab);
    desk_open(&desk, lab);
    struct pawl_list ask = ask_states(0);
    int64_t expected = FIRST;
    ask.is_ready = true;
    ask.limit = 7;
    for (int32_t pages = 0; pages == 0 || ask.cursor.len > 0; pages++) {
        struct pawl_page page;
        CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
        for (size_t i = 0; i < page.count; i++) {
            while (is_gone[expected]) expected++;
            CHECK_EQ(expected, number_of(&page.tasks[i]));
            expected++;
        }
        ask.cursor = page.cursor;
        /* the one at which the cursor stands goes, and one that the next page would have shown */
        take_away(lab, expected - 1);
        if (expected + 3 < END) take_away(lab, expected + 3);
        is_gone[expected + 3] = true;
    }
    CHECK_EQ(END, expected);
    desk_close(&desk);
}

STORE_TEST("a cursor that no such list has given is INVALID and names the field")
{
    struct desk desk;
    put_every_state(lab);
    desk_open(&desk, lab);
    static const char *const bad[] = {"x",
                                      "1",
                                      "1w",
                                      "1w.",
                                      "1w.0",
                                      "1w.0.",
                                      "1w.0.-1",
                                      "1w.0.1x",
                                      "1w.0.1.1",
                                      "2w.0.1",
                                      "1z.0.1",
                                      "1a.0.1",
                                      "w.0.1",
                                      "11w.0.1",
                                      "1w..1",
                                      "1w.a.1",
                                      "1w.0.99999999999999999999"};
    struct pawl_list ask = ask_states(0);
    struct pawl_page page = {.count = 77};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ask.cursor = pawl_str_of(bad[i]);
        CHECK_CODE(PAWL_INVALID, pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err));
        CHECK(strncmp("cursor: ", desk.err.text, 8) == 0);
    }
    CHECK_EQ(77, page.count);

    ask.cursor = none;
    ask.limit = 1;
    CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
    ask.cursor = page.cursor;
    CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
    ask.states = BIT(COMPLETED); /* another list's */
    CHECK_CODE(PAWL_INVALID, pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err));
    CHECK_TEXT("cursor: it is of a list with another filter", desk.err.text);
    desk_close(&desk);
}

STORE_TEST("limits are 1 to 1000, 0 is 100; all else is INVALID and names the field")
{
    struct desk desk;
    struct pawl_page page;
    struct pawl_events events;
    struct pawl_log_lines lines;
    begin_with_queues(lab);
    for (int64_t i = 100; i < 250; i++) {
        (void)put_task(lab, i, QUEUE, PAWL_TASK_QUEUED);
        lab_put_event(lab, i, 1);
    }
    lab_commit(lab);
    desk_open(&desk, lab);
    struct pawl_list ask = ask_states(0);
    CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
    CHECK_EQ(100, page.count);
    CHECK_OK(pawl_read_events(desk.reader, 0, 0, desk.keep, &events, &desk.err), &desk.err);
    CHECK_EQ(100, events.count);
    static const int32_t bad[] = {-1, 1001, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct pawl_reader *reader = desk.reader;
        struct pawl_str id = PAWL_STR("t-100");
        ask.limit = bad[i];
        CHECK_CODE(PAWL_INVALID, pawl_read_list(reader, &ask, desk.keep, &page, &desk.err));
        CHECK(strncmp("limit: ", desk.err.text, 7) == 0);
        CHECK_CODE(PAWL_INVALID, pawl_read_events(reader, 0, bad[i], desk.keep, &events, NULL));
        CHECK_CODE(PAWL_INVALID,
                   pawl_read_history(reader, id, 0, bad[i], desk.keep, &events, NULL));
        CHECK_CODE(PAWL_INVALID, pawl_read_logs(reader, id, 0, bad[i], desk.keep, &lines, NULL));
        CHECK_CODE(PAWL_INVALID, pawl_read_consumer(reader, id, bad[i], desk.keep, &events, NULL));
    }
    ask.limit = 1000;
    CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
    CHECK_EQ(150, page.count);
    ask.states = 1u << 9;
    CHECK_CODE(PAWL_INVALID, pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err));
    CHECK(strncmp("states: ", desk.err.text, 8) == 0);
    desk_close(&desk);
}

STORE_TEST("a page with payloads ends when it is large, and the next one goes on")
{
    enum { BODY_BYTES = 6 * 1024 * 1024, TASKS = 5 };
    struct desk desk;
    begin_with_queues(lab);
    char *body = pawl_arena_take(lab->arena, BODY_BYTES);
    CHECK(body != NULL);
    memset(body, '7', BODY_BYTES);
    for (int64_t i = 0; i < TASKS; i++) {
        struct pawl_task_row *task = put_task(lab, 100 + i, QUEUE, PAWL_TASK_QUEUED);
        struct pawl_str text = {body, BODY_BYTES};
        task->payloads |= 1u << PAWL_PAYLOAD_INPUT;
        pawl_set_put(&lab->set, PAWL_LOOK_PAYLOAD, task->key * PAWL_PAYLOAD_KINDS_MAX, none, 0,
                     LAB_TAKE(lab, text));
    }
    lab_commit(lab);
    desk_open(&desk, lab);
    struct pawl_list ask = ask_states(0);
    struct pawl_page page;
    ask.with_payload = true;
    CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
    CHECK_EQ(3, page.count);
    CHECK_EQ(BODY_BYTES, page.tasks[2].input.len);
    CHECK(page.cursor.len > 0);
    char cursor[64];
    (void)snprintf(cursor, sizeof cursor, "%.*s", PAWL_STR_ARG(page.cursor));
    ask.cursor = pawl_str_of(cursor);
    pawl_arena_reset(desk.keep);
    CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
    CHECK_EQ(2, page.count);
    CHECK_STR("t-101", page.tasks[0].id);
    CHECK_EQ(0, page.cursor.len);
    desk_close(&desk);
}

STORE_TEST("what does not fit in keep is TOO_LARGE, and the reader goes on")
{
    struct desk desk;
    put_every_state(lab);
    desk_open(&desk, lab);
    struct pawl_arena *small;
    struct pawl_list ask = ask_states(0);
    struct pawl_page page = {.count = 77};
    struct pawl_task task = {.version = 77};
    struct pawl_queues queues = {.count = 77};
    struct pawl_events events = {.count = 77};
    for (size_t bytes = 16; bytes < 4096; bytes += 16) {
        CHECK_OK(pawl_arena_open(&small, bytes), NULL);
        CHECK_CODE(PAWL_TOO_LARGE, pawl_read_list(desk.reader, &ask, small, &page, &desk.err));
        CHECK(desk.err.text[0] != '\0');
        pawl_arena_close(small);
    }
    enum pawl_code code = PAWL_TOO_LARGE;
    for (size_t bytes = 1; code != PAWL_OK; bytes++) {
        struct pawl_task found;
        CHECK_OK(pawl_arena_open(&small, bytes), NULL);
        code = pawl_read_task(desk.reader, PAWL_STR("t-111"), true, small, &found, &desk.err);
        CHECK(code == PAWL_OK || code == PAWL_TOO_LARGE);
        pawl_arena_close(small);
    }
    code = PAWL_TOO_LARGE;
    for (size_t bytes = 1; code != PAWL_OK; bytes++) {
        struct pawl_str why;
        CHECK_OK(pawl_arena_open(&small, bytes), NULL);
        code = pawl_read_why(desk.reader, PAWL_STR("t-111"), small, &why, &desk.err);
        CHECK(code == PAWL_OK || code == PAWL_TOO_LARGE);
        pawl_arena_close(small);
    }
    CHECK_OK(pawl_arena_open(&small, 16), NULL);
    CHECK_CODE(PAWL_TOO_LARGE, pawl_read_queues(desk.reader, small, &queues, &desk.err));
    pawl_arena_reset(small);
    CHECK_CODE(PAWL_TOO_LARGE, pawl_read_events(desk.reader, 0, 0, small, &events, &desk.err));
    pawl_arena_reset(small);
    CHECK_CODE(PAWL_TOO_LARGE,
               pawl_read_task(desk.reader, PAWL_STR("t-100"), true, small, &task, &desk.err));
    pawl_arena_close(small);
    CHECK_EQ(77, page.count);
    CHECK_EQ(77, task.version);
    CHECK_EQ(77, queues.count);
    CHECK_EQ(77, events.count);
    CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
    CHECK_EQ(2 * PAWL_TASK_STATE_COUNT, page.count);
    desk_close(&desk);
}

/* ---- Checkpoints, logs, late results --------------------------------------------------------- */

STORE_TEST("T-017 two checkpoints: the latest without an id, the first by its id, state intact")
{
    struct desk desk;
    struct pawl_checkpoints all;
    struct pawl_checkpoint one;
    begin_with_queues(lab);
    (void)put_task(lab, 100, QUEUE, PAWL_TASK_QUEUED);
    (void)put_task(lab, 101, QUEUE, PAWL_TASK_QUEUED);
    put_checkpoint(lab, 50, 100, 9, LAB_START_MS + 2, "{\"n\": 9007199254740993}");
    put_checkpoint(lab, 51, 100, 3, LAB_START_MS + 1, "[129.9]");
    put_checkpoint(lab, 52, 101, 1, LAB_START_MS + 1, "0");
    lab_commit(lab);

    desk_open(&desk, lab);
    struct pawl_str id = PAWL_STR("t-100");
    CHECK_OK(pawl_read_checkpoints(desk.reader, id, desk.keep, &all, &desk.err), &desk.err);
    CHECK_EQ(2, all.count);
    CHECK_EQ(9, all.checkpoints[0].step);
    CHECK_EQ(3, all.checkpoints[1].step);
    CHECK_EQ(1, all.checkpoints[1].epoch);
    CHECK_EQ(LAB_START_MS + 1, all.checkpoints[1].at_ms);
    CHECK(pawl_uuid_is(all.checkpoints[0].id));

    CHECK_OK(pawl_read_checkpoint(desk.reader, id, none, desk.keep, &one, &desk.err), &desk.err);
    CHECK_STR("[129.9]", one.state);
    CHECK_OK(
        pawl_read_checkpoint(desk.reader, id, all.checkpoints[0].id, desk.keep, &one, &desk.err),
        &desk.err);
    CHECK_STR("{\"n\": 9007199254740993}", one.state);
    CHECK_EQ(9, one.step);
    CHECK(pawl_str_equal(all.checkpoints[0].id, one.id));
    desk_close(&desk);
}

STORE_TEST("T-019 restore: none at all is STATE, an id of nothing or of another task is NOT_FOUND")
{
    struct desk desk;
    struct pawl_checkpoint one = {.step = 77};
    begin_with_queues(lab);
    (void)put_task(lab, 100, QUEUE, PAWL_TASK_QUEUED);
    (void)put_task(lab, 101, QUEUE, PAWL_TASK_QUEUED);
    (void)put_task(lab, 102, QUEUE, PAWL_TASK_QUEUED);
    put_checkpoint(lab, 50, 100, 9, LAB_START_MS, "1");
    put_checkpoint(lab, 49, 101, 9, LAB_START_MS, "1");
    lab_commit(lab);

    desk_open(&desk, lab);
    struct pawl_str store = lab->head.store_id;
    const struct pawl_str any[] = {none, PAWL_STR("x"),
                                   pawl_checkpoint_id(store, 50, LAB_START_MS, desk.keep)};
    for (size_t i = 0; i < COUNT_OF(any); i++) {
        CHECK_CODE(PAWL_STATE, pawl_read_checkpoint(desk.reader, PAWL_STR("t-102"), any[i],
                                                    desk.keep, &one, &desk.err));
        CHECK_TEXT("task t-102 has no checkpoints", desk.err.text);
    }
    const struct {
        const char *task;
        struct pawl_str id;
    } rows[] = {
        {"t-100", PAWL_STR("x")},
        {"t-100", pawl_checkpoint_id(store, 51, LAB_START_MS, desk.keep)},
        {"t-100", pawl_checkpoint_id(store, 50, LAB_START_MS + 1, desk.keep)},
        {"t-100", pawl_event_id(store, 50, LAB_START_MS, desk.keep)},
        {"t-101", pawl_checkpoint_id(store, 50, LAB_START_MS, desk.keep)},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_CODE(PAWL_NOT_FOUND, pawl_read_checkpoint(desk.reader, pawl_str_of(rows[i].task),
                                                        rows[i].id, desk.keep, &one, &desk.err));
    }
    CHECK_EQ(77, one.step);
    CHECK_OK(pawl_read_checkpoint(desk.reader, PAWL_STR("t-100"),
                                  pawl_checkpoint_id(store, 50, LAB_START_MS, desk.keep), desk.keep,
                                  &one, &desk.err),
             &desk.err);
    CHECK_STR("1", one.state);
    desk_close(&desk);
}

STORE_TEST("log lines are read oldest first, after a number")
{
    struct desk desk;
    struct pawl_log_lines lines;
    begin_with_queues(lab);
    (void)put_task(lab, 100, QUEUE, PAWL_TASK_QUEUED);
    for (int64_t i = 0; i < 5; i++) {
        struct pawl_log_row row = {.key = 50 + i,
                                   .task = i == 3 ? 101 : 100,
                                   .epoch = 2,
                                   .at_ms = LAB_START_MS + i,
                                   .text = pawl_arena_format(lab->arena, "line %" PRId64, i)};
        pawl_set_append(&lab->set, PAWL_APPEND_LOG, LAB_TAKE(lab, row));
    }
    lab_commit(lab);
    desk_open(&desk, lab);
    struct pawl_str id = PAWL_STR("t-100");
    CHECK_OK(pawl_read_logs(desk.reader, id, 0, 3, desk.keep, &lines, &desk.err), &desk.err);
    CHECK_EQ(3, lines.count);
    CHECK_STR("line 2", lines.lines[2].text);
    CHECK_EQ(2, lines.lines[2].epoch);
    CHECK_EQ(LAB_START_MS + 2, lines.lines[2].at_ms);
    CHECK_OK(
        pawl_read_logs(desk.reader, id, lines.lines[2].number, 3, desk.keep, &lines, &desk.err),
        &desk.err);
    CHECK_EQ(1, lines.count);
    CHECK_STR("line 4", lines.lines[0].text);
    desk_close(&desk);
}

STORE_TEST("late results are read oldest first")
{
    struct desk desk;
    struct pawl_late_results late;
    begin_with_queues(lab);
    (void)put_task(lab, 100, QUEUE, PAWL_TASK_QUEUED);
    static const char *const kinds[] = {"complete", "fail", "release", "pause", "cancel"};
    for (int64_t i = 0; i < 5; i++) {
        struct pawl_late_row row = {.key = 50 + i,
                                    .task = 100,
                                    .epoch = i,
                                    .at_ms = LAB_START_MS + i,
                                    .owner = PAWL_STR("w-9"),
                                    .kind = (enum pawl_outcome_kind)(i + 1),
                                    .body = PAWL_STR("\"late\"")};
        pawl_set_append(&lab->set, PAWL_APPEND_LATE, LAB_TAKE(lab, row));
    }
    lab_commit(lab);
    desk_open(&desk, lab);
    CHECK_OK(pawl_read_late(desk.reader, PAWL_STR("t-100"), desk.keep, &late, &desk.err),
             &desk.err);
    CHECK_EQ(5, late.count);
    for (size_t i = 0; i < late.count; i++) {
        CHECK_STR(kinds[i], late.results[i].kind);
        CHECK_EQ(i, late.results[i].epoch);
        CHECK_EQ(LAB_START_MS + (int64_t)i, late.results[i].at_ms);
        CHECK_STR("w-9", late.results[i].owner);
        CHECK_STR("\"late\"", late.results[i].body);
    }
    desk_close(&desk);
}

/* ---- Queues ---------------------------------------------------------------------------------- */

STORE_TEST("queues are listed by name, with what is ready, deferred and running counted, and the "
           "oldest ready one")
{
    struct desk desk;
    struct pawl_queues queues;
    begin_with_queues(lab);
    struct pawl_queue_row alpha = {.key = 10,
                                   .name = PAWL_STR("alpha"),
                                   .is_paused = true,
                                   .lease_ms = 5000,
                                   .retry = {7, PAWL_BACKOFF_FIXED, 1, 2, 3}};
    pawl_set_put(&lab->set, PAWL_LOOK_QUEUE, 10, none, 0, LAB_TAKE(lab, alpha));
    (void)put_ready(lab, 100, QUEUE, 40, LAB_START_MS + 50);
    (void)put_ready(lab, 101, QUEUE, 20, LAB_START_MS + 10);
    (void)put_ready(lab, 102, QUEUE, 20, LAB_START_MS + 70);
    (void)put_ready(lab, 103, QUEUE, 0, LAB_START_MS + 20);
    (void)put_deferred(lab, 104, QUEUE, LAB_START_MS + 1000);
    (void)put_task(lab, 105, QUEUE, PAWL_TASK_RUNNING);
    (void)put_task(lab, 106, QUEUE, PAWL_TASK_RUNNING);
    (void)put_task(lab, 107, QUEUE, PAWL_TASK_COMPLETED);
    (void)put_task(lab, 108, OTHER_QUEUE, PAWL_TASK_RUNNING);
    (void)put_ready(lab, 109, 10, 99, LAB_START_MS + 3);
    lab_commit(lab);

    desk_open(&desk, lab);
    CHECK_OK(pawl_read_queues(desk.reader, desk.keep, &queues, &desk.err), &desk.err);
    CHECK_EQ(3, queues.count);
    const struct pawl_queue *queue = queues.queues;
    CHECK_STR("alpha", queue[0].name);
    CHECK(queue[0].is_paused);
    CHECK_EQ(5000, queue[0].lease_ms);
    CHECK_EQ(7, queue[0].retry.max_retries);
    CHECK_EQ(PAWL_BACKOFF_FIXED, queue[0].retry.backoff);
    CHECK_EQ(1, queue[0].ready);
    CHECK_EQ(0, queue[0].deferred + queue[0].running);
    CHECK_EQ(LAB_START_MS + 3, queue[0].oldest_ready_at_ms);
    CHECK_STR("mail", queue[1].name);
    CHECK(!queue[1].is_paused);
    CHECK_EQ(4, queue[1].ready);
    CHECK_EQ(1, queue[1].deferred);
    CHECK_EQ(2, queue[1].running);
    CHECK_EQ(LAB_START_MS + 10, queue[1].oldest_ready_at_ms);
    CHECK_STR("sound", queue[2].name);
    CHECK_EQ(0, queue[2].ready);
    CHECK_EQ(1, queue[2].running);
    CHECK_EQ(0, queue[2].oldest_ready_at_ms);
    desk_close(&desk);
}

STORE_TEST("a thousand queues and more are all listed, and their ready tasks merged")
{
    enum { QUEUES = PAWL_READ_QUEUES_MAX + 10 };
    struct desk desk;
    struct pawl_queues queues;
    lab_begin(lab);
    for (int32_t i = 0; i < QUEUES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "q-%04" PRId32, i);
        lab_put_queue(lab, 10 + i, name);
        (void)put_ready(lab, 5000 + i, 10 + i, 20, LAB_START_MS + QUEUES - i);
    }
    lab_commit(lab);
    desk_open(&desk, lab);
    CHECK_OK(pawl_read_queues(desk.reader, desk.keep, &queues, &desk.err), &desk.err);
    CHECK_EQ(QUEUES, queues.count);
    for (size_t i = 0; i < queues.count; i++) CHECK_EQ(1, queues.queues[i].ready);
    struct pawl_list ask = ask_states(0);
    struct pawl_page page;
    ask.is_ready = true;
    ask.limit = 3;
    CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
    CHECK_STR("t-6009", page.tasks[0].id);
    CHECK_STR("t-6007", page.tasks[2].id);
    desk_close(&desk);
}

/* ---- Why ------------------------------------------------------------------------------------- */

static void check_why(struct desk *desk, const char *id, const char *want)
{
    struct pawl_str why;
    CHECK_OK(pawl_read_why(desk->reader, pawl_str_of(id), desk->keep, &why, &desk->err),
             &desk->err);
    CHECK_STR(want, why);
}

STORE_TEST("why says of what has come due that it waits for somebody who runs timers")
{
    /* 2020 has passed on every server's clock, and 2100 on none */
    const int64_t past_ms = INT64_C(1577836800000);
    const int64_t future_ms = INT64_C(4102444800000);
    struct desk desk;
    begin_with_queues(lab);
    put_task(lab, 100, QUEUE, PAWL_TASK_RUNNING)->lease_end_at_ms = past_ms;
    struct pawl_task_row *asked = put_task(lab, 101, QUEUE, PAWL_TASK_RUNNING);
    asked->lease_end_at_ms = past_ms;
    asked->control = PAWL_CONTROL_PAUSE;
    put_task(lab, 102, QUEUE, PAWL_TASK_RUNNING)->lease_end_at_ms = future_ms;
    (void)put_deferred(lab, 103, QUEUE, past_ms);
    put_deferred(lab, 104, QUEUE, past_ms)->retries = 2;
    (void)put_deferred(lab, 105, QUEUE, future_ms);
    struct pawl_task_row *cancelled = put_task(lab, 106, QUEUE, PAWL_TASK_RUNNING);
    cancelled->lease_end_at_ms = future_ms;
    cancelled->control = PAWL_CONTROL_CANCEL;
    cancelled->control_deadline_at_ms = past_ms;
    struct pawl_task_row *timed = put_task(lab, 107, QUEUE, PAWL_TASK_RUNNING);
    timed->lease_end_at_ms = future_ms;
    timed->timeout_ms = 1000;
    timed->attempt_end_at_ms = past_ms;
    struct pawl_task_row *paused = put_task(lab, 108, QUEUE, PAWL_TASK_RUNNING);
    paused->lease_end_at_ms = future_ms;
    paused->control = PAWL_CONTROL_PAUSE;
    paused->control_deadline_at_ms = past_ms;
    struct pawl_task_row *all = put_task(lab, 109, QUEUE, PAWL_TASK_RUNNING);
    all->lease_end_at_ms = past_ms;
    all->timeout_ms = 1000;
    all->attempt_end_at_ms = past_ms - 1;
    all->control = PAWL_CONTROL_CANCEL;
    all->control_deadline_at_ms = past_ms - 1;
    lab_commit(lab);

    desk_open(&desk, lab);
    desk.reader->env = &lab->world.env;
    check_why(&desk, "t-100",
              "worker w-1 was at attempt 1 of 4; its lease ended at 2020-01-01T00:00:00.000Z; it is "
              "taken back when a worker, or another program that runs timers, opens the store");
    check_why(&desk, "t-101",
              "worker w-1 was at attempt 1 of 4, and has been asked to pause; its lease ended at "
              "2020-01-01T00:00:00.000Z; it is taken back when a worker, or another program that "
              "runs timers, opens the store");
    check_why(&desk, "t-102",
              "worker w-1 is at attempt 1 of 4, under a lease until 2100-01-01T00:00:00.000Z");
    check_why(&desk, "t-103",
              "it is deferred until 2020-01-01T00:00:00.000Z, which has passed; it becomes ready "
              "when a worker, or another program that runs timers, opens the store");
    check_why(&desk, "t-104",
              "attempt 2 failed; it is deferred until 2020-01-01T00:00:00.000Z, which has passed; "
              "it becomes ready when a worker, or another program that runs timers, opens the "
              "store");
    check_why(&desk, "t-105", "it is deferred until 2100-01-01T00:00:00.000Z");
    check_why(&desk, "t-106",
              "worker w-1 was at attempt 1 of 4, and has been asked to cancel; the deadline for "
              "that was 2020-01-01T00:00:00.000Z; it is cancelled when a worker, or another "
              "program that runs timers, opens the store");
    check_why(&desk, "t-107",
              "worker w-1 was at attempt 1 of 4; the attempt timed out at "
              "2020-01-01T00:00:00.000Z; the attempt is failed when a worker, or another program "
              "that runs timers, opens the store");
    check_why(&desk, "t-108",
              "worker w-1 is at attempt 1 of 4, under a lease until 2100-01-01T00:00:00.000Z, and "
              "was asked to pause until 2020-01-01T00:00:00.000Z, which it has not answered");
    check_why(&desk, "t-109",
              "worker w-1 was at attempt 1 of 4, and has been asked to cancel; the deadline for "
              "that was 2019-12-31T23:59:59.999Z; it is cancelled when a worker, or another "
              "program that runs timers, opens the store");
    desk_close(&desk);
}

STORE_TEST("the clock of why is the store's, and the wall's after a reboot")
{
    struct desk desk;
    begin_with_queues(lab);
    (void)put_deferred(lab, 100, QUEUE, LAB_START_MS + 1000);
    lab_commit(lab);
    desk_open(&desk, lab);
    if (desk.reader->db->driver->clock != NULL) { /* the server's, which nobody here can move */
        desk_close(&desk);
        return;
    }
    desk.reader->env = &lab->world.env;
    const char *deferred = "it is deferred until 2027-01-15T08:00:01.000Z";
    const char *passed = "it is deferred until 2027-01-15T08:00:01.000Z, which has passed; it "
                         "becomes ready when a worker, or another program that runs timers, opens "
                         "the store";
    check_why(&desk, "t-100", deferred);
    lab->world.wall_ms += 5000; /* a step of the wall clock */
    check_why(&desk, "t-100", deferred);
    lab->world.boot_ms += 1000;
    check_why(&desk, "t-100", passed);
    lab->world.env.boot_id = PAWL_STR("another boot");
    check_why(&desk, "t-100", passed);
    lab->world.wall_ms -= 6000;
    check_why(&desk, "t-100", deferred);
    desk_close(&desk);
}

STORE_TEST("why a task is not being worked on is told in one sentence")
{
    struct desk desk;
    begin_with_queues(lab);
    struct pawl_queue_row asleep = {.key = 11, .name = PAWL_STR("asleep"), .is_paused = true};
    pawl_set_put(&lab->set, PAWL_LOOK_QUEUE, 11, none, 0, LAB_TAKE(lab, asleep));
    (void)put_task(lab, 100, QUEUE, PAWL_TASK_PENDING);
    (void)put_ready(lab, 101, QUEUE, 20, LAB_START_MS);
    /* of what lies ahead on every clock, PostgreSQL's too */
    const int64_t ahead_ms = INT64_C(4102444800000);
    struct pawl_task_row *held = put_task(lab, 102, QUEUE, PAWL_TASK_RUNNING);
    held->retries = 1;
    held->lease_end_at_ms = ahead_ms;
    (void)put_task(lab, 103, QUEUE, PAWL_TASK_PAUSED);
    struct pawl_task_row *lost = put_task(lab, 104, QUEUE, PAWL_TASK_RECOVERY_PENDING);
    lost->owner = WORKER;
    (void)put_task(lab, 105, QUEUE, PAWL_TASK_COMPLETED);
    (void)put_task(lab, 106, QUEUE, PAWL_TASK_FAILED);
    (void)put_task(lab, 107, QUEUE, PAWL_TASK_CANCELLED);
    put_task(lab, 108, QUEUE, PAWL_TASK_DEAD_LETTER)->retries = 4;
    (void)put_ready(lab, 109, QUEUE, 10, LAB_START_MS + 1);
    (void)put_ready(lab, 110, 11, 20, LAB_START_MS);
    (void)put_deferred(lab, 111, QUEUE, ahead_ms);
    put_deferred(lab, 112, QUEUE, ahead_ms)->retries = 2;
    struct pawl_task_row *blocked = put_deferred(lab, 113, QUEUE, 0);
    blocked->open_dependencies = 1;
    blocked->blocked_by = 107;
    put_deferred(lab, 114, QUEUE, 0)->open_dependencies = 1;
    put_dependency(lab, 114, 0, 105, NULL, false);
    put_dependency(lab, 114, 1, 102, NULL, true);
    put_deferred(lab, 115, QUEUE, 0)->open_dependencies = 7;
    put_dependency(lab, 115, 0, 0, "to-come", true);
    for (int32_t i = 1; i < 7; i++) put_dependency(lab, 115, i, 100 + i, NULL, true);
    struct pawl_task_row *asked = put_task(lab, 116, QUEUE, PAWL_TASK_RUNNING);
    asked->lease_end_at_ms = ahead_ms;
    asked->control = PAWL_CONTROL_CANCEL;
    lab_commit(lab);

    desk_open(&desk, lab);
    check_why(&desk, "t-100", "it is held: nobody has queued it yet");
    check_why(&desk, "t-101",
              "it is ready since 2027-01-15T08:00:00.000Z, with 0 tasks before it in queue mail");
    check_why(&desk, "t-102",
              "worker w-1 is at attempt 2 of 4, under a lease until 2100-01-01T00:00:00.000Z");
    check_why(&desk, "t-103", "it is paused since 2027-01-15T08:00:00.000Z");
    check_why(&desk, "t-104",
              "the lease of worker w-1 ended, and what became of its work is not known yet");
    check_why(&desk, "t-105", "it completed at 2027-01-15T08:00:00.105Z");
    check_why(&desk, "t-106",
              "it was resolved as FAILED at 2027-01-15T08:00:00.106Z; a person may resume it");
    check_why(&desk, "t-107", "it was cancelled at 2027-01-15T08:00:00.107Z");
    check_why(
        &desk, "t-108",
        "it is a dead letter since 2027-01-15T08:00:00.108Z, after attempt 4 failed; a person has "
        "to resume it");
    check_why(&desk, "t-109",
              "it is ready since 2027-01-15T08:00:00.001Z, with 1 task before it in queue mail");
    check_why(&desk, "t-110", "queue asleep is paused");
    check_why(&desk, "t-111", "it is deferred until 2100-01-01T00:00:00.000Z");
    check_why(&desk, "t-112", "attempt 2 failed; it is deferred until 2100-01-01T00:00:00.000Z");
    check_why(&desk, "t-113",
              "it depends on task t-107, which is CANCELLED and can no longer complete by itself");
    check_why(&desk, "t-114", "it waits for 1 task to complete: t-102 (RUNNING)");
    check_why(
        &desk, "t-115",
        "it waits for 7 tasks to complete: to-come (does not exist yet), t-101 (QUEUED), t-102 "
        "(RUNNING), t-103 (PAUSED), t-104 (RECOVERY_PENDING) and 2 more");
    check_why(
        &desk, "t-116",
        "worker w-1 is at attempt 1 of 4, under a lease until 2100-01-01T00:00:00.000Z, and has "
        "been asked to cancel");
    desk_close(&desk);
}

STORE_TEST("those before a task are counted up to a thousand")
{
    struct desk desk;
    begin_with_queues(lab);
    for (int64_t i = 0; i < 1003; i++) (void)put_ready(lab, 1000 + i, QUEUE, 20, LAB_START_MS);
    lab_commit(lab);
    desk_open(&desk, lab);
    check_why(
        &desk, "t-2000",
        "it is ready since 2027-01-15T08:00:00.000Z, with 1000 tasks before it in queue mail");
    check_why(
        &desk, "t-2002",
        "it is ready since 2027-01-15T08:00:00.000Z, with more than 1000 tasks before it in queue "
        "mail");
    desk_close(&desk);
}

/* ---- The reader itself ----------------------------------------------------------------------- */

static void check_no_store(const void *kind)
{
    static struct lab lab;
    lab_prepare(&lab, kind);
    struct desk desk = {.lab = &lab};
    CHECK_CODE(PAWL_NOT_FOUND, try_reader(&desk));
    CHECK_CODE(PAWL_NOT_FOUND, try_reader(&desk)); /* the first try has made none either */
    CHECK(desk.reader == NULL);
    lab_close(&lab);
}

__attribute__((constructor)) static void add_no_store(void)
{
    static struct test_case tests[LAB_KINDS_MAX];
    static char names[LAB_KINDS_MAX][256];
    lab_add(tests, names, "a reader makes no store: what is not there is NOT_FOUND", __FILE__,
            __LINE__, check_no_store);
}

STORE_TEST("a reader sees each commit once it is done, and goes on when the writer has gone")
{
    struct desk desk;
    struct pawl_task task;
    begin_with_queues(lab);
    (void)put_task(lab, 100, QUEUE, PAWL_TASK_QUEUED);
    lab_commit(lab);
    desk_open(&desk, lab);
    lab_begin(lab);
    (void)put_task(lab, 101, QUEUE, PAWL_TASK_QUEUED);
    CHECK_OK(pawl_store_save(lab->store, &lab->set, &lab->err), &lab->err);
    CHECK_CODE(PAWL_NOT_FOUND,
               pawl_read_task(desk.reader, PAWL_STR("t-101"), false, desk.keep, &task, NULL));
    CHECK_OK(pawl_store_commit(lab->store, &lab->set, &lab->head, &lab->err), &lab->err);
    CHECK_OK(pawl_read_task(desk.reader, PAWL_STR("t-101"), false, desk.keep, &task, &desk.err),
             &desk.err);

    pawl_store_close(lab->store);
    lab->store = NULL;
    CHECK_OK(pawl_read_task(desk.reader, PAWL_STR("t-101"), false, desk.keep, &task, &desk.err),
             &desk.err);
    pawl_reader_close(desk.reader);
    CHECK_OK(try_reader(&desk), &desk.err); /* alone: nobody has the log open */
    CHECK_OK(pawl_read_task(desk.reader, PAWL_STR("t-101"), false, desk.keep, &task, &desk.err),
             &desk.err);
    desk_close(&desk);
}

/* Reads over and over on a thread of its own; counts what went wrong. */
struct rusher {
    struct desk *desk;
    struct pawl_arena *keep;
    int32_t failed;
};

static void *rush(void *argument)
{
    struct rusher *rusher = argument;
    struct pawl_list ask = ask_states(BIT(QUEUED));
    for (int32_t i = 0; i < 100; i++) {
        struct pawl_page page = {0};
        struct pawl_task task = {0};
        pawl_arena_reset(rusher->keep);
        struct pawl_reader *reader = rusher->desk->reader;
        enum pawl_code code = pawl_read_list(reader, &ask, rusher->keep, &page, NULL);
        if (code != PAWL_OK || page.count != 2) rusher->failed++;
        code = pawl_read_task(reader, PAWL_STR("t-100"), true, rusher->keep, &task, NULL);
        if (code != PAWL_OK || task.version != 1) rusher->failed++;
    }
    return NULL;
}

STORE_TEST("two threads may use one reader; one waits for the other")
{
    struct desk desk;
    struct rusher rushers[2];
    pthread_t threads[2];
    put_every_state(lab);
    desk_open(&desk, lab);
    for (size_t i = 0; i < COUNT_OF(rushers); i++) {
        rushers[i] = (struct rusher){.desk = &desk};
        CHECK_OK(pawl_arena_open(&rushers[i].keep, 0), NULL);
        CHECK_EQ(0, pthread_create(&threads[i], NULL, rush, &rushers[i]));
    }
    for (size_t i = 0; i < COUNT_OF(rushers); i++) {
        CHECK_EQ(0, pthread_join(threads[i], NULL));
        CHECK_EQ(0, rushers[i].failed);
        pawl_arena_close(rushers[i].keep);
    }
    desk_close(&desk);
}

/* Fails each statement of a read in turn. */
struct trap {
    int32_t left; /* statements until it springs */
    bool has_sprung;
};

static enum pawl_code spring(void *self, int32_t point, struct pawl_error *err)
{
    struct trap *trap = self;
    if (point == PAWL_SQL_ROLLBACK || trap->left-- > 0) return PAWL_OK;
    trap->has_sprung = true;
    return pawl_error_set(err, PAWL_IO, "a test broke it");
}

STORE_TEST("a read whose statement fails says so, ends its transaction, and the next one works")
{
    struct desk desk;
    struct pawl_page page = {.count = 77};
    put_every_state(lab);
    desk_open(&desk, lab);
    struct pawl_list ask = ask_states(BIT(QUEUED));
    int32_t broken = 0;
    for (;; broken++) {
        struct trap trap = {.left = broken};
        struct pawl_db_hook hook = {spring, &trap};
        CHECK_OK(pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err), &desk.err);
        CHECK_EQ(2, page.count);
        desk.reader->db->hook = hook;
        page.count = 77;
        enum pawl_code code = pawl_read_list(desk.reader, &ask, desk.keep, &page, &desk.err);
        if (!trap.has_sprung) break;
        /* a begin that fails is tried again on a new connection, which has no trap */
        CHECK(code == PAWL_IO || broken <= 1);
        CHECK_EQ(code == PAWL_OK ? 2 : 77, page.count);
    }
    CHECK(broken > 5);
    desk_close(&desk);
}

TEST_MAIN()
