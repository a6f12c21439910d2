-- Schema 9: definitions of tasks, of workflows and of event handlers.

-- Each change raises it: whoever keeps something made of definitions sees that it is old.
ALTER TABLE head ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;

CREATE TABLE definition (
    key INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,    -- of a workflow; else 0
    generation INTEGER NOT NULL, -- of head, as the row was written
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER,
    created_by TEXT,
    updated_by TEXT,
    body TEXT NOT NULL           -- JSON, as it was registered
) STRICT;
CREATE UNIQUE INDEX definition_name ON definition (kind, name, version);
