-- Money: what decides about holds and charges, for all nodes. The arithmetic is that of `src/ledger/account.ts`; a test
-- holds both against each other, operation by operation.
--
-- Every function that a lane calls takes the batch's number first, then locks the accounts in the order of their
-- numbers in a statement of its own, so that the next statement sees what those before it have committed.

-- A late charge (see sluice_charge_late) stands beside the charge of the node that took over.
DROP INDEX entries_by_exchange;
CREATE UNIQUE INDEX entries_by_exchange ON entries (exchange_id, month, (outcome = 'interrupted')) WHERE kind = 'charge';

-- Nothing of it is left: its holds have ended, its claims are gone.
ALTER TABLE nodes ADD COLUMN cleared_at timestamptz;

-- Tells this database from others: what a node keeps in a file is meant for one of them.
ALTER TABLE state ADD COLUMN database_id text NOT NULL DEFAULT gen_random_uuid()::text;

-- The same as before, as one expression: then it needs no call of its own, which took 25 µs a charge.
CREATE OR REPLACE FUNCTION sluice_month(at_ms int8) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (date_part('year', to_timestamp(at_ms / 1000.0) AT TIME ZONE 'UTC') * 12
    + date_part('month', to_timestamp(at_ms / 1000.0) AT TIME ZONE 'UTC'))::int - 23641
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

-- What may be spent, including what is held. A budget without a limit has more than can ever be asked for.
CREATE FUNCTION sluice_balance(mode text, posted int8, budget int8, period_used int8) RETURNS int8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN mode = 'credit' THEN posted WHEN budget IS NULL THEN 4611686018427387904 ELSE greatest(0, budget - period_used) END
$$;

-- The most that ending a hold may charge: its own amount plus what no other hold has reserved. If an operator has
-- lowered the balance below what is held, the balance is the limit. What is left of a past period is no longer known,
-- but the hold itself was covered by it.
CREATE FUNCTION sluice_affordable(mode text, balance int8, held int8, amount int8, is_past bool) RETURNS int8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN mode = 'credit' THEN greatest(0, least(balance, amount + greatest(0, balance - held)))
    WHEN is_past THEN amount
    ELSE amount + greatest(0, balance - held)
  END
$$;

-- True: this batch is new. False: it was committed before, and its reply was lost. Raises SL001 for a fenced node.
CREATE FUNCTION sluice_take_number(p_node int, p_lane int, p_seq int8) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
  last int8;
BEGIN
  UPDATE lanes SET seq = p_seq WHERE node_no = p_node AND lane = p_lane AND seq = p_seq - 1;
  IF FOUND THEN RETURN true; END IF;
  SELECT seq INTO last FROM lanes WHERE node_no = p_node AND lane = p_lane;
  IF last = p_seq THEN RETURN false; END IF;
  RAISE EXCEPTION 'node % was taken over (lane % is at %, and batch % came)', p_node, p_lane, last, p_seq USING ERRCODE = 'SL001';
END $$;

