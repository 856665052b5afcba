import type { Query } from "../query.ts";
import type { GivenId } from "../store.ts";

/** Ids that are kept for a while: those that providers gave to keys, and those that clients gave their calls. */

/** Which of these ids of a provider a key was given, in the given order; null for those that it was not. */
export async function findGivenIds(
  query: Query,
  keyId: string,
  idKeys: readonly string[],
): Promise<readonly (GivenId | null)[]> {
  const rows = await query<GivenId & { digest: string }>(
    `SELECT digest, provider, credential, tokens::float8 AS tokens FROM given_ids
    WHERE key_no = (SELECT no FROM keys WHERE id = $1::text) AND digest = ANY ($2::text[])`,
    [keyId, idKeys],
  );
  const given = new Map(rows.map(({ digest, ...rest }) => [digest, rest]));
  return idKeys.map((idKey) => given.get(idKey) ?? null);
}

/** The exchanges that a client gave this id, newest first. */
export async function findCalled(query: Query, callerId: string, limit: number): Promise<readonly string[]> {
  const rows = await query<{ exchangeId: string }>(
    'SELECT exchange_id AS "exchangeId" FROM caller_ids WHERE caller_id = $1::text ORDER BY no DESC LIMIT $2::int8',
    [callerId, limit],
  );
  return rows.map(({ exchangeId }) => exchangeId);
}
