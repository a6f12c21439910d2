/* What any store does, whichever database it is made of. */
#include "lab.h"

#include "base/str.h"
#include "core/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { QUEUE = 1, OTHER_QUEUE = 2 };

/* ---- Opening ----------------------------------------------------------------------------------
 */

STORE_TEST("a new store begins at position 0, and is the same store when it is opened again")
{
    lab_begin(lab);
    CHECK_EQ(0, lab->head.position);
    CHECK_EQ(1, lab->head.next_key);
    CHECK(pawl_uuid_is(lab->head.store_id));
    char id[PAWL_UUID_BYTES_MAX + 1] = "";
    memcpy(id, lab->head.store_id.ptr, lab->head.store_id.len);
    pawl_store_rollback(lab->store);

    lab_reopen(lab);
    lab_begin(lab);
    CHECK_STR(id, lab->head.store_id);
    pawl_store_rollback(lab->store);
}

TEST("a store that must exist and does not is NOT_FOUND, on every kind of store")
{
    static struct lab lab;
    for (size_t i = 0; i < lab_kind_count; i++) {
        lab_prepare(&lab, &lab_kinds[i]);
        struct pawl_store *store = NULL;
        CHECK_CODE(PAWL_NOT_FOUND, lab_store(&lab, true, &store));
        CHECK(store == NULL);
        lab_close(&lab);
    }
}

STORE_TEST("closing inside a transaction rolls it back")
{
    lab_begin(lab);
    (void)lab_put_task(lab, 1, QUEUE);
    CHECK_OK(pawl_store_save(lab->store, &lab->set, &lab->err), &lab->err);
    lab_reopen(lab);
    lab_begin(lab);
    CHECK(lab_task(lab, 1) == NULL);
    pawl_store_rollback(lab->store);
}

/* ---- Tasks ------------------------------------------------------------------------------------
 */

/* Every field has a value of its own. */
static struct pawl_task_row full_task(void)
{
    return (struct pawl_task_row){
        .key = 77,
        .id = PAWL_STR("task-77"),
        .queue = QUEUE,
        .state = PAWL_TASK_RUNNING,
        .priority = 33,
        .rank = PAWL_RANK_NONE,
        .due_at_ms = 1001,
        .version = 1002,
        .epoch = 1003,
        .lease_kind = PAWL_LEASE_CLIENT,
        .owner = 1004,
        .lease_ms = 1005,
        .lease_end_at_ms = 1006,
        .attempt_end_at_ms = 1007,
        .timeout_ms = 1008,
        .retry = {1009, PAWL_BACKOFF_FIXED, 1010, 1011, 1012},
        .retries = 1013,
        .recoveries = 1014,
        .crashes_in_row = 1015,
        .created_at_ms = 1016,
        .updated_at_ms = 1017,
        .started_at_ms = 1018,
        .progress = 12.25,
        .progress_epoch = 1019,
        .progress_event_at_ms = 1020,
        .control = PAWL_CONTROL_CANCEL,
        .control_deadline_at_ms = 1021,
        .sequence = 1022,
        .outcome_epoch = 1023,
        .outcome_kind = PAWL_OUTCOME_RELEASE,
        .outcome_digest = INT64_MIN,
        .dependency_policy = PAWL_DEPENDENCY_IGNORE,
        .open_dependencies = 1024,
        .blocked_by = 1025,
        .has_dependents = true,
        .payloads = 0x15,
        .checkpoint_count = 1026,
        .log_bytes = 1027,
        .payload_bytes = 1028,
        .checkpoint_bytes = 1029,
        .title = PAWL_STR("T\xC3\xBCr"),
        .correlation_id = PAWL_STR("correlation"),
        .idempotency_key = PAWL_STR("only once"),
        .body_digest = INT64_MAX,
        .lease_place = PAWL_STR("a place@a boot"),
    };
}

static void check_same(const struct pawl_task_row *want, const struct pawl_task_row *got)
{
    CHECK(got != NULL);
#define SAME(field) CHECK_EQ(want->field, got->field)
    SAME(key), SAME(queue), SAME(state), SAME(priority), SAME(rank), SAME(due_at_ms), SAME(version);
    SAME(epoch), SAME(lease_kind), SAME(owner), SAME(lease_ms), SAME(lease_end_at_ms);
    SAME(attempt_end_at_ms), SAME(timeout_ms), SAME(retry.max_retries), SAME(retry.backoff);
    SAME(retry.delay_ms), SAME(retry.delay_ms_max), SAME(retry.jitter_ms), SAME(retries);
    SAME(recoveries), SAME(crashes_in_row), SAME(ready_at_ms), SAME(created_at_ms);
    SAME(updated_at_ms), SAME(started_at_ms), SAME(finished_at_ms), SAME(progress_epoch);
    SAME(progress_event_at_ms), SAME(control), SAME(control_deadline_at_ms), SAME(sequence);
    SAME(outcome_epoch), SAME(outcome_kind), SAME(outcome_digest), SAME(dependency_policy);
    SAME(open_dependencies), SAME(blocked_by), SAME(has_dependents), SAME(payloads);
    SAME(checkpoint_count), SAME(log_bytes), SAME(payload_bytes), SAME(checkpoint_bytes);
    SAME(body_digest);
#undef SAME
    CHECK_NEAR(want->progress, got->progress, 0);
#define SAME_TEXT(field) \
    CHECK_BYTES(want->field.ptr, want->field.len, got->field.ptr, got->field.len)
    SAME_TEXT(id), SAME_TEXT(title), SAME_TEXT(correlation_id), SAME_TEXT(idempotency_key);
    SAME_TEXT(lease_place);
#undef SAME_TEXT
}

static void put_row(struct lab *lab, const struct pawl_task_row *row)
{
    pawl_set_put(&lab->set, PAWL_LOOK_TASK, row->key, (struct pawl_str){0}, 0, LAB_TAKE(lab, *row));
}

STORE_TEST("a task comes back in every field, by key, by id and by idempotency key")
{
    struct pawl_task_row row = full_task();
    lab_begin(lab);
    put_row(lab, &row);
    lab_commit(lab);

    lab_begin(lab);
    check_same(&row, lab_task(lab, row.key));
    pawl_store_rollback(lab->store);

    lab_begin(lab);
    int64_t *key = lab_look(lab, PAWL_LOOK_TASK_ID, 0, "task-77", 0, 0)->row;
    CHECK(key != NULL && *key == row.key);
    struct pawl_entry *task = pawl_set_task(&lab->set, row.key);
    CHECK(task->is_loaded && task->is_stored); /* it came along */
    check_same(&row, task->row);
    CHECK_EQ(1, lab->set.loaded_tasks.count);
    pawl_store_rollback(lab->store);

    lab_begin(lab);
    key = lab_look(lab, PAWL_LOOK_IDEMPOTENCY, 0, "only once", 0, 0)->row;
    CHECK(key != NULL && *key == row.key);
    check_same(&row, pawl_set_task(&lab->set, row.key)->row);
    pawl_store_rollback(lab->store);
}

