-- What the lines of a batch would hold in all; NULL if that is unknown.
ALTER TABLE batches ADD COLUMN estimate INTEGER;
-- The process that validates it.
ALTER TABLE batches ADD COLUMN node_no INTEGER NOT NULL DEFAULT 0;
-- The model that a line calls; NULL if that is unknown.
ALTER TABLE batch_lines ADD COLUMN model TEXT;
