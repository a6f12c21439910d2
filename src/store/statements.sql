-- Every statement of Pawl. A block is `-- name: X` for both stores, or `-- name: X sqlite` and
-- `-- name: X postgres`. Parameters are ?1, ?2 ...; whole numbers are bigint, truth is 0 or 1. Above each
-- stands the index that serves it. Column order is a contract (rows.h). What a step asks for many rows in a row
-- is marked `many`, with the types of parameters that are not bigint: PostgreSQL then gets a bundle of asks as
-- one statement, over arrays (tools/sql_to_c).
--
-- First what a step needs: transactions, head, loads by look (load.c), then the writes (save.c).

-- name: BEGIN_WRITE sqlite
-- Takes the write lock of the file at once: a transaction that began as a read could not get it later.
BEGIN IMMEDIATE;

-- name: BEGIN_READ sqlite
-- One state of everything, until it ends.
BEGIN;

-- name: BEGIN_WRITE postgres
-- Sees what is committed, statement by statement: what follows HEAD_LOCK reads what was there once it had
-- the lock.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;

-- name: BEGIN_READ postgres
-- One state of everything, until it ends.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: COMMIT
COMMIT;

-- name: ROLLBACK
ROLLBACK;

-- name: META_ADD
-- The first rows of a new store.
INSERT INTO meta (one, schema_version, store_id, boot_id, clock_offset_ms)
VALUES (1, ?1, ?2, ?3, ?4);

-- name: HEAD_ADD
INSERT INTO head (one, position, next_key, now_ms) VALUES (1, 0, 1, ?1);

-- name: META_GET
-- meta, by its key. Read before a schema is known to be the newest: these columns are those of all versions.
SELECT schema_version, store_id, boot_id, clock_offset_ms
FROM meta
WHERE one = 1
LIMIT 1;

-- name: META_VERSION
-- meta, by its key. Schema files have been applied.
UPDATE meta SET schema_version = ?1 WHERE one = 1;

-- name: META_CLOCK
-- meta, by its key. The clock is tied to another boot.
UPDATE meta SET boot_id = ?1, clock_offset_ms = ?2 WHERE one = 1;

-- name: HEAD_LOCK
-- head, by its key; its row stays locked until the transaction ends (SQLite has locked the file). On
-- PostgreSQL whoever has this row has the turn: so far the steps of all processes of a cluster go one after
-- the other. Steps of many nodes at once will lock the roots they touch, and this row at their end.
-- postgres: FOR UPDATE
SELECT position, next_key, now_ms, wall_offset_ms, generation
FROM head
WHERE one = 1
LIMIT 1;

-- name: HEAD_SAVE
-- head, by its key.
UPDATE head
SET position = ?1, next_key = ?2, now_ms = ?3, wall_offset_ms = ?4, generation = ?5
WHERE one = 1;

-- name: CLOCK_GET
-- head and meta, by their keys. The columns are the first of NEXT_DUE.
SELECT head.now_ms, meta.boot_id, meta.clock_offset_ms
FROM head, meta
WHERE head.one = 1 AND meta.one = 1
LIMIT 1;

-- name: NEXT_DUE
-- task_due and task_calendar, their first entries; continuation, any that is due; head and meta by their keys.
SELECT head.now_ms, meta.boot_id, meta.clock_offset_ms,
       (SELECT due_at_ms FROM task WHERE due_at_ms IS NOT NULL ORDER BY due_at_ms, key LIMIT 1),
       (SELECT 1 FROM continuation WHERE remaining >= 0 LIMIT 1), head.wall_offset_ms,
       (SELECT 1 FROM task WHERE run_at_ms IS NOT NULL ORDER BY key LIMIT 1)
FROM head, meta
WHERE head.one = 1 AND meta.one = 1
LIMIT 1;

-- name: READY_ANY
-- queue by its name, then the first entry of task_ready.
SELECT 1
FROM queue
WHERE name = ?1 AND is_paused = 0
  AND (SELECT 1 FROM task WHERE task.queue = queue.key AND task.rank IS NOT NULL LIMIT 1) IS NOT NULL
LIMIT 1;

-- Tasks, in the columns of pawl_row_task. On PostgreSQL a step locks what it may change as it reads it; while
-- the row of head orders all steps, nobody ever waits for these locks.

-- name: TASK_BY_KEY
-- task, by its key.
-- postgres: FOR NO KEY UPDATE
-- many:
SELECT key, id, queue, state, priority, rank, due_at_ms, version, epoch, lease_kind, owner, lease_ms,
       lease_end_at_ms, attempt_end_at_ms, timeout_ms, max_retries, backoff, delay_ms, delay_ms_max,
       jitter_ms, retries, recoveries, crashes_in_row, ready_at_ms, created_at_ms, updated_at_ms,
       started_at_ms, finished_at_ms, progress, progress_epoch, progress_event_at_ms, control,
       control_deadline_at_ms, sequence, outcome_epoch, outcome_kind, outcome_digest, dependency_policy,
       open_dependencies, blocked_by, has_dependents, payloads, checkpoint_count, log_bytes,
       payload_bytes, checkpoint_bytes, title, correlation_id, idempotency_key, body_digest, run_at_ms,
       lease_place, workflow, claims, response_ms, gate
FROM task
WHERE key = ?1
LIMIT 1;

-- name: TASK_BY_ID
-- The unique index of task.id.
-- postgres: FOR NO KEY UPDATE
-- many: 1 text
SELECT key, id, queue, state, priority, rank, due_at_ms, version, epoch, lease_kind, owner, lease_ms,
       lease_end_at_ms, attempt_end_at_ms, timeout_ms, max_retries, backoff, delay_ms, delay_ms_max,
       jitter_ms, retries, recoveries, crashes_in_row, ready_at_ms, created_at_ms, updated_at_ms,
       started_at_ms, finished_at_ms, progress, progress_epoch, progress_event_at_ms, control,
       control_deadline_at_ms, sequence, outcome_epoch, outcome_kind, outcome_digest, dependency_policy,
       open_dependencies, blocked_by, has_dependents, payloads, checkpoint_count, log_bytes,
       payload_bytes, checkpoint_bytes, title, correlation_id, idempotency_key, body_digest, run_at_ms,
       lease_place, workflow, claims, response_ms, gate
FROM task
WHERE id = ?1
LIMIT 1;

-- name: TASK_BY_IDEMPOTENCY
-- task_idempotency.
-- postgres: FOR NO KEY UPDATE
-- many: 1 text
SELECT key, id, queue, state, priority, rank, due_at_ms, version, epoch, lease_kind, owner, lease_ms,
       lease_end_at_ms, attempt_end_at_ms, timeout_ms, max_retries, backoff, delay_ms, delay_ms_max,
       jitter_ms, retries, recoveries, crashes_in_row, ready_at_ms, created_at_ms, updated_at_ms,
       started_at_ms, finished_at_ms, progress, progress_epoch, progress_event_at_ms, control,
       control_deadline_at_ms, sequence, outcome_epoch, outcome_kind, outcome_digest, dependency_policy,
       open_dependencies, blocked_by, has_dependents, payloads, checkpoint_count, log_bytes,
       payload_bytes, checkpoint_bytes, title, correlation_id, idempotency_key, body_digest, run_at_ms,
       lease_place, workflow, claims, response_ms, gate
FROM task
WHERE idempotency_key = ?1
LIMIT 1;

-- name: TASKS_READY
-- task_ready, in its order: exactly what may be claimed now.
-- postgres: FOR NO KEY UPDATE
SELECT key, id, queue, state, priority, rank, due_at_ms, version, epoch, lease_kind, owner, lease_ms,
       lease_end_at_ms, attempt_end_at_ms, timeout_ms, max_retries, backoff, delay_ms, delay_ms_max,
       jitter_ms, retries, recoveries, crashes_in_row, ready_at_ms, created_at_ms, updated_at_ms,
       started_at_ms, finished_at_ms, progress, progress_epoch, progress_event_at_ms, control,
       control_deadline_at_ms, sequence, outcome_epoch, outcome_kind, outcome_digest, dependency_policy,
       open_dependencies, blocked_by, has_dependents, payloads, checkpoint_count, log_bytes,
       payload_bytes, checkpoint_bytes, title, correlation_id, idempotency_key, body_digest, run_at_ms,
       lease_place, workflow, claims, response_ms, gate
FROM task
WHERE queue = ?1 AND rank IS NOT NULL
ORDER BY rank, key
LIMIT ?2;

-- name: TASKS_DUE
-- task_due, in its order.
-- postgres: FOR NO KEY UPDATE
SELECT key, id, queue, state, priority, rank, due_at_ms, version, epoch, lease_kind, owner, lease_ms,
       lease_end_at_ms, attempt_end_at_ms, timeout_ms, max_retries, backoff, delay_ms, delay_ms_max,
       jitter_ms, retries, recoveries, crashes_in_row, ready_at_ms, created_at_ms, updated_at_ms,
       started_at_ms, finished_at_ms, progress, progress_epoch, progress_event_at_ms, control,
       control_deadline_at_ms, sequence, outcome_epoch, outcome_kind, outcome_digest, dependency_policy,
       open_dependencies, blocked_by, has_dependents, payloads, checkpoint_count, log_bytes,
       payload_bytes, checkpoint_bytes, title, correlation_id, idempotency_key, body_digest, run_at_ms,
       lease_place, workflow, claims, response_ms, gate
FROM task
WHERE due_at_ms <= ?1
ORDER BY due_at_ms, key
LIMIT ?2;

-- name: TASKS_DEAD
-- task_aside, in its order. 8 = DEAD_LETTER.
-- postgres: FOR NO KEY UPDATE
SELECT key, id, queue, state, priority, rank, due_at_ms, version, epoch, lease_kind, owner, lease_ms,
       lease_end_at_ms, attempt_end_at_ms, timeout_ms, max_retries, backoff, delay_ms, delay_ms_max,
       jitter_ms, retries, recoveries, crashes_in_row, ready_at_ms, created_at_ms, updated_at_ms,
       started_at_ms, finished_at_ms, progress, progress_epoch, progress_event_at_ms, control,
       control_deadline_at_ms, sequence, outcome_epoch, outcome_kind, outcome_digest, dependency_policy,
       open_dependencies, blocked_by, has_dependents, payloads, checkpoint_count, log_bytes,
       payload_bytes, checkpoint_bytes, title, correlation_id, idempotency_key, body_digest, run_at_ms,
       lease_place, workflow, claims, response_ms, gate
FROM task
WHERE state = 8 AND workflow IS NULL AND key > ?1
ORDER BY key
LIMIT ?2;

-- name: TASKS_CALENDAR
-- task_calendar, in its order.
-- postgres: FOR NO KEY UPDATE
SELECT key, id, queue, state, priority, rank, due_at_ms, version, epoch, lease_kind, owner, lease_ms,
       lease_end_at_ms, attempt_end_at_ms, timeout_ms, max_retries, backoff, delay_ms, delay_ms_max,
       jitter_ms, retries, recoveries, crashes_in_row, ready_at_ms, created_at_ms, updated_at_ms,
       started_at_ms, finished_at_ms, progress, progress_epoch, progress_event_at_ms, control,
       control_deadline_at_ms, sequence, outcome_epoch, outcome_kind, outcome_digest, dependency_policy,
       open_dependencies, blocked_by, has_dependents, payloads, checkpoint_count, log_bytes,
       payload_bytes, checkpoint_bytes, title, correlation_id, idempotency_key, body_digest, run_at_ms,
       lease_place, workflow, claims, response_ms, gate
