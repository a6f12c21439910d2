-- Schema 1, as 0001.sqlite.sql says it, for PostgreSQL. Instants are milliseconds since 1970; null means none.
-- Row keys come from head.next_key, are shared by all tables and never reused. States, kinds and types are the
-- numbers of src/core/task.
--
-- Every whole number is bigint and every truth 0 or 1, so that one decoder serves both stores. Text compares by
-- bytes, as SQLite's does: no index depends on the locale of the server. Payloads are text, never jsonb: they
-- leave as they came. The names live in a schema of their own, which the driver has made and put into
-- search_path before it runs this file.
--
-- Tables that are rewritten all the time keep room in their pages (fillfactor), so that an update that changes
-- no indexed column stays on its page and touches no index, and are vacuumed by the count of dead rows, not by
-- their share of a table that may be large.

-- One row: what seldom changes, read once a step. generation grows when queues change, so that caches can be
-- dropped; schema_version is the number of the newest schema file applied, so that a running process of an older
-- version notices.
CREATE TABLE meta (
    one bigint PRIMARY KEY CHECK (one = 1),
    schema_version bigint NOT NULL,
    store_id text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    boot_id text COLLATE "C" NOT NULL,
    clock_offset_ms bigint NOT NULL -- not used here: now is the database's clock
) WITH (fillfactor = 50);

-- One row: what every step changes.
CREATE TABLE head (
    one bigint PRIMARY KEY CHECK (one = 1),
    position bigint NOT NULL, -- of the newest event
    next_key bigint NOT NULL,
    now_ms bigint NOT NULL    -- of the last committed step; now never falls behind it
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_cost_delay = 0);

