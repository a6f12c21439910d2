#include "net/conductor/polls.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/str.h"
#include "net/limits.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct noted {
    int64_t at_ms;
    size_t worker_len;
    char worker[PAWL_WORKER_ID_BYTES_MAX];
};

struct pawl_polls {
    pthread_mutex_t lock; /* for what follows */
    struct pawl_arena *arena;
    struct pawl_map by_queue; /* struct noted */
};

enum pawl_code pawl_polls_open(struct pawl_polls **out, struct pawl_error *err)
{
    struct pawl_polls *polls = calloc(1, sizeof *polls);
    bool has_lock = polls != NULL && pthread_mutex_init(&polls->lock, NULL) == 0;
    if (!has_lock || pawl_arena_open(&polls->arena, 0) != PAWL_OK) {
        if (has_lock) (void)pthread_mutex_destroy(&polls->lock);
        free(polls);
        return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the polls");
    }
    pawl_map_init(&polls->by_queue, polls->arena);
    *out = polls;
    return PAWL_OK;
}

void pawl_polls_close(struct pawl_polls *polls)
{
    if (polls == NULL) return;
    (void)pthread_mutex_destroy(&polls->lock);
    pawl_arena_close(polls->arena);
    free(polls);
}

/* Under the lock; NULL if there is no room. */
static struct noted *noted_of(struct pawl_polls *polls, struct pawl_str queue)
{
    void **slot = pawl_map_at(&polls->by_queue, 0, 0, queue);
    if (slot != NULL) return *slot;
    if (pawl_map_count(&polls->by_queue) >= PAWL_CONDUCTOR_QUEUES_MAX) return NULL;
    struct noted *noted = pawl_arena_take(polls->arena, sizeof *noted);
    struct pawl_str name = pawl_arena_copy(polls->arena, queue);
    if (noted == NULL || (name.len == 0 && queue.len > 0)) return NULL;
    slot = pawl_map_put(&polls->by_queue, 0, 0, name);
    if (slot == NULL) return NULL;
    *slot = noted;
    return noted;
}

void pawl_polls_note(struct pawl_polls *polls, struct pawl_str queue, struct pawl_str worker_id,
                     int64_t at_ms)
{
    if (queue.len > PAWL_QUEUE_NAME_BYTES_MAX || worker_id.len > PAWL_WORKER_ID_BYTES_MAX) return;
    (void)pthread_mutex_lock(&polls->lock);
    struct noted *noted = noted_of(polls, queue);
    if (noted != NULL) {
        noted->at_ms = at_ms;
        noted->worker_len = worker_id.len;
        if (worker_id.len > 0) memcpy(noted->worker, worker_id.ptr, worker_id.len);
    }
    (void)pthread_mutex_unlock(&polls->lock);
}

enum pawl_code pawl_polls_list(struct pawl_polls *polls, struct pawl_arena *keep,
                               struct pawl_poll_seen **out, size_t *count, struct pawl_error *err)
{
    (void)pthread_mutex_lock(&polls->lock);
    size_t found = pawl_map_count(&polls->by_queue);
    struct pawl_poll_seen *list = pawl_arena_take_array(keep, found + 1, sizeof *list);
    size_t filled = 0;
    for (size_t i = 0; i < found && list != NULL; i++) {
        const struct pawl_map_entry *entry = pawl_map_entry(&polls->by_queue, i);
        const struct noted *noted = entry->value;
        if (noted == NULL) continue;
        list[filled++] = (struct pawl_poll_seen){
            .queue = pawl_arena_copy(keep, entry->text),
            .worker_id =
                pawl_arena_copy(keep, (struct pawl_str){noted->worker, noted->worker_len}),
            .at_ms = noted->at_ms,
        };
    }
    (void)pthread_mutex_unlock(&polls->lock);
    enum pawl_code code = pawl_arena_code(keep);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no room for the polls");
    *out = list;
    *count = filled;
    return PAWL_OK;
}