FROM task
WHERE run_at_ms IS NOT NULL AND key > ?1
ORDER BY key
LIMIT ?2;

-- Queues and workers.

-- name: QUEUE_BY_KEY
-- queue, by its key.
SELECT key, name, is_paused, lease_ms, max_retries, backoff, delay_ms, delay_ms_max, jitter_ms
FROM queue
WHERE key = ?1
LIMIT 1;

-- name: QUEUE_BY_NAME
-- The unique index of queue.name.
SELECT key, name, is_paused, lease_ms, max_retries, backoff, delay_ms, delay_ms_max, jitter_ms
FROM queue
WHERE name = ?1
LIMIT 1;

-- name: WORKER_BY_KEY
-- worker, by its key.
-- many:
SELECT key, id, host, boot, pid, started_at_ms, seen_at_ms, request_id, granted, other_host, other_boot, other_pid,
       shared_at_ms
FROM worker
WHERE key = ?1
LIMIT 1;

-- name: WORKER_BY_ID
-- The unique index of worker.id.
-- many: 1 text
SELECT key, id, host, boot, pid, started_at_ms, seen_at_ms, request_id, granted, other_host, other_boot, other_pid,
       shared_at_ms
FROM worker
WHERE id = ?1
LIMIT 1;

-- Gates, in the columns of pawl_row_gate.

-- name: GATE_BY_KEY
-- gate, by its key.
-- postgres: FOR NO KEY UPDATE
SELECT key, name, held, starts
FROM gate
WHERE key = ?1
LIMIT 1;

-- name: GATE_BY_NAME
-- The unique index of gate.name.
-- postgres: FOR NO KEY UPDATE
SELECT key, name, held, starts
FROM gate
WHERE name = ?1
LIMIT 1;

-- What lies beside a task.

-- name: PAYLOAD_GET
-- payload, by its key.
-- many:
SELECT body
FROM payload
WHERE key = ?1
LIMIT 1;

-- name: PAYLOADS_READY postgres only
-- task_ready, in its order; payload, by its key, for each: a join might be planned as a scan of it. Input, goal and
-- metadata as far as they are small, which a claim gives out, in one round trip with TASKS_READY.
SELECT key, CASE WHEN payloads & 1 <> 0 THEN (SELECT body FROM payload WHERE payload.key = ready.key * 16) END,
       CASE WHEN payloads & 4 <> 0 THEN (SELECT body FROM payload WHERE payload.key = ready.key * 16 + 2) END,
       CASE WHEN payloads & 8 <> 0 THEN (SELECT body FROM payload WHERE payload.key = ready.key * 16 + 3) END
FROM (SELECT key, payloads, payload_bytes
      FROM task
      WHERE queue = ?1 AND rank IS NOT NULL
      ORDER BY rank, key
      LIMIT ?2) AS ready
WHERE payload_bytes <= ?3;

-- name: DEPENDENCIES
-- dependency, by its key (task, number).
SELECT task, number, on_key, on_id, is_open
FROM dependency
WHERE task = ?1
ORDER BY number
LIMIT ?2;

-- name: DEPENDENTS
-- dependency_on, in its order: those that are open.
-- many:
SELECT task, number, on_key, on_id, is_open
FROM dependency
WHERE on_key = ?1 AND task > ?2 AND is_open = 1
ORDER BY task, number
LIMIT ?3;

-- name: DEPENDENTS_AWAITED
-- dependency_awaited.
-- many: 1 text
SELECT task, number, on_key, on_id, is_open
FROM dependency
WHERE on_id = ?1 AND on_key IS NULL
ORDER BY task, number
LIMIT ?2;

-- name: CHECKPOINT_LATEST
-- checkpoint_task, from its end.
-- many:
SELECT key, task, step, epoch, at_ms, state
FROM checkpoint
WHERE task = ?1
ORDER BY key DESC
LIMIT 1;

-- name: LOG_OLDEST
-- log_task, in its order. The text is not needed to drop a line.
SELECT key, task, epoch, at_ms, bytes
FROM log
WHERE task = ?1
ORDER BY key
LIMIT ?2;

-- name: EVENT_STARTED
-- event_task. To whom a task was given under an epoch; 3 = STARTED.
SELECT actor
FROM event
WHERE task = ?1 AND type = 3 AND epoch = ?2
ORDER BY sequence
LIMIT 1;

-- name: EVENT_STARTED_BY
-- event_task, from behind: a task has few hundred events. Under which epoch it was given to a worker last.
SELECT epoch
FROM event
WHERE task = ?1 AND type = 3 AND actor = ?2
ORDER BY sequence DESC
LIMIT 1;

-- name: WORKERS_GONE
-- worker_seen, in its order; task_aside for each. Not those whose work still waits for a proof (4 = RECOVERY_PENDING).
SELECT key, id, host, boot, pid, started_at_ms, seen_at_ms, request_id, granted, other_host, other_boot, other_pid,
       shared_at_ms
FROM worker
WHERE seen_at_ms < ?1
  AND NOT EXISTS (SELECT 1
                  FROM task
                  WHERE task.state = 4 AND task.workflow IS NULL AND task.owner = worker.key)
ORDER BY seen_at_ms
LIMIT ?2;

-- name: LATE_OLDEST
-- late_task, in its order.
SELECT key, task, epoch, at_ms, owner, kind, digest, is_holders
FROM late
WHERE task = ?1
ORDER BY key
LIMIT ?2;

-- Workflows, in the columns of pawl_row_workflow, and their records, in those of pawl_row_record.

-- name: WORKFLOW_BY_KEY
-- workflow, by its key.
-- postgres: FOR NO KEY UPDATE
-- many:
SELECT key, id, name, definition_version, snapshot, state, priority, run, version, created_at_ms, updated_at_ms,
       finished_at_ms, retried_at_ms, next_seq, open, permissive, ahead, last, failed, payloads,
       correlation_id, idempotency_key, depth
FROM workflow
WHERE key = ?1
LIMIT 1;

-- name: WORKFLOW_BY_ID
-- The unique index of workflow.id.
-- postgres: FOR NO KEY UPDATE
-- many: 1 text
SELECT key, id, name, definition_version, snapshot, state, priority, run, version, created_at_ms, updated_at_ms,
       finished_at_ms, retried_at_ms, next_seq, open, permissive, ahead, last, failed, payloads,
       correlation_id, idempotency_key, depth
FROM workflow
WHERE id = ?1
LIMIT 1;

-- name: WORKFLOW_BY_IDEMPOTENCY
-- workflow_idempotency, from its end: the newest of a name with a key.
-- postgres: FOR NO KEY UPDATE
SELECT key, id, name, definition_version, snapshot, state, priority, run, version, created_at_ms, updated_at_ms,
       finished_at_ms, retried_at_ms, next_seq, open, permissive, ahead, last, failed, payloads,
       correlation_id, idempotency_key, depth
FROM workflow
WHERE name = ?1 AND idempotency_key = ?2
ORDER BY key DESC
LIMIT 1;

-- name: RECORD_BY_TASK
-- record, by its key.
-- many:
SELECT task, workflow, run, seq, node, reference, status, attempt, predecessor, is_superseded, is_decided,
       first_scheduled_at_ms, scheduled_at_ms, start_delay_s, callback_after_s, worker, domain, join_pending,
       join_branches, join_failed, join_cancelled, join_optional
FROM record
WHERE task = ?1
LIMIT 1;

-- name: RECORD_LATEST
-- record_latest.
-- many: 2 text
SELECT task, workflow, run, seq, node, reference, status, attempt, predecessor, is_superseded, is_decided,
       first_scheduled_at_ms, scheduled_at_ms, start_delay_s, callback_after_s, worker, domain, join_pending,
       join_branches, join_failed, join_cancelled, join_optional
FROM record
WHERE run = ?1 AND reference = ?2 AND is_superseded = 0
LIMIT 1;

-- name: RECORDS
-- record_run, in its order.
SELECT task, workflow, run, seq, node, reference, status, attempt, predecessor, is_superseded, is_decided,
       first_scheduled_at_ms, scheduled_at_ms, start_delay_s, callback_after_s, worker, domain, join_pending,
       join_branches, join_failed, join_cancelled, join_optional
FROM record
WHERE run = ?1
ORDER BY seq
LIMIT ?2;

-- name: RECORDS_OPEN
-- record_open, in its order, beyond a place.
SELECT task, workflow, run, seq, node, reference, status, attempt, predecessor, is_superseded, is_decided,
       first_scheduled_at_ms, scheduled_at_ms, start_delay_s, callback_after_s, worker, domain, join_pending,
       join_branches, join_failed, join_cancelled, join_optional
FROM record
WHERE run = ?1 AND status < 2 AND task > ?2
ORDER BY task
LIMIT ?3;

-- name: RECORDS_UNDECIDED
-- record_undecided, in its order, beyond a place.
SELECT task, workflow, run, seq, node, reference, status, attempt, predecessor, is_superseded, is_decided,
       first_scheduled_at_ms, scheduled_at_ms, start_delay_s, callback_after_s, worker, domain, join_pending,
       join_branches, join_failed, join_cancelled, join_optional
FROM record
WHERE run = ?1 AND is_decided = 0 AND status > 1 AND task > ?2
ORDER BY task
LIMIT ?3;

-- name: RECORDS_BAD
-- record_bad, in its order, beyond a place.
SELECT task, workflow, run, seq, node, reference, status, attempt, predecessor, is_superseded, is_decided,
       first_scheduled_at_ms, scheduled_at_ms, start_delay_s, callback_after_s, worker, domain, join_pending,
       join_branches, join_failed, join_cancelled, join_optional
FROM record
WHERE run = ?1 AND is_superseded = 0 AND status > 3 AND status < 8 AND task > ?2
ORDER BY task
LIMIT ?3;

-- name: SNAPSHOT_BY_KEY
-- snapshot, by its key.
SELECT key, hash, body
FROM snapshot
WHERE key = ?1
LIMIT 1;

-- name: SNAPSHOT_BY_HASH
-- The unique index of snapshot.hash.
SELECT key, hash, body
FROM snapshot
WHERE hash = ?1
LIMIT 1;

-- Events, consumers, continuations.

-- name: EVENT_BY_POSITION
-- event, by its key.
SELECT position, task, sequence, type, at_ms, state, epoch, version, progress, retries, next_retry_at_ms,
       duration_ms, cause, actor, note
FROM event
WHERE position = ?1
LIMIT 1;

-- name: CONSUMER_BY_NAME
-- The unique index of consumer.name.
SELECT key, name, cursor, seen_at_ms
FROM consumer
WHERE name = ?1
LIMIT 1;

