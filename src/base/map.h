/* A hash map in an arena, from (kind, number, text) to a pointer: the rows a step has loaded, by
 * key.
 *
 * Entries keep the order in which they came and never move, so a slot stays good for the map's
 * life. There is no removal: a map lives as long as its arena. Clearing is pawl_map_init. Hashes
 * are keyed per process, since texts come from outside. */
#ifndef PAWL_BASE_MAP_H
#define PAWL_BASE_MAP_H

#include "pawl.h"

enum {
    PAWL_MAP_CHUNKS_MAX = 24, /* chunk n has 16 << n entries: 268 million in all */
};

struct pawl_map_entry {
    void *value;
    struct pawl_str text; /* borrowed */
    int64_t number;
    uint32_t kind;
    uint32_t hash;
};

struct pawl_map {
    struct pawl_arena *arena; /* borrowed */
    uint32_t *slots;          /* index of an entry + 1; 0 = free */
    uint32_t slot_count;      /* a power of two, or 0 */
    uint32_t count;
    uint64_t hash_key[2];
    struct pawl_map_entry *chunks[PAWL_MAP_CHUNKS_MAX];
};

/* Empties the map; takes nothing from the arena before the first put. */
void pawl_map_init(struct pawl_map *map, struct pawl_arena *arena);

/* The slot of a key, or NULL. */
void **pawl_map_at(const struct pawl_map *map, uint32_t kind, int64_t number, struct pawl_str text);

/* The slot of a key, new and NULL if it was not there. text is borrowed as long as the map lives.
 * NULL if the arena failed. */
void **pawl_map_put(struct pawl_map *map, uint32_t kind, int64_t number, struct pawl_str text);

/* Iteration in the order of insertion: entries 0 to count - 1. */
size_t pawl_map_count(const struct pawl_map *map);
struct pawl_map_entry *pawl_map_entry(const struct pawl_map *map, size_t at);

#endif
