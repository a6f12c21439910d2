/* What callers give, at each limit and one beyond it; and what is refused before any row is read.
 */
#include "base/arena.h"
#include "base/str.h"
#include "core/check.h"
#include "core/limits.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static const struct pawl_str none = {0};

struct check {
    struct pawl_arena *arena;
    struct pawl_error err;
};

static struct check check_open(void)
{
    struct check check = {0};
    CHECK_OK(pawl_arena_open(&check.arena, 256 * 1024 * 1024), NULL);
    return check;
}

static struct pawl_str text_of(struct check *check, size_t bytes, char of)
{
    char *text = pawl_arena_take(check->arena, bytes);
    CHECK(text != NULL);
    memset(text, of, bytes);
    return (struct pawl_str){text, bytes};
}

static struct pawl_str json_of(struct check *check, size_t bytes)
{
    char *text = pawl_arena_take(check->arena, bytes);
    CHECK(text != NULL);
    memset(text, 'x', bytes);
    text[0] = text[bytes - 1] = '"';
    return (struct pawl_str){text, bytes};
}

static struct pawl_str object_of(struct check *check, size_t bytes)
{
    char *text = pawl_arena_take(check->arena, bytes);
    CHECK(text != NULL);
    memset(text, ' ', bytes);
    text[0] = '{';
    text[bytes - 1] = '}';
    return (struct pawl_str){text, bytes};
}

static enum pawl_code create_batch(struct check *check, const struct pawl_task_new *asks,
                                   size_t count)
{
    const struct pawl_member *members;
    return pawl_check_create(asks, count, none, check->arena, &members, &check->err);
}

static enum pawl_code create(struct check *check, struct pawl_task_new ask)
{
    ask.size = sizeof ask;
    return create_batch(check, &ask, 1);
}

static enum pawl_code command(struct check *check, struct pawl_command command)
{
    if (command.task_id.len == 0) command.task_id = PAWL_STR("t");
    return pawl_check_command(&command, check->arena, &check->err);
}

/* At the limit, then one over. */
#define AT_LIMIT(code_beyond, call_at, call_over) \
    do {                                          \
        CHECK_OK((call_at), &check.err);          \
        CHECK_CODE((code_beyond), (call_over));   \
    } while (0)

#define CREATE(...)  create(&check, (struct pawl_task_new){__VA_ARGS__})
#define COMMAND(...) command(&check, (struct pawl_command){__VA_ARGS__})

