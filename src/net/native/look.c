/* Looking: each is one read on a reader's thread, where its answer is written too. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/str.h"
#include "net/ask.h"
#include "net/native/native.h"
#include "net/reading.h"
#include "store/read.h"
#include "wire/show.h"
#include "wire/words.h"

struct look {
    struct pawl_reading reading; /* first */
    struct pawl_str id;          /* of a task, or a name */
    struct pawl_str checkpoint;
    int64_t after;
    int32_t limit;
    struct pawl_list list;
};

/* Begins a look; NULL, and answered, without memory. */
static struct look *begin(struct pawl_exchange *exchange, pawl_reading_put *put)
{
    return pawl_reading_begin(exchange, sizeof(struct look), put);
}

static void add(struct look *look, struct pawl_native *native)
{
    if (!pawl_exchange_has_unread(look->reading.exchange)) {
        pawl_reading_add(&look->reading, native->readers);
    }
}

static int32_t limit_of(struct pawl_exchange *exchange)
{
    return (int32_t)pawl_exchange_int64(exchange, "limit", 1, PAWL_BATCH_MAX, 100);
}

/* ---- Tasks ------------------------------------------------------------------------------------
 */

static enum pawl_code put_tasks(struct pawl_reading *reading, struct pawl_reader *reader,
                                struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct look *look = (const struct look *)reading;
    struct pawl_page page = {0};
    enum pawl_code code = pawl_read_list(reader, &look->list, reading->exchange->arena, &page, err);
    if (code != PAWL_OK) return code;
    pawl_json_begin_object(w);
    pawl_json_put_key(w, "tasks");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < page.count; i++) {
        pawl_json_begin_object(w);
        pawl_show_task_json(w, &page.tasks[i], look->list.with_payload);
        pawl_json_end_object(w);
    }
    pawl_json_end_array(w);
    pawl_show_text(w, "cursor", page.cursor);
    pawl_json_end_object(w);
    return PAWL_OK;
}

static uint32_t states_of(struct pawl_exchange *exchange)
{
    size_t count = 0;
    uint32_t states = 0;
    const struct pawl_str *names = pawl_exchange_list(exchange, "state", &count);
    for (size_t i = 0; i < count; i++) {
        enum pawl_task_state state = PAWL_TASK_PENDING;
        if (pawl_state_parse(names[i], &state)) {
            states |= (uint32_t)1 << state;
            continue;
        }
        struct pawl_error err = {0};
        (void)pawl_error_set(&err, PAWL_INVALID, "state: `%.*s` is no state",
                             PAWL_STR_ARG(names[i]));
        if (!pawl_exchange_has_failed(exchange)) pawl_ask_refuse(exchange, &err);
    }
    return states;
}

static void list_tasks(struct pawl_exchange *exchange, void *self)
{
    struct look *look = begin(exchange, put_tasks);
    if (look == NULL) return;
    look->list = (struct pawl_list){
        .size = sizeof look->list,
        .states = states_of(exchange),
        .is_ready = pawl_exchange_bool(exchange, "ready", false),
        .is_blocked = pawl_exchange_bool(exchange, "blocked", false),
        .queue = pawl_exchange_text(exchange, "queue"),
        .limit = limit_of(exchange),
        .cursor = pawl_exchange_text(exchange, "cursor"),
        .with_payload = pawl_exchange_bool(exchange, "payload", false),
    };
    add(look, self);
}

static enum pawl_code put_task(struct pawl_reading *reading, struct pawl_reader *reader,
                               struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct look *look = (const struct look *)reading;
    struct pawl_arena *keep = reading->exchange->arena;
    struct pawl_task task;
    struct pawl_str why = {0};
    enum pawl_code code = pawl_read_task(reader, look->id, true, keep, &task, err);
    if (code == PAWL_OK) code = pawl_read_why(reader, look->id, keep, &why, err);
    if (code != PAWL_OK) return code;
    pawl_json_begin_object(w);
    pawl_show_task_json(w, &task, true);
    pawl_show_text(w, "why", why);
    pawl_json_end_object(w);
    return PAWL_OK;
}

static enum pawl_code put_history(struct pawl_reading *reading, struct pawl_reader *reader,
                                  struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct look *look = (const struct look *)reading;
    struct pawl_events events = {0};
    enum pawl_code code = pawl_read_history(reader, look->id, look->after, look->limit,
                                            reading->exchange->arena, &events, err);
    if (code != PAWL_OK) return code;
    pawl_json_begin_object(w);
    pawl_show_events_json(w, &events);
    pawl_json_end_object(w);
    return PAWL_OK;
}

