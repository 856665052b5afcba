-- What may be recorded of the content of requests at most: none, failed or all. NULL leaves that to the configuration.
ALTER TABLE keys ADD COLUMN content TEXT;
ALTER TABLE accounts ADD COLUMN account_content TEXT;
