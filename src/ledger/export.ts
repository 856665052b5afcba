import type { Entry, Store } from "../store/store.ts";

export type ExportFormat = "csv" | "jsonl";

const entriesPerChunk = 1_000;

const columns = [
  "id",
  "keyId",
  "kind",
  "amount",
  "atMs",
  "exchangeId",
  "basis",
  "outcome",
  "periodStartMs",
  "reference",
  "note",
  "accountId",
] as const satisfies readonly (keyof Entry)[];

/** All entries, or one key's, oldest first, as chunks of text. Only one chunk is in memory at a time. */
export async function* exportEntries(
  store: Store,
  format: ExportFormat,
  keyId?: string,
): AsyncGenerator<string> {
  if (format === "csv") yield `${columns.join(",")}\n`;
  for (let afterId = 0; ; ) {
    const entries = await store.listEntries({ afterId, limit: entriesPerChunk, keyId });
    const last = entries.at(-1);
    if (last === undefined) return;
    afterId = last.id;
    yield entries.map((entry) => `${lineOf(entry, format)}\n`).join("");
  }
}

function lineOf(entry: Entry, format: ExportFormat): string {
  if (format === "jsonl") return JSON.stringify(entry);
  return columns.map((column) => csvField(entry[column])).join(",");
}

/** Quotes where CSV requires it, and escapes text that a spreadsheet would run as a formula. */
function csvField(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
