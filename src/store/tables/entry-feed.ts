import { type FeedEntryRow, feedEntryOf, selectFeedEntries } from "../entry-row.ts";
import type { EntryRange, FeedEntry, FeedLag, FeedTotals } from "../feed-records.ts";
import type { Query } from "../query.ts";
import { firstAs } from "./rows.ts";

export interface FeedPage {
  readonly afterId: number;
  readonly limit: number;
}

/** Oldest first. `throughId` excludes entries after which an earlier id may still be written. */
export async function listFeedEntries(
  query: Query,
  { afterId, limit }: FeedPage,
  throughId = Number.MAX_SAFE_INTEGER,
): Promise<readonly FeedEntry[]> {
  const rows = await query<FeedEntryRow>(
    `${selectFeedEntries} WHERE entries.id > $1::int8 AND entries.id <= $2::int8 ORDER BY entries.id LIMIT $3::int8`,
    [afterId, throughId, limit],
  );
  return rows.map(feedEntryOf);
}

export function findFeedEntry(query: Query, id: number): Promise<FeedEntry | null> {
  return query<FeedEntryRow>(`${selectFeedEntries} WHERE entries.id = $1::int8`, [id]).then(
    firstAs(feedEntryOf),
  );
}

/** Adds up in the database: the sum can exceed a double. */
export async function sumFeedEntries(query: Query, { afterId, throughId }: EntryRange): Promise<FeedTotals> {
  const [sums] = await query<{ count: number; nano: string }>(
    `SELECT count(*)::float8 AS count,
      CAST(coalesce(sum(CASE WHEN accounts.mode = 'credit' THEN entries.amount ELSE 0 END), 0) AS text) AS nano
    FROM entries JOIN accounts ON accounts.no = coalesce(entries.account_no, entries.key_no)
    WHERE entries.id > $1::int8 AND entries.id <= $2::int8`,
    [afterId, throughId],
  );
  return { count: sums?.count ?? 0, nano: BigInt(sums?.nano ?? 0) };
}

/** Among the entries up to this one, the id after which the entries of this time and later begin. */
export async function findPlaceBefore(query: Query, sinceMs: number, throughId: number): Promise<number> {
  const [first] = await query<{ id: number | null }>(
    "SELECT min(id)::float8 AS id FROM entries WHERE at_ms >= $1::int8 AND id <= $2::int8",
    [sinceMs, throughId],
  );
  return first?.id == null ? throughId : first.id - 1;
}

export async function lagAfter(query: Query, id: number): Promise<FeedLag> {
  const [next] = await query<{ atMs: number; entries: number }>(
    `SELECT at_ms::float8 AS "atMs", ((SELECT max(id) FROM entries) - $1::int8)::float8 AS entries
    FROM entries WHERE id > $1::int8 ORDER BY id LIMIT 1`,
    [id],
  );
  return { entries: next?.entries ?? 0, sinceMs: next?.atMs ?? null };
}