STORE_TEST("a task of zeros comes back as zeros, with no rank and no text")
{
    struct pawl_task_row row = {.key = 3,
                                .id = PAWL_STR("t-3"),
                                .queue = QUEUE,
                                .rank = PAWL_RANK_NONE,
                                .version = 1,
                                .created_at_ms = 1,
                                .updated_at_ms = 1,
                                .sequence = 1};
    lab_begin(lab);
    put_row(lab, &row);
    lab_commit(lab);
    lab_begin(lab);
    struct pawl_task_row *got = lab_task(lab, 3);
    check_same(&row, got);
    CHECK(got->title.ptr == NULL);
    pawl_store_rollback(lab->store);
}

STORE_TEST("what is not there is answered with none, lists with no rows")
{
    lab_begin(lab);
    CHECK(lab_task(lab, 5) == NULL);
    static const struct {
        enum pawl_look look;
        const char *text;
    } looks[] = {
        {PAWL_LOOK_TASK_ID, "no"},    {PAWL_LOOK_IDEMPOTENCY, "no"}, {PAWL_LOOK_QUEUE, NULL},
        {PAWL_LOOK_QUEUE_NAME, "no"}, {PAWL_LOOK_WORKER, NULL},      {PAWL_LOOK_WORKER_ID, "no"},
        {PAWL_LOOK_PAYLOAD, NULL},    {PAWL_LOOK_CONSUMER, "no"},    {PAWL_LOOK_CONTINUATION, NULL},
        {PAWL_LOOK_CHECKPOINT, NULL}, {PAWL_LOOK_EVENT, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(looks); i++) {
        struct pawl_entry *entry =
            lab_look(lab, looks[i].look, looks[i].text == NULL ? 5 : 0, looks[i].text, 0, 0);
        CHECK(entry->row == NULL);
        CHECK(!entry->is_stored);
    }
    CHECK(lab_look(lab, PAWL_LOOK_ACK, 5, NULL, 6, 0)->row == NULL);
    CHECK(lab_look(lab, PAWL_LOOK_CURSOR_MIN, 0, NULL, 0, 0)->row == NULL);

    static const enum pawl_look lists[] = {
        PAWL_LOOK_READY,      PAWL_LOOK_DUE,          PAWL_LOOK_CONTINUATIONS,
        PAWL_LOOK_DEPENDENTS, PAWL_LOOK_DEPENDENCIES, PAWL_LOOK_LATE,
        PAWL_LOOK_LOG_OLDEST, PAWL_LOOK_DEAD,         PAWL_LOOK_CALENDAR};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        CHECK_EQ(0, lab_rows(lab, lists[i], 5, 0, 0)->count);
    }
    struct pawl_rows *awaited = lab_look(lab, PAWL_LOOK_AWAITED, 0, "no", 0, 0)->row;
    CHECK_EQ(0, awaited->count);
    pawl_store_rollback(lab->store);
}

STORE_TEST("an update writes every field that can change, and leaves the others")
{
    struct pawl_task_row was = full_task();
    lab_begin(lab);
    put_row(lab, &was);
    lab_commit(lab);

    struct pawl_task_row want = was;
    want.state = PAWL_TASK_QUEUED;
    want.rank = 2;
    want.open_dependencies = 0;
    want.due_at_ms = 0;
    want.version = 2002;
    want.epoch = 2003;
    want.lease_kind = PAWL_LEASE_NONE;
    want.owner = 0;
    want.lease_ms = 0;
    want.lease_end_at_ms = 0;
    want.attempt_end_at_ms = 0;
    want.retries = 2013;
    want.recoveries = 2014;
    want.crashes_in_row = 2015;
    want.ready_at_ms = 2016;
    want.updated_at_ms = 2017;
    want.started_at_ms = 0;
    want.progress = 1.5;
    want.progress_epoch = 2019;
    want.progress_event_at_ms = 2020;
    want.control = PAWL_CONTROL_NONE;
    want.control_deadline_at_ms = 0;
    want.sequence = 2022;
    want.outcome_epoch = 2023;
    want.outcome_kind = PAWL_OUTCOME_FAIL;
    want.outcome_digest = 2024;
    want.blocked_by = 0;
    want.has_dependents = false;
    want.payloads = 0;
    want.checkpoint_count = 2026;
    want.log_bytes = 2027;
    want.payload_bytes = 2028;
    want.checkpoint_bytes = 2029;

    lab_begin(lab);
    (void)lab_task(lab, was.key);
    struct pawl_task_row *row = pawl_set_change(&lab->set, pawl_set_task(&lab->set, was.key));
    struct pawl_task_row texts = *row;
    *row = want;
    row->id = texts.id;
    lab_commit(lab);

    lab_begin(lab);
    check_same(&want, lab_task(lab, was.key));
    pawl_store_rollback(lab->store);
}

/* Counts how often a statement is sent. */
struct counter {
    int32_t point;
    int count;
};

static enum pawl_code count_point(void *self, int32_t point, struct pawl_error *err)
{
    struct counter *counter = self;
    (void)err;
    if (point == counter->point) counter->count++;
    return PAWL_OK;
}

STORE_TEST("a renewal writes inside the row: no index is touched")
{
    struct pawl_task_row want = full_task();
    lab_begin(lab);
    put_row(lab, &want);
    lab_commit(lab);

    want.lease_end_at_ms = 9006;
    want.updated_at_ms = 9017;
    want.version++;
    want.progress = 50;
    want.control = PAWL_CONTROL_PAUSE;
    struct counter inside = {.point = PAWL_SQL_TASK_SAVE_INSIDE};
    pawl_store_db(lab->store)->hook = (struct pawl_db_hook){count_point, &inside};
    lab_begin(lab);
    (void)lab_task(lab, want.key);
    struct pawl_task_row *row = pawl_set_change(&lab->set, pawl_set_task(&lab->set, want.key));
    row->lease_end_at_ms = want.lease_end_at_ms;
    row->updated_at_ms = want.updated_at_ms;
    row->version = want.version;
    row->progress = want.progress;
    row->control = want.control;
    lab_commit(lab);
    CHECK_EQ(1, inside.count);

    lab_begin(lab);
    check_same(&want, lab_task(lab, want.key));
    pawl_store_rollback(lab->store);
}

/* So many that PostgreSQL is asked in more than one bundle; every third row is full of values. */
enum { MANY = 300 };

static struct pawl_task_row one_of_many(struct lab *lab, int64_t key)
{
    struct pawl_task_row row = key % 3 == 0 ? full_task() : lab_task_row(key, QUEUE);
    row.key = key;
    row.id = pawl_arena_format(lab->arena, "t-%" PRId64, key);
    row.idempotency_key =
        key % 3 == 0 ? pawl_arena_format(lab->arena, "once %" PRId64, key) : (struct pawl_str){0};
    row.progress = (double)key / 4;
    return row;
}

