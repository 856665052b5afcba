-- What the lines of a batch would hold in all; NULL if that is unknown.
ALTER TABLE batches ADD COLUMN estimate int8;
-- The process that validates it.
ALTER TABLE batches ADD COLUMN node_no int8 NOT NULL DEFAULT 0;
-- The model that a line calls; NULL if that is unknown.
ALTER TABLE batch_lines ADD COLUMN model text;

-- With all that the search for the next line compares: else it reads the lines that have ended first.
DROP INDEX batch_lines_waiting;
CREATE INDEX batch_lines_waiting ON batch_lines (batch_no, no, due_at_ms, model) WHERE state = 0;

-- Lines of batches that a provider runs in batches of its own: one of these for each row.
CREATE TABLE provider_batches (
  no int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  -- With the number of a line, the line's id at the provider.
  id text NOT NULL UNIQUE,
  batch_no int8 NOT NULL REFERENCES batches (no) ON DELETE CASCADE,
  provider text NOT NULL,
  upstream_model text NOT NULL,
  credential text NOT NULL,
  lines int NOT NULL,
  -- Just before it was sent.
  created_at_ms int8 NOT NULL,
  -- NULL while it is not known whether the provider has it.
  provider_id text,
  is_cancelled int NOT NULL DEFAULT 0,
  -- 1 once none of its lines waits for a result.
  is_over int NOT NULL DEFAULT 0,
  -- How often it was looked at in vain, and when that is due again. Who looks moves it, so that others do not.
  looks int NOT NULL DEFAULT 0,
  due_at_ms int8 NOT NULL
);
CREATE INDEX provider_batches_open ON provider_batches (batch_no) WHERE is_over = 0;

-- A line at a provider has the state 3, its provider's batch, and the hold that its result is charged to.
ALTER TABLE batch_lines ADD COLUMN provider_batch_no int8;
ALTER TABLE batch_lines ADD COLUMN hold_id text;
CREATE INDEX batch_lines_at_provider ON batch_lines (provider_batch_no) WHERE provider_batch_no IS NOT NULL;

-- 1 for a hold that outlives its node: its `node_no` is 0, which no node has. Only the end of its line ends it.
ALTER TABLE holds ADD COLUMN is_parked int NOT NULL DEFAULT 0;
