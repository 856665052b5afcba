-- How much a request that continues from an id begins with: the input and output of the answer that it came in.
ALTER TABLE given_ids ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
