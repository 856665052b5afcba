-- Tags of requests that have none of the name, as a JSON object; limits of tokens per minute, as a JSON array of limits and the models that they are
-- for; and how many requests of a key may be in flight.
ALTER TABLE keys ADD COLUMN tags TEXT;
ALTER TABLE keys ADD COLUMN tpm_limits TEXT;
ALTER TABLE keys ADD COLUMN max_concurrent INTEGER;
ALTER TABLE accounts ADD COLUMN account_tags TEXT;
ALTER TABLE accounts ADD COLUMN account_tpm_limits TEXT;
