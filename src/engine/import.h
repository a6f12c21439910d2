/* Many tasks from elsewhere in one transaction of any size (pawl import; not public).
 *
 * The transaction goes piece by piece: a piece is asked for, run as one command, and written with
 * its events before the next one is asked for, so that memory is bounded by a piece. The turn is
 * held from the first to the last, and on PostgreSQL the lock of the head row: others wait, and are
 * told BUSY after 5 s, since they may not see a part of it. Positions stay the order of commits,
 * because nobody else commits meanwhile. */
#ifndef PAWL_ENGINE_IMPORT_H
#define PAWL_ENGINE_IMPORT_H

#include "core/command.h"

struct pawl_import_source {
    void *self;
    /* The next tasks, *count of them, which live in `keep` until it is called again; 0 at the end.
     * What it fails with ends the import. */
    enum pawl_code (*next)(void *self, struct pawl_arena *keep, struct pawl_import_task **tasks,
                           size_t *count, struct pawl_error *err);
    /* Told of each task whose id is in use in the store. */
    void (*taken)(void *self, struct pawl_str id);
};

/* Brings in all that the source gives, whole or not at all.
 *
 *   pawl      a driven handle; the caller's thread does the work
 *   file      what marks it; borrowed for the call
 *   is_trial  all is done, and nothing is kept
 *   fails     PAWL_CONFLICT  the file has been imported already, or ids are in use
 *             PAWL_UNKNOWN_OUTCOME  it may have been done: the marker tells the next time
 *             PAWL_MISUSE, PAWL_BUSY, PAWL_IO, PAWL_TOO_LARGE ..., and the source's own codes */
enum pawl_code pawl_import(struct pawl *pawl, const struct pawl_import_row *file,
                           const struct pawl_import_source *source, bool is_trial,
                           struct pawl_error *err) PAWL_MUST_USE;

#endif
