-- Never changed: the next file has what comes later (CONTRIBUTING.md).
-- A code can be for a key or for a sign-in; `client` is what asks for it, unverified, and `mode` the origin that was asked.
ALTER TABLE device_grants ADD COLUMN purpose text NOT NULL DEFAULT 'key';
ALTER TABLE device_grants ADD COLUMN client text;
ALTER TABLE device_grants ADD COLUMN mode text NOT NULL DEFAULT 'credit';

-- The person who signed in for a token, as JSON: it can do no more than they can now. NULL for a token that was created.
ALTER TABLE admin_tokens ADD COLUMN identity text;

-- 1 for the one key that all sign-ins of a person use.
ALTER TABLE signed_in_keys ADD COLUMN is_for_sign_ins int NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX signed_in_keys_for_sign_ins ON signed_in_keys (person) WHERE is_for_sign_ins = 1;

-- Programs that people have signed in. Of tokens only the SHA-256 is kept.
CREATE TABLE sign_ins (
  id text PRIMARY KEY,
  key_id text NOT NULL,
  person text NOT NULL,
  name text NOT NULL,
  client text,
  device text,
  address text NOT NULL,
  began_at_ms int8 NOT NULL,
  -- When its refresh token was last used.
  used_at_ms int8 NOT NULL,
  ended_at_ms int8,
  -- NULL while it has not ended.
  end_reason text,
  -- Access tokens that are valid or have just expired, as a JSON array of { hash, endsAtMs }.
  access text NOT NULL,
  -- The part that all refresh tokens of this sign-in have in common.
  family_hash text NOT NULL UNIQUE,
  refresh_hash text NOT NULL,
  -- The refresh token before this one, and what it was answered with, encrypted under a key derived from that token.
  former_hash text,
  former_answer text,
  revision int8 NOT NULL
);
CREATE INDEX sign_ins_by_person ON sign_ins (person);
CREATE INDEX sign_ins_by_revision ON sign_ins (revision);

-- Charges with who and what they were for: a cap of models counts what a fallback serves for the model that was requested, too.
CREATE OR REPLACE VIEW counted_charges AS
SELECT id, key_no, account_no, at_ms, -amount AS amount, model, cost_nano,
  period_start_ms, coalesce(counted_at_ms, at_ms) AS counted_at_ms, at_ms / 86400000 AS day,
  input_tokens + cached_input_tokens + cache_write_tokens AS input_tokens, output_tokens, labels, labels::json ->> 'fallback_from' AS fallback_from
FROM entries WHERE kind IN ('charge', 'overrun') AND amount <= 0;

-- As before, with the labels of holds.
CREATE OR REPLACE FUNCTION sluice_lock_batch(p_node int, p_lock_ms int, p_seq int8, p_lane int DEFAULT NULL, p_ends text[] DEFAULT '{}', p_accounts int[] DEFAULT '{}',
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
        model, labels, is_in_flight AS "isInFlight" FROM holds WHERE id = ANY (p_ends)) AS h;
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
    SELECT no, id, mode, is_open = 1 AS "isPostpaid", closed_at_ms IS NOT NULL AS "isClosed", budget_tokens AS "budgetTokens", period, posted, held,
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
ALTER FUNCTION sluice_lock_batch SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan SET jit = off;

-- Responses in the background, while they run and, if their events are kept, for a while after. Clients read their turns.
CREATE TABLE background_responses (
  id text PRIMARY KEY,
  key_no int NOT NULL,
  -- The process that runs it.
  node_no int8 NOT NULL,
  -- 'queued', 'in_progress' or 'ended'.
  state text NOT NULL DEFAULT 'queued',
  is_streamed int NOT NULL,
  is_cancelled int NOT NULL DEFAULT 0,
  -- By how many processes it was begun.
  runs int NOT NULL DEFAULT 1,
  created_at_ms int8 NOT NULL,
  ended_at_ms int8,
  -- Parts of response_parts that come before the call.
  recording_id text,
  parts int NOT NULL,
  -- What it takes to run it again; empty once a provider has answered.
  call bytea NOT NULL
);
CREATE INDEX background_responses_open ON background_responses (node_no) WHERE state <> 'ended';
CREATE INDEX background_responses_by_end ON background_responses (ended_at_ms) WHERE ended_at_ms IS NOT NULL;
ALTER TABLE background_responses ALTER COLUMN call SET STORAGE EXTERNAL;

