-- Amounts are whole nano-credits for credit keys and whole tokens for token-budget keys; times are
-- milliseconds since 1970 in UTC.

-- One row: what the whole database has to remember about itself.
CREATE TABLE state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- Raised by every change of a key and by every operator's entry, so that a running gateway sees them.
  revision INTEGER NOT NULL,
  -- Entries up to this id are counted in usage_hours; later ones are added when it is read.
  rolled_up_through INTEGER NOT NULL
) STRICT;
INSERT INTO state (id, revision, rolled_up_through) VALUES (1, 0, 0);

CREATE TABLE keys (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  hash TEXT NOT NULL UNIQUE,
  prefix TEXT NOT NULL,
  label TEXT,
  mode TEXT NOT NULL CHECK (mode IN ('credit', 'token_budget')),
  status TEXT NOT NULL CHECK (status IN ('active', 'disabled', 'suspended', 'revoked')),
  scope TEXT NOT NULL,
  -- A JSON array of model ids; NULL means all.
  models TEXT,
  rpm_limit INTEGER,
  budget_tokens INTEGER,
  period TEXT NOT NULL CHECK (period IN ('day', 'week', 'month', 'none')),
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER,
  previous_hash TEXT,
  previous_until_ms INTEGER,
  revision INTEGER NOT NULL
) STRICT;
CREATE INDEX keys_by_prefix ON keys (prefix);
CREATE INDEX keys_by_revision ON keys (revision);
CREATE INDEX keys_by_previous_hash ON keys (previous_hash) WHERE previous_hash IS NOT NULL;

-- Sums over the entries and usage records of a key. They change only by differences, never by absolute
-- values: a top-up from the command line and a charge from the gateway may come in any order.
CREATE TABLE accounts (
  key_no INTEGER PRIMARY KEY REFERENCES keys (no),
  -- `posted` may not go below this: 0 for credit keys; no limit for token-budget keys, which only spend.
  floor INTEGER NOT NULL,
  posted INTEGER NOT NULL DEFAULT 0,
  purchased INTEGER NOT NULL DEFAULT 0,
  used INTEGER NOT NULL DEFAULT 0,
  day INTEGER NOT NULL DEFAULT 0,
  day_spend INTEGER NOT NULL DEFAULT 0,
  period_start_ms INTEGER NOT NULL DEFAULT 0,
  period_used INTEGER NOT NULL DEFAULT 0,
  requests INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  last_cost_nano INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The ledger. A charge and the usage record of its exchange share a row, because they are written together
-- for every request and one insert costs half of two. Columns from `recorded_at_ms` on are the usage record.
CREATE TABLE entries (
  id INTEGER PRIMARY KEY,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  -- Not `IN`, which SQLite checks by building a small table for every row: that was a third of an insert.
  kind TEXT NOT NULL CHECK (kind = 'charge' OR kind = 'topup' OR kind = 'adjustment' OR kind = 'overrun'),
  amount INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  period_start_ms INTEGER NOT NULL DEFAULT 0,
  exchange_id TEXT,
  basis TEXT,
  outcome TEXT,
  reference TEXT,
  note TEXT,
  -- The store's revision that this entry raised; NULL for what the gateway itself charges.
  revision INTEGER,
  recorded_at_ms INTEGER,
  route TEXT,
  model TEXT,
  provider TEXT,
  upstream_model TEXT,
  stream INTEGER,
  status INTEGER,
  input_tokens INTEGER,
  cached_input_tokens INTEGER,
  cache_write_tokens INTEGER,
  output_tokens INTEGER,
  reasoning_tokens INTEGER,
  cost_nano INTEGER,
  first_byte_ms INTEGER,
  total_ms INTEGER,
  attempts INTEGER
) STRICT;
CREATE INDEX entries_by_key ON entries (key_no, id);
CREATE INDEX entries_by_revision ON entries (revision) WHERE revision IS NOT NULL;
CREATE UNIQUE INDEX entries_by_reference ON entries (key_no, reference) WHERE reference IS NOT NULL;

-- A correction is always a new entry. Since none is deleted, ids only grow, and "id > last seen" misses nothing.
CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are only ever added'); END;
CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are only ever added'); END;

-- What open holds have produced so far. A hold has no row before its first progress.
CREATE TABLE holds (
  id TEXT PRIMARY KEY,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  opened_at_ms INTEGER NOT NULL,
  period_start_ms INTEGER NOT NULL,
  charge_so_far INTEGER NOT NULL,
  model TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Responses that an Idempotency-Key replays.
CREATE TABLE responses (
  id INTEGER PRIMARY KEY,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  route TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,
  stored_at_ms INTEGER NOT NULL,
  -- Parts of response_parts that come before the body.
  recording_id TEXT,
  parts INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX responses_by_scope ON responses (key_no, route, idempotency_key);
CREATE INDEX responses_by_time ON responses (stored_at_ms);

-- Beginnings of long responses, written ahead while they are relayed.
CREATE TABLE response_parts (
  recording_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (recording_id, sequence)
) STRICT;

-- Usage per hour, for reports and charts that must not read the whole history.
CREATE TABLE usage_hours (
  hour INTEGER NOT NULL,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  requests INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_nano INTEGER NOT NULL,
  first_byte_ms INTEGER NOT NULL,
  first_byte_count INTEGER NOT NULL,
  total_ms INTEGER NOT NULL,
  PRIMARY KEY (hour, key_no, model, provider)
) STRICT, WITHOUT ROWID;

-- How many requests of an hour fell into which band of time; percentiles are read from it.
CREATE TABLE latency_hours (
  hour INTEGER NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  measure TEXT NOT NULL CHECK (measure IN ('first_byte', 'total')),
  -- The band's upper bound; the last band has none and says 9007199254740991.
  up_to_ms INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  PRIMARY KEY (hour, model, provider, measure, up_to_ms)
) STRICT, WITHOUT ROWID;
