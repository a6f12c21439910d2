/* Adding tasks. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "core/check.h"
#include "net/ask.h"
#include "net/native/native.h"
#include "net/native/body.h"
#include "wire/task_json.h"

#include <stddef.h>

struct adding {
    struct pawl_ask ask; /* first */
    struct pawl_added *added;
    size_t count;
};

static void put_added(struct pawl_json_writer *w, const struct pawl_added *added, bool continuing)
{
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "id", added->id);
    pawl_json_put_member_bool(w, "existed", added->existed);
    if (continuing) pawl_json_put_member_bool(w, "continuing", true);
    pawl_json_end_object(w);
}

static void answer_one(struct pawl_ask *ask)
{
    const struct adding *adding = (const struct adding *)ask;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, ask->exchange->arena);
    put_added(&w, &adding->added[0], ask->request.command.continuing);
    pawl_exchange_answer_json(ask->exchange, 200, &w);
}

static void answer_batch(struct pawl_ask *ask)
{
    const struct adding *adding = (const struct adding *)ask;
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, ask->exchange->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_key(&w, "tasks");
    pawl_json_begin_array(&w);
    for (size_t i = 0; i < adding->count; i++) put_added(&w, &adding->added[i], false);
    pawl_json_end_array(&w);
    pawl_json_put_member_bool(&w, "continuing", ask->request.command.continuing);
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(ask->exchange, 200, &w);
}

/* Reads, checks and hands over so many tasks, of which the first is given. */
static void add(struct pawl_exchange *exchange, struct pawl_native *native,
                const struct pawl_json *first, size_t count, bool is_batch)
{
    struct pawl_arena *keep = exchange->arena;
    struct pawl_error err = {0};
    struct adding *adding = pawl_ask_begin(exchange, native->pawl, sizeof *adding, PAWL_COMMAND_CREATE,
                                           is_batch ? answer_batch : answer_one);
    if (adding == NULL) return;
    struct pawl_task_new *tasks = pawl_arena_take_array(keep, count, sizeof *tasks);
    adding->added = pawl_arena_take_array(keep, count, sizeof *adding->added);
    adding->count = count;
    enum pawl_code code = pawl_arena_code(keep);
    if (code != PAWL_OK) (void)pawl_error_set(&err, code, "no room for the tasks");
    const struct pawl_json *at = first;
    for (size_t i = 0; i < count && code == PAWL_OK; i++, at = pawl_json_next(at)) {
        code = pawl_task_from_json(at, keep, &tasks[i], &err);
        if (code != PAWL_OK && is_batch) pawl_error_prefix(&err, "tasks[%zu]", i);
        if (tasks[i].actor.len == 0) tasks[i].actor = exchange->caller;
    }
    const struct pawl_member *members = NULL;
    if (code == PAWL_OK) {
        code = pawl_check_create(tasks, count, pawl_str_of(native->pawl->correlation_id), keep,
                                 &members, &err);
    }
    if (code != PAWL_OK) {
        pawl_ask_refuse(exchange, &err);
        return;
    }
    struct pawl_command *command = &adding->ask.request.command;
    command->ask.create.members = members;
    command->ask.create.count = count;
    command->out.added = adding->added;
    pawl_ask_hand_checked(&adding->ask);
}

static void add_one(struct pawl_exchange *exchange, void *self)
{
    const struct pawl_json *body = pawl_body_wanted(exchange, 2);
    if (body != NULL) add(exchange, self, body, 1, false);
}

static void add_batch(struct pawl_exchange *exchange, void *self)
{
    struct said {
        const struct pawl_json *tasks;
    } said = {0};
    static const struct pawl_body_key keys[] = {
        {"tasks", PAWL_BODY_ARRAY, offsetof(struct said, tasks), true},
    };
    struct pawl_error err = {0};
    const struct pawl_json *body = pawl_body_wanted(exchange, 4);
    if (body == NULL) return;
    enum pawl_code code =
        pawl_body_fill(body, keys, PAWL_COUNT_OF(keys), exchange->arena, &said, &err);
    if (code == PAWL_OK && said.tasks->child_count > PAWL_BATCH_MAX) {
        code = pawl_error_set(&err, PAWL_TOO_LARGE, "tasks: has %u members; at most %d",
                              (unsigned)said.tasks->child_count, PAWL_BATCH_MAX);
    }
    if (code == PAWL_OK && said.tasks->child_count == 0) {
        code = pawl_error_set(&err, PAWL_INVALID, "tasks: has no members");
    }
    if (code != PAWL_OK) {
        pawl_ask_refuse(exchange, &err);
        return;
    }
    add(exchange, self, pawl_json_first(said.tasks), said.tasks->child_count, true);
}

static const struct pawl_route routes[] = {
    {PAWL_VERB_POST, "/v1/tasks", PAWL_ROLE_WORKER, "Adds a task", add_one, 0},
    {PAWL_VERB_POST, "/v1/tasks/batch", PAWL_ROLE_WORKER, "Adds tasks, all or none", add_batch, 0},
};

struct pawl_route_table pawl_native_adds(struct pawl_native *native)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), native};
}
