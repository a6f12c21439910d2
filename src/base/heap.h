/* Deadlines of numbered things, the earliest first: a binary heap that knows where each number
 * stands, so that one can be moved or taken out. Numbers are 0 .. room - 1. Not for several threads
 * at once. */
#ifndef PAWL_BASE_HEAP_H
#define PAWL_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct pawl_heap {
    int32_t *numbers; /* owned; the heap */
    int32_t *places;  /* owned; of a number: its index in the heap + 1, 0 = it is not there */
    int64_t *at_ms;   /* owned; of a number */
    int32_t count;
};

/* false without memory; close takes a heap that is all zero too. */
bool pawl_heap_open(struct pawl_heap *heap, int32_t room);
/* Room for more numbers; on false it is as it was. A heap that is all zero may grow too. */
bool pawl_heap_grow(struct pawl_heap *heap, int32_t room, int32_t new_room);
void pawl_heap_close(struct pawl_heap *heap);

/* Puts a number in, or moves it; INT64_MAX is never, and takes it out. */
void pawl_heap_set(struct pawl_heap *heap, int32_t number, int64_t at_ms);

/* The earliest instant, INT64_MAX if there is none; number is its. */
int64_t pawl_heap_first(const struct pawl_heap *heap, int32_t *number);

#endif
