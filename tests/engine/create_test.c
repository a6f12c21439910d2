/* Tasks come into being: fields, ids, keys, batches; what is refused leaves nothing. */
#include "base/arena.h"
#include "core/check.h"
#include "engine/engine.h"
#include "stores.h"

#include <string.h>

static void check_ok(struct lab *lab, enum pawl_code code)
{
    CHECK_OK(code, &lab->err);
}

static int64_t event_count(struct lab *lab)
{
    struct pawl_events events;
    CHECK_OK(pawl_events_read(lab->pawl, 0, PAWL_BATCH_MAX, lab->keep, &events, &lab->err),
             &lab->err);
    return (int64_t)events.count;
}

static size_t task_count(struct lab *lab)
{
    struct pawl_page page = lab_list(lab, LIST(.limit = PAWL_BATCH_MAX));
    CHECK_EQ(0, page.cursor.len);
    return page.count;
}

TEST_EACH_STORE("T-001 a task comes back as it was given: id, priority, state's name, dependencies")
{
    lab_open(lab);
    struct pawl_str parents[] = {lab_add(lab, NEW()), lab_add(lab, NEW(.id = PAWL_STR("two")))};
    struct pawl_str id = lab_add(lab, NEW(.id = PAWL_STR("child.1"), .priority = 40,
                                          .depends_on = parents, .depends_on_count = 2));
    struct pawl_task task = lab_get(lab, id);
    CHECK_STR("child.1", task.id);
    CHECK_EQ(40, task.priority);
    enum pawl_task_state state = PAWL_TASK_PAUSED;
    CHECK(pawl_task_state_parse(pawl_str_of(pawl_task_state_name(task.state)), &state));
    CHECK_EQ(PAWL_TASK_QUEUED, state);
    CHECK_EQ(2, task.depends_on_count);
    CHECK(pawl_str_equal(parents[0], task.depends_on[0]));
    CHECK_STR("two", task.depends_on[1]);
    CHECK_EQ(2, task.open_dependencies);
}

TEST_EACH_STORE("a new task has the defaults, and every field that was given")
{
    lab_open(lab);
    struct pawl_task task = lab_get(lab, lab_add(lab, NEW(.hold = true)));
    CHECK_EQ(36, task.id.len);
    CHECK_STR("default", task.queue);
    CHECK_STR("", task.title);
    CHECK_EQ(PAWL_TASK_PENDING, task.state);
    CHECK_EQ(20, task.priority);
    CHECK_EQ(0, task.retries);
    CHECK_EQ(3, task.max_retries);
    CHECK_EQ(1, task.version);
    CHECK_EQ(0, task.epoch);
    CHECK_NEAR(0, task.progress, 0);
    CHECK_EQ(0, task.owner.len);
    CHECK_EQ(0, task.lease_end_at_ms);
    CHECK_EQ(0, task.next_retry_at_ms);
    CHECK_EQ(0, task.started_at_ms);
    CHECK_EQ(0, task.finished_at_ms);
    CHECK_EQ(task.created_at_ms, task.updated_at_ms);
    CHECK_EQ(0, task.result.len);
    CHECK_EQ(0, task.error.len);
    CHECK_EQ(0, task.input.len);
    CHECK_EQ(32, task.correlation_id.len);
    CHECK_EQ(PAWL_CONTROL_NONE, task.control);

    struct pawl_str id =
        lab_add(lab, NEW(.queue = PAWL_STR("mail"), .input = PAWL_STR("{\"a\": 129.90}"),
                         .goal = PAWL_STR("send it"), .title = PAWL_STR(" Mail "),
                         .metadata = PAWL_STR("{\"n\":9007199254740993}"),
                         .correlation_id = PAWL_STR("c-1"), .key = PAWL_STR("k-1"),
                         .priority = PAWL_PRIORITY_LOWEST, .retry = {.max_retries = 5},
                         .timeout_ms = 7000));
    task = lab_get(lab, id);
    CHECK_STR("mail", task.queue);
    CHECK_STR("{\"a\": 129.90}", task.input);
    CHECK_STR("send it", task.goal);
    CHECK_STR("Mail", task.title);
    CHECK_STR("{\"n\":9007199254740993,\"correlation_id\":\"c-1\"}", task.metadata);
    CHECK_STR("c-1", task.correlation_id);
    CHECK_STR("k-1", task.key);
    CHECK_EQ(0, task.priority);
    CHECK_EQ(5, task.max_retries);
    CHECK_EQ(7000, task.timeout_ms);
    CHECK_EQ(PAWL_TASK_QUEUED, task.state);
    CHECK_EQ(2, task.version);
}

