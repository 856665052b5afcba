-- The limit that denied a hold, and what the hold asked for, in nano-credits or tokens: advice to the operator follows from it.

ALTER TABLE exchange_endings ADD COLUMN bound TEXT;
ALTER TABLE exchange_endings ADD COLUMN needed INTEGER;
