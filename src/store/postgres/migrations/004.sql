-- The same money in fewer steps. Holds and their ends travel in one batch, so that they share its number, its locks and its
-- commit, and as rows of a type instead of JSON, which took a third of the time to read. The functions of the release
-- before stay for as long as its gateways may run; they pass on to the new ones, so that the arithmetic stands here once.

-- Everything is checked together, because PostgreSQL reads each constraint anew for every statement that changes a row.
-- The mode and the period never change, and are what the program says.
DO $$
DECLARE
  v_name text;
BEGIN
  FOR v_name IN SELECT conname FROM pg_constraint WHERE conrelid = 'accounts'::regclass AND contype = 'c' LOOP
    EXECUTE format('ALTER TABLE accounts DROP CONSTRAINT %I', v_name);
  END LOOP;
END $$;
ALTER TABLE accounts ADD CONSTRAINT accounts_are_sound
  CHECK (held >= 0 AND posted = purchased - used AND (posted >= 0 OR mode <> 'credit'));

-- The same as before, by the calendar alone: to find a time zone by its name took longer.
CREATE OR REPLACE FUNCTION sluice_month(at_ms int8) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (date_part('year', (date '1970-01-01' + (at_ms / 86400000)::int)::timestamp) * 12
    + date_part('month', (date '1970-01-01' + (at_ms / 86400000)::int)::timestamp))::int - 23641
$$;

-- A type is part of what a release sends: one that needs more columns makes a type of its own.
CREATE TYPE sluice_hold_order AS (id text, key text, amount int8, now int8, model text);
CREATE TYPE sluice_hold_end AS (
  id text, key text, opened int8, period int8,
  -- NULL for a release.
  cost int8, at int8, basis text, outcome text, list_cost int8, model text, provider text,
  -- The usage record; NULL where there is none.
  recorded int8, route text, upstream_model text, stream bool, status int, uncached int8, cached int8, cache_write int8, input int8, output int8,
  reasoning int8, first_byte int8, total int8, attempts int
);

-- What the functions below find out about an item, for the statement that writes it.
CREATE TYPE sluice_held AS (account_no int, key_no int, period int8);
CREATE TYPE sluice_ended AS (account_no int, key_no int, period int8, month int, charge int8, overrun int8, is_credit bool);
CREATE TYPE sluice_account_sums AS (no int, spent int8, held int8, period_used int8, day int, day_spend int8, requests int, input int8, output int8, last_cost int8);
CREATE TYPE sluice_account_holds AS (no int, held int8, period int8, used int8);

-- Five figures for each order whose key there is: its place from 1 on, the verdict, balance, what is free of it, and period.
-- Verdicts: 1 held, 2 too little, 3 reserved by other holds, 4 the period's budget is used up; the key is 5 disabled,
-- 6 suspended, 7 revoked, 8 expired. Of a batch that was committed before, the holds are found as they were given.
-- The accounts are locked already, by a statement before.
CREATE FUNCTION sluice_open_holds(p_node int, p_is_new bool, p_orders sluice_hold_order[]) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE
  r record;
  v_no int; v_held int8; v_period int8; v_used int8; v_balance int8; v_verdict int; v_given int8;
  held sluice_held[] := array_fill(NULL::sluice_held, ARRAY[cardinality(p_orders)]);
  accounts_held sluice_account_holds[];
  answers float8[];
