-- Schema 8: tokens, by which the server knows its callers.

-- A few rows, written by hand. The secret is not kept; it has 256 random bits, so its plain SHA-256 tells nothing of it.
CREATE TABLE token (
    name TEXT NOT NULL PRIMARY KEY,
    key_id TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,          -- by its name
    secret_digest TEXT NOT NULL, -- SHA-256, 64 hexadecimal digits
    created_at_ms INTEGER NOT NULL
) STRICT;
