import type { Entry } from "./records.ts";
import type { AuditedEntry } from "./store.ts";
import { quantitiesOf } from "./stored-quantities.ts";

/** An entry as a database returns it. */
export interface EntryRow extends Omit<Entry, "quantities"> {
  readonly quantities: string | null;
  /** Null without a usage record, like the three below. */
  readonly inputTokens: number | null;
  readonly cachedInputTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly outputTokens: number | null;
}

export function entryOf(row: EntryRow): Entry {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, quantities, ...entry } = row;
  const hasRecord = inputTokens !== null;
  const usage = hasRecord
    ? {
        inputTokens,
        cachedInputTokens: cachedInputTokens ?? 0,
        cacheWriteTokens: cacheWriteTokens ?? 0,
        outputTokens: outputTokens ?? 0,
      }
    : null;
  return { ...entry, quantities: entry.rates === null ? null : quantitiesOf(quantities, usage) };
}

/** The same with what an audit needs. */
export type AuditedRow = EntryRow & Omit<AuditedEntry, keyof Entry>;

export function auditedEntryOf(row: AuditedRow): AuditedEntry {
  const { ratesId, costNano, startedAtMs, totalMs } = row;
  return { ...entryOf(row), ratesId, costNano, startedAtMs, totalMs };
}
