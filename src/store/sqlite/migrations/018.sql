-- What a key has used and what providers were asked for is added up every second or so, like the figures of reports, and not by every batch.

-- The last entry that `key_sums` and `attempt_sums` count; up to now that is every one.
ALTER TABLE state ADD COLUMN totals_through INTEGER NOT NULL DEFAULT 0;
UPDATE state SET totals_through = coalesce((SELECT max(id) FROM entries), 0);

-- The provider's credential, empty if it needs none, where the rest of the row says what the attempt used. NULL where
-- `attempt_sums` has counted the attempts of an exchange with its charge.
ALTER TABLE entries ADD COLUMN credential TEXT;

-- With the columns of `attempt_sums`.
CREATE VIEW uncounted_attempts AS
SELECT provider, at_ms / 86400000 AS day, credential, upstream_model, outcome AS ending, 0 AS node_no, 1 AS attempts, 0 AS estimated,
  input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, 0 AS counted_input_tokens, 0 AS counted_output_tokens,
  coalesce(list_cost_nano, cost_nano) AS cost_nano
FROM entries WHERE id > (SELECT totals_through FROM state) AND credential IS NOT NULL;

CREATE VIEW attempt_totals AS SELECT * FROM attempt_sums UNION ALL SELECT * FROM uncounted_attempts;

CREATE VIEW key_totals AS
WITH by_day AS (
  SELECT key_no, at_ms / 86400000 AS day, -sum(amount) AS spent, count(recorded_at_ms) AS requests,
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
