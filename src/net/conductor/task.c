/* Tasks that are looked at, their logs, and the queues they wait in. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "net/ask.h"
#include "net/conductor/conductor.h"
#include "net/conductor/polls.h"
#include "net/conductor/workflow_json.h"
#include "net/reading.h"
#include "store/read.h"

struct looking {
    struct pawl_reading reading; /* first */
    const struct pawl_conductor *conductor;
    struct pawl_str id; /* of a task, or the name of a queue */
    const struct pawl_str *types;
    size_t type_count;
    bool is_verbose;
};

static struct looking *begin(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                             pawl_reading_put *put)
{
    struct looking *looking = pawl_reading_begin(exchange, sizeof *looking, put);
    if (looking != NULL) looking->conductor = conductor;
    return looking;
}

static void add(struct looking *looking)
{
    if (pawl_exchange_has_failed(looking->reading.exchange)) return;
    pawl_reading_add(&looking->reading, looking->conductor->readers);
}

/* ---- Tasks ---- */

/* PAWL_NOT_FOUND if it is no workflow's. */
static enum pawl_code put_recorded(const struct looking *looking, struct pawl_reader *reader,
                                   struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct pawl_workflow_ask ask = {.with_payloads = true};
    struct pawl_arena *keep = looking->reading.exchange->arena;
    struct pawl_record_view record;
    struct pawl_workflow_view workflow;
    struct pawl_shown_definition of;
    enum pawl_code code = pawl_read_record(reader, looking->id, keep, &record, err);
    if (code == PAWL_OK) {
        code = pawl_read_workflow(reader, record.workflow_id, &ask, keep, &workflow, err);
    }
    if (code != PAWL_OK) return code;
    pawl_shown_definition_read(&workflow, keep, &of);
    const struct pawl_shown_task shown = pawl_shown_task_recorded(&record, &of);
    pawl_shown_task_write(&shown, w);
    return PAWL_OK;
}

static enum pawl_code put_task(struct pawl_reading *reading, struct pawl_reader *reader,
                               struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_arena *keep = reading->exchange->arena;
    struct pawl_task task;
    struct pawl_checkpoint checkpoint = {0};
    enum pawl_code code = put_recorded(looking, reader, w, err);
    if (code != PAWL_NOT_FOUND) return code;
    code = pawl_read_task(reader, looking->id, true, keep, &task, err);
    if (code != PAWL_OK) return code;
    struct pawl_shown_task shown = pawl_shown_task_of(&task, looking->conductor->lease_grace_ms);
    if (shown.output.len == 0) { /* what its worker has said on the way */
        code = pawl_read_checkpoint(reader, looking->id, (struct pawl_str){0}, keep, &checkpoint, err);
        if (code == PAWL_OK) shown.output = checkpoint.state;
        if (code == PAWL_STATE) code = PAWL_OK; /* nothing */
    }
    if (code == PAWL_OK) pawl_shown_task_write(&shown, w);
    return code;
}

static void get_task(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, self, put_task);
    if (looking == NULL) return;
    looking->id = pawl_exchange_variable(exchange, "taskId");
    add(looking);
}

/* Of clients that still say that a task has reached them. */
static void acknowledge(struct pawl_exchange *exchange, void *self)
{
    (void)self;
    pawl_exchange_answer_text(exchange, 200, PAWL_STR("true"));
}

/* ---- Logs ---- */

static enum pawl_code put_logs(struct pawl_reading *reading, struct pawl_reader *reader,
                               struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_exchange *exchange = reading->exchange;
    struct pawl_log_lines page = {0};
    enum pawl_code code;
    int64_t after = 0;
    size_t count = 0;
    pawl_json_begin_array(w);
    do {
        code = pawl_read_logs(reader, looking->id, after, PAWL_BATCH_MAX, exchange->arena, &page,
                              err);
        if (code == PAWL_NOT_FOUND) break; /* as one without lines */
        if (code != PAWL_OK) return code;
        for (size_t i = 0; i < page.count; i++) {
            const struct pawl_log_line *line = &page.lines[i];
            pawl_json_begin_object(w);
            pawl_json_put_member_text(w, "log", line->text);
            pawl_json_put_member_text(w, "taskId", looking->id);
            pawl_json_put_member_int64(w, "createdTime", line->at_ms);
            pawl_json_end_object(w);
            after = line->number;
        }
        count += page.count;
    } while (page.count == PAWL_BATCH_MAX);
    pawl_json_end_array(w);
    if (count > 0) return PAWL_OK;
    pawl_exchange_answer_empty(exchange, 204);
    return PAWL_READING_ANSWERED;
}

