/* An exchange that is answered by a read: a handler begins a reading, fills it, adds it, and is
 * through. It is read, and its answer written, on a reader's thread. All of it lives in the
 * exchange's arena. */
#ifndef PAWL_NET_READING_H
#define PAWL_NET_READING_H

#include "base/json_writer.h"
#include "net/exchange.h"
#include "net/readers.h"

struct pawl_reading;

/* Reads, and writes the answer: 200 with what has been written. One that answers the exchange by
 * itself says so with PAWL_READING_ANSWERED. */
typedef enum pawl_code pawl_reading_put(struct pawl_reading *reading, struct pawl_reader *reader,
                                        struct pawl_json_writer *w, struct pawl_error *err);

/* No code of anybody's. */
#define PAWL_READING_ANSWERED ((enum pawl_code)(-1))

struct pawl_reading {
    struct pawl_read read;
    struct pawl_exchange *exchange;
    pawl_reading_put *put;
};

/* In the exchange's arena, with `bytes` of which the first are the reading; NULL, and answered,
 * without memory. */
void *pawl_reading_begin(struct pawl_exchange *exchange, size_t bytes, pawl_reading_put *put);

/* Hands it to the readers, or answers BUSY. */
void pawl_reading_add(struct pawl_reading *reading, struct pawl_readers *readers);

#endif
