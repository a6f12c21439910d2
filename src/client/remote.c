/* The calls of pawl.h, asked of a server: each writes a request as docs/http-api.md has it, and
 * reads the answer into what the library would have filled. */
#include "client/calls.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "client/client.h"
#include "wire/shown.h"
#include "wire/words.h"

#include <inttypes.h>

/* What the library's functions are called with stands for the client here. */
static struct pawl_client *client_of(struct pawl *pawl)
{
    return (struct pawl_client *)(void *)pawl;
}

struct pawl *pawl_client_handle(struct pawl_client *client)
{
    return (struct pawl *)(void *)client;
}

/* The functions that are given no arena have room of their own while they ask. */
enum { ROOM_BYTES_MAX = 4 * PAWL_CLIENT_ANSWER_BYTES_MAX };

static enum pawl_code ask_written(struct pawl *pawl, const char *verb, struct pawl_str path,
                                  struct pawl_json_writer *w, struct pawl_json **answer,
                                  struct pawl_error *err)
{
    struct pawl_arena *room = w->arena;
    struct pawl_str body = pawl_json_writer_done(w);
    enum pawl_code code = pawl_arena_code(room);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no room for the request");
    return pawl_client_ask(client_of(pawl), verb, path, body, room, answer, err);
}

static struct pawl_str task_path(struct pawl_arena *arena, struct pawl_str id)
{
    return pawl_arena_format(arena, "/v1/tasks/%.*s", PAWL_STR_ARG(pawl_client_escape(arena, id)));
}

/* An answer of ours that has not what it must have: it says nothing of what was done. */
static enum pawl_code refuse_answer(const char *key, enum pawl_code code, struct pawl_error *err)
{
    return pawl_error_set(err, code, "%s: is not in the server's answer", key);
}

/* null is an empty text. */
static void read_text(const struct pawl_json *answer, const char *key, struct pawl_arena *keep,
                      struct pawl_str *out)
{
    *out = (struct pawl_str){0};
    if (!pawl_json_text(pawl_json_member(answer, pawl_str_of(key)), keep, out)) out->len = 0;
}

static bool is_true(const struct pawl_json *answer, const char *key)
{
    bool value = false;
    return pawl_json_bool(pawl_json_member(answer, pawl_str_of(key)), &value) && value;
}

static void put_text(struct pawl_json_writer *w, const char *key, struct pawl_str text)
{
    if (text.len > 0) pawl_json_put_member_text(w, key, text);
}

static void put_raw(struct pawl_json_writer *w, const char *key, struct pawl_str json)
{
    if (json.len > 0) pawl_json_put_member_raw(w, key, json);
}

/* 0 is not given, and what stands for none is a plain 0. */
static void put_number(struct pawl_json_writer *w, const char *key, int64_t number, int64_t none)
{
    if (number != 0) pawl_json_put_member_int64(w, key, number == none ? 0 : number);
}

static void put_flag(struct pawl_json_writer *w, const char *key, bool flag)
{
    if (flag) pawl_json_put_member_bool(w, key, true);
}

/* ---- Rows --------------------------------------------------------------------------------------
 */

/* Defines NAMEs_of: the members of an answer's array, read one by one. */
#define ROWS(name, type, key)                                                                     \
    static enum pawl_code name##s_of(const struct pawl_json *answer, struct pawl_arena *keep,     \
                                     const type **rows, size_t *count, struct pawl_error *err)    \
    {                                                                                             \
        const struct pawl_json *all = pawl_json_member(answer, PAWL_STR(key));                    \
        if (all == NULL || all->kind != PAWL_JSON_ARRAY) return refuse_answer(key, PAWL_IO, err); \
        type *into = pawl_arena_take_array(keep, all->child_count, sizeof *into);                 \
        if (into == NULL) {                                                                       \
            return pawl_error_set(err, pawl_arena_code(keep), key " takes too much room");        \
        }                                                                                         \
        *rows = into;                                                                             \
        *count = 0;                                                                               \
        for (const struct pawl_json *at = pawl_json_first(all); at != NULL;                       \
             at = pawl_json_next(at)) {                                                           \
            enum pawl_code code = pawl_shown_##name(at, keep, &into[(*count)++], err);            \
            if (code != PAWL_OK) return code;                                                     \
        }                                                                                         \
        return PAWL_OK;                                                                           \
    }
