/* Files beside SQLite's own doing: one that takes the place of another in one move, whole and on
 * disk; and who has one locked. None of this ever opens a database that may be in use: closing a
 * descriptor of it would drop the locks that SQLite holds in this process. */
#ifndef PAWL_STORE_FILE_H
#define PAWL_STORE_FILE_H

#include "pawl.h"

/* The real name of a file, links resolved; of one that is not there yet, in its real folder. Owned
 * by the caller (free).
 *
 *   fails  PAWL_INVALID    no name, too long, or a folder
 *          PAWL_NOT_FOUND  its folder is not there
 *          PAWL_IO */
enum pawl_code pawl_file_real(struct pawl_str path, char **out,
                              struct pawl_error *err) PAWL_MUST_USE;

/* Makes the folder of a path, and those it lies in, for their owner only (0700). */
enum pawl_code pawl_file_make_folder(const char *path, struct pawl_error *err) PAWL_MUST_USE;

/* Whether we may read a file that is there; and whether we may write to it and make files beside
 * it. fails  PAWL_IO */
enum pawl_code pawl_file_check_reading(const char *path, struct pawl_error *err) PAWL_MUST_USE;
enum pawl_code pawl_file_check_writing(const char *path, struct pawl_error *err) PAWL_MUST_USE;

bool pawl_file_exists(const char *path);                       /* a broken link exists */
bool pawl_file_is_same(const char *a, const char *b);          /* both are there and are one file */
int64_t pawl_file_bytes(const char *path, const char *suffix); /* -1: there is none */
/* Removes PATH and SUFFIX; none there is no error. */
enum pawl_code pawl_file_remove(const char *path, const char *suffix, struct pawl_error *err);

/* A file on its way to a name: `<name>-new`, empty, 0600, locked so that two of them cannot meet.
 * One that a killed process has left is taken over. */
struct pawl_file_new {
    char *path; /* owned; where it is going */
    char *temp; /* owned; where it is, to be written through its name */
    int fd;     /* holds the lock */
};

/* fails  PAWL_BUSY  somebody else is making it right now */
enum pawl_code pawl_file_new_open(struct pawl_file_new *out, const char *path,
                                  struct pawl_error *err) PAWL_MUST_USE;

/* Syncs it, moves it to its name in one move, and syncs the folder.
 *
 *   fails  PAWL_CONFLICT  there is one by that name, and it may not be replaced */
enum pawl_code pawl_file_new_put(struct pawl_file_new *file, bool may_replace,
                                 struct pawl_error *err) PAWL_MUST_USE;

/* Removes it unless it was put. Takes a half-built one. */
void pawl_file_new_close(struct pawl_file_new *file);

#endif
