/* What a command has left running outside its process group: started in a session of its own
 * (setsid), or through a parent that ended at once (a double fork).
 *
 * The worker is the subreaper of all it starts, so what lost its parent becomes its own child. Such
 * a child belongs to a task if its environment says so, or if it holds the lock of the execution.
 * Threads: the one that starts the commands. */
#ifndef PAWL_WORKER_LEFTOVER_H
#define PAWL_WORKER_LEFTOVER_H

#include "pawl.h"

#include <sys/stat.h>
#include <sys/types.h>

enum {
    PAWL_LEFTOVERS_TOLD_MAX = 64,
    PAWL_LEFTOVER_LOCK_BYTES_MAX = 127, /* a few words, a device, an inode, two offsets */
};

struct pawl_leftover {
    char id_variable[16 + PAWL_TASK_ID_STORED_BYTES_MAX]; /* PAWL_TASK_ID=… */
    char epoch_variable[16 + 20];                         /* PAWL_EPOCH=… */
    dev_t lock_device; /* the file that all locks are in */
    ino_t lock_inode;
    char lock[PAWL_LEFTOVER_LOCK_BYTES_MAX + 1]; /* ours in it, as /proc shows it; empty = it does not */
    pid_t told[PAWL_LEFTOVERS_TOLD_MAX]; /* have got SIGTERM: a second one often means "at once" */
    int32_t told_count;
};

/* Takes orphans in from now on; for the whole process. */
void pawl_leftover_adopt(void);

/* Describes what belongs to an execution; the lock's descriptor is open. */
void pawl_leftover_init(struct pawl_leftover *leftover, const struct pawl_fence *fence,
                        int lock_fd);

/* Stops all children that belong to it: SIGTERM to each that has not had it, or SIGKILL. Gives
 * their number, with those of whom it cannot be said yet: look again, as long as there is one.
 *
 *   commands  the pids of commands, which are no leftovers; 0 = none */
int32_t pawl_leftover_stop(struct pawl_leftover *leftover, const pid_t *commands,
                           int32_t command_count, bool is_kill);

/* Any process that holds the lock, for people to look at; 0 if none can be seen. */
pid_t pawl_leftover_holder(const struct pawl_leftover *leftover);

/* Waits for orphans that have ended. */
void pawl_leftover_reap(const pid_t *commands, int32_t command_count);

#endif
