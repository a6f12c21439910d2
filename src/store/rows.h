/* Rows of an answer, as the structs of core. Shared by the loads of a step and the reads of people.
 *
 * Each function reads the columns of one statement family, whose order is the contract written
 * above it; statements.sql keeps to it. Numbers are checked to be what they may be. Texts are
 * copied into the arena.
 *
 * Returns NULL, or what is wrong with the row as static text; then *out is of no use. When the
 * arena is full (pawl_arena_code), neither row nor fault means anything: ask that first. */
#ifndef PAWL_STORE_ROWS_H
#define PAWL_STORE_ROWS_H

#include "base/arena.h"
#include "core/task/event.h"
#include "core/task/gate.h"
#include "core/workflow/registered.h"
#include "core/workflow/workflow.h"
#include "store/db.h"

/* key, id, queue, state, priority, rank, due_at_ms, version, epoch, lease_kind, owner, lease_ms,
 * lease_end_at_ms, attempt_end_at_ms, timeout_ms, max_retries, backoff, delay_ms, delay_ms_max,
 * jitter_ms, retries, recoveries, crashes_in_row, ready_at_ms, created_at_ms, updated_at_ms,
 * started_at_ms, finished_at_ms, progress, progress_epoch, progress_event_at_ms, control,
 * control_deadline_at_ms, sequence, outcome_epoch, outcome_kind, outcome_digest, dependency_policy,
 * open_dependencies, blocked_by, has_dependents, payloads, checkpoint_count, log_bytes,
 * payload_bytes, checkpoint_bytes, title, correlation_id, idempotency_key, body_digest,
 * run_at_ms, lease_place, workflow, claims, response_ms, gate */
enum { PAWL_ROW_TASK_COLUMNS = 56 }; /* more columns may follow */
const char *pawl_row_task(const struct pawl_db_row *row, struct pawl_arena *arena,
                          struct pawl_task_row *out);

/* key, name, is_paused, lease_ms, max_retries, backoff, delay_ms, delay_ms_max, jitter_ms
 *
 * A fault leaves *out usable all the same: with the built-in lease and retry policy. */
enum { PAWL_ROW_QUEUE_COLUMNS = 9 };
const char *pawl_row_queue(const struct pawl_db_row *row, struct pawl_arena *arena,
                           struct pawl_queue_row *out);

/* key, id, host, boot, pid, started_at_ms, seen_at_ms, request_id, granted
 *
 * A fault leaves *out usable all the same: without grants to repeat. */
enum { PAWL_ROW_WORKER_COLUMNS = 10 };
const char *pawl_row_worker(const struct pawl_db_row *row, struct pawl_arena *arena,
                            struct pawl_worker_row *out);

/* key, name, held, starts
 *
 * A fault leaves *out usable all the same: with nothing counted. */
enum { PAWL_ROW_GATE_COLUMNS = 4 };
const char *pawl_row_gate(const struct pawl_db_row *row, struct pawl_arena *arena,
                          struct pawl_gate_row *out);

/* task, number, on_key, on_id, is_open */
enum { PAWL_ROW_DEPENDENCY_COLUMNS = 5 };
const char *pawl_row_dependency(const struct pawl_db_row *row, struct pawl_arena *arena,
                                struct pawl_dependency_row *out);

/* position, task, sequence, type, at_ms, state, epoch, version, progress, retries,
 * next_retry_at_ms, duration_ms, cause, actor, note */
enum { PAWL_ROW_EVENT_COLUMNS = 15 };
const char *pawl_row_event(const struct pawl_db_row *row, struct pawl_arena *arena,
                           struct pawl_event_row *out);

/* key, name, cursor, seen_at_ms */
enum { PAWL_ROW_CONSUMER_COLUMNS = 4 };
const char *pawl_row_consumer(const struct pawl_db_row *row, struct pawl_arena *arena,
                              struct pawl_consumer_row *out);

/* key, kind, task, cursor, remaining, done, args */
enum { PAWL_ROW_CONTINUATION_COLUMNS = 7 };
const char *pawl_row_continuation(const struct pawl_db_row *row, struct pawl_arena *arena,
                                  struct pawl_continuation_row *out);

/* key, task, step, epoch, at_ms, state */
enum { PAWL_ROW_CHECKPOINT_COLUMNS = 6 };
const char *pawl_row_checkpoint(const struct pawl_db_row *row, struct pawl_arena *arena,
                                struct pawl_checkpoint_row *out);

/* key, task, epoch, at_ms, bytes; the text has its length only */
enum { PAWL_ROW_LOG_COLUMNS = 5 };
const char *pawl_row_log(const struct pawl_db_row *row, struct pawl_log_row *out);

/* key, task, epoch, at_ms, owner, kind, digest; the body is left out */
enum { PAWL_ROW_LATE_COLUMNS = 7 };
const char *pawl_row_late(const struct pawl_db_row *row, struct pawl_arena *arena,
                          struct pawl_late_row *out);

/* key, id, state, finished_at_ms, removed_at_ms, idempotency_key, body_digest */
enum { PAWL_ROW_TOMBSTONE_COLUMNS = 7 };
const char *pawl_row_tombstone(const struct pawl_db_row *row, struct pawl_arena *arena,
                               struct pawl_tombstone_row *out);

/* key, kind, name, version, generation, created_at_ms, updated_at_ms, created_by, updated_by, body */
enum { PAWL_ROW_DEFINITION_COLUMNS = 10 };
const char *pawl_row_definition(const struct pawl_db_row *row, struct pawl_arena *arena,
                                struct pawl_definition_row *out);
/* key, id, name, definition_version, snapshot, state, priority, run, version, created_at_ms,
 * updated_at_ms, finished_at_ms, retried_at_ms, next_seq, open, permissive, ahead, last, failed,
 * payloads, correlation_id, idempotency_key, depth */
enum { PAWL_ROW_WORKFLOW_COLUMNS = 23 };
const char *pawl_row_workflow(const struct pawl_db_row *row, struct pawl_arena *arena,
                              struct pawl_workflow_row *out);

/* task, workflow, run, seq, node, reference, status, attempt, predecessor, is_superseded, is_decided,
 * first_scheduled_at_ms, scheduled_at_ms, start_delay_s, callback_after_s, worker, domain,
 * join_pending, join_branches, join_failed, join_cancelled, join_optional */
enum { PAWL_ROW_RECORD_COLUMNS = 22 };
const char *pawl_row_record(const struct pawl_db_row *row, struct pawl_arena *arena,
                            struct pawl_record_row *out);

/* A copy in the arena; empty stays empty. */
struct pawl_str pawl_row_text(const struct pawl_db_row *row, int32_t column,
                              struct pawl_arena *arena);

#endif
