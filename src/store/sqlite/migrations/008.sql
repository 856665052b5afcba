-- What every charge rests on, so that it can be explained and proven for ever.

-- Rates are kept once for all charges that were made at them. The id is a digest of the text (`base/rates.ts`).
CREATE TABLE rates (
  id INTEGER PRIMARY KEY,
  rates TEXT NOT NULL
) STRICT;
CREATE TRIGGER rates_are_never_changed BEFORE UPDATE ON rates
BEGIN SELECT RAISE(ABORT, 'rates are only ever added'); END;
CREATE TRIGGER rates_are_never_deleted BEFORE DELETE ON rates
BEGIN SELECT RAISE(ABORT, 'rates are only ever added'); END;

-- NULL in charges that are older than this.
ALTER TABLE entries ADD COLUMN rates_id INTEGER REFERENCES rates (id);
-- A JSON object of what was charged for; NULL where it is what the columns of tokens say, as in nearly all charges.
ALTER TABLE entries ADD COLUMN quantities TEXT;
-- The name that the client asked for the model by; NULL where it is the model's id.
ALTER TABLE entries ADD COLUMN asked_model TEXT;

-- The same for what open holds have produced so far.
ALTER TABLE holds ADD COLUMN rates_id INTEGER REFERENCES rates (id);
ALTER TABLE holds ADD COLUMN quantities TEXT;
ALTER TABLE holds ADD COLUMN asked_model TEXT;

-- Where `sluice store copy` has taken the data, and when; NULL while it is used here.
ALTER TABLE state ADD COLUMN moved_to TEXT;
ALTER TABLE state ADD COLUMN moved_at_ms INTEGER;

-- Failed attempts of exchanges that completed all the same, counted for the provider that failed.
ALTER TABLE usage_minutes ADD COLUMN covered_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_key_hours ADD COLUMN covered_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_all_hours ADD COLUMN covered_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_key_days ADD COLUMN covered_attempts INTEGER NOT NULL DEFAULT 0;

CREATE INDEX entries_by_time ON entries (at_ms);
CREATE INDEX exchange_endings_by_time ON exchange_endings (at_ms);