STORE_TEST("many rows of one step are each their own, with their texts and their NULLs")
{
    lab_begin(lab);
    for (int64_t key = 1; key <= MANY; key++) {
        struct pawl_task_row row = one_of_many(lab, key);
        put_row(lab, &row);
        struct pawl_str body = pawl_arena_format(lab->arena, "{\"n\": \"%*d\"}", (int)key, 1);
        pawl_set_put(&lab->set, PAWL_LOOK_PAYLOAD, key * 16, (struct pawl_str){0}, 0,
                     LAB_TAKE(lab, body));
        lab_put_event(lab, key, 1);
    }
    lab_commit(lab);

    lab_begin(lab);
    CHECK_EQ(MANY, lab->head.position);
    for (int64_t key = MANY + 1; key > 0; key--) { /* the first is of nobody */
        struct pawl_str id = pawl_arena_format(lab->arena, "t-%" PRId64, key);
        struct pawl_str once = pawl_arena_format(lab->arena, "once %" PRId64, key);
        (void)pawl_set_look(&lab->set, PAWL_LOOK_TASK_ID, 0, id, 0, 0);
        (void)pawl_set_look(&lab->set, PAWL_LOOK_IDEMPOTENCY, 0, once, 0, 0);
        (void)pawl_set_look(&lab->set, PAWL_LOOK_PAYLOAD, key * 16, (struct pawl_str){0}, 0, 0);
    }
    lab_load(lab);
    for (int64_t key = 1; key <= MANY + 1; key++) {
        struct pawl_task_row want = one_of_many(lab, key);
        struct pawl_str once = pawl_arena_format(lab->arena, "once %" PRId64, key);
        int64_t *by_id = pawl_set_look(&lab->set, PAWL_LOOK_TASK_ID, 0, want.id, 0, 0)->row;
        int64_t *by_key = pawl_set_look(&lab->set, PAWL_LOOK_IDEMPOTENCY, 0, once, 0, 0)->row;
        struct pawl_str *body =
            pawl_set_look(&lab->set, PAWL_LOOK_PAYLOAD, key * 16, (struct pawl_str){0}, 0, 0)->row;
        if (key > MANY) {
            CHECK(by_id == NULL && by_key == NULL && body == NULL);
            break;
        }
        CHECK_EQ(key, *by_id);
        if (key % 3 == 0) CHECK_EQ(key, *by_key);
        if (key % 3 != 0) CHECK(by_key == NULL);
        CHECK_EQ(9 + key, body->len);
        check_same(&want, pawl_set_task(&lab->set, key)->row);
    }
    pawl_store_rollback(lab->store);
}

STORE_TEST("what a step saves twice is written twice")
{
    enum { FEW = 5 };
    lab_begin(lab);
    for (int64_t key = 1; key <= FEW; key++) {
        struct pawl_task_row row = one_of_many(lab, key);
        put_row(lab, &row);
    }
    for (int64_t epoch = 1; epoch <= 2; epoch++) {
        CHECK_OK(pawl_store_save(lab->store, &lab->set, &lab->err), &lab->err);
        for (int64_t key = 1; key <= FEW; key++) {
            struct pawl_task_row *row = pawl_set_change(&lab->set, pawl_set_task(&lab->set, key));
            row->epoch += epoch;
        }
    }
    lab_commit(lab);

    lab_begin(lab);
    for (int64_t key = 1; key <= FEW; key++) {
        struct pawl_task_row want = one_of_many(lab, key);
        want.epoch += 3;
        check_same(&want, lab_task(lab, key));
    }
    pawl_store_rollback(lab->store);
}

STORE_TEST("a row that is not as it was read is not overwritten")
{
    lab_begin(lab);
    (void)lab_put_task(lab, 1, QUEUE);
    lab_commit(lab);

    lab_begin(lab);
    (void)lab_task(lab, 1);
    struct pawl_entry *entry = pawl_set_task(&lab->set, 1);
    struct pawl_task_row *row = pawl_set_change(&lab->set, entry);
    row->version = 2;
    row->epoch = 5;
    struct pawl_task_row read = *(struct pawl_task_row *)entry->saved;
    read.epoch = 4; /* as if another epoch had been there */
    entry->saved = &read;
    enum pawl_code code = lab_try_commit(lab);
    CHECK_EQ(pawl_store_is_postgres(lab->store) ? PAWL_BUSY : PAWL_IO, code);

    lab_begin(lab);
    CHECK_EQ(1, lab_task(lab, 1)->version);
    pawl_store_rollback(lab->store);
}

STORE_TEST("a task changed twice in one step is written from what the first save left")
{
    lab_begin(lab);
    struct pawl_task_row *row = lab_put_task(lab, 1, QUEUE);
    CHECK_OK(pawl_store_save(lab->store, &lab->set, &lab->err), &lab->err);
    row = pawl_set_change(&lab->set, pawl_set_task(&lab->set, 1));
    row->epoch = 1;
    row->version = 2;
    lab_commit(lab);

    lab_begin(lab);
    CHECK_EQ(2, lab_task(lab, 1)->version);
    pawl_store_rollback(lab->store);
}

STORE_TEST("what was undone is not written")
{
    lab_begin(lab);
    struct pawl_set_mark mark = pawl_set_begin(&lab->set);
    (void)lab_put_task(lab, 1, QUEUE);
    lab_put_event(lab, 1, 1);
    pawl_set_undo(&lab->set, &mark);
    (void)pawl_set_begin(&lab->set);
    (void)lab_put_task(lab, 2, QUEUE);
    lab_commit(lab);

    lab_begin(lab);
    CHECK(lab_task(lab, 1) == NULL);
    CHECK(lab_task(lab, 2) != NULL);
    CHECK_EQ(0, lab->head.position);
    pawl_store_rollback(lab->store);
}

/* ---- Lists of tasks ---------------------------------------------------------------------------
 */

static void check_keys(const struct pawl_rows *rows, const int64_t *want, size_t count)
{
    CHECK_EQ(count, rows->count);
    for (size_t i = 0; i < count; i++) CHECK_EQ(want[i], ((int64_t *)rows->rows)[i]);
}

STORE_TEST("ready tasks come in the order of claims, of one queue, and only as many as asked for")
{
    lab_begin(lab);
    lab_put_task(lab, 1, QUEUE)->rank = pawl_rank_make(20, 500);
    lab_put_task(lab, 2, QUEUE)->rank = pawl_rank_make(20, 400);
    lab_put_task(lab, 3, QUEUE)->rank = pawl_rank_make(90, 900);
    lab_put_task(lab, 4, QUEUE)->rank = PAWL_RANK_NONE;
    lab_put_task(lab, 5, OTHER_QUEUE)->rank = pawl_rank_make(99, 1);
    lab_put_task(lab, 6, QUEUE)->rank = pawl_rank_make(20, 400);
    lab_commit(lab);

    lab_begin(lab);
    check_keys(lab_rows(lab, PAWL_LOOK_READY, QUEUE, 0, 0), (int64_t[]){3, 2, 6, 1}, 4);
    CHECK(pawl_set_task(&lab->set, 6)->is_loaded);
    CHECK_EQ(4, lab->set.loaded_tasks.count);
    pawl_store_rollback(lab->store);

    lab_begin(lab);
    check_keys(lab_rows(lab, PAWL_LOOK_READY, QUEUE, 0, 2), (int64_t[]){3, 2}, 2);
    pawl_store_rollback(lab->store);
}

STORE_TEST("due tasks are those whose instant has come, oldest first, equal ones by key")
{
    lab_begin(lab);
    for (int64_t key = 1; key <= 4; key++) {
        struct pawl_task_row *task = lab_put_task(lab, key, QUEUE);
        task->rank = PAWL_RANK_NONE;
        task->due_at_ms = key == 3 ? 50 : key == 4 ? 101 : 100;
    }
    lab_put_task(lab, 5, QUEUE)->due_at_ms = 0;
    lab_commit(lab);

    lab_begin(lab);
    check_keys(lab_rows(lab, PAWL_LOOK_DUE, 0, 100, 0), (int64_t[]){3, 1, 2}, 3);
    check_keys(lab_rows(lab, PAWL_LOOK_DUE, 0, 99, 0), (int64_t[]){3}, 1);
    pawl_store_rollback(lab->store);
}