BEGIN
  FOR r IN
    SELECT i.n::int AS n, i.id, i.amount, k.no AS key_no, k.status, k.expires_at_ms <= i.now AS is_expired, a.no, a.mode, a.budget_tokens, a.posted, a.held,
      a.period_start_ms, a.period_used, sluice_period_start(a.period, i.now) AS period_now
    FROM unnest(p_orders) WITH ORDINALITY AS i(id, key, amount, now, model, n),
      LATERAL (SELECT no, account_no, status, expires_at_ms FROM keys WHERE id = i.key LIMIT 1) AS k,
      LATERAL (SELECT * FROM accounts WHERE no = k.account_no LIMIT 1) AS a
    ORDER BY a.no, i.n
  LOOP
    IF v_no IS DISTINCT FROM r.no THEN
      IF v_no IS NOT NULL THEN accounts_held := accounts_held || ROW(v_no, v_held, v_period, v_used)::sluice_account_holds; END IF;
      v_no := r.no; v_held := r.held; v_period := r.period_start_ms; v_used := r.period_used;
    END IF;
    IF r.mode = 'token_budget' AND r.period_now > v_period THEN v_period := r.period_now; v_used := 0; v_held := 0; END IF;
    v_balance := sluice_balance(r.mode, r.posted, r.budget_tokens, v_used);
    IF NOT p_is_new THEN v_given := (SELECT period_start_ms FROM holds WHERE id = r.id); END IF;
    v_verdict := CASE
      WHEN v_given IS NOT NULL THEN 1
      WHEN r.status = 'disabled' THEN 5 WHEN r.status = 'suspended' THEN 6 WHEN r.status = 'revoked' THEN 7 WHEN r.is_expired THEN 8
      WHEN v_balance < r.amount THEN CASE WHEN r.mode = 'credit' OR v_balance > 0 THEN 2 ELSE 4 END
      WHEN NOT p_is_new OR v_balance - v_held < r.amount THEN 3
      ELSE 1 END;
    IF v_verdict = 1 AND p_is_new THEN
      v_held := v_held + r.amount;
      held[r.n] := ROW(r.no, r.key_no, v_period)::sluice_held;
    END IF;
    answers := answers || ARRAY[r.n, v_verdict, v_balance, v_balance - v_held, coalesce(v_given, v_period)]::float8[];
  END LOOP;
  IF v_no IS NULL OR NOT p_is_new THEN RETURN answers; END IF;
  accounts_held := accounts_held || ROW(v_no, v_held, v_period, v_used)::sluice_account_holds;
  UPDATE accounts a SET held = u.held, period_start_ms = u.period, period_used = u.used
    FROM unnest(accounts_held) AS u
    WHERE a.no = ANY (ARRAY(SELECT no FROM unnest(accounts_held))) AND a.no = u.no AND (a.held <> u.held OR a.period_start_ms <> u.period);
  INSERT INTO holds (id, account_no, key_no, node_no, amount, period_start_ms, opened_at_ms, model)
    SELECT i.id, i.account_no, i.key_no, p_node, i.amount, i.period, i.now, i.model
    FROM unnest(p_orders, held) AS i(id, key, amount, now, model, account_no, key_no, period) WHERE i.account_no IS NOT NULL;
  RETURN answers;
END $$;

-- Ends holds, and charges those that have a cost. Three figures for each hold that there was: its place from 1 on, what was
-- charged, and what could not be. The accounts are locked already.
CREATE FUNCTION sluice_end_holds(p_node int, p_ends sluice_hold_end[], p_endings json) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE
  r record;
  v_found int := 0; v_gone int;
  v_no int; v_before int8; v_posted int8; v_held int8; v_period_used int8; v_day int; v_day_spend int8; v_last int8;
  v_requests int; v_input int8; v_output int8; v_charged int8; v_on int;
  is_overrun bool := false;
  ended sluice_ended[] := array_fill(NULL::sluice_ended, ARRAY[cardinality(p_ends)]);
  sums sluice_account_sums[];
  answers float8[];
