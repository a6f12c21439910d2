/* The place where the locks of executions lie: a folder, on one boot. docs/leases.md tells what
 * they prove.
 *
 * A lock file is named after a task's id and an epoch, which together are never used again; whoever
 * does the work holds an open-file-description lock on it. Asking does not take it. Files that
 * nobody holds are removed as they are met. */
#ifndef PAWL_ENGINE_PLACE_H
#define PAWL_ENGINE_PLACE_H

#include "pawl.h"

enum {
    PAWL_PLACE_PATH_BYTES_MAX = 4000,
    PAWL_PLACE_ID_BYTES_MAX = 160, /* a UUID, a boot id */
};

struct pawl_place {
    char folder[PAWL_PLACE_PATH_BYTES_MAX + 1];
    char id[PAWL_PLACE_ID_BYTES_MAX + 1]; /* empty: nobody has held a lock here yet */
};

/* Names the folder of a store: `<db>-locks`, or, for db_path empty (PostgreSQL), PAWL_LOCKS of the
 * environment, else one of the user's in /run/lock or /tmp. Reads its id, which is made, and the
 * folder with it, only if asked.
 *
 *   fails  PAWL_IO  it cannot be read or made, or is somebody else's */
enum pawl_code pawl_place_open(struct pawl_place *place, struct pawl_str db_path,
                               const struct pawl_env *env, bool may_make, struct pawl_error *err);

/* Takes the lock of an execution: a descriptor, close-on-exec.
 *
 *   fails  PAWL_CONFLICT  it is held
 *          PAWL_IO */
enum pawl_code pawl_place_take(const struct pawl_place *place, struct pawl_str task_id,
                               int64_t epoch, int *out, struct pawl_error *err);

/* Whether anybody holds it; a lock that is free takes its file with it. PAWL_FINDING_UNKNOWN sets
 * *err. */
enum pawl_finding pawl_place_find(const struct pawl_place *place, struct pawl_str task_id,
                                  int64_t epoch, struct pawl_error *err);

/* Whether any lock of the folder is held: then the work of somebody goes on. */
bool pawl_place_is_busy(const struct pawl_place *place);

#endif
