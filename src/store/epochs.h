/* Raising what must never come twice, after a restore. */
#ifndef PAWL_STORE_EPOCHS_H
#define PAWL_STORE_EPOCHS_H

#include "base/arena.h"
#include "store/store.h"

/* Adds PAWL_RESTORE_RAISE to the epoch of every task, to the position of the newest event and to
 * the next row key, a slice of tasks a transaction. Every lease that is held is lost. Repeat it if
 * it fails: raised twice is raised. */
enum pawl_code pawl_epochs_raise(struct pawl_store *store, struct pawl_arena *scratch,
                                 struct pawl_error *err) PAWL_MUST_USE;

#endif
