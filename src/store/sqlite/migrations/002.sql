-- Never changed: the next file has what comes later (CONTRIBUTING.md).
-- A code can be for a key or for a sign-in; `client` is what asks for it, unverified, and `mode` the origin that was asked.
ALTER TABLE device_grants ADD COLUMN purpose TEXT NOT NULL DEFAULT 'key';
ALTER TABLE device_grants ADD COLUMN client TEXT;
ALTER TABLE device_grants ADD COLUMN mode TEXT NOT NULL DEFAULT 'credit';

-- The person who signed in for a token, as JSON: it can do no more than they can now. NULL for a token that was created.
ALTER TABLE admin_tokens ADD COLUMN identity TEXT;

-- 1 for the one key that all sign-ins of a person use.
ALTER TABLE signed_in_keys ADD COLUMN is_for_sign_ins INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX signed_in_keys_for_sign_ins ON signed_in_keys (person) WHERE is_for_sign_ins = 1;

-- Programs that people have signed in. Of tokens only the SHA-256 is kept.
CREATE TABLE sign_ins (
  id TEXT PRIMARY KEY,
  key_id TEXT NOT NULL,
  person TEXT NOT NULL,
  name TEXT NOT NULL,
  client TEXT,
  device TEXT,
  address TEXT NOT NULL,
  began_at_ms INTEGER NOT NULL,
  -- When its refresh token was last used.
  used_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER,
  -- NULL while it has not ended.
  end_reason TEXT,
  -- Access tokens that are valid or have just expired, as a JSON array of { hash, endsAtMs }.
  access TEXT NOT NULL,
  -- The part that all refresh tokens of this sign-in have in common.
  family_hash TEXT NOT NULL UNIQUE,
  refresh_hash TEXT NOT NULL,
  -- The refresh token before this one, and what it was answered with, encrypted under a key derived from that token.
  former_hash TEXT,
  former_answer TEXT,
  revision INTEGER NOT NULL
) STRICT;
CREATE INDEX sign_ins_by_person ON sign_ins (person);
CREATE INDEX sign_ins_by_revision ON sign_ins (revision);

-- Charges with who and what they were for: a cap of models counts what a fallback serves for the model that was requested, too.
DROP VIEW counted_charges;
CREATE VIEW counted_charges AS
SELECT id, key_no, coalesce(account_no, key_no) AS account_no, account_no AS other_account_no, -amount AS amount, model, cost_nano,
  period_start_ms, coalesce(counted_at_ms, at_ms) AS counted_at_ms, at_ms / 86400000 AS day,
  input_tokens + cached_input_tokens + cache_write_tokens AS input_tokens, output_tokens, labels, labels ->> 'fallback_from' AS fallback_from
FROM entries WHERE kind IN ('charge', 'overrun') AND amount <= 0;

-- Responses in the background, while they run and, if their events are kept, for a while after. Clients read their turns.
CREATE TABLE background_responses (
  id TEXT PRIMARY KEY,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  -- The process that runs it.
  node_no INTEGER NOT NULL,
  -- 'queued', 'in_progress' or 'ended'.
  state TEXT NOT NULL DEFAULT 'queued',
  is_streamed INTEGER NOT NULL,
  is_cancelled INTEGER NOT NULL DEFAULT 0,
  -- By how many processes it was begun.
  runs INTEGER NOT NULL DEFAULT 1,
  created_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER,
  -- Parts of response_parts that come before the call.
  recording_id TEXT,
  parts INTEGER NOT NULL,
  -- What it takes to run it again; empty once a provider has answered.
  call BLOB NOT NULL
) STRICT;
CREATE INDEX background_responses_open ON background_responses (node_no) WHERE state <> 'ended';
CREATE INDEX background_responses_by_end ON background_responses (ended_at_ms) WHERE ended_at_ms IS NOT NULL;

