-- Schema 2: what stays of tasks that retention has removed.

-- One row a removed task, for as long as PAWL_TOMBSTONE_KEPT_MS: its id and its idempotency key stay in use, and who
-- depends on it is told how it ended.
CREATE TABLE tombstone (
    key INTEGER PRIMARY KEY, -- the task's
    id TEXT NOT NULL UNIQUE,
    state INTEGER NOT NULL,
    finished_at_ms INTEGER NOT NULL,
    removed_at_ms INTEGER NOT NULL,
    idempotency_key TEXT,
    body_digest INTEGER
) STRICT;
CREATE UNIQUE INDEX tombstone_idempotency ON tombstone (idempotency_key) WHERE idempotency_key IS NOT NULL;