TEST("T-010 each limit of a new task accepts itself and refuses one more")
{
    struct check check = check_open();
    AT_LIMIT(PAWL_INVALID, CREATE(.id = text_of(&check, PAWL_TASK_ID_BYTES_MAX, 'a')),
             CREATE(.id = text_of(&check, PAWL_TASK_ID_BYTES_MAX + 1, 'a')));
    AT_LIMIT(PAWL_INVALID, CREATE(.queue = text_of(&check, PAWL_QUEUE_NAME_BYTES_MAX, 'q')),
             CREATE(.queue = text_of(&check, PAWL_QUEUE_NAME_BYTES_MAX + 1, 'q')));
    AT_LIMIT(PAWL_INVALID, CREATE(.key = text_of(&check, PAWL_KEY_BYTES_MAX, 'k')),
             CREATE(.key = text_of(&check, PAWL_KEY_BYTES_MAX + 1, 'k')));
    AT_LIMIT(PAWL_TOO_LARGE, CREATE(.title = text_of(&check, PAWL_TITLE_POINTS_MAX, 't')),
             CREATE(.title = text_of(&check, PAWL_TITLE_POINTS_MAX + 1, 't')));
    AT_LIMIT(PAWL_TOO_LARGE, CREATE(.goal = text_of(&check, PAWL_GOAL_BYTES_MAX, 'g')),
             CREATE(.goal = text_of(&check, PAWL_GOAL_BYTES_MAX + 1, 'g')));
    AT_LIMIT(PAWL_TOO_LARGE, CREATE(.input = json_of(&check, PAWL_PAYLOAD_BYTES_MAX)),
             CREATE(.input = json_of(&check, PAWL_PAYLOAD_BYTES_MAX + 1)));
    AT_LIMIT(PAWL_TOO_LARGE, CREATE(.metadata = object_of(&check, PAWL_METADATA_BYTES_MAX)),
             CREATE(.metadata = object_of(&check, PAWL_METADATA_BYTES_MAX + 1)));
    AT_LIMIT(PAWL_TOO_LARGE, CREATE(.actor = text_of(&check, PAWL_REASON_BYTES_MAX, 'r')),
             CREATE(.actor = text_of(&check, PAWL_REASON_BYTES_MAX + 1, 'r')));
    AT_LIMIT(PAWL_INVALID, CREATE(.correlation_id = text_of(&check, 128, 'c')),
             CREATE(.correlation_id = text_of(&check, 129, 'c')));
    AT_LIMIT(PAWL_INVALID, CREATE(.priority = PAWL_PRIORITY_MAX),
             CREATE(.priority = PAWL_PRIORITY_MAX + 1));
    AT_LIMIT(PAWL_INVALID, CREATE(.priority = PAWL_PRIORITY_LOWEST),
             CREATE(.priority = PAWL_PRIORITY_LOWEST - 1));
    AT_LIMIT(PAWL_INVALID, CREATE(.retry.max_retries = PAWL_RETRIES_MAX),
             CREATE(.retry.max_retries = PAWL_RETRIES_MAX + 1));
    AT_LIMIT(PAWL_INVALID, CREATE(.retry.max_retries = PAWL_RETRIES_NONE),
             CREATE(.retry.max_retries = PAWL_RETRIES_NONE - 1));
    AT_LIMIT(PAWL_INVALID, CREATE(.retry.delay_ms = PAWL_DELAY_MS_MAX),
             CREATE(.retry.delay_ms = PAWL_DELAY_MS_MAX + 1));
    AT_LIMIT(PAWL_INVALID, CREATE(.retry.delay_ms = PAWL_DELAY_NONE),
             CREATE(.retry.delay_ms = PAWL_DELAY_NONE - 1));
    AT_LIMIT(PAWL_INVALID, CREATE(.retry.backoff = PAWL_BACKOFF_FIXED),
             CREATE(.retry.backoff = (enum pawl_backoff)(PAWL_BACKOFF_FIXED + 1)));
    AT_LIMIT(PAWL_INVALID, CREATE(.delay_ms = PAWL_DELAY_MS_MAX),
             CREATE(.delay_ms = PAWL_DELAY_MS_MAX + 1));
    AT_LIMIT(PAWL_INVALID, CREATE(.timeout_ms = PAWL_DELAY_MS_MAX),
             CREATE(.timeout_ms = PAWL_DELAY_MS_MAX + 1));
    AT_LIMIT(PAWL_INVALID, CREATE(.dependency_policy = PAWL_DEPENDENCY_IGNORE),
             CREATE(.dependency_policy = (enum pawl_dependency_policy)3));
    AT_LIMIT(PAWL_INVALID, CREATE(.delay_ms = 0), CREATE(.delay_ms = -1));
    AT_LIMIT(PAWL_INVALID, CREATE(.timeout_ms = 0), CREATE(.timeout_ms = -1));
    AT_LIMIT(PAWL_INVALID, CREATE(.run_at_ms = 0), CREATE(.run_at_ms = -1));
    pawl_arena_close(check.arena);
}

TEST("T-010 a title's limit counts code points, not bytes")
{
    struct check check = check_open();
    char *title = pawl_arena_take(check.arena, (size_t)PAWL_TITLE_POINTS_MAX * 4 + 4);
    for (size_t i = 0; i <= PAWL_TITLE_POINTS_MAX; i++)
        memcpy(title + i * 4, "\xf0\x9f\x98\x80", 4);
    CHECK_OK(CREATE(.title = {title, (size_t)PAWL_TITLE_POINTS_MAX * 4}), &check.err);
    CHECK_CODE(PAWL_TOO_LARGE, CREATE(.title = {title, (size_t)PAWL_TITLE_POINTS_MAX * 4 + 4}));
    pawl_arena_close(check.arena);
}

