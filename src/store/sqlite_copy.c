/* Copies by SQLite's backup calls. The source connection holds a read transaction all the while, so
 * that a copy is never begun anew because somebody has written, and is the state of one commit. */
#include "store/sqlite_copy.h"

#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PAGES_AT_ONCE = 1024, /* 4 MiB between two looks at whether all is well */
    HOLD_WAIT_MS = 500,   /* for who is just opening or closing */
};

static enum pawl_code sqlite_error(struct pawl_error *err, int result, const char *what,
                                   const char *path)
{
    switch (result & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return pawl_error_set(err, PAWL_BUSY, "%s: %s: another process holds the file", path, what);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return pawl_error_set(err, PAWL_CORRUPT, "%s: %s: %s", path, what, sqlite3_errstr(result));
    case SQLITE_NOMEM:
        return pawl_error_set(err, PAWL_NO_MEMORY, "%s: %s: no memory", path, what);
    default:
        return pawl_error_set(err, PAWL_IO, "%s: %s: %s", path, what, sqlite3_errstr(result));
    }
}

static enum pawl_code open_one(const char *path, int flags, const char *vfs, const char *setup,
                               sqlite3 **out, struct pawl_error *err)
{
    sqlite3 *handle = NULL;
    int result = sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_NOMUTEX, vfs);
    if (result == SQLITE_OK) result = sqlite3_extended_result_codes(handle, 1);
    if (result == SQLITE_OK) {
        result = sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    }
    if (result == SQLITE_OK) result = sqlite3_busy_timeout(handle, PAWL_TURN_WAIT_MS_MAX);
    if (result == SQLITE_OK) result = sqlite3_exec(handle, setup, NULL, NULL, NULL);
    if (result != SQLITE_OK) {
        enum pawl_code code = sqlite_error(err, result, "open", path);
        (void)sqlite3_close(handle);
        return code;
    }
    *out = handle;
    return PAWL_OK;
}

/* ---- Is it whole? -----------------------------------------------------------------------------
 */

static enum pawl_code check_handle(sqlite3 *handle, const char *path, struct pawl_error *err)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(handle, "PRAGMA integrity_check(1)", -1, &statement, NULL);
    if (result == SQLITE_OK) result = sqlite3_step(statement);
    enum pawl_code code = PAWL_OK;
    if (result == SQLITE_ROW) {
        const char *found = (const char *)sqlite3_column_text(statement, 0);
        bool is_ok = found != NULL && strcmp(found, "ok") == 0;
        if (!is_ok) {
            code = pawl_error_set(err, PAWL_CORRUPT, "%s is damaged: %s", path,
                                  found == NULL ? "no answer" : found);
        }
    } else {
        code = sqlite_error(err, result == SQLITE_DONE ? SQLITE_ERROR : result, "check", path);
    }
    (void)sqlite3_finalize(statement); /* says again what step said */
    return code;
}

enum pawl_code pawl_sqlite_check(const char *path, struct pawl_error *err)
{
    sqlite3 *handle = NULL;
    enum pawl_code code = open_one(path, SQLITE_OPEN_READONLY, NULL, "BEGIN", &handle, err);
    if (code != PAWL_OK) return code;
    code = check_handle(handle, path, err);
    (void)sqlite3_close(handle); /* nothing is left open */
    return code;
}

/* ---- Copying ----------------------------------------------------------------------------------
 */

static int copy_pages(sqlite3 *from, sqlite3 *to)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    if (backup == NULL) return sqlite3_errcode(to);
    int result;
    do {
        result = sqlite3_backup_step(backup, PAGES_AT_ONCE);
    } while (result == SQLITE_OK);
    int end = sqlite3_backup_finish(backup);
    return result == SQLITE_DONE ? end : result;
}

/* Its own VFS aside, the new file needs neither journal nor sync of SQLite: it is nothing until it
 * is put. The check opens its log, which is gone again when the only connection closes. */
