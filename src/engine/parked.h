/* Claims that found nothing and wait: in a line before each queue they name, in the order in which
 * they came.
 *
 * A queue is *roused* when something may have become ready in it. Then as many claims of its line
 * are taken as may be served, so that a step costs what has become ready and not how many wait. The
 * engine's thread alone. */
#ifndef PAWL_ENGINE_PARKED_H
#define PAWL_ENGINE_PARKED_H

#include "core/step.h"

struct pawl_parked;
struct pawl_request;

struct pawl_requests { /* a list, oldest first */
    struct pawl_request *first;
    struct pawl_request *last;
    size_t count;
};

void pawl_requests_add(struct pawl_requests *list, struct pawl_request *request);
struct pawl_request *pawl_requests_take(struct pawl_requests *list);

struct pawl_parked *pawl_parked_open(void); /* NULL without memory */
void pawl_parked_close(struct pawl_parked *parked);

size_t pawl_parked_count(const struct pawl_parked *parked);

/* Puts a claim in, at the place it had if it has been here before, until its until_boot_ms. What it
 * found empty is not roused any more. set is that of the step that ran it.
 *
 *   returns  false without memory: it is not in */
bool pawl_parked_put(struct pawl_parked *parked, struct pawl_request *request,
                     const struct pawl_set *set);

/* The same for one that was taken in vain, since its step has failed: its queues are roused. */
bool pawl_parked_put_back(struct pawl_parked *parked, struct pawl_request *request);

/* Takes one out that is in. */
void pawl_parked_remove(struct pawl_parked *parked, struct pawl_request *request);

/* Whether a request is in. */
bool pawl_parked_holds(const struct pawl_request *request);

/* Rouses the queues that a step has made something ready in, and empties its notes. */
void pawl_parked_rouse(struct pawl_parked *parked, struct pawl_step *step);
void pawl_parked_rouse_all(struct pawl_parked *parked);
/* The queues that a claim names: it was taken, and has taken nothing itself, so what it was taken for is still there. */
void pawl_parked_rouse_for(struct pawl_parked *parked, const struct pawl_request *request);
bool pawl_parked_is_roused(const struct pawl_parked *parked);

/* Adds to a list those claims of roused queues that may be served, at most max. */
void pawl_parked_take(struct pawl_parked *parked, struct pawl_requests *list, size_t max);

/* Rouses the queues of those whose opens_boot_ms has come. */
void pawl_parked_rouse_opened(struct pawl_parked *parked, int64_t now_boot_ms);

/* The earliest until_boot_ms or opens_boot_ms; INT64_MAX if nobody waits. */
int64_t pawl_parked_until(const struct pawl_parked *parked);

/* Adds to a list those whose time is over, or who have given up; or all. Costs what it adds, and a look at each claim
 * that has a flag to give up by: those are this process's own claimers. */
void pawl_parked_take_waited_out(struct pawl_parked *parked, int64_t now_boot_ms, bool is_all,
                                 struct pawl_requests *list);

/* The names of the queues before which somebody waits, borrowed until the next change.
 *
 *   returns  their number; beyond max names are left out */
size_t pawl_parked_queues(const struct pawl_parked *parked, struct pawl_str *names, size_t max);

#endif
