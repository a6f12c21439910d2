/* What a server shows is read back whole: show.h and shown.h are about the same keys. */
#include "wire/show.h"
#include "wire/shown.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "test.h"

static struct pawl_json *parse(struct pawl_arena *arena, struct pawl_json_writer *w)
{
    struct pawl_json *root = NULL;
    CHECK_OK(pawl_json_parse(pawl_json_writer_done(w), arena, &root, NULL), NULL);
    return root;
}

/* A key that is added to one side alone is null or 0 here: whoever adds one fills it in below. */
static void check_all_filled(const struct pawl_json *object)
{
    for (const struct pawl_json *at = pawl_json_first(object); at != NULL;
         at = pawl_json_next(at)) {
        CHECK(at->kind != PAWL_JSON_NULL);
        CHECK(!pawl_str_equal(at->raw, PAWL_STR("0")));
    }
}

TEST("every key of a task that is shown is read back")
{
    struct pawl_arena *arena = NULL;
    struct pawl_json_writer w;
    struct pawl_task again;
    struct pawl_error err = {0};
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    const struct pawl_str ids[] = {PAWL_STR_INIT("a"), PAWL_STR_INIT("b\"c")};
    const struct pawl_task task = {
        .id = PAWL_STR("id"),
        .queue = PAWL_STR("mail"),
        .title = PAWL_STR("t\n"),
        .goal = PAWL_STR("g"),
        .input = PAWL_STR("{\"n\":129.90}"),
        .metadata = PAWL_STR("{}"),
        .result = PAWL_STR("[1]"),
        .error = PAWL_STR("e"),
        .correlation_id = PAWL_STR("c"),
        .key = PAWL_STR("k"),
        .state = PAWL_TASK_RECOVERY_PENDING,
        .priority = 31,
        .progress = 12.5,
        .progress_epoch = 2,
        .retries = 3,
        .recoveries = 4,
        .max_retries = 5,
        .version = 6,
        .epoch = INT64_C(1) << 60,
        .owner = PAWL_STR("w"),
        .lease_end_at_ms = 7,
        .lease_ms = 8,
        .next_retry_at_ms = 9,
        .timeout_ms = 10,
        .created_at_ms = 11,
        .updated_at_ms = 12,
        .started_at_ms = 13,
        .finished_at_ms = 14,
        .control = PAWL_CONTROL_CANCEL,
        .control_reason = PAWL_STR("r"),
        .control_deadline_at_ms = 15,
        .open_dependencies = 16,
        .blocked_by = PAWL_STR("b"),
        .depends_on = ids,
        .depends_on_count = 2,
        .recovery_note = PAWL_STR("n"),
        .recovery_look_at_ms = 17,
    };
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_object(&w);
    pawl_show_task_json(&w, &task, true);
    pawl_json_end_object(&w);
    struct pawl_str first = pawl_json_writer_done(&w);
    struct pawl_json *shown = parse(arena, &w);
    check_all_filled(shown);
    CHECK_OK(pawl_shown_task(shown, arena, &again, &err), &err);
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_object(&w);
    pawl_show_task_json(&w, &again, true);
    pawl_json_end_object(&w);
    CHECK(pawl_str_equal(first, pawl_json_writer_done(&w)));
    pawl_arena_close(arena);
}