-- Their events, several in a row. `first` is the place of the first one.
CREATE TABLE background_events (
  response_id TEXT NOT NULL,
  first INTEGER NOT NULL,
  count INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (response_id, first)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER background_response_deleted AFTER DELETE ON background_responses BEGIN
  DELETE FROM background_events WHERE response_id = old.id;
  DELETE FROM response_parts WHERE recording_id = old.recording_id;
END;
-- What each value of a label, or one of them, may spend in a period: within a key, within an account, or everywhere.
CREATE TABLE value_caps (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  -- At most one of both; NULL for both means the whole gateway.
  account_no INTEGER REFERENCES accounts (no),
  key_no INTEGER REFERENCES keys (no),
  -- 'credit' or 'token_budget': the unit of `amount`, in every scope. Spend of accounts of the other mode is not counted.
  mode TEXT NOT NULL,
  -- owner, user, or tag:NAME.
  label TEXT NOT NULL,
  -- The only value that it limits; NULL to limit each.
  value TEXT,
  amount INTEGER NOT NULL,
  period TEXT NOT NULL CHECK (period IN ('day', 'week', 'month')),
  models TEXT,
  -- As of caps.
  extra INTEGER NOT NULL DEFAULT 0,
  extra_period_ms INTEGER NOT NULL DEFAULT 0,
  -- 1 if requests without the label count together, as the value ''.
  is_optional INTEGER NOT NULL DEFAULT 0,
  -- How many values it counts in a period.
  max_values INTEGER NOT NULL,
  -- The model that a request it denies runs on instead; NULL to reject such requests. 1 to do so even if the request continues what only
  -- the denied model has.
  then_model TEXT,
  then_always INTEGER NOT NULL DEFAULT 0,
  -- When it began to count: it has counted since the beginning of that period.
  counted_from_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE cap_values (
  cap_no INTEGER NOT NULL REFERENCES value_caps (no) ON DELETE CASCADE,
  value TEXT NOT NULL,
  period_start_ms INTEGER NOT NULL,
  used INTEGER NOT NULL DEFAULT 0,
  later_used TEXT,
  -- What this value's amount is raised by in one period alone.
  extra INTEGER NOT NULL DEFAULT 0,
  extra_period_ms INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (cap_no, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX cap_values_by_period ON cap_values (cap_no, period_start_ms);

-- Secrets of the playground, as SHA-256: each stands for a key, for an hour, and may spend so much. Nano-credits, or tokens.
CREATE TABLE playground_secrets (
  hash TEXT PRIMARY KEY,
  key_id TEXT NOT NULL,
  ends_at_ms INTEGER NOT NULL,
  amount_left INTEGER NOT NULL
) STRICT;

-- How far the feed has been pushed, in one row at most: none before it has begun.
CREATE TABLE feed_push (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- The newest entry that the receiver has accepted.
  through_id INTEGER NOT NULL,
  accepted_at_ms INTEGER NOT NULL,
  -- The post that is being sent, so that a repeat has the same bytes: the newest entry in it, and its body. NULL between two posts.
  pending_id INTEGER,
  body TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at_ms INTEGER NOT NULL DEFAULT 0,
  problem TEXT,
  -- When a receiver has rejected the post, and a digest of its address and secret: nothing is sent there again. NULL while it is sent.
  stopped_at_ms INTEGER,
  stopped_for TEXT
) STRICT;

-- Alerts as operators see them: open while `ended_at_ms` is NULL, then kept for a while.
CREATE TABLE past_alerts (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  -- As JSON.
  alert TEXT NOT NULL,
  began_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER
) STRICT;
CREATE INDEX past_alerts_open ON past_alerts (id) WHERE ended_at_ms IS NULL;
CREATE INDEX past_alerts_by_end ON past_alerts (ended_at_ms) WHERE ended_at_ms IS NOT NULL;

-- What clients have uploaded, and what they are shown of the results of a batch.
CREATE TABLE files (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  -- 'batch' and 'requests' are inputs, 'output' and 'errors' the results of `batch_id`, which are read from its lines, and
  -- 'uploading' is an input that is not complete.
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  batch_id TEXT,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX files_by_key ON files (key_no, no);
CREATE INDEX files_by_expiry ON files (expires_at_ms);
CREATE INDEX files_by_batch ON files (batch_id) WHERE batch_id IS NOT NULL;

-- The bytes of inputs: all parts but the last have the same length, before they are encrypted.
CREATE TABLE file_parts (
  file_id TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (file_id, sequence)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER file_deleted AFTER DELETE ON files BEGIN
  DELETE FROM file_parts WHERE file_id = old.id;
END;

CREATE TABLE batches (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  file_id TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  -- What the client has sent with it, as JSON: metadata, headers, and what else its API shows again.
  request TEXT NOT NULL,
  -- 'validating', 'failed', 'in_progress', 'cancelling', 'cancelled', 'expired' or 'completed'.
  status TEXT NOT NULL,
  -- As JSON, of one that has failed.
  errors TEXT,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  in_progress_at_ms INTEGER,
  cancelling_at_ms INTEGER,
  ended_at_ms INTEGER,
  -- When its results are deleted; NULL before its end.
  kept_until_ms INTEGER,
  total INTEGER NOT NULL DEFAULT 0,
  completed INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  -- How many of the failed ones never ran.
  rest INTEGER NOT NULL DEFAULT 0,
  output_bytes INTEGER NOT NULL DEFAULT 0,
  error_bytes INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  -- What its lines were charged: nano-credits or tokens.
  charged INTEGER NOT NULL DEFAULT 0,
  -- Why the lines that never ran have no result; NULL before its end.
  rest_code TEXT,
  -- What it waits for, and since when; NULL while it runs.
  waits_for TEXT,
  waits_since_ms INTEGER,
  -- 1 in a copy: its lines may have run since.
  is_paused INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX batches_by_key ON batches (key_no, no);
CREATE INDEX batches_open ON batches (no) WHERE ended_at_ms IS NULL;
CREATE INDEX batches_by_end ON batches (kept_until_ms) WHERE kept_until_ms IS NOT NULL;

-- The requests of batches. The response of one that was charged is in `responses`: its route is "batch:" and the batch's id, its
-- idempotency key the number of the line, so that a line is charged once.
CREATE TABLE batch_lines (
  batch_no INTEGER NOT NULL REFERENCES batches (no),
  no INTEGER NOT NULL,
  custom_id TEXT NOT NULL,
  -- Where the request's body is in the file.
  start INTEGER NOT NULL,
  length INTEGER NOT NULL,
  -- 0 waits, 1 runs, 2 has ended.
  state INTEGER NOT NULL DEFAULT 0,
  -- The process that runs it.
  node_no INTEGER NOT NULL DEFAULT 0,
  -- How many processes have ended while they ran it, and how many of its runs have reached a provider.
  crashes INTEGER NOT NULL DEFAULT 0,
  tries INTEGER NOT NULL DEFAULT 0,
  due_at_ms INTEGER NOT NULL DEFAULT 0,
  -- Of the result; NULL before. `error` is the response of one that was not charged.
  status INTEGER,
  request_id TEXT,
  error BLOB,
  PRIMARY KEY (batch_no, no)
) STRICT, WITHOUT ROWID;
CREATE INDEX batch_lines_waiting ON batch_lines (batch_no, no) WHERE state = 0;
CREATE INDEX batch_lines_running ON batch_lines (node_no) WHERE state = 1;

-- Results of batches are not kept for retries.
DROP TRIGGER response_inserted;
DROP TRIGGER response_deleted;
CREATE TRIGGER response_inserted AFTER INSERT ON responses WHEN substr(new.route, 1, 6) <> 'batch:' BEGIN
  INSERT INTO response_sums (key_no, bytes) VALUES (new.key_no, new.bytes)
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER response_deleted AFTER DELETE ON responses WHEN substr(old.route, 1, 6) <> 'batch:' BEGIN
  UPDATE response_sums SET bytes = bytes - old.bytes WHERE key_no = old.key_no;
END;
