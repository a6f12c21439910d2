/* The public calls that only look. They read on the handle's reader, on the caller's thread, and never take
 * the turn; what they return is a committed state. */
#include "engine/engine.h"

#include "base/error.h"
#include "base/str.h"
#include "core/check.h"
#include "engine/options.h"
#include "engine/workflow.h"


/* The reader, opened at the first read, with its lock held; NULL on failure (and then not held). */
static struct pawl_reader *take_reader(struct pawl *pawl, enum pawl_code *code, struct pawl_error *err)
{
    if (pawl == NULL) {
        *code = pawl_error_set(err, PAWL_MISUSE, "pawl: is NULL");
        return NULL;
    }
    *code = pawl_engine_enter(pawl, err);
    if (*code != PAWL_OK) return NULL;
    if (pawl_engine_is_gone(pawl, err)) {
        *code = PAWL_IO;
        pawl_engine_leave(pawl);
        return NULL;
    }
    (void)pthread_mutex_lock(&pawl->read_lock);
    if (pawl->reader == NULL) {
        struct pawl_reader *reader = NULL;
        *code = pawl_reader_open(&reader, &pawl->store_options, err);
        /* opened by its name: whether that is still the file of this handle */
        if (*code == PAWL_OK && pawl->turn != NULL) *code = pawl_turn_check(pawl->turn, err);
        if (*code == PAWL_OK) {
            pawl->reader = reader;
        } else {
            pawl_reader_close(reader);
        }
    }
    if (*code == PAWL_OK) return pawl->reader;
    (void)pthread_mutex_unlock(&pawl->read_lock);
    pawl_engine_leave(pawl);
    return NULL;
}

static void give_reader(struct pawl *pawl)
{
    (void)pthread_mutex_unlock(&pawl->read_lock);
    pawl_engine_leave(pawl);
}

static enum pawl_code need(bool is_given, struct pawl_error *err)
{
    return is_given ? PAWL_OK : pawl_error_set(err, PAWL_MISUSE, "keep and out are needed");
}

/* What a failed read has taken from the caller's arena is given back, and its failure there forgotten: the next
 * one may fit. */
#define READ(call)                                                \
    do {                                                          \
        enum pawl_code code = need(keep != NULL && out != NULL, err); \
        if (code != PAWL_OK) return code;                         \
        struct pawl_reader *reader = take_reader(pawl, &code, err); \
        if (reader == NULL) return code;                          \
        struct pawl_arena_mark mark = pawl_arena_mark(keep);      \
        code = (call);                                            \
        if (code != PAWL_OK) pawl_arena_rewind(keep, mark);       \
        give_reader(pawl);                                        \
        return code;                                              \
    } while (0)

enum pawl_code pawl_task_get(struct pawl *pawl, struct pawl_str task_id, bool with_payload,
                             struct pawl_arena *keep, struct pawl_task *out, struct pawl_error *err)
{
    READ(pawl_read_task(reader, task_id, with_payload, keep, out, err));
}

enum pawl_code pawl_task_why(struct pawl *pawl, struct pawl_str task_id, struct pawl_arena *keep,
                             struct pawl_str *out, struct pawl_error *err)
{
    READ(pawl_read_why(reader, task_id, keep, out, err));
}

enum pawl_code pawl_workflow_get(struct pawl *pawl, struct pawl_str id, const struct pawl_workflow_ask *ask,
                                 struct pawl_arena *keep, struct pawl_workflow_view *out, struct pawl_error *err)
{
    READ(pawl_read_workflow(reader, id, ask, keep, out, err));
}

enum pawl_code pawl_workflow_tasks(struct pawl *pawl, struct pawl_str id, int64_t after_seq, int32_t limit,
                                   bool with_payloads, struct pawl_arena *keep, struct pawl_record_page *out,
                                   struct pawl_error *err)
{
    READ(pawl_read_records(reader, id, after_seq, limit, with_payloads, keep, out, err));
}

enum pawl_code pawl_workflow_task(struct pawl *pawl, struct pawl_str task_id, struct pawl_arena *keep,
                                  struct pawl_record_view *out, struct pawl_error *err)
{
    READ(pawl_read_record(reader, task_id, keep, out, err));
}

enum pawl_code pawl_workflow_list(struct pawl *pawl, const struct pawl_workflow_list *ask, struct pawl_arena *keep,
                                  struct pawl_workflow_page *out, struct pawl_error *err)
{
    READ(pawl_read_workflows(reader, ask, keep, out, err));
}

