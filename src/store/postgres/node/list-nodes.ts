import type { NodeRecord, NodeState } from "../../node-records.ts";
import type { Query } from "../client.ts";

const stateColumns = `no, name,
  CASE WHEN dead_at IS NOT NULL THEN 'dead' WHEN lease_until < clock_timestamp() THEN 'late' ELSE 'live' END AS state,
  floor(extract(epoch FROM started_at) * 1000)::float8 AS "startedAtMs",
  floor(extract(epoch FROM beat_at) * 1000)::float8 AS "lastBeatMs"`;

/** Nodes that have joined and not left. Dead nodes stay listed for a day. */
export function listNodes(query: Query): Promise<readonly NodeRecord[]> {
  return query<NodeRecord>(`
SELECT ${stateColumns}, version, CASE WHEN dead_at IS NULL THEN in_flight ELSE 0 END AS "inFlight",
  (SELECT count(*) FROM holds WHERE node_no = nodes.no)::int AS holds
FROM nodes ORDER BY no`);
}

/** Whether gateways of several releases use the database. */
export async function areNodesMixed(query: Query): Promise<boolean> {
  const [row] = await query<{ releases: number }>(
    "SELECT count(DISTINCT version)::int AS releases FROM nodes WHERE dead_at IS NULL",
  );
  return (row?.releases ?? 0) > 1;
}

/** Reads no holds: no index finds the holds of a node, and under load most of the table are deleted rows. */
export function listNodeStates(query: Query): Promise<readonly NodeState[]> {
  return query<NodeState>(`SELECT ${stateColumns} FROM nodes ORDER BY no`);
}