TEST_EACH_STORE("T-003 a stored title is the given one trimmed, else the start of the goal")
{
    lab_open(lab);
#define GOAL_45 "123456789012345678901234567890123456789012345"
    static const struct {
        const char *title;
        const char *goal;
        const char *want;
    } rows[] = {
        {"", GOAL_45, GOAL_45},
        {"", GOAL_45 "6", GOAL_45 "..."},
        {" \t ", "goal", "goal"},
        {" Mail ", "goal", "Mail"},
        {"", "\xe2\x82\xac" GOAL_45,
         "\xe2\x82\xac"
         "12345678901234567890123456789012345678901234..."},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pawl_str id = lab_add(
            lab, NEW(.title = pawl_str_of(rows[i].title), .goal = pawl_str_of(rows[i].goal)));
        CHECK_STR(rows[i].want, lab_get(lab, id).title);
        CHECK_STR(rows[i].want, lab_history(lab, id).events[0].title);
    }
}

/* ---- Correlation ids ---- */

struct lines {
    struct lab *lab;
    size_t count;
    size_t with_id;
};

static void count_line(void *self, enum pawl_log_level level, struct pawl_str line)
{
    struct lines *lines = self;
    (void)level;
    if (!pawl_str_has(line, PAWL_STR("event=task."))) return;
    lines->count++;
    if (pawl_str_has(line, PAWL_STR("correlation_id=call-7"))) lines->with_id++;
}

TEST_EACH_STORE(
    "T-008 a correlation id of the handle or the call is in metadata, events and log lines")
{
    struct lines lines = {.lab = lab};
    struct pawl_options options = lab_options(lab);
    options.correlation_id = PAWL_STR("call-7");
    options.log = count_line;
    options.log_self = &lines;
    lab->pawl = lab_handle(lab, &options);
    struct pawl_str id = lab_add(lab, NEW(.metadata = PAWL_STR("{\"a\":1}")));
    struct pawl_fence fence = lab_start(lab, id, "w");
    CHECK_OK(pawl_task_complete(lab->pawl, id, NO_TEXT, CHANGE(.fence = &fence), &lab->err),
             &lab->err);
    struct pawl_task task = lab_get(lab, id);
    CHECK_STR("call-7", task.correlation_id);
    CHECK_STR("{\"a\":1,\"correlation_id\":\"call-7\"}", task.metadata);
    struct pawl_events events = lab_history(lab, id);
    CHECK_EQ(4, events.count);
    for (size_t i = 0; i < events.count; i++) CHECK_STR("call-7", events.events[i].correlation_id);
    CHECK_EQ(4, lines.count); /* created, queued, started, completed */
    CHECK_EQ(4, lines.with_id);

    /* the call's own wins over the handle's, the metadata's over both */
    id = lab_add(lab, NEW(.correlation_id = PAWL_STR("own")));
    CHECK_STR("own", lab_get(lab, id).correlation_id);
    id = lab_add(lab, NEW(.correlation_id = PAWL_STR("own"),
                          .metadata = PAWL_STR("{\"correlation_id\":\"inner\"}")));
    CHECK_STR("inner", lab_get(lab, id).correlation_id);
    CHECK_STR("{\"correlation_id\":\"inner\"}", lab_get(lab, id).metadata);
    id = lab_add(lab, NEW(.metadata = PAWL_STR("{\"correlation_id\":null}")));
    CHECK_STR("{\"correlation_id\":\"call-7\"}", lab_get(lab, id).metadata);
}

TEST_EACH_STORE("a handle's correlation id that is none is replaced by 32 hex digits")
{
    struct pawl_options options = lab_options(lab);
    options.correlation_id = PAWL_STR("not one!");
    lab->pawl = lab_handle(lab, &options);
    struct pawl_str made = lab_get(lab, lab_add(lab, NEW())).correlation_id;
    CHECK_EQ(32, made.len);
    for (size_t i = 0; i < made.len; i++) CHECK(strchr("0123456789abcdef", made.ptr[i]) != NULL);
}

/* ---- Dependencies ---- */

TEST_EACH_STORE("T-009 unknown, duplicate, own and cyclic dependencies are refused before any row")
{
    lab_open(lab);
    struct pawl_str known = lab_add(lab, NEW());
    int64_t events = event_count(lab);
    struct pawl_str unknown[] = {known, PAWL_STR("nobody")};
    struct pawl_str twice[] = {known, known};
    struct pawl_str self[] = {PAWL_STR("me")};
    struct pawl_str second[] = {PAWL_STR("#1")};
    struct pawl_str first[] = {PAWL_STR("#0")};
    struct pawl_added added[2];

    CHECK_REFUSED(PAWL_INVALID,
                  pawl_task_add(lab->pawl, NEW(.depends_on = unknown, .depends_on_count = 2),
                                lab->keep, added, &lab->err));
    CHECK(strstr(lab->err.text, "nobody") != NULL);
    CHECK_REFUSED(PAWL_INVALID,
                  pawl_task_add(lab->pawl, NEW(.depends_on = twice, .depends_on_count = 2),
                                lab->keep, added, &lab->err));
    CHECK_REFUSED(PAWL_INVALID, pawl_task_add(lab->pawl,
                                              NEW(.id = PAWL_STR("me"), .depends_on = self,
                                                  .depends_on_count = 1),
                                              lab->keep, added, &lab->err));
    struct pawl_task_new circle[] = {*NEW(.depends_on = second, .depends_on_count = 1),
                                     *NEW(.depends_on = first, .depends_on_count = 1)};
    CHECK_REFUSED(PAWL_INVALID,
                  pawl_task_add_batch(lab->pawl, circle, 2, lab->keep, added, &lab->err));
    /* one bad member spoils the batch */
    struct pawl_task_new half[] = {*NEW(), *NEW(.depends_on = unknown, .depends_on_count = 2)};
    CHECK_REFUSED(PAWL_INVALID,
                  pawl_task_add_batch(lab->pawl, half, 2, lab->keep, added, &lab->err));
    CHECK_EQ(1, task_count(lab));
    CHECK_EQ(events, event_count(lab));
}

