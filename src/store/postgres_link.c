/* Pipelines over libpq. All that is sent since the last flush is one round trip: libpq gathers it,
 * the flush adds a Sync, and the answers come back in the order of the asking. After a failure the
 * server skips everything up to the Sync, so of a pipeline only the first failure is told.
 *
 * libpq is used without blocking: while we still write, the server may already answer, and whoever
 * does not read then waits for ever once both sides' buffers are full.
 *
 * Values go as binary (postgres_bundle.h): int8, float8, text, bytea, by their numbers in PREPARE,
 * so that the server takes none of them for something else. A NULL at the first use leaves its type
 * to the server, which finds it in the column it is for; the tests compare. */
#include "store/postgres_link.h"

#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/number.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PREPARED_NOT = 0, PREPARED_SENT, PREPARED_DONE };

enum {
    SERVER_VERSION_MIN = 150000,

    /* What comes unasked is little; a server that floods us is not listened to for ever. */
    READS_MAX = 64,

    NAME_BYTES_MAX = 63, /* as long as a prepared statement's may be */
};

enum op_kind { OP_PREPARE, OP_ASK, OP_SYNC };

struct pawl_link_op {
    enum op_kind kind;
    enum pawl_statement statement;
    bool is_many; /* rows say in their last column whose they are, from 1 */
    bool expects_one;
    bool is_hint; /* nobody waits for what becomes of it */
    size_t count; /* of asks, whose askers follow each other */
    size_t first_asker;
};

struct pawl_link_asker {
    pawl_on_row *on_row;
    void *self;
};

/* ---- What went wrong ------------------------------------------------------------------------ */

/* SQLSTATE to code, by the longest prefix that is listed first. Appendix A of PostgreSQL's manual.
 */
struct fault {
    const char *state;
    enum pawl_code code;
    bool is_race; /* the transaction met another one's work: run it again */
    bool is_lost; /* this connection will not do: open another */
};

static const struct fault faults[] = {
    {"40", PAWL_BUSY, true, false},     /* serialization failure, deadlock */
    {"23505", PAWL_BUSY, true, false},  /* unique violation: save refuses what load could see */
    {"22012", PAWL_BUSY, true, false},  /* the division of a counted change: see counted_text */
    {"55P03", PAWL_BUSY, false, false}, /* lock_timeout */
    {"57014", PAWL_BUSY, false, false}, /* statement_timeout, or somebody cancelled it */
    {"57P", PAWL_BUSY, true, true},     /* shutdown, crash of a sister process, start */
    {"08", PAWL_BUSY, true, true},
    {"25P03", PAWL_BUSY, true, true}, /* idle in transaction for too long: we were frozen */
    {"25006", PAWL_BUSY, true, true}, /* the server became a standby */
    {"53200", PAWL_NO_MEMORY, false, false},
    {"53300", PAWL_BUSY, false, true},     /* too many connections */
    {"22021", PAWL_INVALID, false, false}, /* a zero byte in text */
    {"22P05", PAWL_INVALID, false, false},
    {"54", PAWL_TOO_LARGE, false, false},
    {"XX001", PAWL_CORRUPT, false, false},
    {"XX002", PAWL_CORRUPT, false, false},
    {"26000", PAWL_UNSUPPORTED, false, false}, /* a prepared statement has vanished */
    {"42P05", PAWL_UNSUPPORTED, false, false}, /* or was there before */
    {"", PAWL_IO, false, false}, /* all else: disk full (53100), no right (42501) ... */
};

static const struct fault *fault_of(const char *state)
{
    const struct fault *fault = faults;
    while (strncmp(state, fault->state, strlen(fault->state)) != 0) fault++;
    return fault;
}

/* libpq's texts have newlines at their end and inside; a sentence has none. */
static struct pawl_str first_lines(const char *text, char *into, size_t room)
{
    size_t len = 0;
    for (; *text != '\0' && len + 1 < room; text++) {
        bool is_blank = *text == '\n' || *text == '\t' || *text == ' ';
        if (is_blank && (len == 0 || into[len - 1] == ' ')) continue;
        into[len++] = is_blank ? ' ' : *text;
    }
    return pawl_str_trim((struct pawl_str){into, len});
}