TEST("T-010 a task may wait for 256 others and not for 257")
{
    struct check check = check_open();
    struct pawl_str names[PAWL_DEPENDENCIES_MAX + 1];
    for (int i = 0; i <= PAWL_DEPENDENCIES_MAX; i++) {
        names[i] = pawl_arena_format(check.arena, "t-%d", i);
    }
    AT_LIMIT(PAWL_TOO_LARGE, CREATE(.depends_on = names, .depends_on_count = PAWL_DEPENDENCIES_MAX),
             CREATE(.depends_on = names, .depends_on_count = PAWL_DEPENDENCIES_MAX + 1));
    pawl_arena_close(check.arena);
}

TEST("T-010 a batch has at most 1 000 members and 16 MiB")
{
    struct check check = check_open();
    struct pawl_task_new *asks =
        pawl_arena_take_array(check.arena, PAWL_BATCH_MAX + 1, sizeof *asks);
    for (int i = 0; i <= PAWL_BATCH_MAX; i++) asks[i].size = sizeof *asks;
    AT_LIMIT(PAWL_TOO_LARGE, create_batch(&check, asks, PAWL_BATCH_MAX),
             create_batch(&check, asks, PAWL_BATCH_MAX + 1));
    CHECK_CODE(PAWL_INVALID, create_batch(&check, asks, 0));

    asks[0].input = json_of(&check, PAWL_BATCH_BYTES_MAX / 2);
    asks[1].input = json_of(&check, PAWL_BATCH_BYTES_MAX / 2);
    CHECK_OK(create_batch(&check, asks, 2), &check.err);
    asks[2].goal = text_of(&check, 1, 'g');
    CHECK_CODE(PAWL_TOO_LARGE, create_batch(&check, asks, 3));
    pawl_arena_close(check.arena);
}

TEST("T-010 each limit of a claim accepts itself and refuses one more")
{
    struct check check = check_open();
    struct pawl_str queues[PAWL_CLAIM_QUEUES_MAX + 1];
    for (size_t i = 0; i < COUNT_OF(queues); i++) queues[i] = PAWL_STR("q");
#define CLAIMS(...) \
    pawl_check_claim(&(struct pawl_claim){.worker_id = PAWL_STR("w"), __VA_ARGS__}, &check.err)
#define CLAIMS_AS(id) pawl_check_claim(&(struct pawl_claim){.worker_id = id}, &check.err)
    AT_LIMIT(PAWL_INVALID, CLAIMS_AS(text_of(&check, PAWL_WORKER_ID_BYTES_MAX, 'w')),
             CLAIMS_AS(text_of(&check, PAWL_WORKER_ID_BYTES_MAX + 1, 'w')));
    CHECK_CODE(PAWL_INVALID, CLAIMS_AS(none));
    AT_LIMIT(PAWL_INVALID, CLAIMS(.max = PAWL_BATCH_MAX), CLAIMS(.max = PAWL_BATCH_MAX + 1));
    AT_LIMIT(PAWL_INVALID, CLAIMS(.max = 0), CLAIMS(.max = -1));
    AT_LIMIT(PAWL_INVALID, CLAIMS(.queues = queues, .queue_count = PAWL_CLAIM_QUEUES_MAX),
             CLAIMS(.queues = queues, .queue_count = PAWL_CLAIM_QUEUES_MAX + 1));
    AT_LIMIT(PAWL_INVALID, CLAIMS(.priority_min = PAWL_PRIORITY_MAX),
             CLAIMS(.priority_min = PAWL_PRIORITY_MAX + 1));
    AT_LIMIT(PAWL_INVALID, CLAIMS(.lease_ms = PAWL_LEASE_MS_MIN),
             CLAIMS(.lease_ms = PAWL_LEASE_MS_MIN - 1));
    AT_LIMIT(PAWL_INVALID, CLAIMS(.lease_ms = PAWL_LEASE_MS_MAX),
             CLAIMS(.lease_ms = (int64_t)PAWL_LEASE_MS_MAX + 1));
    AT_LIMIT(PAWL_INVALID, CLAIMS(.wait_ms = PAWL_WAIT_MS_MAX),
             CLAIMS(.wait_ms = PAWL_WAIT_MS_MAX + 1));
    AT_LIMIT(PAWL_INVALID, CLAIMS(.wait_ms = 0), CLAIMS(.wait_ms = -1));
    AT_LIMIT(PAWL_INVALID, CLAIMS(.request_id = text_of(&check, PAWL_KEY_BYTES_MAX, 'r')),
             CLAIMS(.request_id = text_of(&check, PAWL_KEY_BYTES_MAX + 1, 'r')));
    pawl_arena_close(check.arena);
}

