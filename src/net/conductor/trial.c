/* A workflow tried: run in a store of its own, where it meets no worker, and what its workers would
 * say comes with the request. Time passes as the request says, or as what waits for it wants. It
 * ends with the workflow, or with the first task that nothing is said of. */
#include "engine/trial.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "core/limits.h"
#include "engine/engine.h"
#include "engine/workflow.h"
#include "net/conductor/start.h"
#include "net/conductor/workflow_json.h"
#include "net/limits.h"
#include "net/reading.h"

#include <stddef.h>

struct mock {
    int64_t status; /* enum pawl_update_status */
    struct pawl_str output;
    int64_t took_ms;
    int64_t waited_ms;
};

/* What is said of the tasks of one reference, one after the other. */
struct mocks {
    struct pawl_str reference;
    const struct mock *items;
    size_t count;
    size_t said;
};

struct trying {
    struct pawl_reading reading; /* first */
    struct pawl_workflow_start start;
    struct mocks *mocks;
    size_t mocks_count;

    /* while it runs */
    struct pawl_trial *trial;
    struct pawl_arena *scratch; /* of one round */
    struct pawl_str id;         /* of the workflow, in the exchange's arena */
    int64_t seq;                /* all records up to it have ended */
};

/* ---- The request ---- */

static const struct pawl_str statuses[] = {
    PAWL_STR_INIT(""),
    [PAWL_UPDATE_IN_PROGRESS] = PAWL_STR_INIT("IN_PROGRESS"),
    [PAWL_UPDATE_COMPLETED] = PAWL_STR_INIT("COMPLETED"),
    [PAWL_UPDATE_FAILED] = PAWL_STR_INIT("FAILED"),
    [PAWL_UPDATE_FAILED_WITH_TERMINAL_ERROR] = PAWL_STR_INIT("FAILED_WITH_TERMINAL_ERROR"),
    {0},
};

#define FIELD(json_key, member, field_kind)                                      \
    {                                                                            \
        .key = PAWL_STR_INIT(json_key), .offset = offsetof(struct mock, member), \
        .kind = PAWL_FIELD_##field_kind                                          \
    }
static const struct pawl_field mock_items[] = {
    {.key = PAWL_STR_INIT("status"),
     .words = statuses,
     .initial = PAWL_UPDATE_COMPLETED,
     .offset = offsetof(struct mock, status),
     .kind = PAWL_FIELD_WORD},
    FIELD("output", output, MAP),
    FIELD("executionTime", took_ms, LONG),
    FIELD("queueWaitTime", waited_ms, LONG),
};
static const struct pawl_fields mock_fields = {mock_items, PAWL_COUNT_OF(mock_items)};

static void check_time(const struct pawl_fault_place *place, const char *key, int64_t ms)
{
    if (ms >= 0 && ms <= PAWL_DELAY_MS_MAX / 2) return;
    pawl_place_fault(place, pawl_str_of(key), (struct pawl_str){0},
                     PAWL_STR("must be from 0 to half a year, in milliseconds"));
}

/* All that is said of one reference. */
static bool read_mocks(struct pawl_exchange *exchange, const struct pawl_json *list,
                       struct mocks *out)
{
    struct pawl_error err = {0};
    enum pawl_code code = PAWL_OK;
    struct mock *items = NULL;
    if (list->kind != PAWL_JSON_ARRAY) {
        code = pawl_error_set(&err, PAWL_INVALID, "taskRefToMockOutput.%.*s: a list is wanted",
                              PAWL_STR_ARG(out->reference));
    } else {
        items = pawl_arena_take_array(exchange->arena, list->child_count, sizeof *items);
    }
    const struct pawl_json *at = items == NULL ? NULL : pawl_json_first(list);
    for (; at != NULL && code == PAWL_OK; at = pawl_json_next(at)) {
        struct mock *mock = &items[out->count++];
        struct pawl_faulty faulty = {
            .prefix = pawl_arena_format(exchange->arena, "taskRefToMockOutput.%.*s[%zu].",
                                        PAWL_STR_ARG(out->reference), out->count - 1)};
        pawl_faults_init(&faulty.faults, exchange->arena);
        const struct pawl_fault_place place = pawl_faulty_place(&faulty);
        if (at->kind != PAWL_JSON_OBJECT) {
            pawl_place_fault(&place, (struct pawl_str){0}, at->raw, PAWL_STR("must be an object"));
        } else {
            pawl_fields_read(mock_fields, at, mock, &place, NULL, NULL);
        }
        check_time(&place, "executionTime", mock->took_ms);
        check_time(&place, "queueWaitTime", mock->waited_ms);
        if (!pawl_faulty_any(&faulty, 1)) continue;
        pawl_faulty_refuse(exchange, &faulty, 1);
        return false;
    }
    out->items = items;
    if (code == PAWL_OK && items == NULL)
        code = pawl_error_set(&err, pawl_arena_code(exchange->arena), "no room for the body");
    if (code == PAWL_OK) return true;
    pawl_exchange_answer_error(exchange, &err, "taskRefToMockOutput");
    return false;
}