STORE_TEST("dead letters come by key after a cursor, of all queues")
{
    lab_begin(lab);
    for (int64_t key = 1; key <= 6; key++) {
        struct pawl_task_row *task = lab_put_task(lab, key, key % 2 == 0 ? OTHER_QUEUE : QUEUE);
        task->state = key == 3 ? PAWL_TASK_FAILED : PAWL_TASK_DEAD_LETTER;
        task->rank = PAWL_RANK_NONE;
        task->finished_at_ms = 9;
    }
    lab_commit(lab);

    lab_begin(lab);
    check_keys(lab_rows(lab, PAWL_LOOK_DEAD, 0, 0, 0), (int64_t[]){1, 2, 4, 5, 6}, 5);
    check_keys(lab_rows(lab, PAWL_LOOK_DEAD, 0, 2, 2), (int64_t[]){4, 5}, 2);
    pawl_store_rollback(lab->store);
}

STORE_TEST("a list does not replace a row that this step has changed")
{
    lab_begin(lab);
    (void)lab_put_task(lab, 1, QUEUE);
    lab_commit(lab);

    lab_begin(lab);
    (void)lab_task(lab, 1);
    struct pawl_task_row *row = pawl_set_change(&lab->set, pawl_set_task(&lab->set, 1));
    row->version = 9;
    CHECK_EQ(1, lab_rows(lab, PAWL_LOOK_READY, QUEUE, 0, 0)->count);
    CHECK(pawl_set_task(&lab->set, 1)->row == row);
    CHECK_EQ(9, row->version);
    pawl_store_rollback(lab->store);
}

STORE_TEST("one load answers many looks, the same row by two names included")
{
    lab_begin(lab);
    (void)lab_put_task(lab, 1, QUEUE);
    (void)lab_put_task(lab, 2, QUEUE);
    lab_commit(lab);

    lab_begin(lab);
    struct pawl_entry *by_key = pawl_set_task(&lab->set, 1);
    struct pawl_entry *by_id =
        pawl_set_look(&lab->set, PAWL_LOOK_TASK_ID, 0, PAWL_STR("t-1"), 0, 0);
    struct pawl_entry *other = pawl_set_task(&lab->set, 2);
    struct pawl_entry *none = pawl_set_task(&lab->set, 3);
    lab_load(lab);
    CHECK(by_key->is_loaded && by_id->is_loaded && other->is_loaded && none->is_loaded);
    CHECK_EQ(1, *(int64_t *)by_id->row);
    CHECK_EQ(2, ((struct pawl_task_row *)other->row)->key);
    CHECK(none->row == NULL);
    CHECK_EQ(2, lab->set.loaded_tasks.count); /* each once */
    pawl_store_rollback(lab->store);
}

STORE_TEST("rows beyond the step's memory are TOO_LARGE, and no row is blamed for it")
{
    struct pawl_str body = {.ptr = NULL, .len = 100 * 1024};
    lab_begin(lab);
    char *bytes = pawl_arena_take(lab->arena, body.len);
    CHECK(bytes != NULL);
    memset(bytes, 'x', body.len);
    body.ptr = bytes;
    pawl_set_put(&lab->set, PAWL_LOOK_PAYLOAD, 16, (struct pawl_str){0}, 0, LAB_TAKE(lab, body));
    for (int64_t key = 1; key <= 200; key++) (void)lab_put_task(lab, key, QUEUE);
    lab_commit(lab);

    struct pawl_arena *roomy = lab->arena;
    for (size_t bytes_max = 4096; bytes_max < 200 * 1024; bytes_max += 1024) {
        CHECK_OK(pawl_arena_open(&lab->arena, bytes_max), NULL);
        lab_begin(lab);
        struct pawl_entry *payload =
            pawl_set_look(&lab->set, PAWL_LOOK_PAYLOAD, 16, (struct pawl_str){0}, 0, 0);
        struct pawl_entry *ready =
            pawl_set_look(&lab->set, PAWL_LOOK_READY, QUEUE, (struct pawl_str){0}, 0, 0);
        CHECK(payload != NULL && ready != NULL);
        CHECK_CODE(PAWL_TOO_LARGE, pawl_store_load(lab->store, &lab->set, &lab->err));
        pawl_store_rollback(lab->store);
        pawl_arena_close(lab->arena);
    }
    lab->arena = roomy;
    lab_begin(lab);
    CHECK_EQ(200, lab_rows(lab, PAWL_LOOK_READY, QUEUE, 0, 0)->count);
    pawl_store_rollback(lab->store);
    CHECK(strstr(lab->log_text, "quarantined") == NULL);
}

/* ---- Queues, workers, what lies beside --------------------------------------------------------
 */

STORE_TEST("a queue comes back by key and name, and changes")
{
    lab_begin(lab);
    struct pawl_queue_row want = {.key = 4,
                                  .name = PAWL_STR("mail"),
                                  .is_paused = true,
                                  .lease_ms = 5000,
                                  .retry = {7, PAWL_BACKOFF_LINEAR, 8, 9, 10}};
    pawl_set_put(&lab->set, PAWL_LOOK_QUEUE, 4, (struct pawl_str){0}, 0, LAB_TAKE(lab, want));
    lab_commit(lab);

    lab_begin(lab);
    CHECK_EQ(4, *(int64_t *)lab_look(lab, PAWL_LOOK_QUEUE_NAME, 0, "mail", 0, 0)->row);
    struct pawl_entry *entry =
        pawl_set_look(&lab->set, PAWL_LOOK_QUEUE, 4, (struct pawl_str){0}, 0, 0);
    CHECK(entry->is_loaded);
    struct pawl_queue_row *queue = pawl_set_change(&lab->set, entry);
    CHECK_STR("mail", queue->name);
    CHECK(queue->is_paused);
    CHECK_EQ(5000, queue->lease_ms);
    CHECK_EQ(7, queue->retry.max_retries);
    CHECK_EQ(PAWL_BACKOFF_LINEAR, queue->retry.backoff);
    CHECK_EQ(8, queue->retry.delay_ms);
    CHECK_EQ(9, queue->retry.delay_ms_max);
    CHECK_EQ(10, queue->retry.jitter_ms);
    queue->is_paused = false;
    queue->lease_ms = 0;
    queue->retry =
        (struct pawl_retry){PAWL_RETRIES_NONE, PAWL_BACKOFF_FIXED, PAWL_DELAY_NONE, 0, 11};
    lab_commit(lab);

    lab_begin(lab);
    queue = lab_look(lab, PAWL_LOOK_QUEUE, 4, NULL, 0, 0)->row;
    CHECK(!queue->is_paused);
    CHECK_EQ(0, queue->lease_ms);
    CHECK_EQ(PAWL_RETRIES_NONE, queue->retry.max_retries);
    CHECK_EQ(PAWL_BACKOFF_FIXED, queue->retry.backoff);
    CHECK_EQ(PAWL_DELAY_NONE, queue->retry.delay_ms);
    CHECK_EQ(0, queue->retry.delay_ms_max);
    CHECK_EQ(11, queue->retry.jitter_ms);
    pawl_store_rollback(lab->store);
}