TEST_EACH_STORE("D-05 an unknown dependency may be allowed, and is met when a task takes its id")
{
    lab_open(lab);
    struct pawl_str later[] = {PAWL_STR("later")};
    struct pawl_str id = lab_add(
        lab, NEW(.depends_on = later, .depends_on_count = 1, .allow_missing_dependencies = true));
    CHECK_EQ(1, lab_get(lab, id).open_dependencies);
    CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"))).count);
    struct pawl_str met = lab_add(lab, NEW(.id = PAWL_STR("later"), .hold = true));
    CHECK_EQ(1, lab_get(lab, id).open_dependencies);
    CHECK_OK(pawl_task_complete(lab->pawl, met, NO_TEXT, NULL, &lab->err), &lab->err);
    CHECK_EQ(0, lab_get(lab, id).open_dependencies);
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"))).count);
}

/* ---- Limits ---- */

TEST_EACH_STORE("T-010 payloads of 10 MiB go in and come back, one byte more is TOO_LARGE")
{
    lab_open(lab);
    struct pawl_str most = lab_json(lab, PAWL_PAYLOAD_BYTES_MAX);
    struct pawl_str more = lab_json(lab, PAWL_PAYLOAD_BYTES_MAX + 1);
    struct pawl_added added;
    struct pawl_str id = lab_add(lab, NEW(.input = most));
    CHECK_REFUSED(PAWL_TOO_LARGE,
                  pawl_task_add(lab->pawl, NEW(.input = more), lab->keep, &added, &lab->err));
    CHECK_OK(pawl_task_checkpoint(lab->pawl, id, 1, most, NULL, &lab->err), &lab->err);
    CHECK_REFUSED(PAWL_TOO_LARGE, pawl_task_checkpoint(lab->pawl, id, 2, more, NULL, &lab->err));
    CHECK_REFUSED(PAWL_TOO_LARGE, pawl_task_complete(lab->pawl, id, more, NULL, &lab->err));

    struct pawl_grant grant;
    CHECK_OK(pawl_task_start(lab->pawl, id, CLAIM(.worker_id = PAWL_STR("w")), lab->keep, &grant,
                             &lab->err),
             &lab->err);
    CHECK_BYTES(most.ptr, most.len, grant.input.ptr, grant.input.len);
    CHECK_BYTES(most.ptr, most.len, grant.checkpoint.ptr, grant.checkpoint.len);
    CHECK_EQ(1, grant.checkpoint_step);
    CHECK_OK(pawl_task_complete(lab->pawl, id, most, CHANGE(.fence = &grant.fence), &lab->err),
             &lab->err);
    struct pawl_task task = lab_get(lab, id);
    CHECK_BYTES(most.ptr, most.len, task.result.ptr, task.result.len);
    CHECK_EQ(1, task_count(lab));
}

