/* What committed transitions say to the log, one line each: the same rows that listeners are told of, for those
 * who keep logs. Local, like the whole log; no payloads. Runs on whatever thread has run the step, after its
 * commit. */
#include "engine/engine.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/task/metadata.h"

#include <string.h>

enum { NAME_BYTES_MAX = 31 };

/* A warning is what was lost or waits for a person; the rest is everyday. */
static enum pawl_log_level level_of(enum pawl_event_type type)
{
    bool is_bad = type == PAWL_EVENT_FENCED || type == PAWL_EVENT_DEAD_LETTERED ||
                  type == PAWL_EVENT_BLOCKED || type == PAWL_EVENT_RECOVERY_NOTED ||
                  type == PAWL_EVENT_UNANSWERED;
    return is_bad ? PAWL_LOG_WARN : PAWL_LOG_DEBUG;
}

/* "task_retry_scheduled" as a name of the log: "task.retry_scheduled". */
static const char *name_of(enum pawl_event_type type, char name[NAME_BYTES_MAX + 1])
{
    struct pawl_str text = pawl_event_type_text(type);
    size_t len = text.len < NAME_BYTES_MAX ? text.len : NAME_BYTES_MAX;
    memcpy(name, text.ptr, len);
    name[len] = '\0';
    char *first = strchr(name, '_');
    if (first != NULL) *first = '.';
    return name;
}

void pawl_engine_log(const struct pawl_log *log, const struct pawl_append *events,
                     struct pawl_arena *scratch)
{
    if (log->write == NULL) return;
    for (size_t i = 0; i < events->count; i++) {
        const struct pawl_event_new *event = ((struct pawl_event_new *const *)events->items)[i];
        const struct pawl_event_row *row = &event->row;
        const struct pawl_task_row *task = event->task;
        /* of a completion the note is the start of its result */
        bool has_reason = row->type != PAWL_EVENT_COMPLETED;
        char name[NAME_BYTES_MAX + 1];
        pawl_log_write(
            log, level_of(row->type), name_of(row->type, name), PAWL_TEXT("task", task->id),
            PAWL_TEXT("queue", event->queue_name), PAWL_INT("priority", task->priority),
            PAWL_INT("epoch", row->epoch), PAWL_INT("retries", row->retries),
            PAWL_TEXT("correlation_id", pawl_correlation_id(task->id, task->correlation_id, scratch)),
            PAWL_TEXT("actor", row->actor), PAWL_TEXT("cause", pawl_event_cause_text(row->cause)),
            PAWL_TEXT("reason", has_reason ? row->note : (struct pawl_str){0}));
    }
}

static enum pawl_log_level level_of_end(int64_t state)
{
    return state == PAWL_WORKFLOW_FAILED || state == PAWL_WORKFLOW_TIMED_OUT ? PAWL_LOG_WARN : PAWL_LOG_DEBUG;
}

void pawl_engine_log_notices(const struct pawl_log *log, const struct pawl_append *notices)
{
    for (size_t i = 0; i < notices->count; i++) {
        const struct pawl_notice *notice = ((struct pawl_notice *const *)notices->items)[i];
        switch (notice->kind) {
        case PAWL_NOTICE_CONSUMER_DROPPED:
            pawl_log_write(log, PAWL_LOG_WARN, "consumer.dropped", PAWL_TEXT("consumer", notice->text),
                           PAWL_INT("behind", notice->first), PAWL_INT("away_ms", notice->second));
            break;
        case PAWL_NOTICE_PUT_OFF:
            pawl_log_write(log, PAWL_LOG_ERROR, "row.put_off", PAWL_INT("key", notice->first),
                           PAWL_TEXT("reason", notice->text));
            break;
        case PAWL_NOTICE_RETAINED:
            pawl_log_write(log, PAWL_LOG_INFO, "retention.slice", PAWL_INT("removed", notice->first),
                           PAWL_INT("ended", notice->second));
            break;
        case PAWL_NOTICE_WORKER_SHARED:
            pawl_log_write(log, PAWL_LOG_WARN, "worker.shared", PAWL_TEXT("worker", notice->text),
                           PAWL_TEXT("host", notice->name), PAWL_INT("pid", notice->first),
                           PAWL_INT("other_pid", notice->second));
            break;
        case PAWL_NOTICE_WORKFLOW_STARTED:
            pawl_log_write(log, PAWL_LOG_DEBUG, "workflow.started", PAWL_TEXT("workflow", notice->text),
                           PAWL_TEXT("name", notice->name));
            break;
        case PAWL_NOTICE_WORKFLOW_ENDED:
            pawl_log_write(
                log, level_of_end(notice->first), "workflow.ended", PAWL_TEXT("workflow", notice->text),
                PAWL_TEXT("name", notice->name),
                PAWL_TEXT("state", pawl_str_of(pawl_workflow_state_name((enum pawl_workflow_state)notice->first))));
            break;
        }
    }
}
