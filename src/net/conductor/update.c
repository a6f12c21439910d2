/* Updates: what workers, and others, say of a task. */
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/check.h"
#include "net/conductor/fault.h"
#include "net/conductor/work.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>

/* ---- TaskResult ---- */

struct result {
    struct pawl_str workflow_id;
    struct pawl_str task_id;
    int64_t status; /* enum pawl_update_status; 0 = not said */
    struct pawl_str output;
    struct pawl_str reason;
    int64_t callback_after_s;
    struct pawl_str worker_id;
    struct pawl_str logs; /* JSON */
    int64_t extends_lease;
    int64_t epoch;
};

static const struct pawl_str statuses[] = {
    PAWL_STR_INIT(""),
    [PAWL_UPDATE_IN_PROGRESS] = PAWL_STR_INIT("IN_PROGRESS"),
    [PAWL_UPDATE_COMPLETED] = PAWL_STR_INIT("COMPLETED"),
    [PAWL_UPDATE_FAILED] = PAWL_STR_INIT("FAILED"),
    [PAWL_UPDATE_FAILED_WITH_TERMINAL_ERROR] = PAWL_STR_INIT("FAILED_WITH_TERMINAL_ERROR"),
    [PAWL_UPDATE_CANCELED] = PAWL_STR_INIT("CANCELED"),
    {0},
};

#define FIELD(json_key, member, field_kind)                                        \
    {                                                                              \
        .key = PAWL_STR_INIT(json_key), .offset = offsetof(struct result, member), \
        .kind = PAWL_FIELD_##field_kind                                            \
    }
static const struct pawl_field result_items[] = {
    FIELD("workflowInstanceId", workflow_id, TEXT),
    FIELD("taskId", task_id, TEXT),
    {.key = PAWL_STR_INIT("status"),
     .words = statuses,
     .offset = offsetof(struct result, status),
     .kind = PAWL_FIELD_WORD},
    FIELD("outputData", output, MAP),
    FIELD("reasonForIncompletion", reason, TEXT),
    FIELD("callbackAfterSeconds", callback_after_s, LONG),
    FIELD("workerId", worker_id, TEXT),
    FIELD("logs", logs, ANY),
    FIELD("extendLease", extends_lease, BOOL),
    FIELD("leaseEpoch", epoch, LONG),
};
static const struct pawl_fields result_fields = {result_items, PAWL_COUNT_OF(result_items)};

/* Lines of the result; of more than a batch the newest. What is no line is passed over. */
static void read_logs(struct pawl_str logs, struct pawl_arena *keep, struct pawl_update *update)
{
    struct pawl_json *list = NULL;
    if (logs.len == 0 || pawl_json_parse_top(logs, 2, keep, &list, NULL) != PAWL_OK) return;
    if (list->kind != PAWL_JSON_ARRAY || list->child_count == 0) return;
    struct pawl_str *lines = pawl_arena_take_array(keep, list->child_count, sizeof *lines);
    size_t count = 0;
    for (const struct pawl_json *at = pawl_json_first(list); at != NULL && lines != NULL;
         at = pawl_json_next(at)) {
        struct pawl_str line = {0};
        if (!pawl_json_text(pawl_json_member(at, PAWL_STR("log")), keep, &line)) continue;
        lines[count++] = pawl_utf8_cut_bytes(line, PAWL_LOG_LINE_BYTES_MAX);
    }
    size_t first = count > PAWL_BATCH_MAX ? count - PAWL_BATCH_MAX : 0;
    update->logs = lines == NULL ? NULL : lines + first;
    update->log_count = count - first;
}

static void refuse_missing(struct pawl_exchange *exchange, const char *field)
{
    struct pawl_faulty faulty = {.prefix = PAWL_STR("updateTask.taskResult.")};
    pawl_faults_init(&faulty.faults, exchange->arena);
    struct pawl_fault_place place = pawl_faulty_place(&faulty);
    pawl_place_fault(&place, pawl_str_of(field), (struct pawl_str){0},
                     PAWL_STR("must not be empty"));
    pawl_faulty_refuse(exchange, &faulty, 1);
}

