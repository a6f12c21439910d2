/* The place where the locks of executions lie: a folder, on one boot. docs/leases.md tells what they prove.
 *
 * A lock file is named after the store, a task's id and an epoch, which together are never used again; whoever does
 * the work holds an open-file-description lock on it. Asking does not take it. Files that nobody holds are removed as
 * they are met. */
#ifndef PAWL_ENGINE_PLACE_H
#define PAWL_ENGINE_PLACE_H

#include "base/uuid.h"
#include "pawl.h"

enum {
    PAWL_PLACE_PATH_BYTES_MAX = 4000,
    PAWL_PLACE_ID_BYTES_MAX = 160, /* a UUID, a boot id */
};

/* Which store the locks are for. Filled once, when it is opened. */
struct pawl_locks {
    char db_path[PAWL_PLACE_PATH_BYTES_MAX + 1]; /* links resolved; empty on PostgreSQL */
    char store_id[PAWL_UUID_BYTES_MAX + 1];      /* part of every name: stores may share a folder */
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

/* Whether a place's id names this boot. */
bool pawl_place_is_of_boot(struct pawl_str id, struct pawl_str boot_id);

/* Takes the lock of an execution: a descriptor, close-on-exec.
 *
 *   fails  PAWL_CONFLICT  it is held
 *          PAWL_IO */
enum pawl_code pawl_place_take(const struct pawl_place *place, struct pawl_str task_id, int64_t epoch, int *out,
                               struct pawl_error *err);

/* Whether anybody holds it; a lock that is free takes its file with it. PAWL_FINDING_UNKNOWN sets *err. */
enum pawl_finding pawl_place_find(const struct pawl_place *place, struct pawl_str task_id, int64_t epoch,
                                  struct pawl_error *err);

/* Whether any lock of the folder is held: the work of somebody goes on, or an engine lives. */
bool pawl_place_is_busy(const struct pawl_place *place);

/* Removes lock files that nobody holds any more, of whatever store: those that no look has met. */
void pawl_place_sweep(const struct pawl_place *place);

#endif
