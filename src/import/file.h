/* The file that is imported: read, never written, and the same from the first look to the last.
 *
 * JSON is parsed as one text, which may be larger than memory: so it is mapped. Whoever cuts a file
 * short kills those who have it mapped (SIGBUS); so what is mapped is a copy of our own. SQLite
 * reads by itself. */
#ifndef PAWL_IMPORT_FILE_H
#define PAWL_IMPORT_FILE_H

#include "pawl.h"

#include <sys/stat.h>

struct pawl_import_file {
    const char *path; /* borrowed */
    int fd;
    int copy_fd;
    bool is_sqlite;
    struct pawl_str bytes; /* of the JSON form: the copy, mapped */
    struct stat was;
    char digest[32 + 1]; /* of the bytes, in hex */
};

/* fails  PAWL_NOT_FOUND; PAWL_INVALID for what is no file or empty; PAWL_IO; PAWL_STATE if it has a
 * log beside it whose content is not in the file yet */
enum pawl_code pawl_import_file_open(struct pawl_import_file *file, const char *path,
                                     struct pawl_error *err) PAWL_MUST_USE;
void pawl_import_file_close(struct pawl_import_file *file);

/* PAWL_CONFLICT if somebody has written to it since it was opened, or is about to. */
enum pawl_code pawl_import_file_check_same(const struct pawl_import_file *file,
                                           struct pawl_error *err) PAWL_MUST_USE;

#endif
