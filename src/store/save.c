/* Writes what a set has changed and appended. Events come last, in the commit.
 *
 * Nothing here is waited for: all statements are sent, and what cannot be written is found at the
 * next flush. What could be refused has been refused when it was loaded; a constraint that fires
 * here is a fault of ours, or on PostgreSQL a lost race. */
#include "base/array.h"
#include "base/assert.h"
#include "base/error.h"
#include "core/limits.h"
#include "core/task/gate.h"
#include "store/handle.h"

static struct pawl_value rank_value(int64_t rank)
{
    return rank == PAWL_RANK_NONE ? pawl_null() : pawl_int(rank);
}

/* ---- Tasks ------------------------------------------------------------------------------------
 */

static enum pawl_code add_task(struct pawl_db *db, const struct pawl_task_row *task,
                               struct pawl_error *err)
{
    struct pawl_value values[] = {
        pawl_int(task->key),
        pawl_text(task->id),
        pawl_int(task->queue),
        pawl_int(task->state),
        pawl_int(task->priority),
        rank_value(task->rank),
        pawl_int_or_null(task->due_at_ms),
        pawl_int(task->version),
        pawl_int(task->epoch),
        pawl_int_or_null(task->lease_kind),
        pawl_int_or_null(task->owner),
        pawl_int_or_null(task->lease_ms),
        pawl_int_or_null(task->lease_end_at_ms),
        pawl_int_or_null(task->attempt_end_at_ms),
        pawl_int_or_null(task->timeout_ms),
        pawl_int(task->retry.max_retries),
        pawl_int(task->retry.backoff),
        pawl_int(task->retry.delay_ms),
        pawl_int(task->retry.delay_ms_max),
        pawl_int(task->retry.jitter_ms),
        pawl_int(task->retries),
        pawl_int(task->recoveries),
        pawl_int(task->crashes_in_row),
        pawl_int_or_null(task->ready_at_ms),
        pawl_int(task->created_at_ms),
        pawl_int(task->updated_at_ms),
        pawl_int_or_null(task->started_at_ms),
        pawl_int_or_null(task->finished_at_ms),
        pawl_real(task->progress),
        pawl_int(task->progress_epoch),
        pawl_int_or_null(task->progress_event_at_ms),
        pawl_int(task->control),
        pawl_int_or_null(task->control_deadline_at_ms),
        pawl_int(task->sequence),
        pawl_int_or_null(task->outcome_epoch),
        pawl_int_or_null(task->outcome_kind),
        pawl_int_or_null(task->outcome_digest),
        pawl_int(task->dependency_policy),
        pawl_int(task->open_dependencies),
        pawl_int_or_null(task->blocked_by),
        pawl_int(task->has_dependents),
        pawl_int(task->payloads),
        pawl_int(task->checkpoint_count),
        pawl_int(task->log_bytes),
        pawl_int(task->payload_bytes),
        pawl_int(task->checkpoint_bytes),
        pawl_text_or_null(task->title),
        pawl_text_or_null(task->correlation_id),
        pawl_text_or_null(task->idempotency_key),
        pawl_int_or_null(task->body_digest),
        pawl_int_or_null(task->run_at_ms),
        pawl_text_or_null(task->lease_place),
        pawl_int_or_null(task->workflow),
        pawl_int(task->claims),
        pawl_int_or_null(task->response_ms),
        pawl_int_or_null(task->gate),
    };
    return pawl_db_change(db, PAWL_SQL_TASK_ADD, values, PAWL_COUNT_OF(values), true, err);
}

/* Whether an update leaves every index of the table as it is, and whose work it is. */
static bool is_inside(const struct pawl_task_row *task, const struct pawl_task_row *was)
{
    return task->state == was->state && task->rank == was->rank &&
           task->due_at_ms == was->due_at_ms && task->finished_at_ms == was->finished_at_ms &&
           task->blocked_by == was->blocked_by && task->run_at_ms == was->run_at_ms &&
           task->gate == was->gate &&
           pawl_str_equal(task->lease_place, was->lease_place);
}

