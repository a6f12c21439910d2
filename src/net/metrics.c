#include "net/metrics.h"

#include "base/arena.h"
#include "base/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int32_t statuses[] = {
#define X(status) status,
    PAWL_METRIC_STATUSES(X)
#undef X
};
static const int64_t bounds_ms[PAWL_METRIC_BUCKETS] = {1,   2,   5,   10,   25,   50,
                                                       100, 250, 500, 1000, 5000, 60000};

enum pawl_code pawl_metrics_init(struct pawl_metrics *metrics, size_t route_count)
{
    metrics->route_count = route_count;
    metrics->requests =
        calloc((route_count + 1) * PAWL_METRIC_STATUS_COUNT, sizeof *metrics->requests);
    return metrics->requests != NULL ? PAWL_OK : PAWL_NO_MEMORY;
}

void pawl_metrics_reset(struct pawl_metrics *metrics)
{
    free(metrics->requests);
    metrics->requests = NULL;
}

void pawl_metrics_count(struct pawl_metrics *metrics, size_t at, int32_t status, int64_t took_ms)
{
    size_t slot = 0;
    while (slot < PAWL_COUNT_OF(statuses) && statuses[slot] != status) slot++;
    size_t bucket = 0;
    while (bucket < PAWL_METRIC_BUCKETS && took_ms > bounds_ms[bucket]) bucket++;
    /* Counters only: nothing else is read by what they say. */
    atomic_fetch_add_explicit(&metrics->requests[at * PAWL_METRIC_STATUS_COUNT + slot], 1,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&metrics->buckets[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&metrics->latency_ms, (uint64_t)took_ms, memory_order_relaxed);
}

static void add(struct pawl_metrics_page *page, const char *text, size_t len)
{
    if (page->len + len > page->capacity) {
        size_t wanted = page->capacity == 0 ? 4096 : 2 * page->capacity;
        while (wanted < page->len + len) wanted *= 2;
        char *larger = pawl_arena_resize(page->keep, page->ptr, page->capacity, wanted);
        if (larger == NULL) {
            page->has_failed = true;
            return;
        }
        page->ptr = larger;
        page->capacity = wanted;
    }
    memcpy(page->ptr + page->len, text, len);
    page->len += len;
}

enum { LINE_BYTES_MAX = 512 };

static void add_line(struct pawl_metrics_page *page, const char *line, int len)
{
    if (len > 0 && len < LINE_BYTES_MAX && !page->has_failed) add(page, line, (size_t)len);
}

void pawl_metrics_help(struct pawl_metrics_page *page, const char *name, const char *type,
                       const char *help)
{
    char line[LINE_BYTES_MAX];
    add_line(page, line,
             snprintf(line, sizeof line, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type));
}

void pawl_metrics_line(struct pawl_metrics_page *page, const char *name, const char *labels,
                       int64_t value)
{
    char line[LINE_BYTES_MAX];
    const char *open = labels[0] != '\0' ? "{" : "";
    const char *close = labels[0] != '\0' ? "}" : "";
    add_line(
        page, line,
        snprintf(line, sizeof line, "%s%s%s%s %" PRId64 "\n", name, open, labels, close, value));
}

static void print_requests(const struct pawl_metrics *metrics, const struct pawl_router *router,
                           struct pawl_metrics_page *page)
{
    static const char name[] = "pawl_http_requests_total";
    pawl_metrics_help(page, name, "counter", "Requests answered, by route and status.");
    for (size_t i = 0; i < (metrics->route_count + 1) * PAWL_METRIC_STATUS_COUNT; i++) {
        uint64_t count = metrics->requests[i];
        size_t at = i / PAWL_METRIC_STATUS_COUNT;
        size_t slot = i % PAWL_METRIC_STATUS_COUNT;
        if (count == 0) continue;
        const struct pawl_route *route =
            at < metrics->route_count ? pawl_router_at(router, at) : NULL;
        char status[16] = "other";
        if (slot < PAWL_COUNT_OF(statuses))
            (void)snprintf(status, sizeof status, "%" PRId32, statuses[slot]);
        char labels[256];
        (void)snprintf(labels, sizeof labels, "verb=\"%s\",route=\"%s\",status=\"%s\"",
                       route != NULL ? pawl_verb_name(route->verb) : "",
                       route != NULL ? route->pattern : "", status);
        pawl_metrics_line(page, name, labels, (int64_t)count);
    }
}

static void print_latency(const struct pawl_metrics *metrics, struct pawl_metrics_page *page)
{
    uint64_t sum = 0;
    pawl_metrics_help(page, "pawl_http_request_ms", "histogram",
                      "Milliseconds from the first byte of a request to the last of its answer.");
    for (size_t i = 0; i <= PAWL_METRIC_BUCKETS; i++) {
        char labels[64] = "le=\"+Inf\"";
        sum += metrics->buckets[i];
        if (i < PAWL_METRIC_BUCKETS)
            (void)snprintf(labels, sizeof labels, "le=\"%" PRId64 "\"", bounds_ms[i]);
        pawl_metrics_line(page, "pawl_http_request_ms_bucket", labels, (int64_t)sum);
    }
    pawl_metrics_line(page, "pawl_http_request_ms_sum", "", (int64_t)metrics->latency_ms);
    pawl_metrics_line(page, "pawl_http_request_ms_count", "", (int64_t)sum);
}

void pawl_metrics_print(const struct pawl_metrics *metrics, const struct pawl_router *router,
                        struct pawl_metrics_page *page)
{
    print_requests(metrics, router, page);
    print_latency(metrics, page);
    pawl_metrics_help(page, "pawl_http_connections", "gauge", "Connections open now.");
    pawl_metrics_line(page, "pawl_http_connections", "", metrics->connections);
    pawl_metrics_help(page, "pawl_http_exchanges", "gauge", "Requests under way now.");
    pawl_metrics_line(page, "pawl_http_exchanges", "", metrics->exchanges);
    pawl_metrics_help(page, "pawl_http_accepted_total", "counter", "Connections accepted.");
    pawl_metrics_line(page, "pawl_http_accepted_total", "", (int64_t)metrics->accepted);
    pawl_metrics_help(page, "pawl_http_turned_away_total", "counter",
                      "Connections beyond the limit.");
    pawl_metrics_line(page, "pawl_http_turned_away_total", "", (int64_t)metrics->turned_away);
}