-- In this order, whoever locks them: then nobody waits in a circle.
CREATE FUNCTION sluice_lock_accounts(p_sorted int[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_no int;
BEGIN
  FOREACH v_no IN ARRAY p_sorted LOOP PERFORM 1 FROM accounts WHERE no = v_no FOR NO KEY UPDATE; END LOOP;
END $$;

-- Verdicts: 1 held, 2 too little, 3 reserved by other holds, 4 the period's budget is used up; the key is 5 disabled,
-- 6 suspended, 7 revoked, 8 expired, 9 unknown.
CREATE FUNCTION sluice_hold(p_node int, p_lane int, p_seq int8, p_items json)
RETURNS TABLE (verdicts int[], balances float8[], frees float8[], periods float8[]) LANGUAGE plpgsql AS $$
DECLARE
  r record;
  is_new bool := sluice_take_number(p_node, p_lane, p_seq);
  account int := NULL;
  v_held int8; v_period int8; v_used int8; v_balance int8; v_verdict int;
  -- The period of a hold that this very batch was given before.
  v_given int8;
  m int := 0;
  a_no int[] := '{}'; a_held int8[] := '{}'; a_period int8[] := '{}'; a_used int8[] := '{}';
BEGIN
  verdicts := array_fill(9, ARRAY[json_array_length(p_items)]); balances := verdicts; frees := verdicts; periods := verdicts;
  IF is_new THEN
    PERFORM sluice_lock_accounts(ARRAY(
      SELECT DISTINCT k.account_no FROM json_to_recordset(p_items) AS i(key text),
        LATERAL (SELECT account_no FROM keys WHERE id = i.key LIMIT 1) AS k ORDER BY 1));
  END IF;
  FOR r IN
    SELECT i.n, i.id, i.amount, k.status, k.expires_at_ms <= i.now AS is_expired, a.no, a.mode, a.budget_tokens, a.posted, a.held,
      a.period_start_ms, a.period_used, sluice_period_start(a.period, i.now) AS period_now
    FROM json_to_recordset(p_items) AS i(n int, id text, key text, amount int8, now int8)
      LEFT JOIN LATERAL (SELECT * FROM keys WHERE id = i.key LIMIT 1) AS k ON true
      LEFT JOIN LATERAL (SELECT * FROM accounts WHERE no = k.account_no LIMIT 1) AS a ON true
    ORDER BY a.no, i.n
  LOOP
    CONTINUE WHEN r.no IS NULL;
    IF account IS DISTINCT FROM r.no THEN
      account := r.no; v_held := r.held; v_period := r.period_start_ms; v_used := r.period_used;
      m := m + 1; a_no[m] := account;
    END IF;
    IF r.mode = 'token_budget' AND r.period_now > v_period THEN v_period := r.period_now; v_used := 0; v_held := 0; END IF;
    v_balance := sluice_balance(r.mode, r.posted, r.budget_tokens, v_used);
    v_given := NULL;
    IF NOT is_new THEN SELECT period_start_ms INTO v_given FROM holds WHERE id = r.id; END IF;
    v_verdict := CASE
      WHEN v_given IS NOT NULL THEN 1
      WHEN r.status = 'disabled' THEN 5 WHEN r.status = 'suspended' THEN 6 WHEN r.status = 'revoked' THEN 7 WHEN r.is_expired THEN 8
      WHEN v_balance < r.amount THEN CASE WHEN r.mode = 'credit' OR v_balance > 0 THEN 2 ELSE 4 END
      WHEN NOT is_new OR v_balance - v_held < r.amount THEN 3
      ELSE 1 END;
    IF v_verdict = 1 AND is_new THEN v_held := v_held + r.amount; END IF;
    verdicts[r.n] := v_verdict; balances[r.n] := v_balance; frees[r.n] := v_balance - v_held;
    periods[r.n] := coalesce(v_given, v_period);
    a_held[m] := v_held; a_period[m] := v_period; a_used[m] := v_used;
  END LOOP;
  IF is_new THEN
    UPDATE accounts a SET held = u.held, period_start_ms = u.period, period_used = u.used
      FROM unnest(a_no, a_held, a_period, a_used) AS u(no, held, period, used)
      WHERE a.no = ANY (a_no) AND a.no = u.no AND (a.held <> u.held OR a.period_start_ms <> u.period);
    INSERT INTO holds (id, account_no, key_no, node_no, amount, period_start_ms, opened_at_ms, model)
      SELECT i.id, k.account_no, k.no, p_node, i.amount, periods[i.n], i.now, i.model
      FROM json_to_recordset(p_items) AS i(n int, id text, key text, amount int8, now int8, model text),
        LATERAL (SELECT no, account_no FROM keys WHERE id = i.key LIMIT 1) AS k
      WHERE verdicts[i.n] = 1;
  END IF;
  RETURN NEXT;
END $$;

-- Ends holds, and charges those that have a cost. States: 1 ended now, 0 there was no such hold any more.
CREATE FUNCTION sluice_end_holds(p_node int, p_ids text[], p_items json, p_endings json)
RETURNS TABLE (states int[], charges int8[], overruns int8[]) LANGUAGE plpgsql AS $$
DECLARE
  r record;
  n int := cardinality(p_ids);
  m int := 0;
  account int := NULL;
  v_posted int8; v_held int8; v_period_used int8; v_day int; v_day_spend int8; v_charged int8; v_sum int8; v_on int; v_last int8;
  v_requests int; v_input int8; v_output int8;
  keys_of int[]; accounts_of int[]; months int[]; periods int8[]; is_credit bool[];
  a_no int[] := '{}'; a_sum int8[] := '{}'; a_held int8[] := '{}'; a_period_used int8[] := '{}'; a_day int[] := '{}'; a_day_spend int8[] := '{}';
  a_requests int[] := '{}'; a_input int8[] := '{}'; a_output int8[] := '{}'; a_last int8[] := '{}';
BEGIN
  states := array_fill(0, ARRAY[n]); charges := array_fill(0::int8, ARRAY[n]); overruns := charges;
  keys_of := states; accounts_of := states; months := states; periods := charges; is_credit := array_fill(false, ARRAY[n]);
  PERFORM sluice_lock_accounts(ARRAY(SELECT DISTINCT account_no FROM holds WHERE id = ANY (p_ids) ORDER BY 1));
  FOR r IN
    WITH ended AS (
      DELETE FROM holds h USING json_to_recordset(p_items) AS i(n int, id text, cost int8, at int8, recorded int8, input int8, output int8)
      WHERE h.id = ANY (p_ids) AND h.id = i.id
      RETURNING i.n, i.cost, i.at, i.recorded, i.input, i.output, h.account_no, h.key_no, h.amount, h.period_start_ms AS period, h.opened_at_ms)
    SELECT e.*, sluice_month(e.opened_at_ms) AS month, a.no, a.mode, a.budget_tokens, a.posted, a.held, a.period_start_ms, a.period_used, a.day,
      a.day_spend, a.last_cost_nano
    FROM ended e, LATERAL (SELECT * FROM accounts WHERE no = e.account_no LIMIT 1) AS a
    ORDER BY a.no, e.n
  LOOP
    IF account IS DISTINCT FROM r.no THEN
      account := r.no; v_posted := r.posted; v_held := r.held; v_period_used := r.period_used; v_day := r.day; v_day_spend := r.day_spend;
      v_sum := 0; v_requests := 0; v_input := 0; v_output := 0; v_last := r.last_cost_nano;
      m := m + 1; a_no[m] := account;
    END IF;
    states[r.n] := 1; keys_of[r.n] := r.key_no; accounts_of[r.n] := r.no; months[r.n] := r.month; periods[r.n] := r.period; is_credit[r.n] := r.mode = 'credit';
    IF r.cost IS NOT NULL THEN
      v_charged := least(r.cost, sluice_affordable(r.mode, sluice_balance(r.mode, v_posted, r.budget_tokens, v_period_used), v_held, r.amount, r.period <> r.period_start_ms));
      charges[r.n] := v_charged; overruns[r.n] := r.cost - v_charged;
      v_posted := v_posted - v_charged; v_sum := v_sum + v_charged;
      IF r.period = r.period_start_ms THEN v_period_used := v_period_used + v_charged; END IF;
      v_on := r.at / 86400000;
      IF v_on = v_day THEN v_day_spend := v_day_spend + v_charged;
      ELSIF v_on > v_day THEN v_day := v_on; v_day_spend := v_charged;
      END IF;
      IF r.recorded IS NOT NULL THEN
        v_requests := v_requests + 1; v_input := v_input + r.input; v_output := v_output + r.output;
        v_last := CASE WHEN r.mode = 'credit' THEN v_charged ELSE 0 END;
      END IF;
    END IF;
    IF r.period = r.period_start_ms THEN v_held := v_held - r.amount; END IF;
    a_sum[m] := v_sum; a_held[m] := v_held; a_period_used[m] := v_period_used; a_day[m] := v_day; a_day_spend[m] := v_day_spend;
    a_requests[m] := v_requests; a_input[m] := v_input; a_output[m] := v_output; a_last[m] := v_last;
  END LOOP;
  IF m = 0 THEN RETURN NEXT; RETURN; END IF;
  UPDATE accounts a SET posted = a.posted - u.sum, used = a.used + u.sum, held = u.held, period_used = u.period_used, day = u.day, day_spend = u.day_spend,
      requests = a.requests + u.requests, input_tokens = a.input_tokens + u.input, output_tokens = a.output_tokens + u.output, last_cost_nano = u.last
    FROM unnest(a_no, a_sum, a_held, a_period_used, a_day, a_day_spend, a_requests, a_input, a_output, a_last)
      AS u(no, sum, held, period_used, day, day_spend, requests, input, output, last)
    WHERE a.no = ANY (a_no) AND a.no = u.no;
  INSERT INTO entries (month, account_no, key_no, node_no, kind, amount, at_ms, period_start_ms, exchange_id, basis, outcome, list_cost_nano,
      recorded_at_ms, route, model, provider, upstream_model, stream, status, input_tokens, cached_input_tokens, cache_write_tokens,
      output_tokens, reasoning_tokens, cost_nano, first_byte_ms, total_ms, attempts)
    SELECT months[i.n], accounts_of[i.n], keys_of[i.n], p_node, 'charge', -charges[i.n], i.at, periods[i.n], i.id, i.basis, i.outcome, i.list_cost,
      i.recorded, i.route, i.model, i.provider, i.upstream_model, i.stream, i.status, i.uncached, i.cached, i.cache_write,
      CASE WHEN i.recorded IS NOT NULL THEN i.output END, i.reasoning,
      CASE WHEN i.recorded IS NOT NULL THEN CASE WHEN is_credit[i.n] THEN charges[i.n] ELSE 0 END END, i.first_byte, i.total, i.attempts
    FROM json_to_recordset(p_items) AS i(n int, id text, cost int8, at int8, basis text, outcome text, list_cost int8, recorded int8, route text,
      model text, provider text, upstream_model text, stream bool, status int, uncached int8, cached int8, cache_write int8, output int8,
      reasoning int8, first_byte int8, total int8, attempts int)
    WHERE states[i.n] = 1 AND i.cost IS NOT NULL ORDER BY i.n;
  IF 0 < ANY (overruns) THEN
    INSERT INTO entries (month, account_no, key_no, node_no, kind, amount, at_ms, period_start_ms, exchange_id, basis, outcome, model, provider)
      SELECT months[i.n], accounts_of[i.n], keys_of[i.n], p_node, 'overrun', overruns[i.n], i.at, periods[i.n], i.id, i.basis, i.outcome, i.model, i.provider
      FROM json_to_recordset(p_items) AS i(n int, id text, at int8, basis text, outcome text, model text, provider text)
      WHERE overruns[i.n] > 0 ORDER BY i.n;
  END IF;
  IF p_endings IS NOT NULL THEN PERFORM sluice_keep_endings(p_node, p_endings, states, keys_of, months); END IF;
  RETURN NEXT;
END $$;

-- How charged exchanges ended. `n` is the item's place in its batch, as in sluice_end_holds.
CREATE FUNCTION sluice_keep_endings(p_node int, p_endings json, p_states int[], p_keys int[], p_months int[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO exchange_endings (exchange_id, key_no, node_no, at_ms, started_at_ms, route, model, provider, upstream_model, stream, outcome, status,
      code, message, first_byte_ms, total_ms, attempts, attempt_details, entry_id, entry_month, alike)
    SELECT x.id, p_keys[x.n], p_node, x.at, x.started, x.route, x.model, x.provider, x.upstream_model, x.stream, x.outcome, x.status,
      x.code, x.message, x.first_byte, x.total, x.attempts, x.attempt_details, e.id, e.month, x.alike
    FROM json_to_recordset(p_endings) AS x(n int, id text, at int8, started int8, route text, model text, provider text, upstream_model text, stream bool,
        outcome text, status int, code text, message text, first_byte int8, total int8, attempts int, attempt_details text, alike int),
      LATERAL (SELECT id, month FROM entries WHERE exchange_id = x.id AND month = p_months[x.n] AND kind = 'charge' AND outcome = x.outcome LIMIT 1) AS e
    WHERE p_states[x.n] = 1 ORDER BY x.n
$$;

-- The claim becomes the response that it replays. One that is no longer this exchange's stays as it is.
CREATE FUNCTION sluice_store_responses(p_responses json) RETURNS void LANGUAGE sql AS $$
  INSERT INTO idempotency AS i (key_no, route, idempotency_key, body_hash, exchange_id, status, headers, stored_at_ms, recording_id, parts, body)
    SELECT k.no, x.route, x.idempotency_key, x.body_hash, x.id, x.status, x.headers, x.stored_at, x.recording_id, x.parts, decode(x.body, 'base64')
    FROM json_to_recordset(p_responses) AS x(id text, key text, route text, idempotency_key text, body_hash text, status int, headers text, stored_at int8,
        recording_id text, parts int, body text)
      JOIN keys k ON k.id = x.key
    ON CONFLICT (key_no, route, idempotency_key) DO UPDATE SET node_no = NULL, status = excluded.status, headers = excluded.headers,
      stored_at_ms = excluded.stored_at_ms, recording_id = excluded.recording_id, parts = excluded.parts, body = excluded.body
    WHERE i.exchange_id = excluded.exchange_id AND i.stored_at_ms IS NULL
$$;

-- A charge whose hold has ended without it, because the node was taken over before the charge was acknowledged: what is
-- missing of it is charged now, beside what the takeover has charged. Once done, repeating it changes nothing.
CREATE FUNCTION sluice_charge_late(p_node int, p_item json, OUT charged int8, OUT overrun int8) LANGUAGE plpgsql AS $$
DECLARE
  i record; a record; k record;
  v_month int; v_paid int8; v_unpaid int8; v_rest int8; v_now int8; v_period int8; v_on int; is_final bool;
BEGIN
  SELECT * INTO i FROM json_to_record(p_item) AS x(id text, key text, opened int8, period int8, cost int8, at int8, basis text, outcome text, list_cost int8,
    recorded int8, route text, model text, provider text, upstream_model text, stream bool, status int, uncached int8, cached int8, cache_write int8,
    input int8, output int8, reasoning int8, first_byte int8, total int8, attempts int);
  SELECT no, account_no INTO STRICT k FROM keys WHERE id = i.key;
  SELECT * INTO STRICT a FROM accounts WHERE no = k.account_no FOR NO KEY UPDATE;
  v_month := sluice_month(i.opened); v_period := i.period;
  -- Each by an index of its own: a reply that was lost must not read the whole month.
  SELECT coalesce(sum(-amount), 0), coalesce(bool_or(outcome <> 'interrupted'), false) INTO v_paid, is_final
    FROM entries WHERE exchange_id = i.id AND month = v_month AND kind = 'charge';
  SELECT coalesce(sum(amount), 0) INTO v_unpaid FROM entries WHERE exchange_id = i.id AND month = v_month AND kind <> 'charge';
  charged := v_paid; overrun := v_unpaid;
  v_rest := i.cost - v_paid - v_unpaid;
  IF is_final OR v_rest <= 0 THEN RETURN; END IF;
  -- As for a hold of nothing; but a past period's is taken as it is.
  v_now := least(v_rest, sluice_affordable(a.mode, sluice_balance(a.mode, a.posted, a.budget_tokens, a.period_used), a.held,
    CASE WHEN a.mode <> 'credit' AND v_period <> a.period_start_ms THEN v_rest ELSE 0 END, v_period <> a.period_start_ms));
  v_on := i.at / 86400000;
  UPDATE accounts SET posted = posted - v_now, used = used + v_now,
    period_used = period_used + CASE WHEN period_start_ms = v_period THEN v_now ELSE 0 END,
    day_spend = CASE WHEN v_on = day THEN day_spend + v_now WHEN v_on > day THEN v_now ELSE day_spend END, day = greatest(day, v_on),
    requests = requests + CASE WHEN i.recorded IS NULL THEN 0 ELSE 1 END,
    input_tokens = input_tokens + CASE WHEN i.recorded IS NULL THEN 0 ELSE i.input END,
    output_tokens = output_tokens + CASE WHEN i.recorded IS NULL THEN 0 ELSE i.output END,
    last_cost_nano = CASE WHEN i.recorded IS NULL THEN last_cost_nano WHEN mode = 'credit' THEN v_paid + v_now ELSE 0 END
    WHERE no = a.no;
  INSERT INTO entries (month, account_no, key_no, node_no, kind, amount, at_ms, period_start_ms, exchange_id, basis, outcome, note, list_cost_nano,
      recorded_at_ms, route, model, provider, upstream_model, stream, status, input_tokens, cached_input_tokens, cache_write_tokens,
      output_tokens, reasoning_tokens, cost_nano, first_byte_ms, total_ms, attempts)
    VALUES (v_month, a.no, k.no, p_node, 'charge', -v_now, i.at, v_period, i.id, i.basis, i.outcome, 'charged late: the node had been taken over', i.list_cost,
      i.recorded, i.route, i.model, i.provider, i.upstream_model, i.stream, i.status, i.uncached, i.cached, i.cache_write,
      CASE WHEN i.recorded IS NOT NULL THEN i.output END, i.reasoning,
      CASE WHEN i.recorded IS NOT NULL THEN CASE WHEN a.mode = 'credit' THEN v_paid + v_now ELSE 0 END END, i.first_byte, i.total, i.attempts);
  IF v_rest > v_now THEN
    INSERT INTO entries (month, account_no, key_no, node_no, kind, amount, at_ms, period_start_ms, exchange_id, basis, outcome, model, provider)
      VALUES (v_month, a.no, k.no, p_node, 'overrun', v_rest - v_now, i.at, v_period, i.id, i.basis, i.outcome, i.model, i.provider);
  END IF;
  charged := v_paid + v_now; overrun := v_unpaid + v_rest - v_now;
END $$;

-- Ends holds, notes the progress of others. The answer for each item is what was charged, now or before.
CREATE FUNCTION sluice_settle(p_node int, p_lane int, p_seq int8, p_ids text[], p_items json, p_endings json, p_responses json,
  p_progress_ids text[], p_progress int8[])
RETURNS TABLE (charges float8[], overruns float8[]) LANGUAGE plpgsql AS $$
DECLARE
  is_new bool := sluice_take_number(p_node, p_lane, p_seq);
  n int := cardinality(p_ids);
  v_states int[] := array_fill(0, ARRAY[n]);
  v_late record;
  r record;
BEGIN
  charges := array_fill(0::float8, ARRAY[n]); overruns := charges;
  IF is_new AND n > 0 THEN
    SELECT e.states, e.charges, e.overruns INTO v_states, charges, overruns FROM sluice_end_holds(p_node, p_ids, p_items, p_endings) e;
  END IF;
  IF 0 = ANY (v_states) THEN
    FOR r IN SELECT e.value AS item, e.ordinality::int AS n FROM json_array_elements(p_items) WITH ORDINALITY AS e LOOP
      CONTINUE WHEN v_states[r.n] = 1 OR r.item ->> 'cost' IS NULL;
      v_late := sluice_charge_late(p_node, r.item);
      charges[r.n] := v_late.charged; overruns[r.n] := v_late.overrun;
    END LOOP;
  END IF;
  IF is_new AND p_responses IS NOT NULL THEN PERFORM sluice_store_responses(p_responses); END IF;
  IF is_new AND cardinality(p_progress_ids) > 0 THEN
    UPDATE holds h SET charge_so_far = u.so_far FROM unnest(p_progress_ids, p_progress) AS u(id, so_far)
      WHERE h.id = ANY (p_progress_ids) AND h.id = u.id AND h.charge_so_far < u.so_far;
  END IF;
  RETURN NEXT;
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
  FOR r IN SELECT k.no AS key_no, i.route, i.name, i.exchange
    FROM json_to_recordset(p_ends) AS i(key text, route text, name text, exchange text),
      LATERAL (SELECT no FROM keys WHERE id = i.key LIMIT 1) AS k
    ORDER BY k.no, i.route, i.name
  LOOP
    DELETE FROM idempotency i WHERE i.key_no = r.key_no AND i.route = r.route AND i.idempotency_key = r.name AND i.exchange_id = r.exchange
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
    INSERT INTO idempotency AS i (key_no, route, idempotency_key, body_hash, node_no, exchange_id, claimed_at_ms)
      VALUES (r.key_no, r.route, r.name, r.hash, p_node, r.exchange, r.at)
      ON CONFLICT (key_no, route, idempotency_key) DO UPDATE SET body_hash = excluded.body_hash, node_no = excluded.node_no, exchange_id = excluded.exchange_id,
        claimed_at_ms = excluded.claimed_at_ms, status = NULL, headers = NULL, stored_at_ms = NULL, recording_id = NULL, parts = 0, body = NULL
      WHERE i.stored_at_ms < r.not_before;
    SELECT CASE WHEN i.exchange_id = r.exchange AND i.stored_at_ms IS NULL THEN 1 WHEN i.body_hash <> r.hash THEN 3 WHEN i.stored_at_ms IS NULL THEN 2 ELSE 4 END
      INTO v_verdict FROM idempotency i WHERE i.key_no = r.key_no AND i.route = r.route AND i.idempotency_key = r.name;
    verdicts[r.n] := v_verdict;
  END LOOP;
  RETURN NEXT;
END $$;

-- One item for each key: how many requests ask for a token. So many of them may pass; the level is what is left.
CREATE FUNCTION sluice_take_tokens(p_keys text[], p_capacities int[], p_wanted int[]) RETURNS TABLE (granted int[], levels float8[]) LANGUAGE plpgsql AS $$
DECLARE
  r record;
  now_at timestamptz := clock_timestamp();
  v_level float8; v_granted int;
  n int := cardinality(p_keys);
  numbers int[] := ARRAY(SELECT coalesce((SELECT no FROM keys WHERE id = u.id), 0) FROM unnest(p_keys) WITH ORDINALITY AS u(id, n) ORDER BY u.n);
  v_no int;
BEGIN
  granted := array_fill(0, ARRAY[n]); levels := array_fill(0::float8, ARRAY[n]);
  INSERT INTO buckets (key_no, capacity, level, filled_at)
    SELECT u.no, u.capacity, u.capacity, now_at FROM unnest(numbers, p_capacities) AS u(no, capacity) WHERE u.no > 0 ORDER BY 1 ON CONFLICT DO NOTHING;
  FOR v_no IN SELECT DISTINCT u.no FROM unnest(numbers) AS u(no) ORDER BY 1 LOOP
    PERFORM 1 FROM buckets WHERE key_no = v_no FOR NO KEY UPDATE;
  END LOOP;
  -- Only now: those who were waited for have filled it meanwhile.
  now_at := clock_timestamp();
  FOR r IN
    SELECT u.n::int AS n, u.capacity AS wanted_capacity, u.wanted, b.capacity, b.level, b.filled_at
    FROM unnest(numbers, p_capacities, p_wanted) WITH ORDINALITY AS u(no, capacity, wanted, n),
      LATERAL (SELECT * FROM buckets WHERE key_no = u.no LIMIT 1) AS b
  LOOP
    v_level := least(r.capacity, r.level + greatest(0, extract(epoch FROM now_at - r.filled_at)) * r.capacity / 60.0);
    -- A new limit keeps the fill in proportion.
    IF r.capacity <> r.wanted_capacity THEN v_level := v_level * r.wanted_capacity / r.capacity; END IF;
    v_granted := least(r.wanted, floor(v_level + 1e-9)::int);
    granted[r.n] := v_granted; levels[r.n] := greatest(0, v_level - v_granted);
  END LOOP;
  UPDATE buckets b SET level = u.level, capacity = u.capacity, filled_at = now_at
    FROM unnest(numbers, p_capacities, levels) AS u(no, capacity, level) WHERE b.key_no = ANY (numbers) AND b.key_no = u.no;
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

-- A lease that had run out unnoticed begins anew: the database was away, and so was everybody else.
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
-- the database's own start: then every lease is over, and nobody is dead.
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
    IF sluice_fence(v_no, p_node) THEN RETURN NEXT v_no; END IF;
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

-- Ends some of the holds that dead nodes have left: each is charged for what it had produced, or released. When none is
-- left, their claims go too. Whoever calls it: two at once do no harm.
CREATE FUNCTION sluice_clear_dead_nodes(p_node int, p_most int, OUT ended int, OUT charged int, OUT amount float8) LANGUAGE plpgsql AS $$
DECLARE
  now_ms int8 := extract(epoch FROM clock_timestamp()) * 1000;
  v_dead int[] := ARRAY(SELECT no FROM nodes WHERE dead_at IS NOT NULL AND cleared_at IS NULL);
  v_ids text[]; v_items json; v_endings json;
BEGIN
  ended := 0; charged := 0; amount := 0;
  IF cardinality(v_dead) = 0 THEN RETURN; END IF;
  SELECT array_agg(h.id ORDER BY h.n), json_agg(json_build_object('n', h.n, 'id', h.id, 'cost', nullif(h.charge_so_far, 0), 'at', now_ms, 'basis', 'estimated',
      'outcome', 'interrupted', 'model', h.model, 'provider', '') ORDER BY h.n),
    json_agg(json_build_object('n', h.n, 'id', h.id, 'at', now_ms, 'started', h.opened_at_ms, 'route', '', 'model', h.model, 'provider', '', 'upstream_model', '',
      'stream', true, 'outcome', 'interrupted', 'attempts', 1, 'alike', 0) ORDER BY h.n) FILTER (WHERE h.charge_so_far > 0)
    INTO v_ids, v_items, v_endings
    FROM (SELECT *, row_number() OVER (ORDER BY id)::int AS n FROM holds WHERE node_no = ANY (v_dead) ORDER BY id LIMIT p_most) AS h;
  IF v_ids IS NULL THEN
    DELETE FROM idempotency WHERE node_no = ANY (v_dead) AND stored_at_ms IS NULL;
    UPDATE nodes SET cleared_at = clock_timestamp() WHERE no = ANY (v_dead);
    RETURN;
  END IF;
  SELECT cardinality(v_ids), count(*) FILTER (WHERE u.charge > 0), coalesce(sum(u.charge), 0) INTO ended, charged, amount
    FROM sluice_end_holds(p_node, v_ids, v_items, v_endings) AS e, unnest(e.charges) AS u(charge);
END $$;

-- A clean stop: nothing is left behind, not even the node.
CREATE FUNCTION sluice_leave(p_node int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT sluice_fence(p_node, p_node) THEN RETURN; END IF;
  WHILE (SELECT c.ended FROM sluice_clear_dead_nodes(p_node, 500) AS c) > 0 LOOP END LOOP;
  DELETE FROM lanes WHERE node_no = p_node;
  DELETE FROM nodes WHERE no = p_node;
END $$;

-- A table that empties all the time has no honest statistics: a plan that was made while it was small would scan it for
-- ever. So these functions leave it no choice: a row is looked up for each item (LATERAL with LIMIT), or named in an array;
-- nothing is joined, and nothing that is sorted by an index has to be read in its order. And nobody waits for a lock for long: whose connection is gone would wait in vain.
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
    AND proname IN ('sluice_hold', 'sluice_settle', 'sluice_claim', 'sluice_take_tokens') LOOP
    EXECUTE format('ALTER FUNCTION %s SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan SET lock_timeout = ''5s''', f);
  END LOOP;
END $$;
