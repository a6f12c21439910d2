#include "net/conductor/define.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "net/ask.h"

struct pawl_defining {
    struct pawl_reading reading; /* first */
    struct pawl_conductor *conductor;
    const struct pawl_define *how;
    enum pawl_definition_must must;
    size_t count;
    struct pawl_definition_new *items;
    struct pawl_faulty *faulties;
};

struct registering {
    struct pawl_ask ask; /* first */
    const struct pawl_defining *defining;
};

static void answer(struct pawl_exchange *exchange, const struct pawl_defining *defining)
{
    pawl_faulty_warn(exchange, defining->faulties, defining->count);
    if (!defining->how->answers_names) {
        pawl_exchange_answer_empty(exchange, 200);
        return;
    }
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, exchange->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_raw(&w, "bulkErrorResults", PAWL_STR("{}"));
    pawl_json_put_key(&w, "bulkSuccessfulResults");
    pawl_json_begin_array(&w);
    for (size_t i = 0; i < defining->count; i++) pawl_json_put_text(&w, defining->items[i].name);
    pawl_json_end_array(&w);
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(exchange, 200, &w);
}

static void answer_registered(struct pawl_ask *ask)
{
    answer(ask->exchange, ((struct registering *)ask)->defining);
}

static void register_all(struct pawl_defining *defining)
{
    struct pawl_exchange *exchange = defining->reading.exchange;
    struct registering *registering =
        pawl_ask_begin(exchange, defining->conductor->pawl, sizeof *registering,
                       PAWL_COMMAND_DEFINE, answer_registered);
    if (registering == NULL) return;
    registering->defining = defining;
    struct pawl_command *command = &registering->ask.request.command;
    command->actor = exchange->caller;
    command->ask.define.items = defining->items;
    command->ask.define.count = defining->count;
    command->ask.define.must = defining->must;
    pawl_ask_hand(&registering->ask);
}

/* The objects of the body, counted; the first of them. */
static enum pawl_code find_objects(struct pawl_defining *defining, const struct pawl_json *body,
                                   const struct pawl_json **first, struct pawl_error *err)
{
    const struct pawl_define *how = defining->how;
    if (body->kind == PAWL_JSON_OBJECT && how->takes_object) {
        *first = body;
        defining->count = 1;
        return PAWL_OK;
    }
    bool is_array = body->kind == PAWL_JSON_ARRAY && how->takes_array;
    if (is_array && body->child_count == 0) {
        return pawl_error_set(err, PAWL_INVALID, "body: at least one definition is wanted");
    }
    if (is_array) {
        *first = pawl_json_first(body);
        defining->count = body->child_count;
        return PAWL_OK;
    }
    return pawl_error_set(err, PAWL_INVALID, "body: %s is wanted",
                          !how->takes_array    ? "an object"
                          : !how->takes_object ? "an array of definitions"
                                               : "an object or an array of them");
}

static enum pawl_code read_all(struct pawl_defining *defining, const struct pawl_json *first,
                               struct pawl_reader *reader, struct pawl_arena *scratch,
                               struct pawl_error *err)
{
    const struct pawl_define *how = defining->how;
    struct pawl_arena *keep = defining->reading.exchange->arena;
    size_t count = defining->count;
    defining->items = pawl_arena_take_array(keep, count, sizeof *defining->items);
    defining->faulties = pawl_arena_take_array(keep, count, sizeof *defining->faulties);
    const struct pawl_json *at = first;
    enum pawl_code code = pawl_arena_code(keep);
    for (size_t i = 0; i < count && code == PAWL_OK; i++, at = pawl_json_next(at)) {
        struct pawl_faulty *faulty = &defining->faulties[i];
        faulty->prefix = how->takes_array ? pawl_arena_format(keep, "%s[%zu].", how->prefix, i)
                                          : pawl_arena_format(keep, "%s.", how->prefix);
        pawl_faults_init(&faulty->faults, keep);
        if (at->kind != PAWL_JSON_OBJECT) {
            struct pawl_fault_place place = pawl_faulty_place(faulty);
            pawl_place_fault(&place, (struct pawl_str){0}, at->raw, PAWL_STR("must be an object"));
        } else {
            code = how->one(at, reader, keep, scratch, faulty, &defining->items[i], err);
        }
        pawl_arena_reset(scratch);
        if (code == PAWL_OK) code = pawl_arena_code(keep);
    }
    if (code != PAWL_OK && err->code == PAWL_OK) {
        (void)pawl_error_set(err, code, "no room for the definitions");
    }
    return code;
}

static enum pawl_code read_body(struct pawl_defining *defining, struct pawl_reader *reader,
                                struct pawl_arena *scratch, struct pawl_error *err)
{
    struct pawl_exchange *exchange = defining->reading.exchange;
    struct pawl_json *body = NULL;
    const struct pawl_json *first = NULL;
    enum pawl_code code = pawl_json_parse(exchange->request->body, exchange->arena, &body, err);
    if (code != PAWL_OK) {
        pawl_error_prefix(err, "body");
        return code;
    }
    code = find_objects(defining, body, &first, err);
    return code == PAWL_OK ? read_all(defining, first, reader, scratch, err) : code;
}

static enum pawl_code put(struct pawl_reading *reading, struct pawl_reader *reader,
                          struct pawl_json_writer *w, struct pawl_error *err)
{
    struct pawl_defining *defining = (struct pawl_defining *)reading;
    struct pawl_arena *scratch = NULL;
    (void)w;
    enum pawl_code code = pawl_arena_open(&scratch, PAWL_NET_EXCHANGE_ARENA_BYTES_MAX);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no room for the definitions");
    code = read_body(defining, reader, scratch, err);
    pawl_arena_close(scratch);
    if (code != PAWL_OK) return code;
    if (pawl_faulty_any(defining->faulties, defining->count)) {
        pawl_faulty_refuse(reading->exchange, defining->faulties, defining->count);
    } else if (defining->how->only_checks) {
        answer(reading->exchange, defining);
    } else {
        register_all(defining);
    }
    return PAWL_READING_ANSWERED;
}

void pawl_define(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                 const struct pawl_define *how, enum pawl_definition_must must)
{
    struct pawl_defining *defining = pawl_reading_begin(exchange, sizeof *defining, put);
    if (defining == NULL) return;
    defining->conductor = conductor;
    defining->how = how;
    defining->must = must;
    pawl_reading_add(&defining->reading, conductor->readers);
}

static void answer_removed(struct pawl_ask *ask)
{
    pawl_exchange_answer_empty(ask->exchange, 200);
}

void pawl_undefine(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                   enum pawl_definition_kind kind, struct pawl_str name, int64_t version)
{
    struct pawl_ask *ask = pawl_ask_begin(exchange, conductor->pawl, sizeof *ask,
                                          PAWL_COMMAND_UNDEFINE, answer_removed);
    if (ask == NULL) return;
    ask->request.command.ask.undefine =
        (struct pawl_definition_new){.kind = kind, .name = name, .version = version};
    pawl_ask_hand(ask);
}
