/* The file of a SQLite store before SQLite opens it: whether it may lie there at all. */
#ifndef PAWL_STORE_SQLITE_FILE_H
#define PAWL_STORE_SQLITE_FILE_H

#include "pawl.h"

enum { PAWL_SQLITE_APPLICATION_ID = 0x5061776C }; /* "Pawl" */

/* Whether a file system is shared between machines, so that locks and the shared memory of a
 * write-ahead log are not to be trusted on it: by its number (f_type of statfs), and where that is
 * FUSE, which may be anything, by the type that the mount table names ("fuse.sshfs"; may be NULL).
 */
bool pawl_file_system_is_remote(int64_t number, const char *type);

/* The type of a mounted file system by its device number, from a line of the mount table (proc(5),
 * /proc/pid/mountinfo), which is cut for it; NULL if the line is of another device or none at all.
 */
const char *pawl_mount_type(char *line, uint64_t device);

/* Refuses what is no regular file or has several names, and a path on such a file system; the file
 * itself need not exist.
 *
 *   fails  PAWL_INVALID, PAWL_UNSUPPORTED, PAWL_IO */
enum pawl_code pawl_sqlite_file_check(const char *path, struct pawl_error *err) PAWL_MUST_USE;

/* Whether a file that is no database begins as JSON does. */
bool pawl_sqlite_file_is_json(const char *path);

/* Makes an empty file that only its owner can read, if there is none. Never opens it: closing a
 * descriptor would drop the locks that SQLite holds on it in this process.
 *
 *   fails  PAWL_IO */
enum pawl_code pawl_sqlite_file_create(const char *path, struct pawl_error *err) PAWL_MUST_USE;

#endif
