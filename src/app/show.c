#include "app/show.h"

#include "app/cli.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/number.h"
#include "base/str.h"

#include <assert.h>
#include <inttypes.h>
#include <strings.h>

/* ---- Words ----------------------------------------------------------------------------------- */

static const char *const control_names[] = {
    [PAWL_CONTROL_PAUSE] = "pause",
    [PAWL_CONTROL_CANCEL] = "cancel",
};
static const char *const backoff_names[] = {
    [PAWL_BACKOFF_EXPONENTIAL] = "exponential",
    [PAWL_BACKOFF_LINEAR] = "linear",
    [PAWL_BACKOFF_FIXED] = "fixed",
};
static const char *const policy_names[] = {
    [PAWL_DEPENDENCY_BLOCK] = "block",
    [PAWL_DEPENDENCY_CANCEL] = "cancel",
    [PAWL_DEPENDENCY_IGNORE] = "ignore",
};
static const struct {
    const char *name;
    int32_t priority;
} priority_marks[] = {{"LOW", 10}, {"MEDIUM", 20}, {"HIGH", 30}, {"CRITICAL", 40}};

const char *pawl_control_name(enum pawl_control control)
{
    return (size_t)control < PAWL_COUNT_OF(control_names) ? control_names[control] : NULL;
}

const char *pawl_backoff_name(enum pawl_backoff backoff)
{
    return (size_t)backoff < PAWL_COUNT_OF(backoff_names) ? backoff_names[backoff] : NULL;
}

static bool is_word(struct pawl_str written, const char *word)
{
    struct pawl_str name = pawl_str_of(word);
    return name.len == written.len && strncasecmp(name.ptr, written.ptr, name.len) == 0;
}

static bool find_name(const char *const *names, size_t count, struct pawl_str name, size_t *at)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_word(name, names[i])) continue;
        *at = i;
        return true;
    }
    return false;
}

bool pawl_backoff_parse(struct pawl_str name, enum pawl_backoff *out)
{
    size_t at = 0;
    if (!find_name(backoff_names, PAWL_COUNT_OF(backoff_names), name, &at)) return false;
    *out = (enum pawl_backoff)at;
    return true;
}

bool pawl_dependency_policy_parse(struct pawl_str name, enum pawl_dependency_policy *out)
{
    size_t at = 0;
    if (!find_name(policy_names, PAWL_COUNT_OF(policy_names), name, &at)) return false;
    *out = (enum pawl_dependency_policy)at;
    return true;
}

bool pawl_state_parse(struct pawl_str name, enum pawl_task_state *out)
{
    for (int32_t i = PAWL_TASK_PENDING; i <= PAWL_TASK_DEAD_LETTER; i++) {
        if (!is_word(name, pawl_task_state_name((enum pawl_task_state)i))) continue;
        *out = (enum pawl_task_state)i;
        return true;
    }
    return false;
}

