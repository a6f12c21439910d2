/* Ids of events and checkpoints. They are UUIDs of version 7, but nobody stores them: their bits
 * are the instant and, veiled, the row's number, so that an id costs no column and no index, and is
 * the same for ever. The veil is keyed by the store's id: an id of another store, or one made up,
 * names nothing here.
 *
 * The ids of events are declared in store/read.h. */
#ifndef PAWL_STORE_ID_H
#define PAWL_STORE_ID_H

#include "store/read.h"

/* The id of a checkpoint, and the row key that an id names: 0 if it is no checkpoint's of this
 * store. Whether there is such a row, of that very instant, is for the caller to look up. */
struct pawl_str pawl_checkpoint_id(struct pawl_str store_id, int64_t key, int64_t at_ms,
                                   struct pawl_arena *keep);
int64_t pawl_checkpoint_id_key(struct pawl_str store_id, struct pawl_str id);

/* The instant in an id of either kind; -1 for what is no UUID of version 7. */
int64_t pawl_id_at_ms(struct pawl_str id);

#endif
