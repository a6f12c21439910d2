#include "base/hash.h"

#include "base/str.h"
#include "test.h"

/* The paper's key and messages: the bytes 0, 1, 2 and so on. */
static const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
static const char message[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

TEST("SipHash-2-4 gives the values of the paper and of its authors' table")
{
    static const struct {
        size_t len;
        uint64_t want;
    } rows[] = {
        {0, UINT64_C(0x726fdb47dd0e0e31)},  {1, UINT64_C(0x74f839c593dc67fd)},
        {2, UINT64_C(0x0d6c8009d9a94f5a)},  {8, UINT64_C(0x93f5f5799a932462)},
        {15, UINT64_C(0xa129ca6149be45e5)}, /* the paper's appendix A */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_EQ(rows[i].want, pawl_hash64(key, (struct pawl_str){message, rows[i].len}));
    }
}

static uint64_t hash_two(struct pawl_str a, struct pawl_str b)
{
    struct pawl_hasher hasher;
    pawl_hasher_init(&hasher, key);
    pawl_hasher_add(&hasher, a);
    pawl_hasher_add(&hasher, b);
    return pawl_hasher_end(&hasher);
}

TEST("fields hash as their lengths and bytes one after the other do at once")
{
    static const char whole[] = "\3\0\0\0\0\0\0\0abc"
                                "\15\0\0\0\0\0\0\0defghijklmnop"
                                "\377\377\377\377\377\377\377\377";
    struct pawl_hasher hasher;
    pawl_hasher_init(&hasher, key);
    pawl_hasher_add(&hasher, PAWL_STR("abc"));
    pawl_hasher_add(&hasher, PAWL_STR("defghijklmnop"));
    pawl_hasher_add_int64(&hasher, -1);
    CHECK_EQ(pawl_hash64(key, (struct pawl_str){whole, sizeof whole - 1}),
             pawl_hasher_end(&hasher));
}

TEST("a text added in pieces of any size hashes as the whole")
{
    char text[100];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i * 7);
    struct pawl_str whole = {text, sizeof text};
    for (size_t size = 1; size <= sizeof text; size++) {
        struct pawl_hasher hasher;
        pawl_hasher_init(&hasher, key);
        for (size_t at = 0; at < whole.len; at += size) {
            size_t left = whole.len - at;
            pawl_hasher_add_piece(&hasher, (struct pawl_str){text + at, left < size ? left : size});
        }
        CHECK(pawl_hash64(key, whole) == pawl_hasher_end(&hasher));
    }
}

TEST("where one field ends and the next begins is part of the hash")
{
    CHECK(hash_two(PAWL_STR("ab"), PAWL_STR("c")) != hash_two(PAWL_STR("a"), PAWL_STR("bc")));
    CHECK(hash_two(PAWL_STR(""), PAWL_STR("a")) != hash_two(PAWL_STR("a"), PAWL_STR("")));
    CHECK_EQ(hash_two(PAWL_STR("ab"), PAWL_STR("c")), hash_two(PAWL_STR("ab"), PAWL_STR("c")));
}

TEST("the key of a process stays the same in it")
{
    uint64_t a[2];
    uint64_t b[2];
    pawl_hash_process_key(a);
    pawl_hash_process_key(b);
    CHECK(a[0] == b[0] && a[1] == b[1]);
    CHECK(a[0] != a[1]);
}

TEST_MAIN()
