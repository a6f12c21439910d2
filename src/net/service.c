#include "net/service.h"

#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "net/exchange.h"
#include "net/figures.h"
#include "net/metrics.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct look {
    struct pawl_exchange *exchange;
    void (*act)(struct pawl_service *service, struct pawl_exchange *exchange);
};

struct pawl_service {
    struct pawl *pawl;                /* borrowed */
    const struct pawl_server *server; /* borrowed */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct look looks[PAWL_NET_LOOKS_MAX]; /* the first look_count; under the lock */
    size_t look_count;
    bool is_stopped;
};

/* ---- The thread that looks
 * ----------------------------------------------------------------------------- */

static void *look_for_all(void *self)
{
    struct pawl_service *service = self;
    (void)pthread_mutex_lock(&service->lock);
    for (;;) {
        while (service->look_count == 0 && !service->is_stopped) {
            (void)pthread_cond_wait(&service->changed, &service->lock);
        }
        if (service->look_count == 0) break;
        struct look look = service->looks[0];
        service->look_count--;
        memmove(service->looks, service->looks + 1, service->look_count * sizeof look);
        (void)pthread_mutex_unlock(&service->lock);
        look.act(service, look.exchange);
        (void)pthread_mutex_lock(&service->lock);
    }
    (void)pthread_mutex_unlock(&service->lock);
    return NULL;
}

static void hand_over(struct pawl_service *service, struct pawl_exchange *exchange,
                      void (*act)(struct pawl_service *service, struct pawl_exchange *exchange))
{
    (void)pthread_mutex_lock(&service->lock);
    bool has_room = !service->is_stopped && service->look_count < PAWL_NET_LOOKS_MAX;
    if (has_room) {
        service->looks[service->look_count++] = (struct look){exchange, act};
        (void)pthread_cond_signal(&service->changed);
    }
    (void)pthread_mutex_unlock(&service->lock);
    if (has_room) return;
    struct pawl_error err = {0};
    (void)pawl_error_set(&err, PAWL_BUSY,
                         "%d looks at the store are waiting already, or the server is stopping",
                         PAWL_NET_LOOKS_MAX);
    pawl_exchange_answer_error(exchange, &err, NULL);
}

/* ---- Handlers
 * ------------------------------------------------------------------------------------------ */

static const char json_type[] = "application/json";

static void health(struct pawl_exchange *exchange, void *self)
{
    (void)self;
    pawl_exchange_answer(exchange, 200, json_type, PAWL_STR("{\"healthy\":true}"));
}

static void conductor_health(struct pawl_exchange *exchange, void *self)
{
    (void)self;
    pawl_exchange_answer(
        exchange, 200, json_type,
        PAWL_STR("{\"healthResults\":[],\"suppressedHealthResults\":[],\"healthy\":true}"));
}

static void version(struct pawl_exchange *exchange, void *self)
{
    (void)self;
    pawl_exchange_answer(exchange, 200, json_type,
                         PAWL_STR("{\"version\":\"" PAWL_VERSION_TEXT "\"}"));
}

static void conductor_version(struct pawl_exchange *exchange, void *self)
{
    (void)self;
    pawl_exchange_answer_text(exchange, 200, PAWL_STR(PAWL_VERSION_TEXT));
}

static void openapi(struct pawl_exchange *exchange, void *self)
{
    struct pawl_service *service = self;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, exchange->arena);
    pawl_router_describe(pawl_server_router(service->server), &w);
    pawl_exchange_answer_json(exchange, 200, &w);
}

/* The store answers a look at its newest event, which costs nothing. */
static void look_ready(struct pawl_service *service, struct pawl_exchange *exchange)
{
    struct pawl_tally tally = {0};
    struct pawl_error err = {0};
    if (pawl_events_tally(service->pawl, -1, exchange->arena, &tally, &err) == PAWL_OK) {
        pawl_exchange_answer(exchange, 200, json_type, PAWL_STR("{\"ready\":true}"));
        return;
    }
    struct pawl_refusal refusal = {.status = 503, .err = err};
    pawl_exchange_refuse(exchange, &refusal, false);
}

