#include "rows.h"

#include "core/task/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VALUES_MAX = 64, LOG_PAGES_LONG = 1000 };

static const char result[] = "{\"answer\":\"forty-two\",\"n\":42}";

struct values {
    int64_t number[VALUES_MAX];
    const char *text[VALUES_MAX];
    int count;
};

static void must(struct rows *rows, int got, int want)
{
    if (got == want) return;
    fprintf(stderr, "ceiling: %s (%d)\n", sqlite3_errmsg(rows->db), got);
    exit(1);
}

static void add(struct values *values, int64_t number)
{
    values->number[values->count++] = number;
}

static void add_text(struct values *values, const char *text)
{
    values->text[values->count++] = text;
}

static void add_many(struct values *values, int64_t number, int count)
{
    while (count-- > 0) add(values, number);
}

static sqlite3_stmt *bound(struct rows *rows, enum pawl_statement number, const struct values *values)
{
    sqlite3_stmt **slot = &rows->statements[number];
    if (*slot == NULL) {
        must(rows,
             sqlite3_prepare_v3(rows->db, pawl_sql_sqlite[number], -1, SQLITE_PREPARE_PERSISTENT, slot,
                                NULL),
             SQLITE_OK);
    }
    for (int i = 0; i < values->count; i++) {
        int got = SQLITE_OK;
        if (values->text[i] != NULL) {
            got = sqlite3_bind_text(*slot, i + 1, values->text[i], -1, SQLITE_STATIC);
        } else if (values->number[i] == ROWS_NULL) {
            got = sqlite3_bind_null(*slot, i + 1);
        } else {
            got = sqlite3_bind_int64(*slot, i + 1, values->number[i]);
        }
        must(rows, got, SQLITE_OK);
    }
    return *slot;
}

static void run(struct rows *rows, enum pawl_statement number, const struct values *values)
{
    sqlite3_stmt *statement = bound(rows, number, values);
    must(rows, sqlite3_step(statement), SQLITE_DONE);
    (void)sqlite3_reset(statement);
}

/* Reads every column, as a load does. */
static int64_t read_columns(sqlite3_stmt *statement)
{
    int64_t sum = 0;
    int count = sqlite3_column_count(statement);
    for (int i = 0; i < count; i++) {
        if (sqlite3_column_type(statement, i) == SQLITE_TEXT) {
            sum += sqlite3_column_bytes(statement, i);
        } else {
            sum += sqlite3_column_int64(statement, i);
        }
    }
    return sum;
}

static void event(struct rows *rows, int64_t task, int64_t sequence, enum pawl_event_type type,
                  enum pawl_task_state state, int64_t epoch, int64_t version, const char *actor)
{
    struct values v = {0};
    add(&v, ++rows->position);
    add(&v, task);
    add(&v, sequence);
    add(&v, type);
    add(&v, rows->now_ms);
    add(&v, state);
    add(&v, epoch);
    add(&v, version);
    add(&v, state == PAWL_TASK_COMPLETED ? 100 : 0);
    add(&v, 0);
    add_many(&v, ROWS_NULL, 2);
    add(&v, 0);
    if (actor != NULL) {
        add_text(&v, actor);
    } else {
        add(&v, ROWS_NULL);
    }
    add(&v, ROWS_NULL);
    run(rows, PAWL_SQL_EVENT_ADD, &v);
}

static void payload(struct rows *rows, int64_t task, enum pawl_payload_kind kind, const char *body)
{
    struct values v = {0};
    add(&v, task * PAWL_PAYLOAD_KINDS_MAX + kind);
    add_text(&v, body);
    run(rows, PAWL_SQL_PAYLOAD_PUT, &v);
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
    add(&v, is_finished ? 100 : 0); /* progress */
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
    run(rows, PAWL_SQL_TASK_ADD, &v);
    payload(rows, key, PAWL_PAYLOAD_INPUT, rows->input);
    event(rows, key, 1, PAWL_EVENT_CREATED, PAWL_TASK_PENDING, 0, 1, NULL);
    event(rows, key, 2, PAWL_EVENT_QUEUED, PAWL_TASK_QUEUED, 0, 2, NULL);
    return key;
}

int64_t rows_create(struct rows *rows)
{
    return task(rows, false);
}

void rows_finished(struct rows *rows)
{
    int64_t key = task(rows, true);
    payload(rows, key, PAWL_PAYLOAD_RESULT, result);
    event(rows, key, 3, PAWL_EVENT_STARTED, PAWL_TASK_RUNNING, 1, 3, "worker-1");
    event(rows, key, 4, PAWL_EVENT_COMPLETED, PAWL_TASK_COMPLETED, 1, 4, "worker-1");
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
    add(&v, is_finished ? ROWS_NULL : 1);
    add(&v, is_finished ? ROWS_NULL : 1);
    add(&v, is_finished ? ROWS_NULL : 60000);
    add(&v, is_finished ? ROWS_NULL : rows->now_ms + 60000);
    add(&v, ROWS_NULL);
    add_many(&v, 0, 3);
    add(&v, ROWS_NULL);
    add(&v, rows->now_ms);
    add(&v, rows->now_ms);
    add(&v, is_finished ? 100 : 0);
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
    add(&v, is_finished ? PAWL_TASK_COMPLETED : PAWL_TASK_RUNNING);
    add(&v, ROWS_NULL);
    add(&v, is_finished ? ROWS_NULL : rows->now_ms + 60000);
    add(&v, is_finished ? rows->now_ms : ROWS_NULL);
    add(&v, ROWS_NULL);
    run(rows, PAWL_SQL_TASK_SAVE, &v);
}

