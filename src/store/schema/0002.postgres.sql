-- Schema 2, as 0002.sqlite.sql says it, for PostgreSQL.

-- One row a removed task, for as long as PAWL_TOMBSTONE_KEPT_MS.
CREATE TABLE tombstone (
    key bigint PRIMARY KEY, -- the task's
    id text COLLATE "C" NOT NULL UNIQUE,
    state bigint NOT NULL,
    finished_at_ms bigint NOT NULL,
    removed_at_ms bigint NOT NULL,
    idempotency_key text COLLATE "C",
    body_digest bigint
);
CREATE UNIQUE INDEX tombstone_idempotency ON tombstone (idempotency_key) WHERE idempotency_key IS NOT NULL;