static void ready(struct pawl_exchange *exchange, void *self)
{
    struct pawl_service *service = self;
    if (!pawl_server_is_draining(service->server)) {
        hand_over(service, exchange, look_ready);
        return;
    }
    struct pawl_error err = {0};
    (void)pawl_error_set(&err, PAWL_BUSY, "the server is stopping");
    pawl_exchange_answer_error(exchange, &err, NULL);
}

static void look_metrics(struct pawl_service *service, struct pawl_exchange *exchange)
{
    struct pawl_metrics_page page = {.keep = exchange->arena};
    pawl_metrics_print(pawl_server_metrics(service->server), pawl_server_router(service->server),
                       &page);
    pawl_figures_print(service->pawl, &page);
    if (page.has_failed) {
        struct pawl_error err = {0};
        (void)pawl_error_set(&err, PAWL_NO_MEMORY, "no room for the page");
        pawl_exchange_answer_error(exchange, &err, NULL);
        return;
    }
    pawl_exchange_answer(exchange, 200, "text/plain; version=0.0.4; charset=utf-8",
                         (struct pawl_str){page.ptr, page.len});
}

static void metrics(struct pawl_exchange *exchange, void *self)
{
    hand_over(self, exchange, look_metrics);
}

/* clang-format off */
static const struct pawl_route routes[] = {
    {PAWL_VERB_GET, "/health", PAWL_ROLE_NONE, "Whether the process answers.", health, PAWL_ROUTE_DRAINS},
    {PAWL_VERB_GET, "/ready", PAWL_ROLE_NONE, "Whether the store answers and requests are taken; 503 if not.", ready,
     PAWL_ROUTE_DRAINS},
    {PAWL_VERB_GET, "/metrics", PAWL_ROLE_VIEWER, "Counters and gauges, in the text form of Prometheus.", metrics,
     PAWL_ROUTE_DRAINS},
    {PAWL_VERB_GET, "/v1/version", PAWL_ROLE_NONE, "The version of the server.", version, PAWL_ROUTE_DRAINS},
    {PAWL_VERB_GET, "/v1/openapi.json", PAWL_ROLE_NONE, "This document.", openapi, 0},
    {PAWL_VERB_GET, "/api/health", PAWL_ROLE_NONE, "Health, in Conductor's form.", conductor_health, PAWL_ROUTE_DRAINS},
    {PAWL_VERB_GET, "/api/version", PAWL_ROLE_NONE, "The version of the server, as text.", conductor_version,
     PAWL_ROUTE_DRAINS},
};
/* clang-format on */

/* ---- Its life
 * ------------------------------------------------------------------------------------------ */

enum pawl_code pawl_service_open(struct pawl_service **out, struct pawl *pawl,
                                 struct pawl_error *err)
{
    struct pawl_service *service = calloc(1, sizeof *service);
    if (service == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the server");
    service->pawl = pawl;
    bool has_lock = pthread_mutex_init(&service->lock, NULL) == 0;
    bool has_both = has_lock && pthread_cond_init(&service->changed, NULL) == 0;
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are the main thread's */
    bool has_thread =
        has_both && pthread_create(&service->thread, NULL, look_for_all, service) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (has_thread) {
        *out = service;
        return PAWL_OK;
    }
    if (has_both) (void)pthread_cond_destroy(&service->changed);
    if (has_lock) (void)pthread_mutex_destroy(&service->lock);
    free(service);
    return pawl_error_set(err, PAWL_NO_MEMORY, "cannot start a thread for the server");
}

struct pawl_route_table pawl_service_table(struct pawl_service *service)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), service};
}

void pawl_service_begin(struct pawl_service *service, const struct pawl_server *server)
{
    service->server = server;
}

void pawl_service_stop(struct pawl_service *service)
{
    if (service->is_stopped) return; /* written by this thread only */
    (void)pthread_mutex_lock(&service->lock);
    service->is_stopped = true; /* what was taken is still answered */
    (void)pthread_cond_signal(&service->changed);
    (void)pthread_mutex_unlock(&service->lock);
    (void)pthread_join(service->thread, NULL);
}

void pawl_service_close(struct pawl_service *service)
{
    if (service == NULL) return;
    pawl_service_stop(service);
    (void)pthread_cond_destroy(&service->changed);
    (void)pthread_mutex_destroy(&service->lock);
    free(service);
}
