#include "base/heap.h"

#include <stdlib.h>
#include <string.h>

bool pawl_heap_open(struct pawl_heap *heap, int32_t room)
{
    size_t count = (size_t)room;
    heap->count = 0;
    heap->numbers = calloc(count, sizeof *heap->numbers);
    heap->places = calloc(count, sizeof *heap->places);
    heap->at_ms = calloc(count, sizeof *heap->at_ms);
    return heap->numbers != NULL && heap->places != NULL && heap->at_ms != NULL;
}

static void *grown(void *array, size_t bytes, size_t new_bytes)
{
    char *more = realloc(array, new_bytes);
    if (more != NULL) memset(more + bytes, 0, new_bytes - bytes);
    return more;
}

bool pawl_heap_grow(struct pawl_heap *heap, int32_t room, int32_t new_room)
{
    size_t old = (size_t)room;
    size_t count = (size_t)new_room;
    int32_t *numbers = grown(heap->numbers, old * sizeof *numbers, count * sizeof *numbers);
    if (numbers != NULL) heap->numbers = numbers;
    int32_t *places = grown(heap->places, old * sizeof *places, count * sizeof *places);
    if (places != NULL) heap->places = places;
    int64_t *at_ms = grown(heap->at_ms, old * sizeof *at_ms, count * sizeof *at_ms);
    if (at_ms != NULL) heap->at_ms = at_ms;
    return numbers != NULL && places != NULL && at_ms != NULL;
}

void pawl_heap_close(struct pawl_heap *heap)
{
    free(heap->numbers);
    free(heap->places);
    free(heap->at_ms);
}

static bool is_before(const struct pawl_heap *heap, int32_t a, int32_t b)
{
    return heap->at_ms[heap->numbers[a]] < heap->at_ms[heap->numbers[b]];
}

static void put(struct pawl_heap *heap, int32_t index, int32_t number)
{
    heap->numbers[index] = number;
    heap->places[number] = index + 1;
}

static void swap(struct pawl_heap *heap, int32_t a, int32_t b)
{
    int32_t number = heap->numbers[a];
    put(heap, a, heap->numbers[b]);
    put(heap, b, number);
}

static void settle(struct pawl_heap *heap, int32_t index)
{
    while (index > 0 && is_before(heap, index, (index - 1) / 2)) {
        swap(heap, index, (index - 1) / 2);
        index = (index - 1) / 2;
    }
    for (;;) {
        int32_t first = 2 * index + 1;
        if (first >= heap->count) return;
        if (first + 1 < heap->count && is_before(heap, first + 1, first)) first++;
        if (!is_before(heap, first, index)) return;
        swap(heap, index, first);
        index = first;
    }
}

static void take_out(struct pawl_heap *heap, int32_t number)
{
    int32_t index = heap->places[number] - 1;
    if (index < 0) return;
    heap->places[number] = 0;
    heap->count--;
    if (index == heap->count) return;
    put(heap, index, heap->numbers[heap->count]);
    settle(heap, index);
}

void pawl_heap_set(struct pawl_heap *heap, int32_t number, int64_t at_ms)
{
    heap->at_ms[number] = at_ms;
    if (at_ms == INT64_MAX) {
        take_out(heap, number);
        return;
    }
    if (heap->places[number] == 0) put(heap, heap->count++, number);
    settle(heap, heap->places[number] - 1);
}

int64_t pawl_heap_first(const struct pawl_heap *heap, int32_t *number)
{
    if (heap->count == 0) return INT64_MAX;
    *number = heap->numbers[0];
    return heap->at_ms[*number];
}