-- name: CONSUMER_CURSOR_MIN
-- consumer_cursor, its first entry.
SELECT key, name, cursor, seen_at_ms
FROM consumer
ORDER BY cursor
LIMIT 1;

-- name: ACKNOWLEDGEMENT_GET
-- acknowledgement, by its key.
SELECT position
FROM acknowledgement
WHERE consumer = ?1 AND position = ?2
LIMIT 1;

-- name: CONTINUATION_BY_KEY
-- continuation, by its key.
SELECT key, kind, task, cursor, remaining, done, args
FROM continuation
WHERE key = ?1
LIMIT 1;

-- name: CONTINUATIONS
-- continuation, in the order of its key; there are few. Those that are due have 0 remaining or more, ended ones
-- less.
SELECT key, kind, task, cursor, remaining, done, args
FROM continuation
WHERE remaining BETWEEN ?1 AND ?2
ORDER BY key
LIMIT ?3;

-- Retention.

-- name: FINISHED sqlite
-- task_finished, in its order, beyond a place.
SELECT finished_at_ms AS first, key
FROM task
WHERE finished_at_ms IS NOT NULL AND workflow IS NULL AND finished_at_ms = ?1 AND key > ?2
UNION ALL
SELECT finished_at_ms, key
FROM task
WHERE finished_at_ms IS NOT NULL AND workflow IS NULL AND finished_at_ms > ?1
ORDER BY first, key
LIMIT ?3;

-- name: FINISHED postgres
-- task_finished, in its order, beyond a place: a pair is compared with the index as a whole.
SELECT finished_at_ms, key
FROM task
WHERE finished_at_ms IS NOT NULL AND workflow IS NULL AND (finished_at_ms, key) > (?1, ?2)
ORDER BY finished_at_ms, key
LIMIT ?3;

-- name: EVENT_LAST
-- event_task, from its end.
SELECT position
FROM event
WHERE task = ?1
ORDER BY sequence DESC
LIMIT 1;

-- name: DEPENDENT_WAITING
-- dependency_on; dependency_awaited. Some task that waits for task ?1, or for id ?2, which is its own, or will once it
-- is resumed.
SELECT task
FROM dependency
WHERE on_key = ?1 AND is_open = 1
UNION ALL
SELECT task
FROM dependency
WHERE on_id = ?2 AND on_key IS NULL AND is_open = 1
LIMIT 1;

-- name: TOMBSTONE_BY_ID
-- The unique index of tombstone.id.
-- many: 1 text
SELECT key, id, state, finished_at_ms, removed_at_ms, idempotency_key, body_digest
FROM tombstone
WHERE id = ?1
LIMIT 1;

-- name: TOMBSTONE_BY_IDEMPOTENCY
-- tombstone_idempotency.
-- many: 1 text
SELECT key, id, state, finished_at_ms, removed_at_ms, idempotency_key, body_digest
FROM tombstone
WHERE idempotency_key = ?1
LIMIT 1;

-- name: TOMBSTONES
-- tombstone_removed, in its order.
SELECT key, id, state, finished_at_ms, removed_at_ms, idempotency_key, body_digest
FROM tombstone
WHERE removed_at_ms > 0
ORDER BY removed_at_ms, key
LIMIT ?1;

-- The writes of a step. A task's row is updated only as it was read: state and epoch are named.

-- name: TASK_ADD
-- many: 2 47 48 49 52 text, 29 double precision
INSERT INTO task (key, id, queue, state, priority, rank, due_at_ms, version, epoch, lease_kind, owner, lease_ms,
                  lease_end_at_ms, attempt_end_at_ms, timeout_ms, max_retries, backoff, delay_ms,
                  delay_ms_max, jitter_ms, retries, recoveries, crashes_in_row, ready_at_ms,
                  created_at_ms, updated_at_ms, started_at_ms, finished_at_ms, progress, progress_epoch,
                  progress_event_at_ms, control, control_deadline_at_ms, sequence, outcome_epoch,
                  outcome_kind, outcome_digest, dependency_policy, open_dependencies, blocked_by,
                  has_dependents, payloads, checkpoint_count, log_bytes, payload_bytes, checkpoint_bytes,
                  title, correlation_id, idempotency_key, body_digest, run_at_ms, lease_place,
                  workflow, claims, response_ms, gate)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
        ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42,
        ?43, ?44, ?45, ?46, ?47, ?48, ?49, ?50, ?51, ?52, ?53, ?54, ?55, ?56);

-- name: TASK_SAVE
-- task, by its key. All that can change; writes seven indexes.
-- many: 17 double precision, 40 text
UPDATE task
SET version = ?4, epoch = ?5, lease_kind = ?6, owner = ?7, lease_ms = ?8, lease_end_at_ms = ?9,
    attempt_end_at_ms = ?10, retries = ?11, recoveries = ?12, crashes_in_row = ?13, ready_at_ms = ?14,
    updated_at_ms = ?15, started_at_ms = ?16, progress = ?17, progress_epoch = ?18, progress_event_at_ms =
    ?19, control = ?20, control_deadline_at_ms = ?21, sequence = ?22, outcome_epoch = ?23, outcome_kind =
    ?24, outcome_digest = ?25, open_dependencies = ?26, has_dependents = ?27, payloads = ?28,
    checkpoint_count = ?29, log_bytes = ?30, payload_bytes = ?31, checkpoint_bytes = ?32, claims = ?33, state = ?34,
    rank = ?35, due_at_ms = ?36, finished_at_ms = ?37, blocked_by = ?38, run_at_ms = ?39,
    lease_place = ?40, gate = ?41
WHERE key = ?1 AND state = ?2 AND epoch = ?3;

-- name: TASK_SAVE_INSIDE
-- task, by its key. When state, rank, due_at_ms, finished_at_ms, blocked_by, gate and lease_place stay as they are:
-- no index is touched.
-- many: 17 double precision
UPDATE task
SET version = ?4, epoch = ?5, lease_kind = ?6, owner = ?7, lease_ms = ?8, lease_end_at_ms = ?9,
    attempt_end_at_ms = ?10, retries = ?11, recoveries = ?12, crashes_in_row = ?13, ready_at_ms = ?14,
    updated_at_ms = ?15, started_at_ms = ?16, progress = ?17, progress_epoch = ?18, progress_event_at_ms =
    ?19, control = ?20, control_deadline_at_ms = ?21, sequence = ?22, outcome_epoch = ?23, outcome_kind =
    ?24, outcome_digest = ?25, open_dependencies = ?26, has_dependents = ?27, payloads = ?28,
    checkpoint_count = ?29, log_bytes = ?30, payload_bytes = ?31, checkpoint_bytes = ?32, claims = ?33
WHERE key = ?1 AND state = ?2 AND epoch = ?3;

-- name: TASK_SET_ASIDE
-- task, by its key. Such a row is never met again by claims, timers and steps of the wall clock.
UPDATE task SET rank = NULL, due_at_ms = NULL, run_at_ms = NULL WHERE key = ?1;

-- name: GATE_ADD
INSERT INTO gate (key, name, held, starts) VALUES (?1, ?2, ?3, ?4);

-- name: GATE_SAVE
-- gate, by its key.
UPDATE gate SET held = ?2, starts = ?3 WHERE key = ?1;

-- name: QUEUE_ADD
INSERT INTO queue (key, name, is_paused, lease_ms, max_retries, backoff, delay_ms, delay_ms_max, jitter_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: QUEUE_SAVE
-- queue, by its key.
UPDATE queue
SET is_paused = ?2, lease_ms = ?3, max_retries = ?4, backoff = ?5, delay_ms = ?6, delay_ms_max = ?7,
    jitter_ms = ?8
WHERE key = ?1;

-- name: WORKER_ADD
INSERT INTO worker (key, id, host, boot, pid, started_at_ms, seen_at_ms, request_id, granted, other_host, other_boot,
                    other_pid, shared_at_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13);

-- name: WORKER_SAVE
-- worker, by its key.
UPDATE worker
SET host = ?2, boot = ?3, pid = ?4, started_at_ms = ?5, seen_at_ms = ?6, request_id = ?7, granted = ?8,
    other_host = ?9, other_boot = ?10, other_pid = ?11, shared_at_ms = ?12
WHERE key = ?1;

-- name: WORKER_REMOVE
-- worker, by its key.
DELETE FROM worker WHERE key = ?1;

-- name: SNAPSHOT_ADD
INSERT INTO snapshot (key, hash, body) VALUES (?1, ?2, ?3);

-- name: WORKFLOW_ADD
-- many: 2 3 21 22 text
INSERT INTO workflow (key, id, name, definition_version, snapshot, state, priority, run, version,
                      created_at_ms, updated_at_ms, finished_at_ms, retried_at_ms, next_seq, open, permissive,
                      ahead, last, failed, payloads, correlation_id, idempotency_key, depth)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
        ?23);

-- name: WORKFLOW_SAVE
-- workflow, by its key. All that can change.
-- many: 18 text
UPDATE workflow
SET definition_version = ?2, snapshot = ?3, state = ?4, run = ?5, version = ?6, created_at_ms = ?7,
    updated_at_ms = ?8, finished_at_ms = ?9, retried_at_ms = ?10, next_seq = ?11, open = ?12,
    permissive = ?13, ahead = ?14, last = ?15, failed = ?16, payloads = ?17, correlation_id = ?18
WHERE key = ?1;

-- name: RECORD_ADD
-- many: 6 16 17 text
INSERT INTO record (task, workflow, run, seq, node, reference, status, attempt, predecessor, is_superseded,
                    is_decided, first_scheduled_at_ms, scheduled_at_ms, start_delay_s, callback_after_s,
                    worker, domain, join_pending, join_branches, join_failed, join_cancelled, join_optional)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22);

-- name: RECORD_SAVE
-- record, by its key. All that can change.
-- many: 11 text
UPDATE record
SET run = ?2, seq = ?3, status = ?4, is_superseded = ?5, is_decided = ?6, first_scheduled_at_ms = ?7,
    scheduled_at_ms = ?8, start_delay_s = ?9, callback_after_s = ?10, worker = ?11, join_pending = ?12,
    join_branches = ?13, join_failed = ?14, join_cancelled = ?15, join_optional = ?16
WHERE task = ?1;

-- name: WORKFLOW_REMOVE
-- workflow, by its key.
DELETE FROM workflow WHERE key = ?1;

-- name: RECORD_REMOVE
-- record, by its key.
DELETE FROM record WHERE task = ?1;

-- name: PAYLOAD_PUT
-- payload, by its key.
-- many: 2 text
INSERT INTO payload (key, body)
VALUES (?1, ?2)
ON CONFLICT (key) DO UPDATE SET body = excluded.body;

-- name: PAYLOAD_REMOVE
-- payload, by its key.
DELETE FROM payload WHERE key = ?1;

-- name: CONSUMER_ADD
INSERT INTO consumer (key, name, cursor, seen_at_ms)
VALUES (?1, ?2, ?3, ?4);

-- name: CONSUMER_SAVE
-- consumer, by its key.
UPDATE consumer SET cursor = ?2, seen_at_ms = ?3 WHERE key = ?1;

