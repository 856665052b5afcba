-- Never changed: the next file has what comes later (CONTRIBUTING.md). Amounts are whole nano-credits for credit accounts and whole tokens for token budgets; times are milliseconds since
-- 1970 in UTC; days are UTC days since 1970.

-- What the database remembers about itself, in one row.
CREATE TABLE state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- Raised by every change of a key and by every operator's entry, so that a running gateway sees them.
  revision INTEGER NOT NULL,
  -- The newest row of exchange_endings that retention has deleted.
  endings_pruned_through INTEGER NOT NULL DEFAULT 0,
  -- Where `sluice store copy` has copied the data, and when; NULL while it is used here.
  moved_to TEXT,
  moved_at_ms INTEGER
) STRICT;
INSERT INTO state (id, revision) VALUES (1, 0);

-- Accounts and keys. An account has the balance or the budget, and a key is billed to one account. They are numbered together: a key's own
-- account has the key's number. Columns of accounts have names that no column of keys has where both are read together.

-- The totals change only by differences, never by absolute values: a top-up from the command line and a charge from the gateway may come
-- in any order.
CREATE TABLE accounts (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_label TEXT,
  mode TEXT NOT NULL CHECK (mode IN ('credit', 'token_budget')),
  budget_tokens INTEGER,
  period TEXT NOT NULL CHECK (period IN ('day', 'week', 'month', 'none')),
  -- `posted` may not go below this: 0 for prepaid credit; no limit for token budgets and postpaid accounts, which only spend.
  floor INTEGER NOT NULL,
  posted INTEGER NOT NULL DEFAULT 0,
  purchased INTEGER NOT NULL DEFAULT 0,
  used INTEGER NOT NULL DEFAULT 0,
  period_start_ms INTEGER NOT NULL DEFAULT 0,
  period_used INTEGER NOT NULL DEFAULT 0,
  -- What budget periods later than this one have used, because a clock was set back: a JSON array of { at, used }. It counts in the
  -- current period too, and again in its own once that begins. NULL for nothing.
  later_used TEXT,
  -- The latest moment that a charge has counted at.
  counted_at_ms INTEGER NOT NULL DEFAULT 0,
  -- Postpaid.
  is_open INTEGER NOT NULL DEFAULT 0,
  created_at_ms INTEGER NOT NULL DEFAULT 0,
  -- NULL while it is in use.
  closed_at_ms INTEGER,
  -- A JSON array of the caps that new keys get; NULL where there are none.
  key_caps TEXT,
  -- The most that may be recorded of the content of its requests: none, failed or all; NULL leaves that to the configuration.
  account_content TEXT,
  -- As of its keys.
  account_tags TEXT,
  account_tpm_limits TEXT,
  -- The store's revision that its last change raised.
  account_revision INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX accounts_by_revision ON accounts (account_revision);

CREATE TABLE keys (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  -- NULL for the row that stands for no key.
  account_no INTEGER REFERENCES accounts (no),
  hash TEXT NOT NULL UNIQUE,
  prefix TEXT NOT NULL,
  label TEXT,
  owner TEXT,
  status TEXT NOT NULL CHECK (status IN ('active', 'disabled', 'suspended', 'revoked')),
  scope TEXT NOT NULL,
  -- A JSON array of model ids; NULL means all.
  models TEXT,
  rpm_limit INTEGER,
  -- Limits of tokens per minute, a JSON array with the models that each is for.
  tpm_limits TEXT,
  -- How many of its requests may be in flight.
  max_concurrent INTEGER,
  -- Tags of requests that have none of the name, a JSON object.
  tags TEXT,
  -- 1 if a key with a token budget can use tools that cost money.
  tools INTEGER NOT NULL DEFAULT 0,
  -- 1 if the end user is whom the client names in a header.
  user_headers INTEGER NOT NULL DEFAULT 0,
  content TEXT,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER,
  previous_hash TEXT,
  previous_until_ms INTEGER,
  revision INTEGER NOT NULL
) STRICT;
CREATE INDEX keys_by_account ON keys (account_no);
CREATE INDEX keys_by_prefix ON keys (prefix);
CREATE INDEX keys_by_revision ON keys (revision);
CREATE INDEX keys_by_previous_hash ON keys (previous_hash) WHERE previous_hash IS NOT NULL;
-- Looked for every few seconds: the keys that expire soon.
CREATE INDEX keys_by_expiry ON keys (expires_at_ms) WHERE status = 'active' AND expires_at_ms IS NOT NULL;
-- Stands for no key in entries that concern an account alone. It has no account, so it is never found as a key.
INSERT INTO keys (no, id, hash, prefix, status, scope, created_at_ms, revision) VALUES (0, '', '', '', 'revoked', '', 0, 0);

-- What a key or an account may use in a period of the UTC calendar. `used` is the total of the charges of that period.
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
  used INTEGER NOT NULL DEFAULT 0,
  -- As of accounts.
  later_used TEXT
) STRICT;
CREATE INDEX caps_by_account ON caps (account_no) WHERE account_no IS NOT NULL;
CREATE INDEX caps_by_key ON caps (key_no) WHERE key_no IS NOT NULL;

