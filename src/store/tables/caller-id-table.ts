import type { Query } from "../query.ts";

/** The exchanges that a client gave this id, newest first. */
export async function findCalled(query: Query, callerId: string, limit: number): Promise<readonly string[]> {
  const rows = await query<{ exchangeId: string }>(
    'SELECT exchange_id AS "exchangeId" FROM caller_ids WHERE caller_id = $1::text ORDER BY no DESC LIMIT $2::int8',
    [callerId, limit],
  );
  return rows.map(({ exchangeId }) => exchangeId);
}
