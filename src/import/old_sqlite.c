/* The SQLite form, schemas 1 to 3. The file is opened immutable: SQLite takes no lock, and makes
 * nothing beside it. That is right because file.c has refused one with a log, and looks at the end
 * whether it is still the same. The statements are this file's own: what they read is no store of
 * ours, and columns that an earlier schema lacks are left out of them. */
#include "import/record.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/limits.h"
#include "import/file.h"
#include "store/sqlite_file.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCHEMA_MAX = 3,
    SQL_BYTES_MAX = 1024, /* all columns, by name */
    URI_BYTES_MAX = 3 * 4096 + 64,
};

struct old_sqlite {
    const char *path;
    sqlite3 *handle;
    sqlite3_stmt *task;   /* one row, its columns as listed */
    sqlite3_stmt *outbox; /* NULL: there is no such table */
    enum pawl_old_field columns[PAWL_OLD_FIELD_COUNT];
    int column_count;
    int64_t *row_ids;
};

static enum pawl_code fail(const struct old_sqlite *old, int result, struct pawl_error *err)
{
    int kind = result & 0xFF;
    enum pawl_code code = kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB ? PAWL_CORRUPT
                          : kind == SQLITE_NOMEM                          ? PAWL_NO_MEMORY
                          : kind == SQLITE_ERROR                          ? PAWL_INVALID
                                                                          : PAWL_IO;
    const char *why = old->handle != NULL ? sqlite3_errmsg(old->handle) : sqlite3_errstr(result);
    return pawl_error_set(err, code, "%s cannot be read: %s", old->path, why);
}

static void close_store(void *self)
{
    struct old_sqlite *old = self;
    (void)sqlite3_finalize(old->task);
    (void)sqlite3_finalize(old->outbox);
    (void)sqlite3_close(old->handle); /* takes NULL; nothing was written */
    free(old);
}

/* "file:…?immutable=1" with what a URI may not hold as %XX. */
static void make_uri(const char *path, char out[URI_BYTES_MAX])
{
    size_t at = (size_t)snprintf(out, URI_BYTES_MAX, "file:%s", path[0] == '/' ? "" : "./");
    for (const char *from = path; *from != '\0' && at + 32 < URI_BYTES_MAX; from++) {
        unsigned char c = (unsigned char)*from;
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '/' || c == '.' || c == '_' || c == '-';
        at += (size_t)snprintf(out + at, URI_BYTES_MAX - at, is_plain ? "%c" : "%%%02X", c);
    }
    (void)snprintf(out + at, URI_BYTES_MAX - at, "?immutable=1");
}

static int read_number(struct old_sqlite *old, const char *sql, int64_t *out)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(old->handle, sql, -1, &statement, NULL);
    if (result == SQLITE_OK) result = sqlite3_step(statement);
    if (result == SQLITE_ROW) *out = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement); /* says again what step said */
    return result == SQLITE_ROW || result == SQLITE_DONE ? SQLITE_OK : result;
}

/* Text that can be text here; anything else is of no kind. */
static struct pawl_old_value text_value(sqlite3_stmt *statement, int column,
                                        struct pawl_arena *keep)
{
    struct pawl_old_value value = {.kind = PAWL_OLD_OTHER};
    const char *bytes = sqlite3_column_blob(statement, column);
    size_t len = (size_t)sqlite3_column_bytes(statement, column);
    struct pawl_str text = {len == 0 ? "" : bytes, len};
    bool is_good = (len == 0 || bytes != NULL) && pawl_utf8_is_valid(text) &&
                   (len == 0 || memchr(text.ptr, '\0', len) == NULL);
    if (!is_good) return value;
    value.kind = PAWL_OLD_TEXT;
    value.text = pawl_arena_copy(keep, text);
    return value;
}

static struct pawl_old_value value_of(sqlite3_stmt *statement, int column, struct pawl_arena *keep)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
        return (struct pawl_old_value){.kind = PAWL_OLD_NONE};
    case SQLITE_INTEGER:
        return (struct pawl_old_value){.kind = PAWL_OLD_INT64,
                                       .number = sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
        return (struct pawl_old_value){.kind = PAWL_OLD_DOUBLE,
                                       .real = sqlite3_column_double(statement, column)};
    case SQLITE_TEXT:
        return text_value(statement, column, keep);
    default:
        return (struct pawl_old_value){.kind = PAWL_OLD_OTHER};
    }
}

