#include "rows.h"

#include "base/error.h"
#include "core/task/event.h"
#include "store/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VALUES_MAX = 64 };

static const char result[] = "{\"answer\":\"forty-two\",\"n\":42}";

struct values {
    struct pawl_value of[VALUES_MAX];
    size_t count;
};

static void must(enum pawl_code code, const struct pawl_error *err)
{
    if (code == PAWL_OK) return;
    fprintf(stderr, "ceiling: %s\n", err->text);
    exit(1);
}

static void add(struct values *values, int64_t number)
{
    values->of[values->count++] = number == ROWS_NULL ? pawl_null() : pawl_int(number);
}

static void add_real(struct values *values, double real)
{
    values->of[values->count++] = pawl_real(real);
}

static void add_text(struct values *values, const char *text)
{
    values->of[values->count++] =
        text == NULL ? pawl_null() : pawl_text((struct pawl_str){text, strlen(text)});
}

static void add_many(struct values *values, int64_t number, int count)
{
    while (count-- > 0) add(values, number);
}

static void ask(struct rows *rows, enum pawl_statement statement, const struct values *values,
                pawl_on_row *on_row)
{
    struct pawl_error err;
    struct pawl_db_ask question = {
        .statement = statement,
        .values = values->of,
        .count = values->count,
        .on_row = on_row,
        .self = rows,
    };
    must(pawl_db_ask(rows->db, &question, &err), &err);
}

static void change(struct rows *rows, enum pawl_statement statement, const struct values *values)
{
    struct pawl_error err;
    must(pawl_db_change(rows->db, statement, values->of, values->count, true, &err), &err);
}

static void run_alone(struct rows *rows, enum pawl_statement statement)
{
    ask(rows, statement, &(struct values){0}, NULL);
}

static void flush(struct rows *rows)
{
    struct pawl_error err;
    must(pawl_db_flush(rows->db, &err), &err);
}

/* ---- What is read: every column, as a load reads it ---- */

static void read_task(struct rows *rows, const struct pawl_db_row *row)
{
    enum { TEXTS_FIRST = 46, TEXTS_LAST = 48, PROGRESS = 28 };
    for (int32_t i = 0; i < PAWL_ROW_TASK_COLUMNS; i++) {
        if (i == 1 || (i >= TEXTS_FIRST && i <= TEXTS_LAST)) {
            rows->sum += (int64_t)pawl_db_text(row, i).len;
        } else if (i == PROGRESS) {
            rows->sum += (int64_t)pawl_db_double(row, i);
        } else {
            rows->sum += pawl_db_int64(row, i);
        }
    }
}

static enum pawl_code on_task(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    read_task(self, row);
    return PAWL_OK;
}

static enum pawl_code on_ready(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct rows *rows = self;
    struct rows_claimed *claimed = &rows->claimed[rows->claimed_count++];
    struct pawl_str id = pawl_db_text(row, 1);
    (void)err;
    read_task(rows, row);
    claimed->key = pawl_db_int64(row, 0);
    (void)snprintf(claimed->id, sizeof claimed->id, "%.*s", (int)id.len, id.ptr);
    return PAWL_OK;
}

static enum pawl_code on_body(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    ((struct rows *)self)->sum += (int64_t)pawl_db_text(row, 0).len;
    return PAWL_OK;
}

static enum pawl_code on_head(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct rows *rows = self;
    (void)err;
    rows->position = pawl_db_int64(row, 0);
    rows->next_key = pawl_db_int64(row, 1);
    rows->wall_offset_ms = pawl_db_int64(row, 3);
    rows->generation = pawl_db_int64(row, 4);
    return PAWL_OK;
}

static enum pawl_code on_queue(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    ((struct rows *)self)->queue = pawl_db_int64(row, 0);
    return PAWL_OK;
}

static enum pawl_code on_worker(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    ((struct rows *)self)->worker = pawl_db_int64(row, 0);
    return PAWL_OK;
}

/* ---- What is written ---- */

/* Kept until the commit, which writes them all. */
static void event(struct rows *rows, int64_t task, int64_t sequence, enum pawl_event_type type,
                  enum pawl_task_state state)
{
    if (rows->event_count == rows->event_room) {
        rows->event_room = rows->event_room == 0 ? 1024 : 2 * rows->event_room;
        rows->events = realloc(rows->events, rows->event_room * sizeof *rows->events);
        if (rows->events == NULL) exit(1);
    }
    rows->events[rows->event_count++] = (struct rows_event){task, sequence, type, state};
}

static void write_event(struct rows *rows, const struct rows_event *event)
{
    bool was_claimed = event->sequence > 2;
    struct values v = {0};
    add(&v, ++rows->position);
    add(&v, event->task);
    add(&v, event->sequence);
    add(&v, event->type);
    add(&v, rows->now_ms);
    add(&v, event->state);
    add(&v, was_claimed);     /* epoch */
    add(&v, event->sequence); /* version */
    add_real(&v, event->state == PAWL_TASK_COMPLETED ? 100 : 0);
    add(&v, 0);
    add_many(&v, ROWS_NULL, 2);
    add(&v, 0);
    add_text(&v, was_claimed ? "worker-1" : NULL);
    add(&v, ROWS_NULL);
    ask(rows, PAWL_SQL_EVENT_ADD, &v, NULL);
}

