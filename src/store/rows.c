/* Columns to structs. A number is read wide and checked against what its field may hold, so that no
 * row, however damaged, becomes a value outside its enum. What the rules promise of a task as a
 * whole is checked by pawl_task_row_fault. */
#include "store/rows.h"

#include "core/limits.h"

/* Reads columns in turn and keeps the first fault. */
struct reader {
    const struct pawl_db_row *row;
    struct pawl_arena *arena;
    int32_t column;
    const char *fault;
};

static int64_t next_int(struct reader *reader)
{
    return pawl_db_int64(reader->row, reader->column++);
}

static int64_t next_within(struct reader *reader, int64_t min, int64_t max, const char *fault)
{
    int64_t number = next_int(reader);
    if (number >= min && number <= max) return number;
    if (reader->fault == NULL) reader->fault = fault;
    return min;
}

static int32_t next_count(struct reader *reader, const char *fault)
{
    return (int32_t)next_within(reader, 0, PAWL_COUNT_MAX, fault);
}

/* What only rises. Half of what may be written: it may rise once more before somebody looks. */
static int64_t next_number(struct reader *reader, const char *fault)
{
    return next_within(reader, 0, PAWL_NUMBER_MAX / 2, fault);
}

/* An instant, a span, a key: the sum of two is one that can be written down. */
static int64_t next_safe(struct reader *reader, const char *fault)
{
    return next_within(reader, -PAWL_NUMBER_MAX / 2, PAWL_NUMBER_MAX / 2, fault);
}

/* The row's own, as it is: a row that is set aside is found by it. */
static int64_t next_key(struct reader *reader)
{
    int64_t key = next_int(reader);
    if (key > PAWL_ROW_KEY_MAX && reader->fault == NULL) reader->fault = "key is out of range";
    return key;
}

static bool next_bool(struct reader *reader)
{
    return next_int(reader) != 0;
}

static double next_real(struct reader *reader)
{
    return pawl_db_double(reader->row, reader->column++);
}

static struct pawl_str next_text(struct reader *reader)
{
    return pawl_row_text(reader->row, reader->column++, reader->arena);
}

struct pawl_str pawl_row_text(const struct pawl_db_row *row, int32_t column,
                              struct pawl_arena *arena)
{
    struct pawl_str text = pawl_db_text(row, column);
    return text.len == 0 ? (struct pawl_str){0} : pawl_arena_copy(arena, text);
}

static enum pawl_task_state next_state(struct reader *reader)
{
    int64_t number = next_int(reader);
    if (pawl_task_state_is(number)) return (enum pawl_task_state)number;
    if (reader->fault == NULL) reader->fault = "state is none that is known";
    return PAWL_TASK_PENDING;
}

static enum pawl_backoff next_backoff(struct reader *reader)
{
    return (enum pawl_backoff)next_within(reader, PAWL_BACKOFF_EXPONENTIAL, PAWL_BACKOFF_FIXED,
                                          "backoff is none that is known");
}

