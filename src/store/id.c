/* How the 122 bits of an id are used that a version 7 UUID leaves free:
 *
 *    48 bits   instant in milliseconds, as the RFC has it: ids sort by time
 *    48 bits   number XOR veil(instant)
 *    26 bits   check(instant, number)
 *
 * Veil and check are keyed hashes. Without the check, any UUID would name some number; with it, one
 * in 67 million that was made up does, and then the instant has to be the row's own, too. The veil
 * hides how many events a store has had; it is no secret that anything rests on. */
#include "store/id.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/uuid.h"

enum {
    NUMBER_BITS = 48, /* a thousand events a second for 8 900 years */
    CHECK_BITS = 26,
    HIGH_BITS = 12, /* of the 74 bits behind the instant, those before the variant */
    LOW_NUMBER_BITS = NUMBER_BITS - HIGH_BITS,
};

#define LOW_BITS(word, count) ((word) & ((UINT64_C(1) << (count)) - 1))

/* What the number is of; part of the key, so that no id of an event is one of a checkpoint. */
enum domain { DOMAIN_EVENT = 1, DOMAIN_CHECKPOINT = 2 };

static void make_key(enum domain domain, struct pawl_str store_id, uint64_t key[2])
{
    key[0] = pawl_hash64((const uint64_t[2]){domain, 0}, store_id);
    key[1] = pawl_hash64((const uint64_t[2]){domain, 1}, store_id);
}

static uint64_t veil(const uint64_t key[2], int64_t at_ms)
{
    struct pawl_hasher hasher;
    pawl_hasher_init(&hasher, key);
    pawl_hasher_add_int64(&hasher, at_ms);
    return LOW_BITS(pawl_hasher_end(&hasher), NUMBER_BITS);
}

static uint64_t check(const uint64_t key[2], int64_t at_ms, int64_t number)
{
    struct pawl_hasher hasher;
    pawl_hasher_init(&hasher, key);
    pawl_hasher_add_int64(&hasher, at_ms);
    pawl_hasher_add_int64(&hasher, number);
    return LOW_BITS(pawl_hasher_end(&hasher), CHECK_BITS);
}

static struct pawl_str make(enum domain domain, struct pawl_str store_id, int64_t number,
                            int64_t at_ms, struct pawl_arena *keep)
{
    uint64_t key[2];
    make_key(domain, store_id, key);
    number = (int64_t)LOW_BITS((uint64_t)number, NUMBER_BITS);
    at_ms = (int64_t)LOW_BITS((uint64_t)at_ms, 48);
    uint64_t veiled = (uint64_t)number ^ veil(key, at_ms);
    char text[PAWL_UUID_BYTES_MAX + 1];
    pawl_uuid_make(at_ms, veiled >> LOW_NUMBER_BITS,
                   LOW_BITS(veiled, LOW_NUMBER_BITS) << CHECK_BITS | check(key, at_ms, number),
                   text);
    return pawl_arena_copy(keep, (struct pawl_str){text, PAWL_UUID_BYTES_MAX});
}

/* The bytes of a UUID of version 7. */
static bool read_bytes(struct pawl_str id, uint8_t bytes[16])
{
    return pawl_uuid_parse(id, bytes) && bytes[6] >> 4 == 7 && bytes[8] >> 6 == 2;
}

static uint64_t big_endian(const uint8_t *bytes, size_t count)
{
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++) word = word << 8 | bytes[i];
    return word;
}

int64_t pawl_id_at_ms(struct pawl_str id)
{
    uint8_t bytes[16];
    return read_bytes(id, bytes) ? (int64_t)big_endian(bytes, 6) : -1;
}

static int64_t number_of(enum domain domain, struct pawl_str store_id, struct pawl_str id)
{
    uint8_t bytes[16];
    if (!read_bytes(id, bytes)) return 0;
    int64_t at_ms = (int64_t)big_endian(bytes, 6);
    uint64_t high = LOW_BITS(big_endian(bytes + 6, 2), HIGH_BITS);
    uint64_t low = LOW_BITS(big_endian(bytes + 8, 8), LOW_NUMBER_BITS + CHECK_BITS);
    uint64_t key[2];
    make_key(domain, store_id, key);
    uint64_t veiled = high << LOW_NUMBER_BITS | low >> CHECK_BITS;
    int64_t number = (int64_t)(veiled ^ veil(key, at_ms));
    return LOW_BITS(low, CHECK_BITS) == check(key, at_ms, number) ? number : 0;
}

struct pawl_str pawl_event_id(struct pawl_str store_id, int64_t position, int64_t at_ms,
                              struct pawl_arena *keep)
{
    return make(DOMAIN_EVENT, store_id, position, at_ms, keep);
}

int64_t pawl_event_id_position(struct pawl_str store_id, struct pawl_str id)
{
    return number_of(DOMAIN_EVENT, store_id, id);
}

struct pawl_str pawl_checkpoint_id(struct pawl_str store_id, int64_t key, int64_t at_ms,
                                   struct pawl_arena *keep)
{
    return make(DOMAIN_CHECKPOINT, store_id, key, at_ms, keep);
}

int64_t pawl_checkpoint_id_key(struct pawl_str store_id, struct pawl_str id)
{
    return number_of(DOMAIN_CHECKPOINT, store_id, id);
}
