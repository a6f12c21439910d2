/* The folder with the files of a worker's tasks: in TMPDIR, else /tmp, its owner's alone.
 *
 * The worker holds a lock on it (flock) as long as it lives. What is not locked was left by one
 * that was killed, with the inputs of its tasks, and is swept by the next. Whoever makes a folder
 * and does not get its lock, or finds that it is gone, has met somebody who sweeps, and makes
 * another. Threads: the worker's only. */
#ifndef PAWL_WORKER_FOLDER_H
#define PAWL_WORKER_FOLDER_H

#include "pawl.h"

enum {
    /* The addresses of sockets in it are short (108 bytes), so a longer TMPDIR is of no use. */
    PAWL_FOLDER_PATH_BYTES_MAX = 107 - (int)sizeof "/socket-255",
    /* Folders of dead workers that one start removes: as many as are left by a day of crashes. */
    PAWL_FOLDERS_SWEPT_MAX = 1000,
};

struct pawl_folder {
    char path[PAWL_FOLDER_PATH_BYTES_MAX + 1]; /* empty: there is none */
    int lock_fd;
};

#define PAWL_FOLDER_NONE \
    {                    \
        .lock_fd = -1    \
    }

/* PAWL_IO. */
enum pawl_code pawl_folder_open(struct pawl_folder *folder, struct pawl_error *err) PAWL_MUST_USE;

/* Makes another one where somebody has taken this one away. PAWL_IO. */
enum pawl_code pawl_folder_keep(struct pawl_folder *folder, struct pawl_error *err) PAWL_MUST_USE;

/* Removes it if it is empty; takes none. */
void pawl_folder_close(struct pawl_folder *folder);

/* Removes what dead workers of this user have left beside it; gives how many folders. */
int32_t pawl_folder_sweep(void);

#endif
