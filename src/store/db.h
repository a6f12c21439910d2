/* The thin driver that SQLite and PostgreSQL both implement: named statements with values, rows by
 * callback, transactions. What a row means is told elsewhere (rows.h); what a statement says stands
 * in statements.sql.
 *
 * Statements are sent and answered in order. SQLite runs a statement when it is sent; PostgreSQL
 * gathers what is sent and asks it all in one round trip at the flush. So code is written once:
 * send all that does not depend on each other, flush, look at what came. And send what is alike in
 * a row: asks of the same statement that follow each other are one statement to PostgreSQL (`many`
 * in statements.sql); so they must not be about the same row, unless a cut or a flush is between
 * them.
 *
 *   threads   a connection belongs to one thread at a time
 *   errors    after any failure but those of begin the transaction has to be rolled back
 *   booleans  are stored as the integers 0 and 1
 */
#ifndef PAWL_STORE_DB_H
#define PAWL_STORE_DB_H

#include "base/log.h"
#include "base/str.h"
#include "store/schema.h"
#include "store/statements.h"

struct pawl_compacting; /* core/set.h */
struct pawl_db;
struct pawl_db_driver;

/* ---- Values -----------------------------------------------------------------------------------
 */

enum pawl_value_kind {
    PAWL_VALUE_NULL = 0,
    PAWL_VALUE_INT64,
    PAWL_VALUE_DOUBLE,
    PAWL_VALUE_TEXT,
    PAWL_VALUE_BLOB,
};

struct pawl_value {
    enum pawl_value_kind kind;
    union {
        int64_t number;
        double real;
        struct pawl_str text; /* and blob; borrowed until the next flush */
    } is;
};

static inline struct pawl_value pawl_null(void)
{
    return (struct pawl_value){.kind = PAWL_VALUE_NULL};
}

static inline struct pawl_value pawl_int(int64_t number)
{
    return (struct pawl_value){.kind = PAWL_VALUE_INT64, .is.number = number};
}

/* 0 is stored as null: times and keys that there are not. */
static inline struct pawl_value pawl_int_or_null(int64_t number)
{
    return number != 0 ? pawl_int(number) : pawl_null();
}

static inline struct pawl_value pawl_real(double real)
{
    return (struct pawl_value){.kind = PAWL_VALUE_DOUBLE, .is.real = real};
}

/* An empty text, whatever its pointer. */
static inline struct pawl_value pawl_text(struct pawl_str text)
{
    return (struct pawl_value){.kind = PAWL_VALUE_TEXT, .is.text = text};
}

static inline struct pawl_value pawl_text_or_null(struct pawl_str text)
{
    return text.len != 0 ? pawl_text(text) : pawl_null();
}

static inline struct pawl_value pawl_blob(struct pawl_str bytes)
{
    return (struct pawl_value){.kind = PAWL_VALUE_BLOB, .is.text = bytes};
}

static inline struct pawl_value pawl_blob_or_null(struct pawl_str bytes)
{
    return bytes.len != 0 ? pawl_blob(bytes) : pawl_null();
}

/* ---- Rows -------------------------------------------------------------------------------------
 */

/* One row of an answer; good during the callback. */
struct pawl_db_row {
    struct pawl_db *db;
    void *of;       /* the driver's */
    int32_t number; /* the driver's */
};

/* Called for each row, in order. A code other than PAWL_OK ends the delivery and becomes the code
 * of the send or flush, with err as the callback has set it. It must not send. */
typedef enum pawl_code pawl_on_row(void *self, const struct pawl_db_row *row,
                                   struct pawl_error *err);

/* Columns count from 0. NULL reads as 0, 0.0 and the empty slice. int64 reads any integer or
 * boolean column. Text and blob are borrowed until the callback returns: copy what is to stay. */
static inline int64_t pawl_db_int64(const struct pawl_db_row *row, int32_t column);
static inline double pawl_db_double(const struct pawl_db_row *row, int32_t column);
static inline struct pawl_str pawl_db_text(const struct pawl_db_row *row, int32_t column);
static inline struct pawl_str pawl_db_blob(const struct pawl_db_row *row, int32_t column);
static inline bool pawl_db_is_null(const struct pawl_db_row *row, int32_t column);

/* ---- The hook of tests and simulation ---------------------------------------------------------
 */

/* Points besides the statements at which the hook is called. */
enum {
    PAWL_DB_AT_COMMITTED = PAWL_SQL_COUNT, /* after a commit; an error makes it UNKNOWN_OUTCOME */
};

