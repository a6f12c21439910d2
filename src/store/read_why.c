/* Why a task is not being worked on, in one sentence: the first reason that holds, in the order in
 * which a claim would meet them. */
#include "store/reader.h"

#include "base/array.h"
#include "base/error.h"
#include "base/instant.h"
#include "base/str.h"
#include "store/clock.h"
#include "store/rows.h"

#include <inttypes.h>

struct instant_text {
    char text[PAWL_INSTANT_TEXT_BYTES_MAX + 1];
};

static struct instant_text instant(int64_t at_ms)
{
    struct instant_text out;
    pawl_instant_format(at_ms, out.text);
    return out;
}

/* ---- Now ------------------------------------------------------------------------------------- */

struct clock {
    const struct pawl_env *env;
    int64_t now_ms;
};

/* CLOCK_GET: now_ms, boot_id, clock_offset_ms */
static enum pawl_code on_clock(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct clock *clock = self;
    const struct pawl_env *env = clock->env;
    bool is_same_boot = pawl_str_equal(pawl_db_text(row, 1), env->boot_id);
    const struct pawl_store_clock kept = {is_same_boot, pawl_db_int64(row, 2), pawl_db_int64(row, 0)};
    clock->now_ms = pawl_store_now_ms(env, &kept);
    return PAWL_OK;
}

enum pawl_code pawl_reader_now(struct pawl_reader *reader, int64_t *now_ms, struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    struct clock clock = {.env = reader->env};
    if (reader->db->driver->clock != NULL) {
        code = reader->db->driver->clock(reader->db, &clock.now_ms, err);
    } else if (clock.env != NULL) {
        code = pawl_reader_ask(reader, PAWL_SQL_CLOCK_GET, NULL, 0, on_clock, &clock, err);
    }
    if (code == PAWL_OK) *now_ms = clock.now_ms;
    return code;
}

/* Whether an instant has passed; who cannot tell the time takes it that it has not. */
static enum pawl_code has_passed(struct pawl_reader *reader, int64_t at_ms, bool *out,
                                 struct pawl_error *err)
{
    int64_t now_ms = 0;
    enum pawl_code code = pawl_reader_now(reader, &now_ms, err);
    if (code == PAWL_OK) *out = at_ms != 0 && at_ms <= now_ms;
    return code;
}

/* What has come due waits for somebody who does it. */
#define WHEN_TIMERS_RUN "a worker, or another program that runs timers, opens the store"

/* ---- Reasons that need no more than the row, and the time ------------------------------------ */

static struct pawl_str why_finished(const struct pawl_task_row *task, struct pawl_arena *keep)
{
    struct instant_text at = instant(task->finished_at_ms);
    if (task->state == PAWL_TASK_COMPLETED) {
        return pawl_arena_format(keep, "it completed at %s", at.text);
    }
    if (task->state == PAWL_TASK_CANCELLED) {
        return pawl_arena_format(keep, "it was cancelled at %s", at.text);
    }
    if (task->state == PAWL_TASK_FAILED) {
        return pawl_arena_format(keep, "it was resolved as FAILED at %s; a person may resume it",
                                 at.text);
    }
    return pawl_arena_format(keep,
                             "it is a dead letter since %s, after attempt %" PRId32
                             " failed; a person has to resume it",
                             at.text, task->retries);
}

/* What ends the hold of a worker, with or without it. */
struct hold_end {
    int64_t at_ms;
    const char *passed; /* before the instant */
    const char *then;   /* when somebody looks */
};

/* The one that comes first; of several at the same instant the one that a step looks at first. A
 * request to pause is never forced, so its deadline ends nothing. */
static struct hold_end first_end(const struct pawl_task_row *task)
{
    bool is_cancelled = task->control == PAWL_CONTROL_CANCEL;
    const struct hold_end ends[] = {
        {is_cancelled ? task->control_deadline_at_ms : 0, "the deadline for that was",
         "it is cancelled"},
        {task->attempt_end_at_ms, "the attempt timed out at", "the attempt is failed"},
        {task->lease_end_at_ms, "its lease ended at", "it is taken back"},
    };
    struct hold_end first = {0};
    for (size_t i = 0; i < PAWL_COUNT_OF(ends); i++) {
        if (ends[i].at_ms == 0) continue;
        if (first.at_ms == 0 || ends[i].at_ms < first.at_ms) first = ends[i];
    }
    return first;
}

