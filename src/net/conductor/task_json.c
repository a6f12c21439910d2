#include "net/conductor/task_json.h"

#include "base/str.h"

void pawl_queue_split(struct pawl_str queue, struct pawl_str *domain, struct pawl_str *type)
{
    size_t at = 0;
    while (at < queue.len && queue.ptr[at] != ':') at++;
    bool has_domain = at < queue.len;
    *domain = has_domain ? (struct pawl_str){queue.ptr, at} : (struct pawl_str){0};
    *type = has_domain ? (struct pawl_str){queue.ptr + at + 1, queue.len - at - 1} : queue;
}

static bool is_object(struct pawl_str json)
{
    json = pawl_str_trim(json);
    return json.len > 0 && json.ptr[0] == '{';
}

/* Conductor's payloads are objects; what is none becomes the one member of one. */
static void put_payload(struct pawl_json_writer *w, const char *key, struct pawl_str json,
                        const char *member)
{
    pawl_json_put_key(w, key);
    if (is_object(json)) {
        pawl_json_put_raw(w, json);
        return;
    }
    pawl_json_begin_object(w);
    if (json.len > 0) pawl_json_put_member_raw(w, member, json);
    pawl_json_end_object(w);
}

static void put_text(struct pawl_json_writer *w, const char *key, struct pawl_str text)
{
    if (text.len > 0) pawl_json_put_member_text(w, key, text);
}

/* Its place in the definition of its workflow; where that has not been read, or there is none, one
 * that stands for it. */
static void put_node(struct pawl_json_writer *w, const struct pawl_shown_task *task)
{
    pawl_json_put_key(w, "workflowTask");
    if (task->node.len > 0) {
        pawl_json_put_raw(w, task->node);
        return;
    }
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "name", task->name);
    pawl_json_put_member_text(w, "taskReferenceName", task->reference);
    pawl_json_put_member_text(w, "type", PAWL_STR("SIMPLE"));
    pawl_json_put_member_raw(w, "inputParameters", PAWL_STR("{}"));
    pawl_json_put_member_int64(w, "startDelay", 0);
    pawl_json_put_member_bool(w, "optional", false);
    pawl_json_put_member_bool(w, "permissive", false);
    pawl_json_put_member_bool(w, "asyncComplete", false);
    pawl_json_put_member_raw(w, "decisionCases", PAWL_STR("{}"));
    pawl_json_put_member_raw(w, "defaultCase", PAWL_STR("[]"));
    pawl_json_put_member_raw(w, "forkTasks", PAWL_STR("[]"));
    pawl_json_put_member_raw(w, "joinOn", PAWL_STR("[]"));
    pawl_json_put_member_raw(w, "defaultExclusiveJoinTask", PAWL_STR("[]"));
    pawl_json_put_member_raw(w, "loopOver", PAWL_STR("[]"));
    pawl_json_put_member_raw(w, "onStateChange", PAWL_STR("{}"));
    pawl_json_put_member_raw(w, "metadata", PAWL_STR("{}"));
    pawl_json_end_object(w);
}

static void put_times(struct pawl_json_writer *w, const struct pawl_shown_task *task)
{
    int64_t waited_ms = task->started_at_ms - task->scheduled_at_ms;
    pawl_json_put_member_int64(w, "scheduledTime", task->scheduled_at_ms);
    pawl_json_put_member_int64(w, "startTime", task->started_at_ms);
    pawl_json_put_member_int64(w, "endTime", task->ended_at_ms);
    pawl_json_put_member_int64(w, "updateTime", task->updated_at_ms);
    pawl_json_put_member_int64(w, "firstStartTime", task->first_started_at_ms);
    pawl_json_put_member_int64(w, "queueWaitTime",
                               task->started_at_ms != 0 && waited_ms > 0 ? waited_ms : 0);
    pawl_json_put_member_int64(w, "startDelayInSeconds", task->start_delay_s);
    pawl_json_put_member_int64(w, "callbackAfterSeconds", task->callback_after_s);
    pawl_json_put_member_int64(w, "responseTimeoutSeconds", task->response_timeout_s);
}

static void put_lease(struct pawl_json_writer *w, const struct pawl_shown_lease *lease)
{
    if (lease == NULL) return;
    pawl_json_put_member_int64(w, "leaseEpoch", lease->epoch);
    pawl_json_put_member_int64(w, "leaseRemainingMs", lease->remaining_ms);
    pawl_json_put_member_int64(w, "waitedMs", lease->waited_ms);
}