/* Called before each statement is sent, with its number (transactions too: they are statements
 * named BEGIN_WRITE, BEGIN_READ, COMMIT, ROLLBACK). What it returns other than PAWL_OK happens
 * instead; what it returns for ROLLBACK is ignored. */
struct pawl_db_hook {
    enum pawl_code (*before)(void *self, int32_t point, struct pawl_error *err); /* may be NULL */
    void *self;
};

/* ---- Connections ------------------------------------------------------------------------------
 */

/* What the rows of a new store are made from. */
struct pawl_db_birth {
    struct pawl_str store_id; /* UUID text */
    struct pawl_str boot_id;
    int64_t clock_offset_ms;
    int64_t now_ms;
};

struct pawl_db_options {
    struct pawl_str target;     /* path or URI */
    bool must_exist;            /* nothing there is PAWL_NOT_FOUND */
    bool read_only;             /* implies must_exist; no statement may write */
    const char *vfs;            /* SQLite: name of the VFS, for tests; NULL = the default */
    const struct pawl_schema *schema; /* for tests; borrowed until close; NULL = ours */
    bool
        keeps_no_old; /* SQLite: an upgrade leaves no copy of what was there: it is a copy itself */
    const struct pawl_log *log; /* borrowed until close; may be NULL */
    struct pawl_db_birth birth; /* unless must_exist or read_only; borrowed for the call */
    struct pawl_db_hook hook;
};

/* Opens a connection, checks whose database it is, creates the schema in an empty one (META_ADD and
 * HEAD_ADD write its first rows), and leaves it ready for begin. The codes are those of
 * pawl_store_open. */