ROWS(task, struct pawl_task, "tasks")
ROWS(queue, struct pawl_queue, "queues")
ROWS(event, struct pawl_event, "events")
ROWS(log_line, struct pawl_log_line, "lines")
ROWS(checkpoint, struct pawl_checkpoint, "checkpoints")
ROWS(late_result, struct pawl_late_result, "late_results")

/* ---- Looking ------------------------------------------------------------------------------------
 */

static enum pawl_code get_task(struct pawl *pawl, struct pawl_str id, struct pawl_arena *keep,
                               struct pawl_json **answer, struct pawl_error *err)
{
    if (id.len == 0) return pawl_error_set(err, PAWL_NOT_FOUND, "there is no task without an id");
    return pawl_client_ask(client_of(pawl), "GET", task_path(keep, id), (struct pawl_str){0}, keep,
                           answer, err);
}

static enum pawl_code task_get(struct pawl *pawl, struct pawl_str task_id, bool with_payload,
                               struct pawl_arena *keep, struct pawl_task *out,
                               struct pawl_error *err)
{
    struct pawl_json *answer = NULL;
    (void)with_payload; /* it always comes */
    enum pawl_code code = get_task(pawl, task_id, keep, &answer, err);
    return code == PAWL_OK ? pawl_shown_task(answer, keep, out, err) : code;
}

static enum pawl_code task_why(struct pawl *pawl, struct pawl_str task_id, struct pawl_arena *keep,
                               struct pawl_str *out, struct pawl_error *err)
{
    struct pawl_json *answer = NULL;
    enum pawl_code code = get_task(pawl, task_id, keep, &answer, err);
    if (code == PAWL_OK) read_text(answer, "why", keep, out);
    return code;
}

static struct pawl_str list_path(const struct pawl_list *ask, struct pawl_arena *keep)
{
    struct pawl_str path =
        pawl_arena_format(keep, "/v1/tasks?limit=%" PRId32, ask->limit == 0 ? 100 : ask->limit);
    for (int32_t i = PAWL_TASK_PENDING; i <= PAWL_TASK_DEAD_LETTER; i++) {
        if ((ask->states & UINT32_C(1) << i) == 0) continue;
        path = pawl_arena_format(keep, "%.*s&state=%s", PAWL_STR_ARG(path),
                                 pawl_task_state_name((enum pawl_task_state)i));
    }
    if (ask->queue.len > 0) {
        path = pawl_arena_format(keep, "%.*s&queue=%.*s", PAWL_STR_ARG(path),
                                 PAWL_STR_ARG(pawl_client_escape(keep, ask->queue)));
    }
    if (ask->cursor.len > 0) {
        path = pawl_arena_format(keep, "%.*s&cursor=%.*s", PAWL_STR_ARG(path),
                                 PAWL_STR_ARG(pawl_client_escape(keep, ask->cursor)));
    }
    return pawl_arena_format(
        keep, "%.*s%s%s%s", PAWL_STR_ARG(path), ask->is_ready ? "&ready=true" : "",
        ask->is_blocked ? "&blocked=true" : "", ask->with_payload ? "&payload=true" : "");
}

static enum pawl_code task_list(struct pawl *pawl, const struct pawl_list *ask,
                                struct pawl_arena *keep, struct pawl_page *out,
                                struct pawl_error *err)
{
    struct pawl_json *answer = NULL;
    enum pawl_code code = pawl_client_ask(client_of(pawl), "GET", list_path(ask, keep),
                                          (struct pawl_str){0}, keep, &answer, err);
    if (code != PAWL_OK) return code;
    *out = (struct pawl_page){0};
    read_text(answer, "cursor", keep, &out->cursor);
    return tasks_of(answer, keep, &out->tasks, &out->count, err);
}