int rows_claim(struct rows *rows, int count, struct rows_claimed *out)
{
    struct values v = {0};
    add(&v, rows->queue);
    add(&v, count);
    sqlite3_stmt *ready = bound(rows, PAWL_SQL_TASKS_READY, &v);
    int found = 0;
    while (sqlite3_step(ready) == SQLITE_ROW) {
        (void)read_columns(ready);
        out[found].key = sqlite3_column_int64(ready, 0);
        (void)snprintf(out[found].id, sizeof out[found].id, "%s",
                       (const char *)sqlite3_column_text(ready, 1));
        found++;
    }
    (void)sqlite3_reset(ready);
    for (int i = 0; i < found; i++) {
        struct values key = {0};
        add(&key, out[i].key * PAWL_PAYLOAD_KINDS_MAX + PAWL_PAYLOAD_INPUT);
        sqlite3_stmt *body = bound(rows, PAWL_SQL_PAYLOAD_GET, &key);
        must(rows, sqlite3_step(body), SQLITE_ROW);
        (void)read_columns(body);
        (void)sqlite3_reset(body);
        save(rows, out[i].key, false);
        event(rows, out[i].key, 3, PAWL_EVENT_STARTED, PAWL_TASK_RUNNING, 1, 3, "worker-1");
    }
    return found;
}

void rows_complete(struct rows *rows, const struct rows_claimed *claimed)
{
    struct values id = {0};
    add_text(&id, claimed->id);
    sqlite3_stmt *found = bound(rows, PAWL_SQL_TASK_BY_ID, &id);
    must(rows, sqlite3_step(found), SQLITE_ROW);
    (void)read_columns(found);
    (void)sqlite3_reset(found);
    save(rows, claimed->key, true);
    payload(rows, claimed->key, PAWL_PAYLOAD_RESULT, result);
    event(rows, claimed->key, 4, PAWL_EVENT_COMPLETED, PAWL_TASK_COMPLETED, 1, 4, "worker-1");
}

static void run_alone(struct rows *rows, enum pawl_statement number)
{
    run(rows, number, &(struct values){0});
}

void rows_begin(struct rows *rows)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    rows->now_ms = (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
    run_alone(rows, PAWL_SQL_BEGIN_WRITE);
}

static int log_grew(void *self, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    ((struct rows *)self)->log_pages = pages;
    return SQLITE_OK;
}

void rows_commit(struct rows *rows)
{
    struct values v = {0};
    add(&v, rows->position);
    add(&v, rows->next_key);
    add(&v, rows->now_ms);
    run(rows, PAWL_SQL_HEAD_SAVE, &v);
    run_alone(rows, PAWL_SQL_COMMIT);
    if (rows->log_pages < LOG_PAGES_LONG) return;
    (void)sqlite3_wal_checkpoint_v2(rows->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    rows->log_pages = 0;
}

void rows_open(struct rows *rows, const char *path, const char *queue)
{
    *rows = (struct rows){0};
    (void)snprintf(rows->input, sizeof rows->input, "{\"payload\":\"%0*d\"}", INPUT_BYTES - 14, 7);
    must(rows, sqlite3_open_v2(path, &rows->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL),
         SQLITE_OK);
    must(rows,
         sqlite3_exec(rows->db,
                      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192;"
                      "PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY;",
                      NULL, NULL, NULL),
         SQLITE_OK);
    sqlite3_wal_hook(rows->db, log_grew, rows);
    sqlite3_stmt *head = bound(rows, PAWL_SQL_HEAD_LOCK, &(struct values){0});
    must(rows, sqlite3_step(head), SQLITE_ROW);
    rows->position = sqlite3_column_int64(head, 0);
    rows->next_key = sqlite3_column_int64(head, 1);
    (void)sqlite3_reset(head);
    struct values name = {0};
    add_text(&name, queue);
    sqlite3_stmt *found = bound(rows, PAWL_SQL_QUEUE_BY_NAME, &name);
    if (sqlite3_step(found) == SQLITE_ROW) rows->queue = sqlite3_column_int64(found, 0);
    (void)sqlite3_reset(found);
    if (rows->queue != 0) return;
    rows->queue = rows->next_key++;
    struct values v = {0};
    add(&v, rows->queue);
    add_text(&v, queue);
    add_many(&v, 0, 7);
    rows_begin(rows);
    run(rows, PAWL_SQL_QUEUE_ADD, &v);
    rows_commit(rows);
}

void rows_close(struct rows *rows)
{
    for (int i = 0; i < PAWL_SQL_COUNT; i++) (void)sqlite3_finalize(rows->statements[i]);
    (void)sqlite3_close(rows->db);
}
