/* What concerns no single task: queues, dead letters, consumers. */
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "base/uuid.h"
#include "net/ask.h"
#include "net/native/native.h"
#include "net/native/body.h"

#include <stddef.h>

/* The body of a request, read by its keys; false if it was answered. */
static bool read_body(struct pawl_exchange *exchange, int32_t levels,
                      const struct pawl_body_key *keys, size_t count, void *out,
                      const struct pawl_json **body)
{
    struct pawl_error err = {0};
    *body = pawl_body_of(exchange, levels);
    if (*body == NULL) return false;
    if (pawl_body_fill(*body, keys, count, exchange->arena, out, &err) == PAWL_OK) return true;
    pawl_ask_refuse(exchange, &err);
    return false;
}

/* ---- Queues -----------------------------------------------------------------------------------
 */

struct setting {
    struct pawl_ask ask; /* first */
    struct pawl_queue_set set;
    const struct pawl_json *retry;
    bool is_paused;
};

static void answer_name(struct pawl_ask *ask)
{
    const struct setting *setting = (const struct setting *)ask;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, ask->exchange->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "name", setting->set.name);
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(ask->exchange, 200, &w);
}

static void set_queue(struct pawl_exchange *exchange, void *self)
{
    static const struct pawl_body_key keys[] = {
        {"is_paused", PAWL_BODY_BOOL, offsetof(struct setting, is_paused), false},
        {"lease_ms", PAWL_BODY_MS, offsetof(struct setting, set.lease_ms), false},
        {"retry", PAWL_BODY_OBJECT, offsetof(struct setting, retry), false},
    };
    static const struct pawl_body_key retry_keys[] = {
        {"max_retries", PAWL_BODY_RETRIES, offsetof(struct pawl_retry, max_retries), false},
        {"backoff", PAWL_BODY_BACKOFF, offsetof(struct pawl_retry, backoff), false},
        {"delay_ms", PAWL_BODY_DELAY, offsetof(struct pawl_retry, delay_ms), false},
        {"delay_ms_max", PAWL_BODY_MS, offsetof(struct pawl_retry, delay_ms_max), false},
        {"jitter_ms", PAWL_BODY_MS, offsetof(struct pawl_retry, jitter_ms), false},
    };
    const struct pawl_json *body = NULL;
    struct pawl_error err = {0};
    struct setting *setting =
        pawl_ask_begin(exchange, ((struct pawl_native *)self)->pawl, sizeof *setting, PAWL_COMMAND_QUEUE_SET, answer_name);
    if (setting == NULL) return;
    struct pawl_queue_set *set = &setting->set;
    if (!read_body(exchange, 2, keys, PAWL_COUNT_OF(keys), setting, &body)) return;
    set->size = sizeof *set;
    set->name = pawl_exchange_variable(exchange, "name");
    if (pawl_body_has(body, "is_paused")) set->pause = setting->is_paused ? 1 : 2;
    set->set_lease = pawl_body_has(body, "lease_ms");
    set->set_retry = setting->retry != NULL;
    enum pawl_code code = PAWL_OK;
    if (set->set_retry) {
        code = pawl_body_fill(setting->retry, retry_keys, PAWL_COUNT_OF(retry_keys),
                              exchange->arena, &set->retry, &err);
        if (code != PAWL_OK) pawl_error_prefix(&err, "retry");
    }
    if (code != PAWL_OK) {
        pawl_ask_refuse(exchange, &err);
        return;
    }
    setting->ask.request.command.ask.queue_set = set;
    pawl_ask_hand(&setting->ask);
}

/* ---- Dead letters -----------------------------------------------------------------------------
 */

struct redriving {
    struct pawl_ask ask; /* first */
    struct pawl_redrive redrive;
    bool is_all;
    int64_t count;
};

static void answer_redrive(struct pawl_ask *ask)
{
    const struct redriving *redriving = (const struct redriving *)ask;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, ask->exchange->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_int64(&w, "count", redriving->count);
    pawl_json_put_member_bool(&w, "continuing", ask->continuing);
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(ask->exchange, 200, &w);
}