enum pawl_code pawl_link_lost(struct pawl_link *link, struct pawl_error *err)
{
    char text[PAWL_ERROR_TEXT_BYTES_MAX];
    const char *said = link->conn != NULL ? link->pq->errorMessage(link->conn) : "";
    struct pawl_str why = first_lines(said, text, sizeof text);
    if (why.len == 0) why = PAWL_STR("no answer");
    return pawl_error_set(err, PAWL_BUSY, "lost PostgreSQL: %.*s", PAWL_STR_ARG(why));
}

/* Nothing is awaited and nothing is to be sent. */
static void forget_all(struct pawl_link *link)
{
    link->op_first = link->op_count = link->asker_count = 0;
    pawl_bundle_reset(&link->bundle);
}

/* The connection is gone, and with it all that was awaited. The first failure keeps its sentence.
 */
static void lose(struct pawl_link *link, struct pawl_error *err)
{
    if (link->code == PAWL_OK) {
        link->code = pawl_link_lost(link, err);
        link->is_race = true;
    }
    link->is_lost = true;
    forget_all(link);
}

static const struct fault *note_fault(struct pawl_link *link, const PGresult *result)
{
    const char *state = link->pq->resultErrorField(result, PG_DIAG_SQLSTATE);
    const struct fault *fault =
        fault_of(state != NULL ? state : "08000" /* libpq's own: it broke */);
    if (fault->is_lost) link->is_lost = true;
    return fault;
}

static enum pawl_code tell_fault(struct pawl_link *link, const char *name, const PGresult *result,
                                 struct pawl_error *err)
{
    const struct fault *fault = note_fault(link, result);
    const char *state = link->pq->resultErrorField(result, PG_DIAG_SQLSTATE);
    const char *said = link->pq->resultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (state == NULL) state = "lost";
    if (said == NULL) said = "no answer";
    if (strcmp(state, "22012") == 0) said = "the row has changed since it was read";
    link->is_race = fault->is_race;
    if (fault->code == PAWL_UNSUPPORTED) {
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "the session changes between transactions (%s): connect to "
                              "PostgreSQL itself or to a pooler in session mode",
                              said);
    }
    return pawl_error_set(err, fault->code, "PostgreSQL, %s: %s (%s)", name, said, state);
}

/* ---- Answers -------------------------------------------------------------------------------- */

int64_t pawl_link_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* How long the server may be silent now. */
static int silence_ms(const struct pawl_link *link)
{
    if (link->until_ms == 0) return PAWL_LINK_SILENCE_MS_MAX;
    int64_t left_ms = link->until_ms - pawl_link_now_ms();
    if (left_ms <= 0) return 0;
    return left_ms < PAWL_LINK_SILENCE_MS_MAX ? (int)left_ms : PAWL_LINK_SILENCE_MS_MAX;
}

/* Waits until the next answer can be had without waiting; false when the connection is lost. */
static bool wait_for_answer(struct pawl_link *link)
{
    while (link->pq->isBusy(link->conn)) {
        int unsent = link->pq->flush(link->conn);
        if (unsent < 0) return false;
        struct pollfd fd = {
            .fd = link->pq->socket(link->conn),
            .events = (short)(POLLIN | (unsent != 0 ? POLLOUT : 0)),
        };
        int count = poll(&fd, 1, silence_ms(link));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        bool is_readable = (fd.revents & ~POLLOUT) != 0;
        if (is_readable && !link->pq->consumeInput(link->conn)) return false;
    }
    return true;
}

static void take_rows(struct pawl_link *link, const struct pawl_link_op *op, PGresult *result,
                      struct pawl_error *err)
{
    int count = link->pq->ntuples(result);
    int32_t column = link->pq->nfields(result) - 1;
    struct pawl_db_row row = {.db = link->db, .of = result};
    for (int i = 0; i < count && link->code == PAWL_OK; i++) {
        row.number = i;
        size_t number = op->is_many ? (size_t)pawl_db_int64(&row, column) : 1;
        pawl_assert(number >= 1 && number <= op->count);
        const struct pawl_link_asker *asker = &link->askers[op->first_asker + number - 1];
        if (asker->on_row != NULL) link->code = asker->on_row(asker->self, &row, err);
    }
}

static void check_done(struct pawl_link *link, const struct pawl_link_op *op, PGresult *result,
                       struct pawl_error *err)
{
    if (link->code != PAWL_OK) return;
    /* A COMMIT of a transaction that has failed is answered with ROLLBACK, and is no error. */
    if (op->statement == PAWL_SQL_COMMIT && strcmp(link->pq->cmdStatus(result), "COMMIT") != 0) {
        link->code = pawl_error_set(err, PAWL_IO, "PostgreSQL, %s: the transaction had failed",
                                    pawl_sql_name[op->statement]);
    }
}

