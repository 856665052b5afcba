import { assert } from "../../base/assert.ts";
import { query, type Work } from "../query.ts";
import { type RecomputedTotals, StoreError } from "../store.ts";
import { recomputeTotals } from "../tables/recompute.ts";

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
const copiedTables: Readonly<Record<string, readonly string[]>> = {
  accounts: ["no"],
  keys: ["no"],
  key_sums: ["key_no"],
  caps: ["no"],
  key_moves: ["no"],
  past_periods: ["account_no", "period"],
  rates: ["id"],
  entries: ["id"],
  exchange_endings: ["id"],
  responses: ["key_no", "route", "idempotency_key"],
  response_parts: ["recording_id", "sequence"],
  turns: ["no"],
  turn_items: ["id_key", "key_no", "turn_no"],
  sealing_secret: ["id"],
  issued_ids: ["no"],
  caller_ids: ["no"],
  usage_minutes: ["minute", "key_no", "model", "provider"],
  usage_key_hours: ["key_no", "hour", "model", "provider"],
  usage_all_hours: ["hour", "model", "provider"],
  usage_key_days: ["key_no", "day"],
  latency_minutes: ["minute", "measure", "up_to_ms"],
  latency_all_hours: ["hour", "measure", "up_to_ms"],
  attempt_sums: ["provider", "day", "credential", "upstream_model", "ending", "node_no"],
  attempt_days: ["day", "node_no"],
  audit_log: ["id"],
  admin_token: ["id"],
  admin_tokens: ["id"],
  signed_in_keys: ["key_id"],
  trial_keys: ["key_id"],
  findings: ["source"],
  alerts: ["id"],
  alert_posts: ["no"],
};

/** Rows per read. A row with a body may be megabytes long. */
const [usual, large] = [1_000, 20];

/** What both ends have in common. */
interface CopyEnd {
  /** For display. */
  readonly name: string;
  /** The columns of a table, except those that only this kind of database has. */
  columnsOf(table: string): Promise<CopiedColumns>;
  /** In the transaction of the copy. */
  perform<Result>(work: Work<Result>): Promise<Result>;
}

/** A store that nothing else uses, read as of one moment. */
export interface CopySource extends CopyEnd {
  /** The next rows after this one, in key order; null for the first rows. */
  read(table: CopiedTable, after: CopiedRow | null): Promise<readonly CopiedRow[]>;
}

/** An empty store that nothing else uses. If the copy fails, nothing of it stays. */
export interface CopyTarget extends CopyEnd {
  write(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void>;
  /** Everything is written. */
  finish(progress: StoreProgress): Promise<void>;
}

/** The store's revision, and the last entry and request-log row that the report sums include. */
export interface StoreProgress {
  readonly revision: number;
  readonly entriesThrough: number;
  readonly endingsThrough: number;
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
 * Copies everything, ids and sums included, so that reports, cursors and stored responses stay the same. Each side's
 * entries must add up to its totals: the source's before the copy, the target's before anything can read it.
 */
export async function copyStore(
  source: CopySource,
  target: CopyTarget,
  onProgress: (progress: CopyProgress) => void,
): Promise<CopyResult> {
  const before = audited(await source.perform(recomputeTotals()), source.name);
  const total = await source.perform(countEntries());
  const counts = { keys: 0, entries: 0, usage: 0 };
  for (const [name, key] of Object.entries(copiedTables)) {
    const columns = await source.columnsOf(name);
    assertSame(name, columns, await target.columnsOf(name));
    const rowsAtOnce = Object.values(columns).includes("bytes") ? large : usual;
    const table = { name, key, columns, rowsAtOnce };
    let rows = await source.read(table, null);
    let copied = 0;
    while (rows.length > 0) {
      await target.write(table, rows);
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
  await target.finish(await source.perform(readProgress()));
  const after = audited(await target.perform(recomputeTotals()), target.name);
  if (before !== after) {
    throw new StoreError(
      "copy_differs",
      `The copy does not add up to what ${source.name} has. It was not kept.`,
    );
  }
  return counts;
}

/** Whether there are holds of requests that a gateway has not ended. */
export function* hasHolds(): Work<boolean> {
  return (yield* query("SELECT id FROM holds LIMIT 1")).length > 0;
}

export function* isEmpty(): Work<boolean> {
  const tables = ["accounts", "entries", "audit_log", "admin_token"];
  const none = tables.map((table) => `NOT EXISTS (SELECT 1 FROM ${table})`);
  // SQLite has a row for "no key".
  const noKey = "NOT EXISTS (SELECT 1 FROM keys WHERE id <> '')";
  return (yield* query(`SELECT 1 WHERE ${[noKey, ...none].join(" AND ")}`)).length > 0;
}

function* countEntries(): Work<number> {
  const [count] = yield* query<{ entries: number }>("SELECT count(*)::float8 AS entries FROM entries");
  return count?.entries ?? 0;
}

function* readProgress(): Work<StoreProgress> {
  const [progress] = yield* query<StoreProgress>(
    `SELECT revision::float8 AS revision, (SELECT entries_through FROM rollups)::float8 AS "entriesThrough",
      (SELECT endings_through FROM rollups)::float8 AS "endingsThrough" FROM state`,
  );
  assert(progress !== undefined, "the state has one row");
  return progress;
}

/** A column that only one side has would be lost. */
function assertSame(table: string, one: CopiedColumns, other: CopiedColumns): void {
  const [ours, theirs] = [one, other].map((columns) => Object.keys(columns).toSorted().join(" "));
  assert(ours === theirs, `${table} has the columns ${ours} here and ${theirs} there`);
}

/** The totals of all accounts as text, for comparison. Throws if they differ from the sums of the entries. */
function audited(accounts: readonly RecomputedTotals[], name: string): string {
  const lines = accounts.map(({ keyId, where, kept, recomputed }) => {
    const [one, other] = [textOf(kept), textOf(recomputed)];
    if (one === other) return `${keyId} ${where} ${one}`;
    throw new StoreError(
      "corrupt",
      `The ledger of ${name} is inconsistent: ${where} of key ${keyId}. Nothing was copied. \`sluice ledger audit\` shows the differences.`,
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
