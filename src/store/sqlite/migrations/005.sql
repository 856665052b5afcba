-- Commands name keys and accounts by their labels.
CREATE INDEX keys_by_label ON keys (label) WHERE label IS NOT NULL;
CREATE INDEX accounts_by_label ON accounts (account_label) WHERE account_label IS NOT NULL;

-- What a clock that was ahead has dated in later periods counts in the one to which it returned, and in none between.
UPDATE accounts SET later_used = (SELECT json_group_array(json_set(l.value, '$.in', period_start_ms)) FROM json_each(later_used) AS l) WHERE later_used IS NOT NULL;
UPDATE caps SET later_used = (SELECT json_group_array(json_set(l.value, '$.in', period_start_ms)) FROM json_each(later_used) AS l) WHERE later_used IS NOT NULL;
UPDATE cap_values SET later_used = (SELECT json_group_array(json_set(l.value, '$.in', period_start_ms)) FROM json_each(later_used) AS l) WHERE later_used IS NOT NULL;

-- The ledger as a chain (base/money/chain.ts). NULL in the entries from before.
ALTER TABLE entries ADD COLUMN hash TEXT;
-- The hash of an account's newest entry; NULL before its first that has one.
ALTER TABLE accounts ADD COLUMN chain_hash TEXT;
-- Joins of all entries through one of them. `unchained` of these have no hash; `unchained_hash` joins those.
CREATE TABLE anchors (
  no INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  through_id INTEGER NOT NULL,
  entries INTEGER NOT NULL,
  unchained INTEGER NOT NULL,
  unchained_hash TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