static void take_answer(struct pawl_link *link, const struct pawl_link_op *op, PGresult *result,
                        struct pawl_error *err)
{
    ExecStatusType status = link->pq->resultStatus(result);
    bool is_done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    switch (op->kind) {
    case OP_PREPARE:
        link->prepared[op->expects_one][op->is_many][op->statement] =
            is_done ? PREPARED_DONE : PREPARED_NOT;
        break;
    case OP_ASK:
        if (status == PGRES_TUPLES_OK) take_rows(link, op, result, err);
        if (is_done) check_done(link, op, result, err);
        break;
    case OP_SYNC:
        is_done = status == PGRES_PIPELINE_SYNC;
        break;
    }
    if (is_done) return;
    bool is_told = op->is_hint || link->code != PAWL_OK;
    /* What follows a failure is skipped by the server, and says nothing new. */
    if (status == PGRES_PIPELINE_ABORTED && is_told) return;
    if (is_told) {
        (void)note_fault(link, result);
    } else {
        link->code = tell_fault(link, pawl_sql_name[op->statement], result, err);
    }
}

/* Takes answers in order, all that are awaited or, without waiting, those that are there. */
static void collect(struct pawl_link *link, bool waits, struct pawl_error *err)
{
    while (link->op_first < link->op_count) {
        if (waits ? !wait_for_answer(link) : link->pq->isBusy(link->conn) != 0) {
            if (waits) lose(link, err);
            return;
        }
        const struct pawl_link_op op = link->ops[link->op_first];
        PGresult *result = link->pq->getResult(link->conn);
        if (result == NULL) { /* lost, or out of step with the server, which is no better */
            lose(link, err);
            return;
        }
        take_answer(link, &op, result, err);
        link->pq->clear(result);
        /* After each answer but a Sync's comes a NULL, at once. */
        while (op.kind != OP_SYNC && (result = link->pq->getResult(link->conn)) != NULL) {
            link->pq->clear(result);
        }
        if (link->is_lost) {
            lose(link, err);
            return;
        }
        link->op_first++;
    }
    forget_all(link);
}

/* ---- Questions ------------------------------------------------------------------------------ */

/* Room for so many more; before anything is sent, so that what is awaited is always known. */
static enum pawl_code reserve_ops(struct pawl_link *link, size_t count, struct pawl_error *err)
{
    if (link->op_count + count <= link->op_room) return PAWL_OK;
    size_t room = link->op_room != 0 ? 2 * link->op_room : 256;
    struct pawl_link_op *ops = realloc(link->ops, room * sizeof *ops);
    if (ops == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a statement");
    link->ops = ops;
    link->op_room = room;
    return PAWL_OK;
}

static void await(struct pawl_link *link, struct pawl_link_op op)
{
    link->ops[link->op_count++] = op;
}

static enum pawl_code reserve_asker(struct pawl_link *link, struct pawl_error *err)
{
    if (link->asker_count < link->asker_room) return PAWL_OK;
    size_t room = link->asker_room != 0 ? 2 * link->asker_room : 256;
    struct pawl_link_asker *askers = realloc(link->askers, room * sizeof *askers);
    if (askers == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a statement");
    link->askers = askers;
    link->asker_room = room;
    return PAWL_OK;
}

/* The same change, which fails unless it changes as many rows as it was asked for. So it is the
 * server that stops there, and a COMMIT can go out behind it, unseen. of: the parameter that holds
 * the number. On the heap; NULL without memory. */
static char *counted_text(const char *text, int of)
{
    static const char form[] = "WITH changed AS (%s\nRETURNING 1)\n"
                               "SELECT 1 / (count(*) = $%d::bigint)::int FROM changed";
    size_t room = strlen(text) + sizeof form + NAME_BYTES_MAX;
    char *counted = malloc(room);
    if (counted != NULL) (void)snprintf(counted, room, form, text, of);
    return counted;
}

static bool prepare(struct pawl_link *link, const char *name, const struct pawl_link_op *op,
                    int width, const uint32_t *types)
{
    const char *text =
        op->is_many ? pawl_sql_many[op->statement] : pawl_sql_postgres[op->statement];
    char *counted = op->expects_one ? counted_text(text, width) : NULL;
    bool is_sent = !op->expects_one || counted != NULL;
    if (counted != NULL) text = counted;
    is_sent = is_sent && link->pq->sendPrepare(link->conn, name, text, width, types) != 0;
    free(counted);
    return is_sent;
}

/* Sends the bundle, if there is one. */
static enum pawl_code send_bundle(struct pawl_link *link, struct pawl_error *err)
{
    if (link->bundle.count == 0) return PAWL_OK;
    enum pawl_code code = reserve_ops(link, 3, err); /* and the Sync of the flush */
    if (code != PAWL_OK) return code;

