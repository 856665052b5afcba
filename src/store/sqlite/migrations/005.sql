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

DROP VIEW IF EXISTS uncounted_usage;
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