TEST("T-010 each limit of the other calls accepts itself and refuses one more")
{
    struct check check = check_open();
    AT_LIMIT(PAWL_TOO_LARGE,
             COMMAND(.kind = PAWL_COMMAND_COMPLETE,
                     .ask.result = json_of(&check, PAWL_PAYLOAD_BYTES_MAX)),
             COMMAND(.kind = PAWL_COMMAND_COMPLETE,
                     .ask.result = json_of(&check, PAWL_PAYLOAD_BYTES_MAX + 1)));
    AT_LIMIT(PAWL_TOO_LARGE,
             COMMAND(.kind = PAWL_COMMAND_CHECKPOINT,
                     .ask.checkpoint.state = json_of(&check, PAWL_PAYLOAD_BYTES_MAX)),
             COMMAND(.kind = PAWL_COMMAND_CHECKPOINT,
                     .ask.checkpoint.state = json_of(&check, PAWL_PAYLOAD_BYTES_MAX + 1)));
    AT_LIMIT(PAWL_TOO_LARGE,
             COMMAND(.kind = PAWL_COMMAND_RESUME,
                     .ask.resume.input = json_of(&check, PAWL_PAYLOAD_BYTES_MAX)),
             COMMAND(.kind = PAWL_COMMAND_RESUME,
                     .ask.resume.input = json_of(&check, PAWL_PAYLOAD_BYTES_MAX + 1)));
    AT_LIMIT(PAWL_TOO_LARGE,
             COMMAND(.kind = PAWL_COMMAND_FAIL,
                     .ask.failure.error = text_of(&check, PAWL_ERROR_BYTES_MAX, 'e')),
             COMMAND(.kind = PAWL_COMMAND_FAIL,
                     .ask.failure.error = text_of(&check, PAWL_ERROR_BYTES_MAX + 1, 'e')));
    AT_LIMIT(
        PAWL_INVALID,
        COMMAND(.kind = PAWL_COMMAND_FAIL, .ask.failure.retry_after_ms = PAWL_DELAY_MS_MAX),
        COMMAND(.kind = PAWL_COMMAND_FAIL, .ask.failure.retry_after_ms = PAWL_DELAY_MS_MAX + 1));
    AT_LIMIT(PAWL_TOO_LARGE,
             COMMAND(.kind = PAWL_COMMAND_LOG,
                     .ask.line = text_of(&check, PAWL_LOG_LINE_BYTES_MAX, 'l')),
             COMMAND(.kind = PAWL_COMMAND_LOG,
                     .ask.line = text_of(&check, PAWL_LOG_LINE_BYTES_MAX + 1, 'l')));
    AT_LIMIT(
        PAWL_TOO_LARGE,
        COMMAND(.kind = PAWL_COMMAND_PAUSE, .reason = text_of(&check, PAWL_REASON_BYTES_MAX, 'r')),
        COMMAND(.kind = PAWL_COMMAND_PAUSE,
                .reason = text_of(&check, PAWL_REASON_BYTES_MAX + 1, 'r')));
    AT_LIMIT(
        PAWL_TOO_LARGE,
        COMMAND(.kind = PAWL_COMMAND_PAUSE, .actor = text_of(&check, PAWL_REASON_BYTES_MAX, 'r')),
        COMMAND(.kind = PAWL_COMMAND_PAUSE,
                .actor = text_of(&check, PAWL_REASON_BYTES_MAX + 1, 'r')));
    AT_LIMIT(PAWL_INVALID,
             COMMAND(.kind = PAWL_COMMAND_CHECKPOINT,
                     .ask.checkpoint = {.step = INT32_MAX, .state = PAWL_STR("1")}),
             COMMAND(.kind = PAWL_COMMAND_CHECKPOINT,
                     .ask.checkpoint = {.step = -1, .state = PAWL_STR("1")}));
    AT_LIMIT(
        PAWL_INVALID,
        COMMAND(.kind = PAWL_COMMAND_ACKNOWLEDGE,
                .ask.acknowledge.consumer = text_of(&check, PAWL_QUEUE_NAME_BYTES_MAX, 'c')),
        COMMAND(.kind = PAWL_COMMAND_ACKNOWLEDGE,
                .ask.acknowledge.consumer = text_of(&check, PAWL_QUEUE_NAME_BYTES_MAX + 1, 'c')));
    struct pawl_fence *fences =
        pawl_arena_take_array(check.arena, PAWL_BATCH_MAX + 1, sizeof *fences);
    for (int i = 0; i <= PAWL_BATCH_MAX; i++) {
        fences[i] = (struct pawl_fence){PAWL_STR("t"), PAWL_STR("w"), 1};
    }
    AT_LIMIT(PAWL_TOO_LARGE,
             COMMAND(.kind = PAWL_COMMAND_RENEW,
                     .ask.renew = {.fences = fences, .count = PAWL_BATCH_MAX}),
             COMMAND(.kind = PAWL_COMMAND_RENEW,
                     .ask.renew = {.fences = fences, .count = PAWL_BATCH_MAX + 1}));
    struct pawl_fence fence = {PAWL_STR("t"), PAWL_STR("w"), 1};
    AT_LIMIT(PAWL_INVALID,
             COMMAND(.kind = PAWL_COMMAND_RELEASE, .has_fence = true, .fence = fence,
                     .ask.delay_ms = PAWL_DELAY_MS_MAX),
             COMMAND(.kind = PAWL_COMMAND_RELEASE, .has_fence = true, .fence = fence,
                     .ask.delay_ms = PAWL_DELAY_MS_MAX + 1));
    pawl_arena_close(check.arena);
}

