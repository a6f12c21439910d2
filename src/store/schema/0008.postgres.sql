-- Schema 8, as 0008.sqlite.sql says it, for PostgreSQL.

CREATE TABLE token (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    key_id text COLLATE "C" NOT NULL UNIQUE,
    role text COLLATE "C" NOT NULL,
    secret_digest text COLLATE "C" NOT NULL,
    created_at_ms bigint NOT NULL
);