static enum pawl_code queue_list(struct pawl *pawl, struct pawl_arena *keep,
                                 struct pawl_queues *out, struct pawl_error *err)
{
    struct pawl_json *answer = NULL;
    enum pawl_code code = pawl_client_ask(client_of(pawl), "GET", PAWL_STR("/v1/queues"),
                                          (struct pawl_str){0}, keep, &answer, err);
    return code == PAWL_OK ? queues_of(answer, keep, &out->queues, &out->count, err) : code;
}

/* What a task has left, below its path. */
static enum pawl_code get_part(struct pawl *pawl, struct pawl_str id, struct pawl_str part,
                               struct pawl_arena *keep, struct pawl_json **answer,
                               struct pawl_error *err)
{
    if (id.len == 0) return pawl_error_set(err, PAWL_NOT_FOUND, "there is no task without an id");
    struct pawl_str path =
        pawl_arena_format(keep, "%.*s/%.*s", PAWL_STR_ARG(task_path(keep, id)), PAWL_STR_ARG(part));
    return pawl_client_ask(client_of(pawl), "GET", path, (struct pawl_str){0}, keep, answer, err);
}

static struct pawl_str page_of(struct pawl_arena *keep, const char *part, int64_t after,
                               int32_t limit)
{
    return pawl_arena_format(keep, "%s?after=%" PRId64 "&limit=%" PRId32, part, after,
                             limit == 0 ? 100 : limit);
}

static enum pawl_code task_history(struct pawl *pawl, struct pawl_str task_id,
                                   int64_t after_sequence, int32_t limit, struct pawl_arena *keep,
                                   struct pawl_events *out, struct pawl_error *err)
{
    struct pawl_json *answer = NULL;
    struct pawl_str part = page_of(keep, "events", after_sequence, limit);
    enum pawl_code code = get_part(pawl, task_id, part, keep, &answer, err);
    *out = (struct pawl_events){0};
    return code == PAWL_OK ? events_of(answer, keep, &out->events, &out->count, err) : code;
}

static enum pawl_code task_logs(struct pawl *pawl, struct pawl_str task_id, int64_t after_number,
                                int32_t limit, struct pawl_arena *keep, struct pawl_log_lines *out,
                                struct pawl_error *err)
{
    struct pawl_json *answer = NULL;
    struct pawl_str part = page_of(keep, "logs", after_number, limit);
    enum pawl_code code = get_part(pawl, task_id, part, keep, &answer, err);
    return code == PAWL_OK ? log_lines_of(answer, keep, &out->lines, &out->count, err) : code;
}

static enum pawl_code task_checkpoints(struct pawl *pawl, struct pawl_str task_id,
                                       struct pawl_arena *keep, struct pawl_checkpoints *out,
                                       struct pawl_error *err)
{
    struct pawl_json *answer = NULL;
    enum pawl_code code = get_part(pawl, task_id, PAWL_STR("checkpoints"), keep, &answer, err);
    return code == PAWL_OK ? checkpoints_of(answer, keep, &out->checkpoints, &out->count, err)
                           : code;
}

static enum pawl_code task_late_results(struct pawl *pawl, struct pawl_str task_id,
                                        struct pawl_arena *keep, struct pawl_late_results *out,
                                        struct pawl_error *err)
{
    struct pawl_json *answer = NULL;
    enum pawl_code code = get_part(pawl, task_id, PAWL_STR("late-results"), keep, &answer, err);
    return code == PAWL_OK ? late_results_of(answer, keep, &out->results, &out->count, err) : code;
}

static enum pawl_code read_events(const struct pawl_json *answer, struct pawl_arena *keep,
                                  struct pawl_events *out, struct pawl_error *err)
{
    *out = (struct pawl_events){0};
    enum pawl_code code = events_of(answer, keep, &out->events, &out->count, err);
    bool is_read = pawl_json_int64(pawl_json_member(answer, PAWL_STR("position")), &out->position);
    /* null where nothing is new to a consumer */
    return code == PAWL_OK && !is_read && out->count > 0 ? refuse_answer("position", PAWL_IO, err)
                                                         : code;
}

