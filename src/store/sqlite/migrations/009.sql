-- The ids that clients gave their calls (`x-request-id`), by which an operator may look for them. `no` grows with time.
CREATE TABLE caller_ids (
  no INTEGER PRIMARY KEY,
  caller_id TEXT NOT NULL,
  exchange_id TEXT NOT NULL,
  at_ms INTEGER NOT NULL
);
CREATE INDEX caller_ids_by_id ON caller_ids (caller_id, no);
