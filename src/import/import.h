/* pawl import: the tasks of an older task manager's store, brought into a store of ours.
 * docs/import.md has what becomes of each field.
 *
 * The file is read twice: first everything is decoded, so that all that cannot be read is known
 * before the store is touched; then, in one transaction, everything is decoded again and written.
 * So memory holds one piece of the file, and of all tasks only their ids. */
#ifndef PAWL_IMPORT_IMPORT_H
#define PAWL_IMPORT_IMPORT_H

#include "import/file.h"
#include "import/order.h"
#include "import/record.h"

struct pawl_importer {
    struct pawl_import_report report;
    struct pawl_arena *arena; /* what lives as long as this */
    struct pawl_import_file file;
    struct pawl_str name; /* of the file, without its folders */
    struct pawl_old_store old;
    bool is_open; /* the old store is */
    struct pawl_import_order order;
    int32_t next; /* place in the order */
};

/* Opens the file and reads it whole. What stands against importing it is in the report, which is
 * good even on PAWL_INVALID: some records cannot be read.
 *
 *   path   borrowed until close
 *   fails  PAWL_NOT_FOUND, PAWL_INVALID, PAWL_UNSUPPORTED, PAWL_STATE (a log beside it),
 * PAWL_CORRUPT, PAWL_IO */
enum pawl_code pawl_importer_open(struct pawl_importer *importer, const char *path,
                                  struct pawl_error *err) PAWL_MUST_USE;
void pawl_importer_close(struct pawl_importer *importer);

/* Brings in all of it, or nothing. Codes of pawl_import (engine/import.h); on PAWL_CONFLICT the
 * report names the tasks whose ids are in use. */
enum pawl_code pawl_importer_run(struct pawl_importer *importer, struct pawl *pawl, bool is_trial,
                                 struct pawl_error *err) PAWL_MUST_USE;

#endif
