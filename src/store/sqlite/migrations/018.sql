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
