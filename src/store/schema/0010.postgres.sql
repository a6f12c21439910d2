-- Schema 10, as 0010.sqlite.sql says it, for PostgreSQL.

-- A definition as workflows began with it, with those of its tasks: one row for all that share it.
CREATE TABLE snapshot (
    key bigint PRIMARY KEY,
    hash text COLLATE "C" NOT NULL UNIQUE, -- of the body, 32 hexadecimal digits
    body text NOT NULL
);

CREATE TABLE workflow (
    key bigint PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    name text COLLATE "C" NOT NULL,        -- of its definition
    definition_version bigint NOT NULL,
    snapshot bigint NOT NULL,
    state bigint NOT NULL,
    priority bigint NOT NULL,
    run bigint NOT NULL,      -- its present one; records of others are not seen any more
    version bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    finished_at_ms bigint,
    retried_at_ms bigint,
    next_seq bigint NOT NULL,
    open bigint NOT NULL,       -- records not decided for good, and continuations
    permissive bigint NOT NULL, -- failures that let it go on
    ahead bigint NOT NULL,      -- records that may be there before the flow comes to them
    last bigint,                -- the task of the newest record
    failed bigint,              -- the task that ended it
    payloads bigint NOT NULL,   -- bit 1 << kind for each that exists
    correlation_id text COLLATE "C",
    idempotency_key text COLLATE "C",
    depth bigint NOT NULL -- of a failure workflow: how many failed before it
);
-- Lists: what runs, by name; and by correlation id.
CREATE INDEX workflow_running ON workflow (name, key) WHERE state IN (0, 1);
CREATE INDEX workflow_correlation ON workflow (correlation_id, key) WHERE correlation_id IS NOT NULL;
CREATE INDEX workflow_idempotency ON workflow (name, idempotency_key, key) WHERE idempotency_key IS NOT NULL;

-- What only a workflow's task has; the key is the task's.
CREATE TABLE record (
    task bigint PRIMARY KEY,
    workflow bigint NOT NULL,
    run bigint NOT NULL,
    seq bigint NOT NULL,      -- from 1; below 0 while its place is not known yet
    node bigint NOT NULL,     -- in the snapshot
    reference text COLLATE "C" NOT NULL,
    status bigint NOT NULL,
    attempt bigint NOT NULL,  -- from 0
    predecessor bigint,       -- the task of the attempt before
    is_superseded bigint NOT NULL,
    is_decided bigint NOT NULL,
    first_scheduled_at_ms bigint NOT NULL,
    scheduled_at_ms bigint NOT NULL,
    start_delay_s bigint NOT NULL,
    callback_after_s bigint NOT NULL,
    worker text COLLATE "C",               -- who spoke of it last
    domain text COLLATE "C",
    join_pending bigint,
    join_branches bigint,
    join_failed bigint,
    join_cancelled bigint,
    join_optional bigint
);
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

ALTER TABLE task ADD COLUMN workflow bigint;
-- How often this very task was claimed.
ALTER TABLE task ADD COLUMN claims bigint NOT NULL DEFAULT 0;
-- How long its worker may be silent: the lease of a claim that does not say.
ALTER TABLE task ADD COLUMN response_ms bigint;

-- A workflow's tasks end with it: neither lists of what has ended nor retention meet them one by one.
DROP INDEX task_finished;
CREATE INDEX task_finished ON task (finished_at_ms, key) WHERE finished_at_ms IS NOT NULL AND workflow IS NULL;
DROP INDEX task_aside;
CREATE INDEX task_aside ON task (state, key) WHERE state IN (3, 4, 6, 8) AND workflow IS NULL;
