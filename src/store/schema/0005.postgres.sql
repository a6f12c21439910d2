-- Schema 5, as 0005.sqlite.sql says it, for PostgreSQL.

CREATE INDEX worker_seen ON worker (seen_at_ms);

ALTER TABLE late ADD COLUMN is_holders bigint NOT NULL DEFAULT 1;