enum pawl_code pawl_sqlite_open(struct pawl_db **out, const struct pawl_db_options *options,
                                struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_postgres_open(struct pawl_db **out, const struct pawl_db_options *options,
                                  struct pawl_error *err) PAWL_MUST_USE;

/* Either of them, by the target: postgres:// and postgresql:// are URIs, all else is a path. */
enum pawl_code pawl_db_open(struct pawl_db **out, const struct pawl_db_options *options,
                            struct pawl_error *err) PAWL_MUST_USE;
bool pawl_db_target_is_postgres(struct pawl_str target);

void pawl_db_close(struct pawl_db *db); /* takes NULL; rolls back */

/* ---- Statements -------------------------------------------------------------------------------
 */

struct pawl_db_ask {
    enum pawl_statement statement;
    const struct pawl_value *values; /* the array: for the call; the bytes: until the flush */
    size_t count;
    pawl_on_row *on_row; /* NULL: rows are dropped */
    void *self;          /* until the flush */
    bool expects_one;    /* UPDATE, DELETE, INSERT: exactly one row is changed. A miss is a fault of
                            ours    on SQLite (PAWL_IO), a lost race on PostgreSQL (PAWL_BUSY) */
};

/* Queues a statement. Its rows are delivered at the latest by the next flush. A failure may be of
 * this or of an earlier statement since the last flush. */
enum pawl_code pawl_db_ask(struct pawl_db *db, const struct pawl_db_ask *ask,
                           struct pawl_error *err) PAWL_MUST_USE;

/* The same, for a query and for a change. */
enum pawl_code pawl_db_send(struct pawl_db *db, enum pawl_statement statement,
                            const struct pawl_value *values, size_t count, pawl_on_row *on_row,
                            void *self, struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_db_change(struct pawl_db *db, enum pawl_statement statement,
                              const struct pawl_value *values, size_t count, bool expects_one,
                              struct pawl_error *err) PAWL_MUST_USE;

/* What is sent from here on goes apart from what was sent before. */
enum pawl_code pawl_db_cut(struct pawl_db *db, struct pawl_error *err) PAWL_MUST_USE;

/* Waits until all that was sent has been answered and delivered. */
enum pawl_code pawl_db_flush(struct pawl_db *db, struct pawl_error *err) PAWL_MUST_USE;

/* A write transaction holds the store's write lock from here (SQLite: the lock of the file;
 * PostgreSQL: it begins only; HEAD_LOCK then takes the row lock). A read transaction sees one state
 * of all.
 *
 *   fails  PAWL_BUSY  somebody else has held the lock for 5 s */
enum pawl_code pawl_db_begin(struct pawl_db *db, bool is_write,
                             struct pawl_error *err) PAWL_MUST_USE;

/* Flushes and commits.
 *
 *   fails  PAWL_UNKNOWN_OUTCOME  it may have been committed; SQLite: the connection is of no more
 * use, close it any other             nothing was committed */
enum pawl_code pawl_db_commit(struct pawl_db *db, struct pawl_error *err) PAWL_MUST_USE;

/* Ends any transaction, sent and unanswered statements included; does nothing outside of one. */
void pawl_db_rollback(struct pawl_db *db);

/* ---- What a driver is -------------------------------------------------------------------------
 */

struct pawl_db_file {
    int64_t bytes;
    int64_t free_bytes; /* of them, in pages that hold nothing */
    int64_t log_bytes;  /* of the file of the write-ahead log */
};

struct pawl_db_driver {
    bool is_postgres;
    enum pawl_code (*ask)(struct pawl_db *db, const struct pawl_db_ask *ask,
                          struct pawl_error *err);
    enum pawl_code (*flush)(struct pawl_db *db, struct pawl_error *err);
    enum pawl_code (*begin)(struct pawl_db *db, bool is_write, struct pawl_error *err);
    enum pawl_code (*commit)(struct pawl_db *db, struct pawl_error *err);
    void (*rollback)(struct pawl_db *db);
    void (*close)(struct pawl_db *db); /* takes a half-built one */

    int64_t (*row_int64)(const struct pawl_db_row *row, int32_t column);
    double (*row_double)(const struct pawl_db_row *row, int32_t column);
    struct pawl_str (*row_text)(const struct pawl_db_row *row, int32_t column);
    struct pawl_str (*row_blob)(const struct pawl_db_row *row, int32_t column);
    bool (*row_is_null)(const struct pawl_db_row *row, int32_t column);

    /* The path of the file; empty on PostgreSQL. Borrowed until close. */
    struct pawl_str (*path)(const struct pawl_db *db);

    /* How large the store is. On PostgreSQL without a log. */
    enum pawl_code (*file)(struct pawl_db *db, struct pawl_db_file *out, struct pawl_error *err);
    /* Gives free pages of the file back to the file system; within a write transaction. NULL where there is
     * no file. */
    enum pawl_code (*compact)(struct pawl_db *db, const struct pawl_compacting *asked, struct pawl_error *err);
    /* A number that changes with every commit of another connection, and not with our own; NULL
     * where a commit that can be seen is on disk. */
    int64_t (*others)(struct pawl_db *db);
    /* SQLite only, else NULL: whether the path names another file by now, or none. */
    bool (*has_moved)(const struct pawl_db *db);
    /* SQLite only, else NULL: moves the log into the file if it has grown long; all: whatever its
     * length, and the log's file becomes empty. */
    void (*checkpoint)(struct pawl_db *db, bool all);

    /* PostgreSQL only, else NULL: see pawl_db_cut; the database's clock, read in a statement of its
     * own (flushes); and the bell of other processes' commits (pawl_store_bell_fd). */
    enum pawl_code (*cut)(struct pawl_db *db, struct pawl_error *err);
    enum pawl_code (*clock)(struct pawl_db *db, int64_t *now_ms, struct pawl_error *err);
    int64_t (*trips)(const struct pawl_db *db); /* round trips that were waited for so far */
    int (*bell_fd)(const struct pawl_db *db);
    bool (*bell_drain)(struct pawl_db *db);
    uint64_t (*knocks)(const struct pawl_db *db);
    void (*patience)(struct pawl_db *db, int64_t ms); /* pawl_store_patience */
};

/* The first member of each driver's own struct. The wrappers call the hook; drivers do not. */
struct pawl_db {
    const struct pawl_db_driver *driver;
    const struct pawl_schema *schema;
    struct pawl_db_hook hook;
    const struct pawl_log *log; /* borrowed; may be NULL */
    bool is_race;               /* see pawl_db_was_race; PostgreSQL only */
    bool knocks;                /* the commit's bell is a knock (pawl_head); PostgreSQL only */
};

/* After PAWL_BUSY: it was a lost race (a deadlock, another's row, a connection that broke before
 * the commit). The same transaction, rolled back and run again from its start, may well succeed at
 * once. */
static inline bool pawl_db_was_race(const struct pawl_db *db)
{
    return db->is_race;
}

static inline int64_t pawl_db_int64(const struct pawl_db_row *row, int32_t column)
{
    return row->db->driver->row_int64(row, column);
}

static inline double pawl_db_double(const struct pawl_db_row *row, int32_t column)
{
    return row->db->driver->row_double(row, column);
}

static inline struct pawl_str pawl_db_text(const struct pawl_db_row *row, int32_t column)
{
    return row->db->driver->row_text(row, column);
}

static inline struct pawl_str pawl_db_blob(const struct pawl_db_row *row, int32_t column)
{
    return row->db->driver->row_blob(row, column);
}

static inline bool pawl_db_is_null(const struct pawl_db_row *row, int32_t column)
{
    return row->db->driver->row_is_null(row, column);
}

#endif
