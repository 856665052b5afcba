-- What a caller says about a request, and what caching has saved.

-- A JSON object (`base/labels.ts`); NULL for nothing.
ALTER TABLE entries ADD COLUMN labels TEXT;
ALTER TABLE holds ADD COLUMN labels TEXT;
ALTER TABLE exchange_endings ADD COLUMN labels TEXT;

-- How much more it would have cost without a cache; below 0 where writing to one cost more than reading has saved. NULL for nothing.
ALTER TABLE entries ADD COLUMN cache_savings_nano INTEGER;
ALTER TABLE usage_minutes ADD COLUMN cache_savings_nano INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_key_hours ADD COLUMN cache_savings_nano INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_all_hours ADD COLUMN cache_savings_nano INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_key_days ADD COLUMN cache_savings_nano INTEGER NOT NULL DEFAULT 0;

DROP VIEW IF EXISTS uncounted_usage;
DROP VIEW IF EXISTS usage_rows;
DROP VIEW IF EXISTS attempt_figures;
DROP VIEW IF EXISTS entry_figures;
DROP VIEW IF EXISTS ending_figures;

CREATE VIEW entry_figures AS
SELECT entries.id, entries.at_ms, entries.key_no, accounts.no AS account_no, coalesce(model, '') AS model, coalesce(provider, '') AS provider,
  coalesce(route, '') AS route, labels,
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
  coalesce(cache_savings_nano, 0) AS cache_savings_nano,
  coalesce(first_byte_ms, 0) AS first_byte_ms,
  first_byte_ms IS NOT NULL AS first_byte_count,
  coalesce(total_ms, 0) AS total_ms,
  total_ms IS NOT NULL AS total_count,
  0 AS covered_attempts
FROM entries CROSS JOIN accounts ON accounts.no = coalesce(entries.account_no, entries.key_no)
WHERE kind = 'charge';

-- Nobody paid for it: it is counted for the account that its key draws on now.
CREATE VIEW ending_figures AS
SELECT id, at_ms, key_no, (SELECT account_no FROM keys WHERE no = key_no) AS account_no, model, provider, route, labels,
  0 AS requests,
  0 AS completed,
  iif(outcome = 'failed', 1 + alike, 0) AS failed,
  iif(outcome = 'refused', 1 + alike, 0) AS refused,
  iif(outcome = 'cancelled', 1 + alike, 0) AS cancelled,
  iif(outcome = 'interrupted', 1 + alike, 0) AS interrupted,
  0 AS input_tokens, 0 AS cached_input_tokens, 0 AS output_tokens,
  0 AS spend_nano, 0 AS cancelled_spend_nano, 0 AS interrupted_spend_nano,
  0 AS spend_tokens, 0 AS cancelled_spend_tokens, 0 AS interrupted_spend_tokens, 0 AS list_cost_nano, 0 AS cache_savings_nano,
  0 AS first_byte_ms, 0 AS first_byte_count,
  iif(outcome = 'failed', coalesce(total_ms, 0), 0) AS total_ms,
  outcome = 'failed' AND total_ms IS NOT NULL AS total_count,
  0 AS covered_attempts
FROM exchange_endings WHERE entry_id IS NULL;

CREATE VIEW attempt_figures AS
SELECT exchange_endings.id, at_ms, key_no, (SELECT account_no FROM keys WHERE no = key_no) AS account_no, model,
  coalesce(attempt.value ->> 'provider', '') AS provider, route, labels,
  0 AS requests, 0 AS completed, 0 AS failed, 0 AS refused, 0 AS cancelled, 0 AS interrupted,
  0 AS input_tokens, 0 AS cached_input_tokens, 0 AS output_tokens,
  0 AS spend_nano, 0 AS cancelled_spend_nano, 0 AS interrupted_spend_nano,
  0 AS spend_tokens, 0 AS cancelled_spend_tokens, 0 AS interrupted_spend_tokens, 0 AS list_cost_nano, 0 AS cache_savings_nano,
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

-- All of them, for the minutes at both ends of a range that sums by the minute are not kept for any more, and for what only rows tell.
CREATE VIEW usage_rows AS
SELECT * FROM entry_figures
UNION ALL
SELECT * FROM ending_figures
UNION ALL
SELECT * FROM attempt_figures;
