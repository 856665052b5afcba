-- What is looked for every few seconds: the keys that expire soon.

CREATE INDEX keys_by_expiry ON keys (expires_at_ms) WHERE status = 'active' AND expires_at_ms IS NOT NULL;
