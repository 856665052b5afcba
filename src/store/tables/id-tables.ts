import type { Query } from "../query.ts";
import type { IssuedId } from "../store.ts";

/** Ids that are stored for a while: ids that providers issued to keys, and ids that clients sent with their requests. */

/** Which of these ids were issued to a key, in the same order; null for those that were not. */
export async function findIssuedIds(
  query: Query,
  keyId: string,
  idKeys: readonly string[],
): Promise<readonly (IssuedId | null)[]> {
  const rows = await query<IssuedId & { idKey: string }>(
    `SELECT id_key AS "idKey", provider, credential, tokens::float8 AS tokens FROM issued_ids
    WHERE key_no = (SELECT no FROM keys WHERE id = $1::text) AND id_key = ANY ($2::text[])`,
    [keyId, idKeys],
  );
  const issued = new Map(rows.map(({ idKey, ...rest }) => [idKey, rest]));
  return idKeys.map((idKey) => issued.get(idKey) ?? null);
}

/** The exchanges whose client sent this id, newest first. */
export async function findCalled(query: Query, callerId: string, limit: number): Promise<readonly string[]> {
  const rows = await query<{ exchangeId: string }>(
    'SELECT exchange_id AS "exchangeId" FROM caller_ids WHERE caller_id = $1::text ORDER BY no DESC LIMIT $2::int8',
    [callerId, limit],
  );
  return rows.map(({ exchangeId }) => exchangeId);
}
