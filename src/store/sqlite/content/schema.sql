-- Content of requests, one row for each. `body` is packed JSON, encrypted if the configuration has a key.
CREATE TABLE content (
  no INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  at_ms INTEGER NOT NULL,
  key_id TEXT NOT NULL,
  owner TEXT,
  model TEXT NOT NULL,
  outcome TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX content_by_time ON content (at_ms);

-- One row at most: what tells the right key from others.
CREATE TABLE content_mark (value BLOB NOT NULL) STRICT;