enum pawl_code pawl_task_list(struct pawl *pawl, const struct pawl_list *ask, struct pawl_arena *keep,
                              struct pawl_page *out, struct pawl_error *err)
{
    struct pawl_list own;
    if (ask == NULL) return pawl_error_set(err, PAWL_MISUSE, "ask: is NULL");
    enum pawl_code read = PAWL_OPTIONS_READ(own, ask, "ask", "PAWL_LIST_INIT", err);
    if (read != PAWL_OK) return read;
    READ(pawl_read_list(reader, &own, keep, out, err));
}

enum pawl_code pawl_task_history(struct pawl *pawl, struct pawl_str task_id, int64_t after_sequence,
                                 int32_t limit, struct pawl_arena *keep, struct pawl_events *out,
                                 struct pawl_error *err)
{
    READ(pawl_read_history(reader, task_id, after_sequence, limit, keep, out, err));
}

enum pawl_code pawl_task_restore(struct pawl *pawl, struct pawl_str task_id,
                                 struct pawl_str checkpoint_id, struct pawl_arena *keep,
                                 struct pawl_checkpoint *out, struct pawl_error *err)
{
    READ(pawl_read_checkpoint(reader, task_id, checkpoint_id, keep, out, err));
}

enum pawl_code pawl_task_checkpoints(struct pawl *pawl, struct pawl_str task_id, struct pawl_arena *keep,
                                     struct pawl_checkpoints *out, struct pawl_error *err)
{
    READ(pawl_read_checkpoints(reader, task_id, keep, out, err));
}

enum pawl_code pawl_task_logs(struct pawl *pawl, struct pawl_str task_id, int64_t after_number,
                              int32_t limit, struct pawl_arena *keep, struct pawl_log_lines *out,
                              struct pawl_error *err)
{
    READ(pawl_read_logs(reader, task_id, after_number, limit, keep, out, err));
}

enum pawl_code pawl_task_late_results(struct pawl *pawl, struct pawl_str task_id, struct pawl_arena *keep,
                                      struct pawl_late_results *out, struct pawl_error *err)
{
    READ(pawl_read_late(reader, task_id, keep, out, err));
}

enum pawl_code pawl_queue_list(struct pawl *pawl, struct pawl_arena *keep, struct pawl_queues *out,
                               struct pawl_error *err)
{
    READ(pawl_read_queues(reader, keep, out, err));
}

enum pawl_code pawl_events_read(struct pawl *pawl, int64_t after_position, int32_t limit,
                                struct pawl_arena *keep, struct pawl_events *out, struct pawl_error *err)
{
    READ(pawl_read_events(reader, after_position, limit, keep, out, err));
}

enum pawl_code pawl_health(struct pawl *pawl, struct pawl_arena *keep, struct pawl_health *out,
                           struct pawl_error *err)
{
    READ(pawl_read_health(reader, keep, out, err));
}

enum pawl_code pawl_events_tally(struct pawl *pawl, int64_t after_position, struct pawl_arena *keep,
                                 struct pawl_tally *out, struct pawl_error *err)
{
    READ(pawl_read_tally(reader, after_position, keep, out, err));
}

/* ---- Consumers, who may wait ---- */

static enum pawl_code read_consumer(struct pawl *pawl, struct pawl_str name, int32_t limit,
                                    struct pawl_arena *keep, struct pawl_events *out,
                                    struct pawl_error *err)
{
    READ(pawl_read_consumer(reader, name, limit, keep, out, err));
}

static enum pawl_code open_consumer(struct pawl *pawl, struct pawl_str name, struct pawl_error *err)
{
    struct pawl_request request;
    struct pawl_arena *scratch;
    pawl_request_init(&request, PAWL_COMMAND_CONSUMER_OPEN);
    request.command.ask.acknowledge.consumer = name;
    enum pawl_code code = pawl_arena_open(&scratch, 0);
    if (code != PAWL_OK) return pawl_error_set(err, code, "no memory to check the call");
    code = pawl_check_command(&request.command, scratch, err);
    pawl_arena_close(scratch);
    return code != PAWL_OK ? code : pawl_engine_ask(pawl, &request, err);
}

static bool is_closing(struct pawl *pawl)
{
    (void)pthread_mutex_lock(&pawl->lock);
    bool is_stopping = pawl->is_stopping;
    (void)pthread_mutex_unlock(&pawl->lock);
    return is_stopping;
}

static uint64_t change_count(struct pawl *pawl)
{
    (void)pthread_mutex_lock(&pawl->lock);
    uint64_t count = pawl->change_count;
    (void)pthread_mutex_unlock(&pawl->lock);
    return count;
}

