-- Schema 4: calendar times.

-- When a deferred task may be given out by the calendar, for as long as it waits for that; ready_at_ms is the same on
-- the store's clock.
ALTER TABLE task ADD COLUMN run_at_ms INTEGER;
-- What has to be armed anew when the wall clock steps.
CREATE INDEX task_calendar ON task (key) WHERE run_at_ms IS NOT NULL;

-- The wall clock minus the store's, by which calendar times are armed.
ALTER TABLE head ADD COLUMN wall_offset_ms INTEGER NOT NULL DEFAULT 0;

-- Nobody keeps anything of queues between steps.
ALTER TABLE meta DROP COLUMN generation;
