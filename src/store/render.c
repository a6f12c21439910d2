/* The detail of an event is one line for people. It is composed when it is read, from the columns
 * of the row and its note: a reason, an excerpt of an error, or the id of another task.
 * What has become of the task since then does not change it, but for what the row does not hold and
 * the caller looks up. */
#include "store/render.h"

#include "base/arena.h"
#include "base/instant.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/task/metadata.h"

#include <inttypes.h>

enum {
    DETAIL_POINTS_MAX = 1024, /* the contract's */
};

/* " by NAME", or what stands for a name that was not given. */
static struct pawl_str by(const struct pawl_event_row *row, const char *otherwise,
                          struct pawl_arena *keep)
{
    if (row->actor.len == 0) return pawl_str_of(otherwise);
    return pawl_arena_format(keep, " by %.*s", PAWL_STR_ARG(row->actor));
}

/* ": NOTE", or nothing. */
static struct pawl_str because(struct pawl_str note, struct pawl_arena *keep)
{
    if (note.len == 0) return (struct pawl_str){0};
    return pawl_arena_format(keep, ": %.*s", PAWL_STR_ARG(note));
}

/* The reason alone if there is one, else who did it. */
static struct pawl_str reason_or(const struct pawl_event_row *row, const char *verb,
                                 const char *otherwise, struct pawl_arena *keep)
{
    if (row->note.len != 0) return row->note;
    return pawl_arena_format(keep, "%s%.*s", verb, PAWL_STR_ARG(by(row, otherwise, keep)));
}

static struct pawl_str not_before(const struct pawl_event_row *row, struct pawl_arena *keep)
{
    if (row->next_retry_at_ms <= row->at_ms) return (struct pawl_str){0};
    char text[PAWL_INSTANT_TEXT_BYTES_MAX + 1];
    pawl_instant_format(row->next_retry_at_ms, text);
    return pawl_arena_format(keep, ", not before %s", text);
}

/* "in 4s" or "at once". */
static struct pawl_str delay(const struct pawl_event_row *row, struct pawl_arena *keep)
{
    if (row->next_retry_at_ms <= row->at_ms) return PAWL_STR("at once");
    char text[PAWL_DURATION_TEXT_BYTES_MAX + 1];
    pawl_duration_format(row->next_retry_at_ms - row->at_ms, text);
    return pawl_arena_format(keep, "in %s", text);
}

static struct pawl_str retry_detail(const struct pawl_event_row *row,
                                    const struct pawl_event_about *about, struct pawl_arena *keep)
{
    struct pawl_str of = {0};
    if (about->max_retries >= 0) of = pawl_arena_format(keep, " of %" PRId32, about->max_retries);
    return pawl_arena_format(keep, "retry %" PRId32 "%.*s %.*s%.*s", row->retries, PAWL_STR_ARG(of),
                             PAWL_STR_ARG(delay(row, keep)),
                             PAWL_STR_ARG(because(row->note, keep)));
}

/* To a tenth, and without printf's %f, whose point is the locale's. */
static struct pawl_str progress_detail(const struct pawl_event_row *row, struct pawl_arena *keep)
{
    int32_t tenths = (int32_t)(row->progress * 10.0 + 0.5);
    struct pawl_str rest = {0};
    if (tenths % 10 != 0) rest = pawl_arena_format(keep, ".%" PRId32, tenths % 10);
    return pawl_arena_format(keep, "%" PRId32 "%.*s %%%.*s", tenths / 10, PAWL_STR_ARG(rest),
                             PAWL_STR_ARG(because(row->note, keep)));
}

static struct pawl_str resumed_detail(const struct pawl_event_row *row,
                                      const struct pawl_event_about *about, struct pawl_arena *keep)
{
    struct pawl_str from = {0};
    if (about->checkpoint_id.len != 0) {
        from =
            pawl_arena_format(keep, ", latest checkpoint %.*s", PAWL_STR_ARG(about->checkpoint_id));
    }
    return pawl_arena_format(keep, "%s%.*s%.*s%.*s",
                             row->cause == PAWL_CAUSE_REDRIVEN ? "redriven" : "resumed",
                             PAWL_STR_ARG(by(row, "", keep)), PAWL_STR_ARG(from),
                             PAWL_STR_ARG(because(row->note, keep)));
}

