/* What had happened to a task. The older store kept it twice: as rows of an outbox, numbered, and
 * as a history with a sentence each. Here one event serves both, so a record of the history joins
 * the outbox row that was written with it (the same kind, within a second) and lends it its
 * sentence. What finds none becomes an event of its own, numbered after the others: stores before
 * the outbox have nothing else. */
#include "import/record.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/limits.h"

#include <inttypes.h>

enum { TOGETHER_MS = 1000 };

static const struct pawl_str none = {0};

static const struct {
    const char *name;
    enum pawl_event_type type;
} outbox_types[] = {
    {"task_created", PAWL_EVENT_CREATED},
    {"task_queued", PAWL_EVENT_QUEUED},
    {"task_started", PAWL_EVENT_STARTED},
    {"task_progress", PAWL_EVENT_PROGRESS},
    {"task_paused", PAWL_EVENT_PAUSED},
    {"task_completed", PAWL_EVENT_COMPLETED},
    {"task_failed", PAWL_EVENT_FAILED},
    {"task_cancelled", PAWL_EVENT_CANCELLED},
    {"task_retry_scheduled", PAWL_EVENT_RETRY_SCHEDULED},
    {"task_dead_lettered", PAWL_EVENT_DEAD_LETTERED},
    {"task_recovery_pending", PAWL_EVENT_FENCED},
};

/* An action, what it was called in the outbox, and what it is here; state is that after it. */
static const struct action {
    const char *name;
    bool is_success; /* remote_reconciled is two */
    enum pawl_event_type outbox;
    enum pawl_event_type type; /* NONE: makes no event here */
    enum pawl_task_state state;
} actions[] = {
    {"paused", true, PAWL_EVENT_PAUSED, PAWL_EVENT_PAUSED, PAWL_TASK_PAUSED},
    {"resumed", true, PAWL_EVENT_QUEUED, PAWL_EVENT_RESUMED, PAWL_TASK_QUEUED},
    {"cancelled", true, PAWL_EVENT_CANCELLED, PAWL_EVENT_CANCELLED, PAWL_TASK_CANCELLED},
    {"completed", true, PAWL_EVENT_COMPLETED, PAWL_EVENT_COMPLETED, PAWL_TASK_COMPLETED},
    {"retry_scheduled", false, PAWL_EVENT_RETRY_SCHEDULED, PAWL_EVENT_RETRY_SCHEDULED,
     PAWL_TASK_QUEUED},
    {"dead_lettered", false, PAWL_EVENT_DEAD_LETTERED, PAWL_EVENT_DEAD_LETTERED,
     PAWL_TASK_DEAD_LETTER},
    {"recovery_fenced", true, PAWL_EVENT_FENCED, PAWL_EVENT_FENCED, PAWL_TASK_RECOVERY_PENDING},
    {"recovery_requeued", true, PAWL_EVENT_QUEUED, PAWL_EVENT_RECOVERED, PAWL_TASK_QUEUED},
    {"remote_reconciled", true, PAWL_EVENT_COMPLETED, PAWL_EVENT_RESOLVED_COMPLETED,
     PAWL_TASK_COMPLETED},
    {"remote_reconciled", false, PAWL_EVENT_FAILED, PAWL_EVENT_FAILED, PAWL_TASK_FAILED},
    {"progress_update", true, PAWL_EVENT_PROGRESS, PAWL_EVENT_NONE, PAWL_TASK_RUNNING},
    {"recovery_pending", false, PAWL_EVENT_NONE, PAWL_EVENT_NONE, PAWL_TASK_RECOVERY_PENDING},
};

static enum pawl_event_type type_of(struct pawl_str name)
{
    for (size_t i = 0; i < PAWL_COUNT_OF(outbox_types); i++) {
        if (pawl_str_equal(name, pawl_str_of(outbox_types[i].name))) return outbox_types[i].type;
    }
    return PAWL_EVENT_NONE;
}

static const struct action *action_of(struct pawl_str name, bool is_success)
{
    const struct action *found = NULL;
    for (size_t i = 0; i < PAWL_COUNT_OF(actions); i++) {
        if (!pawl_str_equal(name, pawl_str_of(actions[i].name))) continue;
        if (found == NULL || actions[i].is_success == is_success) found = &actions[i];
    }
    return found;
}

/* ---- The outbox ------------------------------------------------------------------------------ */

/* What a member says, and 0 for what it does not. */
static int64_t count_of(const struct pawl_json *node, int64_t max)
{
    int64_t number = 0;
    return pawl_json_int64(node, &number) && number > 0 && number <= max ? number : 0;
}

