-- Schema 4, as 0004.sqlite.sql says it, for PostgreSQL.

ALTER TABLE task ADD COLUMN run_at_ms bigint;
CREATE INDEX task_calendar ON task (key) WHERE run_at_ms IS NOT NULL;

-- Always 0 here: the store's clock is the wall clock of the server.
ALTER TABLE head ADD COLUMN wall_offset_ms bigint NOT NULL DEFAULT 0;

ALTER TABLE meta DROP COLUMN generation;
