/* A reader: a connection of its own, read only, and one read transaction a call.
 *
 * The transaction begins with the call and ends with it, whatever has happened: on SQLite it holds
 * back the checkpoint, on PostgreSQL the vacuum. It is always rolled back, since there is nothing
 * to commit and a rollback cannot fail. After a failure of the database the connection is dropped,
 * and the next call opens it anew: a server that was restarted. Not so when another file has taken
 * the path: what a reader tells is of the store that it was opened for, or nothing. */
#include "store/reader.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "core/limits.h"
#include "store/id.h"
#include "store/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- The connection -------------------------------------------------------------------------- */

static bool copy_text(struct pawl_str *out, struct pawl_str text)
{
    char *copy = malloc(text.len + 1);
    if (copy == NULL) return false;
    if (text.len != 0) memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    *out = (struct pawl_str){copy, text.len};
    return true;
}

static void free_text(struct pawl_str text)
{
    free((char *)(uintptr_t)text.ptr); /* the const is ours: copy_text made it */
}

enum pawl_code pawl_reader_open(struct pawl_reader **out, const struct pawl_store_options *options,
                                struct pawl_error *err)
{
    struct pawl_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to open a reader");
    if (pthread_mutex_init(&reader->lock, NULL) != 0) {
        free(reader);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no lock for a reader");
    }
    struct pawl_str target = {0};
    struct pawl_str vfs = {0};
    bool has_room = copy_text(&target, options->target);
    if (has_room && options->vfs != NULL) has_room = copy_text(&vfs, pawl_str_of(options->vfs));
    reader->options = (struct pawl_db_options){.target = target,
                                               .read_only = true,
                                               .vfs = vfs.ptr,
                                               .schema = options->schema,
                                               .log = options->log};
    reader->env = options->env;
    enum pawl_code code = has_room ? pawl_arena_open(&reader->scratch, 0) : PAWL_NO_MEMORY;
    if (code != PAWL_OK) {
        (void)pawl_error_set(err, code, "no memory to open a reader");
    } else {
        code = pawl_db_open(&reader->db, &reader->options, err);
    }
    if (code != PAWL_OK) {
        pawl_reader_close(reader); /* takes a half-built one */
        return code;
    }
    *out = reader;
    return PAWL_OK;
}

void pawl_reader_close(struct pawl_reader *reader)
{
    if (reader == NULL) return;
    pawl_db_close(reader->db);
    pawl_arena_close(reader->scratch);
    free_text(reader->options.target);
    free_text(pawl_str_of(reader->options.vfs));
    free_text(reader->store_id);
    (void)pthread_mutex_destroy(&reader->lock); /* nobody holds it */
    free(reader);
}

static void drop_connection(struct pawl_reader *reader)
{
    const struct pawl_db *db = reader->db;
    if (db != NULL && db->driver->has_moved != NULL && db->driver->has_moved(db)) return;
    pawl_db_close(reader->db);
    reader->db = NULL;
}

/* META_GET: schema_version, store_id, ... */
static enum pawl_code on_meta(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct pawl_reader *reader = self;
    int64_t version = pawl_db_int64(row, 0);
    struct pawl_str store_id = pawl_db_text(row, 1);
    bool is_first = reader->store_id.ptr == NULL;
    if (!is_first && version != reader->schema_version) {
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "the store has schema %" PRId64 " now, it was opened with %" PRId64,
                              version, reader->schema_version);
    }
    if (!is_first && pawl_str_equal(store_id, reader->store_id)) return PAWL_OK;
    struct pawl_str copy;
    if (!copy_text(&copy, store_id)) {
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to read");
    }
    free_text(reader->store_id);
    reader->store_id = copy;
    reader->schema_version = version;
    return PAWL_OK;
}

/* Begins on the connection there is, and sends the question for meta along. */
static enum pawl_code begin(struct pawl_reader *reader, struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    if (reader->db == NULL) code = pawl_db_open(&reader->db, &reader->options, err);
    if (code == PAWL_OK) code = pawl_db_begin(reader->db, false, err);
    if (code != PAWL_OK) return code;
    return pawl_db_send(reader->db, PAWL_SQL_META_GET, NULL, 0, on_meta, reader, err);
}

enum pawl_code pawl_reader_begin(struct pawl_reader *reader, struct pawl_error *err)
{
    (void)pthread_mutex_lock(&reader->lock); /* a plain one: it cannot fail */
    pawl_arena_reset(reader->scratch);
    enum pawl_code code = begin(reader, err);
    if (code == PAWL_BUSY || code == PAWL_IO) {
        drop_connection(reader); /* it may have died since the last call */
        code = begin(reader, err);
    }
    if (code != PAWL_OK) {
        drop_connection(reader);
        (void)pthread_mutex_unlock(&reader->lock);
    }
    return code;
}