STORE_TEST("a worker comes back by key and id, with the grants of its newest claim")
{
    struct pawl_granted grants[] = {{1, 2}, {3, 4}};
    struct pawl_worker_row want = {.key = 6,
                                   .id = PAWL_STR("w-1"),
                                   .host = PAWL_STR("host"),
                                   .pid = 12,
                                   .started_at_ms = 100,
                                   .seen_at_ms = 200,
                                   .request_id = PAWL_STR("r-1"),
                                   .granted = {(const char *)grants, sizeof grants}};
    lab_begin(lab);
    pawl_set_put(&lab->set, PAWL_LOOK_WORKER, 6, (struct pawl_str){0}, 0, LAB_TAKE(lab, want));
    lab_commit(lab);

    lab_begin(lab);
    CHECK_EQ(6, *(int64_t *)lab_look(lab, PAWL_LOOK_WORKER_ID, 0, "w-1", 0, 0)->row);
    struct pawl_entry *entry =
        pawl_set_look(&lab->set, PAWL_LOOK_WORKER, 6, (struct pawl_str){0}, 0, 0);
    CHECK(entry->is_loaded);
    struct pawl_worker_row *worker = pawl_set_change(&lab->set, entry);
    CHECK_STR("w-1", worker->id);
    CHECK_STR("host", worker->host);
    CHECK_STR("", worker->boot);
    CHECK_EQ(12, worker->pid);
    CHECK_EQ(100, worker->started_at_ms);
    CHECK_EQ(200, worker->seen_at_ms);
    CHECK_STR("r-1", worker->request_id);
    CHECK_BYTES(grants, sizeof grants, worker->granted.ptr, worker->granted.len);
    worker->boot = PAWL_STR("boot");
    worker->host = (struct pawl_str){0};
    worker->pid = 0;
    worker->seen_at_ms = 300;
    worker->request_id = PAWL_STR("r-2");
    worker->granted = (struct pawl_str){0};
    lab_commit(lab);

    lab_begin(lab);
    worker = lab_look(lab, PAWL_LOOK_WORKER, 6, NULL, 0, 0)->row;
    CHECK_STR("", worker->host);
    CHECK_STR("boot", worker->boot);
    CHECK_EQ(0, worker->pid);
    CHECK_EQ(300, worker->seen_at_ms);
    CHECK_STR("r-2", worker->request_id);
    CHECK_EQ(0, worker->granted.len);
    pawl_store_rollback(lab->store);
}

static void put_payload(struct lab *lab, int64_t key, const char *text)
{
    struct pawl_str body = pawl_str_of(text);
    pawl_set_put(&lab->set, PAWL_LOOK_PAYLOAD, key, (struct pawl_str){0}, 0, LAB_TAKE(lab, body));
}

static struct pawl_str *payload(struct lab *lab, int64_t key)
{
    return lab_look(lab, PAWL_LOOK_PAYLOAD, key, NULL, 0, 0)->row;
}

STORE_TEST("a payload is written, replaced unseen, emptied and dropped unseen")
{
    lab_begin(lab);
    put_payload(lab, 17, "{\"a\":1.0}");
    put_payload(lab, 18, "two");
    lab_commit(lab);

    lab_begin(lab);
    CHECK_STR("{\"a\":1.0}", *payload(lab, 17));
    pawl_store_rollback(lab->store);

    lab_begin(lab);
    put_payload(lab, 17, "");
    put_payload(lab, 18, "three");
    lab_commit(lab);

    lab_begin(lab);
    CHECK(payload(lab, 17) != NULL);
    CHECK_EQ(0, payload(lab, 17)->len);
    CHECK_STR("three", *payload(lab, 18));
    pawl_set_put(&lab->set, PAWL_LOOK_PAYLOAD, 17, (struct pawl_str){0}, 0, NULL);
    lab_commit(lab);

    lab_begin(lab);
    CHECK(payload(lab, 17) == NULL);
    pawl_set_put(&lab->set, PAWL_LOOK_PAYLOAD, 18, (struct pawl_str){0}, 0, NULL);
    put_payload(lab, 19, "came");
    pawl_set_put(&lab->set, PAWL_LOOK_PAYLOAD, 19, (struct pawl_str){0}, 0, NULL); /* and went */
    lab_commit(lab);

    lab_begin(lab);
    CHECK(payload(lab, 18) == NULL);
    CHECK(payload(lab, 19) == NULL);
    pawl_store_rollback(lab->store);
}

STORE_TEST("the largest payload comes back byte for byte")
{
    struct pawl_str body = {.len = PAWL_PAYLOAD_BYTES_MAX};
    lab_begin(lab);
    char *bytes = pawl_arena_take(lab->arena, body.len);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < body.len; i++) bytes[i] = (char)('a' + i % 23);
    body.ptr = bytes;
    pawl_set_put(&lab->set, PAWL_LOOK_PAYLOAD, 16, (struct pawl_str){0}, 0, LAB_TAKE(lab, body));
    lab_commit(lab);

    lab_begin(lab);
    struct pawl_str *got = payload(lab, 16);
    CHECK_EQ(body.len, got->len);
    for (size_t i = 0; i < got->len; i++) {
        if (got->ptr[i] != (char)('a' + i % 23)) FAIL("byte %zu differs", i);
    }
    pawl_store_rollback(lab->store);
}

STORE_TEST("a consumer is added, moves its cursor, and goes with its acknowledgements")
{
    struct pawl_consumer_row mail = {5, PAWL_STR("mail"), 10, 100};
    struct pawl_consumer_row audit = {6, PAWL_STR("audit"), 7, 100};
    struct pawl_ack acks[] = {{5, 12}, {5, 12}, {5, 14}, {6, 12}};
    lab_begin(lab);
    pawl_set_put(&lab->set, PAWL_LOOK_CONSUMER, 0, mail.name, 0, LAB_TAKE(lab, mail));
    pawl_set_put(&lab->set, PAWL_LOOK_CONSUMER, 0, audit.name, 0, LAB_TAKE(lab, audit));
    for (size_t i = 0; i < COUNT_OF(acks); i++) {
        pawl_set_append(&lab->set, PAWL_APPEND_ACK, LAB_TAKE(lab, acks[i]));
    }
    lab_commit(lab);

    lab_begin(lab);
    const struct pawl_consumer_row *slowest =
        lab_look(lab, PAWL_LOOK_CURSOR_MIN, 0, NULL, 0, 0)->row;
    CHECK_EQ(7, slowest->cursor);
    CHECK_EQ(12, *(int64_t *)lab_look(lab, PAWL_LOOK_ACK, 5, NULL, 12, 0)->row);
    CHECK(lab_look(lab, PAWL_LOOK_ACK, 5, NULL, 13, 0)->row == NULL);
    struct pawl_entry *entry = lab_look(lab, PAWL_LOOK_CONSUMER, 0, "mail", 0, 0);
    struct pawl_consumer_row *row = pawl_set_change(&lab->set, entry);
    CHECK_EQ(5, row->key);
    CHECK_STR("mail", row->name);
    CHECK_EQ(10, row->cursor);
    row->cursor = 13;
    row->seen_at_ms = 200;
    struct pawl_ack through = {5, 13};
    pawl_set_append(&lab->set, PAWL_APPEND_ACK_PRUNE, LAB_TAKE(lab, through));
    CHECK(lab_look(lab, PAWL_LOOK_CONSUMER, 0, "audit", 0, 0)->row != NULL);
    pawl_set_put(&lab->set, PAWL_LOOK_CONSUMER, 0, PAWL_STR("audit"), 0, NULL);
    lab_commit(lab);

    lab_begin(lab);
    row = lab_look(lab, PAWL_LOOK_CONSUMER, 0, "mail", 0, 0)->row;
    CHECK_EQ(13, row->cursor);
    CHECK_EQ(200, row->seen_at_ms);
    CHECK(lab_look(lab, PAWL_LOOK_ACK, 5, NULL, 12, 0)->row == NULL);
    CHECK(lab_look(lab, PAWL_LOOK_ACK, 5, NULL, 14, 0)->row != NULL);
    CHECK(lab_look(lab, PAWL_LOOK_ACK, 6, NULL, 12, 0)->row == NULL);
    CHECK(lab_look(lab, PAWL_LOOK_CONSUMER, 0, "audit", 0, 0)->row == NULL);
    slowest = lab_look(lab, PAWL_LOOK_CURSOR_MIN, 0, NULL, 0, 0)->row;
    CHECK_EQ(13, slowest->cursor);
    CHECK_STR("mail", slowest->name);
    pawl_store_rollback(lab->store);
}

