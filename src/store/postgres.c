/* The PostgreSQL driver: the store's transactions over one connection (postgres_link.h), with the
 * bell beside it (postgres_bell.h).
 *
 * A connection that is lost is made anew by the next begin. What was lost with it is told as a lost
 * race: nothing was committed, and the engine runs the step's commands again.
 *
 * Only a COMMIT whose answer is lost leaves a question. Each step writes its number into this
 * handle's row of node, in its own transaction; after a lost answer that row is read back, and
 * committed or not is then known. Reading it too early would be worse than not at all: the server
 * may still be about to run the COMMIT. So its process is ended first, and the row of head is
 * locked, which the old transaction holds as long as it lives.
 *
 * A pooler that gives each transaction another connection would forget prepared statements,
 * settings and listening: it is refused, at open where that shows, else when the process behind us
 * changes. */
#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "store/db.h"
#include "store/postgres_bell.h"
#include "store/postgres_link.h"

#include <endian.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* How long a lost answer is looked for. The caller waits meanwhile. */
    RESOLVE_MS_MAX = 5000,
    RESOLVE_PAUSE_MS = 50,
};

struct postgres {
    struct pawl_db base; /* first */
    struct pawl_libpq pq;
    struct pawl_link link;
    struct pawl_bell bell; /* writers only */
    char *target;          /* owned; may hold a password: never shown */
    bool is_read_only;
    bool is_begun;    /* a transaction is open */
    bool is_asking;   /* something was asked since the last flush */
    bool is_write;    /* and it is a writing one */
    bool rings;       /* and it has changed what others wait for */
    int64_t node_key; /* of this handle's row in node */
    int64_t step;     /* number of the newest commit it has tried: no two have the same */
    int64_t now_ms;   /* as the clock was last read */
};

static struct postgres *postgres_of(struct pawl_db *db)
{
    return (struct postgres *)db;
}

static const struct postgres *const_postgres_of(const struct pawl_db *db)
{
    return (const struct postgres *)db;
}

