-- What the lines of a provider's batch are charged by, as JSON: the configuration when they were held.
ALTER TABLE provider_batches ADD COLUMN terms TEXT;