static double real_of(const struct pawl_json *node)
{
    double real = 0.0;
    return pawl_json_double(node, &real) ? real : 0.0;
}

static void take_payload(struct pawl_decoding *decoding, const struct pawl_old_outbox *row,
                         struct pawl_import_event *out)
{
    struct pawl_json *root;
    struct pawl_error err;
    struct pawl_str text;
    if (pawl_json_parse_top(row->payload, 1, decoding->keep, &root, &err) != PAWL_OK) {
        pawl_decoding_refuse(decoding, "outbox %" PRId64 ": payload: %s", row->sequence, err.text);
        return;
    }
    out->epoch = count_of(pawl_json_member(root, PAWL_STR("lease_epoch")), PAWL_NUMBER_IMPORTED_MAX);
    out->retries = (int32_t)count_of(pawl_json_member(root, PAWL_STR("retries")), PAWL_COUNT_MAX);
    double progress = real_of(pawl_json_member(root, PAWL_STR("progress")));
    out->progress = progress < 0.0 ? 0.0 : progress > 100.0 ? 100.0 : progress;
    if (pawl_json_text(pawl_json_member(root, PAWL_STR("next_retry_at")), decoding->keep, &text)) {
        out->next_retry_at_ms =
            pawl_decoding_instant(decoding, "outbox: next_retry_at", text, "none");
    }
    if (pawl_json_text(pawl_json_member(root, PAWL_STR("status")), decoding->keep, &text) &&
        !pawl_old_state_find(text, &out->state)) {
        pawl_decoding_refuse(decoding, "outbox %" PRId64 ": status: %.*s is none", row->sequence,
                             PAWL_STR_ARG(text));
    }
}

static size_t take_outbox(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                          struct pawl_import_event *events, int64_t *sequence)
{
    size_t count = 0;
    if (record->outbox_left_count > 0) {
        pawl_decoding_remark(decoding, "outbox: the oldest %" PRId64 " rows left out; %d are kept",
                             record->outbox_left_count, PAWL_EVENTS_KEPT);
    }
    for (size_t i = 0; i < record->outbox_count; i++) {
        const struct pawl_old_outbox *row = &record->outbox[i];
        if (row->sequence <= *sequence || row->sequence > PAWL_NUMBER_IMPORTED_MAX) {
            pawl_decoding_refuse(decoding, "outbox: sequence %" PRId64 " is out of order",
                                 row->sequence);
            return count;
        }
        *sequence = row->sequence;
        enum pawl_event_type type = type_of(row->type);
        if (type == PAWL_EVENT_NONE) {
            pawl_decoding_remark(decoding,
                                 "outbox %" PRId64 ": \"%.*s\" is no event here: left out",
                                 row->sequence, PAWL_STR_ARG(row->type));
            continue;
        }
        struct pawl_import_event *event = &events[count++];
        *event = (struct pawl_import_event){.type = type, .sequence = row->sequence};
        event->at_ms = pawl_decoding_instant(decoding, "outbox: created_at", row->created_at,
                                             "the time of import");
        take_payload(decoding, row, event);
    }
    return count;
}

/* ---- The history ----------------------------------------------------------------------------- */

static bool is_history_key(struct pawl_str key)
{
    static const char *const keys[] = {"timestamp", "action", "detail", "duration_ms", "success"};
    for (size_t i = 0; i < PAWL_COUNT_OF(keys); i++) {
        if (pawl_str_equal(key, pawl_str_of(keys[i]))) return true;
    }
    return false;
}

