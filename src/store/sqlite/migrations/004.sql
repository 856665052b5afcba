-- How exchanges ended that did not simply complete, and the sums of every figure that reports show.

-- What the use of a token-budget key would have cost; NULL where there is no price, and in older entries.
ALTER TABLE entries ADD COLUMN list_cost_nano INTEGER;

-- Every exchange of a key that was refused, failed, was cancelled or interrupted, and those that completed only after
-- an attempt had failed. Kept for a while ([retention]); what was charged is in the ledger for good.
CREATE TABLE exchange_endings (
  -- Never used again, so that "id > last counted" misses nothing after the newest have been pruned.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  exchange_id TEXT NOT NULL,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  -- When it ended.
  at_ms INTEGER NOT NULL,
  started_at_ms INTEGER NOT NULL,
  route TEXT NOT NULL,
  -- Empty where it ended before that was known.
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  upstream_model TEXT NOT NULL,
  stream INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  -- What the client was answered; NULL for one that was interrupted.
  status INTEGER,
  code TEXT,
  message TEXT,
  first_byte_ms INTEGER,
  total_ms INTEGER,
  attempts INTEGER NOT NULL,
  -- A JSON array of the attempts; NULL where there was none.
  attempt_details TEXT,
  -- Its charge in the ledger; NULL where nothing was charged.
  entry_id INTEGER REFERENCES entries (id),
  -- How many more of the same kind ended within the same second and are counted here, but not kept one by one.
  alike INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX exchange_endings_by_exchange ON exchange_endings (exchange_id);
CREATE INDEX exchange_endings_by_key ON exchange_endings (key_no, id);
CREATE INDEX exchange_endings_by_outcome ON exchange_endings (outcome, id);
CREATE INDEX exchange_endings_by_code ON exchange_endings (code, id) WHERE code IS NOT NULL;

INSERT INTO exchange_endings (exchange_id, key_no, at_ms, started_at_ms, route, model, provider, upstream_model, stream,
  outcome, status, first_byte_ms, total_ms, attempts, entry_id)
SELECT coalesce(exchange_id, ''), key_no, at_ms, coalesce(recorded_at_ms, at_ms), coalesce(route, ''), coalesce(model, ''),
  coalesce(provider, ''), coalesce(upstream_model, ''), coalesce(stream, 0), outcome, status, first_byte_ms, total_ms,
  coalesce(attempts, 0), id
FROM entries WHERE kind = 'charge' AND outcome <> 'completed' ORDER BY id;

-- The figures of one charge, which are added up below. The views that reports read are those of 016.sql.
CREATE VIEW entry_figures AS
SELECT entries.id, entries.at_ms, entries.key_no, coalesce(model, '') AS model, coalesce(provider, '') AS provider,
  recorded_at_ms IS NOT NULL AS requests,
  outcome IS 'completed' AS completed,
  outcome IS 'failed' AS failed,
  0 AS refused,
  outcome IS 'cancelled' AS cancelled,
  outcome IS 'interrupted' AS interrupted,
  coalesce(input_tokens + cached_input_tokens + cache_write_tokens, 0) AS input_tokens,
  coalesce(cached_input_tokens, 0) AS cached_input_tokens,
  coalesce(output_tokens, 0) AS output_tokens,
  iif(mode = 'credit', -amount, 0) AS spend_nano,
  iif(mode = 'credit' AND outcome IS 'cancelled', -amount, 0) AS cancelled_spend_nano,
  iif(mode = 'credit' AND outcome IS 'interrupted', -amount, 0) AS interrupted_spend_nano,
  iif(mode = 'credit', 0, -amount) AS spend_tokens,
  iif(mode <> 'credit' AND outcome IS 'cancelled', -amount, 0) AS cancelled_spend_tokens,
  iif(mode <> 'credit' AND outcome IS 'interrupted', -amount, 0) AS interrupted_spend_tokens,
  coalesce(list_cost_nano, 0) AS list_cost_nano,
  coalesce(first_byte_ms, 0) AS first_byte_ms,
  first_byte_ms IS NOT NULL AS first_byte_count,
  coalesce(total_ms, 0) AS total_ms,
  total_ms IS NOT NULL AS total_count
FROM entries CROSS JOIN keys ON keys.no = entries.key_no
WHERE kind = 'charge';

-- The sums, in four sizes, so that no report reads more rows than it shows many times over. The first is kept for some
-- hours only. Days are UTC days since 1970.
CREATE TABLE usage_minutes (
  minute INTEGER NOT NULL,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  requests INTEGER NOT NULL DEFAULT 0,
  completed INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  refused INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  interrupted INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  cached_input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  spend_nano INTEGER NOT NULL DEFAULT 0,
  cancelled_spend_nano INTEGER NOT NULL DEFAULT 0,
  interrupted_spend_nano INTEGER NOT NULL DEFAULT 0,
  spend_tokens INTEGER NOT NULL DEFAULT 0,
  cancelled_spend_tokens INTEGER NOT NULL DEFAULT 0,
  interrupted_spend_tokens INTEGER NOT NULL DEFAULT 0,
  list_cost_nano INTEGER NOT NULL DEFAULT 0,
  first_byte_ms INTEGER NOT NULL DEFAULT 0,
  first_byte_count INTEGER NOT NULL DEFAULT 0,
  total_ms INTEGER NOT NULL DEFAULT 0,
  total_count INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (minute, key_no, model, provider)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_key_hours (
  key_no INTEGER NOT NULL REFERENCES keys (no),
  hour INTEGER NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  requests INTEGER NOT NULL DEFAULT 0,
  completed INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  refused INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  interrupted INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  cached_input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  spend_nano INTEGER NOT NULL DEFAULT 0,
  cancelled_spend_nano INTEGER NOT NULL DEFAULT 0,
  interrupted_spend_nano INTEGER NOT NULL DEFAULT 0,
  spend_tokens INTEGER NOT NULL DEFAULT 0,
  cancelled_spend_tokens INTEGER NOT NULL DEFAULT 0,
  interrupted_spend_tokens INTEGER NOT NULL DEFAULT 0,
  list_cost_nano INTEGER NOT NULL DEFAULT 0,
  first_byte_ms INTEGER NOT NULL DEFAULT 0,
  first_byte_count INTEGER NOT NULL DEFAULT 0,
  total_ms INTEGER NOT NULL DEFAULT 0,
  total_count INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (key_no, hour, model, provider)
) STRICT, WITHOUT ROWID;

-- Over all keys.
CREATE TABLE usage_all_hours (
  hour INTEGER NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  requests INTEGER NOT NULL DEFAULT 0,
  completed INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  refused INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  interrupted INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  cached_input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  spend_nano INTEGER NOT NULL DEFAULT 0,
  cancelled_spend_nano INTEGER NOT NULL DEFAULT 0,
  interrupted_spend_nano INTEGER NOT NULL DEFAULT 0,
  spend_tokens INTEGER NOT NULL DEFAULT 0,
  cancelled_spend_tokens INTEGER NOT NULL DEFAULT 0,
  interrupted_spend_tokens INTEGER NOT NULL DEFAULT 0,
  list_cost_nano INTEGER NOT NULL DEFAULT 0,
  first_byte_ms INTEGER NOT NULL DEFAULT 0,
  first_byte_count INTEGER NOT NULL DEFAULT 0,
  total_ms INTEGER NOT NULL DEFAULT 0,
  total_count INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (hour, model, provider)
) STRICT, WITHOUT ROWID;

-- Over all models.
DROP VIEW IF EXISTS usage_by_hour;
DROP VIEW IF EXISTS usage_by_model_hour;
DROP TABLE usage_key_days;
CREATE TABLE usage_key_days (
  key_no INTEGER NOT NULL REFERENCES keys (no),
  day INTEGER NOT NULL,
  requests INTEGER NOT NULL DEFAULT 0,
  completed INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  refused INTEGER NOT NULL DEFAULT 0,
  cancelled INTEGER NOT NULL DEFAULT 0,
  interrupted INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  cached_input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  spend_nano INTEGER NOT NULL DEFAULT 0,
  cancelled_spend_nano INTEGER NOT NULL DEFAULT 0,
  interrupted_spend_nano INTEGER NOT NULL DEFAULT 0,
  spend_tokens INTEGER NOT NULL DEFAULT 0,
  cancelled_spend_tokens INTEGER NOT NULL DEFAULT 0,
  interrupted_spend_tokens INTEGER NOT NULL DEFAULT 0,
  list_cost_nano INTEGER NOT NULL DEFAULT 0,
  first_byte_ms INTEGER NOT NULL DEFAULT 0,
  first_byte_count INTEGER NOT NULL DEFAULT 0,
  total_ms INTEGER NOT NULL DEFAULT 0,
  total_count INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (key_no, day)
) STRICT, WITHOUT ROWID;

-- The last hours by the minute, as latency_all_hours has them by the hour.
CREATE TABLE latency_minutes (
  minute INTEGER NOT NULL,
  measure TEXT NOT NULL CHECK (measure IN ('first_byte', 'total')),
  up_to_ms INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  PRIMARY KEY (minute, measure, up_to_ms)
) STRICT, WITHOUT ROWID;

-- Everything anew from the ledger.
INSERT INTO usage_key_hours (key_no, hour, model, provider,
  requests, completed, failed, refused, cancelled, interrupted, input_tokens, cached_input_tokens,
  output_tokens, spend_nano, cancelled_spend_nano, interrupted_spend_nano, spend_tokens,
  cancelled_spend_tokens, interrupted_spend_tokens, list_cost_nano, first_byte_ms, first_byte_count, total_ms,
  total_count)
SELECT key_no, at_ms / 3600000, model, provider,
  sum(requests), sum(completed), sum(failed), sum(refused), sum(cancelled), sum(interrupted),
  sum(input_tokens), sum(cached_input_tokens), sum(output_tokens), sum(spend_nano), sum(cancelled_spend_nano),
  sum(interrupted_spend_nano), sum(spend_tokens), sum(cancelled_spend_tokens), sum(interrupted_spend_tokens),
  sum(list_cost_nano), sum(first_byte_ms), sum(first_byte_count), sum(total_ms), sum(total_count)
FROM entry_figures GROUP BY 1, 2, 3, 4;

-- Failures that cost nothing left no entry: only the old sums know of them.
INSERT INTO usage_key_hours (key_no, hour, model, provider, failed)
SELECT old.key_no, old.hour, old.model, old.provider, old.failures - coalesce(recorded.failed, 0)
FROM usage_hours AS old LEFT JOIN (
  SELECT recorded_at_ms / 3600000 AS hour, key_no, model, provider, count(*) AS failed FROM entries
  WHERE outcome = 'failed' AND recorded_at_ms IS NOT NULL AND id <= (SELECT rolled_up_through FROM state)
  GROUP BY 1, 2, 3, 4
) AS recorded USING (hour, key_no, model, provider)
WHERE old.failures > coalesce(recorded.failed, 0)
ON CONFLICT DO UPDATE SET failed = failed + excluded.failed;

INSERT INTO usage_all_hours (hour, model, provider,
  requests, completed, failed, refused, cancelled, interrupted, input_tokens, cached_input_tokens,
  output_tokens, spend_nano, cancelled_spend_nano, interrupted_spend_nano, spend_tokens,
  cancelled_spend_tokens, interrupted_spend_tokens, list_cost_nano, first_byte_ms, first_byte_count, total_ms,
  total_count)
SELECT hour, model, provider,
  sum(requests), sum(completed), sum(failed), sum(refused), sum(cancelled), sum(interrupted),
  sum(input_tokens), sum(cached_input_tokens), sum(output_tokens), sum(spend_nano), sum(cancelled_spend_nano),
  sum(interrupted_spend_nano), sum(spend_tokens), sum(cancelled_spend_tokens), sum(interrupted_spend_tokens),
  sum(list_cost_nano), sum(first_byte_ms), sum(first_byte_count), sum(total_ms), sum(total_count)
FROM usage_key_hours GROUP BY 1, 2, 3;

INSERT INTO usage_key_days (key_no, day,
  requests, completed, failed, refused, cancelled, interrupted, input_tokens, cached_input_tokens,
  output_tokens, spend_nano, cancelled_spend_nano, interrupted_spend_nano, spend_tokens,
  cancelled_spend_tokens, interrupted_spend_tokens, list_cost_nano, first_byte_ms, first_byte_count, total_ms,
  total_count)
SELECT key_no, hour / 24,
  sum(requests), sum(completed), sum(failed), sum(refused), sum(cancelled), sum(interrupted),
  sum(input_tokens), sum(cached_input_tokens), sum(output_tokens), sum(spend_nano), sum(cancelled_spend_nano),
  sum(interrupted_spend_nano), sum(spend_tokens), sum(cancelled_spend_tokens), sum(interrupted_spend_tokens),
  sum(list_cost_nano), sum(first_byte_ms), sum(first_byte_count), sum(total_ms), sum(total_count)
FROM usage_key_hours GROUP BY 1, 2;

INSERT INTO usage_minutes (minute, key_no, model, provider,
  requests, completed, failed, refused, cancelled, interrupted, input_tokens, cached_input_tokens,
  output_tokens, spend_nano, cancelled_spend_nano, interrupted_spend_nano, spend_tokens,
  cancelled_spend_tokens, interrupted_spend_tokens, list_cost_nano, first_byte_ms, first_byte_count, total_ms,
  total_count)
SELECT at_ms / 60000, key_no, model, provider,
  sum(requests), sum(completed), sum(failed), sum(refused), sum(cancelled), sum(interrupted),
  sum(input_tokens), sum(cached_input_tokens), sum(output_tokens), sum(spend_nano), sum(cancelled_spend_nano),
  sum(interrupted_spend_nano), sum(spend_tokens), sum(cancelled_spend_tokens), sum(interrupted_spend_tokens),
  sum(list_cost_nano), sum(first_byte_ms), sum(first_byte_count), sum(total_ms), sum(total_count)
FROM entry_figures WHERE at_ms > (SELECT max(at_ms) FROM entries) - 10800000 GROUP BY 1, 2, 3, 4;

DROP TABLE usage_hours;
DROP TABLE usage_model_hours;
DROP TABLE latency_hours;

UPDATE state SET rolled_up_through = coalesce((SELECT max(id) FROM entries), 0);
ALTER TABLE state ADD COLUMN endings_rolled_up_through INTEGER NOT NULL DEFAULT 0;
UPDATE state SET endings_rolled_up_through = coalesce((SELECT max(id) FROM exchange_endings), 0);
