/* The SQLite driver.
 *
 * Several processes may use one file. It is in WAL mode with synchronous=FULL: a commit is on disk
 * when it returns. No connection checkpoints by itself, not at a commit and not when it is closed,
 * and none maps the file into memory: SQLite before 3.51.3 can lose a commit when a checkpoint
 * races a reset of the log, so only the one whose turn it is runs checkpoints
 * (pawl_store_checkpoint).
 *
 * Text of pragmas stands here and not in statements.sql: it is this connection's settings, asked
 * before the file is known to be ours. */
#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "core/limits.h"
#include "core/set.h"
#include "store/db.h"
#include "store/sqlite_copy.h"
#include "store/sqlite_file.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
    SQLITE_VERSION_MIN = 3040000,
    PRAGMA_BYTES_MAX = 64,
    AUTO_VACUUM_INCREMENTAL = 2,

    /* As long as a caller waits for the turn: beyond it somebody holds the file who knows no turn.
     */
    BUSY_MS_MAX = PAWL_TURN_WAIT_MS_MAX,
    RETRY_MS = 2,

    /* Pages of 4 KiB in the log. From the first on it is copied into the file after a commit, and
     * SQLite then begins it anew, so that it stays short and is overwritten in place (a sync of a
     * growing file costs nearly twice as much). From the second on readers that stand in its way
     * are waited for: those that began before the copying, then those that began during it; who
     * begins after it reads the file alone and is in nobody's way. So the wait is for two reads of
     * a page, each far below half of it. */
    LOG_PAGES_LONG = 1000,
    LOG_PAGES_TOO_LONG = 16000,
    LOG_BUSY_MS_MAX = 400,
};

struct sqlite {
    struct pawl_db base; /* first */
    sqlite3 *handle;
    char *path;          /* owned; as it was given, or with "./" in front */
    int log_pages;       /* in the log after the newest commit */
    int log_pages_tried; /* when it was last moved and did not become shorter */
    sqlite3_stmt *statements[PAWL_SQL_COUNT]; /* prepared when first used */
};

static struct sqlite *sqlite_of(struct pawl_db *db)
{
    return (struct sqlite *)db;
}

static const struct sqlite *const_sqlite_of(const struct pawl_db *db)
{
    return (const struct sqlite *)db;
}

/* ---- Errors -----------------------------------------------------------------------------------
 */

static const char *system_text(const struct sqlite *db)
{
    int number = db->handle == NULL ? 0 : sqlite3_system_errno(db->handle);
    return number == 0 ? "" : strerror(number);
}

/* What the system has said last of the file, or of its log: sqlite3_system_errno has forgotten it once a statement was
 * reset. */
static int file_errno(const struct sqlite *db, bool of_log)
{
    int number = 0;
    sqlite3_file *log = NULL;
    if (!of_log) {
        (void)sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
    } else if (sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK &&
               log != NULL && log->pMethods != NULL) {
        (void)log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &number);
    }
    return number; /* 0 where nobody knows */
}

/* A disk that has room, and a file that must not grow: setrlimit(2), or a bound of the file system. */
static bool is_too_big(const struct sqlite *db, int result)
{
    if ((result & 0xFF) != SQLITE_IOERR || db->handle == NULL) return false;
    if (sqlite3_system_errno(db->handle) == EFBIG) return true;
    return result == SQLITE_IOERR_WRITE && (file_errno(db, true) == EFBIG || file_errno(db, false) == EFBIG);
}

/* The one place where results of SQLite become codes. what was being done is a statement's name or
 * a word. */
