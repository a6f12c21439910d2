/* One run of the command for one task: the process, what it is given, and what it prints.
 *
 * It runs in a process group of its own, which ends with it; whatever of the group is left when it
 * has ended is killed. It gets SIGTERM when the thread that started it ends, so that thread must
 * live as long as the worker. Standard input is the task's file; standard output is kept, standard
 * error handed on as it comes. Descriptor PAWL_PROCESS_LOCK_FD is the lock of its execution, which
 * its children inherit. Threads: the worker's only. */
#ifndef PAWL_WORKER_PROCESS_H
#define PAWL_WORKER_PROCESS_H

#include "pawl.h"
#include "worker/ending.h"

#include <sys/resource.h>
#include <sys/types.h>

enum {
    /* Beyond what shells use for themselves (10 and up, 255) and scripts by hand (3 to 9). */
    PAWL_PROCESS_LOCK_FD = 100,
    /* Of one argument of a command, without its zero: Linux takes 32 pages, of 4 KiB at the least.
     */
    PAWL_PROCESS_ARGUMENT_BYTES_MAX = 128 * 1024 - 1,
};

/* Descriptors with low numbers, through which a child gets its own: it is given no other of ours, see spawn(). */
enum { PAWL_LOW_IN, PAWL_LOW_OUT, PAWL_LOW_ERR, PAWL_LOW_START, PAWL_LOW_LOCK, PAWL_LOW_NONE, PAWL_LOW_COUNT };
struct pawl_low_fds {
    int fds[PAWL_LOW_COUNT]; /* owned; -1 = not open */
};
enum pawl_code pawl_low_fds_open(struct pawl_low_fds *low, struct pawl_error *err) PAWL_MUST_USE;
void pawl_low_fds_close(struct pawl_low_fds *low); /* takes half-open ones */

/* What all runs have in common; borrowed while a process lives. */
struct pawl_process_plan {
    char *const *argv;        /* NULL-terminated */
    char *const *environment; /* NAME=VALUE, NULL-terminated; the task's are added */
    const char *cwd;          /* NULL = the worker's own */
    const char *folder;       /* for the files of tasks; private to this worker */
    struct pawl_str store;    /* PAWL_DB */
    const struct pawl_low_fds *low;
    struct rlimit files; /* of descriptors, as the worker found it; zero = it is as it was */
};

enum pawl_start {
    PAWL_START_UNKNOWN,
    PAWL_START_DONE,   /* it runs, or has run */
    PAWL_START_FAILED, /* for a reason of this machine: its program or its folder is not to be had
                        */
};

struct pawl_process {
    pid_t pid; /* 0 = none; of the process group too */
    int out_fd;
    int err_fd;   /* -1 once they have been read to the end */
    int start_fd; /* tells why the command could not be run; -1 once that is known */
    enum pawl_start start;
    bool has_exited;
    int wait_status;    /* once has_exited */
    char **environment; /* in the arena */
    char task_path[256];
    char socket_path[108];    /* what an address holds */
    int listen_fd;            /* of it; -1 once somebody has taken it over */
    struct pawl_arena *arena; /* borrowed: what it prints is kept here */
    char *printed;
    size_t printed_len;
    size_t printed_capacity;
    bool is_cut;                          /* it printed more than PAWL_RESULT_BYTES_MAX */
    char tail[PAWL_ERROR_TAIL_BYTES_MAX]; /* the end of standard error */
    size_t tail_len;
};

/* Makes all that the command for a task is given, and starts nothing.
 *
 *   number  of the slot: names the files
 *   arena   for the environment, and for what is printed until the process is closed
 *   fails   PAWL_IO, PAWL_NO_MEMORY; nothing is left behind */
enum pawl_code pawl_process_prepare(struct pawl_process *process,
                                    const struct pawl_process_plan *plan,
                                    const struct pawl_grant *grant, int32_t number,
                                    struct pawl_arena *arena, struct pawl_error *err) PAWL_MUST_USE;

/* Starts a process for the command, with the lock of its execution. PAWL_IO; what was prepared
 * stays. Whether it can be run is known a little later. */
enum pawl_code pawl_process_start(struct pawl_process *process,
                                  const struct pawl_process_plan *plan, int lock_fd,
                                  struct pawl_error *err) PAWL_MUST_USE;

/* Whether the command runs; for one that does not, err says why. Known at the latest when it has
 * exited; start_fd is readable when it becomes known. */
enum pawl_start pawl_process_started(struct pawl_process *process,
                                     const struct pawl_process_plan *plan, struct pawl_error *err);

/* To the whole group; nothing once it has exited. */
void pawl_process_signal(struct pawl_process *process, int signal_number);

/* Notices an exit, and kills what is left of the group. */
void pawl_process_look(struct pawl_process *process);

/* Reads what was printed, without waiting. After the exit, a pipe that is empty is at its end,
 * whoever else may hold it. */
void pawl_process_read_out(struct pawl_process *process);

/* Reads at most room bytes of standard error into bytes; gives how many. */
size_t pawl_process_read_err(struct pawl_process *process, char *bytes, size_t room);

/* Whether it has exited and everything is read. */
bool pawl_process_is_over(const struct pawl_process *process);

/* Removes the files. It must be over, or never have started. */
void pawl_process_close(struct pawl_process *process);

/* Looks for the program as the command will, before any task depends on it. PAWL_NOT_FOUND. */
enum pawl_code pawl_process_check(const struct pawl_process_plan *plan,
                                  struct pawl_error *err) PAWL_MUST_USE;

#endif