-- What a key has used itself, whichever account it was billed to.
CREATE TABLE key_sums (
  key_no INTEGER PRIMARY KEY REFERENCES keys (no),
  day INTEGER NOT NULL DEFAULT 0,
  day_spend INTEGER NOT NULL DEFAULT 0,
  spent INTEGER NOT NULL DEFAULT 0,
  requests INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  last_cost_nano INTEGER NOT NULL DEFAULT 0,
  -- What days later than this one have spent, as a JSON array of { at, used }. Each counts on its own day only.
  later_spend TEXT
) STRICT;

-- What the audit has to know of the past: the account that a key was billed to until a moment, and the periods that an account's budget had.
CREATE TABLE key_moves (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  key_no INTEGER NOT NULL,
  account_no INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX key_moves_by_key ON key_moves (key_no, no);
CREATE TABLE past_periods (
  account_no INTEGER NOT NULL,
  period TEXT NOT NULL,
  PRIMARY KEY (account_no, period)
) STRICT, WITHOUT ROWID;

-- The ledger.

-- Rates are kept once for all charges that were made at them. The id is a digest of the text.
CREATE TABLE rates (
  id INTEGER PRIMARY KEY,
  rates TEXT NOT NULL
) STRICT;
CREATE TRIGGER rates_are_never_changed BEFORE UPDATE ON rates
BEGIN SELECT RAISE(ABORT, 'rates are only ever added'); END;
CREATE TRIGGER rates_are_never_deleted BEFORE DELETE ON rates
BEGIN SELECT RAISE(ABORT, 'rates are only ever added'); END;

-- A charge and the usage record of its request share a row, because they are written together for every request and one insert costs half
-- of two. Columns from `recorded_at_ms` on are the usage record.
CREATE TABLE entries (
  id INTEGER PRIMARY KEY,
  -- The key's number; 0 for what concerns an account alone.
  key_no INTEGER NOT NULL REFERENCES keys (no),
  -- NULL where it is the key's own account, which has the key's number.
  account_no INTEGER REFERENCES accounts (no),
  -- Not `IN`, which SQLite checks by building a small table for every row: that was a third of an insert.
  kind TEXT NOT NULL CHECK (kind = 'charge' OR kind = 'topup' OR kind = 'adjustment' OR kind = 'overrun'),
  amount INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  period_start_ms INTEGER NOT NULL DEFAULT 0,
  -- Decides which period of each cap a charge counts in; NULL where that is `at_ms`.
  counted_at_ms INTEGER,
  exchange_id TEXT,
  basis TEXT,
  outcome TEXT,
  reference TEXT,
  note TEXT,
  -- The store's revision that this entry raised; NULL for what the gateway itself charges.
  revision INTEGER,
  rates_id INTEGER REFERENCES rates (id),
  -- A JSON object of what was charged for; NULL where the columns of tokens say it, as in nearly all charges.
  quantities TEXT,
  -- What the use of a token budget would have cost; NULL where there is no price.
  list_cost_nano INTEGER,
  -- How much more it would have cost without a cache; below 0 where writing to one cost more than reading has saved. NULL for nothing.
  cache_savings_nano INTEGER,
  -- The provider's credential, empty if it needs none, where the rest of the row says what the attempt used. NULL where `attempt_sums` has
  -- counted the attempts of a request with its charge.
  credential TEXT,
  -- What the provider is owed for that attempt, in billionths of a USD; NULL where that is the cost, paid or not.
  owed_nano_usd INTEGER,
  -- What the client says about the request, a JSON object; NULL for nothing.
  labels TEXT,
  recorded_at_ms INTEGER,
  route TEXT,
  model TEXT,
  -- The name that the client requested the model by; NULL where it is the model's id.
  asked_model TEXT,
  provider TEXT,
  upstream_model TEXT,
  stream INTEGER,
  status INTEGER,
  input_tokens INTEGER,
  cached_input_tokens INTEGER,
  cache_write_tokens INTEGER,
  output_tokens INTEGER,
  reasoning_tokens INTEGER,
  cost_nano INTEGER,
  first_byte_ms INTEGER,
  total_ms INTEGER,
  attempts INTEGER
) STRICT;
CREATE INDEX entries_by_key ON entries (key_no, id);
CREATE INDEX entries_by_account ON entries (account_no, id) WHERE account_no IS NOT NULL;
CREATE INDEX entries_by_time ON entries (at_ms);
CREATE INDEX entries_by_revision ON entries (revision) WHERE revision IS NOT NULL;
-- A reference is unique among the entries of an account.
CREATE UNIQUE INDEX entries_by_reference ON entries (coalesce(account_no, key_no), reference) WHERE reference IS NOT NULL;
-- A correction is always a new entry. Since none is deleted, ids only grow, and "id > last seen" misses nothing.
CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are only ever added'); END;
CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are only ever added'); END;

-- Charges and what is owed, with the moments and periods that they count in. A limit counts what is dated in its current period or later.
CREATE VIEW counted_charges AS
SELECT id, key_no, coalesce(account_no, key_no) AS account_no, account_no AS other_account_no, -amount AS amount, model, cost_nano,
  period_start_ms, coalesce(counted_at_ms, at_ms) AS counted_at_ms, at_ms / 86400000 AS day,
  input_tokens + cached_input_tokens + cache_write_tokens AS input_tokens, output_tokens
FROM entries WHERE kind IN ('charge', 'overrun') AND amount <= 0;

-- What open holds have produced so far. A hold has no row before its first progress.
CREATE TABLE holds (
  id TEXT PRIMARY KEY,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  account_no INTEGER REFERENCES accounts (no),
  opened_at_ms INTEGER NOT NULL,
  period_start_ms INTEGER NOT NULL,
  counted_at_ms INTEGER,
  charge_so_far INTEGER NOT NULL,
  model TEXT NOT NULL,
  asked_model TEXT,
  rates_id INTEGER REFERENCES rates (id),
  quantities TEXT,
  -- Who produces what it has to pay for, as JSON.
  served TEXT,
  labels TEXT
) STRICT, WITHOUT ROWID;

-- Responses: what an Idempotency-Key replays, and what clients may read and continue.

CREATE TABLE responses (
  id INTEGER PRIMARY KEY,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  route TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,
  stored_at_ms INTEGER NOT NULL,
  -- Parts of response_parts that come before the body.
  recording_id TEXT,
  parts INTEGER NOT NULL,
  body BLOB NOT NULL,
  bytes INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX responses_by_scope ON responses (key_no, route, idempotency_key);
CREATE INDEX responses_by_time ON responses (stored_at_ms);

-- How many bytes are kept for retries, for each key.
CREATE TABLE response_sums (key_no INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;
CREATE TRIGGER response_inserted AFTER INSERT ON responses BEGIN
  INSERT INTO response_sums (key_no, bytes) VALUES (new.key_no, new.bytes)
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER response_deleted AFTER DELETE ON responses BEGIN
  UPDATE response_sums SET bytes = bytes - old.bytes WHERE key_no = old.key_no;
END;

-- The first parts of long responses, written ahead while they are relayed.
CREATE TABLE response_parts (
  recording_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (recording_id, sequence)
) STRICT;

-- Responses that a client may read, continue or refer to. Each has what was new in it; the conversation is the chain of its parents.
CREATE TABLE turns (
  -- Grows with time. The writer chooses it: AUTOINCREMENT would write another page per batch.
  no INTEGER PRIMARY KEY,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  id TEXT NOT NULL,
  parent_id TEXT,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  -- Parts of response_parts that come before the body.
  recording_id TEXT,
  parts INTEGER NOT NULL,
  body BLOB NOT NULL,
  -- The request as it came, where the body is the response as it went: short turns are split when they are read.
  request BLOB,
  -- A JSON array of what it has in turn_items, so that those rows are found when it is deleted: an index would cost a page per turn.
  items TEXT NOT NULL
) STRICT;
-- Ids mostly begin with the time: with them first, new rows of all keys are next to each other.
CREATE UNIQUE INDEX turns_by_id ON turns (id, key_no);
-- In the order of their numbers.
CREATE INDEX turns_by_key ON turns (key_no);
CREATE INDEX turns_by_expiry ON turns (expires_at_ms);

-- Which turn an item is in. `id_key` is its id, or a digest of an unusual one.
CREATE TABLE turn_items (
  key_no INTEGER NOT NULL,
  id_key TEXT NOT NULL,
  turn_no INTEGER NOT NULL,
  PRIMARY KEY (id_key, key_no, turn_no)
) STRICT, WITHOUT ROWID;
-- How many bytes the turns of a key have. The writer adds them once for all turns of a batch.
CREATE TABLE turn_sums (key_no INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;
CREATE TRIGGER turn_deleted AFTER DELETE ON turns BEGIN
  UPDATE turn_sums SET bytes = bytes - old.bytes WHERE key_no = old.key_no;
  DELETE FROM turn_items
    WHERE key_no = old.key_no AND id_key IN (SELECT value FROM json_each(old.items)) AND turn_no = old.no;
  DELETE FROM response_parts WHERE recording_id = old.recording_id;
END;

-- What summaries of conversations, which clients keep, are encrypted with.
CREATE TABLE sealing_secret (id INTEGER PRIMARY KEY CHECK (id = 1), secret BLOB NOT NULL) STRICT;

-- Which ids of a provider's own things (responses, conversations, containers, files) were issued to a key, and by whom.
CREATE TABLE issued_ids (
  -- Grows with time: one that is issued again gets a new number.
  no INTEGER PRIMARY KEY,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  -- The id, or a digest of an unusual one, so that rows stay short whatever a provider sends.
  id_key TEXT NOT NULL,
  provider TEXT NOT NULL,
  -- Which of the provider's credentials it was issued to; NULL if the provider needs none.
  credential TEXT,
  -- The input and output of the response that it came in: what a request that continues from it begins with.
  tokens INTEGER NOT NULL DEFAULT 0,
  issued_at_ms INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX issued_ids_by_key ON issued_ids (key_no, id_key);

-- Requests.

-- The ids that clients gave their requests (`x-request-id`), by which an operator may look for them. `no` grows with time.
CREATE TABLE caller_ids (
  no INTEGER PRIMARY KEY,
  caller_id TEXT NOT NULL,
  exchange_id TEXT NOT NULL,
  at_ms INTEGER NOT NULL
);
CREATE INDEX caller_ids_by_id ON caller_ids (caller_id, no);

-- Every request of a key that was rejected, failed, was cancelled or interrupted, and those that completed only after an attempt had failed.
-- Kept for a while ([retention]); what was charged is in the ledger for good.
CREATE TABLE exchange_endings (
  -- Never used again, so that "id > last counted" misses nothing after the newest have been pruned.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  exchange_id TEXT NOT NULL,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  -- When it ended.
  at_ms INTEGER NOT NULL,
  started_at_ms INTEGER NOT NULL,
  route TEXT NOT NULL,
  -- Empty where it ended before that was known.
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  upstream_model TEXT NOT NULL,
  stream INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  -- What the client got; NULL for one that was interrupted.
  status INTEGER,
  code TEXT,
  message TEXT,
  -- The limit that denied a hold, and what the hold needed, in nano-credits or tokens: advice to the operator follows from it.
  bound TEXT,
  needed INTEGER,
  first_byte_ms INTEGER,
  total_ms INTEGER,
  attempts INTEGER NOT NULL,
  -- A JSON array of the attempts; NULL where there was none.
  attempt_details TEXT,
  -- Its charge in the ledger; NULL where nothing was charged.
  entry_id INTEGER REFERENCES entries (id),
  -- How many more of the same kind ended within the same second and are counted here, but not kept one by one.
  alike INTEGER NOT NULL DEFAULT 0,
  labels TEXT
) STRICT;
CREATE INDEX exchange_endings_by_exchange ON exchange_endings (exchange_id);
CREATE INDEX exchange_endings_by_key ON exchange_endings (key_no, id);
CREATE INDEX exchange_endings_by_outcome ON exchange_endings (outcome, id);
CREATE INDEX exchange_endings_by_code ON exchange_endings (code, id) WHERE code IS NOT NULL;
CREATE INDEX exchange_endings_by_time ON exchange_endings (at_ms);

-- Calls to providers by day, to be compared with their invoices, including calls that were not charged. The view `attempt_totals` adds those
-- that the row of a charge describes.
CREATE TABLE attempt_sums (
  provider TEXT NOT NULL,
  day INTEGER NOT NULL,
  -- The id of the provider's credential; empty if it needs none.
  credential TEXT NOT NULL,
  upstream_model TEXT NOT NULL,
  -- completed, failed, cancelled or interrupted as the exchange that paid, or uncharged.
  ending TEXT NOT NULL,
  -- 0 where there is one gateway.
  node_no INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  -- Those that were charged by a count of our own.
  estimated INTEGER NOT NULL,
  -- As the provider has reported them.
  input_tokens INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  -- What was charged beyond these.
  counted_input_tokens INTEGER NOT NULL,
  counted_output_tokens INTEGER NOT NULL,
  -- What the provider is owed at its own price, in billionths of a USD.
  owed_nano_usd INTEGER NOT NULL,
  PRIMARY KEY (provider, day, credential, upstream_model, ending, node_no)
) STRICT, WITHOUT ROWID;

-- The same totals by day only, to detect rows of `attempt_sums` that are missing or were changed.
CREATE TABLE attempt_days (
  day INTEGER NOT NULL,
  node_no INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  estimated INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  counted_input_tokens INTEGER NOT NULL,
  counted_output_tokens INTEGER NOT NULL,
  -- What the provider is owed at its own price, in billionths of a USD.
  owed_nano_usd INTEGER NOT NULL,
  PRIMARY KEY (day, node_no)
) STRICT, WITHOUT ROWID;

-- What retention has deleted from exchange_endings, so that totals by the hour can still be computed (see `reports/schema.sql`). A band is
-- named by its upper bound in milliseconds.
CREATE TABLE pruned_usage (
  key_no INTEGER NOT NULL,
  hour INTEGER NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  total_band INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  rejected INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  interrupted INTEGER NOT NULL,
  total_ms INTEGER NOT NULL,
  total_count INTEGER NOT NULL,
  covered_attempts INTEGER NOT NULL,
  PRIMARY KEY (key_no, hour, model, provider, total_band)
) STRICT, WITHOUT ROWID;

-- What each total counts, row by row.

-- An overrun without a request made up for a balance that was lowered: it is an adjustment.
CREATE VIEW entry_figures AS
SELECT entries.id, entries.at_ms, entries.key_no, accounts.no AS account_no, coalesce(entries.model, '') AS model, coalesce(entries.provider, '') AS provider,
  coalesce(entries.route, '') AS route, entries.labels,
  entries.recorded_at_ms IS NOT NULL AS requests,
  entries.kind = 'charge' AND entries.outcome IS 'completed' AS completed,
  entries.kind = 'charge' AND entries.outcome IS 'failed' AS failed,
  0 AS rejected,
  entries.kind = 'charge' AND entries.outcome IS 'cancelled' AS cancelled,
  entries.kind = 'charge' AND entries.outcome IS 'interrupted' AS interrupted,
  coalesce(entries.input_tokens + entries.cached_input_tokens + entries.cache_write_tokens, 0) AS input_tokens,
  coalesce(entries.cached_input_tokens, 0) AS cached_input_tokens,
  coalesce(entries.output_tokens, 0) AS output_tokens,
  iif(accounts.mode = 'credit', -min(entries.amount, 0), 0) AS spend_nano,
  iif(accounts.mode = 'credit' AND entries.outcome IS 'cancelled', -min(entries.amount, 0), 0) AS cancelled_spend_nano,
  iif(accounts.mode = 'credit' AND entries.outcome IS 'interrupted', -min(entries.amount, 0), 0) AS interrupted_spend_nano,
  iif(accounts.mode = 'credit', 0, -min(entries.amount, 0)) AS spend_tokens,
  iif(accounts.mode <> 'credit' AND entries.outcome IS 'cancelled', -min(entries.amount, 0), 0) AS cancelled_spend_tokens,
  iif(accounts.mode <> 'credit' AND entries.outcome IS 'interrupted', -min(entries.amount, 0), 0) AS interrupted_spend_tokens,
  coalesce(entries.list_cost_nano, 0) AS list_cost_nano,
  coalesce(entries.cache_savings_nano, 0) AS cache_savings_nano,
  iif(accounts.mode = 'credit', max(entries.amount, 0), 0) AS overrun_nano,
  iif(accounts.mode = 'credit', 0, max(entries.amount, 0)) AS overrun_tokens,
  coalesce(entries.first_byte_ms, 0) AS first_byte_ms,
  entries.first_byte_ms IS NOT NULL AS first_byte_count,
  coalesce(entries.total_ms, 0) AS total_ms,
  entries.total_ms IS NOT NULL AS total_count,
  0 AS covered_attempts
FROM entries CROSS JOIN accounts ON accounts.no = coalesce(entries.account_no, entries.key_no)
WHERE entries.kind = 'charge' OR (entries.kind = 'overrun' AND entries.exchange_id IS NOT NULL);

-- Not charged, so it is counted for the account that its key is billed to now.
CREATE VIEW ending_figures AS
SELECT id, at_ms, key_no, (SELECT keys.account_no FROM keys WHERE keys.no = exchange_endings.key_no) AS account_no, model, provider, route, labels,
  0 AS requests,
  0 AS completed,
  iif(outcome = 'failed', 1 + alike, 0) AS failed,
  iif(outcome = 'rejected', 1 + alike, 0) AS rejected,
  iif(outcome = 'cancelled', 1 + alike, 0) AS cancelled,
  iif(outcome = 'interrupted', 1 + alike, 0) AS interrupted,
  0 AS input_tokens, 0 AS cached_input_tokens, 0 AS output_tokens,
  0 AS spend_nano, 0 AS cancelled_spend_nano, 0 AS interrupted_spend_nano,
  0 AS spend_tokens, 0 AS cancelled_spend_tokens, 0 AS interrupted_spend_tokens, 0 AS list_cost_nano, 0 AS cache_savings_nano,
  0 AS overrun_nano, 0 AS overrun_tokens,
  0 AS first_byte_ms, 0 AS first_byte_count,
  iif(outcome = 'failed', coalesce(total_ms, 0), 0) AS total_ms,
  outcome = 'failed' AND total_ms IS NOT NULL AS total_count,
  0 AS covered_attempts
FROM exchange_endings WHERE entry_id IS NULL;

-- Failed attempts of requests that completed all the same, counted for the provider that failed.
CREATE VIEW attempt_figures AS
SELECT exchange_endings.id, exchange_endings.at_ms, exchange_endings.key_no, (SELECT keys.account_no FROM keys WHERE keys.no = exchange_endings.key_no) AS account_no, exchange_endings.model,
  coalesce(attempt.value ->> 'provider', '') AS provider, exchange_endings.route, exchange_endings.labels,
  0 AS requests, 0 AS completed, 0 AS failed, 0 AS rejected, 0 AS cancelled, 0 AS interrupted,
  0 AS input_tokens, 0 AS cached_input_tokens, 0 AS output_tokens,
  0 AS spend_nano, 0 AS cancelled_spend_nano, 0 AS interrupted_spend_nano,
  0 AS spend_tokens, 0 AS cancelled_spend_tokens, 0 AS interrupted_spend_tokens, 0 AS list_cost_nano, 0 AS cache_savings_nano,
  0 AS overrun_nano, 0 AS overrun_tokens,
  0 AS first_byte_ms, 0 AS first_byte_count, 0 AS total_ms, 0 AS total_count,
  1 AS covered_attempts
FROM exchange_endings CROSS JOIN json_each(exchange_endings.attempt_details) AS attempt
WHERE exchange_endings.outcome = 'completed' AND attempt.value ->> 'failure' IS NOT NULL;

-- All of them, for the parts of an hour at both ends of a range, and for details that totals by the hour lack.
CREATE VIEW usage_rows AS
SELECT * FROM entry_figures
UNION ALL
SELECT * FROM ending_figures
UNION ALL
SELECT * FROM attempt_figures;

-- Attempts with the columns of `attempt_sums`, and a time that an index finds.
CREATE VIEW attempt_totals AS
SELECT *, day * 86400000 AS at_ms FROM attempt_sums
UNION ALL
SELECT provider, at_ms / 86400000, credential, upstream_model, outcome, 0, 1, 0, input_tokens, cached_input_tokens, cache_write_tokens,
  output_tokens, 0, 0, coalesce(owed_nano_usd, list_cost_nano, cost_nano), at_ms
FROM entries WHERE credential IS NOT NULL;

-- Operators.

-- What was changed through the admin API and the command line, and from where.
CREATE TABLE audit_log (
  id INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  actor TEXT NOT NULL,
  address TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT,
  detail TEXT
) STRICT;

-- The token that the gateway created at its first start, as a SHA-256 in hex.
CREATE TABLE admin_token (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  hash TEXT NOT NULL,
  -- Whether only the demo was served then. The first start with a real provider replaces it.
  is_trial INTEGER NOT NULL
) STRICT;
-- Prices above the built-in catalog (`sluice models update`), as JSON.
CREATE TABLE stored_prices (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  version TEXT NOT NULL,
  content TEXT NOT NULL
) STRICT;
-- Alerts that operators have seen and do not want to hear of until then, by kind.
CREATE TABLE acknowledged_alerts (
  kind TEXT PRIMARY KEY,
  actor TEXT NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT;
-- Keys that a gateway with only the demo created at its first start. They end at the first start with a real provider.
CREATE TABLE trial_keys (key_id TEXT PRIMARY KEY) STRICT;

-- Tokens of the admin API that operators created; they are not deleted, because the audit log names them.
CREATE TABLE admin_tokens (
  id TEXT PRIMARY KEY,
  label TEXT NOT NULL,
  role TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  -- Who created it, as the audit log names them.
  created_by TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  revoked_at_ms INTEGER
) STRICT;

-- Terminals that wait for a key of a person's own (RFC 8628), by the SHA-256 of their code, and the keys that were issued so.
CREATE TABLE device_grants (
  device_hash TEXT PRIMARY KEY,
  user_code TEXT NOT NULL UNIQUE,
  address TEXT NOT NULL,
  -- The block of addresses that is limited together.
  address_block TEXT NOT NULL,
  device TEXT,
  created_at_ms INTEGER NOT NULL,
  ends_at_ms INTEGER NOT NULL,
  state TEXT NOT NULL,
  identity TEXT,
  polled_at_ms INTEGER,
  interval_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE signed_in_keys (
  key_id TEXT PRIMARY KEY,
  person TEXT NOT NULL,
  identity TEXT NOT NULL,
  -- The key's status when its owner could no longer sign in, and the time; NULL while they can.
  status_before TEXT,
  lost_at_ms INTEGER
) STRICT;

-- What a gateway or an audit has found, as a JSON array; valid until then.
CREATE TABLE findings (
  source TEXT PRIMARY KEY,
  findings TEXT NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Alerts that fire. `level` is the highest threshold that was reached, in percent; 0 without any.
CREATE TABLE alerts (
  id TEXT PRIMARY KEY,
  level INTEGER NOT NULL,
  finding TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What is still to be sent, for a day at most.
CREATE TABLE alert_posts (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  alert_id TEXT NOT NULL,
  body TEXT NOT NULL,
  made_at_ms INTEGER NOT NULL,
  due_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX alert_posts_by_alert ON alert_posts (alert_id, no);

-- What retention deleted last.
CREATE TABLE prunings (what TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, pruned INTEGER NOT NULL) STRICT, WITHOUT ROWID;
