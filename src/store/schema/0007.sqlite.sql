-- Schema 7: where the lock of an execution is belongs to the lease.

-- Of a supervised lease; a worker's next task may have its lock elsewhere. Without one nothing can be proved.
ALTER TABLE task ADD COLUMN lease_place TEXT;
UPDATE task SET lease_place = (SELECT place FROM worker WHERE worker.key = task.owner) WHERE lease_kind = 2;
ALTER TABLE worker DROP COLUMN place;