void pawl_shown_task_write(const struct pawl_shown_task *task, struct pawl_json_writer *w)
{
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "taskType", task->type);
    pawl_json_put_member_text(w, "status", pawl_str_of(task->status));
    put_payload(w, "inputData", task->input, "input");
    pawl_json_put_member_text(w, "referenceTaskName", task->reference);
    pawl_json_put_member_int64(w, "retryCount", task->attempt);
    pawl_json_put_member_int64(w, "seq", task->seq);
    put_text(w, "correlationId", task->correlation_id);
    pawl_json_put_member_int64(w, "pollCount", task->poll_count);
    pawl_json_put_member_text(w, "taskDefName", task->name);
    put_times(w, task);
    put_text(w, "retriedTaskId", task->retried_id);
    pawl_json_put_member_bool(w, "retried", task->is_retried);
    pawl_json_put_member_bool(w, "executed", task->has_ended);
    pawl_json_put_member_bool(w, "callbackFromWorker", true);
    pawl_json_put_member_text(w, "workflowInstanceId", task->workflow_id);
    put_text(w, "workflowType", task->workflow_name);
    pawl_json_put_member_text(w, "taskId", task->id);
    put_text(w, "reasonForIncompletion", task->reason);
    put_text(w, "workerId", task->worker_id);
    put_payload(w, "outputData", task->output, "result");
    put_node(w, task);
    put_text(w, "domain", task->domain);
    pawl_json_put_member_int64(w, "rateLimitPerFrequency", 0);
    pawl_json_put_member_int64(w, "rateLimitFrequencyInSeconds", 0);
    pawl_json_put_member_int64(w, "workflowPriority", task->priority);
    pawl_json_put_member_int64(w, "iteration", 0);
    pawl_json_put_member_bool(w, "subworkflowChanged", false);
    pawl_json_put_member_raw(w, "taskDefinition", task->definition); /* null without one */
    pawl_json_put_member_bool(w, "loopOverTask", false);
    put_lease(w, task->lease);
    pawl_json_end_object(w);
}

/* What was said of its lease, without what it was given beyond. */
static int64_t timeout_s_of(int64_t lease_ms, int64_t grace_ms)
{
    return lease_ms > grace_ms ? (lease_ms - grace_ms) / 1000 : 0;
}

/* Conductor's word for a state. */
static const char *status_of(const struct pawl_task *task)
{
    switch (task->state) {
    case PAWL_TASK_PENDING:
    case PAWL_TASK_QUEUED:
    case PAWL_TASK_PAUSED:
        return "SCHEDULED";
    case PAWL_TASK_RUNNING:
    case PAWL_TASK_RECOVERY_PENDING:
        return "IN_PROGRESS";
    case PAWL_TASK_COMPLETED:
        return "COMPLETED";
    case PAWL_TASK_FAILED:
        return "FAILED";
    case PAWL_TASK_CANCELLED:
        return "CANCELED";
    case PAWL_TASK_DEAD_LETTER:
        /* with tries left it was failed for good */
        return task->retries > task->max_retries ? "FAILED" : "FAILED_WITH_TERMINAL_ERROR";
    }
    return "SCHEDULED";
}

/* What a task without a workflow has of one. */
static struct pawl_shown_task alone(struct pawl_str id, struct pawl_str queue)
{
    struct pawl_shown_task shown = {.id = id, .workflow_id = id, .seq = 1};
    pawl_queue_split(queue, &shown.domain, &shown.type);
    shown.name = shown.reference = shown.type;
    return shown;
}

struct pawl_shown_task pawl_shown_task_of(const struct pawl_task *task, int64_t grace_ms)
{
    struct pawl_shown_task shown = alone(task->id, task->queue);
    shown.status = status_of(task);
    shown.input = task->input;
    shown.output = task->result;
    shown.correlation_id = task->correlation_id;
    shown.worker_id = task->owner;
    shown.reason = task->error;
    shown.attempt = task->retries;
    shown.poll_count = task->epoch > 0 ? 1 : 0;
    shown.priority = task->priority;
    shown.response_timeout_s = timeout_s_of(task->lease_ms, grace_ms);
    shown.scheduled_at_ms = task->created_at_ms;
    shown.started_at_ms = shown.first_started_at_ms = task->started_at_ms;
    shown.ended_at_ms = task->finished_at_ms;
    shown.updated_at_ms = task->updated_at_ms;
    shown.has_ended = task->finished_at_ms != 0;
    return shown;
}

struct pawl_shown_task pawl_shown_task_granted(const struct pawl_grant *grant,
                                               struct pawl_str worker_id, int64_t grace_ms)
{
    struct pawl_shown_task shown = alone(grant->fence.task_id, grant->queue);
    shown.status = "IN_PROGRESS";
    shown.input = grant->input;
    shown.output = grant->checkpoint;
    shown.correlation_id = grant->correlation_id;
    shown.worker_id = worker_id;
    shown.attempt = grant->attempt - 1;
    shown.poll_count = 1;
    shown.priority = grant->priority;
    shown.response_timeout_s = timeout_s_of(grant->lease_ms, grace_ms);
    shown.scheduled_at_ms = grant->created_at_ms;
    shown.started_at_ms = shown.first_started_at_ms = grant->started_at_ms;
    shown.updated_at_ms = grant->lease_end_at_ms - grant->lease_ms;
    return shown;
}