static void put_continuation(struct lab *lab, int64_t key)
{
    struct pawl_continuation_row row = {.key = key,
                                        .kind = PAWL_CONTINUE_REDRIVE,
                                        .task = 3,
                                        .cursor = 4,
                                        .left = 5,
                                        .done = 6,
                                        .args = PAWL_STR("{}")};
    pawl_set_put(&lab->set, PAWL_LOOK_CONTINUATION, key, (struct pawl_str){0}, 0,
                 LAB_TAKE(lab, row));
}

STORE_TEST("continuations come oldest first, go on, and end")
{
    lab_begin(lab);
    put_continuation(lab, 21);
    put_continuation(lab, 20);
    lab_commit(lab);

    lab_begin(lab);
    struct pawl_rows *rows = lab_rows(lab, PAWL_LOOK_CONTINUATIONS, 0, 0, 0);
    struct pawl_continuation_row *list = rows->rows;
    CHECK_EQ(2, rows->count);
    CHECK_EQ(20, list[0].key);
    CHECK_EQ(21, list[1].key);
    CHECK_EQ(PAWL_CONTINUE_REDRIVE, list[0].kind);
    CHECK_EQ(3, list[0].task);
    CHECK_EQ(4, list[0].cursor);
    CHECK_EQ(5, list[0].left);
    CHECK_EQ(6, list[0].done);
    CHECK_STR("{}", list[0].args);
    struct pawl_entry *entry =
        pawl_set_look(&lab->set, PAWL_LOOK_CONTINUATION, 20, (struct pawl_str){0}, 0, 0);
    CHECK(entry->is_loaded && entry->is_stored);
    struct pawl_continuation_row *row = pawl_set_change(&lab->set, entry);
    row->cursor = 14;
    row->left = 15;
    row->done = 16;
    pawl_set_put(&lab->set, PAWL_LOOK_CONTINUATION, 21, (struct pawl_str){0}, 0, NULL);
    lab_commit(lab);

    lab_begin(lab);
    rows = lab_rows(lab, PAWL_LOOK_CONTINUATIONS, 0, 0, 0);
    CHECK_EQ(1, rows->count);
    row = lab_look(lab, PAWL_LOOK_CONTINUATION, 20, NULL, 0, 0)->row;
    CHECK_EQ(14, row->cursor);
    CHECK_EQ(15, row->left);
    CHECK_EQ(16, row->done);
    pawl_store_rollback(lab->store);
}

static void put_dependency(struct lab *lab, enum pawl_append_kind kind,
                           struct pawl_dependency_row row)
{
    pawl_set_append(&lab->set, kind, LAB_TAKE(lab, row));
}

STORE_TEST("dependencies are found from both ends, are found later, and close")
{
    lab_begin(lab);
    put_dependency(lab, PAWL_APPEND_DEPENDENCY, (struct pawl_dependency_row){10, 1, 0, {0}, true});
    put_dependency(lab, PAWL_APPEND_DEPENDENCY, (struct pawl_dependency_row){10, 2, 1, {0}, true});
    put_dependency(lab, PAWL_APPEND_DEPENDENCY, (struct pawl_dependency_row){11, 1, 0, {0}, true});
    put_dependency(lab, PAWL_APPEND_DEPENDENCY,
                   (struct pawl_dependency_row){10, 0, 2, PAWL_STR("later"), true});
    lab_commit(lab);

    lab_begin(lab);
    struct pawl_rows *rows = lab_rows(lab, PAWL_LOOK_DEPENDENTS, 1, 0, 0);
    struct pawl_dependency_row *list = rows->rows;
    CHECK_EQ(2, rows->count);
    CHECK_EQ(10, list[0].task);
    CHECK_EQ(11, list[1].task);
    CHECK_EQ(1, list[1].on);
    CHECK(list[1].is_open);
    CHECK_EQ(1, lab_rows(lab, PAWL_LOOK_DEPENDENTS, 1, 10, 0)->count);
    CHECK_EQ(1, lab_rows(lab, PAWL_LOOK_DEPENDENTS, 1, 9, 1)->count);

    rows = lab_look(lab, PAWL_LOOK_AWAITED, 0, "later", 0, 0)->row;
    CHECK_EQ(1, rows->count);
    list = rows->rows;
    CHECK_EQ(10, list[0].task);
    CHECK_EQ(2, list[0].number);
    CHECK_STR("later", list[0].on_id);
    put_dependency(lab, PAWL_APPEND_DEPENDENCY_FOUND,
                   (struct pawl_dependency_row){10, 7, 2, {0}, true});
    put_dependency(lab, PAWL_APPEND_DEPENDENCY_DONE,
                   (struct pawl_dependency_row){10, 1, 0, {0}, false});
    lab_commit(lab);

    lab_begin(lab);
    rows = lab_rows(lab, PAWL_LOOK_DEPENDENCIES, 10, 0, 0);
    list = rows->rows;
    CHECK_EQ(3, rows->count);
    CHECK_EQ(0, list[0].number);
    CHECK(!list[0].is_open);
    CHECK(list[1].is_open);
    CHECK_EQ(7, list[2].on);
    CHECK_STR("", list[2].on_id);
    rows = lab_look(lab, PAWL_LOOK_AWAITED, 0, "later", 0, 0)->row;
    CHECK_EQ(0, rows->count);
    pawl_store_rollback(lab->store);
}

