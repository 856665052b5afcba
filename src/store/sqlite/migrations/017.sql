-- What summaries of conversations are sealed with, which clients keep.
CREATE TABLE sealing_secret (id INTEGER PRIMARY KEY CHECK (id = 1), secret BLOB NOT NULL) STRICT;