static enum pawl_code save_task(struct pawl_db *db, const struct pawl_task_row *task,
                                const struct pawl_task_row *was, struct pawl_error *err)
{
    struct pawl_value values[] = {
        pawl_int(task->key),
        pawl_int(was->state),
        pawl_int(was->epoch),
        pawl_int(task->version),
        pawl_int(task->epoch),
        pawl_int_or_null(task->lease_kind),
        pawl_int_or_null(task->owner),
        pawl_int_or_null(task->lease_ms),
        pawl_int_or_null(task->lease_end_at_ms),
        pawl_int_or_null(task->attempt_end_at_ms),
        pawl_int(task->retries),
        pawl_int(task->recoveries),
        pawl_int(task->crashes_in_row),
        pawl_int_or_null(task->ready_at_ms),
        pawl_int(task->updated_at_ms),
        pawl_int_or_null(task->started_at_ms),
        pawl_real(task->progress),
        pawl_int(task->progress_epoch),
        pawl_int_or_null(task->progress_event_at_ms),
        pawl_int(task->control),
        pawl_int_or_null(task->control_deadline_at_ms),
        pawl_int(task->sequence),
        pawl_int_or_null(task->outcome_epoch),
        pawl_int_or_null(task->outcome_kind),
        pawl_int_or_null(task->outcome_digest),
        pawl_int(task->open_dependencies),
        pawl_int(task->has_dependents),
        pawl_int(task->payloads),
        pawl_int(task->checkpoint_count),
        pawl_int(task->log_bytes),
        pawl_int(task->payload_bytes),
        pawl_int(task->checkpoint_bytes),
        pawl_int(task->claims),
        /* TASK_SAVE only: what indexes are made of, and what moves with the state */
        pawl_int(task->state),
        rank_value(task->rank),
        pawl_int_or_null(task->due_at_ms),
        pawl_int_or_null(task->finished_at_ms),
        pawl_int_or_null(task->blocked_by),
        pawl_int_or_null(task->run_at_ms),
        pawl_text_or_null(task->lease_place),
        pawl_int_or_null(task->gate),
    };
    enum { INDEXED_COUNT = 8 };
    size_t count = PAWL_COUNT_OF(values);
    if (is_inside(task, was)) {
        return pawl_db_change(db, PAWL_SQL_TASK_SAVE_INSIDE, values, count - INDEXED_COUNT, true,
                              err);
    }
    return pawl_db_change(db, PAWL_SQL_TASK_SAVE, values, count, true, err);
}

static enum pawl_code write_task(struct pawl_db *db, const struct pawl_entry *entry,
                                 struct pawl_error *err)
{
    const struct pawl_task_row *task = entry->row;
    const struct pawl_task_row *was = entry->saved;
    pawl_assert(task != NULL); /* tasks are not deleted in a step */
    pawl_assert(pawl_task_row_fault(task) == NULL);
    if (!entry->is_stored) return add_task(db, task, err);
    pawl_assert(was != NULL);
    pawl_assert(task->key == was->key && task->queue == was->queue);
    pawl_assert(task->epoch >= was->epoch);
    return save_task(db, task, was, err);
}

/* ---- Other rows -------------------------------------------------------------------------------
 */

static enum pawl_code write_queue(struct pawl_db *db, const struct pawl_entry *entry,
                                  struct pawl_error *err)
{
    const struct pawl_queue_row *queue = entry->row;
    struct pawl_value values[] = {
        pawl_int(queue->key),
        pawl_text(queue->name),
        pawl_int(queue->is_paused),
        pawl_int(queue->lease_ms),
        pawl_int(queue->retry.max_retries),
        pawl_int(queue->retry.backoff),
        pawl_int(queue->retry.delay_ms),
        pawl_int(queue->retry.delay_ms_max),
        pawl_int(queue->retry.jitter_ms),
    };
    if (!entry->is_stored) {
        return pawl_db_change(db, PAWL_SQL_QUEUE_ADD, values, PAWL_COUNT_OF(values), true, err);
    }
    values[1] = values[0]; /* the name does not change */
    return pawl_db_change(db, PAWL_SQL_QUEUE_SAVE, values + 1, PAWL_COUNT_OF(values) - 1, true,
                          err);
}

static enum pawl_code write_gate(struct pawl_db *db, const struct pawl_entry *entry,
                                 struct pawl_error *err)
{
    const struct pawl_gate_row *gate = entry->row;
    struct pawl_value values[] = {pawl_int(gate->key), pawl_text(gate->name), pawl_int(gate->held),
                                  pawl_blob_or_null(gate->starts)};
    if (!entry->is_stored) {
        return pawl_db_change(db, PAWL_SQL_GATE_ADD, values, PAWL_COUNT_OF(values), true, err);
    }
    values[1] = values[0]; /* the name does not change */
    return pawl_db_change(db, PAWL_SQL_GATE_SAVE, values + 1, PAWL_COUNT_OF(values) - 1, true, err);
}

