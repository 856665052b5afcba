-- What providers were asked for, by day (UTC, since 1970), to be held against their bills; also what was charged to nobody.
CREATE TABLE attempt_sums (
  provider TEXT NOT NULL,
  day INTEGER NOT NULL,
  -- The id of the provider's credential; empty if it needs none.
  credential TEXT NOT NULL,
  upstream_model TEXT NOT NULL,
  -- completed, failed, cancelled or interrupted as the exchange that paid, or uncharged.
  ending TEXT NOT NULL,
  -- 0 where there is one gateway.
  node_no INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  -- Those that were charged by a count of our own.
  estimated INTEGER NOT NULL,
  -- As the provider has reported them.
  input_tokens INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  -- What was charged beyond these.
  counted_input_tokens INTEGER NOT NULL,
  counted_output_tokens INTEGER NOT NULL,
  cost_nano INTEGER NOT NULL,
  PRIMARY KEY (provider, day, credential, upstream_model, ending, node_no)
) STRICT, WITHOUT ROWID;

-- Who produces what a hold has to pay, as JSON; NULL in those that an earlier release has journaled.
ALTER TABLE holds ADD COLUMN served TEXT;
