/* The arithmetic of leases that are kept, and the heap of deadlines. */
#include "base/heap.h"
#include "supervisor/keeper.h"
#include "test.h"

TEST("B4 the margin of a lease is min(lease / 4, max(1 s, lease / 10))")
{
    static const struct {
        int64_t lease_ms, want_ms;
    } rows[] = {{100, 25}, {1000, 250}, {4000, 1000}, {10000, 1000}, {60000, 6000}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_EQ(rows[i].want_ms, pawl_lease_margin_ms(rows[i].lease_ms));
    }
}

TEST("T-052 B4 a lease is renewed at a third of it, and as often as wanted where that leaves the "
     "margin")
{
    CHECK_EQ(20000, pawl_lease_renew_every_ms(60000, 0));
    CHECK_EQ(33, pawl_lease_renew_every_ms(100, 0));
    CHECK_EQ(53999, pawl_lease_renew_every_ms(60000, 53999));
    CHECK_EQ(20000, pawl_lease_renew_every_ms(60000, 54000));
    CHECK_EQ(33, pawl_lease_renew_every_ms(100, 5000)); /* of a lease shorter than the others */
}

TEST("B4 a lease counts from before its request left, and work stops at the margin")
{
    struct pawl_kept kept = pawl_lease_count(1000, 60000, 60000, INT64_MAX);
    CHECK_EQ(1000 + 60000 - 6000, kept.stop_at_boot_ms);
    CHECK(!kept.is_cut);
    CHECK(!kept.is_lost);
}

TEST("T-051 a lease that is cut at its attempt's end has no margin: then the time is up")
{
    struct pawl_kept kept = pawl_lease_count(1000, 3000, 60000, 1000 + 3000);
    CHECK(kept.is_cut);
    CHECK_EQ(4000, kept.stop_at_boot_ms);
    kept = pawl_lease_count(1000, 60000, 60000, 1000 + 60000 + 6001);
    CHECK(!kept.is_cut);
}

/* The renewals of an attempt, each answered at once. */
static int count_renewals(int64_t lease_ms, int64_t attempt_ms)
{
    int64_t length_ms = lease_ms < attempt_ms ? lease_ms : attempt_ms;
    int count = 0;
    for (int64_t at_ms = 0; at_ms < attempt_ms; count++) {
        int64_t left_ms = lease_ms < attempt_ms - at_ms ? lease_ms : attempt_ms - at_ms;
        struct pawl_kept kept = pawl_lease_count(at_ms, left_ms, length_ms, attempt_ms);
        int64_t every_ms = pawl_lease_pace_ms(&kept, left_ms, length_ms, 0);
        at_ms = pawl_lease_renew_at(&kept, at_ms, every_ms);
    }
    return count - 1;
}

TEST("T-051 a lease that its attempt's end cuts is renewed as seldom as any, and not at that end")
{
    CHECK_EQ(2, count_renewals(60000, 60000));
    CHECK_EQ(5, count_renewals(60000, 120000));
    CHECK_EQ(2, count_renewals(60000, 400)); /* a third of what was granted */
    CHECK_EQ(29, count_renewals(60000, 600000));
}

TEST("D-62 B4 each try of a renewal may take a quarter of what is left until the margin")
{
    static const struct {
        int64_t left_ms, want_ms;
    } rows[] = {{34000, 8500}, {400, 100}, {100, 25}, {8, 5}, {1, 5}, {0, 1000}, {-50, 1000}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_EQ(rows[i].want_ms, pawl_lease_try_ms(7000, 7000 + rows[i].left_ms));
    }
}

TEST("D-62 B4 a failed try is followed by the next when its time is over, after a second at most")
{
    static const struct {
        int64_t left_ms, want_ms;
    } rows[] = {{400, 100}, {100, 25}, {40000, 1000}, {8, 5}, {1, 5}, {0, 1000}, {-50, 1000}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_EQ(rows[i].want_ms, pawl_lease_try_again_ms(7000, 7000 + rows[i].left_ms));
    }
}

/* From a third of the lease on; takes_all: each fails only when its time is over, else at once. */
static int count_tries(int64_t lease_ms, bool takes_all)
{
    int64_t at_ms = lease_ms / 3;
    int64_t stop_at_ms = lease_ms - pawl_lease_margin_ms(lease_ms);
    int tries = 0;
    for (; at_ms < stop_at_ms; tries++) {
        at_ms += takes_all ? pawl_lease_try_ms(at_ms, stop_at_ms) : pawl_lease_try_again_ms(at_ms, stop_at_ms);
    }
    CHECK(at_ms < lease_ms); /* the last one too ends before the lease does */
    return tries;
}

TEST("D-62 tries from a third of the lease on come often enough for several before the margin")
{
    CHECK(count_tries(60000, false) >= 30);
    CHECK(count_tries(60000, true) >= 20);
    CHECK(count_tries(1000, false) >= 10);
    CHECK(count_tries(1000, true) >= 10);
    CHECK(count_tries(100, true) >= 4);
}

TEST("deadlines come earliest first, whatever was moved and taken out before")
{
    enum { ROOM = 64, MOVES = 20000 };
    struct pawl_heap heap = {0};
    int64_t at_ms[ROOM];
    uint64_t random = 7;
    CHECK(pawl_heap_open(&heap, ROOM));
    for (int i = 0; i < ROOM; i++) at_ms[i] = INT64_MAX;
    for (int i = 0; i < MOVES; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int32_t number = (int32_t)(random >> 33) % ROOM;
        int64_t at = (random >> 40) % 4 == 0 ? INT64_MAX : (int64_t)(random >> 45);
        at_ms[number] = at;
        pawl_heap_set(&heap, number, at);
        int64_t want = INT64_MAX;
        int32_t count = 0;
        for (int k = 0; k < ROOM; k++) {
            if (at_ms[k] < want) want = at_ms[k];
            count += at_ms[k] != INT64_MAX ? 1 : 0;
        }
        int32_t first = -1;
        CHECK_EQ(want, pawl_heap_first(&heap, &first));
        CHECK_EQ(count, heap.count);
        if (want != INT64_MAX) CHECK_EQ(want, at_ms[first]);
    }
    pawl_heap_close(&heap);
}

TEST_MAIN()