static enum pawl_code put_logs(struct pawl_reading *reading, struct pawl_reader *reader,
                               struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct look *look = (const struct look *)reading;
    struct pawl_log_lines lines = {0};
    enum pawl_code code = pawl_read_logs(reader, look->id, look->after, look->limit,
                                         reading->exchange->arena, &lines, err);
    if (code != PAWL_OK) return code;
    pawl_json_begin_object(w);
    pawl_json_put_key(w, "lines");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < lines.count; i++) {
        pawl_json_begin_object(w);
        pawl_json_put_member_int64(w, "number", lines.lines[i].number);
        pawl_json_put_member_int64(w, "at_ms", lines.lines[i].at_ms);
        pawl_json_put_member_int64(w, "epoch", lines.lines[i].epoch);
        pawl_json_put_member_text(w, "line", lines.lines[i].text);
        pawl_json_end_object(w);
    }
    pawl_json_end_array(w);
    pawl_json_end_object(w);
    return PAWL_OK;
}

static void put_checkpoint(struct pawl_json_writer *w, const struct pawl_checkpoint *checkpoint)
{
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "id", checkpoint->id);
    pawl_json_put_member_int64(w, "step", checkpoint->step);
    pawl_json_put_member_int64(w, "at_ms", checkpoint->at_ms);
    pawl_json_put_member_int64(w, "epoch", checkpoint->epoch);
    pawl_json_put_member_raw(w, "state", checkpoint->state);
    pawl_json_end_object(w);
}

static enum pawl_code put_checkpoints(struct pawl_reading *reading, struct pawl_reader *reader,
                                      struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct look *look = (const struct look *)reading;
    struct pawl_checkpoints all = {0};
    enum pawl_code code = pawl_read_checkpoints(reader, look->id, reading->exchange->arena, &all, err);
    if (code != PAWL_OK) return code;
    pawl_json_begin_object(w);
    pawl_json_put_key(w, "checkpoints");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < all.count; i++) put_checkpoint(w, &all.checkpoints[i]);
    pawl_json_end_array(w);
    pawl_json_end_object(w);
    return PAWL_OK;
}

static enum pawl_code put_one_checkpoint(struct pawl_reading *reading, struct pawl_reader *reader,
                                         struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct look *look = (const struct look *)reading;
    struct pawl_checkpoint checkpoint;
    enum pawl_code code = pawl_read_checkpoint(reader, look->id, look->checkpoint,
                                               reading->exchange->arena, &checkpoint, err);
    if (code == PAWL_OK) put_checkpoint(w, &checkpoint);
    return code;
}

static enum pawl_code put_late_results(struct pawl_reading *reading, struct pawl_reader *reader,
                                       struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct look *look = (const struct look *)reading;
    struct pawl_late_results late = {0};
    enum pawl_code code = pawl_read_late(reader, look->id, reading->exchange->arena, &late, err);
    if (code != PAWL_OK) return code;
    pawl_json_begin_object(w);
    pawl_json_put_key(w, "late_results");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < late.count; i++) {
        pawl_json_begin_object(w);
        pawl_json_put_member_int64(w, "at_ms", late.results[i].at_ms);
        pawl_json_put_member_int64(w, "epoch", late.results[i].epoch);
        pawl_json_put_member_text(w, "owner", late.results[i].owner);
        pawl_json_put_member_text(w, "kind", late.results[i].kind);
        pawl_show_text(w, "body", late.results[i].body); /* it may have been cut: a text */
        pawl_json_end_object(w);
    }
    pawl_json_end_array(w);
    pawl_json_end_object(w);
    return PAWL_OK;
}

/* ---- Queues, events, the store ----------------------------------------------------------------
 */

static enum pawl_code put_queues(struct pawl_reading *reading, struct pawl_reader *reader,
                                 struct pawl_json_writer *w, struct pawl_error *err)
{
    struct pawl_queues queues = {0};
    enum pawl_code code = pawl_read_queues(reader, reading->exchange->arena, &queues, err);
    if (code != PAWL_OK) return code;
    pawl_json_begin_object(w);
    pawl_json_put_key(w, "queues");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < queues.count; i++) pawl_show_queue_json(w, &queues.queues[i]);
    pawl_json_end_array(w);
    pawl_json_end_object(w);
    return PAWL_OK;
}