const char *pawl_row_task(const struct pawl_db_row *row, struct pawl_arena *arena,
                          struct pawl_task_row *out)
{
    struct reader reader = {.row = row, .arena = arena};
    *out = (struct pawl_task_row){0};
    out->key = next_key(&reader);
    out->id = next_text(&reader);
    out->queue = next_safe(&reader, "queue is out of range");
    out->state = next_state(&reader);
    out->priority = (int32_t)next_within(&reader, 0, PAWL_PRIORITY_MAX, "priority is out of range");
    out->rank =
        pawl_db_is_null(row, reader.column) ? PAWL_RANK_NONE : pawl_db_int64(row, reader.column);
    reader.column++;
    out->due_at_ms = next_safe(&reader, "due_at_ms is out of range");
    out->version = next_number(&reader, "version is out of range");
    out->epoch = next_number(&reader, "epoch is out of range");
    out->lease_kind = (enum pawl_lease_kind)next_within(&reader, PAWL_LEASE_NONE, PAWL_LEASE_SUPERVISED,
                                                        "lease_kind is none that is known");
    out->owner = next_safe(&reader, "owner is out of range");
    out->lease_ms = next_safe(&reader, "lease_ms is out of range");
    out->lease_end_at_ms = next_safe(&reader, "lease_end_at_ms is out of range");
    out->attempt_end_at_ms = next_safe(&reader, "attempt_end_at_ms is out of range");
    out->timeout_ms = next_safe(&reader, "timeout_ms is out of range");
    out->retry.max_retries = /* Conductor's retryCount may be any */
        (int32_t)next_within(&reader, 0, INT32_MAX, "max_retries is out of range");
    out->retry.backoff = next_backoff(&reader);
    out->retry.delay_ms = next_int(&reader);
    out->retry.delay_ms_max = next_int(&reader);
    out->retry.jitter_ms = next_int(&reader);
    out->retries = next_count(&reader, "retries is out of range");
    out->recoveries = next_count(&reader, "recoveries is out of range");
    out->crashes_in_row = next_count(&reader, "crashes_in_row is out of range");
    out->ready_at_ms = next_safe(&reader, "ready_at_ms is out of range");
    out->created_at_ms = next_safe(&reader, "created_at_ms is out of range");
    out->updated_at_ms = next_safe(&reader, "updated_at_ms is out of range");
    out->started_at_ms = next_safe(&reader, "started_at_ms is out of range");
    out->finished_at_ms = next_safe(&reader, "finished_at_ms is out of range");
    out->progress = next_real(&reader);
    out->progress_epoch = next_number(&reader, "progress_epoch is out of range");
    out->progress_event_at_ms = next_safe(&reader, "progress_event_at_ms is out of range");
    out->control = (enum pawl_control)next_within(&reader, PAWL_CONTROL_NONE, PAWL_CONTROL_CANCEL,
                                                  "control is none that is known");
    out->control_deadline_at_ms = next_safe(&reader, "control_deadline_at_ms is out of range");
    out->sequence = next_number(&reader, "sequence is out of range");
    out->outcome_epoch = next_number(&reader, "outcome_epoch is out of range");
    out->outcome_kind = (enum pawl_outcome_kind)next_within(
        &reader, PAWL_OUTCOME_NONE, PAWL_OUTCOME_CANCEL, "outcome_kind is none that is known");
    out->outcome_digest = next_int(&reader);
    out->dependency_policy = (enum pawl_dependency_policy)next_within(
        &reader, PAWL_DEPENDENCY_BLOCK, PAWL_DEPENDENCY_IGNORE,
        "dependency_policy is none that is known");
    out->open_dependencies = next_count(&reader, "open_dependencies is out of range");
    out->blocked_by = next_safe(&reader, "blocked_by is out of range");
    out->has_dependents = next_bool(&reader);
    out->payloads = (uint32_t)next_within(&reader, 0, (INT64_C(1) << PAWL_PAYLOAD_KIND_COUNT) - 1,
                                          "payloads names a kind that is not known");
    out->checkpoint_count = next_count(&reader, "checkpoint_count is out of range");
    out->log_bytes = next_within(&reader, 0, INT32_MAX, "log_bytes is out of range");
    out->payload_bytes = next_within(&reader, 0, INT32_MAX, "payload_bytes is out of range");
    out->checkpoint_bytes = next_within(&reader, 0, INT32_MAX, "checkpoint_bytes is out of range");
    out->title = next_text(&reader);
    out->correlation_id = next_text(&reader);
    out->idempotency_key = next_text(&reader);
    out->body_digest = next_int(&reader);
    out->run_at_ms = next_safe(&reader, "run_at_ms is out of range");
    out->lease_place = next_text(&reader);
    out->workflow = next_number(&reader, "workflow is out of range");
    out->claims = next_count(&reader, "claims is out of range");
    out->response_ms = next_number(&reader, "response_ms is out of range");
    out->gate = next_safe(&reader, "gate is out of range");
    return reader.fault != NULL ? reader.fault : pawl_task_row_fault(out);
}

const char *pawl_row_queue(const struct pawl_db_row *row, struct pawl_arena *arena,
                           struct pawl_queue_row *out)
{
    struct reader reader = {.row = row, .arena = arena};
    *out = (struct pawl_queue_row){0};
    out->key = next_key(&reader);
    out->name = next_text(&reader);
    out->is_paused = next_bool(&reader);
    out->lease_ms = next_within(&reader, 0, PAWL_LEASE_MS_MAX, "lease_ms is out of range");
    out->retry.max_retries = (int32_t)next_within(&reader, PAWL_RETRIES_NONE, PAWL_RETRIES_MAX,
                                                  "max_retries is out of range");
    out->retry.backoff = next_backoff(&reader);
    out->retry.delay_ms =
        next_within(&reader, PAWL_DELAY_NONE, PAWL_DELAY_MS_MAX, "delay_ms is out of range");
    out->retry.delay_ms_max =
        next_within(&reader, PAWL_DELAY_NONE, PAWL_DELAY_MS_MAX, "delay_ms_max is out of range");
    out->retry.jitter_ms =
        next_within(&reader, PAWL_DELAY_NONE, PAWL_DELAY_MS_MAX, "jitter_ms is out of range");
    if (reader.fault != NULL) {
        out->lease_ms = 0;
        out->retry = (struct pawl_retry){0};
    }
    return reader.fault;
}