static void payload(struct rows *rows, int64_t task, enum pawl_payload_kind kind, const char *body)
{
    struct values v = {0};
    add(&v, task * PAWL_PAYLOAD_KINDS_MAX + kind);
    add_text(&v, body);
    change(rows, PAWL_SQL_PAYLOAD_PUT, &v);
}

/* A task's row as TASK_ADD takes it: queued and ready, or completed. */
static int64_t task(struct rows *rows, bool is_finished)
{
    char id[37];
    int64_t key = rows->next_key++;
    (void)snprintf(id, sizeof id, "%08x-%04x-7%03x-8%03x-%012llx", (unsigned)(rows->now_ms >> 16),
                   (unsigned)(rows->now_ms & 0xffff), (unsigned)(key & 0xfff),
                   (unsigned)((key >> 12) & 0xfff), (unsigned long long)key * 2654435761u & 0xffffffffffff);
    struct values v = {0};
    add(&v, key);
    add_text(&v, id);
    add(&v, rows->queue);
    add(&v, is_finished ? PAWL_TASK_COMPLETED : PAWL_TASK_QUEUED);
    add(&v, 20);
    add(&v, is_finished ? ROWS_NULL : ((int64_t)79 << 48) | rows->now_ms);
    add(&v, ROWS_NULL);             /* due_at_ms */
    add(&v, is_finished ? 4 : 2);   /* version */
    add(&v, is_finished);           /* epoch */
    add_many(&v, ROWS_NULL, 6);     /* lease_kind .. timeout_ms */
    add(&v, 3);
    add(&v, 0);
    add(&v, 1000);
    add(&v, 60000);
    add_many(&v, 0, 4);             /* jitter, retries, recoveries, crashes_in_row */
    add(&v, ROWS_NULL);             /* ready_at_ms */
    add(&v, rows->now_ms);
    add(&v, rows->now_ms);
    add(&v, is_finished ? rows->now_ms : ROWS_NULL);
    add(&v, is_finished ? rows->now_ms : ROWS_NULL);
    add_real(&v, is_finished ? 100 : 0); /* progress */
    add(&v, 0);
    add(&v, ROWS_NULL);
    add(&v, 0);                     /* control */
    add(&v, ROWS_NULL);
    add(&v, is_finished ? 4 : 2);   /* sequence */
    add_many(&v, is_finished ? 1 : ROWS_NULL, 3);
    add_many(&v, 0, 2);
    add(&v, ROWS_NULL);             /* blocked_by */
    add(&v, 0);
    add(&v, is_finished ? 3 : 1);   /* payloads */
    add_many(&v, 0, 2);
    add(&v, INPUT_BYTES);
    add(&v, 0);
    add_many(&v, ROWS_NULL, 3);
    add(&v, key);                   /* body_digest */
    add_many(&v, ROWS_NULL, 3);     /* run_at_ms, lease_place, workflow */
    add(&v, 0);                     /* claims */
    add_many(&v, ROWS_NULL, 2);     /* response_ms, gate */
    change(rows, PAWL_SQL_TASK_ADD, &v);
    return key;
}

static void add_tasks(struct rows *rows, int count, bool is_finished)
{
    int64_t first = rows->next_key;
    for (int i = 0; i < count; i++) (void)task(rows, is_finished);
    for (int64_t key = first; key < first + count; key++) {
        payload(rows, key, PAWL_PAYLOAD_INPUT, rows->input);
        if (is_finished) payload(rows, key, PAWL_PAYLOAD_RESULT, result);
        event(rows, key, 1, PAWL_EVENT_CREATED, PAWL_TASK_PENDING);
        event(rows, key, 2, PAWL_EVENT_QUEUED, PAWL_TASK_QUEUED);
        if (!is_finished) continue;
        event(rows, key, 3, PAWL_EVENT_STARTED, PAWL_TASK_RUNNING);
        event(rows, key, 4, PAWL_EVENT_COMPLETED, PAWL_TASK_COMPLETED);
    }
}

void rows_create(struct rows *rows, int count)
{
    add_tasks(rows, count, false);
}

void rows_finished(struct rows *rows, int count)
{
    add_tasks(rows, count, true);
}