static enum pawl_code events_read(struct pawl *pawl, int64_t after_position, int32_t limit,
                                  struct pawl_arena *keep, struct pawl_events *out,
                                  struct pawl_error *err)
{
    struct pawl_json *answer = NULL;
    enum pawl_code code =
        pawl_client_ask(client_of(pawl), "GET", page_of(keep, "/v1/events", after_position, limit),
                        (struct pawl_str){0}, keep, &answer, err);
    return code == PAWL_OK ? read_events(answer, keep, out, err) : code;
}

/* ---- Adding -------------------------------------------------------------------------------------
 */

static void put_task(struct pawl_json_writer *w, const struct pawl_task_new *task)
{
    put_text(w, "id", task->id);
    put_text(w, "queue", task->queue);
    put_raw(w, "input", task->input);
    put_text(w, "goal", task->goal);
    put_text(w, "title", task->title);
    put_raw(w, "metadata", task->metadata);
    put_text(w, "correlation_id", task->correlation_id);
    put_text(w, "key", task->key);
    put_number(w, "priority", task->priority, PAWL_PRIORITY_LOWEST);
    put_flag(w, "hold", task->hold);
    put_number(w, "max_retries", task->retry.max_retries, PAWL_RETRIES_NONE);
    if (task->retry.backoff != PAWL_BACKOFF_EXPONENTIAL) {
        put_text(w, "backoff", pawl_str_of(pawl_backoff_name(task->retry.backoff)));
    }
    put_number(w, "retry_delay_ms", task->retry.delay_ms, PAWL_DELAY_NONE);
    put_number(w, "retry_delay_ms_max", task->retry.delay_ms_max, 0);
    put_number(w, "retry_jitter_ms", task->retry.jitter_ms, 0);
    put_number(w, "run_at_ms", task->run_at_ms, 0);
    put_number(w, "delay_ms", task->delay_ms, 0);
    put_number(w, "timeout_ms", task->timeout_ms, 0);
    put_text(w, "actor", task->actor);
    put_flag(w, "allow_missing_dependencies", task->allow_missing_dependencies);
    if (task->depends_on_count == 0) return;
    put_text(w, "dependency_policy",
             pawl_str_of(pawl_dependency_policy_name(task->dependency_policy)));
    pawl_json_put_key(w, "depends_on");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < task->depends_on_count; i++) pawl_json_put_text(w, task->depends_on[i]);
    pawl_json_end_array(w);
}

static enum pawl_code read_added(const struct pawl_json *row, struct pawl_arena *keep,
                                 struct pawl_added *out, struct pawl_error *err)
{
    read_text(row, "id", keep, &out->id);
    out->existed = is_true(row, "existed");
    out->continuing = is_true(row, "continuing");
    return out->id.len > 0 ? PAWL_OK : refuse_answer("id", PAWL_UNKNOWN_OUTCOME, err);
}

static enum pawl_code task_add(struct pawl *pawl, const struct pawl_task_new *ask,
                               struct pawl_arena *keep, struct pawl_added *out,
                               struct pawl_error *err)
{
    struct pawl_json_writer w;
    struct pawl_json *answer = NULL;
    pawl_json_writer_init(&w, keep);
    pawl_json_begin_object(&w);
    put_task(&w, ask);
    pawl_json_end_object(&w);
    enum pawl_code code = ask_written(pawl, "POST", PAWL_STR("/v1/tasks"), &w, &answer, err);
    return code == PAWL_OK ? read_added(answer, keep, out, err) : code;
}