static enum pawl_code write_worker(struct pawl_db *db, const struct pawl_entry *entry,
                                   struct pawl_error *err)
{
    const struct pawl_worker_row *worker = entry->row;
    struct pawl_value key = pawl_int(entry->number);
    if (worker == NULL) return pawl_db_change(db, PAWL_SQL_WORKER_REMOVE, &key, 1, false, err);
    struct pawl_value values[] = {
        pawl_int(worker->key),
        pawl_text(worker->id),
        pawl_text_or_null(worker->host),
        pawl_text_or_null(worker->boot),
        pawl_int_or_null(worker->pid),
        pawl_int(worker->started_at_ms),
        pawl_int(worker->seen_at_ms),
        pawl_text_or_null(worker->request_id),
        pawl_blob_or_null(worker->granted),
        pawl_text_or_null(worker->other_host),
        pawl_text_or_null(worker->other_boot),
        pawl_int_or_null(worker->other_pid),
        pawl_int_or_null(worker->shared_at_ms),
    };
    if (!entry->is_stored) {
        return pawl_db_change(db, PAWL_SQL_WORKER_ADD, values, PAWL_COUNT_OF(values), true, err);
    }
    values[1] = values[0]; /* the id does not change */
    return pawl_db_change(db, PAWL_SQL_WORKER_SAVE, values + 1, PAWL_COUNT_OF(values) - 1, true,
                          err);
}

static enum pawl_code write_payload(struct pawl_db *db, const struct pawl_entry *entry,
                                    struct pawl_error *err)
{
    const struct pawl_str *body = entry->row;
    struct pawl_value key = pawl_int(entry->number);
    if (body == NULL) return pawl_db_change(db, PAWL_SQL_PAYLOAD_REMOVE, &key, 1, false, err);
    struct pawl_value values[] = {key, pawl_text(*body)};
    return pawl_db_change(db, PAWL_SQL_PAYLOAD_PUT, values, PAWL_COUNT_OF(values), true, err);
}

static enum pawl_code remove_consumer(struct pawl_db *db, struct pawl_str name,
                                      struct pawl_error *err)
{
    struct pawl_value value = pawl_text(name);
    enum pawl_code code =
        pawl_db_change(db, PAWL_SQL_CONSUMER_REMOVE_ACKNOWLEDGEMENTS, &value, 1, false, err);
    if (code != PAWL_OK) return code;
    return pawl_db_change(db, PAWL_SQL_CONSUMER_REMOVE, &value, 1, false, err);
}

static enum pawl_code write_consumer(struct pawl_db *db, const struct pawl_entry *entry,
                                     struct pawl_error *err)
{
    const struct pawl_consumer_row *consumer = entry->row;
    if (consumer == NULL) return remove_consumer(db, entry->text, err);
    struct pawl_value values[] = {
        pawl_int(consumer->key),
        pawl_text(consumer->name),
        pawl_int(consumer->cursor),
        pawl_int(consumer->seen_at_ms),
    };
    if (!entry->is_stored) {
        return pawl_db_change(db, PAWL_SQL_CONSUMER_ADD, values, PAWL_COUNT_OF(values), true, err);
    }
    values[1] = values[0]; /* the name does not change */
    return pawl_db_change(db, PAWL_SQL_CONSUMER_SAVE, values + 1, PAWL_COUNT_OF(values) - 1, true,
                          err);
}

static enum pawl_code write_continuation(struct pawl_db *db, const struct pawl_entry *entry,
                                         struct pawl_error *err)
{
    const struct pawl_continuation_row *continuation = entry->row;
    struct pawl_value key = pawl_int(entry->number);
    if (continuation == NULL) {
        return pawl_db_change(db, PAWL_SQL_CONTINUATION_REMOVE, &key, 1, false, err);
    }
    if (entry->is_stored) {
        struct pawl_value values[] = {key, pawl_int(continuation->cursor),
                                      pawl_int(continuation->left), pawl_int(continuation->done)};
        return pawl_db_change(db, PAWL_SQL_CONTINUATION_SAVE, values, PAWL_COUNT_OF(values), true,
                              err);
    }
    struct pawl_value values[] = {
        key,
        pawl_int(continuation->kind),
        pawl_int(continuation->task),
        pawl_int(continuation->cursor),
        pawl_int(continuation->left),
        pawl_int(continuation->done),
        pawl_text_or_null(continuation->args),
    };
    return pawl_db_change(db, PAWL_SQL_CONTINUATION_ADD, values, PAWL_COUNT_OF(values), true, err);
}

static enum pawl_code write_import(struct pawl_db *db, const struct pawl_entry *entry,
                                   struct pawl_error *err)
{
    const struct pawl_import_row *import = entry->row;
    struct pawl_value values[] = {pawl_text(import->digest), pawl_text(import->name),
                                  pawl_int(import->at_ms), pawl_int(import->task_count)};
    return pawl_db_change(db, PAWL_SQL_IMPORT_ADD, values, PAWL_COUNT_OF(values), true, err);
}

