/* One connection to PostgreSQL. Statements go out in pipelines, and their rows come in by callback;
 * each is prepared when it is first sent. Asks of one statement that follow each other go as one,
 * if it has a text for many. What has gone wrong is told in our codes. Knows nothing of steps.
 *
 *   threads  one at a time
 *   waits    never for ever: a server that is silent for PAWL_LINK_SILENCE_MS_MAX is given up, and sooner where
 *            until_ms says so */
#ifndef PAWL_STORE_POSTGRES_LINK_H
#define PAWL_STORE_POSTGRES_LINK_H

#include "store/db.h"
#include "store/libpq.h"
#include "store/postgres_bundle.h"

enum {
    /* No statement takes so long: lock_timeout (5 s) and statement_timeout (20 s) end it before. */
    PAWL_LINK_SILENCE_MS_MAX = 30 * 1000,

    /* Whoever has less patience is waited for so long all the same: a server that lives answers within it, and to
     * give a connection up costs another one. */
    PAWL_LINK_PATIENCE_MS_MIN = 1000,
};

struct pawl_link_op;    /* something sent whose answer is awaited */
struct pawl_link_asker; /* who gets the rows of one ask */

struct pawl_link {
    const struct pawl_libpq *pq; /* borrowed; NULL = never opened */
    struct pawl_db *db;          /* borrowed: whose rows these are */
    PGconn *conn;                /* owned; NULL = not connected */
    bool is_lost;                /* the connection is of no more use */
    bool is_race;                /* the last failure: nothing is wrong, run the transaction again */
    int64_t backend_pid;         /* of the server's process, as it says itself */
    int64_t backend_start_us;    /* tells a process from a later one with its number */
    struct pawl_link_op *ops;    /* owned ring of one lap: ops_first to op_count - 1 are awaited */
    size_t op_first;
    size_t op_count;
    size_t op_room;
    struct pawl_link_asker *askers; /* owned; of all that is awaited, then of the bundle */
    size_t asker_count;
    size_t asker_room;
    struct pawl_bundle bundle; /* what is not sent yet */
    enum pawl_statement bundle_statement;
    bool bundle_expects_one;
    bool bundle_is_hint;
    enum pawl_code code; /* the first failure since the last flush */
    int64_t trip_count;  /* round trips that somebody has waited for, ever */
    int64_t until_ms;    /* of the monotonic clock: answers are not waited for beyond it; 0 = no such bound */
    unsigned char prepared[2][2][PAWL_SQL_COUNT]; /* [counted][many]; enum in the .c file */
};

/* What a connection finds at its start. */
struct pawl_link_session {
    bool is_read_only; /* asked for: no statement may write */
    bool is_new;       /* found: the schema does not exist, or holds nothing */
    bool is_ours;      /* found: it holds a store (if neither: something else) */
    int64_t node_key;  /* found: a number at random, from the server */
};

/* Connects, sets the session up (SESSION_SET) and looks at the schema. A link may be opened again
 * after it was closed or lost. target is a URI, NUL-terminated; db and pq are borrowed until close.
 *
 *   fails  PAWL_IO           no server, no such database, no right to it
 *          PAWL_UNSUPPORTED  PostgreSQL older than 15, or a database that is not in UTF-8
 *          PAWL_NO_MEMORY */
enum pawl_code pawl_link_open(struct pawl_link *link, struct pawl_db *db,
                              const struct pawl_libpq *pq, const char *target,
                              struct pawl_link_session *session,
                              struct pawl_error *err) PAWL_MUST_USE;
void pawl_link_close(struct pawl_link *link); /* takes one that was never opened */

/* Looks at the schema again: is_new and is_ours. */
enum pawl_code pawl_link_find_schema(struct pawl_link *link, struct pawl_link_session *session,
                                     struct pawl_error *err) PAWL_MUST_USE;

/* Whether the server is still there, as far as that shows without asking it; takes the answers to
 * hints and the notifications that have come. Only while nothing but hints is awaited. */
bool pawl_link_is_alive(struct pawl_link *link);

/* As pawl_db_ask. */
enum pawl_code pawl_link_ask(struct pawl_link *link, const struct pawl_db_ask *ask,
                             struct pawl_error *err) PAWL_MUST_USE;

/* As pawl_db_cut. */
enum pawl_code pawl_link_cut(struct pawl_link *link, struct pawl_error *err) PAWL_MUST_USE;

/* As pawl_db_flush. is_lost tells whether the connection was lost over it, is_race whether the same
 * transaction may well succeed when it is run again. */
enum pawl_code pawl_link_flush(struct pawl_link *link, struct pawl_error *err) PAWL_MUST_USE;

/* Takes all answers that are awaited, whatever they say; no row is delivered. */
void pawl_link_settle(struct pawl_link *link);

/* Sends a statement whose fate nobody waits for; the answer is taken when it is there. */
void pawl_link_hint(struct pawl_link *link, enum pawl_statement statement);

/* Runs the text of a file: many statements, no values. Nothing may be awaited.
 *
 *   fails  as a statement does; inside a transaction that one has failed then */
enum pawl_code pawl_link_run_text(struct pawl_link *link, const char *text,
                                  struct pawl_error *err) PAWL_MUST_USE;

/* The clock of until_ms. */
int64_t pawl_link_now_ms(void);

/* Fills *err for a connection that is lost, with PAWL_BUSY and what libpq says. */
enum pawl_code pawl_link_lost(struct pawl_link *link, struct pawl_error *err);

#endif