    enum pawl_statement statement = link->bundle_statement;
    bool is_many = link->bundle.count > 1;
    struct pawl_bundle_parameters p;
    if (is_many) {
        pawl_bundle_many(&link->bundle, &p);
    } else {
        pawl_bundle_one(&link->bundle, &p);
    }
    int width = (int)link->bundle.width;
    uint64_t count = htobe64((uint64_t)link->bundle.count);
    if (link->bundle_expects_one) {
        pawl_bundle_append(&p, width++, (const char *)&count, (int)sizeof count);
    }
    struct pawl_link_op op = {
        .statement = statement,
        .is_many = is_many,
        .is_hint = link->bundle_is_hint,
        .expects_one = link->bundle_expects_one,
        .count = (size_t)link->bundle.count,
        .first_asker = link->asker_count - (size_t)link->bundle.count,
    };
    char name[NAME_BYTES_MAX + 1];
    (void)snprintf(name, sizeof name, "%s%s%s", pawl_sql_name[statement], is_many ? " many" : "",
                   op.expects_one ? " counted" : "");
    bool is_sent = true;
    unsigned char *prepared = &link->prepared[op.expects_one][is_many][statement];
    if (*prepared == PREPARED_NOT) {
        is_sent = prepare(link, name, &op, width, p.types);
        if (is_sent) {
            *prepared = PREPARED_SENT;
            op.kind = OP_PREPARE;
            await(link, op);
        }
    }
    is_sent = is_sent && link->pq->sendQueryPrepared(link->conn, name, width, p.values, p.lengths,
                                                     p.formats, 1 /* binary rows */) != 0;
    pawl_bundle_reset(&link->bundle);
    if (!is_sent) {
        lose(link, err);
        return link->code;
    }
    op.kind = OP_ASK;
    await(link, op);
    return PAWL_OK;
}

/* Whether an ask may go with those of the bundle. */
static bool fits(const struct pawl_link *link, const struct pawl_db_ask *ask)
{
    return link->bundle_statement == ask->statement && pawl_sql_many[ask->statement] != NULL &&
           link->bundle_expects_one == ask->expects_one &&
           link->bundle.count < PAWL_BUNDLE_ASKS_MAX && link->bundle.bytes < PAWL_BUNDLE_BYTES_MAX;
}

static enum pawl_code add_to_bundle(struct pawl_link *link, const struct pawl_db_ask *ask,
                                    bool is_hint, struct pawl_error *err)
{
    if (link->conn == NULL || link->is_lost) {
        link->is_race = true;
        return pawl_link_lost(link, err);
    }
    enum pawl_code code = fits(link, ask) ? PAWL_OK : send_bundle(link, err);
    if (code == PAWL_OK) code = reserve_asker(link, err);
    if (code == PAWL_OK) code = pawl_bundle_add(&link->bundle, ask->values, ask->count, err);
    if (code != PAWL_OK) return code;
    link->askers[link->asker_count++] = (struct pawl_link_asker){ask->on_row, ask->self};
    link->bundle_statement = ask->statement;
    link->bundle_expects_one = ask->expects_one;
    link->bundle_is_hint = is_hint;
    return pawl_sql_many[ask->statement] == NULL ? send_bundle(link, err) : PAWL_OK;
}

enum pawl_code pawl_link_ask(struct pawl_link *link, const struct pawl_db_ask *ask,
                             struct pawl_error *err)
{
    return add_to_bundle(link, ask, false, err);
}

enum pawl_code pawl_link_cut(struct pawl_link *link, struct pawl_error *err)
{
    return send_bundle(link, err);
}

/* Ends the pipeline, so that the server answers it. */
static bool send_sync(struct pawl_link *link)
{
    if (!link->pq->pipelineSync(link->conn)) return false;
    await(link, (struct pawl_link_op){.kind = OP_SYNC});
    return true;
}

static enum pawl_code take_all(struct pawl_link *link, struct pawl_error *err)
{
    enum pawl_code sent = send_bundle(link, err);
    if (link->code == PAWL_OK) link->code = sent;
    if (link->op_count != 0) {
        link->trip_count++;
        if (send_sync(link)) {
            collect(link, true, err);
        } else {
            lose(link, err);
        }
    }
    enum pawl_code code = link->code;
    link->code = PAWL_OK;
    return code;
}

enum pawl_code pawl_link_flush(struct pawl_link *link, struct pawl_error *err)
{
    return take_all(link, err);
}

void pawl_link_settle(struct pawl_link *link)
{
    /* Whoever asked may be gone: after a failure no rows are delivered. */
    if (link->code == PAWL_OK) link->code = PAWL_BUSY;
    pawl_bundle_reset(&link->bundle); /* nor is it worth to be sent */
    (void)take_all(link, NULL);       /* nobody asks */
}

void pawl_link_hint(struct pawl_link *link, enum pawl_statement statement)
{
    struct pawl_db_ask ask = {.statement = statement};
    if (add_to_bundle(link, &ask, true, NULL) != PAWL_OK) return;
    if (!send_sync(link)) lose(link, NULL);
}

bool pawl_link_is_alive(struct pawl_link *link)
{
    if (link->conn == NULL || link->is_lost) return false;
    (void)link->pq->flush(link->conn); /* a failure shows when it is read from */
    struct pollfd fd = {.fd = link->pq->socket(link->conn), .events = POLLIN};
    for (int32_t i = 0; i < READS_MAX && !link->is_lost && poll(&fd, 1, 0) > 0; i++) {
        if (!link->pq->consumeInput(link->conn)) link->is_lost = true;
    }
    if (!link->is_lost) collect(link, false, NULL);
    link->code = PAWL_OK; /* a hint's, or that of the loss, which is_lost tells */
    if (!link->is_lost) (void)link->pq->isBusy(link->conn); /* looks at the rest: see on_notice */
    return !link->is_lost;
}

enum pawl_code pawl_link_run_text(struct pawl_link *link, const char *text, struct pawl_error *err)
{
    pawl_assert(link->op_count == 0);
    /* A pipeline takes one statement at a time; a file has many. */
    if (!link->pq->exitPipelineMode(link->conn)) return pawl_link_lost(link, err);
    PGresult *result = link->pq->exec(link->conn, text);
    ExecStatusType status = link->pq->resultStatus(result);
    enum pawl_code code = PAWL_OK;
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        code = tell_fault(link, "schema", result, err);
    }
    link->pq->clear(result);
    if (!link->pq->enterPipelineMode(link->conn)) link->is_lost = true;
    return code;
}

/* ---- Opening -------------------------------------------------------------------------------- */

/* What the server remarks; libpq would print it. Its farewell comes this way while nothing is
 * asked. */
static void on_notice(void *self, const PGresult *result)
{
    struct pawl_link *link = self;
    const char *severity = link->pq->resultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == NULL) return;
    if (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0) link->is_lost = true;
}

