-- When bounds were brought back from the future, because a clock had been ahead. Charges up to the entry that count later than `to_ms` count at it, and
-- those of a later budget period than `period_ms` in that one.
CREATE TABLE clock_returns (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  -- One of both.
  account_no INTEGER,
  key_no INTEGER,
  entries_through INTEGER NOT NULL,
  to_ms INTEGER NOT NULL,
  period_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX clock_returns_by_account ON clock_returns (account_no) WHERE account_no IS NOT NULL;
CREATE INDEX clock_returns_by_key ON clock_returns (key_no) WHERE key_no IS NOT NULL;

-- Charges with the moments and periods that they count in.
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
FROM entries WHERE kind = 'charge';
