/* Open addressing with linear probing over indexes; the entries lie in chunks that double, so that
 * they keep their order and their place. At most half of the slots are used. */
#include "base/map.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/str.h"

enum {
    CHUNK_ENTRIES_FIRST = 16, /* chunk n has this << n */
    SLOTS_FIRST = 32,
};

void pawl_map_init(struct pawl_map *map, struct pawl_arena *arena)
{
    *map = (struct pawl_map){.arena = arena};
    pawl_hash_process_key(map->hash_key);
}

/* Texts come from outside and get the keyed hash; numbers are row keys of our own, for which a
 * multiplication does. */
static uint32_t hash_of(const struct pawl_map *map, uint32_t kind, int64_t number,
                        struct pawl_str text)
{
    uint64_t hash = text.len == 0 ? map->hash_key[0] : pawl_hash64(map->hash_key, text);
    hash ^= (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 32 ^ kind) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(hash >> 32);
}

static struct pawl_map_entry *entry_at(const struct pawl_map *map, uint32_t at)
{
    /* Before chunk n lie 16 * (2^n - 1) entries. */
    uint32_t scaled = at / CHUNK_ENTRIES_FIRST + 1;
    int chunk = 31 - __builtin_clz(scaled);
    uint32_t before = CHUNK_ENTRIES_FIRST * ((UINT32_C(1) << chunk) - 1);
    return &map->chunks[chunk][at - before];
}

/* The slot where the key is, or the free one where it would be. */
static uint32_t *find_slot(const struct pawl_map *map, uint32_t hash, uint32_t kind, int64_t number,
                           struct pawl_str text)
{
    uint32_t mask = map->slot_count - 1;
    for (uint32_t at = hash & mask;; at = (at + 1) & mask) {
        uint32_t *slot = &map->slots[at];
        if (*slot == 0) return slot;
        const struct pawl_map_entry *entry = entry_at(map, *slot - 1);
        if (entry->hash == hash && entry->number == number && entry->kind == kind &&
            pawl_str_equal(entry->text, text)) {
            return slot;
        }
    }
}

void **pawl_map_at(const struct pawl_map *map, uint32_t kind, int64_t number, struct pawl_str text)
{
    if (map->count == 0) return NULL;
    uint32_t hash = hash_of(map, kind, number, text);
    const uint32_t *slot = find_slot(map, hash, kind, number, text);
    return *slot == 0 ? NULL : &entry_at(map, *slot - 1)->value;
}

/* Twice the slots; the old ones stay in the arena, together no more than the new. */
static bool grow_slots(struct pawl_map *map)
{
    uint32_t slot_count = map->slot_count == 0 ? SLOTS_FIRST : map->slot_count * 2;
    uint32_t *slots = pawl_arena_take_array(map->arena, slot_count, sizeof *slots);
    if (slots == NULL) return false;
    map->slots = slots;
    map->slot_count = slot_count;

    for (uint32_t i = 0; i < map->count; i++) {
        uint32_t at = entry_at(map, i)->hash & (slot_count - 1);
        while (slots[at] != 0) at = (at + 1) & (slot_count - 1);
        slots[at] = i + 1;
    }
    return true;
}

/* Room for one entry more; NULL if there is none. */
static struct pawl_map_entry *next_entry(struct pawl_map *map)
{
    uint32_t scaled = map->count / CHUNK_ENTRIES_FIRST + 1;
    int chunk = 31 - __builtin_clz(scaled);
    pawl_assert(chunk < PAWL_MAP_CHUNKS_MAX);
    if (map->chunks[chunk] == NULL) {
        map->chunks[chunk] = pawl_arena_take_array(map->arena, (size_t)CHUNK_ENTRIES_FIRST << chunk,
                                                   sizeof(struct pawl_map_entry));
        if (map->chunks[chunk] == NULL) return NULL;
    }
    return entry_at(map, map->count);
}

void **pawl_map_put(struct pawl_map *map, uint32_t kind, int64_t number, struct pawl_str text)
{
    if (map->count >= map->slot_count / 2 && !grow_slots(map)) return NULL;
    uint32_t hash = hash_of(map, kind, number, text);
    uint32_t *slot = find_slot(map, hash, kind, number, text);
    if (*slot != 0) return &entry_at(map, *slot - 1)->value;

    struct pawl_map_entry *entry = next_entry(map);
    if (entry == NULL) return NULL;
    *entry = (struct pawl_map_entry){.kind = kind, .number = number, .text = text, .hash = hash};
    map->count++;
    *slot = map->count;
    return &entry->value;
}

size_t pawl_map_count(const struct pawl_map *map)
{
    return map->count;
}

struct pawl_map_entry *pawl_map_entry(const struct pawl_map *map, size_t at)
{
    pawl_assert(at < map->count);
    return entry_at(map, (uint32_t)at);
}