static void redrive_dead(struct pawl_exchange *exchange, void *self)
{
    static const struct pawl_body_key keys[] = {
        {"queue", PAWL_BODY_NAME, offsetof(struct redriving, redrive.queue), false},
        {"error_has", PAWL_BODY_TEXT, offsetof(struct redriving, redrive.error_has), false},
        {"dead_before_at_ms", PAWL_BODY_INSTANT,
         offsetof(struct redriving, redrive.dead_before_at_ms), false},
        {"max", PAWL_BODY_INT64, offsetof(struct redriving, redrive.max), false},
        {"input", PAWL_BODY_RAW, offsetof(struct redriving, redrive.resume.input), false},
        {"all", PAWL_BODY_BOOL, offsetof(struct redriving, is_all), false},
        {"keep_retries", PAWL_BODY_BOOL, offsetof(struct redriving, redrive.resume.keep_retries),
         false},
        {"actor", PAWL_BODY_TEXT, offsetof(struct redriving, redrive.actor), false},
        {"reason", PAWL_BODY_TEXT, offsetof(struct redriving, redrive.reason), false},
    };
    const struct pawl_json *body = NULL;
    struct redriving *redriving =
        pawl_ask_begin(exchange, ((struct pawl_native *)self)->pawl, sizeof *redriving, PAWL_COMMAND_REDRIVE, answer_redrive);
    if (redriving == NULL) return;
    struct pawl_redrive *redrive = &redriving->redrive;
    if (!read_body(exchange, 1, keys, PAWL_COUNT_OF(keys), redriving, &body)) return;
    bool has_filter = pawl_body_has(body, "queue") || pawl_body_has(body, "error_has") ||
                      pawl_body_has(body, "dead_before_at_ms") || pawl_body_has(body, "max");
    if (!has_filter && !redriving->is_all) {
        struct pawl_error err = {0};
        (void)pawl_error_set(&err, PAWL_INVALID,
                             "all: true is wanted where no filter is given");
        pawl_ask_refuse(exchange, &err);
        return;
    }
    redrive->size = sizeof *redrive;
    redrive->resume.size = sizeof redrive->resume;
    if (redrive->actor.len == 0) redrive->actor = exchange->caller;
    redriving->ask.request.command.ask.redrive = redrive;
    redriving->ask.request.command.out.count = &redriving->count;
    pawl_ask_hand(&redriving->ask);
}

/* ---- Consumers --------------------------------------------------------------------------------
 */

struct acknowledging {
    struct pawl_ask ask; /* first */
    struct pawl_str event_id;
    int64_t position;
    bool is_first;
};

static void answer_through(struct pawl_ask *ask)
{
    const struct acknowledging *a = (const struct acknowledging *)ask;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, ask->exchange->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_int64(&w, "position", a->position);
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(ask->exchange, 200, &w);
}

static void answer_first(struct pawl_ask *ask)
{
    const struct acknowledging *a = (const struct acknowledging *)ask;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, ask->exchange->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_bool(&w, "is_first", a->is_first);
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(ask->exchange, 200, &w);
}

static void acknowledge(struct pawl_exchange *exchange, void *self)
{
    static const struct pawl_body_key keys[] = {
        {"position", PAWL_BODY_INT64, offsetof(struct acknowledging, position), false},
        {"event_id", PAWL_BODY_NAME, offsetof(struct acknowledging, event_id), false},
    };
    const struct pawl_json *body = NULL;
    struct pawl_error err = {0};
    struct acknowledging *a =
        pawl_ask_begin(exchange, ((struct pawl_native *)self)->pawl, sizeof *a, PAWL_COMMAND_ACKNOWLEDGE_THROUGH, answer_through);
    if (a == NULL || !read_body(exchange, 1, keys, PAWL_COUNT_OF(keys), a, &body)) return;
    struct pawl_command *command = &a->ask.request.command;
    if (pawl_body_has(body, "position") == (a->event_id.len > 0)) {
        (void)pawl_error_set(&err, PAWL_INVALID,
                             "position: this or event_id is wanted, one of them");
        pawl_ask_refuse(exchange, &err);
        return;
    }
    command->ask.acknowledge.consumer = pawl_exchange_variable(exchange, "name");
    command->ask.acknowledge.position = a->position;
    if (a->event_id.len > 0) {
        command->kind = PAWL_COMMAND_ACKNOWLEDGE;
        command->ask.acknowledge.event_id = a->event_id;
        command->ask.acknowledge.at_ms = pawl_uuid_at_ms(a->event_id);
        command->out.is_first = &a->is_first;
        a->ask.answer = answer_first;
    }
    pawl_ask_hand(&a->ask);
}

static const struct pawl_route routes[] = {
    {PAWL_VERB_PUT, "/v1/queues/{name}", PAWL_ROLE_OPERATOR, "Sets a queue up", set_queue, 0},
    {PAWL_VERB_POST, "/v1/dead/redrive", PAWL_ROLE_OPERATOR, "Resumes dead letters", redrive_dead,
     0},
    {PAWL_VERB_POST, "/v1/consumers/{name}/acknowledge", PAWL_ROLE_WORKER,
     "Acknowledges events for a consumer", acknowledge, PAWL_ROUTE_DRAINS},
};

struct pawl_route_table pawl_native_sets(struct pawl_native *native)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), native};
}