/* The newest rows of a task's outbox, turned round: oldest first. */
static int read_outbox(struct old_sqlite *old, struct pawl_str id, struct pawl_arena *keep,
                       struct pawl_old_record *out)
{
    struct pawl_old_outbox *rows = pawl_arena_take_array(keep, PAWL_EVENTS_KEPT, sizeof *rows);
    if (rows == NULL) return SQLITE_NOMEM;
    int result = sqlite3_bind_text64(old->outbox, 1, id.ptr, id.len, SQLITE_STATIC, SQLITE_UTF8);
    if (result != SQLITE_OK) return result;
    size_t count = 0;
    while ((result = sqlite3_step(old->outbox)) == SQLITE_ROW) {
        if (count == PAWL_EVENTS_KEPT) {
            out->outbox_left_count++;
            continue;
        }
        struct pawl_old_outbox *row = &rows[PAWL_EVENTS_KEPT - ++count];
        row->sequence = sqlite3_column_int64(old->outbox, 0);
        row->type = text_value(old->outbox, 1, keep).text;
        row->payload = text_value(old->outbox, 2, keep).text;
        row->created_at = text_value(old->outbox, 3, keep).text;
    }
    (void)sqlite3_reset(old->outbox); /* says again what step said */
    out->outbox = rows + PAWL_EVENTS_KEPT - count;
    out->outbox_count = count;
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

static enum pawl_code read_record(void *self, int64_t number, struct pawl_import_report *report,
                                  struct pawl_arena *keep, struct pawl_old_record *out,
                                  struct pawl_error *err)
{
    struct old_sqlite *old = self;
    (void)report; /* columns were looked at when it was opened */
    *out = (struct pawl_old_record){
        .name = pawl_arena_format(keep, "row %" PRId64, old->row_ids[number])};
    int result = sqlite3_bind_int64(old->task, 1, old->row_ids[number]);
    if (result == SQLITE_OK) result = sqlite3_step(old->task);
    if (result == SQLITE_ROW) {
        for (int i = 0; i < old->column_count; i++) {
            out->fields[old->columns[i]] = value_of(old->task, i, keep);
        }
        result = SQLITE_OK;
    }
    (void)sqlite3_reset(old->task); /* says again what step said */
    const struct pawl_old_value *id = &out->fields[PAWL_OLD_ID];
    if (result == SQLITE_OK && old->outbox != NULL && id->kind == PAWL_OLD_TEXT) {
        result = read_outbox(old, id->text, keep, out);
    }
    if (result != SQLITE_OK) return fail(old, result, err);
    enum pawl_code code = pawl_arena_code(keep);
    return code == PAWL_OK ? PAWL_OK
                           : pawl_error_set(err, code, "no memory for a task of %s", old->path);
}

/* ---- Opening ---- */

static enum pawl_code judge(struct old_sqlite *old, struct pawl_import_report *report,
                            struct pawl_error *err)
{
    int64_t application = 0;
    int result = read_number(old, "PRAGMA application_id", &application);
    if (result == SQLITE_OK) result = read_number(old, "PRAGMA user_version", &report->schema);
    if (result != SQLITE_OK) return fail(old, result, err);
    if (application == PAWL_SQLITE_APPLICATION_ID) {
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "%s is a Pawl store: --db opens it, nothing needs importing",
                              old->path);
    }
    if (report->schema < 0 || report->schema > SCHEMA_MAX) {
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "%s has schema %" PRId64 "; 1 to %d can be imported", old->path,
                              report->schema, SCHEMA_MAX);
    }
    return PAWL_OK;
}

