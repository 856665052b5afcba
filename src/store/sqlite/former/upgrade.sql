-- After `pruned_usage` is filled. Charges whose row describes their attempt were counted in `attempt_sums` too, and the sums of keys lacked
-- the latest.

CREATE TEMP TABLE former_attempts AS
SELECT provider, at_ms / 86400000 AS day, credential, upstream_model, outcome AS ending, count(*) AS attempts, sum(input_tokens) AS input_tokens,
  sum(cached_input_tokens) AS cached_input_tokens, sum(cache_write_tokens) AS cache_write_tokens, sum(output_tokens) AS output_tokens,
  sum(coalesce(owed_nano_usd, list_cost_nano, cost_nano)) AS owed_nano_usd
FROM entries WHERE credential IS NOT NULL AND id <= (SELECT totals_through FROM rollups) GROUP BY 1, 2, 3, 4, 5;
UPDATE attempt_sums SET attempts = attempt_sums.attempts - f.attempts, input_tokens = attempt_sums.input_tokens - f.input_tokens,
  cached_input_tokens = attempt_sums.cached_input_tokens - f.cached_input_tokens,
  cache_write_tokens = attempt_sums.cache_write_tokens - f.cache_write_tokens, output_tokens = attempt_sums.output_tokens - f.output_tokens,
  owed_nano_usd = attempt_sums.owed_nano_usd - f.owed_nano_usd
FROM former_attempts AS f WHERE f.provider = attempt_sums.provider AND f.day = attempt_sums.day AND f.credential = attempt_sums.credential
  AND f.upstream_model = attempt_sums.upstream_model AND f.ending = attempt_sums.ending AND attempt_sums.node_no = 0;
UPDATE attempt_days SET attempts = attempt_days.attempts - f.attempts, input_tokens = attempt_days.input_tokens - f.input_tokens,
  cached_input_tokens = attempt_days.cached_input_tokens - f.cached_input_tokens,
  cache_write_tokens = attempt_days.cache_write_tokens - f.cache_write_tokens, output_tokens = attempt_days.output_tokens - f.output_tokens,
  owed_nano_usd = attempt_days.owed_nano_usd - f.owed_nano_usd
FROM (
  SELECT day, sum(attempts) AS attempts, sum(input_tokens) AS input_tokens, sum(cached_input_tokens) AS cached_input_tokens,
    sum(cache_write_tokens) AS cache_write_tokens, sum(output_tokens) AS output_tokens, sum(owed_nano_usd) AS owed_nano_usd
  FROM former_attempts GROUP BY 1
) AS f WHERE f.day = attempt_days.day AND attempt_days.node_no = 0;
DELETE FROM attempt_sums WHERE attempts = 0;
DELETE FROM attempt_days WHERE attempts = 0;
DROP TABLE former_attempts;

UPDATE key_sums SET day = new.day, day_spend = new.day_spend, spent = new.spent, requests = new.requests, input_tokens = new.input_tokens,
  output_tokens = new.output_tokens, last_cost_nano = new.last_cost_nano
FROM (SELECT * FROM key_totals) AS new WHERE new.key_no = key_sums.key_no;

DROP VIEW attempt_totals;
DROP VIEW uncounted_attempts;
DROP VIEW key_totals;
DROP VIEW uncounted_usage;
DROP TABLE usage_minutes;
DROP TABLE usage_key_hours;
DROP TABLE usage_all_hours;
DROP TABLE usage_key_days;
DROP TABLE latency_minutes;
DROP TABLE latency_all_hours;
DROP TABLE rollups;
ALTER TABLE state RENAME TO former_state;