const char *pawl_row_worker(const struct pawl_db_row *row, struct pawl_arena *arena,
                            struct pawl_worker_row *out)
{
    struct reader reader = {.row = row, .arena = arena};
    *out = (struct pawl_worker_row){0};
    out->key = next_key(&reader);
    out->id = next_text(&reader);
    out->host = next_text(&reader);
    out->boot = next_text(&reader);
    out->pid = next_safe(&reader, "pid is out of range");
    out->started_at_ms = next_safe(&reader, "started_at_ms is out of range");
    out->seen_at_ms = next_safe(&reader, "seen_at_ms is out of range");
    out->request_id = next_text(&reader);
    struct pawl_str granted = pawl_db_blob(row, reader.column++);
    bool is_cut = granted.len % sizeof(struct pawl_granted) != 0;
    if (granted.len > 0 && !is_cut) out->granted = pawl_arena_copy(arena, granted);
    out->other_host = next_text(&reader);
    out->other_boot = next_text(&reader);
    out->other_pid = next_safe(&reader, "other_pid is out of range");
    out->shared_at_ms = next_safe(&reader, "shared_at_ms is out of range");
    return is_cut ? "granted is cut" : reader.fault;
}

const char *pawl_row_gate(const struct pawl_db_row *row, struct pawl_arena *arena,
                          struct pawl_gate_row *out)
{
    struct reader reader = {.row = row, .arena = arena};
    *out = (struct pawl_gate_row){0};
    out->key = next_key(&reader);
    out->name = next_text(&reader);
    out->held = next_within(&reader, 0, PAWL_NUMBER_MAX / 2, "held is out of range");
    struct pawl_str starts = pawl_db_blob(row, reader.column++);
    bool is_cut = starts.len % sizeof(struct pawl_gate_start) != 0;
    if (starts.len > 0 && !is_cut) out->starts = pawl_arena_copy(arena, starts);
    return is_cut ? "starts is cut" : reader.fault;
}

const char *pawl_row_dependency(const struct pawl_db_row *row, struct pawl_arena *arena,
                                struct pawl_dependency_row *out)
{
    struct reader reader = {.row = row, .arena = arena};
    *out = (struct pawl_dependency_row){0};
    out->task = next_safe(&reader, "task is out of range");
    out->number = next_count(&reader, "number is out of range");
    out->on = next_safe(&reader, "on is out of range");
    out->on_id = next_text(&reader);
    out->is_open = next_bool(&reader);
    return reader.fault;
}

const char *pawl_row_event(const struct pawl_db_row *row, struct pawl_arena *arena,
                           struct pawl_event_row *out)
{
    struct reader reader = {.row = row, .arena = arena};
    *out = (struct pawl_event_row){0};
    out->position = next_safe(&reader, "position is out of range");
    out->task = next_safe(&reader, "task is out of range");
    out->sequence = next_number(&reader, "sequence is out of range");
    int64_t type = next_int(&reader);
    if (!pawl_event_type_is(type)) return "type is none that is known";
    out->type = (enum pawl_event_type)type;
    out->at_ms = next_safe(&reader, "at_ms is out of range");
    out->state = next_state(&reader);
    out->epoch = next_number(&reader, "epoch is out of range");
    out->version = next_number(&reader, "version is out of range");
    out->progress = next_real(&reader);
    out->retries = next_count(&reader, "retries is out of range");
    out->next_retry_at_ms = next_safe(&reader, "next_retry_at_ms is out of range");
    out->duration_ms = next_safe(&reader, "duration_ms is out of range");
    out->cause = (enum pawl_event_cause)next_within(&reader, PAWL_CAUSE_NONE, PAWL_CAUSE_COUNT - 1,
                                                    "cause is none that is known");
    out->actor = next_text(&reader);
    out->note = next_text(&reader);
    return reader.fault;
}

const char *pawl_row_consumer(const struct pawl_db_row *row, struct pawl_arena *arena,
                              struct pawl_consumer_row *out)
{
    struct reader reader = {.row = row, .arena = arena};
    *out = (struct pawl_consumer_row){0};
    out->key = next_int(&reader);
    out->name = next_text(&reader);
    out->cursor = next_int(&reader);
    out->seen_at_ms = next_int(&reader);
    return NULL;
}