/* The columns of `tasks`: those that are known are read, the others are named. */
static int list_columns(struct old_sqlite *old, struct pawl_import_report *report)
{
    sqlite3_stmt *statement = NULL;
    int result =
        sqlite3_prepare_v2(old->handle, "SELECT name FROM pragma_table_info('tasks') ORDER BY cid",
                           -1, &statement, NULL);
    while (result == SQLITE_OK && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct pawl_str name = pawl_str_of((const char *)sqlite3_column_text(statement, 0));
        enum pawl_old_field field = pawl_old_field_find(name);
        if (field == PAWL_OLD_FIELD_COUNT) {
            pawl_import_ignore_key(report, "task", name);
        } else if (old->column_count < PAWL_OLD_FIELD_COUNT) {
            old->columns[old->column_count++] = field;
        }
        result = SQLITE_OK;
    }
    (void)sqlite3_finalize(statement); /* says again what step said */
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

static int prepare(struct old_sqlite *old)
{
    char sql[SQL_BYTES_MAX];
    size_t at = (size_t)snprintf(sql, sizeof sql, "SELECT ");
    for (int i = 0; i < old->column_count; i++) {
        at += (size_t)snprintf(sql + at, sizeof sql - at, "%s\"%s\"", i > 0 ? ", " : "",
                               pawl_old_field_name(old->columns[i]));
    }
    (void)snprintf(sql + at, sizeof sql - at, " FROM tasks WHERE rowid = ?1");
    int result = sqlite3_prepare_v2(old->handle, sql, -1, &old->task, NULL);
    int64_t has_outbox = 0;
    if (result == SQLITE_OK) {
        result = read_number(old,
                             "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = "
                             "'task_outbox_events'",
                             &has_outbox);
    }
    if (result != SQLITE_OK || has_outbox == 0) return result;
    return sqlite3_prepare_v2(
        old->handle,
        "SELECT sequence, event_type, payload, created_at FROM task_outbox_events "
        "WHERE task_id = ?1 ORDER BY sequence DESC",
        -1, &old->outbox, NULL);
}

static int list_rows(struct old_sqlite *old, struct pawl_arena *arena, int64_t *count)
{
    sqlite3_stmt *statement = NULL;
    int64_t room = 0;
    int result = read_number(old, "SELECT count(*) FROM tasks", &room);
    if (result != SQLITE_OK) return result;
    old->row_ids = pawl_arena_take_array(arena, (size_t)room + 1, sizeof *old->row_ids);
    if (old->row_ids == NULL) return SQLITE_NOMEM;
    result = sqlite3_prepare_v2(old->handle, "SELECT rowid FROM tasks ORDER BY rowid", -1,
                                &statement, NULL);
    while (result == SQLITE_OK && *count < room &&
           (result = sqlite3_step(statement)) == SQLITE_ROW) {
        old->row_ids[(*count)++] = sqlite3_column_int64(statement, 0);
        result = SQLITE_OK;
    }
    (void)sqlite3_finalize(statement); /* says again what step said */
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* Rows of the outbox whose task is gone: there is nothing to hang them on. */
static int count_orphans(struct old_sqlite *old, struct pawl_import_report *report)
{
    int64_t count = 0;
    if (old->outbox == NULL) return SQLITE_OK;
    int result = read_number(old,
                             "SELECT count(*) FROM task_outbox_events WHERE task_id NOT IN (SELECT "
                             "id FROM tasks WHERE id IS NOT NULL)",
                             &count);
    if (result == SQLITE_OK && count > 0) {
        pawl_import_remark(report, PAWL_STR("task_outbox_events"),
                           "%" PRId64 " rows are about tasks that are not there: left out", count);
    }
    return result;
}

static enum pawl_code open_parts(struct old_sqlite *old, struct pawl_import_report *report,
                                 struct pawl_arena *arena, int64_t *count, struct pawl_error *err)
{
    char uri[URI_BYTES_MAX];
    make_uri(old->path, uri);
    int result = sqlite3_open_v2(
        uri, &old->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    if (result != SQLITE_OK) return fail(old, result, err);
    /* nothing is mapped: whoever cuts the file short would kill us (file.h) */
    result = sqlite3_exec(old->handle, "PRAGMA mmap_size = 0", NULL, NULL, NULL);
    if (result != SQLITE_OK) return fail(old, result, err);
    (void)sqlite3_db_config(old->handle, SQLITE_DBCONFIG_DEFENSIVE, 1,
                            NULL); /* it is not ours: careful */
    (void)sqlite3_db_config(old->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(old->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    enum pawl_code code = judge(old, report, err);
    if (code != PAWL_OK) return code;
    result = list_columns(old, report);
    if (result == SQLITE_OK && old->column_count == 0) {
        return pawl_error_set(err, PAWL_INVALID, "%s has no table of tasks", old->path);
    }
    if (result == SQLITE_OK) result = prepare(old);
    if (result == SQLITE_OK) result = list_rows(old, arena, count);
    if (result == SQLITE_OK) result = count_orphans(old, report);
    return result == SQLITE_OK ? PAWL_OK : fail(old, result, err);
}

enum pawl_code pawl_old_sqlite_open(struct pawl_old_store *store,
                                    const struct pawl_import_file *file,
                                    struct pawl_import_report *report, struct pawl_arena *arena,
                                    struct pawl_error *err)
{
    struct old_sqlite *old = calloc(1, sizeof *old);
    int64_t count = 0;
    if (old == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to open %s", file->path);
    old->path = file->path;
    enum pawl_code code = open_parts(old, report, arena, &count, err);
    if (code != PAWL_OK) {
        close_store(old); /* takes a half-built one */
        return code;
    }
    report->form = PAWL_STR("sqlite");
    *store = (struct pawl_old_store){
        .self = old, .count = count, .read = read_record, .close = close_store};
    return PAWL_OK;
}
