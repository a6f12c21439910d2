/* A record of the older task manager, whatever form it lay in, and what becomes of it here.
 *
 * Both forms have the same fields. In the JSON form a task is an object; in the SQLite form it is a
 * row whose lists are JSON in text columns, and its outbox rows lie in a table of their own. */
#ifndef PAWL_IMPORT_RECORD_H
#define PAWL_IMPORT_RECORD_H

#include "core/command.h"
#include "import/report.h"

#define PAWL_OLD_FIELDS(X)                        \
    X(ID, "id")                                   \
    X(TITLE, "title")                             \
    X(GOAL, "goal")                               \
    X(PRIORITY, "priority")                       \
    X(STATUS, "status")                           \
    X(PROGRESS, "progress")                       \
    X(RETRIES, "retries")                         \
    X(MAX_RETRIES, "max_retries")                 \
    X(DEPENDS_ON, "depends_on")                   \
    X(CHECKPOINTS, "checkpoints")                 \
    X(HISTORY, "history")                         \
    X(CREATED_AT, "created_at")                   \
    X(UPDATED_AT, "updated_at")                   \
    X(RESULT, "result")                           \
    X(ERROR, "error")                             \
    X(METADATA, "metadata")                       \
    X(VERSION, "version")                         \
    X(OWNER_ID, "owner_id")                       \
    X(LEASE_EXPIRES_AT, "lease_expires_at")       \
    X(LEASE_EPOCH, "lease_epoch")                 \
    X(OWNER_PID, "owner_pid")                     \
    X(REMOTE_EXECUTION_ID, "remote_execution_id") \
    X(NEXT_RETRY_AT, "next_retry_at")

enum pawl_old_field {
#define X(name, text) PAWL_OLD_##name,
    PAWL_OLD_FIELDS(X)
#undef X
        PAWL_OLD_FIELD_COUNT
};

/* The field with this name; PAWL_OLD_FIELD_COUNT if it is none. */
enum pawl_old_field pawl_old_field_find(struct pawl_str name);
const char *pawl_old_field_name(enum pawl_old_field field);

enum pawl_old_kind {
    PAWL_OLD_NONE, /* absent or null */
    PAWL_OLD_TEXT,
    PAWL_OLD_INT64,
    PAWL_OLD_DOUBLE,
    PAWL_OLD_JSON, /* array or object: its text */
    PAWL_OLD_OTHER /* nothing that any field may hold: true, a blob, text that is no UTF-8 */
};

struct pawl_old_value {
    enum pawl_old_kind kind;
    struct pawl_str text;
    int64_t number;
    double real;
};

struct pawl_old_outbox { /* a row of the outbox, oldest first */
    int64_t sequence;
    struct pawl_str type;
    struct pawl_str payload;
    struct pawl_str created_at;
};

struct pawl_old_record {
    struct pawl_str name; /* what to call it if it has no id */
    struct pawl_old_value fields[PAWL_OLD_FIELD_COUNT];
    const struct pawl_old_outbox *outbox; /* the newest rows */
    size_t outbox_count;
    int64_t outbox_left_count; /* older ones, left out */
};

/* An older store, opened: count records, read one by one, any number of times. */
struct pawl_old_store {
    void *self;
    int64_t count;
    enum pawl_code (*read)(void *self, int64_t number, struct pawl_import_report *report,
                           struct pawl_arena *keep, struct pawl_old_record *out,
                           struct pawl_error *err);
    void (*close)(void *self);
};

struct pawl_import_file; /* file.h */

/* fails  PAWL_INVALID, PAWL_UNSUPPORTED, PAWL_CORRUPT: it is no such store */
enum pawl_code pawl_old_json_open(struct pawl_old_store *store, const struct pawl_import_file *file,
                                  struct pawl_import_report *report, struct pawl_arena *arena,
                                  struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_old_sqlite_open(struct pawl_old_store *store,
                                    const struct pawl_import_file *file,
                                    struct pawl_import_report *report, struct pawl_arena *arena,
                                    struct pawl_error *err) PAWL_MUST_USE;

/* ---- Decoding ---- */

struct pawl_decoding {
    struct pawl_import_report *report; /* NULL: nobody wants to hear it again */
    struct pawl_arena *keep;
    struct pawl_str task; /* what remarks are about */
    bool is_refused;
};

/* Decodes a record. False if it cannot be read; the report has why. What is decoded lives in keep,
 * or is a slice of the record. */
bool pawl_old_record_decode(const struct pawl_old_record *record, struct pawl_str file_name,
                            struct pawl_import_report *report, struct pawl_arena *keep,
                            struct pawl_import_task *out);

/* The pieces of it that history.c and record.c share. */
void pawl_decoding_refuse(struct pawl_decoding *decoding, const char *format, ...)
    PAWL_PRINTF(2, 3);
void pawl_decoding_remark(struct pawl_decoding *decoding, const char *format, ...)
    PAWL_PRINTF(2, 3);

/* An instant; 0 if there is none, and with a remark ("field: … cannot be read; otherwise") if it is
 * junk. */
int64_t pawl_decoding_instant(struct pawl_decoding *decoding, const char *field,
                              struct pawl_str text, const char *otherwise);
bool pawl_old_state_find(struct pawl_str name, enum pawl_task_state *out);

/* History and outbox become events; sets events, event_count and sequence. */
void pawl_old_history_decode(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                             struct pawl_str history, struct pawl_import_task *out);

#endif
