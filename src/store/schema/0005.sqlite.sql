-- Schema 5: workers that are gone, and late results of strangers.

-- Who has not been seen for longest: their rows go.
CREATE INDEX worker_seen ON worker (seen_at_ms);

-- Whether its owner had been given the task under its epoch; a stranger's goes first.
ALTER TABLE late ADD COLUMN is_holders INTEGER NOT NULL DEFAULT 1;