/* A heartbeat is looked at before its status, which may be missing. */
static bool check_result(struct pawl_exchange *exchange, const struct result *result)
{
    const char *missing = result->workflow_id.len == 0 ? "workflowInstanceId"
                          : result->task_id.len == 0   ? "taskId"
                          : result->status == 0 && !result->extends_lease ? "status"
                                                                          : NULL;
    if (missing != NULL) refuse_missing(exchange, missing);
    return missing == NULL;
}

static void fill_update(const struct result *result, struct pawl_arena *keep,
                        struct pawl_update *update)
{
    enum { REASON_POINTS = 500 };
    int64_t callback_s_max = PAWL_DELAY_MS_MAX / 1000;
    int64_t callback_s = result->callback_after_s;
    if (callback_s < 0) callback_s = 0;
    if (callback_s > callback_s_max) callback_s = callback_s_max;
    *update = (struct pawl_update){
        .workflow_id = result->workflow_id,
        .status = (enum pawl_update_status)result->status,
        .output = result->output,
        .reason = pawl_utf8_cut_points(result->reason, REASON_POINTS),
        .callback_after_ms = callback_s * 1000,
        .worker_id = result->worker_id,
        .epoch = result->epoch,
        .extends_lease = result->extends_lease != 0,
    };
    read_logs(result->logs, keep, update);
}

/* ---- Telling it, and perhaps claiming the next ---- */

/* Both commands are handed over together, so that one step does them; whichever is answered last
 * answers the exchange. */
struct updating {
    struct pawl_conductor *conductor;
    struct pawl_exchange *exchange;
    struct pawl_ask ask; /* of which the request alone is used, as of the next */
    struct pawl_update update;
    struct pawl_updated updated;
    struct pawl_ask next;
    struct pawl_polling polling;
    bool has_next;
    bool is_chained; /* update-v2 */
    _Atomic int32_t open;
};

static void put_lease_header(const struct updating *updating)
{
    static const char *const words[] = {
        [PAWL_LEASE_WORD_NONE] = NULL,     [PAWL_LEASE_WORD_HELD] = "held",
        [PAWL_LEASE_WORD_DONE] = "done",   [PAWL_LEASE_WORD_LOST] = "lost",
        [PAWL_LEASE_WORD_PAUSE] = "pause", [PAWL_LEASE_WORD_CANCEL] = "cancel",
    };
    const struct pawl_updated *updated = &updating->updated;
    const char *word = words[updated->lease];
    int64_t grace_ms = updating->conductor->lease_grace_ms;
    int64_t left_ms = updated->remaining_ms > grace_ms ? updated->remaining_ms - grace_ms : 0;
    if (word == NULL) return;
    struct pawl_str value = pawl_str_of(word);
    if (updated->remaining_ms > 0) {
        value = pawl_arena_format(updating->exchange->arena, "%s; remaining-ms=%" PRId64, word,
                                  left_ms);
    }
    if (value.len > 0) pawl_exchange_header(updating->exchange, "Pawl-Lease", value);
}

/* The update was refused, and the claim beside it granted. */
static void refuse(struct updating *updating, const struct pawl_error *err)
{
    const struct pawl_claimed *claimed = &updating->polling.claimed;
    if (updating->has_next && updating->next.request.command.code == PAWL_OK) {
        pawl_ask_give_back(updating->conductor->pawl, claimed->grants, claimed->count);
    }
    pawl_ask_refuse(updating->exchange, err);
}

static void answer_next(struct updating *updating)
{
    bool has_it = updating->has_next && updating->next.request.command.code == PAWL_OK &&
                  updating->polling.claimed.count > 0;
    if (has_it) {
        pawl_polling_answer(&updating->polling, updating->conductor, &updating->next, true);
    } else {
        pawl_exchange_answer_empty(updating->exchange, 204);
    }
}

static void take_told(struct pawl_request *request)
{
    struct updating *updating = request->on_answer_self;
    const struct pawl_command *command = &updating->ask.request.command;
    if (atomic_fetch_sub(&updating->open, 1) > 1) return;
    if (command->code != PAWL_OK) {
        refuse(updating, &command->err);
        return;
    }
    put_lease_header(updating);
    if (updating->is_chained) {
        answer_next(updating);
    } else {
        pawl_exchange_answer_text(updating->exchange, 200, command->task_id);
    }
}

