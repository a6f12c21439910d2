/* SipHash-2-4, after "SipHash: a fast short-input PRF", section 2.
 *
 * The state is four words. Input goes in as little-endian words: XOR into v3, two rounds, XOR into
 * v0. The last word holds the bytes that are left and, on top, the length mod 256; then 0xff goes
 * into v2 and four rounds follow. */
#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>

static uint64_t rotate(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static void rounds(uint64_t v[4], int count)
{
    for (int i = 0; i < count; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static void start(uint64_t v[4], const uint64_t key[2])
{
    v[0] = key[0] ^ UINT64_C(0x736f6d6570736575);
    v[1] = key[1] ^ UINT64_C(0x646f72616e646f6d);
    v[2] = key[0] ^ UINT64_C(0x6c7967656e657261);
    v[3] = key[1] ^ UINT64_C(0x7465646279746573);
}

static void mix(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rounds(v, 2);
    v[0] ^= word;
}

static uint64_t finish(uint64_t v[4])
{
    v[2] ^= 0xff;
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t byte_at(const char *ptr, size_t at)
{
    return (unsigned char)ptr[at];
}

/* Little-endian whatever the machine; compilers make one load of it. */
static uint64_t load(const char *ptr)
{
    return byte_at(ptr, 0) | byte_at(ptr, 1) << 8 | byte_at(ptr, 2) << 16 | byte_at(ptr, 3) << 24 |
           byte_at(ptr, 4) << 32 | byte_at(ptr, 5) << 40 | byte_at(ptr, 6) << 48 |
           byte_at(ptr, 7) << 56;
}

static uint64_t load_rest(const char *ptr, size_t len)
{
    uint64_t word = 0;
    for (size_t i = 0; i < len; i++) word |= byte_at(ptr, i) << (8 * i);
    return word;
}

uint64_t pawl_hash64(const uint64_t key[2], struct pawl_str bytes)
{
    uint64_t v[4];
    start(v, key);
    size_t at = 0;
    for (; bytes.len - at >= 8; at += 8) mix(v, load(bytes.ptr + at));
    mix(v, load_rest(bytes.ptr + at, bytes.len - at) | (uint64_t)bytes.len << 56);
    return finish(v);
}

void pawl_hash_process_key(uint64_t key[2])
{
    /* The kernel gives every process 16 random bytes (getauxval(3)): a secret without a global, a
     * file or a system call. libc makes its canaries of them; a keyed hash does not give them away.
     */
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (random == NULL) {
        key[0] = UINT64_C(0x9e3779b97f4a7c15);
        key[1] = UINT64_C(0xc2b2ae3d27d4eb4f);
        return;
    }
    memcpy(key, random, 16);
}

void pawl_hasher_init(struct pawl_hasher *hasher, const uint64_t key[2])
{
    *hasher = (struct pawl_hasher){0};
    start(hasher->v, key);
}

static void add_byte(struct pawl_hasher *hasher, uint64_t byte)
{
    hasher->word |= byte << (8 * (hasher->bytes_count & 7));
    hasher->bytes_count++;
    if ((hasher->bytes_count & 7) != 0) return;
    mix(hasher->v, hasher->word);
    hasher->word = 0;
}

/* Eight bytes at once, also in the middle of a word. */
static void add_word(struct pawl_hasher *hasher, uint64_t word)
{
    int shift = (int)(8 * (hasher->bytes_count & 7));
    mix(hasher->v, hasher->word | word << shift);
    hasher->word = shift == 0 ? 0 : word >> (64 - shift);
    hasher->bytes_count += 8;
}

void pawl_hasher_add_piece(struct pawl_hasher *hasher, struct pawl_str piece)
{
    size_t at = 0;
    for (; piece.len - at >= 8; at += 8) add_word(hasher, load(piece.ptr + at));
    for (; at < piece.len; at++) add_byte(hasher, byte_at(piece.ptr, at));
}

void pawl_hasher_add(struct pawl_hasher *hasher, struct pawl_str bytes)
{
    add_word(hasher, bytes.len);
    pawl_hasher_add_piece(hasher, bytes);
}

void pawl_hasher_add_int64(struct pawl_hasher *hasher, int64_t number)
{
    add_word(hasher, (uint64_t)number);
}

uint64_t pawl_hasher_end(struct pawl_hasher *hasher)
{
    mix(hasher->v, hasher->word | hasher->bytes_count << 56);
    return finish(hasher->v);
}