static enum pawl_code fail(const struct sqlite *db, int result, const char *what,
                           struct pawl_error *err)
{
    const char *path = db->path;
    if (result == SQLITE_IOERR_NOMEM) result = SQLITE_NOMEM;
    switch (result & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return pawl_error_set(err, PAWL_BUSY, "%s: %s: another process holds the file", path, what);
    case SQLITE_FULL:
        return pawl_error_set(err, PAWL_IO, "%s: %s: the disk is full", path, what);
    case SQLITE_READONLY:
        return pawl_error_set(err, PAWL_IO, "%s: %s: the file or its folder is read-only", path,
                              what);
    case SQLITE_CANTOPEN:
        return pawl_error_set(err, PAWL_IO, "%s: %s: the file or its log cannot be opened: %s",
                              path, what, system_text(db));
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return pawl_error_set(err, PAWL_IO, "%s: %s: no permission", path, what);
    case SQLITE_IOERR:
        if (is_too_big(db, result)) {
            return pawl_error_set(err, PAWL_IO,
                                  "%s: %s: a file may not grow so large (ulimit -f, LimitFSIZE=)", path, what);
        }
        return pawl_error_set(err, PAWL_IO, "%s: %s: the disk failed (%d): %s", path, what, result,
                              system_text(db));
    case SQLITE_CORRUPT:
        return pawl_error_set(err, PAWL_CORRUPT, "%s: %s: the file is damaged", path, what);
    case SQLITE_NOTADB:
        return pawl_error_set(err, PAWL_CORRUPT, "%s: not a database, or its start is damaged",
                              path);
    case SQLITE_NOMEM:
        return pawl_error_set(err, PAWL_NO_MEMORY, "%s: %s: no memory", path, what);
    case SQLITE_TOOBIG:
        return pawl_error_set(err, PAWL_TOO_LARGE, "%s: %s: larger than a row may be", path, what);
    case SQLITE_CONSTRAINT:
        return pawl_error_set(err, PAWL_IO, "internal: %s: %s", what, sqlite3_errmsg(db->handle));
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
        /* our statements are right for our schema: a table or column is not there */
        return pawl_error_set(err, PAWL_CORRUPT, "%s: %s: the schema is not the expected one: %s",
                              path, what, sqlite3_errmsg(db->handle));
    default:
        return pawl_error_set(err, PAWL_IO, "internal: %s: %s (%d)", what, sqlite3_errstr(result),
                              result);
    }
}

/* ---- Statements -------------------------------------------------------------------------------
 */

static int bind(sqlite3_stmt *statement, int at, const struct pawl_value *value)
{
    const char *bytes = value->is.text.len == 0 ? "" : value->is.text.ptr;
    switch (value->kind) {
    case PAWL_VALUE_NULL:
        return sqlite3_bind_null(statement, at);
    case PAWL_VALUE_INT64:
        return sqlite3_bind_int64(statement, at, value->is.number);
    case PAWL_VALUE_DOUBLE:
        return sqlite3_bind_double(statement, at, value->is.real);
    case PAWL_VALUE_TEXT:
        return sqlite3_bind_text64(statement, at, bytes, value->is.text.len, SQLITE_STATIC,
                                   SQLITE_UTF8);
    case PAWL_VALUE_BLOB:
        return sqlite3_bind_blob64(statement, at, bytes, value->is.text.len, SQLITE_STATIC);
    }
    return SQLITE_MISUSE;
}

static int prepare(struct sqlite *db, enum pawl_statement number, sqlite3_stmt **out)
{
    int result = SQLITE_OK;
    if (db->statements[number] == NULL) {
        result = sqlite3_prepare_v3(db->handle, pawl_sql_sqlite[number], -1,
                                    SQLITE_PREPARE_PERSISTENT, &db->statements[number], NULL);
    }
    *out = db->statements[number];
    return result;
}

/* Runs a prepared statement to its end. *code is what the rows' receiver said. */
static int run(struct sqlite *db, sqlite3_stmt *statement, const struct pawl_db_ask *ask,
               enum pawl_code *code, struct pawl_error *err)
{
    struct pawl_db_row row = {.db = &db->base, .of = statement};
    int result = sqlite3_step(statement);
    while (result == SQLITE_ROW && *code == PAWL_OK) {
        if (ask->on_row != NULL) *code = ask->on_row(ask->self, &row, err);
        row.number++;
        if (*code == PAWL_OK) result = sqlite3_step(statement);
    }
    return result == SQLITE_DONE || result == SQLITE_ROW ? SQLITE_OK : result;
}

static int read_pragma(struct sqlite *db, const char *sql, int64_t *number, char text[16]);

static enum pawl_code sqlite_ask(struct pawl_db *base, const struct pawl_db_ask *ask,
                                 struct pawl_error *err)
{
    struct sqlite *db = sqlite_of(base);
    const char *name = pawl_sql_name[ask->statement];
    sqlite3_stmt *statement = NULL;
    int result = prepare(db, ask->statement, &statement);
    if (result != SQLITE_OK) return fail(db, result, name, err);

    pawl_assert((int)ask->count == sqlite3_bind_parameter_count(statement));
    for (size_t i = 0; i < ask->count && result == SQLITE_OK; i++) {
        result = bind(statement, (int)i + 1, &ask->values[i]);
    }
    enum pawl_code code = PAWL_OK;
    if (result == SQLITE_OK) result = run(db, statement, ask, &code, err);
    if (result != SQLITE_OK) code = fail(db, result, name, err);
    (void)sqlite3_reset(statement); /* says again what step said */
    if (code == PAWL_OK && ask->expects_one && sqlite3_changes(db->handle) != 1) {
        code = pawl_error_set(err, PAWL_IO, "internal: %s changed %d rows instead of one", name,
                              sqlite3_changes(db->handle));
    }
    return code;
}

