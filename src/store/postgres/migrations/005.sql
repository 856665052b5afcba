-- Commands name keys and accounts by their labels.
CREATE INDEX keys_by_label ON keys (label) WHERE label IS NOT NULL;
CREATE INDEX accounts_by_label ON accounts (account_label) WHERE account_label IS NOT NULL;

-- What a clock that was ahead has dated in later periods counts in the one to which it returned, and in none between.
UPDATE accounts SET later_used = (SELECT json_agg(jsonb_set(l.value, '{in}', to_jsonb(period_start_ms)))::text FROM jsonb_array_elements(later_used::jsonb) AS l) WHERE later_used IS NOT NULL;
UPDATE caps SET later_used = (SELECT json_agg(jsonb_set(l.value, '{in}', to_jsonb(period_start_ms)))::text FROM jsonb_array_elements(later_used::jsonb) AS l) WHERE later_used IS NOT NULL;
UPDATE cap_values SET later_used = (SELECT json_agg(jsonb_set(l.value, '{in}', to_jsonb(period_start_ms)))::text FROM jsonb_array_elements(later_used::jsonb) AS l) WHERE later_used IS NOT NULL;

-- The ledger as a chain (base/money/chain.ts). NULL in entries from before, and in entries that an older release writes.
ALTER TABLE entries ADD COLUMN hash text;
-- The hash of an account's newest entry; NULL before its first that has one.
ALTER TABLE accounts ADD COLUMN chain_hash text;
-- Joins of all entries through one of them. `unchained` of these have no hash; `unchained_hash` joins those.
CREATE TABLE anchors (
  no int8 PRIMARY KEY,
  at_ms int8 NOT NULL,
  through_id int8 NOT NULL,
  entries int8 NOT NULL,
  unchained int8 NOT NULL,
  unchained_hash text NOT NULL,
  hash text NOT NULL
);

-- As before, with the hashes of accounts, and an id for each charge.
CREATE OR REPLACE FUNCTION sluice_lock_batch(p_node int, p_lock_ms int, p_seq int8, p_lane int DEFAULT NULL, p_ends text[] DEFAULT '{}', p_accounts int[] DEFAULT '{}',
  p_orders text[] DEFAULT '{}', p_keys text[] DEFAULT '{}', p_claims json DEFAULT '[]') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_reply text; v_accounts int[]; v_keys int[]; v_found int; v_lost text[];
  v_holds json; v_entries json; v_superseded json; v_locked_accounts json; v_locked_keys json; v_caps json; v_ids json;
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
  IF array_remove(p_accounts, NULL) <> '{}' THEN
    -- The lock shows readers that these ids are still being written.
    LOCK TABLE ONLY entries IN ROW EXCLUSIVE MODE;
    v_ids := (SELECT json_agg(nextval('entries_id_seq')) FROM unnest(array_remove(p_accounts, NULL)));
  END IF;
  v_locked_accounts := (SELECT json_agg(a) FROM (
    SELECT no, id, mode, is_open = 1 AS "isPostpaid", closed_at_ms IS NOT NULL AS "isClosed", budget_tokens AS "budgetTokens", period, posted, held,
      purchased::text AS "purchasedDigits", used::text AS "usedDigits", period_start_ms AS "periodStartMs", period_used AS "periodUsed", later_used AS "laterUsed",
      counted_at_ms AS "countedAtMs", chain_hash AS "chainHash"
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
    'superseded', coalesce(v_superseded, '[]'), 'entryIds', coalesce(v_ids, '[]'));
END $$;
ALTER FUNCTION sluice_lock_batch SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan SET jit = off;

-- As before, with ids and hashes of entries. An older release passes neither.
CREATE OR REPLACE FUNCTION sluice_write_batch(p_transaction text, p_node int, p_seq int8, p_reply text, p_lane int DEFAULT NULL, p_responses json DEFAULT NULL, p_turns json DEFAULT NULL,
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
        counted_at_ms = u."countedAtMs", chain_hash = coalesce(u."chainHash", accounts.chain_hash)
      FROM json_to_recordset(p_accounts) AS u(no int, posted int8, held int8, "usedDigits" int8, "periodStartMs" int8, "periodUsed" int8, "countedAtMs" int8,
        "chainHash" text),
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
    INSERT INTO entries (id, hash, month, account_no, key_no, node_no, kind, amount, at_ms, period_start_ms, counted_at_ms, exchange_id, basis, outcome, note, completes,
        list_cost_nano, cache_savings_nano, recorded_at_ms, route, model, provider, upstream_model, stream, status, input_tokens, cached_input_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, cost_nano, first_byte_ms, total_ms, attempts, rates_id, quantities, asked_model, labels)
      SELECT coalesce(id, nextval('entries_id_seq')), hash, month, account_no, key_no, p_node, kind, amount, at_ms, period_start_ms, counted_at_ms, exchange_id, basis, outcome, note, completes,
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
ALTER FUNCTION sluice_write_batch SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET plan_cache_mode = force_generic_plan SET jit = off;

-- What a batch takes in addition to its results: what its client has sent with it, the ids of its lines, and its errors.
ALTER TABLE batches ADD COLUMN own_bytes int8 NOT NULL DEFAULT 1024;
-- The account that the key had at the creation decides who else can read it; NULL from older programs: the key's account.
ALTER TABLE files ADD COLUMN account_no int;
ALTER TABLE batches ADD COLUMN account_no int;
UPDATE files SET account_no = coalesce((SELECT m.account_no FROM key_moves m WHERE m.key_no = files.key_no AND m.until_ms > files.created_at_ms ORDER BY m.no LIMIT 1),
  (SELECT k.account_no FROM keys k WHERE k.no = files.key_no));
UPDATE batches SET account_no = coalesce((SELECT m.account_no FROM key_moves m WHERE m.key_no = batches.key_no AND m.until_ms > batches.created_at_ms ORDER BY m.no LIMIT 1),
  (SELECT k.account_no FROM keys k WHERE k.no = batches.key_no));

-- Values of labels that were stored before labels were cleaned, and what caps count them as. An empty one says that this was done.
CREATE TABLE cleaned_labels (label text PRIMARY KEY, cleaned text NOT NULL);

-- How often the batch that a line ran in at its provider was cancelled there.
ALTER TABLE batch_lines ADD COLUMN cancellations int NOT NULL DEFAULT 0;
