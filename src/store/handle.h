/* The open store, as load.c, save.c and store.c share it. */
#ifndef PAWL_STORE_HANDLE_H
#define PAWL_STORE_HANDLE_H

#include "base/uuid.h"
#include "store/db.h"
#include "store/store.h"

struct pawl_store {
    struct pawl_store_options options; /* target is the one below */
    char *target;                      /* owned */
    struct pawl_db *db; /* owned; NULL after an unknown outcome, if it could not be opened anew */
    char store_id[PAWL_UUID_BYTES_MAX + 1];
    int64_t now_ms;   /* of the open transaction */
    int64_t drift_ms; /* wall clock minus boot clock, as last seen */
    int64_t wall_drift_ms; /* the same when calendar times were last known to be armed by it */
    int64_t wall_seen_ms;  /* the same in the open transaction */
    int64_t synced;   /* what others had committed when we last made sure that it is on disk */
    bool is_begun;    /* a transaction is open */
    bool is_dirty;    /* it has written something */
    bool is_drift_known;
    bool is_wall_known;
    bool wall_has_moved; /* in the open transaction */
    bool has_warned_behind;
    bool has_warned_row; /* of a row that is usable with its policy dropped */
};

/* The two parts of a load: all that the set wants is asked for; and once that was flushed it is answered. What is
 * between belongs to the set's arena. */
struct load;
enum pawl_code pawl_load_ask(struct pawl_store *store, struct pawl_set *set, struct load **out,
                             struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_load_take(struct load *load, struct pawl_error *err) PAWL_MUST_USE;

/* The connection under a store, for tests and simulation: to set its hook. */
struct pawl_db *pawl_store_db(struct pawl_store *store);

#endif
