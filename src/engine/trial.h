/* A store to try something in: empty, in a folder of its own, with an engine that is driven and a
 * clock that stands still until it is moved. Nobody else sees it, and nothing of it is left. */
#ifndef PAWL_ENGINE_TRIAL_H
#define PAWL_ENGINE_TRIAL_H

#include "pawl.h"

struct pawl_trial;

/* Its wall clock begins with the real one. It is in /dev/shm where that is there, since nothing of
 * it has to last; else in TMPDIR, or /tmp.
 *
 *   fails  PAWL_IO, PAWL_NO_MEMORY */
enum pawl_code pawl_trial_open(struct pawl_trial **out, struct pawl_error *err) PAWL_MUST_USE;
/* Takes NULL, and one that is half open. */
void pawl_trial_close(struct pawl_trial *trial);

/* Its handle, for all calls. */
struct pawl *pawl_trial_pawl(struct pawl_trial *trial);

/* So much time passes, and what comes due in it is done.
 *
 *   next_ms  how long until the next thing is due; INT64_MAX = nothing is; may be NULL */
enum pawl_code pawl_trial_pass(struct pawl_trial *trial, int64_t ms, int64_t *next_ms,
                               struct pawl_error *err) PAWL_MUST_USE;

#endif
