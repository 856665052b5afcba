-- Accounts that several keys draw on, accounts that are billed afterwards, and caps.

-- Names that no column of `keys` has, because both tables are read together.
ALTER TABLE accounts ADD COLUMN account_label TEXT;
-- Billed afterwards: its floor is that of a token budget.
ALTER TABLE accounts ADD COLUMN is_open INTEGER NOT NULL DEFAULT 0;
-- NULL while it is in use.
ALTER TABLE accounts ADD COLUMN closed_at_ms INTEGER;
ALTER TABLE accounts ADD COLUMN created_at_ms INTEGER NOT NULL DEFAULT 0;
-- A JSON array of the caps that new keys get; NULL where there are none.
ALTER TABLE accounts ADD COLUMN key_caps TEXT;
-- The latest moment that a charge has counted at.
ALTER TABLE accounts ADD COLUMN counted_at_ms INTEGER NOT NULL DEFAULT 0;
-- The store's revision that its last change raised.
ALTER TABLE accounts ADD COLUMN account_revision INTEGER NOT NULL DEFAULT 0;
UPDATE accounts SET created_at_ms = coalesce((SELECT min(created_at_ms) FROM keys WHERE keys.account_no = accounts.no), 0);
CREATE INDEX accounts_by_revision ON accounts (account_revision);

-- What a key has used itself, whichever account paid for it.
CREATE TABLE key_sums (
  key_no INTEGER PRIMARY KEY REFERENCES keys (no),
  day INTEGER NOT NULL DEFAULT 0,
  day_spend INTEGER NOT NULL DEFAULT 0,
  spent INTEGER NOT NULL DEFAULT 0,
  requests INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  last_cost_nano INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO key_sums
SELECT keys.no, day, day_spend, used, requests, input_tokens, output_tokens, last_cost_nano
FROM keys JOIN accounts ON accounts.no = keys.account_no;
ALTER TABLE accounts DROP COLUMN day;
ALTER TABLE accounts DROP COLUMN day_spend;
ALTER TABLE accounts DROP COLUMN requests;
ALTER TABLE accounts DROP COLUMN input_tokens;
ALTER TABLE accounts DROP COLUMN output_tokens;
ALTER TABLE accounts DROP COLUMN last_cost_nano;

ALTER TABLE keys ADD COLUMN owner TEXT;
-- Stands for no key in entries that concern an account alone. It has no account, so it is never found as a key.
INSERT INTO keys (no, id, hash, prefix, status, scope, created_at_ms, revision) VALUES (0, '', '', '', 'revoked', '', 0, 0);

-- Decides which period of each cap a charge counts in; NULL in charges that are older than caps, which count at their own time.
ALTER TABLE entries ADD COLUMN counted_at_ms INTEGER;
ALTER TABLE holds ADD COLUMN counted_at_ms INTEGER;
CREATE INDEX entries_by_account ON entries (account_no, id) WHERE account_no IS NOT NULL;
-- A reference is unique among the entries of an account.
DROP INDEX entries_by_reference;
CREATE UNIQUE INDEX entries_by_reference ON entries (coalesce(account_no, key_no), reference) WHERE reference IS NOT NULL;

-- What a key or an account may take in a period, by the UTC calendar. `used` is the sum of the charges of that period.
CREATE TABLE caps (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  -- One of both.
  account_no INTEGER REFERENCES accounts (no),
  key_no INTEGER REFERENCES keys (no),
  amount INTEGER NOT NULL,
  period TEXT NOT NULL CHECK (period IN ('day', 'week', 'month')),
  -- A pattern, in which * stands for anything; NULL means all models.
  models TEXT,
  -- What the amount is raised by in one period alone.
  extra INTEGER NOT NULL DEFAULT 0,
  extra_period_ms INTEGER NOT NULL DEFAULT 0,
  period_start_ms INTEGER NOT NULL DEFAULT 0,
  used INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX caps_by_account ON caps (account_no) WHERE account_no IS NOT NULL;
CREATE INDEX caps_by_key ON caps (key_no) WHERE key_no IS NOT NULL;