/* Under the lock: nobody is to wait any more. */
static bool is_over(const struct pawl *pawl)
{
    return pawl->is_stopping || pawl->waits_no_more;
}

/* Waits until something was committed after `seen`; false when the time is up or the handle closes. */
static bool wait_for_change(struct pawl *pawl, uint64_t seen, const struct timespec *until)
{
    (void)pthread_mutex_lock(&pawl->lock);
    int waited = 0;
    while (pawl->change_count == seen && !is_over(pawl) && waited == 0) {
        waited = pthread_cond_timedwait(&pawl->changed, &pawl->lock, until);
    }
    bool is_changed = pawl->change_count != seen && !is_over(pawl);
    (void)pthread_mutex_unlock(&pawl->lock);
    return is_changed;
}

static enum pawl_code check_wait(int64_t wait_ms, struct pawl_error *err)
{
    if (wait_ms >= 0 && wait_ms <= PAWL_WAIT_MS_MAX) return PAWL_OK;
    return pawl_error_set(err, PAWL_INVALID, "wait_ms: %lld is not from 0 to %d", (long long)wait_ms,
                          PAWL_WAIT_MS_MAX);
}

static enum pawl_code wait_for_news(struct pawl *pawl, uint64_t *seen, int64_t wait_ms,
                                    struct pawl_error *err)
{
    struct timespec until = pawl_env_deadline(wait_ms);
    bool waits = *seen != 0;
    if (waits) (void)wait_for_change(pawl, *seen - 1, &until);
    if (!pawl_engine_may_wait(pawl)) return pawl_error_set(err, PAWL_BUSY, "nobody is to wait any more");
    *seen = change_count(pawl) + 1;
    return PAWL_OK;
}

enum pawl_code pawl_changes_wait(struct pawl *pawl, uint64_t *seen, int64_t wait_ms, struct pawl_error *err)
{
    if (pawl == NULL || seen == NULL) return pawl_error_set(err, PAWL_MISUSE, "pawl and seen are needed");
    if (pawl->is_driven || !pawl->has_timers) {
        return pawl_error_set(err, PAWL_MISUSE, "only a handle with threads and timers hears of commits");
    }
    enum pawl_code code = check_wait(wait_ms, err);
    if (code == PAWL_OK) code = pawl_engine_enter(pawl, err);
    if (code != PAWL_OK) return code;
    code = wait_for_news(pawl, seen, wait_ms, err);
    pawl_engine_leave(pawl);
    return code;
}

/* Reads again after each change until there is something, the time is up, or nobody is to wait any more. */
static enum pawl_code read_and_wait(struct pawl *pawl, struct pawl_str consumer, int32_t limit,
                                    int64_t wait_ms, struct pawl_arena *keep, struct pawl_events *out,
                                    struct pawl_error *err)
{
    struct timespec until = pawl_env_deadline(wait_ms);
    for (;;) {
        uint64_t seen = change_count(pawl);
        struct pawl_events events = {0};
        enum pawl_code code = read_consumer(pawl, consumer, limit, keep, &events, err);
        if (code == PAWL_NOT_FOUND) {
            code = open_consumer(pawl, consumer, err);
            if (code == PAWL_OK) code = read_consumer(pawl, consumer, limit, keep, &events, err);
        }
        bool is_empty = code == PAWL_OK && events.count == 0;
        bool waits = is_empty && wait_ms > 0 && !pawl->is_driven;
        if (waits && wait_for_change(pawl, seen, &until)) continue;
        if (waits && is_closing(pawl)) return pawl_error_set(err, PAWL_BUSY, "the handle is being closed");
        if (code == PAWL_OK) *out = events;
        return code;
    }
}

enum pawl_code pawl_consumer_read(struct pawl *pawl, struct pawl_str consumer, int32_t limit,
                                  int64_t wait_ms, struct pawl_arena *keep, struct pawl_events *out,
                                  struct pawl_error *err)
{
    if (pawl == NULL || keep == NULL || out == NULL) {
        return pawl_error_set(err, PAWL_MISUSE, "pawl, keep and out are needed");
    }
    enum pawl_code code = check_wait(wait_ms, err);
    if (code == PAWL_OK) code = pawl_engine_enter(pawl, err);
    if (code != PAWL_OK) return code;
    code = read_and_wait(pawl, consumer, limit, wait_ms, keep, out, err);
    pawl_engine_leave(pawl);
    return code;
}
