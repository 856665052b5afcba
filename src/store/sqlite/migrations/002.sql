-- Sums that charts and lists read. usage_hours has a row for every key and hour, which are millions in a year
-- of ten thousand keys, and latency_hours one for every model and band; these have what a chart can show.

-- Over all keys.
CREATE TABLE usage_model_hours (
  hour INTEGER NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  requests INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_nano INTEGER NOT NULL,
  PRIMARY KEY (hour, model, provider)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_model_hours
SELECT hour, model, provider, sum(requests), sum(failures), sum(input_tokens), sum(output_tokens), sum(cost_nano)
FROM usage_hours GROUP BY hour, model, provider;

-- How long requests took, over all models and providers; bands as in latency_hours.
CREATE TABLE latency_all_hours (
  hour INTEGER NOT NULL,
  measure TEXT NOT NULL CHECK (measure IN ('first_byte', 'total')),
  up_to_ms INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  PRIMARY KEY (hour, measure, up_to_ms)
) STRICT, WITHOUT ROWID;
INSERT INTO latency_all_hours
SELECT hour, measure, up_to_ms, sum(requests) FROM latency_hours GROUP BY hour, measure, up_to_ms;

-- Over all models; days are UTC days since 1970.
CREATE TABLE usage_key_days (
  key_no INTEGER NOT NULL REFERENCES keys (no),
  day INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_nano INTEGER NOT NULL,
  PRIMARY KEY (key_no, day)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_key_days
SELECT key_no, hour / 24, sum(requests), sum(failures), sum(input_tokens), sum(output_tokens), sum(cost_nano)
FROM usage_hours GROUP BY key_no, hour / 24;

-- What operators changed through the admin API, and from where.
CREATE TABLE audit_log (
  id INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  actor TEXT NOT NULL,
  address TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT,
  detail TEXT
) STRICT;

-- The token that Sluice made for itself at its first start, as a SHA-256 in hex.
CREATE TABLE admin_token (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  hash TEXT NOT NULL
) STRICT;