TEST_EACH_STORE(
    "T-010 texts at their limits are stored whole: names, ids, goal, error, reason, log line")
{
    lab_open(lab);
    struct pawl_str goal = lab_text(lab, PAWL_GOAL_BYTES_MAX, 'g');
    struct pawl_str title = lab_text(lab, PAWL_TITLE_POINTS_MAX, 't');
    struct pawl_str key = lab_text(lab, PAWL_KEY_BYTES_MAX, 'k');
    struct pawl_str name = lab_text(lab, PAWL_TASK_ID_BYTES_MAX, 'i');
    struct pawl_str queue = lab_text(lab, PAWL_QUEUE_NAME_BYTES_MAX, 'q');
    struct pawl_str worker = lab_text(lab, PAWL_WORKER_ID_BYTES_MAX, 'w');
    struct pawl_str error = lab_text(lab, PAWL_ERROR_BYTES_MAX, 'e');
    struct pawl_str reason = lab_text(lab, PAWL_REASON_BYTES_MAX, 'r');
    struct pawl_str line = lab_text(lab, PAWL_LOG_LINE_BYTES_MAX, 'l');
    struct pawl_str id = lab_add(lab, NEW(.id = name, .queue = queue, .goal = goal, .title = title,
                                          .key = key, .priority = PAWL_PRIORITY_MAX,
                                          .retry = {.max_retries = PAWL_RETRIES_MAX}));
    struct pawl_grant grant;
    CHECK_OK(pawl_task_start(lab->pawl, id,
                             CLAIM(.worker_id = worker, .lease_ms = PAWL_LEASE_MS_MIN), lab->keep,
                             &grant, &lab->err),
             &lab->err);
    CHECK(pawl_str_equal(worker, grant.fence.owner));
    CHECK_EQ(PAWL_LEASE_MS_MIN, grant.lease_ms);
    CHECK_OK(pawl_task_log(lab->pawl, id, line, CHANGE(.fence = &grant.fence), &lab->err),
             &lab->err);
    CHECK_OK(pawl_task_fail(lab->pawl, id, FAILURE(.error = error), CHANGE(.fence = &grant.fence),
                            &lab->err),
             &lab->err);
    CHECK_OK(pawl_task_pause(lab->pawl, id, CHANGE(.reason = reason, .actor = reason), &lab->err),
             &lab->err);
    struct pawl_task task = lab_get(lab, id);
    CHECK(pawl_str_equal(goal, task.goal));
    CHECK(pawl_str_equal(title, task.title));
    CHECK(pawl_str_equal(key, task.key));
    CHECK(pawl_str_equal(queue, task.queue));
    CHECK(pawl_str_equal(error, task.error));
    CHECK_EQ(PAWL_PRIORITY_MAX, task.priority);
    CHECK_EQ(PAWL_RETRIES_MAX, task.max_retries);
    struct pawl_event event = lab_last(lab, id);
    CHECK_EQ(1024, event.detail.len); /* what people are shown is cut */
    struct pawl_log_lines lines;
    CHECK_OK(pawl_task_logs(lab->pawl, id, 0, 0, lab->keep, &lines, &lab->err), &lab->err);
    CHECK_EQ(1, lines.count);
    CHECK(pawl_str_equal(line, lines.lines[0].text));
}

TEST_EACH_STORE("T-010 a batch of 1 000 is one transaction; of 1 001, or of more than 16 MiB, none")
{
    lab_open(lab);
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, PAWL_BATCH_MAX + 1, sizeof *asks);
    struct pawl_added *added = pawl_arena_take_array(lab->keep, PAWL_BATCH_MAX + 1, sizeof *added);
    for (int i = 0; i <= PAWL_BATCH_MAX; i++) asks[i].size = sizeof *asks;
    CHECK_REFUSED(PAWL_TOO_LARGE, pawl_task_add_batch(lab->pawl, asks, PAWL_BATCH_MAX + 1,
                                                      lab->keep, added, &lab->err));
    CHECK_EQ(0, task_count(lab));
    CHECK_OK(pawl_task_add_batch(lab->pawl, asks, PAWL_BATCH_MAX, lab->keep, added, &lab->err),
             &lab->err);
    CHECK_EQ(PAWL_BATCH_MAX, task_count(lab));

    struct pawl_task_new large[] = {*NEW(.input = lab_json(lab, PAWL_BATCH_BYTES_MAX / 2)),
                                    *NEW(.input = lab_json(lab, PAWL_BATCH_BYTES_MAX / 2)),
                                    *NEW(.goal = PAWL_STR("g"))};
    CHECK_REFUSED(PAWL_TOO_LARGE,
                  pawl_task_add_batch(lab->pawl, large, 3, lab->keep, added, &lab->err));
    CHECK_EQ(PAWL_BATCH_MAX, task_count(lab));
    CHECK_OK(pawl_task_add_batch(lab->pawl, large, 2, lab->keep, added, &lab->err), &lab->err);
    CHECK_EQ(PAWL_BATCH_BYTES_MAX / 2, lab_get(lab, added[1].id).input.len);
}

