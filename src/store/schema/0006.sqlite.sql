-- Schema 6: retention does not walk what is over.

-- Who still waits for whom. What a task waits for is closed when it is COMPLETED or CANCELLED itself, for it is not told
-- any more.
UPDATE dependency SET is_open = 0 WHERE is_open = 1 AND task IN (SELECT key FROM task WHERE state IN (5, 7));
UPDATE task SET open_dependencies = 0 WHERE open_dependencies <> 0 AND state IN (5, 7);
DROP INDEX dependency_on;
CREATE INDEX dependency_on ON dependency (on_key, task) WHERE is_open = 1 AND on_key IS NOT NULL;

-- Tombstones end in the order of their removal.
CREATE INDEX tombstone_removed ON tombstone (removed_at_ms, key);
