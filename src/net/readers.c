#include "net/readers.h"

#include "base/assert.h"
#include "base/error.h"
#include "net/limits.h"

#include <pthread.h>
#include <stdlib.h>

struct pawl_readers {
    struct pawl_store_options options;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct pawl_read *first; /* under the lock, as is what follows */
    struct pawl_read *last;
    int32_t waiting;
    bool is_stopping;
    int32_t thread_count;
    pthread_t threads[PAWL_NET_READERS_MAX];
};

/* The next read, in order; NULL when there will be none. */
static struct pawl_read *take(struct pawl_readers *readers)
{
    (void)pthread_mutex_lock(&readers->lock);
    while (readers->first == NULL && !readers->is_stopping) {
        (void)pthread_cond_wait(&readers->changed, &readers->lock);
    }
    struct pawl_read *read = readers->first;
    if (read != NULL) {
        readers->first = read->next;
        if (readers->first == NULL) readers->last = NULL;
        readers->waiting--;
    }
    (void)pthread_mutex_unlock(&readers->lock);
    return read;
}

/* The connection is opened at the first read, and anew at each one as long as that fails. */
static void *run(void *self)
{
    struct pawl_readers *readers = self;
    struct pawl_reader *reader = NULL;
    for (;;) {
        struct pawl_read *read = take(readers);
        struct pawl_error err = {0};
        if (read == NULL) break;
        if (reader == NULL && pawl_reader_open(&reader, &readers->options, &err) != PAWL_OK) {
            reader = NULL;
        }
        read->run(read, reader, &err);
    }
    pawl_reader_close(reader);
    return NULL;
}

enum pawl_code pawl_readers_open(struct pawl_readers **out,
                                 const struct pawl_store_options *options, int32_t count,
                                 struct pawl_error *err)
{
    pawl_assert(count >= 0 && count <= PAWL_NET_READERS_MAX);
    struct pawl_readers *readers = calloc(1, sizeof *readers);
    if (readers == NULL) return pawl_error_set(err, PAWL_NO_MEMORY, "no memory for the readers");
    readers->options = *options;
    (void)pthread_mutex_init(&readers->lock, NULL);
    (void)pthread_cond_init(&readers->changed, NULL);
    int32_t wanted = count != 0 ? count : PAWL_NET_READERS_DEFAULT;
    for (int32_t i = 0; i < wanted; i++) {
        if (pthread_create(&readers->threads[i], NULL, run, readers) != 0) {
            pawl_readers_close(readers);
            return pawl_error_set(err, PAWL_NO_MEMORY, "no thread %d for the readers", (int)i);
        }
        readers->thread_count++;
    }
    *out = readers;
    return PAWL_OK;
}

void pawl_readers_close(struct pawl_readers *readers)
{
    if (readers == NULL) return;
    (void)pthread_mutex_lock(&readers->lock);
    readers->is_stopping = true;
    (void)pthread_cond_broadcast(&readers->changed);
    (void)pthread_mutex_unlock(&readers->lock);
    for (int32_t i = 0; i < readers->thread_count; i++) {
        (void)pthread_join(readers->threads[i], NULL);
    }
    pawl_assert(readers->first == NULL);
    (void)pthread_cond_destroy(&readers->changed);
    (void)pthread_mutex_destroy(&readers->lock);
    free(readers);
}

enum pawl_code pawl_readers_add(struct pawl_readers *readers, struct pawl_read *read,
                                struct pawl_error *err)
{
    (void)pthread_mutex_lock(&readers->lock);
    bool has_room = readers->waiting < PAWL_NET_READS_MAX && !readers->is_stopping;
    if (has_room) {
        read->next = NULL;
        if (readers->last != NULL) {
            readers->last->next = read;
        } else {
            readers->first = read;
        }
        readers->last = read;
        readers->waiting++;
        (void)pthread_cond_signal(&readers->changed);
    }
    (void)pthread_mutex_unlock(&readers->lock);
    if (has_room) return PAWL_OK;
    return pawl_error_set(err, PAWL_BUSY, "%d reads wait already, or the server ends",
                          PAWL_NET_READS_MAX);
}