static enum pawl_code sqlite_flush(struct pawl_db *base, struct pawl_error *err)
{
    (void)base; /* statements have run when they were sent */
    (void)err;
    return PAWL_OK;
}

/* Bytes of a text as they are: column_text would copy to add a NUL. */
static struct pawl_str row_bytes(const struct pawl_db_row *row, int32_t column)
{
    sqlite3_stmt *statement = row->of;
    const char *ptr = sqlite3_column_blob(statement, column);
    int bytes = sqlite3_column_bytes(statement, column);
    return ptr == NULL || bytes <= 0 ? (struct pawl_str){0} : (struct pawl_str){ptr, (size_t)bytes};
}

static int64_t row_int64(const struct pawl_db_row *row, int32_t column)
{
    return sqlite3_column_int64(row->of, column);
}

static double row_double(const struct pawl_db_row *row, int32_t column)
{
    return sqlite3_column_double(row->of, column);
}

static bool row_is_null(const struct pawl_db_row *row, int32_t column)
{
    return sqlite3_column_type(row->of, column) == SQLITE_NULL;
}

/* ---- Transactions -----------------------------------------------------------------------------
 */

static int step_alone(struct sqlite *db, enum pawl_statement number)
{
    sqlite3_stmt *statement = NULL;
    int result = prepare(db, number, &statement);
    if (result != SQLITE_OK) return result;
    result = sqlite3_step(statement);
    (void)sqlite3_reset(statement); /* says again what step said */
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

static void sqlite_rollback(struct pawl_db *base)
{
    struct sqlite *db = sqlite_of(base);
    if (sqlite3_get_autocommit(db->handle) == 0) {
        /* without a commit record there are no changes; without memory the next begin ends it */
        (void)step_alone(db, PAWL_SQL_ROLLBACK);
    }
}

/* Refuses a file that is no longer the one of its path: somebody has put another in its place, and
 * what is written to ours would be lost. */
static enum pawl_code check_place(const struct sqlite *db, struct pawl_error *err)
{
    int moved = 0;
    int result = sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (result != SQLITE_OK || moved == 0) return PAWL_OK;
    return pawl_error_set(err, PAWL_IO, "%s has been moved or replaced; open the store anew",
                          db->path);
}

static bool sqlite_has_moved(const struct pawl_db *base)
{
    return check_place(const_sqlite_of(base), NULL) != PAWL_OK;
}

static enum pawl_code sqlite_begin(struct pawl_db *base, bool is_write, struct pawl_error *err)
{
    struct sqlite *db = sqlite_of(base);
    sqlite_rollback(base); /* one that had no memory for its end */
    if (sqlite3_get_autocommit(db->handle) == 0) return fail(db, SQLITE_NOMEM, "begin", err);
    enum pawl_code code = check_place(db, err);
    if (code != PAWL_OK) return code;
    int result = step_alone(db, is_write ? PAWL_SQL_BEGIN_WRITE : PAWL_SQL_BEGIN_READ);
    return result == SQLITE_OK ? PAWL_OK : fail(db, result, "begin", err);
}

/* Of a failed commit only two things are known to have written no commit record: the lock was not
 * got, or the disk was full, or the file as large as it may be, before or in the last frame (nothing is written after it: SQLite pads
 * the log only on disks that may tear neighbours). After any other the record may be in the log,
 * now or after a restart. */
static enum pawl_code sqlite_commit(struct pawl_db *base, struct pawl_error *err)
{
    struct sqlite *db = sqlite_of(base);
    int result = step_alone(db, PAWL_SQL_COMMIT);
    if (result == SQLITE_OK) return PAWL_OK;
    enum pawl_code code = fail(db, result, "commit", err);
    if ((result & 0xFF) == SQLITE_BUSY || (result & 0xFF) == SQLITE_FULL) return code;
    if (result == SQLITE_IOERR_WRITE && is_too_big(db, result)) return code;
    if (err != NULL) err->code = PAWL_UNKNOWN_OUTCOME;
    return PAWL_UNKNOWN_OUTCOME;
}

/* 1 and up, so that it never equals the 0 of a store that has not synced yet. */
static int64_t sqlite_others(struct pawl_db *base)
{
    int64_t version = 0;
    if (read_pragma(sqlite_of(base), "PRAGMA data_version", &version, NULL) != SQLITE_OK) return -1;
    return version + 1;
}

/* ---- The log ----------------------------------------------------------------------------------
 */

static int log_grew(void *self, sqlite3 *handle, const char *name, int pages)
{
    struct sqlite *db = self;
    (void)handle;
    (void)name;
    if (pages < db->log_pages) db->log_pages_tried = 0; /* it has begun anew */
    db->log_pages = pages;
    return SQLITE_OK;
}

/* Moved into the file as a whole, the log begins anew with the next commit. A reader in its way
 * leaves it longer; then it is tried again when it has grown by as much once more. */
static void sqlite_checkpoint(struct pawl_db *base, bool all)
{
    struct sqlite *db = sqlite_of(base);
    if (!all && db->log_pages < db->log_pages_tried + LOG_PAGES_LONG) return;
    if (all && db->log_pages == 0) return; /* this connection has written nothing */
    bool waits = db->log_pages >= LOG_PAGES_TOO_LONG;
    db->log_pages_tried = db->log_pages;
    (void)sqlite3_busy_timeout(db->handle, all ? 0 : LOG_BUSY_MS_MAX);
    /* failure is no error of the step: everything is in the log, and it is tried again */
    int result = sqlite3_wal_checkpoint_v2(db->handle, NULL,
                                           all     ? SQLITE_CHECKPOINT_TRUNCATE
                                           : waits ? SQLITE_CHECKPOINT_RESTART
                                                   : SQLITE_CHECKPOINT_PASSIVE,
                                           NULL, NULL);
    (void)sqlite3_busy_timeout(db->handle, BUSY_MS_MAX);
    if (result != SQLITE_OK && (result & 0xFF) != SQLITE_BUSY) {
        pawl_log_write(base->log, PAWL_LOG_WARN, "store.checkpoint_failed",
                       PAWL_TEXT("path", pawl_str_of(db->path)), PAWL_INT("result", result));
    }
}

/* ---- Room in the file -------------------------------------------------------------------------
 */

static enum pawl_code sqlite_file(struct pawl_db *base, struct pawl_db_file *out,
                                  struct pawl_error *err)
{
    struct sqlite *db = sqlite_of(base);
    int64_t pages = 0;
    int64_t free_pages = 0;
    int64_t page_bytes = 0;
    const char *log_path = sqlite3_filename_wal(sqlite3_db_filename(db->handle, "main"));
    struct stat log;
    int result = read_pragma(db, "PRAGMA page_count", &pages, NULL);
    if (result == SQLITE_OK) result = read_pragma(db, "PRAGMA freelist_count", &free_pages, NULL);
    if (result == SQLITE_OK) result = read_pragma(db, "PRAGMA page_size", &page_bytes, NULL);
    if (result != SQLITE_OK) return fail(db, result, "look at the file", err);
    *out = (struct pawl_db_file){.bytes = pages * page_bytes, .free_bytes = free_pages * page_bytes};
    if (stat(log_path, &log) == 0) out->log_bytes = log.st_size; /* there may be none */
    return PAWL_OK;
}

static enum pawl_code sqlite_compact(struct pawl_db *base, const struct pawl_compacting *asked,
                                     struct pawl_error *err)
{
    struct sqlite *db = sqlite_of(base);
    int64_t mode = 0;
    int64_t free_before = 0;
    struct pawl_pages out = {0};
    char text[PRAGMA_BYTES_MAX];
    int result = read_pragma(db, "PRAGMA auto_vacuum", &mode, NULL);
    out.is_able = mode == AUTO_VACUUM_INCREMENTAL;
    if (result == SQLITE_OK) result = read_pragma(db, "PRAGMA freelist_count", &free_before, NULL);
    if (result == SQLITE_OK && out.is_able) {
        (void)snprintf(text, sizeof text, "PRAGMA incremental_vacuum(%" PRId32 ")",
                       asked->pages_max);
        result = sqlite3_exec(db->handle, text, NULL, NULL, NULL);
    }
    if (result == SQLITE_OK) {
        result = read_pragma(db, "PRAGMA freelist_count", &out.free_pages, NULL);
    }
    if (result == SQLITE_OK) result = read_pragma(db, "PRAGMA page_count", &out.pages, NULL);
    if (result == SQLITE_OK) result = read_pragma(db, "PRAGMA page_size", &out.page_bytes, NULL);
    if (result != SQLITE_OK) return fail(db, result, "compact", err);
    out.freed_pages = free_before - out.free_pages;
    *asked->out = out;
    return PAWL_OK;
}

/* ---- Opening ----------------------------------------------------------------------------------
 */

static struct pawl_str sqlite_path(const struct pawl_db *base)
{
    const struct sqlite *db = const_sqlite_of(base);
    const char *full = sqlite3_db_filename(db->handle, "main"); /* links resolved */
    return pawl_str_of(full != NULL && full[0] != '\0' ? full : db->path);
}

static void sqlite_close(struct pawl_db *base)
{
    struct sqlite *db = sqlite_of(base);
    for (size_t i = 0; i < PAWL_SQL_COUNT; i++) {
        (void)sqlite3_finalize(db->statements[i]); /* says again what step said */
    }
    int result = sqlite3_close(db->handle); /* rolls back; takes NULL */
    pawl_assert(result == SQLITE_OK);
    free(db->path);
    free(db);
}

static const struct pawl_db_driver sqlite_driver = {
    .is_postgres = false,
    .ask = sqlite_ask,
    .flush = sqlite_flush,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .close = sqlite_close,
    .row_int64 = row_int64,
    .row_double = row_double,
    .row_text = row_bytes,
    .row_blob = row_bytes,
    .row_is_null = row_is_null,
    .path = sqlite_path,
    .others = sqlite_others,
    .file = sqlite_file,
    .compact = sqlite_compact,
    .has_moved = sqlite_has_moved,
    .checkpoint = sqlite_checkpoint,
};

static enum pawl_code execute(struct sqlite *db, const char *sql, struct pawl_error *err)
{
    int result = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return result == SQLITE_OK ? PAWL_OK : fail(db, result, "open", err);
}

/* The value of a pragma: as a number, and as text if text is given. */
static int read_pragma(struct sqlite *db, const char *sql, int64_t *number, char text[16])
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL);
    if (result == SQLITE_OK) {
        result = sqlite3_step(statement);
        if (result == SQLITE_ROW) {
            *number = sqlite3_column_int64(statement, 0);
            const unsigned char *got = sqlite3_column_text(statement, 0);
            if (text != NULL) (void)snprintf(text, 16, "%s", got == NULL ? "" : (const char *)got);
            result = SQLITE_OK;
        }
    }
    int end = sqlite3_finalize(statement);
    return result == SQLITE_OK ? end : result;
}