static enum pawl_code write_definition(struct pawl_db *db, const struct pawl_entry *entry,
                                       struct pawl_error *err)
{
    const struct pawl_definition_row *definition = entry->row;
    if (definition == NULL) {
        int64_t kind;
        int64_t version;
        pawl_definition_number_read(entry->number, &kind, &version);
        struct pawl_value which[] = {pawl_int(kind), pawl_text(entry->text), pawl_int(version)};
        return pawl_db_change(db, PAWL_SQL_DEFINITION_REMOVE, which, PAWL_COUNT_OF(which), false,
                              err);
    }
    struct pawl_value values[] = {
        pawl_int(definition->key),
        pawl_int(definition->kind),
        pawl_text(definition->name),
        pawl_int(definition->version),
        pawl_int(definition->generation),
        pawl_int(definition->created_at_ms),
        pawl_int_or_null(definition->updated_at_ms),
        pawl_text_or_null(definition->created_by),
        pawl_text_or_null(definition->updated_by),
        pawl_text(definition->body),
    };
    return pawl_db_change(db, PAWL_SQL_DEFINITION_PUT, values, PAWL_COUNT_OF(values), true, err);
}

static enum pawl_code write_workflow(struct pawl_db *db, const struct pawl_entry *entry,
                                     struct pawl_error *err)
{
    const struct pawl_workflow_row *workflow = entry->row;
    if (workflow == NULL) return PAWL_OK; /* removed by an append */
    pawl_assert(pawl_workflow_row_fault(workflow) == NULL);
    if (!entry->is_stored) {
        struct pawl_value values[] = {
            pawl_int(workflow->key),
            pawl_text(workflow->id),
            pawl_text(workflow->name),
            pawl_int(workflow->definition_version),
            pawl_int(workflow->snapshot),
            pawl_int(workflow->state),
            pawl_int(workflow->priority),
            pawl_int(workflow->run),
            pawl_int(workflow->version),
            pawl_int(workflow->created_at_ms),
            pawl_int(workflow->updated_at_ms),
            pawl_int_or_null(workflow->finished_at_ms),
            pawl_int_or_null(workflow->retried_at_ms),
            pawl_int(workflow->next_seq),
            pawl_int(workflow->open),
            pawl_int(workflow->permissive),
            pawl_int(workflow->ahead),
            pawl_int_or_null(workflow->last),
            pawl_int_or_null(workflow->failed),
            pawl_int(workflow->payloads),
            pawl_text_or_null(workflow->correlation_id),
            pawl_text_or_null(workflow->idempotency_key),
            pawl_int(workflow->depth),
        };
        return pawl_db_change(db, PAWL_SQL_WORKFLOW_ADD, values, PAWL_COUNT_OF(values), true, err);
    }
    struct pawl_value values[] = {
        pawl_int(workflow->key),
        pawl_int(workflow->definition_version),
        pawl_int(workflow->snapshot),
        pawl_int(workflow->state),
        pawl_int(workflow->run),
        pawl_int(workflow->version),
        pawl_int(workflow->created_at_ms),
        pawl_int(workflow->updated_at_ms),
        pawl_int_or_null(workflow->finished_at_ms),
        pawl_int_or_null(workflow->retried_at_ms),
        pawl_int(workflow->next_seq),
        pawl_int(workflow->open),
        pawl_int(workflow->permissive),
        pawl_int(workflow->ahead),
        pawl_int_or_null(workflow->last),
        pawl_int_or_null(workflow->failed),
        pawl_int(workflow->payloads),
        pawl_text_or_null(workflow->correlation_id),
    };
    return pawl_db_change(db, PAWL_SQL_WORKFLOW_SAVE, values, PAWL_COUNT_OF(values), true, err);
}

static enum pawl_code write_record(struct pawl_db *db, const struct pawl_entry *entry,
                                   struct pawl_error *err)
{
    const struct pawl_record_row *record = entry->row;
    if (record == NULL) return PAWL_OK; /* removed by an append */
    pawl_assert(pawl_record_row_fault(record) == NULL);
    if (!entry->is_stored) {
        struct pawl_value values[] = {
            pawl_int(record->task),
            pawl_int(record->workflow),
            pawl_int(record->run),
            pawl_int(record->seq),
            pawl_int(record->node),
            pawl_text(record->reference),
            pawl_int(record->status),
            pawl_int(record->attempt),
            pawl_int_or_null(record->predecessor),
            pawl_int(record->is_superseded),
            pawl_int(record->is_decided),
            pawl_int(record->first_scheduled_at_ms),
            pawl_int(record->scheduled_at_ms),
            pawl_int(record->start_delay_s),
            pawl_int(record->callback_after_s),
            pawl_text_or_null(record->worker),
            pawl_text_or_null(record->domain),
            pawl_int_or_null(record->join_pending),
            pawl_int_or_null(record->join_branches),
            pawl_int_or_null(record->join_failed),
            pawl_int_or_null(record->join_cancelled),
            pawl_int_or_null(record->join_optional),
        };
        return pawl_db_change(db, PAWL_SQL_RECORD_ADD, values, PAWL_COUNT_OF(values), true, err);
    }
    struct pawl_value values[] = {
        pawl_int(record->task),
        pawl_int(record->run),
        pawl_int(record->seq),
        pawl_int(record->status),
        pawl_int(record->is_superseded),
        pawl_int(record->is_decided),
        pawl_int(record->first_scheduled_at_ms),
        pawl_int(record->scheduled_at_ms),
        pawl_int(record->start_delay_s),
        pawl_int(record->callback_after_s),
        pawl_text_or_null(record->worker),
        pawl_int_or_null(record->join_pending),
        pawl_int_or_null(record->join_branches),
        pawl_int_or_null(record->join_failed),
        pawl_int_or_null(record->join_cancelled),
        pawl_int_or_null(record->join_optional),
    };
    return pawl_db_change(db, PAWL_SQL_RECORD_SAVE, values, PAWL_COUNT_OF(values), true, err);
}

