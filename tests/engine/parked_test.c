/* Claims that wait: whose turn it is when a queue is roused, against a plain list that does the
 * same slowly. */
#include "engine/parked.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/limits.h"
#include "engine/engine.h"
#include "test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { QUEUES = 5, CLAIMS = 200, NAMES_MAX = 3, ROUNDS = 20000 };

static const struct pawl_str names[QUEUES] = {PAWL_STR_INIT("a"), PAWL_STR_INIT("b"),
                                              PAWL_STR_INIT("c"), PAWL_STR_INIT("d"),
                                              PAWL_STR_INIT("default")};

struct room {
    struct pawl_parked *parked;
    struct pawl_arena *arena;
    struct pawl_step step;
    struct pawl_request requests[CLAIMS];
    struct pawl_claim asks[CLAIMS];
    struct pawl_str asked[CLAIMS][NAMES_MAX];
    uint64_t random;
};

static uint64_t chance(struct room *room, uint64_t below)
{
    room->random = room->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (room->random >> 33) % below;
}

/* Queues have the keys 1 to QUEUES. */
static void begin_step(struct room *room)
{
    pawl_arena_reset(room->arena);
    room->step = (struct pawl_step){0};
    pawl_set_init(&room->step.set, room->arena);
    for (int64_t i = 0; i < QUEUES; i++) {
        pawl_set_know_key(&room->step.set, PAWL_LOOK_QUEUE_NAME, names[i], i + 1);
    }
}

static void open_room(struct room *room)
{
    *room = (struct room){.parked = pawl_parked_open(), .random = 1};
    CHECK(room->parked != NULL);
    CHECK_OK(pawl_arena_open(&room->arena, 0), NULL);
    begin_step(room);
}

static void close_room(struct room *room)
{
    struct pawl_requests all = {0};
    pawl_parked_take_waited_out(room->parked, 0, true, &all);
    CHECK_EQ(0, pawl_parked_count(room->parked));
    pawl_parked_close(room->parked);
    pawl_arena_close(room->arena);
}

/* A claim of the queues in a set of bits. */
static struct pawl_request *claim(struct room *room, int number, unsigned queues,
                                  int64_t until_boot_ms)
{
    size_t count = 0;
    for (unsigned i = 0; i < QUEUES && count < NAMES_MAX; i++) {
        if ((queues >> i & 1) != 0) room->asked[number][count++] = names[i];
    }
    struct pawl_request *request = &room->requests[number];
    room->asks[number] = (struct pawl_claim){.queues = room->asked[number], .queue_count = count};
    pawl_request_init(request, PAWL_COMMAND_CLAIM);
    request->command.ask.claim.ask = &room->asks[number];
    request->until_boot_ms = until_boot_ms;
    return request;
}

static int number_of(const struct room *room, const struct pawl_request *request)
{
    return request == NULL ? -1 : (int)(request - room->requests);
}

static void ready(struct room *room, int64_t queue, bool is_many)
{
    pawl_step_offer(&room->step, queue, is_many);
}

static int take_one(struct room *room)
{
    struct pawl_requests list = {0};
    pawl_parked_take(room->parked, &list, 1);
    return number_of(room, list.first);
}

TEST("as many claims are taken as tasks became ready, those who came first first")
{
    struct room room;
    open_room(&room);
    for (int i = 0; i < 4; i++) {
        CHECK(pawl_parked_put(room.parked, claim(&room, i, i == 1 ? 2 : 1, 100), &room.step.set));
    }
    CHECK(!pawl_parked_is_roused(room.parked));
    ready(&room, 1, false);
    ready(&room, 1, false);
    ready(&room, 3, false); /* nobody waits for it */
    pawl_parked_rouse(room.parked, &room.step);
    CHECK_EQ(0, room.step.ready.count);
    CHECK_EQ(0, take_one(&room));
    CHECK_EQ(2, take_one(&room));
    CHECK(!pawl_parked_is_roused(room.parked));
    CHECK_EQ(2, pawl_parked_count(room.parked));
    close_room(&room);
}

