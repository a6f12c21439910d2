/* Looks whether a store is what docs/store.md says that it is, row by row, and mends what follows
 * from the rest.
 *
 * It reads in pages by key, one read transaction each, of at most some PAWL_FSCK_PAGE_MS_MAX: the
 * store may be in use meanwhile. So what is compared stands in one page: a row with what lies
 * beside it. What a finding says was true at one instant. */
#ifndef PAWL_STORE_FSCK_H
#define PAWL_STORE_FSCK_H

#include "store/store.h"

struct pawl_fsck_run {
    const struct pawl_store_options *options; /* borrowed; the same that `store` was opened with */
    bool skips_file;         /* SQLite: no integrity_check, which is one long read */
    struct pawl_str let_out; /* as in pawl_fsck */
    void *self;              /* of the calls */
    void (*found)(void *self, const struct pawl_fsck_finding *finding); /* may be NULL */

    /* Mending, in transactions of at most a page. NULL: it only looks. The turn is taken before
     * each transaction and given back after it; has_changed says whether to tell others. */
    struct pawl_store *store;
    enum pawl_code (*turn_take)(void *self, struct pawl_error *err);
    void (*turn_give)(void *self, bool has_changed);
};

enum pawl_code pawl_fsck_run(const struct pawl_fsck_run *ask, struct pawl_fsck_done *out,
                             struct pawl_error *err) PAWL_MUST_USE;

#endif