STORE_TEST("the latest checkpoint is found, and the oldest is the one that goes")
{
    lab_begin(lab);
    for (int64_t key = 30; key <= 32; key++) {
        struct pawl_checkpoint_row row = {key, 3, (int32_t)key - 40, 2, key * 10, PAWL_STR("[1]")};
        pawl_set_append(&lab->set, PAWL_APPEND_CHECKPOINT, LAB_TAKE(lab, row));
    }
    lab_commit(lab);

    lab_begin(lab);
    struct pawl_checkpoint_row *row = lab_look(lab, PAWL_LOOK_CHECKPOINT, 3, NULL, 0, 0)->row;
    CHECK_EQ(32, row->key);
    CHECK_EQ(3, row->task);
    CHECK_EQ(-8, row->step);
    CHECK_EQ(2, row->epoch);
    CHECK_EQ(320, row->at_ms);
    CHECK_STR("[1]", row->state);
    int64_t task = 3;
    pawl_set_append(&lab->set, PAWL_APPEND_CHECKPOINT_PRUNE, LAB_TAKE(lab, task));
    pawl_set_append(&lab->set, PAWL_APPEND_CHECKPOINT_PRUNE, LAB_TAKE(lab, task));
    lab_commit(lab);

    lab_begin(lab);
    row = lab_look(lab, PAWL_LOOK_CHECKPOINT, 3, NULL, 0, 0)->row;
    CHECK_EQ(32, row->key);
    pawl_set_append(&lab->set, PAWL_APPEND_CHECKPOINT_PRUNE, LAB_TAKE(lab, task));
    lab_commit(lab);
    lab_begin(lab);
    CHECK(lab_look(lab, PAWL_LOOK_CHECKPOINT, 3, NULL, 0, 0)->row == NULL);
    pawl_store_rollback(lab->store);
}

STORE_TEST("log lines and late results come oldest first, and go by key")
{
    lab_begin(lab);
    for (int64_t key = 41; key >= 40; key--) {
        struct pawl_log_row line = {key, 3, 2, 500, key == 40 ? PAWL_STR("hello") : PAWL_STR("")};
        struct pawl_late_row late = {
            key + 10, 3, 2, 500, PAWL_STR("w-1"), PAWL_OUTCOME_FAIL, -9, PAWL_STR("body"), true};
        pawl_set_append(&lab->set, PAWL_APPEND_LOG, LAB_TAKE(lab, line));
        pawl_set_append(&lab->set, PAWL_APPEND_LATE, LAB_TAKE(lab, late));
    }
    lab_commit(lab);

    lab_begin(lab);
    struct pawl_rows *rows = lab_rows(lab, PAWL_LOOK_LOG_OLDEST, 3, 0, 0);
    struct pawl_log_row *lines = rows->rows;
    CHECK_EQ(2, rows->count);
    CHECK_EQ(40, lines[0].key);
    CHECK_EQ(5, lines[0].text.len);
    CHECK(lines[0].text.ptr == NULL);
    CHECK_EQ(0, lines[1].text.len);
    rows = lab_rows(lab, PAWL_LOOK_LATE, 3, 0, 0);
    struct pawl_late_row *lates = rows->rows;
    CHECK_EQ(2, rows->count);
    CHECK_EQ(50, lates[0].key);
    CHECK_EQ(2, lates[0].epoch);
    CHECK_EQ(PAWL_OUTCOME_FAIL, lates[0].kind);
    CHECK_EQ(-9, lates[0].digest);
    CHECK_STR("w-1", lates[0].owner);
    CHECK_STR("", lates[0].body);
    int64_t keys[] = {40, 50};
    pawl_set_append(&lab->set, PAWL_APPEND_LOG_PRUNE, LAB_TAKE(lab, keys[0]));
    pawl_set_append(&lab->set, PAWL_APPEND_LATE_PRUNE, LAB_TAKE(lab, keys[1]));
    lab_commit(lab);

    lab_begin(lab);
    CHECK_EQ(1, lab_rows(lab, PAWL_LOOK_LOG_OLDEST, 3, 0, 0)->count);
    CHECK_EQ(1, lab_rows(lab, PAWL_LOOK_LATE, 3, 0, 0)->count);
    pawl_store_rollback(lab->store);
}

/* ---- Events and the commit --------------------------------------------------------------------
 */

STORE_TEST("events take the next positions, in the order in which they were made")
{
    struct pawl_event_new full = {.row = {.task = 3,
                                          .sequence = 9,
                                          .type = PAWL_EVENT_RETRY_SCHEDULED,
                                          .at_ms = 11,
                                          .state = PAWL_TASK_QUEUED,
                                          .epoch = 12,
                                          .version = 13,
                                          .progress = 0.5,
                                          .retries = 14,
                                          .next_retry_at_ms = 15,
                                          .duration_ms = 16,
                                          .cause = PAWL_CAUSE_TIMED_OUT,
                                          .actor = PAWL_STR("w-1"),
                                          .note = PAWL_STR("why")}};
    lab_begin(lab);
    lab_put_event(lab, 1, 1);
    pawl_set_append(&lab->set, PAWL_APPEND_EVENT, LAB_TAKE(lab, full));
    lab->head.next_key = 55;
    lab_commit(lab);
    CHECK_EQ(2, lab->head.position);

    lab_begin(lab);
    CHECK_EQ(2, lab->head.position);
    CHECK_EQ(55, lab->head.next_key);
    lab_put_event(lab, 1, 2);
    lab_commit(lab);

    lab_begin(lab);
    CHECK_EQ(3, lab->head.position);
    struct pawl_event_row *row = lab_look(lab, PAWL_LOOK_EVENT, 2, NULL, 0, 0)->row;
    CHECK_EQ(2, row->position);
    CHECK_EQ(3, row->task);
    CHECK_EQ(9, row->sequence);
    CHECK_EQ(PAWL_EVENT_RETRY_SCHEDULED, row->type);
    CHECK_EQ(11, row->at_ms);
    CHECK_EQ(PAWL_TASK_QUEUED, row->state);
    CHECK_EQ(12, row->epoch);
    CHECK_EQ(13, row->version);
    CHECK_NEAR(0.5, row->progress, 0);
    CHECK_EQ(14, row->retries);
    CHECK_EQ(15, row->next_retry_at_ms);
    CHECK_EQ(16, row->duration_ms);
    CHECK_EQ(PAWL_CAUSE_TIMED_OUT, row->cause);
    CHECK_STR("w-1", row->actor);
    CHECK_STR("why", row->note);
    row = lab_look(lab, PAWL_LOOK_EVENT, 3, NULL, 0, 0)->row;
    CHECK_EQ(2, row->sequence);
    CHECK_STR("", row->note);
    pawl_store_rollback(lab->store);
}

STORE_TEST("events are pruned oldest first, but for the newest, within the position and the limit")
{
    lab_begin(lab);
    for (int64_t i = 1; i <= 10; i++) lab_put_event(lab, 1, i);
    lab_put_event(lab, 2, 1);
    lab_commit(lab);

    static const struct pawl_event_prune prunes[] = {
        {1, 1, 100, 2}, {1, 0, 4, 100}, {1, 4, 100, 100}};
    static const int64_t oldest[] = {3, 5, 7};
    for (size_t i = 0; i < COUNT_OF(prunes); i++) {
        lab_begin(lab);
        pawl_set_append(&lab->set, PAWL_APPEND_EVENT_PRUNE, LAB_TAKE(lab, prunes[i]));
        lab_commit(lab);
        lab_begin(lab);
        CHECK(lab_look(lab, PAWL_LOOK_EVENT, oldest[i] - 1, NULL, 0, 0)->row == NULL);
        CHECK(lab_look(lab, PAWL_LOOK_EVENT, oldest[i], NULL, 0, 0)->row != NULL);
        CHECK(lab_look(lab, PAWL_LOOK_EVENT, 11, NULL, 0, 0)->row != NULL);
        pawl_store_rollback(lab->store);
    }
}

