/* Looks for the proof that lost work has stopped: after the commit that has found a task due for
 * it, outside any transaction. What is found waits here for the next step, as commands of its own.
 *
 * While somebody holds a lock that is waited for, the folder is watched: the kernel closes the file
 * with its last holder, however that one ends. Threads: the engine's. */
#ifndef PAWL_ENGINE_PROOF_H
#define PAWL_ENGINE_PROOF_H

#include "core/step.h"
#include "engine/place.h"

struct pawl_proof;

enum { PAWL_PROOF_NOTE_BYTES_MAX = 400 };

struct pawl_found {
    int64_t task; /* key */
    int64_t epoch;
    enum pawl_finding finding;
    char note[PAWL_PROOF_NOTE_BYTES_MAX + 1];
};

/* locks is borrowed until close. Returns NULL without memory. */
struct pawl_proof *pawl_proof_open(const struct pawl_locks *locks);
void pawl_proof_close(struct pawl_proof *proof); /* takes NULL */

/* Looks for one that has a supervised lease, or had, on any thread; unknown if its lock is in another place of this
 * boot. Across boots and machines nothing can be seen, and nothing is held. */
enum pawl_finding pawl_proof_find(const struct pawl_locks *locks, const struct pawl_task *task);

/* After a commit: looks for all tasks of the step that want it. */
void pawl_proof_look(struct pawl_proof *proof, struct pawl_step *step);

/* What has been found and not been committed yet; good until the next call. */
const struct pawl_found *pawl_proof_found(const struct pawl_proof *proof, size_t *count);
/* What was found of a task has been committed. */
void pawl_proof_settle(struct pawl_proof *proof, int64_t task);

/* Readable when a lock that is waited for may have been let go; -1 while none is. Then look again.
 */
int pawl_proof_fd(const struct pawl_proof *proof);
/* Nothing while no lock is waited for. */
void pawl_proof_look_again(struct pawl_proof *proof);

#endif