/* TASK_SAVE: RUNNING from QUEUED, or COMPLETED from RUNNING. */
static void save(struct rows *rows, int64_t key, bool is_finished)
{
    struct values v = {0};
    add(&v, key);
    add(&v, is_finished ? PAWL_TASK_RUNNING : PAWL_TASK_QUEUED);
    add(&v, is_finished);
    add(&v, is_finished ? 4 : 3);
    add(&v, 1);
    add(&v, is_finished ? ROWS_NULL : PAWL_LEASE_CLIENT);
    add(&v, is_finished ? ROWS_NULL : rows->worker);
    add(&v, is_finished ? ROWS_NULL : 60000);
    add(&v, is_finished ? ROWS_NULL : rows->now_ms + 60000);
    add(&v, ROWS_NULL);
    add_many(&v, 0, 3);
    add(&v, ROWS_NULL);
    add(&v, rows->now_ms);
    add(&v, rows->now_ms);
    add_real(&v, is_finished ? 100 : 0);
    add(&v, is_finished);
    add(&v, ROWS_NULL);
    add(&v, 0);
    add(&v, ROWS_NULL);
    add(&v, is_finished ? 4 : 3);
    add_many(&v, is_finished ? 1 : ROWS_NULL, 3);
    add_many(&v, 0, 2);
    add(&v, is_finished ? 3 : 1);
    add_many(&v, 0, 2);
    add(&v, INPUT_BYTES);
    add(&v, 0);
    add(&v, 0);                 /* claims */
    add(&v, is_finished ? PAWL_TASK_COMPLETED : PAWL_TASK_RUNNING);
    add(&v, ROWS_NULL);
    add(&v, is_finished ? ROWS_NULL : rows->now_ms + 60000);
    add(&v, is_finished ? rows->now_ms : ROWS_NULL);
    add_many(&v, ROWS_NULL, 4); /* blocked_by, run_at_ms, lease_place, gate */
    change(rows, PAWL_SQL_TASK_SAVE, &v);
}

void rows_claim(struct rows *rows, int count)
{
    struct values v = {0};
    add(&v, rows->queue);
    add(&v, count < ROWS_CLAIMED_MAX ? count : ROWS_CLAIMED_MAX);
    rows->claimed_count = 0;
    ask(rows, PAWL_SQL_TASKS_READY, &v, on_ready);
    flush(rows);
    for (int i = 0; i < rows->claimed_count; i++) {
        struct values key = {0};
        add(&key, rows->claimed[i].key * PAWL_PAYLOAD_KINDS_MAX + PAWL_PAYLOAD_INPUT);
        ask(rows, PAWL_SQL_PAYLOAD_GET, &key, on_body);
    }
    for (int i = 0; i < rows->claimed_count; i++) {
        save(rows, rows->claimed[i].key, false);
        event(rows, rows->claimed[i].key, 3, PAWL_EVENT_STARTED, PAWL_TASK_RUNNING);
    }
}

void rows_complete(struct rows *rows)
{
    for (int i = 0; i < rows->claimed_count; i++) {
        struct values id = {0};
        add_text(&id, rows->claimed[i].id);
        ask(rows, PAWL_SQL_TASK_BY_ID, &id, on_task);
    }
    for (int i = 0; i < rows->claimed_count; i++) save(rows, rows->claimed[i].key, true);
    for (int i = 0; i < rows->claimed_count; i++) {
        payload(rows, rows->claimed[i].key, PAWL_PAYLOAD_RESULT, result);
        event(rows, rows->claimed[i].key, 4, PAWL_EVENT_COMPLETED, PAWL_TASK_COMPLETED);
    }
}

void rows_begin(struct rows *rows)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    rows->now_ms = (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
    run_alone(rows, PAWL_SQL_BEGIN_WRITE);
}

void rows_commit(struct rows *rows)
{
    for (size_t i = 0; i < rows->event_count; i++) write_event(rows, &rows->events[i]);
    rows->event_count = 0;
    struct values v = {0};
    add(&v, rows->position);
    add(&v, rows->next_key);
    add(&v, rows->now_ms);
    add(&v, rows->wall_offset_ms);
    add(&v, rows->generation);
    change(rows, PAWL_SQL_HEAD_SAVE, &v);
    run_alone(rows, PAWL_SQL_COMMIT);
    flush(rows);
    if (rows->db->driver->checkpoint != NULL) rows->db->driver->checkpoint(rows->db, false);
}

void rows_open(struct rows *rows, const char *store, const char *queue)
{
    struct pawl_error err;
    struct pawl_db_options options = {.target = {store, strlen(store)}, .must_exist = true};
    *rows = (struct rows){0};
    (void)snprintf(rows->input, sizeof rows->input, "{\"payload\":\"%0*d\"}", INPUT_BYTES - 14, 7);
    must(pawl_db_open(&rows->db, &options, &err), &err);
    struct values name = {0};
    struct values worker = {0};
    add_text(&name, queue);
    add_text(&worker, "worker-0");
    ask(rows, PAWL_SQL_HEAD_LOCK, &(struct values){0}, on_head);
    ask(rows, PAWL_SQL_QUEUE_BY_NAME, &name, on_queue);
    ask(rows, PAWL_SQL_WORKER_BY_ID, &worker, on_worker);
    flush(rows);
    if (rows->worker == 0) {
        fprintf(stderr, "ceiling: lifecycle has to make the store, with its worker-0\n");
        exit(1);
    }
    if (rows->queue != 0) return;
    rows->queue = rows->next_key++;
    struct values v = {0};
    add(&v, rows->queue);
    add_text(&v, queue);
    add_many(&v, 0, 7);
    rows_begin(rows);
    change(rows, PAWL_SQL_QUEUE_ADD, &v);
    rows_commit(rows);
}

void rows_close(struct rows *rows)
{
    free(rows->events);
    pawl_db_close(rows->db);
}