static enum pawl_code connect_to(struct pawl_link *link, const char *target, bool is_read_only,
                                 struct pawl_error *err)
{
    /* What stands before dbname, the URI may set otherwise; what stands behind it, not. A server
     * that has vanished without a word is noticed by the kernel after some 15 s. */
    const char *const words[] = {
        "connect_timeout",
        "5",
        "keepalives_idle",
        "5",
        "keepalives_interval",
        "5",
        "keepalives_count",
        "2",
        "tcp_user_timeout",
        "15000",
        "target_session_attrs",
        is_read_only ? "any" : "read-write",
        "fallback_application_name",
        "pawl",
        "dbname",
        target,
        "client_encoding",
        "UTF8",
    };
    const char *keys[PAWL_COUNT_OF(words) / 2 + 1] = {0};
    const char *values[PAWL_COUNT_OF(words) / 2 + 1] = {0};
    for (size_t i = 0; i < PAWL_COUNT_OF(words) / 2; i++) {
        keys[i] = words[2 * i];
        values[i] = words[2 * i + 1];
    }

    link->conn = link->pq->connectdbParams(keys, values, 1 /* dbname may be a URI */);
    if (link->conn == NULL)
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for a connection");
    if (link->pq->status(link->conn) != CONNECTION_OK) {
        char text[PAWL_ERROR_TEXT_BYTES_MAX];
        struct pawl_str why = first_lines(link->pq->errorMessage(link->conn), text, sizeof text);
        return pawl_error_set(err, PAWL_IO, "PostgreSQL cannot be reached: %.*s",
                              PAWL_STR_ARG(why));
    }
    int version = link->pq->serverVersion(link->conn);
    if (version < SERVER_VERSION_MIN) {
        return pawl_error_set(err, PAWL_UNSUPPORTED,
                              "PostgreSQL %d is too old: 15 or later is needed", version / 10000);
    }
    (void)link->pq->setNoticeReceiver(link->conn, on_notice, link);
    if (link->pq->setnonblocking(link->conn, 1) != 0 || !link->pq->enterPipelineMode(link->conn)) {
        return pawl_error_set(err, PAWL_IO, "PostgreSQL: no pipeline mode");
    }
    return PAWL_OK;
}

