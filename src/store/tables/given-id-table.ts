import type { Query } from "../query.ts";
import type { GivenId } from "../records.ts";

/** Which of these ids of a provider a key was given, in the given order; null for those that it was not. */
export async function findGivenIds(
  query: Query,
  keyId: string,
  digests: readonly string[],
): Promise<readonly (GivenId | null)[]> {
  const rows = await query<GivenId & { digest: string }>(
    `SELECT digest, provider, credential, tokens::float8 AS tokens FROM given_ids
    WHERE key_no = (SELECT no FROM keys WHERE id = $1::text) AND digest = ANY ($2::text[])`,
    [keyId, digests],
  );
  const given = new Map(rows.map(({ digest, ...rest }) => [digest, rest]));
  return digests.map((digest) => given.get(digest) ?? null);
}