const char *pawl_row_continuation(const struct pawl_db_row *row, struct pawl_arena *arena,
                                  struct pawl_continuation_row *out)
{
    struct reader reader = {.row = row, .arena = arena};
    *out = (struct pawl_continuation_row){0};
    out->key = next_key(&reader);
    out->kind = (enum pawl_continuation_kind)next_within(
        &reader, PAWL_CONTINUE_DEPENDENTS, PAWL_CONTINUE_LAST, "kind is none that is known");
    out->task = next_safe(&reader, "task is out of range");
    out->cursor = next_int(&reader);
    out->left = next_int(&reader);
    out->done = next_safe(&reader, "done is out of range");
    out->args = next_text(&reader);
    return reader.fault;
}

const char *pawl_row_checkpoint(const struct pawl_db_row *row, struct pawl_arena *arena,
                                struct pawl_checkpoint_row *out)
{
    struct reader reader = {.row = row, .arena = arena};
    *out = (struct pawl_checkpoint_row){0};
    out->key = next_key(&reader);
    out->task = next_safe(&reader, "task is out of range");
    out->step = (int32_t)next_within(&reader, INT32_MIN, INT32_MAX, "step is out of range");
    out->epoch = next_number(&reader, "epoch is out of range");
    out->at_ms = next_safe(&reader, "at_ms is out of range");
    out->state = next_text(&reader);
    return reader.fault;
}

const char *pawl_row_log(const struct pawl_db_row *row, struct pawl_log_row *out)
{
    struct reader reader = {.row = row};
    *out = (struct pawl_log_row){0};
    out->key = next_key(&reader);
    out->task = next_safe(&reader, "task is out of range");
    out->epoch = next_number(&reader, "epoch is out of range");
    out->at_ms = next_safe(&reader, "at_ms is out of range");
    out->text.len = (size_t)next_within(&reader, 0, INT32_MAX, "bytes is out of range");
    return reader.fault;
}

const char *pawl_row_late(const struct pawl_db_row *row, struct pawl_arena *arena,
                          struct pawl_late_row *out)
{
    struct reader reader = {.row = row, .arena = arena};
    *out = (struct pawl_late_row){0};
    out->key = next_key(&reader);
    out->task = next_safe(&reader, "task is out of range");
    out->epoch = next_number(&reader, "epoch is out of range");
    out->at_ms = next_safe(&reader, "at_ms is out of range");
    out->owner = next_text(&reader);
    out->kind = (enum pawl_outcome_kind)next_within(&reader, PAWL_OUTCOME_NONE, PAWL_OUTCOME_CANCEL,
                                                    "kind is none that is known");
    out->digest = next_int(&reader);
    out->is_holders = next_bool(&reader);
    return reader.fault;
}

const char *pawl_row_tombstone(const struct pawl_db_row *row, struct pawl_arena *arena,
                               struct pawl_tombstone_row *out)
{
    int64_t state = pawl_db_int64(row, 2);
    *out = (struct pawl_tombstone_row){
        .key = pawl_db_int64(row, 0),
        .id = pawl_row_text(row, 1, arena),
        .finished_at_ms = pawl_db_int64(row, 3),
        .removed_at_ms = pawl_db_int64(row, 4),
        .idempotency_key = pawl_row_text(row, 5, arena),
        .body_digest = pawl_db_int64(row, 6),
    };
    if (!pawl_task_state_is(state)) return "its state is none";
    out->state = (enum pawl_task_state)state;
    return NULL;
}

const char *pawl_row_definition(const struct pawl_db_row *row, struct pawl_arena *arena,
                                struct pawl_definition_row *out)
{
    struct reader reader = {.row = row, .arena = arena};
    *out = (struct pawl_definition_row){0};
    out->key = next_key(&reader);
    out->kind = (enum pawl_definition_kind)next_within(
        &reader, PAWL_DEFINITION_TASK, PAWL_DEFINITION_KIND_LAST, "kind is none that is known");
    out->name = next_text(&reader);
    out->version = next_within(&reader, INT32_MIN, INT32_MAX, "version is out of range");
    out->generation = next_within(&reader, 1, PAWL_NUMBER_MAX, "generation is out of range");
    out->created_at_ms = next_safe(&reader, "created_at_ms is out of range");
    out->updated_at_ms = next_safe(&reader, "updated_at_ms is out of range");
    out->created_by = next_text(&reader);
    out->updated_by = next_text(&reader);
    out->body = next_text(&reader);
    if (out->name.len == 0 && pawl_arena_code(arena) == PAWL_OK) return "name is empty";
    return reader.fault;
}