TEST_EACH_STORE("T-010 a task waits for 256 others and starts when the last of them has completed")
{
    lab_open(lab);
    struct pawl_task_new asks[PAWL_DEPENDENCIES_MAX + 1];
    struct pawl_str names[PAWL_DEPENDENCIES_MAX];
    for (int i = 0; i < PAWL_DEPENDENCIES_MAX; i++) {
        asks[i] = *NEW(.queue = PAWL_STR("parents"));
        names[i] = pawl_arena_format(lab->keep, "#%d", i);
    }
    asks[PAWL_DEPENDENCIES_MAX] =
        *NEW(.depends_on = names, .depends_on_count = PAWL_DEPENDENCIES_MAX);
    struct pawl_added *added = lab_add_batch(lab, asks, PAWL_DEPENDENCIES_MAX + 1);
    struct pawl_str child = added[PAWL_DEPENDENCIES_MAX].id;
    CHECK_EQ(PAWL_DEPENDENCIES_MAX, lab_get(lab, child).depends_on_count);
    for (int i = 0; i < PAWL_DEPENDENCIES_MAX; i++) {
        CHECK_EQ(PAWL_DEPENDENCIES_MAX - i, lab_get(lab, child).open_dependencies);
        CHECK_EQ(0, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"))).count);
        CHECK_OK(pawl_task_complete(lab->pawl, added[i].id, NO_TEXT, NULL, &lab->err), &lab->err);
    }
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"))).count);
}

/* ---- Nothing is left of what failed ---- */

TEST_EACH_STORE("T-011 D-23 an insert that fails leaves no task in get, list or events")
{
    lab_open(lab);
    struct pawl_str taken = lab_add(lab, NEW(.id = PAWL_STR("taken"), .goal = PAWL_STR("first")));
    int64_t events = event_count(lab);
    struct pawl_task_new asks[] = {*NEW(.id = PAWL_STR("ghost")), *NEW(.id = PAWL_STR("taken"))};
    struct pawl_added added[2];
    CHECK_REFUSED(PAWL_CONFLICT,
                  pawl_task_add_batch(lab->pawl, asks, 2, lab->keep, added, &lab->err));
    struct pawl_task task;
    CHECK_REFUSED(PAWL_NOT_FOUND,
                  pawl_task_get(lab->pawl, PAWL_STR("ghost"), false, lab->keep, &task, &lab->err));
    CHECK_EQ(1, task_count(lab));
    CHECK_EQ(events, event_count(lab));
    CHECK_STR("first", lab_get(lab, taken).goal);
    /* and the id is free */
    CHECK_STR("ghost", lab_add(lab, NEW(.id = PAWL_STR("ghost"))));
}

TEST_EACH_STORE("T-011 an answer that does not fit the caller's arena leaves nothing either")
{
    lab_open(lab);
    struct pawl_arena *tiny;
    CHECK_OK(pawl_arena_open(&tiny, 16), NULL);
    struct pawl_added added = {.id = PAWL_STR("untouched")};
    CHECK_REFUSED(PAWL_TOO_LARGE, pawl_task_add(lab->pawl, NEW(), tiny, &added, &lab->err));
    CHECK_STR("untouched", added.id);
    CHECK_EQ(0, task_count(lab));
    CHECK_EQ(0, event_count(lab));

    /* nor does a claim grant what it cannot tell of */
    struct pawl_str id = lab_add(lab, NEW(.input = lab_json(lab, 4000)));
    struct pawl_claimed claimed = {.count = 77};
    CHECK_REFUSED(PAWL_TOO_LARGE, pawl_task_claim(lab->pawl, CLAIM(.worker_id = PAWL_STR("w")),
                                                  tiny, &claimed, &lab->err));
    CHECK_EQ(77, claimed.count);
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
    CHECK_EQ(0, lab_get(lab, id).epoch);
    pawl_arena_close(tiny);
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"))).count);
}

/* ---- Ids and keys ---- */

TEST_EACH_STORE("T-012 a chosen id is used once; 65 bytes or -attempt-7 are INVALID")
{
    lab_open(lab);
    struct pawl_added added;
    CHECK_STR("order-1", lab_add(lab, NEW(.id = PAWL_STR("order-1"))));
    CHECK_REFUSED(PAWL_CONFLICT, pawl_task_add(lab->pawl, NEW(.id = PAWL_STR("order-1")), lab->keep,
                                               &added, &lab->err));
    CHECK_REFUSED(PAWL_INVALID, pawl_task_add(lab->pawl, NEW(.id = lab_text(lab, 65, 'a')),
                                              lab->keep, &added, &lab->err));
    CHECK_REFUSED(PAWL_INVALID, pawl_task_add(lab->pawl, NEW(.id = PAWL_STR("order-attempt-7")),
                                              lab->keep, &added, &lab->err));
    CHECK_EQ(1, task_count(lab));
}

TEST_EACH_STORE("T-012 the same key and body give the first task, another body is CONFLICT")
{
    lab_open(lab);
    struct pawl_task_new ask = *NEW(.key = PAWL_STR("k"), .input = PAWL_STR("{\"a\":1}"));
    struct pawl_added first;
    struct pawl_added again;
    CHECK_OK(pawl_task_add(lab->pawl, &ask, lab->keep, &first, &lab->err), &lab->err);
    CHECK(!first.existed);
    int64_t events = event_count(lab);
    CHECK_OK(pawl_task_add(lab->pawl, &ask, lab->keep, &again, &lab->err), &lab->err);
    CHECK(again.existed);
    CHECK(pawl_str_equal(first.id, again.id));
    ask.input = PAWL_STR("{\"a\":2}");
    CHECK_REFUSED(PAWL_CONFLICT, pawl_task_add(lab->pawl, &ask, lab->keep, &again, &lab->err));
    CHECK_EQ(events, event_count(lab));

    /* still so when the task has ended, and after a restart */
    CHECK_OK(pawl_task_complete(lab->pawl, first.id, NO_TEXT, NULL, &lab->err), &lab->err);
    lab_reopen(lab);
    ask.input = PAWL_STR("{\"a\":1}");
    CHECK_OK(pawl_task_add(lab->pawl, &ask, lab->keep, &again, &lab->err), &lab->err);
    CHECK(again.existed);
    CHECK(pawl_str_equal(first.id, again.id));
    CHECK_EQ(1, task_count(lab));
}

TEST_EACH_STORE("T-012 one key twice in a batch is one task; with two bodies it is CONFLICT")
{
    lab_open(lab);
    struct pawl_task_new asks[] = {*NEW(.key = PAWL_STR("k"), .goal = PAWL_STR("a")),
                                   *NEW(.key = PAWL_STR("k"), .goal = PAWL_STR("a")),
                                   *NEW(.key = PAWL_STR("l"), .goal = PAWL_STR("a"))};
    struct pawl_added *added = lab_add_batch(lab, asks, 3);
    CHECK(!added[0].existed);
    CHECK(added[1].existed);
    CHECK(!added[2].existed);
    CHECK(pawl_str_equal(added[0].id, added[1].id));
    CHECK_EQ(2, task_count(lab));
    struct pawl_task_new other[] = {*NEW(.key = PAWL_STR("m"), .goal = PAWL_STR("a")),
                                    *NEW(.key = PAWL_STR("m"), .goal = PAWL_STR("b"))};
    struct pawl_added unused[2];
    CHECK_REFUSED(PAWL_CONFLICT,
                  pawl_task_add_batch(lab->pawl, other, 2, lab->keep, unused, &lab->err));
    CHECK_EQ(2, task_count(lab));
}

/* A create on its way, for those that meet others in one step. */
struct create {
    struct pawl_request request;
    struct pawl_added added;
};

static void ask_create(struct lab *lab, struct create *create, const struct pawl_task_new *ask)
{
    const struct pawl_member *members;
    CHECK_OK(pawl_check_create(ask, 1, NO_TEXT, lab->keep, &members, &lab->err), &lab->err);
    pawl_request_init(&create->request, PAWL_COMMAND_CREATE);
    create->request.command.ask.create.members = members;
    create->request.command.ask.create.count = 1;
    create->request.command.out.added = &create->added;
    CHECK_OK(pawl_arena_open(&create->request.command.keep, 0), NULL);
    pawl_engine_add(lab->pawl, &create->request);
}

TEST_EACH_STORE("T-012 one key, or one id, twice in a step is one task")
{
    lab_open(lab);
    static struct create creates[4];
    ask_create(lab, &creates[0], NEW(.key = PAWL_STR("k"), .goal = PAWL_STR("a")));
    ask_create(lab, &creates[1], NEW(.key = PAWL_STR("k"), .goal = PAWL_STR("a")));
    ask_create(lab, &creates[2], NEW(.id = PAWL_STR("i")));
    ask_create(lab, &creates[3], NEW(.id = PAWL_STR("i")));
    lab_settle(lab, lab->pawl);
    CHECK_CODE(PAWL_OK, creates[0].request.command.code);
    CHECK_CODE(PAWL_OK, creates[1].request.command.code);
    CHECK(pawl_str_equal(creates[0].added.id, creates[1].added.id));
    CHECK(!creates[0].added.existed);
    CHECK(creates[1].added.existed);
    CHECK_CODE(PAWL_OK, creates[2].request.command.code);
    CHECK_CODE(PAWL_CONFLICT, creates[3].request.command.code);
    CHECK_EQ(2, task_count(lab));
    for (size_t i = 0; i < COUNT_OF(creates); i++) {
        CHECK(creates[i].request.is_answered);
        pawl_arena_close(creates[i].request.command.keep);
    }
}

TEST_EACH_STORE("D-49 made ids are UUIDs, in the order of creation across milliseconds")
{
    lab_open(lab);
    struct pawl_str before = lab_add(lab, NEW());
    for (int i = 0; i < 20; i++) {
        lab_pass(lab, 2);
        struct pawl_str id = lab_add(lab, NEW());
        CHECK_EQ(36, id.len);
        CHECK_EQ('7', id.ptr[14]);
        if (lab->store == LAB_SQLITE) CHECK(pawl_str_compare(before, id) < 0);
        CHECK(!pawl_str_equal(before, id));
        before = id;
    }
}

TEST_EACH_STORE("run_at_ms is calendar time, delay_ms counts from now; the later one holds")
{
    lab_open(lab);
    struct pawl_task task = lab_get(lab, lab_add(lab, NEW(.delay_ms = 5000)));
    CHECK_EQ(5000, task.next_retry_at_ms - task.created_at_ms);
    int64_t now_ms = task.created_at_ms;
    task = lab_get(lab, lab_add(lab, NEW(.run_at_ms = now_ms + 60000, .delay_ms = 5)));
    CHECK_NEAR(60000, task.next_retry_at_ms - now_ms, lab->store == LAB_SQLITE ? 0 : 1000);
    task = lab_get(lab, lab_add(lab, NEW(.run_at_ms = 5)));
    CHECK_EQ(0, task.next_retry_at_ms);
    CHECK_EQ(1, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .max = 10)).count);
}