static enum pawl_code write_snapshot(struct pawl_db *db, const struct pawl_entry *entry,
                                     struct pawl_error *err)
{
    const struct pawl_snapshot_row *snapshot = entry->row;
    if (entry->is_stored) return PAWL_OK; /* it never changes */
    struct pawl_value values[] = {pawl_int(snapshot->key), pawl_text(snapshot->hash),
                                  pawl_text(snapshot->text)};
    return pawl_db_change(db, PAWL_SQL_SNAPSHOT_ADD, values, PAWL_COUNT_OF(values), true, err);
}

static enum pawl_code write_entry(struct pawl_db *db, const struct pawl_entry *entry,
                                  struct pawl_error *err)
{
    if (entry->row == NULL && !entry->is_stored) return PAWL_OK; /* came and went within the step */
    switch (entry->look) {
    case PAWL_LOOK_TASK:
        return write_task(db, entry, err);
    case PAWL_LOOK_QUEUE:
        return write_queue(db, entry, err);
    case PAWL_LOOK_WORKER:
        return write_worker(db, entry, err);
    case PAWL_LOOK_PAYLOAD:
        return write_payload(db, entry, err);
    case PAWL_LOOK_CONSUMER:
        return write_consumer(db, entry, err);
    case PAWL_LOOK_CONTINUATION:
        return write_continuation(db, entry, err);
    case PAWL_LOOK_IMPORT:
        return write_import(db, entry, err);
    case PAWL_LOOK_DEFINITION:
        return write_definition(db, entry, err);
    case PAWL_LOOK_DEFINITION_BELOW:
    case PAWL_LOOK_WORKFLOW:
        return write_workflow(db, entry, err);
    case PAWL_LOOK_RECORD:
        return write_record(db, entry, err);
    case PAWL_LOOK_GATE:
        return write_gate(db, entry, err);
    case PAWL_LOOK_SNAPSHOT:
        return write_snapshot(db, entry, err);
    case PAWL_LOOK_TASK_ID:
    case PAWL_LOOK_IDEMPOTENCY:
    case PAWL_LOOK_QUEUE_NAME:
    case PAWL_LOOK_WORKER_ID:
    case PAWL_LOOK_CHECKPOINT:
    case PAWL_LOOK_EVENT:
    case PAWL_LOOK_EVENTS:
    case PAWL_LOOK_ACK:
    case PAWL_LOOK_CURSOR_MIN:
    case PAWL_LOOK_READY:
    case PAWL_LOOK_DUE:
    case PAWL_LOOK_CONTINUATIONS:
    case PAWL_LOOK_DEPENDENTS:
    case PAWL_LOOK_DEPENDENCIES:
    case PAWL_LOOK_AWAITED:
    case PAWL_LOOK_LATE:
    case PAWL_LOOK_LOG_OLDEST:
    case PAWL_LOOK_DEAD:
    case PAWL_LOOK_CALENDAR:
    case PAWL_LOOK_STARTED:
    case PAWL_LOOK_STARTED_BY:
    case PAWL_LOOK_WORKERS_GONE:
    case PAWL_LOOK_TOMBSTONE_ID:
    case PAWL_LOOK_TOMBSTONE_KEY:
    case PAWL_LOOK_TOMBSTONES:
    case PAWL_LOOK_EVENT_LAST:
    case PAWL_LOOK_WAITING:
    case PAWL_LOOK_FINISHED:
    case PAWL_LOOK_WORKFLOW_ID:
    case PAWL_LOOK_WORKFLOW_KEYED:
    case PAWL_LOOK_RECORD_LATEST:
    case PAWL_LOOK_SNAPSHOT_HASH:
    case PAWL_LOOK_RECORDS_TOUCHED:
    case PAWL_LOOK_PARSED:
    case PAWL_LOOK_GATE_NAME:
    case PAWL_LOOK_TASK_DEFINITION:
    case PAWL_LOOK_RECORDS_OPEN:
    case PAWL_LOOK_RECORDS_UNDECIDED:
    case PAWL_LOOK_RECORDS_BAD:
    case PAWL_LOOK_RECORDS:
        return PAWL_OK; /* written as other rows, or by appends */
    }
    return PAWL_OK;
}

