-- Commands name keys and accounts by their labels.
CREATE INDEX keys_by_label ON keys (label) WHERE label IS NOT NULL;
CREATE INDEX accounts_by_label ON accounts (account_label) WHERE account_label IS NOT NULL;

-- What a clock that was ahead has dated in later periods counts in the one to which it returned, and in none between.
UPDATE accounts SET later_used = (SELECT json_group_array(json_set(l.value, '$.in', period_start_ms)) FROM json_each(later_used) AS l) WHERE later_used IS NOT NULL;
UPDATE caps SET later_used = (SELECT json_group_array(json_set(l.value, '$.in', period_start_ms)) FROM json_each(later_used) AS l) WHERE later_used IS NOT NULL;
UPDATE cap_values SET later_used = (SELECT json_group_array(json_set(l.value, '$.in', period_start_ms)) FROM json_each(later_used) AS l) WHERE later_used IS NOT NULL;

-- Backups that were put in place of this database: entries after this one were undone. `is_told`: the feed's receiver has heard of it.
CREATE TABLE ledger_restores (
  no INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  through_id INTEGER NOT NULL,
  is_told INTEGER NOT NULL DEFAULT 0
) STRICT;

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

-- What a batch takes in addition to its results: what its client has sent with it, the ids of its lines, and its errors.
ALTER TABLE batches ADD COLUMN own_bytes INTEGER NOT NULL DEFAULT 1024;
-- The account that the key had at the creation decides who else can read it; NULL from older programs: the key's account.
ALTER TABLE files ADD COLUMN account_no INTEGER;
ALTER TABLE batches ADD COLUMN account_no INTEGER;
UPDATE files SET account_no = coalesce((SELECT m.account_no FROM key_moves m WHERE m.key_no = files.key_no AND m.until_ms > files.created_at_ms ORDER BY m.no LIMIT 1),
  (SELECT k.account_no FROM keys k WHERE k.no = files.key_no));
UPDATE batches SET account_no = coalesce((SELECT m.account_no FROM key_moves m WHERE m.key_no = batches.key_no AND m.until_ms > batches.created_at_ms ORDER BY m.no LIMIT 1),
  (SELECT k.account_no FROM keys k WHERE k.no = batches.key_no));

-- Values of labels that were stored before labels were cleaned, and what caps count them as. An empty one says that this was done.
CREATE TABLE cleaned_labels (label TEXT PRIMARY KEY, cleaned TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- How often the batch that a line ran in at its provider was cancelled there.
ALTER TABLE batch_lines ADD COLUMN cancellations INTEGER NOT NULL DEFAULT 0;

-- A model that is not served is `model_skipped` now: `model_unavailable` is another alert, which no operator has acknowledged.
UPDATE acknowledged_alerts SET kind = 'model_skipped' WHERE kind = 'model_unavailable';
UPDATE findings SET findings = replace(findings, '"kind":"model_unavailable"', '"kind":"model_skipped"');
UPDATE past_alerts SET id = 'model_skipped' || substr(id, 18), alert = replace(alert, '"kind":"model_unavailable"', '"kind":"model_skipped"')
  WHERE id LIKE 'model_unavailable %';
