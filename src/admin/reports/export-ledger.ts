import { csvLine } from "../../base/text/csv.ts";
import { printableJson } from "../../base/text/printable.ts";
import type { Entry, KeyRecord } from "../../store/store.ts";
import type { OperationContext } from "../context.ts";
import { findKey } from "../key-terms/find-key.ts";
import { entryDocument } from "../requests/exchange-document.ts";
import type { EntryView } from "../requests/schema.ts";

export const exportFormats = ["csv", "jsonl"] as const;
export type ExportFormat = (typeof exportFormats)[number];

export interface LedgerExport {
  readonly format: ExportFormat;
  /** An id or prefix; absent means all keys. */
  readonly key?: string | undefined;
  readonly sinceMs?: number | undefined;
  /** Not included. */
  readonly untilMs?: number | undefined;
}

const entriesPerChunk = 1_000;

const columns = [
  "id",
  "at",
  "key_id",
  "key_prefix",
  "key_label",
  "account_id",
  "kind",
  "amount",
  "unit",
  "credits",
  "request_id",
  "model",
  "requested_model",
  "provider",
  "basis",
  "outcome",
  "period_start",
  "list_cost",
  "rates",
  "quantities",
  "units",
  "calculation",
  "reference",
  "note",
] as const satisfies readonly (keyof EntryView)[];

/**
 * Exports entries, oldest first, one chunk of text at a time. The fields are the same as in the admin API, but `amount`
 * is in whole nano-credits.
 */
export async function* exportLedger(
  context: OperationContext,
  { format, key, sinceMs, untilMs }: LedgerExport,
): AsyncGenerator<string> {
  const { store } = context;
  const keyId = key === undefined ? undefined : (await findKey(context, key)).id;
  const keys = new Map<string, KeyRecord | null>();
  if (format === "csv") yield `${columns.join(",")}\n`;
  for (let afterId = 0; ; ) {
    const entries = await store.listEntries({ afterId, limit: entriesPerChunk, keyId, sinceMs, untilMs });
    const last = entries.at(-1);
    if (last === undefined) return;
    afterId = last.id;
    for (const id of new Set(entries.map((entry) => entry.keyId ?? ""))) {
      if (id !== "" && !keys.has(id)) keys.set(id, await store.findKey(id));
    }
    yield entries.map((entry) => `${lineOf(entry, keys.get(entry.keyId ?? "") ?? null, format)}\n`).join("");
  }
}

function lineOf(entry: Entry, key: KeyRecord | null, format: ExportFormat): string {
  const document = entryDocument(entry, () => key);
  const whole = document.unit === "credits" ? { amount: entry.amount, unit: "nano_credits" as const } : {};
  const exported: EntryView = { ...document, ...whole };
  if (format === "csv") return csvLine(columns.map((name) => exported[name]));
  return printableJson(exported);
}
