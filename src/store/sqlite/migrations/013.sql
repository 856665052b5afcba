-- Tokens of the admin API that operators made beside the first one; they are not deleted, because the audit log names them.
CREATE TABLE admin_tokens (
  id TEXT PRIMARY KEY,
  label TEXT NOT NULL,
  role TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  created_at_ms INTEGER NOT NULL,
  revoked_at_ms INTEGER
) STRICT;