TEST("T-012 an id is letters, digits and . _ : - after the first, and ends in no -attempt-N")
{
    static const struct {
        const char *id;
        enum pawl_code code;
    } rows[] = {
        {"a", PAWL_OK},
        {"7", PAWL_OK},
        {"order.17_b:c-d", PAWL_OK},
        {"x-attempt-", PAWL_OK},
        {"x-attempt-7a", PAWL_OK},
        {"attempt-7", PAWL_OK},
        {".a", PAWL_INVALID},
        {"-a", PAWL_INVALID},
        {"a b", PAWL_INVALID},
        {"a/b", PAWL_INVALID},
        {"a\nb", PAWL_INVALID},
        {"\xc3\xa9", PAWL_INVALID},
        {"x-attempt-7", PAWL_INVALID},
        {"x-attempt-007", PAWL_INVALID},
    };
    struct check check = check_open();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum pawl_code code = CREATE(.id = pawl_str_of(rows[i].id));
        if (code != rows[i].code) FAIL("id \"%s\": %s", rows[i].id, pawl_code_name(code));
    }
    pawl_arena_close(check.arena);
}

TEST("D-20 a percentage that is no number, or not a finite one, is INVALID")
{
    struct check check = check_open();
    double zero = 0.0;
    CHECK_CODE(PAWL_INVALID, COMMAND(.kind = PAWL_COMMAND_PROGRESS, .ask.percent = zero / zero));
    CHECK_CODE(PAWL_INVALID, COMMAND(.kind = PAWL_COMMAND_PROGRESS, .ask.percent = 1.0 / zero));
    CHECK_CODE(PAWL_INVALID, COMMAND(.kind = PAWL_COMMAND_PROGRESS, .ask.percent = -1.0 / zero));
    CHECK_OK(COMMAND(.kind = PAWL_COMMAND_PROGRESS, .ask.percent = -5.0), &check.err);
    CHECK_OK(COMMAND(.kind = PAWL_COMMAND_PROGRESS, .ask.percent = 1e300), &check.err);
    pawl_arena_close(check.arena);
}

