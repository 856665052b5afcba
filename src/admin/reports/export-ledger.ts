import { csvLine } from "../../base/text/csv.ts";
import { printableJson } from "../../base/text/printable.ts";
import type { AccountRecord, KeyRecord, ListedEntry } from "../../store/store.ts";
import type { OperationContext } from "../context.ts";
import { findKey } from "../key-terms/find-key.ts";
import { entryDocument } from "../requests/exchange-document.ts";
import type { EntryView } from "../requests/schema.ts";
import { focusColumns } from "./focus/columns.ts";
import { focusRows } from "./focus/rows.ts";

export const exportFormats = ["csv", "jsonl", "focus"] as const;
export type ExportFormat = (typeof exportFormats)[number];

export interface LedgerExport {
  readonly format: ExportFormat;
  /** An id or prefix; absent means all keys. */
  readonly key?: string | undefined;
  readonly sinceMs?: number | undefined;
  /** Not included. */
  readonly untilMs?: number | undefined;
  /** For the amounts of FOCUS, which are in USD. */
  readonly microUsdPerCredit: number;
}

/** Keys and accounts by id, which hardly ever change within an export. */
interface Names {
  readonly keys: Map<string, KeyRecord | null>;
  readonly accounts: Map<string, AccountRecord | null>;
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
 * is in whole nano-credits. `focus` has the columns of FOCUS instead.
 */
export async function* exportLedger(
  context: OperationContext,
  { key, sinceMs, untilMs, ...options }: LedgerExport,
): AsyncGenerator<string> {
  const { store } = context;
  const keyId = key === undefined ? undefined : (await findKey(context, key)).id;
  const names: Names = { keys: new Map(), accounts: new Map() };
  if (options.format !== "jsonl")
    yield `${(options.format === "focus" ? focusColumns : columns).join(",")}\n`;
  for (let afterId = 0; ; ) {
    const entries = await store.listEntries({ afterId, limit: entriesPerChunk, keyId, sinceMs, untilMs });
    const last = entries.at(-1);
    if (last === undefined) return;
    afterId = last.id;
    for (const id of new Set(entries.map((entry) => entry.keyId ?? ""))) {
      if (id !== "" && !names.keys.has(id)) names.keys.set(id, await store.findKey(id));
    }
    if (options.format === "focus") {
      for (const id of new Set(entries.map((entry) => entry.accountId))) {
        if (!names.accounts.has(id)) names.accounts.set(id, await store.findAccount(id));
      }
    }
    yield entries
      .flatMap((entry) => linesOf(entry, names, options))
      .map((line) => `${line}\n`)
      .join("");
  }
}

function linesOf(
  entry: ListedEntry,
  { keys, accounts }: Names,
  { format, microUsdPerCredit }: Pick<LedgerExport, "format" | "microUsdPerCredit">,
): readonly string[] {
  const key = keys.get(entry.keyId ?? "") ?? null;
  if (format === "focus") {
    const account = accounts.get(entry.accountId) ?? null;
    const rows = focusRows(entry, { key, account, microUsdPerCredit });
    return rows.map((row) => csvLine(focusColumns.map((name) => row[name])));
  }
  const document = entryDocument(entry, () => key);
  const whole = document.unit === "credits" ? { amount: entry.amount, unit: "nano_credits" as const } : {};
  const exported: EntryView = { ...document, ...whole };
  return [format === "csv" ? csvLine(columns.map((name) => exported[name])) : printableJson(exported)];
}