static bool read_all_mocks(struct trying *trying, const struct pawl_json *body)
{
    struct pawl_exchange *exchange = trying->reading.exchange;
    const struct pawl_json *map = pawl_json_member(body, PAWL_STR("taskRefToMockOutput"));
    struct pawl_error err = {0};
    size_t count = 0;
    if (map == NULL || map->kind == PAWL_JSON_NULL) return true;
    if (map->kind == PAWL_JSON_OBJECT)
        trying->mocks =
            pawl_arena_take_array(exchange->arena, map->child_count + 1, sizeof *trying->mocks);
    const struct pawl_json *at = trying->mocks == NULL ? NULL : pawl_json_first(map);
    for (; at != NULL; at = pawl_json_next(at)) {
        struct mocks *mocks = &trying->mocks[trying->mocks_count++];
        if (!pawl_json_key(at, exchange->arena, &mocks->reference)) continue;
        if (!read_mocks(exchange, at, mocks)) return false;
        count += mocks->count;
    }
    if (trying->mocks == NULL) {
        (void)pawl_error_set(&err, PAWL_INVALID, "taskRefToMockOutput: an object is wanted");
    } else if (count > PAWL_CONDUCTOR_MOCKS_MAX) {
        (void)pawl_error_set(&err, PAWL_TOO_LARGE, "taskRefToMockOutput: %zu outputs; at most %d",
                             count, PAWL_CONDUCTOR_MOCKS_MAX);
    }
    if (err.code == PAWL_OK) return true;
    pawl_exchange_answer_error(exchange, &err, "taskRefToMockOutput");
    return false;
}

/* ---- What it runs by ---- */

static enum pawl_code define(struct trying *trying, const struct pawl_definition_row *rows,
                             size_t count, struct pawl_error *err)
{
    struct pawl_arena *keep = trying->reading.exchange->arena;
    enum pawl_code code = PAWL_OK;
    for (size_t i = 0; i < count && code == PAWL_OK; i += PAWL_BATCH_MAX) {
        struct pawl_request request;
        size_t slice = count - i < PAWL_BATCH_MAX ? count - i : PAWL_BATCH_MAX;
        struct pawl_definition_new *items = pawl_arena_take_array(keep, slice, sizeof *items);
        if (items == NULL)
            return pawl_error_set(err, pawl_arena_code(keep), "no room for definitions");
        for (size_t k = 0; k < slice; k++) {
            const struct pawl_definition_row *row = &rows[i + k];
            items[k] = (struct pawl_definition_new){
                .kind = row->kind, .name = row->name, .version = row->version, .body = row->body};
        }
        pawl_request_init(&request, PAWL_COMMAND_DEFINE);
        request.command.ask.define.items = items;
        request.command.ask.define.count = slice;
        code = pawl_engine_ask(pawl_trial_pawl(trying->trial), &request, err);
    }
    return code;
}

