-- Never changed: the next file has what comes later (CONTRIBUTING.md).
-- Amounts are whole nano-credits for credit accounts and whole tokens for token-budget accounts; times are milliseconds
-- since 1970 in UTC, except where a node's life depends on the database's own clock (timestamptz).
-- Tables that are written for every request have no foreign keys: each would lock a row of the other table.

-- One row. Raised by every change of a key and by every operator's entry, so that running gateways see them. The
-- row stays locked until the change is committed, so a reader at a revision has seen every change up to it.
CREATE TABLE state (
  id int PRIMARY KEY CHECK (id = 1),
  revision int8 NOT NULL,
  -- Identifies this database: the files that a node keeps belong to one database.
  database_id text NOT NULL DEFAULT gen_random_uuid()::text,
  -- Where `sluice store copy` has taken the data, and when; NULL while it is used here.
  moved_to text,
  moved_at_ms int8
) WITH (fillfactor = 20);
INSERT INTO state (id, revision) VALUES (1, 0);

-- Who pays: a balance (credit) or a budget (tokens) that one or more keys draw on, and the sums over its entries. Names that a column
-- of `keys` has too are longer, because both are read together.
CREATE TABLE accounts (
  no int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  id text NOT NULL UNIQUE,
  account_label text,
  -- credit or token_budget; never changes.
  mode text NOT NULL,
  -- 1 for a postpaid account, whose `posted` may fall below 0.
  is_open int NOT NULL DEFAULT 0,
  -- NULL while it is in use.
  closed_at_ms int8,
  -- NULL means without a limit; always so for credit.
  budget_tokens int8,
  -- day, week, month or none.
  period text NOT NULL,
  -- A JSON array of the caps that new keys get; NULL where there are none.
  key_caps text,
  -- What may be recorded of the content of requests at most: none, failed or all; NULL leaves that to the configuration.
  account_content text,
  -- A JSON object of the tags of requests that have none of the name; NULL where there are none.
  account_tags text,
  -- A JSON array of limits of tokens per minute and the models that they are for; NULL where there are none.
  account_tpm_limits text,
  created_at_ms int8 NOT NULL,
  -- The store's revision that its last change raised.
  account_revision int8 NOT NULL DEFAULT 0,
  posted int8 NOT NULL DEFAULT 0,
  -- The sum of the open holds; for a token budget only the current period's.
  held int8 NOT NULL DEFAULT 0,
  purchased int8 NOT NULL DEFAULT 0,
  used int8 NOT NULL DEFAULT 0,
  period_start_ms int8 NOT NULL DEFAULT 0,
  period_used int8 NOT NULL DEFAULT 0,
  -- What budget periods later than this one have used, because a clock was set back: a JSON array of { at, used }. It counts in the
  -- current period too, and again in its own once that begins. NULL for nothing.
  later_used text,
  -- The latest moment that a hold has counted at.
  counted_at_ms int8 NOT NULL DEFAULT 0,
  -- One constraint, because PostgreSQL parses each one again for every statement that changes a row.
  CONSTRAINT accounts_are_sound CHECK (held >= 0 AND posted = purchased - used AND (posted >= 0 OR mode <> 'credit' OR is_open = 1))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- A key draws on one account.
CREATE TABLE keys (
  no int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  id text NOT NULL UNIQUE,
  account_no int NOT NULL REFERENCES accounts (no),
  hash text NOT NULL UNIQUE,
  prefix text NOT NULL,
  label text,
  -- Who it belongs to.
  owner text,
  status text NOT NULL CHECK (status IN ('active', 'disabled', 'suspended', 'revoked')),
  scope text NOT NULL,
  -- A JSON array of model ids; NULL means all.
  models text,
  rpm_limit int,
  -- As `account_tpm_limits`, `account_content` and `account_tags`.
  tpm_limits text,
  content text,
  tags text,
  -- How many of its requests may be in flight; NULL means without a limit.
  max_concurrent int,
  -- 1 if a key with a token budget can use tools that cost money.
  tools int NOT NULL DEFAULT 0,
  -- 1 if the end user is whom the client names in a header.
  user_headers int NOT NULL DEFAULT 0,
  created_at_ms int8 NOT NULL,
  expires_at_ms int8,
  previous_hash text,
  previous_until_ms int8,
  revision int8 NOT NULL
);
CREATE INDEX accounts_by_revision ON accounts (account_revision);
CREATE INDEX keys_by_account ON keys (account_no);
CREATE INDEX keys_by_prefix ON keys (prefix);
CREATE INDEX keys_by_revision ON keys (revision);
CREATE INDEX keys_by_previous_hash ON keys (previous_hash) WHERE previous_hash IS NOT NULL;
CREATE INDEX keys_by_expiry ON keys (expires_at_ms, no) WHERE status = 'active' AND expires_at_ms IS NOT NULL;

-- What the audit has to know of the past: which account a key drew on until when, and the periods that an account's budget had before.
CREATE TABLE key_moves (
  no int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  key_no int NOT NULL,
  account_no int NOT NULL,
  until_ms int8 NOT NULL
);
CREATE INDEX key_moves_by_key ON key_moves (key_no, no);

CREATE TABLE past_periods (
  account_no int NOT NULL,
  period text NOT NULL,
  PRIMARY KEY (account_no, period)
);

-- What a key has used itself, whichever account was charged. Counting against the key's caps locks this row, after the accounts:
-- a key that was moved may have holds on two of them.
CREATE TABLE key_sums (
  key_no int PRIMARY KEY,
  day int NOT NULL DEFAULT 0,
  day_spend int8 NOT NULL DEFAULT 0,
  spent int8 NOT NULL DEFAULT 0,
  requests int8 NOT NULL DEFAULT 0,
  input_tokens int8 NOT NULL DEFAULT 0,
  output_tokens int8 NOT NULL DEFAULT 0,
  last_cost_nano int8 NOT NULL DEFAULT 0,
  -- What days later than this one have spent, as a JSON array of { at, used }. Each counts on its own day only.
  later_spend text
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- What a key or an account may spend in a period, by the UTC calendar. `used` is the sum of the period's charges, `held` the sum of
-- the open holds.
CREATE TABLE caps (
  no int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  -- One of both.
  account_no int,
  key_no int,
  amount int8 NOT NULL,
  period text NOT NULL CHECK (period IN ('day', 'week', 'month')),
  -- A pattern, in which * stands for anything; NULL means all models.
  models text,
  -- What the amount is raised by in one period alone.
  extra int8 NOT NULL DEFAULT 0,
  extra_period_ms int8 NOT NULL DEFAULT 0,
  period_start_ms int8 NOT NULL DEFAULT 0,
  used int8 NOT NULL DEFAULT 0,
  -- As of accounts.
  later_used text,
  held int8 NOT NULL DEFAULT 0 CHECK (held >= 0)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX caps_by_account ON caps (account_no) WHERE account_no IS NOT NULL;
CREATE INDEX caps_by_key ON caps (key_no) WHERE key_no IS NOT NULL;

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
  taken_by int,
  -- Nothing of it is left: its holds have ended, its claims are gone.
  cleared_at timestamptz
) WITH (fillfactor = 50);

-- The number of the last batch that a node committed on each of its lanes, and its reply; -1 once it is fenced.
CREATE TABLE lanes (
  node_no int NOT NULL,
  lane int2 NOT NULL,
  seq int8 NOT NULL,
  reply text,
  PRIMARY KEY (node_no, lane)
) WITH (fillfactor = 20);

-- The rates that charges were made at, each set of them once, and for ever. The id is a digest of the text (`base/money/rates.ts`).
CREATE TABLE rates (
  id int8 PRIMARY KEY,
  rates text NOT NULL
);

-- Every open hold. Deleting the row is what ends it, exactly once.
CREATE TABLE holds (
  id text PRIMARY KEY,
  account_no int NOT NULL,
  key_no int NOT NULL,
  node_no int NOT NULL,
  amount int8 NOT NULL,
  period_start_ms int8 NOT NULL,
  -- The moment that decides which period of each cap it counts in.
  counted_at_ms int8 NOT NULL DEFAULT 0,
  charge_so_far int8 NOT NULL DEFAULT 0,
  -- What that follows from, as in an entry; NULL before its first progress.
  rates_id int8,
  quantities text,
  opened_at_ms int8 NOT NULL,
  model text NOT NULL,
  asked_model text,
  labels text,
  -- Who produces what it has to pay, as JSON; NULL before its first progress.
  served text,
  -- The key had a limit of requests in flight when it was opened.
  is_in_flight bool NOT NULL DEFAULT false
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Only of keys with such a limit, so that others do not pay for it.
CREATE INDEX holds_in_flight ON holds (key_no) WHERE is_in_flight;

-- Months since 1970, UTC; by the calendar alone, because to find a time zone by its name takes longer.
CREATE FUNCTION sluice_month(at_ms int8) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (date_part('year', (date '1970-01-01' + (at_ms / 86400000)::int)::timestamp) * 12
    + date_part('month', (date '1970-01-01' + (at_ms / 86400000)::int)::timestamp))::int - 23641
$$;

-- The ledger. A charge and the usage record of its exchange share a row, because they are written together for every
-- request. Columns from `recorded_at_ms` on are the usage record. Ids are not committed in their order: who wants
-- "all after this one" must first wait for those who are writing (see settled-ids.ts).
CREATE SEQUENCE entries_id_seq AS int8;
CREATE TABLE entries (
  id int8 NOT NULL DEFAULT nextval('entries_id_seq'),
  -- The month in which the hold was opened, or the operator's entry was created. It does not depend on when the hold ends, so a
  -- charge is unique across all months although an index covers only one.
  month int NOT NULL,
  account_no int NOT NULL,
  -- 0 where it concerns the account and none of its keys.
  key_no int NOT NULL,
  -- The node that wrote it; NULL for an operator's.
  node_no int,
  kind text NOT NULL CHECK (kind IN ('charge', 'topup', 'adjustment', 'overrun')),
  amount int8 NOT NULL,
  at_ms int8 NOT NULL,
  period_start_ms int8 NOT NULL DEFAULT 0,
  -- Decides which period of each cap a charge counts in; NULL in charges that are older than caps, which count at their own time.
  counted_at_ms int8,
  exchange_id text,
  basis text,
  outcome text,
  reference text,
  note text,
  -- Of a late charge, the one that a takeover has made before: the exchange counts as the late one says.
  completes int8,
  -- The store's revision that this entry raised; NULL for what a gateway charges.
  revision int8,
  -- What the use of a token budget would have cost; NULL where there is no price.
  list_cost_nano int8,
  -- How much more it would have cost without a cache; below 0 where writing to one cost more than reading has saved. NULL for nothing.
  cache_savings_nano int8,
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
  -- The rates that it was made at; NULL in charges that are older than these.
  rates_id int8,
  -- A JSON object of what was charged for; NULL where it is what the columns of tokens say, as in nearly all charges.
  quantities text,
  -- The name that the client asked for the model by; NULL where it is the model's id.
  asked_model text,
  -- What the caller said about the request, as a JSON object (`base/requests/labels.ts`); NULL for nothing.
  labels text,
  PRIMARY KEY (id, month)
) PARTITION BY RANGE (month);
ALTER SEQUENCE entries_id_seq OWNED BY entries.id;
CREATE INDEX entries_by_key ON entries (key_no, id);
-- A key's own account has the key's number, so that the index above has those.
CREATE INDEX entries_by_account ON entries (account_no, id) WHERE account_no IS DISTINCT FROM key_no;
-- A late charge (see src/ledger/shared-batch.ts) exists in addition to the charge of the node that took over.
CREATE UNIQUE INDEX entries_by_exchange ON entries (exchange_id, month, (outcome = 'interrupted')) WHERE kind = 'charge';
CREATE INDEX entries_of_exchange ON entries (exchange_id) WHERE kind <> 'charge' AND exchange_id IS NOT NULL;
CREATE INDEX entries_by_revision ON entries (revision) WHERE revision IS NOT NULL;
CREATE INDEX entries_that_complete ON entries (id) WHERE completes IS NOT NULL;

-- Charges and what is owed, with the moments and periods that they count in. A limit counts what is dated in its current period or later.
CREATE VIEW counted_charges AS
SELECT id, key_no, account_no, at_ms, -amount AS amount, model, cost_nano,
  period_start_ms, coalesce(counted_at_ms, at_ms) AS counted_at_ms, at_ms / 86400000 AS day,
  input_tokens + cached_input_tokens + cache_write_tokens AS input_tokens, output_tokens
FROM entries WHERE kind IN ('charge', 'overrun') AND amount <= 0;

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

-- Makes the months from this moment on. One that the default partition has rows of stays there. One caller at a time: two that have both
-- looked into the default partition would wait for each other.
CREATE FUNCTION sluice_make_months(now_ms int8, ahead int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  first int := sluice_month(now_ms);
  name text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('sluice_make_months', 0));
  FOR m IN first .. first + ahead LOOP
    name := format('entries_%s_%s', 1970 + m / 12, lpad((m % 12 + 1)::text, 2, '0'));
    CONTINUE WHEN to_regclass(name) IS NOT NULL OR EXISTS (SELECT FROM entries_default WHERE month = m);
    EXECUTE format('CREATE TABLE %I PARTITION OF entries FOR VALUES FROM (%s) TO (%s)', name, m, m + 1);
  END LOOP;
END $$;
SELECT sluice_make_months((extract(epoch FROM clock_timestamp()) * 1000)::int8, 2);

-- A correction is always a new entry.
CREATE FUNCTION sluice_entries_are_only_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'entries and rates are only ever added'; END $$;
CREATE TRIGGER entries_are_only_added BEFORE UPDATE OR DELETE ON entries
FOR EACH ROW EXECUTE FUNCTION sluice_entries_are_only_added();
CREATE TRIGGER rates_are_only_added BEFORE UPDATE OR DELETE ON rates
FOR EACH ROW EXECUTE FUNCTION sluice_entries_are_only_added();

-- What an Idempotency-Key has claimed and, once it is stored, the response that it replays.
CREATE TABLE responses (
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
  -- Of the body and its parts.
  bytes int8 NOT NULL DEFAULT 0,
  PRIMARY KEY (key_no, route, idempotency_key)
) WITH (fillfactor = 80);
CREATE INDEX responses_by_time ON responses (stored_at_ms) WHERE stored_at_ms IS NOT NULL;
CREATE INDEX responses_by_bytes ON responses (key_no) INCLUDE (bytes) WHERE stored_at_ms IS NOT NULL;
ALTER TABLE responses ALTER COLUMN body SET STORAGE EXTERNAL;

-- How many bytes of responses are kept for retries. Added up when it is read: sums that every charge locks would make nodes wait for each other.
CREATE VIEW response_sums AS SELECT key_no, sum(bytes) AS bytes FROM responses WHERE stored_at_ms IS NOT NULL GROUP BY key_no;

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

-- Responses that a client may read, continue or refer to. Each has what was new in it; the conversation is the chain of
-- its parents. One that a client has named is a row too, which has all its items and is replaced whenever it changes. `no` grows
-- with time.
CREATE TABLE turns (
  no int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  key_no int NOT NULL,
  id text NOT NULL,
  parent_id text,
  model text NOT NULL,
  provider text NOT NULL,
  created_at_ms int8 NOT NULL,
  expires_at_ms int8 NOT NULL,
  bytes int8 NOT NULL,
  -- Parts of response_parts that come before the body.
  recording_id text,
  parts int NOT NULL,
  body bytea NOT NULL,
  -- The request as it came, where the body is the response as it went: short turns are split when they are read.
  request bytea,
  -- A JSON array of what it has in turn_items, so that those rows are found when it is deleted: an index would cost a page per turn.
  items text NOT NULL
);
-- Ids mostly begin with the time: with them first, new rows of all keys are next to each other.
CREATE UNIQUE INDEX turns_by_id ON turns (id, key_no);
CREATE INDEX turns_by_key ON turns (key_no, no);
CREATE INDEX turns_by_expiry ON turns (expires_at_ms);
CREATE INDEX turns_by_recording ON turns (recording_id) WHERE recording_id IS NOT NULL;

-- Which turn an item is in. `id_key` is its id, or a digest of an unusual one.
CREATE TABLE turn_items (
  key_no int NOT NULL,
  id_key text NOT NULL,
  turn_no int8 NOT NULL,
  PRIMARY KEY (id_key, key_no, turn_no)
);

CREATE TABLE turn_sums (key_no int PRIMARY KEY, bytes int8 NOT NULL) WITH (fillfactor = 50);

-- What summaries of conversations are sealed with, which clients keep.
CREATE TABLE sealing_secret (id int PRIMARY KEY CHECK (id = 1), secret bytea NOT NULL);

CREATE FUNCTION sluice_turn_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO turn_sums AS s (key_no, bytes) VALUES (NEW.key_no, NEW.bytes)
    ON CONFLICT (key_no) DO UPDATE SET bytes = s.bytes + excluded.bytes;
  RETURN NULL;
END $$;
CREATE TRIGGER turn_inserted AFTER INSERT ON turns FOR EACH ROW EXECUTE FUNCTION sluice_turn_inserted();

CREATE FUNCTION sluice_turn_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE turn_sums SET bytes = bytes - OLD.bytes WHERE key_no = OLD.key_no;
  DELETE FROM turn_items WHERE key_no = OLD.key_no AND turn_no = OLD.no
    AND id_key = ANY (ARRAY(SELECT json_array_elements_text(OLD.items::json)));
  IF OLD.recording_id IS NOT NULL THEN DELETE FROM response_parts WHERE recording_id = OLD.recording_id; END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER turn_deleted AFTER DELETE ON turns FOR EACH ROW EXECUTE FUNCTION sluice_turn_deleted();

-- Which ids of a provider's own objects (responses, files, …) were issued to a key, and by whom. `no` grows with time: an id
-- that is issued again gets a new one.
CREATE TABLE issued_ids (
  no int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  key_no int NOT NULL,
  -- The id, or a digest of an unusual one, so that rows stay short whatever a provider sends.
  id_key text NOT NULL,
  provider text NOT NULL,
  issued_at_ms int8 NOT NULL,
  -- How much a request that continues from it begins with: the input and output of the answer that it came in.
  tokens int8 NOT NULL DEFAULT 0,
  -- Which of the provider's credentials it was issued to; null if the provider needs none.
  credential text
);
CREATE UNIQUE INDEX issued_ids_by_key ON issued_ids (key_no, id_key);

-- The ids that clients gave their calls (`x-request-id`), by which an operator may look for them. `no` grows with time.
CREATE TABLE caller_ids (
  no int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  caller_id text NOT NULL,
  exchange_id text NOT NULL,
  at_ms int8 NOT NULL
);
CREATE INDEX caller_ids_by_id ON caller_ids (caller_id, no);

-- Every exchange of a key that was rejected, failed, was cancelled or interrupted, and those that completed only after
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
  alike int NOT NULL DEFAULT 0,
  -- As in entries.
  labels text,
  -- The limit that denied its hold, and what the hold asked for, in nano-credits or tokens.
  bound text,
  needed int8
);
CREATE INDEX exchange_endings_by_exchange ON exchange_endings (exchange_id);
CREATE INDEX exchange_endings_by_key ON exchange_endings (key_no, id);
CREATE INDEX exchange_endings_by_outcome ON exchange_endings (outcome, id);
CREATE INDEX exchange_endings_by_code ON exchange_endings (code, id) WHERE code IS NOT NULL;

-- Calls to providers by day (UTC, since 1970), to be compared with their invoices, including calls that were not charged. Each node
-- adds to its own rows, so that none waits for another's commit.
CREATE TABLE attempt_sums (
  provider text NOT NULL,
  day int NOT NULL,
  -- The id of the provider's credential; empty if it needs none.
  credential text NOT NULL,
  upstream_model text NOT NULL,
  -- completed, failed, cancelled or interrupted as the exchange that paid, or uncharged.
  ending text NOT NULL,
  -- 0 for calls that were not charged.
  node_no int NOT NULL,
  attempts int8 NOT NULL,
  -- Those that were charged by a count of our own.
  estimated int8 NOT NULL,
  -- As the provider has reported them.
  input_tokens int8 NOT NULL,
  cached_input_tokens int8 NOT NULL,
  cache_write_tokens int8 NOT NULL,
  output_tokens int8 NOT NULL,
  -- What was charged beyond these.
  counted_input_tokens int8 NOT NULL,
  counted_output_tokens int8 NOT NULL,
  -- What the provider is owed at its own price, in billionths of a USD.
  owed_nano_usd int8 NOT NULL,
  PRIMARY KEY (provider, day, credential, upstream_model, ending, node_no)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- The same once more, by day and node alone: a row of `attempt_sums` that is missing or was changed shows.
CREATE TABLE attempt_days (
  day int NOT NULL,
  node_no int NOT NULL,
  attempts int8 NOT NULL,
  estimated int8 NOT NULL,
  input_tokens int8 NOT NULL,
  cached_input_tokens int8 NOT NULL,
  cache_write_tokens int8 NOT NULL,
  output_tokens int8 NOT NULL,
  counted_input_tokens int8 NOT NULL,
  counted_output_tokens int8 NOT NULL,
  -- What the provider is owed at its own price, in billionths of a USD.
  owed_nano_usd int8 NOT NULL,
  PRIMARY KEY (day, node_no)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Rate tokens, for which nothing is lost in a crash of the database but a minute's worth of limits. A bucket is named after the key whose requests it
-- counts; or after the key or account whose tokens, and the models.
CREATE UNLOGGED TABLE buckets (
  name text COLLATE "C" PRIMARY KEY,
  capacity int8 NOT NULL,
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

-- What retention deleted last, for operators.
CREATE TABLE prunings (what text PRIMARY KEY, at_ms int8 NOT NULL, pruned int8 NOT NULL);

-- The token that Sluice made for itself at its first start, as a SHA-256 in hex.
CREATE TABLE admin_token (
  id int PRIMARY KEY CHECK (id = 1),
  hash text NOT NULL,
  -- 1 if only the demo was served then: the first start with a real provider replaces it.
  is_trial int NOT NULL
);
-- Prices above the built-in catalog (`sluice models update`), as JSON.
CREATE TABLE stored_prices (
  id int PRIMARY KEY CHECK (id = 1),
  version text NOT NULL,
  content text NOT NULL
);
-- Alerts that operators have seen and do not want to hear of until then, by kind.
CREATE TABLE acknowledged_alerts (
  kind text PRIMARY KEY,
  actor text NOT NULL,
  until_ms int8 NOT NULL
);
-- Keys that a gateway with only the demo created at its first start. They end at the first start with a real provider.
CREATE TABLE trial_keys (key_id text PRIMARY KEY);

-- Admin API tokens that operators created in addition to the first. They are never deleted, because the audit log names them.
CREATE TABLE admin_tokens (
  id text PRIMARY KEY,
  label text NOT NULL,
  role text NOT NULL,
  hash text NOT NULL UNIQUE,
  -- Who created it, as the audit log names them.
  created_by text NOT NULL,
  created_at_ms int8 NOT NULL,
  revoked_at_ms int8
);

-- Sessions of the dashboard, by the SHA-256 of their id: any node may be asked next.
CREATE TABLE sessions (
  hash text PRIMARY KEY,
  -- Who signed in, and where, as JSON.
  content text NOT NULL,
  ends_at_ms int8 NOT NULL
);
-- Logout tokens of identity providers, by the SHA-256 of their id: each ends sessions once.
CREATE TABLE spent_logout_tokens (
  hash text PRIMARY KEY,
  ends_at_ms int8 NOT NULL
);

-- Terminals that ask for a key of a person's own (RFC 8628), by the SHA-256 of their code: any node may be asked next.
CREATE TABLE device_grants (
  device_hash text PRIMARY KEY,
  user_code text NOT NULL UNIQUE,
  address text NOT NULL,
  -- The block of addresses that is limited together.
  address_block text NOT NULL,
  device text,
  created_at_ms int8 NOT NULL,
  ends_at_ms int8 NOT NULL,
  -- pending, approved, denied or used.
  state text NOT NULL,
  -- Who decided, as JSON.
  identity text,
  polled_at_ms int8,
  interval_ms int8 NOT NULL
);

-- Keys that were issued so: they end with their owner's sign-in.
CREATE TABLE signed_in_keys (
  key_id text PRIMARY KEY,
  person text NOT NULL,
  -- Who approved it, as JSON.
  identity text NOT NULL,
  -- The key's status when its owner could no longer sign in, and the time; NULL while they can.
  status_before text,
  lost_at_ms int8
);

-- Alerts that a gateway or an audit has found, as a JSON array; valid until `until_ms`.
CREATE TABLE findings (
  source text PRIMARY KEY,
  findings text NOT NULL,
  until_ms int8 NOT NULL
);

-- Alerts that have begun and not ended. `level` is the highest threshold that was reached, in percent; 0 without any.
CREATE TABLE alerts (
  id text PRIMARY KEY,
  level int NOT NULL,
  finding text NOT NULL
);

-- What is still to be sent, for a day at most.
CREATE TABLE alert_posts (
  no int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  alert_id text NOT NULL,
  body text NOT NULL,
  made_at_ms int8 NOT NULL,
  due_at_ms int8 NOT NULL
);
CREATE INDEX alert_posts_by_alert ON alert_posts (alert_id, no);

-- One row: the gateway that sends them, as long as it renews this.
CREATE TABLE alert_sender (
  id int PRIMARY KEY CHECK (id = 1),
  gateway text NOT NULL,
  until timestamptz NOT NULL
) WITH (fillfactor = 20);
INSERT INTO alert_sender (id, gateway, until) VALUES (1, '', '-infinity');

-- One row: entries and endings up to these ids are counted in the totals below.
CREATE TABLE rollups (
  id int PRIMARY KEY CHECK (id = 1),
  entries_through int8 NOT NULL,
  endings_through int8 NOT NULL
) WITH (fillfactor = 20);
INSERT INTO rollups (id, entries_through, endings_through) VALUES (1, 0, 0);

-- Totals for reports by the hour (UTC, since 1970). Totals of key 0 are over all keys, so that no report reads many more rows than it shows.
CREATE TABLE usage_hours (
  key_no int NOT NULL,
  hour int NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  requests int8 NOT NULL,
  completed int8 NOT NULL,
  failed int8 NOT NULL,
  rejected int8 NOT NULL,
  cancelled int8 NOT NULL,
  interrupted int8 NOT NULL,
  input_tokens int8 NOT NULL,
  cached_input_tokens int8 NOT NULL,
  output_tokens int8 NOT NULL,
  spend_nano int8 NOT NULL,
  cancelled_spend_nano int8 NOT NULL,
  interrupted_spend_nano int8 NOT NULL,
  spend_tokens int8 NOT NULL,
  cancelled_spend_tokens int8 NOT NULL,
  interrupted_spend_tokens int8 NOT NULL,
  list_cost_nano int8 NOT NULL,
  cache_savings_nano int8 NOT NULL,
  overrun_nano int8 NOT NULL,
  overrun_tokens int8 NOT NULL,
  first_byte_ms int8 NOT NULL,
  first_byte_count int8 NOT NULL,
  total_ms int8 NOT NULL,
  total_count int8 NOT NULL,
  covered_attempts int8 NOT NULL,
  PRIMARY KEY (key_no, hour, model, provider)
) WITH (fillfactor = 70);

-- How many exchanges fell into which band of time, everything together. The last band has no upper bound and says
-- 9007199254740991.
CREATE TABLE latency_hours (
  hour int NOT NULL,
  measure text NOT NULL CHECK (measure IN ('first_byte', 'total')),
  up_to_ms int8 NOT NULL,
  requests int8 NOT NULL,
  PRIMARY KEY (hour, measure, up_to_ms)
) WITH (fillfactor = 70);

-- What retention has deleted from exchange_endings, so that the totals can be computed again, for instance by the target of a copy.
CREATE TABLE pruned_usage (
  key_no int NOT NULL,
  hour int NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  total_band int8 NOT NULL,
  failed int8 NOT NULL,
  rejected int8 NOT NULL,
  cancelled int8 NOT NULL,
  interrupted int8 NOT NULL,
  total_ms int8 NOT NULL,
  total_count int8 NOT NULL,
  covered_attempts int8 NOT NULL,
  PRIMARY KEY (key_no, hour, model, provider, total_band)
);

-- The figures of one charge. What a takeover has charged of an exchange that was charged late is no longer an interrupted call.
CREATE VIEW entry_figures AS
SELECT entries.id, entries.at_ms, entries.key_no, entries.account_no, coalesce(entries.model, '') AS model, coalesce(entries.provider, '') AS provider,
  coalesce(entries.route, '') AS route, entries.labels,
  (entries.recorded_at_ms IS NOT NULL)::int AS requests,
  (entries.kind = 'charge' AND entries.outcome = 'completed')::int AS completed,
  (entries.kind = 'charge' AND entries.outcome = 'failed')::int AS failed,
  0 AS rejected,
  (entries.kind = 'charge' AND entries.outcome = 'cancelled')::int AS cancelled,
  (entries.kind = 'charge' AND entries.outcome = 'interrupted')::int AS interrupted,
  coalesce(entries.input_tokens + entries.cached_input_tokens + entries.cache_write_tokens, 0) AS input_tokens,
  coalesce(entries.cached_input_tokens, 0) AS cached_input_tokens,
  coalesce(entries.output_tokens, 0) AS output_tokens,
  CASE WHEN accounts.mode = 'credit' THEN -least(entries.amount, 0) ELSE 0 END AS spend_nano,
  CASE WHEN accounts.mode = 'credit' AND entries.outcome = 'cancelled' THEN -least(entries.amount, 0) ELSE 0 END AS cancelled_spend_nano,
  CASE WHEN accounts.mode = 'credit' AND entries.outcome = 'interrupted' THEN -least(entries.amount, 0) ELSE 0 END AS interrupted_spend_nano,
  CASE WHEN accounts.mode = 'credit' THEN 0 ELSE -least(entries.amount, 0) END AS spend_tokens,
  CASE WHEN accounts.mode <> 'credit' AND entries.outcome = 'cancelled' THEN -least(entries.amount, 0) ELSE 0 END AS cancelled_spend_tokens,
  CASE WHEN accounts.mode <> 'credit' AND entries.outcome = 'interrupted' THEN -least(entries.amount, 0) ELSE 0 END AS interrupted_spend_tokens,
  coalesce(entries.list_cost_nano, 0) AS list_cost_nano,
  coalesce(entries.cache_savings_nano, 0) AS cache_savings_nano,
  CASE WHEN accounts.mode = 'credit' THEN greatest(entries.amount, 0) ELSE 0 END AS overrun_nano,
  CASE WHEN accounts.mode = 'credit' THEN 0 ELSE greatest(entries.amount, 0) END AS overrun_tokens,
  coalesce(entries.first_byte_ms, 0) AS first_byte_ms,
  (entries.first_byte_ms IS NOT NULL)::int AS first_byte_count,
  coalesce(entries.total_ms, 0) AS total_ms,
  (entries.total_ms IS NOT NULL)::int AS total_count,
  0 AS covered_attempts
FROM entries JOIN accounts ON accounts.no = entries.account_no
WHERE entries.kind = 'charge' OR (entries.kind = 'overrun' AND entries.exchange_id IS NOT NULL)
UNION ALL
SELECT late.id, first.at_ms, first.key_no, first.account_no, coalesce(first.model, ''), coalesce(first.provider, ''), coalesce(first.route, ''), first.labels,
  0, 0, 0, 0, 0, -1, 0, 0, 0,
  0, 0, CASE WHEN accounts.mode = 'credit' THEN first.amount + owed.amount ELSE 0 END,
  0, 0, CASE WHEN accounts.mode = 'credit' THEN 0 ELSE first.amount END,
  0, 0, 0, 0, 0, 0, 0, 0, 0
FROM entries late JOIN entries first ON first.id = late.completes AND first.month = late.month JOIN accounts ON accounts.no = late.account_no
  CROSS JOIN LATERAL (SELECT coalesce(sum(o.amount), 0)::int8 AS amount FROM entries o WHERE o.exchange_id = first.exchange_id AND o.month = first.month
    AND o.kind = 'overrun' AND o.amount < 0 AND o.outcome = 'interrupted') AS owed
WHERE late.completes IS NOT NULL;

-- The figures of an ending that was not charged. It is counted for the account that its key is billed to now.
CREATE VIEW ending_figures AS
SELECT id, at_ms, key_no, (SELECT keys.account_no FROM keys WHERE keys.no = exchange_endings.key_no) AS account_no, model, provider, route, labels,
  0 AS requests,
  0 AS completed,
  CASE WHEN outcome = 'failed' THEN 1 + alike ELSE 0 END AS failed,
  CASE WHEN outcome = 'rejected' THEN 1 + alike ELSE 0 END AS rejected,
  CASE WHEN outcome = 'cancelled' THEN 1 + alike ELSE 0 END AS cancelled,
  CASE WHEN outcome = 'interrupted' THEN 1 + alike ELSE 0 END AS interrupted,
  0::int8 AS input_tokens, 0::int8 AS cached_input_tokens, 0::int8 AS output_tokens,
  0::int8 AS spend_nano, 0::int8 AS cancelled_spend_nano, 0::int8 AS interrupted_spend_nano,
  0::int8 AS spend_tokens, 0::int8 AS cancelled_spend_tokens, 0::int8 AS interrupted_spend_tokens,
  0::int8 AS list_cost_nano, 0::int8 AS cache_savings_nano, 0::int8 AS overrun_nano, 0::int8 AS overrun_tokens, 0::int8 AS first_byte_ms, 0 AS first_byte_count,
  CASE WHEN outcome = 'failed' THEN coalesce(total_ms, 0) ELSE 0 END AS total_ms,
  (outcome = 'failed' AND total_ms IS NOT NULL)::int AS total_count,
  0 AS covered_attempts
FROM exchange_endings WHERE entry_id IS NULL;

-- The failed attempts of exchanges that completed all the same, for the provider that failed.
CREATE VIEW attempt_figures AS
SELECT exchange_endings.id, exchange_endings.at_ms, exchange_endings.key_no, (SELECT keys.account_no FROM keys WHERE keys.no = exchange_endings.key_no) AS account_no, exchange_endings.model,
  coalesce(attempt ->> 'provider', '') AS provider, exchange_endings.route, exchange_endings.labels,
  0 AS requests, 0 AS completed, 0 AS failed, 0 AS rejected, 0 AS cancelled, 0 AS interrupted,
  0::int8 AS input_tokens, 0::int8 AS cached_input_tokens, 0::int8 AS output_tokens,
  0::int8 AS spend_nano, 0::int8 AS cancelled_spend_nano, 0::int8 AS interrupted_spend_nano,
  0::int8 AS spend_tokens, 0::int8 AS cancelled_spend_tokens, 0::int8 AS interrupted_spend_tokens,
  0::int8 AS list_cost_nano, 0::int8 AS cache_savings_nano, 0::int8 AS overrun_nano, 0::int8 AS overrun_tokens, 0::int8 AS first_byte_ms, 0 AS first_byte_count, 0::int8 AS total_ms, 0 AS total_count,
  1 AS covered_attempts
FROM exchange_endings CROSS JOIN LATERAL json_array_elements(exchange_endings.attempt_details::json) AS attempt
WHERE exchange_endings.outcome = 'completed' AND exchange_endings.attempt_details IS NOT NULL AND attempt ->> 'failure' IS NOT NULL;

-- All of them, for the parts of an hour at both ends of a range, and for details that totals by the hour lack.
CREATE VIEW usage_rows AS
SELECT * FROM entry_figures UNION ALL SELECT * FROM ending_figures UNION ALL SELECT * FROM attempt_figures;
-- Rows are nearly in the order of their times, so an index over blocks of them finds these at next to no cost.
CREATE INDEX entries_by_time ON entries USING brin (at_ms) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX exchange_endings_by_time ON exchange_endings USING brin (at_ms) WITH (pages_per_range = 32, autosummarize = on);

-- What the totals do not count yet; every report adds it, so that it is right at once. The planner cannot guess how little that
-- is while the bound is the result of a subquery: it takes it for a third of the ledger, and may read all of it. So the bound
-- is a literal here. Stable, so that it sees what the calling query sees. Compiling the statement would take many times as long as running it.
CREATE FUNCTION sluice_uncounted_usage() RETURNS SETOF entry_figures LANGUAGE plpgsql STABLE ROWS 1000 SET jit = off AS $$
DECLARE
  last rollups%ROWTYPE;
BEGIN
  SELECT * INTO last FROM rollups;
  RETURN QUERY EXECUTE format(
    'SELECT * FROM entry_figures WHERE id > %s UNION ALL SELECT * FROM ending_figures WHERE id > %s
      UNION ALL SELECT * FROM attempt_figures WHERE id > %s',
    last.entries_through, last.endings_through, last.endings_through);
END $$;
CREATE VIEW uncounted_usage AS SELECT * FROM sluice_uncounted_usage();

-- On SQLite this adds attempts that the row of a charge describes.
CREATE VIEW attempt_totals AS SELECT *, day * 86400000::int8 AS at_ms FROM attempt_sums;

-- Money: what locks, reads and writes the rows that a gateway decides about (`src/ledger/shared-batch.ts`). No function here computes an
-- amount. A batch is one transaction of two statements: `sluice_lock_batch` and `sluice_write_batch`.
--
-- Every batch takes its number first, then locks the accounts and the sums of the keys, each in the order of their
-- numbers in a statement of its own, so that the next statement sees what those before it have committed.
--
-- These are PL/pgSQL, which plans a statement once per connection. A function of LANGUAGE sql that cannot be inlined is planned
-- again at every call, which costs more than to run it.

-- The database's clock decides about periods, for all nodes alike. Tests put what a node says in its place, to have clocks of their own.
CREATE FUNCTION sluice_now(p_node_ms int8) RETURNS int8 LANGUAGE sql VOLATILE AS $$
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::int8
$$;

-- The start of the budget period at a moment, in UTC.
CREATE FUNCTION sluice_period_start(period text, now_ms int8) RETURNS int8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE period
    WHEN 'day' THEN now_ms - now_ms % 86400000
    -- 1970-01-05 was the first Monday.
    WHEN 'week' THEN now_ms - (now_ms - 4 * 86400000) % (7 * 86400000)
    WHEN 'month' THEN (extract(epoch FROM date_trunc('month', to_timestamp(now_ms / 1000.0) AT TIME ZONE 'UTC')) * 1000)::int8
    ELSE 0
  END
$$;

-- Whether a cap covers a model, as `coversModel` in base/models/model-pattern.ts. No pattern has a character that means something here but
-- the two.
CREATE FUNCTION sluice_covers(pattern text, model text) RETURNS bool LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT pattern IS NULL OR model LIKE replace(replace(pattern, '_', '\_'), '*', '%')
    OR model LIKE '%/' || replace(replace(pattern, '_', '\_'), '*', '%') OR model LIKE '%.' || replace(replace(pattern, '_', '\_'), '*', '%')
$$;

-- Locks a lane until the end of the transaction, so that a batch needs no other guard. NULL: this batch is new. Otherwise it was committed
-- before, and this is the reply that was lost. Raises SL001 for a fenced node, and SL002 while
-- the same batch is being committed on a connection that this node has lost: none may wait for the other.
CREATE FUNCTION sluice_take_number(p_node int, p_lane int, p_seq int8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  l record;
BEGIN
  SELECT seq, reply INTO l FROM lanes WHERE node_no = p_node AND lane = p_lane FOR NO KEY UPDATE SKIP LOCKED;
  IF l.seq = p_seq - 1 THEN RETURN NULL; END IF;
  IF l.seq = p_seq THEN RETURN l.reply; END IF;
  IF l.seq IS NULL THEN
    SELECT seq INTO l FROM lanes WHERE node_no = p_node AND lane = p_lane;
    IF l.seq = p_seq - 1 THEN RAISE EXCEPTION 'batch % is being committed', p_seq USING ERRCODE = 'SL002'; END IF;
  END IF;
  RAISE EXCEPTION 'node % was taken over (lane % is at %, and batch % came)', p_node, p_lane, l.seq, p_seq USING ERRCODE = 'SL001';
END $$;

-- Locks and reads, as JSON, what a batch ends (`p_ends`, and where they are charged if their holds are gone) and the keys that it opens holds of
-- (`p_orders`; `p_keys` are all of them). `p_claims` are the Idempotency-Keys of the ends. A takeover has no lane. What another session keeps locked for longer
-- than `p_lock_ms` fails the batch with 55P03.
CREATE FUNCTION sluice_lock_batch(p_node int, p_lock_ms int, p_seq int8, p_lane int DEFAULT NULL, p_ends text[] DEFAULT '{}', p_accounts int[] DEFAULT '{}',
  p_orders text[] DEFAULT '{}', p_keys text[] DEFAULT '{}', p_claims json DEFAULT '[]') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_reply text; v_accounts int[]; v_keys int[]; v_found int; v_lost text[];
  v_holds json; v_entries json; v_superseded json; v_locked_accounts json; v_locked_keys json; v_caps json;
  has_caps bool;
BEGIN
  IF p_lane IS NOT NULL THEN
    v_reply := sluice_take_number(p_node, p_lane, p_seq);
    IF v_reply IS NOT NULL THEN RETURN v_reply; END IF;
  END IF;
  -- A node that stops before it has written must not keep the locks: it loses the connection, and sends the batch again.
  PERFORM set_config('lock_timeout', p_lock_ms::text, true), set_config('idle_in_transaction_session_timeout', '250', true);
  v_accounts := ARRAY(SELECT no FROM accounts WHERE no = ANY (ARRAY(
    SELECT coalesce((SELECT account_no FROM holds WHERE holds.id = e.id), e.account) FROM unnest(p_ends, p_accounts) AS e(id, account)
    UNION ALL SELECT account_no FROM keys WHERE id = ANY (p_orders)))
    ORDER BY no FOR NO KEY UPDATE);
  v_keys := ARRAY(SELECT no FROM keys WHERE id = ANY (p_keys));
  has_caps := EXISTS (SELECT FROM caps);
  IF p_ends <> '{}' OR has_caps THEN
    PERFORM 1 FROM key_sums WHERE key_no = ANY (v_keys) ORDER BY key_no FOR NO KEY UPDATE;
  END IF;
  IF p_ends <> '{}' THEN
    SELECT count(*), json_agg(h) INTO v_found, v_holds FROM (
      SELECT id, account_no AS "accountNo", amount, period_start_ms AS "periodStartMs", counted_at_ms AS "countedAtMs", opened_at_ms AS "openedAtMs",
        model, is_in_flight AS "isInFlight" FROM holds WHERE id = ANY (p_ends)) AS h;
    IF v_found < cardinality(p_ends) THEN
      v_lost := ARRAY(SELECT unnest(p_ends) EXCEPT SELECT id FROM holds WHERE id = ANY (p_ends));
      -- From here on no other exchange can claim these Idempotency-Keys.
      INSERT INTO responses AS r (key_no, route, idempotency_key, body_hash, exchange_id)
        SELECT k.no, x.route, x.idempotency_key, x.body_hash, x.id
        FROM json_to_recordset(p_claims) AS x(id text, key text, route text, idempotency_key text, body_hash text), LATERAL (SELECT no FROM keys WHERE id = x.key LIMIT 1) AS k
        WHERE x.id = ANY (v_lost)
        ON CONFLICT (key_no, route, idempotency_key) DO UPDATE SET exchange_id = r.exchange_id;
      v_superseded := (SELECT json_agg(x.id)
        FROM json_to_recordset(p_claims) AS x(id text, key text, route text, idempotency_key text), LATERAL (SELECT no FROM keys WHERE id = x.key LIMIT 1) AS k,
          LATERAL (SELECT exchange_id FROM responses WHERE key_no = k.no AND route = x.route AND idempotency_key = x.idempotency_key LIMIT 1) AS r
        WHERE x.id = ANY (v_lost) AND r.exchange_id <> x.id);
      -- Each by an index of its own.
      v_entries := (SELECT json_agg(e ORDER BY e.id) FROM (
        SELECT id, exchange_id AS "exchangeId", kind, amount, outcome, at_ms AS "atMs", quantities, rates_id AS "ratesId",
          (SELECT rates FROM rates WHERE rates.id = rates_id) AS rates
        FROM entries WHERE exchange_id = ANY (v_lost) AND kind = 'charge'
        UNION ALL SELECT id, exchange_id, kind, amount, outcome, at_ms, NULL, NULL, NULL FROM entries WHERE exchange_id = ANY (v_lost) AND kind <> 'charge') AS e);
    END IF;
  END IF;
  v_locked_accounts := (SELECT json_agg(a) FROM (
    SELECT no, id, mode, is_open = 1 AS "isOpen", closed_at_ms IS NOT NULL AS "isClosed", budget_tokens AS "budgetTokens", period, posted, held,
      purchased::text AS "purchasedDigits", used::text AS "usedDigits", period_start_ms AS "periodStartMs", period_used AS "periodUsed", later_used AS "laterUsed",
      counted_at_ms AS "countedAtMs"
    FROM accounts WHERE no = ANY (v_accounts)) AS a);
  v_locked_keys := (SELECT json_agg(k) FROM (
    SELECT no, id, account_no AS "accountNo", status, expires_at_ms AS "expiresAtMs", max_concurrent AS "maxConcurrent",
      CASE WHEN max_concurrent IS NULL THEN 0 ELSE (SELECT count(*) FROM holds WHERE holds.key_no = keys.no AND is_in_flight) END AS "inFlight",
      s.day, s.day_spend::text AS "daySpendDigits", s.later_spend AS "laterSpend", s.spent::text AS "spentDigits", s.requests,
      s.input_tokens AS "inputTokens", s.output_tokens AS "outputTokens", s.last_cost_nano AS "lastCostNano"
    FROM keys, LATERAL (SELECT * FROM key_sums WHERE key_no = keys.no LIMIT 1) AS s WHERE no = ANY (v_keys)) AS k);
  IF has_caps THEN
    v_caps := (SELECT json_agg(c ORDER BY c.no) FROM (
      SELECT no, account_no AS "accountNo", key_no AS "keyNo", amount AS "limit", period, models, extra, extra_period_ms AS "extraPeriodMs",
        period_start_ms AS "periodStartMs", used, later_used AS "laterUsed", held FROM caps WHERE account_no = ANY (v_accounts)
      UNION ALL SELECT no, account_no, key_no, amount, period, models, extra, extra_period_ms, period_start_ms, used, later_used, held
        FROM caps WHERE key_no = ANY (v_keys)) AS c);
  END IF;
  RETURN json_build_object('transaction', pg_current_xact_id()::text, 'nowMs', sluice_now(NULL), 'accounts', coalesce(v_locked_accounts, '[]'),
    'keys', coalesce(v_locked_keys, '[]'), 'caps', coalesce(v_caps, '[]'), 'holds', coalesce(v_holds, '[]'), 'entries', coalesce(v_entries, '[]'),
    'superseded', coalesce(v_superseded, '[]'));
END $$;

-- Writes what was decided about rows that are locked, and the reply: in the transaction that has locked them, and in no other. A driver, or a pooler,
-- that has lost the connection meanwhile runs this on another one, where others may have changed the rows since.
CREATE FUNCTION sluice_write_batch(p_transaction text, p_node int, p_seq int8, p_reply text, p_lane int DEFAULT NULL, p_responses json DEFAULT NULL, p_turns json DEFAULT NULL,
  p_ended text[] DEFAULT NULL, p_accounts json DEFAULT NULL, p_keys json DEFAULT NULL, p_caps json DEFAULT NULL, p_entries json DEFAULT NULL,
  p_endings json DEFAULT NULL, p_progress json DEFAULT NULL, p_opened json DEFAULT NULL, p_attempts json DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_gone int;
BEGIN
  IF p_transaction IS DISTINCT FROM pg_current_xact_id_if_assigned()::text THEN
    RAISE EXCEPTION 'the transaction that has locked the rows of batch % is over', p_seq USING ERRCODE = '40001';
  END IF;
  IF p_lane IS NOT NULL THEN UPDATE lanes SET seq = p_seq, reply = p_reply WHERE node_no = p_node AND lane = p_lane; END IF;
  IF p_responses IS NOT NULL THEN PERFORM sluice_store_responses(p_responses); END IF;
  IF p_turns IS NOT NULL THEN PERFORM sluice_keep_turns(p_turns); END IF;
  IF p_ended IS NOT NULL THEN
    DELETE FROM holds WHERE id = ANY (p_ended);
    GET DIAGNOSTICS v_gone = ROW_COUNT;
    IF v_gone <> cardinality(p_ended) THEN
      RAISE EXCEPTION 'of % holds % could be ended', cardinality(p_ended), v_gone USING ERRCODE = '40001';
    END IF;
  END IF;
  IF p_accounts IS NOT NULL THEN
    UPDATE accounts SET posted = u.posted, held = u.held, used = u."usedDigits", period_start_ms = u."periodStartMs", period_used = u."periodUsed",
        counted_at_ms = u."countedAtMs"
      FROM json_to_recordset(p_accounts) AS u(no int, posted int8, held int8, "usedDigits" int8, "periodStartMs" int8, "periodUsed" int8, "countedAtMs" int8),
        LATERAL (SELECT ctid FROM accounts WHERE accounts.no = u.no LIMIT 1) AS place
      WHERE accounts.ctid = place.ctid;
  END IF;
  IF p_keys IS NOT NULL THEN
    UPDATE key_sums SET day = u.day, day_spend = u."daySpendDigits", spent = u."spentDigits", requests = u.requests, input_tokens = u."inputTokens",
        output_tokens = u."outputTokens", last_cost_nano = u."lastCostNano"
      FROM json_to_recordset(p_keys) AS u(no int, day int, "daySpendDigits" int8, "spentDigits" int8, requests int8, "inputTokens" int8, "outputTokens" int8,
        "lastCostNano" int8), LATERAL (SELECT ctid FROM key_sums WHERE key_no = u.no LIMIT 1) AS place
      WHERE key_sums.ctid = place.ctid;
  END IF;
  IF p_caps IS NOT NULL THEN
    UPDATE caps SET period_start_ms = u."periodStartMs", used = u.used, held = u.held
      FROM json_to_recordset(p_caps) AS u(no int, "periodStartMs" int8, used int8, held int8), LATERAL (SELECT ctid FROM caps WHERE caps.no = u.no LIMIT 1) AS place
      WHERE caps.ctid = place.ctid;
  END IF;
  IF p_entries IS NOT NULL THEN
    INSERT INTO entries (month, account_no, key_no, node_no, kind, amount, at_ms, period_start_ms, counted_at_ms, exchange_id, basis, outcome, note, completes,
        list_cost_nano, cache_savings_nano, recorded_at_ms, route, model, provider, upstream_model, stream, status, input_tokens, cached_input_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, cost_nano, first_byte_ms, total_ms, attempts, rates_id, quantities, asked_model, labels)
      SELECT month, account_no, key_no, p_node, kind, amount, at_ms, period_start_ms, counted_at_ms, exchange_id, basis, outcome, note, completes,
        list_cost_nano, cache_savings_nano, recorded_at_ms, route, model, provider, upstream_model, stream, status, input_tokens, cached_input_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, cost_nano, first_byte_ms, total_ms, attempts, rates_id, quantities, asked_model, labels
      FROM json_populate_recordset(NULL::entries, p_entries);
  END IF;
  IF p_endings IS NOT NULL THEN
    INSERT INTO exchange_endings (exchange_id, key_no, node_no, at_ms, started_at_ms, route, model, provider, upstream_model, stream, outcome, status,
        code, message, first_byte_ms, total_ms, attempts, attempt_details, entry_id, entry_month, alike, labels)
      SELECT x.exchange_id, x.key_no, p_node, x.at_ms, x.started_at_ms, x.route, x.model, x.provider, x.upstream_model, x.stream, x.outcome, x.status,
        x.code, x.message, x.first_byte_ms, x.total_ms, x.attempts, x.attempt_details, e.id, x.entry_month, x.alike, x.labels
      FROM json_populate_recordset(NULL::exchange_endings, p_endings) AS x,
        LATERAL (SELECT id FROM entries WHERE exchange_id = x.exchange_id AND month = x.entry_month AND kind = 'charge' AND outcome = x.outcome LIMIT 1) AS e;
  END IF;
  IF p_progress IS NOT NULL THEN PERFORM sluice_note_progress(p_progress); END IF;
  IF p_opened IS NOT NULL THEN
    INSERT INTO holds (id, account_no, key_no, node_no, amount, period_start_ms, counted_at_ms, opened_at_ms, model, asked_model, labels, is_in_flight)
      SELECT id, account_no, key_no, p_node, amount, period_start_ms, counted_at_ms, opened_at_ms, model, asked_model, labels, is_in_flight
      FROM json_populate_recordset(NULL::holds, p_opened);
  END IF;
  -- Last: a session that waits for these rows must not hold locks that others wait for.
  IF p_attempts IS NOT NULL THEN PERFORM sluice_count_attempts(p_node, p_attempts); END IF;
END $$;

-- The claim becomes the response that it replays. One that is no longer this exchange's stays as it is.
CREATE FUNCTION sluice_store_responses(p_responses json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO responses AS i (key_no, route, idempotency_key, body_hash, exchange_id, status, headers, stored_at_ms, recording_id, parts, body, bytes)
    SELECT k.no, x.route, x.idempotency_key, x.body_hash, x.id, x.status, x.headers, x.stored_at_ms, x.recording_id, x.parts, decode(x.body, 'base64'), x.bytes
    FROM json_to_recordset(p_responses) AS x(id text, key text, route text, idempotency_key text, body_hash text, status int, headers text, stored_at_ms int8,
        recording_id text, parts int, body text, bytes int8)
      JOIN keys k ON k.id = x.key
    ON CONFLICT (key_no, route, idempotency_key) DO UPDATE SET node_no = NULL, status = excluded.status, headers = excluded.headers,
      stored_at_ms = excluded.stored_at_ms, recording_id = excluded.recording_id, parts = excluded.parts, body = excluded.body, bytes = excluded.bytes
    WHERE i.exchange_id = excluded.exchange_id AND i.stored_at_ms IS NULL;
END $$;

-- Stores the turns of a batch, and drops a key's oldest ones if it has too many bytes. Locks the sums first, as deleting turns
-- does, to avoid a deadlock.
CREATE FUNCTION sluice_keep_turns(p_turns json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  t record;
  v_no int8;
  v_whole boolean;
BEGIN
  FOR t IN SELECT k.no AS key_no, x.* FROM json_to_recordset(p_turns) AS x(key text, id text, parent text, model text, provider text, created int8,
      expires int8, bytes int8, items text[], recording_id text, parts int, body text, request text, key_bytes int8, replaces int8),
    LATERAL (SELECT no FROM keys WHERE keys.id = x.key LIMIT 1) AS k
    -- A replacement comes before inserts that might crowd out the turn it replaces.
    ORDER BY k.no, x.replaces
  LOOP
    PERFORM FROM turn_sums WHERE key_no = t.key_no FOR UPDATE;
    -- What lacks a part that was written ahead must not take the place of something whole.
    v_whole := t.replaces IS NULL
      OR t.parts = (SELECT count(*) FROM response_parts p WHERE p.recording_id = t.recording_id AND p.sequence < t.parts);
    -- The new turn may continue the old one's recording, which would be deleted with the old turn.
    UPDATE turns SET recording_id = NULL
      WHERE key_no = t.key_no AND id = t.id AND no = t.replaces AND recording_id = t.recording_id AND v_whole;
    DELETE FROM turns WHERE key_no = t.key_no AND id = t.id AND no = coalesce(t.replaces, no) AND v_whole;
    IF t.replaces IS NOT NULL AND NOT FOUND THEN
      DELETE FROM response_parts WHERE recording_id = t.recording_id
        AND NOT EXISTS (SELECT FROM turns WHERE recording_id = t.recording_id);
      CONTINUE;
    END IF;
    INSERT INTO turns (key_no, id, parent_id, model, provider, created_at_ms, expires_at_ms, bytes, recording_id, parts, body, request, items)
      VALUES (t.key_no, t.id, t.parent, t.model, t.provider, t.created, t.expires, t.bytes, t.recording_id, t.parts, decode(t.body, 'base64'), decode(t.request, 'base64'), to_json(t.items)::text)
      RETURNING no INTO v_no;
    INSERT INTO turn_items (key_no, id_key, turn_no) SELECT DISTINCT t.key_no, id_key, v_no FROM unnest(t.items) AS id_key;
    WHILE (SELECT bytes FROM turn_sums WHERE key_no = t.key_no) > t.key_bytes LOOP
      DELETE FROM turns WHERE no = (SELECT no FROM turns WHERE key_no = t.key_no ORDER BY no LIMIT 1);
    END LOOP;
    -- The claim on the replaced turn ends with it: a client that has seen the change can claim the turn at once, on any node.
    IF t.replaces IS NOT NULL THEN
      DELETE FROM responses WHERE key_no = t.key_no AND route = 'conversation' AND idempotency_key = t.id AND stored_at_ms IS NULL;
    END IF;
  END LOOP;
END $$;

-- Adds attempts to the sums, in the order of their key, to avoid deadlocks.
CREATE FUNCTION sluice_count_attempts(p_node int, p_attempts json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO attempt_sums AS s (provider, day, credential, upstream_model, ending, node_no, attempts, estimated, input_tokens, cached_input_tokens,
      cache_write_tokens, output_tokens, counted_input_tokens, counted_output_tokens, owed_nano_usd)
    SELECT provider, day, credential, upstream_model, ending, p_node, sum(attempts), sum(estimated), sum(input_tokens), sum(cached_input_tokens),
      sum(cache_write_tokens), sum(output_tokens), sum(counted_input_tokens), sum(counted_output_tokens), sum(owed_nano_usd)
    FROM json_populate_recordset(NULL::attempt_sums, p_attempts) GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
  ON CONFLICT (provider, day, credential, upstream_model, ending, node_no) DO UPDATE SET attempts = s.attempts + excluded.attempts,
    estimated = s.estimated + excluded.estimated, input_tokens = s.input_tokens + excluded.input_tokens,
    cached_input_tokens = s.cached_input_tokens + excluded.cached_input_tokens, cache_write_tokens = s.cache_write_tokens + excluded.cache_write_tokens,
    output_tokens = s.output_tokens + excluded.output_tokens, counted_input_tokens = s.counted_input_tokens + excluded.counted_input_tokens,
    counted_output_tokens = s.counted_output_tokens + excluded.counted_output_tokens, owed_nano_usd = s.owed_nano_usd + excluded.owed_nano_usd;
  INSERT INTO attempt_days AS s (day, node_no, attempts, estimated, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens,
      counted_input_tokens, counted_output_tokens, owed_nano_usd)
    SELECT day, p_node, sum(attempts), sum(estimated), sum(input_tokens), sum(cached_input_tokens),
      sum(cache_write_tokens), sum(output_tokens), sum(counted_input_tokens), sum(counted_output_tokens), sum(owed_nano_usd)
    FROM json_populate_recordset(NULL::attempt_sums, p_attempts) GROUP BY 1 ORDER BY 1
  ON CONFLICT (day, node_no) DO UPDATE SET attempts = s.attempts + excluded.attempts,
    estimated = s.estimated + excluded.estimated, input_tokens = s.input_tokens + excluded.input_tokens,
    cached_input_tokens = s.cached_input_tokens + excluded.cached_input_tokens, cache_write_tokens = s.cache_write_tokens + excluded.cache_write_tokens,
    output_tokens = s.output_tokens + excluded.output_tokens, counted_input_tokens = s.counted_input_tokens + excluded.counted_input_tokens,
    counted_output_tokens = s.counted_output_tokens + excluded.counted_output_tokens, owed_nano_usd = s.owed_nano_usd + excluded.owed_nano_usd;
END $$;

-- Notes what many streams have produced, in as much time as there are of them: their rows are found one by one. A join would compare
-- each with all others of the batch, a thousand of them for tens of milliseconds, for which the holds of the same batch wait.
-- A row that has moved meanwhile is left for the next note.
CREATE FUNCTION sluice_note_progress(p_progress json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE holds h SET charge_so_far = x.charge_so_far, rates_id = x.rates_id, quantities = x.quantities, served = x.served
  FROM (SELECT at.ctid AS place, u.charge_so_far, u.rates_id, u.quantities, u.served FROM json_populate_recordset(NULL::holds, p_progress) AS u,
    LATERAL (SELECT ctid FROM holds WHERE id = u.id LIMIT 1) AS at) AS x
  WHERE h.ctid = x.place AND h.charge_so_far < x.charge_so_far;
END $$;

-- Gives claims back that came to nothing, then claims others. Verdicts: 1 run it, 2 it is running, 3 it was used with
-- another body, 4 replay the stored response. A repeated batch finds its own claims, so only the fence needs its number.
CREATE FUNCTION sluice_claim(p_node int, p_lane int, p_seq int8, p_ends json, p_items json)
RETURNS TABLE (verdicts int[]) LANGUAGE plpgsql AS $$
DECLARE
  r record;
  v_verdict int;
BEGIN
  PERFORM sluice_take_number(p_node, p_lane, p_seq);
  UPDATE lanes SET seq = p_seq WHERE node_no = p_node AND lane = p_lane;
  FOR r IN SELECT k.no AS key_no, i.route, i.name, i.exchange
    FROM json_to_recordset(p_ends) AS i(key text, route text, name text, exchange text),
      LATERAL (SELECT no FROM keys WHERE id = i.key LIMIT 1) AS k
    ORDER BY k.no, i.route, i.name
  LOOP
    DELETE FROM responses i WHERE i.key_no = r.key_no AND i.route = r.route AND i.idempotency_key = r.name AND i.exchange_id = r.exchange
      AND i.stored_at_ms IS NULL;
  END LOOP;
  verdicts := array_fill(2, ARRAY[json_array_length(p_items)]);
  FOR r IN
    SELECT i.n, k.no AS key_no, i.route, i.name, i.hash, i.exchange, i.at, i.not_before
    FROM json_to_recordset(p_items) AS i(n int, key text, route text, name text, hash text, exchange text, at int8, not_before int8),
      LATERAL (SELECT no FROM keys WHERE id = i.key LIMIT 1) AS k
    -- All claim in the same order, so that none waits for another in a circle.
    ORDER BY k.no, i.route, i.name, i.n
  LOOP
    INSERT INTO responses AS i (key_no, route, idempotency_key, body_hash, node_no, exchange_id, claimed_at_ms)
      VALUES (r.key_no, r.route, r.name, r.hash, p_node, r.exchange, r.at)
      ON CONFLICT (key_no, route, idempotency_key) DO UPDATE SET body_hash = excluded.body_hash, node_no = excluded.node_no, exchange_id = excluded.exchange_id,
        claimed_at_ms = excluded.claimed_at_ms, status = NULL, headers = NULL, stored_at_ms = NULL, recording_id = NULL, parts = 0, body = NULL
      WHERE i.stored_at_ms < r.not_before;
    SELECT CASE WHEN i.exchange_id = r.exchange AND i.stored_at_ms IS NULL THEN 1 WHEN i.body_hash <> r.hash THEN 3 WHEN i.stored_at_ms IS NULL THEN 2 ELSE 4 END
      INTO v_verdict FROM responses i WHERE i.key_no = r.key_no AND i.route = r.route AND i.idempotency_key = r.name;
    verdicts[r.n] := v_verdict;
  END LOOP;
  RETURN NEXT;
END $$;

-- Orders of rate tokens. Each has a row for every bucket that it takes from, by its place among the names: so many tokens of each, or of none, and that as many
-- times as there is enough of all, up to `p_times`. Tokens of an order of 0 times are taken whatever there is, or given back where they are below 0.
-- `granted` is how many times for each order, `levels` what is left for each row. Buckets are locked in the order of their names.
CREATE FUNCTION sluice_take_tokens(p_names text[], p_capacities int8[], p_orders int[], p_buckets int[], p_amounts int8[], p_times int[])
  RETURNS TABLE (granted int[], levels float8[]) LANGUAGE plpgsql AS $$
DECLARE
  r record;
  now_at timestamptz := clock_timestamp();
  v_levels float8[] := array_fill(0::float8, ARRAY[cardinality(p_names)]);
  v_filled timestamptz[] := array_fill(now_at, ARRAY[cardinality(p_names)]);
  n int := cardinality(p_orders);
  v_first int := 1; v_last int; v_granted int; i int;
BEGIN
  granted := array_fill(0, ARRAY[p_orders[n]]); levels := array_fill(0::float8, ARRAY[n]);
  FOR i IN SELECT u.n::int FROM unnest(p_names) WITH ORDINALITY AS u(name, n) ORDER BY u.name COLLATE "C" LOOP
    SELECT b.capacity, b.level, b.filled_at INTO r FROM buckets b WHERE b.name = p_names[i] FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      INSERT INTO buckets (name, capacity, level, filled_at) VALUES (p_names[i], p_capacities[i], p_capacities[i], now_at) ON CONFLICT DO NOTHING;
      SELECT b.capacity, b.level, b.filled_at INTO r FROM buckets b WHERE b.name = p_names[i] FOR NO KEY UPDATE;
    END IF;
    -- A new limit keeps the fill in proportion.
    v_levels[i] := r.level * p_capacities[i] / r.capacity; v_filled[i] := r.filled_at;
  END LOOP;
  -- Only now: those who were waited for have filled them meanwhile.
  now_at := clock_timestamp();
  FOR i IN 1..cardinality(p_names) LOOP
    v_levels[i] := least(p_capacities[i], v_levels[i] + greatest(0, extract(epoch FROM now_at - v_filled[i])) * p_capacities[i] / 60.0);
  END LOOP;
  WHILE v_first <= n LOOP
    v_last := v_first;
    WHILE v_last < n AND p_orders[v_last + 1] = p_orders[v_first] LOOP v_last := v_last + 1; END LOOP;
    v_granted := p_times[v_first];
    FOR i IN v_first..v_last LOOP
      EXIT WHEN p_times[v_first] = 0;
      v_granted := greatest(0, floor(least(v_granted, (v_levels[p_buckets[i]] + 1e-9) / p_amounts[i])))::int;
    END LOOP;
    FOR i IN v_first..v_last LOOP
      v_levels[p_buckets[i]] := CASE WHEN p_times[i] = 0 THEN least(p_capacities[p_buckets[i]], v_levels[p_buckets[i]] - p_amounts[i])
        WHEN v_granted = 0 THEN v_levels[p_buckets[i]] ELSE greatest(0, v_levels[p_buckets[i]] - v_granted * p_amounts[i]) END;
      levels[i] := v_levels[p_buckets[i]];
    END LOOP;
    granted[p_orders[v_first]] := v_granted;
    v_first := v_last + 1;
  END LOOP;
  UPDATE buckets b SET level = u.level, capacity = u.capacity, filled_at = now_at
    FROM unnest(p_names, p_capacities, v_levels) AS u(name, capacity, level) WHERE b.name = ANY (p_names) AND b.name = u.name;
  RETURN NEXT;
END $$;

-- A node's life. Its number is never used twice. The lease tells who is alive, and nothing else depends on it: what a
-- dead node may still have sent is refused by its lanes.
CREATE FUNCTION sluice_join(p_name text, p_version text, p_lease_ms int, p_lanes int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  v_no int;
BEGIN
  INSERT INTO nodes (name, version, lease_until) VALUES (p_name, p_version, clock_timestamp() + p_lease_ms * interval '1 ms') RETURNING no INTO v_no;
  INSERT INTO lanes (node_no, lane, seq) SELECT v_no, lane, 0 FROM generate_series(1, p_lanes) AS lane;
  RETURN v_no;
END $$;

-- A lease that expired unnoticed is renewed: the database was unavailable, so no other node could act on it.
CREATE FUNCTION sluice_beat(p_node int, p_lease_ms int, p_in_flight int, OUT is_alive bool, OUT now_ms float8) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE nodes SET beat_at = clock_timestamp(), in_flight = p_in_flight, lease_until = clock_timestamp() + p_lease_ms * interval '1 ms',
    steady_since = CASE WHEN lease_until < clock_timestamp() THEN clock_timestamp() ELSE steady_since END
    WHERE no = p_node AND dead_at IS NULL;
  is_alive := FOUND;
  now_ms := floor(extract(epoch FROM clock_timestamp()) * 1000);
END $$;

-- From here on nothing of this node is accepted: a batch that is being committed is waited for, a later one is refused.
CREATE FUNCTION sluice_fence(p_dead int, p_taker int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
  UPDATE nodes SET dead_at = clock_timestamp(), taken_by = p_taker WHERE no = p_dead AND dead_at IS NULL;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE lanes SET seq = -1 WHERE node_no = p_dead;
  RETURN true;
END $$;

-- Fences the nodes whose lease is over. Only a node that has itself been steady for long may do so, and not soon after
-- the database's own start: then every lease has expired, although no node is dead.
CREATE FUNCTION sluice_fence_late_nodes(p_node int, p_lease_ms int, p_grace_ms int) RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE
  now_at timestamptz := clock_timestamp();
  v_grace interval := p_grace_ms * interval '1 ms';
  v_steady interval := (p_lease_ms + p_grace_ms) * interval '1 ms';
  v_no int;
BEGIN
  IF now_at - pg_postmaster_start_time() < v_steady OR NOT EXISTS (
    SELECT FROM nodes WHERE no = p_node AND dead_at IS NULL AND lease_until > now_at AND steady_since < now_at - v_steady) THEN RETURN; END IF;
  FOR v_no IN SELECT no FROM nodes WHERE dead_at IS NULL AND lease_until < now_at - v_grace ORDER BY no FOR UPDATE SKIP LOCKED LOOP
    BEGIN
      IF sluice_fence(v_no, p_node) THEN RETURN NEXT v_no; END IF;
    EXCEPTION WHEN lock_not_available THEN
      -- A batch of its own is being committed, and takes long. The others need not wait for it.
    END;
  END LOOP;
END $$;

-- What a node does for the others, now and then: fences those that are late, and says how many dead ones still have to be
-- cleared. The dead are remembered for a day, for operators.
CREATE FUNCTION sluice_look_after_nodes(p_node int, p_lease_ms int, p_grace_ms int, OUT fenced int[], OUT uncleared int) LANGUAGE plpgsql AS $$
BEGIN
  fenced := ARRAY(SELECT sluice_fence_late_nodes(p_node, p_lease_ms, p_grace_ms));
  DELETE FROM nodes WHERE cleared_at < clock_timestamp() - interval '1 day';
  DELETE FROM lanes l WHERE seq = -1 AND NOT EXISTS (SELECT FROM nodes n WHERE n.no = l.node_no);
  SELECT count(*) INTO uncleared FROM nodes WHERE dead_at IS NOT NULL AND cleared_at IS NULL;
END $$;

-- Some of the holds of dead nodes, oldest first, as JSON. Those whose account is locked just now wait for the next call. If there are none at
-- all, the claims of these nodes go, too.
CREATE FUNCTION sluice_dead_holds(p_most int) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_dead int[] := ARRAY(SELECT no FROM nodes WHERE dead_at IS NOT NULL AND cleared_at IS NULL);
  v_accounts int[] := ARRAY(SELECT DISTINCT account_no FROM holds WHERE node_no = ANY (v_dead));
BEGIN
  IF v_accounts = '{}' THEN
    DELETE FROM responses WHERE node_no = ANY (v_dead) AND stored_at_ms IS NULL;
    UPDATE nodes SET cleared_at = clock_timestamp() WHERE no = ANY (v_dead);
    RETURN '[]';
  END IF;
  v_accounts := ARRAY(SELECT no FROM accounts WHERE no = ANY (v_accounts) ORDER BY no LIMIT p_most FOR NO KEY UPDATE SKIP LOCKED);
  RETURN coalesce((SELECT json_agg(h) FROM (
    SELECT holds.id AS "holdId", holds.account_no AS "accountNo", accounts.id AS "accountId", keys.id AS "keyId", holds.opened_at_ms AS "openedAtMs", holds.period_start_ms AS "periodStartMs",
      holds.counted_at_ms AS "countedAtMs", holds.charge_so_far AS "chargeSoFar", holds.model, holds.asked_model AS "requestedModel", holds.labels,
      holds.rates_id AS "ratesId", rates.rates, holds.quantities, holds.served, (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS "atMs"
    FROM holds JOIN accounts ON accounts.no = holds.account_no JOIN keys ON keys.no = holds.key_no LEFT JOIN rates ON rates.id = holds.rates_id
    WHERE holds.node_no = ANY (v_dead) AND holds.account_no = ANY (v_accounts) ORDER BY holds.id LIMIT p_most) AS h), '[]');
END $$;

-- A clean stop: nothing is left behind, not even the node. False while it has holds: these end like a dead node's.
CREATE FUNCTION sluice_leave(p_node int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
  IF NOT sluice_fence(p_node, p_node) AND NOT EXISTS (SELECT FROM nodes WHERE no = p_node AND taken_by = p_node) THEN RETURN true; END IF;
  IF EXISTS (SELECT FROM holds WHERE node_no = p_node) THEN RETURN false; END IF;
  DELETE FROM responses WHERE node_no = p_node AND stored_at_ms IS NULL;
  DELETE FROM lanes WHERE node_no = p_node;
  DELETE FROM nodes WHERE no = p_node;
  RETURN true;
END $$;

-- A table that empties all the time has no honest statistics: a plan that was made while it was small would scan it for
-- ever. So these functions leave it no choice: a row is looked up for each item (LATERAL with LIMIT), or named in an array;
-- nothing is joined, and nothing that is sorted by an index has to be read in its order. With a plan that was forced upon it PostgreSQL takes every
-- scan for so dear that it compiles for a second, unless it must not. And lock waits are short: behind a
-- session that waits for a lock that is never released, others would queue, each on its own connection.
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
    AND proname IN ('sluice_lock_batch', 'sluice_write_batch', 'sluice_claim', 'sluice_take_tokens') LOOP
    EXECUTE format('ALTER FUNCTION %s SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan SET jit = off', f);
  END LOOP;
  FOR f IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
    AND proname IN ('sluice_claim', 'sluice_take_tokens', 'sluice_beat', 'sluice_fence', 'sluice_look_after_nodes', 'sluice_dead_holds', 'sluice_leave') LOOP
    EXECUTE format('ALTER FUNCTION %s SET lock_timeout = %L', f, '500ms');
  END LOOP;
END $$;

-- Content of requests, for those who record it. `body` is packed JSON, encrypted if the configuration has a key. A partition for each UTC
-- day, `content_YYYYMMDD`, is created by the first write on that day, and dropped as a whole.
CREATE TABLE content (
  id text NOT NULL,
  at_ms int8 NOT NULL,
  key_id text NOT NULL,
  owner text,
  model text NOT NULL,
  outcome text NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (id, at_ms)
) PARTITION BY RANGE (at_ms);
CREATE INDEX content_by_time ON content (at_ms, id);

-- One row at most: what tells the right key from others.
CREATE TABLE content_mark (value bytea NOT NULL);
