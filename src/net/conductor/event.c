/* Event handlers: their definitions. Nothing runs them yet. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "net/conductor/define.h"

#include <stddef.h>

struct handler {
    struct pawl_str name;
    struct pawl_str event;
    struct pawl_str condition;
    struct pawl_str evaluator;
    int64_t is_active;
    struct pawl_str actions; /* JSON */
    struct pawl_str description;
};

#define FIELD(json_key, member, field_kind)                                         \
    {                                                                               \
        .key = PAWL_STR_INIT(json_key), .offset = offsetof(struct handler, member), \
        .kind = PAWL_FIELD_##field_kind                                             \
    }
static const struct pawl_field handler_items[] = {
    FIELD("name", name, TEXT),           FIELD("event", event, TEXT),
    FIELD("condition", condition, TEXT), FIELD("evaluatorType", evaluator, TEXT),
    FIELD("active", is_active, BOOL),    FIELD("description", description, TEXT),
    FIELD("actions", actions, ANY),
};
static const struct pawl_fields handler_fields = {handler_items, PAWL_COUNT_OF(handler_items)};

/* ---- Registering ---- */

static void check_text(const struct pawl_fault_place *place, const char *field, struct pawl_str text)
{
    if (pawl_str_trim(text).len > 0) return;
    pawl_place_fault(place, pawl_str_of(field), (struct pawl_str){0},
                     PAWL_STR("must not be empty"));
}

static void check_action(const struct pawl_fault_place *place, const struct pawl_json *action, size_t at,
                         struct pawl_arena *keep)
{
    static const char *const words[] = {"start_workflow", "complete_task",      "fail_task",
                                        "start_agent",    "terminate_workflow", "update_workflow_variables"};
    const struct pawl_json *said = pawl_json_member(action, PAWL_STR("action"));
    struct pawl_str word = {0};
    bool is_known = false;
    if (pawl_json_text(said, keep, &word)) {
        for (size_t i = 0; i < PAWL_COUNT_OF(words); i++) {
            if (pawl_str_equal(word, pawl_str_of(words[i]))) is_known = true;
        }
    }
    if (is_known) return;
    pawl_place_fault(place, pawl_arena_format(keep, "actions[%zu].action", at),
                     said != NULL ? said->raw : (struct pawl_str){0},
                     PAWL_STR("must be start_workflow, complete_task, fail_task, terminate_workflow, "
                              "update_workflow_variables or start_agent"));
}

static enum pawl_code define_handler(const struct pawl_json *object, struct pawl_reader *reader,
                                     struct pawl_arena *keep, struct pawl_arena *scratch,
                                     struct pawl_faulty *faulty, struct pawl_definition_new *out,
                                     struct pawl_error *err)
{
    struct handler handler;
    struct pawl_fault_place place = pawl_faulty_place(faulty);
    const struct pawl_json *actions = pawl_json_member(object, PAWL_STR("actions"));
    size_t at = 0;
    (void)reader;
    (void)scratch;
    (void)err;
    pawl_fields_read(handler_fields, object, &handler, &place, NULL, NULL);
    check_text(&place, "name", handler.name);
    check_text(&place, "event", handler.event);
    if (actions == NULL || actions->kind != PAWL_JSON_ARRAY || actions->child_count == 0) {
        pawl_place_fault(&place, PAWL_STR("actions"), (struct pawl_str){0},
                         PAWL_STR("must be a list of at least one action"));
    } else {
        for (const struct pawl_json *action = pawl_json_first(actions); action != NULL;
             action = pawl_json_next(action)) {
            check_action(&place, action, at++, keep);
        }
    }
    *out = (struct pawl_definition_new){PAWL_DEFINITION_EVENT_HANDLER, handler.name, 0,
                                        object->raw};
    return PAWL_OK;
}

/* Clients of one kind send an array of them. */
static const struct pawl_define how_to_add = {.one = define_handler,
                                              .prefix = "addEventHandler.eventHandler",
                                              .takes_object = true,
                                              .takes_array = true};

static void add_handler(struct pawl_exchange *exchange, void *self)
{
    pawl_define(exchange, self, &how_to_add, PAWL_DEFINITION_ABSENT);
}

static void put_handler(struct pawl_exchange *exchange, void *self)
{
    static const struct pawl_define how = {.one = define_handler,
                                           .prefix = "updateEventHandler.eventHandler",
                                           .takes_object = true,
                                           .takes_array = true};
    pawl_define(exchange, self, &how, PAWL_DEFINITION_PRESENT);
}

static void delete_handler(struct pawl_exchange *exchange, void *self)
{
    pawl_undefine(exchange, self, PAWL_DEFINITION_EVENT_HANDLER,
                  pawl_exchange_variable(exchange, "name"), 0);
}

/* ---- Reading ---- */

struct looking {
    struct pawl_reading reading; /* first */
    struct pawl_str name;
    struct pawl_str event; /* empty = all */
    bool is_active;        /* the others are left out */
};

static void put_action(struct pawl_json_writer *w, const struct pawl_json *action)
{
    bool has_expand = false;
    pawl_json_begin_object(w);
    for (const struct pawl_json *at = pawl_json_first(action); at != NULL;
         at = pawl_json_next(at)) {
        if (at->kind == PAWL_JSON_NULL) continue;
        has_expand = has_expand || pawl_str_equal(at->key, PAWL_STR("expandInlineJSON"));
        pawl_json_put_key_str(w, at->key);
        pawl_json_put_raw(w, at->raw);
    }
    if (!has_expand) pawl_json_put_member_bool(w, "expandInlineJSON", false);
    pawl_json_end_object(w);
}

