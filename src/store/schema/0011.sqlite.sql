-- Schema 11: conditions of indexes that are weighed without a table of their own.

-- SQLite builds a table for each IN of more than two numbers, at each row that is written. OR of single states is also
-- what a look for one of them is known to imply.
DROP INDEX task_aside;
CREATE INDEX task_aside ON task (state, key) WHERE (state = 3 OR state = 4 OR state = 6 OR state = 8) AND workflow IS NULL;
DROP INDEX workflow_running;
CREATE INDEX workflow_running ON workflow (name, key) WHERE state < 2;
DROP INDEX record_open;
CREATE INDEX record_open ON record (run, task) WHERE status < 2;
DROP INDEX record_bad;
CREATE INDEX record_bad ON record (run, task) WHERE is_superseded = 0 AND status > 3 AND status < 8;
