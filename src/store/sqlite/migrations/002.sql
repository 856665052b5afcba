-- A code can be for a key or for a sign-in; `client` is what asks for it, unverified, and `mode` the origin that was asked.
ALTER TABLE device_grants ADD COLUMN purpose TEXT NOT NULL DEFAULT 'key';
ALTER TABLE device_grants ADD COLUMN client TEXT;
ALTER TABLE device_grants ADD COLUMN mode TEXT NOT NULL DEFAULT 'credit';

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
CREATE INDEX sign_ins_by_use ON sign_ins (used_at_ms);

-- Charges with who and what they were for: a cap of models counts what a fallback serves for the model that was requested, too.
DROP VIEW counted_charges;
CREATE VIEW counted_charges AS
SELECT id, key_no, coalesce(account_no, key_no) AS account_no, account_no AS other_account_no, -amount AS amount, model, cost_nano,
  period_start_ms, coalesce(counted_at_ms, at_ms) AS counted_at_ms, at_ms / 86400000 AS day,
  input_tokens + cached_input_tokens + cache_write_tokens AS input_tokens, output_tokens, labels, labels ->> 'fallback_from' AS fallback_from
FROM entries WHERE kind IN ('charge', 'overrun') AND amount <= 0;