TEST_EACH_STORE("a task takes the retry defaults and lease that its queue has when it is created")
{
    lab_open(lab);
    CHECK_OK(pawl_queue_set(lab->pawl,
                            QUEUE_SET(.name = PAWL_STR("mail"), .set_lease = true, .lease_ms = 7000,
                                      .set_retry = true, .retry = {.max_retries = 9}),
                            &lab->err),
             &lab->err);
    struct pawl_str id = lab_add(lab, NEW(.queue = PAWL_STR("mail")));
    CHECK_EQ(9, lab_get(lab, id).max_retries);
    struct pawl_grant grant;
    CHECK_OK(pawl_task_start(lab->pawl, id, CLAIM(.worker_id = PAWL_STR("w")), lab->keep, &grant,
                             &lab->err),
             &lab->err);
    CHECK_EQ(7000, grant.lease_ms);
    CHECK_EQ(7000, lab_get(lab, id).lease_ms);
}

/* ---- Calendar times, while the wall clock steps. PostgreSQL's now is its server's wall clock.
 * ---- */

static void step_wall(struct lab *lab, int64_t by_ms)
{
    atomic_fetch_add(&lab->world.wall_ms, by_ms);
}

static size_t ready_count(struct lab *lab)
{
    return lab_list(lab, LIST(.is_ready = true, .limit = PAWL_BATCH_MAX)).count;
}

