/* Who has asked for which queue, and when last: what Conductor calls poll data. This server's alone,
 * since it began; any thread. */
#ifndef PAWL_NET_CONDUCTOR_POLLS_H
#define PAWL_NET_CONDUCTOR_POLLS_H

#include "pawl.h"

struct pawl_polls;

enum pawl_code pawl_polls_open(struct pawl_polls **out, struct pawl_error *err) PAWL_MUST_USE;
void pawl_polls_close(struct pawl_polls *polls); /* takes NULL */

/* Beyond PAWL_CONDUCTOR_QUEUES_MAX queues a new one is not noted. */
void pawl_polls_note(struct pawl_polls *polls, struct pawl_str queue, struct pawl_str worker_id,
                     int64_t at_ms);

struct pawl_poll_seen {
    struct pawl_str queue;
    struct pawl_str worker_id; /* empty = not said */
    int64_t at_ms;
};

/* All of them, in keep, in the order in which they were first asked for.
 *
 *   fails  of keep */
enum pawl_code pawl_polls_list(struct pawl_polls *polls, struct pawl_arena *keep,
                               struct pawl_poll_seen **out, size_t *count,
                               struct pawl_error *err) PAWL_MUST_USE;

#endif
