#include "engine/listen.h"

#include "base/error.h"
#include "core/task/metadata.h"
#include "store/render.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The events of one step, with the memory they live in. */
struct batch {
    struct batch *next;
    struct pawl_arena *arena; /* owned */
    struct pawl_event *events;
    size_t count;
};

struct pawl_listening {
    struct pawl_listener *listeners; /* owned copy */
    size_t listener_count;
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t added;
    struct batch *first;
    struct batch *last;
    size_t waiting;   /* events in all batches */
    bool has_gap;     /* something was dropped since the last event told */
    bool is_stopping;
};

static void batch_close(struct batch *batch)
{
    pawl_arena_close(batch->arena);
    free(batch);
}

static void tell(struct pawl_listening *listening, struct batch *batch, bool has_gap)
{
    for (size_t i = 0; i < batch->count; i++) {
        batch->events[i].has_gap = has_gap && i == 0;
        for (size_t l = 0; l < listening->listener_count; l++) {
            listening->listeners[l].heard(listening->listeners[l].self, &batch->events[i]);
        }
    }
}

static void *listen_thread(void *argument)
{
    struct pawl_listening *listening = argument;
    (void)pthread_mutex_lock(&listening->lock);
    for (;;) {
        while (listening->first == NULL && !listening->is_stopping) {
            (void)pthread_cond_wait(&listening->added, &listening->lock);
        }
        struct batch *batch = listening->first;
        if (batch == NULL) break;
        listening->first = batch->next;
        if (listening->first == NULL) listening->last = NULL;
        listening->waiting -= batch->count;
        bool has_gap = listening->has_gap;
        listening->has_gap = false;
        (void)pthread_mutex_unlock(&listening->lock);
        tell(listening, batch, has_gap);
        batch_close(batch);
        (void)pthread_mutex_lock(&listening->lock);
    }
    (void)pthread_mutex_unlock(&listening->lock);
    return NULL;
}

enum pawl_code pawl_listening_open(struct pawl_listening **out, const struct pawl_listener *listeners,
                                   size_t count, bool has_thread, struct pawl_error *err)
{
    struct pawl_listening *listening = calloc(1, sizeof *listening);
    if (listening != NULL) listening->listeners = calloc(count, sizeof *listeners);
    if (listening == NULL || listening->listeners == NULL) {
        free(listening);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for listeners");
    }
    memcpy(listening->listeners, listeners, count * sizeof *listeners);
    listening->listener_count = count;
    (void)pthread_mutex_init(&listening->lock, NULL);
    (void)pthread_cond_init(&listening->added, NULL);
    listening->has_thread =
        has_thread && pthread_create(&listening->thread, NULL, listen_thread, listening) == 0;
    if (has_thread && !listening->has_thread) {
        pawl_listening_close(listening);
        return pawl_error_set(err, PAWL_NO_MEMORY, "cannot start a thread for listeners");
    }
    *out = listening;
    return PAWL_OK;
}

void pawl_listening_close(struct pawl_listening *listening)
{
    if (listening == NULL) return;
    if (listening->has_thread) {
        (void)pthread_mutex_lock(&listening->lock);
        listening->is_stopping = true;
        (void)pthread_cond_signal(&listening->added);
        (void)pthread_mutex_unlock(&listening->lock);
        (void)pthread_join(listening->thread, NULL);
    }
    (void)pthread_mutex_destroy(&listening->lock);
    (void)pthread_cond_destroy(&listening->added);
    free(listening->listeners);
    free(listening);
}

static struct batch *batch_make(const struct pawl_append *events, struct pawl_str store_id)
{
    struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return NULL;
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
    if (batch->arena == NULL || pawl_arena_code(batch->arena) != PAWL_OK) {
        batch_close(batch);
        return NULL;
    }
    return batch;
}

void pawl_listening_tell(struct pawl_listening *listening, const struct pawl_append *events,
                         struct pawl_str store_id)
{
    if (listening == NULL || events->count == 0) return;
    struct batch *batch = batch_make(events, store_id);
    if (batch != NULL && !listening->has_thread) {
        tell(listening, batch, listening->has_gap);
        listening->has_gap = false;
        batch_close(batch);
        return;
    }
    (void)pthread_mutex_lock(&listening->lock);
    if (batch == NULL) {
        listening->has_gap = true;
    } else {
        if (listening->last == NULL) {
            listening->first = batch;
        } else {
            listening->last->next = batch;
        }
        listening->last = batch;
        listening->waiting += batch->count;
    }
    /* the oldest go, but the newest batch stays however large it is */
    while (listening->waiting > PAWL_LISTENER_EVENTS_MAX && listening->first != listening->last) {
        struct batch *oldest = listening->first;
        listening->first = oldest->next;
        listening->waiting -= oldest->count;
        listening->has_gap = true;
        batch_close(oldest);
    }
    (void)pthread_cond_signal(&listening->added);
    (void)pthread_mutex_unlock(&listening->lock);
}
