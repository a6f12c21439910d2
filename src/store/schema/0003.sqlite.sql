-- Schema 3: files whose tasks have been imported, so that it is not done twice.

CREATE TABLE import (
    digest TEXT PRIMARY KEY, -- of the file's bytes
    name TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    task_count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