-- One row an open handle: the number of its last committed step, written by that step. After a lost answer
-- the handle reads it back and so knows whether its commit was done.
CREATE TABLE node (
    key bigint PRIMARY KEY, -- at random, made at open
    step bigint NOT NULL,
    seen_at_ms bigint NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE queue (
    key bigint PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    is_paused bigint NOT NULL,
    lease_ms bigint NOT NULL,    -- 0 = the default
    max_retries bigint NOT NULL, -- 0 = the default, -1 = none
    backoff bigint NOT NULL,
    delay_ms bigint NOT NULL,
    delay_ms_max bigint NOT NULL,
    jitter_ms bigint NOT NULL
);

CREATE TABLE worker (
    key bigint PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    host text COLLATE "C",
    boot text COLLATE "C",
    pid bigint,
    place text, -- where the locks of its executions are
    started_at_ms bigint NOT NULL,
    seen_at_ms bigint NOT NULL,
    request_id text COLLATE "C", -- of its newest claim,
    granted bytea                -- and that claim's grants: pairs of task key and epoch, 16 bytes each
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE task (
    key bigint PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    queue bigint NOT NULL,
    state bigint NOT NULL,
    priority bigint NOT NULL,
    rank bigint,              -- not null exactly when it may be claimed now
    due_at_ms bigint,         -- when the engine has to look at it; may be early, never late
    version bigint NOT NULL,
    epoch bigint NOT NULL,
    lease_kind bigint,
    owner bigint,             -- worker.key
    lease_ms bigint,
    lease_end_at_ms bigint,
    attempt_end_at_ms bigint,
    timeout_ms bigint,
    max_retries bigint NOT NULL,
    backoff bigint NOT NULL,
    delay_ms bigint NOT NULL,
    delay_ms_max bigint NOT NULL,
    jitter_ms bigint NOT NULL,
    retries bigint NOT NULL,
    recoveries bigint NOT NULL,
    crashes_in_row bigint NOT NULL,
    ready_at_ms bigint,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    started_at_ms bigint,
    finished_at_ms bigint,
    progress double precision NOT NULL,
    progress_epoch bigint NOT NULL,
    progress_event_at_ms bigint,
    control bigint NOT NULL,
    control_deadline_at_ms bigint,
    sequence bigint NOT NULL,
    outcome_epoch bigint,
    outcome_kind bigint,
    outcome_digest bigint,
    dependency_policy bigint NOT NULL,
    open_dependencies bigint NOT NULL,
    blocked_by bigint,
    has_dependents bigint NOT NULL,
    payloads bigint NOT NULL, -- bit 1 << kind for each that exists
    checkpoint_count bigint NOT NULL,
    log_bytes bigint NOT NULL,
    payload_bytes bigint NOT NULL,    -- of input, goal and metadata: what a claim has to load
    checkpoint_bytes bigint NOT NULL, -- and of the latest checkpoint
    title text COLLATE "C",
    correlation_id text COLLATE "C",
    idempotency_key text COLLATE "C",
    body_digest bigint
) WITH (fillfactor = 75, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.01,
        autovacuum_analyze_threshold = 2000, autovacuum_analyze_scale_factor = 0.05,
        autovacuum_vacuum_cost_delay = 0);

-- Exactly what may be claimed now, in the order of claims.
CREATE INDEX task_ready ON task (queue, rank, key) WHERE rank IS NOT NULL;
-- What waits for an instant: lease ends, deferrals, time-outs, control deadlines.
CREATE INDEX task_due ON task (due_at_ms, key) WHERE due_at_ms IS NOT NULL;
-- Finished tasks, for lists and retention.
CREATE INDEX task_finished ON task (finished_at_ms, key) WHERE finished_at_ms IS NOT NULL;
-- The few that wait for a person: PAUSED 3, RECOVERY_PENDING 4, FAILED 6, DEAD_LETTER 8.
CREATE INDEX task_aside ON task (state, key) WHERE state IN (3, 4, 6, 8);
CREATE INDEX task_blocked ON task (key) WHERE blocked_by IS NOT NULL;
CREATE UNIQUE INDEX task_idempotency ON task (idempotency_key) WHERE idempotency_key IS NOT NULL;

-- What may be large. key = task.key * 16 + kind.
CREATE TABLE payload (
    key bigint PRIMARY KEY,
    body text COLLATE "C" NOT NULL
);

-- Who waits for whom. on_key is null while no task has on_id yet.
CREATE TABLE dependency (
    task bigint NOT NULL,
    number bigint NOT NULL, -- order in which they were named
    on_key bigint,
    on_id text COLLATE "C",
    is_open bigint NOT NULL,
    PRIMARY KEY (task, number)
) WITH (fillfactor = 90);
CREATE INDEX dependency_on ON dependency (on_key, task, number) WHERE on_key IS NOT NULL;
CREATE INDEX dependency_awaited ON dependency (on_id, task, number) WHERE on_key IS NULL;

-- One row a transition: history, outbox, live listeners and audit.
CREATE TABLE event (
    position bigint PRIMARY KEY,
    task bigint NOT NULL,
    sequence bigint NOT NULL,
    type bigint NOT NULL,
    at_ms bigint NOT NULL,
    state bigint NOT NULL,
    epoch bigint NOT NULL,
    version bigint NOT NULL,
    progress double precision NOT NULL,
    retries bigint NOT NULL,
    next_retry_at_ms bigint,
    duration_ms bigint,
    cause bigint NOT NULL,
    actor text COLLATE "C",
    note text COLLATE "C"
);
CREATE UNIQUE INDEX event_task ON event (task, sequence);

CREATE TABLE consumer (
    key bigint PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    cursor bigint NOT NULL,
    seen_at_ms bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX consumer_cursor ON consumer (cursor);

-- Events after a consumer's cursor that it has acknowledged one by one.
CREATE TABLE acknowledgement (
    consumer bigint NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (consumer, position)
) WITH (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE checkpoint (
    key bigint PRIMARY KEY,
    task bigint NOT NULL,
    step bigint NOT NULL,
    epoch bigint NOT NULL,
    at_ms bigint NOT NULL,
    state text COLLATE "C" NOT NULL
);
CREATE INDEX checkpoint_task ON checkpoint (task, key);

CREATE TABLE log (
    key bigint PRIMARY KEY,
    task bigint NOT NULL,
    epoch bigint NOT NULL,
    at_ms bigint NOT NULL,
    bytes bigint NOT NULL,
    text text COLLATE "C" NOT NULL
);
CREATE INDEX log_task ON log (task, key);

CREATE TABLE late (
    key bigint PRIMARY KEY,
    task bigint NOT NULL,
    epoch bigint NOT NULL,
    at_ms bigint NOT NULL,
    owner text COLLATE "C" NOT NULL,
    kind bigint NOT NULL,
    digest bigint NOT NULL,
    body text COLLATE "C" NOT NULL
);
CREATE INDEX late_task ON late (task, key);

-- The rest of a decision that was too large for one step: due now.
CREATE TABLE continuation (
    key bigint PRIMARY KEY,
    kind bigint NOT NULL,
    task bigint NOT NULL,
    cursor bigint NOT NULL,
    remaining bigint NOT NULL, -- -1: ended, its count is waited for
    done bigint NOT NULL,
    args text COLLATE "C"
) WITH (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

-- Rows that could not be decoded, set aside so that all others go on.
CREATE TABLE quarantine (
    table_name text COLLATE "C" NOT NULL,
    row_key bigint NOT NULL,
    id text COLLATE "C",
    raw text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    seen_at_ms bigint NOT NULL,
    PRIMARY KEY (table_name, row_key)
);