TEST("payloads are JSON: UTF-8, no duplicate keys, one value; metadata is an object")
{
    static const struct {
        const char *json;
        bool is_json;
        bool is_object;
    } rows[] = {
        {"1", true, false},
        {"\"x\"", true, false},
        {"null", true, false},
        {"[1,2]", true, false},
        {"{\"a\":1}", true, true},
        {"{}", true, true},
        {"9007199254740993", true, false},
        {"129.90", true, false},
        {"{\"a\":1,\"a\":2}", false, false},
        {"1 2", false, false},
        {"{", false, false},
        {"NaN", false, false},
        {"\"\xff\"", false, false},
        {"'x'", false, false},
        {"[1,]", false, false},
    };
    struct check check = check_open();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_str json = pawl_str_of(rows[i].json);
        CHECK_EQ(rows[i].is_json ? PAWL_OK : PAWL_INVALID, CREATE(.input = json));
        CHECK_EQ(rows[i].is_object ? PAWL_OK : PAWL_INVALID, CREATE(.metadata = json));
        CHECK_EQ(rows[i].is_json ? PAWL_OK : PAWL_INVALID,
                 COMMAND(.kind = PAWL_COMMAND_COMPLETE, .ask.result = json));
        CHECK_EQ(rows[i].is_json ? PAWL_OK : PAWL_INVALID,
                 COMMAND(.kind = PAWL_COMMAND_CHECKPOINT, .ask.checkpoint.state = json));
    }
    CHECK_CODE(PAWL_INVALID, COMMAND(.kind = PAWL_COMMAND_CHECKPOINT));
    pawl_arena_close(check.arena);
}

TEST("texts are UTF-8 without NUL, names have no control characters and no blanks around them")
{
    struct check check = check_open();
    struct pawl_str nul = {"a\0b", 3};
    struct pawl_str bad = PAWL_STR("\xc3\x28");
    CHECK_CODE(PAWL_INVALID, CREATE(.goal = nul));
    CHECK_CODE(PAWL_INVALID, CREATE(.goal = bad));
    CHECK_CODE(PAWL_INVALID, CREATE(.title = nul));
    CHECK_OK(CREATE(.goal = PAWL_STR("two\nlines")), &check.err);
    CHECK_CODE(PAWL_INVALID, CREATE(.queue = PAWL_STR("a\nb")));
    CHECK_CODE(PAWL_INVALID, CREATE(.queue = PAWL_STR(" a")));
    CHECK_CODE(PAWL_INVALID, CREATE(.queue = PAWL_STR("a ")));
    CHECK_CODE(PAWL_INVALID, CREATE(.queue = bad));
    CHECK_OK(CREATE(.queue = PAWL_STR("e-mail \xc3\xa9 out")), &check.err);
    CHECK_CODE(PAWL_INVALID, CREATE(.key = PAWL_STR("a\tb")));
    CHECK_CODE(PAWL_INVALID, COMMAND(.kind = PAWL_COMMAND_PAUSE, .reason = nul));
    pawl_arena_close(check.arena);
}

TEST("a correlation id in the metadata has to be one; null counts as absent")
{
    struct check check = check_open();
    CHECK_OK(CREATE(.metadata = PAWL_STR("{\"correlation_id\":\"a-1.b:c\"}")), &check.err);
    CHECK_OK(CREATE(.metadata = PAWL_STR("{\"correlation_id\":null}")), &check.err);
    CHECK_CODE(PAWL_INVALID, CREATE(.metadata = PAWL_STR("{\"correlation_id\":\"a b\"}")));
    CHECK_CODE(PAWL_INVALID, CREATE(.metadata = PAWL_STR("{\"correlation_id\":\"\"}")));
    CHECK_CODE(PAWL_INVALID, CREATE(.metadata = PAWL_STR("{\"correlation_id\":7}")));
    pawl_arena_close(check.arena);
}