/* The task definitions that are registered, and the workflow's, if it does not come along. */
static enum pawl_code define_all(struct trying *trying, struct pawl_reader *reader,
                                 struct pawl_error *err)
{
    struct pawl_arena *keep = trying->reading.exchange->arena;
    const struct pawl_definition_ask ask = {.kind = PAWL_DEFINITION_TASK, .with_body = true};
    struct pawl_definition_rows tasks = {0};
    struct pawl_definition_row row = {0};
    enum pawl_code code = pawl_read_definitions(reader, &ask, keep, &tasks, err);
    if (code == PAWL_OK) code = define(trying, tasks.rows, tasks.count, err);
    if (code != PAWL_OK || trying->start.definition != NULL) return code;
    int64_t version = trying->start.version == 0 ? PAWL_VERSION_LATEST : trying->start.version;
    code = pawl_read_definition(reader, PAWL_DEFINITION_WORKFLOW, trying->start.name, version, keep,
                                &row, err);
    return code == PAWL_OK ? define(trying, &row, 1, err) : code;
}

/* ---- Running ---- */

static const struct mock *next_mock(struct trying *trying, struct pawl_str reference)
{
    for (size_t i = 0; i < trying->mocks_count; i++) {
        struct mocks *mocks = &trying->mocks[i];
        if (!pawl_str_equal(mocks->reference, reference)) continue;
        return mocks->said < mocks->count ? &mocks->items[mocks->said++] : NULL;
    }
    return NULL;
}

static enum pawl_code say(struct trying *trying, struct pawl_str task_id, const struct mock *mock,
                          struct pawl_error *err)
{
    struct pawl_updated updated;
    const struct pawl_update update = {.status = (enum pawl_update_status)mock->status,
                                       .output = mock->output,
                                       .worker_id = PAWL_STR("test")};
    enum pawl_code code =
        pawl_trial_pass(trying->trial, mock->waited_ms + mock->took_ms, NULL, err);
    if (code != PAWL_OK) return code;
    return pawl_task_update(pawl_trial_pawl(trying->trial), task_id, &update, trying->scratch,
                            &updated, err); /* one that its time has ended meanwhile ignores it */
}

/* Whether a WAIT ends by itself. */
static enum pawl_code has_time(struct trying *trying, struct pawl_str task_id, bool *out,
                               struct pawl_error *err)
{
    struct pawl_record_view record;
    struct pawl_json *input = NULL;
    enum pawl_code code =
        pawl_workflow_task(pawl_trial_pawl(trying->trial), task_id, trying->scratch, &record, err);
    if (code != PAWL_OK) return code;
    bool is_read = pawl_json_parse(record.input, trying->scratch, &input, NULL) == PAWL_OK;
    *out = is_read && (pawl_json_member(input, PAWL_STR("duration")) != NULL ||
                       pawl_json_member(input, PAWL_STR("until")) != NULL);
    return PAWL_OK;
}

struct round {
    bool has_said;
    bool has_end;      /* of the workflow */
    bool waits_for_us; /* some task of which nothing is said */
    bool waits_for_time;
    int64_t first_open; /* seq; 0 = none */
};

static enum pawl_code look_at(struct trying *trying, const struct pawl_record_view *record,
                              struct round *round, struct pawl_error *err)
{
    bool has_timer = false;
    enum pawl_code code = PAWL_OK;
    if (pawl_record_status_is_terminal(record->row.status)) return PAWL_OK;
    if (round->first_open == 0) round->first_open = record->row.seq;
    if (pawl_str_equal(record->queue, PAWL_STR("JOIN"))) return PAWL_OK; /* it waits for others */
    const struct mock *mock = next_mock(trying, record->row.reference);
    if (mock != NULL) {
        round->has_said = true;
        return say(trying, record->task_id, mock, err);
    }
    if (pawl_str_equal(record->queue, PAWL_STR("WAIT")))
        code = has_time(trying, record->task_id, &has_timer, err);
    round->waits_for_time = round->waits_for_time || has_timer;
    round->waits_for_us = round->waits_for_us || !has_timer;
    return code;
}

