/* Threads that read: each has a connection of its own to the store, so that a long page keeps
 * neither the engine nor a loop waiting. Their queue is bounded; what does not fit is BUSY. */
#ifndef PAWL_NET_READERS_H
#define PAWL_NET_READERS_H

#include "store/read.h"

struct pawl_readers;

/* One read on its way; lives with its exchange. */
struct pawl_read {
    /* On a reader's thread. If the store could not be opened, reader is NULL and failed says why.
     */
    void (*run)(struct pawl_read *read, struct pawl_reader *reader,
                const struct pawl_error *failed);
    void *self;
    struct pawl_read *next;
};

/* count 0 means PAWL_NET_READERS_DEFAULT. The options' texts are borrowed as long as they live. */
enum pawl_code pawl_readers_open(struct pawl_readers **out,
                                 const struct pawl_store_options *options, int32_t count,
                                 struct pawl_error *err) PAWL_MUST_USE;
/* Runs what waits still, and joins. Takes NULL. */
void pawl_readers_close(struct pawl_readers *readers);

/* Any thread; does not wait.
 *
 *   fails  PAWL_BUSY  PAWL_NET_READS_MAX wait already; read->run will not be called */
enum pawl_code pawl_readers_add(struct pawl_readers *readers, struct pawl_read *read,
                                struct pawl_error *err) PAWL_MUST_USE;

#endif
