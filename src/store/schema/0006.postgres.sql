-- Schema 6, as 0006.sqlite.sql says it, for PostgreSQL.

UPDATE dependency SET is_open = 0 WHERE is_open = 1 AND task IN (SELECT key FROM task WHERE state IN (5, 7));
UPDATE task SET open_dependencies = 0 WHERE open_dependencies <> 0 AND state IN (5, 7);
DROP INDEX dependency_on;
CREATE INDEX dependency_on ON dependency (on_key, task, number) WHERE is_open = 1 AND on_key IS NOT NULL;

CREATE INDEX tombstone_removed ON tombstone (removed_at_ms, key);
