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

/* The workflow task that stands for a task without a workflow. */
static void put_node(struct pawl_json_writer *w, struct pawl_str type)
{
    pawl_json_put_key(w, "workflowTask");
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "name", type);
    pawl_json_put_member_text(w, "taskReferenceName", type);
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
    pawl_json_put_member_int64(w, "firstStartTime", task->started_at_ms);
    pawl_json_put_member_int64(
        w, "queueWaitTime", task->started_at_ms != 0 && waited_ms > 0 ? waited_ms : 0);
    pawl_json_put_member_int64(w, "startDelayInSeconds", 0);
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
    struct pawl_str domain;
    struct pawl_str type;
    pawl_queue_split(task->queue, &domain, &type);
    pawl_json_begin_object(w);
    pawl_json_put_member_text(w, "taskType", type);
    pawl_json_put_member_text(w, "status", pawl_str_of(task->status));
    put_payload(w, "inputData", task->input, "input");
    pawl_json_put_member_text(w, "referenceTaskName", type);
    pawl_json_put_member_int64(w, "retryCount", task->attempt);
    pawl_json_put_member_int64(w, "seq", 1);
    put_text(w, "correlationId", task->correlation_id);
    pawl_json_put_member_int64(w, "pollCount", task->poll_count);
    pawl_json_put_member_text(w, "taskDefName", type);
    put_times(w, task);
    pawl_json_put_member_bool(w, "retried", false);
    pawl_json_put_member_bool(w, "executed", task->has_ended);
    pawl_json_put_member_bool(w, "callbackFromWorker", true);
    pawl_json_put_member_text(w, "workflowInstanceId", task->id);
    pawl_json_put_member_text(w, "taskId", task->id);
    put_text(w, "reasonForIncompletion", task->reason);
    put_text(w, "workerId", task->worker_id);
    put_payload(w, "outputData", task->output, "result");
    put_node(w, type);
    put_text(w, "domain", domain);
    pawl_json_put_member_int64(w, "rateLimitPerFrequency", 0);
    pawl_json_put_member_int64(w, "rateLimitFrequencyInSeconds", 0);
    pawl_json_put_member_int64(w, "workflowPriority", task->priority);
    pawl_json_put_member_int64(w, "iteration", 0);
    pawl_json_put_member_bool(w, "subworkflowChanged", false);
    pawl_json_put_member_null(w, "taskDefinition");
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

struct pawl_shown_task pawl_shown_task_of(const struct pawl_task *task, int64_t grace_ms)
{
    return (struct pawl_shown_task){
        .id = task->id,
        .queue = task->queue,
        .status = status_of(task),
        .input = task->input,
        .output = task->result,
        .correlation_id = task->correlation_id,
        .worker_id = task->owner,
        .reason = task->error,
        .attempt = task->retries,
        .poll_count = task->epoch > 0 ? 1 : 0,
        .priority = task->priority,
        .response_timeout_s = timeout_s_of(task->lease_ms, grace_ms),
        .scheduled_at_ms = task->created_at_ms,
        .started_at_ms = task->started_at_ms,
        .ended_at_ms = task->finished_at_ms,
        .updated_at_ms = task->updated_at_ms,
        .has_ended = task->finished_at_ms != 0,
    };
}

struct pawl_shown_task pawl_shown_task_granted(const struct pawl_grant *grant,
                                               struct pawl_str worker_id, int64_t grace_ms)
{
    return (struct pawl_shown_task){
        .id = grant->fence.task_id,
        .queue = grant->queue,
        .status = "IN_PROGRESS",
        .input = grant->input,
        .output = grant->checkpoint,
        .correlation_id = grant->correlation_id,
        .worker_id = worker_id,
        .attempt = grant->attempt - 1,
        .poll_count = 1,
        .priority = grant->priority,
        .response_timeout_s = timeout_s_of(grant->lease_ms, grace_ms),
        .scheduled_at_ms = grant->created_at_ms,
        .started_at_ms = grant->started_at_ms,
        .updated_at_ms = grant->lease_end_at_ms - grant->lease_ms,
    };
}
