#include "net/reading.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/error.h"
#include "net/ask.h"

static void run(struct pawl_read *read, struct pawl_reader *reader, const struct pawl_error *failed)
{
    struct pawl_reading *reading = read->self;
    struct pawl_error err = *failed;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, reading->exchange->arena);
    enum pawl_code code = reader != NULL ? reading->put(reading, reader, &w, &err) : failed->code;
    if (code == PAWL_READING_ANSWERED) return; /* it may be gone by now */
    if (code == PAWL_OK) {
        pawl_exchange_answer_json(reading->exchange, 200, &w);
    } else {
        pawl_ask_refuse(reading->exchange, &err);
    }
}

void *pawl_reading_begin(struct pawl_exchange *exchange, size_t bytes, pawl_reading_put *put)
{
    pawl_assert(bytes >= sizeof(struct pawl_reading));
    struct pawl_reading *reading = pawl_arena_take(exchange->arena, bytes);
    if (reading == NULL) {
        struct pawl_error err = {0};
        (void)pawl_error_set(&err, pawl_arena_code(exchange->arena), "no room for the request");
        pawl_exchange_answer_error(exchange, &err, NULL);
        return NULL;
    }
    reading->exchange = exchange;
    reading->put = put;
    reading->read = (struct pawl_read){.run = run, .self = reading};
    return reading;
}

void pawl_reading_add(struct pawl_reading *reading, struct pawl_readers *readers)
{
    struct pawl_error err = {0};
    if (pawl_readers_add(readers, &reading->read, &err) == PAWL_OK) return;
    pawl_exchange_answer_error(reading->exchange, &err, NULL);
}