enum { HOUR_MS = 3600 * 1000, NIGHT_COUNT = 600 };

TEST_SQLITE("E14 run_at_ms: the wall clock steps forward past it, and the task is due at once")
{
    lab_open(lab);
    int64_t wall_ms = atomic_load(&lab->world.wall_ms);
    struct pawl_str id = lab_add(lab, NEW(.run_at_ms = wall_ms + HOUR_MS));
    struct pawl_str delayed = lab_add(lab, NEW(.delay_ms = HOUR_MS));
    struct pawl_str held = lab_add(lab, NEW(.run_at_ms = wall_ms + HOUR_MS, .hold = true));
    int64_t version = lab_get(lab, id).version;
    lab_pass(lab, 1000);
    CHECK_EQ(0, ready_count(lab));
    CHECK_EQ(version, lab_get(lab, id).version);
    step_wall(lab, HOUR_MS);
    lab_settle(lab, lab->pawl);
    CHECK_EQ(1, ready_count(lab));
    CHECK_EQ(version + 1, lab_get(lab, id).version);
    CHECK_TEXT("created queued", lab_told(lab, id));
    CHECK(lab_get(lab, delayed).next_retry_at_ms >
          lab_get(lab, id).updated_at_ms); /* counts from now */
    check_ok(lab, pawl_task_queue(lab->pawl, held, NULL, &lab->err));
    CHECK_EQ(2, ready_count(lab));
    CHECK_EQ(PAWL_TASK_RUNNING, (lab_start(lab, id, "w"), lab_get(lab, id).state));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM task WHERE run_at_ms IS NOT NULL"));
}

TEST_SQLITE("E14 run_at_ms: the wall clock steps back, and the task waits for its calendar time")
{
    lab_open(lab);
    int64_t wall_ms = atomic_load(&lab->world.wall_ms);
    struct pawl_str id = lab_add(lab, NEW(.run_at_ms = wall_ms + 1000));
    struct pawl_str over = lab_add(lab, NEW(.run_at_ms = wall_ms + 10));
    lab_pass(lab, 10); /* what was due stays due */
    CHECK_EQ(1, ready_count(lab));
    step_wall(lab, -HOUR_MS);
    lab_settle(lab, lab->pawl);
    lab_pass(lab, HOUR_MS + 989);
    CHECK_EQ(1, ready_count(lab));
    CHECK_EQ(atomic_load(&lab->world.wall_ms) + 1, wall_ms + 1000);
    struct pawl_grant grant;
    CHECK_REFUSED(PAWL_NOT_READY, pawl_task_start(lab->pawl, id, CLAIM(.worker_id = PAWL_STR("w")),
                                                  lab->keep, &grant, &lab->err));
    lab_pass(lab, 1);
    CHECK_EQ(2, ready_count(lab));
    CHECK_EQ(2, lab_claim(lab, CLAIM(.worker_id = PAWL_STR("w"), .max = 5)).count);
    CHECK_EQ(PAWL_TASK_RUNNING, lab_get(lab, over).state);
}

