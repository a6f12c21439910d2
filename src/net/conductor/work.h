/* What polls and updates share: a claim of Conductor's wire, and what it was granted as JSON. */
#ifndef PAWL_NET_CONDUCTOR_WORK_H
#define PAWL_NET_CONDUCTOR_WORK_H

#include "net/ask.h"
#include "net/conductor/conductor.h"

/* Workers that give no name are one. */
#define PAWL_CONDUCTOR_NOBODY PAWL_STR_INIT("nobody")

struct pawl_polling {
    struct pawl_claim claim;
    struct pawl_poll poll;
    struct pawl_str queue;
    struct pawl_str worker_id; /* as it was said; may be empty */
    struct pawl_claimed claimed;
};

/* Fills a CLAIM of this queue by this worker; polling lives as long as the request. An empty queue is
 * for one that polling->poll.after names. */
void pawl_polling_fill(struct pawl_polling *polling, const struct pawl_conductor *conductor,
                       struct pawl_str queue, struct pawl_str worker_id,
                       struct pawl_request *request);

/* One of its grants, as a Task.
 *
 *   left_ms  how much of its lease is left */
void pawl_polling_put(const struct pawl_polling *polling, const struct pawl_conductor *conductor,
                      const struct pawl_grant *grant, int64_t left_ms, struct pawl_json_writer *w);

#endif
