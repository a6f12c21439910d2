/* What polls and updates share: a claim of Conductor's wire, and what it was granted as JSON. */
#ifndef PAWL_NET_CONDUCTOR_WORK_H
#define PAWL_NET_CONDUCTOR_WORK_H

#include "net/ask.h"
#include "net/conductor/conductor.h"
#include "net/readers.h"

/* Workers that give no name are one. */
#define PAWL_CONDUCTOR_NOBODY PAWL_STR_INIT("nobody")

struct pawl_polling {
    struct pawl_claim claim;
    struct pawl_poll poll;
    struct pawl_str queue;
    struct pawl_str worker_id; /* as it was said; may be empty */
    struct pawl_claimed claimed;
    /* of its answer */
    const struct pawl_conductor *conductor;
    const struct pawl_ask *ask;
    struct pawl_read read;
    bool is_single;
};

/* Fills a CLAIM of this queue by this worker, who speaks from this address; polling lives as long as the request. An empty queue is
 * for one that polling->poll.after names. */
void pawl_polling_fill(struct pawl_polling *polling, const struct pawl_conductor *conductor,
                       struct pawl_str queue, struct pawl_str worker_id, struct pawl_str peer,
                       struct pawl_request *request);

/* Answers with what it was granted, at least one: an array of Tasks, or one. What belongs to
 * workflows is read first, by a reader. Should the answer not be sent, all is given back. */
void pawl_polling_answer(struct pawl_polling *polling, const struct pawl_conductor *conductor,
                         const struct pawl_ask *ask, bool is_single);

#endif
