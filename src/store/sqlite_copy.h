/* The whole of a SQLite store in another file, and the right to put one in its place. */
#ifndef PAWL_STORE_SQLITE_COPY_H
#define PAWL_STORE_SQLITE_COPY_H

#include "store/file.h"

struct pawl_sqlite_copy {
    const char *from; /* a database, in use or not; it is only read */
    const char *to;   /* folders are made; the file comes in one move */
    const char *vfs;  /* of from; NULL = the default */
    bool may_replace;
};

/* Copies a database as of one instant. Writers go on meanwhile and are not waited for: it is one
 * read transaction, which only holds back the reset of the log. The copy has passed integrity_check
 * and is on disk before it gets its name.
 *
 *   bytes  of the copy; may be NULL
 *   fails  PAWL_CONFLICT  there is a file, and it may not be replaced
 *          PAWL_CORRUPT   the copy, and so the database, is damaged; nothing is left of it
 *          PAWL_BUSY, PAWL_IO, PAWL_NO_MEMORY */
enum pawl_code pawl_sqlite_copy_make(const struct pawl_sqlite_copy *ask, int64_t *bytes,
                                     struct pawl_error *err) PAWL_MUST_USE;

/* The same into a file that is on its way (`to` is not looked at), and that has yet to be put. */
enum pawl_code pawl_sqlite_copy_into(const struct pawl_sqlite_copy *ask,
                                     const struct pawl_file_new *file,
                                     struct pawl_error *err) PAWL_MUST_USE;

/* PAWL_OK if integrity_check finds nothing; else PAWL_CORRUPT with its first finding. What is left
 * in the log of the database counts.  */
enum pawl_code pawl_sqlite_check(const char *path, struct pawl_error *err) PAWL_MUST_USE;

/* Whether a file says of itself that it is a store; false for one that cannot be read. Leaves nothing beside it. */
bool pawl_sqlite_is_store(const char *path);

/* A database file that nobody else has open, as proved by SQLite's own locks: whoever has a store
 * open holds one, idle or not. Whoever comes has to wait until it is closed. */
struct pawl_sqlite_hold;

/* fails  PAWL_BUSY  somebody has it open, this process perhaps */
enum pawl_code pawl_sqlite_hold_open(struct pawl_sqlite_hold **out, const char *path,
                                     struct pawl_error *err) PAWL_MUST_USE;

/* Moves the log into the file and removes -wal, -shm and -journal, so that the file alone is the
 * whole of it, before and after another takes its name. Of a damaged one they are removed as they
 * are. */
enum pawl_code pawl_sqlite_hold_settle(struct pawl_sqlite_hold *hold,
                                       struct pawl_error *err) PAWL_MUST_USE;
void pawl_sqlite_hold_close(struct pawl_sqlite_hold *hold); /* takes NULL */

#endif
