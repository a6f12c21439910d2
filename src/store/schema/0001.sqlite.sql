-- Schema 1. Instants are milliseconds since 1970; null means none. Row keys come from head.next_key, are
-- shared by all tables and never reused. States, kinds and types are the numbers of src/core/task.

-- One row: what seldom changes, read once a step. generation grows when queues change, so that caches can be
-- dropped; schema_version is the number of the newest schema file applied, so that a running process of an older
-- version notices.
CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    schema_version INTEGER NOT NULL,
    store_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    clock_offset_ms INTEGER NOT NULL -- now = offset + boot clock, on the boot named here
) STRICT;

-- One row: what every step changes.
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    position INTEGER NOT NULL, -- of the newest event
    next_key INTEGER NOT NULL,
    now_ms INTEGER NOT NULL    -- of the last committed step; now never falls behind it
) STRICT;

CREATE TABLE queue (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    is_paused INTEGER NOT NULL,
    lease_ms INTEGER NOT NULL,    -- 0 = the default
    max_retries INTEGER NOT NULL, -- 0 = the default, -1 = none
    backoff INTEGER NOT NULL,
    delay_ms INTEGER NOT NULL,
    delay_ms_max INTEGER NOT NULL,
    jitter_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE worker (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    host TEXT,
    boot TEXT,
    pid INTEGER,
    place TEXT, -- where the locks of its executions are
    started_at_ms INTEGER NOT NULL,
    seen_at_ms INTEGER NOT NULL,
    request_id TEXT, -- of its newest claim,
    granted BLOB     -- and that claim's grants: pairs of task key and epoch, 16 bytes each
) STRICT;

CREATE TABLE task (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    queue INTEGER NOT NULL,
    state INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    rank INTEGER,              -- not null exactly when it may be claimed now
    due_at_ms INTEGER,         -- when the engine has to look at it; may be early, never late
    version INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    lease_kind INTEGER,
    owner INTEGER,             -- worker.key
    lease_ms INTEGER,
    lease_end_at_ms INTEGER,
    attempt_end_at_ms INTEGER,
    timeout_ms INTEGER,
    max_retries INTEGER NOT NULL,
    backoff INTEGER NOT NULL,
    delay_ms INTEGER NOT NULL,
    delay_ms_max INTEGER NOT NULL,
    jitter_ms INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    recoveries INTEGER NOT NULL,
    crashes_in_row INTEGER NOT NULL,
    ready_at_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    started_at_ms INTEGER,
    finished_at_ms INTEGER,
    progress REAL NOT NULL,
    progress_epoch INTEGER NOT NULL,
    progress_event_at_ms INTEGER,
    control INTEGER NOT NULL,
    control_deadline_at_ms INTEGER,
    sequence INTEGER NOT NULL,
    outcome_epoch INTEGER,
    outcome_kind INTEGER,
    outcome_digest INTEGER,
    dependency_policy INTEGER NOT NULL,
    open_dependencies INTEGER NOT NULL,
    blocked_by INTEGER,
    has_dependents INTEGER NOT NULL,
    payloads INTEGER NOT NULL, -- bit 1 << kind for each that exists
    checkpoint_count INTEGER NOT NULL,
    log_bytes INTEGER NOT NULL,
    payload_bytes INTEGER NOT NULL,    -- of input, goal and metadata: what a claim has to load
    checkpoint_bytes INTEGER NOT NULL, -- and of the latest checkpoint
    title TEXT,
    correlation_id TEXT,
    idempotency_key TEXT,
    body_digest INTEGER
) STRICT;

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
    key INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

-- Who waits for whom. on_key is null while no task has on_id yet.
CREATE TABLE dependency (
    task INTEGER NOT NULL,
    number INTEGER NOT NULL, -- order in which they were named
    on_key INTEGER,
    on_id TEXT,
    is_open INTEGER NOT NULL,
    PRIMARY KEY (task, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependency_on ON dependency (on_key, task) WHERE on_key IS NOT NULL;
CREATE INDEX dependency_awaited ON dependency (on_id) WHERE on_key IS NULL;

-- One row a transition: history, outbox, live listeners and audit.
CREATE TABLE event (
    position INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    type INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    state INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    version INTEGER NOT NULL,
    progress REAL NOT NULL,
    retries INTEGER NOT NULL,
    next_retry_at_ms INTEGER,
    duration_ms INTEGER,
    cause INTEGER NOT NULL,
    actor TEXT,
    note TEXT
) STRICT;
CREATE UNIQUE INDEX event_task ON event (task, sequence);

CREATE TABLE consumer (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    cursor INTEGER NOT NULL,
    seen_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX consumer_cursor ON consumer (cursor);

-- Events after a consumer's cursor that it has acknowledged one by one.
CREATE TABLE acknowledgement (
    consumer INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (consumer, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoint (
    key INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    step INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    state TEXT NOT NULL
) STRICT;
CREATE INDEX checkpoint_task ON checkpoint (task, key);

CREATE TABLE log (
    key INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX log_task ON log (task, key);

CREATE TABLE late (
    key INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    owner TEXT NOT NULL,
    kind INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX late_task ON late (task, key);

-- The rest of a decision that was too large for one step: due now.
CREATE TABLE continuation (
    key INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    task INTEGER NOT NULL,
    cursor INTEGER NOT NULL,
    remaining INTEGER NOT NULL, -- -1: ended, its count is waited for
    done INTEGER NOT NULL,
    args TEXT
) STRICT;

-- Rows that could not be decoded, set aside so that all others go on.
CREATE TABLE quarantine (
    table_name TEXT NOT NULL,
    row_key INTEGER NOT NULL,
    id TEXT,
    raw TEXT NOT NULL,
    reason TEXT NOT NULL,
    seen_at_ms INTEGER NOT NULL,
    PRIMARY KEY (table_name, row_key)
) STRICT, WITHOUT ROWID;