STORE_TEST("a step without a change writes nothing, not even its time")
{
    lab_begin(lab);
    (void)lab_put_task(lab, 1, QUEUE);
    lab_commit(lab);

    struct counter commits = {.point = PAWL_SQL_COMMIT};
    pawl_store_db(lab->store)->hook = (struct pawl_db_hook){count_point, &commits};
    lab_begin(lab);
    (void)lab_task(lab, 1);
    lab_commit(lab);
    CHECK_EQ(0, commits.count);
    lab_begin(lab);
    (void)lab_put_task(lab, 2, QUEUE);
    lab_commit(lab);
    CHECK_EQ(1, commits.count);
}

/* Fails at the nth point, from 1; 0 = never. */
struct breaker {
    int at;
    int seen;
    enum pawl_code code;
};

static enum pawl_code break_point(void *self, int32_t point, struct pawl_error *err)
{
    struct breaker *breaker = self;
    if (point == PAWL_SQL_ROLLBACK) return PAWL_OK;
    breaker->seen++;
    if (breaker->seen != breaker->at) return PAWL_OK;
    if (err != NULL) *err = (struct pawl_error){.code = breaker->code, .text = "broken on purpose"};
    return breaker->code;
}

static enum pawl_code one_step(struct lab *lab, int64_t key)
{
    enum pawl_code code = lab_try_begin(lab);
    if (code != PAWL_OK) return code;
    (void)pawl_set_look(&lab->set, PAWL_LOOK_READY, QUEUE, (struct pawl_str){0}, 0, 0);
    code = pawl_store_load(lab->store, &lab->set, &lab->err);
    if (code != PAWL_OK) {
        pawl_store_rollback(lab->store);
        return code;
    }
    (void)lab_put_task(lab, key, QUEUE);
    put_payload(lab, key * 16, "input");
    lab_put_event(lab, key, 1);
    return lab_try_commit(lab);
}

STORE_TEST("a step that fails at any statement leaves nothing, and the next one succeeds")
{
    struct breaker breaker = {.code = PAWL_IO};
    bool is_through = false;
    int64_t done = 0;
    for (int at = 1; !is_through; at++) {
        CHECK(at < 100);
        struct pawl_db *db = pawl_store_db(lab->store);
        breaker = (struct breaker){.at = at, .code = PAWL_IO};
        db->hook = (struct pawl_db_hook){break_point, &breaker};
        enum pawl_code code = one_step(lab, done + 1);
        is_through = code == PAWL_OK;
        if (code == PAWL_OK || code == PAWL_UNKNOWN_OUTCOME)
            done++; /* the hook is after the commit */
        pawl_store_db(lab->store)->hook = (struct pawl_db_hook){0};

        lab_begin(lab);
        CHECK_EQ(done, lab->head.position);
        CHECK_EQ(done, lab_rows(lab, PAWL_LOOK_READY, QUEUE, 0, 0)->count);
        CHECK((payload(lab, (done + 1) * 16) != NULL) == false);
        pawl_store_rollback(lab->store);
    }
    CHECK(breaker.seen > 6); /* it did look at each */
}

STORE_TEST("after a commit of unknown outcome the store goes on with a new connection")
{
    struct breaker breaker = {.code = PAWL_UNKNOWN_OUTCOME};
    struct pawl_db *before = pawl_store_db(lab->store);
    before->hook = (struct pawl_db_hook){break_point, &breaker};
    CHECK_OK(one_step(lab, 1), &lab->err);
    breaker.at = breaker.seen * 2; /* the last point of the next step: it is committed */
    CHECK_CODE(PAWL_UNKNOWN_OUTCOME, one_step(lab, 2));
    /* PostgreSQL's driver makes its connection anew only when that is lost */
    CHECK(pawl_store_is_postgres(lab->store) || strstr(lab->log_text, "store.reopened") != NULL);

    lab_begin(lab);
    CHECK(lab_task(lab, 2) != NULL);
    CHECK_EQ(2, lab->head.position);
    pawl_store_rollback(lab->store);
    CHECK_OK(one_step(lab, 3), &lab->err);
}

STORE_TEST("two handles on one store see each other's commits")
{
    struct pawl_store *first = lab->store;
    struct pawl_store *second = NULL;
    CHECK_OK(lab_store(lab, true, &second), &lab->err);
    for (int64_t key = 1; key <= 6; key++) {
        lab->store = key % 2 == 0 ? second : first;
        CHECK_OK(one_step(lab, key), &lab->err);
        CHECK_EQ(key, lab->head.position);
    }
    lab->store = first;
    pawl_store_close(second);
    lab_begin(lab);
    CHECK_EQ(6, lab_rows(lab, PAWL_LOOK_READY, QUEUE, 0, 0)->count);
    pawl_store_rollback(lab->store);
}

/* ---- Plain reads ------------------------------------------------------------------------------
 */

static int64_t next_due(struct lab *lab)
{
    int64_t due_at_ms = -1;
    int64_t now_ms = -1;
    CHECK_OK(pawl_store_next_due(lab->store, &due_at_ms, &now_ms, &lab->err), &lab->err);
    CHECK(now_ms > 0);
    return due_at_ms;
}

STORE_TEST("the next due instant is the earliest, 0 while a continuation waits, else never")
{
    CHECK_EQ(INT64_MAX, next_due(lab));
    lab_begin(lab);
    lab_put_task(lab, 1, QUEUE)->due_at_ms = 700;
    lab_put_task(lab, 2, QUEUE)->due_at_ms = 600;
    (void)lab_put_task(lab, 3, QUEUE);
    lab_commit(lab);
    CHECK_EQ(600, next_due(lab));

    lab_begin(lab);
    put_continuation(lab, 20);
    lab_commit(lab);
    CHECK_EQ(0, next_due(lab));
    lab_begin(lab);
    CHECK(lab_look(lab, PAWL_LOOK_CONTINUATION, 20, NULL, 0, 0)->row != NULL);
    pawl_set_put(&lab->set, PAWL_LOOK_CONTINUATION, 20, (struct pawl_str){0}, 0, NULL);
    lab_commit(lab);
    CHECK_EQ(600, next_due(lab));
}

static bool has_ready(struct lab *lab, const char *first, const char *second)
{
    struct pawl_str names[] = {pawl_str_of(first), pawl_str_of(second)};
    bool is_any = false;
    CHECK_OK(pawl_store_has_ready(lab->store, names, second == NULL ? 1 : 2, &is_any, &lab->err),
             &lab->err);
    return is_any;
}

STORE_TEST("something is ready when one of the queues has a rank and is not paused")
{
    lab_begin(lab);
    lab_put_queue(lab, QUEUE, "mail");
    lab_put_queue(lab, OTHER_QUEUE, "print");
    (void)lab_put_task(lab, 5, QUEUE);
    lab_put_task(lab, 6, OTHER_QUEUE)->rank = PAWL_RANK_NONE;
    lab_commit(lab);
    CHECK(has_ready(lab, "mail", NULL));
    CHECK(has_ready(lab, "print", "mail"));
    CHECK(!has_ready(lab, "print", NULL));
    CHECK(!has_ready(lab, "none", NULL));

    lab_begin(lab);
    struct pawl_entry *entry = lab_look(lab, PAWL_LOOK_QUEUE, QUEUE, NULL, 0, 0);
    ((struct pawl_queue_row *)pawl_set_change(&lab->set, entry))->is_paused = true;
    lab_commit(lab);
    CHECK(!has_ready(lab, "mail", "print"));
}

TEST_MAIN()
