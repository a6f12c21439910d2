/* Where the store is. */
#ifndef PAWL_APP_LOCATION_H
#define PAWL_APP_LOCATION_H

#include "pawl.h"

/* The address given, else PAWL_DB, else pawl/pawl.db in XDG_DATA_HOME or ~/.local/share. A path is
 * made absolute, so that commands of a worker find it from wherever they run.
 *
 *   creates  the folder of the default place is made, for its owner only (0700)
 *   fails    PAWL_INVALID  an address we do not know, or no home to look in
 *            PAWL_IO       the folder cannot be made */
enum pawl_code pawl_location_find(struct pawl_str given, bool creates, struct pawl_arena *keep,
                                  struct pawl_str *out, struct pawl_error *err) PAWL_MUST_USE;

#endif
