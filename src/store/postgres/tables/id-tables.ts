import type { CallerId, GivenIds } from "../../records.ts";
import type { Query } from "../client.ts";

/** An id that is given again becomes the newest, so that it is kept as long as a new one. */
export async function insertGivenIds(query: Query, given: readonly GivenIds[]): Promise<void> {
  const rows = new Map<string, readonly [digest: string, answer: GivenIds]>();
  for (const answer of given) {
    for (const digest of answer.idKeys) rows.set(`${answer.keyId} ${digest}`, [digest, answer]);
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

export async function insertCallerIds(query: Query, callerIds: readonly CallerId[]): Promise<void> {
  await query(insertCallers, [
    callerIds.map(({ callerId }) => callerId),
    callerIds.map(({ exchangeId }) => exchangeId),
    callerIds.map(({ atMs }) => atMs),
  ]);
}

const insertCallers = `
INSERT INTO caller_ids (caller_id, exchange_id, at_ms)
SELECT * FROM unnest($1::text[], $2::text[], $3::int8[])`;
