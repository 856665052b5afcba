-- Responses that a client may read, continue or refer to. Each has what was new in it; the conversation is the chain of
-- its parents.
CREATE TABLE turns (
  -- Grows with time.
  no INTEGER PRIMARY KEY AUTOINCREMENT,
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
  body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX turns_by_id ON turns (key_no, id);
CREATE INDEX turns_by_key ON turns (key_no, no);
CREATE INDEX turns_by_expiry ON turns (expires_at_ms);

-- By which turn an item can be found: by a digest of its id.
CREATE TABLE turn_items (
  key_no INTEGER NOT NULL,
  digest TEXT NOT NULL,
  turn_no INTEGER NOT NULL,
  PRIMARY KEY (key_no, digest, turn_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_items_by_turn ON turn_items (turn_no);

CREATE TABLE turn_sums (key_no INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;

CREATE TRIGGER turn_inserted AFTER INSERT ON turns BEGIN
  INSERT INTO turn_sums (key_no, bytes) VALUES (new.key_no, new.bytes)
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER turn_deleted AFTER DELETE ON turns BEGIN
  UPDATE turn_sums SET bytes = bytes - old.bytes WHERE key_no = old.key_no;
  DELETE FROM turn_items WHERE turn_no = old.no;
  DELETE FROM response_parts WHERE recording_id = old.recording_id;
END;
