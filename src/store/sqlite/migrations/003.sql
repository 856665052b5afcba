-- Which ids of a provider's own things (responses, conversations, containers, files) a key was given, and by whom.
CREATE TABLE given_ids (
  -- Grows with time: one that is given again gets a new number.
  no INTEGER PRIMARY KEY,
  key_no INTEGER NOT NULL REFERENCES keys (no),
  -- A digest of the id, so that a row has a size whatever a provider sends.
  digest TEXT NOT NULL,
  provider TEXT NOT NULL,
  given_at_ms INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX given_ids_by_key ON given_ids (key_no, digest);