static enum pawl_code pragma(struct sqlite *db, const char *sql, int64_t *number,
                             struct pawl_error *err)
{
    int result = read_pragma(db, sql, number, NULL);
    return result == SQLITE_OK ? PAWL_OK : fail(db, result, "open", err);
}

/* What a file says it is. */
struct identity {
    int64_t application;
    int64_t version; /* of our schema */
    int64_t changes; /* of any schema: 0 in a file that nobody has written yet */
};

static enum pawl_code identify(struct sqlite *db, struct identity *out, struct pawl_error *err)
{
    enum pawl_code code = pragma(db, "PRAGMA application_id", &out->application, err);
    if (code == PAWL_OK) code = pragma(db, "PRAGMA user_version", &out->version, err);
    if (code == PAWL_OK) code = pragma(db, "PRAGMA schema_version", &out->changes, err);
    return code;
}

static bool is_empty(const struct identity *identity)
{
    return identity->changes == 0 && identity->application == 0 && identity->version == 0;
}

static bool has_table(struct sqlite *db, const char *name)
{
    return sqlite3_table_column_metadata(db->handle, "main", name, NULL, NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

static enum pawl_code refuse_foreign(const char *path, bool has_tasks, struct pawl_error *err)
{
    if (!has_tasks) return pawl_error_set(err, PAWL_UNSUPPORTED, "%s is not a Pawl store", path);
    return pawl_error_set(err, PAWL_UNSUPPORTED,
                          "%s is not a Pawl store, but has a table of tasks; if it is an older "
                          "store, `pawl import` reads it",
                          path);
}

/* Refuses what is not ours. An empty file passes. */
static enum pawl_code judge(struct sqlite *db, const struct identity *identity,
                            const struct pawl_db_options *options, struct pawl_error *err)
{
    const char *path = db->path;
    if (is_empty(identity)) {
        if (!options->must_exist && !options->read_only) return PAWL_OK;
        return pawl_error_set(err, PAWL_NOT_FOUND, "%s is empty: there is no store in it yet",
                              path);
    }
    if (identity->application != PAWL_SQLITE_APPLICATION_ID) {
        return refuse_foreign(path, has_table(db, "tasks"), err);
    }
    if (identity->version > db->base.schema->count) {
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "%s has schema %" PRId64
                              ", and this version of Pawl knows up to %" PRId64,
                              path, identity->version, db->base.schema->count);
    }
    if (identity->version < 1) {
        return pawl_error_set(err, PAWL_CORRUPT, "%s is a Pawl store without a schema number",
                              path);
    }
    if (identity->version < db->base.schema->count && options->read_only) {
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "%s has schema %" PRId64 " and must be opened for writing once", path,
                              identity->version);
    }
    return PAWL_OK;
}

