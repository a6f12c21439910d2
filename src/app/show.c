#include "app/show.h"

#include "app/cli.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/number.h"
#include "base/str.h"

#include <assert.h>
#include <inttypes.h>
#include <strings.h>

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
    return pawl_arena_format(arena, "%" PRId32 "%s%" PRId64, task->retries, between,
                             (int64_t)task->max_retries + 1);
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
