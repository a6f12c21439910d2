/* Counters of the server and their page. They are added to from loop threads and read from any. */
#ifndef PAWL_NET_METRICS_H
#define PAWL_NET_METRICS_H

#include "net/route.h"
#include "pawl.h"

#include <stdatomic.h>

/* Statuses that are counted apart; all others together. */
/* clang-format off */
#define PAWL_METRIC_STATUSES(X)                                                                    \
    X(200) X(201) X(202) X(204) X(400) X(401) X(403) X(404) X(405) X(408) X(409) X(413) X(414)     \
    X(417) X(429) X(431) X(500) X(503) X(504)
/* clang-format on */

enum {
#define X(status) +1
    PAWL_METRIC_STATUS_COUNT = 1 PAWL_METRIC_STATUSES(X),
#undef X
    PAWL_METRIC_BUCKETS = 12,
};

struct pawl_metrics {
    size_t route_count;         /* and one more for what has no route */
    _Atomic uint64_t *requests; /* owned; [route][status] */
    _Atomic uint64_t buckets[PAWL_METRIC_BUCKETS +
                             1]; /* of the time from the first byte to the last; not summed */
    _Atomic uint64_t latency_ms;
    _Atomic int64_t connections; /* now */
    _Atomic int64_t exchanges;   /* under way now */
    _Atomic uint64_t accepted;
    _Atomic uint64_t turned_away; /* connections beyond the limit, or without a descriptor */
};

enum pawl_code pawl_metrics_init(struct pawl_metrics *metrics, size_t route_count) PAWL_MUST_USE;
void pawl_metrics_reset(struct pawl_metrics *metrics); /* takes one that was never made */

/* at: the route's number; route_count = none. */
void pawl_metrics_count(struct pawl_metrics *metrics, size_t at, int32_t status, int64_t took_ms);

/* Text of the Prometheus exposition format, growing in an arena. */
struct pawl_metrics_page {
    struct pawl_arena *keep;
    char *ptr;
    size_t len;
    size_t capacity;
    bool has_failed;
};

void pawl_metrics_help(struct pawl_metrics_page *page, const char *name, const char *type,
                       const char *help);
void pawl_metrics_line(struct pawl_metrics_page *page, const char *name, const char *labels,
                       int64_t value);
void pawl_metrics_print(const struct pawl_metrics *metrics, const struct pawl_router *router,
                        struct pawl_metrics_page *page);

#endif
