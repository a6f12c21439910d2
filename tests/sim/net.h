/* The way between workers and engines: requests and answers are late, lost, said twice, and
 * overtake each other; the way to one worker may be cut for a while. */
#ifndef PAWL_TESTS_SIM_NET_H
#define PAWL_TESTS_SIM_NET_H

#include "sim.h"

/* A worker's call leaves: now, later, twice or never. Clients and operators are not far away. */
void net_hand_over(struct sim *sim, struct engine *engine, struct call *call);
/* What has arrived by now goes to this engine. */
void net_deliver(struct sim *sim, struct engine *engine);
/* The answers of the move leave. */
void net_answer(struct sim *sim);
/* What has arrived by now is heard by whoever is awake. */
void net_hear(struct sim *sim);
int64_t net_next_at_ms(const struct sim *sim);
bool net_has_posts(const struct sim *sim);
/* Who sends from this machine has died. */
void net_forget(struct sim *sim, const struct worker *worker);

/* people.c */
void people_hear_letter(struct sim *sim, const struct letter *letter);

#endif