static enum pawl_code parse_handler(const struct pawl_definition_row *row, struct pawl_arena *keep,
                                    struct pawl_json **object, struct handler *out,
                                    struct pawl_error *err)
{
    struct pawl_faulty ignored = {0};
    enum pawl_code code = pawl_json_parse_top(row->body, 3, keep, object, err);
    if (code == PAWL_INVALID) code = err->code = PAWL_CORRUPT;
    if (code != PAWL_OK) {
        pawl_error_prefix(err, "event handler %.*s", PAWL_STR_ARG(row->name));
        return code;
    }
    pawl_faults_init(&ignored.faults, keep);
    struct pawl_fault_place place = pawl_faulty_place(&ignored);
    pawl_fields_read(handler_fields, *object, out, &place, NULL, NULL);
    return PAWL_OK;
}

static void write_handler(const struct pawl_json *object, const struct handler *handler,
                          struct pawl_json_writer *w)
{
    const struct pawl_fields plain = {handler_items, PAWL_COUNT_OF(handler_items) - 1};
    pawl_json_begin_object(w);
    pawl_fields_write(plain, handler, w);
    pawl_json_put_key(w, "actions");
    pawl_json_begin_array(w);
    for (const struct pawl_json *action =
             pawl_json_first(pawl_json_member(object, PAWL_STR("actions")));
         action != NULL; action = pawl_json_next(action)) {
        put_action(w, action);
    }
    pawl_json_end_array(w);
    pawl_json_end_object(w);
}

static enum pawl_code put_list(struct pawl_reading *reading, struct pawl_reader *reader,
                               struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_arena *keep = reading->exchange->arena;
    const struct pawl_definition_ask ask = {.kind = PAWL_DEFINITION_EVENT_HANDLER,
                                            .with_body = true};
    struct pawl_definition_rows rows = {0};
    enum pawl_code code = pawl_read_definitions(reader, &ask, keep, &rows, err);
    if (code != PAWL_OK) return code;
    pawl_json_begin_array(w);
    for (size_t i = 0; i < rows.count && code == PAWL_OK; i++) {
        struct pawl_json *object = NULL;
        struct handler handler;
        code = parse_handler(&rows.rows[i], keep, &object, &handler, err);
        if (code != PAWL_OK) break;
        bool is_its = looking->event.len == 0 || pawl_str_equal(handler.event, looking->event);
        if (is_its && (handler.is_active || !looking->is_active)) write_handler(object, &handler, w);
    }
    pawl_json_end_array(w);
    return code;
}

static enum pawl_code put_one(struct pawl_reading *reading, struct pawl_reader *reader,
                              struct pawl_json_writer *w, struct pawl_error *err)
{
    const struct looking *looking = (const struct looking *)reading;
    struct pawl_arena *keep = reading->exchange->arena;
    struct pawl_definition_row row;
    struct pawl_json *object = NULL;
    struct handler handler;
    enum pawl_code code = pawl_read_definition(reader, PAWL_DEFINITION_EVENT_HANDLER, looking->name,
                                               0, keep, &row, err);
    if (code == PAWL_OK) code = parse_handler(&row, keep, &object, &handler, err);
    if (code == PAWL_OK) write_handler(object, &handler, w);
    return code;
}

static void add(struct looking *looking, struct pawl_conductor *conductor)
{
    if (pawl_exchange_has_failed(looking->reading.exchange)) return;
    pawl_reading_add(&looking->reading, conductor->readers);
}

static void list_handlers(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = pawl_reading_begin(exchange, sizeof *looking, put_list);
    if (looking != NULL) add(looking, self);
}

static void list_of_event(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = pawl_reading_begin(exchange, sizeof *looking, put_list);
    if (looking == NULL) return;
    looking->event = pawl_exchange_variable(exchange, "event");
    looking->is_active = pawl_exchange_bool(exchange, "activeOnly", true);
    add(looking, self);
}

static void get_handler(struct pawl_exchange *exchange, void *self)
{
    struct looking *looking = pawl_reading_begin(exchange, sizeof *looking, put_one);
    if (looking == NULL) return;
    looking->name = pawl_exchange_variable(exchange, "name");
    add(looking, self);
}

/* clang-format off */
static const struct pawl_route routes[] = {
    {PAWL_VERB_GET, "/api/event", PAWL_ROLE_VIEWER, "Event handlers", list_handlers, 0},
    {PAWL_VERB_POST, "/api/event", PAWL_ROLE_OPERATOR, "Creates an event handler", add_handler, 0},
    {PAWL_VERB_PUT, "/api/event", PAWL_ROLE_OPERATOR, "Replaces an event handler", put_handler, 0},
    {PAWL_VERB_GET, "/api/event/{event}", PAWL_ROLE_VIEWER, "Event handlers of an event", list_of_event, 0},
    {PAWL_VERB_DELETE, "/api/event/{name}", PAWL_ROLE_OPERATOR, "Removes an event handler", delete_handler, 0},
    {PAWL_VERB_GET, "/api/event/handler/{name}", PAWL_ROLE_VIEWER, "An event handler", get_handler, 0},
};
/* clang-format on */

struct pawl_route_table pawl_conductor_events(struct pawl_conductor *conductor)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), conductor};
}