BEGIN
  FOR r IN
    SELECT i.n::int AS n, i.cost, i.at, i.recorded, i.input, i.output, h.key_no, h.amount, h.period_start_ms AS period, sluice_month(h.opened_at_ms) AS month,
      a.no, a.mode, a.budget_tokens, a.posted, a.held, a.period_start_ms, a.period_used, a.day, a.day_spend, a.last_cost_nano
    FROM unnest(p_ends) WITH ORDINALITY AS i(id, key, opened, period, cost, at, basis, outcome, list_cost, model, provider, recorded, route, upstream_model,
        stream, status, uncached, cached, cache_write, input, output, reasoning, first_byte, total, attempts, n),
      LATERAL (SELECT account_no, key_no, amount, period_start_ms, opened_at_ms FROM holds WHERE id = i.id LIMIT 1) AS h,
      LATERAL (SELECT * FROM accounts WHERE no = h.account_no LIMIT 1) AS a
    ORDER BY a.no, i.n
  LOOP
    IF v_no IS DISTINCT FROM r.no THEN
      IF v_no IS NOT NULL THEN
        sums := sums || ROW(v_no, v_before - v_posted, v_held, v_period_used, v_day, v_day_spend, v_requests, v_input, v_output, v_last)::sluice_account_sums;
      END IF;
      v_no := r.no; v_before := r.posted; v_posted := r.posted; v_held := r.held; v_period_used := r.period_used; v_day := r.day; v_day_spend := r.day_spend;
      v_requests := 0; v_input := 0; v_output := 0; v_last := r.last_cost_nano;
    END IF;
    v_found := v_found + 1; v_charged := 0;
    IF r.cost IS NOT NULL THEN
      v_charged := least(r.cost, sluice_affordable(r.mode, sluice_balance(r.mode, v_posted, r.budget_tokens, v_period_used), v_held, r.amount, r.period <> r.period_start_ms));
      v_posted := v_posted - v_charged;
      IF r.cost > v_charged THEN is_overrun := true; END IF;
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
    ended[r.n] := ROW(r.no, r.key_no, r.period, r.month, v_charged, r.cost - v_charged, r.mode = 'credit')::sluice_ended;
    answers := answers || ARRAY[r.n, v_charged, coalesce(r.cost - v_charged, 0)]::float8[];
  END LOOP;
  IF v_found = 0 THEN RETURN answers; END IF;
  DELETE FROM holds WHERE id = ANY (ARRAY(SELECT id FROM unnest(p_ends)));
  GET DIAGNOSTICS v_gone = ROW_COUNT;
  -- Somebody else has ended one meanwhile, who must have taken this node for dead: again, and it will not be found. Or a batch names
  -- one twice: then one by one, and the second will not be found.
  IF v_gone <> v_found THEN
    RAISE EXCEPTION 'of % holds % could be ended', v_found, v_gone USING ERRCODE = CASE WHEN cardinality(p_ends) = 1 THEN '40001' ELSE '23000' END;
  END IF;
  sums := sums || ROW(v_no, v_before - v_posted, v_held, v_period_used, v_day, v_day_spend, v_requests, v_input, v_output, v_last)::sluice_account_sums;
  UPDATE accounts a SET posted = a.posted - u.spent, used = a.used + u.spent, held = u.held, period_used = u.period_used, day = u.day, day_spend = u.day_spend,
      requests = a.requests + u.requests, input_tokens = a.input_tokens + u.input, output_tokens = a.output_tokens + u.output, last_cost_nano = u.last_cost
    FROM unnest(sums) AS u WHERE a.no = ANY (ARRAY(SELECT no FROM unnest(sums))) AND a.no = u.no;
  INSERT INTO entries (month, account_no, key_no, node_no, kind, amount, at_ms, period_start_ms, exchange_id, basis, outcome, list_cost_nano,
      recorded_at_ms, route, model, provider, upstream_model, stream, status, input_tokens, cached_input_tokens, cache_write_tokens,
      output_tokens, reasoning_tokens, cost_nano, first_byte_ms, total_ms, attempts)
    SELECT i.month, i.account_no, i.key_no, p_node, 'charge', -i.charge, i.at, i.held_period, i.id, i.basis, i.outcome, i.list_cost,
      i.recorded, i.route, i.model, i.provider, i.upstream_model, i.stream, i.status, i.uncached, i.cached, i.cache_write,
      CASE WHEN i.recorded IS NOT NULL THEN i.output END, i.reasoning,
      CASE WHEN i.recorded IS NOT NULL THEN CASE WHEN i.is_credit THEN i.charge ELSE 0 END END, i.first_byte, i.total, i.attempts
    FROM unnest(p_ends, ended) AS i(id, key, opened, period, cost, at, basis, outcome, list_cost, model, provider, recorded, route, upstream_model,
        stream, status, uncached, cached, cache_write, input, output, reasoning, first_byte, total, attempts,
        account_no, key_no, held_period, month, charge, overrun, is_credit)
    WHERE i.account_no IS NOT NULL AND i.cost IS NOT NULL;
  IF is_overrun THEN
    INSERT INTO entries (month, account_no, key_no, node_no, kind, amount, at_ms, period_start_ms, exchange_id, basis, outcome, model, provider)
      SELECT i.month, i.account_no, i.key_no, p_node, 'overrun', i.overrun, i.at, i.held_period, i.id, i.basis, i.outcome, i.model, i.provider
      FROM unnest(p_ends, ended) AS i(id, key, opened, period, cost, at, basis, outcome, list_cost, model, provider, recorded, route, upstream_model,
          stream, status, uncached, cached, cache_write, input, output, reasoning, first_byte, total, attempts,
          account_no, key_no, held_period, month, charge, overrun, is_credit)
      WHERE i.overrun > 0;
  END IF;
  IF p_endings IS NOT NULL THEN
    PERFORM sluice_keep_endings(p_node, p_endings,
      ARRAY(SELECT CASE WHEN u.account_no IS NULL THEN 0 ELSE 1 END FROM unnest(ended) AS u),
      ARRAY(SELECT u.key_no FROM unnest(ended) AS u), ARRAY(SELECT u.month FROM unnest(ended) AS u));
  END IF;
  RETURN answers;
