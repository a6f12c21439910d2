-- Schema 9, as 0009.sqlite.sql says it, for PostgreSQL.

ALTER TABLE head ADD COLUMN generation bigint NOT NULL DEFAULT 0;

CREATE TABLE definition (
    key bigint PRIMARY KEY,
    kind bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    generation bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    body text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX definition_name ON definition (kind, name, version);
