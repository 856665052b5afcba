import type { Database } from "bun:sqlite";
import type { UsageRecord } from "../records.ts";
import type { NumberedUsage, UsageGroup, UsageQuery, UsageSummaryQuery } from "../store.ts";

interface UsageRow extends Omit<NumberedUsage, "usage" | "stream"> {
  readonly stream: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

const msPerHour = 3_600_000;

/** Reads what exchanges have used, one by one and added up. */
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

  summarize({ by, sinceMs, untilMs = Number.MAX_SAFE_INTEGER, keyId }: UsageSummaryQuery) {
    const { column, label } = groupings[by];
    const ofKey = keyId === undefined ? "" : "AND key_no = (SELECT no FROM keys WHERE id = $keyId)";
    return this.#database
      .query<UsageGroup, Record<string, string | number>>(
        `SELECT ${label} AS "group", ${sumNames} FROM (
          SELECT ${column} AS grouped, ${sums} FROM usage_by_hour
          WHERE hour >= $since AND hour <= $until ${ofKey} GROUP BY grouped
        ) AS sums ORDER BY 1`,
      )
      .all({
        since: Math.floor(sinceMs / msPerHour),
        until: Math.floor(untilMs / msPerHour),
        ...(keyId === undefined ? {} : { keyId }),
      });
  }
}

function usageOf(row: UsageRow): NumberedUsage {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, ...rest } = row;
  const usage = { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens };
  const record: UsageRecord = { ...rest, stream: row.stream === 1, usage };
  return { ...record, id: row.id };
}

/** Grouped by plain columns, and made readable only afterwards: there are many rows and few groups. */
const groupings: Readonly<
  Record<UsageSummaryQuery["by"], { readonly column: string; readonly label: string }>
> = {
  hour: { column: "hour", label: "strftime('%Y-%m-%dT%H:00Z', grouped * 3600, 'unixepoch')" },
  day: { column: "hour / 24", label: "strftime('%Y-%m-%d', grouped * 86400, 'unixepoch')" },
  model: { column: "model", label: "grouped" },
  provider: { column: "provider", label: "grouped" },
  key: { column: "key_no", label: "(SELECT id FROM keys WHERE no = grouped)" },
};

const sums = `
  sum(requests) AS requests, sum(failures) AS failures, sum(input_tokens) AS inputTokens,
  sum(cached_input_tokens) AS cachedInputTokens, sum(output_tokens) AS outputTokens,
  sum(cost_nano) AS costNano, sum(first_byte_ms) AS firstByteMs, sum(first_byte_count) AS firstByteCount,
  sum(total_ms) AS totalMs`;

const sumNames = `requests, failures, inputTokens, cachedInputTokens, outputTokens, costNano, firstByteMs,
  firstByteCount, totalMs`;

const selectUsage = `
SELECT entries.id, exchange_id AS exchangeId, keys.id AS keyId, recorded_at_ms AS atMs, route, model, provider,
  upstream_model AS upstreamModel, stream, outcome, entries.status, input_tokens AS inputTokens,
  cached_input_tokens AS cachedInputTokens, cache_write_tokens AS cacheWriteTokens,
  output_tokens AS outputTokens, reasoning_tokens AS reasoningTokens, basis, cost_nano AS costNano,
  first_byte_ms AS firstByteMs, total_ms AS totalMs, attempts
FROM entries JOIN keys ON keys.no = entries.key_no`;