static enum pawl_code put_queue(struct pawl_reading *reading, struct pawl_reader *reader,
                                struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct look *look = (const struct look *)reading;
    struct pawl_queues queues = {0};
    enum pawl_code code = pawl_read_queues(reader, reading->exchange->arena, &queues, err);
    if (code != PAWL_OK) return code;
    for (size_t i = 0; i < queues.count; i++) {
        if (!pawl_str_equal(queues.queues[i].name, look->id)) continue;
        pawl_show_queue_json(w, &queues.queues[i]);
        return PAWL_OK;
    }
    return pawl_error_set(err, PAWL_NOT_FOUND, "there is no queue %.*s", PAWL_STR_ARG(look->id));
}

static enum pawl_code put_events(struct pawl_reading *reading, struct pawl_reader *reader,
                                 struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct look *look = (const struct look *)reading;
    struct pawl_events events = {0};
    enum pawl_code code =
        pawl_read_events(reader, look->after, look->limit, reading->exchange->arena, &events, err);
    if (code != PAWL_OK) return code;
    pawl_json_begin_object(w);
    pawl_show_events_json(w, &events);
    pawl_json_put_member_int64(w, "position", events.count > 0 ? events.position : look->after);
    pawl_json_end_object(w);
    return PAWL_OK;
}

static void put_consumers(struct pawl_json_writer *w, const struct pawl_health *health)
{
    pawl_json_put_key(w, "consumers");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < health->consumer_count; i++) {
        const struct pawl_consumer *consumer = &health->consumers[i];
        pawl_json_begin_object(w);
        pawl_json_put_member_text(w, "name", consumer->name);
        pawl_json_put_member_int64(w, "position", consumer->position);
        pawl_json_put_member_int64(w, "behind", consumer->behind);
        pawl_show_instant(w, "seen_at_ms", consumer->seen_at_ms);
        pawl_json_end_object(w);
    }
    pawl_json_end_array(w);
}

static void put_shared(struct pawl_json_writer *w, const struct pawl_health *health)
{
    pawl_json_put_key(w, "shared_workers");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < health->shared_count; i++) {
        const struct pawl_shared_worker *worker = &health->shared[i];
        pawl_json_begin_object(w);
        pawl_json_put_member_text(w, "worker_id", worker->id);
        pawl_json_put_member_text(w, "host", worker->host);
        pawl_json_put_member_int64(w, "pid", worker->pid);
        pawl_json_put_member_text(w, "other_host", worker->other_host);
        pawl_json_put_member_int64(w, "other_pid", worker->other_pid);
        pawl_show_instant(w, "at_ms", worker->at_ms);
        pawl_json_end_object(w);
    }
    pawl_json_end_array(w);
}

static enum pawl_code put_health(struct pawl_reading *reading, struct pawl_reader *reader,
                                 struct pawl_json_writer *w, struct pawl_error *err)
{
    struct pawl_health health = {0};
    enum pawl_code code = pawl_read_health(reader, reading->exchange->arena, &health, err);
    if (code != PAWL_OK) return code;
    pawl_json_begin_object(w);
    pawl_json_put_member_int64(w, "now_ms", health.now_ms);
    pawl_json_put_member_int64(w, "wall_ms", health.wall_ms);
    pawl_json_put_member_int64(w, "schema_version", health.schema_version);
    pawl_json_put_member_int64(w, "file_bytes", health.file_bytes);
    pawl_json_put_member_int64(w, "free_bytes", health.free_bytes);
    pawl_json_put_member_int64(w, "log_bytes", health.log_bytes);
    pawl_json_put_member_int64(w, "running", health.running);
    pawl_json_put_member_int64(w, "overdue", health.overdue);
    pawl_show_instant(w, "oldest_due_at_ms", health.oldest_due_at_ms);
    pawl_json_put_member_int64(w, "recovery_pending", health.recovery_pending);
    pawl_json_put_member_int64(w, "dead_letters", health.dead_letters);
    pawl_json_put_member_int64(w, "paused", health.paused);
    pawl_json_put_member_int64(w, "blocked", health.blocked);
    pawl_json_put_member_int64(w, "quarantined", health.quarantined);
    pawl_json_put_member_int64(w, "late_results", health.late_results);
    pawl_json_put_member_int64(w, "continuations", health.continuations);
    pawl_json_put_member_int64(w, "workflows_running", health.workflows_running);
    pawl_json_put_member_int64(w, "finished", health.finished);
    pawl_show_instant(w, "oldest_finished_at_ms", health.oldest_finished_at_ms);
    put_consumers(w, &health);
    put_shared(w, &health);
    pawl_json_end_object(w);
    return PAWL_OK;
}

