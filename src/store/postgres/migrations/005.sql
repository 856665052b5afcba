-- Commands name keys and accounts by their labels.
CREATE INDEX keys_by_label ON keys (label) WHERE label IS NOT NULL;
CREATE INDEX accounts_by_label ON accounts (account_label) WHERE account_label IS NOT NULL;

-- What a clock that was ahead has dated in later periods counts in the one to which it returned, and in none between.
UPDATE accounts SET later_used = (SELECT json_agg(jsonb_set(l.value, '{in}', to_jsonb(period_start_ms)))::text FROM jsonb_array_elements(later_used::jsonb) AS l) WHERE later_used IS NOT NULL;
UPDATE caps SET later_used = (SELECT json_agg(jsonb_set(l.value, '{in}', to_jsonb(period_start_ms)))::text FROM jsonb_array_elements(later_used::jsonb) AS l) WHERE later_used IS NOT NULL;
UPDATE cap_values SET later_used = (SELECT json_agg(jsonb_set(l.value, '{in}', to_jsonb(period_start_ms)))::text FROM jsonb_array_elements(later_used::jsonb) AS l) WHERE later_used IS NOT NULL;
