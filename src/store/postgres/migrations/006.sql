-- What many streams have produced is noted in as much time as there are of them: their rows are found one by one. Before, each was compared with
-- all others of the batch, a thousand of them for tens of milliseconds, for which the holds of the same batch waited.
-- A row that has moved meanwhile is left for the next note.
CREATE FUNCTION sluice_note_progress(p_ids text[], p_progress int8[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE holds h SET charge_so_far = x.so_far
  FROM (SELECT at.ctid AS place, u.so_far FROM unnest(p_ids, p_progress) AS u(id, so_far),
    LATERAL (SELECT ctid FROM holds WHERE id = u.id LIMIT 1) AS at) AS x
  WHERE h.ctid = x.place AND h.charge_so_far < x.so_far;
END $$;

CREATE OR REPLACE FUNCTION sluice_do_batch(p_node int, p_lane int, p_seq int8, p_ends sluice_hold_end[], p_orders sluice_hold_order[], p_endings json, p_responses json,
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
ALTER FUNCTION sluice_do_batch SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
  SET lock_timeout = '5s';
