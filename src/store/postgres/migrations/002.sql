-- A code can be for a key or for a sign-in; `client` is what asks for it, unverified, and `mode` the origin that was asked.
ALTER TABLE device_grants ADD COLUMN purpose text NOT NULL DEFAULT 'key';
ALTER TABLE device_grants ADD COLUMN client text;
ALTER TABLE device_grants ADD COLUMN mode text NOT NULL DEFAULT 'credit';

-- 1 for the one key that all sign-ins of a person use.
ALTER TABLE signed_in_keys ADD COLUMN is_for_sign_ins int NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX signed_in_keys_for_sign_ins ON signed_in_keys (person) WHERE is_for_sign_ins = 1;

-- Programs that people have signed in. Of tokens only the SHA-256 is kept.
CREATE TABLE sign_ins (
  id text PRIMARY KEY,
  key_id text NOT NULL,
  person text NOT NULL,
  name text NOT NULL,
  client text,
  device text,
  address text NOT NULL,
  began_at_ms int8 NOT NULL,
  -- When its refresh token was last used.
  used_at_ms int8 NOT NULL,
  ended_at_ms int8,
  -- NULL while it has not ended.
  end_reason text,
  -- Access tokens that are valid or have just expired, as a JSON array of { hash, endsAtMs }.
  access text NOT NULL,
  -- The part that all refresh tokens of this sign-in have in common.
  family_hash text NOT NULL UNIQUE,
  refresh_hash text NOT NULL,
  -- The refresh token before this one, and what it was answered with, encrypted under a key derived from that token.
  former_hash text,
  former_answer text,
  revision int8 NOT NULL
);
CREATE INDEX sign_ins_by_person ON sign_ins (person);
CREATE INDEX sign_ins_by_revision ON sign_ins (revision);
CREATE INDEX sign_ins_by_use ON sign_ins (used_at_ms);
