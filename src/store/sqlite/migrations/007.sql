-- Which of the provider's credentials it was given to; null if the provider needs none, or it was given before this was kept.
ALTER TABLE given_ids ADD COLUMN credential TEXT;
