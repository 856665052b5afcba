import { Parameters, type Query } from "../query.ts";
import { ofKey } from "../reporting/row-search.ts";
import type { NumberedUsage, UsageQuery } from "../store.ts";

interface UsageRow extends Omit<NumberedUsage, "usage" | "stream"> {
  /** SQLite has 0 and 1 for false and true. */
  readonly stream: number | boolean;
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
): Promise<readonly NumberedUsage[]> {
  const parameters = new Parameters();
  const conditions = [`entries.id < ${parameters.add(beforeId)}`, "recorded_at_ms IS NOT NULL"];
  if (keyId !== undefined) conditions.push(ofKey(keyId, parameters));
  if (outcome !== undefined) conditions.push(`outcome = ${parameters.add(outcome)}`);
  const rows = await query<UsageRow>(
    `${selectUsage} WHERE ${conditions.join(" AND ")} ORDER BY entries.id DESC LIMIT ${parameters.add(limit)}`,
    parameters.all,
  );
  return rows.map(usageOf);
}

function usageOf(row: UsageRow): NumberedUsage {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, ...rest } = row;
  const usage = { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens };
  return { ...rest, stream: Boolean(row.stream), usage };
}

const selectUsage = `
SELECT entries.id::float8 AS id, exchange_id AS "exchangeId", keys.id AS "keyId", recorded_at_ms::float8 AS "atMs",
  route, model, provider, upstream_model AS "upstreamModel", stream, outcome, entries.status,
  input_tokens::float8 AS "inputTokens", cached_input_tokens::float8 AS "cachedInputTokens",
  cache_write_tokens::float8 AS "cacheWriteTokens", output_tokens::float8 AS "outputTokens",
  reasoning_tokens::float8 AS "reasoningTokens", basis, cost_nano::float8 AS "costNano",
  first_byte_ms::float8 AS "firstByteMs", total_ms::float8 AS "totalMs", attempts
FROM entries JOIN keys ON keys.no = entries.key_no`;
