import type { ListedExchange } from "../reports.ts";

/** A usage record or a kept ending as a database returns it, under the same names. */
export interface ExchangeRow extends Omit<ListedExchange, "usage" | "stream"> {
  /** Its id in the table that it was read from. */
  readonly rowId: number;
  /** SQLite has 0 and 1 for false and true. */
  readonly stream: number | boolean;
  readonly hasRecord: number | boolean;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export function listedExchange(row: ExchangeRow): ListedExchange {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens } = row;
  return {
    exchangeId: row.exchangeId,
    keyId: row.keyId,
    startedAtMs: row.startedAtMs,
    endedAtMs: row.endedAtMs,
    route: row.route,
    model: row.model,
    provider: row.provider,
    upstreamModel: row.upstreamModel,
    stream: Boolean(row.stream),
    outcome: row.outcome,
    status: row.status,
    code: row.code,
    message: row.message,
    entryId: row.entryId,
    usage: row.hasRecord
      ? { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens }
      : null,
    basis: row.basis,
    charged: row.charged,
    listCostNano: row.listCostNano,
    firstByteMs: row.firstByteMs,
    totalMs: row.totalMs,
    attempts: row.attempts,
    alike: row.alike,
  };
}