bool pawl_priority_parse(struct pawl_str text, int32_t *out)
{
    for (size_t i = 0; i < PAWL_COUNT_OF(priority_marks); i++) {
        if (!is_word(text, priority_marks[i].name)) continue;
        *out = priority_marks[i].priority;
        return true;
    }
    int64_t number = 0;
    if (!pawl_int64_parse(text, 0, PAWL_PRIORITY_MAX, &number)) return false;
    *out = number == 0 ? PAWL_PRIORITY_LOWEST : (int32_t)number;
    return true;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void pawl_show_text(struct pawl_json_writer *w, const char *key, struct pawl_str text)
{
    if (text.len == 0) {
        pawl_json_put_member_null(w, key);
    } else {
        pawl_json_put_member_text(w, key, text);
    }
}

void pawl_show_instant(struct pawl_json_writer *w, const char *key, int64_t at_ms)
{
    if (at_ms == 0) {
        pawl_json_put_member_null(w, key);
    } else {
        pawl_json_put_member_int64(w, key, at_ms);
    }
}

static void put_state(struct pawl_json_writer *w, enum pawl_task_state state)
{
    pawl_json_put_member_text(w, "state", pawl_str_of(pawl_task_state_name(state)));
}

static void put_payload(struct pawl_json_writer *w, const struct pawl_task *task)
{
    pawl_show_text(w, "goal", task->goal);
    pawl_json_put_member_raw(w, "input", task->input);
    pawl_json_put_member_raw(w, "metadata", task->metadata);
    pawl_json_put_member_raw(w, "result", task->result);
    pawl_json_put_key(w, "depends_on");
    pawl_json_begin_array(w);
    for (size_t i = 0; i < task->depends_on_count; i++) pawl_json_put_text(w, task->depends_on[i]);
    pawl_json_end_array(w);
}

void pawl_show_task_json(struct pawl_json_writer *w, const struct pawl_task *task,
                         bool with_payload)
{
    pawl_json_put_member_text(w, "id", task->id);
    pawl_json_put_member_text(w, "queue", task->queue);
    put_state(w, task->state);
    pawl_show_text(w, "title", task->title);
    pawl_json_put_member_int64(w, "priority", task->priority);
    pawl_json_put_member_double(w, "progress", task->progress);
    pawl_json_put_member_int64(w, "progress_epoch", task->progress_epoch);
    pawl_json_put_member_int64(w, "retries", task->retries);
    pawl_json_put_member_int64(w, "recoveries", task->recoveries);
    pawl_json_put_member_int64(w, "max_retries", task->max_retries);
    pawl_json_put_member_int64(w, "version", task->version);
    pawl_json_put_member_int64(w, "epoch", task->epoch);
    pawl_show_text(w, "owner", task->owner);
    pawl_show_instant(w, "lease_end_at_ms", task->lease_end_at_ms);
    pawl_json_put_member_int64(w, "lease_ms", task->lease_ms);
    pawl_show_instant(w, "next_retry_at_ms", task->next_retry_at_ms);
    pawl_json_put_member_int64(w, "timeout_ms", task->timeout_ms);
    pawl_show_instant(w, "created_at_ms", task->created_at_ms);
    pawl_show_instant(w, "updated_at_ms", task->updated_at_ms);
    pawl_show_instant(w, "started_at_ms", task->started_at_ms);
    pawl_show_instant(w, "finished_at_ms", task->finished_at_ms);
    pawl_show_text(w, "control", pawl_str_of(pawl_control_name(task->control)));
    pawl_show_text(w, "control_reason", task->control_reason);
    pawl_show_instant(w, "control_deadline_at_ms", task->control_deadline_at_ms);
    pawl_json_put_member_int64(w, "open_dependencies", task->open_dependencies);
    pawl_show_text(w, "blocked_by", task->blocked_by);
    pawl_show_text(w, "correlation_id", task->correlation_id);
    pawl_show_text(w, "key", task->key);
    pawl_show_text(w, "error", task->error);
    if (with_payload) put_payload(w, task);
}

void pawl_show_event_json(struct pawl_json_writer *w, const struct pawl_event *event)
{
    pawl_json_put_member_int64(w, "position", event->position);
    pawl_json_put_member_text(w, "id", event->id);
    pawl_json_put_member_text(w, "task_id", event->task_id);
    pawl_json_put_member_text(w, "queue", event->queue);
    pawl_json_put_member_int64(w, "sequence", event->sequence);
    pawl_json_put_member_int64(w, "at_ms", event->at_ms);
    pawl_json_put_member_text(w, "type", event->type);
    pawl_show_text(w, "action", event->action);
    put_state(w, event->state);
    pawl_json_put_member_int64(w, "epoch", event->epoch);
    pawl_json_put_member_int64(w, "version", event->version);
    pawl_json_put_member_double(w, "progress", event->progress);
    pawl_json_put_member_int64(w, "retries", event->retries);
    pawl_show_instant(w, "next_retry_at_ms", event->next_retry_at_ms);
    pawl_json_put_member_bool(w, "success", event->success);
    pawl_json_put_member_int64(w, "duration_ms", event->duration_ms);
    pawl_show_text(w, "actor", event->actor);
    pawl_show_text(w, "cause", event->cause);
    if (event->is_imported) pawl_json_put_member_bool(w, "imported", true);
    pawl_show_text(w, "detail", event->detail);
    pawl_show_text(w, "title", event->title);
    pawl_show_text(w, "correlation_id", event->correlation_id);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static struct pawl_str number_text(struct pawl_arena *arena, int64_t number)
{
    return pawl_arena_format(arena, "%" PRId64, number);
}

struct pawl_str pawl_show_state(struct pawl_arena *arena, const struct pawl_task *task)
{
    const char *name = pawl_task_state_name(task->state);
    const char *control = pawl_control_name(task->control);
    if (control == NULL) return pawl_str_of(name);
    return pawl_arena_format(arena, "%s, asked to %s", name, control);
}

struct pawl_str pawl_show_tries(struct pawl_arena *arena, const struct pawl_task *task,
                                const char *between)
{
    /* A try that failed is counted as a retry, whether another follows or not. */
    return pawl_arena_format(arena, "%" PRId32 "%s%" PRId32, task->retries, between,
                             task->max_retries + 1);
}

/* clang-format off */
const struct pawl_column pawl_task_columns[] = {
    {"ID", false, false}, {"STATE", false, false}, {"QUEUE", false, false}, {"PRIO", true, false},
    {"FAILED TRIES", true, false}, {"DONE", true, false}, {"CREATED", false, false},
    {"UPDATED", false, true}, {"EPOCH", true, true}, {"OWNER", false, true},
    {"LEASE END", false, true}, {"NOT BEFORE", false, true}, {"TITLE", false, false},
    {NULL, false, false},
};
const struct pawl_column pawl_dead_columns[] = {
    {"ID", false, false}, {"QUEUE", false, false}, {"FAILED TRIES", true, false}, {"DIED", false, false},
    {"TITLE", false, true}, {"ERROR", false, false}, {NULL, false, false},
};
const struct pawl_column pawl_event_columns[] = {
    {"POSITION", true, false}, {"AT", false, false}, {"TASK", false, false}, {"QUEUE", false, true},
    {"TYPE", false, false}, {"STATE", false, false}, {"EPOCH", true, true}, {"ACTOR", false, true},
    {"CAUSE", false, true}, {"DETAIL", false, false}, {NULL, false, false},
};
/* clang-format on */

static void put_task_cells(struct pawl_listing *listing, const struct pawl_task *task)
{
    const struct pawl_output *out = listing->out;
    struct pawl_arena *arena = listing->arena;
    const struct pawl_cell cells[] = {
        {task->id, NULL},
        {pawl_show_state(arena, task), pawl_state_color(out, task->state)},
        {task->queue, NULL},
        {number_text(arena, task->priority), NULL},
        {pawl_show_tries(arena, task, "/"), NULL},
        {pawl_arena_format(arena, "%.0f%%", task->progress), NULL},
        {pawl_time_text(out, arena, task->created_at_ms), NULL},
        {pawl_time_text(out, arena, task->updated_at_ms), NULL},
        {number_text(arena, task->epoch), NULL},
        {task->owner, NULL},
        {pawl_time_text(out, arena, task->lease_end_at_ms), NULL},
        {pawl_time_text(out, arena, task->next_retry_at_ms), NULL},
        {task->title, NULL},
    };
    static_assert(PAWL_COUNT_OF(cells) + 1 == PAWL_COUNT_OF(pawl_task_columns), "a cell a column");
    pawl_listing_cells(listing, cells);
}

static void put_dead_cells(struct pawl_listing *listing, const struct pawl_task *task)
{
    struct pawl_arena *arena = listing->arena;
    const struct pawl_cell cells[] = {
        {task->id, NULL},
        {task->queue, NULL},
        {pawl_show_tries(arena, task, "/"), NULL},
        {pawl_time_text(listing->out, arena, task->finished_at_ms), NULL},
        {task->title, NULL},
        {task->error, NULL},
    };
    static_assert(PAWL_COUNT_OF(cells) + 1 == PAWL_COUNT_OF(pawl_dead_columns), "a cell a column");
    pawl_listing_cells(listing, cells);
}

void pawl_show_task(struct pawl_listing *listing, const struct pawl_task *task)
{
    if (listing->out->form == PAWL_FORM_NAME) {
        pawl_listing_name(listing, task->id);
    } else if (!pawl_output_is_table(listing->out)) {
        struct pawl_json_writer w;
        pawl_json_writer_init(&w, listing->arena);
        pawl_json_begin_object(&w);
        pawl_show_task_json(&w, task, false);
        pawl_json_end_object(&w);
        pawl_listing_json(listing, pawl_json_writer_done(&w));
    } else if (listing->columns == pawl_dead_columns) {
        put_dead_cells(listing, task);
    } else {
        put_task_cells(listing, task);
    }
}

void pawl_show_changed(struct pawl_cli *cli, const struct pawl_task *task)
{
    const struct pawl_output *out = &cli->out;
    if (out->form == PAWL_FORM_NAME) {
        pawl_output_text(out, task->id);
    } else if (pawl_output_is_table(out)) {
        (void)fprintf(out->file, "%.*s %s%.*s%s\n",
                      PAWL_STR_ARG(pawl_text_clean(cli->keep, task->id)),
                      pawl_state_color(out, task->state),
                      PAWL_STR_ARG(pawl_show_state(cli->keep, task)), pawl_color_end(out));
    } else {
        struct pawl_json_writer w;
        pawl_json_writer_init(&w, cli->keep);
        pawl_json_begin_object(&w);
        pawl_show_task_json(&w, task, false);
        pawl_json_end_object(&w);
        pawl_output_json_line(out, pawl_json_writer_done(&w));
    }
}

void pawl_show_event(struct pawl_listing *listing, const struct pawl_event *event)
{
    const struct pawl_output *out = listing->out;
    struct pawl_arena *arena = listing->arena;
    if (out->form == PAWL_FORM_NAME) {
        pawl_listing_name(listing, event->id);
        return;
    }
    if (!pawl_output_is_table(out)) {
        struct pawl_json_writer w;
        pawl_json_writer_init(&w, arena);
        pawl_json_begin_object(&w);
        pawl_show_event_json(&w, event);
        pawl_json_end_object(&w);
        pawl_listing_json(listing, pawl_json_writer_done(&w));
        return;
    }
    const struct pawl_cell cells[] = {
        {number_text(arena, event->position), NULL},
        {pawl_time_text(out, arena, event->at_ms), NULL},
        {event->task_id, NULL},
        {event->queue, NULL},
        {event->type, NULL},
        {pawl_str_of(pawl_task_state_name(event->state)), pawl_state_color(out, event->state)},
        {number_text(arena, event->epoch), NULL},
        {event->actor, NULL},
        {event->cause, NULL},
        {event->detail, NULL},
    };
    static_assert(PAWL_COUNT_OF(cells) + 1 == PAWL_COUNT_OF(pawl_event_columns), "a cell a column");
    pawl_listing_cells(listing, cells);
}
