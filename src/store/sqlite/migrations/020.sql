-- What each key has used: what `key_sums` has, and what it does not count yet. With the columns of `key_sums`.
DROP VIEW IF EXISTS key_totals;
CREATE VIEW key_totals AS
WITH by_day AS (
  -- The sign keeps SQLite from reading the whole ledger in the order of its keys.
  SELECT +key_no AS key_no, at_ms / 86400000 AS day, -sum(amount) AS spent, count(recorded_at_ms) AS requests,
    coalesce(sum(input_tokens + cached_input_tokens + cache_write_tokens), 0) AS input_tokens,
    coalesce(sum(output_tokens), 0) AS output_tokens
  FROM entries WHERE id > (SELECT totals_through FROM state) AND kind = 'charge' GROUP BY 1, 2
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