static enum pawl_code fill(sqlite3 *from, const char *from_path, const char *temp,
                           struct pawl_error *err)
{
    static const char setup[] = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; "
                                "PRAGMA synchronous = OFF; PRAGMA mmap_size = 0";
    sqlite3 *to = NULL;
    enum pawl_code code = open_one(temp, SQLITE_OPEN_READWRITE, NULL, setup, &to, err);
    if (code != PAWL_OK) return code;
    int result = copy_pages(from, to);
    if (result != SQLITE_OK) code = sqlite_error(err, result, "copy", from_path);
    if (code == PAWL_OK) code = check_handle(to, temp, err);
    (void)sqlite3_close(to); /* nothing is left open */
    return code;
}

/* An address of SQLite for a file that nobody writes, on whatever it lies: %-escaped. */
static char *cold_address(const char *path)
{
    static const char plain[] =
        "/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    static const char tail[] = "?immutable=1";
    char *text = malloc(strlen("file://") + 3 * strlen(path) + sizeof tail);
    if (text == NULL) return NULL;
    char *to = stpcpy(text, "file://");
    for (const char *at = path; *at != '\0'; at++) {
        if (strchr(plain, *at) != NULL) {
            *to++ = *at;
        } else {
            to += snprintf(to, 4, "%%%02X", (unsigned)(unsigned char)*at);
        }
    }
    memcpy(to, tail, sizeof tail);
    return text;
}

/* Whether the file is a copy that lies there, without the companions of one that is or was in use:
 * then it is read as it is, and nothing is written beside it. */
static bool is_cold(const struct pawl_sqlite_copy *ask)
{
    return ask->vfs == NULL && ask->from[0] == '/' && pawl_file_bytes(ask->from, "-wal") < 0 &&
           pawl_file_bytes(ask->from, "-turn") < 0 && pawl_file_bytes(ask->from, "-journal") < 0;
}