static enum pawl_code why_running(struct pawl_reader *reader, const struct pawl_task_about *about,
                                  struct pawl_arena *keep, struct pawl_str *out,
                                  struct pawl_error *err)
{
    static const char *const requests[] = {
        [PAWL_CONTROL_NONE] = "",
        [PAWL_CONTROL_PAUSE] = ", and has been asked to pause",
        [PAWL_CONTROL_CANCEL] = ", and has been asked to cancel",
    };
    const struct pawl_task_row *task = &about->row;
    struct hold_end first = first_end(task);
    bool is_over = false;
    enum pawl_code code = has_passed(reader, first.at_ms, &is_over, err);
    if (code != PAWL_OK) return code;
    if (is_over) {
        *out = pawl_arena_format(keep,
                                 "worker %.*s was at attempt %" PRId32 " of %" PRId64
                                 "%s; %s %s; %s when " WHEN_TIMERS_RUN,
                                 PAWL_STR_ARG(about->owner), task->retries + 1,
                                 (int64_t)task->retry.max_retries + 1, requests[task->control], first.passed,
                                 instant(first.at_ms).text, first.then);
        return PAWL_OK;
    }
    bool is_overdue = false; /* a pause: a cancel would have ended the hold */
    code = has_passed(reader, task->control_deadline_at_ms, &is_overdue, err);
    if (code != PAWL_OK) return code;
    struct pawl_str request = pawl_str_of(requests[task->control]);
    if (is_overdue) {
        request = pawl_arena_format(keep, ", and was asked to pause until %s, which it has not answered",
                                    instant(task->control_deadline_at_ms).text);
    }
    struct instant_text end = instant(task->lease_end_at_ms);
    *out = pawl_arena_format(
        keep, "worker %.*s is at attempt %" PRId32 " of %" PRId64 ", under a lease until %s%.*s",
        PAWL_STR_ARG(about->owner), task->retries + 1, (int64_t)task->retry.max_retries + 1, end.text,
        PAWL_STR_ARG(request));
    return PAWL_OK;
}

static enum pawl_code why_deferred(struct pawl_reader *reader, const struct pawl_task_row *task,
                                   struct pawl_arena *keep, struct pawl_str *out,
                                   struct pawl_error *err)
{
    bool is_over = false;
    enum pawl_code code = has_passed(reader, task->ready_at_ms, &is_over, err);
    if (code != PAWL_OK) return code;
    struct instant_text until = instant(task->ready_at_ms);
    const char *passed =
        is_over ? ", which has passed; it becomes ready when " WHEN_TIMERS_RUN : "";
    *out = task->retries == 0
               ? pawl_arena_format(keep, "it is deferred until %s%s", until.text, passed)
               : pawl_arena_format(keep, "attempt %" PRId32 " failed; it is deferred until %s%s",
                                   task->retries, until.text, passed);
    return PAWL_OK;
}

static struct pawl_str why_blocked(const struct pawl_task_about *about, struct pawl_arena *keep)
{
    return pawl_arena_format(
        keep, "it depends on task %.*s, which is %s and can no longer complete by itself",
        PAWL_STR_ARG(about->blocked_by), pawl_task_state_name(about->blocker_state));
}

/* ---- Open dependencies ----------------------------------------------------------------------- */

struct names {
    struct pawl_arena *keep;
    struct pawl_str text;
    int32_t count;
};

/* READ_DEPENDENCIES: id, state */
static enum pawl_code on_open(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    struct names *names = self;
    struct pawl_str id = pawl_db_text(row, 0);
    int64_t number = pawl_db_int64(row, 1);
    const char *state = "does not exist yet";
    if (!pawl_db_is_null(row, 1)) {
        state = pawl_task_state_is(number) ? pawl_task_state_name((enum pawl_task_state)number)
                                           : "cannot be read";
    }
    names->text = pawl_arena_format(names->keep, "%.*s%s%.*s (%s)", PAWL_STR_ARG(names->text),
                                    names->count > 0 ? ", " : "", PAWL_STR_ARG(id), state);
    names->count++;
    return PAWL_OK;
}

static enum pawl_code why_waiting(struct pawl_reader *reader, const struct pawl_task_row *task,
                                  struct pawl_arena *keep, struct pawl_str *out,
                                  struct pawl_error *err)
{
    struct names names = {.keep = keep};
    struct pawl_value values[] = {pawl_int(task->key), pawl_int(1 /* open ones */),
                                  pawl_int(PAWL_READ_NAMED_MAX)};
    enum pawl_code code = pawl_reader_ask(reader, PAWL_SQL_READ_DEPENDENCIES, values,
                                          PAWL_COUNT_OF(values), on_open, &names, err);
    if (code != PAWL_OK) return code;
    struct pawl_str more = {0};
    if (task->open_dependencies > names.count) {
        more =
            pawl_arena_format(keep, " and %" PRId32 " more", task->open_dependencies - names.count);
    }
    *out = pawl_arena_format(keep, "it waits for %" PRId32 " task%s to complete: %.*s%.*s",
                             task->open_dependencies, task->open_dependencies == 1 ? "" : "s",
                             PAWL_STR_ARG(names.text), PAWL_STR_ARG(more));
    return PAWL_OK;
}

