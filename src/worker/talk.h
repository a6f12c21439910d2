/* What a command says of its own task while it runs, over a socket in the worker's private folder:
 * lines of words, each answered by one line. docs/worker-socket.md has the words.
 *
 *   progress 42.5             ok
 *   log anything              ok
 *   checkpoint 3 {"at":17}    ok
 *   retry-after 30s           ok
 *   lease                     ok {"id":"t-1",…}
 *   progress much             error INVALID percent: `much` is no number
 *
 * A thread a slot listens, asks the store and answers. Whoever is slow, sends nonsense or never
 * reads an answer holds up nothing but the talk of its own task. */
#ifndef PAWL_WORKER_TALK_H
#define PAWL_WORKER_TALK_H

#include "pawl.h"

struct pawl_keeper;
struct pawl_talk;

enum {
    /* Who talks at a time, of one task; others wait until one has gone. */
    PAWL_TALK_CLIENTS_MAX = 16,
    /* A line holds a checkpoint of the largest size and the words before it. */
    PAWL_TALK_LINE_BYTES_MAX = PAWL_PAYLOAD_BYTES_MAX + 64,
    /* Of all lines that have come in part, from all clients of one task. */
    PAWL_TALK_BYTES_MAX = 2 * PAWL_TALK_LINE_BYTES_MAX,
    /* Answers that a client has not read. Beyond, it is not read from. */
    PAWL_TALK_UNREAD_BYTES_MAX = 16 * 1024,
};

struct pawl_talk_options {
    struct pawl *pawl;
    struct pawl_keeper *keeper;
    int32_t slot; /* of the keeper */
    int heard_fd; /* rung when progress was told, and when the talk is over */
};

/* Starts the thread. PAWL_NO_MEMORY, PAWL_IO. */
enum pawl_code pawl_talk_open(struct pawl_talk **out, const struct pawl_talk_options *options,
                              struct pawl_error *err) PAWL_MUST_USE;
void pawl_talk_close(struct pawl_talk *talk); /* only between tasks; takes NULL */

/* Makes a socket that only we and root can speak to; -1 on failure, with errno. */
int pawl_talk_listen(const char *path);

/* A command runs; it finds listen_fd, which is closed at the end. The fence's texts are borrowed
 * until the talk is over. ahead_ms: the clock of the store minus the boot clock. */
void pawl_talk_begin(struct pawl_talk *talk, const struct pawl_fence *fence, int64_t lease_ms,
                     int64_t ahead_ms, int listen_fd);

/* Its command has ended: what it has sent is still heard, then all connections are closed. */
void pawl_talk_end(struct pawl_talk *talk);

/* True, once, when the talk that was ended is over; then *retry_after_ms is what the command asked
 * for, -1 if it did not. */
bool pawl_talk_is_over(struct pawl_talk *talk, int64_t *retry_after_ms);

/* The progress that was told last, -1 if none was. */
double pawl_talk_progress(struct pawl_talk *talk);

#endif