static void sleep_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL); /* shorter does no harm */
}

/* Two processes that both change the mode of a new file get BUSY at once, without SQLite's waiting.
 */
static enum pawl_code use_log(struct sqlite *db, bool may_be_memory, struct pawl_error *err)
{
    char mode[16] = "";
    int64_t number = 0;
    int result = SQLITE_BUSY;
    for (int waited = 0; waited < BUSY_MS_MAX && (result & 0xFF) == SQLITE_BUSY;
         waited += RETRY_MS) {
        if (waited > 0) sleep_ms(RETRY_MS);
        result = read_pragma(db, "PRAGMA journal_mode = WAL", &number, mode);
    }
    if (result != SQLITE_OK) return fail(db, result, "open", err);
    if (strcmp(mode, "wal") == 0 || (may_be_memory && strcmp(mode, "memory") == 0)) return PAWL_OK;
    return pawl_error_set(err, PAWL_UNSUPPORTED,
                          "%s: its file system cannot hold a write-ahead log", db->path);
}

static enum pawl_code write_version(struct sqlite *db, int64_t before,
                                    const struct pawl_db_birth *birth, struct pawl_error *err)
{
    char text[PRAGMA_BYTES_MAX];
    struct pawl_value meta[] = {pawl_int(db->base.schema->count), pawl_text(birth->store_id),
                                pawl_text(birth->boot_id), pawl_int(birth->clock_offset_ms)};
    struct pawl_value head[] = {pawl_int(birth->now_ms)};

    (void)snprintf(text, sizeof text, "PRAGMA application_id = %d", PAWL_SQLITE_APPLICATION_ID);
    enum pawl_code code = execute(db, text, err);
    (void)snprintf(text, sizeof text, "PRAGMA user_version = %" PRId64, db->base.schema->count);
    if (code == PAWL_OK) code = execute(db, text, err);
    if (code != PAWL_OK) return code;
    if (before > 0) {
        return pawl_db_change(&db->base, PAWL_SQL_META_VERSION, meta, 1, true, err);
    }
    code = pawl_db_change(&db->base, PAWL_SQL_META_ADD, meta, PAWL_COUNT_OF(meta), true, err);
    if (code != PAWL_OK) return code;
    return pawl_db_change(&db->base, PAWL_SQL_HEAD_ADD, head, PAWL_COUNT_OF(head), true, err);
}

