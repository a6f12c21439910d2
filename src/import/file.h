/* The file that is imported: read, never written, and the same from the first look to the last. */
#ifndef PAWL_IMPORT_FILE_H
#define PAWL_IMPORT_FILE_H

#include "pawl.h"

#include <sys/stat.h>

struct pawl_import_file {
    const char *path; /* borrowed */
    int fd;
    struct pawl_str bytes; /* mapped */
    struct stat was;
    char digest[32 + 1]; /* of the bytes, in hex */
};

/* fails  PAWL_NOT_FOUND; PAWL_INVALID for what is no file or empty; PAWL_IO; PAWL_STATE if it has a
 * log beside it whose content is not in the file yet */
enum pawl_code pawl_import_file_open(struct pawl_import_file *file, const char *path,
                                     struct pawl_error *err) PAWL_MUST_USE;
void pawl_import_file_close(struct pawl_import_file *file);

bool pawl_import_file_is_sqlite(const struct pawl_import_file *file);

/* PAWL_CONFLICT if somebody has written to it since it was opened, or is about to. */
enum pawl_code pawl_import_file_check_same(const struct pawl_import_file *file,
                                           struct pawl_error *err) PAWL_MUST_USE;

#endif
