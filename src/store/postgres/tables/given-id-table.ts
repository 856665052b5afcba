import type { GivenId, GivenIds } from "../../records.ts";
import type { OldestPruning } from "../../store.ts";
import type { Query } from "../client.ts";

/** Which ids of a provider a key was given. */

/** In the given order; null for ids that the key was not given. */
export async function findGivenIds(
  query: Query,
  keyId: string,
  digests: readonly string[],
): Promise<(GivenId | null)[]> {
  const rows = await query<GivenId & { digest: string }>(
    "SELECT digest, provider, credential, tokens::float8 FROM given_ids WHERE key_no = (SELECT no FROM keys WHERE id = $1) AND digest = ANY ($2::text[])",
    [keyId, digests],
  );
  const given = new Map(rows.map(({ digest, ...rest }) => [digest, rest]));
  return digests.map((digest) => given.get(digest) ?? null);
}

/** An id that is given again becomes the newest, so that it is kept as long as a new one. */
export async function insertGivenIds(query: Query, given: readonly GivenIds[]): Promise<void> {
  const rows = new Map<string, readonly [digest: string, answer: GivenIds]>();
  for (const answer of given) {
    for (const digest of answer.digests) rows.set(`${answer.keyId} ${digest}`, [digest, answer]);
  }
  const all = [...rows.values()];
  await query(insertGiven, [
    all.map(([, { keyId }]) => keyId),
    all.map(([digest]) => digest),
    all.map(([, { provider }]) => provider),
    all.map(([, { credential }]) => credential),
    all.map(([, { tokens }]) => tokens),
    all.map(([, { atMs }]) => atMs),
  ]);
}

/** Numbers grow with time, so the oldest rows are the first ones. */
export async function pruneGivenIds(query: Query, { beforeMs, keep, limit }: OldestPruning): Promise<number> {
  const [row] = await query<{ pruned: number }>(deleteOldest, [limit, beforeMs, keep]);
  return row?.pruned ?? 0;
}

/** Sorted, so that two nodes that are given the same ids lock them in the same order. */
const insertGiven = `
INSERT INTO given_ids (key_no, digest, provider, credential, tokens, given_at_ms)
SELECT keys.no, u.digest, u.provider, u.credential, u.tokens, u.at_ms
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::int8[])
  u (key_id, digest, provider, credential, tokens, at_ms)
JOIN keys ON keys.id = u.key_id
ORDER BY keys.no, u.digest
ON CONFLICT (key_no, digest) DO UPDATE
SET no = DEFAULT, provider = excluded.provider, credential = excluded.credential, tokens = excluded.tokens,
  given_at_ms = excluded.given_at_ms`;

const deleteOldest = `
WITH pruned AS (
  DELETE FROM given_ids
  WHERE no IN (SELECT no FROM given_ids ORDER BY no LIMIT $1::int FOR UPDATE SKIP LOCKED)
    AND (given_at_ms < $2::int8 OR no <= (SELECT max(no) FROM given_ids) - $3::int8)
  RETURNING no
)
SELECT count(*)::int AS pruned FROM pruned`;
