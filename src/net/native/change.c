/* Every change of one task, and the table of what each takes. */
#include "net/native/change.h"

#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "net/ask.h"
#include "net/native/native.h"
#include "net/readers.h"

#include <stddef.h>

enum pawl_code pawl_said_fill(const struct pawl_said *said, enum pawl_command_kind kind,
                              struct pawl_str task_id, struct pawl_command *command,
                              struct pawl_error *err)
{
    command->task_id = task_id;
    command->has_fence = said->epoch != 0;
    if (command->has_fence != (said->owner.len > 0)) {
        return pawl_error_set(err, PAWL_INVALID, "%s: is missing; a fence is owner and epoch",
                              command->has_fence ? "owner" : "epoch");
    }
    if (kind == PAWL_COMMAND_RELEASE && !command->has_fence) {
        return pawl_error_set(err, PAWL_INVALID,
                              "owner: is missing; only its holder gives it back");
    }
    command->fence =
        (struct pawl_fence){.task_id = task_id, .owner = said->owner, .epoch = said->epoch};
    command->expected_version = said->expected_version;
    command->actor = said->actor;
    command->reason = said->reason;
    switch ((int32_t)kind) { /* those that carry something */
    case PAWL_COMMAND_PROGRESS:
        command->ask.percent = said->percent;
        break;
    case PAWL_COMMAND_CHECKPOINT:
        command->ask.checkpoint.step = said->step;
        command->ask.checkpoint.state = said->state;
        break;
    case PAWL_COMMAND_LOG:
        command->ask.line = said->line;
        break;
    case PAWL_COMMAND_COMPLETE:
        command->ask.result = said->result;
        break;
    case PAWL_COMMAND_FAIL:
        command->ask.failure = (struct pawl_failure){.size = sizeof(struct pawl_failure),
                                                     .error = said->error,
                                                     .is_final = said->is_final,
                                                     .retry_after_ms = said->retry_after_ms};
        break;
    case PAWL_COMMAND_RELEASE:
        command->ask.delay_ms = said->delay_ms;
        break;
    case PAWL_COMMAND_CANCEL:
        command->ask.is_forced = said->is_forced;
        break;
    case PAWL_COMMAND_RESUME:
        command->ask.resume = (struct pawl_resume){.size = sizeof(struct pawl_resume),
                                                   .keep_retries = said->keep_retries,
                                                   .input = said->input};
        break;
    case PAWL_COMMAND_RESOLVE:
        command->ask.resolve.outcome = said->outcome;
        command->ask.resolve.text = said->text;
        command->is_forced = said->is_forced;
        break;
    }
    return PAWL_OK;
}

/* Not the task as it is then: to read it would cost each outcome a read, and others may have
 * changed it since. */
static void answer_change(struct pawl_ask *ask)
{
    struct pawl_json_writer w;
    pawl_json_writer_init(&w, ask->exchange->arena);
    pawl_json_begin_object(&w);
    pawl_json_put_member_text(&w, "id", ask->request.command.task_id);
    pawl_json_put_member_bool(&w, "continuing", ask->continuing);
    if (ask->request.command.kind == PAWL_COMMAND_CHECKPOINT) {
        pawl_json_put_member_text(&w, "checkpoint_id", pawl_str_of(ask->checkpoint_id));
    }
    pawl_json_end_object(&w);
    pawl_exchange_answer_json(ask->exchange, 200, &w);
}

/* The ask of a change, filled; NULL, and answered, if something is wrong with its body. */
static void *begin_change(struct pawl_exchange *exchange, void *self, size_t bytes,
                          enum pawl_command_kind kind, const struct pawl_body_key *keys,
                          size_t count)
{
    struct pawl_error err = {0};
    struct pawl_said said = {0};
    const struct pawl_json *body = pawl_body_of(exchange, 1);
    if (body == NULL) return NULL;
    struct pawl_ask *ask = pawl_ask_begin(exchange, ((struct pawl_native *)self)->pawl, bytes, kind, answer_change);
    if (ask == NULL) return NULL;
    enum pawl_code code = pawl_body_fill(body, keys, count, exchange->arena, &said, &err);
    if (code == PAWL_OK) {
        if (said.actor.len == 0) said.actor = exchange->caller;
        code = pawl_said_fill(&said, kind, pawl_exchange_variable(exchange, "id"),
                              &ask->request.command, &err);
    }
    if (kind == PAWL_COMMAND_CHECKPOINT) ask->request.command.out.checkpoint_id = ask->checkpoint_id;
    if (code == PAWL_OK) return ask;
    pawl_ask_refuse(exchange, &err);
    return NULL;
}

static void change(struct pawl_exchange *exchange, void *self, enum pawl_command_kind kind,
                   const struct pawl_body_key *keys, size_t count)
{
    struct pawl_ask *ask = begin_change(exchange, self, sizeof(struct pawl_ask), kind, keys, count);
    if (ask != NULL) pawl_ask_hand(ask);
}