TEST("a claim that was taken in vain gets its old place again")
{
    struct room room;
    open_room(&room);
    for (int i = 0; i < 3; i++)
        CHECK(pawl_parked_put(room.parked, claim(&room, i, 1, 100), &room.step.set));
    ready(&room, 1, true);
    pawl_parked_rouse(room.parked, &room.step);
    CHECK_EQ(0, take_one(&room));
    CHECK_EQ(1, take_one(&room));
    CHECK(pawl_parked_put_back(room.parked, &room.requests[1]));
    CHECK(pawl_parked_put_back(room.parked, &room.requests[0]));
    for (int i = 0; i < 3; i++) CHECK_EQ(i, take_one(&room));
    close_room(&room);
}

TEST("a claim of several queues is taken once, and what it found empty is roused no more")
{
    struct room room;
    open_room(&room);
    CHECK(pawl_parked_put(room.parked, claim(&room, 0, 7, 100), &room.step.set));
    for (int64_t queue = 1; queue <= 3; queue++) ready(&room, queue, true);
    pawl_parked_rouse(room.parked, &room.step);
    CHECK_EQ(0, take_one(&room));
    CHECK_EQ(-1, take_one(&room));
    CHECK(pawl_parked_put(room.parked, &room.requests[0], &room.step.set));
    CHECK(!pawl_parked_is_roused(room.parked));
    close_room(&room);
}

TEST("a queue that nobody had seen is known by its new row")
{
    struct room room;
    open_room(&room);
    struct pawl_set empty;
    pawl_set_init(&empty, room.arena);
    CHECK(pawl_parked_put(room.parked, claim(&room, 0, 8, 100), &empty));
    struct pawl_queue_row row = {.key = 77, .name = names[3]};
    pawl_set_put(&room.step.set, PAWL_LOOK_QUEUE, 77, (struct pawl_str){0}, 0, &row);
    ready(&room, 77, false);
    pawl_parked_rouse(room.parked, &room.step);
    CHECK_EQ(0, take_one(&room));
    close_room(&room);
}

TEST("of a queue with any number of ready tasks so many are tried at once, and more while they "
     "find some")
{
    struct room room;
    open_room(&room);
    for (int i = 0; i < CLAIMS; i++)
        CHECK(pawl_parked_put(room.parked, claim(&room, i, 1, 100), &room.step.set));
    pawl_parked_rouse_all(room.parked);
    struct pawl_requests first = {0};
    pawl_parked_take(room.parked, &first, CLAIMS);
    CHECK_EQ(PAWL_PARKED_TRIED_MAX, first.count);
    CHECK(pawl_parked_is_roused(room.parked));
    struct pawl_requests second = {0};
    pawl_parked_take(room.parked, &second, CLAIMS);
    CHECK_EQ(PAWL_PARKED_TRIED_MAX, second.count);
    CHECK_EQ(PAWL_PARKED_TRIED_MAX, number_of(&room, second.first));
    CHECK(pawl_parked_put(room.parked, second.last, &room.step.set)); /* it found nothing */
    CHECK(!pawl_parked_is_roused(room.parked));
    close_room(&room);
}

TEST("those whose time is over are found in the order of their deadlines, without the others")
{
    struct room room;
    open_room(&room);
    for (int i = 0; i < 50; i++) {
        CHECK(pawl_parked_put(room.parked, claim(&room, i, 1, 1000 - i), &room.step.set));
    }
    CHECK_EQ(951, pawl_parked_until(room.parked));
    struct pawl_requests over = {0};
    pawl_parked_take_waited_out(room.parked, 953, false, &over);
    CHECK_EQ(3, over.count);
    CHECK_EQ(49, number_of(&room, over.first));
    CHECK_EQ(954, pawl_parked_until(room.parked));
    close_room(&room);
}