/* Every code leaves through here, so that is_race goes with it. */
static enum pawl_code told(struct postgres *db, enum pawl_code code)
{
    db->base.is_race = code == PAWL_BUSY && db->link.is_race;
    return code;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* The integers of an answer: int2, int4, int8, bool; big-endian. */
static int64_t row_int64(const struct pawl_db_row *row, int32_t column)
{
    const struct pawl_libpq *pq = &postgres_of(row->db)->pq;
    const PGresult *result = row->of;
    if (pq->getisnull(result, row->number, column)) return 0;
    const char *bytes = pq->getvalue(result, row->number, column);
    int len = pq->getlength(result, row->number, column);
    pawl_assert(len == 8 || len == 4 || len == 2 ||
                len == 1); /* else a statement of ours is wrong */
    uint64_t bits = 0;     /* aligned to its end, the sign spread over its start */
    if ((signed char)bytes[0] < 0) bits = UINT64_MAX;
    memcpy((char *)&bits + sizeof bits - (size_t)len, bytes, (size_t)len);
    return (int64_t)be64toh(bits);
}

static double row_double(const struct pawl_db_row *row, int32_t column)
{
    const struct pawl_libpq *pq = &postgres_of(row->db)->pq;
    const PGresult *result = row->of;
    if (pq->getisnull(result, row->number, column)) return 0;
    pawl_assert(pq->getlength(result, row->number, column) == 8); /* double precision */
    uint64_t bits;
    memcpy(&bits, pq->getvalue(result, row->number, column), sizeof bits);
    bits = be64toh(bits);
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static struct pawl_str row_bytes(const struct pawl_db_row *row, int32_t column)
{
    const struct pawl_libpq *pq = &postgres_of(row->db)->pq;
    const PGresult *result = row->of;
    int len = pq->getlength(result, row->number, column); /* 0 for null */
    if (len <= 0) return (struct pawl_str){0};
    return (struct pawl_str){pq->getvalue(result, row->number, column), (size_t)len};
}

static bool row_is_null(const struct pawl_db_row *row, int32_t column)
{
    return postgres_of(row->db)->pq.getisnull(row->of, row->number, column) != 0;
}

/* ---- Connecting ----------------------------------------------------------------------------- */

static enum pawl_code ask(struct postgres *db, enum pawl_statement statement,
                          const struct pawl_value *values, size_t count, struct pawl_error *err)
{
    struct pawl_db_ask question = {.statement = statement, .values = values, .count = count};
    return pawl_link_ask(&db->link, &question, err);
}

/* A query of one integer; *out stays as it is if there is no row. */
static enum pawl_code on_int64(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    *(int64_t *)self = pawl_db_int64(row, 0);
    return PAWL_OK;
}

static enum pawl_code ask_int64(struct postgres *db, enum pawl_statement statement,
                                const struct pawl_value *values, size_t count, int64_t *out,
                                struct pawl_error *err)
{
    struct pawl_db_ask question = {
        .statement = statement,
        .values = values,
        .count = count,
        .on_row = on_int64,
        .self = out,
    };
    return pawl_link_ask(&db->link, &question, err);
}

static enum pawl_code open_link(struct postgres *db, struct pawl_link_session *session,
                                struct pawl_error *err)
{
    *session = (struct pawl_link_session){.is_read_only = db->is_read_only};
    return pawl_link_open(&db->link, &db->base, &db->pq, db->target, session, err);
}

/* The connection, made anew if it was lost. Outside a transaction nothing is lost with it. */
static enum pawl_code have_link(struct postgres *db, struct pawl_error *err)
{
    if (pawl_link_is_alive(&db->link)) return PAWL_OK;
    struct pawl_link_session session;
    enum pawl_code code = open_link(db, &session, err);
    if (code == PAWL_IO) {
        code = PAWL_BUSY; /* nothing was committed, and the server may come back */
        if (err != NULL) err->code = code;
    }
    if (code == PAWL_OK) pawl_log_write(db->base.log, PAWL_LOG_INFO, "store.reconnected");
    return code;
}

/* ---- Statements and transactions ------------------------------------------------------------ */

/* Whether others may wait for what this statement changes: tasks that became ready or due, events,
 * queues. A renewal is none of them. */
static bool is_worth_ringing(enum pawl_statement statement)
{
    switch ((int)statement) {
    case PAWL_SQL_TASK_ADD:
    case PAWL_SQL_TASK_SAVE:
    case PAWL_SQL_EVENT_ADD:
    case PAWL_SQL_QUEUE_ADD:
    case PAWL_SQL_QUEUE_SAVE:
    case PAWL_SQL_CONTINUATION_ADD:
    case PAWL_SQL_TASK_MEND:
        return true;
    default:
        return false;
    }
}

static enum pawl_code postgres_ask(struct pawl_db *base, const struct pawl_db_ask *question,
                                   struct pawl_error *err)
{
    struct postgres *db = postgres_of(base);
    if (!db->is_begun && !db->is_asking) {
        enum pawl_code code = have_link(db, err);
        if (code != PAWL_OK) return told(db, code);
    }
    db->is_asking = true;
    if (is_worth_ringing(question->statement)) db->rings = true;
    return told(db, pawl_link_ask(&db->link, question, err));
}

static enum pawl_code postgres_cut(struct pawl_db *base, struct pawl_error *err)
{
    struct postgres *db = postgres_of(base);
    return told(db, pawl_link_cut(&db->link, err));
}

static enum pawl_code postgres_flush(struct pawl_db *base, struct pawl_error *err)
{
    struct postgres *db = postgres_of(base);
    db->is_asking = false;
    return told(db, pawl_link_flush(&db->link, err));
}

static void postgres_rollback(struct pawl_db *base)
{
    struct postgres *db = postgres_of(base);
    if (!db->is_begun) return;
    db->is_begun = false;
    db->is_asking = false;
    bool was_race = db->link.is_race;
    pawl_link_settle(&db->link);
    /* If it fails, so has the connection, and the server rolls back by itself. */
    if (!db->link.is_lost) pawl_link_hint(&db->link, PAWL_SQL_ROLLBACK);
    db->link.is_race = was_race;
}

static enum pawl_code postgres_begin(struct pawl_db *base, bool is_write, struct pawl_error *err)
{
    struct postgres *db = postgres_of(base);
    pawl_assert(!db->is_begun);
    pawl_assert(!is_write || !db->is_read_only);
    enum pawl_code code = have_link(db, err);
    if (code != PAWL_OK) return told(db, code);
    db->link.is_race = false;
    /* Goes out with the statements that follow. */
    code = ask(db, is_write ? PAWL_SQL_BEGIN_WRITE : PAWL_SQL_BEGIN_READ, NULL, 0, err);
    if (code != PAWL_OK) return told(db, code);
    db->is_begun = true;
    db->is_write = is_write;
    db->rings = false;
    return PAWL_OK;
}

/* now, backend pid */
struct clock {
    int64_t now_ms;
    int64_t backend_pid;
};

static enum pawl_code on_clock(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    *(struct clock *)self = (struct clock){pawl_db_int64(row, 0), pawl_db_int64(row, 1)};
    return PAWL_OK;
}

static enum pawl_code refuse_pooler(struct pawl_error *err)
{
    return pawl_error_set(
        err, PAWL_UNSUPPORTED,
        "a pooler gives each transaction another connection: connect to PostgreSQL "
        "itself or to a pooler in session mode");
}

static enum pawl_code postgres_clock(struct pawl_db *base, int64_t *now_ms, struct pawl_error *err)
{
    struct postgres *db = postgres_of(base);
    struct clock clock = {0};
    struct pawl_db_ask question = {.statement = PAWL_SQL_CLOCK, .on_row = on_clock, .self = &clock};
    enum pawl_code code = postgres_ask(base, &question, err);
    if (code == PAWL_OK) code = postgres_flush(base, err);
    if (code != PAWL_OK) return code;
    if (clock.backend_pid != db->link.backend_pid) return told(db, refuse_pooler(err));
    db->now_ms = clock.now_ms;
    *now_ms = clock.now_ms;
    return PAWL_OK;
}

/* ---- A commit and its lost answer ----------------------------------------------------------- */

/* On a new connection: the number of the last step that this handle committed, once the process
 * behind the old connection can commit nothing more. */
static enum pawl_code read_step(struct postgres *db, int64_t old_pid, int64_t old_start_us,
                                int64_t *out, struct pawl_error *err)
{
    struct pawl_value process[] = {pawl_int(old_pid), pawl_int(old_start_us)};
    struct pawl_value node[] = {pawl_int(db->node_key)};
    int64_t step = 0; /* no row: the first step did not come so far */
    enum pawl_code code = ask(db, PAWL_SQL_BACKEND_END, process, PAWL_COUNT_OF(process), err);
    if (code == PAWL_OK) code = pawl_link_flush(&db->link, err);
    if (code == PAWL_OK) code = ask(db, PAWL_SQL_BEGIN_WRITE, NULL, 0, err);
    if (code == PAWL_OK) code = ask(db, PAWL_SQL_HEAD_LOCK, NULL, 0, err);
    if (code == PAWL_OK) {
        code = ask_int64(db, PAWL_SQL_NODE_STEP, node, PAWL_COUNT_OF(node), &step, err);
    }
    if (code == PAWL_OK) code = pawl_link_flush(&db->link, err);
    if (code == PAWL_OK) code = ask(db, PAWL_SQL_ROLLBACK, NULL, 0, err);
    if (code == PAWL_OK) code = pawl_link_flush(&db->link, err);
    if (code == PAWL_OK) *out = step;
    return code;
}

/* The answer to COMMIT is lost. PAWL_OK: it was committed all the same. PAWL_BUSY: it was not. */
static enum pawl_code resolve(struct postgres *db, struct pawl_error *err)
{
    int64_t old_pid = db->link.backend_pid;
    int64_t old_start_us = db->link.backend_start_us;
    int64_t step = 0;
    struct pawl_error why = {0};
    int64_t end_ms = pawl_link_now_ms() + RESOLVE_MS_MAX;
    db->link.until_ms = end_ms;
    enum pawl_code code;
    for (;;) {
        struct pawl_link_session session;
        code = open_link(db, &session, &why);
        if (code == PAWL_OK) code = read_step(db, old_pid, old_start_us, &step, &why);
        if (code == PAWL_OK || pawl_link_now_ms() >= end_ms) break;
        (void)poll(NULL, 0, RESOLVE_PAUSE_MS);
    }
    if (code != PAWL_OK) {
        pawl_link_close(&db->link); /* the next begin makes another */
        return pawl_error_set(err, PAWL_UNKNOWN_OUTCOME, "the answer to a commit is lost: %s",
                              why.text);
    }
    bool is_committed = step == db->step;
    pawl_log_write(
        db->base.log, PAWL_LOG_WARN, "store.answer_lost",
        PAWL_TEXT("outcome", is_committed ? PAWL_STR("committed") : PAWL_STR("not committed")));
    if (is_committed) return PAWL_OK;
    db->link.is_race = true;
    return pawl_error_set(err, PAWL_BUSY, "lost PostgreSQL before the commit");
}

/* COMMIT goes out with all that is still to be written: a change that changes fewer rows than it
 * should fails on the server, which then skips the rest up to the Sync. What is refused so is known
 * not to be committed. Once a connection is lost with COMMIT on its way only the row of node can
 * tell. */
static enum pawl_code send_commit(struct postgres *db, struct pawl_error *err)
{
    enum pawl_code code = ask(db, PAWL_SQL_COMMIT, NULL, 0, err);
    enum pawl_code flushed = pawl_link_flush(&db->link, code == PAWL_OK ? err : NULL);
    if (code == PAWL_OK) code = flushed;
    if (code == PAWL_OK || !db->link.is_lost || !db->is_write) return code;
    db->is_begun = false;
    db->is_asking = false;
    int64_t until_ms = db->link.until_ms;
    code = resolve(db, err);
    db->link.until_ms = until_ms;
    return code;
}

static enum pawl_code postgres_commit(struct pawl_db *base, struct pawl_error *err)
{
    struct postgres *db = postgres_of(base);
    pawl_assert(db->is_begun);
    if (db->is_write) db->step++;
    struct pawl_value node[] = {pawl_int(db->node_key), pawl_int(db->step), pawl_int(db->now_ms)};
    enum pawl_code code = PAWL_OK;
    if (db->is_write) code = ask(db, PAWL_SQL_NODE_PUT, node, PAWL_COUNT_OF(node), err);
    if (code == PAWL_OK) code = send_commit(db, err);
    if (code != PAWL_OK) {
        postgres_rollback(base);
        return told(db, code);
    }
    db->is_begun = db->is_asking = false;
    if (db->is_write && db->rings) pawl_bell_ring(&db->bell, &db->link, base->knocks);
    return PAWL_OK;
}

/* ---- The bell ------------------------------------------------------------------------------- */

static int postgres_bell_fd(const struct pawl_db *base)
{
    const struct postgres *db = const_postgres_of(base);
    return db->is_read_only ? -1 : db->bell.watch_fd;
}

static bool postgres_bell_drain(struct pawl_db *base)
{
    struct postgres *db = postgres_of(base);
    return !db->is_read_only && pawl_bell_drain(&db->bell, db->link.backend_pid);
}

static uint64_t postgres_knocks(const struct pawl_db *base)
{
    return const_postgres_of(base)->bell.knocks;
}

static void postgres_patience(struct pawl_db *base, int64_t ms)
{
    struct postgres *db = postgres_of(base);
    if (ms < PAWL_LINK_PATIENCE_MS_MIN) ms = PAWL_LINK_PATIENCE_MS_MIN;
    db->link.until_ms = ms == INT64_MAX ? 0 : pawl_link_now_ms() + ms;
}

static struct pawl_str postgres_path(const struct pawl_db *base)
{
    (void)base;
    return (struct pawl_str){0};
}

/* ---- Opening -------------------------------------------------------------------------------- */

static void postgres_close(struct pawl_db *base)
{
    struct postgres *db = postgres_of(base);
    postgres_rollback(base);
    if (db->step > 0 && pawl_link_is_alive(&db->link)) {
        struct pawl_value node[] = {pawl_int(db->node_key)};
        /* Left behind, the row goes after a day. */
        if (ask(db, PAWL_SQL_NODE_REMOVE, node, PAWL_COUNT_OF(node), NULL) == PAWL_OK) {
            pawl_link_settle(&db->link);
        }
    }
    pawl_bell_close(&db->bell);
    pawl_link_close(&db->link);
    pawl_libpq_unload(&db->pq);
    free(db->target);
    free(db);
}

static enum pawl_code on_bytes(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    *(int64_t *)self = pawl_db_int64(row, 0);
    return PAWL_OK;
}

static enum pawl_code postgres_file(struct pawl_db *base, struct pawl_db_file *out,
                                    struct pawl_error *err)
{
    int64_t bytes = 0;
    enum pawl_code code = pawl_db_send(base, PAWL_SQL_SCHEMA_BYTES, NULL, 0, on_bytes, &bytes, err);
    if (code == PAWL_OK) code = pawl_db_flush(base, err);
    if (code == PAWL_OK) *out = (struct pawl_db_file){.bytes = bytes};
    return code;
}

static int64_t postgres_trips(const struct pawl_db *base)
{
    return const_postgres_of(base)->link.trip_count;
}

static const struct pawl_db_driver postgres_driver = {
    .is_postgres = true,
    .ask = postgres_ask,
    .cut = postgres_cut,
    .flush = postgres_flush,
    .begin = postgres_begin,
    .commit = postgres_commit,
    .rollback = postgres_rollback,
    .close = postgres_close,
    .row_int64 = row_int64,
    .row_double = row_double,
    .row_text = row_bytes,
    .row_blob = row_bytes,
    .row_is_null = row_is_null,
    .path = postgres_path,
    .clock = postgres_clock,
    .trips = postgres_trips,
    .file = postgres_file,
    .bell_fd = postgres_bell_fd,
    .bell_drain = postgres_bell_drain,
    .knocks = postgres_knocks,
    .patience = postgres_patience,
};

/* In the transaction of apply_schema, which has the turn: what the schema holds by now. */
static enum pawl_code find_version(struct postgres *db, int64_t *out, struct pawl_error *err)
{
    struct pawl_link_session session = {0};
    enum pawl_code code = pawl_link_find_schema(&db->link, &session, err);
    if (code != PAWL_OK) return code;
    int64_t version = 0;
    if (session.is_ours) {
        code = ask_int64(db, PAWL_SQL_META_GET, NULL, 0, &version, err);
        if (code == PAWL_OK) code = pawl_link_flush(&db->link, err);
        if (code == PAWL_OK && version < 1) {
            code = pawl_error_set(err, PAWL_CORRUPT,
                                  "the row of meta is missing or has no schema number");
        }
    } else if (!session.is_new) {
        code = pawl_error_set(err, PAWL_UNSUPPORTED,
                              "the schema holds something else: name another one "
                              "(?options=-csearch_path%%3DNAME)");
    }
    if (code == PAWL_OK && version > db->base.schema->count) {
        code = pawl_error_set(err, PAWL_UNSUPPORTED,
                              "the database has schema %" PRId64
                              ", and this version of Pawl knows up to %" PRId64,
                              version, db->base.schema->count);
    }
    if (code == PAWL_OK) *out = version;
    return code;
}

static enum pawl_code write_version(struct postgres *db, int64_t before,
                                    const struct pawl_db_birth *birth, struct pawl_error *err)
{
    struct pawl_value meta[] = {
        pawl_int(db->base.schema->count),
        pawl_text(birth->store_id),
        pawl_text(birth->boot_id),
        pawl_int(birth->clock_offset_ms),
    };
    if (before > 0) return pawl_db_change(&db->base, PAWL_SQL_META_VERSION, meta, 1, true, err);
    /* The server's clock, not ours: now never falls behind what is written here. */
    struct pawl_value head[] = {pawl_int(db->now_ms)};
    enum pawl_code code =
        pawl_db_change(&db->base, PAWL_SQL_META_ADD, meta, PAWL_COUNT_OF(meta), true, err);
    if (code != PAWL_OK) return code;
    return pawl_db_change(&db->base, PAWL_SQL_HEAD_ADD, head, PAWL_COUNT_OF(head), true, err);
}

/* Applies the schema files that are missing, in one transaction. Who waited for the turn may find
 * that another process has done so. */
static enum pawl_code apply_schema(struct postgres *db, const struct pawl_db_birth *birth,
                                   struct pawl_error *err)
{
    int64_t version = 0;
    int64_t now_ms = 0;
    enum pawl_code code = pawl_db_begin(&db->base, true, err);
    if (code != PAWL_OK) return code;
    code = ask(db, PAWL_SQL_SCHEMA_TURN, NULL, 0, err);
    if (code == PAWL_OK) code = ask(db, PAWL_SQL_SCHEMA_MAKE, NULL, 0, err);
    if (code == PAWL_OK) code = postgres_clock(&db->base, &now_ms, err);
    if (code == PAWL_OK) code = find_version(db, &version, err);
    const struct pawl_schema *schema = db->base.schema;
    bool is_missing = code == PAWL_OK && version < schema->count;
    for (int64_t i = version; is_missing && code == PAWL_OK && i < schema->count; i++) {
        code = pawl_link_run_text(&db->link, schema->postgres[i], err);
    }
    if (is_missing && code == PAWL_OK) code = write_version(db, version, birth, err);
    if (is_missing && code == PAWL_OK) code = pawl_db_commit(&db->base, err);
    pawl_db_rollback(&db->base);
    return code;
}

/* With a pooler in between, the process that answers is not the one we were told of. In session
 * mode that is all; in transaction mode a second connection most likely gets the process that is
 * idle: ours. */
static enum pawl_code check_pooler(struct postgres *db, struct pawl_error *err)
{
    if (db->pq.backendPID(db->link.conn) == db->link.backend_pid) return PAWL_OK;
    struct pawl_link second = {0};
    struct pawl_link_session session = {.is_read_only = db->is_read_only};
    enum pawl_code code = pawl_link_open(&second, &db->base, &db->pq, db->target, &session, err);
    if (code == PAWL_OK && second.backend_pid == db->link.backend_pid) code = refuse_pooler(err);
    pawl_link_close(&second);
    return code;
}

/* From a connection to a store that is ready for begin. */
static enum pawl_code settle(struct postgres *db, const struct pawl_db_options *options,
                             struct pawl_error *err)
{
    struct pawl_link_session session;
    enum pawl_code code = open_link(db, &session, err);
    if (code == PAWL_OK) code = check_pooler(db, err);
    if (code != PAWL_OK) return code;
    db->node_key = session.node_key;
    if (session.is_new && (options->must_exist || options->read_only)) {
        return pawl_error_set(err, PAWL_NOT_FOUND, "there is no store in this database yet");
    }
    int64_t version = 0;
    if (!session.is_new) code = find_version(db, &version, err);
    if (code != PAWL_OK || version == db->base.schema->count) return code;
    if (options->read_only) {
        return pawl_error_set(
            err, PAWL_UNSUPPORTED,
            "the database has schema %" PRId64 " and must be opened for writing once", version);
    }
    return apply_schema(db, &options->birth, err);
}

static enum pawl_code prepare_to_write(struct postgres *db, struct pawl_error *err)
{
    if (db->is_read_only) return PAWL_OK;
    enum pawl_code code = ask(db, PAWL_SQL_NODE_REMOVE_OLD, NULL, 0, err);
    if (code == PAWL_OK) code = pawl_link_flush(&db->link, err);
    if (code == PAWL_OK) code = pawl_bell_open(&db->bell, &db->base, &db->pq, db->target, err);
    return code;
}

enum pawl_code pawl_postgres_open(struct pawl_db **out, const struct pawl_db_options *options,
                                  struct pawl_error *err)
{
    struct pawl_str target = options->target;
    if (memchr(target.ptr, '\0', target.len) != NULL) {
        return pawl_error_set(err, PAWL_INVALID, "a URI has no zero bytes");
    }
    struct postgres *db = calloc(1, sizeof *db);
    char *copy = malloc(target.len + 1);
    if (db == NULL || copy == NULL) {
        free(db);
        free(copy);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory to open a store");
    }
    memcpy(copy, target.ptr, target.len);
    copy[target.len] = '\0';
    db->base = (struct pawl_db){
        .driver = &postgres_driver,
        .schema = options->schema != NULL ? options->schema : &pawl_schema,
        .hook = options->hook,
        .log = options->log,
    };
    db->target = copy;
    db->is_read_only = options->read_only;

    enum pawl_code code = pawl_libpq_load(&db->pq, err);
    if (code == PAWL_OK) code = settle(db, options, err);
    if (code == PAWL_OK) code = prepare_to_write(db, err);
    if (code != PAWL_OK) {
        postgres_close(&db->base);
        return code;
    }
    *out = &db->base;
    return PAWL_OK;
}