END $$;

-- Notes what many streams have produced, in as much time as there are of them: their rows are found one by one. A join would compare
-- each with all others of the batch, a thousand of them for tens of milliseconds, for which the holds of the same batch wait.
-- A row that has moved meanwhile is left for the next note.
CREATE FUNCTION sluice_note_progress(p_ids text[], p_progress int8[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE holds h SET charge_so_far = x.so_far
  FROM (SELECT at.ctid AS place, u.so_far FROM unnest(p_ids, p_progress) AS u(id, so_far),
    LATERAL (SELECT ctid FROM holds WHERE id = u.id LIMIT 1) AS at) AS x
  WHERE h.ctid = x.place AND h.charge_so_far < x.so_far;
END $$;

-- One batch of a node: ends holds, notes the progress of others, and opens new ones. The accounts of all of them are locked first,
-- in the order of their numbers. `charges` has three figures for each end that charged something, now or before; `verdicts` five for each
-- order. A batch of one item, as of one request at a time, has one account, which is found and locked without the rest.
CREATE FUNCTION sluice_do_batch(p_node int, p_lane int, p_seq int8, p_ends sluice_hold_end[], p_orders sluice_hold_order[], p_endings json, p_responses json,
  p_progress_ids text[], p_progress int8[], OUT charges float8[], OUT verdicts float8[]) LANGUAGE plpgsql AS $$
DECLARE
  is_new bool;
BEGIN
  UPDATE lanes SET seq = p_seq WHERE node_no = p_node AND lane = p_lane AND seq = p_seq - 1;
  is_new := FOUND OR sluice_take_number(p_node, p_lane, p_seq);
  CASE
    WHEN p_ends IS NULL AND cardinality(p_orders) = 1 THEN
      PERFORM 1 FROM accounts WHERE no = (SELECT account_no FROM keys WHERE id = (p_orders[1]).key) FOR NO KEY UPDATE;
    WHEN p_orders IS NULL AND cardinality(p_ends) = 1 THEN
      PERFORM 1 FROM accounts WHERE no = (SELECT account_no FROM holds WHERE id = (p_ends[1]).id) FOR NO KEY UPDATE;
    ELSE
      PERFORM 1 FROM accounts WHERE no = ANY (ARRAY(
        SELECT account_no FROM holds WHERE id = ANY (ARRAY(SELECT id FROM unnest(p_ends)))
        UNION ALL SELECT account_no FROM keys WHERE id = ANY (ARRAY(SELECT key FROM unnest(p_orders)))))
        ORDER BY no FOR NO KEY UPDATE;
  END CASE;
  IF p_ends IS NOT NULL THEN
    IF is_new THEN charges := sluice_end_holds(p_node, p_ends, p_endings); END IF;
    IF coalesce(cardinality(charges), 0) < 3 * cardinality(p_ends) THEN charges := charges || sluice_charge_lost(p_node, p_ends, charges); END IF;
  END IF;
  IF is_new AND p_responses IS NOT NULL THEN PERFORM sluice_store_responses(p_responses); END IF;
  IF is_new AND p_progress_ids IS NOT NULL THEN
    PERFORM sluice_note_progress(p_progress_ids, p_progress);
  END IF;
  IF p_orders IS NOT NULL THEN verdicts := sluice_open_holds(p_node, is_new, p_orders); END IF;
END $$;
-- The charges whose holds were not there any more; see sluice_charge_late. `p_made` has three figures for each of the others.
CREATE FUNCTION sluice_charge_lost(p_node int, p_ends sluice_hold_end[], p_made float8[]) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE
  r record;
  v_made int[] := ARRAY(SELECT p_made[i] FROM generate_series(1, cardinality(p_made), 3) AS i);
  v_late record;
  answers float8[];
BEGIN
  FOR r IN SELECT i.n, p_ends[i.n] AS item FROM generate_subscripts(p_ends, 1) AS i(n) WHERE NOT i.n = ANY (v_made) LOOP
    CONTINUE WHEN (r.item).cost IS NULL;
    v_late := sluice_charge_late(p_node, row_to_json(r.item));
    answers := answers || ARRAY[r.n, v_late.charged, v_late.overrun]::float8[];
  END LOOP;
  RETURN answers;
END $$;

-- For gateways of the release before.
CREATE OR REPLACE FUNCTION sluice_hold(p_node int, p_lane int, p_seq int8, p_items json)
RETURNS TABLE (verdicts int[], balances float8[], frees float8[], periods float8[]) LANGUAGE plpgsql AS $$
DECLARE
  is_new bool := sluice_take_number(p_node, p_lane, p_seq);
  answers float8[];
  n int;
BEGIN
  PERFORM sluice_lock_accounts(ARRAY(
    SELECT DISTINCT k.account_no FROM json_to_recordset(p_items) AS i(key text),
      LATERAL (SELECT account_no FROM keys WHERE id = i.key LIMIT 1) AS k ORDER BY 1));
  answers := sluice_open_holds(p_node, is_new, ARRAY(SELECT json_populate_recordset(NULL::sluice_hold_order, p_items)));
  verdicts := array_fill(9, ARRAY[json_array_length(p_items)]); balances := verdicts; frees := verdicts; periods := verdicts;
  FOR i IN 1 .. coalesce(cardinality(answers), 0) BY 5 LOOP
    n := answers[i];
    verdicts[n] := answers[i + 1]; balances[n] := answers[i + 2]; frees[n] := answers[i + 3]; periods[n] := answers[i + 4];
  END LOOP;
  RETURN NEXT;
END $$;

-- For gateways of the release before, and for those who clear up after dead nodes.
CREATE OR REPLACE FUNCTION sluice_end_holds(p_node int, p_ids text[], p_items json, p_endings json)
RETURNS TABLE (states int[], charges int8[], overruns int8[]) LANGUAGE plpgsql AS $$
DECLARE
  answers float8[];
  n int;
BEGIN
  PERFORM sluice_lock_accounts(ARRAY(SELECT DISTINCT account_no FROM holds WHERE id = ANY (p_ids) ORDER BY 1));
  answers := sluice_end_holds(p_node, ARRAY(SELECT json_populate_recordset(NULL::sluice_hold_end, p_items)), p_endings);
  states := array_fill(0, ARRAY[cardinality(p_ids)]); charges := states; overruns := states;
  FOR i IN 1 .. coalesce(cardinality(answers), 0) BY 3 LOOP
    n := answers[i];
    states[n] := 1; charges[n] := answers[i + 1]; overruns[n] := answers[i + 2];
  END LOOP;
  RETURN NEXT;
END $$;

-- As in 002: no plan may depend on how many holds there happen to be, and nobody waits for a lock for long.
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname IN ('sluice_hold', 'sluice_do_batch') LOOP
    EXECUTE format('ALTER FUNCTION %s SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan SET lock_timeout = ''5s''', f);
  END LOOP;
END $$;