enum pawl_code pawl_sqlite_copy_into(const struct pawl_sqlite_copy *ask,
                                     const struct pawl_file_new *file, struct pawl_error *err)
{
    static const char setup[] = "PRAGMA mmap_size = 0; BEGIN; SELECT count(*) FROM sqlite_schema";
    sqlite3 *from = NULL;
    bool was_cold = is_cold(ask);
    char *address = was_cold ? cold_address(ask->from) : strdup(ask->from);
    if (address == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a path");
    int64_t bytes = pawl_file_bytes(ask->from, "");
    enum pawl_code code = open_one(address, SQLITE_OPEN_READONLY | (was_cold ? SQLITE_OPEN_URI : 0),
                                   ask->vfs, setup, &from, err);
    free(address);
    if (code != PAWL_OK) return code;
    code = fill(from, ask->from, file->temp, err);
    (void)sqlite3_close(from); /* nothing is left open */
    if (code == PAWL_OK && was_cold && (!is_cold(ask) || bytes != pawl_file_bytes(ask->from, ""))) {
        return pawl_error_set(err, PAWL_BUSY, "%s has been opened while it was read", ask->from);
    }
    return code;
}

enum pawl_code pawl_sqlite_copy_make(const struct pawl_sqlite_copy *ask, int64_t *bytes,
                                     struct pawl_error *err)
{
    struct pawl_file_new file;
    enum pawl_code code = pawl_file_make_folder(ask->to, err);
    if (code == PAWL_OK && !ask->may_replace && pawl_file_exists(ask->to)) {
        code = pawl_error_set(err, PAWL_CONFLICT, "there is a file %s already; `replace` writes over it", ask->to);
    }
    if (code == PAWL_OK) code = pawl_file_new_open(&file, ask->to, err);
    if (code != PAWL_OK) return code;
    code = pawl_sqlite_copy_into(ask, &file, err);
    if (code == PAWL_OK) code = pawl_file_new_put(&file, ask->may_replace, err);
    pawl_file_new_close(&file);
    if (code == PAWL_OK && bytes != NULL) *bytes = pawl_file_bytes(ask->to, "");
    return code;
}

/* ---- Nobody else ------------------------------------------------------------------------------
 */

struct pawl_sqlite_hold {
    char *path;      /* owned */
    sqlite3 *handle; /* of a database that can be read; else NULL and: */
    sqlite3_file *file;
    const char *name; /* what the file was opened by; SQLite's */
};

static enum pawl_code in_use(struct pawl_error *err, const char *path)
{
    return pawl_error_set(err, PAWL_BUSY, "%s is open: stop all workers and programs that use it",
                          path);
}

/* In exclusive mode SQLite begins with the lock of the whole file, which every open store stands
 * against. */
static int hold_by_handle(struct pawl_sqlite_hold *hold)
{
    int result = sqlite3_open_v2(hold->path, &hold->handle,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (result == SQLITE_OK) {
        result = sqlite3_db_config(hold->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    }
    if (result == SQLITE_OK) result = sqlite3_busy_timeout(hold->handle, HOLD_WAIT_MS);
    if (result == SQLITE_OK) {
        result = sqlite3_exec(hold->handle,
                              "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; "
                              "SELECT count(*) FROM sqlite_schema; COMMIT",
                              NULL, NULL, NULL);
    }
    if (result != SQLITE_OK) {
        (void)sqlite3_close(hold->handle);
        hold->handle = NULL;
    }
    return result & 0xFF;
}

/* The same lock by SQLite's own means on a file that it cannot make sense of. */
static int hold_by_file(struct pawl_sqlite_hold *hold)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    hold->name = sqlite3_create_filename(hold->path, "", "", 0, NULL);
    hold->file = calloc(1, (size_t)vfs->szOsFile);
    if (hold->name == NULL || hold->file == NULL) return SQLITE_NOMEM;
    int result =
        vfs->xOpen(vfs, hold->name, hold->file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MAIN_DB, NULL);
    if (result == SQLITE_OK) result = hold->file->pMethods->xLock(hold->file, SQLITE_LOCK_SHARED);
    if (result == SQLITE_OK)
        result = hold->file->pMethods->xLock(hold->file, SQLITE_LOCK_EXCLUSIVE);
    return result & 0xFF;
}

enum pawl_code pawl_sqlite_hold_open(struct pawl_sqlite_hold **out, const char *path,
                                     struct pawl_error *err)
{
    struct pawl_sqlite_hold *hold = calloc(1, sizeof *hold);
    if (hold != NULL) hold->path = strdup(path);
    if (hold == NULL || hold->path == NULL) {
        free(hold);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to hold %s", path);
    }
    bool is_empty = pawl_file_bytes(path, "") == 0; /* SQLite would write a first page into it */
    int result = is_empty ? SQLITE_NOTADB : hold_by_handle(hold);
    if (result == SQLITE_CORRUPT || result == SQLITE_NOTADB) result = hold_by_file(hold);
    if (result != SQLITE_OK) {
        pawl_sqlite_hold_close(hold);
        if (result == SQLITE_BUSY || result == SQLITE_LOCKED) return in_use(err, path);
        return sqlite_error(err, result, "hold", path);
    }
    *out = hold;
    return PAWL_OK;
}

enum pawl_code pawl_sqlite_hold_settle(struct pawl_sqlite_hold *hold, struct pawl_error *err)
{
    if (hold->handle != NULL) {
        int result =
            sqlite3_wal_checkpoint_v2(hold->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
        if (result != SQLITE_OK)
            return sqlite_error(err, result, "move its log into it", hold->path);
    }
    enum pawl_code code = pawl_file_remove(hold->path, "-wal", err);
    if (code == PAWL_OK) code = pawl_file_remove(hold->path, "-shm", err);
    if (code == PAWL_OK) code = pawl_file_remove(hold->path, "-journal", err);
    return code;
}

void pawl_sqlite_hold_close(struct pawl_sqlite_hold *hold)
{
    if (hold == NULL) return;
    (void)sqlite3_close(hold->handle); /* nothing is left open; takes NULL */
    if (hold->file != NULL && hold->file->pMethods != NULL) {
        (void)hold->file->pMethods->xClose(hold->file);
    }
    free(hold->file);
    if (hold->name != NULL) sqlite3_free_filename(hold->name);
    free(hold->path);
    free(hold);
}