TEST_SQLITE(
    "E14 hundreds of calendar times are armed anew in slices, once a step of the wall clock")
{
    lab_open(lab);
    int64_t wall_ms = atomic_load(&lab->world.wall_ms);
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, NIGHT_COUNT, sizeof *asks);
    for (int i = 0; i < NIGHT_COUNT; i++) asks[i] = *NEW(.run_at_ms = wall_ms + HOUR_MS + i % 2);
    lab_add_batch(lab, asks, NIGHT_COUNT);
    step_wall(lab, 2 * SECOND_MS);
    int64_t at_boot_ms = 0;
    int steps = 0;
    do {
        check_ok(lab, pawl_step(lab->pawl, &at_boot_ms, &lab->err));
        steps++;
    } while (at_boot_ms <= atomic_load(&lab->world.boot_ms));
    CHECK_EQ(HOUR_MS - 2 * SECOND_MS, at_boot_ms - atomic_load(&lab->world.boot_ms));
    CHECK(steps >= 3 && steps <= 5);
    CHECK_TEXT("600", lab_sql(lab, "SELECT count(*) FROM task WHERE version = 3"));
    const char *changes = "SELECT next_key || ' ' || wall_offset_ms FROM head";
    const char *before = lab_sql(lab, changes);
    step_wall(lab, 999); /* slewing is no step */
    check_ok(lab, pawl_step(lab->pawl, NULL, &lab->err));
    CHECK_TEXT(before, lab_sql(lab, changes));
    step_wall(lab, 1); /* but it adds up */
    lab_settle(lab, lab->pawl);
    CHECK_TEXT("600", lab_sql(lab, "SELECT count(*) FROM task WHERE version = 4"));
    lab_pass(lab, HOUR_MS - 3 * SECOND_MS);
    CHECK_TEXT("300", lab_sql(lab, "SELECT count(*) FROM task WHERE rank IS NOT NULL"));
    lab_pass(lab, 1);
    CHECK_TEXT("600", lab_sql(lab, "SELECT count(*) FROM task WHERE rank IS NOT NULL"));
}

TEST_SQLITE("E14 a wall clock that stepped while nobody was there is found by the next handle, and "
            "by others once")
{
    lab_open(lab);
    int64_t wall_ms = atomic_load(&lab->world.wall_ms);
    struct pawl_str id = lab_add(lab, NEW(.run_at_ms = wall_ms + HOUR_MS));
    pawl_close(lab->pawl);
    step_wall(lab, 2 * HOUR_MS);
    lab->pawl = NULL;
    lab_open(lab);
    lab_settle(lab, lab->pawl);
    CHECK_EQ(1, ready_count(lab));
    CHECK_EQ(PAWL_TASK_QUEUED, lab_get(lab, id).state);
    /* another one whose wall disagrees for good says so once, not with every step */
    struct pawl_env env = lab->world.env;
    struct lab_world other = {.wall_ms = wall_ms - HOUR_MS,
                              .boot_ms = atomic_load(&lab->world.boot_ms)};
    env.self = &other;
    struct pawl_options options = lab_options(lab);
    options.env = &env;
    struct pawl *askew = lab_handle(lab, &options);
    lab_settle(lab, askew);
    const char *offset = "SELECT wall_offset_ms FROM head";
    CHECK_TEXT("-3600000", lab_sql(lab, offset));
    for (int i = 0; i < 5; i++) {
        lab_add(lab, NEW());
        lab_settle(lab, askew);
    }
    CHECK_TEXT("-3600000", lab_sql(lab, offset));
    CHECK_TEXT("0", lab_sql(lab, "SELECT count(*) FROM continuation"));
    pawl_close(askew);
}

TEST_SQLITE("E14 after a reboot the store's clock jumps to the wall clock, and no calendar time "
            "comes early")
{
    enum { TASKS = 300 };
    lab_open(lab);
    int64_t wall_ms = atomic_load(&lab->world.wall_ms);
    struct pawl_task_new *asks = pawl_arena_take_array(lab->keep, TASKS, sizeof *asks);
    for (int i = 0; i < TASKS; i++)
        asks[i] = *NEW(.run_at_ms = wall_ms + 3 * HOUR_MS, .hold = i == 0);
    struct pawl_added *added = lab_add_batch(lab, asks, TASKS);
    step_wall(lab, 2 * HOUR_MS); /* armed for an hour from now */
    lab_settle(lab, lab->pawl);
    pawl_close(lab->pawl);
    lab->pawl = NULL;
    lab->world.env.boot_id = PAWL_STR("boot-2");
    atomic_store(&lab->world.boot_ms, 77);
    step_wall(lab, HOUR_MS / 2); /* now is two hours and a half later than it would have been */
    lab_open(lab);
    struct pawl_grant grant;
    CHECK_REFUSED(PAWL_NOT_READY,
                  pawl_task_start(lab->pawl, added[0].id, CLAIM(.worker_id = PAWL_STR("w")),
                                  lab->keep, &grant, &lab->err));
    CHECK_EQ(wall_ms + 3 * HOUR_MS, lab->err.until_at_ms);
    lab_settle(lab, lab->pawl);
    CHECK_EQ(0, ready_count(lab));
    lab_pass(lab, HOUR_MS / 2 - 1);
    CHECK_EQ(0, ready_count(lab));
    lab_pass(lab, 1);
    CHECK_EQ(TASKS - 1, ready_count(lab));
}

TEST_MAIN()