-- Their events, several in a row. `first` is the place of the first one.
CREATE TABLE background_events (
  response_id text NOT NULL,
  first int8 NOT NULL,
  count int8 NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (response_id, first)
);
CREATE FUNCTION sluice_background_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM background_events WHERE response_id = OLD.id;
  IF OLD.recording_id IS NOT NULL THEN DELETE FROM response_parts WHERE recording_id = OLD.recording_id; END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER background_deleted AFTER DELETE ON background_responses FOR EACH ROW EXECUTE FUNCTION sluice_background_deleted();
-- What each value of a label, or one of them, may spend in a period: within a key, within an account, or everywhere. A batch that
-- decides about its values locks the row.
CREATE TABLE value_caps (
  no int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  id text NOT NULL UNIQUE,
  -- At most one of both; NULL for both means the whole gateway.
  account_no int,
  key_no int,
  -- 'credit' or 'token_budget': the unit of `amount`, in every scope. Spend of accounts of the other mode is not counted.
  mode text NOT NULL,
  -- owner, user, or tag:NAME.
  label text NOT NULL,
  -- The only value that it limits; NULL to limit each.
  value text,
  amount int8 NOT NULL,
  period text NOT NULL CHECK (period IN ('day', 'week', 'month')),
  models text,
  -- As of caps.
  extra int8 NOT NULL DEFAULT 0,
  extra_period_ms int8 NOT NULL DEFAULT 0,
  -- 1 if requests without the label count together, as the value ''.
  is_optional int NOT NULL DEFAULT 0,
  -- How many values it counts in a period.
  max_values int8 NOT NULL,
  -- The model that a request it denies runs on instead; NULL to reject such requests. 1 to do so even if the request continues what only
  -- the denied model has.
  then_model text,
  then_always int NOT NULL DEFAULT 0,
  -- When it began to count: it has counted since the beginning of that period.
  counted_from_ms int8 NOT NULL
);
CREATE TABLE cap_values (
  cap_no int NOT NULL REFERENCES value_caps (no) ON DELETE CASCADE,
  value text NOT NULL,
  period_start_ms int8 NOT NULL,
  used int8 NOT NULL DEFAULT 0,
  later_used text,
  -- What this value's amount is raised by in one period alone.
  extra int8 NOT NULL DEFAULT 0,
  extra_period_ms int8 NOT NULL DEFAULT 0,
  held int8 NOT NULL DEFAULT 0 CHECK (held >= 0),
  PRIMARY KEY (cap_no, value)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX cap_values_by_period ON cap_values (cap_no, period_start_ms);

-- Adds to the rows that a batch has locked the caps by value that may count them, and their values. Locks these caps last, in the order of
-- their numbers. `p_labels` are the labels of what the batch holds or charges; holds that end have theirs in the reply. `taken` is how
-- many other values a cap has counted in its latest period, where one of these values is new to it.
CREATE FUNCTION sluice_lock_values(p_reply text, p_labels text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_reply json; v_caps int[]; v_labels text[]; v_names text[]; v_values text[]; v_rows json; v_counted json;
BEGIN
  IF NOT EXISTS (SELECT FROM value_caps) THEN RETURN p_reply; END IF;
  v_reply := p_reply::json;
  IF v_reply -> 'transaction' IS NULL THEN RETURN p_reply; END IF;
  v_labels := p_labels || ARRAY(SELECT h ->> 'labels' FROM json_array_elements(v_reply -> 'holds') AS h);
  SELECT array_agg(name), array_agg(value) INTO v_names, v_values FROM (SELECT DISTINCT ltrim(l.key, '+') AS name, l.value
    FROM unnest(v_labels) AS t(labels), json_each_text(t.labels::json) AS l WHERE t.labels IS NOT NULL) AS pairs;
  v_caps := ARRAY(SELECT c.no FROM value_caps c
    WHERE (c.value IS NULL OR EXISTS (SELECT FROM unnest(v_names, v_values) AS l(name, value) WHERE l.name = c.label AND l.value = c.value))
      AND (c.account_no IS NULL OR c.account_no IN (SELECT (a ->> 'no')::int FROM json_array_elements(v_reply -> 'accounts') AS a))
      AND (c.key_no IS NULL OR c.key_no IN (SELECT (k ->> 'no')::int FROM json_array_elements(v_reply -> 'keys') AS k))
    ORDER BY c.no);
  v_caps := ARRAY(SELECT no FROM value_caps WHERE no = ANY (v_caps) ORDER BY no FOR NO KEY UPDATE);
  v_counted := (SELECT json_agg(v) FROM (
    SELECT cap_no AS "capNo", value, period_start_ms AS "periodStartMs", used, later_used AS "laterUsed", extra, extra_period_ms AS "extraPeriodMs", held
    FROM cap_values WHERE cap_no = ANY (v_caps) AND value = ANY (array_append(v_values, ''))) AS v);
  v_rows := (SELECT json_agg(c ORDER BY c.no) FROM (
    SELECT c.no, c.id, (SELECT id FROM keys WHERE no = c.key_no) AS "keyId", (SELECT id FROM accounts WHERE no = c.account_no) AS "accountId", c.mode, c.label,
      c.value, c.amount AS "limit", c.period, c.models, c.extra, c.extra_period_ms AS "extraPeriodMs", c.is_optional = 1 AS "isOptional",
      c.max_values AS "maxValues", c.then_model AS "thenModel", c.then_always = 1 AS "thenAlways", latest.at AS "latestMs",
      (SELECT count(*) FROM cap_values v WHERE v.cap_no = c.no AND v.period_start_ms = latest.at AND (v.used > 0 OR v.held > 0)
        AND v.value <> ALL (array_append(v_values, ''))) AS taken
    FROM value_caps c, LATERAL (SELECT CASE WHEN c.value IS NULL AND EXISTS (SELECT FROM unnest(array_append(v_names, c.label), array_append(v_values, '')) AS l(name, value)
        WHERE l.name = c.label AND (l.value <> '' OR c.is_optional = 1) AND NOT EXISTS (SELECT FROM cap_values v WHERE v.cap_no = c.no AND v.value = l.value AND (v.used > 0 OR v.held > 0)
          AND v.period_start_ms = (SELECT max(period_start_ms) FROM cap_values WHERE cap_no = c.no)))
      THEN (SELECT max(period_start_ms) FROM cap_values WHERE cap_no = c.no) END AS at) AS latest
    WHERE c.no = ANY (v_caps)) AS c);
  RETURN left(p_reply, -1) || ',"valueCaps":' || coalesce(v_rows, '[]')::text || ',"capValues":' || coalesce(v_counted, '[]')::text || '}';
END $$;

-- Of the transaction that has locked their caps, after `sluice_write_batch`, which checks that.
CREATE FUNCTION sluice_write_values(p_values json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO cap_values AS v (cap_no, value, period_start_ms, used, held)
    SELECT u."capNo", u.value, u."periodStartMs", u.used, u.held
    FROM json_to_recordset(p_values) AS u("capNo" int, value text, "periodStartMs" int8, used int8, held int8)
    ON CONFLICT (cap_no, value) DO UPDATE SET period_start_ms = excluded.period_start_ms, used = excluded.used, held = excluded.held;
END $$;
ALTER FUNCTION sluice_lock_values SET plan_cache_mode = force_generic_plan SET jit = off;
ALTER FUNCTION sluice_write_values SET plan_cache_mode = force_generic_plan SET jit = off;

-- Secrets of the playground, as SHA-256: each stands for a key, for an hour, and may spend so much. Nano-credits, or tokens.
CREATE TABLE playground_secrets (
  hash text PRIMARY KEY,
  key_id text NOT NULL,
  ends_at_ms int8 NOT NULL,
  amount_left int8 NOT NULL
);

-- How far the feed has been pushed, in one row at most: none before it has begun.
CREATE TABLE feed_push (
  id int PRIMARY KEY CHECK (id = 1),
  -- The newest entry that the receiver has accepted.
  through_id int8 NOT NULL,
  accepted_at_ms int8 NOT NULL,
  -- The post that is being sent, so that a repeat has the same bytes: the newest entry in it, and its body. NULL between two posts.
  pending_id int8,
  body text,
  attempts int8 NOT NULL DEFAULT 0,
  due_at_ms int8 NOT NULL DEFAULT 0,
  problem text,
  -- When a receiver has rejected the post, and a digest of its address and secret: nothing is sent there again. NULL while it is sent.
  stopped_at_ms int8,
  stopped_for text
) WITH (fillfactor = 20);

-- Alerts as operators see them: open while `ended_at_ms` is NULL, then kept for a while.
CREATE TABLE past_alerts (
  no int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  id text NOT NULL,
  -- As JSON.
  alert text NOT NULL,
  began_at_ms int8 NOT NULL,
  ended_at_ms int8
);
CREATE INDEX past_alerts_open ON past_alerts (id) WHERE ended_at_ms IS NULL;
CREATE INDEX past_alerts_by_end ON past_alerts (ended_at_ms) WHERE ended_at_ms IS NOT NULL;

-- What clients have uploaded, and what they are shown of the results of a batch.
CREATE TABLE files (
  no int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  id text NOT NULL UNIQUE,
  key_no int NOT NULL,
  -- 'batch' and 'requests' are inputs, 'output' and 'errors' the results of `batch_id`, which are read from its lines, and
  -- 'uploading' is an input that is not complete.
  kind text NOT NULL,
  name text NOT NULL,
  bytes int8 NOT NULL,
  batch_id text,
  created_at_ms int8 NOT NULL,
  expires_at_ms int8 NOT NULL
);
CREATE INDEX files_by_key ON files (key_no, no);
CREATE INDEX files_by_expiry ON files (expires_at_ms);
CREATE INDEX files_by_batch ON files (batch_id) WHERE batch_id IS NOT NULL;

-- The bytes of inputs: all parts but the last have the same length, before they are encrypted.
CREATE TABLE file_parts (
  file_id text NOT NULL,
  sequence int NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (file_id, sequence)
);
ALTER TABLE file_parts ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE FUNCTION sluice_file_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM file_parts WHERE file_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER file_deleted AFTER DELETE ON files FOR EACH ROW EXECUTE FUNCTION sluice_file_deleted();

CREATE TABLE batches (
  no int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  id text NOT NULL UNIQUE,
  key_no int NOT NULL,
  file_id text NOT NULL,
  endpoint text NOT NULL,
  -- What the client has sent with it, as JSON: metadata, headers, and what else its API shows again.
  request text NOT NULL,
  -- 'validating', 'failed', 'in_progress', 'cancelling', 'cancelled', 'expired' or 'completed'.
  status text NOT NULL,
  -- As JSON, of one that has failed.
  errors text,
  created_at_ms int8 NOT NULL,
  expires_at_ms int8 NOT NULL,
  in_progress_at_ms int8,
  cancelling_at_ms int8,
  ended_at_ms int8,
  -- When its results are deleted; NULL before its end.
  kept_until_ms int8,
  total int8 NOT NULL DEFAULT 0,
  completed int8 NOT NULL DEFAULT 0,
  failed int8 NOT NULL DEFAULT 0,
  -- How many of the failed ones never ran.
  rest int8 NOT NULL DEFAULT 0,
  output_bytes int8 NOT NULL DEFAULT 0,
  error_bytes int8 NOT NULL DEFAULT 0,
  input_tokens int8 NOT NULL DEFAULT 0,
  cached_tokens int8 NOT NULL DEFAULT 0,
  output_tokens int8 NOT NULL DEFAULT 0,
  reasoning_tokens int8 NOT NULL DEFAULT 0,
  -- What its lines were charged: nano-credits or tokens.
  charged int8 NOT NULL DEFAULT 0,
  -- Why the lines that never ran have no result; NULL before its end.
  rest_code text,
  -- What it waits for, and since when; NULL while it runs.
  waits_for text,
  waits_since_ms int8,
  -- 1 in a copy: its lines may have run since.
  is_paused int NOT NULL DEFAULT 0
);
CREATE INDEX batches_by_key ON batches (key_no, no);
CREATE INDEX batches_open ON batches (no) WHERE ended_at_ms IS NULL;
CREATE INDEX batches_by_end ON batches (kept_until_ms) WHERE kept_until_ms IS NOT NULL;

-- The requests of batches. The response of one that was charged is in `responses`: its route is "batch:" and the batch's id, its
-- idempotency key the number of the line, so that a line is charged once.
CREATE TABLE batch_lines (
  batch_no int8 NOT NULL REFERENCES batches (no),
  no int NOT NULL,
  custom_id text NOT NULL,
  -- Where the request's body is in the file.
  start int8 NOT NULL,
  length int8 NOT NULL,
  -- 0 waits, 1 runs, 2 has ended.
  state int NOT NULL DEFAULT 0,
  -- The process that runs it.
  node_no int8 NOT NULL DEFAULT 0,
  -- How many processes have ended while they ran it, and how many of its runs have reached a provider.
  crashes int NOT NULL DEFAULT 0,
  tries int NOT NULL DEFAULT 0,
  due_at_ms int8 NOT NULL DEFAULT 0,
  -- Of the result; NULL before. `error` is the response of one that was not charged.
  status int,
  request_id text,
  error bytea,
  PRIMARY KEY (batch_no, no)
);
CREATE INDEX batch_lines_waiting ON batch_lines (batch_no, no) WHERE state = 0;
CREATE INDEX batch_lines_running ON batch_lines (node_no) WHERE state = 1;

-- Results of batches are not kept for retries.
DROP INDEX responses_by_bytes;
CREATE INDEX responses_by_bytes ON responses (key_no) INCLUDE (bytes) WHERE stored_at_ms IS NOT NULL AND left(route, 6) <> 'batch:';
CREATE OR REPLACE VIEW response_sums AS
SELECT key_no, sum(bytes) AS bytes FROM responses WHERE stored_at_ms IS NOT NULL AND left(route, 6) <> 'batch:' GROUP BY key_no;