static void begin_request(struct updating *updating, struct pawl_ask *ask,
                          enum pawl_command_kind kind)
{
    ask->pawl = updating->conductor->pawl;
    ask->exchange = updating->exchange;
    pawl_request_init(&ask->request, kind);
    ask->request.on_answer = take_told;
    ask->request.on_answer_self = updating;
    ask->request.continuing = &ask->continuing;
    ask->request.command.keep = updating->exchange->arena;
}

/* The next one is of the queue of this task, once it has ended. Its request says so by the task's id
 * and epoch, so that a repeat of the update by the same worker is given the same task. */
static void ask_for_next(struct updating *updating)
{
    struct pawl_exchange *exchange = updating->exchange;
    struct pawl_str task_id = updating->ask.request.command.task_id;
    begin_request(updating, &updating->next, PAWL_COMMAND_CLAIM);
    pawl_polling_fill(&updating->polling, updating->conductor, (struct pawl_str){0},
                      updating->update.worker_id, exchange->peer, &updating->next.request);
    updating->polling.poll.after = task_id;
    updating->polling.claim.request_id =
        pawl_arena_format(exchange->arena, "after %.*s", PAWL_STR_ARG(task_id));
    updating->has_next = true;
}

static enum pawl_code hand(struct updating *updating, struct pawl_error *err)
{
    struct pawl *pawl = updating->conductor->pawl;
    struct pawl_arena *keep = updating->exchange->arena;
    struct pawl_request *requests[] = {&updating->ask.request, &updating->next.request};
    struct pawl_arena_mark mark = pawl_arena_mark(keep);
    enum pawl_code code = pawl_check_command(&updating->ask.request.command, keep, err);
    if (code == PAWL_OK && updating->has_next) code = pawl_check_claim(&updating->polling.claim, err);
    pawl_arena_rewind(keep, mark);
    if (code != PAWL_OK) return code;
    updating->open = updating->has_next ? 2 : 1;
    return pawl_engine_hand_all(pawl, requests, updating->has_next ? 2 : 1, err);
}

static void update_task(struct pawl_exchange *exchange, struct pawl_conductor *conductor,
                        bool is_chained)
{
    struct result result;
    struct pawl_error err = {0};
    if (!pawl_conductor_body(exchange, result_fields, &result, "updateTask.taskResult.")) return;
    if (!check_result(exchange, &result)) return;
    struct updating *updating = pawl_arena_take(exchange->arena, sizeof *updating);
    if (updating == NULL) {
        (void)pawl_error_set(&err, pawl_arena_code(exchange->arena), "no room for the update");
        pawl_exchange_answer_error(exchange, &err, NULL);
        return;
    }
    updating->conductor = conductor;
    updating->exchange = exchange;
    updating->is_chained = is_chained;
    fill_update(&result, exchange->arena, &updating->update);
    begin_request(updating, &updating->ask, PAWL_COMMAND_UPDATE);
    struct pawl_command *command = &updating->ask.request.command;
    command->task_id = result.task_id;
    command->actor = exchange->caller;
    command->ask.update = &updating->update;
    command->out.updated = &updating->updated;
    /* who is about to end hands out nothing more */
    bool may_claim = pawl_engine_may_wait(conductor->pawl) && !pawl_exchange_is_left(exchange);
    if (is_chained && !updating->update.extends_lease && may_claim) ask_for_next(updating);
    enum pawl_code code = pawl_arena_code(exchange->arena);
    if (code != PAWL_OK) (void)pawl_error_set(&err, code, "no room for the update");
    if (code == PAWL_OK) code = hand(updating, &err);
    if (code != PAWL_OK) pawl_ask_refuse(exchange, &err);
}

static void update_one(struct pawl_exchange *exchange, void *self)
{
    update_task(exchange, self, false);
}

static void update_and_go_on(struct pawl_exchange *exchange, void *self)
{
    update_task(exchange, self, true);
}

/* clang-format off */
static const struct pawl_route routes[] = {
    {PAWL_VERB_POST, "/api/tasks", PAWL_ROLE_WORKER, "Tells what became of a task", update_one, PAWL_ROUTE_DRAINS},
    {PAWL_VERB_POST, "/api/tasks/update-v2", PAWL_ROLE_WORKER, "Tells what became of a task, and claims the next",
     update_and_go_on, PAWL_ROUTE_DRAINS},
};
/* clang-format on */

struct pawl_route_table pawl_conductor_updates(struct pawl_conductor *conductor)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), conductor};
}