static void list_logs(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, self, put_logs);
    if (looking == NULL) return;
    looking->id = pawl_exchange_variable(exchange, "taskId");
    add(looking);
}

static void answer_logged(struct pawl_ask *ask)
{
    pawl_exchange_answer_empty(ask->exchange, 200);
}

/* The line is the body: as it is, or what it says if it is a JSON string. */
static struct pawl_str line_of(struct pawl_exchange *exchange)
{
    struct pawl_str body = exchange->request->body;
    struct pawl_str line = {0};
    struct pawl_json *json = NULL;
    bool is_string = body.len > 1 && pawl_str_trim(body).len > 1 && pawl_str_trim(body).ptr[0] == '"' &&
                     pawl_json_parse_top(body, 0, exchange->arena, &json, NULL) == PAWL_OK &&
                     pawl_json_text(json, exchange->arena, &line);
    return is_string ? line : body;
}

static void log_line(struct pawl_exchange *exchange, void *self)
{
    struct pawl_conductor *conductor = self;
    struct pawl_ask *ask =
        pawl_ask_begin(exchange, conductor->pawl, sizeof *ask, PAWL_COMMAND_LOG, answer_logged);
    if (ask == NULL) return;
    ask->request.command.task_id = pawl_exchange_variable(exchange, "taskId");
    ask->request.command.ask.line = line_of(exchange);
    ask->request.command.takes_ended = true; /* clients send lines behind the outcome */
    pawl_ask_hand(ask);
}

/* ---- Queues ---- */

static int64_t size_of(const struct pawl_queues *queues, struct pawl_str name)
{
    for (size_t i = 0; i < queues->count; i++) {
        const struct pawl_queue *queue = &queues->queues[i];
        if (pawl_str_equal(queue->name, name)) return queue->ready + queue->deferred;
    }
    return 0;
}

static enum pawl_code put_sizes(struct pawl_reading *reading, struct pawl_reader *reader,
                                struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_queues queues = {0};
    enum pawl_code code = pawl_read_queues(reader, reading->exchange->arena, &queues, err);
    if (code != PAWL_OK) return code;
    pawl_json_begin_object(w);
    for (size_t i = 0; i < looking->type_count; i++) {
        pawl_json_put_key_str(w, looking->types[i]);
        pawl_json_put_int64(w, size_of(&queues, looking->types[i]));
    }
    for (size_t i = 0; i < queues.count && looking->types == NULL; i++) {
        const struct pawl_queue *queue = &queues.queues[i];
        pawl_json_put_key_str(w, queue->name);
        if (!looking->is_verbose) {
            pawl_json_put_int64(w, queue->ready + queue->deferred);
            continue;
        }
        pawl_json_begin_object(w);
        pawl_json_put_key(w, "a"); /* the only shard */
        pawl_json_begin_object(w);
        pawl_json_put_member_int64(w, "size", queue->ready + queue->deferred);
        pawl_json_put_member_int64(w, "uacked", queue->running);
        pawl_json_end_object(w);
        pawl_json_end_object(w);
    }
    pawl_json_end_object(w);
    return PAWL_OK;
}

static enum pawl_code put_size(struct pawl_reading *reading, struct pawl_reader *reader,
                               struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_queues queues = {0};
    enum pawl_code code = pawl_read_queues(reader, reading->exchange->arena, &queues, err);
    if (code == PAWL_OK) pawl_json_put_int64(w, size_of(&queues, looking->id));
    return code;
}

/* Each type once: it is the key of a member. */
static size_t drop_repeats(struct pawl_str *types, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_new = true;
        for (size_t k = 0; k < kept; k++) is_new = is_new && !pawl_str_equal(types[k], types[i]);
        if (is_new) types[kept++] = types[i];
    }
    return kept;
}

static void list_sizes(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, self, put_sizes);
    if (looking == NULL) return;
    looking->types = pawl_exchange_list(exchange, "taskType", &looking->type_count);
    if (looking->types != NULL) {
        looking->type_count =
            drop_repeats((struct pawl_str *)(uintptr_t)looking->types, looking->type_count);
    }
    add(looking);
}

static void list_queues(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, self, put_sizes);
    if (looking != NULL) add(looking);
}

static void list_queues_verbosely(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = begin(exchange, self, put_sizes);
    if (looking == NULL) return;
    looking->is_verbose = true;
    add(looking);
}

/* false, and answered, without a type. */
static bool need_type(struct pawl_exchange *exchange, struct pawl_str *type)
{
    *type = pawl_exchange_text(exchange, "taskType");
    if (type->len > 0) return true;
    struct pawl_error err = {0};
    (void)pawl_error_set(&err, PAWL_INVALID, "taskType: is missing");
    pawl_exchange_answer_error(exchange, &err, "taskType");
    return false;
}

