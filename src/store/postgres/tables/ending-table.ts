import { assert } from "../../../base/assert.ts";
import type { AttemptSums, ExchangeEnding } from "../../records.ts";
import type { EndingsPruning } from "../../store.ts";
import type { Query } from "../client.ts";
import { attemptRow } from "../lanes/hold-end.ts";
import { rowsText } from "../lanes/row-text.ts";

/** How exchanges ended that cost nothing. */
export async function insertEndings(
  query: Query,
  endings: readonly ExchangeEnding[],
  attempts: readonly AttemptSums[],
): Promise<void> {
  const [row] = await query<{ written: number }>(insertAll, [
    endings.map(({ exchangeId }) => exchangeId),
    endings.map(({ keyId }) => keyId),
    endings.map(({ atMs }) => atMs),
    endings.map(({ startedAtMs }) => startedAtMs),
    endings.map(({ route }) => route),
    endings.map(({ model }) => model),
    endings.map(({ provider }) => provider),
    endings.map(({ upstreamModel }) => upstreamModel),
    endings.map(({ stream }) => stream),
    endings.map(({ outcome }) => outcome),
    endings.map(({ status }) => status),
    endings.map(({ code }) => code),
    endings.map(({ message }) => message),
    endings.map(({ firstByteMs }) => rounded(firstByteMs)),
    endings.map(({ totalMs }) => rounded(totalMs)),
    endings.map(({ attempts }) => attempts),
    endings.map(({ attemptDetails }) =>
      attemptDetails.length === 0 ? null : JSON.stringify(attemptDetails),
    ),
    endings.map(({ alike }) => alike),
    endings.map(({ labels }) => labels),
    rowsText(
      attempts.map((sums) => [0, sums.day, sums] as const),
      attemptRow,
    ),
  ]);
  assert(row?.written === endings.length, "every ending is of a key that exists");
}

/** Those that are not in the sums yet stay: the sums are completed from them. */
export async function pruneEndings(query: Query, { beforeMs, newest, limit }: EndingsPruning): Promise<void> {
  await query(deleteOldest, [limit, beforeMs, newest]);
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}

const insertAll = `
WITH written AS (
  INSERT INTO exchange_endings (exchange_id, key_no, at_ms, started_at_ms, route, model, provider, upstream_model,
    stream, outcome, status, code, message, first_byte_ms, total_ms, attempts, attempt_details, alike, labels)
  SELECT u.exchange_id, keys.no, u.at_ms, u.started_at_ms, u.route, u.model, u.provider, u.upstream_model,
    u.stream, u.outcome, u.status, u.code, u.message, u.first_byte_ms, u.total_ms, u.attempts, u.attempt_details, u.alike, u.labels
  FROM unnest($1::text[], $2::text[], $3::int8[], $4::int8[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bool[],
    $10::text[], $11::int[], $12::text[], $13::text[], $14::int8[], $15::int8[], $16::int[], $17::text[], $18::int[], $19::text[])
    WITH ORDINALITY u (exchange_id, key_id, at_ms, started_at_ms, route, model, provider, upstream_model, stream, outcome,
    status, code, message, first_byte_ms, total_ms, attempts, attempt_details, alike, labels, place)
  JOIN keys ON keys.id = u.key_id ORDER BY u.place
  RETURNING id
)
SELECT (SELECT count(*)::int FROM written) AS written, sluice_count_attempts(0, $20::sluice_attempt[])`;

const deleteOldest = `
DELETE FROM exchange_endings
WHERE id IN (SELECT id FROM exchange_endings ORDER BY id LIMIT $1::int FOR UPDATE SKIP LOCKED)
  AND id <= (SELECT endings_through FROM rollups)
  AND (at_ms < $2::int8 OR id <= (SELECT max(id) FROM exchange_endings) - $3::int8)`;
