/* Careful mode: a row that kills the process does not kill it for ever.
 *
 * Whoever runs what is due leaves a file in the store's place, locked as long as it lives, and takes it away when
 * it stops in order. Who finds three left behind within the last ten minutes goes carefully: due work goes one piece
 * a step, and each is marked before it is tried, by a file that its success takes away. A piece whose mark counts
 * three deaths is set aside. Marks and signs outlive a process, not the machine: after a power cut nobody was
 * killed by a row.
 *
 * Where no file can be made there is no careful mode, and nothing else is missing. Threads: the engine's. */
#ifndef PAWL_ENGINE_CAREFUL_H
#define PAWL_ENGINE_CAREFUL_H

#include "engine/place.h"

struct pawl_careful;

enum pawl_mark {
    PAWL_MARK_MADE,  /* try it, then clear the mark */
    PAWL_MARK_HELD,  /* somebody alive is trying it */
    PAWL_MARK_SPENT, /* it has killed its process too often: set it aside, then clear the mark */
};

/* locks is borrowed until close. Returns NULL without memory. */
struct pawl_careful *pawl_careful_open(const struct pawl_locks *locks);
/* An orderly stop. Takes NULL. */
void pawl_careful_close(struct pawl_careful *careful);

/* Before the first due work: leaves the sign, and looks for those of the dead. Whether to go carefully now. */
bool pawl_careful_begin(struct pawl_careful *careful);

/* Marks a piece of work, of a kind (a letter) and a key: one at a time, and what comes while one is marked counts with
 * it. */
enum pawl_mark pawl_careful_mark(struct pawl_careful *careful, char kind, int64_t key);
/* What was marked has been tried, whatever came of it. Nothing if nothing is. */
void pawl_careful_clear(struct pawl_careful *careful);

#endif