/* ---- Ready ----------------------------------------------------------------------------------- */

static enum pawl_code on_count(void *self, const struct pawl_db_row *row, struct pawl_error *err)
{
    (void)err;
    *(int64_t *)self = pawl_db_int64(row, 0);
    return PAWL_OK;
}

static enum pawl_code why_ready(struct pawl_reader *reader, const struct pawl_task_about *about,
                                struct pawl_arena *keep, struct pawl_str *out,
                                struct pawl_error *err)
{
    const struct pawl_task_row *task = &about->row;
    int64_t before = 0;
    struct pawl_value values[] = {pawl_int(task->queue), pawl_int(task->rank), pawl_int(task->key),
                                  pawl_int(PAWL_READ_BEFORE_MAX + 1)};
    enum pawl_code code = pawl_reader_ask(reader, PAWL_SQL_READ_AHEAD, values,
                                          PAWL_COUNT_OF(values), on_count, &before, err);
    if (code != PAWL_OK) return code;
    bool is_more = before > PAWL_READ_BEFORE_MAX;
    if (is_more) before = PAWL_READ_BEFORE_MAX;
    *out = pawl_arena_format(
        keep, "it is ready since %s, with %s%" PRId64 " task%s before it in queue %.*s",
        instant(pawl_rank_ready_at_ms(task->rank)).text, is_more ? "more than " : "", before,
        before == 1 ? "" : "s", PAWL_STR_ARG(about->queue));
    return PAWL_OK;
}

/* ---- The first that holds -------------------------------------------------------------------- */

static enum pawl_code why_queued(struct pawl_reader *reader, const struct pawl_task_about *about,
                                 struct pawl_arena *keep, struct pawl_str *out,
                                 struct pawl_error *err)
{
    const struct pawl_task_row *task = &about->row;
    if (about->is_queue_paused) {
        *out = pawl_arena_format(keep, "queue %.*s is paused", PAWL_STR_ARG(about->queue));
        return PAWL_OK;
    }
    if (about->blocked_by.len != 0) {
        *out = why_blocked(about, keep);
        return PAWL_OK;
    }
    if (task->open_dependencies > 0) return why_waiting(reader, task, keep, out, err);
    if (task->rank != PAWL_RANK_NONE) return why_ready(reader, about, keep, out, err);
    return why_deferred(reader, task, keep, out, err);
}

static enum pawl_code why(struct pawl_reader *reader, struct pawl_str id, struct pawl_arena *keep,
                          struct pawl_str *out, struct pawl_error *err)
{
    struct pawl_task_about about;
    enum pawl_code code = pawl_reader_get_task(reader, id, keep, &about, err);
    if (code != PAWL_OK) return code;
    switch (about.row.state) {
    case PAWL_TASK_PENDING:
        *out = PAWL_STR("it is held: nobody has queued it yet");
        return PAWL_OK;
    case PAWL_TASK_QUEUED:
        return why_queued(reader, &about, keep, out, err);
    case PAWL_TASK_RUNNING:
        return why_running(reader, &about, keep, out, err);
    case PAWL_TASK_PAUSED:
        *out =
            pawl_arena_format(keep, "it is paused since %s", instant(about.row.updated_at_ms).text);
        return PAWL_OK;
    case PAWL_TASK_RECOVERY_PENDING:
        *out = pawl_arena_format(
            keep, "the lease%s%.*s ended, and what became of its work is not known yet",
            about.owner.len > 0 ? " of worker " : "", PAWL_STR_ARG(about.owner));
        return PAWL_OK;
    case PAWL_TASK_COMPLETED:
    case PAWL_TASK_FAILED:
    case PAWL_TASK_CANCELLED:
    case PAWL_TASK_DEAD_LETTER:
        *out = why_finished(&about.row, keep);
        return PAWL_OK;
    }
    return PAWL_OK;
}

enum pawl_code pawl_read_why(struct pawl_reader *reader, struct pawl_str id,
                             struct pawl_arena *keep, struct pawl_str *out, struct pawl_error *err)
{
    struct pawl_str sentence = {0};
    enum pawl_code code = pawl_reader_begin(reader, err);
    if (code != PAWL_OK) return code;
    code = pawl_reader_end(reader, keep, why(reader, id, keep, &sentence, err), err);
    if (code == PAWL_OK) *out = sentence;
    return code;
}