static struct pawl_str cancelled_detail(const struct pawl_event_row *row, struct pawl_arena *keep)
{
    if (row->cause == PAWL_CAUSE_DEPENDENCY) {
        return pawl_arena_format(keep,
                                 "cancelled: it depends on task %.*s, which can no longer complete",
                                 PAWL_STR_ARG(row->note));
    }
    if (row->cause == PAWL_CAUSE_FORCED) {
        return reason_or(row, "cancelled by force", "", keep);
    }
    return reason_or(row, "cancelled", " as asked", keep);
}

static struct pawl_str resolved_detail(const struct pawl_event_row *row, struct pawl_arena *keep)
{
    return pawl_arena_format(keep, "resolved as %s%.*s%.*s", pawl_task_state_name(row->state),
                             PAWL_STR_ARG(by(row, "", keep)),
                             PAWL_STR_ARG(because(row->note, keep)));
}

static struct pawl_str detail(const struct pawl_event_row *row,
                              const struct pawl_event_about *about, struct pawl_arena *keep)
{
    struct pawl_str actor = row->actor.len != 0 ? row->actor : PAWL_STR("an operator");
    /* of another store's history: its detail is kept whole */
    if (row->cause == PAWL_CAUSE_IMPORTED && row->note.len != 0) return row->note;
    switch (row->type) {
    case PAWL_EVENT_NONE:
        break;
    case PAWL_EVENT_CREATED:
        return pawl_arena_format(keep, "created%.*s", PAWL_STR_ARG(by(row, "", keep)));
    case PAWL_EVENT_IMPORTED:
        return pawl_arena_format(keep, "imported%.*s", PAWL_STR_ARG(by(row, "", keep)));
    case PAWL_EVENT_QUEUED:
        return pawl_arena_format(keep, "queued%.*s%.*s%.*s", PAWL_STR_ARG(by(row, "", keep)),
                                 PAWL_STR_ARG(not_before(row, keep)),
                                 PAWL_STR_ARG(because(row->note, keep)));
    case PAWL_EVENT_STARTED:
        return pawl_arena_format(keep, "attempt %" PRId32 " started%.*s", row->retries + 1,
                                 PAWL_STR_ARG(by(row, "", keep)));
    case PAWL_EVENT_PROGRESS:
        return progress_detail(row, keep);
    case PAWL_EVENT_PAUSED:
        return reason_or(row, "paused", " as asked", keep);
    case PAWL_EVENT_RESUMED:
        return resumed_detail(row, about, keep);
    case PAWL_EVENT_COMPLETED:
        return pawl_arena_format(
            keep, "completed%.*s",
            PAWL_STR_ARG(because(row->note.len != 0 ? row->note : about->result, keep)));
    case PAWL_EVENT_CANCELLED:
        return cancelled_detail(row, keep);
    case PAWL_EVENT_RETRY_SCHEDULED:
        return retry_detail(row, about, keep);
    case PAWL_EVENT_DEAD_LETTERED:
        return pawl_arena_format(keep, "attempt %" PRId32 " was the last, a person must act%.*s",
                                 row->retries, PAWL_STR_ARG(because(row->note, keep)));
    case PAWL_EVENT_ATTEMPT_FAILED:
        return pawl_arena_format(keep, "attempt %" PRId32 " failed%.*s%.*s", row->retries + 1,
                                 PAWL_STR_ARG(by(row, "", keep)),
                                 PAWL_STR_ARG(because(row->note, keep)));
    case PAWL_EVENT_RECOVERY_NOTED:
        return reason_or(row, "waits for proof that its work has stopped", "", keep);
    case PAWL_EVENT_FENCED:
        if (row->cause == PAWL_CAUSE_TIMED_OUT) {
            return pawl_arena_format(keep, "the attempt%.*s has run out of time", PAWL_STR_ARG(by(row, "", keep)));
        }
        return pawl_arena_format(keep, "the lease%s%.*s ended without an outcome",
                                 row->actor.len != 0 ? " of " : "", PAWL_STR_ARG(row->actor));
    case PAWL_EVENT_RECOVERED:
        return pawl_arena_format(keep, "queued again%.*s: worker %.*s vanished",
                                 PAWL_STR_ARG(not_before(row, keep)), PAWL_STR_ARG(row->note));
    case PAWL_EVENT_YIELDED:
    case PAWL_EVENT_RELEASED:
        return pawl_arena_format(keep, "given back%.*s%.*s%.*s", PAWL_STR_ARG(by(row, "", keep)),
                                 PAWL_STR_ARG(not_before(row, keep)),
                                 PAWL_STR_ARG(because(row->note, keep)));
    case PAWL_EVENT_CONTROL_REQUESTED:
        return pawl_arena_format(keep, "%.*s asked to %s%.*s", PAWL_STR_ARG(actor),
                                 row->cause == PAWL_CAUSE_CANCEL ? "cancel" : "pause",
                                 PAWL_STR_ARG(because(row->note, keep)));
    case PAWL_EVENT_UNANSWERED:
        return pawl_arena_format(keep, "its holder has not answered in time, asked to pause%.*s",
                                 PAWL_STR_ARG(because(row->note, keep)));
    case PAWL_EVENT_BLOCKED:
        return pawl_arena_format(keep,
                                 "blocked by task %.*s, which can no longer complete by itself",
                                 PAWL_STR_ARG(row->note));
    case PAWL_EVENT_FAILED:
    case PAWL_EVENT_RESOLVED_QUEUED:
    case PAWL_EVENT_RESOLVED_PAUSED:
    case PAWL_EVENT_RESOLVED_COMPLETED:
    case PAWL_EVENT_RESOLVED_CANCELLED:
        return resolved_detail(row, keep);
    }
    return (struct pawl_str){0};
}

