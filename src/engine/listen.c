/* The events of a step are rendered once, into a batch that all listeners share; each has a queue of its own
 * into the batches, and a thread of its own, so that a slow one harms only itself. What it has not heard yet is
 * bounded: beyond that the oldest go, and the next one it hears tells of the gap.
 *
 * Of a driven handle there are no threads: whoever has run a step tells of it when the step is over and its
 * lock is free, so that a listener may call back. What such a call causes is told by the one who is telling
 * already, in order. */
#include "engine/listen.h"

#include "base/assert.h"
#include "base/error.h"
#include "core/task/metadata.h"
#include "store/render.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The events of one step, with the memory they live in. */
struct batch {
    struct pawl_arena *arena; /* owned */
    struct pawl_event *events;
    size_t count;
    size_t holders; /* queues it is in, and whoever is telling of it */
};

/* A batch in one listener's queue. */
struct waiting {
    struct waiting *next;
    struct batch *batch; /* held */
    size_t at;           /* the first event not told yet */
};

/* One listener, with what it has not heard yet. */
struct ear {
    struct pawl_listening *of;
    struct pawl_listener listener;
    bool has_thread;
    pthread_t thread;
    pthread_cond_t added;
    struct waiting *first;
    struct waiting *last;
    size_t count; /* events waiting */
    bool has_gap; /* something was dropped since the last one told */
};

struct pawl_listening {
    bool has_threads;
    pthread_mutex_t lock; /* guards what follows, queues included */
    bool is_stopping;
    bool is_telling; /* driven: somebody is at it */
    struct ear *ears; /* owned array */
    size_t ear_count;
};

/* ---- Queues; all under the lock ---- */

static void batch_let_go(struct batch *batch)
{
    pawl_assert(batch->holders > 0);
    if (--batch->holders > 0) return;
    pawl_arena_close(batch->arena);
    free(batch);
}

static void drop_first(struct ear *ear)
{
    struct waiting *first = ear->first;
    ear->first = first->next;
    if (ear->first == NULL) ear->last = NULL;
    batch_let_go(first->batch);
    free(first);
}

/* The oldest ones go until no more than the bound wait. */
static void drop_oldest(struct ear *ear)
{
    while (ear->count > PAWL_LISTENER_EVENTS_MAX) {
        size_t excess = ear->count - PAWL_LISTENER_EVENTS_MAX;
        size_t left = ear->first->batch->count - ear->first->at;
        size_t gone = excess < left ? excess : left;
        ear->first->at += gone;
        ear->count -= gone;
        ear->has_gap = true;
        if (gone == left) drop_first(ear);
    }
}

static void queue(struct ear *ear, struct batch *batch)
{
    struct waiting *waiting = calloc(1, sizeof *waiting);
    if (waiting == NULL) {
        ear->has_gap = true;
        return;
    }
    waiting->batch = batch;
    batch->holders++;
    if (ear->last == NULL) {
        ear->first = waiting;
    } else {
        ear->last->next = waiting;
    }
    ear->last = waiting;
    ear->count += batch->count;
    /* who tells himself is not slow, unless he is still at what came before */
    bool may_drop = ear->of->has_threads || ear->of->is_telling;
    if (may_drop) drop_oldest(ear);
    (void)pthread_cond_signal(&ear->added);
}

/* Tells the ear its oldest event, outside the lock. */
static void tell_first(struct ear *ear)
{
    struct pawl_listening *listening = ear->of;
    struct batch *batch = ear->first->batch;
    struct pawl_event event = batch->events[ear->first->at++]; /* a copy: gaps are its own */
    event.has_gap = ear->has_gap;
    ear->has_gap = false;
    ear->count--;
    batch->holders++;
    if (ear->first->at == batch->count) drop_first(ear);
    (void)pthread_mutex_unlock(&listening->lock);
    ear->listener.heard(ear->listener.self, &event);
    (void)pthread_mutex_lock(&listening->lock);
    batch_let_go(batch);
}

static void *listen_thread(void *argument)
{
    struct ear *ear = argument;
    struct pawl_listening *listening = ear->of;
    (void)pthread_mutex_lock(&listening->lock);
    while (ear->first != NULL || !listening->is_stopping) {
        if (ear->first != NULL) {
            tell_first(ear);
        } else {
            (void)pthread_cond_wait(&ear->added, &listening->lock);
        }
    }
    (void)pthread_mutex_unlock(&listening->lock);
    return NULL;
}

/* ---- Opening and closing ---- */