/* What is about to be upgraded, as it is, into a file of its own:
 * backups/NAME.schema-FROM-to-TO.TIME.db. This transaction holds the write lock and has written
 * nothing, so the copy is exactly what the upgrade begins with; of several processes that upgrade
 * together only the one that does it makes a copy. *out is its path (sqlite3_free). */
static enum pawl_code keep_old(struct sqlite *db, int64_t version,
                               const struct pawl_db_options *options, char **out,
                               struct pawl_error *err)
{
    struct pawl_str path = sqlite_path(&db->base);
    const char *slash = memrchr(path.ptr, '/', path.len);
    struct pawl_str name =
        slash == NULL ? path
                      : (struct pawl_str){slash + 1, path.len - (size_t)(slash + 1 - path.ptr)};
    struct pawl_str stem = pawl_str_ends(name, PAWL_STR(".db"))
                               ? (struct pawl_str){name.ptr, name.len - strlen(".db")}
                               : name;
    time_t seconds = (time_t)(options->birth.now_ms / 1000);
    struct tm utc;
    char stamp[32];
    (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%S", gmtime_r(&seconds, &utc));
    char *to = sqlite3_mprintf("%.*sbackups/%.*s.schema-%lld-to-%lld.%s.%03dZ.db",
                               (int)(path.len - name.len), path.ptr, (int)stem.len, stem.ptr,
                               (long long)version, (long long)db->base.schema->count, stamp,
                               (int)(options->birth.now_ms % 1000));
    if (to == NULL) return fail(db, SQLITE_NOMEM, "upgrade", err);
    struct pawl_sqlite_copy copy = {.from = path.ptr, .to = to, .vfs = options->vfs};
    enum pawl_code code = pawl_sqlite_copy_make(&copy, NULL, err);
    if (code == PAWL_OK) {
        pawl_log_write(db->base.log, PAWL_LOG_INFO, "store.kept_old",
                       PAWL_TEXT("path", pawl_str_of(to)), PAWL_INT("schema", version));
        *out = to;
        return PAWL_OK;
    }
    pawl_error_prefix(err, "no upgrade without a copy of what there is");
    sqlite3_free(to);
    return code;
}

/* Applies the schema files that are missing, in one transaction. Who waited for it may find that
 * another process has done so. */
static enum pawl_code apply_schema(struct sqlite *db, const struct pawl_db_options *options,
                                   struct pawl_error *err)
{
    const struct pawl_schema *schema = db->base.schema;
    struct identity identity = {0};
    char *copy = NULL;
    enum pawl_code code = pawl_db_begin(&db->base, true, err);
    if (code != PAWL_OK) return code;
    code = identify(db, &identity, err);
    if (code == PAWL_OK) code = judge(db, &identity, options, err);
    bool is_missing = code == PAWL_OK && identity.version < schema->count;
    if (is_missing && identity.version > 0 && !options->keeps_no_old) {
        code = keep_old(db, identity.version, options, &copy, err);
    }
    for (int64_t i = identity.version; is_missing && code == PAWL_OK && i < schema->count; i++) {
        code = execute(db, schema->sqlite[i], err);
    }
    if (is_missing && code == PAWL_OK) {
        code = write_version(db, identity.version, &options->birth, err);
    }
    if (is_missing && code == PAWL_OK) code = pawl_db_commit(&db->base, err);
    pawl_db_rollback(&db->base); /* says nothing: the first error stays */
    if (copy != NULL && code != PAWL_OK && code != PAWL_UNKNOWN_OUTCOME) {
        (void)pawl_file_remove(copy, "",
                               NULL); /* of what is still there; each try would leave one */
    }
    sqlite3_free(copy);
    return code;
}

static int configure(struct sqlite *db)
{
    static const struct {
        int option;
        int value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1},    {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
        {SQLITE_DBCONFIG_DQS_DML, 0},        {SQLITE_DBCONFIG_DQS_DDL, 0},
    };
    int result = sqlite3_extended_result_codes(db->handle, 1);
    for (size_t i = 0; i < PAWL_COUNT_OF(options) && result == SQLITE_OK; i++) {
        result = sqlite3_db_config(db->handle, options[i].option, options[i].value, NULL);
    }
    if (result == SQLITE_OK) result = sqlite3_busy_timeout(db->handle, BUSY_MS_MAX);
    /* takes the place of SQLite's own checkpoints */
    (void)sqlite3_wal_hook(db->handle, log_grew, db);
    return result;
}

static enum pawl_code settle(struct sqlite *db, const struct pawl_db_options *options,
                             struct pawl_error *err)
{
    struct identity identity = {0};
    bool is_writer = !options->read_only;
    /* in one transaction: another process may be making the schema right now */
    enum pawl_code code = pawl_db_begin(&db->base, false, err);
    if (code == PAWL_OK) code = identify(db, &identity, err);
    if (code == PAWL_OK) code = judge(db, &identity, options, err);
    pawl_db_rollback(&db->base);
    if (code != PAWL_OK) return code;
    if (is_writer && sqlite3_db_readonly(db->handle, "main") == 1) {
        return fail(db, SQLITE_READONLY, "open", err);
    }
    /* a mark in the file, made once: pages keep note of who points to them, so that free ones can be given back in
     * slices */
    if (is_empty(&identity)) code = execute(db, "PRAGMA auto_vacuum = INCREMENTAL", err);
    if (code != PAWL_OK) return code;
    code =
        execute(db,
                "PRAGMA page_size = 4096; PRAGMA cache_size = -8192; "
                "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA synchronous = FULL; "
                "PRAGMA journal_size_limit = 16777216", /* what a log that had to grow is cut to */
                err);
    if (code == PAWL_OK && is_writer) code = use_log(db, options->vfs != NULL, err);
    if (code == PAWL_OK && identity.version < db->base.schema->count)
        code = apply_schema(db, options, err);
    if (code == PAWL_OK && !is_writer) code = execute(db, "PRAGMA query_only = ON", err);
    /* from its first read on the connection holds a lock that a restore respects; one that came
     * before it has left us with the old file */
    if (code == PAWL_OK) code = check_place(db, err);
    return code;
}

/* A path that SQLite takes for nothing but a path: not a URI, not ":memory:". */
static char *path_text(struct pawl_str target, bool has_vfs)
{
    bool is_plain = has_vfs || target.ptr[0] == '/';
    size_t front = is_plain ? 0 : 2;
    char *path = malloc(front + target.len + 1);
    if (path == NULL) return NULL;
    memcpy(path, "./", front);
    memcpy(path + front, target.ptr, target.len);
    path[front + target.len] = '\0';
    return path;
}

/* Reads whose database a file is, without a lock and without leaving SQLite's files beside it, as
 * any other way of opening one that is in WAL mode does. Through SQLite all the same: closing a
 * descriptor of our own would drop the locks that this process has on a store. Whether it could be
 * read; of version only whether there is a table of tasks. */
static bool peek_identity(const char *path, struct identity *identity)
{
    sqlite3 *handle = NULL;
    struct sqlite peek = {.path = NULL};
    char *name = sqlite3_mprintf("file:%s?immutable=1", path);
    bool is_plain =
        name != NULL && strpbrk(path, "%?#") == NULL; /* else the way of all others has to do */
    bool is_read =
        is_plain &&
        sqlite3_open_v2(name, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                        NULL) == SQLITE_OK;
    peek.handle = handle;
    is_read =
        is_read &&
        read_pragma(&peek, "PRAGMA application_id", &identity->application, NULL) == SQLITE_OK &&
        read_pragma(&peek, "PRAGMA schema_version", &identity->changes, NULL) == SQLITE_OK;
    identity->version = is_read && has_table(&peek, "tasks");
    (void)sqlite3_close(handle); /* takes NULL */
    sqlite3_free(name);
    return is_read;
}

/* Whether the file is another program's database. */
static bool is_foreign(const char *path, struct identity *identity)
{
    /* a store of ours that is just being made has nothing in the file itself, or all of it */
    return peek_identity(path, identity) && identity->changes != 0 &&
           identity->application != PAWL_SQLITE_APPLICATION_ID;
}

bool pawl_sqlite_is_store(const char *path)
{
    struct identity identity = {0};
    return peek_identity(path, &identity) && identity.application == PAWL_SQLITE_APPLICATION_ID;
}

static enum pawl_code check_foreign(const struct sqlite *db, struct pawl_error *err)
{
    struct identity identity = {0};
    /* twice: the first pages may be on their way into the file right now */
    if (!is_foreign(db->path, &identity) || !is_foreign(db->path, &identity)) return PAWL_OK;
    return refuse_foreign(db->path, identity.version != 0, err);
}

/* Makes the file if it is missing and may be made. */
static enum pawl_code provide_file(const struct sqlite *db, const struct pawl_db_options *options,
                                   struct pawl_error *err)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(options->vfs);
    int exists = 0;
    if (vfs == NULL) return pawl_error_set(err, PAWL_UNSUPPORTED, "no such VFS: %s", options->vfs);
    if (vfs->xAccess(vfs, db->path, SQLITE_ACCESS_EXISTS, &exists) != SQLITE_OK) exists = 0;
    if (exists == 0 && (options->must_exist || options->read_only)) {
        return pawl_error_set(err, PAWL_NOT_FOUND, "there is no %s", db->path);
    }
    if (options->vfs != NULL) return PAWL_OK;
    enum pawl_code code = pawl_sqlite_file_check(db->path, err);
    if (code == PAWL_OK && exists != 0) code = check_foreign(db, err);
    if (code == PAWL_OK && exists == 0) code = pawl_sqlite_file_create(db->path, err);
    return code;
}

