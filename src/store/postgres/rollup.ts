import { addGroups, groupRows, prunedGroups } from "../reporting/add-to-sums.ts";
import type { Parameter, PostgresClient, Query } from "./client.ts";
import { settledThrough } from "./settled-ids.ts";

/** Bounds how long one roll-up takes. */
const rowsAtOnce = 20_000;
const timeoutMs = 2_000;

interface Bounds {
  readonly entries: number;
  readonly endings: number;
}

/**
 * Adds uncounted rows to the totals. Every node tries and one succeeds, because the row of `rollups` is locked
 * meanwhile. It records the last entry and log row that the totals include. Reports add later rows themselves, so
 * they are right at any moment and nothing is counted twice. Returns true if there may be more to count.
 */
export async function rollUp(client: PostgresClient): Promise<boolean> {
  const entries = await settledThrough(client.query, "entries", timeoutMs);
  const endings = await settledThrough(client.query, "exchange_endings", timeoutMs);
  if (entries === null || endings === null) return false;
  return client.transaction(async (query) => {
    const from = await lockBounds(query);
    if (from === null) return false;
    const through = {
      entries: Math.max(from.entries, Math.min(entries, from.entries + rowsAtOnce)),
      endings: Math.max(from.endings, Math.min(endings, from.endings + rowsAtOnce)),
    };
    if (through.entries === from.entries && through.endings === from.endings) return false;
    await addUp(query, from, through);
    return through.entries < entries || through.endings < endings;
  });
}

/** Locks the state of the roll-up and returns it; null while another node is rolling up. */
async function lockBounds(query: Query): Promise<Bounds | null> {
  const [bounds] = await query<Bounds>(
    `SELECT entries_through::float8 AS entries, endings_through::float8 AS endings FROM rollups
    FOR UPDATE SKIP LOCKED`,
  );
  return bounds ?? null;
}

async function addUp(query: Query, from: Bounds, through: Bounds): Promise<void> {
  // The range is a small part of the ledger, which a generic plan cannot know. If PostgreSQL must scan anyway, its
  // cost estimate is so high that it would compile the statement first, for a fifth of a second each time.
  await query("SET LOCAL enable_seqscan = off");
  await query("SET LOCAL jit = off");
  const range: Parameter[] = [from.entries, through.entries, from.endings, through.endings];
  await query(addUncounted, range);
  await query("UPDATE rollups SET entries_through = $1::int8, endings_through = $2::int8", [
    through.entries,
    through.endings,
  ]);
}

const addUncounted = `
WITH rows AS (
  SELECT * FROM entry_figures WHERE id > $1::int8 AND id <= $2::int8
  UNION ALL
  SELECT * FROM ending_figures WHERE id > $3::int8 AND id <= $4::int8
  UNION ALL
  SELECT * FROM attempt_figures WHERE id > $3::int8 AND id <= $4::int8
), ${addToTotals(groupRows("rows"))}`;

/** Adds what retention has deleted: to the totals of a new copy, before anything else. */
export const addDeleted = `WITH ${addToTotals(prunedGroups)}`;

function addToTotals(groups: string): string {
  const added = addGroups.map((statement, place) => `added_${place} AS (${statement})`);
  return `counted AS MATERIALIZED (${groups}), ${added.join(", ")} SELECT`;
}
