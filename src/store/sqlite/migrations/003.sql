-- What the lines of a batch would hold in all; NULL if that is unknown.
ALTER TABLE batches ADD COLUMN estimate INTEGER;
-- The process that validates it.
ALTER TABLE batches ADD COLUMN node_no INTEGER NOT NULL DEFAULT 0;
-- The model that a line calls; NULL if that is unknown.
ALTER TABLE batch_lines ADD COLUMN model TEXT;

-- With all that the search for the next line compares: else it reads the lines that have ended first.
DROP INDEX batch_lines_waiting;
CREATE INDEX batch_lines_waiting ON batch_lines (batch_no, no, due_at_ms, model) WHERE state = 0;

-- Lines of batches that a provider runs in batches of its own: one of these for each row.
CREATE TABLE provider_batches (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  -- With the number of a line, the line's id at the provider.
  id TEXT NOT NULL UNIQUE,
  batch_no INTEGER NOT NULL REFERENCES batches (no) ON DELETE CASCADE,
  provider TEXT NOT NULL,
  upstream_model TEXT NOT NULL,
  credential TEXT NOT NULL,
  lines INTEGER NOT NULL,
  -- Just before it was sent.
  created_at_ms INTEGER NOT NULL,
  -- NULL while it is not known whether the provider has it.
  provider_id TEXT,
  is_cancelled INTEGER NOT NULL DEFAULT 0,
  -- 1 once none of its lines waits for a result.
  is_over INTEGER NOT NULL DEFAULT 0,
  -- How often it was looked at in vain, and when that is due again. Who looks moves it, so that others do not.
  looks INTEGER NOT NULL DEFAULT 0,
  due_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX provider_batches_open ON provider_batches (batch_no) WHERE is_over = 0;

-- A line at a provider has the state 3, its provider's batch, and the hold that its result is charged to.
ALTER TABLE batch_lines ADD COLUMN provider_batch_no INTEGER;
ALTER TABLE batch_lines ADD COLUMN hold_id TEXT;
CREATE INDEX batch_lines_at_provider ON batch_lines (provider_batch_no) WHERE provider_batch_no IS NOT NULL;

-- 1 for a hold that outlives the process, with what it reserves. Only the end of its line ends it.
ALTER TABLE holds ADD COLUMN is_parked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE holds ADD COLUMN amount INTEGER NOT NULL DEFAULT 0;