-- name: CONSUMER_REMOVE
-- The unique index of consumer.name.
DELETE FROM consumer WHERE name = ?1;

-- name: CONSUMER_REMOVE_ACKNOWLEDGEMENTS
-- acknowledgement, by its key; the consumer by its name.
DELETE FROM acknowledgement WHERE consumer = (SELECT key FROM consumer WHERE name = ?1);

-- name: CONTINUATION_ADD
INSERT INTO continuation (key, kind, task, cursor, remaining, done, args)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: CONTINUATION_SAVE
-- continuation, by its key.
UPDATE continuation SET cursor = ?2, remaining = ?3, done = ?4 WHERE key = ?1;

-- name: CONTINUATION_REMOVE
-- continuation, by its key.
DELETE FROM continuation WHERE key = ?1;

-- name: DEPENDENCY_ADD
INSERT INTO dependency (task, number, on_key, on_id, is_open)
VALUES (?1, ?2, ?3, ?4, ?5);

-- name: DEPENDENCY_DONE
-- dependency, by its key.
UPDATE dependency SET is_open = 0 WHERE task = ?1 AND number = ?2;

-- name: DEPENDENCIES_DONE
-- dependency, by the first part of its key.
UPDATE dependency SET is_open = 0 WHERE task = ?1 AND is_open = 1;

-- name: DEPENDENCY_FOUND
-- dependency, by its key. The task it waits for exists now.
UPDATE dependency SET on_key = ?3, on_id = NULL WHERE task = ?1 AND number = ?2;

-- name: CHECKPOINT_ADD
INSERT INTO checkpoint (key, task, step, epoch, at_ms, state)
VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: CHECKPOINT_PRUNE
-- checkpoint_task, its first entry.
DELETE FROM checkpoint
WHERE key = (SELECT key FROM checkpoint WHERE task = ?1 ORDER BY key LIMIT 1);

-- name: LOG_ADD
INSERT INTO log (key, task, epoch, at_ms, bytes, text)
VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: LOG_REMOVE
-- log, by its key.
DELETE FROM log WHERE key = ?1;

-- name: LATE_ADD
INSERT INTO late (key, task, epoch, at_ms, owner, kind, digest, body, is_holders)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: LATE_REMOVE
-- late, by its key.
DELETE FROM late WHERE key = ?1;

-- name: ACKNOWLEDGEMENT_ADD
INSERT INTO acknowledgement (consumer, position)
VALUES (?1, ?2)
ON CONFLICT DO NOTHING;

-- name: ACKNOWLEDGEMENT_PRUNE
-- acknowledgement, by its key.
DELETE FROM acknowledgement WHERE consumer = ?1 AND position <= ?2;

-- name: EVENT_ADD
-- many: 14 15 text, 9 double precision
INSERT INTO event (position, task, sequence, type, at_ms, state, epoch, version, progress, retries, next_retry_at_ms,
                   duration_ms, cause, actor, note)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15);

-- name: TASK_REMOVE
-- task, by its key.
DELETE FROM task WHERE key = ?1 AND state = ?2 AND epoch = ?3;

-- name: PAYLOADS_REMOVE
-- payload, by its key.
DELETE FROM payload WHERE key >= ?1 AND key <= ?2;

-- name: DEPENDENCIES_REMOVE
-- dependency, by the first part of its key.
DELETE FROM dependency WHERE task = ?1;

-- name: CHECKPOINTS_REMOVE
-- checkpoint_task.
DELETE FROM checkpoint WHERE task = ?1;

-- name: LATES_REMOVE
-- late_task.
DELETE FROM late WHERE task = ?1;

-- name: LOG_REMOVE_OLDEST sqlite
-- log_task, in its order; then log, by its key.
DELETE FROM log WHERE key IN (SELECT key FROM log WHERE task = ?1 ORDER BY key LIMIT ?2);

-- name: LOG_REMOVE_OLDEST postgres
-- log_task, in its order; then log, by its key.
DELETE FROM log WHERE key = ANY (ARRAY(SELECT key FROM log WHERE task = ?1 ORDER BY key LIMIT ?2));

-- name: EVENT_REMOVE sqlite
-- event_task, in its order; then event, by its key.
DELETE FROM event
WHERE position IN (SELECT position FROM event WHERE task = ?1 ORDER BY sequence LIMIT ?2);

-- name: EVENT_REMOVE postgres
-- event_task, in its order; then event, by its key.
DELETE FROM event
WHERE position = ANY (ARRAY(SELECT position FROM event WHERE task = ?1 ORDER BY sequence LIMIT ?2));

-- name: TOMBSTONE_ADD
INSERT INTO tombstone (key, id, state, finished_at_ms, removed_at_ms, idempotency_key, body_digest)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: TOMBSTONE_REMOVE
-- tombstone, by its key.
DELETE FROM tombstone WHERE key = ?1;

-- name: EVENT_PRUNE sqlite
-- event_task, in its order, from its end for the newest ?2 transitions. Progress (type 4) goes first: all that
-- is older than the newest ?2 events; then transitions beyond the newest ?2 of them.
DELETE FROM event
WHERE position IN (SELECT position
                   FROM event
                   WHERE task = ?1 AND position <= ?3
                     AND sequence <= (SELECT sequence FROM event WHERE task = ?1 ORDER BY sequence DESC
                                      LIMIT 1 OFFSET ?2)
                     AND (type = 4
                          OR sequence <= (SELECT sequence FROM event WHERE task = ?1 AND type <> 4
                                          ORDER BY sequence DESC LIMIT 1 OFFSET ?2))
                   ORDER BY sequence
                   LIMIT ?4);

-- name: EVENT_PRUNE postgres
-- event_task, in its order; then event, by its key: as an array, so that it is never the other way round.
DELETE FROM event
WHERE position = ANY (ARRAY(SELECT position
                            FROM event
                            WHERE task = ?1 AND position <= ?3
                              AND sequence <= (SELECT sequence FROM event WHERE task = ?1
                                               ORDER BY sequence DESC LIMIT 1 OFFSET ?2)
                              AND (type = 4
                                   OR sequence <= (SELECT sequence FROM event WHERE task = ?1 AND type <> 4
                                                   ORDER BY sequence DESC LIMIT 1 OFFSET ?2))
                            ORDER BY sequence
                            LIMIT ?4));

-- name: IMPORT_BY_DIGEST
-- The primary key.
SELECT digest, name, at_ms, task_count FROM import WHERE digest = ?1 LIMIT 1;

-- name: IMPORT_ADD
INSERT INTO import (digest, name, at_ms, task_count) VALUES (?1, ?2, ?3, ?4);

-- Definitions, in the columns of pawl_row_definition.

-- name: DEFINITION_GET
-- definition_name, one entry.
SELECT key, kind, name, version, generation, created_at_ms, updated_at_ms, created_by, updated_by, body
FROM definition
WHERE kind = ?1 AND name = ?2 AND version = ?3
LIMIT 1;

-- name: DEFINITION_BELOW
-- definition_name, from behind: the highest version below.
SELECT key, kind, name, version, generation, created_at_ms, updated_at_ms, created_by, updated_by, body
FROM definition
WHERE kind = ?1 AND name = ?2 AND version < ?3
ORDER BY version DESC
LIMIT 1;

