-- Schema 3, as 0003.sqlite.sql says it, for PostgreSQL.

CREATE TABLE import (
    digest text COLLATE "C" PRIMARY KEY, -- of the file's bytes
    name text COLLATE "C" NOT NULL,
    at_ms bigint NOT NULL,
    task_count bigint NOT NULL
);
