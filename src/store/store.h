/* The store: what must be kept, on SQLite or PostgreSQL. A step begins a transaction, loads what its set
 * wants, saves what its set has changed, and commits. One writer: the engine's thread (or whoever drives the
 * handle). Errors of the database are turned into codes here; no row is half written whatever happens.
 *
 * The order of one transaction: begin (takes the write lock, reads meta and head, then the clock), any
 * number of load and save, commit (inserts the events with their positions, writes head, commits). */
#ifndef PAWL_STORE_STORE_H
#define PAWL_STORE_STORE_H

#include "base/log.h"
#include "core/step.h"

struct pawl_store;
struct pawl_schema;

struct pawl_store_options {
    struct pawl_str target;     /* path of a SQLite file or postgres:// URI */
    bool must_exist;
    const struct pawl_env *env; /* borrowed until close */
    const struct pawl_log *log; /* borrowed until close; may be NULL */
    const char *vfs;            /* SQLite: name of the VFS, for tests; NULL = the default */
    const struct pawl_schema *schema; /* for tests; NULL = ours */
    bool keeps_no_old;          /* SQLite: an upgrade leaves no copy of what was there */
};

/* Opens for writing, creating the file and its schema if there is none.
 *
 *   fails  PAWL_NOT_FOUND    must_exist and there is none
 *          PAWL_UNSUPPORTED  not ours, a newer schema, a network file system, a SQLite older than 3.40
 *          PAWL_CORRUPT      damaged, or no database at all
 *          PAWL_BUSY, PAWL_IO, PAWL_NO_MEMORY */
enum pawl_code pawl_store_open(struct pawl_store **out, const struct pawl_store_options *options,
                               struct pawl_error *err);
void pawl_store_close(struct pawl_store *store); /* takes NULL; an open transaction is rolled back */

bool pawl_store_is_postgres(const struct pawl_store *store);
struct pawl_str pawl_store_id(const struct pawl_store *store); /* as it was when the store was opened */
struct pawl_str pawl_store_path(const struct pawl_store *store); /* SQLite: path of the file; else empty */

/* What the transaction began with and will write back. */
struct pawl_head {
    int64_t position;
    int64_t next_key;
    int64_t now_ms;   /* of this step: read after the write lock is held */
    int64_t wall_offset_ms;   /* the wall clock minus now, by which calendar times are armed */
    int64_t generation;       /* of the definitions */
    int64_t wall_ahead_ms;    /* what it is now, if that is another: whoever writes it to wall_offset_ms has to arm them
                                 anew */
    struct pawl_str store_id; /* borrowed from the store */
    bool knocks;       /* for commit: holders of leases are to look (engine/engine.h) */
    bool has_changed;  /* by commit: something was written */
    bool acknowledges; /* for commit: somebody is told of what is there, so it has to be on disk, whoever wrote
                          it: a process may have died in its sync and left what is only in memory */
};

enum pawl_code pawl_store_begin(struct pawl_store *store, struct pawl_head *head,
                                struct pawl_error *err);
/* The same, and loads what the set wants by then: on PostgreSQL within the round trip of the begin, by statements
 * that run when the write lock is held. */
enum pawl_code pawl_store_begin_with(struct pawl_store *store, struct pawl_set *set,
                                     struct pawl_head *head, struct pawl_error *err);

/* Answers every wanted entry of the set, in the set's arena. A row that cannot be decoded is moved to
 * quarantine (written at save) and answered as none. */
enum pawl_code pawl_store_load(struct pawl_store *store, struct pawl_set *set, struct pawl_error *err);

/* Sets a row of "task" or "continuation" aside, unread, as load does with one that cannot be decoded. */
/* Why, if its due work kills. It is stored: fsck lets such a row out only if a person names it. */
#define PAWL_SET_ASIDE_DEADLY "its due work has killed its process, time and again"
enum pawl_code pawl_store_set_aside(struct pawl_store *store, const char *table, int64_t key,
                                    struct pawl_str id, const char *reason, struct pawl_error *err);

/* Writes what is changed and appended, events excepted. On PostgreSQL it is only sent: what fails shows in the
 * next load or in the commit, which then has committed nothing. */
enum pawl_code pawl_store_save(struct pawl_store *store, struct pawl_set *set, struct pawl_error *err);

/* The same with the events too, and waited for: then the set may be begun anew within the transaction, which may so
 * be larger than its memory. */
enum pawl_code pawl_store_save_all(struct pawl_store *store, struct pawl_set *set, struct pawl_head *head,
                                   struct pawl_error *err);

/* Gives the set's events their positions, writes them and the head, and commits.
 *
 *   fails  PAWL_UNKNOWN_OUTCOME  it may have been committed; the store has been opened anew if it could be */
enum pawl_code pawl_store_commit(struct pawl_store *store, struct pawl_set *set, struct pawl_head *head,
                                 struct pawl_error *err);
void pawl_store_rollback(struct pawl_store *store);

/* Whether the last PAWL_BUSY of begin, load, save or commit was a lost race (PostgreSQL: another's row, a
 * deadlock, a connection that broke before the commit). Nothing was committed; the same commands, run again from
 * begin, may well succeed at once. */
bool pawl_store_was_race(const struct pawl_store *store);

/* PostgreSQL, else nothing: how long all that follows may take, until this is said again; INT64_MAX = as long as its
 * own bounds. A server that does not answer by then is given up (BUSY), as one that never will. */
void pawl_store_patience(struct pawl_store *store, int64_t ms);

/* A plain read, outside any transaction: the instant at which something is due next (0 = now, INT64_MAX =
 * nothing is), continuations included, and the store's now. */
enum pawl_code pawl_store_next_due(struct pawl_store *store, int64_t *due_at_ms, int64_t *now_ms,
                                   struct pawl_error *err);
/* A plain read: when the first task after a place in the order of ends has ended; INT64_MAX = there is none. */
enum pawl_code pawl_store_next_finished(struct pawl_store *store, const struct pawl_finished *after,
                                        int64_t *finished_at_ms, struct pawl_error *err);
/* A plain read: is anything ready in one of these queues? */
enum pawl_code pawl_store_has_ready(struct pawl_store *store, const struct pawl_str *queues, size_t count,
                                    bool *out, struct pawl_error *err);

/* Moves the write-ahead log into the file when it has grown past its bound. Only for the holder of the
 * turn, outside a transaction. Never an error: it is tried again after the next step. */
void pawl_store_checkpoint(struct pawl_store *store);
/* The same whatever its length, at the end: so that the file alone is the whole store. */
void pawl_store_checkpoint_all(struct pawl_store *store);

/* PostgreSQL: a descriptor that becomes readable when another process has committed; -1 on SQLite (there the
 * turn file tells). Drain empties it and returns whether there was something. */
int pawl_store_bell_fd(const struct pawl_store *store);
/* PostgreSQL: a number that changes with each knock that is heard, our own too. */
uint64_t pawl_store_knocks(const struct pawl_store *store);
bool pawl_store_bell_drain(struct pawl_store *store);

#endif
