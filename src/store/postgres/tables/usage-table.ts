import type { NumberedUsage, UsageQuery } from "../../store.ts";
import type { Parameter, Query } from "../client.ts";

interface UsageRow extends Omit<NumberedUsage, "usage"> {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** The usage records one by one. */
export async function listUsage(
  query: Query,
  { beforeId = Number.MAX_SAFE_INTEGER, limit, keyId, outcome }: UsageQuery,
): Promise<NumberedUsage[]> {
  const parameters: Parameter[] = [beforeId, limit];
  const conditions = ["entries.id < $1::int8", "recorded_at_ms IS NOT NULL"];
  if (keyId !== undefined) {
    const place = `$${parameters.push(keyId)}`;
    conditions.push(
      `entries.account_no = (SELECT account_no FROM keys WHERE id = ${place}) AND keys.id = ${place}`,
    );
  }
  if (outcome !== undefined) conditions.push(`outcome = $${parameters.push(outcome)}`);
  const rows = await query<UsageRow>(
    `${selectUsage} WHERE ${conditions.join(" AND ")} ORDER BY entries.id DESC LIMIT $2::int`,
    parameters,
  );
  return rows.map(usageOf);
}

function usageOf(row: UsageRow): NumberedUsage {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, ...rest } = row;
  const usage = { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens };
  return { ...rest, usage };
}

const selectUsage = `
SELECT entries.id::float8 AS id, exchange_id AS "exchangeId", keys.id AS "keyId", recorded_at_ms::float8 AS "atMs",
  route, model, provider, upstream_model AS "upstreamModel", stream, outcome, entries.status,
  input_tokens::float8 AS "inputTokens", cached_input_tokens::float8 AS "cachedInputTokens",
  cache_write_tokens::float8 AS "cacheWriteTokens", output_tokens::float8 AS "outputTokens",
  reasoning_tokens::float8 AS "reasoningTokens", basis, cost_nano::float8 AS "costNano",
  first_byte_ms::float8 AS "firstByteMs", total_ms::float8 AS "totalMs", attempts
FROM entries JOIN keys ON keys.no = entries.key_no`;
