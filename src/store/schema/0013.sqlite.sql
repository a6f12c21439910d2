-- Schema 13: the limits of task definitions, as gates.

-- One row for each definition that has had a limit.
CREATE TABLE gate (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE, -- of the definition
    held INTEGER NOT NULL,     -- tasks that it counts: claimed under a limit, and not given back
    starts BLOB                -- in the window of its rate: pairs of instant and count, 16 bytes each
) STRICT;

-- The gate that counts this task while it is in progress.
ALTER TABLE task ADD COLUMN gate INTEGER;
CREATE INDEX task_gate ON task (gate) WHERE gate > 0;
