-- Amounts are whole nano-credits for credit accounts and whole tokens for token-budget accounts; times are milliseconds
-- since 1970 in UTC, except where a node's life depends on the database's own clock (timestamptz).
-- Tables that are written for every request have no foreign keys: each would lock a row of the other table.

-- One row. Raised by every change of a key and by every operator's entry, so that running gateways see them. The
-- row stays locked until the change is committed, so a reader at a revision has seen every change up to it.
CREATE TABLE state (
  id int PRIMARY KEY CHECK (id = 1),
  revision int8 NOT NULL
) WITH (fillfactor = 20);
INSERT INTO state (id, revision) VALUES (1, 0);

-- Who pays: a balance (credit) or a budget (tokens), and the sums over its entries and usage records.
CREATE TABLE accounts (
  no int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  id text NOT NULL UNIQUE,
  mode text NOT NULL CHECK (mode IN ('credit', 'token_budget')),
  -- NULL means without a limit; always so for credit.
  budget_tokens int8,
  period text NOT NULL CHECK (period IN ('day', 'week', 'month', 'none')),
  created_at_ms int8 NOT NULL,
  posted int8 NOT NULL DEFAULT 0,
  -- The sum of the open holds; for a token budget those of the current period.
  held int8 NOT NULL DEFAULT 0 CHECK (held >= 0),
  purchased int8 NOT NULL DEFAULT 0,
  used int8 NOT NULL DEFAULT 0,
  day int NOT NULL DEFAULT 0,
  day_spend int8 NOT NULL DEFAULT 0,
  period_start_ms int8 NOT NULL DEFAULT 0,
  period_used int8 NOT NULL DEFAULT 0,
  requests int8 NOT NULL DEFAULT 0,
  input_tokens int8 NOT NULL DEFAULT 0,
  output_tokens int8 NOT NULL DEFAULT 0,
  last_cost_nano int8 NOT NULL DEFAULT 0,
  CHECK (posted = purchased - used),
  CHECK (mode <> 'credit' OR posted >= 0)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- A key draws on one account.
CREATE TABLE keys (
  no int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  id text NOT NULL UNIQUE,
  account_no int NOT NULL REFERENCES accounts (no),
  hash text NOT NULL UNIQUE,
  prefix text NOT NULL,
  label text,
  status text NOT NULL CHECK (status IN ('active', 'disabled', 'suspended', 'revoked')),
  scope text NOT NULL,
  -- A JSON array of model ids; NULL means all.
  models text,
  rpm_limit int,
  created_at_ms int8 NOT NULL,
  expires_at_ms int8,
  previous_hash text,
  previous_until_ms int8,
  revision int8 NOT NULL
);
CREATE INDEX keys_by_account ON keys (account_no);
CREATE INDEX keys_by_prefix ON keys (prefix);
CREATE INDEX keys_by_revision ON keys (revision);
CREATE INDEX keys_by_previous_hash ON keys (previous_hash) WHERE previous_hash IS NOT NULL;

-- The gateways. A number is never used twice. The lease says who is alive, and nothing else.
CREATE TABLE nodes (
  no int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  version text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  beat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  lease_until timestamptz NOT NULL,
  -- Since when the lease has been renewed without a gap.
  steady_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  in_flight int NOT NULL DEFAULT 0,
  -- Stopped cleanly, and left nothing behind.
  left_at timestamptz,
  -- Taken over by another node.
  dead_at timestamptz,
  taken_by int
) WITH (fillfactor = 50);

-- The number of the last batch that a node committed on each of its lanes; -1 once it is fenced.
CREATE TABLE lanes (
  node_no int NOT NULL,
  lane int2 NOT NULL,
  seq int8 NOT NULL,
  PRIMARY KEY (node_no, lane)
) WITH (fillfactor = 20);

-- Every open hold. Deleting the row is what ends it, exactly once.
CREATE TABLE holds (
  id text PRIMARY KEY,
  account_no int NOT NULL,
  key_no int NOT NULL,
  node_no int NOT NULL,
  amount int8 NOT NULL,
  period_start_ms int8 NOT NULL,
  charge_so_far int8 NOT NULL DEFAULT 0,
  opened_at_ms int8 NOT NULL,
  model text NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Months since 1970, UTC.
CREATE FUNCTION sluice_month(at_ms int8) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ((extract(year FROM t) - 1970) * 12 + extract(month FROM t) - 1)::int
  FROM (SELECT to_timestamp(at_ms / 1000.0) AT TIME ZONE 'UTC') AS at (t)
$$;

-- The ledger. A charge and the usage record of its exchange share a row, because they are written together for every
-- request. Columns from `recorded_at_ms` on are the usage record. Ids are not committed in their order: who wants
-- "all after this one" must first wait for those who are writing (see settled-ids.ts).
CREATE SEQUENCE entries_id_seq AS int8;
CREATE TABLE entries (
  id int8 NOT NULL DEFAULT nextval('entries_id_seq'),
  -- Of the moment a hold was opened, or an operator's entry was made. A hold has one such moment, whoever ends it and
  -- when, so a charge is unique among all months although an index sees only one.
  month int NOT NULL,
  account_no int NOT NULL,
  key_no int NOT NULL,
  -- The node that wrote it; NULL for an operator's.
  node_no int,
  kind text NOT NULL CHECK (kind IN ('charge', 'topup', 'adjustment', 'overrun')),
  amount int8 NOT NULL,
  at_ms int8 NOT NULL,
  period_start_ms int8 NOT NULL DEFAULT 0,
  exchange_id text,
  basis text,
  outcome text,
  reference text,
  note text,
  -- The store's revision that this entry raised; NULL for what a gateway charges.
  revision int8,
  -- What the use of a token budget would have cost; NULL where there is no price.
  list_cost_nano int8,
  recorded_at_ms int8,
  route text,
  model text,
  provider text,
  upstream_model text,
  stream bool,
  status int,
  input_tokens int8,
  cached_input_tokens int8,
  cache_write_tokens int8,
  output_tokens int8,
  reasoning_tokens int8,
  cost_nano int8,
  first_byte_ms int8,
  total_ms int8,
  attempts int,
  PRIMARY KEY (id, month)
) PARTITION BY RANGE (month);
ALTER SEQUENCE entries_id_seq OWNED BY entries.id;
CREATE INDEX entries_by_account ON entries (account_no, id);
CREATE UNIQUE INDEX entries_by_exchange ON entries (exchange_id, month) WHERE kind = 'charge';
CREATE INDEX entries_of_exchange ON entries (exchange_id) WHERE kind <> 'charge' AND exchange_id IS NOT NULL;
CREATE INDEX entries_by_revision ON entries (revision) WHERE revision IS NOT NULL;

-- A reference is unique among all months too.
CREATE TABLE entry_references (
  account_no int NOT NULL,
  reference text NOT NULL,
  entry_id int8 NOT NULL,
  month int NOT NULL,
  PRIMARY KEY (account_no, reference)
);

-- What has no month of its own yet, e.g. because a clock is wrong.
CREATE TABLE entries_default PARTITION OF entries DEFAULT;

-- Makes the months from this moment on. One that the default partition has rows of stays there.
CREATE FUNCTION sluice_make_months(now_ms int8, ahead int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  first int := sluice_month(now_ms);
  name text;
BEGIN
  FOR m IN first .. first + ahead LOOP
    name := format('entries_%s_%s', 1970 + m / 12, lpad((m % 12 + 1)::text, 2, '0'));
    CONTINUE WHEN to_regclass(name) IS NOT NULL OR EXISTS (SELECT FROM entries_default WHERE month = m);
    EXECUTE format('CREATE TABLE %I PARTITION OF entries FOR VALUES FROM (%s) TO (%s)', name, m, m + 1);
  END LOOP;
END $$;
SELECT sluice_make_months((extract(epoch FROM clock_timestamp()) * 1000)::int8, 2);

-- A correction is always a new entry.
CREATE FUNCTION sluice_entries_are_only_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'entries are only ever added'; END $$;
CREATE TRIGGER entries_are_only_added BEFORE UPDATE OR DELETE ON entries
FOR EACH ROW EXECUTE FUNCTION sluice_entries_are_only_added();

-- What an Idempotency-Key has claimed and, once it is stored, the response that it replays.
CREATE TABLE idempotency (
  key_no int NOT NULL,
  route text NOT NULL,
  idempotency_key text NOT NULL,
  body_hash text NOT NULL,
  -- Who runs it; both are cleared when the response is stored.
  node_no int,
  exchange_id text,
  claimed_at_ms int8,
  status int,
  headers text,
  -- NULL while it runs.
  stored_at_ms int8,
  -- Parts of response_parts that come before the body.
  recording_id text,
  parts int NOT NULL DEFAULT 0,
  body bytea,
  PRIMARY KEY (key_no, route, idempotency_key)
) WITH (fillfactor = 80);
CREATE INDEX idempotency_by_time ON idempotency (stored_at_ms) WHERE stored_at_ms IS NOT NULL;
ALTER TABLE idempotency ALTER COLUMN body SET STORAGE EXTERNAL;

-- Beginnings of long responses, written ahead while they are relayed.
CREATE TABLE response_parts (
  recording_id text NOT NULL,
  sequence int NOT NULL,
  written_at_ms int8 NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (recording_id, sequence)
);
CREATE INDEX response_parts_by_time ON response_parts (written_at_ms);
ALTER TABLE response_parts ALTER COLUMN body SET STORAGE EXTERNAL;

-- Which ids of a provider's own objects (responses, files, …) a key was given, and by whom. `no` grows with time: an id
-- that is given again gets a new one.
CREATE TABLE given_ids (
  no int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  key_no int NOT NULL,
  -- A digest of the id, so that a row has a size whatever a provider sends.
  digest text NOT NULL,
  provider text NOT NULL,
  given_at_ms int8 NOT NULL
);
CREATE UNIQUE INDEX given_ids_by_key ON given_ids (key_no, digest);

-- Every exchange of a key that was refused, failed, was cancelled or interrupted, and those that completed only after
-- an attempt had failed. Kept for a while ([retention]); what was charged is in the ledger for good.
CREATE TABLE exchange_endings (
  id int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  exchange_id text NOT NULL,
  key_no int NOT NULL,
  node_no int,
  -- When it ended.
  at_ms int8 NOT NULL,
  started_at_ms int8 NOT NULL,
  route text NOT NULL,
  -- Empty where it ended before that was known.
  model text NOT NULL,
  provider text NOT NULL,
  upstream_model text NOT NULL,
  stream bool NOT NULL,
  outcome text NOT NULL,
  -- What the client was answered; NULL for one that was interrupted.
  status int,
  code text,
  message text,
  first_byte_ms int8,
  total_ms int8,
  attempts int NOT NULL,
  -- A JSON array of the attempts; NULL where there was none.
  attempt_details text,
  -- Its charge in the ledger; NULL where nothing was charged.
  entry_id int8,
  entry_month int,
  -- How many more of the same kind ended within the same second and are counted here, but not kept one by one.
  alike int NOT NULL DEFAULT 0
);
CREATE INDEX exchange_endings_by_exchange ON exchange_endings (exchange_id);
CREATE INDEX exchange_endings_by_key ON exchange_endings (key_no, id);
CREATE INDEX exchange_endings_by_outcome ON exchange_endings (outcome, id);
CREATE INDEX exchange_endings_by_code ON exchange_endings (code, id) WHERE code IS NOT NULL;

-- Rate tokens, for which nothing is lost in a crash of the database but a minute's worth of limits.
CREATE UNLOGGED TABLE buckets (
  key_no int PRIMARY KEY,
  capacity int NOT NULL,
  level float8 NOT NULL,
  filled_at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- What operators changed through the admin API or at the command line, and from where.
CREATE TABLE audit_log (
  id int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  at_ms int8 NOT NULL,
  actor text NOT NULL,
  address text NOT NULL,
  action text NOT NULL,
  target text,
  detail text
);

-- The token that Sluice made for itself at its first start, as a SHA-256 in hex.
CREATE TABLE admin_token (
  id int PRIMARY KEY CHECK (id = 1),
  hash text NOT NULL
);

-- Sessions of the dashboard, by the SHA-256 of their id: any node may be asked next.
CREATE TABLE sessions (
  hash text PRIMARY KEY,
  ends_at_ms int8 NOT NULL
);

-- One row: entries and endings up to these ids are counted in the sums below.
CREATE TABLE rollups (
  id int PRIMARY KEY CHECK (id = 1),
  entries_through int8 NOT NULL,
  endings_through int8 NOT NULL
) WITH (fillfactor = 20);
INSERT INTO rollups (id, entries_through, endings_through) VALUES (1, 0, 0);

-- The sums, in four sizes, so that no report reads more rows than it shows many times over. Days are UTC days since 1970.

-- Kept for some hours only.
CREATE TABLE usage_minutes (
  minute int NOT NULL,
  key_no int NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  requests int8 NOT NULL DEFAULT 0,
  completed int8 NOT NULL DEFAULT 0,
  failed int8 NOT NULL DEFAULT 0,
  refused int8 NOT NULL DEFAULT 0,
  cancelled int8 NOT NULL DEFAULT 0,
  interrupted int8 NOT NULL DEFAULT 0,
  input_tokens int8 NOT NULL DEFAULT 0,
  cached_input_tokens int8 NOT NULL DEFAULT 0,
  output_tokens int8 NOT NULL DEFAULT 0,
  spend_nano int8 NOT NULL DEFAULT 0,
  cancelled_spend_nano int8 NOT NULL DEFAULT 0,
  interrupted_spend_nano int8 NOT NULL DEFAULT 0,
  spend_tokens int8 NOT NULL DEFAULT 0,
  cancelled_spend_tokens int8 NOT NULL DEFAULT 0,
  interrupted_spend_tokens int8 NOT NULL DEFAULT 0,
  list_cost_nano int8 NOT NULL DEFAULT 0,
  first_byte_ms int8 NOT NULL DEFAULT 0,
  first_byte_count int8 NOT NULL DEFAULT 0,
  total_ms int8 NOT NULL DEFAULT 0,
  total_count int8 NOT NULL DEFAULT 0,
  PRIMARY KEY (minute, key_no, model, provider)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE usage_key_hours (
  key_no int NOT NULL,
  hour int NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  requests int8 NOT NULL DEFAULT 0,
  completed int8 NOT NULL DEFAULT 0,
  failed int8 NOT NULL DEFAULT 0,
  refused int8 NOT NULL DEFAULT 0,
  cancelled int8 NOT NULL DEFAULT 0,
  interrupted int8 NOT NULL DEFAULT 0,
  input_tokens int8 NOT NULL DEFAULT 0,
  cached_input_tokens int8 NOT NULL DEFAULT 0,
  output_tokens int8 NOT NULL DEFAULT 0,
  spend_nano int8 NOT NULL DEFAULT 0,
  cancelled_spend_nano int8 NOT NULL DEFAULT 0,
  interrupted_spend_nano int8 NOT NULL DEFAULT 0,
  spend_tokens int8 NOT NULL DEFAULT 0,
  cancelled_spend_tokens int8 NOT NULL DEFAULT 0,
  interrupted_spend_tokens int8 NOT NULL DEFAULT 0,
  list_cost_nano int8 NOT NULL DEFAULT 0,
  first_byte_ms int8 NOT NULL DEFAULT 0,
  first_byte_count int8 NOT NULL DEFAULT 0,
  total_ms int8 NOT NULL DEFAULT 0,
  total_count int8 NOT NULL DEFAULT 0,
  PRIMARY KEY (key_no, hour, model, provider)
) WITH (fillfactor = 70);

-- Over all keys.
CREATE TABLE usage_all_hours (
  hour int NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  requests int8 NOT NULL DEFAULT 0,
  completed int8 NOT NULL DEFAULT 0,
  failed int8 NOT NULL DEFAULT 0,
  refused int8 NOT NULL DEFAULT 0,
  cancelled int8 NOT NULL DEFAULT 0,
  interrupted int8 NOT NULL DEFAULT 0,
  input_tokens int8 NOT NULL DEFAULT 0,
  cached_input_tokens int8 NOT NULL DEFAULT 0,
  output_tokens int8 NOT NULL DEFAULT 0,
  spend_nano int8 NOT NULL DEFAULT 0,
  cancelled_spend_nano int8 NOT NULL DEFAULT 0,
  interrupted_spend_nano int8 NOT NULL DEFAULT 0,
  spend_tokens int8 NOT NULL DEFAULT 0,
  cancelled_spend_tokens int8 NOT NULL DEFAULT 0,
  interrupted_spend_tokens int8 NOT NULL DEFAULT 0,
  list_cost_nano int8 NOT NULL DEFAULT 0,
  first_byte_ms int8 NOT NULL DEFAULT 0,
  first_byte_count int8 NOT NULL DEFAULT 0,
  total_ms int8 NOT NULL DEFAULT 0,
  total_count int8 NOT NULL DEFAULT 0,
  PRIMARY KEY (hour, model, provider)
) WITH (fillfactor = 70);

-- Over all models.
CREATE TABLE usage_key_days (
  key_no int NOT NULL,
  day int NOT NULL,
  requests int8 NOT NULL DEFAULT 0,
  completed int8 NOT NULL DEFAULT 0,
  failed int8 NOT NULL DEFAULT 0,
  refused int8 NOT NULL DEFAULT 0,
  cancelled int8 NOT NULL DEFAULT 0,
  interrupted int8 NOT NULL DEFAULT 0,
  input_tokens int8 NOT NULL DEFAULT 0,
  cached_input_tokens int8 NOT NULL DEFAULT 0,
  output_tokens int8 NOT NULL DEFAULT 0,
  spend_nano int8 NOT NULL DEFAULT 0,
  cancelled_spend_nano int8 NOT NULL DEFAULT 0,
  interrupted_spend_nano int8 NOT NULL DEFAULT 0,
  spend_tokens int8 NOT NULL DEFAULT 0,
  cancelled_spend_tokens int8 NOT NULL DEFAULT 0,
  interrupted_spend_tokens int8 NOT NULL DEFAULT 0,
  list_cost_nano int8 NOT NULL DEFAULT 0,
  first_byte_ms int8 NOT NULL DEFAULT 0,
  first_byte_count int8 NOT NULL DEFAULT 0,
  total_ms int8 NOT NULL DEFAULT 0,
  total_count int8 NOT NULL DEFAULT 0,
  PRIMARY KEY (key_no, day)
) WITH (fillfactor = 70);

-- How many exchanges fell into which band of time, everything together. The last band has no upper bound and says
-- 9007199254740991.
CREATE TABLE latency_minutes (
  minute int NOT NULL,
  measure text NOT NULL CHECK (measure IN ('first_byte', 'total')),
  up_to_ms int8 NOT NULL,
  requests int8 NOT NULL,
  PRIMARY KEY (minute, measure, up_to_ms)
) WITH (fillfactor = 70);

CREATE TABLE latency_all_hours (
  hour int NOT NULL,
  measure text NOT NULL CHECK (measure IN ('first_byte', 'total')),
  up_to_ms int8 NOT NULL,
  requests int8 NOT NULL,
  PRIMARY KEY (hour, measure, up_to_ms)
) WITH (fillfactor = 70);

-- The figures of one charge.
CREATE VIEW entry_figures AS
SELECT entries.id, entries.at_ms, entries.key_no, coalesce(model, '') AS model, coalesce(provider, '') AS provider,
  (recorded_at_ms IS NOT NULL)::int AS requests,
  (outcome = 'completed')::int AS completed,
  (outcome = 'failed')::int AS failed,
  0 AS refused,
  (outcome = 'cancelled')::int AS cancelled,
  (outcome = 'interrupted')::int AS interrupted,
  coalesce(entries.input_tokens + cached_input_tokens + cache_write_tokens, 0) AS input_tokens,
  coalesce(cached_input_tokens, 0) AS cached_input_tokens,
  coalesce(entries.output_tokens, 0) AS output_tokens,
  CASE WHEN mode = 'credit' THEN -amount ELSE 0 END AS spend_nano,
  CASE WHEN mode = 'credit' AND outcome = 'cancelled' THEN -amount ELSE 0 END AS cancelled_spend_nano,
  CASE WHEN mode = 'credit' AND outcome = 'interrupted' THEN -amount ELSE 0 END AS interrupted_spend_nano,
  CASE WHEN mode = 'credit' THEN 0 ELSE -amount END AS spend_tokens,
  CASE WHEN mode <> 'credit' AND outcome = 'cancelled' THEN -amount ELSE 0 END AS cancelled_spend_tokens,
  CASE WHEN mode <> 'credit' AND outcome = 'interrupted' THEN -amount ELSE 0 END AS interrupted_spend_tokens,
  coalesce(list_cost_nano, 0) AS list_cost_nano,
  coalesce(first_byte_ms, 0) AS first_byte_ms,
  (first_byte_ms IS NOT NULL)::int AS first_byte_count,
  coalesce(total_ms, 0) AS total_ms,
  (total_ms IS NOT NULL)::int AS total_count
FROM entries JOIN accounts ON accounts.no = entries.account_no
WHERE kind = 'charge';

-- The figures of an ending that was not charged.
CREATE VIEW ending_figures AS
SELECT id, at_ms, key_no, model, provider,
  0 AS requests,
  0 AS completed,
  CASE WHEN outcome = 'failed' THEN 1 + alike ELSE 0 END AS failed,
  CASE WHEN outcome = 'refused' THEN 1 + alike ELSE 0 END AS refused,
  CASE WHEN outcome = 'cancelled' THEN 1 + alike ELSE 0 END AS cancelled,
  CASE WHEN outcome = 'interrupted' THEN 1 + alike ELSE 0 END AS interrupted,
  0::int8 AS input_tokens, 0::int8 AS cached_input_tokens, 0::int8 AS output_tokens,
  0::int8 AS spend_nano, 0::int8 AS cancelled_spend_nano, 0::int8 AS interrupted_spend_nano,
  0::int8 AS spend_tokens, 0::int8 AS cancelled_spend_tokens, 0::int8 AS interrupted_spend_tokens,
  0::int8 AS list_cost_nano, 0::int8 AS first_byte_ms, 0 AS first_byte_count,
  CASE WHEN outcome = 'failed' THEN coalesce(total_ms, 0) ELSE 0 END AS total_ms,
  (outcome = 'failed' AND total_ms IS NOT NULL)::int AS total_count
FROM exchange_endings WHERE entry_id IS NULL;

-- What the sums do not count yet; every report adds it, so that it is right at once.
CREATE VIEW uncounted_usage AS
SELECT * FROM entry_figures WHERE id > (SELECT entries_through FROM rollups)
UNION ALL
SELECT * FROM ending_figures WHERE id > (SELECT endings_through FROM rollups);
