import type { Moved } from "../moved.ts";
import type { RecomputedTotals } from "../store.ts";
import { StoreRefusal } from "../store.ts";
import { type CopiedRow, type CopiedTable, copiedTables } from "./copied-tables.ts";

/** A store that is read from while nobody else uses it, all of it as of one moment. */
export interface CopySource {
  /** For people. */
  readonly name: string;
  countEntries(): Promise<number>;
  /** The next rows after this one, in the order of the table's key; the first ones after null. */
  read(table: CopiedTable, after: CopiedRow | null): Promise<readonly CopiedRow[]>;
  recomputeTotals(): Promise<readonly RecomputedTotals[]>;
  /** Once the copy is complete, opening this store is refused with where the data went. */
  markMoved(moved: Moved): Promise<void>;
}

/** A store without data that nobody else uses. Nothing of what is written stays if the copy fails. */
export interface CopyTarget {
  readonly name: string;
  write(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void>;
  recomputeTotals(): Promise<readonly RecomputedTotals[]>;
}

export interface CopyProgress {
  readonly table: string;
  readonly rows: number;
  /** Of all entries, from 0 to 1: nearly all of the work is there. */
  readonly share: number;
}

export interface Copied {
  readonly keys: number;
  readonly entries: number;
  /** Usage records. */
  readonly usage: number;
}

/**
 * Copies everything, ids and sums included, so that reports, cursors and stored responses are the same afterwards. Both
 * sides are added up from their entries, and must agree with what they keep: the source before, the target before
 * anybody can see it.
 */
export async function copyStore(
  source: CopySource,
  target: CopyTarget,
  onProgress: (progress: CopyProgress) => void,
): Promise<Copied> {
  const before = audited(await source.recomputeTotals(), source.name);
  const total = await source.countEntries();
  const counts = { keys: 0, entries: 0, usage: 0 };
  for (const table of copiedTables) {
    let rows = await source.read(table, null);
    let copied = 0;
    while (rows.length > 0) {
      await target.write(table, rows);
      copied += rows.length;
      if (table.name === "keys") counts.keys += rows.length;
      if (table.name === "entries") {
        counts.entries += rows.length;
        counts.usage += countUsage(table, rows);
      }
      onProgress({ table: table.name, rows: copied, share: total === 0 ? 1 : counts.entries / total });
      const last = rows.at(-1) ?? null;
      rows = rows.length < table.rowsAtOnce ? [] : await source.read(table, last);
    }
  }
  const after = audited(await target.recomputeTotals(), target.name);
  if (before !== after) {
    throw new StoreRefusal(
      "copy_differs",
      `The copy does not add up to what ${source.name} has. It was not kept.`,
    );
  }
  return counts;
}

function countUsage(table: CopiedTable, rows: readonly CopiedRow[]): number {
  const place = Object.keys(table.columns).indexOf("recorded_at_ms");
  return rows.filter((row) => row[place] !== null).length;
}

/** The totals of all accounts as text, to be compared; refused if those that are kept are not those of the entries. */
function audited(accounts: readonly RecomputedTotals[], name: string): string {
  const lines = accounts.map(({ keyId, where, kept, recomputed }) => {
    const [one, other] = [textOf(kept), textOf(recomputed)];
    if (one === other) return `${keyId} ${where} ${one}`;
    throw new StoreRefusal(
      "corrupt",
      `The books of ${name} do not agree for ${where} of key ${keyId}. Nothing was copied. \`sluice ledger audit\` tells what differs.`,
    );
  });
  return lines.toSorted().join("\n");
}

/** But for holds, and for the period, which a database may have turned before anything was charged in it. */
function textOf(totals: RecomputedTotals["kept"]): string {
  return Object.entries(totals)
    .filter(([name]) => name !== "held" && !name.startsWith("period"))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name} ${value}`)
    .join(" ");
}