enum pawl_code pawl_reader_end(struct pawl_reader *reader, const struct pawl_arena *keep,
                               enum pawl_code code, struct pawl_error *err)
{
    pawl_db_rollback(reader->db);
    if (code == PAWL_BUSY || code == PAWL_IO || code == PAWL_UNKNOWN_OUTCOME) {
        drop_connection(reader);
    }
    (void)pthread_mutex_unlock(&reader->lock);
    /* where keep had no room, what was found wrong with a row means nothing */
    if (code != PAWL_OK && code != PAWL_CORRUPT) return code;
    enum pawl_code room = pawl_arena_code(keep);
    if (room == PAWL_OK) return code;
    if (room == PAWL_TOO_LARGE) {
        return pawl_error_set(err, room, "the answer is larger than the arena that is to keep it");
    }
    return pawl_error_set(err, room, "no memory for the answer");
}

enum pawl_code pawl_reader_ask(struct pawl_reader *reader, enum pawl_statement statement,
                               const struct pawl_value *values, size_t count, pawl_on_row *on_row,
                               void *self, struct pawl_error *err)
{
    enum pawl_code code = pawl_db_send(reader->db, statement, values, count, on_row, self, err);
    return code != PAWL_OK ? code : pawl_db_flush(reader->db, err);
}

/* ---- What every read needs ------------------------------------------------------------------- */

static enum pawl_code on_key(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    *(int64_t *)self = pawl_db_int64(row, 0);
    return PAWL_OK;
}

struct reason {
    struct pawl_arena *scratch;
    struct pawl_str text;
    bool is_found;
};

static enum pawl_code on_reason(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct reason *reason = self;
    reason->text = pawl_row_text(row, 0, reason->scratch);
    reason->is_found = true;
    return PAWL_OK;
}

enum pawl_code pawl_reader_fault(struct pawl_str id, struct pawl_str fault, struct pawl_error *err)
{
    return pawl_error_set(err, PAWL_CORRUPT, "task %.*s cannot be read: %.*s", PAWL_STR_ARG(id),
                          PAWL_STR_ARG(fault));
}

struct removed {
    struct pawl_arena *scratch;
    struct pawl_tombstone_row row;
    bool is_found;
};

static enum pawl_code on_removed(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct removed *removed = self;
    removed->is_found = pawl_row_tombstone(row, removed->scratch, &removed->row) == NULL;
    return PAWL_OK;
}

enum pawl_code pawl_reader_find(struct pawl_reader *reader, struct pawl_str id, int64_t *key,
                                struct pawl_error *err)
{
    struct pawl_value named = pawl_text(id);
    int64_t found = 0;
    if (id.len > 0 && id.ptr == NULL) {
        return pawl_error_set(err, PAWL_INVALID, "task_id: has a length and no bytes");
    }
    enum pawl_code code =
        pawl_reader_ask(reader, PAWL_SQL_READ_TASK_KEY, &named, 1, on_key, &found, err);
    if (code != PAWL_OK) return code;
    if (found != 0) {
        *key = found;
        return PAWL_OK;
    }
    struct reason reason = {.scratch = reader->scratch};
    code = pawl_reader_ask(reader, PAWL_SQL_READ_QUARANTINE, &named, 1, on_reason, &reason, err);
    if (code != PAWL_OK) return code;
    if (reason.is_found) return pawl_reader_fault(id, reason.text, err);
    struct removed removed = {.scratch = reader->scratch};
    code = pawl_reader_ask(reader, PAWL_SQL_TOMBSTONE_BY_ID, &named, 1, on_removed, &removed, err);
    if (code != PAWL_OK) return code;
    if (removed.is_found) {
        return pawl_error_set(err, PAWL_NOT_FOUND,
                              "no such task: %.*s ended as %s and was removed since",
                              PAWL_STR_ARG(id), pawl_task_state_name(removed.row.state));
    }
    return pawl_error_set(err, PAWL_NOT_FOUND, "no such task: %.*s", PAWL_STR_ARG(id));
}

/* Rows that come out of order lie on a damaged page: who goes on behind the last one would never come to an end. */
enum pawl_code pawl_reader_disorder(const char *what, struct pawl_error *err)
{
    return pawl_error_set(err, PAWL_CORRUPT, "the %s are out of order: the store is damaged, see pawl fsck",
                          what);
}