-- name: DEFINITION_PUT
-- definition_name, one entry.
INSERT INTO definition (key, kind, name, version, generation, created_at_ms, updated_at_ms, created_by,
                        updated_by, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (kind, name, version) DO UPDATE
SET generation = excluded.generation, created_at_ms = excluded.created_at_ms,
    updated_at_ms = excluded.updated_at_ms, created_by = excluded.created_by,
    updated_by = excluded.updated_by, body = excluded.body;

-- name: DEFINITION_REMOVE
-- definition_name, one entry.
DELETE FROM definition WHERE kind = ?1 AND name = ?2 AND version = ?3;

-- name: QUARANTINE_GET
-- quarantine, by its key.
SELECT 1
FROM quarantine
WHERE table_name = ?1 AND row_key = ?2
LIMIT 1;

-- name: QUARANTINE_ADD
-- The first finding stays.
INSERT INTO quarantine (table_name, row_key, id, raw, reason, seen_at_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO NOTHING;

-- What the PostgreSQL driver asks by itself (postgres.c, postgres_link.c, postgres_bell.c).

-- name: SESSION_SET postgres only
-- The settings of a connection. Its schema is pawl, or the first one of a search_path that the URI gives
-- (?options=-csearch_path%3Dmine); it becomes the only one. Our statements are made for their indexes, which
-- a young table's statistics would talk the planner out of; so it does not plan anew for each value, either.
-- A commit is on disk when it returns, whatever the server's default.
-- ?1 = whether it only reads: on or off.
SELECT pg_backend_pid(),
       (SELECT (extract(epoch FROM backend_start) * 1000000)::bigint
        FROM pg_stat_activity
        WHERE pid = pg_backend_pid()
        LIMIT 1),
       current_setting('server_encoding'),
       ('x' || left(random.digits, 12) || right(random.digits, 3))::bit(60)::bigint,
       set_config('search_path', quote_ident(chosen.schema), false),
       set_config('default_transaction_read_only', ?1, false),
       set_config('synchronous_commit',
                  CASE current_setting('synchronous_commit')
                      WHEN 'off' THEN 'on'
                      ELSE current_setting('synchronous_commit')
                  END, false),
       set_config('lock_timeout', '5s', false),
       set_config('statement_timeout', '20s', false),
       set_config('idle_in_transaction_session_timeout', '10s', false),
       set_config('idle_session_timeout', '0', false),
       set_config('plan_cache_mode', 'force_generic_plan', false),
       set_config('enable_seqscan', 'off', false),
       set_config('enable_bitmapscan', 'off', false),
       set_config('enable_hashjoin', 'off', false),
       set_config('enable_mergejoin', 'off', false),
       set_config('jit', 'off', false)
FROM (SELECT CASE source WHEN 'client' THEN (parse_ident(setting, false))[1] ELSE 'pawl' END AS schema
      FROM pg_settings
      WHERE name = 'search_path'
      LIMIT 1) AS chosen,
     (SELECT replace(gen_random_uuid()::text, '-', '') AS digits) AS random
LIMIT 1;

-- name: SCHEMA_FIND postgres only
-- How many relations the schema has (0 too if it does not exist), and whether ours are among them.
SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = wanted.oid),
       (SELECT count(*)
        FROM pg_class
        WHERE relnamespace = wanted.oid AND relkind = 'r' AND relname IN ('meta', 'head')) = 2
FROM (SELECT to_regnamespace(current_setting('search_path'))::oid AS oid) AS wanted
LIMIT 1;

-- name: SCHEMA_TURN postgres only
-- One at a time makes a schema; the number is "pawl" in ASCII. Ends with the transaction.
SELECT pg_advisory_xact_lock(1885435756);

-- name: SCHEMA_MAKE postgres only
-- search_path is the name of the schema, quoted if need be. Who may not make schemas may be given one.
DO 'BEGIN
    IF to_regnamespace(current_setting(''search_path'')) IS NULL THEN
        EXECUTE ''CREATE SCHEMA '' || current_setting(''search_path'');
    END IF;
END';

-- name: CLOCK postgres only
-- Now, and who says so: a statement of its own after the lock, since it tells the time when it runs.
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, pg_backend_pid();

-- name: NODE_PUT postgres only
-- node, by its key. Each step writes its number.
INSERT INTO node (key, step, seen_at_ms)
VALUES (?1, ?2, ?3)
ON CONFLICT (key) DO UPDATE SET step = excluded.step, seen_at_ms = excluded.seen_at_ms;

-- name: NODE_STEP postgres only
-- node, by its key.
SELECT step
FROM node
WHERE key = ?1
LIMIT 1;

-- name: NODE_REMOVE postgres only
-- node, by its key. At close; nobody waits until that is on disk.
WITH lazy AS (SELECT set_config('synchronous_commit', 'off', true) AS setting)
DELETE FROM node USING lazy WHERE key = ?1 AND lazy.setting = 'off';

-- name: NODE_REMOVE_OLD postgres only
-- All of node, which is small: what killed processes left there a day ago and more. If one of them lives
-- after all, its next step writes its row anew.
WITH lazy AS (SELECT set_config('synchronous_commit', 'off', true) AS setting)
DELETE FROM node USING lazy
WHERE seen_at_ms < extract(epoch FROM now()) * 1000 - 86400000 AND lazy.setting = 'off';

-- name: BACKEND_END postgres only
-- Ends the server's process of a connection that was lost, unless it has committed and only waits for a
-- replica. ?2 tells it from a later process with the same number.
SELECT pg_terminate_backend(pid)
FROM pg_stat_activity
WHERE pid::bigint = ?1
  AND (extract(epoch FROM backend_start) * 1000000)::bigint = ?2
  AND wait_event IS DISTINCT FROM 'SyncRep'
LIMIT 1;

-- name: BELL_LISTEN postgres only
-- The channel has the name of the schema, since channels are one room for the whole database.
DO 'BEGIN EXECUTE ''LISTEN '' || current_setting(''search_path''); END';

-- name: BELL_RING postgres only
SELECT pg_notify(current_schema()::text, '');

-- name: BELL_KNOCK postgres only
-- The same, and holders of leases are to look.
SELECT pg_notify(current_schema()::text, 'knock');

-- Reads: pages for people and consumers.
--
-- A list asks for places first, (where in its order, key) with what is needed to choose among them, and then
-- for each chosen row by its key: so there is one shape of a row. "Beyond a place" is written as two parts,
-- equal and later, since SQLite does not seek by a row value that ends in the row's key.

-- name: READ_TASK_KEY
-- The unique index of task.id.
SELECT key
FROM task
WHERE id = ?1
LIMIT 1;

-- name: READ_TASK
-- task, by its key; queue, worker, the task that blocks it and quarantine by theirs. The columns of
-- pawl_row_task, then the name of the queue, whether it is paused, the owner's id, id and state of the
-- task that blocks it, and why the row is in quarantine.
SELECT t.key, t.id, t.queue, t.state, t.priority, t.rank, t.due_at_ms, t.version, t.epoch, t.lease_kind,
       t.owner, t.lease_ms, t.lease_end_at_ms, t.attempt_end_at_ms, t.timeout_ms, t.max_retries, t.backoff,
       t.delay_ms, t.delay_ms_max, t.jitter_ms, t.retries, t.recoveries, t.crashes_in_row, t.ready_at_ms,
       t.created_at_ms, t.updated_at_ms, t.started_at_ms, t.finished_at_ms, t.progress, t.progress_epoch,
       t.progress_event_at_ms, t.control, t.control_deadline_at_ms, t.sequence, t.outcome_epoch,
       t.outcome_kind, t.outcome_digest, t.dependency_policy, t.open_dependencies, t.blocked_by,
       t.has_dependents, t.payloads, t.checkpoint_count, t.log_bytes, t.payload_bytes, t.checkpoint_bytes,
       t.title, t.correlation_id, t.idempotency_key, t.body_digest, t.run_at_ms, t.lease_place,
       t.workflow, t.claims, t.response_ms, t.gate, q.name, q.is_paused, w.id, b.id, b.state, z.reason
FROM task t
LEFT JOIN queue q ON q.key = t.queue
LEFT JOIN worker w ON w.key = t.owner
LEFT JOIN task b ON b.key = t.blocked_by
LEFT JOIN quarantine z ON z.table_name = 'task' AND z.row_key = t.key
WHERE t.key = ?1
LIMIT 1;

-- name: READ_QUARANTINE
-- quarantine, by the first part of its key; there are few. An id whose row cannot be found by it any more.
SELECT reason
FROM quarantine
WHERE table_name = 'task' AND id = ?1
ORDER BY row_key
LIMIT 1;

-- name: READ_DEPENDENCIES
-- dependency, by its key; then each task, or what is left of it, by its own. Id and state of what a task waits
-- for, in order; the state is null for a task that does not exist, the id too for one removed very long ago.
SELECT COALESCE(d.on_id, t.id,
                (SELECT s.id FROM tombstone s WHERE s.key = d.on_key),
                (SELECT z.id FROM quarantine z WHERE z.table_name = 'task' AND z.row_key = d.on_key)),
       COALESCE(t.state, (SELECT s.state FROM tombstone s WHERE s.key = d.on_key))
FROM dependency d
LEFT JOIN task t ON t.key = d.on_key
WHERE d.task = ?1 AND d.is_open >= ?2
ORDER BY d.number
LIMIT ?3;

-- name: READ_READY sqlite
-- task_ready, in its order, beyond a place.
SELECT rank AS first, key, state, queue, rank
FROM task
WHERE queue = ?1 AND rank IS NOT NULL AND rank = ?2 AND key > ?3
UNION ALL
SELECT rank, key, state, queue, rank
FROM task
WHERE queue = ?1 AND rank IS NOT NULL AND rank > ?2
ORDER BY first, key
LIMIT ?4;

-- name: READ_READY postgres
-- task_ready, in its order, beyond a place: a pair is compared with the index as a whole.
SELECT rank, key, state, queue, rank
FROM task
WHERE queue = ?1 AND rank IS NOT NULL AND (rank, key) > (?2, ?3)
ORDER BY rank, key
LIMIT ?4;

-- name: READ_READY_HEADS
-- queue, by its key; for each the first entry of task_ready beyond a place. ?5 = 1: of paused queues too.
SELECT t.rank, t.key, t.state, q.key, t.rank
FROM queue q
JOIN task t ON t.key = COALESCE((SELECT r.key
                                 FROM task r
                                 WHERE r.queue = q.key AND r.rank IS NOT NULL AND r.rank = ?2 AND r.key > ?3
                                 ORDER BY r.key
                                 LIMIT 1),
                                (SELECT r.key
                                 FROM task r
                                 WHERE r.queue = q.key AND r.rank IS NOT NULL AND r.rank > ?2
                                 ORDER BY r.rank, r.key
                                 LIMIT 1))
WHERE q.key > ?1 AND (q.is_paused = 0 OR ?5 = 1)
ORDER BY q.key
LIMIT ?4;

-- name: READ_WALK
-- task, by its key, newest first.
SELECT 0, key, state, queue, rank
FROM task
WHERE key < ?1
ORDER BY key DESC
LIMIT ?2;

-- name: READ_BLOCKED
-- task_blocked, newest first.
SELECT 0, key, state, queue, rank
FROM task
WHERE blocked_by IS NOT NULL AND key < ?1
ORDER BY key DESC
LIMIT ?2;

-- name: READ_ASIDE sqlite
-- task_aside, each wanted state from its end, merged: newest first.
SELECT 0 AS first, key, state, queue, rank
FROM task
WHERE state = 3 AND workflow IS NULL AND (?3 & 8) <> 0 AND key < ?1
UNION ALL
SELECT 0, key, state, queue, rank
FROM task
WHERE state = 4 AND workflow IS NULL AND (?3 & 16) <> 0 AND key < ?1
UNION ALL
SELECT 0, key, state, queue, rank
FROM task
WHERE state = 6 AND workflow IS NULL AND (?3 & 64) <> 0 AND key < ?1
UNION ALL
SELECT 0, key, state, queue, rank
FROM task
WHERE state = 8 AND workflow IS NULL AND (?3 & 256) <> 0 AND key < ?1
ORDER BY key DESC
LIMIT ?2;

-- name: READ_ASIDE postgres
-- task_aside, each wanted state from its end, merged: newest first.
SELECT 0, key, state, queue, rank
FROM ((SELECT key, state, queue, rank
       FROM task
       WHERE state = 3 AND workflow IS NULL AND (?3::bigint & 8) <> 0 AND key < ?1
       ORDER BY key DESC)
      UNION ALL
      (SELECT key, state, queue, rank
       FROM task
       WHERE state = 4 AND workflow IS NULL AND (?3 & 16) <> 0 AND key < ?1
       ORDER BY key DESC)
      UNION ALL
      (SELECT key, state, queue, rank
       FROM task
       WHERE state = 6 AND workflow IS NULL AND (?3 & 64) <> 0 AND key < ?1
       ORDER BY key DESC)
      UNION ALL
      (SELECT key, state, queue, rank
       FROM task
       WHERE state = 8 AND workflow IS NULL AND (?3 & 256) <> 0 AND key < ?1
       ORDER BY key DESC)) AS aside
ORDER BY key DESC
LIMIT ?2;

-- name: READ_FINISHED sqlite
-- task_finished, from its end, beyond a place.
SELECT finished_at_ms AS first, key, state, queue, rank
FROM task
WHERE finished_at_ms IS NOT NULL AND workflow IS NULL AND finished_at_ms = ?3 AND key < ?1
UNION ALL
SELECT finished_at_ms, key, state, queue, rank
FROM task
WHERE finished_at_ms IS NOT NULL AND workflow IS NULL AND finished_at_ms < ?3
ORDER BY first DESC, key DESC
LIMIT ?2;

-- name: READ_FINISHED postgres
-- task_finished, from its end, beyond a place.
SELECT finished_at_ms, key, state, queue, rank
FROM task
WHERE finished_at_ms IS NOT NULL AND workflow IS NULL AND (finished_at_ms, key) < (?3, ?1)
ORDER BY finished_at_ms DESC, key DESC
LIMIT ?2;

-- name: READ_DUE sqlite
-- task_due, in its order, beyond a place.
SELECT due_at_ms AS first, key, state, queue, rank
FROM task
WHERE due_at_ms IS NOT NULL AND due_at_ms = ?3 AND key > ?1
UNION ALL
SELECT due_at_ms, key, state, queue, rank
FROM task
WHERE due_at_ms IS NOT NULL AND due_at_ms > ?3
ORDER BY first, key
LIMIT ?2;

-- name: READ_DUE postgres
-- task_due, in its order, beyond a place.
SELECT due_at_ms, key, state, queue, rank
FROM task
WHERE due_at_ms IS NOT NULL AND (due_at_ms, key) > (?3, ?1)
ORDER BY due_at_ms, key
LIMIT ?2;

-- name: READ_AHEAD
-- task_ready alone: how many of a queue stand before a place. Each part is counted up to a bound.
SELECT (SELECT COUNT(*)
        FROM (SELECT 1 AS one
              FROM task
              WHERE queue = ?1 AND rank IS NOT NULL AND rank < ?2
              LIMIT ?4) AS earlier)
       + (SELECT COUNT(*)
          FROM (SELECT 1 AS one
                FROM task
                WHERE queue = ?1 AND rank IS NOT NULL AND rank = ?2 AND key < ?3
                LIMIT ?4) AS older)
LIMIT 1;

-- name: READ_QUEUES
-- The unique index of queue.name; task_ready alone for each. The columns of pawl_row_queue, then how many
-- are ready, counted up to a bound, and since when the oldest of them is. That is the first of some
-- priority: priorities are stepped through, rank being priority and time in one number.
SELECT q.key, q.name, q.is_paused, q.lease_ms, q.max_retries, q.backoff, q.delay_ms, q.delay_ms_max,
       q.jitter_ms,
       (SELECT COUNT(*)
        FROM (SELECT 1 AS one
              FROM task t
              WHERE t.queue = q.key AND t.rank IS NOT NULL
              LIMIT ?3) AS counted),
       (WITH RECURSIVE head (rank) AS (
            SELECT (SELECT MIN(t.rank) FROM task t WHERE t.queue = q.key AND t.rank IS NOT NULL)
            UNION ALL
            SELECT (SELECT MIN(t.rank)
                    FROM task t
                    WHERE t.queue = q.key AND t.rank IS NOT NULL AND t.rank > (head.rank | ?4))
            FROM head
            WHERE head.rank IS NOT NULL)
        SELECT MIN(head.rank & ?4) FROM head)
FROM queue q
WHERE q.name > ?1
ORDER BY q.name
LIMIT ?2;

-- name: READ_QUEUES_WAITING
-- task_due, in its order, up to a bound: all that RUN and all that are deferred have their entry there.
SELECT waiting.queue, waiting.state, COUNT(*)
FROM (SELECT queue, state
      FROM task
      WHERE due_at_ms IS NOT NULL
      ORDER BY due_at_ms, key
      LIMIT ?1) AS waiting
GROUP BY waiting.queue, waiting.state
LIMIT ?2;

-- name: READ_EVENT
-- event, by its key; task, tombstone, queue and payload by theirs; checkpoint_task. The columns of pawl_row_event, then
-- id, queue, title and correlation id of its task, the retries that it may have, the start of its result
-- where it completed (7, 19) without a note, and key and instant of its latest checkpoint where it was
-- resumed (6).
SELECT e.position, e.task, e.sequence, e.type, e.at_ms, e.state, e.epoch, e.version, e.progress, e.retries,
       e.next_retry_at_ms, e.duration_ms, e.cause, e.actor, e.note,
       COALESCE(t.id, (SELECT s.id FROM tombstone s WHERE s.key = e.task),
                (SELECT z.id FROM quarantine z WHERE z.table_name = 'task' AND z.row_key = e.task)),
       q.name, t.title, t.correlation_id, t.max_retries, substr(p.body, 1, CAST(?2 AS INTEGER)), c.key, c.at_ms
FROM event e
LEFT JOIN task t ON t.key = e.task
LEFT JOIN queue q ON q.key = t.queue
LEFT JOIN payload p ON p.key = e.task * 16 + 1 AND e.type IN (7, 19) AND e.note IS NULL
LEFT JOIN checkpoint c ON c.key = CASE WHEN e.type = 6
                                       THEN (SELECT k.key
                                             FROM checkpoint k
                                             WHERE k.task = e.task AND k.at_ms <= e.at_ms
                                             ORDER BY k.key DESC
                                             LIMIT 1)
                                  END
WHERE e.position = ?1
LIMIT 1;

-- name: READ_HISTORY
-- event_task alone, in its order.
SELECT position
FROM event
WHERE task = ?1 AND sequence > ?2
ORDER BY sequence
LIMIT ?3;

-- name: READ_EVENTS
-- event, by its key.
SELECT position
FROM event
WHERE position > ?1
ORDER BY position
LIMIT ?2;

-- name: READ_EVENTS_FLOOR
-- event, by its key.
SELECT position
FROM event
WHERE position > ?1
ORDER BY position
LIMIT 1 OFFSET ?2;

-- name: READ_EVENTS_OPEN
-- event, by its key; acknowledgement by its own.
SELECT e.position
FROM event e
WHERE e.position > ?1 AND e.position <= ?2
  AND NOT EXISTS (SELECT 1 FROM acknowledgement a WHERE a.consumer = ?3 AND a.position = e.position)
ORDER BY e.position
LIMIT ?4;

-- name: READ_CHECKPOINTS
-- checkpoint_task, in its order.
SELECT key, task, step, epoch, at_ms, state
FROM checkpoint
WHERE task = ?1
ORDER BY key
LIMIT ?2;

-- name: READ_CHECKPOINT
-- checkpoint, by its key.
SELECT key, task, step, epoch, at_ms, state
FROM checkpoint
WHERE key = ?1 AND task = ?2
LIMIT 1;

-- name: READ_LOGS
-- log_task, in its order.
SELECT key, at_ms, epoch, text
FROM log
WHERE task = ?1 AND key > ?2
ORDER BY key
LIMIT ?3;

-- name: READ_LATE
-- late_task, in its order.
SELECT at_ms, epoch, owner, kind, body
FROM late
WHERE task = ?1
ORDER BY key
LIMIT ?2;

-- What an operator looks at.

-- name: HEALTH
-- head and meta by their keys; task_due, its first entries; task_aside, each state from its start; task_blocked;
-- task_finished; workflow_running; late, from the start of its keys; quarantine and continuation, which are small. ?1 = what was due before it is late; counts go up
-- to ?2, those of the finished and of workflows up to ?3.
SELECT head.position, meta.schema_version,
       (SELECT COUNT(*)
        FROM (SELECT 1 AS one FROM task WHERE due_at_ms < ?1 LIMIT ?2) AS overdue),
       (SELECT due_at_ms FROM task WHERE due_at_ms < ?1 ORDER BY due_at_ms, key LIMIT 1),
       (SELECT COUNT(*)
        FROM (SELECT 1 AS one FROM task WHERE state = 4 AND workflow IS NULL LIMIT ?2) AS recovering),
       (SELECT COUNT(*)
        FROM (SELECT 1 AS one FROM task WHERE state = 8 AND workflow IS NULL LIMIT ?2) AS dead),
       (SELECT COUNT(*)
        FROM (SELECT 1 AS one FROM task WHERE state = 3 AND workflow IS NULL LIMIT ?2) AS paused),
       (SELECT COUNT(*)
        FROM (SELECT 1 AS one FROM task WHERE blocked_by IS NOT NULL LIMIT ?2) AS blocked),
       (SELECT COUNT(*)
        FROM (SELECT 1 AS one FROM task WHERE finished_at_ms > 0 AND workflow IS NULL LIMIT ?3) AS finished),
       (SELECT finished_at_ms FROM task WHERE finished_at_ms > 0 AND workflow IS NULL ORDER BY finished_at_ms, key LIMIT 1),
       (SELECT COUNT(*) FROM (SELECT 1 AS one FROM quarantine LIMIT ?2) AS aside),
       (SELECT COUNT(*) FROM (SELECT 1 AS one FROM continuation WHERE remaining >= 0 LIMIT ?2) AS going_on),
       (SELECT COUNT(*)
        FROM (SELECT state FROM task WHERE due_at_ms > 0 ORDER BY due_at_ms, key LIMIT ?2) AS waiting
        WHERE state = 2),
       (SELECT COUNT(*) FROM (SELECT 1 AS one FROM late WHERE key > 0 LIMIT ?2) AS too_late),
       (SELECT COUNT(*) FROM (SELECT 1 AS one FROM workflow WHERE state < 2 AND name > '' LIMIT ?3) AS workflows)
FROM head, meta
WHERE head.one = 1 AND meta.one = 1
LIMIT 1;

-- name: CONSUMERS
-- The unique index of consumer.name.
SELECT key, name, cursor, seen_at_ms
FROM consumer
ORDER BY name
LIMIT ?1;

-- name: WORKERS_SHARED
-- worker_shared, its last entries.
SELECT id, host, pid, other_host, other_pid, shared_at_ms
FROM worker
WHERE shared_at_ms > 0 AND shared_at_ms > ?1
ORDER BY shared_at_ms DESC
LIMIT ?2;

-- name: HEAD_POSITION
-- head, by its key.
SELECT position
FROM head
WHERE one = 1
LIMIT 1;

-- name: TALLY
-- event, by its key, from a position on and up to a bound.
SELECT type, COUNT(*), MAX(position)
FROM (SELECT position, type
      FROM event
      WHERE position > ?1
      ORDER BY position
      LIMIT ?2) AS told
GROUP BY type
LIMIT ?3;

-- name: SCHEMA_BYTES postgres only
-- The catalogue. Tables with their indexes.
SELECT COALESCE(SUM(pg_total_relation_size(oid)), 0)::bigint
FROM pg_class
WHERE relnamespace = to_regnamespace(current_setting('search_path'))::oid AND relkind = 'r'
LIMIT 1;

-- Keeping a store: what a restore raises, and what fsck looks at and mends (epochs.c, fsck.c). Pages go by key.

-- name: EPOCHS_RAISE
-- task, by its key. ?1 is added to each; what is beyond ?4 cannot be read, and stays so.
UPDATE task SET epoch = epoch + ?1, version = version + 1
WHERE key > ?2 AND key <= ?3 AND epoch <= ?4 AND version <= ?4;

-- name: EPOCHS_NEXT
-- task, by its key: the last of a slice, if it is full.
SELECT key
FROM task
WHERE key > ?1
ORDER BY key
LIMIT 1 OFFSET ?2;

-- name: FSCK_HEAD
-- head, by its key; the newest entry of each table by its own.
SELECT h.position, h.next_key,
       COALESCE((SELECT position FROM event WHERE position > 0 ORDER BY position DESC LIMIT 1), 0),
       COALESCE((SELECT key FROM task WHERE key > 0 ORDER BY key DESC LIMIT 1), 0),
       COALESCE((SELECT key FROM queue WHERE key > 0 ORDER BY key DESC LIMIT 1), 0),
       COALESCE((SELECT key FROM worker WHERE key > 0 ORDER BY key DESC LIMIT 1), 0),
       COALESCE((SELECT key FROM checkpoint WHERE key > 0 ORDER BY key DESC LIMIT 1), 0),
       COALESCE((SELECT key FROM log WHERE key > 0 ORDER BY key DESC LIMIT 1), 0),
       COALESCE((SELECT key FROM late WHERE key > 0 ORDER BY key DESC LIMIT 1), 0),
       COALESCE((SELECT key FROM consumer WHERE key > 0 ORDER BY key DESC LIMIT 1), 0),
       COALESCE((SELECT key FROM continuation WHERE key > 0 ORDER BY key DESC LIMIT 1), 0),
       COALESCE((SELECT key FROM tombstone WHERE key > 0 ORDER BY key DESC LIMIT 1), 0),
       COALESCE((SELECT key FROM definition WHERE key > 0 ORDER BY key DESC LIMIT 1), 0),
       COALESCE((SELECT key FROM workflow WHERE key > 0 ORDER BY key DESC LIMIT 1), 0),
       COALESCE((SELECT key FROM snapshot WHERE key > 0 ORDER BY key DESC LIMIT 1), 0),
       COALESCE((SELECT key FROM gate WHERE key > 0 ORDER BY key DESC LIMIT 1), 0),
       h.now_ms, h.wall_offset_ms, h.generation
FROM head h
WHERE h.one = 1
LIMIT 1;

-- name: FSCK_SCHEMA sqlite
-- The catalogue.
SELECT 1 FROM sqlite_schema WHERE name = ?1 AND type IN ('table', 'index') LIMIT 1;

-- name: FSCK_SCHEMA postgres
-- The catalogue, by its index of names.
SELECT 1::bigint
FROM pg_class
WHERE relname = CAST(CAST(?1 AS text) AS name) AND relnamespace = to_regnamespace(current_setting('search_path'))::oid AND relkind IN ('r', 'i')
LIMIT 1;

-- name: FSCK_TASKS
-- task, by its key; what is counted by the indexes of its table. What the row says first (28), then what there is.
SELECT t.key, t.id, t.queue, t.state, t.priority, t.rank, t.due_at_ms, t.lease_kind, t.owner, t.lease_ms,
       t.lease_end_at_ms, t.attempt_end_at_ms, t.ready_at_ms, t.updated_at_ms, t.finished_at_ms, t.control,
       t.control_deadline_at_ms, t.sequence, t.open_dependencies, t.blocked_by, t.has_dependents, t.payloads,
       t.checkpoint_count, t.log_bytes, t.payload_bytes, t.checkpoint_bytes, t.dependency_policy, t.run_at_ms,
       (SELECT 1 FROM queue q WHERE q.key = t.queue),
       (SELECT 1 FROM worker w WHERE w.key = t.owner),
       (SELECT MAX(e.sequence) FROM event e WHERE e.task = t.key),
       (SELECT COUNT(*) FROM dependency d WHERE d.task = t.key AND d.is_open <> 0),
       (SELECT MIN(d.on_key)
        FROM dependency d
        JOIN task b ON b.key = d.on_key
        WHERE d.task = t.key AND d.is_open <> 0 AND b.state IN (6, 7, 8)),
       (SELECT 1
        FROM dependency d
        JOIN task b ON b.key = d.on_key
        WHERE d.task = t.key AND d.on_key = t.blocked_by AND d.is_open <> 0 AND b.state IN (6, 7, 8)
        LIMIT 1),
       (SELECT 1 FROM dependency d WHERE d.on_key = t.key AND d.is_open = 1 LIMIT 1),
       (SELECT SUM(CASE p.key - t.key * 16
                       WHEN 0 THEN 1 WHEN 1 THEN 2 WHEN 2 THEN 4 WHEN 3 THEN 8 WHEN 4 THEN 16 WHEN 5 THEN 32
                       WHEN 6 THEN 64 ELSE 128
                   END)
        FROM payload p
        WHERE p.key >= t.key * 16 AND p.key < t.key * 16 + 16),
       (SELECT COUNT(*) FROM checkpoint c WHERE c.task = t.key),
       (SELECT CAST(COALESCE(SUM(l.bytes + ?3), 0) AS bigint) FROM log l WHERE l.task = t.key),
       (SELECT COALESCE(SUM(BYTES(p.body)), 0)
        FROM payload p
        WHERE p.key >= t.key * 16 AND p.key < t.key * 16 + 4 AND p.key <> t.key * 16 + 1),
       (SELECT BYTES(c.state) FROM checkpoint c WHERE c.task = t.key ORDER BY c.key DESC LIMIT 1),
       (SELECT 1 FROM quarantine z WHERE z.table_name = 'task' AND z.row_key = t.key AND z.reason = ?4)
FROM task t
WHERE t.key > ?1
ORDER BY t.key
LIMIT ?2;

-- name: FSCK_DEPENDENCIES
-- dependency, by its key; task by its key or its id.
SELECT d.task, d.number, d.on_key, d.on_id, d.is_open, t.id, t.state, t.dependency_policy, t.blocked_by,
       b.key, b.state, a.key
FROM dependency d
LEFT JOIN task t ON t.key = d.task
LEFT JOIN task b ON b.key = d.on_key
LEFT JOIN task a ON a.id = d.on_id
WHERE d.task >= ?1 AND (d.task > ?1 OR d.number > ?2)
ORDER BY d.task, d.number
LIMIT ?3;

-- name: FSCK_TELLS
-- continuation, all of it; there are few. Whether somebody is still to be told of a task (1), or of an id (4), or what
-- is left beside a removed task is still to go (5).
SELECT 1
FROM continuation
WHERE (kind IN (1, 5) AND task = ?1) OR (kind = 4 AND (task = ?1 OR args = ?2))
LIMIT 1;

-- name: FSCK_EVENTS
-- event, by its key; task by its key. The columns of pawl_row_event, then the task's.
SELECT e.position, e.task, e.sequence, e.type, e.at_ms, e.state, e.epoch, e.version, e.progress, e.retries,
       e.next_retry_at_ms, e.duration_ms, e.cause, e.actor, e.note, t.key
FROM event e
LEFT JOIN task t ON t.key = e.task
WHERE e.position > ?1
ORDER BY e.position
LIMIT ?2;

-- name: FSCK_PAYLOADS
-- payload, by its key; task and workflow by theirs.
SELECT p.key, p.key / 16, COALESCE(t.key, w.key), COALESCE(t.id, w.id), COALESCE(t.payloads, w.payloads)
FROM payload p
LEFT JOIN task t ON t.key = p.key / 16
LEFT JOIN workflow w ON w.key = p.key / 16
WHERE p.key > ?1
ORDER BY p.key
LIMIT ?2;

-- name: FSCK_CHECKPOINTS
-- checkpoint, by its key; task by its key.
SELECT c.key, c.task, t.key
FROM checkpoint c
LEFT JOIN task t ON t.key = c.task
WHERE c.key > ?1
ORDER BY c.key
LIMIT ?2;

-- name: FSCK_LOGS
-- log, by its key; task by its key.
SELECT l.key, l.task, t.key
FROM log l
LEFT JOIN task t ON t.key = l.task
WHERE l.key > ?1
ORDER BY l.key
LIMIT ?2;

-- name: FSCK_LATES
-- late, by its key; task by its key.
SELECT l.key, l.task, t.key
FROM late l
LEFT JOIN task t ON t.key = l.task
WHERE l.key > ?1
ORDER BY l.key
LIMIT ?2;

-- name: FSCK_QUEUES
-- queue, by its key. The columns of pawl_row_queue.
SELECT key, name, is_paused, lease_ms, max_retries, backoff, delay_ms, delay_ms_max, jitter_ms
FROM queue
WHERE key > ?1
ORDER BY key
LIMIT ?2;

-- name: FSCK_GATES
-- gate, by its key; task_gate for each. The columns of pawl_row_gate, then what it has to count.
SELECT key, name, held, starts,
       (SELECT COUNT(*) FROM task WHERE task.gate = gate.key AND task.gate > 0)
FROM gate
WHERE key > ?1
ORDER BY key
LIMIT ?2;

-- name: FSCK_WORKERS
-- worker, by its key. The columns of pawl_row_worker.
SELECT key, id, host, boot, pid, started_at_ms, seen_at_ms, request_id, granted, other_host, other_boot, other_pid,
       shared_at_ms
FROM worker
WHERE key > ?1
ORDER BY key
LIMIT ?2;

-- name: FSCK_CONSUMERS
-- consumer, by its key. The columns of pawl_row_consumer.
SELECT key, name, cursor, seen_at_ms
FROM consumer
WHERE key > ?1
ORDER BY key
LIMIT ?2;

-- name: FSCK_ACKNOWLEDGEMENTS
-- acknowledgement, by its key; consumer by its key.
SELECT a.consumer, a.position, c.key, c.cursor
FROM acknowledgement a
LEFT JOIN consumer c ON c.key = a.consumer
WHERE a.consumer >= ?1 AND (a.consumer > ?1 OR a.position > ?2)
ORDER BY a.consumer, a.position
LIMIT ?3;

-- name: FSCK_CONTINUATIONS
-- continuation, by its key; task and workflow by theirs. The columns of pawl_row_continuation, then the key of the
-- task, or of the workflow.
SELECT c.key, c.kind, c.task, c.cursor, c.remaining, c.done, c.args, COALESCE(t.key, w.key)
FROM continuation c
LEFT JOIN task t ON t.key = c.task
LEFT JOIN workflow w ON w.key = c.task
WHERE c.key > ?1
ORDER BY c.key
LIMIT ?2;

-- name: FSCK_TOMBSTONES
-- tombstone, by its key; task by its key and by its id.
SELECT s.key, s.id, t.key, i.key
FROM tombstone s
LEFT JOIN task t ON t.key = s.key
LEFT JOIN task i ON i.id = s.id
WHERE s.key > ?1
ORDER BY s.key
LIMIT ?2;

-- name: FSCK_IMPORTS
-- import, by its key.
SELECT digest, name, at_ms, task_count
FROM import
WHERE digest > ?1
ORDER BY digest
LIMIT ?2;

-- name: FSCK_DEFINITIONS
-- definition, by its key. The columns of pawl_row_definition, of the body its bytes; the generation of head.
SELECT d.key, d.kind, d.name, d.version, d.generation, d.created_at_ms, d.updated_at_ms, d.created_by,
       d.updated_by, '', BYTES(d.body), h.generation
FROM definition d JOIN head h ON h.one = 1
WHERE d.key > ?1
ORDER BY d.key
LIMIT ?2;

-- name: FSCK_WORKFLOWS
-- workflow, by its key; what is counted by the indexes of record. The columns of pawl_row_workflow, then whether its
-- snapshot is there, its payloads, its records that are not decided, the continuations that it counts (7 = DECISION),
-- its failures that it was let go on from, its highest seq, the task of that record, and whether the one that it calls
-- its newest is there.
SELECT w.key, w.id, w.name, w.definition_version, w.snapshot, w.state, w.priority, w.run, w.version, w.created_at_ms,
       w.updated_at_ms, w.finished_at_ms, w.retried_at_ms, w.next_seq, w.open, w.permissive, w.ahead, w.last, w.failed,
       w.payloads, w.correlation_id, w.idempotency_key, w.depth,
       (SELECT 1 FROM snapshot s WHERE s.key = w.snapshot),
       (SELECT SUM(CASE p.key - w.key * 16
                       WHEN 0 THEN 1 WHEN 1 THEN 2 WHEN 2 THEN 4 WHEN 3 THEN 8 WHEN 4 THEN 16 ELSE 32
                   END)
        FROM payload p
        WHERE p.key >= w.key * 16 AND p.key < w.key * 16 + 16),
       (SELECT COUNT(*) FROM record r WHERE r.run = w.run AND r.is_decided = 0),
       (SELECT COUNT(*) FROM continuation c WHERE c.key > 0 AND c.task = w.key AND c.kind = 7 AND c.cursor = w.run),
       (SELECT COUNT(*)
        FROM record r
        WHERE r.run = w.run AND r.is_superseded = 0 AND r.status > 3 AND r.status < 8 AND r.is_decided = 1),
       (SELECT MAX(r.seq) FROM record r WHERE r.run = w.run),
       (SELECT r.task FROM record r WHERE r.run = w.run AND r.seq > 0 ORDER BY r.seq DESC LIMIT 1),
       (SELECT 1 FROM record r WHERE r.task = w.last AND r.run = w.run)
FROM workflow w
WHERE w.key > ?1
ORDER BY w.key
LIMIT ?2;

-- name: FSCK_RECORDS
-- record, by its key; task and workflow by theirs. The columns of pawl_row_record, then the workflow of the task, its id
-- and state, the workflow's run, and the text of its snapshot where an open JOIN has to be counted again.
SELECT r.task, r.workflow, r.run, r.seq, r.node, r.reference, r.status, r.attempt, r.predecessor, r.is_superseded,
       r.is_decided, r.first_scheduled_at_ms, r.scheduled_at_ms, r.start_delay_s, r.callback_after_s, r.worker, r.domain,
       r.join_pending, r.join_branches, r.join_failed, r.join_cancelled, r.join_optional,
       t.workflow, t.id, t.state, w.run,
       CASE WHEN r.status = 1 AND (r.join_pending IS NOT NULL OR r.join_branches IS NOT NULL) THEN s.body END
FROM record r
LEFT JOIN task t ON t.key = r.task
LEFT JOIN workflow w ON w.key = r.workflow
LEFT JOIN snapshot s ON s.key = w.snapshot
WHERE r.task > ?1
ORDER BY r.task
LIMIT ?2;

-- name: FSCK_QUARANTINE
-- quarantine, by its key.
SELECT table_name, row_key, id, reason
FROM quarantine
WHERE table_name >= ?1 AND (table_name > ?1 OR row_key > ?2)
ORDER BY table_name, row_key
LIMIT ?3;

-- name: TASK_MEND
-- task, by its key. What follows from the rest of the row and from what lies beside it.
UPDATE task
SET version = version + 1, rank = ?2, due_at_ms = ?3, lease_kind = ?4, owner = ?5, lease_ms = ?6,
    lease_end_at_ms = ?7, attempt_end_at_ms = ?8, ready_at_ms = ?9, control = ?10, control_deadline_at_ms = ?11,
    sequence = ?12, open_dependencies = ?13, blocked_by = ?14, has_dependents = ?15, checkpoint_count = ?16,
    log_bytes = ?17, payload_bytes = ?18, checkpoint_bytes = ?19, run_at_ms = ?20,
    lease_place = CASE WHEN state IN (2, 4) THEN lease_place END
WHERE key = ?1;

-- name: WORKFLOW_MEND
-- workflow, by its key. What follows from its records.
UPDATE workflow
SET version = version + 1, open = ?2, permissive = ?3, ahead = ?4, next_seq = ?5, last = ?6
WHERE key = ?1;

-- name: WORKFLOW_OPEN_MORE
-- workflow, by its key. A continuation that it counts was added.
UPDATE workflow SET open = open + 1 WHERE key = ?1;

-- name: RECORD_MEND
-- record, by its key. A JOIN's counters.
UPDATE record SET join_pending = ?2, join_failed = ?3, join_cancelled = ?4, join_optional = ?5 WHERE task = ?1;

-- name: CONTINUATION_TAKE_UP
-- continuation, by its key. One that was put off is due again.
UPDATE continuation SET remaining = 0 WHERE key = ?1 AND remaining = -2;

-- name: QUARANTINE_REMOVE
-- quarantine, by its key. The row can be read again.
DELETE FROM quarantine WHERE table_name = ?1 AND row_key = ?2;

-- Tokens (token.c): beside the steps, by whoever administers the store.

-- name: TOKENS
-- token, by its names: there are PAWL_TOKENS_MAX at most.
SELECT name, key_id, role, secret_digest, created_at_ms
FROM token
WHERE name > ?1
ORDER BY name
LIMIT ?2;

-- name: TOKEN_ADD
INSERT INTO token (name, key_id, role, secret_digest, created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: TOKEN_REMOVE
-- token, by its name.
DELETE FROM token WHERE name = ?1;

-- Workflows and their records (read_workflow.c).

-- name: READ_WORKFLOW
-- The unique index of workflow.id; snapshot and task by their keys. The columns of pawl_row_workflow, then the text of
-- the snapshot and the id of the task that ended it.
SELECT w.key, w.id, w.name, w.definition_version, w.snapshot, w.state, w.priority, w.run, w.version, w.created_at_ms,
       w.updated_at_ms, w.finished_at_ms, w.retried_at_ms, w.next_seq, w.open, w.permissive, w.ahead, w.last, w.failed,
       w.payloads, w.correlation_id, w.idempotency_key, w.depth, s.body, f.id
FROM workflow w
LEFT JOIN snapshot s ON s.key = w.snapshot
LEFT JOIN task f ON f.key = w.failed
WHERE w.id = ?1
LIMIT 1;

-- name: READ_RECORDS
-- record_run, in its order, beyond a place; the rest by their keys. The columns of pawl_row_record, then those of
-- read_workflow.c.
SELECT r.task, r.workflow, r.run, r.seq, r.node, r.reference, r.status, r.attempt, r.predecessor, r.is_superseded,
       r.is_decided, r.first_scheduled_at_ms, r.scheduled_at_ms, r.start_delay_s, r.callback_after_s, r.worker, r.domain,
       r.join_pending, r.join_branches, r.join_failed, r.join_cancelled, r.join_optional, t.id, t.state, t.epoch, t.claims, t.priority, t.started_at_ms, t.updated_at_ms, t.finished_at_ms,
       t.lease_end_at_ms, t.response_ms, t.payloads, t.correlation_id, q.name, o.id, p.id, w.id,
       w.name
FROM record r
JOIN task t ON t.key = r.task
JOIN workflow w ON w.key = r.workflow
LEFT JOIN queue q ON q.key = t.queue
LEFT JOIN worker o ON o.key = t.owner
LEFT JOIN task p ON p.key = r.predecessor
WHERE r.run = ?1 AND r.seq > ?2
ORDER BY r.seq
LIMIT ?3;

-- name: READ_RECORD
-- The unique index of task.id; the rest by their keys. The same.
SELECT r.task, r.workflow, r.run, r.seq, r.node, r.reference, r.status, r.attempt, r.predecessor, r.is_superseded,
       r.is_decided, r.first_scheduled_at_ms, r.scheduled_at_ms, r.start_delay_s, r.callback_after_s, r.worker, r.domain,
       r.join_pending, r.join_branches, r.join_failed, r.join_cancelled, r.join_optional, t.id, t.state, t.epoch, t.claims, t.priority, t.started_at_ms, t.updated_at_ms, t.finished_at_ms,
       t.lease_end_at_ms, t.response_ms, t.payloads, t.correlation_id, q.name, o.id, p.id, w.id,
       w.name
FROM task t
JOIN record r ON r.task = t.key
JOIN workflow w ON w.key = r.workflow
LEFT JOIN queue q ON q.key = t.queue
LEFT JOIN worker o ON o.key = t.owner
LEFT JOIN task p ON p.key = r.predecessor
WHERE t.id = ?1
LIMIT 1;

-- name: READ_RECORDS_NEWEST
-- record, by its key, from behind; the rest by their keys. The same, of present runs.
SELECT r.task, r.workflow, r.run, r.seq, r.node, r.reference, r.status, r.attempt, r.predecessor, r.is_superseded,
       r.is_decided, r.first_scheduled_at_ms, r.scheduled_at_ms, r.start_delay_s, r.callback_after_s, r.worker, r.domain,
       r.join_pending, r.join_branches, r.join_failed, r.join_cancelled, r.join_optional, t.id, t.state, t.epoch, t.claims, t.priority, t.started_at_ms, t.updated_at_ms, t.finished_at_ms,
       t.lease_end_at_ms, t.response_ms, t.payloads, t.correlation_id, q.name, o.id, p.id, w.id,
       w.name
FROM record r
JOIN workflow w ON w.key = r.workflow AND w.run = r.run
JOIN task t ON t.key = r.task
LEFT JOIN queue q ON q.key = t.queue
LEFT JOIN worker o ON o.key = t.owner
LEFT JOIN task p ON p.key = r.predecessor
WHERE r.task < ?1
ORDER BY r.task DESC
LIMIT ?2;

-- name: READ_WORKFLOWS_CORRELATED
-- workflow_correlation, in its order, beyond a place.
SELECT w.key, w.id, w.name, w.definition_version, w.snapshot, w.state, w.priority, w.run, w.version, w.created_at_ms,
       w.updated_at_ms, w.finished_at_ms, w.retried_at_ms, w.next_seq, w.open, w.permissive, w.ahead, w.last, w.failed,
       w.payloads, w.correlation_id, w.idempotency_key, w.depth
FROM workflow w
WHERE w.correlation_id = ?1 AND w.key > ?2
ORDER BY w.key
LIMIT ?3;

-- name: READ_WORKFLOWS_NEWEST
-- workflow, by its key, from behind.
SELECT w.key, w.id, w.name, w.definition_version, w.snapshot, w.state, w.priority, w.run, w.version, w.created_at_ms,
       w.updated_at_ms, w.finished_at_ms, w.retried_at_ms, w.next_seq, w.open, w.permissive, w.ahead, w.last, w.failed,
       w.payloads, w.correlation_id, w.idempotency_key, w.depth
FROM workflow w
WHERE w.key < ?1
ORDER BY w.key DESC
LIMIT ?2;

-- name: READ_WORKFLOWS_RUNNING
-- workflow_running, in its order, beyond a place.
SELECT w.key, w.id, w.name, w.definition_version, w.snapshot, w.state, w.priority, w.run, w.version, w.created_at_ms,
       w.updated_at_ms, w.finished_at_ms, w.retried_at_ms, w.next_seq, w.open, w.permissive, w.ahead, w.last, w.failed,
       w.payloads, w.correlation_id, w.idempotency_key, w.depth
FROM workflow w
WHERE w.name = ?1 AND w.state < 2 AND w.key > ?2
ORDER BY w.key
LIMIT ?3;

-- Lists of definitions (read_definition.c).

-- name: DEFINITIONS
-- definition_name, from behind a place. The columns of pawl_row_definition, without the body.
SELECT key, kind, name, version, generation, created_at_ms, updated_at_ms, created_by, updated_by, ''
FROM definition
WHERE kind = ?1 AND name >= ?2 AND (name > ?2 OR version > ?3)
ORDER BY name, version
LIMIT ?4;

-- name: DEFINITION_VERSIONS
-- definition_name, of one name. The same.
SELECT key, kind, name, version, generation, created_at_ms, updated_at_ms, created_by, updated_by, ''
FROM definition
WHERE kind = ?1 AND name = ?2 AND version > ?3
ORDER BY version
LIMIT ?4;