/* One thing is said, of the first task that there is one for. */
static enum pawl_code go_round(struct trying *trying, struct round *round, struct pawl_error *err)
{
    struct pawl *pawl = pawl_trial_pawl(trying->trial);
    const struct pawl_workflow_ask ask = {0};
    struct pawl_workflow_view view;
    struct pawl_record_page page = {0};
    int64_t after = trying->seq;
    pawl_arena_reset(trying->scratch);
    enum pawl_code code = pawl_workflow_get(pawl, trying->id, &ask, trying->scratch, &view, err);
    if (code != PAWL_OK) return code;
    round->has_end = pawl_workflow_state_is_terminal(view.row.state);
    if (round->has_end) return PAWL_OK;
    do {
        code = pawl_workflow_tasks(pawl, trying->id, after, PAWL_BATCH_MAX, false, trying->scratch,
                                   &page, err);
        for (size_t i = 0; i < page.count && code == PAWL_OK && !round->has_said; i++) {
            after = page.items[i].row.seq;
            code = look_at(trying, &page.items[i], round, err);
        }
    } while (code == PAWL_OK && page.is_cut && !round->has_said);
    if (round->first_open > 0) trying->seq = round->first_open - 1;
    return code;
}

static enum pawl_code run(struct trying *trying, struct pawl_error *err)
{
    struct pawl_workflow_started started = {0};
    int64_t next_ms = 0;
    bool goes_on = true;
    enum pawl_code code = pawl_workflow_start(pawl_trial_pawl(trying->trial), &trying->start,
                                              trying->reading.exchange->arena, &started, err);
    trying->id = started.id;
    while (code == PAWL_OK && goes_on) {
        struct round round = {0};
        code = pawl_trial_pass(trying->trial, 0, &next_ms, err);
        if (code == PAWL_OK) code = go_round(trying, &round, err);
        goes_on = !round.has_end && round.has_said;
        bool waits = !round.has_end && !round.has_said && round.waits_for_time &&
                     !round.waits_for_us && next_ms != INT64_MAX;
        if (code != PAWL_OK || !waits) continue;
        code = pawl_trial_pass(trying->trial, next_ms, NULL, err);
        goes_on = true;
    }
    return code;
}

static enum pawl_code put_tried(struct trying *trying, struct pawl_json_writer *w,
                                struct pawl_error *err)
{
    struct pawl *pawl = pawl_trial_pawl(trying->trial);
    struct pawl_arena *keep = trying->reading.exchange->arena;
    struct pawl_workflow_ask ask = {0};
    struct pawl_workflow_view view;
    enum pawl_code code = pawl_workflow_get(pawl, trying->id, &ask, trying->scratch, &view, err);
    if (code != PAWL_OK) return code;
    bool is_many = view.row.next_seq > PAWL_CONDUCTOR_TASKS_MAX;
    ask.with_payloads = true;
    ask.tasks_max = is_many ? PAWL_CONDUCTOR_TASKS_MAX : (int32_t)view.row.next_seq;
    code = pawl_workflow_get(pawl, trying->id, &ask, keep, &view, err);
    if (code == PAWL_OK) pawl_shown_workflow_write(&view, keep, w);
    return code;
}

static enum pawl_code put(struct pawl_reading *reading, struct pawl_reader *reader,
                          struct pawl_json_writer *w, struct pawl_error *err)
{
    struct trying *trying = (struct trying *)reading;
    enum pawl_code code = pawl_arena_open(&trying->scratch, 0);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no room for a test");
    code = pawl_trial_open(&trying->trial, err);
    if (code == PAWL_OK) code = define_all(trying, reader, err);
    if (code == PAWL_OK) code = run(trying, err);
    if (code == PAWL_OK) code = put_tried(trying, w, err);
    pawl_trial_close(trying->trial);
    pawl_arena_close(trying->scratch);
    return code;
}

static void try_workflow(struct pawl_exchange *exchange, void *self)
{
    struct pawl_conductor *conductor = self;
    struct trying *trying = pawl_reading_begin(exchange, sizeof *trying, put);
    if (trying == NULL || !pawl_start_read(exchange, &trying->start)) return;
    const struct pawl_json *body = pawl_exchange_body_json(exchange, 4);
    if (body == NULL || !read_all_mocks(trying, body)) return;
    pawl_reading_add(&trying->reading, conductor->readers);
}

/* clang-format off */
static const struct pawl_route routes[] = {
    {PAWL_VERB_POST, "/api/workflow/test", PAWL_ROLE_WORKER, "Tries a workflow, with what its workers would say", try_workflow, 0},
};
/* clang-format on */

struct pawl_route_table pawl_conductor_trials(struct pawl_conductor *conductor)
{
    return (struct pawl_route_table){routes, PAWL_COUNT_OF(routes), conductor};
}