static enum pawl_code check_library(struct pawl_error *err)
{
    if (sqlite3_libversion_number() < SQLITE_VERSION_MIN) {
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "SQLite %s is too old: 3.40 or newer is needed",
                              sqlite3_libversion());
    }
    if (sqlite3_threadsafe() == 0) {
        return pawl_error_set(err, PAWL_UNSUPPORTED, "this SQLite was built without threads");
    }
    return PAWL_OK;
}

enum pawl_code pawl_sqlite_open(struct pawl_db **out, const struct pawl_db_options *options,
                                struct pawl_error *err)
{
    struct pawl_str target = options->target;
    int flags =
        SQLITE_OPEN_NOMUTEX |
        (options->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    enum pawl_code code = check_library(err);
    if (code != PAWL_OK) return code;
    if (target.len == 0 || memchr(target.ptr, '\0', target.len) != NULL) {
        return pawl_error_set(err, PAWL_INVALID, "a path is needed, without zero bytes");
    }
    struct sqlite *db = calloc(1, sizeof *db);
    char *path = path_text(target, options->vfs != NULL);
    if (db == NULL || path == NULL) {
        free(db);
        free(path);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to open a store");
    }
    db->base = (struct pawl_db){
        .driver = &sqlite_driver,
        .schema = options->schema != NULL ? options->schema : &pawl_schema,
        .hook = options->hook,
        .log = options->log,
    };
    db->path = path;

    code = provide_file(db, options, err);
    if (code == PAWL_OK) {
        int result = sqlite3_open_v2(path, &db->handle, flags, options->vfs);
        if (result == SQLITE_OK) result = configure(db);
        if (result != SQLITE_OK) code = fail(db, result, "open", err);
    }
    if (code == PAWL_OK) code = settle(db, options, err);
    if (code == PAWL_CORRUPT && options->vfs == NULL && pawl_sqlite_file_is_json(path)) {
        code = pawl_error_set(
            err, PAWL_UNSUPPORTED,
            "%s is JSON and not a Pawl store; if it is an older store, `pawl import` reads it",
            path);
    }
    if (code != PAWL_OK) {
        sqlite_close(&db->base);
        return code;
    }
    *out = &db->base;
    return PAWL_OK;
}
