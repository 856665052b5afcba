import { assert } from "../../base/assert.ts";
import type { Query } from "./client.ts";

type Table = "entries" | "exchange_endings";

const pollMs = 5;

/**
 * Returns an id up to which the table will not change any more. Ids are assigned in order, but not committed in
 * order, so the latest id may be visible while an earlier one is still being written. A transaction with an assigned
 * id holds a lock on the table until it commits, so it is enough to wait for the current lock holders; later ones get
 * higher ids. Null if that takes too long.
 */
export async function settledThrough(query: Query, table: Table, timeoutMs: number): Promise<number | null> {
  const [latest] = await query<{ id: number }>(latestId[table]);
  assert(latest !== undefined, "a sequence has one row");
  const giveUpAtMs = performance.now() + timeoutMs;
  const before = await writersOf(query, table);
  for (let writing = before; writing.length > 0; writing = await stillAmong(query, table, before)) {
    if (performance.now() >= giveUpAtMs) return null;
    await Bun.sleep(pollMs);
  }
  return latest.id;
}

async function stillAmong(query: Query, table: Table, before: readonly string[]): Promise<string[]> {
  const now = new Set(await writersOf(query, table));
  return before.filter((writer) => now.has(writer));
}

/** The transactions that have written to the table, or are about to. */
async function writersOf(query: Query, table: Table): Promise<string[]> {
  const rows = await query<{ writer: string }>(
    `SELECT DISTINCT virtualtransaction AS writer FROM pg_locks
    WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND relation = $1::text::regclass
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [table],
  );
  return rows.map(({ writer }) => writer);
}

const latestOf = (sequence: string) =>
  `SELECT (CASE WHEN is_called THEN last_value ELSE last_value - 1 END)::float8 AS id FROM ${sequence}`;

const latestId: Readonly<Record<Table, string>> = {
  entries: latestOf("entries_id_seq"),
  exchange_endings: latestOf("exchange_endings_id_seq"),
};