/* ---- Routes -----------------------------------------------------------------------------------
 */

/* clang-format off */
/* A look at what its path names. */
#define LOOK_AT(name, put, variable)                                      \
    static void name(struct pawl_exchange *exchange, void *self)          \
    {                                                                     \
        struct look *look = begin(exchange, put);                         \
        if (look == NULL) return;                                         \
        look->id = pawl_exchange_variable(exchange, variable);            \
        add(look, self);                                                  \
    }
LOOK_AT(get_task, put_task, "id")
LOOK_AT(list_checkpoints, put_checkpoints, "id")
LOOK_AT(list_late_results, put_late_results, "id")
LOOK_AT(get_queue, put_queue, "name")

#define LOOK(name, put)                                                   \
    static void name(struct pawl_exchange *exchange, void *self)          \
    {                                                                     \
        struct look *look = begin(exchange, put);                         \
        if (look != NULL) add(look, self);                                \
    }
LOOK(list_queues, put_queues)
LOOK(get_health, put_health)
/* clang-format on */

static void get_checkpoint(struct pawl_exchange *exchange, void *self)
{
    struct look *look = begin(exchange, put_one_checkpoint);
    if (look == NULL) return;
    struct pawl_str name = pawl_exchange_variable(exchange, "checkpoint");
    look->id = pawl_exchange_variable(exchange, "id");
    if (!pawl_str_equal(name, PAWL_STR("latest"))) look->checkpoint = name;
    add(look, self);
}

/* A page after something. */
static void page(struct pawl_exchange *exchange, void *self, struct look *look)
{
    if (look == NULL) return;
    look->after = pawl_exchange_int64(exchange, "after", 0, INT64_MAX, 0);
    look->limit = limit_of(exchange);
    add(look, self);
}

static void list_history(struct pawl_exchange *exchange, void *self)
{
    struct look *look = begin(exchange, put_history);
    if (look != NULL) look->id = pawl_exchange_variable(exchange, "id");
    page(exchange, self, look);
}

static void list_logs(struct pawl_exchange *exchange, void *self)
{
    struct look *look = begin(exchange, put_logs);
    if (look != NULL) look->id = pawl_exchange_variable(exchange, "id");
    page(exchange, self, look);
}

static void list_events(struct pawl_exchange *exchange, void *self)
{
    page(exchange, self, begin(exchange, put_events));
}

static const struct pawl_route routes[] = {
    {PAWL_VERB_GET, "/v1/tasks", PAWL_ROLE_VIEWER, "A page of tasks", list_tasks, 0},
    {PAWL_VERB_GET, "/v1/tasks/{id}", PAWL_ROLE_VIEWER, "A task, and why it is not being worked on",
     get_task, 0},
    {PAWL_VERB_GET, "/v1/tasks/{id}/events", PAWL_ROLE_VIEWER, "The history of a task",
     list_history, 0},
    {PAWL_VERB_GET, "/v1/tasks/{id}/logs", PAWL_ROLE_VIEWER, "Lines of its log", list_logs, 0},
    {PAWL_VERB_GET, "/v1/tasks/{id}/checkpoints", PAWL_ROLE_VIEWER, "The checkpoints of a task",
     list_checkpoints, 0},
    {PAWL_VERB_GET, "/v1/tasks/{id}/checkpoints/{checkpoint}", PAWL_ROLE_VIEWER,
     "One checkpoint, or the latest", get_checkpoint, 0},
    {PAWL_VERB_GET, "/v1/tasks/{id}/late-results", PAWL_ROLE_VIEWER,
     "Outcomes that came without the right to them", list_late_results, 0},
    {PAWL_VERB_GET, "/v1/queues", PAWL_ROLE_VIEWER, "All queues", list_queues, 0},
    {PAWL_VERB_GET, "/v1/queues/{name}", PAWL_ROLE_VIEWER, "A queue", get_queue, 0},
    {PAWL_VERB_GET, "/v1/events", PAWL_ROLE_VIEWER, "Events after a position", list_events, 0},
    {PAWL_VERB_GET, "/v1/store", PAWL_ROLE_VIEWER, "How the store is", get_health, 0},
};

struct pawl_route_table pawl_native_looks(struct pawl_native *native)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), native};
}