enum pawl_code pawl_listening_open(struct pawl_listening **out, const struct pawl_listener *listeners,
                                   size_t count, bool has_threads, struct pawl_error *err)
{
    struct pawl_listening *listening = calloc(1, sizeof *listening);
    if (listening != NULL) listening->ears = calloc(count, sizeof *listening->ears);
    if (listening == NULL || listening->ears == NULL) {
        free(listening);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for listeners");
    }
    listening->has_threads = has_threads;
    listening->ear_count = count;
    (void)pthread_mutex_init(&listening->lock, NULL);
    for (size_t i = 0; i < count; i++) {
        struct ear *ear = &listening->ears[i];
        ear->of = listening;
        ear->listener = listeners[i];
        (void)pthread_cond_init(&ear->added, NULL);
    }
    for (size_t i = 0; i < count && has_threads; i++) {
        struct ear *ear = &listening->ears[i];
        ear->has_thread = pthread_create(&ear->thread, NULL, listen_thread, ear) == 0;
        if (ear->has_thread) continue;
        pawl_listening_close(listening);
        return pawl_error_set(err, PAWL_NO_MEMORY, "cannot start a thread for a listener");
    }
    *out = listening;
    return PAWL_OK;
}

void pawl_listening_close(struct pawl_listening *listening)
{
    if (listening == NULL) return;
    (void)pthread_mutex_lock(&listening->lock);
    listening->is_stopping = true;
    for (size_t i = 0; i < listening->ear_count; i++) {
        (void)pthread_cond_signal(&listening->ears[i].added);
    }
    (void)pthread_mutex_unlock(&listening->lock);
    for (size_t i = 0; i < listening->ear_count; i++) {
        struct ear *ear = &listening->ears[i];
        if (ear->has_thread) (void)pthread_join(ear->thread, NULL);
        while (ear->first != NULL) drop_first(ear); /* without a thread nobody hears it any more */
        (void)pthread_cond_destroy(&ear->added);
    }
    (void)pthread_mutex_destroy(&listening->lock);
    free(listening->ears);
    free(listening);
}

/* ---- Telling ---- */

static struct batch *batch_make(const struct pawl_append *events, struct pawl_str store_id)
{
    struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return NULL;
    batch->holders = 1; /* its maker */
    if (pawl_arena_open(&batch->arena, 0) == PAWL_OK) {
        batch->events = pawl_arena_take_array(batch->arena, events->count, sizeof *batch->events);
    }
    for (size_t i = 0; batch->events != NULL && i < events->count; i++) {
        const struct pawl_event_new *event = ((struct pawl_event_new *const *)events->items)[i];
        const struct pawl_task_row *task = event->task;
        /* what is told outlives the step */
        struct pawl_event_about about = {
            .store_id = store_id,
            .task_id = pawl_arena_copy(batch->arena, task->id),
            .queue = pawl_arena_copy(batch->arena, event->queue_name),
            .title = pawl_arena_copy(batch->arena, task->title),
            .correlation_id = pawl_correlation_id(task->id, task->correlation_id, batch->arena),
            .max_retries = task->retry.max_retries,
        };
        struct pawl_event_row row = event->row;
        row.actor = pawl_arena_copy(batch->arena, row.actor);
        pawl_event_render_about(&row, &about, batch->arena, &batch->events[i]);
        batch->count++;
    }
    if (batch->arena != NULL && pawl_arena_code(batch->arena) == PAWL_OK) return batch;
    batch_let_go(batch);
    return NULL;
}

void pawl_listening_tell(struct pawl_listening *listening, const struct pawl_append *events,
                         struct pawl_str store_id)
{
    if (listening == NULL || events->count == 0) return;
    struct batch *batch = batch_make(events, store_id);
    (void)pthread_mutex_lock(&listening->lock);
    for (size_t i = 0; i < listening->ear_count; i++) {
        if (batch == NULL) {
            listening->ears[i].has_gap = true;
        } else {
            queue(&listening->ears[i], batch);
        }
    }
    if (batch != NULL) batch_let_go(batch);
    (void)pthread_mutex_unlock(&listening->lock);
}

void pawl_listening_tell_now(struct pawl_listening *listening)
{
    if (listening == NULL || listening->has_threads) return;
    (void)pthread_mutex_lock(&listening->lock);
    if (!listening->is_telling) {
        listening->is_telling = true;
        /* from the start after each one: what a listener does may be news for those before it */
        for (size_t i = 0; i < listening->ear_count;) {
            bool has_news = listening->ears[i].first != NULL;
            if (has_news) tell_first(&listening->ears[i]);
            i = has_news ? 0 : i + 1;
        }
        listening->is_telling = false;
    }
    (void)pthread_mutex_unlock(&listening->lock);
}
