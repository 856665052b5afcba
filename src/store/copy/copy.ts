import type { MovedStore } from "../moved.ts";
import { type RecomputedTotals, StoreError } from "../store.ts";

/** Numbers are digits, because lifetime sums may exceed a double. Flags are 0 and 1. */
export type CopiedValue = string | Uint8Array | null;

export type CopiedRow = Readonly<Record<string, CopiedValue>>;

export type CopiedColumns = Readonly<Record<string, "number" | "text" | "bytes">>;

export interface CopiedTable {
  readonly name: string;
  readonly columns: CopiedColumns;
  /** The columns that order the rows. */
  readonly key: readonly string[];
  readonly rowsAtOnce: number;
}

/** Every copied table with the columns that order its rows. Each table only refers to tables before it. */
export const copiedTables: Readonly<Record<string, readonly string[]>> = {
  accounts: ["no"],
  keys: ["no"],
  key_sums: ["key_no"],
  caps: ["no"],
  value_caps: ["no"],
  cap_values: ["cap_no", "value"],
  cleaned_labels: ["label"],
  key_moves: ["no"],
  past_periods: ["account_no", "period"],
  rates: ["id"],
  entries: ["id"],
  anchors: ["no"],
  exchange_endings: ["id"],
  responses: ["key_no", "route", "idempotency_key"],
  response_parts: ["recording_id", "sequence"],
  turns: ["no"],
  files: ["no"],
  file_parts: ["file_id", "sequence"],
  batches: ["no"],
  batch_lines: ["batch_no", "no"],
  provider_batches: ["no"],
  turn_items: ["id_key", "key_no", "turn_no"],
  sealing_secret: ["id"],
  issued_ids: ["no"],
  caller_ids: ["no"],
  pruned_usage: ["key_no", "hour", "model", "provider", "total_band"],
  attempt_sums: ["provider", "day", "credential", "upstream_model", "ending", "node_no"],
  attempt_days: ["day", "node_no"],
  audit_log: ["id"],
  admin_token: ["id"],
  admin_tokens: ["id"],
  stored_prices: ["id"],
  acknowledged_alerts: ["kind"],
  signed_in_keys: ["key_id"],
  sign_ins: ["id"],
  trial_keys: ["key_id"],
  findings: ["source"],
  alerts: ["id"],
  alert_posts: ["no"],
  past_alerts: ["no"],
  // The receiver has what was pushed, so a copy goes on behind it.
  feed_push: ["id"],
  ledger_restores: ["no"],
};

/** Rows per read. A row with a body may be megabytes long. */
const [usual, large] = [1_000, 20];

/** Read as of one moment; nothing else uses the source meanwhile. */
export interface CopySource {
  /** For display. */
  readonly name: string;
  /** The columns of a table, except those that only this kind of database has. None if it lacks the table. */
  columnsOf(table: string): Promise<CopiedColumns>;
  /** The next rows after this one, in key order; null for the first rows. */
  read(table: CopiedTable, after: CopiedRow | null): Promise<readonly CopiedRow[]>;
  countEntries(): Promise<number>;
  progress(): Promise<StoreProgress>;
  /** Null for a file, whose rows only a database can add up. */
  totals(): Promise<readonly RecomputedTotals[]> | null;
}

/** A store that is marked when its data was moved. */
export interface StoreSource extends CopySource {
  markMoved(moved: MovedStore): Promise<void>;
}

