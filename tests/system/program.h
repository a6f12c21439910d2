/* `pawl server` as a process that may be killed at any moment, and clients that ask again until it
 * has answered. It listens on a socket in a folder of the test, so that nobody else ever answers in
 * its place. Threads may ask while one of them kills and starts it. */
#ifndef PAWL_TESTS_SYSTEM_PROGRAM_H
#define PAWL_TESTS_SYSTEM_PROGRAM_H

#include "pawl.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

enum { PROGRAM_PATH_BYTES = 100, PROGRAM_TARGET_BYTES = 600 };

struct program {
    char target[PROGRAM_TARGET_BYTES]; /* its store */
    char socket[PROGRAM_PATH_BYTES];
    pid_t pid;             /* 0 = none */
    int64_t kills;         /* so far */
    _Atomic bool gives_up; /* nobody asks again any more */
};

/* Returns when it takes requests; false: it has said why on stderr. It dies with the thread that
 * starts it. */
bool program_start(struct program *program);
/* SIGKILL; returns when it has gone. */
void program_kill(struct program *program);
/* SIGTERM; its exit status, -1 for a signal. */
int program_stop(struct program *program);
/* Another command on the same store; its exit status, and what it printed in keep. */
int program_run(const struct program *program, const char *const *arguments,
                struct pawl_arena *keep, struct pawl_str *printed);

enum reply_lease { REPLY_LEASE_NONE, REPLY_LEASE_DONE, REPLY_LEASE_LOST };

struct reply {
    int status;           /* 0 = no whole answer came */
    struct pawl_str body; /* in keep */
    enum reply_lease lease;
    bool is_repeated; /* an earlier copy of the request was not answered: it may have been done */
};

/* "VERB PATH", body NULL = none. Asks once. */
struct reply program_ask_once(const struct program *program, const char *line, const char *body,
                              struct pawl_arena *keep);
/* Asks again until there is an answer other than 503. */
struct reply program_ask(const struct program *program, const char *line, const char *body,
                         struct pawl_arena *keep);

#endif
