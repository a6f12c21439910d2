/* SipHash-2-4 with 64 bits (Aumasson and Bernstein, 2012): a keyed hash, so that nobody outside can
 * choose texts that collide. */
#ifndef PAWL_BASE_HASH_H
#define PAWL_BASE_HASH_H

#include "pawl.h"

/* The hash of the paper: the same for every machine, so it may be stored if the key is. */
uint64_t pawl_hash64(const uint64_t key[2], struct pawl_str bytes);

/* A key that differs from process to process and stays the same in one. For tables in memory; what
 * is hashed with it must not be stored or sent. */
void pawl_hash_process_key(uint64_t key[2]);

/* The same hash over several fields. Each add also hashes the length, so that ("ab", "c") and
 * ("a", "bc") differ; the result is therefore not that of pawl_hash64 over the same bytes. */
struct pawl_hasher {
    uint64_t v[4];
    uint64_t word;        /* bytes that do not fill a word yet */
    uint64_t bytes_count; /* all so far */
};

void pawl_hasher_init(struct pawl_hasher *hasher, const uint64_t key[2]);
void pawl_hasher_add(struct pawl_hasher *hasher, struct pawl_str bytes);
/* Without the length: all pieces of a text added so give pawl_hash64 of the whole. */
void pawl_hasher_add_piece(struct pawl_hasher *hasher, struct pawl_str piece);
void pawl_hasher_add_int64(struct pawl_hasher *hasher, int64_t number);
uint64_t pawl_hasher_end(struct pawl_hasher *hasher);

#endif