const char *pawl_row_workflow(const struct pawl_db_row *row, struct pawl_arena *arena,
                              struct pawl_workflow_row *out)
{
    struct reader reader = {.row = row, .arena = arena};
    *out = (struct pawl_workflow_row){0};
    out->key = next_key(&reader);
    out->id = next_text(&reader);
    out->name = next_text(&reader);
    out->definition_version =
        (int32_t)next_within(&reader, INT32_MIN, INT32_MAX, "definition_version is out of range");
    out->snapshot = next_safe(&reader, "snapshot is out of range");
    out->state = (enum pawl_workflow_state)next_within(
        &reader, 0, PAWL_WORKFLOW_STATE_COUNT - 1, "state is none that is known");
    out->priority = (int32_t)next_within(&reader, 0, PAWL_PRIORITY_MAX, "priority is out of range");
    out->run = next_safe(&reader, "run is out of range");
    out->version = next_number(&reader, "version is out of range");
    out->created_at_ms = next_safe(&reader, "created_at_ms is out of range");
    out->updated_at_ms = next_safe(&reader, "updated_at_ms is out of range");
    out->finished_at_ms = next_safe(&reader, "finished_at_ms is out of range");
    out->retried_at_ms = next_safe(&reader, "retried_at_ms is out of range");
    out->next_seq = next_safe(&reader, "next_seq is out of range");
    out->open = next_safe(&reader, "open is out of range");
    out->permissive = next_safe(&reader, "permissive is out of range");
    out->ahead = next_safe(&reader, "ahead is out of range");
    out->last = next_safe(&reader, "last is out of range");
    out->failed = next_safe(&reader, "failed is out of range");
    out->payloads = (uint32_t)next_within(&reader, 0, (INT64_C(1) << PAWL_WORKFLOW_PAYLOAD_COUNT) - 1,
                                          "payloads names a kind that is not known");
    out->correlation_id = next_text(&reader);
    out->idempotency_key = next_text(&reader);
    out->depth = next_count(&reader, "depth is out of range");
    return reader.fault != NULL ? reader.fault : pawl_workflow_row_fault(out);
}

/* Below 0 is a fault of the row (pawl_record_row_fault), which fsck can count again. */
static int32_t next_counter(struct reader *reader, const char *fault)
{
    return (int32_t)next_within(reader, -PAWL_COUNT_MAX, PAWL_COUNT_MAX, fault);
}

const char *pawl_row_record(const struct pawl_db_row *row, struct pawl_arena *arena,
                            struct pawl_record_row *out)
{
    struct reader reader = {.row = row, .arena = arena};
    *out = (struct pawl_record_row){0};
    out->task = next_safe(&reader, "task is out of range");
    out->workflow = next_safe(&reader, "workflow is out of range");
    out->run = next_safe(&reader, "run is out of range");
    out->seq = next_safe(&reader, "seq is out of range");
    out->node = next_count(&reader, "node is out of range");
    out->reference = next_text(&reader);
    out->status = (enum pawl_record_status)next_within(
        &reader, 0, PAWL_RECORD_STATUS_COUNT - 1, "status is none that is known");
    out->attempt = next_count(&reader, "attempt is out of range");
    out->predecessor = next_safe(&reader, "predecessor is out of range");
    out->is_superseded = next_bool(&reader);
    out->is_decided = next_bool(&reader);
    out->first_scheduled_at_ms = next_safe(&reader, "first_scheduled_at_ms is out of range");
    out->scheduled_at_ms = next_safe(&reader, "scheduled_at_ms is out of range");
    out->start_delay_s =
        next_within(&reader, 0, PAWL_DEFINED_SECONDS_MAX, "start_delay_s is out of range");
    out->callback_after_s =
        next_within(&reader, 0, PAWL_DEFINED_SECONDS_MAX, "callback_after_s is out of range");
    out->worker = next_text(&reader);
    out->domain = next_text(&reader);
    out->join_pending = next_counter(&reader, "join_pending is out of range");
    out->join_branches = next_counter(&reader, "join_branches is out of range");
    out->join_failed = next_counter(&reader, "join_failed is out of range");
    out->join_cancelled = next_counter(&reader, "join_cancelled is out of range");
    out->join_optional = next_counter(&reader, "join_optional is out of range");
    return reader.fault != NULL ? reader.fault : pawl_record_row_fault(out);
}