enum pawl_code pawl_reader_limit(int32_t asked, int32_t *limit, struct pawl_error *err)
{
    if (asked < 0 || asked > PAWL_BATCH_MAX) {
        return pawl_error_set(err, PAWL_INVALID, "limit: %" PRId32 " is not in 1..%d", asked,
                              (int)PAWL_BATCH_MAX);
    }
    *limit = asked != 0 ? asked : PAWL_READ_PAGE_ROWS;
    return PAWL_OK;
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

struct checkpoints {
    struct pawl_str store_id;
    struct pawl_arena *keep;
    struct pawl_checkpoint *rows;
    size_t count;
    size_t room;
};

static enum pawl_code on_checkpoint(void *self, const struct pawl_db_row *row,
                                    struct pawl_error *err)
{
    (void)err;
    struct checkpoints *list = self;
    struct pawl_checkpoint_row found;
    const char *fault = pawl_row_checkpoint(row, list->keep, &found);
    if (fault != NULL || list->count == list->room) return PAWL_OK; /* all others go on */
    list->rows[list->count++] = (struct pawl_checkpoint){
        .id = pawl_checkpoint_id(list->store_id, found.key, found.at_ms, list->keep),
        .step = found.step,
        .at_ms = found.at_ms,
        .epoch = found.epoch,
        .state = found.state,
    };
    return PAWL_OK;
}

static enum pawl_code read_checkpoints(struct pawl_reader *reader, struct pawl_str id,
                                       struct checkpoints *list, struct pawl_error *err)
{
    int64_t task;
    enum pawl_code code = pawl_reader_find(reader, id, &task, err);
    if (code != PAWL_OK) return code;
    list->rows = pawl_arena_take_array(list->keep, PAWL_CHECKPOINTS_KEPT, sizeof *list->rows);
    if (list->rows == NULL) return PAWL_OK; /* keep tells */
    list->room = PAWL_CHECKPOINTS_KEPT;
    list->store_id = reader->store_id;
    struct pawl_value values[] = {pawl_int(task), pawl_int(PAWL_CHECKPOINTS_KEPT)};
    return pawl_reader_ask(reader, PAWL_SQL_READ_CHECKPOINTS, values, 2, on_checkpoint, list, err);
}

enum pawl_code pawl_read_checkpoints(struct pawl_reader *reader, struct pawl_str id,
                                     struct pawl_arena *keep, struct pawl_checkpoints *out,
                                     struct pawl_error *err)
{
    struct checkpoints list = {.keep = keep};
    enum pawl_code code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = pawl_reader_end(reader, keep, read_checkpoints(reader, id, &list, err), err);
    if (code != PAWL_OK) return code;
    *out = (struct pawl_checkpoints){list.rows, list.count};
    return PAWL_OK;
}

/* The latest for an empty id, else the one of this very task and instant. */
static enum pawl_code read_checkpoint(struct pawl_reader *reader, struct pawl_str id,
                                      struct pawl_str checkpoint_id, struct checkpoints *list,
                                      struct pawl_error *err)
{
    int64_t task;
    enum pawl_code code = pawl_reader_find(reader, id, &task, err);
    if (code != PAWL_OK) return code;
    list->store_id = reader->store_id;
    int64_t key = pawl_checkpoint_id_key(list->store_id, checkpoint_id);
    if (key != 0) {
        struct pawl_value values[] = {pawl_int(key), pawl_int(task)};
        code =
            pawl_reader_ask(reader, PAWL_SQL_READ_CHECKPOINT, values, 2, on_checkpoint, list, err);
        bool is_it = list->count > 0 && list->rows[0].at_ms == pawl_id_at_ms(checkpoint_id);
        if (code != PAWL_OK || is_it) return code;
        list->count = 0;
    }
    /* a task without any has none with this id either: what is wrong is its state */
    struct pawl_value value = pawl_int(task);
    code = pawl_reader_ask(reader, PAWL_SQL_CHECKPOINT_LATEST, &value, 1, on_checkpoint, list, err);
    if (code == PAWL_OK && list->count == 0) {
        return pawl_error_set(err, PAWL_STATE, "task %.*s has no checkpoints", PAWL_STR_ARG(id));
    }
    if (code != PAWL_OK || checkpoint_id.len == 0) return code;
    return pawl_error_set(err, PAWL_NOT_FOUND, "task %.*s has no checkpoint %.*s", PAWL_STR_ARG(id),
                          PAWL_STR_ARG(checkpoint_id));
}

enum pawl_code pawl_read_checkpoint(struct pawl_reader *reader, struct pawl_str id,
                                    struct pawl_str checkpoint_id, struct pawl_arena *keep,
                                    struct pawl_checkpoint *out, struct pawl_error *err)
{
    struct pawl_checkpoint found = {0};
    struct checkpoints list = {.keep = keep, .rows = &found, .room = 1};
    enum pawl_code code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code =
        pawl_reader_end(reader, keep, read_checkpoint(reader, id, checkpoint_id, &list, err), err);
    if (code == PAWL_OK) *out = found;
    return code;
}

/* ---- Logs ------------------------------------------------------------------------------------ */

struct lines {
    struct pawl_arena *keep;
    int64_t last; /* what follows lies behind it */
    struct pawl_log_line *rows;
    size_t count;
    size_t room;
};

static enum pawl_code on_line(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct lines *list = self;
    if (list->count == list->room) return PAWL_OK;
    if (pawl_db_int64(row, 0) <= list->last) return pawl_reader_disorder("lines", err);
    list->last = pawl_db_int64(row, 0);
    list->rows[list->count++] = (struct pawl_log_line){
        .number = pawl_db_int64(row, 0),
        .at_ms = pawl_db_int64(row, 1),
        .epoch = pawl_db_int64(row, 2),
        .text = pawl_row_text(row, 3, list->keep),
    };
    return PAWL_OK;
}

static enum pawl_code read_logs(struct pawl_reader *reader, struct pawl_str id,
                                int64_t after_number, int32_t limit, struct lines *list,
                                struct pawl_error *err)
{
    int64_t task;
    enum pawl_code code = pawl_reader_find(reader, id, &task, err);
    if (code != PAWL_OK) return code;
    list->rows = pawl_arena_take_array(list->keep, (size_t)limit, sizeof *list->rows);
    if (list->rows == NULL) return PAWL_OK; /* keep tells */
    list->room = (size_t)limit;
    struct pawl_value values[] = {pawl_int(task), pawl_int(after_number), pawl_int(limit)};
    return pawl_reader_ask(reader, PAWL_SQL_READ_LOGS, values, 3, on_line, list, err);
}

enum pawl_code pawl_read_logs(struct pawl_reader *reader, struct pawl_str id, int64_t after_number,
                              int32_t limit, struct pawl_arena *keep, struct pawl_log_lines *out,
                              struct pawl_error *err)
{
    struct lines list = {.keep = keep, .last = after_number};
    enum pawl_code code = pawl_reader_limit(limit, &limit, err);
    if (code == PAWL_OK) code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code =
        pawl_reader_end(reader, keep, read_logs(reader, id, after_number, limit, &list, err), err);
    if (code != PAWL_OK) return code;
    *out = (struct pawl_log_lines){list.rows, list.count};
    return PAWL_OK;
}

/* ---- Late results ---------------------------------------------------------------------------- */

struct late {
    struct pawl_arena *keep;
    struct pawl_late_result *rows;
    size_t count;
    size_t room;
};

static struct pawl_str outcome_text(int64_t kind)
{
    switch (kind) {
    case PAWL_OUTCOME_COMPLETE:
        return PAWL_STR("complete");
    case PAWL_OUTCOME_FAIL:
        return PAWL_STR("fail");
    case PAWL_OUTCOME_RELEASE:
        return PAWL_STR("release");
    case PAWL_OUTCOME_PAUSE:
        return PAWL_STR("pause");
    case PAWL_OUTCOME_CANCEL:
        return PAWL_STR("cancel");
    default:
        return PAWL_STR("unknown"); /* a row may hold any number */
    }
}

static enum pawl_code on_late(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct late *list = self;
    if (list->count == list->room) return PAWL_OK;
    list->rows[list->count++] = (struct pawl_late_result){
        .at_ms = pawl_db_int64(row, 0),
        .epoch = pawl_db_int64(row, 1),
        .owner = pawl_row_text(row, 2, list->keep),
        .kind = outcome_text(pawl_db_int64(row, 3)),
        .body = pawl_row_text(row, 4, list->keep),
    };
    return PAWL_OK;
}

static enum pawl_code read_late(struct pawl_reader *reader, struct pawl_str id, struct late *list,
                                struct pawl_error *err)
{
    int64_t task;
    enum pawl_code code = pawl_reader_find(reader, id, &task, err);
    if (code != PAWL_OK) return code;
    list->rows = pawl_arena_take_array(list->keep, PAWL_LATE_RESULTS_KEPT, sizeof *list->rows);
    if (list->rows == NULL) return PAWL_OK; /* keep tells */
    list->room = PAWL_LATE_RESULTS_KEPT;
    struct pawl_value values[] = {pawl_int(task), pawl_int(PAWL_LATE_RESULTS_KEPT)};
    return pawl_reader_ask(reader, PAWL_SQL_READ_LATE, values, 2, on_late, list, err);
}

enum pawl_code pawl_read_late(struct pawl_reader *reader, struct pawl_str id,
                              struct pawl_arena *keep, struct pawl_late_results *out,
                              struct pawl_error *err)
{
    struct late list = {.keep = keep};
    enum pawl_code code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = pawl_reader_end(reader, keep, read_late(reader, id, &list, err), err);
    if (code != PAWL_OK) return code;
    *out = (struct pawl_late_results){list.rows, list.count};
    return PAWL_OK;
}