/* ---- Appends ----------------------------------------------------------------------------------
 */

static enum pawl_code write_dependency(struct pawl_db *db, const struct pawl_dependency_row *row,
                                       struct pawl_error *err)
{
    struct pawl_value values[] = {
        pawl_int(row->task),       pawl_int(row->number),
        pawl_int_or_null(row->on), row->on == 0 ? pawl_text(row->on_id) : pawl_null(),
        pawl_int(row->is_open),
    };
    return pawl_db_change(db, PAWL_SQL_DEPENDENCY_ADD, values, PAWL_COUNT_OF(values), true, err);
}

static enum pawl_code write_checkpoint(struct pawl_db *db, const struct pawl_checkpoint_row *row,
                                       struct pawl_error *err)
{
    struct pawl_value values[] = {
        pawl_int(row->key),   pawl_int(row->task),  pawl_int(row->step),
        pawl_int(row->epoch), pawl_int(row->at_ms), pawl_text(row->state),
    };
    return pawl_db_change(db, PAWL_SQL_CHECKPOINT_ADD, values, PAWL_COUNT_OF(values), true, err);
}

static enum pawl_code write_log(struct pawl_db *db, const struct pawl_log_row *row,
                                struct pawl_error *err)
{
    struct pawl_value values[] = {
        pawl_int(row->key),
        pawl_int(row->task),
        pawl_int(row->epoch),
        pawl_int(row->at_ms),
        pawl_int((int64_t)row->text.len),
        pawl_text(row->text),
    };
    return pawl_db_change(db, PAWL_SQL_LOG_ADD, values, PAWL_COUNT_OF(values), true, err);
}

static enum pawl_code write_late(struct pawl_db *db, const struct pawl_late_row *row,
                                 struct pawl_error *err)
{
    struct pawl_value values[] = {
        pawl_int(row->key),    pawl_int(row->task),   pawl_int(row->epoch),
        pawl_int(row->at_ms),  pawl_text(row->owner), pawl_int(row->kind),
        pawl_int(row->digest), pawl_text(row->body),  pawl_int(row->is_holders),
    };
    return pawl_db_change(db, PAWL_SQL_LATE_ADD, values, PAWL_COUNT_OF(values), true, err);
}

static enum pawl_code prune_events(struct pawl_db *db, const struct pawl_event_prune *prune,
                                   struct pawl_error *err)
{
    struct pawl_value values[] = {pawl_int(prune->task), pawl_int(prune->kept),
                                  pawl_int(prune->position_max), pawl_int(prune->limit)};
    return pawl_db_change(db, PAWL_SQL_EVENT_PRUNE, values, PAWL_COUNT_OF(values), false, err);
}

static enum pawl_code by_key(struct pawl_db *db, enum pawl_statement statement, const int64_t *key,
                             struct pawl_error *err)
{
    struct pawl_value value = pawl_int(*key);
    return pawl_db_change(db, statement, &value, 1, false, err);
}

static enum pawl_code by_pair(struct pawl_db *db, enum pawl_statement statement, int64_t first,
                              int64_t second, struct pawl_error *err)
{
    struct pawl_value values[] = {pawl_int(first), pawl_int(second)};
    return pawl_db_change(db, statement, values, PAWL_COUNT_OF(values), false, err);
}

static enum pawl_code remove_remains(struct pawl_db *db, int64_t task, struct pawl_error *err)
{
    enum pawl_code code = by_pair(db, PAWL_SQL_EVENT_REMOVE, task, PAWL_REMAINS_AT_ONCE, err);
    if (code != PAWL_OK) return code;
    return by_pair(db, PAWL_SQL_LOG_REMOVE_OLDEST, task, PAWL_REMAINS_AT_ONCE, err);
}