static enum pawl_code task_add_batch(struct pawl *pawl, const struct pawl_task_new *asks,
                                     size_t count, struct pawl_arena *keep, struct pawl_added *out,
                                     struct pawl_error *err)
{
    struct pawl_json_writer w;
    struct pawl_json *answer = NULL;
    pawl_json_writer_init(&w, keep);
    pawl_json_begin_object(&w);
    pawl_json_put_key(&w, "tasks");
    pawl_json_begin_array(&w);
    for (size_t i = 0; i < count; i++) {
        pawl_json_begin_object(&w);
        put_task(&w, &asks[i]);
        pawl_json_end_object(&w);
    }
    pawl_json_end_array(&w);
    pawl_json_end_object(&w);
    enum pawl_code code = ask_written(pawl, "POST", PAWL_STR("/v1/tasks/batch"), &w, &answer, err);
    if (code != PAWL_OK) return code;
    const struct pawl_json *rows = pawl_json_member(answer, PAWL_STR("tasks"));
    if (rows == NULL || rows->child_count != count) {
        return refuse_answer("tasks", PAWL_UNKNOWN_OUTCOME, err);
    }
    const struct pawl_json *row = pawl_json_first(rows);
    for (size_t i = 0; i < count && code == PAWL_OK; i++, row = pawl_json_next(row)) {
        code = read_added(row, keep, &out[i], err);
        out[i].continuing = is_true(answer, "continuing");
    }
    return code;
}

/* ---- Changes of one task ------------------------------------------------------------------------
 */

/* A change being written: open it, put what is its own, hand it over. */
struct changing {
    struct pawl_arena *room;
    struct pawl_json_writer w;
};

static enum pawl_code open_change(struct changing *changing, struct pawl_error *err)
{
    enum pawl_code code = pawl_arena_open(&changing->room, ROOM_BYTES_MAX);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no memory for the request");
    pawl_json_writer_init(&changing->w, changing->room);
    pawl_json_begin_object(&changing->w);
    return PAWL_OK;
}

static void put_change(struct pawl_json_writer *w, const struct pawl_change *change)
{
    if (change == NULL) return;
    if (change->fence != NULL) {
        pawl_json_put_member_text(w, "owner", change->fence->owner);
        pawl_json_put_member_int64(w, "epoch", change->fence->epoch);
    }
    put_number(w, "expected_version", change->expected_version, 0);
    put_text(w, "actor", change->actor);
    put_text(w, "reason", change->reason);
}

static enum pawl_code hand_over(struct pawl *pawl, struct changing *changing, struct pawl_str id,
                                const char *word, const struct pawl_change *change,
                                struct pawl_error *err)
{
    struct pawl_json *answer = NULL;
    put_change(&changing->w, change);
    pawl_json_end_object(&changing->w);
    struct pawl_str path = pawl_arena_format(changing->room, "%.*s/%s",
                                             PAWL_STR_ARG(task_path(changing->room, id)), word);
    enum pawl_code code =
        id.len == 0 ? pawl_error_set(err, PAWL_NOT_FOUND, "there is no task without an id")
                    : ask_written(pawl, "POST", path, &changing->w, &answer, err);
    if (code == PAWL_OK && change != NULL && change->continuing != NULL) {
        *change->continuing = is_true(answer, "continuing");
    }
    pawl_arena_close(changing->room);
    return code;
}

static enum pawl_code task_queue(struct pawl *pawl, struct pawl_str task_id,
                                 const struct pawl_change *change, struct pawl_error *err)
{
    struct changing changing;
    enum pawl_code code = open_change(&changing, err);
    return code == PAWL_OK ? hand_over(pawl, &changing, task_id, "queue", change, err) : code;
}

static enum pawl_code task_pause(struct pawl *pawl, struct pawl_str task_id,
                                 const struct pawl_change *change, struct pawl_error *err)
{
    struct changing changing;
    enum pawl_code code = open_change(&changing, err);
    return code == PAWL_OK ? hand_over(pawl, &changing, task_id, "pause", change, err) : code;
}

static enum pawl_code task_resume(struct pawl *pawl, struct pawl_str task_id,
                                  const struct pawl_resume *resume,
                                  const struct pawl_change *change, struct pawl_error *err)
{
    struct changing changing;
    enum pawl_code code = open_change(&changing, err);
    if (code != PAWL_OK) return code;
    if (resume != NULL) {
        put_raw(&changing.w, "input", resume->input);
        put_flag(&changing.w, "keep_retries", resume->keep_retries);
    }
    return hand_over(pawl, &changing, task_id, "resume", change, err);
}