static int64_t cpu_ms(void)
{
    struct timespec now = {0};
    CHECK_EQ(0, clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now));
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

TEST("who gives up is found without a walk over all who wait")
{
    enum { WAITING = 10000, LOOKS = 100000, CPU_MS_MAX = 500 }; /* with the walk: 3 s and more */
    static struct room room;
    static struct pawl_request others[WAITING];
    _Atomic bool gives_up[3] = {false, false, false};
    struct pawl_requests over = {0};
    open_room(&room);
    struct pawl_claim ask = {.queues = &names[1], .queue_count = 1};
    for (int i = 0; i < WAITING; i++) {
        pawl_request_init(&others[i], PAWL_COMMAND_CLAIM);
        others[i].command.ask.claim.ask = &ask;
        others[i].until_boot_ms = 100;
        CHECK(pawl_parked_put(room.parked, &others[i], &room.step.set));
    }
    for (int i = 0; i < 3; i++) {
        struct pawl_request *request = claim(&room, i, 1, 100);
        request->gives_up = &gives_up[i];
        CHECK(pawl_parked_put(room.parked, request, &room.step.set));
    }
    int64_t from_ms = cpu_ms();
    for (int i = 0; i < LOOKS; i++) pawl_parked_take_waited_out(room.parked, 99, false, &over);
    CHECK(cpu_ms() - from_ms < CPU_MS_MAX);
    CHECK_EQ(0, over.count);
    for (int i = 0; i < 3; i++) { /* the one in the middle of the list first */
        int number = (i + 1) % 3;
        struct pawl_requests gone = {0};
        atomic_store(&gives_up[number], true);
        pawl_parked_take_waited_out(room.parked, 99, false, &gone);
        CHECK_EQ(1, gone.count);
        CHECK_EQ(number, number_of(&room, gone.first));
    }
    CHECK_EQ(WAITING, pawl_parked_count(room.parked));
    close_room(&room);
}

/* ---- Against a plain list ---- */

struct plain { /* of each claim */
    bool is_in;
    unsigned queues;
    uint64_t order;
};

static int plain_first(const struct plain *plain, const unsigned queue)
{
    int first = -1;
    for (int i = 0; i < CLAIMS; i++) {
        bool waits = plain[i].is_in && (plain[i].queues >> queue & 1) != 0;
        if (waits && (first < 0 || plain[i].order < plain[first].order)) first = i;
    }
    return first;
}

TEST("twenty thousand random moves leave each line as a plain list has it")
{
    static struct room room;
    struct plain plain[CLAIMS] = {0};
    uint64_t order = 0;
    open_room(&room);
    for (int round = 0; round < ROUNDS; round++) {
        int number = (int)chance(&room, CLAIMS);
        if (round % 64 == 0) begin_step(&room);
        if (!plain[number].is_in) {
            unsigned queues = 1U << chance(&room, QUEUES) | 1U << chance(&room, QUEUES);
            bool is_again = room.requests[number].parked_order != 0 && chance(&room, 2) == 0;
            if (!is_again) {
                (void)claim(&room, number, queues, 100);
                plain[number] = (struct plain){.queues = queues, .order = ++order};
            }
            CHECK(pawl_parked_put(room.parked, &room.requests[number], &room.step.set));
            plain[number].is_in = true;
        } else if (chance(&room, 3) == 0) {
            pawl_parked_remove(room.parked, &room.requests[number]);
            plain[number].is_in = false;
        } else {
            unsigned queue = (unsigned)chance(&room, QUEUES);
            int first = plain_first(plain, queue);
            ready(&room, (int64_t)queue + 1, false);
            pawl_parked_rouse(room.parked, &room.step);
            CHECK_EQ(first, take_one(&room));
            if (first >= 0) plain[first].is_in = false;
        }
        CHECK(!pawl_parked_is_roused(room.parked));
    }
    close_room(&room);
}

TEST_MAIN()
