-- Schema 13, as 0013.sqlite.sql says it, for PostgreSQL.

CREATE TABLE gate (
    key bigint PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    held bigint NOT NULL,
    starts bytea
);

ALTER TABLE task ADD COLUMN gate bigint;
CREATE INDEX task_gate ON task (gate) WHERE gate > 0;