static enum pawl_code task_cancel(struct pawl *pawl, struct pawl_str task_id, bool is_forced,
                                  const struct pawl_change *change, struct pawl_error *err)
{
    struct changing changing;
    enum pawl_code code = open_change(&changing, err);
    if (code != PAWL_OK) return code;
    put_flag(&changing.w, "forced", is_forced);
    return hand_over(pawl, &changing, task_id, "cancel", change, err);
}

static enum pawl_code task_complete(struct pawl *pawl, struct pawl_str task_id,
                                    struct pawl_str result, const struct pawl_change *change,
                                    struct pawl_error *err)
{
    struct changing changing;
    enum pawl_code code = open_change(&changing, err);
    if (code != PAWL_OK) return code;
    put_raw(&changing.w, "result", result);
    return hand_over(pawl, &changing, task_id, "complete", change, err);
}

static enum pawl_code task_fail(struct pawl *pawl, struct pawl_str task_id,
                                const struct pawl_failure *failure,
                                const struct pawl_change *change, struct pawl_error *err)
{
    struct changing changing;
    enum pawl_code code = open_change(&changing, err);
    if (code != PAWL_OK) return code;
    put_text(&changing.w, "error", failure->error);
    put_flag(&changing.w, "final", failure->is_final);
    put_number(&changing.w, "retry_after_ms", failure->retry_after_ms, PAWL_DELAY_NONE);
    return hand_over(pawl, &changing, task_id, "fail", change, err);
}

static enum pawl_code task_resolve(struct pawl *pawl, struct pawl_str task_id,
                                   enum pawl_task_state outcome, struct pawl_str text,
                                   const struct pawl_change *change, struct pawl_error *err)
{
    struct changing changing;
    enum pawl_code code = open_change(&changing, err);
    if (code != PAWL_OK) return code;
    put_text(&changing.w, "outcome", pawl_str_of(pawl_task_state_name(outcome)));
    if (outcome == PAWL_TASK_COMPLETED) {
        put_raw(&changing.w, "result", text);
    } else {
        put_text(&changing.w, "text", text);
    }
    put_flag(&changing.w, "forced", change != NULL && change->is_forced);
    return hand_over(pawl, &changing, task_id, "resolve", change, err);
}

/* ---- Changes of others --------------------------------------------------------------------------
 */

static void put_redrive(struct pawl_json_writer *w, const struct pawl_redrive *ask)
{
    put_text(w, "queue", ask->queue);
    put_text(w, "error_has", ask->error_has);
    put_number(w, "dead_before_at_ms", ask->dead_before_at_ms, 0);
    put_number(w, "max", ask->max, 0);
    /* the library takes no filter for all of them */
    put_flag(w, "all",
             ask->queue.len == 0 && ask->error_has.len == 0 && ask->dead_before_at_ms == 0 &&
                 ask->max == 0);
    put_raw(w, "input", ask->resume.input);
    put_flag(w, "keep_retries", ask->resume.keep_retries);
    put_text(w, "actor", ask->actor);
    put_text(w, "reason", ask->reason);
}

static enum pawl_code dead_redrive(struct pawl *pawl, const struct pawl_redrive *ask,
                                   int64_t *count, struct pawl_error *err)
{
    struct changing changing;
    struct pawl_json *answer = NULL;
    enum pawl_code code = open_change(&changing, err);
    if (code != PAWL_OK) return code;
    put_redrive(&changing.w, ask);
    pawl_json_end_object(&changing.w);
    code = ask_written(pawl, "POST", PAWL_STR("/v1/dead/redrive"), &changing.w, &answer, err);
    if (code == PAWL_OK && !pawl_json_int64(pawl_json_member(answer, PAWL_STR("count")), count)) {
        code = refuse_answer("count", PAWL_UNKNOWN_OUTCOME, err);
    }
    if (code == PAWL_OK && ask->continuing != NULL) {
        *ask->continuing = is_true(answer, "continuing");
    }
    pawl_arena_close(changing.room);
    return code;
}

