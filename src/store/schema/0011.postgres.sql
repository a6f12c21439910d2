-- Schema 11: conditions of indexes as on SQLite, where IN costs more than comparing.

DROP INDEX task_aside;
CREATE INDEX task_aside ON task (state, key) WHERE (state = 3 OR state = 4 OR state = 6 OR state = 8) AND workflow IS NULL;
DROP INDEX workflow_running;
CREATE INDEX workflow_running ON workflow (name, key) WHERE state < 2;
DROP INDEX record_open;
CREATE INDEX record_open ON record (run, task) WHERE status < 2;
DROP INDEX record_bad;
CREATE INDEX record_bad ON record (run, task) WHERE is_superseded = 0 AND status > 3 AND status < 8;
