-- Terminals that ask for a key of a person's own (RFC 8628), by the SHA-256 of their code, and the keys that were issued so.

CREATE TABLE device_grants (
  device_hash TEXT PRIMARY KEY,
  user_code TEXT NOT NULL UNIQUE,
  address TEXT NOT NULL,
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
  identity TEXT NOT NULL
) STRICT;