TEST("T-009 a dependency that is named twice, is the task itself, or no id at all is refused")
{
    struct check check = check_open();
    struct pawl_str twice[] = {PAWL_STR("a"), PAWL_STR("a")};
    struct pawl_str self[] = {PAWL_STR("me")};
    struct pawl_str member[] = {PAWL_STR("#0")};
    struct pawl_str beyond[] = {PAWL_STR("#1")};
    struct pawl_str empty[] = {PAWL_STR("")};
    CHECK_CODE(PAWL_INVALID, CREATE(.depends_on = twice, .depends_on_count = 2));
    CHECK_CODE(PAWL_INVALID,
               CREATE(.id = PAWL_STR("me"), .depends_on = self, .depends_on_count = 1));
    CHECK_CODE(PAWL_INVALID, CREATE(.depends_on = member, .depends_on_count = 1));
    CHECK_CODE(PAWL_INVALID, CREATE(.depends_on = beyond, .depends_on_count = 1));
    CHECK_CODE(PAWL_INVALID, CREATE(.depends_on = empty, .depends_on_count = 1));

    /* the same member by its number and by its id */
    struct pawl_str both[] = {PAWL_STR("#0"), PAWL_STR("a")};
    struct pawl_task_new asks[] = {
        {.size = sizeof *asks, .id = PAWL_STR("a")},
        {.size = sizeof *asks, .depends_on = both, .depends_on_count = 2},
    };
    CHECK_CODE(PAWL_INVALID, create_batch(&check, asks, 2));
    asks[1].depends_on_count = 1;
    CHECK_OK(create_batch(&check, asks, 2), &check.err);
    pawl_arena_close(check.arena);
}

TEST("T-009 a circle of dependencies within a batch is refused, a long chain is not")
{
    struct check check = check_open();
    enum { COUNT = PAWL_BATCH_MAX };
    struct pawl_task_new *asks = pawl_arena_take_array(check.arena, COUNT, sizeof *asks);
    struct pawl_str *names = pawl_arena_take_array(check.arena, COUNT, sizeof *names);
    for (int i = 0; i < COUNT; i++) {
        names[i] = pawl_arena_format(check.arena, "#%d", (i + 1) % COUNT);
        asks[i] = (struct pawl_task_new){
            .size = sizeof *asks, .depends_on = &names[i], .depends_on_count = 1};
    }
    CHECK_CODE(PAWL_INVALID, create_batch(&check, asks, COUNT));
    CHECK_TEXT("member #0: depends_on: it waits for itself: #0 waits for #1 waits for #2 waits for #3 waits for #4 "
               "waits for #5, and 994 more",
               check.err.text);
    asks[COUNT - 1].depends_on_count = 0;
    CHECK_OK(create_batch(&check, asks, COUNT), &check.err);

    /* two that wait for each other, by id */
    struct pawl_str a[] = {PAWL_STR("a")};
    struct pawl_str b[] = {PAWL_STR("b")};
    struct pawl_task_new pair[] = {
        {.size = sizeof *pair, .id = PAWL_STR("a"), .depends_on = b, .depends_on_count = 1},
        {.size = sizeof *pair, .id = PAWL_STR("b"), .depends_on = a, .depends_on_count = 1},
    };
    CHECK_CODE(PAWL_INVALID, create_batch(&check, pair, 2));
    pawl_arena_close(check.arena);
}

TEST("T-012 one id twice in a batch is CONFLICT")
{
    struct check check = check_open();
    struct pawl_task_new asks[] = {{.size = sizeof *asks, .id = PAWL_STR("a")},
                                   {.size = sizeof *asks, .id = PAWL_STR("a")}};
    CHECK_CODE(PAWL_CONFLICT, create_batch(&check, asks, 2));
    pawl_arena_close(check.arena);
}