/* A record as the event it would be alone. NULL for what makes none; *outbox is what it joins. */
static const struct action *take_one(struct pawl_decoding *decoding, const struct pawl_json *node,
                                     size_t number, struct pawl_import_event *out)
{
    struct pawl_str at_text = none;
    struct pawl_str name = none;
    struct pawl_str detail = none;
    for (const struct pawl_json *member = pawl_json_first(node); member != NULL;
         member = pawl_json_next(member)) {
        if (!is_history_key(member->key))
            pawl_import_ignore_key(decoding->report, "history", member->key);
    }
    bool is_whole =
        pawl_json_text(pawl_json_member(node, PAWL_STR("timestamp")), decoding->keep, &at_text) &&
        pawl_json_text(pawl_json_member(node, PAWL_STR("action")), decoding->keep, &name) &&
        pawl_json_text(pawl_json_member(node, PAWL_STR("detail")), decoding->keep, &detail);
    if (!is_whole) {
        pawl_decoding_refuse(
            decoding, "history: number %zu has not the texts timestamp, action and detail", number);
        return NULL;
    }
    const struct pawl_json *success = pawl_json_member(node, PAWL_STR("success"));
    bool is_success = success == NULL || success->kind != PAWL_JSON_FALSE;
    double duration_ms = real_of(pawl_json_member(node, PAWL_STR("duration_ms")));
    const struct action *action = action_of(name, is_success);
    if (action == NULL) {
        pawl_decoding_remark(decoding, "history: \"%.*s\" is no action here: left out",
                             PAWL_STR_ARG(name));
        return NULL;
    }
    *out = (struct pawl_import_event){.type = action->type,
                                      .state = action->state,
                                      .at_ms = pawl_decoding_instant(decoding, "history: timestamp",
                                                                     at_text, "the time of import"),
                                      .note = pawl_utf8_cut_points(detail, PAWL_EVENT_NOTE_POINTS)};
    if (duration_ms >= 1.0 && duration_ms < (double)PAWL_INSTANT_MS_MAX)
        out->duration_ms = (int64_t)duration_ms;
    return action;
}

static bool join(struct pawl_import_event *events, size_t count, const struct action *action,
                 const struct pawl_import_event *one)
{
    for (size_t i = 0; i < count; i++) {
        struct pawl_import_event *event = &events[i];
        int64_t apart_ms = event->at_ms - one->at_ms;
        bool is_same = event->type == action->outbox && event->note.len == 0 &&
                       apart_ms <= TOGETHER_MS && apart_ms >= -TOGETHER_MS;
        if (!is_same) continue;
        if (action->type != PAWL_EVENT_NONE) event->type = action->type;
        event->note = one->note;
        event->duration_ms = one->duration_ms;
        return true;
    }
    return false;
}

/* Those that found no outbox row; returns how many. */
static size_t take_history(struct pawl_decoding *decoding, const struct pawl_json *root,
                           struct pawl_import_event *events, size_t count,
                           struct pawl_import_event *alone)
{
    size_t alone_count = 0;
    size_t number = 0;
    size_t dropped = 0;
    for (const struct pawl_json *at = pawl_json_first(root); at != NULL; at = pawl_json_next(at)) {
        struct pawl_import_event one;
        number++;
        if (at->kind != PAWL_JSON_OBJECT) {
            pawl_decoding_remark(decoding, "history: number %zu is no object: left out", number);
            continue;
        }
        const struct action *action = take_one(decoding, at, number, &one);
        if (action == NULL || join(events, count, action, &one)) continue;
        if (action->type == PAWL_EVENT_NONE) {
            dropped++;
        } else {
            alone[alone_count++] = one;
        }
    }
    if (dropped > 0) {
        pawl_decoding_remark(
            decoding,
            "history: %zu notes of progress or of waiting left out: they are no events here",
            dropped);
    }
    return alone_count;
}

void pawl_old_history_decode(struct pawl_decoding *decoding, const struct pawl_old_record *record,
                             struct pawl_str history, struct pawl_import_task *out)
{
    struct pawl_json *root = NULL;
    struct pawl_error err;
    if (history.len > 0 &&
        pawl_json_parse_top(history, 2, decoding->keep, &root, &err) != PAWL_OK) {
        pawl_decoding_refuse(decoding, "history: %s", err.text);
        return;
    }
    size_t history_count = root == NULL ? 0 : root->child_count;
    size_t room = PAWL_EVENTS_KEPT + history_count;
    struct pawl_import_event *events = pawl_arena_take_array(decoding->keep, room, sizeof *events);
    struct pawl_import_event *alone =
        pawl_arena_take_array(decoding->keep, history_count + 1, sizeof *alone);
    if (events == NULL || alone == NULL) return; /* the arena remembers */
    size_t count = take_outbox(decoding, record, events, &out->sequence);
    size_t alone_count = take_history(decoding, root, events, count, alone);
    size_t left = alone_count > PAWL_EVENTS_KEPT ? alone_count - PAWL_EVENTS_KEPT : 0;
    if (left > 0) {
        pawl_decoding_remark(decoding, "history: the oldest %zu left out; %d are kept", left,
                             PAWL_EVENTS_KEPT);
    }
    for (size_t i = left; i < alone_count; i++) {
        events[count] = alone[i];
        events[count++].sequence = ++out->sequence;
    }
    out->events = events;
    out->event_count = count;
}
