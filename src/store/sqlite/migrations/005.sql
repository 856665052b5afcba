-- Who pays, apart from who asks: an account has the balance or the budget, and a key draws on one account.

-- Keys and accounts are numbered together: a key's own account has the key's number. `posted`, `used` and the other sums
-- are as before, and still change only by differences.
CREATE TABLE accounts_with_ids (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  mode TEXT NOT NULL CHECK (mode IN ('credit', 'token_budget')),
  budget_tokens INTEGER,
  period TEXT NOT NULL CHECK (period IN ('day', 'week', 'month', 'none')),
  -- `posted` may not go below this: 0 for credit; no limit for token budgets, which only spend.
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
INSERT INTO accounts_with_ids
SELECT keys.no, 'acc_' || iif(keys.id LIKE 'key\_%' ESCAPE '\', substr(keys.id, 5), keys.id), mode, budget_tokens, period,
  floor, posted, purchased, used, day, day_spend, period_start_ms, period_used, requests, input_tokens, output_tokens,
  last_cost_nano
FROM accounts JOIN keys ON keys.no = accounts.key_no;

DROP VIEW uncounted_usage;
DROP VIEW entry_figures;
DROP TABLE accounts;
ALTER TABLE accounts_with_ids RENAME TO accounts;

-- Every key has one, although SQLite adds no column that must have a value.
ALTER TABLE keys ADD COLUMN account_no INTEGER REFERENCES accounts (no);
UPDATE keys SET account_no = no;
CREATE INDEX keys_by_account ON keys (account_no);
ALTER TABLE keys DROP COLUMN mode;
ALTER TABLE keys DROP COLUMN budget_tokens;
ALTER TABLE keys DROP COLUMN period;

-- NULL where it is the key's own account, which has the key's number; so it is for everything up to now.
ALTER TABLE entries ADD COLUMN account_no INTEGER REFERENCES accounts (no);
ALTER TABLE holds ADD COLUMN account_no INTEGER REFERENCES accounts (no);

-- As before, but for where the mode comes from.
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
  total_ms IS NOT NULL AS total_count
FROM entries CROSS JOIN accounts ON accounts.no = coalesce(entries.account_no, entries.key_no)
WHERE kind = 'charge';

CREATE VIEW uncounted_usage AS
SELECT * FROM entry_figures WHERE id > (SELECT rolled_up_through FROM state)
UNION ALL
SELECT * FROM ending_figures WHERE id > (SELECT endings_rolled_up_through FROM state);
