-- Commands name keys and accounts by their labels.
CREATE INDEX keys_by_label ON keys (label) WHERE label IS NOT NULL;
CREATE INDEX accounts_by_label ON accounts (account_label) WHERE account_label IS NOT NULL;
