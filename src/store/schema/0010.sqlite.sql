-- Schema 10: workflows. Each step of one is a task; what only such a task has is its record.

-- A definition as workflows began with it, with those of its tasks: one row for all that share it.
CREATE TABLE snapshot (
    key INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE, -- of the body, 32 hexadecimal digits
    body TEXT NOT NULL
) STRICT;

CREATE TABLE workflow (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,        -- of its definition
    definition_version INTEGER NOT NULL,
    snapshot INTEGER NOT NULL,
    state INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    run INTEGER NOT NULL,      -- its present one; records of others are not seen any more
    version INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    finished_at_ms INTEGER,
    retried_at_ms INTEGER,
    next_seq INTEGER NOT NULL,
    open INTEGER NOT NULL,       -- records not decided for good, and continuations
    permissive INTEGER NOT NULL, -- failures that let it go on
    ahead INTEGER NOT NULL,      -- records that may be there before the flow comes to them
    last INTEGER,                -- the task of the newest record
    failed INTEGER,              -- the task that ended it
    payloads INTEGER NOT NULL,   -- bit 1 << kind for each that exists
    correlation_id TEXT,
    idempotency_key TEXT,
    depth INTEGER NOT NULL -- of a failure workflow: how many failed before it
) STRICT;
-- Lists: what runs, by name; and by correlation id.
CREATE INDEX workflow_running ON workflow (name, key) WHERE state IN (0, 1);
CREATE INDEX workflow_correlation ON workflow (correlation_id, key) WHERE correlation_id IS NOT NULL;
CREATE INDEX workflow_idempotency ON workflow (name, idempotency_key, key) WHERE idempotency_key IS NOT NULL;

-- What only a workflow's task has; the key is the task's.
CREATE TABLE record (
    task INTEGER PRIMARY KEY,
    workflow INTEGER NOT NULL,
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,      -- from 1; below 0 while its place is not known yet
    node INTEGER NOT NULL,     -- in the snapshot
    reference TEXT NOT NULL,
    status INTEGER NOT NULL,
    attempt INTEGER NOT NULL,  -- from 0
    predecessor INTEGER,       -- the task of the attempt before
    is_superseded INTEGER NOT NULL,
    is_decided INTEGER NOT NULL,
    first_scheduled_at_ms INTEGER NOT NULL,
    scheduled_at_ms INTEGER NOT NULL,
    start_delay_s INTEGER NOT NULL,
    callback_after_s INTEGER NOT NULL,
    worker TEXT,               -- who spoke of it last
    domain TEXT,
    join_pending INTEGER,
    join_branches INTEGER,
    join_failed INTEGER,
    join_cancelled INTEGER,
    join_optional INTEGER
) STRICT;
-- In the order in which they were made.
CREATE UNIQUE INDEX record_run ON record (run, seq);
-- The newest attempt of each reference.
CREATE UNIQUE INDEX record_latest ON record (run, reference) WHERE is_superseded = 0;
-- SCHEDULED and IN_PROGRESS.
CREATE INDEX record_open ON record (run, task) WHERE status IN (0, 1);
-- Ended, and still to be decided: empty but for paused workflows.
CREATE INDEX record_undecided ON record (run, task) WHERE is_decided = 0 AND status > 1;
-- What has failed or was cancelled, for whoever wants it tried again.
CREATE INDEX record_bad ON record (run, task) WHERE is_superseded = 0 AND status IN (4, 5, 6, 7);

ALTER TABLE task ADD COLUMN workflow INTEGER;
-- How often this very task was claimed.
ALTER TABLE task ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;
-- How long its worker may be silent: the lease of a claim that does not say.
ALTER TABLE task ADD COLUMN response_ms INTEGER;

-- A workflow's tasks end with it: neither lists of what has ended nor retention meet them one by one.
DROP INDEX task_finished;
CREATE INDEX task_finished ON task (finished_at_ms, key) WHERE finished_at_ms IS NOT NULL AND workflow IS NULL;
DROP INDEX task_aside;
CREATE INDEX task_aside ON task (state, key) WHERE state IN (3, 4, 6, 8) AND workflow IS NULL;