/** Empty, and nothing else uses it. If the copy fails, nothing of it stays. */
export interface CopyTarget {
  /** For display. */
  readonly name: string;
  /** Null if it takes every column, as a file does. */
  columnsOf(table: string): Promise<CopiedColumns> | null;
  write(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void>;
  /** Everything is written. */
  finish(progress: StoreProgress): Promise<void>;
  /** Null for a file. */
  totals(): Promise<readonly RecomputedTotals[]> | null;
}

/** The progress of the store. */
export interface StoreProgress {
  readonly revision: number;
}

export interface CopyProgress {
  readonly table: string;
  readonly rows: number;
  /** The copied share of all entries, from 0 to 1: they are nearly all of the work. */
  readonly share: number;
}

export interface CopyResult {
  readonly keys: number;
  readonly entries: number;
  /** Usage records. */
  readonly usage: number;
}

/**
 * Copies everything, ids and sums included, so that cursors and stored responses stay the same. Totals of reports are computed again. Each database's
 * entries must add up to its totals: the source's before the copy, the target's before anything can read it.
 */
export async function copyStore(
  source: CopySource,
  target: CopyTarget,
  onProgress: (progress: CopyProgress) => void,
): Promise<CopyResult> {
  const before = audited(await source.totals(), source.name);
  const total = await source.countEntries();
  const counts = { keys: 0, entries: 0, usage: 0 };
  for (const [name, key] of Object.entries(copiedTables)) {
    const found = await source.columnsOf(name);
    const { columns, unknown } = matchColumns(found, await target.columnsOf(name));
    const rowsAtOnce = Object.values(found).includes("bytes") ? large : usual;
    const table = { name, key, columns: found, rowsAtOnce };
    let rows = await source.read(table, null);
    let copied = 0;
    while (rows.length > 0) {
      rejectLoss(name, unknown, rows, target.name);
      await target.write({ ...table, columns }, rows);
      copied += rows.length;
      if (name === "keys") counts.keys += rows.length;
      if (name === "entries") {
        counts.entries += rows.length;
        counts.usage += rows.filter((row) => row["recorded_at_ms"] !== null).length;
      }
      onProgress({ table: name, rows: copied, share: total === 0 ? 1 : counts.entries / total });
      const last = rows.at(-1) ?? null;
      rows = rows.length < rowsAtOnce ? [] : await source.read(table, last);
    }
  }
  await target.finish(await source.progress());
  const after = audited(await target.totals(), target.name);
  if (before !== null && after !== null && before !== after) {
    throw new StoreError("copy_differs", `The copy differs from ${source.name} and was deleted.`);
  }
  return counts;
}

interface MatchedColumns {
  /** Columns that both ends have. Other columns of the target keep their defaults. */
  readonly columns: CopiedColumns;
  /** Columns that only the source has. */
  readonly unknown: readonly string[];
}

function matchColumns(found: CopiedColumns, known: CopiedColumns | null): MatchedColumns {
  const isKnown = (name: string) => known === null || known[name] === found[name];
  const names = Object.keys(found);
  const columns = Object.fromEntries(Object.entries(found).filter(([name]) => isKnown(name)));
  return { columns, unknown: names.filter((name) => !isKnown(name)) };
}

/** A value that the target's schema has no column for would be lost. */
function rejectLoss(
  table: string,
  unknown: readonly string[],
  rows: readonly CopiedRow[],
  target: string,
): void {
  const lost = unknown.find((column) => rows.some((row) => (row[column] ?? null) !== null));
  if (lost === undefined) return;
  throw new StoreError(
    "other_schema",
    `${table}.${lost} has values, but ${target} has no column for them. Nothing was copied. Use the version that wrote them, ` +
      "or a newer one.",
  );
}

/** The totals of all accounts as text, for comparison; null for a file. Throws if they differ from the sums of the entries. */
function audited(accounts: readonly RecomputedTotals[] | null, name: string): string | null {
  if (accounts === null) return null;
  const lines = accounts.map(({ keyId, where, kept, recomputed }) => {
    const [one, other] = [textOf(kept), textOf(recomputed)];
    if (one === other) return `${keyId} ${where} ${one}`;
    throw new StoreError(
      "corrupt",
      `The ledger of ${name} is inconsistent: ${where} of key ${keyId}. Nothing was copied. Run \`sluice ledger audit\` to list the differences.`,
    );
  });
  return lines.toSorted().join("\n");
}

/** Omits the period, which a hold may have advanced before anything was charged in it. */
function textOf(totals: RecomputedTotals["kept"]): string {
  return Object.entries(totals)
    .filter(([name]) => !name.startsWith("period"))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name} ${value}`)
    .join(" ");
}