struct found {
    struct pawl_link *link;
    struct pawl_link_session *session;
};

/* backend pid, backend start in microseconds, encoding, random number */
static enum pawl_code on_session(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    struct found *found = self;
    found->link->backend_pid = pawl_db_int64(row, 0);
    found->link->backend_start_us = pawl_db_int64(row, 1);
    struct pawl_str encoding = pawl_db_text(row, 2);
    if (!pawl_str_equal(encoding, PAWL_STR("UTF8"))) {
        return pawl_error_set(err, PAWL_UNSUPPORTED, "the database is in %.*s: UTF8 is needed",
                              PAWL_STR_ARG(encoding));
    }
    found->session->node_key = pawl_db_int64(row, 3);
    return PAWL_OK;
}

/* has anything, has our tables */
static enum pawl_code on_schema(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct pawl_link_session *session = self;
    session->is_new = pawl_db_int64(row, 0) == 0;
    session->is_ours = pawl_db_int64(row, 1) != 0;
    return PAWL_OK;
}

static enum pawl_code ask_schema(struct pawl_link *link, struct pawl_link_session *session,
                                 struct pawl_error *err)
{
    struct pawl_db_ask find = {
        .statement = PAWL_SQL_SCHEMA_FIND, .on_row = on_schema, .self = session};
    return pawl_link_ask(link, &find, err);
}

enum pawl_code pawl_link_find_schema(struct pawl_link *link, struct pawl_link_session *session,
                                     struct pawl_error *err)
{
    enum pawl_code code = ask_schema(link, session, err);
    return code == PAWL_OK ? pawl_link_flush(link, err) : code;
}

static enum pawl_code start_session(struct pawl_link *link, struct pawl_link_session *session,
                                    struct pawl_error *err)
{
    struct found found = {link, session};
    struct pawl_value values[] = {
        pawl_text(session->is_read_only ? PAWL_STR("on") : PAWL_STR("off"))};
    struct pawl_db_ask set = {
        .statement = PAWL_SQL_SESSION_SET,
        .values = values,
        .count = PAWL_COUNT_OF(values),
        .on_row = on_session,
        .self = &found,
    };
    enum pawl_code code = pawl_link_ask(link, &set, err);
    if (code == PAWL_OK) code = ask_schema(link, session, err);
    if (code == PAWL_OK) code = pawl_link_flush(link, err);
    return code;
}

enum pawl_code pawl_link_open(struct pawl_link *link, struct pawl_db *db,
                              const struct pawl_libpq *pq, const char *target,
                              struct pawl_link_session *session, struct pawl_error *err)
{
    pawl_link_close(link);
    link->db = db;
    link->pq = pq;
    enum pawl_code code = connect_to(link, target, session->is_read_only, err);
    if (code == PAWL_OK) code = start_session(link, session, err);
    if (code != PAWL_OK) {
        bool is_race = link->is_race;
        pawl_link_close(link);
        link->is_race = is_race;
    }
    return code;
}

void pawl_link_close(struct pawl_link *link)
{
    if (link->conn != NULL) link->pq->finish(link->conn);
    free(link->ops);
    free(link->askers);
    pawl_bundle_free(&link->bundle);
    *link = (struct pawl_link){.trip_count = link->trip_count, .until_ms = link->until_ms};
}