/* The row becomes its tombstone; what lies beside it goes, as far as the row knows of any. */
static enum pawl_code remove_task(struct pawl_db *db, const struct pawl_removal *removal,
                                  struct pawl_error *err)
{
    const struct pawl_task_row *task = removal->task;
    struct pawl_value row[] = {pawl_int(task->key), pawl_int(task->state), pawl_int(task->epoch)};
    struct pawl_value stone[] = {
        pawl_int(task->key),
        pawl_text(task->id),
        pawl_int(task->state),
        pawl_int(task->finished_at_ms),
        pawl_int(removal->at_ms),
        pawl_text_or_null(task->idempotency_key),
        pawl_int_or_null(task->body_digest),
    };
    int64_t payload = task->key * PAWL_PAYLOAD_KINDS_MAX;
    enum pawl_code code =
        pawl_db_change(db, PAWL_SQL_TASK_REMOVE, row, PAWL_COUNT_OF(row), true, err);
    if (code == PAWL_OK) {
        code = pawl_db_change(db, PAWL_SQL_TOMBSTONE_ADD, stone, PAWL_COUNT_OF(stone), true, err);
    }
    if (code == PAWL_OK && task->payloads != 0) {
        code = by_pair(db, PAWL_SQL_PAYLOADS_REMOVE, payload, payload + PAWL_PAYLOAD_KINDS_MAX - 1,
                       err);
    }
    if (code == PAWL_OK) code = by_key(db, PAWL_SQL_DEPENDENCIES_REMOVE, &task->key, err);
    if (code == PAWL_OK && task->checkpoint_count > 0) {
        code = by_key(db, PAWL_SQL_CHECKPOINTS_REMOVE, &task->key, err);
    }
    if (code == PAWL_OK) code = by_key(db, PAWL_SQL_LATES_REMOVE, &task->key, err);
    return code == PAWL_OK ? remove_remains(db, task->key, err) : code;
}

/* The task with its record; of a long history or log the rest goes by a continuation. */
static enum pawl_code remove_record(struct pawl_db *db, const struct pawl_task_row *task,
                                    struct pawl_error *err)
{
    struct pawl_value row[] = {pawl_int(task->key), pawl_int(task->state), pawl_int(task->epoch)};
    int64_t payload = task->key * PAWL_PAYLOAD_KINDS_MAX;
    enum pawl_code code =
        pawl_db_change(db, PAWL_SQL_TASK_REMOVE, row, PAWL_COUNT_OF(row), true, err);
    if (code == PAWL_OK) code = by_key(db, PAWL_SQL_RECORD_REMOVE, &task->key, err);
    if (code == PAWL_OK && task->payloads != 0) {
        code = by_pair(db, PAWL_SQL_PAYLOADS_REMOVE, payload, payload + PAWL_PAYLOAD_KINDS_MAX - 1,
                       err);
    }
    if (code == PAWL_OK && task->checkpoint_count > 0) {
        code = by_key(db, PAWL_SQL_CHECKPOINTS_REMOVE, &task->key, err);
    }
    if (code == PAWL_OK) code = by_key(db, PAWL_SQL_LATES_REMOVE, &task->key, err);
    return code == PAWL_OK ? remove_remains(db, task->key, err) : code;
}

static enum pawl_code remove_workflow(struct pawl_db *db, const struct pawl_workflow_row *workflow,
                                      struct pawl_error *err)
{
    int64_t payload = workflow->key * PAWL_PAYLOAD_KINDS_MAX;
    enum pawl_code code = by_key(db, PAWL_SQL_WORKFLOW_REMOVE, &workflow->key, err);
    if (code != PAWL_OK) return code;
    return by_pair(db, PAWL_SQL_PAYLOADS_REMOVE, payload, payload + PAWL_PAYLOAD_KINDS_MAX - 1, err);
}

static enum pawl_code compact(struct pawl_db *db, const struct pawl_compacting *asked,
                              struct pawl_error *err)
{
    if (db->driver->compact == NULL) {
        return pawl_error_set(err, PAWL_UNSUPPORTED, "only a SQLite file can be made smaller");
    }
    return db->driver->compact(db, asked, err);
}

