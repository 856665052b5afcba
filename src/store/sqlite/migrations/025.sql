-- What was not charged of costs above their hold is a figure of reports. What a postpaid account owes above its caps is an `overrun` entry
-- below 0, which counts like a charge.
ALTER TABLE usage_minutes ADD COLUMN overrun_nano INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_minutes ADD COLUMN overrun_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_key_hours ADD COLUMN overrun_nano INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_key_hours ADD COLUMN overrun_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_all_hours ADD COLUMN overrun_nano INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_all_hours ADD COLUMN overrun_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_key_days ADD COLUMN overrun_nano INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_key_days ADD COLUMN overrun_tokens INTEGER NOT NULL DEFAULT 0;

DROP VIEW uncounted_usage;
DROP VIEW usage_rows;
DROP VIEW attempt_figures;
DROP VIEW entry_figures;
DROP VIEW ending_figures;
DROP VIEW key_totals;
DROP VIEW counted_charges;

-- An overrun without an exchange made up for a balance that was lowered: it is an adjustment.
CREATE VIEW entry_figures AS
SELECT entries.id, entries.at_ms, entries.key_no, accounts.no AS account_no, coalesce(model, '') AS model, coalesce(provider, '') AS provider,
  coalesce(route, '') AS route, labels,
  recorded_at_ms IS NOT NULL AS requests,
  kind = 'charge' AND outcome IS 'completed' AS completed,
  kind = 'charge' AND outcome IS 'failed' AS failed,
  0 AS refused,
  kind = 'charge' AND outcome IS 'cancelled' AS cancelled,
  kind = 'charge' AND outcome IS 'interrupted' AS interrupted,
  coalesce(entries.input_tokens + cached_input_tokens + cache_write_tokens, 0) AS input_tokens,
  coalesce(cached_input_tokens, 0) AS cached_input_tokens,
  coalesce(entries.output_tokens, 0) AS output_tokens,
  iif(mode = 'credit', -min(amount, 0), 0) AS spend_nano,
  iif(mode = 'credit' AND outcome IS 'cancelled', -min(amount, 0), 0) AS cancelled_spend_nano,
  iif(mode = 'credit' AND outcome IS 'interrupted', -min(amount, 0), 0) AS interrupted_spend_nano,
  iif(mode = 'credit', 0, -min(amount, 0)) AS spend_tokens,
  iif(mode <> 'credit' AND outcome IS 'cancelled', -min(amount, 0), 0) AS cancelled_spend_tokens,
  iif(mode <> 'credit' AND outcome IS 'interrupted', -min(amount, 0), 0) AS interrupted_spend_tokens,
  coalesce(list_cost_nano, 0) AS list_cost_nano,
  coalesce(cache_savings_nano, 0) AS cache_savings_nano,
  iif(mode = 'credit', max(amount, 0), 0) AS overrun_nano,
  iif(mode = 'credit', 0, max(amount, 0)) AS overrun_tokens,
  coalesce(first_byte_ms, 0) AS first_byte_ms,
  first_byte_ms IS NOT NULL AS first_byte_count,
  coalesce(total_ms, 0) AS total_ms,
  total_ms IS NOT NULL AS total_count,
  0 AS covered_attempts
FROM entries CROSS JOIN accounts ON accounts.no = coalesce(entries.account_no, entries.key_no)
WHERE kind = 'charge' OR (kind = 'overrun' AND exchange_id IS NOT NULL);

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
  0 AS overrun_nano, 0 AS overrun_tokens,
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
  0 AS overrun_nano, 0 AS overrun_tokens,
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

CREATE VIEW key_totals AS
WITH by_day AS (
  SELECT key_no, at_ms / 86400000 AS day, -sum(amount) AS spent, count(recorded_at_ms) AS requests,
    coalesce(sum(input_tokens + cached_input_tokens + cache_write_tokens), 0) AS input_tokens,
    coalesce(sum(output_tokens), 0) AS output_tokens
  FROM entries WHERE id > (SELECT totals_through FROM state) AND kind IN ('charge', 'overrun') AND amount <= 0 GROUP BY 1, 2
), uncounted AS (
  -- Beside max(), a plain column is that of the row which has the highest value.
  SELECT key_no, max(day) AS day, spent AS day_spend, sum(spent) AS spent, sum(requests) AS requests,
    sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens
  FROM by_day GROUP BY key_no
)
SELECT sums.key_no, max(sums.day, coalesce(new.day, 0)) AS day,
  iif(new.day > sums.day, 0, sums.day_spend) + iif(new.day >= sums.day, new.day_spend, 0) AS day_spend,
  sums.spent + coalesce(new.spent, 0) AS spent, sums.requests + coalesce(new.requests, 0) AS requests,
  sums.input_tokens + coalesce(new.input_tokens, 0) AS input_tokens,
  sums.output_tokens + coalesce(new.output_tokens, 0) AS output_tokens,
  coalesce((
    SELECT cost_nano FROM entries WHERE key_no = sums.key_no AND id > (SELECT totals_through FROM state) AND cost_nano IS NOT NULL
    ORDER BY id DESC LIMIT 1
  ), last_cost_nano) AS last_cost_nano
