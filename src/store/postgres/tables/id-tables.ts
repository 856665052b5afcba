import type { CallerId, IssuedIds } from "../../records.ts";
import type { Query } from "../client.ts";

/** An id that is issued again becomes the newest, so that it is stored as long as a new one. */
export async function insertIssuedIds(query: Query, issued: readonly IssuedIds[]): Promise<void> {
  const rows = new Map<string, readonly [idKey: string, answer: IssuedIds]>();
  for (const answer of issued) {
    for (const idKey of answer.idKeys) rows.set(`${answer.keyId} ${idKey}`, [idKey, answer]);
  }
  const all = [...rows.values()];
  await query(insertIssued, [
    all.map(([, { keyId }]) => keyId),
    all.map(([idKey]) => idKey),
    all.map(([, { provider }]) => provider),
    all.map(([, { credential }]) => credential),
    all.map(([, { tokens }]) => tokens),
    all.map(([, { atMs }]) => atMs),
  ]);
}

/** Sorted, so that two nodes that get the same ids lock them in the same order. */
const insertIssued = `
INSERT INTO issued_ids (key_no, id_key, provider, credential, tokens, issued_at_ms)
SELECT keys.no, u.id_key, u.provider, u.credential, u.tokens, u.at_ms
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::int8[])
  u (key_id, id_key, provider, credential, tokens, at_ms)
JOIN keys ON keys.id = u.key_id
ORDER BY keys.no, u.id_key
ON CONFLICT (key_no, id_key) DO UPDATE
SET no = DEFAULT, provider = excluded.provider, credential = excluded.credential, tokens = excluded.tokens,
  issued_at_ms = excluded.issued_at_ms`;

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