static enum pawl_code write_append(struct pawl_db *db, enum pawl_append_kind kind, const void *item,
                                   struct pawl_error *err)
{
    const struct pawl_dependency_row *dependency = item;
    const struct pawl_ack *ack = item;
    switch (kind) {
    case PAWL_APPEND_DEPENDENCY:
        return write_dependency(db, dependency, err);
    case PAWL_APPEND_DEPENDENCY_DONE:
        return by_pair(db, PAWL_SQL_DEPENDENCY_DONE, dependency->task, dependency->number, err);
    case PAWL_APPEND_DEPENDENCIES_DONE:
        return by_key(db, PAWL_SQL_DEPENDENCIES_DONE, item, err);
    case PAWL_APPEND_DEPENDENCY_FOUND: {
        struct pawl_value values[] = {pawl_int(dependency->task), pawl_int(dependency->number),
                                      pawl_int(dependency->on)};
        return pawl_db_change(db, PAWL_SQL_DEPENDENCY_FOUND, values, PAWL_COUNT_OF(values), false,
                              err);
    }
    case PAWL_APPEND_CHECKPOINT:
        return write_checkpoint(db, item, err);
    case PAWL_APPEND_CHECKPOINT_PRUNE:
        return by_key(db, PAWL_SQL_CHECKPOINT_PRUNE, item, err);
    case PAWL_APPEND_LOG:
        return write_log(db, item, err);
    case PAWL_APPEND_LOG_PRUNE:
        return by_key(db, PAWL_SQL_LOG_REMOVE, item, err);
    case PAWL_APPEND_LATE:
        return write_late(db, item, err);
    case PAWL_APPEND_LATE_PRUNE:
        return by_key(db, PAWL_SQL_LATE_REMOVE, item, err);
    case PAWL_APPEND_ACK:
        return by_pair(db, PAWL_SQL_ACKNOWLEDGEMENT_ADD, ack->consumer, ack->position, err);
    case PAWL_APPEND_ACK_PRUNE:
        return by_pair(db, PAWL_SQL_ACKNOWLEDGEMENT_PRUNE, ack->consumer, ack->position, err);
    case PAWL_APPEND_EVENT_PRUNE:
        return prune_events(db, item, err);
    case PAWL_APPEND_REMOVAL:
        return remove_task(db, item, err);
    case PAWL_APPEND_REMAINS:
        return remove_remains(db, *(const int64_t *)item, err);
    case PAWL_APPEND_TOMBSTONE_PRUNE:
        return by_key(db, PAWL_SQL_TOMBSTONE_REMOVE, item, err);
    case PAWL_APPEND_RECORD_REMOVAL:
        return remove_record(db, ((const struct pawl_removal *)item)->task, err);
    case PAWL_APPEND_WORKFLOW_REMOVAL:
        return remove_workflow(db, item, err);
    case PAWL_APPEND_COMPACT:
        return compact(db, item, err);
    case PAWL_APPEND_NOTICE:     /* for the log */
    case PAWL_APPEND_EVENT:      /* in the commit */
    case PAWL_APPEND_KIND_COUNT: /* no kind */
        break;
    }
    return PAWL_OK;
}

/* Asks of one statement follow each other (db.h). */
enum run {
    RUN_TASK_ADD,
    RUN_TASK_SAVE,
    RUN_TASK_SAVE_INSIDE,
    RUN_PAYLOAD,
    RUN_WORKFLOW_ADD,
    RUN_WORKFLOW_SAVE,
    RUN_RECORD_SAVE, /* before those that are added: what was the latest of its reference is not any more */
    RUN_RECORD_ADD,
    RUN_OTHER,
    RUN_COUNT
};

static enum run run_of(const struct pawl_entry *entry)
{
    if (entry->look == PAWL_LOOK_PAYLOAD) return RUN_PAYLOAD;
    if (entry->look == PAWL_LOOK_WORKFLOW) return entry->is_stored ? RUN_WORKFLOW_SAVE : RUN_WORKFLOW_ADD;
    if (entry->look == PAWL_LOOK_RECORD) return entry->is_stored ? RUN_RECORD_SAVE : RUN_RECORD_ADD;
    if (entry->look != PAWL_LOOK_TASK) return RUN_OTHER;
    if (!entry->is_stored) return RUN_TASK_ADD;
    return is_inside(entry->row, entry->saved) ? RUN_TASK_SAVE_INSIDE : RUN_TASK_SAVE;
}

static enum pawl_code write_run(struct pawl_store *store, const struct pawl_set *set, enum run run,
                                struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    for (const struct pawl_entry *entry = set->changed; entry != NULL && code == PAWL_OK;
         entry = entry->next_changed) {
        if (!entry->is_changed || run_of(entry) != run) continue; /* not changed: undone */
        store->is_dirty = true;
        code = write_entry(store->db, entry, err);
    }
    return code;
}

enum pawl_code pawl_store_save(struct pawl_store *store, struct pawl_set *set,
                               struct pawl_error *err)
{
    enum pawl_code code = PAWL_OK;
    pawl_assert(store->is_begun);
    for (int run = 0; run < RUN_COUNT && code == PAWL_OK; run++) {
        code = write_run(store, set, (enum run)run, err);
    }
    for (int kind = 0; kind < PAWL_APPEND_KIND_COUNT; kind++) {
        const struct pawl_append *append = &set->appends[kind];
        if (kind == PAWL_APPEND_EVENT || kind == PAWL_APPEND_NOTICE) continue;
        for (size_t i = 0; i < append->count && code == PAWL_OK; i++) {
            store->is_dirty = true;
            code = write_append(store->db, (enum pawl_append_kind)kind, ((void **)append->items)[i],
                                err);
        }
    }
    /* no flush: the next load or the commit answers for it, in one round trip */
    if (code == PAWL_OK) code = pawl_db_cut(store->db, err);
    if (code == PAWL_OK) pawl_set_saved(set);
    return code;
}