FROM key_sums AS sums LEFT JOIN uncounted AS new ON new.key_no = sums.key_no;

-- Charges and what is owed, with the moments and periods that they count in.
CREATE VIEW counted_charges AS
SELECT id, key_no, coalesce(account_no, key_no) AS account_no, account_no AS other_account_no, -amount AS amount, model, cost_nano,
  min(period_start_ms, coalesce((SELECT min(period_ms) FROM clock_returns r
    WHERE r.account_no = coalesce(entries.account_no, entries.key_no) AND r.entries_through >= id), period_start_ms)) AS period_start_ms,
  min(coalesce(counted_at_ms, at_ms), coalesce((SELECT min(to_ms) FROM clock_returns r
    WHERE r.account_no = coalesce(entries.account_no, entries.key_no) AND r.entries_through >= id), counted_at_ms, at_ms)) AS counted_by_account,
  min(coalesce(counted_at_ms, at_ms), coalesce((SELECT min(to_ms) FROM clock_returns r
    WHERE r.key_no = entries.key_no AND r.entries_through >= id), counted_at_ms, at_ms)) AS counted_by_key,
  min(at_ms, coalesce((SELECT min(to_ms) FROM clock_returns r WHERE r.key_no = entries.key_no AND r.entries_through >= id), at_ms)) / 86400000 AS day,
  input_tokens + cached_input_tokens + cache_write_tokens AS input_tokens, output_tokens
FROM entries WHERE kind IN ('charge', 'overrun') AND amount <= 0;

INSERT INTO usage_minutes (minute, key_no, model, provider, overrun_nano, overrun_tokens)
SELECT at_ms / 60000, key_no, model, provider, sum(overrun_nano), sum(overrun_tokens) FROM entry_figures
WHERE overrun_nano + overrun_tokens > 0 AND id <= (SELECT rolled_up_through FROM state)
  AND at_ms / 60000 >= (SELECT min(minute) FROM usage_minutes) GROUP BY 1, 2, 3, 4
ON CONFLICT DO UPDATE SET overrun_nano = excluded.overrun_nano, overrun_tokens = excluded.overrun_tokens;
INSERT INTO usage_key_hours (key_no, hour, model, provider, overrun_nano, overrun_tokens)
SELECT key_no, at_ms / 3600000, model, provider, sum(overrun_nano), sum(overrun_tokens) FROM entry_figures
WHERE overrun_nano + overrun_tokens > 0 AND id <= (SELECT rolled_up_through FROM state) GROUP BY 1, 2, 3, 4
ON CONFLICT DO UPDATE SET overrun_nano = excluded.overrun_nano, overrun_tokens = excluded.overrun_tokens;
INSERT INTO usage_all_hours (hour, model, provider, overrun_nano, overrun_tokens)
SELECT at_ms / 3600000, model, provider, sum(overrun_nano), sum(overrun_tokens) FROM entry_figures
WHERE overrun_nano + overrun_tokens > 0 AND id <= (SELECT rolled_up_through FROM state) GROUP BY 1, 2, 3
ON CONFLICT DO UPDATE SET overrun_nano = excluded.overrun_nano, overrun_tokens = excluded.overrun_tokens;
INSERT INTO usage_key_days (key_no, day, overrun_nano, overrun_tokens)
SELECT key_no, at_ms / 86400000, sum(overrun_nano), sum(overrun_tokens) FROM entry_figures
WHERE overrun_nano + overrun_tokens > 0 AND id <= (SELECT rolled_up_through FROM state) GROUP BY 1, 2
ON CONFLICT DO UPDATE SET overrun_nano = excluded.overrun_nano, overrun_tokens = excluded.overrun_tokens;