TEST("every key of a queue that is shown is read back, and none is not the default")
{
    static const struct pawl_queue queues[] = {
        {.name = PAWL_STR_INIT("mail"),
         .is_paused = true,
         .lease_ms = 1,
         .retry = {.max_retries = 2,
                   .backoff = PAWL_BACKOFF_FIXED,
                   .delay_ms = 3,
                   .delay_ms_max = 4,
                   .jitter_ms = 5},
         .ready = 6,
         .deferred = 7,
         .running = 8,
         .oldest_ready_at_ms = 9},
        {.name = PAWL_STR_INIT("none"),
         .retry = {.max_retries = PAWL_RETRIES_NONE, .delay_ms = PAWL_DELAY_NONE}},
        {.name = PAWL_STR_INIT("default")},
    };
    for (size_t i = 0; i < COUNT_OF(queues); i++) {
        struct pawl_arena *arena = NULL;
        struct pawl_json_writer w;
        struct pawl_queue again;
        struct pawl_error err = {0};
        CHECK_OK(pawl_arena_open(&arena, 0), NULL);
        pawl_json_writer_init(&w, arena);
        pawl_show_queue_json(&w, &queues[i]);
        struct pawl_str first = pawl_json_writer_done(&w);
        struct pawl_json *shown = parse(arena, &w);
        if (i == 0) {
            check_all_filled(shown);
            check_all_filled(pawl_json_member(shown, PAWL_STR("retry")));
        }
        CHECK_OK(pawl_shown_queue(shown, arena, &again, &err), &err);
        pawl_json_writer_init(&w, arena);
        pawl_show_queue_json(&w, &again);
        CHECK(pawl_str_equal(first, pawl_json_writer_done(&w)));
        CHECK_EQ(queues[i].retry.max_retries, again.retry.max_retries);
        CHECK_EQ(queues[i].retry.delay_ms, again.retry.delay_ms);
        pawl_arena_close(arena);
    }
}

TEST("every key of an event that is shown is read back")
{
    struct pawl_arena *arena = NULL;
    struct pawl_json_writer w;
    struct pawl_event again;
    struct pawl_error err = {0};
    CHECK_OK(pawl_arena_open(&arena, 0), NULL);
    const struct pawl_event event = {
        .position = INT64_C(1) << 60,
        .id = PAWL_STR("i"),
        .task_id = PAWL_STR("t"),
        .queue = PAWL_STR("q"),
        .sequence = 1,
        .at_ms = 2,
        .type = PAWL_STR("task_failed"),
        .action = PAWL_STR("a"),
        .state = PAWL_TASK_DEAD_LETTER,
        .epoch = 3,
        .version = 4,
        .progress = 5.5,
        .retries = 6,
        .next_retry_at_ms = 7,
        .success = true,
        .duration_ms = 8,
        .actor = PAWL_STR("w"),
        .cause = PAWL_STR("c"),
        .detail = PAWL_STR("d"),
        .title = PAWL_STR("n"),
        .correlation_id = PAWL_STR("o"),
        .is_imported = true,
    };
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_object(&w);
    pawl_show_event_json(&w, &event);
    pawl_json_end_object(&w);
    struct pawl_str first = pawl_json_writer_done(&w);
    struct pawl_json *shown = parse(arena, &w);
    check_all_filled(shown);
    CHECK_OK(pawl_shown_event(shown, arena, &again, &err), &err);
    pawl_json_writer_init(&w, arena);
    pawl_json_begin_object(&w);
    pawl_show_event_json(&w, &again);
    pawl_json_end_object(&w);
    CHECK(pawl_str_equal(first, pawl_json_writer_done(&w)));
    pawl_arena_close(arena);
}

TEST("a value that is not as we write it is refused by its key")
{
    static const char *const bad[][2] = {
        {"{\"id\":\"a\",\"epoch\":\"7\"}", "epoch: "},
        {"{\"id\":\"a\",\"state\":\"GONE\"}", "state: "},
        {"{\"id\":\"a\",\"retries\":4294967296}", "retries: "},
        {"{\"id\":\"a\",\"control\":\"stop\"}", "control: "},
        {"{\"id\":\"a\",\"depends_on\":[7]}", "depends_on: "},
        {"{}", "id: "},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct pawl_arena *arena = NULL;
        struct pawl_json *root = NULL;
        struct pawl_task task;
        struct pawl_error err = {0};
        CHECK_OK(pawl_arena_open(&arena, 0), NULL);
        CHECK_OK(pawl_json_parse(pawl_str_of(bad[i][0]), arena, &root, NULL), NULL);
        CHECK_EQ(PAWL_IO, pawl_shown_task(root, arena, &task, &err));
        CHECK(pawl_str_starts(pawl_str_of(err.text), pawl_str_of(bad[i][1])));
        pawl_arena_close(arena);
    }
}

TEST_MAIN()
