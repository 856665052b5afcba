import type { Database } from "bun:sqlite";
import type { UsageRecord } from "../../records.ts";
import type { NumberedUsage, UsageQuery } from "../../store.ts";

interface UsageRow extends Omit<NumberedUsage, "usage" | "stream"> {
  readonly stream: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** Reads the usage records one by one. */
export class UsageTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  list({ beforeId = Number.MAX_SAFE_INTEGER, limit, keyId, outcome }: UsageQuery): readonly NumberedUsage[] {
    const conditions = ["entries.id < $beforeId", "recorded_at_ms IS NOT NULL"];
    if (keyId !== undefined) conditions.push("key_no = (SELECT no FROM keys WHERE id = $keyId)");
    if (outcome !== undefined) conditions.push("outcome = $outcome");
    return this.#database
      .query<UsageRow, Record<string, string | number>>(
        `${selectUsage} WHERE ${conditions.join(" AND ")} ORDER BY entries.id DESC LIMIT $limit`,
      )
      .all({
        beforeId,
        limit,
        ...(keyId === undefined ? {} : { keyId }),
        ...(outcome === undefined ? {} : { outcome }),
      })
      .map(usageOf);
  }
}

function usageOf(row: UsageRow): NumberedUsage {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, ...rest } = row;
  const usage = { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens };
  const record: UsageRecord = { ...rest, stream: row.stream === 1, usage };
  return { ...record, id: row.id };
}

const selectUsage = `
SELECT entries.id, exchange_id AS exchangeId, keys.id AS keyId, recorded_at_ms AS atMs, route, model, provider,
  upstream_model AS upstreamModel, stream, outcome, entries.status, input_tokens AS inputTokens,
  cached_input_tokens AS cachedInputTokens, cache_write_tokens AS cacheWriteTokens,
  output_tokens AS outputTokens, reasoning_tokens AS reasoningTokens, basis, cost_nano AS costNano,
  first_byte_ms AS firstByteMs, total_ms AS totalMs, attempts
FROM entries JOIN keys ON keys.no = entries.key_no`;
