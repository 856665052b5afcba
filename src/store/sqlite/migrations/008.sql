-- What every charge rests on, so that it can be explained and proven for ever.

-- Rates are kept once for all charges that were made at them. The id is a digest of the text (`base/rates.ts`).
CREATE TABLE rates (
  id INTEGER PRIMARY KEY,
  rates TEXT NOT NULL
) STRICT;
CREATE TRIGGER rates_are_never_changed BEFORE UPDATE ON rates
BEGIN SELECT RAISE(ABORT, 'rates are only ever added'); END;
CREATE TRIGGER rates_are_never_deleted BEFORE DELETE ON rates
BEGIN SELECT RAISE(ABORT, 'rates are only ever added'); END;

-- NULL in charges that are older than this.
ALTER TABLE entries ADD COLUMN rates_id INTEGER REFERENCES rates (id);
-- A JSON object of what was charged for; NULL where it is what the columns of tokens say, as in nearly all charges.
ALTER TABLE entries ADD COLUMN quantities TEXT;
-- The name that the client asked for the model by; NULL where it is the model's id.
ALTER TABLE entries ADD COLUMN asked_model TEXT;

-- The same for what open holds have produced so far.
ALTER TABLE holds ADD COLUMN rates_id INTEGER REFERENCES rates (id);
ALTER TABLE holds ADD COLUMN quantities TEXT;
ALTER TABLE holds ADD COLUMN asked_model TEXT;

-- Where `sluice store copy` has taken the data, and when; NULL while it is used here.
ALTER TABLE state ADD COLUMN moved_to TEXT;
ALTER TABLE state ADD COLUMN moved_at_ms INTEGER;

-- Failed attempts of exchanges that completed all the same, counted for the provider that failed.
ALTER TABLE usage_minutes ADD COLUMN covered_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_key_hours ADD COLUMN covered_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_all_hours ADD COLUMN covered_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_key_days ADD COLUMN covered_attempts INTEGER NOT NULL DEFAULT 0;

DROP VIEW uncounted_usage;
DROP VIEW entry_figures;
DROP VIEW ending_figures;

CREATE VIEW entry_figures AS
SELECT entries.id, entries.at_ms, entries.key_no, coalesce(model, '') AS model, coalesce(provider, '') AS provider,
  recorded_at_ms IS NOT NULL AS requests,
  outcome IS 'completed' AS completed,
  outcome IS 'failed' AS failed,
  0 AS refused,
  outcome IS 'cancelled' AS cancelled,
  outcome IS 'interrupted' AS interrupted,
  coalesce(entries.input_tokens + cached_input_tokens + cache_write_tokens, 0) AS input_tokens,
  coalesce(cached_input_tokens, 0) AS cached_input_tokens,
  coalesce(entries.output_tokens, 0) AS output_tokens,
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
  total_ms IS NOT NULL AS total_count,
  0 AS covered_attempts
FROM entries CROSS JOIN accounts ON accounts.no = coalesce(entries.account_no, entries.key_no)
WHERE kind = 'charge';

CREATE VIEW ending_figures AS
SELECT id, at_ms, key_no, model, provider,
  0 AS requests,
  0 AS completed,
  iif(outcome = 'failed', 1 + alike, 0) AS failed,
  iif(outcome = 'refused', 1 + alike, 0) AS refused,
  iif(outcome = 'cancelled', 1 + alike, 0) AS cancelled,
  iif(outcome = 'interrupted', 1 + alike, 0) AS interrupted,
  0 AS input_tokens, 0 AS cached_input_tokens, 0 AS output_tokens,
  0 AS spend_nano, 0 AS cancelled_spend_nano, 0 AS interrupted_spend_nano,
  0 AS spend_tokens, 0 AS cancelled_spend_tokens, 0 AS interrupted_spend_tokens, 0 AS list_cost_nano,
  0 AS first_byte_ms, 0 AS first_byte_count,
  iif(outcome = 'failed', coalesce(total_ms, 0), 0) AS total_ms,
  outcome = 'failed' AND total_ms IS NOT NULL AS total_count,
  0 AS covered_attempts
FROM exchange_endings WHERE entry_id IS NULL;

CREATE VIEW attempt_figures AS
SELECT exchange_endings.id, at_ms, key_no, model, coalesce(attempt.value ->> 'provider', '') AS provider,
  0 AS requests, 0 AS completed, 0 AS failed, 0 AS refused, 0 AS cancelled, 0 AS interrupted,
  0 AS input_tokens, 0 AS cached_input_tokens, 0 AS output_tokens,
  0 AS spend_nano, 0 AS cancelled_spend_nano, 0 AS interrupted_spend_nano,
  0 AS spend_tokens, 0 AS cancelled_spend_tokens, 0 AS interrupted_spend_tokens, 0 AS list_cost_nano,
  0 AS first_byte_ms, 0 AS first_byte_count, 0 AS total_ms, 0 AS total_count,
  1 AS covered_attempts
FROM exchange_endings CROSS JOIN json_each(attempt_details) AS attempt
WHERE outcome = 'completed' AND attempt.value ->> 'failure' IS NOT NULL;

CREATE VIEW uncounted_usage AS
SELECT * FROM entry_figures WHERE id > (SELECT rolled_up_through FROM state)
UNION ALL
SELECT * FROM ending_figures WHERE id > (SELECT endings_rolled_up_through FROM state)
UNION ALL
SELECT * FROM attempt_figures WHERE id > (SELECT endings_rolled_up_through FROM state);

-- All of them, for the minutes at both ends of a range that sums by the minute are not kept for any more.
CREATE VIEW usage_rows AS
SELECT * FROM entry_figures
UNION ALL
SELECT * FROM ending_figures
UNION ALL
SELECT * FROM attempt_figures;
CREATE INDEX entries_by_time ON entries (at_ms);
CREATE INDEX exchange_endings_by_time ON exchange_endings (at_ms);