TEST("an error names the member of the batch and the field")
{
    struct check check = check_open();
    struct pawl_task_new asks[] = {
        {.size = sizeof *asks}, {.size = sizeof *asks}, {.size = sizeof *asks, .priority = 100}};
    CHECK_CODE(PAWL_INVALID, create_batch(&check, asks, 3));
    CHECK(strstr(check.err.text, "member #2") != NULL);
    CHECK(strstr(check.err.text, "priority") != NULL);
    pawl_arena_close(check.arena);
}

TEST("a fence has to be whole, and for the task that is named")
{
    struct check check = check_open();
    struct pawl_command complete = {.kind = PAWL_COMMAND_COMPLETE,
                                    .task_id = PAWL_STR("t"),
                                    .has_fence = true,
                                    .fence = {PAWL_STR("t"), PAWL_STR("w"), 1}};
    CHECK_OK(command(&check, complete), &check.err);
    struct pawl_command bad = complete;
    bad.fence.epoch = 0;
    CHECK_CODE(PAWL_INVALID, command(&check, bad));
    bad = complete;
    bad.fence.owner = none;
    CHECK_CODE(PAWL_INVALID, command(&check, bad));
    bad = complete;
    bad.fence.task_id = PAWL_STR("u");
    CHECK_CODE(PAWL_INVALID, command(&check, bad));
    bad = complete;
    bad.expected_version = -1;
    CHECK_CODE(PAWL_INVALID, command(&check, bad));
    CHECK_CODE(PAWL_MISUSE, COMMAND(.kind = PAWL_COMMAND_RELEASE));
    pawl_arena_close(check.arena);
}

TEST("resolve takes the four outcomes and no other state")
{
    struct check check = check_open();
    static const enum pawl_task_state good[] = {PAWL_TASK_COMPLETED, PAWL_TASK_FAILED,
                                                PAWL_TASK_QUEUED, PAWL_TASK_CANCELLED};
    static const enum pawl_task_state bad[] = {PAWL_TASK_PENDING, PAWL_TASK_RUNNING,
                                               PAWL_TASK_PAUSED, PAWL_TASK_RECOVERY_PENDING,
                                               PAWL_TASK_DEAD_LETTER};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        CHECK_OK(COMMAND(.kind = PAWL_COMMAND_RESOLVE, .ask.resolve.outcome = good[i]), &check.err);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_CODE(PAWL_INVALID,
                   COMMAND(.kind = PAWL_COMMAND_RESOLVE, .ask.resolve.outcome = bad[i]));
    }
    CHECK_CODE(PAWL_INVALID, COMMAND(.kind = PAWL_COMMAND_RESOLVE,
                                     .ask.resolve = {PAWL_TASK_COMPLETED, PAWL_STR("no json"), 0}));
    CHECK_OK(COMMAND(.kind = PAWL_COMMAND_RESOLVE,
                     .ask.resolve = {PAWL_TASK_FAILED, PAWL_STR("no json"), 0}),
             &check.err);
    pawl_arena_close(check.arena);
}

TEST("a circle is named by the ids of its members, without those that only wait for it")
{
    struct check check = check_open();
    struct pawl_str waits[] = {PAWL_STR("b"), PAWL_STR("#2"), PAWL_STR("b"), PAWL_STR("free")};
    struct pawl_task_new asks[] = {
        {.size = sizeof *asks, .id = PAWL_STR("outside"), .depends_on = &waits[0], .depends_on_count = 1},
        {.size = sizeof *asks, .id = PAWL_STR("b"), .depends_on = &waits[1], .depends_on_count = 1},
        {.size = sizeof *asks, .depends_on = &waits[2], .depends_on_count = 2},
        {.size = sizeof *asks, .id = PAWL_STR("free")},
    };
    CHECK_CODE(PAWL_INVALID, create_batch(&check, asks, 4));
    CHECK_TEXT("member #1: depends_on: it waits for itself: b waits for #2 waits for b", check.err.text);
    pawl_arena_close(check.arena);
}

TEST_MAIN()
