/* The place where the locks of executions are: one file in a folder, on one boot. docs/leases.md tells what they
 * prove.
 *
 * An execution is one byte of that file, far beyond what it holds, chosen by the store, the task's id and the epoch,
 * which together are never used again. Whoever does the work holds an open-file-description lock on it. The file is
 * never written to again nor removed by us: if it is gone, or another one is there, nothing can be proved. */
#ifndef PAWL_ENGINE_PLACE_H
#define PAWL_ENGINE_PLACE_H

#include "base/uuid.h"
#include "pawl.h"

#include <sys/types.h>

enum {
    PAWL_PLACE_PATH_BYTES_MAX = 4000,
    PAWL_PLACE_ID_BYTES_MAX = 160, /* a UUID, an inode, a boot id */
};

/* Which store the locks are for. Filled once, when it is opened. */
struct pawl_locks {
    char db_path[PAWL_PLACE_PATH_BYTES_MAX + 1]; /* links resolved; empty on PostgreSQL */
    char store_id[PAWL_UUID_BYTES_MAX + 1];      /* chooses the bytes too: stores may share a folder */
    const struct pawl_env *env;                  /* borrowed */
};

struct pawl_place {
    const struct pawl_locks *locks;
    char folder[PAWL_PLACE_PATH_BYTES_MAX + 1];
    char id[PAWL_PLACE_ID_BYTES_MAX + 1]; /* empty: nobody has held a lock here yet */
};

/* Names the folder of a store: `<db>-locks`, or on PostgreSQL PAWL_LOCKS of the environment, else one of the user's in
 * /run/lock or /tmp. Reads its id, which is made, and the folder with it, only if asked. locks is borrowed.
 *
 *   fails  PAWL_IO  it cannot be read or made, or is somebody else's */
enum pawl_code pawl_place_open(struct pawl_place *place, const struct pawl_locks *locks, bool may_make,
                               struct pawl_error *err);

/* The same, and whether locks could be taken there; makes nothing. Without an id nobody has held a lock there yet.
 *
 *   fails  PAWL_IO  they could not: the sentence says why */
enum pawl_code pawl_place_check(struct pawl_place *place, const struct pawl_locks *locks, struct pawl_error *err);

/* Whether a place's id names this boot. */
bool pawl_place_is_of_boot(struct pawl_str id, struct pawl_str boot_id);

/* A lock of an execution, and a second way to look at it that needs no path: the lock is one of the open file that
 * the first descriptor belongs to, and an open file does not see its own. */
struct pawl_held {
    off_t at;
    int fd;      /* -1: we have let go; whoever has inherited it still holds the lock */
    int look_fd;
};

/* Takes the lock of an execution; the descriptors are close-on-exec.
 *
 *   fails  PAWL_CONFLICT  it is held
 *          PAWL_IO        among others: the file is not the one any more that the place was opened with */
enum pawl_code pawl_place_take(const struct pawl_place *place, struct pawl_str task_id, int64_t epoch,
                               struct pawl_held *out, struct pawl_error *err);
void pawl_held_let_go(struct pawl_held *held);
/* Whether anybody has it, once we have let go. */
enum pawl_finding pawl_held_find(const struct pawl_held *held);
void pawl_held_close(struct pawl_held *held);

/* Whether anybody holds it. PAWL_FINDING_UNKNOWN sets *err: the file is gone or another one, for one. */
enum pawl_finding pawl_place_find(const struct pawl_place *place, struct pawl_str task_id, int64_t epoch,
                                  struct pawl_error *err);

/* Whether any lock of the folder is held: the work of somebody goes on, or an engine lives. */
bool pawl_place_is_busy(const struct pawl_place *place);

#endif
