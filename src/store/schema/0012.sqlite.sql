-- Schema 12: who has claimed under a worker's id before its present process, and when one of the two last came
-- back: then both live, and share the id.

ALTER TABLE worker ADD COLUMN other_host TEXT;
ALTER TABLE worker ADD COLUMN other_boot TEXT;
ALTER TABLE worker ADD COLUMN other_pid INTEGER;
ALTER TABLE worker ADD COLUMN shared_at_ms INTEGER;
CREATE INDEX worker_shared ON worker (shared_at_ms) WHERE shared_at_ms > 0;
