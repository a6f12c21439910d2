/* Requests that wait until a workflow has come to something: one thread looks for all of them, when
 * anything was committed and some of them are due for a look. */
#ifndef PAWL_NET_CONDUCTOR_WAITS_H
#define PAWL_NET_CONDUCTOR_WAITS_H

#include "net/exchange.h"
#include "store/read.h"

struct pawl_waits;

/* One that waits; in its exchange's arena. */
struct pawl_wait {
    struct pawl_exchange *exchange;
    /* On the thread of the waits. Answers the exchange and returns true, or false to go on waiting,
     * which it must not when is_over. reader NULL: err says why the store cannot be read. */
    bool (*look)(struct pawl_wait *wait, struct pawl_reader *reader, bool is_over,
                 const struct pawl_error *err);
    int64_t wait_ms;
    int64_t until_boot_ms; /* set by add */
    struct pawl_wait *next;
};

/* pawl is borrowed until close, as what options point to. */
enum pawl_code pawl_waits_open(struct pawl_waits **out, struct pawl *pawl,
                               struct pawl_error *err) PAWL_MUST_USE;
/* After the server, which waits for their answers: nobody adds any more. Takes NULL. */
void pawl_waits_close(struct pawl_waits *waits);

/* Any thread; does not wait. Beyond PAWL_CONDUCTOR_WAITS_MAX it is over at once. */
void pawl_waits_add(struct pawl_waits *waits, struct pawl_wait *wait);

#endif
