-- Totals for reports, derived from the ledger (sluice.db, attached as `ledger`). The file can be deleted at any time and is computed again.

-- One row: entries and endings up to these ids are counted in the totals. None in a new file.
CREATE TABLE rollups (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  entries_through INTEGER NOT NULL,
  endings_through INTEGER NOT NULL,
  -- What identifies the last counted entry, to notice another ledger in the same place.
  last_entry TEXT NOT NULL
) STRICT;

-- By the hour (UTC, since 1970). Totals of key 0 are over all keys, so that no report reads many more rows than it shows.
CREATE TABLE usage_hours (
  key_no INTEGER NOT NULL,
  hour INTEGER NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  requests INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  rejected INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  interrupted INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  spend_nano INTEGER NOT NULL,
  cancelled_spend_nano INTEGER NOT NULL,
  interrupted_spend_nano INTEGER NOT NULL,
  spend_tokens INTEGER NOT NULL,
  cancelled_spend_tokens INTEGER NOT NULL,
  interrupted_spend_tokens INTEGER NOT NULL,
  list_cost_nano INTEGER NOT NULL,
  cache_savings_nano INTEGER NOT NULL,
  overrun_nano INTEGER NOT NULL,
  overrun_tokens INTEGER NOT NULL,
  first_byte_ms INTEGER NOT NULL,
  first_byte_count INTEGER NOT NULL,
  total_ms INTEGER NOT NULL,
  total_count INTEGER NOT NULL,
  covered_attempts INTEGER NOT NULL,
  PRIMARY KEY (key_no, hour, model, provider)
) STRICT, WITHOUT ROWID;

-- How many requests fell into which band of time, over all keys and models; percentiles are read from it. A band is named by its upper bound;
-- the last one has none and says 9007199254740991.
CREATE TABLE latency_hours (
  hour INTEGER NOT NULL,
  measure TEXT NOT NULL CHECK (measure IN ('first_byte', 'total')),
  up_to_ms INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  PRIMARY KEY (hour, measure, up_to_ms)
) STRICT, WITHOUT ROWID;
