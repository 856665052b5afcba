-- How many bytes of responses are kept for retries, for each key.

ALTER TABLE responses ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE responses SET bytes = length(body) + coalesce(
  (SELECT sum(length(p.body)) FROM response_parts p WHERE p.recording_id = responses.recording_id), 0);

CREATE TABLE response_sums (key_no INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;
INSERT INTO response_sums SELECT key_no, sum(bytes) FROM responses GROUP BY key_no;

CREATE TRIGGER response_inserted AFTER INSERT ON responses BEGIN
  INSERT INTO response_sums (key_no, bytes) VALUES (new.key_no, new.bytes)
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER response_deleted AFTER DELETE ON responses BEGIN
  UPDATE response_sums SET bytes = bytes - old.bytes WHERE key_no = old.key_no;
END;