static void put_queue(struct pawl_json_writer *w, const struct pawl_queue_set *ask)
{
    if (ask->pause != 0) pawl_json_put_member_bool(w, "is_paused", ask->pause == 1);
    if (ask->set_lease) pawl_json_put_member_int64(w, "lease_ms", ask->lease_ms);
    if (!ask->set_retry) return;
    pawl_json_put_key(w, "retry");
    pawl_json_begin_object(w);
    put_number(w, "max_retries", ask->retry.max_retries, PAWL_RETRIES_NONE);
    put_text(w, "backoff", pawl_str_of(pawl_backoff_name(ask->retry.backoff)));
    put_number(w, "delay_ms", ask->retry.delay_ms, PAWL_DELAY_NONE);
    put_number(w, "delay_ms_max", ask->retry.delay_ms_max, 0);
    put_number(w, "jitter_ms", ask->retry.jitter_ms, 0);
    pawl_json_end_object(w);
}

static enum pawl_code queue_set(struct pawl *pawl, const struct pawl_queue_set *ask,
                                struct pawl_error *err)
{
    struct changing changing;
    struct pawl_json *answer = NULL;
    enum pawl_code code = open_change(&changing, err);
    if (code != PAWL_OK) return code;
    put_queue(&changing.w, ask);
    pawl_json_end_object(&changing.w);
    struct pawl_str path =
        pawl_arena_format(changing.room, "/v1/queues/%.*s",
                          PAWL_STR_ARG(pawl_client_escape(changing.room, ask->name)));
    code = ask->name.len == 0 ? pawl_error_set(err, PAWL_INVALID, "a queue has a name")
                              : ask_written(pawl, "PUT", path, &changing.w, &answer, err);
    pawl_arena_close(changing.room);
    return code;
}

/* ---- Consumers ----------------------------------------------------------------------------------
 */

static struct pawl_str consumer_path(struct pawl_arena *arena, struct pawl_str name,
                                     const char *word)
{
    return pawl_arena_format(arena, "/v1/consumers/%.*s/%s",
                             PAWL_STR_ARG(pawl_client_escape(arena, name)), word);
}

static enum pawl_code consumer_read(struct pawl *pawl, struct pawl_str consumer, int32_t limit,
                                    int64_t wait_ms, struct pawl_arena *keep,
                                    struct pawl_events *out, struct pawl_error *err)
{
    struct pawl_json_writer w;
    struct pawl_json *answer = NULL;
    pawl_json_writer_init(&w, keep);
    pawl_json_begin_object(&w);
    put_number(&w, "limit", limit, 0);
    put_number(&w, "wait_ms", wait_ms, 0);
    pawl_json_end_object(&w);
    enum pawl_code code =
        ask_written(pawl, "POST", consumer_path(keep, consumer, "read"), &w, &answer, err);
    return code == PAWL_OK ? read_events(answer, keep, out, err) : code;
}

static enum pawl_code consumer_acknowledge(struct pawl *pawl, struct pawl_str consumer,
                                           struct pawl_str event_id, bool *is_first,
                                           struct pawl_error *err)
{
    struct changing changing;
    struct pawl_json *answer = NULL;
    enum pawl_code code = open_change(&changing, err);
    if (code != PAWL_OK) return code;
    pawl_json_put_member_text(&changing.w, "event_id", event_id);
    pawl_json_end_object(&changing.w);
    code = ask_written(pawl, "POST", consumer_path(changing.room, consumer, "acknowledge"),
                       &changing.w, &answer, err);
    *is_first = code == PAWL_OK && is_true(answer, "is_first");
    pawl_arena_close(changing.room);
    return code;
}

static enum pawl_code consumer_acknowledge_through(struct pawl *pawl, struct pawl_str consumer,
                                                   int64_t position, struct pawl_error *err)
{
    struct changing changing;
    struct pawl_json *answer = NULL;
    enum pawl_code code = open_change(&changing, err);
    if (code != PAWL_OK) return code;
    pawl_json_put_member_int64(&changing.w, "position", position);
    pawl_json_end_object(&changing.w);
    code = ask_written(pawl, "POST", consumer_path(changing.room, consumer, "acknowledge"),
                       &changing.w, &answer, err);
    pawl_arena_close(changing.room);
    return code;
}

const struct pawl_calls pawl_calls_remote = {
#define X(name) .name = name,
    PAWL_CALLS(X)
#undef X
};
