-- Schema 7, as 0007.sqlite.sql says it, for PostgreSQL.

ALTER TABLE task ADD COLUMN lease_place text;
UPDATE task SET lease_place = (SELECT place FROM worker WHERE worker.key = task.owner) WHERE lease_kind = 2;
ALTER TABLE worker DROP COLUMN place;