static void get_size(struct pawl_exchange *exchange, void *self)
{
    struct pawl_str type;
    if (!need_type(exchange, &type)) return;
    struct looking *looking = begin(exchange, self, put_size);
    if (looking == NULL) return;
    struct pawl_str domain = pawl_exchange_text(exchange, "domain");
    looking->id = domain.len == 0 ? type
                                  : pawl_arena_format(exchange->arena, "%.*s:%.*s",
                                                      PAWL_STR_ARG(domain), PAWL_STR_ARG(type));
    add(looking);
}

/* Nothing can be missing from its queue: what may be claimed is found by what its row says. */
static void requeue(struct pawl_exchange *exchange, void *self)
{
    (void)self;
    pawl_exchange_answer_text(exchange, 200, PAWL_STR("0"));
}

/* ---- Poll data ---- */

static void put_poll_data(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                          struct pawl_str wanted)
{
    struct pawl_error err = {0};
    struct pawl_poll_seen *seen = NULL;
    size_t count = 0;
    struct pawl_json_writer w;
    if (pawl_polls_list(conductor->polls, exchange->arena, &seen, &count, &err) != PAWL_OK) {
        pawl_exchange_answer_error(exchange, &err, NULL);
        return;
    }
    pawl_json_writer_init(&w, exchange->arena);
    pawl_json_begin_array(&w);
    for (size_t i = 0; i < count; i++) {
        struct pawl_str domain;
        struct pawl_str type;
        pawl_queue_split(seen[i].queue, &domain, &type);
        if (wanted.len > 0 && !pawl_str_equal(wanted, type)) continue;
        pawl_json_begin_object(&w);
        pawl_json_put_member_text(&w, "queueName", type);
        if (domain.len > 0) pawl_json_put_member_text(&w, "domain", domain);
        if (seen[i].worker_id.len > 0) {
            pawl_json_put_member_text(&w, "workerId", seen[i].worker_id);
        }
        pawl_json_put_member_int64(&w, "lastPollTime", seen[i].at_ms);
        pawl_json_end_object(&w);
    }
    pawl_json_end_array(&w);
    pawl_exchange_answer_json(exchange, 200, &w);
}

static void get_poll_data(struct pawl_exchange *exchange, void *self)
{
    struct pawl_str type;
    if (need_type(exchange, &type)) put_poll_data(exchange, self, type);
}

static void list_poll_data(struct pawl_exchange *exchange, void *self)
{
    put_poll_data(exchange, self, (struct pawl_str){0});
}

/* clang-format off */
static const struct pawl_route routes[] = {
    {PAWL_VERB_GET, "/api/tasks/{taskId}", PAWL_ROLE_VIEWER, "A task", get_task, 0},
    {PAWL_VERB_POST, "/api/tasks/{taskId}/ack", PAWL_ROLE_WORKER, "Nothing: for old clients", acknowledge, PAWL_ROUTE_DRAINS},
    {PAWL_VERB_POST, "/api/tasks/{taskId}/log", PAWL_ROLE_WORKER, "Appends a line to a task's log", log_line, PAWL_ROUTE_DRAINS},
    {PAWL_VERB_GET, "/api/tasks/{taskId}/log", PAWL_ROLE_VIEWER, "A task's log", list_logs, 0},
    {PAWL_VERB_GET, "/api/tasks/queue/sizes", PAWL_ROLE_VIEWER, "How many tasks of these types wait", list_sizes, 0},
    {PAWL_VERB_GET, "/api/tasks/queue/size", PAWL_ROLE_VIEWER, "How many tasks of a type wait", get_size, 0},
    {PAWL_VERB_GET, "/api/tasks/queue/all", PAWL_ROLE_VIEWER, "How many tasks wait in each queue", list_queues, 0},
    {PAWL_VERB_GET, "/api/tasks/queue/all/verbose", PAWL_ROLE_VIEWER, "How many tasks wait and run, by queue", list_queues_verbosely, 0},
    {PAWL_VERB_GET, "/api/tasks/queue/polldata", PAWL_ROLE_VIEWER, "Who has polled a type", get_poll_data, 0},
    {PAWL_VERB_GET, "/api/tasks/queue/polldata/all", PAWL_ROLE_VIEWER, "Who has polled", list_poll_data, 0},
    {PAWL_VERB_POST, "/api/tasks/queue/requeue/{taskType}", PAWL_ROLE_OPERATOR, "Nothing: no task is missing from its queue", requeue, 0},
};
/* clang-format on */

struct pawl_route_table pawl_conductor_tasks(struct pawl_conductor *conductor)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), conductor};
}
