-- What needs an operator's attention, and the alerts about it.

-- What a gateway has found, or an audit, as a JSON array; believed until then.
CREATE TABLE findings (
  source TEXT PRIMARY KEY,
  findings TEXT NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Alerts that have begun and not ended. `level` is the highest threshold that was reached, in percent; 0 without any.
CREATE TABLE alerts (
  id TEXT PRIMARY KEY,
  level INTEGER NOT NULL,
  finding TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What is still to be sent, for a day at most.
CREATE TABLE alert_posts (
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  alert_id TEXT NOT NULL,
  body TEXT NOT NULL,
  made_at_ms INTEGER NOT NULL,
  due_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX alert_posts_by_alert ON alert_posts (alert_id, no);