/* clang-format off */
#define WORD(name, kind, ...)                                                   \
    static void name(struct pawl_exchange *exchange, void *self)                \
    {                                                                           \
        static const struct pawl_body_key keys[] = {PAWL_SAID_BY, __VA_ARGS__}; \
        change(exchange, self, PAWL_COMMAND_##kind, keys, PAWL_COUNT_OF(keys)); \
    }
WORD(progress, PROGRESS, PAWL_SAID_KEY("percent", DOUBLE, percent, true))
WORD(checkpoint, CHECKPOINT, PAWL_SAID_KEY("step", INT32, step, true),
                             PAWL_SAID_KEY("state", RAW, state, true))
WORD(log_line, LOG, PAWL_SAID_KEY("line", TEXT, line, true))
WORD(complete, COMPLETE, PAWL_SAID_COMPLETE)
WORD(fail, FAIL, PAWL_SAID_FAIL)
WORD(release, RELEASE, PAWL_SAID_RELEASE)
WORD(queue, QUEUE,)
WORD(pause_it, PAUSE,)
WORD(resume, RESUME, PAWL_SAID_KEY("input", RAW, input, false),
                     PAWL_SAID_KEY("keep_retries", BOOL, keep_retries, false))
WORD(cancel, CANCEL, PAWL_SAID_KEY("forced", BOOL, is_forced, false))
/* clang-format on */

/* ---- RESOLVE: somebody looks at the work first, which is a read ---------------------------------
 */

struct resolving {
    struct pawl_ask ask; /* first */
    struct pawl_read read;
};

static void look_and_hand(struct pawl_read *read, struct pawl_reader *reader,
                          const struct pawl_error *failed)
{
    struct resolving *resolving = read->self;
    struct pawl_ask *ask = &resolving->ask;
    struct pawl_error err = {0};
    (void)reader;
    (void)failed; /* the look has a reader of its own */
    if (pawl_engine_look_at_work(ask->pawl, &ask->request.command, &err) != PAWL_OK) {
        pawl_ask_refuse(ask->exchange, &err);
        return;
    }
    pawl_ask_hand(ask);
}

static void resolve(struct pawl_exchange *exchange, void *self)
{
    static const struct pawl_body_key keys[] = {
        PAWL_SAID_BY,
        PAWL_SAID_KEY("outcome", STATE, outcome, true),
        PAWL_SAID_KEY("text", TEXT, text, false),
        PAWL_SAID_KEY("result", RAW, text, false),
        PAWL_SAID_KEY("forced", BOOL, is_forced, false),
    };
    struct pawl_native *native = self;
    struct pawl_error err = {0};
    struct resolving *resolving = begin_change(exchange, self, sizeof *resolving,
                                               PAWL_COMMAND_RESOLVE, keys, PAWL_COUNT_OF(keys));
    if (resolving == NULL) return;
    resolving->read = (struct pawl_read){.run = look_and_hand, .self = resolving};
    if (pawl_readers_add(native->readers, &resolving->read, &err) != PAWL_OK) {
        pawl_exchange_answer_error(exchange, &err, NULL);
    }
}

static const struct pawl_route routes[] = {
    {PAWL_VERB_POST, "/v1/tasks/{id}/progress", PAWL_ROLE_WORKER, "Reports progress", progress,
     PAWL_ROUTE_DRAINS},
    {PAWL_VERB_POST, "/v1/tasks/{id}/checkpoint", PAWL_ROLE_WORKER, "Saves resumable state",
     checkpoint, PAWL_ROUTE_DRAINS},
    {PAWL_VERB_POST, "/v1/tasks/{id}/log", PAWL_ROLE_WORKER, "Appends a line to its log", log_line,
     PAWL_ROUTE_DRAINS},
    {PAWL_VERB_POST, "/v1/tasks/{id}/complete", PAWL_ROLE_WORKER, "Completes a task", complete,
     PAWL_ROUTE_DRAINS},
    {PAWL_VERB_POST, "/v1/tasks/{id}/fail", PAWL_ROLE_WORKER, "Ends an attempt that failed", fail,
     PAWL_ROUTE_DRAINS},
    {PAWL_VERB_POST, "/v1/tasks/{id}/release", PAWL_ROLE_WORKER, "Gives a task back, uncounted",
     release, PAWL_ROUTE_DRAINS},
    {PAWL_VERB_POST, "/v1/tasks/{id}/queue", PAWL_ROLE_OPERATOR, "Offers a held task to workers",
     queue, 0},
    {PAWL_VERB_POST, "/v1/tasks/{id}/pause", PAWL_ROLE_OPERATOR, "Pauses a task", pause_it, 0},
    {PAWL_VERB_POST, "/v1/tasks/{id}/resume", PAWL_ROLE_OPERATOR,
     "Resumes a paused, failed or dead task", resume, 0},
    {PAWL_VERB_POST, "/v1/tasks/{id}/cancel", PAWL_ROLE_OPERATOR, "Cancels a task", cancel, 0},
    {PAWL_VERB_POST, "/v1/tasks/{id}/resolve", PAWL_ROLE_OPERATOR,
     "Decides what has become of a task", resolve, 0},
};

struct pawl_route_table pawl_native_changes(struct pawl_native *native)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), native};
}
