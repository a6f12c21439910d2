/* WAIT: for a time, until an instant, or until somebody says how it ended. */
#include "core/workflow/decision.h"

#include "base/instant.h"
#include "base/str.h"
#include "core/task/calendar.h"
#include "core/workflow/wait.h"

static const struct pawl_str none = {0};

struct asked {
    int64_t after_ms;  /* 0 = not at all */
    int64_t run_at_ms; /* calendar time; 0 = not at all */
    const char *wrong; /* NULL = nothing */
};

static bool text_of(const struct pawl_json *object, const char *key, struct pawl_arena *arena,
                    struct pawl_str *out)
{
    const struct pawl_json *value = pawl_json_member(object, pawl_str_of(key));
    *out = none;
    if (value == NULL || value->kind == PAWL_JSON_NULL) return false;
    struct pawl_str text = pawl_value_text(value, arena);
    *out = pawl_str_trim(text);
    return out->len > 0;
}

/* "2026-11-30 17:45", with UTC, GMT or an offset behind it if wanted; or an instant of ISO 8601, or
 * milliseconds. */
static bool parse_until(struct pawl_str text, struct pawl_arena *arena, int64_t *at_ms)
{
    enum { MINUTE_LEN = 16 };
    if (pawl_instant_parse(text, at_ms)) return true;
    if (text.len <= MINUTE_LEN + 1 || text.ptr[MINUTE_LEN] != ' ') return false;
    struct pawl_str zone = {text.ptr + MINUTE_LEN + 1, text.len - MINUTE_LEN - 1};
    if (pawl_str_starts(zone, PAWL_STR("GMT")) || pawl_str_starts(zone, PAWL_STR("UTC"))) {
        zone = (struct pawl_str){zone.ptr + 3, zone.len - 3};
    }
    if (pawl_str_equal(zone, PAWL_STR("Z"))) zone = none;
    struct pawl_str written =
        pawl_arena_format(arena, "%.*s%.*s", MINUTE_LEN, text.ptr, PAWL_STR_ARG(zone));
    return pawl_instant_parse(written, at_ms);
}

static struct asked read(struct pawl_decision *d, struct pawl_str input)
{
    struct pawl_arena *arena = d->step->set.arena;
    struct asked asked = {0};
    struct pawl_json *object;
    struct pawl_str duration;
    struct pawl_str until;
    if (pawl_json_parse(input, arena, &object, NULL) != PAWL_OK) return asked;
    bool has_duration = text_of(object, "duration", arena, &duration);
    bool has_until = text_of(object, "until", arena, &until);
    if (has_duration && has_until) {
        asked.wrong = "has both duration and until";
    } else if (has_duration && !pawl_wait_duration_parse(duration, &asked.after_ms)) {
        asked.wrong = "duration is none";
    } else if (has_until && !parse_until(until, arena, &asked.run_at_ms)) {
        asked.wrong = "until is no time";
    }
    if (has_duration && asked.after_ms == 0) asked.after_ms = 1; /* at once, by the same way */
    return asked;
}

static void map(struct pawl_decision *d, int32_t node)
{
    struct pawl_str id = pawl_record_mint(d->step);
    struct pawl_str input;
    if (!pawl_record_input(d, node, NULL, id, &input)) return;
    struct asked asked = read(d, input);
    if (asked.wrong != NULL) {
        struct pawl_str why = pawl_arena_format(d->step->set.arena, "a WAIT: %s", asked.wrong);
        struct pawl_entry *record =
            pawl_record_pass(d, node, input,
                             &(struct pawl_record_end){
                                 .status = PAWL_RECORD_FAILED_WITH_TERMINAL_ERROR, .reason = why});
        if (record == NULL) return;
        pawl_todo_push(d, PAWL_TODO_ENDED, ((const struct pawl_record_row *)record->row)->task,
                       PAWL_FLOW_SUCCESSOR);
        return;
    }
    struct pawl_entry *record = pawl_record_make(
        d, &(struct pawl_record_new){.node = node,
                                     .definition = d->definition->nodes[node].task_definition,
                                     .id = id,
                                     .type = PAWL_STR("WAIT"),
                                     .input = input,
                                     .status = PAWL_RECORD_IN_PROGRESS});
    if (record != NULL) {
        pawl_todo_push(d, PAWL_TODO_RUN, ((const struct pawl_record_row *)record->row)->task, 0);
    }
}

/* Called when it was made, and when its time has come. A retry begins its time anew. */
static void run(struct pawl_decision *d, struct pawl_entry *entry)
{
    const struct pawl_record_row *record = entry->row;
    struct pawl_entry *task_entry = pawl_record_task(d->step, record);
    if (task_entry == NULL) return;
    const struct pawl_task_row *before = task_entry->row;
    if (before->ready_at_ms == 0) {
        struct asked asked = read(d, pawl_payload_look(d->step, before, PAWL_PAYLOAD_INPUT));
        if (d->step->set.is_short || (asked.after_ms == 0 && asked.run_at_ms == 0)) return;
        struct pawl_task_row *task = pawl_set_change(&d->step->set, task_entry);
        task->run_at_ms = asked.run_at_ms;
        task->ready_at_ms = asked.run_at_ms != 0 ? pawl_calendar_at_ms(d->step, asked.run_at_ms)
                                                 : d->step->now_ms + asked.after_ms;
        if (task->ready_at_ms > d->step->now_ms) {
            pawl_record_arm(d, record, task);
            return;
        }
    }
    if (before->ready_at_ms > d->step->now_ms) return;
    pawl_record_end(d, entry, &(struct pawl_record_end){.status = PAWL_RECORD_COMPLETED});
    pawl_todo_push(d, PAWL_TODO_ENDED, record->task, PAWL_FLOW_SUCCESSOR);
}

const struct pawl_node_rules pawl_node_wait = {.map = map, .run = run};