/* One line, whatever stood in the note: control characters become blanks. */
static struct pawl_str one_line(struct pawl_str text, struct pawl_arena *keep)
{
    text = pawl_utf8_cut_points(text, DETAIL_POINTS_MAX);
    char *line = pawl_arena_take(keep, text.len);
    if (line == NULL) return (struct pawl_str){0};
    for (size_t i = 0; i < text.len; i++) {
        bool is_control = (unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7F;
        line[i] = is_control ? ' ' : text.ptr[i];
    }
    return (struct pawl_str){line, text.len};
}

void pawl_event_render_about(const struct pawl_event_row *row, const struct pawl_event_about *about,
                             struct pawl_arena *keep, struct pawl_event *out)
{
    *out = (struct pawl_event){
        .position = row->position,
        .id = pawl_event_id(about->store_id, row->position, row->at_ms, keep),
        .task_id = about->task_id,
        .queue = about->queue,
        .sequence = row->sequence,
        .at_ms = row->at_ms,
        .type = pawl_event_type_text(row->type),
        .action = pawl_event_action_text(row->type),
        .state = row->state,
        .epoch = row->epoch,
        .version = row->version,
        .progress = row->progress,
        .retries = row->retries,
        .next_retry_at_ms = row->next_retry_at_ms,
        .success = pawl_event_is_success(row->type),
        .duration_ms = row->duration_ms,
        .actor = row->actor,
        .cause = pawl_event_cause_text(row->cause),
        .is_imported = row->cause == PAWL_CAUSE_IMPORTED,
        .detail = one_line(detail(row, about, keep), keep),
        .title = about->title,
        .correlation_id = about->correlation_id,
    };
}

void pawl_event_render(const struct pawl_event_row *row, struct pawl_str store_id,
                       struct pawl_str task_id, struct pawl_str queue, struct pawl_str title,
                       struct pawl_str correlation_id, struct pawl_arena *keep,
                       struct pawl_event *out)
{
    struct pawl_event_row kept = *row;
    kept.actor = pawl_arena_copy(keep, row->actor);
    struct pawl_event_about about = {
        .store_id = store_id,
        .task_id = pawl_arena_copy(keep, task_id),
        .queue = pawl_arena_copy(keep, queue),
        .title = pawl_arena_copy(keep, title),
        .correlation_id = pawl_correlation_id(task_id, correlation_id, keep),
        .max_retries = -1,
    };
    pawl_event_render_about(&kept, &about, keep, out);
}
